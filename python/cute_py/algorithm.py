"""CuTe's algorithms on tensors, by elements: what a kernel's lines do, run by Python.

They take `cute_py.Tensor`, as ``make_tensor``, ``local_tile`` and ``partition_X`` make them, and go through the
coordinates in the order that CuTe's functions of the same names do, so that one can type a kernel from a C++ text and
follow it; they are meant for small tensors. `gemm` here is CuTe's, which adds to its last argument; `cute_py.gemm` is
the product.

>>> import numpy as np
>>> from cute_py import make_tensor
>>> from cute_py.algorithm import axpby, clear, gemm
>>> A, B = make_tensor(np.ones((2, 3), np.float32)), make_tensor(np.ones((4, 3), np.float32))
>>> C = make_tensor("float32", (2, 4))
>>> clear(C)
>>> gemm(A, B, C)
>>> C.numpy()
array([[3., 3., 3., 3.],
       [3., 3., 3., 3.]], dtype=float32)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from cute_py import _core
from cute_py._dtypes import NOT_IN_NUMPY
from cute_py.atoms import CopyAtom, CopyTraits, MMAAtom
from cute_py.atoms.tiled import TiledCopy, TiledMMA
from cute_py.errors import LayoutError, OperandError
from cute_py.layout.tensor import Tensor, make_tensor
from cute_py.layout.tensor import copy as _copy

__all__ = ["axpby", "clear", "copy", "copy_if", "fill", "gemm", "transform"]

Predicate = Any  # a Tensor of truth values, or a function of a coordinate


def fill(tensor: Tensor, value: Any) -> None:
    """Assign one value to every element."""
    _writeable("fill", "tensor", tensor)
    _assign(tensor, value)


def clear(tensor: Tensor) -> None:
    """Assign 0 to every element."""
    _writeable("clear", "tensor", tensor)
    _assign(tensor, 0)


def transform(*arguments: Any) -> None:
    """``transform(t, f)``, ``transform(x, out, f)`` or ``transform(x, y, out, f)``: ``out(i) = f(x(i), y(i))`` for
    every i.

    Raises OperandError for other arguments and LayoutError for sizes that differ.
    """
    if not 2 <= len(arguments) <= 4 or not callable(arguments[-1]) or isinstance(arguments[-1], Tensor):
        raise OperandError("transform: give (tensor, f), (x, out, f) or (x, y, out, f)")
    *tensors, function = arguments
    sources, out = (tensors[:-1], tensors[-1]) if len(tensors) > 1 else (tensors, tensors[0])
    _writeable("transform", "out", out)
    _same_sizes("transform", *sources, out)
    for i in range(out.size):
        out[i] = function(*(x[i] for x in sources))


def axpby(alpha: Any, x: Tensor, beta: Any, y: Tensor, p: Predicate = None) -> None:
    """``y(i) = alpha * x(i) + beta * y(i)`` for every i, or where ``p(i)``; with beta 0, y is not read.

    ``p`` is a tensor of truth values of y's shape, whose strides may be 0, or a function of y's coordinate. Elements
    where it is false are neither read nor written, and need not exist. alpha, beta and x keep their types: half of an
    int32 is added as a float and the sum is cut off to y's type, as C++ does. OperandError for complex numbers that
    would go to a real y, and for elements that are no numbers.
    """
    _writeable("axpby", "y", y)
    _same_sizes("axpby", x, y)
    dtype = _common_type("axpby", y, x, alpha, beta)
    a, b = dtype.type(alpha), dtype.type(beta)
    for i in _allowed("axpby", p, y):
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = dtype.type(a * dtype.type(x[i]))
        total = scaled if beta == 0 else _fused(b, y[i], scaled, dtype)
        y[i] = np.asarray(total).astype(y.dtype)


def copy(*arguments: Any) -> None:
    """``copy(source, destination)``, or ``copy(atom, source, destination)`` for one thread's parts, made by
    ``partition_S`` and ``_D``.

    Element i goes to element i, in the order of coordinates. Through an atom or a TiledCopy the modes are checked as
    C++ checks them: (CPY, ...), a value of the atom for each element of mode 0. An atom that exchanges values between
    threads (ldmatrix, stmatrix) does not copy one thread's elements to the same thread: OperandError.
    """
    if len(arguments) == 2:
        for name, tensor in zip(("source", "destination"), arguments, strict=True):
            _tensor("copy", name, tensor)
        _copy(*arguments)
        return
    if len(arguments) != 3:
        raise OperandError("copy: give (source, destination) or (atom, source, destination)")
    how, source, destination = arguments
    values = _values_of("copy", how)
    for name, tensor in (("source", source), ("destination", destination)):
        _tensor("copy", name, tensor)
        if int(_core.size(tensor, 0)) % values:
            raise LayoutError(
                f"copy: mode 0 of the {name} {tensor.layout} has no multiple of the {values} values of a vector; next: "
                "partition it by the TiledCopy's slice"
            )
    _copy(source, destination)


def _values_of(operation: str, how: Any) -> int:
    """Return how many values of a thread one instruction of a copy atom moves."""
    atom = how.atom if isinstance(how, TiledCopy) else how
    if isinstance(atom, CopyTraits):
        raise OperandError(
            f'{operation}: give the atom an element type: cute_py.atoms.copy["{atom.name}"].atom("float")'
        )
    if not isinstance(atom, CopyAtom):
        raise OperandError(f"{operation}: the first argument is a TiledCopy or a copy atom, not {type(how).__name__}")
    if str(atom.val_layout_src) != str(atom.val_layout_dst):
        raise OperandError(
            f"{operation}: {atom.name} moves values from thread to thread, which one thread's parts do not show; next: "
            "its val_layout_src and val_layout_dst, or trace() of a kernel, say which go where"
        )
    return int(_core.size(atom.val_layout_src, 1))


def copy_if(*arguments: Any) -> None:
    """``copy_if(p, source, destination)``: ``destination(i) = source(i)`` where ``p(i)``, or with an atom in front of
    p.

    p is a tensor of truth values, or a function of the source's coordinate. A tensor may have more elements than the
    source: its first ones are asked, as in C++. Elements where p is false are neither read nor written, and need not
    exist: a ragged tile is copied with ``elem_less`` of a coordinate tensor that was cut alike.

    With an atom or a TiledCopy, as for `copy`, source and destination are (V, Rest...) and a tensor p is ([V],
    Rest...): it is asked once for each vector that the atom moves, of the vector's first element. Without the mode V it
    speaks of all of mode 0, which is one vector then. A function is asked of the coordinate in Rest.
    """
    if len(arguments) not in (3, 4):
        raise OperandError("copy_if: give (p, source, destination) or (atom, p, source, destination)")
    p, source, destination = arguments[-3:]
    _tensor("copy_if", "source", source)
    _writeable("copy_if", "destination", destination)
    _same_sizes("copy_if", source, destination)
    if len(arguments) == 3:
        for i in _allowed("copy_if", p, source):
            destination[i] = source[i]
        return
    values = _values_of("copy_if", arguments[0])
    if source.rank != destination.rank or (source.rank < 2 and not isinstance(p, Tensor)):
        raise LayoutError(
            f"copy_if: with an atom, {source.layout} and {destination.layout} are (V, Rest...) both; next: parts of a TiledCopy's slice"
        )
    if not isinstance(p, Tensor):
        rest = make_tensor(_core.make_layout(tuple(source.shape)[1:]))
        whole = make_tensor("bool", rest.shape)
        for i in _allowed("copy_if", p, rest):
            whole[i] = True
        p = whole
    _copy_vectors(values, p, source, destination)


def _copy_vectors(values: int, p: Tensor, source: Tensor, destination: Tensor) -> None:
    """Copy (V, Rest...) where p, ([V], Rest...), holds at the first element of a vector of as many values."""
    if p.rank == source.rank - 1:
        p = p.with_layout(_core.prepend(p.layout, source.rank))
    if p.rank != source.rank:
        raise LayoutError(
            f"copy_if: with an atom the predicate is ([V], Rest...), and {p.layout} has {p.rank} modes, {source.layout} has "
            f"{source.rank}\n  next: a predicate of the source's shape, with strides of 0 where it does not vary"
        )
    tensors = (p, source, destination)
    if source.rank == 1:
        _copy_vector(values, *(x.with_layout(x.layout[0]) for x in tensors))
        return
    counts = [math.prod(int(_core.size(x, mode)) for mode in range(1, x.rank)) for x in tensors]
    if counts[0] < counts[1]:
        raise LayoutError(
            f"copy_if: the predicate {p.layout} has {counts[0]} elements beside mode 0, {source.layout} has {counts[1]}; next: a "
            "predicate of the same shape, with strides of 0 along the modes that it does not depend on"
        )
    for i in range(counts[1]):
        _copy_vector(values, *(x[(None, *_core.idx2crd(i, tuple(x.shape)[1:]))] for x in tensors))


def _copy_vector(values: int, p: Tensor, source: Tensor, destination: Tensor) -> None:
    """Copy what is one vector, if p holds at its first element, or of several vectors each for itself."""
    if values in (source.size, destination.size):
        if p[0]:
            _copy(source, destination)
    elif all(isinstance(x.shape, tuple) for x in (p, source, destination)):
        _copy_vectors(values, p, source, destination)
    else:
        raise LayoutError(
            f"copy_if: mode 0, {source.layout}, is no vector of {values} values, and with the predicate {p.layout} no several of them"
            "\n  next: a predicate whose mode 0 has the source's shape, with strides of 0 within a vector"
        )


def gemm(*arguments: Any) -> None:
    """``gemm(A, B, C)`` or ``gemm(mma, A, B, C)``: adds products to C, and with a D in front of A writes the sums to
    it.

    The modes are (V)x(V)->(V), (M)x(N)->(M,N), (M,K)x(N,K)->(M,N), (V,M)x(V,N)->(V,M,N) or (V,M,K)x(V,N,K)->(V,M,N), as
    in C++. k ascends in the outermost loop; each step is one multiply-add: of floats fused, so that it is rounded once,
    of a C of 16 bits to float32 and then to C's type, as kernels do. Of factors of 16 bits and a float32 C the products
    are exact. Factors of a wider type than C's are multiplied and added in theirs, and each sum is converted to C's.

    ``mma`` is a `TiledMMA` or an atom of one thread (UniversalFMA). A tensor core's instruction works on the registers
    of several threads, which one thread's fragments do not show: OperandError.
    """
    mma, tensors = _split(arguments)
    d, a, b, c = tensors
    atom = mma.atom if isinstance(mma, TiledMMA) else mma
    if atom is not None and int(_core.size(atom.thr_id)) > 1:
        raise OperandError(
            f"gemm: {atom.name} works on the registers of {int(_core.size(atom.thr_id))} threads at a time; next: its layout_a_tv, "
            "layout_b_tv and layout_c_tv say whose, and a kernel with it runs in the emulator"
        )
    for name, tensor in (("A", a), ("B", b), ("C", c)):
        _tensor("gemm", name, tensor)
    _writeable("gemm", "D", d)
    modes = (a.rank, b.rank, c.rank)
    if modes not in _GEMM_MODES or d.layout.rank != c.rank:
        raise LayoutError(
            f"gemm: A {a.layout}, B {b.layout}, C {c.layout} have {modes} modes; next: (V)(V)(V), (M)(N)(M,N), (M,K)(N,K)(M,N), "
            "(V,M)(V,N)(V,M,N) or (V,M,K)(V,N,K)(V,M,N)"
        )
    if _core.product_each(d.layout) != _core.product_each(c.layout):
        raise LayoutError(f"gemm: D {d.layout} and C {c.layout} differ in their extents; next: make_tensor_like(C)")
    assert d.dtype is not None
    dtype = _common_type("gemm", c, a, b)
    if dtype.kind == "c" and d.dtype.kind != "c":
        raise OperandError(
            f"gemm: the sums are {dtype}, D is {d.dtype}, which has no imaginary parts; next: a D of {dtype}"
        )
    left, right, sums = (_axes(t, kind) for t, kind in zip((a, b, c), _GEMM_MODES[modes], strict=True))
    wanted = (left.shape[0], left.shape[1], right.shape[1])
    if left.shape[2] != right.shape[2] or left.shape[0] != right.shape[0] or sums.shape != wanted:
        raise LayoutError(
            f"gemm: the extents of A {a.layout}, B {b.layout} and C {c.layout} do not fit: M, N, K or V differ; next: "
            "A (M,K), B (N,K) and C (M,N), with V in front or without"
        )
    assert c.dtype is not None
    for k in range(left.shape[2]):
        sums = np.asarray(_fused(left[:, :, None, k], right[:, None, :, k], sums, dtype)).astype(c.dtype)
    d._scatter(sums.astype(d.dtype).reshape(-1, order="F"))


# Modes of A, B and C -> which axes of (V,M,K), (V,N,K) and (V,M,N) they are.
_GEMM_MODES = {
    (1, 1, 1): ("v", "v", "v"),
    (1, 1, 2): ("m", "m", "mn"),
    (2, 2, 2): ("mk", "mk", "mn"),
    (2, 2, 3): ("vm", "vm", "vmn"),
    (3, 3, 3): ("vmk", "vmk", "vmn"),
}


def _axes(tensor: Tensor, kind: str) -> np.ndarray[Any, Any]:
    """Return a copy with the axes (V,M,K) of a factor, or (V,M,N) of the sums."""
    array = tensor.numpy(copy=True)
    names = "vmn" if "n" in kind else "vmk"
    shape = [array.shape[kind.index(name)] if name in kind else 1 for name in names]
    return array.reshape(shape, order="F")


def _fused(a: Any, b: Any, c: Any, dtype: np.dtype[Any]) -> Any:
    """Return a * b + c: of float32 and float64 rounded once, of shorter floats in float32 and then to theirs, of others
    as NumPy does.
    """
    if dtype.kind in "biuc" or dtype.itemsize > 8:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(a, dtype) * np.asarray(b, dtype) + np.asarray(c, dtype)
    if dtype.itemsize < 4:  # as kernels do: the sum in float32, then rounded
        return _fused(a, b, np.asarray(c, np.float32), np.dtype(np.float32)).astype(dtype)
    if dtype == np.float32:
        with np.errstate(invalid="ignore"):
            product = np.multiply(a, b, dtype=np.float64)
        with np.errstate(over="ignore"):
            return _to_odd(product, np.asarray(c, np.float64)).astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        plain = np.asarray(np.asarray(a, np.float64) * b + c, np.float64)
    # Where the product or the sum is not finite, or is zero, whose sign counts, arithmetic has it right already.
    is_exact = np.isfinite(a) & np.isfinite(b) & np.isfinite(c) & (np.asarray(a) != 0) & (np.asarray(b) != 0)
    exact = np.frompyfunc(_rounded_once, 3, 1)
    return np.where(
        is_exact, exact(np.where(is_exact, a, 0), np.where(is_exact, b, 0), np.where(is_exact, c, 0)), plain
    ).astype(np.float64)


def _rounded_once(a: float, b: float, c: float) -> float:
    total = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def _to_odd(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a + b, to an odd last bit where it is not exact: rounding that once more rounds the exact sum."""
    with np.errstate(invalid="ignore"):
        total = np.asarray(a + b)
        part = total - a
        error = np.asarray((a - (total - part)) + (b - part))
    is_even = (total.view(np.int64) & 1) == 0
    odd = np.nextafter(total, np.where(error > 0, np.inf, -np.inf))
    return np.where(np.isfinite(total) & (error != 0) & is_even, odd, total)


