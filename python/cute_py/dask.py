"""Contractions of Dask arrays: beyond memory, and beyond one machine.

The result is a lazy array, and whatever the chunks it is that of cute_py's function of the same name. Each of its
chunks is a sum of products of chunks, which cute_py's kernels compute. This sum has the type that products are summed
in and is converted once, in the end. Its order is a tree that is fixed: a result has the same bits on any number of
workers. Chunks are arrays of NumPy or CuPy, as the operands' are.

>>> import dask.array, cute_py.dask
>>> x = dask.array.ones((1000, 800), chunks=(250, 200), dtype="float32")
>>> y = cute_py.dask.einsum("ik,jk->ij", x, x)
>>> y
dask.array<sum-aggregate, shape=(1000, 1000), dtype=float32, chunksize=(250, 250), chunktype=numpy.ndarray>
>>> y[0, 0].compute()
np.float32(800.0)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

try:
    import dask.array
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "dask":
        raise
    raise ModuleNotFoundError("cute_py.dask needs Dask\n  next: pip install 'cute-py[dask]'", name="dask") from None
import numpy as np

from cute_py._dtypes import numpy_type
from cute_py.errors import CuteError, OperandError, UnsupportedProblemError
from cute_py.products import subscripts as _subscripts
from cute_py.products.arrays import NUMBERS, number_like, with_numbers
from cute_py.products.contraction import contract as _contract
from cute_py.products.contraction import matmul as _matmul
from cute_py.products.contraction import tensordot as _tensordot
from cute_py.products.einsum import einsum as _einsum
from cute_py.products.einsum import indices_as_text, steps_by_labels
from cute_py.products.explanation import Explanation

__all__ = ["contract", "einsum", "matmul", "tensordot"]

Array = Any
_Indexed = tuple[Array, str]  # an array, and a letter for each of its modes


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
        As in `cute_py.contract`: ``"abk,ck->abc"``.
    A, B
        Arrays of Dask, or what `dask.array.asarray` takes. Where they share an index with other chunks, these are cut.
        A chunk of the result has those of A and of B: rechunk operands whose chunks are long in the result's modes. A
        number is taken as in `cute_py.contract`. Chunks of unknown extents have to be as many, and alike, in both.
    alpha, compute, out_dtype
        As in `cute_py.contract`. Sums over chunks have the type that products are summed in, float32 for float16 and
        int32 for int8, say; alpha and the type of the result come last, once.
    split_every
        How many sums are added at once in each step of the tree; Dask's own number if left out.

    Values, type and errors are those of `cute_py.contract` with the whole arrays, but for the order of sums. Raises
    OperandError for what does not fit, UnsupportedProblemError for what no kernel computes.

    >>> import dask.array as da
    >>> contract("abk,ck->abc", da.ones((2, 3, 4), chunks=2), da.ones((5, 4), chunks=2), alpha=0.5)[0, 0, 0].compute()
    np.float64(2.0)
    """
    options = {"alpha": alpha, "compute": compute, "out_dtype": out_dtype}
    return _of_two(
        lambda a, b: _contract.explain(subscripts, a, b, **options), _arrays("contract", (A, B)), alpha, split_every
    )


def einsum(
    *operands: Any,
    alpha: complex = 1.0,
    compute: Any = None,
    out_dtype: Any = None,
    optimize: Any = "auto",
    split_every: int | None = None,
) -> Array:
    """Return the sum of products of any number of arrays, pair by pair, as a lazy array.

    Operands, subscripts and `optimize` are as in `cute_py.einsum`, other arguments as in `contract`. Without a sum and
    without options, the elements of one operand are only moved.

    >>> import dask.array as da
    >>> x = da.ones((4, 6), chunks=2)
    >>> einsum("ij,kj,kl->il", x, x, x).compute()[0, 0]
    np.float64(24.0)
    """
    subscripts, given = indices_as_text(operands)
    arrays = _arrays("einsum", given)
    labels, result = _subscripts.parse("einsum", subscripts, tuple(x.ndim for x in arrays))
    whole = _stand_ins(list(zip(arrays, labels, strict=True)))
    options = {name: x for name, x in (("compute", compute), ("out_dtype", out_dtype)) if x is not None}
    found = _asked(lambda: _einsum.explain(subscripts, *whole, optimize=optimize, alpha=alpha, **options), len(arrays))
    if not found.pairs:
        x, letters = _without_diagonals(f"einsum({subscripts!r})", arrays[0], labels[0])
        return x.transpose([letters.index(letter) for letter in result])

    shapes, dtypes = tuple(x.shape for x in whole), tuple(x.dtype for x in whole)
    steps = steps_by_labels(labels, result, shapes, dtypes, optimize if len(arrays) > 2 else "auto", compute)
    values = list(arrays)
    for step, pair in zip(steps, found.pairs, strict=True):
        factors = [(values[step.first], step.of_first)]
        if step.second is not None:
            factors.append((values[step.second], step.of_second))
        values.append(_product(pair, factors, step.kept, alpha if step is steps[-1] else 1.0, split_every))
    return values[-1]


