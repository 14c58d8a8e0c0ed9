"""The compiled classes Layout and ComposedLayout, with the methods that draw them."""

from __future__ import annotations

import os

from cute_py._core import ComposedLayout, Layout
from cute_py.drawing import picture
from cute_py.drawing.subjects import picture_of_layout

AnyLayout = Layout | ComposedLayout


def to_svg(self: AnyLayout, path: str | os.PathLike[str] | None = None, *, bank: int | None = None) -> str:
    """Return the layout as SVG: the index at each coordinate. With ``bank=bits``, coloured by shared-memory bank.

    It is written to a file, too, if there is a path.
    """
    return picture.kept(picture.to_svg(picture_of_layout(self, bank=bank)), path)


def to_latex(self: AnyLayout, path: str | os.PathLike[str] | None = None, *, bank: int | None = None) -> str:
    """Return the same picture as a LaTeX document for pdflatex, and write it to a file if there is a path."""
    return picture.kept(picture.to_latex(picture_of_layout(self, bank=bank)), path)


def to_html(self: AnyLayout, path: str | os.PathLike[str] | None = None, *, bank: int | None = None) -> str:
    """Return the same picture as one HTML page that needs nothing else; hovering a cell tells about it.

    It is written to a file, too, if there is a path.
    """
    return picture.kept(picture.to_html(picture_of_layout(self, bank=bank)), path)


def show(self: AnyLayout, *, bank: int | None = None) -> None:
    """Open the HTML page in a browser."""
    picture.show(picture_of_layout(self, bank=bank))


def _repr_html_(self: AnyLayout) -> str:
    return picture.to_image(picture_of_layout(self))


__all__ = ["ComposedLayout", "Layout"]

for layout_class in (Layout, ComposedLayout):
    for method in (to_svg, to_latex, to_html, show, _repr_html_):
        setattr(layout_class, method.__name__, method)
