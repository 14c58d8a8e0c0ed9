"""Contractions in PyTorch: differentiable, traced by ``torch.compile`` and ``torch.export``, batched by ``torch.func.vmap``.

Everything here is a registered operator (``torch.ops.cute_py``) whose gradients are contractions of the same kernels. Under
`torch.autocast` operands get its type. Views of any strides, conjugated or not, go in as they are.

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

import torch

from cute_py.errors import OperandError
from cute_py.products.contraction import subscripts_of_matmul, subscripts_of_tensordot
from cute_py.products.einsum import indices_as_text
from cute_py.products.subscripts import parse
from cute_py.products.types import type_name
from cute_py.torch import operators as _operators

__all__ = ["contract", "einsum", "gemm", "linear", "matmul", "tensordot"]

Tensor = Any


def einsum(*operands: Any, compute: Any = None, optimize: str | bool = "auto") -> Tensor:
    """Return the sum of products that the subscripts name: `torch.einsum`, computed by cute_py.

    Parameters
    ----------
    operands
        ``einsum("ij,jk->ik", A, B)``, or tensors each with a list of integers for its indices and a last one for the result:
        ``einsum(A, [0, 1], B, [1, 2], [0, 2])``. Tensors may also be given as one list.
    compute
        What sums are computed in, as in `cute_py.gemm`: ``"tfloat32"``, ``"float64"``, ...; of the gradients, too, as far as
        their types allow.
    optimize
        How opt_einsum orders the pairs of three operands and more, by name; False takes them from the left.

    The result is contiguous. Of one operand it is what `torch.einsum` gives, a view if nothing is summed. Three operands and more are
    contracted pair by pair; intermediate results of float16 and bfloat16 are float32. Types are those of
    `cute_py.contract`. Raises OperandError for subscripts and shapes that do not fit.

    >>> import torch
    >>> einsum("ij,kj->ik", torch.ones(2, 3), torch.ones(4, 3)).shape
    torch.Size([2, 4])
    """
    if operands and isinstance(operands[0], str) and len(operands) == 2 and isinstance(operands[1], (list, tuple)):
        operands = (operands[0], *operands[1])
    subscripts, tensors = indices_as_text(operands)
    _require_tensors("einsum", *tensors)
    if len(tensors) == 1:
        parse("einsum", subscripts, (tensors[0].dim(),))  # has the clearer errors
        return torch.einsum(subscripts, tensors[0])
    if not isinstance(optimize, (str, bool)):
        raise OperandError(f"einsum: optimize is the name of a way, such as 'greedy', True or False; got {optimize!r}")
    way = optimize if isinstance(optimize, str) else "auto" if optimize else "left"
    return _call("einsum", list(tensors), subscripts, type_name("compute", compute), way)


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
    if not isinstance(subscripts, str):
        raise OperandError(f"contract: subscripts are a text such as 'abk,ck->abc', got {type(subscripts).__name__}")
    _require_tensors("contract", A, B, *([] if C is None else [C]))
    alpha, beta = _number("alpha", alpha), _number("beta", beta)
    if beta != 0 and C is None:
        raise OperandError("contract: beta is not 0, and there is no C\n  next: pass C, or leave beta out")
    dtype = None if out_dtype is None else getattr(torch, type_name("out_dtype", out_dtype) or "", None)
    if (dtype is None) != (out_dtype is None):
        raise OperandError(f"contract: PyTorch has no out_dtype {out_dtype!r}\n  next: out_dtype=torch.float32")
    return _call(
        "contract", A, B, C if beta != 0 else None, subscripts, alpha, beta, type_name("compute", compute), dtype
    )


def gemm(
    A: Tensor, B: Tensor, C: Tensor | None = None, *, alpha: complex = 1, beta: complex = 0, compute: Any = None
) -> Tensor:
    """Return alpha * A B^T + beta * C: CuTe's GEMM. A is (M,K), **B is (N,K)** and C (M,N).

    Batches are a last mode of each, as in `cute_py.gemm`. Other arguments are those of `contract`.

    >>> import torch
    >>> gemm(torch.ones(2, 3), torch.ones(4, 3)).shape
    torch.Size([2, 4])
    """
    _require_tensors("gemm", A, B)
    if {A.dim(), B.dim()} - {2, 3} or A.dim() != B.dim():
        raise OperandError(
            f"gemm: A is (M,K) or (M,K,L) and B is (N,K) or (N,K,L); got shapes {tuple(A.shape)} and {tuple(B.shape)}\n"
            "  next: matmul takes the batch first, contract any modes"
        )
    if A.shape[1] != B.shape[1] or A.shape[2:] != B.shape[2:]:
        raise OperandError(
            f"gemm: A (M,K) and B (N,K) have the same K and batch; got shapes {tuple(A.shape)} and {tuple(B.shape)}\n"
            "  next: for A @ X pass X.T"
        )
    subscripts = "mk,nk->mn" if A.dim() == 2 else "mkl,nkl->mnl"
    return contract(subscripts, A, B, C, alpha=alpha, beta=beta, compute=compute)


def matmul(A: Tensor, B: Tensor, *, compute: Any = None) -> Tensor:
    """Return the matrix product of A (...,M,K) and B (...,K,N): `torch.matmul`, computed by cute_py.

    >>> import torch
    >>> matmul(torch.ones(5, 2, 3), torch.ones(3, 4)).shape
    torch.Size([5, 2, 4])
    """
    _require_tensors("matmul", A, B)
    return _call("einsum", [A, B], subscripts_of_matmul(A, B), type_name("compute", compute))


def tensordot(A: Tensor, B: Tensor, dims: int | Sequence[Sequence[int]] = 2, *, compute: Any = None) -> Tensor:
    """Return the sum over pairs of modes, the last of A with the first of B or those named: `torch.tensordot`.

    >>> import torch
    >>> tensordot(torch.ones(2, 3, 4), torch.ones(4, 3), dims=([1, 2], [1, 0]))
    tensor([12., 12.])
    """
    _require_tensors("tensordot", A, B)
    return _call("einsum", [A, B], subscripts_of_tensordot(dims, A, B), type_name("compute", compute))


def linear(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, activation: str = "none", *, compute: Any = None
) -> Tensor:
    """Return activation(x weight^T + bias): `torch.nn.functional.linear` and what often follows it, in one kernel.

    Parameters
    ----------
    x
        (...,K), of any strides.
    weight, bias
        (N,K) and (N,).
    activation
        ``"none"``, ``"relu"``, ``"gelu"``, ``"gelu_tanh"``, ``"silu"`` or ``"sigmoid"``. Where a gradient is wanted the bias is
        part of the kernel and the activation follows it, since its own gradient needs what it got.
    compute
        As in `einsum`.

    >>> import torch
    >>> linear(torch.ones(2, 3), torch.ones(4, 3), torch.full((4,), -5.0), "relu").sum()
    tensor(0.)
    """
    _require_tensors("linear", x, weight, *([] if bias is None else [bias]))
    return _call("linear", x, weight, bias, activation, type_name("compute", compute))


def _number(name: str, value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        raise OperandError(f"{name} is a number, not a tensor: no gradient goes to it\n  next: multiply the result")
    return value.item() if hasattr(value, "item") else value


def _require_tensors(function: str, *operands: Any) -> None:
    for number, x in enumerate(operands, 1):
        if not isinstance(x, torch.Tensor):
            raise OperandError(
                f"{function}: operand {number} is a {type(x).__name__}, not a tensor\n"
                f"  next: torch.as_tensor makes one; cute_py.{function} takes arrays of other libraries"
            )


def _call(name: str, *arguments: Any) -> Any:
    """Call an operator. A compiler gets it as one, since it could not follow how subscripts are read."""
    if torch.compiler.is_compiling():
        return getattr(torch.ops.cute_py, name)(*arguments)
    return getattr(_operators, name)(*arguments)
