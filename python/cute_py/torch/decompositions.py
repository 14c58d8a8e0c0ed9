"""The operators in terms of PyTorch's own, for programs that shall run where cute_py is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from cute_py.torch.affine import ACTIVATIONS, labels_of_affine
from cute_py.torch.pair import Contraction, factor_type, result_type

__all__ = ["decompositions"]

Tensor = Any
_einsum = torch.einsum  # as it is now: a program may put cute_py's in its place


def decompositions() -> dict[Any, Callable[..., Any]]:
    """Return what `run_decompositions` of `torch.export` may put in the place of cute_py's operators.

    A program without them goes where cute_py does not, for instance into ONNX. Its sums are those of PyTorch's
    products.

    >>> import torch
    >>> table = torch.export.default_decompositions()
    >>> table.update(decompositions())
    """
    return {torch.ops.cute_py.pair.default: _pair, torch.ops.cute_py.affine.default: _affine}


def _pair(a: Tensor, b: Tensor, c: Tensor | None, *asked: Any, **named: Any) -> Tensor:
    of_a, of_b, of_d, alpha, beta, conj_a, conj_b, compute, out_dtype = Contraction(*asked, **named)
    dtype = out_dtype or result_type(a.dtype, b.dtype, compute)
    factors = factor_type(a.dtype, b.dtype, compute)
    x, y = (a.conj() if conj_a else a), (b.conj() if conj_b else b)
    numbers = {letter: i for i, letter in enumerate(dict.fromkeys(of_a + of_b))}
    of_x, of_y, of_z = ([numbers[letter] for letter in letters] for letters in (of_a, of_b, of_d))
    found = _einsum(x.to(factors), of_x, y.to(factors), of_y, of_z)
    found = found if alpha == 1 else alpha * found
    return (found if c is None else found + beta * c).to(dtype)


def _affine(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    activation: str = "none",
    compute: str | None = None,
    out_dtype: Any = None,
) -> Tensor:
    dtype = out_dtype or result_type(x.dtype, weight.dtype, compute)
    found = _pair(x, weight, None, *labels_of_affine(x, weight, bias, activation), compute=compute)
    return ACTIVATIONS[activation][0](found if bias is None else found + bias).to(dtype)
