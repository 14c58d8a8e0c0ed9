"""Static integers and the tags of CuTe's two default orders."""

from __future__ import annotations

from typing import Any

from cute_py._core import ScaledBasis

__all__ = ["E", "Int", "LayoutLeft", "LayoutRight", "ScaledBasis"]


class Int(int):
    """A static integer, CuTe's ``Int<8>`` or ``_8``: an int that prints as C++ would show it.

    >>> print(Int(8))
    _8
    >>> Int(8) + 1  # arithmetic gives plain integers
    9
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Int({int(self)})"

    def __str__(self) -> str:
        return f"_{int(self)}"


class _Order:
    """The type of `LayoutLeft` and `LayoutRight`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name

    def __reduce__(self) -> str:
        return self._name


LayoutLeft: Any = _Order("LayoutLeft")
LayoutRight: Any = _Order("LayoutRight")


def E(*modes: int) -> ScaledBasis:  # noqa: N802 - CuTe's name
    """Return the unit step along one mode of a coordinate, CuTe's ``E<0>`` or ``_1@0``.

    >>> print(E(0), 3 * E(1), E(1, 0))
    _1@0 3@1 _1@0@1
    """
    return ScaledBasis(Int(1), *modes)
