"""Text in CuTe's notation, read as what it is: a layout, a swizzle or a tiler. No caller looks into the text."""

from __future__ import annotations

from typing import Any

from cute_py import _core
from cute_py._core import ComposedLayout, Layout
from cute_py.errors import LayoutError

__all__ = ["read_layout", "read_text"]


def read_text(text: str) -> Any:
    """Return the layout that a text is, a shape that of ``Layout(shape)``; else the swizzle, or the tiler as a tuple.

    ``(4,3)`` is a layout and ``<4,3>`` a tiler. Raises LayoutError for what is none of these.
    """
    try:
        return Layout(text)
    except LayoutError:
        return _core.parse(text)


def read_layout(text: str) -> Layout | ComposedLayout:
    """Return the layout that a text is. Raises LayoutError for anything else."""
    value = read_text(text)
    return value if isinstance(value, (Layout, ComposedLayout)) else Layout(text)
