"""Arrays of a library on a device, its own products beside ours, and whether ours are right: for what measures."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from cute_py._dtypes import COMPLEX, DTYPES, FLOAT8, numpy_type, stored_as
from cute_py.errors import CuteError, OperandError

__all__ = [
    "ROWS_COMPARED",
    "Library",
    "compute_of",
    "corner",
    "library_of_cpu",
    "library_of_gpu",
    "require_right",
    "result_of",
]

Array: TypeAlias = np.ndarray[Any, Any]

ROWS_COMPARED = 64


def compute_of(dtype: str) -> Literal["tfloat32"] | None:
    """Return the ``compute=`` that asks for products of this type."""
    return "tfloat32" if dtype == "tfloat32" else None


def result_of(dtype: str) -> str:
    """Return the type of C."""
    stored = stored_as(dtype)
    return DTYPES[stored].result or stored


class Library(Protocol):
    """Arrays on a device. C (m,n) and, if ``fast_first``, drawn matrices have their first mode fastest."""

    name: str  # of what multiplies there

    def draw(self, rows: int, columns: int, dtype: str, fast_first: bool) -> Any: ...
    def empty(self, m: int, n: int, dtype: str) -> Any: ...
    def peer(self, A: Any, B: Any, C: Any, dtype: str) -> Callable[[], Any] | None:
        """Return a call of the library that writes A B^T to C, or None if it takes no such product."""

    def wide(self, array: Any) -> Array:
        """Return an array on the host, in float64 or complex128."""


class _Torch:
    """PyTorch's arrays on the current GPU, and its products, which are cuBLAS's."""

    name = "cuBLAS"

    def __init__(self) -> None:
        import torch

        self.torch = torch
        self.ordinal = torch.cuda.current_device()

    def draw(self, rows: int, columns: int, dtype: str, fast_first: bool) -> Any:
        torch = self.torch
        shape = (columns, rows) if fast_first else (rows, columns)
        if dtype == "int8":
            drawn = torch.randint(-20, 21, shape, device="cuda", dtype=torch.int8)
        elif dtype in ("float64", *COMPLEX):
            drawn = torch.randn(shape, device="cuda", dtype=getattr(torch, dtype))
        else:
            drawn = torch.randn(shape, device="cuda").to(getattr(torch, stored_as(dtype)))
        return drawn.t() if fast_first else drawn

    def empty(self, m: int, n: int, dtype: str) -> Any:
        return self.torch.empty((n, m), device="cuda", dtype=getattr(self.torch, result_of(dtype))).t()

    def peer(self, A: Any, B: Any, C: Any, dtype: str) -> Callable[[], Any] | None:
        torch = self.torch
        call: Callable[[], Any]
        if dtype == "int8":
            call = partial(torch._int_mm, B, A.t(), out=C.t())
        elif dtype in FLOAT8:
            one = torch.ones((), device="cuda")
            call = partial(torch._scaled_mm, B, A.t(), one, one, out_dtype=C.dtype, out=C.t())
        else:
            call = partial(self._multiply, B, A.t(), C.t(), dtype == "tfloat32")
        try:
            call()
        except (RuntimeError, ValueError):
            return None
        return call

    def _multiply(self, A: Any, B: Any, C: Any, rounds: bool) -> None:
        matmul = self.torch.backends.cuda.matmul
        before, matmul.allow_tf32 = matmul.allow_tf32, rounds
        try:
            self.torch.mm(A, B, out=C)
        finally:
            matmul.allow_tf32 = before

    def wide(self, array: Any) -> Array:
        torch = self.torch
        host = array.to(torch.complex128 if array.is_complex() else torch.float64).cpu()
        values: Array = host.numpy()
        return values


class _CuPy:
    """The same of CuPy."""

    name = "cuBLAS"

    def __init__(self) -> None:
        import cupy

        self.cupy = cupy
        self.ordinal = cupy.cuda.Device().id

    def draw(self, rows: int, columns: int, dtype: str, fast_first: bool) -> Any:
        shape = (columns, rows) if fast_first else (rows, columns)
        if dtype == "int8":
            drawn = self.cupy.random.randint(-20, 21, shape).astype(np.int8)
        else:
            drawn = self.cupy.random.standard_normal(shape, np.float32).astype(numpy_type(stored_as(dtype)))
        return drawn.T if fast_first else drawn

    def empty(self, m: int, n: int, dtype: str) -> Any:
        return self.cupy.empty((n, m), numpy_type(result_of(dtype))).T

    def peer(self, A: Any, B: Any, C: Any, dtype: str) -> Callable[[], Any] | None:
        if dtype not in ("float32", "float16", "float64", *COMPLEX):
            return None
        return lambda: self.cupy.matmul(B, A.T, out=C.T)

    def wide(self, array: Any) -> Array:
        return _widened(array.get())


class _Numpy:
    """NumPy's arrays, and its products, which are those of the BLAS that it was built with."""

    name = "NumPy"

    def __init__(self) -> None:
        self.ordinal = None
        self._generator = np.random.default_rng(0)

    def draw(self, rows: int, columns: int, dtype: str, fast_first: bool) -> Any:
        shape = (columns, rows) if fast_first else (rows, columns)
        if dtype == "int8":
            drawn: Array = self._generator.integers(-20, 21, shape, np.int8)
        else:
            drawn = self._generator.standard_normal(shape)
            if dtype in COMPLEX:
                drawn = drawn + 1j * self._generator.standard_normal(shape)
            drawn = drawn.astype(numpy_type(stored_as(dtype)))
        return drawn.T if fast_first else drawn

    def empty(self, m: int, n: int, dtype: str) -> Any:
        return np.empty((n, m), numpy_type(result_of(dtype))).T

    def peer(self, A: Any, B: Any, C: Any, dtype: str) -> Callable[[], Any] | None:
        if dtype not in ("float32", "float64", *COMPLEX):
            return None
        return lambda: np.matmul(B, A.T, out=C.T)

    def wide(self, array: Any) -> Array:
        return _widened(array)


