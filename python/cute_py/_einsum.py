"""`einsum`: sums of products of any number of arrays, pair by pair.

What can be known of a call from its subscripts, shapes, types and the way to order the pairs is found once and kept: the pairs,
and of each what the core is told.
"""

from __future__ import annotations

import difflib
import operator
import reprlib
import string
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from cute_py import _core, _subscripts
from cute_py._arrays import as_number, number_like, numpy_type, shape_of, type_text, with_numbers
from cute_py._product import Function, options_of, run_product
from cute_py._types import type_name
from cute_py.errors import CuteError, OperandError, UnsupportedProblemError

__all__ = ["einsum"]

Path = tuple[tuple[int, ...], ...]

_HALVES = frozenset(["float16", "bfloat16"])
_FACTORS = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128", "int8")
_OPTIONS = frozenset(
    ["alpha", "epilogue", "out_dtype", "kernel", "stream", "device", "emulator", "compute", "batch_invariant"]
)
_WAYS = ("auto", "auto-hq", "optimal", "dp", "branch-all", "branch-2", "branch-1", "greedy", "random-greedy")


class _Step(NamedTuple):
    """One product: of which of the operands and results so far, counted from 0, or of the first with a one."""

    first: int
    second: int | None
    function: Function
    is_of_halves: bool


def einsum(*operands: Any, out: Any = None, optimize: Any = "auto", **options: Any) -> Any:
    """Return the sum of products of any number of arrays that the subscripts name, pair by pair.

    Parameters
    ----------
    operands
        ``einsum("ij,jk,kl->il", A, B, C)``, or arrays each with a list of integers for its indices and a last one for the
        result: ``einsum(A, [0, 1], B, [1, 2], [0, 2])``. Subscripts and numbers among the arrays are as in `contract`.
    out
        Where the result goes.
    optimize
        How opt_einsum orders the pairs: a name of one of its ways, such as ``"optimal"`` or ``"greedy"``, or the path itself,
        a list of tuples of positions. False takes them from the left. What is found is kept for calls with the same
        subscripts, shapes and types.
    options
        Of `contract`: `alpha`, `device`, `compute`, `out_dtype`, ...; `alpha`, `epilogue` and `out_dtype` apply to the last
        pair.

    Intermediate results are as wide as what is summed in: float32 for float16 and bfloat16. int8 takes two operands, since its sums
    are int32, which is no type of a factor. A new result without modes is a NumPy scalar where the operands are NumPy's.

    >>> import cute_py, numpy as np
    >>> A = np.ones((2, 3), np.float32)
    >>> cute_py.einsum("ij,kj,kl->il", A, A, A)
    array([[6., 6., 6.],
           [6., 6., 6.]], dtype=float32)
    """
    if not options.keys() <= _OPTIONS:
        raise TypeError(f"einsum() got an unexpected keyword argument {min(options.keys() - _OPTIONS)!r}")
    subscripts, given = _arguments(operands)
    arrays = with_numbers("einsum", given)
    shapes = tuple([getattr(array, "shape", None) for array in arrays])
    if not all(isinstance(shape, tuple) for shape in shapes):
        shapes = tuple([shape_of("einsum", f"operand {i}", array) for i, array in enumerate(arrays, 1)])
    types = tuple([getattr(array, "dtype", None) for array in arrays])
    if len(arrays) <= 2:
        optimize = None
    elif not isinstance(optimize, (str, bool)):
        optimize = _given_path(len(arrays), optimize)
    half, steps = _steps(subscripts, shapes, types, optimize)

    compute = type_name("compute", options.get("compute"))
    out_dtype = options.get("out_dtype")
    invariant = options.get("batch_invariant", False)
    sums_in_float32 = compute in (None, "float32", "tfloat32")
    if out_dtype is None and sums_in_float32:
        out_dtype = half
    last = options_of(out, compute, out_dtype, False, False, options.get("epilogue"), invariant)
    inner = widened = None
    if len(steps) > 1:
        inner = options_of(None, compute, None, False, False, None, invariant)
        widened = options_of(None, compute, "float32", False, False, None, invariant) if sums_in_float32 else inner

    common = (
        options.get("kernel", "auto"),
        options.get("device"),
        options.get("stream"),
        options.get("emulator"),
    )
    values: list[Any] = arrays
    for first, second, function, is_of_halves in steps[:-1]:
        x = values[first]
        y = _one_beside(x, function) if second is None else values[second]
        values.append(run_product(function, x, y, None, 1.0, 0.0, *common, widened if is_of_halves else inner))
        values[first] = None  # intermediate results go as soon as they have been used
        if second is not None:
            values[second] = None
    first, second, function, _ = steps[-1]
    x = values[first]
    try:
        y = _one_beside(x, function) if second is None else values[second]
        result = run_product(function, x, y, None, options.get("alpha", 1.0), 0.0, *common, last)
    except CuteError as error:
        if second is not None:
            raise
        raise _without_the_one(error) from None
    return as_number(result, out)


