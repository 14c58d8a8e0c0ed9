"""Contractions: products of arrays of any number of modes, by subscripts or by axes.

Nothing is transposed, copied or reshaped on the way: a contraction is a GEMM whose modes L (batch), M, N and K are
groups of indices. An index of both operands and the result is in L, of A and the result in M, of B and the result in N,
any other in K.

What stands beside each product is its rule: the name for messages, and a letter for each mode of A, of B and of the
result.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cute_py.errors import OperandError
from cute_py.products import subscripts as _subscripts
from cute_py.products.arrays import describe, shape_of
from cute_py.products.options import Array, Number, Options
from cute_py.products.product import product

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["contract", "gett", "inner", "matmul", "outer", "tensordot", "vecdot"]

Labels = tuple[str, str, str]

_MOST_MODES = 64  # of an array, as NumPy has them


def _labels_of_contract(subscripts: Any, A: Any, B: Any) -> tuple[str, Labels]:
    if not isinstance(subscripts, str):
        raise OperandError(
            f"contract: subscripts are a text such as 'abk,ck->abc', got {type(subscripts).__name__}\n  next: contract('abk,ck->abc', A, B)"
        )
    ranks = len(shape_of("contract", "A", A)), len(shape_of("contract", "B", B))
    (a, b), d = _subscripts.parse("contract", subscripts, ranks)
    return f"contract({subscripts!r})", (a, b, d)


@product(labels_of=_labels_of_contract, what="subscripts", takes_numbers=True, returns_numbers=True)
def contract(
    subscripts: str,
    A: Array | Number,
    B: Array | Number,
    C: Array | None = None,
    *,
    alpha: Number = 1.0,
    beta: Number = 0.0,
    out: Array | None = None,
    **options: Unpack[Options],
) -> Any:
    """C = alpha * (A contracted with B) + beta * C, with the modes that `subscripts` name.

    Parameters
    ----------
    subscripts
        A letter for each mode of A, of B and of the result: ``"abk,ck->abc"`` is C(a,b,c) = sum_k A(a,b,k) B(c,k).
        Indices that the result lacks are summed over. A letter twice in one operand takes its diagonal. ``...`` stands
        for modes that are not named; they are matched from the last one on, and an extent of 1 is repeated, here and
        for every other index. Without ``->``, the result has the letters that occur once, in alphabetical order.
    A, B
        Arrays with up to 64 modes, of types and strides as in `gemm`. Strides may be zero and negative. A number stands
        for an array without modes, as in NumPy: one of Python takes the other operand's type, or the complex type that
        goes with it, one of NumPy has its own.
    C, out
        The result is written to `out`, else to C, else to a new array. C has the shape of the result.

    The other parameters, what is returned and what is raised are as in `gemm`; an OperandError names the index and the
    operands that do not fit. A new result without modes is a NumPy scalar where A is NumPy's, as in `numpy.einsum`.

    >>> import cute_py, numpy as np
    >>> X, Y = np.ones((2, 3, 4), np.float32), np.ones((5, 4), np.float32)
    >>> cute_py.contract("abk,ck->abc", X, Y).shape
    (2, 3, 5)
    """


def _labels_of_gett(_: None, A: Any, B: Any) -> tuple[str, Labels]:
    for name, array, rank in (("A", A, 3), ("B", B, 2)):
        if (found := len(shape_of("gett", name, array))) != rank:
            raise OperandError(
                f"gett takes A (M0,M1,K) and B (N,K), and {name} has rank {found}\n"
                f"  {describe('A', A)}\n  {describe('B', B)}\n"
                "  next: contract takes arrays of any rank"
            )
    return "gett", ("xyk", "nk", "xyn")


@product(labels_of=_labels_of_gett, kernel="sgemm_1_gett_f32")
def gett(
    A: Array,
    B: Array,
    C: Array | None = None,
    *,
    alpha: Number = 1.0,
    beta: Number = 0.0,
    out: Array | None = None,
    **options: Unpack[Options],
) -> Any:
    """C(m0,m1,n) = alpha * sum_k A(m0,m1,k) B(n,k) + beta * C(m0,m1,n): the contraction of the CuTe tutorial, in
    float32.

    It runs the source of the first tutorial kernel, `sgemm_1`, with M = (M0,M1) as a nested CuTe shape, strides to
    match, and tiles of ((64,2),128,8). Nothing else differs from a GEMM. `contract` is the general function; it takes
    any kernel.

    Parameters
    ----------
    A, B, C
        Arrays (M0,M1,K), (N,K) and (M0,M1,N) of any strides; of float32, unless `kernel` takes other types. A new C has
        its last mode as the fastest.
    kernel
        This one, or any other that `kernels` lists for the type: ``"gemm_sm90"`` is CUTLASS's example 51, in float16.

    The other parameters, what is returned and what is raised are as in `gemm`. Source: CUTLASS, examples/cute/tutorial,
    the launcher gemm_gett; examples/51_hopper_gett.

    >>> import cute_py, numpy as np
    >>> A, B = np.ones((3, 2, 5), np.float32), np.ones((4, 5), np.float32)
    >>> cute_py.gett(A, B, device="emulator")[:, :, 0]
    array([[5., 5.],
           [5., 5.],
           [5., 5.]], dtype=float32)
    """


def subscripts_of_matmul(A: Any, B: Any) -> str:
    """Return what NumPy's matmul contracts. Raises OperandError for shapes that it does not take."""
    shapes = shape_of("matmul", "A", A), shape_of("matmul", "B", B)
    if () in shapes:
        raise _refusal(
            "matmul multiplies vectors and matrices, and a number is neither",
            A,
            B,
            "contract(',...->...', a, b) multiplies by a number",
        )
    if shapes[0][-1] != shapes[1][-2:][0]:
        raise _refusal(
            f"matmul sums the last mode of A, of extent {shapes[0][-1]}, with the {'last but one' if len(shapes[1]) > 1 else 'only one'} "
            f"of B, of extent {shapes[1][-2:][0]}",
            A,
            B,
            "check the shapes; matmul is A (...,M,K) times B (...,K,N), gemm takes B (N,K)",
        )
    left = "k" if len(shapes[0]) == 1 else "...mk"
    right = "k" if len(shapes[1]) == 1 else "...kn"
    return f"{left},{right}->..." + ("m" if len(shapes[0]) > 1 else "") + ("n" if len(shapes[1]) > 1 else "")


