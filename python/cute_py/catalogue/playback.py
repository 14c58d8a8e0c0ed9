"""A trace warp by warp: what the threads of a warp touch at once, and what that costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from cute_py import _core
from cute_py.drawing.picture import Drawable, Picture
from cute_py.drawing.subjects import picture_of_access
from cute_py.errors import OperandError
from cute_py.machine.banks import WARP, BankConflicts, served_together, wavefronts

__all__ = ["Instruction", "Playback"]

SPACES = ("A", "B", "C", "shared")
_SEGMENT = 32  # bytes that global memory moves at a time
_WIDTHS = (1, 2, 4, 8, 16)  # bytes that an instruction moves for a thread

Place = Callable[[int], str]  # of a byte: the element there


@dataclass(frozen=True)
class Instruction(Drawable):
    """One access of a warp in the emulator: the threads whose n-th access in a phase is of one kind.

    Attributes
    ----------
    block, warp
        Whose it is.
    phase
        Barriers that the threads had passed.
    space, is_write, bytes
        ``"A"``, ``"B"``, ``"C"`` or ``"shared"``; whether they write; what each thread moves.
    threads, offsets
        The threads of the block, and the byte at which each one starts.
    """

    block: tuple[int, int]
    warp: int
    phase: int
    space: str
    is_write: bool
    bytes: int
    threads: tuple[int, ...]
    offsets: tuple[int, ...]
    _place: Place

    @property
    def places(self) -> tuple[str, ...]:
        """The element at which each thread starts, such as ``"A(3,5)"``, or ``"sB(0,2,1)"`` in shared memory."""
        return tuple(map(self._place, self.offsets))

    @property
    def bank_conflicts(self) -> BankConflicts | None:
        """What it costs in shared memory; None elsewhere, and of what is no instruction of a thread."""
        if self.space != "shared" or self.bytes not in _WIDTHS or any(offset % self.bytes for offset in self.offsets):
            return None
        return wavefronts(self.offsets, self.bytes, is_write=self.is_write)

    @property
    def segments(self) -> tuple[int, int]:
        """Segments of 32 bytes that are touched, counted from the operand's first element, and how many the bytes would
        fill.
        """
        touched = np.unique(np.asarray(self.offsets)[:, None] + np.arange(self.bytes))
        return len(np.unique(touched // _SEGMENT)), -(-len(touched) // _SEGMENT)

    @property
    def cost(self) -> str:
        """What it costs, in words."""
        if self.space != "shared":
            segments, ideal = self.segments
            return f"{segments} segments of {_SEGMENT} bytes, {ideal} would do"
        conflicts = self.bank_conflicts
        return "no instruction of a thread" if conflicts is None else str(conflicts)

    def __str__(self) -> str:
        threads = "1 thread" if len(self.threads) == 1 else f"{len(self.threads)} threads"
        where = "shared memory" if self.space == "shared" else self.space
        how = "write" if self.is_write else "read"
        if len(self.threads) == 1:
            how += "s"
        return (
            f"phase {self.phase}: {threads} of warp {self.warp} {how} {self.bytes} bytes of {where}, thread {self.threads[0]} at "
            f"{self.places[0]}: {self.cost}"
        )

    def _picture(self) -> Picture:
        lanes = tuple(zip(self.threads, self.offsets, strict=True))
        together = len(lanes)
        if self.space == "shared" and self.bytes in _WIDTHS:
            together = served_together(np.asarray(self.offsets), self.bytes, is_write=self.is_write)
        parts = [lanes[i : i + together] for i in range(0, len(lanes), together)]
        return picture_of_access(str(self), parts, self.bytes, self._place, banks=self.space == "shared")


class Playback(Sequence[Instruction]):
    """The accesses of one warp, in order: phase by phase, and in a phase the first of each thread, then the second."""

    def __init__(
        self,
        kernel: str,
        every: npt.NDArray[np.void],
        block: tuple[int, int],
        warp: int,
        places: dict[str, Place],
    ) -> None:
        in_block = (every["block_m"] == block[0]) & (every["block_n"] == block[1])
        if not in_block.any():
            raise OperandError(
                f"instructions: the trace of {kernel} has no block {_core.print_tiler(block)}\n  next: block=(0, 0), or trace a larger product"
            )
        mine = every[in_block & (every["thread"] // WARP == warp)]
        if not len(mine):
            most = int(every["thread"][in_block].max()) // WARP
            raise OperandError(
                f"instructions: warp must be one of 0 to {most} that accesses something, not {warp}\n  next: warp={int(every['thread'][in_block].min()) // WARP}"
            )
        turn = _turns(mine)
        keys = (mine["thread"], mine["bytes"], mine["is_write"], mine["space"], turn, mine["phase"])
        order = np.lexsort(keys)
        self._accesses = mine[order]
        kinds = np.stack([np.asarray(key[order], np.int64) for key in keys[1:]])
        starts = np.nonzero(np.any(np.diff(kinds, axis=1) != 0, axis=0))[0] + 1
        self._starts: npt.NDArray[np.int64] = np.concatenate([[0], starts, [len(mine)]])
        self._block, self._warp, self._places = block, warp, places

    def __len__(self) -> int:
        return len(self._starts) - 1

    @overload
    def __getitem__(self, index: int) -> Instruction: ...
    @overload
    def __getitem__(self, index: slice) -> list[Instruction]: ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        number = range(len(self))[index]
        lanes = self._accesses[self._starts[number] : self._starts[number + 1]]
        first = lanes[0]
        space = SPACES[int(first["space"])]
        return Instruction(
            self._block, self._warp, int(first["phase"]), space, bool(first["is_write"]), int(first["bytes"]),
            tuple(lanes["thread"].tolist()), tuple(lanes["offset"].tolist()), self._places[space],
        )  # fmt: skip

    @cached_property
    def phases(self) -> dict[int, int]:
        """Of each phase, the number of its first instruction."""
        phases = self._accesses["phase"][self._starts[:-1]]
        return {int(phase): int(first) for phase, first in zip(*np.unique(phases, return_index=True), strict=True)}

    def __repr__(self) -> str:
        return f"<{len(self)} instructions of warp {self._warp} in {len(self.phases)} phases>"


def _turns(accesses: npt.NDArray[np.void]) -> npt.NDArray[np.int64]:
    """Return of each access how many its thread has made before in the phase."""
    order = np.lexsort((accesses["phase"], accesses["thread"]))  # stable: within them, as they were made
    thread, phase = accesses["thread"][order], accesses["phase"][order]
    begins = np.concatenate([[True], (np.diff(thread) != 0) | (np.diff(phase) != 0)])
    at = np.arange(len(order))
    turn = np.empty(len(order), np.int64)
    turn[order] = at - np.maximum.accumulate(np.where(begins, at, 0))
    return turn
