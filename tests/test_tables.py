"""The tables that every build has as data are what the headers say."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import cute_py
import tables
from headers import ROOT

NEXT = "next: python tests/tables.py"


@pytest.mark.compiler
def test_the_tables_of_the_kernels_are_those_of_the_headers() -> None:
    rows, records = tables.kernels()
    assert tables.VARIANTS.read_text() == rows, NEXT
    assert tables.KERNELS.read_text() == records, NEXT


@pytest.mark.compiler
def test_the_table_of_the_atoms_is_that_of_the_headers() -> None:
    assert tables.ATOMS.read_text() == tables.atoms(), NEXT


def test_every_gpu_variant_has_a_row_with_its_list() -> None:
    records = json.loads(tables.KERNELS.read_text())
    assert set(records) == {name for name, kernel in cute_py.kernels().items() if "emulator" in kernel.targets}
    for name, record in records.items():
        assert record["list"].split("/")[0] == cute_py.kernels()[name].kernel
        assert (ROOT / "csrc" / "kernels" / f"{record['list']}.hpp").exists()


def test_a_kernel_is_described_without_its_code() -> None:
    """Layouts are data: nothing is compiled for them."""
    program = (
        "import cute_py, os\nos.environ['CXX'] = '/nowhere'; os.environ['CUTE_PY_CACHE_DIR'] = '/dev/null/no'\n"
        "print(len([k.config.smem_layout_b for k in cute_py.kernels().values() if 'emulator' in k.targets and k.multiplies]))"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert int(done.stdout) > 200
