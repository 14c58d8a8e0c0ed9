"""Contractions: products of arrays of any number of modes, by subscripts or by axes.

Nothing is transposed, copied or reshaped on the way: a contraction is a GEMM whose modes L (batch), M, N and K are groups of
indices. An index of both operands and the result is in L, of A and the result in M, of B and the result in N, any other in K.
"""

from __future__ import annotations

import operator
import string
from collections.abc import Sequence
from typing import Any

import numpy as np

from cute_py import _subscripts
from cute_py._product import Function, explain_product, options_of, run_product
from cute_py.emulator import EmulatorOptions
from cute_py.epilogue import Epilogue
from cute_py.errors import OperandError
from cute_py.explanation import Explanation

__all__ = ["contract", "einsum", "explain_contract", "gett", "inner", "matmul", "outer", "tensordot"]

_HALVES = ("float16", "bfloat16")


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
        Arrays with up to 24 modes, of types and strides as in `gemm`. Strides may be zero and negative.
    C, out
        The result is written to `out`, else to C, else to a new array. C has the shape of the result.

    The other parameters, what is returned and what is raised are as in `gemm`; an OperandError names the index and the
    operands that do not fit.

    >>> import cute_py, numpy as np
    >>> X, Y = np.ones((2, 3, 4), np.float32), np.ones((5, 4), np.float32)
    >>> cute_py.contract("abk,ck->abc", X, Y).shape
    (2, 3, 5)
    """
    function = contraction_function("contract", subscripts, A, B)
    options = options_of(out, compute, out_dtype, conj_a, conj_b, epilogue, batch_invariant)
    return run_product(function, A, B, C, alpha, beta, kernel, device, stream, emulator, options)


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
    function = contraction_function("contract", subscripts, A, B)
    options = options_of(out, compute, out_dtype, conj_a, conj_b, epilogue, batch_invariant)
    return explain_product(function, A, B, C, alpha, beta, kernel, device, stream, options)


def contraction_function(name: str, subscripts: Any, A: Any, B: Any) -> Function:
    """Return the function for the core of a contraction of A with B."""
    if not isinstance(subscripts, str):
        raise OperandError(f"{name}: subscripts are a text such as 'abk,ck->abc', got {type(subscripts).__name__}")
    (a, b), d = _subscripts.parse(name, subscripts, (_rank(name, "A", A), _rank(name, "B", B)))
    return Function(f"{name}({subscripts!r})", labels=(a, b, d))


def _rank(function: str, name: str, array: Any) -> int:
    rank = getattr(array, "ndim", None)
    if rank is None:
        shape = getattr(array, "shape", None)
        if shape is None:
            raise OperandError(
                f"{function}: {name} is a {type(array).__name__}, not an array\n"
                f"  next: pass an array of NumPy, CuPy, PyTorch, JAX or any other library with __dlpack__"
            )
        rank = len(shape)
    return int(rank)


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
        if _rank("gett", name, array) != rank:
            raise OperandError(f"gett takes A (M0,M1,K) and B (N,K), and {name} has rank {_rank('gett', name, array)}")
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
    right a column, and the result lacks that mode. All else is as in `contract`.

    >>> import cute_py, numpy as np
    >>> cute_py.matmul(np.ones((5, 2, 3), np.float32), np.ones((3, 4), np.float32)).shape
    (5, 2, 4)
    """
    ranks = _rank("matmul", "A", a), _rank("matmul", "B", b)
    if 0 in ranks:
        raise OperandError("matmul multiplies vectors and matrices, and a scalar is neither\n  next: use contract")
    left = "k" if ranks[0] == 1 else "...mk"
    right = "k" if ranks[1] == 1 else "...kn"
    result = "..." + ("m" if ranks[0] > 1 else "") + ("n" if ranks[1] > 1 else "")
    (x, y), d = _subscripts.parse("matmul", f"{left},{right}->{result}", ranks)
    function = Function("matmul", labels=(x, y, d))
    options = options_of(out, compute, out_dtype, conj_a, conj_b, epilogue, batch_invariant)
    return run_product(function, a, b, None, alpha, 0.0, kernel, device, stream, emulator, options)


