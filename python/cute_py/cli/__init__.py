"""The command ``cute-py``.

Results go to standard output, errors to standard error. Exit codes: 0, success; 1, a result that did not verify; 2, a
wrong argument, a file that cannot be read or written, or a product that cannot be computed; 130, interrupted.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence

from cute_py import _core
from cute_py.cli import (
    atom,
    bench,
    cache,
    draw,
    einsum,
    explain,
    explore,
    gemm,
    info,
    kernel,
    kernels,
    ladder,
    layout,
    profile,
    run,
    verify,
)
from cute_py.cli.command_error import CommandError
from cute_py.errors import CuteError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="cute-py",
        description="CuTe from the shell: GEMM kernels on GPUs, on the CPU and in an emulator; layouts, atoms and pictures.",
    )
    parser.add_argument("--version", action="version", version=f"cute-py {_core.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module in (
        info,
        kernels,
        kernel,
        explain,
        bench,
        ladder,
        gemm,
        einsum,
        verify,
        layout,
        draw,
        atom,
        explore,
        cache,
        profile,
        run,
    ):
        module.add_parser(commands)
    options = parser.parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a file's name may have what the output cannot encode
    try:
        code: int = options.run(options)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except (CommandError, CuteError) as error:
        print(f"cute-py {options.command}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        discard_output()  # whoever read it has enough
        return 0
    except OSError as error:
        discard_output()
        print(f"cute-py {options.command}: cannot print the result: {error.strerror or error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as error:
        print(" ".join(["cute-py: interrupted", *map(str, error.args)]), file=sys.stderr)
        return 130


def discard_output() -> None:
    """Let nothing more be written to standard output, not even at exit."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
