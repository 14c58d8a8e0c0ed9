#include "base/isa.hpp"

namespace cute_py::cpu {
namespace {
constexpr Isa kIsa = Isa::baseline;
}
}  // namespace cute_py::cpu

#include "cpu/operations.inl"
