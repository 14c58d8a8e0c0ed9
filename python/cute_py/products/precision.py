"""What products of float32 are computed in; and the error bounds of emulated precision (docs/numerics.md)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from cute_py import _core
from cute_py._core import PreparedOperand
from cute_py.errors import OperandError

__all__ = [
    "BOUNDS",
    "Bound",
    "PreparedOperand",
    "bound_of",
    "get_float32_compute",
    "prepare",
    "set_float32_compute",
]

_MODULI = (256, 255, 253, 251, 247, 241, 239, 233, 229, 227, 223, 217, 211, 199, 197, 193, 191, 181, 179, 173)
_GAUSSIAN_MODULI = (241, 233, 229, 221, 205, 197, 193, 181, 173, 157, 149, 137, 113, 109, 101, 97, 89, 73, 61, 53)
# The tensor core cuts 16 products and their sum so far off at 2^-25 of the largest, and their sum at 2^-23 of itself.
_OF_BLOCK = 17 * 2.0**-25 + 2.0**-23
_BLOCK = 16
_STEP = 64


class Bound(NamedTuple):
    """A bound of the error of an element of a product of A and B, without that of the last rounding.

    It is ``of_products`` times the sum of the absolute products, and ``of_norms`` times the 2-norms of the row of A and
    of the row of B, and ``of_largest`` times the largest number of the one and of the other.
    """

    of_products: float
    of_norms: float
    of_largest: float

    def __str__(self) -> str:
        parts = ((self.of_products, "|A||B|"), (self.of_norms, "norm(a) norm(b)"), (self.of_largest, "max|a| max|b|"))
        return " + ".join(f"{factor:.2g} {what}" for factor, what in parts if factor)


BOUNDS = ("fp16", "bf16", "residues", "gaussian")


def bound_of(kind: str, count: int, k: int) -> Bound:
    """Return the bound for planes of a kind (see `Explanation.planes`) and K.

    Parameters
    ----------
    kind
        One of `BOUNDS`.
    count
        Of planes, or of moduli.
    k
        Products that are summed.

    >>> print(bound_of("gaussian", 7, 4096))
    1.7e-06 norm(a) norm(b)
    """
    if kind in ("residues", "gaussian"):
        moduli = (_MODULI if kind == "residues" else _GAUSSIAN_MODULI)[:count]
        length = 2 * k if kind == "gaussian" else k  # real numbers of a row, each rounded by a half
        norm = math.sqrt(math.prod(moduli) / 2 * (1 - 2.0**-16)) - math.sqrt(length) / 2
        return Bound(0.0, 2 * math.sqrt(length) / norm + length / norm**2, 0.0)
    steps = -(-k // _STEP)
    blocks = -(-k // _BLOCK)
    promoted = _STEP // _BLOCK * _OF_BLOCK + (steps + 3) * 2.0**-24
    if kind == "fp16":
        return Bound(promoted + 3 * 2.0**-22 + 2 * blocks * _OF_BLOCK * 2.0**-10, 0.0, k * 2.0**-49)
    return Bound(promoted + 2.0**-20 + 5 * blocks * _OF_BLOCK * 2.0**-5.5, 0.0, k * 2.0**-125)


class _Before:
    """Goes back, where it is the context of a ``with``, to what was set before."""

    def __init__(self, compute: str) -> None:
        self._compute = compute

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: Any) -> None:
        _core.set_float32_compute(self._compute)


def prepare(
    array: Any, *, compute: str, axis: int = -1, device: str | None = None, stream: Any = None
) -> PreparedOperand:
    """Split a factor into planes once, for many products of emulated precision.

    The result stands for its array, as A or as B, in ``gemm``, ``matmul``, ``contract`` and their plans, which do not
    split it again. They compute in its `compute` and have the same bits as with the array. A ``"fast_"`` way that finds
    exact arithmetic faster uses the array.

    Parameters
    ----------
    array
        A matrix, or a batch of them as ``matmul`` has it: A (m,k) of ``gemm`` or (...,m,k) of ``matmul``, B (n,k) of
        ``gemm`` or (...,k,n) of ``matmul``, with up to one mode in front. Any strides. It must not change while it is
        used: its rows with infinity or NaN are read again.
    compute
        ``"fp16x3"``, ``"bf16x6"``, ``"reproducible"`` or one of the ``"fast_"`` ones; see docs/numerics.md.
    axis
        The mode that products sum over: -1, or -2 of the B of ``matmul``.
    device
        Of a NumPy array: None or ``"cpu"`` for the CPU, ``"emulator"``; of other arrays where they are.
    stream
        A CUDA stream to split on. None: the current one of the array's library. Products on other streams have to wait
        for it, as for any array.

    Raises
    ------
    OperandError
        `array` is no matrix, is prepared already or has no elements, `axis` is another, or `compute` splits nothing.
    UnsupportedProblemError
        There is no kernel that splits it.

    >>> import cute_py, numpy as np
    >>> weights = cute_py.prepare(np.ones((4, 3), np.float32), compute="reproducible")
    >>> cute_py.gemm(np.ones((2, 3), np.float32), weights)
    array([[3., 3., 3., 3.],
           [3., 3., 3., 3.]], dtype=float32)
    """
    if not isinstance(compute, str) or not isinstance(axis, int):
        raise OperandError(
            f"prepare: compute is a name and axis a number; got {compute!r} and {axis!r}\n"
            "  next: prepare(A, compute='fp16x3', axis=-1)"
        )
    if device is not None and not isinstance(device, str):
        raise OperandError(f"prepare: device is a name; got {device!r}\n  next: 'cpu', 'emulator' or 'cuda'")
    return _core.prepare(array, compute, axis, device or "", stream)


def set_float32_compute(compute: str) -> _Before:
    """Set what products of two arrays of float32 are computed in where a call has no ``compute=``, in all threads.

    As a context, ``with set_float32_compute("fast_float32"): ...``, until it ends.

    Parameters
    ----------
    compute
        ``"float32"``, the default; ``"fast_float32"``, by tensor cores where that is faster; ``"fp16x3"``,
        ``"bf16x6"``, ``"reproducible"`` or ``"tfloat32"``, as if each call asked for it.

    Raises
    ------
    OperandError
        `compute` is none of these.

    >>> import cute_py
    >>> with cute_py.set_float32_compute("fast_float32"):
    ...     cute_py.get_float32_compute()
    'fast_float32'
    >>> cute_py.get_float32_compute()
    'float32'
    """
    if not isinstance(compute, str):
        raise OperandError(f"set_float32_compute: next: a name such as 'fast_float32'; got {compute!r}")
    before = get_float32_compute()
    _core.set_float32_compute(compute)
    return _Before(before)


def get_float32_compute() -> str:
    """Return what products of two arrays of float32 are computed in where a call has no ``compute=``."""
    return _core.float32_compute() or "float32"
