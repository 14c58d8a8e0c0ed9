"""`gemm` under the names of BLAS, strict about types and strides."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec

from cute_py.products.options import Array, Number, Options
from cute_py.products.product import Product, product

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "bgemm_nn",
    "bgemm_nt",
    "bgemm_tn",
    "bgemm_tt",
    "cgemm_nn",
    "cgemm_nt",
    "cgemm_tn",
    "cgemm_tt",
    "dgemm_nn",
    "dgemm_nt",
    "dgemm_tn",
    "dgemm_tt",
    "hgemm_nn",
    "hgemm_nt",
    "hgemm_tn",
    "hgemm_tt",
    "sgemm_nn",
    "sgemm_nt",
    "sgemm_tn",
    "sgemm_tt",
    "zgemm_nn",
    "zgemm_nt",
    "zgemm_tn",
    "zgemm_tt",
]  # fmt: skip

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
