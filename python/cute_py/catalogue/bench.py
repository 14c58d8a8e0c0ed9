"""`bench`: products of many sizes, types and layouts by the kernels that are asked for, verified, beside a library's
own.
"""

from __future__ import annotations

import math
import operator
import os
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from typing import Any

from cute_py import _core
from cute_py._dtypes import FACTORS
from cute_py.atoms import value_type
from cute_py.catalogue.peers import (
    ROWS_COMPARED,
    Library,
    compute_of,
    corner,
    library_of_cpu,
    library_of_gpu,
    require_right,
    result_of,
)
from cute_py.errors import OperandError, UnsupportedProblemError
from cute_py.machine.devices import cuda_available, devices
from cute_py.products.gemm import gemm
from cute_py.products.timing import microseconds

__all__ = ["Bench", "Timing", "bench"]

_TYPES = (*FACTORS, "tfloat32")
_LAYOUTS = ("nt", "tn", "nn", "tt")
_MOST = 1 << 20


@dataclass(frozen=True)
class Timing:
    """One product by one kernel.

    Attributes
    ----------
    m, n, k, dtype, layout
        The product C (M,N) = A (M,K) B (N,K)^T; layouts as in `cute_py.sgemm_nt`.
    kernel
        The variant that ran; of a product that was refused, what was asked for.
    us
        Microseconds of a planned call, the median of five rounds in which all take turns; None where it was refused.
    gflops
        10^9 operations a second; four times as many for a complex multiply-add.
    peer_us
        The library's time for the same product, None if it has none.
    ratio
        The library's time over this one.
    refused
        Why the kernel does not take the product, else "".
    """

    m: int
    n: int
    k: int
    dtype: str
    layout: str
    kernel: str
    us: float | None
    gflops: float | None
    peer_us: float | None
    ratio: float | None
    refused: str = ""


