"""What a product on the CPU takes beside its arrays: ``python benchmarks/cpu_memory.py [--threads 1 2]``.

Each product runs in a process of its own that has written all of its arrays, on one CPU for each thread. The peak of resident memory
during the call, above what was resident before, is printed in MiB, and the most of all for each number of threads.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import ml_dtypes
import numpy as np

import cute_py

CASES = [
    ("mk,nk->mn", {"m": 2000, "n": 2000, "k": 2000}),
    ("mk,kn->mn", {"m": 2000, "n": 2000, "k": 2000}),
    ("mk,nk->nm", {"m": 3000, "n": 3000, "k": 100}),
    ("mk,nk->mn", {"m": 600, "n": 600, "k": 30000}),
    ("mk,kn->mn", {"m": 8, "n": 4000, "k": 4000}),
    ("mk,k->m", {"m": 6000, "k": 6000}),
    ("lmk,lkn->lmn", {"l": 2000, "m": 32, "n": 32, "k": 32}),
    ("akbl,lkc->cab", {"a": 70, "k": 60, "b": 50, "l": 40, "c": 300}),
    ("abcd->dbca", {"a": 80, "b": 70, "c": 60, "d": 50}),
    ("ij->", {"i": 5000, "j": 5000}),
]
TYPES = {
    "float32": np.float32,
    "float64": np.float64,
    "complex64": np.complex64,
    "complex128": np.complex128,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "int8": np.int8,
}


def resident(word: str) -> int:
    """Return a figure of this process in bytes: ``"VmRSS"``, or its peak, ``"VmHWM"``."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(word))


def extra(threads: int, dtype: str, subscripts: str, extents: dict[str, int]) -> float:
    """Return the peak of memory during a product, above what was there before, in MiB."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    cute_py.set_num_threads(threads)
    inputs, result = subscripts.split("->")
    arrays = [np.ones([extents[x] for x in labels], TYPES[dtype]) for labels in inputs.split(",")]
    out = np.ones([extents[x] for x in result], np.int32 if dtype == "int8" else TYPES[dtype])
    cute_py.einsum("i,i->", np.ones(2), np.ones(2))  # what is loaded once
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = resident("VmRSS")
    cute_py.einsum(subscripts, *arrays, out=out)
    return max(0, resident("VmHWM") - before) / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, nargs="+", default=[1], help="how many, each on a CPU of its own")
    options = parser.parse_args()
    for threads in options.threads:
        most = 0.0
        for subscripts, extents in CASES:
            row = []
            for dtype in TYPES:
                if dtype == "int8" and "," not in subscripts:
                    continue
                with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                    row.append((dtype, pool.submit(extra, threads, dtype, subscripts, extents).result()))
            most = max(most, *(mebibytes for _, mebibytes in row))
            print(f"{subscripts} {extents}: " + ", ".join(f"{dtype} {x:.1f}" for dtype, x in row), flush=True)
        print(f"{threads} thread{'s' * (threads > 1)}: {most:.1f} MiB at most, {most / threads:.1f} a thread")


if __name__ == "__main__":
    main()
