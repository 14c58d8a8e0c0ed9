"""`cute_py.dask`: values, types, the order of sums, workers that die, and arrays larger than memory."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cute_py import OperandError

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
cd = pytest.importorskip("cute_py.dask")
distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("ignore")  # of Dask about ports, and of Python about forks


def array(shape: tuple[int, ...], chunks: Any, dtype: Any = np.float64, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    x = (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)
    return x, da.from_array(x, chunks=chunks)


# Subscripts, and of each operand its shape and its chunks.
CASES = [
    ("ik,jk->ij", [((30, 40), (7, 11)), ((20, 40), (9, 13))]),
    ("ik,kj", [((30, 40), (30, 40)), ((40, 20), (9, 20))]),
    ("abk,kc->acb", [((12, 9, 20), (5, 9, 6)), ((20, 7), (8, 3))]),
    ("abkl,klb->ba", [((6, 7, 8, 9), (2, 3, 5, 4)), ((8, 9, 7), (3, 9, 2))]),
    ("k,k->", [((101,), 17), ((101,), 13)]),
    ("i,j->ij", [((11,), 4), ((13,), 5)]),
    ("ij,ij->ij", [((11, 12), (4, 5)), ((11, 12), (11, 3))]),
    ("ij,cj->ic", [((11, 12), (4, 5)), ((3, 1), (2, 1))]),
    ("...ik,...kj->...ij", [((5, 1, 6, 7), (2, 1, 3, 4)), ((4, 7, 8), (3, 2, 8))]),
    ("i,k->i", [((5,), 2), ((9,), 4)]),
    ("ij,jk,kl->il", [((8, 9), (3, 4)), ((9, 10), (5, 5)), ((10, 11), (4, 6))]),
    ("ij,jk,kl,l->", [((8, 9), (3, 4)), ((9, 10), (5, 5)), ((10, 11), (4, 6)), ((11,), 3)]),
    ("ij->j", [((8, 9), (3, 4))]),
    ("ik,jk->ij", [((3, 0), (2, 1)), ((4, 0), (2, 1))]),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_einsum_is_that_of_numpy(case: tuple[str, list[tuple[Any, Any]]], dtype: Any) -> None:
    subscripts, operands = case
    pairs = [array(shape, chunks, dtype, seed) for seed, (shape, chunks) in enumerate(operands)]
    lazy = cd.einsum(subscripts, *[x for _, x in pairs])
    expected = np.einsum(subscripts, *[x for x, _ in pairs])
    assert (lazy.shape, lazy.dtype) == (expected.shape, expected.dtype)
    found = lazy.compute()
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(
        found, expected, rtol=2e-4 if dtype == np.float32 else 1e-10, atol=1e-4 if dtype == np.float32 else 1e-12
    )


def test_matmul_and_tensordot() -> None:
    (A, a), (B, b), (v, w) = array((5, 6, 8), (2, 3, 5)), array((8, 9), (3, 4)), array((8,), 3)
    for left, right, x, y in [(a, b, A, B), (a, w, A, v), (w, b, v, B), (w, w, v, v)]:
        np.testing.assert_allclose(cd.matmul(left, right).compute(), x @ y)
    np.testing.assert_allclose(cd.matmul(a, B).compute(), A @ B)
    np.testing.assert_allclose(cd.tensordot(a, b, 1).compute(), np.tensordot(A, B, 1))
    np.testing.assert_allclose(cd.tensordot(a, a, ([0, -1], [0, 2])).compute(), np.tensordot(A, A, ([0, 2], [0, 2])))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_chunks_on_a_gpu_stay_there(dtype: Any) -> None:
    """Sums over chunks of K, too; the threads of Dask have streams of their own."""
    cupy = pytest.importorskip("cupy")
    (A, _), (B, _) = array((30, 40), 7, dtype), array((20, 40), 9, dtype, 1)
    a, b = (da.from_array(cupy.asarray(x), chunks=chunks, asarray=False) for x, chunks in ((A, (7, 11)), (B, (9, 13))))
    found = cd.einsum("ik,jk->ij", a, b).compute()
    assert isinstance(found, cupy.ndarray)
    np.testing.assert_allclose(cupy.asnumpy(found), A @ B.T, rtol=1e-3 if dtype == np.float32 else 1e-10, atol=1e-4)
    again = cd.matmul(a, b.T).compute()
    assert isinstance(again, cupy.ndarray)
    np.testing.assert_allclose(cupy.asnumpy(again), A @ B.T, rtol=1e-3 if dtype == np.float32 else 1e-10, atol=1e-4)


def test_a_path_that_the_caller_gives() -> None:
    A, a = array((5, 6), (2, 3))
    found = cd.einsum("ij,kj,kl->il", a, a, a, optimize=[(1, 2), (0, 1)])
    np.testing.assert_allclose(found.compute(), A @ A.T @ A)


def test_types() -> None:
    A, a = array((16, 512), (16, 100), np.float16)
    exact = A.astype(np.float64) @ A.astype(np.float64).T
    found = cd.contract("ik,jk->ij", a, a).compute()
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, exact, rtol=2**-11, atol=1e-4)  # as if summed in float32 and rounded once
    assert cd.contract("ik,jk->ij", a, a, out_dtype="float32").dtype == np.float32

    B, b = array((16, 512), (16, 100), np.float32)
    for more in ({}, {"compute": "float64"}):
        found = cd.contract("ik,jk->ij", b, b.astype("float64"), alpha=2, **more)
        assert found.dtype == found.compute().dtype == np.float64
        np.testing.assert_allclose(found.compute(), 2 * B.astype(np.float64) @ B.T)

    C = np.full((4, 6), 100, np.int8)
    found = cd.contract("ik,jk->ij", da.from_array(C, chunks=2), C)
    assert found.dtype == found.compute().dtype == np.int32
    assert (found == 60000).all().compute()


def test_a_result_has_the_same_bits_wherever_it_is_computed() -> None:
    _, a = array((40, 3000), (16, 37), np.float32)
    product = cd.contract("ik,jk->ij", a, a)
    alone = product.compute(scheduler="synchronous")
    for threads in (1, 2, 5):
        np.testing.assert_array_equal(product.compute(scheduler="threads", num_workers=threads), alone)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a: cd.contract("ik,kj->ij", a, a), "one extent for index k, got 7 and 5"),
        (lambda a: cd.contract("ii,kj->ij", a, a), "takes a diagonal"),
        (lambda a: cd.contract("ik->i", a, a), "name 1 operand"),
        (lambda a: cd.contract("ik,jk->iz", a, a), "index z"),
        (lambda a: cd.einsum(), "takes subscripts"),
        (lambda a: cd.einsum("ij,jk,kl->il", a, a, a), "one extent for index"),
        (lambda a: cd.matmul(a, a[0, 0]), "a number is neither"),
        (lambda a: cd.tensordot(a, a, 3), "a number from 0 to 2"),
        (lambda a: cd.matmul(a, da.ones((1, 4))), "sums the last mode of A"),
        (lambda a: cd.tensordot(a, da.ones((1, 4)), 1), "sums axis 1 of A"),
        (lambda a: cd.matmul(a[a[:, 0] > 0], da.ones((7, 4))), "compute_chunk_sizes"),
        (lambda a: cd.contract("ik,jk->ij", a.astype("int64"), a), "int64"),
        (lambda a: cd.contract("ik,jk->ij", a, a, compute="float99"), "compute is one of"),
    ],
)
def test_mistakes(call: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(OperandError, match=message):
        call(da.ones((5, 7), chunks=3))


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two processes, each with 300 MB."""
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "60s"}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit="300MB", dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_workers_in_processes_give_the_same_bits(client: Any) -> None:
    _, a = array((60, 2000), (16, 150), np.float32)
    product = cd.einsum("ik,jk->ij", a, a)
    np.testing.assert_array_equal(client.compute(product).result(), product.compute(scheduler="synchronous"))


