// Sums tiles of an array that cp.async brings, two tiles ahead.
#include <cstdint>
#include <cstdio>

constexpr int kThreads = 64;
constexpr int kStages = 3;

__device__ void copy_async(void* to, void const* from) {
  auto const address = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(address), "l"(from));
}
__device__ void commit() { asm volatile("cp.async.commit_group;"); }
template <int left>
__device__ void wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(left));
}

__global__ void sum_tiles(int tiles, int const* in, int* out) {
  __shared__ int stage[kStages][kThreads];
  int const t = threadIdx.x;
  for (int i = 0; i < kStages - 1; ++i) {
    copy_async(&stage[i][t], in + i * kThreads + t);
    commit();
  }
  int sum = 0;
  for (int i = 0; i < tiles; ++i) {
    int const next = i + kStages - 1;
    if (next < tiles) copy_async(&stage[next % kStages][t], in + next * kThreads + t);
    commit();
    wait<kStages>();
    __syncthreads();
    sum += stage[i % kStages][(t + 1) % kThreads];
    __syncthreads();
  }
  out[t] = sum;
}

int main() {
  constexpr int tiles = 8;
  int host[tiles * kThreads];
  for (int& x : host) x = 1;
  int *in, *out;
  cudaMalloc(&in, sizeof(host));
  cudaMalloc(&out, kThreads * sizeof(int));
  cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice);
  sum_tiles<<<1, kThreads>>>(tiles, in, out);
  cudaMemcpy(host, out, kThreads * sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(in);
  cudaFree(out);
  int wrong = 0;
  for (int i = 0; i < kThreads; ++i) wrong += host[i] != tiles;
  std::printf("%d of %d are wrong\n", wrong, kThreads);
  return wrong != 0;
}
