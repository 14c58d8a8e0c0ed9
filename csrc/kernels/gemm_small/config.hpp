#pragma once

#include <algorithm>

#include "kernels/common/operand.hpp"
#include "kernels/gemm_sm80/config.hpp"

namespace cute_py::kernels {

// How an operand (MN,K) of several products lies in shared memory: as in global memory, along its major in vectors of
// 16 bytes. A line is a row if it is k-major, a step of k if it is mn-major.
struct SmallOperand {
  bool k_major;
  bool conjugate;
  bool vectors;   // comes from global memory in vectors
  bool packed;    // consecutive products are one contiguous piece of global memory
  Divisor inner;  // vectors of a line
  Divisor lines;  // of a product
  int pad;        // a vector is left out after every 2^pad lines, so that those read together are in different banks
  int advance;    // if lines are steps of k, bytes from V of them to the next

  // The vector in shared memory with which a line begins.
  CUTE_HOST_DEVICE int begin(int line) const { return line * static_cast<int>(inner.divisor) + (line >> pad); }
};

// The extents of small products, and how CTAs share them out.
struct SmallShape {
  int m;
  int n;
  int k;
  int products;
  int together;    // products of a batch, which a CTA has in shared memory at a time
  int batches;     // of a CTA, one after the other
  bool by_warps;   // a warp computes a block of results with tensor cores; otherwise a thread one of 4x4
  int chunk_k;     // steps of k in shared memory at a time
  Divisor chunks;  // of K
  Divisor blocks;  // of results of one product, those along m first
  Divisor blocks_m;
  int blocks_n;
  SmallOperand a;
  SmallOperand b;
  bool rows_in_fours;  // of D, four contiguous rows are whole vectors, from a multiple of four on
};

// The instruction that multiplies factors of 16 bits; none for others.
template <class T>
struct SmallAtom {
  using type = void;
};
template <>
struct SmallAtom<cutlass::half_t> {
  using type = cute::SM80_16x8x8_F32F16F16F32_TN;
};
template <>
struct SmallAtom<cutlass::bfloat16_t> {
  using type = cute::SM80_16x8x8_F32BF16BF16F32_TN;
};

// Many products of at most 64x64, several to a CTA: as many as fill its shared memory and its threads. A thread
// computes 4x4 results. Its rows, and its columns, are groups of contiguous ones, a whole product's blocks apart. Of 16
// bits, and if there are more than 16 rows or columns, a warp computes 32x16 with tensor cores.
template <class T, Major, Major, Form>
struct GemmSmall {
  using Atom = typename SmallAtom<T>::type;
  static constexpr bool tensor_cores = !std::is_void_v<Atom>;

  using TA = T;
  using TB = T;
  using TC = cute::conditional_t<tensor_cores, float, T>;
  using TE = numeric::EpilogueType<TC>;

  static constexpr bool predicated = true;
  static constexpr bool nested = false;
  static constexpr bool converting = false;
  static constexpr bool fuses = true;
  static constexpr int max_rows = 64;
  static constexpr int max_columns = 64;
  using ProblemShape = SmallShape;

  using PointerA = T const*;
  using PointerB = T const*;
  using StrideA = cute::Stride<std::int64_t, std::int64_t>;
  using StrideB = StrideA;
  using StrideC = StrideA;

  static constexpr int threads = 256;
  static constexpr int vector = 16 / sizeof(T);
  static constexpr int group = cute::min(vector, 4);
  static constexpr int warp_m = 32;  // results that one warp computes at a time
  static constexpr int warp_n = 16;
  static constexpr int stages = 2;
  static constexpr int most_vectors = sizeof(T) <= 4 ? 1152 : 1104;  // of a stage of an operand: two CTAs fit, or three
  static constexpr int most_k = cute::min(64, 16 * vector);
  static constexpr int most_products = 128;
  using CtaTiler = cute::Shape<cute::Int<max_rows>, cute::Int<max_columns>, cute::Int<most_k>>;

  struct SharedStorage {
    alignas(128) T a[stages][most_vectors * vector];
    alignas(128) T b[stages][most_vectors * vector];
    std::int64_t product_a[2][most_products];  // where the products of a batch, and of the next, are
    std::int64_t product_b[2][most_products];
  };

