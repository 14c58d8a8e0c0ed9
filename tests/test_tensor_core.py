"""Tensor cores to the bit: the workbench's against mmasim, the emulator's against an H200's products and mmasim."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cute_py
from cute_py import Candidate, EmulatorOptions, gemm, workbench

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import tensor_core_bits

pytestmark = [
    pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler"),
    pytest.mark.compiler,
]

TILES = int(os.environ.get("CUTE_PY_TILES", "250"))
ARCHITECTURES = {"75": "Turing", "80": "Ampere", "89": "Ada Lovelace", "90a": "Hopper", "100a": "Blackwell"}
BYTES = {"f16": 2, "bf16": 2, "tf32": 4, "e4m3": 1, "e5m2": 1}

# A warp's fragments as they are in registers: those of A and B are words, sums are words or halves of them.
MMA = """
__global__ void mma(unsigned const* a, unsigned const* b, unsigned const* c, unsigned* d) {
  unsigned const lane = blockIdx.x * 32 + threadIdx.x;
  unsigned x[A], y[B], s[C], z[C];
  for (int i = 0; i < A; ++i) x[i] = a[lane * A + i];
  for (int i = 0; i < B; ++i) y[i] = b[lane * B + i];
  for (int i = 0; i < C; ++i) s[i] = c[lane * C + i];
  asm volatile("mma.sync.aligned.SHAPE.row.col.TYPES {OUT}, {INA}, {INB}, {INC};" : OUTS : INS);
  for (int i = 0; i < C; ++i) d[lane * C + i] = z[i];
}
"""

WGMMA = """
__global__ void mma(unsigned const* a, unsigned const* b, unsigned const* c, unsigned* d) {
  __shared__ alignas(128) unsigned factor[64];  // (8,32 bytes): two matrices of 8 rows of 16 bytes
  unsigned const lane = blockIdx.x * 128 + threadIdx.x;
  if (threadIdx.x < 64) factor[threadIdx.x] = b[blockIdx.x * 64 + threadIdx.x];
  asm volatile("fence.proxy.async;");
  __syncthreads();
  unsigned const address = static_cast<unsigned>(__cvta_generic_to_shared(factor));
  unsigned long long const descriptor = (address >> 4) | (128ull >> 4) << 16 | (128ull >> 4) << 32;
  unsigned x[4], z[C];
  for (int i = 0; i < 4; ++i) x[i] = a[lane * 4 + i];
  for (int i = 0; i < C; ++i) z[i] = c[lane * C + i];
  asm volatile("wgmma.fence.sync.aligned;");
  asm volatile("wgmma.mma_async.sync.aligned.SHAPE.TYPES {OUT}, {INA}, %DESC, 1, 1, 1TRANSPOSED;" : OUTS : INS);
  asm volatile("wgmma.commit_group.sync.aligned;");
  asm volatile("wgmma.wait_group.sync.aligned 0;");
  for (int i = 0; i < C; ++i) d[lane * C + i] = z[i];
}
"""


def torch_type(dtype: str) -> Any:
    torch = pytest.importorskip("torch")
    names = {"f16": "float16", "bf16": "bfloat16", "tf32": "float32", "f32": "float32", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}  # fmt: skip
    return getattr(torch, names[dtype])


def bits(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Return numbers of a type as bits: some of any bits, some near each other, some that are small, some zeros."""
    torch = pytest.importorskip("torch")
    numbers = rng.standard_normal(shape) * np.exp2(rng.integers(-9, 5, (shape[0],) + (1,) * (len(shape) - 1)))
    numbers[rng.random(shape) < 0.1] = 0
    spread = numbers * np.exp2(rng.integers(-14, 8, shape))
    numbers = np.where((np.arange(shape[0]) % 3 == 1).reshape((-1,) + (1,) * (len(shape) - 1)), spread, numbers)
    made = torch.from_numpy(numbers).float().to(torch_type(dtype))
    word = {1: torch.uint8, 2: torch.int16, 4: torch.int32}[made.element_size()]
    found = made.view(word).numpy().copy()
    found = found.view({1: np.uint8, 2: np.uint16, 4: np.uint32}[made.element_size()])
    wild = np.arange(shape[0]) % 3 == 2
    info = np.iinfo(found.dtype)
    found[wild] = rng.integers(0, info.max, found[wild].shape, dtype=found.dtype, endpoint=True)
    return found


def tensor_of(array: np.ndarray, dtype: str) -> Any:
    torch = pytest.importorskip("torch")
    signed = {1: np.uint8, 2: np.int16, 4: np.int32}[array.itemsize]
    return torch.from_numpy(np.ascontiguousarray(array).view(signed)).view(torch_type(dtype))


