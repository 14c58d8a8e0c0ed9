"""``cute-py cache``: the kernels that were compiled on this machine."""

from __future__ import annotations

import argparse

from cute_py.units import cache, emulator

__all__ = ["add_parser"]


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "cache",
        help="kernels that were compiled here: where they are, their log, fill or clear it",
        description="The emulator's kernels are compiled when they are first used, and kept. CUTE_PY_CACHE_DIR says where, "
        "CUTE_PY_CACHE_MB how many megabytes of them, 512 unless given: the least recently used go first.",
    )
    parser.add_argument(
        "what",
        choices=("path", "log", "fill", "clear"),
        help="path: print the folder; log: what was compiled, and what compilers said; fill: compile every kernel of the "
        "emulator now; clear: remove all",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.what == "path":
        print(cache.folder())
    elif options.what == "log":
        path = cache.log()
        print(path.read_text() if path.exists() else "nothing was compiled", end="\n" if not path.exists() else "")
    elif options.what == "fill":
        count = emulator.compile_all()
        print(f"{count} kernels compiled; the cache has all" if count else "the cache has all")
    else:
        print(f"{cache.clear() / 1e6:.1f} MB removed")
    return 0
