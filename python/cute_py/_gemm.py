"""Matrix products: C(m,n) = alpha * sum_k A(m,k) * B(n,k) + beta * C(m,n).

A is (M,K), B is (N,K) and C is (M,N), as everywhere in CuTe: both inputs are reduced over their second mode.
"""

from __future__ import annotations

from typing import Any

from cute_py import _core
from cute_py._arrays import as_result, empty_result
from cute_py.emulator import EmulatorOptions
from cute_py.errors import OperandError
from cute_py.explanation import Explanation

__all__ = ["explain_product", "gemm", "sgemm_nn", "sgemm_nt", "sgemm_tn", "sgemm_tt"]

_LAYOUT_OF = {"gemm": "", "sgemm_nt": "nt", "sgemm_tn": "tn", "sgemm_nn": "nn", "sgemm_tt": "tt"}


def gemm(
    A: Any,
    B: Any,
    C: Any = None,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    kernel: str = "auto",
    stream: Any = None,
    device: str | None = None,
    emulator: EmulatorOptions | None = None,
) -> Any:
    """C = alpha * A B^T + beta * C for A (M,K), B (N,K), C (M,N) of any strides.

    Computes where the arrays are: on their GPU, or on the CPU. Nothing is copied, cast or moved unless `device` asks for it.

    Parameters
    ----------
    A, B
        float32 arrays of NumPy, CuPy, PyTorch, JAX or any library with ``__dlpack__``, both on one device. Any strides, also
        zero and negative; any extents, also zero. For the product of A (M,K) and X (K,N) pass ``X.T`` as B.
    C
        A writable float32 (M,N) array of any strides, which is written in place and returned. It must not overlap A or B.
        Without it, a new array with strides (N, 1) is returned: of A's library if that is NumPy, CuPy, PyTorch or JAX, of
        NumPy for other host arrays. For other libraries on a GPU, pass C.
    alpha, beta
        Real numbers, rounded to float32. If beta is 0, C is not read. If alpha or K is 0, A and B are not read. Otherwise NaN and
        infinity propagate.
    kernel
        ``"auto"``, or the name of a kernel or of a variant, see `kernels`. A GPU kernel named for host arrays runs in the
        emulator if there is no GPU to use, see `cuda_available`.
    stream
        Where to launch on a GPU: a ``cudaStream_t`` as an int, or a stream of CuPy, PyTorch or cuda.core. By default the
        current stream of A's library if that is PyTorch or CuPy, else the legacy default stream. The libraries are told, through DLPack, to order their work on A, B and C before it.
        On a stream of your own, keep the arrays until it has passed the call.
    device
        For host arrays: ``"cpu"``, ``"emulator"``, or ``"cuda"`` and ``"cuda:1"``, which copy the arrays to that GPU and C
        back.
    emulator
        Options of the emulator.

    Returns
    -------
    C, or a new array. On a GPU the kernel may still be running; JAX arrays are waited for.

    Notes
    -----
    cute_py takes no part in automatic differentiation: it refuses PyTorch tensors that require gradients, and does not
    record that C was written. While a call runs, no other thread may resize or free the arrays.

    Raises
    ------
    OperandError
        An argument does not fit.
    UnsupportedProblemError
        The named kernel cannot run this problem.
    CudaError
        CUDA reported an error.

    Examples
    --------
    >>> import cute_py, numpy as np
    >>> A = np.array([[1, 2], [3, 4]], dtype=np.float32)
    >>> cute_py.gemm(A, A)
    array([[ 5., 11.],
           [11., 25.]], dtype=float32)
    """
    result = _core.gemm(empty_result, "gemm", "", A, B, C, alpha, beta, kernel, device, stream, emulator)
    return result if C is not None else as_result(A, result)


def sgemm_nt(
    A: Any,
    B: Any,
    C: Any = None,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    kernel: str = "auto",
    stream: Any = None,
    device: str | None = None,
    emulator: EmulatorOptions | None = None,
) -> Any:
    """A is (M,K):(1,ldA), B is (N,K):(1,ldB), C is (M,N):(1,ldC); C = alpha * A B^T + beta * C in float32.

    A m-major, B n-major, C m-major: BLAS's N and T for column-major storage. Other strides are refused with the name of the
    function that takes them; a leading dimension is at least as long as a line. A new C has ldC = M. All else is as in
    `gemm`.

    >>> import cute_py, numpy as np
    >>> A = np.asfortranarray([[1, 2], [3, 4]], dtype=np.float32)
    >>> cute_py.sgemm_nt(A, A)
    array([[ 5., 11.],
           [11., 25.]], dtype=float32)
    """
    result = _core.gemm(empty_result, "sgemm_nt", "nt", A, B, C, alpha, beta, kernel, device, stream, emulator)
    return result if C is not None else as_result(A, result)


