"""Time the layout algebra against tensor-layouts, the fastest of the pure-Python packages, in one process.

A fixed script of 1,000 mixed operations, the same for both. Before anything is timed, every result is compared: as a function,
value by value. The figure is the ratio of the medians.

    python benchmarks/layout_algebra.py [--repeats 15] [-o layout_algebra.json]
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import statistics
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tensor_layouts as peer

import cute_py.layout as cl

OPERATIONS = 1000

Step = tuple[str, tuple[Any, ...]]


def random_shape(rng: random.Random) -> Any:
    extents = [rng.choice([2, 2, 3, 4, 4, 8]) for _ in range(rng.randint(1, 3))]
    return tuple((e, 2) if rng.random() < 0.3 else e for e in extents)


def make_script(seed: int) -> list[Step]:
    """Return operations with arguments that both packages accept."""
    rng = random.Random(seed)
    kinds = ["make", "call", "coalesce", "compose", "complement", "divide", "zipped", "product", "inverse", "idx2crd"]
    script: list[Step] = []
    while len(script) < OPERATIONS:
        kind = kinds[len(script) % len(kinds)]
        step = (kind, arguments(kind, rng))
        try:
            ours, theirs = (function(*args) for function, args in (prepare(cl, step), prepare(peer, step)))
        except (ValueError, peer.LayoutError):  # LayoutError of cute_py is a ValueError
            continue
        if values(ours) == values(theirs):
            script.append(step)
    return script


def arguments(kind: str, rng: random.Random) -> tuple[Any, ...]:
    shape = random_shape(rng)
    if kind in {"make", "coalesce", "inverse"}:
        return (shape,)
    if kind in {"call", "idx2crd"}:
        return (shape, rng.randrange(cl.size(shape)))
    if kind == "compose":
        return (shape, rng.choice([(2, 2), (4,), (2, (2, 2)), (8,)]))
    if kind == "complement":
        return (rng.choice([(2, 2), (4,), (2, 4)]), rng.choice([1, 2, 4]), 256)
    if kind == "product":
        return (rng.choice([(2, 2), (4, 2)]), rng.choice([(2,), (3, 2)]))
    return (shape, rng.choice([2, 4, (2,), (2, 2)]) if len(shape) > 1 else 2)


def prepare(package: Any, step: Step) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return the function and its arguments. Making layouts is timed only where it is the operation."""
    kind, args = step
    make = package.Layout
    if kind == "make":
        return make, args
    if kind == "idx2crd":
        return package.idx2crd, (args[1], args[0])
    if kind == "call":
        return make(args[0]), (args[1],)
    function = getattr(package, NAMES[kind][package is peer])
    if kind == "complement":
        shape, stride, target = args
        steps = [stride]
        for extent in shape[:-1]:
            steps.append(steps[-1] * extent * 2)
        return function, (make(shape, tuple(steps)), target)
    if kind in {"compose", "product"}:
        return function, (make(args[0]), make(args[1]))
    return function, (make(args[0]), *args[1:])


# What each operation is called here and there.
NAMES = {
    "coalesce": ("coalesce", "coalesce"),
    "compose": ("composition", "compose"),
    "complement": ("complement", "complement"),
    "divide": ("logical_divide", "logical_divide"),
    "zipped": ("zipped_divide", "zipped_divide"),
    "product": ("logical_product", "logical_product"),
    "inverse": ("right_inverse", "right_inverse"),
}


def values(result: Any) -> Any:
    """Return what a result is as a function."""
    if isinstance(result, cl.Layout):
        return [result(i) for i in range(result.size)]
    if isinstance(result, peer.Layout):
        return [result(i) for i in range(peer.size(result))]
    return result


Work = list[tuple[Callable[..., Any], tuple[Any, ...]]]


def seconds(work: Work) -> float:
    start = time.perf_counter()
    for function, args in work:
        function(*args)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()

    script = make_script(options.seed)
    ours = [prepare(cl, step) for step in script]
    theirs = [prepare(peer, step) for step in script]
    times: dict[str, list[float]] = {"cute_py": [], "tensor_layouts": []}
    for _ in range(options.repeats):
        times["cute_py"].append(seconds(ours))
        times["tensor_layouts"].append(seconds(theirs))
    medians = {name: statistics.median(t) for name, t in times.items()}
    report = {
        "python": platform.python_version(),
        "operations": len(script),
        "microseconds_per_operation": {name: 1e6 * t / len(script) for name, t in medians.items()},
        "ratio": medians["tensor_layouts"] / medians["cute_py"],
        "by_operation": by_operation(script),
    }
    print(f"{len(script)} operations, every result equal: {dict(Counter(kind for kind, _ in script))}")
    for name, value in report["microseconds_per_operation"].items():
        print(f"{name:15} {value:8.2f} us per operation")
    print(f"ratio {report['ratio']:.1f}")
    for kind, ratio in report["by_operation"].items():
        print(f"  {kind:10} {ratio:6.1f}")
    if options.output:
        options.output.write_text(json.dumps(report, indent=2) + "\n")


def by_operation(script: list[Step]) -> dict[str, float]:
    """Return the ratio of each kind of operation."""
    ratios = {}
    for kind in dict.fromkeys(kind for kind, _ in script):
        steps = [step for step in script if step[0] == kind]
        ours, theirs = [prepare(cl, step) for step in steps], [prepare(peer, step) for step in steps]
        ratios[kind] = min(seconds(theirs) for _ in range(5)) / min(seconds(ours) for _ in range(5))
    return ratios


if __name__ == "__main__":
    main()
