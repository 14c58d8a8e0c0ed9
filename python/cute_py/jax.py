"""Contractions in JAX: under ``jit``, ``grad``, ``vmap`` and their combinations, without Python in the compiled program.

A contraction is a primitive of its own, bilinear as ``lax.dot_general`` is: forward and reverse derivatives of any order are
contractions of the same kernels, and a batch of ``vmap`` is one more mode. XLA calls cute_py as a foreign function, on the CPU
and on CUDA devices.

>>> import jax, jax.numpy as jnp, cute_py.jax
>>> q, k = jnp.ones((2, 5, 3)), jnp.ones((2, 7, 3))
>>> jax.jit(lambda q, k: cute_py.jax.einsum("bqd,bkd->bqk", q, k))(q, k).shape
(2, 5, 7)
>>> float(jax.grad(lambda q: cute_py.jax.einsum("bqd,bkd->bqk", q, k).sum())(q)[0, 0, 0])
7.0
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from cute_py import _core
from cute_py.errors import OperandError
from cute_py.products.contraction import subscripts_of_matmul, subscripts_of_tensordot
from cute_py.products.einsum import indices_as_text, steps_by_labels
from cute_py.products.pairs import read
from cute_py.products.types import type_name

__all__ = ["contract", "einsum", "gemm", "matmul", "tensordot"]

Array = Any
_TARGET = "cute_py_contract"
_NARROW = ("float16", "bfloat16", "float32")


def einsum(*operands: Any, compute: Any = None, optimize: str | bool = "auto") -> Array:
    """Return the sum of products that the subscripts name: `jax.numpy.einsum`, computed by cute_py.

    Parameters
    ----------
    operands
        ``einsum("ij,jk->ik", A, B)``, or arrays each with a list of integers for its indices and a last one for the result.
        Arrays of two types are converted to the wider one.
    compute
        What sums are computed in, as in `cute_py.gemm`; of the derivatives, too, as far as their types allow.
    optimize
        How opt_einsum orders the pairs of three operands and more.

    Of one operand it is what `jax.numpy.einsum` gives. Intermediate results of float16 and bfloat16 are float32. Raises OperandError
    for what does not fit.

    >>> import jax.numpy as jnp
    >>> einsum("ij,kj->ik", jnp.ones((2, 3)), jnp.ones((4, 3))).shape
    (2, 4)
    """
    subscripts, given = indices_as_text(operands)
    arrays = [jnp.asarray(x) for x in given]
    if len(arrays) == 1:
        return jnp.einsum(subscripts, arrays[0])
    compute = type_name("compute", compute)
    views, labels, of_d = read("einsum", subscripts, arrays)
    if len(views) == 2:
        return _pair(views[0], views[1], labels[0], labels[1], of_d, compute=compute)
    half, steps = steps_by_labels(
        tuple(labels), of_d, tuple(x.shape for x in views), tuple(x.dtype for x in views), optimize
    )
    values: list[Any] = list(views)
    for number, (first, second, of_first, of_second, kept, is_of_halves) in enumerate(steps, 1):
        x = values[first]
        y = jnp.ones((), x.dtype) if second is None else values[second]
        dtype = half if number == len(steps) else "float32" if is_of_halves and compute is None else None
        values.append(_pair(x, y, of_first, of_second, kept, compute=compute, out_dtype=dtype))
    return values[-1]


def contract(
    subscripts: str, A: Array, B: Array, *, alpha: complex = 1.0, compute: Any = None, out_dtype: Any = None
) -> Array:
    """Return alpha * (A contracted with B), with the modes that `subscripts` name, as in `cute_py.contract`.

    `alpha` is a number, to which no derivative goes. `compute` and `out_dtype` are as in `cute_py.gemm`. Raises OperandError for
    what does not fit, and UnsupportedProblemError for types that no kernel takes.

    >>> import jax.numpy as jnp
    >>> contract("abk,ck->abc", jnp.ones((2, 3, 4)), jnp.ones((5, 4)), alpha=0.5)[0, 0, 0]
    Array(2., dtype=float32)
    """
    (a, b), (of_a, of_b), of_d = read("contract", subscripts, [jnp.asarray(A), jnp.asarray(B)])
    return _pair(
        a,
        b,
        of_a,
        of_b,
        of_d,
        alpha=complex(alpha),
        compute=type_name("compute", compute),
        out_dtype=type_name("out_dtype", out_dtype),
    )


def gemm(A: Array, B: Array, *, alpha: complex = 1.0, compute: Any = None) -> Array:
    """Return alpha * A B^T: CuTe's GEMM. A is (M,K) and **B is (N,K)**; batches are a last mode of each. See `contract`.

    >>> import jax.numpy as jnp
    >>> gemm(jnp.ones((2, 3)), jnp.ones((4, 3))).shape
    (2, 4)
    """
    A, B = jnp.asarray(A), jnp.asarray(B)
    if A.ndim not in (2, 3) or A.ndim != B.ndim or A.shape[1:] != B.shape[1:]:
        raise OperandError(
            f"gemm: A is (M,K) or (M,K,L) and B is (N,K) or (N,K,L); got shapes {A.shape} and {B.shape}\n"
            "  next: for A @ X pass X.T"
        )
    return contract("mk,nk->mn" if A.ndim == 2 else "mkl,nkl->mnl", A, B, alpha=alpha, compute=compute)


def matmul(A: Array, B: Array, *, compute: Any = None) -> Array:
    """Return the matrix product of A (...,M,K) and B (...,K,N): `jax.numpy.matmul`, computed by cute_py. See `einsum`.

    >>> import jax.numpy as jnp
    >>> matmul(jnp.ones((5, 2, 3)), jnp.ones((3, 4))).shape
    (5, 2, 4)
    """
    A, B = jnp.asarray(A), jnp.asarray(B)
    return einsum(subscripts_of_matmul(A, B), A, B, compute=compute)


def tensordot(
    A: Array, B: Array, axes: int | Sequence[int] | Sequence[Sequence[int]] = 2, *, compute: Any = None
) -> Array:
    """Return the sum over pairs of axes, as `numpy.tensordot` has them. See `einsum`.

    >>> import jax.numpy as jnp
    >>> tensordot(jnp.ones((2, 3, 4)), jnp.ones((4, 3)), ([1, 2], [1, 0])).shape
    (2,)
    """
    A, B = jnp.asarray(A), jnp.asarray(B)
    return einsum(subscripts_of_tensordot(axes, A, B), A, B, compute=compute)


# ---- The primitive

_pair_p = Primitive("cute_py_contract")


def _pair(
    a: Array,
    b: Array,
    of_a: str,
    of_b: str,
    of_d: str,
    *,
    alpha: complex = 1.0,
    compute: str | None = None,
    out_dtype: str | None = None,
) -> Array:
    if a.dtype != b.dtype:
        wider = jnp.promote_types(a.dtype, b.dtype)
        a, b = lax.convert_element_type(a, wider), lax.convert_element_type(b, wider)
    dtype = _result_type(a.dtype.name, compute, out_dtype)
    return _pair_p.bind(a, b, of_a=of_a, of_b=of_b, of_d=of_d, alpha=alpha, compute=compute or "", out_dtype=dtype)


@lru_cache(maxsize=256)
def _result_type(dtype: str, compute: str | None, out_dtype: str | None) -> str:
    """Return the type of a new product of two factors of one type. The core knows, and refuses what it cannot compute."""
    one = np.ones((1, 1), jnp.dtype(dtype))
    product = _core.make_product("contract", labels=("mk", "nk", "mn"))
    return str(product.explain(one, one, compute=compute, out_dtype=out_dtype).dtype)


def _shape(a: Any, b: Any, *, of_a: str, of_b: str, of_d: str, out_dtype: str, **_: Any) -> Any:
    extents = dict(zip(of_a + of_b, (*a.shape, *b.shape), strict=True))
    return jax.core.ShapedArray(tuple(extents[x] for x in of_d), jnp.dtype(out_dtype))


def _transposed(
    grad: Any, other: Any, of_d: str, of_other: str, of_factor: str, aval: Any, alpha: complex, compute: str
) -> Any:
    """Return what a factor gets of the result's cotangent: the product of that with the other factor."""
    kept = "".join(x for x in of_factor if x in of_d or x in of_other)
    narrow = aval.dtype.name in _NARROW and jnp.result_type(grad, other).name in _NARROW
    found = _pair(
        grad,
        other,
        of_d,
        of_other,
        kept,
        alpha=alpha,
        compute=compute if compute and grad.dtype == other.dtype else None,
        out_dtype=aval.dtype.name if narrow and (not compute or compute in ("float32", "tfloat32")) else None,
    )
    places = tuple(at for at, letter in enumerate(of_factor) if letter in kept)
    return lax.broadcast_in_dim(lax.convert_element_type(found, aval.dtype), aval.shape, places)


