"""Bad arguments of the layout algebra: each gets a LayoutError that names the operation and the argument, and no answer."""

from __future__ import annotations

import functools
import pickle
import random
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import cute_py.layout as cl
from cute_py import LayoutError, OperandError, atoms
from cute_py.layout import ComposedLayout, E, Int, Layout, ScaledBasis, Swizzle
from pace import takes_under

PLAIN = Layout((4, 8))
SWIZZLED = cl.composition(Swizzle(1, 1, 2), Layout((4, 8)))


@dataclass(frozen=True)
class Argument:
    """One argument of one function. `takes` says what it is: a layout, a shape, a tuple, a tiler, a coordinate, a mode, ..."""

    operation: str
    name: str
    takes: str
    call: Callable[[Any], Any]
    optional: bool = False

    def __str__(self) -> str:
        return f"{self.operation}-{self.name}"


def unary(takes: str, name: str, *operations: str) -> list[Argument]:
    return [Argument(operation, name, takes, getattr(cl, operation)) for operation in operations]


def tiled(first: str, *functions: Callable[..., Any]) -> list[Argument]:
    return [
        argument
        for f in functions
        for argument in (
            Argument(f.__name__, first, "layout", lambda x, f=f: f(x, 2)),
            Argument(f.__name__, "tiler", "tiler", lambda x, f=f: f(PLAIN, x)),
        )
    ]


