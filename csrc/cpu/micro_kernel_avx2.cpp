#include "cpu/micro_kernel.hpp"

namespace cute_py::cpu {
namespace {
constexpr Isa kIsa = Isa::avx2;
}

#include "cpu/micro_kernel.inl"

MicroKernel micro_kernel_avx2() { return {kMr, kNr, &multiply, &store}; }

}  // namespace cute_py::cpu
