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

import cute_py
from cute_py import CuteError, OperandError, UnsupportedProblemError

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
cd = pytest.importorskip("cute_py.dask")
distributed = pytest.importorskip("distributed")
ml_dtypes = pytest.importorskip("ml_dtypes")

pytestmark = pytest.mark.filterwarnings("ignore")  # of Dask about ports, and of Python about forks


def array(shape: tuple[int, ...], chunks: Any, dtype: Any = np.float64, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    x = (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)
    return x, da.from_array(x, chunks=chunks)


# ---- The law: whatever the chunks, the result is that of the plain function.

TYPES = ["float16", "bfloat16", "float32", "float64", "complex64", "complex128", "int8", "float8_e4m3fn"]
SHAPES_OF = {
    "ik,jk->ij": [(3, 7), (4, 7)],
    "ik,kj": [(3, 7), (7, 4)],
    "i,i->": [(9,), (9,)],
    "i,j": [(3,), (4,)],
    "bk,ck->k": [(3, 7), (1, 7)],
    "ik,jk->ij, empty": [(3, 0), (4, 0)],
    "...ik,...kj->...ij": [(5, 1, 3, 4), (2, 4, 3)],
    "...k,k->k": [(2, 3, 4), (4,)],  # an ellipsis that the result leaves out is summed over
    "iij,jk->ik": [(4, 4, 3), (3, 2)],
    "iji,jj->ij": [(4, 3, 4), (3, 3)],
    ",i->i": [(), (5,)],
    "ij->ji": [(3, 4)],
    "ij->i": [(3, 4)],
    "...i->i": [(2, 3, 4)],
    "i->": [(9,)],
    "ii->i": [(5, 5)],
    "ii->": [(5, 5)],
    "ij,jk,kl->il": [(3, 4), (4, 5), (5, 2)],
    "ij,jk,kl,l->": [(3, 4), (4, 5), (5, 2), (2,)],
    "i,i,i->i": [(5,), (5,), (5,)],
}
OPTIONS: list[dict[str, Any]] = [
    {},
    {"alpha": -0.3},
    {"alpha": 0},
    {"alpha": 1 + 2j},
    {"compute": "float32"},
    {"compute": "float64", "alpha": 0.1},
    {"compute": "float64", "out_dtype": "float32"},
    {"compute": "tfloat32"},
    {"compute": "complex128", "out_dtype": "complex64"},
    {"compute": "fast_float32", "out_dtype": "float16"},
    {"compute": "float99"},
    {"out_dtype": "float32"},
    {"out_dtype": "float16", "alpha": 0.1},
    {"out_dtype": "int8"},
    {"out_dtype": "int8", "alpha": -7.5},
    {"out_dtype": "int32", "alpha": 2.5},
    {"out_dtype": "float8_e4m3fn", "alpha": 0.3},
    {"out_dtype": "bfloat16"},
]


def integers(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Any:
    """Small ones, of which every order of a sum gives the same."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-4, 5, shape)
    return (x + 1j * rng.integers(-4, 5, shape) if dtype.startswith("complex") else x).astype(
        getattr(ml_dtypes, dtype) if hasattr(ml_dtypes, dtype) else dtype
    )


def chunkings(shape: tuple[int, ...]) -> list[Any]:
    """One chunk; several along the last mode; several everywhere; uneven ones, and an empty one between them."""
    last = [(n,) for n in shape[:-1]] + [(1, n - 1) if n > 1 else (n,) for n in shape[-1:]]
    return [shape, tuple(last), (2,) * len(shape), tuple((n // 3, 0, n - n // 3) for n in shape)]


def outcome(call: Callable[[], Any]) -> tuple[Any, ...]:
    """The type of the error, or all of the result; NaN as zeros and negative zeros have bits, too."""
    try:
        found = call()
        if isinstance(found, da.Array):
            said = found.dtype, found.shape
            found = np.asarray(found.compute(scheduler="synchronous"))
            assert said == (found.dtype, found.shape)
    except CuteError as error:
        return (type(error),)
    found = np.asarray(found)
    return found.dtype, found.shape, found.tobytes()


def assert_law(name: str, given: list[Any], more: Any = (), what: Any = (), **options: Any) -> None:
    """`given` are arrays; what comes before and behind them is passed as it is."""
    plain, of_dask = getattr(cute_py, name), getattr(cd, name)
    expected = outcome(lambda: plain(*what, *given, *more, **options))
    cuts = list(zip(*[chunkings(x.shape) for x in given], strict=True))
    for chunks in cuts if len(expected) > 1 else cuts[2:3]:
        lazy = [da.from_array(x, chunks=c) for x, c in zip(given, chunks, strict=True)]
        found = outcome(lambda lazy=lazy: of_dask(*what, *lazy, *more, **options))
        assert found == expected, (chunks, options)


@pytest.mark.thinned(4)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("subscripts", SHAPES_OF)
def test_einsum_is_that_of_cute_py(subscripts: str, dtype: str) -> None:
    given = [integers(shape, dtype, seed) for seed, shape in enumerate(SHAPES_OF[subscripts])]
    for options in OPTIONS:
        assert_law("einsum", given, what=(subscripts.partition(", ")[0],), **options)


@pytest.mark.thinned(4)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("dtype", TYPES)
def test_other_functions_are_those_of_cute_py(dtype: str, options: dict[str, Any]) -> None:
    A, B, v = integers((2, 3, 5), dtype), integers((5, 4), dtype, 1), integers((5,), dtype, 2)
    assert_law("contract", [A, B], what=("abk,kc->cab",), **options)
    assert_law("matmul", [A, B], **options)
    assert_law("matmul", [v, B], **options)
    assert_law("matmul", [v, v], **options)
    assert_law("tensordot", [A, B], (1,), **options)
    assert_law("tensordot", [A, A], (([0, -1], [0, 2]),), **options)
    assert_law("tensordot", [v, B], (0,), **options)


@pytest.mark.parametrize(
    "types",
    [
        ("float16", "bfloat16"),
        ("float32", "float16"),
        ("complex64", "float64"),
        ("int8", "float32"),
        ("float8_e4m3fn", "float8_e5m2"),
        ("float64", "float32", "float32"),
        ("float16", "float16", "float64"),
        ("float32", "int8", "int8"),
    ],
)
def test_types_that_differ(types: tuple[str, ...]) -> None:
    given = [integers((5, 5), dtype, seed) for seed, dtype in enumerate(types)]
    for options in ({}, {"out_dtype": "float32"}, {"compute": "float32"}, {"compute": "float64"}):
        assert_law("einsum", given, what=("ij,jk" + ",kl" * (len(types) - 2),), **options)


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "object", ">f4", "longdouble", "U3"])
def test_types_that_no_product_takes(dtype: str) -> None:
    x = np.ones((3, 3)).astype(dtype)
    assert_law("einsum", [x], what=("ij->i",))
    assert_law("einsum", [x, x], what=("ij,jk",))
    assert_law("matmul", [x, x])
    moved = cd.einsum("ij->ji", da.from_array(x, chunks=2)).compute()  # no product, as in cute_py
    assert moved.dtype == x.dtype
    np.testing.assert_array_equal(moved, x.T)


NUMBERS = [2, 2.5, True, 1j, 300, np.float64(2), np.float32(3), np.int8(3), np.int64(3)]


@pytest.mark.parametrize("number", NUMBERS, ids=repr)
@pytest.mark.parametrize("dtype", TYPES)
def test_numbers_take_the_type_that_they_take_in_cute_py(dtype: str, number: Any) -> None:
    x = integers((5,), dtype)
    assert_law("contract", [x], (number,), ("i,->i",))
    assert_law("contract", [x], (number,), ("i,->",))
    assert_law("einsum", [x, x], (number,), ("i,i,->",))
    assert_law("tensordot", [x], (number, 0))
    assert_law("matmul", [x], (number,))


def test_one_rounding() -> None:
    """Sums of parts that the type of the result does not hold, and whose order does not matter."""
    half = np.array([60000, 60000, -60000, -60000, 1, 2048, 1], np.float16)
    assert_law("einsum", [half, np.ones_like(half)], what=("i,i->",))
    assert_law("einsum", [half], what=("i->",))
    assert_law("contract", [half, np.ones_like(half)], what=("i,i->",), alpha=0.1, out_dtype="bfloat16")
    for dtype, values in (("int8", [100, 100, -100, -100, 3]), ("int8", [100] * 9), ("float32", [100.5] * 9)):
        x = np.array(values, dtype)
        for options in ({}, {"alpha": 0.7}, {"alpha": -0.7}, {"alpha": -1}, {"alpha": 1e-9}, {"alpha": 1e9}):
            for out_dtype in ("int8", "int32", "float32"):
                assert_law("contract", [x, np.ones_like(x)], what=("i,i->",), out_dtype=out_dtype, **options)
                assert_law("contract", [x - x, x], what=("i,i->",), out_dtype=out_dtype, **options)  # -0, too
    x = np.full(30, 0.4, np.float32)  # which are 12
    assert_law("contract", [x, np.ones_like(x)], what=("i,i->",), out_dtype="int8")


def test_three_halves_are_float32_between_the_pairs() -> None:
    x = np.full((1, 6), 250, np.float16)
    y = np.full((6, 1), 1e-4, np.float16)
    for options in ({}, {"compute": "float32"}, {"compute": "float64"}, {"out_dtype": "float32"}):
        a, b = da.from_array(x, chunks=(1, 2)), da.from_array(y, chunks=(2, 1))
        expected = cute_py.einsum("ik,jk,jl,lm->im", x, x, x, y, optimize=False, **options)
        found = cd.einsum("ik,jk,jl,lm->im", a, a, a, b, optimize=False, **options).compute()
        assert found.dtype == expected.dtype
        assert np.isfinite(found.astype(np.float64)).all()  # 9e7 is between the pairs
        np.testing.assert_allclose(found.astype(np.float64), expected.astype(np.float64), rtol=2**-10)


@pytest.mark.parametrize(
    "call",
    [
        lambda m, x: m.einsum("i,i->", x, x),
        lambda m, x: m.einsum("i->", x),
        lambda m, x: m.einsum("i,i,i->", x, x, x),
        lambda m, x: m.contract("i,i->", x, x, out_dtype="float32"),
        lambda m, x: m.matmul(x, x),
        lambda m, x: m.tensordot(x, x, 1),
    ],
)
def test_int8_is_bounded_over_all_chunks(call: Callable[[Any, Any], Any]) -> None:
    most = 131_071
    x = np.ones(most + 1, np.int8)
    with pytest.raises(CuteError) as expected:
        call(cute_py, x)
    with pytest.raises(type(expected.value)) as found:
        call(cd, da.from_array(x, chunks=50_000))
    assert str(found.value).splitlines()[0] == str(expected.value).splitlines()[0]
    assert str(found.value).splitlines()[-1] == str(expected.value).splitlines()[-1]
    try:
        exact = call(cute_py, x[1:])
    except CuteError:
        return  # three of them
    assert call(cd, da.from_array(x[1:], chunks=50_000)).compute() == exact == most


def test_masked_arrays_are_refused_when_the_graph_is_built() -> None:
    x = da.ma.masked_equal(da.ones((4, 4), chunks=2), 0)
    for subscripts in ("ij->i", "ij->ji"):
        with pytest.raises(OperandError, match="masked array"):
            cd.einsum(subscripts, x)
    with pytest.raises(OperandError, match="masked array"):
        cd.matmul(x, x)


# ---- Chunks whose extents are not known


def some_rows(x: Any, chunks: Any) -> tuple[Any, Any]:
    """The rows that begin with a positive number, of NumPy and of Dask, which does not know how many."""
    a = da.from_array(x, chunks=chunks)
    return x[x[:, 0] > 0], a[a[:, 0] > 0]


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64", "int8"])
def test_unknown_extents_of_chunks(dtype: str) -> None:
    X, x = some_rows(integers((20, 6), dtype), (7, 4))
    Y, y = some_rows(integers((20, 6), dtype), (7, 3))
    W = integers((6, 3), dtype, 1)
    cases = [
        (lambda m, x, y, w: m.matmul(x, w), True),
        (lambda m, x, y, w: m.einsum("ki,il,kj->klj", x, w, y), True),
        (lambda m, x, y, w: m.einsum("ki,li->kl", x, y), True),
        (lambda m, x, y, w: m.contract("ki,kj->kij", x, y), True),
        (lambda m, x, y, w: m.einsum("ki->ik", x), True),
        (lambda m, x, y, w: m.einsum("ki->i", x), False),
        (lambda m, x, y, w: m.einsum("ki,kj->ij", x, y), False),
        (lambda m, x, y, w: m.tensordot(x, y, ([0], [0]), alpha=0.1, out_dtype=None), False),
        (lambda m, x, y, w: m.matmul(x.T, y), False),
        (lambda m, x, y, w: m.einsum("zi,ki->i", w.T, x), False),
    ]
    for number, (call, is_bounded) in enumerate(cases):
        if dtype == "int8" and number == 1:
            continue  # three of them
        expected = call(cute_py, X, Y, W)
        if dtype == "int8" and not is_bounded:
            with pytest.raises(UnsupportedProblemError, match="compute_chunk_sizes"):
                call(cd, x, y, da.from_array(W, chunks=2))
            continue
        found = call(cd, x, y, da.from_array(W, chunks=2))
        assert found.dtype == expected.dtype, number
        np.testing.assert_array_equal(found.compute(), expected, err_msg=str(number))
    Z, z = some_rows(integers((20, 6), dtype), -1)  # in one chunk the core sees every sum
    found = cd.einsum("ki,kj->ij", z, z)
    np.testing.assert_array_equal(found.compute(), cute_py.einsum("ki,kj->ij", Z, Z))


def test_unknown_extents_that_do_not_meet() -> None:
    x = np.ones((6, 4))
    x[[0, 3, 4], 0] = -1
    _, a = some_rows(x, (3, 4))  # chunks of 2 and 1
    _, b = some_rows(x[::-1], (3, 4))  # of 1 and 2
    _, c = some_rows(x, (2, 4))
    d = da.ones((1, 4), chunks=(1, 4))
    _, one_chunk = some_rows(x, -1)
    for call in (
        lambda p, q: cd.einsum("ki,kj->ij", p, q),
        lambda p, q: cd.contract("ki,kj->kij", p, q),
        lambda p, q: cd.tensordot(p, q, ([0], [0])),
        lambda p, q: cd.matmul(p.T, q),
    ):
        with pytest.raises(OperandError, match=r"compute_chunk_sizes\(\)"):
            call(a, c)
        late = call(a, b)
        with pytest.raises(OperandError, match=r"extents [12] and [12].*\n.*compute_chunk_sizes\(\)"):
            late.compute()
        known = call(*[y.persist().compute_chunk_sizes() for y in (a, b)])
        np.testing.assert_array_equal(known.compute(), call(da.ones((3, 4)), da.ones((3, 4))).compute())
    for call in (lambda p, q: cd.tensordot(p, q, ([0], [0])), lambda p, q: cd.matmul(p.T, q)):
        with pytest.raises(OperandError, match=r"compute_chunk_sizes\(\)"):  # they repeat no extent of 1
            call(d, a)
        with pytest.raises(OperandError, match=r"compute_chunk_sizes\(\)"):
            call(d, one_chunk).compute()
    with pytest.raises(OperandError, match=r"diagonal.*\n.*compute_chunk_sizes\(\)"):
        cd.einsum("ii->i", a)


# ---- Values, against NumPy

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
def test_values_of_einsum_are_those_of_numpy(case: tuple[str, list[tuple[Any, Any]]], dtype: Any) -> None:
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


def test_a_half_is_rounded_once() -> None:
    A, a = array((16, 512), (16, 100), np.float16)
    exact = A.astype(np.float64) @ A.astype(np.float64).T
    found = cd.contract("ik,jk->ij", a, a).compute()
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, exact, rtol=2**-11, atol=1e-4)  # as if summed in float32 and rounded once


@pytest.mark.parametrize("options", [{}, {"alpha": 0.1, "out_dtype": "float16"}], ids=str)
def test_a_result_has_the_same_bits_wherever_it_is_computed(options: dict[str, Any]) -> None:
    _, a = array((40, 3000), (16, 37), np.float32)
    product = cd.contract("ik,jk->ij", a, a, **options)
    alone = product.compute(scheduler="synchronous")
    for threads in (1, 2, 5):
        np.testing.assert_array_equal(product.compute(scheduler="threads", num_workers=threads), alone)
    np.testing.assert_array_equal(product.compute(scheduler="processes", num_workers=2), alone)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_reproducible_bits_do_not_depend_on_chunks(dtype: str) -> None:
    A, _ = array((40, 300), -1, dtype)
    B, _ = array((300, 30), -1, dtype, seed=1)
    expected = cute_py.matmul(A, B, compute="reproducible")
    for chunks in (-1, 70, (13, 100)):
        got = cd.matmul(da.from_array(A, chunks), da.from_array(B, chunks), compute="reproducible").compute()
        np.testing.assert_array_equal(got, expected)
    x = da.from_array(A, 13)
    x = x[x[:, 0].real > 0]
    with pytest.raises(UnsupportedProblemError, match=r"(?s)all of K in one chunk.*next: x.compute_chunk_sizes"):
        cd.contract("ki,kj->ij", x, x, compute="reproducible")


def test_the_same_call_has_the_same_name() -> None:
    """By which Dask knows what it has already computed."""
    _, a = array((6, 8), 3, np.float32)
    assert cd.matmul(a, a.T, alpha=0.5).name == cd.matmul(a, a.T, alpha=0.5).name != cd.matmul(a, a.T).name


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a: cd.contract("ik,kj->ij", a, a), "got 7 in A and 5 in B\n  A float64 \\(5,7\\)\n"),
        (lambda a: cd.contract("ii,kj->ij", a, a), "takes a diagonal of A along index i, whose extents 5 and 7 differ"),
        (lambda a: cd.einsum("ij->i", a.astype("int32")), "A is none of them\n  A int32 \\(5,7\\)\n  next"),
        (lambda a: cd.contract(3, a, a), "subscripts are a text"),
        (lambda a: cd.contract("ik,jk->ij", a, a, alpha=1j), "alpha is a real number"),
        (lambda a: cd.contract("ik->i", a, a), "name 1 operand"),
        (lambda a: cd.contract("ik,jk->iz", a, a), "index z"),
        (lambda a: cd.einsum(), "takes subscripts"),
        (lambda a: cd.einsum("ij,jk,kl->il", a, a, a), "one extent for index"),
        (lambda a: cd.matmul(a, a[0, 0]), "a number is neither"),
        (lambda a: cd.tensordot(a, a, 3), "a number from 0 to 2"),
        (lambda a: cd.matmul(a, da.ones((1, 4))), "sums the last mode of A"),
        (lambda a: cd.tensordot(a, da.ones((1, 4)), 1), "sums axis 1 of A"),
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
    for options in ({}, {"alpha": 0.1, "out_dtype": "float16"}):
        product = cd.einsum("ik,jk->ij", a, a, **options)
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
