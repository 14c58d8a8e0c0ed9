"""CUDA programs in the emulator: NVIDIA's own files unchanged, faults that are found, and their lines."""

from __future__ import annotations

import json
import shutil
import signal
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from cute_py import Int, Layout, workbench
from cute_py.cli import main
from cute_py.errors import OperandError, UnitError
from cute_py.units.compiler import home
from cute_py.workbench import programs
from cute_py.workbench.findings import Line
from cute_py.workbench.source import rewrite
from cute_py.workbench.timeline import read_marks

ROOT = Path(__file__).parents[1]
EXERCISES = ROOT / "examples" / "exercises"
PROGRAMS = ROOT / "tests" / "programs"
TUTORIAL = ROOT / "third_party" / "cutlass" / "tutorial"

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler")
fetched = pytest.mark.skipif(not TUTORIAL.exists(), reason="CUTLASS was not fetched")

# Of each exercise: what is found, in the line with which text, and how it is mended.
ANSWERS = {
    "01_reverse": ("race", "out[first + t] = tile", ("in[first + t];\n", "in[first + t];\n  __syncthreads();\n")),
    "02_smooth": ("race", "tile[t] = sum;", ("    tile[t] = sum;", "    __syncthreads();\n    tile[t] = sum;")),
    "03_axpy": ("out-of-bounds", "if (i <= n)", ("i <= n", "i < n")),
    "04_vectors": ("misaligned", "= *from;", ("*reinterpret_cast<float4*>(out + row * (kColumns - 1) + column) = *from;",
                   "for (int i = 0; i < 4; ++i) out[row * (kColumns - 1) + column + i] = in[row * kColumns + 1 + column + i];")),
    "05_histogram": ("race", "bins[in[i]] += 1", ("bins[in[i]] += 1", "atomicAdd(&bins[in[i]], 1)")),
    "06_sum": ("race", "part[lane] += part[lane + half]",
               ("    if (lane < half) part[lane] += part[lane + half];",
                "    int const other = lane < half ? part[lane + half] : 0;\n    __syncwarp();\n"
                "    part[lane] += other;\n    __syncwarp();")),
    "07_tail": ("barrier", "= blockIdx.x * kThreads + threadIdx.x;",
                ("  if (i >= n) return;\n  part[threadIdx.x] = in[i];", "  part[threadIdx.x] = i < n ? in[i] : 0;")),
    "08_pipeline": ("race", "sum += stage[i % kStages]", ("wait<kStages>()", "wait<kStages - 1>()")),
    "09_phase": ("race", "half[t];", ("wait(&barrier, 0)", "wait(&barrier, i & 1)")),
    "10_fence": ("missing-fence", "cp.async.bulk.global",
                 ("  __syncthreads();", '  asm volatile("fence.proxy.async.shared::cta;");\n  __syncthreads();')),
    "11_hand_over": ("deadlock", "bar.sync", ("if (t < 32) wait", "wait")),
    "12_last_block": ("race", "total += parts", ("  __syncthreads();\n  if (t == 0) {", "  __threadfence();\n  __syncthreads();\n  if (t == 0) {")),
}  # fmt: skip


def line_of(file: Path, text: str) -> int:
    (number,) = (i for i, line in enumerate(file.read_text().splitlines(), 1) if text in line)
    return number


def test_every_exercise_has_an_answer() -> None:
    assert {path.stem for path in EXERCISES.glob("*.cu")} == set(ANSWERS)


@pytest.mark.compiler
@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_the_fault_of_an_exercise_is_found_in_its_line(name: str) -> None:
    kind, text, _ = ANSWERS[name]
    file = EXERCISES / f"{name}.cu"
    result = workbench.program(file).run(capture=True)
    found = {(finding.kind, finding.line.number, Path(finding.line.file).name) for finding in result.findings}
    assert (kind, line_of(file, text), file.name) in found
    assert not result.is_clean


@pytest.mark.compiler
@pytest.mark.thinned(4)
@pytest.mark.parametrize("order", ["forward", "backward", "random"])
@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_nothing_is_found_in_an_exercise_that_is_mended(name: str, order: str, tmp_path: Path) -> None:
    _, _, (wrong, right) = ANSWERS[name]
    text = (EXERCISES / f"{name}.cu").read_text()
    assert text.count(wrong) == 1
    mended = tmp_path / f"{name}.cu"
    mended.write_text(text.replace(wrong, right))
    result = workbench.program(mended).run(order=order, seed=1, capture=True)
    assert result.findings == ()
    assert result.exit_code == 0, result.output


