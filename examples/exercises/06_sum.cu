// The sum of 32 numbers, by one warp, in shared memory.
#include <cstdio>

__global__ void sum(int const* in, int* out) {
  __shared__ int part[32];
  int const lane = threadIdx.x;
  part[lane] = in[lane];
  __syncwarp();
  for (int half = 16; half > 0; half /= 2) {
    if (lane < half) part[lane] += part[lane + half];
  }
  if (lane == 0) *out = part[0];
}

int main() {
  int host[32];
  for (int i = 0; i < 32; ++i) host[i] = i;
  int *in, *out;
  cudaMalloc(&in, sizeof(host));
  cudaMalloc(&out, sizeof(int));
  cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice);
  sum<<<1, 32>>>(in, out);
  int result = 0;
  cudaMemcpy(&result, out, sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(in);
  cudaFree(out);
  std::printf("%d\n", result);
  return result != 496;
}
