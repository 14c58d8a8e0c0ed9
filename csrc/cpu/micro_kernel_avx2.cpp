#include "cpu/micro_kernel.hpp"

namespace cute_py::cpu {
namespace {
constexpr Isa kIsa = Isa::avx2;
}

#include "cpu/micro_kernel.inl"

}  // namespace cute_py::cpu
