"""Units: shared objects with the code of some kernels, compiled apart from the package and loaded at run time.

The emulator's kernels are units that are compiled when they are first used, with the package's own headers, and kept in
a cache (`cute-py cache path`). A family of your own is one, too: `compile_unit` its lists of variants, then
`load_unit`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from cute_py import _core
from cute_py.errors import OperandError
from cute_py.units import emulator
from cute_py.units.compiler import Source, compile_source

__all__ = ["compile_unit", "load_unit"]


def compile_unit(family: str | os.PathLike[str], *, flags: Sequence[str] = ()) -> Path:
    """Compile a family of kernels, for the emulator or the CPU, into a shared object that is kept in the cache.

    `family` is a folder as those of ``csrc/kernels`` are: ``family.hpp``, lists of variants in ``variants*.hpp``, and
    its rules in ``rules.cpp``. It is included by its own name, ``kernels/<family>/...``. Or it is a folder as those of
    ``csrc/cpu`` are: ``family.cpp``, whose last function is ``add_<family>``, and ``rules.cpp``, included as
    ``cpu/<family>/...``. `flags` go to the compiler.
    Raises OperandError for another folder, and UnitError, with the compiler's words, where it cannot be compiled.
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
    if is_for_cpu:
        includes, own, files = '#include "instances/unit_entry.hpp"\n', Path("cpu") / folder.name, ["family.cpp"]
        added = [f"cute_py::cpu::add_{folder.name}"]
    else:
        includes, own, files = emulator.INCLUDES, Path("kernels") / folder.name, lists
        added = [emulator.added(f"{folder.name}_{Path(name).stem}") for name in lists]
    text = includes + "".join(f'#include "{own / name}"\n' for name in (*files, "rules.cpp"))
    text += f"CUTE_PY_UNIT({', '.join(added)})\n"
    target = "cpu" if is_for_cpu else "emulator"
    return compile_source(Source(folder.name, text, {own: folder}, tuple(flags), target))


def load_unit(path: str | os.PathLike[str]) -> list[str]:
    """Load a unit, and return the names of its variants, which `kernels()` has from now on.

    It cannot be unloaded. Raises UnitError for a file that is none, or one for another version of cute_py, and for a
    variant whose name is taken.
    """
    return _core.load_unit(os.fspath(Path(path).resolve()))
