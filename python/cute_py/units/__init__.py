"""Units: shared objects with the code of some kernels, compiled apart from the package and loaded at run time.

The emulator's kernels are units that are compiled when they are first used, with the package's own headers, and kept in
a cache (`cute-py cache path`). A family of your own is one, too, for the emulator or for a GPU: `compile_unit` its
lists of variants, then `load_unit`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from cute_py import _core
from cute_py.errors import OperandError
from cute_py.units import emulator
from cute_py.units.compiler import Source, compile_source, cpu_compiler, emulator_compiler, gpu_compiler

__all__ = ["compile_unit", "load_unit"]

# What a unit begins with.
_BEGINS = {
    "emulator": emulator.LAUNCH,
    "cuda": '#include "instances/launch_cuda.cuh"\n#include "instances/tensor_map.cu"\n'
    '#include "instances/unit_entry.hpp"\n',
    "cpu": '#include "instances/unit_entry.hpp"\n',
}


def compile_unit(
    family: str | os.PathLike[str],
    *,
    target: Literal["emulator", "cuda", "cpu"] | None = None,
    architectures: Sequence[str] = (),
    flags: Sequence[str] = (),
) -> Path:
    """Compile a family of kernels for a target, and return the shared object, which is kept in the cache.

    `family` is a folder as those of ``csrc/kernels`` are: ``family.hpp``, lists of variants in ``variants*.hpp``, and
    its rules in ``rules.cpp``. It is included by its own name, ``kernels/<family>/...``, and compiled for the
    emulator; for `target` "cuda" nvcc compiles it for `architectures`, such as ``["80", "90a"]``, or without them for
    the GPUs of this machine. Or it is a folder as those of ``csrc/cpu`` are: ``family.cpp``, whose last function is
    ``add_<family>``, and ``rules.cpp``, included as ``cpu/<family>/...``. `flags` go to the compiler.
    Raises OperandError for another folder, another target, or no architecture, and UnitError, with the compiler's
    words, where it cannot be compiled.
    """
    folder = Path(family).resolve()
    lists = sorted(path.name for path in folder.glob("variants*.hpp"))
    is_for_cpu = (folder / "family.cpp").exists()
    has_rules = (folder / "rules.cpp").exists()
    if not has_rules or not (lists or is_for_cpu):
        raise OperandError(
            f"compile_unit: {folder} has no {'variants.hpp or family.cpp' if has_rules else 'rules.cpp'}\n"
            "  next: a folder like those of csrc/kernels or csrc/cpu; docs/adding-a-kernel.md shows both"
        )
    possible = ("cpu",) if is_for_cpu else ("emulator", "cuda")
    wanted: str = target or possible[0]
    if wanted not in possible:
        names = " or ".join(map(repr, possible))
        raise OperandError(f"compile_unit: target={target!r}\n  next: {names} for a folder like this")
    if wanted != "cuda" and architectures:
        raise OperandError("compile_unit: architectures= are those of GPUs\n  next: target='cuda'")
    if wanted == "cuda":
        compiler = gpu_compiler(architectures or architectures_here("compile_unit"))
    else:
        compiler = emulator_compiler() if wanted == "emulator" else cpu_compiler()
    if is_for_cpu:
        own, files = Path("cpu") / folder.name, ["family.cpp"]
        added = [f"cute_py::cpu::add_{folder.name}"]
    else:
        own, files = Path("kernels") / folder.name, lists
        added = [emulator.added(f"{folder.name}_{Path(name).stem}") for name in lists]
    text = _BEGINS[wanted] + "".join(f'#include "{own / name}"\n' for name in (*files, "rules.cpp"))
    text += f"CUTE_PY_UNIT({', '.join(added)})\n"
    return compile_source(Source(folder.name, text, {own: folder}, tuple(flags)), compiler)


def architectures_here(function: str) -> list[str]:
    """Return those of the GPUs of this machine; from 9.0 on with the instructions that one generation alone has.

    Raises OperandError, in the name of a function, where there is no GPU.
    """
    capabilities = [gpu["compute_capability"] for gpu in _core.devices()]
    found = {major * 10 + minor for major, minor in capabilities}
    if not found:
        raise OperandError(
            f"{function}: there is no GPU here to compile for\n  next: architectures=['90a'], or target='emulator'"
        )
    return [f"{number}a" if number >= 90 else str(number) for number in sorted(found)]


def load_unit(path: str | os.PathLike[str]) -> list[str]:
    """Load a unit, and return the names of its variants, which `kernels()` has from now on.

    It cannot be unloaded. Raises UnitError for a file that is none, or one for another version of cute_py, and for a
    variant whose name is taken.
    """
    return _core.load_unit(os.fspath(Path(path).resolve()))
