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

void store_column(float alpha, float const* acc, float beta, float* c) {
  if (beta == 0) {
    for (int i = 0; i < kMr; ++i) c[i] = alpha * acc[i];
  } else {
    for (int i = 0; i < kMr; ++i) c[i] = alpha * acc[i] + beta * c[i];
  }
}

void store(float alpha, float const* acc, float beta, float* c, std::int64_t stride_m, std::int64_t stride_n) {
  for (int j = 0; j < kNr; ++j) {
    float* column = c + j * stride_n;
    if (stride_m == 1) {
      store_column(alpha, acc + j * kMr, beta, column);
    } else {
      for (int i = 0; i < kMr; ++i) {
        float& element = column[i * stride_m];
        float const product = alpha * acc[j * kMr + i];
        element = beta == 0 ? product : product + beta * element;
      }
    }
  }
}

}  // namespace
