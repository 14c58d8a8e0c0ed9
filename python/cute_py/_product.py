"""What all functions that multiply have in common: their options, and the way to the compiled core."""

from __future__ import annotations

from typing import Any, NamedTuple

from cute_py import _core
from cute_py._arrays import as_result, empty_result
from cute_py._types import type_name
from cute_py.emulator import EmulatorOptions
from cute_py.epilogue import Epilogue
from cute_py.errors import OperandError
from cute_py.explanation import Explanation, Step


class Function(NamedTuple):
    """A function for the core: its name for messages, the strides and the type that it insists on, its modes.

    `layout` is ``"nt"``, ... or ``""`` for any strides; `factors` a type's name or ``""`` for any; `labels` a letter for each
    mode of A, B and the result, or None for a GEMM, whose modes follow from the ranks.
    """

    name: str
    layout: str = ""
    factors: str = ""
    labels: tuple[str, str, str] | None = None


def options_of(
    out: Any,
    compute: Any,
    out_dtype: Any,
    conj_a: bool,
    conj_b: bool,
    epilogue: Epilogue | None,
    batch_invariant: bool,
) -> tuple[Any, ...] | None:
    """Return the options that most calls leave alone as the core takes them: None for none."""
    if (
        out is None
        and compute is None
        and out_dtype is None
        and epilogue is None
        and conj_a is conj_b is batch_invariant is False
    ):
        return None
    if epilogue is not None and not isinstance(epilogue, Epilogue):
        raise OperandError(f"epilogue is a cute_py.Epilogue or None, got {type(epilogue).__name__}")
    types = type_name("compute", compute), type_name("out_dtype", out_dtype)
    return out, *types, conj_a, conj_b, epilogue, batch_invariant


def run_product(
    function: Function,
    A: Any,
    B: Any,
    C: Any,
    alpha: Any,
    beta: Any,
    kernel: str,
    device: str | None,
    stream: Any,
    emulator: EmulatorOptions | None,
    options: tuple[Any, ...] | None,
) -> Any:
    """Return the result: `out`, C, or a new array of A's library."""
    result = _core.product(empty_result, function, A, B, C, alpha, beta, kernel, device, stream, emulator, options)
    return result if C is not None or (options is not None and options[0] is not None) else as_result(A, result)


def explain_product(
    function: Function,
    A: Any,
    B: Any,
    C: Any,
    alpha: Any,
    beta: Any,
    kernel: str,
    device: str | None,
    stream: Any,
    options: tuple[Any, ...] | None,
) -> Explanation:
    """Say what `run_product` would do."""
    found = _core.explain(function, A, B, C, alpha, beta, kernel, device, stream, options)
    found["steps"] = tuple(Step(**step) for step in found["steps"])
    return Explanation(function=function.name, **found)
