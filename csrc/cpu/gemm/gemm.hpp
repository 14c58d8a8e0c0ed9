#pragma once

#include <memory>

#include "base/isa.hpp"
#include "problem/entry.hpp"

namespace cute_py::cpu {

// The product of int8 with sums of int32, for families whose steps begin with one.
std::unique_ptr<Launch> prepare_int8_gemm(Isa isa, Geometry const& geometry);

}  // namespace cute_py::cpu
