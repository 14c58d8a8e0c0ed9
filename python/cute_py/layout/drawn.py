"""The compiled classes Layout and ComposedLayout, with the methods that draw them."""

from __future__ import annotations

import os
from typing import Any

from cute_py._core import ComposedLayout, Layout
from cute_py.drawing import picture
from cute_py.drawing.subjects import picture_of_layout
from cute_py.errors import LayoutError

AnyLayout = Layout | ComposedLayout


def to_svg(self: AnyLayout, path: str | os.PathLike[str] | None = None, **options: Any) -> str:
    """Return the layout as SVG: the index at each coordinate. It is written to a file, too, if there is a path.

    Options
    -------
    tile
        An extent for mode 0, or for the modes 0 and 1: lines between tiles, which have colours of their own.
    color
        ``"index"``, ``"tile"``, ``"row"``, ``"column"``, ``"mode0"``, ``"mode1"``, or a function of coordinate and
        index that returns a number, None for white.
    mark
        A coordinate with None for open modes: the slice that is coloured.
    bank
        Bits of an element: coloured by the bank of shared memory.

    Raises LayoutError for options that the layout does not have.
    """
    return picture.kept(picture.to_svg(_drawn(self, options)), path)


def to_latex(self: AnyLayout, path: str | os.PathLike[str] | None = None, **options: Any) -> str:
    """Return the same picture as a LaTeX document for pdflatex, and write it to a file if there is a path."""
    return picture.kept(picture.to_latex(_drawn(self, options)), path)


def to_html(self: AnyLayout, path: str | os.PathLike[str] | None = None, **options: Any) -> str:
    """Return the same picture as one HTML page that needs nothing else; hovering a cell tells about it.

    It is written to a file, too, if there is a path.
    """
    return picture.kept(picture.to_html(_drawn(self, options)), path)


def show(self: AnyLayout, **options: Any) -> None:
    """Open the HTML page in a browser."""
    picture.show(_drawn(self, options))


def _drawn(layout: AnyLayout, options: dict[str, Any]) -> picture.Picture:
    unknown = set(options) - {"tile", "color", "mark", "bank"}
    if unknown:
        raise LayoutError(
            f"picture: there is no option {', '.join(sorted(unknown))}; next: tile=, color=, mark=, bank="
        )
    return picture_of_layout(layout, **options)


def _repr_html_(self: AnyLayout) -> str | None:
    return picture.image_or_none(lambda: picture_of_layout(self))


__all__ = ["ComposedLayout", "Layout"]

for layout_class in (Layout, ComposedLayout):
    for method in (to_svg, to_latex, to_html, show, _repr_html_):
        setattr(layout_class, method.__name__, method)
