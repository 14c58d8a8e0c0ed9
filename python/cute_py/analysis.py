"""What can be said about a layout as a function: which indices it reaches and how often, where it is contiguous, what
it does to memory.

Everything takes a `Layout`, a `ComposedLayout` or text, and layouts of indices alone; LayoutError for those of
coordinates, and for more than 2^24 coordinates, which are looked at one by one.

>>> from cute_py import Layout
>>> from cute_py.analysis import gaps, image, is_injective
>>> image("(2,2):(1,6)"), gaps("(2,2):(1,6)"), is_injective("(2,2):(1,6)")
(array([0, 1, 6, 7]), [(2, 5)], True)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cute_py import _core
from cute_py._core import ComposedLayout, Layout, Swizzle
from cute_py._notation import read_layout
from cute_py.atoms import value_type
from cute_py.errors import LayoutError, OperandError

__all__ = [
    "Coalescing",
    "Footprint",
    "aliases",
    "coalescing",
    "contiguity",
    "cycles",
    "f2_matrix",
    "fixed_points",
    "footprint",
    "from_f2_matrix",
    "functionally_equal",
    "gaps",
    "image",
    "is_bijective",
    "is_contiguous",
    "is_injective",
    "is_surjective",
    "mode_contiguity",
    "offsets",
    "parity",
    "period",
]

Indices = npt.NDArray[np.int64]
_MOST = 1 << 24
_BITS = 24
_ROWS = 62  # of a matrix over GF(2): indices have that many bits
_SWIZZLED = 31  # the bits of an index that a swizzle knows


def offsets(layout: Any) -> Indices:
    """Return the index of every coordinate, in the order of coordinates: an int64 array of ``size(layout)``."""
    return _indices("offsets", layout)


def image(layout: Any) -> Indices:
    """Return the indices that a layout reaches, ascending, each once."""
    return np.unique(_indices("image", layout))


def is_injective(layout: Any) -> bool:
    """Return whether no two coordinates have one index."""
    indices = _indices("is_injective", layout)
    return len(np.unique(indices)) == len(indices)


def is_surjective(layout: Any, size: int | None = None) -> bool:
    """Return whether every index below ``size``, by default ``cosize(layout)``, is reached."""
    reached = np.unique(_indices("is_surjective", layout))
    whole = _whole("is_surjective", reached, size)
    return int(np.count_nonzero((reached >= 0) & (reached < whole))) == whole


def is_bijective(layout: Any, size: int | None = None) -> bool:
    """Return whether every index below ``size``, by default ``cosize(layout)``, is reached exactly once, and
    no other.
    """
    indices = _indices("is_bijective", layout)
    whole = _whole("is_bijective", indices, size)
    return len(indices) == whole and bool(np.array_equal(np.sort(indices), np.arange(whole)))


def functionally_equal(a: Any, b: Any) -> bool:
    """Return whether two layouts give the same index at every 1-D coordinate, whatever their modes are."""
    return bool(np.array_equal(_indices("functionally_equal", a), _indices("functionally_equal", b)))


def is_contiguous(layout: Any) -> bool:
    """Return whether the reached indices have no gap between them: a box of memory without holes, in any order."""
    reached = np.unique(_indices("is_contiguous", layout))
    return len(reached) == 0 or int(reached[-1] - reached[0]) + 1 == len(reached)


def contiguity(layout: Any) -> int:
    """Return how many elements from coordinate 0 on are contiguous in memory, in their order: the widest vector from
    there.

    >>> contiguity("(4,8):(1,4)"), contiguity("(4,8):(8,1)"), contiguity("(4,8):(1,8)")
    (32, 1, 4)
    """
    return _run(_indices("contiguity", layout))


def mode_contiguity(layout: Any) -> tuple[int, ...]:
    """Return `contiguity` of each mode on its own: of a layout (thread, value), that of the threads and that of one
    thread's values.

    >>> mode_contiguity("(4,8):(8,1)")
    (1, 8)
    """
    read = _read("mode_contiguity", layout)
    return tuple(_run(_indices("mode_contiguity", _core.get(read, i))) for i in range(read.rank))


@dataclass(frozen=True)
class Footprint:
    """What a layout takes of memory.

    Attributes
    ----------
    elements
        Coordinates.
    distinct
        Indices that are reached.
    first, last
        The least and the greatest of them.
    bytes
        From the first to the last element, if an element type was given, else None.
    """

    elements: int
    distinct: int
    first: int
    last: int
    bytes: int | None

    @property
    def span(self) -> int:
        """Elements from the first to the last."""
        return self.last - self.first + 1 if self.elements else 0

    @property
    def density(self) -> float:
        """The part of the span that is reached."""
        return self.distinct / self.span if self.span else 1.0


def footprint(layout: Any, dtype: Any = None) -> Footprint:
    """Return how much memory a layout touches, and how densely. ``dtype`` as in `cute_py.atoms.value_type`."""
    indices = _indices("footprint", layout)
    reached = np.unique(indices)
    first, last = (int(reached[0]), int(reached[-1])) if len(reached) else (0, -1)
    bits = None if dtype is None else value_type(dtype).bits
    size = None if bits is None else -(-(last - first + 1) * bits // 8)
    return Footprint(len(indices), len(reached), first, last, size)


def gaps(layout: Any) -> list[tuple[int, int]]:
    """Return the runs of indices between the first and the last that are not reached, as (first, last) of each."""
    reached = np.unique(_indices("gaps", layout))
    where = np.nonzero(np.diff(reached) > 1)[0]
    return [(int(reached[i]) + 1, int(reached[i + 1]) - 1) for i in where]


def aliases(layout: Any) -> dict[int, list[Any]]:
    """Return the indices that several coordinates have, with these coordinates. Empty of an injective layout.

    >>> aliases("(2,2):(1,1)")
    {1: [(1, 0), (0, 1)]}
    """
    indices = _indices("aliases", layout)
    shape = _core.shape(_read("aliases", layout))
    order = np.argsort(indices, kind="stable")
    starts = np.nonzero(np.diff(indices[order], prepend=indices[:1] - 1))[0]
    groups = np.split(order, starts[1:])
    return {int(indices[group[0]]): [_core.idx2crd(int(i), shape) for i in group] for group in groups if len(group) > 1}


# ---- Layouts that are permutations


def cycles(layout: Any) -> list[tuple[int, ...]]:
    """Return the cycles of a bijective layout as a permutation i -> layout(i), each from its least index on; fixed
    points are left out.

    >>> cycles("(2,3):(3,1)")
    [(1, 3, 4, 2)]
    """
    indices = _permutation("cycles", layout)
    seen = np.zeros(len(indices), bool)
    found = []
    for start in range(len(indices)):
        cycle = []
        at = start
        while not seen[at]:
            seen[at] = True
            cycle.append(at)
            at = int(indices[at])
        if len(cycle) > 1:
            found.append(tuple(cycle))
    return found


def period(layout: Any) -> int:
    """Return the order of a bijective layout as a permutation: how often it is applied until everything is in its
    place.
    """
    return math.lcm(*(len(cycle) for cycle in cycles(layout)), 1)


def fixed_points(layout: Any) -> list[int]:
    """Return the indices that a layout maps to themselves."""
    indices = _indices("fixed_points", layout)
    return [int(i) for i in np.nonzero(indices == np.arange(len(indices)))[0]]


def parity(layout: Any) -> int:
    """Return 0 if a bijective layout exchanges an even number of pairs, else 1."""
    return sum(len(cycle) - 1 for cycle in cycles(layout)) % 2


# ---- Layouts as matrices over the field of two elements


def f2_matrix(layout: Any) -> npt.NDArray[np.uint8]:
    """Return the matrix of a layout over GF(2): column c is the index of the coordinate 2^c, bit r of it in row r.

    Then ``layout(i)`` has the bits ``matrix @ bits(i) % 2``. Swizzles are such functions, and so are layouts of extents
    and strides that are powers of two if no two modes reach one bit. Raises LayoutError, with a coordinate that shows
    it, for layouts that are none.

    >>> f2_matrix("(2,2):(2,1)")
    array([[0, 1],
           [1, 0]], dtype=uint8)
    """
    indices = _indices("f2_matrix", layout)
    size = len(indices)
    if size & (size - 1) or size == 0:
        raise LayoutError(
            f"f2_matrix: {layout} has {size} elements, which is no power of two; next: pad it, or take a part"
        )
    bits = size.bit_length() - 1
    if indices.min() < 0:
        at = int(np.argmin(indices))
        raise LayoutError(
            f"f2_matrix: {layout} goes below 0: at {at} it is {int(indices[at])}; next: strides of 0 or more"
        )
    columns = [int(indices[1 << c]) for c in range(bits)]
    predicted = np.zeros(size, np.int64)
    for c, column in enumerate(columns):
        predicted[1 << c : 2 << c] = predicted[: 1 << c] ^ column
    wrong = np.nonzero(predicted != indices)[0]
    if len(wrong):
        at = int(wrong[0])
        raise LayoutError(
            f"f2_matrix: {layout} is not linear over GF(2): at {at} it is {int(indices[at])}, the bits of {at} add up to "
            f"{int(predicted[at])}"
        )
    rows = max([column.bit_length() for column in columns], default=0)
    return np.array([[column >> r & 1 for column in columns] for r in range(max(rows, 1))], np.uint8)


def from_f2_matrix(matrix: npt.ArrayLike) -> Layout | ComposedLayout:
    """Return a layout with a given matrix over GF(2), the inverse of `f2_matrix`: a plain layout, or a swizzle of one.

    Raises LayoutError for a matrix that no ``Swizzle o Layout`` with modes of 2 has.

    >>> print(from_f2_matrix([[0, 1], [1, 0]]))
    (2,2):(2,1)
    """
    try:
        table = np.asarray(matrix)
    except ValueError as error:
        raise OperandError(f"from_f2_matrix: expected a matrix: {error}") from None
    if table.ndim != 2 or table.shape[1] > _BITS or table.shape[0] > _ROWS:
        raise OperandError(
            f"from_f2_matrix: expected a matrix of at most {_ROWS} rows and {_BITS} columns, not one of shape {table.shape}"
        )
    if table.dtype.kind not in "biuf" or not np.isin(table, (0, 1)).all():
        raise OperandError("from_f2_matrix: expected a matrix of integers 0 and 1, and there are other elements")
    columns = [sum(int(bit) << r for r, bit in enumerate(column)) for column in table.T]
    if not columns:
        return Layout(1, 0)
    plain = _plain(columns)
    if plain is not None:
        return plain
    rows = min(table.shape[0], _SWIZZLED)
    for bits in range(1, rows):
        for base in range(rows - bits):
            for shift in [s for d in range(bits, rows - base - bits + 1) for s in (d, -d)]:
                swizzle = Swizzle(bits, base, shift)
                plain = _plain([swizzle(column) for column in columns])  # a swizzle is its own inverse
                if plain is not None:
                    return ComposedLayout(swizzle, 0, plain)
    raise LayoutError(
        "from_f2_matrix: no swizzle of a layout has this matrix; next: f2_matrix shows what a layout's looks like"
    )


def _plain(columns: list[int]) -> Layout | None:
    """Return the layout of modes of 2 with these strides, if its sums are sums of bits."""
    reached = 0
    for column in columns:
        if column & (column - 1) or column & reached:
            return None
        reached |= column
    layout: Layout = (
        _core.make_layout((2,) * len(columns), tuple(columns)) if len(columns) > 1 else Layout(2, columns[0])
    )
    return layout


# ---- What threads ask of global memory


@dataclass(frozen=True)
class Coalescing:
    """What loads or stores of global memory cost.

    Attributes
    ----------
    instructions
        Of all warps.
    segments
        That they touch, each instruction on its own.
    ideal
        Segments that the requested bytes would fill.
    bytes
        Requested bytes, each byte of an instruction once.
    segment
        The bytes of a segment.
    by_instruction
        The segments of each instruction: warps first, then values.
    """

    instructions: int
    segments: int
    ideal: int
    bytes: int
    segment: int
    by_instruction: tuple[int, ...]

    @property
    def efficiency(self) -> float:
        """The part of the moved bytes that was requested."""
        return self.bytes / (self.segments * self.segment) if self.segments else 1.0

    def __str__(self) -> str:
        instructions = "1 instruction" if self.instructions == 1 else f"{self.instructions} instructions"
        return f"{self.segments} segments of {self.segment} bytes in {instructions}, {self.ideal} would do: {self.efficiency:.0%}"


def coalescing(
    tv: Any, dtype: Any, *, gmem: Any = None, vector: int = 1, warp: int = 32, segment: int = 32, offset: int = 0
) -> Coalescing:
    """Return how well the threads of a partition use global memory.

    Parameters
    ----------
    tv
        (thread, value) -> element, such as `TiledCopy.layout_src_tv`, or a coordinate of ``gmem``.
    dtype
        The element type, as in `cute_py.atoms.value_type`.
    gmem
        The layout of the array in memory: 1-D coordinate -> element. By default elements are what ``tv`` gives.
    vector
        The values that one instruction moves for a thread; they have to be contiguous in memory.
    warp, segment, offset
        Threads that ask together, the bytes that memory moves at a time, and the byte at which element 0 lies.

    Raises LayoutError for values that are not contiguous and for vectors of no whole bytes.

    >>> print(coalescing("(32,4):(4,1)", "float", vector=4))
    16 segments of 32 bytes in 1 instruction, 16 would do: 100%
    >>> print(coalescing("(32,4):(4,1)", "float"))
    64 segments of 32 bytes in 4 instructions, 16 would do: 25%
    """
    partition = _read("coalescing", tv)
    if partition.rank != 2:
        raise LayoutError(f"coalescing: tv {partition} has rank {partition.rank}; it maps (thread, value)")
    for name, value, least in (
        ("vector", vector, 1),
        ("warp", warp, 1),
        ("segment", segment, 1),
        ("offset", offset, 0),
    ):
        _integer("coalescing", name, value, least)
    bits = value_type(dtype).bits
    threads, values = int(_core.size(partition, 0)), int(_core.size(partition, 1))
    if values % vector:
        raise LayoutError(f"coalescing: {values} values do not divide into vectors of {vector}; next: vector=1")
    if bits * vector % 8:
        raise LayoutError(
            f"coalescing: {vector} elements of {bits} bits are no whole bytes; next: vector={8 // math.gcd(8, bits)}"
        )
    table = _indices("coalescing", partition)
    if gmem is not None:
        memory = _indices("coalescing", gmem)
        if len(table) and not 0 <= int(table.min()) <= int(table.max()) < len(memory):
            raise LayoutError(
                f"coalescing: the threads of {partition} go to coordinates that {gmem} does not have; next: a larger gmem"
            )
        table = memory[table]
    grouped = table.reshape(values // vector, vector, threads)
    if np.any(np.diff(grouped, axis=1) != 1):
        raise LayoutError(
            f"coalescing: the {vector} values of an instruction are not contiguous in memory; next: vector=1"
        )
    if np.any(grouped[:, 0, :] * bits % 8):
        raise LayoutError("coalescing: a vector does not begin with a whole byte")
    width = bits * vector // 8
    first = grouped[:, 0, :] * bits // 8 + offset
    counts, asked = [], 0
    for begin in range(0, threads, warp):
        for row in first[:, begin : begin + warp]:
            touched = np.unique(row[:, None] + np.arange(width))
            counts.append(len(np.unique(touched // segment)))
            asked += len(touched)
    whole = np.unique(first[..., None] + np.arange(width)) if first.size else np.zeros(0)
    return Coalescing(len(counts), sum(counts), -(-len(whole) // segment), asked, segment, tuple(counts))


# ---- Helpers


def _read(operation: str, value: Any) -> Any:
    if isinstance(value, str):
        return read_layout(value)
    if not isinstance(value, (Layout, ComposedLayout)):
        raise OperandError(f"{operation}: expected a layout, not {type(value).__name__}")
    return value


def _indices(operation: str, value: Any) -> Indices:
    layout = _read(operation, value)
    if layout.size > _MOST:
        raise LayoutError(
            f"{operation}: {layout} has {layout.size} elements, {_MOST} are looked at; next: a slice of it"
        )
    indices = layout(np.arange(layout.size))
    if isinstance(indices, tuple):
        raise LayoutError(
            f"{operation}: {layout} gives coordinates, not indices; next: a layout whose strides are integers"
        )
    result: Indices = indices
    return result


def _whole(operation: str, indices: Indices, size: Any) -> int:
    """Return a size that was given, or else one more than the greatest index."""
    if size is None:
        return int(indices.max()) + 1 if len(indices) else 0
    return _integer(operation, "size", size, 0)


def _integer(operation: str, name: str, value: Any, least: int) -> int:
    is_integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_integer or not least <= value < 1 << 62:
        raise OperandError(f"{operation}: {name} must be an integer, {least} or more and less than 2^62, not {value!r}")
    return int(value)


def _run(indices: Indices) -> int:
    breaks = np.nonzero(np.diff(indices) != 1)[0]
    return int(breaks[0]) + 1 if len(breaks) else len(indices)


def _permutation(operation: str, layout: Any) -> Indices:
    indices = _indices(operation, layout)
    if not np.array_equal(np.sort(indices), np.arange(len(indices))):
        raise LayoutError(
            f"{operation}: {layout} is no permutation of 0 to {len(indices) - 1}; next: is_bijective, gaps, aliases say why"
        )
    return indices
