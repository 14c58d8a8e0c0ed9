"""The runs of `gpu_random.py` or of `cpu_random.py` as a chart: another library's time over ours, a panel for each type.

    python benchmarks/gpu_random.py gemm --save gemm.jsonl
    python benchmarks/chart.py gemm.jsonl docs/gpu-random-gemm.png --title "Random products on an H200"
    python benchmarks/cpu_random.py gemm --json gemm.json
    python benchmarks/chart.py gemm.json contract.json docs/cpu-random.png --title "One thread"

Of a GPU against arithmetic intensity, as in the Stream-K paper (Osama et al. 2023); filled points took more than 60 us, so that
the host plays no part in them. Of a CPU against the number of multiply-adds. Needs matplotlib.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl

mpl.use("agg")
from matplotlib import pyplot as plt

LONG_US = 60
mpl.rcParams.update({"font.family": "sans-serif", "font.size": 9})


class Point(NamedTuple):
    """A problem: in which panel, where, the other library's time over ours, and whether it is filled."""

    panel: str
    x: float
    ratio: float
    is_filled: bool


def points_of_gpu(path: Path) -> list[Point]:
    """Return what `gpu_random.py` saved."""
    runs = [json.loads(line) for line in path.read_text().splitlines()]
    return [
        Point(
            run["type"],
            run["flops"] / run["bytes"],
            run["peer_us"] / run["us"],
            min(run["us"], run["peer_us"]) > LONG_US,
        )
        for run in runs
    ]


def points_of_cpu(path: Path) -> list[Point]:
    """Return what `cpu_random.py` wrote."""
    ran = json.loads(path.read_text())
    return [Point(f"{ran['kind']} {row['type']}", row["work"], row["ratio"], True) for row in ran["rows"]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, nargs="+", help="what gpu_random.py saved, or cpu_random.py")
    parser.add_argument("chart", type=Path, help="a PNG file to write")
    parser.add_argument("--title", default="PyTorch's time over ours")
    options = parser.parse_args()
    on_cpu = options.runs[0].suffix == ".json"
    points = [point for path in options.runs for point in (points_of_cpu if on_cpu else points_of_gpu)(path)]
    names = list(dict.fromkeys(point.panel for point in points))
    columns = 2 if on_cpu else min(4, len(names))
    rows = math.ceil(len(names) / columns)
    figure, panels = plt.subplots(
        rows,
        columns,
        figsize=(2.6 * columns, 2.3 * rows + 0.4),
        sharex=not on_cpu,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for panel in panels.flat[len(names) :]:
        panel.set_visible(False)
    for panel, name in zip(panels.flat, names, strict=False):
        found = [point for point in points if point.panel == name]
        ratios = sorted(point.ratio for point in found)
        for is_filled, colour in ((False, "none"), (True, "#2563eb")):
            some = [point for point in found if point.is_filled == is_filled]
            panel.plot(
                [point.x for point in some],
                [point.ratio for point in some],
                "o",
                ms=2.6,
                mfc=colour,
                mec="#2563eb",
                mew=0.5,
                alpha=0.8,
            )
        panel.axhline(1, color="#64748b", linewidth=0.8)
        panel.set(xscale="log", yscale="log", ylim=(0.1, 10))
        panel.set_yticks([0.1, 0.25, 0.5, 1, 2, 4, 10], ["0.1", "0.25", "0.5", "1", "2", "4", "10"])
        panel.minorticks_off()
        panel.grid(color="#e2e8f0", linewidth=0.5)
        mean = statistics.geometric_mean(ratios)
        panel.set_title(f"{name}: {mean:.2f}, p10 {ratios[len(ratios) // 10]:.2f}", fontsize=9)
    for panel in panels.flat[max(len(names) - columns, 0) : len(names)]:  # the lowest of each column
        panel.tick_params(labelbottom=True)
    figure.suptitle(options.title, fontsize=10)
    figure.supxlabel("multiply-adds" if on_cpu else "operations for each byte", fontsize=9)
    figure.supylabel("the best other's time over ours" if on_cpu else "PyTorch's time over ours", fontsize=9)
    # Some thousand marks are more bytes as an SVG.
    figure.savefig(options.chart, format="png", dpi=192, metadata={"Software": None}, facecolor="white")
    return 0


if __name__ == "__main__":
    sys.exit(main())
