"""The emulator: it runs the kernels' own source, in any order of threads, and notices what a GPU would punish."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import cute_py
from cute_py import EmulatorOptions
from cute_py.testing import numpy_type
from headers import ROOT, cuda_headers
from problems import EMULATED, PRODUCTS, make_case, within

# The kernels of emulated precision, and what gemm_sm90 does for it alone, have a program of their own.
OF_PLANES = {"split_planes", "combine_planes"}
KERNELS = sorted({path.parent.name for path in (ROOT / "csrc" / "kernels").glob("*/kernel.cuh")} - OF_PLANES)


@pytest.mark.parametrize("variant", [v for v in PRODUCTS if v.name in EMULATED], ids=lambda v: v.name)
def test_the_order_of_threads_does_not_matter(variant: cute_py.Kernel, rng: np.random.Generator) -> None:
    m, n, k = variant.tile if not variant.predicated else within(variant, (129, 30, 19))
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
    explanation = cute_py.gemm.explain(case.A, case.B, kernel="sgemm_1")
    assert explanation.target == "emulator"
    assert "there is no GPU" in explanation.why
    np.testing.assert_array_equal(cute_py.gemm(case.A, case.B, kernel="sgemm_1"), case.A @ case.B.T)


# ---- Kernels with a line taken out

SYNCHRONISATION = re.compile(
    r"^(\s*)((?:__syncthreads\(\)|__threadfence\(\)|cp_async_(?:fence|wait<.*?>)\(\)|is_last = .*"
    r"|prepare_counter\(.*\)|barrier\.sync\(\)|(?:cute::)?cluster_(?:sync|meet)\(\)|release\(.*\)|(?:Full|Empty)::(?:wait|arrive)\w*\(.*\)"
    r"|NamedBarrier::\w+\(.*\)|cutlass::arch::fence_(?:barrier_init|view_async_shared)\(\)"
    r"|warpgroup_(?:arrive|commit_batch|wait<.*?>)\(\)|tma_store_(?:arrive|fence|wait<.*?>)\(\));)",
    re.MULTILINE,
)
# Whatever orders threads or memory, and what of it may go unseen: a compiler's barrier, a warp that comes together
# again, the kernel before, what a release or a meeting is made of, and a look that saves a wait.
ORDER = re.compile(
    r"\b(?:__sync\w+|__threadfence|cp_async_\w+|cluster_\w+|warpgroup_\w+|tma_store_\w+|fence_\w+|\w*[bB]arrier(?:::|\.)\w+"
    r"|(?:Full|Empty)::\w+|prepare_counter|counts_last|griddepcontrol|cudaGrid\w+)(?:<.*?>)?\("
)
UNSEEN = (
    "warpgroup_fence_operand(",
    "warpgroup_reg_",
    "__syncwarp()",
    "cp_async_fence()",
    "cudaGridDependencySynchronize()",
    "Full::test_wait(",
    "Empty::init(",
    "Full::init(",
    "cute::cluster_arrive_relaxed();",
    "cute::cluster_wait();",
    "CUTE_DEVICE",
)
# What kernels share. Lines of a file count from a number of its own, those of split-K through global memory from the highest.
COMMON = ROOT / "csrc" / "kernels" / "common"
SPLIT_K = [COMMON / "arrival_counter.cuh", COMMON / "reduce_global.cuh"]
SHARED = sorted({*COMMON.glob("*.cuh")} - {*SPLIT_K})
FIRST = {path: 1000 * number for number, path in enumerate(SHARED, 1)}
FIRST |= {path: 30000 + 1000 * number for number, path in enumerate(SPLIT_K)}
# The kernel that comes by all of a shared file's barriers and waits.
REACHES = {
    "sgemm_sm80": {"reduce_sliced_k.cuh", "write_staged.cuh", "write_vectors.cuh"},
    "gemm_sm90": {"epilogue_registers.cuh", "write_staged_sm90.cuh", "write_tma.cuh", "arrival_counter.cuh"},
}
# Kernels whose last barrier comes after all reads of shared memory, so that a shared file's first one is not needed there.
END_WITH_A_BARRIER = ("sgemm_1", "sgemm_sm70", "wgmma_sm90")
SOURCES = [ROOT / "csrc" / "emulator" / f"{name}.cpp" for name in ("cta", "memory", "sm90", "trace", "warp")]
SOURCES += [ROOT / "csrc" / "problem" / f"{name}.cpp" for name in ("box_rules", "residues", "tensor_box")]
SOURCES += [ROOT / "csrc" / "numeric" / "tensor_core.cpp"]


def with_mutants(source: Path, first: int = 0) -> tuple[str, set[int]]:
    """Return a source whose barriers, waits and counters ask whether they stay, and their lines."""
    lines = source.read_text().splitlines(keepends=True)
    waits_for_all = "cp_async_wait<Config" not in "".join(lines)  # then nobody counts groups of copies
    found = {
        number
        for number, line in enumerate(lines, 1)
        if SYNCHRONISATION.match(line) and not (waits_for_all and "cp_async_fence();" in line)
    }
    others = [line.partition("//")[0] for number, line in enumerate(lines, 1) if number not in found]
    assert [line for line in others if ORDER.search(line) and not any(word in line for word in UNSEEN)] == []
    for number in found:
        lines[number - 1] = SYNCHRONISATION.sub(rf"\1if (::mutant::keeps({first + number})) \2", lines[number - 1])
    return "".join(lines), {first + number for number in found}


def write_mutants(folder: Path, sources: dict[Path, int]) -> dict[Path, set[int]]:
    """Write such copies of sources to a folder, and return their lines, which count from these numbers."""
    synchronisations = {}
    for source, first in sources.items():
        copy = folder / source.relative_to(ROOT / "csrc")
        copy.parent.mkdir(parents=True, exist_ok=True)
        text, synchronisations[source] = with_mutants(source, first)
        copy.write_text(text)
    return synchronisations


def flags_of_kernels(folder: Path) -> list[str]:
    """Return the compiler's flags for kernels whose copies in a folder come before them."""
    flags = ["-O1", "-w", "-DNDEBUG", "-fno-strict-aliasing", "-DCUTE_PY_BUILD_SET=4"]
    flags += [f"-I{path}" for path in (folder, ROOT / "csrc" / "emulator" / "include", ROOT / "csrc")]
    cuda = cuda_headers()
    return [
        *flags,
        *(f"-isystem{path}" for path in (ROOT / "third_party" / "cutlass" / "include", cuda, cuda / "cccl")),
    ]


