// The package's gemm_sm90 in bfloat16, 128x128 ping-pong, on eight CTAs with two tiles of C each: its sections on a
// timeline, in the emulator and on a GPU alike.
//
//   cute-py run --timeline emulator.svg examples/timelines/gemm_sm90.cu
//   cute-py run --target cuda --timeline gpu.svg examples/timelines/gemm_sm90.cu
#include <cstdio>
#include <cstring>
#include <vector>

#include <cuda.h>

#include <cute_py/marks.hpp>

#define CUTE_PY_BUILD_SET 2
#include "kernels/gemm_sm90/family.hpp"

using namespace cute_py;

using Config = kernels::GemmSm90_128x128<cutlass::bfloat16_t, Major::k, Major::k, Form::vectors>;
using Params = kernels::GemmSm90Params<Config>;

constexpr int kCtas = 8;
constexpr int kM = 512, kN = 512, kK = 1024;

// A tensor map of the driver.
TensorMap encode(TensorBox const& box, void* data) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found);
  cuuint64_t extents[kBoxModes], strides[kBoxModes];
  cuuint32_t boxes[kBoxModes], ones[kBoxModes];
  for (int i = 0; i < box.rank; ++i) {
    extents[i] = static_cast<cuuint64_t>(box.extent[i]);
    if (i > 0) strides[i - 1] = static_cast<cuuint64_t>(box.stride[i] * 2);
    boxes[i] = static_cast<cuuint32_t>(box.box[i]);
    ones[i] = 1;
  }
  CUtensorMap made;
  auto const error = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function)(
      &made, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, box.rank, data, extents, strides, boxes, ones,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (error != CUDA_SUCCESS) std::printf("cuTensorMapEncodeTiled: error %d\n", static_cast<int>(error));
  TensorMap map;
  std::memcpy(&map, &made, sizeof(map));
  return map;
}

int main() {
  using T = cutlass::bfloat16_t;
  std::vector<T> a(kM * kK), b(kN * kK), d(kM * kN);
  for (int i = 0; i < kM * kK; ++i) a[i] = T(static_cast<float>(i * 7 % 11 - 5));
  for (int i = 0; i < kN * kK; ++i) b[i] = T(static_cast<float>(i * 5 % 13 - 6));
  T *at_a, *at_b, *at_d;
  cudaMalloc(&at_a, a.size() * sizeof(T));
  cudaMalloc(&at_b, b.size() * sizeof(T));
  cudaMalloc(&at_d, d.size() * sizeof(T));
  cudaMemcpy(at_a, a.data(), a.size() * sizeof(T), cudaMemcpyHostToDevice);
  cudaMemcpy(at_b, b.data(), b.size() * sizeof(T), cudaMemcpyHostToDevice);

  Geometry product;
  auto const mode = [](std::int64_t extent, Role of, std::int64_t stride, Role in_d, std::int64_t stride_d) {
    Mode made;
    made.extent = extent;
    made.stride[of] = stride;
    made.stride[in_d] = stride_d;
    return Modes({made});
  };
  product.m = mode(kM, Role::a, kK, Role::d, kN);
  product.n = mode(kN, Role::b, kK, Role::d, 1);
  product.k = mode(kK, Role::a, 1, Role::b, 1);
  for (Role const role : {Role::a, Role::b, Role::d}) {
    product.type[role] = DType::bf16;
    product.log2_alignment[role] = kMaxLog2Alignment;
  }
  Params params(product, Schedule());
  Arguments arguments;
  arguments.data[Role::a] = at_a;
  arguments.data[Role::b] = at_b;
  arguments.data[Role::d] = at_d;
  params.bind(arguments);
  params.for_each_tensor(
      [&](TensorMap& map, TensorBox const& box, Role role) { map = encode(box, arguments.data[role]); });

  int const bytes = sizeof(Config::SharedStorage);
  cudaFuncSetAttribute(&kernels::gemm_sm90<Config>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  // Launched twice, the first time for its instructions and descriptors: the timeline is that of the second.
  for (int i = 0; i < 2; ++i) {
    CUTE_PY_CLEAR_MARKS();
    params.for_each_grid(kCtas, [&](kernels::Grid const& grid) {
      params.apply([&](auto const&... x) { kernels::gemm_sm90<Config><<<grid.m, Config::threads, bytes>>>(x...); });
    });
    if (cudaDeviceSynchronize() != cudaSuccess) {
      std::printf("the launch failed: %s\n", cudaGetErrorString(cudaGetLastError()));
      return 1;
    }
  }
  cudaMemcpy(d.data(), at_d, d.size() * sizeof(T), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int m = 0; m < kM; m += 37) {
    for (int n = 0; n < kN; ++n) {
      float sum = 0;
      for (int k = 0; k < kK; ++k) sum += static_cast<float>(a[m * kK + k]) * static_cast<float>(b[n * kK + k]);
      wrong += static_cast<float>(d[m * kN + n]) != static_cast<float>(T(sum));
    }
  }
  std::printf("%d elements are wrong\n", wrong);
  for (T* const at : {at_a, at_b, at_d}) cudaFree(at);
  return wrong == 0 ? 0 : 1;
}
