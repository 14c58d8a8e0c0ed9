"""``cute-py kernel``: the layouts of a kernel, who owns an element, and its report."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from cute_py.catalogue.kernels import Kernel, kernels
from cute_py.catalogue.report import kernel_report
from cute_py.cli.command_error import CommandError
from cute_py.cli.draw import write
from cute_py.cli.files import check_output
from cute_py.layout import notation


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "kernel",
        help="show the layouts of a kernel variant, who computes an element, or write its report",
        description="Prints the tiler, the shared-memory layouts, the tiled copies and the tiled MMA of a kernel variant.",
    )
    parser.add_argument(
        "name", metavar="NAME", help="of a variant, such as sgemm_sm80_nt_f32; cute-py kernels lists them"
    )
    parser.add_argument("--owner", nargs=2, type=int, metavar=("I", "J"), help="say who computes C[I, J]")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write one HTML page about the kernel")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    try:
        kernel = kernels()[options.name]
    except KeyError as error:
        raise CommandError(error.args[0]) from None
    if options.report is not None:
        output = check_output(options.report)
        write(output, kernel_report(kernel))
        print(f"wrote {output}")
        return 0
    if options.owner is not None:
        owner = kernel.owner_of(C=tuple(options.owner))
        if options.json:
            print(json.dumps({**asdict(owner), "warp": owner.warp, "lane": owner.lane}, indent=2))
            return 0
        print(
            f"C[{options.owner[0]}, {options.owner[1]}]: block {notation(owner.block)}, thread {owner.thread} (warp "
            f"{owner.warp}, lane {owner.lane}), accumulator {owner.register}"
        )
        return 0
    print(json.dumps(record_of(kernel), indent=2) if options.json else describe(kernel))
    return 0


def record_of(kernel: Kernel) -> dict[str, Any]:
    """Return a variant and its layouts, as text."""
    config = {field.name: getattr(kernel.config, field.name) for field in fields(kernel.config)}
    shown = {name: value if value is None or isinstance(value, int) else str(value) for name, value in config.items()}
    return {**asdict(kernel), "config": {**shown, "cta_tiler": notation(kernel.config.cta_tiler)}}


def describe(kernel: Kernel) -> str:
    """Return every layout of a kernel."""
    config = kernel.config
    lines = [
        f"{kernel.name} on {', '.join(kernel.targets)}: {kernel.threads} threads, {kernel.stages} stages, "
        f"{kernel.shared_bytes} bytes of shared memory",
        f"cta_tiler       {notation(config.cta_tiler)}",
        f"smem_layout_a   {config.smem_layout_a}",
        f"smem_layout_b   {config.smem_layout_b}",
    ]
    for name in ("thread_layout_a", "thread_layout_b", "thread_layout_c"):
        if getattr(config, name) is not None:
            lines.append(f"{name} {getattr(config, name)}")
    for name in ("tiled_copy_a", "tiled_copy_b", "tiled_mma"):
        if getattr(config, name) is not None:
            lines += [f"{name}:", *(f"  {line}" for line in str(getattr(config, name)).splitlines())]
    return "\n".join(lines)
