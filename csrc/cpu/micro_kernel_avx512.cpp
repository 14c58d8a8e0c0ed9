#include "cpu/micro_kernel.hpp"

namespace cute_py::cpu {
namespace {
constexpr Isa kIsa = Isa::avx512;
}

#include "cpu/micro_kernel.inl"

MicroKernel micro_kernel_avx512() { return {kMr, kNr, &multiply, &store}; }

}  // namespace cute_py::cpu