def of_planes(source: Path) -> set[int]:
    """Return the lines of a kernel that products of planes alone come by."""
    found = set()
    end = None
    for number, line in enumerate(source.read_text().splitlines(), 1):
        indent = line[: len(line) - len(line.lstrip())]
        if end is not None and line.startswith(f"{end}}}"):
            end = None
        if "if constexpr (Config::planes > 1) {" in line:
            end = indent
        elif end is not None:
            found.add(number)
    return found


def test_every_barrier_of_a_shared_file_has_a_kernel_that_comes_by_it() -> None:
    with_some = {path.name for path, first in FIRST.items() if with_mutants(path, first)[1]}
    assert with_some == set().union(*REACHES.values()) | {path.name for path in SPLIT_K}


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The emulator, compiled once; its accesses are not instrumented."""
    folder = tmp_path_factory.mktemp("emulator")
    command = [os.environ.get("CXX", "g++"), "-std=c++17", "-O2", f"-I{ROOT / 'csrc'}", "-c", *map(str, SOURCES)]
    subprocess.run(command, check=True, cwd=folder)
    return sorted(folder.glob("*.o"))


def compiled(folder: Path, source: Path, emulator: list[Path], *flags: str) -> Path:
    """Build a program whose accesses are instrumented, with the emulator."""
    program = folder / "program"
    command = [os.environ.get("CXX", "g++"), "-std=c++17", *flags, "-fsanitize=thread", "-c", str(source)]
    subprocess.run([*command, "-o", str(folder / "program.o")], check=True)
    command = [os.environ.get("CXX", "g++"), str(folder / "program.o"), *map(str, emulator)]
    subprocess.run([*command, "-pthread", "-o", str(program)], check=True)
    return program


@pytest.mark.compiler
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_barrier_and_every_wait_is_needed(kernel: str, tmp_path: Path, emulator: list[Path]) -> None:
    """A kernel without one of them gives a wrong result in at least one order of threads, and the emulator shows it.

    Every form of it is run with elements of one width, and one form with those of each other width, and with an A that comes
    by way of registers.
    """
    family = ROOT / "csrc" / "kernels" / kernel
    synchronisations = write_mutants(tmp_path, {family / "kernel.cuh": 0, **FIRST})
    lists = sorted(path.stem for path in family.glob("variants*.hpp"))
    includes = "".join(f'#include "kernels/{kernel}/{name}.hpp"\n' for name in lists)
    names = ", ".join(f"cute_py::kernels::{kernel}_{name}" for name in lists)
    (tmp_path / "lists.hpp").write_text(
        f"{includes}namespace mutant {{ using Lists = cute_py::kernels::List<{names}>; }}\n"
    )

    program = compiled(tmp_path, ROOT / "tests" / "cpp" / "mutant.cpp", emulator, *flags_of_kernels(tmp_path))
    output = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout

    right: dict[tuple[int, int, int, int], list[bool]] = {}
    for line in output.splitlines():
        width, by_registers, split_k, removed, is_right = map(int, line.split())
        right.setdefault((width, by_registers, split_k, removed), []).append(is_right == 1)
    runs = {(width, by_registers, split_k) for width, by_registers, split_k, _ in right}
    assert {width for width, *_ in runs} >= {
        np.dtype(numpy_type(variant.factors[0])).itemsize
        for variant in cute_py.kernels().values()
        if variant.kernel == kernel and variant.modes == 1
    }
    for run in runs:
        assert all(right.pop((*run, 0)))
    assert synchronisations[family / "kernel.cuh"], "no barrier at all"
    expected = {family / "kernel.cuh", *(COMMON / name for name in REACHES.get(kernel, ()))}
    if any(split_k for *_, split_k in runs):
        expected |= {*SPLIT_K}
    reached = {line for *_, line in right}
    for source in expected:
        assert synchronisations[source] - of_planes(source) <= reached, source
    shared = set().union(*(synchronisations[source] for source in SHARED))
    spare = shared if kernel in END_WITH_A_BARRIER else set()
    assert not [where for where, outcomes in right.items() if all(outcomes) and where[-1] not in spare]


@pytest.fixture(scope="module")
def of_emulated_precision(
    tmp_path_factory: pytest.TempPathFactory, emulator: list[Path]
) -> tuple[Path, dict[Path, set[int]]]:
    """The program of its mutants, and the lines of each source."""
    kernels = ROOT / "csrc" / "kernels"
    sources = [kernels / name / "kernel.cuh" for name in ("split_planes", "combine_planes", "gemm_sm90")]
    sources += [kernels / "gemm_sm90" / "planes.cuh"]
    folder = tmp_path_factory.mktemp("planes")
    lines = write_mutants(folder, {source: 1000 * number for number, source in enumerate(sources)})
    program = ROOT / "tests" / "cpp" / "mutant_planes.cpp"
    return compiled(folder, program, emulator, *flags_of_kernels(folder)), lines


@pytest.mark.compiler
@pytest.mark.parametrize("kernel", [*sorted(OF_PLANES), "gemm_sm90"])
def test_every_barrier_of_emulated_precision_is_needed(
    kernel: str, of_emulated_precision: tuple[Path, dict[Path, set[int]]]
) -> None:
    program, synchronisations = of_emulated_precision
    lines: set[int] = set()
    for source, found in synchronisations.items():
        if source.parent.name == kernel:
            is_shared = source.name == "kernel.cuh" and kernel == "gemm_sm90"
            first = 1000 * list(synchronisations).index(source)
            lines |= found & {first + line for line in of_planes(source)} if is_shared else found
    # Between this wait and the next one there is no place where the emulator goes on with other threads (issue 49).
    kernel_lines = (ROOT / "csrc" / "kernels" / "gemm_sm90" / "kernel.cuh").read_text().splitlines()
    of_release = "warpgroup_wait<1>();  // the step before has been multiplied"
    lines -= {2000 + number for number, line in enumerate(kernel_lines, 1) if line.strip() == of_release}
    assert lines
    call = [str(program), kernel, *map(str, sorted(lines))]
    output = subprocess.run(call, check=True, capture_output=True, text=True).stdout
    right: dict[int, list[bool]] = {}
    for line in output.splitlines():
        removed, is_right = map(int, line.split())
        right.setdefault(removed, []).append(is_right == 1)
    assert all(right.pop(0))
    assert set(right) == lines
    assert [removed for removed, outcomes in right.items() if all(outcomes)] == []


# ---- Accesses


@pytest.mark.compiler
def test_what_a_kernel_must_not_touch_is_an_error(tmp_path: Path, emulator: list[Path]) -> None:
    program = compiled(tmp_path, ROOT / "tests" / "cpp" / "accesses.cpp", emulator, "-O1", f"-I{ROOT / 'csrc'}")
    output = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    said = dict(line.split(": ", 1) for line in output.splitlines())
    here = "emulator: kernel: thread 0 of block (0,0,0) "
    elsewhere = "which is in none of the arrays that the kernel was given"
    assert said == {
        "right": "nothing",
        "past the end": f"{here}reads 4 bytes at A + 128 bytes, {elsewhere}",
        "before the beginning": f"{here}reads 4 bytes at A - 4 bytes, {elsewhere}",
        "half outside": f"{here}writes 4 bytes at C + 30 bytes, {elsewhere}",
        "write": f"{here}writes 4 bytes at C + 32 bytes, {elsewhere}",
        "vector": f"{here}reads 16 bytes at A + 4 bytes, whose address is no multiple of 16",
        "number": f"{here}reads 4 bytes at A + 2 bytes, whose address is no multiple of 4",
        "other memory": said["other memory"],
        "shared past the end": f"{here}reads 4 bytes at shared memory + 1024 bytes, beyond the 1024 bytes that the CTA has",
        "shared half outside": f"{here}reads 16 bytes at shared memory + 1016 bytes, beyond the 1024 bytes that the CTA has",
        "shared vector": f"{here}reads 16 bytes at shared memory + 8 bytes, whose address is no multiple of 16",
        "asynchronous source": f"{here}reads 16 bytes at A + 120 bytes, {elsewhere}",
        "asynchronous vector": f"{here}reads 16 bytes at A + 8 bytes, whose address is no multiple of 16",
        "asynchronous destination": f"{here}writes 16 bytes at shared memory + 1020 bytes, beyond the 1024 bytes that the CTA has",
        "barrier": "emulator: kernel: 25 of 32 threads left the kernel while the others wait at a barrier",
        "descriptor": f"{here}multiplies B whose descriptor begins at 128: not at the first of the 8 lines of 128 bytes that its"
        " swizzle repeats after",
        "descriptor without a swizzle": f"{here}multiplies A without a swizzle, which no kernel of ours does",
        "product without a fence": f"{here}multiplies with no wgmma.fence since it waited for products, or at all",
        "mbarrier": f"{here}makes an mbarrier for 0 threads",
        "mbarrier without a fence": f"{here}comes to a barrier while an mbarrier that it made is not fenced",
        "counting before a fence": f"{here}counts its CTA with no __threadfence after the barrier",
        "counting with no fence after it": f"{here}comes to a barrier after it counted its CTA, with no __threadfence",
        "box": "nothing",
        "box at an odd address": "emulator: a tensor map breaks a rule of TMA: address: 0x8 is no multiple of 16",
        "box of odd rows": "emulator: a tensor map breaks a rule of TMA: global stride of mode 1: 9 elements are"
        " 18 bytes, no multiple of 16; next: pad it to 16 elements",
        "box beyond its swizzle": "emulator: a tensor map breaks a rule of TMA: swizzle span: the box is 256 bytes"
        " wide, the swizzle spans 128; next: a box of 64 elements",
        "one thread": f"emulator: kernel: thread 5 of block (1,0,0) reads 4 bytes at A + 160 bytes, {elsewhere}",
    }
    assert elsewhere in said["other memory"]


def test_arrays_that_a_gpu_cannot_read_are_refused() -> None:
    """x86 reads a number from any address, a GPU from multiples of its size."""
    memory = np.zeros(4 * 64 + 1, np.uint8)
    unaligned = memory[1:].view(np.float32).reshape(8, 8)
    aligned = np.ones((8, 8), np.float32)
    for A, B, C in [(unaligned, aligned, None), (aligned, unaligned, None), (aligned, aligned, unaligned)]:
        with pytest.raises(cute_py.UnsupportedProblemError, match="is not a multiple of 4 bytes"):
            cute_py.gemm(A, B, C, kernel="sgemm_sm70", device="emulator")
        cute_py.gemm(A, B, C, device="cpu")