def _one_beside(x: Any, function: Function) -> Any:
    """Return the number one as an array of no modes, of the library and the type of `x`, beside it."""
    if hasattr(x, "new_ones"):  # PyTorch's
        return x.new_ones(())
    dtype = getattr(x, "dtype", None)
    if not isinstance(dtype, np.dtype):
        # The core knows what type a producer has that only exports its memory.
        letters = function.labels[0] if function.labels else ""
        known = _core.explain(
            Function(function.name, labels=(letters, letters, "")), x, x, None, 1.0, 0.0, "auto", None, None, None
        )
        dtype = numpy_type(known["operands"][0].split()[1])
    return number_like(x, 1, dtype)


def _without_the_one(error: CuteError) -> CuteError:
    """Return the error of a product with a one without the line that shows the one, which nobody passed."""
    return type(error)("\n".join(line for line in str(error).split("\n") if not line.startswith("  B ")))


# ---- Arguments


def _arguments(operands: tuple[Any, ...]) -> tuple[str, Sequence[Any]]:
    if not operands:
        raise OperandError("einsum takes subscripts and arrays, got nothing\n  next: einsum('ij,jk->ik', A, B)")
    if isinstance(operands[0], str):
        if len(operands) == 1:
            raise OperandError("einsum takes subscripts and arrays, got no array\n  next: einsum('ij,jk->ik', A, B)")
        return operands[0], operands[1:]
    arrays = operands[0 : len(operands) - len(operands) % 2 : 2]
    lists = operands[1::2] + (operands[-1:] if len(operands) % 2 else ())
    terms = [_letters_of(indices) for indices in lists]
    text = ",".join(terms[: len(arrays)])
    return (text + "->" + terms[-1] if len(operands) % 2 else text), arrays


def _letters_of(indices: Any) -> str:
    letters = string.ascii_uppercase + string.ascii_lowercase
    try:
        numbers = [i if i is Ellipsis else operator.index(i) for i in indices]
        if all(i is Ellipsis or 0 <= i < len(letters) for i in numbers):
            return "".join("..." if i is Ellipsis else letters[i] for i in numbers)
        got = reprlib.repr(indices)
    except TypeError:
        shape = getattr(indices, "shape", None)
        got = reprlib.repr(indices) if shape is None else f"a {type(indices).__name__} of shape {shape}"
    raise OperandError(
        f"einsum: indices are lists of integers from 0 to {len(letters) - 1} and Ellipsis, got {got}\n"
        "  next: einsum('ij,jk->ik', A, B), or einsum(A, [0, 1], B, [1, 2], [0, 2])"
    )


def _given_path(count: int, path: Any) -> Path:
    """Return a path that the caller gave, of opt_einsum or of `numpy.einsum_path`, which begins with a word."""
    refusal = OperandError(
        f"einsum: optimize {reprlib.repr(path)} is no path for {count} operands\n"
        "  next: name a way such as 'greedy', or pass a list of tuples of positions among the operands that are left"
    )
    steps = []
    try:
        given = list(path)
        for step in given[1:] if given and given[0] == "einsum_path" else given:
            positions = tuple(operator.index(i) for i in step)
            if not positions or len(set(positions)) != len(positions) or not all(0 <= i < count for i in positions):
                raise refusal
            steps.append(positions)
            count += 1 - len(positions)
    except TypeError:
        raise refusal from None
    if count != 1:
        raise refusal
    return tuple(steps)


# ---- Pairs