# ---- Arguments


def _split(arguments: tuple[Any, ...]) -> tuple[Any, tuple[Any, Any, Any, Any]]:
    mma, tensors = None, list(arguments)
    if tensors and isinstance(tensors[0], (TiledMMA, MMAAtom)):
        mma = tensors.pop(0)
    if len(tensors) == 3:
        tensors.insert(0, tensors[2])
    if len(tensors) != 4:
        raise OperandError("gemm: give (A, B, C), (D, A, B, C), or these after a TiledMMA or an atom")
    return mma, (tensors[0], tensors[1], tensors[2], tensors[3])


def _tensor(operation: str, name: str, value: Any) -> None:
    if not isinstance(value, Tensor):
        raise OperandError(
            f"{operation}: {name} must be a Tensor, not {type(value).__name__}; next: make_tensor of an array"
        )


def _writeable(operation: str, name: str, value: Any) -> None:
    _tensor(operation, name, value)
    if value.dtype is None:
        raise OperandError(
            f"{operation}: {name} holds coordinates or indices, which cannot be assigned; next: make_tensor('float32', {name}.shape)"
        )
    if not value._memory.writeable:
        raise OperandError(
            f"{operation}: {name}'s array is read-only; next: make_tensor_like({name}) has memory of its own"
        )


