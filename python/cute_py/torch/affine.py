"""``cute_py::affine``: one layer, activation(x weight^T + bias), with its derivatives and batches."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from cute_py.errors import OperandError
from cute_py.products import subscripts as _subscripts
from cute_py.products.epilogue import Epilogue
from cute_py.torch.pair import (
    SINGLES,
    Contraction,
    as_type,
    gradient_of_factor,
    pair,
    product_of,
    require,
    result_type,
    without_lazy_bits,
)
from cute_py.torch.registration import define_product, is_direct, primal, wants_derivative

__all__ = ["ACTIVATIONS", "affine", "labels_of_affine"]

Tensor = Any


def _slope_of_silu(x: Tensor) -> Tensor:
    sigmoid = torch.sigmoid(x)
    return sigmoid * (1 + x * (1 - sigmoid))


ACTIVATIONS: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Tensor, Tensor], Tensor]]] = {
    "none": (lambda x: x, lambda grad, x: grad),
    "relu": (torch.relu, lambda grad, x: torch.ops.aten.threshold_backward(grad, x, 0)),
    "gelu": (torch.nn.functional.gelu, lambda grad, x: torch.ops.aten.gelu_backward(grad, x)),
    "gelu_tanh": (
        lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
        lambda grad, x: torch.ops.aten.gelu_backward(grad, x, approximate="tanh"),
    ),
    "silu": (torch.nn.functional.silu, lambda grad, x: grad * _slope_of_silu(x)),
    "sigmoid": (torch.sigmoid, lambda grad, x: torch.ops.aten.sigmoid_backward(grad, torch.sigmoid(x))),
}


def labels_of_affine(x: Tensor, weight: Tensor, bias: Tensor | None, activation: str) -> tuple[str, str, str]:
    if activation not in ACTIVATIONS:
        raise OperandError(f"activation is one of {', '.join(ACTIVATIONS)}, got {activation!r}")
    if x.dim() < 1 or weight.dim() != 2 or (bias is not None and bias.dim() != 1):
        shapes = [tuple(t.shape) for t in (x, weight, bias) if t is not None]
        raise OperandError(
            "linear: x has modes (...,K), weight (N,K) and bias (N,), or weight (K,) and bias (); got shapes "
            + ", ".join(map(str, shapes))
            + "\n  next: weight is (N,K), as torch.nn.Linear has it"
        )
    if activation != "none" and x.dtype.is_complex:
        raise OperandError("linear: an activation of complex numbers is not defined\n  next: activation='none'")
    require(
        x.shape[-1] == weight.shape[1],
        f"linear: K is {x.shape[-1]} in x and {weight.shape[1]} in weight\n  next: weight is (N,K), as torch.nn.Linear has it",
    )
    if bias is not None:
        require(
            bias.shape[0] == weight.shape[0],
            f"linear: N is {weight.shape[0]} in weight and {bias.shape[0]} in bias\n  next: a bias of {weight.shape[0]}",
        )
    leading = _subscripts.LETTERS[2 : x.dim() + 1]
    return leading + "b", "ab", leading + "a"


def _affine(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    activation: str = "none",
    compute: str | None = None,
    out_dtype: Any = None,
) -> Tensor:
    labels = labels_of_affine(x, weight, bias, activation)
    epilogue = None
    if bias is not None or activation != "none":
        epilogue = Epilogue(bias=None if bias is None else bias.detach(), activation=activation)  # type: ignore[arg-type]
    x, weight = (t.detach() if t.requires_grad else t for t in (x, weight))
    return product_of(*labels)(x, weight, epilogue=epilogue, compute=compute, out_dtype=out_dtype)


def _shape_of_affine(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    activation: str = "none",
    compute: str | None = None,
    out_dtype: Any = None,
) -> Tensor:
    labels_of_affine(x, weight, bias, activation)
    return x.new_empty((*x.shape[:-1], weight.shape[0]), dtype=out_dtype or result_type(x.dtype, weight.dtype, compute))


def _keep_affine(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, weight, bias, ctx.activation, ctx.compute, _ = inputs
    ctx.labels = labels_of_affine(x, weight, bias, ctx.activation)
    ctx.like_x, ctx.like_weight = (x.dtype, x.shape), (weight.dtype, weight.shape)
    ctx.type_of_bias = None if bias is None else bias.dtype
    wants_x, wants_weight = ctx.needs_input_grad[:2]
    is_linear = ctx.activation == "none"
    ctx.save_for_backward(
        x if wants_weight or not is_linear else None,
        weight if wants_x or not is_linear else None,
        None if is_linear else bias,
    )
    ctx.save_for_forward(x, weight, bias)
    ctx.dtype = output.dtype


def _gradients_of_affine(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """The layer without its activation is computed again where the activation's slope depends on it."""
    x, weight, bias = ctx.saved_tensors
    if ctx.activation != "none":
        before = affine(x, weight, bias, "none", ctx.compute, ctx.dtype)
        grad = ACTIVATIONS[ctx.activation][1](grad, before)
    of_x, of_weight, of_y = ctx.labels
    asked = Contraction(of_x, of_weight, of_y, compute=ctx.compute)
    wants = ctx.needs_input_grad

    of_bias = None
    if wants[2]:
        leading = tuple(range(grad.dim() - 1))
        of_bias = as_type(grad.sum(leading) if leading else grad, ctx.type_of_bias)
    return (
        gradient_of_factor(grad, weight, asked, ctx.like_x) if wants[0] else None,
        gradient_of_factor(grad, x, asked.exchanged(), ctx.like_weight) if wants[1] else None,
        of_bias,
        None,
        None,
        None,
    )


