"""Checks of products, for the tests of this package and of its users.

The reference is NumPy in float64 or complex128, and the bound holds for every element:

    |C - Cref| <= gamma(n) |alpha| (|A| |B|^T) + 2 u |beta| |C0| + (u + u_out) |Cref|

with u the unit roundoff of what is summed in, 2**-24 for float32, u_out that of the result's type, n = K + 2 roundings
for each element, twice as many for complex numbers, and gamma(n) = n u / (1 - n u). It is what rounding alone can do,
in any order of adds; a wrong index, a missed element or a stale one exceeds it. Integers are off by 1/2 at most.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cute_py import _core
from cute_py._dtypes import DTYPES, FLOAT8, NOT_IN_NUMPY, stored_as
from cute_py._dtypes import numpy_type as _numpy_type
from cute_py.catalogue.kernels import Kernel, kernels, raise_unknown_kernel
from cute_py.errors import OperandError
from cute_py.machine.devices import Cpu, cuda_available
from cute_py.products.gemm import gemm
from cute_py.products.permutation import permute
from cute_py.products.precision import bound_of
from cute_py.units.emulator import compile_all

__all__ = [
    "Check",
    "check_contract",
    "check_gemm",
    "count_checks",
    "einsum_error_ratio",
    "error_ratio",
    "gemm_reference",
    "numpy_type",
    "runs_here",
    "strided_array",
    "verify",
]

Array = npt.NDArray[Any]

_INSTRUCTION_SETS = ("baseline", "avx2", "avx512", "avx512_vnni")


def gemm_reference(
    A: npt.ArrayLike, B: npt.ArrayLike, C: npt.ArrayLike | None = None, *, alpha: complex = 1.0, beta: complex = 0.0
) -> Array:
    """Return alpha * A B^T + beta * C in float64 for A (M,K), B (N,K), C (M,N), with the rules of `cute_py.gemm`.

    Of complex arguments in complex128. alpha and beta are rounded to float32 if all operands are of that or less. beta
    == 0 does not read C; alpha == 0 and K == 0 do not read A and B.
    """
    return _reference("mk,nk->mn", A, B, C, alpha, beta)[0]


def error_ratio(
    result: npt.ArrayLike,
    A: npt.ArrayLike,
    B: npt.ArrayLike,
    C: npt.ArrayLike | None = None,
    *,
    alpha: complex = 1.0,
    beta: complex = 0.0,
    compute: str | None = None,
) -> float:
    """Return the largest error of an element of `result` (M,N), divided by its bound; at most 1 if the result is right.

    `C` is what C held before the product, `compute` what it was summed in, by default what `cute_py.gemm` takes for
    these types. Where the reference is NaN or infinite, the result has to be the same; if it is not, the ratio is
    infinite. Where finite operands are so large that a sum may overflow, nothing is required.
    """
    return _ratio("mk,nk->mn", result, A, B, C, alpha, beta, compute)


def check_gemm(
    result: npt.ArrayLike,
    A: npt.ArrayLike,
    B: npt.ArrayLike,
    C: npt.ArrayLike | None = None,
    *,
    alpha: complex = 1.0,
    beta: complex = 0.0,
    compute: str | None = None,
) -> None:
    """Raise AssertionError unless every element of `result` is within its bound; see `error_ratio`.

    >>> import cute_py, numpy as np
    >>> A = np.random.default_rng(0).standard_normal((5, 100)).astype(np.float32)
    >>> check_gemm(cute_py.gemm(A, A), A, A)
    """
    check_contract("mk,nk->mn", result, A, B, C, alpha=alpha, beta=beta, compute=compute)


def check_contract(
    subscripts: str,
    result: npt.ArrayLike,
    A: npt.ArrayLike,
    B: npt.ArrayLike,
    C: npt.ArrayLike | None = None,
    *,
    alpha: complex = 1.0,
    beta: complex = 0.0,
    compute: str | None = None,
) -> None:
    """Raise AssertionError unless every element of ``contract(subscripts, A, B, C)`` is within its bound.

    >>> import cute_py, numpy as np
    >>> X = np.random.default_rng(0).standard_normal((5, 6, 7)).astype(np.float32)
    >>> check_contract("aij,bij->ab", cute_py.contract("aij,bij->ab", X, X), X, X)
    """
    ratio = _ratio(subscripts, result, A, B, C, alpha, beta, compute)
    if not ratio <= 1:
        raise AssertionError(f"an element of the product is off by {ratio:.3g} times its bound")


def einsum_error_ratio(
    subscripts: str, result: npt.ArrayLike, *operands: npt.ArrayLike, compute: str | None = None
) -> float:
    """Return the largest error of an element of an einsum, divided by its bound; at most 1 if the result is right.

    The reference is numpy.einsum in float64 or complex128. The bound is the one above for as many sums as the summed
    extents make, and two more roundings for each operand: what rounding alone can do on any path. `compute` is what it
    was summed in, by default by the operands' types.

    >>> import cute_py, numpy as np
    >>> X = np.random.default_rng(0).standard_normal((5, 6, 7)).astype(np.float32)
    >>> einsum_error_ratio("aij,bij,cij->abc", cute_py.einsum("aij,bij,cij->abc", X, X, X), X, X, X) < 1
    True
    """
    from opt_einsum.parser import parse_einsum_input  # the import of products shall not wait for it

    compute = compute or _compute_of(*operands)
    wide = [_wide(x) for x in operands]
    got = _wide(result)
    with np.errstate(all="ignore"):
        reference = np.einsum(subscripts, *wide, optimize=True)
        products = np.einsum(subscripts, *(np.abs(x) for x in wide), optimize=True)
    if got.shape != reference.shape:
        raise ValueError(f"result has shape {got.shape}, the product {reference.shape}")
    written = np.asarray(result).dtype.name
    if got.size == 0:
        return 0.0
    if written.startswith("int"):
        return float((np.abs(got - reference) / (0.5 + 2.0**-40 * np.abs(reference))).max())
    inputs, output, _ = parse_einsum_input([subscripts, *wide])
    extents: dict[str, int] = {}
    for letters, x in zip(inputs.split(","), wide, strict=True):
        extents.update({letter: max(n, extents.get(letter, 0)) for letter, n in zip(letters, x.shape, strict=True)})
    summed = math.prod(n for letter, n in extents.items() if letter not in output)
    n = (summed + 2 * len(wide)) * (2 if compute.startswith("complex") else 1) * (2 if _is_double(compute) else 1)
    u, _, smallest = _rounding("float64" if compute == "int32" else compute)
    u_out, _, smallest_out = _rounding(written)
    step = 2.0**-10 * len(wide) if compute == "tfloat32" else 0.0
    with np.errstate(all="ignore"):
        gamma = n * u / (1 - n * u) if n * u < 1 else np.inf
        bound = (
            (gamma + step) * products
            + len(wide) * u_out * products
            + (u + u_out) * np.abs(reference)
            + n * smallest
            + smallest_out
        )
        same = np.where(np.isnan(reference), np.isnan(got), got == reference)
        error = np.where(np.isfinite(got), np.abs(got - reference), np.inf)
        ratio = np.where(np.isfinite(reference), error / bound, np.where(same, 0.0, np.inf))
    return float(np.where(np.isnan(ratio), np.inf, ratio).max())


def _is_double(compute: str) -> bool:
    return compute in ("float64", "complex128")  # the reference rounds, too


def _wide(x: npt.ArrayLike) -> Array:
    array = np.asarray(x)
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _scalar(value: complex, single: bool) -> complex:
    with np.errstate(over="ignore"):
        if isinstance(value, complex):
            return complex(np.complex64(value)) if single else value
        return float(np.float32(value)) if single else float(value)


def _compute_of(*arrays: npt.ArrayLike) -> str:
    types = [np.asarray(x).dtype for x in arrays]
    if any(t.kind in "biu" for t in types):
        return "int32" if all(t == np.int8 for t in types) else "float64"
    wide = any(t.itemsize >= (16 if t.kind == "c" else 8) for t in types)
    if any(t.kind == "c" for t in types):
        return "complex128" if wide else "complex64"
    return "float64" if wide else "float32"


def _is_single(compute: str) -> bool:
    return stored_as(compute) in ("float32", "complex64")


def _reference(
    subscripts: str,
    A: npt.ArrayLike,
    B: npt.ArrayLike,
    C: npt.ArrayLike | None,
    alpha: complex,
    beta: complex,
    compute: str | None = None,
) -> tuple[Array, Array, Array]:
    """Return the product, the same of absolute values without C, and the absolute values of beta * C."""
    single = _is_single(compute or _compute_of(A, B))
    a, b = _wide(A), _wide(B)
    alpha, beta = _scalar(alpha, single), _scalar(beta, single)
    inputs, _, output = subscripts.partition("->")
    left, _, right = inputs.partition(",")
    extents = {**dict(zip(left, a.shape, strict=True)), **dict(zip(right, b.shape, strict=True))}
    for letters, array in ((left, a), (right, b)):
        extents.update({x: n for x, n in zip(letters, array.shape, strict=True) if extents[x] == 1})
    shape = tuple(extents[x] for x in output)
    reads = alpha != 0 and all(extents[x] != 0 for x in extents if x not in output)
    with np.errstate(all="ignore"):
        reference = alpha * _contract(subscripts, a, b) if reads else np.zeros(shape, np.result_type(a, b))
        products = _contract(subscripts, np.abs(a), np.abs(b)) if reads else np.zeros(shape)
        added = np.zeros(shape)
        if beta != 0 and C is not None:
            reference = reference + beta * _wide(C)
            added = abs(beta) * np.abs(_wide(C))
    return reference, products, added


def _contract(subscripts: str, a: Array, b: Array) -> Array:
    product: Array = a @ b.T if subscripts == "mk,nk->mn" else np.einsum(subscripts, a, b)  # einsum is slow
    return product


def _ratio(
    subscripts: str,
    result: npt.ArrayLike,
    A: npt.ArrayLike,
    B: npt.ArrayLike,
    C: npt.ArrayLike | None,
    alpha: complex,
    beta: complex,
    compute: str | None,
) -> float:
    own = _compute_of(A, B)
    precision = compute if compute is not None and compute in _PLANES else None
    if precision is not None:
        compute = own if precision == "reproducible" else stored_as(precision)
    compute = compute or own
    reference, products, added = _reference(subscripts, A, B, C, alpha, beta, compute)
    got = _wide(result)
    if got.shape != reference.shape:
        raise ValueError(f"result has shape {got.shape}, the product {reference.shape}")
    if got.size == 0:
        return 0.0
    written = np.asarray(result).dtype.name
    if written.startswith("int"):
        info = np.iinfo(written)
        error = np.abs(got - np.clip(reference, info.min, info.max))
        return float((error / (0.5 + 2.0**-40 * np.abs(reference))).max())  # rounded to a neighbour

    extents = dict(zip(subscripts.partition(",")[0], np.shape(A), strict=True))
    second = subscripts.partition(",")[2].partition("->")
    extents.update({x: max(n, extents.get(x, 0)) for x, n in zip(second[0], np.shape(B), strict=True)})
    k = math.prod(n for x, n in extents.items() if x not in second[2])
    u, largest, smallest = _rounding("float64" if compute == "int32" else compute)
    u_out, largest_out, smallest_out = _rounding(written)
    n = (2 * k + 4) if compute.startswith("complex") else k + 2
    if compute in ("float64", "complex128"):
        n *= 2  # the reference rounds, too
    size = abs(_scalar(alpha, _is_single(compute)))
    with np.errstate(all="ignore"):
        gamma = n * u / (1 - n * u)
        if compute == "tfloat32":
            gamma += 2.0**-10 + 2.0**-22  # each factor is rounded to 11 bits
        if precision is not None:
            gamma = u if stored_as(compute) in ("float32", "complex64") else u + gamma / 2  # that of the reference
        if np.asarray(A).dtype.name in FLOAT8:
            # A tensor core keeps 13 bits behind the largest of 32 products and their sum so far, each of which may lose
            # as much; after 128 of them, unless it shall be fast, that is added in float32.
            steps = -(-k // 32)
            gamma += 2.0**-8 * (steps if compute == "fast_float32" else min(steps, 4))
        scaled = np.where(products == 0, 0.0, size * products)
        bound = gamma * scaled + 2 * u * added + (u + u_out) * np.abs(reference)
        if precision is not None:
            bound += size * _bound_of_planes(subscripts, _wide(A), _wide(B), k, _PLANES[precision][compute], products)
        bound += n * smallest * max(1.0, size if math.isfinite(size) else 1.0) + smallest_out
        same = np.where(np.isnan(reference), np.isnan(got), got == reference)
        finite = np.isfinite(reference)
        error = np.where(np.isfinite(got), np.abs(got - reference), np.inf)
        ratio = np.where(finite, error / bound, np.where(same, 0.0, np.inf))
        too_large = np.maximum(products, scaled + added) >= largest * (1 - 2.0**-20)
        too_large |= (np.abs(reference) + bound) >= largest_out * (1 - u_out)
    if np.asarray(reference).dtype.kind == "c" and not finite.all():
        ratio = np.where(finite | np.isnan(got) | np.isinf(got), np.where(finite, ratio, 0.0), np.inf)
    return float(np.where(finite & too_large, 0.0, np.where(np.isnan(ratio), np.inf, ratio)).max())


# The planes of each way to emulate precision, by the type of the sums.
_PLANES: dict[str, dict[str, tuple[str, int]]] = {
    "fp16x3": {"float32": ("fp16", 2)},
    "bf16x6": {"float32": ("bf16", 3)},
    "fast_float64": {"float64": ("residues", 14)},
    "fast_complex64": {"complex64": ("gaussian", 7)},
    "fast_complex128": {"complex128": ("gaussian", 15)},
    "reproducible": {"float32": ("residues", 8), "complex64": ("gaussian", 8), "float64": ("residues", 15)},
}


def _bound_of_planes(subscripts: str, a: Array, b: Array, k: int, planes: tuple[str, int], products: Array) -> Array:
    """Return the bound of emulated precision for each element, see `products.precision.bound_of`."""
    bound = bound_of(*planes, k)
    inputs, _, output = subscripts.partition("->")
    rows = []
    for letters, x in zip(inputs.split(","), (np.abs(a), np.abs(b)), strict=True):
        scale = x.max(initial=0.0) or 1.0
        kept = "".join(letter for letter in letters if letter in output)
        norms = scale * np.sqrt(np.einsum(f"{letters}->{kept}", (x / scale) ** 2))
        summed = tuple(i for i, letter in enumerate(letters) if letter not in output)
        rows.append((kept, norms, x.max(axis=summed, initial=0.0)))
    (of_a, norm_a, most_a), (of_b, norm_b, most_b) = rows
    terms = f"{of_a},{of_b}->{output}"
    found: Array = bound.of_products * products
    found = found + bound.of_norms * np.einsum(terms, norm_a, norm_b)
    found = found + bound.of_largest * np.einsum(terms, most_a, most_b)
    return found


def _rounding(name: str) -> tuple[float, float, float]:
    """Return the unit roundoff, the largest number and the distance of the smallest ones of a type, or of sums in a
    compute type.
    """
    row = DTYPES[stored_as(name)]
    return row.roundoff, row.largest, row.smallest


def numpy_type(name: str) -> Any:
    """Return the NumPy type of a name such as ``"float32"``; ``"bfloat16"`` and ``"float8_e4m3fn"`` are those of
    ml_dtypes.
    """
    return _numpy_type(name)


def strided_array(
    values: npt.ArrayLike,
    strides: tuple[int, ...],
    *,
    guard: int = 64,
    offset: int = 0,
    dtype: Any = np.float32,
) -> tuple[Array, Callable[[], None]]:
    """Return an array of `values` in memory with given strides, and a function that checks the memory around it.

    Parameters
    ----------
    values
        The elements, of any shape.
    strides
        In elements; negative and zero ones are allowed, for a zero stride the last value counts.
    guard
        Elements before and after the array, and all that lie between its elements, hold a pattern of bytes, a NaN as a
        float. The returned function raises AssertionError if any of them changed.
    offset
        Elements that the array starts after a 64-byte boundary.
    dtype
        The type of the array.

    >>> array, check_guard = strided_array([[1, 2], [3, 4]], (5, -2))
    >>> array.strides
    (20, -8)
    >>> array[0, 0] = 7
    >>> check_guard()
    """
    dtype = np.dtype(dtype)
    source = np.asarray(values).astype(dtype)
    reach = [max(extent - 1, 0) * stride for extent, stride in zip(source.shape, strides, strict=True)]
    low = sum(min(r, 0) for r in reach)
    high = sum(max(r, 0) for r in reach)
    length = 2 * guard + high - low + 1 + offset
    size = dtype.itemsize
    memory = np.empty(length * size + 64, np.uint8)
    first = guard - low + offset  # where the first element is, in elements
    shift = -(memory.ctypes.data + (first - offset) * size) % 64
    memory = memory[shift : shift + length * size]
    memory[:] = 0xFF
    elements = memory.view(dtype)
    bits = elements.view(f"V{size}")  # NumPy takes no types of 8 bits from ml_dtypes here
    array = np.lib.stride_tricks.as_strided(
        bits[first:], shape=source.shape, strides=tuple(size * s for s in strides), writeable=True
    ).view(dtype)
    array[...] = source
    index: Any = np.array(first)
    for extent, stride in zip(source.shape, strides, strict=True):
        index = np.add.outer(index, np.arange(extent) * stride)
    between = np.ones(length, bool)
    between[np.asarray(index).ravel()] = False

    def check_guard() -> None:
        changed = np.flatnonzero(between & (memory.reshape(length, size) != 0xFF).any(axis=1))
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
    """Run every kernel variant, or those named, on small problems on every target of this machine, and yield each
    result.

    `targets` restricts it to some of ``"cuda"``, ``"emulator"`` and ``"cpu"``.

    GPU kernels run in the emulator, and on the first GPU if there is one. Results are compared with float64; on
    integers they have to be exact. The memory around C has to stay as it was. Kernels for types of ml_dtypes alone are
    left out where that is not installed.
    """
    generator = np.random.default_rng(2026)
    problems = list(_problems(names, targets))
    compile_all(dict.fromkeys(variant.name for variant, target, *_ in problems if target == "emulator"))
    for problem in problems:
        yield _verify_one(generator, *problem)


def count_checks(names: list[str] | None = None, targets: list[str] | None = None) -> int:
    """Return how many checks `verify` makes."""
    return sum(1 for _ in _problems(names, targets))


def runs_here(variant: Kernel, target: str) -> bool:
    """Return whether this machine can run a kernel variant on a target: whether it has a GPU, or the instruction
    set.
    """
    if target not in variant.targets or target in variant.not_built or (target == "cuda" and not cuda_available()):
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
        if variant.factors[-1] in NOT_IN_NUMPY and importlib.util.find_spec("ml_dtypes") is None:
            continue
        for target in variant.targets:
            if (targets is not None and target not in targets) or not runs_here(variant, target):
                continue
            for extents in _extents(variant):
                for alpha, beta in ((1.0, 0.0), (-0.5, 2.0)) if variant.multiplies else ((1.0, 0.0),):
                    yield variant, target, extents, alpha, beta


def _extents(variant: Kernel) -> list[tuple[int, int, int]]:
    m, n, k = variant.tile
    if variant.is_step:
        return [(65, 131, 150), (1, 40, 33)]
    if not variant.multiplies:
        return [(m + 1, n + 3, 16), (2 * m, 3, 32), (1, 5, 16)]
    if not variant.predicated:
        return [(m, n, 3 * k), (2 * m, n, 0)]
    k = min(k, 16)
    some = [(min(m + 1, variant.most_m or m + 1), n - 1, 3 * k + 1), (1, 7, k), (5, 3, 0)]
    a, b, c = variant.multiples
    return [(-(-m // a) * a, -(-n // b) * b, -(-k // c) * c) for m, n, k in some]


def _verify_one(
    generator: np.random.Generator,
    variant: Kernel,
    target: str,
    extents: tuple[int, int, int],
    alpha: float,
    beta: float,
) -> Check:
    if variant.is_step:
        return _verify_step(generator, variant, target, extents)
    if not variant.multiplies:
        return _verify_copy(generator, variant, target, extents)
    compute: Any = variant.compute
    m, n, k = extents
    layout = "tt" if variant.layout == "any" else variant.layout
    problem = f"M={m} N={n} K={k} {layout} alpha={alpha:g} beta={beta:g}"
    factor, result = numpy_type(variant.factors[-1]), numpy_type(_widest(variant.results, variant.compute))
    aligned = not variant.predicated or variant.vector_bytes != (0, 0)
    pad = 16 if aligned else 3  # 16 elements keep a leading dimension aligned

    def draw(shape: tuple[int, int], exact: bool, dtype: Any) -> Array:
        values: Any = generator.integers(-8, 9, shape) if exact else generator.standard_normal(shape)
        if dtype.kind == "c":
            values = values + 1j * generator.integers(-8, 9, shape)
        return np.asarray(values)

    def operand(
        rows: int, columns: int, first_unit: bool, values: Array, dtype: Any
    ) -> tuple[Array, Callable[[], None]]:
        strides = (1, max(rows, 1) + pad) if first_unit else (max(columns, 1) + pad, 1)
        return strided_array(values, strides, dtype=dtype)

    error = None
    for exact in (False, True):
        if factor.kind == "i" and not exact:
            continue
        A, check_a = operand(m, k, layout[0] == "n", draw((m, k), exact, factor), factor)
        B, check_b = operand(n, k, layout[1] == "t", draw((n, k), exact, factor), factor)
        unread = np.full((m, n), np.nan if result.kind in "fc" else 1)
        C, check_c = operand(m, n, True, draw((m, n), exact, result) if beta != 0 else unread, result)
        before = C.copy()
        try:
            with np.errstate(all="ignore"):
                gemm(A, B, C, alpha=alpha, beta=beta, kernel=variant.name, device=target, compute=compute)
                for check in (check_a, check_b, check_c):
                    check()
                if exact and factor.kind != "i":
                    if not np.array_equal(C, gemm_reference(A, B, before, alpha=alpha, beta=beta)):
                        raise AssertionError("integers did not multiply exactly")
                else:
                    check_gemm(C, A, B, before, alpha=alpha, beta=beta, compute=variant.compute)
        except Exception as problem_found:
            error = f"{type(problem_found).__name__}: {problem_found}"
            break
    return Check(variant.name, target, problem, error)


def _verify_step(generator: np.random.Generator, variant: Kernel, target: str, extents: tuple[int, int, int]) -> Check:
    """Check products of which a kernel is a step, in each way to emulate precision that it is for."""
    m, n, k = extents
    problem = f"M={m} N={n} K={k}"
    error = None
    # The kernel that multiplies, by name; any of the family where the step is another one. On a CPU all steps are those
    # of the variant's instruction set.
    family = "cpu_residues" if target == "cpu" else "gemm_sm90"
    kernel = variant.name if variant.kernel == family else family
    device: Any = Cpu("verified", isa=variant.isa) if target == "cpu" else target
    for compute in variant.precisions:
        own = variant.factors[-1]
        names = list(_PLANES[compute]) if own not in _PLANES[compute] else [own]
        for name in names:
            dtype = numpy_type(name)
            A, B, C = (generator.standard_normal(shape).astype(dtype) for shape in ((m, k), (n, k), (m, n)))
            if dtype.kind == "c":
                A, B = A + 1j * A[::-1], B - 1j * B[:, ::-1]
            A[0] = 0
            got, before = C.copy(), C.copy()
            try:
                gemm(A, B, got, alpha=-0.5, beta=2.0, kernel=kernel, device=device, compute=compute)
                check_gemm(got, A, B, before, alpha=-0.5, beta=2.0, compute=compute)
            except Exception as problem_found:
                error = f"{compute} {name}: {type(problem_found).__name__}: {problem_found}"
                break
    return Check(variant.name, target, problem, error)


def _verify_copy(generator: np.random.Generator, variant: Kernel, target: str, extents: tuple[int, int, int]) -> Check:
    """Check that a kernel of `permute` copies (M,N,K) to (N,M,K), which leaves K elements side by side."""
    problem = "M={} N={} K={} to (N,M,K)".format(*extents)
    dtype = numpy_type(next(name for name in ("int8", "float16", "float32", "complex64") if name in variant.factors))
    A = generator.integers(-100, 100, extents).astype(dtype)
    m, n, k = extents
    C, check_c = strided_array(np.zeros((n, m, k)), (m * k + 16, k, 1), dtype=dtype)
    error = None
    try:
        permute(A, (1, 0, 2), C, kernel=variant.name, device=target)
        check_c()
        if C.tobytes() != np.ascontiguousarray(A.transpose(1, 0, 2)).tobytes():
            raise AssertionError("the copy has other elements")
    except Exception as problem_found:
        error = f"{type(problem_found).__name__}: {problem_found}"
    return Check(variant.name, target, problem, error)


def _widest(results: tuple[str, ...], compute: str) -> str:
    """Return the type of the result that loses nothing: that of the sums."""
    own = "float32" if compute in ("tfloat32", "fast_float32") else compute
    return own if own in results else results[-1]
