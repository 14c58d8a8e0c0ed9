"""A kernel of a file called from Python, over the same kernel in its own program, on a GPU.

    python benchmarks/workbench_gpu.py third_party/cutlass/tutorial

`sgemm_1.cu`, `sgemm_2.cu` and `sgemm_sm80.cu` of CUTLASS's tutorial are compiled as programs, which print the
milliseconds of 100 launches, and as modules, whose kernel is launched 100 times on tensors of PyTorch, in turns. The
product of the module's kernel is compared with float64 first. A ratio above 1: the call from Python is the faster.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from cute_py import Int, Layout, Swizzle, atoms, composition, make_tiled_copy, make_tiled_mma, tile_to_shape, workbench
from cute_py.workbench.programs import compiled_by_nvcc

M, N, K = 5120, 5120, 4096
LAUNCHES = 100
TURNS = 5


def static(*extents: int) -> Layout:
    """A layout of static extents, the first mode contiguous."""
    return Layout(tuple(Int(extent) for extent in extents))


def arguments(file: str, m: int, n: int, k: int, a: Any, b: Any, c: Any) -> tuple[list[Any], int]:
    """Arguments of gemm_device of a file, as its own main makes them, and bytes of dynamic shared memory."""
    shape = f"make_shape({m}, {n}, {k})"
    if file == "sgemm_sm80.cu":  # TN in float16, on tensor cores
        along = [f"make_stride({k}, Int<1>{{}})"] * 2
        atom = Layout((Int(8), (Int(8), Int(8))), (Int(8), (Int(1), Int(64))))
        smem = tile_to_shape(composition(Swizzle(3, 3, 3), atom), (Int(128), Int(64), Int(3)))
        threads = Layout((Int(16), Int(8)), (Int(8), Int(1)))
        copy = make_tiled_copy(atoms.copy["SM80_CP_ASYNC_CACHEALWAYS<uint128_t>"].atom("half_t"), threads, static(1, 8))
        mma = make_tiled_mma(atoms.mma["SM80_16x8x16_F16F16F16F16_TN"], static(2, 2), (Int(32), Int(32), Int(16)))
        each = [smem, copy, atoms.copy["SM75_U32x4_LDSM_N"].atom("half_t")]
        ends = [static(128, 128), mma, "half_t(1)", "half_t(0)"]
        tiler, shared = "make_shape(Int<128>{}, Int<128>{}, Int<64>{})", 2 * 128 * 64 * 3 * 2
    else:
        along = [f"make_stride(Int<1>{{}}, {x})" for x in (m, n)]
        copy = make_tiled_copy(atoms.copy["UniversalCopy<uint128_t>"].atom("float"), static(32, 8), static(4, 1))
        mma = make_tiled_mma(atoms.mma["UniversalFMA<float>"], static(16, 16, 1))
        each = [static(128, 8), static(32, 8) if file == "sgemm_1.cu" else copy]
        ends = [static(128, 128), static(16, 16) if file == "sgemm_1.cu" else mma, "1.0f", "0.0f"]
        tiler, shared = "make_shape(Int<128>{}, Int<128>{}, Int<8>{})", 0
    return [shape, tiler, a, along[0], *each, b, along[1], *each, c, f"make_stride(Int<1>{{}}, {m})", *ends], shared


def in_its_program(file: Path, program: Path) -> float:
    """Return the milliseconds of a launch, as the program prints them."""
    layouts = "TN" if file.name == "sgemm_sm80.cu" else "NT"
    done = subprocess.run([program, *map(str, (M, N, K)), *layouts], capture_output=True, text=True, check=True)
    found = re.search(r"\(\s*([0-9.]+)\)ms", done.stdout)
    if found is None:
        raise RuntimeError(done.stdout)
    return float(found[1])


def from_python(launch: Callable[[], None]) -> float:
    """Return the milliseconds of a launch, of as many as the program launches."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    launch()
    begin.record()
    for _ in range(LAUNCHES):
        launch()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / LAUNCHES


def compare(file: Path) -> float:
    """Print the times of both, and return the median ratio."""
    kind = torch.float16 if file.name == "sgemm_sm80.cu" else torch.float32
    # Drawn as the programs draw them: how many bits change decides how fast the clock is.
    a, b = (torch.rand((extent, K), device="cuda", dtype=torch.float32).mul(2).sub(1).to(kind) for extent in (M, N))
    if file.name != "sgemm_sm80.cu":
        a, b = a.T.contiguous().T, b.T.contiguous().T
    c = torch.full((N, M), float("nan"), device="cuda", dtype=kind).T
    kernel = workbench.module(file).kernel("gemm_device")
    threads = 128 if file.name == "sgemm_sm80.cu" else 256
    given, shared = arguments(file.name, M, N, K, a, b, c)

    def launch() -> None:
        kernel(*given, grid=(M // 128, N // 128), block=threads, shared=shared)

    launch()
    expected = a.double() @ b.double().T
    error = (c.double() - expected).abs().max().item() / expected.abs().max().item()
    if not error < (0.02 if kind == torch.float16 else 1e-5):
        raise RuntimeError(f"{file.name}: a relative error of {error}")
    program = compiled_by_nvcc(file, file.name, "90a", include=[file.parent])
    times = [(in_its_program(file, program), from_python(launch)) for _ in range(TURNS)]
    own, called = (statistics.median(column) for column in zip(*times, strict=True))
    ratios = sorted(x / y for x, y in times)
    print(f"{file.name}: in its program {own:.4f} ms, from Python {called:.4f} ms, ratio {statistics.median(ratios):.4f}"
          f" ({ratios[0]:.4f} to {ratios[-1]:.4f}), relative error {error:.1e}")  # fmt: skip
    return statistics.median(ratios)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    least = min(compare(folder / name) for name in ("sgemm_1.cu", "sgemm_2.cu", "sgemm_sm80.cu"))
    print(f"least {least:.4f}")
