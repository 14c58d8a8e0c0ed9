# mypy: disable-error-code="empty-body"
"""The functions of the layout algebra: their signatures and what they promise. They are compiled, in
csrc/bindings/layout_*.cpp.

What each returns, its law, and what it refuses is written here alone: `compiled` gives it to the function, whose
docstring begins with how it is called. The signatures are those of ``_core.pyi``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from cute_py import _core
from cute_py._core import ComposedLayout, Layout, Swizzle

__all__ = [
    "append",
    "blocked_product",
    "ceil_div",
    "coalesce",
    "colex_less",
    "compact_col_major",
    "compact_row_major",
    "compatible",
    "complement",
    "composition",
    "congruent",
    "coshape",
    "cosize",
    "crd2crd",
    "crd2idx",
    "depth",
    "dice",
    "downcast",
    "elem_less",
    "elem_scale",
    "evenly_divides",
    "filter_zeros",
    "flat_divide",
    "flat_product",
    "flatten",
    "get",
    "group",
    "idx2crd",
    "inner_product",
    "layout_values",
    "left_inverse",
    "lex_less",
    "logical_divide",
    "logical_product",
    "make_basis_like",
    "make_composed_layout",
    "make_identity_layout",
    "make_layout",
    "make_layout_like",
    "make_layout_tv",
    "make_ordered_layout",
    "make_swizzle",
    "max_common_layout",
    "max_common_vector",
    "nullspace",
    "parse",
    "prepend",
    "product",
    "product_each",
    "product_like",
    "raked_product",
    "rank",
    "recast_layout",
    "repeat_like",
    "replace",
    "right_inverse",
    "round_up",
    "select",
    "shape",
    "shape_div",
    "size",
    "slice_",
    "slice_and_offset",
    "stride",
    "take",
    "tile_to_shape",
    "tiled_divide",
    "tiled_product",
    "tuple_gcd",
    "tuple_max",
    "tuple_sum",
    "unflatten",
    "upcast",
    "weakly_congruent",
    "zipped_divide",
    "zipped_product",
]

F = TypeVar("F", bound=Callable[..., Any])


def compiled(call: str = "") -> Callable[[F], F]:
    """Give a function's docstring to the compiled function of its name, which takes its place.

    `call` says how it is called where that is not what its signature says.
    """

    def take_place(described: F) -> F:
        function: F = getattr(_core, described.__name__)
        if described.__doc__ and not function.__doc__:  # there is none under python -OO
            _core.add_docstring(function, f"{call or called(described)}\n\n{inspect.cleandoc(described.__doc__)}")
        return function

    return take_place


def called(function: Callable[..., Any]) -> str:
    """Return how a function is called: its name, its parameters and their defaults."""
    code, defaults = function.__code__, function.__defaults__ or ()
    parameters = list(code.co_varnames[: code.co_argcount])
    for i, default in enumerate(defaults, code.co_argcount - len(defaults)):
        parameters[i] += f"={default!r}"
    if code.co_flags & inspect.CO_VARARGS:
        parameters.append(f"*{code.co_varnames[code.co_argcount]}")
    return f"{function.__name__}({', '.join(parameters)})"


@compiled("make_layout(shape, stride=None) or make_layout(layout, layout, ...)")
def make_layout(*arguments: Any) -> Layout:
    """A layout from a shape and a stride, column-major without one, or one whose modes are the given layouts.

    >>> print(make_layout((4, 8)), make_layout((4, 8), LayoutRight), make_layout(Layout(4), Layout(8, 4)))
    (4,8):(_1,4) (4,8):(8,_1) (4,8):(_1,4)
    """


@compiled()
def make_ordered_layout(shape: Any, order: Any) -> Layout:
    """The compact layout of a shape whose modes are ordered by ascending `order`, or LayoutLeft or LayoutRight.

    >>> print(make_ordered_layout((2, 3, 4), (2, 0, 1)))
    (2,3,4):(12,_1,3)
    """


@compiled()
def make_layout_like(layout: Any) -> Layout:
    """The compact layout of the same shape whose strides are in the same order. Strides of 0 stay.

    >>> print(make_layout_like(Layout("(2,3,4):(0,40,10)")))
    (2,3,4):(_0,4,_1)
    """


@compiled()
def make_layout_tv(thr_layout: Any, val_layout: Any) -> tuple[Any, Layout]:
    """The tile that threads and values cover, and the layout (thread, value) -> index in it, from (m,n) -> thread and
    (m,n) -> value.

    >>> tile, tv = make_layout_tv(Layout("(_4,_8):(_8,_1)"), Layout("(_2,_2)"))
    >>> print(tile, tv)
    (8, 16) ((_8,_4),(_2,_2)):((_16,_2),(_1,_8))
    """


@compiled()
def make_fragment_like(layout: Any) -> Layout:
    """The compact layout of the registers that hold such a tensor: mode 0 first, the others in the order of their
    strides.
    """


@compiled()
def make_identity_layout(shape: Any) -> Layout:
    """The layout that maps a coordinate to itself: its strides are basis elements.

    >>> make_identity_layout((4, 5))(2, 3)
    (2, 3)
    """


@compiled()
def make_composed_layout(outer: Any, offset: Any, inner: Any) -> ComposedLayout:
    """c -> outer(offset + inner(c)), evaluated as it stands. The outer function is a Swizzle or any layout, the inner
    one any layout; either may be composed itself.

    >>> make_composed_layout(Layout("(6,2):(1,7)"), 0, Layout("(3,2):(2,3)"))(2, 1)
    8
    """


@compiled()
def make_swizzle(y: int, z: int) -> Swizzle:
    """The swizzle that changes the bits `z` by the bits `y`. Raises LayoutError unless each is one run of as many bits.

    >>> print(make_swizzle(0b11000000, 0b00000110))
    Sw<2,1,5>
    """


@compiled()
def rank(x: Any, /, *modes: int) -> int:
    """The number of modes of a shape or a layout, or of one of its modes; 1 of an integer."""


@compiled()
def depth(x: Any, /, *modes: int) -> int:
    """The levels of nesting of a shape or a layout; 0 of an integer."""


@compiled()
def size(x: Any, /, *modes: int) -> int:
    """The number of elements of a shape or a layout, or of one of its modes: the product of the extents."""


@compiled()
def shape(x: Any, /, *modes: int) -> Any:
    """The shape of a layout, or of one of its modes."""


@compiled()
def stride(layout: Any, /, *modes: int) -> Any:
    """The strides of a layout, or of one of its modes."""


@compiled()
def cosize(layout: Any, /, *modes: int) -> int:
    """The size of the codomain: one more than the greatest index, strides taken as positive; 0 of a layout without
    elements.

    >>> cosize(Layout("(4,8):(1,5)"))
    39
    """


@compiled()
def coshape(layout: Any, /, *modes: int) -> Any:
    """The smallest shape that every value of the layout lies in: an integer, or a tuple where strides are basis
    elements.
    """


@compiled()
def congruent(a: Any, b: Any) -> bool:
    """Whether two shapes or layouts have the same nesting."""


@compiled()
def weakly_congruent(a: Any, b: Any) -> bool:
    """Whether the nesting of b refines that of a."""


@compiled()
def compatible(a: Any, b: Any) -> bool:
    """Whether the sizes agree and every coordinate into a is one into b."""


@compiled()
def ceil_div(a: Any, b: Any) -> Any:
    """a / b rounded up, by modes. An integer b is divided out of the modes of a from left to right.

    >>> ceil_div((4, 6), 8)
    (1, 3)
    """


@compiled()
def product_each(shape: Any) -> Any:
    """The sizes of the modes, as a flat tuple."""


@compiled()
def shape_div(a: Any, b: Any) -> Any:
    """a / b of shapes where one divides the other, else LayoutError: by modes, an integer b out of the modes of a from
    left to right, an integer a by the size of b.

    >>> shape_div((12, 4), 6), shape_div((4, 5, 6), 40)
    ((2, 4), (1, 1, 3))
    """


@compiled()
def round_up(a: Any, b: Any) -> Any:
    """The least multiples of b that are not below a, by modes. Where b has fewer modes, a stays.

    >>> round_up((100, 30), (64, 8))
    (128, 32)
    """


@compiled()
def evenly_divides(a: Any, b: Any) -> bool:
    """Whether tiles b fill the shape a without a rest.

    >>> evenly_divides((128, 30), (64, 8)), evenly_divides((128, 32), (64, 8))
    (False, True)
    """


@compiled()
def elem_scale(a: Any, b: Any) -> Any:
    """Each integer of a times the size of what b has in its place.

    >>> elem_scale((2, 3), ((4, 5), 6))
    (40, 18)
    """


@compiled()
def inner_product(a: Any, b: Any) -> Any:
    """The sum of the products of the integers in one place, as of a coordinate and strides; where strides are basis
    elements, a coordinate.

    >>> inner_product((2, (1, 3)), (1, (4, 8)))
    30
    """


@compiled()
def colex_less(a: Any, b: Any) -> bool:
    """Whether a comes before b in colexicographic order, that of a layout's coordinates: the last mode decides first.

    >>> colex_less((3, 0), (0, 1)), colex_less((0, 1), (3, 0))
    (True, False)
    """


@compiled()
def lex_less(a: Any, b: Any) -> bool:
    """Whether a comes before b in lexicographic order: the first mode decides first."""


@compiled()
def product(t: Any) -> Any:
    """The product of the integers of a tuple, or of a shape's extents.

    >>> product((2, (3, 4)))
    24
    """


@compiled()
def tuple_max(t: Any) -> Any:
    """The greatest integer of a tuple or of a shape, CuTe's `max`."""


