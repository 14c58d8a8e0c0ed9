"""CUDA graphs, streams, and host arrays on a GPU."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cute_py

pytestmark = pytest.mark.gpu

# One step, with a workspace for split-K, and with an index that is summed first.
CALLS: dict[str, tuple[str, tuple[int, ...], tuple[int, ...]]] = {
    "one step": ("mk,nk->mn", (256, 128), (192, 128)),
    "split-K": ("mk,nk->mn", (64, 40_000), (48, 40_000)),
    "a sum ahead": ("mkx,nk->mn", (130, 70, 9), (50, 70)),
}


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch")


def operands(torch: Any, case: str) -> tuple[str, Any, Any, Any]:
    subscripts, shape_a, shape_b = CALLS[case]
    generator = torch.Generator(device="cuda").manual_seed(3)
    A, B = (torch.randint(-3, 4, shape, generator=generator, device="cuda").float() for shape in (shape_a, shape_b))
    return subscripts, A, B, torch.einsum(subscripts, A.double(), B.double()).float()


def calls_of(subscripts: str, A: Any, B: Any, C: Any, planned: bool) -> Callable[[], Any]:
    if planned:
        plan = cute_py.contract.plan(subscripts, A, B, C)
        return lambda: plan(A, B, out=C)
    return lambda: cute_py.contract(subscripts, A, B, C)


@pytest.mark.parametrize("planned", [True, False], ids=["a plan", "a call"])
@pytest.mark.parametrize("case", CALLS)
def test_pytorchs_own_pattern(torch: Any, case: str, planned: bool) -> None:
    """Warmed up on a side stream, captured on a stream never seen before, replayed when the plan is gone."""
    subscripts, A, B, expected = operands(torch, case)
    C = torch.zeros_like(expected)
    call = calls_of(subscripts, A, B, C, planned)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    del call
    C.zero_()
    for _ in range(3):
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(C, expected)
        C.fill_(float("nan"))
    A.mul_(2)  # a graph reads what is there when it runs
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(C, 2 * expected)


def test_two_graphs_of_one_plan_keep_their_workspaces_apart(torch: Any) -> None:
    subscripts, A, B, expected = operands(torch, "split-K")
    plan = cute_py.contract.plan(subscripts, A, B)
    results = [torch.zeros_like(expected) for _ in range(2)]
    graphs = []
    for C in results:
        plan(A, B, out=C)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            plan(A, B, out=C)
        graphs.append(graph)
    del plan
    streams = [torch.cuda.Stream() for _ in graphs]
    for _ in range(20):
        for C in results:
            C.zero_()
        torch.cuda.synchronize()
        for graph, stream in zip(graphs, streams, strict=True):
            with torch.cuda.stream(stream):
                graph.replay()
        torch.cuda.synchronize()
        for C in results:
            assert torch.equal(C, expected)


def test_the_ones_are_there_before_they_are_read() -> None:
    """The first program of several steps of a process, on a stream that waits for nobody."""
    import subprocess
    import sys

    program = """
import torch, cute_py
stream = torch.cuda.Stream()
with torch.cuda.stream(stream):
    A = torch.ones(130, 70, 9, device="cuda")
    B = torch.ones(50, 70, device="cuda")
    C = cute_py.contract("mkx,nk->mn", A, B)
    stream.synchronize()
    assert (C == 630).all(), C
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


STAGED = {
    "dense": lambda x: x,
    "transposed": lambda x: np.asfortranarray(x),
    "every second row": lambda x: np.repeat(x, 2, axis=0)[::2],
    "every second column": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "backwards": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "repeated": lambda x: np.broadcast_to(x[:1], x.shape),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.complex128])
@pytest.mark.parametrize("layout", STAGED)
def test_host_arrays_are_copied_there_and_back(rng: np.random.Generator, layout: str, dtype: type) -> None:
    for m, n, k in ((1, 1, 1), (7, 5, 3), (1500, 900, 1301)):  # the last takes several pieces, and not whole ones
        A = STAGED[layout](rng.integers(-3, 4, (m, k)).astype(dtype))
        B = STAGED[layout](rng.integers(-3, 4, (n, k)).astype(dtype))
        frame = np.full((2 * m + 1, n + 1), np.nan, dtype)
        C = frame[1::2, 1:]
        C[...] = 1
        wide = np.result_type(dtype, np.float64)
        expected = (A.astype(wide) @ B.astype(wide).T + 1).astype(dtype)
        assert cute_py.gemm(A, B, C, beta=1, device="cuda") is C
        np.testing.assert_array_equal(C, expected)
        assert np.isnan(frame[::2]).all()
        assert np.isnan(frame[:, 0]).all()


def test_host_arrays_without_elements_are_not_read(torch: Any) -> None:
    A = np.ones((4, 6), np.float32)
    for empty in (A[:, 6:], torch.empty(4, 0), np.lib.stride_tricks.as_strided(A, (4, 0), (1 << 40, 4))):
        C = cute_py.gemm(empty, empty, device="cuda")
        assert tuple(C.shape) == (4, 4)
        assert (np.asarray(C) == 0).all()
    assert (cute_py.gemm(np.full_like(A, np.nan), A, alpha=0, device="cuda") == 0).all()


def test_a_capture_that_nothing_was_run_before() -> None:
    """Kernels, the pool and the constants are loaded by the plan, or at the latest by the capture itself."""
    import subprocess
    import sys

    program = """
import torch, cute_py
A, B = torch.ones(64, 40_000, device="cuda"), torch.ones(48, 40_000, device="cuda")
C = torch.zeros(64, 48, device="cuda")
plan = cute_py.gemm.plan(A, B, C)
assert plan.workspace_bytes > 0
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    plan(A, B, out=C)
graph.replay()
torch.cuda.synchronize()
assert (C == 40_000).all()
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


@pytest.mark.alone
def test_other_threads_run_while_host_arrays_are_on_a_gpu() -> None:
    A = np.ones((6000, 6000), np.float32)
    cute_py.gemm(A, A, device="cuda")
    ticks: list[float] = []
    done = threading.Event()

    def tick() -> None:
        while not done.wait(0.0005):
            ticks.append(time.monotonic())

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.monotonic()
    while time.monotonic() - begin < 1:
        cute_py.gemm(A, A, device="cuda")
    done.set()
    thread.join()
    assert max(np.diff(ticks)) < 0.02  # a call takes longer
