"""New arrays in the caller's library. Libraries are looked up among those already imported, never imported from here."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from cute_py import _core
from cute_py.errors import OperandError

_DLPACK_CPU = (1, 3)  # kDLCPU, kDLCUDAHost
_DLPACK_CUDA = (2, 13)  # kDLCUDA, kDLCUDAManaged


def empty_result(like: Any, shape: tuple[int, ...], first_fastest: bool, dtype: str) -> Any:
    """Return memory for a result, beside the array `like` and from its library.

    The last mode is the fastest, or the first if `first_fastest`. `dtype` is a name, such as ``"float32"``. A library without
    mutable arrays gets a stand-in, which `as_result` turns into one of its own.
    """
    stored = shape[::-1] if first_fastest else shape
    if (torch := _library_of(like, "torch", "Tensor")) is not None:
        result = torch.empty(stored, dtype=getattr(torch, dtype), device=like.device)
        return result.permute(*range(len(shape) - 1, -1, -1)) if first_fastest else result
    if (cupy := _library_of(like, "cupy", "ndarray")) is not None:
        with like.device:
            result = cupy.empty(stored, dtype=_numpy_type(dtype))
    else:
        kind, ordinal = like.__dlpack_device__()
        is_jax = _library_of(like, "jax", "Array") is not None
        if kind in _DLPACK_CUDA and is_jax:
            return _core.Buffer(device=ordinal, shape=list(shape), first_fastest=first_fastest, dtype=dtype)
        if kind not in _DLPACK_CPU:
            raise OperandError(
                f"cute_py cannot make a result for {type(like).__module__}.{type(like).__qualname__}\n"
                "  next: pass C, an array to write to"
            )
        result = _aligned(stored, _numpy_type(dtype)) if is_jax else np.empty(stored, _numpy_type(dtype))
    return result.T if first_fastest else result


def _numpy_type(name: str) -> Any:
    if name != "bfloat16":
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError:
        raise OperandError(
            "NumPy has no bfloat16 of its own\n  next: install ml_dtypes, which has; or pass out_dtype='float32'"
        ) from None
    return np.dtype(ml_dtypes.bfloat16)


def _aligned(shape: tuple[int, ...], dtype: Any) -> Any:
    """Return an empty array at a multiple of 64 bytes; JAX copies one that is elsewhere."""
    size = math.prod(shape) * dtype.itemsize
    memory = np.empty(size + 64, np.uint8)
    first = -memory.ctypes.data % 64
    return memory[first : first + size].view(dtype).reshape(shape)


def as_result(like: Any, result: Any) -> Any:
    """Return what `empty_result` made as an array of the library of `like`, without a copy."""
    if (jax := _library_of(like, "jax", "Array")) is not None:
        if isinstance(result, np.ndarray) and result.dtype.name == "bfloat16":  # NumPy cannot export it
            return jax.dlpack.from_dlpack(result.view(np.uint16)).view("bfloat16")
        return jax.dlpack.from_dlpack(result)
    return result


def _library_of(array: Any, library: str, name: str) -> Any:
    """Return the module `library` if it has been imported and `array` is one of its arrays, else None."""
    module = sys.modules.get(library)
    return module if module is not None and isinstance(array, getattr(module, name)) else None
