"""The laws of the layout algebra: on every small layout, on nested ones at random, and CuTe's own examples.

What a law says is recomputed in plain Python from shapes and strides, so that no function of the engine vouches for another.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import random
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
import tensor_layouts as witness
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import cute_py.layout as cl
from cute_py import LayoutError, make_tensor
from cute_py.layout import ComposedLayout, E, Int, Layout, LayoutLeft, LayoutRight, Swizzle

Flat = tuple[tuple[int, int], ...]  # (extent, stride) of each mode, the first mode fastest

LAWS = settings(
    derandomize=True,
    deadline=None,
    max_examples=200,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)


# ---- Layouts in plain Python


def leaves(t: Any) -> list[Any]:
    return [leaf for e in t for leaf in leaves(e)] if isinstance(t, tuple) else [t]


def depth(t: Any) -> int:
    return 1 + max(map(depth, t)) if isinstance(t, tuple) else 0


def flat(layout: Layout) -> Flat:
    return tuple(zip(map(int, leaves(layout.shape)), map(int, leaves(layout.stride)), strict=True))


def values_of(modes: Flat) -> list[int]:
    values = [0]
    for extent, stride in modes:
        values = [v + i * stride for i in range(extent) for v in values]
    return values


def value_at(modes: Flat, index: int) -> int:
    """Evaluate at any index, the last mode without end."""
    value = 0
    for extent, stride in modes[:-1]:
        value += index % extent * stride
        index //= extent
    return value + index * modes[-1][1]


def values(layout: Layout | ComposedLayout) -> list[Any]:
    return [layout(i) for i in range(layout.size)]


def coordinates(shape: Any) -> Iterator[Any]:
    """All coordinates nested like a shape, in colexicographic order."""
    if not isinstance(shape, tuple):
        yield from range(shape)
        return
    for reversed_coord in itertools.product(*(list(coordinates(s)) for s in reversed(shape))):
        yield reversed_coord[::-1]


def padded(coord: Any, shape: Any) -> Any:
    """A coordinate with the zeros that a sum of coordinate strides leaves out."""
    if not isinstance(shape, tuple):
        return coord
    given = coord if isinstance(coord, tuple) else ()
    assert given or coord == 0
    return tuple(padded(given[i] if i < len(given) else 0, s) for i, s in enumerate(shape))


def merged(modes: Flat) -> Flat:
    """The same function of every index, even beyond the domain, in as few modes as possible."""
    result = [modes[-1]]
    for extent, stride in reversed(modes[:-1]):
        if extent == 1:
            continue
        if extent * stride == result[0][1]:
            result[0] = (extent * result[0][0], stride)
        else:
            result.insert(0, (extent, stride))
    return tuple(result)


def mode_by_mode(a: Flat, b: Flat, strict: bool = False) -> Flat | None:
    """Compose each mode of b by itself, as CuTe does; None where CuTe's divisibility conditions fail.

    Strict is the condition of the textbook: each stride divides, or is divided by, the extents of a that it passes.
    """
    a = merged(a)
    result = []
    for extent, stride in b:
        if stride == 0:
            result.append((extent, 0))
            continue
        rest, step = extent, stride
        for a_extent, a_stride in a[:-1]:
            if strict and abs(step) % a_extent and a_extent % abs(step):
                return None
            if rest > 1 and abs(step) > a_extent and abs(step) % a_extent:
                return None
            fits = -(-a_extent // abs(step))
            if fits > 1 and rest > 1:
                piece = min(fits, rest)
                if rest % piece:
                    return None
                result.append((piece, step * a_stride))
                rest //= piece
            step = -(-abs(step) // a_extent) * (1 if step > 0 else -1)
        result.append((rest, step * a[-1][1]))
    return tuple(result)


def functions_agree(a: Layout, b: Layout, result: Layout) -> bool:
    modes = flat(a)
    return values(result) == [value_at(modes, i) for i in values_of(flat(b))]


def composition_is_impossible(a: Layout, b: Layout) -> bool:
    composed = mode_by_mode(flat(a), flat(b))
    return composed is None or values_of(composed) != [value_at(flat(a), i) for i in values_of(flat(b))]


# ---- All small layouts


@cache
def shapes(max_size: int, max_rank: int) -> list[tuple[int, ...]]:
    if max_rank == 0:
        return [()]
    return [
        (*shape, extent)
        for shape in shapes(max_size, max_rank - 1)
        for extent in range(1, max_size // math.prod(shape) + 1)
    ]


def ordered_strides(shape: tuple[int, ...], gaps: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Compact in every order of the modes, with at most one gap, and with any one mode of stride 0."""
    for order in itertools.permutations(range(len(shape))):
        for gap, place in [(1, 0), *itertools.product(gaps, range(len(shape)))]:
            step, strides = 1, [0] * len(shape)
            for position, mode in enumerate(order):
                step *= gap if position == place else 1
                strides[mode] = step
                step *= shape[mode]
            yield tuple(strides)
            for zero in range(len(shape)):
                yield tuple(0 if mode == zero else d for mode, d in enumerate(strides))


@cache
def ordered_layouts(max_size: int, max_rank: int, gaps: tuple[int, ...] = (2, 3)) -> list[Layout]:
    integers = [Layout(n, d) for n in range(1, max_size + 1) for d in (0, 1, *gaps)]
    tuples = {
        (shape, strides)
        for rank in range(1, max_rank + 1)
        for shape in shapes(max_size, rank)
        for strides in ordered_strides(shape, gaps)
    }
    return integers + [Layout(shape, strides) for shape, strides in sorted(tuples)]


@cache
def any_strides(max_size: int, strides: tuple[int, ...]) -> list[Layout]:
    """Two modes of any strides: some overlap, some interleave."""
    return [Layout(s, d) for s in shapes(max_size, 2) for d in itertools.product(strides, repeat=2)]


def small_layouts() -> list[Layout]:
    return ordered_layouts(24, 3) + any_strides(24, (0, 1, 2, 3, 4, 5, 6, 8))


def test_the_small_layouts_are_many() -> None:
    assert len(set(small_layouts())) > 10_000
    assert {layout.size for layout in small_layouts()} == set(range(1, 25))
    assert Layout((2, 3, 4), (12, 4, 1)) in small_layouts()
    assert Layout((2, 3, 4), (1, 4, 0)) in small_layouts()


# ---- Nested layouts at random


def unflatten(numbers: Iterator[Any], profile: Any) -> Any:
    return tuple(unflatten(numbers, p) for p in profile) if isinstance(profile, tuple) else next(numbers)


EXTENTS = st.sampled_from([1, 2, 2, 3, 4, 4, 5, 6, 8])
NESTED = st.recursive(EXTENTS, lambda inner: st.lists(inner, min_size=1, max_size=3).map(tuple), max_leaves=5).filter(
    lambda shape: depth(shape) <= 3 and math.prod(leaves(shape)) <= 400
)


@st.composite
def compact_layouts(draw: st.DrawFn, gaps: bool = True) -> Layout:
    """Modes of any order, none overlapping another; with gaps, also strides of 0."""
    shape = draw(NESTED)
    extents = leaves(shape)
    strides, step = [0] * len(extents), 1
    for mode in draw(st.permutations(range(len(extents)))):
        factor = draw(st.sampled_from([1, 1, 1, 2, 3, 0])) if gaps else 1
        if factor:
            step *= factor
            strides[mode] = step
            step *= extents[mode]
    dynamic_or_static = draw(st.sampled_from([int, Int]))
    return Layout(unflatten(map(dynamic_or_static, extents), shape), unflatten(map(dynamic_or_static, strides), shape))


@st.composite
def wild_layouts(draw: st.DrawFn) -> Layout:
    """Any strides, also negative ones."""
    shape = draw(NESTED)
    strides = draw(st.lists(st.integers(-9, 24), min_size=len(leaves(shape)), max_size=len(leaves(shape))))
    return Layout(shape, unflatten(iter(strides), shape))


LAYOUTS = st.one_of(compact_layouts(), compact_layouts(gaps=False), wild_layouts())


# ---- Evaluation


def test_a_layout_evaluates_as_its_strides_say() -> None:
    for layout in small_layouts():
        assert values(layout) == values_of(flat(layout)), layout
        assert layout.size == len(values_of(flat(layout))), layout
        assert layout.cosize == max(values_of(flat(layout))) + 1, layout


@LAWS
@given(LAYOUTS)
def test_all_kinds_of_coordinates_give_one_index(layout: Layout) -> None:
    expected = values_of(flat(layout))
    assert values(layout) == expected
    assert [layout(c) for c in coordinates(layout.shape)] == expected
    if isinstance(layout.shape, tuple):
        assert [layout(c) for c in coordinates(cl.product_each(layout.shape))] == expected
    for index, coord in enumerate(coordinates(layout.shape)):
        assert cl.idx2crd(index, layout.shape) == coord
        assert cl.crd2idx(coord, layout.shape) == index
        assert cl.crd2idx(coord, layout.shape, layout.stride) == expected[index]
        assert cl.crd2crd(coord, layout.shape, layout.size) == index
        assert cl.crd2crd(index, layout.size, layout.shape) == coord


