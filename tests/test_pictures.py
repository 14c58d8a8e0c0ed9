"""Pictures: they show what the layouts say, say what they leave out, and are what browsers and LaTeX accept."""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import combinations, product
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import numpy as np
import pytest

import cute_py
from cute_py import LayoutError, OperandError, _core, atoms, diagram
from cute_py._core import ComposedLayout, Layout
from cute_py.atoms.tiled import make_tiled_copy, make_tiled_mma
from cute_py.drawing.picture import (
    COLOURS,
    Cell,
    Panel,
    Picture,
    Structure,
    to_html,
    to_html_fragment,
    to_image,
    to_latex,
    to_svg,
)
from cute_py.drawing.subjects import (
    picture_of_banks,
    picture_of_copy,
    picture_of_copy_atom,
    picture_of_layout,
    picture_of_mma,
    picture_of_tv,
)
from cute_py.layout.tensor import local_tile, make_identity_tensor, make_tensor
from golden import make
from pace import takes_under

SVG = "{http://www.w3.org/2000/svg}"
NASTY = "<b>&amp;\"'</b> ]]> \x01 \u2192 _ % $ # { } ~ ^ \\ \\end{document} @ ``"


def nasty_picture() -> Picture:
    cell = Cell(f"{NASTY}\n{NASTY}", 3, ((NASTY, NASTY), ("also", NASTY)))
    return Picture(NASTY, (Panel(NASTY, ((cell, cell),), (NASTY,), (NASTY, "1")),), NASTY, (NASTY,))


def cells_of(picture: Picture) -> list[Cell]:
    return [cell for panel in picture.panels for row in panel.cells for cell in row]


def numbers(text: str) -> list[int]:
    """Read ``"0, 4, 8..15"``."""
    ranges = [part.split("..") for part in text.split(", ")]
    return [n for ends in ranges for n in range(int(ends[0]), int(ends[-1]) + 1)]


def holders(cells: list[Cell]) -> dict[int, set[tuple[int, int]]]:
    """Return the (thread, value) of each element, by what the cells say."""
    result = {}
    for cell in cells:
        facts = dict(cell.facts)
        index = next(int(value) for name, value in cell.facts if name.startswith("index"))
        if "held as" in facts:
            pairs = {(int(t), int(v)) for t, v in re.findall(r"T(\d+)V(\d+)", facts["held as"])}
        elif "thread" in facts:
            pairs = set(product(numbers(facts["thread"]), numbers(facts["value"])))
        else:
            pairs = set()
        if pairs:
            thread, value = min(pairs)
            assert cell.text == f"T{thread}{'+' if len(pairs) > 1 else ''}\nV{value}"
            assert cell.colour == thread
            assert numbers(facts["warp"]) == sorted({t // 32 for t, _ in pairs})
        else:
            assert (cell.text, cell.colour) == ("", None)
        assert index not in result
        result[index] = pairs
    return result


def holders_by_layout(layout_tv: Layout, size: int) -> dict[int, set[tuple[int, int]]]:
    result: dict[int, set[tuple[int, int]]] = {index: set() for index in range(size)}
    for pair in product(range(_core.size(layout_tv, 0)), range(_core.size(layout_tv, 1))):
        result[layout_tv(*pair)].add(pair)
    return result


# ---- What pictures show


@pytest.mark.parametrize(
    "text",
    ["(4,8)", "((2,2),(3,4)):((1,6),(2,12))", "7:3", "(3,2,2,(2,2)):(1,-3,6,(12,24))", "Sw<2,1,3> o _0 o (_8,_16):(_16,_1)", "(4,3):(0,0)"],
)  # fmt: skip
def test_layouts(text: str) -> None:
    layout = _core.parse(text) if "o" in text else Layout(text)
    picture = picture_of_layout(layout)
    assert picture.title == str(layout)
    assert picture.note == ""
    cells = cells_of(picture)
    assert len(cells) == layout.size
    assert {dict(cell.facts)["1-D coordinate"] for cell in cells} == {str(i) for i in range(layout.size)}
    for cell in cells:
        facts = dict(cell.facts)
        position = int(facts["1-D coordinate"])
        assert cell.text == facts["index"] == str(layout(position))
        assert cell.colour == layout(position)
        assert facts["coordinate"] == _core.print_tiler(_core.idx2crd(position, layout.shape))


def test_a_tensor_of_coordinates_shows_those_that_it_has() -> None:
    tile = local_tile(make_identity_tensor((5, 7)), (4, 4), (1, 1))
    picture = tile._picture()
    for (i, j), cell in zip(product(range(4), range(4)), cells_of(picture), strict=True):
        assert cell.text == dict(cell.facts)["index"] == f"({4 + i},{4 + j})" == _core.print_tiler(tile(i, j))
        assert cell.colour == 8 + i + j
    assert "(4,4)" in tile.to_svg()
    assert "(0,0)</text>" not in tile.to_svg()


def test_a_tensor_of_indices_counts_from_its_offset() -> None:
    tile = local_tile(make_tensor(Layout((8, 8), (8, 1))), (4, 4), (1, 1))
    assert [cell.text for cell in tile._picture().panels[0].cells[0]] == ["36", "37", "38", "39"]


def test_a_tensor_over_data_shows_the_elements() -> None:
    array = np.arange(40.0).reshape(8, 5) / 3
    tile = local_tile(
        make_tensor(array), (4, 4), (1, 1)
    )  # columns 5 to 7 are not there, but for what lies in the next row
    picture = tile._picture()
    for (i, j), cell in zip(product(range(4), range(4)), cells_of(picture), strict=True):
        facts = dict(cell.facts)
        index = 5 * (4 + i) + 4 + j
        assert (facts["coordinate"], facts["index"]) == (f"({i},{j})", str(index))
        if index < 40:
            assert cell.text == f"{array.flat[index]:.4g}"
            assert facts["element"] == str(array.flat[index])
            assert cell.colour == index
        else:
            assert (cell.text, cell.colour, facts["element"]) == ("", None, "outside of the array")
    assert "the element in memory" in picture.legend[0]
    assert "White: outside of the array." in picture.legend
    assert "<dt>" in tile.to_html() or "element: " in tile.to_html()


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.array([True, False]), "True"),
        (np.array([1 + 2j, 0], "c8"), "1+2j"),
        (np.array([123456789, 0]), "123456789"),
        (np.array([1.5, 0], "f2"), "1.5"),
        (np.array([(1, 2.5), (3, 4.5)], [("x", "i4"), ("y", "f8")]), "(1, 2.5)"),
    ],
)
def test_elements_of_any_type(array: Any, text: str) -> None:
    assert make_tensor(array)._picture().panels[0].cells[0][0].text == text


