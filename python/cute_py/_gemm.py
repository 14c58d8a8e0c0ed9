"""Matrix products: C(m,n) = alpha * sum_k A(m,k) * B(n,k) + beta * C(m,n).

A is (M,K), B is (N,K) and C is (M,N), as everywhere in CuTe: both inputs are reduced over their second mode.
"""

from __future__ import annotations

from typing import Any, Protocol

from cute_py._product import Function, explain_product, options_of, run_product
from cute_py.emulator import EmulatorOptions
from cute_py.epilogue import Epilogue
from cute_py.errors import OperandError
from cute_py.explanation import Explanation

_GEMM = Function("gemm")

# The first letters of BLAS's names, and the types that they stand for.
_TYPES = {
    "s": "float32",
    "d": "float64",
    "c": "complex64",
    "z": "complex128",
    "h": "float16",
    "b": "bfloat16",
}

# The last letters: the majorness of A and of B, with their strides.
_LAYOUTS = {
    "nt": ("(1,ldA)", "(1,ldB)", "A m-major, B n-major"),
    "tn": ("(ldA,1)", "(ldB,1)", "A and B k-major"),
    "nn": ("(1,ldA)", "(ldB,1)", "A m-major, B k-major"),
    "tt": ("(ldA,1)", "(1,ldB)", "A k-major, B n-major"),
}

_FUNCTIONS = {
    function.name: function
    for function in [
        _GEMM,
        *(Function(f"{t}gemm_{x}", x, factors) for t, factors in _TYPES.items() for x in _LAYOUTS),
    ]
}


