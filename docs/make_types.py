"""Write the table of docs/types.md: ``python docs/make_types.py``. It is what `explain` says for an H200 and of this machine's CPU."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

import cute_py
from cute_py._dtypes import DTYPES
from cute_py.testing import numpy_type

PAGE = Path(__file__).parent / "types.md"
TABLE = re.compile(r"(<!-- table -->\n).*?(<!-- end -->)", re.DOTALL)

# The types of A and B, and what is computed in if that is not their own.
TYPES = [
    ("float32", None),
    ("float32", "tfloat32"),
    ("float16", None),
    ("bfloat16", None),
    ("float64", None),
    ("complex64", None),
    ("complex128", None),
    ("int8", None),
    ("float8_e4m3fn", None),
    ("float8_e4m3fn", "fast_float32"),
    ("float8_e5m2", None),
]
LAYOUTS = {"nt": "FF", "tn": "CC", "nn": "FC", "tt": "CF"}
WHOLE, RAGGED = (4096, 4096, 4096), (4094, 4095, 4093)
COLUMNS = {"GPU, whole tiles": ("emulator", WHOLE), "GPU, all else": ("emulator", RAGGED), "CPU": ("cpu", RAGGED)}


def operands(factor: str, layout: str, extents: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A, B and C of a layout, full of whatever there was."""
    m, n, k = extents
    first, second = LAYOUTS[layout]
    dtype = numpy_type(factor)
    result = numpy_type(DTYPES[factor].result or factor)
    return (
        np.empty((m, k), dtype, order=first),
        np.empty((n, k), dtype, order=second),
        np.empty((m, n), result, order="F"),
    )


def chosen(factor: str, compute: str | None, layout: str, column: str) -> cute_py.Candidate:
    """What runs on the CPU, or, of the columns of GPUs, on an H200, which the emulator stands for."""
    target, extents = COLUMNS[column]
    return cute_py.gemm.explain(*operands(factor, layout, extents), compute=compute, device=target).candidates[0]


def cell(candidate: cute_py.Candidate) -> str:
    """The kernel variant, without the instruction set of a CPU."""
    name = re.sub(r"^cpu_(baseline|avx2|avx512_vnni|avx512)_", "cpu_*_", candidate.kernel)
    return f"`{name}`" + (f", {' and '.join(candidate.packed)} packed" if candidate.packed else "")


def table() -> str:
    lines = ["| A and B | computed in | layout | " + " | ".join(COLUMNS) + " |", "|---" * (3 + len(COLUMNS)) + "|"]
    for factor, compute in TYPES:
        A, B, _ = operands(factor, "tn", (1, 1, 1))
        own = cute_py.gemm.explain(A, B, compute=compute).compute
        rows = {layout: [cell(chosen(factor, compute, layout, column)) for column in COLUMNS] for layout in LAYOUTS}
        for layout, cells in rows.items():
            lines.append(f"| {factor} | {own} | {layout} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def page() -> str:
    return TABLE.sub(lambda match: match[1] + table() + match[2], PAGE.read_text())


if __name__ == "__main__":
    PAGE.write_text(page())
