"""One case of each entry, law and front end: ``pytest -m smoke`` says within a minute whether something is broken at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cute_py
from cute_py import Kernel, Layout, LayoutError
from cute_py.cli import main
from cute_py.laws import LAWS, check_law
from cute_py.testing import gemm_reference, runs_here
from problems import EMULATED, PRODUCTS, function_of, make_case

pytestmark = pytest.mark.smoke


RUN = [variant for variant in PRODUCTS if "cpu" in variant.targets or variant.name in EMULATED]


@pytest.mark.parametrize("variant", RUN, ids=lambda variant: variant.name)
def test_each_entry_multiplies(variant: Kernel) -> None:
    target = "emulator" if "emulator" in variant.targets else "cpu"
    if not runs_here(variant, target):
        pytest.skip("this processor lacks its instructions")
    layout = "tn" if variant.layout == "any" else variant.layout
    case = make_case(np.random.default_rng(0), (9, 10, 11), layout, exact=True, variant=variant)
    found = case.run(target, function_of(variant, layout), variant)
    np.testing.assert_array_equal(found, gemm_reference(case.A, case.B))


@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_copies_move_elements(target: str) -> None:
    for dtype in ("i1", "f2", "f4", "f8", "c16"):
        A = np.arange(60).reshape(3, 4, 5).astype(dtype)
        np.testing.assert_array_equal(cute_py.permute(A, (2, 0, 1), device=target), A.transpose(2, 0, 1))


SAMPLES: list[Any] = [
    Layout("(4,8):(8,1)"),
    Layout("((2,2),(3,4)):((1,12),(2,24))"),
    Layout("16:1"),
    Layout("(2,4):(4,1)"),
    2,
    4,
]


@pytest.mark.parametrize("operation", LAWS)
def test_each_law_holds_somewhere(operation: str) -> None:
    held = 0
    for first in SAMPLES[:4]:
        for second in (None, *SAMPLES[2:]):
            arguments = (first,) if second is None else (first, second)
            try:
                check_law(operation, *arguments)
                held += 1
            except (LayoutError, cute_py.OperandError):
                continue
    assert held > 0


def test_each_front_end_multiplies() -> None:
    A, B = (np.arange(m * 4).reshape(m, 4) % 5 for m in (3, 2))
    expected = A @ B.T
    for dtype in ("f4", "f8", "c8"):
        a, b = A.astype(dtype), B.astype(dtype)
        np.testing.assert_array_equal(cute_py.einsum("ij,kj->ik", a, b), expected)
        np.testing.assert_array_equal(cute_py.gemm(a, b, device="emulator"), expected)
        np.testing.assert_array_equal(cute_py.gemm.plan(a, b)(a, b), expected)
    torch = pytest.importorskip("torch")
    ct = pytest.importorskip("cute_py.torch")
    np.testing.assert_array_equal(ct.gemm(torch.tensor(A).float(), torch.tensor(B).float()), expected)
    jax = pytest.importorskip("jax")
    cj = pytest.importorskip("cute_py.jax")
    np.testing.assert_array_equal(jax.jit(cj.gemm)(A.astype("f4"), B.astype("f4")), expected)
    da = pytest.importorskip("dask.array")
    cd = pytest.importorskip("cute_py.dask")
    x, y = (da.from_array(x.astype("f4"), chunks=2) for x in (A, B))
    np.testing.assert_array_equal(cd.einsum("ij,kj->ik", x, y).compute(scheduler="synchronous"), expected)


@pytest.mark.parametrize(
    "arguments", [["info"], ["kernels"], ["layout", "(4,8):(8,1)"], ["explain", "64", "48", "32"]], ids=" ".join
)
def test_each_command_answers(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    assert capsys.readouterr().out
