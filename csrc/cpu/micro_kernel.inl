// The body of a micro-kernel, included by one source file per instruction set after it defines kIsa.
//
// Those files are compiled with flags that other machines may not have. So everything in here has internal linkage and
// nothing comes from a header with inline functions: the linker must never pick such a copy for the rest of the
// program.

namespace {

constexpr RegisterTile kTile = register_tile(kIsa);
constexpr int kVectors = kTile.vectors;
constexpr int kNr = kTile.nr;

template <class T>
struct VectorOf {
  typedef T Type __attribute__((vector_size(kTile.vector_bytes), may_alias));
};

template <class T>
constexpr int kMr = kTile.mr(sizeof(T));

template <class T>
void multiply(std::int64_t k, T const* a, T const* b, T* acc) {
  using Vector = typename VectorOf<T>::Type;
  auto* const tile = reinterpret_cast<Vector*>(acc);
  Vector c[kNr][kVectors] = {};
  for (std::int64_t p = 0; p < k; ++p) {
    Vector column[kVectors];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      column[v] = reinterpret_cast<Vector const*>(a)[v];
    }
#pragma GCC unroll 16
    for (int j = 0; j < kNr; ++j) {
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) {
        c[j][v] += column[v] * b[j];
      }
    }
    a += kMr<T>;
    b += kNr;
  }
  for (int j = 0; j < kNr; ++j) {
    for (int v = 0; v < kVectors; ++v) tile[j * kVectors + v] = c[j][v];
  }
}

template <class T>
void gather(T const* acc, SumOf<T>* sums, SumOf<T>* lost, bool first) {
  constexpr int kTileSize = kNr * kMr<T>;
  if (first) {
    for (int i = 0; i < kTileSize; ++i) sums[i] = static_cast<SumOf<T>>(acc[i]);
    if (lost == nullptr) return;
    for (int i = 0; i < kTileSize; ++i) lost[i] = 0;
  } else if (lost == nullptr) {
    for (int i = 0; i < kTileSize; ++i) sums[i] += static_cast<SumOf<T>>(acc[i]);
  } else {
    for (int i = 0; i < kTileSize; ++i) {
      SumOf<T> const added = static_cast<SumOf<T>>(acc[i]);
      SumOf<T> const sum = sums[i] + added;
      SumOf<T> const seen = sum - sums[i];
      lost[i] += (sums[i] - (sum - seen)) + (added - seen);
      sums[i] = sum;
    }
  }
}

template <class T>
void settle(SumOf<T> const* sums, SumOf<T> const* lost, T* acc) {
  constexpr int kTileSize = kNr * kMr<T>;
  if (lost == nullptr) {
    for (int i = 0; i < kTileSize; ++i) acc[i] = static_cast<T>(sums[i]);
    return;
  }
  for (int i = 0; i < kTileSize; ++i) {
    SumOf<T> const sum = sums[i] + lost[i];
    acc[i] = static_cast<T>(sum == sum ? sum : sums[i]);  // what infinity loses is no number
  }
}

// Rounded once, also where the processor has no such instruction and this is slow: numeric::axpby does the same for the
// elements that are not written here.
float sum(float product, float beta, float c) { return __builtin_fmaf(beta, c, product); }
double sum(double product, double beta, double c) { return __builtin_fma(beta, c, product); }

// An element of an array at any address.
template <class T>
struct Loose {
  typedef T Type __attribute__((aligned(1), may_alias));
};

template <class T>
void store_column(T alpha, T const* acc, T beta, typename Loose<T>::Type const* c, typename Loose<T>::Type* d,
                  std::int64_t rows) {
  if (beta == 0) {
    for (std::int64_t i = 0; i < rows; ++i) d[i] = alpha * acc[i];
  } else {
    for (std::int64_t i = 0; i < rows; ++i) d[i] = sum(alpha * acc[i], beta, c[i]);
  }
}

template <class T>
void store(T alpha, T const* acc, T beta, T const* c, std::int64_t const* c_columns, T* d,
           std::int64_t const* d_columns, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t j = 0; j < columns; ++j) {
    T const* const from = acc + j * kMr<T>;
    T const* const other = beta == 0 ? nullptr : c + c_columns[j];
    if (rows == kMr<T>) {
      store_column(alpha, from, beta, other, d + d_columns[j], kMr<T>);
    } else {
      store_column(alpha, from, beta, other, d + d_columns[j], rows);
    }
  }
}

}  // namespace

template <>
MicroKernel<float> micro_kernel<float, kIsa>() {
  return {kMr<float>, kNr, &multiply<float>, &gather<float>, &settle<float>, &store<float>};
}

template <>
MicroKernel<double> micro_kernel<double, kIsa>() {
  return {kMr<double>, kNr, &multiply<double>, &gather<double>, &settle<double>, &store<double>};
}

// Unsigned, so that sums wrap round instead of overflowing; the bits are those of int32.
template <>
MicroKernel<std::uint32_t> micro_kernel<std::uint32_t, kIsa>() {
  return {kMr<std::uint32_t>, kNr, &multiply<std::uint32_t>, &gather<std::uint32_t>, &settle<std::uint32_t>, nullptr};
}
