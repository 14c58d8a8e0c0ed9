#include "base/isa.hpp"

namespace cute_py::cpu {
namespace {
constexpr Isa kIsa = Isa::avx2;
}
}  // namespace cute_py::cpu

#include "cpu/operations.inl"
