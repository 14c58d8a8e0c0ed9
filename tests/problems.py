"""Problems that the tests of every kernel draw from, and the places where they run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import cute_py
from cute_py import Kernel
from cute_py.testing import runs_here, strided_array

FUNCTIONS = {"nt": "sgemm_nt", "tn": "sgemm_tn", "nn": "sgemm_nn", "tt": "sgemm_tt"}


def variants_on_targets() -> list[Any]:
    """Every variant of the registry on every target that this processor can run, the GPU's marked so."""
    return [
        pytest.param(
            variant, target, id=f"{variant.name}-{target}", marks=[pytest.mark.gpu] if target == "cuda" else []
        )
        for variant in cute_py.kernels().values()
        for target in (variant.targets if "emulator" not in variant.targets else ("emulator", "cuda"))
        if target == "cuda" or runs_here(variant, target)
    ]


def edge_extents(variant: Kernel) -> list[tuple[int, int, int]]:
    """Extents 0, 1, 7, tile-1, tile, tile+1 and 3*tile+5, each in each mode, beside small ones in the others."""
    if not variant.predicated:
        m, n, k = variant.tile
        return [(m, n, k), (2 * m, n, 3 * k), (m, 3 * n, 7 * k), (m, n, 0)]
    block_k = min(variant.tile[2], 16)
    extents = []
    for mode, tile in enumerate((*variant.tile[:2], block_k)):
        for extent in (0, 1, 7, tile - 1, tile, tile + 1, 3 * tile + 5):
            problem = [9, 10, 11]
            problem[mode] = extent
            extents.append(tuple(problem))
    m, n, _ = variant.tile
    return [*extents, (m + 1, n + 1, block_k + 1), (1, 1, 1)]


@dataclass
class Case:
    """One product with guarded operands on the host, run anywhere."""

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    before: np.ndarray
    checks: list[Any]
    alpha: float
    beta: float

    def run(self, target: str, function: str = "gemm", **options: Any) -> np.ndarray:
        """Compute on the target, check every guard, and return C."""
        call = getattr(cute_py, function)
        scalars = {"alpha": self.alpha, "beta": self.beta}
        a, b = self.A.copy(), self.B.copy()
        call(self.A, self.B, self.C, device=target, **scalars, **options)
        np.testing.assert_array_equal(self.A, a)
        np.testing.assert_array_equal(self.B, b)
        for check in self.checks:
            check()
        return self.C


def make_case(
    rng: np.random.Generator,
    extents: tuple[int, int, int],
    layout: str = "nt",
    *,
    exact: bool = False,
    alpha: float = 1.0,
    beta: float = 0.0,
    pads: tuple[int, int, int] = (0, 0, 0),
    offsets: tuple[int, int, int] = (0, 0, 0),
) -> Case:
    """Draw A, B and C with the strides of a layout. A C that must not be read is full of NaN."""
    m, n, k = extents

    def draw(rows: int, columns: int) -> np.ndarray:
        shape = (rows, columns)
        return (rng.integers(-8, 9, shape) if exact else rng.standard_normal(shape)).astype(np.float32)

    def place(values: np.ndarray, first_unit: bool, which: int) -> tuple[np.ndarray, Any]:
        rows, columns = values.shape
        leading = max(rows if first_unit else columns, 1) + pads[which]
        strides = (1, leading) if first_unit else (leading, 1)
        return strided_array(values, strides, offset=offsets[which])

    A, check_a = place(draw(m, k), layout[0] == "n", 0)
    B, check_b = place(draw(n, k), layout[1] == "t", 1)
    C, check_c = place(draw(m, n) if beta != 0 else np.full((m, n), np.nan, np.float32), True, 2)
    return Case(A, B, C, C.copy(), [check_a, check_b, check_c], alpha, beta)
