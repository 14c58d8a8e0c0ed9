"""Time the CPU engine against NumPy's OpenBLAS and PyTorch's MKL, and print GFLOP/s and the ratio to the faster of them.

Each product is first compared with float64. OpenBLAS reads its settings when it is loaded, so this script starts itself
again in an environment without the variables that would choose a slower kernel for it. Of int8, whose sums are int32, the
other is PyTorch's `_int_mm` alone.

    python benchmarks/cpu_gemm.py [--threads 2] [--types float32 float64 int8] [--sizes 8 64 128 256 512 1024 2048]
"""

from __future__ import annotations

import argparse
import itertools

from cpu_peers import medians, restart_once


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[8, 64, 128, 256, 512, 1024, 2048], help="M = N = K")
    parser.add_argument("--types", nargs="+", default=["float32"])
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    restart_once(options.threads)

    import numpy as np
    import torch

    import cute_py
    from cute_py.testing import check_gemm

    def drawn(size: int, dtype: str) -> np.ndarray:
        if dtype == "int8":
            return rng.integers(-128, 128, (size, size), np.int8)
        return rng.standard_normal((size, size)).astype(dtype)

    cute_py.set_num_threads(options.threads)
    torch.set_num_threads(options.threads)
    rng = np.random.default_rng(0)
    print(f"{options.threads} thread(s), GFLOP/s and (the faster of OpenBLAS's and MKL's time over ours)")
    for dtype, size in itertools.product(options.types, options.sizes):
        row = f"{dtype} {size:<6}"
        for layout in ("nt", "tn", "nn", "tt"):
            A, B = drawn(size, dtype), drawn(size, dtype)
            A = np.asfortranarray(A) if layout[0] == "n" else A
            B = np.asfortranarray(B) if layout[1] == "t" else B
            C = np.full((size, size), -1, "int32" if dtype == "int8" else dtype, order="F")
            a, b, c = torch.from_numpy(A), torch.from_numpy(B), torch.from_numpy(C.T)
            cute_py.gemm(A, B, C)
            check_gemm(C, A, B)
            calls = {"cute_py": lambda: cute_py.gemm(A, B, C)}  # noqa: B023
            if dtype == "int8":
                calls["torch"] = lambda: torch._int_mm(b, a.T, out=c)  # noqa: B023
            else:
                calls["numpy"] = lambda: np.matmul(B, A.T, out=C.T)  # noqa: B023
                calls["torch"] = lambda: torch.mm(b, a.T, out=c)  # noqa: B023
            times = medians(
                calls,
                seconds=0.2,
                pause=0.1 if options.threads > 1 else 0,
            )
            ours = times["cute_py"] / 1e6
            best = min(time for name, time in times.items() if name != "cute_py") / 1e6
            row += f"   {layout} {2 * size**3 / ours / 1e9:7.1f} ({best / ours:.2f})"
        print(row, flush=True)


if __name__ == "__main__":
    main()