def test_rows_columns_and_panels_are_the_modes() -> None:
    picture = picture_of_layout(Layout("((2,2),3,2,2)"))
    assert [panel.title for panel in picture.panels] == ["(_,_,0,0)", "(_,_,1,0)", "(_,_,0,1)", "(_,_,1,1)"]
    assert picture.panels[0].row_labels == ("0", "1", "0", "1")
    assert [label for *_, label in picture.panels[0].rows.groups] == ["0", "1"]
    assert picture.panels[0].column_labels == ("0", "1", "2")
    assert dict(picture.panels[1].cells[3][2].facts)["coordinate"] == "((1,1),2,1,0)"


def test_coordinates_as_values() -> None:
    picture = picture_of_layout(_core.make_identity_layout(((2, 2), 3)))
    cell = picture.panels[0].cells[3][2]
    assert cell.text == "((1,1),2)"
    assert cell.colour == 4


def test_banks_of_a_layout() -> None:
    swizzled = _core.parse("Sw<3,3,3> o _0 o (_8,_64):(_64,_1)")
    for cell in cells_of(picture_of_layout(swizzled, bank=16)):
        facts = dict(cell.facts)
        assert int(facts["bank"]) == int(facts["index"]) * 2 // 4 % 32
        assert cell.colour == int(facts["bank"]) // 4
    with pytest.raises(LayoutError, match="no banks"):
        picture_of_layout(_core.make_identity_layout((2, 2)), bank=16)
    with pytest.raises(LayoutError, match="no banks"):
        picture_of_layout(Layout(4), bank=0)


MMAS = [
    "SM70_8x8x4_F32F16F16F32_NT",
    "SM80_16x8x16_F32F16F16F32_TN",
    "SM80_8x8x4_F64F64F64F64_TN",
    "SM90_64x16x16_F32F16F16_RS<K,K>",
]


@pytest.mark.parametrize("name", MMAS)
def test_mma_atoms(name: str) -> None:
    atom = atoms.mma[name]
    m, n, k = (int(extent) for extent in atom.shape_mnk)
    a, b, c = atom._picture().panels
    for panel, layout_tv, size in (
        (a, atom.layout_a_tv, m * k),
        (b, atom.layout_b_tv, n * k),
        (c, atom.layout_c_tv, m * n),
    ):
        by_layout = holders_by_layout(layout_tv, size)
        lanes = {index: {(atom.thr_id(t), v) for t, v in held} for index, held in by_layout.items()}
        assert holders(cells_of(Picture("", (panel,)))) == lanes
    for i, j, p in ((0, 0, 0), (m - 1, 0, k - 1), (2, n - 1, 1)):
        assert dict(a.cells[i][p].facts)["coordinate"] == f"A({i},{p})"
        assert dict(b.cells[p][j].facts)["coordinate"] == f"B({j},{p})"
        assert dict(c.cells[i][j].facts)["coordinate"] == f"C({i},{j})"
        assert dict(b.cells[p][j].facts)["index in B"] == str(j + n * p)


