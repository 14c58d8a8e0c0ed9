"""Arrays of the caller's library: what they tell of themselves, and new ones beside them.

Libraries are looked up among those already imported, never imported from here.
"""

from __future__ import annotations

import math
import reprlib
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from cute_py import _core
from cute_py._dtypes import COMPLEX, FLOAT8, HALVES, NOT_IN_NUMPY, numpy_type
from cute_py.errors import OperandError

NUMBERS = (np.generic, bool, int, float, complex)

_DLPACK_CPU = (1, 3)  # kDLCPU, kDLCUDAHost
_DLPACK_CUDA = (2, 13)  # kDLCUDA, kDLCUDAManaged


def empty_result(like: Any, shape: tuple[int, ...], order: tuple[int, ...] | None, dtype: str) -> Any:
    """Return memory for a result, beside the array `like` and from its library.

    `order` has the modes from the slowest to the fastest; None if the last is the fastest. `dtype` is a name, such as
    ``"float32"``. A library without mutable arrays gets a stand-in, which `as_result` turns into one of its own.
    """
    stored = shape if order is None else tuple([shape[i] for i in order])
    back = None if order is None else tuple([order.index(i) for i in range(len(shape))])
    if type(like) is np.ndarray:
        result = np.empty(stored, numpy_type(dtype))
        return result if back is None else result.transpose(back)
    if (torch := _library_of(like, "torch", "Tensor")) is not None:
        result = torch.empty(stored, dtype=getattr(torch, dtype), device=like.device)
        return result if back is None else result.permute(back)
    if (cupy := _library_of(like, "cupy", "ndarray")) is not None:
        with like.device:
            result = cupy.empty(stored, dtype=numpy_type(dtype))
    else:
        kind, ordinal = like.__dlpack_device__()
        is_jax = _library_of(like, "jax", "Array") is not None
        if kind in _DLPACK_CUDA and is_jax:
            return _core.Buffer(device=ordinal, shape=list(shape), order=list(order or ()), dtype=dtype)
        if kind not in _DLPACK_CPU:
            raise OperandError(
                f"cute_py cannot make a result for {type(like).__module__}.{type(like).__qualname__}\n"
                "  next: pass C, an array to write to"
            )
        result = _aligned(stored, numpy_type(dtype)) if is_jax else np.empty(stored, numpy_type(dtype))
    return result if back is None else result.transpose(back)


def _aligned(shape: tuple[int, ...], dtype: Any) -> Any:
    """Return an empty array at a multiple of 64 bytes; JAX copies one that is elsewhere."""
    size = math.prod(shape) * dtype.itemsize
    memory = np.empty(size + 64, np.uint8)
    first = -memory.ctypes.data % 64
    return memory[first : first + size].view(dtype).reshape(shape)


def as_result(like: Any, result: Any) -> Any:
    """Return what `empty_result` made as an array of the library of `like`, without a copy."""
    if type(like) is np.ndarray:
        return result
    if (jax := _library_of(like, "jax", "Array")) is not None:
        if isinstance(result, np.ndarray) and result.dtype.name in NOT_IN_NUMPY:  # which NumPy cannot export
            return jax.dlpack.from_dlpack(result.view(f"u{result.itemsize}")).view(result.dtype.name)
        return jax.dlpack.from_dlpack(result)
    return result


def _library_of(array: Any, library: str, name: str) -> Any:
    """Return the module `library` if it has been imported and `array` is one of its arrays, else None."""
    module = sys.modules.get(library)
    return module if module is not None and isinstance(array, getattr(module, name)) else None


def as_number(result: Any, *given: Any) -> Any:
    """Return a new array of NumPy that has no modes as a scalar, and anything else, or anything given, as it is."""
    if type(result) is np.ndarray and result.ndim == 0 and all(x is None for x in given):
        return result[()]
    return result


def shape_of(function: str, name: str, array: Any) -> tuple[int, ...]:
    """Return the extents of an operand. Raises OperandError for what is no array."""
    shape = getattr(array, "shape", None)
    if isinstance(shape, tuple):
        return shape
    if isinstance(shape, list):
        return tuple(shape)
    if hasattr(array, "__dlpack__") and not isinstance(array, type):
        raise OperandError(
            f"{function}: {name} is a {type(array).__name__}, which has __dlpack__ and no shape\n"
            "  next: numpy.from_dlpack makes an array of it"
        )
    what = f"the class {array.__name__}" if isinstance(array, type) else f"a {type(array).__name__}"
    raise OperandError(f"{function}: {name} is {what}, not an array\n  next: {way_to_an_array(name, array)}")


def way_to_an_array(name: str, thing: Any) -> str:
    """Return what to do with an operand that is no array in memory: the next step of an error."""
    if isinstance(thing, type):
        return "pass an array of it"
    name = name if name.isidentifier() else "x"  # "operand 1"
    for base in type(thing).__mro__:
        library = base.__module__.partition(".")[0]
        if library in ("jax", "jaxlib"):  # a tracer; an array would have been taken
            return f"cute_py.jax has these functions for jit, grad and vmap; {name} is traced, and has no memory"
        if library == "dask":
            return f"cute_py.dask has these functions for Dask's arrays; or pass {name}.compute()"
        if library == "torch":
            return f"cute_py.torch has these functions for traced tensors; or pass a dense tensor, such as {name}.to_dense()"
        if library == "scipy" and hasattr(thing, "toarray"):
            return f"pass {name}.toarray(), which is dense"
        if library in ("pandas", "polars", "xarray", "pyarrow") and hasattr(thing, "to_numpy"):
            return f"pass {name}.to_numpy()"
    if isinstance(thing, (int, float, complex)):
        return f"pass an array, such as numpy.full(shape, {name}, 'float32')"
    if isinstance(thing, (list, tuple)):
        return _way_from_a_list(name, thing)
    return "pass an array of NumPy, CuPy, PyTorch, JAX or any other library with __dlpack__"