@compiled()
def tuple_sum(t: Any) -> Any:
    """The sum of the integers of a tuple, CuTe's `sum`."""


@compiled()
def tuple_gcd(t: Any) -> Any:
    """The greatest common divisor of the integers of a tuple, CuTe's `gcd`."""


@compiled("compact_col_major(shape, first=1)")
def compact_col_major(shape: Any, first: Any = None) -> Any:
    """The strides of a compact layout, the first mode fastest, from the stride `first` on.

    >>> compact_col_major((2, (3, 4)))
    (Int(1), (2, 6))
    """


@compiled("compact_row_major(shape, first=1)")
def compact_row_major(shape: Any, first: Any = None) -> Any:
    """The strides of a compact layout, the last mode fastest, from the stride `first` on.

    >>> compact_row_major((2, (3, 4)))
    (12, (4, Int(1)))
    """


@compiled()
def make_basis_like(shape: Any) -> Any:
    """The strides of the identity: a unit step along each mode.

    >>> print(notation(make_basis_like((4, (2, 3)))))
    (_1@0,(_1@0@1,_1@1@1))
    """


@compiled()
def repeat_like(t: Any, value: Any) -> Any:
    """A tuple of the nesting of t with one value everywhere.

    >>> repeat_like((4, (2, 3)), 0)
    (0, (0, 0))
    """


