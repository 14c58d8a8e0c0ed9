"""``cute-py run``: a CUDA program in the emulator."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cute_py._files import write_whole
from cute_py.cli.files import check_output
from cute_py.workbench import program
from cute_py.workbench.page import page
from cute_py.workbench.programs import on_gpu
from cute_py.workbench.timeline import Timeline, read_marks

__all__ = ["add_parser"]

# Options that are easily put behind the file, where they are the program's.
_OPTIONS = ("--costs", "--html", "--json", "--order", "--seed", "--checked", "--dump", "--gdb", "--timeline", "--target", "--arch")  # fmt: skip


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "run",
        help="compile a CUDA program, unchanged, and run it in the emulator: races, missing fences, accesses out of bounds",
        description="Compile a CUDA program with the host's C++ compiler and run its main() in the emulator. What is wrong "
        "is printed as a compiler would, with file and line, on standard error. Options come before the file; what comes "
        "behind it goes to the program. Exit code 1: something is wrong, or the program failed.",
    )
    parser.add_argument("file", metavar="FILE.cu", help="the program")
    parser.add_argument("arguments", metavar="ARGUMENT", nargs=argparse.REMAINDER, help="of the program")
    parser.add_argument("--target", choices=("emulator", "cuda"), default="emulator", help="cuda: nvcc, and a GPU")
    parser.add_argument("--arch", default="90a", metavar="NUMBER", help="architecture of the device; 90a unless given")
    parser.add_argument("-I", dest="include", action="append", default=[], metavar="FOLDER", help="of headers")
    parser.add_argument("-D", dest="define", action="append", default=[], metavar="MACRO[=VALUE]", help="a macro")
    parser.add_argument("--order", choices=("forward", "backward", "random"), default="forward", help="of threads")
    parser.add_argument("--seed", type=int, default=0, help="of a random order")
    parser.add_argument(
        "--checked",
        type=int,
        default=1,
        metavar="N",
        help="launches of each kernel with one shape that are looked at for races and reads of what nobody wrote; 1 "
        "unless given",
    )
    parser.add_argument("--dump", metavar="FOLDER", help="write arrays on the device there when they are freed")
    parser.add_argument("--gdb", action="store_true", help="run in gdb, which stops in the thread that does wrong")
    parser.add_argument("--costs", action="store_true", help="print bank conflicts and sectors of each line's accesses")
    parser.add_argument(
        "--html", metavar="FILE", help="write a page: the source, with findings and costs beside its lines"
    )
    parser.add_argument(
        "--timeline",
        metavar="FILE",
        help="write what one cluster of the last kernel did and waited for: a picture if the name ends in .svg, else JSON "
        "for ui.perfetto.dev; on a GPU what the program marks by CUTE_PY_MARK (cute_py/marks.hpp)",
    )
    parser.add_argument("--json", action="store_true", help="print findings as JSON on standard output")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    behind = [word for word in options.arguments if word.split("=")[0] in _OPTIONS]
    if behind:
        print(f"cute-py run: {' '.join(behind)} stands behind the file, and goes to the program", file=sys.stderr)
    settings: dict[str, Any] = {"architecture": options.arch, "include": options.include, "define": options.define}
    if options.timeline is not None:
        check_output(Path(options.timeline))
    if options.target == "cuda":
        with tempfile.TemporaryDirectory(prefix="cute_py-") as folder:
            marks = Path(folder) / "marks.txt" if options.timeline is not None else None
            code = on_gpu(options.file, *options.arguments, **settings, marks=marks)
            if marks is not None:
                write_timeline(read_marks(marks, Path(options.file).name) if marks.exists() else None, options)
        return 0 if code == 0 else 1
    if options.html is not None:
        check_output(Path(options.html))
    made = program(options.file, **settings)
    if options.gdb:
        return made.debug(*options.arguments, order=options.order, seed=options.seed)
    result = made.run(
        *options.arguments,
        order=options.order,
        seed=options.seed,
        checked=options.checked,
        dump=options.dump,
        capture=options.json or options.html is not None,
        timeline=options.timeline is not None,
    )
    if options.html is not None:
        text = page(result, " ".join([Path(options.file).name, *options.arguments]))
        write_whole(Path(options.html), lambda file: file.write(text.encode()))
    if options.json:
        found = {
            "exit_code": result.exit_code,
            "findings": [finding.as_dict() for finding in result.findings],
            "left_out": result.left_out,
            "launches": result.launches,
            "seconds": result.seconds,
            "output": result.output,
            "costs": [{**asdict(cost), "line": cost.line.number, "file": cost.line.file} for cost in result.costs],
        }
        print(json.dumps(found, indent=2))
    else:
        print(result.output or "", end="")
        sys.stdout.flush()
        if options.costs:
            print(*result.costs, sep="\n", file=sys.stderr)
        print(result, file=sys.stderr)
    if options.timeline is not None:
        write_timeline(result.timelines[-1] if result.timelines else None, options)
    return 0 if result.is_clean else 1


def write_timeline(timeline: Timeline | None, options: argparse.Namespace) -> None:
    if timeline is None or timeline.is_empty:
        why = "nothing was marked by CUTE_PY_MARK" if options.target == "cuda" else "no kernel came to its first event"
        print(f"cute-py run: no timeline was written: {why}", file=sys.stderr)
        return
    print(f"wrote {timeline.write(options.timeline)}", file=sys.stderr)