def _of_left(
    grad: Any, a: Any, b: Any, *, of_a: str, of_b: str, of_d: str, alpha: complex, compute: str, **_: Any
) -> Any:
    return _transposed(grad, b, of_d, of_b, of_a, a.aval, alpha, compute)


def _of_right(
    grad: Any, a: Any, b: Any, *, of_a: str, of_b: str, of_d: str, alpha: complex, compute: str, **_: Any
) -> Any:
    return _transposed(grad, a, of_d, of_a, of_b, b.aval, alpha, compute)


def _batched(operands: Any, dims: Any, *, of_a: str, of_b: str, of_d: str, **more: Any) -> tuple[Any, int]:
    """The batch is one more index, wherever it is."""
    new = next(x for x in map(chr, range(1, 128)) if x not in of_a + of_b)
    of_a, of_b = (
        letters if dim is None else letters[:dim] + new + letters[dim:]
        for letters, dim in zip((of_a, of_b), dims, strict=True)
    )
    return _pair_p.bind(*operands, of_a=of_a, of_b=of_b, of_d=new + of_d, **more), 0


def _lowered(
    ctx: Any, a: Any, b: Any, *, of_a: str, of_b: str, of_d: str, alpha: complex, compute: str, **_: Any
) -> Any:
    letters = {x: chr(ord("A") + i) for i, x in enumerate(dict.fromkeys(of_a + of_b))}
    named = {
        name: "".join(letters[x] for x in indices) for name, indices in (("of_a", of_a), ("of_b", of_b), ("of_d", of_d))
    }
    number = complex(alpha)
    rule = jax.ffi.ffi_lowering(_TARGET)
    return rule(ctx, a, b, **named, alpha_re=np.float64(number.real), alpha_im=np.float64(number.imag), compute=compute)


@lru_cache(maxsize=1024)
def _compiled(**params: Any) -> Any:
    return jax.jit(partial(_pair_p.bind, **params))


for _platform, _handler in _core.xla_contract.items():
    jax.ffi.register_ffi_target(_TARGET, _handler, platform=_platform)
for _platform in ("cpu", "cuda"):
    mlir.register_lowering(_pair_p, _lowered, platform=_platform)
_pair_p.def_impl(lambda a, b, **params: _compiled(**params)(a, b))
_pair_p.def_abstract_eval(_shape)
ad.defbilinear(_pair_p, _of_left, _of_right)
batching.primitive_batchers[_pair_p] = _batched