@compiled()
def product_like(t: Any, profile: Any) -> Any:
    """The sizes of what t has at the leaves of a profile.

    >>> product_like((2, (3, 4)), (0, 0))
    (2, 12)
    """


@compiled("crd2idx(coord, layout) or crd2idx(coord, shape, stride=None)")
def crd2idx(coord: Any, shape: Any, stride: Any = None) -> Any:
    """The index of a coordinate: an integer, flat or nested. Without strides, its position in colexicographic order.
    NumPy arrays of integers in the coordinate broadcast and give an array of indices.

    >>> crd2idx((1, (1, 2)), (3, (2, 3)), (3, (12, 1)))
    17
    """


@compiled()
def idx2crd(index: Any, shape: Any, stride: Any = None) -> Any:
    """The coordinate at an index, in colexicographic order, or in that of compact strides. Static integers stay static.
    Of an array of indices, a coordinate of arrays.

    >>> idx2crd(16, (3, (2, 3)))
    (1, (1, 2))
    """


@compiled()
def crd2crd(coord: Any, src_shape: Any, dst_shape: Any) -> Any:
    """The same position as a coordinate of another shape of that size."""


@compiled()
def elem_less(a: Any, b: Any) -> bool:
    """Whether each integer of the coordinate a is less than the one of b, a shape or a layout of the same nesting. a
    may have fewer modes. The predicate of CuTe's kernels: `elem_less(cA(m, k), shape(A))`.

    >>> elem_less((3, 6), (4, 7)), elem_less((3, 7), (4, 7))
    (True, False)
    """


