"""The judge's programs: from cases to C++, to what CuTe prints."""

from __future__ import annotations

import functools
import itertools
import os
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from headers import ROOT, cuda_headers
from judge.cases import Case
from judge.tiled import Print

HEAD = '#include "judge.hpp"\n'
CONFIGS = sorted((ROOT / "csrc" / "kernels").glob("*/config.hpp"))
HEAD_OF_PRINTS = HEAD + "".join(f'#include "kernels/{path.parent.name}/{path.name}"\n' for path in CONFIGS)
EXTENDED = "#define CUTE_SM90_EXTENDED_MMA_SHAPES_ENABLED\n#include <cute/atom/mma_traits_sm90_gmma_sparse.hpp>\n"
VALUES = 64  # of each layout
T = TypeVar("T")


def compiler(*flags: str) -> list[str]:
    cuda = cuda_headers()
    command = [os.environ.get("CXX", "g++"), "-std=c++17", "-O0", "-w", *flags, f"-I{ROOT / 'tests' / 'cpp'}"]
    command += [f"-I{ROOT / 'csrc'}"]
    return [*command, *(f"-isystem{path}" for path in (ROOT / "third_party/cutlass/include", cuda, cuda / "cccl"))]


@functools.cache
def precompiled(head: str) -> tempfile.TemporaryDirectory[str]:
    """A folder with `head.hpp` and its precompiled form, which a program that includes it is compiled with."""
    folder = tempfile.TemporaryDirectory(prefix="judge")
    header = Path(folder.name) / "head.hpp"
    header.write_text(head)
    subprocess.run([*compiler(), "-x", "c++-header", str(header), "-o", f"{header}.gch"], check=True)
    return folder


def run(head: str, body: str, source: Path) -> str:
    """Compile a program of a head and a body, and return what it prints."""
    source.write_text(f'#include "head.hpp"\n{body}')
    binary = source.with_suffix("")
    command = [*compiler(f"-I{precompiled(head).name}"), str(source), "-o", str(binary)]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, f"{source.name} does not compile:\n{built.stderr[:4000]}"
    return subprocess.run([str(binary)], capture_output=True, text=True, check=True).stdout


def in_parts(statements: Sequence[T], parts: int) -> list[Sequence[T]]:
    """Cut into parts that are compiled apart. Neighbours stay together: they have templates in common."""
    ends = [len(statements) * part // parts for part in range(parts + 1)]
    return [statements[begin:end] for begin, end in itertools.pairwise(ends)]


def verdicts(cases: Sequence[Case], folder: Path, parts: int = 4) -> list[tuple[str, list[str]]]:
    """Return, for each case, the text and the values that CuTe gives."""
    precompiled(HEAD)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        outputs = pool.map(run_cases, in_parts(cases, parts), [folder / f"judge_{part}.cpp" for part in range(parts)])
    result = []
    for line in itertools.chain.from_iterable(outputs):
        text, _, values = line.partition(" | ")
        result.append((text, values.split()))
    return result


def run_cases(cases: Sequence[Case], source: Path) -> list[str]:
    # Static results are values of their type: the operation is not called, and so costs no code.
    body = "".join(f"static void case_{i}() {{ JUDGE({case.cpp}); }}\n" for i, case in enumerate(cases))
    calls = "".join(f"case_{i}();" for i in range(len(cases)))
    lines = run(HEAD, f"using namespace cute;\n{body}int main() {{ {calls} }}\n", source).splitlines()
    assert len(lines) == len(cases), f"{source.name} printed {len(lines)} lines for {len(cases)} cases"
    return lines


def printed(prints: Sequence[Print], folder: Path, parts: int = 2, head: str = "") -> list[str]:
    """Return what each statement prints; `head` comes before the other headers."""
    precompiled(head + HEAD_OF_PRINTS)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        sources = [folder / f"prints_{part}.cpp" for part in range(parts)]
        outputs = pool.map(run_prints, in_parts(prints, parts), sources, itertools.repeat(head))
    return list(itertools.chain.from_iterable(outputs))


def run_prints(prints: Sequence[Print], source: Path, head: str) -> list[str]:
    body = "".join(f"static void print_{i}() {{ {p.cpp} }}\n" for i, p in enumerate(prints))
    calls = "".join(f'print_{i}(); std::printf("\\n@@\\n");' for i in range(len(prints)))
    using = "using namespace cute;\nusing namespace judge;\nusing cute_py::Major;\n"
    texts = run(head + HEAD_OF_PRINTS, f"{using}{body}int main() {{ {calls} }}\n", source).split("\n@@\n")[:-1]
    assert len(texts) == len(prints), f"{source.name} printed {len(texts)} texts for {len(prints)} statements"
    return texts
