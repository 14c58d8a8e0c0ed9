"""Matrix products: C(m,n) = alpha * sum_k A(m,k) * B(n,k) + beta * C(m,n).

A is (M,K), B is (N,K) and C is (M,N), as everywhere in CuTe: both inputs are reduced over their second mode.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec

from cute_py.products.options import Array, Number, Options
from cute_py.products.product import Product, product

if TYPE_CHECKING:
    from typing_extensions import Unpack

P = ParamSpec("P")

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


@product()
def gemm(
    A: Array,
    B: Array,
    C: Array | None = None,
    *,
    alpha: Number = 1.0,
    beta: Number = 0.0,
    out: Array | None = None,
    **options: Unpack[Options],
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
    config
        A `Candidate` of `explain`, to be taken in place of a choice: kernel, roles of A and B, parts of K.
    stream
        Where to launch on a GPU: a ``cudaStream_t`` as an int, or a stream of CuPy, PyTorch or cuda.core. By default the
        current stream of A's library if that is PyTorch or CuPy, else the legacy default stream. The libraries are told, through DLPack, to order their work on A, B and C before it.
        On a stream of your own, keep the arrays until it has passed the call.
    device
        For host arrays: ``"cpu"``, ``"emulator"``, or ``"cuda"`` and ``"cuda:1"``, which copy the arrays to that GPU and C
        back; or a `Device`. One that was invented is planned for as any other, and the emulator computes in its place.
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


def _blas_call(
    A: Array,
    B: Array,
    C: Array | None = None,
    *,
    alpha: Number = 1.0,
    beta: Number = 0.0,
    out: Array | None = None,
    **options: Unpack[Options],
) -> Any: ...


def _named(name: str, signature: Callable[P, Any]) -> Product[P]:
    """Return the product with the name, the type and the strides of a BLAS function."""
    factors, layout = _TYPES[name[0]], name[-2:]
    strides_a, strides_b, majors = _LAYOUTS[layout]
    letters = " and ".join(letter.upper() for letter in layout)
    example_type = '__import__("ml_dtypes").bfloat16' if factors == "bfloat16" else f"np.{factors}"
    order_a, order_b = ("F" if layout[0] == "n" else "C"), ("F" if layout[1] == "t" else "C")
    function = product(name, layout=layout, factors=factors)(signature)
    function.__doc__ = f"""A is (M,K):{strides_a}, B is (N,K):{strides_b}, C is (M,N):(1,ldC); C = alpha * A B^T + beta * C in {factors}.

    {majors}, C m-major: BLAS's {letters} for column-major storage. Other strides are refused; `gemm` takes
    any. A leading dimension is at least as long as a line. A third mode of A, B and C counts products. A new C has
    ldC = M. All else is as in `gemm`.

    >>> import cute_py, numpy as np
    >>> A = np.array([[1, 2], [3, 4]], dtype=np.float32).astype({example_type}, order="{order_a}")
    >>> B = np.array(A, order="{order_b}")
    >>> cute_py.{name}(A, B).astype(np.complex64).real
    array([[ 5., 11.],
           [11., 25.]], dtype=float32)
    """
    return function


sgemm_nt = _named("sgemm_nt", _blas_call)
sgemm_tn = _named("sgemm_tn", _blas_call)
sgemm_nn = _named("sgemm_nn", _blas_call)
sgemm_tt = _named("sgemm_tt", _blas_call)
dgemm_nt = _named("dgemm_nt", _blas_call)
dgemm_tn = _named("dgemm_tn", _blas_call)
dgemm_nn = _named("dgemm_nn", _blas_call)
dgemm_tt = _named("dgemm_tt", _blas_call)
cgemm_nt = _named("cgemm_nt", _blas_call)
cgemm_tn = _named("cgemm_tn", _blas_call)
cgemm_nn = _named("cgemm_nn", _blas_call)
cgemm_tt = _named("cgemm_tt", _blas_call)
zgemm_nt = _named("zgemm_nt", _blas_call)
zgemm_tn = _named("zgemm_tn", _blas_call)
zgemm_nn = _named("zgemm_nn", _blas_call)
zgemm_tt = _named("zgemm_tt", _blas_call)
hgemm_nt = _named("hgemm_nt", _blas_call)
hgemm_tn = _named("hgemm_tn", _blas_call)
hgemm_nn = _named("hgemm_nn", _blas_call)
hgemm_tt = _named("hgemm_tt", _blas_call)
bgemm_nt = _named("bgemm_nt", _blas_call)
bgemm_tn = _named("bgemm_tn", _blas_call)
bgemm_nn = _named("bgemm_nn", _blas_call)
bgemm_tt = _named("bgemm_tt", _blas_call)
