// A bulk copy by TMA brings an array in two halves, through one mbarrier.
#include <cstdint>
#include <cstdio>

constexpr int kThreads = 64;

__device__ std::uint32_t shared(void const* at) { return static_cast<std::uint32_t>(__cvta_generic_to_shared(at)); }

__device__ void wait(std::uint64_t* barrier, int parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "AGAIN:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra AGAIN;\n"
      "}\n" ::"r"(shared(barrier)),
      "r"(parity));
}

__global__ void copy_halves(int const* in, int* out) {
  __shared__ alignas(128) int half[kThreads];
  __shared__ std::uint64_t barrier;
  int const t = threadIdx.x;
  if (t == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared(&barrier)));
  __syncthreads();
  for (int i = 0; i < 2; ++i) {
    if (t == 0) {
      constexpr int bytes = sizeof(half);
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared(&barrier)), "r"(bytes));
      asm volatile(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared(half)),
          "l"(in + i * kThreads), "r"(bytes), "r"(shared(&barrier)));
    }
    wait(&barrier, 0);
    out[i * kThreads + t] = half[t];
    __syncthreads();
  }
}

int main() {
  int host[2 * kThreads];
  for (int i = 0; i < 2 * kThreads; ++i) host[i] = i;
  int *in, *out;
  cudaMalloc(&in, sizeof(host));
  cudaMalloc(&out, sizeof(host));
  cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice);
  copy_halves<<<1, kThreads>>>(in, out);
  cudaMemcpy(host, out, sizeof(host), cudaMemcpyDeviceToHost);
  cudaFree(in);
  cudaFree(out);
  int wrong = 0;
  for (int i = 0; i < 2 * kThreads; ++i) wrong += host[i] != i;
  std::printf("%d of %d are wrong\n", wrong, 2 * kThreads);
  return wrong != 0;
}
