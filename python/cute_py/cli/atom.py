"""``cute-py atom``: an MMA or copy atom, or the names of all."""

from __future__ import annotations

import argparse

from cute_py import atoms
from cute_py.cli.command_error import CommandError


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "atom",
        help="show an MMA or copy atom, or list those whose names contain all the words given",
        description="With the full name of an atom, prints it as CuTe does. With parts of names, lists the atoms that have all.",
    )
    parser.add_argument("parts", nargs="*", metavar="NAME", help="a name, or parts of names")
    parser.add_argument("--type", default="half_t", help="the element type of a copy atom (default: half_t)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    parts = options.parts
    if len(parts) == 1 and parts[0] in atoms.mma:
        atom = atoms.mma[parts[0]]
        print(f"{atom.name}: {atom.d} = {atom.a} x {atom.b} + {atom.c}")
        print(str(atom).rstrip())
        if atom.suspicion:
            print(f"suspect: {atom.suspicion}")
        return 0
    if len(parts) == 1 and parts[0] in atoms.copy:
        print(f"{parts[0]}: moves {atoms.copy[parts[0]].layout_ref.cosize} bits")
        print(str(atoms.copy[parts[0]].atom(options.type)).rstrip())
        return 0
    found = [*atoms.mma.find(*parts), *atoms.copy.find(*parts)]
    if not found:
        if len(parts) == 1:
            atoms.mma[parts[0]]  # raises, with the near names
        raise CommandError(f"no atom has all of {', '.join(parts)} in its name")
    print("\n".join(found))
    return 0
