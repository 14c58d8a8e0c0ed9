"""`einsum`: sums of products of any number of arrays, pair by pair.

What can be known of a call from its subscripts, shapes, types and the way to order the pairs is found once and kept:
the pairs, and of each what the core is told.
"""

from __future__ import annotations

import operator
import re
import reprlib
import string
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy import einsum as _diagonals_by_numpy  # as it is now: a program may put this module's in its place

from cute_py import _core
from cute_py._dtypes import COMPLEX, FACTORS, FLOAT8, HALVES, numpy_type
from cute_py.errors import CuteError, OperandError, UnsupportedProblemError
from cute_py.products import subscripts as _subscripts
from cute_py.products.arrays import as_number, empty_result, number_like, shape_of, type_text, with_numbers
from cute_py.products.explanation import Explanation
from cute_py.products.options import Array, EinsumOptions, Number
from cute_py.products.product import written_out
from cute_py.products.types import type_name

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Einsum", "EinsumExplanation", "EinsumPlan", "PairStep", "einsum", "indices_as_text", "steps_by_labels"]

Path = tuple[tuple[int, ...], ...]

_FACTORS = tuple(name for name in FACTORS if name not in FLOAT8)
_WAYS = ("auto", "auto-hq", "optimal", "dp", "branch-all", "branch-2", "branch-1", "greedy", "random-greedy")


class _Step(NamedTuple):
    """One product: of which of the operands and results so far, counted from 0, or of the first with a one."""

    first: int
    second: int | None
    product: Any
    labels: str
    out_dtype: str | None
    """Of an intermediate result wider than the core's own choice, if the caller does not say what sums are computed in.
    """
    compute: str | None
    """What sums are computed in, in that case: as wide as the widest of all operands."""
    copy: Any = None
    """The same as a copy, if it only orders the modes of one operand anew."""
    kept: str = ""
    """The indices of the result, of an operand that is not summed."""
    modes: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    """The same, and before them those of the operand, as numbers: of each the first mode that has it."""


class _Pairs:
    """An einsum as its pairs, with the options of each."""

    def __init__(self, operands: tuple[Any, ...], optimize: Any, options: dict[str, Any]) -> None:
        if not options.keys() <= EinsumOptions.__annotations__.keys():
            unknown = min(options.keys() - EinsumOptions.__annotations__.keys())
            raise TypeError(f"einsum() got an unexpected keyword argument {unknown!r}")
        subscripts, given = indices_as_text(operands)
        self.arrays = with_numbers("einsum", given)
        shapes = tuple([getattr(array, "shape", None) for array in self.arrays])
        if not all(isinstance(shape, tuple) for shape in shapes):
            shapes = tuple([shape_of("einsum", f"operand {i}", array) for i, array in enumerate(self.arrays, 1)])
        types = tuple([getattr(array, "dtype", None) for array in self.arrays])
        if len(self.arrays) <= 2:
            optimize = None
        elif not isinstance(optimize, (str, bool)):
            optimize = _given_path(len(self.arrays), optimize)
        self.steps = _steps(subscripts, shapes, types, optimize, type_name("compute", options.get("compute")))
        self._given = options
        self._last = options if "order" in options else {**options, "order": _order_like(self.arrays[0])}
        self._inner = {name: x for name, x in options.items() if name not in ("epilogue", "out_dtype", "order")}

    def only_moves(self, alpha: Any) -> bool:
        """Is the result made of elements of the one operand, as they are?"""
        is_itself = len(self.steps) == 1 and self.steps[0].second is None
        return is_itself and bool(self.steps[0].kept) and not self._given and type(alpha) in (int, float) and alpha == 1

    def options_of(self, step: _Step) -> dict[str, Any]:
        """Return the options of a step: those of the caller are the last one's."""
        options = self._last if step is self.steps[-1] else self._inner
        if step.out_dtype is not None and options.get("out_dtype") is None:
            options = {**options, "out_dtype": step.out_dtype}
        return options if step.compute is None else {**options, "compute": step.compute}

    def operands_of(self, step: _Step, values: list[Any]) -> tuple[Any, Any]:
        """Return the arrays of a step, and let go of intermediate results, which nobody else uses."""
        x = values[step.first]
        y = _one_beside(x, step) if step.second is None else values[step.second]
        values[step.first] = None
        if step.second is not None:
            values[step.second] = None
        return x, y

    def read(self, verb: str, out: Any, alpha: Any) -> list[Any]:
        """Return what the `verb` of each step says, beside arrays in the place of intermediate results."""
        values = list(self.arrays)
        count = len(values)
        found = []
        for step in self.steps:
            is_last = step is self.steps[-1]
            x, y = self.operands_of(step, values)
            more = {"alpha": alpha, "out": out} if is_last else {}
            with _named(step, count):
                said = getattr(step.product, verb)(x, y, **more, **self.options_of(step))
            found.append(said)
            if not is_last:
                values.append(empty_result(x, said.shape, None, said.dtype))
        return found


