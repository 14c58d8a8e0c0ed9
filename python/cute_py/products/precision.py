"""What products of float32 are computed in; and the error bounds of emulated precision (docs/numerics.md)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from cute_py import _core
from cute_py.errors import OperandError

__all__ = ["BOUNDS", "Bound", "bound_of", "get_float32_compute", "set_float32_compute"]

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
