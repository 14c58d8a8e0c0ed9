"""``cute-py draw``: a picture of a layout, an atom, a tiled copy, a tiled MMA or a kernel."""

from __future__ import annotations

import argparse
from pathlib import Path

from cute_py._expression import evaluate
from cute_py._files import write_whole
from cute_py.cli.command_error import CommandError
from cute_py.cli.files import check_output
from cute_py.drawing.picture import Drawable
from cute_py.layout import ComposedLayout, Layout

FORMATS = {".svg": "to_svg", ".tex": "to_latex", ".html": "to_html"}


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "draw",
        help="draw a layout, an atom or a partition as SVG, LaTeX or HTML",
        description="Draws what an expression gives: a layout in CuTe's notation, or a call such as "
        '\'raked_product("(2,5)", "(3,4)")\', \'atoms.mma["SM80_16x8x16_F32F16F16F32_TN"]\' or '
        "'kernels()[\"sgemm_sm80_nt_f32\"].tiled_mma'.",
    )
    parser.add_argument("expression", metavar="EXPR")
    parser.add_argument("-o", "--output", type=Path, required=True, help="x.svg, x.tex or x.html")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    method = FORMATS.get(options.output.suffix)
    if method is None:
        raise CommandError(f"cannot draw into {options.output}: the name must end in {', '.join(FORMATS)}")
    output = check_output(options.output)
    value = evaluate(options.expression)
    if not isinstance(value, (Drawable, Layout, ComposedLayout)):
        raise CommandError(
            f"{options.expression!r} gives {type(value).__name__}, which has no picture\n  next: a layout, a tiled copy, a tiled MMA or an atom"
        )
    write(output, getattr(value, method)())
    print(f"wrote {output}")
    return 0


def write(path: Path, text: str) -> None:
    try:
        write_whole(path, lambda file: file.write(text.encode()))
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror or error}") from None
