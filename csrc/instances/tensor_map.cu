#include "instances/tensor_map.hpp"

#include <cuda.h>

#include <cstring>
#include <string>

#include "base/errors.hpp"

namespace cute_py::instances {
namespace {

static_assert(sizeof(TensorMap) == sizeof(CUtensorMap) && alignof(TensorMap) == alignof(CUtensorMap));

// A function of the driver, which is not linked.
template <class Function>
Function* of_driver(char const* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  auto const error = cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result);
  if (error != cudaSuccess || result != cudaDriverEntryPointSuccess) {
    throw CudaError(std::string("the driver has no ") + name + "\n  next: install a driver for CUDA 12.0 or newer");
  }
  return reinterpret_cast<Function*>(found);
}

CUtensorMapDataType type_of(TensorBox const& box) {
  if (box.to_tfloat32) return CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
  switch (box.type) {
    case DType::f16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case DType::bf16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case DType::f32:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case DType::i32:
      return CU_TENSOR_MAP_DATA_TYPE_INT32;
    default:
      return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  }
}

CUtensorMapSwizzle swizzle_of(int bytes) {
  return bytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
         : bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
         : bytes == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                       : CU_TENSOR_MAP_SWIZZLE_NONE;
}

}  // namespace

TensorMap encode(TensorBox const& box, void* data) {
  static auto* const function = of_driver<decltype(cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
  cuuint64_t extents[kBoxModes];
  cuuint64_t strides[kBoxModes];  // in bytes, without the first
  cuuint32_t boxes[kBoxModes];
  cuuint32_t ones[kBoxModes];
  for (int i = 0; i < box.rank; ++i) {
    extents[i] = static_cast<cuuint64_t>(box.extent[i]);
    if (i > 0) strides[i - 1] = static_cast<cuuint64_t>(box.stride[i] * bytes_of(box.type));
    boxes[i] = static_cast<cuuint32_t>(box.box[i]);
    ones[i] = 1;
  }
  CUtensorMap made;
  auto const error = function(&made, type_of(box), static_cast<cuuint32_t>(box.rank), data, extents, strides, boxes,
                              ones, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle_of(box.swizzle_bytes),
                              CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (error != CUDA_SUCCESS) {
    auto const broken = broken_rules(box, data);
    throw CudaError("the driver takes no such tensor map: error " + std::to_string(static_cast<int>(error)) +
                    (broken.empty() ? "" : ", " + broken.front()));
  }
  TensorMap map;
  std::memcpy(&map, &made, sizeof(map));
  return map;
}

void point(TensorMap& map, void* data) {
  static auto* const function = of_driver<decltype(cuTensorMapReplaceAddress)>("cuTensorMapReplaceAddress");
  auto const error = function(reinterpret_cast<CUtensorMap*>(&map), data);
  if (error != CUDA_SUCCESS) {
    throw CudaError("the driver takes no tensor map at this address: error " + std::to_string(static_cast<int>(error)));
  }
}

}  // namespace cute_py::instances
