"""Contractions of Dask arrays: beyond memory, and beyond one machine.

The result is a lazy array. Each of its chunks is a sum of products of chunks, cute_py's kernels compute these, and the sum over
the chunks of what is summed over is a tree whose order is fixed: a result has the same bits on any number of workers. Chunks are
arrays of NumPy or CuPy, as the operands' are.

>>> import dask.array, cute_py.dask
>>> x = dask.array.ones((1000, 800), chunks=(250, 200), dtype="float32")
>>> y = cute_py.dask.einsum("ik,jk->ij", x, x)
>>> y
dask.array<sum-aggregate, shape=(1000, 1000), dtype=float32, chunksize=(250, 250), chunktype=numpy.ndarray>
>>> y[0, 0].compute()
np.float32(800.0)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dask.array
import numpy as np

from cute_py.errors import OperandError
from cute_py.products import subscripts as _subscripts
from cute_py.products.contraction import contract as _contract
from cute_py.products.contraction import subscripts_of_matmul, subscripts_of_tensordot
from cute_py.products.einsum import indices_as_text, steps_by_labels
from cute_py.products.types import type_name

__all__ = ["contract", "einsum", "matmul", "tensordot"]

Array = Any
_HALVES = ("float16", "bfloat16")


def contract(
    subscripts: str,
    A: Array,
    B: Array,
    *,
    alpha: complex = 1.0,
    compute: Any = None,
    out_dtype: Any = None,
    split_every: int | None = None,
) -> Array:
    """Return alpha * (A contracted with B) as a lazy array, with the modes that `subscripts` name.

    Parameters
    ----------
    subscripts
        As in `cute_py.contract`: ``"abk,ck->abc"``. No letter twice in one operand.
    A, B
        Arrays of Dask, or what `dask.array.asarray` takes. Where they share an index with other chunks, these are cut.
        A chunk of the result has those of A and of B: rechunk operands whose chunks are long in the modes of the result.
    alpha, compute, out_dtype
        As in `cute_py.contract`. Sums of float16 and bfloat16 are float32 until the last.
    split_every
        How many sums are added at once in each step of the tree; Dask's own number if left out.

    Raises OperandError for what does not fit.

    >>> import dask.array as da
    >>> contract("abk,ck->abc", da.ones((2, 3, 4), chunks=2), da.ones((5, 4), chunks=2), alpha=0.5)[0, 0, 0].compute()
    np.float64(2.0)
    """
    operands = [dask.array.asarray(x) for x in (A, B)]
    labels, result = _subscripts.parse("contract", subscripts, tuple(x.ndim for x in operands))
    return _pair(
        f"contract({subscripts!r})", operands, labels, result, alpha, type_name("compute", compute),
        type_name("out_dtype", out_dtype), split_every,
    )  # fmt: skip


def einsum(*operands: Any, compute: Any = None, optimize: Any = "auto", split_every: int | None = None) -> Array:
    """Return the sum of products of any number of arrays, as a lazy array: pair by pair, in the order that opt_einsum finds.

    Operands and subscripts are as in `cute_py.einsum`, other arguments as in `contract`.

    >>> import dask.array as da
    >>> x = da.ones((4, 6), chunks=2)
    >>> einsum("ij,kj,kl->il", x, x, x).compute()[0, 0]
    np.float64(24.0)
    """
    subscripts, given = indices_as_text(operands)
    arrays = [dask.array.asarray(x) for x in given]
    labels, result = _subscripts.parse("einsum", subscripts, tuple(x.ndim for x in arrays))
    name = f"einsum({subscripts!r})"
    compute = type_name("compute", compute)
    if len(arrays) == 2:
        return _pair(name, arrays, labels, result, 1.0, compute, None, split_every)
    if len(arrays) == 1:
        return dask.array.einsum(subscripts, arrays[0])
    shapes = tuple(x.shape for x in arrays)
    half, steps = steps_by_labels(labels, result, shapes, tuple(x.dtype for x in arrays), optimize)
    values: list[Any] = arrays
    for number, (first, second, of_first, of_second, kept, is_of_halves) in enumerate(steps, 1):
        x = values[first]
        y = dask.array.asarray(np.ones((), x.dtype)) if second is None else values[second]
        dtype = half if number == len(steps) else "float32" if is_of_halves and compute is None else None
        values.append(_pair(name, [x, y], (of_first, of_second), kept, 1.0, compute, dtype, split_every))
    return values[-1]


def matmul(A: Array, B: Array, *, compute: Any = None, split_every: int | None = None) -> Array:
    """Return the matrix product of A (...,M,K) and B (...,K,N) as NumPy defines it, as a lazy array.

    Other arguments are those of `contract`.

    >>> import numpy as np
    >>> matmul(np.ones((5, 2, 3)), np.ones((3, 4))).shape
    (5, 2, 4)
    """
    A, B = dask.array.asarray(A), dask.array.asarray(B)
    return contract(subscripts_of_matmul(A, B), A, B, compute=compute, split_every=split_every)


def tensordot(
    A: Array,
    B: Array,
    axes: int | Sequence[int] | Sequence[Sequence[int]] = 2,
    *,
    compute: Any = None,
    split_every: int | None = None,
) -> Array:
    """Return the sum over pairs of axes, as `numpy.tensordot` has them, as a lazy array.

    Other arguments are those of `contract`.

    >>> import numpy as np
    >>> tensordot(np.ones((2, 3, 4)), np.ones((4, 3)), ([1, 2], [1, 0])).compute()
    array([12., 12.])
    """
    A, B = dask.array.asarray(A), dask.array.asarray(B)
    return contract(subscripts_of_tensordot(axes, A, B), A, B, compute=compute, split_every=split_every)


def _pair(
    name: str,
    operands: list[Array],
    labels: tuple[str, ...],
    result: str,
    alpha: complex,
    compute: Any,
    out_dtype: Any,
    split_every: int | None,
) -> Array:
    extents: dict[str, int] = {}
    for x, letters in zip(operands, labels, strict=True):
        if len(set(letters)) < len(letters):
            raise OperandError(
                f"{name} takes a diagonal, and chunks have none of their own\n  next: dask.array.diagonal, and a letter less"
            )
        if any(extent != extent for extent in x.shape):
            raise OperandError(
                f"{name}: an operand has chunks whose extents are not known\n  next: x.compute_chunk_sizes()"
            )
        for letter, extent in zip(letters, x.shape, strict=True):
            known = extents.setdefault(letter, extent)
            if known == 1:
                extents[letter] = extent
            elif extent not in (1, known):
                index = letter if letter.isprintable() else "of the ellipsis"
                raise OperandError(
                    f"{name} needs one extent for index {index}, got {known} and {extent}\n"
                    "  next: check the subscripts and the shapes"
                )
    ones = [np.ones((1,) * x.ndim, x.dtype) for x in operands]
    dtype = _contract(_letters(labels, result), *ones, compute=compute, out_dtype=out_dtype).dtype
    summed = "".join(x for x in dict.fromkeys("".join(labels)) if x not in result)
    chunks = {
        letter: count
        for x, letters in zip(operands, labels, strict=True)
        for letter, count in zip(letters, x.numblocks, strict=True)
        if count > 1
    }
    in_parts = "".join(letter for letter in summed if letter in chunks)
    partial = dtype
    if in_parts and dtype.name in _HALVES:
        partial = np.dtype("float32")
    sums = dask.array.blockwise(
        _Product(_letters(labels, result), alpha, compute, partial.name, len(in_parts)),
        result + in_parts,
        operands[0],
        labels[0],
        operands[1],
        labels[1],
        adjust_chunks=dict.fromkeys(in_parts, 1),
        concatenate=True,
        dtype=partial,
        token="contract",
        meta=dask.array.utils.meta_from_array(operands[0], len(result + in_parts), partial),
    )
    if in_parts:
        axes = tuple(range(len(result), sums.ndim))
        sums = sums.sum(axis=axes, dtype=partial, split_every=split_every)
    return sums.astype(dtype) if partial != dtype else sums


def _letters(labels: tuple[str, ...], result: str) -> str:
    """Return labels as subscripts: some may be control characters, which stand for an ellipsis."""
    known = {x: _subscripts.LETTERS[i] for i, x in enumerate(dict.fromkeys("".join(labels)))}
    of_a, of_b, of_d = ("".join(known[x] for x in letters) for letters in (*labels, result))
    return f"{of_a},{of_b}->{of_d}"


@dataclass(frozen=True)
class _Product:
    """The product of two chunks, as it is sent to workers; with a mode of one element for each index of a sum to come."""

    subscripts: str
    alpha: complex
    compute: Any
    out_dtype: Any
    parts: int

    def __call__(self, A: Any, B: Any) -> Any:
        found = _contract(self.subscripts, A, B, alpha=self.alpha, compute=self.compute, out_dtype=self.out_dtype)
        return np.reshape(found, (*found.shape, *[1] * self.parts)) if self.parts or found.ndim == 0 else found
