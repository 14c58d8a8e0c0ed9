#pragma once

#include "problem/problem.hpp"

namespace cute_py {

// Do two different coordinates of a (rows,columns) matrix name the same element? Exact.
bool shares_elements(Matrix const& matrix, std::int64_t rows, std::int64_t columns);

// May two float32 matrices have an element in common? False is certain. True is certain where their layouts are compact
// or slices of one larger matrix; for stranger strides it may be a false alarm.
bool may_overlap(Matrix const& x, std::int64_t x_rows, std::int64_t x_columns, Matrix const& y, std::int64_t y_rows,
                 std::int64_t y_columns);

}  // namespace cute_py
