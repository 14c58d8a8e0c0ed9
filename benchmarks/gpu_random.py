"""Random products against PyTorch, which calls cuBLAS: the distribution of the ratio of its time to ours.

    python benchmarks/gpu_random.py gemm [--seed 0] [--count 300] [--types float32 float16] [--save gemm.jsonl]
    python benchmarks/gpu_random.py contract

`gemm`: M, N and K log-uniform from 64 to 8192, as in the Stream-K paper (Osama et al. 2023); three of five are multiples of 8. All
four layouts. `contract`: 2 to 9 indices of 4 to 512 in any order, 4 to 400 MB in float32, against ``torch.einsum``. float64 and complex
numbers of what would take too long are left out. Each problem is drawn anew from its number, so that a count more or less
changes no other. Results are compared with float64, or a product in float64 for some rows, before they are timed. Both
run in one process, in turns; medians of three runs of about 2 ms each. Needs PyTorch with CUDA.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TextIO

import torch

import cute_py

TYPES = {
    "gemm": ["float32", "tfloat32", "float16", "bfloat16", "float64", "complex64", "complex128"],
    "contract": ["float32", "float16", "float64", "complex64"],
}
TOLERANCE = {"float16": 2e-3, "bfloat16": 1e-2, "tfloat32": 3e-3, "float64": 1e-12, "complex128": 1e-12}


class Problem(NamedTuple):
    """What to compute, in words and as calls; ours writes to its own array."""

    name: str
    flops: int
    bytes: int
    ours: Callable[[], Any]
    theirs: Callable[[], Any]
    error: Callable[[], float]
    candidates: Callable[[], Sequence[cute_py.Candidate]]
    planned: Callable[[cute_py.Candidate], Callable[[], Any]]


def drawn(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    kind = torch.complex64 if dtype.is_complex else torch.float32
    return torch.randn(shape, device="cuda", dtype=kind).to(dtype)


def matrix(rows: int, k: int, is_k_major: bool, dtype: torch.dtype) -> torch.Tensor:
    return drawn((rows, k), dtype) if is_k_major else drawn((k, rows), dtype).t()


def gemm(chance: random.Random, name: str) -> Problem | None:
    m, n, k = (round(math.exp(chance.uniform(math.log(64), math.log(8192)))) for _ in range(3))
    if chance.random() < 0.6:
        m, n, k = (max(8, extent // 8 * 8) for extent in (m, n, k))
    layout = chance.choice(["nt", "tn", "nn", "tt"])
    dtype = torch.float32 if name == "tfloat32" else getattr(torch, name)
    compute = "tfloat32" if name == "tfloat32" else None
    slow = {"float64": 1, "complex64": 1, "complex128": 4}.get(name, 0)
    if slow * m * n * k > 6e10:
        return None
    A, B = matrix(m, k, layout[0] == "t", dtype), matrix(n, k, layout[1] == "n", dtype)
    C, D = torch.empty((n, m), device="cuda", dtype=dtype).t(), torch.empty((n, m), device="cuda", dtype=dtype)

    def error() -> float:
        wide = torch.complex128 if dtype.is_complex else torch.float64
        some = torch.randint(0, m, (16,), device="cuda")
        expected = A[some].to(wide) @ B.to(wide).t()
        return ((C[some].to(wide) - expected).abs().max() / expected.abs().max()).item()

    return Problem(
        f"{layout} {m}x{n}x{k}",
        (8 if dtype.is_complex else 2) * m * n * k,
        (m * k + n * k + m * n) * A.element_size(),
        lambda: cute_py.gemm(A, B, C, compute=compute),
        lambda: torch.mm(B, A.t(), out=D),
        error,
        lambda: cute_py.gemm.explain(A, B, C, compute=compute).candidates,
        lambda candidate: partial(cute_py.gemm.plan(A, B, C, compute=compute, config=candidate), A, B, C),
    )


def contraction(chance: random.Random, name: str) -> Problem | None:
    while True:
        counts = [chance.choice(of) for of in ([1, 1, 2, 2, 3], [1, 1, 2, 2, 3], [1, 1, 2], [0, 0, 0, 1])]
        letters = iter("abcdefghi")
        M, N, K, L = ("".join(next(letters) for _ in range(count)) for count in counts)
        extent = {x: int(math.exp(chance.uniform(math.log(4), math.log(512)))) for x in M + N + K + L}
        if chance.random() < 0.5:
            extent = {x: max(8, e // 8 * 8) for x, e in extent.items()}
        a, b, c = ("".join(chance.sample(x, len(x))) for x in (M + K + L, N + K + L, M + N + L))
        elements = sum(math.prod(extent[x] for x in operand) for operand in (a, b, c))
        flops = 2 * math.prod(extent.values())
        if 1e6 <= elements <= 1e8 and 1e8 <= flops <= 4e12:
            break
    dtype = getattr(torch, name)
    if name in ("float64", "complex64") and flops > 1e12:
        return None
    A, B = (drawn(tuple(extent[x] for x in operand), dtype) for operand in (a, b))
    subscripts = f"{a},{b}->{c}"
    C = torch.empty([extent[x] for x in c], device="cuda", dtype=dtype)

    def error() -> float:
        expected = torch.einsum(subscripts, A.to(torch.float32), B.to(torch.float32)) if name == "float16" else theirs()
        return ((C - expected).abs().max() / expected.abs().max()).item()

    def theirs() -> torch.Tensor:
        return torch.einsum(subscripts, A, B)

    return Problem(
        f"{subscripts} " + ",".join(f"{x}{e}" for x, e in extent.items()),
        flops * (4 if dtype.is_complex else 1),
        elements * A.element_size(),
        lambda: cute_py.contract(subscripts, A, B, C),
        theirs,
        error,
        lambda: cute_py.contract.explain(subscripts, A, B, C).candidates,
        lambda candidate: partial(cute_py.contract.plan(subscripts, A, B, C, config=candidate), A, B, C),
    )


def microseconds(call: Callable[[], Any]) -> float:
    """Of one of so many calls that all take about 2 ms."""
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def timed(count: int) -> float:
        start.record()
        for _ in range(count):
            call()
        stop.record()
        stop.synchronize()
        return start.elapsed_time(stop) * 1e3 / count

    return timed(max(1, min(100, int(2e3 / max(timed(1), 1)))))


def measure(problem: Problem, name: str, tolerance: float) -> dict[str, Any]:
    problem.ours()
    error = problem.error()
    if not error < tolerance:
        raise ValueError(f"{name} {problem.name}: WRONG, by {error:.1e}")
    problem.theirs()
    times = [(microseconds(problem.ours), microseconds(problem.theirs)) for _ in range(3)]
    ours, theirs = (statistics.median(x) for x in zip(*times, strict=True))
    return {
        "type": name,
        "problem": problem.name,
        "flops": problem.flops,
        "bytes": problem.bytes,
        "us": ours,
        "peer_us": theirs,
        "chosen": str(problem.candidates()[0]),
    }


def show(name: str, found: list[dict[str, Any]]) -> None:
    ratios = sorted(x["peer_us"] / x["us"] for x in found)
    mean = math.exp(statistics.fmean(map(math.log, ratios)))
    worst = min(found, key=lambda x: x["peer_us"] / x["us"])
    print(
        f"{name:10} {len(ratios):4d} problems: geomean {mean:.3f} p10 {ratios[len(ratios) // 10]:.3f} min {ratios[0]:.3f} "
        f"median {ratios[len(ratios) // 2]:.3f} p90 {ratios[len(ratios) * 9 // 10]:.3f}; worst {worst['problem']}, "
        f"{worst['us']:.0f} us, {worst['chosen']}",
        flush=True,
    )


def run(kind: str, seed: int, count: int, names: list[str], save: TextIO | None) -> None:
    make = gemm if kind == "gemm" else contraction
    for name in names:
        torch.backends.cuda.matmul.allow_tf32 = name == "tfloat32"
        found = []
        for number in range(count):
            problem = make(random.Random(f"{seed} {number}"), name)
            if problem is None:
                continue
            found.append(measure(problem, name, TOLERANCE.get(name, 1e-5 if kind == "gemm" else 1e-4)))
            if save is not None:
                print(json.dumps(found[-1]), file=save, flush=True)
        show(name, found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=list(TYPES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--types", nargs="+")
    parser.add_argument("--save", type=argparse.FileType("w"), help="a line of JSON for each problem")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    print(f"{torch.cuda.get_device_name()}, PyTorch's time over ours")
    try:
        run(options.kind, options.seed, options.count, options.types or TYPES[options.kind], options.save)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
