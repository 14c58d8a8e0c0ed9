"""The layers of docs/architecture.md: an arrow that points up fails here."""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# Each folder of csrc and the folders that it may include from, itself aside.
CSRC = {
    "base": set(),
    "layout": {"base"},
    "problem": {"base"},
    "numeric": {"base", "problem"},
    "catalogue": {"base", "layout", "numeric"},
    "kernels": {"base", "numeric", "problem"},
    "cpu": {"base", "numeric", "problem"},
    "emulator": {"base", "kernels", "problem"},
    "instances": {"catalogue", "emulator", "kernels", "problem"},
    "runtime": {"base", "problem"},
    "dispatch": {"base", "instances", "problem"},
    "execution": {"base", "dispatch", "instances", "problem", "runtime"},
    "bindings": {"base", "catalogue", "dispatch", "emulator", "execution", "instances", "layout", "problem", "runtime"},
}

# Headers from outside, and the only folders that may include them.
OUTSIDE = {
    r"(cute|cutlass)/": {"numeric", "catalogue", "kernels", "cpu", "emulator", "instances"},
    r"(pybind11/|Python\.h)": {"bindings"},
    r"cuda_runtime": {"runtime"},
}

# Modules of the package that nothing else in it may import.
TOP = {"cli", "testing", "__main__"}
TOP_MAY_IMPORT = {"cli": {"testing"}, "__main__": {"cli"}, "testing": set()}


def csrc_violations(csrc: Path) -> list[str]:
    """Return every include that goes up, as text."""
    violations = []
    for path in sorted(csrc.rglob("*")):
        if path.suffix not in {".hpp", ".cpp", ".cuh", ".cu", ".inl", ".in"}:
            continue
        layer = path.relative_to(csrc).parts[0]
        for quote, header in re.findall(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', path.read_text(), re.MULTILINE):
            where = f"{path.relative_to(csrc)} includes {header}"
            if quote == '"':
                target = header.split("/")[0]
                if "@" not in header and target != layer and target not in CSRC[layer]:
                    violations.append(where)
                continue
            violations += [
                where for pattern, allowed in OUTSIDE.items() if re.match(pattern, header) and layer not in allowed
            ]
    return violations


def python_violations(package: Path) -> list[str]:
    """Return every import of a top module from below, as text."""
    violations = []
    for path in sorted(package.rglob("*.py")):
        own = path.relative_to(package).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            for name in names:
                parts = name.split(".")
                if parts[0] != "cute_py" or len(parts) < 2:
                    continue
                if parts[1] in TOP and parts[1] != own and parts[1] not in TOP_MAY_IMPORT.get(own, set()):
                    violations.append(f"{path.relative_to(package)} imports {name}")
    return violations


def test_every_folder_has_a_layer() -> None:
    assert {path.name for path in (ROOT / "csrc").iterdir() if path.is_dir()} == set(CSRC)


def test_includes_point_down() -> None:
    assert csrc_violations(ROOT / "csrc") == []


def test_imports_point_down() -> None:
    assert python_violations(ROOT / "python" / "cute_py") == []


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("problem/geometry.hpp", '#include "dispatch/select.hpp"'),
        ("catalogue/lift.hpp", '#include "kernels/sgemm_1/config.hpp"'),
        ("kernels/sgemm_1/kernel.cuh", '#include "instances/add.hpp"'),
        ("dispatch/choose.hpp", '#include "runtime/cuda.hpp"'),
        ("dispatch/choose.hpp", "#include <cute/layout.hpp>"),
        ("instances/registry.hpp", "#include <pybind11/pybind11.h>"),
        ("bindings/call.cpp", "#  include <cuda_runtime.h>"),
    ],
)
def test_a_planted_upward_include_is_found(tmp_path: Path, file: str, line: str) -> None:
    csrc = tmp_path / "csrc"
    shutil.copytree(ROOT / "csrc", csrc)
    path = csrc / file
    path.write_text(f"{line}\n{path.read_text()}")
    assert csrc_violations(csrc)


@pytest.mark.parametrize(
    "line", ["from cute_py.testing import verify", "import cute_py.cli", "from cute_py import testing"]
)
def test_a_planted_upward_import_is_found(tmp_path: Path, line: str) -> None:
    package = tmp_path / "cute_py"
    shutil.copytree(ROOT / "python" / "cute_py", package)
    path = package / "products" / "gemm.py"
    path.write_text(path.read_text() + f"\n{line}\n")
    assert python_violations(package)
