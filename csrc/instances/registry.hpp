#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <string_view>
#include <vector>

#include "problem/entry.hpp"
#include "problem/packing.hpp"

namespace cute_py::instances {

// Every variant that is known, by family, for one target after the other: those of a default build, whether this build
// has code for them or not, and those that units add at run time. Entries are never taken away, and never move. They
// can be read while others are added.
class Registry {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Entry;
    using difference_type = std::ptrdiff_t;
    using pointer = Entry const*;
    using reference = Entry const&;

    explicit Iterator(Entry const* const* at) : at_(at) {}
    Entry const& operator*() const { return **at_; }
    Entry const* operator->() const { return *at_; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    friend bool operator==(Iterator x, Iterator y) { return x.at_ == y.at_; }
    friend bool operator!=(Iterator x, Iterator y) { return x.at_ != y.at_; }

   private:
    Entry const* const* at_;
  };

  Registry() = default;
  explicit Registry(std::vector<Entry> entries) { add(std::move(entries)); }
  Registry(Registry const&) = delete;
  Registry& operator=(Registry const&) = delete;

  Iterator begin() const { return Iterator(entries_.data()); }
  Iterator end() const { return Iterator(entries_.data() + size()); }
  std::size_t size() const { return size_.load(std::memory_order_acquire); }
  Entry const& operator[](std::size_t i) const { return *entries_[i]; }

  // Null if there is none.
  Entry const* find(std::string_view name, Target target) const;

  // Throws std::invalid_argument for a variant that is there already, and std::length_error for too many.
  void add(std::vector<Entry> entries);

  // Grows with every addition: what was decided before may be decided otherwise.
  std::uint64_t version() const { return size(); }

 private:
  static constexpr std::size_t kMost = 8192;

  std::array<Entry const*, kMost> entries_{};
  std::atomic<std::size_t> size_{0};
  std::mutex adding_;
};

Registry& registry();

// What the kernels of a target have in common.
Platform const& platform(Target target);

}  // namespace cute_py::instances
