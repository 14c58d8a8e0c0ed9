"""Arrays with their modes in another order: views of the caller's library, nothing is computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cute_py.errors import OperandError
from cute_py.products.arrays import describe, shape_of
from cute_py.products.permutation import order_of

__all__ = ["matrix_transpose", "transpose"]


def transpose(A: Any, axes: Sequence[int] | None = None) -> Any:
    """Return a view of `A` whose mode i is mode ``axes[i]`` of it, or with its modes reversed. `permute` makes a copy.

    Parameters
    ----------
    A
        An array of NumPy, CuPy, PyTorch or JAX.
    axes
        Each mode once; negative ones count from the end.

    Raises OperandError for anything else.

    >>> import cute_py, numpy as np
    >>> cute_py.transpose(np.ones((2, 3, 4), np.float32), (1, 2, 0)).shape
    (3, 4, 2)
    """
    order = order_of("transpose", A, reversed(range(len(shape_of("transpose", "A", A)))) if axes is None else axes)
    if hasattr(A, "permute"):  # PyTorch's
        return A.permute(order)
    if hasattr(A, "transpose"):
        return A.transpose(order)
    raise OperandError(f"transpose: a {type(A).__name__} has no views\n  next: permute makes a copy")


def matrix_transpose(A: Any) -> Any:
    """Return a view of `A` with its last two modes exchanged.

    >>> import cute_py, numpy as np
    >>> cute_py.matrix_transpose(np.ones((2, 3, 4), np.float32)).shape
    (2, 4, 3)
    """
    rank = len(shape_of("matrix_transpose", "A", A))
    if rank < 2:
        raise OperandError(f"matrix_transpose takes two modes and more\n  {describe('A', A)}\n  next: A[None, :].T")
    return transpose(A, (*range(rank - 2), rank - 1, rank - 2))
