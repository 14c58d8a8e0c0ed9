"""CuTe's layout algebra with run-time integers, under CuTe's names.

A layout maps coordinates to indices. Its first mode is the fastest (colexicographic order). Python ints are dynamic,
`Int` is static. Both give the same function; what is printed differs, ``(_4,8):(_1,4)``, and sometimes the modes do:
`make_layout` gives a static extent of 1 the stride 0, a dynamic one its stride, and `complement` merges adjacent
static extents with each other, and dynamic ones, but none of one kind with one of the other. Where C++ has to decide by
types whether modes merge, values decide here. ``Int(8)`` is also written ``_8``: ``from cute_py.layout import _8``.
``None`` stands for CuTe's ``_``, a tuple of tilers acts by modes, and text in CuTe's notation, ``<3:4,8:2>`` for a
tuple of tilers, is accepted wherever a layout is.

Every function raises `LayoutError` for arguments that are no layouts, shapes or tilers, for results that do not fit in
64 bits, and where its law would not hold.

``from cute_py.layout import *`` leaves out `filter` and `zip`, which would take the place of Python's own. They are
``cute_py.layout.filter`` and ``cute_py.layout.zip``.
"""

from __future__ import annotations

from typing import Any

from cute_py._core import Swizzle, print_tiler
from cute_py.layout import functions
from cute_py.layout.drawn import ComposedLayout, Layout
from cute_py.layout.functions import *  # noqa: F403
from cute_py.layout.functions import filter as filter  # noqa: A004 - CuTe's name
from cute_py.layout.functions import zip as zip  # noqa: A004 - CuTe's name
from cute_py.layout.integers import E, Int, LayoutLeft, LayoutRight, ScaledBasis, is_static
from cute_py.layout.tensor import make_fragment_like

__all__ = [
    "ComposedLayout",
    "E",
    "Int",
    "Layout",
    "LayoutLeft",
    "LayoutRight",
    "ScaledBasis",
    "Swizzle",
    "X",
    "group_modes",
    "is_static",
    "make_coord",
    "make_fragment_like",
    "make_shape",
    "make_step",
    "make_stride",
    "make_tile",
    "notation",
]
__all__ += functions.__all__


def make_shape(*elements: Any) -> tuple[Any, ...]:
    """Return a tuple, as CuTe's function of this name. So do `make_stride`, `make_coord`, `make_tile` and `make_step`.

    >>> print(make_layout(make_shape(Int(4), 8), make_stride(8, Int(1))))
    (_4,8):(8,_1)
    """
    return elements


make_stride = make_coord = make_tile = make_step = make_shape
group_modes = functions.group
X = None  # in CuTe's Step<_1,X,_1>: a mode left out


def __getattr__(name: str) -> Int:
    """Return the static integer ``_8`` of a name like this."""
    if name.startswith("_") and name[1:].isdecimal():
        return Int(name[1:])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def notation(value: object) -> str:
    """Return a layout, a tiler, a shape, a stride or a coordinate as CuTe prints it.

    >>> notation((Int(4), (2, None)))
    '(_4,(2,_))'
    """
    if isinstance(value, (Layout, ComposedLayout, Swizzle)):
        return str(value)
    return print_tiler(value)
