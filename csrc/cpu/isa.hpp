#pragma once

#include <algorithm>

#include "base/isa.hpp"

namespace cute_py::cpu {

// The instruction sets that this build has kernels for, and those of int8, in ascending order. What is compiled is up
// to CMakeLists.txt; the processor decides at run time.
template <Isa... isa>
struct IsaList {
  static constexpr Isa widest = std::max({isa...});
};
#ifdef __x86_64__
using Isas = IsaList<Isa::baseline, Isa::avx2, Isa::avx512>;
using Int8Isas = IsaList<Isa::baseline, Isa::avx2, Isa::avx512, Isa::avx512_vnni>;
#else
using Isas = IsaList<Isa::baseline>;
using Int8Isas = Isas;
#endif

}  // namespace cute_py::cpu
