"""Bank conflicts of shared memory: counting them, and finding a swizzle that avoids them.

Shared memory has 32 banks of 4 bytes; the bank of a byte is ``byte // 4 % 32``. In one wavefront each bank delivers one
word, to all threads that want it. An instruction that moves 1, 2 or 4 bytes for each thread is served for the whole
warp at once, one of 8 bytes for half a warp at a time, one of 16 bytes for a quarter. A load whose lanes share their
vectors in pairs, each lane with lane ^ 1 or each with lane ^ 2, is served for twice as many threads at a time. The
model agrees with the counters of an H200 on each of the 185 patterns in tests/test_banks_gpu.py.

>>> from cute_py import Layout, bank_conflicts
>>> column = Layout("(_32,_1):(_32,_0)")             # thread t reads row t of a row-major 32x32 tile of floats
>>> print(bank_conflicts(Layout("1024"), column, "float"))
32 wavefronts in 1 instruction, 31 of them bank conflicts
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cute_py import _core
from cute_py._core import ComposedLayout, Layout, Swizzle
from cute_py.atoms import value_type
from cute_py.errors import LayoutError, OperandError

__all__ = [
    "BankConflicts",
    "BankMap",
    "SwizzleChoice",
    "bank_conflicts",
    "bank_map",
    "best_swizzle",
    "served_together",
    "wavefronts",
]

BANKS = 32
WORD = 4  # bytes
WARP = 32
_WIDTHS = (8, 16, 32, 64, 128)  # bits that one instruction moves for each thread
_MOST = 1 << 22  # (thread, value) are looked at one by one
_FARTHEST = 1 << 48  # elements


@dataclass(frozen=True)
class BankConflicts:
    """What an access pattern costs.

    Attributes
    ----------
    wavefronts
        That the instructions take.
    parts
        That they would take if no bank had to deliver two words: one for each part of a warp that is served at a time.
    ideal
        That the distinct words would take at 32 a wavefront.
    instructions
        Of all warps.
    """

    wavefronts: int
    parts: int
    ideal: int
    instructions: int

    @property
    def conflicts(self) -> int:
        """The wavefronts that bank conflicts cost."""
        return self.wavefronts - self.parts

    def __add__(self, other: BankConflicts) -> BankConflicts:
        return BankConflicts(
            self.wavefronts + other.wavefronts,
            self.parts + other.parts,
            self.ideal + other.ideal,
            self.instructions + other.instructions,
        )

    def __str__(self) -> str:
        waves = "1 wavefront" if self.wavefronts == 1 else f"{self.wavefronts} wavefronts"
        instructions = "1 instruction" if self.instructions == 1 else f"{self.instructions} instructions"
        conflicts = f"{self.conflicts} of them bank conflicts" if self.conflicts else "no bank conflicts"
        return f"{waves} in {instructions}, {conflicts}"


NOTHING = BankConflicts(0, 0, 0, 0)


def wavefronts(addresses: npt.ArrayLike, width: int, *, is_write: bool = False) -> BankConflicts:
    """Return the cost of one instruction of one warp.

    ``addresses`` are the byte addresses of up to 32 active threads, ``width`` the bytes that each moves: 1, 2, 4, 8
    or 16. Raises OperandError for other widths and for addresses that are no multiples of it.
    """
    where = np.asarray(addresses, np.int64).ravel()
    if width not in (1, 2, 4, 8, 16):
        raise OperandError(f"wavefronts: width must be 1, 2, 4, 8 or 16 bytes, not {width}")
    if not 1 <= len(where) <= WARP:
        raise OperandError(f"wavefronts: a warp has 1 to {WARP} active threads, not {len(where)}")
    if np.any(where % width):
        raise OperandError(
            f"wavefronts: an address is no multiple of the {width} bytes that the instruction moves; next: a smaller width"
        )
    words = max(width // WORD, 1)
    together = served_together(where, width, is_write=is_write)
    parts = [_words(where[i : i + together], words) for i in range(0, len(where), together)]
    ideal = -(-len(_words(where, words)) // BANKS)
    return BankConflicts(sum(map(_depth, parts)), len(parts), ideal, 1)


def served_together(addresses: npt.NDArray[np.int64], width: int, *, is_write: bool) -> int:
    """Return how many threads shared memory serves at a time, of an instruction as `wavefronts` takes it."""
    words = max(width // WORD, 1)
    together = WARP // words
    if words > 1 and not is_write and len(addresses) == WARP:
        lanes = np.arange(WARP)
        if any(np.array_equal(addresses, addresses[lanes ^ bit]) for bit in (1, 2)):
            together *= 2
    return together


def _words(addresses: npt.NDArray[np.int64], count: int) -> npt.NDArray[np.int64]:
    """Return the distinct words that the threads touch."""
    return np.unique(addresses[:, None] // WORD + np.arange(count))


def _depth(words: npt.NDArray[np.int64]) -> int:
    """Return how many words the busiest bank has to deliver."""
    return int(np.bincount(words % BANKS, minlength=BANKS).max()) if len(words) else 0


def bank_conflicts(smem: Any, tv: Any, dtype: Any, *, vector: int = 1, is_write: bool = False) -> BankConflicts:
    """Return what it costs when threads read or write a tile of shared memory.

    Parameters
    ----------
    smem
        Coordinate -> element of shared memory: a Layout or a swizzled ComposedLayout.
    tv
        (thread, value) -> 1-D coordinate of that layout, such as `TiledMMA.layout_a_tv`, `TiledCopy.layout_dst_tv`.
    dtype
        The element type, as in `value_type`: C++'s ``"float"`` has 4 bytes, Python's ``float`` has 8.
    vector
        The values that one instruction moves. They must be contiguous in memory.
    is_write
        Whether the threads write.

    Raises LayoutError for values that are not contiguous, or not aligned to the vector.
    """
    element = value_type(dtype)
    layout = _layout(smem, "bank_conflicts", "smem")
    partition = _layout(tv, "bank_conflicts", "tv")
    if partition.rank != 2:
        raise LayoutError(f"bank_conflicts: tv {partition} has rank {partition.rank}; it maps (thread, value)")
    values = int(_core.size(partition, 1))
    _at_least_one("bank_conflicts", "vector", vector)
    if values % vector:
        raise LayoutError(f"bank_conflicts: {values} values do not divide into vectors of {vector}; next: vector=1")
    if element.bits * vector not in _WIDTHS:
        fitting = [width // element.bits for width in _WIDTHS if width % element.bits == 0]
        raise LayoutError(
            f"bank_conflicts: {vector} elements of {element.bits} bits are not the 1, 2, 4, 8 or 16 bytes that an instruction moves\n"
            f"  next: vectors of {', '.join(map(str, fitting))} elements"
            if fitting
            else f"bank_conflicts: no number of elements of {element.bits} bits has 1, 2, 4, 8 or 16 bytes"
        )
    table = _table("bank_conflicts", layout, partition)
    return _cost(table, element.bits, vector, is_write)


@dataclass(frozen=True)
class BankMap:
    """Who touches which bank when all values of a group of threads are looked at together.

    Attributes
    ----------
    groups
        For each group of threads, bank -> the (thread, value) whose elements lie in it, in whole or in part.
    words
        For each group, bank -> how many distinct words are touched.
    """

    groups: tuple[dict[int, tuple[tuple[int, int], ...]], ...]
    words: tuple[dict[int, int], ...]

    @property
    def depth(self) -> int:
        """The most distinct words that one bank has to deliver to a group."""
        return max((count for words in self.words for count in words.values()), default=0)

    def __str__(self) -> str:
        lines = [f"{len(self.groups)} groups, at most {self.depth} words of a bank"]
        for number, (threads, words) in enumerate(zip(self.groups, self.words, strict=True)):
            if not words:
                lines.append(f"  group {number}: nothing")
                continue
            worst = max(words, key=lambda bank: words[bank])
            who = ", ".join(f"T{t}V{v}" for t, v in threads[worst][:8]) + (", ..." if len(threads[worst]) > 8 else "")
            lines.append(f"  group {number}: {len(words)} banks; bank {worst} has {words[worst]} words, of {who}")
        return "\n".join(lines)


def bank_map(smem: Any, tv: Any, dtype: Any, *, banks: int = BANKS, word: int = WORD, group: int = WARP) -> BankMap:
    """Return which threads' values lie in which bank of shared memory, for banks and groups of threads of any size.

    Parameters
    ----------
    smem, tv, dtype
        As in `bank_conflicts`.
    banks, word, group
        Banks, the bytes of one that are delivered at a time, and threads that are looked at together.

    `bank_conflicts` says what the instructions of an NVIDIA GPU cost; this says where the elements lie. Raises
    LayoutError for coordinates that the tile does not have, OperandError for numbers below 1.

    >>> bank_map(Layout("1024"), Layout("(_32,_1):(_32,_0)"), "float").depth
    32
    """
    for name, number in (("banks", banks), ("word", word), ("group", group)):
        _at_least_one("bank_map", name, number)
    bits = value_type(dtype).bits
    layout = _layout(smem, "bank_map", "smem")
    partition = _layout(tv, "bank_map", "tv")
    if partition.rank != 2:
        raise LayoutError(f"bank_map: tv {partition} has rank {partition.rank}; it maps (thread, value)")
    table = _table("bank_map", layout, partition)
    values, threads = table.shape
    groups, counts = [], []
    for first in range(0, threads, group):
        touched: dict[int, set[tuple[int, int]]] = {}
        words: dict[int, set[int]] = {}
        for value in range(values):
            for thread in range(first, min(first + group, threads)):
                start = int(table[value, thread]) * bits
                for number in range(start // (8 * word), (start + bits - 1) // (8 * word) + 1):
                    touched.setdefault(number % banks, set()).add((thread, value))
                    words.setdefault(number % banks, set()).add(number)
        groups.append({bank: tuple(sorted(touched[bank])) for bank in sorted(touched)})
        counts.append({bank: len(words[bank]) for bank in sorted(words)})
    return BankMap(tuple(groups), tuple(counts))


def _table(operation: str, layout: Any, partition: Layout) -> npt.NDArray[np.int64]:
    """Return the element of shared memory of every (value, thread)."""
    if partition.size > _MOST:
        raise LayoutError(
            f"{operation}: {partition} has {partition.size} threads' values, {_MOST} are looked at; next: a slice of it"
        )
    coords = partition(np.arange(partition.size))
    outside = isinstance(coords, tuple) or bool(np.any((coords < 0) | (coords >= layout.size)))
    if outside:
        raise LayoutError(
            f"{operation}: the threads of {partition} go to coordinates that the tile {layout} does not have; next: a larger tile"
        )
    elements = layout(coords)
    if isinstance(elements, tuple):
        raise LayoutError(
            f"{operation}: the tile {layout} gives coordinates, not elements; next: a layout whose strides are integers"
        )
    if elements.size and not 0 <= int(elements.min()) <= int(elements.max()) < _FARTHEST:
        raise LayoutError(f"{operation}: the tile {layout} goes beyond what shared memory could hold")
    table: npt.NDArray[np.int64] = elements.reshape(int(_core.size(partition, 1)), int(_core.size(partition, 0)))
    return table


def _cost(table: npt.NDArray[np.int64], bits: int, vector: int, is_write: bool) -> BankConflicts:
    """Return the cost of a (value, thread) table of elements."""
    values, threads = table.shape
    grouped = table.reshape(values // vector, vector, threads)
    if np.any(np.diff(grouped, axis=1) != 1):
        raise LayoutError(
            f"bank_conflicts: the {vector} values of an instruction are not contiguous in shared memory; next: vector=1"
        )
    first = grouped[:, 0, :] * bits
    if np.any(first % (bits * vector)):
        raise LayoutError(
            f"bank_conflicts: a vector of {vector} elements is not aligned to its size; next: vector=1, or pad the tile's strides"
        )
    width = bits * vector // 8
    if width > 16:
        raise LayoutError(
            f"bank_conflicts: no instruction moves {width} bytes for a thread; 16 are the most; next: a smaller vector="
        )
    total = NOTHING
    for row in first // 8:
        for warp in range(0, threads, WARP):
            total += wavefronts(row[warp : warp + WARP], width, is_write=is_write)
    return total


@dataclass(frozen=True)
class SwizzleChoice:
    """The outcome of `best_swizzle`.

    Attributes
    ----------
    swizzle, layout
        The best swizzle, ``Swizzle(0, ...)`` if none is needed, and the tile with it.
    write, read
        What it costs to write and to read the tile with it.
    candidates
        Every swizzle that was tried with its wavefronts for writing and reading, best first: the proof.
    """

    swizzle: Swizzle
    layout: Layout | ComposedLayout
    write: BankConflicts
    read: BankConflicts
    candidates: tuple[tuple[Swizzle, int, int], ...]

    def __str__(self) -> str:
        plain = next((c for c in self.candidates if c[0].bits == 0), None)
        lines = [str(self.layout), f"  write: {self.write}", f"  read:  {self.read}"]
        if plain:
            lines.append(f"  without a swizzle: {plain[1]} wavefronts to write, {plain[2]} to read")
        lines.append(f"  {len(self.candidates)} swizzles tried")
        return "\n".join(lines)


def best_swizzle(
    tile: Any, dtype: Any, write_tv: Any, read_tv: Any, *, write_vector: int = 1, read_vector: int = 1
) -> SwizzleChoice:
    """Return the swizzle of a tile that makes writing and reading cheapest.

    Every ``Swizzle<B,M,S>`` that leaves the vectors whole is tried. Of equals, the one with the fewest bits wins.

    Parameters
    ----------
    tile
        The tile before swizzling: a layout, coordinate -> element.
    dtype, write_vector, read_vector
        As in `bank_conflicts`.
    write_tv, read_tv
        (thread, value) -> coordinate of the tile, of the threads that write and that read.

    Raises LayoutError if the accesses do not fit the tile even without a swizzle.
    """
    layout = _layout(tile, "best_swizzle", "tile")
    if isinstance(layout, ComposedLayout):
        raise LayoutError(f"best_swizzle: the tile {layout} is swizzled already; next: best_swizzle(tile.inner, ...)")
    element = value_type(dtype)
    tables = []
    for name, tv, vector in (("write_tv", write_tv, write_vector), ("read_tv", read_tv, read_vector)):
        partition = _layout(tv, "best_swizzle", name)
        if partition.rank != 2:
            raise LayoutError(f"best_swizzle: {name} {partition} has rank {partition.rank}; it maps (thread, value)")
        values = int(_core.size(partition, 1))
        _at_least_one("best_swizzle", name.replace("tv", "vector"), vector)
        if values % vector:
            raise LayoutError(
                f"best_swizzle: {values} values of {name} do not divide into vectors of {vector}; next: {name.replace('tv', 'vector')}=1"
            )
        tables.append((_table("best_swizzle", layout, partition), vector))
    index_bits = max(int(layout.cosize) - 1, 1).bit_length()
    results: list[tuple[int, int, int, Swizzle, list[BankConflicts]]] = []
    for swizzle in _swizzles(max(write_vector, read_vector), index_bits):
        costs = []
        for (table, vector), is_write in zip(tables, (True, False), strict=True):
            moved = np.vectorize(swizzle, otypes=[np.int64])(table) if swizzle.bits else table
            costs.append(_cost(moved, element.bits, vector, is_write))
        results.append((costs[0].wavefronts + costs[1].wavefronts, swizzle.bits, len(results), swizzle, costs))
    results.sort(key=lambda r: r[:3])
    _, _, _, swizzle, (write, read) = results[0]
    candidates = tuple((r[3], r[4][0].wavefronts, r[4][1].wavefronts) for r in results)
    return SwizzleChoice(swizzle, _core.composition(swizzle, layout), write, read, candidates)


def _swizzles(vector: int, index_bits: int) -> Iterable[Swizzle]:
    """Every swizzle of that many index bits that keeps vectors together; its identity first."""
    base = max(vector - 1, 0).bit_length()
    yield Swizzle(0, base, 3)
    for bits in range(1, 6):
        for low in range(base, index_bits):
            for shift in range(bits, index_bits):
                if low + shift + bits <= index_bits:
                    yield Swizzle(bits, low, shift)


def _layout(value: Any, operation: str, name: str) -> Any:
    if isinstance(value, (Layout, ComposedLayout)):
        return value
    if isinstance(value, str):
        return _core.parse(value) if " o " in value else _core.make_layout(value)
    raise LayoutError(f"{operation}: {name} must be a Layout, not {type(value).__name__}")


def _at_least_one(operation: str, name: str, value: Any) -> None:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
        raise OperandError(f"{operation}: {name} must be an integer, 1 or more, not {value!r}")