@LAWS
@given(compact_layouts(gaps=False))
def test_coordinates_of_an_index_of_a_compact_layout(layout: Layout) -> None:
    for index, value in enumerate(values_of(flat(layout))):
        assert layout(layout.get_hier_coord(value)) == value
        assert cl.congruent(layout.get_hier_coord(value), layout.shape)
        assert layout(layout.get_flat_coord(value)) == value
        assert layout.get_1d_coord(value) == index


@pytest.mark.parametrize(
    ("layout", "index"), [("(4,4):(1,1)", 3), ("(4,4):(1,8)", 4), ("(4,4):(1,4)", 16), ("8:2", 3), ("(4,2):(1,4)", -1)]
)
@pytest.mark.parametrize("method", ["get_hier_coord", "get_flat_coord", "get_1d_coord"])
def test_no_coordinate_is_given_for_an_index_that_has_none(layout: str, index: int, method: str) -> None:
    with pytest.raises(LayoutError, match=method):
        print(getattr(Layout(layout), method)(index))


def test_idx2crd_of_cute_s_notes() -> None:
    table = {0: (0, (0, 0)), 1: (1, (0, 0)), 2: (2, (0, 0)), 3: (0, (1, 0)), 4: (1, (1, 0)), 5: (2, (1, 0)),
             6: (0, (0, 1)), 7: (1, (0, 1)), 8: (2, (0, 1)), 9: (0, (1, 1)), 10: (1, (1, 1)), 11: (2, (1, 1)),
             12: (0, (0, 2)), 13: (1, (0, 2)), 14: (2, (0, 2)), 15: (0, (1, 2)), 16: (1, (1, 2)), 17: (2, (1, 2))}  # fmt: skip
    assert {i: cl.idx2crd(i, (3, (2, 3))) for i in range(18)} == table
    assert cl.idx2crd(16, (3, (2, 3))) == (1, (1, 2))
    assert cl.idx2crd((1, 5), (3, (2, 3))) == (1, (1, 2))
    assert cl.crd2idx((1, (1, 2)), (3, (2, 3)), (3, (12, 1))) == 17


@LAWS
@given(NESTED, NESTED)
def test_congruent_and_compatible(a: Any, b: Any) -> None:
    def congruent(x: Any, y: Any) -> bool:
        if isinstance(x, tuple) and isinstance(y, tuple):
            return len(x) == len(y) and all(map(congruent, x, y))
        return not isinstance(x, tuple) and not isinstance(y, tuple)

    def refines(x: Any, y: Any, leaf: Callable[[Any, Any], bool]) -> bool:
        if not isinstance(x, tuple):
            return leaf(x, y)
        return isinstance(y, tuple) and len(x) == len(y) and all(refines(p, q, leaf) for p, q in zip(x, y, strict=True))

    for x, y in [(a, b), (a, a), (cl.size(a), a), (cl.product_each(a), a), (a, cl.size(a))]:
        assert cl.congruent(x, y) == congruent(x, y)
        assert cl.weakly_congruent(x, y) == refines(x, y, lambda p, q: True)
        assert cl.compatible(x, y) == refines(x, y, lambda p, q: p == math.prod(leaves(q)))


# ---- Makers


@LAWS
@given(NESTED)
def test_compact_layouts_count(shape: Any) -> None:
    assert values(Layout(shape)) == list(range(Layout(shape).size)) == values(Layout(shape, LayoutLeft))
    right = Layout(shape, LayoutRight)
    assert [right(c) for c in sorted(coordinates(shape), key=leaves)] == list(range(right.size))


@LAWS
@given(st.lists(EXTENTS, min_size=1, max_size=4), st.data())
def test_ordered_layouts_count_in_their_order(extents: list[int], data: st.DataObject) -> None:
    order = tuple(data.draw(st.permutations([0, 1, 3, 7][: len(extents)])))
    layout = cl.make_ordered_layout(tuple(extents), order)
    slowest_first = sorted(range(len(order)), key=lambda mode: -order[mode])
    ranked = sorted(coordinates(layout.shape), key=lambda c: [c[mode] for mode in slowest_first])
    assert [layout(c) for c in ranked] == list(range(layout.size))


@pytest.mark.parametrize("order", [(0, 0), (1, 1), (E(0), E(1))])
def test_an_order_that_orders_nothing_is_refused(order: Any) -> None:
    with pytest.raises(LayoutError, match=r"make_ordered_layout.*order"):
        cl.make_ordered_layout((2, 3), order)
    with pytest.raises(LayoutError, match=r"tile_to_shape.*order"):
        cl.tile_to_shape(Layout(2), (4, 9), order)


@LAWS
@given(compact_layouts())
def test_make_layout_like_is_compact_in_the_same_order(layout: Layout) -> None:
    like = cl.make_layout_like(layout)
    assert like.shape == layout.shape
    source, result = flat(layout), flat(like)
    kept = [(d, r) for (s, d), (_, r) in zip(source, result, strict=True) if d != 0 and s > 1]
    assert [r for _, r in sorted(kept)] == sorted(r for _, r in kept)
    assert all(r == 0 for (s, d), (_, r) in zip(source, result, strict=True) if d == 0 and s > 1)
    assert sorted(set(values(like))) == list(range(math.prod(s for s, d in source if d != 0)))


@LAWS
@given(compact_layouts(gaps=False))
def test_make_fragment_like_is_compact(layout: Layout) -> None:
    fragment = cl.make_fragment_like(layout)
    assert cl.product_each(fragment) == cl.product_each(layout)
    assert sorted(values(fragment)) == list(range(layout.size))
    first = cl.size(layout, 0) if layout.rank > 1 else layout.size
    assert values(fragment)[:first] == list(range(first))


@LAWS
@given(NESTED)
def test_the_identity_gives_coordinates(shape: Any) -> None:
    identity = cl.make_identity_layout(shape)
    if isinstance(shape, tuple):
        assert values(identity) == list(coordinates(shape))
        assert identity.rank == 1 or cl.coshape(identity) == shape
    else:
        assert identity(3) == 3


# ---- One layout


def check_coalesced(layout: Layout, result: Layout) -> None:
    assert values(result) == values_of(flat(layout)), layout
    assert result.depth <= 1, layout
    assert cl.coalesce(result) == result, layout
    modes = flat(result)
    assert all(s > 1 for s, _ in modes) or modes == ((1, 0),), layout
    assert all(s * d != e for (s, d), (_, e) in itertools.pairwise(modes)), layout


def test_coalesce_of_small_layouts() -> None:
    for layout in small_layouts():
        check_coalesced(layout, cl.coalesce(layout))


@LAWS
@given(LAYOUTS, st.data())
def test_coalesce(layout: Layout, data: st.DataObject) -> None:
    check_coalesced(layout, cl.coalesce(layout))
    if isinstance(layout.shape, tuple):
        profile = (1,) * data.draw(st.integers(1, layout.rank))
        result = cl.coalesce(layout, profile)
        assert result.rank == layout.rank
        for mode in range(layout.rank):
            expected = cl.coalesce(layout[mode]) if mode < len(profile) else layout[mode]
            assert result[mode] == expected


@LAWS
@given(LAYOUTS)
def test_filter_keeps_the_set_of_values(layout: Layout) -> None:
    ones = cl.filter_zeros(layout)
    assert cl.congruent(ones.shape, layout.shape)
    assert ones.stride == layout.stride
    assert flat(ones) == tuple((s if d else 1, d) for s, d in flat(layout))
    result = cl.filter(layout)
    check_coalesced(ones, result)
    assert set(values(result)) == set(values(layout))
    assert all(d for _, d in flat(result)) or result == Layout(1, 0)
    if isinstance(layout.shape, tuple):
        by_mode = cl.filter(layout, (1,) * layout.rank)
        assert [by_mode[i] for i in range(layout.rank)] == [cl.filter(layout[i]) for i in range(layout.rank)]


@LAWS
@given(LAYOUTS)
def test_flatten_and_unflatten(layout: Layout) -> None:
    result = cl.flatten(layout)
    assert result.depth == min(layout.depth, 1)
    assert flat(result) == flat(layout)
    assert cl.flatten(layout.shape) == result.shape
    assert cl.unflatten(result, layout.shape) == layout


def complement_is_impossible(layout: Layout) -> bool:
    """Two coordinates collide, or a mode starts inside of the span of those with smaller strides."""
    below = 1
    for extent, stride in sorted(((s, d) for s, d in flat(layout) if s > 1 and d != 0), key=lambda mode: mode[1]):
        if stride < below:
            return True
        below = extent * stride
    return False


