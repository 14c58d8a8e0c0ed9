"""Numbers of 8 bits: how they are read and written, what they are multiplied by, and what sums of them lose."""

from __future__ import annotations

import numpy as np
import pytest

import cute_py
from cute_py import OperandError, UnsupportedProblemError
from cute_py.testing import numpy_type

NAMES = ("float8_e4m3fn", "float8_e5m2")
LARGEST = {"float8_e4m3fn": 448.0, "float8_e5m2": 57344.0}


@pytest.mark.parametrize("name", NAMES)
def test_every_number_is_read_as_it_is(name: str) -> None:
    numbers = np.arange(256, dtype=np.uint8).view(numpy_type(name))
    one = np.ones((1, 1), numbers.dtype)
    C = cute_py.gemm(numbers[:, None], one, out_dtype="float32", device="cpu")
    np.testing.assert_array_equal(C[:, 0], numbers.astype(np.float32))


@pytest.mark.parametrize("name", NAMES)
def test_results_are_rounded_and_saturate_if_asked(name: str, rng: np.random.Generator) -> None:
    dtype = numpy_type(name)
    A = (rng.standard_normal((300, 1)) * 10.0 ** rng.integers(-6, 5, (300, 1))).astype(dtype)
    A[:4, 0] = [0, LARGEST[name], -LARGEST[name], np.nan]
    B = np.array([[0.375], [1.5], [LARGEST[name]]], dtype)
    exact = A.astype(np.float32) * B.astype(np.float32).T
    with np.errstate(invalid="ignore"):
        wanted = np.clip(exact, -LARGEST[name], LARGEST[name]).astype(dtype)
        beyond = exact.astype(dtype)  # infinity, or NaN where there is none
    for device in ("cpu", "emulator"):
        for saturate, expected in ((True, wanted), (False, beyond)):
            epilogue = cute_py.Epilogue(saturate=saturate)
            C = cute_py.gemm(A, B, out_dtype=name, device=device, epilogue=epilogue)
            np.testing.assert_array_equal(C.astype(np.float32), expected.astype(np.float32))


def test_a_new_result_is_bfloat16_and_the_fast_way_is_the_same_on_a_host(rng: np.random.Generator) -> None:
    A, B = (rng.standard_normal((n, 96)).astype(numpy_type("float8_e4m3fn")) for n in (40, 24))
    for device in ("cpu", "emulator"):
        C = cute_py.gemm(A, B, device=device)
        assert C.dtype == numpy_type("bfloat16")
        np.testing.assert_array_equal(C, cute_py.gemm(A, B, compute="fast_float32", device=device))
    np.testing.assert_allclose(C.astype(float), A.astype(float) @ B.astype(float).T, rtol=2**-7, atol=1e-2)


@pytest.mark.parametrize("layout", ["nt", "tn", "nn", "tt"])
def test_every_layout_is_packed_for_the_emulated_gpu(layout: str, rng: np.random.Generator) -> None:
    """Lines along K whose ends are filled up with zeros, and batches."""
    dtype = numpy_type("float8_e5m2")
    A = rng.integers(-3, 4, (70, 45, 3)).astype(dtype)
    B = rng.integers(-2, 3, (50, 45, 3)).astype(dtype)
    A = np.asfortranarray(A) if layout[0] == "n" else np.ascontiguousarray(A)
    B = np.asfortranarray(B) if layout[1] == "t" else np.ascontiguousarray(B)
    C = cute_py.gemm(A, B, out_dtype="float32", device="emulator")
    np.testing.assert_array_equal(C, np.einsum("mkl,nkl->mnl", A.astype(float), B.astype(float)))


def bent(A: np.ndarray, how: str) -> np.ndarray:
    """Views that TMA cannot follow, of types that NumPy itself cannot repeat."""
    one_row, one_column = A[:1].view(np.uint8), A[:, :1].view(np.uint8)
    return {
        "rows backward": A[::-1],
        "steps backward": A[:, ::-1],
        "one row": np.broadcast_to(one_row, A.shape).view(A.dtype),
        "one step": np.broadcast_to(one_column, A.shape).view(A.dtype),
        "one number": np.broadcast_to(one_row[:, :1], A.shape).view(A.dtype),
        "every other": np.repeat(np.repeat(A.view(np.uint8), 2, 0), 2, 1)[::2, ::2].view(A.dtype),
        "no row": A[:0],
        "a row": A[5:6],
    }[how]