def matmul(
    A: Array,
    B: Array,
    *,
    alpha: complex = 1.0,
    compute: Any = None,
    out_dtype: Any = None,
    split_every: int | None = None,
) -> Array:
    """Return the matrix product of A (...,M,K) and B (...,K,N) as NumPy defines it, as a lazy array.

    Other arguments are those of `contract`.

    >>> import numpy as np
    >>> matmul(np.ones((5, 2, 3)), np.ones((3, 4))).shape
    (5, 2, 4)
    """
    options = {"alpha": alpha, "compute": compute, "out_dtype": out_dtype}
    return _of_two(lambda a, b: _matmul.explain(a, b, **options), _arrays("matmul", (A, B)), alpha, split_every)


def tensordot(
    A: Array,
    B: Array,
    axes: int | Sequence[int] | Sequence[Sequence[int]] = 2,
    *,
    alpha: complex = 1.0,
    compute: Any = None,
    out_dtype: Any = None,
    split_every: int | None = None,
) -> Array:
    """Return the sum over pairs of axes, as `numpy.tensordot` has them, as a lazy array.

    Other arguments are those of `contract`.

    >>> import numpy as np
    >>> tensordot(np.ones((2, 3, 4)), np.ones((4, 3)), ([1, 2], [1, 0])).compute()
    array([12., 12.])
    """
    options = {"alpha": alpha, "compute": compute, "out_dtype": out_dtype}
    return _of_two(
        lambda a, b: _tensordot.explain(a, b, axes, **options), _arrays("tensordot", (A, B)), alpha, split_every
    )


# ---- What is asked of the whole arrays


def _arrays(function: str, operands: Sequence[Any]) -> list[Array]:
    """Return operands as Dask's arrays; numbers have the type that the plain function gives them."""
    given = [x if isinstance(x, NUMBERS) else dask.array.asarray(x) for x in operands]
    like = next((x._meta for x in given if not isinstance(x, NUMBERS)), None)
    return [
        x
        if isinstance(x, dask.array.Array)
        else dask.array.from_array(number_like(like, x, x.dtype), chunks=(), asarray=False)
        for x in with_numbers(function, given)
    ]


def _stand_in(x: Array, shape: Sequence[int]) -> Any:
    """Return an array of NumPy of the type of `x`, with one element in memory."""
    whole = np.broadcast_to(np.zeros((), x.dtype), shape)
    return np.ma.asarray(whole) if isinstance(x._meta, np.ma.MaskedArray) else whole


def _stand_ins(operands: list[_Indexed]) -> list[Any]:
    """Return stand-ins of the operands' shapes.

    An extent that is not known is that of another operand, or as many as there are chunks.
    """
    known: dict[str, int] = {}
    counts: dict[str, int] = {}
    for x, letters in operands:
        for letter, extent, count in zip(letters, x.shape, x.numblocks, strict=True):
            if not _is_known(extent):
                counts[letter] = max(counts.get(letter, 0), count)
            elif known.get(letter, 1) == 1:
                known[letter] = extent
    return [
        _stand_in(
            x,
            [
                extent if _is_known(extent) else known.get(letter, counts.get(letter, 0))
                for letter, extent in zip(letters, x.shape, strict=True)
            ],
        )
        for x, letters in operands
    ]


def _is_known(extent: float) -> bool:
    return extent == extent  # Dask has NaN for what it does not know


def _asked(explain: Callable[[], Any], count: int = 2) -> Any:
    """Return what the plain function says of stand-ins.

    Its errors show neither their strides nor, beside one operand, a one that nobody passed.
    """
    try:
        return explain()
    except CuteError as error:
        text = re.sub(r"(?m)^(  \w+ \w+ \(.*\)):\(.*\) cpu$", r"\1", str(error))
        if count == 1:
            text = re.sub(r"(?m)^  B .*\n", "", text)
        raise type(error)(text) from None


def _of_two(
    explain: Callable[[Any, Any], Explanation], operands: list[Array], alpha: complex, split_every: int | None
) -> Array:
    """Return the product of two arrays by a function that says which indices they have."""
    is_known = all(_is_known(extent) for x in operands for extent in x.shape)
    shapes = [x.shape if is_known else (1,) * x.ndim for x in operands]
    found = _asked(lambda: explain(*map(_stand_in, operands, shapes)))
    factors = list(zip(operands, found.labels[:2], strict=True))
    if not is_known:
        whole = _stand_ins(factors)
        found = _asked(lambda: explain(*whole))
    return _product(found, factors, found.labels[2], alpha, split_every)


