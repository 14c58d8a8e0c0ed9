#pragma once

// Kernels live in a namespace with "cutlass" in its name because ptxas looks for that word in the name of a kernel.
// Where it is, ptxas keeps CuTe's order of multiply-adds, which reuses registers; where it is not, it reorders them.
// The same PTX of sgemm_2 under the two names: 44.8 and 36.8 TFLOP/s (H200, CUDA 13.0, November 2026;
// docs/perf/tutorial-kernels.md).
namespace cute_py::kernels {
inline namespace cutlass_scheduled {}
}  // namespace cute_py::kernels
