"""The operators that PyTorch knows: what they compute, what shape it has, and how gradients and `vmap` go through them.

``cute_py::pair`` is one contraction and ``cute_py::affine`` one layer with its epilogue. The others are made of these, so that
PyTorch sees through them: gradients, tracing and transformations concern these two alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch

from cute_py import _core
from cute_py.errors import OperandError
from cute_py.products import subscripts as _subscripts
from cute_py.products.einsum import steps_by_labels
from cute_py.products.epilogue import Epilogue
from cute_py.products.pairs import read

__all__ = ["ACTIVATIONS", "affine", "contract", "einsum", "linear", "pair", "result_type"]

Tensor = Any
_LIBRARY = torch.library.Library("cute_py", "DEF")
_DEVICES = ("CPU", "CUDA")
_KINDS = ("cpu", "cuda")
_COMPOSITE = ("CompositeImplicitAutograd", "FuncTorchBatched")  # what vmap sees is what they are made of

_HALF_SUMS = (torch.float16, torch.bfloat16, torch.float32)
_FLOAT8 = (torch.float8_e4m3fn, torch.float8_e5m2)
_SUMS = {
    "float32": torch.float32,
    "tfloat32": torch.float32,
    "fast_float32": torch.float32,
    "float64": torch.float64,
    "complex64": torch.complex64,
    "complex128": torch.complex128,
    "int32": torch.int32,
}


def _define(name: str, schema: str, compute: Callable[..., Any], *kinds: str) -> None:
    _LIBRARY.define(f"{name}{schema}")
    for kind in kinds:
        _LIBRARY.impl(name, compute, kind)


def result_type(a: Any, b: Any, compute: str | None) -> Any:
    """Return the type of a new product of these two, as the core has it. Types that it refuses have any."""
    if a in _FLOAT8:
        return torch.bfloat16
    if compute is not None:
        sums = _SUMS.get(compute, torch.float32)
    elif torch.int8 in (a, b):
        sums = torch.int32
    else:
        sums = torch.promote_types(torch.promote_types(a, b), torch.float32)
    return a if a == b and sums == torch.float32 else sums


# ---- One contraction


@lru_cache(maxsize=1024)
def _product(of_a: str, of_b: str, of_d: str) -> Any:
    """Return the contraction with these indices. Raises OperandError where there is none."""
    if any(len(set(letters)) != len(letters) for letters in (of_a, of_b, of_d)) or not set(of_d) <= set(of_a + of_b):
        raise OperandError(
            f"cute_py::pair: {_text(of_a, of_b, of_d)!r} shall have each index once in each operand, and in the result only those\n"
            "  next: cute_py.torch.contract reads all subscripts"
        )
    return _core.make_product(f"contract({_text(of_a, of_b, of_d)!r})", labels=(of_a, of_b, of_d))


def _text(of_a: str, of_b: str, of_d: str) -> str:
    return f"{of_a},{of_b}->{of_d}"


def _require(holds: Any, text: str) -> None:
    """Raise OperandError, or, for extents that are symbols, leave it to PyTorch to find out."""
    if isinstance(holds, torch.SymBool):
        torch._check_value(holds, lambda: text)
    elif not holds:
        raise OperandError(text)


def _require_pair(a: Tensor, b: Tensor, c: Tensor | None, of_a: str, of_b: str, of_d: str) -> dict[str, Any]:
    """Return the extent of each index. Raises OperandError and ValueError for what is no pair."""
    _product(of_a, of_b, of_d)
    extents: dict[str, Any] = {}
    operands = [("a", a, of_a), ("b", b, of_b)] + ([] if c is None else [("c", c, of_d)])
    for name, x, letters in operands:
        if x.dim() != len(letters):
            raise OperandError(f"cute_py::pair: {name} has {x.dim()} modes, and {letters!r} names {len(letters)}")
        for letter, extent in zip(letters, x.shape, strict=True):
            known = extents.setdefault(letter, extent)
            _require(extent == known, f"cute_py::pair: index {letter!r} of {_text(of_a, of_b, of_d)!r} has two extents")
    return extents


def _pair(
    a: Tensor,
    b: Tensor,
    c: Tensor | None,
    of_a: str,
    of_b: str,
    of_d: str,
    alpha: complex = 1,
    beta: complex = 0,
    conj_a: bool = False,
    conj_b: bool = False,
    compute: str | None = None,
    out_dtype: Any = None,
) -> Tensor:
    out = None
    if c is not None:  # else the core makes one
        extents = _require_pair(a, b, c, of_a, of_b, of_d)
        dtype = out_dtype or result_type(a.dtype, b.dtype, compute)
        out = a.new_empty([extents[letter] for letter in of_d], dtype=dtype)
        c, out_dtype = c.detach(), None
    return _product(of_a, of_b, of_d)(
        a.detach() if a.requires_grad else a,
        b.detach() if b.requires_grad else b,
        c,
        alpha=alpha,
        beta=beta,
        out=out,
        conj_a=conj_a,
        conj_b=conj_b,
        compute=compute,
        out_dtype=out_dtype,
    )


_define(
    "pair",
    "(Tensor a, Tensor b, Tensor? c, str of_a, str of_b, str of_d, Scalar alpha=1, Scalar beta=0, "
    "bool conj_a=False, bool conj_b=False, str? compute=None, ScalarType? out_dtype=None) -> Tensor",
    _pair,
    *_DEVICES,
)


def _shape_of_pair(
    a: Tensor,
    b: Tensor,
    c: Tensor | None,
    of_a: str,
    of_b: str,
    of_d: str,
    alpha: complex = 1,
    beta: complex = 0,
    conj_a: bool = False,
    conj_b: bool = False,
    compute: str | None = None,
    out_dtype: Any = None,
) -> Tensor:
    extents = _require_pair(a, b, c, of_a, of_b, of_d)
    dtype = out_dtype or result_type(a.dtype, b.dtype, compute)
    return a.new_empty([extents[letter] for letter in of_d], dtype=dtype)


torch.library.register_fake("cute_py::pair", _shape_of_pair, lib=_LIBRARY)


def _keep_pair(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    a, b, c, *ctx.arguments = inputs
    wants_a, wants_b = ctx.needs_input_grad[:2]
    ctx.save_for_backward(a if wants_b else None, b if wants_a else None)
    ctx.like_a, ctx.like_b, ctx.like_c = ((x.dtype, x.shape) if x is not None else None for x in (a, b, c))


def _gradients_of_pair(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """D = alpha A' B' + beta C, and ' conjugates or not: the gradient of A' is that of D times conj(alpha B')."""
    a, b = ctx.saved_tensors
    of_a, of_b, of_d, alpha, beta, conj_a, conj_b, compute, _ = ctx.arguments
    of_one_a = of_one_b = of_c = None
    if ctx.needs_input_grad[0]:
        of_one_a = _gradient_of_factor(
            grad, of_d, b, of_b, conj_b, of_a, conj_a, ctx.like_a, alpha=alpha, compute=compute
        )
    if ctx.needs_input_grad[1]:
        of_one_b = _gradient_of_factor(
            grad, of_d, a, of_a, conj_a, of_b, conj_b, ctx.like_b, alpha=alpha, compute=compute
        )
    if ctx.needs_input_grad[2]:
        dtype, _ = ctx.like_c
        of_c = _as_type(grad * _conjugate(beta), dtype)
    return of_one_a, of_one_b, of_c, *[None] * 9


def _gradient_of_factor(
    grad: Tensor,
    of_d: str,
    other: Tensor,
    of_other: str,
    conj_other: bool,
    of_factor: str,
    conj_factor: bool,
    like: tuple[Any, Any],
    *,
    alpha: complex,
    compute: str | None,
) -> Tensor:
    dtype, shape = like
    kept = "".join(x for x in of_factor if x in of_d or x in of_other)
    is_narrow = dtype in _HALF_SUMS and compute in (None, "float32", "tfloat32")
    found = pair(
        grad,
        other,
        None,
        of_d,
        of_other,
        kept,
        alpha if conj_factor else _conjugate(alpha),
        0,
        conj_factor,
        conj_other == conj_factor,
        _compute_of_gradient(compute, grad.dtype, other.dtype),
        dtype if is_narrow and not grad.is_complex() and not _is_wide(grad, other) else None,
    )
    for at, letter in enumerate(of_factor):
        if letter not in kept:  # summed alone: all its elements have the same
            found = found.unsqueeze(at)
    return _as_type(found, dtype).expand(shape)


def _compute_of_gradient(compute: str | None, *types: Any) -> str | None:
    """Return what was asked of the product, if it can be asked of its gradient, whose factors may have other types."""
    if compute == "tfloat32" and any(dtype != torch.float32 for dtype in types):
        return None
    return compute


def _is_wide(*operands: Tensor) -> bool:
    return any(x.dtype not in _HALF_SUMS for x in operands)


def _conjugate(number: Any) -> Any:
    return number.conjugate() if isinstance(number, complex) else number


def _as_type(x: Tensor, dtype: Any) -> Tensor:
    return (x.real if x.is_complex() and not dtype.is_complex else x).to(dtype)


torch.library.register_autograd("cute_py::pair", _gradients_of_pair, setup_context=_keep_pair, lib=_LIBRARY)


def _batch_of_pairs(
    info: Any,
    in_dims: tuple[Any, ...],
    a: Tensor,
    b: Tensor,
    c: Tensor | None,
    of_a: str,
    of_b: str,
    of_d: str,
    *more: Any,
) -> tuple[Tensor, int]:
    """The batch is one more index, wherever it is."""
    new = next(x for x in map(chr, range(1, 128)) if x not in of_a + of_b)
    of_one_a, of_one_b = (
        letters if dim is None else letters[:dim] + new + letters[dim:]
        for letters, dim in zip((of_a, of_b), in_dims[:2], strict=True)
    )
    if c is not None:
        c = c.expand(info.batch_size, *c.shape) if in_dims[2] is None else c.movedim(in_dims[2], 0)
    if new not in of_one_a + of_one_b:  # C alone has a batch
        a, of_one_a = a.expand(info.batch_size, *a.shape), new + of_one_a
    return pair(a, b, c, of_one_a, of_one_b, new + of_d, *more), 0


torch.library.register_vmap("cute_py::pair", _batch_of_pairs, lib=_LIBRARY)


def _no_tangent(ctx: Any, *tangents: Any) -> Any:
    raise OperandError(
        "cute_py.torch has no forward-mode derivatives\n  next: torch.func.vjp, grad or jacrev, or torch.autograd"
    )


class _Pair(torch.autograd.Function):  # type: ignore[misc]
    """The same for `torch.func`, whose gradients do not see those of registered operators."""

    @staticmethod
    def forward(*arguments: Any) -> Tensor:
        return _pair(*arguments) if _is_direct(*arguments[:3]) else torch.ops.cute_py.pair(*arguments)

    setup_context = staticmethod(_keep_pair)
    backward = staticmethod(_gradients_of_pair)
    vmap = staticmethod(_batch_of_pairs)
    jvp = staticmethod(_no_tangent)


def pair(
    a: Tensor,
    b: Tensor,
    c: Tensor | None,
    of_a: str,
    of_b: str,
    of_d: str,
    alpha: complex = 1,
    beta: complex = 0,
    conj_a: bool = False,
    conj_b: bool = False,
    compute: str | None = None,
    out_dtype: Any = None,
) -> Tensor:
    """Return alpha * (a contracted with b) + beta * c. Each index is once in each of the operands that have it."""
    a, is_conjugate = _resolved(a)
    conj_a = conj_a != is_conjugate
    b, is_conjugate = _resolved(b)
    conj_b = conj_b != is_conjugate
    c = _plain(c)
    arguments = (a, b, c, of_a, of_b, of_d, alpha, beta, conj_a, conj_b, compute, out_dtype)
    if _goes_through_function(a, b, c):
        return _Pair.apply(*arguments)
    return _pair(*arguments) if _is_direct(a, b, c) else torch.ops.cute_py.pair(*arguments)


# What PyTorch tells of those who listen. Where a version does not, somebody may.
_are_transforms_active = getattr(torch._C, "_are_functorch_transforms_active", lambda: True)
_count_modes = getattr(torch._C, "_len_torch_dispatch_stack", lambda: 1)
_count_early_modes = getattr(torch._ops, "_len_torch_dispatch_stack_pre_dispatch", lambda: 1)
_tracing_state = getattr(torch._C, "_get_tracing_state", lambda: "unknown")
_TYPES = (torch.Tensor, torch.nn.Parameter)
_has_storage = getattr(torch._C, "_has_storage", lambda x: False)


def _is_direct(*operands: Tensor | None) -> bool:
    """Are these tensors with memory, and does nothing listen to operators? Then none need be called: 5 us instead of 40."""
    if _are_transforms_active() or _count_modes() or _count_early_modes() or _tracing_state() is not None:
        return False
    for x in operands:
        if x is not None and not (
            type(x) in _TYPES and (x.is_cpu or x.is_cuda) and _has_storage(x) and not x._is_zerotensor()
        ):
            return False
    return True


def _resolved(x: Tensor) -> tuple[Tensor, bool]:
    """Return the tensor as it lies in memory, and whether its conjugate is meant. What is negated is copied."""
    x = x.resolve_neg() if x.is_neg() else x
    return (x.conj(), True) if x.is_conj() else (x, False)


def _plain(x: Tensor | None) -> Tensor | None:
    """Return the tensor as its memory says, a copy if that is not what it means."""
    return x if x is None else x.resolve_neg().resolve_conj()


def _goes_through_function(*operands: Tensor | None) -> bool:
    """Is there a derivative of any kind, now or behind a transformation?"""
    return _wants_gradient(*operands) or _are_transforms_active() or torch.autograd.forward_ad._current_level >= 0


def _wants_gradient(*operands: Tensor | None) -> bool:
    if torch.is_grad_enabled():
        for x in operands:
            if x is not None and x.requires_grad:
                return True
    return False


# ---- A layer


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


def _labels_of_affine(x: Tensor, weight: Tensor, bias: Tensor | None, activation: str) -> tuple[str, str, str]:
    if activation not in ACTIVATIONS:
        raise OperandError(f"activation is one of {', '.join(ACTIVATIONS)}, got {activation!r}")
    if x.dim() < 1 or weight.dim() != 2 or (bias is not None and bias.dim() != 1):
        shapes = [tuple(t.shape) for t in (x, weight, bias) if t is not None]
        raise OperandError(
            f"linear: x has modes (...,K), weight (N,K) and bias (N,); got shapes {', '.join(map(str, shapes))}"
        )
    if activation != "none" and x.dtype.is_complex:
        raise OperandError("linear: an activation of complex numbers is not defined\n  next: activation='none'")
    _require(x.shape[-1] == weight.shape[1], f"linear: K is {x.shape[-1]} in x and {weight.shape[1]} in weight")
    if bias is not None:
        _require(
            bias.shape[0] == weight.shape[0], f"linear: N is {weight.shape[0]} in weight and {bias.shape[0]} in bias"
        )
    leading = _subscripts.LETTERS[2 : x.dim() + 1]
    return leading + "b", "ab", leading + "a"


def _affine(
    x: Tensor, weight: Tensor, bias: Tensor | None, activation: str = "none", compute: str | None = None
) -> Tensor:
    labels = _labels_of_affine(x, weight, bias, activation)
    epilogue = None
    if bias is not None or activation != "none":
        epilogue = Epilogue(bias=None if bias is None else bias.detach(), activation=activation)  # type: ignore[arg-type]
    x, weight = (t.detach() if t.requires_grad else t for t in (x, weight))
    return _product(*labels)(x, weight, epilogue=epilogue, compute=compute)


_define(
    "affine",
    "(Tensor x, Tensor weight, Tensor? bias, str activation='none', str? compute=None) -> Tensor",
    _affine,
    *_DEVICES,
)


def _shape_of_affine(
    x: Tensor, weight: Tensor, bias: Tensor | None, activation: str = "none", compute: str | None = None
) -> Tensor:
    _labels_of_affine(x, weight, bias, activation)
    return x.new_empty((*x.shape[:-1], weight.shape[0]), dtype=result_type(x.dtype, weight.dtype, compute))


torch.library.register_fake("cute_py::affine", _shape_of_affine, lib=_LIBRARY)


def _keep_affine(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, weight, bias, ctx.activation, ctx.compute = inputs
    ctx.labels = _labels_of_affine(x, weight, bias, ctx.activation)
    ctx.like_x, ctx.like_weight = (x.dtype, x.shape), (weight.dtype, weight.shape)
    ctx.type_of_bias = None if bias is None else bias.dtype
    wants_x, wants_weight = ctx.needs_input_grad[:2]
    is_linear = ctx.activation == "none"
    ctx.save_for_backward(
        x if wants_weight or not is_linear else None,
        weight if wants_x or not is_linear else None,
        None if is_linear else bias,
    )


def _gradients_of_affine(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """The layer without its activation is computed again where the activation's slope depends on it."""
    x, weight, bias = ctx.saved_tensors
    if ctx.activation != "none":
        before = affine(x, weight, bias, "none", ctx.compute)
        grad = ACTIVATIONS[ctx.activation][1](grad, before)
    of_x, of_weight, of_y = ctx.labels
    wants = ctx.needs_input_grad

    def factor(other: Tensor, of_other: str, of_factor: str, like: tuple[Any, Any]) -> Tensor:
        return _gradient_of_factor(
            grad, of_y, other, of_other, False, of_factor, False, like, alpha=1, compute=ctx.compute
        )

    of_bias = None
    if wants[2]:
        of_bias = _as_type(grad.flatten(0, -2).sum(0) if grad.dim() > 1 else grad, ctx.type_of_bias)
    return (
        factor(weight, of_weight, of_x, ctx.like_x) if wants[0] else None,
        factor(x, of_x, of_weight, ctx.like_weight) if wants[1] else None,
        of_bias,
        None,
        None,
    )


torch.library.register_autograd("cute_py::affine", _gradients_of_affine, setup_context=_keep_affine, lib=_LIBRARY)


def _batch_of_affine(
    info: Any,
    in_dims: tuple[Any, ...],
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    activation: str = "none",
    compute: str | None = None,
) -> tuple[Tensor, int]:
    x = x.expand(info.batch_size, *x.shape) if in_dims[0] is None else x.movedim(in_dims[0], 0)
    if in_dims[1] is None and in_dims[2] is None:
        return affine(x, weight, bias, activation, compute), 0
    # Each has a weight or a bias of its own: batches of products, and the epilogue after them.
    of_weight = "ab" if in_dims[1] is None else "cab"
    weight = weight if in_dims[1] is None else weight.movedim(in_dims[1], 0)
    leading = _subscripts.LETTERS[2 : x.dim() + 1]
    dtype = result_type(x.dtype, weight.dtype, compute)
    wide = torch.float32 if dtype in _HALF_SUMS else None
    y = pair(x, weight, None, leading + "b", of_weight, leading + "a", compute=compute, out_dtype=wide)
    y = y.double() if dtype == torch.int32 else y
    if bias is not None:
        bias = bias if in_dims[2] is None else bias.movedim(in_dims[2], 0)
        y = y + (bias if in_dims[2] is None else bias.view(-1, *[1] * (y.dim() - 2), bias.shape[-1]))
    y = ACTIVATIONS[activation][0](y)
    return (y.round() if dtype == torch.int32 else y).to(dtype), 0


torch.library.register_vmap("cute_py::affine", _batch_of_affine, lib=_LIBRARY)


class _Affine(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(*arguments: Any) -> Tensor:
        return _affine(*arguments) if _is_direct(*arguments[:3]) else torch.ops.cute_py.affine(*arguments)

    setup_context = staticmethod(_keep_affine)
    backward = staticmethod(_gradients_of_affine)
    vmap = staticmethod(_batch_of_affine)
    jvp = staticmethod(_no_tangent)


def affine(
    x: Tensor, weight: Tensor, bias: Tensor | None, activation: str = "none", compute: str | None = None
) -> Tensor:
    """Return activation(x weight^T + bias)."""
    arguments = (_plain(x), _plain(weight), _plain(bias), activation, compute)
    if _goes_through_function(x, weight, bias):
        return _Affine.apply(*arguments)
    return _affine(*arguments) if _is_direct(x, weight, bias) else torch.ops.cute_py.affine(*arguments)


# ---- What is made of them


def _cast(operands: list[Tensor]) -> list[Tensor]:
    """Return the operands as autocast has them, where it is on."""
    kind = operands[0].device.type
    if kind not in _KINDS or not torch.is_autocast_enabled(kind):
        return operands
    dtype = torch.get_autocast_dtype(kind)
    return [x.to(dtype) if x.dtype in _HALF_SUMS else x for x in operands]


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
    shapes = tuple(a.shape), tuple(b.shape)
    (a, b), (of_a, of_b), of_d = read("contract", subscripts, _cast([a, b]))
    if c is not None:
        extents = dict(zip(of_a + of_b, (*a.shape, *b.shape), strict=True))
        result = tuple(extents[x] for x in of_d)
        text = f"contract({subscripts!r}) of {shapes[0]} and {shapes[1]} has shape {result}, and C has {tuple(c.shape)}"
        _require(len(result) == c.dim(), text)
        for extent, of_c in zip(result, c.shape, strict=True):
            _require(extent == of_c, text)
    return pair(a, b, c, of_a, of_b, of_d, alpha, beta, compute=compute, out_dtype=out_dtype)


def einsum(operands: list[Tensor], subscripts: str, compute: str | None = None, optimize: str = "auto") -> Tensor:
    operands, labels, of_d = read("einsum", subscripts, _cast(list(operands)))
    if len(operands) == 2:
        return pair(operands[0], operands[1], None, labels[0], labels[1], of_d, compute=compute)
    shapes = tuple(tuple(int(extent) for extent in x.shape) for x in operands)
    types = tuple(x.dtype for x in operands)
    half, steps = steps_by_labels(tuple(labels), of_d, shapes, types, False if optimize == "left" else optimize)
    in_float32 = compute in (None, "float32", "tfloat32")
    values: list[Any] = list(operands)
    for number, (first, second, of_first, of_second, kept, is_of_halves) in enumerate(steps, 1):
        x = values[first]
        y = x.new_ones(()) if second is None else values[second]
        wanted = half if number == len(steps) else "float32" if is_of_halves else None
        out_dtype = getattr(torch, wanted) if wanted is not None and in_float32 else None
        values.append(pair(x, y, None, of_first, of_second, kept, compute=compute, out_dtype=out_dtype))
        values[first] = None
        if second is not None:
            values[second] = None
    return values[-1]


def linear(
    x: Tensor, weight: Tensor, bias: Tensor | None, activation: str = "none", compute: str | None = None
) -> Tensor:
    operands = _cast([x, weight] if bias is None else [x, weight, bias])
    x, weight = operands[:2]
    bias = operands[2] if bias is not None else None
    if _wants_gradient(*operands):
        # What the activation gets is kept for its gradient, rather than computed a second time.
        _labels_of_affine(x, weight, bias, activation)
        return ACTIVATIONS[activation][0](affine(x, weight, bias, "none", compute))
    return affine(x, weight, bias, activation, compute)


_define(
    "contract",
    "(Tensor a, Tensor b, Tensor? c, str subscripts, Scalar alpha=1, Scalar beta=0, str? compute=None, "
    "ScalarType? out_dtype=None) -> Tensor",
    contract,
    *_COMPOSITE,
)
_define(
    "einsum",
    "(Tensor[] operands, str subscripts, str? compute=None, str optimize='auto') -> Tensor",
    einsum,
    *_COMPOSITE,
)
_define(
    "linear",
    "(Tensor x, Tensor weight, Tensor? bias, str activation='none', str? compute=None) -> Tensor",
    linear,
    *_COMPOSITE,
)
