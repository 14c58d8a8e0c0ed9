"""`ladder`: every kernel's rung, its figures, the table and the chart."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import cute_py
from cute_py.cli import main

KERNELS = ["sgemm_1", "sgemm_2", "sgemm_sm70", "sgemm_sm80", "gemm_sm80", "wgmma_sm90", "wgmma_tma_sm90", "gemm_sm90"]
H200 = cute_py.Device("H200")


def test_an_estimate_has_every_kernel() -> None:
    found = cute_py.ladder(512, 256, 1024, device=H200)
    assert [rung.kernel for rung in found.rungs] == ["reference", *KERNELS]
    assert found.left_out == ()
    assert not found.measured
    for rung in found.rungs[1:]:
        assert rung.us is not None
        assert rung.tflops == pytest.approx(2e-6 * 512 * 256 * 1024 / rung.us)
        assert rung.of_roofline is not None
        assert 0 < rung.of_roofline < 1
        assert rung.of_cublas is None
    assert found.rungs[0].us is None
    assert found.rungs[0].tflops > 0


def test_what_does_not_take_the_product_is_left_out_with_a_reason() -> None:
    found = cute_py.ladder(500, device=H200)
    reasons = dict(found.left_out)
    assert reasons["wgmma_sm90"].startswith("(M,N,K)=(500,500,500) is no multiple of the tile (128,128,64)")
    assert reasons["gemm_sm90"].startswith("TMA cannot follow A")
    found = cute_py.ladder(512, dtype="int8", device=H200)
    assert dict(found.left_out)["wgmma_sm90"] == "has no variant for int8"
    assert found.layout == "tn"
    assert found.rungs[-1].dtype == "int8"
    old = cute_py.ladder(512, device=cute_py.Device("A100", compute_capability=(8, 0), multiprocessors=108))
    assert [rung.kernel for rung in old.rungs][-1] == "gemm_sm80"


def test_the_table_the_data_and_the_chart() -> None:
    found = cute_py.ladder(512, device=H200)
    lines = str(found).splitlines()
    assert lines[0] == "512x512x512 float16 nt on H200, estimated"
    assert len(lines) == 2 + len(found.rungs)
    data = json.loads(found.to_json())
    assert [rung["kernel"] for rung in data["rungs"]] == [rung.kernel for rung in found.rungs]
    chart = ET.fromstring(found.to_svg())
    text = " ".join(element.text or "" for element in chart.iter())
    for rung in found.rungs:
        assert rung.kernel in text
        assert rung.idea in text


def test_kernels_that_are_asked_for_are_rungs_after_these() -> None:
    named = "gemm_sm80_nt_f16_64x64"
    found = cute_py.ladder(512, device=H200, more=[named, cute_py.kernels()["sgemm_sm80_nt_f32_64x64"]])
    assert [(rung.kernel, rung.variant, rung.dtype) for rung in found.rungs[-2:]] == [
        (named, named, "float16"),
        ("sgemm_sm80_nt_f32_64x64", "sgemm_sm80_nt_f32_64x64", "float32"),
    ]
    assert "tiles of 64x64x" in found.rungs[-1].idea
    assert named in found.to_svg()
    # NT alone: of k-major factors it says why not.
    assert named in dict(cute_py.ladder(512, layout="tn", device=H200, more=named).left_out)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"more": ["sgemm_3"]}, "sgemm_3"),
        ({"more": ["gemm_sm90"]}, "gemm_sm90 is a family"),
        ({"more": ["gemm_sm80_nt_bf16_64x64"]}, "multiplies bfloat16, and the ladder has float32 and float16"),
        ({"m": 0}, "m is an integer from 1"),
        ({"k": 2.5}, "k is an integer from 1"),
        ({"dtype": "float64"}, "dtype is one of float16"),
        ({"layout": "xy"}, "layout is one of nt"),
        ({"device": "cuda"}, "device is a cute_py.Device that you invent"),
    ],
)
def test_bad_arguments(arguments: dict, message: str) -> None:
    with pytest.raises(cute_py.OperandError, match=message):
        cute_py.ladder(**arguments)


def test_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def limited(
        shape: tuple[int, int], *arguments: object, empty: Callable = np.empty, **options: object
    ) -> np.ndarray:
        if np.prod(shape) > 1 << 20:
            raise MemoryError
        return empty(shape, *arguments, **options)

    monkeypatch.setattr(np, "empty", limited)
    with pytest.raises(cute_py.OperandError, match="there is no memory for the arrays of 1048576x64x64"):
        cute_py.ladder(1 << 20, 64, 64, device=H200)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chart = tmp_path / "ladder.svg"
    assert main(["ladder", "256", "--estimate", "--svg", str(chart)]) == 0
    assert "gemm_sm90" in capsys.readouterr().out
    ET.parse(chart)
    assert main(["ladder", "256", "128", "64", "--estimate", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["k"] == 64
    assert main(["ladder", "256", "--dtype", "x", "--estimate"]) == 2
    assert "dtype is one of" in capsys.readouterr().err


@pytest.mark.gpu
def test_measured() -> None:
    pytest.importorskip("torch")
    found = cute_py.ladder(1024)
    assert found.measured
    names = [rung.kernel for rung in found.rungs]
    assert names == [name for name in ["reference", *KERNELS] if name not in dict(found.left_out)]
    assert all(rung.of_cublas is not None for rung in found.rungs[1:])
