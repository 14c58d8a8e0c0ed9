"""Writes the tables that every build has as data, from the headers:

    python tests/tables.py

- `csrc/instances/variants.inc`: traits and rules of every GPU variant of a default build, to plan by;
- `python/cute_py/tables/kernels.json`: the layouts of these variants, and the list of variants that each is in;
- `python/cute_py/tables/atoms.json`: the atoms of CuTe.

Programs print them that are compiled against the headers. To be run after a change of a variant, a Config, Traits or the
CUTLASS release; `tests/test_tables.py` fails if a table is not what the headers say.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from headers import ROOT, cuda_headers

VARIANTS = ROOT / "csrc" / "instances" / "variants.inc"
KERNELS = ROOT / "python" / "cute_py" / "tables" / "kernels.json"
ATOMS = ROOT / "python" / "cute_py" / "tables" / "atoms.json"
CUTLASS = ROOT / "third_party" / "cutlass" / "include"
STANDARD = 2  # as in kernels/common/variants.hpp


def lists() -> list[str]:
    """Return the lists of variants as family/list, in the order of a build's registry."""
    cmake = (ROOT / "csrc" / "instances" / "CMakeLists.txt").read_text()
    found = re.search(r"set\(CUTE_PY_FAMILIES\n(.*?)\)", cmake, re.DOTALL)
    assert found is not None
    return [
        f"{family}/{path.stem}"
        for family in re.findall(r"\w+", found[1])
        for path in sorted((ROOT / "csrc" / "kernels" / family).glob("variants*.hpp"))
        if not path.stem.endswith("_full")
    ]


def run(folder: Path, program: str, *flags: str) -> subprocess.CompletedProcess[str]:
    """Compile a program of tests/cpp with the layout algebra, and run it."""
    cuda = cuda_headers()
    algebra = [str(path) for path in sorted((ROOT / "csrc" / "layout").glob("*.cpp"))]
    command = [os.environ.get("CXX", "g++"), "-std=c++17", "-O0", "-w", *flags]
    command += [f"-I{path}" for path in (folder, ROOT / "csrc" / "emulator" / "include", ROOT / "csrc")]
    command += [f"-isystem{path}" for path in (CUTLASS, cuda, cuda / "cccl")]
    command += [str(ROOT / "tests" / "cpp" / program), *algebra, "-o", str(folder / "program")]
    subprocess.run(command, check=True)
    return subprocess.run([str(folder / "program")], check=True, capture_output=True, text=True)


def kernels() -> tuple[str, str]:
    """Return variants.inc and kernels.json as the headers have them."""
    names = ", ".join(f"kernels::{path.replace('/', '_')}" for path in lists())
    includes = "".join(f'#include "kernels/{path}.hpp"\n' for path in lists())
    paths = ", ".join(f'"{path}"' for path in lists())
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "lists.hpp").write_text(
            f"{includes}namespace cute_py::instances {{\nusing Lists = kernels::List<{names}>;\n"
            f"constexpr char const* kLists[] = {{{paths}}};\n}}\n"
        )
        printed = run(Path(folder), "variant_rows.cpp", f"-DCUTE_PY_BUILD_SET={STANDARD}")
    families = sorted({path.split("/")[0] for path in lists()})
    rows = (
        "// The GPU variants of a default build, by tests/tables.py: Traits, and the rules of their families.\n"
        "namespace cute_py::kernels {\n"
        + "".join(f"extern Rules const {family}_rules;\n" for family in families)
        + "}  // namespace cute_py::kernels\n\nnamespace cute_py::instances {\nconstexpr Entry kVariants[] = {\n"
        + printed.stdout
        + "};\n}  // namespace cute_py::instances\n"
    )
    path, records = "", {}
    for line in printed.stderr.splitlines():
        name, rest = line.split(" ", 1)
        if name == "list":
            path = rest
        else:
            records[name] = json.dumps({"list": path, "config": json.loads(rest)})
    return rows, "{\n" + ",\n".join(f'"{name}": {record}' for name, record in records.items()) + "\n}\n"


class Numbers:
    """Values that many rows share, each with a number."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def of(self, value: Any) -> int | None:
        if value is None:
            return None
        return self.known.setdefault(json.dumps(value), len(self.known))

    def __str__(self) -> str:
        return "[\n" + ",\n".join(self.known) + "\n]"


def atoms() -> str:
    """Return atoms.json as the headers have it: rows of numbers, which stand for texts and types."""
    with tempfile.TemporaryDirectory() as folder:
        names = [sys.executable, str(ROOT / "tests" / "atom_names.py"), str(CUTLASS), folder]
        subprocess.run(names, check=True)
        # SM90's extents of N that are no multiple of 16, or of more than the common ones.
        printed = run(Path(folder), "atoms.cpp", "-DCUTE_SM90_EXTENDED_MMA_SHAPES_ENABLED").stdout
    values = Numbers()
    rows: dict[str, dict[str, str]] = {"mma": {}, "copy": {}, "mma_defects": {}, "copy_defects": {}}
    plain = {"architecture", "scale_length"}
    for line in printed.splitlines():
        kind, text = line.split(" ", 1)
        record = json.loads(text)
        name = json.dumps(record.pop("name"))
        if "defect" in record:
            rows[f"{kind}_defects"][name] = json.dumps(record["defect"])
        else:
            row = [value if key in plain else values.of(value) for key, value in record.items()]
            rows[kind][name] = json.dumps(row, separators=(",", ":"))
    tables = [
        f'"{kind}": {{\n' + ",\n".join(f"{n}: {row}" for n, row in of.items()) + "\n}" for kind, of in rows.items()
    ]
    return f'{{"values": {values},\n' + ",\n".join(tables) + "\n}\n"


if __name__ == "__main__":
    rows, records = kernels()
    for path, text in ((VARIANTS, rows), (KERNELS, records), (ATOMS, atoms())):
        path.write_text(text)
        print(f"{path.relative_to(ROOT)}: {len(text.splitlines())} lines")