def test_the_quad_pair_of_sm70_is_drawn_by_its_lanes() -> None:
    atom = atoms.mma["SM70_8x8x4_F32F16F16F32_NT"]
    picture = atom._picture()
    threads = {int(thread) for cell in cells_of(picture) for thread in numbers(dict(cell.facts)["thread"])}
    assert threads == {0, 1, 2, 3, 16, 17, 18, 19}
    assert picture.title == "SM70_8x8x4_F32F16F16F32_NT, ThrID (_4,_2):(_1,_16)"
    assert any("ThrID" in line for line in picture.legend)
    for cell in cells_of(picture):
        facts = dict(cell.facts)
        assert [atom.thr_id(t) for t in numbers(facts["logical thread"])] == numbers(facts["thread"])
    warp = atoms.mma["SM80_16x8x16_F32F16F16F32_TN"]._picture()
    assert "ThrID" not in warp.title + "".join(warp.legend)
    assert not any("logical thread" in dict(cell.facts) for cell in cells_of(warp))


def test_tiled_mma_whose_threads_share_operands() -> None:
    mma = make_tiled_mma(atoms.mma["SM80_16x8x16_F32F16F16F32_TN"], (2, 2, 1))
    a, b, c = mma._picture().panels
    for panel, layout_tv, size in ((a, mma.layout_a_tv, 512), (b, mma.layout_b_tv, 256), (c, mma.layout_c_tv, 512)):
        assert holders(cells_of(Picture("", (panel,)))) == holders_by_layout(layout_tv, size)
    assert a.cells[0][0].text == "T0+\nV0"
    assert dict(a.cells[0][0].facts)["thread"] == "0, 64"


@pytest.mark.parametrize("name", ["SM75_U32x4_LDSM_N", "SM75_U16x4_LDSM_T", "SM75_U32x1_LDSM_N", "SM90_U32x2_STSM_N"])
@pytest.mark.parametrize("dtype", ["half_t", "uint8_t"])
def test_copy_atoms(name: str, dtype: str) -> None:
    try:
        atom = atoms.copy[name].atom(dtype)
    except LayoutError:
        assert (name, dtype) == ("SM75_U16x4_LDSM_T", "uint8_t")
        return
    picture = atom._picture()
    half = len(picture.panels) // 2
    size = max(atom.val_layout_src.cosize, atom.val_layout_dst.cosize)
    assert holders(cells_of(Picture("", picture.panels[:half]))) == holders_by_layout(atom.val_layout_src, size)
    assert holders(cells_of(Picture("", picture.panels[half:]))) == holders_by_layout(atom.val_layout_dst, size)
    for panel in picture.panels:
        for label, row in zip(panel.row_labels, panel.cells, strict=True):
            for column, cell in zip(panel.column_labels, row, strict=True):
                assert dict(cell.facts)["index"] == str(int(label) + int(column))


def test_ldmatrix_is_drawn_by_matrices() -> None:
    picture = atoms.copy["SM75_U32x4_LDSM_N"].atom("half_t")._picture()
    assert [panel.title for panel in picture.panels] == [
        f"{side}, matrix {i}" for side in ("Source", "Destination") for i in range(4)
    ]
    source, destination = picture.panels[1], picture.panels[5]
    assert [row[0].text for row in source.cells] == [f"T{8 + i}\nV0" for i in range(8)]
    assert [cell.text for cell in destination.cells[1]] == [f"T{4 + i // 2}\nV{2 + i % 2}" for i in range(8)]


@pytest.mark.parametrize("tile", [(4, 6), (24,), (4, 3, 2)])
def test_tiles_of_any_rank(tile: tuple[int, ...]) -> None:
    source, destination = Layout("(6,4):(4,1)"), Layout("(3,4):(1,6)")
    panels = picture_of_copy("", tile, source, destination).panels
    assert holders(cells_of(Picture("", panels[:1]))) == holders_by_layout(source, 24)
    assert holders(cells_of(Picture("", panels[1:]))) == holders_by_layout(destination, 24)
    assert picture_of_tv("", tile, source).panels[0].cells == panels[0].cells
    assert len(panels[0].cells) == (tile[0] if len(tile) > 1 else 1)
    if len(tile) == 3:
        assert dict(panels[0].cells[1][5].facts)["coordinate"] == "(1,2,1)"


def test_tiled_copy() -> None:
    copy = make_tiled_copy(
        atoms.copy["UniversalCopy<uint128_t>"].atom("half_t"), Layout("(8,4):(4,1)"), Layout("(1,8)")
    )
    source, destination = copy._picture().panels
    assert holders(cells_of(Picture("", (source,)))) == holders_by_layout(copy.layout_src_tv, 256)
    assert holders(cells_of(Picture("", (destination,)))) == holders_by_layout(copy.layout_dst_tv, 256)


def test_elements_held_in_different_ways_list_the_pairs() -> None:
    layout_tv = Layout("(2,2):(1,1)")
    picture = picture_of_tv("", (2, 2), layout_tv)
    assert holders(cells_of(picture)) == holders_by_layout(layout_tv, 4)
    assert dict(picture.panels[0].cells[1][0].facts)["held as"] == "T0V1, T1V0"
    assert any(line.startswith("White") for line in picture.legend)


def test_what_lies_outside_of_the_tile_is_said() -> None:
    assert (
        picture_of_tv("", (2, 2), Layout("(4,2):(1,4)")).note
        == "4 (thread,value) of the tile lie outside of it and are not shown"
    )


