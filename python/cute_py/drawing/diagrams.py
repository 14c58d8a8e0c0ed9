"""What an operation on layouts does, in pictures side by side: the operands and the result, in colours that
they share.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from cute_py import _core
from cute_py._core import ComposedLayout, Layout
from cute_py._notation import read_text
from cute_py.drawing.picture import Drawable, Panel, Picture
from cute_py.drawing.subjects import picture_of_layout, picture_of_tv
from cute_py.errors import LayoutError, OperandError

__all__ = ["Diagram", "diagram"]

_MOST = 1 << 14  # elements of an operand or a result
_MOST_OF_TILE = 1 << 20
_WIDEST = 40  # columns of panels side by side

Colour = Callable[[int, int], Any]  # of a 1-D coordinate and an index; None is white


class Diagram(Drawable):
    """The picture of an operation, as `diagram` makes it: ``to_svg``, ``to_html``, ``to_latex``, ``show``, and shown in
    notebooks.
    """

    __slots__ = ("_of",)

    def __init__(self, picture: Picture) -> None:
        self._of = picture

    def _picture(self) -> Picture:
        return self._of

    def __repr__(self) -> str:
        return f"<Diagram {self._of.title}>"


def diagram(operation: str, *arguments: Any) -> Diagram:
    """Return the picture of what an operation does to layouts: operands and result, each element in the colour of what
    it belongs to.

    - ``logical_divide``, ``zipped_divide``, ``tiled_divide``, ``flat_divide``: a colour for each tile, before and
      after;
    - ``logical_product``, ``zipped_product``, ``tiled_product``, ``flat_product``, ``blocked_product``,
      ``raked_product``: block, tiler and result, a colour for each copy of the block;
    - ``complement``: the line of indices, a colour for each place that the layout can be repeated at, white where
      nothing gets;
    - ``composition``: A, B and the result, where B's element c, what it picks of A, and the result's element have one
      colour;
    - ``right_inverse``, ``left_inverse``, ``coalesce``: before and after;
    - ``tv``: a layout (thread, value) and the extents of its tile.

    Arguments are those of the operation; text in CuTe's notation will do. Raises OperandError for other operations,
    LayoutError where the operation does and for more than 16,384 elements.

    >>> diagram("zipped_divide", "(8,12):(12,1)", (4, 3))
    <Diagram zipped_divide (8,12):(12,1) by (4,3)>
    """
    draw = _DIAGRAMS.get(operation) if isinstance(operation, str) else None
    if draw is None:
        raise OperandError(f"diagram: there is none of {operation!r}; there are: {', '.join(_DIAGRAMS)}")
    try:
        return Diagram(draw(operation, *map(_read, arguments)))
    except TypeError as error:
        if "positional argument" not in str(error):
            raise
        raise OperandError(
            f"diagram: {operation} does not take {len(arguments)} arguments; next: give those of cute_py.{operation}"
        ) from None


def _read(value: Any) -> Any:
    return read_text(value) if isinstance(value, str) else value


def _divide(operation: str, layout: Any, tiler: Any) -> Picture:
    apply = getattr(_core, operation)
    domain = Layout(_domain(layout).shape)
    tiles: dict[int, int] = {}
    zipped = _core.zipped_divide(domain, tiler) if isinstance(tiler, tuple) else _core.logical_divide(domain, tiler)
    inside = int(_core.size(zipped, 0))
    for q, p in enumerate(_values(zipped)):
        tiles.setdefault(p, q // inside)
    result, places = apply(layout, tiler), apply(domain, tiler)  # places: the same elements in the same order
    panels = (
        _panel("Before", layout, lambda at, _: tiles.get(at), _blocks(layout, tiler)),
        _panel("After", result, lambda at, _: tiles.get(places(at))),
    )
    legend = ("A cell shows its index. A colour is a tile.", *_words_of_structure(panels))
    return Picture(f"{operation} {layout} by {_core.print_tiler(tiler)}", _placed(panels), "", legend, "index")


def _product(operation: str, block: Any, tiler: Any) -> Picture:
    result = getattr(_core, operation)(block, tiler)
    if operation in {"blocked_product", "raked_product"}:
        rank = max(block.rank, tiler.rank)
        pairs = _core.logical_product(_core.append(block, rank), _core.append(tiler, rank))
    else:
        pairs = _core.zipped_product(block, tiler) if isinstance(tiler, tuple) else _core.logical_product(block, tiler)
    inside = int(_core.size(pairs, 0))
    copies: dict[int, int] = {}
    for q, index in enumerate(_values(pairs)):
        copies.setdefault(index, q // inside)
    shown = [_panel("Block", block, lambda *_: 0)]
    if isinstance(tiler, Layout):
        shown.append(_panel("Tiler", tiler, lambda at, _: at))
    shown.append(_panel("Result", result, lambda _, index: copies.get(index)))
    panels = tuple(shown)
    legend = ("A cell shows its index. A colour is a copy of the block.", *_words_of_structure(panels))
    return Picture(f"{operation} {block} with {_core.print_tiler(tiler)}", _placed(panels), "", legend, "index")


def _blocks(layout: Any, tiler: Any) -> Any:
    """Return the extents of the tiles if these are blocks of adjacent elements in the modes 0 and 1, else None."""
    by_modes = tiler if isinstance(tiler, tuple) else (tiler,) if layout.rank == 1 else ()
    is_block = 1 <= len(by_modes) <= min(layout.rank, 2) and all(isinstance(t, int) for t in by_modes)
    return tuple(by_modes) if is_block else None


def _complement(operation: str, layout: Any, target: Any = None) -> Picture:
    rest = _core.complement(layout) if target is None else _core.complement(layout, target)
    both = _core.make_layout(layout, rest)
    bound = _core.cosize(layout) if target is None else _core.size(target)
    line = Layout(max(int(bound), int(_core.cosize(both))), 1)
    places: dict[int, int] = {}
    for q, index in enumerate(_values(both)):
        places.setdefault(index, q // layout.size)
    panels = (
        _panel("Layout", layout, lambda *_: 0),
        _panel("Complement", rest, lambda at, _: at),
        _panel("Indices", _rows(line), lambda _, index: places.get(index)),
    )
    legend = [
        "A cell shows its index. Each element of the complement has a colour, and so have the indices that the layout reaches from there."
    ]
    if len(places) < line.size:
        legend.append("White: reached from nowhere.")
    inside = "its cosize" if target is None else _core.print_tiler(target)
    return Picture(f"complement of {layout} in {inside}", _placed(panels), "", tuple(legend), "index")


def _composition(operation: str, a: Any, b: Any) -> Picture:
    b = Layout(b, 1) if isinstance(b, int) else b
    if not isinstance(b, Layout):
        raise LayoutError(
            f"diagram: B must be a plain layout or an integer, not {_core.print_tiler(b)}; next: draw each mode"
        )
    result = _core.composition(a, b)
    picked: dict[int, int] = {}
    for c, index in enumerate(_values(b)):
        picked.setdefault(index, c)
    panels = (
        _panel("A", a, lambda at, _: picked.get(at)),
        _panel("B", b, lambda at, _: at),
        _panel("A o B", result, lambda at, _: at),
    )
    legend = [
        "A cell shows its index. B's element c, the coordinate of A that it is, and the result's element c have one colour."
    ]
    if len(picked) < a.size:
        legend.append("White: not picked.")
    legend += _words_of_structure(panels)
    return Picture(f"composition {a} o {b}", _placed(panels), "", tuple(legend), "index")


def _inverse(operation: str, layout: Any) -> Picture:
    result = getattr(_core, operation)(layout)
    panels = (
        _panel("Layout", layout, lambda _, index: index),
        _panel("Inverse", result, lambda at, _: at),
    )
    legend = (
        "A cell shows its index. The layout's index i, and the inverse's element i, which is where, have one colour.",
    )
    return Picture(f"{operation} of {layout}", _placed(panels), "", legend, "index")


def _coalesce(operation: str, layout: Any) -> Picture:
    result = _core.coalesce(layout)
    panels = (
        _panel("Before", layout, lambda at, _: at),
        _panel("After", result, lambda at, _: at),
    )
    legend = ("A cell shows its index. The same element, counted in colexicographic order, has the same colour.",)
    return Picture(f"coalesce {layout}", _placed(panels), "", legend, "index")


def _tv(operation: str, layout: Any, tile: Any) -> Picture:
    elements = int(_core.size(tile))
    if not 1 <= elements <= _MOST_OF_TILE:
        raise LayoutError(
            f"diagram: a tile {_core.print_tiler(tile)} has {elements} elements, 1 to {_MOST_OF_TILE} are drawn; next: a smaller one of its kind"
        )
    if isinstance(_checked(layout)(0), tuple):
        raise LayoutError(f"diagram: {layout} gives coordinates; next: one that gives indices in the tile")
    return picture_of_tv(f"{layout} over {_core.print_tiler(tile)}", tile, layout)


_DIAGRAMS: dict[str, Callable[..., Picture]] = {
    **dict.fromkeys(("logical_divide", "zipped_divide", "tiled_divide", "flat_divide"), _divide),
    **dict.fromkeys(("logical_product", "zipped_product", "tiled_product", "flat_product"), _product),
    **dict.fromkeys(("blocked_product", "raked_product"), _product),
    "complement": _complement,
    "composition": _composition,
    "right_inverse": _inverse,
    "left_inverse": _inverse,
    "coalesce": _coalesce,
    "tv": _tv,
}


# ---- Panels


def _checked(layout: Any) -> Any:
    if not isinstance(layout, (Layout, ComposedLayout)):
        raise OperandError(f"diagram: expected a layout, not {type(layout).__name__}")
    if layout.size > _MOST:
        raise LayoutError(
            f"diagram: {layout} has {layout.size} elements, {_MOST} at most are drawn; next: a smaller one of its kind"
        )
    return layout


def _values(layout: Any) -> list[Any]:
    values: list[Any] = _core.layout_values(_checked(layout), layout.size)
    return values


def _domain(layout: Any) -> Any:
    """Return what has the modes: of a composed layout, its inner one."""
    return layout.inner if isinstance(layout, ComposedLayout) else _checked(layout)


def _panel(title: str, layout: Any, colour: Colour, tile: Any = None) -> Panel:
    """Return the panel of a layout, whose further modes lie along its columns."""
    drawn = _core.group(layout, 1, layout.rank) if _checked(layout).rank > 2 else layout
    drawn = _core.append(drawn, 1) if drawn.rank == 0 else drawn  # () has one coordinate
    shape = _domain(drawn).shape
    picture = picture_of_layout(drawn, color=lambda coord, index: colour(_core.crd2idx(coord, shape), index), tile=tile)
    return replace(picture.panels[0], title=f"{title}: {layout}")


def _placed(panels: tuple[Panel, ...]) -> tuple[Panel, ...]:
    """Return the panels side by side, or one above the other where they would be too wide."""
    is_wide = sum(len(panel.cells[0]) + 2 for panel in panels) > _WIDEST
    return tuple(
        replace(panel, row=number if is_wide else 0, column=0 if is_wide else number)
        for number, panel in enumerate(panels)
    )


def _rows(line: Any) -> Any:
    """Return a line of indices in rows of 32 at most: rows are mode 0."""
    size = int(line.size)
    width = next((w for w in (32, 24, 16) if size % w == 0), size) if size > 40 else size
    return Layout((size // width, width), (width, 1)) if width < size else line


def _words_of_structure(panels: tuple[Panel, ...]) -> tuple[str, ...]:
    if any(panel.rows.groups or panel.columns.groups for panel in panels):
        return ("A nested mode has its inner coordinate beside the cells, its outer one in bold.",)
    return ()
