// Which operation of cpu_loops computes what: a line for each product.
#include <cstdio>

#include "cpu/loops/plan.hpp"

using namespace cute_py;

namespace {

constexpr std::int64_t kExtent = 600;

Mode mode(std::int64_t extent, std::int64_t a, std::int64_t b, std::int64_t d) {
  Mode made{extent, {}, false, false};
  made.stride[Role::a] = a;
  made.stride[Role::b] = b;
  made.stride[Role::d] = d;
  return made;
}

void print(char const* what, Modes const& m, Modes const& k, bool is_sum) {
  Geometry g;
  g.compute = Compute::f32;
  g.type[Role::a] = g.type[Role::b] = g.type[Role::d] = DType::f32;
  g.m = m;
  g.k = k;
  g.is_sum = is_sum;
  constexpr char const* kNames[] = {"elementwise", "dot", "gemv_lines", "gemv_rows"};
  std::printf("%s %s\n", what, kNames[static_cast<int>(cpu::make_plan(g).operation)]);
}

Modes modes(std::initializer_list<Mode> of) {
  Modes made;
  for (Mode const& each : of) made.push_back(each);
  return made;
}

}  // namespace

int main() {
  print("column-major-matrix-times-vector", modes({mode(kExtent, 1, 0, 1)}), modes({mode(kExtent, kExtent, 1, 0)}),
        false);
  print("row-major-matrix-times-vector", modes({mode(kExtent, kExtent, 0, 1)}), modes({mode(kExtent, 1, 1, 0)}), false);
  print("dot-product", modes({}), modes({mode(kExtent, 1, 1, 0)}), true);
  print("row-sums", modes({mode(kExtent, kExtent, 0, 1)}), modes({mode(kExtent, 1, 0, 0)}), true);
  print("outer-product", modes({mode(kExtent, 1, 0, 1), mode(kExtent, 0, 1, kExtent)}), modes({}), false);
  print("scaled-rows", modes({mode(kExtent, 1, 1, 1), mode(kExtent, kExtent, 0, kExtent)}), modes({}), false);
}