# ---- Products of chunks


def _product(of: Explanation, factors: list[_Indexed], result: str, alpha: complex, split_every: int | None) -> Array:
    """Return the product of two arrays, or the sum of one, that was explained for the whole ones."""
    factors = [_without_diagonals(of.function, _repeatable(x), letters) for x, letters in factors]
    checks = _checks(of.function, factors, result)
    factors, chunks = _aligned(factors)
    summed = [letter for letter in chunks if letter not in result]
    if of.precision == "reproducible" and any(len(chunks[letter]) > 1 for letter in summed):
        factors, chunks = _aligned(_in_one_chunk(of.function, factors, summed))
    in_parts = "".join(letter for letter in summed if len(chunks[letter]) > 1)
    if in_parts and of.compute == "int32" and not all(_is_known(sum(chunks[letter])) for letter in summed):
        raise UnsupportedProblemError(
            f"{of.function} sums products of int8 in int32, which holds a limited number of them, and how many "
            "there are is not known, since chunks have unknown extents\n  next: x.compute_chunk_sizes()"
        )

    dtype = numpy_type(of.dtype)
    of_sums = numpy_type(of.compute if of.compute in _SUMS_ARE_OF_ITS_NAME else "float32")
    of_parts = of_sums if in_parts else dtype
    labels = tuple(letters for _, letters in factors)
    product = _Product(
        _letters(labels, result),
        1.0 if in_parts else alpha,
        of.precision or of.compute,
        of_parts.name,
        len(in_parts),
        of.function,
        checks,
    )
    meta = factors[0][0]
    parts = dask.array.blockwise(
        product,
        result + in_parts,
        *[argument for factor in factors for argument in factor],
        adjust_chunks={**{letter: chunks[letter] for letter in result}, **dict.fromkeys(in_parts, 1)},
        align_arrays=False,
        concatenate=True,
        dtype=of_parts,
        token="contract",
        meta=dask.array.utils.meta_from_array(meta, len(result + in_parts), of_parts),
    )
    if not in_parts:
        return parts
    sums = parts.sum(axis=tuple(range(len(result), parts.ndim)), dtype=of_sums, split_every=split_every)
    if dtype == of_sums and alpha == 1:
        return sums
    return sums.map_blocks(
        _Epilogue(alpha, dtype.name),
        dtype=dtype,
        token="epilogue",
        meta=dask.array.utils.meta_from_array(meta, len(result), dtype),
    )


def _in_one_chunk(function: str, factors: list[_Indexed], summed: list[str]) -> list[_Indexed]:
    """Return factors whose summed indices have one chunk each: sums of chunks' sums depend on the chunks."""
    for x, letters in factors:
        for i, letter in enumerate(letters):
            if letter in summed and x.numblocks[i] > 1 and not _is_known(x.shape[i]):
                raise UnsupportedProblemError(
                    f"{function} with compute='reproducible' needs all of K in one chunk, and chunks have unknown "
                    "extents\n  next: x.compute_chunk_sizes()"
                )
    return [
        (x.rechunk({i: -1 for i, letter in enumerate(letters) if letter in summed and x.numblocks[i] > 1}), letters)
        for x, letters in factors
    ]


# Ways to compute whose sums have the type of that name; those of the others are float32.
_SUMS_ARE_OF_ITS_NAME = frozenset(["float64", "complex64", "complex128", "int32"])


def _repeatable(x: Array) -> Array:
    """Return an array with its modes of one element in one chunk each, as those need it who repeat them."""
    modes = [i for i, (extent, count) in enumerate(zip(x.shape, x.numblocks, strict=True)) if extent == 1 < count]
    return x.rechunk(dict.fromkeys(modes, -1)) if modes else x


def _without_diagonals(function: str, x: Array, letters: str) -> _Indexed:
    """Return an array with each of its letters once: with its diagonals."""
    while len(set(letters)) < len(letters):
        letter = next(letter for letter in letters if letters.count(letter) > 1)
        first = letters.index(letter)
        second = letters.index(letter, first + 1)
        if not (_is_known(x.shape[first]) and _is_known(x.shape[second])):
            raise OperandError(
                f"{function} takes the diagonal of {_index(function, letter)}, which has chunks of unknown extents\n"
                "  next: x.compute_chunk_sizes()"
            )
        x = dask.array.diagonal(x, 0, first, second)
        letters = letters[:first] + letters[first + 1 : second] + letters[second + 1 :] + letter
    return x, letters


