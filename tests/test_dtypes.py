"""The table of element types: as in C++, as in the libraries, and the only one in Python."""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from cute_py._dtypes import DTYPES, FLOAT8, HALVES, NOT_IN_NUMPY, DTypeName, bits_of_numbers, numpy_type

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python" / "cute_py"
# What the table is, and the names of CuTe's atoms.
OWN_TABLES = {Path("_dtypes.py"), Path("atoms/__init__.py")}


def test_the_rows_are_those_of_cpp() -> None:
    row = r'\{DType::\w+, "(\w+)", "(\w+)", (\d+), dlpack::k\w+, (true|false),'
    of_cpp = re.findall(row, (ROOT / "csrc" / "base" / "dtype.hpp").read_text())
    assert sorted(of_cpp) == sorted(
        (row.name, row.letters, str(row.bytes), str(row.in_numpy).lower()) for row in DTYPES.values()
    )
    assert set(get_args(DTypeName)) == set(DTYPES)


@pytest.mark.parametrize("name", DTYPES)
def test_a_row_is_true(name: str) -> None:
    row = DTYPES[name]
    if not row.in_numpy:
        pytest.importorskip("ml_dtypes")
    dtype = numpy_type(name)
    assert (dtype.name, dtype.itemsize) == (name, row.bytes)
    assert (dtype.kind == "i", dtype.kind == "c") == (row.is_integer, row.is_complex)
    if row.is_integer:
        return
    limits = np.finfo(dtype) if row.in_numpy else pytest.importorskip("ml_dtypes").finfo(dtype)
    assert row.roundoff == float(limits.eps) / 2
    assert row.largest == float(limits.max)
    assert row.smallest == float(limits.smallest_subnormal)


@pytest.mark.parametrize("name", [*HALVES, *FLOAT8])
def test_bits_of_numbers(name: str) -> None:
    if name in NOT_IN_NUMPY:
        pytest.importorskip("ml_dtypes")
    values = np.array([0, 1, -1, 2, 3, -3, 4, -4, 0.5, 14])
    bits = bits_of_numbers(values, name)
    assert np.array_equal(bits, values.astype(numpy_type(name)).view(bits.dtype))


def names_of_types(package: Path) -> list[str]:
    """Return where a module has a name of a float8 type, or an import of ml_dtypes, of its own."""
    found = []
    for path in sorted(package.rglob("*.py")):
        if path.relative_to(package) in OWN_TABLES:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            is_name = (isinstance(node, ast.Constant) and node.value in FLOAT8) or (
                isinstance(node, ast.Attribute) and node.attr in FLOAT8
            )
            is_import = isinstance(node, ast.Import) and any(alias.name == "ml_dtypes" for alias in node.names)
            if is_name or is_import:
                found.append(f"{path.relative_to(package)}:{node.lineno}")
    return found


def test_no_other_module_has_a_list_of_types() -> None:
    assert names_of_types(PACKAGE) == []


@pytest.mark.parametrize("line", ['NARROW = ("float8_e5m2",)', "x = torch.float8_e4m3fn", "import ml_dtypes"])
def test_a_planted_list_of_types_is_found(tmp_path: Path, line: str) -> None:
    package = tmp_path / "cute_py"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("*.so"))
    path = package / "products" / "gemm.py"
    path.write_text(f"{path.read_text()}\n{line}\n")
    assert len(names_of_types(package)) == 1