def test_operands_of_four_times_the_memory(client: Any) -> None:
    """2.4 GB, of workers that have 0.6 GB together and are restarted if they take more."""
    rows, columns, each = 600_000, 500, 5_000
    total = 2 * rows * columns * 4
    assert total >= 4 * sum(worker["memory_limit"] for worker in client.scheduler_info()["workers"].values())

    def made(block_info: Any = None, factor: float = 1) -> Any:
        (first, last), _ = block_info[None]["array-location"]
        rows_here = np.arange(first, last, dtype=np.float32).reshape(-1, 1) % 7
        return factor * (rows_here + np.arange(columns, dtype=np.float32) % 3)

    x, y = (
        da.map_blocks(made, chunks=((each,) * (rows // each), (columns,)), dtype=np.float32, factor=factor)
        for factor in (1, 2)
    )

    def most_memory() -> int:  # that a process has had since it began, in bytes
        (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
        return 1024 * int(line.split()[1])

    pids = set(client.run(os.getpid).values())
    found = client.compute(cd.einsum("ki,kj->ij", x, y)).result()
    i, j = np.arange(columns) % 3, np.arange(columns) % 3
    r = np.arange(rows) % 7
    exact = 2 * ((r * r).sum() + r.sum() * (i[:, None] + j) + rows * i[:, None] * j)
    np.testing.assert_allclose(found, exact, rtol=1e-5)
    assert set(client.run(os.getpid).values()) == pids  # no worker was restarted for its memory
    peaks = client.run(most_memory)
    assert max(peaks.values()) < 300e6, peaks


def test_a_lost_worker_is_survived(client: Any) -> None:
    _, a = array((400, 12_000), (200, 300), np.float32)
    product = cd.contract("ik,jk->ij", a, a)
    future = client.compute(product)
    time.sleep(0.2)
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
    np.testing.assert_array_equal(future.result(timeout=120), product.compute(scheduler="synchronous"))
