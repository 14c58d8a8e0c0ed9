"""Random products against PyTorch, which calls cuBLAS: the distribution of the ratio of its device time to ours.

    python benchmarks/gpu_random.py gemm [--seed 0] [--seconds 60] [--types float32 float16] [--save gemm.jsonl]
    python benchmarks/gpu_random.py contract --worst 50 --runs runs.jsonl

`gemm`: M, N and K log-uniform from 64 to 8192, as in the Stream-K paper (Osama et al. 2023); three of five are multiples of 8. All
four layouts. `contract`: 2 to 9 indices of 4 to 512 in any order, 4 to 400 MB in float32, against ``torch.einsum``. float64 and complex
numbers of what would take too long are left out. Each problem is drawn anew from its number, so that a count more or less
changes no other. Results are compared with float64, or a product in float64 for some rows, before they are timed.

`--types` also takes ways to emulate precision, such as fast_float32, against PyTorch's exact product of the same arrays.

Both run in one process, in turns, and are timed in three ways: as CUDA graphs of repeated calls, so that a problem that
fits into L2 is found there (warm); as graphs that write more than L2 before each call (cold); and as calls. The first is
the figure. It is also given by class: PyTorch's time, layout, alignment, the least of M and N, K.

`--worst` measures all candidates of so many problems of each type, those of the least ratios, and prints what a better
choice would gain. `--runs` keeps these measurements in the form by which `choices.py` judges the estimates. Needs
PyTorch with CUDA.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import choices
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
    product: choices.Product


def drawn(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    kind = torch.complex64 if dtype.is_complex else torch.float32
    return torch.randn(shape, device="cuda", dtype=kind).to(dtype)


def matrix(rows: int, k: int, is_k_major: bool, dtype: torch.dtype) -> torch.Tensor:
    return drawn((rows, k), dtype) if is_k_major else drawn((k, rows), dtype).t()


def type_and_compute(name: str) -> tuple[torch.dtype, str | None]:
    stored, compute = choices.stored_and_asked(name)
    return getattr(torch, stored), compute


def gemm(chance: random.Random, name: str) -> Problem | None:
    m, n, k = (round(math.exp(chance.uniform(math.log(64), math.log(8192)))) for _ in range(3))
    if chance.random() < 0.6:
        m, n, k = (max(8, extent // 8 * 8) for extent in (m, n, k))
    layout = chance.choice(["nt", "tn", "nn", "tt"])
    dtype, compute = type_and_compute(name)
    slow = {torch.float64: 1, torch.complex64: 1, torch.complex128: 4}.get(dtype, 0)
    if slow * m * n * k > 6e10:
        return None
    A, B = matrix(m, k, layout[0] == "t", dtype), matrix(n, k, layout[1] == "n", dtype)
    C, D = torch.empty((n, m), device="cuda", dtype=dtype).t(), torch.empty((n, m), device="cuda", dtype=dtype)

    def error() -> float:
        wide = torch.complex128 if dtype.is_complex else torch.float64
        some = torch.randint(0, m, (16,), device="cuda")
        expected = A[some].to(wide) @ B.to(wide).t()
        return ((C[some].to(wide) - expected).abs().max() / expected.abs().max()).item()

    orders = "mk" if layout[0] == "n" else "km", "nk" if layout[1] == "t" else "kn", "mn"
    return Problem(
        f"{layout} {m}x{n}x{k}",
        (8 if dtype.is_complex else 2) * m * n * k,
        (m * k + n * k + m * n) * A.element_size(),
        lambda: cute_py.gemm(A, B, C, compute=compute),
        lambda: torch.mm(B, A.t(), out=D),
        error,
        lambda: cute_py.gemm.explain(A, B, C, compute=compute).candidates,
        choices.Product("square", "mk,nk->mn", {"m": m, "n": n, "k": k}, orders),
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
    dtype, compute = type_and_compute(name)
    if dtype in (torch.float64, torch.complex64, torch.complex128) and flops > 1e12:
        return None
    A, B = (drawn(tuple(extent[x] for x in operand), dtype) for operand in (a, b))
    subscripts = f"{a},{b}->{c}"
    C = torch.empty([extent[x] for x in c], device="cuda", dtype=dtype)

    def error() -> float:
        expected = torch.einsum(subscripts, A.to(torch.float32), B.to(torch.float32)) if name == "float16" else theirs()
        return ((C - expected).abs().max() / expected.abs().max()).item()

    def theirs() -> torch.Tensor:
        return torch.einsum(subscripts, A, B).contiguous()

    return Problem(
        f"{subscripts} " + ",".join(f"{x}{e}" for x, e in extent.items()),
        flops * (4 if dtype.is_complex else 1),
        elements * A.element_size(),
        lambda: cute_py.contract(subscripts, A, B, C, compute=compute),
        theirs,
        error,
        lambda: cute_py.contract.explain(subscripts, A, B, C, compute=compute).candidates,
        choices.Product("contraction", subscripts, extent, (a[::-1], b[::-1], c[::-1])),
    )


MORE_THAN_L2 = 128 << 20  # bytes


def event_us(run: Callable[[], Any]) -> float:
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    run()
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) * 1e3


def graph_of(calls: Sequence[Callable[[], Any]], count: int) -> Callable[[], Any]:
    """Return the replay of a graph of so many rounds of calls."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(count):
            for call in calls:
                call()
    graph.replay()
    return graph.replay


