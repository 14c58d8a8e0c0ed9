"""Tensors: memory, or coordinates, seen through a layout. Names and argument order are CuTe's.

>>> import numpy as np
>>> from cute_py import make_tensor, local_tile
>>> mA = make_tensor(np.arange(48.0).reshape(8, 6, order="F"))  # (M,K):(1,8)
>>> gA = local_tile(mA, (4, 2), (1, None))                      # (BLK_M,BLK_K,k)
>>> print(gA.layout)
(4,2,3):(1,8,16)
>>> gA(0, 0, 2)
np.float64(36.0)
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from cute_py import _core
from cute_py._core import ComposedLayout, Layout, ScaledBasis, Swizzle
from cute_py._dtypes import DTYPES, NOT_IN_NUMPY, numpy_type
from cute_py._notation import read_layout
from cute_py._strided import as_strided
from cute_py.drawing.picture import Drawable, Picture
from cute_py.drawing.subjects import picture_of_layout
from cute_py.errors import LayoutError, OperandError

__all__ = [
    "Tensor",
    "copy",
    "domain_offset",
    "inner_partition",
    "local_partition",
    "local_tile",
    "make_counting_tensor",
    "make_gmem_ptr",
    "make_identity_tensor",
    "make_rmem_ptr",
    "make_smem_ptr",
    "make_tensor",
    "make_tensor_like",
    "outer_partition",
    "recast",
]

_ENUMERATED = 1 << 20  # a composed layout up to this size is checked index by index
_MOST_ELEMENTS = 1 << 28  # are copied or assigned at once
_MOST_BYTES = 1 << 31  # have tensors that own their memory
_MOST_INDICES = 1 << 24  # are listed, where the layout is none that NumPy steps through
_NUMPY_MODES = 64  # the most axes of an array

Coord = Any  # an integer, None, or a tuple of coordinates


class Memory:
    """Elements of an array, counted from its first one. Nothing is copied; the array is kept alive.

    A copy of it (`copy.deepcopy`, pickle) has a copy of all memory from the lowest element to the highest.
    """

    def __init__(self, array: np.ndarray[Any, Any], source: Any, space: str = "") -> None:
        item = array.itemsize
        self.space = space  # "gmem", "smem" or "rmem", as it was tagged
        if item == 0:
            raise OperandError(f"tensor: the elements of an array of {array.dtype} have no bytes")
        if array.dtype.hasobject:
            raise OperandError(
                f"tensor: an array of {array.dtype} holds Python objects; next: give an array of numbers, such as x.astype(float)"
            )
        if any(stride % item for stride in array.strides):
            raise OperandError(
                f"tensor: the strides {array.strides} of the array are no multiples of its {item} bytes; next: make_tensor(x.copy())"
            )
        self.source = source
        self.dtype = array.dtype
        self.writeable = array.flags.writeable
        # The array and no view of it: the garbage collector sees through what refers back to it, but not through views.
        # Its shape, strides, type and memory can be set, and are compared before they are used.
        self._array = array
        self._form = _form_of(array)
        strides = tuple(s // item for s in array.strides)
        self.layout = _layout_of_array(array.shape, strides)
        self.low, self.high = _array_reach(array.shape, strides)

    def line(self) -> np.ndarray[Any, Any]:
        """Return all elements from the lowest to the highest as one axis. Raises OperandError if the array has changed
        its form.
        """
        if _form_of(self._array) != self._form:
            raise OperandError(
                "tensor: the shape, the strides, the type or the memory of its array was changed after the tensor was made\n"
                "  next: make_tensor of the array as it is now"
            )
        whole = self._array if self._array.ndim else self._array.reshape(1)
        lowest = whole[tuple(slice(None, None, -1 if stride < 0 else 1) for stride in whole.strides)]
        return as_strided(lowest, (self.high - self.low + 1,), (self.dtype.itemsize,), self.writeable)

    def element(self, index: int) -> np.ndarray[Any, Any]:
        """Return a view of one element. The caller has checked that it is one."""
        return self.line()[index - self.low : index - self.low + 1].reshape(())

    def view(self, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray[Any, Any]:
        """Return a view that starts at an element. The caller has checked that it stays inside."""
        item = self.dtype.itemsize
        return as_strided(self.line()[offset - self.low :], shape, tuple(s * item for s in strides), self.writeable)

    @property
    def address(self) -> int:
        return int(self._array.__array_interface__["data"][0])

    @property
    def is_number(self) -> bool:
        """Does the array have no modes?"""
        return self._array.ndim == 0

    def has(self, index: int) -> bool:
        return bool(self.low <= index <= self.high)

    def check(self, offset: int, layout: Layout | ComposedLayout, hint: str = "") -> None:
        """Raise unless all of the layout lies in the array."""
        if layout.size == 0:
            return
        low, high = _reach(layout)
        if offset + low < self.low or offset + high > self.high:
            raise LayoutError(
                f"tensor: the layout {layout} reaches the elements {offset + low} to {offset + high} of an array that has "
                f"{self.low} to {self.high}{hint or '; next: a layout whose indices are among these'}"
            )

    def __reduce__(self) -> Any:
        shape = self._array.shape
        strides = tuple(s // self.dtype.itemsize for s in self._array.strides)
        return _copied_memory, (self.line().copy(), -self.low, shape, strides, self.space)


def _copied_memory(
    line: np.ndarray[Any, Any], first: int, shape: tuple[int, ...], strides: tuple[int, ...], space: str = ""
) -> Memory:
    """Return memory of its own from a copied `Memory.line`."""
    item = line.itemsize
    low, high = _array_reach(shape, strides)
    if min(shape, default=1) < 0 or (first + low, first + high + 1) != (0, line.size) or line.strides != (item,):
        raise OperandError(
            f"tensor: {shape}:{strides} from element {first} is no layout of {line.size} copied elements"
        )
    array = as_strided(line[first:], shape, tuple(s * item for s in strides), True)
    return Memory(array, array, space)


def _form_of(array: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    return array.shape, array.strides, array.dtype, array.ctypes.data


class Tensor(Drawable):
    """Memory, or coordinates, seen through a layout.

    Made by `make_tensor` and `make_identity_tensor`. Calling it with a coordinate gives an element, with ``None``
    somewhere in the coordinate a tensor of what is left open; indexing does the same and can assign. All functions of
    the layout algebra that keep the domain (`composition`, `logical_divide`, `zipped_divide`, `coalesce`, `group`, ...)
    take tensors.

    A tensor may reach beyond its array, as the last tiles of a ragged matrix do. Reading or writing an element that the
    array does not have raises LayoutError, and so does making an array of such a tensor; `elem_less` on coordinates
    tells beforehand.

    Other libraries see a tensor's memory through DLPack and ``__array__``, and products take it, where each mode has
    one stride.

    ``copy.copy`` shares the memory. ``copy.deepcopy`` and pickle copy it, once for all tensors over it that are copied
    together; the copy does not share it with a copy of the array.
    """

    __slots__ = ("_base", "_layout", "_memory")
    __iter__ = None

    def __init__(self, layout: Layout | ComposedLayout, memory: Memory | None, base: Any = 0) -> None:
        self._layout = layout
        self._memory = memory
        self._base = base  # the index of the first element, or the coordinate that all are counted from

    # ---- What it is

    @property
    def layout(self) -> Layout | ComposedLayout:
        return self._layout

    @property
    def shape(self) -> Any:
        return self.layout.shape

    @property
    def stride(self) -> Any:
        if isinstance(self.layout, ComposedLayout):
            raise LayoutError(
                f"tensor.stride: {self.layout} has no strides; next: tensor.layout.inner.stride, of what is swizzled"
            )
        return self.layout.stride

    @property
    def rank(self) -> int:
        return self.layout.rank

    @property
    def size(self) -> int:
        return self.layout.size

    @property
    def dtype(self) -> np.dtype[Any] | None:
        """The element type; None of a tensor of coordinates or indices."""
        return self._memory.dtype if self._memory else None

    @property
    def space(self) -> str:
        """The memory that the tensor is tagged with, ``"gmem"``, ``"smem"`` or ``"rmem"``; ``""`` without a tag."""
        return self._memory.space if self._memory else ""

    def has(self, coord: Coord) -> bool:
        """Return whether the array has the element at a coordinate: not so in the rests of ragged tiles. True without
        an array.
        """
        _check_coord(coord, self.layout.shape)
        if _is_open(coord):
            raise LayoutError("tensor.has: the coordinate leaves modes open; next: give an integer for each")
        return not self._memory or self._memory.has(_sum(self._base, self.layout(coord)))

    @property
    def source(self) -> Any:
        """The array that the memory belongs to; None of a tensor of coordinates or indices."""
        return self._memory.source if self._memory else None

    @property
    def offset(self) -> Any:
        """The index of the first element in the array, or the coordinate that a coordinate tensor starts at."""
        return self._base

    def with_layout(self, layout: Layout | ComposedLayout | str) -> Tensor:
        """Return the same memory, from the same first element, through another layout."""
        layout = _as_layout(layout)
        if self._memory and isinstance(layout(0), tuple):
            raise LayoutError(f"tensor: {layout} gives coordinates, an array needs indices; next: make_tensor(layout)")
        return Tensor(layout, self._memory, self._base)

    def __reduce__(self) -> Any:
        return Tensor, (self._layout, self._memory, self._base)

    # ---- Elements and slices

    def __call__(self, *coord: Coord) -> Any:
        return self[coord[0] if len(coord) == 1 else coord]

    def __getitem__(self, coord: Coord) -> Any:
        coord = _closed(coord)
        _check_coord(coord, self.layout.shape)
        if _is_open(coord):
            layout, offset = _core.slice_and_offset(coord, self.layout)
            return Tensor(layout, self._memory, _sum(self._base, offset))
        where = self._index(coord)
        return self._memory.element(where)[()] if self._memory else where

    def __setitem__(self, coord: Coord, value: Any) -> None:
        if not self._memory:
            raise OperandError(
                "tensor: coordinates and indices cannot be assigned; next: make_tensor('int64', tensor.shape)"
            )
        if not self._memory.writeable:
            raise OperandError("tensor: the array is read-only; next: make_tensor_like(x) has memory of its own")
        coord = _closed(coord)
        _check_coord(coord, self.layout.shape)
        if not _is_open(coord):
            self._memory.element(self._index(coord))[...] = value
            return
        part = self[coord]
        if isinstance(value, Tensor):
            copy(value, part)
            return
        part._assign(value)

    def _index(self, coord: Coord) -> Any:
        """Return the index, or the coordinate, at a coordinate that is in the shape. Raise if the array has no such
        element.
        """
        where = _sum(self._base, self.layout(coord))
        if self._memory and not self._memory.has(where):
            raise LayoutError(
                f"tensor: the coordinate {_core.print_tiler(coord)} of {self.layout} has the index {where}, the array has "
                f"{self._memory.low} to {self._memory.high}; next: test a coordinate tensor, cut alike, with elem_less"
            )
        return where

    # ---- All elements at once, in the order of coordinates

    def _check_all(self) -> None:
        if self._memory:
            self._memory.check(
                self._base,
                self.layout,
                "; next: read and write the elements that elem_less of a coordinate tensor allows",
            )

    def _check_count(self, most: int) -> None:
        if self.size > most:
            raise LayoutError(
                f"tensor: {self.layout} has {self.size} elements, more than the {most} that are copied at once; "
                "next: copy it in tiles"
            )

    def _strided(self) -> np.ndarray[Any, Any] | None:
        """Return a view with an axis for each mode of the coalesced layout, if there are not too many. All is in the
        array.
        """
        if not self._memory or isinstance(self.layout, ComposedLayout):
            return None
        modes = _core.coalesce(self.layout)
        shape, stride = _as_tuple(modes.shape), _as_tuple(modes.stride)
        if len(shape) > _NUMPY_MODES:
            return None
        return self._memory.view(self._base, tuple(map(int, shape)), tuple(map(int, stride)))

    def _positions(self) -> np.ndarray[Any, Any]:
        """Return where in the memory's line the elements are."""
        assert self._memory is not None
        self._check_count(_MOST_INDICES)
        indices = np.frombuffer(_core.layout_indices(self.layout), np.int64)
        positions: np.ndarray[Any, Any] = np.add(indices, self._base - self._memory.low)
        return positions

    def _gather(self) -> np.ndarray[Any, Any]:
        """Return a copy of the elements, one axis."""
        assert self._memory is not None
        self._check_count(_MOST_ELEMENTS)
        self._check_all()
        strided = self._strided()
        if strided is not None:
            return strided.flatten(order="F")
        gathered: np.ndarray[Any, Any] = self._memory.line()[self._positions()]
        return gathered

    def _scatter(self, values: np.ndarray[Any, Any]) -> None:
        """Assign one value to all elements, or an array of one axis to each its own; the last one where elements
        coincide.
        """
        assert self._memory is not None
        self._check_count(_MOST_ELEMENTS)
        self._check_all()
        strided = self._strided()
        if strided is not None and values.ndim == 0:
            strided[...] = values
        elif strided is not None and _is_compactable(strided.shape, strided.strides):
            strided[...] = values.reshape(strided.shape, order="F")
        else:
            self._memory.line()[self._positions()] = values

    def _assign(self, value: Any) -> None:
        """Assign one value to all elements, or an array whose axes are the modes'."""
        assert self._memory is not None
        extents = tuple(int(s) for s in _core.product_each(self.layout))
        array = np.asarray(value) if isinstance(value, (list, np.ndarray)) else value
        axes = np.shape(array) if isinstance(array, np.ndarray) else ()
        if axes not in ((), extents):
            raise LayoutError(
                f"tensor: an array of shape {axes} is assigned to {self.layout}, which has {extents}; next: give one value, or an array "
                "of that shape"
            )
        values = np.empty(axes, self._memory.dtype)
        values[...] = array  # or NumPy's own error
        self._scatter(values.reshape(-1, order="F") if axes else values)

    def __len__(self) -> int:
        return self.layout.rank

    # ---- As an array

    def numpy(self, *, flat_modes: bool = False, copy: bool = False) -> np.ndarray[Any, Any]:
        """Return the tensor as a NumPy array with an axis for each mode.

        A view, whose changes are the tensor's, unless ``copy=True``. A mode that no single stride steps through cannot
        be an axis of a view: LayoutError then, and ``flat_modes=True`` gives an axis to every nested mode instead.
        LayoutError also for a tensor that reaches beyond its array.
        """
        layout = _core.flatten(self.layout) if flat_modes else self.layout
        shape = tuple(int(s) for s in _core.product_each(layout))
        if self._memory and self._memory.is_number and layout.size == 1 and layout.rank == 1:
            shape = ()  # an array of no modes comes back as one; a layout has one mode at least
        if len(shape) > _NUMPY_MODES:
            raise LayoutError(
                f"tensor.numpy: {len(shape)} modes, NumPy has {_NUMPY_MODES} axes at most; next: group(tensor, begin, end)"
            )
        if not self._memory:
            self._check_count(_MOST_INDICES)
            if not self._gives_coordinates:
                return self._indices().reshape(shape, order="F")
            result = np.empty(self.size, object)
            result[:] = [_sum(self._base, v) for v in _core.layout_values(self.layout, self.size)]
            return result.reshape(shape, order="F")
        if copy:
            return self._gather().reshape(shape, order="F")
        self._check_all()
        if shape == ():
            return self._memory.element(self._base)
        if isinstance(layout, ComposedLayout):
            raise LayoutError(f"tensor.numpy: {layout} is swizzled, no view has it; next: numpy(copy=True)")
        strides = []
        for i in range(layout.rank):
            mode = _core.coalesce(layout[i])
            if isinstance(mode.stride, tuple):
                raise LayoutError(
                    f"tensor.numpy: no single stride steps through mode {i}, {layout[i]}; next: numpy(flat_modes=True) for a view "
                    "with more axes, or numpy(copy=True)"
                )
            strides.append(int(mode.stride))
        return self._memory.view(self._base, shape, tuple(strides))

    @property
    def _gives_coordinates(self) -> bool:
        return isinstance(_sum(self._base, self.layout(0)), tuple)

    def _indices(self) -> np.ndarray[Any, Any]:
        indices: np.ndarray[Any, Any] = np.add(np.frombuffer(_core.layout_indices(self.layout), np.int64), self._base)
        return indices

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = self.numpy(copy=bool(copy))
        return array if dtype is None else array.astype(dtype)

    def __dlpack__(self, **options: Any) -> Any:
        return self._view().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._view().__dlpack_device__()

    def _view(self) -> np.ndarray[Any, Any]:
        """Return the elements' own memory as an array, for other libraries and for products."""
        if not self._memory:
            raise OperandError("tensor: coordinates and indices are no array; next: tensor.numpy() makes one of them")
        return self.numpy()

    # ---- Algebra

    def compose(self, *tilers: Any) -> Tensor:
        """Return ``composition(self, B)``; several arguments act by modes."""
        return self.with_layout(self.layout.compose(*tilers))

    def _picture(self) -> Picture:
        memory = self._memory

        def element(index: int) -> Any:
            return memory.element(index)[()] if memory and memory.has(index) else None

        return picture_of_layout(
            self.layout,
            title=repr(self)[1:-1],
            place=lambda value: _sum(self._base, value),
            element=element if memory else None,
        )

    def __str__(self) -> str:
        if self._memory:
            address = self._memory.address + self._base * self._memory.dtype.itemsize
            space = f"{self._memory.space}_" if self._memory.space else ""
            return f"{space}ptr[{8 * self._memory.dtype.itemsize}b]({address:#x}) o {self.layout}"
        if isinstance(self._base, tuple):
            return f"ArithTuple{_core.print_tiler(self._base)} o {self.layout}"
        if isinstance(self.layout(0), tuple):
            return f"ArithTuple{_core.print_tiler(self(0))} o {self.layout}"
        return f"counting_iter({self._base}) o {self.layout}"

    def __repr__(self) -> str:
        what = f"{self.dtype} " if self._memory else ""
        return f"<Tensor {what}{self.layout}>"


