"""Write the golden files again: ``python tests/golden/make.py``, after a change of the pictures that is meant.

Look at what changed, in the diff and in a browser, before it is committed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from cute_py import _core, atoms
from cute_py.drawing.picture import Picture, to_html, to_html_fragment, to_latex, to_svg
from cute_py.drawing.subjects import picture_of_banks, picture_of_copy, picture_of_layout, picture_of_tv

HERE = Path(__file__).parent


def nested_layout() -> Picture:
    return picture_of_layout(_core.Layout("((2,2),(2,3)):((1,4),(2,8))"))


def swizzled_layout() -> Picture:
    return picture_of_layout(_core.parse("Sw<2,0,2> o _0 o (_4,_4):(_4,_1)"), bank=256)


def panels() -> Picture:
    return picture_of_layout(_core.Layout("(2,3,2,2)"))


def coordinates() -> Picture:
    return picture_of_layout(_core.make_identity_layout((2, 3)), title="Coordinates & <others>")


def shared_elements() -> Picture:
    return picture_of_tv("Four threads, two holders", (2, 2), _core.Layout("((2,2),2):((0,1),2)"))


def mma() -> Picture:
    return atoms.mma["SM80_8x8x4_F64F64F64F64_TN"]._picture()


def tiled_copy() -> Picture:
    return picture_of_copy("Transposed", (2, 4), _core.Layout("(2,4):(4,1)"), _core.Layout("(4,2):(2,1)"))


def ldmatrix() -> Picture:
    return atoms.copy["SM75_U32x1_LDSM_N"].atom("half_t")._picture()


def banks() -> Picture:
    rows = [(thread, 64 * thread, 2) for thread in range(4)]
    return picture_of_banks(_core.Layout("(4,64):(64,1)"), 16, [rows])


FILES: dict[str, tuple[Callable[[], Picture], Callable[[Picture], str]]] = {
    "nested_layout.svg": (nested_layout, to_svg),
    "nested_layout.tex": (nested_layout, to_latex),
    "nested_layout.html": (nested_layout, to_html),
    "swizzled_layout.svg": (swizzled_layout, to_svg),
    "panels.svg": (panels, to_svg),
    "coordinates.svg": (coordinates, to_svg),
    "coordinates.tex": (coordinates, to_latex),
    "shared_elements.fragment.html": (shared_elements, to_html_fragment),
    "mma.svg": (mma, to_svg),
    "mma.tex": (mma, to_latex),
    "tiled_copy.svg": (tiled_copy, to_svg),
    "ldmatrix.svg": (ldmatrix, to_svg),
    "banks.svg": (banks, to_svg),
}


def golden(name: str) -> str:
    picture, draw = FILES[name]
    return draw(picture())


if __name__ == "__main__":
    for name in FILES:
        (HERE / name).write_text(golden(name), encoding="utf-8")
