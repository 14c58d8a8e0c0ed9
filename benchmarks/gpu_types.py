"""Square products of every type against cuBLAS, which PyTorch calls: TFLOP/s and ratios, in all four layouts.

    python benchmarks/gpu_types.py [--sizes 4096 8192] [--types float16 float64]

Both run in one process, alternating; medians. Each result is compared with float64 on random rows before it is timed. A type
with ``/fast`` leaves the sums to the tensor core; results of float8 are bfloat16, those of int8 int32. Where cuBLAS takes no such
layout, there is no ratio. Needs PyTorch with CUDA.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from functools import partial

import torch

import cute_py

LAYOUTS = {"nt": (True, True), "tn": (False, False), "nn": (True, False), "tt": (False, True)}
TYPES = (
    "float16",
    "bfloat16",
    "tfloat32",
    "float32",
    "float64",
    "complex64",
    "int8",
    "float8_e4m3fn",
    "float8_e4m3fn/fast",
    "float8_e5m2/fast",
)


def draw(rows: int, columns: int, dtype: torch.dtype, first_unit: bool) -> torch.Tensor:
    if dtype == torch.int8:
        values = torch.randint(-20, 21, (rows, columns), device="cuda").to(dtype)
    else:
        values = torch.randn(rows, columns, device="cuda", dtype=torch.complex64 if dtype.is_complex else torch.float64)
        values = values.to(dtype)
    return values.t().contiguous().t() if first_unit else values


def is_right(C: torch.Tensor, A: torch.Tensor, B: torch.Tensor, name: str) -> bool:
    rows = torch.randint(0, A.shape[0], (64,), device="cuda")
    wide = torch.complex128 if A.dtype.is_complex else torch.float64
    a, b = (x.float().to(wide) if x.dtype.itemsize == 1 else x.to(wide) for x in (A, B))
    a = a[rows]
    size = a.abs() @ b.abs().t()
    unit = {"float16": 2.0**-11, "tfloat32": 2.0**-10, "float64": 2.0**-50, "int8": 0}.get(name, 2.0**-17)
    unit = 2.0**-8 if C.dtype == torch.bfloat16 else unit
    return bool(((C[rows].to(wide) - a @ b.t()).abs() <= unit * size).all())


def peer(A: torch.Tensor, B: torch.Tensor, C: torch.Tensor, is_fast: bool) -> Callable[[], object] | None:
    """cuBLAS's product of the same layout, or None."""
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


def median_seconds(calls: list, repeats: int) -> list[float]:
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[4096])
    parser.add_argument("--types", nargs="+", choices=TYPES, default=TYPES)
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
    print(f"{torch.cuda.get_device_name()}, TFLOP/s and (ratio to cuBLAS)")
    for name in options.types:
        factor, _, is_fast = name.partition("/")
        dtype = torch.float32 if factor == "tfloat32" else getattr(torch, factor)
        torch.backends.cuda.matmul.allow_tf32 = factor == "tfloat32"
        compute = "fast_float32" if is_fast else "tfloat32" if factor == "tfloat32" else None
        result = {1: torch.bfloat16}.get(dtype.itemsize, dtype) if dtype != torch.int8 else torch.int32
        for n in options.sizes:
            flops = (8 if dtype.is_complex else 2) * n**3
            line = f"{name:20} {n:5}"
            for layout, (a_first, b_first) in LAYOUTS.items():
                A, B = draw(n, n, dtype, a_first), draw(n, n, dtype, b_first)
                C = torch.empty((n, n), device="cuda", dtype=result).t()
                cute_py.gemm(A, B, C, compute=compute)
                if not is_right(C, A, B, factor):
                    print(f"{name} {n} {layout}: WRONG", file=sys.stderr)
                    return 1
                calls = [partial(cute_py.gemm, A, B, C, compute=compute)]
                if (theirs := peer(A, B, C, bool(is_fast))) is not None:
                    calls.append(theirs)
                times = median_seconds(calls, options.repeats)
                ratio = f"({times[1] / times[0]:.2f})" if len(times) > 1 else ""
                line += f"  {layout} {flops / times[0] / 1e12:6.1f} {ratio:6}"
            kernel = cute_py.gemm.explain(A, B, C, compute=compute).chosen
            print(f"{line}  {kernel}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
