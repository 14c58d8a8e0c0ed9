"""Problems that the tests of every kernel draw from, and the places where they run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import cute_py
from cute_py import Kernel
from cute_py.testing import numpy_type, runs_here, strided_array

# The variants that multiply.
PRODUCTS = [variant for variant in cute_py.kernels().values() if variant.multiplies]


def _kind(variant: Kernel) -> tuple[Any, ...]:
    """What variants share that differ in their tiles alone. Two warpgroups that share a tile of gemm_sm90 are another kind, and
    so are tiles whose warps share out K (sliced-K)."""
    cooperates = variant.kernel == "gemm_sm90" and variant.tile[1] > 128
    warps = None if variant.tiled_mma is None else variant.tiled_mma.atom_layout
    has_sliced_k = warps is not None and warps.rank > 2 and cute_py.size(warps, 2) > 1
    return re.sub(r"_\d+x\d+", "", variant.name), variant.predicated, cooperates, has_sliced_k


# Of each kind the variant with the smallest tile: those that the tests run in the emulator. `cute-py verify` runs all.
EMULATED = set(
    {
        _kind(v): v.name for v in sorted(PRODUCTS, key=lambda v: -v.tile[0] * v.tile[1]) if "emulator" in v.targets
    }.values()
)

# Others that tests choose, by name or by estimates: compiled with those, in a third of the time that each takes alone.
CHOSEN_BY_TESTS = {
    *(variant.name for variant in cute_py.kernels().values() if variant.is_step and "emulator" in variant.targets),
    *(f"gemm_sm80_{layout}_f64_64x64_sm90" for layout in ("nt", "tn", "nn")),
    *(f"gemm_sm80_tn_f16_128x{n}" for n in (128, 256)),
    *(f"gemm_sm90_tn_f16_{tile}" for tile in ("64x128", "128x128", "128x256")),
    *(f"gemm_sm90_nt_f16_{tile}" for tile in ("64x128", "128x128", "128x256")),
    *(f"gemm_sm90_{layout}_bf16_128x256" for layout in ("nt", "tn", "nn")),
    *("gemm_sm80_nt_f64_128x128_sm90", "gemm_sm90_nt_bf16_128x128", "gemm_sm90_nn_f16_128x256"),
    *("gemm_sm90_nn_tf32_128x256", "gemm_sm90_tn_tf32_128x128", "gemm_sm90_tn_i8_128x128"),
    *("gemm_sm90_tn_e4m3_128x128", "gemm_sm90_tn_e4m3_128x128_fast"),
    *(f"permute_b{bits}" for bits in (8, 16, 32, 64, 128)),
    *(f"gemm_sm80_{layout}_f16_64x64" for layout in ("nt", "tn")),
    *(f"gemm_sm80_nested_{layout}_f16" for layout in ("nt", "tn", "nn")),
    *(f"gemm_sm80_{layout}_c128_64x64_sm90" for layout in ("nt", "tn", "nn")),
    *(f"sgemm_sm80_tn_f32_{tile}" for tile in ("128x64", "128x128", "256x32")),
    *(f"sgemm_sm80_nested_{layout}_f32_128x64" for layout in ("nt", "nn")),
    *(f"gemm_tall_{kind}" for kind in ("f32_1024x16", "f16_1024x16", "bf16_1024x16", "f64_512x16", "c64_512x16")),
}

LAYOUTS = ["nt", "tn", "nn", "tt"]
FUNCTIONS = {"nt": "sgemm_nt", "tn": "sgemm_tn", "nn": "sgemm_nn", "tt": "sgemm_tt"}


def parameter_name(value: object) -> str:
    """What a test calls a parameter, the same in every process."""
    return re.sub(r" at 0x[0-9a-f]+", "", ascii(value))


# The first letter of the BLAS function of a type.
_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z", "float16": "h", "bfloat16": "b"}


def function_of(variant: Kernel, layout: str) -> str:
    """The BLAS function that a variant can run for, or `gemm`."""
    factor = variant.factors[-1]
    default = {"float16": "float32", "bfloat16": "float32"}.get(factor, factor)
    return f"{_LETTERS[factor]}gemm_{layout}" if factor in _LETTERS and variant.compute == default else "gemm"


def variants_on_targets() -> list[Any]:
    """Every variant of the registry on every target that this processor can run, the GPU's marked so."""
    return [
        pytest.param(
            variant, target, id=f"{variant.name}-{target}", marks=[pytest.mark.gpu] if target == "cuda" else []
        )
        for variant in PRODUCTS
        for target in (variant.targets if "emulator" not in variant.targets else ("emulator", "cuda"))
        if target == "cuda" or (runs_here(variant, target) and (target == "cpu" or variant.name in EMULATED))
    ]


