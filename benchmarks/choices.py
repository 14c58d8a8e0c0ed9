"""Record what all candidates of random products take; judge the estimates by such records, and fit them.

    python benchmarks/choices.py record gpu runs.jsonl [--seed 1] [--seconds 300] [--types float32 ...]
    python benchmarks/choices.py record cpu runs.jsonl [--seconds 300] [--threads 1] [--isa avx2]
    python benchmarks/choices.py regret runs.jsonl ... [--worst 10]
    python benchmarks/choices.py errors runs.jsonl ...
    python benchmarks/choices.py fit runs.jsonl ... [--steps 600]

`record` draws products of five kinds in turns: square ones (M, N, K from 64 to 8192), small ones (1 to 512), thin ones
(one of M, N, K is short), batches, and contractions of several modes. It checks every candidate of `explain` against
float64, times it, and writes a line for each product: what it is, microseconds by candidate, and which one was chosen.
The first line of a file is the device and the kernels, which candidates name by their places: "3 t8AB" is kernel 3 with
A and B exchanged, K split by 8, A and B packed. On a GPU (needs PyTorch) a time is device time, of a CUDA graph of
repeated calls. On a CPU, `--isa` leaves wider vectors alone.

`regret` is the time of the candidate that is chosen now over that of the best one that was measured. `errors` compares
estimates with times, by kernel: what to correct in the families' rules.cpp (a factor: TFLOP/s; microseconds that all
have in common: those of a wave). `fit` searches the rates of a CPU's cost model (csrc/problem/cpu_profile.hpp) that
meet every other record best, and tells the regret of the rest. None of these needs a GPU. The records in
`benchmarks/data/choices` are those that `tests/test_choice.py` holds the estimates to.
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
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

TOLERANCE = {"float16": 4e-3, "bfloat16": 2e-2, "tfloat32": 4e-3, "float64": 1e-11, "complex128": 1e-11}
TOLERANCE["float8_e4m3fn"] = 5e-3
GPU_TYPES = [
    "float32",
    "tfloat32",
    "float16",
    "bfloat16",
    "float64",
    "complex64",
    "complex128",
    "int8",
    "float8_e4m3fn",
]
CPU_TYPES = ["float32", "float64", "complex64", "complex128", "float16", "bfloat16", "int8"]
MOST_BYTES = {"gpu": 1 << 30, "cpu": 1 << 26}
MOST_WORK = {"gpu": 2e11, "cpu": 2e9}  # multiply-adds


class Product(NamedTuple):
    """A contraction: subscripts, and of A, B and C the order of their modes in memory, the fastest first."""

    kind: str
    subscripts: str
    extents: dict[str, int]
    orders: tuple[str, str, str]

    @property
    def operands(self) -> tuple[str, str, str]:
        a, b, c = self.subscripts.replace("->", ",").split(",")
        return a, b, c

    def shape(self, operand: int) -> tuple[int, ...]:
        return tuple(self.extents[x] for x in self.operands[operand])

    def strides(self, operand: int) -> tuple[int, ...]:
        """In elements."""
        of, stride = {}, 1
        for x in self.orders[operand]:
            of[x], stride = stride, stride * self.extents[x]
        return tuple(of[x] for x in self.operands[operand])


def log_uniform(chance: random.Random, least: float, most: float) -> int:
    return round(math.exp(chance.uniform(math.log(least), math.log(most))))


def square(chance: random.Random, most: int) -> Product:
    extents = {x: log_uniform(chance, most // 128, most) for x in "mnk"}
    if chance.random() < 0.6:
        extents = {x: max(8, extent // 8 * 8) for x, extent in extents.items()}
    orders = chance.choice(["mk", "km"]), chance.choice(["nk", "kn"]), chance.choice(["mn", "nm"])
    return Product("square", "mk,nk->mn", extents, orders)


def small(chance: random.Random, most: int) -> Product:
    return square(chance, most // 16)._replace(kind="small")


def thin(chance: random.Random, most: int) -> Product:
    product = square(chance, most)
    short = chance.choice("mnk")
    return product._replace(kind="thin", extents=product.extents | {short: log_uniform(chance, 1, 32)})


def batch(chance: random.Random, most: int) -> Product:
    extents = {x: log_uniform(chance, 4, most // 16) for x in "mnk"} | {"l": log_uniform(chance, 2, 64)}
    orders = chance.choice(["mkl", "kml"]), chance.choice(["nkl", "knl"]), chance.choice(["mnl", "nml"])
    return Product("batch", "lmk,lnk->lmn", extents, orders)


def contraction(chance: random.Random, most: int) -> Product:
    counts = [chance.choice(of) for of in ([1, 1, 2, 2, 3], [1, 1, 2, 2, 3], [1, 1, 2], [0, 0, 0, 1])]
    letters = iter("abcdefghi")
    M, N, K, L = ("".join(next(letters) for _ in range(count)) for count in counts)
    extents = {x: log_uniform(chance, 2, most // 16) for x in M + N + K + L}
    if chance.random() < 0.5:
        extents = {x: max(8, extent // 8 * 8) for x, extent in extents.items()}
    a, b, c = ("".join(chance.sample(x, len(x))) for x in (M + K + L, N + K + L, M + N + L))
    return Product("contraction", f"{a},{b}->{c}", extents, (a[::-1], b[::-1], c[::-1]))


KINDS = (square, small, thin, batch, contraction)


def products(where: str, seed: int) -> Iterator[tuple[Product, str]]:
    """Products and types without end, each drawn from its own number."""
    types = GPU_TYPES if where == "gpu" else CPU_TYPES
    for number in range(1 << 30):
        chance = random.Random(f"{seed} {number}")
        dtype = types[number % len(types)]
        product = KINDS[number // len(types) % len(KINDS)](chance, 8192 if where == "gpu" else 2048)
        elements = [math.prod(product.shape(i)) for i in range(3)]
        if 8 * max(elements) > MOST_BYTES[where] or math.prod(product.extents.values()) > MOST_WORK[where]:
            continue
        yield product, dtype


# ---- On a GPU


def graph_us(call: Callable[[], Any], limit: float) -> float:
    """Device time of a call in microseconds: of a CUDA graph of some, the median of three replays; of one call over the limit."""
    import torch

    def event_us(run: Callable[[], Any]) -> float:
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        run()
        stop.record()
        stop.synchronize()
        return start.elapsed_time(stop) * 1e3

    call()
    once = event_us(call)
    if once > limit:
        return once
    count = max(1, min(20, int(400 / max(once, 1))))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(count):
            call()
    graph.replay()
    return statistics.median(event_us(graph.replay) for _ in range(3)) / count


# By emulated precision (docs/numerics.md): the type of the arrays, by what is asked for.
EMULATED = {
    "fast_float32": "float32",
    "fp16x3": "float32",
    "bf16x6": "float32",
    "fast_float64": "float64",
    "fast_complex64": "complex64",
    "fast_complex128": "complex128",
}


def stored_and_asked(name: str) -> tuple[str, str | None]:
    """Return the type of the arrays of a way to compute, and what is asked of cute_py."""
    if name == "tfloat32":
        return "float32", name
    return EMULATED.get(name, name), name if name in EMULATED else None


def on_gpu(product: Product, name: str) -> tuple[list[Any], str | None, Callable[[Any], float]]:
    """Return arrays, `compute`, and the largest error of a result against float64 in units of the largest value."""
    import torch

    stored, compute = stored_and_asked(name)
    dtype = getattr(torch, stored)
    result = {"int8": torch.int32, "float8_e4m3fn": torch.float32}.get(name, dtype)

    def strided(operand: int, of: Any) -> Any:
        shape, strides = product.shape(operand), product.strides(operand)
        memory = torch.empty(math.prod(shape), device="cuda", dtype=of)
        return torch.as_strided(memory, shape, strides)

    arrays = [strided(0, dtype), strided(1, dtype), strided(2, result)]
    for x in arrays[:2]:
        kind = torch.complex64 if dtype.is_complex else torch.float32
        values = torch.randint(-8, 9, x.shape, device="cuda") if name == "int8" else None
        x.copy_((torch.randn(x.shape, device="cuda", dtype=kind) if values is None else values).to(dtype))
    wide = torch.complex128 if dtype.is_complex else torch.float64
    expected = torch.einsum(product.subscripts, arrays[0].to(wide), arrays[1].to(wide))

    def error(found: Any) -> float:
        return float((found.to(wide) - expected).abs().max() / expected.abs().max().clamp_min(1e-30))

    return arrays, compute, error


# ---- On a CPU


def call_us(call: Callable[[], Any], limit: float) -> float:
    """Time of a call in microseconds, the median of five runs of about 2 ms; of one call over the limit."""

    def run(count: int) -> float:
        start = time.perf_counter()
        for _ in range(count):
            call()
        return (time.perf_counter() - start) * 1e6 / count

    once = run(1)
    if once > limit:
        return once
    count = max(1, min(1000, int(2e3 / max(once, 0.1))))
    return statistics.median(run(count) for _ in range(5))


def on_cpu(product: Product, name: str) -> tuple[list[Any], str | None, Callable[[Any], float]]:
    """Return arrays, `compute`, and the largest error of a result against float64 in units of the largest value."""
    from cute_py.testing import numpy_type

    dtype = np.dtype(numpy_type(name))
    result = np.dtype(np.int32) if name == "int8" else dtype
    rng = np.random.default_rng(1)

    def strided(operand: int, of: Any) -> Any:
        shape, strides = product.shape(operand), product.strides(operand)
        memory = np.zeros(math.prod(shape), of)
        return np.lib.stride_tricks.as_strided(memory, shape, [s * of.itemsize for s in strides])

    arrays = [strided(0, dtype), strided(1, dtype), strided(2, result)]
    for x in arrays[:2]:
        values = rng.integers(-8, 9, x.shape) if name == "int8" else rng.standard_normal(x.shape)
        x[...] = values + 1j * rng.standard_normal(x.shape) if name.startswith("complex") else values
    wide = "c16" if name.startswith("complex") else "f8"
    expected = np.einsum(product.subscripts, arrays[0].astype(wide), arrays[1].astype(wide), optimize=True)

    def error(found: Any) -> float:
        return float(np.abs(found.astype(wide) - expected).max() / max(np.abs(expected).max(), 1e-30))

    return arrays, None, error


# ---- Records


class Record(NamedTuple):
    """What the candidates of a product took, and which one was chosen then."""

    product: Product
    type: str
    us: dict[str, float]
    chosen: str


def key_of(candidate: Any) -> str:
    """What tells the candidates of a product apart."""
    return f"{candidate.kernel} {'t' * candidate.transposed}{candidate.split_k}{candidate.packed}"


def record(options: argparse.Namespace) -> int:
    import cute_py

    cute_py.set_num_threads(options.threads)
    records: list[Record] = []
    try:
        skipped = measure(options, records)
    finally:  # what was measured before an error is kept
        write(options.runs[0], device_facts(options), records)
    print(f"{len(records)} products, {skipped} that no kernel takes; {summary(regrets(records, {}))}")
    return 0


def measure(options: argparse.Namespace, records: list[Record]) -> int:
    """Append a record for each product. Return how many no kernel takes; a wrong result is a ValueError."""
    make, time_of = (on_gpu, graph_us) if options.where == "gpu" else (on_cpu, call_us)
    device = device_of(device_facts(options)) if options.where == "cpu" else None
    end = time.monotonic() + options.seconds
    skipped = 0
    for product, name in products(options.where, options.seed):
        if time.monotonic() > end:
            break
        if options.types and name not in options.types:
            continue
        found = measured(product, name, make, time_of, device, options.most)
        if found is None:
            skipped += 1
        else:
            records.append(found)
    return skipped


def measured(
    product: Product,
    name: str,
    make: Callable[[Product, str], tuple[list[Any], str | None, Callable[[Any], float]]],
    time_of: Callable[[Callable[[], Any], float], float],
    device: Any = None,
    most: int = 16,
) -> Record | None:
    """Return what the first candidates of a product take; None if no kernel takes it. A wrong result is a ValueError."""
    import cute_py

    arrays, compute, error = make(product, name)
    try:
        candidates = cute_py.contract.explain(product.subscripts, *arrays, compute=compute, device=device).candidates
    except cute_py.UnsupportedProblemError:
        return None
    times: dict[str, float] = {}
    for candidate in candidates[:most]:
        if candidate.kernel.startswith("reference"):
            continue
        try:
            plan = cute_py.contract.plan(product.subscripts, *arrays, compute=compute, config=candidate)
        except cute_py.CuteError:  # it does not fit into memory
            continue
        call = partial(plan, *arrays)
        arrays[2][...] = 77  # poisoned: every element has to be written
        call()
        if not error(arrays[2]) < TOLERANCE.get(name, 2e-5):
            raise ValueError(f"WRONG by {error(arrays[2]):.1e}: {name} {product}, {candidate}")
        limit = 5 * min(times.values(), default=math.inf) + 50
        times[key_of(candidate)] = round(time_of(call, limit), 2)
    return Record(product, name, times, key_of(candidates[0])) if times else None


def device_facts(options: argparse.Namespace) -> dict[str, Any]:
    """What the estimates depend on beside the product."""
    import cute_py

    if options.where == "cpu":
        return {"cpu": vars(cute_py.Cpu.here()) | ({"isa": options.isa} if options.isa else {})}
    return facts_of_gpu()


def facts_of_gpu() -> dict[str, Any]:
    """The first GPU, as a file of records describes it."""
    import cute_py

    facts = vars(cute_py.devices()[0])
    return {"device": {name: value for name, value in facts.items() if name != "ordinal"}}


def device_of(facts: dict[str, Any], **rates: float) -> Any:
    """The device of a file, with other rates of its cost model."""
    import cute_py

    if "cpu" in facts:
        return cute_py.Cpu(**facts["cpu"] | {"rates": rates})
    given = facts["device"]
    return cute_py.Device(**given | {"compute_capability": tuple(given["compute_capability"])})


def write(path: Path, facts: dict[str, Any], records: list[Record]) -> None:
    kernels = sorted(
        {key.split()[0] for record in records for key in record.us} | {r.chosen.split()[0] for r in records}
    )

    def short(key: str) -> str:
        kernel, how = key.split()
        return f"{kernels.index(kernel)} {how}"

    with path.open("w") as file:
        print(json.dumps(facts | {"kernels": kernels}), file=file)
        for x in records:
            product = f"{x.product.kind} {x.type} {x.product.subscripts} {' '.join(x.product.orders)}"
            us = {short(key): value for key, value in x.us.items()}
            line = {"product": product, "extents": x.product.extents, "us": us, "chosen": short(x.chosen)}
            print(json.dumps(line, separators=(",", ":")), file=file)


def read(path: Path) -> tuple[dict[str, Any], list[Record]]:
    """Return the facts about the device, and the records."""
    facts, *lines = map(json.loads, path.read_text().splitlines())
    kernels = facts.pop("kernels")

    def whole(key: str) -> str:
        number, how = key.split()
        return f"{kernels[int(number)]} {how}"

    records = []
    for line in lines:
        kind, name, subscripts, *orders = line["product"].split()
        us = {whole(key): value for key, value in line["us"].items()}
        product = Product(kind, subscripts, line["extents"], tuple(orders))
        records.append(Record(product, name, us, whole(line["chosen"])))
    return facts, records


def candidates_now(facts: dict[str, Any], records: list[Record], **rates: float) -> Iterator[Any]:
    """The candidates that this build lists for a device of these facts, the chosen one first."""
    import cute_py

    device = device_of(facts, **rates)
    for product, name, _, _ in records:
        _, compute = stored_and_asked(name)
        arrays = arrays_elsewhere(product, name)
        yield cute_py.contract.explain(product.subscripts, *arrays, device=device, compute=compute).candidates


def chosen_now(facts: dict[str, Any], records: list[Record], **rates: float) -> list[str]:
    """What this build chooses for a device of these facts."""
    return [key_of(candidates[0]) for candidates in candidates_now(facts, records, **rates)]


def best_of_measured(facts: dict[str, Any], records: list[Record]) -> list[str]:
    """The candidate with the least estimate, or the one that is chosen, among those that were measured. Where none of them
    is listed now, as packs are not if they are not worth it, the one that was chosen then.
    """
    listed = [map(key_of, candidates) for candidates in candidates_now(facts, records)]
    return [
        next((key for key in keys if key in record.us), record.chosen)
        for keys, record in zip(listed, records, strict=True)
    ]


def arrays_elsewhere(product: Product, name: str) -> list[np.ndarray]:
    from cute_py.testing import numpy_type

    dtype = np.dtype(numpy_type(stored_and_asked(name)[0]))
    result = np.dtype({"int8": "int32", "float8_e4m3fn": "float32"}.get(name, dtype))
    return [elsewhere(product, i, dtype if i < 2 else result) for i in range(3)]


class Memory:
    """An address without memory: enough to plan for arrays that are there."""

    def __init__(self, address: int) -> None:
        self.__array_interface__ = {"data": (address, False), "shape": (1,), "typestr": "|u1", "version": 3}


def elsewhere(product: Product, operand: int, dtype: Any) -> np.ndarray:
    """Return an operand that must not be read, aligned as a GPU's allocations are and far from the others."""
    memory = np.lib.stride_tricks.as_strided(np.asarray(Memory((operand + 1) << 43)), (1 << 40,), (1,))
    strides = [stride * dtype.itemsize for stride in product.strides(operand)]
    return np.ndarray(product.shape(operand), dtype, memory.data, 0, strides)