ARGUMENTS = [
    *unary("layout", "layout", "coalesce", "filter", "filter_zeros", "nullspace", "stride", "cosize", "coshape"),
    *unary("layout", "layout", "complement", "right_inverse", "left_inverse", "make_layout_like", "make_fragment_like"),
    *unary("layout", "layout", "select", "zip"),
    *unary("tuple", "layout|tuple", "get", "flatten"),
    *unary("shape", "shape", "Layout", "make_layout", "make_identity_layout"),
    *unary("shape", "first argument", "size"),
    *unary("tuple", "first argument", "rank", "depth", "shape"),
    *unary("tuple", "shape", "product_each"),
    *unary("text", "text", "parse"),
    *tiled("layout", cl.logical_divide, cl.zipped_divide, cl.tiled_divide, cl.flat_divide),
    *tiled("block", cl.logical_product, cl.zipped_product, cl.tiled_product, cl.flat_product),
    Argument("Layout", "stride", "tuple", lambda x: Layout((4, 8), x), optional=True),
    Argument("make_layout", "stride", "tuple", lambda x: cl.make_layout((4, 8), x), optional=True),
    Argument("make_layout", "mode", "layout", lambda x: cl.make_layout(PLAIN, x)),
    Argument("coalesce", "profile", "tuple", lambda x: cl.coalesce(PLAIN, x), optional=True),
    Argument("filter", "profile", "tuple", lambda x: cl.filter(PLAIN, x), optional=True),
    Argument("filter_zeros", "profile", "tuple", lambda x: cl.filter_zeros(PLAIN, x), optional=True),
    Argument("unflatten", "layout", "layout", lambda x: cl.unflatten(x, (1, 1))),
    Argument("unflatten", "profile", "tuple", lambda x: cl.unflatten(PLAIN, x)),
    Argument("make_ordered_layout", "shape", "shape", lambda x: cl.make_ordered_layout(x, (0, 1))),
    Argument("make_ordered_layout", "order", "tuple", lambda x: cl.make_ordered_layout((4, 8), x)),
    Argument("composition", "A", "layout", lambda x: cl.composition(x, 2)),
    Argument("composition", "B", "tiler", lambda x: cl.composition(PLAIN, x)),
    Argument("compose", "B", "tiler", lambda x: PLAIN.compose(x)),
    Argument("with_shape", "shape", "shape", lambda x: PLAIN.with_shape(x)),
    Argument("complement", "cotarget", "shape", lambda x: cl.complement(Layout(4), x), optional=True),
    Argument("max_common_vector", "a", "layout", lambda x: cl.max_common_vector(x, PLAIN)),
    Argument("max_common_vector", "b", "layout", lambda x: cl.max_common_vector(PLAIN, x)),
    Argument("max_common_layout", "a", "layout", lambda x: cl.max_common_layout(x, PLAIN)),
    Argument("max_common_layout", "b", "layout", lambda x: cl.max_common_layout(PLAIN, x)),
    Argument("blocked_product", "block", "layout", lambda x: cl.blocked_product(x, PLAIN)),
    Argument("blocked_product", "tiler", "layout", lambda x: cl.blocked_product(PLAIN, x)),
    Argument("raked_product", "block", "layout", lambda x: cl.raked_product(x, PLAIN)),
    Argument("raked_product", "tiler", "layout", lambda x: cl.raked_product(PLAIN, x)),
    Argument("tile_to_shape", "block", "layout", lambda x: cl.tile_to_shape(x, (4, 8))),
    Argument("tile_to_shape", "shape", "shape", lambda x: cl.tile_to_shape(Layout((1, 1)), x)),
    Argument("tile_to_shape", "order", "tuple", lambda x: cl.tile_to_shape(PLAIN, (8, 8), x), optional=True),
    Argument("upcast", "layout", "layout", lambda x: cl.upcast(x, 2)),
    Argument("upcast", "n", "factor", lambda x: cl.upcast(PLAIN, x)),
    Argument("downcast", "layout", "layout", lambda x: cl.downcast(x, 2)),
    Argument("downcast", "n", "factor", lambda x: cl.downcast(PLAIN, x)),
    Argument("recast_layout", "layout", "layout", lambda x: cl.recast_layout(x, 16, 32)),
    Argument("recast_layout", "old_bits", "factor", lambda x: cl.recast_layout(PLAIN, x, 32)),
    Argument("recast_layout", "new_bits", "factor", lambda x: cl.recast_layout(PLAIN, 16, x)),
    Argument("layout_values", "layout", "layout", lambda x: cl.layout_values(x, 4)),
    Argument("layout_values", "limit", "factor", lambda x: cl.layout_values(PLAIN, x), optional=True),
    Argument("make_layout_tv", "thr_layout", "layout", lambda x: cl.make_layout_tv(x, PLAIN)),
    Argument("make_layout_tv", "val_layout", "layout", lambda x: cl.make_layout_tv(PLAIN, x)),
    Argument("congruent", "a", "tuple", lambda x: cl.congruent(x, 4)),
    Argument("congruent", "b", "tuple", lambda x: cl.congruent(4, x)),
    Argument("weakly_congruent", "a", "tuple", lambda x: cl.weakly_congruent(x, 4)),
    Argument("weakly_congruent", "b", "tuple", lambda x: cl.weakly_congruent(4, x)),
    Argument("compatible", "a", "shape", lambda x: cl.compatible(x, 4)),
    Argument("compatible", "b", "shape", lambda x: cl.compatible(4, x)),
    Argument("ceil_div", "a", "tuple", lambda x: cl.ceil_div(x, 2)),
    Argument("ceil_div", "b", "factor", lambda x: cl.ceil_div((4, 8), x)),
    Argument("crd2idx", "coord", "tuple", lambda x: cl.crd2idx(x, (4, 8))),
    Argument("crd2idx", "shape", "shape", lambda x: cl.crd2idx(1, x)),
    Argument("crd2idx", "stride", "tuple", lambda x: cl.crd2idx((1, 1), (4, 8), x), optional=True),
    Argument("elem_less", "a", "tuple", lambda x: cl.elem_less(x, (4, 8))),
    Argument("elem_less", "b", "tuple", lambda x: cl.elem_less((1, 1), x)),
    Argument("idx2crd", "index", "tuple", lambda x: cl.idx2crd(x, (4, 8))),
    Argument("idx2crd", "shape", "shape", lambda x: cl.idx2crd(3, x)),
    Argument("idx2crd", "stride", "tuple", lambda x: cl.idx2crd(3, (4, 8), x), optional=True),
    Argument("crd2crd", "coord", "tuple", lambda x: cl.crd2crd(x, (4, 8), 32)),
    Argument("crd2crd", "src_shape", "shape", lambda x: cl.crd2crd(3, x, (4, 8))),
    Argument("crd2crd", "dst_shape", "shape", lambda x: cl.crd2crd(3, (4, 8), x)),
    Argument("get_hier_coord", "index", "tuple", lambda x: PLAIN.get_hier_coord(x)),
    Argument("get_flat_coord", "index", "tuple", lambda x: PLAIN.get_flat_coord(x)),
    Argument("get_1d_coord", "index", "tuple", lambda x: PLAIN.get_1d_coord(x)),
    Argument("layout(coord)", "coord", "coordinate", lambda x: PLAIN(x)),
    Argument("layout(coord)", "coord", "coordinate", lambda x: SWIZZLED(x)),
    Argument("slice_", "coord", "coordinate", lambda x: cl.slice_((None, x), PLAIN)),
    Argument("slice_", "layout", "layout", lambda x: cl.slice_((None, 1), x)),
    Argument("slice_and_offset", "coord", "coordinate", lambda x: cl.slice_and_offset((None, x), PLAIN)),
    Argument("slice_and_offset", "layout", "layout", lambda x: cl.slice_and_offset((None, 1), x)),
    Argument("dice", "coord", "coordinate", lambda x: cl.dice((None, x), PLAIN)),
    Argument("dice", "value|second argument", "value", lambda x: cl.dice((None, 1), x)),
    Argument("layout[mode]", "mode", "mode", lambda x: PLAIN[x]),
    *(
        Argument(f.__name__, "mode", "mode", lambda x, f=f: f(PLAIN, x))
        for f in (cl.get, cl.select, cl.size, cl.rank, cl.depth, cl.shape, cl.stride, cl.cosize, cl.coshape)
    ),
    *(
        argument
        for f in (cl.take, cl.group)
        for argument in (
            Argument(f.__name__, "layout", "layout", lambda x, f=f: f(x, 0, 1)),
            Argument(f.__name__, "begin", "mode", lambda x, f=f: f(PLAIN, x, 2)),
            Argument(f.__name__, "end", "mode", lambda x, f=f: f(PLAIN, 0, x)),
        )
    ),
    *(
        argument
        for f in (cl.append, cl.prepend)
        for argument in (
            Argument(f.__name__, "layout", "layout", lambda x, f=f: f(x, 3)),
            Argument(f.__name__, "rank", "rank", lambda x, f=f: f(PLAIN, x)),
            Argument(f.__name__, "mode", "layout", lambda x, f=f: f(PLAIN, 3, x), optional=True),
        )
    ),
    Argument("replace", "layout", "layout", lambda x: cl.replace(x, 0, PLAIN)),
    Argument("replace", "at", "mode", lambda x: cl.replace(PLAIN, x, PLAIN)),
    Argument("replace", "mode", "layout", lambda x: cl.replace(PLAIN, 0, x)),
    Argument("zip", "b", "layout", lambda x: cl.zip(Layout(((2, 2), (2, 2))), x), optional=True),
    Argument("make_swizzle", "y", "mask", lambda x: cl.make_swizzle(x, 1)),
    Argument("make_swizzle", "z", "mask", lambda x: cl.make_swizzle(8, x)),
    Argument("Swizzle", "bits", "bits", lambda x: Swizzle(x, 4, 3)),
    Argument("Swizzle", "base", "bits", lambda x: Swizzle(3, x, 3)),
    Argument("Swizzle", "shift", "bits", lambda x: Swizzle(0, 4, x), optional=True),
    Argument("swizzle(index)", "index", "integer", lambda x: Swizzle(3, 4, 3)(x)),
    Argument("ComposedLayout", "outer", "layout", lambda x: ComposedLayout(x, 0, PLAIN)),
    Argument("ComposedLayout", "offset", "integer", lambda x: ComposedLayout(Swizzle(3, 4, 3), x, PLAIN)),
    Argument("ComposedLayout", "inner", "layout", lambda x: ComposedLayout(Swizzle(3, 4, 3), 0, x)),
    Argument("make_composed_layout", "outer", "layout", lambda x: cl.make_composed_layout(x, 0, PLAIN)),
    Argument("make_composed_layout", "offset", "integer", lambda x: cl.make_composed_layout(PLAIN, x, PLAIN)),
    Argument("make_composed_layout", "inner", "layout", lambda x: cl.make_composed_layout(PLAIN, 0, x)),
    Argument("ScaledBasis", "value", "integer", lambda x: ScaledBasis(x, 0)),
    Argument("ScaledBasis", "mode", "mode", lambda x: ScaledBasis(1, x)),
    Argument("ScaledBasis", "n", "integer", lambda x: E(0) * x),
    Argument("notation", "value", "tiler", cl.notation),
    *(
        argument
        for f in (
            cl.shape_div,
            cl.round_up,
            cl.evenly_divides,
            cl.elem_scale,
            cl.inner_product,
            cl.colex_less,
            cl.lex_less,
        )
        for argument in (
            Argument(f.__name__, "a", "tuple", lambda x, f=f: f(x, (4, 8))),
            Argument(f.__name__, "b", "tuple", lambda x, f=f: f((4, 8), x)),
        )
    ),
    *unary("tuple", "t", "product", "tuple_max", "tuple_sum", "tuple_gcd"),
    *unary("shape", "shape", "compact_col_major", "compact_row_major"),
    *unary("tuple", "shape", "make_basis_like"),
    Argument("compact_col_major", "first", "integer", lambda x: cl.compact_col_major((4, 8), x), optional=True),
    Argument("compact_row_major", "first", "integer", lambda x: cl.compact_row_major((4, 8), x), optional=True),
    Argument("repeat_like", "t", "tuple", lambda x: cl.repeat_like(x, 1)),
    Argument("repeat_like", "value", "integer", lambda x: cl.repeat_like((4, 8), x)),
    Argument("product_like", "t", "tuple", lambda x: cl.product_like(x, 0)),
    Argument("product_like", "profile", "tuple", lambda x: cl.product_like((4, 8), x)),
]

