"""Square products of every type against cuBLAS, which PyTorch calls: TFLOP/s and ratios, in all four layouts.

    python benchmarks/gpu_types.py [--size 4096] [--types float16 float64]

Both run in one process, alternating; medians. Each result is compared with float64 on random rows before it is timed.
Needs PyTorch with CUDA.
"""

from __future__ import annotations

import argparse
import statistics
import sys

import torch

import cute_py

LAYOUTS = {"nt": (True, True), "tn": (False, False), "nn": (True, False), "tt": (False, True)}
TYPES = ("float16", "bfloat16", "tfloat32", "float32", "float64", "complex64", "int8")


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
    a, b = A[rows].to(wide), B.to(wide)
    size = a.abs() @ b.abs().t()
    unit = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "tfloat32": 2.0**-10, "float64": 2.0**-50}.get(name, 2.0**-17)
    return bool(((C[rows].to(wide) - a @ b.t()).abs() <= unit * size).all())


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
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--types", nargs="+", choices=TYPES, default=TYPES)
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
    n = options.size
    print(f"{torch.cuda.get_device_name()}, M = N = K = {n}, TFLOP/s and (ratio to cuBLAS)")
    for name in options.types:
        dtype = torch.float32 if name == "tfloat32" else getattr(torch, name)
        torch.backends.cuda.matmul.allow_tf32 = name == "tfloat32"
        compute = "tfloat32" if name == "tfloat32" else None
        flops = (8 if dtype.is_complex else 2) * n**3
        line = f"{name:10}"
        for layout, (a_first, b_first) in LAYOUTS.items():
            A, B = draw(n, n, dtype, a_first), draw(n, n, dtype, b_first)
            C = torch.empty((n, n), device="cuda", dtype=torch.int32 if name == "int8" else dtype).t()
            cute_py.gemm(A, B, C, compute=compute)
            if not is_right(C, A, B, name):
                print(f"{name} {layout}: WRONG", file=sys.stderr)
                return 1
            calls = [lambda: cute_py.gemm(A, B, C, compute=compute)]  # noqa: B023
            if name != "int8":
                D = torch.empty((n, n), device="cuda", dtype=dtype)
                calls.append(lambda: torch.mm(B, A.t(), out=D))  # noqa: B023
            times = median_seconds(calls, options.repeats)
            ratio = f"({times[1] / times[0]:.2f})" if len(times) > 1 else ""
            line += f"  {layout} {flops / times[0] / 1e12:6.1f} {ratio:6}"
        kernel = cute_py.gemm.explain(A, B, C, compute=compute).chosen
        print(f"{line}  {kernel}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