def tensordot(a: Any, b: Any, axes: Any = 2, **options: Any) -> Any:
    """Return the sum over pairs of axes of `a` and `b`: the last ones of `a` and the first ones of `b`, or those named.

    Parameters
    ----------
    axes
        A number of axes, or a pair of axes or of sequences of axes: those of `a` and, in the same order, those of `b`.
        Negative ones count from the end.
    options
        Of `contract`.

    >>> import cute_py, numpy as np
    >>> cute_py.tensordot(np.ones((2, 3, 4), np.float32), np.ones((4, 3), np.float32), ([1, 2], [1, 0]))
    array([12., 12.], dtype=float32)
    """
    ranks = _rank("tensordot", "A", a), _rank("tensordot", "B", b)
    of_a, of_b = _axes(axes, ranks)
    letters = iter(string.ascii_letters)
    left = [next(letters) for _ in range(ranks[0])]
    right = [next(letters) for _ in range(ranks[1])]
    for i, j in zip(of_a, of_b, strict=True):
        extents = a.shape[i], b.shape[j]
        if extents[0] != extents[1]:
            raise OperandError(
                f"tensordot sums axis {i} of A, of extent {extents[0]}, with axis {j} of B, of extent {extents[1]}\n"
                "  next: check the axes and the shapes"
            )
        right[j] = left[i]
    result = [x for i, x in enumerate(left) if i not in of_a] + [x for j, x in enumerate(right) if j not in of_b]
    return contract(f"{''.join(left)},{''.join(right)}->{''.join(result)}", a, b, **options)


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
    """Return the sum over the last axes of `a` and `b`. Options are those of `contract`.

    >>> import cute_py, numpy as np
    >>> cute_py.inner(np.ones((2, 3), np.float32), np.ones((4, 3), np.float32)).shape
    (2, 4)
    """
    ranks = _rank("inner", "A", a), _rank("inner", "B", b)
    if 0 in ranks:
        return contract("...,->..." if ranks[1] == 0 else ",...->...", a, b, **options)
    letters = string.ascii_letters
    left, right = letters[: ranks[0] - 1], letters[ranks[0] : ranks[0] + ranks[1] - 1]
    if a.shape[-1] != b.shape[-1]:
        raise OperandError(
            f"inner sums over the last axes, of extents {a.shape[-1]} in A and {b.shape[-1]} in B\n"
            "  next: check the shapes"
        )
    return contract(f"{left}Z,{right}Z->{left}{right}", a, b, **options)


def outer(a: Any, b: Any, **options: Any) -> Any:
    """Return the products of all elements of `a` with all of `b`, of shape ``a.shape + b.shape``.

    Unlike NumPy's, it does not flatten its arguments. Options are those of `contract`.

    >>> import cute_py, numpy as np
    >>> cute_py.outer(np.ones((2, 3), np.float32), np.ones(4, np.float32)).shape
    (2, 3, 4)
    """
    ranks = _rank("outer", "A", a), _rank("outer", "B", b)
    letters = string.ascii_letters
    left, right = letters[: ranks[0]], letters[ranks[0] : ranks[0] + ranks[1]]
    return contract(f"{left},{right}->{left}{right}", a, b, **options)


def einsum(*operands: Any, out: Any = None, optimize: Any = "auto", **options: Any) -> Any:
    """Return the sum of products of any number of arrays that the subscripts name, pair by pair.

    Parameters
    ----------
    operands
        ``einsum("ij,jk,kl->il", A, B, C)``, or arrays each with a list of integers for its indices and a last one for the
        result: ``einsum(A, [0, 1], B, [1, 2], [0, 2])``. Subscripts are as in `contract`.
    out
        Where the result goes.
    optimize
        How opt_einsum orders the pairs: a name of one of its ways, such as ``"optimal"`` or ``"greedy"``, or the path itself,
        a list of tuples of positions. False takes them from the left.
    options
        Of `contract`: `alpha`, `device`, `compute`, `out_dtype`, ...; `alpha`, `epilogue` and `out_dtype` apply to the last
        pair.

    Intermediate results are as wide as what is summed in: float32 for float16 and bfloat16. int8 takes two operands, since its sums
    are int32, which is no type of a factor.

    >>> import cute_py, numpy as np
    >>> A = np.ones((2, 3), np.float32)
    >>> cute_py.einsum("ij,kj,kl->il", A, A, A)
    array([[6., 6., 6.],
           [6., 6., 6.]], dtype=float32)
    """
    subscripts, arrays = _einsum_arguments(operands)
    ranks = tuple(_rank("einsum", f"operand {i}", array) for i, array in enumerate(arrays, 1))
    labels, result = _subscripts.parse("einsum", subscripts, ranks)
    left = list(zip(arrays, labels, strict=True))
    last: dict[str, Any] = {key: options.pop(key) for key in ("alpha", "epilogue", "out_dtype") if key in options}
    if (only := {_type_of(array) for array in arrays}) < set(_HALVES) and len(only) == 1:
        last.setdefault("out_dtype", *only)
    for positions in _path(labels, result, arrays, optimize):
        chosen = [left[i] for i in positions]
        left = [pair for i, pair in enumerate(left) if i not in positions]
        while chosen:
            (x, of_x), *chosen = chosen
            y, of_y = chosen.pop(0) if chosen else (_one_like(x), "")
            is_last = not left and not chosen
            kept = result if is_last else _kept(of_x + of_y, "".join(of for _, of in [*left, *chosen]) + result)
            function = Function(f"einsum({subscripts!r})", labels=(of_x, of_y, kept))
            z = _multiply(function, x, y, is_last, out if is_last else None, last if is_last else {}, options)
            if is_last:
                return z
            if chosen:
                chosen.insert(0, (z, kept))
            else:
                left.append((z, kept))
    raise AssertionError("a path ends with one operand")


