"""Pictures as data, and how they become SVG, LaTeX and HTML. Knows nothing of layouts."""

from __future__ import annotations

import os
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from cute_py._files import write_whole
from cute_py.errors import LayoutError

__all__ = [
    "COLOURS",
    "LINK_ALL",
    "Cell",
    "Drawable",
    "Panel",
    "Picture",
    "Structure",
    "image_or_none",
    "kept",
    "linking_script",
    "linking_style",
    "show",
    "to_facts",
    "to_html",
    "to_html_fragment",
    "to_image",
    "to_latex",
    "to_svg",
    "to_svg_in_page",
]

# Okabe and Ito's hues, tinted to the lightnesses L* = 95, 91, 86, ... 61: they differ without their hue, and black text
# has a contrast of 6.8:1 or more on each.
COLOURS = ("#f9f4af", "#cee9f9", "#f4d48c", "#c9c9c9", "#76cbb4", "#d99cbe", "#e18c49", "#4b9bc9")
_BLANK = "#ffffff"

# Pixels of SVG
_CHARACTER, _LINE = 7, 14  # of the text in cells, of labels, legend and note
_PANEL_CHARACTER, _PANEL_LINE = 8, 20
_TITLE_CHARACTER, _TITLE_LINE = 9, 22
_MARGIN, _GAP = 12, 20
_LONGEST = 16  # characters in a line of a cell; longer lines are set smaller
_POINTS = 0.7  # TeX points for a pixel


@dataclass(frozen=True)
class Cell:
    """One square.

    Attributes
    ----------
    text
        Up to two lines.
    colour
        `COLOURS[colour % 8]` fills the square; None leaves it white.
    facts
        (name, value) that hovering tells. A value may be several, ``"0, 4, 8..15"``.
    """

    text: str
    colour: int | None
    facts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Structure:
    """What belongs together along the rows, or along the columns, of a panel.

    Attributes
    ----------
    rules
        (position, weight): a line of weight 1, 2 or 3 before the row, or the column, of that number.
    groups
        (first, end, label): a label for several, outside of their own labels.
    """

    rules: tuple[tuple[int, int], ...] = ()
    groups: tuple[tuple[int, int, str], ...] = ()

    def cut(self, most: int) -> Structure:
        return Structure(
            tuple((at, weight) for at, weight in self.rules if at <= most),
            tuple((first, min(end, most), label) for first, end, label in self.groups if first < most),
        )


@dataclass(frozen=True)
class Panel:
    """A grid of cells with its labels. `row` and `column` place it in the grid of panels, whose first cells are
    aligned.
    """

    title: str
    cells: tuple[tuple[Cell, ...], ...]
    row_labels: tuple[str, ...]
    column_labels: tuple[str, ...]
    row: int = 0
    column: int = 0
    rows: Structure = Structure()
    columns: Structure = Structure()


@dataclass(frozen=True)
class Picture:
    """Panels under one title.

    Attributes
    ----------
    legend
        What the cells mean, in lines.
    note
        What was left out, or found.
    highlight
        The fact by which the HTML page picks out cells at first.
    """

    title: str
    panels: tuple[Panel, ...]
    note: str = ""
    legend: tuple[str, ...] = ()
    highlight: str = ""


