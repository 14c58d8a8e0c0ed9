"""Contractions: products of arrays of any number of modes, by subscripts or by axes.

Nothing is transposed, copied or reshaped on the way: a contraction is a GEMM whose modes L (batch), M, N and K are groups of
indices. An index of both operands and the result is in L, of A and the result in M, of B and the result in N, any other in K.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from cute_py import _subscripts
from cute_py._arrays import as_number, describe, shape_of, with_numbers
from cute_py._einsum import einsum
from cute_py._product import Function, explain_product, options_of, run_product
from cute_py.emulator import EmulatorOptions
from cute_py.epilogue import Epilogue
from cute_py.errors import OperandError
from cute_py.explanation import Explanation

__all__ = ["contract", "einsum", "explain_contract", "gett", "inner", "matmul", "outer", "tensordot"]


def contract(
    subscripts: str,
    A: Any,
    B: Any,
    C: Any = None,
    *,
    alpha: Any = 1.0,
    beta: Any = 0.0,
    out: Any = None,
    kernel: str = "auto",
    stream: Any = None,
    device: str | None = None,
    emulator: EmulatorOptions | None = None,
    compute: Any = None,
    out_dtype: Any = None,
    conj_a: bool = False,
    conj_b: bool = False,
    epilogue: Epilogue | None = None,
    batch_invariant: bool = False,
) -> Any:
    """C = alpha * (A contracted with B) + beta * C, with the modes that `subscripts` name.

    Parameters
    ----------
    subscripts
        A letter for each mode of A, of B and of the result: ``"abk,ck->abc"`` is C(a,b,c) = sum_k A(a,b,k) B(c,k). Indices
        that the result lacks are summed over. A letter twice in one operand takes its diagonal. ``...`` stands for modes
        that are not named; they are matched from the last one on, and an extent of 1 is repeated, here and for every other
        index. Without ``->``, the result has the letters that occur once, in alphabetical order.
    A, B
        Arrays with up to 24 modes, of types and strides as in `gemm`. Strides may be zero and negative. A number stands for an
        array without modes, as in NumPy: one of Python takes the other operand's type, or the complex type that goes with
        it, one of NumPy has its own.
    C, out
        The result is written to `out`, else to C, else to a new array. C has the shape of the result.

    The other parameters, what is returned and what is raised are as in `gemm`; an OperandError names the index and the
    operands that do not fit. A new result without modes is a NumPy scalar where A is NumPy's, as in `numpy.einsum`.

    >>> import cute_py, numpy as np
    >>> X, Y = np.ones((2, 3, 4), np.float32), np.ones((5, 4), np.float32)
    >>> cute_py.contract("abk,ck->abc", X, Y).shape
    (2, 3, 5)
    """
    A, B = with_numbers("contract", (A, B))
    function = contraction_function("contract", subscripts, A, B)
    options = options_of(out, compute, out_dtype, conj_a, conj_b, epilogue, batch_invariant)
    return as_number(run_product(function, A, B, C, alpha, beta, kernel, device, stream, emulator, options), C, out)


def explain_contract(
    subscripts: str,
    A: Any,
    B: Any,
    C: Any = None,
    *,
    alpha: Any = 1.0,
    beta: Any = 0.0,
    out: Any = None,
    kernel: str = "auto",
    stream: Any = None,
    device: str | None = None,
    compute: Any = None,
    out_dtype: Any = None,
    conj_a: bool = False,
    conj_b: bool = False,
    epilogue: Epilogue | None = None,
    batch_invariant: bool = False,
) -> Explanation:
    """Say where ``contract(subscripts, A, B, C, ...)`` runs and which kernel it runs. See `cute_py.explain`."""
    A, B = with_numbers("contract", (A, B))
    function = contraction_function("contract", subscripts, A, B)
    options = options_of(out, compute, out_dtype, conj_a, conj_b, epilogue, batch_invariant)
    return explain_product(function, A, B, C, alpha, beta, kernel, device, stream, options)


def contraction_function(name: str, subscripts: Any, A: Any, B: Any) -> Function:
    """Return the function for the core of a contraction of A with B."""
    if not isinstance(subscripts, str):
        raise OperandError(f"{name}: subscripts are a text such as 'abk,ck->abc', got {type(subscripts).__name__}")
    ranks = len(shape_of(name, "A", A)), len(shape_of(name, "B", B))
    return _function(name, subscripts, ranks)


@lru_cache(maxsize=1024)
def _function(name: str, subscripts: str, ranks: tuple[int, int]) -> Function:
    (a, b), d = _subscripts.parse(name, subscripts, ranks)
    return Function(f"{name}({subscripts!r})", labels=(a, b, d))


def gett(
    A: Any,
    B: Any,
    C: Any = None,
    *,
    alpha: Any = 1.0,
    beta: Any = 0.0,
    kernel: str = "sgemm_1_gett_f32",
    stream: Any = None,
    device: str | None = None,
    emulator: EmulatorOptions | None = None,
) -> Any:
    """C(m0,m1,n) = alpha * sum_k A(m0,m1,k) B(n,k) + beta * C(m0,m1,n): the contraction of the CuTe tutorial, in float32.

    It runs the source of the first tutorial kernel, `sgemm_1`, with M = (M0,M1) as a nested CuTe shape, strides to match, and
    tiles of ((64,2),128,8). Nothing else differs from a GEMM. `contract` is the general function; it takes any kernel.

    Parameters
    ----------
    A, B, C
        float32 arrays (M0,M1,K), (N,K) and (M0,M1,N) of any strides. A new C has its last mode as the fastest.
    kernel
        This one, or any other that `kernels` lists for float32.

    The other parameters, what is returned and what is raised are as in `gemm`. Source: CUTLASS, examples/cute/tutorial,
    the launcher gemm_gett.

    >>> import cute_py, numpy as np
    >>> A, B = np.ones((3, 2, 5), np.float32), np.ones((4, 5), np.float32)
    >>> cute_py.gett(A, B, device="emulator")[:, :, 0]
    array([[5., 5.],
           [5., 5.],
           [5., 5.]], dtype=float32)
    """
    for name, array, rank in (("A", A, 3), ("B", B, 2)):
        if (found := len(shape_of("gett", name, array))) != rank:
            raise OperandError(
                f"gett takes A (M0,M1,K) and B (N,K), and {name} has rank {found}\n"
                f"  {describe('A', A)}\n  {describe('B', B)}\n"
                "  next: contract takes arrays of any rank"
            )
    function = Function("gett", labels=("xyk", "nk", "xyn"))
    return run_product(function, A, B, C, alpha, beta, kernel, device, stream, emulator, None)


def matmul(
    a: Any,
    b: Any,
    *,
    out: Any = None,
    alpha: Any = 1.0,
    kernel: str = "auto",
    stream: Any = None,
    device: str | None = None,
    emulator: EmulatorOptions | None = None,
    compute: Any = None,
    out_dtype: Any = None,
    conj_a: bool = False,
    conj_b: bool = False,
    epilogue: Epilogue | None = None,
    batch_invariant: bool = False,
) -> Any:
    """Return the matrix product of `a` (...,m,k) and `b` (...,k,n) as NumPy defines it, times alpha.

    Leading modes are batches, matched from the last one on; an extent of 1 is repeated. A vector on the left is a row, on the
    right a column, and the result lacks that mode: of two vectors of NumPy it is a scalar. All else is as in `contract`.
    Numbers are no operands.

    >>> import cute_py, numpy as np
    >>> cute_py.matmul(np.ones((5, 2, 3), np.float32), np.ones((3, 4), np.float32)).shape
    (5, 2, 4)
    """
    a, b = with_numbers("matmul", (a, b))
    shapes = shape_of("matmul", "A", a), shape_of("matmul", "B", b)
    if () in shapes:
        raise _refusal(
            "matmul multiplies vectors and matrices, and a number is neither",
            a,
            b,
            "contract(',...->...', a, b) multiplies by a number",
        )
    if shapes[0][-1] != shapes[1][-2:][0]:
        raise _refusal(
            f"matmul sums the last mode of A, of extent {shapes[0][-1]}, with the {'last but one' if len(shapes[1]) > 1 else 'only one'} "
            f"of B, of extent {shapes[1][-2:][0]}",
            a,
            b,
            "check the shapes; matmul is A (...,M,K) times B (...,K,N), gemm takes B (N,K)",
        )
    function = _matmul_function(len(shapes[0]), len(shapes[1]))
    options = options_of(out, compute, out_dtype, conj_a, conj_b, epilogue, batch_invariant)
    return as_number(run_product(function, a, b, None, alpha, 0.0, kernel, device, stream, emulator, options), out)


@lru_cache(maxsize=1024)
def _matmul_function(rank_a: int, rank_b: int) -> Function:
    left = "k" if rank_a == 1 else "...mk"
    right = "k" if rank_b == 1 else "...kn"
    result = "..." + ("m" if rank_a > 1 else "") + ("n" if rank_b > 1 else "")
    (a, b), d = _subscripts.parse("matmul", f"{left},{right}->{result}", (rank_a, rank_b))
    return Function("matmul", labels=(a, b, d))


def _refusal(rule: str, a: Any, b: Any, next_step: str) -> OperandError:
    return OperandError(f"{rule}\n  {describe('A', a)}\n  {describe('B', b)}\n  next: {next_step}")


def tensordot(a: Any, b: Any, axes: Any = 2, **options: Any) -> Any:
    """Return the sum over pairs of axes of `a` and `b`: the last ones of `a` and the first ones of `b`, or those named.

    Parameters
    ----------
    a, b
        As of `contract`.
    axes
        A number of axes, or a pair of axes or of sequences of axes: those of `a` and, in the same order, those of `b`.
        Negative ones count from the end.
    options
        Of `contract`.

    A result without modes is an array, also of NumPy, as in `numpy.tensordot`.

    >>> import cute_py, numpy as np
    >>> cute_py.tensordot(np.ones((2, 3, 4), np.float32), np.ones((4, 3), np.float32), ([1, 2], [1, 0]))
    array([12., 12.], dtype=float32)
    """
    a, b = with_numbers("tensordot", (a, b))
    shapes = shape_of("tensordot", "A", a), shape_of("tensordot", "B", b)
    of_a, of_b = _axes(axes, (len(shapes[0]), len(shapes[1])))
    left, right = _letters("tensordot", a, b, shapes)
    for i, j in zip(of_a, of_b, strict=True):
        if shapes[0][i] != shapes[1][j]:
            raise _refusal(
                f"tensordot sums axis {i} of A, of extent {shapes[0][i]}, with axis {j} of B, of extent {shapes[1][j]}",
                a,
                b,
                "check the axes and the shapes",
            )
        right[j] = left[i]
    result = [x for i, x in enumerate(left) if i not in of_a] + [x for j, x in enumerate(right) if j not in of_b]
    return _product("tensordot", (left, right, result), a, b, options)


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
        pair = [[operator.index(i) for i in (side if isinstance(side, Sequence) else [side])] for side in axes]
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


def inner(a: Any, b: Any, **options: Any) -> Any:
    """Return the sum over the last axes of `a` and `b`; the product if one is a number. Options are those of `contract`.

    The result of two vectors of NumPy is a scalar.

    >>> import cute_py, numpy as np
    >>> cute_py.inner(np.ones((2, 3), np.float32), np.ones((4, 3), np.float32)).shape
    (2, 4)
    """
    a, b = with_numbers("inner", (a, b))
    shapes = shape_of("inner", "A", a), shape_of("inner", "B", b)
    left, right = _letters("inner", a, b, shapes)
    if () in shapes:
        return as_number(_product("inner", (left, right, left + right), a, b, options), *_given(options))
    if shapes[0][-1] != shapes[1][-1]:
        raise _refusal(
            f"inner sums over the last axes, of extents {shapes[0][-1]} in A and {shapes[1][-1]} in B",
            a,
            b,
            "check the shapes",
        )
    labels = left, [*right[:-1], left[-1]], left[:-1] + right[:-1]
    return as_number(_product("inner", labels, a, b, options), *_given(options))


def outer(a: Any, b: Any, **options: Any) -> Any:
    """Return the products of all elements of `a` with all of `b`, of shape ``a.shape + b.shape``.

    It is ``numpy.multiply.outer``: unlike `numpy.outer`, it does not flatten its arguments. Options are those of `contract`.

    >>> import cute_py, numpy as np
    >>> cute_py.outer(np.ones((2, 3), np.float32), np.ones(4, np.float32)).shape
    (2, 3, 4)
    """
    a, b = with_numbers("outer", (a, b))
    left, right = _letters("outer", a, b, (shape_of("outer", "A", a), shape_of("outer", "B", b)))
    return as_number(_product("outer", (left, right, left + right), a, b, options), *_given(options))


def _given(options: dict[str, Any]) -> tuple[Any, Any]:
    return options.get("C"), options.get("out")


_MOST_MODES = 24


def _letters(name: str, a: Any, b: Any, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> tuple[list[str], list[str]]:
    """Return a letter for each mode of `a` and of `b`, all different."""
    for operand, shape in zip("AB", shapes, strict=True):
        if len(shape) > _MOST_MODES:
            raise _refusal(
                f"{name}: {operand} has rank {len(shape)}; an operand has 0 to {_MOST_MODES} modes",
                a,
                b,
                "merge modes, for instance with reshape",
            )
    letters = _subscripts.LETTERS
    return list(letters[: len(shapes[0])]), list(letters[len(shapes[0]) : len(shapes[0]) + len(shapes[1])])


_OPTIONS = {
    name: parameter.default
    for name, parameter in inspect.signature(contract).parameters.items()
    if parameter.default is not inspect.Parameter.empty
}


def _product(name: str, labels: tuple[list[str], list[str], list[str]], a: Any, b: Any, given: dict[str, Any]) -> Any:
    """Contract with options of `contract`, under the name of another function."""
    if strange := set(given) - set(_OPTIONS):
        raise TypeError(f"{name}() got an unexpected keyword argument {min(strange)!r}")
    x = {**_OPTIONS, **given}
    options = options_of(
        x["out"], x["compute"], x["out_dtype"], x["conj_a"], x["conj_b"], x["epilogue"], x["batch_invariant"]
    )
    function = Function(name, labels=("".join(labels[0]), "".join(labels[1]), "".join(labels[2])))
    return run_product(
        function,
        a,
        b,
        x["C"],
        x["alpha"],
        x["beta"],
        x["kernel"],
        x["device"],
        x["stream"],
        x["emulator"],
        options,
    )