def _labels_of_matmul(_: None, A: Any, B: Any) -> tuple[str, Labels]:
    (a, b), d = _subscripts.parse("matmul", subscripts_of_matmul(A, B), (len(A.shape), len(B.shape)))
    return "matmul", (a, b, d)


@product(labels_of=_labels_of_matmul, takes_c=False, takes_numbers=True, returns_numbers=True)
def matmul(A: Array, B: Array, *, alpha: Number = 1.0, out: Array | None = None, **options: Unpack[Options]) -> Any:
    """Return the matrix product of `A` (...,m,k) and `B` (...,k,n) as NumPy defines it, times alpha.

    Leading modes are batches, matched from the last one on; an extent of 1 is repeated. A vector on the left is a row,
    on the right a column, and the result lacks that mode: of two vectors of NumPy it is a scalar. All else is as in
    `contract`. Numbers are no operands.

    >>> import cute_py, numpy as np
    >>> cute_py.matmul(np.ones((5, 2, 3), np.float32), np.ones((3, 4), np.float32)).shape
    (5, 2, 4)
    """


def _refusal(rule: str, A: Any, B: Any, next_step: str) -> OperandError:
    return OperandError(f"{rule}\n  {describe('A', A)}\n  {describe('B', B)}\n  next: {next_step}")


def subscripts_of_tensordot(axes: Any, A: Any, B: Any) -> str:
    """Return what NumPy's tensordot contracts. Raises OperandError for axes that are none, and extents that differ."""
    shapes = shape_of("tensordot", "A", A), shape_of("tensordot", "B", B)
    of_a, of_b = _axes(axes, (len(shapes[0]), len(shapes[1])))
    left, right = _letters(shapes, len(of_a))
    for i, j in zip(of_a, of_b, strict=True):
        if shapes[0][i] != shapes[1][j]:
            raise _refusal(
                f"tensordot sums axis {i} of A, of extent {shapes[0][i]}, with axis {j} of B, of extent {shapes[1][j]}",
                A,
                B,
                "check the axes and the shapes",
            )
        right[j] = left[i]
    result = [x for i, x in enumerate(left) if i not in of_a] + [x for j, x in enumerate(right) if j not in of_b]
    return f"{''.join(left)},{''.join(right)}->{''.join(result)}"


