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
from cute_py.units.compiler import Source, compile_source, emulator_compiler, gpu_compiler

__all__ = ["compile_unit", "load_unit"]

# What a unit begins with.
_LAUNCH = {
    "emulator": emulator.LAUNCH,
    "cuda": '#include "instances/launch_cuda.cuh"\n#include "instances/tensor_map.cu"\n'
    '#include "instances/unit_entry.hpp"\n',
}


def compile_unit(
    family: str | os.PathLike[str],
    *,
    target: Literal["emulator", "cuda"] = "emulator",
    architectures: Sequence[str] = (),
    flags: Sequence[str] = (),
) -> Path:
    """Compile a family of kernels for a target, and return the shared object, which is kept in the cache.

    `family` is a folder as those of ``csrc/kernels`` are: ``family.hpp``, lists of variants in ``variants*.hpp``, and
    its rules in ``rules.cpp``. It is included by its own name, ``kernels/<family>/...``. For `target` "cuda" nvcc
    compiles it for `architectures`, such as ``["80", "90a"]``; without them, for the GPUs of this machine. `flags` go
    to the compiler. Raises OperandError for another folder, another target, or no architecture, and UnitError, with
    the compiler's words, where it cannot be compiled.
    """
    folder = Path(family).resolve()
    lists = sorted(folder.glob("variants*.hpp"))
    rules = folder / "rules.cpp"
    if not lists or not rules.exists():
        raise OperandError(
            f"compile_unit: {folder} has no {'rules.cpp' if lists else 'variants.hpp'}\n"
            "  next: a folder like those of csrc/kernels; docs/adding-a-kernel.md shows one"
        )
    if target not in _LAUNCH:
        raise OperandError(f"compile_unit: target={target!r}\n  next: 'emulator' or 'cuda'")
    if target == "emulator" and architectures:
        raise OperandError("compile_unit: architectures= are those of GPUs\n  next: target='cuda'")
    compiler = emulator_compiler() if target == "emulator" else gpu_compiler(architectures or _architectures_here())
    own = Path("kernels") / folder.name
    names = ", ".join(f"cute_py::kernels::{folder.name}_{path.stem}" for path in lists)
    text = "".join(f'#include "{own / path.name}"\n' for path in lists)
    text = _LAUNCH[target] + text + f'#include "{own / rules.name}"\nCUTE_PY_UNIT({names})\n'
    return compile_source(Source(folder.name, text, {own: folder}, tuple(flags)), compiler)


def _architectures_here() -> list[str]:
    """Return those of the GPUs of this machine; from 9.0 on with the instructions that one generation alone has."""
    capabilities = [gpu["compute_capability"] for gpu in _core.devices()]
    found = {major * 10 + minor for major, minor in capabilities}
    if not found:
        raise OperandError(
            "compile_unit: there is no GPU here to compile for\n  next: architectures=['90a'], or target='emulator'"
        )
    return [f"{number}a" if number >= 90 else str(number) for number in sorted(found)]


def load_unit(path: str | os.PathLike[str]) -> list[str]:
    """Load a unit, and return the names of its variants, which `kernels()` has from now on.

    It cannot be unloaded. Raises UnitError for a file that is none, or one for another version of cute_py, and for a
    variant whose name is taken.
    """
    return _core.load_unit(os.fspath(Path(path).resolve()))
