"""Layouts at NumPy arrays of coordinates: what each element alone would give, or a refusal."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import cute_py.layout as cl
from cute_py import LayoutError
from cute_py.layout import ComposedLayout, Layout


def nested(rnd: random.Random, depth: int = 2) -> Any:
    """Return a random shape."""
    if depth == 0 or rnd.random() < 0.4:
        return rnd.randint(1, 5)
    return tuple(nested(rnd, depth - 1) for _ in range(rnd.randint(1, 3)))


def strides_for(rnd: random.Random, shape: Any) -> Any:
    return tuple(strides_for(rnd, s) for s in shape) if isinstance(shape, tuple) else rnd.randint(-9, 9)


def some_layouts() -> list[Layout | ComposedLayout]:
    rnd = random.Random(1)
    found: list[Layout | ComposedLayout] = []
    for number in range(300):
        shape = nested(rnd)
        layout = Layout(shape, strides_for(rnd, shape))
        if number % 3 == 1:
            shape = nested(rnd)
            found.append(ComposedLayout(cl.Swizzle(2, 0, 2), rnd.randint(0, 9), Layout(shape)))
        elif number % 3 == 2:
            found.append(cl.make_identity_layout(shape))
        else:
            found.append(layout)
    return found


def mixed_coordinate(rnd: random.Random, shape: Any, rows: int, columns: int) -> Any:
    """Return a coordinate with arrays that broadcast in the place of some integers."""
    if isinstance(shape, tuple) and rnd.random() < 0.8:
        return tuple(mixed_coordinate(rnd, s, rows, columns) for s in shape)
    size = int(cl.size(shape))
    kinds = [
        lambda: rnd.randrange(size),
        lambda: np.array([rnd.randrange(size) for _ in range(columns)]),
        lambda: np.array([[rnd.randrange(size)] for _ in range(rows)], np.int32),
    ]
    return rnd.choice(kinds)()


def at(coord: Any, place: tuple[int, int], whole: tuple[int, int]) -> Any:
    """Return the coordinate of plain integers that one element of the arrays makes."""
    if isinstance(coord, tuple):
        return tuple(at(c, place, whole) for c in coord)
    return int(np.broadcast_to(coord, whole)[place])


def element(value: Any, place: tuple[int, int], whole: tuple[int, int]) -> Any:
    if isinstance(value, tuple):
        return tuple(element(v, place, whole) for v in value)
    return int(np.broadcast_to(value, whole)[place])


def test_each_element_is_what_it_alone_would_give() -> None:
    rnd = random.Random(2)
    with_arrays = 0
    for layout in some_layouts():
        inner = layout.inner if isinstance(layout, ComposedLayout) else layout
        coord = mixed_coordinate(rnd, inner.shape, 2, 3)
        result = layout(coord)
        with_arrays += not isinstance(result, (int, tuple))
        for place in np.ndindex(2, 3):
            assert element(result, place, (2, 3)) == layout(at(coord, place, (2, 3))), (str(layout), coord)
    assert with_arrays > 100


def test_all_indices_at_once() -> None:
    for layout in some_layouts():
        size = int(cl.size(layout))
        found = layout(np.arange(size))
        expected = cl.layout_values(layout)
        assert [element(found, (0, i), (1, size)) for i in range(size)] == expected, str(layout)


def test_coordinates_of_many_indices() -> None:
    for layout in some_layouts():
        shape = cl.shape(layout)
        size = int(cl.size(layout))
        found = cl.idx2crd(np.arange(size), shape)
        for i in range(size):
            assert element(found, (0, i), (1, size)) == cl.idx2crd(i, shape)
        assert (cl.crd2idx(found, shape) == np.arange(size)).all(), shape


def test_an_index_for_each_mode_and_one_stride_for_all() -> None:
    found = cl.idx2crd((np.arange(3), 5), ((2, 2), 4), 1)
    assert [element(found, (0, i), (1, 3)) for i in range(3)] == [cl.idx2crd((i, 5), ((2, 2), 4), 1) for i in range(3)]
    assert cl.idx2crd(np.array([-5]), 4, -1).tolist() == [cl.idx2crd(-5, 4, -1)]


@pytest.mark.parametrize("layout", ["Sw<2,0,3> o 0 o (4,8):(8,1)", "(4,8):(8,1)"])
def test_an_array_without_axes_gives_one(layout: str) -> None:
    read = ComposedLayout(layout) if "o" in layout else Layout(layout)
    for coord in ((np.array(1), np.array(2)), (1, np.array(2)), np.array(9)):
        value = read(coord)
        plain = tuple(int(c) for c in coord) if isinstance(coord, tuple) else int(coord)
        assert (type(value), value.shape, int(value)) == (np.ndarray, (), read(plain))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Layout((4, 2, 2), (1, 2**62, 2**62))((np.arange(4), 1, 1)), "more than 55 bits"),
        (lambda: Layout((1,) * 1000, (2**54,) * 1000)(tuple(np.ones(1, int) for _ in range(1000))), "55 bits"),
        (lambda: ComposedLayout(f"Sw<2,0,3> o {2**63 - 1} o (4,8):(8,1)")(np.arange(3)), "more than 55 bits"),
        (lambda: cl.idx2crd(np.array([-(2**63)]), 4, -1), "more than 55 bits"),
        (lambda: cl.idx2crd(np.array([-(2**63)]), (2, 2), (1, -1)), "more than 55 bits"),
        (lambda: Layout("(4,8)")((np.arange(3), np.arange(4))), r"shapes \(3,\) and \(4,\) .* do not broadcast"),
        (lambda: cl.make_identity_layout((4, 4))((np.arange(3), np.ones(2))), "integers in its arrays, not float64"),
        (lambda: Layout("(0,4)")(np.array([3])), "has no coordinates"),
        (lambda: Layout(4)(np.ma.array([1, 2], mask=[0, 1])), "must not be a masked array"),
        (lambda: Layout("(4,8)")((None, np.arange(2))), "leaves no mode open"),
        (lambda: Layout("(4,8)")((np.arange(2), 1, 1)), "does not fit the shape"),
    ],
)
def test_refusals(call: Any, message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        call()


def test_beyond_the_last_mode() -> None:
    assert Layout("(4,0)")(np.arange(5)).tolist() == [Layout("(4,0)")(i) for i in range(5)]
    assert Layout("(0,4)")(np.zeros(0, int)).tolist() == []


def test_a_list_that_changes_while_it_is_read() -> None:
    grown: list[Any] = []

    class Clears:
        def __index__(self) -> int:
            grown.clear()
            return 1

    grown += [Clears(), *((i, i) for i in range(1, 4)), *[2] * 20]
    assert cl.size(grown) == 1 * 1 * 4 * 9 * 2**20

    class Array(np.ndarray):
        @property
        def shape(self) -> Any:
            grown.clear()
            return (4,)

    grown += [np.arange(4).view(Array), 1]
    assert Layout("(4,8)")(grown).tolist() == [4, 5, 6, 7]