def regrets(records: list[Record], chosen: dict[int, str], unmeasured: float = math.inf) -> list[float]:
    """Of each record: the time of what is chosen, or was, over the least; `unmeasured` if that was not measured."""
    found = [(record.us, chosen.get(i, record.chosen)) for i, record in enumerate(records)]
    return [us.get(key, unmeasured) / min(us.values()) for us, key in found]


def summary(found: list[float]) -> str:
    ordered = sorted(found)
    mean = math.exp(statistics.fmean(map(math.log, ordered)))
    return f"regret of {len(ordered)}: geomean {mean:.4f}, p90 {ordered[len(ordered) * 9 // 10]:.3f}, worst {ordered[-1]:.2f}"


def regret(options: argparse.Namespace) -> int:
    for path in options.runs:
        facts, records = read(path)
        chosen = best_of_measured(facts, records)
        found = regrets(records, dict(enumerate(chosen)))
        changed = sum(record.chosen != key for key, record in zip(chosen, records, strict=True))
        unmeasured = sum(key not in record.us for key, record in zip(chosen_now(facts, records), records, strict=True))
        print(
            f"{path.name}: {summary(found)}; {changed} chosen otherwise than when they were measured; {unmeasured} times a "
            "candidate is chosen that was not measured: the next best counts"
        )
        for kind in sorted({record.product.kind for record in records}):
            print(
                f"  {kind:12}",
                summary([x for x, record in zip(found, records, strict=True) if record.product.kind == kind]),
            )
        worst = sorted(zip(found, chosen, records, strict=True), key=lambda x: -x[0])[: options.worst]
        for x, key, record in worst:
            best = min(record.us, key=lambda key: record.us[key])
            print(f"  {x:.2f}  {record.type} {record.product.subscripts} {record.product.extents}: {key}, best {best}")
    return 0


