#include <immintrin.h>

#include <type_traits>

#include "cpu/line_kernel.hpp"
#include "cpu/micro_kernel.hpp"

namespace cute_py::cpu {
namespace {
constexpr Isa kIsa = Isa::avx2;
}

// clang-format off: in this order
#include "cpu/vectors.inl"
#include "cpu/register_tile.inl"
#include "cpu/micro_kernel.inl"
#include "cpu/word_kernel.inl"
#include "cpu/line_kernel.inl"
// clang-format on

}  // namespace cute_py::cpu
