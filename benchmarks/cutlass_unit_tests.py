"""How many of CUTLASS's unit tests of CuTe pass in the workbench, and what it finds in them.

    python benchmarks/cutlass_unit_tests.py ~/cutlass [--only ldsm.cu Tma_Load] [--jobs 2] [--json tests.json]

The folder is a checkout of CUTLASS 4.2, of which include, test/unit and tools/util are read. GoogleTest is not needed:
gtest_stand_in has what the tests use of it. Each file is compiled once, without assert() as CUTLASS's own build does
it, and each case is run by itself, so that a kernel that fails leaves the others alone. A file takes 5 to 110 s to
compile, and up to 5 GB. Exits with 1 unless all cases pass and none has a finding but warnings.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

from cute_py import workbench
from cute_py.errors import CuteError

STAND_IN = Path(__file__).parent / "gtest_stand_in"
FOLDERS = ("volta", "turing", "ampere", "hopper")
PATIENCE_S = 900  # for one case


@dataclass
class Case:
    """One test case: "passed", "failed", "skipped", or why it did not end."""

    name: str
    outcome: str
    seconds: float
    findings: dict[str, int] = field(default_factory=dict)  # by kind: places
    warnings: dict[str, int] = field(default_factory=dict)
    text: list[str] = field(default_factory=list)  # what was said of it


@dataclass
class File:
    """A file of tests; `error` where it does not compile."""

    folder: str
    name: str
    cases: list[Case] = field(default_factory=list)
    compile_s: float = 0
    compile_mb: float = 0  # of the largest process; little if the cache had it
    error: str = ""


def files_of(checkout: Path, only: list[str]) -> list[Path]:
    """Return the files to compile. A name of `only` that is no file's is one of cases, which any file may have."""
    root = checkout / "test" / "unit" / "cute"
    found = [file for folder in FOLDERS for file in sorted((root / folder).glob("*.cu"))]
    named = [file for file in found if any(word in (file.name, file.stem, file.parent.name) for word in only)]
    named += [file for file in found if any(f"{file.parent.name}/{file.name}" == word for word in only)]
    return sorted(set(named), key=found.index) or [
        file for file in found if not only or any(word in file.read_text() for word in only)
    ]


def run_file(
    file: Path, checkout: Path, headers: Path, define: list[str], architecture: str, order: str, only: list[str]
) -> File:
    """Compile a file, and run its cases. Runs in a process of its own, for the sake of its peak of memory."""
    made = File(file.parent.name, file.name)
    unit = checkout / "test" / "unit"
    include = [STAND_IN, unit / "common", unit, checkout / "tools" / "util" / "include", headers]
    began = time.monotonic()
    try:
        program = workbench.program(file, architecture=architecture, include=include, define=define)
    except CuteError as error:
        made.error = str(error)
        return made
    finally:
        made.compile_s = time.monotonic() - began
        made.compile_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    listed = (program.run("--gtest_list_tests", capture=True).output or "").split()
    names = [word for word in only if any(word in name for name in listed)]
    chosen = [name for name in listed if not names or any(word in name for word in names)]
    made.cases = [run_case(program, name, order) for name in chosen]
    return made


def run_case(program: workbench.Program, name: str, order: str) -> Case:
    """Run one case."""
    try:
        run = program.run(f"--gtest_filter={name}", capture=True, order=order, timeout=PATIENCE_S)  # type: ignore[arg-type]
    except subprocess.TimeoutExpired:
        return Case(name, f"ran past {PATIENCE_S} s", PATIENCE_S)
    said = re.search(r"^\[ (OK|FAILED|SKIPPED) \]", run.output or "", re.MULTILINE)
    outcome = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}[said[1]] if said else f"ended: {run.exit_code}"
    made = Case(name, outcome, run.seconds)
    for finding in run.findings:
        kinds = made.warnings if finding.is_warning else made.findings
        kinds[finding.kind] = kinds.get(finding.kind, 0) + 1
        made.text.append(str(finding))
    if outcome not in ("passed", "skipped"):
        made.text += (run.output or "").splitlines()[-12:]
    return made


def lines_of(file: File, is_wordy: bool) -> Iterator[str]:
    """Yield what is printed of a file."""
    compiled = f"{file.folder}/{file.name}: {file.compile_s:.0f} s to compile, {file.compile_mb:.0f} MB"
    yield f"{compiled}: {file.error}" if file.error else compiled
    for case in file.cases:
        words = [f"{kind} {count}" for kind, count in case.findings.items()]
        words += [f"warning: {kind} {count}" for kind, count in case.warnings.items()]
        yield f"  {case.name}: {', '.join([case.outcome, *words])}: {case.seconds:.2f} s"
        if is_wordy or case.outcome not in ("passed", "skipped") or case.findings:
            yield from (f"    {line}" for text in case.text for line in text.splitlines())


def table(files: list[File]) -> Iterator[str]:
    """Yield the sums by folder."""
    yield f"{'':8} {'files':>6} {'cases':>6} {'passed':>7} {'skipped':>8} {'findings':>9} {'warnings':>9}"
    for folder in (*FOLDERS, "all"):
        own = [file for file in files if folder in (file.folder, "all")]
        cases = [case for file in own for case in file.cases]
        if not own:
            continue
        passed = sum(case.outcome == "passed" for case in cases)
        skipped = sum(case.outcome == "skipped" for case in cases)
        found, warned = sum(bool(case.findings) for case in cases), sum(bool(case.warnings) for case in cases)
        broken = sum(bool(file.error) for file in own)
        tail = f"  {broken} files do not compile" if broken else ""
        yield f"{folder:8} {len(own):6} {len(cases):6} {passed:7} {skipped:8} {found:9} {warned:9}{tail}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, help="folder of CUTLASS 4.2")
    parser.add_argument("--only", nargs="+", default=[], help="files, folders, or parts of cases' names")
    parser.add_argument("--jobs", type=int, default=1, help="files at a time")
    parser.add_argument("--json", type=Path, help="file for all that was found")
    parser.add_argument("--headers", type=Path, help="folder of CUTLASS's headers, if not the checkout's include")
    parser.add_argument("--architecture", default="90a")
    parser.add_argument(
        "--assert", dest="asserts", action="store_true", help="keep assert(), which CUTLASS's build drops"
    )
    parser.add_argument("--order", choices=("forward", "backward", "random"), default="forward")
    parser.add_argument("--wordy", action="store_true", help="print warnings of cases that pass, too")
    asked = parser.parse_args()
    checkout = asked.checkout.resolve()
    headers = (asked.headers or checkout / "include").resolve()
    chosen = files_of(checkout, asked.only)
    if not chosen:
        parser.error(f"{checkout}/test/unit/cute has no such tests")
    define = ["CUTE_PY_USES_THRUST", "CUTLASS_TEST_LEVEL=2", *([] if asked.asserts else ["NDEBUG"])]
    workbench.program("nothing.cu", text="int main() {}")  # so that the run time is there
    files: list[File] = []
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(asked.jobs, mp_context=context, max_tasks_per_child=1) as pool:
        futures: list[Future[File]] = [
            pool.submit(run_file, file, checkout, headers, define, asked.architecture, asked.order, asked.only)
            for file in chosen
        ]
        for future in futures:
            files.append(future.result())
            print("\n".join(lines_of(files[-1], asked.wordy)), flush=True)
    print("\n".join(table(files)))
    if asked.json:
        asked.json.write_text(json.dumps([asdict(file) for file in files], indent=1))
    bad = any(
        file.error or any(case.outcome not in ("passed", "skipped") or case.findings for case in file.cases)
        for file in files
    )
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
