"""Bad input: every mistake gets an OperandError that names the argument and a way out, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cute_py
from cute_py import OperandError, _core
from problems import PRODUCTS, parameter_name

f32 = np.float32


def ones(*shape: int, dtype: Any = f32, order: Any = "C") -> np.ndarray:
    return np.ones(shape, dtype, order=order)


BAD_INPUT: dict[str, tuple[Callable[[], Any], str]] = {
    "a list": (lambda: cute_py.gemm([[1.0]], ones(1, 1)), r"A is a list, not an array"),
    "None": (lambda: cute_py.gemm(ones(2, 2), None), r"B is a NoneType, not an array"),
    "a number": (lambda: cute_py.gemm(ones(2, 2), 3.0), r"B is a float, not an array"),
    "a vector": (lambda: cute_py.gemm(ones(3), ones(2, 3)), r"A has rank 1.*A float32 \(3\):\(1\) cpu"),
    "four modes": (lambda: cute_py.gemm(ones(2, 3), ones(2, 3, 4, 5)), r"B has rank 4"),
    "other L": (lambda: cute_py.gemm(ones(2, 3, 4), ones(2, 3, 5)), r"same L.*got 4 and 5"),
    "a scalar array": (lambda: cute_py.gemm(np.array(1, f32), ones(2, 3)), r"A has rank 0"),
    "other K": (lambda: cute_py.gemm(ones(2, 3), ones(5, 4)), r"same K.*got 3 and 4.*A float32 \(2,3\):\(3,1\) cpu"),
    "B as (K,N)": (lambda: cute_py.gemm(ones(2, 3), ones(3, 5)), r"next: B is \(K,N\) here; pass B\.T"),
    "int64": (lambda: cute_py.gemm(ones(2, 3), ones(2, 3, dtype="i8")), r"multiplies float8.*B is none of.*convert B"),
    "int32": (lambda: cute_py.gemm(ones(2, 3, dtype="i4"), ones(2, 3)), r"A is none of them"),
    "float16 given to sgemm": (
        lambda: cute_py.sgemm_tn(ones(2, 3, dtype="f2"), ones(2, 3, dtype="f2")),
        r"sgemm_tn multiplies float32.*A float16",
    ),
    "integers": (lambda: cute_py.gemm(ones(2, 3, dtype="i4"), ones(2, 3)), r"A int32.*convert A"),
    "complex given to dgemm": (
        lambda: cute_py.dgemm_tn(ones(2, 3, dtype="c16"), ones(2, 3)),
        r"multiplies float64.*A complex128",
    ),
    "big endian": (
        lambda: cute_py.gemm(ones(2, 3, dtype=">f4"), ones(2, 3)),
        r"A \(numpy.ndarray, dtype >f4\) cannot be",
    ),
    "objects": (
        lambda: cute_py.gemm(ones(2, 3, dtype=object), ones(2, 3)),
        r"A \(numpy.ndarray, dtype object\) cannot",
    ),
    "strings": (lambda: cute_py.gemm(np.array([["a"]]), ones(1, 1)), r"A \(numpy.ndarray, dtype <U1\) cannot"),
    "strides in fractions of an element": (
        lambda: cute_py.gemm(np.zeros(4, [("x", "i1"), ("y", f32)])["y"][:, None], ones(2, 1)),
        r"A \(numpy.ndarray, dtype float32\) cannot be exported",
    ),
    "nt with A k-major": (
        lambda: cute_py.sgemm_nt(ones(4, 3), ones(5, 3, order="F")),
        r"A m-major: strides \(1, ldA\).*A is k-major.*cute_py\.gemm.*asfortranarray\(A\)",
    ),
    "nt with B k-major": (
        lambda: cute_py.sgemm_nt(ones(4, 3, order="F"), ones(5, 3)),
        r"B n-major: strides \(1, ldB\).*B is k-major",
    ),
    "tn with A m-major": (
        lambda: cute_py.sgemm_tn(ones(4, 3, order="F"), ones(5, 3)),
        r"A k-major: strides \(ldA, 1\).*A is m-major.*ascontiguousarray\(A\)",
    ),
    "nn with both non-unit": (
        lambda: cute_py.sgemm_nn(ones(8, 6, order="F")[::2, ::2], ones(5, 3)),
        r"A is neither m-major nor k-major",
    ),
    "tt with its leading dimension is 2": (
        lambda: cute_py.sgemm_tt(np.lib.stride_tricks.as_strided(ones(9), (4, 3), (8, 4)), ones(5, 3, order="F")),
        r"A k-major: strides \(ldA, 1\), ldA >= 3.*its leading dimension is 2",
    ),
    "nt with C row-major": (
        lambda: cute_py.sgemm_nt(ones(4, 3, order="F"), ones(5, 3, order="F"), ones(4, 5)),
        r"C m-major: strides \(1, ldC\).*C is n-major",
    ),
    "C of another shape": (lambda: cute_py.gemm(ones(2, 3), ones(4, 3), ones(4, 2)), r"needs C \(M,N\) = \(2,4\)"),
    "C of another rank": (lambda: cute_py.gemm(ones(2, 3), ones(4, 3), ones(8)), r"needs C \(M,N\) = \(2,4\)"),
    "C of another type": (
        lambda: cute_py.gemm(ones(2, 3), ones(4, 3), ones(2, 4, dtype="f8")),
        r"writes float8_e4m3fn, float8_e5m2, float16, bfloat16, float32, int8.*C float64.*pass a float32 C",
    ),
    "C no array": (lambda: cute_py.gemm(ones(2, 3), ones(4, 3), "C"), r"C is a str, not an array"),
    "beta without C": (lambda: cute_py.gemm(ones(2, 3), ones(4, 3), beta=1.0), r"no C was given.*pass C, or beta=0"),
    "unknown kernel": (
        lambda: cute_py.gemm(ones(2, 3), ones(4, 3), kernel="sgem_sm70"),
        r"no kernel is called 'sgem_sm70'; near: .*sgemm_sm70",
    ),
    "kernel like nothing": (lambda: cute_py.gemm(ones(2, 3), ones(4, 3), kernel="?"), r"there are: sgemm_1, sgemm_2"),
    "empty kernel name": (lambda: cute_py.gemm(ones(2, 3), ones(4, 3), kernel=""), r"no kernel is called ''"),
    "unknown device": (lambda: cute_py.gemm(ones(2, 3), ones(4, 3), device="gpu"), r"device 'gpu' is none of"),
    "unknown GPU": (lambda: cute_py.gemm(ones(2, 3), ones(4, 3), device="cuda:x"), r"device 'cuda:x' is none of"),
    "a CPU kernel in the emulator": (
        lambda: cute_py.gemm(ones(2, 3), ones(4, 3), kernel="cpu", device="emulator"),
        r"kernel 'cpu' runs on the CPU, not on 'emulator'",
    ),
    "a GPU kernel on the CPU": (
        lambda: cute_py.gemm(ones(2, 3), ones(4, 3), kernel="sgemm_1", device="cpu"),
        r"kernel 'sgemm_1' does not run on the CPU.*device='emulator'",
    ),
    "a negative stream": (lambda: cute_py.gemm(ones(2, 3), ones(4, 3), stream=-7), r"stream is a handle >= 0"),
    "a negative leading dimension": (
        lambda: cute_py.sgemm_nt(ones(4, 3, order="F")[:, ::-1], ones(5, 3, order="F")),
        r"A is m-major, but its leading dimension is -4",
    ),
    "no stream": (lambda: cute_py.gemm(ones(2, 3), ones(4, 3), stream="fast"), r"stream is neither"),
    "an unknown order": (
        lambda: cute_py.EmulatorOptions(order="sideways"),
        r"order is one of forward, backward, random",
    ),
    "a negative seed": (lambda: cute_py.EmulatorOptions(seed=-1), r"seed is an integer in"),
    "no threads": (lambda: cute_py.set_num_threads(0), r"threads is an integer from 1"),
}


@pytest.mark.parametrize("mistake", BAD_INPUT)
def test_a_mistake_is_named(mistake: str) -> None:
    call, message = BAD_INPUT[mistake]
    with pytest.raises(OperandError, match=f"(?s){message}"):
        call()


@pytest.mark.parametrize(
    "value", ["1", b"1", None, [], [1.0], 1 + 2j, np.complex64(1), np.ones(2), 10**400, object()], ids=parameter_name
)
@pytest.mark.parametrize("name", ["alpha", "beta"])
def test_scalars_are_real_numbers(name: str, value: object) -> None:
    with pytest.raises(OperandError, match=f"{name} is a (real )?number"):
        cute_py.gemm(ones(2, 3), ones(4, 3), ones(2, 4), **{name: value})


@pytest.mark.parametrize("value", [2, 2.0, True + 1, np.float64(2), np.float16(2), np.int8(2), np.array(2.0)], ids=repr)
def test_numbers_of_any_library_are_scalars(value: float) -> None:
    np.testing.assert_array_equal(cute_py.gemm(ones(2, 3), ones(4, 3), alpha=value), 6)


@pytest.mark.parametrize("name", ["kernel", "device"])
@pytest.mark.parametrize("value", [0, 1, False, b"cpu", ["auto"], "", "\ud800", object()], ids=parameter_name)
def test_names_are_names(name: str, value: object) -> None:
    for call in (cute_py.gemm, cute_py.gemm.explain):
        with pytest.raises(OperandError, match=name):
            call(ones(2, 3), ones(4, 3), **{name: value})


@pytest.mark.parametrize("value", ["forward", {}, 0, False, cute_py.EmulatorOptions], ids=str)
def test_emulator_options_are_options(value: object) -> None:
    with pytest.raises(OperandError, match=r"emulator is a cute_py\.EmulatorOptions or None"):
        cute_py.gemm(ones(2, 3), ones(4, 3), emulator=value)


@pytest.mark.parametrize("value", [2.5, "4", [], True, 0, -1, 2**31], ids=str)
def test_threads_are_a_small_positive_integer(value: object) -> None:
    with pytest.raises(OperandError, match="threads is an integer"):
        cute_py.set_num_threads(value)
    np.testing.assert_array_equal(cute_py.gemm(ones(2, 3), ones(4, 3)), 3)


class Stream:
    def __init__(self, **attributes: object) -> None:
        self.__dict__.update(attributes)


@pytest.mark.parametrize(
    "value", ["fast", 2.5, True, 2**70, Stream(ptr="x"), Stream(ptr=-5), Stream()], ids=parameter_name
)
def test_streams_are_streams(value: object) -> None:
    with pytest.raises(OperandError, match="stream is"):
        cute_py.gemm(ones(2, 3), ones(4, 3), stream=value)


def test_masked_arrays_are_refused() -> None:
    masked = np.ma.masked_array(ones(2, 3), mask=[[0, 1, 0], [0, 0, 0]])
    with pytest.raises(OperandError, match=r"B is a masked array.*\n  next: pass B\.filled"):
        cute_py.gemm(ones(2, 3), masked)
    with pytest.raises(OperandError, match=r"out is a masked array.*\n  next: pass out\.data"):
        cute_py.gemm(ones(2, 3), ones(3, 3), out=masked)


@pytest.mark.parametrize(
    ("dtype", "advice"),
    [
        (">f8", r"such as A\.astype\(A\.dtype\.newbyteorder\('='\)\)"),
        (">c16", r"such as A\.astype\(A\.dtype\.newbyteorder\('='\)\)"),
        ("O", r"such as numpy\.array\(A, dtype=numpy\.float64\)"),
    ],
)
def test_what_cannot_be_exported_is_told_how(dtype: str, advice: str) -> None:
    A = ones(2, 3).astype(dtype)
    with pytest.raises(OperandError, match=rf"A \(numpy.ndarray, dtype .*cannot be exported: .*\n  next: .*{advice}"):
        cute_py.gemm(A, A)
    with pytest.raises(OperandError, match=r"out \(numpy.ndarray.*\n  next: .*; out\[...\] = a new result converts it"):
        cute_py.gemm(ones(2, 3), ones(2, 3), out=np.zeros((2, 2), dtype))


def test_a_complex_alpha_of_real_numbers_is_refused() -> None:
    with pytest.raises(
        OperandError, match=r"alpha is a real number, and a complex one was given\n  next: convert A or B"
    ):
        cute_py.gemm(ones(2, 3), ones(2, 3), alpha=1j)


def test_errors_are_also_the_builtin_ones() -> None:
    assert issubclass(OperandError, ValueError)
    assert issubclass(cute_py.UnsupportedProblemError, NotImplementedError)
    assert issubclass(cute_py.CudaError, RuntimeError)
    for error in (OperandError, cute_py.UnsupportedProblemError, cute_py.CudaError, cute_py.LayoutError):
        assert issubclass(error, cute_py.CuteError)


def test_an_entry_that_does_not_fit_says_why() -> None:
    A = ones(100, 16, order="F")
    with pytest.raises(cute_py.UnsupportedProblemError, match=r"(?s)sgemm_2_nt_f32: .*\(100,100,16\) is no multiple"):
        cute_py.sgemm_nt(A, A, kernel="sgemm_2_nt_f32", device="emulator")
    A = ones(129, 16, order="F")[1:]
    message = r"(?s)A's pointer or leading dimension is not a multiple of 16 bytes"
    with pytest.raises(cute_py.UnsupportedProblemError, match=message):
        cute_py.sgemm_nt(A, A, kernel="sgemm_2_nt_f32", device="emulator")


def test_read_only() -> None:
    A, B, C = ones(4, 3), ones(5, 3), np.zeros((4, 5), f32)
    A.flags.writeable = B.flags.writeable = False
    np.testing.assert_array_equal(cute_py.gemm(A, B), 3)  # inputs may be read-only
    C.flags.writeable = False
    with pytest.raises(OperandError, match="C, which is read-only"):
        cute_py.gemm(A, B, C)
    assert (C == 0).all()


def test_arrays_of_numpy_are_read_as_they_lie() -> None:
    """What NumPy says of an array, for every type, and of those that have to be refused."""
    import ml_dtypes

    rng = np.random.default_rng(0)
    types = ["float16", "float32", "float64", "complex64", "complex128", "int8", "int32"]
    for dtype in [*types, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]:
        whole = rng.integers(-2, 3, (9, 11, 13)).astype(dtype)
        for x in (
            whole,
            whole[::2, ::-1, 1::3],
            whole.T,
            whole[:, None, 2],
            whole[3:3],
            np.broadcast_to(whole[0], (2, 11, 13)),
        ):
            for _ in range(2):  # types of other libraries are looked up the first time
                found = cute_py.permute(x, (2, 0, 1))
                assert found.dtype == x.dtype
                np.testing.assert_array_equal(found.view("u1"), np.ascontiguousarray(x.transpose(2, 0, 1)).view("u1"))
    A = ones(4, 4)
    for swapped in (A.astype(">f4"), A.astype(">f8")):
        with pytest.raises(OperandError, match="native byte order"):
            cute_py.gemm(swapped, A)
    will_be_read_only = np.broadcast_arrays(ones(4, 1), A)[0]
    with pytest.raises(OperandError, match="C, which is read-only"):
        cute_py.gemm(A, A, will_be_read_only)
    for unsuitable in (ones(4, 4, dtype="longdouble"), ones(4, 4, dtype=bool), ones(4, 4, dtype="U1")):
        with pytest.raises(OperandError, match="A"):
            cute_py.gemm(unsuitable, A)
    pairs = np.zeros(4, [("a", "i1"), ("b", "f4", 4)])["b"]  # rows 17 bytes apart
    with pytest.raises(OperandError, match="A"):
        cute_py.gemm(pairs, A)


def test_overlap() -> None:
    X = ones(8, 8)
    refused = {
        "the same array": (X, X, X),
        "C in B": (ones(8, 8), X, X),
        "a shifted view": (X[:4, :4], ones(4, 4), X[1:5, 1:5]),
        "the transposed array": (X, ones(8, 8), X.T),
        "one element": (X[:4, :4], ones(4, 4), X[3:7, 3:7]),
        "the reversed array": (X[::-1, ::-1], ones(8, 8), X),
        "a broadcast row": (np.broadcast_to(X[3, :4], (4, 4)), ones(4, 4), X[:4, :4]),
    }
    for name, (A, B, C) in refused.items():
        before = C.copy()
        with pytest.raises(OperandError, match=r"C, which may overlap [AB]"):
            cute_py.gemm(A, B, C)
        np.testing.assert_array_equal(C, before, err_msg=name)

    allowed = {
        "other columns of one matrix": (X[:4, :4], ones(4, 4), X[:4, 4:]),
        "other rows of one matrix": (X[:4], ones(8, 8), X[4:]),
        "interleaved columns": (X[:4, ::2], ones(4, 4), X[:4, 1::2]),
        "columns that wrap round": (X[:4, 5:8], ones(4, 3), X[1:5, :4]),
        "A and B the same": (X[:4, :4], X[:4, :4], ones(4, 4)),
        "empty": (X[:0], ones(8, 8), X[:0]),
    }
    for name, (A, B, C) in allowed.items():
        expected = A @ B.T
        cute_py.gemm(A, B, C)
        np.testing.assert_array_equal(C, expected, err_msg=name)


def refusal(call: Callable[[], Any]) -> str | None:
    """Return the message of the OperandError that a call raises, if it does."""
    try:
        call()
    except OperandError as error:
        return str(error)
    return None


def test_overlap_is_never_missed(rng: np.random.Generator) -> None:
    """A false alarm is allowed, a missed overlap is not: the judge is numpy.shares_memory, which is exact."""
    memory = np.zeros(400, f32)
    found = refused = 0
    for _ in range(3000):

        def view() -> np.ndarray:
            shape = rng.integers(1, 6, 2)
            strides = rng.integers(-9, 10, 2)
            low = sum(min((e - 1) * s, 0) for e, s in zip(shape, strides, strict=True))
            first = rng.integers(-low, 200)
            return np.lib.stride_tricks.as_strided(memory[first:], shape, 4 * strides)

        A, C = view(), view()
        if np.lib.array_utils.byte_bounds(C)[0] < memory.ctypes.data:
            continue
        offsets = np.add.outer(*(np.arange(e) * s for e, s in zip(C.shape, C.strides, strict=True)))
        own = np.unique(offsets).size == C.size
        B = np.ones((C.shape[1], A.shape[1]), f32)
        if A.shape[0] != C.shape[0]:
            continue
        overlap = np.shares_memory(A, C)
        found += overlap
        message = refusal(lambda A=A, B=B, C=C: cute_py.gemm(A, B, C))
        refused += message is not None
        if message is None:
            assert own
            assert not overlap
        else:
            assert ("several elements in one place" in message) == (not own)
    assert found > 20
    assert refused < 600


def test_c_with_shared_elements() -> None:
    for strides in ((0, 4), (4, 0), (8, 12)):
        C = np.lib.stride_tricks.as_strided(np.zeros(64, f32), (4, 5), strides)
        with pytest.raises(OperandError, match="several elements in one place"):
            cute_py.gemm(ones(4, 3), ones(5, 3), C)


def test_extents_over_32_bits_are_right_or_refused() -> None:
    """A zero stride makes a long operand out of little memory."""
    long = np.broadcast_to(np.ones((1, 1), f32), (2**31 + 5, 1))
    assert cute_py.gemm(long, np.ones((0, 1), f32)).shape == (2**31 + 5, 0)
    with pytest.raises(cute_py.UnsupportedProblemError, match="an extent is over"):
        cute_py.gemm(long.T, long.T, kernel="sgemm_1", device="emulator")


@pytest.mark.parametrize("kernel", sorted({v.kernel for v in PRODUCTS if v.predicated}))
def test_offsets_over_32_bits_are_right(kernel: str, rng: np.random.Generator, tmp_path: Path) -> None:
    """Rows more than 2^31 elements apart, in a sparse file."""
    on_cpu = any(variant.kernel == kernel and "cpu" in variant.targets for variant in cute_py.kernels().values())
    device = "cpu" if on_cpu else "emulator"
    by_tma = kernel in ("wgmma_tma_sm90", "gemm_sm90")  # which asks for multiples of 16 bytes
    dtype, apart = (np.dtype(np.float16), 2**31 + 8) if by_tma else (np.dtype(f32), 2**31 + 7)
    sparse = np.memmap(tmp_path / "sparse", dtype, "w+", shape=(2 * apart + 8,))
    far = np.lib.stride_tricks.as_strided(sparse, (3, 5), (dtype.itemsize * apart, dtype.itemsize))
    far[...] = rng.integers(-8, 9, far.shape)
    near = np.zeros((4, 8 if by_tma else 5), dtype)[:, :5]
    near[...] = rng.integers(-8, 9, near.shape)
    options = {"kernel": kernel, "device": device, "compute": "tfloat32" if kernel == "gemm_sm80" else None}
    np.testing.assert_array_equal(cute_py.gemm(far, near, **options), far @ near.T)
    np.testing.assert_array_equal(cute_py.gemm(near, far, **options), near @ far.T)
    C = far[:, :4]
    cute_py.gemm(near[:3], near, C, **options)
    np.testing.assert_array_equal(C, near[:3] @ near.T)


@pytest.mark.parametrize(
    ("short", "long"),
    [("bf16", "bfloat16"), ("fp16", "float16"), ("fp32", "float32"), ("f4", "float32")],
)
def test_short_names_of_types(short: str, long: str) -> None:
    A = np.ones((2, 3), np.float16)
    result = cute_py.gemm(A, A, out_dtype=short)
    assert (result.dtype.name, result.dtype) == (long, cute_py.gemm(A, A, out_dtype=long).dtype)
    assert cute_py.gemm(A, A, compute="fp64").dtype == np.float64


@pytest.mark.parametrize(
    ("rules", "error"),
    [
        ({"take_c": True}, r"make_product\(\) got an unexpected keyword argument 'take_c'"),
        ({"layout": 3}, r"make_product\(\) got a int for 'layout'"),
        ({"labels": ("m", "n")}, r"make_product\(\) got a tuple for 'labels'"),
    ],
)
def test_the_rules_of_a_product_are_read_by_name(rules: dict[str, Any], error: str) -> None:
    with pytest.raises(TypeError, match=error):
        _core.make_product("gemm", **rules)


@pytest.mark.parametrize(
    ("rules", "most"),
    [
        ({}, 3),
        ({"takes_c": False}, 2),
        ({"what": "axes"}, 4),
        ({"copies": True}, 2),
        ({"copies": True, "what": "axes", "what_is_first": False}, 3),
    ],
)
def test_the_rules_say_how_many_arguments_have_a_position(rules: dict[str, Any], most: int) -> None:
    product = _core.make_product("f", labels=("mk", "nk", "mn"), **rules)
    with pytest.raises(TypeError, match=rf"f\(\) takes up to {most} positional arguments but 5 were given"):
        product(1, 2, 3, 4, 5)
