"""CuTe's printed tables of layouts and tensors, to the character where CuTe has them, but for blanks at ends
of lines.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TextIO

import numpy as np

from cute_py import _core
from cute_py._core import ComposedLayout, Layout
from cute_py._dtypes import NOT_IN_NUMPY
from cute_py._notation import read_layout
from cute_py.errors import LayoutError, OperandError
from cute_py.layout.tensor import Tensor

__all__ = ["print_layout", "print_tensor"]

_MOST = 1 << 16  # elements of a table
_TALLEST = 4  # modes of a tensor that is printed


def print_layout(layout: Any, *, file: TextIO | None = None) -> None:
    """Print a layout and the table of its indices, mode 0 down and mode 1 across, as CuTe's function of this name does.

    A layout of one mode is one column; of more than two modes there is a table for each coordinate of the further ones.
    Layouts of coordinates print these. Raises LayoutError for a layout of more than 65,536 elements.

    >>> print_layout("(2,3):(3,1)")
    (2,3):(3,1)
          0   1   2
        +---+---+---+
     0  | 0 | 1 | 2 |
        +---+---+---+
     1  | 3 | 4 | 5 |
        +---+---+---+
    """
    layout = _layout(layout)
    if layout.size > _MOST:
        raise LayoutError(
            f"print_layout: {layout} has {layout.size} elements, a table has {_MOST} at most; next: print a slice of it"
        )
    values = [str(layout)]
    if layout.rank <= 2:
        values += _table(layout)
    else:
        for k in range(int(_core.size(_core.take(layout, 2, layout.rank)))):
            at = _core.idx2crd(k, _core.product_each(_core.take(layout, 2, layout.rank)))
            values += [f"(_,_,{','.join(map(str, at))})", *_table(layout, at)]
    print("\n".join(values), file=file or sys.stdout)


def _table(layout: Any, at: tuple[int, ...] = ()) -> list[str]:
    rows = int(_core.size(layout, 0)) if layout.rank else 1
    columns = int(_core.size(layout, 1)) if layout.rank > 1 else 1
    cells = [[_text(layout(*((m, n) if layout.rank > 1 else (m,)), *at)) for n in range(columns)] for m in range(rows)]
    least = len(str(layout.cosize)) if layout.size and isinstance(layout(0), int) else 1
    width = max([least, *(len(cell) for row in cells for cell in row)])
    line = "    " + ("+" + "-" * (width + 2)) * columns + "+"
    lines = ["    " + "".join(f"  {n:{width}} " for n in range(columns)).rstrip()]
    for m, row in enumerate(cells):
        lines += [line, f"{m:2}  " + "".join(f"| {cell:>{width}} " for cell in row) + "|"]
    return [*lines, line]


def _text(value: Any) -> str:
    return _core.print_tiler(value) if isinstance(value, tuple) else str(value)


def print_tensor(tensor: Any, print_type: bool = True, *, file: TextIO | None = None) -> None:
    """Print a tensor's values, as CuTe's function of this name does: mode 0 down, mode 1 across, modes 2 and 3 one
    after the other.

    A tensor of coordinates or indices prints these. ``print_type=False`` leaves out the line about pointer and layout.
    An element that the array does not have, as in the last tiles of a ragged matrix, is a ``.``. Raises LayoutError for
    more than four modes.

    >>> from cute_py import make_tensor
    >>> print_tensor(make_tensor(np.arange(6, dtype=np.int32), (2, 3)), print_type=False)
        0    2    4
        1    3    5
    """
    if not isinstance(tensor, Tensor):
        raise OperandError(
            f"print_tensor: expected a Tensor, not {type(tensor).__name__}; next: make_tensor(x), or print_layout"
        )
    if not 1 <= tensor.rank <= _TALLEST or tensor.size > _MOST:
        raise LayoutError(
            f"print_tensor: {tensor.layout} has {tensor.rank} modes and {tensor.size} elements, 1 to {_TALLEST} modes and {_MOST} "
            "elements are printed; next: print a slice, or group modes"
        )
    text = [f"{tensor}:\n"] if print_type else []
    _append(text, tensor, _format(tensor))
    print("".join(text), end="", file=file or sys.stdout)


def _append(text: list[str], tensor: Tensor, form: Callable[[Any], str]) -> None:
    if tensor.rank == 1:
        text += [form(_element(tensor, m)) + "\n" for m in range(tensor.size)]
    elif tensor.rank == 2:
        for m in range(int(_core.size(tensor, 0))):
            text += ["".join(form(_element(tensor, (m, n))) for n in range(int(_core.size(tensor, 1)))), "\n"]
    else:
        last = tensor.rank - 1
        for k in range(int(_core.size(tensor, last))):
            if k:
                text.append(("-", "=")[last - 2] * (5 * int(_core.size(tensor, 1))) + "\n")
            _append(text, tensor[(*(None,) * last, k)], form)


def _element(tensor: Tensor, coord: Any) -> Any:
    return tensor[coord] if tensor.has(coord) else None


def _format(tensor: Tensor) -> Callable[[Any], str]:
    """Return CuTe's way to print an element of this type; what does not exist is as wide."""
    if tensor.dtype is None:
        return lambda value: f"{value:5}" if isinstance(value, int) else f"  {_core.print_tiler(value)}"
    kind, bits = tensor.dtype.kind, 8 * tensor.dtype.itemsize
    if kind == "b":
        form = "3d"
    elif kind in "iu":
        form = "5d"
    elif tensor.dtype in (np.float32, np.float64):
        form = "10.2e" if bits == 32 else "11.3e"
    elif kind in "cmMUSV" and tensor.dtype.name not in NOT_IN_NUMPY:  # whose kind is V
        return lambda value: f"  {value}" if value is not None else "  ."
    else:  # float16, and the types of ml_dtypes
        form = "8.2f"
    number = int if kind in "biu" else float
    width = int(form.split(".")[0].rstrip("d"))
    return lambda value: format(number(value), form) if value is not None else ".".rjust(width)


def _layout(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.layout
    if isinstance(value, str):
        return read_layout(value)
    if not isinstance(value, (Layout, ComposedLayout)):
        raise OperandError(
            f"print_layout: expected a layout, not {type(value).__name__}; next: print_tensor(make_tensor(x)) prints an array"
        )
    return value
