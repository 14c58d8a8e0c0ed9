"""The operators that are made of others: subscripts and shapes are read here, ``pair`` and ``affine`` compute.

Each public function has one, so that a compiler or a tracer writes down one call, in which extents may be symbols.
"""

from __future__ import annotations

from typing import Any

import torch

from cute_py.errors import OperandError
from cute_py.products.contraction import subscripts_of_matmul
from cute_py.products.einsum import PairStep, steps_by_labels
from cute_py.products.pairs import read
from cute_py.torch.affine import ACTIVATIONS, affine, labels_of_affine
from cute_py.torch.pair import SINGLES, Contraction, pair, require, result_type
from cute_py.torch.registration import define_composite, wants_derivative

__all__ = [
    "ACTIVATIONS",
    "affine",
    "contract",
    "einsum",
    "gemm",
    "linear",
    "matmul",
    "pair",
    "result_type",
    "tensordot",
]

Tensor = Any
_KINDS = ("cpu", "cuda")


def _cast(operands: list[Tensor]) -> list[Tensor]:
    """Return the operands as autocast has them, where it is on."""
    kind = operands[0].device.type
    if kind not in _KINDS or not torch.is_autocast_enabled(kind):
        return operands
    dtype = torch.get_autocast_dtype(kind)
    return [x.to(dtype) if x.dtype in SINGLES else x for x in operands]


def contract(
    a: Tensor,
    b: Tensor,
    c: Tensor | None,
    subscripts: str,
    alpha: complex = 1,
    beta: complex = 0,
    compute: str | None = None,
    out_dtype: Any = None,
) -> Tensor:
    given = a, b
    (a, b), (of_a, of_b), of_d = read("contract", subscripts, _cast([a, b]))
    if isinstance(beta, (int, float, complex)) and beta == 0:
        c = None  # what a symbol will be is not known
    if c is not None:
        extents = dict(zip(of_a + of_b, (*a.shape, *b.shape), strict=True))
        result = tuple(extents[x] for x in of_d)
        text = (
            f"contract({subscripts!r}) of {tuple(given[0].shape)} and {tuple(given[1].shape)} has shape {result}, and C has {tuple(c.shape)}\n"
            "  next: pass a C of that shape"
        )
        require(len(result) == c.dim(), text)
        for extent, of_c in zip(result, c.shape, strict=True):
            require(extent == of_c, text)
    return pair(a, b, c, Contraction(of_a, of_b, of_d, alpha, beta, compute=compute, out_dtype=out_dtype))


def gemm(
    a: Tensor,
    b: Tensor,
    c: Tensor | None,
    alpha: complex = 1,
    beta: complex = 0,
    compute: str | None = None,
    out_dtype: Any = None,
) -> Tensor:
    if {a.dim(), b.dim()} - {2, 3} or a.dim() != b.dim():
        raise OperandError(
            f"gemm: A is (M,K) or (M,K,L) and B is (N,K) or (N,K,L); got shapes {tuple(a.shape)} and {tuple(b.shape)}\n"
            "  next: a vector v is the matrix v[None, :]; matmul takes the batch first, contract any modes"
        )
    for extent, other in zip(a.shape[1:], b.shape[1:], strict=True):
        if extent != other:
            raise OperandError(
                f"gemm: A (M,K) and B (N,K) have the same K and batch; got shapes {tuple(a.shape)} and {tuple(b.shape)}\n"
                "  next: check the shapes; for A @ X pass X.T"
            )
    subscripts = "mk,nk->mn" if a.dim() == 2 else "mkl,nkl->mnl"
    return contract(a, b, c, subscripts, alpha, beta, compute, out_dtype)


def matmul(a: Tensor, b: Tensor, compute: str | None = None, out_dtype: Any = None) -> Tensor:
    return _product_of_two(a, b, subscripts_of_matmul(a, b), compute, out_dtype)


def tensordot(a: Tensor, b: Tensor, subscripts: str, compute: str | None = None, out_dtype: Any = None) -> Tensor:
    """The subscripts are those of the axes. Of two extents that are summed one may be 1: the other is summed first."""
    of_a, _, of_b = subscripts.partition("->")[0].partition(",")
    for i, letter in enumerate(of_a):
        j = of_b.find(letter)
        if j >= 0 and a.shape[i] != b.shape[j] and a.shape[i] != 1 and b.shape[j] != 1:
            raise OperandError(
                f"tensordot sums axis {i} of A, of extent {a.shape[i]}, with axis {j} of B, of extent {b.shape[j]}\n"
                f"  A has shape {tuple(a.shape)}, B has {tuple(b.shape)}\n  next: check the axes and the shapes"
            )
    return _product_of_two(a, b, subscripts, compute, out_dtype)


def _product_of_two(a: Tensor, b: Tensor, subscripts: str, compute: str | None, out_dtype: Any) -> Tensor:
    (a, b), (of_a, of_b), of_d = read("einsum", subscripts, _cast([a, b]))
    return pair(a, b, None, Contraction(of_a, of_b, of_d, compute=compute, out_dtype=out_dtype))


