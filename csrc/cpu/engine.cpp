// C(m,n) = alpha * sum_k A(m,k) * B(n,k) + beta * C(m,n) on the host
//
// The tutorial's tiles without a GPU: zipped_divide cuts A and B into panels, identity layouts say which rows of the
// last panel exist, packing turns any strides into unit strides, and a register tile does the work.
//
// Requires:  any M, N, K >= 0, any strides
// Numerics:  fp32; k ascending within a block of kBlockK, blocks ascending, the sum rounded after each, beta * C added
//            once; the same bits for any number of threads
// Memory:    packed blocks, up to 7 MB per thread; with beta != 0 and several blocks of K, a sum as large as C
#include <algorithm>
#include <new>

#include <cute/tensor.hpp>

#include "cpu/micro_kernel.hpp"
#include "problem/parallel.hpp"

namespace cute_py::cpu {
namespace {

using cute::_;

// Block extents in elements: a packed block of A, kBlockM x kBlockK, fits in a second-level cache, one of B in a third.
constexpr std::int64_t kBlockM = 336;
constexpr std::int64_t kBlockN = 4032;
constexpr std::int64_t kBlockK = 384;

// A thread is worth starting for this many multiply-adds.
constexpr double kWorkPerThread = 1 << 21;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t round_up(std::int64_t a, std::int64_t b) { return ceil_div(a, b) * b; }

struct AlignedBuffer {
  explicit AlignedBuffer(std::int64_t floats)
      : data(static_cast<float*>(::operator new(floats * sizeof(float), std::align_val_t{64}))) {}
  AlignedBuffer(AlignedBuffer const&) = delete;
  AlignedBuffer& operator=(AlignedBuffer const&) = delete;
  ~AlignedBuffer() { ::operator delete(data, std::align_val_t{64}); }

