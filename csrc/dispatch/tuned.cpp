#include "dispatch/tuned.hpp"

namespace cute_py::dispatch {
namespace {

constexpr char const* kRoleNames[kRoles] = {"A", "B", "C", "D", "bias", "residual"};

template <class Value>
std::string tuple_text(Modes const& modes, Value const& value) {
  std::string text;
  for (Mode const& mode : modes) text += (text.empty() ? "(" : ",") + std::to_string(value(mode));
  return text + ")";
}

// " M=(128,4):A(1,512),D(4,1)", of the arrays that there are.
std::string group_text(char const* name, Geometry const& g, Modes const& modes) {
  if (modes.rank() == 0) return "";
  std::string text = std::string(" ") + name + "=" + tuple_text(modes, [](Mode const& mode) { return mode.extent; });
  char const* separator = ":";
  for (int i = 0; i < kRoles; ++i) {
    auto const role = static_cast<Role>(i);
    if (!g.has(role)) continue;
    text += separator;
    text += kRoleNames[i];
    text += tuple_text(modes, [role](Mode const& mode) { return mode.stride[role]; });
    separator = ",";
  }
  return text;
}

}  // namespace

std::string text_of(Folded const& product) {
  Geometry const& g = *product;
  std::string text = name_of(g.compute);
  if (g.precision != Precision::exact) text += std::string(" by ") + name_of(g.precision);
  for (int i = 0; i < kRoles; ++i) {
    auto const role = static_cast<Role>(i);
    if (!g.has(role)) continue;
    text += std::string(" ") + kRoleNames[i] + " " + name_of(g.type[role]) + "@" +
            std::to_string(1 << g.log2_alignment[role]);
  }
  text += group_text("M", g, g.m) + group_text("N", g, g.n) + group_text("K", g, g.k) + group_text("L", g, g.l);
  if (g.c_is_d) text += " in-place";
  if (g.conj_a) text += " conj_a";
  if (g.conj_b) text += " conj_b";
  if (g.scales) text += " scale";
  if (g.saturate) text += " saturate";
  if (g.activation != Activation::none) text += std::string(" ") + kActivationNames[static_cast<int>(g.activation)];
  if (g.batch_invariant) text += " batch_invariant";
  if (g.is_sum) text += " sum";
  return text;
}

std::optional<Config> Tuned::find(std::string const& device, std::string const& product) const {
  std::lock_guard const lock(mutex_);
  auto const found = known_.find({device, product});
  return found != known_.end() ? std::optional(found->second) : std::nullopt;
}

void Tuned::put(std::string const& device, std::string const& product, std::optional<Config> const& config) {
  std::lock_guard const lock(mutex_);
  if (config) {
    known_.insert_or_assign({device, product}, *config);
  } else {
    known_.erase({device, product});
  }
  ++version_;
}

void Tuned::clear() {
  std::lock_guard const lock(mutex_);
  known_.clear();
  ++version_;
}

Tuned& tuned() {
  static auto* const table = new Tuned;  // never destroyed: threads may outlive the module
  return *table;
}

}  // namespace cute_py::dispatch
