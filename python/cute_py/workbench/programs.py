"""Compiling CUDA programs for the emulator, and running them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache as memory
from pathlib import Path
from typing import IO, Any, Literal

from cute_py._files import write_whole
from cute_py.errors import OperandError, UnitError
from cute_py.units import cache
from cute_py.units.compiler import Source, first_program, gpu_compiler, home, host_compiler, run
from cute_py.units.emulator import Progress
from cute_py.workbench.findings import Cost, Finding, Symbols
from cute_py.workbench.source import included, rewrite
from cute_py.workbench.timeline import Timeline, timelines_of

__all__ = ["Program", "Run", "program"]

# Functions that the compiler makes of copies, and that a program calls as others, so that they are looked at.
_COPIES = ("memcpy", "memmove", "memset")


@dataclass(frozen=True)
class Run:
    """What a program did.

    Attributes
    ----------
    exit_code
        Of the program; negative: the signal that ended it.
    findings
        What is wrong with it, in the order in which it was found.
    left_out
        How many more there are.
    launches
        Kernels, each with its shape, how often it was launched, and the seconds that took.
    seconds
        From start to end.
    output
        What it printed, if it was asked for.
    costs
        Bank conflicts and sectors of the accesses of each line, of one cluster of each kernel.
    timelines
        What one cluster of each kernel did and waited for, if it was asked for.
    """

    exit_code: int
    findings: tuple[Finding, ...]
    left_out: int
    launches: tuple[dict[str, Any], ...]
    seconds: float
    output: str | None = None
    costs: tuple[Cost, ...] = ()
    timelines: tuple[Timeline, ...] = ()

    @property
    def is_clean(self) -> bool:
        """Whether it ended well and nothing but warnings was found."""
        return self.exit_code == 0 and all(finding.is_warning for finding in self.findings)

    def __str__(self) -> str:
        lines = [str(finding) for finding in self.findings]
        if self.left_out:
            lines.append(f"{self.left_out} more findings")
        if self.exit_code < 0:
            lines.append(f"the program ended by {signal.Signals(-self.exit_code).name}")
        for launch in self.launches:
            times = f"{launch['count']} times, " if launch["count"] > 1 else ""
            lines.append(f"{launch['kernel']}: {launch['shape']}: {times}{launch['seconds']:.3f} s")
        errors = sum(not finding.is_warning for finding in self.findings)
        lines.append(f"{errors} errors, {len(self.findings) - errors} warnings")
        return "\n".join(lines)


@dataclass(frozen=True)
class Program:
    """A CUDA program that was compiled for the emulator.

    Attributes
    ----------
    file
        Its source.
    path
        The program, in the cache. It runs by itself, too, and in a debugger.
    architecture
        Of the device that it was compiled for, such as "90a".
    """

    file: Path
    path: Path
    architecture: str

    def run(
        self,
        *arguments: object,
        order: Literal["forward", "backward", "random"] = "forward",
        seed: int = 0,
        checked: int = 1,
        dump: str | os.PathLike[str] | None = None,
        capture: bool = False,
        timeline: bool = False,
        timeout: float | None = None,
    ) -> Run:
        """Run it with these arguments.

        `order` is that of threads; "random" goes by `seed`. The first `checked` launches of each kernel with one shape
        are looked at for races, missing fences and reads of what nobody wrote; the rest for what lies out of bounds
        alone. Arrays on the device are written to the folder `dump` when they are freed, ``array-N.bin``, counted as
        they were allocated. With `capture` what it prints is in the result, and with `timeline` what one cluster of
        each kernel did and waited for. Raises OperandError for another order or a
        folder that is none, and subprocess.TimeoutExpired after `timeout` seconds.
        """
        if order not in ("forward", "backward", "random"):
            raise OperandError(f"run: order={order!r}\n  next: 'forward', 'backward' or 'random'")
        if dump is not None and (not Path(dump).is_dir() or ";" in os.fspath(Path(dump).resolve())):
            raise OperandError(
                f"run: dump={os.fspath(dump)!r} is no folder, or has a semicolon in its path\n  next: make it first"
            )
        with tempfile.TemporaryDirectory(prefix="cute_py-") as folder:
            report = Path(folder) / "report.json"
            settings: dict[str, object] = {"report": report, "order": order, "seed": seed, "checked": checked}
            settings["architecture"] = re.sub(r"\D", "", self.architecture)
            if timeline:
                settings["timeline"] = 1
            if dump is not None:
                settings["dump"] = Path(dump).resolve()
            environment = {**os.environ, "CUTE_PY_WORKBENCH": ";".join(f"{k}={v}" for k, v in settings.items())}
            pipe: int | IO[Any] | None = subprocess.PIPE if capture else None
            began = time.monotonic()
            done = subprocess.run(
                [self.path, *map(str, arguments)], env=environment, stdout=pipe, check=False, timeout=timeout
            )
            output = done.stdout.decode(errors="replace") if capture else None
            seconds = time.monotonic() - began
            found: dict[str, Any] = {"findings": [], "left_out": 0, "launches": [], "costs": [], "timelines": []}
            if report.exists():
                found = json.loads(report.read_text())
        symbols = Symbols(self.path, self.file)
        findings = symbols.findings(found["findings"])
        launches, costs = tuple(found["launches"]), symbols.costs(found["costs"])
        timelines = timelines_of(symbols, found["timelines"])
        return Run(done.returncode, findings, found["left_out"], launches, seconds, output, costs, timelines)

    def debug(self, *arguments: object, order: str = "forward", seed: int = 0) -> int:
        """Run it in gdb, which stops in the thread that does something wrong; return gdb's exit code.

        Raises UnitError where there is no gdb.
        """
        gdb = shutil.which("gdb")
        if gdb is None:
            raise UnitError("there is no gdb\n  next: install it, as by apt-get install gdb")
        settings = f"order={order};seed={seed};stops=1;threads=1"
        environment = {**os.environ, "CUTE_PY_WORKBENCH": settings}
        command = [gdb, "-q", "-ex", "run", "--args", str(self.path), *map(str, arguments)]
        return subprocess.run(command, env=environment, check=False).returncode


def program(
    file: str | os.PathLike[str],
    *,
    architecture: str = "90a",
    include: Sequence[str | os.PathLike[str]] = (),
    define: Sequence[str] = (),
    flags: Sequence[str] = (),
    text: str | None = None,
) -> Program:
    """Compile a CUDA program, unchanged, for the emulator, unless the cache has it.

    `architecture` is what its device code is compiled for, as nvcc's ``-arch=sm_90a``. `include` names folders of
    headers beside those of CuTe, CUTLASS, Thrust and CUDA that the package has, `define` macros such as ``"N=4"``, and
    `flags` what else the C++ compiler gets. With `text` the source is that, and `file` its name. Compiling runs no part
    of the program, but includes what it includes: compile what you trust. Raises OperandError for a file that cannot be
    read, another architecture, or a construct of CUDA that is not understood, with its line; UnitError with the
    compiler's words where it does not compile.
    """
    path = Path(file) if text is not None else Path(file).resolve()
    if text is None and not path.is_file():
        raise OperandError(f"program: there is no file {path}\n  next: the path of a CUDA program")
    if not re.fullmatch(r"[0-9]{2,3}[af]?", architecture):
        raise OperandError(f"program: there is no architecture {architecture!r}\n  next: such as '80', '90a'")
    settings = _Settings(architecture, tuple(Path(x).resolve() for x in include), tuple(define), tuple(flags))
    if text is None:
        return Program(path, _compiled(path, path, settings), architecture)
    with tempfile.TemporaryDirectory(prefix="cute_py-") as folder:
        source = Path(folder) / "source.cu"
        source.write_text(text)
        return Program(path, _compiled(source, path, settings), architecture)


@dataclass(frozen=True)
class _Settings:
    architecture: str
    include: tuple[Path, ...]
    define: tuple[str, ...]
    flags: tuple[str, ...]


def _headers() -> Path:
    return home() / "include"


def _preprocessor_flags(path: Path, settings: _Settings) -> list[str]:
    number = re.sub(r"\D", "", settings.architecture)
    flags = ["-x", "c++", "-std=c++17", "-w", f"-DCUTE_PY_ARCHITECTURE={number}0"]
    if settings.architecture[-1] in "af":
        flags.append(f"-D__CUDA_ARCH_FEAT_SM{number}_ALL")
    flags += ["-DTHRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CPP", *(f"-D{macro}" for macro in settings.define)]
    own = _headers() / "csrc"
    folders = [
        own / "workbench" / "include",
        own / "workbench" / "marks",
        own,
        path.parent,
        *settings.include,
        _headers() / "cutlass",
    ]
    flags += [f"-I{folder}" for folder in folders]
    flags += [f"-isystem{_headers() / 'cuda' / 'cccl'}", f"-isystem{_headers() / 'cuda'}"]
    if re.search(rb"^\s*#\s*include\s*[<\"](?:thrust|cub)/", path.read_bytes(), flags=re.MULTILINE):
        flags.append("-DCUTE_PY_USES_THRUST")
    return [*flags, "-include", "workbench/prelude.hpp"]


def _compile_flags() -> list[str]:
    """Return the flags of a program: instrumented, with lines and frame pointers for findings."""
    flags = ["-std=c++17", "-w", "-O2", "-g1", "-fno-omit-frame-pointer", "-fno-strict-aliasing", "-fsanitize=thread"]
    flags.append("-fno-optimize-sibling-calls")  # a call at a function's end has a line, too
    compiler = host_compiler()[1]
    if "clang" not in compiler:
        flags.append("--param=tsan-instrument-func-entry-exit=0")
    return [*flags, *_machine_flags()]


@memory
def _machine_flags() -> tuple[str, ...]:
    """Return what makes a * b + c one instruction, as it is on a GPU, and float16 cost little."""
    try:
        found = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    has = found[1].split() if found else []
    return tuple(f"-m{name}" for name in ("fma", "f16c") if name in has)


def _tool(name: str) -> str:
    found = first_program([name])
    if found is None:
        raise UnitError(f"there is no {name}\n  next: install binutils")
    return found[0]


def _joined(objects: Sequence[Path], folder: Path) -> Path:
    """Return one object with its own instances of templates: a linker would take a program's, instrumented ones."""
    named, joined, words = Source("workbench", ""), folder / "workbench.joined.o", folder / "weak.txt"
    command = [host_compiler()[0], "-r", "-nostdlib", "-Wl,--force-group-allocation"]
    run(named, [*command, *map(str, objects), "-o", str(joined)])
    listed = run(named, [_tool("nm"), "-P", "-g", "--defined-only", str(joined)])
    symbols = [line.split()[:2] for line in listed.splitlines()]
    words.write_text("".join(f"{name}\n" for name, kind in symbols if kind in "WVu"))
    run(named, [_tool("objcopy"), f"--localize-symbols={words}", str(joined)])
    return joined


