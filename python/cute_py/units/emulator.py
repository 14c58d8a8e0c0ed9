"""The emulator's kernels, compiled when they are first used."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cute_py import _core, tables
from cute_py.errors import UnitError
from cute_py.units import cache
from cute_py.units.compiler import Source, build, compile_source, emulator_compiler, fingerprint

__all__ = ["LAUNCH", "compile_all", "find_unit"]

# What a unit for the emulator begins with.
LAUNCH = '#include "instances/launch_emulator.hpp"\n#include "instances/unit_entry.hpp"\n'

# The variants of a unit, where many are compiled at a time: what they have in common is compiled once.
_TOGETHER = 16


def added(name: str) -> str:
    """Return the function that adds a list of variants, in C++."""
    return f"cute_py::instances::add_variants<cute_py::instances::ThisTarget, cute_py::kernels::{name}>"


def source_of(names: list[str]) -> Source:
    """Return the source of a unit with these variants, which are of one list."""
    path = tables.read("kernels")[names[0]]["list"]
    variants = ", ".join(f'"{name}"' for name in names)
    text = f"#define CUTE_PY_DESCRIBED\n#define CUTE_PY_VARIANTS {variants}\n{LAUNCH}"
    text += f'#include "kernels/{path}.hpp"\nCUTE_PY_UNIT({added(path.replace("/", "_"))})\n'
    return Source(names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more", text)


def entry_of(name: str, compiler: str = "") -> str:
    """Return the entry of the index for the unit with a variant, by this compiler; without one, by the last one."""
    return hashlib.sha256(f"{name} {fingerprint()} {compiler}".encode()).hexdigest()


def look_up(name: str) -> Path | None:
    """Return the unit with a variant, if the cache has it. Where there is no compiler, it needs none."""
    try:
        compiler = emulator_compiler().identity
    except UnitError:
        if path := cache.look_up(entry_of(name)):
            return path
        raise
    return cache.look_up(entry_of(name, compiler))


def make(names: list[str]) -> Path:
    compiler = emulator_compiler()
    path = compile_source(source_of(names), compiler)
    for name in names:
        cache.add_entry(entry_of(name, compiler.identity), path)
        cache.add_entry(entry_of(name), path)
    return path


def even_chunks(names: list[str]) -> list[list[str]]:
    count = -(-len(names) // _TOGETHER)
    return [names[len(names) * i // count : len(names) * (i + 1) // count] for i in range(count)]


def find_unit(name: str) -> None:
    """Load a unit with a variant, compiled now if there is none. Raises UnitError."""
    path = look_up(name)
    if path is None:
        with Progress(f"compiling {name} for the emulator, once"):
            path = make([name])
    _core.load_unit(str(path))


def compile_all(names: Iterable[str] | None = None, *, workers: int | None = None) -> int:
    """Compile those of these variants, or of all, that the cache lacks, in parallel; return how many. Raises UnitError.

    A build with ``CUTE_PY_EMULATOR=ON`` has them all, and lacks none; nor do the variants of a unit that was loaded.
    """
    if build()["has_emulator"]:
        return 0
    table = tables.read("kernels")
    lists: dict[str, list[str]] = {}
    for name in table if names is None else names:
        if name in table and look_up(name) is None:
            lists.setdefault(table[name]["list"], []).append(name)
    chunks = [chunk for of_list in lists.values() for chunk in even_chunks(of_list)]
    if not chunks:
        return 0
    if workers is None:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        workers = max(1, min(len(os.sched_getaffinity(0)), memory // (2 << 30)))  # each takes up to 2 GB
    count = sum(map(len, chunks))
    with Progress(f"compiling {count} kernels for the emulator, once") as progress, ThreadPoolExecutor(workers) as pool:
        done = 0
        for chunk, _ in zip(chunks, pool.map(make, chunks), strict=True):
            done += len(chunk)
            progress.say(f"{done} of {count}")
    return count


class Progress:
    """Says on standard error what takes seconds; on a terminal also how far it is. ``CUTE_PY_PROGRESS=0`` silences
    it.
    """

    def __init__(self, text: str) -> None:
        self._text = f"cute_py: {text}"
        self._began = time.monotonic()
        self._is_wanted = os.environ.get("CUTE_PY_PROGRESS") != "0" and sys.stderr is not None
        self._is_on_terminal = self._is_wanted and sys.stderr.isatty()

    def say(self, what: str) -> None:
        """Say how far it is."""
        if self._is_on_terminal:
            seconds = time.monotonic() - self._began
            print(f"\r{self._text}: {what}, {seconds:.0f} s", end="", file=sys.stderr, flush=True)

    def __enter__(self) -> Progress:
        if self._is_wanted:
            print(self._text, end="" if self._is_on_terminal else "\n", file=sys.stderr, flush=True)
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_on_terminal:
            print(f"\r{self._text}: {time.monotonic() - self._began:.1f} s\x1b[K", file=sys.stderr, flush=True)
