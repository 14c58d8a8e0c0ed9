"""Why a call runs the kernel that it runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

__all__ = ["Explanation"]


@dataclass(frozen=True)
class Explanation:
    """What `explain` found. Its string is the explanation in words.

    Attributes
    ----------
    function
        The function that was asked about.
    m, n, k, l
        The numbers of elements of the groups of modes; l is the number of products.
    compute
        What products are formed and summed in.
    operands
        A, B, C and what else there is, as ``name dtype shape:stride device``.
    modes
        What a kernel sees: for each of ``"M"``, ``"N"``, ``"K"`` and ``"L"`` the extents of its modes and their strides in A,
        B and the result, None for one without them. Modes that follow one another in memory are one, those of one element
        are dropped.
    target
        Where the call runs: ``"cuda"``, ``"cpu"`` or ``"emulator"``.
    device
        The processor: a GPU's name, ``"cpu"`` or ``"emulator"``.
    why
        Why there.
    transposed
        Whether C^T = B A^T is computed, as for a C whose unit stride is along n. The bits of a C of
        real numbers are the same.
    chosen
        The kernel variant that runs, or None if every candidate refuses.
    bytes
        Bytes that have to move at least: every element of A, B and the result once, and those of C if beta is not 0.
    rejected
        (variant, reason) for each candidate that cannot run.
    """

    function: str
    m: int
    n: int
    k: int
    l: int  # noqa: E741 - CuTe's name of the mode
    compute: str
    operands: tuple[str, ...]
    modes: dict[str, tuple[Any, ...]]
    target: str
    device: str
    why: str
    transposed: bool
    chosen: str | None
    bytes: int
    rejected: tuple[tuple[str, str], ...]

    @property
    def flops(self) -> int:
        """Additions and multiplications of numbers of the type that is summed in."""
        return 2 * self.m * self.n * self.k * self.l

    @property
    def arithmetic_intensity(self) -> float:
        """Flops per byte that has to move at least."""
        return self.flops / self.bytes if self.bytes else math.inf

    def __str__(self) -> str:
        batch = f" L={self.l}" if self.l != 1 else ""
        lines = [f"{self.function}: M={self.m} N={self.n} K={self.k}{batch}"]
        lines += [f"  {operand}" for operand in self.operands]
        if any(len(group[0]) > 1 for group in self.modes.values()):
            lines.append(
                "modes: " + "; ".join(_group_text(name, *group) for name, group in self.modes.items() if group[0])
            )
        if self.compute != "float32":
            lines.append(f"compute: {self.compute}")
        lines.append(
            f"work: {self.flops} flops, {self.bytes} bytes at least, {self.arithmetic_intensity:.3g} flops/byte"
        )
        lines.append(f"target: {self.target} ({self.device}), because {self.why}")
        if self.transposed:
            lines.append("as: C^T = B A^T, the roles of A and B exchanged")
        lines.append(f"kernel: {self.chosen or 'none fits'}")
        by_reason: dict[str, list[str]] = {}
        for name, reason in self.rejected:
            by_reason.setdefault(reason, []).append(name)
        for reason, names in by_reason.items():
            others = f" and {len(names) - 1} other{'s' if len(names) > 2 else ''}" if len(names) > 1 else ""
            lines.append(f"  not {names[-1]}{others}: {reason}")
        return "\n".join(lines)


def _group_text(name: str, extents: tuple[int, ...], *strides: tuple[int, ...] | None) -> str:
    found = [f"{array}{_tuple(s)}" for array, s in zip("ABC", strides, strict=True) if s is not None]
    return f"{name}={_tuple(extents)} at {' '.join(found)}"


def _tuple(values: tuple[int, ...]) -> str:
    return f"({','.join(map(str, values))})"
