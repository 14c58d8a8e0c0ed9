"""Few columns, and many small products: the kernels that are limited by memory."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import cute_py
from cute_py import Epilogue
from cute_py.testing import numpy_type
from problems import draw

TARGETS = ["emulator", pytest.param("cuda", marks=pytest.mark.gpu)]
TYPES = sorted({v.factors[-1] for v in cute_py.kernels().values() if v.kernel == "gemm_small"})
# Around the vectors, the threads along K, the blocks of columns and the tiles
TALL = [(1, 1, 1), (3, 2, 5), (64, 16, 256), (130, 1, 64), (129, 5, 1024), (257, 16, 1000), (300, 7, 33), (12, 3, 0)]
SMALL = [
    (70, 8, 8, 8),
    (20, 16, 16, 16),
    (5, 32, 32, 32),
    (3, 64, 64, 64),
    (3, 64, 64, 200),
    (33, 5, 7, 3),
    (9, 4, 64, 12),
    (300, 1, 1, 1),
    (7, 20, 33, 70),
    (65, 12, 8, 16),
    (4, 40, 24, 0),
    (1500, 8, 8, 8),
]


def on(target: str, array: np.ndarray) -> Any:
    if target != "cuda":
        return array
    if array.dtype.name == "bfloat16":
        pytest.skip("CuPy has no bfloat16")
    return pytest.importorskip("cupy").asarray(array)


def result(array: Any) -> np.ndarray:
    return np.asarray(array.get()) if hasattr(array, "get") else np.asarray(array)


def wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("factor", TYPES)
def test_few_columns(factor: str, target: str, rng: np.random.Generator) -> None:
    dtype = numpy_type(factor)
    skinny = [v for v in cute_py.kernels().values() if v.kernel == "gemm_skinny" and v.factors[-1] == factor]
    majors = {v.name.removeprefix("gemm_skinny_")[0] for v in skinny}  # of A; the smallest builds have one of them
    for (m, n, k), order_a, order_b in itertools.product(TALL, "CF", "CF"):
        A, B = draw(rng, (m, k), dtype, exact=True), draw(rng, (n, k), dtype, exact=True)
        expected = wide(A) @ wide(B).T
        x, y = on(target, A), on(target, B)
        x = x.copy(order=order_a)
        y = y.copy(order=order_b)
        is_built = ("k" if order_a == "C" else "m") in majors
        for subscripts, product in (("mk,nk->mn", expected), ("mk,nk->nm", expected.T)):
            taken = is_built and min(m, n) <= 16
            for kernel in ("auto", "gemm_skinny") if taken else ("auto",):
                C = result(cute_py.contract(subscripts, x, y, kernel=kernel, device=target))
                np.testing.assert_array_equal(wide(C), wide(product.astype(C.dtype)), err_msg=str((m, n, k)))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("factor", TYPES)
def test_many_small_products(factor: str, target: str, rng: np.random.Generator) -> None:
    dtype = numpy_type(factor)
    for (count, m, n, k), a, b in itertools.product(SMALL, ("lmk", "lkm", "klm"), ("lnk", "lkn")):
        extent = {"l": count, "m": m, "n": n, "k": k}
        A = draw(rng, tuple(extent[x] for x in a), dtype, exact=True)
        B = draw(rng, tuple(extent[x] for x in b), dtype, exact=True)
        subscripts = f"{a},{b}->lmn"
        expected = np.einsum(subscripts, wide(A), wide(B))
        x, y = on(target, A), on(target, B)
        C = result(cute_py.contract(subscripts, x, y, kernel="gemm_small", device=target))
        np.testing.assert_array_equal(wide(C), wide(expected.astype(C.dtype)), err_msg=f"{subscripts} {extent}")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("factor", ["float32", "float16", "float64"])
def test_their_epilogues(factor: str, target: str, rng: np.random.Generator) -> None:
    dtype = numpy_type(factor)
    for count, m, n, k in ((1, 300, 6, 40), (9, 24, 20, 40), (9, 7, 9, 5)):
        A, B = draw(rng, (count, m, k), dtype, exact=True), draw(rng, (count, n, k), dtype, exact=True)
        bias, residual = draw(rng, (m,), dtype, exact=True), draw(rng, (count, m, n), dtype, exact=True)
        C = draw(rng, (count, m, n), dtype, exact=True)
        sums = 0.5 * np.einsum("lmk,lnk->lmn", wide(A), wide(B)) + 2 * wide(C) + wide(bias)[:, None]
        expected = np.maximum(sums, 0) * 0.5 + wide(residual)
        epilogue = Epilogue(bias=on(target, bias[:, None]), activation="relu", scale=0.5, residual=on(target, residual))
        operands = [on(target, x) for x in (A, B, C)]
        out = cute_py.contract("lmk,lnk->lmn", *operands, alpha=0.5, beta=2, epilogue=epilogue, device=target)
        np.testing.assert_allclose(wide(result(out)), expected, rtol=1e-2 if factor == "float16" else 1e-6, atol=1e-6)


def test_conjugates_and_several_modes(rng: np.random.Generator) -> None:
    if "complex64" in TYPES:
        A, B = (draw(rng, (40, rows, 30), np.complex64, exact=True) for rows in (20, 9))
        for conj_a, conj_b in itertools.product((False, True), repeat=2):
            C = cute_py.contract("lmk,lnk->lmn", A, B, conj_a=conj_a, conj_b=conj_b, device="emulator")
            x, y = (z.conj() if conj else z for z, conj in ((A, conj_a), (B, conj_b)))
            np.testing.assert_array_equal(C, np.einsum("lmk,lnk->lmn", x, y))
    A, B = draw(rng, (6, 50, 4, 8), exact=True), draw(rng, (4, 6, 3, 8), exact=True)
    for subscripts in ("pmqk,qpnk->mn", "pmqk,qpnk->nm"):
        explanation = cute_py.contract.explain(subscripts, A, B, kernel="gemm_skinny", device="emulator")
        assert len(explanation.main.modes["K"][0]) == 3
        np.testing.assert_array_equal(
            cute_py.contract(subscripts, A, B, kernel="gemm_skinny", device="emulator"), np.einsum(subscripts, A, B)
        )


@pytest.mark.parametrize("order", ["forward", "backward", "random"])
def test_batches_in_any_order_of_threads(order: str, rng: np.random.Generator) -> None:
    """Several batches pass through the pipeline of a CTA."""
    A = draw(rng, (70000, 4, 4), exact=True)
    options = cute_py.EmulatorOptions(order=order, seed=3)
    C = cute_py.contract("lmk,lkn->lmn", A, A, device="emulator", emulator=options)
    np.testing.assert_array_equal(C, A @ A)


def test_what_they_refuse(rng: np.random.Generator) -> None:
    A, B = draw(rng, (65, 8)), draw(rng, (17, 8))
    with pytest.raises(cute_py.UnsupportedProblemError, match="takes at most N=16"):
        cute_py.gemm(A, B, kernel="gemm_skinny", device="emulator")
    with pytest.raises(cute_py.UnsupportedProblemError, match="takes at most M=64 and N=64"):
        cute_py.gemm(A, B, kernel="gemm_small", device="emulator")
    with pytest.raises(cute_py.UnsupportedProblemError, match="takes small extents only"):
        cute_py.gemm(A[:3], B, kernel="gemm_small", device="emulator", batch_invariant=True)
    # a single small product is taken, too
    of_one_accumulator = ("gemm_small", "sgemm_sm80_tn_f32_64x64")
    np.testing.assert_array_equal(*(cute_py.gemm(A[:20], B, kernel=k, device="emulator") for k in of_one_accumulator))
