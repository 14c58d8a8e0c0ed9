#pragma once

#include <cstdint>
#include <string>

// The tensor map that TMA gets: cuTensorMapEncodeTiled makes it, and instructions read it. On a GPU its 128 bytes are
// not documented; here they are this.
namespace cute_py::workbench {

struct TensorMap {
  std::uint32_t magic = 0;
  std::uint8_t rank = 0;
  std::uint8_t element_bytes = 0;
  std::uint8_t swizzle_bytes = 0;  // 0, 32, 64 or 128
  std::uint8_t is_tf32 = 0;        // rounds float32 on its way
  std::uint64_t address = 0;
  std::uint32_t extent[5] = {};
  std::uint16_t box[5] = {};
  std::uint16_t type = 0;        // CUtensorMapDataType
  std::uint64_t stride[5] = {};  // in bytes; that of mode 0 is the element's size
  std::uint8_t step[5] = {};     // elementStrides
  std::uint8_t fills_with_nan = 0;
};
static_assert(sizeof(TensorMap) <= 128);
inline constexpr std::uint32_t kTensorMapMagic = 0x7464616d;

}  // namespace cute_py::workbench
