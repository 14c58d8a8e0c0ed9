"""How a contraction of Dask arrays scales over worker processes of one thread each.

    python benchmarks/dask_scaling.py [--workers 1 2 4 8] [--extent 8000] [--chunk 1000]

``ik,jk->ij`` of float32 in square chunks that are in the workers' memory before the clock starts. The result must have the same bits
with any number of workers, and one chunk of it is compared with float64.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"  # of each worker, too

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait

import cute_py.dask


def seconds_of_a_product(chunk: int) -> float:
    A, B = np.random.default_rng(0).standard_normal((2, chunk, chunk), np.float32)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        cute_py.einsum("ik,jk->ij", A, B)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def run(workers: int, extent: int, chunk: int) -> tuple[float, Any]:
    """Return the seconds of the contraction alone, and a chunk of the result with its first bytes' sum over all."""
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        x = da.random.default_rng(0).standard_normal((extent, extent), chunks=(chunk, chunk), dtype=np.float32)
        x = x.persist()
        wait(x)
        product = cute_py.dask.einsum("ik,jk->ij", x, x)
        start = time.perf_counter()
        done = product.persist()
        wait(done)
        seconds = time.perf_counter() - start
        found = done.blocks[0, -1].compute()
        rows, columns = (x[part].compute().astype(float) for part in (slice(chunk), slice(-chunk, None)))
        error = np.abs(found - rows @ columns.T).max() / np.abs(found).max()
        assert error < 1e-5, error
        return seconds, (found.tobytes(), float(done.astype(float).sum().compute()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--extent", type=int, default=8000)
    parser.add_argument("--chunk", type=int, default=1000)
    options = parser.parse_args()
    one = seconds_of_a_product(options.chunk)
    products = (options.extent // options.chunk) ** 3
    print(f"{products} products of {1e3 * one:.1f} ms each; {os.cpu_count()} cores")
    first = None
    for workers in options.workers:
        seconds, bits = run(workers, options.extent, options.chunk)
        first = first or (seconds * workers, bits)
        assert bits == first[1], "the bits depend on the number of workers"
        ideal = products * one / workers
        print(
            f"{workers} workers  {seconds:6.2f} s  {first[0] / seconds / options.workers[0]:5.2f} times as fast  "
            f"{ideal / seconds:4.0%} of the ideal"
        )


if __name__ == "__main__":
    main()
