"""Random permutations against a copy: bytes per second, as a part of what copying as many bytes reaches.

    python benchmarks/gpu_permute.py [--seed 0] [--count 60] [--verbose]

64 MB to 1 GB, 2 to 6 modes of log-uniform extents, elements of 1 to 16 bytes, dense. The copy is that of the whole memory, and
beside it stands PyTorch's ``A.permute(axes).contiguous()``. All run in one process, in turns; medians. Each result is
compared bit by bit with PyTorch's before it is timed. Needs PyTorch with CUDA.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import sys

import torch
from harness import median_seconds

import cute_py

TYPES = {1: torch.int8, 2: torch.float16, 4: torch.float32, 8: torch.float64, 16: torch.complex128}


def problem(chance: random.Random) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Shape, axes and bytes of an element."""
    while True:
        rank, size = chance.randint(2, 6), chance.choice(list(TYPES))
        elements = math.exp(chance.uniform(math.log(64e6), math.log(1e9))) / size
        parts = [chance.random() + 0.2 for _ in range(rank)]
        shape = [max(2, round(elements ** (part / sum(parts)))) for part in parts]
        if chance.random() < 0.5:
            shape = [max(8, extent // 8 * 8) for extent in shape]
        axes = chance.sample(range(rank), rank)
        if axes != list(range(rank)) and 64e6 <= math.prod(shape) * size <= 1e9:
            return tuple(shape), tuple(axes), size


def measure(shape: tuple[int, ...], axes: tuple[int, ...], size: int, repeats: int) -> list[float]:
    """Microseconds of ours, of PyTorch's and of a copy. Raises ValueError if ours is wrong."""
    A = torch.randint(-128, 128, (math.prod(shape) * size,), dtype=torch.int8, device="cuda")
    X = A.view(TYPES[size]).view(shape)
    expected = X.permute(axes).contiguous()
    out = torch.full_like(A, 77).view(TYPES[size]).view(expected.shape)
    cute_py.permute(X, axes, out)
    if not torch.equal(out.view(-1).view(torch.int8), expected.view(-1).view(torch.int8)):
        raise ValueError(f"{shape} {axes} of {size} bytes: WRONG")
    B = torch.empty_like(A)
    calls = [lambda: cute_py.permute(X, axes, out), lambda: X.permute(axes).contiguous(), lambda: B.copy_(A)]
    return [1e6 * time for time in median_seconds(calls, repeats)]


def summary(name: str, of_copy: list[float], of_torch: list[float]) -> str:
    of_copy, of_torch = sorted(of_copy), sorted(of_torch)
    mean_copy, mean_torch = (math.exp(statistics.fmean(map(math.log, x))) for x in (of_copy, of_torch))
    return (
        f"{name:9} {len(of_copy):4d} permutations, of a copy: geomean {mean_copy:.2f} p10 {of_copy[len(of_copy) // 10]:.2f} "
        f"min {of_copy[0]:.2f}; of PyTorch's time: geomean {mean_torch:.2f} min {of_torch[0]:.2f}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--verbose", action="store_true", help="a line for each problem")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    found = []
    for _ in range(options.count):
        shape, axes, size = problem(chance)
        try:
            ours, theirs, copy = measure(shape, axes, size, options.repeats)
        except ValueError as error:
            print(error, file=sys.stderr)
            return 1
        found.append((copy / ours, theirs / ours, size, shape, axes))
        if options.verbose:
            rate = 2e-6 * math.prod(shape) * size / ours
            print(
                f"{size:2d} bytes {shape!s:34} {axes!s:20} {rate:5.2f} TB/s, {copy / ours:4.2f} of a copy, "
                f"{theirs / ours:5.2f} of PyTorch's time",
                flush=True,
            )
    for size in sorted({x[2] for x in found}):
        some = [x for x in found if x[2] == size]
        print(summary(f"{size} bytes", [x[0] for x in some], [x[1] for x in some]))
    print(summary("all", [x[0] for x in found], [x[1] for x in found]))
    worst = min(found)
    print(f"worst: {worst[2]} bytes {worst[3]} {worst[4]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
