"""``cute-py verify``: the self-test of every kernel on this machine."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict

from cute_py.catalogue.kernels import kernels
from cute_py.cli.command_error import CommandError
from cute_py.testing import Check, count_checks, verify


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "verify",
        help="test every kernel on this machine",
        description="Runs every kernel on small problems, in the emulator, on the CPU and on the first GPU, and compares "
        "the results with float64.",
    )
    parser.add_argument("names", nargs="*", metavar="KERNEL", help="kernels or variants to test (default: all)")
    parser.add_argument(
        "--target", action="append", choices=["cuda", "emulator", "cpu"], help="test only there; may be repeated"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    names: list[str] | None = options.names or None
    total = count_checks(names, options.target)
    if total == 0:
        raise CommandError(
            "there is nothing to test: no kernel with such a name runs on such a target on this machine"
            "\n  next: cute-py kernels lists names; leave --target out"
        )
    passed: dict[str, int] = {}
    failures = []
    with progress(total) as advance:
        for check in verify(names, options.target):
            advance(check)
            if check.error is None:
                passed[check.target] = passed.get(check.target, 0) + 1
            else:
                failures.append(check)

    if options.json:
        record = {"checks": total, "passed": passed, "failed": [asdict(check) for check in failures]}
        print(json.dumps(record, indent=2))
        return 1 if failures else 0
    for check in failures:
        print(f"FAILED {check.kernel} on {check.target}, {check.problem}: {check.error}", file=sys.stderr)
    targets = ", ".join(f"{count} on {target}" for target, count in passed.items()) or "none"
    if failures:
        print(f"verify: {len(failures)} of {total} checks FAILED; passed: {targets}")
        return 1
    print(f"verify: all {total} checks passed ({targets})")
    return 0


@contextmanager
def progress(total: int) -> Iterator[Callable[[Check], None]]:
    """Show on standard error how far the checks are.

    On a terminal it is a bar: rich's if that is installed, else a plain one. Elsewhere it is a line for each kernel.
    """
    done = 0
    if not sys.stderr.isatty():
        shown = set()

        def say(check: Check) -> None:
            nonlocal done
            kernel = kernels()[check.kernel].kernel
            if kernel not in shown:
                shown.add(kernel)
                print(f"verify: {kernel}, from check {done + 1} of {total}", file=sys.stderr, flush=True)
            done += 1

        yield say
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    except ImportError:

        def advance(check: Check) -> None:
            nonlocal done
            done += 1
            bar = "#" * (30 * done // total)
            what = f"{check.kernel} on {check.target}"
            print(f"\r[{bar:<30}] {done}/{total} {what:<50.50}", end="", file=sys.stderr, flush=True)

        try:
            yield advance
        finally:
            print(file=sys.stderr)
        return
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar_display:
        task = bar_display.add_task("", total=total)
        yield lambda check: bar_display.update(task, advance=1, description=f"{check.kernel} on {check.target}")