@dataclasses.dataclass(frozen=True)
class _Pointer:
    """An array with the memory that it stands for."""

    array: Any
    space: str


def make_gmem_ptr(array: Any) -> Any:
    """Tag an array as global memory, for `make_tensor`: the tensor and all parts of it print as ``gmem_ptr``.

    So do `make_smem_ptr` and `make_rmem_ptr` for shared memory and registers. The tag says what the array stands for;
    it stays where it is.

    >>> str(make_tensor(make_gmem_ptr(np.zeros(4)), 4)).split("(")[0]
    'gmem_ptr[64b]'
    """
    return _Pointer(array, "gmem")


def make_smem_ptr(array: Any) -> Any:
    """Tag an array as shared memory: see `make_gmem_ptr`."""
    return _Pointer(array, "smem")


def make_rmem_ptr(array: Any) -> Any:
    """Tag an array as registers: see `make_gmem_ptr`."""
    return _Pointer(array, "rmem")


def make_tensor(
    array: Any, layout: Any = None, layout_stride: Any = None, *, shape: Any = None, stride: Any = None
) -> Tensor:
    """Return a tensor over an array, one that owns its memory, or one of indices.

    ``make_tensor(array)`` sees the array through its own shape and strides, ``make_tensor(array, layout)`` through
    another layout, whose index 0 is the array's first element; ``make_tensor(array, shape, stride)``, where the stride
    may be `LayoutLeft` or `LayoutRight`, and ``shape=`` and ``stride=`` say the same. Nothing is copied.
    ``make_tensor("float32", layout)``, with a NumPy type or CuTe's name of one (``"half_t"``), owns new memory, zeroed,
    as registers. ``make_tensor(layout)`` has no memory: its elements are the indices themselves, which shows what a
    partition would touch.

    The array is anything in host memory that NumPy can view: a NumPy array, or one of another library through DLPack,
    or one tagged by `make_gmem_ptr`. Raises OperandError for what is none, LayoutError for a layout that leaves the
    array.

    >>> make_tensor(np.arange(24.0), (4, 6), (6, 1))(1, 2)
    np.float64(8.0)
    """
    if stride is not None and shape is None:
        raise LayoutError("make_tensor: stride= needs shape=; next: make_tensor(x, (4, 8), (8, 1))")
    if layout_stride is not None:
        if shape is not None:
            raise LayoutError("make_tensor: give the shape and the stride once")
        layout = _core.make_layout(layout, layout_stride)
    if shape is not None:
        if layout is not None:
            raise LayoutError("make_tensor: give a layout, or shape= and stride=, not both")
        layout = _core.make_layout(shape) if stride is None else _core.make_layout(shape, stride)
    owned = _owned_type(array)
    if owned is not None:
        if layout is None:
            raise LayoutError(
                f"make_tensor: a tensor of {owned} of its own needs a layout; next: make_tensor('{owned}', (4, 8))"
            )
        return _owning(owned, _as_layout(layout))
    if isinstance(array, str):
        array = read_layout(array)
    if isinstance(array, (Layout, ComposedLayout)):
        if layout is not None:
            raise LayoutError("make_tensor: one layout is enough; next: composition(A, B) is a layout of both")
        return Tensor(array, None, 0)
    space = ""
    if isinstance(array, _Pointer):
        array, space = array.array, array.space
    memory = Memory(_as_numpy(array), array, space)
    if layout is None:
        return Tensor(memory.layout, memory, 0)
    layout = _as_layout(layout)
    memory.check(0, layout)
    return Tensor(layout, memory, 0)


