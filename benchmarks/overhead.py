"""Time what one call costs the host: products of 64x64 arrays, on a GPU if there is one.

A GPU call returns after the launch, so many calls in a row measure the host, as long as the launch queue does not fill: the
queue is emptied between batches. The first result is compared with NumPy's.

    python benchmarks/overhead.py

On a GPU it needs PyTorch and CuPy.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import cute_py


def microseconds(call: Callable[[], Any], synchronize: Callable[[], Any], batch: int = 200, batches: int = 50) -> float:
    """Return the median over batches of the time of one call."""
    times = []
    for _ in range(batches):
        synchronize()
        start = time.perf_counter()
        for _ in range(batch):
            call()
        times.append((time.perf_counter() - start) / batch * 1e6)
    synchronize()
    return statistics.median(times)


def report(name: str, call: Callable[[], Any], synchronize: Callable[[], Any] = lambda: None) -> None:
    print(f"{name:<44}{microseconds(call, synchronize):8.2f} us", flush=True)


def main() -> None:
    values = np.asfortranarray(np.random.default_rng(0).integers(-4, 5, (64, 64)).astype(np.float32))
    expected = values @ values.T

    A, C = values, np.asfortranarray(np.zeros_like(values))
    if not np.array_equal(cute_py.sgemm_nt(A, A, C), expected):
        sys.exit("wrong result on the CPU")
    report("numpy    cute_py.sgemm_nt(A, B, C)", lambda: cute_py.sgemm_nt(A, A, C))
    report("numpy    np.matmul(out=)", lambda: np.matmul(A, A.T, out=C.T))
    if not cute_py.cuda_available():
        return

    try:
        import cupy
        import torch
    except ImportError as missing:
        print(f"no figures for GPU arrays: {missing}")
        return

    tA = torch.from_numpy(values.T.copy()).cuda().T
    tC = torch.empty(64, 64, device="cuda").T
    cute_py.sgemm_nt(tA, tA, tC)
    if not np.array_equal(tC.cpu().numpy(), expected):
        sys.exit("wrong result on the GPU")
    report("torch    cute_py.sgemm_nt(A, B, C)", lambda: cute_py.sgemm_nt(tA, tA, tC), torch.cuda.synchronize)
    report("torch    cute_py.sgemm_nt(A, B)", lambda: cute_py.sgemm_nt(tA, tA), torch.cuda.synchronize)
    report("torch    torch.mm(out=)", lambda: torch.mm(tA, tA.T, out=tC.T), torch.cuda.synchronize)

    cA = cupy.asarray(values, order="F")
    cC = cupy.empty((64, 64), cupy.float32, order="F")
    report("cupy     cute_py.sgemm_nt(A, B, C)", lambda: cute_py.sgemm_nt(cA, cA, cC), cupy.cuda.Device().synchronize)
    report("cupy     cupy.matmul(out=)", lambda: cupy.matmul(cA, cA.T, out=cC), cupy.cuda.Device().synchronize)


if __name__ == "__main__":
    main()
