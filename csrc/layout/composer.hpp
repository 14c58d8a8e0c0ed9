#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "layout/layout.hpp"

// Composition, and the check of laws on a domain.
namespace cute_py::layout {

// A tuple of zeros, as deep as the coordinates that the layout gives; 0 for one that gives integers.
IntTuple coprofile(Layout const& layout);

// a o b, mode by mode of b. That is a(b(c)) only if no two modes of b carry into one another in the digits of a; the
// class keeps count of the digits, and where it cannot prove the law it looks for a coordinate that breaks it.
class Composer {
 public:
  Composer(Layout const& a, Layout const& b);  // throws LayoutError

  Layout result();  // throws LayoutError

  // What a mode of b goes through: a, coalesced, or the mode of it that a coordinate stride steps along.
  Layout digits(Integer const& stride) const;

  // a o shape:stride, for one mode of b. Throws LayoutError where a does not divide by it.
  Layout compose_mode(Integer const& shape, Integer const& stride);

  // Whether the modes that were composed cannot carry into one another.
  bool is_proven() const;

 private:
  // The largest digits that the modes of b reach in one leaf of the coprofile.
  struct Leaf {
    Basis path;
    std::vector<std::int64_t> reach;
  };

  Layout compose(IntTuple const& shape, IntTuple const& stride);
  std::vector<std::int64_t>& reach_of(Basis const& path, std::size_t digits);
  void check(Layout const& result) const;
  [[noreturn]] void refuse(std::string const& reason, Integer const& shape, Integer const& stride) const;

  Layout const& a_;
  Layout const& b_;
  Layout lhs_;  // a, coalesced at the leaves of b's coprofile
  std::vector<Leaf> leaves_;
  bool proven_ = true;
};

// The most coordinates at which a law is checked.
constexpr std::int64_t kExhaustive = 1 << 18;

// Two values that a law says are equal, and how to name them.
struct Sides {
  IntTuple left;
  IntTuple right;
  char const* left_name;
  char const* right_name;
};

// Evaluates a law at every index of a layout's domain, or at its corners and then as many as is bearable. Throws
// LayoutError with the first coordinate that breaks it.
void check_law(char const* operation, Layout const& layout, std::function<Sides(std::int64_t)> const& at);

// ": (1,0) and (0,2) both give 3", if two coordinates of a small layout collide, for messages.
std::string describe_collision(Layout const& layout);

}  // namespace cute_py::layout
