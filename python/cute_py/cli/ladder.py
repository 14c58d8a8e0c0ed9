"""``cute-py ladder``: one product by every kernel."""

from __future__ import annotations

import argparse
from pathlib import Path

from cute_py.catalogue.ladder import ladder
from cute_py.cli.draw import write
from cute_py.cli.files import check_output
from cute_py.machine.devices import Device


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "ladder",
        help="compute one product by every kernel, from the plainest to the fastest",
        description="C (M,N) = A (M,K) B (N,K)^T by every kernel from reference to gemm_sm90: its time, TFLOP/s, part of "
        "cuBLAS and of the roofline, and the idea that made the step. Measured on a GPU, estimated where there is none.",
    )
    parser.add_argument("m", metavar="M", type=int, nargs="?", default=4096, help="rows of C (default: 4096)")
    parser.add_argument("n", metavar="N", type=int, nargs="?", help="columns of C (default: M)")
    parser.add_argument("k", metavar="K", type=int, nargs="?", help="what is summed over (default: M)")
    parser.add_argument("--dtype", default="float16", help="of A and B for tensor cores (default: float16)")
    parser.add_argument("--layout", help="nt, tn, nn or tt (default: nt, or tn for types that are not of 16 bits)")
    parser.add_argument("--estimate", action="store_true", help="do not measure: what an H200 is expected to take")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="write a chart, too")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    output = None if options.svg is None else check_output(options.svg)
    device = Device("H200") if options.estimate else None
    found = ladder(options.m, options.n, options.k, dtype=options.dtype, layout=options.layout, device=device)
    if output is not None:
        write(output, found.to_svg())
    print(found.to_json() if options.json else found)
    return 0
