#pragma once

#include <utility>
#include <vector>

#include "layout/layout.hpp"

// What an operation of the algebra does with its arguments, step by step, for explanations. The steps are derived
// afterwards, by a replay of the operation's definition that asks the operation for its results; where it throws
// LayoutError, they end.
namespace cute_py::layout {

// One step of an operation: its kind, and operands and results by name.
struct Step {
  char const* kind;
  std::vector<std::pair<char const*, Tiler>> values;
};
using Steps = std::vector<Step>;

Steps coalesce_steps(Layout const& layout);
Steps composition_steps(Layout const& a, Tiler const& b);
Steps complement_steps(Layout const& layout);
Steps complement_steps(Layout const& layout, IntTuple const& cotarget);
Steps right_inverse_steps(Layout const& layout);
Steps left_inverse_steps(Layout const& layout);
Steps logical_divide_steps(Layout const& layout, Tiler const& tiler);
Steps logical_product_steps(Layout const& block, Tiler const& tiler);

}  // namespace cute_py::layout
