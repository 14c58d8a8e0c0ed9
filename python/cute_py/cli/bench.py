"""``cute-py bench``: times of products, verified, beside a library's own."""

from __future__ import annotations

import argparse
from pathlib import Path

from cute_py.catalogue.bench import bench
from cute_py.cli.draw import write
from cute_py.cli.files import check_output


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "bench",
        help="time products by kernels, beside cuBLAS or NumPy",
        description="Times C (M,N) = A (M,K) B (N,K)^T by kernels, verified against float64 first, and the same products by cuBLAS "
        "(through PyTorch or CuPy), or on a CPU by NumPy.",
    )
    parser.add_argument("problems", metavar="MxNxK", nargs="+", help="extents, or one for a square: 512 1024x1024x64")
    parser.add_argument("--types", nargs="+", default=["float32"], metavar="TYPE", help="of A and B (default: float32)")
    parser.add_argument("--layouts", nargs="+", default=["nt"], metavar="XY", help="nt, tn, nn, tt (default: nt)")
    parser.add_argument(
        "--kernels", nargs="+", default=["auto"], metavar="NAME", help="auto, all, or names (default: auto)"
    )
    parser.add_argument("--device", choices=["cpu", "cuda"], help="default: the GPU, if there is one")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write a line for each, too")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="write a chart, too")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    files = [(check_output(path), how) for path, how in ((options.csv, "to_csv"), (options.svg, "to_svg")) if path]
    found = bench(
        *options.problems,
        dtypes=options.types,
        layouts=options.layouts,
        kernels=options.kernels,
        device=options.device,
    )
    for path, how in files:
        write(path, getattr(found, how)())
    print(found.to_json() if options.json else found)
    return 0
