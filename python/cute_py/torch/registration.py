"""How a product becomes an operator of PyTorch: its kernels, its shape, its derivatives, its batches and its flops.

An operator has one kernel for derivatives, at the dispatcher's key ``Autograd``. It is differentiated one level at a
time, so that the transformations of `torch.func`, which are levels, and those who trace them see it as they see
PyTorch's own operators. Where nothing listens to the dispatcher, `is_direct`, Python calls the computation itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import forward_ad
from torch.utils.flop_counter import register_flop_formula

__all__ = ["define_composite", "define_product", "is_direct", "is_traced", "primal", "wants_derivative"]

Tensor = Any
_LIBRARY = torch.library.Library("cute_py", "DEF")
_DEVICES = ("CPU", "CUDA")
_COMPOSITE = ("CompositeImplicitAutograd", "FuncTorchBatched")  # what vmap sees is what they are made of

# What PyTorch tells of those who listen. Where a version does not, somebody may.
_are_transforms_active = getattr(torch._C, "_are_functorch_transforms_active", lambda: True)
_count_modes = getattr(torch._C, "_len_torch_dispatch_stack", lambda: 1)
_has_key = getattr(torch._C, "_dispatch_tls_is_dispatch_key_included", lambda key: True)
_EARLY = torch._C.DispatchKey.PreDispatch  # of modes that see operators before they are differentiated
_tracing_state = getattr(torch._C, "_get_tracing_state", lambda: "unknown")
_is_profiled = getattr(torch._C._autograd, "_profiler_enabled", lambda: True)
_TYPES = (torch.Tensor, torch.nn.Parameter)
_has_storage = getattr(torch._C, "_has_storage", lambda x: False)


def is_direct(*operands: Tensor | None) -> bool:
    """Are these tensors with memory, and does nothing listen to operators? Then none need be called, which takes
    longer.
    """
    if _are_transforms_active() or _count_modes() or _has_key(_EARLY) or _is_profiled() or is_traced():
        return False
    for x in operands:
        if x is not None and not (
            type(x) in _TYPES and (x.is_cpu or x.is_cuda) and _has_storage(x) and not x._is_zerotensor()
        ):
            return False
    return True


def is_traced() -> bool:
    """Does `torch.jit.trace` write down what is called?"""
    return _tracing_state() is not None


def wants_derivative(*operands: Tensor | None) -> bool:
    """Is there a derivative of either kind, on this level?"""
    if forward_ad._current_level >= 0:
        return True
    if torch.is_grad_enabled():
        for x in operands:
            if x is not None and x.requires_grad:
                return True
    return False


def primal(x: Tensor) -> Tensor:
    """Return what a tangent of this level belongs to, with the derivatives of all other levels."""
    return None if x is None else torch._VF._unpack_dual(x, level=0)[0]  # PyTorch has no other level of dual numbers


def _is_jvp() -> bool:
    """Is the level that of `torch.func.jvp`? A compiled graph enters it without a word to `forward_ad`."""
    top = torch._C._functorch.peek_interpreter_stack()
    return top is not None and top.key() == torch._C._functorch.TransformType.Jvp


def _apply(function: type[torch.autograd.Function]) -> Callable[..., Tensor]:
    """Return what applies a function on one level.

    `apply` itself looks for transformations, which leads away from the dispatcher's levels, and binds arguments, which
    takes longer than a small product.
    """
    apply: Callable[..., Tensor] = super(torch.autograd.Function, function).apply
    return apply


def define_composite(name: str, schema: str, compute: Callable[..., Any]) -> None:
    """Register an operator that is made of others. Derivatives, traces and batches see these."""
    _LIBRARY.define(f"{name}{schema}")
    for kind in _COMPOSITE:
        _LIBRARY.impl(name, compute, kind)


def define_product(
    name: str,
    schema: str,
    *,
    compute: Callable[..., Any],
    shape: Callable[..., Any],
    keep: Callable[..., Any],
    gradients: Callable[..., Any],
    tangent: Callable[..., Any],
    batch: Callable[..., Any],
    flops: Callable[..., Any],
) -> Callable[..., Tensor]:
    """Register an operator with all that PyTorch asks of it, and return what computes a direct call with derivatives.

    Parameters
    ----------
    name, schema
        Of the operator. Its first three arguments are tensors or None, and none is for keywords only.
    compute, shape
        The result, and an empty one.
    keep, gradients, tangent
        `setup_context`, `backward` and `jvp` of a `torch.autograd.Function`.
    batch
        The rule of `torch.library.register_vmap`.
    flops
        Of shapes and the other arguments, for `torch.utils.flop_counter`.
    """
    _LIBRARY.define(f"{name}{schema}")
    for device in _DEVICES:
        _LIBRARY.impl(name, compute, device)
    torch.library.register_fake(f"cute_py::{name}", shape, lib=_LIBRARY)
    torch.library.register_vmap(f"cute_py::{name}", batch, lib=_LIBRARY)
    packet = getattr(torch.ops.cute_py, name)
    register_flop_formula(packet)(flops)
    operator = packet.default
    defaults = [argument.default_value for argument in operator._schema.arguments]

    def below(keys: Any, arguments: tuple[Any, ...]) -> Tensor:
        with torch._C._AutoDispatchBelowAutograd():
            return operator.redispatch(keys & torch._C._after_autograd_keyset, *arguments)

    def jvp(ctx: Any, *tangents: Any) -> Tensor:
        with forward_ad._set_fwd_grad_enabled(True):  # for outer levels, again
            return tangent(ctx, *tangents)

    class Level(torch.autograd.Function):  # type: ignore[misc]
        """The operator on one level. Its last argument are the keys of the dispatcher."""

        @staticmethod
        def forward(*arguments: Any) -> Tensor:
            # Outer levels have derivatives of their own, which the call of this function has switched off.
            with torch.enable_grad(), forward_ad._set_fwd_grad_enabled(True):
                return below(arguments[-1], arguments[:-1])

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
            keep(ctx, inputs[:-1], output)

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Any:
            return *gradients(ctx, grad), None

    def derivatives(keys: Any, *given: Any) -> Tensor:
        arguments = (*given, *defaults[len(given) :])  # the dispatcher leaves out what is as by default
        if not (wants_derivative(*arguments[:3]) or _is_jvp()):
            return below(keys, arguments)
        with enable_single_level_autograd_function():
            return _apply(Level)(*arguments, keys)

    _LIBRARY.impl(name, derivatives, "Autograd", with_keyset=True)

    class Direct(torch.autograd.Function):  # type: ignore[misc]
        """The computation, for a direct call, which no transformation sees."""

        forward = staticmethod(compute)
        setup_context = staticmethod(keep)
        backward = staticmethod(gradients)

    for function in (Level, Direct):
        function.jvp = staticmethod(jvp)
        function.__name__ = function.__qualname__ = f"cute_py_{name}"
    return _apply(Direct)
