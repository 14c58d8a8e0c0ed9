"""``cute-py atom``: an MMA or copy atom, or the names of all."""

from __future__ import annotations

import argparse
import json
from typing import Any

from cute_py import atoms
from cute_py.cli.command_error import CommandError
from cute_py.layout import size


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "atom",
        help="show an MMA or copy atom, or list those whose names contain all the words given",
        description="With the full name of an atom, prints it as CuTe does. With parts of names, lists the atoms that have all.",
    )
    parser.add_argument("parts", nargs="*", metavar="NAME", help="a name, or parts of names")
    parser.add_argument("--type", default="half_t", help="the element type of a copy atom (default: half_t)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    parts = options.parts
    if len(parts) == 1 and parts[0] in atoms.mma:
        mma = atoms.mma[parts[0]]
        if options.json:
            print(json.dumps(record_of_mma(mma), indent=2))
            return 0
        print(f"{mma.name}: {mma.about}")
        print(str(mma).rstrip())
        if mma.suspicion:
            print(f"suspect: {mma.suspicion}")
        return 0
    if len(parts) == 1 and parts[0] in atoms.copy:
        copy = atoms.copy[parts[0]].atom(options.type)
        if options.json:
            print(json.dumps(record_of_copy(copy), indent=2))
            return 0
        print(f"{parts[0]}: moves {copy.traits.layout_ref.cosize} bits")
        print(str(copy).rstrip())
        return 0
    found = [*atoms.mma.find(*parts), *atoms.copy.find(*parts)]
    if not found:
        if len(parts) == 1:
            atoms.mma[parts[0]]  # raises, with the near names
        raise CommandError(f"no atom has all of {', '.join(parts)} in its name\n  next: fewer parts")
    print(json.dumps(found, indent=2) if options.json else "\n".join(found))
    return 0


def record_of_mma(atom: atoms.MMAAtom) -> dict[str, Any]:
    layouts = {name: str(getattr(atom, name)) for name in ("thr_id", "layout_a_tv", "layout_b_tv", "layout_c_tv")}
    types = {operand: str(getattr(atom, operand)) for operand in "abcd"}
    return {
        "name": atom.name, "architecture": atom.architecture, "shape_mnk": [int(size(mode)) for mode in atom.shape_mnk],
        **layouts, "types": types, "lanes": atom.lanes, "suspicion": atom.suspicion,
    }  # fmt: skip


def record_of_copy(atom: atoms.CopyAtom) -> dict[str, Any]:
    layouts = {
        name: str(getattr(atom, name)) for name in ("thr_id", "val_layout_src", "val_layout_dst", "val_layout_ref")
    }
    return {
        "name": atom.name, "architecture": atom.traits.architecture, "bits": atom.traits.layout_ref.cosize,
        "type": str(atom.value_type), **layouts,
    }  # fmt: skip
