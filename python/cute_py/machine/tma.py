"""The rules of Hopper's tensor copy engine, checked without a GPU.

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

from cute_py.atoms import value_type
from cute_py.errors import OperandError

__all__ = ["TmaReport", "tma_check"]

MAX_RANK = 5
MAX_EXTENT = 2**32
MAX_STRIDE_BYTES = 2**40
MAX_BOX = 256
MAX_ELEMENT_STRIDE = 8
ALIGNMENT = 16  # bytes
SWIZZLES = (0, 32, 64, 128)  # bytes
SHARED_BYTES = 227 * 1024


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
    """Return which rules of the copy engine a tensor in global memory and a box of it break.

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
    broken: list[str] = []

    def rule(holds: bool, text: str) -> None:
        if not holds:
            broken.append(text)

    rule(
        element.bits in (8, 16, 32, 64),
        f"element type: {element} has {element.bits} bits; the engine moves 8, 16, 32 or 64",
    )
    rule(1 <= len(extents) <= MAX_RANK, f"rank: {len(extents)} modes; 1 to {MAX_RANK} are possible; next: merge modes")
    rule(address % ALIGNMENT == 0, f"address: {address:#x} is no multiple of {ALIGNMENT}")
    size = element.bits // 8 or 1
    for mode, (extent, step, length, skip) in enumerate(zip(extents, strides, tile, steps, strict=True)):
        rule(1 <= extent <= MAX_EXTENT, f"extent of mode {mode}: {extent} is not in 1 to {MAX_EXTENT}")
        if mode == 0:
            rule(
                step == 1,
                f"global stride of mode 0: {step}, it is 1 by definition; next: put the contiguous mode first",
            )
        else:
            moved = step * size
            up = -(-moved // ALIGNMENT) * ALIGNMENT // size
            hint = f"; next: pad it to {up} elements" if step > 0 else ""
            rule(
                moved % ALIGNMENT == 0,
                f"global stride of mode {mode}: {step} elements are {moved} bytes, no multiple of {ALIGNMENT}{hint}",
            )
            rule(
                0 <= moved < MAX_STRIDE_BYTES, f"global stride of mode {mode}: {moved} bytes are not in 0 to 2**40 - 1"
            )
        rule(
            1 <= length <= MAX_BOX, f"box extent of mode {mode}: {length} is not in 1 to {MAX_BOX}; next: several boxes"
        )
        rule(
            1 <= skip <= MAX_ELEMENT_STRIDE,
            f"element stride of mode {mode}: {skip} is not in 1 to {MAX_ELEMENT_STRIDE}",
        )
    inner = tile[0] * size if tile else 0
    rule(inner % ALIGNMENT == 0, f"box extent of mode 0: {inner} bytes are no multiple of {ALIGNMENT}")
    if swizzle:
        rule(
            inner <= swizzle,
            f"swizzle span: the box is {inner} bytes wide, the swizzle spans {swizzle}; next: a box of "
            f"{swizzle // size} elements",
        )
    box_bytes = size
    for length, skip in zip(tile, steps, strict=True):
        box_bytes *= -(-length // skip) if skip > 0 else length
    rule(box_bytes <= SHARED_BYTES, f"box: its {box_bytes} bytes do not fit the {SHARED_BYTES} bytes of shared memory")
    return TmaReport(tuple(broken), box_bytes)


def _integers(name: str, value: Any) -> tuple[int, ...]:
    items = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if any(not isinstance(i, int) or isinstance(i, bool) for i in items):
        raise OperandError(f"tma_check: {name} must be an integer or a flat tuple of integers, not {value!r}")
    return items
