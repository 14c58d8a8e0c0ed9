"""How many threads the CPU engine and the emulator use."""

from __future__ import annotations

from cute_py import _core
from cute_py.errors import OperandError

__all__ = ["get_num_threads", "set_num_threads"]

_num_threads = _core.host_processors()


def set_num_threads(threads: int | None) -> None:
    """Set how many threads a call on host arrays may use; None, the default, for one per processor of this process.

    The result does not depend on it, to the bit.
    """
    global _num_threads
    if threads is not None and threads < 1:
        raise OperandError(f"threads is at least 1, got {threads}")
    _num_threads = _core.host_processors() if threads is None else threads


def get_num_threads() -> int:
    """Return how many threads a call on host arrays may use."""
    return _num_threads
