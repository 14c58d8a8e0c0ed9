// transpose: moves elements, bit by bit
//
//   rows     lanes are rows along k; squares of 16 bytes of each become steps of k        a b c d      a e i
//   panels   a block of contiguous rows, cut into the panels of a register                e f g h  ->  b f j
//            tile                                                                         i j k l      c g k ...
//   stream   lines that are not read again soon, by non-temporal stores
//
// Strides:  of rows any, along them 1
// When:     rows for panels and copies whose fastest modes differ; panels for what is contiguous along m or n; stream
//           for arrays that no cache keeps
#include "cpu/rows.inl"
#include "cpu/transpose/transpose.hpp"

namespace cute_py::cpu {
namespace {

// Stores the columns of as many rows as a vector has lanes, up to `steps` columns.
template <class T, class Rows>
CUTE_PY_INLINE void transpose_all(Rows const& rows, std::int64_t steps, T* out, std::int64_t out_step) {
  Vec<T> columns[kBlock<T>];
  std::int64_t p = 0;
  for (; p + kBlock<T> <= steps; p += kBlock<T>) {
    if (p % kLine<T> == 0) prefetch_rows<T>(rows, p);
    transpose_block<T>(rows, p, columns);
#pragma GCC unroll 4
    for (int i = 0; i < kBlock<T>; ++i) store(out + (p + i) * out_step, columns[i]);
  }
  if (p == steps) return;
  transpose_tail<T>(rows, p, steps - p, columns);
#pragma GCC unroll 4
  for (int i = 0; i < kBlock<T>; ++i) {
    if (i >= steps - p) break;
    store(out + (p + i) * out_step, columns[i]);
  }
}

template <class T>
void transpose_rows(T const* const* rows, std::int64_t steps, T* out, std::int64_t out_step) {
  if (!has_conflict_misses<T>(rows[1] - rows[0], kLanes<T>)) return transpose_all(rows, steps, out, out_step);
  PackedRows<T, kLanes<T>> packed;
  for_packed(packed, rows, steps,
             [&](EvenRows<T> const& packed_rows, std::int64_t p, std::int64_t count)
                 CUTE_PY_INLINE_LAMBDA { transpose_all(packed_rows, count, out + p * out_step, out_step); });
}

// So many bytes of each panel, known when this is compiled: what moves them is few instructions. Steps are often a page
// or more apart, so no hardware prefetcher sees where they go: they are prefetched some steps ahead.
template <class T, int bytes>
void copy_panels_of(std::int64_t panels, std::int64_t step_count, T const* from, std::int64_t const* steps, T* out,
                    std::int64_t panel) {
  constexpr std::int64_t kStepsAhead = 8;
  constexpr std::int64_t kCount = bytes / static_cast<int>(sizeof(T));
  constexpr int kWhole = bytes / kVectorBytes;
  constexpr int kRest = bytes % kVectorBytes;
  for (std::int64_t p = 0; p < step_count; ++p) {
    T const* x = from + steps[p];
    T* y = out + p * kCount;
    if (p + kStepsAhead < step_count) {
      auto const* const ahead = reinterpret_cast<char const*>(from + steps[p + kStepsAhead]);
      for (std::int64_t byte = 0; byte < panels * bytes; byte += kBytesOfLine) __builtin_prefetch(ahead + byte);
    }
    for (std::int64_t q = 0; q < panels; ++q, x += kCount, y += panel) {
#pragma GCC unroll 4
      for (int v = 0; v < kWhole; ++v) store(y + v * kLanes<T>, load(x + v * kLanes<T>));
      __builtin_memcpy(y + kWhole * kLanes<T>, x + kWhole * kLanes<T>, kRest);
    }
  }
}

template <class T>
void copy_panels(std::int64_t count, std::int64_t panels, std::int64_t step_count, T const* from,
                 std::int64_t const* steps, T* out, std::int64_t panel) {
  constexpr int kSize = sizeof(T);
  auto const bytes = count * kSize;
  if (bytes == kTile.mr(kSize) * kSize) {
    copy_panels_of<T, kTile.mr(kSize) * kSize>(panels, step_count, from, steps, out, panel);
  } else if (bytes == kTile.nr * kSize) {
    copy_panels_of<T, kTile.nr * kSize>(panels, step_count, from, steps, out, panel);
  } else {
    copy_panels_of<T, kTile.nr_complex() * 8>(panels, step_count, from, steps, out, panel);
  }
}

// Fewer elements than a cache line has: the head and the tail of a streamed line.
template <class T>
void copy_part_of_line(std::int64_t count, T const* from, T* to) {
  auto const* x = reinterpret_cast<char const*>(from);
  auto* y = reinterpret_cast<char*>(to);
  auto const bytes = count * static_cast<std::int64_t>(sizeof(T));
  if (bytes & 32) __builtin_memcpy(y, x, 32), y += 32, x += 32;
  if (bytes & 16) __builtin_memcpy(y, x, 16), y += 16, x += 16;
  if (bytes & 8) __builtin_memcpy(y, x, 8), y += 8, x += 8;
  if (bytes & 4) __builtin_memcpy(y, x, 4);
}

// Whole cache lines by non-temporal stores: they are not read before they are written. Measured with the buffer of
// cpu_copy (docs/perf-notes.md, "a buffer of 512 bytes by 2 KB"): permutations of 32 MB 0.27 to 0.72 of memcpy's speed.
template <class T>
void stream_line(std::int64_t count, T const* from, T* to) {
  std::int64_t const past = reinterpret_cast<std::uintptr_t>(to) % kBytesOfLine;
  std::int64_t const head = (kBytesOfLine - past) % kBytesOfLine / static_cast<std::int64_t>(sizeof(T));
  if (past % sizeof(T) != 0 || count < head + kLine<T>) {
    __builtin_memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
    return;
  }
  copy_part_of_line(head, from, to);
  std::int64_t i = head;
  while (i + kLine<T> <= count) {
    for (int v = 0; v < kBytesOfLine / kVectorBytes; ++v, i += kLanes<T>) store_non_temporal(to + i, load(from + i));
  }
  copy_part_of_line(count - i, from + i, to + i);
}

template <class T>
constexpr TransposeKernel<T> kTranspose = {.lanes = kLanes<T>,
                                           .rows = &transpose_rows<T>,
                                           .panels = &copy_panels<T>,
                                           .stream = &stream_line<T>,
                                           .stream_end = &fence_non_temporal};

}  // namespace
}  // namespace cute_py::cpu
