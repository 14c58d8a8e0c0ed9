"""What the benchmarks have in common: a clean environment, matrices, peers, a check, calls that take turns.

`cute-py bench` has the same for squares and single products. On a GPU the peer is cuBLAS, which PyTorch calls.
"""

from __future__ import annotations

import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

CHILD = "CUTE_PY_BENCHMARK_CHILD"
# Of A and of B: does mode 0 have the unit stride?
LAYOUTS = {"nt": (True, True), "tn": (False, False), "nn": (True, False), "tt": (False, True)}


def restart_once(threads: int) -> None:
    """Run the script again, and end, in an environment that chooses no slower kernels for the peers.

    OpenBLAS and MKL read their settings when they are loaded, so this comes before NumPy and PyTorch.
    """
    if CHILD in os.environ:
        return
    environment = {key: value for key, value in os.environ.items() if not key.startswith("OPENBLAS_")}
    environment |= {CHILD: "1"}
    environment |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
    sys.exit(subprocess.run([sys.executable, *sys.argv], env=environment).returncode)


def medians(
    calls: dict[str, Callable[[], Any]], seconds: float = 0.4, least: int = 5, pause: float = 0
) -> dict[str, float]:
    """Return the median time of each call in microseconds.

    They take turns for `seconds` a call, and at least so often. A pause before each lets threads of another library go
    to sleep, which wait for work for a while on processors that the next call needs.
    """
    found: dict[str, list[float]] = {name: [] for name in calls}
    end = time.perf_counter() + seconds * len(calls)
    while time.perf_counter() < end or len(next(iter(found.values()))) < least:
        for name, call in calls.items():
            if pause:
                time.sleep(pause)
            start = time.perf_counter()
            call()
            found[name].append((time.perf_counter() - start) * 1e6)
    return {name: statistics.median(times) for name, times in found.items()}


def spread(ratios: Iterable[float]) -> str:
    """Return the geometric mean, the tenth part, the median and the least of some ratios, as text."""
    found = sorted(ratios)
    mean = math.exp(statistics.fmean(map(math.log, found)))
    return (
        f"{len(found)} problems, geometric mean {mean:.2f}, p10 {found[len(found) // 10]:.2f}, "
        f"median {found[len(found) // 2]:.2f}, least {found[0]:.2f}"
    )


# ---- On a GPU, in PyTorch


def draw(rows: int, columns: int, dtype: Any, first_unit: bool) -> Any:
    import torch

    if dtype == torch.int8:
        values = torch.randint(-20, 21, (rows, columns), device="cuda").to(dtype)
    else:
        values = torch.randn(rows, columns, device="cuda", dtype=torch.complex64 if dtype.is_complex else torch.float64)
        values = values.to(dtype)
    return values.t().contiguous().t() if first_unit else values


def is_right(C: Any, A: Any, B: Any, name: str) -> bool:
    """Return whether random rows of C are those of A B^T in float64, up to the rounding of a type."""
    import torch

    rows = torch.randint(0, A.shape[0], (64,), device="cuda")
    wide = torch.complex128 if A.dtype.is_complex else torch.float64
    a, b = (x.float().to(wide) if x.dtype.itemsize == 1 else x.to(wide) for x in (A, B))
    a = a[rows]
    size = a.abs() @ b.abs().t()
    unit = {"float16": 2.0**-11, "tfloat32": 2.0**-10, "float64": 2.0**-50, "int8": 0}.get(name, 2.0**-17)
    unit = 2.0**-8 if C.dtype == torch.bfloat16 else unit
    return bool(((C[rows].to(wide) - a @ b.t()).abs() <= unit * size).all())


def peer(A: Any, B: Any, C: Any, is_fast: bool) -> Callable[[], object] | None:
    """Return cuBLAS's product of the same layout, or None."""
    import torch

    one = torch.ones((), device="cuda")
    D = torch.empty((C.shape[1], C.shape[0]), device="cuda", dtype=C.dtype)
    if A.dtype == torch.int8:
        call = partial(torch._int_mm, B, A.t(), out=D)
    elif A.dtype.itemsize == 1:
        call = partial(torch._scaled_mm, B, A.t(), one, one, out_dtype=C.dtype, use_fast_accum=is_fast, out=D)
    else:
        call = partial(torch.mm, B, A.t(), out=D)
    try:
        call()
    except (RuntimeError, ValueError):
        return None
    return call


def median_seconds(calls: list[Callable[[], Any]], repeats: int) -> list[float]:
    """Return the median time of each call on the GPU. They take turns."""
    import torch

    times: list[list[float]] = [[] for _ in calls]
    for repeat in range(repeats + 2):
        for call, found in zip(calls, times, strict=True):
            start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            call()
            stop.record()
            stop.synchronize()
            if repeat >= 2:
                found.append(start.elapsed_time(stop) / 1e3)
    return [statistics.median(found) for found in times]
