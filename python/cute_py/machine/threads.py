"""How many threads the CPU engine and the emulator use."""

from __future__ import annotations

from cute_py import _core
from cute_py.errors import OperandError

__all__ = ["get_num_threads", "register_threadpoolctl", "set_num_threads"]


def set_num_threads(threads: int | None) -> None:
    """Set how many threads a call on host arrays may use.

    None, the default, means what ``OMP_NUM_THREADS`` says, or else one for each processor that this process may use by
    its affinity and by the CPU quota of its control groups. Small products take fewer. The result does not depend on
    it, to the bit. Raises OperandError for anything but None and an integer from 1 to 1024.

    >>> import cute_py
    >>> cute_py.set_num_threads(2)
    >>> cute_py.get_num_threads()
    2
    >>> cute_py.set_num_threads(None)
    """
    if threads is not None and (not isinstance(threads, int) or isinstance(threads, bool) or not 1 <= threads <= 1024):
        raise OperandError(f"threads is an integer from 1 to 1024, or None; got {threads!r}")
    _core.set_num_threads(0 if threads is None else threads)


def get_num_threads() -> int:
    """Return how many threads a call on host arrays may use."""
    return _core.num_threads()


def register_threadpoolctl() -> None:
    """Let threadpoolctl see and limit these threads, under the name ``cute_py``.

    ``threadpoolctl.threadpool_limits(1)`` then holds for them, too, until its ``with`` ends. Needs threadpoolctl 3.2 or
    newer.
    """
    import threadpoolctl

    class Controller(threadpoolctl.LibController):  # type: ignore[misc]
        user_api = "cute_py"
        internal_api = "cute_py"
        filename_prefixes = ("_core",)
        check_symbols = ("cute_py_get_num_threads", "cute_py_set_num_threads")

        def get_num_threads(self) -> int:
            return int(self.dynlib.cute_py_get_num_threads())

        def set_num_threads(self, num_threads: int) -> None:
            self.dynlib.cute_py_set_num_threads(num_threads)

        def get_version(self) -> str:
            return str(_core.__version__)

    threadpoolctl.register(Controller)
