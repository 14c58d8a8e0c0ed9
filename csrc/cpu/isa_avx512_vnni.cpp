#include <immintrin.h>

#include <type_traits>

#include "cpu/micro_kernel.hpp"

namespace cute_py::cpu {
namespace {
constexpr Isa kIsa = Isa::avx512_vnni;
}

// clang-format off: in this order
#include "cpu/vectors.inl"
#include "cpu/register_tile.inl"
#include "cpu/word_kernel.inl"
// clang-format on

}  // namespace cute_py::cpu