def product(folder: Path, m: int, n: int, k: int, layouts: str, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """Return a tutorial program's C, and A times B, of the arrays that it left."""
    a, b, c = (np.fromfile(folder / f"array-{i}.bin", dtype).astype(np.float64) for i in (1, 2, 3))
    a = a.reshape(k, m).T if layouts[0] == "N" else a.reshape(m, k)
    b = b.reshape(k, n).T if layouts[1] == "T" else b.reshape(n, k)
    return c.reshape(n, m).T, a @ b.T


# File, extents, layouts, type, and how exact its sums are.
GEMMS = [
    ("sgemm_sm80.cu", (256, 128, 128), "TN", np.float16, 0.02),
    ("hopper/wgmma_tma_sm90.cu", (256, 128, 256), "NT", np.float16, 0),
    ("sgemm_1.cu", (128, 256, 64), "NT", np.float32, 1e-5),
    ("sgemm_1.cu", (128, 256, 64), "TN", np.float32, 1e-5),
    ("sgemm_2.cu", (128, 256, 64), "NT", np.float32, 1e-5),
    ("sgemm_2.cu", (128, 256, 64), "TN", np.float32, 1e-5),
    ("sgemm_sm70.cu", (128, 256, 64), "NT", np.float32, 1e-5),
    ("sgemm_sm70.cu", (128, 256, 64), "TN", np.float32, 1e-5),
    ("hopper/wgmma_tma_sm90.cu", (256, 128, 256), "TN", np.float16, 0),
]


def is_first_of_its_kind(file: str, **_: object) -> bool:
    return file in ("sgemm_sm80.cu", "hopper/wgmma_tma_sm90.cu")


@fetched
@pytest.mark.compiler
@pytest.mark.thinned(1000, by=is_first_of_its_kind)
@pytest.mark.parametrize("order", ["forward", "random"])
@pytest.mark.parametrize(("file", "extents", "layouts", "dtype", "error"), GEMMS)
def test_the_tutorials_run_unchanged(
    file: str, extents: tuple[int, int, int], layouts: str, dtype: type, error: float, order: str, tmp_path: Path
) -> None:
    program = workbench.program(TUTORIAL / file)
    result = program.run(*extents, *layouts, order=order, seed=2, dump=tmp_path, capture=True)
    c, expected = product(tmp_path, *extents, layouts, dtype)
    assert result.findings == ()
    assert result.exit_code == 0
    assert np.abs(c - expected).max() <= error


@fetched
@pytest.mark.compiler
def test_the_tutorial_without_a_barrier_has_a_race() -> None:
    """NVIDIA's wgmma_sm90.cu multiplies what other threads' cp.async brought, with no barrier between."""
    file = TUTORIAL / "hopper" / "wgmma_sm90.cu"
    result = workbench.program(file).run(128, 128, 128, capture=True)
    assert {finding.kind for finding in result.findings} == {"race"}
    assert {finding.line.number for finding in result.findings} == {
        line_of(file, "cute::gemm(mma, tCrA(_,_,_,k_pipe_read)")
    }
    copies = {number for number, line in enumerate(file.read_text().splitlines(), 1) if "copy(copy_" in line}
    assert {finding.other_line.number for finding in result.findings if finding.other_line} <= copies


BLACKWELL = ["01_mma", "02_mma_tma", "03_mma_tma_multicast", "04_mma_tma_2sm", "05_mma_tma_epi"]


def is_of_pairs_with_stores(name: str) -> bool:
    return name == "05_mma_tma_epi"


@fetched
@pytest.mark.compiler
@pytest.mark.thinned(1000, by=is_of_pairs_with_stores)
@pytest.mark.parametrize("name", BLACKWELL)
def test_the_tutorials_of_blackwell_run_unchanged(name: str) -> None:
    """Tensor memory, tcgen05.mma of one CTA and of two, commits to several CTAs. The programs compare D themselves."""
    file = TUTORIAL / "blackwell" / f"{name}_sm100.cu"
    program = workbench.program(file, architecture="100a")
    for order in ("forward", "random"):
        result = program.run(512, 1024, 192, order=order, seed=4, capture=True)
        assert "Execution is successful." in str(result.output)
        assert "Relative error: 0.0" in str(result.output)
        # The first one lets tcgen05.mma read what threads wrote, with a barrier and no proxy fence between.
        kinds = {"missing-fence"} if name == "01_mma" else set()
        assert {finding.kind for finding in result.findings} == kinds


TENSOR_MEMORY = """
#include <cstdint>
__global__ void read(unsigned* out, int columns, int lane, int frees) {
  __shared__ std::uint32_t base;
  unsigned const at = static_cast<unsigned>(__cvta_generic_to_shared(&base));
  if (threadIdx.x < 32) {
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(at), "r"(columns));
  }
  __syncthreads();
  unsigned const address = base + ((threadIdx.x / 32 * 32 + lane) << 16);
  if (lane == 0) asm volatile("tcgen05.st.sync.aligned.32x32b.x2.b32 [%0], {%1, %2};" ::"r"(address), "r"(threadIdx.x), "r"(7));
  asm volatile("tcgen05.wait::st.sync.aligned;");
  __syncwarp();  // another warp stores its own lanes of these columns meanwhile
  unsigned x = 0;
  unsigned y = 0;
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%0, %1}, [%2];" : "=r"(x), "=r"(y) : "r"(address));
  asm volatile("tcgen05.wait::ld.sync.aligned;");
  out[threadIdx.x] = x + y;
  __syncthreads();
  if (threadIdx.x < 32 && frees) {
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(base), "r"(columns));
  }
}
"""


@pytest.mark.compiler
@pytest.mark.parametrize(
    ("columns", "lane", "frees", "says"),
    [
        (64, 0, 1, None),
        (64, 0, 0, "has not given its tensor memory back"),
        (48, 0, 1, "it allocates 32, 64, 128, 256 or 512 columns, not 48"),
        (64, 32, 1, "warp 0 reaches the lanes from 0 on, not those from 32"),
    ],
)
def test_tensor_memory_has_rules(columns: int, lane: int, frees: int, says: str | None) -> None:
    out = np.zeros(128, np.uint32)
    kernel = workbench.inline(TENSOR_MEMORY, architecture="100a").kernel("read")
    result = kernel(out, columns, lane, frees, grid=1, block=128)
    if says is None:
        assert result.findings == ()
        assert np.array_equal(out, np.arange(128) + 7)
    else:
        (finding,) = result.findings
        assert finding.kind == "rule"
        assert says in finding.text


@pytest.mark.compiler
def test_a_kernel_takes_tensors_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    scale = workbench.inline("__global__ void scale(float* x, float by) { x[threadIdx.x] *= by; }").kernel("scale")
    x = torch.arange(32, dtype=torch.float32)
    assert scale(x, 3.0, grid=1, block=32).is_clean
    assert torch.equal(x, 3 * torch.arange(32, dtype=torch.float32))
    with pytest.raises(OperandError, match="argument 0 is no array on the host that NumPy can see"):
        scale(torch.ones(32, dtype=torch.float32, device="meta"), 3.0, grid=1, block=32)
    with pytest.raises(OperandError, match="with gaps"):
        scale(torch.ones(64)[::2], 3.0, grid=1, block=32)


MARKED = """
#include <cstdio>
#include <cute_py/marks.hpp>
__global__ void sum(float const* in, float* out, int n) {
  __shared__ float part[64];
  CUTE_PY_MARK("load");
  float s = 0;
  for (int i = threadIdx.x; i < n; i += 64) s += in[i];
  part[threadIdx.x] = s;
  CUTE_PY_MARK("");
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < 64; ++i) s += part[i];
    *out = s;
  }
}
int main(int, char** words) {
  float* x = nullptr;
  cudaMalloc(&x, 4096);
  cudaMemset(x, 0, 4096);
  sum<<<1, 64>>>(x, x, 512);
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
"""


@pytest.mark.compiler
def test_a_line_of_the_packages_headers_is_named_from_there() -> None:
    own = home() / "include" / "csrc" / "kernels" / "gemm_sm90" / "kernel.cuh"
    assert str(Line(str(own), 7, "")) == "csrc/kernels/gemm_sm90/kernel.cuh:7"
    assert str(Line("/elsewhere/kernel.cu", 7, "")) == "/elsewhere/kernel.cu:7"


def test_the_packages_kernel_has_its_own_lines_on_a_timeline() -> None:
    result = workbench.program(ROOT / "examples" / "timelines" / "gemm_sm90.cu").run(timeline=True, capture=True)
    assert result.is_clean
    assert result.output.strip() == "0 elements are wrong"
    places = {str(span.line).rpartition(":")[0] for span in result.timelines[0].spans if span.line is not None}
    assert "csrc/kernels/gemm_sm90/kernel.cuh" in places
    assert not any(place.startswith(("/", "csrc/workbench")) for place in places)


def test_a_timeline_has_sections_and_waits(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "marked.cu"
    file.write_text(MARKED)
    runs = [workbench.program(file).run(order=order, timeline=True) for order in ("forward", "backward")]
    (timeline,) = runs[0].timelines
    assert timeline.tracks == ["block 0 warp 0", "block 0 warp 1"]
    # Cycles are counted along what happens before what, so the order of threads changes nothing.
    assert sorted(map(str, timeline.spans)) == sorted(map(str, runs[1].timelines[0].spans))
    named = {(span.track, span.name): span for span in timeline.spans}
    load, kernel = named["block 0 warp 1", "load"], named["block 0 warp 1", "the kernel"]
    assert kernel.begin == 0 <= load.begin < load.end <= kernel.end
    assert load.end - load.begin >= 512 / 64
    assert named["block 0 warp 0", "the kernel"].end > kernel.end + 62  # which adds the parts of all
    assert load.line is not None
    assert (Path(load.line.file).name, load.line.number) == ("marked.cu", line_of(file, 'MARK("load")'))
    assert (load.kind, kernel.kind, kernel.line) == ("section", "kernel", None)
    assert runs[0].timelines != ()
    assert workbench.program(file).run().timelines == ()
    # Each event of a row is apart from the others of it, or inside of one.
    events = [event for event in timeline.to_chrome()["traceEvents"] if event["ph"] == "X"]
    assert len(events) == len(timeline.spans)
    assert {event["name"] for event in events} >= {"load", "the kernel"}
    picture = timeline.to_svg()
    assert picture.count("<rect") >= len(timeline.spans)
    with pytest.raises(OperandError, match="there is no track 'warp 9'"):
        timeline.to_svg(["warp 9"])
    with pytest.raises(OperandError, match="nothing happens between"):
        timeline.to_svg(begin=5, end=5)
    assert main(["run", "--timeline", str(tmp_path / "out.json"), str(file)]) == 0
    capfd.readouterr()
    assert len(json.loads((tmp_path / "out.json").read_text())["traceEvents"]) > len(events)
    assert main(["run", "--timeline", str(tmp_path / "out.svg"), str(file)]) == 0
    assert (tmp_path / "out.svg").read_text().startswith("<svg ")
    assert "wrote " in capfd.readouterr().err
    # A kernel that goes wrong at once has no timeline, and its findings are said.
    file.write_text(MARKED.replace("float s = 0;", "float s = in[1 << 20];").replace('CUTE_PY_MARK("load");', ""))
    assert main(["run", "--timeline", str(tmp_path / "none.svg"), str(file)]) == 1
    said = capfd.readouterr().err
    assert "out-of-bounds" in said
    assert "no timeline was written" in said
    assert main(["run", str(file), "--costs"]) == 1
    assert "--costs stands behind the file, and goes to the program" in capfd.readouterr().err


@fetched
@pytest.mark.compiler
def test_tma_and_tensor_cores_are_on_the_timeline() -> None:
    """Products begin when their operands have arrived, and a warpgroup waits until they are done."""
    program = workbench.program(TUTORIAL / "hopper" / "wgmma_tma_sm90.cu")
    (timeline,) = program.run(256, 128, 256, "N", "T", timeline=True, capture=True).timelines
    loads = [span for span in timeline.spans if span.name.startswith("load of")]
    products = [span for span in timeline.spans if span.name.startswith("wgmma")]
    waits = [span for span in timeline.spans if span.name == "wait for wgmma" and span.track == "block 0 warp 0"]
    assert min(span.begin for span in products) >= min(span.end for span in loads)
    assert len(products) == 2 * 4 * 4 * 4  # CTAs, tiles of K, k-blocks, and 64x64 of 128x128
    assert {span.end for span in waits} <= {span.end for span in products}
    assert timeline.tracks[-1] == "block 1 tensor cores of warpgroup 0"


def test_marks_of_a_gpu_become_a_timeline(tmp_path: Path) -> None:
    file = tmp_path / "marks.txt"
    file.write_text("1000 0 0 load\n1500 0 0 multiply\n2500 0 0 \n1200 0 1 load\n1300 0 1 \n")
    timeline = read_marks(file, "kernel")
    assert timeline.unit == "ns"
    assert [span[:5] for span in timeline.spans] == [
        ("section", "block 0 warp 0", "load", 0, 500),
        ("section", "block 0 warp 0", "multiply", 500, 1500),
        ("section", "block 0 warp 1", "load", 200, 300),
    ]
    assert timeline.to_chrome()["traceEvents"][-1]["dur"] == 0.1


@pytest.mark.compiler
@pytest.mark.parametrize("name", ["instructions", "mma_atoms"])
def test_instructions_do_what_they_are_defined_to_do(name: str) -> None:
    result = workbench.program(PROGRAMS / f"{name}.cu").run(capture=True)
    assert result.findings == ()
    assert result.exit_code == 0, result.output


RELAXED = """
#include <cstdint>
__global__ void exchange(int* out) {
  __shared__ alignas(8) std::uint64_t barrier;
  __shared__ int number;
  auto const at = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
  if (threadIdx.x == 0) {
    number = 7;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 64;" ::"r"(at));
    FENCE
  }
  asm volatile("barrier.cluster.arrive.relaxed.aligned;");
  asm volatile("barrier.cluster.wait.acquire.aligned;");
  READ
  asm volatile("{\\n.reg .b64 t;\\nmbarrier.arrive.shared::cta.b64 t, [%0];\\n}" ::"r"(at));
  unsigned done = 0;
  while (done == 0) {
    asm volatile("{\\n.reg .pred p;\\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\\nselp.u32 %0, 1, 0, p;\\n}"
                 : "=r"(done) : "r"(at));
  }
  out[threadIdx.x] = number;
}
int main() {
  int* out;
  cudaMalloc(&out, 64 * sizeof(int));
  exchange<<<1, 64>>>(out);
  return cudaDeviceSynchronize() != cudaSuccess;
}
"""


@pytest.mark.compiler
@pytest.mark.parametrize(
    ("fence", "read", "found"),
    [
        ('asm volatile("fence.mbarrier_init.release.cluster;");', "", set()),
        ("", "", {"race"}),
        ('asm volatile("fence.mbarrier_init.release.cluster;");', "out[threadIdx.x] = number;", {"race"}),
        ('asm volatile("fence.acq_rel.cluster;");', "out[threadIdx.x] = number;", set()),
    ],
)
def test_a_relaxed_arrival_tells_what_a_fence_has_released(fence: str, read: str, found: set[str]) -> None:
    text = RELAXED.replace("FENCE", fence).replace("READ", read)
    result = workbench.program("relaxed.cu", text=text).run(capture=True)
    assert {finding.kind for finding in result.findings} == found
    assert result.exit_code == 0


@pytest.mark.compiler
def test_stmatrix_stores_all_rows_before_a_lane_goes_on() -> None:
    text = """
    __global__ void store(unsigned* out) {
      __shared__ alignas(16) unsigned tile[32];
      auto const row = static_cast<unsigned>(__cvta_generic_to_shared(tile + threadIdx.x % 8 * 4));
      asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(row), "r"(threadIdx.x));
      out[threadIdx.x] = tile[31 - threadIdx.x];
    }
    int main() {
      unsigned* out;
      cudaMallocManaged(&out, 32 * sizeof(unsigned));
      store<<<1, 32>>>(out);
      cudaDeviceSynchronize();
      for (unsigned i = 0; i < 32; ++i) {
        if (out[i] != 31 - i) return 1;
      }
      return 0;
    }
    """
    for order in ("forward", "backward"):
        result = workbench.program("store.cu", text=text).run(order=order)
        assert result.exit_code == 0
        # No barrier orders what other lanes read.
        assert {finding.kind for finding in result.findings} == {"race"}


@pytest.mark.compiler
def test_the_run_time_has_its_own_instances_of_templates() -> None:
    # The program's instances are instrumented, and the parser of PTX fills such vectors while a thread runs.
    text = """
    #include <string>
    #include <vector>
    __global__ void shift(unsigned* out) {
      asm("shl.b32 %0, %1, 1;" : "=r"(out[threadIdx.x]) : "r"(threadIdx.x));
    }
    int main(int count, char** words) {
      std::vector<std::string> all;
      for (int i = 0; i < count + 9; ++i) all.push_back(std::string(words[0]));
      unsigned* out;
      cudaMalloc(&out, 32 * sizeof(unsigned));
      shift<<<1, 32>>>(out);
      return cudaDeviceSynchronize() != cudaSuccess || all.size() < 9;
    }
    """
    assert workbench.program("shift.cu", text=text).run(capture=True).is_clean


@pytest.mark.compiler
def test_the_command_says_what_is_wrong_as_a_compiler_does(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    file = "examples/exercises/03_axpy.cu"
    assert main(["run", file]) == 1
    said = capfd.readouterr()
    assert "0 of 1000 are wrong\n" in said.out
    assert (
        f"{file}:6: out-of-bounds: axpy: thread 232 of block 3 reads 4 bytes at array 2 (of 4000 bytes) + 4000"
        in said.err
    )
    assert said.err.endswith("1 errors, 0 warnings\n")
    assert main(["run", "--json", file]) == 1
    found = json.loads(capfd.readouterr().out)
    (finding,) = found["findings"]
    assert (finding["kind"], finding["line"], finding["thread"], finding["block"]) == (
        "out-of-bounds", 6, [232, 0, 0], [3, 0, 0],
    )  # fmt: skip
    assert found["output"] == "0 of 1000 are wrong\n"
    assert main(["run", str(PROGRAMS / "instructions.cu")]) == 0


ENDS = """
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include "limit.hpp"

__global__ void checks(int* x) {
  x[threadIdx.x] = 1;
  assert(threadIdx.x < kLimit);
}
__global__ void divides(int* x, int by) { x[threadIdx.x] = 7 / by; }

int main(int, char** words) {
  int* x;
  cudaMalloc(&x, 64 * sizeof(int));
  switch (std::atoi(words[1])) {
    case 0:
      checks<<<1, 64>>>(x);
      std::puts(cudaGetErrorName(cudaDeviceSynchronize()));
      break;
    case 1:
      divides<<<1, 32>>>(x, 0);
      break;
    case 2:
      std::abort();
  }
}
"""


@pytest.mark.compiler
def test_how_a_program_ends_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "limit.hpp").write_text("constexpr int kLimit = 33;\n")
    file = tmp_path / "ends.cu"
    file.write_text(ENDS)
    program = workbench.program(file)
    asserted = program.run(0, capture=True)
    (finding,) = asserted.findings
    assert (finding.kind, finding.thread, finding.kernel) == ("assertion", (33, 0, 0), "checks")
    assert finding.line.number == line_of(file, "assert(threadIdx.x")
    assert finding.text == "asserts threadIdx.x < kLimit, which is false"
    assert (asserted.exit_code, asserted.output) == (0, "cudaErrorAssert\n")
    divided = program.run(1)
    (finding,) = divided.findings
    assert (finding.kind, finding.kernel, divided.exit_code) == ("crash", "divides", -signal.SIGFPE)
    aborted = program.run(2)
    assert [f.text for f in aborted.findings] == ["ends by SIGABRT, as by abort()"]
    assert aborted.exit_code == -signal.SIGABRT
    assert not aborted.is_clean


@pytest.mark.compiler
def test_what_has_not_changed_is_not_preprocessed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    header, file = tmp_path / "limit.hpp", tmp_path / "ends.cu"
    header.write_text("constexpr int kLimit = 64;\n")
    file.write_text(ENDS)
    first = workbench.program(file)
    calls = []
    run = programs.run
    monkeypatch.setattr(programs, "run", lambda source, command: [calls.append(command), run(source, command)][1])
    assert workbench.program(file).path == first.path
    assert calls == []
    header.write_text("constexpr int kLimit = 3;  // another\n")
    second = workbench.program(file)
    assert second.path != first.path
    assert calls
    assert [finding.thread for finding in second.run(0, capture=True).findings] == [(3, 0, 0)]
    assert first.run(0, capture=True).is_clean
    calls.clear()
    assert workbench.program(file, define=["OTHER"]).path == second.path  # whose preprocessed text is the same
    assert calls
    second.path.unlink()
    assert workbench.program(file).path.exists()


@pytest.mark.compiler
def test_a_report_is_a_page_with_what_is_said_of_each_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    report = tmp_path / "report.html"
    assert main(["run", "--html", str(report), "examples/exercises/02_smooth.cu"]) == 1
    assert "are wrong" in capfd.readouterr().out
    text = report.read_text()
    Page().feed(text)
    write, read = (line_of(EXERCISES / "02_smooth.cu", x) for x in ("tile[t] = sum;", "float const sum"))
    assert f'<tr id="02_smooth.cu-{write}" class="marked">' in text
    assert f'<a href="#02_smooth.cu-{read}">02_smooth.cu:{read}</a>' in text
    assert "#include &lt;cstdio&gt;" in text
    assert "reads of 4 bytes a lane: 16 sectors, 16 needed" in text
    assert "<h2>Output</h2>" in text
    assert main(["run", "--html", str(tmp_path / "no" / "report.html"), "examples/exercises/02_smooth.cu"]) == 2
    assert "cannot write" in capfd.readouterr().err


class Page(HTMLParser):
    """Elements that end in the order in which they began."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


TRANSPOSE = """
template <int pad>
__global__ void transpose(float const* in, float* out) {
  __shared__ float tile[32][32 + pad];
  int const x = threadIdx.x;
  for (int y = threadIdx.y; y < 32; y += 8) tile[y][x] = in[y * 32 + x];
  __syncthreads();
  for (int y = threadIdx.y; y < 32; y += 8) {
    out[y * 32 + x] = tile[x][y];
  }
}
"""


@pytest.mark.compiler
@pytest.mark.parametrize("pad", [0, 1])
def test_bank_conflicts_are_counted_by_line(pad: int) -> None:
    a = np.arange(1024, dtype=np.float32).reshape(32, 32)
    b = np.zeros_like(a)
    result = workbench.inline(TRANSPOSE).kernel(f"transpose<{pad}>")(a, b, grid=1, block=(32, 8))
    assert result.is_clean
    assert np.array_equal(b, a.T)
    (reads,) = (cost for cost in result.costs if cost.space == "shared" and not cost.is_write)
    assert (reads.line.number, reads.requests, reads.needed, reads.taken) == (9, 32, 32, 32 if pad else 1024)
    assert [cost.taken for cost in result.costs if cost.space == "global"] == [128, 128]


@pytest.mark.compiler
def test_a_kernel_typed_in_python_takes_what_cute_py_has() -> None:
    kernel = workbench.inline(
        "#include <cute/tensor.hpp>\n"
        "template <class T, class Layout>\n"
        "__global__ void fill(T* at, Layout layout, float by, bool up) {\n"
        "  cute::Tensor t = cute::make_tensor(cute::make_gmem_ptr(at), layout);\n"
        "  if (up && threadIdx.x < cute::size(t)) t(threadIdx.x) = T(by * threadIdx.x);\n"
        "}\n"
    ).kernel("fill")
    a = np.zeros((4, 8), np.float16)
    layout = Layout((Int(4), Int(8)), (Int(8), Int(1)))
    result = kernel(a, layout, 0.5, True, grid=1, block=64)
    assert result.is_clean
    assert np.array_equal(a, np.arange(32).reshape(8, 4).T / 2)
    with pytest.raises(OperandError, match=r"argument 1, \(4,8\):\(8,1\), has numbers that are not static"):
        kernel(a, Layout((4, 8), (8, 1)), 0.5, True, grid=1, block=64)
    with pytest.raises(OperandError, match="argument 0 is an array with gaps"):
        kernel(a[:, ::2], layout, 0.5, True, grid=1, block=64)
    with pytest.raises(OperandError, match="argument 0 has the type >f2"):
        kernel(a.astype(">f2"), layout, 0.5, True, grid=1, block=64)
    frozen = np.zeros((4, 8), np.float16)
    frozen.flags.writeable = False
    with pytest.raises(OperandError, match="wrote to an array that is read-only"):
        kernel(frozen, layout, 0.5, True, grid=1, block=64)
    with pytest.raises(OperandError, match="argument 2 is a NoneType"):
        kernel(a, layout, None, True, grid=1, block=64)
    with pytest.raises(OperandError, match="grid=0"):
        kernel(a, layout, 0.5, True, grid=0, block=64)
    with pytest.raises(OperandError, match="has no 'other'"):
        workbench.inline("__global__ void f() {}").kernel("other")


@pytest.mark.compiler
def test_an_array_that_is_passed_twice_is_one() -> None:
    kernel = workbench.inline(
        "__global__ void f(float* x, float* y) {\n"
        "  x[threadIdx.x] += 1;\n"
        "  y[threadIdx.x] *= 2;\n"
        '  if (threadIdx.x == 99) asm volatile("mov.u32 %3, 0;");\n'
        "}\n"
    ).kernel("f")
    x = np.ones(64, np.float32)
    assert kernel(x, x, grid=1, block=64).is_clean
    assert np.array_equal(x, np.full(64, 4, np.float32))
    with pytest.raises(OperandError, match="argument 1 overlaps another one in part"):
        kernel(x[:40], x[20:60], grid=1, block=20)
    x = np.ones(100, np.float32)
    (finding,) = kernel(x, x, grid=1, block=100).findings
    assert (finding.kind, finding.line.number) == ("unsupported", 4)
    assert "names operand %3, of 0" in finding.text


@pytest.mark.compiler
def test_what_does_not_compile_is_said_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "wrong.cu"
    file.write_text("__global__ void f(int* x) { *x = y; }\nint main() {}\n")
    with pytest.raises(UnitError, match=r"wrong\.cu:1:\d+: error: .*y.* was not declared"):
        workbench.program(file)
    with pytest.raises(OperandError, match="there is no file"):
        workbench.program(tmp_path / "none.cu")
    with pytest.raises(OperandError, match="no architecture 'hopper'"):
        workbench.program(file, architecture="hopper")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("f<<<g, b>>>(x, y);", 'ConfiguredLaunch("f", g, b).with([=](auto const&... x_) { f(x_...); })(x, y);'),
        ("ns::f<A, B<C>><<<g(1, 2), b, 0, s>>>();", 'ConfiguredLaunch("f", g(1, 2), b, 0, s).with([=](auto const&... x_) { ns::f<A, B<C>>(x_...); })();'),
        ("if (x) (*k)<<<1, 2>>>(z);", "if (x) ::cute_py::workbench::ConfiguredLaunch(\"*k\", 1, 2).with([=](auto const&... x_) { (*k)(x_...); })(z);"),
        ("__shared__ float a[N][4], b;", "auto& a = ::cute_py::workbench::shared_variable<float [N][4]>([] {}); "
         "auto& b = ::cute_py::workbench::shared_variable<float >([] {});"),
        ("extern __shared__ alignas(16) char s[];", "auto& s = ::cute_py::workbench::dynamic_shared<char>();"),
        ("alignas(128) __shared__ float a[N];",
         "struct alignas(128) cute_py_aligned_13 {}; "
         "auto& a = ::cute_py::workbench::shared_variable<float [N], alignof(cute_py_aligned_13)>([] {});"),
        ("__shared__ union { alignas(8) A a; B b[2]; } u;",
         "union  cute_py_shared_0 { alignas(8) A a; B b[2]; }; "
         "auto& u = ::cute_py::workbench::shared_variable<cute_py_shared_0 >([] {});"),
        ("__shared__ struct alignas(64) S : T<A, 2> { int x; } s[2], t;",
         "struct alignas(64)   S : T<A, 2> { int x; }; auto& s = ::cute_py::workbench::shared_variable<S [2]>([] {}); "
         "auto& t = ::cute_py::workbench::shared_variable<S >([] {});"),
        ("__shared__ T<A, 2> t;", "auto& t = ::cute_py::workbench::shared_variable<T<A, 2> >([] {});"),
        ('asm volatile("a %0, %1;" : "=r"(x) : "r"(f(y, z)) : "memory");',
         '::cute_py::workbench::ptx("a %0, %1;", ::cute_py::workbench::output(x), ::cute_py::workbench::input(f(y, z)));'),
        ('asm("" :: "r"(x) : "memory");', "static_cast<void>(0);"),
        ('int f(int) __asm__("g");', 'int f(int) __asm__("g");'),
        ('char const* x = "f<<<1, 2>>>()"; // asm', 'char const* x = "f<<<1, 2>>>()"; // asm'),
        ("a = b << 3; std::cout << x;", "a = b << 3; std::cout << x;"),
        ("template <class T, int N = 2> __global__ static void f(T x) { g(); }",
         "template <class T, int N = 2>  static void f(T x) { static_cast<void>(::cute_py::workbench::Enrolled<&f<T, N>>::done); g(); }"),
    ],
)  # fmt: skip
def test_what_is_no_cplusplus_is_rewritten(source: str, expected: str) -> None:
    got = rewrite(f"{source}\n")
    assert got.replace("::cute_py::workbench::ConfiguredLaunch", "ConfiguredLaunch").strip() == expected.replace(
        "::cute_py::workbench::ConfiguredLaunch", "ConfiguredLaunch"
    )


def test_lines_keep_their_numbers() -> None:
    source = '# 1 "f.cu"\nvoid g() {\n  f<<<1,\n      2>>>(\n      x);\n  asm("a;\\n"\n      "b;");\n}\nint here;\n'
    assert rewrite(source).splitlines().index("int here;") == source.splitlines().index("int here;")
    with pytest.raises(OperandError, match=r"f\.cu:2: <<< without >>>"):
        rewrite('# 1 "f.cu"\n\nvoid g() { f<<<1, 2; }\n')
    # The host's own headers stay as they are.
    assert 'asm("pause");' in rewrite('# 1 "/usr/include/x.h"\nvoid g() { asm("pause"); }\n')
