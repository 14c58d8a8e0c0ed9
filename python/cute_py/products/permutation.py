"""Copies of arrays from any strides to any strides."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cute_py.errors import OperandError
from cute_py.products.arrays import describe, shape_of
from cute_py.products.options import Array, CopyOptions
from cute_py.products.product import product
from cute_py.products.subscripts import SYMBOLS

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["permute"]


def order_of(function: str, A: Any, axes: Any) -> list[int]:
    """Return the modes of A in the order that the axes say. Raises OperandError where they name others, or one
    twice.
    """
    rank = len(shape_of(function, "A", A))
    try:
        order = [operator.index(axis) for axis in axes]
    except TypeError:
        order = [rank]
    if sorted(axis % rank if -rank <= axis < rank else rank for axis in order) != list(range(rank)):
        raise OperandError(
            f"{function}: axes {axes!r} do not name each of the {rank} modes of A once\n  {describe('A', A)}\n"
            f"  next: pass them in the order of the result, such as {tuple(range(rank))[::-1]}"
        )
    return order


def _labels_of_permute(axes: Any, A: Any, _: None) -> tuple[str, tuple[str, str, str]]:
    letters = SYMBOLS[: len(shape_of("permute", "A", A))]
    order = order_of("permute", A, range(len(letters)) if axes is None else axes)
    return "permute", (letters, "", "".join(letters[axis] for axis in order))


@product(labels_of=_labels_of_permute, what="axes", what_is_first=False, options=CopyOptions, copies=True)
def permute(
    A: Array, axes: Sequence[int] | None = None, out: Array | None = None, **options: Unpack[CopyOptions]
) -> Any:
    """Return a copy of `A` with its modes in another order, or laid out otherwise: mode i of it is mode ``axes[i]`` of
    `A`.

    The bits of every element are kept, also those of NaN. On a GPU a tile of the modes that are contiguous in `A` and
    in the result goes through shared memory, so that both are read and written in whole lines.

    Parameters
    ----------
    A
        An array of NumPy, CuPy, PyTorch, JAX or any library with ``__dlpack__``, whose elements have 1, 2, 4, 8 or 16
        bytes. Any strides, also zero and negative.
    axes
        The modes of `A` in the order of the result; negative ones count from the end. By default as they are.
    out
        A writable array of the result's shape, of A's type and on its device, of any strides, which is returned. It
        must not overlap `A`. Without it, a new array whose last mode is the fastest is returned.
    options
        `kernel`, `config`, `device`, `stream` and `emulator`, as of `gemm`.

    Returns
    -------
    out, or a new array. On a GPU the kernel may still be running; JAX arrays are waited for.

    Raises
    ------
    OperandError
        An argument does not fit.
    UnsupportedProblemError
        The named kernel cannot copy this, or there are more modes than it takes.

    Examples
    --------
    >>> import cute_py, numpy as np
    >>> A = np.arange(6, dtype=np.int8).reshape(2, 3)
    >>> cute_py.permute(A, (1, 0))
    array([[0, 3],
           [1, 4],
           [2, 5]], dtype=int8)
    """
