#include "base/isa.hpp"

namespace cute_py::cpu {
namespace {
constexpr Isa kIsa = Isa::avx512;
}
}  // namespace cute_py::cpu

#include "cpu/operations.inl"
