#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

// Modes: what a product is indexed by, with their strides in every array side by side.
namespace cute_py {

// The most modes of an array, as NumPy has them, and of a group. Adjacent modes are coalesced before a kernel sees
// them.
inline constexpr int kMaxModes = 64;

// What an array is to a product.
enum class Role : std::uint8_t { a, b, c, d, bias, residual };
inline constexpr int kRoles = 6;

// One value for each role.
template <class T>
struct PerRole {
  std::array<T, kRoles> values{};

  T& operator[](Role role) { return values[static_cast<std::size_t>(role)]; }
  T const& operator[](Role role) const { return values[static_cast<std::size_t>(role)]; }
  friend bool operator==(PerRole const& x, PerRole const& y) { return x.values == y.values; }
};

struct Mode {
  std::int64_t extent = 1;
  PerRole<std::int64_t> stride;  // in elements; 0 along an array that lacks the mode or repeats itself

  // Of K: no operand but this one has it. A mode that both have counts each of its products, also where a stride is 0.
  bool only_in_a = false;
  bool only_in_b = false;

  friend bool operator==(Mode const& x, Mode const& y) {
    return x.extent == y.extent && x.stride == y.stride && x.only_in_a == y.only_in_a && x.only_in_b == y.only_in_b;
  }
};

// The modes of one group: M, N, K or L. The first varies fastest.
class Modes {
 public:
  Modes() = default;
  explicit Modes(std::vector<Mode> modes) : modes_(std::move(modes)) {}

  int rank() const { return static_cast<int>(modes_.size()); }

  // Elements of the group.
  std::int64_t size() const {
    std::int64_t product = 1;
    for (Mode const& mode : modes_) product *= mode.extent;
    return product;
  }

  Mode& operator[](int mode) { return modes_[static_cast<std::size_t>(mode)]; }
  Mode const& operator[](int mode) const { return modes_[static_cast<std::size_t>(mode)]; }
  auto begin() { return modes_.begin(); }
  auto end() { return modes_.end(); }
  auto begin() const { return modes_.begin(); }
  auto end() const { return modes_.end(); }
  Mode& back() { return modes_.back(); }

  void push_back(Mode const& mode) { modes_.push_back(mode); }
  void insert(int place, Mode const& mode) { modes_.insert(modes_.begin() + place, mode); }
  void erase(int mode) { modes_.erase(modes_.begin() + mode); }
  void clear() { modes_.clear(); }

  friend bool operator==(Modes const& x, Modes const& y) { return x.modes_ == y.modes_; }

 private:
  std::vector<Mode> modes_;
};

// Are two modes adjacent, so that they can be coalesced: does one go on where the other ends, in every array?
inline bool continues(Mode const& mode, Mode const& next) {
  for (int i = 0; i < kRoles; ++i) {
    auto const role = static_cast<Role>(i);
    if (next.stride[role] != mode.stride[role] * mode.extent) return false;
  }
  return true;
}

inline void drop_single(Modes& modes) {
  for (int i = modes.rank(); i-- > 0;) {
    if (modes[i].extent == 1) modes.erase(i);
  }
}

// Coalesces adjacent modes, and drops those of one element.
inline void coalesce(Modes& modes) {
  drop_single(modes);
  for (int i = 0; i < modes.rank();) {
    int next = 0;
    while (next < modes.rank() && (next == i || !continues(modes[i], modes[next]))) ++next;
    if (next == modes.rank()) {
      ++i;
      continue;
    }
    modes[i].extent *= modes[next].extent;
    modes.erase(next);
    i = 0;
  }
}

// The offset in an array of an element of a group, in elements; the element is one of the group.
inline std::int64_t offset_of(Modes const& modes, Role role, std::int64_t index) {
  if (modes.rank() == 0) return 0;
  std::int64_t offset = 0;
  int const last = modes.rank() - 1;
  for (int i = 0; i < last; ++i) {
    offset += index % modes[i].extent * modes[i].stride[role];
    index /= modes[i].extent;
  }
  return offset + index * modes[last].stride[role];
}

// The offsets of `count` elements from `first` on.
inline void fill_offsets(Modes const& modes, Role role, std::int64_t first, std::int64_t count, std::int64_t* offsets) {
  int const rank = modes.rank();
  if (rank == 0) {
    for (std::int64_t i = 0; i < count; ++i) offsets[i] = 0;
    return;
  }
  std::array<std::int64_t, 4 * kMaxModes> digit;
  std::int64_t offset = 0;
  for (int i = 0; i < rank; ++i) {
    digit[i] = first % modes[i].extent;
    first /= modes[i].extent;
    offset += digit[i] * modes[i].stride[role];
  }
  auto const extent = modes[0].extent;
  auto const stride = modes[0].stride[role];
  for (std::int64_t i = 0; i < count;) {
    // As far as the first mode goes, then one carry.
    for (; i < count && digit[0] < extent; ++i, ++digit[0]) {
      offsets[i] = offset;
      offset += stride;
    }
    for (int mode = 0; mode + 1 < rank && digit[mode] == modes[mode].extent; ++mode) {
      offset += modes[mode + 1].stride[role] - modes[mode].extent * modes[mode].stride[role];
      digit[mode] = 0;
      ++digit[mode + 1];
    }
  }
}

}  // namespace cute_py
