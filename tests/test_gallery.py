"""The gallery: its pictures are what the code on the page makes. The page about layouts: it names every function."""

from __future__ import annotations

import importlib.util
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import ModuleType

import pytest

from cute_py import layout

DOCS = Path(__file__).parents[1] / "docs"
LARGEST = 300_000  # bytes of a picture; browsers and reviews of changes stay quick


@pytest.fixture(scope="module")
def gallery() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_gallery", DOCS / "make_gallery.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pictures(gallery: ModuleType) -> dict[str, str]:
    made: dict[str, str] = gallery.pictures()
    return made


def test_the_pictures_are_what_the_page_makes(pictures: dict[str, str]) -> None:
    stored = {path.name: path.read_text() for path in (DOCS / "gallery").iterdir()}
    assert sorted(stored) == sorted(pictures)
    different = [name for name in pictures if stored[name] != pictures[name]]
    assert not different, "python docs/make_gallery.py writes them again"


def test_every_picture_on_the_page_is_made_there(pictures: dict[str, str]) -> None:
    text = "".join((DOCS / name).read_text() for name in ("gallery.md", "gett.md", "cpu.md"))
    shown = re.findall(r"!\[[^\]]*\]\((gallery/[^)]*)\)", text)
    assert shown == [f"gallery/{name}" for name in pictures]
    assert len(shown) >= 10


def test_the_pictures_are_small_whole_and_different(pictures: dict[str, str]) -> None:
    for name, text in pictures.items():
        assert len(text.encode()) < LARGEST, name
        assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg", name
    assert len(set(pictures.values())) == len(pictures)


def test_a_block_that_gives_no_picture_is_noticed(gallery: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "gallery.md"
    page.write_text("```python\nx = 1\n```\n\n![x](gallery/x.svg)\n")
    pages, gallery.PAGES = gallery.PAGES, [page]
    try:
        with pytest.raises(AssertionError, match=r"x\.svg does not end with a value"):
            gallery.pictures()
    finally:
        gallery.PAGES = pages


def test_the_page_about_layouts_names_every_function() -> None:
    tables = (DOCS / "layouts.md").read_text().partition("## All functions")[2]
    assert {*layout.__all__, "filter", "zip"} - set(re.findall(r"`(\w+)`", tables)) == set()
