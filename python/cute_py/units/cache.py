"""Where compiled units are kept: `CUTE_PY_CACHE_DIR`, else the user's cache folder."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from cute_py._files import write_whole
from cute_py.errors import UnitError

__all__ = ["append_log", "clear", "folder", "log", "place"]

_LIMIT_MB = 512
_LOG_BYTES = 1 << 20
_PATIENCE_S = 600.0


def place() -> Path:
    """Return where the folder is, or would be. Raises RuntimeError where there is no home."""
    given = os.environ.get("CUTE_PY_CACHE_DIR")
    return Path(given) if given else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cute_py"


def folder() -> Path:
    """Return the folder, made if there is none. Raises UnitError where that cannot be."""
    try:
        path = place()
        for part in ("units", "index", "locks"):
            (path / part).mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError) as error:  # no home
        raise UnitError(
            f"compiled kernels cannot be kept: {error}\n  next: CUTE_PY_CACHE_DIR=<a folder that can be written>"
        ) from None
    return path


def unit(key: str, suffix: str = ".so") -> Path:
    """Return where the unit with a key is, if there is one."""
    return folder() / "units" / f"{key}{suffix}"


def look_up(entry: str) -> Path | None:
    """Return the unit that an entry of the index names, such as the one with a variant; None if there is none."""
    try:
        key, size = (folder() / "index" / entry).read_text().split()
        path = unit(key)
        if path.stat().st_size != int(size):  # to load half a library can end the process
            path.unlink()
            return None
        os.utime(path)  # the least recently used go first
    except (OSError, ValueError):
        return None
    return path


def add_entry(entry: str, path: Path) -> None:
    """Add an entry to the index, which names a unit."""
    text = f"{path.stem} {path.stat().st_size}"
    write_whole(folder() / "index" / entry, lambda file: file.write(text.encode()))


def publish(key: str, made: Path, suffix: str = ".so") -> Path:
    """Move a new unit to its place, at once, and drop the least recently used ones beyond the limit."""
    path = unit(key, suffix)
    os.replace(made, path)
    limit = float(os.environ.get("CUTE_PY_CACHE_MB") or _LIMIT_MB) * 1e6
    by_age = []
    for other in path.parent.iterdir():
        with contextlib.suppress(OSError):  # another process may have dropped it
            facts = other.stat()
            by_age.append((facts.st_mtime, facts.st_size, other))
    total = sum(size for _, size, _ in by_age)
    for _, size, other in sorted(by_age):
        if total <= limit:
            break
        if other != path:  # who has it loaded keeps it
            with contextlib.suppress(OSError):
                other.unlink()
            total -= size
    return path


@contextlib.contextmanager
def locked(key: str) -> Iterator[None]:
    """Hold the lock of a unit, so that one process compiles it. It ends with its process, however that ends."""
    path = folder() / "locks" / key
    with path.open("a+") as file:
        end = time.monotonic() + _PATIENCE_S
        said = False
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                file.seek(0)
                owner = file.read() or "another process"
                if time.monotonic() > end:
                    raise UnitError(
                        f"{owner} has held {path} for {_PATIENCE_S:.0f} s\n  next: end it; or CUTE_PY_CACHE_DIR=<another folder>"
                    ) from None
                if not said and time.monotonic() > end - _PATIENCE_S + 1:
                    print(f"cute_py: waiting for {owner}, which compiles the same", file=sys.stderr)
                    said = True
                time.sleep(0.05)
            except OSError:
                break  # a file system without locks: at worst it is compiled twice, and one of them stays
        file.truncate(0)
        file.write(f"process {os.getpid()}")
        file.flush()
        yield


def log() -> Path:
    """Return the file that says what was compiled, when, how, and what compilers said."""
    return folder() / "log.txt"


def append_log(text: str) -> None:
    """Append to the log; what is older than a megabyte goes."""
    path = log()
    with path.open("a") as file:
        file.write(text)
    if path.stat().st_size > _LOG_BYTES:
        kept = path.read_bytes()[-_LOG_BYTES // 2 :]
        write_whole(path, lambda file: file.write(kept))


def clear() -> int:
    """Remove every unit, and return how many bytes that were. Units that are loaded stay so."""
    root = folder()
    removed = sum(path.stat().st_size for path in (root / "units").iterdir())
    for part in ("units", "index", "locks"):
        shutil.rmtree(root / part, ignore_errors=True)
    log().unlink(missing_ok=True)
    return removed
