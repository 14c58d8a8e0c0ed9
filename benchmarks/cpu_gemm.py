"""Time the CPU engine against NumPy's BLAS, both with one thread, and print GFLOP/s and the ratio.

Each product is first compared with float64. OpenBLAS reads its settings when it is loaded, so this script starts itself
again in an environment without the variables that would choose a slower kernel for it.

    python benchmarks/cpu_gemm.py [--threads 2] [--sizes 64 128 256 512 1024 2048]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any


def restart(threads: int) -> None:
    """Run this script again with a clean environment, and end."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("OPENBLAS_")}
    environment |= {"OPENBLAS_NUM_THREADS": str(threads), "CUTE_PY_BENCHMARK_CHILD": "1"}
    sys.exit(subprocess.run([sys.executable, *sys.argv], env=environment).returncode)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 128, 256, 512, 1024, 2048], help="M = N = K")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    if "CUTE_PY_BENCHMARK_CHILD" not in os.environ:
        restart(options.threads)

    import numpy as np

    import cute_py
    from cute_py.testing import check_gemm

    def times(calls: list[Callable[[], Any]], repeats: int) -> list[float]:
        found: list[list[float]] = [[] for _ in calls]
        for _ in range(repeats):
            for call, seconds in zip(calls, found, strict=True):
                if options.threads > 1:
                    time.sleep(
                        0.1
                    )  # OpenBLAS's threads spin for a while after a call, on processors that the next one needs
                start = time.perf_counter()
                call()
                seconds.append(time.perf_counter() - start)
        return [statistics.median(seconds) for seconds in found]

    cute_py.set_num_threads(options.threads)
    rng = np.random.default_rng(0)
    kernel = cute_py.gemm.explain(np.ones((2, 2), np.float32), np.ones((2, 2), np.float32)).chosen
    print(f"{kernel}, {options.threads} thread(s), float32, GFLOP/s and (ratio to NumPy)")
    for size in options.sizes:
        row = f"{size:<6}"
        for layout in ("nt", "tn", "nn", "tt"):
            A, B = (rng.standard_normal((size, size)).astype(np.float32) for _ in range(2))
            A = np.asfortranarray(A) if layout[0] == "n" else A
            B = np.asfortranarray(B) if layout[1] == "t" else B
            C = np.full((size, size), np.nan, np.float32, order="F")
            function = getattr(cute_py, f"sgemm_{layout}")
            function(A, B, C)
            check_gemm(C, A, B)
            repeats = max(5, min(200, int(4e9 / size**3)))
            ours, numpys = times([lambda: function(A, B, C), lambda: np.matmul(B, A.T, out=C.T)], repeats)  # noqa: B023
            row += f"   {layout} {2 * size**3 / ours / 1e9:7.1f} ({numpys / ours:.2f})"
        print(row, flush=True)


if __name__ == "__main__":
    main()