@memory
def _runtime() -> Path:
    """Return the library that programs are linked with, compiled now if the cache has none."""
    csrc = _headers() / "csrc"
    tensor_core = csrc / "numeric" / "tensor_core.cpp"  # the emulator's, too
    sources = [*sorted((csrc / "workbench").glob("*.cpp")), tensor_core]
    path, version = host_compiler()
    flags = ["-std=c++17", "-O2", "-g1", "-w", "-fno-omit-frame-pointer", *_machine_flags()]
    if "clang" not in version:
        flags.append("-fno-gnu-unique")  # objcopy makes no such symbol local
    key = hashlib.sha256("\0".join([*flags, version, "joined"]).encode())
    for file in (*sorted((csrc / "workbench").rglob("*")), tensor_core, tensor_core.with_suffix(".hpp")):
        if file.is_file():
            key.update(file.name.encode() + file.read_bytes())
    name = key.hexdigest()
    found = cache.unit(name, ".a")
    with cache.locked(name):
        if found.exists():
            os.utime(found)
            return found
        with (
            Progress("compiling the workbench's run time, once"),
            tempfile.TemporaryDirectory(prefix="cute_py-") as folder,
        ):

            def compile_one(file: Path) -> Path:
                made = Path(folder) / f"{file.stem}.o"
                includes = [f"-I{csrc}", f"-isystem{_headers() / 'cuda'}"]
                run(Source(f"workbench/{file.name}", ""), [path, *flags, *includes, "-c", str(file), "-o", str(made)])
                return made

            with ThreadPoolExecutor(max(1, len(os.sched_getaffinity(0)))) as pool:
                objects = list(pool.map(compile_one, sources))
            made = Path(f"{found}.{os.getpid()}.part")
            run(Source("workbench", ""), [_tool("ar"), "rcs", str(made), str(_joined(objects, Path(folder)))])
            return cache.publish(name, made, ".a")


