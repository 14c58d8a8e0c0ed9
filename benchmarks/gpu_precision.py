"""Emulated precision against cuBLAS: speed, the time of each step, and the error beside that of cuBLAS.

    python benchmarks/gpu_precision.py speed [--modes fp16x3 fast_complex64] [--sizes 2048 4096] [--steps] [--save speed.jsonl]
    python benchmarks/gpu_precision.py accuracy [--modes fp16x3] [--save accuracy.jsonl]

`speed`: products of square matrices in four layouts, both sides as CUDA graphs, in turns; all passes are included. `--steps` adds what each
kernel takes. `accuracy`: the Frobenius error over that of cuBLAS, and the largest error in units of |A||B|, against K, for numbers that are
normal, uniform in (0,1), of wide exponents, uniform times 1/8, and graded by rows. The reference is float64; of float64 it is NumPy's long
double. `precision_charts.py` draws what `--save` wrote. Needs PyTorch with CUDA.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Callable
from typing import Any

import torch
from gpu_random import matrix, times_of

import cute_py

# A mode, the type of its arrays, and the kernel that is named so that it is taken where exact arithmetic would be faster.
MODES = {
    "fp16x3": ("float32", "auto"),
    "bf16x6": ("float32", "auto"),
    "reproducible": ("float32", "auto"),
    "fast_complex64": ("complex64", "gemm_sm90"),
    "fast_float64": ("float64", "gemm_sm90"),
    "fast_complex128": ("complex128", "gemm_sm90"),
    # Exact, for comparison.
    "float32": ("float32", "auto"),
    "float64": ("float64", "auto"),
    "complex64": ("complex64", "auto"),
    "complex128": ("complex128", "auto"),
}
EMULATED = [mode for mode, (dtype, _) in MODES.items() if mode != dtype]
SIZES = (1024, 2048, 4096, 8192)
LAYOUTS = {"nt": (False, False), "tn": (True, True), "nn": (False, True), "tt": (True, False)}  # is A, is B k-major?
LENGTHS = (1024, 4096, 16384, 65536)
KINDS = ("normal", "uniform", "wide", "eighth", "graded")


def kernel_times(call: Callable[[], Any]) -> dict[str, float]:
    """Return the microseconds of each kernel of a call."""
    call()
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(3):
            call()
        torch.cuda.synchronize()
    found: dict[str, float] = {}
    for event in profile.key_averages():
        if event.device_time_total > 0:
            found[event.key.split("<")[0][:60]] = event.device_time_total / 3
    return found


def multiply(mode: str, A: torch.Tensor, B: torch.Tensor, C: torch.Tensor) -> None:
    cute_py.gemm(A, B, C, compute=mode, kernel=MODES[mode][1])


def speed_of(mode: str, size: int, layout: str, steps: bool) -> dict[str, Any]:
    """Return the microseconds of both sides, and the largest errors in units of |A||B|. Prints what each kernel takes."""
    dtype = getattr(torch, MODES[mode][0])
    A, B = (matrix(size, size, k_major, dtype) for k_major in LAYOUTS[layout])
    C, D = (torch.empty(size, size, device="cuda", dtype=dtype) for _ in range(2))
    C.fill_(float("nan"))

    def ours() -> None:
        multiply(mode, A, B, C)

    def theirs() -> None:
        torch.mm(A, B.t(), out=D)

    ours()
    theirs()
    wide = torch.complex128 if dtype.is_complex else torch.float64
    rows = slice(0, size, max(size // 64, 1))
    expected = A[rows].to(wide) @ B.to(wide).t()
    bound = A[rows].abs().double() @ B.abs().double().t()
    errors = [((x[rows] - expected).abs() / bound).max().item() for x in (C, D)]
    us, cublas_us = times_of([ours, theirs])[""]
    if steps:
        for name, of_kernel in kernel_times(ours).items():
            print(f"    {of_kernel:9.1f} us {name}", flush=True)
    found = {"mode": mode, "size": size, "layout": layout, "us": us, "cublas_us": cublas_us}
    return found | {"error": errors[0], "cublas_error": errors[1]}


def speed(options: argparse.Namespace) -> int:
    for mode, size, layout in itertools.product(options.modes, options.sizes, options.layouts):
        found = speed_of(mode, size, layout, options.steps)
        is_narrow = MODES[mode][0] in ("float32", "complex64")
        if not found["error"] < (4e-7 if is_narrow else 1e-14):
            print(f"{mode} {size} {layout}: WRONG, by {found['error']:.1e}", file=sys.stderr)
            return 1
        us, cublas_us = found["us"], found["cublas_us"]
        tflops = (8 if MODES[mode][0].startswith("complex") else 2) * size**3 / us / 1e6
        print(
            f"{mode:16} {size:6} {layout} {us:9.1f} us {tflops:6.1f} TFLOP/s, cuBLAS {cublas_us:9.1f} us, "
            f"{cublas_us / us:5.2f} times; error {found['error']:.1e}, cuBLAS's {found['cublas_error']:.1e}",
            flush=True,
        )
        if options.save is not None:
            print(json.dumps(found), file=options.save, flush=True)
    return 0


def numbers(kind: str, shape: tuple[int, int], dtype: torch.dtype) -> torch.Tensor:
    real = torch.float32 if dtype in (torch.float32, torch.complex64) else torch.float64
    uniform = torch.rand(shape, device="cuda", dtype=torch.float64)
    normal = torch.randn(shape, device="cuda", dtype=torch.float64)
    if kind == "normal":
        values = normal
    elif kind in ("uniform", "eighth"):
        values = uniform * (1 if kind == "uniform" else 0.125)
    elif kind == "wide":
        values = normal * torch.exp(2 * torch.randn(shape, device="cuda", dtype=torch.float64))
    else:
        values = normal * torch.exp2(torch.linspace(-20, 20, shape[0], device="cuda", dtype=torch.float64))[:, None]
    if not dtype.is_complex:
        return values.to(real)
    return torch.complex(values.to(real), values.flip(1).to(real)).contiguous()


def reference(A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
    wide = torch.complex128 if A.is_complex() else torch.float64
    if A.dtype not in (torch.float64, torch.complex128):
        return A.to(wide) @ B.to(wide).t()
    # On a host, in blocks of K whose sums are compensated: NumPy's long double has 64 bits.
    import numpy as np

    long = np.clongdouble if A.is_complex() else np.longdouble
    product = A.cpu().numpy().astype(long) @ B.cpu().numpy().astype(long).T
    high = product.astype(A.cpu().numpy().dtype)
    return torch.from_numpy(high).cuda()


def accuracy(options: argparse.Namespace) -> int:
    torch.manual_seed(0)
    for mode in options.modes:
        dtype = getattr(torch, MODES[mode][0])
        rows = 2048 if dtype in (torch.float32, torch.complex64) else 48  # of which cuBLAS splits K, if they are few
        for kind in options.kinds:
            for steps in LENGTHS:
                A, B = (numbers(kind, (rows, steps), dtype) for _ in range(2))
                C, D = (torch.empty(rows, rows, device="cuda", dtype=dtype) for _ in range(2))
                multiply(mode, A, B, C)
                torch.mm(A, B.t(), out=D)
                expected = reference(A, B)
                bound = A.abs().double() @ B.abs().double().t()
                frobenius = [(torch.linalg.norm(x - expected) / torch.linalg.norm(expected)).item() for x in (C, D)]
                largest = [((x - expected).abs() / bound).max().item() for x in (C, D)]
                print(
                    f"{mode:16} {kind:8} K={steps:6} Frobenius {frobenius[0]:.1e}, cuBLAS {frobenius[1]:.1e}, ratio "
                    f"{frobenius[0] / frobenius[1]:.2f}; largest {largest[0]:.1e}, {largest[1]:.1e}, ratio {largest[0] / largest[1]:.2f}",
                    flush=True,
                )
                if options.save is not None:
                    found = {"mode": mode, "kind": kind, "k": steps, "frobenius": frobenius, "largest": largest}
                    print(json.dumps(found), file=options.save, flush=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["speed", "accuracy"])
    parser.add_argument("--modes", nargs="+", default=EMULATED, choices=list(MODES))
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS, help="of numbers")
    parser.add_argument("--layouts", nargs="+", default=["tn", "nt"], choices=list(LAYOUTS))
    parser.add_argument("--steps", action="store_true", help="the time of each kernel, too")
    parser.add_argument("--save", type=argparse.FileType("w"), help="a line of JSON for each measurement")
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    return speed(options) if options.what == "speed" else accuracy(options)


if __name__ == "__main__":
    sys.exit(main())
