"""Time the CPU engine against NumPy's OpenBLAS and PyTorch's MKL, and print GFLOP/s and the ratio to the faster of them.

Each product is first compared with float64. OpenBLAS reads its settings when it is loaded, so this script starts itself
again in an environment without the variables that would choose a slower kernel for it.

    python benchmarks/cpu_gemm.py [--threads 2] [--types float32 float64] [--sizes 8 64 128 256 512 1024 2048]
"""

from __future__ import annotations

import argparse
import itertools
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
    environment |= {"CUTE_PY_BENCHMARK_CHILD": "1"}
    environment |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
    sys.exit(subprocess.run([sys.executable, *sys.argv], env=environment).returncode)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[8, 64, 128, 256, 512, 1024, 2048], help="M = N = K")
    parser.add_argument("--types", nargs="+", default=["float32"])
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    if "CUTE_PY_BENCHMARK_CHILD" not in os.environ:
        restart(options.threads)

    import numpy as np
    import torch

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
    torch.set_num_threads(options.threads)
    rng = np.random.default_rng(0)
    print(f"{options.threads} thread(s), GFLOP/s and (the faster of OpenBLAS's and MKL's time over ours)")
    for dtype, size in itertools.product(options.types, options.sizes):
        row = f"{dtype} {size:<6}"
        for layout in ("nt", "tn", "nn", "tt"):
            A, B = (rng.standard_normal((size, size)).astype(dtype) for _ in range(2))
            A = np.asfortranarray(A) if layout[0] == "n" else A
            B = np.asfortranarray(B) if layout[1] == "t" else B
            C = np.full((size, size), np.nan, dtype, order="F")
            a, b, c = torch.from_numpy(A), torch.from_numpy(B), torch.from_numpy(C.T)
            cute_py.gemm(A, B, C)
            check_gemm(C, A, B)
            repeats = max(5, min(2000, int(4e9 / size**3)))
            calls = [
                lambda: cute_py.gemm(A, B, C),  # noqa: B023
                lambda: np.matmul(B, A.T, out=C.T),  # noqa: B023
                lambda: torch.mm(b, a.T, out=c),  # noqa: B023
            ]
            ours, *peers = times(calls, repeats)
            row += f"   {layout} {2 * size**3 / ours / 1e9:7.1f} ({min(peers) / ours:.2f})"
        print(row, flush=True)


if __name__ == "__main__":
    main()
