"""The order of the adds: what a sum loses over a long K, and what its bits must not depend on."""

from __future__ import annotations

import itertools
import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cute_py
from cute_py.testing import numpy_type, runs_here, strided_array

TYPES = ["float32", "float64", "complex64", "complex128"]
HOST_TARGETS = ["cpu", "emulator"]


def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    x = rng.standard_normal(shape)
    if "complex" in dtype:
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


# ---- A long K


@pytest.mark.parametrize(("dtype", "bound"), [("float32", 1e-6), ("float64", 1e-15)])
def test_a_long_sum_keeps_its_digits(rng: np.random.Generator, dtype: str, bound: float) -> None:
    x = rng.random(20_000_000, dtype=np.float64).astype(dtype)
    exact = np.sum(x.astype(np.longdouble))
    for found in (cute_py.einsum("i->", x), cute_py.inner(x, np.ones_like(x))):
        assert abs(float((np.longdouble(found) - exact) / exact)) < bound


def test_a_sum_does_not_stop_where_a_float_counts_no_further() -> None:
    ones = np.ones(2**24 + 2**20, np.float32)
    assert cute_py.inner(ones, ones) == ones.size


@pytest.mark.parametrize("dtype", TYPES)
def test_a_long_product_is_as_exact_as_numpys(rng: np.random.Generator, dtype: str) -> None:
    A, B = draw(rng, (8, 200_000), dtype), draw(rng, (9, 200_000), dtype)
    wide = np.clongdouble if "complex" in dtype else np.longdouble
    exact = A.astype(wide) @ B.astype(wide).T
    error, numpys = (np.abs(C - exact).max() for C in (cute_py.gemm(A, B), A @ B.T))
    assert error < 2 * numpys


# ---- The order itself


