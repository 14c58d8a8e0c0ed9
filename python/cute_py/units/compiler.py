"""Compiling units. The package has the headers and what is linked; what is needed beside is a C++17 compiler."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache as memory
from pathlib import Path
from typing import Any

from cute_py import _core
from cute_py.errors import UnitError
from cute_py.units import cache

__all__ = ["Source", "compile_source", "fingerprint"]


@dataclass(frozen=True)
class Source:
    """The one translation unit of a unit.

    Attributes
    ----------
    name
        For messages.
    text
        What is compiled.
    folders
        Folders that it includes by other names: name -> folder.
    flags
        Of the compiler, beside those of every unit.
    target
        ``"emulator"`` or ``"cpu"``.
    """

    name: str
    text: str
    folders: Mapping[Path, Path] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    target: str = "emulator"


def home() -> Path:
    """Return the folder of what units are compiled with, beside the extension."""
    return Path(_core.__file__).parent / "units"


@memory
def build() -> dict[str, Any]:
    """Return how the package was built."""
    facts: dict[str, Any] = json.loads((home() / "build.json").read_text())
    return facts


@memory
def compiler() -> tuple[str, str]:
    """Return the compiler and what it says of itself: $CXX, the one of the build, g++ or clang++.

    Raises UnitError where there is none.
    """
    for candidate in (os.environ.get("CXX"), build()["compiler"], "g++", "clang++", "c++"):
        if candidate and (path := shutil.which(candidate)):
            said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
            if said.returncode == 0:
                return path, said.stdout.splitlines()[0]
    raise UnitError(
        "the emulator's kernels are compiled when they are first used, and there is no C++ compiler\n"
        "  next: install g++; or a wheel that has them, which CUTE_PY_EMULATOR=ON builds:\n"
        "  pip wheel --config-settings=cmake.define.CUTE_PY_EMULATOR=ON ."
    )


def flags(target: str = "emulator") -> list[str]:
    """Return the flags of every unit for a target, without paths."""
    facts = build()
    shared = ["-std=c++17", "-fPIC", "-fvisibility=hidden", "-w", "-DNDEBUG"]
    if target == "cpu":
        return [*shared, "-O3", "-ffp-contract=off"]  # as csrc/cpu/CMakeLists.txt
    return [*shared, f"-DCUTE_PY_BUILD_SET={facts['build_set']}", *facts["emulator_options"]]


def include_flags(target: str) -> list[str]:
    headers = home() / "include"
    own = [headers / "csrc"]
    if target == "emulator":
        own.insert(0, headers / "csrc" / "emulator" / "include")
    others = (headers / "cutlass", headers / "cuda", headers / "cuda" / "cccl")
    return [*(f"-I{path}" for path in own), *(f"-isystem{path}" for path in others)]


@memory
def fingerprint() -> str:
    """Return a hash of all that every unit is made of: headers, the library, flags, the compiler."""
    digest = hashlib.sha256()
    digest.update((home() / "include" / "digest").read_bytes())
    digest.update((home() / "libcute_py_unit.a").read_bytes())
    digest.update("\0".join([*flags(), compiler()[1], _core.__version__]).encode())
    return digest.hexdigest()


def compile_source(source: Source) -> Path:
    """Compile a unit, unless the cache has what its preprocessed source says; return the shared object.

    The name of a unit in the cache is a hash of its preprocessed source, its flags without paths, the compiler's
    version and what is linked. Raises UnitError.
    """
    path, version = compiler()
    with tempfile.TemporaryDirectory(prefix="cute_py-") as name:
        folder = Path(name)
        file = folder / "unit.cpp"
        file.write_text(source.text)
        for alias, original in source.folders.items():
            (folder / alias).parent.mkdir(parents=True, exist_ok=True)
            (folder / alias).symlink_to(original)
        own_flags = [*flags(source.target), *source.flags]
        command = [path, *own_flags, f"-I{folder}", *include_flags(source.target)]
        text = run(source, [*command, "-E", "-P", str(file)])
        linked = (home() / "libcute_py_unit.a").read_bytes()
        key = hashlib.sha256()
        for part in (text.encode(), linked, "\0".join([*own_flags, version]).encode()):
            key.update(hashlib.sha256(part).digest())
        found = cache.unit(key.hexdigest())
        with cache.locked(key.hexdigest()):
            if found.exists():
                os.utime(found)
                return found
            # Beside its place, so that it gets there at once.
            made = Path(f"{found}.{os.getpid()}.part")
            objects = folder / "unit.o"
            began = time.monotonic()
            try:
                run(source, [*command, "-c", str(file), "-o", str(objects)])
                link = [path, "-shared", "-s", str(objects), str(home() / "libcute_py_unit.a")]
                run(source, [*link, "-Wl,--exclude-libs,ALL", "-pthread", "-o", str(made)])
                cache.open_log(f"{time.ctime()}: {source.name}, {time.monotonic() - began:.1f} s, {found.name}\n")
                return cache.keep(key.hexdigest(), made)
            finally:
                made.unlink(missing_ok=True)


def run(source: Source, command: list[str]) -> str:
    """Run the compiler, and return what it prints. Raises UnitError with what it complains of."""
    environment = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode == 0:
        return done.stdout
    cache.open_log(f"{time.ctime()}: {source.name}\n{shlex.join(command)}\n{done.stderr}\n")
    complaints = [line for line in done.stderr.splitlines() if "error" in line.lower()] or done.stderr.splitlines()
    raise UnitError(
        f"{source.name} cannot be compiled: {command[0]} ended with {done.returncode}\n  "
        + "\n  ".join(complaints[:8])
        + f"\n  next: {cache.log()} has the command and all that it said"
    )