def sgemm_tn(
    A: Any,
    B: Any,
    C: Any = None,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    kernel: str = "auto",
    stream: Any = None,
    device: str | None = None,
    emulator: EmulatorOptions | None = None,
) -> Any:
    """A is (M,K):(ldA,1), B is (N,K):(ldB,1), C is (M,N):(1,ldC); C = alpha * A B^T + beta * C in float32.

    A and B k-major, C m-major: BLAS's T and N for column-major storage. Other strides are refused with the name of the
    function that takes them; a leading dimension is at least as long as a line. A new C has ldC = M. All else is as in
    `gemm`.

    >>> import cute_py, numpy as np
    >>> A = np.array([[1, 2], [3, 4]], dtype=np.float32)
    >>> cute_py.sgemm_tn(A, A)
    array([[ 5., 11.],
           [11., 25.]], dtype=float32)
    """
    result = _core.gemm(empty_result, "sgemm_tn", "tn", A, B, C, alpha, beta, kernel, device, stream, emulator)
    return result if C is not None else as_result(A, result)


def sgemm_nn(
    A: Any,
    B: Any,
    C: Any = None,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    kernel: str = "auto",
    stream: Any = None,
    device: str | None = None,
    emulator: EmulatorOptions | None = None,
) -> Any:
    """A is (M,K):(1,ldA), B is (N,K):(ldB,1), C is (M,N):(1,ldC); C = alpha * A B^T + beta * C in float32.

    A m-major, B k-major, C m-major: BLAS's N and N for column-major storage. Other strides are refused with the name of the
    function that takes them; a leading dimension is at least as long as a line. A new C has ldC = M. All else is as in
    `gemm`.

    >>> import cute_py, numpy as np
    >>> A = np.asfortranarray([[1, 2], [3, 4]], dtype=np.float32)
    >>> B = np.array([[1, 2], [3, 4]], dtype=np.float32)
    >>> cute_py.sgemm_nn(A, B)
    array([[ 5., 11.],
           [11., 25.]], dtype=float32)
    """
    result = _core.gemm(empty_result, "sgemm_nn", "nn", A, B, C, alpha, beta, kernel, device, stream, emulator)
    return result if C is not None else as_result(A, result)


def sgemm_tt(
    A: Any,
    B: Any,
    C: Any = None,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    kernel: str = "auto",
    stream: Any = None,
    device: str | None = None,
    emulator: EmulatorOptions | None = None,
) -> Any:
    """A is (M,K):(ldA,1), B is (N,K):(1,ldB), C is (M,N):(1,ldC); C = alpha * A B^T + beta * C in float32.

    A k-major, B n-major, C m-major: BLAS's T and T for column-major storage. Other strides are refused with the name of the
    function that takes them; a leading dimension is at least as long as a line. A new C has ldC = M. All else is as in
    `gemm`.

    >>> import cute_py, numpy as np
    >>> A = np.array([[1, 2], [3, 4]], dtype=np.float32)
    >>> B = np.asfortranarray([[1, 2], [3, 4]], dtype=np.float32)
    >>> cute_py.sgemm_tt(A, B)
    array([[ 5., 11.],
           [11., 25.]], dtype=float32)
    """
    result = _core.gemm(empty_result, "sgemm_tt", "tt", A, B, C, alpha, beta, kernel, device, stream, emulator)
    return result if C is not None else as_result(A, result)


def explain_product(
    A: Any,
    B: Any,
    C: Any = None,
    *,
    function: str = "gemm",
    kernel: str = "auto",
    stream: Any = None,
    device: str | None = None,
) -> Explanation:
    """Say where ``function(A, B, C, kernel=..., device=...)`` runs and which kernel it runs. See `cute_py.explain`."""
    if not isinstance(function, str) or function not in _LAYOUT_OF:
        raise OperandError(f"function is one of {', '.join(_LAYOUT_OF)}, got {function!r}")
    found = _core.explain(function, _LAYOUT_OF[function], A, B, C, kernel, device, stream)
    found["operands"] = tuple(found["operands"])
    found["rejected"] = tuple(found["rejected"])
    return Explanation(function=function, **found)
