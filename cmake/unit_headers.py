"""Collect the headers that units of kernels include, for the emulator and for the CPU: ours, CuTe's and CUTLASS's, CUDA's and CCCL's.

CUDA programs (`cute-py run`) include what they like: of CuTe all, of CUTLASS and Thrust what programs with CuTe use.

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
from collections.abc import Sequence
from pathlib import Path

# Beside CuTe's own headers, what programs that use them include of CUTLASS.
OF_PROGRAMS = (
    "cutlass/cluster_launch.hpp",
    "cutlass/device_kernel.h",
    "cutlass/arch/barrier.h",
    "cutlass/arch/mma_sm90.h",
    "cutlass/arch/reg_reconfig.h",
    "cutlass/half.h",
    "cutlass/numeric_conversion.h",
    "cutlass/pipeline/pipeline.hpp",
    "cutlass/util/GPU_Clock.hpp",
    "cutlass/util/helper_cuda.hpp",
    "cutlass/util/print_error.hpp",
)


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
        *included_by_programs(compiler, csrc, system),
    ]


def included_by_programs(compiler: str, csrc: Path, system: list[Path]) -> list[Path]:
    """Return what CUDA programs can include, and the workbench's run time."""
    cutlass = system[0]
    own = sorted(path for path in (csrc / "workbench").rglob("*") if path.is_file())
    own.append(csrc / "numeric" / "tensor_core.cpp")
    cute = sorted(str(path.relative_to(cutlass)) for path in (cutlass / "cute").rglob("*.hpp"))
    also = [name for name in OF_PROGRAMS if (cutlass / name).exists()]
    found = included_by([str(path) for path in own if path.suffix == ".cpp"], compiler, [csrc], system)
    for architecture in ("90", "100"):
        macros = [f"-DCUTE_PY_ARCHITECTURE={architecture}0", f"-D__CUDA_ARCH_FEAT_SM{architecture}_ALL"]
        macros += ["-DTHRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CPP", "-DCUTE_PY_USES_THRUST"]
        names = ["workbench/prelude.hpp", "cute/tensor.hpp", *cute, *also]
        found += included_by(names, compiler, [csrc / "workbench" / "include", csrc], system, macros)
    return [*own, *found, *equal_siblings(found)]


def equal_siblings(found: list[Path]) -> list[Path]:
    """Return files beside these that are equal to one of them: the compiler takes them for one, and names it once."""
    found = [path for path in found if path.exists()]  # but for the source that named them
    contents = {path.read_bytes() for path in found}
    beside = {path for folder in {path.parent for path in found} for path in folder.glob("*.h")}
    return sorted(path for path in beside - set(found) if path.read_bytes() in contents)


def included_by(
    names: list[str], compiler: str, own: list[Path], system: list[Path], flags: Sequence[str] = ()
) -> list[Path]:
    """Return every file that a source with these includes reads."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "all.cpp"
        source.write_text("".join(f'#include "{name}"\n' for name in names))
        command = [compiler, "-M", "-std=c++17", *flags, *(f"-I{path}" for path in own)]
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
