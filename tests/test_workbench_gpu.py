"""The workbench on a GPU: kernels of text on arrays there, programs, marks, Configs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cute_py import Int, Layout, kernels, testing, workbench
from cute_py.errors import CudaError, OperandError, UnitError

pytestmark = pytest.mark.gpu

ROOT = Path(__file__).parents[1]
TUTORIAL = ROOT / "third_party" / "cutlass" / "tutorial"

TRANSPOSE = """
template <int pad, class T>
__global__ void transpose(T const* in, T* out, T by, bool twice) {
  extern __shared__ char memory[];
  T* tile = reinterpret_cast<T*>(memory);
  int const x = threadIdx.x;
  for (int y = threadIdx.y; y < 32; y += 8) tile[y * (32 + pad) + x] = in[y * 32 + x];
  __syncthreads();
  for (int y = threadIdx.y; y < 32; y += 8) out[y * 32 + x] = tile[x * (32 + pad) + y] * by * T(twice ? 2 : 1);
}
"""


def torch_of() -> Any:
    return pytest.importorskip("torch")


def test_a_kernel_is_launched_on_the_memory_of_tensors() -> None:
    torch = torch_of()
    kernel = workbench.inline(TRANSPOSE).kernel("transpose<1>")
    a = torch.arange(1024, dtype=torch.float32, device="cuda").reshape(32, 32)
    b = torch.zeros_like(a)
    # More than 48 KB of shared memory, and numbers of other values without another compilation.
    for by, twice in ((np.float32(3), False), (np.float32(0.5), True)):
        assert kernel(a, b, by, twice, grid=1, block=(32, 8), shared=100_000) is None
        assert torch.equal(b, a.T * float(by) * (2 if twice else 1))
    d = a.double()
    out = torch.zeros_like(d).T  # any order of modes: the pointer is that of the first element
    kernel(d, out, 1.0, False, grid=1, block=(32, 8), shared=33 * 32 * 8)
    assert torch.equal(out.T, d.T)


def test_a_kernel_takes_arrays_of_cupy_and_jax() -> None:
    cupy = pytest.importorskip("cupy")
    kernel = workbench.inline(TRANSPOSE).kernel("transpose<1>")
    a = cupy.arange(1024, dtype=cupy.float32).reshape(32, 32)
    b = cupy.zeros_like(a)
    stream = cupy.cuda.Stream()
    with stream:
        kernel(a, b, np.float32(2), False, grid=1, block=(32, 8), shared=33 * 32 * 4)
        assert cupy.array_equal(b, 2 * a.T)
    kernel(a, b, np.float32(4), False, grid=1, block=(32, 8), shared=33 * 32 * 4, stream=stream)
    stream.synchronize()
    assert cupy.array_equal(b, 4 * a.T)
    jax = pytest.importorskip("jax")
    x = jax.numpy.arange(1024, dtype=jax.numpy.float32).reshape(32, 32)
    if next(iter(x.devices())).platform == "gpu":
        kernel(x, b, np.float32(1), False, grid=1, block=(32, 8), shared=33 * 32 * 4)
        assert cupy.array_equal(b, cupy.from_dlpack(x).T)
        with pytest.raises(UnitError, match="error"):
            workbench.inline("__global__ void f(float* x) { *x = 1; }").kernel("f")(x, grid=1, block=1)


def test_a_launch_is_captured_in_a_graph() -> None:
    torch = torch_of()
    kernel = workbench.inline("__global__ void add(float* x, float y) { x[threadIdx.x] += y; }").kernel("add")
    x = torch.zeros(64, device="cuda")
    kernel(x, 1.0, grid=1, block=64)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel(x, 2.0, grid=1, block=64)
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(x, torch.full_like(x, 7))


CLUSTER = """
#include <cute/arch/cluster_sm90.hpp>
#include <cute/tensor.hpp>
template <class Layout>
__global__ void ranks(int* out, Layout layout) {
  cute::cluster_arrive();
  cute::cluster_wait();
  if (threadIdx.x == 0) out[layout(blockIdx.x)] = static_cast<int>(cute::cluster_shape().x * 10 + cute::block_rank_in_cluster());
}
"""


def test_clusters_and_layouts_are_arguments() -> None:
    torch = torch_of()
    out = torch.zeros(4, dtype=torch.int32, device="cuda")
    kernel = workbench.inline(CLUSTER).kernel("ranks")
    layout = Layout((Int(2), Int(2)), (Int(2), Int(1)))
    kernel(out, layout, grid=4, block=32, cluster=2)
    assert out.tolist() == [20, 20, 21, 21]
    host = np.zeros(4, np.int32)
    assert kernel(host, layout, grid=4, block=32, cluster=2).is_clean
    assert host.tolist() == out.tolist()


def test_what_a_gpu_does_not_take_is_refused() -> None:
    torch = torch_of()
    kernel = workbench.inline("__global__ void add(float* x, float y) { x[threadIdx.x] += y; }").kernel("add")
    x = torch.zeros(64, device="cuda")
    with pytest.raises(CudaError, match=r"no such launch: .*\n  grid 1, block 2048"):
        kernel(x, 1.0, grid=1, block=2048)
    with pytest.raises(CudaError, match="no such launch"):
        kernel(x, 1.0, grid=1, block=64, shared=300_000)
    with pytest.raises(OperandError, match="argument 1 is on cpu"):
        workbench.inline("__global__ void f(float* x, float* y) {}").kernel("f")(x, x.cpu(), grid=1, block=1)
    with pytest.raises(OperandError, match="argument 0 is an array with gaps"):
        kernel(x[::2], 1.0, grid=1, block=32)
    with pytest.raises(OperandError, match="order, seed and timeout"):
        kernel(x, 1.0, grid=1, block=32, order="random")
    with pytest.raises(UnitError, match="error"):
        workbench.inline("__global__ void f(float* x) { nothing; }").kernel("f")(x, grid=1, block=1)
    kernel(x, 1.0, grid=1, block=64)
    assert x.sum().item() == 64


def run(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cute_py", "run", "--target", "cuda", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_marks_of_a_kernel_become_a_timeline(tmp_path: Path) -> None:
    picture = tmp_path / "gpu.svg"
    done = run("--timeline", picture, ROOT / "examples" / "timelines" / "gemm_sm90.cu")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 elements are wrong" in done.stdout
    text = picture.read_text()
    for section in ("main loop", "epilogue", "wait for the turn", "load"):
        assert f"<title>{section}: " in text
    if "OUT" in os.environ:
        (Path(os.environ["OUT"]) / "gemm_sm90_gpu.svg").write_text(text)


@pytest.mark.skipif(not TUTORIAL.exists(), reason="CUTLASS was not fetched")
@pytest.mark.parametrize(
    ("name", "layouts"), [("sgemm_1", "NT"), ("sgemm_sm80", "TN"), ("hopper/wgmma_tma_sm90", "NT")]
)
def test_programs_run(name: str, layouts: str) -> None:
    done = run(TUTORIAL / f"{name}.cu", 512, 512, 256, *layouts)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "CUTE_GEMM" in done.stdout


BASES = {
    "sgemm_1_nt_f32": {"tiler": (64, 64, 8), "threads_a": "(32,4)", "threads_b": "(32,4)", "threads_c": "(16,8)"},
    "sgemm_2_tn_f32": {"smem_a": "(128,8):(1,132)"},
    "sgemm_sm80_nt_f32": {"tiler": (128, 64, 16), "stages": 4},
    "gemm_sm80_tn_f16_128x128": {"stages": 2},
    "gemm_sm90_tn_bf16_128x128": {"stages": 4},
}


@pytest.mark.parametrize("base", list(BASES))
def test_a_config_is_right_on_the_gpu(base: str) -> None:
    if base not in kernels():
        pytest.skip(f"there is no {base}")
    name = f"on_gpu_{base}"
    mine = workbench.config(base, name=name, **BASES[base])
    mine.compile()
    mine.compile("cuda")
    checks = list(testing.verify([name]))
    assert {check.target for check in checks} == {"cuda", "emulator"}
    assert [check for check in checks if check.error is not None] == []


def test_a_search_times_what_is_right() -> None:
    found = workbench.search(
        "sgemm_2_tn_f32", {"smem_a": ["(128,8):(1,128)", "(128,8):(1,132)"]}, target="cuda", problem=(1024, 1024, 256)
    )
    assert len(found) == 2
    assert all(judged.error is None and judged.us > 0 for judged in found)
