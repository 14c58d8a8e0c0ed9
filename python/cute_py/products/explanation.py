"""Why a call runs the kernel that it runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from cute_py.products.precision import Bound, bound_of

__all__ = ["Candidate", "Explanation"]


class Candidate(NamedTuple):
    """A way to compute a product, complete: pass it as `config`, and it is taken.

    Attributes
    ----------
    kernel
        The variant that multiplies.
    transposed
        Whether C^T = B A^T is computed.
    split_k
        CTAs that share the K of a tile of C (split-K); their sums are added in their order. 1: no CTA shares it.
    ctas
        CTAs of the launch that multiplies; 0 on a CPU.
    us
        What all of its steps are expected to take, in microseconds.
    bound
        What is expected to limit it: ``"math"``, ``"memory"`` or ``"latency"``.
    packed
        What is copied, by its letters: A and B first, so that they lie in vectors of 16 bytes, and C in the end, from a
        dense array that is written instead. ``""`` if nothing is.
    cluster
        (M,N,K): CTAs of a cluster with adjacent tiles along M, which share tiles of B, along N, which share tiles
        of A (multicast), and such as share K, which reduce their sums through distributed shared memory. (1,1,1): no
        cluster. None leaves it to the kernel's family. The first two change no bit.
    raster
        The height of a raster band, in rows of clusters; each band goes column by column, for hits in L2. 0: tiles are
        in the order of the grid. None leaves it to the kernel's family. It changes no bit.
    """

    kernel: str
    transposed: bool
    split_k: int
    ctas: int
    us: float
    bound: str
    packed: str = ""
    cluster: tuple[int, int, int] | None = None
    raster: int | None = None

    @property
    def reduction(self) -> str:
        """How the sums of a split K become one: ``"none"``, ``"cluster"``, ``"global"`` (memory), or first one, then
        the other.
        """
        if self.split_k == 1:
            return "none"
        in_cluster = 1 if self.cluster is None else self.cluster[2]
        if in_cluster == 1:
            return "global"
        return "cluster" if in_cluster == self.split_k else "cluster, then global"

    def __str__(self) -> str:
        words = [self.kernel]
        if self.packed:
            words.append(f"{' and '.join(self.packed)} packed")
        if self.transposed:
            words.append("as C^T = B A^T")
        if self.split_k > 1:
            words.append(f"split-K by {self.split_k} ({self.reduction})")
        if self.cluster is not None and self.cluster != (1, 1, 1):
            words.append(f"clusters of {'x'.join(map(str, self.cluster))}")
        if self.raster:
            words.append(f"raster {self.raster}")
        if self.ctas:
            words.append(f"{self.ctas} CTA{'s' * (self.ctas != 1)}")
        return f"{', '.join(words)}: {self.us:.3g} us, {self.bound}"


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
        What it sees: for each of ``"M"``, ``"N"``, ``"K"`` and ``"L"`` the extents of its modes and their strides in A,
        B and the result, None for one without them. Modes that follow one another in memory are one, those of one
        element are dropped.
    transposed
        Whether C^T = B A^T is computed, as for a C whose unit stride is along n. The bits of a C of real numbers are
        the same.
    rejected
        (variant, reason) for each candidate that cannot run.
    is_main
        Whether it multiplies A by B, or is the copy itself.
    us
        What it is expected to take, in microseconds.
    bytes
        Bytes that it has to move at least.
    bound
        What is expected to limit it.
    """

    what: str
    kernel: str | None
    modes: dict[str, tuple[Any, ...]]
    transposed: bool
    rejected: tuple[tuple[str, str], ...]
    is_main: bool
    us: float
    bytes: int
    bound: str


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
        What products are formed and summed in; ``"copy"`` of a copy, whose elements are counted by m alone.
    precision
        The way to emulate precision that was asked for, such as ``"fp16x3"``; None: there was none.
    planes
        Of emulated precision, what factors are split into, and how many: ``("fp16", 2)`` or ``("bf16", 3)`` planes, or
        residues modulo so many numbers, ``("residues", 8)``, of complex numbers ``("gaussian", 7)``. None: the product
        is computed in `compute` itself.
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
        Memory for what is packed, and for sums, between the steps.
    steps
        The kernels, in order; mostly one.
    shape, dtype
        Of the result.
    order
        The modes of a new result, counted from 0, from the slowest to the fastest.
    candidates
        Every way to multiply that could be taken, the chosen one first, then by what they are expected to take.
    tuned
        Whether the chosen one was measured, see `tune`, and not estimated.
    staged
        Whether the arrays are copied to another device, and the result back.
    product
        The product in words, with all that a choice may look at: types, alignments, modes.
    labels
        A letter for each mode of A, of B and of the result.
    """

    function: str
    m: int
    n: int
    k: int
    l: int  # noqa: E741 - CuTe's name of the mode
    compute: str
    precision: str | None
    planes: tuple[str, int] | None
    operands: tuple[str, ...]
    target: str
    device: str
    why: str
    bytes: int
    workspace_bytes: int
    steps: tuple[Step, ...]
    shape: tuple[int, ...]
    order: tuple[int, ...]
    dtype: str
    candidates: tuple[Candidate, ...]
    tuned: bool
    staged: bool
    product: str
    labels: tuple[str, str, str]

    @property
    def us(self) -> float:
        """What all steps are expected to take, in microseconds; on a CPU a rough guess."""
        return sum(step.us for step in self.steps)

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
        return 0 if self.compute == "copy" else 2 * self.m * self.n * self.k * self.l

    @property
    def arithmetic_intensity(self) -> float:
        """Flops per byte that has to move at least."""
        return self.flops / self.bytes if self.bytes else math.inf

    def __str__(self) -> str:
        """Return the short form: the chosen kernels, the next best, and the reasons against others in a line each."""
        return self.text()

    def text(self, *, long: bool = False) -> str:
        """Return the explanation in words: the best five candidates and the refusals of the main step by their reasons.

        In the long form all candidates, and every kernel that refuses with its reason.
        """
        lines = [f"{self.function}: {self._extents_text()}"]
        lines += [f"  {operand}" for operand in self.operands]
        if self.compute == "copy":
            lines.append(f"work: {self.bytes} bytes")
        else:
            if self.compute != "float32" or self.planes is not None:
                lines.append(f"compute: {self.compute}{self._precision_text()}")
            lines.append(
                f"work: {self.flops} flops, {self.bytes} bytes at least, {self.arithmetic_intensity:.3g} flops/byte"
            )
        lines.append(f"target: {self.target} ({self.device}), because {self.why}")
        if self.workspace_bytes:
            lines.append(f"workspace: {self.workspace_bytes} bytes")
        blocks = sum(step.is_main for step in self.steps)
        shown = len(self.steps) if blocks == 1 else [step.what for step in self.steps].index("combine") + 1
        for number, step in enumerate(self.steps[:shown], 1):
            if len(self.steps) > 1:
                lines.append(f"step {number}: {step.what}, {step.bytes} bytes, {step.us:.3g} us")
            if any(len(group[0]) > 1 for group in step.modes.values()):
                groups = (_group_text(name, *group) for name, group in step.modes.items() if group[0])
                lines.append("modes: " + "; ".join(groups))
            if step.transposed:
                lines.append(
                    "as: C^T = B A^T, the roles of A and B exchanged: what refuses A below means B, and M means N"
                )
            lines.append(f"kernel: {step.kernel or 'none fits'}")
            if step is self.main:
                lines += self._candidates_text(len(self.candidates) if long else 5)
                lines += _reasons(step.rejected, long)
        if blocks > 1:
            us = sum(step.us for step in self.steps[shown:])
            lines.append(
                f"steps {shown + 1} to {len(self.steps)}: the same for {blocks - 1} more blocks of columns, {us:.3g} us"
            )
        return "\n".join(lines)

    @property
    def error_bound(self) -> Bound | None:
        """Of emulated precision, a bound of the error, beside that of rounding the result. None: exact arithmetic of
        `compute`.
        """
        return None if self.planes is None else bound_of(*self.planes, self.k)

    def _precision_text(self) -> str:
        if self.planes is None:
            return ""
        kind, count = self.planes
        products = {"residues": count, "gaussian": 2 * count}.get(kind, 3 if count == 2 else 6)
        planes = f"{products} products of int8, modulo {count} numbers"
        if kind in ("fp16", "bf16"):
            planes = f"{products} products of {count} planes of {'float16' if kind == 'fp16' else 'bfloat16'}"
        return f" by {planes}; error at most {self.error_bound}"

    def _extents_text(self) -> str:
        if self.compute == "copy":
            return f"{self.m} elements"
        return f"M={self.m} N={self.n} K={self.k}" + (f" L={self.l}" if self.l != 1 else "")

    def _candidates_text(self, count: int) -> list[str]:
        if not self.candidates:
            return []
        chosen, *others = self.candidates
        lines = [f"  {'measured as the best' if self.tuned else 'chosen'}: {chosen}"]
        lines += [f"  next: {candidate}" for candidate in others[: count - 1]]
        return lines

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(self.text())}</pre>"


def explanation_of(function: str, facts: dict[str, Any]) -> Explanation:
    """Make an Explanation of what the core says of a call."""
    steps = tuple(Step(**step) for step in facts["steps"])
    candidates = tuple(Candidate(*candidate) for candidate in facts["candidates"])
    return Explanation(function=function, **{**facts, "steps": steps, "candidates": candidates})


def _reasons(rejected: tuple[tuple[str, str], ...], long: bool) -> list[str]:
    if long:
        return [f"  not {name}: {reason}" for name, reason in rejected]
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
