"""Contractions of every kind against NumPy: indices in groups of all sizes, odd strides, every type, every epilogue."""

from __future__ import annotations

import itertools
import math
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import cute_py
from cute_py import Epilogue, OperandError, UnsupportedProblemError
from cute_py.testing import check_contract, numpy_type, strided_array
from problems import draw

TYPES = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128", "int8")
FLOATS = TYPES[:4]
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def random_contraction(rng: np.random.Generator, most: int = 2) -> tuple[str, dict[str, int]]:
    """Subscripts with up to `most` indices in each group, and own indices of A and of B now and then."""
    counts = rng.integers(0, most + 1, 4)
    letters = iter(rng.permutation(list(LETTERS)))
    batch, m, n, k = ([next(letters) for _ in range(count)] for count in counts)
    own_a = [next(letters)] if rng.random() < 0.15 else []
    own_b = [next(letters)] if rng.random() < 0.15 else []
    a, b, c = batch + m + k + own_a, batch + n + k + own_b, batch + m + n
    extents = {x: int(rng.choice([1, 2, 3, 4, 5, 7, 9])) for x in a + b}
    return ",".join("".join(rng.permutation(x)) for x in (a, b)) + "->" + "".join(rng.permutation(c)), extents


def random_strides(rng: np.random.Generator, shape: tuple[int, ...], *, may_repeat: bool) -> tuple[int, ...]:
    """Strides of an array with its modes in any order, padded, some negative, and, if allowed, some zero."""
    strides = [0] * len(shape)
    step = int(rng.choice([1, 1, 1, 2]))
    for i in rng.permutation(len(shape)):
        strides[i] = step
        step *= shape[i]
        if rng.random() < 0.3:
            step += int(rng.integers(1, 4))
    for i in range(len(shape)):
        if rng.random() < 0.15:
            strides[i] = -strides[i]
        if may_repeat and rng.random() < 0.1:
            strides[i] = 0
    return tuple(strides)


def operand(rng: np.random.Generator, letters: str, extents: dict[str, int], dtype: Any, *, exact: bool) -> np.ndarray:
    """An array with odd strides; along a stride of zero, all of its elements are the same."""
    shape = tuple(extents[x] for x in letters)
    strides = random_strides(rng, shape, may_repeat=True)
    values = draw(rng, tuple(1 if s == 0 else n for n, s in zip(shape, strides, strict=True)), dtype, exact=exact)
    return strided_array(np.broadcast_to(values, shape), strides, dtype=dtype, offset=int(rng.integers(0, 4)))[0]


def check_random(rng: np.random.Generator, factor: str, target: str, kernel: str = "auto") -> None:
    """Contract random integers, which have to be exact, into a guarded array."""
    dtype = numpy_type(factor)
    result = np.dtype({"float16": "f4", "bfloat16": "f4", "int8": "i4"}.get(factor, factor))
    subscripts, extents = random_contraction(rng)
    a, b, c = subscripts.replace("->", ",").split(",")
    A, B = (operand(rng, x, extents, dtype, exact=True) for x in (a, b))
    alpha, beta = [(1.0, 0.0), (2.0, 0.0), (-1.0, 1.0), (1.0, -2.0)][rng.integers(4)]
    shape = tuple(extents[x] for x in c)
    before = draw(rng, shape, result, exact=True) if beta else np.full(shape, 99, result)
    C, check = strided_array(before, random_strides(rng, shape, may_repeat=False), dtype=result)
    cute_py.contract(subscripts, A, B, C, alpha=alpha, beta=beta, device=target, kernel=kernel)
    check()
    wide = [x.astype(np.complex128 if dtype.kind == "c" else np.float64) for x in (A, B)]
    expected = alpha * np.einsum(subscripts, *wide) + (beta * before if beta else 0)
    np.testing.assert_array_equal(C, expected, err_msg=f"{subscripts} {extents} {A.strides} {B.strides} {C.strides}")


