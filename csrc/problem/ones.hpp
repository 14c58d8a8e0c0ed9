#pragma once

#include "problem/dtype.hpp"

namespace cute_py {

// The number one of every type, so many bytes apart, as it lies in memory.
inline constexpr int kBytesOfOne = 16;

struct Ones {
  alignas(16) unsigned char bytes[kDTypes][kBytesOfOne];
};

inline constexpr Ones kOnes = {{
    {0x00, 0x3c},                                      // f16
    {0x80, 0x3f},                                      // bf16
    {0x00, 0x00, 0x80, 0x3f},                          // f32
    {0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xf0, 0x3f},  // f64
    {0x00, 0x00, 0x80, 0x3f},                          // c64
    {0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xf0, 0x3f},  // c128
    {0x01},                                            // i8
    {0x01},                                            // i32
}};

}  // namespace cute_py