# ---- Errors of the estimates


def ratios(facts: dict[str, Any], records: list[Record], **rates: float) -> list[tuple[str, float, float]]:
    """Of each candidate that was measured and is listed now: its key, the time, and the estimate over it."""
    found = []
    for listed, one in zip(candidates_now(facts, records, **rates), records, strict=True):
        estimates = {key_of(candidate): candidate.us for candidate in listed}
        found += [(key, us, estimates[key] / us) for key, us in one.us.items() if key in estimates]
    return found


def errors(options: argparse.Namespace) -> int:
    for path in options.runs:
        print(
            f"{path.name}: estimate over time by kernel: geomean, p10, p90; geomean of the shortest and longest third"
        )
        groups: dict[str, list[tuple[float, float]]] = {}
        for key, us, ratio in ratios(*read(path)):
            groups.setdefault(re.sub(r"_(nt|tn|nn|tt)_", "_*_", key.split()[0]), []).append((us, math.log(ratio)))
        for kernel, runs in sorted(groups.items()):
            runs.sort()
            logs = [log for _, log in runs]
            third = max(len(logs) // 3, 1)
            ordered = sorted(logs)
            parts = [statistics.fmean(logs), ordered[len(logs) // 10], ordered[len(logs) * 9 // 10]]
            parts += [statistics.fmean(logs[:third]), statistics.fmean(logs[-third:])]
            print(f"  {kernel:40} {len(logs):5d} runs  " + "  ".join(f"{math.exp(x):5.2f}" for x in parts))
    return 0


def fit(options: argparse.Namespace) -> int:
    """Search the rates of a CPU by random steps: every other record is met, the others judge."""
    import cute_py

    files = [read(path) for path in options.runs]
    if any("cpu" not in facts for facts, _ in files):
        print("fit: the rates of a CPU are searched; for a GPU's, see errors", file=sys.stderr)
        return 1

    def error(rates: dict[str, float]) -> float:
        """The mean of |log(estimate / time)|, an outlier counted as 0.7."""
        found = [x for facts, records in files for _, _, x in ratios(facts, records[::2], **rates)]
        return statistics.fmean(min(0.7, abs(math.log(x))) for x in found)

    def regret_of(rates: dict[str, float]) -> list[float]:
        rest = [(facts, records[1::2]) for facts, records in files]
        return [
            x
            for facts, records in rest
            for x in regrets(records, dict(enumerate(chosen_now(facts, records, **rates))), math.nan)
            if not math.isnan(x)
        ]

    chance = random.Random(options.seed)
    usual = cute_py.Cpu.rates_by_default()
    best, least = usual, error(usual)
    print(f"as it is: error {least:.3f}, of the rest {summary(regret_of(best))}")
    for step in range(options.steps):
        names = chance.sample(sorted(usual), 3)
        width = 0.4 * 0.996**step + 0.03
        rates = best | {name: best[name] * math.exp(chance.gauss(0, width)) for name in names}
        if (found := error(rates)) < least:
            best, least = rates, found
    print(f"fitted:   error {least:.3f}, of the rest {summary(regret_of(best))}")
    for name, value in best.items():
        print(f"  {name:24} {value:12.4g}  {value / usual[name]:5.2f} of what it was")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="what", required=True)
    recorder = commands.add_parser("record")
    recorder.add_argument("where", choices=["gpu", "cpu"])
    recorder.add_argument("runs", type=Path, nargs=1)
    recorder.add_argument("--seed", type=int, default=1)
    recorder.add_argument("--seconds", type=float, default=300)
    recorder.add_argument("--types", nargs="+")
    recorder.add_argument("--threads", type=int, default=1)
    recorder.add_argument("--isa", help="of a CPU, in place of what it has", choices=["baseline", "avx2", "avx512"])
    recorder.add_argument("--most", type=int, default=16, help="candidates of a product")
    judge = commands.add_parser("regret")
    judge.add_argument("runs", type=Path, nargs="+")
    judge.add_argument("--worst", type=int, default=5, help="list so many")
    of_errors = commands.add_parser("errors")
    of_errors.add_argument("runs", type=Path, nargs="+")
    fitter = commands.add_parser("fit")
    fitter.add_argument("runs", type=Path, nargs="+")
    fitter.add_argument("--steps", type=int, default=600)
    fitter.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    return {"record": record, "regret": regret, "errors": errors, "fit": fit}[options.what](options)


if __name__ == "__main__":
    sys.exit(main())
