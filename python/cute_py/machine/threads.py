"""How many threads the CPU engine and the emulator use."""

from __future__ import annotations

from cute_py import _core
from cute_py.errors import OperandError

__all__ = ["get_num_threads", "set_num_threads"]


def set_num_threads(threads: int | None) -> None:
    """Set how many threads a call on host arrays may use; None, the default, for one per processor of this process.

    The result does not depend on it, to the bit. Raises OperandError for anything but None and an integer from 1 to 1024.

    >>> import cute_py
    >>> cute_py.set_num_threads(2)
    >>> cute_py.get_num_threads()
    2
    >>> cute_py.set_num_threads(None)
    """
    if threads is not None and (not isinstance(threads, int) or isinstance(threads, bool) or not 1 <= threads <= 1024):
        raise OperandError(f"threads is an integer from 1 to 1024, or None; got {threads!r}")
    _core.set_num_threads(_core.host_processors() if threads is None else threads)


def get_num_threads() -> int:
    """Return how many threads a call on host arrays may use."""
    return _core.num_threads()
