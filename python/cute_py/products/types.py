"""Element types by name, whatever a library calls them."""

from __future__ import annotations

import reprlib
from typing import Any, get_args

import numpy as np

from cute_py._dtypes import ALIASES, DTYPES, Compute
from cute_py.errors import OperandError

__all__ = ["type_name"]

_NAMES = frozenset([*DTYPES, *get_args(Compute)])
_PYTHON = {float: "float64", complex: "complex128"}


def type_name(argument: str, dtype: Any) -> str | None:
    """Return ``"float32"`` for that, ``"f4"``, ``"fp32"``, numpy.float32, numpy.dtype("f4"), torch.float32,
    jax.numpy.float32 and the like.

    Python's float is float64, its complex complex128. A name that means nothing here is returned as it is: the core
    refuses it, and says which it takes. Raises OperandError for what is no type, and for one of another byte order.
    """
    if dtype is None:
        return None
    if isinstance(dtype, str):
        text = ALIASES.get(str(dtype), str(dtype))
        if text in _NAMES:
            return text
        try:
            dtype = np.dtype(text)
        except Exception:  # NumPy reads many languages, and has an error for each
            return text
    if isinstance(dtype, np.dtype):
        if not dtype.isnative:
            raise OperandError(
                f"{argument} {dtype.str} is not in the byte order of this machine\n"
                f"  next: {argument}={dtype.newbyteorder('=').name!r}"
            )
        return str(dtype.name)
    if isinstance(dtype, type):
        return _PYTHON.get(dtype, dtype.__name__)
    given = getattr(dtype, "name", None)
    name = (given if isinstance(given, str) else str(dtype)).rpartition(".")[2]
    if not name.isidentifier():
        raise OperandError(
            f"{argument} is an element type, got {reprlib.repr(dtype)}\n"
            f"  next: {argument}='float32', or a type of NumPy, PyTorch, JAX or ml_dtypes"
        )
    return name
