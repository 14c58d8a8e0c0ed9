"""Layouts as text: CuTe's notation, C++ types, and what survives repr, pickle and copy."""

from __future__ import annotations

import copy
import pickle
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cute_py.layout as cl
from cute_py import LayoutError, make_tensor
from cute_py._notation import read_layout, read_text
from cute_py.layout import ComposedLayout, E, Int, Layout, LayoutLeft, LayoutRight, ScaledBasis, Swizzle

TEXT = settings(derandomize=True, deadline=None, max_examples=300, database=None)

# What CuTe's print() writes, and the C++ type.
NOTATION: list[tuple[Any, str, str]] = [
    (Layout(4), "4:_1", "Layout<int,_1>"),
    (Layout(Int(4)), "_4:_1", "Layout<_4,_1>"),
    (Layout(Int(4), Int(1)), "_4:_1", "Layout<_4,_1>"),
    (Layout((4,), (2,)), "(4):(2)", "Layout<Shape<int>,Stride<int>>"),
    (Layout((4, 8)), "(4,8):(_1,4)", "Layout<Shape<int,int>,Stride<_1,int>>"),
    (Layout((4, 8), LayoutRight), "(4,8):(8,_1)", "Layout<Shape<int,int>,Stride<int,_1>>"),
    (Layout((Int(4), Int(8))), "(_4,_8):(_1,_4)", "Layout<Shape<_4,_8>,Stride<_1,_4>>"),
    (Layout((Int(4), 8)), "(_4,8):(_1,_4)", "Layout<Shape<_4,int>,Stride<_1,_4>>"),
    (Layout((Int(1), 8)), "(_1,8):(_0,_1)", "Layout<Shape<_1,int>,Stride<_0,_1>>"),
    (
        Layout((Int(4), (2, Int(11))), (Int(1), (-4, Int(-3)))),
        "(_4,(2,_11)):(_1,(-4,_-3))",
        "Layout<Shape<_4,Shape<int,Int<11>>>,Stride<_1,Stride<int,Int<-3>>>>",
    ),
    (Layout(2**40, Int(2**40)), "1099511627776:_1099511627776", "Layout<int64_t,C<int64_t(1099511627776)>>"),
    (
        cl.make_identity_layout((4, (Int(2), 3))),
        "(4,(_2,3)):(_1@0,(_1@0@1,_1@1@1))",
        "Layout<Shape<int,Shape<_2,int>>,Stride<ScaledBasis<_1,0>,Stride<ScaledBasis<_1,1,0>,ScaledBasis<_1,1,1>>>>",
    ),
    (Layout(4, 3 * E(1)), "4:3@1", "Layout<int,ScaledBasis<int,1>>"),
    (Swizzle(3, 4, 3), "Sw<3,4,3>", "Swizzle<3,4,3>"),
    (Swizzle(2, 0, -3), "Sw<2,0,-3>", "Swizzle<2,0,-3>"),
    (
        cl.composition(Swizzle(3, 4, 3), Layout((Int(8), Int(64)), (Int(64), Int(1)))),
        "Sw<3,4,3> o _0 o (_8,_64):(_64,_1)",
        "ComposedLayout<Swizzle<3,4,3>,_0,Layout<Shape<_8,_64>,Stride<_64,_1>>>",
    ),
    (
        cl.make_composed_layout(Layout((6, 2), (1, 7)), 5, Layout((3, 2), (2, 3))),
        "(6,2):(1,7) o 5 o (3,2):(2,3)",
        "ComposedLayout<Layout<Shape<int,int>,Stride<int,int>>,int,Layout<Shape<int,int>,Stride<int,int>>>",
    ),
]


@pytest.mark.parametrize(("value", "text", "cpp"), NOTATION, ids=[text for _, text, _ in NOTATION])
def test_notation(value: Any, text: str, cpp: str) -> None:
    assert str(value) == text
    assert cl.notation(value) == text
    assert value.to_cpp() == cpp
    assert cl.parse(text) == value
    assert str(cl.parse(text)) == text
    assert type(value)(text) == value


def same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and a == b and hash(a) == hash(b) and str(a) == str(b) and repr(a) == repr(b)


VALUES = [
    *(value for value, _, _ in NOTATION),
    E(0),
    3 * E(1, 0),
    ScaledBasis(Int(-5), 1, 2, 3),
    Int(7),
    LayoutLeft,
    LayoutRight,
]


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_round_trips(value: Any) -> None:
    assert same(eval(repr(value), vars(cl).copy()), value)
    assert same(copy.copy(value), value)
    assert same(copy.deepcopy([value])[0], value)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert same(pickle.loads(pickle.dumps(value, protocol)), value)


def test_the_tags_of_orders_stay_one_object() -> None:
    assert pickle.loads(pickle.dumps(LayoutRight)) is LayoutRight
    assert copy.deepcopy(LayoutLeft) is LayoutLeft