def _order_like(array: Any) -> str:
    """Return how a result lies by default: as suits the product, for libraries whose own einsum does so, too."""
    return "K" if type(array).__module__.partition(".")[0] in ("numpy", "torch", "cupy") else "C"


class Einsum:
    """The function `einsum`, which can be planned and explained as every product can."""

    def __call__(
        self,
        *operands: Any,
        out: Array | None = None,
        optimize: Any = "auto",
        alpha: Number = 1.0,
        **options: Unpack[EinsumOptions],
    ) -> Any:
        """Compute it."""
        if not options and 2 <= len(operands) <= 3 and type(operands[0]) is str and _are_plain(operands[1:]):
            product, move = _single_product(operands[0], *[array.ndim for array in operands[1:]])
            moved = _moved(operands[1], move, out) if move is not None and type(alpha) is float and alpha == 1 else None
            if moved is not None:
                return moved
            if move is None:
                second = operands[2] if len(operands) == 3 else _one(operands[1].dtype)
                try:
                    return as_number(product(operands[1], second, alpha=alpha, out=out, order="K"), out)
                except CuteError as error:
                    raise error if len(operands) == 3 else _without_the_one(error) from None
        pairs = _Pairs(operands, optimize, dict(options))
        values = pairs.arrays
        if pairs.only_moves(alpha):
            moved = _moved(values[0], pairs.steps[0], out)
            if moved is not None:
                return moved
        count = len(values)
        for step in pairs.steps[:-1]:
            x, y = pairs.operands_of(step, values)
            with _named(step, count):
                values.append(step.product(x, y, **pairs.options_of(step)))
        last = pairs.steps[-1]
        x, y = pairs.operands_of(last, values)
        with _named(last, count):
            result = last.product(x, y, alpha=alpha, out=out, **pairs.options_of(last))
        return as_number(result, out)

    def plan(
        self,
        *operands: Any,
        out: Array | None = None,
        optimize: Any = "auto",
        alpha: Number = 1.0,
        **options: Unpack[EinsumOptions],
    ) -> EinsumPlan:
        """Prepare a call for many arrays that are laid out like these."""
        pairs = _Pairs(operands, optimize, dict(options))
        return EinsumPlan(pairs.steps, tuple(pairs.read("plan", out, alpha)))

    def explain(
        self,
        *operands: Any,
        out: Array | None = None,
        optimize: Any = "auto",
        alpha: Number = 1.0,
        **options: Unpack[EinsumOptions],
    ) -> EinsumExplanation:
        """Say in what pairs the call would be computed, and of each what `contract.explain` says."""
        pairs = _Pairs(operands, optimize, dict(options))
        if pairs.only_moves(alpha):
            x, step = pairs.arrays[0], pairs.steps[0]
            if out is None and _view(x, step) is not None:
                return EinsumExplanation((), (step.labels,))
            if _can_copy(x, step, out):
                return EinsumExplanation((step.copy.explain(x, out=out),), (step.labels,))
        return EinsumExplanation(tuple(pairs.read("explain", out, alpha)), tuple(step.labels for step in pairs.steps))

    def __repr__(self) -> str:
        return "<product einsum>"

    def __reduce__(self) -> str:
        return "einsum"

    def __get__(self, instance: Any, owner: Any = None) -> Einsum:
        return self


