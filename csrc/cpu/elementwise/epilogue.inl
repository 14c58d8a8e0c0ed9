// Epilogue lines: what happens to sums on their way into the result, over vectors, in one pass
//
// Strides:  rows of acc and d are contiguous; columns anywhere. interleave() writes contiguous columns
// Order:    alpha * acc, + bias, activation; beta * c is added with one rounding
#include "cpu/elementwise/elementwise.inl"
#include "cpu/math/math.inl"

namespace cute_py::cpu {
namespace {

template <class T>
void scale_line(std::int64_t count, T alpha, T const* acc, T beta, T const* c, T* d) {
  if (beta == 0) {
    std::int64_t i = 0;
    for (; i + kLanes<T> <= count; i += kLanes<T>) store(d + i, alpha * load(acc + i));
    if (i < count) store_partial(d + i, count - i, alpha * load_partial(acc + i, count - i));
  } else {
    auto const* const other = reinterpret_cast<LooseElement<T> const*>(c);
    auto* const to = reinterpret_cast<LooseElement<T>*>(d);
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i) to[i] = add_scaled(alpha * acc[i], beta, other[i]);
  }
}

template <class T, Activation activation>
void finish_columns(std::int64_t rows, std::int64_t columns, T alpha, T const* acc, std::int64_t acc_column,
                    BiasOfTile<T> const& bias, T* d, std::int64_t const* d_columns) {
  bool const has_bias = bias.data != nullptr;
  auto const finished = [&](Vec<T> x, Vec<T> of_bias) CUTE_PY_INLINE_LAMBDA {
    x = alpha * x;
    if (has_bias) x = x + of_bias;
    if constexpr (activation == Activation::none) {
      return x;
    } else {
      return activated<T, activation>(x);
    }
  };
  for (std::int64_t j = 0; j < columns; ++j) {
    T const* const from = acc + j * acc_column;
    T* const to = d + d_columns[j];
    T const* const line = has_bias ? bias.data + bias.columns[j] : nullptr;
    T number = 0;
    if (has_bias && !bias.varies) __builtin_memcpy(&number, line, sizeof(T));
    Vec<T> const same = broadcast<T>(number);
    bool const has_line = has_bias && bias.varies;
    std::int64_t i = 0;
    for (; i + kLanes<T> <= rows; i += kLanes<T>) {
      Vec<T> of_bias = same;
      if (has_line) of_bias = load(line + i);
      store(to + i, finished(load(from + i), of_bias));
    }
    if (i == rows) continue;
    Vec<T> of_bias = same;
    if (has_line) of_bias = load_partial(line + i, rows - i);
    store_partial(to + i, rows - i, finished(load_partial(from + i, rows - i), of_bias));
  }
}

template <class T>
bool finish_tile(Activation activation, std::int64_t rows, std::int64_t columns, T alpha, T const* acc,
                 std::int64_t acc_column, BiasOfTile<T> const& bias, T* d, std::int64_t const* d_columns) {
  return with_activation<T>(
      activation, [&](auto of) { finish_columns<T, of>(rows, columns, alpha, acc, acc_column, bias, d, d_columns); });
}

// Interleaved columns: up to 8 contiguous columns of the result, which is dense. Rounds of exchanges make a
// row's elements contiguous, with room for as many as the next power of two; a shuffle closes the gaps. What a store
// leaves behind its rows is written again by the next.
//
//   columns   a0 a1 a2 a3 | b0 b1 b2 b3 | c0 c1 c2 c3   ->   a0 b0 c0 a1 b1 c1 a2 b2 c2 ...
//
// Measured on a Zen 5 (docs/perf-notes.md, "interleaved in registers"): (1187x6)x4 3.4 to 1.8 us.
template <class T, int columns>
void interleave_columns(std::int64_t rows, T alpha, T const* acc, std::int64_t acc_column, T* d) {
  constexpr int kPlaces = columns <= 2 ? 2 : columns <= 4 ? 4 : 8;
  if constexpr (kPlaces <= kLanes<T>) {
    constexpr int kRows = kLanes<T> / kPlaces;  // of a vector
    for (std::int64_t i = 0; i < rows; i += kLanes<T>) {
      Vec<T> x[kPlaces] = {};
#pragma GCC unroll 8
      for (int j = 0; j < columns; ++j) {
        T const* const from = acc + j * acc_column + i;
        x[j] = alpha * load_some(from, rows - i >= kLanes<T>, rows - i);
      }
#pragma GCC unroll 3
      for (int round = 1; round < kPlaces; round *= 2) {
        Vec<T> y[kPlaces];
#pragma GCC unroll 4
        for (int j = 0; j < kPlaces / 2; ++j) {
          y[2 * j] = interleave<T, false>(x[j], x[j + kPlaces / 2]);
          y[2 * j + 1] = interleave<T, true>(x[j], x[j + kPlaces / 2]);
        }
#pragma GCC unroll 8
        for (int j = 0; j < kPlaces; ++j) x[j] = y[j];
      }
#pragma GCC unroll 8
      for (int j = 0; j < kPlaces; ++j) {
        auto const row = i + j * kRows;
        if (row >= rows) break;
        Vec<T> const closed = close_gaps<T, kPlaces, columns>(x[j]);
        auto const left = (rows - row) * columns;
        store_some(d + row * columns, left >= kLanes<T>, left < kRows * columns ? left : kRows * columns, closed);
      }
    }
  }
}

template <class T, int columns = 2>
bool interleave_tile(std::int64_t rows, std::int64_t wanted, T alpha, T const* acc, std::int64_t acc_column, T* d) {
  if constexpr (columns > kMostInterleaved || columns > kLanes<T>) {
    return false;
  } else {
    if (wanted > columns) return interleave_tile<T, columns + 1>(rows, wanted, alpha, acc, acc_column, d);
    if (wanted < columns) return false;
    interleave_columns<T, columns>(rows, alpha, acc, acc_column, d);
    return true;
  }
}

template <class T>
constexpr ElementwiseKernel<T> kElementwise = {.rectangle = &multiply_rectangle<T>,
                                               .scale = &scale_line<T>,
                                               .finish = &finish_tile<T>,
                                               .interleave = &interleave_tile<T>};

}  // namespace
}  // namespace cute_py::cpu