NUMBERS = st.one_of(st.integers(1, 9), st.sampled_from([11, 64, 2**31, 2**40]))
LEAVES = st.one_of(NUMBERS, NUMBERS.map(Int))
SHAPES = st.recursive(LEAVES, lambda s: st.lists(s, min_size=1, max_size=3).map(tuple), max_leaves=4)


def stride_like(draw: st.DrawFn, shape: Any) -> Any:
    if isinstance(shape, tuple):
        return tuple(stride_like(draw, s) for s in shape)
    kind = draw(st.sampled_from([int, Int, ScaledBasis]))
    number = draw(st.one_of(st.integers(-9, 99), st.sampled_from([0, -(2**40), 2**62])))
    return (
        ScaledBasis(number, *draw(st.lists(st.integers(0, 9), min_size=1, max_size=3)))
        if kind is ScaledBasis
        else kind(number)
    )


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    shape = draw(SHAPES.filter(lambda s: int(cl.size(s)) < 2**62 if cl.depth(s) == 0 else True))
    try:
        Layout(shape)
    except LayoutError:  # the size does not fit in 64 bits
        shape = (Int(2), 3)
    return Layout(shape, stride_like(draw, shape))


@TEXT
@given(layouts())
def test_every_layout_survives_its_text(layout: Layout) -> None:
    for other in (Layout(str(layout)), cl.parse(str(layout)), eval(repr(layout)), pickle.loads(pickle.dumps(layout))):
        assert same(other, layout)
    assert same(Layout(layout.shape, layout.stride), layout)
    assert str(layout) == f"{cl.notation(layout.shape)}:{cl.notation(layout.stride)}"
    assert same(Layout(str(layout).replace(",", " , ").replace(":", " :\n")), layout)


@TEXT
@given(layouts(), st.integers(0, 3), st.integers(0, 5), st.integers(-5, 5), st.integers(0, 99))
def test_every_composed_layout_survives_its_text(inner: Layout, bits: int, base: int, shift: int, offset: int) -> None:
    outer = Swizzle(bits, base, shift) if abs(shift) >= bits else Layout((2, 8), (shift, 1))
    value = ComposedLayout(outer, offset, inner)
    for other in (
        ComposedLayout(str(value)),
        cl.parse(str(value)),
        eval(repr(value)),
        pickle.loads(pickle.dumps(value)),
    ):
        assert same(other, value)
    assert (value.outer, value.offset, value.inner) == (outer, offset, inner)


@TEXT
@given(layouts(), layouts())
def test_equality_is_that_of_values(a: Layout, b: Layout) -> None:
    def static(t: Any) -> Any:
        if isinstance(t, ScaledBasis):
            return ScaledBasis(Int(t.value), *t.modes)
        return tuple(map(static, t)) if isinstance(t, tuple) else Int(t)

    known = Layout(static(a.shape), static(a.stride))
    assert known == a
    assert hash(known) == hash(a)
    assert (a == b) == (a.shape == b.shape and a.stride == b.stride)
    assert (a != b) != (a == b)
    assert a != str(a)
    assert len({a, known, Layout(a.shape, a.stride)}) == 1


DIFFERENT = [
    Layout(4), Layout((4,)), Layout(((4,),)), Layout(4, 2), Layout((4, 2)), Layout((2, 4)), Layout((4, 2), (2, 1)),
    Layout(4, E(0)), Layout(4, E(1)), Layout(4, E(0, 1)), Swizzle(1, 0, 1), Swizzle(1, 0, -1), Swizzle(1, 1, 1), E(0), E(1),
    2 * E(0), ComposedLayout(Swizzle(1, 0, 1), 0, Layout(4)), ComposedLayout(Swizzle(1, 0, 1), 1, Layout(4)),
    ComposedLayout(Layout(4), 0, Layout(4)), 4, (4,), "4:1", None,
]  # fmt: skip


def test_different_values_differ() -> None:
    for i, a in enumerate(DIFFERENT):
        for j, b in enumerate(DIFFERENT):
            assert (a == b) == (i == j), f"{a} and {b}"
    assert len(set(DIFFERENT)) == len(DIFFERENT)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Int(4), "_4"),
        ((Int(4), 8), "(_4,8)"),
        ((), "()"),
        (None, "_"),
        ((None, (1, None)), "(_,(1,_))"),
        ((Layout(4), None, Int(2)), "(4:_1,_,_2)"),
        ((E(0), 3 * E(1, 2)), "(_1@0,3@2@1)"),
    ],
)
def test_tilers_and_coordinates(value: Any, text: str) -> None:
    assert cl.notation(value) == text
    assert cl.parse(text) == value
    assert cl.notation(cl.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("(4,8)", "(4,8):(_1,4)"),
        ("_4", "_4:_1"),
        (" ( 4 , 8 ) : ( 1 , 4 ) ", "(4,8):(1,4)"),
        ("(4,):(2,)", "(4):(2)"),
        ("((4,8),2):((1,4),32)", "((4,8),2):((1,4),32)"),
        ("(_4,8):(_1,_4)", "(_4,8):(_1,_4)"),
        ("8:-1", "8:-1"),
        ("8:_-1", "8:_-1"),
        ("(4,4):(_1@0,2@1@0)", "(4,4):(_1@0,2@1@0)"),
    ],
)
def test_texts_of_layouts(text: str, canonical: str) -> None:
    assert str(Layout(text)) == canonical


