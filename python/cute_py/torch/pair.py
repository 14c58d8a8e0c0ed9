"""``cute_py::pair``: one contraction of two tensors, with its derivatives and batches."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import torch

from cute_py import _core
from cute_py._dtypes import DTYPES, FLOAT8, HALVES, stored_as
from cute_py.errors import OperandError
from cute_py.torch.registration import define_product, is_direct, primal, wants_derivative

__all__ = [
    "SINGLES",
    "Contraction",
    "as_type",
    "factor_type",
    "gradient_of_factor",
    "pair",
    "product_of",
    "require",
    "result_type",
    "without_lazy_bits",
]

Tensor = Any


class Contraction(NamedTuple):
    """D = alpha * A' B' + beta * C: the arguments of ``cute_py::pair`` after the tensors, in the order of its schema.

    `of_a`, `of_b` and `of_d` name the modes, `conj_a` and `conj_b` say whether A' and B' are conjugates.
    """

    of_a: str
    of_b: str
    of_d: str
    alpha: complex = 1
    beta: complex = 0
    conj_a: bool = False
    conj_b: bool = False
    compute: str | None = None
    out_dtype: Any = None

    def exchanged(self) -> Contraction:
        """Return the same with A and B exchanged."""
        return self._replace(of_a=self.of_b, of_b=self.of_a, conj_a=self.conj_b, conj_b=self.conj_a)


SINGLES = tuple(getattr(torch, name) for name in (*HALVES, "float32"))
_FLOAT8 = tuple(getattr(torch, name) for name in FLOAT8)


def _type_of_sums(a: Any, b: Any, compute: str | None) -> Any:
    if compute is not None and compute != "reproducible":
        sums = stored_as(compute)
        return getattr(torch, sums) if sums in DTYPES else torch.float32
    if torch.int8 in (a, b):
        return torch.int32
    return torch.float32 if a in _FLOAT8 else torch.promote_types(torch.promote_types(a, b), torch.float32)


def result_type(a: Any, b: Any, compute: str | None) -> Any:
    """Return the type of a new product of these two, as the core has it. Types that it refuses have any."""
    if a in _FLOAT8:
        return torch.bfloat16
    sums = _type_of_sums(a, b, compute)
    return a if a == b and sums == torch.float32 else sums


def factor_type(a: Any, b: Any, compute: str | None) -> Any:
    """Return the type that both factors have in a product of PyTorch with sums like those of the core."""
    sums = _type_of_sums(a, b, compute)
    return a if a == b and sums == torch.float32 and a not in _FLOAT8 else sums


@lru_cache(maxsize=1024)
def product_of(of_a: str, of_b: str, of_d: str) -> Any:
    """Return the contraction with these indices. Raises OperandError where there is none."""
    if any(len(set(letters)) != len(letters) for letters in (of_a, of_b, of_d)) or not set(of_d) <= set(of_a + of_b):
        raise OperandError(
            f"cute_py::pair: {_text(of_a, of_b, of_d)!r} shall have each index once in each operand, and in the result only those\n"
            "  next: cute_py.torch.contract reads all subscripts"
        )
    return _core.make_product(f"contract({_text(of_a, of_b, of_d)!r})", labels=(of_a, of_b, of_d))


def _text(of_a: str, of_b: str, of_d: str) -> str:
    return f"{of_a},{of_b}->{of_d}"


def require(holds: Any, text: str) -> None:
    """Raise OperandError, or, for extents that are symbols, leave it to PyTorch to find out."""
    if isinstance(holds, torch.SymBool):
        torch._check_value(holds, lambda: text)
    elif not holds:
        raise OperandError(text)


def _empty_result(a: Tensor, b: Tensor, c: Tensor | None, asked: Contraction) -> Tensor:
    """Return memory for the result. Raises OperandError and ValueError for what is no pair."""
    of_a, of_b, of_d = asked[:3]
    product_of(of_a, of_b, of_d)
    extents: dict[str, Any] = {}
    operands = [("a", a, of_a), ("b", b, of_b)] + ([] if c is None else [("c", c, of_d)])
    for name, x, letters in operands:
        if x.dim() != len(letters):
            raise OperandError(
                f"cute_py::pair: {name} has {x.dim()} modes, and {letters!r} names {len(letters)}\n  next: cute_py.torch.contract reads all subscripts"
            )
        for letter, extent in zip(letters, x.shape, strict=True):
            known = extents.setdefault(letter, extent)
            require(
                extent == known,
                f"cute_py::pair: index {letter!r} of {_text(of_a, of_b, of_d)!r} has two extents\n  next: check the letters and the shapes",
            )
    dtype = asked.out_dtype or result_type(a.dtype, b.dtype, asked.compute)
    return a.new_empty([extents[letter] for letter in of_d], dtype=dtype)


def _compute(a: Tensor, b: Tensor, c: Tensor | None, asked: Contraction) -> Tensor:
    of_a, of_b, of_d, alpha, beta, conj_a, conj_b, compute, out_dtype = asked
    factors = a.detach() if a.requires_grad else a, b.detach() if b.requires_grad else b
    options = {"alpha": alpha, "beta": beta, "conj_a": conj_a, "conj_b": conj_b, "compute": compute}
    product = product_of(of_a, of_b, of_d)
    if c is None:  # the core makes the result
        return product(*factors, out_dtype=out_dtype, **options)
    return product(*factors, c.detach(), out=_empty_result(a, b, c, asked), **options)


# What PyTorch calls with the arguments of the schema.


def _pair(a: Tensor, b: Tensor, c: Tensor | None, *asked: Any, **named: Any) -> Tensor:
    return _compute(a, b, c, Contraction(*asked, **named))


def _shape_of_pair(a: Tensor, b: Tensor, c: Tensor | None, *asked: Any, **named: Any) -> Tensor:
    return _empty_result(a, b, c, Contraction(*asked, **named))


def _keep_pair(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    a, b, c = inputs[:3]
    ctx.asked = Contraction(*inputs[3:])
    wants_a, wants_b = ctx.needs_input_grad[:2]
    ctx.save_for_backward(a if wants_b else None, b if wants_a else None)
    ctx.save_for_forward(a, b)
    ctx.dtype = output.dtype
    ctx.like_a, ctx.like_b, ctx.like_c = ((x.dtype, x.shape) if x is not None else None for x in (a, b, c))


def _gradients_of_pair(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """D = alpha A' B' + beta C, and ' conjugates or not: the gradient of A' is that of D times conj(alpha B')."""
    a, b = ctx.saved_tensors
    asked = ctx.asked
    of_one_a = of_one_b = of_c = None
    if ctx.needs_input_grad[0]:
        of_one_a = gradient_of_factor(grad, b, asked, ctx.like_a)
    if ctx.needs_input_grad[1]:
        of_one_b = gradient_of_factor(grad, a, asked.exchanged(), ctx.like_b)
    if ctx.needs_input_grad[2]:
        dtype, _ = ctx.like_c
        of_c = as_type(grad * _conjugate(asked.beta), dtype)
    return of_one_a, of_one_b, of_c, *[None] * len(asked)


def _tangent_of_pair(
    ctx: Any, of_one_a: Tensor | None, of_one_b: Tensor | None, of_c: Tensor | None, *_: None
) -> Tensor:
    """D = alpha A' B' + beta C is linear in each of the three."""
    a, b = [primal(saved) for saved in ctx.saved_tensors]
    asked = ctx.asked._replace(out_dtype=ctx.dtype)
    found = None if of_c is None else as_type(of_c * asked.beta, ctx.dtype)
    for x, y in ((of_one_a, b), (a, of_one_b)):
        if x is not None and y is not None:
            found = pair(x, y, found, asked._replace(beta=0 if found is None else 1))
    return found


def gradient_of_factor(grad: Tensor, b: Tensor, asked: Contraction, like: tuple[Any, Any]) -> Tensor:
    """Return the gradient of A, of which `like` has the type and the shape; that of B is the one of
    `asked.exchanged()`.
    """
    dtype, shape = like
    kept = "".join(x for x in asked.of_a if x in asked.of_d or x in asked.of_b)
    is_narrow = dtype in SINGLES and asked.compute in (None, "float32", "tfloat32")
    found = pair(
        grad,
        b,
        None,
        Contraction(
            asked.of_d,
            asked.of_b,
            kept,
            asked.alpha if asked.conj_a else _conjugate(asked.alpha),
            conj_a=asked.conj_a,
            conj_b=asked.conj_b == asked.conj_a,
            compute=_compute_of_gradient(asked.compute, grad.dtype, b.dtype),
            out_dtype=dtype if is_narrow and not grad.is_complex() and not _is_wide(grad, b) else None,
        ),
    )
    for at, letter in enumerate(asked.of_a):
        if letter not in kept:  # summed alone: all its elements have the same
            found = found.unsqueeze(at)
    return as_type(found, dtype).expand(shape)


def _compute_of_gradient(compute: str | None, *types: Any) -> str | None:
    """Return what was asked of the product, if it can be asked of its gradient, whose factors may have other types."""
    if compute == "tfloat32" and any(dtype != torch.float32 for dtype in types):
        return None
    return compute


def _is_wide(*operands: Tensor) -> bool:
    return any(x.dtype not in SINGLES for x in operands)


def _conjugate(number: Any) -> Any:
    return number.conjugate() if isinstance(number, complex) else number


def as_type(x: Tensor, dtype: Any) -> Tensor:
    return (x.real if x.is_complex() and not dtype.is_complex else x).to(dtype)


def _batch_of_pairs(
    info: Any,
    in_dims: tuple[Any, ...],
    a: Tensor,
    b: Tensor,
    c: Tensor | None,
    *arguments: Any,
) -> tuple[Tensor, int]:
    """The batch is one more index, wherever it is."""
    asked = Contraction(*arguments)
    of_a, of_b, of_d = asked[:3]
    new = next(x for x in map(chr, range(1, 128)) if x not in of_a + of_b)
    of_one_a, of_one_b = (
        letters if dim is None else letters[:dim] + new + letters[dim:]
        for letters, dim in zip((of_a, of_b), in_dims[:2], strict=True)
    )
    if c is not None:
        c = c.expand(info.batch_size, *c.shape) if in_dims[2] is None else c.movedim(in_dims[2], 0)
    if new not in of_one_a + of_one_b:  # C alone has a batch
        a, of_one_a = a.expand(info.batch_size, *a.shape), new + of_one_a
    return pair(a, b, c, asked._replace(of_a=of_one_a, of_b=of_one_b, of_d=new + of_d)), 0


def _flops_of_pair(
    a_shape: Any, b_shape: Any, c_shape: Any, of_a: str, of_b: str, *_: Any, out_shape: Any = None, **__: Any
) -> int:
    """A multiplication and an addition for each combination of indices, as `contract.explain` counts."""
    extents = dict(zip(of_a + of_b, (*a_shape, *b_shape), strict=True))
    return 2 * int(math.prod(extents.values()))


_differentiable = define_product(
    "pair",
    "(Tensor a, Tensor b, Tensor? c, str of_a, str of_b, str of_d, Scalar alpha=1, Scalar beta=0, "
    "bool conj_a=False, bool conj_b=False, str? compute=None, ScalarType? out_dtype=None) -> Tensor",
    compute=_pair,
    shape=_shape_of_pair,
    keep=_keep_pair,
    gradients=_gradients_of_pair,
    tangent=_tangent_of_pair,
    batch=_batch_of_pairs,
    flops=_flops_of_pair,
)


def pair(a: Tensor, b: Tensor, c: Tensor | None, asked: Contraction) -> Tensor:
    """Return alpha * (a contracted with b) + beta * c. Each index is once in each of the operands that have it."""
    if a.is_neg() or a.is_conj():
        a, is_conjugate = _resolved(a)
        asked = asked._replace(conj_a=asked.conj_a != is_conjugate)
    if b.is_neg() or b.is_conj():
        b, is_conjugate = _resolved(b)
        asked = asked._replace(conj_b=asked.conj_b != is_conjugate)
    if c is not None:
        c = without_lazy_bits(c)
    if not is_direct(a, b, c):
        return torch.ops.cute_py.pair(a, b, c, *asked)
    return _differentiable(a, b, c, *asked) if wants_derivative(a, b, c) else _compute(a, b, c, asked)


def _resolved(x: Tensor) -> tuple[Tensor, bool]:
    """Return the tensor as it lies in memory, and whether its conjugate is meant. What is negated is copied."""
    x = x.resolve_neg() if x.is_neg() else x
    return (x.conj(), True) if x.is_conj() else (x, False)


def without_lazy_bits(x: Tensor | None) -> Tensor | None:
    """Return the tensor as its memory says, a copy if that is not what it means."""
    return x if x is None else x.resolve_neg().resolve_conj()
