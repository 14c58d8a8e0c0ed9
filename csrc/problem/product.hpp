#pragma once

#include <cstdint>
#include <vector>

#include "problem/geometry.hpp"
#include "problem/request.hpp"

// The rules of the operation: what a request must be, and its product.
namespace cute_py {

struct Product {
  Geometry geometry;  // of the modes as they were named, not folded

  // Of the result.
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> stride;  // of a new one, in elements: dense
  DType type = DType::f32;           // of a new one
  dlpack::DataType dtype{};          // the same, as it is exported; of a copy also one that no product takes
  std::vector<int> order;            // of the modes of a new one, from the slowest to the fastest

  Labels labels;  // a letter for each mode of A, of B and of the result

  std::int64_t bytes = 0;  // that have to move at least: each element of A, B, D and, if it is read, C once
};

// Throws OperandError or UnsupportedProblemError, with the rule, the operands and a way out. Of where the arrays are
// only their alignment matters.
Product make_product(Request const& request);

// The same of a request without B, for a copy.
Product make_copy(Request const& request);

// Throws OperandError unless what is written lies apart from all that is read.
void require_apart(Request const& request);

// The numbers of a call, rounded to what the product is summed in.
Arguments make_arguments(Request const& request, Compute compute);

}  // namespace cute_py
