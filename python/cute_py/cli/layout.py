"""``cute-py layout``: a layout, what is to know about it, and its table."""

from __future__ import annotations

import argparse
import json
from typing import Any

from cute_py import layout as cl
from cute_py._expression import evaluate
from cute_py.cli.command_error import CommandError
from cute_py.errors import LayoutError
from cute_py.layout.tensor import Tensor

MOST = 4096  # elements in a table
OPERATIONS = ("coalesce", "right_inverse", "left_inverse", "complement")


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "layout",
        help='show a layout: cute-py layout "(4,8):(8,1)"',
        description="Shows a layout and its table of indices.",
    )
    parser.add_argument("layout", help="in CuTe's notation, or an expression such as 'logical_divide(\"(4,8)\", 2)'")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    layout = evaluate(options.layout)
    if isinstance(layout, Tensor):
        layout = layout.layout
    if not isinstance(layout, (cl.Layout, cl.ComposedLayout)):
        raise CommandError(
            f"{options.layout!r} is no layout but {type(layout).__name__}\n  next: cute-py draw draws atoms and tiled copies, too"
        )
    if options.json:
        print(json.dumps(record_of(layout), indent=2))
        return 0
    print(layout)
    print(f"size {layout.size}, cosize {layout.cosize}, rank {layout.rank}, depth {layout.depth}")
    print(f"C++: {layout.to_cpp()}")
    for name in OPERATIONS:
        try:
            print(f"{name}: {getattr(cl, name)(layout)}")
        except LayoutError as error:
            print(f"{name}: none, {str(error).splitlines()[0].partition(': ')[2]}")
    print()
    print(table(layout))
    return 0


def record_of(layout: Any) -> dict[str, Any]:
    """Return what there is to know about a layout, of an operation that it does not have None."""
    record: dict[str, Any] = {
        "layout": str(layout), "cpp": layout.to_cpp(), "size": layout.size, "cosize": layout.cosize, "rank": layout.rank,
        "depth": layout.depth,
    }  # fmt: skip
    for name in OPERATIONS:
        try:
            record[name] = str(getattr(cl, name)(layout))
        except LayoutError:
            record[name] = None
    if layout.size <= MOST:
        record["values"] = cl.layout_values(layout, layout.size)
    return record


def table(layout: Any) -> str:
    """Return the indices: mode 0 down, mode 1 across, further modes folded into mode 1."""
    if layout.size == 0:
        return "(no elements)"
    rows = int(cl.size(layout, 0)) if layout.rank > 1 else 1
    columns = layout.size // rows
    if layout.size > MOST:
        return f"(a table of {layout.size} elements is not shown; cute-py draw shows a part of it)"
    values = [cl.notation(v) for v in cl.layout_values(layout, layout.size)]
    width = max(map(len, values))
    return "\n".join(
        " ".join(values[row + rows * column].rjust(width) for column in range(columns)) for row in range(rows)
    )
