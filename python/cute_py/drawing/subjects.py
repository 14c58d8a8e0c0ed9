"""What the pictures of layouts, atoms, tiled copies and tiled MMAs show."""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, TypeAlias

from cute_py import _core
from cute_py._core import ComposedLayout, Layout
from cute_py.drawing.picture import Cell, Panel, Picture, Structure
from cute_py.errors import LayoutError

__all__ = [
    "picture_of_access",
    "picture_of_banks",
    "picture_of_copy",
    "picture_of_copy_atom",
    "picture_of_layout",
    "picture_of_mma",
    "picture_of_tv",
]

_MAX_ROWS = 64
_MAX_COLUMNS = 160
_MAX_CELLS = 16384
_MAX_PANELS = 64
_MAX_VALUES = 1 << 22
_MAX_MODES = 256
_BANKS = 32
_WORD_BITS = 32
_WARP = 32

Cells: TypeAlias = tuple[tuple[Cell, ...], ...]


# ---- Layouts


def picture_of_layout(
    layout: Layout | ComposedLayout,
    *,
    title: str | None = None,
    bank: int | None = None,
    place: Callable[[Any], Any] | None = None,
    element: Callable[[Any], Any] | None = None,
    tile: Any = None,
    color: Any = None,
    mark: Any = None,
) -> Picture:
    """Return the picture of a layout: rows are mode 0, columns mode 1, further modes make panels; each cell shows its
    index.

    A layout of rank 1 is one row. ``bank``, the size of an element in bits, adds the bank of shared memory to the
    facts, and colours by it: elements of one colour are in the same four banks.

    Of a tensor, ``place`` makes of what the layout gives the index or the coordinate that the tensor has there, and
    ``element`` of an index what lies in memory, None outside of it. Then cells show elements, and the index is among
    their facts.

    Lines separate the parts of nested modes, whose outer coordinates are labels of their own, and the tiles of
    ``tile``, an extent for each of the modes 0 and 1. ``color`` is what a cell is coloured by: ``"index"``, ``"tile"``
    (the default where there are tiles), ``"row"``, ``"column"``, ``"mode0"`` or ``"mode1"`` (the outermost coordinate
    of a nested mode), or a function of the coordinate and of the value there that returns an integer, or None for
    white. ``mark`` is a coordinate with None for open modes: only its slice keeps its colours.

    Raises LayoutError for a layout without elements, for banks of a layout whose values are coordinates, for more than
    256 modes, and for tiles, colours and marks that are none.
    """
    if layout.size < 1:
        raise LayoutError(f"picture: {layout} has no elements; next: draw one that has")
    modes = _core.rank(_core.flatten(layout))
    if modes > _MAX_MODES:
        raise LayoutError(
            f"picture: {modes} modes; {_MAX_MODES} at most can be drawn; next: coalesce or slice the layout"
        )
    if layout.rank == 0:  # one element, at the coordinate ()
        title = str(layout) if title is None else title
        layout = _core.append(layout, 1)
    place = place or (lambda index: index)
    gives_coordinates = isinstance(place(layout(0)), tuple)
    if bank is not None and (not isinstance(bank, int) or bank < 1 or gives_coordinates):
        raise LayoutError(
            f"picture: {layout} has no banks of elements of {bank} bits; next: bank=16, of a layout of indices"
        )
    one_row = layout.rank == 1
    extents = tuple(int(_core.size(layout, mode)) for mode in range(layout.rank))
    rows, columns, *rest = (1, *extents) if one_row else extents
    shown_rows, shown_columns = min(rows, _MAX_ROWS), min(columns, _MAX_COLUMNS)
    panels_in_all = prod(rest)
    shown_panels = min(panels_in_all, _MAX_PANELS, _MAX_CELLS // (shown_rows * shown_columns))
    panels_in_line = max(1, _MAX_COLUMNS // 2 // (shown_columns + 2))

    painted = _Paint(layout, extents, tile, color, mark)

    def cell(*flat: int) -> Cell:
        position = _core.crd2idx(flat, extents)
        return painted.cell(flat, position, place(layout(position)), plain_cell(position))

    def plain_cell(position: int) -> Cell:
        facts = (
            ("coordinate", _core.print_tiler(_core.idx2crd(position, layout.shape))),
            ("1-D coordinate", str(position)),
        )
        return _value_cell(place(layout(position)), facts, bank, element)

    panels = []
    for number in range(shown_panels):
        above = _as_tuple(_core.idx2crd(number, tuple(rest))) if rest else ()
        cells = tuple(
            tuple(cell(c) if one_row else cell(r, c, *above) for c in range(shown_columns)) for r in range(shown_rows)
        )
        panel_title = _core.print_tiler((None, None, *above)) if rest else ""
        track = divmod(number, panels_in_line)
        across = _structure(layout[0 if one_row else 1], shown_columns, painted.tile[0 if one_row else 1])
        down = Structure() if one_row else _structure(layout[0], shown_rows, painted.tile[0])
        panels.append(
            Panel(
                panel_title,
                cells,
                () if one_row else _inner_labels(layout[0], shown_rows),
                _inner_labels(layout[0 if one_row else 1], shown_columns),
                *track,
                rows=down,
                columns=across,
            )
        )

    value = "coordinate" if gives_coordinates else "index"
    what = f"the {value} that the layout gives" if element is None else "the element in memory"
    colour = (
        "the sum of its elements mod 8" if gives_coordinates else "the index mod 8" if bank is None else "the bank / 4"
    )
    legend = [f"A cell shows {what}; the colour is {painted.legend or colour}."]
    if mark is not None:
        legend.append(f"Coloured: the slice {_core.print_tiler(mark)}.")
    elif any(cell.colour is None for panel in panels for row in panel.cells for cell in row) and element is not None:
        legend.append("White: outside of the array.")
    if not one_row:
        legend.append("Rows are coordinates in mode 0, columns in mode 1.")
    if any(panel.rows.groups or panel.columns.groups for panel in panels):
        legend.append("A nested mode has its inner coordinate beside the cells, its outer one in bold.")
    if bank is not None:
        legend.append(
            f"The bank is the one of {_BANKS}, four bytes wide each, in which an element of {bank} bits begins."
        )
    note = _cut(
        ("rows", shown_rows, rows), ("columns", shown_columns, columns), ("panels", shown_panels, panels_in_all)
    )
    highlight = "index" if bank is None else "bank"
    return Picture(str(layout) if title is None else title, tuple(panels), note, tuple(legend), highlight)


class _Paint:
    """What colours a layout's cells: tiles, modes, a function; and what is marked."""

    def __init__(self, layout: Any, extents: tuple[int, ...], tile: Any, color: Any, mark: Any) -> None:
        self._layout = layout
        self._extents = extents
        self._mark = mark
        self.tile: tuple[int | None, ...] = (*_tile_of(tile, layout), None, None)
        if color is None and tile is not None:
            color = "tile"
        if isinstance(color, str) and color not in _COLOURINGS:
            raise LayoutError(f"picture: color is {', '.join(map(repr, _COLOURINGS))} or a function, not {color!r}")
        if color is not None and not isinstance(color, str) and not callable(color):
            raise LayoutError(
                f"picture: color is a name or a function of coordinate and index, not {type(color).__name__}"
            )
        if color == "tile" and tile is None:
            raise LayoutError(
                "picture: color='tile' needs tile=, an extent for each of the modes 0 and 1; next: tile=(2, 2)"
            )
        self._color = None if color == "index" else color
        self.legend = _COLOURINGS.get(color, "what color= says") if self._color is not None else ""
        if mark is not None:
            _check_mark(mark, layout.shape)

    def cell(self, flat: tuple[int, ...], position: int, value: Any, plain: Cell) -> Cell:
        """Return a cell in its colour."""
        coordinate = _core.idx2crd(position, self._layout.shape)
        colour = plain.colour
        if self._color is not None and plain.colour is not None:
            colour = self._colour(flat, coordinate, value)
        if self._mark is not None and not _matches(self._mark, coordinate, self._layout.shape):
            colour = None
        return replace(plain, colour=colour)

    def _colour(self, flat: tuple[int, ...], coordinate: Any, value: Any) -> int | None:
        if callable(self._color):
            chosen = self._color(coordinate, value)
            try:
                return None if chosen is None else operator.index(chosen)
            except TypeError:
                where = _core.print_tiler(coordinate)
                raise LayoutError(
                    f"picture: color gave {chosen!r} at {where}, neither an integer nor None; next: let it return one of these"
                ) from None
        if self._color == "tile":
            tiles = [c // t for c, t in zip(flat, self.tile, strict=False) if t]
            return sum(number * step for number, step in zip(tiles, (1, 3), strict=False))
        mode, by_outermost = {"row": (0, False), "mode0": (0, True), "column": (1, False), "mode1": (1, True)}[
            str(self._color)
        ]
        if mode >= len(flat):
            return 0
        if by_outermost:
            return _outermost(coordinate[mode] if isinstance(coordinate, tuple) else coordinate)
        return flat[mode]


_COLOURINGS = {
    "index": "the index mod 8",
    "tile": "the tile",
    "row": "the row mod 8",
    "column": "the column mod 8",
    "mode0": "the outermost coordinate of mode 0, mod 8",
    "mode1": "the outermost coordinate of mode 1, mod 8",
}


def _tile_of(tile: Any, layout: Any) -> tuple[int, ...]:
    if tile is None:
        return ()
    given = _as_tuple(tile)
    extents = tuple(int(t) if isinstance(t, int) and not isinstance(t, bool) else 0 for t in given)
    if not 1 <= len(extents) <= min(layout.rank, 2) or min(extents) < 1:
        raise LayoutError(
            f"picture: tile is an extent for mode 0, or for the modes 0 and 1, of {layout}; not {tile!r}; next: tile=(2, 2)"
        )
    return extents


def _check_mark(mark: Any, shape: Any) -> None:
    """Raise LayoutError for what is no coordinate of the shape, open or not."""
    if isinstance(mark, (tuple, list)):
        if not isinstance(shape, tuple) or len(mark) != len(shape):
            raise LayoutError(
                f"picture: mark {mark!r} does not fit the shape {_core.print_tiler(shape)}; next: an integer or None for each mode"
            )
        for m, s in zip(mark, shape, strict=True):
            _check_mark(m, s)
    elif mark is not None:
        is_integer = isinstance(mark, int) and not isinstance(mark, bool)
        if not is_integer or not 0 <= mark < _core.size(shape):
            raise LayoutError(
                f"picture: mark is a coordinate with None for open modes, and {mark!r} is none of {_core.print_tiler(shape)}"
            )


def _matches(mark: Any, coordinate: Any, shape: Any) -> bool:
    if mark is None:
        return True
    if isinstance(mark, (tuple, list)):
        parts = zip(mark, coordinate, shape, strict=True)
        return all(_matches(m, c, s) for m, c, s in parts)
    return bool(_core.crd2idx(coordinate, shape) == int(mark)) if isinstance(coordinate, tuple) else coordinate == mark


def _outermost(coordinate: Any) -> int:
    return _outermost(coordinate[-1]) if isinstance(coordinate, tuple) else int(coordinate)


def _inner_labels(mode: Any, count: int) -> tuple[str, ...]:
    """Return the labels beside the cells: of a nested mode, its inner coordinate."""
    inner = int(_core.size(mode, 0)) if isinstance(mode.shape, tuple) and mode.rank > 1 else count
    return tuple(str(i % inner) for i in range(count))


def _structure(mode: Any, count: int, tile: int | None) -> Structure:
    """Return the lines and the outer labels of a mode: where its inner coordinate begins anew, and where tiles
    begin.
    """
    rules: dict[int, int] = {}
    groups = []
    if isinstance(mode.shape, tuple) and mode.rank > 1:
        below = 1
        for level in range(mode.rank - 1):
            below *= int(_core.size(mode, level))
            for at in range(0, count + 1, below):
                rules[at] = min(level + 1, 3)
        inner = int(_core.size(mode, 0))
        rest = _core.product_each(_core.take(mode, 1, mode.rank))
        for number, first in enumerate(range(0, count, inner)):
            at = _core.idx2crd(number, rest)
            label = str(at[0]) if len(at) == 1 else _core.print_tiler(at)
            groups.append((first, min(first + inner, count), label))
        if len(groups) == 1:  # tells nothing apart
            groups = []
    if tile:
        for at in range(0, count + 1, tile):
            rules[at] = max(rules.get(at, 0), 2)
    return Structure(tuple(sorted(rules.items())), tuple(groups))


def _value_cell(
    value: Any, facts: tuple[tuple[str, str], ...], bank: int | None, element: Callable[[Any], Any] | None
) -> Cell:
    """Return the cell of an index or a coordinate."""
    text = _core.print_tiler(value)
    facts = (*facts, ("index", text))
    if element is not None:
        item = element(value)
        if item is None:
            return Cell("", None, (*facts, ("element", "outside of the array")))
        return Cell(_short(item), value, (*facts, ("element", str(item))))
    if bank is None:
        return Cell(text, _sum_of_leaves(value), facts)
    number = value * bank // _WORD_BITS % _BANKS
    return Cell(text, number // 4, (*facts, ("bank", str(number))))


def _short(item: Any) -> str:
    """Return an element in the few characters that a cell has."""
    try:
        return f"{item:.4g}" if isinstance(item.item(), (float, complex)) else str(item)
    except (AttributeError, TypeError, ValueError):
        return str(item)


def _sum_of_leaves(value: Any) -> int:
    return sum(_sum_of_leaves(v) for v in value) if isinstance(value, tuple) else int(value)


# ---- Threads and values


@dataclass(frozen=True)
class _Operand:
    """A tile, and which (thread, value) hold each of its elements."""

    tile: tuple[int, ...]
    holders: dict[int, list[tuple[int, int]]]
    logical: dict[int, int] | None = None  # thread of the warp -> number in the layout, where the two differ

    @staticmethod
    def of(tile_shape: Any, layout_tv: Layout, thr_id: Layout | None = None) -> _Operand:
        threads = int(_core.size(layout_tv, 0))
        holders: dict[int, list[tuple[int, int]]] = defaultdict(list)
        lanes = list(range(threads)) if thr_id is None else [int(thr_id(t)) for t in range(threads)]
        for i, index in enumerate(_values(layout_tv)):
            holders[index].append((lanes[i % threads], i // threads))
        return _Operand(
            tuple(int(_core.size(mode)) for mode in _as_tuple(tile_shape)),
            {i: sorted(h) for i, h in holders.items()},
            None if lanes == list(range(threads)) else {lane: t for t, lane in enumerate(lanes)},
        )

    @property
    def rows(self) -> int:
        return self.tile[0] if len(self.tile) > 1 else 1

    @property
    def columns(self) -> int:
        return prod(self.tile) // self.rows

    def cell(self, index: int, name: str = "", modes: str = "") -> Cell:
        """Return the cell of one element. Operands that share a picture have a name, and names of their modes."""
        facts = []
        if len(self.tile) > 1:
            coordinate = _core.idx2crd(index, self.tile)
            facts.append(("coordinate", name + _core.print_tiler(coordinate)))
            facts += [(mode, str(c)) for mode, c in zip(modes, coordinate, strict=False)]
        facts.append((f"index in {name}" if name else "index", str(index)))
        held = self.holders.get(index, [])
        if not held:
            return Cell("", None, tuple(facts))
        facts.append(("thread", _listed(t for t, _ in held)))
        if self.logical is not None:
            facts.append(("logical thread", _listed(self.logical[t] for t, _ in held)))
        facts.append(("warp", _listed(t // _WARP for t, _ in held)))
        facts.append(("value", _listed(v for _, v in held)))
        if len(held) != len({t for t, _ in held}) * len({v for _, v in held}):
            facts.append(("held as", ", ".join(f"T{t}V{v}" for t, v in held)))
        thread, value = held[0]
        more = "+" if len(held) > 1 else ""
        return Cell(f"T{thread}{more}\nV{value}", thread, tuple(facts))

    def cells(self, rows: int, columns: int, name: str = "", modes: str = "") -> Cells:
        return tuple(tuple(self.cell(r + self.rows * c, name, modes) for c in range(columns)) for r in range(rows))


def _holder_legend(operands: Sequence[_Operand]) -> tuple[str, ...]:
    legend = ["Tt over Vv: thread t holds the element as its value v; the colour is t mod 8."]
    if any(operand.logical is not None for operand in operands):
        legend.append(
            "Threads are those of the warp: ThrID of the number in the layout, which is the fact logical thread."
        )
    if any(len(held) > 1 for operand in operands for held in operand.holders.values()):
        legend.append("T0+: thread 0 is the lowest of several holders, all of which the cell's facts list.")
    if any(not operand.holders.keys() >= set(range(prod(operand.tile))) for operand in operands):
        legend.append("White: no thread holds the element.")
    return tuple(legend)


def _outside(name: str, operand: _Operand) -> str:
    count = sum(len(held) for index, held in operand.holders.items() if not 0 <= index < prod(operand.tile))
    return f"{count} (thread,value) of {name} lie outside of it and are not shown" if count else ""


def picture_of_tv(title: str, tile_shape: Any, layout_tv: Layout) -> Picture:
    """Return the picture of a (thread,value) layout over a tile: which thread holds each element as which value.

    The layout gives indices in the column-major tile. A tile of one mode is one row, modes from the third on are folded
    into the columns.
    """
    operand = _Operand.of(tile_shape, layout_tv)
    rows, columns = min(operand.rows, _MAX_ROWS), min(operand.columns, _MAX_COLUMNS)
    row_labels = _numbers(rows) if len(operand.tile) > 1 else ()
    panel = Panel("", operand.cells(rows, columns), row_labels, _numbers(columns))
    note = _cut(("rows", rows, operand.rows), ("columns", columns, operand.columns))
    note = _joined(note, _outside("the tile", operand))
    return Picture(title, (panel,), note, _holder_legend([operand]), "thread")


def picture_of_mma(
    title: str,
    shape_mnk: tuple[Any, Any, Any],
    layout_a_tv: Layout,
    layout_b_tv: Layout,
    layout_c_tv: Layout,
    thr_id: Layout | None = None,
) -> Picture:
    """Return the picture of an MMA: C at the lower right, A (M,K) to its left, and B above it as (K,N).

    ``thr_id`` gives the thread of the warp for each thread of the layouts, where these are an atom's.
    """
    m, n, k = (int(_core.size(mode)) for mode in shape_mnk)
    a, b, c = (
        _Operand.of(tile, tv, thr_id)
        for tile, tv in (((m, k), layout_a_tv), ((n, k), layout_b_tv), ((m, n), layout_c_tv))
    )
    shown_m, shown_k = min(m, _MAX_ROWS), min(k, _MAX_ROWS)
    shown_n = min(n, _MAX_COLUMNS, (_MAX_CELLS - shown_m * shown_k) // (shown_m + shown_k))
    b_cells = tuple(zip(*b.cells(shown_n, shown_k, "B", "nk"), strict=True))
    panels = (
        Panel("A (M,K)", a.cells(shown_m, shown_k, "A", "mk"), _numbers(shown_m), _numbers(shown_k), 1, 0),
        Panel("B (K,N)", b_cells, _numbers(shown_k), _numbers(shown_n), 0, 1),
        Panel("C (M,N)", c.cells(shown_m, shown_n, "C", "mn"), (), (), 1, 1),
    )
    note = _cut(("m", shown_m, m), ("n", shown_n, n), ("k", shown_k, k))
    note = _joined(note, *(_outside(name, operand) for name, operand in (("A", a), ("B", b), ("C", c))))
    return Picture(title, panels, note, _holder_legend([a, b, c]), "thread")


def picture_of_copy(title: str, tile_shape: Any, layout_src_tv: Layout, layout_dst_tv: Layout) -> Picture:
    """Return the picture of a tiled copy: which thread reads each element of the tile, and which one gets it.

    The two are side by side, or one above the other if the tile is wide. The tile is drawn as by `picture_of_tv`.
    """
    source, destination = _Operand.of(tile_shape, layout_src_tv), _Operand.of(tile_shape, layout_dst_tv)
    rows = min(source.rows, _MAX_ROWS)
    columns = min(source.columns, _MAX_COLUMNS, _MAX_CELLS // 2 // rows)
    wide = source.columns > 2 * source.rows
    row_labels = _numbers(rows) if len(source.tile) > 1 else ()
    panels = tuple(
        Panel(name, operand.cells(rows, columns), row_labels, _numbers(columns), *((i, 0) if wide else (0, i)))
        for i, (name, operand) in enumerate((("Source", source), ("Destination", destination)))
    )
    note = _cut(("rows", rows, source.rows), ("columns", columns, source.columns))
    note = _joined(note, _outside("the source's tile", source), _outside("the destination's tile", destination))
    return Picture(title, panels, note, _holder_legend([source, destination]), "thread")


def picture_of_copy_atom(name: str, val_layout_src: Layout, val_layout_dst: Layout) -> Picture:
    """Return the picture of a copy instruction: which thread reads each element, and which one gets it.

    Elements are numbered along the rows. A row is what a thread holds without a gap, on the side where that is longer,
    or a multiple of it: of ldmatrix on 16-bit elements a row of an 8x8 matrix, and each matrix is a panel.
    """
    size = max(_core.cosize(val_layout_src), _core.cosize(val_layout_dst))
    runs = [run for run in (_run(val_layout_src), _run(val_layout_dst)) if 4 <= run <= _MAX_ROWS]
    columns = max(runs, default=min(size, 32))
    while size > columns * _MAX_ROWS and columns < _MAX_ROWS:
        columns *= 2
    rows = -(-size // columns)
    matrices = rows // 8 if columns == 8 and rows % 8 == 0 and ("LDSM" in name or "STSM" in name) else 0
    panel_rows = 8 if matrices else min(rows, _MAX_ROWS)

    panels = []
    operands = [_Operand.of(rows * columns, layout) for layout in (val_layout_src, val_layout_dst)]
    for i, (side, operand) in enumerate(zip(("Source", "Destination"), operands, strict=True)):
        for j in range(max(matrices, 1)):
            starts = [columns * row for row in range(j * panel_rows, (j + 1) * panel_rows)]
            cells = tuple(tuple(operand.cell(start + c) for c in range(columns)) for start in starts)
            title = f"{side}, matrix {j}" if matrices else side
            place = (i, j) if matrices else (0, i)
            panels.append(Panel(title, cells, tuple(str(start) for start in starts), _numbers(columns), *place))
    grid = f"Element = label of the row + label of the column; a row is {columns} consecutive elements"
    grid += ", a row of an 8x8 matrix." if matrices else "."
    note = "" if matrices else _cut(("rows", panel_rows, rows))
    return Picture(name, tuple(panels), note, (grid, *_holder_legend(operands)), "thread")


def _run(layout_tv: Layout) -> int:
    """Return how many elements thread 0 holds without a gap."""
    first, values = layout_tv(0, 0), int(_core.size(layout_tv, 1))
    return next((v for v in range(values) if layout_tv(0, v) != first + v), values)


# ---- Banks


def picture_of_banks(
    layout: Layout | ComposedLayout, bits: int, accesses: Sequence[Sequence[tuple[int, int, int]]]
) -> Picture:
    """Return the picture of how threads access a tile in shared memory: rows of 128 bytes, columns of the 32 banks.

    Parameters
    ----------
    layout
        Of the tile; its values are indices of elements.
    bits
        The size of an element.
    accesses
        For each phase of the instruction, (thread, index, number of consecutive elements) of its threads. A phase is
        what the hardware serves at once: 128 bytes, so a quarter of a warp that moves 16 bytes for each thread.

    A phase takes as many wavefronts as the bank with the most distinct words has of them.

    Raises LayoutError for sizes that are not positive, for negative indices, layouts that give coordinates, and layouts
    of more than four million values.
    """
    if bits < 1 or not accesses or isinstance(layout(0), tuple):
        raise LayoutError(f"picture: no banks for {layout}, elements of {bits} bits and {len(accesses)} phases")
    elements: dict[int, list[int]] = defaultdict(list)
    for position, index in enumerate(_values(layout)):
        elements[index * bits // _WORD_BITS].append(position)
    phases = [_words_of(phase, bits) for phase in accesses]
    lines = 1 + max((*elements, *(word for words in phases for word in words))) // _BANKS
    shown_lines = min(lines, _MAX_ROWS)
    shown_phases = min(len(phases), _MAX_CELLS // (shown_lines * _BANKS))

    panels = []
    for number, words in enumerate(phases[:shown_phases]):
        depth = _wavefronts(words)
        cells = tuple(
            tuple(_word_cell(line * _BANKS + bank, words, depth[bank], elements, layout) for bank in range(_BANKS))
            for line in range(shown_lines)
        )
        labels = tuple(str(4 * _BANKS * line) for line in range(shown_lines))
        title = f"Phase {number}: {_count(max(depth), 'wavefront')}"
        panels.append(Panel(title, cells, labels, _numbers(_BANKS), number, 0))
    legend = (
        "Rows are 128 bytes and start at the byte in the label, columns are banks, a cell is a word of four bytes.",
        "A cell shows the lowest thread that touches the word, and how many more do.",
        "The colour is the number of distinct words that the phase touches in the bank, up to 8.",
    )
    total = sum(max(_wavefronts(words)) for words in phases)
    note = _joined(
        f"{_count(total, 'wavefront')} in {_count(len(phases), 'phase')}",
        _cut(("lines", shown_lines, lines), ("phases", shown_phases, len(phases))),
    )
    return Picture(f"{layout}, {bits}-bit elements, in shared memory", tuple(panels), note, legend, "bank")


def picture_of_access(
    title: str, parts: Sequence[Sequence[tuple[int, int]]], width: int, place: Callable[[int], str], *, banks: bool
) -> Picture:
    """Return the picture of one access of a warp: the lines of 128 bytes that it touches, in words of four bytes.

    Parameters
    ----------
    parts
        (thread, first byte) of the threads that are served together, each part a panel.
    width
        The bytes of a thread.
    place
        What the element at a byte is called.
    banks
        True: columns are the banks of shared memory, and colours count the words that a bank has to deliver to a part.
        False: colours are those of threads.
    """
    size = _WORD_BITS // 8
    panels = []
    for number, lanes in enumerate(parts):
        words: dict[int, list[int]] = defaultdict(list)
        for thread, first in lanes:
            for word in range(first // size, (first + width - 1) // size + 1):
                words[word].append(thread)
        depth = _wavefronts(words)
        lines = sorted({word // _BANKS for word in words})[:_MAX_ROWS]
        cells = tuple(
            tuple(_touched_cell(line * _BANKS + column, words, depth, place, banks) for column in range(_BANKS))
            for line in lines
        )
        labels = tuple(str(4 * _BANKS * line) for line in lines)
        threads = f"Threads {_listed(thread for thread, _ in lanes)}"
        panel_title = f"{threads}: {_count(max(depth), 'wavefront')}" if banks else threads
        panels.append(Panel(panel_title, cells, labels, _numbers(_BANKS), number, 0))
    columns = "columns are banks" if banks else "columns are their words of four bytes"
    legend = (
        f"Rows are lines of 128 bytes that are touched, labelled with their first byte; {columns}.",
        "A cell shows the lowest thread that touches the word, and how many more do.",
        "The colour is the number of distinct words of the bank, up to 8."
        if banks
        else "The colour is the thread mod 8.",
    )
    return Picture(title, tuple(panels), "", legend, "thread")


def _touched_cell(
    word: int, words: dict[int, list[int]], depth: list[int], place: Callable[[int], str], banks: bool
) -> Cell:
    byte = _WORD_BITS // 8 * word
    facts = [("byte", str(byte)), *([("bank", str(word % _BANKS))] if banks else [])]
    if word not in words:
        return Cell("", None, tuple(facts))
    threads = sorted(set(words[word]))
    facts += [("element", place(byte)), ("thread", _listed(threads))]
    if banks:
        facts.append(("words of the bank", str(depth[word % _BANKS])))
    more = f"\n+{len(threads) - 1}" if len(threads) > 1 else ""
    return Cell(f"T{threads[0]}{more}", min(depth[word % _BANKS], 8) - 1 if banks else threads[0], tuple(facts))


def _words_of(phase: Sequence[tuple[int, int, int]], bits: int) -> dict[int, list[int]]:
    """Return the threads that touch each word."""
    words: dict[int, list[int]] = defaultdict(list)
    for thread, index, count in phase:
        if index < 0 or count < 1:
            raise LayoutError(f"picture: thread {thread} cannot access {count} elements from {index} on")
        for word in range(index * bits // _WORD_BITS, ((index + count) * bits - 1) // _WORD_BITS + 1):
            words[word].append(thread)
    return words


def _wavefronts(words: Iterable[int]) -> list[int]:
    """Return how many distinct words each bank has to serve."""
    depth = [0] * _BANKS
    for word in words:
        depth[word % _BANKS] += 1
    return depth


def _word_cell(
    word: int, words: dict[int, list[int]], depth: int, elements: dict[int, list[int]], layout: Layout | ComposedLayout
) -> Cell:
    facts = [("byte", str(4 * word)), ("bank", str(word % _BANKS))]
    if word in elements:
        coordinates = (_core.print_tiler(_core.idx2crd(position, layout.shape)) for position in elements[word])
        facts.append(("coordinate", ", ".join(coordinates)))
    if word not in words:
        return Cell("", None, tuple(facts))
    threads = sorted(set(words[word]))
    facts += [("thread", _listed(threads)), ("words of the bank", str(depth))]
    more = f"\n+{len(threads) - 1}" if len(threads) > 1 else ""
    return Cell(f"T{threads[0]}{more}", min(depth, 8) - 1, tuple(facts))


# ---- Words and numbers


def _values(layout: Layout | ComposedLayout) -> list[Any]:
    if layout.size > _MAX_VALUES:
        raise LayoutError(
            f"picture: {layout} has {layout.size} values; {_MAX_VALUES} at most can be drawn; next: draw a slice of it"
        )
    return list(_core.layout_values(layout, layout.size))


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _numbers(count: int) -> tuple[str, ...]:
    return tuple(str(i) for i in range(count))


def _listed(numbers: Iterable[int]) -> str:
    """Return distinct numbers as ``"0, 4, 8..15"``."""
    runs: list[list[int]] = []
    for n in sorted(set(numbers)):
        if runs and n == runs[-1][-1] + 1:
            runs[-1].append(n)
        else:
            runs.append([n])
    return ", ".join(f"{run[0]}..{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _cut(*extents: tuple[str, int, int]) -> str:
    """Return what is left out, for each (what, shown, in all)."""
    return _joined(*(f"{what} 0..{shown - 1} of {total} shown" for what, shown, total in extents if shown < total))


def _joined(*notes: str) -> str:
    return "; ".join(note for note in notes if note)
