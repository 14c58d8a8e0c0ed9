"""``cute-py profile``: what the cost models need to know of a GPU, measured."""

from __future__ import annotations

import argparse
import json

from cute_py.catalogue import profile
from cute_py.errors import CuteError


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "profile",
        help="measure a GPU for the choice of kernels",
        description="Measure what a launch takes, and what memory and L2 deliver, and keep it: kernels are chosen by "
        "it from then on. H200 and H100 are known; another GPU is taken for an H200 of its size until it is measured.",
    )
    parser.add_argument("--device", type=int, default=0, metavar="N", help="the number in cuda:N")
    parser.add_argument("--dry-run", action="store_true", help="print it, and keep nothing")
    parser.add_argument("--forget", action="store_true", help="forget what was measured of all GPUs")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.forget:
        profile.forget()
        return 0
    device = profile.measure(options.device)
    measured = {field: getattr(device, field) for field in profile.MEASURED}
    if options.json:
        print(json.dumps({"name": device.name, **measured}))
    else:
        print(device.name)
        for field, value in measured.items():
            print(f"  {field:20} {value}")
    if not options.dry_run:
        try:
            where = profile.save(device)
        except OSError as error:
            raise CuteError(f"the profile cannot be kept: {error}\n  next: CUTE_PY_CACHE_DIR=<a folder>") from None
        if not options.json:
            print(f"kept in {where}")
    return 0
