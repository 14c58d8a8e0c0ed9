"""Static integers and the tags of CuTe's two default orders."""

from __future__ import annotations

from typing import Any

from cute_py._core import ComposedLayout, Layout, ScaledBasis, Swizzle

__all__ = ["E", "Int", "LayoutLeft", "LayoutRight", "ScaledBasis", "is_static"]


class Int(int):
    """A static integer, CuTe's ``Int<8>`` or ``_8``: an int that prints as C++ would show it.

    Sums, differences, products, quotients (``//``), remainders, shifts and bitwise operations of two static integers
    are static, and so is what comes of a static 0 or 1 whatever the other integer is: 0 times it, the remainder by 1.
    With any other number arithmetic is Python's own.

    >>> print(Int(8), Int(8) * Int(4) + Int(1), Int(8) + 1)
    _8 _33 9
    """

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        return _static(int.__add__(self, other), type(other) is Int)

    def __sub__(self, other: Any) -> Any:
        return _static(int.__sub__(self, other), type(other) is Int)

    def __mul__(self, other: Any) -> Any:
        return _static(int.__mul__(self, other), type(other) is Int or self == 0)

    def __rmul__(self, other: Any) -> Any:
        return _static(int.__rmul__(self, other), self == 0)

    def __floordiv__(self, other: Any) -> Any:
        return _static(int.__floordiv__(self, other), type(other) is Int or self == 0)

    def __mod__(self, other: Any) -> Any:
        return _static(int.__mod__(self, other), type(other) is Int or self == 0)

    def __rmod__(self, other: Any) -> Any:
        return _static(int.__rmod__(self, other), abs(self) == 1)

    def __and__(self, other: Any) -> Any:
        return _static(int.__and__(self, other), type(other) is Int)

    def __or__(self, other: Any) -> Any:
        return _static(int.__or__(self, other), type(other) is Int)

    def __xor__(self, other: Any) -> Any:
        return _static(int.__xor__(self, other), type(other) is Int)

    def __lshift__(self, other: Any) -> Any:
        return _static(int.__lshift__(self, other), type(other) is Int)

    def __rshift__(self, other: Any) -> Any:
        return _static(int.__rshift__(self, other), type(other) is Int)

    def __invert__(self) -> Int:
        return Int(int.__invert__(self))

    def __neg__(self) -> Int:
        return Int(int.__neg__(self))

    def __pos__(self) -> Int:
        return self

    def __abs__(self) -> Int:
        return Int(int.__abs__(self))

    def __repr__(self) -> str:
        return f"Int({int(self)})"

    def __str__(self) -> str:
        return f"_{int(self)}"


def _static(result: Any, is_static: bool) -> Any:
    return Int(result) if is_static and result is not NotImplemented else result


class _Order:
    """The type of `LayoutLeft` and `LayoutRight`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self) -> _Order:
        return self  # C++ writes LayoutRight{}

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


def is_static(x: Any) -> bool:
    """Return whether C++ would know it when it compiles, CuTe's ``is_static``: of an integer, a tuple, a layout or a
    tensor's layout.

    >>> is_static(Int(8)), is_static((Int(8), 4)), is_static(Layout("(_4,_8):(_1,_4)"))
    (True, False, True)
    """
    if isinstance(x, (tuple, list)):
        return all(map(is_static, x))
    x = getattr(x, "layout", x)
    if isinstance(x, Layout):
        return is_static((x.shape, x.stride))
    if isinstance(x, ComposedLayout):
        return is_static((x.outer, x.offset, x.inner))
    return isinstance(x.value if isinstance(x, ScaledBasis) else x, (Int, Swizzle))