INTERNAL = {"annotations", "notation", "print_tiler", "Int", "E", "LayoutLeft", "LayoutRight", "X", "group_modes"}
INTERNAL |= {"make_shape", "make_stride", "make_coord", "make_tile", "make_step", "is_static"}  # take anything


def test_no_message_names_two_operations() -> None:
    for argument in ARGUMENTS:
        with pytest.raises(LayoutError) as refusal:
            argument.call(object())
        operations = {
            a.operation for a in ARGUMENTS if re.search(rf"(?<!\w){re.escape(a.operation)}: ", str(refusal.value))
        }
        assert operations <= {argument.operation.replace("make_composed_layout", "ComposedLayout")}, refusal.value


def test_every_public_function_is_here() -> None:
    public = {*cl.__all__, "filter", "zip"} - INTERNAL
    assert public - {argument.operation for argument in ARGUMENTS} == set()


def named(argument: Argument) -> str:
    """A pattern for messages: the operation first, then the argument."""
    return rf"(?is)^{said(argument.operation)}.*(?<!\w)({argument.name})(?!\w)"


def said(operation: str) -> str:
    return re.escape({"make_composed_layout": "ComposedLayout"}.get(operation, operation)) + r"(?!\w)"


WRONG = {
    "a float": 1.5,
    "a str": "no layout",
    "a broken str": "(4,8:1",
    "a str that is no text": "\ud800",
    "None": None,
    "an object": object(),
    "a bool": True,
    "a dict": {},
    "a set": {1, 2},
    "bytes": b"4",
    "a function": len,
    "an array": np.array([1, 2]),
    "an array of floats": np.array([1.0, 2.0]),
}