@dataclass(frozen=True)
class _Index:
    """Which program a source becomes, as long as no file changes that it includes: to preprocess it takes seconds.

    As in ccache's direct mode, a header that is new, and would be found before another one, goes unseen.
    """

    entry: str

    @classmethod
    def of(cls, path: Path, known_as: Path, settings: _Settings, made_with: str) -> _Index:
        words = [made_with, str(known_as), *_compile_flags(), *settings.flags, *settings.define, settings.architecture]
        words += [*map(str, settings.include), str(_headers())]
        words += [os.environ.get(name, "") for name in ("CPATH", "CPLUS_INCLUDE_PATH")]
        key = hashlib.sha256("\0".join(words).encode())
        for file in (path, Path(__file__), Path(__file__).with_name("source.py")):
            key.update(file.read_bytes())
        return cls(f"{key.hexdigest()}.program")

    def look_up(self) -> Path | None:
        """Return the program; None if there is none, or if a file has changed since."""
        try:
            name, size, *files = json.loads((cache.folder() / "index" / self.entry).read_text())
            program = cache.unit(name, ".program")
            if program.stat().st_size != size or any(_state(Path(file[0])) != file for file in files):
                return None
            os.utime(program)  # the least recently used go first
        except (OSError, ValueError):
            return None
        return program

    def keep(self, program: Path, read: list[Path]) -> None:
        """Add an entry for a program, and the files that were read for it."""
        text = json.dumps([program.stem, program.stat().st_size, *map(_state, read)])
        write_whole(cache.folder() / "index" / self.entry, lambda file: file.write(text.encode()))