@dataclass(frozen=True)
class EinsumExplanation:
    """What `einsum.explain` found. Its string is the explanation in words.

    Attributes
    ----------
    pairs
        The explanation of each product, in order; none of a view, for which nothing is computed.
    subscripts
        Of each product.
    """

    pairs: tuple[Explanation, ...]
    subscripts: tuple[str, ...]

    @property
    def flops(self) -> int:
        """Of all products."""
        return sum(pair.flops for pair in self.pairs)

    def __str__(self) -> str:
        if not self.pairs:
            return f"einsum({self.subscripts[0]!r}): a view of its operand, nothing is computed"
        parts = []
        for number, (subscripts, pair) in enumerate(zip(self.subscripts, self.pairs, strict=True), 1):
            parts.append(
                f"pair {number} of {len(self.pairs)}, {subscripts}\n{pair}" if len(self.pairs) > 1 else str(pair)
            )
        return "\n\n".join(parts)


class EinsumPlan:
    """An `einsum` with its pairs and their kernels chosen. Call it with arrays laid out like those that it was made
    for.
    """

    def __init__(self, steps: tuple[_Step, ...], plans: tuple[_core.Plan, ...]) -> None:
        self._steps = steps
        self._plans = plans

    def __call__(self, *arrays: Any, out: Array | None = None, stream: Any = None) -> Any:
        """Compute it. Raises OperandError for arrays that it was not made for."""
        count = (
            sum(1 for step in self._steps for i in (step.first, step.second) if i is not None) - len(self._steps) + 1
        )
        if len(arrays) != count:
            raise OperandError(
                f"this plan of einsum takes {count} arrays, got {len(arrays)}\n  next: pass those that it was made for"
            )
        values = with_numbers("einsum", arrays)
        for step, plan in zip(self._steps, self._plans, strict=True):
            x = values[step.first]
            y = _one_beside(x, step) if step.second is None else values[step.second]
            with _named(step, count):
                values.append(plan(x, y, out=out if step is self._steps[-1] else None, stream=stream))
        return as_number(values[-1], out)

    @property
    def workspace_bytes(self) -> int:
        """Memory for sums between the steps of one pair, in bytes: the most of any."""
        return max(plan.workspace_bytes for plan in self._plans)

    def explain(self) -> EinsumExplanation:
        """Say what the plan does."""
        return EinsumExplanation(
            tuple(plan.explain() for plan in self._plans), tuple(step.labels for step in self._steps)
        )

    def __repr__(self) -> str:
        return f"<Plan of einsum in {len(self._plans)} pair{'s' * (len(self._plans) != 1)}>"


einsum = Einsum()
einsum.__name__ = einsum.__qualname__ = "einsum"  # type: ignore[attr-defined]
einsum.__doc__ = """Return the sum of products of any number of arrays that the subscripts name, pair by pair.

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
    Of `contract`: `alpha`, `device`, `compute`, `out_dtype`, ...; `alpha`, `epilogue`, `out_dtype` and `order` apply to the
    last pair. Of arrays of NumPy, PyTorch and CuPy `order` is ``"K"`` if left out, as in the einsums of these: the modes of a
    new result lie as suits the product. With ``order="C"`` its last mode is the fastest.

Without a sum and with no options, one operand gives a view of itself, as in NumPy: ``einsum("ij->ji", A)`` shares A's memory, and
``einsum("ii->i", A)`` is its diagonal. With `out` it is a copy, bit by bit. A plan always makes a result of its own.

Every pair is computed in the widest type of all operands, as in NumPy: of float32, float32 and float64 all sums are float64.
Intermediate results are as wide as what is summed in: float32 for float16 and bfloat16. int8 and float8 take two operands, since
they are multiplied by their own types alone. A new result without modes is a NumPy scalar where the operands are NumPy's.

>>> import cute_py, numpy as np
>>> A = np.ones((2, 3), np.float32)
>>> cute_py.einsum("ij,kj,kl->il", A, A, A)
array([[6., 6., 6.],
       [6., 6., 6.]], dtype=float32)
"""
einsum.__signature__ = written_out(Einsum.__call__, EinsumOptions)  # type: ignore[attr-defined]