CASES = [
    ("mma", "75", "m16n8k8", "f16", "f32"),
    ("mma", "80", "m16n8k16", "f16", "f32"),
    ("mma", "80", "m16n8k8", "tf32", "f32"),
    ("mma", "89", "m16n8k32", "e4m3", "f32"),
    ("mma", "90a", "m16n8k16", "f16", "f32"),
    ("mma", "90a", "m16n8k16", "f16", "f16"),
    ("mma", "90a", "m16n8k16", "bf16", "f32"),
    ("mma", "100a", "m16n8k8", "tf32", "f32"),
    ("wgmma", "90a", "m64n8k16", "f16", "f32"),
    ("wgmma", "90a", "m64n8k16", "f16", "f16"),
    ("wgmma", "90a", "m64n8k16", "bf16", "f32"),
    ("wgmma", "90a", "m64n8k32", "e4m3", "f32"),
    ("wgmma", "90a", "m64n8k32", "e5m2", "f32"),
]


@pytest.mark.parametrize(("kind", "architecture", "shape", "factor", "sums"), CASES)
def test_sums_have_the_bits_of_a_gpus(kind: str, architecture: str, shape: str, factor: str, sums: str) -> None:
    pytest.importorskip("mmasim")
    from mmasim.nv_ptx import sim

    is_warpgroup = kind == "wgmma"
    m, k, size = 64 if is_warpgroup else 16, int(shape.partition("k")[2]), BYTES[factor]
    warps, each, half = m // 16, 4 // size, sums == "f16"
    rng = np.random.default_rng(5)
    a, b = bits(rng, (TILES, m, k), factor), bits(rng, (TILES, 8, k), factor)
    c = bits(rng, (TILES, m, 8), sums)

    # Fragments: (tile, warp, lane, register, part of it), as the PTX ISA has them.
    lane = np.arange(32)[:, None, None]
    i = np.arange(each)
    registers = k * size // 8
    r = np.arange(registers)[:, None]
    rows, steps = lane // 4 + r % 2 * 8, (r // 2 * 4 + lane % 4) * each + i
    in_a = a.reshape(TILES, warps, 16, k)[:, :, rows, steps]
    r = np.arange(registers // 2)[:, None]
    in_b = b[:, lane // 4 + 0 * i, (r * 4 + lane % 4) * each + i]
    if is_warpgroup:
        in_b = b.reshape(TILES, 8, 2, 16 // size).transpose(0, 2, 1, 3)
    v = np.arange(4)
    at_m, at_n = np.arange(32)[:, None] // 4 + v // 2 * 8, np.arange(32)[:, None] % 4 * 2 + v % 2
    in_c = c.reshape(TILES, warps, 16, 8)[:, :, at_m, at_n]
    words_a, words_b, words_c = (np.ascontiguousarray(x).view(np.uint32).ravel() for x in (in_a, in_b, in_c))
    out = np.zeros_like(words_c)

    count_a, count_b, count_c = (
        (4, 0, 2 if half else 4) if is_warpgroup else (registers, registers // 2, 2 if half else 4)
    )
    number = iter(range(64))

    def names(count: int) -> str:
        return "{" + ", ".join(f"%{next(number)}" for _ in range(count)) + "}"

    texts = {"{OUT}": names(count_c), "{INA}": names(count_a)}
    outs = ", ".join(f'"{"+" if is_warpgroup else "="}r"(z[{j}])' for j in range(count_c))
    ins = [f'"r"(x[{j}])' for j in range(count_a)]
    if is_warpgroup:
        texts["%DESC"] = f"%{next(number)}"
        ins.append('"l"(descriptor)')
    else:
        texts |= {"{INB}": names(count_b), "{INC}": names(count_c)}
        ins += [f'"r"(y[{j}])' for j in range(count_b)] + [f'"r"(s[{j}])' for j in range(count_c)]
    types = f"{sums}.{factor}.{factor}" + ("" if is_warpgroup else f".{sums}")
    texts |= {
        "SHAPE": shape,
        "TYPES": types,
        "OUTS": outs,
        "INS": ", ".join(ins),
        "TRANSPOSED": ", 0" if size == 2 else "",
    }
    source = WGMMA if is_warpgroup else MMA
    for name, text in texts.items():
        source = source.replace(name, text)
    define = [f"C={count_c}"] + ([] if is_warpgroup else [f"A={count_a}", f"B={count_b}"])
    kernel = workbench.inline(source, architecture=architecture, define=define).kernel("mma")
    result = kernel(words_a, words_b, words_c, out, grid=TILES, block=32 * warps)
    assert result.is_clean, str(result)
    found = np.zeros_like(c).reshape(TILES, warps, 16, 8)
    found[:, :, at_m, at_n] = out.view(c.dtype).reshape(in_c.shape)
    found = found.reshape(c.shape)

    judge = (sim.WGMMA if is_warpgroup else sim.MMA)(ARCHITECTURES[architecture], f"{shape}.{types}")
    x, y = (tensor_of(array, factor) for array in (a, b))
    expected = judge.dpa(
        x[:, :, None, :].expand(-1, -1, 8, -1), y[:, None, :, :].expand(-1, m, -1, -1), tensor_of(c, sums)
    )
    wanted = (
        expected.view({2: __import__("torch").int16, 4: __import__("torch").int32}[c.itemsize]).numpy().view(c.dtype)
    )
    assert np.array_equal(found, wanted)
    assert len(np.unique(wanted)) > TILES


# A kernel of each instruction.
WHOLE = [
    "gemm_sm80_nt_f16_64x64",
    "gemm_sm80_nested_tn_bf16",
    "gemm_sm80_tn_tf32_64x64",
    "gemm_sm80_nt_f64_64x64_sm90",
    "gemm_sm80_nn_c128_64x64_sm90",
    "gemm_sm80_tn_i8_64x64",
    "wgmma_sm90_nt_f16",
    "wgmma_tma_sm90_tn_f16",
    "gemm_sm90_tn_f16_64x128",
    "gemm_sm90_nn_bf16_128x256",
    "gemm_sm90_tn_tf32_128x128",
    "gemm_sm90_tn_i8_128x128",
    "gemm_sm90_tn_e4m3_128x128",
    "gemm_sm90_tn_e4m3_128x128_fast",
]


@pytest.mark.parametrize("name", WHOLE)
def test_whole_products_have_the_bits_of_an_h200(name: str) -> None:
    assert tensor_core_bits.differing(name, "emulator", range(2 * tensor_core_bits.KINDS)) == []


@pytest.mark.gpu
@pytest.mark.parametrize("name", WHOLE)
def test_whole_products_have_the_bits_that_were_recorded(name: str) -> None:
    assert tensor_core_bits.differing(name, "cuda", range(500)) == []


def product_in_the_emulator(compute_capability: tuple[int, int], a: np.ndarray, b: np.ndarray) -> np.ndarray:
    out = np.zeros((len(b), len(a)), np.float32).T
    options = EmulatorOptions(compute_capability=compute_capability)
    config = Candidate("gemm_sm80_tn_f16_64x64", False, 1, 0, 0.0, "latency")
    return gemm(a, b, out=out, config=config, device="emulator", emulator=options)


@pytest.mark.parametrize(
    ("compute_capability", "generation"), [((7, 5), "Turing"), ((8, 0), "Ampere"), ((9, 0), "Hopper")]
)
def test_a_generation_has_its_own_bits(compute_capability: tuple[int, int], generation: str) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("mmasim")
    from mmasim.nv_ptx import sim

    rng = np.random.default_rng(3)
    m = n = k = 64
    a, b = (rng.standard_normal((m, k)).astype(np.float16) for _ in range(2))
    found = product_in_the_emulator(compute_capability, a, b)
    # SM75 has instructions of 8 steps of K, and the kernel those of 16, which are two of its blocks.
    step = 8 if generation == "Turing" else 16
    judge = sim.MMA(generation, f"m16n8k{step}.f32.f16.f16.f32")
    sums = torch.zeros((1, m, n))
    for first in range(0, k, step):
        x, y = (torch.from_numpy(part[:, first : first + step].copy())[None] for part in (a, b))
        sums = judge.dpa(x[:, :, None, :].expand(-1, -1, n, -1), y[:, None, :, :].expand(-1, m, -1, -1), sums)
    assert np.array_equal(found.view(np.uint32), sums[0].numpy().view(np.uint32))
    others = [product_in_the_emulator(other, a, b) for other in ((8, 0), (9, 0)) if other != compute_capability]
    assert any(not np.array_equal(found, other) for other in others)


def test_what_was_recorded_is_of_the_kernels_that_there_are() -> None:
    with np.load(tensor_core_bits.RECORDED) as recorded:
        known = [name for name in recorded.files if name in cute_py.kernels()]
        assert len(known) == len(recorded.files) >= 147
        assert all(recorded[name].shape == (500,) for name in known)
