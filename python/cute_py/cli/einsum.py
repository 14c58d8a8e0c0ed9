"""``cute-py einsum``: a contraction of arrays in files."""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from pathlib import Path
from typing import Any

from cute_py.cli.command_error import CommandError
from cute_py.cli.files import check_output, load, result_type, save
from cute_py.cli.gemm import MOST_REPEATS, add_type_arguments, ratio_text, repeats
from cute_py.products.einsum import einsum
from cute_py.testing import einsum_error_ratio


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "einsum",
        help='contract arrays in .npy files: cute-py einsum "ij,jk->ik" A.npy B.npy -o C.npy',
        description="What numpy.einsum computes, for arrays of one type: float16, float32, float64, complex64, complex128, or int8 into int32; with --cast "
        "also bfloat16 and float8, whose results are written as float32.",
    )
    parser.add_argument("subscripts", metavar="SUBSCRIPTS", help="such as ij,jk->ik or ...ab,b")
    parser.add_argument("operands", metavar="A.npy", nargs="+", type=Path)
    parser.add_argument("-o", "--output", metavar="OUT.npy", type=Path, required=True, help="where the result goes")
    parser.add_argument("--device", choices=["cpu", "emulator", "cuda"], help="where to compute")
    add_type_arguments(parser)
    parser.add_argument(
        "--repeat",
        type=repeats,
        default=1,
        metavar="N",
        help=f"compute N times, at most {MOST_REPEATS}, and report the median",
    )
    parser.add_argument(
        "--verify", action="store_true", help="compare with numpy.einsum in float64; exit code 1 if the result is wrong"
    )
    parser.add_argument("--explain", action="store_true", help="print the path and the kernel of each step, too")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    output = check_output(options.output)
    for path in options.operands:
        if output.exists() and path.exists() and output.samefile(path):
            raise CommandError(
                f"cannot write {options.output}: it is {path}, which is read\n"
                "  next: -o another file, and move it there when it is right"
            )
    arrays = [load(path, options.cast) for path in options.operands]
    kinds = {array.dtype.name: path for path, array in zip(options.operands, arrays, strict=True)}
    if len(kinds) > 1:
        held = ", ".join(f"{path} {kind}" for kind, path in kinds.items())
        raise CommandError(f"the arrays have several types: {held}\n  next: --cast TYPE converts all")
    call: dict[str, Any] = {"device": options.device, "compute": options.compute}
    explanation = str(einsum.explain(options.subscripts, *arrays, **call)) if options.explain else None
    seconds: list[float] = []
    try:
        for _ in range(options.repeat):
            begin = time.perf_counter()
            result = einsum(options.subscripts, *arrays, **call)
            seconds.append(time.perf_counter() - begin)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"after {len(seconds)} of {options.repeat} results; nothing was written") from None
    report: dict[str, Any] = {
        "subscripts": options.subscripts,
        "shape": list(result.shape),
        "type": result.dtype.name,
        "seconds": statistics.median(seconds),
        "output": str(options.output),
    }
    if explanation is not None:
        report["explanation"] = explanation
    code = 0
    if options.verify:
        ratio = einsum_error_ratio(options.subscripts, result, *arrays, compute=options.compute)
        report["error_ratio"] = ratio if math.isfinite(ratio) else None  # JSON has no infinity
        report["verified"] = ratio <= 1
        code = 0 if ratio <= 1 else 1
    if code == 0:
        save(output, result.astype(result_type(result.dtype), copy=False))
    else:
        del report["output"]
    print_report(report, options.json)
    return code


def print_report(report: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(report, indent=2))
        return
    shape = ",".join(map(str, report["shape"]))
    print(f"{report['subscripts']}: ({shape}) {report['type']} in {report['seconds'] * 1e3:.3f} ms")
    if "explanation" in report:
        print(report["explanation"])
    if "verified" in report:
        verdict = "right" if report["verified"] else "WRONG, nothing was written"
        print(f"against float64: {verdict}, largest error {ratio_text(report['error_ratio'])} of its bound")
    if "output" in report:
        print(f"wrote {report['output']}")