def _are_plain(arrays: tuple[Any, ...]) -> bool:
    """Are these NumPy's arrays of types whose products are of that type? Most are, and need no more thought."""
    for array in arrays:  # noqa: SIM110, a generator takes twice as long
        if type(array) is not np.ndarray or array.dtype.char not in "fdFD":
            return False
    return True


@lru_cache(maxsize=1024)
def _single_product(subscripts: str, *ranks: int) -> tuple[Any, _Step | None]:
    """Return the product of one operand with a one, or of two; and the step if it only moves elements."""
    labels, result = _subscripts.parse("einsum", subscripts, ranks)
    step = _step_of(f"einsum({subscripts!r})", 0, labels[0], None if len(labels) == 1 else 1, labels[-1], result)
    return step.product, step if step.kept else None


def _step_of(
    name: str,
    x: int,
    of_x: str,
    y: int | None,
    of_y: str,
    kept: str,
    out_dtype: str | None = None,
    compute: str | None = None,
) -> _Step:
    """Return the product of two operands, or of one with a one; their numbers and indices, and those of the result."""
    text = of_x + (f",{of_y}" if y is not None else "") + "->" + kept
    product = _core.make_product(name, labels=(of_x, "" if y is None else of_y, kept), b_is_one=y is None)
    if y is not None or set(kept) != set(of_x):
        return _Step(x, y, product, text, out_dtype, compute)
    copy = _core.make_product(name, labels=(of_x, "", kept), copies=True) if len(kept) == len(of_x) else None
    modes = tuple(map(of_x.index, of_x)), tuple(map(of_x.index, kept))
    return _Step(x, y, product, text, out_dtype, compute, copy, kept, modes)


def _can_copy(x: Any, step: _Step, out: Any) -> bool:
    dtype = getattr(out, "dtype", None)
    is_conjugated = getattr(x, "is_conj", None)
    return step.copy is not None and dtype is not None and dtype == x.dtype and not (is_conjugated and is_conjugated())


def _moved(x: Any, step: _Step, out: Any) -> Any:
    """Return a view of `x`, or `out` with its elements; nothing if that takes a product."""
    if out is None:
        return _view(x, step)
    return step.copy(x, out=out) if _can_copy(x, step, out) else None


def _view(x: Any, step: _Step) -> Any:
    """Return the modes of `x` in the order of the result, and its diagonals, or nothing if its library has no such
    views.

    Views of NumPy's subclasses, such as memmap, are plain arrays, as in NumPy. A masked array is left to a product,
    which refuses it.
    """
    given, order = step.modes
    if type(x) is not np.ndarray and isinstance(x, np.ndarray):
        if isinstance(x, np.ma.MaskedArray):
            return None
        x = np.asarray(x)
    if len(order) == len(given):
        if type(x) is np.ndarray:
            return x.transpose(order)
        if hasattr(x, "permute"):  # PyTorch's
            return x.permute(order)
        return x.transpose(order) if hasattr(x, "transpose") else None
    shape = x.shape
    if given == (0, 0) and type(x) is np.ndarray:  # as NumPy's einsum has it, in a tenth of the time
        if shape[0] != shape[1]:
            return None
        diagonal = x.diagonal()
        diagonal.flags.writeable = x.flags.writeable
        return diagonal
    for extent, first in zip(shape, given, strict=True):
        if extent != shape[first]:
            return None
    if type(x) is np.ndarray:
        return _diagonals_by_numpy(x, given, order)
    if not hasattr(x, "diagonal"):
        return None
    letters = step.labels.partition("->")[0]
    while len(set(letters)) < len(letters):
        letter = next(letter for letter in letters if letters.count(letter) > 1)
        first = letters.index(letter)
        second = letters.index(letter, first + 1)
        x = x.diagonal(0, first, second)
        letters = letters[:first] + letters[first + 1 : second] + letters[second + 1 :] + letter
    order = tuple(map(letters.index, step.kept))
    return x.permute(order) if hasattr(x, "permute") else x.transpose(order)


