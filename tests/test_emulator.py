"""The emulator: it runs the kernels' own source, in any order of threads, and notices what a GPU would punish."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import cute_py
from cute_py import EmulatorOptions
from headers import ROOT, cuda_headers
from problems import make_case

KERNELS = sorted(path.stem for path in (ROOT / "csrc" / "kernels").glob("*gemm_*.cuh"))
CONFIGS = {
    "sgemm_1": "Sgemm1",
    "sgemm_2": "Sgemm2",
    "sgemm_sm70": "SgemmSm70",
    "sgemm_sm80": "SgemmSm80",
    "gemm_sm80": "GemmSm80",
    "gemm_skinny": "GemmSkinny",
    "gemm_small": "GemmSmall",
}
# These take what is ragged by their form for any modes.
ONE_FORM = ("gemm_sm80", "gemm_skinny", "gemm_small")


@pytest.mark.parametrize(
    "variant", [v for v in cute_py.kernels().values() if "emulator" in v.targets], ids=lambda v: v.name
)
def test_the_order_of_threads_does_not_matter(variant: cute_py.Kernel, rng: np.random.Generator) -> None:
    m, n, k = variant.tile if not variant.predicated else (129, 30, 19)
    case = make_case(rng, (m, n, 5 * k), "tn" if variant.layout == "any" else variant.layout, variant=variant)
    first = case.run("emulator", variant=variant).copy()
    for options in (
        EmulatorOptions(order="backward"),
        EmulatorOptions(order="random", seed=1),
        EmulatorOptions(order="random", seed=2, poison_shared_memory=False),
    ):
        np.testing.assert_array_equal(case.run("emulator", variant=variant, emulator=options), first)


def test_the_number_of_host_threads_does_not_matter(rng: np.random.Generator) -> None:
    case = make_case(rng, (300, 280, 40), "nt")
    results = []
    threads = cute_py.get_num_threads()
    try:
        for number in (1, 2, 5):
            cute_py.set_num_threads(number)
            results.append([case.run(target).copy() for target in ("emulator", "cpu")])
    finally:
        cute_py.set_num_threads(threads)
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])


def test_a_gpu_kernel_on_host_arrays_runs_in_the_emulator_where_there_is_no_gpu(rng: np.random.Generator) -> None:
    if cute_py.cuda_available():
        pytest.skip("there is a GPU")
    case = make_case(rng, (20, 30, 40), "tn", exact=True)
    explanation = cute_py.explain(case.A, case.B, kernel="sgemm_1")
    assert explanation.target == "emulator"
    assert "there is no GPU" in explanation.why
    np.testing.assert_array_equal(cute_py.gemm(case.A, case.B, kernel="sgemm_1"), case.A @ case.B.T)


# ---- Kernels with a line taken out


@dataclass(frozen=True)
class Mutant:
    """A kernel without one of its synchronisations; line 0 is the kernel as it is."""

    kernel: str
    line: int
    text: str


def mutants() -> list[Mutant]:
    found = []
    for kernel in KERNELS:
        found.append(Mutant(kernel, 0, "nothing"))
        lines = (ROOT / "csrc" / "kernels" / f"{kernel}.cuh").read_text().splitlines()
        for number, line in enumerate(lines, 1):
            if re.match(r"\s*(__syncthreads\(\)|cp_async_wait<.*>\(\));", line):
                found.append(Mutant(kernel, number, line.strip().partition(";")[0]))
    return found


def compile_and_run(mutant: Mutant, folder: Path) -> dict[str, bool]:
    """Build tests/cpp/mutant.cpp around the mutant and return, for each of its runs, whether the result was right."""
    header = folder / "kernels" / f"{mutant.kernel}.cuh"
    header.parent.mkdir()
    lines = (ROOT / "csrc" / "kernels" / header.name).read_text().splitlines(keepends=True)
    if mutant.line:
        del lines[mutant.line - 1]
    header.write_text("".join(lines))

    includes = [folder, ROOT / "csrc" / "emulator" / "include", ROOT / "csrc"]
    command = [os.environ.get("CXX", "g++"), "-std=c++17", "-O1", "-w", "-DNDEBUG", "-fno-strict-aliasing"]
    command += [f"-I{path}" for path in includes]
    cuda = cuda_headers()
    command += [f"-isystem{path}" for path in (ROOT / "third_party" / "cutlass" / "include", cuda, cuda / "cccl")]
    command += [f'-DKERNEL_HEADER="kernels/{header.name}"', f'-DCATALOGUE_HEADER="catalogue/{mutant.kernel}.hpp"']
    command += [f"-DKERNEL={mutant.kernel}", f"-DCONFIG={CONFIGS[mutant.kernel]}"]
    command += ["-DTYPE=cutlass::tfloat32_t" if mutant.kernel == "gemm_sm80" else "-DTYPE=float"]
    command += ["-DANY_MODES_ONLY"] if mutant.kernel in ONE_FORM else []
    command += [str(ROOT / "tests" / "cpp" / "mutant.cpp"), str(ROOT / "csrc" / "emulator" / "cta.cpp")]
    program = folder / "mutant"
    subprocess.run([*command, "-pthread", "-o", str(program)], check=True)
    ran = subprocess.run([str(program)], check=False, capture_output=True, text=True)
    if ran.returncode != 0:  # it followed an offset that nobody had written
        return {f"ended with {ran.returncode}": False}
    return {line.rpartition(" ")[0]: line.endswith("1") for line in ran.stdout.splitlines()}


@pytest.mark.compiler
@pytest.mark.parametrize("mutant", mutants(), ids=lambda m: f"{m.kernel}-{m.line}-without-{m.text}")
def test_every_barrier_and_every_wait_is_needed(mutant: Mutant, tmp_path: Path) -> None:
    """A kernel without one of them gives a wrong result in at least one order of threads, and the emulator shows it."""
    right = compile_and_run(mutant, tmp_path)
    if mutant.line == 0:
        assert len(right) == (6 if mutant.kernel in ONE_FORM else 9)
        assert all(right.values())
    else:
        assert not all(right.values())


def test_every_kernel_synchronises() -> None:
    assert {mutant.kernel for mutant in mutants() if mutant.line} == set(CONFIGS) == set(KERNELS)


@pytest.mark.compiler
def test_barriers_that_not_all_threads_reach_are_an_error(tmp_path: Path) -> None:
    source = tmp_path / "divergent.cpp"
    source.write_text("""
#include <cstdio>
#include "emulator/cta.hpp"
int main() {
  using namespace cute_py::emulator;
  try {
    run_grid({1, 1, 1}, 32, 0, {}, [] { if (thread_index().x < 7) barrier(); });
  } catch (KernelError const& error) {
    std::puts(error.what());
  }
}
""")
    program = tmp_path / "divergent"
    command = [
        "g++",
        "-std=c++17",
        f"-I{ROOT / 'csrc'}",
        str(source),
        str(ROOT / "csrc" / "emulator" / "cta.cpp"),
        "-pthread",
    ]
    subprocess.run([*command, "-o", str(program)], check=True)
    output = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    assert "25 of 32 threads left the kernel while the others wait at a barrier" in output