def test_banks_and_wavefronts() -> None:
    plain, swizzled = Layout("(_8,_64):(_64,_1)"), _core.parse("Sw<3,3,3> o _0 o (_8,_64):(_64,_1)")
    for layout, wavefronts in ((plain, 8), (swizzled, 1)):
        picture = picture_of_banks(layout, 16, [[(t, layout(t, 0), 8) for t in range(8)]])
        assert picture.note == f"{wavefronts} wavefront{'s' if wavefronts > 1 else ''} in 1 phase"
        assert len(picture.panels[0].cells) == 8
        touched = {
            (int(facts["thread"]), int(facts["byte"]))
            for facts in (dict(c.facts) for c in cells_of(picture))
            if "thread" in facts
        }
        assert touched == {(t, 2 * layout(t, 0) + 4 * word) for t in range(8) for word in range(4)}
        assert {cell.colour for cell in cells_of(picture)} == {None, wavefronts - 1}
    broadcast = picture_of_banks(plain, 16, [[(t, 1, 1) for t in range(32)], [(0, 0, 2), (1, 64, 2)]])
    assert broadcast.panels[0].cells[0][0].text == "T0\n+31"
    assert broadcast.note == "3 wavefronts in 2 phases"
    with pytest.raises(LayoutError, match="cannot access"):
        picture_of_banks(plain, 16, [[(0, -1, 1)]])
    with pytest.raises(LayoutError, match="0 phases"):
        picture_of_banks(plain, 16, [])


# ---- What is cut


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("(65,2)", "rows 0..63 of 65 shown"),
        ("161", "columns 0..159 of 161 shown"),
        ("(1000000,1000000)", "rows 0..63 of 1000000 shown; columns 0..159 of 1000000 shown"),
        ("(64,100,3)", "panels 0..1 of 3 shown"),
        ("(1,1,65)", "panels 0..63 of 65 shown"),
    ],
)
def test_large_layouts(text: str, note: str) -> None:
    picture = picture_of_layout(Layout(text))
    assert picture.note == note
    assert len(cells_of(picture)) <= 16384
    for draw in (to_svg, to_html, to_html_fragment, to_latex):
        assert note in re.sub(r"\s+", " ", re.sub(r"<[^>]*>|\\node.*?\{|\};", " ", draw(picture)))


@pytest.mark.parametrize(
    "layout",
    [Layout((1,) * 10_000), Layout(((2,) * 20 + (1,) * 300, 3)), Layout((1,) * 100_000)],
    ids=lambda layout: f"{layout.rank}",
)
def test_layouts_of_very_many_modes_are_refused_quickly(layout: Layout) -> None:
    for draw in (layout.to_svg, layout.to_html, layout.to_latex, make_tensor(layout).to_svg):
        with takes_under(2), pytest.raises(LayoutError, match=r"picture: \d+ modes; 256 at most can be drawn; next: "):
            draw()


def test_large_tiles() -> None:
    atom = atoms.mma["SM90_64x256x32_F32E4M3E4M3_SS_TN"]
    picture = picture_of_mma("", atom.shape_mnk, atom.layout_a_tv, atom.layout_b_tv, atom.layout_c_tv)
    a, b, c = picture.panels
    assert picture.note == f"n 0..{len(c.cells[0]) - 1} of 256 shown"
    assert 16000 < len(cells_of(picture)) <= 16384
    assert (len(a.cells), len(a.cells[0]), len(b.cells), len(b.cells[0])) == (64, 32, 32, len(c.cells[0]))
    assert dict(a.cells[0][0].facts)["thread"] == "0..127"

    tile = Layout("(128,256)")
    assert picture_of_tv("", (128, 256), tile).note == "rows 0..63 of 128 shown; columns 0..159 of 256 shown"
    copy = picture_of_copy("", (128, 256), tile, tile)
    assert copy.note == "rows 0..63 of 128 shown; columns 0..127 of 256 shown"
    assert len(cells_of(copy)) == 16384
    assert (
        picture_of_copy_atom("", Layout("(32,256):(256,1)"), Layout("(32,256):(1,32)")).note
        == "rows 0..63 of 128 shown"
    )
    banks = picture_of_banks(Layout(1 << 16), 32, [[(0, 0, 1)]] * 9)
    assert banks.note == "9 wavefronts in 9 phases; lines 0..63 of 2048 shown; phases 0..7 of 9 shown"
    with pytest.raises(LayoutError, match="4194304 at most"):
        picture_of_tv("", (1 << 20, 1 << 20), Layout("(1048576,1048576)"))


# ---- How it is drawn


@pytest.mark.parametrize("name", make.FILES)
def test_golden_files(name: str) -> None:
    assert make.golden(name) == (make.HERE / name).read_text(encoding="utf-8"), f"meant? run {make.HERE / 'make.py'}"


