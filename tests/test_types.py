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


def test_the_table_is_what_explain_says() -> None:
    assert make_types.PAGE.read_text() == make_types.page()


# Small enough for the emulator.
EXTENTS = {"GPU, whole tiles": (256, 256, 128), "GPU, all else": (250, 251, 99), "CPU": (250, 251, 99)}


def check_cell(cell: tuple[str, str | None, str, str], target: str, rng: np.random.Generator) -> None:
    """The kernel that the table names for large matrices computes small ones, and so does the one that is chosen for them."""
    factor, compute, layout, column = cell
    chosen = make_types.chosen(*cell)
    A, B, C = make_types.operands(factor, layout, EXTENTS[column])
    A[...], B[...] = draw(rng, A.shape, A.dtype), draw(rng, B.shape, B.dtype)
    cute_py.gemm(A, B, C, compute=compute, device=target)
    check_gemm(C, A, B, compute=compute)
    if target != "cpu":
        assert cute_py.kernels()[chosen.kernel].predicated or layout in chosen.kernel
        C[...] = 0
        cute_py.gemm(
            A, B, C, compute=compute, config=chosen._replace(split_k=1, cluster=None, raster=None), device=target
        )
        check_gemm(C, A, B, compute=compute)


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: "-".join(map(str, cell)))
def test_every_cell(cell: tuple[str, str | None, str, str], rng: np.random.Generator) -> None:
    check_cell(cell, make_types.COLUMNS[cell[3]][0], rng)


@pytest.mark.gpu
@pytest.mark.parametrize(
    "cell", [cell for cell in CELLS if cell[3].startswith("GPU")], ids=lambda cell: "-".join(map(str, cell))
)
def test_every_cell_on_a_gpu(cell: tuple[str, str | None, str, str], rng: np.random.Generator) -> None:
    name = make_types.chosen(*cell).kernel
    if not runs_here(cute_py.kernels()[name], "cuda"):
        pytest.skip(f"{name} does not run on this GPU")
    check_cell(cell, "cuda", rng)