def _type_of(array: Any) -> str:
    return str(getattr(array, "dtype", "")).rpartition(".")[2]


def _multiply(
    function: Function, x: Any, y: Any, is_last: bool, out: Any, last: dict[str, Any], options: dict[str, Any]
) -> Any:
    known = {"kernel", "stream", "device", "emulator", "compute", "batch_invariant"}
    if strange := set(options) - known:
        raise TypeError(f"einsum() got an unexpected keyword argument {min(strange)!r}")
    out_dtype = last.get("out_dtype")
    if not is_last and _type_of(x) in _HALVES and _type_of(y) in _HALVES:
        out_dtype = "float32"
    packed = options_of(
        out,
        options.get("compute"),
        out_dtype,
        False,
        False,
        last.get("epilogue"),
        options.get("batch_invariant", False),
    )
    return run_product(
        function,
        x,
        y,
        None,
        last.get("alpha", 1.0),
        0.0,
        options.get("kernel", "auto"),
        options.get("device"),
        options.get("stream"),
        options.get("emulator"),
        packed,
    )


def _einsum_arguments(operands: tuple[Any, ...]) -> tuple[str, list[Any]]:
    if not operands:
        raise OperandError("einsum takes subscripts and arrays, got nothing")
    if isinstance(operands[0], str):
        if len(operands) == 1:
            raise OperandError("einsum takes subscripts and arrays, got no array")
        return operands[0], list(operands[1:])
    arrays = list(operands[0 : len(operands) - len(operands) % 2 : 2])
    lists = list(operands[1::2]) + ([operands[-1]] if len(operands) % 2 else [])
    terms = [_letters_of(indices) for indices in lists]
    text = ",".join(terms[: len(arrays)])
    return (text + "->" + terms[-1] if len(operands) % 2 else text), arrays


def _letters_of(indices: Any) -> str:
    letters = string.ascii_uppercase + string.ascii_lowercase
    try:
        return "".join("..." if i is Ellipsis else letters[operator.index(i)] for i in indices)
    except (TypeError, IndexError):
        raise OperandError(
            f"einsum: indices are lists of integers from 0 to {len(letters) - 1} and Ellipsis, got {indices!r}"
        ) from None


def _kept(letters: str, needed: str) -> str:
    return "".join(dict.fromkeys(letter for letter in letters if letter in needed))


def _path(labels: tuple[str, ...], result: str, arrays: list[Any], optimize: Any) -> list[tuple[int, ...]]:
    if len(arrays) <= 2:
        return [tuple(range(len(arrays)))]
    if optimize is False:
        first: list[tuple[int, ...]] = [(0, 1)]
        return first + [(0, len(arrays) - 2 - i) for i in range(len(arrays) - 2)]
    if not isinstance(optimize, (str, bool)):
        return _given_path(len(arrays), optimize)
    import opt_einsum

    # Control characters, which stand for an ellipsis, become letters that no one else uses.
    letters = {x: opt_einsum.get_symbol(1000 + ord(x)) for x in set("".join(labels)) if ord(x) < 32}
    named = ["".join(letters.get(x, x) for x in of) for of in labels]
    subscripts = ",".join(named) + "->" + "".join(letters.get(x, x) for x in result)
    shapes = [tuple(array.shape) for array in arrays]
    try:
        path, _ = opt_einsum.contract_path(
            subscripts, *shapes, shapes=True, optimize="auto" if optimize is True else optimize
        )
    except (ValueError, KeyError, TypeError) as error:
        raise OperandError(f"einsum: {error}") from None
    return [tuple(step) for step in path]


def _given_path(count: int, path: Any) -> list[tuple[int, ...]]:
    """Return a path that the caller gave, of opt_einsum or of `numpy.einsum_path`, which begins with a word."""
    refusal = OperandError(
        f"einsum: optimize {path!r} is no path for {count} operands\n"
        "  next: name a way such as 'greedy', or pass a list of tuples of positions among the operands that are left"
    )
    steps = []
    try:
        given = list(path)
        for step in given[1:] if given and given[0] == "einsum_path" else given:
            positions = tuple(operator.index(i) for i in step)
            if not positions or len(set(positions)) != len(positions) or not all(0 <= i < count for i in positions):
                raise refusal
            steps.append(positions)
            count += 1 - len(positions)
    except TypeError:
        raise refusal from None
    if count != 1:
        raise refusal
    return steps


def _one_like(array: Any) -> Any:
    """Return the number one as an array of no modes, of the library and the type of `array`, beside it."""
    module = type(array).__module__.partition(".")[0]
    if module == "torch":
        return array.new_ones(())
    if module == "cupy":
        import cupy

        with array.device:
            return cupy.ones((), array.dtype)
    if module in ("jax", "jaxlib"):
        import jax

        return jax.device_put(np.ones((), array.dtype), next(iter(array.devices())))
    return np.ones((), array.dtype)
