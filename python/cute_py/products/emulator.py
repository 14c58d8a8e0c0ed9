"""How the emulator runs GPU kernels on the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from cute_py.errors import OperandError

__all__ = ["EmulatorOptions", "ThreadOrder"]

ThreadOrder = Literal["forward", "backward", "random"]


@dataclass(frozen=True)
class EmulatorOptions:
    """Options of the emulator. The result of a correct kernel depends on none of them but the last.

    Whatever they are, an access outside of the operands and of the CTA's shared memory, one that is not aligned to its
    size, and a barrier that not all threads reach raise `CuteError`.

    Attributes
    ----------
    order
        In which order the threads of a CTA run between two barriers: by index, by falling index, or shuffled anew at
        every barrier.
    seed
        Of the shuffles of ``order="random"``, at least 0.
    poison_shared_memory
        Fill shared memory before each CTA, so that a read of what was never written shows in the result: with NaN,
        bytes of 0xff, or of kernels that multiply integers with bytes of 0x80, the numbers furthest from 0.
    compute_capability
        Of the GPU whose tensor cores are emulated, to the bit: ``(7, 5)``, ``(8, 0)``, ``(8, 9)``, ``(9, 0)`` and what
        there is between and beyond. `wgmma` is that of ``(9, 0)`` whatever it is.

    Raises OperandError for any other value.

    >>> import cute_py, numpy as np
    >>> A = np.ones((2, 3), np.float32)
    >>> shuffled = cute_py.EmulatorOptions(order="random", seed=7)
    >>> cute_py.gemm(A, A, kernel="sgemm_1", device="emulator", emulator=shuffled)
    array([[3., 3.],
           [3., 3.]], dtype=float32)
    """

    order: ThreadOrder = "forward"
    seed: int = 0
    poison_shared_memory: bool = True
    compute_capability: tuple[int, int] = (9, 0)

    def __post_init__(self) -> None:
        if self.order not in get_args(ThreadOrder):
            raise OperandError(f"order is one of {', '.join(get_args(ThreadOrder))}, got {self.order!r}")
        if not isinstance(self.seed, int) or not 0 <= self.seed < 2**64:
            raise OperandError(f"seed is an integer in [0, 2**64), got {self.seed!r}")
        if not isinstance(self.poison_shared_memory, bool):
            raise OperandError(f"poison_shared_memory is True or False, got {self.poison_shared_memory!r}")
        if not _is_capability(self.compute_capability):
            raise OperandError(
                f"compute_capability is a pair of integers from (7, 5) on, got {self.compute_capability!r}\n"
                "  next: (9, 0), or cute_py.Device.preset('A100').compute_capability"
            )


def _is_capability(given: object) -> bool:
    is_pair = isinstance(given, tuple) and len(given) == 2 and all(type(x) is int and 0 <= x < 100 for x in given)
    return is_pair and given >= (7, 5)  # type: ignore[operator]
