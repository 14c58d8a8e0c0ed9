#include "problem/traits.hpp"

#include <algorithm>

#include "problem/access.hpp"
#include "problem/tensor_box.hpp"

namespace cute_py {
namespace {

char const* letter(Major major, Role factor) {
  if (major == Major::k) return "k";
  return factor == Role::a ? "m" : "n";
}

Modes const& own(Geometry const& g, Role factor) { return factor == Role::a ? g.m : g.n; }

Obstacle obstacle_in(Geometry const& g, Role factor, Major major) {
  if (g.compute == Compute::planes) return {};  // they lie as they were laid out
  Modes const& mn = own(g, factor);
  return major == Major::k ? obstacle_to_boxes(g, factor, g.k, mn) : obstacle_to_boxes(g, factor, mn, g.k);
}

std::string version(int capability) { return std::to_string(capability / 10) + "." + std::to_string(capability % 10); }

}  // namespace

bool Requirement::has_instructions(DeviceInfo const& device) const {
  if (isa > device.isa) return false;
  if (device.compute_capability == 0) return true;  // a CPU, or no device, of a trace
  return device.compute_capability >= compute_capability &&
         (!one_major || device.compute_capability / 10 == compute_capability / 10);
}

bool Requirement::has_shared_memory(DeviceInfo const& device) const {
  return device.compute_capability == 0 || device.shared_bytes_per_cta >= shared_bytes;
}

bool Requirement::is_outdone(DeviceInfo const& device) const { return isa < std::min(device.isa, widest_isa); }

std::string Requirement::describe(DeviceInfo const& device) const {
  if (isa > device.isa) return "the CPU lacks its instruction set";
  return "needs compute capability " + version(compute_capability) + ", " + device.name + " has " +
         version(device.compute_capability);
}

std::string Requirement::describe_shared_memory() const {
  return "needs " + std::to_string(shared_bytes) + " bytes of shared memory per CTA";
}

bool OperandRule::fits(Geometry const& g, Role factor) const {
  switch (kind) {
    case Kind::boxes:
      return obstacle_in(g, factor, major(factor)).kind == Obstacle::Kind::none;
    case Kind::moved:
      return factor != Role::a || moves_together(g, moved_bytes);
    default: {
      int const bytes = vector_bytes(factor);
      return bytes == 0 || access_along(g, factor, major(factor) == Major::mn ? own(g, factor) : g.k).bytes >= bytes;
    }
  }
}

std::string OperandRule::describe(Geometry const& g, Role factor) const {
  std::string const name = factor == Role::a ? "A" : "B";
  char const* const along = letter(major(factor), factor);
  if (kind == Kind::moved) {
    return "moves " + std::to_string(moved_bytes) + " bytes at a time, which do not lie side by side in A and in C";
  }
  if (kind != Kind::boxes) {
    return name + " does not lie in vectors of " + std::to_string(vector_bytes(factor)) + " bytes along " + along;
  }
  std::string const text = "TMA cannot follow " + name + ": ";
  auto const [what, number] = obstacle_in(g, factor, major(factor));
  switch (what) {
    case Obstacle::Kind::address:
      return text + "its address is no multiple of " + std::to_string(kBoxAlignment) + " bytes";
    case Obstacle::Kind::first_stride:
      return text + "its stride along " + along + " is " + std::to_string(number) + ", not 1";
    case Obstacle::Kind::stride:
      if (number <= 0) return text + "a stride is " + std::to_string(number) + ", not positive";
      return text + "a stride: " + box_rules::broken_by_stride(number, bytes_of(g.type[factor]));
    default:
      return text + "it has " + std::to_string(number) + " modes, of which " + std::to_string(kBoxModes) +
             " are possible";
  }
}

int OperandRule::element_bytes(Geometry const& g, Role role) const {
  bool const is_factor = role == Role::a || role == Role::b;
  return std::max(is_factor ? element_alignment : 1, scalar_bytes_of(g.type[role]));
}

bool OperandRule::are_elements_aligned(Geometry const& g, Role role) const {
  return element_alignment == 0 || g.is_aligned(role, element_bytes(g, role));
}

std::int64_t OperandRule::longest(Geometry const& g) const {
  if (moved_bytes == 0) return std::max({g.m.size(), g.n.size(), g.k.size(), g.l.size()});
  // A copy counts the elements of each mode, and joins those that it moves together.
  auto const together = std::max(moved_bytes / bytes_of(g.type[Role::d]), 1);
  std::int64_t longest = 0;
  for (Mode const& mode : g.m) {
    bool const is_joined = mode.stride[Role::a] == 1 && mode.stride[Role::d] == 1;
    longest = std::max(longest, mode.extent / (is_joined ? together : 1));
  }
  return longest;
}

}  // namespace cute_py
