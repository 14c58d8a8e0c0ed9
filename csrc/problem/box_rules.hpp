#pragma once

#include <cstdint>
#include <string>
#include <vector>

// The rules of SM90's TMA, as the CUDA driver API states them of cuTensorMapEncodeTiled. The choice of
// kernels, the emulator and tma_check all use these rules.
namespace cute_py::box_rules {

inline constexpr std::int64_t kMostModes = 5;
inline constexpr std::int64_t kAlignment = 16;  // of addresses, strides and lines of a box, in bytes
inline constexpr std::int64_t kMostExtent = std::int64_t{1} << 32;
inline constexpr std::int64_t kEndOfStrides = std::int64_t{1} << 40;  // bytes
inline constexpr std::int64_t kMostBox = 256;                         // elements of a mode
inline constexpr std::int64_t kMostStep = 8;
inline constexpr std::int64_t kSharedBytes = 227 * 1024;

constexpr bool is_aligned(std::int64_t bytes) { return bytes % kAlignment == 0; }
constexpr bool is_in_reach(std::int64_t stride_bytes) { return 0 <= stride_bytes && stride_bytes < kEndOfStrides; }
constexpr bool is_extent(std::int64_t extent) { return 1 <= extent && extent <= kMostExtent; }
constexpr bool is_box(std::int64_t extent) { return 1 <= extent && extent <= kMostBox; }
constexpr bool is_step(std::int64_t step) { return 1 <= step && step <= kMostStep; }

// The rule that the stride of a mode beside the first one breaks, with the way out; empty if it breaks none.
std::string broken_by_stride(std::int64_t elements, std::int64_t element_bytes);

// An array in global memory and a box of it. All have as many modes, the one with stride 1 first.
struct Question {
  std::string element;  // its type's name
  int element_bits = 0;
  std::vector<std::int64_t> extents;
  std::vector<std::int64_t> strides;  // in elements
  std::vector<std::int64_t> box;
  std::vector<std::int64_t> steps;  // from element to element of the box
  int swizzle_bytes = 0;            // 0, 32, 64 or 128
  std::int64_t address = 0;
};

struct Answer {
  std::vector<std::string> broken;  // rules, each with the way out
  std::int64_t box_bytes = 0;
};

Answer ask(Question const& question);

}  // namespace cute_py::box_rules