@pytest.mark.parametrize("text", ["Sw<3,4,3>", "S<3,4,3>", "Sw<_3, _4, _3>"])
def test_texts_of_swizzles(text: str) -> None:
    assert cl.parse(text) == Swizzle(text) == Swizzle(3, 4, 3)


@pytest.mark.parametrize("text", ["Sw<3,4,3> o 0 o (8,64):(64,1)", "S<3,4,3>o_0o(8,64):(64,1)"])
def test_texts_of_composed_layouts(text: str) -> None:
    expected = cl.composition(Swizzle(3, 4, 3), "(8,64):(64,1)")
    assert cl.parse(text) == ComposedLayout(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "(", ")", "(()", "<4>", "(4", "4)", "4,8", "(4,8))", "(4,8):", ":1", "4:1:1", "(4,8):(1,4", "4x", "x", "4.5", "+4",
        "--4", "4 8", "(,4)", "(4,,8)", "1x10", "4:1@", "4:1@x", "4:1@-1", "4:1@256", "4:1@0@0@0@0@0@0@0@0", "_:1", "4:_",
        "9223372036854775808", "4:-9223372036854775809", "\uff10:1", "4:1\0", "(4;8):(1;4)", "[4,8]:[1,4]",
    ],
)  # fmt: skip
def test_what_is_no_layout(text: str) -> None:
    with pytest.raises(LayoutError, match="cannot read") as refusal:
        Layout(text)
    assert "at character" in str(refusal.value)


@pytest.mark.parametrize("text", ["Sw<3,4>", "Sw<3,4,3", "Sw<3,4,3>>", "Sw<a,4,3>", "Sw<3,4,99>", "Sw<>", "Sx<1,2,3>"])
def test_what_is_no_swizzle(text: str) -> None:
    with pytest.raises(LayoutError, match="cannot read"):
        Swizzle(text)


@pytest.mark.parametrize(
    "text", ["Sw<3,4,3>", "Sw<3,4,3> o 4:1", "Sw<3,4,3> o (1,2) o 4:1", "4:1 o 0", "Sw<3,4,3> o 0 o"]
)
def test_what_is_no_composed_layout(text: str) -> None:
    with pytest.raises(LayoutError, match="cannot read"):
        ComposedLayout(text)


def test_steps_leave_modes_out() -> None:
    assert str(cl.dice("(_1,X,_1)", (128, 64, 8))) == "(128, 8)"
    assert cl.dice((1, cl.X, 1), (128, 64, 8)) == (128, 8)


def test_errors_point_at_the_character() -> None:
    with pytest.raises(LayoutError, match=r'cannot read "\(4,8\):\(1,x\)": expected an integer at character 9'):
        Layout("(4,8):(1,x)")


PLAIN = Layout((4, 8))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: cl.coalesce(x), lambda x: cl.filter(x), lambda x: cl.flatten(x), lambda x: cl.complement(x, 64),
        lambda x: cl.right_inverse(x), lambda x: cl.left_inverse(x), lambda x: cl.nullspace(x), lambda x: cl.size(x),
        lambda x: cl.rank(x), lambda x: cl.shape(x), lambda x: cl.stride(x), lambda x: cl.cosize(x),
        lambda x: cl.composition(x, 4), lambda x: cl.composition(PLAIN, x), lambda x: cl.logical_divide(x, 4),
        lambda x: cl.zipped_divide(PLAIN, (x, None)) if x != "(4,8):(1,4)" and x != PLAIN else None,
        lambda x: cl.logical_product(x, 2), lambda x: cl.logical_product("2:1", x), lambda x: cl.blocked_product(x, x),
        lambda x: cl.tile_to_shape(x, (8, 8)), lambda x: cl.upcast(x, 2), lambda x: cl.downcast(x, 2),
        lambda x: cl.make_layout(x, x), lambda x: cl.append(x, 3, x),
        lambda x: cl.replace(x, 0, x), lambda x: cl.get(x, 1), lambda x: cl.select(x, 1, 0), lambda x: cl.zip(x, x),
        lambda x: cl.slice_((None, 1), x), lambda x: cl.slice_and_offset((None, 1), x), lambda x: cl.dice((None, 1), x),
        lambda x: cl.crd2idx(5, x), lambda x: cl.idx2crd(5, x), lambda x: cl.max_common_vector(x, x),
        lambda x: cl.make_layout_like(x), lambda x: cl.make_fragment_like(x), lambda x: cl.make_identity_layout(x),
    ],
)  # fmt: skip
def test_text_stands_for_a_layout(call: Any) -> None:
    assert call("(4,8):(1,4)") == call(Layout((4, 8), (1, 4)))


