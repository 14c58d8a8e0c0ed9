"""`ladder`: one product by every kernel, from the plainest to the fastest, and what each step was about."""

from __future__ import annotations

import math
import operator
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from cute_py import _core
from cute_py._dtypes import DTYPES, FLOAT8, HALVES, numpy_type, stored_as
from cute_py.catalogue.kernels import Kernel, kernels, raise_unknown_kernel
from cute_py.catalogue.peers import (
    ROWS_COMPARED,
    compute_of,
    corner,
    library_of_gpu,
    require_right,
    result_of,
)
from cute_py.errors import OperandError, UnsupportedProblemError
from cute_py.machine.devices import Device, cuda_available, devices
from cute_py.products.gemm import gemm
from cute_py.products.timing import microseconds

__all__ = ["Ladder", "Rung", "ladder"]

_Array: TypeAlias = np.ndarray[Any, Any]


class _Step(NamedTuple):
    kernel: str
    of_tensor_cores: bool  # takes the type that is asked for; the others take float32
    idea: str


_STEPS = (
    _Step("reference", False, "a sum for each element of C, by the definition, on one thread of the host"),
    _Step("sgemm_1", False, "a CTA shares tiles of A and B in shared memory, a thread keeps 8x8 sums in registers"),
    _Step("sgemm_2", False, "TiledCopy and TiledMMA: accesses of 16 bytes, and who does what is a layout"),
    _Step("sgemm_sm70", False, "the next tile is on its way, in registers, while this one is multiplied"),
    _Step(
        "sgemm_sm80", False, "cp.async fills stages of shared memory past the registers; adjacent threads share reads"
    ),
    _Step(
        "gemm_sm80", True, "tensor cores: a warp multiplies fragments, read by ldmatrix out of swizzled shared memory"
    ),
    _Step("wgmma_sm90", True, "four warps multiply out of shared memory: no fragments in registers"),
    _Step("wgmma_tma_sm90", True, "one thread starts TMA loads; an mbarrier counts their bytes"),
    _Step(
        "gemm_sm90",
        True,
        "a warp copies, others compute tile after tile; clusters share boxes; results leave meanwhile",
    ),
)
_TYPES = (*HALVES, "tfloat32", "int8", *FLOAT8)

# Operations of a multiprocessor in a cycle, by compute capability: of its ordinary cores, and of its tensor cores with
# elements of one byte, which are half as many with each doubling of the bytes. Those of 8.0 take no float8.
_ORDINARY = {(8, 0): 128}
_ORDINARY_OF_OTHERS = 256
_TENSOR = {(8, 0): 4096, (9, 0): 8192}

_STEPS_OF_REFERENCE = 1 << 24  # multiply-adds, some tenths of a second


@dataclass(frozen=True)
class Rung:
    """One kernel of a `Ladder`.

    Attributes
    ----------
    kernel, variant
        What ran, such as ``"sgemm_sm80"``, ``"sgemm_sm80_nt_f32"``.
    dtype
        The type of A and B: that of the ladder for tensor cores, ``"float32"`` for the others.
    us
        Microseconds of a call; of `reference`, which computed a corner of C alone, None.
    tflops
        10^12 operations a second.
    of_cublas
        cuBLAS's time for the same type over this one; None if it was not measured.
    of_roofline
        The least time that arithmetic and memory of the device allow, over this one; None if its peak is not known.
    idea
        What the step is about.
    """

    kernel: str
    variant: str
    dtype: str
    us: float | None
    tflops: float
    of_cublas: float | None
    of_roofline: float | None
    idea: str


@dataclass(frozen=True)
class Ladder:
    """What `ladder` found.

    Attributes
    ----------
    device
        The GPU.
    measured
        True: on that GPU. False: estimated, as the choice of a kernel is; but for `reference`, which is always
        measured.
    m, n, k
        The product.
    dtype, layout
        What was asked for.
    rungs
        The kernels in their order.
    left_out
        (kernel, why) of those that do not take the product.
    """

    device: str
    measured: bool
    m: int
    n: int
    k: int
    dtype: str
    layout: str
    rungs: tuple[Rung, ...]
    left_out: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        def part(x: float | None) -> str:
            return "-" if x is None else f"{100 * x:.1f} %"

        rows = [("kernel", "A and B", "us", "TFLOP/s", "of cuBLAS", "of roofline", "idea")]
        rows += [
            (
                rung.kernel,
                rung.dtype,
                "-" if rung.us is None else f"{rung.us:.4g}",
                f"{rung.tflops:.3g}",
                part(rung.of_cublas),
                part(rung.of_roofline),
                rung.idea,
            )
            for rung in self.rungs
        ]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        left = (0, 1, 6)
        lines = [self._title()]
        for row in rows:
            cells = [x.ljust(w) if i in left else x.rjust(w) for i, (x, w) in enumerate(zip(row, widths, strict=True))]
            lines.append("  ".join(cells).rstrip())
        lines += [f"without {kernel}: {why}" for kernel, why in self.left_out]
        return "\n".join(lines)

    def _title(self) -> str:
        how = "measured" if self.measured else "estimated"
        return f"{self.m}x{self.n}x{self.k} {self.dtype} {self.layout} on {self.device}, {how}"

    def to_json(self) -> str:
        """Return everything as JSON."""
        import json

        return json.dumps(asdict(self), indent=2)

    def to_svg(self) -> str:
        """Return a chart: a bar for each kernel, as long as the logarithm of its speed."""
        return _chart(self._title(), self.rungs)

    def _repr_svg_(self) -> str:
        return self.to_svg()