def einsum(
    operands: list[Tensor],
    subscripts: str,
    compute: str | None = None,
    optimize: str = "auto",
    out_dtype: Any = None,
) -> Tensor:
    if len(operands) == 2:
        return _product_of_two(operands[0], operands[1], subscripts, compute, out_dtype)
    # One operand is no product, and autocast leaves it as it is.
    given = _cast(list(operands)) if len(operands) > 1 else operands
    values, labels, of_d = read("einsum", subscripts, given)
    steps = _steps(values, labels, of_d, optimize, compute)
    for step in steps:
        x = values[step.first]
        # A real one multiplies both parts of a complex number as they are.
        y = x.new_ones((), dtype=x.dtype.to_real()) if step.second is None else values[step.second]
        dtype = None if step.out_dtype is None else getattr(torch, step.out_dtype)
        if step is steps[-1] and out_dtype is not None:
            dtype = out_dtype
        sums = step.compute
        if step.second is None and sums == "tfloat32" and x.dtype in SINGLES:
            sums = "float32"  # nothing is multiplied, so nothing is rounded first
        values = [*values, pair(x, y, None, Contraction(*step[2:5], compute=sums, out_dtype=dtype))]
        values[step.first] = None
        if step.second is not None:
            values[step.second] = None
    return values[-1]


def _steps(
    operands: list[Tensor], labels: list[str], of_d: str, optimize: str, compute: str | None
) -> tuple[PairStep, ...]:
    """Return the pairs. Their order is a choice: it takes extents that are symbols as they were found, without
    guards.
    """
    way: str | bool = False if optimize == "left" else optimize
    extents = dict(zip("".join(labels), [extent for x in operands for extent in x.shape], strict=True))
    symbols = [extent for extent in extents.values() if isinstance(extent, torch.SymInt)]
    if symbols:
        from torch.fx.experimental import symbolic_shapes

        # The second names are those of PyTorch 2.11.
        has_hint = getattr(symbolic_shapes, "has_guarding_hint", None) or symbolic_shapes.has_hint
        hint = getattr(symbolic_shapes, "optimization_hint", None) or symbolic_shapes.hint_int
        are_known = all(map(has_hint, symbols))
        way = way if are_known else False
        for letter, extent in extents.items():
            if isinstance(extent, torch.SymInt):
                extents[letter] = hint(extent) if are_known else 2
    shapes = tuple(tuple(extents[letter] for letter in letters) for letters in labels)
    return steps_by_labels(tuple(labels), of_d, shapes, tuple(x.dtype for x in operands), way, compute)


def linear(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    activation: str = "none",
    compute: str | None = None,
    out_dtype: Any = None,
) -> Tensor:
    operands = _cast([x, weight] if bias is None else [x, weight, bias])
    x, weight = operands[:2]
    bias = operands[2] if bias is not None else None
    if weight.dim() == 1 and (bias is None or bias.dim() == 0):  # of one output, which has no mode
        row = None if bias is None else bias.unsqueeze(0)
        return _layer(x, weight.unsqueeze(0), row, activation, compute, out_dtype).squeeze(-1)
    return _layer(x, weight, bias, activation, compute, out_dtype)


def _layer(
    x: Tensor, weight: Tensor, bias: Tensor | None, activation: str, compute: str | None, out_dtype: Any
) -> Tensor:
    if activation != "none" and wants_derivative(x, weight, *([] if bias is None else [bias])):
        # What the activation gets is kept for its gradient, rather than computed a second time.
        labels_of_affine(x, weight, bias, activation)
        return ACTIVATIONS[activation][0](affine(x, weight, bias, "none", compute, out_dtype))
    return affine(x, weight, bias, activation, compute, out_dtype)


define_composite(
    "contract",
    "(Tensor a, Tensor b, Tensor? c, str subscripts, Scalar alpha=1, Scalar beta=0, str? compute=None, "
    "ScalarType? out_dtype=None) -> Tensor",
    contract,
)
define_composite(
    "gemm",
    "(Tensor a, Tensor b, Tensor? c, Scalar alpha=1, Scalar beta=0, str? compute=None, "
    "ScalarType? out_dtype=None) -> Tensor",
    gemm,
)
define_composite("matmul", "(Tensor a, Tensor b, str? compute=None, ScalarType? out_dtype=None) -> Tensor", matmul)
define_composite(
    "tensordot",
    "(Tensor a, Tensor b, str subscripts, str? compute=None, ScalarType? out_dtype=None) -> Tensor",
    tensordot,
)
define_composite(
    "einsum",
    "(Tensor[] operands, str subscripts, str? compute=None, str optimize='auto', ScalarType? out_dtype=None) -> Tensor",
    einsum,
)
define_composite(
    "linear",
    "(Tensor x, Tensor weight, Tensor? bias, str activation='none', str? compute=None, "
    "ScalarType? out_dtype=None) -> Tensor",
    linear,
)