def _tangent_of_affine(
    ctx: Any, of_x: Tensor | None, of_weight: Tensor | None, of_bias: Tensor | None, *_: None
) -> Tensor:
    """The layer without its activation is linear in each of the three."""
    x, weight, bias = [primal(saved) for saved in ctx.saved_tensors]
    found: Any = None
    if of_x is not None:
        found = affine(of_x, weight, None, "none", ctx.compute, ctx.dtype)
    if of_weight is not None:
        of_a, of_b, of_d = ctx.labels
        beta = 0 if found is None else 1
        asked = Contraction(of_a, of_b, of_d, 1, beta, compute=ctx.compute, out_dtype=ctx.dtype)
        found = pair(x, of_weight, found, asked)
    if of_bias is not None:
        of_bias = of_bias.to(ctx.dtype).expand(*x.shape[:-1], -1)
        found = of_bias if found is None else found + of_bias
    if ctx.activation == "none":
        return found
    before = affine(x, weight, bias, "none", ctx.compute, ctx.dtype)
    return ACTIVATIONS[ctx.activation][1](found, before)


def _batch_of_affine(
    info: Any,
    in_dims: tuple[Any, ...],
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    activation: str = "none",
    compute: str | None = None,
    out_dtype: Any = None,
) -> tuple[Tensor, int]:
    x = x.expand(info.batch_size, *x.shape) if in_dims[0] is None else x.movedim(in_dims[0], 0)
    if in_dims[1] is None and in_dims[2] is None:
        return affine(x, weight, bias, activation, compute, out_dtype), 0
    # Each has a weight or a bias of its own: batches of products, and the epilogue after them.
    of_weight = "ab" if in_dims[1] is None else "cab"
    weight = weight if in_dims[1] is None else weight.movedim(in_dims[1], 0)
    leading = _subscripts.LETTERS[2 : x.dim() + 1]
    sums = result_type(x.dtype, weight.dtype, compute)
    wide = torch.float32 if sums in SINGLES else None
    asked = Contraction(leading + "b", of_weight, leading + "a", compute=compute, out_dtype=wide)
    y = pair(x, weight, None, asked)
    y = y.double() if sums == torch.int32 else y
    if bias is not None:
        bias = bias if in_dims[2] is None else bias.movedim(in_dims[2], 0)
        y = y + (bias if in_dims[2] is None else bias.view(-1, *[1] * (y.dim() - 2), bias.shape[-1]))
    y = ACTIVATIONS[activation][0](y)
    dtype = out_dtype or sums
    if dtype in (torch.int8, torch.int32):
        limits = torch.iinfo(dtype)
        y = y.round().clamp(limits.min, limits.max)
    return y.to(dtype), 0


def _flops_of_affine(x_shape: Any, weight_shape: Any, *_: Any, out_shape: Any = None, **__: Any) -> int:
    return 2 * int(math.prod(x_shape)) * int(weight_shape[0])


_differentiable = define_product(
    "affine",
    "(Tensor x, Tensor weight, Tensor? bias, str activation='none', str? compute=None, "
    "ScalarType? out_dtype=None) -> Tensor",
    compute=_affine,
    shape=_shape_of_affine,
    keep=_keep_affine,
    gradients=_gradients_of_affine,
    tangent=_tangent_of_affine,
    batch=_batch_of_affine,
    flops=_flops_of_affine,
)


def affine(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    activation: str = "none",
    compute: str | None = None,
    out_dtype: Any = None,
) -> Tensor:
    """Return activation(x weight^T + bias)."""
    x, weight, bias = without_lazy_bits(x), without_lazy_bits(weight), without_lazy_bits(bias)
    arguments = (x, weight, bias, activation, compute, out_dtype)
    if not is_direct(x, weight, bias):
        return torch.ops.cute_py.affine(*arguments)
    return _differentiable(*arguments) if wants_derivative(x, weight, bias) else _affine(*arguments)
