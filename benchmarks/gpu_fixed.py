"""The TCCG benchmark's 48 contractions against `torch.einsum` and cuTENSOR, and batches of square products against `torch.bmm`.

    python benchmarks/gpu_fixed.py tccg [--types float64] [--scale 0.83] [--worst 10] [--save tccg.jsonl]
    python benchmarks/gpu_fixed.py batches

Verified and measured as by `gpu_random.py`: in one process, in turns. data/tccg48.json has the contractions as C-A-B, the leftmost index
fastest, at full extents; data/cutensor_h200_tccg48.csv the times that cuTENSOR 2.8.1 took for them in float32 on an H200, the better of its
default and its JIT plans. Every result is compared with PyTorch's. `--types` also takes ways to emulate precision, such as fp16x3. Needs PyTorch with CUDA.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import choices
import torch
from gpu_random import Problem, drawn, measure, show, show_worst, type_and_compute
from harness import spread

import cute_py

DATA = Path(__file__).parent / "data"
TYPES = {"tccg": ["float32", "float64"], "batches": ["float32", "float16", "float64"]}
TOLERANCE = {"float16": 1e-2, "float32": 1e-4, "float64": 1e-11}
BATCHES = ((64, 512), (1024, 128), (100_000, 16), (10_000, 32), (2_000, 64))


def contraction(entry: dict[str, Any], dtype: torch.dtype, scale: float, compute: str | None) -> Problem:
    c, a, b = (indices[::-1] for indices in entry["contraction"].split("-"))
    extent = {x: round(scale * count) for x, count in entry["extents"].items()}
    A, B = (drawn(tuple(extent[x] for x in operand), dtype) for operand in (a, b))
    C = torch.empty([extent[x] for x in c], device="cuda", dtype=dtype)
    subscripts = f"{a},{b}->{c}"

    def error() -> float:
        expected = torch.einsum(subscripts, A, B)
        return ((C - expected).abs().max() / expected.abs().max()).item()

    return Problem(
        entry["contraction"],
        2 * math.prod(extent[x] for x in set(a + b + c)),
        (A.numel() + B.numel() + C.numel()) * A.element_size(),
        lambda: cute_py.contract(subscripts, A, B, C, compute=compute),
        lambda: torch.einsum(subscripts, A, B),
        error,
        lambda: cute_py.contract.explain(subscripts, A, B, C, compute=compute).candidates,
        choices.Product("contraction", subscripts, extent, (a[::-1], b[::-1], c[::-1])),
    )


def batch(count: int, extent: int, dtype: torch.dtype) -> Problem:
    A, B = (drawn((count, extent, extent), dtype) for _ in range(2))
    C, D = (torch.empty_like(A) for _ in range(2))

    def error() -> float:
        expected = torch.bmm(A, B).to(torch.float64)
        return ((C - expected).abs().max() / expected.abs().max()).item()

    return Problem(
        f"{count} x {extent}^3",
        2 * count * extent**3,
        3 * A.numel() * A.element_size(),
        lambda: cute_py.matmul(A, B, out=C),
        lambda: torch.bmm(A, B, out=D),
        error,
        lambda: cute_py.matmul.explain(A, B, out=C).candidates,
        choices.Product("batch", "lmk,lkn->lmn", dict.fromkeys("lmnk", extent) | {"l": count}, ("kml", "nkl", "nml")),
    )


def problems(kind: str, name: str, scale: float) -> Iterator[Problem]:
    dtype, compute = type_and_compute(name)
    if kind == "tccg":
        entries = json.loads((DATA / "tccg48.json").read_text())
        yield from (contraction(entry, dtype, scale, compute) for entry in entries)
    else:
        yield from (batch(count, extent, dtype) for count, extent in BATCHES)


def beside_cutensor(found: list[dict[str, Any]]) -> list[str]:
    """Return, for each group of contractions and for all, what cuTENSOR's times are over ours."""
    with (DATA / "cutensor_h200_tccg48.csv").open() as file:
        cutensor = {row["contraction"]: 1e3 * float(row["fp32_ms"]) for row in csv.DictReader(file)}
    groups = {entry["contraction"]: entry["group"] for entry in json.loads((DATA / "tccg48.json").read_text())}
    ratios: dict[str, list[float]] = {}
    for run in found:
        ratios.setdefault(groups[run["problem"]], []).append(cutensor[run["problem"]] / run["us"])
    ratios["all"] = [ratio for some in ratios.values() for ratio in some]
    return [f"cuTENSOR on an H200, {group}: {spread(some)}" for group, some in ratios.items()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=list(TYPES))
    parser.add_argument("--types", nargs="+")
    parser.add_argument("--scale", type=float, default=1, help="of the extents of tccg")
    parser.add_argument("--worst", type=int, default=0, help="measure the candidates of so many problems of each type")
    parser.add_argument("--save", type=argparse.FileType("w"), help="a line of JSON for each problem")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = False
    print(f"{torch.cuda.get_device_name()}, PyTorch's time over ours")
    for name in options.types or TYPES[options.kind]:
        found = []
        products = []
        for problem in problems(options.kind, name, options.scale):
            products.append(problem.product)
            try:
                found.append(measure(problem, name, TOLERANCE[choices.stored_and_asked(name)[0]]))
            except ValueError as error:
                print(error, file=sys.stderr)
                return 1
            if options.save is not None:
                print(json.dumps(found[-1]), file=options.save, flush=True)
            if options.kind == "batches":
                x = found[-1]
                print(
                    f"{name:10} {x['problem']:12} {x['us']:8.1f} us, PyTorch {x['peer_us']:8.1f}, {x['peer_us'] / x['us']:.2f}"
                )
        show(name, found)
        show_worst(name, found, products, options.worst, [])
        if options.kind == "tccg" and type_and_compute(name)[0] == torch.float32 and options.scale == 1:
            print(*beside_cutensor(found), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
