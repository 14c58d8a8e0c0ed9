"""`explain`: of a product, where and how it runs; of a layout operation, its steps."""

from __future__ import annotations

from typing import Any, overload

from cute_py._explain_layout import explain_layout
from cute_py._gemm import explain_gemm
from cute_py.contraction import explain_contract
from cute_py.explanation import Explanation

__all__ = ["explain"]


@overload
def explain(operation: str, /, *arguments: Any) -> str: ...


@overload
def explain(
    A: Any,
    B: Any,
    C: Any = None,
    /,
    *,
    function: str = "gemm",
    alpha: Any = 1.0,
    beta: Any = 0.0,
    kernel: str = "auto",
    stream: Any = None,
    device: str | None = None,
    **options: Any,
) -> Explanation: ...


def explain(*arguments: Any, **options: Any) -> Explanation | str:
    """Say where a product runs and which kernel it runs, or show the steps of a layout operation.

    ``explain(A, B, C=None, function="gemm", **options)`` says where ``function(A, B, C, **options)`` runs and which kernel it
    runs, and why not the others. ``explain("abk,ck->abc", A, B, C=None, **options)`` says it of `contract`. Nothing is
    computed; the choice is made by the same code as in a call.

    >>> import cute_py, numpy as np
    >>> A = np.ones((128, 16), np.float32, order="F")
    >>> print(cute_py.explain(A, A, function="sgemm_nt", kernel="sgemm_sm80_nt_f32", device="emulator"))
    sgemm_nt: M=128 N=128 K=16
      A float32 (128,16):(1,128) cpu
      B float32 (128,16):(1,128) cpu
      C float32 (128,128):(1,128) new
    work: 524288 flops, 81920 bytes at least, 6.4 flops/byte
    target: emulator (emulator), because device='emulator'
    kernel: sgemm_sm80_nt_f32

    ``explain("composition", A, B)`` gives the steps, in words and numbers; so do ``"coalesce"``, ``"complement"``,
    ``"logical_divide"`` and ``"logical_product"`` with their arguments.

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
    if arguments and isinstance(arguments[0], str):
        is_contraction = "," in arguments[0] or "->" in arguments[0]
        return (explain_contract if is_contraction else explain_layout)(*arguments, **options)
    return explain_gemm(*arguments, **options)