def _labels_of_tensordot(axes: Any, A: Any, B: Any) -> tuple[str, Labels]:
    of, _, of_d = subscripts_of_tensordot(2 if axes is None else axes, A, B).partition("->")
    of_a, _, of_b = of.partition(",")
    return "tensordot", (of_a, of_b, of_d)


@product(labels_of=_labels_of_tensordot, what="axes", what_is_first=False, takes_numbers=True)
def tensordot(
    A: Array | Number,
    B: Array | Number,
    axes: int | Sequence[int] | Sequence[Sequence[int]] = 2,
    C: Array | None = None,
    *,
    alpha: Number = 1.0,
    beta: Number = 0.0,
    out: Array | None = None,
    **options: Unpack[Options],
) -> Any:
    """Return the sum over pairs of axes of `A` and `B`: the last ones of `A` and the first ones of `B`, or those named.

    Parameters
    ----------
    A, B
        As of `contract`.
    axes
        A number of axes, or a pair of axes or of sequences of axes: those of `A` and, in the same order, those of `B`.
        Negative ones count from the end.

    Other arguments are those of `contract`.

    A result without modes is an array, also of NumPy, as in `numpy.tensordot`.

    >>> import cute_py, numpy as np
    >>> cute_py.tensordot(np.ones((2, 3, 4), np.float32), np.ones((4, 3), np.float32), ([1, 2], [1, 0]))
    array([12., 12.], dtype=float32)
    """


def _axes(axes: Any, ranks: tuple[int, int]) -> tuple[list[int], list[int]]:
    def refuse(rule: str) -> OperandError:
        return OperandError(f"tensordot: axes {axes!r} {rule}\n  next: pass a number of axes, or ([of A], [of B])")

    try:
        count = operator.index(axes)
    except TypeError:
        pass
    else:
        if not 0 <= count <= min(ranks):
            raise refuse(f"are not a number from 0 to {min(ranks)}")
        return list(range(ranks[0] - count, ranks[0])), list(range(count))
    try:
        pair = [[operator.index(i) for i in (side if _has_items(side) else [side])] for side in axes]
    except TypeError:
        raise refuse("are no integers") from None
    if len(pair) != 2 or len(pair[0]) != len(pair[1]):
        raise refuse("are not as many of A as of B")
    for side, rank in zip(pair, ranks, strict=True):
        if any(not -rank <= i < rank for i in side):
            raise refuse(f"name an axis that an operand of rank {rank} does not have")
        side[:] = [i % rank for i in side]
        if len(set(side)) != len(side):
            raise refuse("name an axis twice")
    return pair[0], pair[1]


def _has_items(side: Any) -> bool:
    """Are these several axes? An array of no modes is one of them."""
    return hasattr(side, "__iter__") and getattr(side, "ndim", 1) != 0


def _labels_of_inner(_: None, A: Any, B: Any) -> tuple[str, Labels]:
    shapes = shape_of("inner", "A", A), shape_of("inner", "B", B)
    left, right = _letters(shapes)
    if () in shapes:
        return "inner", ("".join(left), "".join(right), "".join(left + right))
    if shapes[0][-1] != shapes[1][-1]:
        raise _refusal(
            f"inner sums over the last axes, of extents {shapes[0][-1]} in A and {shapes[1][-1]} in B",
            A,
            B,
            "check the shapes",
        )
    return "inner", ("".join(left), "".join(right[:-1] + left[-1:]), "".join(left[:-1] + right[:-1]))


@product(labels_of=_labels_of_inner, takes_numbers=True, returns_numbers=True)
def inner(
    A: Array | Number,
    B: Array | Number,
    C: Array | None = None,
    *,
    alpha: Number = 1.0,
    beta: Number = 0.0,
    out: Array | None = None,
    **options: Unpack[Options],
) -> Any:
    """Return the sum over the last axes of `A` and `B`; the product if one is a number. Other arguments are those of
    `contract`.

    The result of two vectors of NumPy is a scalar.

    >>> import cute_py, numpy as np
    >>> cute_py.inner(np.ones((2, 3), np.float32), np.ones((4, 3), np.float32)).shape
    (2, 4)
    """


