"""Plans: a product that is chosen once and run many times."""

from __future__ import annotations

from typing import Any

from cute_py import _core
from cute_py._arrays import as_result, empty_result
from cute_py._product import Function, explain_product, options_of
from cute_py.contraction import contraction_function
from cute_py.emulator import EmulatorOptions
from cute_py.epilogue import Epilogue
from cute_py.explanation import Explanation

__all__ = ["Plan", "plan_contract", "plan_gemm"]


class Plan:
    """A product with its kernels chosen and its workspace known. Made by `plan_gemm` and `plan_contract`.

    Call it with arrays that are laid out like those that it was made for: same types, shapes, strides and device, and not less
    aligned. It runs on the kernels that were chosen then. On a GPU it does not wait, and what it needs of memory for sums
    between its steps comes from the stream and goes back to it: so it can be captured in a CUDA graph, if it is given a place
    for the result. The graph owns that memory then, and does not need the plan any more. Run it once before that, which loads
    its kernels. One plan may be used by several threads and on several streams at a time.

    >>> import cute_py, numpy as np
    >>> A, B = np.ones((2, 3), np.float32), np.ones((4, 3), np.float32)
    >>> plan = cute_py.plan_gemm(A, B)
    >>> plan(2 * A, B)
    array([[6., 6., 6., 6.],
           [6., 6., 6., 6.]], dtype=float32)
    """

    def __init__(self, plan: _core.Plan, explanation: Explanation) -> None:
        self._plan = plan
        self._explanation = explanation

    def __call__(
        self, A: Any, B: Any, C: Any = None, *, out: Any = None, stream: Any = None, workspace: Any = None
    ) -> Any:
        """Compute the product.

        Parameters
        ----------
        A, B, C
            As planned. C takes part if it did in the plan.
        out
            Where the result goes; else to C, else to a new array.
        stream
            As in `gemm`.
        workspace
            On a GPU, a dense array of one mode with `workspace_bytes` bytes or more, aligned to 256, that nothing else uses
            until the product is done. Without one, it is allocated on the stream for the call.

        Raises OperandError for arrays that the plan was not made for.
        """
        result = self._plan.run(empty_result, A, B, C, out, stream, workspace)
        return result if C is not None or out is not None else as_result(A, result)

    @property
    def workspace_bytes(self) -> int:
        """Memory for sums between the steps, in bytes; mostly 0."""
        return self._plan.workspace_bytes

    def explain(self) -> Explanation:
        """Say what the plan does."""
        return self._explanation

    def __repr__(self) -> str:
        return f"<Plan of {self._explanation.function}: {' -> '.join(str(s.kernel) for s in self._explanation.steps)}>"


def plan_gemm(
    A: Any,
    B: Any,
    C: Any = None,
    *,
    alpha: Any = 1.0,
    beta: Any = 0.0,
    kernel: str = "auto",
    device: str | None = None,
    emulator: EmulatorOptions | None = None,
    out: Any = None,
    compute: Any = None,
    out_dtype: Any = None,
    conj_a: bool = False,
    conj_b: bool = False,
    epilogue: Epilogue | None = None,
    batch_invariant: bool = False,
) -> Plan:
    """Plan ``gemm(A, B, C, ...)``. Arguments are as in `gemm`; nothing is computed. The arrays of `epilogue` belong to the plan.

    >>> import cute_py, numpy as np
    >>> A = np.ones((2, 3), np.float32)
    >>> cute_py.plan_gemm(A, A, kernel="reference")
    <Plan of gemm: reference_f32>
    """
    options = options_of(out, compute, out_dtype, conj_a, conj_b, epilogue, batch_invariant)
    return _plan(Function("gemm"), A, B, C, alpha, beta, kernel, device, emulator, options)


def plan_contract(
    subscripts: str,
    A: Any,
    B: Any,
    C: Any = None,
    *,
    alpha: Any = 1.0,
    beta: Any = 0.0,
    kernel: str = "auto",
    device: str | None = None,
    emulator: EmulatorOptions | None = None,
    out: Any = None,
    compute: Any = None,
    out_dtype: Any = None,
    conj_a: bool = False,
    conj_b: bool = False,
    epilogue: Epilogue | None = None,
    batch_invariant: bool = False,
) -> Plan:
    """Plan ``contract(subscripts, A, B, C, ...)``. Arguments are as in `contract`; nothing is computed.

    >>> import cute_py, numpy as np
    >>> X, Y = np.ones((2, 3, 4), np.float32), np.ones((5, 4), np.float32)
    >>> plan = cute_py.plan_contract("abk,ck->abc", X, Y)
    >>> plan(X, Y).shape
    (2, 3, 5)
    """
    options = options_of(out, compute, out_dtype, conj_a, conj_b, epilogue, batch_invariant)
    function = contraction_function("contract", subscripts, A, B)
    return _plan(function, A, B, C, alpha, beta, kernel, device, emulator, options)


def _plan(
    function: Function,
    A: Any,
    B: Any,
    C: Any,
    alpha: Any,
    beta: Any,
    kernel: str,
    device: str | None,
    emulator: EmulatorOptions | None,
    options: tuple[Any, ...] | None,
) -> Plan:
    explanation = explain_product(function, A, B, C, alpha, beta, kernel, device, None, options)
    return Plan(_core.Plan(function, A, B, C, alpha, beta, kernel, device, emulator, options), explanation)