def _way_from_a_list(name: str, numbers: Any) -> str:
    try:
        kind = np.asarray(numbers).dtype.kind
    except Exception:  # whatever its elements raise
        kind = "O"
    if kind in "biu":  # of which no kernel multiplies NumPy's default
        return f"numpy.asarray({name}, 'float64') makes an array of it"
    return f"numpy.asarray({name}) makes an array of it" if kind in "fc" else "pass an array of numbers"


def type_of(array: Any) -> str:
    """Return the name of an array's element type; empty if it does not tell."""
    return type_text(getattr(array, "dtype", None))


def type_text(dtype: Any) -> str:
    """Return ``"float32"`` for the dtype of any library, ``""`` for None."""
    return "" if dtype is None else str(dtype).rpartition(".")[2]


def describe(name: str, array: Any) -> str:
    """Return ``"A float32 (2,3):(3,1) cpu"``, as messages show operands, without what the array does not tell."""
    words = [name, type_of(array), _tuple_text(getattr(array, "shape", ()))]
    if isinstance(array, np.ndarray):
        words[2] += ":" + _tuple_text([stride // (array.itemsize or 1) for stride in array.strides])
        words.append("cpu")
    elif _library_of(array, "torch", "Tensor") is not None:
        words[2] += ":" + _tuple_text(array.stride())
        words.append(str(array.device))
    return " ".join(word for word in words if word)


def _tuple_text(values: Sequence[Any]) -> str:
    return f"({','.join(map(str, values))})"


def with_numbers(function: str, operands: Sequence[Any]) -> list[Any]:
    """Return the operands with an array of no modes in the place of every number.

    A number of Python takes the type of the other operands, as in NumPy, or the complex or real type that goes with it;
    one of NumPy keeps its own. The array is of the library of the first array among the operands, and beside it.
    """
    arrays = [x for x in operands if type(x) is np.ndarray or not isinstance(x, NUMBERS)]
    if len(arrays) == len(operands):
        return arrays
    for i, x in enumerate(operands):
        if not isinstance(x, NUMBERS):
            shape_of(function, f"operand {i + 1}" if function == "einsum" else "AB"[i], x)  # refuses what is no array
    like = arrays[0] if arrays else None
    typed = {type_of(x) for x in operands if not isinstance(x, NUMBERS) or isinstance(x, np.generic)}
    return [_array_of_number(function, x, like, typed) if isinstance(x, NUMBERS) else x for x in operands]


def _array_of_number(function: str, number: Any, like: Any, others: set[str]) -> Any:
    if isinstance(number, np.generic):
        dtype = number.dtype
    elif "" in others:
        raise OperandError(
            f"{function}: {reprlib.repr(number)} takes the type of the arrays beside it, and one of them does not tell its own\n"
            "  next: pass an array without modes, of the type that it shall have"
        )
    elif not others:
        dtype = np.asarray(number).dtype
    else:
        dtype = numpy_type(_type_beside(number, others))
    try:
        return number_like(like, number, dtype)
    except (OverflowError, TypeError, AttributeError):
        raise OperandError(
            f"{function}: {reprlib.repr(number)} is no number of the type {dtype}\n"
            "  next: pass an array without modes, of the type that it shall have"
        ) from None


def _type_beside(number: complex, others: set[str]) -> str:
    """Return the type of a number of Python beside arrays of these types."""
    if others == {"int8"}:
        return "int8" if isinstance(number, int) else "complex128" if isinstance(number, complex) else "float64"
    wide = bool(others & {"float64", "complex128"})
    if isinstance(number, complex):
        return "complex128" if wide else "complex64"
    if others & set(COMPLEX):  # multiplies both parts as they are
        return "float64" if wide else "float32"
    singles = {*HALVES, "float32"}
    if len(others) == 1 and others < {*singles, *FLOAT8}:
        return next(iter(others))
    return "float64" if wide or not others & singles else "float32"


def number_like(like: Any, number: Any, dtype: np.dtype[Any]) -> Any:
    """Return a number as an array of no modes, of the library of `like` and beside it."""
    if (torch := _library_of(like, "torch", "Tensor")) is not None:
        value = number.item() if isinstance(number, np.generic) and dtype.kind in "biufc" else number
        return torch.tensor(value, dtype=getattr(torch, dtype.name), device=like.device)
    if (cupy := _library_of(like, "cupy", "ndarray")) is not None:
        with like.device:
            return cupy.asarray(number, dtype)
    if (jax := _library_of(like, "jax", "Array")) is not None:
        if isinstance(like, jax.core.Tracer):
            raise OperandError(
                f"an operand is a {type(like).__name__}, not an array\n  next: {way_to_an_array('it', like)}"
            )
        return jax.device_put(np.asarray(number, dtype), next(iter(like.devices())))
    return np.asarray(number, dtype)