TAKES_ARRAYS = {("crd2idx", "coord"), ("idx2crd", "index"), ("layout(coord)", "coord")}


def accepts(argument: Argument, value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind == "i" and (argument.operation, argument.name) in TAKES_ARRAYS
    if value is None:
        return argument.optional or argument.takes in {"tiler", "coordinate"}
    return False


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("argument", ARGUMENTS, ids=str)
def test_wrong_types(argument: Argument, wrong: str) -> None:
    value = WRONG[wrong]
    if accepts(argument, value):
        argument.call(value)
        return
    with pytest.raises(LayoutError, match=named(argument)):
        argument.call(value)


@pytest.mark.parametrize("argument", [a for a in ARGUMENTS if a.takes in {"shape", "tiler", "tuple"}], ids=str)
@pytest.mark.parametrize("wrong", ["a float", "a bool", "an object"])
def test_wrong_types_inside_of_a_tuple(argument: Argument, wrong: str) -> None:
    with pytest.raises(LayoutError, match=named(argument)):
        argument.call((4, (WRONG[wrong], 2)))


MAY_BE_EMPTY = {"Layout", "make_layout", "size", "compact_col_major", "compact_row_major"}


@pytest.mark.parametrize("extents", [0, -4, (0, 4), (4, -1), ((4, 0), 2), (Int(0), 4)], ids=str)
@pytest.mark.parametrize("argument", [a for a in ARGUMENTS if a.takes == "shape"], ids=str)
def test_extents_below_one(argument: Argument, extents: Any) -> None:
    least = 0 if argument.operation in MAY_BE_EMPTY else 1
    if least == 0 and min(cl.tuple_max(extents), -cl.tuple_max(negated(extents))) >= 0:
        argument.call(extents)
        return
    with pytest.raises(LayoutError, match=rf"{named(argument)}.*{least} or more"):
        argument.call(extents)


def negated(extents: Any) -> Any:
    return tuple(map(negated, extents)) if isinstance(extents, tuple) else -extents


TILERS = [a for a in ARGUMENTS if a.takes == "tiler" and a.operation != "notation"]


@pytest.mark.parametrize("extents", [0, -4, (0, 4), (4, -1)], ids=str)
@pytest.mark.parametrize("argument", TILERS, ids=str)
def test_tiles_below_one(argument: Argument, extents: Any) -> None:
    with pytest.raises(LayoutError, match=rf"(?is)^{said(argument.operation)}.*[01] or more"):
        argument.call(extents)


@pytest.mark.parametrize("empty", [(), ((), 4), (4, ())], ids=str)
@pytest.mark.parametrize("argument", [a for a in ARGUMENTS if a.takes == "shape"] + TILERS, ids=str)
def test_empty_tuples(argument: Argument, empty: Any) -> None:
    if empty == () and argument.operation in MAY_BE_EMPTY:
        argument.call(empty)
        return
    with pytest.raises(LayoutError, match=rf"(?is)^{said(argument.operation)}.*empty tuple"):
        argument.call(empty)


@pytest.mark.parametrize(
    "argument",
    [a for a in ARGUMENTS if a.takes == "shape" and a.operation not in {"compatible", "crd2idx"}],
    ids=str,
)
@pytest.mark.parametrize("size", [(2**40, 2**40), (2**62, 2), ((2**32, 2**16), (2**16, 1))], ids=str)
def test_sizes_beyond_64_bits(argument: Argument, size: Any) -> None:
    with pytest.raises(LayoutError, match=rf"(?is)^{said(argument.operation)}.*64 bits"):
        argument.call(size)


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**400], ids=["2**63", "-2**63-1", "10**400"])
@pytest.mark.parametrize("argument", [a for a in ARGUMENTS if a.takes not in {"layout", "text"}], ids=str)
def test_integers_beyond_64_bits(argument: Argument, number: int) -> None:
    with pytest.raises(LayoutError, match=rf"{named(argument)}.*64 bits"):
        argument.call(number)


OVERFLOWS: dict[str, tuple[str, Callable[[], Any]]] = {
    "an index": (r"\(4\):\(4611686018427387904\)", lambda: Layout((4,), (2**62,))(3)),
    "an index of a swizzled layout": (
        "overflow",
        lambda: cl.make_composed_layout(Swizzle(1, 1, 2), 2**62, "4:1")(2**62),
    ),
    "a cosize": ("cosize", lambda: Layout((2, 2), (2**62, 2**62)).cosize),
    "a composition": ("composition", lambda: cl.composition(Layout(4, 2**40), Layout(4, 2**40))),
    "a product": ("logical_product", lambda: cl.logical_product(Layout(2**40), 2**40)),
    "a tile": ("tile_to_shape", lambda: cl.tile_to_shape(Layout(2), (2**40, 2**40))),
    "a complement": ("complement", lambda: cl.complement(Layout(4, 2**62), 4)),
    "a downcast": ("downcast", lambda: cl.downcast(Layout(2**40), 2**40)),
    "modes": ("make_layout", lambda: cl.make_layout(Layout(2**40), Layout(2**40))),
    "a replacement": ("replace", lambda: cl.replace(Layout((2**40, 4)), 1, Layout(2**40))),
    "padding": ("append", lambda: cl.append(Layout(2**40), 2, Layout(2**40))),
    "a ceil_div": ("ceil_div", lambda: cl.ceil_div(-(2**63), -1)),
    "a coordinate": ("crd2idx", lambda: cl.crd2idx((1, 2**62), (4, 4), (1, 4))),
    "a stride": ("upcast", lambda: cl.upcast(Layout(4, -(2**63)), 2)),
    "a basis": ("ScaledBasis", lambda: 4 * ScaledBasis(2**62, 0)),
}


