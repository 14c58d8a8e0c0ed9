"""Collect the headers that units of kernels include, for the emulator and for the CPU: ours, CuTe's and CUTLASS's, CUDA's and CCCL's.

Usage: unit_headers.py COMPILER OUTPUT CSRC CUTLASS CUDA CCCL

What the compiler reads for all lists of variants together, for the emulator and for a GPU, is copied to OUTPUT/csrc,
OUTPUT/cutlass and OUTPUT/cuda, with OUTPUT/digest, a hash of all of it. A file that has not changed is not written again.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def included(compiler: str, csrc: Path, system: list[Path]) -> list[Path]:
    """Return every file that families of kernels include, for each target."""
    kernels = [*csrc.glob("kernels/*/variants*.hpp"), *csrc.glob("kernels/common/*.hpp")]  # rules include the latter
    lists = sorted(str(path.relative_to(csrc)) for path in kernels)
    emulator = ["instances/launch_emulator.hpp", *lists]
    cuda = ["instances/launch_cuda.cuh", "instances/tensor_map.cu", *lists]
    cpu = ["cpu/family.hpp", "cpu/model.hpp", "base/parallel.hpp", "base/workspace.hpp", "instances/unit_entry.hpp"]
    return [
        # The emulator's headers stand in front of CuTe's of the same names.
        *included_by(emulator, compiler, [csrc / "emulator" / "include", csrc], system),
        *included_by(cuda, compiler, [csrc], system),
        *included_by(cpu, compiler, [csrc], system),
    ]


def included_by(names: list[str], compiler: str, own: list[Path], system: list[Path]) -> list[Path]:
    """Return every file that a source with these includes reads."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "all.cpp"
        source.write_text("".join(f'#include "{name}"\n' for name in names))
        command = [compiler, "-M", "-std=c++17", *(f"-I{path}" for path in own)]
        command += [f"-isystem{path}" for path in system]
        rule = subprocess.run([*command, str(source)], check=True, capture_output=True, text=True).stdout
    words = rule.partition(":")[2].replace("\\\n", " ").replace("\\ ", "\0").split()
    return [Path(word.replace("\0", " ")) for word in words]


def main() -> None:
    compiler, output = sys.argv[1], Path(sys.argv[2])
    csrc, cutlass, cuda, cccl = (Path(argument).resolve() for argument in sys.argv[3:7])
    wanted: dict[Path, Path] = {}
    for path in sorted({path.resolve() for path in included(compiler, csrc, [cutlass, cuda, cccl])}):
        for root, name in ((csrc, "csrc"), (cutlass, "cutlass"), (cuda, "cuda")):
            if path.is_relative_to(root):
                wanted[Path(name) / path.relative_to(root)] = path
                break
    digest = hashlib.sha256()
    for place, path in sorted(wanted.items()):
        content = path.read_bytes()
        digest.update(f"{place} {len(content)}\n".encode() + content)
        copy = output / place
        if not copy.exists() or copy.read_bytes() != content:
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
    for path in sorted(output.rglob("*")):
        if path.is_file() and path.relative_to(output) not in wanted and path.name != "digest":
            path.unlink()
    (output / "digest").write_text(digest.hexdigest() + "\n")


if __name__ == "__main__":
    main()
