"""What is wrong with a program, by its source's lines."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cute_py.units.compiler import home

__all__ = ["Cost", "Finding", "Line", "Symbols"]


@dataclass(frozen=True)
class Line:
    """A place in a source.

    Attributes
    ----------
    file
        As the compiler named it.
    number
        Counted from 1; 0 if it is not known.
    function
        That the line is in.
    """

    file: str
    number: int
    function: str

    def __str__(self) -> str:
        own = Path(self.file)
        # The package's headers are where it is installed, which says nothing.
        file = next((own.relative_to(x) for x in (_included(), Path.cwd()) if own.is_relative_to(x)), own)
        return f"{file}:{self.number}" if self.number else str(file)


@dataclass(frozen=True)
class Finding:
    """Something that is wrong.

    Attributes
    ----------
    kind
        "race", "missing-fence", "uninitialised", "out-of-bounds", "misaligned", "barrier", "deadlock", "divergence",
        "asynchronous", "rule", "assertion", "crash", "api" or "unsupported"; docs/workbench.md has a line on each.
    is_warning
        Whether the program may be right all the same.
    text
        A sentence, without its place.
    count
        How often it was found at this place.
    kernel
        The kernel's name; empty for a call of the host's.
    thread, block
        Their indices (x,y,z), of the first time; None for the host.
    stack
        Where it happened: the innermost place first, with those that were inlined.
    other_stack
        Where the other access of a race is, or what others wait for; empty if there is none.
    line
        The innermost place in the program's own source.
    other_line
        The same of `other_stack`; None if there is none.
    """

    kind: str
    is_warning: bool
    text: str
    count: int
    kernel: str
    thread: tuple[int, int, int] | None
    block: tuple[int, int, int] | None
    stack: tuple[Line, ...]
    other_stack: tuple[Line, ...]
    line: Line
    other_line: Line | None

    def __str__(self) -> str:
        who = "the program"
        if self.thread is not None and self.block is not None:
            who = f"{self.kernel}: thread {_index(self.thread)} of block {_index(self.block)}"
        times = f" ({self.count} times)" if self.count > 1 else ""
        text = f"{self.line}: {'warning: ' if self.is_warning else ''}{self.kind}: {who} {self.text}{times}"
        return f"{text}\n{self.other_line}: note: the other one is here" if self.other_line is not None else text

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""

        def stack(lines: Iterable[Line]) -> list[dict[str, Any]]:
            return [{"file": line.file, "line": line.number, "function": line.function} for line in lines]

        return {
            "kind": self.kind,
            "is_warning": self.is_warning,
            "text": self.text,
            "count": self.count,
            "kernel": self.kernel,
            "thread": self.thread,
            "block": self.block,
            "file": self.line.file,
            "line": self.line.number,
            "stack": stack(self.stack),
            "other_stack": stack(self.other_stack),
        }


@dataclass(frozen=True)
class Cost:
    """What the accesses of a line cost, of one cluster of a kernel's first launch.

    Attributes
    ----------
    line
        The innermost place in the program's own source.
    kernel
        The kernel's name.
    space
        "shared": wavefronts are counted, of which each moves a word of 4 bytes from or to each of 32 banks; "global":
        sectors of 32 bytes.
    is_write
        Whether it writes.
    bytes
        That a lane moves.
    requests
        Of warps.
    needed
        Wavefronts or sectors, if lanes met in no bank, or what they move lay side by side.
    taken
        Wavefronts or sectors as it is.
    """

    line: Line
    kernel: str
    space: str
    is_write: bool
    bytes: int
    requests: int
    needed: int
    taken: int

    def __str__(self) -> str:
        what = f"{'writes' if self.is_write else 'reads'} of {self.bytes} bytes a lane"
        unit = "wavefronts of shared memory" if self.space == "shared" else "sectors"
        return (
            f"{self.line}: {self.kernel}: {self.requests} {what}: {self.taken} {unit}, {self.needed} needed "
            f"({self.taken / max(1, self.needed):.2f})"
        )


def _included() -> Path:
    return home() / "include"


def _index(index: tuple[int, int, int]) -> str:
    """Write an index as CUDA's programs have it: (1,2,0), or 5 if x alone counts."""
    return str(index[0]) if index[1:] == (0, 0) else f"({','.join(map(str, index))})"


