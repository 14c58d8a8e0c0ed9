"""The notebooks run, from a fresh kernel, and show their pictures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "docs" / "notebooks").glob("*.ipynb"))

RUN = """
import json, sys, warnings
warnings.simplefilter("ignore")  # of the notebook's own machinery
import nbclient, nbformat
notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
print(json.dumps(notebook))
"""


def cells(notebook: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == kind]


def test_there_are_notebooks() -> None:
    assert [path.stem for path in NOTEBOOKS] == [
        "from-explain-to-trace",
        "layouts",
        "partitioning-a-gemm",
        "swizzles-and-banks",
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path) -> None:
    pytest.importorskip("nbclient")
    stored = json.loads(path.read_text())
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells(stored, "code"))
    assert any("**Exercise.**" in "".join(cell["source"]) for cell in cells(stored, "markdown"))
    quiet = {**os.environ, "CUTE_PY_PROGRESS": "0"}  # of what is compiled, where the cache lacks it
    run = subprocess.run(
        [sys.executable, "-c", RUN, str(path)], capture_output=True, text=True, timeout=240, cwd=path.parent, env=quiet
    )
    assert run.returncode == 0, run.stderr[-2000:]
    outputs = [output for cell in cells(json.loads(run.stdout), "code") for output in cell["outputs"]]
    assert not [output for output in outputs if output["output_type"] == "error" or output.get("name") == "stderr"]
    pictures = [
        output for output in outputs if "data:image/svg+xml" in "".join(output.get("data", {}).get("text/html", ""))
    ]
    assert len(pictures) >= 2


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_its_links_lead_somewhere(path: Path) -> None:
    import re

    text = "".join("".join(cell["source"]) for cell in cells(json.loads(path.read_text()), "markdown"))
    for link in re.findall(r"\]\(([^)#]+)", text):
        assert (path.parent / link).exists(), link
