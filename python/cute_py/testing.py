"""Checks of matrix products, for the tests of this package and of its users.

The reference is NumPy in float64, and the bound holds for every element:

    |C - Cref| <= gamma(K + 2) |alpha| (|A| |B|^T) + 2 u |beta| |C0| + u |Cref|

with u = 2**-24, the unit roundoff of float32, and gamma(n) = n u / (1 - n u). It is what rounding alone can do, in any order
of adds; a wrong index, a missed element or a stale one exceeds it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cute_py import _core
from cute_py._gemm import gemm
from cute_py._kernels import Kernel, kernels, raise_unknown_kernel
from cute_py.devices import cuda_available
from cute_py.errors import OperandError

__all__ = [
    "Check",
    "check_gemm",
    "count_checks",
    "error_ratio",
    "gemm_reference",
    "runs_here",
    "strided_array",
    "verify",
]

FloatArray = npt.NDArray[np.float32]

_INSTRUCTION_SETS = ("baseline", "avx2", "avx512")
_UNIT_ROUNDOFF = 2.0**-24
_LARGEST = float(np.finfo(np.float32).max) * (1 - 2.0**-20)  # a sum below it cannot round up to infinity
_SMALLEST = 2.0**-149  # the distance between subnormal float32 numbers


def gemm_reference(
    A: npt.ArrayLike, B: npt.ArrayLike, C: npt.ArrayLike | None = None, *, alpha: float = 1.0, beta: float = 0.0
) -> npt.NDArray[np.float64]:
    """Return alpha * A B^T + beta * C in float64 for A (M,K), B (N,K), C (M,N), with the rules of `cute_py.gemm`.

    alpha and beta are rounded to float32. beta == 0 does not read C; alpha == 0 and K == 0 do not read A and B.
    """
    a, b = np.asarray(A, np.float64), np.asarray(B, np.float64)
    alpha, beta = _as_float32(alpha), _as_float32(beta)
    with np.errstate(all="ignore"):
        reads = alpha != 0 and a.shape[1] != 0
        result = alpha * (a @ b.T) if reads else np.zeros((a.shape[0], b.shape[0]))
        if beta != 0 and C is not None:
            result = result + beta * np.asarray(C, np.float64)
    return result


def error_ratio(
    result: npt.ArrayLike,
    A: npt.ArrayLike,
    B: npt.ArrayLike,
    C: npt.ArrayLike | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
) -> float:
    """Return the largest error of an element of `result` (M,N), divided by its bound; at most 1 if the result is right.

    `C` is what C held before the product. Where the reference is NaN or infinite, the result has to be the same; if it is
    not, the ratio is infinite. Where finite operands are so large that a sum may overflow float32, nothing is required.
    """
    a, b = np.asarray(A, np.float64), np.asarray(B, np.float64)
    got = np.asarray(result, np.float64)
    reference = gemm_reference(a, b, C, alpha=alpha, beta=beta)
    if got.shape != reference.shape:
        raise ValueError(f"result has shape {got.shape}, the product {reference.shape}")
    if got.size == 0:
        return 0.0

    alpha, beta = _as_float32(alpha), _as_float32(beta)
    n = a.shape[1] + 2
    gamma = n * _UNIT_ROUNDOFF / (1 - n * _UNIT_ROUNDOFF)
    with np.errstate(all="ignore"):
        reads = alpha != 0 and a.shape[1] != 0
        products = np.abs(a) @ np.abs(b).T if reads else np.zeros_like(reference)
        scaled = abs(alpha) * products if reads else products
        added = (
            abs(beta) * np.abs(np.asarray(C, np.float64)) if beta != 0 and C is not None else np.zeros_like(reference)
        )
        bound = gamma * scaled + 2 * _UNIT_ROUNDOFF * added + _UNIT_ROUNDOFF * np.abs(reference)
        bound += n * _SMALLEST * max(1.0, abs(alpha) if np.isfinite(alpha) else 1.0)
        same = np.where(np.isnan(reference), np.isnan(got), got == reference)
        ratio = np.where(np.isfinite(reference), np.abs(got - reference) / bound, np.where(same, 0.0, np.inf))
        may_overflow = np.isfinite(reference) & (np.maximum(products, scaled + added) >= _LARGEST)
    return float(np.where(may_overflow, 0.0, np.where(np.isnan(ratio), np.inf, ratio)).max())


def _as_float32(value: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.float32(value))


def check_gemm(
    result: npt.ArrayLike,
    A: npt.ArrayLike,
    B: npt.ArrayLike,
    C: npt.ArrayLike | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
) -> None:
    """Raise AssertionError unless every element of `result` is within its bound; see `error_ratio`.

    >>> import cute_py, numpy as np
    >>> A = np.random.default_rng(0).standard_normal((5, 100)).astype(np.float32)
    >>> check_gemm(cute_py.gemm(A, A), A, A)
    """
    ratio = error_ratio(result, A, B, C, alpha=alpha, beta=beta)
    if not ratio <= 1:
        raise AssertionError(f"an element of the product is off by {ratio:.3g} times its bound")


def strided_array(
    values: npt.ArrayLike, strides: tuple[int, int], *, guard: int = 64, offset: int = 0
) -> tuple[FloatArray, Callable[[], None]]:
    """Return the float32 matrix `values` in memory with given strides, and a function that checks the memory around it.

    Parameters
    ----------
    values
        Shape (rows, columns).
    strides
        In elements; negative and zero ones are allowed, for a zero stride the last value counts.
    guard
        Elements before and after the array, and all that lie between its elements, hold a pattern of NaN. The returned
        function raises AssertionError if any of them changed.
    offset
        Elements that the array starts after a 64-byte boundary.

    >>> array, check_guard = strided_array([[1, 2], [3, 4]], (5, -2))
    >>> array.strides
    (20, -8)
    >>> array[0, 0] = 7
    >>> check_guard()
    """
    source = np.asarray(values, np.float32)
    reach = [max(extent - 1, 0) * stride for extent, stride in zip(source.shape, strides, strict=True)]
    low = sum(min(r, 0) for r in reach)
    high = sum(max(r, 0) for r in reach)
    length = 2 * guard + high - low + 1 + offset
    memory = np.empty(length + 16, np.float32)
    first = guard - low + offset  # where the element (0,0) is, in elements
    shift = -(memory.ctypes.data // 4 + first - offset) % 16
    memory = memory[shift : shift + length]
    pattern = np.uint32(0x7FC0BEEF)
    memory.view(np.uint32)[:] = pattern
    array = np.lib.stride_tricks.as_strided(
        memory[first:], shape=source.shape, strides=(4 * strides[0], 4 * strides[1]), writeable=True
    )
    array[...] = source
    index = np.add.outer(np.arange(source.shape[0]) * strides[0], np.arange(source.shape[1]) * strides[1]) + first
    between = np.ones(length, bool)
    between[index.ravel()] = False

    def check_guard() -> None:
        changed = np.flatnonzero(between & (memory.view(np.uint32) != pattern))
        if changed.size:
            raise AssertionError(
                f"{changed.size} elements outside the array were written, the first at {changed[0] - first}"
            )

    return array, check_guard


@dataclass(frozen=True)
class Check:
    """One check of `verify`: a kernel variant on one target and one problem.

    Attributes
    ----------
    kernel
        The variant.
    target
        ``"cuda"``, ``"emulator"`` or ``"cpu"``.
    problem
        In words.
    error
        None if the result is right, else what is wrong with it.
    """

    kernel: str
    target: str
    problem: str
    error: str | None


def verify(names: list[str] | None = None, targets: list[str] | None = None) -> Iterator[Check]:
    """Run every kernel variant, or those named, on small problems on every target of this machine, and yield each result.

    `targets` restricts it to some of ``"cuda"``, ``"emulator"`` and ``"cpu"``.

    GPU kernels run in the emulator, and on the first GPU if there is one. Results are compared with float64; on integers
    they have to be exact. The memory around C has to stay as it was.
    """
    generator = np.random.default_rng(2026)
    for problem in _problems(names, targets):
        yield _verify_one(generator, *problem)


def count_checks(names: list[str] | None = None, targets: list[str] | None = None) -> int:
    """Return how many checks `verify` makes."""
    return sum(1 for _ in _problems(names, targets))


def runs_here(variant: Kernel, target: str) -> bool:
    """Return whether this machine can run a kernel variant on a target: whether it has a GPU, or the instruction set."""
    if target not in variant.targets or (target == "cuda" and not cuda_available()):
        return False
    return _INSTRUCTION_SETS.index(variant.isa) <= _INSTRUCTION_SETS.index(_core.host_isa())


def _problems(
    names: list[str] | None, targets: list[str] | None
) -> Iterator[tuple[Kernel, str, tuple[int, int, int], float, float]]:
    for name in names or []:
        if name not in kernels() and name not in kernels().families():
            raise_unknown_kernel(name)
    for target in targets or []:
        if target not in ("cuda", "emulator", "cpu"):
            raise OperandError(f"target is one of 'cuda', 'emulator' and 'cpu', got {target!r}")
    for variant in kernels().values():
        if names is not None and variant.name not in names and variant.kernel not in names:
            continue
        for target in variant.targets:
            if (targets is not None and target not in targets) or not runs_here(variant, target):
                continue
            for extents in _extents(variant):
                for alpha, beta in ((1.0, 0.0), (-0.5, 2.0)):
                    yield variant, target, extents, alpha, beta


def _extents(variant: Kernel) -> list[tuple[int, int, int]]:
    m, n, k = variant.tile
    if not variant.predicated:
        return [(m, n, 3 * k), (2 * m, n, 0)]
    k = min(k, 16)
    return [(m + 1, n - 1, 3 * k + 1), (1, 7, k), (5, 3, 0)]


def _verify_one(
    generator: np.random.Generator,
    variant: Kernel,
    target: str,
    extents: tuple[int, int, int],
    alpha: float,
    beta: float,
) -> Check:
    m, n, k = extents
    layout = "tt" if variant.layout == "any" else variant.layout
    problem = f"M={m} N={n} K={k} {layout} alpha={alpha:g} beta={beta:g}"
    pad = 3 if variant.predicated else 4  # four floats keep a leading dimension 16-byte aligned

    def operand(rows: int, columns: int, first_unit: bool, values: Any) -> tuple[FloatArray, Callable[[], None]]:
        strides = (1, max(rows, 1) + pad) if first_unit else (max(columns, 1) + pad, 1)
        return strided_array(values, strides)

    error = None
    for exact in (False, True):
        draw: Callable[[tuple[int, int]], Any] = (
            (lambda shape: generator.integers(-8, 9, shape)) if exact else generator.standard_normal
        )
        A, check_a = operand(m, k, layout[0] == "n", draw((m, k)))
        B, check_b = operand(n, k, layout[1] == "t", draw((n, k)))
        C, check_c = operand(m, n, True, draw((m, n)) if beta != 0 else np.full((m, n), np.nan))
        before = C.copy()
        try:
            gemm(A, B, C, alpha=alpha, beta=beta, kernel=variant.name, device=target)
            for check in (check_a, check_b, check_c):
                check()
            if exact:
                if not np.array_equal(C, gemm_reference(A, B, before, alpha=alpha, beta=beta)):
                    raise AssertionError("integers did not multiply exactly")
            else:
                check_gemm(C, A, B, before, alpha=alpha, beta=beta)
        except Exception as problem_found:
            error = f"{type(problem_found).__name__}: {problem_found}"
            break
    return Check(variant.name, target, problem, error)
