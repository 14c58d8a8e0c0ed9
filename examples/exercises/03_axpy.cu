// y += a x, for any number of elements.
#include <cstdio>

__global__ void axpy(int n, float a, float const* x, float* y) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) y[i] += a * x[i];
}

int main() {
  constexpr int n = 1000;
  float host[n];
  for (int i = 0; i < n; ++i) host[i] = static_cast<float>(i);
  float *x, *y;
  cudaMalloc(&x, sizeof(host));
  cudaMalloc(&y, sizeof(host));
  cudaMemcpy(x, host, sizeof(host), cudaMemcpyHostToDevice);
  cudaMemcpy(y, host, sizeof(host), cudaMemcpyHostToDevice);
  axpy<<<(n + 255) / 256, 256>>>(n, 2.0f, x, y);
  cudaMemcpy(host, y, sizeof(host), cudaMemcpyDeviceToHost);
  cudaFree(x);
  cudaFree(y);
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += host[i] != 3.0f * i;
  std::printf("%d of %d are wrong\n", wrong, n);
  return wrong != 0;
}
