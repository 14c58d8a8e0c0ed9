"""``cute-py gemm``: the product of two matrices in files."""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np

from cute_py.cli.command_error import CommandError
from cute_py.cli.files import CAST, check_output, load, result_type, save
from cute_py.products.gemm import gemm
from cute_py.testing import error_ratio

MOST_REPEATS = 10_000


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "gemm",
        help="multiply two matrices in .npy files",
        description="C = alpha * A B^T + beta * C for matrices A (M,K) and B (N,K), or B (K,N) with --kn: float16, float32, float64, complex64, "
        "complex128, or int8 into int32; with --cast also bfloat16 and float8, into float32.",
    )
    parser.add_argument("a", metavar="A.npy", type=Path, help="(M,K)")
    parser.add_argument("b", metavar="B.npy", type=Path, help="(N,K), or (K,N) with --kn")
    parser.add_argument(
        "-o", "--output", metavar="C.npy", type=Path, required=True, help="where C (M,N) goes; it may be C0.npy"
    )
    parser.add_argument("--kn", action="store_true", help="B is (K,N): compute A B")
    parser.add_argument("--c", metavar="C0.npy", type=Path, help="(M,N), the C that beta multiplies")
    parser.add_argument("--alpha", type=float, default=1.0)
    parser.add_argument("--beta", type=float, default=0.0)
    parser.add_argument("--kernel", default="auto", help="a name that `cute-py kernels` shows (default: auto)")
    parser.add_argument(
        "--device",
        choices=["cpu", "emulator", "cuda"],
        help="where to compute (default: the CPU; for a GPU kernel the emulator, if there is no GPU)",
    )
    add_type_arguments(parser)
    parser.add_argument(
        "--repeat",
        type=repeats,
        default=1,
        metavar="N",
        help=f"compute N times, at most {MOST_REPEATS}, and report the median",
    )
    parser.add_argument(
        "--verify", action="store_true", help="compare with float64; exit code 1 if the result is wrong"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.set_defaults(run=run)


def add_type_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--cast",
        nargs="?",
        const="float32",
        choices=CAST,
        metavar="TYPE",
        help=f"convert the operands: {', '.join(CAST)} (float32, if no type is named)",
    )
    parser.add_argument(
        "--compute", metavar="TYPE", help="what to multiply and add in, such as tfloat32 (default: by the operands)"
    )


def repeats(text: str) -> int:
    value = int(text)
    if not 1 <= value <= MOST_REPEATS:
        raise argparse.ArgumentTypeError(f"1 to {MOST_REPEATS}")
    return value


def run(options: argparse.Namespace) -> int:
    if options.beta != 0 and options.c is None:
        raise CommandError("--beta needs --c, the C that it multiplies\n  next: --c C.npy")
    output = check_output(options.output)
    for path in (options.a, options.b):
        if output.exists() and path.exists() and output.samefile(path):
            raise CommandError(
                f"cannot write {options.output}: it is {path}, which is read\n"
                "  next: -o another file, and move it there when it is right"
            )
    a = load(options.a, options.cast, 2)
    b = load(options.b, options.cast, 2)
    if a.dtype != b.dtype:
        raise CommandError(f"{options.a} holds {a.dtype} and {options.b} {b.dtype}\n  next: --cast TYPE converts both")
    if options.kn:
        b = b.T
    dtype = result_type(a.dtype)
    start = None
    if options.c is not None:
        start = load(options.c, dtype.name if options.cast and dtype.kind != "i" else None, 2)

    call = {
        "kernel": options.kernel,
        "device": options.device,
        "alpha": options.alpha,
        "beta": options.beta,
        "compute": options.compute,
    }
    try:
        c = np.empty((a.shape[0], b.shape[0]), dtype)
    except (MemoryError, ValueError):
        raise CommandError(
            f"there is no memory for the product, {a.shape[0]}x{b.shape[0]}\n  next: multiply parts of A or B"
        ) from None
    if start is not None and start.shape != c.shape:
        raise CommandError(
            f"{options.c} has shape {start.shape}, the product {c.shape}\n  next: a C of the product's shape"
        )
    explanation = gemm.explain(a, b, c, **call)
    seconds: list[float] = []
    try:
        for _ in range(options.repeat):
            if start is not None:
                c[...] = start
            begin = time.perf_counter()
            gemm(a, b, c, **call)
            seconds.append(time.perf_counter() - begin)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"after {len(seconds)} of {options.repeat} products; nothing was written") from None

    median = statistics.median(seconds)
    report: dict[str, Any] = {
        "m": explanation.m,
        "n": explanation.n,
        "k": explanation.k,
        "kernel": explanation.chosen,
        "target": explanation.target,
        "device": explanation.device,
        "seconds": median,
        "gflops": (8 if dtype.kind == "c" else 2) * explanation.m * explanation.n * explanation.k / median / 1e9,
        "output": str(options.output),
    }
    code = 0
    if options.verify:
        ratio = error_ratio(c, a, b, start, alpha=options.alpha, beta=options.beta, compute=options.compute)
        report["error_ratio"] = ratio if math.isfinite(ratio) else None  # JSON has no infinity
        report["verified"] = ratio <= 1
        code = 0 if ratio <= 1 else 1
    if code == 0:
        save(output, c)
    else:
        del report["output"]
    print_report(report, options.json)
    return code


def print_report(report: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(report, indent=2))
        return
    print(f"M={report['m']} N={report['n']} K={report['k']}")
    print(f"kernel: {report['kernel']} on {report['target']} ({report['device']})")
    print(f"time: {report['seconds'] * 1e3:.3f} ms, {report['gflops']:.2f} GFLOP/s")
    if "verified" in report:
        verdict = "right" if report["verified"] else "WRONG, nothing was written"
        print(f"against float64: {verdict}, largest error {ratio_text(report['error_ratio'])} of its bound")
    if "output" in report:
        print(f"wrote {report['output']}")


def ratio_text(ratio: float | None) -> str:
    return "infinitely many times" if ratio is None else f"{ratio:.3g}"