  float* data;
};

// Packs the rows of source (rows,k) in panels: packed is (width,k,panel):(1,width,width*k). Rows that do not exist are
// zero.
template <class Source>
void pack_panels(Source const& source, std::int64_t width, float* packed) {
  auto const rows = cute::size<0>(source);
  auto const k = cute::size<1>(source);
  auto const tiler = cute::make_shape(width, k);
  cute::Tensor panels = cute::zipped_divide(source, tiler);  // ((width,k),(panel,1))
  cute::Tensor coords = cute::zipped_divide(cute::make_identity_tensor(cute::shape(source)), tiler);

  for (std::int64_t panel = 0; panel < ceil_div(rows, width); ++panel) {
    cute::Tensor tile = panels(cute::make_coord(_, _), cute::make_coord(panel, 0));   // (width,k)
    cute::Tensor coord = coords(cute::make_coord(_, _), cute::make_coord(panel, 0));  // (width,k)
    float* out = packed + panel * width * k;
    if (cute::elem_less(coord(width - 1, k - 1), cute::shape(source))) {
      for (std::int64_t p = 0; p < k; ++p) {
        for (std::int64_t i = 0; i < width; ++i) out[p * width + i] = tile(i, p);
      }
    } else {
      for (std::int64_t p = 0; p < k; ++p) {
        for (std::int64_t i = 0; i < width; ++i) {
          out[p * width + i] = cute::elem_less(coord(i, p), cute::shape(source)) ? tile(i, p) : 0.0f;
        }
      }
    }
  }
}

// The same for a block of a matrix in memory. A stride that is 1 becomes part of the type, for the compiler to use.
void pack(Matrix const& matrix, std::int64_t row, std::int64_t rows, std::int64_t first_k, std::int64_t k,
          std::int64_t width, float* packed) {
  auto const [s0, s1] = matrix.stride;
  auto const* data = static_cast<float const*>(matrix.data) + row * s0 + first_k * s1;
  auto const shape = cute::make_shape(rows, k);
  if (s0 == 1) {
    pack_panels(cute::make_tensor(data, shape, cute::make_stride(cute::_1{}, s1)), width, packed);
  } else if (s1 == 1) {
    pack_panels(cute::make_tensor(data, shape, cute::make_stride(s0, cute::_1{})), width, packed);
  } else {
    pack_panels(cute::make_tensor(data, shape, cute::make_stride(s0, s1)), width, packed);
  }
}

// The largest register tile of any instruction set, in elements.
constexpr int kMaxTile = register_tile(Isa::avx512).mr() * register_tile(Isa::avx512).nr;

// A rectangle of C.
struct Rectangle {
  std::int64_t m;
  std::int64_t n;
  std::int64_t extent_m;
  std::int64_t extent_n;
};

// A rectangle of C, all of K. C is rounded after each block of K.
void multiply_blocks(MicroKernel const& micro, Problem const& p, Rectangle const& r) {
  auto const block_m = std::min(round_up(r.extent_m, micro.mr), kBlockM / micro.mr * micro.mr);
  auto const block_n = std::min(round_up(r.extent_n, micro.nr), kBlockN / micro.nr * micro.nr);
  auto const block_k = std::min(p.k, kBlockK);
  AlignedBuffer packed_a(block_m * block_k);
  AlignedBuffer packed_b(block_n * block_k);
  alignas(64) float acc[kMaxTile];

  auto* const c = static_cast<float*>(p.c.data);
  auto const [c_m, c_n] = p.c.stride;

  for (std::int64_t jb = 0; jb < r.extent_n; jb += block_n) {
    auto const nb = std::min(block_n, r.extent_n - jb);
    for (std::int64_t kb = 0; kb < p.k; kb += block_k) {
      auto const kk = std::min(block_k, p.k - kb);
      float const beta = kb == 0 ? p.beta : 1.0f;
      pack(p.b, r.n + jb, nb, kb, kk, micro.nr, packed_b.data);
      for (std::int64_t ib = 0; ib < r.extent_m; ib += block_m) {
        auto const mb = std::min(block_m, r.extent_m - ib);
        pack(p.a, r.m + ib, mb, kb, kk, micro.mr, packed_a.data);
        for (std::int64_t j = 0; j < nb; j += micro.nr) {
          for (std::int64_t i = 0; i < mb; i += micro.mr) {
            micro.multiply(kk, packed_a.data + i * kk, packed_b.data + j * kk, acc);
            float* const corner = c + (r.m + ib + i) * c_m + (r.n + jb + j) * c_n;
            micro.store(p.alpha, acc, beta, corner, c_m, c_n, std::min<std::int64_t>(micro.mr, mb - i),
                        std::min<std::int64_t>(micro.nr, nb - j));
          }
        }
      }
    }
  }
}

// What a thread does: its rectangle of C. With several blocks of K, beta * C is added once at the end, to a sum of its
// own: added to C at the start, it would be rounded with every block.
void multiply_rectangle(MicroKernel const& micro, Problem const& p, Rectangle const& r) {
  if (p.beta == 0 || p.k <= kBlockK) {
    multiply_blocks(micro, p, r);
    return;
  }
  AlignedBuffer sum(r.extent_m * r.extent_n);
  Problem partial = p;
  partial.a.data = static_cast<float*>(p.a.data) + r.m * p.a.stride[0];
  partial.b.data = static_cast<float*>(p.b.data) + r.n * p.b.stride[0];
  partial.c = {sum.data, {1, r.extent_m}};
  partial.beta = 0;
  multiply_blocks(micro, partial, {0, 0, r.extent_m, r.extent_n});

  auto* const c = static_cast<float*>(p.c.data) + r.m * p.c.stride[0] + r.n * p.c.stride[1];
  for (std::int64_t j = 0; j < r.extent_n; ++j) {
    for (std::int64_t i = 0; i < r.extent_m; ++i) {
      float& element = c[i * p.c.stride[0] + j * p.c.stride[1]];
      element = sum.data[j * r.extent_m + i] + p.beta * element;
    }
  }
}

// K == 0: C = beta * C.
void scale(Problem const& p) {
  auto* const c = static_cast<float*>(p.c.data);
  for (std::int64_t j = 0; j < p.n; ++j) {
    for (std::int64_t i = 0; i < p.m; ++i) {
      float& element = c[i * p.c.stride[0] + j * p.c.stride[1]];
      element = p.beta == 0 ? 0.0f : p.beta * element;
    }
  }
}

// Cuts C into one rectangle per thread, as square as whole register tiles allow.
int multiply(MicroKernel const& micro, Problem const& p, Execution const& execution) {
  if (p.m == 0 || p.n == 0) return 0;
  if (p.k == 0) {
    scale(p);
    return 0;
  }
  auto const tiles_m = ceil_div(p.m, micro.mr);
  auto const tiles_n = ceil_div(p.n, micro.nr);
  double const work = static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  auto const threads = static_cast<std::int64_t>(
      std::clamp(work / kWorkPerThread, 1.0, static_cast<double>(std::max(execution.host_threads, 1))));

  std::int64_t parts_m = 1;
  std::int64_t parts_n = 1;
  while (parts_m * parts_n * 2 <= threads) {
    bool const split_m = tiles_m * micro.mr / parts_m >= tiles_n * micro.nr / parts_n;
    (split_m ? parts_m : parts_n) *= 2;
  }
  if (parts_m * parts_n < threads) {  // not a power of two: all threads along the longer side
    parts_m = p.m >= p.n ? threads : 1;
    parts_n = p.m >= p.n ? 1 : threads;
  }
  auto const part_m = ceil_div(tiles_m, parts_m) * micro.mr;
  auto const part_n = ceil_div(tiles_n, parts_n) * micro.nr;

  parallel_for(static_cast<int>(threads), parts_m * parts_n, [&](std::int64_t part) {
    auto const m = part % parts_m * part_m;
    auto const n = part / parts_m * part_n;
    if (m >= p.m || n >= p.n) return;
    multiply_rectangle(micro, p, {m, n, std::min(part_m, p.m - m), std::min(part_n, p.n - n)});
  });
  return 0;
}

template <MicroKernel (*micro_kernel)()>
int run(Problem const& problem, Execution const& execution) {
  return multiply(micro_kernel(), problem, execution);
}

constexpr Traits traits(char const* name, Isa isa) {
  auto const tile = register_tile(isa);
  return {name,
          "cpu",
          "any",
          Target::cpu,
          {tile.mr(), tile.nr, static_cast<int>(kBlockK)},
          1,
          1,
          0,
          true,
          Major::mn,
          Major::mn,
          sizeof(float),
          0,
          isa};
}

}  // namespace
}  // namespace cute_py::cpu

namespace cute_py::instances {

extern Entry const cpu_baseline_f32_cpu;
Entry const cpu_baseline_f32_cpu{cpu::traits("cpu_baseline_f32", Isa::baseline), &cpu::run<cpu::micro_kernel_baseline>};

#ifdef __x86_64__
extern Entry const cpu_avx2_f32_cpu;
Entry const cpu_avx2_f32_cpu{cpu::traits("cpu_avx2_f32", Isa::avx2), &cpu::run<cpu::micro_kernel_avx2>};

extern Entry const cpu_avx512_f32_cpu;
Entry const cpu_avx512_f32_cpu{cpu::traits("cpu_avx512_f32", Isa::avx512), &cpu::run<cpu::micro_kernel_avx512>};
#endif

}  // namespace cute_py::instances