def _labels_of_outer(_: None, A: Any, B: Any) -> tuple[str, Labels]:
    left, right = _letters((shape_of("outer", "A", A), shape_of("outer", "B", B)))
    return "outer", ("".join(left), "".join(right), "".join(left + right))


@product(labels_of=_labels_of_outer, takes_numbers=True, returns_numbers=True)
def outer(
    A: Array | Number,
    B: Array | Number,
    C: Array | None = None,
    *,
    alpha: Number = 1.0,
    beta: Number = 0.0,
    out: Array | None = None,
    **options: Unpack[Options],
) -> Any:
    """Return the products of all elements of `A` with all of `B`, of shape ``A.shape + B.shape``.

    It is ``numpy.multiply.outer``: unlike `numpy.outer`, it does not flatten its arguments. Other arguments are those
    of `contract`.

    >>> import cute_py, numpy as np
    >>> cute_py.outer(np.ones((2, 3), np.float32), np.ones(4, np.float32)).shape
    (2, 3, 4)
    """


def vecdot(A: Array, B: Array, *, axis: int = -1, out: Array | None = None, **options: Unpack[Options]) -> Any:
    """Return the sums of conj(`A`) times `B` along an axis: many dot products, as `numpy.vecdot`.

    Parameters
    ----------
    A, B
        Arrays; other modes than the axis are matched from the last one on, and an extent of 1 is repeated.
    axis
        The one that is summed over, with the same extent in both; -1 is the last, 0 the first of an operand.
    out, options
        As of `contract`.

    Raises OperandError for an axis that an operand does not have, and for extents of it that differ, also where one is
    1.

    >>> import cute_py, numpy as np
    >>> cute_py.vecdot(np.ones((4, 3), np.float32), np.ones(3, np.float32))
    array([3., 3., 3., 3.], dtype=float32)
    """
    shapes = shape_of("vecdot", "A", A), shape_of("vecdot", "B", B)
    least = min(map(len, shapes))
    try:
        at = operator.index(axis)
    except TypeError:
        at = least
    if not -least <= at < least:
        rule = "takes vectors, and an operand has no modes" if least == 0 else f"has axis from {-least} to {least - 1}"
        raise _refusal(f"vecdot {rule}, got {axis!r}", A, B, "pass an axis that both have")
    extents = [shape[at] for shape in shapes]
    if extents[0] != extents[1]:
        raise _refusal(
            f"vecdot sums over axis {axis}, of extents {extents[0]} in A and {extents[1]} in B",
            A,
            B,
            "check the shapes; only other axes are repeated",
        )
    options.setdefault("conj_a", True)
    # The axis is found in each operand from where it is counted from. What is behind it is matched from the last mode
    # on.
    behind = [-1 - at if at < 0 else len(shape) - 1 - at for shape in shapes]
    if behind[0] == behind[1]:
        letters = _subscripts.LETTERS[: behind[0]]
        return contract(f"...z{letters},...z{letters}->...{letters}", A, B, out=out, **options)
    letters = _subscripts.LETTERS[: max(map(len, shapes)) - 1]
    terms = []
    for shape, count in zip(shapes, behind, strict=True):
        others = letters[len(letters) - (len(shape) - 1) :]
        terms.append(others[: len(others) - count] + "z" + others[len(others) - count :])
    return contract(f"{terms[0]},{terms[1]}->{letters}", A, B, out=out, **options)


def _letters(shapes: tuple[tuple[int, ...], tuple[int, ...]], shared: int = 0) -> tuple[list[str], list[str]]:
    """Return a letter for each mode of two operands, all different. So many of the second's will be replaced by the
    first's.
    """
    left, right = map(len, shapes)
    if left + right - 2 * shared > _MOST_MODES:
        raise OperandError(
            f"a result of {left + right - 2 * shared} modes has more than {_MOST_MODES} modes\n  next: merge modes, with reshape"
        )
    letters = _subscripts.SYMBOLS + "\x00" * shared
    return list(letters[:left]), list(letters[left : left + right])