  // Of products of 64x64, k-major, as share_out lays them out; of smaller ones there are several in the same place.
  using LinesInRow = cute::Int<tensor_cores ? 1 : group>;  // before a vector is left out
  using Rows = cute::Shape<LinesInRow, cute::Int<max_rows / LinesInRow::value>>;
  using SmemLayoutA = cute::Layout<
      cute::Shape<Rows, cute::Int<most_k>, cute::Int<stages>>,
      cute::Stride<cute::Stride<cute::Int<most_k>, cute::Int<LinesInRow::value * most_k + vector>>, cute::_1,
                   cute::Int<most_vectors * vector>>>;  // (m,k,pipe)
  using SmemLayoutB = SmemLayoutA;                      // (n,k,pipe)

  // The owners of a product's results: a thread has 4x4 of them, or a warp 32x16. (thread,value) -> element of C
  using OwnersC = cute::conditional_t<
      tensor_cores,
      cute::Layout<
          cute::Shape<cute::Shape<cute::_4, cute::_8, cute::_2, cute::_4>, cute::Shape<cute::_2, cute::_2, cute::_4>>,
          cute::Stride<cute::Stride<cute::_2, cute::_64, cute::Int<warp_m>, cute::Int<warp_n * max_rows>>,
                       cute::Stride<cute::_1, cute::Int<8 * max_rows>, cute::_8>>>,
      cute::Layout<cute::Shape<cute::Shape<cute::_16, cute::_16>,
                               cute::Shape<cute::Shape<cute::Int<group>, cute::Int<4 / group>>,
                                           cute::Shape<cute::Int<group>, cute::Int<4 / group>>>>,
                   cute::Stride<cute::Stride<cute::Int<group>, cute::Int<group * max_rows>>,
                                cute::Stride<cute::Stride<cute::_1, cute::Int<16 * group>>,
                                             cute::Stride<cute::Int<max_rows>, cute::Int<16 * group * max_rows>>>>>>;

  // Completes a shape of which the extents and the operands' majors are known.
  static void share_out(SmallShape& s) {
    auto const up = [](int x, int multiple) { return (x + multiple - 1) / multiple * multiple; };
    s.by_warps = tensor_cores && std::max(s.m, s.n) > 16;
    int const blocks_m = s.by_warps ? up(s.m, warp_m) / warp_m : up(s.m, 4) / 4;
    int const blocks_n = s.by_warps ? up(s.n, warp_n) / warp_n : up(s.n, 4) / 4;
    int const workers = s.by_warps ? threads / 32 : threads;
    s.blocks = Divisor(blocks_m * blocks_n);
    s.blocks_m = Divisor(blocks_m);
    s.blocks_n = blocks_n;
    s.chunk_k = std::min(most_k, up(std::max(s.k, 1), vector));
    s.chunks = Divisor(up(std::max(s.k, 1), s.chunk_k) / s.chunk_k);

    int together = most_products;
    auto const lay_out = [&](SmallOperand& x, int extent) {
      int const inner = (x.k_major ? s.chunk_k : up(extent, vector)) / vector;
      int const lines = x.k_major ? extent : s.chunk_k;
      x.inner = Divisor(inner);
      x.lines = Divisor(lines);
      x.packed = x.packed && s.k == s.chunk_k;
      // A thread reads a group of lines, ldmatrix one; lines an odd number of vectors apart need no padding.
      x.pad = !s.by_warps ? log2_of(group) : inner % 2 == 0 ? 0 : 30;
      x.advance = 16 * x.begin(vector);
      while (together > 1 && x.begin(together * lines) > most_vectors) --together;
    };
    lay_out(s.a, s.m);
    lay_out(s.b, s.n);

    // Sums stay with the worker that begins them, so those of several chunks need a worker each.
    s.together = together;
    if (!s.by_warps || s.k > s.chunk_k) s.together = std::min(s.together, workers / (blocks_m * blocks_n));
    s.together = std::min(s.together, std::max(s.products / 128, 1));  // a few products are for many CTAs
    s.batches = std::clamp(s.products / s.together / 1024, 1, 8);
  }

  static constexpr int compute_capability = 80;
  static constexpr int ctas_per_multiprocessor = sizeof(T) <= 4 ? 2 : 3;
  static constexpr int alignment_bytes = sizeof(T);
};

}  // namespace cute_py::kernels
