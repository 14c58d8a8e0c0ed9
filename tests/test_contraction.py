"""Contractions of every kind against NumPy: indices in groups of all sizes, odd strides, every type, every epilogue."""

from __future__ import annotations

import copy
import itertools
import math
import os
import pickle
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, get_args

import numpy as np
import pytest

import cute_py
from cute_py import Epilogue, OperandError, UnsupportedProblemError, _core
from cute_py.products.epilogue import Activation
from cute_py.testing import check_contract, numpy_type, strided_array
from problems import EMULATED, PRODUCTS, draw

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
    [k.name for k in PRODUCTS if k.modes > 1 and k.name in EMULATED],
)
def test_every_kernel_for_any_modes_contracts(kernel: str, rng: np.random.Generator) -> None:
    variant = cute_py.kernels()[kernel]
    dtype = numpy_type(variant.factors[-1])
    columns = min(45, (variant.most_n or 45))
    A, B = draw(rng, (3, 50, 2, 7), dtype, exact=True), draw(rng, (7, 3, columns, 2), dtype, exact=True)
    if variant.vector_bytes != (0, 0):  # vectors along M or N, or along K
        A, B = draw(rng, (3, 48, 2, 16), dtype, exact=True), draw(rng, (16, 3, 32, 2), dtype, exact=True)
        fast_a, fast_b = 1 if variant.layout[0] == "n" else 3, 2 if variant.layout[1] == "t" else 0
        A, B = (np.moveaxis(np.moveaxis(x, i, -1).copy(), -1, i) for x, i in ((A, fast_a), (B, fast_b)))
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
    [
        k
        for k in ("sgemm_sm80_nested_nt_f32", "sgemm_sm80_tn_f32_64x64", "gemm_sm80_nested_tn_f16")
        if k in cute_py.kernels()
    ],
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
    A, B = draw(rng, (70, 5, 64), "float16", exact=True), draw(rng, (136, 64), "float16", exact=True)
    C = cute_py.gett(A, B, kernel="gemm_sm90", device=target)
    np.testing.assert_array_equal(C, np.einsum("xyk,nk->xyn", A.astype("f4"), B.astype("f4")).astype("f2"))
    A, B = draw(rng, (3, 2, 9)), draw(rng, (2, 9))
    explanation = cute_py.contract.explain("xyk,nk->xyn", A, B, kernel="sgemm_1_gett_f32", device="emulator")
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


def test_an_activation_has_one_name_everywhere() -> None:
    assert get_args(Activation) == _core.activations
    torch = pytest.importorskip("cute_py.torch.affine")
    assert {"none", *torch.ACTIVATIONS} == set(_core.activations)


@pytest.mark.parametrize("activation", _core.activations)
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


@pytest.mark.parametrize("activation", ["gelu", "gelu_tanh", "silu", "sigmoid"])
@pytest.mark.parametrize(
    ("target", "kernel"),
    [*KERNELS_WITH_EPILOGUES, pytest.param("cuda", "auto", marks=pytest.mark.gpu)],
)
def test_activations_of_large_numbers(target: str, kernel: str, activation: Any) -> None:
    x = np.array([-1e30, -1e6, -100, -20, 20, 100, 1e6, 1e30], np.float32).reshape(-1, 1)
    one = np.ones((1, 1), np.float32)
    compute = "tfloat32" if kernel == "gemm_sm80" else "float32"
    found = cute_py.gemm(
        x, one, epilogue=Epilogue(activation=activation), kernel=kernel, device=target, compute=compute
    )
    expected = (x > 0) if activation == "sigmoid" else np.where(x > 0, x, 0)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-7)


