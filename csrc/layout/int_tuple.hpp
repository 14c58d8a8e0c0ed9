#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "layout/integer.hpp"

namespace cute_py::layout {

// What a tuple can be. Within these, recursion into a tuple is shallow, its text can be read back, and a tuple that
// shares its elements takes bearable time.
constexpr int kMaxDepth = 32;
constexpr std::int64_t kMaxLeaves = std::int64_t{1} << 20;

// An integer or a tuple of IntTuples: a shape, a stride, a coordinate. Immutable, so that copies share their elements.
class IntTuple {
 public:
  class Elements;

  IntTuple() = default;
  IntTuple(Integer const& leaf) : leaf_(leaf) {}  // NOLINT: an integer is an IntTuple

  // Throws LayoutError for a tuple deeper than kMaxDepth or of more than kMaxLeaves integers.
  explicit IntTuple(std::vector<IntTuple> elements);

  IntTuple(IntTuple const& other) : leaf_(other.leaf_), node_(other.node_) {
    if (node_ != nullptr) node_->uses.fetch_add(1, std::memory_order_relaxed);
  }
  IntTuple(IntTuple&& other) noexcept : leaf_(other.leaf_), node_(std::exchange(other.node_, nullptr)) {}
  IntTuple& operator=(IntTuple other) noexcept {
    leaf_ = other.leaf_;
    std::swap(node_, other.node_);
    return *this;
  }
  ~IntTuple() {
    if (node_ != nullptr) release();
  }

  bool is_tuple() const { return node_ != nullptr; }
  Integer const& leaf() const { return leaf_; }
  Elements elements() const;  // of a tuple

  // Of an integer, itself for i == 0.
  IntTuple const& operator[](int i) const { return is_tuple() ? node_->elements()[i] : *this; }
  int rank() const { return is_tuple() ? node_->rank : 1; }
  int depth() const { return is_tuple() ? node_->depth : 0; }
  std::int64_t count() const { return is_tuple() ? node_->leaves : 1; }  // of integers

  // Values alone; static and dynamic integers of one value are equal.
  bool operator==(IntTuple const& other) const;
  bool operator!=(IntTuple const& other) const { return !(*this == other); }

 private:
  // What the copies of a tuple share; its elements lie behind it.
  struct Node {
    std::atomic<std::int32_t> uses;
    std::int32_t rank;
    std::int64_t leaves;
    int depth;

    IntTuple* elements() { return reinterpret_cast<IntTuple*>(this + 1); }
  };

  void release();

  Integer leaf_;
  Node* node_ = nullptr;
};

class IntTuple::Elements {
 public:
  Elements(IntTuple const* first, int count) : first_(first), count_(count) {}

  IntTuple const* begin() const { return first_; }
  IntTuple const* end() const { return first_ + count_; }
  std::size_t size() const { return static_cast<std::size_t>(count_); }

 private:
  IntTuple const* first_;
  int count_;
};

inline IntTuple::Elements IntTuple::elements() const { return {node_->elements(), node_->rank}; }

// Throws LayoutError, saying what there is too much of.
void check_depth(int depth);
void check_leaves(std::int64_t leaves);

// The integers from left to right.
void append_leaves(IntTuple const& t, std::vector<Integer>& leaves);
std::vector<Integer> leaves(IntTuple const& t);

// A tuple of the integers of t; t itself if it is one integer.
IntTuple flatten(IntTuple const& t);
IntTuple unflatten(std::vector<Integer> const& flat, IntTuple const& profile);

// The element of a tuple of one, however deep.
IntTuple unwrap(IntTuple const& t);
IntTuple wrap(IntTuple const& t);

Integer product(IntTuple const& t);
IntTuple product_each(IntTuple const& t);
// The sizes of what t has at the leaves of the profile.
IntTuple product_like(IntTuple const& t, IntTuple const& profile);

// Whether an integer in it is 0.
bool has_zero(IntTuple const& t);

bool congruent(IntTuple const& a, IntTuple const& b);
bool weakly_congruent(IntTuple const& a, IntTuple const& b);
bool compatible(IntTuple const& a, IntTuple const& b);
// Whether every integer of a is less than b's; a may have fewer.
bool elem_less(IntTuple const& a, IntTuple const& b);

IntTuple ceil_div(IntTuple const& a, IntTuple const& b);

// a divided by b where one divides the other, rounded up: a tuple by modes, by an integer from left to right, an
// integer by a tuple's size. Throws LayoutError where neither divides.
IntTuple shape_div(IntTuple const& a, IntTuple const& b);
// The least multiples of b that are not below a, by modes; where b has fewer, a stays.
IntTuple round_up(IntTuple const& a, IntTuple const& b);
// Whether tiles of b fill a without rest.
bool evenly_divides(IntTuple const& a, IntTuple const& b);
// Each integer of a times the size of what b has there.
IntTuple elem_scale(IntTuple const& a, IntTuple const& b);
// The sum of the products of integers in one place; of integers and basis elements, an arithmetic tuple.
IntTuple inner_product(IntTuple const& a, IntTuple const& b);
Integer greatest(IntTuple const& t);
Integer sum(IntTuple const& t);
Integer gcd(IntTuple const& t);

// In colexicographic order, the last mode first, and in lexicographic order.
bool colex_less(IntTuple const& a, IntTuple const& b);
bool lex_less(IntTuple const& a, IntTuple const& b);

IntTuple repeat_like(IntTuple const& t, Integer const& value);

// a + b of arithmetic tuples: zeros where one is shorter; an integer 0 adds to anything.
IntTuple arithmetic_sum(IntTuple const& a, IntTuple const& b);
// A basis element as an arithmetic tuple, 3@1 as (0,3).
IntTuple as_arithmetic_tuple(Integer const& i);

// Strides of a compact layout of that shape: the first mode fastest, the last mode fastest, or modes by ascending
// order.
IntTuple compact_left(IntTuple const& shape, Integer const& first = fixed(1));
IntTuple compact_right(IntTuple const& shape, Integer const& first = fixed(1));
IntTuple compact_order(IntTuple const& shape, IntTuple const& order);
// 1@0, 1@1, ...
IntTuple basis_like(IntTuple const& shape);

// The value at a coordinate: an integer, or an arithmetic tuple where strides are basis elements.
IntTuple crd2idx(IntTuple const& coord, IntTuple const& shape, IntTuple const& stride);
IntTuple crd2idx(IntTuple const& coord, IntTuple const& shape);
std::int64_t index_at(std::int64_t coord, IntTuple const& shape, IntTuple const& stride);
bool has_basis(IntTuple const& stride);
IntTuple idx2crd(IntTuple const& index, IntTuple const& shape);
IntTuple idx2crd(IntTuple const& index, IntTuple const& shape, IntTuple const& stride);
IntTuple crd2crd(IntTuple const& coord, IntTuple const& from, IntTuple const& to);

}  // namespace cute_py::layout
