#pragma once

// Stands in the place of CUDA's header of the same name, which is for nvcc alone: the declarations, so that headers
// that name them compile. A kernel that calls one is told that the emulator does not know it.
#include "workbench/ptx_operand.hpp"

namespace nvcuda::wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
namespace precision {
struct tf32;
struct u4;
struct s4;
struct b1;
}  // namespace precision
namespace experimental::precision {
struct u4;
struct s4;
struct b1;
}  // namespace experimental::precision
enum layout_t { mem_row_major, mem_col_major };
enum bmmaBitOp { bmmaBitOpXOR, bmmaBitOpAND };
enum bmmaAccumulateOp { bmmaAccumulateOpPOPC };
namespace experimental {
using wmma::bmmaAccumulateOp;
using wmma::bmmaAccumulateOpPOPC;
using wmma::bmmaBitOp;
using wmma::bmmaBitOpAND;
using wmma::bmmaBitOpXOR;
}  // namespace experimental

template <class Use, int m, int n, int k, class T, class Layout = void>
struct fragment {
  static constexpr int num_elements = 1;
  int x[1];
};
template <class Fragment, class... Rest>
void load_matrix_sync(Fragment&, Rest...) {
  ::cute_py::workbench::ptx("wmma.load;");
}
template <class T, class Fragment, class... Rest>
void store_matrix_sync(T*, Fragment const&, Rest...) {
  ::cute_py::workbench::ptx("wmma.store;");
}
template <class Fragment, class T>
void fill_fragment(Fragment&, T const&) {
  ::cute_py::workbench::ptx("wmma.fill;");
}
template <class D, class A, class B, class C>
void mma_sync(D&, A const&, B const&, C const&, bool = false) {
  ::cute_py::workbench::ptx("wmma.mma;");
}
template <class D, class A, class B, class C>
void bmma_sync(D&, A const&, B const&, C const&, bmmaBitOp = bmmaBitOpXOR, bmmaAccumulateOp = bmmaAccumulateOpPOPC) {
  ::cute_py::workbench::ptx("wmma.mma;");
}

}  // namespace nvcuda::wmma
