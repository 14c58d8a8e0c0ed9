// D(i,j,...) = A(i,j,...) on the host, bit by bit
//
// A block is along the modes that are the fastest of D and of A, so that of what a cache reads and writes all is used.
//
// Requires:  any strides of A; D lies apart from A
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

#include "base/parallel.hpp"
#include "cpu/launch.hpp"
#include "problem/entry.hpp"

namespace cute_py::cpu {

extern Rules const copy_rules;

namespace {

constexpr std::int64_t kBlock = 64;               // elements of a side of a block
constexpr std::int64_t kBytesOfThread = 1 << 20;  // that are worth a thread

std::int64_t length(Mode const& mode, Role role) {
  auto const stride = std::abs(mode.stride[role]);
  return stride == 0 ? std::numeric_limits<std::int64_t>::max() : stride;
}

// The modes of a copy: the fastest of D, the fastest of A (the same, if that is one of one element), and the others.
struct Plan {
  Mode fast_d;
  Mode fast_a;
  Modes others;

  explicit Plan(Modes modes) {
    take(modes, Role::d, fast_d);
    bool const is_fast_in_both = std::none_of(
        modes.begin(), modes.end(), [&](Mode const& mode) { return length(mode, Role::a) < length(fast_d, Role::a); });
    take(modes, is_fast_in_both ? Role::d : Role::a, fast_a);
    std::stable_sort(modes.begin(), modes.end(),
                     [](Mode const& x, Mode const& y) { return length(x, Role::d) < length(y, Role::d); });
    others = modes;
  }

 private:
  static void take(Modes& modes, Role role, Mode& taken) {
    if (modes.rank() == 0) return;
    auto const fastest = std::min_element(
        modes.begin(), modes.end(), [&](Mode const& x, Mode const& y) { return length(x, role) < length(y, role); });
    taken = *fastest;
    modes.erase(static_cast<int>(fastest - modes.begin()));
  }
};

template <int bytes>
void copy_block(Plan const& plan, char const* from, char* to, std::int64_t count_d, std::int64_t count_a) {
  auto const a = plan.fast_d.stride[Role::a] * bytes;
  auto const d = plan.fast_d.stride[Role::d] * bytes;
  for (std::int64_t j = 0; j < count_a; ++j) {
    char const* const x = from + j * plan.fast_a.stride[Role::a] * bytes;
    char* const y = to + j * plan.fast_a.stride[Role::d] * bytes;
    if (a == bytes && d == bytes) {
      std::memcpy(y, x, static_cast<std::size_t>(count_d * bytes));
    } else {
      for (std::int64_t i = 0; i < count_d; ++i) std::memcpy(y + i * d, x + i * a, bytes);
    }
  }
}

template <int bytes>
int run(Geometry const& g, Arguments const& x, Execution const& execution) {
  Plan const plan(g.m);
  auto const* const from = static_cast<char const*>(x.data[Role::a]);
  auto* const to = static_cast<char*>(x.data[Role::d]);
  bool const in_rows = plan.fast_d.stride[Role::a] == 1 && plan.fast_d.stride[Role::d] == 1;
  auto const side_d = in_rows ? std::int64_t{1} << 15 : kBlock;
  auto const side_a = in_rows ? std::int64_t{8} : kBlock;
  auto const blocks_d = (plan.fast_d.extent + side_d - 1) / side_d;
  auto const blocks_a = (plan.fast_a.extent + side_a - 1) / side_a;
  auto const count = blocks_d * blocks_a * plan.others.size();
  auto const threads = std::clamp<std::int64_t>(g.m.size() * bytes / kBytesOfThread, 1, execution.host_threads);
  constexpr std::int64_t kAtOnce = 64;
  parallel_for(static_cast<int>(threads), (count + kAtOnce - 1) / kAtOnce, [&](std::int64_t chunk) {
    execution.check_interrupt();
    for (auto i = chunk * kAtOnce; i < std::min(count, (chunk + 1) * kAtOnce); ++i) {
      auto const d = i % blocks_d * side_d;
      auto const a = i / blocks_d % blocks_a * side_a;
      auto const other = i / blocks_d / blocks_a;
      auto const at = [&](Role role) {
        return (offset_of(plan.others, role, other) + d * plan.fast_d.stride[role] + a * plan.fast_a.stride[role]) *
               bytes;
      };
      copy_block<bytes>(plan, from + at(Role::a), to + at(Role::d), std::min(side_d, plan.fast_d.extent - d),
                        std::min(side_a, plan.fast_a.extent - a));
    }
  });
  return 0;
}

std::unique_ptr<Launch> prepare(char const*, Geometry const& geometry, Cut const&) {
  switch (bytes_of(geometry.type[Role::d])) {
    case 1:
      return std::make_unique<HostLaunch<&run<1>>>(geometry);
    case 2:
      return std::make_unique<HostLaunch<&run<2>>>(geometry);
    case 4:
      return std::make_unique<HostLaunch<&run<4>>>(geometry);
    case 8:
      return std::make_unique<HostLaunch<&run<8>>>(geometry);
    default:
      return std::make_unique<HostLaunch<&run<16>>>(geometry);
  }
}

}  // namespace

void add_copy(std::vector<Entry>& entries) {
  Traits traits = host_traits("cpu_copy", "cpu_copy", Compute::copy);
  traits.factors = kAllTypes;
  traits.results = kAllTypes;
  traits.one_type = true;
  entries.push_back({traits, &copy_rules, &prepare, nullptr, nullptr});
}

}  // namespace cute_py::cpu