class Drawable:
    """What can draw itself."""

    __slots__ = ()

    def _picture(self) -> Picture:
        raise NotImplementedError

    def to_svg(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the picture as SVG, and write it to a file if there is a path."""
        return kept(to_svg(self._picture()), path)

    def to_latex(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the picture as a LaTeX document for pdflatex, or for lualatex if it has more than some 6000 cells."""
        return kept(to_latex(self._picture()), path)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the picture as one HTML page that needs nothing else; hovering a cell tells about it."""
        return kept(to_html(self._picture()), path)

    def show(self) -> None:
        """Open the HTML page in a browser."""
        show(self._picture())

    def _repr_html_(self) -> str | None:
        return image_or_none(self._picture)


def image_or_none(draw: Callable[[], Picture]) -> str | None:
    """Return a picture for a notebook; None, which leaves it to the text, of what has none."""
    try:
        return to_image(draw())
    except LayoutError:
        return None


@dataclass(frozen=True)
class _Plan:
    """Where everything goes, in pixels from the upper left corner."""

    width: int
    height: int
    side: int
    shrink: float  # of the text in cells
    title: list[str]
    text: list[str]
    text_top: int
    panels: list[tuple[Panel, int, int]]  # with x and y of the first cell's corner


def _plan(picture: Picture) -> _Plan:
    cells = [cell for panel in picture.panels for row in panel.cells for cell in row]
    longest = max((len(line) for cell in cells for line in cell.text.split("\n")), default=1)
    label = max((len(text) for panel in picture.panels for text in panel.column_labels), default=1)
    lines = max((cell.text.count("\n") + 1 for cell in cells), default=1)
    characters = max(min(longest, _LONGEST), label)
    side = max(24, _CHARACTER * characters + 8, _LINE * lines + 4)

    panel_rows, panel_columns = _tracks(picture.panels, side)
    body_width = sum(label + width + _GAP for label, width in panel_columns) - _GAP
    width = max(body_width, 60 * _CHARACTER)
    title = _wrap(picture.title, width // _TITLE_CHARACTER)
    text = [line for entry in (*picture.legend, picture.note) for line in _wrap(entry, width // _CHARACTER)]

    top = _MARGIN + _TITLE_LINE * len(title)
    xs, ys, x, y = [], [], _MARGIN, top
    for left, extent in panel_columns:
        xs.append(x + left)
        x += left + extent + _GAP
    for head, extent in panel_rows:
        ys.append(y + head)
        y += head + extent + _GAP
    text_top = y - _GAP + _LINE
    return _Plan(
        width=width + 2 * _MARGIN,
        height=text_top + _LINE * len(text) + _MARGIN,
        side=side,
        shrink=min(1.0, _LONGEST / longest) if longest else 1.0,
        title=title,
        text=text,
        text_top=text_top,
        panels=[(panel, xs[panel.column], ys[panel.row]) for panel in picture.panels],
    )


def _tracks(panels: tuple[Panel, ...], side: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return what each row and each column of panels needs: pixels before the cells, and for the cells."""
    rows = [(0, 0)] * (max((panel.row for panel in panels), default=-1) + 1)
    columns = [(0, 0)] * (max((panel.column for panel in panels), default=-1) + 1)
    for panel in panels:
        head = _PANEL_LINE * bool(panel.title) + _LINE * (bool(panel.column_labels) + bool(panel.columns.groups)) + 4
        left = _CHARACTER * (_widest(panel.row_labels) + _widest(label for *_, label in panel.rows.groups)) + 6
        left += 6 * bool(panel.rows.groups)
        across = max((len(row) for row in panel.cells), default=0) * side
        before, extent = rows[panel.row]
        rows[panel.row] = max(before, head), max(extent, len(panel.cells) * side)
        before, extent = columns[panel.column]
        columns[panel.column] = max(before, left), max(extent, across, len(panel.title) * _PANEL_CHARACTER)
    return rows, columns


def _widest(labels: Iterable[str]) -> int:
    return max((len(label) for label in labels), default=0)


def _wrap(text: str, width: int) -> list[str]:
    return [line for part in text.split("\n") for line in textwrap.wrap(part, width, break_on_hyphens=False)]


# ---- SVG


def to_svg(picture: Picture) -> str:
    """Return a picture as SVG of a fixed size that refers to nothing outside."""
    return _svg(picture, "")


def _svg(picture: Picture, attributes: str) -> str:
    plan = _plan(picture)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{plan.width}" height="{plan.height}" '
        f'viewBox="0 0 {plan.width} {plan.height}" font-family="Menlo,Consolas,\'DejaVu Sans Mono\',monospace" '
        f'font-size="11" fill="#000"{attributes}>',
        f'<rect width="{plan.width}" height="{plan.height}" fill="#fff"/>',
    ]
    for i, line in enumerate(plan.title):
        lines.append(_text(_MARGIN, _MARGIN + _TITLE_LINE * i + 12, line, ' font-size="14" font-weight="bold"'))
    for panel, x, y in plan.panels:
        lines.extend(_svg_panel(panel, x, y, plan))
    for i, line in enumerate(plan.text):
        lines.append(_text(_MARGIN, plan.text_top + _LINE * i + 10, line))
    lines.append("</svg>\n")
    return "\n".join(lines)