class Chameleon(str):
    """A text that claims to be whatever it is compared with."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


@pytest.mark.parametrize("activation", [Chameleon("tanh"), "tanh", None, 1, ["relu"]])
def test_an_activation_is_one_of_the_list(activation: Any) -> None:
    with pytest.raises(OperandError, match="activation is one of none, relu"):
        Epilogue(activation=activation)


def test_an_activation_may_be_of_a_class_derived_from_str() -> None:
    assert type(Epilogue(activation=Chameleon("relu")).activation) is str


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("activation", "softplus", "activation is one of none, relu"),
        ("scale", "2", "scale is a real number"),
        ("saturate", 1, "saturate is True or False"),
        ("dropout", 0.5, "saved with dropout\n  next: load it with the version"),
    ],
)
def test_an_epilogue_of_another_version_is_checked_when_it_is_loaded(
    name: str, value: Any, message: str, protocol: int
) -> None:
    epilogue = Epilogue(scale=2)
    object.__setattr__(epilogue, name, value)
    with pytest.raises(OperandError, match=message):
        pickle.loads(pickle.dumps(epilogue, protocol))
    with pytest.raises(OperandError, match=message):
        copy.copy(epilogue)


def test_an_epilogue_is_pickled_and_copied_with_all_that_it_has() -> None:
    bias = np.arange(3, dtype="f4")
    epilogue = Epilogue(bias=bias, activation="relu", scale=np.float32(0.5), saturate=True)
    for other in (pickle.loads(pickle.dumps(epilogue)), copy.deepcopy(epilogue), copy.copy(epilogue)):
        np.testing.assert_array_equal(other.bias, bias)
        assert (other.activation, other.scale, other.residual, other.saturate) == ("relu", 0.5, None, True)


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
    explanation = cute_py.gemm.explain(A, B, device="emulator")
    assert {x.kernel for x in explanation.candidates if not x.packed} == {"sgemm_sm70_nested_c64"}
    with pytest.raises(UnsupportedProblemError, match="is not a multiple of 8 bytes"):
        cute_py.gemm(A, B, device="emulator", kernel="sgemm_sm80_nested_nt_c64")
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


@pytest.mark.parametrize("ranks", [(24, 24), (24, 0), (1, 24), (3, 3)])
def test_tensordot_of_many_modes(ranks: tuple[int, int], rng: np.random.Generator) -> None:
    a, b = (draw(rng, (2,) * min(r, 3) + (1,) * (r - min(r, 3)), exact=True) for r in ranks)
    most = min(ranks)
    np.testing.assert_array_equal(
        cute_py.tensordot(a, b, (range(most), range(most))), np.tensordot(a, b, (list(range(most)),) * 2)
    )


@pytest.mark.parametrize("device", ["cpu", "emulator"])
def test_products_of_as_many_modes_as_numpy_has(device: str, rng: np.random.Generator) -> None:
    """Modes that go on where others end are one; so an operand may have 64 where a kernel takes 10."""
    a = draw(rng, (2,) * 8 + (1,) * 56, exact=True)
    b = draw(rng, (1,) * 55 + (2,) * 9, exact=True)
    everything = list(range(64))
    np.testing.assert_array_equal(
        cute_py.tensordot(a, a, (everything, everything), device=device), np.tensordot(a, a, (everything, everything))
    )
    np.testing.assert_array_equal(cute_py.permute(a, range(64)[::-1], device=device), a.transpose(range(64)[::-1]))
    x = a.reshape((2,) * 8 + (1,) * 22)
    y = b.reshape((1,) * 21 + (2,) * 9)
    axes = list(range(8)), list(range(22, 30))
    np.testing.assert_array_equal(cute_py.tensordot(x, y, axes, device=device), np.tensordot(x, y, axes))


@pytest.mark.parametrize("ranks", [(65, 1), (1, 65)])
def test_more_modes_than_numpy_has(ranks: tuple[int, int]) -> None:
    torch = pytest.importorskip("torch")
    a, b = (torch.ones((1,) * r) if r <= 64 else torch.ones(1).as_strided((1,) * 64, (1,) * 64)[None] for r in ranks)
    with pytest.raises(OperandError, match=r"^[AB] has rank 65; an operand has 0 to 64 modes\n  next: "):
        cute_py.outer(a, b)


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
    explanation = cute_py.contract.explain("ijk,jn->jn", A, B)
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
    "one operand": (lambda a, b: cute_py.contract("ij->ij", a, b), "name 1 operand, and there are 2"),
    "a digit": (lambda a, b: cute_py.contract("i1,jk->ik", a, b), "have '1' in operand 1"),
    "two results": (lambda a, b: cute_py.contract("ij,jk->i,k", a, b), "there is one result"),
    "two arrows": (lambda a, b: cute_py.contract("ij,jk->->ik", a, b), "misplaced"),
    "rank": (lambda a, b: cute_py.contract("ijk,jk->ik", a, b), "name 3 indices of operand 1, which has rank 2"),
    "unknown index": (lambda a, b: cute_py.contract("ij,jk->iz", a, b), "index z in the result and in no operand"),
    "index twice": (lambda a, b: cute_py.contract("ij,jk->iik", a, b), "index i twice in the result"),
    "extents": (
        lambda a, b: cute_py.contract("ij,kj->ik", a, b),
        r"(?s)one extent for index j, got 4 in A and 5 in B.*A float32 \(3,4\).*B float32 \(4,5\)",
    ),
    "diagonal": (lambda a, b: cute_py.contract("ii,jk->jk", a, b), "diagonal of A along index i, whose extents 3 and 4"),
    "shape of C": (lambda a, b: cute_py.contract("ij,jk->ik", a, b, a), r"needs C of shape = \(3,5\)"),
    "type of C": (
        lambda a, b: cute_py.contract("ij,jk->ik", a, b, np.zeros((3, 5))),
        "writes float8_e4m3fn, float8_e5m2, float16, bfloat16, float32, int8",
    ),
    "out in A": (lambda a, b: cute_py.contract("ij,jj->ij", a, np.ones((4, 4), "f4"), a), "may overlap A"),
    "beta without C": (lambda a, b: cute_py.contract("ij,jk", a, b, beta=1), "no C was given"),
    "out_dtype": (lambda a, b: cute_py.contract("ij,jk", a, b, out_dtype="float64"), "writes float8.*not float64"),
    "compute": (lambda a, b: cute_py.contract("ij,jk", a, b, compute="fast"), "compute is one of float32"),
    "a type of another byte order": (
        lambda a, b: cute_py.contract("ij,jk", a, b, compute=">f8"),
        "compute >f8 is not in the byte order of this machine\n  next: compute='float64'",
    ),
    "another byte order": (
        lambda a, b: cute_py.einsum("ij,jk", a, b, out_dtype=np.dtype(">f4")),
        "out_dtype >f4 is not in the byte order of this machine\n  next: out_dtype='float32'",
    ),
    "Python's int as a type": (lambda a, b: cute_py.contract("ij,jk", a, b, out_dtype=int), "writes float8.*not int"),
    "int to compute in": (lambda a, b: cute_py.contract("ij,jk", a, b, compute=int), "compute is one of float32.*'int'"),
    "int64 to compute in": (lambda a, b: cute_py.matmul(a, b, compute="i8"), "compute is one of float32.*'int64'"),
    "a number as a type": (lambda a, b: cute_py.contract("ij,jk", a, b, compute=32), "compute is an element type, got 32"),
    "an array as a type": (
        lambda a, b: cute_py.contract("ij,jk", a, b, out_dtype=a),
        r"out_dtype is an element type, got array\(.*\n  next: out_dtype='float32'",
    ),
    "no type": (lambda a, b: cute_py.contract("ij,jk", a, b, compute=""), "compute is empty"),
    "compute and types": (lambda a, b: cute_py.contract("ij,jk", a, b, compute="int32"), "takes A and B of int8"),
    "epilogue": (lambda a, b: cute_py.contract("ij,jk", a, b, epilogue="relu"), "epilogue is a cute_py.Epilogue"),
    "activation": (lambda a, b: Epilogue(activation="tanh"), "activation is one of none, relu"),
    "bias": (
        lambda a, b: cute_py.contract("ij,jk", a, b, epilogue=Epilogue(bias=np.ones(7, "f4"))),
        r"cannot repeat bias to the shape of the result, \(3,5\)",
    ),
    "scale": (lambda a, b: Epilogue(scale="2"), "scale is a real number"),
    "scale that is too large": (lambda a, b: Epilogue(scale=10**400), r"scale is a real number .*got 1000+\.\.\.0+$"),
    "scale that is no number": (lambda a, b: Epilogue(scale=math.nan), "scale is a real number .*got nan"),
    "scale that is a flag": (lambda a, b: Epilogue(scale=np.True_), "scale is a real number"),
    "complex alpha": (lambda a, b: cute_py.contract("ij,jk", a, b, alpha=1j), "alpha is a real number"),
    "conj": (lambda a, b: cute_py.contract("ij,jk", a, b, conj_a=2), "conj_a is True or False"),
    "axes": (lambda a, b: cute_py.tensordot(a, b, ([0], [0, 1])), "not as many of A as of B"),
    "axis": (lambda a, b: cute_py.tensordot(a, b, ([5], [0])), "does not have"),
    "axes that differ": (lambda a, b: cute_py.tensordot(a, b, ([0], [0])), "axis 0 of A, of extent 3"),
    "matmul of a scalar": (lambda a, b: cute_py.matmul(a, np.array(1, "f4")), "a number is neither"),
    "matmul of a number": (lambda a, b: cute_py.matmul(2.0, a), r"(?s)a number is neither.*A float32 \(\):\(\) cpu"),
    "matmul of other K": (
        lambda a, b: cute_py.matmul(a, a),
        r"(?s)last mode of A, of extent 4, with the last but one of B, of extent 3\n  A float32 \(3,4\):\(4,1\) cpu\n"
        r"  B float32 \(3,4\):\(4,1\) cpu\n  next: .*gemm takes B \(N,K\)",
    ),
    "too much": (
        lambda a, b: cute_py.contract("ij,kl->", *(np.broadcast_to(np.float32(1), (2**30, 2**29)) for _ in "ab")),
        "more multiplications than 64 bits count",
    ),
    "more than 64 modes": (lambda a, b: cute_py.outer(np.ones((1,) * 64, "f4"), a), "more than 64 modes"),
    "a list": (lambda a, b: cute_py.contract("ij,jk", a, [[1.0]]), r"(?s)B is a list, not an array.*numpy\.asarray"),
    "a list to einsum": (
        lambda a, b: cute_py.einsum("ij,jk,kl", a, b, [[1.0]]),
        r"(?s)operand 3 is a list, not an array.*next: .*numpy\.asarray",
    ),
    "a tuple to matmul": (lambda a, b: cute_py.matmul(a, (1, 2)), "B is a tuple, not an array"),
    "a class": (lambda a, b: cute_py.contract("i,i->", np.float32, a), "A is the class float32, not an array"),
    "a class to matmul": (lambda a, b: cute_py.matmul(a, np.ndarray), "B is the class ndarray, not an array"),
    "a class to tensordot": (lambda a, b: cute_py.tensordot(np.float64, a), "A is the class float64, not"),
    "an int that the type does not hold": (
        lambda a, b: cute_py.contract(",ij", 10**400, a),
        r"10000.*\.\.\..* is no number of the type float32\n  next: pass an array without modes",
    ),
    "an int that int8 does not hold": (
        lambda a, b: cute_py.contract(",ij", 200, a.astype("i1")),
        "200 is no number of the type int8",
    ),
    "text": (lambda a, b: cute_py.contract(",ij", "2", a), "A is a str, not an array"),
    "einsum of nothing": (lambda a, b: cute_py.einsum("ij"), "got no array"),
    "einsum without subscripts": (
        lambda a, b: cute_py.einsum(a, b),
        r"got a ndarray of shape \(4, 5\)\n  next: einsum\('ij,jk->ik', A, B\)",
    ),
    "einsum with a negative index": (
        lambda a, b: cute_py.einsum(a, [-1, 5], b, [5, 2], [-1, 2]),
        r"integers from 0 to 51 and Ellipsis, got \[-1, 5\]",
    ),
    "einsum with an index too large": (lambda a, b: cute_py.einsum(a, [0, 52]), r"0 to 51 and Ellipsis, got \[0, 52\]"),
    "a semicolon": (
        lambda a, b: cute_py.einsum("ij;jk->ik", a, b),
        "have ';', which is no index and separates nothing: ',' separates operands",
    ),
    "a way to order pairs": (
        lambda a, b: cute_py.einsum("ij,jk,kl", a, b, b.T, optimize="gredy"),
        r"no way to order pairs called 'gredy'\n  next: near are 'greedy'",
    ),
    "a strange way": (
        lambda a, b: cute_py.einsum("ij,jk,kl", a, b, b.T, optimize="x"),
        r"called 'x'\n  next: use 'auto', .*'optimal'",
    ),
    "int8 three times": (
        lambda a, b: cute_py.einsum("ij,jk,kl", *(x.astype("i1") for x in (a, b, b.T))),
        r"more than two operands, and int8 takes two(?s:.)*operand 3 int8 \(5,4\)\n  next: convert the int8 operands",
    ),
    "a type among three": (
        lambda a, b: cute_py.einsum("ij,jk,kl", a, b.astype("i8"), b.T),
        r"multiplies float16, .*operand 2 is none of them(?s:.)*operand 2 int64 \(4,5\)\n(?s:.)*next: convert operand 2",
    ),
    "extents among three": (
        lambda a, b: cute_py.einsum("ij,jk,ik", a, b, b),
        r"one extent for index i, got 3 in operand 1 and 4 in operand 3\n  operand 1 float32 \(3,4\)",
    ),
    "a diagonal among three": (
        lambda a, b: cute_py.einsum("jj,jk,ik", a, b, b),
        "takes a diagonal of operand 1 along index j, whose extents 3 and 4 differ",
    ),
    "a diagonal of a later one among three": (
        lambda a, b: cute_py.einsum("ik,kk,ik->i", a, a[:1], a),
        "takes a diagonal of operand 2 along index k, whose extents 1 and 4 differ",
    ),
    "a number beside a list": (lambda a, b: cute_py.contract(",ij", 2.0, [[1.0]]), "B is a list, not an array"),
    "a number beside a tuple in einsum": (
        lambda a, b: cute_py.einsum("ij,,ij", a, 2.0, (1.0,)),
        "einsum: operand 3 is a tuple, not an array",
    ),
    "einsum with a strange option": (lambda a, b: cute_py.einsum("ij,jk,kl", a, b, b.T, out_dtype=3), "element type"),
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


def torch_type(name: str) -> Any:
    return getattr(pytest.importorskip("torch"), name)


def jax_type(name: str) -> Any:
    return getattr(pytest.importorskip("jax").numpy, name)


SPELLINGS: dict[str, tuple[str, Callable[[], Any]]] = {
    "a name": ("float64", lambda: "float64"),
    "NumPy's class": ("float64", lambda: np.float64),
    "NumPy's dtype": ("float64", lambda: np.dtype("f8")),
    "NumPy's code": ("float64", lambda: "f8"),
    "a code with the byte order": ("float64", lambda: "<f8" if sys.byteorder == "little" else ">f8"),
    "the native byte order": ("float64", lambda: "=f8"),
    "a word of C": ("float64", lambda: "double"),
    "Python's float": ("float64", lambda: float),
    "Python's complex": ("complex128", lambda: complex),
    "NumPy's complex": ("complex64", lambda: np.complex64),
    "a code of two": ("complex64", lambda: "c8"),
    "PyTorch's": ("float64", lambda: torch_type("float64")),
    "PyTorch's complex": ("complex64", lambda: torch_type("complex64")),
    "JAX's": ("float64", lambda: jax_type("float64")),
    "JAX's complex": ("complex64", lambda: jax_type("complex64")),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("argument", ["compute", "out_dtype"])
def test_a_type_in_the_words_of_any_library(argument: str, spelling: str, rng: np.random.Generator) -> None:
    name, dtype = SPELLINGS[spelling]
    a, b = draw(rng, (3, 4), exact=True), draw(rng, (4, 5), exact=True)
    options = {argument: dtype()} if argument == "compute" else {"compute": name, argument: dtype()}
    for result in (
        cute_py.gemm(a, b.T, **options),
        cute_py.matmul(a, b, **options),
        cute_py.contract("ij,jk", a, b, **options),
        cute_py.einsum("ij,jk,kl", a, b, np.eye(5, dtype="f4"), **options),
        cute_py.tensordot(a, b, 1, **options),
        cute_py.contract.plan("ij,jk", a, b, **options)(a, b),
    ):
        assert result.dtype == name
        np.testing.assert_allclose(result, a @ b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        (lambda: numpy_type("bfloat16"), "bfloat16"),
        (lambda: numpy_type("bfloat16").type, "bfloat16"),
        (lambda: torch_type("bfloat16"), "bfloat16"),
        (lambda: jax_type("bfloat16"), "bfloat16"),
        (lambda: torch_type("half"), "float16"),
        (lambda: np.half, "float16"),
        (lambda: "e", "float16"),
    ],
)
def test_a_half_in_the_words_of_any_library(dtype: Callable[[], Any], name: str, rng: np.random.Generator) -> None:
    a = draw(rng, (3, 4), exact=True)
    assert cute_py.gemm(a, a, out_dtype=dtype()).dtype == numpy_type(name)


def test_tfloat32_is_a_type_to_compute_in(rng: np.random.Generator) -> None:
    a = draw(rng, (3, 4), exact=True)
    assert cute_py.gemm.explain(a, a, compute="tfloat32", device="emulator").compute == "tfloat32"


@pytest.mark.parametrize(
    "call",
    [
        lambda a: cute_py.tensordot(a, a, 1),
        lambda a: cute_py.inner(a, a),
        lambda a: cute_py.outer(a, a),
        lambda a: cute_py.matmul(a, a),
    ],
    ids=["tensordot", "inner", "outer", "matmul"],
)
def test_an_error_names_the_function_that_was_called(call: Callable[[np.ndarray], Any], request: Any) -> None:
    with pytest.raises(OperandError, match=rf"^{request.node.callspec.id} multiplies float8.*A is none of them"):
        call(np.ones((3, 3), "i8"))


@pytest.mark.parametrize("function", [cute_py.tensordot, cute_py.inner, cute_py.outer, cute_py.matmul])
def test_an_unknown_option_is_one_of_the_function_that_was_called(function: Callable[..., Any]) -> None:
    a = np.ones((3, 3), "f4")
    with pytest.raises(TypeError, match=rf"^{function.__name__}\(\) got an unexpected keyword argument 'casting'"):
        function(a, a, casting="same_kind")


@pytest.mark.parametrize("dtype", ["i8", "u1", "?", object])
def test_an_error_of_one_operand_shows_one_operand(dtype: Any) -> None:
    with pytest.raises(OperandError) as error:
        cute_py.einsum("ij->j", np.ones((2, 3), dtype))
    assert "\n  B " not in str(error.value)
    assert "einsum('ij->j')" in str(error.value) or "A (numpy.ndarray" in str(error.value)


@pytest.mark.parametrize(
    ("first", "second"),
    [((2, 1), (3, 2)), ((1,), (2,)), ((2,), (1, 2)), ((2, 3), (1, 4)), ((2, 3), (1,)), ((5, 2, 1), (5, 3, 2))],
)
def test_matmul_repeats_no_summed_mode(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    a, b = np.ones(first, "f4"), np.ones(second, "f4")
    with pytest.raises(ValueError, match="mismatch"):
        np.matmul(a, b)
    with pytest.raises(OperandError, match=r"matmul sums the last mode of A"):
        cute_py.matmul(a, b)


NUMBERS: dict[str, Any] = {
    "a bool": True,
    "an int": -3,
    "a float": 2.5,
    "a complex": 1.5 - 2j,
    "a float16": np.float16(2.5),
    "a float32": np.float32(2.5),
    "a float64": np.float64(2.5),
    "a complex64": np.complex64(1 + 2j),
    "a complex128": np.complex128(1 + 2j),
}


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("factor", ["float16", "float32", "float64", "complex64", "complex128"])
def test_numbers_are_operands_as_in_numpy(factor: str, number: str, rng: np.random.Generator) -> None:
    a, x = draw(rng, (3, 4), np.dtype(factor), exact=True), NUMBERS[number]
    expected = x * a
    for result in (
        cute_py.contract(",ij->ij", x, a),
        cute_py.contract("ij,->ij", a, x),
        cute_py.einsum(",ij", x, a),
        cute_py.einsum(a, [0, 1], x, [], [0, 1]),
        cute_py.einsum("ij,,->ij", a, x, True),
        cute_py.inner(x, a),
        cute_py.inner(a, x),
        cute_py.outer(x, a),
        cute_py.outer(a, x),
        cute_py.tensordot(x, a, 0),
    ):
        np.testing.assert_array_equal(result, expected)
        assert result.dtype == expected.dtype
    assert cute_py.contract.explain(",ij->ij", x, a).operands[2].startswith(f"C {expected.dtype}")


@pytest.mark.parametrize("first", ["a float", "a complex", "a float64"])
@pytest.mark.parametrize("second", ["a float", "a complex", "a float64"])
def test_numbers_alone_are_of_double_precision(first: str, second: str) -> None:
    x, y = NUMBERS[first], NUMBERS[second]
    result = cute_py.einsum(",", x, y)
    assert result == x * y
    assert type(result) is type(np.multiply(x, y))


def test_numbers_beside_integers_and_several_types(rng: np.random.Generator) -> None:
    a = draw(rng, (3, 4), np.int8, exact=True)
    np.testing.assert_array_equal(cute_py.contract(",ij", -100, a), -100 * a.astype("i4"))
    with pytest.raises(UnsupportedProblemError, match="int8 only by int8"):
        cute_py.contract(",ij", 0.5, a)
    mixed = a.astype("f4"), a.astype("f8")
    # A number takes the widest type beside it, not that of the first array that it meets.
    result = cute_py.einsum(",ij,ij->ij", 0.1, *mixed, optimize=False)
    np.testing.assert_array_equal(result, np.float64(0.1) * mixed[0] * mixed[1])
    with pytest.raises(OperandError, match="none of them"):
        cute_py.contract(",ij", np.int64(3), mixed[0])


VECTOR_PRODUCTS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "matmul": (cute_py.matmul, np.matmul),
    "inner": (cute_py.inner, np.inner),
    "tensordot": (lambda a, b, **o: cute_py.tensordot(a, b, 1, **o), lambda a, b: np.tensordot(a, b, 1)),
    "einsum": (lambda a, b, **o: cute_py.einsum("i,i->", a, b, **o), lambda a, b: np.einsum("i,i->", a, b)),
    "einsum of one": (lambda a, b, **o: cute_py.einsum("i->", a, **o), lambda a, b: np.einsum("i->", a)),
    "einsum of three": (
        lambda a, b, **o: cute_py.einsum("i,i,i->", a, b, a, **o),
        lambda a, b: np.einsum("i,i,i->", a, b, a),
    ),
    "contract": (lambda a, b, **o: cute_py.contract("i,i->", a, b, **o), lambda a, b: np.einsum("i,i->", a, b)),
    "outer": (lambda a, b, **o: cute_py.outer(a[0], b[0], **o), lambda a, b: np.multiply.outer(a[0], b[0])),
}


@pytest.mark.parametrize("name", VECTOR_PRODUCTS)
@pytest.mark.parametrize("factor", ["float16", "float32", "float64", "complex64", "complex128"])
def test_results_without_modes_are_of_numpys_kind(name: str, factor: str, rng: np.random.Generator) -> None:
    ours, numpys = VECTOR_PRODUCTS[name]
    a, b = (draw(rng, (4,), np.dtype(factor), exact=True) for _ in "ab")
    result, expected = ours(a, b), numpys(a, b)
    assert type(result) is type(expected)
    assert result.dtype == expected.dtype
    assert result == expected
    out = np.zeros((), result.dtype)
    assert ours(a, b, out=out) is out
    assert out == expected


def test_einsum_of_halves_in_a_wider_type(rng: np.random.Generator) -> None:
    for half, count in itertools.product(("float16", "bfloat16"), (1, 2, 3)):
        arrays = [draw(rng, (3, 3), numpy_type(half), exact=True) for _ in range(count)]
        subscripts = ",".join(["ij", "jk", "kl"][:count]) + "->i" + "jkl"[count - 1]
        wide = np.einsum(subscripts, *(x.astype("f8") for x in arrays))
        for compute in ("float64", "complex64", "complex128"):
            result = cute_py.einsum(subscripts, *arrays, compute=compute)
            assert result.dtype == compute
            np.testing.assert_array_equal(result, wide)
        assert cute_py.einsum(subscripts, *arrays, compute="float32").dtype == numpy_type(half)
        assert cute_py.einsum(subscripts, *arrays, compute="float64", out_dtype="float32").dtype == np.float32


def test_an_einsum_finds_its_pairs_once(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    import opt_einsum

    found = []
    original = opt_einsum.contract_path

    def contract_path(*arguments: Any, **options: Any) -> Any:
        found.append(arguments)
        return original(*arguments, **options)

    monkeypatch.setattr(opt_einsum, "contract_path", contract_path)
    subscripts = "ab,bc,cd,de,ef,fa->"
    n = 11  # an extent that no other test asks for
    for count, (extent, dtype, optimize) in enumerate(
        [(n, "f4", "auto"), (n, "f4", "greedy"), (n + 1, "f4", "auto"), (n, "f8", "auto"), (n, "f2", True)], 1
    ):
        for _ in range(3):
            arrays = [draw(rng, (extent, extent), np.dtype(dtype)) for _ in range(6)]
            result = cute_py.einsum(subscripts, *arrays, optimize=optimize)
            expected = np.einsum(subscripts, *(x.astype("f8") for x in arrays), optimize=True)
            np.testing.assert_allclose(result, expected, rtol=1e-2 if dtype == "f2" else 1e-3)
        assert len(found) == count


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
        plan = cute_py.contract.plan("abk,ck->abc", A, B, device=target, alpha=2)
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
    plan = cute_py.gemm.plan(A[:, 0], A[:, 1], C, beta=-1)
    expected = A[:, 0] @ A[:, 1].T - C
    assert plan(A[:, 0], A[:, 1], C) is C
    np.testing.assert_array_equal(C, expected)
    with pytest.raises(OperandError, match="no C was given"):
        plan(A[:, 0], A[:, 1])
    own = cute_py.contract.plan("ijk,jn->jn", draw(rng, (20, 9, 15)), draw(rng, (9, 70)))
    assert own.workspace_bytes > 0
    assert "cpu" in repr(own)


def test_a_plan_is_used_by_eight_threads(rng: np.random.Generator) -> None:
    A, B = draw(rng, (8, 60, 50), exact=True), draw(rng, (8, 40, 50), exact=True)
    plan = cute_py.gemm.plan(A[0], B[0])
    own = cute_py.contract.plan("ij,jk->k", A[0], B[0].T)
    with ThreadPoolExecutor(8) as pool:
        for _ in range(20):
            results = list(pool.map(plan, A, B))
            sums = list(pool.map(own, A, [b.T for b in B]))
            for a, b, c, s in zip(A, B, results, sums, strict=True):
                np.testing.assert_array_equal(c, a @ b.T)
                np.testing.assert_array_equal(s, (a @ b.T).sum(0))


def test_a_plan_knows_arrays_again_that_fit(rng: np.random.Generator) -> None:
    A, B = draw(rng, (24, 30), exact=True), draw(rng, (16, 30), exact=True)
    plan = cute_py.gemm.plan(A, B)
    out, wrong = np.zeros((24, 16), np.float32), np.zeros((16, 24), np.float32).T
    for _ in range(3):
        out[...] = -1
        assert plan(A, B, out=out) is out
        np.testing.assert_array_equal(out, A @ B.T)
        np.testing.assert_array_equal(plan(A, B), out)
        with pytest.raises(OperandError, match="not laid out like those of the plan"):
            plan(A, B, out=wrong)
        with pytest.raises(OperandError, match="not laid out like those of the plan"):
            plan(A[:, :29], B[:, :29])


@pytest.mark.gpu
@pytest.mark.parametrize(("dtype", "n"), [("float16", 128), ("float32", 48), ("float64", 48), ("float32", 2)])
def test_sums_of_parts_need_no_memory_that_was_cleared(dtype: str, n: int, rng: np.random.Generator) -> None:
    """CTAs count themselves in a workspace that holds anything, also when a graph launches the same kernel again."""
    cupy = pytest.importorskip("cupy")
    A, B = (cupy.asarray(draw(rng, (rows, 20000), exact=True)).astype(dtype) for rows in (130, n))
    out = cupy.zeros((130, n), dtype)
    plan = cute_py.gemm.plan(A, B, out=out)
    assert plan.workspace_bytes > 0
    expected = (A.astype("float64") @ B.astype("float64").T).get().astype(dtype)
    stream = cupy.cuda.Stream(non_blocking=True)
    workspace = cupy.zeros(plan.workspace_bytes, cupy.uint8)
    plan(A, B, out=out, workspace=workspace)
    cupy.cuda.Device().synchronize()
    with stream:
        stream.begin_capture()
        plan(A, B, out=out, stream=stream, workspace=workspace)
        graph = stream.end_capture()
    for seed in range(30):
        if seed % 3 > 0:
            content = np.random.default_rng(seed).integers(0, 256, workspace.size, np.uint8)
            workspace.set(content if seed % 3 == 1 else np.full_like(content, 255 * (seed % 2)))
        out.fill(-1)
        cupy.cuda.Device().synchronize()
        if seed % 2 == 0:
            graph.launch(stream)
        else:
            plan(A, B, out=out, workspace=workspace)
        cupy.cuda.Device().synchronize()
        np.testing.assert_array_equal(out.get(), expected)


@pytest.mark.gpu
def test_a_plan_is_used_on_four_streams_and_in_a_graph(rng: np.random.Generator) -> None:
    cupy = pytest.importorskip("cupy")
    A, B = (cupy.asarray(draw(rng, shape, exact=True)) for shape in ((64, 6000), (48, 6000)))
    plan = cute_py.gemm.plan(A, B)
    assert plan.workspace_bytes > 0  # a long K is split
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
    with pytest.raises(OperandError, match="workspace is a dense writable array"):
        plan(A, B, out=out, workspace=workspace[:-256])


@pytest.mark.gpu
def test_a_plan_is_used_by_eight_threads_on_one_stream(rng: np.random.Generator) -> None:
    """Each call has a workspace of its own, so it does not matter whose launches come first."""
    cupy = pytest.importorskip("cupy")
    A, B = (cupy.asarray(draw(rng, (8, rows, 6000), exact=True)) for rows in (64, 48))
    plan = cute_py.gemm.plan(A[0], B[0])
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
        assert cute_py.gemm.explain(X, Y, C).candidates[0].split_k > 1
        bias = cupy.asarray(draw(rng, (50,), np.float64 if factor == "float64" else np.float32))
        cute_py.gemm(X, Y, C)
        first = C.get()
        check_contract("mk,nk->mn", first, A, B)
        cute_py.gemm(X, Y, C)
        np.testing.assert_array_equal(C.get(), first)
        if factor == "float32":
            with_bias = cute_py.gemm(X, Y, epilogue=Epilogue(bias=bias, activation="relu")).get()
            # By another kernel, in other parts: rounded elsewhere.
            np.testing.assert_allclose(with_bias, np.maximum(first + bias.get(), 0), rtol=1e-5, atol=1e-6 * k)
