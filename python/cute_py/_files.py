"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

__all__ = ["write_whole"]


def write_whole(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Write a file beside its place and then move it there, with the mode of the file that it replaces. Raises OSError."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".cute-py-", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
        if path.exists():
            mode = stat.S_IMODE(path.stat().st_mode)
        else:
            mask = os.umask(0)
            os.umask(mask)
            mode = 0o666 & ~mask
        os.chmod(name, mode)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
