"""What the documentation says: its examples run, its outputs are true, its lists are complete."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import cute_py
from cute_py import layout

ROOT = Path(__file__).parents[1]
ENTRIES = sorted((ROOT / "docs" / "perf").glob("*.md"))
ARCHITECTURE = sorted((ROOT / "docs" / "architecture").glob("*.md"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *ARCHITECTURE, *ENTRIES]
# Pages whose examples add kernels, which stay: they have processes of their own.
ADDS_KERNELS = {"workbench.md"}
MODULES = [
    m.name for m in pkgutil.walk_packages(cute_py.__path__, "cute_py.") if not m.name.endswith(("__main__", "_core"))
]


@pytest.mark.parametrize("name", ["cute_py", *MODULES])
def test_docstring_examples(name: str) -> None:
    module = importlib.import_module(name) if name != "cute_py" else cute_py
    assert doctest.testmod(module).failed == 0


def test_examples_of_the_compiled_functions() -> None:
    runner, examples = doctest.DocTestRunner(), 0
    for name in (*layout.__all__, "filter", "zip"):
        text = getattr(layout, name).__doc__ or ""
        test = doctest.DocTestParser().get_doctest(text, dict(vars(layout)), name, None, 0)
        examples += len(test.examples)
        runner.run(test)
    assert examples >= 25
    assert runner.failures == 0


def test_there_are_docstring_examples() -> None:
    finder = doctest.DocTestFinder()
    assert sum(bool(t.examples) for n in MODULES for t in finder.find(importlib.import_module(n))) >= 7


def missing_scripts(text: str) -> list[str]:
    """Return the benchmarks that a text names and that are not there."""
    named = re.findall(r"benchmarks/(\w+\.py)", text)
    return sorted({name for name in named if not (ROOT / "benchmarks" / name).exists()})


def test_every_benchmark_that_is_named_is_there() -> None:
    texts = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
    texts += [path for folder in ("benchmarks", "tests", "python") for path in (ROOT / folder).rglob("*.py")]
    missing = {path.name: missing_scripts(path.read_text()) for path in texts if path != Path(__file__)}
    assert {name: scripts for name, scripts in missing.items() if scripts} == {}
    assert missing_scripts("`python benchmarks/choices.py` and benchmarks/gone.py") == ["gone.py"]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_python_examples_run_and_print_what_they_show(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The Python blocks of a page are one program. A plain block right after one is what that block prints."""
    if page.name in ADDS_KERNELS and not os.environ.get("CUTE_PY_OWN_PROCESS"):
        node = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", node]
        environment = {**os.environ, "CUTE_PY_OWN_PROCESS": "1"}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        assert "1 passed" in done.stdout, done.stdout
        return
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    scope: dict[str, object] = {}
    for index, (language, code) in enumerate(blocks):
        if language != "python":
            continue
        capsys.readouterr()
        exec(compile(code, str(page), "exec"), scope)
        printed = capsys.readouterr().out
        following = blocks[index + 1] if index + 1 < len(blocks) else ("end", "")
        if following[0] == "" and printed:
            assert printed == following[1]


def test_the_readme_names_every_kernel() -> None:
    table = (ROOT / "README.md").read_text().partition("## Kernels")[2]
    for family in cute_py.kernels().families():
        assert f"| `{family}` |" in table


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)  # but for code
    for target in re.findall(r"\]\((?!http)([^)#]+)", text):
        assert (page.parent / target).exists(), target


def test_the_index_of_the_performance_notes_has_every_entry() -> None:
    index = " ".join((ROOT / "docs" / "perf-notes.md").read_text().partition("## Index by topic")[2].split())
    titles = [
        (page.name, title) for page in ENTRIES for title in re.findall(r"^## (.*)$", page.read_text(), re.MULTILINE)
    ]
    assert len(titles) >= 50
    for name, title in titles:
        date, _, text = title.partition(": ")
        entry = f"- {date[5:]} [{text}](perf/{name}#" if text else f"- [{title[0].lower()}{title[1:]}](perf/{name}#"
        assert entry in index, title


def test_the_example_of_the_readme(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["digits_knn.py"])
    runpy.run_path(str(ROOT / "examples" / "digits_knn.py"), run_name="__main__")
    printed = capsys.readouterr().out
    shown = re.search(r"^597 digits.*$", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert shown is not None
    assert printed.splitlines()[0] == shown[0]
    assert "equal to NumPy's bit for bit" in printed


@pytest.mark.parametrize("kernel", ["sgemm_1", "sgemm_sm80"])
def test_the_example_in_the_emulator(kernel: str) -> None:
    command = [sys.executable, str(ROOT / "examples" / "digits_knn.py"), "--kernel", kernel, "--device", "emulator"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "accuracy 97.0%" in printed
    assert f"kernel: {kernel}_" in printed
