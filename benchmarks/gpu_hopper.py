"""What `gemm_sm90` is measured by: fixed products against cuBLAS, which PyTorch calls, timed as CUDA graphs.

    python benchmarks/gpu_hopper.py [--rows squares points epilogues tfloat32 int8 float8 collectives call] [--save hopper.jsonl]

- squares: bfloat16, M = N = K from 1024 to 16384, four layouts.
- points: bfloat16, tn, few rows, few columns, a short K, a long one.
- epilogues: bias and gelu (tanh) against PyTorch's fused linear layer.
- tfloat32, int8, float8: 2048 to 8192, four layouts where cuBLAS takes them; float8 with fast sums and promoted ones, both over fast cuBLAS.
- collectives: TFLOP/s over those of the best CUTLASS 4.2 collective at that shape, which data/collectives.json holds; they were measured elsewhere.
- call: what a planned product costs the host.

Each result is compared with float64 on random rows before it is timed. Both sides are captured as graphs of up to 20 calls, so that no host's time
counts, and run in turns; medians. Needs PyTorch with CUDA and an H100 or H200.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import torch
from harness import LAYOUTS, draw, is_right, peer

import cute_py

COLLECTIVES = Path(__file__).parent / "data" / "collectives.json"
SIZES = (2048, 4096, 8192)
POINTS = ((64, 4096, 4096), (16, 7168, 16384), (8192, 8192, 64), (256, 256, 65536), (16384, 128, 4096))
LINEAR = (
    (4096, 4096, 4096),
    (8192, 8192, 8192),
    (1024, 4096, 1024),
    (16384, 4096, 1024),
    (512, 3072, 768),
    (4096, 16384, 4096),
    (8192, 2048, 2048),
)


class Row(NamedTuple):
    """One product: seconds of ours, and of cuBLAS or a time from elsewhere."""

    name: str
    flops: int
    seconds: float
    peer: float
    chosen: str


def graph_of(call: Callable[[], Any], count: int) -> torch.cuda.CUDAGraph:
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(count):
            call()
    return graph


def seconds(calls: list[Callable[[], Any]], flops: int, repeats: int = 9) -> list[float]:
    """Medians of one call of each, in turns."""
    count = max(1, min(20, int(4e12 / flops)))
    graphs = [graph_of(call, count) for call in calls]
    times: list[list[float]] = [[] for _ in calls]
    for repeat in range(repeats + 2):
        for graph, found in zip(graphs, times, strict=True):
            start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            torch.cuda._sleep(500_000)  # while the graph comes to the GPU, which would wait for it else
            start.record()
            graph.replay()
            stop.record()
            stop.synchronize()
            if repeat >= 2:
                found.append(start.elapsed_time(stop) / 1e3 / count)
    return [statistics.median(found) for found in times]


def result_type(dtype: torch.dtype) -> torch.dtype:
    if dtype == torch.int8:
        return torch.int32
    return torch.bfloat16 if dtype.itemsize == 1 else dtype


def product(
    shape: tuple[int, int, int],
    layout: str,
    factor: str,
    compute: str | None = None,
    elsewhere: float | None = None,
) -> Row | None:
    """One product and cuBLAS's time of it, or seconds from elsewhere; None where cuBLAS takes no such layout."""
    m, n, k = shape
    dtype = torch.float32 if factor == "tfloat32" else getattr(torch, factor)
    torch.backends.cuda.matmul.allow_tf32 = factor == "tfloat32"
    first = LAYOUTS[layout]
    A, B = draw(m, k, dtype, first[0]), draw(n, k, dtype, first[1])
    C = torch.empty((n, m), device="cuda", dtype=result_type(dtype)).t()
    C.fill_(77)
    ours = partial(cute_py.gemm, A, B, C, compute=compute)
    ours()
    name = f"{factor}{'/' + compute if compute else ''} {layout} {m}x{n}x{k}"
    if not is_right(C, A, B, factor):
        raise ValueError(f"{name}: WRONG")
    calls = [ours]
    if elsewhere is None:
        theirs = peer(A, B, C, is_fast=True)
        if theirs is None:
            return None
        calls.append(theirs)
    flops = 2 * m * n * k
    found = seconds(calls, flops)
    chosen = str(cute_py.gemm.explain(A, B, C, compute=compute).chosen)
    return Row(name, flops, found[0], found[1] if elsewhere is None else elsewhere, chosen)