def test_every_process_draws_the_same() -> None:
    script = (
        "import sys; sys.path.insert(0, 'tests'); from golden import make; print([make.golden(n) for n in make.FILES])"
    )
    root = Path(__file__).parents[1]
    runs = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=root,
            capture_output=True,
            check=True,
        )
        for seed in ("1", "2")
    ]
    assert runs[0].stdout == runs[1].stdout


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_colours_can_be_told_apart_and_read() -> None:
    assert len(COLOURS) == len(set(COLOURS)) == 8
    assert all((luminance(colour) + 0.05) / 0.05 >= 4.5 for colour in (*COLOURS, "#ffffff"))
    lightness = [116 * luminance(colour) ** (1 / 3) - 16 for colour in COLOURS]
    assert all(abs(a - b) >= 3.5 for a, b in combinations(lightness, 2))


def rectangles(svg: str) -> list[tuple[ElementTree.Element, tuple[int, int, int]]]:
    cells = ElementTree.fromstring(svg).findall(f".//{SVG}g[@data-columns]/{SVG}g")
    return [(cell, tuple(int(cell.find(f"{SVG}rect").get(key)) for key in ("x", "y", "width"))) for cell in cells]  # type: ignore[union-attr,arg-type,misc]


@pytest.mark.parametrize("picture", [make.mma, make.coordinates, make.panels, make.ldmatrix, make.banks, nasty_picture])
def test_svg_has_room_for_everything(picture: object) -> None:
    drawn = to_svg(picture())  # type: ignore[operator]
    root = ElementTree.fromstring(drawn)
    width, height = int(root.get("width", "")), int(root.get("height", ""))
    sizes = {float(group.get("font-size", "11")) for group in root.findall(f".//{SVG}g[@data-columns]")}
    places = set()
    for cell, (x, y, side) in rectangles(drawn):
        assert 0 <= x <= x + side <= width
        assert 0 <= y <= y + side <= height
        places.add((x, y))
        for text in cell.findall(f"{SVG}text"):
            assert len(text.text or "") * max(sizes) * 0.61 <= side
            assert y + 8 < int(text.get("y", "")) < y + side
    assert len(places) == len(cells_of(picture()))  # type: ignore[operator]
    side = rectangles(drawn)[0][1][2]
    for (ax, ay), (bx, by) in combinations(sorted(places), 2):
        assert abs(ax - bx) >= side or abs(ay - by) >= side


def test_operands_of_an_mma_line_up() -> None:
    picture = make.mma()
    at = {
        dict(cell.facts)["coordinate"]: place
        for cell, place in zip(cells_of(picture), (p for _, p in rectangles(to_svg(picture))), strict=True)
    }
    for m, n, k in product(range(8), range(8), range(4)):
        assert at[f"A({m},{k})"][1] == at[f"C({m},{n})"][1]
        assert at[f"B({n},{k})"][0] == at[f"C({m},{n})"][0]
        assert at[f"A({m},{k})"][0] < at[f"C({m},{n})"][0]
        assert at[f"B({n},{k})"][1] < at[f"C({m},{n})"][1]


def test_tooltips_are_the_facts() -> None:
    picture = make.mma()
    for cell, (element, _) in zip(cells_of(picture), rectangles(to_svg(picture)), strict=True):
        assert element.findtext(f"{SVG}title") == "\n".join(f"{name}: {value}" for name, value in cell.facts)
        assert [text.text for text in element.findall(f"{SVG}text")] == cell.text.split("\n")


def test_any_text_is_escaped() -> None:
    picture = nasty_picture()
    texts = [text.text for text in ElementTree.fromstring(to_svg(picture)).iter(f"{SVG}text")]
    assert NASTY.replace("\x01", "\\x01") in texts
    for page in (to_svg(picture), to_html(picture), to_html_fragment(picture)):
        assert "<b>" not in page
        assert "\x01" not in page
    body = to_latex(picture).split(r"\begin{document}", 1)[1]
    assert body.count(r"\end{document}") == 1
    assert r"\char92{}end\char123{}document\char125{}" in body
    assert body.isascii()


def test_pages_need_nothing_from_outside() -> None:
    picture = make.mma()
    for page in (to_svg(picture), to_html(picture), to_html_fragment(picture)):
        assert re.findall(r"https?://[^\"]*", page) == ["http://www.w3.org/2000/svg"]
        assert not re.search(r"\bsrc=|\bhref=|url\(|@import", page)
    fragment = to_html_fragment(picture)
    assert not re.search(r"\bid=|<script|<style|\bclass=", fragment)


def test_the_page_offers_the_facts_that_cells_share() -> None:
    offered = re.findall(r'name="fact" value="([^"]*)"( checked)?', to_html(make.mma()))
    assert offered == [("m", ""), ("k", ""), ("thread", " checked"), ("warp", ""), ("value", ""), ("n", "")]
    assert "<fieldset" not in to_html(picture_of_layout(Layout("(2,3)")))


def test_objects_draw_themselves() -> None:
    atom = atoms.mma["SM80_8x8x4_F64F64F64F64_TN"]
    assert atom.to_svg() == to_svg(make.mma())
    assert atom._repr_html_() == to_image(make.mma())
    assert atom.to_latex() == to_latex(make.mma())
    assert atom.to_html() == to_html(make.mma())