def _owned_type(value: Any) -> np.dtype[Any] | None:
    """Return the element type that a dtype, its name, or Python's float or int is, None of anything else."""
    if isinstance(value, str):
        is_type = value[:1].isalpha() and value[:1] != "S"  # and no Swizzle
    else:
        is_type = isinstance(value, (np.dtype, type))
    return _element_type("make_tensor", value) if is_type else None


def _element_type(operation: str, value: Any) -> np.dtype[Any]:
    if isinstance(value, str):
        value = _CUTE_TYPES.get(value, value)
        if value in NOT_IN_NUMPY:
            value = numpy_type(value)
    try:
        dtype: np.dtype[Any] = np.dtype(value)
    except (TypeError, SyntaxError, ValueError):
        dtype = np.dtype(object)
    if dtype.hasobject or dtype.itemsize == 0:
        raise OperandError(
            f"{operation}: {value!r} is no element type; next: a NumPy type such as float32, or CuTe's half_t"
        )
    return dtype


_CUTE_TYPES = {row.cute: name for name, row in DTYPES.items() if not row.is_complex} | {
    "tfloat32_t": "float32", "int": "int32", "uint8_t": "uint8", "int16_t": "int16", "uint16_t": "uint16",
    "uint32_t": "uint32", "int64_t": "int64", "uint64_t": "uint64",
}  # fmt: skip


