#include "cpu/micro_kernel.hpp"

namespace cute_py::cpu {
namespace {
constexpr Isa kIsa = Isa::baseline;
}

#include "cpu/micro_kernel.inl"

MicroKernel micro_kernel_baseline() { return {kMr, kNr, &multiply, &store}; }

}  // namespace cute_py::cpu