# ---- What other programs make of it


def tool(name: str) -> str:
    path = shutil.which(name)
    if path is None and os.environ.get("CI"):
        pytest.fail(f"there is no {name}")
    if path is None:
        pytest.skip(f"there is no {name}")
    return path


@pytest.mark.tools
@pytest.mark.parametrize("picture", [make.mma, make.coordinates, make.ldmatrix, make.banks, nasty_picture])
def test_pdflatex_compiles_it(picture: object, tmp_path: Path) -> None:
    (tmp_path / "picture.tex").write_text(to_latex(picture()))  # type: ignore[operator]
    run = subprocess.run(
        [tool("pdflatex"), "-interaction=nonstopmode", "-halt-on-error", "picture.tex"],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-2000:]
    log = (tmp_path / "picture.log").read_text(errors="replace")
    assert "(1 page," in log
    assert not re.search(r"Overfull|Underfull|Warning", log)


class Page(HTMLParser):
    """The facts that the panel shows, and the tooltips of the cells that are highlighted."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: dict[str, list[str]] = {"dt": [], "dd": []}
        self.same: list[str] = []
        self._within = ""
        self._is_same = False
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag == "g":
            self._is_same = "same" in (dict(attributes).get("class") or "").split()
        self._within = tag

    def handle_endtag(self, tag: str) -> None:
        self._within = ""

    def handle_data(self, data: str) -> None:
        if self._within in self.texts:
            self.texts[self._within].append(data)
        if self._within == "title" and self._is_same:
            self.same.append(data)

    @property
    def facts(self) -> dict[str, str]:
        return dict(zip(self.texts["dt"], self.texts["dd"], strict=True))


def in_browser(picture: Picture, script: str, folder: Path) -> Page:
    page = folder / "page.html"
    find = 'const cells = [...document.querySelectorAll("g[data-columns] > g")];'
    find += 'const find = text => cells.find(cell => cell.querySelector("title").textContent.includes(text));'
    page.write_text(to_html(picture).replace("</body>", f"<script>{find}{script}</script></body>"), encoding="utf-8")
    run = subprocess.run(
        [tool("chromium"), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}",
         "--virtual-time-budget=1000", "--dump-dom", page.as_uri()],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-2000:]
    return Page(run.stdout)


@pytest.fixture(scope="module")
def warp_mma() -> Picture:
    return atoms.mma["SM80_16x8x16_F32F16F16F32_TN"]._picture()


@pytest.mark.tools
def test_hovering_a_cell_tells_its_facts(warp_mma: Picture, tmp_path: Path) -> None:
    page = in_browser(
        warp_mma, 'find("C(9,3)").dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));', tmp_path
    )
    cell = warp_mma.panels[2].cells[9][3]
    assert page.facts == dict(cell.facts)
    thread, value = int(page.facts["thread"]), int(page.facts["value"])
    assert atoms.mma["SM80_16x8x16_F32F16F16F32_TN"].layout_c_tv(thread, value) == 9 + 16 * 3
    held = [
        "\n".join(f"{n}: {v}" for n, v in c.facts) for c in cells_of(warp_mma) if ("thread", str(thread)) in c.facts
    ]
    assert len(held) == 8 + 4 + 4
    assert sorted(page.same) == sorted(held)


@pytest.mark.tools
def test_another_fact_can_be_highlighted(warp_mma: Picture, tmp_path: Path) -> None:
    script = 'find("A(2,5)").focus(); document.querySelector("input[value=k]").click();'
    page = in_browser(warp_mma, script, tmp_path)
    assert page.facts["coordinate"] == "A(2,5)"
    assert len(page.same) == 16 + 8
    assert all("\nk: 5\n" in title for title in page.same)


@pytest.mark.tools
def test_arrow_keys_move_the_focus(warp_mma: Picture, tmp_path: Path) -> None:
    script = """
    find("A(0,0)").focus();
    for (const key of ["ArrowDown", "ArrowRight", "ArrowRight", "ArrowLeft", "ArrowUp", "ArrowUp", "ArrowDown"]) {
      document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    }"""
    assert in_browser(warp_mma, script, tmp_path).facts["coordinate"] == "A(1,1)"


@pytest.mark.tools
def test_ranges_of_threads_are_highlighted_one_by_one(tmp_path: Path) -> None:
    picture = picture_of_tv("", (4, 2), Layout("(4,(4,2)):(0,(1,4))"))
    assert dict(cells_of(picture)[0].facts)["thread"] == "0..3"
    mixed = Cell("", 0, (("thread", "2"),))
    both = Picture("", (*picture.panels, Panel("", ((mixed,),), (), (), 1, 0)), highlight="thread")
    page = in_browser(both, 'cells.at(-1).dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));', tmp_path)
    assert len(page.same) == 9


@pytest.mark.tools
def test_nasty_text_reaches_the_panel(tmp_path: Path) -> None:
    page = in_browser(
        nasty_picture(), 'cells[0].dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));', tmp_path
    )
    assert page.facts["also"] == NASTY.replace("\x01", "\\x01")


def image_of(page: str) -> str:
    """Return the SVG that a notebook stores."""
    (source,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page)
    return base64.b64decode(source).decode()


@pytest.mark.parametrize(
    "make_object",
    [
        lambda: Layout("(8,8):(8,1)"),
        lambda: Layout("(128,128):(1,128)"),
        lambda: cute_py.kernels()["sgemm_sm80_nt_f32"],
        lambda: atoms.mma[atoms.mma.find("SM90_64x128x16")[0]],
    ],
)
def test_a_notebook_stores_one_small_image(make_object: Callable[[], Any]) -> None:
    """An image of an own source is shown where a notebook is not trusted; SVG in the page is not."""
    drawn = make_object()
    assert not hasattr(drawn, "_repr_svg_")
    page = drawn._repr_html_()
    assert len(page) < 200_000
    image = image_of(page)
    ElementTree.fromstring(image)
    whole = drawn.to_svg()
    is_cut = len(re.findall("<rect", image)) < len(re.findall("<rect", whole))
    assert is_cut == ("to_html(path) and show() have all" in re.sub("\\s*<[^>]*>\\s*", " ", image))
    assert "<title>" not in image


def test_pictures_go_to_files_and_to_a_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for drawn in (Layout("(4,8):(8,1)"), atoms.mma["SM80_8x8x4_F64F64F64F64_TN"]):
        for name in ("to_svg", "to_latex", "to_html"):
            path = tmp_path / name
            assert getattr(drawn, name)(path) == getattr(drawn, name)() == path.read_text()
        opened: list[str] = []
        monkeypatch.setattr("webbrowser.open", lambda url, opened=opened: opened.append(url) or True)
        drawn.show()
        (url,) = opened
        page = Path(unquote(urlparse(url).path))
        assert page.read_text() == drawn.to_html()
        page.unlink()
    with pytest.raises(OSError, match="No such file"):
        Layout("4").to_svg(tmp_path / "nowhere" / "x.svg")
    monkeypatch.setattr("webbrowser.open", lambda url: False)
    with pytest.raises(OSError, match="no browser"):
        Layout("4").show()


# ---- Structure


def shown(layout: Any, **options: Any) -> Picture:
    return picture_of_layout(Layout(layout) if isinstance(layout, str) else layout, **options)


def test_nested_modes_have_lines_and_labels_of_their_own() -> None:
    panel = shown("((4,3),(2,2,2)):((12,1),(48,3,6))").panels[0]
    assert panel.rows.rules == ((0, 1), (4, 1), (8, 1), (12, 1))
    assert panel.columns.rules == ((0, 2), (2, 1), (4, 2), (6, 1), (8, 2))
    assert panel.row_labels == ("0", "1", "2", "3") * 3
    assert [label for *_, label in panel.rows.groups] == ["0", "1", "2"]
    assert [label for *_, label in panel.columns.groups] == ["(0,0)", "(1,0)", "(0,1)", "(1,1)"]
    plain = shown("(4,8)").panels[0]
    assert plain.rows == plain.columns == Structure()


def test_tiles_have_lines_and_colours() -> None:
    panel = shown("(8,9):(9,1)", tile=(4, 3)).panels[0]
    assert panel.rows.rules == ((0, 2), (4, 2), (8, 2))
    assert panel.columns.rules == ((0, 2), (3, 2), (6, 2), (9, 2))
    for r, row in enumerate(panel.cells):
        for c, cell in enumerate(row):
            assert cell.colour == panel.cells[r // 4 * 4][c // 3 * 3].colour
    assert len({row[c].colour for row in panel.cells for c in range(9)}) == 6


def test_colours_by_mode_and_by_a_function() -> None:
    by_mode = shown("((2,2),4)", color="mode0").panels[0]
    assert [row[0].colour for row in by_mode.cells] == [0, 0, 1, 1]
    assert [cell.colour for cell in shown("(4,8)", color="column").panels[0].cells[0]] == list(range(8))
    diagonal = shown("(4,4)", color=lambda coord, index: index if coord[0] == coord[1] else None).panels[0]
    assert [[cell.colour is not None for cell in row] for row in diagonal.cells] == [
        [r == c for c in range(4)] for r in range(4)
    ]


def test_a_slice_is_marked() -> None:
    panel = shown("(4,(2,3))", mark=(2, (None, 1))).panels[0]
    coloured = [(r, c) for r, row in enumerate(panel.cells) for c, cell in enumerate(row) if cell.colour is not None]
    assert coloured == [(2, 2), (2, 3)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"color": "blue"}, "color is 'index'"),
        ({"color": 3}, "color is a name or a function"),
        ({"color": "tile"}, "needs tile="),
        ({"tile": (0, 2)}, "tile is an extent"),
        ({"tile": (2, 2, 2)}, "tile is an extent"),
        ({"colour": "row"}, "no option colour"),
        ({"mark": (1, 2, 3)}, "does not fit"),
        ({"mark": (9, None)}, "9 is none of 4"),
        ({"mark": (-1, None)}, "-1 is none of 4"),
        ({"mark": 500}, r"500 is none of \(4,8\)"),
        ({"tile": Layout("2:1")}, "tile is an extent"),
        ({"tile": ((2, 2), 2)}, "tile is an extent"),
        ({"color": lambda coord, index: "red"}, r"color gave 'red' at \(0,0\)"),
        ({"color": lambda coord, index: float("nan")}, "color gave nan"),
        ({"bank": 2.5}, "no banks of elements"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        Layout("(4,8)").to_svg(**options)


def test_a_function_of_colour_gets_the_value() -> None:
    seen = {}

    def colour(coord: Any, value: Any) -> int:
        seen[coord] = value
        return 0

    cute_py.layout.make_identity_layout((2, 3)).to_svg(color=colour)
    assert seen == {(i, j): (i, j) for i in range(2) for j in range(3)}


def test_what_has_no_modes_or_no_elements() -> None:
    assert [cell.text for cell in shown(Layout(())).panels[0].cells[0]] == ["0"]
    assert Layout(())._repr_html_() is not None
    assert Layout("(0,4)")._repr_html_() is None  # a notebook shows the text
    assert diagram("complement", Layout(()), 4).to_svg()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tv", "(4,8)", (100000, 1000)), "1 to 1048576 are drawn"),
        (("tv", "(4,8)", (0, 4)), "has 0 elements"),
        (("tv", "(4,8):(1@0,1@1)", (2, 2)), "gives coordinates"),
        ((["a"], 1), "there is none of"),
    ],
)
def test_tiles_and_operations_that_cannot_be_drawn(arguments: Any, message: str) -> None:
    with pytest.raises((LayoutError, OperandError), match=message):
        diagram(*arguments)


def test_diagrams_colour_what_belongs_together() -> None:
    before, after = diagram("zipped_divide", "(8,12):(12,1)", (4, 3))._picture().panels
    colours = {cell.text: cell.colour for row in before.cells for cell in row}
    assert all(colours[cell.text] == cell.colour for row in after.cells for cell in row)
    assert all(len({row[c].colour for row in after.cells}) == 1 for c in range(8))
    block, tiler, result = diagram("raked_product", "(2,5):(5,1)", "(3,4):(1,3)")._picture().panels
    assert {cell.colour for row in block.cells for cell in row} == {0}
    counts = Counter(cell.colour for row in result.cells for cell in row)
    assert counts == dict.fromkeys(range(12), 10)
    assert len(tiler.cells[0]) == 4
    line = diagram("complement", "(3,2):(1,4)", 24)._picture().panels[-1]
    rest = cute_py.complement("(3,2):(1,4)", 24)
    reached = {i + j for i in (0, 1, 2, 4, 5, 6) for j in map(rest, range(rest.size))}
    assert [i for i, cell in enumerate(line.cells[0]) if cell.colour is not None] == sorted(reached)
    assert len(reached) < len(line.cells[0])
    a, b, both = diagram("composition", "(8,8):(8,1)", "(2,4):(2,8)")._picture().panels
    assert sum(cell.colour is not None for row in a.cells for cell in row) == 8
    assert [[cell.colour for cell in row] for row in b.cells] == [[cell.colour for cell in row] for row in both.cells]


@pytest.mark.parametrize(
    "arguments",
    [
        ("logical_divide", "(4,2,3):(2,1,8)", "4:2"),
        ("tiled_divide", "(8,12)", (4, 3)),
        ("flat_divide", "(10,7)", "<3:3,2:1>"),
        ("logical_product", "(2,2):(4,1)", "6:1"),
        ("zipped_product", "(2,2):(4,1)", (2, 3)),
        ("blocked_product", "(2,5)", "(3,4)"),
        ("complement", "4:2"),
        ("right_inverse", "(4,8):(8,1)"),
        ("left_inverse", "4:2"),
        ("coalesce", "(2,(1,6)):(1,(6,2))"),
        ("tv", "((4,8),2):((16,1),8)", (8, 8)),
        ("zipped_divide", ComposedLayout("Sw<2,0,3> o 0 o (8,8):(8,1)"), (4, 4)),
    ],
    ids=lambda a: a[0],
)
def test_diagrams_of_all_operations(arguments: tuple[Any, ...]) -> None:
    drawn = diagram(*arguments)
    assert ElementTree.fromstring(drawn.to_svg()).tag.endswith("svg")
    assert "\\draw" in drawn.to_latex() or not any(p.rows.rules or p.columns.rules for p in drawn._picture().panels)
    assert arguments[0] in drawn._picture().title or arguments[0] == "tv"


def test_diagrams_that_cannot_be() -> None:
    with pytest.raises(OperandError, match="there is none of 'divide'"):
        diagram("divide", "4")
    with pytest.raises(OperandError, match="does not take 1 arguments"):
        diagram("zipped_divide", "4")
    with pytest.raises(LayoutError, match="at most are drawn"):
        diagram("zipped_divide", "(1024,1024)", (2, 2))
    with pytest.raises(LayoutError, match="interleave"):
        diagram("complement", "(4,4):(1,3)", 24)
