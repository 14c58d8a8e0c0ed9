"""A trace warp by warp: nothing is lost, and what it costs is what the audit says."""

from __future__ import annotations

import numpy as np
import pytest

import cute_py
from cute_py.catalogue.playback import SPACES, Instruction
from cute_py.catalogue.trace import audit
from cute_py.errors import OperandError
from cute_py.machine.banks import NOTHING

KERNELS = [
    "sgemm_1_nt_f32",
    "sgemm_2_tn_f32",
    "sgemm_sm70_nt_f32",
    "sgemm_sm80_nt_f32",
    "gemm_sm80_nt_f16",
    "wgmma_tma_sm90_nt_f16",
]


def found(name: str) -> cute_py.Kernel:
    kernels = cute_py.kernels()
    return kernels[name] if name in kernels else next(iter(kernels.find(name.rpartition("_")[0]).values()))


@pytest.mark.parametrize("name", KERNELS)
def test_every_access_is_in_one_instruction_and_in_its_order(name: str) -> None:
    trace = found(name).trace()
    warps = int(trace.accesses["thread"].max()) // 32 + 1
    for warp in range(warps):
        of_warp = trace.accesses[trace.accesses["thread"] // 32 == warp]
        if not len(of_warp):
            continue
        by_thread: dict[int, list[tuple[int, str, bool, int, int]]] = {}
        for step in trace.instructions(warp):
            assert len(set(step.threads)) == len(step.threads)
            for thread, offset in zip(step.threads, step.offsets, strict=True):
                by_thread.setdefault(thread, []).append((step.phase, step.space, step.is_write, step.bytes, offset))
        for thread, accesses in by_thread.items():
            own = of_warp[of_warp["thread"] == thread]
            own = own[np.argsort(own["phase"], kind="stable")]
            expected = [
                (int(a["phase"]), SPACES[a["space"]], bool(a["is_write"]), int(a["bytes"]), int(a["offset"]))
                for a in own
            ]
            assert accesses == expected
        assert sum(map(len, by_thread.values())) == len(of_warp)


@pytest.mark.parametrize("name", ["sgemm_1_nt_f32", "sgemm_sm80_nt_f32", "sgemm_sm80_tn_f32"])
def test_the_costs_add_up_to_the_audit(name: str) -> None:
    trace = cute_py.kernels()[name].trace()
    costs = dict.fromkeys(audit(trace), NOTHING)
    for warp in range(8):
        for step in trace.instructions(warp):
            if step.bank_conflicts is not None:
                key = f"{'write' if step.is_write else 'read'} of {step.bytes} bytes:"
                costs[key] = costs[key] + step.bank_conflicts
    assert costs == audit(trace)


def test_places_are_those_of_the_operands_and_of_shared_memory() -> None:
    kernel = cute_py.kernels()["sgemm_sm80_tn_f32"]
    trace = kernel.trace()
    loads = kernel.loads_of((0, 0), 5, 0)
    steps = [s for s in trace.instructions(0) if s.phase == 0 and 5 in s.threads]
    read = [s.places[s.threads.index(5)] for s in steps if s.space == "A" and not s.is_write]
    first = [f"A({load.coordinate[0]},{load.coordinate[1]})" for load in loads.a]
    assert read[: len(first)] == first
    written = [s.places[s.threads.index(5)] for s in steps if s.space == "shared" and s.is_write]
    smem = np.asarray(kernel.smem_layout_a(np.arange(kernel.smem_layout_a.size)))
    extents = [int(cute_py.size(kernel.smem_layout_a, mode)) for mode in range(3)]
    position = int(np.nonzero(smem == loads.a[0].shared)[0][0])
    assert f"sA{cute_py.notation(cute_py.idx2crd(position, tuple(extents)))}" in written


def test_a_picture_has_the_words_that_are_touched() -> None:
    step = cute_py.kernels()["sgemm_sm80_nt_f32"].trace().instructions()[-1]
    picture = step._picture()
    cells = [cell for panel in picture.panels for row in panel.cells for cell in row if cell.text]
    words = {(o + b) // 4 for o in step.offsets for b in range(step.bytes)}
    assert len(cells) == len(words)
    assert picture.title == str(step)


def test_conflicts_are_shown_where_they_are() -> None:
    step = Instruction(
        (0, 0), 0, 0, "shared", False, 4, tuple(range(32)), tuple(range(0, 128 * 32, 128)), lambda byte: f"byte {byte}"
    )
    assert step.cost == "32 wavefronts in 1 instruction, 31 of them bank conflicts"
    (panel,) = step._picture().panels
    assert panel.title == "Threads 0..31: 32 wavefronts"
    assert [bool(row[0].text) for row in panel.cells] == [True] * 32
    assert all(dict(row[0].facts)["words of the bank"] == "32" for row in panel.cells)
    by_segments = Instruction((0, 0), 0, 0, "A", False, 4, (0, 1), (0, 64), str)
    assert by_segments.cost == "2 segments of 32 bytes, 1 would do"


def test_what_is_not_there_is_an_error() -> None:
    trace = cute_py.kernels()["sgemm_1_nt_f32"].trace()
    with pytest.raises(OperandError, match=r"has no block \(3,0\)"):
        trace.instructions(0, (3, 0))
    with pytest.raises(OperandError, match="warp must be one of 0 to 7 that accesses something, not 8"):
        trace.instructions(8)
    with pytest.raises(IndexError):
        trace.instructions()[100000]
    assert len(trace.instructions()[2:5]) == 3
