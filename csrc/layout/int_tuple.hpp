#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "layout/integer.hpp"

namespace cute_py::layout {

// An integer or a tuple of IntTuples: a shape, a stride, a coordinate. Immutable, so that copies share their elements.
class IntTuple {
 public:
  IntTuple() = default;
  IntTuple(Integer const& leaf) : leaf_(leaf) {}  // NOLINT: an integer is an IntTuple
  explicit IntTuple(std::vector<IntTuple> elements)
      : elements_(std::make_shared<std::vector<IntTuple> const>(std::move(elements))) {}

  bool is_tuple() const { return elements_ != nullptr; }
  Integer const& leaf() const { return leaf_; }
  std::vector<IntTuple> const& elements() const { return *elements_; }  // of a tuple

  // Of an integer, itself for i == 0.
  IntTuple const& operator[](int i) const { return is_tuple() ? (*elements_)[i] : *this; }
  int rank() const { return is_tuple() ? static_cast<int>(elements_->size()) : 1; }
  int depth() const;

  // Values alone; static and dynamic integers of one value are equal.
  bool operator==(IntTuple const& other) const;
  bool operator!=(IntTuple const& other) const { return !(*this == other); }

 private:
  Integer leaf_;
  std::shared_ptr<std::vector<IntTuple> const> elements_;
};

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

bool congruent(IntTuple const& a, IntTuple const& b);
bool weakly_congruent(IntTuple const& a, IntTuple const& b);
bool compatible(IntTuple const& a, IntTuple const& b);

IntTuple ceil_div(IntTuple const& a, IntTuple const& b);

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