def _state(file: Path) -> list[object]:
    facts = file.stat()
    return [str(file), facts.st_size, facts.st_mtime_ns]


def _compiled(path: Path, known_as: Path, settings: _Settings) -> Path:
    """Compile the source at `path`, which messages call `known_as`."""
    compiler, version = host_compiler()
    runtime = _runtime()
    index = _Index.of(path, known_as, settings, f"{version}{runtime.stem}")
    if (unchanged := index.look_up()) is not None:
        return unchanged
    named = Source(known_as.name, "")
    text = run(named, [compiler, "-E", *_preprocessor_flags(path, settings), str(path)])
    read = [file for file in included(text) if file != path]
    if known_as != path:  # the folder has another name each time
        text = text.replace(f'"{path}"', f'"{known_as}"').replace(f'"{path.parent}', f'"{known_as.parent}')
    text = rewrite(text, foreign=("/usr/", str(_headers() / "cuda"), str(_headers() / "csrc" / "workbench")))
    flags = [*_compile_flags(), *settings.flags]
    key = hashlib.sha256("\0".join([text, runtime.stem, version, *flags]).encode()).hexdigest()
    found = cache.unit(key, ".program")
    with cache.locked(key):
        if found.exists():
            os.utime(found)
            index.keep(found, read)
            return found
        with Progress(f"compiling {known_as.name}"), tempfile.TemporaryDirectory(prefix="cute_py-") as name:
            folder = Path(name)
            source, objects = folder / "program.cpp", folder / "program.o"
            source.write_text(text)
            began = time.monotonic()
            command = [compiler, *flags, "-c", str(source), "-o", str(objects)]
            try:
                run(named, command)
            except UnitError as error:  # of a class's name that it used before with another meaning, which nvcc takes
                if "changes meaning" not in str(error):
                    raise
                run(named, [*command, "-fpermissive"])
            redefined = [f"--redefine-sym={word}=cute_py_{word}" for word in _COPIES]
            run(named, [_tool("objcopy"), *redefined, str(objects)])
            made = Path(f"{found}.{os.getpid()}.part")
            try:
                run(named, [compiler, str(objects), str(runtime), "-o", str(made), "-pthread", "-ldl"])
                cache.append_log(f"{time.ctime()}: {known_as.name}, {time.monotonic() - began:.1f} s, {found.name}\n")
                published = cache.publish(key, made, ".program")
                index.keep(published, read)
                return published
            finally:
                made.unlink(missing_ok=True)


