"""The site: it is built without a warning, and its reference has everything that is public."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import cute_py
from cute_py import algorithm, analysis, layout

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site() -> Path:
    built = subprocess.run([sys.executable, "docs/make_site.py"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return ROOT / "build" / "site"


def test_every_page_is_there(site: Path) -> None:
    docs = ROOT / "docs"
    for page in (*docs.glob("*.md"), *docs.glob("architecture/*.md"), *docs.glob("perf/*.md")):
        assert (site / page.relative_to(docs).with_suffix("") / "index.html").exists(), page.name
    assert (site / "search" / "search_index.json").stat().st_size > 100_000


def test_the_reference_has_every_public_name(site: Path) -> None:
    pages = {page.parent.name: page.read_text() for page in (site / "api").glob("*/index.html")}
    shown = set(re.findall(r'<h2 id="(\w+)"', "".join(pages.values())))
    public = {*layout.__all__, *algorithm.__all__, *analysis.__all__}
    assert public - shown == set()
    names = {name for name in cute_py.__all__ if callable(getattr(cute_py, name))}
    errors = {name for name in names if name.endswith("Error")}
    assert names - errors - shown == set()


def test_signatures_are_real(site: Path) -> None:
    text = "".join(page.read_text() for page in (site / "api").glob("*/index.html"))
    bare = re.sub(r"<[^>]*>", "", text)
    assert "pybind11" not in bare
    assert "*args, **kwargs" not in bare
    assert "composition(a: Any, b: Any)" in bare
    assert "str(object=" not in bare
    assert "new empty dictionary" not in bare
    assert "ForwardRef" not in bare
    assert "kernel: str = &#39;auto&#39;" in bare or "kernel: str = 'auto'" in bare
    assert "Layout(shape: Any" in bare


def test_tables_are_tables(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert "<p>|" not in page.read_text(), page


def test_pages_have_no_marks_of_markup(site: Path) -> None:
    for page in (site / "api").glob("*/index.html"):
        text = re.sub(r"<(pre|code)\b.*?</\1>", "", page.read_text(), flags=re.DOTALL)
        assert "``" not in text, page
        assert "BLANKLINE" not in page.read_text(), page