def _owning(dtype: np.dtype[Any], layout: Layout | ComposedLayout) -> Tensor:
    low, high = _reach(layout) if layout.size else (0, -1)
    most = _MOST_BYTES // max(dtype.itemsize, 1)
    if high - low + 1 > most:
        raise LayoutError(
            f"make_tensor: {layout} needs {high - low + 1} elements of {dtype}, {most} is the most; next: a tile of it"
        )
    # The first element is where index 0 is, also where strides are negative.
    line = np.zeros(max(high, 0) - min(low, 0) + 1, dtype)
    memory = Memory(line, line, "")
    return Tensor(layout, memory, -min(low, 0))


def _as_layout(layout: Any) -> Layout | ComposedLayout:
    if isinstance(layout, str):
        return read_layout(layout)
    return layout if isinstance(layout, (Layout, ComposedLayout)) else _core.make_layout(layout)


def make_fragment_like(value: Any, dtype: Any = None) -> Any:
    """Return registers for a tensor: new memory, zeroed, of its shape and compact, mode 0 first. Of a layout, their
    layout.

    >>> print(make_fragment_like(Layout("(4,8):(8,1)")))
    (4,(8)):(_1,(4))
    """
    if not isinstance(value, Tensor):
        return _core.make_fragment_like(value)
    chosen = dtype if dtype is not None else value.dtype
    if chosen is None:
        raise OperandError("make_fragment_like: the tensor has no element type; next: dtype='float32'")
    return _owning(_element_type("make_fragment_like", chosen), _core.make_fragment_like(value.layout))


