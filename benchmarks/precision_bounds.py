"""The largest part of their stated bound that errors of emulated precision reach, over random problems.

    python benchmarks/precision_bounds.py [--ways fp16x3 reproducible/float64] [--count 10000] [--device cpu] [--seed 0] [--save found.jsonl]
    python benchmarks/precision_bounds.py --grade [--ways fp16x3]

Each problem has its own shape, strides and kind of numbers: normal, uniform in (0,1) times a power of two (1/8 among them), of wide exponents, of
exponents that are spread evenly, graded by rows and along K (in the same or opposite directions), whole, identities, cancelling; and
the two that tell fixed point and Strassen's algorithm from a conventional product (Demmel et al., "How to grade the accuracy of an
implementation of the BLAS", 2024): circulant factors whose exponents grow along K in one and fall in the other, and factors with zeros of
which one has a zero wherever the other has none, so that elements are exactly 0. In every tenth some rows have infinity or NaN. The reference is float64 for float32 and complex64, else NumPy's long double. A part is the error of an element,
less half a unit in the last place for the result itself, over the bound of docs/numerics.md. Exits with 1 if a part exceeds 1, or if what is not
finite differs from the reference.

`--grade` multiplies squares of 16 to 2048 of uniform numbers: grade A of the same authors is an error, in units of eps |A||B|, that grows no
faster than linearly. Prints the largest error by size and the slope of its logarithm. `--device`: cpu (of residues, whose bits are the GPU's), emulator or cuda (NumPy arrays are copied).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from typing import Any

import numpy as np

import cute_py
from cute_py.products.precision import bound_of

# A way, the type of its arrays, its planes; and the kernel that is named where exact arithmetic would be faster.
WAYS = {
    "fp16x3": ("fp16x3", "float32", ("fp16", 2), "auto"),
    "bf16x6": ("bf16x6", "float32", ("bf16", 3), "auto"),
    "reproducible/float32": ("reproducible", "float32", ("residues", 8), "auto"),
    "reproducible/complex64": ("reproducible", "complex64", ("gaussian", 8), "auto"),
    "reproducible/float64": ("reproducible", "float64", ("residues", 15), "auto"),
    "fast_complex64": ("fast_complex64", "complex64", ("gaussian", 7), "residues"),
    "fast_complex128": ("fast_complex128", "complex128", ("gaussian", 15), "residues"),
    "fast_float64": ("fast_float64", "float64", ("residues", 14), "residues"),
}
OF_RESIDUES = {"cpu": "cpu_residues", "emulator": "gemm_sm90_tn_i8_128x128_residues", "cuda": "gemm_sm90"}
KINDS = (
    "normal",
    "uniform",
    "eighth",
    "wide",
    "span",
    "rows",
    "along k",
    "against k",
    "whole",
    "identity",
    "cancelling",
    "circulant",
    "complementary",
)


def real_numbers(rng: np.random.Generator, kind: str, rows: int, k: int, is_b: bool) -> np.ndarray:
    """Return a factor (rows,k) of a kind, in float64."""
    normal = rng.standard_normal((rows, k))
    if kind == "uniform":
        return rng.random((rows, k)) * 2.0 ** int(rng.integers(-30, 31))
    if kind == "eighth":
        return rng.random((rows, k)) / 8
    if kind == "wide":
        return normal * np.exp(2 * rng.standard_normal((rows, k)))
    if kind == "span":
        return np.sign(normal) * (1 + rng.random((rows, k))) * 2.0 ** rng.integers(-20, 21, (rows, k))
    if kind == "rows":
        return normal * 2.0 ** np.linspace(-40, 40, rows)[:, None]
    if kind in ("along k", "against k"):
        steps = np.linspace(-15, 15, k)
        return normal * 2.0 ** (-steps if is_b and kind == "against k" else steps)
    if kind == "whole":
        return rng.integers(-100, 101, (rows, k)).astype(float)
    if kind == "identity":
        return np.eye(rows, k)
    if kind == "cancelling":
        half = k // 2
        normal[:, k - half :] = -normal[:, :half] * (1 + 1e-5 * rng.standard_normal((rows, half)))
    return normal


def factor(rng: np.random.Generator, kind: str, rows: int, k: int, dtype: str, is_b: bool) -> np.ndarray:
    """Return a factor of a type, somehow strided."""
    x = real_numbers(rng, kind, rows, k, is_b)
    if dtype.startswith("complex"):
        x = x + 1j * real_numbers(rng, kind, rows, k, is_b)
    return np.asarray(x.astype(dtype), order="CF"[int(rng.integers(2))])


def pair_of(rng: np.random.Generator, kind: str, m: int, n: int, k: int, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Return both factors."""
    if kind not in ("circulant", "complementary"):
        return factor(rng, kind, m, k, dtype, False), factor(rng, kind, n, k, dtype, True)
    A, B = factor(rng, "uniform", m, k, dtype, False), factor(rng, "uniform", n, k, dtype, True)
    if kind == "circulant":
        x = 1 + rng.random(k)
        scale = 2.0 ** np.rint(np.linspace(1, -1, k) * rng.integers(1, 50))
        for to, numbers in ((A, x * scale), (B, x / scale)):
            to[...] = numbers[(np.arange(len(to))[:, None] + np.arange(k)) % k].astype(dtype)
    else:
        for i in range(min(m, n)):
            is_zero = rng.random(k) < rng.random()
            A[i, is_zero] = 0
            B[i, ~is_zero] = 0
    return A, B