@dataclass(frozen=True)
class Bench:
    """What `bench` found: `timings`, on `device`, beside the products of `peer`."""

    device: str
    peer: str
    timings: tuple[Timing, ...]

    def __str__(self) -> str:
        def number(x: float | None, form: str = ".4g") -> str:
            return "-" if x is None else format(x, form)

        rows = [("M", "N", "K", "type", "layout", "kernel", "us", "GFLOP/s", f"{self.peer} us", "ratio")]
        rows += [
            (str(t.m), str(t.n), str(t.k), t.dtype, t.layout, t.kernel, number(t.us), number(t.gflops), number(t.peer_us), number(t.ratio, ".2f"))
            for t in self.timings
        ]  # fmt: skip
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = [f"on {self.device}; ratio: the time of {self.peer} over ours"]
        for row in rows:
            cells = [
                x.ljust(w) if 3 <= i <= 5 else x.rjust(w) for i, (x, w) in enumerate(zip(row, widths, strict=True))
            ]
            lines.append("  ".join(cells).rstrip())
        lines += [
            f"{t.kernel} does not take {t.m}x{t.n}x{t.k} {t.dtype} {t.layout}: {t.refused}"
            for t in self.timings
            if t.refused
        ]
        ratios = sorted(t.ratio for t in self.timings if t.ratio is not None)
        if len(ratios) > 1:
            mean = statistics.geometric_mean(ratios)
            tenth = ratios[len(ratios) // 10]
            lines.append(f"ratio: geometric mean {mean:.2f}, a tenth below {tenth:.2f}, least {ratios[0]:.2f}")
        return "\n".join(lines)

    def to_json(self) -> str:
        """Return everything as JSON."""
        import json

        return json.dumps(asdict(self), indent=2)

    def to_csv(self) -> str:
        """Return a line for each timing, with a head."""
        import csv
        import io

        out = io.StringIO()
        names = [field.name for field in fields(Timing)]
        writer = csv.DictWriter(out, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(t) for t in self.timings)
        return out.getvalue()

    def to_svg(self) -> str:
        """Return a chart: a bar for each timing, as long as its speed, and a mark for the library's."""
        return _chart(self)

    def _repr_svg_(self) -> str:
        return self.to_svg()


def bench(
    *problems: int | str | Sequence[int],
    dtypes: str | Iterable[str] = "float32",
    layouts: str | Iterable[str] = "nt",
    kernels: str | Iterable[str] = "auto",
    device: str | None = None,
) -> Bench:
    """Time products by kernels, and the same products by cuBLAS, through PyTorch or CuPy, or on a CPU by NumPy.

    Each result is compared with float64, or complex128, in its first rows before anything is timed.

    Parameters
    ----------
    problems
        ``512`` for a square, ``"512x1024x256"`` or ``(512, 1024, 256)`` for M, N, K.
    dtypes, layouts
        One or several, all of which are combined with the problems; layouts ``"nt"``, ``"tn"``, ``"nn"``, ``"tt"``.
    kernels
        ``"auto"``, what a call would choose; ``"all"``, every candidate; names of kernels or of variants, as in
        `cute_py.gemm`.
    device
        ``"cuda"`` or ``"cpu"``; by default the current GPU, if there is one.

    Raises OperandError for what cannot be asked for, CuteError if a kernel computes something else than the product. A
    kernel that does not take a product has a row that says why.

    >>> found = bench((64, 48, 32), device="cpu")
    >>> found.timings[0].us > 0, found.peer
    (True, 'NumPy')
    """
    if not problems:
        raise OperandError("bench: give at least one problem, such as 512 or '512x1024x256'")
    cases = [_extents(problem) for problem in problems]
    types = _chosen("dtypes", dtypes, _TYPES)
    majors = _chosen("layouts", layouts, _LAYOUTS)
    names = _listed("kernels", kernels)
    where = device if device is not None else "cuda" if cuda_available() else "cpu"
    if where not in ("cpu", "cuda"):
        raise OperandError(f"bench: device is 'cpu' or 'cuda', not {device!r}")
    if where == "cuda" and not cuda_available():
        raise OperandError("bench: there is no GPU that can be used; next: device='cpu'")
    library: Any = library_of_gpu("bench") if where == "cuda" else library_of_cpu()
    timings = []
    for extents in cases:
        for dtype in types:
            if where == "cpu":
                _check_memory(extents, dtype)
            for layout in majors:
                timings += _timed(library, extents, dtype, layout, names)
    name = devices()[library.ordinal].name if library.ordinal is not None else f"a CPU with {_core.host_isa()}"
    return Bench(name, library.name, tuple(timings))


def _extents(problem: Any) -> tuple[int, int, int]:
    parts = problem.lower().split("x") if isinstance(problem, str) else problem
    if not isinstance(parts, (list, tuple)):
        parts = [parts]
    try:
        numbers = [int(p) if isinstance(p, str) else operator.index(p) for p in parts if not isinstance(p, bool)]
    except (TypeError, ValueError):
        numbers = []
    if len(numbers) == 1:
        numbers *= 3
    if len(numbers) != 3 or not all(1 <= x <= _MOST for x in numbers):
        raise OperandError(
            f"bench: a problem is one extent, or M, N and K, from 1 to {_MOST}, such as 512 or '512x1024x256', not {problem!r}"
        )
    return numbers[0], numbers[1], numbers[2]


def _chosen(name: str, value: str | Iterable[str], known: Sequence[str]) -> list[str]:
    chosen = _listed(name, value)
    unknown = [x for x in chosen if x not in known]
    if unknown:
        raise OperandError(f"bench: {name} are among {', '.join(known)}; not {', '.join(map(repr, unknown))}")
    return chosen


def _listed(name: str, value: Any) -> list[str]:
    names = [value] if isinstance(value, str) else list(value) if isinstance(value, Iterable) else []
    if not names or not all(isinstance(n, str) for n in names):
        raise OperandError(f"bench: {name} must be a name or several, not {value!r}")
    return names


def _check_memory(extents: tuple[int, int, int], dtype: str) -> None:
    """Raise OperandError for a product whose arrays would fill the memory: beside them there are wider copies for the
    check.
    """
    m, n, k = extents
    needed = 2 * (m * k + n * k + m * n) * value_type(dtype).bits // 8
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > there:
        raise OperandError(
            f"bench: {m}x{n}x{k} of {dtype} takes {needed / 2**30:.1f} GiB with its copies, this machine has {there / 2**30:.1f}; "
            "next: smaller extents"
        )


def _timed(library: Any, extents: tuple[int, int, int], dtype: str, layout: str, names: Sequence[str]) -> list[Timing]:
    m, n, k = extents
    A = library.draw(m, k, dtype, layout[0] == "n")
    B = library.draw(n, k, dtype, layout[1] == "t")
    C = library.empty(m, n, dtype)
    options = {"compute": compute_of(dtype)} if compute_of(dtype) else {}
    calls: list[tuple[str, Callable[[], Any]]] = []
    refused: list[tuple[str, str]] = []
    for name in names:
        try:
            calls += _calls(A, B, C, name, options)
        except UnsupportedProblemError as error:
            refused.append((name, str(error).splitlines()[0]))
    expected = corner(library, A, B)
    for variant, call in calls:
        C[...] = math.nan if result_of(dtype) not in ("int32",) else -1
        call()
        require_right("bench", variant, library.wide(C[:ROWS_COMPARED]), *expected, dtype, k)
    peer = library.peer(A, B, C, dtype)
    all_calls = [call for _, call in calls] + ([peer] if peer is not None else [])
    us = microseconds(all_calls, partial(_wait, library))
    peer_us = us[-1] if peer is not None else None
    flops = (8 if dtype.startswith("complex") else 2) * m * n * k
    timings = [
        Timing(
            m,
            n,
            k,
            dtype,
            layout,
            variant,
            own,
            1e-3 * flops / own,
            peer_us,
            None if peer_us is None else peer_us / own,
        )
        for (variant, _), own in zip(calls, us, strict=False)
    ]
    return timings + [Timing(m, n, k, dtype, layout, name, None, None, peer_us, None, why) for name, why in refused]


def _calls(A: Any, B: Any, C: Any, name: str, options: dict[str, Any]) -> list[tuple[str, Callable[[], Any]]]:
    if name == "all":
        found = gemm.explain(A, B, C, **options).candidates
        return [(str(c.kernel), partial(gemm, A, B, C, config=c, **options)) for c in found]
    plan = gemm.plan(A, B, C, kernel=name, **options)
    chosen = gemm.explain(A, B, C, kernel=name, **options).chosen or name
    return [(chosen, partial(plan, A, B, C))]


def _wait(library: Library) -> None:
    ordinal = getattr(library, "ordinal", None)
    if ordinal is not None:
        _core.synchronize(ordinal)


# ---- The chart

_BAR, _GAP, _LEFT, _NOTES, _WIDTH, _TOP = 18, 8, 330, 150, 860, 62


def _chart(found: Bench) -> str:
    import html

    rows = [t for t in found.timings if t.us is not None and t.gflops is not None]
    flops = {t: t.gflops * t.us for t in rows if t.gflops is not None and t.us is not None}
    speeds = [t.gflops for t in rows if t.gflops is not None]
    speeds += [flops[t] / t.peer_us for t in rows if t.peer_us is not None]
    most = max(speeds, default=1.0)
    room = _WIDTH - _LEFT - _NOTES
    height = _TOP + max(1, len(rows)) * (_BAR + _GAP) + 16
    title = f"Products on {found.device}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        'font-family="sans-serif" font-size="12" role="img">',
        f"<title>{html.escape(title)}</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="14" y="24" font-size="16" fill="#0f172a">{html.escape(title)}</text>',
        '<rect x="14" y="36" width="12" height="12" fill="#2563eb"/><text x="32" y="46" fill="#334155">cute_py</text>',
        f'<path d="M120 34v16" stroke="#dc2626" stroke-width="3"/><text x="128" y="46" fill="#334155">{html.escape(found.peer)}</text>',
    ]
    y = _TOP
    for t in rows:
        label = html.escape(f"{t.m}x{t.n}x{t.k} {t.dtype} {t.layout} {t.kernel}")
        bar = max(1.0, round(room * (t.gflops or 0) / most, 1))
        parts.append(
            f'<text x="{_LEFT - 8}" y="{y + 13}" text-anchor="end" font-size="11" fill="#0f172a">{label}</text>'
        )
        parts.append(f'<rect x="{_LEFT}" y="{y}" width="{bar}" height="{_BAR}" rx="2" fill="#2563eb"/>')
        note = f"{t.gflops:.4g} GFLOP/s"
        if t.peer_us is not None:
            at = _LEFT + round(room * flops[t] / t.peer_us / most, 1)
            parts.append(f'<path d="M{at} {y - 2}v{_BAR + 4}" stroke="#dc2626" stroke-width="3"/>')
            bar = max(bar, at - _LEFT)
            note += f", {t.ratio:.2f}"
        parts.append(f'<text x="{_LEFT + bar + 6}" y="{y + 13}" font-size="11" fill="#0f172a">{note}</text>')
        y += _BAR + _GAP
    return "\n".join([*parts, "</svg>", ""])