def _one_beside(x: Any, step: _Step) -> Any:
    """Return the number one as an array of no modes, of the library and the type of `x`, beside it."""
    if hasattr(x, "new_ones"):  # PyTorch's
        return x.new_ones(())
    dtype = getattr(x, "dtype", None)
    if not isinstance(dtype, np.dtype):
        # The core knows what type a producer has that only exports its memory.
        letters = step.labels.partition("->")[0]
        itself = _core.make_product("einsum", labels=(letters, letters, ""))
        dtype = numpy_type(itself.explain(x, x).operands[0].split()[1])
    if type(x) is np.ndarray:
        return _one(dtype)
    return number_like(x, 1, dtype)


@lru_cache(maxsize=64)
def _one(dtype: Any) -> Any:
    """Return the number one for all of NumPy's operands of a type. Nobody writes to it."""
    one = np.ones((), dtype)
    one.flags.writeable = False
    return one


@contextmanager
def _named(step: _Step, count: int) -> Iterator[None]:
    """Have an error of one pair speak of the operands of the whole einsum, of which there are so many, and not of A and
    B.
    """
    try:
        yield
    except CuteError as error:
        if count <= 2:
            raise (error if step.second is not None else _without_the_one(error)) from None
        of = error if step.second is not None else _without_the_one(error)
        names = {
            name: f"operand {i + 1}" if i < count else f"the result of pair {i - count + 1}"
            for name, i in (("A", step.first), ("B", step.second))
            if i is not None
        }
        raise type(error)(re.sub(r"\b[AB]\b", lambda found: names.get(found[0], found[0]), str(of))) from None


def _without_the_one(error: CuteError) -> CuteError:
    """Return the error of a product with a one without the line that shows the one, which nobody passed."""
    return type(error)("\n".join(line for line in str(error).split("\n") if not line.startswith("  B ")))


# ---- Arguments


def indices_as_text(operands: tuple[Any, ...]) -> tuple[str, Sequence[Any]]:
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
    subscripts: str, shapes: tuple[tuple[int, ...], ...], dtypes: tuple[Any, ...], optimize: Any, compute: str | None
) -> tuple[_Step, ...]:
    """Return the products of an einsum in their order.

    Raises OperandError for operands that do not fit one another.
    """
    labels, result = _subscripts.parse("einsum", subscripts, tuple([len(shape) for shape in shapes]))
    return _steps_of(f"einsum({subscripts!r})", labels, result, shapes, dtypes, optimize, compute)


class PairStep(NamedTuple):
    """One product of an einsum, for a front end that computes the pairs itself."""

    first: int
    """The number of an operand, counted on over the results."""
    second: int | None
    """The same; None: the first is multiplied by a one."""
    of_first: str
    of_second: str
    kept: str
    """The indices of both, and of the result."""
    compute: str | None
    out_dtype: str | None
    """What to ask the core for: the caller's `compute`, or what keeps the digits of the result's type."""


def steps_by_labels(
    labels: tuple[str, ...],
    result: str,
    shapes: tuple[tuple[int, ...], ...],
    dtypes: tuple[Any, ...],
    optimize: Any,
    compute: str | None = None,
) -> tuple[PairStep, ...]:
    """Return the products that an einsum with these indices is made of, with what each is computed in."""
    path = optimize if isinstance(optimize, (str, bool)) else _given_path(len(labels), optimize)
    return _pairs_by_labels(labels, result, shapes, dtypes, path, compute)


def _pairs_of(
    labels: tuple[str, ...],
    result: str,
    shapes: tuple[tuple[int, ...], ...],
    dtypes: tuple[Any, ...],
    optimize: Any,
    compute: str | None,
) -> tuple[PairStep, ...]:
    text = ",".join(labels) + "->" + result
    pairs = []
    for step in _steps_of(f"einsum({text!r})", labels, result, shapes, dtypes, optimize, compute):
        of, _, kept = step.labels.partition("->")
        of_first, _, of_second = of.partition(",")
        pairs.append(
            PairStep(step.first, step.second, of_first, of_second, kept, step.compute or compute, step.out_dtype)
        )
    return tuple(pairs)


