"""Who owns which element, who loads which, and what the emulator saw."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import cute_py
from cute_py import Kernel, OperandError, UnsupportedProblemError
from cute_py.banks import audit

# Rows of a kernel for two modes of M have two coordinates, which these maps do not speak of; those for few columns have no
# tiles of both operands.
VARIANTS = [
    k for k in cute_py.kernels().values() if "emulator" in k.targets and k.modes_m == k.modes and k.most_n is None
]
WHOLE = [k for k in VARIANTS if not k.predicated and k.factors[-1] in ("float32", "float16") and k.compute == "float32"]


def extents(kernel: Kernel) -> tuple[int, int, int]:
    m, n, k = kernel.tile
    return (m + 72, n + 2, 2 * k + 3) if kernel.predicated else (2 * m, 2 * n, 3 * k)


TRACED = [k for k in VARIANTS if k.factors[-1] in ("float32", "float16") and k.compute == "float32"]


def test_rows_of_two_coordinates_have_no_owner() -> None:
    kernel = cute_py.kernels()["sgemm_1_gett_f32"]
    for call in (lambda: kernel.owner_of(C=(0, 0)), lambda: kernel.loads_of((0, 0), 0, 0)):
        with pytest.raises(UnsupportedProblemError, match="several coordinates"):
            call()


def test_other_types_are_not_traced() -> None:
    with pytest.raises(UnsupportedProblemError, match="multiplies float64, and only"):
        cute_py.kernels()["sgemm_1_nested_f64"].trace()


@pytest.mark.parametrize("kernel", TRACED, ids=lambda k: k.name)
def test_the_predicted_owner_is_the_writer_of_every_element_of_c(kernel: Kernel) -> None:
    trace = kernel.trace(*extents(kernel), spaces=("C",))
    wide = [x.astype(np.complex128) for x in (trace.A, trace.B)]
    np.testing.assert_array_equal(trace.C, wide[0] @ wide[1].T)
    block_m, block_n, thread, times = np.moveaxis(trace.writers(), -1, 0)
    i, j = np.indices(trace.C.shape)
    m, n = kernel.tile[:2]
    owner, _ = kernel.config.owners
    np.testing.assert_array_equal(times, 1)
    np.testing.assert_array_equal(block_m, i // m)
    np.testing.assert_array_equal(block_n, j // n)
    if kernel.modes == 1 and kernel.kernel != "gemm_sm80":  # whose sums travel through shared memory, to another thread
        np.testing.assert_array_equal(thread, owner[i % m, j % n])


def test_what_a_thread_of_a_nested_kernel_copies_is_not_known() -> None:
    with pytest.raises(UnsupportedProblemError, match="depends on the operand's strides"):
        cute_py.kernels()["sgemm_2_nested_f32"].loads_of((0, 0), 0, 0)


@pytest.mark.parametrize("kernel", VARIANTS, ids=lambda k: k.name)
def test_owner_of_is_one_to_one(kernel: Kernel) -> None:
    thread, register = kernel.config.owners
    m, n = kernel.tile[:2]
    assert thread.shape == (m, n)
    assert len({*zip(thread.ravel().tolist(), register.ravel().tolist(), strict=True)}) == m * n
    assert register.max() == m * n // kernel.threads - 1
    owner = kernel.owner_of(C=(m + 17, 2 * n + 5))
    assert owner.block == (1, 2)
    assert (owner.thread, owner.register) == (thread[17, 5], register[17, 5])
    assert (owner.warp, owner.lane) == (owner.thread // 32, owner.thread % 32)


@pytest.mark.parametrize("kernel", WHOLE, ids=lambda k: k.name)
def test_loads_of_says_what_each_thread_reads_and_where_it_writes_it(kernel: Kernel) -> None:
    m, n, k = kernel.tile
    trace = kernel.trace(m, n, 3 * k)
    config = kernel.config
    for thread in (0, 37, kernel.threads - 1):
        for operand, matrix, offset in (("A", trace.A, config.smem_offset_a), ("B", trace.B, config.smem_offset_b)):
            reads = trace.of(operand, is_write=False)
            reads = reads[reads["thread"] == thread]
            size = matrix.itemsize
            step = [stride // size for stride in matrix.strides]
            seen = set()
            for access in reads:
                for element in range(access["bytes"] // size):
                    index = int(access["offset"]) // size + element
                    seen.add(
                        (index % step[1], index // step[1]) if step[0] == 1 else (index // step[0], index % step[0])
                    )
            loads = [kernel.loads_of((0, 0), thread, tile) for tile in range(3)]
            predicted = [load for tile in loads for load in getattr(tile, operand.lower())]
            assert {load.coordinate for load in predicted} == seen
            assert {tile.stage for tile in loads} == set(range(min(kernel.stages, 3)))
            if kernel.kernel == "gemm_sm80":
                continue  # its sums go through the same shared memory
            writes = trace.of("shared", is_write=True)
            writes = writes[writes["thread"] == thread]
            reach = size * (config.smem_layout_a if operand == "A" else config.smem_layout_b).cosize
            written = {
                (int(access["offset"]) - offset) // size + element
                for access in writes
                if offset <= access["offset"] < offset + reach
                for element in range(access["bytes"] // size)
            }
            assert {load.shared for load in predicted} == written


@pytest.mark.parametrize("kernel", [k for k in WHOLE if k.kernel != "gemm_sm80"], ids=lambda k: k.name)
def test_the_kernels_have_no_bank_conflicts(kernel: Kernel) -> None:
    costs = audit(kernel.trace(spaces=("shared",)))
    assert {name.split()[0] for name in costs} == {"read", "write"}
    assert all(cost.conflicts == 0 for cost in costs.values()), costs


def test_every_layout_of_a_kernel_is_there() -> None:
    kernel = cute_py.kernels()["sgemm_sm80_nt_f32"]
    assert str(kernel.smem_layout_a) == "((_128,_1),(_16,_1),(_1,_3)):((_1,_0),(_128,_0),(_0,_2048))"
    assert kernel.tiled_mma is not None
    assert kernel.tiled_mma.size == kernel.threads
    assert kernel.tiled_copy_a is not None
    assert kernel.tiled_copy_a.atom.name == "SM80_CP_ASYNC_CACHEALWAYS<uint128_t>"
    assert kernel.config.thread_layout_c is None
    first = cute_py.kernels()["sgemm_1_nt_f32"]
    assert first.tiled_mma is None
    assert str(first.config.thread_layout_c) == "(_16,_16):(_1,_16)"


def test_the_trace_counts_every_access() -> None:
    kernel = cute_py.kernels()["sgemm_1_nt_f32"]
    m, n, k = kernel.tile
    trace = kernel.trace(m, n, 2 * k)
    assert len(trace.of("A")) == m * 2 * k
    assert len(trace.of("B")) == n * 2 * k
    assert len(trace.of("C", is_write=True)) == m * n
    assert len(trace.of("C", is_write=False)) == 0  # beta == 0 does not read C
    assert "M=128 N=128 K=16" in repr(trace)


def test_bad_requests() -> None:
    kernel = cute_py.kernels()["sgemm_sm80_nt_f32"]
    for call, message in [
        (lambda: kernel.owner_of(C=(-1, 0)), "C must not be negative"),
        (lambda: kernel.owner_of(C=(1.5, 0)), "C must be a pair of integers"),  # type: ignore[arg-type]
        (lambda: kernel.owner_of(C=3), "C must be a pair of integers"),  # type: ignore[arg-type]
        (lambda: kernel.loads_of((0, 0), 256, 0), "thread must be 0 to 255"),
        (lambda: kernel.loads_of((0, 0), 0, -1), "k_tile must be 0 or more"),
        (lambda: kernel.loads_of((0,), 0, 0), "block must be a pair"),  # type: ignore[arg-type]
        (lambda: kernel.trace(100), "sgemm_sm80_nt_f32_predicated takes any extents"),
        (lambda: kernel.trace(0), "m must be an integer from 1"),
        (lambda: kernel.trace(k=1 << 20), "k must be an integer from 1"),
        (lambda: kernel.trace(spaces=("D",)), "spaces are A, B, C, shared"),
        (lambda: kernel.trace(spaces=("C",)).of("D"), "space must be one of"),
        (lambda: audit(kernel.trace(spaces=("C",))), "no accesses to shared memory"),
    ]:
        with pytest.raises(OperandError, match=message):
            call()
    with pytest.raises(UnsupportedProblemError, match="no tiles of A and B"):
        cute_py.kernels()["reference_f32"].config  # noqa: B018


def test_registers_are_unknown_without_a_gpu() -> None:
    if cute_py.cuda_available():
        pytest.skip("there is a GPU")
    assert all(kernel.registers is None for kernel in cute_py.kernels().values())


@pytest.mark.gpu
def test_registers_allow_for_the_ctas_that_the_kernel_is_made_for() -> None:
    for kernel in VARIANTS:
        assert kernel.registers is not None
        ctas = 1 if kernel.kernel == "gemm_sm80" else 2
        assert 32 <= kernel.registers <= 65536 // (ctas * kernel.threads)


def test_a_report_is_one_page_with_every_section(tmp_path: Path) -> None:
    for name in ("sgemm_1_tn_f32", "sgemm_sm80_nt_f32_predicated"):
        path = cute_py.kernels()[name].report(tmp_path / "k.html")
        page = path.read_text()
        assert page.startswith("<!DOCTYPE html>")
        assert "http://" not in page.replace("http://www.w3.org", "")
        for section in ("Facts", "Tiles", "Shared memory", "Copies", "Math", "Owners of C", "Banks"):
            assert f">{section}</h2>" in page
    with pytest.raises(OSError, match="no_such_folder"):
        cute_py.kernels()["sgemm_1_tn_f32"].report(tmp_path / "no_such_folder" / "k.html")
    assert list(tmp_path.iterdir()) == [tmp_path / "k.html"]
