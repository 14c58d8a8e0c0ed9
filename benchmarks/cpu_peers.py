"""What the benchmarks on a CPU have in common: a clean environment, and calls that take turns."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

CHILD = "CUTE_PY_BENCHMARK_CHILD"


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