@pytest.mark.parametrize("case", OVERFLOWS)
def test_overflow(case: str) -> None:
    operation, call = OVERFLOWS[case]
    with pytest.raises(LayoutError, match=rf"(?s)({operation}.*64 bits|64 bits.*{operation})"):
        call()


def test_no_overflow_where_the_result_fits() -> None:
    assert cl.ceil_div(2**63 - 1, 2) == 2**62
    assert cl.complement(Layout(2, 1), 2**63 - 1) == Layout(2**62, 2)
    assert Layout(2**63 - 1)(2**63 - 2) == 2**63 - 2
    assert Layout((2**31, 2**31), (2**31, 1)).cosize == 2**62


@pytest.mark.parametrize("mode", [2, 99, -3, 2**70, -(2**70)], ids=str)
@pytest.mark.parametrize("argument", [a for a in ARGUMENTS if a.takes == "mode"], ids=str)
def test_modes_out_of_range(argument: Argument, mode: int) -> None:
    if argument.operation == "ScaledBasis" and 0 <= mode < 256:
        assert argument.call(mode).modes == (mode,)
        return
    if argument.name == "end" and mode == 2:
        return
    expected = IndexError if argument.operation == "layout[mode]" and abs(mode) < 2**60 else LayoutError
    with pytest.raises(expected, match=rf"(?s)^{said(argument.operation)}.*({mode}|64 bits)"):
        argument.call(mode)


NOT_CONGRUENT = [
    ((4, 8), 1),
    (4, (1,)),
    ((4, 8), (1, 4, 8)),
    ((4, (2, 2)), (1, 4)),
    ((4, 8), (1, (4, 8))),
    ((4,), ((1,),)),
]


@pytest.mark.parametrize(("shape", "stride"), NOT_CONGRUENT, ids=str)
@pytest.mark.parametrize("make", [Layout, cl.make_layout, lambda s, d: cl.crd2idx(0, s, d)])
def test_shapes_and_strides_of_different_nesting(make: Callable[[Any, Any], Any], shape: Any, stride: Any) -> None:
    text = re.escape(cl.notation(shape)) + ".*" + re.escape(cl.notation(stride)) + ".*(not congruent|same nesting)"
    with pytest.raises(LayoutError, match=f"^(Layout|make_layout|crd2idx): .*{text}"):
        make(shape, stride)


@functools.cache  # of so many tuples each would cost a pass of the garbage collector
def deep() -> Any:
    value: Any = 4
    for _ in range(10**5):
        value = (value,)
    return value


@pytest.mark.parametrize("argument", [a for a in ARGUMENTS if a.takes not in {"layout", "text"}], ids=str)
def test_deep_tuples(argument: Argument) -> None:
    value = deep()
    with pytest.raises(LayoutError) as refusal:
        argument.call(value)
    assert len(str(refusal.value)) < 1000


@pytest.mark.parametrize("text", ["(" * 10**5, "(" * 10**5 + "4" + ")" * 10**5, "(" * 40 + "4" + ")" * 40 + ":1"])
@pytest.mark.parametrize("argument", [a for a in ARGUMENTS if a.takes in {"layout", "text", "tiler", "shape"}], ids=str)
def test_deep_texts(argument: Argument, text: str) -> None:
    with pytest.raises(LayoutError, match="cannot read") as refusal:
        argument.call(text)
    assert len(str(refusal.value)) < 1000


# ---- What is too deep, or too much


def deepest() -> Layout:
    layout = Layout(4)
    for _ in range(32):
        layout = cl.make_layout(layout)
    assert layout.depth == 32
    return layout


PAIR = cl.make_layout(deepest()[0], Layout(2, 64))
NESTING: dict[str, Callable[[], Any]] = {
    "make_layout": lambda: cl.make_layout(PAIR, PAIR),
    "group": lambda: cl.group(PAIR, 0, 2),
    "append": lambda: cl.append(Layout(4), 2, PAIR),
    "prepend": lambda: cl.prepend(Layout(4), 2, PAIR),
    "replace": lambda: cl.replace(Layout((2, 2)), 0, PAIR),
    "logical_product": lambda: cl.logical_product(PAIR, 2),
    "zipped_product": lambda: cl.zipped_product(PAIR, (2, 2)),
    "blocked_product": lambda: cl.blocked_product(PAIR, Layout((2, 2))),
    "group a tuple": lambda: cl.group(cl.shape(PAIR), 0, 2),
    "append a tuple": lambda: cl.append((1,), 2, cl.shape(PAIR)),
}


@pytest.mark.parametrize("how", NESTING)
def test_nothing_nests_deeper_than_text_can(how: str) -> None:
    with pytest.raises(LayoutError, match=rf"{how.split()[0]}.*deeper than 32 levels; next: flatten"):
        NESTING[how]()


