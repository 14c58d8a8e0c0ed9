"""``cute-py kernels``: the table of kernel variants."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from cute_py.catalogue.kernels import kernels
from cute_py.cli.command_error import CommandError


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("kernels", help="list the kernel variants of this build")
    parser.add_argument("parts", metavar="PART", nargs="*", help="of the name, in any case: only those that have all")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    found = kernels().find(*options.parts)
    if not found:
        families = ", ".join(kernels().families())
        raise CommandError(f"no kernel's name has {' and '.join(options.parts)}\n  next: there are {families}")
    print(json.dumps([asdict(variant) for variant in found.values()], indent=2) if options.json else found)
    return 0
