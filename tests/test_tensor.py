"""Tensors: arrays and coordinates seen through layouts agree with NumPy's own indexing."""

from __future__ import annotations

import gc
import itertools
import pickle
import weakref
from collections.abc import Callable
from copy import copy as shallow_copy
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

import cute_py
import cute_py.layout as cl
from cute_py import LayoutError, OperandError
from cute_py.layout import ComposedLayout, Layout, LayoutRight, Swizzle
from cute_py.layout.tensor import (
    Tensor,
    copy,
    domain_offset,
    local_partition,
    local_tile,
    make_counting_tensor,
    make_fragment_like,
    make_identity_tensor,
    make_tensor,
    make_tensor_like,
    recast,
)
from pace import takes_under
from problems import parameter_name

ARRAYS: dict[str, Callable[[], np.ndarray[Any, Any]]] = {
    "C order": lambda: np.arange(24.0).reshape(4, 6),
    "F order": lambda: np.asfortranarray(np.arange(24.0).reshape(4, 6)),
    "vector": lambda: np.arange(5),
    "three axes": lambda: np.arange(24).reshape(2, 3, 4),
    "axes swapped": lambda: np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1),
    "backwards": lambda: np.arange(24.0).reshape(4, 6)[::-1],
    "backwards twice": lambda: np.arange(24.0).reshape(4, 6)[::-1, ::-2],
    "every other": lambda: np.arange(48.0).reshape(8, 6)[::2, 1::2],
    "padded": lambda: np.arange(64.0).reshape(8, 8)[:6, :5],
    "broadcast": lambda: np.broadcast_to(np.arange(4.0), (3, 4)),
    "broadcast columns": lambda: np.broadcast_to(np.arange(4.0)[:, None], (4, 3)),
    "one element": lambda: np.full((1, 1), 7.0),
    "float16": lambda: np.arange(12, dtype="f2").reshape(3, 4),
    "float32": lambda: np.arange(12, dtype="f4").reshape(3, 4),
    "int8": lambda: np.arange(12, dtype="i1").reshape(3, 4),
    "uint64": lambda: np.arange(12, dtype="u8").reshape(3, 4) + 2**63,
    "bool": lambda: np.eye(3, 4, dtype=bool),
    "complex64": lambda: (np.arange(12) * (1 + 2j)).astype("c8").reshape(3, 4),
    "complex128": lambda: (np.arange(12) * (1 + 2j)).reshape(3, 4),
    "big endian": lambda: np.arange(12, dtype=">f4").reshape(3, 4),
    "a field": lambda: np.array([(1, 2.0), (3, 4.0)], [("x", "f8"), ("y", "f8")])["y"],
}
WRITABLE = [name for name in ARRAYS if not name.startswith("broadcast")]


