#pragma once

#include "problem/entry.hpp"

namespace cute_py::cpu {

// The instruction sets that this build has kernels for, VNNI aside, which int8 alone has, and the widest of them. What
// is compiled is up to CMakeLists.txt; the processor decides at run time.
template <Isa... isa>
struct IsaList {};
#ifdef __x86_64__
using Isas = IsaList<Isa::baseline, Isa::avx2, Isa::avx512>;
inline constexpr Isa kWidestIsa = Isa::avx512;
#else
using Isas = IsaList<Isa::baseline>;
inline constexpr Isa kWidestIsa = Isa::baseline;
#endif

}  // namespace cute_py::cpu