def ladder(
    m: int = 4096,
    n: int | None = None,
    k: int | None = None,
    *,
    dtype: str = "float16",
    layout: str | None = None,
    device: Device | None = None,
    more: Sequence[str | Kernel] = (),
) -> Ladder:
    """Compute one product by every kernel, from `reference` to `gemm_sm90`.

    On the current GPU of PyTorch or CuPy, whichever is imported or can be, each result is compared with float64 before
    anything is timed; all kernels and cuBLAS take turns. Without a GPU, or for a `device` that you invent, the figures
    are the estimates that a choice goes by. What takes float32 alone is given the numbers as float32.

    Parameters
    ----------
    m, n, k
        The extents of C (M,N) = A (M,K) B (N,K)^T; N and K are M if left out.
    dtype
        Of A and B for tensor cores: ``"float16"``, ``"bfloat16"``, ``"tfloat32"``, ``"int8"``, ``"float8_e4m3fn"``,
        ``"float8_e5m2"``.
    layout
        ``"nt"``, ``"tn"``, ``"nn"`` or ``"tt"``, as in `cute_py.sgemm_nt`. If left out ``"nt"`` for types of 16 bits
        and ``"tn"`` for the others, of which warpgroups multiply no other.
    device
        A `Device` to estimate for.
    more
        Kernels that are rungs after these: variants by their names, or what `cute_py.workbench.Config.compile` made.

    Raises OperandError for what cannot be asked for, CuteError if a kernel computes something else than the product.

    >>> import cute_py
    >>> print(cute_py.ladder(256, device=cute_py.Device("H200")).rungs[-1].kernel)
    gemm_sm90
    """
    extents = tuple(_extent(name, m if value is None else value) for name, value in (("m", m), ("n", n), ("k", k)))
    if dtype not in _TYPES:
        raise OperandError(f"ladder: dtype is one of {', '.join(_TYPES)}, got {dtype!r}")
    if layout is None:
        layout = "nt" if dtype in HALVES else "tn"
    if layout not in ("nt", "tn", "nn", "tt"):
        raise OperandError(f"ladder: layout is one of nt, tn, nn, tt, got {layout!r}")
    if device is not None and (not isinstance(device, Device) or device.ordinal is not None):
        raise OperandError(
            "ladder: device is a cute_py.Device that you invent, to estimate for\n  next: cute_py.Device.preset('H100'), or leave "
            "device out to measure the current GPU"
        )
    steps = (*_STEPS, *_steps_of(more, dtype))
    if device is None and cuda_available():
        return _measured(steps, extents, dtype, layout)
    return _estimated(steps, extents, dtype, layout, device or Device("H200"))


def _steps_of(more: Sequence[str | Kernel], dtype: str) -> tuple[_Step, ...]:
    steps: list[_Step] = []
    for given in (more,) if isinstance(more, (str, Kernel)) else more:
        name = given.name if isinstance(given, Kernel) else given
        variants = [x for x, kernel in kernels().items() if kernel.kernel == name != x]
        if variants and name not in kernels():
            raise OperandError(
                f"ladder: more: {name} is a family of kernels\n  next: one of it: {', '.join(variants[:8])}"
            )
        if name not in kernels():
            raise_unknown_kernel(name)
        if any(name == step.kernel for step in (*_STEPS, *steps)):
            raise OperandError(f"ladder: more: {name} is a rung already\n  next: each kernel once")
        kernel = kernels()[name]
        if not kernel.multiplies or not {"float32", dtype} & set(kernel.factors):
            raise OperandError(
                f"ladder: more: {name} multiplies {', '.join(kernel.factors) or 'nothing'}, "
                f"and the ladder has float32 and {dtype}\n  next: dtype= of the kernel, or another kernel"
            )
        tile = "x".join(map(str, kernel.tile))
        idea = f"asked for by name: tiles of {tile}, {kernel.stages} stages, {kernel.threads} threads"
        steps.append(_Step(name, dtype in kernel.factors, idea))
    return tuple(steps)