def every(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    return list(itertools.product(*map(range, shape)))


# ---- Elements


@pytest.mark.parametrize("name", ARRAYS)
def test_elements(name: str) -> None:
    array = ARRAYS[name]()
    tensor = make_tensor(array)
    assert tensor.source is array
    assert tensor.dtype == array.dtype
    assert tensor.shape == array.shape
    assert tensor.stride == tuple(s // array.itemsize for s in array.strides)
    assert (tensor.rank, tensor.size) == (array.ndim, array.size)
    for index in every(array.shape):
        assert tensor(*index) == tensor[index] == array[index]
        assert type(tensor[index]) is type(array[index])
    assert [tensor(i) for i in range(tensor.size)] == array.ravel(order="F").tolist()


@pytest.mark.parametrize("name", WRITABLE)
def test_assignment(name: str) -> None:
    array, expected = ARRAYS[name](), ARRAYS[name]()
    tensor = make_tensor(array)
    for number, index in enumerate(every(array.shape)):
        tensor[index] = number % 2
        expected[index] = number % 2
        assert (array == expected).all()


def test_an_array_without_axes_is_one_element() -> None:
    array = np.array(3.0)
    tensor = make_tensor(array)
    assert (tensor(0), tensor.size) == (3.0, 1)
    tensor[0] = 5
    assert array == 5
    assert np.shares_memory(tensor.numpy(), array)


@pytest.mark.parametrize("name", ARRAYS)
def test_numpy_gives_the_same_view(name: str) -> None:
    array = ARRAYS[name]()
    view = make_tensor(array).numpy()
    assert view.shape == array.shape
    assert view.dtype == array.dtype
    assert (view == array).all()
    assert np.shares_memory(view, array)
    assert view.flags.writeable == array.flags.writeable
    assert (np.asarray(make_tensor(array)) == array).all()
    copied = make_tensor(array).numpy(copy=True)
    assert (copied == array).all()
    assert not np.shares_memory(copied, array)


@pytest.mark.parametrize("name", ["broadcast", "read-only"])
def test_read_only_arrays_stay_so(name: str) -> None:
    array = np.arange(12.0).reshape(3, 4) if name == "read-only" else ARRAYS[name]()
    array.flags.writeable = False
    tensor, before = make_tensor(array), array.copy()
    for assign in (lambda: tensor.__setitem__((0, 0), 9.0), lambda: tensor.__setitem__((None, 0), 9.0)):
        with pytest.raises(OperandError, match="read-only"):
            assign()
    with pytest.raises(OperandError, match="read-only"):
        copy(make_tensor(np.ones(array.size)), tensor)
    assert not tensor.numpy().flags.writeable
    assert not tensor(None, 0).numpy().flags.writeable
    assert (array == before).all()


def test_the_array_is_kept_alive() -> None:
    tensor = make_tensor(np.arange(1000.0))(None)
    view = make_tensor(np.arange(1000.0)).numpy()
    junk = [np.ones(1000) for _ in range(50)]
    assert [tensor(i) for i in range(1000)] == list(range(1000))
    assert view.tolist() == list(range(1000))
    del junk


@pytest.mark.parametrize(
    "coord",
    [4, -1, (0, 6), (4, 0), (-1, 0), (0,), (0, 0, 0), ((0, 0), 0), 1.5, "x", "(0,0)", True, (0, 1.5), object(), slice(0, 2),
     (slice(1, None), 0), (0, "x"), {}, (Layout(4), 0), ...],
    ids=parameter_name,
)  # fmt: skip
def test_coordinates_outside_of_the_tensor(coord: Any) -> None:
    tensor = make_tensor(np.arange(4)) if isinstance(coord, int) else make_tensor(np.arange(24.0).reshape(4, 6))
    with pytest.raises(LayoutError, match="coord"):
        tensor[coord]
    with pytest.raises(LayoutError, match="coord"):
        tensor[coord] = 1


@pytest.mark.parametrize(
    "coord", [(None, 6), (None, -1), (None, (0, 0)), (None, 0, 0), (None, 1.5), (4, None)], ids=str
)
def test_slices_outside_of_the_tensor(coord: Any) -> None:
    tensor = make_tensor(np.arange(24.0).reshape(4, 6))
    with pytest.raises(LayoutError, match="coord"):
        tensor[coord]
    swizzled = make_tensor(np.arange(32.0), cl.composition(Swizzle(1, 1, 2), Layout((4, 6))))
    with pytest.raises(LayoutError, match="coord"):
        swizzled[coord]


def test_a_tensor_can_be_iterated_over_or_says_that_it_cannot() -> None:
    try:
        elements = iter(make_tensor(np.arange(4)))
    except TypeError:
        return
    assert list(elements) == [0, 1, 2, 3]


# ---- Slices


@pytest.mark.parametrize("name", ["C order", "F order", "backwards twice", "padded", "every other"])
def test_slices(name: str) -> None:
    array = ARRAYS[name]()
    tensor = make_tensor(array)
    for i in range(array.shape[0]):
        assert (tensor(i, None).numpy() == array[i]).all()
        assert np.shares_memory(tensor(i, None).numpy(), array)
    for j in range(array.shape[1]):
        assert (tensor[None, j].numpy() == array[:, j]).all()
    assert (tensor(None, None).numpy() == array).all()
    assert (tensor(None).numpy() == array).all()
    assert isinstance(tensor(None, 0), Tensor)


def test_slices_of_slices() -> None:
    array = np.arange(120).reshape(4, 5, 6)
    tensor = make_tensor(array)
    assert (tensor(None, 2, None)(1, None).numpy() == array[1, 2]).all()
    assert tensor(None, 2, None)(1, None)(3) == array[1, 2, 3]


def test_assignment_to_slices() -> None:
    array = np.zeros((4, 6))
    tensor = make_tensor(array)
    tensor[None, 2] = 5
    tensor[1, None] = make_tensor(np.arange(6.0))
    expected = np.zeros((4, 6))
    expected[:, 2] = 5
    expected[1] = np.arange(6.0)
    assert (array == expected).all()
    with pytest.raises(LayoutError, match=r"copy: .*6 elements.* 4"):
        tensor[None, 0] = make_tensor(np.arange(6.0))


def test_hierarchical_coordinates() -> None:
    array = np.arange(24)
    tensor = make_tensor(array, "((2,2),(3,2)):((1,4),(8,2))")
    for (a, b), (c, d) in itertools.product(every((2, 2)), every((3, 2))):
        expected = array[a + 4 * b + 8 * c + 2 * d]
        assert tensor((a, b), (c, d)) == expected
        assert tensor(a + 2 * b, c + 3 * d) == expected
        assert tensor(a + 2 * b + 4 * (c + 3 * d)) == expected
        assert tensor((None, b), (c, None))(a, d) == expected
        assert tensor((None, b), c + 3 * d)(a) == expected


# ---- Layouts over arrays


def test_a_layout_counts_from_the_first_element() -> None:
    array = np.arange(24.0)
    tensor = make_tensor(array, Layout((4, 6), LayoutRight))
    assert (tensor.numpy() == array.reshape(4, 6)).all()
    assert (make_tensor(array, (4, 6)).numpy() == array.reshape(4, 6, order="F")).all()
    assert (make_tensor(array, "(4,6):(6,1)").numpy() == array.reshape(4, 6)).all()
    assert (make_tensor(array, shape=(4, 6), stride=(6, 1)).numpy() == array.reshape(4, 6)).all()
    assert make_tensor(array[::-1], Layout(24, -1))(5) == array[::-1][5]


@pytest.mark.parametrize(
    ("array", "layout"),
    [
        (np.zeros(24), Layout(25)),
        (np.zeros(24), Layout((4, 6), (7, 1))),
        (np.zeros(24), Layout(2, -1)),
        (np.zeros(24), Layout(3, 12)),
        (np.zeros(24)[::-1], Layout(24)),
        (np.zeros((4, 6))[:3], Layout((4, 6), (6, 1))),
        (np.zeros(70_000), cl.composition(Swizzle(1, 4, 3), Layout(140_000))),
        (np.zeros(70_000), cl.make_composed_layout(Layout(140_000), 0, Layout(140_000))),
        (np.zeros(22), cl.composition(Swizzle(2, 0, 3), Layout(22))),
        (np.zeros(24), cl.make_composed_layout(Layout(24, -1), 0, Layout(24))),
        (np.zeros(4), cl.make_identity_layout((2, 2))),
        (np.zeros(4), cl.make_composed_layout(cl.make_identity_layout((2, 2)), 0, Layout(4))),
    ],
    ids=lambda value: str(value) if isinstance(value, (Layout, cl.ComposedLayout)) else f"{value.size}",
)  # fmt: skip
def test_layouts_that_leave_the_array(array: Any, layout: Any) -> None:
    with pytest.raises(LayoutError, match=r"tensor: .*array"):
        make_tensor(array, layout)


BEYOND: dict[str, Callable[[Tensor], Tensor]] = {
    "composition": lambda t: cl.composition(t, Layout(100_000)),
    "compose": lambda t: t.compose(Layout(2, 64)),
    "a layout with an offset": lambda t: t.with_layout(cl.make_composed_layout(Swizzle(1, 1, 2), 64, Layout(64))),
    "product": lambda t: cl.logical_product(t, 2),
    "append": lambda t: cl.append(t, 2, Layout(2, 64)),
    "downcast": lambda t: t.with_layout(cl.downcast(t.layout, 2)),
    "negative": lambda t: t.with_layout(Layout(4, -1)),
    "ragged": lambda t: cl.zipped_divide(t, 10),
}


@pytest.mark.parametrize("outer", [Swizzle(1, 1, 2), None], ids=str)
@pytest.mark.parametrize("how", BEYOND)
def test_elements_beyond_the_array_are_refused_when_they_are_touched(how: str, outer: Any) -> None:
    array = np.arange(192.0)
    inside = array[64:128]
    layout = Layout(64) if outer is None else cl.composition(outer, Layout(64))
    tensor = BEYOND[how](make_tensor(inside, layout))
    before = array.copy()
    touched = refused = 0
    for i in [*range(min(tensor.size, 200)), tensor.size - 1]:
        index = tensor.layout(i)
        if 0 <= index < 64:
            assert tensor(i) == 64 + index
            touched += 1
            continue
        refused += 1
        message = rf"tensor: the coordinate {i} of .* has the index {index}, the array has 0 to 63; next: .*elem_less"
        with pytest.raises(LayoutError, match=message):
            tensor(i)
        with pytest.raises(LayoutError, match=message):
            tensor[i] = -1
    assert refused
    if tensor.size < 1000:
        reach = r"reaches the elements .* of an array that has 0 to 63; next: .*elem_less"
        everything = (None,) * tensor.rank if tensor.rank > 1 else None
        for touch in (
            lambda: tensor.numpy(copy=True),
            lambda: tensor.numpy(flat_modes=True),
            lambda: tensor.__setitem__(everything, 5.0),
            lambda: copy(tensor, make_tensor(np.zeros(tensor.size))),
            lambda: copy(make_tensor(np.zeros(tensor.size)), tensor),
            lambda: np.asarray(tensor),
        ):
            with pytest.raises(LayoutError, match=reach):
                touch()
    assert (array == before).all()


def test_what_gives_coordinates_does_not_go_over_memory() -> None:
    with pytest.raises(LayoutError, match="gives coordinates, an array needs indices; next: make_tensor"):
        make_tensor(np.zeros(4)).with_layout(cl.make_identity_layout((2, 2)))


@pytest.mark.parametrize("shape", [(5, 7), (8, 4), (3, 3), (9, 1)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_cute_s_predication_of_a_ragged_matrix(shape: tuple[int, int], order: Any) -> None:
    array = np.arange(1.0, 1 + shape[0] * shape[1]).reshape(shape, order=order)
    mA, cA = make_tensor(array), make_identity_tensor(shape)
    seen = np.zeros(shape)
    tiles = cl.ceil_div(shape, (4, 2))
    for block in every(tiles):
        gA, gcA = local_tile(mA, (4, 2), block), local_tile(cA, (4, 2), block)
        for thread in range(4):
            tA, tcA = local_partition(gA, (2, 2), thread), local_partition(gcA, (2, 2), thread)
            for i in range(tA.size):
                if cl.elem_less(tcA(i), cl.shape(mA)):
                    assert tA(i) == array[tcA(i)]
                    seen[tcA(i)] += tA(i)
                    tA[i] = -tA(i)
    assert (seen == abs(array)).all()
    assert (array < 0).all()


def test_random_tensors_stay_inside_of_their_array() -> None:
    """Every access of a random tensor, and its copies, inside of guard bands."""
    rng = np.random.default_rng(7)
    inside_count = outside_count = 0
    for _ in range(300):
        storage = np.arange(4000.0)
        rows, columns = (int(n) for n in rng.integers(1, 12, 2))
        whole = storage[1000:3000][: rows * columns * 6].reshape(rows * 2, columns * 3)
        array = whole[:: rng.choice([1, 2, -1, -2]), :: rng.choice([1, 3, -1])]
        flat = np.flatnonzero(np.isin(storage, array))
        low, high = int(flat.min()), int(flat.max())
        first = int(array.flat[0])
        tensor = make_tensor(array)
        for _ in range(int(rng.integers(1, 4))):
            step = rng.integers(0, 6)
            try:
                if step == 0:
                    tensor = cl.zipped_divide(tensor, tuple(int(t) for t in rng.integers(1, 7, min(tensor.rank, 2))))
                elif step == 1:
                    tensor = cl.composition(tensor, Layout(int(rng.integers(1, 40)), int(rng.integers(-3, 9))))
                elif step == 2:
                    size = min(cl.size(tensor.layout, 0), 9)
                    tensor = (
                        tensor[(int(rng.integers(0, size)), *(None,) * (tensor.rank - 1))]
                        if tensor.rank > 1
                        else tensor
                    )
                elif step == 3:
                    swizzle = Swizzle(int(rng.integers(0, 3)), int(rng.integers(0, 3)), 3)
                    tensor = tensor.with_layout(
                        cl.make_composed_layout(swizzle, int(rng.integers(-50, 50)), tensor.layout)
                    )
                elif step == 4:
                    tensor = cl.append(
                        tensor, tensor.rank + 1, Layout(int(rng.integers(1, 4)), int(rng.integers(-99, 99)))
                    )
                else:
                    tensor = cl.logical_product(tensor, int(rng.integers(1, 4)))
            except LayoutError:
                continue
        indices = [tensor.offset + tensor.layout(i) for i in range(min(tensor.size, 300))]
        all_inside = tensor.size <= 300 and all(low <= first + i <= high for i in indices)
        before = storage.copy()
        for i, index in enumerate(indices):
            if low <= first + index <= high:
                inside_count += 1
                assert tensor(i) == storage[first + index]
                tensor[i] = 0.5
                before[first + index] = 0.5
            else:
                outside_count += 1
                with pytest.raises(LayoutError, match="has the index"):
                    tensor(i)
                with pytest.raises(LayoutError, match="has the index"):
                    tensor[i] = 0.5
        assert (storage == before).all()
        if tensor.size > 300:
            continue
        if all_inside:
            assert tensor.numpy(copy=True).ravel(order="F").tolist() == [storage[first + i] for i in indices]
            values = np.arange(float(tensor.size))
            copy(make_tensor(values), tensor)
            for i, value in zip(indices, values, strict=True):
                before[first + i] = value
        else:
            with pytest.raises(LayoutError, match="reaches"):
                tensor.numpy(copy=True)
            with pytest.raises(LayoutError, match="reaches"):
                copy(make_tensor(np.zeros(tensor.size)), tensor)
        assert (storage == before).all()
    assert inside_count > 2000
    assert outside_count > 500


# ---- Copies of tensors

COPIED: dict[str, Callable[[], Tensor]] = {
    "an array": lambda: make_tensor(np.arange(48.0).reshape(8, 6)),
    "a slice of a larger one": lambda: make_tensor(np.arange(96.0).reshape(12, 8)[2:10:2, 1:7]),
    "backwards": lambda: make_tensor(np.arange(48.0).reshape(8, 6)[::-1, ::-2]),
    "a row of it": lambda: make_tensor(np.arange(48.0).reshape(8, 6)[::-1])(2, None),
    "a tile": lambda: local_tile(make_tensor(np.arange(48).reshape(8, 6)), (4, 2), (1, 2)),
    "broadcast": lambda: make_tensor(np.broadcast_to(np.arange(4.0), (3, 4))),
    "swizzled": lambda: make_tensor(np.arange(32.0), cl.composition(Swizzle(1, 1, 2), Layout((4, 8)))),
    "one element": lambda: make_tensor(np.array(7.0)),
    "padding in between": lambda: make_tensor(np.arange(64.0).reshape(8, 8)[:6, :5], "(5,6):(8,1)"),
}
COPIES: dict[str, Callable[[Any], Any]] = {
    "deepcopy": deepcopy,
    **{f"pickle {p}": (lambda t, p=p: pickle.loads(pickle.dumps(t, p))) for p in range(pickle.HIGHEST_PROTOCOL + 1)},
}


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("name", COPIED)
def test_a_copy_owns_all_its_memory(name: str, how: str) -> None:
    tensor = COPIED[name]()
    values = [tensor(i) for i in range(tensor.size)]
    copied = COPIES[how](tensor)
    assert (copied.layout, copied.offset, copied.dtype) == (tensor.layout, tensor.offset, tensor.dtype)
    assert [copied(i) for i in range(copied.size)] == values
    assert not np.shares_memory(copied._memory.line(), tensor._memory.line())
    owner = copied.source
    while getattr(owner, "base", None) is not None:
        owner = owner.base
    span = copied._memory.high - copied._memory.low + 1
    assert memoryview(owner).nbytes == span * tensor.dtype.itemsize
    for i in range(copied.size):
        copied[i] = -1 - i % 2
    assert [tensor(i) for i in range(tensor.size)] == values
    again = COPIES[how](copied)
    assert [again(i) for i in range(again.size)] == [copied(i) for i in range(again.size)]


def test_copies_of_tensors_share_as_the_tensors_do() -> None:
    array = np.zeros((4, 6))
    tensor = make_tensor(array)
    shallow = shallow_copy(tensor)
    shallow[0, 0] = 1
    assert array[0, 0] == 1
    assert shallow.source is array
    whole, row, array_copy = deepcopy((tensor, tensor(1, None), array))
    row[2] = 5
    assert whole(1, 2) == 5
    assert array_copy[1, 2] == array[1, 2] == 0
    whole, row = pickle.loads(pickle.dumps((tensor, tensor(1, None))))
    row[3] = 7
    assert whole(1, 3) == 7
    counting, coordinates = deepcopy((make_tensor("(4,2):(2,9)"), make_identity_tensor((3, 4))(2, None)))
    assert counting(3, 1) == 15
    assert coordinates(3) == (2, 3)


def test_a_large_copy_is_written_inside() -> None:
    copied = deepcopy(make_tensor(np.zeros((500, 500))))
    for i in range(0, 250_000, 499):
        copied[i] = 1.0
    assert copied.numpy().sum() == len(range(0, 250_000, 499))


def test_a_broken_copy_is_refused() -> None:
    rebuild, arguments = make_tensor(np.arange(6.0).reshape(2, 3))._memory.__reduce__()
    for changed in (
        (arguments[0], 0, (2, 4), (3, 1)),
        (arguments[0], 1, (2, 3), (3, 1)),
        (arguments[0], 0, (2, 3), (-3, 1)),
        (arguments[0], 0, (0, 3), (3, 1)),
        (np.arange(12.0)[::2], 0, (2, 3), (3, 1)),
    ):
        with pytest.raises(OperandError, match="is no layout of 6 copied elements"):
            rebuild(*changed)


class Marked(np.ndarray):  # type: ignore[type-arg]
    """An array that can refer to something."""


@pytest.mark.parametrize("part", [lambda t: t, lambda t: t(1, None), lambda t: local_tile(t, (2, 2), (0, 0))])
def test_tensors_in_cycles_are_collected(part: Callable[[Tensor], Tensor]) -> None:
    array = np.zeros((4, 4)).view(Marked)
    array.tensor = part(make_tensor(array))  # type: ignore[attr-defined]
    array.tensor.numpy()  # type: ignore[attr-defined]
    dead = weakref.ref(array)
    del array
    gc.collect()
    assert dead() is None


def test_arrays_of_objects_are_refused() -> None:
    for array in (np.array([None, 1]), np.array([(1.0, "x")], [("x", "f8"), ("y", "O")])["y"]):
        with pytest.raises(OperandError, match=r"holds Python objects; next"):
            make_tensor(array)


def test_wrong_arguments_of_make_tensor() -> None:
    array = np.zeros(4)
    for value in ([1, 2], 5, None, 1.5, object(), {}, "4.5"):
        with pytest.raises((OperandError, LayoutError), match=r"make_tensor|cannot read"):
            make_tensor(value)
    for layout in (1.5, object(), {}, True, "x", (0, -4), ((),)):
        with pytest.raises(LayoutError):
            make_tensor(array, layout)
    with pytest.raises(LayoutError, match="not both"):
        make_tensor(array, Layout(4), shape=4)
    with pytest.raises(LayoutError, match="one layout"):
        make_tensor(Layout(4), Layout(4))
    with pytest.raises(LayoutError, match=r"make_tensor: .*stride"):
        make_tensor(array, stride=(2,))
    with pytest.raises(OperandError, match="no multiples of its 8 bytes"):
        make_tensor(np.zeros(4, [("x", "i4"), ("y", "f8")])["y"])
    with pytest.raises((OperandError, LayoutError)):
        make_tensor(np.zeros(4, np.dtype([])))
    for name in ("i4,,", "U0", "quad_t"):
        with pytest.raises(OperandError, match="is no element type"):
            make_tensor(name, 4)
    with pytest.raises(LayoutError, match="elements of <U1000000, 536 is the most"):
        make_tensor("U1000000", 2**28)
    with pytest.raises(OperandError, match="mask would be lost"):
        make_tensor(np.ma.array([1, 2], mask=[0, 1]))
    with pytest.raises(OperandError, match=r"^make_fragment_like: 5 is no element type"):
        make_fragment_like(make_tensor(np.zeros(4)), 5)
    with pytest.raises(LayoutError, match='cannot read "<4:1>": a tiler,'):
        Layout("<4:1>")


def test_an_array_without_elements() -> None:
    for shape in ((4, 0), (0,), (0, 3, 2)):
        tensor = make_tensor(np.zeros(shape))
        assert tensor.size == 0
        assert tensor.numpy().shape == shape
        assert tensor.numpy(copy=True).shape == shape
        copy(tensor, make_tensor("float64", shape))
        assert pickle.loads(pickle.dumps(tensor)).numpy().shape == shape
        with pytest.raises(LayoutError, match="outside"):
            tensor[(0,) * tensor.rank if tensor.rank > 1 else 0]
    assert make_tensor(np.zeros(4), (0, 4)).size == 0


def test_a_layout_alone_counts() -> None:
    tensor = make_tensor(Layout((4, 6), LayoutRight))
    assert tensor.numpy().tolist() == np.arange(24).reshape(4, 6).tolist()
    assert tensor.dtype is None
    assert tensor.source is None
    assert tensor(1, None)(2) == 8
    assert make_tensor("(4,6):(6,1)").layout == tensor.layout
    assert make_tensor("4").size == 4
    with pytest.raises(OperandError, match="cannot be assigned"):
        tensor[0, 0] = 1


# ---- Views


def test_a_mode_without_one_stride_is_no_axis() -> None:
    array = np.arange(24)
    tensor = make_tensor(array, "((2,2),3):((1,4),8)")
    with pytest.raises(
        LayoutError, match=r"mode 0, \(2,2\):\(1,4\); next: numpy\(flat_modes=True\).*numpy\(copy=True\)"
    ):
        tensor.numpy()
    flat = tensor.numpy(flat_modes=True)
    assert flat.shape == (2, 2, 3)
    assert np.shares_memory(flat, array)
    for (a, b), c in itertools.product(every((2, 2)), range(3)):
        assert flat[a, b, c] == tensor((a, b), c)
    copied = tensor.numpy(copy=True)
    assert copied.tolist() == [[tensor(i, j) for j in range(3)] for i in range(4)]
    flat[1, 1, 2] = -1
    assert array[21] == -1


def test_a_mode_that_coalesces_is_an_axis() -> None:
    array = np.arange(24)
    view = make_tensor(array, "((2,2),(3,1)):((1,2),(4,5))").numpy()
    assert (view == array[:12].reshape(4, 3, order="F")).all()
    assert np.shares_memory(view, array)


def test_a_swizzled_tensor_has_no_view() -> None:
    array = np.arange(32.0)
    layout = cl.composition(Swizzle(1, 1, 2), Layout((4, 8)))
    tensor = make_tensor(array, layout)
    with pytest.raises(LayoutError, match=r"swizzled.*numpy\(copy=True\)"):
        tensor.numpy()
    assert tensor.numpy(copy=True).tolist() == [[array[layout(i, j)] for j in range(8)] for i in range(4)]
    with pytest.raises(LayoutError, match="no strides"):
        tensor.stride  # noqa: B018
    for i in range(4):
        for j in range(8):
            assert tensor(i, j) == tensor(i, None)(j) == tensor(None, j)(i) == array[layout(i, j)]


# ---- Tiles and partitions


@pytest.mark.parametrize("order", ["C", "F"])
def test_local_tile(order: Any) -> None:
    array = np.arange(96.0).reshape(8, 12, order=order)
    tensor = make_tensor(array)
    blocks = array.reshape(2, 4, 4, 3).transpose(0, 2, 1, 3)
    for i, j in every((2, 4)):
        tile = local_tile(tensor, (4, 3), (i, j))
        assert (tile.numpy() == blocks[i, j]).all()
        assert np.shares_memory(tile.numpy(), array)
    for i in range(2):
        tiles = local_tile(tensor, (4, 3), (i, None))
        assert tiles.shape == (4, 3, 4)
        assert (tiles.numpy() == blocks[i].transpose(1, 2, 0)).all()
        assert local_tile(tensor, (4, 3), (i,)).layout == tiles.layout
    assert (local_tile(tensor, (4, 3), 5).numpy() == blocks[1, 2]).all()
    projected = local_tile(tensor, (4, 99, 3), (1, 7, None), (1, None, 1))
    assert (projected.numpy() == blocks[1].transpose(1, 2, 0)).all()


@pytest.mark.parametrize("threads", [Layout((2, 3)), Layout((2, 3), LayoutRight), (2, 3)], ids=str)
def test_local_partition(threads: Any) -> None:
    array = np.arange(96.0).reshape(8, 12)
    layout = threads if isinstance(threads, Layout) else Layout(threads)
    for i, j in every((2, 3)):
        part = local_partition(make_tensor(array), threads, layout(i, j))
        assert (part.numpy() == array[i::2, j::3]).all()
        assert np.shares_memory(part.numpy(), array)
    for thread in (-1, 6, 1.5, "x", None, True):
        with pytest.raises(LayoutError, match="local_partition"):
            local_partition(make_tensor(array), threads, thread)


def test_zipped_divide_of_a_tensor() -> None:
    array = np.arange(96.0).reshape(8, 12)
    tensor = make_tensor(array)
    divided = cl.zipped_divide(tensor, (4, 3))
    assert isinstance(divided, Tensor)
    for (a, b), (i, j) in itertools.product(every((4, 3)), every((2, 4))):
        assert divided((a, b), (i, j)) == array[4 * i + a, 3 * j + b]
    flat = cl.flat_divide(tensor, (4, 3)).numpy()
    assert (flat == array.reshape(2, 4, 4, 3).transpose(1, 3, 0, 2)).all()
    assert (cl.composition(tensor, (2, None)).numpy() == array[:2]).all()
    assert cl.group(tensor, 0, 2).shape == ((8, 12),)
    assert (cl.select(tensor, 1, 0).numpy() == array.T).all()
    assert (cl.get(tensor, 1).numpy() == array[0]).all()
    assert (cl.flatten(divided).numpy() == flat.transpose(0, 1, 2, 3)).all()
    assert cl.coalesce(make_tensor(np.asfortranarray(array))).shape == 96
    assert (cl.size(tensor), cl.rank(tensor), cl.shape(tensor)) == (96, 2, (8, 12))


@pytest.mark.parametrize("k_major", [False, True])
def test_the_partitioning_of_cute_s_tutorial(k_major: bool) -> None:
    """mA -> gA -> tAgA and tAsA, and the compute partition of a tile by rows."""
    array = np.arange(256 * 24.0).reshape(256, 24, order="C" if k_major else "F")
    mA = make_tensor(array)  # (M,K)
    tA = Layout((32, 8), LayoutRight) if k_major else Layout((32, 8))
    tC = Layout((16, 16))
    for block in range(2):
        gA = local_tile(mA, (128, 128, 8), (block, 0, None), (1, None, 1))  # (BLK_M,BLK_K,k)
        assert gA.shape == (128, 8, 3)
        for thread in (0, 1, 7, 31, 32, 77, 128, 255):
            m, k = divmod(thread, 8) if k_major else (thread % 32, thread // 32)
            tAgA = local_partition(gA, tA, thread)  # (THR_M,THR_K,k)
            assert tAgA.shape == (4, 1, 3)
            expected = array[128 * block : 128 * (block + 1)].reshape(4, 32, 3, 8)[:, m, :, k]
            assert (tAgA.numpy()[:, 0] == expected).all()
            tCgA = local_partition(gA(None, None, 0), tC, thread, (1, None))  # (THR_M,BLK_K)
            assert tCgA.shape == (8, 8)
            assert (tCgA.numpy() == array[128 * block + thread % 16 : 128 * (block + 1) : 16, :8]).all()
            tCgB = local_partition(gA(None, None, 0), tC, thread, (None, 1))  # (THR_N,BLK_K)
            assert (tCgB.numpy() == array[128 * block + thread // 16 : 128 * (block + 1) : 16, :8]).all()


def test_tiles_of_layouts_come_with_their_offset() -> None:
    layout = Layout((8, 12), LayoutRight)
    part, offset = local_tile(layout, (4, 3), (1, 2))
    assert (part, offset) == (Layout((4, 3), (12, 1)), 54)
    part, offset = local_partition(layout, (2, 3), 5)
    assert [[part(i, j) + offset for j in range(4)] for i in range(4)] == np.arange(96).reshape(8, 12)[
        1::2, 2::3
    ].tolist()


@pytest.mark.parametrize("swizzle", [Swizzle(1, 1, 2), Swizzle(2, 0, 3), Swizzle(3, 0, 3)], ids=str)
def test_tiles_of_swizzled_tensors(swizzle: Swizzle) -> None:
    array = np.arange(64)
    layout = cl.composition(swizzle, Layout((8, 8)))
    tensor = make_tensor(array, layout)
    for i, j in every((2, 4)):
        tile = local_tile(tensor, (4, 2), (i, j))
        assert [tile(a, b) for a, b in every((4, 2))] == [array[layout(4 * i + a, 2 * j + b)] for a, b in every((4, 2))]
    for thread in range(8):
        part = local_partition(tensor, (4, 2), thread)
        m, n = thread % 4, thread // 4
        assert [part(a, b) for a, b in every((2, 4))] == [array[layout(m + 4 * a, n + 2 * b)] for a, b in every((2, 4))]


# ---- Coordinates


def test_an_identity_tensor_is_a_predicate() -> None:
    m, k = 50, 21
    identity = make_identity_tensor((64, 24))
    array = np.arange(m * k).reshape(m, k)
    seen = np.zeros((m, k), int)
    for i, j in every((2, 3)):
        cA = local_tile(identity, (32, 8), (i, j))
        for thread in range(64):
            tAcA = local_partition(cA, Layout((16, 4)), thread)
            for c in range(tAcA.size):
                row, column = tAcA(c)
                assert (row % 16, column % 4) == (thread % 16, thread // 16)
                if row < m and column < k:
                    seen[row, column] += array[row, column] >= 0
    assert (seen == 1).all()


def test_coordinates_are_counted_from_where_the_tensor_starts() -> None:
    identity = make_identity_tensor((8, (2, 3)))
    assert identity(3, (1, 2)) == (3, (1, 2))
    assert identity(None, 3).offset == (0, (1, 1))
    assert identity(None, 3)(5) == (5, (1, 1))
    assert make_identity_tensor((4, 5)).numpy().tolist() == [[(i, j) for j in range(5)] for i in range(4)]
    with pytest.raises(OperandError, match="cannot be assigned"):
        identity[0] = 1


# ---- Copies


def test_copy_goes_by_coordinates() -> None:
    source, destination = np.arange(24.0).reshape(4, 6), np.zeros((4, 6), order="F")
    copy(make_tensor(source), make_tensor(destination))
    assert (source == destination).all()
    flat = np.zeros(24, "f4")
    copy(make_tensor(source), make_tensor(flat))
    assert (flat == source.ravel(order="F")).all()
    swizzled = np.zeros(32)
    layout = cl.composition(Swizzle(1, 1, 2), Layout((4, 6)))
    copy(make_tensor(source), make_tensor(swizzled, layout))
    assert all(swizzled[layout(i, j)] == source[i, j] for i, j in every((4, 6)))


def test_copy_of_overlapping_tensors_reads_first() -> None:
    array = np.arange(8)
    copy(make_tensor(array[:-1]), make_tensor(array[1:]))
    assert array.tolist() == [0, 0, 1, 2, 3, 4, 5, 6]


def test_copy_refuses() -> None:
    array = np.zeros(4)
    with pytest.raises(LayoutError, match=r"copy: .*4 elements.* 3"):
        copy(make_tensor(array), make_tensor(np.zeros(3)))
    with pytest.raises(OperandError, match="cannot be assigned"):
        copy(make_tensor(array), make_tensor(Layout(4)))
    for source, destination in ((array, make_tensor(array)), (make_tensor(array), array), (None, None)):
        with pytest.raises(OperandError, match="copy"):
            copy(source, destination)


LARGE: dict[str, Callable[[Any], Any]] = {
    "plain": lambda n: Layout((n, n), (n, 1)),
    "nested": lambda n: cl.logical_divide(Layout((n, n)), (8, 4)),
    "swizzled": lambda n: cl.composition(Swizzle(3, 3, 3), Layout((n, n), (n, 1))),
    "composed": lambda n: cl.make_composed_layout(Layout((n, n), (n, 1)), 0, Layout((n, n), (n, 1))),
}


@pytest.mark.parametrize("name", LARGE)
def test_whole_tensors_are_copied_and_assigned_quickly(name: str) -> None:
    n = 512
    layout = LARGE[name](n)
    array = np.arange(float(n * n))
    tensor = make_tensor(array, layout)
    target = np.zeros(n * n)
    with takes_under(3):  # one by one, half a minute
        copied = tensor.numpy(copy=True)
        copy(tensor, make_tensor(target))
        into = make_tensor(np.zeros(n * n), layout)
        copy(make_tensor(target), into)
        back = into.numpy(copy=True)
        into[(None,) * into.rank] = 3.0
    assert (target == copied.ravel(order="F")).all()
    assert (back == copied).all()
    assert into.numpy(copy=True).min() == 3.0
    for i in range(0, n * n, 4999):
        assert target[i] == tensor(i) == array[layout(i)]


def test_where_elements_coincide_the_last_one_is_assigned() -> None:
    for layout in ("(3,4):(0,1)", "(3,4):(1,1)", "(2,3,2):(2,1,3)"):
        array, expected = np.zeros(12), np.zeros(12)
        tensor = make_tensor(array, layout)
        copy(make_tensor(np.arange(1.0, 1 + tensor.size)), tensor)
        for i in range(tensor.size):
            expected[tensor.layout(i)] = i + 1
        assert (array == expected).all(), layout


def test_more_than_can_be_copied_is_refused_at_once() -> None:
    huge = make_tensor(np.zeros(4), Layout((2**20, 2**20), (0, 0)))
    swizzled = make_tensor(np.zeros(4)).with_layout(
        cl.make_composed_layout(Layout(4), 0, Layout((2**20, 2**20), (0, 0)))
    )
    for refused in (
        lambda: huge.numpy(copy=True),
        lambda: huge.__setitem__((None, None), 1.0),
        lambda: copy(huge, huge),
        lambda: swizzled.__setitem__((None, None), 1.0),
        lambda: make_tensor(Layout((2**20, 2**20))).numpy(),
        lambda: make_identity_tensor((2**20, 2**20)).numpy(),
    ):
        with (
            takes_under(0.2),
            pytest.raises(LayoutError, match=r"has 1099511627776 elements, more than the \d+ .*; next: "),
        ):
            refused()
    assert huge.numpy().shape == (2**20, 2**20)


def test_a_slice_is_assigned_one_value_or_an_array() -> None:
    array = np.zeros((4, 6), "i4")
    tensor = make_tensor(array)
    tensor[None, 1] = 3
    assert array.sum() == 12
    tensor[None, None] = make_tensor(np.arange(24).reshape(6, 4).T)
    assert (array == np.arange(24).reshape(6, 4).T).all()
    tensor[:, 1] = [1, 2, 3, 4]
    tensor[2, :] = np.arange(6.0)
    assert array[:, 1].tolist() == [1, 2, 1, 4]
    assert array[2].tolist() == list(range(6))
    tiles = local_tile(tensor, (2, 3), (None, None))  # (BLK_M,BLK_N,m,n)
    tiles[None, None, 1, 0] = np.arange(6).reshape(2, 3)
    assert array[2:, :3].tolist() == [[0, 1, 2], [3, 4, 5]]
    before = array.copy()
    for wrong in (np.arange(5), np.zeros((4, 1)), [[1, 2, 3, 4]], [1, 2, 3]):
        with pytest.raises(LayoutError, match=r"an array of shape .* is assigned to .*, which has \(4,\); next: "):
            tensor[None, 1] = wrong
    with pytest.raises((ValueError, TypeError)):
        tensor[None, 1] = (1, 2, 3, 4)
    assert (array == before).all()
    pair = np.zeros(3, [("x", "i4"), ("y", "f8")])
    make_tensor(pair)[None] = (1, 2.5)
    assert pair["y"].tolist() == [2.5] * 3


def test_copies_of_what_has_no_memory() -> None:
    array = np.zeros(24, "i8")
    copy(make_tensor("(4,6):(6,1)"), make_tensor(array))
    assert array.tolist() == [6 * (i % 4) + i // 4 for i in range(24)]
    with pytest.raises(OperandError, match="holds coordinates; next"):
        copy(make_identity_tensor((4, 6)), make_tensor(array))


def test_make_tensor_like() -> None:
    array = np.arange(48.0).reshape(8, 6)[:, ::2]
    tensor = make_tensor(array)
    like = make_tensor_like(tensor)
    assert (like.shape, like.stride, like.dtype) == ((8, 3), (3, 1), array.dtype)
    assert (like.numpy() == 0).all()
    assert not np.shares_memory(like.numpy(), array)
    assert make_tensor_like(tensor, "i4").dtype == np.int32
    assert [make_tensor_like(tensor, name).dtype for name in ("half_t", "float", "double", float)] == [
        "f2",
        "f4",
        "f8",
        "f8",
    ]
    with pytest.raises(OperandError, match=r"^make_tensor_like: 'quad_t' is no element type; next: "):
        make_tensor_like(tensor, "quad_t")
    assert make_tensor_like(make_tensor(np.asfortranarray(array))).stride == (1, 8)
    assert make_tensor_like(make_tensor(Layout(4)), "f4").size == 4
    with pytest.raises(OperandError, match="no element type; next: make_tensor"):
        make_tensor_like(make_tensor(Layout(4)))
    with pytest.raises(OperandError, match="make_tensor_like"):
        make_tensor_like(array)


def test_make_tensor_like_of_one_with_a_stride_of_zero() -> None:
    like = make_tensor_like(make_tensor(np.broadcast_to(np.arange(4.0), (3, 4))))
    like[0, 2] = 5
    assert like(2, 2) == 5
    assert like.stride == (0, 1)


def test_recast_sees_the_same_bits() -> None:
    array = np.arange(32, dtype=np.uint16).reshape(4, 8)
    tensor = make_tensor(array)  # (4,8):(8,1)
    wide = recast(tensor, "uint32")
    assert str(wide.layout) == "(4,4):(4,1)"
    assert (wide.numpy() == array.view(np.uint32)).all()
    narrow = recast(tensor, np.uint8)
    assert (narrow.numpy() == array.view(np.uint8)).all()
    wide[1, 0] = 0
    assert array[1, :2].tolist() == [0, 0]
    assert recast(tensor(1, None), "half_t").dtype == np.float16
    backwards = make_tensor(array[:, ::-1][:, :4])  # its first element is not the array's lowest
    assert (recast(backwards, "int16").numpy() == array[:, ::-1][:, :4]).all()
    with pytest.raises(LayoutError, match="the first element is 16 bits from the array's, no multiple of 32"):
        recast(domain_offset((0, 1), tensor), "uint32")
    with pytest.raises(LayoutError, match="recast: of 16 and 24 bits none is a multiple"):
        recast(tensor, "V3")
    with pytest.raises(OperandError, match="recast: coordinates"):
        recast(make_tensor("4"), "float")
    with pytest.raises(OperandError, match=r"^recast: .* is no element type"):
        recast(tensor, "quad_t")


def test_domain_offset_goes_anywhere() -> None:
    tensor = make_tensor(np.arange(24.0), "(4,6):(6,1)")
    moved = domain_offset((-1, 8), tensor)
    assert (moved.offset, str(moved.layout)) == (2, "(4,6):(6,1)")
    assert domain_offset((1, -2), moved)(0, 0) == 6
    assert domain_offset((2, 0), make_identity_tensor((2, 2)))(1, 1) == (3, 1)
    with pytest.raises(LayoutError):
        domain_offset((1, 2, 3), tensor)


@pytest.mark.parametrize("text", ["Sw<2,0,3> o 0 o (8,8):(8,1)", "Sw<1,0,3> o 5 o (8,8):(1,8)"])
def test_domain_offset_of_swizzled_tensors(text: str) -> None:
    layout = ComposedLayout(text)
    tensor = make_tensor(np.arange(128), layout)
    for coord in ((0, 1), (1, 2), (3, 3)):
        moved = domain_offset(coord, tensor)
        alone, by = domain_offset(coord, layout)
        assert by == 0
        for i in range(8 - coord[0]):
            for j in range(8 - coord[1]):
                assert moved(i, j) == tensor(coord[0] + i, coord[1] + j) == alone(i, j)
    for wrong in ((None, 2), None, slice(None), (slice(None), 1), np.arange(2)):
        with pytest.raises(LayoutError, match="leaves modes open; next: "):
            domain_offset(wrong, tensor)
        with pytest.raises(LayoutError, match="leaves modes open; next: "):
            domain_offset(wrong, Layout("(4,8)"))


def test_a_counting_tensor_has_an_origin() -> None:
    assert make_counting_tensor("(2,3):(3,1)", 10).numpy().tolist() == [[10, 11, 12], [13, 14, 15]]
    assert make_counting_tensor("(2,3):(1@0,1@1)", (4, 1))(1, 2) == (5, 3)
    assert make_counting_tensor("4").offset == 0
    assert make_counting_tensor("Sw<1,0,1> o 2 o 4:1", 3)(0) == 3 + ComposedLayout("Sw<1,0,1> o 2 o 4:1")(0)
    for layout, origin in (("4:1", (1, 2)), ("(2,2):(1@0,1@1)", 3), ("4:1", "x"), ("4:1", 1.5)):
        with pytest.raises(LayoutError, match=r"^make_counting_tensor: .* cannot be the origin of"):
            make_counting_tensor(layout, origin)


def test_other_libraries_see_a_tensors_memory() -> None:
    array = np.arange(24.0).reshape(4, 6)
    part = local_tile(make_tensor(array), (2, 3), (1, 0))
    seen = np.from_dlpack(part)
    assert np.shares_memory(seen, array)
    assert (seen == array[2:, :3]).all()
    assert (cute_py.gemm(part, part) == array[2:, :3] @ array[2:, :3].T).all()
    with pytest.raises(OperandError, match="tensor: coordinates and indices are no array; next: "):
        np.from_dlpack(make_identity_tensor((2, 2)))


def test_a_tile_that_does_not_exist() -> None:
    with pytest.raises(LayoutError, match=r"^local_tile: there is no tile \(2,0\) of \(2,2\) tiles"):
        local_tile(make_tensor("(8,8)"), (4, 4), (2, 0))


# ---- What is printed


def test_text() -> None:
    array = np.zeros((4, 6), "f4")
    tensor = make_tensor(array)
    address = array.__array_interface__["data"][0]
    assert str(tensor) == f"ptr[32b]({address:#x}) o (4,6):(6,1)"
    assert str(tensor(1, None)) == f"ptr[32b]({address + 24:#x}) o (6):(1)"
    assert repr(tensor) == "<Tensor float32 (4,6):(6,1)>"
    assert str(make_tensor("4:2")) == "counting_iter(0) o 4:2"
    assert str(make_identity_tensor((4, 5))(None, 2)) == "ArithTuple(0,2) o (4):(_1@0)"


# ---- Other libraries


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    array = torch.arange(24.0).reshape(4, 6).t()
    tensor = make_tensor(array)
    assert tensor.source is array
    assert (tensor.shape, tensor.stride) == ((6, 4), (1, 6))
    assert [[tensor(i, j) for j in range(4)] for i in range(6)] == array.tolist()
    tensor[5, 3] = -1
    assert array[5, 3] == -1
    assert (local_tile(tensor, (3, 2), (1, 1)).numpy() == array[3:, 2:].numpy()).all()
    for refused in (torch.zeros(2, requires_grad=True), torch.zeros(2, dtype=torch.bfloat16)):
        with pytest.raises(OperandError, match="make_tensor"):
            make_tensor(refused)