def _assign(tensor: Tensor, value: Any) -> None:
    """Assign one value to all elements; a tensor without modes has one."""
    tensor[(None,) * tensor.rank if tensor.rank > 1 else None if tensor.rank else ()] = value


def _common_type(operation: str, out: Tensor, *values: Any) -> np.dtype[Any]:
    """Return the type that a sum is computed in: what holds the result's elements and all others. Python's numbers are
    as wide as need be.
    """
    assert out.dtype is not None
    types = [out.dtype]
    for value in values:
        if isinstance(value, Tensor):
            if value.dtype is None and value._gives_coordinates:
                raise OperandError(
                    f"{operation}: {value.layout} holds coordinates, which cannot be multiplied; next: a tensor of numbers"
                )
            types.append(value.dtype if value.dtype is not None else np.dtype(np.int64))
        elif isinstance(value, (float, complex)) and out.dtype.kind in "biu":
            types.append(np.dtype(type(value)))
        elif isinstance(value, complex):
            types.append(np.result_type(out.dtype, np.complex64))
        elif isinstance(value, (np.number, np.bool_)):
            types.append(value.dtype)
        elif isinstance(value, int) and out.dtype.kind in "biu":
            types.append(np.min_scalar_type(value))
        elif not isinstance(value, (int, float)):
            raise OperandError(f"{operation}: {value!r} is no number")
    for dtype in types:
        if not _is_number(dtype):
            raise OperandError(
                f"{operation}: elements of {dtype} cannot be multiplied; next: copy them to an array of numbers"
            )
    common = _widest(types)
    if common.kind == "c" and out.dtype.kind != "c":
        raise OperandError(
            f"{operation}: the sums are {common}, the result is {out.dtype}, which has no imaginary parts; next: a result of {common}"
        )
    return common