def _extent(name: str, value: Any) -> int:
    try:
        extent = operator.index(value)
    except TypeError:
        extent = 0
    if not 1 <= extent <= 1 << 20:
        raise OperandError(f"ladder: {name} is an integer from 1 to {1 << 20}, got {value!r}")
    return extent


def _dtype_of(step: _Step, dtype: str) -> str:
    return dtype if step.of_tensor_cores else "float32"


def _tensor_rate(compute_capability: tuple[int, int], dtype: str) -> int | None:
    of_bytes = _TENSOR.get(compute_capability)
    if of_bytes is None or (dtype in FLOAT8 and compute_capability < (8, 9)):
        return None
    return of_bytes // DTYPES[stored_as(dtype)].bytes


def _least_us(extents: tuple[int, ...], dtype: str, of_tensor_cores: bool, device: Device) -> float | None:
    """Return the time that the device's arithmetic or its memory takes at least, whichever is longer."""
    m, n, k = extents
    if of_tensor_cores:
        rate = _tensor_rate(device.compute_capability, dtype)
    else:
        rate = _ORDINARY.get(device.compute_capability, _ORDINARY_OF_OTHERS)
    if rate is None:
        return None
    math_us: float = 2 * m * n * k / (rate * device.multiprocessors * device.clock_mhz)
    moved: int = (m + n) * k * numpy_type(stored_as(dtype)).itemsize + m * n * numpy_type(result_of(dtype)).itemsize
    return max(math_us, moved / (device.memory_gb_per_s * 1e3))


def _rung(
    step: _Step, variant: str, extents: tuple[int, ...], dtype: str, us: float, cublas: float | None, device: Device
) -> Rung:
    least = _least_us(extents, dtype, step.of_tensor_cores, device)
    m, n, k = extents
    return Rung(
        step.kernel,
        variant,
        dtype,
        us,
        2e-6 * m * n * k / us,
        None if cublas is None else cublas / us,
        None if least is None else least / us,
        step.idea,
    )


