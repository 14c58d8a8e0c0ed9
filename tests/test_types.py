"""The table of docs/types.md: what it says is what happens, and every cell of it computes the right product."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import cute_py
from cute_py.testing import check_gemm, runs_here
from problems import draw

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))
import make_types

CELLS = [
    (factor, compute, layout, column)
    for factor, compute in make_types.TYPES
    for layout in make_types.LAYOUTS
    for column in make_types.COLUMNS
]


@pytest.mark.skipif(cute_py._core.kernel_set != "default", reason="the table is that of the default build")
def test_the_table_is_that_of_the_registry() -> None:
    assert make_types.PAGE.read_text() == make_types.page()


@pytest.mark.parametrize(("factor", "compute", "layout", "column"), CELLS)
def test_every_cell(factor: str, compute: str | None, layout: str, column: str, rng: np.random.Generator) -> None:
    target, extents = make_types.COLUMNS[column]
    name = make_types.chosen(factor, compute, layout, column)
    A, B, C = make_types.operands(factor, layout, extents)
    A[...], B[...] = draw(rng, A.shape, A.dtype), draw(rng, B.shape, B.dtype)
    cute_py.gemm(A, B, C, compute=compute, device=target)
    check_gemm(C, A, B, compute=compute)
    if "*" not in name:
        np.testing.assert_array_equal(cute_py.gemm(A, B, 0 * C, compute=compute, kernel=name, device=target), C)
        assert layout in name or "nested" in name or "narrow" in name


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("factor", "compute", "layout", "column"), [cell for cell in CELLS if cell[3].startswith("GPU")]
)
def test_every_cell_on_a_gpu(
    factor: str, compute: str | None, layout: str, column: str, rng: np.random.Generator
) -> None:
    _, extents = make_types.COLUMNS[column]
    A, B, C = make_types.operands(factor, layout, extents)
    A[...], B[...] = draw(rng, A.shape, A.dtype), draw(rng, B.shape, B.dtype)
    chosen = cute_py.gemm.explain(A, B, C, compute=compute, device="cuda").chosen
    if runs_here(cute_py.kernels()[make_types.chosen(factor, compute, layout, column)], "cuda"):
        assert chosen == make_types.chosen(factor, compute, layout, column)
    cute_py.gemm(A, B, C, compute=compute, device="cuda")
    check_gemm(C, A, B, compute=compute)
