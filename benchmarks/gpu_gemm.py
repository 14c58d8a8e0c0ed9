"""Time every GPU kernel against cuBLAS, in one process, and print TFLOP/s and the ratio.

Each product is first compared with float64 on rows drawn at random, with C full of NaN before; a wrong result ends the run.
Then kernel and cuBLAS take turns, each timed with CUDA events, and the medians count. Between launches a buffer larger than
the second-level cache is written where the operands would fit in it.

Needs PyTorch with CUDA:  python benchmarks/gpu_gemm.py --sizes 1024 4096 8192 -o gemm.json
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from typing import Any

import torch

import cute_py

LAYOUTS = {
    "nt": (True, True),
    "tn": (False, False),
    "nn": (True, False),
    "tt": (False, True),
}  # is mode 0 the unit mode?
CACHE_BYTES = 60 * 2**20


def matrix(rows: int, columns: int, first_unit: bool) -> torch.Tensor:
    """Return standard-normal float32 (rows, columns) with strides (1, rows) or (columns, 1)."""
    if first_unit:
        return torch.randn(columns, rows, device="cuda").T
    return torch.randn(rows, columns, device="cuda")


def verify(C: torch.Tensor, A: torch.Tensor, B: torch.Tensor, name: str) -> None:
    """Compare 256 random rows of C with float64, by the bound of cute_py.testing."""
    rows = torch.randint(0, A.shape[0], (256,), device="cuda")
    a, b = A[rows].double(), B.double()
    reference = a @ b.T
    k = A.shape[1] + 2
    u = 2.0**-24
    bound = k * u / (1 - k * u) * (a.abs() @ b.abs().T) + u * reference.abs()
    error = (C[rows].double() - reference).abs()
    if not bool((error <= bound).all()):
        sys.exit(f"{name}: wrong result, off by {(error / bound).max().item():.3g} times the bound")
    if not bool(torch.isfinite(C).all()):
        sys.exit(f"{name}: elements that were not written")


def time_in_turns(calls: list[Callable[[], Any]], repeats: int, flush: torch.Tensor | None) -> list[float]:
    """Return the median seconds of each call; the calls alternate."""
    events = [
        [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(repeats)]
        for _ in calls
    ]
    for call in calls:
        call()
    torch.cuda.synchronize()
    for repeat in range(repeats):
        for call, pairs in zip(calls, events, strict=True):
            if flush is not None:
                flush.zero_()
            pairs[repeat][0].record()
            call()
            pairs[repeat][1].record()
    torch.cuda.synchronize()
    return [statistics.median(start.elapsed_time(end) for start, end in pairs) / 1e3 for pairs in events]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1024, 4096, 8192], help="M = N = K")
    parser.add_argument(
        "--kernels", nargs="+", default=[k for k in cute_py.kernels().families() if k.startswith("sgemm")]
    )
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("-o", "--output", help="write the table as JSON")
    options = parser.parse_args()

    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = False
    rows = []
    print(f"{torch.cuda.get_device_name()}, float32, TFLOP/s and (ratio to cuBLAS)")
    print(f"{'M,N,K':<16} {'layout':<7}{'cuBLAS':>8}" + "".join(f"{k:>20}" for k in options.kernels))
    for size in options.sizes:
        for label, (m, n, k) in {
            str(size): (size, size, size),
            f"{size} ragged": (size - 1, size + 1, size - 3),
        }.items():
            for layout, (a_first, b_first) in LAYOUTS.items():
                A, B = matrix(m, k, a_first), matrix(n, k, b_first)
                C = torch.empty(n, m, device="cuda").T
                flush = torch.empty(CACHE_BYTES, device="cuda") if 4 * (m * k + n * k + m * n) < CACHE_BYTES else None
                line = f"{label:<16} {layout:<7}"
                for position, kernel in enumerate(options.kernels):
                    function = getattr(cute_py, f"sgemm_{layout}")
                    C.fill_(float("nan"))
                    function(A, B, C, kernel=kernel)
                    verify(C, A, B, f"{kernel} {layout} {label}")

                    def ours(
                        function: Any = function, kernel: str = kernel, A: Any = A, B: Any = B, C: Any = C
                    ) -> None:
                        function(A, B, C, kernel=kernel)

                    def cublas(A: Any = A, B: Any = B, C: Any = C) -> None:
                        torch.mm(B, A.T, out=C.T)  # row-major C^T = B A^T is the same memory

                    seconds, seconds_cublas = time_in_turns([ours, cublas], options.repeats, flush)
                    flops = 2 * m * n * k
                    row = {
                        "size": label,
                        "layout": layout,
                        "kernel": kernel,
                        "tflops": flops / seconds / 1e12,
                        "tflops_cublas": flops / seconds_cublas / 1e12,
                    }
                    rows.append(row)
                    if position == 0:
                        line += f"{row['tflops_cublas']:8.1f}"
                    line += f"{row['tflops']:12.1f} ({seconds_cublas / seconds:.2f}) "
                print(line, flush=True)
    if options.output:
        with open(options.output, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
