#pragma once

#include <algorithm>
#include <cstdlib>

#include "kernels/common/params.hpp"
#include "kernels/gemm_small/config.hpp"

namespace cute_py::kernels {

// Of an operand of small products, which have one mode in each group but L.
inline SmallOperand small_operand(OperandModes const& x) {
  SmallOperand operand{};
  Modes const& mn = x.mn();
  Modes const& k = x.k();
  Modes const& l = x.geometry.l;
  operand.k_major = k.rank() > 0 && (mn.rank() == 0 || std::abs(k[0].stride[x.role]) < std::abs(mn[0].stride[x.role]));
  operand.vectors = lies_in_vectors(x, operand.k_major ? Major::k : Major::mn);
  Modes const& slow = operand.k_major ? mn : k;
  auto const inner = operand.k_major ? k.size() : mn.size();
  auto const lines = slow.size();
  operand.packed = operand.vectors && (lines == 1 || slow[0].stride[x.role] == inner) &&
                   (l.rank() == 0 || (l.rank() == 1 && l[0].stride[x.role] == inner * lines));
  operand.conjugate = x.conjugate();
  return operand;
}

// Are rows m to m + 3 of D whole vectors, for each m that 4 divides?
inline bool has_rows_in_fours(Geometry const& g) {
  if (g.m.rank() != 1 || g.m[0].extent % 4 != 0 || g.m[0].stride[Role::d] != 1) return false;
  if (!g.is_aligned(Role::d, std::min(16, 4 * bytes_of(g.type[Role::d])))) return false;
  auto const in_fours = [](Mode const& mode) { return mode.stride[Role::d] % 4 == 0; };
  return std::all_of(g.n.begin(), g.n.end(), in_fours) && std::all_of(g.l.begin(), g.l.end(), in_fours);
}

// The arguments of gemm_small: its shape says which products a CTA computes.
template <class Config>
struct SmallParams : GemmParams<Config> {
  SmallParams(Geometry const& g, Schedule const&) : GemmParams<Config>(g, shape_of(g)) {
    auto const of_cta = static_cast<std::int64_t>(this->shape.together) * this->shape.batches;
    this->grid = {static_cast<unsigned>((g.l.size() + of_cta - 1) / of_cta)};
  }

 private:
  static SmallShape shape_of(Geometry const& g) {
    SmallShape shape{};
    shape.m = static_cast<int>(g.m.size());
    shape.n = static_cast<int>(g.n.size());
    shape.k = static_cast<int>(g.k.size());
    shape.products = static_cast<int>(g.l.size());
    shape.a = small_operand({g, Role::a});
    shape.b = small_operand({g, Role::b});
    shape.rows_in_fours = has_rows_in_fours(g);
    Config::share_out(shape);
    return shape;
  }
};

}  // namespace cute_py::kernels
