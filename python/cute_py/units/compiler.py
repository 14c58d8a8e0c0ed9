"""Compiling units. The package has the headers and what is linked; what is needed beside is a compiler.

For the emulator that is a C++17 compiler, for a GPU nvcc.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache as memory
from pathlib import Path
from typing import Any

from cute_py import _core
from cute_py.errors import OperandError, UnitError
from cute_py.units import cache

__all__ = [
    "Compiler",
    "Source",
    "build",
    "compile_source",
    "cpu_compiler",
    "emulator_compiler",
    "fingerprint",
    "gpu_compiler",
]


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
    """

    name: str
    text: str
    folders: Mapping[Path, Path] = field(default_factory=dict)
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Compiler:
    """A compiler, and how it makes units for a target.

    Attributes
    ----------
    path
        The program.
    version
        What it says of itself.
    suffix
        Of a source's name.
    flags
        Of every unit, without paths.
    targets
        Beside `flags`, for each architecture; one empty tuple where there is one machine alone.
    include_flags
        Where the headers are.
    preprocess_flags
        To preprocess alone, without a word of where lines come from.
    link_flags
        Of the linker.
    """

    path: str
    version: str
    suffix: str
    flags: tuple[str, ...]
    targets: tuple[tuple[str, ...], ...]
    include_flags: tuple[str, ...]
    preprocess_flags: tuple[str, ...]
    link_flags: tuple[str, ...]

    @property
    def identity(self) -> str:
        """All that decides about code, but the source: a part of a unit's name in the cache."""
        return "\0".join([*self.flags, *(flag for target in self.targets for flag in target), self.version])


def home() -> Path:
    """Return the folder of what units are compiled with, beside the extension."""
    return Path(_core.__file__).parent / "units"


def library() -> Path:
    """Return what is linked into every unit."""
    return home() / "libcute_py_unit.a"


@memory
def build() -> dict[str, Any]:
    """Return how the package was built."""
    facts: dict[str, Any] = json.loads((home() / "build.json").read_text())
    return facts


def first_program(candidates: Iterable[str | None]) -> tuple[str, str] | None:
    """Return the first of these programs that runs, and the last line of what it says of itself with --version."""
    for candidate in candidates:
        if candidate and (path := shutil.which(candidate)):
            said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
            if said.returncode == 0:
                return path, said.stdout.strip()
    return None


@memory
def host_compiler() -> tuple[str, str]:
    """Return the C++ compiler and its version: $CXX, the one of the build, g++ or clang++.

    Raises UnitError where there is none.
    """
    found = first_program([os.environ.get("CXX"), build()["compiler"], "g++", "clang++", "c++"])
    if found is None:
        raise UnitError(
            "the emulator's kernels are compiled when they are first used, and there is no C++ compiler\n"
            "  next: install g++; or a wheel that has them, which CUTE_PY_EMULATOR=ON builds:\n"
            "  pip wheel --config-settings=cmake.define.CUTE_PY_EMULATOR=ON ."
        )
    path, said = found
    return path, said.splitlines()[0]


def for_a_host(own_flags: Iterable[str], own_headers: Iterable[Path]) -> Compiler:
    path, version = host_compiler()
    headers = home() / "include"
    others = (headers / "cutlass", headers / "cuda", headers / "cuda" / "cccl")
    return Compiler(
        path=path,
        version=version,
        suffix="cpp",
        flags=("-std=c++17", "-fPIC", "-fvisibility=hidden", "-w", "-DNDEBUG", *own_flags),
        targets=((),),
        include_flags=(*(f"-I{path}" for path in own_headers), *(f"-isystem{path}" for path in others)),
        preprocess_flags=("-E", "-P"),
        link_flags=("-s", "-Wl,--exclude-libs,ALL", "-pthread"),
    )


@memory
def emulator_compiler() -> Compiler:
    """Return the C++ compiler for the emulator. Raises UnitError where there is none."""
    own = home() / "include" / "csrc"
    flags = (f"-DCUTE_PY_BUILD_SET={build()['build_set']}", *build()["emulator_options"])
    return for_a_host(flags, (own / "emulator" / "include", own))


@memory
def cpu_compiler() -> Compiler:
    """Return the C++ compiler for kernels of the CPU. Raises UnitError where there is none."""
    return for_a_host(("-O3", "-ffp-contract=off"), (home() / "include" / "csrc",))  # as csrc/cpu/CMakeLists.txt