def check_complement(layout: Layout, target: int) -> None:
    try:
        result = cl.complement(layout, target)
    except LayoutError:
        assert complement_is_impossible(cl.filter(layout)), f"{layout} in {target}"
        return
    image, rest = set(values_of(flat(layout))), values_of(flat(result))
    where = f"{layout} in {target}: {result}"
    assert rest == sorted(set(rest)), where
    assert image & set(rest) == {0}, where
    reach = max([1, *(s * d for s, d in flat(cl.filter(layout)))])
    assert result.cosize <= -(-target // reach) * reach, where
    strides = sorted(d for s, d in flat(cl.filter(layout)) if s > 1)
    extents = {d: s for s, d in flat(cl.filter(layout)) if s > 1}
    below = [1, *(d * extents[d] for d in strides)]
    if all(d % b == 0 for d, b in zip([*strides, target], below, strict=True)):
        assert sorted(a + b for a in image for b in rest) == list(range(target)), where


def test_complement_of_small_layouts() -> None:
    for layout in small_layouts():
        for target in (24, 30, 144):
            check_complement(layout, target)


@LAWS
@given(LAYOUTS, st.sampled_from([1, 5, 64, 720, 2880]))
def test_complement(layout: Layout, target: int) -> None:
    check_complement(layout, target)
    try:
        assert values(cl.complement(layout)) == values(cl.complement(layout, cl.filter(layout).cosize))
    except LayoutError:
        assert complement_is_impossible(cl.filter(layout))


def test_complement_refuses_colliding_coordinates() -> None:
    with pytest.raises(LayoutError, match=r"(?s)complement.*\(4,4\):\(1,2\).*\(2,0\) and \(0,1\) both give 2"):
        cl.complement(Layout((4, 4), (1, 2)), 24)


def check_right_inverse(layout: Layout) -> None:
    inverse = cl.right_inverse(layout)
    modes = flat(layout)
    assert [value_at(modes, i) for i in values_of(flat(inverse))] == list(range(inverse.size)), f"{layout} {inverse}"
    assert inverse.size <= layout.size, layout
    if sorted(values_of(modes)) == list(range(layout.size)):
        assert inverse.size == layout.size, layout


def check_left_inverse(layout: Layout) -> None:
    modes = flat(layout)
    image = values_of(modes)
    if any(d < 0 and s > 1 for s, d in modes):
        with pytest.raises(LayoutError, match="left_inverse"):
            cl.left_inverse(layout)
        return
    try:
        inverse = cl.left_inverse(layout)
    except LayoutError:
        strides = sorted(d for s, d in flat(cl.coalesce(layout)) if d > 0)
        chain = all(e % d == 0 for d, e in itertools.pairwise(strides))
        assert not chain or len(set(image)) < len(image), layout
        return
    back = [value_at(flat(inverse), v) for v in image]
    assert [value_at(modes, i) for i in back] == image, f"{layout} {inverse}"
    if len(set(image)) == len(image):
        assert back == list(range(layout.size)), f"{layout} {inverse}"


def test_inverses_of_small_layouts() -> None:
    for layout in small_layouts():
        check_right_inverse(layout)
        check_left_inverse(layout)


@LAWS
@given(LAYOUTS)
def test_inverses(layout: Layout) -> None:
    check_right_inverse(layout)
    check_left_inverse(layout)


def test_the_left_inverse_may_have_a_stride_of_zero() -> None:
    assert cl.left_inverse("4:2") == Layout((2, 4), (0, 1))


@LAWS
@given(LAYOUTS)
def test_the_null_space_is_where_the_layout_is_zero(layout: Layout) -> None:
    null = cl.nullspace(layout)
    assert [layout(i) for i in values(null)] == [0] * null.size
    assert len(set(values(null))) == null.size
    assert null.size == math.prod(s for s, d in flat(layout) if d == 0)


# ---- Composition


def check_composition(a: Layout, b: Layout) -> bool:
    """Check the law, or that a refusal is right; return whether there is a result."""
    try:
        result = cl.composition(a, b)
    except LayoutError:
        assert composition_is_impossible(a, b), f"{a} o {b} is refused for no reason"
        return False
    assert functions_agree(a, b, result), f"{a} o {b} is not {result}"
    assert cl.compatible(b, result), f"{a} o {b} is not {result}"
    return True


def right_hand_sides() -> list[Layout]:
    return [Layout(n, d) for n in range(1, 25) for d in range(13)] + any_strides(6, (0, 1, 2, 3, 4, 6))


def test_composition_of_small_layouts() -> None:
    lefts = {cl.coalesce(layout) for layout in ordered_layouts(24, 3)}
    assert len(lefts) > 900
    results = [
        check_composition(a, b)
        for number, a in enumerate(sorted(lefts, key=str))
        for b in right_hand_sides()[number % 12 :: 12]
    ]
    assert results.count(True) > 50_000
    assert results.count(False) > 50_000


def test_composition_of_every_shape_with_a_vector() -> None:
    vectors = [Layout(n, d) for n in (2, 3, 4, 6, 8, 12) for d in (1, 2, 3, 4)]
    for a in ordered_layouts(24, 3):
        for b in vectors[a.size % 6 :: 6]:
            check_composition(a, b)


@LAWS
@given(LAYOUTS, LAYOUTS)
def test_composition(a: Layout, b: Layout) -> None:
    assume(min(values_of(flat(b))) >= 0)
    check_composition(a, b)


@LAWS
@given(compact_layouts(gaps=False), compact_layouts(gaps=False), compact_layouts(gaps=False))
def test_composition_is_associative(a: Layout, b: Layout, c: Layout) -> None:
    try:
        left = cl.composition(cl.composition(a, b), c)
        right = cl.composition(a, cl.composition(b, c))
    except LayoutError:
        return
    assume(b.cosize <= a.size and c.cosize <= b.size)
    assert values(left) == values(right)


@LAWS
@given(compact_layouts(), st.data())
def test_composition_by_modes(layout: Layout, data: st.DataObject) -> None:
    tilers = tuple(
        data.draw(st.one_of(st.none(), st.sampled_from([1, 2, 4]), st.sampled_from([Layout(2, 1), Layout(2, 2)])))
        for _ in range(data.draw(st.integers(1, layout.rank)))
    )
    try:
        result = cl.composition(layout, tilers)
    except LayoutError:
        parts = [(layout[i], t if isinstance(t, Layout) else Layout(t)) for i, t in enumerate(tilers) if t is not None]
        assert any(composition_is_impossible(mode, tiler) for mode, tiler in parts)
        return
    assert result.rank == len(tilers)
    for mode, tiler in enumerate(tilers):
        assert result[mode] == (layout[mode] if tiler is None else cl.composition(layout[mode], tiler))
    assert layout.compose(*tilers) == result if len(tilers) > 1 else True


@LAWS
@given(NESTED, st.data())
def test_composition_with_an_identity_gives_coordinates(shape: Any, data: st.DataObject) -> None:
    identity = cl.make_identity_layout(shape)
    b = data.draw(compact_layouts(gaps=False))
    assume(b.cosize <= identity.size)
    spread = tuple((extent, 997**mode) for mode, extent in enumerate(leaves(shape)))  # merges no more than coordinates
    try:
        result = cl.composition(identity, b)
    except LayoutError:
        composed = mode_by_mode(spread, flat(b))
        assert composed is None or values_of(composed) != [value_at(spread, i) for i in values(b)]
        return
    assert [cl.crd2idx(padded(result(i), shape), shape) for i in range(b.size)] == values(b)


@LAWS
@given(compact_layouts(), compact_layouts())
def test_composition_takes_coordinates(inner: Layout, layout: Layout) -> None:
    """A layout of coordinates on the right acts as its indices would."""
    assume(isinstance(layout.shape, tuple))
    try:
        coords = cl.composition(cl.make_identity_layout(cl.product_each(layout.shape)), inner)
        result = cl.composition(layout, coords)
    except LayoutError:
        return
    sizes = cl.product_each(layout.shape)
    assert values(result) == [layout(padded(coords(i), sizes)) for i in range(inner.size)]


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("20:2", "(5,4):(4,1)", "(5,4):(8,2)"),
        ("(10,2):(16,4)", "(5,4):(1,5)", "(5,(2,2)):(16,(80,4))"),
        ("(6,2):(8,2)", "(4,3):(3,1)", "((2,2),3):((24,2),8)"),
        ("(12,(4,8)):(59,(13,1))", "(3:4,8:2)", "(3,(2,4)):(236,(26,1))"),
        ("(12,(4,8)):(59,(13,1))", "(3,8)", "(3,(4,2)):(59,(13,1))"),
        ("(6,2):(8,2)", "(4,3)", "(4,2):(8,2)"),
    ],
)
def test_composition_of_cute_s_notes(a: str, b: str, expected: str) -> None:
    if expected == "(4,2):(8,2)":
        with pytest.raises(LayoutError):
            cl.composition(a, Layout(b))
        return
    assert str(cl.composition(a, cl.parse(b))) == expected