def within(variant: Kernel, extents: tuple[int, int, int]) -> tuple[int, int, int]:
    """The extents, or the next that a variant takes."""
    m, n, k = (-(-x // multiple) * multiple for x, multiple in zip(extents, variant.multiples, strict=True))
    return (min(m, variant.most_m or m), min(n, variant.most_n or n), k)


def takes_all_strides(variant: Kernel) -> bool:
    return variant.predicated and variant.vector_bytes == (0, 0)


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
    return list(dict.fromkeys(within(variant, x) for x in [*extents, (m + 1, n + 1, block_k + 1), (1, 1, 1)]))


def types_of(variant: Kernel) -> tuple[Any, Any]:
    """The widest type that A and B, and the one that C, can have."""
    own = "float32" if variant.compute in ("tfloat32", "fast_float32") else variant.compute
    return numpy_type(variant.factors[-1]), numpy_type(own if own in variant.results else variant.results[-1])


def is_integer(variant: Kernel) -> bool:
    return variant.compute == "int32"


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

    def run(self, target: str, function: str = "gemm", variant: Kernel | None = None, **options: Any) -> np.ndarray:
        """Compute on the target, check every guard, and return C."""
        call = getattr(cute_py, function)
        scalars = {"alpha": self.alpha, "beta": self.beta}
        if variant is not None:
            options["kernel"] = variant.name
            if function == "gemm":
                options["compute"] = variant.compute
        a, b = self.A.copy(), self.B.copy()
        call(self.A, self.B, self.C, device=target, **scalars, **options)
        assert self.A.tobytes() == a.tobytes()
        assert self.B.tobytes() == b.tobytes()
        for check in self.checks:
            check()
        return self.C


def draw(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: Any = np.float32, *, exact: bool = False
) -> np.ndarray:
    """Random numbers of a type: normal ones, or small integers, whose products are exact."""
    dtype = np.dtype(dtype)
    exact = exact or dtype.kind == "i"
    values: Any = rng.integers(-8, 9, shape) if exact else rng.standard_normal(shape)
    if dtype.kind == "c":
        values = values + 1j * (rng.integers(-8, 9, shape) if exact else rng.standard_normal(shape))
    return np.asarray(values).astype(dtype)


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
    variant: Kernel | None = None,
) -> Case:
    """Draw A, B and C of a variant's types with the strides of a layout. A C that must not be read is full of NaN."""
    m, n, k = within(variant, extents) if variant is not None else extents
    factor, result = types_of(variant) if variant is not None else (np.dtype("f4"), np.dtype("f4"))

    def place(values: np.ndarray, first_unit: bool, which: int) -> tuple[np.ndarray, Any]:
        rows, columns = values.shape
        leading = max(rows if first_unit else columns, 1) + pads[which]
        strides = (1, leading) if first_unit else (leading, 1)
        return strided_array(values, strides, offset=offsets[which], dtype=values.dtype)

    A, check_a = place(draw(rng, (m, k), factor, exact=exact), layout[0] == "n", 0)
    B, check_b = place(draw(rng, (n, k), factor, exact=exact), layout[1] == "t", 1)
    unread = np.full((m, n), 99 if result.kind == "i" else np.nan, result)
    C, check_c = place(draw(rng, (m, n), result, exact=exact) if beta != 0 else unread, True, 2)
    return Case(A, B, C, C.copy(), [check_a, check_b, check_c], alpha, beta)
