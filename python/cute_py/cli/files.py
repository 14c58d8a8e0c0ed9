"""Arrays in files: what commands read and write."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cute_py._dtypes import FACTORS, NOT_IN_NUMPY
from cute_py._files import write_whole
from cute_py.cli.command_error import CommandError
from cute_py.testing import numpy_type

__all__ = ["CAST", "check_output", "load", "result_type", "save"]

_NATIVE = tuple(name for name in FACTORS if name not in NOT_IN_NUMPY)  # that a .npy file can hold
CAST = (*_NATIVE, *NOT_IN_NUMPY)


def result_type(dtype: Any) -> Any:
    """Return the type of a product of factors of a type."""
    if dtype == np.int8:
        return np.dtype(np.int32)
    return np.dtype(np.float32) if dtype.name in NOT_IN_NUMPY else dtype  # as no .npy file has these


def load(path: Path, cast: str | None, ndim: int | None = None) -> npt.NDArray[Any]:
    """Return the array in a .npy file, converted to a type if there is one. Raises CommandError."""
    try:
        # Opening a pipe waits for whoever writes to it, unless it is opened like this.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise CommandError(
                    f"cannot read {path}: it is not a plain file\n  next: save the array with numpy.save"
                )
            array = np.load(file, allow_pickle=False)
    except CommandError:
        raise
    except Exception as error:  # a damaged file makes NumPy raise almost anything
        raise CommandError(f"cannot read {path}: {error or type(error).__name__}") from None
    if not isinstance(array, np.ndarray):
        raise CommandError(f"cannot read {path}: it holds several arrays\n  next: save one with numpy.save")
    if ndim is not None and array.ndim != ndim:
        raise CommandError(
            f"{path} holds an array of rank {array.ndim}, not a matrix\n  next: cute-py einsum multiplies arrays of any rank"
        )
    if cast is None:
        if array.dtype.name not in _NATIVE or not array.dtype.isnative:
            raise CommandError(
                f"{path} holds {array.dtype.str}, which no kernel multiplies\n  next: --cast TYPE converts it: {', '.join(CAST)}"
            )
        return array
    return _converted(path, array, cast)


def _converted(path: Path, array: npt.NDArray[Any], cast: str) -> npt.NDArray[Any]:
    """Return an array in another type. Raises CommandError for what that type has nothing like."""
    wanted = np.dtype(numpy_type(cast))
    if array.dtype.kind not in ("biufc" if wanted.kind == "c" else "biuf"):
        way = "--cast complex64" if array.dtype.kind == "c" else "save it as an array of numbers"
        raise CommandError(f"{path} holds {array.dtype}, which has no {cast} equivalent\n  next: {way}")
    with np.errstate(invalid="ignore", over="ignore"):
        converted = array.astype(wanted)
        if wanted == np.int8 and not np.array_equal(array, converted):
            raise CommandError(
                f"{path} holds numbers that are no int8, so that they cannot be converted\n  next: --cast float32"
            )
    return converted


def check_output(path: Path) -> Path:
    """Find out before the work, not after it, that the result has no place to go. Return the place, links followed."""
    try:
        try:
            path = path.resolve()
        except RuntimeError:  # what Python before 3.13 says of links that lead in a circle
            raise CommandError(f"cannot write {path}: its links lead in a circle\n  next: name another file") from None
        if path.is_symlink():  # and where a resolved path stays one
            raise CommandError(f"cannot write {path}: its links lead in a circle\n  next: name another file")
        if path.is_dir():
            raise CommandError(f"cannot write {path}: it is a folder\n  next: name a file in it")
        if not path.parent.is_dir():
            raise CommandError(
                f"cannot write {path}: there is no folder {path.parent}\n  next: make it, or name another file"
            )
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            raise CommandError(f"cannot write {path}: it is not a plain file\n  next: name another file")
        if path.exists() and not os.access(path, os.W_OK):
            raise CommandError(f"cannot write {path}: it is read-only\n  next: name another file")
        if not os.access(path.parent, os.W_OK):
            raise CommandError(
                f"cannot write {path}: no permission for {path.parent}\n  next: name a file in another folder"
            )
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror or error}") from None
    return path


def save(path: Path, array: Any) -> None:
    """Write a .npy file that appears whole or not at all."""
    try:
        write_whole(path, lambda file: np.save(file, array, allow_pickle=False))
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror or error}") from None
