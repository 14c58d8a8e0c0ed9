"""`explain`: of a product, where and how it runs; of a layout operation, its steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, overload

from cute_py.layout.steps import Steps, explain_layout
from cute_py.products.einsum import Einsum, EinsumExplanation
from cute_py.products.explanation import Explanation
from cute_py.products.product import Product

__all__ = ["explain"]

P = ParamSpec("P")


@overload
def explain(what: str, /, *arguments: Any) -> Steps: ...
@overload
def explain(what: Einsum, /, *arguments: Any, **options: Any) -> EinsumExplanation: ...
@overload
def explain(what: Product[P], /, *arguments: P.args, **options: P.kwargs) -> Explanation: ...
@overload
def explain(what: Callable[..., Any], /, *arguments: Any) -> Steps: ...


def explain(what: Any, /, *arguments: Any, **options: Any) -> Any:
    """Say where a product runs and which kernel it runs, or show the steps of a layout operation.

    ``explain(gemm, A, B, **options)`` is ``gemm.explain(A, B, **options)``, and so for every product: nothing is
    computed, and the choice is made by the same code as in a call.

    >>> import cute_py, numpy as np
    >>> A = np.ones((128, 16), np.float32, order="F")
    >>> print(cute_py.explain(cute_py.sgemm_nt, A, A, kernel="sgemm_sm80_nt_f32", device="emulator"))
    sgemm_nt: M=128 N=128 K=16
      A float32 (128,16):(1,128) cpu
      B float32 (128,16):(1,128) cpu
      C float32 (128,128):(1,128) new
    work: 524288 flops, 81920 bytes at least, 6.4 flops/byte
    target: emulator (emulator), because device='emulator'
    kernel: sgemm_sm80_nt_f32
      chosen: sgemm_sm80_nt_f32, 1 CTA: 6.27 us, math

    ``explain("composition", A, B)`` or ``explain(composition, A, B)`` gives the steps, in words and numbers; so do
    ``"coalesce"``, ``"complement"``, the divides, the products, the inverses, ``"idx2crd"`` and ``"crd2idx"`` with
    their arguments. It is a text, which a REPL shows as it is, with what the algebra noted: ``.steps``, ``.result``,
    ``.error``.

    >>> print(cute_py.explain("coalesce", "(2,(1,6)):(1,(6,2))"))
    coalesce (2,(1,6)):(1,(6,2))
    The same function of an integer, in as few modes as possible.
    <BLANKLINE>
    From the right:
      start with 6:2
      1:6 has extent 1 and vanishes
      2:1 ends where 6:2 goes on: 2 * 1 = 2; together 12:1
    <BLANKLINE>
    Result: 12:1
    """
    if hasattr(what, "explain"):
        return what.explain(*arguments, **options)
    return explain_layout(what, *arguments, **options)