def _svg_panel(panel: Panel, x: int, y: int, plan: _Plan) -> Iterator[str]:
    side = plan.side
    if panel.title:
        baseline = y - 10 - _LINE * (bool(panel.column_labels) + bool(panel.columns.groups))
        yield _text(x, baseline, panel.title, ' font-size="12" font-weight="bold"')
    yield '<g fill="#444" text-anchor="middle">'
    for i, label in enumerate(panel.column_labels):
        yield _text(x + side * i + side // 2, y - 5, label)
    for first, end, label in panel.columns.groups:
        yield _text(x + side * (first + end) // 2, y - 5 - _LINE, label, ' font-weight="bold"')
    yield "</g>"
    yield '<g fill="#444" text-anchor="end">'
    for i, label in enumerate(panel.row_labels):
        yield _text(x - 5, y + side * i + side // 2 + 4, label)
    beyond = x - 11 - _CHARACTER * _widest(panel.row_labels)
    for first, end, label in panel.rows.groups:
        yield _text(beyond, y + side * (first + end) // 2 + 4, label, ' font-weight="bold"')
    yield "</g>"
    size = f' font-size="{11 * plan.shrink:.2f}"' if plan.shrink < 1 else ""
    yield f'<g data-columns="{len(panel.cells[0])}" text-anchor="middle"{size}>'
    for i, row in enumerate(panel.cells):
        for j, cell in enumerate(row):
            left, top = x + side * j, y + side * i
            texts = cell.text.split("\n")
            first = top + side // 2 + 4 - (_LINE // 2) * (len(texts) - 1)
            words = (_text(left + side // 2, first + _LINE * k, line) for k, line in enumerate(texts) if line)
            title = f"<title>{_xml(_tooltip(cell))}</title>" if cell.facts else ""
            yield (
                f'<g>{title}<rect x="{left}" y="{top}" width="{side}" height="{side}" '
                f'fill="{_fill(cell)}" stroke="#666"/>{"".join(words)}</g>'
            )
    yield "</g>"
    if panel.rows.rules or panel.columns.rules:
        width, height = side * len(panel.cells[0]), side * len(panel.cells)
        yield '<g stroke="#000" stroke-linecap="square" fill="none" pointer-events="none">'
        yield f'<rect x="{x}" y="{y}" width="{width}" height="{height}" stroke-width="2"/>'
        for at, weight in panel.rows.rules:
            yield f'<path d="M{x} {y + side * at}h{width}" stroke-width="{weight + 1}"/>'
        for at, weight in panel.columns.rules:
            yield f'<path d="M{x + side * at} {y}v{height}" stroke-width="{weight + 1}"/>'
        yield "</g>"


def _fill(cell: Cell) -> str:
    return _BLANK if cell.colour is None else COLOURS[cell.colour % len(COLOURS)]


def _tooltip(cell: Cell) -> str:
    return "\n".join(f"{name}: {value}" for name, value in cell.facts)


def _text(x: int, y: int, text: str, attributes: str = "") -> str:
    return f'<text x="{x}" y="{y}"{attributes}>{_xml(text)}</text>'


def _xml(text: str) -> str:
    """Escape text. XML has no control characters but tab and line feed, and no surrogates: they are spelled out."""
    allowed = re.sub(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]", lambda match: ascii(match[0])[1:-1], text
    )
    from html import escape

    return escape(allowed)


# ---- LaTeX


def to_latex(picture: Picture) -> str:
    """Return a picture as a LaTeX document of one page that needs TikZ alone; (row, column) are coordinates, as CuTe
    has them.

    pdflatex has memory for some 6000 cells; lualatex, whose memory grows, compiles larger pictures.
    """
    plan = _plan(picture)
    width, height, side = (_POINTS * pixels for pixels in (plan.width + 1, plan.height + 1, plan.side))
    cell_size = f"minimum size={side / plan.shrink:.2f}pt" + (f",scale={plan.shrink:.3f}" if plan.shrink < 1 else "")
    lines = [
        r"\documentclass{article}",
        rf"\usepackage[paperwidth={width:.1f}pt,paperheight={height:.1f}pt,margin=0pt,noheadfoot]{{geometry}}",
        r"\usepackage{tikz}",
        *(rf"\definecolor{{cell{i}}}{{HTML}}{{{colour[1:].upper()}}}" for i, colour in enumerate(COLOURS)),
        r"\pagestyle{empty}",
        r"\setlength{\parindent}{0pt}\frenchspacing",
        r"\begin{document}%",
        rf"\begin{{tikzpicture}}[x={{(0pt,-{_POINTS}pt)}},y={{({_POINTS}pt,0pt)}},",
        r"  every node/.style={inner sep=0pt,outer sep=0pt,align=center,font=\fontsize{8}{9}\selectfont\ttfamily},",
        rf"  cell/.style={{draw=black!60,{cell_size}}}]",
        rf"\useasboundingbox (0,0) rectangle ({plan.height},{plan.width});",
    ]
    for i, line in enumerate(plan.title):
        lines.append(
            _node(
                _MARGIN + _TITLE_LINE * i + 8, _MARGIN, line, r"anchor=west,font=\fontsize{10}{12}\selectfont\ttfamily"
            )
        )
    for panel, x, y in plan.panels:
        lines.extend(_latex_panel(panel, x, y, plan))
    for i, line in enumerate(plan.text):
        lines.append(_node(plan.text_top + _LINE * i + 6, _MARGIN, line, "anchor=west"))
    lines += [r"\end{tikzpicture}%", r"\end{document}", ""]
    return "\n".join(lines)


def _latex_panel(panel: Panel, x: int, y: int, plan: _Plan) -> Iterator[str]:
    side, half = plan.side, plan.side // 2
    points = f"{_POINTS * side:.2f}pt"
    if panel.title:
        yield _node(
            y - 14 - _LINE * (bool(panel.column_labels) + bool(panel.columns.groups)),
            x,
            panel.title,
            r"anchor=west,font=\fontsize{9}{11}\selectfont\ttfamily",
        )
    for i, label in enumerate(panel.column_labels):
        yield _node(y - 9, x + side * i + half, label)
    for i, label in enumerate(panel.row_labels):
        yield _node(y + side * i + half, x - 5, label, "anchor=east")
    for first, end, label in panel.columns.groups:
        yield _node(y - 9 - _LINE, x + side * (first + end) // 2, label, r"font=\bfseries\ttfamily\small")
    beyond = x - 11 - _CHARACTER * _widest(panel.row_labels)
    for first, end, label in panel.rows.groups:
        yield _node(y + side * (first + end) // 2, beyond, label, r"anchor=east,font=\bfseries\ttfamily\small")
    yield rf"\begin{{scope}}[shift={{({y + half},{x + half})}},x={{(0pt,-{points})}},y={{({points},0pt)}}]"
    for i, row in enumerate(panel.cells):
        for j, cell in enumerate(row):
            fill = "white" if cell.colour is None else f"cell{cell.colour % len(COLOURS)}"
            yield _node(i, j, cell.text, f"cell,fill={fill}")
    yield r"\end{scope}"
    down, right = y + side * len(panel.cells), x + side * len(panel.cells[0])
    if panel.rows.rules or panel.columns.rules:
        yield rf"\draw[line width=1.4pt] ({y},{x}) rectangle ({down},{right});"
    for at, weight in panel.rows.rules:
        yield rf"\draw[line width={0.7 * (weight + 1):.1f}pt] ({y + side * at},{x}) -- ({y + side * at},{right});"
    for at, weight in panel.columns.rules:
        yield rf"\draw[line width={0.7 * (weight + 1):.1f}pt] ({y},{x + side * at}) -- ({down},{x + side * at});"


# In the typewriter font, characters are where ASCII has them.
_TEX = {c: "\\" + c for c in "#$%&_"} | {c: rf"\char{ord(c)}{{}}" for c in "\\~^{}"}


def _node(row: int, column: int, text: str, options: str = "") -> str:
    return rf"\node[{options}] at ({row},{column}) {{{_tex(text)}}};"


def _tex(text: str) -> str:
    """Escape text; what is not ASCII is spelled out, as pdflatex has no glyphs for most of it."""
    lines = (ascii(line)[1:-1] if not (line.isascii() and line.isprintable()) else line for line in text.split("\n"))
    return r"\\".join("".join(_TEX.get(c, c) for c in line) for line in lines)


# ---- HTML


def to_html(picture: Picture) -> str:
    """Return a picture as one offline page: the facts of the cell under the mouse or the focus, and the cells that
    share one.
    """
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{_xml(picture.title)}</title>\n'
        f"<style>{_STYLE}{linking_style()}</style>\n</head>\n<body>\n<main>\n{to_svg(picture)}</main>\n"
        f"<aside>\n{to_facts([picture])}</aside>\n"
        f"<script>{linking_script()}{LINK_ALL}</script>\n</body>\n</html>\n"
    )


def to_facts(pictures: Sequence[Picture]) -> str:
    """Return, for a page of pictures, which fact to highlight and where those of a cell appear. `linking_script` fills
    it.
    """
    shared = _shared_facts(pictures)
    wanted = next((picture.highlight for picture in pictures if picture.highlight in shared), next(iter(shared), ""))
    radios = "\n".join(
        f'<label><input type="radio" name="fact" value="{_xml(name)}"{" checked" if name == wanted else ""}> {_xml(name)}</label>'
        for name in shared
    )
    choice = f"<fieldset><legend>Highlight the same</legend>\n{radios}\n</fieldset>\n" if shared else ""
    return (
        f'{choice}<dl id="facts" aria-live="polite"></dl>\n'
        "<p>Hover a cell, or focus one with Tab and move with the arrow keys.</p>\n"
    )


def linking_script() -> str:
    """Return the script that lets the cells of several pictures tell their facts together."""
    return _beside("linked.js")


def linking_style() -> str:
    """Return the style that the script needs."""
    return _beside("linked.css")


LINK_ALL = 'linkPictures(document.body, document.getElementById("facts"));\n'


def _beside(name: str) -> str:
    from pathlib import Path

    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def to_svg_in_page(picture: Picture) -> str:
    """Return a picture for a page of others that has a style of its own for it, as a group that has the title as its
    name.
    """
    return _svg(picture, f' role="group" aria-label="{_xml(picture.title)}"')


def to_html_fragment(picture: Picture) -> str:
    """Return a picture for a page of others: SVG with tooltips that scrolls where it is too wide."""
    return f'<div style="overflow:auto;max-height:45em">{_svg(picture, _FIXED_SIZE)}</div>\n'


def to_image(picture: Picture) -> str:
    """Return a picture for a notebook: an image that is also shown where the notebook is not trusted, of at most 200
    kB.

    What would be larger is cut, and says so. An image has no tooltips.
    """
    from base64 import b64encode

    bare = _without_facts(picture)
    page = to_svg(bare).encode()
    for most in (64, 48, 32, 24, 16, 12, 8, 4):
        if len(page) <= _MOST_OF_IMAGE:
            break
        page = to_svg(_cut(bare, most)).encode()
    source = b64encode(page).decode()
    return (
        f'{_said(picture)}<div style="overflow:auto;max-height:45em"><img alt="{_xml(picture.title)}" style="max-width:none" '
        f'src="data:image/svg+xml;base64,{source}"></div>\n'
    )


def _said(picture: Picture) -> str:
    """Return legend and note as text: they are also at the end of the picture, which may have to be scrolled."""
    said = " ".join(entry for entry in (*picture.legend, picture.note) if entry)
    return f'<div style="font-size:smaller">{_xml(said)}</div>' if said else ""


_MOST_OF_IMAGE = 147_000  # bytes, four thirds of which are stored


def _without_facts(picture: Picture) -> Picture:
    return _mapped(
        picture, lambda panel: tuple([tuple([replace(cell, facts=()) for cell in row]) for row in panel.cells])
    )


def _cut(picture: Picture, most: int) -> Picture:
    """Return the first panels of a picture, and of each the first rows and columns."""
    panels = [panel for panel in picture.panels if panel.row < _MOST_PANELS and panel.column < _MOST_PANELS]
    cut = _mapped(
        replace(picture, panels=tuple(panels)), lambda panel: tuple([row[:most] for row in panel.cells[:most]])
    )
    note = f"cut to {most}x{most} cells; to_html(path) and show() have all"
    return replace(cut, note="; ".join(part for part in (picture.note, note) if part))


_MOST_PANELS = 4  # in a row, or a column, of a picture that is cut


def _mapped(picture: Picture, cells_of: Callable[[Panel], tuple[tuple[Cell, ...], ...]]) -> Picture:
    panels = []
    for panel in picture.panels:
        cells = cells_of(panel)
        width = len(cells[0]) if cells else 0
        panels.append(
            replace(
                panel,
                cells=cells,
                row_labels=panel.row_labels[: len(cells)],
                column_labels=panel.column_labels[:width],
                rows=panel.rows.cut(len(cells)),
                columns=panel.columns.cut(width),
            )
        )
    return replace(picture, panels=tuple(panels))


def kept(text: str, path: str | os.PathLike[str] | None) -> str:
    """Return a text, written to a file if there is a path. Raises OSError where it cannot be written."""
    if path is not None:
        from pathlib import Path

        write_whole(Path(path), lambda file: file.write(text.encode()))
    return text


def show(picture: Picture) -> None:
    """Open a picture's page in a browser. Raises OSError where there is none."""
    import tempfile
    import webbrowser
    from pathlib import Path

    with tempfile.NamedTemporaryFile("w", encoding="utf-8", prefix="cute-py-", suffix=".html", delete=False) as file:
        file.write(to_html(picture))
    if not webbrowser.open(Path(file.name).as_uri()):
        raise OSError(f"there is no browser to show {file.name}")


_FIXED_SIZE = ' style="max-width:none"'


def _shared_facts(pictures: Sequence[Picture]) -> list[str]:
    """Return the names of the facts that some cells have in common, in the order in which they appear."""
    cells = [cell for picture in pictures for panel in picture.panels for row in panel.cells for cell in row]
    counts = Counter((name, value) for cell in cells for name, values in cell.facts for value in values.split(", "))
    names = dict.fromkeys(name for cell in cells for name, _ in cell.facts)
    common = {name for (name, _), count in counts.items() if count > 1}
    return [name for name in names if name in common]


_STYLE = """
body { display: grid; grid-template-columns: 1fr 17em; height: 100vh; margin: 0; font: 14px/1.4 system-ui, sans-serif;
  color: #000; background: #fff }
main, aside { overflow: auto }
aside { box-sizing: border-box; padding: 1em; border-left: 1px solid #999 }
p { color: #444 }
@media (max-width: 50em) {
  body { grid-template: 1fr 15em / 1fr }
  aside { border-left: none; border-top: 1px solid #999 }
}
"""
