// Makes one warp execute one shared-memory instruction for each pattern of a file, one launch each, for a profiler to
// count.
//
// The file: int32 number of patterns, then for each its width in bytes, 1 for a store or 0 for a load, and 32 byte
// addresses.
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr int kSharedBytes = 48 * 1024;

__global__ void access(int width, int is_store, int const* addresses, int* out) {
  extern __shared__ __align__(16) unsigned char memory[];
  unsigned const at = static_cast<unsigned>(__cvta_generic_to_shared(memory)) + addresses[threadIdx.x];
  int a = threadIdx.x;
  int b = 0;
  int c = 0;
  int d = 0;
  if (width == 4 && is_store) {
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(at), "r"(a));
  } else if (width == 4) {
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(a) : "r"(at));
  } else if (width == 8 && is_store) {
    asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(at), "r"(a), "r"(b));
  } else if (width == 8) {
    asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(at));
  } else if (is_store) {
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(a), "r"(b), "r"(c), "r"(d));
  } else {
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at));
  }
  out[threadIdx.x] = a + b + c + d;
}

}  // namespace

int main(int argc, char** argv) {
  std::FILE* file = argc == 2 ? std::fopen(argv[1], "rb") : nullptr;
  std::int32_t count = 0;
  if (file == nullptr || std::fread(&count, sizeof(count), 1, file) != 1) return 2;
  std::vector<std::int32_t> patterns(static_cast<std::size_t>(count) * 34);
  if (std::fread(patterns.data(), sizeof(std::int32_t), patterns.size(), file) != patterns.size()) return 2;
  int* device = nullptr;
  int* out = nullptr;
  if (cudaMalloc(&device, patterns.size() * sizeof(int)) != cudaSuccess) return 3;
  if (cudaMalloc(&out, 32 * sizeof(int)) != cudaSuccess) return 3;
  cudaMemcpy(device, patterns.data(), patterns.size() * sizeof(int), cudaMemcpyHostToDevice);
  for (int i = 0; i < count; ++i) {
    access<<<1, 32, kSharedBytes>>>(patterns[34 * i], patterns[34 * i + 1], device + 34 * i + 2, out);
  }
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 4;
}