@pytest.mark.parametrize("depth", [8, 32, 33, 200])
def test_a_layout_that_can_be_made_can_be_copied(depth: int) -> None:
    layout = Layout(4)
    try:
        for _ in range(depth):
            layout = cl.make_layout(layout)
    except LayoutError:
        return
    assert layout.depth == depth
    assert same(pickle.loads(pickle.dumps(layout)), layout)
    assert same(copy.deepcopy(layout), layout)
    assert same(Layout(layout.shape, layout.stride), layout)


def test_get_of_a_tuple_of_anything() -> None:
    tiler = cl.make_tile(Layout("_3:_4"), (Layout("(2,5):(1,8)"), None))
    assert str(cl.get(tiler, 0)) == "_3:_4"
    assert str(cl.get(tiler, 1, 0, 1)) == "5:8"
    assert cl.get(tiler, 1, 1) is None
    assert cl.get((1, (2, 3)), 1) == (2, 3)
    assert isinstance(cl.get((Int(4), 8), 0), Int)
    for path in ((2,), (0, 3), (1, 1, 0)):
        with pytest.raises(LayoutError, match="get: there is no mode"):
            cl.get(tiler, *path)


def test_is_static() -> None:
    known = [
        Int(8),
        (Int(8), (Int(2),)),
        Layout("(_4,_8):(_1,_4)"),
        Swizzle(2, 0, 3),
        cl.composition(Swizzle(2, 0, 3), "(_4,_8):(_8,_1)"),
        cl.E(0),
        (),
    ]
    assert all(map(cl.is_static, known))
    unknown = [
        8,
        (Int(8), 2),
        Layout("(_4,8):(_1,_4)"),
        Layout("(_4,_8):(_1,4)"),
        cl.composition(Swizzle(2, 0, 3), "(4,_8):(_8,_1)"),
        3 * cl.E(1),
        None,
    ]
    assert not any(map(cl.is_static, unknown))
    assert cl.is_static(make_tensor("float", Layout("(_4,_8):(_1,_4)")))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("(4,3)", cl.Layout),
        (" (4,3) : (3,1) ", cl.Layout),
        ("<4,3>", tuple),
        (" <3:4,8:2>", tuple),
        ("S<2,0,3>", cl.Swizzle),
        ("Sw<2,0,3> o 0 o (4,4)", cl.ComposedLayout),
        ("Sw<2,0,3>o0o(4,4):(4,1)", cl.ComposedLayout),
    ],
)
def test_what_a_text_is(text: str, kind: type) -> None:
    """A layout, a swizzle or a tiler, however it is spaced; a tiler is no layout."""
    assert isinstance(read_text(text), kind)
    if kind in (cl.Layout, cl.ComposedLayout):
        assert read_layout(text) == read_text(text)
    else:
        with pytest.raises(LayoutError):
            read_layout(text)


def test_a_broken_text_is_refused_where_it_breaks() -> None:
    with pytest.raises(LayoutError, match="at character 5"):
        read_text("(4,3)x")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Sw<3,3,3>", cl.Swizzle),
        (" Sw<3,3,3> ", cl.Swizzle),
        ("Sw<3,3,3> o _0 o (8,8):(8,1)", cl.ComposedLayout),
        ("4:1 o 3 o 8:1", cl.ComposedLayout),
        ("(4,8) o 0 o 8:1", cl.ComposedLayout),
        ("(4,8):(1,4)", cl.Layout),
        ("(4,_)", tuple),
        ("<3:4,8:2>", tuple),
    ],
)
def test_parse_says_what_a_text_is(text: str, kind: type) -> None:
    assert isinstance(cl.parse(text), kind)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("(4,S)", "expected an integer at character 3"),
        ("(4,8):(1,S)", "expected an integer at character 9"),
        ("Sw<3>", "expected ',' at character 4"),
        ("Sw<3,3,3> x", "expected 'o' at character 10"),
        ("4 x o", "unexpected text at character 2"),
        ("noise", "expected an integer at character 0"),
    ],
)
def test_an_error_of_parse_is_where_the_text_goes_wrong(text: str, reason: str) -> None:
    with pytest.raises(LayoutError, match=re.escape(reason)):
        cl.parse(text)
