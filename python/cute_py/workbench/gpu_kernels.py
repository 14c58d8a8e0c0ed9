"""Kernels of a module on a GPU: compiled by nvcc into a shared object with one function that launches."""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache as memory
from pathlib import Path
from typing import Any

from cute_py import _core
from cute_py.errors import CudaError
from cute_py.workbench.programs import compiled_by_nvcc

__all__ = ["LAUNCHER", "GpuKernel"]

# The kernel is launched by <<<>>>, which deduces template arguments. What that cannot say, clusters and more than 48 KB
# of shared memory, is added where the linker puts us between its code and the runtime (--wrap).
LAUNCHER = """
#include <cstddef>
#include <cstring>
#include <cuda_runtime.h>
struct CutePyLaunch {
  unsigned grid[3], block[3], cluster[3];
  int device;
  unsigned long long shared;
  void* stream;
};
static thread_local CutePyLaunch const* cute_py_launch_now = nullptr;

static cudaError_t cute_py_launch_kernel(void const* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                                         cudaStream_t stream) {
  unsigned const* const cluster = cute_py_launch_now->cluster;
  unsigned const ctas = cluster[0] * cluster[1] * cluster[2];
  if (shared > 48 * 1024) {
    auto const error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared));
    if (error != cudaSuccess) return error;
  }
  if (ctas > 8) {
    auto const error = cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    if (error != cudaSuccess) return error;
  }
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = cluster[0];
  attribute.val.clusterDim.y = cluster[1];
  attribute.val.clusterDim.z = cluster[2];
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = ctas > 1 ? 1 : 0;
  return cudaLaunchKernelExC(&config, kernel, arguments);
}
// What <<<>>> becomes, up to CUDA 12 and since.
extern "C" cudaError_t __wrap_cudaLaunchKernel(void const* kernel, dim3 grid, dim3 block, void** arguments,
                                               std::size_t shared, cudaStream_t stream) {
  return cute_py_launch_kernel(kernel, grid, block, arguments, shared, stream);
}
extern "C" cudaError_t __wrap___cudaLaunchKernel(void const* kernel, dim3 grid, dim3 block, void** arguments,
                                                 std::size_t shared, cudaStream_t stream) {
  return cute_py_launch_kernel(kernel, grid, block, arguments, shared, stream);
}

extern "C" __attribute__((visibility("default"))) int cute_py_launch(CutePyLaunch const* launch,
                                                                     unsigned long long const* a) {
  int before = 0;
  if (auto const error = cudaGetDevice(&before); error != cudaSuccess) return error;
  if (auto const error = cudaSetDevice(launch->device); error != cudaSuccess) return error;
  cute_py_launch_now = launch;
  dim3 const grid(launch->grid[0], launch->grid[1], launch->grid[2]);
  dim3 const block(launch->block[0], launch->block[1], launch->block[2]);
  std::size_t const shared = launch->shared;
  auto const stream = static_cast<cudaStream_t>(launch->stream);
  (void)a;
USING
  CALL
  int const failed = cudaGetLastError();
  cudaSetDevice(before);
  return failed;
}
extern "C" __attribute__((visibility("default"))) char const* cute_py_text_of(int error) {
  return cudaGetErrorString(static_cast<cudaError_t>(error));
}
"""


class _Launch(ctypes.Structure):
    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("cluster", ctypes.c_uint * 3),
        ("device", ctypes.c_int),
        ("shared", ctypes.c_ulonglong),
        ("stream", ctypes.c_void_p),
    )


@dataclass(frozen=True)
class GpuKernel:
    """A kernel, and the call of it with arguments of some types."""

    library: ctypes.CDLL

    @staticmethod
    def of(name: str, source: str, call: str, ordinal: int, settings: Mapping[str, Any]) -> GpuKernel:
        """Compile a module and a call of its kernel for a GPU, unless this process or the cache has it."""
        given = {key: tuple(map(str, value)) for key, value in settings.items() if key != "architecture"}
        architecture = settings.get("architecture") or _architecture_of(ordinal)
        return _compiled(name, source + call, architecture, tuple(sorted(given.items())))

    def launch(
        self, name: str, words: Sequence[int], extents: Sequence[Sequence[int]], shared: int, stream: int, ordinal: int
    ) -> None:
        """Launch it. Raises CudaError."""
        shapes = [(ctypes.c_uint * 3)(*x, *(1,) * (3 - len(x))) for x in extents]
        launch = _Launch(*shapes, ordinal, shared, stream)
        arguments = (ctypes.c_ulonglong * max(len(words), 1))(*words)
        failed = self.library.cute_py_launch(ctypes.byref(launch), arguments)
        if failed:
            grid, block, cluster = ("x".join(map(str, x)) for x in extents)
            raise CudaError(
                f"{name}: the GPU takes no such launch: {self.library.cute_py_text_of(failed).decode()}\n"
                f"  grid {grid}, block {block}, cluster {cluster}, {shared} bytes of dynamic shared memory\n"
                "  next: extents and shared memory that its architecture has"
            )


@memory
def _architecture_of(ordinal: int) -> str:
    major, minor = _core.devices()[ordinal]["compute_capability"]
    return f"{major}{minor}a" if major >= 9 else f"{major}{minor}"


@memory
def _compiled(name: str, text: str, architecture: str, settings: tuple[tuple[str, tuple[str, ...]], ...]) -> GpuKernel:
    with tempfile.TemporaryDirectory(prefix="cute_py-") as folder:
        source = Path(folder) / "source.cu"
        source.write_text(text)
        flags = [
            "-shared",
            "-Xcompiler=-fPIC,-fvisibility=hidden",
            "-Xlinker=--wrap=cudaLaunchKernel,--wrap=__cudaLaunchKernel",
        ]
        path = compiled_by_nvcc(source, name, architecture, **dict(settings), more_flags=flags, suffix=".so")
    library = ctypes.CDLL(str(path))
    library.cute_py_text_of.restype = ctypes.c_char_p
    return GpuKernel(library)
