"""Matrix products: C(m,n) = alpha * sum_k A(m,k) * B(n,k) + beta * C(m,n).

A is (M,K), B is (N,K) and C is (M,N), as everywhere in CuTe: both inputs are reduced over their second mode.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cute_py.products.options import Array, Number, Options
from cute_py.products.product import product

if TYPE_CHECKING:
    from typing_extensions import Unpack


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

    Computes where the arrays are: on their GPU, or on the CPU. Nothing is cast or moved unless `device` asks for it;
    factors that lie badly may be packed on their way, see `workspace`.

    Parameters
    ----------
    A, B
        Arrays of NumPy, CuPy, PyTorch, JAX or any library with ``__dlpack__``, both on one device: float16, bfloat16,
        float32, float64, complex64 or complex128, also two different ones; both int8; or both float8_e4m3fn or
        float8_e5m2. Any strides, also zero and negative; any extents, also zero. For the product of A (M,K) and X (K,N)
        pass ``X.T`` as B. With a third mode, L products are computed; an operand without it is the same for all of
        them.
    C
        A writable array (M,N) or (M,N,L) of any strides, which is written in place and returned, unless `out` is given.
        It must not overlap A or B. Without it, a new array whose last mode is the fastest is returned: of A's library
        if that is NumPy, CuPy, PyTorch or JAX, of NumPy for other host arrays. For other libraries on a GPU, pass C.
    alpha, beta
        Numbers, or arrays without modes; rounded to the type that is summed in. If beta is 0, C is not read. If alpha
        or K is 0, A and B are not read. Otherwise NaN and infinity propagate.
    kernel
        ``"auto"``, or the name of a kernel or of a variant, see `kernels`. A GPU kernel named for host arrays runs in
        the emulator if there is no GPU to use, see `cuda_available`.
    config
        A `Candidate` of `explain`, to be taken in place of a choice: kernel, roles of A and B, split-K.
    stream
        Where to launch on a GPU: a ``cudaStream_t`` as an int, or a stream of CuPy, PyTorch or cuda.core. By default
        the current stream of A's library if that is PyTorch or CuPy, else the legacy default stream. The libraries are
        told, through DLPack, to order their work on A, B and C before it. On a stream of your own, keep the arrays
        until it has passed the call.
    device
        For host arrays: ``"cpu"``, ``"emulator"``, or ``"cuda"`` and ``"cuda:1"``, which copy the arrays to that GPU
        and C back; or a `Device`. One that was invented is planned for as any other, and the emulator computes in its
        place.
    emulator
        Options of the emulator.
    out
        Where the result goes, if not to C.
    compute
        What products are formed and summed in: float32, ``"tfloat32"``, float64, complex64, complex128 or int32. By
        default the widest of the factors, at least float32; int32 for int8. ``"fast_float32"`` leaves sums of float8 to
        the tensor core, which keeps 13 bits or so; on a CPU it is float32. ``"fp16x3"``, ``"bf16x6"``,
        ``"fast_float32"``, ``"fast_float64"``, ``"fast_complex64"``, ``"fast_complex128"`` and ``"reproducible"``
        emulate precision by faster tensor cores; docs/numerics.md has their bounds.
    out_dtype
        The type of a new result. By default that of A and B if it is one, else the type of `compute`; int32 for int8,
        bfloat16 for float8, whose scales are `alpha`. This one and `compute` are names, such as ``"float32"`` and
        ``"f4"``, types of Python, NumPy, PyTorch, JAX or ml_dtypes.
    conj_a, conj_b
        Multiply by the complex conjugate.
    epilogue
        What happens to the result before it is written, see `Epilogue`.
    batch_invariant
        Choose among kernels that add in one order only, so that the bits of a row do not depend on M, N and L.
    workspace
        The most bytes of memory that the product may take beside its arrays: for partial sums of split-K, for factors
        and results that are packed, for operands that are summed first. By default an eighth of a GPU's memory for what
        is packed, and as much as it takes for the others. With less it may be slower.
    order
        How a new result lies: ``"C"``, the last mode is the fastest; or ``"K"``, as suits the product best, which
        spares the work of ordering it anew. `einsum` of arrays of NumPy, PyTorch and CuPy does so by default, as their
        own einsums do. New results of the functions with BLAS names are column-major in either case.

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