class Symbols:
    """The lines of a program's code."""

    def __init__(self, program: Path, source: Path) -> None:
        self._program = program
        self._source = source
        self._known: dict[int, tuple[Line, ...]] = {}

    def findings(self, reported: list[dict[str, Any]]) -> tuple[Finding, ...]:
        """Return findings as the program reported them, with lines in place of addresses."""
        addresses = {a for found in reported for place in ("place", "other") for a in found[place]["code"]}
        self._look_up(sorted(addresses))
        return tuple(self._finding(found) for found in reported)

    def costs(self, reported: list[dict[str, Any]]) -> tuple[Cost, ...]:
        """Return what lines cost: places in the program that share a line and move alike are one."""
        self._look_up(sorted({found["code"] for found in reported}))
        sums: dict[tuple[Any, ...], list[int]] = {}
        for found in reported:
            line = self._own_line(self._stack([found["code"]])) or Line(self._source.name, 0, "")
            key = (line.file, line.number, found["kernel"], found["space"], found["is_write"], found["bytes"])
            counts = sums.setdefault(key, [0, 0, 0])
            for i, name in enumerate(("requests", "needed", "taken")):
                counts[i] += found[name]
        return tuple(
            Cost(Line(file, number, ""), kernel, space, is_write, size, *counts)
            for (file, number, kernel, space, is_write, size), counts in sorted(sums.items())
        )

    def lines(self, addresses: Iterable[int]) -> dict[int, Line | None]:
        """Return of each address the innermost place in the program's own source."""
        wanted = sorted(set(addresses) - {0})
        self._look_up(wanted)
        return {0: None, **{address: self._own_line(self._stack([address])) for address in wanted}}

    def _finding(self, found: dict[str, Any]) -> Finding:
        stack, other = (self._stack(found[place]["code"]) for place in ("place", "other"))
        thread, block = (found["place"].get(name) for name in ("thread", "block"))
        return Finding(
            found["kind"],
            found["is_warning"],
            found["text"],
            found["count"],
            found["kernel"],
            tuple(thread) if thread else None,
            tuple(block) if block else None,
            stack,
            other,
            self._own_line(stack) or Line(self._source.name, 0, ""),
            self._own_line(other),
        )

    def _stack(self, code: list[int]) -> tuple[Line, ...]:
        return tuple(line for address in code for line in self._known.get(address, ()))

    def _own_line(self, stack: tuple[Line, ...]) -> Line | None:
        """Return the innermost place in the program's source, else in a kernel of the package, else in CuTe."""
        known = [line for line in stack if line.number]
        csrc = _included() / "csrc"
        for foreign in (
            (str(_included()), "/usr/"),
            (str(csrc / "workbench"), str(_included() / "cutlass"), "/usr/"),
            (str(csrc),),
        ):
            own = next((line for line in known if not line.file.startswith(foreign)), None)
            if own is not None:
                return own
        return next(iter(known), None)

    def _look_up(self, addresses: list[int]) -> None:
        tool = shutil.which("addr2line")
        if tool is None or not addresses:
            return
        # An address that a call returns to is behind the call.
        wanted = "\n".join(f"{max(0, address - 1):#x}" for address in addresses)
        done = subprocess.run(
            [tool, "-e", self._program, "-a", "-f", "-i", "-C"],
            input=wanted,
            capture_output=True,
            text=True,
            check=False,
        )
        lines = done.stdout.splitlines()
        address = -1
        frames: dict[int, list[Line]] = {}
        i = 0
        while i < len(lines):
            if lines[i].startswith("0x"):
                address = int(lines[i], 16) + 1
                i += 1
                continue
            if i + 1 == len(lines):
                break
            function, (file, _, rest) = lines[i], lines[i + 1].rpartition(":")
            digits = rest.split(" ")[0]  # perhaps with "(discriminator 2)"
            frames.setdefault(address, []).append(Line(file, int(digits) if digits.isdigit() else 0, function))
            i += 2
        self._known |= {address: tuple(of_one) for address, of_one in frames.items()}
