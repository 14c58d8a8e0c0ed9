"""Writes csrc/instances/variants.inc: the traits of every variant that a build with GPU kernels has by default.

    python tests/variant_table.py

A build without GPU kernels plans for a GPU by this table. A program prints it that is compiled against the headers; to be run after a change of a
variant, a Config or Traits. `tests/test_choice.py` fails if the table is not what the headers say.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from headers import ROOT, cuda_headers

TABLE = ROOT / "csrc" / "instances" / "variants.inc"
STANDARD = 4  # as in kernels/common/variants.hpp


def lists() -> list[str]:
    """Return the lists of variants as family/list, in the order of a build's registry."""
    cmake = (ROOT / "csrc" / "instances" / "CMakeLists.txt").read_text()
    found = re.search(r"set\(CUTE_PY_FAMILIES #\n(.*?)\)", cmake, re.DOTALL)
    assert found is not None
    return [
        f"{family}/{path.stem}"
        for family in re.findall(r"\w+", found[1])
        for path in sorted((ROOT / "csrc" / "kernels" / family).glob("variants*.hpp"))
        if not path.stem.endswith("_full")
    ]


def table() -> str:
    """Return the file as the headers have it."""
    cuda = cuda_headers()
    names = ", ".join(f"kernels::{path.replace('/', '_')}" for path in lists())
    includes = "".join(f'#include "kernels/{path}.hpp"\n' for path in lists())
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "lists.hpp").write_text(
            f"{includes}namespace cute_py::instances {{ using Lists = kernels::List<{names}>; }}\n"
        )
        command = [os.environ.get("CXX", "g++"), "-std=c++17", "-O0", "-w", f"-DCUTE_PY_BUILD_SET={STANDARD}"]
        command += [f"-I{path}" for path in (folder, ROOT / "csrc" / "emulator" / "include", ROOT / "csrc")]
        command += [f"-isystem{path}" for path in (ROOT / "third_party/cutlass/include", cuda, cuda / "cccl")]
        program = Path(folder) / "program"
        subprocess.run([*command, str(ROOT / "tests/cpp/variant_rows.cpp"), "-o", str(program)], check=True)
        rows = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    return (
        "// The GPU variants of a default build, by tests/variant_table.py: Traits, and the rules of their families.\n"
        + rows
    )


if __name__ == "__main__":
    TABLE.write_text(table())
    print(f"{TABLE}: {len(TABLE.read_text().splitlines()) // 2} variants")
    sys.exit(0)