def make_counting_tensor(layout: Any, origin: Any = None) -> Tensor:
    """Return the tensor of a layout's own indices or coordinates, counted from an origin: ``make_tensor(layout)``.

    >>> print(make_counting_tensor("(2,3):(1@0,1@1)", (4, 0)))
    ArithTuple(4,0) o (2,3):(1@0,1@1)
    """
    tensor = make_tensor(_as_layout(layout))
    if origin is None:
        return tensor
    gives_coordinates = tensor.size > 0 and tensor._gives_coordinates
    if not isinstance(origin, (int, np.integer, tuple)) or isinstance(origin, tuple) != gives_coordinates:
        kind = "coordinates" if gives_coordinates else "indices"
        raise LayoutError(
            f"make_counting_tensor: {tensor.layout} gives {kind}, which {origin!r} cannot be the origin of; next: "
            f"{'a tuple such as (0, 0)' if gives_coordinates else 'an integer'}"
        )
    return Tensor(tensor.layout, None, origin)


def domain_offset(coord: Coord, value: Any) -> Any:
    """Return a tensor that begins at a coordinate of another one. Of a layout, the layout from there and the index
    where it begins.

    A swizzled layout takes the coordinate into its own offset, and memory begins where it did.

    The coordinate may lie outside of the shape, before it, too: it says where the tensor begins, not what it has.

    >>> domain_offset((1, 2), make_tensor("(4,8):(1,4)"))(0, 0)
    9
    """
    layout = value.layout if isinstance(value, Tensor) else _as_layout(value)
    moved: Layout | ComposedLayout = layout
    if isinstance(layout, ComposedLayout):  # what comes after the offset sees it, and memory stays where it is
        offset = _sum(layout.offset, _offset_of(coord, layout.inner))
        moved = _core.make_composed_layout(layout.outer, offset, layout.inner)
        by: Any = 0
    else:
        by = _offset_of(coord, layout)
    return Tensor(moved, value._memory, _sum(value._base, by)) if isinstance(value, Tensor) else (moved, by)


