"""Arrays of other libraries: in without a copy, results out in the caller's library."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import cute_py
from cute_py import OperandError
from cute_py.testing import gemm_reference


def need(name: str) -> Any:
    """Import a library of the tests. In CI a missing one is a failure."""
    if os.environ.get("CI"):
        __import__(name)
    return pytest.importorskip(name)


@pytest.fixture
def operands(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return rng.integers(-4, 5, (6, 5)).astype(np.float32), rng.integers(-4, 5, (7, 5)).astype(np.float32)


TORCH_DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


@pytest.mark.parametrize("device", TORCH_DEVICES)
def test_torch(operands: tuple[np.ndarray, np.ndarray], device: str) -> None:
    torch = need("torch")
    A, B = (torch.from_numpy(x).to(device) for x in operands)
    expected = gemm_reference(*operands)

    C = cute_py.gemm(A, B)
    assert isinstance(C, torch.Tensor)
    assert C.device.type == device
    assert C.stride() == (7, 1)
    np.testing.assert_array_equal(C.cpu().numpy(), expected)

    C = cute_py.sgemm_tn(A, B)
    assert C.stride() == (1, 6)
    np.testing.assert_array_equal(C.cpu().numpy(), expected)

    out = torch.full((6, 7), float("nan"), device=device)
    assert cute_py.gemm(A, B, out) is out
    np.testing.assert_array_equal(out.cpu().numpy(), expected)
    cute_py.gemm(A, B, out, alpha=2, beta=-1)
    np.testing.assert_array_equal(out.cpu().numpy(), expected)

    sliced = torch.full((12, 14), 9.0, device=device)
    cute_py.gemm(A, B, sliced[::2, ::2])
    np.testing.assert_array_equal(sliced[::2, ::2].cpu().numpy(), expected)
    assert (sliced[1::2] == 9).all()

    empty = cute_py.gemm(A[:0], B)
    assert empty.shape == (0, 7)


@pytest.mark.parametrize("device", TORCH_DEVICES)
def test_torch_mistakes(device: str) -> None:
    torch = need("torch")
    A = torch.ones(4, 3, device=device)
    with pytest.raises(OperandError, match=r"A requires grad.*\n  next: cute_py\.torch .*pass A\.detach\(\)"):
        cute_py.gemm(A.clone().requires_grad_(), A)
    with pytest.raises(OperandError, match="A int64"):
        cute_py.gemm(A.long(), A)
    with pytest.raises(OperandError, match=r"B .*cannot be exported"):
        cute_py.gemm(A, A.to_sparse())
    with pytest.raises(OperandError, match="may overlap A"):
        cute_py.gemm(A[:3, :3], torch.ones(3, 3, device=device), A[:3, :3])


def test_torch_tensors_that_are_not_what_their_memory_says() -> None:
    torch = need("torch")
    A = torch.ones(3, 4)
    negated = torch.complex(torch.zeros(3, 4), torch.ones(3, 4)).conj().imag
    assert negated.is_neg()
    with pytest.raises(OperandError, match=r"A is a view that PyTorch negates.*\n  next: pass A\.resolve_neg\(\)"):
        cute_py.gemm(negated, A)
    with pytest.raises(OperandError, match="C is a view that PyTorch negates"):
        cute_py.gemm(A, A, torch.complex(torch.zeros(3, 3), torch.ones(3, 3)).conj().imag)
    freed = torch.ones(3, 4)
    freed.untyped_storage().resize_(0)
    square = torch.ones(3, 3)
    square.untyped_storage().resize_(0)
    for operands in ((freed, A), (A, freed), (A, A, square)):
        with pytest.raises(OperandError, match="has elements but no memory"):
            cute_py.gemm(*operands)


@pytest.mark.parametrize("name", ["int1", "int4", "uint1", "uint4"])
def test_numbers_of_less_than_a_byte_are_not_taken_for_bytes(name: str) -> None:
    torch = need("torch")
    if not hasattr(torch, name):
        pytest.skip(f"this PyTorch has no {name}")
    bytes_ = torch.arange(-6, 6, dtype=torch.int8).reshape(3, 4)
    packed = bytes_.view(getattr(torch, name))
    for call in (lambda x: cute_py.einsum("ij,kj->ik", x, x), lambda x: cute_py.permute(x, (1, 0))):
        with pytest.raises(OperandError, match=rf"A has elements of torch\.{name}.*\n  next: pass A\.view\("):
            call(packed)
        assert call(packed.view(torch.int8)).equal(call(bytes_))


@pytest.mark.parametrize("device", TORCH_DEVICES)
def test_conjugate_views_of_torch(device: str) -> None:
    torch = need("torch")
    values = torch.Generator().manual_seed(1)
    A, B = (torch.randn(m, 5, dtype=torch.complex64, generator=values).to(device) for m in (6, 7))
    assert A.conj().is_conj()
    close = {"rtol": 1e-5, "atol": 1e-5}

    torch.testing.assert_close(cute_py.gemm(A.conj(), B), A.conj() @ B.T, **close)
    torch.testing.assert_close(cute_py.gemm(A, B.conj()), A @ B.mH, **close)
    torch.testing.assert_close(cute_py.gemm(A.conj(), B, conj_a=True, conj_b=True), A @ B.mH, **close)
    torch.testing.assert_close(cute_py.matmul(A.mH, A), A.mH @ A, **close)
    torch.testing.assert_close(cute_py.matmul(A, B.adjoint()), A @ B.adjoint(), **close)
    torch.testing.assert_close(
        cute_py.einsum("ij,kj,kl->il", A, B.conj(), B), torch.einsum("ij,kj,kl->il", A, B.conj(), B), **close
    )
    torch.testing.assert_close(cute_py.einsum("ij->ji", A.conj()), A.mH.resolve_conj(), **close)
    plan = cute_py.gemm.plan(A.conj(), B)
    torch.testing.assert_close(plan(B[:6].conj(), B), B[:6].conj() @ B.T, **close)
    with pytest.raises(OperandError, match="conjugate views where those are not"):
        plan(A, B)
    if device == "cuda":  # through __dlpack__, which refuses what is conjugated
        stream = torch.cuda.Stream()
        C = cute_py.gemm(A.conj(), B, stream=stream)
        stream.synchronize()
        torch.testing.assert_close(C, A.conj() @ B.T, **close)


@pytest.mark.parametrize("device", TORCH_DEVICES)
def test_what_is_added_or_written_is_no_conjugate_view(device: str) -> None:
    torch = need("torch")
    A = torch.ones(3, 4, dtype=torch.complex64, device=device)
    C = torch.ones(3, 3, dtype=torch.complex64, device=device)
    for name, call in {
        "C": lambda: cute_py.gemm(A, A, C.conj()),
        "out": lambda: cute_py.gemm(A, A, C, beta=1, out=torch.empty_like(C).conj()),
        "bias": lambda: cute_py.gemm(A, A, epilogue=cute_py.Epilogue(bias=C.conj())),
        "residual": lambda: cute_py.gemm(A, A, epilogue=cute_py.Epilogue(residual=C.conj())),
    }.items():
        with pytest.raises(OperandError, match=rf"(?s)conjugates when it is read.*next: pass {name}\.resolve_conj\(\)"):
            call()
    assert (C == 1).all()


def test_a_torch_subclass_gets_a_tensor() -> None:
    torch = need("torch")

    class Mine(torch.Tensor):
        pass

    assert isinstance(cute_py.gemm(torch.ones(3, 4).as_subclass(Mine), torch.ones(2, 4)), torch.Tensor)


def test_torch_parameter_and_numpy_together(operands: tuple[np.ndarray, np.ndarray]) -> None:
    torch = need("torch")
    weight = torch.nn.Parameter(torch.from_numpy(operands[1]), requires_grad=False)
    C = cute_py.gemm(operands[0], weight)  # libraries may be mixed; the result is A's
    assert isinstance(C, np.ndarray)
    np.testing.assert_array_equal(C, gemm_reference(*operands))


@pytest.mark.parametrize("platform", ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)])
def test_jax(operands: tuple[np.ndarray, np.ndarray], platform: str) -> None:
    jax = need("jax")
    device = jax.devices(platform)[0]
    A, B = (jax.device_put(x, device) for x in operands)
    expected = gemm_reference(*operands)
    for C in (cute_py.gemm(A, B), cute_py.sgemm_tn(A, B)):
        assert isinstance(C, jax.Array)
        assert C.devices() == {device}
        np.testing.assert_array_equal(np.asarray(C), expected)
        np.testing.assert_array_equal(np.asarray(C + 1), expected + 1)  # JAX can go on with it
    with pytest.raises(OperandError, match="C, which is read-only"):
        cute_py.gemm(A, B, jax.device_put(np.zeros((6, 7), np.float32), device))
    half = A.astype("bfloat16")
    assert cute_py.gemm(half, half).dtype == half.dtype


@pytest.mark.parametrize("device", TORCH_DEVICES)
@pytest.mark.parametrize(
    ("number", "dtype", "expected"),
    [
        (2, "float16", "float16"),
        (2.5, "bfloat16", "bfloat16"),
        (2.5, "float32", "float32"),
        (1j, "float64", "complex128"),
        (1j, "bfloat16", "complex64"),
        (np.float64(2), "float32", "float64"),
        (np.float16(2), "float32", "float32"),
    ],
)
def test_numbers_beside_torch_tensors(number: Any, dtype: str, expected: str, device: str) -> None:
    torch = need("torch")
    A = torch.ones(3, 4, dtype=getattr(torch, dtype), device=device)
    for result in (
        cute_py.contract(",ij->ij", number, A),
        cute_py.einsum("ij,->ij", A, number),
        cute_py.einsum("ij,,->ij", A, number, 1),
        cute_py.outer(number, A),
    ):
        assert isinstance(result, torch.Tensor)
        assert result.device.type == device
        assert result.dtype == getattr(torch, expected)
        assert (result == number).all()
    vector = cute_py.matmul(A[0], A[0])  # stays a tensor
    assert isinstance(vector, torch.Tensor)
    assert vector.shape == ()


@pytest.mark.parametrize("platform", ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)])
@pytest.mark.parametrize(
    ("number", "dtype", "expected"),
    [
        (2, "float16", "float16"),
        (2.5, "bfloat16", "bfloat16"),
        (1j, "float32", "complex64"),
        (np.float32(2), "bfloat16", "float32"),
    ],
)
def test_numbers_beside_jax_arrays(number: Any, dtype: str, expected: str, platform: str) -> None:
    jax = need("jax")
    device = jax.devices(platform)[0]
    A = jax.device_put(jax.numpy.ones((3, 4), dtype), device)
    for result in (cute_py.contract(",ij->ij", number, A), cute_py.einsum("ij,->ij", A, number)):
        assert isinstance(result, jax.Array)
        assert result.devices() == {device}
        assert result.dtype == expected
        assert (result == number).all()
    assert isinstance(cute_py.einsum("ij,ij->", A, A), jax.Array)


def test_bfloat16_of_ml_dtypes(rng: np.random.Generator) -> None:
    ml_dtypes = need("ml_dtypes")
    A = rng.integers(-8, 9, (5, 7)).astype(ml_dtypes.bfloat16)[:, ::-2]
    C = cute_py.gemm(A, A)
    assert C.dtype == A.dtype
    np.testing.assert_array_equal(C.astype(np.float32), A.astype(np.float32) @ A.T.astype(np.float32))
    cute_py.gemm(A, A, C, alpha=0, beta=0)
    assert (C == 0).all()


def test_numpy_subclasses_and_memory_maps(operands: tuple[np.ndarray, np.ndarray], tmp_path: Any) -> None:
    path = tmp_path / "A.npy"
    np.save(path, operands[0])
    A = np.load(path, mmap_mode="r")
    np.testing.assert_array_equal(cute_py.gemm(A, operands[1]), gemm_reference(*operands))


# ---- On a GPU


@pytest.fixture
def cupy() -> Any:
    return pytest.importorskip("cupy")


@pytest.mark.gpu
def test_cupy(operands: tuple[np.ndarray, np.ndarray], cupy: Any) -> None:
    A, B = (cupy.asarray(x) for x in operands)
    expected = gemm_reference(*operands)
    C = cute_py.gemm(A, B)
    assert isinstance(C, cupy.ndarray)
    np.testing.assert_array_equal(C.get(), expected)
    C = cute_py.sgemm_tn(A, B)
    assert C.flags.f_contiguous
    np.testing.assert_array_equal(C.get(), expected)
    np.testing.assert_array_equal(
        cute_py.gemm(A[::-1], B[:, ::-1]).get(), gemm_reference(operands[0][::-1], operands[1][:, ::-1])
    )


@pytest.mark.gpu
def test_devices_are_not_mixed(operands: tuple[np.ndarray, np.ndarray], cupy: Any) -> None:
    A, B = operands
    with pytest.raises(OperandError, match=r"(?s)all arrays on one device.*cuda:0.*move B"):
        cute_py.gemm(A, cupy.asarray(B))
    with pytest.raises(OperandError, match=r"(?s)all arrays on one device.*C float32.*move C"):
        cute_py.gemm(cupy.asarray(A), cupy.asarray(B), np.zeros((6, 7), np.float32))
    with pytest.raises(OperandError, match="device 'cpu' asked for"):
        cute_py.gemm(cupy.asarray(A), cupy.asarray(B), device="cpu")
    with pytest.raises(OperandError, match="kernel 'cpu' runs on the CPU"):
        cute_py.gemm(cupy.asarray(A), cupy.asarray(B), kernel="cpu")
    with pytest.raises(OperandError, match=r"(?s)arrays are on the host.*device='cuda'"):
        cute_py.gemm(A, B, kernel="sgemm_1")
    with pytest.raises(cute_py.CudaError, match="there are 1 GPUs"):
        cute_py.gemm(A, B, device="cuda:1")


@pytest.mark.gpu
def test_host_arrays_on_a_gpu(rng: np.random.Generator) -> None:
    A = rng.integers(-4, 5, (300, 200)).astype(np.float32)
    B = rng.integers(-4, 5, (100, 200)).astype(np.float32)
    C = cute_py.gemm(A[::-1], B, device="cuda")
    assert isinstance(C, np.ndarray)
    np.testing.assert_array_equal(C, gemm_reference(A[::-1], B))
    before = rng.integers(-4, 5, (600, 300)).astype(np.float32)
    C = before.copy()
    cute_py.gemm(A, B, C[::2, ::3], beta=2, device="cuda:0", kernel="sgemm_1")
    before[::2, ::3] = gemm_reference(A, B, before[::2, ::3], beta=2)
    np.testing.assert_array_equal(C, before)
    assert cute_py.gemm.explain(A, B, device="cuda").target == "cuda"


@pytest.mark.gpu
@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_work_is_ordered_with_the_current_stream(library: str, rng: np.random.Generator) -> None:
    """A long kernel of the library writes A; a race would multiply what was there before."""
    module = pytest.importorskip(library)
    n = 4096
    values = rng.integers(-2, 3, (n, 64)).astype(np.float32)
    expected = gemm_reference(values[:64], values[:64])
    torch = pytest.importorskip("torch")
    stream = torch.cuda.Stream()
    if library == "torch":
        with torch.cuda.stream(stream):
            source = torch.from_numpy(values).cuda()
            A = torch.zeros_like(source)
            torch.cuda._sleep(200_000_000)
            A.copy_(source)
            C = cute_py.gemm(A[:64], A[:64])
            doubled = C + C
        stream.synchronize()
        np.testing.assert_array_equal(doubled.cpu().numpy(), 2 * expected)
    else:
        with module.cuda.Stream.from_external(stream):
            source = module.asarray(values)
            A = module.zeros_like(source)
            with torch.cuda.stream(stream):
                torch.cuda._sleep(200_000_000)
            A[...] = source
            C = cute_py.gemm(A[:64], A[:64])
            doubled = C + C
        stream.synchronize()
        np.testing.assert_array_equal(doubled.get(), 2 * expected)


@pytest.mark.gpu
def test_a_stream_of_ones_own(rng: np.random.Generator) -> None:
    torch = pytest.importorskip("torch")
    cupy = pytest.importorskip("cupy")
    values = rng.integers(-2, 3, (64, 32)).astype(np.float32)
    expected = gemm_reference(values, values)
    A = torch.from_numpy(values).cuda()
    for stream in (torch.cuda.Stream(), cupy.cuda.Stream(non_blocking=True)):
        handle = stream.cuda_stream if hasattr(stream, "cuda_stream") else stream.ptr
        for given in (stream, handle):
            B = torch.zeros_like(A)
            torch.cuda._sleep(100_000_000)
            B.copy_(A)  # on the current stream: the library has to make the other one wait
            C = cute_py.gemm(A, B, stream=given)
            stream.synchronize()
            np.testing.assert_array_equal(C.cpu().numpy(), expected)


@pytest.mark.gpu
def test_in_a_cuda_graph(rng: np.random.Generator) -> None:
    torch = pytest.importorskip("torch")
    A = torch.from_numpy(rng.integers(-2, 3, (256, 64)).astype(np.float32)).cuda()
    C = torch.zeros(256, 256, device="cuda")
    cute_py.gemm(A, A, C)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        cute_py.gemm(A, A, C)
    A.add_(1)
    graph.replay()
    torch.cuda.synchronize()
    host = A.cpu().numpy()
    np.testing.assert_array_equal(C.cpu().numpy(), gemm_reference(host, host))


def test_a_new_jax_array_is_not_a_copy() -> None:
    jax = need("jax")
    from cute_py.products import arrays

    A = jax.device_put(np.ones((5, 3), np.float32), jax.devices("cpu")[0])
    for order in (None, (1, 0)) * 4:
        memory = arrays.empty_result(A, (5, 7), order, "float32")
        memory[...] = 1
        assert arrays.as_result(A, memory).unsafe_buffer_pointer() == memory.ctypes.data