@pytest.mark.parametrize("device", ["emulator", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize(
    ("kernel", "slices"),
    [("sgemm_1_nested_f32", 1), ("sgemm_sm80_nt_f32_64x64", 1), ("sgemm_sm80_nt_f32_32x32", 4)],
)
def test_steps_of_k_are_added_as_documented(rng: np.random.Generator, kernel: str, slices: int, device: str) -> None:
    """k ascending; or every fourth step by each of four warps, whose sums are added in their order."""
    A = np.asfortranarray(rng.standard_normal((36, 203)).astype(np.float32))
    B = np.asfortranarray(np.ones((8, 203), np.float32))

    def added(slices: int) -> Any:
        sums = np.zeros((slices, 36), np.float32)
        for k in range(A.shape[1]):
            sums[k % slices] += A[:, k]  # a product with one is exact, and each sum is rounded once
        total = np.zeros(36, np.float32)
        for of_slice in sums:
            total += of_slice
        return total

    assert np.any(added(1) != added(4))
    D = cute_py.gemm(A, B, kernel=kernel, device=device)
    np.testing.assert_array_equal(D, np.repeat(added(slices)[:, None], 8, axis=1))


# ---- Bits that must not depend on M, N and L


INVARIANT = {
    "two modes of K in opposite orders": ("mab,nba->mn", (50, 20, 30), (40, 30, 20)),
    "three modes of K": ("amb,cnba->cmn", (6, 50, 7), (3, 40, 7, 6)),
    "an index of A alone": ("mkx,nk->mn", (33, 60, 7), (35, 60)),
    "an index of B alone": ("mk,nkj->mn", (33, 60), (35, 60, 5)),
    "an index of each alone": ("mkx,nkj->mn", (33, 60, 7), (35, 60, 5)),
    "a batch": ("lmab,lnba->lmn", (3, 20, 9, 11), (3, 21, 11, 9)),
    "the columns first": ("mab,nba->nm", (50, 20, 30), (40, 30, 20)),
}


@pytest.mark.thinned(3)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("target", [*HOST_TARGETS, pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("case", INVARIANT)
def test_a_batch_invariant_contraction(rng: np.random.Generator, case: str, target: str, dtype: str) -> None:
    subscripts, shape_a, shape_b = INVARIANT[case]
    A, B = draw(rng, shape_a, dtype), draw(rng, shape_b, dtype)
    labels_a, labels_b, labels_c = subscripts.replace("->", ",").split(",")
    options = {"batch_invariant": True, "device": target}
    whole = cute_py.contract(subscripts, A, B, **options)
    every = set(itertools.product((1, 2, 16, 17, None), repeat=2)) - {(None, None)}
    few = ((1, 17), (2, None), (16, 16), (17, 2), (None, 1))  # for the emulator, whose calls take milliseconds
    for m, n in few if target == "emulator" else every:
        cut = {"m": slice(m), "n": slice(n)}
        at = [tuple(cut.get(letter, slice(None)) for letter in of) for of in (labels_a, labels_b, labels_c)]
        part = cute_py.contract(subscripts, A[at[0]], B[at[1]], **options)
        np.testing.assert_array_equal(part, whole[at[2]])
        copied = cute_py.contract(subscripts, A[at[0]].copy(), B[at[1]].copy(), **options)
        np.testing.assert_array_equal(copied, whole[at[2]])
        C = np.full_like(whole[at[2]], np.nan, order="F")
        np.testing.assert_array_equal(cute_py.contract(subscripts, A[at[0]], B[at[1]], C, **options), whole[at[2]])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("target", HOST_TARGETS)
def test_a_batch_invariant_gemm(rng: np.random.Generator, target: str, dtype: str) -> None:
    A, B = draw(rng, (40, 50), dtype), draw(rng, (30, 50), dtype)
    options = {"batch_invariant": True, "device": target}
    whole = cute_py.gemm(A, B, **options)
    for m, n in itertools.product((1, 3, 16, 17), repeat=2):
        np.testing.assert_array_equal(cute_py.gemm(A[:m], B[:n], **options), whole[:m, :n])
    repeated = np.broadcast_to(A[:, :1], (40, 50))  # strides of 0 are factors like others
    np.testing.assert_array_equal(
        cute_py.gemm(repeated[:1], B, **options), cute_py.gemm(repeated.copy(), B, **options)[:1]
    )


@pytest.mark.parametrize("kernel", [f"cpu_{isa}_f32" for isa in ("baseline", "avx2", "avx512")])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_the_cpu_engine_rounds_to_16_bits_as_numpy_and_reads_them_exactly(kernel: str, dtype: Any) -> None:
    if kernel not in cute_py.kernels() or not runs_here(cute_py.kernels()[kernel], "cpu"):
        pytest.skip("this processor lacks the instructions")
    one = np.ones((1, 1), np.float32)
    halves = np.arange(2**16, dtype=np.uint16).view(dtype)
    with np.errstate(all="ignore"):
        exact = halves.astype(np.float32)
        finite = exact[np.isfinite(exact)]
        between = ((finite.astype(np.float64) + np.roll(np.sort(finite), 1)) / 2).astype(np.float32)
        ends = np.array(
            [0.0, -0.0, np.inf, -np.inf, 65504, 65519.996, 65520, 2.0**-25, 2.0**-25 * 1.0001, 3e38, 1e-45], np.float32
        )
        numbers = np.concatenate([exact, between, ends])
        near = numbers.view(np.int32)
        numbers = np.concatenate([numbers, (near + 1).view(np.float32), (near - 1).view(np.float32)])
        numbers = numbers + np.float32(0)  # a sum begins with 0, so that -0 becomes 0
        expected = numbers.astype(dtype)

        # Rounded: a column, whose rows follow one another, and with a rest that fills no vector.
        for count in (len(numbers), len(numbers) - 5):
            rounded = np.empty((count, 1), dtype, order="F")
            cute_py.gemm(numbers[:count, None], one, out=rounded, kernel=kernel)
            is_nan = np.isnan(numbers[:count])
            assert np.array_equal(rounded[~is_nan, 0].view(np.uint16), expected[:count][~is_nan].view(np.uint16))
            assert np.isnan(rounded[is_nan, 0].astype(np.float32)).all()

        # Read: rows side by side, and steps of K side by side, 72 of them.
        read = cute_py.gemm(halves[:, None], one.astype(dtype), out=np.empty((2**16, 1), np.float32), kernel=kernel)
        np.testing.assert_array_equal(read[:, 0], exact)
        matrix = finite.astype(dtype)[: len(finite) // 72 * 72].reshape(-1, 72)
        unit = np.eye(72, dtype=dtype)
        read = cute_py.gemm(matrix, unit, out=np.empty(matrix.shape, np.float32), kernel=kernel)
        np.testing.assert_array_equal(read, matrix.astype(np.float32))


@pytest.mark.parametrize(
    "kernel",
    [
        name
        for name, k in cute_py.kernels().items()
        if name.startswith("cpu_") and name.endswith("_f32") and not k.is_step
    ],
)
def test_a_row_of_the_cpu_engine_does_not_depend_on_the_rows_after_it(rng: np.random.Generator, kernel: str) -> None:
    if not runs_here(cute_py.kernels()[kernel], "cpu"):
        pytest.skip("this processor lacks the instructions")
    A, B, C = draw(rng, (64, 33), "float32"), draw(rng, (5, 33), "float32"), draw(rng, (64, 5), "float32")

    def run(rows: int, strides: tuple[int, int]) -> Any:
        D, _ = strided_array(C[:rows], strides)
        return cute_py.gemm(A[:rows], B, D, alpha=0.3, beta=0.7, kernel=kernel).copy()

    whole = run(64, (2, 131))
    for rows in range(1, 64):
        np.testing.assert_array_equal(run(rows, (2, 131)), whole[:rows])
    np.testing.assert_array_equal(run(64, (1, 64)), whole)


# ---- What is finite, and what is not


def test_repeated_factors_are_not_summed_ahead() -> None:
    tiny = np.broadcast_to(np.float32(1e-30), (2, 2))
    large = np.full((3, 2), 3e38, np.float32)
    np.testing.assert_array_equal(cute_py.gemm(tiny, large), cute_py.gemm(tiny.copy(), large))
    assert np.isfinite(cute_py.gemm(tiny, large)).all()
    infinite = np.broadcast_to(np.float32(np.inf), (2, 2))
    opposite = np.array([[1, -2]], np.float32)
    assert np.isnan(cute_py.gemm(infinite, opposite)).all()
    sigmoid = cute_py.Epilogue(activation="sigmoid")
    assert np.isnan(cute_py.gemm(infinite, opposite, epilogue=sigmoid)).all()


def test_int8_sums_that_would_leave_32_bits_are_refused() -> None:
    most = (2**31 - 1) // 128**2
    A = np.full((1, most + 1), -128, np.int8)
    assert cute_py.gemm(A[:, :most], A[:, :most])[0, 0] == most * 128**2
    for call in (
        lambda: cute_py.gemm(A, A),
        lambda: cute_py.gemm(A, A, out_dtype="float32"),
        lambda: cute_py.contract("mk,nk->mn", A, A),
        lambda: cute_py.gemm.plan(A, A),
    ):
        with pytest.raises(cute_py.UnsupportedProblemError, match=r"holds every sum of K <= 131071.*here K=131072"):
            call()


def test_alpha_zero_runs_on_a_kernel_of_the_arrays_type() -> None:
    A = np.ones((40, 50), np.float32)
    kernel = cute_py.gemm.explain(A, A, alpha=0, device="emulator").chosen
    assert "float32" in cute_py.kernels()[kernel].factors


# ---- Diagonals and refusals


def test_diagonals_with_extents_of_one() -> None:
    x = np.arange(5.0)
    for subscripts, operands in {
        "g,gg->g": (x, np.ones((1, 1))),
        "gg,g->g": (np.ones((1, 1)), x),
        "i,ii->i": (np.ones(5), np.diag(x)),
    }.items():
        np.testing.assert_array_equal(cute_py.contract(subscripts, *operands), np.einsum(subscripts, *operands))
    for subscripts, operands in {
        "i,ii->i": (np.ones(5), np.ones((1, 5))),
        "ii,i->i": (np.ones((1, 5)), np.ones(5)),
        "bd,cbb->": (np.ones((3, 3)), np.ones((3, 1, 3))),
    }.items():
        with pytest.raises(cute_py.OperandError, match=r"takes a diagonal of [AB] along index"):
            cute_py.contract(subscripts, *operands)


def test_a_refusal_with_exchanged_roles_says_so() -> None:
    A = np.ones((60, 100), np.float32).T
    B = np.ones((80, 60), np.float32)
    with pytest.raises(cute_py.UnsupportedProblemError, match=r"roles exchanged: .* below A is B, M is N"):
        cute_py.gemm(A, B, kernel="sgemm_sm80_nt_f32", device="emulator")


# ---- Activations where their formulas cancel, overflow or divide infinity by itself

ENDS = [
    -np.inf, -3e38, -1e30, -1e4, -200.0, -100.0, -86.0, -40.0, -12.0, -6.0, -5.5, -4.0, -2.5, -1.0, -1e-3, 0.0, 1e-3, 1.0, 6.0, 40.0, 200.0, 1e30,
    3e38, np.inf, np.nan,
]  # fmt: skip


def sigmoid(x: np.ndarray) -> np.ndarray:
    power = np.exp(-np.abs(x))
    return np.where(x < 0, power, 1) / (1 + power)


def activated(name: str, x: np.ndarray) -> np.ndarray:
    """In float64, by formulas that keep the digits of what is far below zero; 0 at minus infinity, as in the limit."""
    factor = np.where(x == -np.inf, 0, x)
    with np.errstate(over="ignore", under="ignore"):
        if name == "gelu":
            return np.array([0.5 * f * math.erfc(-v / math.sqrt(2)) for f, v in zip(factor, x, strict=True)])
        if name == "gelu_tanh":
            inner = math.sqrt(8 / math.pi) * (x + 0.044715 * x**3)
            return factor * sigmoid(inner)
        return sigmoid(x) * (factor if name == "silu" else 1)


PLACES: dict[str, tuple[str, dict[str, str]]] = {
    **{name: ("float32", {"kernel": name}) for name in ("cpu_baseline_f32", "cpu_avx2_f32", "cpu_avx512_f32", "cpu_small", "cpu_loops")},
    **{f"{name} of doubles": ("float64", {"kernel": name}) for name in ("cpu", "cpu_small", "cpu_loops", "reference")},
    "reference": ("float32", {"kernel": "reference"}),
    **{f"emulated {name}": ("float32", {"kernel": name, "device": "emulator"}) for name in ("sgemm_1", "sgemm_sm80", "gemm_skinny")},
    "emulated gemm_sm90": ("bfloat16", {"kernel": "gemm_sm90", "device": "emulator"}),
    "emulated gemm_sm80": ("float16", {"kernel": "gemm_sm80", "device": "emulator"}),
    "bfloat16": ("bfloat16", {}),
}  # fmt: skip


@pytest.mark.parametrize("activation", ["gelu", "gelu_tanh", "silu", "sigmoid"])
@pytest.mark.parametrize("place", PLACES)
def test_activations_at_the_ends_of_the_range(place: str, activation: str) -> None:
    name, where = PLACES[place]
    dtype = numpy_type(name)
    kernel = cute_py.kernels().get(where.get("kernel", ""))
    if kernel is not None and not runs_here(kernel, "cpu"):
        pytest.skip("this processor lacks its instructions")
    with np.errstate(over="ignore"):
        x = np.array(ENDS).astype(dtype)
    # The numbers come through a bias, since infinity times the zeros of a tile's end has no value.
    A, B = np.zeros((len(x), 8), dtype), np.zeros((8, 8), dtype)
    epilogue = cute_py.Epilogue(bias=x[:, None], activation=activation)
    found = cute_py.gemm(A, B, epilogue=epilogue, **where)[:, 0].astype(float)
    expected = activated(activation, x.astype(float))
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(np.isposinf(found), np.isposinf(expected.astype(dtype)))
    finite = np.isfinite(expected) & np.isfinite(found)
    tolerance = {"bfloat16": 1e-2, "float16": 1e-3}.get(name, 1e-4)
    found, expected = found[finite], expected[finite]
    assert (
        np.abs(found - expected) <= np.maximum(tolerance * np.abs(expected), 1e-7 if name == "float16" else 1e-35)
    ).all()
    assert x[0] == -np.inf
    assert found[0] == 0


@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_a_zero_keeps_its_sign_whatever_is_beside_it(target: str) -> None:
    rng = np.random.default_rng(0)
    A, B = ((rng.integers(-2, 3, n) + 1j * rng.integers(-2, 3, n)).astype(np.complex128) for n in (384, 12))
    options: dict[str, Any] = {"batch_invariant": True, "conj_b": True, "device": target}
    whole = cute_py.contract("i,y->iy", A, B, **options)
    for y in range(12):
        alone = cute_py.contract("i,y->iy", A, B[y : y + 1], **options)
        assert alone.tobytes() == np.ascontiguousarray(whole[:, y : y + 1]).tobytes()


@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_an_own_index_is_summed_first_however_often_it_is_used(target: str) -> None:
    X = np.array([[1, -2, 3.0]], np.float32)
    for infinity, subscripts in (
        (np.array(np.inf, np.float32), ",am->a"),
        (np.array([np.inf, 1], np.float32), "n,am->an"),
    ):
        for batch_invariant in (False, True):
            found = cute_py.contract(subscripts, infinity, X, batch_invariant=batch_invariant, device=target)
            assert np.isposinf(found.ravel()[0])


@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_infinite_complex_products_are_numpys(target: str) -> None:
    for dtype in (np.complex64, np.complex128):
        A = np.array([[complex(np.inf, 1), 2], [3, complex(0, -np.inf)]], dtype)
        B = np.array([[1 + 1j, 0.5], [1j, 2]], dtype)
        with np.errstate(invalid="ignore"):
            expected = np.array([[sum(A[i, k] * B[j, k] for k in range(2)) for j in range(2)] for i in range(2)])
        np.testing.assert_array_equal(cute_py.gemm(A, B, device=target), expected)
        real = np.array([[1, 0.5], [2, 3]], dtype(0).real.dtype)
        found = cute_py.gemm(A, real, device=target)
        assert np.isposinf(found.real[0]).all()
        assert np.isfinite(found.imag[0]).all()
        assert np.isneginf(found.imag[1]).all()
