"""Contractions in JAX: under ``jit``, ``grad``, ``vmap`` and their combinations, without Python in the compiled
program.

A contraction is a primitive of its own, bilinear as ``lax.dot_general`` is: forward and reverse derivatives of any
order are contractions of the same kernels, and a batch of ``vmap`` is one more mode. XLA calls cute_py as a foreign
function, on the CPU and on CUDA devices.

>>> import jax, jax.numpy as jnp, cute_py.jax
>>> q, k = jnp.ones((2, 5, 3)), jnp.ones((2, 7, 3))
>>> jax.jit(lambda q, k: cute_py.jax.einsum("bqd,bkd->bqk", q, k))(q, k).shape
(2, 5, 7)
>>> float(jax.grad(lambda q: cute_py.jax.einsum("bqd,bkd->bqk", q, k).sum())(q)[0, 0, 0])
7.0
"""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from functools import lru_cache, partial, reduce
from typing import Any, NamedTuple

try:
    import jax
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "jax":
        raise
    raise ModuleNotFoundError("cute_py.jax needs JAX\n  next: pip install 'cute-py[jax]'", name="jax") from None
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir, xla
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec

from cute_py import _core
from cute_py._dtypes import COMPLEX, DTYPES, FLOAT8, HALVES
from cute_py.errors import CuteError, OperandError, UnsupportedProblemError
from cute_py.products.arrays import describe
from cute_py.products.contraction import subscripts_of_matmul, subscripts_of_tensordot
from cute_py.products.einsum import indices_as_text, steps_by_labels
from cute_py.products.pairs import read
from cute_py.products.types import type_name

__all__ = ["contract", "einsum", "gemm", "matmul", "tensordot"]

Array = Any
_TARGET = "cute_py_contract"


