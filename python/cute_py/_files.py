"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Write a file beside its place and then move it there, with the mode of the file that it replaces. Raises OSError.

    A link stays one: the file that it leads to is replaced. What is no file, such as a FIFO or a device, is not
    replaced but refused, and so is a file that may not be written to.

    A new file gets the mode that any new file of the process gets. The kernel sees to that: the umask belongs to all
    threads, and can only be read by setting it.
    """
    path = path.resolve() if path.is_symlink() else path
    mode = None
    if path.exists():
        kind = path.stat().st_mode
        if not stat.S_ISREG(kind):
            raise FileExistsError(errno.EEXIST, "is there and is no file", str(path))
        if not kind & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, "may only be read", str(path))
        mode = stat.S_IMODE(kind)
    name = path.parent / f".cute-py-{os.urandom(8).hex()}.part"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    handle = os.open(name, flags, 0o666 if mode is None else 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            if mode is not None:
                os.fchmod(file.fileno(), mode)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
