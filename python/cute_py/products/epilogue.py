"""What happens to a product before it is written."""

from __future__ import annotations

import math
import reprlib
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any, Literal, get_args

from cute_py.errors import OperandError

__all__ = ["Activation", "Epilogue"]

Activation = Literal["none", "relu", "gelu", "gelu_tanh", "silu", "sigmoid"]


@dataclass(frozen=True, eq=False)
class Epilogue:
    """``D = activation(alpha * A B^T + beta * C + bias) * scale + residual``, in one pass over the result.

    It is computed in the type that is summed in (int32 sums: in float64) and rounded once, to the type of the result.
    On a GPU that saves a pass over the result in memory; on the CPU it takes longer than NumPy's functions on the
    finished product.

    Attributes
    ----------
    bias
        An array that repeats to the shape of the result by NumPy's rules: (M,1) is one number per row, (N,) or (1,N)
        one per column.
    activation
        ``"none"``; ``"relu"``, max(x, 0); ``"gelu"``, x times the normal distribution function of x; ``"gelu_tanh"``,
        the approximation with tanh; ``"silu"``, x sigmoid(x); ``"sigmoid"``, 1 / (1 + exp(-x)). Of complex numbers only
        ``"none"``.
    scale
        A real number.
    residual
        An array like `bias`. It may be the result's own array.
    saturate
        A number that the type of the result cannot hold becomes its largest or smallest; NaN stays. Otherwise it
        becomes infinity, in float8_e4m3fn, which has none, NaN. Integers always saturate, and round to the nearest,
        ties to even.

    Raises OperandError for any other value.

    >>> import cute_py, numpy as np
    >>> A = np.array([[1, 2], [3, 4]], dtype=np.float32)
    >>> bias = np.array([-12, 0], dtype=np.float32)
    >>> cute_py.gemm(A, A, epilogue=cute_py.Epilogue(bias=bias, activation="relu"))
    array([[ 0., 11.],
           [ 0., 25.]], dtype=float32)
    """

    bias: Any = None
    activation: Activation = "none"
    scale: float = 1.0
    residual: Any = None
    saturate: bool = False

    def __post_init__(self) -> None:
        # The characters themselves, whatever a class derived from str says of them.
        name = str.__str__(self.activation) if isinstance(self.activation, str) else None
        if name not in get_args(Activation):
            raise OperandError(f"activation is one of {', '.join(get_args(Activation))}, got {self.activation!r}")
        object.__setattr__(self, "activation", name)
        object.__setattr__(self, "scale", _real_number(self.scale))
        if not isinstance(self.saturate, bool):
            raise OperandError(f"saturate is True or False, got {self.saturate!r}")

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Fill in what was pickled or copied, with the checks of a new one: it may be of another version."""
        known = {field.name for field in fields(self)}
        if strange := sorted(set(state) - known):
            raise OperandError(
                f"an Epilogue has {', '.join(sorted(known))}, and this one was saved with {', '.join(strange)}\n"
                "  next: load it with the version of cute_py that saved it"
            )
        for name, value in state.items():
            object.__setattr__(self, name, value)
        self.__post_init__()


def _real_number(value: Any) -> float:
    if isinstance(value, Real) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.nan
        if not math.isnan(number):
            return number
    raise OperandError(f"scale is a real number that float64 holds, got {reprlib.repr(value)}")