@compiled()
def layout_indices(layout: Any, /) -> bytes:
    """The index of every coordinate, in the order of coordinates, as the bytes of native 64-bit integers."""


@compiled()
def record(
    operation: str, layout: Any, argument: Any = None
) -> tuple[list[tuple[str, dict[str, Any]]], Any, str | None]:
    """What coalesce, composition, complement, right_inverse, left_inverse, logical_divide or logical_product does, as
    (steps, result, error). A step is its kind and its operands and results by name. Of result and error, the text of a
    LayoutError, one is None.
    """


@compiled()
def layout_values(layout: Any, limit: int | None = None) -> list[Any]:
    """The values of a layout in colexicographic order of its coordinates, all of them or the first ones."""


@compiled()
def get(x: Any, /, *modes: int) -> Any:
    """A mode of a layout, a tensor or a tuple; several numbers go down the nesting."""


@compiled("select(x, *modes)")
def select(layout: Any, /, *modes: int) -> Any:
    """The layout, or the tuple, of these modes, in this order.

    >>> select((128, 96, 8), 0, 2)
    (128, 8)
    """


@compiled("take(x, begin, end)")
def take(layout: Any, begin: int, end: int) -> Any:
    """The layout, or the tuple, of the modes begin to end - 1."""


@compiled("group(x, begin, end)")
def group(layout: Any, begin: int, end: int) -> Any:
    """The same layout, or the same tuple, with the modes begin to end - 1 grouped into one."""


@compiled("append(x, rank, mode=Layout(1, 0)) or append(x, mode)")
def append(layout: Any, rank: int, mode: Any = None) -> Any:
    """The layout, or the tuple, with `mode` repeated at its end up to a rank, or once. A tuple needs the mode.

    >>> append((1, 2), 3), append((1, 2), 4, 3)
    ((1, 2, 3), (1, 2, 3, 3))
    """


@compiled("prepend(x, rank, mode=Layout(1, 0)) or prepend(x, mode)")
def prepend(layout: Any, rank: int, mode: Any = None) -> Any:
    """The layout, or the tuple, with `mode` repeated at its front up to a rank, or once. A tuple needs the mode."""


@compiled("replace(x, at, mode)")
def replace(layout: Any, at: int, mode: Any) -> Any:
    """The layout, or the tuple, with another mode in one place."""


@compiled("flatten(x)")
def flatten(layout: Any) -> Any:
    """The layout, or the tuple, without nesting."""


@compiled("unflatten(x, profile)")
def unflatten(layout: Any, profile: Any) -> Any:
    """A flat layout, or a flat tuple, with the nesting of a profile: a tuple or a layout.

    >>> unflatten((1, 2, 3), (0, (0, 0)))
    (1, (2, 3))
    """


@compiled()
def zip(layout: Any, other: Any = None) -> Layout:  # noqa: A001 - CuTe's name
    """Of one layout of modes of equal rank, its transpose: ((a,b),(c,d)) -> ((a,c),(b,d)). Of two, their modes in
    pairs.
    """


@compiled("slice_(coord, x)")
def slice_(coord: Any, layout: Any) -> Any:
    """The modes of a layout, or the elements of a tuple, where the coordinate is None. `slice_and_offset` also gives
    where the modes start.

    >>> slice_((None, 0), (3, 4))
    (3,)
    """


@compiled()
def slice_and_offset(coord: Any, layout: Any) -> tuple[Any, Any]:
    """The modes where the coordinate is None, and the index of the rest of it. A swizzled layout decays to a plain one
    where the open modes do not meet the swizzle, as in CuTe.

    >>> slice_and_offset((2, None), Layout("(4,8):(8,1)"))
    (Layout("(8):(1)"), 16)
    """