@lru_cache(maxsize=1024)
def _steps(
    subscripts: str, shapes: tuple[tuple[int, ...], ...], dtypes: tuple[Any, ...], optimize: Any
) -> tuple[str | None, tuple[_Step, ...]]:
    """Return the products of an einsum in their order, and before them float16 or bfloat16 if all operands are of that type.

    Raises OperandError for operands that do not fit one another.
    """
    types = tuple([type_text(dtype) for dtype in dtypes])
    labels, result = _subscripts.parse("einsum", subscripts, tuple([len(shape) for shape in shapes]))
    name = f"einsum({subscripts!r})"
    if len(shapes) <= 2:
        path: Path = (tuple(range(len(shapes))),)
    else:
        _require(name, labels, shapes, types)
        path = optimize if isinstance(optimize, tuple) else _path(name, labels, result, shapes, optimize)

    steps = []
    left = list(enumerate(labels))  # operands and results: number, letters
    halves = {i for i, dtype in enumerate(types) if dtype in _HALVES}
    made = len(labels)
    for positions in path:
        chosen = [left[i] for i in positions]
        left = [operand for i, operand in enumerate(left) if i not in positions]
        while chosen:
            (x, of_x), *chosen = chosen
            y, of_y = chosen.pop(0) if chosen else (None, "")
            needed = "".join(of for _, of in [*chosen, *left]) + result
            kept = result if not (left or chosen) else _kept(of_x + of_y, needed)
            steps.append(_Step(x, y, Function(name, labels=(of_x, of_y, kept)), {x, x if y is None else y} <= halves))
            if chosen:
                chosen.insert(0, (made, kept))
            else:
                left.append((made, kept))
            made += 1
        if len(left) == 1:
            break
    return types[0] if types[0] in _HALVES and len(set(types)) == 1 else None, tuple(steps)


def _require(name: str, labels: tuple[str, ...], shapes: tuple[tuple[int, ...], ...], types: tuple[str, ...]) -> None:
    """Check what several operands have in common, while they still have their own numbers."""

    def text(rule: str, next_step: str) -> str:
        lines = [
            f"  operand {i} {dtype or 'of an unknown type'} ({','.join(map(str, shape))})"
            for i, (shape, dtype) in enumerate(zip(shapes, types, strict=True), 1)
        ]
        return "\n".join([f"{name} {rule}", *lines, f"  next: {next_step}"])

    if "int8" in types:
        raise UnsupportedProblemError(
            text(
                "has more than two operands, and int8 takes two: its sums are int32, which is no type of a factor",
                "convert the int8 operands, for instance to float32",
            )
        )
    for i, dtype in enumerate(types, 1):
        if dtype and dtype not in _FACTORS:
            raise OperandError(
                text(f"multiplies {', '.join(_FACTORS)}, and operand {i} is none of them", f"convert operand {i}")
            )
    known: dict[
        str, tuple[int, int]
    ] = {}  # of each index an extent, not 1 if there is another, and an operand that has it
    for i, (of, shape) in enumerate(zip(labels, shapes, strict=True), 1):
        own: dict[str, int] = {}
        for letter, extent in zip(of, shape, strict=True):
            if own.setdefault(letter, extent) != extent:
                extents = f"{own[letter]} and {extent}"
                raise OperandError(
                    text(
                        f"takes a diagonal of operand {i} along index {letter}, whose extents {extents} differ",
                        "check the shapes",
                    )
                )
            before, at = known.setdefault(letter, (extent, i))
            if before == 1:
                known[letter] = extent, i
            elif extent not in (1, before):
                index = letter if letter.isprintable() else "of the ellipsis"
                places = f"{before} in operand {at} and {extent} in operand {i}"
                raise OperandError(
                    text(f"needs one extent for index {index}, got {places}", "check the subscripts and the shapes")
                )


def _path(name: str, labels: tuple[str, ...], result: str, shapes: tuple[tuple[int, ...], ...], optimize: Any) -> Path:
    if optimize is False:
        return ((0, 1), *((0, len(shapes) - 2 - i) for i in range(len(shapes) - 2)))
    import opt_einsum

    # Control characters, which stand for an ellipsis, become letters that no one else uses.
    letters = {x: opt_einsum.get_symbol(1000 + ord(x)) for x in set("".join(labels)) if ord(x) < 32}
    named = ["".join(letters.get(x, x) for x in of) for of in labels]
    subscripts = ",".join(named) + "->" + "".join(letters.get(x, x) for x in result)
    try:
        path, _ = opt_einsum.contract_path(
            subscripts, *shapes, shapes=True, optimize="auto" if optimize is True else optimize
        )
    except KeyError:
        near = difflib.get_close_matches(optimize, _WAYS, n=3)
        raise OperandError(
            f"{name}: opt_einsum has no way to order pairs called {optimize!r}\n"
            f"  next: {'near are ' if near else 'use '}{', '.join(map(repr, near or _WAYS))}"
        ) from None
    except (ValueError, TypeError) as error:
        raise OperandError(f"{name}: {error}\n  next: pass the path, a list of tuples of positions") from None
    return tuple([tuple(step) for step in path])


def _kept(letters: str, needed: str) -> str:
    return "".join(dict.fromkeys(letter for letter in letters if letter in needed))
