// The body of a micro-kernel, included by one source file per instruction set after it defines kIsa.
//
// Those files are compiled with flags that other machines may not have. So everything in here has internal linkage and
// nothing comes from a header with inline functions: the linker must never pick such a copy for the rest of the
// program.

namespace {

constexpr RegisterTile kTile = register_tile(kIsa);
constexpr int kVectors = kTile.vectors;
constexpr int kMr = kTile.mr();
constexpr int kNr = kTile.nr;

typedef float Vector __attribute__((vector_size(kTile.lanes * sizeof(float)), may_alias));

void multiply(std::int64_t k, float const* a, float const* b, float* acc) {
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
    a += kMr;
    b += kNr;
  }
  for (int j = 0; j < kNr; ++j) {
    for (int v = 0; v < kVectors; ++v) {
      reinterpret_cast<Vector*>(acc)[j * kVectors + v] = c[j][v];
    }
  }
}

float sum(float product, float beta, float c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return __builtin_fmaf(beta, c, product);
#else
  return product + beta * c;
#endif
}

void store_column(float alpha, float const* acc, float beta, float* c, std::int64_t rows) {
  if (beta == 0) {
    for (std::int64_t i = 0; i < rows; ++i) c[i] = alpha * acc[i];
  } else {
    for (std::int64_t i = 0; i < rows; ++i) c[i] = sum(alpha * acc[i], beta, c[i]);
  }
}

void store(float alpha, float const* acc, float beta, float* c, std::int64_t stride_m, std::int64_t stride_n,
           std::int64_t rows, std::int64_t columns) {
  for (std::int64_t j = 0; j < columns; ++j) {
    float const* const from = acc + j * kMr;
    float* const to = c + j * stride_n;
    if (stride_m != 1) {
      for (std::int64_t i = 0; i < rows; ++i) {
        float& element = to[i * stride_m];
        element = beta == 0 ? alpha * from[i] : sum(alpha * from[i], beta, element);
      }
    } else if (rows == kMr) {
      store_column(alpha, from, beta, to, kMr);
    } else {
      store_column(alpha, from, beta, to, rows);
    }
  }
}

}  // namespace