@compiled("dice(coord, x)")
def dice(coord: Any, value: Any) -> Any:
    """The modes of a layout, or the elements of a tuple, where the coordinate is not None.

    >>> dice((1, None, 1), (128, 64, 8))
    (128, 8)
    """


@compiled()
def parse(text: str) -> Any:
    """What CuTe printed: a Layout, a ComposedLayout, a Swizzle, or a tuple of integers and layouts with None for `_`.

    >>> parse("Sw<3,3,3> o _0 o (_8,_64):(_64,_1)")
    ComposedLayout("Sw<3,3,3> o _0 o (_8,_64):(_64,_1)")
    """


@compiled()
def print_tiler(value: Any, /) -> str:
    """A tiler, a shape or a coordinate in CuTe's notation."""


@compiled()
def composition(a: Any, b: Any) -> Any:
    """Law: result(c) == a(b(c)) for every coordinate c of b, and compatible(b, result).

    `b` is a layout; a tuple acts by modes, None keeps a mode, an integer n stands for n:1. A swizzle on the left gives
    a ComposedLayout. Raises LayoutError, with a coordinate that shows it, where the modes of b carry into one another
    in a, which C++ does not notice, and where a does not divide by a mode of b.

    >>> print(composition(Layout("(10,2):(16,4)"), Layout("(5,4):(1,5)")))
    (5,(2,2)):(16,(80,4))
    """


@compiled()
def coalesce(layout: Any, profile: Any = None) -> Any:
    """Law: result(i) == layout(i) for 0 <= i < size(layout), and depth(result) <= 1, in as few modes as possible. With
    a profile, at each of its leaves.

    >>> print(coalesce(Layout("(2,(1,6)):(1,(6,2))")))
    12:1
    """


@compiled()
def filter(layout: Any, profile: Any = None) -> Any:  # noqa: A001 - CuTe's name
    """The layout without strides of 0 and extents of 1, coalesced. With a profile, at each of its leaves."""


@compiled()
def filter_zeros(layout: Any, profile: Any = None) -> Any:
    """The layout with extents of 1 where strides, or the leaves of the profile, are 0."""


@compiled()
def complement(layout: Any, cotarget: Any = None) -> Layout:
    """What a layout misses of the indices below size(cotarget), by default below its own cosize.

    Law: the result's indices ascend, and but for 0 they are none of the layout's; they stay below the target, rounded
    up to the layout's cosize. Raises LayoutError for negative strides, and where modes interleave, so that there is no
    complement.

    >>> print(complement(Layout("(2,2):(1,6)"), 24))
    (3,2):(2,12)
    """


@compiled()
def right_inverse(layout: Any) -> Any:
    """Law: layout(result(i)) == i for 0 <= i < size(result). If no two coordinates have one index and no stride is
    negative, no right inverse is larger. Where indices repeat, a larger one may exist: of (6,4):(1,3) this is 6:_1, as
    CuTe's, and (2,2,3):(1,2,7) is another. Of a swizzled layout it is the swizzle in front of a layout where that is
    one, else every function undone, one after the other, for as many i as it holds; raises LayoutError where the layout
    does not give the index 0, as behind an offset.

    >>> print(right_inverse(Layout("(4,8):(8,1)")))
    (8,4):(4,_1)
    >>> print(right_inverse(make_composed_layout(Swizzle(3, 0, 4), 0, Layout((2, 2), (2, 1)))))
    (2,2):(2,_1) o 0 o Sw<3,0,4> o _0 o 4:_1
    """


@compiled()
def left_inverse(layout: Any) -> Any:
    """Law: layout(result(layout(i))) == layout(i), and result(layout(i)) == i if the layout is injective. Raises
    LayoutError for negative strides and for strides that do not divide one another. Of a swizzled layout, also one with
    an offset and a nested one, every function is undone.

    >>> print(left_inverse(Layout("4:2")))
    (2,4):(_0,_1)
    >>> f = make_composed_layout(Swizzle(1, 0, 2), 8, Layout((2, 4)))
    >>> back = left_inverse(f)
    >>> print(back, [back(f(c)) for c in range(8)])
    8:_1 o -8 o Sw<1,0,2> o _0 o 16:_1 [0, 1, 2, 3, 4, 5, 6, 7]
    """