def test_the_deepest_layouts_read_back_and_compose() -> None:
    layout = deepest()
    assert pickle.loads(pickle.dumps(layout)) == cl.parse(str(layout)) == eval(repr(layout)) == layout
    assert layout.to_cpp().count("Shape<") == 32
    assert cl.composition(layout, Layout(2, 2)) == Layout(2, 2)
    grouped = Layout((2, 2))
    for _ in range(31):
        grouped = cl.group(grouped, 0, grouped.rank)
    assert grouped.depth == 32


def shared_tuple(levels: int) -> Any:
    value: Any = (1, 1)
    for _ in range(levels):
        value = (value, value)
    return value


def shared_layout(levels: int) -> Layout:
    layout = Layout(1)
    for _ in range(levels):
        layout = cl.make_layout(layout, layout)
    return layout


TOO_MUCH: dict[str, Callable[[], Any]] = {
    "layouts": lambda: shared_layout(28),
    "replace": lambda: [cl.replace(x, 0, x) for x in [cl.make_layout(shared_layout(19), shared_layout(19))] * 9],
    "a shape": lambda: Layout(shared_tuple(28)),
    "a tiler": lambda: cl.logical_divide(PLAIN, shared_tuple(28)),
    "a tiler of layouts": lambda: cl.composition(PLAIN, ((shared_layout(18),) * 9, None)),
    "a tiler of text": lambda: cl.composition(
        PLAIN, (("(1,1,1,1,1,1,1,1)",) * 99_999, ("(1,1,1,1,1,1,1,1)",) * 99_999)
    ),
    "a coordinate": lambda: PLAIN(shared_tuple(28)),
    "a profile": lambda: cl.coalesce(PLAIN, shared_tuple(28)),
    "a tuple": lambda: cl.flatten(shared_tuple(28)),
}


@pytest.mark.parametrize("how", TOO_MUCH)
def test_more_than_a_million_integers_are_refused_quickly(how: str) -> None:
    with takes_under(4), pytest.raises(LayoutError, match="more than 1048576 integers in one tuple; next: coalesce"):
        TOO_MUCH[how]()


@pytest.mark.parametrize("count", [100_000])
def test_orders_of_many_modes_take_no_quadratic_time(count: int) -> None:
    order = list(range(count))
    random.Random(1).shuffle(order)
    with takes_under(5):  # half a minute and more if each mode looks at each
        ordered = cl.make_ordered_layout((1,) * (count - 40) + (2,) * 40, tuple(order))
        like = cl.make_layout_like(Layout((1,) * (count - 40) + (2,) * 40, tuple(o + 1 for o in order)))
        fragment = cl.make_fragment_like(Layout((2,) * 40 + (1,) * (count - 40), tuple(o + 1 for o in order)))
    ranks = sorted(range(40), key=lambda i: order[count - 40 + i])
    assert [int(d) for d in ordered.stride[count - 40 :]] == [2 ** ranks.index(i) for i in range(40)]
    assert like.stride[count - 40 :] == ordered.stride[count - 40 :]
    assert fragment.size == 2**40


CRASHES = [
    "crd2idx((), ())",
    "crd2idx(((),), ((),))",
    "crd2idx((), 4)",
    "upcast(composition(Swizzle(1, 1, 2), Layout(8)), 0)",
    "downcast(composition(Swizzle(1, 1, 2), Layout(8)), 0)",
    "upcast(Swizzle(1, 1, 2), 0)",
    "upcast(Layout(8), 0)",
    "idx2crd(5, (4, 4), (0, 0))",
    "idx2crd(-2**63, 4, -1)",
    "Layout((4, 4), (1, 0)).get_1d_coord(3)",
    "ceil_div(4, 0)",
    "ceil_div(-2**63, -1)",
    "left_inverse(Layout(4, -2**63))",
]


@pytest.mark.parametrize("expression", CRASHES)
def test_the_interpreter_survives(expression: str) -> None:
    program = f"from cute_py.layout import *\ntry:\n    {expression}\nexcept (ValueError, TypeError) as e:\n    print(repr(e))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"exit status {ran.returncode}: {ran.stderr[-500:]}"
    assert "Error(" in ran.stdout


@pytest.mark.parametrize(
    "function", [cl.coalesce, cl.composition, cl.logical_divide, cl.tile_to_shape, cl.replace, Swizzle]
)
def test_a_wrong_number_of_arguments(function: Callable[..., Any]) -> None:
    with pytest.raises(TypeError):
        function()
    with pytest.raises(TypeError):
        function(1, 2, 3, 4, 5, 6)


# ---- Values that fit by themselves, but not one another

