"""The runs of `gpu_random.py` as a chart: PyTorch's time over ours against arithmetic intensity, a panel for each type.

    python benchmarks/gpu_random.py gemm --save gemm.jsonl
    python benchmarks/chart.py gemm.jsonl docs/gpu-random-gemm.svg --title "Random products on an H200"

As in the Stream-K paper (Osama et al. 2023). Filled points took more than 60 us, so that the host plays no part in them. Needs
matplotlib.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import statistics
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
from matplotlib import pyplot as plt

LONG_US = 60
mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "cute_py", "font.family": "sans-serif", "font.size": 9})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, help="what gpu_random.py saved")
    parser.add_argument("chart", type=Path, help="an SVG file to write")
    parser.add_argument("--title", default="PyTorch's time over ours")
    options = parser.parse_args()
    runs = [json.loads(line) for line in options.runs.read_text().splitlines()]
    names = list(dict.fromkeys(run["type"] for run in runs))
    columns = min(4, len(names))
    rows = math.ceil(len(names) / columns)
    figure, panels = plt.subplots(
        rows,
        columns,
        figsize=(2.6 * columns, 2.3 * rows + 0.4),
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for panel in panels.flat[len(names) :]:
        panel.set_visible(False)
    for panel, name in zip(panels.flat, names, strict=False):
        found = [run for run in runs if run["type"] == name]
        ratios = sorted(run["peer_us"] / run["us"] for run in found)
        for is_long, colour in ((False, "none"), (True, "#2563eb")):
            some = [run for run in found if (min(run["us"], run["peer_us"]) > LONG_US) == is_long]
            intensity = [run["flops"] / run["bytes"] for run in some]
            ratio = [run["peer_us"] / run["us"] for run in some]
            panel.plot(intensity, ratio, "o", ms=2.6, mfc=colour, mec="#2563eb", mew=0.5, alpha=0.8)
        panel.axhline(1, color="#64748b", linewidth=0.8)
        panel.set(xscale="log", yscale="log", ylim=(0.1, 10))
        panel.set_yticks([0.1, 0.25, 0.5, 1, 2, 4, 10], ["0.1", "0.25", "0.5", "1", "2", "4", "10"])
        panel.minorticks_off()
        panel.grid(color="#e2e8f0", linewidth=0.5)
        mean = statistics.geometric_mean(ratios)
        panel.set_title(f"{name}: {mean:.2f}, p10 {ratios[len(ratios) // 10]:.2f}", fontsize=9)
    figure.suptitle(options.title, fontsize=10)
    figure.supxlabel("operations for each byte", fontsize=9)
    figure.supylabel("PyTorch's time over ours", fontsize=9)
    figure.savefig(options.chart, metadata={"Date": None}, facecolor="white")
    # Half of the bytes: a marker has the style of its line where it is defined, too, and a hundredth of a point is enough.
    text = re.sub(r'(<use [^>]* style="fill[^"]*?); stroke[^"]*"', r'\1"', options.chart.read_text())
    options.chart.write_text(re.sub(r"(\d\.\d\d)\d+", r"\1", text))
    return 0


if __name__ == "__main__":
    sys.exit(main())