def medians(runs: Sequence[Callable[[], Any]], repeats: int) -> list[float]:
    """Return the median microseconds of each. They take turns."""
    rounds = [[event_us(run) for run in runs] for _ in range(repeats)]
    return [statistics.median(times) for times in zip(*rounds, strict=True)]


def repeated(call: Callable[[], Any], count: int) -> Callable[[], Any]:
    def run() -> None:
        for _ in range(count):
            call()

    return run


def times_of(calls: Sequence[Callable[[], Any]]) -> dict[str, list[float]]:
    """Return the microseconds of each call, warm, cold and as called."""
    for call in calls:
        call()
    once = max(1.0, min(event_us(calls[-1]) for _ in range(2)))
    count = max(1, min(20, int(1000 / once)))
    warm = medians([graph_of([call], count) for call in calls], 5)
    memory = torch.empty(MORE_THAN_L2, dtype=torch.uint8, device="cuda")
    few = max(1, count // 4)
    *cold, writing = medians(
        [graph_of([memory.zero_, *of_one], few) for of_one in (*([call] for call in calls), [])], 3
    )
    many = max(1, min(50, int(2000 / once)))
    called = medians([repeated(call, many) for call in calls], 3)
    return {
        "": [x / count for x in warm],
        "cold_": [max(x - writing, 0.1) / few for x in cold],
        "call_": [x / many for x in called],
    }


def measure(problem: Problem, name: str, tolerance: float) -> dict[str, Any]:
    problem.ours()
    error = problem.error()
    if not error < tolerance:
        raise ValueError(f"{name} {problem.name}: WRONG, by {error:.1e}")
    found = {"type": name, "problem": problem.name, "flops": problem.flops, "bytes": problem.bytes}
    for how, (ours, theirs) in times_of([problem.ours, problem.theirs]).items():
        found |= {f"{how}us": round(ours, 2), f"{how}peer_us": round(theirs, 2)}
    return found | {"chosen": str(problem.candidates()[0])}


def ratio(found: dict[str, Any], how: str = "") -> float:
    return float(found[f"{how}peer_us"] / found[f"{how}us"])


def distribution(found: list[dict[str, Any]], how: str = "") -> str:
    ratios = sorted(ratio(x, how) for x in found)
    mean = math.exp(statistics.fmean(map(math.log, ratios)))
    return f"{len(ratios):4d} problems: geomean {mean:.3f} p10 {ratios[len(ratios) // 10]:.3f} min {ratios[0]:.3f}"


def show(name: str, found: list[dict[str, Any]]) -> None:
    worst = min(found, key=ratio)
    for how, words in (("", "warm"), ("cold_", "cold"), ("call_", "calls")):
        print(f"{name:10} {words:5} {distribution(found, how)}", flush=True)
    print(f"{name:10} worst {worst['problem']}, {worst['us']:.0f} us, {worst['chosen']}", flush=True)


def classes(found: dict[str, Any], product: choices.Product) -> list[tuple[str, int, str]]:
    """What a problem is one of: by what, the class's place, and its name."""

    def of(title: str, value: float, limits: Sequence[int]) -> tuple[str, int, str]:
        place = sum(value >= limit for limit in limits)
        return title, place, f"{limits[place - 1] if place else 0} to {limits[place] if place < len(limits) else '...'}"

    a, b, c = map(set, product.operands)
    m, n, k = (math.prod(product.extents[x] for x in group) for group in (a - b, b - a, (a & b) - c))
    is_aligned = all(product.extents[order[0]] % 8 == 0 for order in product.orders)
    layout = found["problem"].split()[0] if product.kind == "square" else "any"
    return [
        of("PyTorch's us", found["peer_us"], (5, 10, 20, 50, 200)),
        ("layout", 0, layout),
        ("lines", is_aligned, "multiples of 8" if is_aligned else "other lengths"),
        of("min(M,N)", min(m, n), (16, 64, 128, 256, 512, 1024, 2048)),
        of("K", k, (16, 64, 256, 1024, 2048)),
    ]


def show_classes(found: list[dict[str, Any]], products: list[choices.Product]) -> None:
    groups: dict[tuple[str, int, str], list[dict[str, Any]]] = {}
    for x, product in zip(found, products, strict=True):
        for group in classes(x, product):
            groups.setdefault(group, []).append(x)
    for title, place, label in sorted(groups):
        print(f"  {title:12} {label:14} {distribution(groups[title, place, label])}", flush=True)


def show_worst(
    name: str, found: list[dict[str, Any]], products: list[choices.Product], count: int, records: list[choices.Record]
) -> None:
    """Measure the candidates of the problems with the least ratios, and print what the best of them would give."""
    for place in sorted(range(len(found)), key=lambda i: ratio(found[i]))[:count]:
        x = found[place]
        record = choices.measured(products[place], name, choices.on_gpu, choices.graph_us)
        if record is None:
            continue
        records.append(record)
        best = min(record.us, key=lambda key: record.us[key])
        print(
            f"  {ratio(x):.2f} {x['problem']}: {x['us']:.1f} us, PyTorch {x['peer_us']:.1f}, {record.chosen}; best of "
            f"{len(record.us)} candidates {record.us[best]:.1f} us, {best}",
            flush=True,
        )


def run(options: argparse.Namespace, name: str, tolerance: float, records: list[choices.Record]) -> None:
    """Measure problems for so many seconds, or so many of them, and append what candidates of the worst take."""
    make = gemm if options.kind == "gemm" else contraction
    torch.backends.cuda.matmul.allow_tf32 = name == "tfloat32"
    found: list[dict[str, Any]] = []
    products: list[choices.Product] = []
    end = time.monotonic() + options.seconds
    for number in range(options.count):
        if time.monotonic() > end:
            break
        problem = make(random.Random(f"{options.seed} {number}"), name)
        if problem is None:
            continue
        found.append(measure(problem, name, tolerance))
        products.append(problem.product)
        if options.save is not None:
            print(json.dumps(found[-1]), file=options.save, flush=True)
        del problem
        if number % 20 == 0:
            torch.cuda.empty_cache()
    show(name, found)
    show_classes(found, products)
    show_worst(name, found, products, options.worst, records)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=list(TYPES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1 << 30, help="the most problems of each type")
    parser.add_argument("--seconds", type=float, default=60, help="for each type")
    parser.add_argument("--types", nargs="+")
    parser.add_argument("--worst", type=int, default=0, help="measure the candidates of so many problems of each type")
    parser.add_argument("--save", type=argparse.FileType("w"), help="a line of JSON for each problem")
    parser.add_argument("--runs", type=Path, help="where to keep what --worst measured")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    print(f"{torch.cuda.get_device_name()}, PyTorch's time over ours")
    records: list[choices.Record] = []
    try:
        for name in options.types or TYPES[options.kind]:
            run(
                options,
                name,
                TOLERANCE.get(choices.stored_and_asked(name)[0], 1e-5 if options.kind == "gemm" else 1e-4),
                records,
            )
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    finally:  # what was measured before an error is kept
        if options.runs is not None:
            choices.write(options.runs, choices.facts_of_gpu(), records)
    return 0


if __name__ == "__main__":
    sys.exit(main())
