"""Products of every kernel with tensor cores: their bits on a GPU, and in the emulator.

    python benchmarks/tensor_core_bits.py record bits.npz --problems 500       on a GPU
    python benchmarks/tensor_core_bits.py compare --problems 500               anywhere

`record` writes a checksum of each product; `compare` computes the same products in the emulator, or with `--device cuda`
on a GPU, and says of which kernels the bits differ from those of an H200, which are in `benchmarks/data`. `--part 3/16` takes
every sixteenth kernel, from the third on. Of each kernel the problems have other extents and other numbers: of one size, of sizes that spread over
sixteen powers of two, with sums that cancel, and near the least normal number.
"""

from __future__ import annotations

import argparse
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cute_py import Candidate, gemm, kernels
from cute_py.catalogue.kernels import Kernel
from cute_py.testing import numpy_type

RECORDED = Path(__file__).parent / "data" / "tensor_core_bits_h200.npz"
FAMILIES = ("gemm_sm80", "gemm_sm90", "wgmma_sm90", "wgmma_tma_sm90")
KINDS = 4


def multiplies_by_tensor_cores(kernel: Kernel) -> bool:
    return kernel.multiplies and kernel.kernel in FAMILIES and not kernel.is_step


def extents(kernel: Kernel, generator: np.random.Generator) -> tuple[int, int, int]:
    m, n, k = kernel.tile
    if not kernel.predicated:
        return m, n, k * int(generator.integers(1, 4))
    drawn = [int(generator.integers(1, most)) for most in (min(m, 100) + 8, min(n, 100) + 8, 3 * k + 8)]
    drawn[0] = min(drawn[0], kernel.most_m or drawn[0])
    drawn[1] = min(drawn[1], kernel.most_n or drawn[1])
    a, b, c = (-(-x // multiple) * multiple for x, multiple in zip(drawn, kernel.multiples, strict=True))
    return a, b, c


def factor(
    generator: np.random.Generator, kind: int, rows: int, k: int, dtype: Any, k_major: bool, pad: int
) -> np.ndarray:
    """A factor (rows,k) with padded lines."""
    line = (k if k_major else rows) + pad
    memory = np.zeros((rows if k_major else k, line), dtype)
    place = memory[:, : k if k_major else rows]
    if dtype.kind == "i":
        values: Any = generator.integers(-128, 128, (rows, k))
    else:
        # Of integers alone: the same in every version of NumPy.
        values = generator.integers(-(2**20), 2**20, (rows, k)) / 2**19
        if kind == 1:
            values = values * 2.0 ** generator.integers(-8, 9, (rows, k))
        if kind == 2 and k > 1:
            half = k // 2
            values[:, half : 2 * half] = -values[:, :half] * (1 + generator.integers(-1, 2, (rows, half)) / 256)
        if kind == 3:
            values = values * (2.0**-7 if dtype.name.startswith("float8") else 2.0**-14)
        if dtype.kind == "c":
            values = values + 1j * values[::-1]
    (place if k_major else place.T)[...] = values.astype(dtype)
    return place if k_major else place.T


def products(kernel: Kernel, device: str, problems: range) -> Iterator[np.ndarray]:
    layout = "tt" if kernel.layout == "any" else kernel.layout
    dtype = numpy_type(kernel.factors[-1])
    wide = {"float32": "float32", "tfloat32": "float32", "int32": "int32"}.get(kernel.compute, kernel.compute)
    result = numpy_type(wide if wide in kernel.results else kernel.results[-1])
    pad = 16 if not kernel.predicated or kernel.vector_bytes != (0, 0) else 3
    config = Candidate(kernel.name, False, 1, 0, 0.0, "latency")
    for problem in problems:
        generator = np.random.default_rng([zlib.crc32(kernel.name.encode()), problem])
        m, n, k = extents(kernel, generator)
        kind = problem % KINDS
        a = factor(generator, kind, m, k, dtype, layout[0] == "t", pad)
        b = factor(generator, kind, n, k, dtype, layout[1] == "n", pad)
        c = np.zeros((n, m + pad), result)[:, :m].T
        gemm(a, b, out=c, config=config, device=device, compute=kernel.compute)
        yield c


def sums(kernel: Kernel, device: str, problems: range) -> list[int]:
    return [zlib.crc32(np.ascontiguousarray(c).tobytes()) for c in products(kernel, device, problems)]


def record(path: Path, problems: int, device: str) -> None:
    chosen = [kernel for kernel in kernels().values() if multiplies_by_tensor_cores(kernel)]
    found: dict[str, Any] = {}
    for kernel in chosen:
        try:
            found[kernel.name] = np.array(sums(kernel, device, range(problems)), np.uint32)
        except Exception as error:
            print(f"{kernel.name}: {type(error).__name__}: {error}", file=sys.stderr)
    np.savez_compressed(path, **found)
    print(f"{len(found)} kernels of {len(chosen)}, {problems} products each")


def differing(name: str, device: str, problems: range, path: Path = RECORDED) -> list[int]:
    """Return the products of a kernel whose bits are not those that were recorded."""
    with np.load(path) as recorded:
        expected = recorded[name]
    return [i for i, x in zip(problems, sums(kernels()[name], device, problems), strict=True) if x != expected[i]]


def compare(path: Path, device: str, problems: range, part: str, only: str) -> int:
    first, _, step = part.partition("/")
    with np.load(path) as recorded:
        names = [name for name in recorded.files if only in name and name in kernels()]
    total = wrong = 0
    for name in names[int(first) - 1 :: int(step)]:
        different = differing(name, device, problems, path)
        total += len(problems)
        wrong += len(different)
        kinds = [sum(i % KINDS == kind for i in different) for kind in range(KINDS)]
        how = f"{len(different)} of {len(problems)} differ, by kind {kinds}" if different else f"{len(problems)} equal"
        print(f"{name}: {how}", flush=True)
    print(f"{total - wrong} of {total} products are equal")
    return 1 if wrong else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="the bits of tensor cores")
    parser.add_argument("command", choices=("record", "compare"))
    parser.add_argument("file", type=Path, nargs="?", default=RECORDED)
    parser.add_argument("--problems", type=int, default=500)
    parser.add_argument("--skip", type=int, default=0, help="so many of these problems, to compare")
    parser.add_argument("--device", help="to record on (default: cuda), or to compare (default: emulator)")
    parser.add_argument("--only", default="", help="of kernels with this in their names")
    parser.add_argument("--part", default="1/1", help="of the kernels, such as 3/16")
    given = parser.parse_args()
    if given.command == "record":
        record(given.file, given.problems, given.device or "cuda")
    else:
        sys.exit(
            compare(given.file, given.device or "emulator", range(given.skip, given.problems), given.part, given.only)
        )
