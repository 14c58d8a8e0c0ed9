"""What analyses say of layouts, against their definitions by brute force."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import numpy as np
import pytest

import cute_py.layout as cl
from cute_py import LayoutError, OperandError, atoms, make_tiled_copy
from cute_py.analysis import (
    aliases,
    coalescing,
    contiguity,
    cycles,
    f2_matrix,
    fixed_points,
    footprint,
    from_f2_matrix,
    functionally_equal,
    gaps,
    image,
    is_bijective,
    is_contiguous,
    is_injective,
    is_surjective,
    mode_contiguity,
    offsets,
    parity,
    period,
)
from cute_py.layout import ComposedLayout, Layout, Swizzle


def small_layouts() -> list[Any]:
    """Every layout of one or two modes with extents of 1 to 4 and strides of 0 to 6, and swizzles of some."""
    one = [Layout(s, d) for s, d in itertools.product(range(1, 5), range(7))]
    two = [
        Layout((s, t), (d, e))
        for s, t, d, e in itertools.product((1, 2, 3, 4), (2, 3), (0, 1, 2, 3, 4, 6), (1, 2, 3, 4))
    ]
    swizzled = [ComposedLayout(Swizzle(1, 0, s), o, layout) for layout in two[::7] for s in (1, 2) for o in (0, 3)]
    return [*one, *two, *swizzled]


@pytest.mark.parametrize("layout", [pytest.param(small_layouts(), id="exhaustively")])
def test_definitions(layout: list[Any]) -> None:
    for each in layout:
        values = [each(i) for i in range(each.size)]
        reached = sorted(set(values))
        assert offsets(each).tolist() == values
        assert image(each).tolist() == reached
        assert is_injective(each) == (len(reached) == len(values))
        assert is_surjective(each) == (reached == list(range(max(values) + 1)))
        assert is_surjective(each, 2) == ({0, 1} <= set(values))
        assert is_bijective(each) == (sorted(values) == list(range(max(values) + 1)))
        assert is_contiguous(each) == (reached[-1] - reached[0] + 1 == len(reached))
        run = next((i for i in range(1, len(values)) if values[i] != values[i - 1] + 1), len(values))
        assert contiguity(each) == run
        found = footprint(each, "float")
        assert (found.elements, found.distinct, found.first, found.last) == (
            len(values),
            len(reached),
            reached[0],
            reached[-1],
        )
        assert found.bytes == 4 * found.span
        missing = [i for i in range(reached[0], reached[-1]) if i not in set(values)]
        assert [i for first, last in gaps(each) for i in range(first, last + 1)] == missing
        assert {k: len(v) for k, v in aliases(each).items()} == {
            v: values.count(v) for v in reached if values.count(v) > 1
        }
        assert fixed_points(each) == [i for i, v in enumerate(values) if i == v]
        if sorted(values) == list(range(len(values))):
            moved = list(range(len(values)))
            for _ in range(period(each)):
                moved = [values[i] for i in moved]
            assert moved == list(range(len(values)))
            inversions = sum(a > b for a, b in itertools.combinations(values, 2))
            assert parity(each) == inversions % 2
            assert math.lcm(*(len(c) for c in cycles(each)), 1) == period(each)
            assert sum(map(len, cycles(each))) + len(fixed_points(each)) == len(values)


def test_aliases_are_coordinates_of_the_index() -> None:
    layout = Layout("((2,2),3):((1,0),1)")
    for index, coords in aliases(layout).items():
        assert {layout(c) for c in coords} == {index}
        assert len(coords) > 1


def test_modes_on_their_own() -> None:
    assert mode_contiguity(Layout("(32,4):(4,1)")) == (1, 4)
    copy = make_tiled_copy(
        atoms.copy["UniversalCopy<uint128_t>"].atom("float"), Layout("(32,8):(1,32)"), Layout("(4,1)")
    )
    assert mode_contiguity(copy.layout_src_tv)[1] == 4


@pytest.mark.parametrize("function", [cycles, period, parity])
@pytest.mark.parametrize("layout", ["(2,2):(1,1)", "4:2", "(2,2):(1,3)"])
def test_what_is_no_permutation(function: Any, layout: str) -> None:
    with pytest.raises(LayoutError, match="no permutation of 0 to"):
        function(layout)


# ---- Matrices over the field of two elements


def test_matrices_evaluate_layouts() -> None:
    chance = random.Random(0)
    for _ in range(300):
        n = chance.randint(1, 6)
        strides = [1 << p for p in chance.sample(range(n + 2), n)]
        layout: Any = Layout((2,) * n, tuple(strides)) if n > 1 else Layout(2, strides[0])
        if chance.random() < 0.6:
            bits = chance.randint(0, 2)
            shift = chance.choice([1, -1]) * chance.randint(max(bits, 1), 3)
            layout = ComposedLayout(Swizzle(bits, chance.randint(0, 2), shift), 0, layout)
        matrix = f2_matrix(layout)
        for i in range(layout.size):
            bits_of = np.array([i >> c & 1 for c in range(matrix.shape[1])])
            value = sum(int(bit) << r for r, bit in enumerate(matrix @ bits_of % 2))
            assert value == layout(i)
        back = from_f2_matrix(matrix)
        assert functionally_equal(back, layout), (layout, back)


def test_layouts_without_a_matrix() -> None:
    with pytest.raises(LayoutError, match="no power of two"):
        f2_matrix("6:1")
    with pytest.raises(LayoutError, match=r"not linear over GF\(2\): at 3 it is 4, .* add up to 0"):
        f2_matrix(Layout((2, 2), (2, 2)))
    with pytest.raises(LayoutError, match="no swizzle of a layout"):
        from_f2_matrix([[1, 1, 1], [0, 1, 1], [0, 0, 1]])
    with pytest.raises(OperandError, match="integers 0 and 1"):
        from_f2_matrix([[2]])
    assert str(from_f2_matrix(np.zeros((1, 0)))) == "1:0"


# ---- Global memory


def by_hand(tv: Layout, bits: int, vector: int, warp: int, segment: int, offset: int) -> list[int]:
    threads, values = cl.size(tv, 0), cl.size(tv, 1)
    counts = []
    for first in range(0, threads, warp):
        for v in range(0, values, vector):
            touched = {
                (offset * 8 + tv(t, v + x) * bits + b) // 8 // segment
                for t in range(first, min(first + warp, threads))
                for x in range(vector)
                for b in range(bits)
            }
            counts.append(len(touched))
    return counts


@pytest.mark.parametrize(("dtype", "bits"), [("float", 32), ("half_t", 16), ("double", 64), ("int8_t", 8)])
@pytest.mark.parametrize(
    ("tv", "vector"),
    [("(32,4):(4,1)", 4), ("(32,4):(4,1)", 1), ("(64,2):(2,1)", 2), ("(32,3):(1,32)", 1), ("(48,1):(7,0)", 1)],
)
def test_segments_as_counted_by_hand(dtype: str, bits: int, tv: str, vector: int) -> None:
    layout = Layout(tv)
    for warp, segment, offset in ((32, 32, 0), (32, 128, 0), (64, 64, 16), (16, 32, 4)):
        found = coalescing(layout, dtype, vector=vector, warp=warp, segment=segment, offset=offset)
        assert list(found.by_instruction) == by_hand(layout, bits, vector, warp, segment, offset)
        assert found.segments == sum(found.by_instruction)
        assert 0 < found.efficiency <= 1


def test_the_threads_of_a_kernel_use_whole_segments() -> None:
    copy = make_tiled_copy(
        atoms.copy["UniversalCopy<uint128_t>"].atom("float"), Layout("(32,8):(1,32)"), Layout("(4,1)")
    )
    along_m = coalescing(copy.layout_src_tv, "float", gmem=Layout((128, 8), (1, 4096)), vector=4)
    assert along_m.efficiency == 1
    column = coalescing("(32,1):(1,0)", "float", gmem=Layout((32, 8), (8, 1)))
    assert (column.segments, column.efficiency) == (32, 0.125)


def test_what_is_far_apart_costs_nothing() -> None:
    assert not is_surjective("2:4000000000")
    assert not is_surjective("4:1", 3 * 2**30)
    assert len(aliases("(2,131072):(0,1)")) == 131072
    far = f2_matrix("4:1099511627776")
    assert str(from_f2_matrix(far)) == "(2,2):(1099511627776,2199023255552)"


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[1], [1, 0]], "expected a matrix: "),
        ([[2, 0], [0, 1]], "integers 0 and 1"),
        ([[0.5]], "integers 0 and 1"),
        (np.zeros((63, 1), int), "at most 62 rows"),
    ],
)
def test_what_is_no_matrix(matrix: Any, message: str) -> None:
    with pytest.raises(OperandError, match=message):
        from_f2_matrix(matrix)


def test_wrong_arguments() -> None:
    with pytest.raises(LayoutError, match="not contiguous"):
        coalescing("(4,2):(1,4)", "float", vector=2)
    with pytest.raises(LayoutError, match="divide into vectors"):
        coalescing("(4,3):(1,4)", "float", vector=2)
    with pytest.raises(LayoutError, match=r"maps \(thread, value\)"):
        coalescing("4:1", "float")
    with pytest.raises(OperandError, match="warp must be an integer, 1 or more"):
        coalescing("(4,2):(2,1)", "float", warp=0)
    with pytest.raises(LayoutError, match="does not have"):
        coalescing("(4,2):(2,1)", "float", gmem="4:1")
    for function in (image, is_injective, footprint, gaps, f2_matrix):
        with pytest.raises(LayoutError, match="gives coordinates"):
            function(cl.make_identity_layout((2, 3)))
        with pytest.raises(OperandError, match="expected a layout, not int"):
            function(3)
        with pytest.raises(LayoutError, match="are looked at"):
            function("(16384,16384)")
    assert image("(0,3)").tolist() == []
    assert is_injective(Layout(()))
    for size in (2.5, "a", -1, True):
        with pytest.raises(OperandError, match="size must be an integer"):
            is_surjective("4:1", size)  # type: ignore[arg-type]
    for layout in ("2:-1", "(2,2):(1,-2)"):
        with pytest.raises(LayoutError, match="goes below 0"):
            f2_matrix(layout)
    assert coalescing("(32,4):(4,1)", "float", vector=np.int64(4)).segments == 16
