"""The model of shared memory's banks against the hardware counters of a GPU."""

from __future__ import annotations

import csv
import io
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cute_py
from cute_py.catalogue.trace import audit
from cute_py.machine.banks import wavefronts
from headers import ROOT

# A counter may hold a few wavefronts of other work on the multiprocessor, and never fewer than the kernel's.
TOLERANCE = 0.005

LOADS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"
STORES = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"

pytestmark = pytest.mark.gpu


def counters(command: list[str], kernel: str) -> list[dict[str, float]]:
    """Return the wavefronts of loads and stores for each launch of a kernel."""
    ncu = shutil.which("ncu")
    if ncu is None:
        pytest.skip("ncu is not installed")
    flags = ["--clock-control", "none", "--csv", "--metrics", f"{LOADS},{STORES}", "--kernel-name", f"regex:{kernel}"]
    ran = subprocess.run([ncu, *flags, *command], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]
    lines = [line for line in ran.stdout.splitlines() if line.startswith('"')]
    launches: dict[str, dict[str, float]] = {}
    for row in csv.DictReader(io.StringIO("\n".join(lines))):
        launches.setdefault(row["ID"], {})[row["Metric Name"]] = float(row["Metric Value"].replace(",", ""))
    return list(launches.values())


def patterns() -> list[tuple[str, int, bool, list[int]]]:
    """Return named access patterns: width in bytes, store or load, the address of each lane."""
    lanes = np.arange(32)
    rng = np.random.default_rng(0)
    found: list[tuple[str, int, bool, np.ndarray]] = []
    for store in (False, True):
        for stride in (1, 2, 3, 4, 8, 16, 32, 33):
            found.append((f"4 bytes, stride {stride} words", 4, store, 4 * stride * lanes))
        for stride in (1, 2, 3, 4, 8, 16):
            found.append((f"8 bytes, stride {stride}", 8, store, 8 * stride * lanes))
            found.append((f"16 bytes, stride {stride}", 16, store, 16 * stride * lanes))
        found.append(("16 bytes, columns of a row-major tile of 128-byte rows", 16, store, 128 * lanes))
        swizzled = 128 * lanes + 16 * (lanes % 8)
        found.append(("16 bytes, the same swizzled", 16, store, swizzled))
        for i in range(12):
            for width in (4, 8, 16):
                found.append((f"{width} bytes, random {i}", width, store, width * rng.integers(0, 2048 // width, 32)))
        for width in (8, 16):
            for mask in (1, 2, 4, 8, 16, 3, 5, 6):
                shared = np.unique(lanes & ~mask, return_inverse=True)[1]
                found.append((f"{width} bytes, lane ^ {mask} shared", width, store, width * shared))
            for i in range(5):
                pool = width * rng.integers(0, 2048 // width, 16)
                found.append((f"{width} bytes, random pairs {i}", width, store, pool[lanes // 2]))
            pairs, fours = np.arange(16) // 2, 16 + (np.arange(16) & 1 | np.arange(16) >> 2 << 1)
            found.append(
                (f"{width} bytes, halves paired differently", width, store, width * np.concatenate([pairs, fours]))
            )
            found.append(
                (f"{width} bytes, half paired", width, store, width * np.concatenate([pairs, 40 + np.arange(16)]))
            )
    for i in range(3):
        found.append((f"16 bytes, 8 vectors in 4 rows, {i}", 16, False, 16 * (lanes % 8) + 128 * i))
        found.append((f"16 bytes, 4 vectors, {i}", 16, False, 16 * (lanes // 8) + 64 * i))
        found.append((f"8 bytes, 16 vectors twice, {i}", 8, False, 8 * (lanes % 16) + 128 * i))
    return [(name, width, store, [int(a) for a in where]) for name, width, store, where in found]


def test_the_model_agrees_with_the_counters_on_single_instructions(tmp_path: Path) -> None:
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("nvcc is not installed")
    probe = tmp_path / "probe"
    subprocess.run([nvcc, "-arch=native", "-o", str(probe), str(ROOT / "tests/cpp/bank_probe.cu")], check=True)
    chosen = patterns()
    data = struct.pack("i", len(chosen))
    for _, width, store, where in chosen:
        data += struct.pack("34i", width, int(store), *where)
    (tmp_path / "patterns").write_bytes(data)
    measured = counters([str(probe), str(tmp_path / "patterns")], "access")
    assert len(measured) == len(chosen)
    wrong = []
    for (name, width, store, where), counts in zip(chosen, measured, strict=True):
        predicted, seen = wavefronts(where, width, is_write=store).wavefronts, counts[STORES if store else LOADS]
        if predicted != seen:
            wrong.append(f"{'store' if store else 'load'} {name}: predicted {predicted}, counted {seen:.0f}")
    assert not wrong, f"{len(wrong)} of {len(chosen)}:\n" + "\n".join(wrong)


@pytest.mark.parametrize("name", ["sgemm_1_tn_f32", "sgemm_2_nt_f32", "sgemm_sm80_nt_f32", "sgemm_sm70_tn_f32"])
def test_the_audit_agrees_with_the_counters_of_a_kernel(name: str) -> None:
    kernel = cute_py.kernels()[name]
    m, n, k = kernel.tile
    costs = audit(kernel.trace(m, n, 4 * k, spaces=("shared",)))
    loads = sum(c.wavefronts for access, c in costs.items() if access.startswith("read"))
    stores = sum(c.wavefronts for access, c in costs.items() if access.startswith("write"))
    orders = ["C" if letter == yes else "F" for letter, yes in zip(kernel.layout, "tn", strict=True)]
    program = (
        "import torch, cute_py\n"
        f"a = torch.ones({m}, {4 * k}, device='cuda'){'' if orders[0] == 'C' else '.T.contiguous().T'}\n"
        f"b = torch.ones({n}, {4 * k}, device='cuda'){'' if orders[1] == 'C' else '.T.contiguous().T'}\n"
        f"c = torch.empty({n}, {m}, device='cuda').T\n"
        f"cute_py.gemm(a, b, c, kernel={name!r})\n"
        "torch.cuda.synchronize()\n"
    )
    (counts,) = counters([sys.executable, "-c", program], kernel.kernel)
    assert loads <= counts[LOADS] <= loads * (1 + TOLERANCE)
    # cp.async writes shared memory through another pipe, which this counter does not see.
    expected = 0 if kernel.kernel == "sgemm_sm80" else stores
    assert expected <= counts[STORES] <= expected * (1 + TOLERANCE)
