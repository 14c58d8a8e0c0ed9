"""The element types of products: one table, which every other module asks."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from cute_py.errors import OperandError

__all__ = [
    "ALIASES",
    "COMPLEX",
    "DTYPES",
    "FACTORS",
    "FLOAT8",
    "HALVES",
    "NOT_IN_NUMPY",
    "STEPS",
    "Compute",
    "DTypeName",
    "ElementType",
    "bits_of_numbers",
    "numpy_type",
    "stored_as",
]

DTypeName: TypeAlias = Literal[
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
    "int8",
    "int32",
    "float8_e4m3fn",
    "float8_e5m2",
]
# What sums are formed in. tfloat32 is no type of arrays: it is stored as float32. The last ones emulate precision.
Compute: TypeAlias = Literal[
    "float32",
    "tfloat32",
    "float64",
    "complex64",
    "complex128",
    "int32",
    "fast_float32",
    "fast_float64",
    "fast_complex64",
    "fast_complex128",
    "fp16x3",
    "bf16x6",
    "reproducible",
]
# The steps of emulated precision, which no product of its own computes.
STEPS = ("split", "planes", "residues", "combine")


class ElementType(NamedTuple):
    """What is known of an element type."""

    name: DTypeName
    """In NumPy or ml_dtypes, PyTorch and JAX."""
    letters: str
    """In names of kernels."""
    cute: str
    """In CuTe."""
    bytes: int
    exponent: int = 0
    """Bits of the exponent, of each part of a complex number."""
    mantissa: int = 0
    """Stored bits of the mantissa."""
    in_numpy: bool = True
    """NumPy has it without ml_dtypes."""
    is_complex: bool = False
    result: DTypeName | None = None
    """The type of a new product of two of these where it is another one; float8's is bfloat16, as it holds few digits.
    """

    @property
    def is_integer(self) -> bool:
        return self.exponent == 0

    @property
    def bias(self) -> int:
        """What is added to an exponent where it is stored."""
        return (1 << (self.exponent - 1)) - 1

    @property
    def roundoff(self) -> float:
        """The unit roundoff: the largest relative error of rounding to the nearest."""
        return 2.0 ** -(self.mantissa + 1)

    @property
    def smallest(self) -> float:
        """The smallest positive number, a subnormal one."""
        return 2.0 ** (1 - self.bias - self.mantissa)

    @property
    def largest(self) -> float:
        """The largest finite number. In a type without infinity, NaN alone has the largest exponent and a mantissa of
        ones.
        """
        if self.name.endswith("fn"):
            return 2.0 ** (self.bias + 1) * (2 - 2.0 ** (1 - self.mantissa))
        return 2.0**self.bias * (2 - 2.0**-self.mantissa)


# csrc/base/dtype.hpp has the same types for C++.
_TABLE = (
    ElementType("float16", "f16", "half_t", 2, 5, 10),
    ElementType("bfloat16", "bf16", "bfloat16_t", 2, 8, 7, in_numpy=False),
    ElementType("float32", "f32", "float", 4, 8, 23),
    ElementType("float64", "f64", "double", 8, 11, 52),
    ElementType("complex64", "c64", "complex<float>", 8, 8, 23, is_complex=True),
    ElementType("complex128", "c128", "complex<double>", 16, 11, 52, is_complex=True),
    ElementType("int8", "i8", "int8_t", 1, result="int32"),
    ElementType("int32", "i32", "int32_t", 4),
    ElementType("float8_e4m3fn", "e4m3", "float_e4m3_t", 1, 4, 3, in_numpy=False, result="bfloat16"),
    ElementType("float8_e5m2", "e5m2", "float_e5m2_t", 1, 5, 2, in_numpy=False, result="bfloat16"),
)
DTYPES: dict[str, ElementType] = {row.name: row for row in _TABLE}

FLOAT8: tuple[str, ...] = tuple(row.name for row in _TABLE if row.bytes == 1 and not row.is_integer)
HALVES: tuple[str, ...] = tuple(row.name for row in _TABLE if row.bytes == 2)
COMPLEX: tuple[str, ...] = tuple(row.name for row in _TABLE if row.is_complex)
NOT_IN_NUMPY: tuple[str, ...] = tuple(row.name for row in _TABLE if not row.in_numpy)
FACTORS: tuple[str, ...] = tuple(name for name in DTYPES if name != "int32")

# As many papers write them. NumPy's "f16" has 16 bytes.
ALIASES: dict[str, str] = {
    "bf16": "bfloat16",
    "fp16": "float16",
    "fp32": "float32",
    "fp64": "float64",
    "tf32": "tfloat32",
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
}


def stored_as(name: str) -> str:
    """Return the type that arrays have, or sums are held in: float32 for tfloat32, fp16x3 and the like, float64 for
    fast_float64, else the same. Of reproducible sums it is the factors' own, which the name does not tell: float32.
    """
    if name in ("tfloat32", "fp16x3", "bf16x6", "reproducible"):
        return "float32"
    return name.removeprefix("fast_")


@lru_cache(maxsize=64)
def numpy_type(name: str) -> Any:
    """Return the NumPy type of a name such as ``"float32"``; ``"bfloat16"`` and ``"float8_e4m3fn"`` are those of
    ml_dtypes.
    """
    if name not in NOT_IN_NUMPY:
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError:
        raise OperandError(
            f"NumPy has no {name} of its own\n  next: install ml_dtypes, which has; or ask for float32"
        ) from None
    return np.dtype(getattr(ml_dtypes, name))


def bits_of_numbers(values: np.ndarray[Any, Any], name: str) -> np.ndarray[Any, Any]:
    """Return numbers as the bits of a float of at most 16, which needs no ml_dtypes.

    They are such that the type has them: 0, and what it does not round and has no subnormal number for.
    """
    row = DTYPES[name]
    of_float32 = DTYPES["float32"]
    bits = np.asarray(values, np.float32).view(np.uint32)
    magnitude = (bits & 0x7FFFFFFF) >> (of_float32.mantissa - row.mantissa)
    magnitude = magnitude.astype(np.int64) - ((of_float32.bias - row.bias) << row.mantissa)
    sign = (bits >> 31).astype(np.int64) << (8 * row.bytes - 1)
    stored = np.where(np.asarray(values) == 0, 0, magnitude) | sign
    return np.asarray(stored, np.dtype(f"u{row.bytes}"))
