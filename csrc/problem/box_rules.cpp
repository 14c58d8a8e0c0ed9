#include "problem/box_rules.hpp"

#include <algorithm>
#include <cstddef>
#include <sstream>

namespace cute_py::box_rules {
namespace {

class Rules {
 public:
  template <class... Words>
  void rule(bool holds, Words const&... words) {
    if (holds) return;
    std::ostringstream text;
    (text << ... << words);
    broken.push_back(text.str());
  }

  std::vector<std::string> broken;
};

std::string in_hex(std::int64_t number) {
  std::ostringstream text;
  text << std::hex << std::showbase << number;
  return text.str();
}

std::int64_t divide_up(std::int64_t x, std::int64_t y) { return (x + y - 1) / y; }

// Saturates: beyond the limit the exact number does not matter.
std::int64_t bytes_of_box(Question const& q, std::int64_t size) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  std::int64_t bytes = size;
  for (std::size_t mode = 0; mode < q.box.size(); ++mode) {
    auto const length = q.steps[mode] > 0 ? divide_up(q.box[mode], q.steps[mode]) : q.box[mode];
    bytes = length > kMost / std::max<std::int64_t>(bytes, 1) ? kMost : bytes * length;
  }
  return bytes;
}

void check_stride(Rules& rules, std::size_t mode, std::int64_t stride, std::int64_t size) {
  if (mode == 0) {
    rules.rule(stride == 1, "global stride of mode 0: ", stride,
               ", it is 1 by definition; next: put the contiguous mode first");
    return;
  }
  auto const broken = broken_by_stride(stride, size);
  rules.rule(broken.empty(), "global stride of mode ", mode, ": ", broken);
}

}  // namespace

std::string broken_by_stride(std::int64_t elements, std::int64_t element_bytes) {
  auto const bytes = elements * element_bytes;
  if (!is_in_reach(bytes)) return std::to_string(bytes) + " bytes are not in 0 to 2**40 - 1";
  if (is_aligned(bytes)) return "";
  auto const padded = divide_up(bytes, kAlignment) * kAlignment / element_bytes;
  return std::to_string(elements) + " elements are " + std::to_string(bytes) + " bytes, no multiple of " +
         std::to_string(kAlignment) + "; next: pad it to " + std::to_string(padded) + " elements";
}

Answer ask(Question const& q) {
  Rules rules;
  auto const bits = q.element_bits;
  auto const rank = static_cast<std::int64_t>(q.extents.size());
  std::int64_t const size = std::max(bits / 8, 1);
  rules.rule(bits == 8 || bits == 16 || bits == 32 || bits == 64, "element type: ", q.element, " has ", bits,
             " bits; the engine moves 8, 16, 32 or 64");
  rules.rule(1 <= rank && rank <= kMostModes, "rank: ", rank, " modes; 1 to ", kMostModes,
             " are possible; next: merge modes");
  rules.rule(is_aligned(q.address), "address: ", in_hex(q.address), " is no multiple of ", kAlignment);
  for (std::size_t mode = 0; mode < q.extents.size(); ++mode) {
    rules.rule(is_extent(q.extents[mode]), "extent of mode ", mode, ": ", q.extents[mode], " is not in 1 to ",
               kMostExtent);
    check_stride(rules, mode, q.strides[mode], size);
    rules.rule(is_box(q.box[mode]), "box extent of mode ", mode, ": ", q.box[mode], " is not in 1 to ", kMostBox,
               "; next: several boxes");
    rules.rule(is_step(q.steps[mode]), "element stride of mode ", mode, ": ", q.steps[mode], " is not in 1 to ",
               kMostStep);
  }
  std::int64_t const line = q.box.empty() ? 0 : q.box[0] * size;
  rules.rule(is_aligned(line), "box extent of mode 0: ", line, " bytes are no multiple of ", kAlignment);
  rules.rule(q.swizzle_bytes == 0 || line <= q.swizzle_bytes, "swizzle span: the box is ", line,
             " bytes wide, the swizzle spans ", q.swizzle_bytes, "; next: a box of ", q.swizzle_bytes / size,
             " elements");
  auto const bytes = bytes_of_box(q, size);
  rules.rule(bytes <= kSharedBytes, "box: its ", bytes, " bytes do not fit the ", kSharedBytes,
             " bytes of shared memory");
  return {rules.broken, bytes};
}

}  // namespace cute_py::box_rules
