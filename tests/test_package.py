"""The package as installed: types, stubs, licences, the registry and what is public."""

from __future__ import annotations

import builtins
import importlib.metadata
import inspect
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import cute_py
import cute_py.testing
from cute_py import _core

ROOT = Path(__file__).parents[1]


def test_version_is_in_one_place() -> None:
    declared = re.search(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert declared is not None
    assert cute_py.__version__ == importlib.metadata.version("cute-py") == declared[1]


def test_licences_travel_with_the_package() -> None:
    files = [str(path) for path in importlib.metadata.files("cute-py") or []]
    assert any(path.endswith("licenses/LICENSE") for path in files)
    assert any(path.endswith("licenses/third_party/cutlass/LICENSE.txt") for path in files)


def test_the_package_is_typed_and_its_stubs_are_true(tmp_path: Path) -> None:
    package = Path(cute_py.__file__).parent
    assert (package / "py.typed").exists()
    assert (package / "_core.pyi").read_text() == (ROOT / "python" / "cute_py" / "_core.pyi").read_text()
    check = stubtest((package / "_core.pyi").read_text(), tmp_path)
    assert check.returncode == 0, check.stdout + check.stderr


def stubtest(stub: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Compare a stub with the compiled module."""
    package = folder / "cute_py"
    package.mkdir()
    (package / "__init__.pyi").write_text("")
    (package / "_core.pyi").write_text(stub)
    allowed = folder / "allowed"
    classes = [
        "Borrowed",
        "Borrowed.__init__",
        "Buffer",
        "ComposedLayout",
        "Layout",
        "PreparedOperand",
        "PreparedOperand.__init__",
        "ScaledBasis",
        "Swizzle",
    ]
    allowed.write_text("".join(f"cute_py._core.{c}\n" for c in classes))  # pybind11's metaclass has no name in a stub
    return subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", f"--allowlist={allowed}", "cute_py._core"],
        capture_output=True, text=True, cwd=folder, env={**os.environ, "MYPYPATH": str(folder)},
    )  # fmt: skip


@pytest.mark.parametrize("module", [cute_py, cute_py.layout, cute_py.atoms, cute_py.errors, cute_py.testing])
def test_a_star_import_replaces_nothing_of_pythons(module: ModuleType) -> None:
    assert set(module.__all__) & set(dir(builtins)) == set()


@pytest.mark.parametrize("name", ["filter", "zip"])
def test_cutes_functions_with_names_of_python_are_in_reach(name: str) -> None:
    assert getattr(cute_py.layout, name) is getattr(_core, name)


def test_every_public_name_is_documented() -> None:
    for name in cute_py.__all__:
        if not name.startswith("__") and name != "X":  # None, CuTe's X
            assert inspect.getdoc(getattr(cute_py, name)), name


def test_every_gpu_variant_is_there_for_each_target_with_the_same_traits() -> None:
    """The registry is the one list; what it holds for the GPU and for the emulator is the same."""
    by_target: dict[str, dict[str, object]] = {"cuda": {}, "emulator": {}, "cpu": {}}
    for entry in _core.entries():
        traits = {key: value for key, value in entry.items() if key not in ("target", "is_built")}
        by_target[entry["target"]][entry["name"]] = traits
    assert by_target["cuda"] == by_target["emulator"]
    expected = {
        f"{kernel}_{layout}_f32{suffix}"
        for kernel in ("sgemm_1", "sgemm_2", "sgemm_sm70", "sgemm_sm80")
        for layout in ("nt", "tn", "nn", "tt")
        for suffix in (("",) if kernel == "sgemm_sm80" else ("", "_predicated"))
    } | {f"{kernel}_nested_f32" for kernel in ("sgemm_1", "sgemm_2", "sgemm_sm70")}
    expected |= {f"sgemm_sm80_{layout}_f32_64x64" for layout in ("nt", "tn", "nn")}
    assert expected <= set(by_target["emulator"])
    assert {"reference_f32", "cpu_baseline_f32"} <= set(by_target["cpu"])
    computed = {cute_py.kernels()[name].compute for name in by_target["emulator"]}
    assert computed == {"float32", "tfloat32", "float64", "complex64", "complex128", "int32", "fast_float32", "copy"} | {
        "split", "planes", "residues", "combine"
    }  # fmt: skip


def test_kernels_is_a_mapping_with_helpful_errors() -> None:
    kernels = cute_py.kernels()
    kernel = kernels["sgemm_2_tn_f32_predicated"]
    assert (kernel.kernel, kernel.layout, kernel.tile, kernel.threads) == ("sgemm_2", "tn", (128, 128, 8), 256)
    with pytest.raises(KeyError, match="near: sgemm_2_tn_f32"):
        kernels["sgemm_2_tn"]
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert len({hash(k) for k in kernels.values()}) == len(kernels)
    assert repr(kernels).startswith(f"<{len(kernels)} kernel variants of sgemm_1, ")
    assert str(kernels).count("\n") == len(kernels) == kernels._repr_html_().count("<tr>") - 1


def test_stubtest_is_not_a_formality(tmp_path: Path) -> None:
    """A stub that lacks a function is noticed, and one that lacks a method."""
    stub = (ROOT / "python" / "cute_py" / "_core.pyi").read_text()
    for number, line in enumerate(("def host_isa() -> str: ...\n", "    def __radd__(self, other: Any) -> Any: ...\n")):
        assert line in stub
        folder = tmp_path / str(number)
        folder.mkdir()
        check = stubtest(stub.replace(line, ""), folder)
        assert check.returncode != 0
        assert re.findall(r"host_isa|__radd__", line)[0] in check.stdout
