"""What an operation on layouts promises, in one sentence, and whether it holds: evaluated at every coordinate.

>>> from cute_py.laws import check_law
>>> print(check_law("composition", "(4,8):(8,1)", "(2,4):(1,8)"))
composition: R(c) = A(B(c)) for every coordinate c of B: holds at all 8
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from cute_py import _core
from cute_py._core import ComposedLayout, Layout
from cute_py._notation import read_text
from cute_py.errors import LayoutError, OperandError

__all__ = ["LAWS", "Law", "check_law"]

_MOST = 1 << 16  # coordinates are looked at one by one

Sides = Iterable[tuple[str, Any, Any]]  # of each instance: what it is about, the left and the right side


@dataclass(frozen=True)
class Law:
    """A law of an operation, checked for some arguments.

    Attributes
    ----------
    operation, statement
        The operation, and what it promises: A, B are its arguments, R is its result.
    result
        Of the operation.
    checked
        How many instances were evaluated.
    counterexample
        The first instance that does not hold, in words; None if all do.
    """

    operation: str
    statement: str
    result: Any
    checked: int
    counterexample: str | None

    @property
    def holds(self) -> bool:
        """Whether there is no counter-example."""
        return self.counterexample is None

    def __str__(self) -> str:
        outcome = f"holds at all {self.checked}" if self.holds else f"does not hold: {self.counterexample}"
        return f"{self.operation}: {self.statement}: {outcome}"


def check_law(operation: str, *arguments: Any) -> Law:
    """Compute an operation and check what it promises at every coordinate.

    Arguments are those of the operation; text in CuTe's notation will do. Raises OperandError for an operation without
    a law, LayoutError where the operation does and for more than 65,536 coordinates.
    """
    if operation not in LAWS:
        raise OperandError(f"check_law: there is no law of {operation!r}; there are: {', '.join(LAWS)}")
    statement, sides = LAWS[operation]
    read = [_read(argument) for argument in arguments]
    try:
        result = getattr(_core, operation)(*read)
    except TypeError:
        raise OperandError(
            f"check_law: {operation} does not take {len(arguments)} arguments; next: give those of cute_py.{operation}"
        ) from None
    checked = 0
    for what, left, right in sides(result, *read):
        if _plain(left) != _plain(right):
            found = f"{what} is {_shown(left)}, not {_shown(right)}"
            return Law(operation, statement, result, checked, found)
        checked += 1
    return Law(operation, statement, result, checked, None)


def _plain(value: Any) -> Any:
    """Return a coordinate without the zeros at its end: (0) and (0,0) are one."""
    if not isinstance(value, tuple):
        return value
    leaves = [_plain(v) for v in value]
    while leaves and leaves[-1] in (0, ()):
        leaves.pop()
    return tuple(leaves)


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(_core.print_tiler(value))


def _modes_of(operation: str, layout: Any, result: Any) -> Layout:
    """Return a layout whose modes are layouts of their own, as a law by modes needs it."""
    plain: Layout = _layout(layout)
    if isinstance(plain, ComposedLayout) or isinstance(result, ComposedLayout):
        raise LayoutError(
            f"check_law: {operation} by modes of the swizzled {plain} is not looked at; next: a tiler that is a layout"
        )
    return plain


def _read(value: Any) -> Any:
    if isinstance(value, str):
        value = read_text(value)
    return tuple(map(_read, value)) if isinstance(value, (tuple, list)) else value


def _layout(value: Any) -> Any:
    return value if isinstance(value, (Layout, ComposedLayout)) else Layout(value)


def _values(layout: Any) -> list[Any]:
    layout = _layout(layout)
    if layout.size > _MOST:
        raise LayoutError(
            f"check_law: {layout} has {layout.size} coordinates, and {_MOST} at most are looked at; next: a smaller one of its kind"
        )
    return list(_core.layout_values(layout, layout.size))


def _pointwise(name: str, left: Iterable[Any], right: Iterable[Any]) -> Sides:
    for i, (a, b) in enumerate(zip(left, right, strict=True)):
        yield f"{name.format(i)}", a, b


def _coalesce(result: Any, layout: Any, profile: Any = None) -> Sides:
    yield from _pointwise("R({})", _values(result), _values(layout))


def _composition(result: Any, a: Any, b: Any) -> Sides:
    if b is None:
        yield from _pointwise("R({})", _values(result), _values(a))
    elif isinstance(b, tuple):
        plain = _modes_of("composition", a, result)
        for mode, of_mode in enumerate(b):
            yield from _composition(_core.get(result, mode), _core.get(plain, mode), of_mode)
    else:
        a = _layout(a)
        yield from _pointwise("R({})", _values(result), (a(c) for c in _values(b)))


def _complement(result: Any, layout: Any, target: Any = None) -> Sides:
    layout = _layout(layout)
    of_result = _values(result)
    for i, (a, b) in enumerate(itertools.pairwise(of_result)):
        yield f"whether R({i}) < R({i + 1})", a < b, True
    reached = set(_values(layout))
    yield from ((f"whether A reaches R({i}) = {r}", r in reached, False) for i, r in enumerate(of_result) if r)
    cosize = int(_core.cosize(layout))
    if isinstance(target, (tuple, Layout)):
        return
    most = -(-(cosize if target is None else int(target)) // cosize) * cosize
    yield f"whether R stays below {most}", max(of_result) < most or most == 0, True


def _right_inverse(result: Any, layout: Any) -> Sides:
    layout = _layout(layout)
    of_result = _values(result)
    yield from _pointwise("A(R({}))", map(layout, of_result), range(len(of_result)))


def _left_inverse(result: Any, layout: Any) -> Sides:
    layout = _layout(layout)
    of_layout = _values(layout)
    yield from _pointwise("A(R(A({})))", (layout(result(i)) for i in of_layout), of_layout)


def _divide(result: Any, layout: Any, tiler: Any) -> Sides:
    if isinstance(tiler, tuple):
        plain = _modes_of("logical_divide", layout, result)
        for mode, of_mode in enumerate(tiler):
            if of_mode is not None:
                yield from _divide(_core.get(result, mode), _core.get(plain, mode), of_mode)
        return
    layout, tiler = _layout(layout), _layout(tiler)
    rest = _core.complement(tiler, _core.size(layout))
    elements = (layout(b + r) for r in _values(rest) for b in _values(tiler))
    yield from _pointwise("R({})", _values(result), elements)


def _product(result: Any, block: Any, tiler: Any) -> Sides:
    if isinstance(tiler, tuple):
        plain = _modes_of("logical_product", block, result)
        for mode, of_mode in enumerate(tiler):
            if of_mode is not None:
                yield from _product(_core.get(result, mode), _core.get(plain, mode), of_mode)
        return
    block, tiler = _layout(block), _layout(tiler)
    copies = _core.complement(block, _core.size(block) * _core.cosize(tiler))
    elements = (a + copies(b) for b in _values(tiler) for a in _values(block))
    yield from _pointwise("R({})", _values(result), elements)


def _same_as(operation: str) -> Callable[..., Sides]:
    def sides(result: Any, layout: Any, other: Any) -> Sides:
        layout = _layout(layout)
        if operation == "logical_product":  # of as many modes, as blocked_product and raked_product have it
            other = _layout(other) if not isinstance(other, tuple) else other
        of_base = _values(getattr(_core, operation)(layout, other))
        yield from _pointwise("the {}-th value of R", sorted(_values(result)), sorted(of_base))

    return sides


_REARRANGED = "R has the values of {}, each as often"

# Of each operation: its law, and the instances of it.
LAWS: dict[str, tuple[str, Callable[..., Sides]]] = {
    "coalesce": ("R(i) = A(i) for every i below size(A)", _coalesce),
    "composition": ("R(c) = A(B(c)) for every coordinate c of B", _composition),
    "complement": (
        "R ascends, has but for 0 no index of A, and stays below an integer B, rounded up to a multiple of cosize(A)",
        _complement,
    ),
    "right_inverse": ("A(R(i)) = i for every i below size(R)", _right_inverse),
    "left_inverse": ("A(R(A(c))) = A(c) for every coordinate c of A", _left_inverse),
    "logical_divide": ("R(i,j) = A(B(i) + B*(j)), B* the complement of B in size(A)", _divide),
    **{
        name: (_REARRANGED.format("logical_divide(A, B)"), _same_as("logical_divide"))
        for name in ("zipped_divide", "tiled_divide", "flat_divide")
    },
    "logical_product": ("R(i,j) = A(i) + A*(B(j)), A* the complement of A in size(A) * cosize(B)", _product),
    **{
        name: (_REARRANGED.format("logical_product(A, B)"), _same_as("logical_product"))
        for name in ("zipped_product", "tiled_product", "flat_product", "blocked_product", "raked_product")
    },
}  # fmt: skip