def inner_partition(tensor: Any, tiler: Any, coord: Coord) -> Any:
    """Return the tile at a coordinate of the tiles: `local_tile`, CuTe's older name."""
    return local_tile(tensor, tiler, coord)


def outer_partition(tensor: Any, tiler: Any, coord: Coord) -> Any:
    """Return the elements at one place of every tile: ``zipped_divide``, then the tile mode sliced."""
    tiled = _core.zipped_divide(_tensor("outer_partition", tensor), tiler)
    outer = (None,) * _core.rank(tiled, 1) if _core.rank(tiled, 1) > 1 else None
    if isinstance(coord, (tuple, list)):
        coord = (*coord, *(None,) * (_core.rank(tiled, 0) - len(coord)))
    return tiled[coord, outer]


def make_identity_tensor(shape: Any) -> Tensor:
    """Return the tensor whose element at a coordinate is that coordinate. Tiled and partitioned like data, it is a
    predicate.

    >>> print(make_identity_tensor((4, 5)))
    ArithTuple(0,0) o (4,5):(_1@0,_1@1)
    """
    layout = _core.make_identity_layout(shape)
    zero = layout(0)
    return Tensor(layout, None, zero)


def make_tensor_like(tensor: Tensor, dtype: Any = None) -> Tensor:
    """Return a tensor with new memory, zeroed, of the same shape, its strides in the same order and compact."""
    if not isinstance(tensor, Tensor):
        raise OperandError(
            f"make_tensor_like: tensor must be a Tensor, not {type(tensor).__name__}; next: make_tensor of an array"
        )
    layout = tensor.layout.inner if isinstance(tensor.layout, ComposedLayout) else tensor.layout
    chosen = dtype if dtype is not None else tensor.dtype
    if chosen is None:
        raise OperandError(
            "make_tensor_like: the tensor has no element type; next: make_tensor('float32', tensor.shape)"
        )
    return _owning(_element_type("make_tensor_like", chosen), _core.make_layout_like(layout))