def gemm(
    A: Any,
    B: Any,
    C: Any = None,
    *,
    alpha: Any = 1.0,
    beta: Any = 0.0,
    kernel: str = "auto",
    stream: Any = None,
    device: str | None = None,
    emulator: EmulatorOptions | None = None,
    out: Any = None,
    compute: Any = None,
    out_dtype: Any = None,
    conj_a: bool = False,
    conj_b: bool = False,
    epilogue: Epilogue | None = None,
    batch_invariant: bool = False,
) -> Any:
    """C = alpha * A B^T + beta * C for A (M,K), B (N,K), C (M,N) of any strides; or (M,K,L), (N,K,L), (M,N,L).

    Computes where the arrays are: on their GPU, or on the CPU. Nothing is copied, cast or moved unless `device` asks for it.

    Parameters
    ----------
    A, B
        Arrays of NumPy, CuPy, PyTorch, JAX or any library with ``__dlpack__``, both on one device: float16, bfloat16, float32,
        float64, complex64 or complex128, also two different ones; or both int8. Any strides, also zero and negative; any
        extents, also zero. For the product of A (M,K) and X (K,N) pass ``X.T`` as B. With a third mode, L products are
        computed; an operand without it is the same for all of them.
    C
        A writable array (M,N) or (M,N,L) of any strides, which is written in place and returned, unless `out` is given. It
        must not overlap A or B. Without it, a new array whose last mode is the fastest is returned: of A's library if that is NumPy, CuPy, PyTorch or JAX, of
        NumPy for other host arrays. For other libraries on a GPU, pass C.
    alpha, beta
        Numbers, or arrays without modes; rounded to the type that is summed in. If beta is 0, C is not read. If alpha or K is 0, A and B are not read. Otherwise NaN and
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
    out
        Where the result goes, if not to C.
    compute
        What products are formed and summed in: float32, ``"tfloat32"``, float64, complex64, complex128 or int32. By default
        the widest of the factors, at least float32; int32 for int8.
    out_dtype
        The type of a new result. By default that of A and B if it is one, else the type of `compute`; int32 for int8. This
        one and `compute` are names, such as ``"float32"`` and ``"f4"``, types of Python, NumPy, PyTorch, JAX or ml_dtypes.
    conj_a, conj_b
        Multiply by the complex conjugate.
    epilogue
        What happens to the result before it is written, see `Epilogue`.
    batch_invariant
        Choose among kernels that add in one order only, so that the bits of a row do not depend on M, N and L.

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
    options = options_of(out, compute, out_dtype, conj_a, conj_b, epilogue, batch_invariant)
    return run_product(_GEMM, A, B, C, alpha, beta, kernel, device, stream, emulator, options)


class BlasFunction(Protocol):
    """A product with the name, the type and the strides of a BLAS function."""

    __name__: str

    def __call__(
        self,
        A: Any,
        B: Any,
        C: Any = None,
        *,
        alpha: Any = 1.0,
        beta: Any = 0.0,
        kernel: str = "auto",
        stream: Any = None,
        device: str | None = None,
        emulator: EmulatorOptions | None = None,
        conj_a: bool = False,
        conj_b: bool = False,
        epilogue: Epilogue | None = None,
        batch_invariant: bool = False,
    ) -> Any: ...


def _blas_function(function: Function) -> BlasFunction:
    def product(
        A: Any,
        B: Any,
        C: Any = None,
        *,
        alpha: Any = 1.0,
        beta: Any = 0.0,
        kernel: str = "auto",
        stream: Any = None,
        device: str | None = None,
        emulator: EmulatorOptions | None = None,
        conj_a: bool = False,
        conj_b: bool = False,
        epilogue: Epilogue | None = None,
        batch_invariant: bool = False,
    ) -> Any:
        options = options_of(None, None, None, conj_a, conj_b, epilogue, batch_invariant)
        return run_product(function, A, B, C, alpha, beta, kernel, device, stream, emulator, options)

    strides_a, strides_b, majors = _LAYOUTS[function.layout]
    letters = " and ".join(letter.upper() for letter in function.layout)
    product.__name__ = product.__qualname__ = function.name
    product.__doc__ = f"""A is (M,K):{strides_a}, B is (N,K):{strides_b}, C is (M,N):(1,ldC); C = alpha * A B^T + beta * C in {function.factors}.

    {majors}, C m-major: BLAS's {letters} for column-major storage. Other strides are refused; `gemm` takes
    any. A leading dimension is at least as long as a line. A third mode of A, B and C counts products. A new C has
    ldC = M. All else is as in `gemm`.

    >>> import cute_py, numpy as np
    >>> A = np.array([[1, 2], [3, 4]], dtype=np.float32).astype({_example_type(function.factors)}, order="{_order(function.layout[0] == "n")}")
    >>> B = np.array(A, order="{_order(function.layout[1] == "t")}")
    >>> cute_py.{function.name}(A, B).astype(np.complex64).real
    array([[ 5., 11.],
           [11., 25.]], dtype=float32)
    """
    return product


def _example_type(name: str) -> str:
    return '__import__("ml_dtypes").bfloat16' if name == "bfloat16" else f"np.{name}"


def _order(first_fastest: bool) -> str:
    return "F" if first_fastest else "C"


sgemm_nt = _blas_function(_FUNCTIONS["sgemm_nt"])
sgemm_tn = _blas_function(_FUNCTIONS["sgemm_tn"])
sgemm_nn = _blas_function(_FUNCTIONS["sgemm_nn"])
sgemm_tt = _blas_function(_FUNCTIONS["sgemm_tt"])
dgemm_nt = _blas_function(_FUNCTIONS["dgemm_nt"])
dgemm_tn = _blas_function(_FUNCTIONS["dgemm_tn"])
dgemm_nn = _blas_function(_FUNCTIONS["dgemm_nn"])
dgemm_tt = _blas_function(_FUNCTIONS["dgemm_tt"])
cgemm_nt = _blas_function(_FUNCTIONS["cgemm_nt"])
cgemm_tn = _blas_function(_FUNCTIONS["cgemm_tn"])
cgemm_nn = _blas_function(_FUNCTIONS["cgemm_nn"])
cgemm_tt = _blas_function(_FUNCTIONS["cgemm_tt"])
zgemm_nt = _blas_function(_FUNCTIONS["zgemm_nt"])
zgemm_tn = _blas_function(_FUNCTIONS["zgemm_tn"])
zgemm_nn = _blas_function(_FUNCTIONS["zgemm_nn"])
zgemm_tt = _blas_function(_FUNCTIONS["zgemm_tt"])
hgemm_nt = _blas_function(_FUNCTIONS["hgemm_nt"])
hgemm_tn = _blas_function(_FUNCTIONS["hgemm_tn"])
hgemm_nn = _blas_function(_FUNCTIONS["hgemm_nn"])
hgemm_tt = _blas_function(_FUNCTIONS["hgemm_tt"])
bgemm_nt = _blas_function(_FUNCTIONS["bgemm_nt"])
bgemm_tn = _blas_function(_FUNCTIONS["bgemm_tn"])
bgemm_nn = _blas_function(_FUNCTIONS["bgemm_nn"])
bgemm_tt = _blas_function(_FUNCTIONS["bgemm_tt"])


def explain_gemm(
    A: Any,
    B: Any,
    C: Any = None,
    *,
    function: str = "gemm",
    alpha: Any = 1.0,
    beta: Any = 0.0,
    kernel: str = "auto",
    stream: Any = None,
    device: str | None = None,
    out: Any = None,
    compute: Any = None,
    out_dtype: Any = None,
    conj_a: bool = False,
    conj_b: bool = False,
    epilogue: Epilogue | None = None,
    batch_invariant: bool = False,
) -> Explanation:
    """Say where ``function(A, B, C, ...)`` runs and which kernel it runs. See `cute_py.explain`."""
    if not isinstance(function, str) or function not in _FUNCTIONS:
        raise OperandError(f"function is one of {', '.join(_FUNCTIONS)}, got {function!r}")
    options = options_of(out, compute, out_dtype, conj_a, conj_b, epilogue, batch_invariant)
    return explain_product(_FUNCTIONS[function], A, B, C, alpha, beta, kernel, device, stream, options)
