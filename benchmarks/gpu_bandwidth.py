"""Products that memory limits: few columns, and many small ones. Bytes per second, as a part of what a copy reaches.

    python benchmarks/gpu_bandwidth.py [--kernel gemm_skinny]

Every operand counts once, read or written; a copy of 1 GiB counts its bytes twice. Nothing fits in the L2 cache. Each result is
compared with float64 on random rows or products before it is timed. With --kernel, few columns alone, by that kernel. Needs CuPy.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from functools import partial

import cupy
import numpy as np

import cute_py

GIB = 1 << 30


def seconds(call, repeats: int) -> float:
    times = []
    for repeat in range(repeats + 2):
        start, stop = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        call()
        stop.record()
        stop.synchronize()
        if repeat >= 2:
            times.append(cupy.cuda.get_elapsed_time(start, stop) / 1e3)
    return statistics.median(times)


def few_columns(dtype: str, n: int, k_major: bool) -> tuple:
    """A of 1 GiB, tall enough for K = 8192, and B with few columns."""
    k = 8192
    m = GIB // np.dtype(dtype).itemsize // k
    A = cupy.random.default_rng(0).standard_normal((m, k), dtype=cupy.float32).astype(dtype)
    if not k_major:
        A = cupy.asfortranarray(A)
    B = cupy.random.default_rng(1).standard_normal((n, k), dtype=cupy.float32).astype(dtype)
    rows = np.random.default_rng(2).integers(0, m, 50)
    a, b = A[rows].astype("f8"), B.astype("f8")
    return A, B, "mk,nk->mn", lambda C: (C[rows], a @ b.T, k * abs(a) @ abs(b).T)


def small_ones(dtype: str, n: int) -> tuple:
    """Square products of 1 GiB in all."""
    count = GIB // 3 // (n * n * np.dtype(dtype).itemsize)
    A, B = (
        cupy.random.default_rng(seed).standard_normal((count, n, n), dtype=cupy.float32).astype(dtype)
        for seed in (0, 1)
    )
    some = np.random.default_rng(2).integers(0, count, 50)
    a, b = A[some].astype("f8"), B[some].astype("f8")
    return A, B, "lmk,lkn->lmn", lambda C: (C[some], a @ b, n * abs(a) @ abs(b))


def copy_rate(repeats: int) -> float:
    """Bytes read and written in a second."""
    source, target = cupy.zeros(GIB, cupy.uint8), cupy.empty(GIB, cupy.uint8)
    return 2 * GIB / seconds(lambda: cupy.copyto(target, source), repeats)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--kernel", help="the kernel, of few columns alone, in the place of the one that is chosen")
    options = parser.parse_args()

    copy = copy_rate(options.repeats)
    print(f"copy: {copy / 1e12:.2f} TB/s")

    cases = [
        (f"{d} {n} columns, A {'k' if k else 'm'}-major", few_columns, (d, n, k))
        for d in ("float32", "float16")
        for n in (1, 4, 16)
        for k in (True, False)
    ]
    cases += (
        []
        if options.kernel
        else [
            (f"{d} {n}x{n}x{n}", small_ones, (d, n)) for d in ("float32", "float16", "float64") for n in (8, 16, 32, 64)
        ]
    )
    for name, make, arguments in cases:
        A, B, subscripts, check = make(*arguments)
        product = partial(cute_py.contract, subscripts, A, B, kernel=options.kernel or "auto")
        C = product()
        got, expected, size = check(C)
        unit = 2.0**-11 if A.dtype == cupy.float16 else 0.0
        if not bool((abs(got - expected) <= 2.0**-23 * size + unit * abs(expected)).all()):
            print(f"{name}: WRONG", file=sys.stderr)
            return 1
        time = seconds(partial(product, out=C), options.repeats)
        rate = (A.nbytes + B.nbytes + C.nbytes) / time
        explanation = cute_py.contract.explain(subscripts, A, B, C, kernel=options.kernel or "auto")
        kernels = " + ".join(step.kernel or "-" for step in explanation.steps)
        print(f"{name:34} {rate / 1e12:6.2f} TB/s {rate / copy:6.2f} of copy  {kernels}", flush=True)
        cupy.get_default_memory_pool().free_all_blocks()
    return 0


if __name__ == "__main__":
    sys.exit(main())