def part_of_bound(C: np.ndarray, A: np.ndarray, B: np.ndarray, planes: tuple[str, int]) -> float:
    """Return the largest error of an element over its bound; infinity where what is not finite differs."""
    is_narrow = A.dtype in (np.float32, np.complex64)
    is_complex = A.dtype.kind == "c"
    wide: Any = (
        (np.complex128 if is_complex else np.float64) if is_narrow else np.clongdouble if is_complex else np.longdouble
    )
    finite = np.isfinite(A).all(1)[:, None] & np.isfinite(B).all(1)[None, :]
    with np.errstate(all="ignore"):
        exact = A @ B.T
        expected = np.where(np.isfinite(A), A, 0).astype(wide) @ np.where(np.isfinite(B), B, 0).astype(wide).T
    if not (np.isfinite(C) | ~finite).all() or not (np.isfinite(C) == np.isfinite(exact)).all():
        return float("inf")
    x, y = (np.where(np.isfinite(z), np.abs(z), 0).astype(float) for z in (A, B))
    of_products, of_norms, of_largest = bound_of(*planes, A.shape[1])
    bound = of_products * (x @ y.T) + of_norms * np.outer(np.linalg.norm(x, axis=1), np.linalg.norm(y, axis=1))
    bound += of_largest * np.outer(x.max(1), y.max(1))
    unit = 2.0**-24 if is_narrow else 2.0**-53
    # The reference has 29 bits more of float32, and 11 more of float64; a sum of K products loses some of them.
    reference_unit = 2.0**-53 if is_narrow else 2.0**-64
    error = np.abs(C.astype(wide) - expected).astype(float)
    rounding = unit * np.abs(expected).astype(float) * (np.sqrt(2) if is_complex else 1)
    rounding += A.shape[1] * reference_unit * (x @ y.T) + np.finfo(A.dtype).smallest_subnormal
    excess = np.maximum(error - rounding, 0)[finite]
    bound = bound[finite]
    if (excess[bound == 0] > 0).any():
        return float("inf")
    return float((excess[bound > 0] / bound[bound > 0]).max(initial=0.0))


