"""Who owns which element, who loads which, and what the emulator saw."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import cute_py
from cute_py import Kernel, OperandError, UnsupportedProblemError
from cute_py.catalogue import trace as traces
from cute_py.catalogue.config import Owner
from cute_py.catalogue.trace import audit
from cute_py.testing import numpy_type
from pace import takes_under
from problems import EMULATED, PRODUCTS, within

VARIANTS = [k for k in PRODUCTS if "emulator" in k.targets]
# Those that are compiled before all files run. `cute-py verify` runs the others.
TRACED = [k for k in VARIANTS if k.name in EMULATED]
WHOLE = [k for k in VARIANTS if not k.predicated]
STUDIED = ("sgemm_1", "sgemm_2", "sgemm_sm70", "sgemm_sm80")


def extents(kernel: Kernel) -> tuple[int, int, int]:
    m, n, k = kernel.tile
    if kernel.most_m is not None:
        return m - 2, n - 3, 2 * k + 3
    if kernel.most_n is not None:
        return m + 72, n, k + 3
    return within(kernel, (m + 72, n + 2, 2 * k + 3) if kernel.predicated else (2 * m, 2 * n, 3 * k))


@pytest.fixture(scope="module")
def page_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Kernel], str]:
    """The report of a kernel, which takes seconds, made once."""
    folder = tmp_path_factory.mktemp("reports")

    def page(kernel: Kernel) -> str:
        path = folder / f"{kernel.name}.html"
        return (path if path.exists() else kernel.report(path)).read_text()

    return page


def numbers(array: np.ndarray, factor: str) -> np.ndarray:
    """A traced matrix as complex numbers; of types that NumPy lacks, there are the bits."""
    if array.dtype in (np.uint16, np.uint8):
        array = array.view(numpy_type(factor))
    return array.astype(np.complex128)


@pytest.mark.parametrize("kernel", TRACED, ids=lambda k: k.name)
def test_every_element_of_c_is_written_once_and_by_its_owner_unless_that_hands_it_over(kernel: Kernel) -> None:
    trace = kernel.trace(*extents(kernel), spaces=("C",))
    np.testing.assert_array_equal(
        trace.C, numbers(trace.A, kernel.factors[-1]) @ numbers(trace.B, kernel.factors[-1]).T
    )
    block_m, block_n, thread, times = np.moveaxis(trace.writers(), -1, 0)
    np.testing.assert_array_equal(times, 1)
    if kernel.kernel == "gemm_tall":  # its tiles depend on strides
        with pytest.raises(UnsupportedProblemError, match="depends on extents and strides"):
            kernel.owner_of(C=(0, 0))
        return
    i, j = np.indices(trace.C.shape)
    m, n = kernel.tile[:2]
    np.testing.assert_array_equal(block_n, j // n)
    owner, _ = kernel.config.owners
    if kernel.modes_m > kernel.modes:  # rows are (i0, i1) of (M/2, 2)
        half = len(trace.C) // 2
        tile = kernel.config.cta_tiler[0]
        blocks = -(-half // tile[0])
        np.testing.assert_array_equal(block_m, i % half // tile[0] + i // half // tile[1] * blocks)
        for row in (0, half - 1, half, 2 * half - 1):
            who = kernel.owner_of(C=((row % half, row // half), 5))
            assert (who.thread, who.block[0][0]) == (thread[row, 5], row % half // tile[0])
        return
    np.testing.assert_array_equal(block_m, i // m)
    on_tensor_cores = kernel.kernel in ("gemm_sm80", "wgmma_sm90", "wgmma_tma_sm90", "gemm_sm90")
    hands_over = on_tensor_cores or (kernel.modes > 1 and kernel.kernel != "gemm_skinny")
    if not hands_over and kernel.most_m is None:
        np.testing.assert_array_equal(thread, owner[i % m, j % n])


@pytest.mark.parametrize("kernel", [k for k in TRACED if k.kernel.endswith("_sm90")], ids=lambda k: k.name)
def test_the_predicted_owner_puts_every_sum_of_a_warpgroup_into_shared_memory(kernel: Kernel) -> None:
    """Other threads write C from there. A column of sums is a run of addresses, or in boxes a swizzled line of 32 sums."""
    m, n, k = kernel.tile
    writes = kernel.trace(m, n, k, spaces=("shared",)).of("shared", is_write=True)
    sums = writes[writes["bytes"] == 4]  # mbarriers are of 8 bytes, what copies bring of 16 and more
    assert len(sums) == m * n
    columns: Counter[tuple[int, ...]] = Counter()
    for phase, group in {(int(x["phase"]), int(x["thread"]) // 128) for x in sums}:
        of_phase = np.sort(sums[(sums["phase"] == phase) & (sums["thread"] // 128 == group)], order="offset")
        if (np.diff(of_phase["offset"]) == 4).all():
            of_phase["offset"] ^= (of_phase["offset"] >> 7 & 7) << 4
            lines = np.sort(of_phase, order="offset").reshape(-1, 32)
        else:
            lines = np.split(of_phase, np.flatnonzero(np.diff(of_phase["offset"]) != 4) + 1)
        columns.update(tuple(line["thread"]) for line in lines)
    (rows,) = {len(column) for column in columns}
    owner, _ = kernel.config.owners
    assert columns == Counter(tuple(owner[i : i + rows, j]) for i in range(0, m, rows) for j in range(n))


@pytest.mark.parametrize(
    "kernel", [k for k in TRACED if k.kernel in ("sgemm_sm80", "gemm_sm80") and k.predicated], ids=lambda k: k.name
)
def test_rows_that_do_not_exist_are_not_read_as_one(kernel: Kernel) -> None:
    """All blocks would ask a cache for its line at each step of K."""
    m, n, k = kernel.tile
    for columns, most in ((n + 8, 2), (8, n // 8)):
        reads = kernel.trace(*within(kernel, (m, columns, k)), spaces=("B",)).of("B")
        _, times = np.unique(reads["offset"], return_counts=True)
        assert times.max() <= most


@pytest.mark.parametrize("kernel", [k for k in TRACED if k.most_m is not None], ids=lambda k: k.name)
def test_owners_of_small_products_are_those_of_a_whole_one(kernel: Kernel) -> None:
    m, n, _ = kernel.tile
    trace = kernel.trace(m, n, 8, spaces=("C",))
    _, _, thread, times = np.moveaxis(trace.writers(), -1, 0)
    owner, _ = kernel.config.owners
    np.testing.assert_array_equal(times, 1)
    np.testing.assert_array_equal(thread, owner)
    assert kernel.owner_of(C=(m - 1, n - 1)).thread == thread[m - 1, n - 1]
    with pytest.raises(OperandError, match="takes at most 64 rows"):
        kernel.owner_of(C=(m, 0))


@pytest.mark.parametrize("kernel", [k for k in TRACED if k.modes_m > k.modes], ids=lambda k: k.name)
def test_rows_of_two_coordinates_are_asked_for_by_both(kernel: Kernel) -> None:
    assert kernel.owner_of(C=((3, 1), 0)) == Owner(((0, 0), 0), thread=3, register=4)
    with pytest.raises(OperandError, match=r"C must be \(\(i0, i1\), j\)"):
        kernel.owner_of(C=(0, 0))


@pytest.mark.thinned(16, by=lambda kernel: (kernel.kernel, kernel.predicated))
@pytest.mark.parametrize("kernel", TRACED, ids=lambda k: k.name)
def test_every_kernel_has_a_report(kernel: Kernel, page_of: Callable[[Kernel], str]) -> None:
    page = page_of(kernel)
    for section in ("Facts", "Tiles", "Shared memory", "Copies", "Math", "Owners of C", "Banks"):
        assert f">{section}</h2>" in page


@pytest.mark.thinned(16, by=lambda kernel: (kernel.kernel, kernel.predicated))
@pytest.mark.parametrize("kernel", [k for k in TRACED if k.copies_boxes], ids=lambda k: k.name)
def test_boxes_fill_a_tile_and_keep_the_rules(kernel: Kernel, page_of: Callable[[Kernel], str]) -> None:
    config = kernel.config
    page = page_of(kernel)
    for box, tile, major, element in (
        (config.box_a, kernel.tile[0], kernel.layout[0] == "n", config.type_a),
        (config.box_b, kernel.tile[1], kernel.layout[1] == "t", config.type_b),
    ):
        assert box is not None
        lines, steps = box
        assert tile % lines == 0
        assert steps == kernel.tile[2]
        extents = (lines, steps) if major else (steps, lines)
        assert extents[0] * element.bits == 8 * 128  # lines of 128 bytes
        assert cute_py.tma_check((4096, 4096), (1, 4096), element, extents, swizzle=128)
        assert f"in boxes of {lines} " in page


def test_roles_are_those_of_gemm_sm90_alone() -> None:
    for kernel in VARIANTS:
        roles = kernel.config.roles
        assert (roles is not None) == (kernel.kernel == "gemm_sm90")
        if roles is not None:
            assert roles.multiplying + roles.copying == kernel.threads
            assert roles.of_tile == int(kernel.tiled_mma.size)  # type: ignore[union-attr]


def test_a_trace_that_would_take_long_is_refused_at_once() -> None:
    kernel = cute_py.kernels()["sgemm_sm80_nt_f32"]
    for spaces in (("A", "B", "C", "shared"), ("C",)):
        with takes_under(3), pytest.raises(OperandError, match="next: trace fewer spaces, or one tile"):
            kernel.trace(4096, 4096, 4096, spaces=spaces)


def test_a_trace_ends_at_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = cute_py.kernels()["sgemm_1_nt_f32"]
    accesses = len(kernel.trace().accesses)
    monkeypatch.setattr(traces, "_LIMIT", accesses)
    assert len(kernel.trace().accesses) == accesses
    monkeypatch.setattr(traces, "_LIMIT", accesses - 1)
    with pytest.raises(OperandError, match=f"more than {accesses - 1} accesses"):
        kernel.trace()


def test_other_threads_run_while_a_kernel_is_traced() -> None:
    ticks = []
    done = threading.Event()

    def count() -> None:
        while not done.wait(0.001):
            ticks.append(time.perf_counter())

    counter = threading.Thread(target=count)
    counter.start()
    begin = time.perf_counter()
    cute_py.kernels()["sgemm_1_nt_f32"].trace(512, 512, 512, spaces=("C",))
    end = time.perf_counter()
    done.set()
    counter.join()
    assert sum(begin < tick < end for tick in ticks) > 5


def test_what_a_thread_of_a_nested_kernel_copies_is_not_known() -> None:
    with pytest.raises(UnsupportedProblemError, match="depends on the operand's extents and strides"):
        cute_py.kernels()["sgemm_2_nested_f32"].loads_of((0, 0), 0, 0)


@pytest.mark.parametrize("kernel", VARIANTS, ids=lambda k: k.name)
def test_owner_of_is_one_to_one(kernel: Kernel) -> None:
    thread, register = kernel.config.owners
    m, n = kernel.tile[:2]
    assert thread.shape == (m, n)
    assert len({*zip(thread.ravel().tolist(), register.ravel().tolist(), strict=True)}) == m * n
    assert register.max() == m * n // (thread.max() + 1) - 1
    if kernel.most_n is not None or kernel.modes_m > kernel.modes or kernel.kernel == "gemm_tall":
        return
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
            if kernel.kernel in ("gemm_sm80", "wgmma_sm90"):
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


@pytest.mark.parametrize(
    "kernel", [k for k in WHOLE if k.kernel in STUDIED and k.compute == "float32"], ids=lambda k: k.name
)
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
        (lambda: kernel.trace(100), r"m is a multiple of 128, not 100"),
        (lambda: kernel.trace(0), "m must be an integer from 1"),
        (lambda: kernel.trace(k=1 << 20), "k must be an integer from 1"),
        (lambda: kernel.trace(spaces=("D",)), "spaces are A, B, C, shared"),
        (lambda: kernel.trace(spaces=("C",)).of("D"), "space must be one of"),
        (lambda: audit(kernel.trace(spaces=("C",))), "no accesses to shared memory"),
    ]:
        with pytest.raises(OperandError, match=message):
            call()
    with pytest.raises(UnsupportedProblemError, match="is a CPU kernel"):
        cute_py.kernels()["reference_f32"].config  # noqa: B018


def test_registers_are_unknown_without_a_gpu() -> None:
    if cute_py.cuda_available():
        pytest.skip("there is a GPU")
    assert all(kernel.registers is None for kernel in cute_py.kernels().values())


@pytest.mark.gpu
def test_registers_allow_for_the_ctas_that_the_kernel_is_made_for() -> None:
    for kernel in VARIANTS:
        assert kernel.registers is not None
        ctas = 1 if kernel.kernel in ("gemm_sm80", "gemm_sm90") else 2
        assert 32 <= kernel.registers <= 65536 // (ctas * kernel.threads)


def test_a_report_is_one_page_with_every_section(tmp_path: Path) -> None:
    for name in ("sgemm_1_tn_f32", "sgemm_sm80_nt_f32_128x128"):
        path = cute_py.kernels()[name].report(tmp_path / "k.html")
        page = path.read_text()
        assert page.startswith("<!DOCTYPE html>")
        assert "http://" not in page.replace("http://www.w3.org", "")
        for section in ("Facts", "Tiles", "Shared memory", "Copies", "Math", "Owners of C", "Banks"):
            assert f">{section}</h2>" in page
    with pytest.raises(OSError, match="no_such_folder"):
        cute_py.kernels()["sgemm_1_tn_f32"].report(tmp_path / "no_such_folder" / "k.html")
    assert list(tmp_path.iterdir()) == [tmp_path / "k.html"]