CONDITIONS: dict[str, tuple[Callable[[], Any], str]] = {
    "more tilers than modes": (lambda: cl.logical_divide("8:1", (2, 2)), r"^logical_divide: the tiler \(2,2\).*8:1"),
    "more tilers than modes, zipped": (lambda: cl.zipped_divide("8:1", (2, 2)), r"^zipped_divide: .*\(2,2\).*8:1"),
    "more tilers than modes, tiled": (lambda: cl.tiled_product("8:1", (2, 2)), r"^tiled_product: .*\(2,2\).*8:1"),
    "more tilers than modes, composed": (lambda: PLAIN.compose(1, 2, 3), r"^compose: .*\(1,2,3\)"),
    "more modes in the profile": (lambda: cl.coalesce("8:1", (1, 1)), r"^coalesce: the profile \(1,1\).*8:1"),
    "a profile too short": (lambda: cl.unflatten("(2,2,2)", (1, 1)), r"^unflatten: .*\(1,1\).*fewer"),
    "a profile too long": (lambda: cl.unflatten("(2,2)", (1, 1, 1)), r"^unflatten: .*\(1,1,1\).*more"),
    "a coordinate too long": (lambda: PLAIN(1, 2, 3), r"\(1,2,3\).*\(4,8\)"),
    "a coordinate too deep": (lambda: PLAIN((1, (2, 3))), r"\(1,\(2,3\)\).*\(4,8\)"),
    "a layout as a coordinate": (lambda: PLAIN((Layout(4), 1)), r"^layout\(coord\): coord.*4:_1"),
    "a slice that is too long": (lambda: cl.slice_((None, 1, 2), PLAIN), r"^slice_: .*\(_,1,2\)"),
    "nothing open": (lambda: cl.slice_((1, 2), PLAIN), r"^slice_: .*\(1,2\) leaves no mode open"),
    "no swizzle for it": (
        lambda: cl.composition(Layout((4, 4), (4, 1)), cl.composition(Swizzle(3, 0, 3), Layout((8, 8), (8, 1)))),
        r"^composition: A o B is no swizzle .*\n  A \(4,4\):\(4,1\)\n  B Sw<3,0,3> .*\n  next: make_composed_layout\(A, 0, B\) evaluates",
    ),
    "no swizzle for a swizzle": (
        lambda: cl.composition(Layout((4, 4), (4, 1)), Swizzle(3, 0, 3)),
        r"^composition: A o B .*\n  next: make_composed_layout\(A, 0, composition\(B, Layout\(size\(A\)\)\)\) evaluates",
    ),
    "composed on both sides": (
        lambda: cl.composition(SWIZZLED, SWIZZLED),
        r"^composition: A is composed .*\n  next: make_composed_layout\(A, 0, B\)",
    ),
    "an offset inside": (
        lambda: cl.right_inverse(cl.make_composed_layout(Swizzle(1, 1, 2), 4, PLAIN)),
        "^right_inverse: .* does not give the index 0.*; next: left_inverse ",
    ),
    "nested swizzles": (
        lambda: cl.upcast(cl.make_composed_layout(Swizzle(1, 1, 2), 0, SWIZZLED), 2),
        "^upcast: .*not one swizzle in front of a layout; next: ",
    ),
    "too many functions": (
        lambda: functools.reduce(
            lambda inner, _: cl.make_composed_layout(Swizzle(1, 1, 2), 0, inner), range(33), PLAIN
        ),
        "at most 32 functions",
    ),
    "an integer and a tuple": (lambda: cl.elem_less(1, (2, 3)), r"^elem_less: 1 and \(2,3\).*; next: "),
    "an element that is not there": (
        lambda: cl.select((1, 2), 2),
        r"^select: there is no element 2 in \(1,2\); next: ",
    ),
    "a tuple without the element": (
        lambda: cl.append((1, 2), 3.5),
        "^append: element must be ",
    ),
    "a tuple that is too long": (
        lambda: cl.prepend((1, 2, 3), 2, 1),
        r"^prepend: \(1,2,3\) has more than 2 elements; next: take",
    ),
    "a range of no elements": (
        lambda: cl.take((1, 2), 1, 1),
        r"^take: \[1, 1\) is no range of elements of \(1,2\); next: ",
    ),
    "nothing to zip": (lambda: cl.zip(()), r"^zip: \(\) is no tuple of tuples"),
    "another rank": (lambda: cl.zip("(2,2)", "(2,2,2)"), r"^zip: .*differ in rank"),
    "a rank that is too small": (lambda: cl.append(PLAIN, 1), r"^append: .*more than 1 modes"),
    "a rank below one": (lambda: cl.prepend(PLAIN, 0), r"^prepend: rank is 1"),
    "an empty range": (lambda: cl.take(PLAIN, 1, 1), r"^take: \[1, 1\)"),
    "a range backwards": (lambda: cl.group(PLAIN, 2, 1), r"^group: \[2, 1\)"),
    "a step": (lambda: PLAIN[0:2:2], "step 1"),
    "no mode at all": (lambda: cl.select(PLAIN), "^select: "),
    "no layout at all": (lambda: cl.make_layout(), "^make_layout: "),
    "three shapes": (lambda: cl.make_layout(1, 2, 3), "^make_layout: "),
    "a block that is too large": (lambda: cl.tile_to_shape("(4,4)", 16), r"^tile_to_shape: .*\(4,4\).*16"),
    "a block that does not divide": (lambda: cl.tile_to_shape("(4,3)", (8, 8)), "^tile_to_shape: mode 1 "),
    "a factor below one": (lambda: cl.upcast(PLAIN, 0), "^upcast: the factor 0"),
    "a negative factor": (lambda: cl.downcast(PLAIN, -2), "^downcast: the factor -2"),
    "no bits": (lambda: cl.recast_layout(PLAIN, 0, 16), "^recast_layout: .*bits are 1 or more"),
    "negative bits of an element": (lambda: cl.recast_layout(PLAIN, 16, -8), "^recast_layout: .*bits are 1 or more"),
    "a negative limit": (lambda: cl.layout_values(PLAIN, -1), "^layout_values: .*limit"),
    "a factor that is no power of two": (lambda: cl.upcast(Swizzle(3, 4, 3), 3), "^upcast: the factor 3"),
    "an offset that is no multiple": (
        lambda: cl.upcast(cl.make_composed_layout(Swizzle(3, 4, 3), 3, PLAIN), 2),
        "^upcast: the offset 3",
    ),
    "a stride that does not divide": (lambda: cl.upcast(Layout(4, 3), 2), "^upcast: the stride 3"),
    "no adjacent elements": (lambda: cl.downcast(Layout(4, 2), 2), "^downcast: no stride of 4:2 is 1"),
    "division by zero": (lambda: cl.ceil_div(4, 0), "^ceil_div: .*zero"),
    "a stride of zero": (lambda: Layout("4:0").get_1d_coord(3), "^get_1d_coord: .*4:0"),
    "a coordinate as an extent": (lambda: Layout((E(0), 4)), r"^Layout: .*_1@0.*only a stride"),
    "a coordinate times a coordinate": (lambda: Layout(4, E(0))(E(0)), r"layout\(coord\).*_1@0"),
    "an order of coordinates": (lambda: cl.complement(cl.make_identity_layout((2, 2)), 4), "^complement: .*coordinate"),
    "coordinates and integers": (lambda: Layout((4, 8), (E(0), 1))(5), r"\(1\) and 1 cannot be added"),
    "a mode that A does not have": (lambda: cl.composition(PLAIN, Layout(2, E(5))), "^composition: .*mode 5"),
    "a swizzle of coordinates": (lambda: cl.composition(Swizzle(1, 1, 1), "(2,2):(1@0,1@1)")(0), "Sw<1,1,1>"),
    "a swizzle with a plain swizzle": (
        lambda: cl.composition(Swizzle(1, 1, 1), Swizzle(1, 1, 2)),
        "^composition: .*shifts",
    ),
    "overlapping masks": (lambda: Swizzle(3, 4, 2), "Sw<3,4,2>: the shift"),
    "negative bits": (lambda: Swizzle(-1, 4, 3), "Sw<-1,4,3>: the bits"),
    "a swizzle that is too wide": (lambda: Swizzle(3, 28, 3), "Sw<3,28,3>: .*32 bits"),
    "masks of different widths": (lambda: cl.make_swizzle(3, 4), "^make_swizzle: .*3 and 4"),
    "negative masks": (lambda: cl.make_swizzle(-1, 1), "^make_swizzle: .*-1 and 1"),
    "masks with holes": (lambda: cl.make_swizzle(0b1010, 0b101), "^make_swizzle: .*10 and 5"),
    "a negative stride": (lambda: cl.complement("4:-1", 8), "^complement: .*4:-1.*below 0"),
    "no modes of a basis": (lambda: ScaledBasis(1), "^ScaledBasis: give 1 to 7 modes"),
    "too many modes of a basis": (lambda: E(*range(8)), "^ScaledBasis: give 1 to 7 modes"),
    "a shape that nests too deep": (
        lambda: cl.make_identity_layout("((((((((4))))))))"),
        "^make_identity_layout: .*7 levels",
    ),
    "a stride that is not used": (lambda: cl.crd2idx(3, Layout((4, 2)), (1, 1)), "^crd2idx: .*stride"),
    "a swizzle of text that is no text": (lambda: Swizzle("\ud800"), "^Swizzle: bits must be text"),
    "a composition of text that is no text": (lambda: ComposedLayout("\ud800"), "^ComposedLayout: outer must be text"),
    "no order": (lambda: cl.make_ordered_layout((2, 3), None), "^make_ordered_layout: order"),
}


