#pragma once

#include <cstdint>

#include "base/dtype.hpp"

namespace cute_py::cpu {

// Moves numbers, whatever they mean: transposes, packed panels, lines by non-temporal stores: transpose.inl.
template <class T>
struct TransposeKernel {
  int lanes;

  // out[p * out_step + lane] = rows[lane][p] for all lanes and p < steps, p ascending.
  void (*rows)(T const* const* rows, std::int64_t steps, T* out, std::int64_t out_step);

  // out[p * count + i + q * panel] = from[steps[p] + q * count + i] for i < count, p < step_count, q < panels. `count`
  // is that of the rows or the columns of a register tile, or of its complex columns that are moved as doubles.
  void (*panels)(std::int64_t count, std::int64_t panels, std::int64_t step_count, T const* from,
                 std::int64_t const* steps, T* out, std::int64_t panel);

  // Copies a line by non-temporal stores, where the processor has them. Before others may see it, stream_end() has to
  // be called.
  void (*stream)(std::int64_t count, T const* from, T* to);
  void (*stream_end)();
};

// Complex numbers, (re,im) interleaved, and their parts in lines of their own: complex_parts.inl.
template <class T>
struct ComplexPartsKernel {
  // re + i im = from, the imaginary part negated or not.
  void (*split)(std::int64_t count, T const* from, bool negate, T* re, T* im);

  // d = alpha * (re + i im), alpha[0] + i alpha[1]; null: 1.
  void (*join)(std::int64_t count, T const* alpha, T const* re, T const* im, T* d);

  // re + i im += d.
  void (*add)(std::int64_t count, T const* d, T* re, T* im);
};

// Lines of float32 as float16 or bfloat16, rounded to nearest, ties to even, and the other way, and true; false if the
// type is another: convert.inl.
struct ConvertKernel {
  bool (*narrow)(DType type, std::int64_t count, float const* from, void* to);
  bool (*widen)(DType type, std::int64_t count, void const* from, float* to);
};

}  // namespace cute_py::cpu
