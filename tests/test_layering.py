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
    "emulator": {"base", "kernels", "numeric", "problem"},
    "instances": {"base", "catalogue", "cpu", "emulator", "kernels", "problem"},
    "runtime": {"base", "problem"},
    "workbench": {"numeric"},
    "dispatch": {"base", "instances", "problem"},
    "execution": {"base", "dispatch", "instances", "problem", "runtime"},
    "bindings": {"base", "catalogue", "dispatch", "emulator", "execution", "instances", "layout", "problem", "runtime"},
}

# Headers from outside, and the only folders that may include them.
OUTSIDE = {
    r"(cute|cutlass)/": {"numeric", "catalogue", "kernels", "cpu", "emulator", "instances"},
    r"(pybind11/|Python\.h)": {"bindings"},
    r"cuda_runtime": {"runtime", "workbench"},
}

# The sub-packages and modules of the package, from the bottom. Each may import what stands before it.
PYTHON = [
    "_core", "errors", "_dtypes", "_interpreter", "_files", "_strided", "_notation", "tables", "units", "drawing", "layout", "atoms", "analysis", "laws", "machine", "products", "_explain",
    "catalogue", "algorithm", "__init__", "torch", "jax", "dask", "testing", "workbench", "_expression", "explorer", "cli", "__main__",
]  # fmt: skip


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
    """Return every import of what stands above, as text."""
    violations = []
    for path in sorted(package.rglob("*.py")):
        own = PYTHON.index(path.relative_to(package).parts[0].removesuffix(".py"))
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.ImportFrom) and node.module == "cute_py":
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module.removeprefix("cute_py.")] if node.module.startswith("cute_py.") else []
            elif isinstance(node, ast.Import):
                names = [
                    (alias.name + ".__init__").split(".")[1]
                    for alias in node.names
                    if alias.name.split(".")[0] == "cute_py"
                ]
            for name in names:
                layer = name.split(".")[0]
                if PYTHON.index(layer if layer in PYTHON else "__init__") > own:
                    violations.append(f"{path.relative_to(package)} imports {name}")
    return violations


def python_circles(package: Path) -> list[str]:
    """Return every import that is part of a circle of modules, also those inside functions and for types alone."""
    paths = {}
    for path in [*package.rglob("*.py"), package / "_core.pyi"]:
        parts = path.relative_to(package).with_suffix("").parts
        paths[".".join(("cute_py", *(parts[:-1] if parts[-1] == "__init__" else parts)))] = path
    imported: dict[str, set[str]] = {}
    for module, path in paths.items():
        names = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                inside = {f"{node.module}.{alias.name}" for alias in node.names}
                names |= {name if name in paths else node.module for name in inside}
        imported[module] = names & paths.keys()

    def reached(start: str) -> set[str]:
        found, left = set(), [start]
        while left:
            new = imported[left.pop()] - found
            found |= new
            left += new
        return found

    return sorted(
        f"{module} imports {name}" for module in paths for name in imported[module] if module in reached(name)
    )


def test_every_folder_has_a_layer() -> None:
    assert {path.name for path in (ROOT / "csrc").iterdir() if path.is_dir()} == set(CSRC)
    entries = [x for x in (ROOT / "python" / "cute_py").iterdir() if x.suffix == ".py" or (x / "__init__.py").exists()]
    assert {path.stem for path in entries} == set(PYTHON) - {"_core"}


# What dispatch decides by is data: it names no target, no architecture, and nothing that one of them has.
OF_A_TARGET = re.compile(
    r"\b(gpus?|cpus?|hosts?|cuda|emulator|tma|boxes|clusters?|multicast|raster|float8|e4m3|e5m2|tf32|tfloat32|sm_?\d+\w*"
    r"|wgmma|warps?|warpgroups?|tensor cores?|avx\w*|ctas?|h100|h200)\b",
    re.IGNORECASE,
)


def words_of_targets(dispatch: Path) -> list[str]:
    """Return every line of dispatch that names a target or what belongs to one."""
    return [
        f"{path.name}:{number}: {line.strip()}"
        for path in sorted(dispatch.iterdir())
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if OF_A_TARGET.search(line)
    ]


def test_dispatch_names_no_target() -> None:
    assert words_of_targets(ROOT / "csrc" / "dispatch") == []


@pytest.mark.parametrize(
    "line", ["if (target == Target::cpu) {", "// as TMA loads it", "bool copies_boxes; // boxes", "kFloat8 // float8"]
)
def test_a_planted_target_is_found(tmp_path: Path, line: str) -> None:
    (tmp_path / "choose.cpp").write_text(f"int x;\n{line}\n")
    assert words_of_targets(tmp_path) == [f"choose.cpp:2: {line}"]


def test_includes_point_down() -> None:
    assert csrc_violations(ROOT / "csrc") == []


def test_imports_point_down() -> None:
    assert python_violations(ROOT / "python" / "cute_py") == []


def test_no_module_imports_one_that_imports_it() -> None:
    assert python_circles(ROOT / "python" / "cute_py") == []


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("catalogue/report.py", "if TYPE_CHECKING:\n    from cute_py.catalogue.kernels import Kernel"),
        ("catalogue/playback.py", "def trace():\n    from cute_py.catalogue import trace"),
        ("layout/tensor.py", "import cute_py.layout.printing"),
        ("products/arrays.py", "from cute_py.products.tuning import tune"),
    ],
)
def test_a_planted_circle_is_found(tmp_path: Path, file: str, line: str) -> None:
    package = tmp_path / "cute_py"
    shutil.copytree(ROOT / "python" / "cute_py", package, ignore=shutil.ignore_patterns("*.so"))
    path = package / file
    path.write_text(path.read_text() + f"\n{line}\n")
    own = f"cute_py.{file.removesuffix('.py').replace('/', '.')}"
    assert any(circle.startswith(f"{own} imports") for circle in python_circles(package))


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
    ("file", "line"),
    [
        ("products/gemm.py", "from cute_py.testing import verify"),
        ("products/gemm.py", "import cute_py.cli"),
        ("products/gemm.py", "import cute_py"),
        ("catalogue/report.py", "from cute_py import testing"),
        ("atoms/tiled.py", "from cute_py import gemm"),
        ("layout/tensor.py", "from cute_py.atoms import mma"),
    ],
)
def test_a_planted_upward_import_is_found(tmp_path: Path, file: str, line: str) -> None:
    package = tmp_path / "cute_py"
    shutil.copytree(ROOT / "python" / "cute_py", package)
    path = package / file
    path.write_text(path.read_text() + f"\n{line}\n")
    assert python_violations(package)
