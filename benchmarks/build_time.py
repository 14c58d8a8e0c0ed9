"""What a build took: ``python benchmarks/build_time.py build/cp311-cp311-linux_x86_64 [--cuda] [--slack 1.3]``.

Reads ninja's log and prints wall time, core-seconds and the slowest translation units. Exits with 1 if a budget is
exceeded by more than the slack, which is for machines that are slow or busy. The log is that of the last time each file
was built, so it speaks of one build only if that began with an empty folder.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

# Seconds on two cores, of both together, and of one translation unit. Nobody raises them without a reason in
# docs/perf/build-time.md.
WALL_BUDGET = {"CPU only": 120.0, "CUDA": 600.0}
CORE_BUDGET = {"CPU only": 200.0, "CUDA": 1200.0}
UNIT_BUDGET = {"CPU only": 45.0, "CUDA": 120.0}


@dataclass(frozen=True)
class Step:
    """One command of a build, in seconds from its start."""

    output: str
    start: float
    end: float

    @property
    def seconds(self) -> float:
        return self.end - self.start


def read_log(path: Path) -> list[Step]:
    """Return the steps of a .ninja_log; of an output that was built again, the last."""
    lines = path.read_text().splitlines()
    if not lines or not lines[0].startswith("# ninja log"):
        raise SystemExit(f"{path} is no log of ninja\n  next: name the folder that was built in, such as build/cp311-*")
    steps = {}
    for line in lines[1:]:
        start, end, _, output, _ = line.split("\t")
        steps[output] = Step(output, int(start) / 1000, int(end) / 1000)
    return list(steps.values())


def over_budget(steps: list[Step], kind: str, slack: float = 1.0) -> list[str]:
    """Return what takes longer than it may, in words."""
    wall = max(step.end for step in steps) - min(step.start for step in steps)
    cores = sum(step.seconds for step in steps)
    taken = [
        ("wall time is", wall, WALL_BUDGET[kind] * slack),
        ("all steps together take", cores, CORE_BUDGET[kind] * slack),
        *((f"{step.output} takes", step.seconds, UNIT_BUDGET[kind] * slack) for step in steps),
    ]
    return [f"{what} {seconds:.0f} s, over {most:.0f} s" for what, seconds, most in taken if seconds > most]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="What a build took, from ninja's log.")
    parser.add_argument("folder", type=Path, help="where the build was made")
    parser.add_argument("--cuda", action="store_true", help="the build has GPU kernels")
    parser.add_argument("--slack", type=float, default=1.0, help="times the budgets")
    parser.add_argument("--most", type=int, default=15, help="how many files to list")
    options = parser.parse_args(arguments)
    steps = read_log(options.folder / ".ninja_log")
    if not steps:
        raise SystemExit(f"{options.folder} has an empty log\n  next: build first")
    wall = max(step.end for step in steps) - min(step.start for step in steps)
    print(f"wall {wall:.0f} s, core-seconds {sum(step.seconds for step in steps):.0f}, {len(steps)} steps")
    for step in sorted(steps, key=lambda step: -step.seconds)[: options.most]:
        print(f"{step.seconds:7.1f} s  {step.output}")
    exceeded = over_budget(steps, "CUDA" if options.cuda else "CPU only", options.slack)
    for line in exceeded:
        print(f"over budget: {line}")
    return 1 if exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
