#include "base/isa.hpp"

namespace cute_py::cpu {
namespace {
constexpr Isa kIsa = Isa::avx512_vnni;
}
}  // namespace cute_py::cpu

#include "cpu/gemm/words.inl"