def gpu_compiler(architectures: Sequence[str]) -> Compiler:
    """Return nvcc for such architectures ("80", "90a"): $CUDACXX, or the one on PATH.

    Raises OperandError for other architectures, and UnitError where there is no nvcc.
    """
    for architecture in architectures:
        if not re.fullmatch(r"[0-9]{2,3}[af]?", architecture):
            raise OperandError(f"there is no architecture {architecture!r}\n  next: such as '80', '90a'")
    wheels = Path(_core.__file__).parents[1] / "nvidia" / "cu13" / "bin" / "nvcc"
    found = first_program([os.environ.get("CUDACXX"), "nvcc", "/usr/local/cuda/bin/nvcc", str(wheels)])
    if found is None:
        raise UnitError(
            "kernels for a GPU are compiled by nvcc, and there is none\n"
            "  next: put that of CUDA 13 on PATH; or pip install 'cuda-toolkit[nvcc,crt,nvvm,cudart,cccl]==13.0.*'"
        )
    path, version = found
    headers = home() / "include"
    shared = ("-std=c++17", "-O3", "-w", "-DNDEBUG", "-Xcompiler=-fPIC,-fvisibility=hidden", "-Xfatbin=-compress-all")
    # CuTe's complex multiply-add uses that of real numbers without declaring it.
    own = ("--expt-relaxed-constexpr", "--pre-include", "cute/numeric/real.hpp")
    return Compiler(
        path=path,
        version=version.splitlines()[-1],
        suffix="cu",
        flags=(*shared, *own, f"-DCUTE_PY_BUILD_SET={build()['build_set']}"),
        targets=tuple((f"-gencode=arch=compute_{name},code=sm_{name}",) for name in architectures),
        include_flags=(f"-I{headers / 'csrc'}", f"-isystem={headers / 'cutlass'}"),
        preprocess_flags=("-E", "-Xcompiler=-P"),
        link_flags=("-Xlinker=-s,--exclude-libs,ALL",),
    )


@memory
def fingerprint() -> str:
    """Return a hash of what each of the emulator's units is made of, beside its compiler: headers, the library."""
    digest = hashlib.sha256()
    digest.update((home() / "include" / "digest").read_bytes())
    digest.update(library().read_bytes())
    digest.update(_core.__version__.encode())
    return digest.hexdigest()


def compile_source(source: Source, compiler: Compiler) -> Path:
    """Compile a unit, unless the cache has what its preprocessed source says; return the shared object.

    The name of a unit in the cache is a hash of its preprocessed source, its flags without paths, the compiler's
    version and what is linked. Raises UnitError.
    """
    with tempfile.TemporaryDirectory(prefix="cute_py-") as name:
        folder = Path(name)
        file = folder / f"unit.{compiler.suffix}"
        file.write_text(source.text)
        for alias, original in source.folders.items():
            (folder / alias).parent.mkdir(parents=True, exist_ok=True)
            (folder / alias).symlink_to(original)
        command = [compiler.path, *compiler.flags, *source.flags, f"-I{folder}", *compiler.include_flags]
        key = hashlib.sha256()
        for target in compiler.targets:
            text = run(source, [*command, *target, *compiler.preprocess_flags, str(file)])
            key.update(hashlib.sha256(text.encode()).digest())
        for part in (library().read_bytes(), "\0".join([compiler.identity, *source.flags]).encode()):
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
                targets = [flag for target in compiler.targets for flag in target]
                run(source, [*command, *targets, "-c", str(file), "-o", str(objects)])
                link = [compiler.path, "-shared", str(objects), str(library()), *compiler.link_flags]
                run(source, [*link, "-o", str(made)])
                cache.append_log(f"{time.ctime()}: {source.name}, {time.monotonic() - began:.1f} s, {found.name}\n")
                return cache.publish(key.hexdigest(), made)
            finally:
                made.unlink(missing_ok=True)


def run(source: Source, command: list[str]) -> str:
    """Run the compiler, and return what it prints. Raises UnitError with what it complains of."""
    environment = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode == 0:
        return done.stdout
    cache.append_log(f"{time.ctime()}: {source.name}\n{shlex.join(command)}\n{done.stderr}\n")
    complaints = [line for line in done.stderr.splitlines() if "error" in line.lower()] or done.stderr.splitlines()
    raise UnitError(
        f"{source.name} cannot be compiled: {command[0]} ended with {done.returncode}\n  "
        + "\n  ".join(complaints[:8])
        + f"\n  next: {cache.log()} has the command and all that it said"
    )
