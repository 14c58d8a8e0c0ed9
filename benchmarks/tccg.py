"""The 48 contractions of the TCCG benchmark on a GPU, in float32: verified, timed, and compared with cuTENSOR's times.

    python benchmarks/tccg.py [--divide N] [--json FILE]

data/tccg48.json has the contractions as C-A-B, the leftmost index fastest, and their extents; --divide makes all extents
smaller. data/cutensor_h200_tccg48.csv has the times that cuTENSOR 2.8.1 took on an H200, the better of its default and its
JIT plans. Every element of a result is compared with float64 before the contraction is timed. Needs CuPy.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import statistics
import sys
from pathlib import Path

import cupy
import numpy as np

import cute_py

DATA = Path(__file__).parent / "data"
FLUSH_BYTES = 256 << 20  # more than the L2 cache holds


def operands(contraction: dict, divide: int) -> tuple[str, cupy.ndarray, cupy.ndarray]:
    """Return subscripts for row-major arrays, which has the indices of each reversed, and A and B."""
    c, a, b = (indices[::-1] for indices in contraction["contraction"].split("-"))
    extents = {index: max(1, extent // divide) for index, extent in contraction["extents"].items()}
    generator = cupy.random.default_rng(0)
    arrays = [generator.standard_normal([extents[i] for i in indices], dtype=cupy.float32) for indices in (a, b)]
    return f"{a},{b}->{c}", *arrays


def error(subscripts: str, result: cupy.ndarray, A: cupy.ndarray, B: cupy.ndarray) -> float:
    """Return the largest error of an element, divided by what rounding alone can do."""
    inputs, _, c = subscripts.partition("->")
    a, b = inputs.split(",")
    summed = [i for i in a if i in b and i not in c]
    axes = [a.index(i) for i in summed], [b.index(i) for i in summed]
    free = [i for i in a if i not in summed] + [i for i in b if i not in summed]
    order = [free.index(i) for i in c]
    wide = [x.astype(cupy.float64) for x in (A, B)]
    reference = cupy.tensordot(*wide, axes).transpose(order)
    bound = cupy.tensordot(*map(cupy.abs, wide), axes).transpose(order)
    k = math.prod(A.shape[i] for i in axes[0])
    ratio = cupy.abs(result - reference) / ((k + 2) * 2.0**-24 * bound + 1e-30)
    return float(ratio.max())


def seconds(call, repeat: int) -> float:
    flush = cupy.empty(FLUSH_BYTES, cupy.uint8)
    times = []
    for _ in range(repeat):
        flush[...] = 1
        start, stop = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        call()
        stop.record()
        stop.synchronize()
        times.append(cupy.cuda.get_elapsed_time(start, stop) / 1e3)
    return statistics.median(times)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--divide", type=int, default=1, help="divide all extents by this")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    options = parser.parse_args()

    with (DATA / "cutensor_h200_tccg48.csv").open() as file:
        cutensor = {row["contraction"]: float(row["fp32_ms"]) for row in csv.DictReader(file)}
    print(f"{'contraction':24} {'kernel':28} {'ms':>9} {'TFLOP/s':>8} {'GB/s':>6} {'of cuTENSOR':>11}")
    rows = []
    for contraction in json.loads((DATA / "tccg48.json").read_text()):
        name = contraction["contraction"]
        subscripts, A, B = operands(contraction, options.divide)
        C = cute_py.contract(subscripts, A, B)
        off = error(subscripts, C, A, B)
        if not off <= 1:
            print(f"{name}: WRONG, an element is off by {off:.3g} times its bound", file=sys.stderr)
            return 1
        explanation = cute_py.contract.explain(subscripts, A, B, C)
        C[...] = cupy.nan
        time = seconds(lambda: cute_py.contract(subscripts, A, B, C), options.repeat)  # noqa: B023
        ratio = cutensor[name] / (time * 1e3) if options.divide == 1 else math.nan
        rows.append(
            {
                "group": contraction["group"],
                "contraction": name,
                "kernel": explanation.chosen,
                "ms": time * 1e3,
                "tflops": explanation.flops / time / 1e12,
                "ratio": ratio,
                "error": off,
            }
        )
        print(
            f"{name:24} {explanation.chosen:28} {time * 1e3:9.4f} {explanation.flops / time / 1e12:8.2f} "
            f"{explanation.bytes / time / 1e9:6.0f} {ratio:11.2f}",
            flush=True,
        )
        cupy.get_default_memory_pool().free_all_blocks()

    groups: dict[str, list[float]] = {}
    for row in rows:
        groups.setdefault(row["group"], []).append(row["ratio"])
    for group, ratios in groups.items():
        print(f"{group}: geometric mean {np.exp(np.log(ratios).mean()):.3f} of cuTENSOR, {len(ratios)} contractions")
    print(f"all: geometric mean {np.exp(np.log([row['ratio'] for row in rows]).mean()):.3f} of cuTENSOR")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
