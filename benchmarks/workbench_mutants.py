"""Faults planted in NVIDIA's tutorial programs: each barrier, wait, fence and commit left out, counts that are wrong.

    python benchmarks/workbench_mutants.py [--json FILE] [--only NAME]

A program is compiled once: each of its statements that synchronises becomes one that an environment variable leaves out,
or replaces. A fault is found if the workbench reports an error that it does not report of the unchanged program.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from cute_py import workbench

TUTORIAL = Path(__file__).parents[1] / "third_party" / "cutlass" / "tutorial"

# Program, architecture, arguments of the runs that a fault has to show in.
PROGRAMS = (
    ("sgemm_1.cu", "80", ("256 128 64 N T",)),
    ("sgemm_2.cu", "80", ("256 128 64 N T",)),
    ("sgemm_sm70.cu", "80", ("256 128 64 N T",)),
    ("sgemm_sm80.cu", "80", ("256 128 256 T N",)),
    ("hopper/wgmma_tma_sm90.cu", "90a", ("256 128 512 N T",)),
    ("blackwell/01_mma_sm100.cu", "100a", ("256 256 192",)),
    ("blackwell/02_mma_tma_sm100.cu", "100a", ("256 256 192",)),
    ("blackwell/03_mma_tma_multicast_sm100.cu", "100a", ("512 1024 192",)),
    ("blackwell/04_mma_tma_2sm_sm100.cu", "100a", ("512 1024 192",)),
    ("blackwell/05_mma_tma_epi_sm100.cu", "100a", ("512 1024 192",)),
)

_CALLS = (
    r"__syncthreads|cp_async_fence|cp_async_wait<[^;]*?>|(?:cute::)?cluster_sync|warpgroup_(?:arrive|commit_batch|wait<0>)|"
    r"tma_store_(?:fence|arrive|wait<0>)|(?:cute::)?(?:initialize_barrier|wait_barrier|set_barrier_transaction_bytes)|"
    r"cutlass::arch::umma_arrive\w*|(?:Producer|Consumer)BarType::(?:init|wait|arrive|arrive_and_expect_tx)|"
    r"tmem_allocator\.(?:free|allocate)"
)
_STATEMENT = re.compile(
    rf"^(?P<indent>\s*)(?P<statement>(?:(?:{_CALLS})\s*\([^;]*\)|\w*phase_bit \^= 1));", re.MULTILINE
)

# Of the statements that can be left out, those that need not be there, and why.
UNNEEDED = {
    ("sgemm_1.cu", 209): "its copies are not asynchronous",
    ("sgemm_1.cu", 210): "its copies are not asynchronous",
    ("hopper/wgmma_tma_sm90.cu", 243): "warpgroup_wait<0> before it has waited for all four warps of the one warpgroup",
    ("blackwell/01_mma_sm100.cu", 258): "the barrier of line 280 comes before anybody waits for the mbarrier",
    ("blackwell/05_mma_tma_epi_sm100.cu", 443): "each thread writes what it has read itself, as the program says",
    ("blackwell/05_mma_tma_epi_sm100.cu", 454): "who goes on waits for C, which is loaded when D has been stored",
    ("blackwell/05_mma_tma_epi_sm100.cu", 456): "the barrier of line 454 is the statement before",
}

# A wrong count or size in the place of a right one.
CHANGES = (
    (re.compile(r"cp_async_wait<K_PIPE_MAX-2>"), "cp_async_wait<K_PIPE_MAX-1>"),
    (re.compile(r"(BarType::init\([^;]*,\s*)(\w+)\)"), r"\1\2 + 1)"),
    (re.compile(r"(initialize_barrier\([^;]*?(?:/\*[^*]*\*/)?\s*)(\w+)\)$"), r"\1\2 + 1)"),
    (re.compile(r"(arrive_and_expect_tx|set_barrier_transaction_bytes)\((.*), (\w+)\)$"), r"\1(\2, \3 - 16)"),
    (re.compile(r"(arrive_and_expect_tx|set_barrier_transaction_bytes)\((.*), (\w+)\)$"), r"\1(\2, \3 + 16)"),
    (re.compile(r"(BarType::wait\(.*), (\w+)\.phase\(\)\)"), r"\1, \2.phase() ^ 1)"),
    (re.compile(r"wait_barrier\((.*), (\w+)\)$"), r"wait_barrier(\1, \2 ^ 1)"),
)

_SWITCH = """
#include <cstdlib>
__attribute__((no_sanitize("thread"), noinline)) static bool is_mutant_(int number) {
  static int const chosen = [] { char const* given = std::getenv("MUTANT"); return given ? std::atoi(given) : -1; }();
  return chosen == number;
}
"""


@dataclass(frozen=True)
class Mutant:
    """A fault."""

    program: str
    number: int
    line: int
    was: str
    becomes: str  # empty: nothing


@dataclass(frozen=True)
class Result:
    mutant: Mutant
    found: tuple[str, ...]  # kinds of errors that the unchanged program has not
    seconds: float
    unneeded: str = ""


def planted(text: str, program: str) -> tuple[str, list[Mutant]]:
    """Return a program whose statements that synchronise can be left out, and what can be."""
    mutants: list[Mutant] = []

    def switch(match: re.Match[str]) -> str:
        statement = match["statement"]
        line = text.count("\n", 0, match.start("statement")) + 1
        number = len(mutants)
        mutants.append(Mutant(program, number, line, statement, ""))
        made = f"if (!is_mutant_({number})) {{"
        for pattern, by in CHANGES:
            if pattern.search(statement):
                number = len(mutants)
                changed = pattern.sub(by, statement)
                mutants.append(Mutant(program, number, line, statement, changed))
                made += f" if (is_mutant_({number})) {{ {changed}; }} else"
        return f"{match['indent']}{made} {{ {statement}; }} }}"

    body = _STATEMENT.sub(switch, text)
    return f"{_SWITCH.strip()}\n#line 1\n{body}", mutants


def errors(result: workbench.Run) -> set[tuple[str, int]]:
    return {(finding.kind, finding.line.number) for finding in result.findings if not finding.is_warning}


def tried(program: str, architecture: str, runs: tuple[str, ...]) -> list[Result]:
    file = TUTORIAL / program
    text, mutants = planted(file.read_text(), program)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        changed = Path(folder) / file.name
        changed.write_text(text)
        made = workbench.program(changed, architecture=architecture, include=[file.parent])
        os.environ.pop("MUTANT", None)
        known = set().union(*(errors(made.run(*run.split(), capture=True)) for run in runs))
        for mutant in mutants:
            os.environ["MUTANT"] = str(mutant.number)
            began = time.monotonic()
            found: set[tuple[str, int]] = set()
            for run in runs:
                for order in ("forward", "random"):
                    if not found:
                        result = made.run(*run.split(), order=order, seed=1, capture=True, timeout=300)
                        found |= errors(result) - known
                        if result.exit_code != 0 and not found and not known:
                            found.add(("exit code", 0))
            why = UNNEEDED.get((program, mutant.line), "") if not mutant.becomes else ""
            results.append(Result(mutant, tuple(sorted({kind for kind, _ in found})), time.monotonic() - began, why))
        os.environ.pop("MUTANT", None)
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="a part of a program's name")
    parser.add_argument("--json", type=Path, help="write the results here")
    options = parser.parse_args()
    every: list[Result] = []
    for program, architecture, runs in PROGRAMS:
        if options.only is not None and options.only not in program:
            continue
        results = tried(program, architecture, runs)
        every += results
        for result in results:
            mutant = result.mutant
            what = f"becomes {mutant.becomes}" if mutant.becomes else "is left out"
            said = ", ".join(result.found) or result.unneeded or "NOT FOUND"
            print(f"{program}:{mutant.line}: {mutant.was} {what}: {said}", flush=True)
        needed = [result for result in results if not result.unneeded]
        print(f"== {program}: {sum(bool(r.found) for r in needed)} of {len(needed)} found", flush=True)
    needed = [result for result in every if not result.unneeded]
    count = sum(bool(result.found) for result in needed)
    print(f"{count} of {len(needed)} faults found; {len(every) - len(needed)} statements that need not be there")
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(result) for result in every], indent=1) + "\n")
    return 0 if count == len(needed) else 1


if __name__ == "__main__":
    sys.exit(main())