def _widened(array: Array) -> Array:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def library_of_gpu(caller: str) -> _Torch | _CuPy:
    """Return PyTorch or CuPy, whichever is imported or can be. Raises OperandError, in a caller's name, if
    neither can.
    """
    libraries: list[tuple[str, type[_Torch] | type[_CuPy]]] = [("torch", _Torch), ("cupy", _CuPy)]
    for _, library in sorted(libraries, key=lambda x: x[0] not in sys.modules):
        try:
            return library()
        except ImportError:
            continue
    raise OperandError(
        f"{caller}: its arrays on a GPU are those of PyTorch or CuPy, and neither is installed\n"
        "  next: install one of them, or pass device=cute_py.Device('mine') for estimates"
    )


def library_of_cpu() -> _Numpy:
    """Return NumPy."""
    return _Numpy()


def corner(library: Library, A: Any, B: Any) -> tuple[Array, Array]:
    """Return the first rows of the product, wide, and of the sizes of what is added."""
    a, b = library.wide(A[:ROWS_COMPARED]), library.wide(B)
    return a @ b.T, np.abs(a) @ np.abs(b).T


def require_right(caller: str, kernel: str, found: Array, expected: Array, sizes: Array, dtype: str, k: int) -> None:
    """Raise CuteError if the first rows of a result are not those of the product."""
    if not (np.abs(found - expected) <= _tolerance(dtype, k) * sizes).all():
        raise CuteError(
            f"{caller}: {kernel} does not compute the product of {dtype} as float64 does; please report this"
        )


def _tolerance(dtype: str, k: int) -> float:
    """Return how far a result may be off, relative to the sum of the sizes of what is added."""
    row = DTYPES[result_of(dtype)]
    if row.is_integer:
        return 0.0
    if dtype == "tfloat32":
        return 2.0**-9
    if row.bytes == 2:
        return 2 * row.roundoff
    return (32 if row.is_complex else 16) * row.roundoff * math.sqrt(k)