def _reference(step: _Step, extents: tuple[int, ...]) -> Rung:
    """Return what `reference` reaches on a corner of C, on the host."""
    m, n, k = extents
    rows = max(1, min(m, math.isqrt(_STEPS_OF_REFERENCE // k)))
    columns = max(1, min(n, _STEPS_OF_REFERENCE // (k * rows)))
    generator = np.random.default_rng(0)
    A, B = (generator.standard_normal((extent, k), np.float32) for extent in (rows, columns))
    begin = time.perf_counter()
    gemm(A, B, kernel="reference", device="cpu")
    us = (time.perf_counter() - begin) * 1e6
    return Rung(step.kernel, "reference_f32", "float32", None, 2e-6 * rows * columns * k / us, None, None, step.idea)


def _matrix(values: _Array, fast_first: bool) -> _Array:
    return np.asfortranarray(values) if fast_first else np.ascontiguousarray(values)


def _reason_of(kernel: str, error: UnsupportedProblemError) -> str:
    lines = str(error).splitlines()
    return _telling([line.partition(": ")[2] for line in lines if line.strip().startswith(kernel)]) or lines[0]


def _telling(reasons: list[str]) -> str:
    """Return the reason that tells most: not that a variant is for another type, if another one has a better."""
    return min(reasons, key=lambda reason: reason.startswith("takes A and B"), default="")


def _estimated(steps: tuple[_Step, ...], extents: tuple[int, ...], dtype: str, layout: str, device: Device) -> Ladder:
    m, n, k = extents
    rungs, left_out = [], []
    for step in steps:
        if step.kernel == "reference":
            rungs.append(_reference(step, extents))
            continue
        own = _dtype_of(step, dtype)
        stored, result = numpy_type(stored_as(own)), numpy_type(result_of(own))
        try:
            A = np.empty((m, k), stored, order="F" if layout[0] == "n" else "C")
            B = np.empty((n, k), stored, order="F" if layout[1] == "t" else "C")
            C = np.empty((m, n), result, order="F")
        except MemoryError:
            raise OperandError(
                f"ladder: there is no memory for the arrays of {m}x{n}x{k}\n  next: smaller ones"
            ) from None
        try:
            explanation = gemm.explain(A, B, C, kernel=step.kernel, compute=compute_of(own), device=device)
        except UnsupportedProblemError as error:
            left_out.append((step.kernel, _reason_of(step.kernel, error)))
            continue
        if not explanation.candidates:
            reason = _telling([reason for _, reason in explanation.rejected])
            left_out.append((step.kernel, reason or f"has no variant for {own}"))
            continue
        best = explanation.candidates[0]
        rungs.append(_rung(step, best.kernel, extents, own, best.us, None, device))
    return Ladder(device.name, False, m, n, k, dtype, layout, tuple(rungs), tuple(left_out))


def _measured(steps: tuple[_Step, ...], extents: tuple[int, ...], dtype: str, layout: str) -> Ladder:
    library = library_of_gpu("ladder")
    device = devices()[library.ordinal]
    m, n, k = extents
    problems: dict[str, tuple[Any, Any, Any]] = {}
    calls: dict[tuple[str, str], Callable[[], Any]] = {}  # (kernel, type)
    variants: dict[str, str] = {}
    left_out = []
    for step in steps[1:]:
        own = _dtype_of(step, dtype)
        if own not in problems:
            A = library.draw(m, k, own, layout[0] == "n")
            B = library.draw(n, k, own, layout[1] == "t")
            problems[own] = A, B, library.empty(m, n, own)
        A, B, C = problems[own]
        try:
            plan = gemm.plan(A, B, C, kernel=step.kernel, compute=compute_of(own))
        except UnsupportedProblemError as error:
            left_out.append((step.kernel, _reason_of(step.kernel, error)))
            continue
        variants[step.kernel] = gemm.explain(A, B, C, kernel=step.kernel, compute=compute_of(own)).chosen or ""
        calls[step.kernel, own] = partial(plan, A, B, C)
    expected = {own: corner(library, *arrays[:2]) for own, arrays in problems.items()}
    for (kernel, own), call in calls.items():
        call()
        require_right("ladder", kernel, library.wide(problems[own][2][:ROWS_COMPARED]), *expected[own], own, k)
    for own, (A, B, C) in problems.items():
        if (peer := library.peer(A, B, C, own)) is not None:
            calls["cublas", own] = peer
    measured = dict(
        zip(calls, microseconds(list(calls.values()), lambda: _core.synchronize(library.ordinal)), strict=True)
    )
    rungs = [_reference(steps[0], extents)]
    for step in steps[1:]:
        own = _dtype_of(step, dtype)
        if (us := measured.get((step.kernel, own))) is not None:
            cublas = measured.get(("cublas", own))
            rungs.append(_rung(step, variants[step.kernel], extents, own, us, cublas, device))
    return Ladder(device.name, True, m, n, k, dtype, layout, tuple(rungs), tuple(left_out))


# ---- The chart

_BAR, _GAP, _LEFT, _NOTES, _WIDTH, _TOP = 22, 22, 150, 210, 760, 58
_COLOURS = {False: "#94a3b8", True: "#2563eb"}


def _chart(title: str, rungs: tuple[Rung, ...]) -> str:
    import html

    left = max(_LEFT, 20 + 8 * max(len(rung.kernel) for rung in rungs))
    width = _WIDTH + left - _LEFT
    high = max(rung.tflops for rung in rungs)
    low = min([rung.tflops for rung in rungs if rung.us is not None], default=high) / 4

    def length(tflops: float) -> float:
        return max(2, round((_WIDTH - _LEFT - _NOTES) * math.log(tflops / low) / math.log(high / low), 1))

    height = _TOP + len(rungs) * (_BAR + _GAP) + 26
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="13" role="img">',
        f"<title>{html.escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="14" y="26" font-size="16" fill="#0f172a">{html.escape(title)}</text>',
    ]
    parts += [
        f'<rect x="{x}" y="36" width="12" height="12" fill="{_COLOURS[kind]}"/>'
        f'<text x="{x + 18}" y="46" font-size="11" fill="#334155">{text}</text>'
        for x, kind, text in ((14, False, "float32, without tensor cores"), (230, True, "tensor cores"))
    ]
    y = _TOP
    for rung in rungs:
        bar, colour = length(rung.tflops), _COLOURS[rung.dtype != "float32"]
        notes = [f"{rung.tflops:.3g} TFLOP/s"]
        if rung.of_cublas is not None:
            notes.append(f"{100 * rung.of_cublas:.0f} % of cuBLAS")
        parts += [
            f'<text x="{left - 8}" y="{y + 16}" text-anchor="end" fill="#0f172a">{rung.kernel}</text>',
            f'<rect x="{left}" y="{y}" width="{bar}" height="{_BAR}" rx="2" fill="{colour}"/>',
            f'<text x="{left + bar + 6}" y="{y + 16}" font-size="12" fill="#0f172a">{", ".join(notes)}</text>',
            f'<text x="{left}" y="{y + _BAR + 14}" font-size="11" fill="#475569">{html.escape(rung.idea)}</text>',
        ]
        y += _BAR + _GAP
    parts.append(
        f'<text x="14" y="{height - 10}" font-size="11" fill="#475569">The length of a bar is the logarithm of the speed over {low:.3g} TFLOP/s.</text>'
    )
    return "\n".join([*parts, "</svg>", ""])