SILENT_IN_CUTE = [
    ("(6,2):(1,7)", "(3,2):(2,3)", ["(2,1)", "= 8", "= 7"]),
    ("(4,6,8):(2,3,5)", "6:3", ["6:3", "3", "4", "A(B(c))"]),
    ("(4,6,8,10):(2,3,5,7)", "6:12", ["6:12"]),
]


@pytest.mark.parametrize(("a", "b", "shown"), SILENT_IN_CUTE)
def test_composition_names_the_coordinate_that_breaks_the_law(a: str, b: str, shown: list[str]) -> None:
    expected = mode_by_mode(flat(Layout(a)), flat(Layout(b)))
    if expected is not None and values_of(expected) == [value_at(flat(Layout(a)), i) for i in values(Layout(b))]:
        assert values(cl.composition(a, b)) == values_of(expected)
        return
    with pytest.raises(LayoutError, match="composition") as refusal:
        cl.composition(a, b)
    for text in [*shown, a, b, "coordinate", "make_composed_layout"]:
        assert text in str(refusal.value)


def test_what_composition_refuses_can_be_evaluated() -> None:
    a, b = Layout("(6,2):(1,7)"), Layout("(3,2):(2,3)")
    composed = cl.make_composed_layout(a, 0, b)
    assert values(composed) == [a(b(i)) for i in range(b.size)]


# ---- Division and products


def block_values(layout: Layout, tiler: Layout) -> list[int]:
    return [value_at(flat(layout), i) for i in values_of(flat(tiler))]


def check_divide(layout: Layout, tiler: Layout) -> bool:
    try:
        result = cl.logical_divide(layout, tiler)
    except LayoutError:
        try:
            rest = cl.complement(tiler, cl.coalesce(layout).shape)
        except LayoutError:
            assert complement_is_impossible(cl.filter(tiler)), f"{layout} by {tiler}"
        else:
            both = cl.make_layout(tiler, rest)
            assert composition_is_impossible(layout, both), f"{layout} by {tiler} is refused for no reason"
        return False
    where = f"{layout} by {tiler}: {result}"
    assert result.rank == 2, where
    assert values(result[0]) == block_values(layout, tiler), where
    assert cl.compatible(tiler, result[0]), where
    rest = cl.complement(tiler, layout.size)
    assert values(result[1]) == [value_at(flat(layout), i) for i in values_of(flat(rest))], where
    if len(set(values(tiler))) == tiler.size and tiler.size * rest.size == layout.size >= tiler.cosize:
        covered = {i + j for i in values(tiler) for j in values(rest)}
        if covered == set(range(layout.size)):
            assert sorted(values(result)) == sorted(values(layout)), where
    return True


def test_logical_divide_of_small_layouts() -> None:
    tilers = [Layout(n, d) for n in (1, 2, 3, 4, 6, 8) for d in (1, 2, 3, 4)] + ordered_layouts(6, 2, (2,))
    lefts = sorted({cl.coalesce(layout) for layout in ordered_layouts(24, 3)}, key=str)
    results = [
        check_divide(layout, tiler) for number, layout in enumerate(lefts) for tiler in tilers[number % 20 :: 20]
    ]
    assert results.count(True) > 5_000


@LAWS
@given(compact_layouts(), compact_layouts())
def test_logical_divide(layout: Layout, tiler: Layout) -> None:
    check_divide(layout, tiler)


@LAWS
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=3), st.data())
def test_divisions_differ_in_their_modes_alone(extents: list[tuple[int, int]], data: st.DataObject) -> None:
    order = tuple(data.draw(st.permutations(range(len(extents)))))
    layout = cl.make_ordered_layout(tuple(tile * count for tile, count in extents), order)
    tiles = data.draw(st.integers(1, len(extents)))
    tiler = tuple(tile for tile, _ in extents[:tiles])
    logical = cl.logical_divide(layout, tiler)
    zipped = cl.zipped_divide(layout, tiler)
    tiled = cl.tiled_divide(layout, tiler)
    flattened = cl.flat_divide(layout, tiler)
    counts = [count for _, count in extents[:tiles]]
    rest = [tile * count for tile, count in extents[tiles:]]
    assert [logical[i].rank for i in range(tiles)] == [2] * tiles
    assert [cl.size(logical[i], 0) for i in range(tiles)] == list(tiler)
    assert [cl.size(logical[i], 1) for i in range(tiles)] == counts
    assert list(cl.product_each(zipped[0])) == list(tiler)
    assert list(cl.product_each(zipped[1])) == counts + rest
    assert list(cl.product_each(tiled)) == [math.prod(tiler), *counts, *rest]
    assert list(cl.product_each(flattened)) == [*tiler, *counts, *rest]
    assert values(zipped) == values(tiled) == values(flattened)
    for result in (logical, zipped, tiled, flattened):
        assert sorted(values(result)) == sorted(values(layout))
    for tile_coord in coordinates(tiler):
        for rest_coord in coordinates((*counts, *rest)):
            where = [tile_coord[i] + tiler[i] * rest_coord[i] for i in range(tiles)] + list(rest_coord[tiles:])
            assert zipped(tile_coord, rest_coord) == layout(tuple(where))


@pytest.mark.parametrize(
    ("layout", "tiler", "expected"),
    [
        ("(4,2,3):(2,1,8)", "4:2", "((2,2),(2,3)):((4,1),(2,8))"),
        ("(9,(4,8)):(59,(13,1))", "(3:3,(2,4):(1,8))", "((3,3),((2,4),(2,2))):((177,59),((13,2),(26,1)))"),
    ],
)
def test_logical_divide_of_cute_s_notes(layout: str, tiler: str, expected: str) -> None:
    assert str(cl.logical_divide(layout, tiler)) == expected
    assert str(cl.logical_divide(layout, cl.parse(tiler))) == expected


def test_zipped_divide_of_cute_s_notes() -> None:
    layout, tiler = "(9,(4,8)):(59,(13,1))", "(3:3,(2,4):(1,8))"
    assert str(cl.zipped_divide(layout, tiler)) == "((3,(2,4)),(3,(2,2))):((177,(13,2)),(59,(26,1)))"
    assert str(cl.tiled_divide(layout, tiler)) == "((3,(2,4)),3,(2,2)):((177,(13,2)),59,(26,1))"
    assert str(cl.flat_divide(layout, tiler)) == "(3,(2,4),3,(2,2)):(177,(13,2),59,(26,1))"


def check_product(block: Layout, tiler: Layout) -> bool:
    try:
        result = cl.logical_product(block, tiler)
    except LayoutError:
        try:
            rest = cl.complement(block, block.size * tiler.cosize)
        except LayoutError:
            assert complement_is_impossible(cl.filter(block)), f"{block} x {tiler}"
        else:
            assert composition_is_impossible(rest, tiler), f"{block} x {tiler} is refused for no reason"
        return False
    where = f"{block} x {tiler}: {result}"
    assert result.rank == 2, where
    assert result[0] == block, where
    assert cl.compatible(tiler, result[1]), where
    assert result.size == block.size * tiler.size, where
    repeats = set(values(result[1]))
    assert len(repeats) == len(set(values(tiler))), where
    assert repeats & set(values(block)) <= {0}, where
    if tiler.size > 1:
        order = sorted(range(tiler.size), key=values(tiler).__getitem__)
        assert [values(result[1])[i] for i in order] == sorted(values(result[1])), where
    return True


def test_logical_product_of_small_layouts() -> None:
    blocks = sorted({cl.coalesce(layout) for layout in ordered_layouts(24, 3)}, key=str)
    tilers = ordered_layouts(8, 2, (2,))
    results = [check_product(a, b) for number, a in enumerate(blocks) for b in tilers[number % 16 :: 16]]
    assert results.count(True) > 5_000


@LAWS
@given(compact_layouts(), compact_layouts())
def test_logical_product(block: Layout, tiler: Layout) -> None:
    check_product(block, tiler)


@LAWS
@given(compact_layouts(gaps=False), st.data())
def test_products_differ_in_their_modes_alone(block: Layout, data: st.DataObject) -> None:
    tiler = tuple(data.draw(st.sampled_from([2, 3])) for _ in range(data.draw(st.integers(1, block.rank))))
    try:
        logical = cl.logical_product(block, tiler)
    except LayoutError:
        assert not all(check_product(block[i], Layout(n)) for i, n in enumerate(tiler))
        return
    zipped = cl.zipped_product(block, tiler)
    tiled = cl.tiled_product(block, tiler)
    flattened = cl.flat_product(block, tiler)
    assert logical.rank == block.rank
    assert all(logical[i][0] == block[i] for i in range(len(tiler)))
    assert zipped.rank == 2
    assert values(zipped) == values(tiled) == values(flattened)
    assert sorted(values(zipped)) == sorted(values(logical))
    assert list(cl.product_each(flattened))[: len(tiler)] == list(cl.product_each(block))[: len(tiler)]


