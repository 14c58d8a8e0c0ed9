"""Why a call runs the kernel that it runs."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Explanation"]


@dataclass(frozen=True)
class Explanation:
    """What `explain` found. Its string is the explanation in words.

    Attributes
    ----------
    function
        The function that was asked about.
    m, n, k
        The extents of the problem.
    operands
        A, B and C as ``name dtype shape:stride device``.
    target
        Where the call runs: ``"cuda"``, ``"cpu"`` or ``"emulator"``.
    device
        The processor: a GPU's name, ``"cpu"`` or ``"emulator"``.
    why
        Why there.
    transposed
        Whether C^T = B A^T is computed, as for a C whose unit stride is along n. The bits of C are the same.
    chosen
        The kernel variant that runs, or None if every candidate refuses.
    rejected
        (variant, reason) for each candidate that cannot run.
    """

    function: str
    m: int
    n: int
    k: int
    operands: tuple[str, str, str]
    target: str
    device: str
    why: str
    transposed: bool
    chosen: str | None
    rejected: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        lines = [f"{self.function}: M={self.m} N={self.n} K={self.k}"]
        lines += [f"  {operand}" for operand in self.operands]
        lines.append(f"target: {self.target} ({self.device}), because {self.why}")
        if self.transposed:
            lines.append("as: C^T = B A^T, the roles of A and B exchanged")
        lines.append(f"kernel: {self.chosen or 'none fits'}")
        lines += [f"  not {name}: {reason}" for name, reason in self.rejected]
        return "\n".join(lines)