def _is_number(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "biufc" or dtype.name in NOT_IN_NUMPY


def _widest(types: list[np.dtype[Any]]) -> np.dtype[Any]:
    try:
        return np.result_type(*types)
    except TypeError:  # two of the short floats that NumPy does not have
        return np.dtype(np.float32)


def _same_sizes(operation: str, *tensors: Any) -> None:
    for tensor in tensors:
        _tensor(operation, "an operand", tensor)
    if len({tensor.size for tensor in tensors}) > 1:
        raise LayoutError(
            f"{operation}: {', '.join(str(tensor.layout) for tensor in tensors)} differ in size: "
            f"{', '.join(str(tensor.size) for tensor in tensors)}; next: make_tensor_like makes one of the same shape"
        )


def _allowed(operation: str, p: Predicate, tensor: Tensor) -> Any:
    """Yield the indices of the coordinates where a predicate holds."""
    if p is None:
        return range(tensor.size)
    if isinstance(p, Tensor):
        if p.size < tensor.size:
            raise LayoutError(
                f"{operation}: the predicate {p.layout} has {p.size} elements, {tensor.layout} has {tensor.size}; next: a "
                "predicate of the same shape, with strides of 0 along the modes that it does not depend on"
            )
        return (i for i in range(tensor.size) if p[i])
    if not isinstance(p, Callable):  # type: ignore[arg-type]
        raise OperandError(f"{operation}: p must be a Tensor or a function of a coordinate, not {type(p).__name__}")
    shape = tensor.shape
    return itertools.compress(range(tensor.size), (p(_core.idx2crd(i, shape)) for i in range(tensor.size)))