def problem(rng: np.random.Generator, number: int, dtype: str) -> tuple[str, np.ndarray, np.ndarray]:
    kind = KINDS[number % len(KINDS)]
    m, n = (int(x) for x in rng.integers(1, 41, 2))
    k = int(np.exp(rng.uniform(0, np.log(700)))) if number % 100 else 5000
    A, B = pair_of(rng, kind, m, n, k, dtype)
    if number % 10 == 9:
        A[rng.integers(m), rng.integers(k)] = rng.choice([np.inf, -np.inf, np.nan])
        B[rng.integers(n), rng.integers(k)] = rng.choice([np.inf, np.nan])
    return kind, A, B


def run(way: str, options: argparse.Namespace) -> dict[str, Any]:
    """Return the largest part of the bound of each kind of numbers."""
    compute, dtype, planes, kernel = WAYS[way]
    rng = np.random.default_rng(options.seed)
    named = OF_RESIDUES[options.device] if kernel == "residues" else kernel
    largest: dict[str, float] = defaultdict(float)
    for number in range(options.count):
        kind, A, B = problem(rng, number, dtype)
        C = np.full((len(A), len(B)), np.nan, dtype)
        cute_py.gemm(A, B, C, compute=compute, kernel=named, device=options.device)
        largest[kind] = max(largest[kind], part_of_bound(C, A, B, planes))
    return {"way": way, "device": options.device, "count": options.count, "seed": options.seed, "parts": dict(largest)}


def grade(way: str, options: argparse.Namespace) -> float:
    """Return the slope of the largest error over the size, in logarithms."""
    compute, dtype, _, kernel = WAYS[way]
    rng = np.random.default_rng(options.seed)
    named = OF_RESIDUES[options.device] if kernel == "residues" else kernel
    is_narrow = dtype in ("float32", "complex64")
    eps = np.finfo(dtype).eps
    sizes, errors = [16, 32, 64, 128, 256, 512, 1024, 2048], []
    for size in sizes:
        A, B = (rng.random((size, size)) for _ in range(2))
        if dtype.startswith("complex"):
            A, B = (x + 1j * rng.random((size, size)) for x in (A, B))
        A, B = A.astype(dtype), B.astype(dtype)
        C = np.full((size, size), np.nan, dtype)
        cute_py.gemm(A, B, C, compute=compute, kernel=named, device=options.device)
        rows = slice(0, size, max(size // 64, 1))
        wide = np.result_type(dtype, np.float64) if is_narrow else np.result_type(dtype, np.longdouble)
        expected = A[rows].astype(wide) @ B.T.astype(wide)
        of_products = np.abs(A[rows]).astype(float) @ np.abs(B.T).astype(float)
        errors.append(float((np.abs(C[rows] - expected) / of_products).max() / eps))
    slope = float(np.polyfit(np.log(sizes), np.log(errors), 1)[0])
    print(
        f"{way}: slope {slope:.2f}; " + ", ".join(f"{n} {e:.2f}" for n, e in zip(sizes, errors, strict=True)),
        flush=True,
    )
    return slope


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--ways", nargs="+", choices=tuple(WAYS), default=list(WAYS))
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--device", choices=tuple(OF_RESIDUES), default="cpu")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", type=argparse.FileType("a"))
    parser.add_argument("--grade", action="store_true", help="the growth of errors, and nothing else")
    options = parser.parse_args()
    if options.grade:
        slopes = [grade(way, options) for way in options.ways]  # of all ways
        return int(max(slopes) > 1)
    is_broken = False
    for way in options.ways:
        found = run(way, options)
        parts = found["parts"]
        worst = max(parts, key=parts.__getitem__)
        is_broken |= not parts[worst] <= 1
        listed = ", ".join(f"{kind} {part:.3f}" for kind, part in parts.items())
        print(f"{way}: {options.count} problems, largest part {parts[worst]:.3f} ({worst}); {listed}", flush=True)
        if options.save is not None:
            print(json.dumps(found), file=options.save, flush=True)
    return int(is_broken)


if __name__ == "__main__":
    sys.exit(main())
