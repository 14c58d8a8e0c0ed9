"""New arrays in the caller's library. Libraries are looked up among those already imported, never imported from here."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from cute_py import _core
from cute_py.errors import OperandError

_DLPACK_CPU = (1, 3)  # kDLCPU, kDLCUDAHost
_DLPACK_CUDA = (2, 13)  # kDLCUDA, kDLCUDAManaged


def empty_result(like: Any, m: int, n: int, m_major: bool) -> Any:
    """Return memory for a float32 C of shape (m, n), beside the array `like` and from its library.

    Strides are (1, m) if `m_major`, else (n, 1). A library without mutable arrays gets a stand-in, which `as_result` turns
    into one of its own.
    """
    shape = (n, m) if m_major else (m, n)
    if (torch := _library_of(like, "torch", "Tensor")) is not None:
        result = torch.empty(shape, dtype=torch.float32, device=like.device)
    elif (cupy := _library_of(like, "cupy", "ndarray")) is not None:
        with like.device:
            result = cupy.empty(shape, dtype=cupy.float32)
    else:
        kind, ordinal = like.__dlpack_device__()
        if kind in _DLPACK_CUDA and _library_of(like, "jax", "Array") is not None:
            return _core.Buffer(device=ordinal, rows=m, columns=n, row_major=not m_major)
        if kind not in _DLPACK_CPU:
            raise OperandError(
                f"cute_py cannot make a result for {type(like).__module__}.{type(like).__qualname__}\n"
                "  next: pass C, an array to write to"
            )
        result = _aligned(shape) if _library_of(like, "jax", "Array") is not None else np.empty(shape, np.float32)
    return result.T if m_major else result


def _aligned(shape: tuple[int, int]) -> Any:
    """Return an empty float32 array at a multiple of 64 bytes; JAX copies one that is elsewhere."""
    elements = shape[0] * shape[1]
    memory = np.empty(elements + 16, np.float32)
    first = -(memory.ctypes.data // 4) % 16
    return memory[first : first + elements].reshape(shape)


def as_result(like: Any, result: Any) -> Any:
    """Return what `empty_result` made as an array of the library of `like`, without a copy."""
    if (jax := _library_of(like, "jax", "Array")) is not None:
        return jax.dlpack.from_dlpack(result)
    return result


def _library_of(array: Any, library: str, name: str) -> Any:
    """Return the module `library` if it has been imported and `array` is one of its arrays, else None."""
    module = sys.modules.get(library)
    return module if module is not None and isinstance(array, getattr(module, name)) else None
