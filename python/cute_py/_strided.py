"""Views of NumPy's arrays with other strides, of every element type."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["as_strided"]

_ADDED = 2  # dtype.isbuiltin of the types that other libraries have added to NumPy


def as_strided(
    array: np.ndarray[Any, Any], shape: tuple[int, ...], strides: tuple[int, ...], writeable: bool
) -> np.ndarray[Any, Any]:
    """Return `numpy.lib.stride_tricks.as_strided` of an array; strides are in bytes.

    That loses the types of ml_dtypes whose names NumPy cannot read back, such as float8_e5m2.
    """
    if array.dtype.isbuiltin != _ADDED:
        return np.lib.stride_tricks.as_strided(array, shape, strides, writeable=writeable)
    raw = array.view(f"V{array.itemsize}")
    return np.lib.stride_tricks.as_strided(raw, shape, strides, writeable=writeable).view(array.dtype)
