// Doubles an array in shared memory, and stores it by TMA.
#include <cstdint>
#include <cstdio>

constexpr int kThreads = 64;

__global__ void double_all(int const* in, int* out) {
  __shared__ alignas(128) int tile[kThreads];
  int const t = threadIdx.x;
  tile[t] = 2 * in[t];
  __syncthreads();
  if (t == 0) {
    auto const from = static_cast<std::uint32_t>(__cvta_generic_to_shared(tile));
    int const bytes = sizeof(tile);
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out), "r"(from), "r"(bytes));
    asm volatile("cp.async.bulk.commit_group;");
    asm volatile("cp.async.bulk.wait_group 0;");
  }
}

int main() {
  int host[kThreads];
  for (int i = 0; i < kThreads; ++i) host[i] = i;
  int *in, *out;
  cudaMalloc(&in, sizeof(host));
  cudaMalloc(&out, sizeof(host));
  cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice);
  double_all<<<1, kThreads>>>(in, out);
  cudaMemcpy(host, out, sizeof(host), cudaMemcpyDeviceToHost);
  cudaFree(in);
  cudaFree(out);
  int wrong = 0;
  for (int i = 0; i < kThreads; ++i) wrong += host[i] != 2 * i;
  std::printf("%d of %d are wrong\n", wrong, kThreads);
  return wrong != 0;
}
