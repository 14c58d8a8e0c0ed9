"""Two charts of emulated precision, of what `gpu_precision.py` measured: speed against size, and errors against K.

    python benchmarks/gpu_precision.py speed --modes ... --save speed.jsonl
    python benchmarks/gpu_precision.py accuracy --modes ... --save accuracy.jsonl
    python benchmarks/precision_charts.py speed.jsonl docs/precision-speed.svg
    python benchmarks/precision_charts.py accuracy.jsonl docs/precision-accuracy.svg

Of speed the layouts of a size are averaged (the geometric mean), a panel for each type. Errors are the Frobenius norm of the difference from
float64 over that of the product, a panel for each kind of numbers. Needs matplotlib.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("agg")
from matplotlib import pyplot as plt

mpl.rcParams.update({"font.family": "sans-serif", "font.size": 9, "svg.hashsalt": "cute_py", "svg.fonttype": "none"})

CUBLAS = "cuBLAS"
TYPES = ("float32", "complex64", "float64", "complex128")
KINDS = {"normal": "normal", "uniform": "uniform in (0,1)", "wide": "normal * exp(2 * normal)"}
COLOURS = {
    CUBLAS: "#777777",
    "float32": "#000000",
    "fp16x3": "#0072b2",
    "bf16x6": "#56b4e9",
    "reproducible": "#d55e00",
    "fast_complex64": "#009e73",
    "fast_float64": "#cc79a7",
    "fast_complex128": "#e69f00",
}


def type_of(mode: str) -> str:
    """Return the type of the arrays of a mode."""
    return mode.removeprefix("fast_") if mode.removeprefix("fast_") in TYPES else "float32"


def lines_of_speed(runs: list[dict[str, Any]]) -> dict[str, dict[str, dict[int, float]]]:
    """Return TFLOP/s by type, mode and size."""
    found: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for run in runs:
        of_type = type_of(run["mode"])
        flops = (8 if of_type.startswith("complex") else 2) * run["size"] ** 3
        found[of_type, run["mode"], run["size"]].append(flops / run["us"] / 1e6)
        found[of_type, CUBLAS, run["size"]].append(flops / run["cublas_us"] / 1e6)
    lines: dict[str, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    for (of_type, mode, size), tflops in sorted(found.items(), key=lambda item: item[0][2]):
        lines[of_type][mode][size] = statistics.geometric_mean(tflops)
    return lines


def lines_of_accuracy(runs: list[dict[str, Any]]) -> dict[str, dict[str, dict[int, float]]]:
    """Return Frobenius errors by kind of numbers, mode and K; of the modes of float32."""
    lines: dict[str, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    for run in runs:
        if type_of(run["mode"]) != "float32" or run["kind"] not in KINDS:
            continue
        ours, theirs = run["frobenius"]
        lines[KINDS[run["kind"]]][run["mode"]][run["k"]] = ours
        lines[KINDS[run["kind"]]][CUBLAS][run["k"]] = theirs
    return lines


def draw(lines: dict[str, dict[str, dict[int, float]]], is_speed: bool, chart: Path) -> None:
    names = [name for name in TYPES if name in lines] if is_speed else list(lines)
    columns = 2 if len(names) == 4 else len(names)
    rows = len(names) // columns
    figure, panels = plt.subplots(
        rows, columns, figsize=(3.4 * columns, 2.6 * rows + 0.4), squeeze=False, layout="constrained"
    )
    for name, panel in zip(names, panels.flat, strict=True):
        panel.set_title(name, fontsize=9)
        for mode, points in sorted(lines[name].items(), key=lambda item: (item[0] != CUBLAS, item[0])):
            label = "exact" if mode in TYPES else mode
            colour = COLOURS.get(mode, "#000000")
            style = "--" if mode == CUBLAS else "-"
            panel.plot(list(points), list(points.values()), style, color=colour, label=label, marker="o", markersize=3)
        panel.set_xscale("log", base=2)
        panel.set_xticks(sorted({x for points in lines[name].values() for x in points}))
        panel.xaxis.set_major_formatter(lambda x, _: f"{x:.0f}")
        panel.minorticks_off()
        panel.set_xlabel("M = N = K" if is_speed else "K")
        panel.grid(alpha=0.3)
        if is_speed:
            panel.set_ylim(bottom=0)
            panel.set_ylabel("TFLOP/s")
        else:
            panel.set_yscale("log")
            panel.set_ylabel("relative error (Frobenius)")
    handles = {
        label: line for panel in panels.flat for line, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    figure.savefig(chart, metadata={"Date": None} if chart.suffix == ".svg" else None)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("runs", type=Path, nargs="+", help="what gpu_precision.py saved")
    parser.add_argument("chart", type=Path, help="an SVG or PNG file to write")
    options = parser.parse_args()
    runs = [json.loads(line) for path in options.runs for line in path.read_text().splitlines()]
    is_speed = "size" in runs[0]
    draw(lines_of_speed(runs) if is_speed else lines_of_accuracy(runs), is_speed, options.chart)
    return 0


if __name__ == "__main__":
    sys.exit(main())