_known_pairs = lru_cache(maxsize=1024)(_pairs_of)


def _pairs_by_labels(*of: Any) -> tuple[PairStep, ...]:
    try:
        return _known_pairs(*of)
    except TypeError:  # extents that are symbols of PyTorch have no hash
        return _pairs_of(*of)


def _steps_of(
    name: str,
    labels: tuple[str, ...],
    result: str,
    shapes: tuple[tuple[int, ...], ...],
    dtypes: tuple[Any, ...],
    optimize: Any,
    compute: str | None,
) -> tuple[_Step, ...]:
    types = tuple([type_text(dtype) for dtype in dtypes])
    if len(shapes) <= 2:
        path: Path = (tuple(range(len(shapes))),)
    else:
        _require(name, labels, shapes, types)
        path = optimize if isinstance(optimize, tuple) else _path(name, labels, result, shapes, optimize)

    steps = []
    left = list(enumerate(labels))  # operands and results: number, letters
    widths = _Widths(types, compute)
    for positions in path:
        chosen = [left[i] for i in positions]
        left = [operand for i, operand in enumerate(left) if i not in positions]
        while chosen:
            (x, of_x), *chosen = chosen
            y, of_y = chosen.pop(0) if chosen else (None, "")
            needed = "".join(of for _, of in [*chosen, *left]) + result
            is_last = not (left or chosen)
            kept = result if is_last else _kept(of_x + of_y, needed)
            steps.append(_step_of(name, x, of_x, y, of_y, kept, *widths.of_pair(x, x if y is None else y, is_last)))
            made = len(labels) + len(steps) - 1
            if chosen:
                chosen.insert(0, (made, kept))
            else:
                left.append((made, kept))
        if len(left) == 1:
            break
    return tuple(steps)


class _Widths:
    """What the pairs of an einsum are computed in, so that its result has the digits of its type.

    Every pair is as wide as the widest of all operands, as in NumPy, and what is between pairs of float16 and bfloat16
    is float32.
    """

    def __init__(self, types: tuple[str, ...], compute: str | None) -> None:
        self._types = list(types)
        self._is_wide = compute is None and not set(types).isdisjoint(("float64", "complex128"))
        self._keeps_halves = compute in (None, "float32", "tfloat32")
        self._half = types[0] if types[0] in HALVES and len(set(types)) == 1 else None

    def of_pair(self, x: int, y: int, is_last: bool) -> tuple[str | None, str | None]:
        """Return the out_dtype and the compute of the product of two of the operands and results so far, and count its
        result.
        """
        pair = {self._types[x], self._types[y]}
        is_complex = not pair.isdisjoint(COMPLEX)
        compute = None
        if self._is_wide and pair.isdisjoint(("float64", "complex128")):
            compute = "complex128" if is_complex else "float64"
        out_dtype = None
        if self._keeps_halves and not is_last and pair <= set(HALVES):
            out_dtype = "float32"
        elif self._keeps_halves and is_last and len(self._types) > 2:
            out_dtype = self._half
        names = COMPLEX if is_complex else ("float32", "float64")
        self._types.append(names[self._is_wide])
        return (None, compute) if compute is not None else (out_dtype, None)


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
    if not set(types).isdisjoint(FLOAT8):
        raise UnsupportedProblemError(
            text(
                "has more than two operands, and float8 takes two: it is multiplied by float8 alone",
                "convert the float8 operands, for instance to bfloat16",
            )
        )
    for i, dtype in enumerate(types, 1):
        if dtype and dtype not in _FACTORS:
            raise OperandError(
                text(
                    f"multiplies {', '.join(_FACTORS)}, and operand {i} is none of them",
                    f"convert operand {i}, for instance to float64",
                )
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
                index = letter if letter.isalpha() else "of the ellipsis"
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
        import difflib  # only errors need it

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