@pytest.mark.parametrize("target", ["cpu", "emulator", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("factor", TYPES)
def test_random_contractions_are_exact(factor: str, target: str) -> None:
    """In CI 20,300: of each type 2,500 on the CPU and 400 in the emulator."""
    count = {"cpu": 2500, "emulator": 400, "cuda": 1000}[target] if os.environ.get("CI") else 60
    rng = np.random.default_rng([20261120, TYPES.index(factor), len(target)])
    for _ in range(count):
        check_random(rng, factor, target)


@pytest.mark.parametrize(
    "kernel",
    [k.name for k in cute_py.kernels().values() if k.modes > 1 and "emulator" in k.targets],
)
def test_every_kernel_for_any_modes_contracts(kernel: str, rng: np.random.Generator) -> None:
    variant = cute_py.kernels()[kernel]
    dtype = numpy_type(variant.factors[-1])
    columns = min(45, (variant.most_n or 45))
    A, B = draw(rng, (3, 50, 2, 7), dtype, exact=True), draw(rng, (7, 3, columns, 2), dtype, exact=True)
    for subscripts in ("lmpk,klnp->lnm", "lmpk,klnp->mln", "lmpk,klnp->mn"):
        C = cute_py.contract(
            subscripts,
            A,
            B,
            kernel=kernel,
            device="emulator",
            compute=variant.compute,
            out_dtype="float32" if "float32" in variant.results else None,
        )
        wide = [x.astype(np.complex128 if dtype.kind == "c" else np.float64) for x in (A, B)]
        np.testing.assert_array_equal(C.astype(wide[0].dtype), np.einsum(subscripts, *wide))


@pytest.mark.parametrize("k", [0, 1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 300])
@pytest.mark.parametrize(
    "kernel",
    [k for k in ("sgemm_sm80_nested_f32", "sgemm_sm80_narrow_f32", "gemm_sm80_nested_f16") if k in cute_py.kernels()],
)
def test_steps_of_k_are_found_ahead_of_time(kernel: str, k: int, rng: np.random.Generator) -> None:
    """Their offsets are found some tiles at a time: no extent of K is special."""
    dtype = numpy_type(cute_py.kernels()[kernel].factors[-1])
    A, B = draw(rng, (5, k, 3), dtype, exact=True), draw(rng, (3, 4, k), dtype, exact=True)
    C = cute_py.contract("akb,bck->ca", A, B, kernel=kernel, device="emulator", out_dtype="float32")
    np.testing.assert_array_equal(C, np.einsum("akb,bck->ca", A.astype("f8"), B.astype("f8")))


@pytest.mark.parametrize("target", ["emulator", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_gett_is_the_tutorials(target: str, rng: np.random.Generator) -> None:
    for m0, m1, n, k in ((64, 2, 128, 8), (70, 5, 130, 17), (1, 3, 2, 4), (5, 1, 7, 0), (3, 200, 2, 9)):
        for order in itertools.permutations(range(3)):
            A = draw(rng, tuple((m0, m1, k)[i] for i in order), exact=True).transpose(np.argsort(order))
            B, C = draw(rng, (n, k), exact=True), draw(rng, (m0, m1, n), exact=True)
            before = C.copy()
            assert cute_py.gett(A, B, C, alpha=2, beta=-1, device=target) is C
            np.testing.assert_array_equal(C, 2 * np.einsum("xyk,nk->xyn", A, B) - before)
    explanation = cute_py.explain("xyk,nk->xyn", A, B, kernel="sgemm_1_gett_f32", device="emulator")
    assert explanation.chosen == "sgemm_1_gett_f32"
    with pytest.raises(OperandError, match="B has rank 3"):
        cute_py.gett(A, A)
    many = draw(rng, (4, 6, 8, 5))[::2, ::2, ::2]
    with pytest.raises(UnsupportedProblemError, match="more than two modes in M"):
        cute_py.contract("abcd,nd->abcn", many, draw(rng, (6, 5)), kernel="sgemm_1_gett_f32", device="emulator")
    with pytest.raises(UnsupportedProblemError, match="writes alpha"):
        cute_py.gemm(B, B, epilogue=Epilogue(activation="relu"), kernel="sgemm_1_gett_f32", device="emulator")


def widest(a: str, b: str) -> str:
    single = {"float16": "float32", "bfloat16": "float32"}
    return str(np.result_type(single.get(a, a), single.get(b, b)))


@pytest.mark.parametrize("target", ["cpu", "emulator", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize(("first", "second"), list(itertools.product(TYPES, TYPES)))
def test_every_pair_of_types(first: str, second: str, target: str, rng: np.random.Generator) -> None:
    A, B = draw(rng, (5, 6, 7), numpy_type(first)), draw(rng, (7, 4, 6), numpy_type(second))
    if (first == "int8") != (second == "int8"):
        with pytest.raises(UnsupportedProblemError, match="multiplies int8 only by int8"):
            cute_py.contract("abc,cdb->da", A, B, device=target)
        return
    C = cute_py.contract("abc,cdb->da", A, B, device=target)
    expected = "int32" if first == "int8" else first if first == second else widest(first, second)
    assert C.dtype == numpy_type(expected)
    check_contract("abc,cdb->da", C, A, B)
    for out_dtype in ("float16", "bfloat16", "float32", "float64", "complex64", "complex128", "int8", "int32"):
        try:
            C = cute_py.contract("abc,cdb->da", A, B, device=target, out_dtype=out_dtype)
        except UnsupportedProblemError as error:
            assert "and writes" in str(error)  # noqa: PT017
            continue
        assert C.dtype == numpy_type(out_dtype)
        if out_dtype != "int8":
            check_contract("abc,cdb->da", C, A, B)


def reference_epilogue(x: np.ndarray, epilogue: Epilogue) -> np.ndarray:
    if epilogue.bias is not None:
        x = x + np.asarray(epilogue.bias, np.float64)
    erf = np.vectorize(math.erf)
    x = {
        "none": lambda x: x,
        "relu": lambda x: np.maximum(x, 0),
        "gelu": lambda x: x * 0.5 * (1 + erf(x / math.sqrt(2))),
        "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
        "silu": lambda x: x / (1 + np.exp(-x)),
        "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    }[epilogue.activation](x)
    x = x * epilogue.scale
    return x if epilogue.residual is None else x + np.asarray(epilogue.residual, np.float64)


KERNELS_WITH_EPILOGUES = [
    ("cpu", "auto"),
    ("cpu", "reference"),
    *(
        ("emulator", k)
        for k in ("sgemm_1", "sgemm_2", "sgemm_sm70", "sgemm_sm80", "sgemm_sm80_narrow_f32", "gemm_sm80")
        if k in {*cute_py.kernels(), *cute_py.kernels().families()}
    ),
]


@pytest.mark.parametrize("activation", ["none", "relu", "gelu", "gelu_tanh", "silu", "sigmoid"])
@pytest.mark.parametrize(
    ("target", "kernel"),
    [*KERNELS_WITH_EPILOGUES, pytest.param("cuda", "auto", marks=pytest.mark.gpu)],
)
def test_epilogues(target: str, kernel: str, activation: Any, rng: np.random.Generator) -> None:
    compute = "tfloat32" if kernel == "gemm_sm80" else "float32"
    scale = 3e-3 if compute == "tfloat32" else 2e-5
    for m, n, k in ((5, 7, 3), (130, 40, 20)):
        A, B, C = (draw(rng, shape) for shape in ((m, k), (n, k), (m, n)))
        for bias in (None, draw(rng, (m, 1)), draw(rng, (n,)), draw(rng, (m, n))):
            for residual in (None, draw(rng, (m, n))):
                epilogue = Epilogue(bias=bias, activation=activation, scale=0.5, residual=residual)
                got = cute_py.gemm(
                    A,
                    B,
                    C.copy(),
                    alpha=0.3,
                    beta=-0.7,
                    epilogue=epilogue,
                    kernel=kernel,
                    device=target,
                    compute=compute,
                )
                x = 0.3 * A.astype("f8") @ B.T.astype("f8") - 0.7 * C
                np.testing.assert_allclose(got, reference_epilogue(x, epilogue), rtol=scale, atol=scale * 5)


def test_an_epilogue_rounds_once_and_saturates(rng: np.random.Generator) -> None:
    A = np.full((2, 4), 200, np.float16)
    assert np.isinf(cute_py.gemm(A, A)).all()
    assert (cute_py.gemm(A, A, epilogue=Epilogue(saturate=True)) == 65504).all()
    A8 = np.full((3, 5), 100, np.int8)
    np.testing.assert_array_equal(cute_py.gemm(A8, A8, out_dtype="int8"), 127)
    np.testing.assert_array_equal(cute_py.gemm(A8, -A8, out_dtype="int8"), -128)
    small = np.array([[1], [3], [-1], [-3]], np.int8)
    one = np.array([[1]], np.int8)
    C = cute_py.gemm(small, one, out_dtype="int8", epilogue=Epilogue(scale=0.5))
    np.testing.assert_array_equal(C[:, 0], [0, 2, 0, -2])  # ties to even
    residual = np.ones((2, 2), np.float32)
    C = cute_py.gemm(np.eye(2, dtype="f4"), np.eye(2, dtype="f4"), residual, epilogue=Epilogue(residual=residual))
    np.testing.assert_array_equal(C, np.eye(2) + 1)
    nan = np.full((1, 1), np.nan, np.float32)
    assert np.isnan(cute_py.gemm(nan, nan, epilogue=Epilogue(activation="relu", saturate=True))).all()


@pytest.mark.parametrize("target", ["cpu", "emulator", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_matmul_is_numpys(target: str, rng: np.random.Generator) -> None:
    shapes = [((3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)), ((7, 3, 4), (4, 5)), ((3, 4), (7, 4, 5))]
    shapes += [
        ((2, 1, 3, 4), (6, 4, 5)),
        ((2, 6, 3, 4), (1, 4, 5)),
        ((0, 3, 4), (4, 5)),
        ((7, 3, 0), (0, 5)),
        ((5, 4), (2, 3, 4, 6)),
    ]
    for first, second in shapes:
        a, b = draw(rng, first, exact=True), draw(rng, second, exact=True)
        np.testing.assert_array_equal(cute_py.matmul(a, b, device=target), np.matmul(a, b))
    for factor in TYPES:
        a, b = (
            draw(rng, (4, 9, 3), numpy_type(factor), exact=True),
            draw(rng, (4, 3, 2), numpy_type(factor), exact=True),
        )
        wide = [x.astype(np.complex128) for x in (a, b)]
        np.testing.assert_array_equal(cute_py.matmul(a, b, device=target).astype(np.complex128), np.matmul(*wide))


@pytest.mark.parametrize("target", ["cpu", "emulator", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_batches(target: str, rng: np.random.Generator) -> None:
    A, B = draw(rng, (33, 20, 6), exact=True), draw(rng, (17, 20, 6), exact=True)
    expected = np.einsum("mkl,nkl->mnl", A, B)
    np.testing.assert_array_equal(cute_py.gemm(A, B, device=target), expected)
    np.testing.assert_array_equal(cute_py.gemm(A[..., 0], B, device=target), np.einsum("mk,nkl->mnl", A[..., 0], B))
    np.testing.assert_array_equal(cute_py.gemm(A, B[..., 1], device=target), np.einsum("mkl,nk->mnl", A, B[..., 1]))
    A, B = (np.asfortranarray(x) for x in (A, B))
    C = np.asfortranarray(expected)
    np.testing.assert_array_equal(cute_py.sgemm_nt(A, B, C, alpha=2, beta=-1, device=target), expected)


def test_a_batch_larger_than_a_grid(rng: np.random.Generator) -> None:
    A, B = draw(rng, (65535 + 9, 2, 3), exact=True), draw(rng, (65535 + 9, 3, 1), exact=True)
    np.testing.assert_array_equal(cute_py.matmul(A, B), np.matmul(A, B))


@pytest.mark.gpu
def test_a_batch_larger_than_a_grid_on_a_gpu(rng: np.random.Generator) -> None:
    A, B = draw(rng, (65535 + 9, 2, 3), exact=True), draw(rng, (65535 + 9, 3, 1), exact=True)
    np.testing.assert_array_equal(cute_py.matmul(A, B, device="cuda"), np.matmul(A, B))


def test_numpys_own_einsum_examples() -> None:
    """The examples of NumPy's documentation, in float64 where it has integers."""
    a, b, c = np.arange(25.0).reshape(5, 5), np.arange(5.0), np.arange(6.0).reshape(2, 3)
    d, e = np.arange(60.0).reshape(3, 4, 5), np.arange(24.0).reshape(4, 3, 2)
    f, g = np.arange(6.0).reshape((3, 2)), np.arange(12.0).reshape((4, 3))
    calls: list[tuple[Any, ...]] = [
        ("ii", a), (a, [0, 0]), ("ii->i", a), (a, [0, 0], [0]), ("ij->i", a), (a, [0, 1], [0]), ("...j->...", a),
        (a, [Ellipsis, 1], [Ellipsis]), ("ji", c), ("ij->ji", c), (c, [1, 0]), ("i,i", b, b), (b, [0], b, [0]),
        ("ij,j", a, b), (a, [0, 1], b, [1]), ("...j,j", a, b), ("..., ...", np.array(3.0), c), (",ij", np.array(3.0), c),
        (np.array(3.0), [Ellipsis], c, [Ellipsis]), ("i,j", np.arange(2.0) + 1, b), ("ijk,jil->kl", d, e),
        (d, [0, 1, 2], e, [1, 0, 3], [2, 3]), ("k...,jk", f, g), ("ki,...k->i...", f, g), ("k...,...k->...", f, np.arange(6.0).reshape(2, 3)),
    ]  # fmt: skip
    for call in calls:
        try:
            expected = np.einsum(*call)
        except ValueError:
            with pytest.raises(OperandError):
                cute_py.einsum(*call)
            continue
        np.testing.assert_array_equal(cute_py.einsum(*call), expected, err_msg=str(call[0]))
    big = np.ones(64).reshape(2, 4, 8)
    for optimize in ("auto", "optimal", "greedy", False, [(0, 1), (0, 1, 2), (0, 1)]):
        got = cute_py.einsum("ijk,ilm,njm,nlk,abc->", big, big, big, big, big, optimize=optimize)
        assert got == np.einsum("ijk,ilm,njm,nlk,abc->", big, big, big, big, big, optimize=True)


def test_einsum_of_halves_and_given_paths(rng: np.random.Generator) -> None:
    halves = [draw(rng, (3, 3), np.float16, exact=True) for _ in range(3)]
    C = cute_py.einsum("ij,jk,kl->il", *halves)
    assert C.dtype == np.float16
    np.testing.assert_array_equal(C, halves[0] @ halves[1] @ halves[2])
    assert cute_py.einsum("ij,jk,kl->il", *halves, out_dtype="float32").dtype == np.float32
    numpys = np.einsum_path("ij,jk,kl->il", *halves, optimize="optimal")[0]
    np.testing.assert_array_equal(cute_py.einsum("ij,jk,kl->il", *halves, optimize=numpys), C)
    for path in ([(0, 9), (0, 1)], [(0, -1), (0, 1)], [(0, 1)], [(0, 1), (0, 1), (0,), (0, 1)], ["a"], [()], [0], 5):
        with pytest.raises(OperandError, match="is no path for 3 operands"):
            cute_py.einsum("ij,jk,kl->il", *halves, optimize=path)


def test_complex_numbers_between_their_multiples(rng: np.random.Generator) -> None:
    """A complex array may begin at any of its parts. Kernels that copy whole numbers refuse it, others take it."""
    reals = draw(rng, (2, 7 * 5 * 2 + 1), exact=True)
    A = reals[0, 1:].view(np.complex64).reshape(7, 5)
    B = reals[1, 1:].view(np.complex64).reshape(7, 5)
    assert A.ctypes.data % 8 == 4 or B.ctypes.data % 8 == 4
    explanation = cute_py.explain(A, B, device="emulator")
    assert explanation.chosen == "sgemm_sm70_nested_c64"
    assert "is not a multiple of 8 bytes" in dict(explanation.rejected)["sgemm_sm80_nested_c64"]
    for target in ("cpu", "emulator"):
        np.testing.assert_array_equal(cute_py.gemm(A, B, device=target), A @ B.T)


@pytest.mark.gpu
def test_addresses_that_a_gpu_cannot_read(rng: np.random.Generator) -> None:
    cupy = pytest.importorskip("cupy")
    reals = cupy.asarray(draw(rng, (72,), exact=True))
    A = reals[1:71].view(cupy.complex64).reshape(7, 5)
    assert A.data.ptr % 8 == 4
    np.testing.assert_array_equal(cute_py.gemm(A, A).get(), A.get() @ A.get().T)
    memory = cupy.zeros(4 * 12 + 1, cupy.uint8)
    for array in (memory[1:49].view(cupy.float32).reshape(3, 4),):
        with pytest.raises(OperandError, match="no multiple of 4 bytes"):
            cute_py.gemm(array, array)
    good = cupy.ones((3, 4), cupy.float32)
    np.testing.assert_array_equal(cute_py.gemm(good, good).get(), 4)  # the GPU is as it was


def test_tensordot_inner_and_outer(rng: np.random.Generator) -> None:
    a, b = draw(rng, (3, 4, 5), exact=True), draw(rng, (4, 3, 2), exact=True)
    np.testing.assert_array_equal(cute_py.tensordot(a, b, ([1, 0], [0, 1])), np.tensordot(a, b, ([1, 0], [0, 1])))
    np.testing.assert_array_equal(cute_py.tensordot(a, b, (-2, 0)), np.tensordot(a, b, (-2, 0)))
    np.testing.assert_array_equal(cute_py.tensordot(a, b, 0), np.tensordot(a, b, 0))
    np.testing.assert_array_equal(cute_py.inner(a, a[0]), np.inner(a, a[0]))
    np.testing.assert_array_equal(cute_py.inner(a, np.array(2, "f4")), np.inner(a, 2))
    np.testing.assert_array_equal(cute_py.outer(a, b), np.multiply.outer(a, b))


def test_own_indices_are_summed_first(rng: np.random.Generator) -> None:
    A, B = draw(rng, (20, 9, 15)), draw(rng, (9, 70))
    explanation = cute_py.explain("ijk,jn->jn", A, B)
    assert [step.what for step in explanation.steps] == ["sum A over its own indices", "multiply"]
    assert explanation.workspace_bytes >= 36
    for subscripts in ("ijk,jn->jn", "ijk,jn->n", "ijk,jn->kn", "ijk,jn->", "ijk,jn->ijn"):
        check_contract(subscripts, cute_py.contract(subscripts, A, B), A, B)
        check_contract(subscripts, cute_py.contract(subscripts, A, B, device="emulator"), A, B)
    a, b = draw(rng, (3, 4), exact=True), draw(rng, (4, 5), exact=True)
    np.testing.assert_array_equal(cute_py.contract("ij,jk->k", a, b), np.einsum("ij,jk->k", a, b))


def test_diagonals_broadcasts_and_ranks(rng: np.random.Generator) -> None:
    A, B = draw(rng, (4, 4, 3), exact=True), draw(rng, (3, 1, 5), exact=True)
    np.testing.assert_array_equal(cute_py.contract("iik,kab->iab", A, B), np.einsum("iik,kab->iab", A, B))
    np.testing.assert_array_equal(cute_py.contract("iik,kib->ib", A, B), np.einsum("iik,kib->ib", A, B))
    X, Y = draw(rng, (2, 1, 4, 3), exact=True), draw(rng, (3, 5, 1), exact=True)
    np.testing.assert_array_equal(cute_py.contract("...k,k...->...", X, Y), np.einsum("...k,k...->...", X, Y))
    x, y = np.array(3.0), np.array(-2.0)
    assert cute_py.contract(",->", x, y) == -6
    wide = np.zeros((2,) * 12 + (1,) * 12)
    wide[...] = rng.integers(-3, 4, wide.shape)
    letters = LETTERS[:24]
    np.testing.assert_array_equal(cute_py.contract(f"{letters},{letters}->", wide, wide), np.sum(wide * wide))
    order = "".join(rng.permutation(list(letters)))
    np.testing.assert_array_equal(
        cute_py.contract(f"{letters},->{order}", wide, np.array(1.0)), np.einsum(f"{letters}->{order}", wide)
    )


def test_nan_infinity_and_empty_groups(rng: np.random.Generator) -> None:
    for target in ("cpu", "emulator"):
        A, B = draw(rng, (6, 7, 5)), draw(rng, (5, 7, 4))
        for place in itertools.product((0, 5), (0, 6), (0, 4)):
            X = A.copy()
            X[place] = np.nan
            C = cute_py.contract("abc,cbd->ad", X, B, device=target)
            assert np.isnan(C[place[0]]).all()
            assert np.isfinite(np.delete(C, place[0], 0)).all()
        C = np.full((6, 4), np.nan, np.float32)
        cute_py.contract("abc,cbd->ad", A, B, C, device=target)
        assert np.isfinite(C).all()
        assert (cute_py.contract("abc,cbd->ad", A[:, :, :0], B[:0], device=target) == 0).all()
        assert cute_py.contract("abc,cbd->ad", A[:0], B, device=target).shape == (0, 4)


BAD = {
    "no text": (lambda a, b: cute_py.contract(5, a, b), "subscripts are a text"),
    "one operand": (lambda a, b: cute_py.contract("ij->ij", a, b), "name 1 operands, and there are 2"),
    "a digit": (lambda a, b: cute_py.contract("i1,jk->ik", a, b), "have '1' in operand 1"),
    "two results": (lambda a, b: cute_py.contract("ij,jk->i,k", a, b), "there is one result"),
    "two arrows": (lambda a, b: cute_py.contract("ij,jk->->ik", a, b), "misplaced"),
    "rank": (lambda a, b: cute_py.contract("ijk,jk->ik", a, b), "name 3 indices of operand 1, which has rank 2"),
    "unknown index": (lambda a, b: cute_py.contract("ij,jk->iz", a, b), "index z in the result and in no operand"),
    "index twice": (lambda a, b: cute_py.contract("ij,jk->iik", a, b), "index i twice in the result"),
    "lost ellipsis": (lambda a, b: cute_py.contract("...j,jk->k", a, b), r"'...' in an operand and not in the result"),
    "extents": (
        lambda a, b: cute_py.contract("ij,kj->ik", a, b),
        r"(?s)one extent for index j, got 4 in A and 5 in B.*A float32 \(3,4\).*B float32 \(4,5\)",
    ),
    "diagonal": (lambda a, b: cute_py.contract("ii,jk->jk", a, b), "diagonal of A along index i, whose extents 3 and 4"),
    "shape of C": (lambda a, b: cute_py.contract("ij,jk->ik", a, b, a), r"needs C of shape = \(3,5\)"),
    "type of C": (
        lambda a, b: cute_py.contract("ij,jk->ik", a, b, np.zeros((3, 5))),
        "writes float16, bfloat16, float32, int8",
    ),
    "out in A": (lambda a, b: cute_py.contract("ij,jj->ij", a, np.ones((4, 4), "f4"), a), "may overlap A"),
    "beta without C": (lambda a, b: cute_py.contract("ij,jk", a, b, beta=1), "no C was given"),
    "out_dtype": (lambda a, b: cute_py.contract("ij,jk", a, b, out_dtype="float64"), "writes float16.*not float64"),
    "compute": (lambda a, b: cute_py.contract("ij,jk", a, b, compute="fast"), "compute is one of float32"),
    "compute and types": (lambda a, b: cute_py.contract("ij,jk", a, b, compute="int32"), "takes A and B of int8"),
    "epilogue": (lambda a, b: cute_py.contract("ij,jk", a, b, epilogue="relu"), "epilogue is a cute_py.Epilogue"),
    "activation": (lambda a, b: Epilogue(activation="tanh"), "activation is one of none, relu"),
    "bias": (
        lambda a, b: cute_py.contract("ij,jk", a, b, epilogue=Epilogue(bias=np.ones(7, "f4"))),
        r"cannot repeat bias to the shape of the result, \(3,5\)",
    ),
    "scale": (lambda a, b: Epilogue(scale="2"), "scale is a real number"),
    "complex alpha": (lambda a, b: cute_py.contract("ij,jk", a, b, alpha=1j), "alpha is a real number"),
    "conj": (lambda a, b: cute_py.contract("ij,jk", a, b, conj_a=2), "conj_a is True or False"),
    "axes": (lambda a, b: cute_py.tensordot(a, b, ([0], [0, 1])), "not as many of A as of B"),
    "axis": (lambda a, b: cute_py.tensordot(a, b, ([5], [0])), "does not have"),
    "axes that differ": (lambda a, b: cute_py.tensordot(a, b, ([0], [0])), "axis 0 of A, of extent 3"),
    "matmul of a scalar": (lambda a, b: cute_py.matmul(a, np.array(1, "f4")), "a scalar is neither"),
    "too much": (
        lambda a, b: cute_py.contract("ij,kl->", *(np.broadcast_to(np.float32(1), (2**30, 2**29)) for _ in "ab")),
        "more multiplications than 64 bits count",
    ),
    "25 modes": (lambda a, b: cute_py.contract("...,->...", np.ones((1,) * 25, "f4"), np.array(1, "f4")), "rank 25"),
    "a list": (lambda a, b: cute_py.contract("ij,jk", a, [[1.0]]), "B is a list, not an array"),
    "einsum of nothing": (lambda a, b: cute_py.einsum("ij"), "got no array"),
    "einsum path": (lambda a, b: cute_py.einsum("ij,jk,kl", a, b, b.T, optimize="strange"), "einsum:"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str, rng: np.random.Generator) -> None:
    call, message = BAD[name]
    a, b = draw(rng, (3, 4)), draw(rng, (4, 5))
    before = a.copy(), b.copy()
    with pytest.raises((OperandError, UnsupportedProblemError), match=message):
        call(a, b)
    np.testing.assert_array_equal(a, before[0])
    np.testing.assert_array_equal(b, before[1])


M_VALUES = [*range(1, 18), *range(31, 34), *range(63, 66), *range(127, 130), 255, 256, 1000]


@pytest.mark.parametrize(
    ("target", "factor"),
    [("cpu", "float32"), ("cpu", "float16"), ("emulator", "float32"), ("emulator", "float16")]
    + [pytest.param("cuda", t, marks=pytest.mark.gpu) for t in ("float32", "float16", "bfloat16", "float64")],
)
def test_batch_invariance(target: str, factor: str, rng: np.random.Generator) -> None:
    """With batch_invariant, the bits of a row do not depend on how many rows, columns and products there are."""
    k, n = 200, 40
    A, B = draw(rng, (1000, k), numpy_type(factor)), draw(rng, (n, k), numpy_type(factor))
    options = {"device": target, "batch_invariant": True, "out_dtype": "float32" if "float64" not in factor else None}
    whole = cute_py.gemm(A, B, **options)
    for m in M_VALUES:
        np.testing.assert_array_equal(cute_py.gemm(A[:m], B, **options), whole[:m], err_msg=f"M={m}")
    for columns in (1, 7, 33):
        np.testing.assert_array_equal(cute_py.gemm(A[:50], B[:columns], **options), whole[:50, :columns])
    stacked = cute_py.matmul(A[None, :60].repeat(3, 0), B.T, **options)
    np.testing.assert_array_equal(stacked, np.broadcast_to(whole[:60], stacked.shape))


def test_a_plan_runs_with_other_arrays(rng: np.random.Generator) -> None:
    A, B = draw(rng, (7, 6, 5), exact=True), draw(rng, (4, 5), exact=True)
    for target in ("cpu", "emulator"):
        plan = cute_py.plan_contract("abk,ck->abc", A, B, device=target, alpha=2)
        assert plan.explain().target == target
        assert plan.workspace_bytes == 0
        out = np.zeros((7, 6, 4), np.float32)
        for _ in range(3):
            X, Y = draw(rng, A.shape, exact=True), draw(rng, B.shape, exact=True)
            expected = 2 * np.einsum("abk,ck->abc", X, Y)
            np.testing.assert_array_equal(plan(X, Y), expected)
            assert plan(X, Y, out=out) is out
            np.testing.assert_array_equal(out, expected)
        for wrong in (A[:6], A.astype("f8"), np.asfortranarray(A), A[:, :, ::-1]):
            with pytest.raises(OperandError, match=r"(?s)not laid out like those of the plan.*next: make a plan"):
                plan(wrong, B)
    C = draw(rng, (7, 7), exact=True)
    plan = cute_py.plan_gemm(A[:, 0], A[:, 1], C, beta=-1)
    expected = A[:, 0] @ A[:, 1].T - C
    assert plan(A[:, 0], A[:, 1], C) is C
    np.testing.assert_array_equal(C, expected)
    with pytest.raises(OperandError, match="no C was given"):
        plan(A[:, 0], A[:, 1])
    own = cute_py.plan_contract("ijk,jn->jn", draw(rng, (20, 9, 15)), draw(rng, (9, 70)))
    assert own.workspace_bytes > 0
    assert "cpu" in repr(own)


def test_a_plan_is_used_by_eight_threads(rng: np.random.Generator) -> None:
    A, B = draw(rng, (8, 60, 50), exact=True), draw(rng, (8, 40, 50), exact=True)
    plan = cute_py.plan_gemm(A[0], B[0])
    own = cute_py.plan_contract("ij,jk->k", A[0], B[0].T)
    with ThreadPoolExecutor(8) as pool:
        for _ in range(20):
            results = list(pool.map(plan, A, B))
            sums = list(pool.map(own, A, [b.T for b in B]))
            for a, b, c, s in zip(A, B, results, sums, strict=True):
                np.testing.assert_array_equal(c, a @ b.T)
                np.testing.assert_array_equal(s, (a @ b.T).sum(0))


@pytest.mark.gpu
def test_a_plan_is_used_on_four_streams_and_in_a_graph(rng: np.random.Generator) -> None:
    cupy = pytest.importorskip("cupy")
    A, B = (cupy.asarray(draw(rng, shape, exact=True)) for shape in ((64, 6000), (48, 6000)))
    plan = cute_py.plan_gemm(A, B)
    assert plan.workspace_bytes > 0  # a long K is computed in parts
    expected = (A @ B.T).get()
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(4)]
    outs = [cupy.zeros((64, 48), cupy.float32) for _ in streams]
    cupy.cuda.Device().synchronize()
    for _ in range(10):
        for stream, out in zip(streams, outs, strict=True):
            plan(A, B, out=out, stream=stream)
    for stream, out in zip(streams, outs, strict=True):
        stream.synchronize()
        np.testing.assert_array_equal(out.get(), expected)
    workspace = cupy.empty(plan.workspace_bytes, cupy.int8)
    stream = cupy.cuda.Stream(non_blocking=True)
    out = cupy.zeros((64, 48), cupy.float32)
    cupy.cuda.Device().synchronize()
    with stream:
        stream.begin_capture()
        plan(A, B, out=out, stream=stream, workspace=workspace)
        graph = stream.end_capture()
    assert not out.any()
    graph.launch(stream)
    stream.synchronize()
    np.testing.assert_array_equal(out.get(), expected)
    with pytest.raises(OperandError, match="workspace is a dense array"):
        plan(A, B, out=out, workspace=workspace[:-256])


@pytest.mark.gpu
def test_a_plan_is_used_by_eight_threads_on_one_stream(rng: np.random.Generator) -> None:
    """Its workspace for the stream is one, so the launches of two calls must not mix."""
    cupy = pytest.importorskip("cupy")
    A, B = (cupy.asarray(draw(rng, (8, rows, 6000), exact=True)) for rows in (64, 48))
    plan = cute_py.plan_gemm(A[0], B[0])
    assert plan.workspace_bytes > 0
    expected = cupy.matmul(A, B.transpose(0, 2, 1)).get()
    outs = cupy.zeros((8, 64, 48), cupy.float32)
    cupy.cuda.Device().synchronize()
    with ThreadPoolExecutor(8) as pool:
        for _ in range(50):
            outs[...] = 0
            list(pool.map(lambda i: plan(A[i], B[i], out=outs[i], stream=0), range(8)))
            np.testing.assert_array_equal(outs.get(), expected)


@pytest.mark.gpu
@pytest.mark.parametrize("factor", ["float32", "float16", "float64", "complex64"])
def test_parts_of_k_are_added_in_one_order(factor: str, rng: np.random.Generator) -> None:
    cupy = pytest.importorskip("cupy")
    for k in (4096, 5000, 100_003):
        A, B = (draw(rng, (rows, k), numpy_type(factor)) for rows in (70, 50))
        X, Y, C = cupy.asarray(A), cupy.asarray(B), cupy.zeros((70, 50), factor)
        steps = [step.what for step in cute_py.explain(X, Y, C).steps]
        assert steps[0] == "multiply parts of K"
        assert steps[-1] == "add the parts"
        bias = cupy.asarray(draw(rng, (50,), np.float64 if factor == "float64" else np.float32))
        cute_py.gemm(X, Y, C)
        first = C.get()
        check_contract("mk,nk->mn", first, A, B)
        cute_py.gemm(X, Y, C)
        np.testing.assert_array_equal(C.get(), first)
        if factor == "float32":
            with_bias = cute_py.gemm(X, Y, epilogue=Epilogue(bias=bias, activation="relu")).get()
            np.testing.assert_allclose(with_bias, np.maximum(first + bias.get(), 0), rtol=1e-5)
