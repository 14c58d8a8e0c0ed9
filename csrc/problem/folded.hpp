#pragma once

#include <optional>
#include <utility>

#include "problem/geometry.hpp"

// A product in fewer modes. It is the same; the fewer and longer its modes, the better a kernel reads them.
namespace cute_py {

// The same product with the roles of A and B exchanged: D^T = alpha * B * A^T + beta * C^T. The bits of D do not
// change, those of complex numbers aside: in an imaginary part, the two products change places.
Geometry transposed(Geometry const& geometry);

// Which of two groups has the shortest stride of an array: 0 for the first, 1 for the second.
int fastest_group(Role role, Modes const& first, Modes const& second);

// A product with its modes canonicalised: those of one element are dropped, two that follow one another in every array
// are coalesced, and they are sorted so that adjacent elements of a tile are contiguous in memory; those of K are
// not sorted if the geometry is batch_invariant or reproducible, since that is the order of the adds. Without a
// multiplication K is 0.
class Folded {
 public:
  explicit Folded(Geometry const& geometry);

  Geometry const& operator*() const { return geometry_; }
  Geometry const* operator->() const { return &geometry_; }

 private:
  Geometry geometry_;
};

// A product before it is folded, and folded, both as it is and with A and B exchanged. It is made once, for all
// decisions about the product.
class FoldedProduct {
 public:
  explicit FoldedProduct(Geometry geometry);

  Geometry const& asked() const { return asked_; }
  Folded const& folded(bool exchanged) const { return exchanged ? *exchanged_ : straight_; }

  // May A and B be exchanged? Not of a copy, nor of a step of emulated precision. Not of a batch_invariant complex
  // product: an exchange changes the order of the adds in it, and so its bits.
  bool may_exchange() const { return exchanged_.has_value(); }

  // Kernels write D along m. If D's unit stride is in N, that is a reason to exchange.
  bool is_along_n() const { return is_along_n_; }

 private:
  Geometry asked_;
  Folded straight_;
  std::optional<Folded> exchanged_;
  bool is_along_n_;
};

}  // namespace cute_py