@pytest.mark.parametrize("product", [cl.blocked_product, cl.raked_product])
@LAWS
@given(block=compact_layouts(gaps=False), tiler=compact_layouts(gaps=False))
def test_blocked_and_raked_products(product: Callable[..., Layout], block: Layout, tiler: Layout) -> None:
    assume(block.size * tiler.size <= 600)
    assume(isinstance(block.shape, tuple) and isinstance(tiler.shape, tuple))
    result = product(block, tiler)
    rank = max(block.rank, tiler.rank)
    assert result.rank == rank
    assert sorted(values(result)) == list(range(block.size * tiler.size))
    inner, outer = cl.append(block, rank), cl.append(tiler, rank)
    for t in coordinates(cl.product_each(outer.shape)):
        for b in coordinates(cl.product_each(inner.shape)):
            pairs = zip(b, t, strict=True) if product is cl.blocked_product else zip(t, b, strict=True)
            assert result(tuple(pairs)) == inner(b) + block.size * outer(t)


@pytest.mark.parametrize("product", [cl.blocked_product, cl.raked_product])
def test_products_of_vectors(product: Callable[..., Layout]) -> None:
    expected = "((4,3)):((1,4))" if product is cl.blocked_product else "((3,4)):((4,1))"
    assert str(product("4:1", "3:1")) == expected
    # The mode that comes first may be an integer beside a tuple, not the other way round.
    first, second = ("4:1", "(3):(1)") if product is cl.blocked_product else ("(4):(1)", "3:1")
    assert product(first, second).size == 12
    first, second = ("(4):(1)", "3:1") if product is cl.blocked_product else ("4:1", "(3):(1)")
    with pytest.raises(LayoutError, match=r"(blocked|raked)_product: .*differ in rank; next: append"):
        product(first, second)


@pytest.mark.parametrize("threads", [Layout((4, 8), LayoutRight), Layout((2, 3)), Layout((1, 4))], ids=str)
@pytest.mark.parametrize("per_thread", [Layout((2, 2)), Layout((1, 3)), Layout((2, 2), LayoutRight)], ids=str)
def test_layouts_of_threads_and_values(threads: Layout, per_thread: Layout) -> None:
    tile, tv = cl.make_layout_tv(threads, per_thread)
    assert tile == tuple(cl.size(threads, i) * cl.size(per_thread, i) for i in range(2))
    for t in coordinates(threads.shape):
        for v in coordinates(per_thread.shape):
            m, n = (t[i] * cl.size(per_thread, i) + v[i] for i in range(2))
            assert tv(threads(t), per_thread(v)) == m + tile[0] * n


def test_products_of_cute_s_notes() -> None:
    assert str(cl.logical_product("(2,2):(4,1)", "6:1")) == "((2,2),(2,3)):((4,1),(2,8))"
    assert str(cl.logical_product("(2,2):(4,1)", "(4,2):(2,1)")) == "((2,2),(4,2)):((4,1),(8,2))"
    assert str(cl.blocked_product("(2,5):(5,1)", "(3,4):(1,3)")) == "((2,3),(5,4)):((5,10),(1,30))"
    assert str(cl.raked_product("(2,5):(5,1)", "(3,4):(1,3)")) == "((3,2),(4,5)):((10,5),(30,1))"


