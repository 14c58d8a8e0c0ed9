"""Why a call runs the kernel that it runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

__all__ = ["Explanation"]


@dataclass(frozen=True)
class Step:
    """One kernel of a product.

    Attributes
    ----------
    what
        What it does, in words.
    kernel
        The kernel variant that runs, or None if every candidate refuses.
    modes
        What it sees: for each of ``"M"``, ``"N"``, ``"K"`` and ``"L"`` the extents of its modes and their strides in A, B and
        the result, None for one without them. Modes that follow one another in memory are one, those of one element are
        dropped.
    transposed
        Whether C^T = B A^T is computed, as for a C whose unit stride is along n. The bits of a C of real numbers are the
        same.
    rejected
        (variant, reason) for each candidate that cannot run.
    is_main
        Whether it multiplies A by B.
    """

    what: str
    kernel: str | None
    modes: dict[str, tuple[Any, ...]]
    transposed: bool
    rejected: tuple[tuple[str, str], ...]
    is_main: bool


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
    target
        Where the call runs: ``"cuda"``, ``"cpu"`` or ``"emulator"``.
    device
        The processor: a GPU's name, ``"cpu"`` or ``"emulator"``.
    why
        Why there.
    bytes
        Bytes that have to move at least: every element of A, B and the result once, and those of C if beta is not 0.
    workspace_bytes
        Memory for sums between the steps.
    steps
        The kernels, in order; mostly one.
    shape, dtype
        Of the result.
    """

    function: str
    m: int
    n: int
    k: int
    l: int  # noqa: E741 - CuTe's name of the mode
    compute: str
    operands: tuple[str, ...]
    target: str
    device: str
    why: str
    bytes: int
    workspace_bytes: int
    steps: tuple[Step, ...]
    shape: tuple[int, ...]
    dtype: str

    @property
    def main(self) -> Step:
        """The step that multiplies A by B."""
        return next(step for step in self.steps if step.is_main)

    @property
    def chosen(self) -> str | None:
        """The kernel variant of the main step, or None if every candidate refuses."""
        return self.main.kernel

    @property
    def transposed(self) -> bool:
        """Of the main step."""
        return self.main.transposed

    @property
    def rejected(self) -> tuple[tuple[str, str], ...]:
        """Of the main step."""
        return self.main.rejected

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
        if self.compute != "float32":
            lines.append(f"compute: {self.compute}")
        lines.append(
            f"work: {self.flops} flops, {self.bytes} bytes at least, {self.arithmetic_intensity:.3g} flops/byte"
        )
        lines.append(f"target: {self.target} ({self.device}), because {self.why}")
        if self.workspace_bytes:
            lines.append(f"workspace: {self.workspace_bytes} bytes")
        for number, step in enumerate(self.steps, 1):
            if len(self.steps) > 1:
                lines.append(f"step {number}: {step.what}")
            if any(len(group[0]) > 1 for group in step.modes.values()):
                groups = (_group_text(name, *group) for name, group in step.modes.items() if group[0])
                lines.append("modes: " + "; ".join(groups))
            if step.transposed:
                lines.append("as: C^T = B A^T, the roles of A and B exchanged")
            lines.append(f"kernel: {step.kernel or 'none fits'}")
            if step is self.main:
                lines += _reasons(step.rejected)
        return "\n".join(lines)


def explanation_of(function: str, facts: dict[str, Any]) -> Explanation:
    """Make an Explanation of what the core says of a call."""
    return Explanation(function=function, **{**facts, "steps": tuple(Step(**step) for step in facts["steps"])})


def _reasons(rejected: tuple[tuple[str, str], ...]) -> list[str]:
    by_reason: dict[str, list[str]] = {}
    for name, reason in rejected:
        by_reason.setdefault(reason, []).append(name)
    lines = []
    for reason, names in by_reason.items():
        others = f" and {len(names) - 1} other{'s' if len(names) > 2 else ''}" if len(names) > 1 else ""
        lines.append(f"  not {names[-1]}{others}: {reason}")
    return lines


def _group_text(name: str, extents: tuple[int, ...], *strides: tuple[int, ...] | None) -> str:
    found = [f"{array}{_tuple(s)}" for array, s in zip("ABC", strides, strict=True) if s is not None]
    return f"{name}={_tuple(extents)} at {' '.join(found)}"


def _tuple(values: tuple[int, ...]) -> str:
    return f"({','.join(map(str, values))})"
