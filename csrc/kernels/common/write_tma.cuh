#pragma once

#include "kernels/common/epilogue.cuh"
#include "kernels/common/aligned_array.hpp"
#include "kernels/common/registers.cuh"
#include "kernels/common/wgmma.hpp"

// Write policy: TMA. A warpgroup writes its results to a buffer in shared memory, a box at a time, and TMA stores them. TMA
// leaves out elements beyond D's edges.
namespace cute_py::kernels {

// Writes the 64 rows and some columns of a warpgroup's sums, `first` the first of these, to shared memory as TMA takes them
// from there: lines of 128 bytes, swizzled. Elements of a byte: 128 columns. Of two bytes: 64 columns, by stmatrix. Of four bytes: 32 columns, in one
// box of 64 rows, or, along m, in two of 32 rows.
template <bool along_n, class D, class T, class Accumulators>
CUTE_DEVICE void to_box(T const& alpha, Accumulators const& acc, int first, unsigned char* to) {
  using namespace cute;
  int const thread = thread_for_now() % 128;
  auto const two_at = [&](int at) { return AlignedArray<D, 2>{{scaled<D>(alpha, acc(at)), scaled<D>(alpha, acc(at + 1))}}; };
  if constexpr (sizeof(D) == 2) {
    int const lane = thread % 32;
    int const warp = thread / 32;
    CUTE_UNROLL
    for (int j = 0; j < 4; ++j) {  // 16 columns at a time: four matrices of 8x8
      std::uint32_t piece[4];
      CUTE_UNROLL
      for (int i = 0; i < 4; ++i) {
        AlignedArray<D, 2> const two = two_at((first / 8 + 2 * j + i / 2) * 4 + i % 2 * 2);
        piece[i] = reinterpret_cast<std::uint32_t const&>(two);
      }
      int const row = along_n ? 16 * warp + lane / 8 % 2 * 8 + lane % 8 : 16 * j + lane / 16 * 8 + lane % 8;
      int const vector = along_n ? 2 * j + lane / 16 : 2 * warp + lane / 8 % 2;
      auto& vectors = *reinterpret_cast<uint128_t*>(to + row * 128 + (vector ^ (row % 8)) * 16);
      if (along_n) {
        SM90_U32x4_STSM_N::copy(piece[0], piece[1], piece[2], piece[3], vectors);
      } else {
        SM90_U16x8_STSM_T::copy(piece[0], piece[1], piece[2], piece[3], vectors);
      }
    }
  } else if constexpr (sizeof(D) == 1) {
    static_assert(along_n);
    CUTE_UNROLL
    for (int j = 0; j < 16; ++j) {  // 8 columns at a time
      int const column = 8 * j + wgmma_column(thread);
      CUTE_UNROLL
      for (int i = 0; i < 2; ++i) {
        int const row = wgmma_row(thread) + 8 * i;
        *reinterpret_cast<AlignedArray<D, 2>*>(to + row * 128 + (column / 16 ^ row % 8) * 16 + column % 16) =
            two_at((first / 8 + j) * 4 + 2 * i);
      }
    }
  } else {
    static_assert(sizeof(D) == 4);
    CUTE_UNROLL
    for (int j = 0; j < 4; ++j) {  // 8 columns at a time
      int const column = 8 * j + wgmma_column(thread);
      CUTE_UNROLL
      for (int i = 0; i < 2; ++i) {
        int const row = wgmma_row(thread) + 8 * i;
        AlignedArray<D, 2> const two = two_at((first / 8 + j) * 4 + 2 * i);
        if (along_n) {
          *reinterpret_cast<AlignedArray<D, 2>*>(to + row * 128 + (column / 4 ^ row % 8) * 16 + column % 4 * 4) = two;
        } else {
          unsigned char* const box = to + row / 32 * (32 * 128) + row % 4 * 4;
          CUTE_UNROLL
          for (int x = 0; x < 2; ++x) {
            int const line = column + x;
            *reinterpret_cast<D*>(box + line * 128 + (row % 32 / 4 ^ line % 8) * 16) = two.x[x];
          }
        }
      }
    }
  }
}

// Writes 64 rows of a warpgroup's sums, some columns at a time, through its buffers of boxes `out`, in turn; `boxes` counts
// them. store_box(from, row, column) starts a store; in lines of four-byte elements along m a box is two of them. The barrier
// is the warpgroup's.
template <class Config, bool along_n, class T, class Accumulators, class Barrier, class StoreBox>
CUTE_DEVICE void write_tma(T const& alpha, Accumulators const& acc, unsigned char* out, int& boxes, Barrier const& barrier,
                           StoreBox const& store_box) {
  using namespace cute;
  using D = typename Config::BoxElement;
  constexpr int columns = 128 / static_cast<int>(sizeof(D));
  CUTE_UNROLL
  for (int first = 0; first < Config::BlkN::value; first += columns) {
    // Acquire a buffer
    if (boxes >= Config::out_boxes) {
      if (threadIdx.x % 128 == 0) {
        tma_store_wait<Config::out_boxes - 1>();  // what was here has left shared memory
      }
      barrier.sync();  // so that all threads may write there
    }
    unsigned char* const box = out + boxes++ % Config::out_boxes * Config::box_bytes;

    to_box<along_n, D>(alpha, acc, first, box);

    tma_store_fence();  // what this thread wrote becomes visible to TMA, in the asynchronous proxy
    barrier.sync();     // and what all threads of the warpgroup wrote
    if (threadIdx.x % 128 == 0) {
      store_box(box, 0, first);
      if (sizeof(D) == 4 && !along_n) store_box(box + Config::box_bytes / 2, 32, first);
      tma_store_arrive();
    }
  }
}

}  // namespace cute_py::kernels