def einsum(
    *operands: Any,
    compute: Any = None,
    out_dtype: Any = None,
    optimize: Any = "auto",
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """Return the sum of products that the subscripts name: `jax.numpy.einsum`, computed by cute_py.

    Parameters
    ----------
    operands
        ``einsum("ij,jk->ik", A, B)``, or arrays each with a list of integers for its indices and a last one for the
        result. Arrays of different types are converted to `jax.numpy.result_type` of all; numbers and weak types follow
        the others.
    compute, out_dtype
        What sums are computed in, as in `cute_py.gemm`, of the derivatives, too, as far as their types allow; and the
        result's type.
    optimize
        How opt_einsum orders the pairs of three operands and more: a name, True or False, or the path.
    precision
        As jax.numpy's. float32 is always computed in float32, which meets every ``lax.Precision``. A
        ``lax.DotAlgorithmPreset`` or its name is taken where it is one of cute_py's ways: ``"TF32_TF32_F32"`` is
        ``compute="tfloat32"``.
    preferred_element_type
        The result's type, as `out_dtype`, but as jax.numpy has it: beside it operands may be of any types,
        ``jnp.float64`` is what sums are computed in, too, and what no kernel writes, such as int16 of int8, is
        converted to.

    One operand that is not summed is transposed. Intermediate results of float16 and bfloat16 are float32. Raises
    OperandError for what does not fit, also for a result of 64 bits while JAX has no such types; and
    UnsupportedProblemError for types that no kernel takes.

    >>> import jax.numpy as jnp
    >>> einsum("ij,kj->ik", jnp.ones((2, 3)), jnp.ones((4, 3))).shape
    (2, 4)
    """
    subscripts, given = indices_as_text(operands)
    arrays, dtype = _of_one_type(given, preferred_element_type)
    asked = _asked("einsum", dtype, compute, out_dtype, precision, preferred_element_type)
    views, labels, of_d = read("einsum", subscripts, arrays)
    if len(views) == 1 and set(labels[0]) == set(of_d) and asked.is_plain:
        return _finished(lax.transpose(views[0], [labels[0].index(x) for x in of_d]), asked)
    shapes, types = tuple(x.shape for x in views), tuple(x.dtype for x in views)
    steps = steps_by_labels(tuple(labels), of_d, shapes, types, optimize, asked.compute)
    values: list[Any] = list(views)
    for number, step in enumerate(steps, 1):
        x = values[step.first]
        y = None if step.second is None else values[step.second]
        out = asked.out_dtype if number == len(steps) and asked.out_dtype is not None else step.out_dtype
        values.append(
            _pair("einsum", x, y, step.of_first, step.of_second, step.kept, compute=step.compute, out_dtype=out)
        )
    return _finished(values[-1], asked)


def contract(
    subscripts: str, A: Array, B: Array, *, alpha: complex = 1.0, compute: Any = None, out_dtype: Any = None
) -> Array:
    """Return alpha * (A contracted with B), with the modes that `subscripts` name, as in `cute_py.contract`.

    `alpha` is a number, to which no derivative goes. `compute` and `out_dtype` are as in `cute_py.gemm`. Raises
    OperandError for what does not fit, and UnsupportedProblemError for types that no kernel takes.

    >>> import jax.numpy as jnp
    >>> contract("abk,ck->abc", jnp.ones((2, 3, 4)), jnp.ones((5, 4)), alpha=0.5)[0, 0, 0]
    Array(2., dtype=float32)
    """
    arrays, dtype = _of_one_type((A, B))
    asked = _asked("contract", dtype, compute, out_dtype)
    (a, b), (of_a, of_b), of_d = read("contract", subscripts, arrays)
    found = _pair(
        "contract", a, b, of_a, of_b, of_d, alpha=complex(alpha), compute=asked.compute, out_dtype=asked.out_dtype
    )
    return _finished(found, asked)


def gemm(A: Array, B: Array, *, alpha: complex = 1.0, compute: Any = None, out_dtype: Any = None) -> Array:
    """Return alpha * A B^T: CuTe's GEMM. A is (M,K) and **B is (N,K)**; batches are a last mode of each. See
    `contract`.

    >>> import jax.numpy as jnp
    >>> gemm(jnp.ones((2, 3)), jnp.ones((4, 3))).shape
    (2, 4)
    """
    A, B = jnp.asarray(A), jnp.asarray(B)
    if A.ndim not in (2, 3) or A.ndim != B.ndim or A.shape[1:] != B.shape[1:]:
        raise OperandError(
            f"gemm: A is (M,K) or (M,K,L) and B is (N,K) or (N,K,L); got shapes {A.shape} and {B.shape}\n"
            "  next: for A @ X pass X.T; a vector v is the matrix v[None, :]"
        )
    subscripts = "mk,nk->mn" if A.ndim == 2 else "mkl,nkl->mnl"
    return contract(subscripts, A, B, alpha=alpha, compute=compute, out_dtype=out_dtype)


def matmul(
    A: Array,
    B: Array,
    *,
    compute: Any = None,
    out_dtype: Any = None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """Return the matrix product of A (...,M,K) and B (...,K,N): `jax.numpy.matmul`, computed by cute_py. See `einsum`.

    >>> import jax.numpy as jnp
    >>> matmul(jnp.ones((5, 2, 3)), jnp.ones((3, 4))).shape
    (5, 2, 4)
    """
    A, B = jnp.asarray(A), jnp.asarray(B)
    return einsum(
        subscripts_of_matmul(A, B),
        A,
        B,
        compute=compute,
        out_dtype=out_dtype,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def tensordot(
    A: Array,
    B: Array,
    axes: int | Sequence[int] | Sequence[Sequence[int]] = 2,
    *,
    compute: Any = None,
    out_dtype: Any = None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """Return the sum over pairs of axes, as `jax.numpy.tensordot` has them; arrays of integers are axes, too. See
    `einsum`.

    >>> import jax.numpy as jnp
    >>> tensordot(jnp.ones((2, 3, 4)), jnp.ones((4, 3)), ([1, 2], [1, 0])).shape
    (2,)
    """
    A, B = jnp.asarray(A), jnp.asarray(B)
    return einsum(
        subscripts_of_tensordot(_axes(axes), A, B),
        A,
        B,
        compute=compute,
        out_dtype=out_dtype,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


# ---- Arguments

# By how many digits a type has, those of complex numbers as their parts.
_WIDTHS = {
    "int8": 0,
    **dict.fromkeys(FLOAT8, 1),
    **dict.fromkeys(HALVES, 2),
    **dict.fromkeys(("float32", "complex64"), 3),
    **dict.fromkeys(("float64", "complex128"), 4),
}

# What JAX calls an algorithm: the types it is for, and what sums are computed in.
_ALGORITHMS: dict[str, tuple[tuple[str, ...], str | None]] = {
    "DEFAULT": (tuple(_WIDTHS), None),
    "F16_F16_F32": (("float16",), "float32"),
    "BF16_BF16_F32": (("bfloat16",), "float32"),
    "F32_F32_F32": ((*HALVES, "float32"), "float32"),
    "TF32_TF32_F32": ((*HALVES, "float32"), "tfloat32"),
    "F64_F64_F64": (("float32", "float64"), "float64"),
    "ANY_F8_ANY_F8_F32": (FLOAT8, "float32"),
    "ANY_F8_ANY_F8_F32_FAST_ACCUM": (FLOAT8, "fast_float32"),
    "ANY_F8_ANY_F8_ANY": (FLOAT8, "float32"),
    "ANY_F8_ANY_F8_ANY_FAST_ACCUM": (FLOAT8, "fast_float32"),
}


class _Asked(NamedTuple):
    """What a caller asks for."""

    compute: str | None
    out_dtype: str | None
    """As the core is told."""
    converted_to: str | None
    """The type that the result is converted to then."""
    is_plain: bool
    """Did the caller leave open how it is computed?"""


def _asked(
    function: str, dtype: str, compute: Any, out_dtype: Any, precision: Any = None, preferred: Any = None
) -> _Asked:
    """Return what the arguments of a product of operands of a type mean."""
    compute, out_dtype = type_name("compute", compute), type_name("out_dtype", out_dtype)
    if any(preferred is x for x in (int, float, complex)):
        preferred = jax.dtypes.canonicalize_dtype(preferred)  # JAX's default types
    preferred = type_name("preferred_element_type", preferred)
    if out_dtype in ("float64", "complex128"):
        _require_64_bits(function, out_dtype)
    algorithm = None if precision is None else _algorithm(function, precision)
    is_plain = compute is None and out_dtype is None and algorithm is None
    if preferred is not None and out_dtype not in (None, preferred):
        raise OperandError(
            f"{function}: out_dtype {out_dtype} and preferred_element_type {preferred} both name the result's type\n"
            "  next: pass one of them"
        )
    if algorithm is not None:
        compute = _compute_of(function, algorithm, dtype, compute)
        if compute == "float64" and out_dtype is None and preferred is None:
            out_dtype = dtype  # an algorithm does not change the result's type
    if preferred is None or out_dtype is not None:
        return _Asked(compute, out_dtype, out_dtype, is_plain)

    if not _is_number_type(preferred):
        raise OperandError(
            f"{function}: preferred_element_type is a type of numbers that JAX has, got {preferred!r}\n"
            "  next: preferred_element_type=jax.numpy.float32"
        )
    _require_64_bits(function, preferred)
    written = preferred
    if dtype in FLOAT8:
        written = "float32" if preferred == "float64" else preferred
    elif dtype == "int8":
        # Of what the core does not write, the sums of int32 are converted.
        converts = jnp.issubdtype(preferred, jnp.signedinteger) or jnp.issubdtype(preferred, jnp.floating)
        written = None if converts and preferred not in ("int8", "int32", "float32") else preferred
    elif compute is None and preferred in ("float64", "complex64", "complex128"):
        compute = None if dtype.startswith("complex") and preferred != "complex128" else preferred
    return _Asked(compute, written, preferred, is_plain)


def _algorithm(function: str, precision: Any) -> str | None:
    """Return the name of an algorithm of JAX's; None for a `lax.Precision`, since each is met by computing float32 in
    float32.
    """
    try:
        if isinstance(precision, lax.DotAlgorithm):
            return _name_of(precision)
        if isinstance(precision, lax.DotAlgorithmPreset):
            return str(precision.name)
        if isinstance(precision, str) and precision in lax.DotAlgorithmPreset.__members__:
            return precision
        pair = precision if isinstance(precision, (list, tuple)) and len(precision) == 2 else [precision]
        if all(isinstance(x, (str, lax.Precision)) for x in pair):
            for x in pair:
                lax.Precision(x)
            return None
    except (ValueError, TypeError):
        pass
    raise OperandError(
        f"{function}: precision is a lax.Precision or its name, a pair of these, or a lax.DotAlgorithmPreset, got "
        f"{reprlib.repr(precision)}\n  next: precision='highest'"
    )


def _name_of(algorithm: Any) -> str:
    """Return the preset's name of an algorithm written out, or a name like it."""
    short = {name: row.letters.upper() for name, row in DTYPES.items() if not (row.is_integer or row.is_complex)}
    short |= dict.fromkeys(FLOAT8, "ANY_F8")
    names = [jnp.dtype(x).name for x in algorithm[:3]]
    name = "_".join(short.get(x, x) for x in names)
    if any(count != 1 for count in algorithm[3:6]):
        name += f"_X{algorithm.num_primitive_operations}"
    return name + "_FAST_ACCUM" * (algorithm.allow_imprecise_accumulation and name.startswith("ANY_F8"))


def _compute_of(function: str, algorithm: str, dtype: str, compute: str | None) -> str | None:
    """Return what sums of an algorithm are computed in. Raises OperandError for what no kernel does."""
    types, wanted = _ALGORITHMS.get(algorithm, ((), None))
    if not types:
        raise OperandError(
            f"{function}: no kernel computes as precision {algorithm} does; there are {', '.join(_ALGORITHMS)}\n"
            "  next: leave precision out and pass compute='float32', 'tfloat32' or 'float64'"
        )
    if dtype not in types:
        raise OperandError(
            f"{function}: precision {algorithm} is for operands of {', '.join(types)}, and these are {dtype}\n"
            f"  next: convert them to {types[0]}, or leave precision out"
        )
    if None not in (compute, wanted) and compute != wanted:
        raise OperandError(
            f"{function}: precision {algorithm} sums in {wanted}, and compute is {compute}\n  next: pass one of them"
        )
    return wanted or compute


def _axes(axes: Any) -> Any:
    """Return axes with lists in the place of arrays."""
    if hasattr(axes, "tolist"):
        return axes.tolist()
    return [_axes(side) for side in axes] if isinstance(axes, Sequence) and not isinstance(axes, str) else axes


def _of_one_type(operands: Sequence[Any], preferred: Any = None) -> tuple[list[Any], str]:
    """Return the operands as arrays of the type that JAX has for all of them, and that; numbers and weak types follow
    the others.

    Beside complex ones, real operands stay real: both parts are multiplied as they are. Beside `preferred_element_type`
    jax.numpy takes any types together. cute_py multiplies the two types of float8 by one another.
    """
    arrays = [jnp.asarray(x) for x in operands]
    types = {x.dtype.name for x in arrays if not x.weak_type}
    is_strict = jax.config.jax_numpy_dtype_promotion == "strict"
    if len(arrays) == 2 and types == set(FLOAT8) and not is_strict:
        return arrays, FLOAT8[0]
    if preferred is not None and len(types) > 1 and types <= _WIDTHS.keys():
        dtype = reduce(_wider, sorted(types))
    else:
        dtype = jnp.result_type(*arrays).name
    return [_converted(x, _beside(x.dtype.name, dtype)) for x in arrays], dtype


def _beside(dtype: str, wide: str) -> str:
    """Return the type in which an operand is multiplied in a wider one."""
    return wide if dtype in COMPLEX else {"complex64": "float32", "complex128": "float64"}.get(wide, wide)


def _wider(x: str, y: str) -> str:
    """Return the type in which two are multiplied, whatever JAX is told of types that are mixed."""
    if x == y:
        return x
    narrow, wide = sorted((x, y), key=_WIDTHS.__getitem__)
    if _WIDTHS[narrow] < _WIDTHS[wide] <= _WIDTHS["float16"]:
        return wide
    names = ("complex64", "complex128") if "complex" in x + y else ("float32", "float64")
    return names[_WIDTHS[wide] == _WIDTHS["float64"]]


def _converted(x: Any, dtype: Any) -> Any:
    return x if x.dtype == dtype else lax.convert_element_type(x, jnp.dtype(dtype))


def _finished(result: Any, asked: _Asked) -> Any:
    """Return a result of the type that was asked for, which is no weak one then."""
    return result if asked.converted_to is None else lax.convert_element_type(result, jnp.dtype(asked.converted_to))


def _is_number_type(name: str) -> bool:
    try:
        return bool(jnp.issubdtype(jnp.dtype(name), jnp.number))
    except TypeError:
        return False


def _require_64_bits(function: str, dtype: str) -> None:
    """Raise OperandError for a result of 64 bits a number while JAX has no such types."""
    if jax.dtypes.canonicalize_dtype(dtype).name != dtype:
        raise OperandError(
            f"{function}: the result would be {dtype}, and JAX has no types of 64 bits as it is set\n"
            "  next: jax.config.update('jax_enable_x64', True)"
        )


# ---- The primitive

_pair_p = Primitive("cute_py_contract")


def _pair(
    function: str,
    a: Array,
    b: Array | None,
    of_a: str,
    of_b: str,
    of_d: str,
    *,
    alpha: complex = 1.0,
    compute: str | None = None,
    out_dtype: str | None = None,
) -> Array:
    """Return the product of two arrays that have each index once, or of one with a one."""
    y = _one_beside(a) if b is None else b
    types = a.dtype.name, y.dtype.name
    if types[0] != types[1] and not set(types) <= set(FLOAT8):
        wide = _wider(*types)
        types = _beside(types[0], wide), _beside(types[1], wide)
    try:
        dtype = _result_type(function, *types, compute, out_dtype, bool(complex(alpha).imag))
    except CuteError as error:
        raise _with_operands(error, a, b) from None
    _require_64_bits(function, dtype)
    a, y = _varying_alike(_converted(a, types[0]), _converted(y, types[1]))
    return _pair_p.bind(
        a, y, of_a=of_a, of_b=of_b, of_d=of_d, alpha=alpha, compute=compute or "", out_dtype=dtype, b_is_one=b is None
    )


def _one_beside(x: Any) -> Any:
    """Return a one, which is real: an infinity times 1+0j is no number."""
    one = lax.full_like(x, 1, shape=())
    return lax.real(one) if jnp.issubdtype(x.dtype, jnp.complexfloating) else one


@lru_cache(maxsize=512)
def _result_type(
    function: str, of_a: str, of_b: str, compute: str | None, out_dtype: str | None, alpha_is_complex: bool
) -> str:
    """Return the type of a new product of factors of these types. The core knows, and refuses what it cannot
    compute.
    """
    product = _core.make_product(function, labels=("mk", "nk", "mn"))
    ones = [np.ones((1, 1), jnp.dtype(x)) for x in (of_a, of_b)]
    alpha = 1j if alpha_is_complex else 1.0
    return str(product.explain(*ones, alpha=alpha, compute=compute, out_dtype=out_dtype).dtype)


def _with_operands(error: CuteError, a: Any, b: Any) -> CuteError:
    """Return the error of `_result_type` with the operands in the place of its own."""
    shown = {"  A ": "  " + describe("A", a), "  B ": "" if b is None else "  " + describe("B", b)}
    lines = [shown.get(line[:4], line) for line in str(error).split("\n")]
    return type(error)("\n".join(line for line in lines if line))


def _varying_alike(a: Any, b: Any) -> tuple[Any, Any]:
    """Return two arrays that vary over the same axes of a mesh, in `jax.shard_map`. What varies over fewer gets its
    derivative summed.
    """
    of_a, of_b = _varying(_typeof(a)), _varying(_typeof(b))
    if of_a == of_b:
        return a, b
    return _cast_to_varying(a, of_b - of_a), _cast_to_varying(b, of_a - of_b)


def _cast_to_varying(x: Any, axes: frozenset[Any]) -> Any:
    if not axes:
        return x
    return lax.pcast(x, tuple(axes), to="varying") if hasattr(lax, "pcast") else lax.pvary(x, tuple(axes))


def _varying(aval: Any) -> frozenset[Any]:
    """Return the axes of a mesh over which a value varies, as versions of JAX tell it; none in those that do not count
    them.
    """
    varying = aval.manual_axis_type.varying if hasattr(aval, "manual_axis_type") else getattr(aval, "vma", frozenset())
    return frozenset(varying)


def _is_partial(aval: Any) -> bool:
    """Is a value a part of a sum over an axis of a mesh, or is its derivative?"""
    kept = (getattr(aval, "manual_axis_type", None), aval.sharding.spec)
    return any(getattr(x, name, None) for x in kept for name in ("unreduced", "reduced"))


_typeof = jax.typeof if hasattr(jax, "typeof") else jax.core.get_aval


def _result_aval(a: Any, b: Any, *, of_a: str, of_b: str, of_d: str, out_dtype: str, **_: Any) -> Any:
    extents = dict(zip(of_a + of_b, (*a.shape, *b.shape), strict=True))
    shape, dtype = tuple(extents[x] for x in of_d), jnp.dtype(out_dtype)
    is_weak = a.weak_type and b.weak_type and dtype in (a.dtype, b.dtype)
    if getattr(a, "sharding", None) is None:
        return jax.core.ShapedArray(shape, dtype, is_weak)
    if _varying(a) != _varying(b):
        raise ValueError(f"{_TARGET}: the operands vary over different axes of the mesh: {a} and {b}")
    if _is_partial(a) or _is_partial(b):
        raise OperandError(
            f"{_TARGET}: an operand is unreduced or reduced over an axis of the mesh: {a} and {b}\n"
            "  next: jax.reshard it, or jax.lax.psum it in jax.shard_map"
        )
    # XLA gathers what a foreign function takes: the result is whole on each device.
    return a.update(shape=shape, dtype=dtype, weak_type=is_weak, sharding=NamedSharding(_mesh(a, b), PartitionSpec()))


def _mesh(a: Any, b: Any) -> Any:
    """Return the mesh that two operands lie on, else that of the context."""
    meshes = list(dict.fromkeys(x.sharding.mesh for x in (a, b) if not x.sharding.mesh.empty))
    if len(meshes) == 2:
        if not all(mesh.are_all_axes_auto for mesh in meshes):
            raise ValueError(f"{_TARGET}: the operands lie on different meshes: {a} and {b}")
        return AbstractMesh((), ())
    return meshes[0] if meshes else jax.sharding.get_abstract_mesh()


def _transposed(
    grad: Any, other: Any, of_d: str, of_other: str, of_factor: str, aval: Any, alpha: complex, compute: str
) -> Any:
    """Return what a factor gets of the result's cotangent: the product of that with the other factor."""
    kept = "".join(x for x in of_factor if x in of_d or x in of_other)
    asked = compute if compute and grad.dtype == other.dtype else None
    dtype = aval.dtype.name
    found = _pair(
        "einsum",
        grad,
        other,
        of_d,
        of_other,
        kept,
        alpha=alpha,
        compute=asked,
        out_dtype=dtype if _is_written(_wider(grad.dtype.name, other.dtype.name), asked, dtype) else None,
    )
    if jnp.issubdtype(found.dtype, jnp.complexfloating) and not jnp.issubdtype(aval.dtype, jnp.complexfloating):
        found = lax.real(found)
    places = tuple(at for at, letter in enumerate(of_factor) if letter in kept)
    found = lax.broadcast_in_dim(_converted(found, dtype), aval.shape, places)
    sharding = getattr(aval, "sharding", None)
    return jax.sharding.reshard(found, sharding) if sharding is not None and sharding.mesh.explicit_axes else found


def _is_written(dtype: str, compute: str | None, out_dtype: str) -> bool:
    """Is a product of this type written as another one, on every device?"""
    if out_dtype in FLOAT8:
        return False
    try:
        return _result_type("einsum", dtype, dtype, compute, out_dtype, False) == out_dtype
    except UnsupportedProblemError:
        return False


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
    more["b_is_one"] = more["b_is_one"] and dims[1] is None
    return _pair_p.bind(*operands, of_a=of_a, of_b=of_b, of_d=new + of_d, **more), 0


def _lowered(
    ctx: Any,
    a: Any,
    b: Any,
    *,
    of_a: str,
    of_b: str,
    of_d: str,
    alpha: complex,
    compute: str,
    b_is_one: bool = False,
    **_: Any,
) -> Any:
    letters = {x: chr(ord("A") + i) for i, x in enumerate(dict.fromkeys(of_a + of_b))}
    named = {
        name: "".join(letters[x] for x in indices) for name, indices in (("of_a", of_a), ("of_b", of_b), ("of_d", of_d))
    }
    number = complex(alpha)
    rule = jax.ffi.ffi_lowering(_TARGET)
    numbers = {"alpha_re": number.real, "alpha_im": number.imag, "b_is_one": b_is_one}
    return rule(ctx, a, b, **named, **{name: np.float64(x) for name, x in numbers.items()}, compute=compute)


for _platform, _handler in _core.xla_contract.items():
    jax.ffi.register_ffi_target(_TARGET, _handler, platform=_platform)
for _platform in ("cpu", "cuda"):
    mlir.register_lowering(_pair_p, _lowered, platform=_platform)
_pair_p.def_impl(partial(xla.apply_primitive, _pair_p))
_pair_p.def_abstract_eval(_result_aval)
ad.defbilinear(_pair_p, _of_left, _of_right)
batching.primitive_batchers[_pair_p] = _batched
