"""``cute-py explore``: a page on this machine on which layouts, operations, atoms and kernels can be looked at."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "explore",
        help="open a page of layouts, operations, banks, atoms and kernels in the browser",
        description="Serves a page to this machine alone, at an address with a random token, until Ctrl-C. What is typed there is read by the "
        "package's parser and never run. With --programs the CUDA programs of a folder can be opened there: they are compiled, "
        "and run in the emulator with your rights.",
    )
    parser.add_argument("--port", type=int, default=0, help="where to listen (default: any that is free)")
    parser.add_argument(
        "--programs",
        action="append",
        default=[],
        type=Path,
        metavar="FOLDER",
        help="of CUDA programs that may be compiled and run",
    )
    parser.add_argument("--no-browser", action="store_true", help="print the address, and open nothing")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    import webbrowser  # neither is needed by other commands

    from cute_py.explorer import Server

    with Server(options.port, options.programs) as server:
        try:
            print(f"{server.url}  (Ctrl-C ends it)", flush=True)
            if not options.no_browser:
                webbrowser.open(server.url)
            server.serve_forever()
        except KeyboardInterrupt:
            return 0
    return 0