@compiled()
def nullspace(layout: Any) -> Layout:
    """Law: layout(result(i)) == 0, and size(result) == size(layout) / size(filter(layout))."""


@compiled()
def max_common_vector(a: Any, b: Any) -> int:
    """The number of elements that are contiguous, in the same order, in both layouts: how wide a copy between them
    can be.
    """


@compiled()
def max_common_layout(a: Any, b: Any) -> Layout:
    """Law: a(result(i)) == b(result(i)) == i for 0 <= i < size(result)."""


@compiled()
def logical_divide(layout: Any, tiler: Any) -> Any:
    """Law: layout o (tiler, complement(tiler, size(layout))): mode 0 is a tile, mode 1 the tiles. A tuple acts by
    modes, None keeps a mode.

    >>> print(logical_divide(Layout("(4,2,3):(2,1,8)"), Layout("4:2")))
    ((2,2),(2,3)):((4,1),(2,8))
    """


@compiled()
def zipped_divide(layout: Any, tiler: Any) -> Any:
    """`logical_divide` with all tile modes in mode 0 and all rest modes in mode 1:
    ((TileM,TileN),(RestM,RestN,...)).
    """


@compiled()
def tiled_divide(layout: Any, tiler: Any) -> Any:
    """`zipped_divide` with the rest modes unpacked: ((TileM,TileN),RestM,RestN,...)."""


@compiled()
def flat_divide(layout: Any, tiler: Any) -> Any:
    """`zipped_divide` with both unpacked: (TileM,TileN,RestM,RestN,...)."""


@compiled()
def logical_product(block: Any, tiler: Any) -> Any:
    """Law: (block, complement(block, size(block) * cosize(tiler)) o tiler): mode 0 is the block, mode 1 its copies. A
    tuple acts by modes.

    >>> print(logical_product(Layout("(2,2):(4,1)"), Layout("6:1")))
    ((2,2),(2,3)):((4,1),(2,8))
    """


@compiled()
def zipped_product(block: Any, tiler: Any) -> Any:
    """`logical_product` with all block modes in mode 0 and all copies in mode 1."""


@compiled()
def tiled_product(block: Any, tiler: Any) -> Any:
    """`zipped_product` with the copies unpacked."""


@compiled()
def flat_product(block: Any, tiler: Any) -> Any:
    """`zipped_product` with both unpacked."""


@compiled()
def blocked_product(block: Any, tiler: Any) -> Any:
    """The block repeated over the tiler, by modes: ((BlockM,TilerM),(BlockN,TilerN)).

    >>> print(blocked_product(Layout("(2,5):(5,1)"), Layout("(3,4):(1,3)")))
    ((2,3),(5,4)):((5,10),(1,30))
    """


@compiled()
def raked_product(block: Any, tiler: Any) -> Any:
    """The block interleaved with the tiler, by modes: ((TilerM,BlockM),(TilerN,BlockN))."""


@compiled()
def tile_to_shape(block: Any, shape: Any, order: Any = None) -> Any:
    """The block repeated until it fills a shape, first mode first or in an order. Raises LayoutError if it does not
    divide the shape.

    >>> print(tile_to_shape(Layout("(_8,_64):(_64,_1)"), (Int(128), Int(64))))
    ((_8,_16),(_64,_1)):((_64,_512),(_1,_0))
    """


@compiled()
def upcast(layout: Any, n: int) -> Any:
    """The same memory in elements n times as large. Raises LayoutError if a stride and n do not divide one another."""


@compiled()
def downcast(layout: Any, n: int) -> Any:
    """The same memory in elements of which n make one. Raises LayoutError if no stride is 1."""


@compiled()
def recast_layout(layout: Any, old_bits: int, new_bits: int) -> Any:
    """The same memory in elements of another size, in bits: `downcast`, `upcast`, or both.

    >>> print(recast_layout(Layout("(_8,_4):(_1,_8)"), 16, 32), recast_layout(Layout("(_8,_4):(_1,_8)"), 16, 8))
    (_4,_4):(_1,_4) (_16,_4):(_1,_16)
    """