@pytest.mark.parametrize("case", CONDITIONS)
def test_conditions(case: str) -> None:
    call, message = CONDITIONS[case]
    with pytest.raises(LayoutError, match=f"(?s){message}"):
        call()


# ---- Atoms by name


@pytest.mark.parametrize(
    ("catalogue", "name", "near"),
    [
        (atoms.mma, "SM80_16x8x16_F32F16F16F32_NT", "SM80_16x8x16_F32F16F16F32_TN"),
        (atoms.mma, "SM80_16x8x16_F32BF16BF16F32", "SM80_16x8x16_F32BF16BF16F32_TN"),
        (atoms.mma, "sm70_8x8x4_f32f16f16f32_tn", "SM70_8x8x4_F32F16F16F32_TN"),
        (atoms.copy, "SM75_U32x4_LDSM", "SM75_U32x4_LDSM_N"),
        (atoms.copy, "UniversalCopi", "UniversalCopy"),
    ],
)
def test_unknown_atoms_list_near_names(catalogue: Any, name: str, near: str) -> None:
    with pytest.raises(OperandError, match=rf"^atoms: there is no (mma|copy) atom '{name}'; near: .*{near}"):
        catalogue[name]
    assert name not in catalogue


@pytest.mark.parametrize("name", ["?", "", 5, None])
def test_unknown_atoms_without_near_names_say_where_to_look(name: Any) -> None:
    with pytest.raises(OperandError, match=r"cute_py\.atoms\.mma lists all \d+"):
        atoms.mma[name]
