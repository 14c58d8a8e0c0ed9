"""The judge's programs: from cases to C++, to what CuTe prints."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from headers import ROOT, cuda_headers
from judge.cases import Case
from judge.tiled import Print

HEAD = '#include "judge.hpp"\nusing namespace cute;\n'
VALUES = 64  # of each layout


def compiler(*flags: str) -> list[str]:
    cuda = cuda_headers()
    command = [os.environ.get("CXX", "g++"), "-std=c++17", "-O0", "-w", *flags, f"-I{ROOT / 'tests' / 'cpp'}"]
    command += [f"-I{ROOT / 'csrc'}"]
    return [*command, *(f"-isystem{path}" for path in (ROOT / "third_party/cutlass/include", cuda, cuda / "cccl"))]


def verdicts(cases: Sequence[Case], folder: Path, parts: int = 4) -> list[tuple[str, list[str]]]:
    """Return, for each case, the text and the values that CuTe gives."""
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        outputs = list(pool.map(lambda part: run_part(cases[part::parts], folder / f"judge_{part}.cpp"), range(parts)))
    result: list[tuple[str, list[str]]] = [("", [])] * len(cases)
    for part, lines in enumerate(outputs):
        for offset, line in enumerate(lines):
            text, _, values = line.partition(" | ")
            result[part + parts * offset] = (text, values.split())
    return result


def run_part(cases: Sequence[Case], source: Path) -> list[str]:
    # Static results are values of their type: the operation is not called, and so costs no code.
    body = "".join(f"static void case_{i}() {{ JUDGE({case.cpp}); }}\n" for i, case in enumerate(cases))
    calls = "".join(f"case_{i}();" for i in range(len(cases)))
    source.write_text(f"{HEAD}{body}int main() {{ {calls} }}\n")
    binary = source.with_suffix("")
    built = subprocess.run([*compiler(), str(source), "-o", str(binary)], capture_output=True, text=True)
    assert built.returncode == 0, f"{source.name} does not compile:\n{built.stderr[:4000]}"
    ran = subprocess.run([str(binary)], capture_output=True, text=True, check=True)
    lines = ran.stdout.splitlines()
    assert len(lines) == len(cases), f"{source.name} printed {len(lines)} lines for {len(cases)} cases"
    return lines


EXTENDED = "#define CUTE_SM90_EXTENDED_MMA_SHAPES_ENABLED\n#include <cute/atom/mma_traits_sm90_gmma_sparse.hpp>\n"


def printed(prints: Sequence[Print], folder: Path, parts: int = 2, head: str = "") -> list[str]:
    """Return what each statement prints."""
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        outputs = list(
            pool.map(lambda part: run_prints(prints[part::parts], folder / f"prints_{part}.cpp", head), range(parts))
        )
    result = [""] * len(prints)
    for part, texts in enumerate(outputs):
        result[part::parts] = texts
    return result


def run_prints(prints: Sequence[Print], source: Path, head: str) -> list[str]:
    body = "".join(f"static void print_{i}() {{ {p.cpp} }}\n" for i, p in enumerate(prints))
    calls = "".join(f'print_{i}(); std::printf("\\n@@\\n");' for i in range(len(prints)))
    configs = sorted((ROOT / "csrc" / "kernels").glob("*/config.hpp"))
    includes = "".join(f'#include "kernels/{path.parent.name}/{path.name}"\n' for path in configs)
    source.write_text(
        head
        + f"{HEAD}using namespace judge;\nusing cute_py::Major;\n{body}int main() {{ {calls} }}\n".replace(
            HEAD, HEAD + includes
        )
    )
    binary = source.with_suffix("")
    built = subprocess.run([*compiler(), str(source), "-o", str(binary)], capture_output=True, text=True)
    assert built.returncode == 0, f"{source.name} does not compile:\n{built.stderr[:4000]}"
    ran = subprocess.run([str(binary)], capture_output=True, text=True, check=True)
    texts = ran.stdout.split("\n@@\n")[:-1]
    assert len(texts) == len(prints), f"{source.name} printed {len(texts)} texts for {len(prints)} statements"
    return texts
