"""The rules of Hopper's TMA, checked without a GPU.

Source of the rules: the CUDA driver API's description of ``cuTensorMapEncodeTiled``.

>>> from cute_py import tma_check
>>> print(tma_check((100, 64), (1, 100), "half_t", (64, 64)))
tma_check: 1 rule broken
  global stride of mode 1: 100 elements are 200 bytes, no multiple of 16; next: pad it to 104 elements
>>> tma_check((4096, 4096), (1, 4096), "half_t", (64, 128), swizzle=128).ok
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cute_py import _core
from cute_py.atoms import value_type
from cute_py.errors import OperandError

__all__ = ["TmaReport", "tma_check"]

SWIZZLES = (0, 32, 64, 128)  # bytes
_END = 2**59  # of what is counted: 8 times as many still have 63 bits


@dataclass(frozen=True)
class TmaReport:
    """The rules that a tensor and a box break, each with the way out. Empty, and true as a bool, if none."""

    broken: tuple[str, ...]
    box_bytes: int

    @property
    def ok(self) -> bool:
        return not self.broken

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        if self.ok:
            return f"tma_check: every rule holds; a box has {self.box_bytes} bytes"
        s = "" if len(self.broken) == 1 else "s"
        return "\n".join([f"tma_check: {len(self.broken)} rule{s} broken", *(f"  {rule}" for rule in self.broken)])


def tma_check(
    shape: Any,
    stride: Any,
    dtype: Any,
    box: Any,
    *,
    swizzle: int = 0,
    element_strides: Any = None,
    address: int = 0,
) -> TmaReport:
    """Return which rules of TMA a tensor in global memory and a box of it break.

    Parameters
    ----------
    shape, stride
        Extents and strides in elements, the mode with stride 1 first: up to 5 modes.
    dtype
        The element type, as in `value_type`.
    box
        The extents of the tile that one copy moves.
    swizzle
        0, 32, 64 or 128: the span in bytes of the swizzle in shared memory.
    element_strides
        Of the box, 1 unless given.
    address
        Of the tensor's first element.

    Raises OperandError for arguments that are no tensor at all: tuples of unequal length, unknown types or swizzles.
    """
    element = value_type(dtype)
    extents, strides, tile = (_integers(name, v) for name, v in (("shape", shape), ("stride", stride), ("box", box)))
    steps = (1,) * len(extents) if element_strides is None else _integers("element_strides", element_strides)
    if not len(extents) == len(strides) == len(tile) == len(steps):
        raise OperandError(
            f"tma_check: shape, stride, box and element_strides have {len(extents)}, {len(strides)}, {len(tile)} and "
            f"{len(steps)} modes; give each as many"
        )
    if swizzle not in SWIZZLES:
        raise OperandError(f"tma_check: swizzle must be one of {', '.join(map(str, SWIZZLES))} bytes, not {swizzle!r}")
    broken, box_bytes = _core.box_rules(
        str(element), element.bits, extents, strides, tile, steps, swizzle, _address(address)
    )
    return TmaReport(broken, box_bytes)


def _address(value: Any) -> int:
    (address,) = _integers("address", value)
    return address


def _integers(name: str, value: Any) -> tuple[int, ...]:
    items = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if any(not isinstance(i, int) or isinstance(i, bool) for i in items):
        raise OperandError(f"tma_check: {name} must be an integer or a flat tuple of integers, not {value!r}")
    if any(not -_END < i < _END for i in items):
        raise OperandError(f"tma_check: {name} is beyond 2**59: {value!r}")
    return items