@LAWS
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=3), st.data())
def test_tile_to_shape(extents: list[tuple[int, int]], data: st.DataObject) -> None:
    rank = len(extents)
    block_order, order = (tuple(data.draw(st.permutations(range(rank)))) for _ in range(2))
    block = cl.make_ordered_layout(tuple(b for b, _ in extents), block_order)
    shape = tuple(b * n for b, n in extents)
    result = cl.tile_to_shape(block, shape, order)
    assert cl.compatible(shape, result.shape)
    assert sorted(values(result)) == list(range(math.prod(shape)))
    repeats = cl.make_ordered_layout(tuple(n for _, n in extents), order)
    for c in coordinates(shape):
        inside = tuple(i % b for i, (b, _) in zip(c, extents, strict=True))
        which = tuple(i // b for i, (b, _) in zip(c, extents, strict=True))
        assert result(c) == block(inside) + block.size * repeats(which)
    assert cl.tile_to_shape(block, shape) == cl.tile_to_shape(block, shape, tuple(range(rank)))


def test_tile_to_shape_refuses_a_block_that_does_not_fit() -> None:
    with pytest.raises(LayoutError, match=r"tile_to_shape: mode 1 .*\(4,3\)"):
        cl.tile_to_shape("(4,3)", (8, 8))


# ---- Casts


@LAWS
@given(compact_layouts(gaps=False), st.sampled_from([1, 2, 3, 4, 8]))
def test_downcast_names_the_parts_of_each_element(layout: Layout, n: int) -> None:
    assume(any(d == 1 and s > 1 for s, d in flat(layout)))
    parts = cl.downcast(layout, n)
    assert sorted(values(parts)) == list(range(n * layout.size))
    assert cl.upcast(parts, n) == layout
    assert [v // n for v in values(parts) if v % n == 0] == values(layout)


@LAWS
@given(compact_layouts(), st.sampled_from([1, 2, 4, 8]))
def test_upcast_names_what_the_elements_are_parts_of(layout: Layout, n: int) -> None:
    try:
        whole = cl.upcast(layout, n)
    except LayoutError:
        assert any(d != 0 and d % n and n % d for _, d in flat(layout))
        return
    assert cl.congruent(whole.shape, layout.shape)
    adjacent = [(s, d) for s, d in flat(layout) if 0 < d < n]
    if all(s % (n // d) == 0 for s, d in adjacent if s > 1) and all(s > 1 for s, _ in adjacent):
        assert set(values(whole)) == {v // n for v in values(layout)}


@LAWS
@given(compact_layouts(), st.sampled_from([1, 2, 4]), st.sampled_from([1, 2, 4]))
def test_casts_compose(layout: Layout, m: int, n: int) -> None:
    for cast in (cl.upcast, cl.downcast):
        try:
            twice, once = cast(cast(layout, m), n), cast(layout, m * n)
        except LayoutError:
            continue
        assert values(twice) == values(once)


@LAWS
@given(compact_layouts(), st.sampled_from([8, 16, 24, 32, 64]), st.sampled_from([8, 16, 24, 32, 64]))
def test_recasts(layout: Layout, old: int, new: int) -> None:
    try:
        result = cl.recast_layout(layout, old, new)
    except LayoutError:
        assert old != new
        return
    if old == new:
        assert result == layout
    elif old % new == 0:
        assert result == cl.downcast(layout, old // new)
        assert values(cl.recast_layout(result, new, old)) == values(cl.upcast(result, old // new))
    elif new % old == 0:
        assert result == cl.upcast(layout, new // old)
    if layout[0].stride == 1 and layout.rank == 1 and layout.size * old % new == 0:
        assert values(result) == list(range(layout.size * old // new))


def test_the_values_of_a_layout() -> None:
    for layout in (
        Layout((2, 3), (3, 1)),
        cl.composition(Swizzle(1, 0, 1), Layout(4)),
        cl.make_identity_layout((2, 2)),
    ):
        assert cl.layout_values(layout, 100) == values(layout)
        assert cl.layout_values(layout, 2) == values(layout)[:2]


# ---- Slices and modes


@LAWS
@given(LAYOUTS, st.data())
def test_a_slice_is_the_layout_without_the_offset(layout: Layout, data: st.DataObject) -> None:
    def drawn(shape: Any) -> Any:
        kind = data.draw(st.sampled_from(["open", "closed", "inside"]))
        if kind == "open":
            return None
        if kind == "closed" or not isinstance(shape, tuple):
            return data.draw(st.integers(0, math.prod(leaves(shape)) - 1))
        return tuple(drawn(s) for s in shape)

    coord = drawn(layout.shape)
    assume(None in leaves(coord))
    part, offset = cl.slice_and_offset(coord, layout)
    assert cl.slice_(coord, layout) == part == layout(coord)

    def filled(c: Any, shape: Any, rest: Iterator[Any]) -> Any:
        if c is None:
            return next(rest)
        return tuple(filled(e, s, rest) for e, s in zip(c, shape, strict=True)) if isinstance(c, tuple) else c

    def opened(c: Any, shape: Any) -> list[Any]:
        if c is None:
            return [shape]
        return [o for e, s in zip(c, shape, strict=True) for o in opened(e, s)] if isinstance(c, tuple) else []

    rest_shape = tuple(opened(coord, layout.shape))
    for rest in coordinates(rest_shape):
        here = rest[0] if coord is None else rest
        assert part(here) + offset == layout(filled(coord, layout.shape, iter(rest)))


@LAWS
@given(LAYOUTS, LAYOUTS)
def test_modes(a: Layout, b: Layout) -> None:
    both = cl.make_layout(a, b)
    assert [both[0], both[1], both[-1]] == [a, b, b]
    assert list(both) == [a, b]
    assert len(both) == both.rank == 2
    assert both(1, 0) == a(1)
    assert cl.select(both, 1, 0) == cl.make_layout(b, a)
    assert cl.take(both, 1, 2) == both[1:2] == cl.make_layout(b)
    assert cl.group(both, 0, 2) == cl.make_layout(both)
    assert cl.append(both, 3) == cl.make_layout(a, b, Layout(1, 0))
    assert cl.append(both, 3, a) == cl.make_layout(a, b, a)
    assert cl.prepend(both, 4, b) == cl.make_layout(b, b, a, b)
    assert cl.replace(both, 0, b) == cl.make_layout(b, b)
    assert cl.get(both, 1) == b
    assert cl.zip(cl.make_layout(both, both)) == cl.make_layout(cl.make_layout(a, a), cl.make_layout(b, b))
    assert cl.zip(both, both) == cl.make_layout(cl.make_layout(a, a), cl.make_layout(b, b))
    assert (cl.rank(both), cl.depth(both), cl.size(both)) == (2, 1 + max(a.depth, b.depth), a.size * b.size)
    assert (cl.size(both, 0), cl.cosize(both, 1), cl.shape(both, 1), cl.stride(both, 0)) == (
        a.size,
        b.cosize,
        b.shape,
        a.stride,
    )
    assert cl.dice((1, None), both) == cl.make_layout(a)
    assert cl.dice((1, None), (a, b)) == (a,)


# ---- What two layouts have in common


@LAWS
@given(compact_layouts(), compact_layouts())
def test_max_common_vector_and_layout(a: Layout, b: Layout) -> None:
    try:
        vector, common = cl.max_common_vector(a, b), cl.max_common_layout(a, b)
    except LayoutError:
        assert composition_is_impossible(a, cl.right_inverse(b))
        return
    assert common.size == vector
    assert [a(i) for i in values(common)] == list(range(vector))
    assert [b(i) for i in values(common)] == list(range(vector))


# ---- Swizzles

SWIZZLES = [
    Swizzle(bits, base, shift) for bits in range(4) for base in range(4) for shift in range(-4, 5) if abs(shift) >= bits
]
INNER = [
    *(Layout(s, o) for s in [(2, 4), (4, 4), (4, 8), (8, 8), (2, 4, 4)] for o in (LayoutLeft, LayoutRight)),
    *map(Layout, ["(4,4):(1,8)", "(4,4):(8,2)", "((2,2),(2,4)):((1,8),(2,16))", "(4,(2,4)):(2,(1,8))", "(4,4):(0,4)"]),
    *map(Layout, ["(3,3):(1,3)", "(3,4):(1,4)", "(5,3):(3,1)", "(6,4):(4,1)", "(3,5):(7,2)", "(4,4):(1,1)"]),
]


def swizzled(swizzle: Swizzle, index: int) -> int:
    mask = (1 << swizzle.bits) - 1
    if swizzle.shift >= 0:
        return index ^ ((index >> (swizzle.base + swizzle.shift) & mask) << swizzle.base)
    return index ^ ((index >> swizzle.base & mask) << (swizzle.base - swizzle.shift))


@pytest.mark.parametrize("swizzle", SWIZZLES, ids=str)
def test_a_swizzle_is_an_involution(swizzle: Swizzle) -> None:
    size = 1 << (swizzle.bits + swizzle.base + abs(swizzle.shift))
    images = [swizzle(i) for i in range(size)]
    assert images == [swizzled(swizzle, i) for i in range(size)]
    assert sorted(images) == list(range(size))
    assert [swizzle(i) for i in images] == list(range(size))
    assert cl.right_inverse(swizzle) == cl.left_inverse(swizzle) == swizzle
    y = ((1 << swizzle.bits) - 1) << (swizzle.base + max(swizzle.shift, 0))
    z = ((1 << swizzle.bits) - 1) << (swizzle.base + max(-swizzle.shift, 0))
    if swizzle.bits:
        assert cl.make_swizzle(y, z) == swizzle


@pytest.mark.parametrize("swizzle", SWIZZLES, ids=str)
def test_a_swizzled_layout_is_swizzle_after_layout(swizzle: Swizzle) -> None:
    for inner in INNER:
        composed = cl.composition(swizzle, inner)
        assert values(composed) == [swizzled(swizzle, v) for v in values_of(flat(inner))]
        shifted = cl.make_composed_layout(swizzle, 5, inner)
        assert values(shifted) == [swizzled(swizzle, 5 + v) for v in values_of(flat(inner))]


@pytest.mark.parametrize("inner", INNER, ids=str)
@pytest.mark.parametrize("offset", [0, 4, 13])
def test_slices_of_swizzled_layouts(inner: Layout, offset: int) -> None:
    for swizzle in SWIZZLES:
        layout = cl.make_composed_layout(swizzle, offset, inner)
        for mode in range(inner.rank):
            for fixed in range(cl.size(inner, mode)):
                coord = tuple(fixed if i == mode else None for i in range(inner.rank))
                part, left = cl.slice_and_offset(coord, layout)
                rest = [c for c in coordinates(cl.product_each(inner.shape)) if c[mode] == fixed]
                got = [left + part(c[:mode] + c[mode + 1 :]) for c in rest]
                expected = [swizzled(swizzle, offset + value_at_coord(inner, c)) for c in rest]
                assert got == expected, f"{layout} at {coord}: {part} + {left}"


def value_at_coord(layout: Layout, coord: tuple[int, ...]) -> int:
    return sum(value_at(flat(layout[i]), c) for i, c in enumerate(coord))


def has_left_inverse(layout: Layout) -> bool:
    try:
        cl.left_inverse(layout)
    except LayoutError:
        return False
    return True


@pytest.mark.parametrize("swizzle", SWIZZLES, ids=str)
@pytest.mark.parametrize("offset", [0, 1, 13, 64])
def test_inverses_of_swizzled_layouts(swizzle: Swizzle, offset: int) -> None:
    for inner in INNER:
        layout = cl.make_composed_layout(swizzle, offset, inner)
        check_inverses(layout, [inner])


@pytest.mark.parametrize("swizzle", SWIZZLES[:3], ids=str)
def test_inverses_of_nested_layouts(swizzle: Swizzle) -> None:
    """Layout after swizzle after layout, with offsets between them: the functions are undone one by one."""
    for inner in INNER:
        within = cl.make_composed_layout(swizzle, 3, inner)
        for outer in (Layout((8, 16), (16, 1)), Layout((4, 4), (2, 8))):
            check_inverses(cl.make_composed_layout(outer, 2, within), [inner, outer])


def check_inverses(layout: ComposedLayout, parts: list[Layout]) -> None:
    """The laws of both inverses; a left one is missing only where a part has none, a right one where 0 is no index."""
    image = values(layout)
    if not all(map(has_left_inverse, parts)):
        for side in (cl.left_inverse, cl.right_inverse):
            with contextlib.suppress(LayoutError):
                side(layout)
        return
    back = cl.left_inverse(layout)
    assert [layout(back(v)) for v in image] == image, layout
    if len(set(image)) == len(image):
        assert [back(v) for v in image] == list(range(layout.size)), layout
    if 0 not in image:
        with pytest.raises(LayoutError, match=r"does not give the index 0.*next: left_inverse"):
            cl.right_inverse(layout)
        return
    inverse = cl.right_inverse(layout)
    assert [layout(inverse(i)) for i in range(inverse.size)] == list(range(inverse.size)), layout
    assert inverse.size >= 1


@pytest.mark.parametrize("where", ["inside", "beyond"])
@pytest.mark.parametrize("swizzle", SWIZZLES, ids=str)
def test_a_layout_after_a_swizzle(swizzle: Swizzle, where: str) -> None:
    """Inside and beyond the domain of the outer layout, which composition continues."""
    for outer in INNER:
        for inner in [*map(Layout, (2, 4, 8, 16, (3, 2), (2, 8, 4))), Layout((2, 2), (2, 1)), Layout((4, 8), (8, 1))]:
            images = [swizzled(swizzle, v) for v in values_of(flat(inner))]
            if (max(images) < outer.size) != (where == "inside"):
                continue
            try:
                result = cl.composition(outer, ComposedLayout(swizzle, 0, inner))
            except LayoutError:
                continue
            expected = [value_at(flat(outer), v) for v in images]
            assert values(result) == expected, f"{outer} o {swizzle} o {inner}: {result}"


def test_algebra_acts_on_the_inner_layout() -> None:
    layout = cl.composition(Swizzle(2, 1, 3), Layout((8, 8), (8, 1)))
    everything = values(layout)
    assert values(cl.coalesce(layout)) == everything
    assert values(cl.flatten(layout)) == everything
    divided = cl.zipped_divide(layout, (4, 2))
    assert [divided((i % 4, j % 2), (i // 4, j // 2)) for j in range(8) for i in range(8)] == everything
    tiled = cl.tile_to_shape(layout, (16, 16))
    assert sorted(values(tiled)) == list(range(256))
    assert [tiled(i, j) for j in range(8) for i in range(8)] == everything


@pytest.mark.parametrize("n", [1, 2, 4])
def test_casts_of_swizzled_layouts(n: int) -> None:
    for swizzle in (Swizzle(2, 3, 3), Swizzle(3, 4, 3), Swizzle(1, 2, 4)):
        layout = cl.composition(swizzle, Layout((8, 16), (16, 1)))
        down = cl.downcast(layout, n)
        assert [v // n for v in values(down) if v % n == 0] == values(layout)
        assert cl.upcast(down, n) == layout
        up = cl.upcast(layout, n)
        assert [up(i, j) for j in range(16 // n) for i in range(8)] == [
            layout(i, j) // n for j in range(0, 16, n) for i in range(8)
        ]


def test_common_vectors_of_swizzled_layouts() -> None:
    plain, layout = Layout((8, 16), (16, 1)), cl.composition(Swizzle(2, 3, 3), Layout((8, 16), (16, 1)))
    assert cl.max_common_vector(layout, plain) == 8
    assert cl.max_common_vector(plain, layout) == 8
    assert cl.max_common_vector(layout, layout) == 128
    common = cl.max_common_layout(layout, plain)
    assert [layout(i) for i in values(common)] == list(range(common.size)) == [plain(i) for i in values(common)]


# ---- CuTe's notes on coalescing and complements


def test_coalesce_of_cute_s_notes() -> None:
    assert cl.coalesce("(2,(1,6)):(1,(6,2))") == Layout(12, 1)
    assert cl.coalesce("(2,(1,6)):(1,(6,2))", (1, 1)) == Layout((2, 6), (1, 2))


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        ("4:1", "6:4"),
        ("6:4", "4:1"),
        ("(4,6):(1,4)", "1:0"),
        ("4:2", "(2,3):(1,8)"),
        ("(2,4):(1,6)", "3:2"),
        ("(2,2):(1,6)", "(3,2):(2,12)"),
    ],
)
def test_complement_of_cute_s_notes(layout: str, expected: str) -> None:
    assert cl.complement(layout, 24) == Layout(expected)


# ---- A second witness: tensor-layouts


def left_inverse_needs_a_remainder(layout: Layout) -> bool:
    strides = sorted(d for _, d in flat(layout) if d != 0)
    return any(e % d for d, e in itertools.pairwise([1, *strides]))


# Where the two differ, why, and what must then be so: (operation, who answers) -> (reason, condition on the arguments and on
# the witness's answer).
DISAGREEMENTS: dict[tuple[str, str], tuple[str, Callable[..., bool]]] = {
    ("complement", "witness"): (
        "It answers for layouts whose modes interleave, with a result that is not disjoint from them.",
        lambda layout, target, answer: complement_is_impossible(cl.filter(layout)),
    ),
    ("composition", "witness"): (
        "It composes mode by mode, as CuTe does, and does not see that the result is another function.",
        lambda a, b, answer: answer != [value_at(flat(a), i) for i in values(b)],
    ),
    ("composition", "cute_py"): (
        "It asks that every stride divides, even where no step is taken or where the remainder does no harm.",
        lambda a, b, answer: mode_by_mode(flat(a), flat(b), strict=True) is None,
    ),
    ("left_inverse", "witness"): (
        "It divides strides with remainder, which CuTe refuses, and does not check the result of modes that overlap.",
        lambda layout, answer: (
            left_inverse_needs_a_remainder(layout)
            or any(value >= len(answer) or layout(answer[value]) != value for value in values(layout))
        ),
    ),
    ("logical_divide", "cute_py"): (
        "As for composition.",
        lambda layout, tiler, answer: any(
            mode_by_mode(flat(layout), flat(b), strict=True) is None for b in (tiler, cl.complement(tiler, layout.size))
        ),
    ),
    ("right_inverse", "both"): (
        "Of modes with the same stride, CuTe's sort puts the first one first, its own the smallest; both are inverses.",
        lambda layout, answer: (
            [layout(i) for i in answer] == list(range(len(answer))) and len({d for s, d in flat(layout)}) < layout.rank
        ),
    ),
}


def plain(t: Any) -> Any:
    return tuple(map(plain, t)) if isinstance(t, tuple) else int(t)


@cache
def of_witness(layout: Layout) -> Any:
    return witness.Layout(plain(layout.shape), plain(layout.stride))


def witness_cases(operation: str) -> Iterator[tuple[Any, ...]]:
    if operation == "coalesce":
        yield from ((layout,) for layout in small_layouts())
        return
    merged_layouts = sorted({cl.coalesce(layout) for layout in ordered_layouts(24, 3)}, key=str)
    every = merged_layouts + any_strides(24, (0, 1, 2, 3, 4, 5, 6, 8))
    if operation == "complement":
        yield from ((layout, (24, 144)[number % 2]) for number, layout in enumerate(every))
    elif operation == "composition":
        vectors = right_hand_sides()
        yield from ((a, b) for number, a in enumerate(merged_layouts) for b in vectors[number % 48 :: 48])
    elif operation == "logical_divide":
        tilers = ordered_layouts(6, 2)
        yield from ((a, b) for number, a in enumerate(merged_layouts) for b in tilers[number % 96 :: 96])
    else:
        yield from ((layout,) for layout in every)


@pytest.mark.parametrize(
    "operation", ["coalesce", "complement", "composition", "left_inverse", "logical_divide", "right_inverse"]
)
def test_tensor_layouts_agrees(operation: str) -> None:
    theirs_of = getattr(witness, {"composition": "compose"}.get(operation, operation))
    agreements, explained = 0, set()
    for arguments in witness_cases(operation):
        try:
            ours = values(getattr(cl, operation)(*arguments))
        except LayoutError:
            ours = []
        try:
            result = theirs_of(*(of_witness(a) if isinstance(a, Layout) else a for a in arguments))
            theirs = [result(i) for i in range(witness.size(result))]
        except witness.LayoutError:
            theirs = []
        if ours == theirs:
            agreements += bool(ours)
            continue
        who = "both" if ours and theirs else "cute_py" if ours else "witness"
        where = (
            f"{operation} of {', '.join(map(str, arguments))}: {ours or 'refused'}, the witness {theirs or 'refused'}"
        )
        assert (operation, who) in DISAGREEMENTS, where
        reason, condition = DISAGREEMENTS[operation, who]
        assert condition(*arguments, theirs), f"{where}\nnot so: {reason}"
        explained.add((operation, who))
    assert agreements > 3_000
    assert explained == {key for key in DISAGREEMENTS if key[0] == operation}


# ---- Right inverses are as large as they can be


def is_a_layout(values: list[int]) -> bool:
    """Whether a layout gives these values, in the order of its coordinates."""
    n = len(values)
    if n == 1:
        return values[0] == 0
    return any(
        n % f == 0
        and all(values[i + f * j] == i * values[1] + values[f * j] for j in range(n // f) for i in range(f))
        and is_a_layout(values[::f])
        for f in range(2, n + 1)
    )


def layouts_of_few_modes() -> Iterator[Layout]:
    for rank, extents, strides in ((1, (1, 2, 3, 4), range(9)), (2, (1, 2, 3, 4), range(9)), (3, (2, 3), range(7))):
        for shape in itertools.product(extents, repeat=rank):
            for stride in itertools.product(strides, repeat=rank):
                yield Layout(shape, stride)


def test_no_right_inverse_is_larger_where_no_index_repeats() -> None:
    injective = 0
    for layout in layouts_of_few_modes():
        indices = values(layout)
        if len(set(indices)) < len(indices):
            continue
        injective += 1
        run = next(i for i in itertools.count() if i not in indices)
        where = [indices.index(i) for i in range(run)]
        largest = max(n for n in range(1, run + 1) if is_a_layout(where[:n]))
        assert cl.right_inverse(layout).size == largest, layout
    assert injective > 1000


def test_a_larger_right_inverse_may_exist_where_indices_repeat() -> None:
    layout, larger = Layout((6, 4), (1, 3)), Layout((2, 2, 3), (1, 2, 7))
    assert cl.right_inverse(layout) == Layout(6, 1)
    assert [layout(larger(i)) for i in range(12)] == list(range(12))


# ---- Composed layouts of composed layouts


def test_nested_composed_layouts_are_evaluated_from_the_inside() -> None:
    rng = random.Random(8)
    for _ in range(300):
        inner = Layout((rng.choice([2, 4, 8]), rng.choice([2, 3, 8])), (rng.choice([1, 8]), rng.choice([1, 3, 8])))
        functions: list[Any] = []
        made: Any = inner
        for _ in range(rng.randint(1, 4)):
            outer = rng.choice([Swizzle(2, 0, 2), Swizzle(1, 1, -3), Layout((4, 4), (4, 1)), Layout((3, 8), (5, -1))])
            offset = rng.randint(0, 9)
            made = cl.make_composed_layout(outer, offset, made)
            functions.append((outer, offset))
            assert (made.outer, made.offset) == (outer, offset)
        for coord in coordinates(inner.shape):
            expected = inner(coord)
            for function, offset in functions:
                expected = function(offset + expected)
            assert made(coord) == expected
        assert made.shape == inner.shape
        assert cl.parse(str(made)) == made == eval(repr(made))
        assert hash(cl.parse(str(made))) == hash(made)
        again = made.inner
        for _ in functions[1:]:
            again = again.inner
        assert again == inner
        tiled = cl.zipped_divide(made, (2, 1))
        assert tiled((1, 0), (0, 1)) == made(1, 1)
        for j in range(cl.size(inner, 1)):
            open_modes, offset = cl.slice_and_offset((None, j), made)
            assert [open_modes(i) + offset for i in range(cl.size(inner, 0))] == [
                made(i, j) for i in range(cl.size(inner, 0))
            ]


def test_a_composed_layout_on_the_outside_brings_its_functions() -> None:
    first = cl.make_composed_layout(Swizzle(2, 0, 2), 3, Layout((8, 4), (4, 1)))
    second = cl.composition(Swizzle(1, 1, 2), Layout((4, 8)))
    both = cl.make_composed_layout(first, 5, second)
    assert str(both) == "Sw<2,0,2> o 3 o (8,4):(4,1) o 5 o Sw<1,1,2> o _0 o (4,8):(_1,4)"
    assert [both(i) for i in range(32)] == [first(5 + second(i)) for i in range(32)]
    assert both != cl.make_composed_layout(first, 4, second)
    assert both.inner == cl.make_composed_layout(Layout((8, 4), (4, 1)), 5, second)


def test_what_no_swizzle_gives_has_a_way_out() -> None:
    swizzled = cl.composition(Swizzle(3, 0, 3), Layout((8, 8), (8, 1)))
    layout = Layout((4, 4), (4, 1))
    with pytest.raises(LayoutError, match=r"next: make_composed_layout\(A, 0, B\)"):
        cl.composition(layout, swizzled)
    composed = cl.make_composed_layout(layout, 0, swizzled)
    assert values(composed) == [layout(swizzled(i)) for i in range(64)]
    swizzle = Swizzle(3, 0, 3)
    domain = cl.composition(swizzle, Layout(cl.size(layout)))
    assert values(cl.make_composed_layout(layout, 0, domain)) == [layout(swizzle(i)) for i in range(16)]


# ---- Operations on modes, of tuples


def test_tuples_have_modes_too() -> None:
    shape = (128, (96, 2), 8)
    assert cl.select(shape, 0, 2) == (128, 8)
    assert cl.select(shape, 1, 1) == ((96, 2), (96, 2))
    assert cl.take(shape, 1, 3) == ((96, 2), 8)
    assert cl.group(shape, 0, 2) == ((128, (96, 2)), 8)
    assert cl.append(shape, 5, 1) == (*shape, 1, 1)
    assert cl.prepend(shape, 4, (1, 1)) == ((1, 1), *shape)
    assert cl.append(shape, 3, 1) == shape
    assert cl.replace(shape, 1, 7) == (128, 7, 8)
    assert cl.unflatten((1, 2, 3, 4, 5), ((0, 0), (0, 0, 0))) == ((1, 2), (3, 4, 5))
    assert cl.unflatten((1, 2, 3), Layout((4, (2, 2)))) == (1, (2, 3))
    assert cl.unflatten(Layout((2, 3, 4)), Layout((4, (2, 2)))) == Layout((2, (3, 4)))
    assert cl.slice_((None, 0), (3, 4)) == (3,)
    assert cl.slice_(((None, 0), None), ((1, (2, 3)), 4)) == (1, 4)
    assert cl.slice_(None, (3, 4)) == (3, 4)
    assert cl.select((None, Layout(4), Int(3)), 2, 1, 0) == (Int(3), Layout(4), None)
    assert str(cl.select((Int(4), 8), 0)[0]) == "_4"
    assert cl.select("(128,64,8)", 0, 2) == Layout((128, 8), (1, 8192))  # text is a layout


@pytest.mark.parametrize(
    ("a", "b", "less"),
    [((3, 6), (4, 7), True), ((4, 6), (4, 7), False), ((3, 7), (4, 7), False), ((3,), (4, 7), True), ((3, 1, 1), (4, 7), False),
     ((1, (2, 3)), (2, (3, 4)), True), ((1, (2, 4)), (2, (3, 4)), False), (3, 4, True), (4, 4, False), ((-1, 0), (4, 7), True)],
)  # fmt: skip
def test_elem_less(a: Any, b: Any, less: bool) -> None:
    assert cl.elem_less(a, b) is less
    if isinstance(b, tuple):
        assert cl.elem_less(a, Layout(b)) is less


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (lambda: cl.tile_to_shape("_4:_1", 16), "((4,(4))):((1,(4)))"),
        (lambda: cl.tile_to_shape("4:1", (16,)), "((4,(4))):((1,(4)))"),
        (lambda: cl.tile_to_shape("4:1", 16, 0), "((4,(4))):((1,(4)))"),
        (lambda: cl.blocked_product("4:1", "(3):(1)"), "((4,(3))):((1,(4)))"),
        (lambda: cl.blocked_product("4:1", "3:1"), "((4,3)):((1,4))"),
        (lambda: cl.blocked_product("4:2", "6:1"), "((4,(2,3))):((2,(1,8)))"),
        (lambda: cl.raked_product("(4):(1)", "3:1"), "((3,(4))):((4,(1)))"),
    ],
)
def test_one_dimensional_blocks(made: Callable[[], Layout], expected: str) -> None:
    assert made() == Layout(expected)


def test_brackets_go_down_the_nesting_or_slice() -> None:
    layout = Layout("((2,4),(3,5)):((1,2),(8,24))")
    assert layout[0, 1] == layout[0][1] == Layout("4:2")
    assert layout[1, 0] == Layout("3:8")
    assert layout[:, 1] == layout(None, 1)
    assert layout[3, None] == layout(3, None)
    assert layout[(0, None), 2] == layout((0, None), 2)
    for wrong in ((0, 2), (0, 0, 1), (slice(0, 1), 1)):
        with pytest.raises(LayoutError, match=r"^(layout\[|get: there is no mode)"):
            layout[wrong]


def test_functions_of_layouts_take_tensors() -> None:
    layout = Layout("(4,6):(6,1)")
    tensor = make_tensor(np.zeros((4, 6), np.float32))
    assert cl.stride(tensor) == (6, 1)
    assert cl.max_common_vector(tensor, tensor) == cl.max_common_vector(layout, layout)
    assert cl.cosize(tensor) == 24
    assert str(cl.slice_((None, 1), tensor).layout) == str(cl.slice_((None, 1), layout))
    assert cl.slice_((None, 1), tensor).offset == 1


def test_inner_products_of_coordinates_and_basis_elements() -> None:
    identity = cl.make_identity_layout((4, (3, 2)))
    for i in range(identity.size):
        coord = cl.idx2crd(i, identity.shape)
        assert cl.inner_product(coord, identity.stride) == identity(i)
    assert cl.inner_product((2, 3), (E(0), E(1))) == (2, 3)
    assert cl.inner_product((2, 3), (4, 5)) == 23


def test_basis_elements_add_up() -> None:
    assert 2 * E(0) + 3 * E(1) == (2, 3)
    coord = (1, 2)
    assert E(0) + coord == coord + E(0) == (2, 2)
    assert E(1) + coord == (1, 3)
    assert sum((c * E(i) for i, c in enumerate((4, 5, 6))), 0) == (4, 5, 6)


def test_products_and_zips_of_tuples() -> None:
    assert cl.product((2, (3, 4))) == 24
    assert cl.product(7) == 7
    assert type(cl.product((Int(2), Int(4)))) is Int
    assert cl.zip(((1, 2), (3, 4))) == ((1, 3), (2, 4))
    assert cl.zip((1, 2), (3, 4)) == ((1, 3), (2, 4))


def test_bits_of_static_integers_stay_static() -> None:
    a, b = Int(12), Int(10)
    for value, expected in ((a & b, 8), (a | b, 14), (a ^ b, 6), (a << Int(2), 48), (a >> Int(1), 6), (~a, -13)):
        assert (type(value), int(value)) == (Int, expected)
    assert type(a & 3) is int
    assert type(a << 1) is int