def linear(shape: tuple[int, int, int]) -> Row:
    """A linear layer of `m` tokens, `n` features from `k`, bias and gelu, against PyTorch's fused one."""
    m, n, k = shape
    x, weight = (torch.randn(rows, k, device="cuda").to(torch.bfloat16) for rows in (m, n))
    weight /= math.sqrt(k)
    bias = torch.randn(n, device="cuda").to(torch.bfloat16)
    C = torch.full((m, n), math.nan, device="cuda", dtype=torch.bfloat16)
    epilogue = cute_py.Epilogue(bias=bias, activation="gelu_tanh")
    ours = partial(cute_py.gemm, x, weight, C, epilogue=epilogue)
    theirs = partial(torch._addmm_activation, bias, x, weight.t(), use_gelu=True)
    ours()
    some = torch.randint(0, m, (64,), device="cuda")
    plain = x[some].double() @ weight.double().t() + bias.double()
    expected = torch.nn.functional.gelu(plain, approximate="tanh")
    name = f"bias, gelu {m}x{n}x{k}"
    if not bool(((C[some].double() - expected).abs() <= 2.0**-7 * (expected.abs() + 1)).all()):
        raise ValueError(f"{name}: WRONG")
    flops = 2 * m * n * k
    found = seconds([ours, theirs], flops)
    return Row(name, flops, *found, str(cute_py.gemm.explain(x, weight, C, epilogue=epilogue).chosen))


def collectives() -> Iterator[Row | None]:
    for entry in json.loads(COLLECTIVES.read_text())["best"]:
        shape = tuple(entry["shape"])
        flops = 2 * math.prod(shape)
        yield product(shape, entry["layout"], entry["factor"], entry["compute"], flops / entry["tflops"] / 1e12)


def rows_of(name: str) -> Iterator[Row | None]:
    if name == "squares":
        for n in (1024, *SIZES, 16384):
            yield from (product((n, n, n), layout, "bfloat16") for layout in LAYOUTS)
    elif name == "points":
        yield from (product(shape, "tn", "bfloat16") for shape in POINTS)
    elif name == "epilogues":
        yield from map(linear, LINEAR)
    elif name == "collectives":
        yield from collectives()
    else:
        factor, computes = {
            "tfloat32": ("tfloat32", ["tfloat32"]),
            "int8": ("int8", [None]),
            "float8": ("float8_e4m3fn", ["fast_float32", None]),
        }[name]
        for compute in computes:
            for layout in LAYOUTS:
                yield from (product((n, n, n), layout, factor, compute) for n in SIZES)


def mean(ratios: list[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, ratios)))


def show(name: str, save: TextIO | None) -> None:
    found: dict[str, list[float]] = {}
    for row in rows_of(name):
        if row is None:
            continue
        ratio = row.peer / row.seconds
        found.setdefault(row.name.rpartition(" ")[0], []).append(ratio)
        print(f"  {row.name:44} {row.flops / row.seconds / 1e12:7.1f} TFLOP/s  {ratio:5.2f}  {row.chosen}", flush=True)
        if save is not None:
            print(json.dumps({"row": name, **row._asdict()}), file=save, flush=True)
        torch.cuda.empty_cache()
    parts = ", ".join(f"{kind} {mean(ratios):.2f}" for kind, ratios in found.items())
    every = [ratio for ratios in found.values() for ratio in ratios]
    print(f"{name}: geometric mean {mean(every):.3f}, least {min(every):.2f} ({parts})", flush=True)


def call_cost() -> None:
    """What the host takes for a planned product of 64x64 bfloat16."""
    A, B = (torch.randn(64, 64, device="cuda").to(torch.bfloat16) for _ in range(2))
    C = torch.empty((64, 64), device="cuda", dtype=torch.bfloat16).t()
    plan = cute_py.gemm.plan(A, B, C)
    calls = {
        "plan(A, B, C)": partial(plan, A, B, C),
        "gemm(A, B, C)": partial(cute_py.gemm, A, B, C),
        "torch.mm(out=)": partial(torch.mm, B, A.t(), out=C.t()),
    }
    for name, call in calls.items():
        times = []
        for _ in range(50):
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(200):
                call()
            times.append((time.perf_counter() - start) / 200 * 1e6)
        print(f"call: {name:16} {statistics.median(times):5.2f} us of the host", flush=True)


def main() -> int:
    names = ["squares", "points", "epilogues", "tfloat32", "int8", "float8", "collectives", "call"]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", nargs="+", choices=names, default=names)
    parser.add_argument("--save", type=argparse.FileType("w"), help="a line of JSON for each product")
    options = parser.parse_args()
    torch.manual_seed(0)
    print(f"{torch.cuda.get_device_name()}, the peer's time over ours")
    try:
        for name in options.rows:
            if name == "call":
                call_cost()
            else:
                show(name, options.save)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