@pytest.mark.parametrize("device", ["cpu", "emulator", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize(
    "how",
    ["rows backward", "steps backward", "one row", "one step", "one number", "every other", "no row", "a row"],
)
def test_any_strides(how: str, device: str, rng: np.random.Generator) -> None:
    dtype = numpy_type("float8_e4m3fn")
    A, B = (rng.integers(-3, 4, (rows, 48)).astype(dtype) for rows in (20, 32))
    A = bent(A, how)
    expected = A.astype(np.float32) @ B.astype(np.float32).T
    np.testing.assert_array_equal(cute_py.gemm(A, B, out_dtype="float32", device=device), expected)
    np.testing.assert_array_equal(cute_py.gemm(B, A, out_dtype="float32", device=device), expected.T)


def test_what_it_is_not_multiplied_by() -> None:
    A, B = np.ones((2, 3), numpy_type("float8_e4m3fn")), np.ones((2, 3), np.float32)
    for call in (lambda: cute_py.gemm(A, B), lambda: cute_py.gemm(B, A)):
        with pytest.raises(UnsupportedProblemError, match="multiplies float8 only by float8"):
            call()
    with pytest.raises(UnsupportedProblemError, match="has more than two operands, and float8 takes two"):
        cute_py.einsum("ij,ij,ij->i", A, A, A)
    with pytest.raises(UnsupportedProblemError, match="compute='fast_float32' multiplies float32"):
        cute_py.gemm(B.astype("float64"), B.astype("float64"), compute="fast_float32")
    with pytest.raises(UnsupportedProblemError, match=r"needs compute capability 9\.0, A100 has 8\.0"):
        cute_py.gemm(A, A, device=cute_py.Device("A100", compute_capability=(8, 0)))
    with pytest.raises(OperandError, match="multiplies float8_e4m3fn, float8_e5m2, float16"):
        cute_py.matmul(A.view(np.uint8), A.view(np.uint8).T)


@pytest.mark.parametrize("device", ["cpu", "emulator", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_sums_and_vectors(device: str, rng: np.random.Generator) -> None:
    A = rng.integers(-4, 5, (17, 33)).astype(numpy_type("float8_e4m3fn"))
    np.testing.assert_array_equal(
        cute_py.einsum("ij->i", A, out_dtype="float32", device=device), A.astype(np.float32).sum(1)
    )
    np.testing.assert_array_equal(
        cute_py.einsum("ij,j->i", A, A[0], out_dtype="float32", device=device),
        A.astype(np.float32) @ A[0].astype(np.float32),
    )
    np.testing.assert_array_equal(
        cute_py.einsum("ij,->ij", A, 2.0, out_dtype="float32", device=device), 2 * A.astype(np.float32)
    )
    np.testing.assert_array_equal(cute_py.permute(A, (1, 0)).astype(np.float32), A.T.astype(np.float32))


@pytest.mark.parametrize("name", NAMES)
def test_of_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    A = torch.randn(20, 40).to(getattr(torch, name))
    C = cute_py.gemm(A, A)
    assert C.dtype == torch.bfloat16
    torch.testing.assert_close(C.float(), A.float() @ A.float().T, rtol=2**-7, atol=1e-3)
    assert cute_py.gemm(A, A, out_dtype=getattr(torch, name)).dtype == getattr(torch, name)


@pytest.mark.parametrize("name", NAMES)
def test_of_jax(name: str) -> None:
    jnp = pytest.importorskip("jax.numpy")
    A = jnp.linspace(-2, 2, 60).reshape(6, 10).astype(name)
    C = cute_py.gemm(A, A)
    assert C.dtype == jnp.bfloat16
    np.testing.assert_allclose(
        np.asarray(C, float), np.asarray(A, float) @ np.asarray(A, float).T, rtol=2**-7, atol=1e-2
    )
    assert cute_py.gemm(A, A, out_dtype=name).dtype == A.dtype


@pytest.mark.gpu
def test_the_fast_way_loses_digits_and_the_other_does_not() -> None:
    """Of 32,768 steps of K: errors against the size of the result, as docs/types.md says."""
    torch = pytest.importorskip("torch")
    if torch.cuda.get_device_capability()[0] != 9:
        pytest.skip("made for compute capability 9.0")
    torch.manual_seed(0)
    A, B = (torch.randn(256, 32768, device="cuda").to(torch.float8_e4m3fn) for _ in range(2))
    exact = A.float().double() @ B.float().double().t()

    def error(**options: str) -> float:
        C = cute_py.gemm(A, B, out_dtype="float32", **options)
        return ((C - exact).norm() / exact.norm()).item()

    assert error() < 2e-4
    assert 5e-4 < error(compute="fast_float32") < 5e-3
