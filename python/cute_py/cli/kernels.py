"""``cute-py kernels``: the table of kernel variants."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from cute_py.catalogue.kernels import kernels


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("kernels", help="list the kernel variants of this build")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.json:
        print(json.dumps([asdict(variant) for variant in kernels().values()], indent=2))
    else:
        print(kernels())
    return 0
