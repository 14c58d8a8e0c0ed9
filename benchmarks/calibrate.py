"""Times of all candidates of random products, the regret of the choice, and the constants that fit the estimates to them.

    python benchmarks/calibrate.py measure runs.jsonl [--seed 1] [--count 60] [--types float32 ...] [--seconds 120]
    python benchmarks/calibrate.py fit runs.jsonl ...

`measure` needs PyTorch with CUDA; it takes the products of `gpu_random.py`, checks every candidate against float64, and writes a line for each. It prints
the regret: the time of the candidate that is chosen over that of the best. `fit` prints the four numbers of
`kernels::model::Speed` for every form, type and tile that is in the runs: what belongs into the families' `rules.cpp`. It needs
no GPU and no PyTorch. Its formula is that of `kernels/common/model.hpp`, for products that lie in
vectors or are read element by element.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import statistics
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

BYTES = {"float16": 2, "bfloat16": 2, "float32": 4, "tfloat32": 4, "float64": 8, "complex64": 8, "complex128": 16}
TILED = ("sgemm_sm80", "gemm_sm80", "gemm_sm90")
LAUNCH_US = 2.4  # as in model.hpp
AGAINST_THE_GRAIN = 0.05
SECTOR_BYTES = 32
CACHE_BYTES_PER_CYCLE = 31.2


def measure(options: argparse.Namespace) -> int:
    from gpu_random import TOLERANCE, gemm, microseconds

    import cute_py

    device = cute_py.devices()[0]
    facts = {
        "multiprocessors": device.multiprocessors,
        "memory_gb_per_s": device.memory_gb_per_s,
        "clock_mhz": device.clock_mhz,
    }
    end = time.monotonic() + options.seconds
    with options.runs[0].open("w") as save:
        for name in options.types:
            regrets = []
            for number in range(options.count):
                if time.monotonic() > end:
                    break
                problem = gemm(random.Random(f"{options.seed} {number}"), name)
                if problem is None:
                    continue
                times = []
                for candidate in problem.candidates()[: options.most]:
                    try:
                        call = problem.planned(candidate)
                    except cute_py.CuteError:  # it does not fit into memory
                        continue
                    call()
                    if not problem.error() < TOLERANCE.get(name, 1e-5):
                        print(f"{name} {problem.name}: WRONG, {candidate}", file=sys.stderr)
                        return 1
                    times.append(microseconds(call))
                    kernel = cute_py.kernels()[candidate.kernel]
                    traits = {"layout": kernel.layout, "tile": kernel.tile, "resident": kernel.ctas_per_multiprocessor}
                    run = (
                        {"type": name, "problem": problem.name, "measured_us": times[-1]} | candidate._asdict() | traits
                    )
                    print(json.dumps(run | facts), file=save, flush=True)
                regrets.append(times[0] / min(times))
            if regrets:
                regrets.sort()
                print(
                    f"{name:10} {len(regrets):4d} problems: regret median {regrets[len(regrets) // 2]:.3f} "
                    f"p90 {regrets[len(regrets) * 9 // 10]:.3f} max {regrets[-1]:.2f}",
                    flush=True,
                )
    return 0


class Run(NamedTuple):
    """A candidate of a product, what was measured, and what its estimate begins with."""

    us: float
    extents: tuple[int, int, int]
    tile: tuple[int, int, int]
    resident: int  # CTAs of a multiprocessor
    parts: int
    in_cluster: bool  # are the parts of a cluster?
    bytes: int  # of an element
    access: tuple[int, int]  # bytes of an access to A and to B
    waste: tuple[float, float]  # bytes moved for one of A and of B: several where threads read across the unit stride
    multiprocessors: int
    memory_bytes_per_us: float
    clock: float


def run_of(record: dict[str, Any]) -> Run:
    layout, extents = record["problem"].split()
    m, n, k = map(int, extents.split("x"))
    majors = [layout[0] == "n", layout[1] == "t"]  # of A along M, of B along N
    if record["transposed"]:
        m, n, majors = n, m, majors[::-1]
    made_for = [record["layout"][0] == "n", record["layout"][1] == "t"]
    takes_vectors = record["kernel"].startswith(("gemm_sm80", "gemm_sm90"))
    size = BYTES[record["type"]]
    access = []
    for of_mn, wanted, rows in zip(majors, made_for, (m, n), strict=True):
        length = (rows if of_mn else k) * size
        widest = next(x for x in (16, 8, 4, size) if x <= size or length % x == 0)
        access.append(max(widest, size) if of_mn == wanted and (takes_vectors or of_mn) else size)
    return Run(
        record["measured_us"],
        (m, n, k),
        tuple(record["tile"]),
        record["resident"],
        record["parts"],
        record["kernel"].startswith("gemm_sm90"),
        size,
        (access[0], access[1]),
        tuple(1.0 if x == y else SECTOR_BYTES / size for x, y in zip(majors, made_for, strict=True)),
        record["multiprocessors"],
        record["memory_gb_per_s"] * 1e3 * 0.85,
        record["clock_mhz"] / 1980,
    )


def estimate(run: Run, tflops: float, alone: float, us_per_wave: float, accesses_per_us: float) -> float:
    m, n, k = run.extents
    tile_m, tile_n, tile_k = run.tile
    k_tiles = math.ceil(k / tile_k)
    count = math.ceil(m / tile_m) * math.ceil(n / tile_n)
    if run.parts > 1:
        together = 1 if run.in_cluster else 4
        of_part = math.ceil(math.ceil(k_tiles / run.parts) / together) * together
        count *= math.ceil(k_tiles / of_part)
        k_tiles = of_part
    math_us = 2 * tile_m * tile_n * tile_k * k_tiles / (tflops * 1e6 / 132 * run.clock)
    accesses = (tile_m / run.access[0] + tile_n / run.access[1]) * run.bytes * tile_k * k_tiles
    math_us = max(math_us, accesses / (accesses_per_us * run.clock))
    waves, rest = divmod(count, run.multiprocessors * run.resident)
    us = waves * (run.resident * math_us + us_per_wave)
    if rest > 0:
        share = math.ceil(rest / run.multiprocessors)
        us += share * math_us / (alone + (1 - alone) * (share - 1) / max(1, run.resident - 1)) + us_per_wave
    us *= 1 + AGAINST_THE_GRAIN * sum(x > 1 for x in run.waste)
    memory = (m * k + n * k + m * n) * run.bytes / run.memory_bytes_per_us
    busy = min(1, count / run.multiprocessors)
    again = (m * math.ceil(n / tile_n) * run.waste[0] + n * math.ceil(m / tile_m) * run.waste[1]) * run.bytes * k
    us = max(us, memory, again / (CACHE_BYTES_PER_CYCLE * run.multiprocessors * 1980 * run.clock * busy)) + LAUNCH_US
    return us + (us_to_add(run) if run.parts > 1 else 0)


def us_to_add(run: Run) -> float:
    """The same as in dispatch/choose.cpp."""
    if run.in_cluster:
        return 2.5
    part_bytes = run.tile[0] * run.tile[1] * max(4, run.bytes)
    us, left = 1.5, run.parts
    while left > 1:
        us += 1.5 + math.ceil(min(left, 8) / 4) * (0.5 + part_bytes / 32e3)
        left = math.ceil(left / 8)
    return us


def fitted(runs: list[Run]) -> tuple[tuple[float, ...], float]:
    """The numbers with the least mean of |log(estimate / measured)|, an outlier counted as 0.7, by random steps."""
    chance = random.Random(0)

    def cost(x: tuple[float, ...]) -> float:
        return statistics.fmean(min(0.7, abs(math.log(estimate(run, *x) / run.us))) for run in runs)

    m, n, k = max((run.extents for run in runs), key=math.prod)
    best = (2 * m * n * k / min(run.us for run in runs if run.extents == (m, n, k)) / 1e6, 0.7, 3.0, 1e4)
    least = cost(best)
    for step in range(500):
        width = 0.25 * 0.995**step + 0.02
        x = tuple(y * math.exp(chance.gauss(0, width)) for y in best)
        x = (x[0], min(1.0, x[1]), *x[2:])
        if (found := cost(x)) < least:
            best, least = x, found
    return best, least


def fit(options: argparse.Namespace) -> int:
    groups: dict[tuple[str, ...], list[Run]] = {}
    for path in options.runs:
        for record in map(json.loads, path.read_text().splitlines()):
            if record["packed"] or not record["kernel"].startswith(TILED):
                continue
            form = re.sub(r"_(nt|tn|nn|tt)_", "_*_", record["kernel"])
            groups.setdefault((form, record["type"]), []).append(run_of(record))
    for (form, name), runs in sorted(groups.items()):
        if len(runs) >= options.least:
            (tflops, alone, wave, accesses), error = fitted(runs)
            print(
                f"{form:34} {name:10} {len(runs):5d} runs: {{{tflops:.1f}, {alone:.2f}, {wave:.1f}, {accesses:.0f}}} "
                f"within {error:.0%} on average"
            )
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["measure", "fit"])
    parser.add_argument("runs", type=Path, nargs="+", help="a file of JSON lines")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--types", nargs="+", choices=BYTES, default=list(BYTES))
    parser.add_argument("--seconds", type=float, default=300, help="measure no longer than about this")
    parser.add_argument("--most", type=int, default=16, help="candidates of a product")
    parser.add_argument("--least", type=int, default=8, help="runs that are worth a fit")
    options = parser.parse_args()
    return measure(options) if options.what == "measure" else fit(options)


if __name__ == "__main__":
    sys.exit(main())