def recast(tensor: Tensor, dtype: Any) -> Tensor:
    """Return the same memory as elements of another type, which may be of another size: CuTe's ``recast<T>(tensor)``.

    The layout is `recast_layout`'s. Raises LayoutError where a stride, or the first element, is no multiple of a wider
    element.

    >>> print(recast(make_tensor("float16", "(8,4):(1,8)"), "uint32").layout)
    (4,4):(1,4)
    """
    memory = _tensor("recast", tensor)._memory
    if memory is None:
        raise OperandError("recast: coordinates and indices have no bits; next: a tensor of an array")
    new = _element_type("recast", dtype)
    old_bits, new_bits = 8 * memory.dtype.itemsize, 8 * new.itemsize
    if old_bits % new_bits and new_bits % old_bits:
        raise LayoutError(
            f"recast: of {old_bits} and {new_bits} bits none is a multiple of the other; next: recast to uint8 first"
        )
    layout = _core.recast_layout(tensor.layout, old_bits, new_bits)
    first = (tensor._base - memory.low) * old_bits
    if first % new_bits:
        raise LayoutError(
            f"recast: the first element is {first} bits from the array's, no multiple of {new_bits}; next: copy it to make_tensor_like(x) first"
        )
    line = memory.line()
    whole = line.size * old_bits // new_bits * new_bits // old_bits  # a rest of the array makes no element
    return Tensor(layout, Memory(line[:whole].view(new), memory.source, memory.space), first // new_bits)


def local_tile(tensor: Any, tiler: Any, coord: Coord, proj: Any = None) -> Any:
    """Return the tile at a coordinate of the tiles: ``zipped_divide``, then the rest mode sliced.

    ``proj`` picks modes of the tiler and of the coordinate, CuTe's ``Step<_1,X,_1>`` as ``(1, None, 1)``. Of a layout,
    the tile's layout and its offset.
    """
    if proj is not None:
        tiler, coord = _core.dice(proj, tiler), _core.dice(proj, coord)
    if isinstance(tensor, (Layout, ComposedLayout, str)):
        part = local_tile(make_tensor(tensor), tiler, coord)
        return (part.layout, part.offset) if isinstance(part, Tensor) else part
    tiled = _core.zipped_divide(_tensor("local_tile", tensor), tiler)
    inner = (None,) * _core.rank(tiled, 0) if _core.rank(tiled, 0) > 1 else None
    tiles = _core.shape(tiled, 1)
    if isinstance(coord, (tuple, list)):
        coord = (*coord, *(None,) * (_core.rank(tiled, 1) - len(coord)))
    try:
        return tiled[inner, coord]
    except LayoutError:
        raise LayoutError(
            f"local_tile: there is no tile {_core.print_tiler(coord)} of {_core.print_tiler(tiles)} tiles; next: count them from 0"
        ) from None


def local_partition(tensor: Any, tile: Any, index: int, proj: Any = None) -> Any:
    """Return what one of the threads of a thread layout gets: ``zipped_divide``, then the tile mode sliced.

    ``tile`` maps coordinates to thread indices; only its shape tiles the tensor. ``proj`` as in `local_tile`. Of a
    layout, the part's layout and its offset.
    """
    threads = Layout(tile)
    if not isinstance(index, (int, np.integer)) or isinstance(index, bool) or not 0 <= index < threads.cosize:
        raise LayoutError(
            f"local_partition: there is no thread {index!r} in {threads}; next: one of 0 to {threads.cosize - 1}"
        )
    if proj is not None:
        threads = _core.dice(proj, threads)
    if isinstance(tensor, (Layout, ComposedLayout, str)):
        part = local_partition(make_tensor(tensor), threads, index)
        return (part.layout, part.offset) if isinstance(part, Tensor) else part
    tiled = _core.zipped_divide(_tensor("local_partition", tensor), _core.product_each(threads))
    outer = (None,) * _core.rank(tiled, 1) if _core.rank(tiled, 1) > 1 else None
    coord = _thread_coord(index, threads)
    if isinstance(coord, tuple):
        coord = (*coord, *(None,) * (_core.rank(tiled, 0) - len(coord)))
    return tiled[coord, outer]


def copy(source: Tensor, destination: Tensor) -> None:
    """Copy element i to element i, in the order of coordinates. The shapes may differ, the sizes may not."""
    source, destination = _tensor("copy", source), _tensor("copy", destination)
    if source.size != destination.size:
        raise LayoutError(
            f"copy: the source {source.layout} has {source.size} elements, the destination {destination.layout} "
            f"{destination.size}; next: copy into make_tensor_like(source)"
        )
    if not destination._memory:
        raise OperandError(
            "copy: coordinates and indices cannot be assigned; next: make_tensor('int64', destination.shape)"
        )
    if not destination._memory.writeable:
        raise OperandError("copy: the destination's array is read-only; next: copy into make_tensor_like(x)")
    if source._memory:
        values = source._gather()
    elif source._gives_coordinates:
        raise OperandError("copy: the source holds coordinates; next: source.numpy() makes an array of tuples of them")
    else:
        source._check_count(_MOST_INDICES)
        values = source._indices()
    destination._scatter(values)


# ---- Helpers


def _thread_coord(index: int, threads: Layout) -> Any:
    """Return the coordinate of a thread, one integer for each mode. A projected layout takes the index modulo its
    modes.
    """
    coord = _core.idx2crd(index, threads.shape, threads.stride)
    if not isinstance(threads.shape, tuple):
        return coord
    return tuple(_core.crd2idx(c, s) for c, s in zip(coord, threads.shape, strict=True))


def _tensor(operation: str, value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value
    raise OperandError(
        f"{operation}: expected a Tensor or a Layout, not {type(value).__name__}; next: make_tensor of an array"
    )


def _as_numpy(array: Any) -> np.ndarray[Any, Any]:
    if isinstance(array, np.ma.MaskedArray):
        raise OperandError("make_tensor: a masked array's mask would be lost; next: x.filled(value) or x.data")
    if isinstance(array, np.ndarray):
        return array
    if not hasattr(array, "__dlpack__"):
        raise OperandError(
            f"make_tensor: array must be an array or a layout, not {type(array).__name__}; next: numpy.asarray(x)"
        )
    device = array.__dlpack_device__()
    if device[0] not in (1, 3):
        raise OperandError(
            "make_tensor: the array lies in GPU memory, whose elements Python cannot read; next: copy it to the host"
        )
    try:
        return np.from_dlpack(array)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise OperandError(
            f"make_tensor: NumPy cannot view the array: {error}; next: numpy.asarray(x), or what copies it to the host"
        ) from None


def _array_reach(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, int]:
    """Return the lowest and the highest element of an array, counted from its first; 0 and -1 of one without
    elements.
    """
    if 0 in shape:
        return 0, -1
    reach = [(extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)]
    return sum(r for r in reach if r < 0), sum(r for r in reach if r > 0)


def _layout_of_array(shape: tuple[int, ...], strides: tuple[int, ...]) -> Layout:
    return _core.make_layout(shape, strides) if shape else _core.make_layout(1, 0)


def _reach(layout: Layout | ComposedLayout) -> tuple[int, int]:
    """Return the least and the greatest index of a layout, of a composed one as far as they can be told."""
    if isinstance(layout, ComposedLayout):
        if layout.size <= _ENUMERATED:
            if isinstance(layout(0), tuple):
                raise LayoutError(
                    f"tensor: {layout} gives coordinates, an array needs indices; next: make_tensor(layout)"
                )
            indices = np.frombuffer(_core.layout_indices(layout), np.int64)
            return int(indices.min()), int(indices.max())
        if not isinstance(layout.outer, Swizzle):
            raise LayoutError(f"tensor: {layout} is too large to be checked against the array; next: a tile of it")
        low, high = _reach(layout.inner)
        # A swizzle changes bits below the top of its own masks and no others.
        mask = (1 << (layout.outer.bits + layout.outer.base + abs(layout.outer.shift))) - 1
        return (low + layout.offset) & ~mask, (high + layout.offset) | mask
    flat = _core.flatten(layout)
    shape, stride = flat.shape, flat.stride
    pairs = zip(shape, stride, strict=True) if isinstance(shape, tuple) else [(shape, stride)]
    low = high = 0
    for extent, step in pairs:
        if isinstance(step, ScaledBasis):
            raise LayoutError(f"tensor: {layout} gives coordinates, an array needs indices; next: make_tensor(layout)")
        last = (int(extent) - 1) * int(step)
        low, high = low + min(last, 0), high + max(last, 0)
    return low, high


def _is_compactable(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Return whether no two elements of an array coincide, as far as its strides say so: each goes beyond those below
    it.
    """
    reached = 0
    for stride, extent in sorted((abs(stride), extent) for stride, extent in zip(strides, shape, strict=True)):
        if extent > 1 and stride <= reached:
            return False
        reached += stride * (extent - 1)
    return True


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _offset_of(coord: Coord, layout: Any) -> Any:
    if isinstance(coord, np.ndarray) or _is_open(_closed(coord)):
        raise LayoutError(f"domain_offset: {coord!r} leaves modes open; next: give an integer for each")
    return layout(coord)


def _closed(coord: Coord) -> Coord:
    """Return the coordinate with None for each ``:``."""
    if isinstance(coord, tuple):
        return tuple(_closed(c) for c in coord) if any(isinstance(c, (slice, tuple)) for c in coord) else coord
    return None if isinstance(coord, slice) and coord == slice(None) else coord


def _is_open(coord: Coord) -> bool:
    return any(_is_open(c) for c in coord) if isinstance(coord, (tuple, list)) else coord is None


def _sum(a: Any, b: Any) -> Any:
    if isinstance(a, tuple) and isinstance(b, tuple):
        longest = max(len(a), len(b))
        return tuple(_sum(a[i] if i < len(a) else 0, b[i] if i < len(b) else 0) for i in range(longest))
    if isinstance(a, tuple) or isinstance(b, tuple):
        if a == 0 or b == 0:
            return a if b == 0 else b
        raise LayoutError(f"tensor: {a!r} and {b!r}, a coordinate and an index, cannot be added")
    return a + b


def _check_coord(coord: Coord, shape: Any) -> None:
    """Raise LayoutError for what is no coordinate of the shape. A layout itself would go on beyond it."""
    if coord is None:
        return
    if isinstance(coord, (tuple, list)):
        if not isinstance(shape, tuple) or len(coord) != len(shape):
            raise LayoutError(
                f"tensor: the coordinate {coord} does not fit the shape {_core.print_tiler(shape)}; next: one for each mode"
            )
        for c, s in zip(coord, shape, strict=True):
            _check_coord(c, s)
    elif not isinstance(coord, (int, np.integer)) or isinstance(coord, bool):
        hint = "; next: None leaves a mode open" if isinstance(coord, slice) or coord is Ellipsis else ""
        raise LayoutError(f"tensor: a coordinate is an integer, None, or a tuple of these, not {coord!r}{hint}")
    elif not 0 <= coord < _core.size(shape):
        raise LayoutError(f"tensor: the coordinate {coord} is outside of {_core.print_tiler(shape)}")
