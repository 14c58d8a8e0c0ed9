"""`bench`: it times what it has verified, and says why what is not there is not."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

import cute_py
from cute_py import CuteError, OperandError, bench
from cute_py.catalogue import bench as module
from cute_py.catalogue.peers import corner, library_of_cpu, require_right
from cute_py.cli import main

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


@pytest.mark.parametrize("device", DEVICES)
def test_every_type_and_layout(device: str) -> None:
    types = ["float32", "float64", "complex64", "complex128", "float16", "bfloat16", "int8"]
    found = bench(48, "64x32x40", dtypes=types, layouts=["nt", "tn", "nn", "tt"], device=device)
    assert len(found.timings) == 2 * len(types) * 4
    assert {(t.m, t.n, t.k) for t in found.timings} == {(48, 48, 48), (64, 32, 40)}
    for t in found.timings:
        assert t.us is not None
        assert t.gflops is not None
        flops = (8 if t.dtype.startswith("complex") else 2) * t.m * t.n * t.k
        assert t.gflops == pytest.approx(flops / t.us * 1e-3)
        if t.peer_us is not None:
            assert t.ratio == pytest.approx(t.peer_us / t.us)
    assert any(t.peer_us for t in found.timings)


def test_named_kernels_and_refusals() -> None:
    found = bench((64, 64, 64), kernels=["cpu_loops", "sgemm_1_nt_f32", "all"], device="cpu")
    ran = [t.kernel for t in found.timings if t.us is not None]
    assert ran[0].startswith("cpu_loops")
    assert len(ran) > 3
    refused = [t for t in found.timings if t.us is None]
    assert [t.kernel for t in refused] == ["sgemm_1_nt_f32"]
    assert refused[0].refused
    assert "sgemm_1_nt_f32 does not take 64x64x64" in str(found)


def test_reports() -> None:
    found = bench(32, 48, dtypes=["float32", "float16"], device="cpu")
    assert len(json.loads(found.to_json())["timings"]) == 4
    rows = list(csv.DictReader(io.StringIO(found.to_csv())))
    assert [row["dtype"] for row in rows] == ["float32", "float16"] * 2
    assert float(rows[0]["us"]) == found.timings[0].us
    chart = ElementTree.fromstring(found.to_svg())
    assert sum(e.tag.endswith("rect") for e in chart) == 2 + 4
    assert "geometric mean" in str(found)


def test_a_wrong_result_is_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = module._calls

    def spoiled(A: Any, B: Any, C: Any, *rest: Any) -> Any:
        def with_one_wrong(call: Any) -> Any:
            call()
            C[3, 5] += 1

        return [(name, lambda call=call: with_one_wrong(call)) for name, call in calls(A, B, C, *rest)]

    monkeypatch.setattr(module, "_calls", spoiled)
    with pytest.raises(CuteError, match="does not compute the product of float32"):
        bench(32, device="cpu")


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "float16", "int8"])
def test_what_counts_as_right(dtype: str) -> None:
    library = library_of_cpu()
    A, B = library.draw(8, 300, dtype, True), library.draw(9, 300, dtype, False)
    expected, sizes = corner(library, A, B)
    require_right("bench", "x", expected, expected, sizes, dtype, 300)
    off = expected + sizes * (2.0**-6 if dtype != "int8" else 2.0**-20)
    with pytest.raises(CuteError):
        require_right("bench", "x", off, expected, sizes, dtype, 300)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((), {}, "at least one problem"),
        (("12xa",), {}, "a problem is one extent"),
        (((1, 2),), {}, "a problem is one extent"),
        ((0,), {}, "a problem is one extent"),
        ((8,), {"dtypes": "f32"}, "dtypes are among"),
        ((8,), {"layouts": ["nt", "xy"]}, "layouts are among .*'xy'"),
        ((8,), {"dtypes": None}, "dtypes must be a name or several, not None"),
        ((8,), {"kernels": []}, "kernels must be a name or several"),
        ((8,), {"kernels": 5}, "kernels must be a name or several"),
        ((True,), {}, "a problem is one extent"),
        ((1 << 20,), {"device": "cpu"}, "GiB with its copies, this machine has"),
        ((8,), {"device": "tpu"}, "device is 'cpu' or 'cuda'"),
    ],
)
def test_wrong_arguments(arguments: Any, options: Any, message: str) -> None:
    with pytest.raises(OperandError, match=message):
        bench(*arguments, **options)


@pytest.mark.skipif(cute_py.cuda_available(), reason="there is a GPU")
def test_no_gpu() -> None:
    with pytest.raises(OperandError, match="there is no GPU"):
        bench(8, device="cuda")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ["--csv", str(tmp_path / "x.csv"), "--svg", str(tmp_path / "x.svg")]
    assert main(["bench", "32", "16x24x8", "--types", "float32", "--device", "cpu", *files]) == 0
    assert "ratio: the time of NumPy over ours" in capsys.readouterr().out
    assert (tmp_path / "x.csv").read_text().count("\n") == 3
    assert (tmp_path / "x.svg").read_text().startswith("<svg")
    assert main(["bench", "32", "--device", "cpu", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["peer"] == "NumPy"
    assert main(["bench", "32", "--types", "nothing"]) != 0