def _checks(function: str, factors: list[_Indexed], result: str) -> tuple[tuple[str, int, int], ...]:
    """Return what to check of chunks whose extents are not known yet: an index, and its mode in either factor.

    Raises OperandError for an index that one factor has in more chunks than the other.
    """
    if len(factors) == 1:
        return ()
    checks = []
    (A, of_a), (B, of_b) = factors
    for letter in dict.fromkeys(of_a):
        if letter not in of_b:
            continue
        i, j = of_a.index(letter), of_b.index(letter)
        if _is_known(A.shape[i]) and _is_known(B.shape[j]):
            continue
        repeats = letter in result or function not in ("matmul", "tensordot")
        if repeats and 1 in (A.shape[i], B.shape[j]):
            continue
        if A.numblocks[i] != B.numblocks[j]:
            raise OperandError(
                f"{function}: {_index(function, letter)} has chunks of unknown extents, {A.numblocks[i]} in A and "
                f"{B.numblocks[j]} in B\n  next: x.compute_chunk_sizes()"
            )
        checks.append((_index(function, letter), i, j))
    return tuple(checks)


def _aligned(factors: list[_Indexed]) -> tuple[list[_Indexed], dict[str, tuple[Any, ...]]]:
    """Return the factors, cut alike along every index whose chunks are known, and the chunks of each index."""
    unknown = {
        letter
        for x, letters in factors
        for letter, extent in zip(letters, x.shape, strict=True)
        if not _is_known(extent)
    }
    arguments: list[Any] = []
    for number, (x, letters) in enumerate(factors):
        arguments += [x, tuple((number, letter) if letter in unknown else letter for letter in letters)]
    _, arrays = dask.array.unify_chunks(*arguments)
    factors = [(x, letters) for x, (_, letters) in zip(arrays, factors, strict=True)]

    chunks: dict[str, tuple[Any, ...]] = {}
    for x, letters in factors:
        for letter, here in zip(letters, x.chunks, strict=True):
            there = chunks.setdefault(letter, here)
            if there == (1,) or (here != (1,) and not _is_known(sum(there))):
                chunks[letter] = here
    return factors, chunks


def _index(function: str, letter: str) -> str:
    """Return the name of an index, if it was the caller who named it."""
    return f"index {letter}" if letter.isprintable() and "(" in function else "an index"


def _letters(labels: tuple[str, ...], result: str) -> str:
    """Return labels as subscripts: some may be control characters, which stand for an ellipsis."""
    known = {x: _subscripts.LETTERS[i] for i, x in enumerate(dict.fromkeys("".join(labels)))}
    terms = ["".join(known[x] for x in letters) for letters in (*labels, result)]
    return f"{','.join(terms[:-1])}->{terms[-1]}"


@dataclass(frozen=True)
class _Product:
    """The product of two chunks, or the sum of one, as it is sent to workers.

    It has a mode of one element for each index of a sum to come.
    """

    subscripts: str
    alpha: complex
    compute: Any
    out_dtype: Any
    parts: int
    function: str
    checks: tuple[tuple[str, int, int], ...]

    def __call__(self, *chunks: Any) -> Any:
        for index, of_first, of_second in self.checks:
            extents = chunks[0].shape[of_first], chunks[1].shape[of_second]
            if extents[0] != extents[1]:
                raise OperandError(
                    f"{self.function}: chunks that meet in {index} have extents {extents[0]} and {extents[1]}, which "
                    "were not known before\n  next: x.compute_chunk_sizes() of both operands, which cuts them alike"
                )
        found = _einsum(
            self.subscripts, *chunks, alpha=self.alpha, compute=self.compute, out_dtype=self.out_dtype, order="C"
        )
        return np.reshape(found, (*found.shape, *[1] * self.parts))


@dataclass(frozen=True)
class _Epilogue:
    """alpha * sums of one chunk in the type of the result, scaled and rounded as the core does it."""

    alpha: complex
    out_dtype: Any

    def __call__(self, sums: Any) -> Any:
        x = np.reshape(sums, -1)
        if x.dtype == np.int32 and self.out_dtype == "float32":
            x = x.astype(np.float64)  # which the core scales int32 in
        if x.dtype == np.int32:
            # No product takes int32, but as C: alpha * sums is beta * C here.
            one = number_like(x, 1, np.dtype(np.int8))
            ones = np.broadcast_to(one, x.shape)
            out = np.empty_like(x, dtype=self.out_dtype)
            _contract("i,->i", ones, one, x, alpha=0, beta=self.alpha, out=out)
        else:
            one = number_like(x, 1, np.finfo(x.dtype).dtype)  # a real one, beside complex sums too
            out = _contract("i,->i", x, one, alpha=self.alpha, out_dtype=self.out_dtype)
        return np.reshape(out, sums.shape)[()]  # without modes a number, as products return it