def compiled_by_nvcc(
    source: Path,
    name: str,
    architecture: str,
    *,
    include: Sequence[str | os.PathLike[str]] = (),
    define: Sequence[str] = (),
    flags: Sequence[str] = (),
    more_flags: Sequence[str] = (),
    suffix: str = ".program",
) -> Path:
    """Compile a source with nvcc, unless the cache has what its preprocessed text says; return what was made.

    `name` is for messages. Raises UnitError where there is no nvcc, and with its words where it does not compile.
    """
    compiler = gpu_compiler([architecture])
    options = ["-std=c++17", "-O3", "-w", f"-arch=sm_{architecture}", "--expt-relaxed-constexpr"]
    options += [*(f"-D{x}" for x in define), *flags, *more_flags]
    places = [*(f"-I{folder}" for folder in include), f"-isystem={_headers() / 'cutlass'}"]
    places += [f"-I{_headers() / 'csrc' / 'workbench' / 'marks'}", f"-I{_headers() / 'csrc'}"]
    named = Source(name, "")
    text = run(named, [compiler.path, *options, *places, "-E", "-Xcompiler=-P", str(source)])
    key = hashlib.sha256("\0".join([text, compiler.version, *options]).encode()).hexdigest()
    found = cache.unit(key, suffix)
    with cache.locked(key):
        if found.exists():
            os.utime(found)
            return found
        made = Path(f"{found}.{os.getpid()}.part")
        try:
            with Progress(f"compiling {name} with nvcc"):
                run(named, [compiler.path, *options, *places, str(source), "-o", str(made)])
            return cache.publish(key, made, suffix)
        finally:
            made.unlink(missing_ok=True)


def on_gpu(
    file: str | os.PathLike[str],
    *arguments: object,
    architecture: str = "90a",
    include: Sequence[str | os.PathLike[str]] = (),
    define: Sequence[str] = (),
    marks: Path | None = None,
) -> int:
    """Compile a CUDA program with nvcc, unless the cache has it, run it on the GPU, and return its exit code.

    What it marks (cute_py/marks.hpp) is written to the file `marks`. Raises UnitError where there is no nvcc, and with
    its words where the program does not compile.
    """
    path = Path(file).resolve()
    if not path.is_file():
        raise OperandError(f"program: there is no file {path}\n  next: the path of a CUDA program")
    made = compiled_by_nvcc(path, path.name, architecture, include=[path.parent, *include], define=define)
    environment = {**os.environ, "CUTE_PY_MARKS": str(marks)} if marks is not None else None
    return subprocess.run([made, *map(str, arguments)], env=environment, check=False).returncode
