"""Contractions in PyTorch: differentiated in both modes, batched by ``torch.func.vmap``, and traced by
``torch.compile``, ``torch.export``, ``torch.jit`` and ``torch.fx``.

Everything here is a registered operator (``torch.ops.cute_py``) whose derivatives are contractions of the same kernels.
Under `torch.autocast` operands get its type. Views of any strides, conjugated or not, go in as they are.

>>> import torch, cute_py.torch
>>> q = torch.ones(2, 5, 3, requires_grad=True)
>>> scores = cute_py.torch.einsum("bqd,bkd->bqk", q, torch.ones(2, 7, 3))
>>> scores.sum().backward()
>>> q.grad.unique()
tensor([7.])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

try:
    import torch
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "torch":
        raise
    raise ModuleNotFoundError(
        "cute_py.torch needs PyTorch\n  next: pip install 'cute-py[torch]'", name="torch"
    ) from None
from torch.overrides import handle_torch_function, has_torch_function, has_torch_function_variadic

from cute_py.errors import OperandError
from cute_py.products.contraction import subscripts_of_tensordot
from cute_py.products.einsum import indices_as_text
from cute_py.products.subscripts import parse
from cute_py.products.types import type_name
from cute_py.torch import operators as _operators
from cute_py.torch.decompositions import decompositions
from cute_py.torch.registration import is_traced

__all__ = ["contract", "decompositions", "einsum", "gemm", "linear", "matmul", "tensordot"]

Tensor = Any
_STRIDED = torch.strided
_is_compiling = torch.compiler.is_compiling


def einsum(*operands: Any, compute: Any = None, optimize: str | bool = "auto", out_dtype: Any = None) -> Tensor:
    """Return the sum of products that the subscripts name: `torch.einsum`, computed by cute_py.

    Parameters
    ----------
    operands
        ``einsum("ij,jk->ik", A, B)``, or tensors each with a list of integers for its indices and a last one for the
        result: ``einsum(A, [0, 1], B, [1, 2], [0, 2])``. Tensors may also be given as one list. An ellipsis that the
        result leaves out is summed over.
    compute
        What sums are computed in, as in `cute_py.gemm`: ``"tfloat32"``, ``"float64"``, ...; of the gradients, too, as
        far as their types allow.
    optimize
        How opt_einsum orders the pairs of three operands and more, by name; False takes them from the left.
    out_dtype
        The type of the result, as in `cute_py.gemm`.

    The result is contiguous. Of one operand, if nothing is summed and neither `compute` nor `out_dtype` is given, it is
    a view. Three operands and more are contracted pair by pair; intermediate results of float16 and bfloat16 are
    float32. Types are those of `cute_py.einsum`. Raises OperandError for subscripts and shapes that do not fit.

    >>> import torch
    >>> einsum("ij,kj->ik", torch.ones(2, 3), torch.ones(4, 3)).shape
    torch.Size([2, 4])
    """
    given = operands
    if operands and isinstance(operands[0], str) and len(operands) == 2 and isinstance(operands[1], (list, tuple)):
        operands = (operands[0], *operands[1])
    subscripts, tensors = indices_as_text(operands)
    if has_torch_function(tensors):
        return handle_torch_function(einsum, tensors, *given, compute=compute, optimize=optimize, out_dtype=out_dtype)
    _require_tensors("einsum", *tensors)
    if not isinstance(optimize, (str, bool)):
        raise OperandError(f"einsum: optimize is the name of a way, such as 'greedy', True or False; got {optimize!r}")
    if len(tensors) == 1 and compute is None and out_dtype is None:
        # A compiler warns of what is kept between calls, and goes through the function itself.
        read = parse.__wrapped__ if _is_compiling() else parse
        (letters,), of_d = read("einsum", subscripts, (tensors[0].dim(),))
        if set(letters) == set(of_d):
            return _view(subscripts, tensors[0], letters, of_d)
    way = optimize if isinstance(optimize, str) else "auto" if optimize else "left"
    return _call("einsum", list(tensors), subscripts, _compute(compute), way, _dtype("einsum", out_dtype))


def contract(
    subscripts: str,
    A: Tensor,
    B: Tensor,
    C: Tensor | None = None,
    *,
    alpha: complex = 1,
    beta: complex = 0,
    compute: Any = None,
    out_dtype: Any = None,
) -> Tensor:
    """Return alpha * (A contracted with B) + beta * C, with the modes that `subscripts` name.

    Parameters
    ----------
    subscripts
        As in `cute_py.contract`: ``"abk,ck->abc"``.
    A, B
        Tensors of any strides. An extent of 1 is repeated.
    C
        A tensor of the result's shape. It is read and not written to.
    alpha, beta
        Numbers. No gradient goes to them.
    compute, out_dtype
        What sums are computed in, and the type of the result, as in `cute_py.gemm`.

    The result is new and contiguous. Raises OperandError for what does not fit.

    >>> import torch
    >>> contract("abk,ck->abc", torch.ones(2, 3, 4), torch.ones(5, 4), alpha=0.5)[0, 0, 0]
    tensor(2.)
    """
    if has_torch_function_variadic(A, B, C, alpha, beta):
        return handle_torch_function(
            contract,
            (A, B, C, alpha, beta),
            subscripts,
            A,
            B,
            C,
            alpha=alpha,
            beta=beta,
            compute=compute,
            out_dtype=out_dtype,
        )
    if not isinstance(subscripts, str):
        raise OperandError(
            f"contract: subscripts are a text such as 'abk,ck->abc', got {type(subscripts).__name__}\n  next: contract('abk,ck->abc', A, B)"
        )
    alpha, beta = _require_operands("contract", A, B, C, alpha, beta)
    return _call("contract", A, B, C, subscripts, alpha, beta, _compute(compute), _dtype("contract", out_dtype))


def gemm(
    A: Tensor,
    B: Tensor,
    C: Tensor | None = None,
    *,
    alpha: complex = 1,
    beta: complex = 0,
    compute: Any = None,
    out_dtype: Any = None,
) -> Tensor:
    """Return alpha * A B^T + beta * C: CuTe's GEMM. A is (M,K), **B is (N,K)** and C (M,N).

    Batches are a last mode of each, as in `cute_py.gemm`. Other arguments are those of `contract`.

    >>> import torch
    >>> gemm(torch.ones(2, 3), torch.ones(4, 3)).shape
    torch.Size([2, 4])
    """
    if has_torch_function_variadic(A, B, C, alpha, beta):
        return handle_torch_function(
            gemm, (A, B, C, alpha, beta), A, B, C, alpha=alpha, beta=beta, compute=compute, out_dtype=out_dtype
        )
    alpha, beta = _require_operands("gemm", A, B, C, alpha, beta)
    return _call("gemm", A, B, C, alpha, beta, _compute(compute), _dtype("gemm", out_dtype))


def matmul(A: Tensor, B: Tensor, *, compute: Any = None, out_dtype: Any = None) -> Tensor:
    """Return the matrix product of A (...,M,K) and B (...,K,N): `torch.matmul`, computed by cute_py.

    >>> import torch
    >>> matmul(torch.ones(5, 2, 3), torch.ones(3, 4)).shape
    torch.Size([5, 2, 4])
    """
    if has_torch_function_variadic(A, B):
        return handle_torch_function(matmul, (A, B), A, B, compute=compute, out_dtype=out_dtype)
    _require_tensors("matmul", A, B)
    return _call("matmul", A, B, _compute(compute), _dtype("matmul", out_dtype))


def tensordot(
    A: Tensor, B: Tensor, dims: int | Sequence[Sequence[int]] = 2, *, compute: Any = None, out_dtype: Any = None
) -> Tensor:
    """Return the sum over pairs of modes, the last of A with the first of B or those named: `torch.tensordot`.

    Of two modes that are summed together one may have an extent of 1: the other is summed alone, as in PyTorch.

    >>> import torch
    >>> tensordot(torch.ones(2, 3, 4), torch.ones(4, 3), dims=([1, 2], [1, 0]))
    tensor([12., 12.])
    """
    if has_torch_function_variadic(A, B):
        return handle_torch_function(tensordot, (A, B), A, B, dims, compute=compute, out_dtype=out_dtype)
    _require_tensors("tensordot", A, B)
    # The subscripts depend on the ranks alone, and extents are the operator's to read.
    subscripts = subscripts_of_tensordot(dims, _Ones(A.dim()), _Ones(B.dim()))
    return _call("tensordot", A, B, subscripts, _compute(compute), _dtype("tensordot", out_dtype))


def linear(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    activation: str = "none",
    *,
    compute: Any = None,
    out_dtype: Any = None,
) -> Tensor:
    """Return activation(x weight^T + bias): `torch.nn.functional.linear` and what often follows it, in one kernel.

    Parameters
    ----------
    x
        (...,K), of any strides.
    weight, bias
        (N,K) and (N,); or (K,) and (), for a result (...) without the mode N.
    activation
        ``"none"``, ``"relu"``, ``"gelu"``, ``"gelu_tanh"``, ``"silu"`` or ``"sigmoid"``. Where a gradient is wanted the
        bias is part of the kernel and the activation follows it, since its own gradient needs what it got.
    compute, out_dtype
        As in `einsum`.

    >>> import torch
    >>> linear(torch.ones(2, 3), torch.ones(4, 3), torch.full((4,), -5.0), "relu").sum()
    tensor(0.)
    """
    if has_torch_function_variadic(x, weight, bias):
        return handle_torch_function(
            linear, (x, weight, bias), x, weight, bias, activation, compute=compute, out_dtype=out_dtype
        )
    _require_tensors("linear", x, weight, *([] if bias is None else [bias]))
    return _call("linear", x, weight, bias, activation, _compute(compute), _dtype("linear", out_dtype))


def _view(subscripts: str, x: Tensor, letters: str, of_d: str) -> Tensor:
    """Return the modes in the order of the result, and diagonals."""
    while len(letters) > len(of_d):
        letter = next(one for one in letters if letters.count(one) > 1)
        first = letters.index(letter)
        second = letters.index(letter, first + 1)
        if not is_traced() and x.shape[first] != x.shape[second]:
            raise OperandError(
                f"einsum({subscripts!r}) needs one extent for index {letter}, got {x.shape[first]} and {x.shape[second]} "
                "in operand 1\n  next: check the subscripts and the shapes"
            )
        x = x.diagonal(0, first, second)
        letters = letters[:first] + letters[first + 1 : second] + letters[second + 1 :] + letter
    return x.permute([letters.index(letter) for letter in of_d])


class _Ones:
    """An operand of which only the rank is told."""

    def __init__(self, rank: int) -> None:
        self.shape = (1,) * rank


def _number(name: str, value: Any) -> Any:
    if isinstance(value, (int, float, complex, torch.SymInt, torch.SymFloat)):
        return value
    if isinstance(value, torch.Tensor) and not (is_traced() and value.dim() == 0):  # torch.jit's extents are tensors
        raise OperandError(f"{name} is a number, not a tensor: no gradient goes to it\n  next: multiply the result")
    return value.item() if hasattr(value, "item") else value


def _require_operands(function: str, A: Any, B: Any, C: Any, alpha: Any, beta: Any) -> tuple[complex, complex]:
    _require_tensors(function, A, B, *([] if C is None else [C]))
    alpha, beta = _number("alpha", alpha), _number("beta", beta)
    if C is None and beta != 0:
        raise OperandError(f"{function}: beta is not 0, and there is no C\n  next: pass C, or leave beta out")
    return alpha, beta


def _require_tensors(function: str, *operands: Any) -> None:
    for number, x in enumerate(operands, 1):
        if isinstance(x, torch.Tensor) and x.layout is _STRIDED and not x.is_nested:
            continue
        if not isinstance(x, torch.Tensor):
            raise OperandError(
                f"{function}: operand {number} is a {type(x).__name__}, not a tensor\n"
                f"  next: torch.as_tensor makes one; cute_py.{function} takes arrays of other libraries"
            )
        kind, way_out = str(x.layout).rpartition(".")[2].strip("_"), "x.to_dense()"
        if x.is_nested:
            kind, way_out = "nested", "torch.nested.to_padded_tensor(x, 0.0), or its parts one by one"
        raise OperandError(
            f"{function}: operand {number} is a {kind} tensor, and operands are dense, with strides\n"
            f"  next: pass {way_out}"
        )


def _compute(compute: Any) -> str | None:
    return None if compute is None else type_name("compute", compute)


def _dtype(function: str, out_dtype: Any) -> Any:
    if out_dtype is None or isinstance(out_dtype, torch.dtype):
        return out_dtype
    dtype = getattr(torch, type_name("out_dtype", out_dtype) or "", None)
    if not isinstance(dtype, torch.dtype):
        raise OperandError(f"{function}: PyTorch has no out_dtype {out_dtype!r}\n  next: out_dtype=torch.float32")
    return dtype


def _call(name: str, *arguments: Any) -> Any:
    """Call an operator. A compiler and a tracer get it as one, since they could not follow how subscripts are read."""
    if _is_compiling() or is_traced():
        return getattr(torch.ops.cute_py, name)(*arguments)
    return getattr(_operators, name)(*arguments)
