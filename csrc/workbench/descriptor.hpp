#pragma once

#include <cstdint>

namespace cute_py::workbench {

// Where a factor is, as its descriptor says (PTX ISA, "Matrix descriptor format" of wgmma). A descriptor of
// tcgen05 has one more bit of swizzle, below these two.
struct Factor {
  std::uint64_t descriptor;
  bool k_major;
  int bytes;

  std::uint32_t place(int row, int k) const {
    auto const field = [&](int bit) { return static_cast<std::uint32_t>(descriptor >> bit & 0x3fff) * 16; };
    constexpr int kSpans[] = {16, 128, 64, 32};
    auto const kind = static_cast<int>(descriptor >> 62);
    int const span = kSpans[kind];
    std::uint32_t const leading = field(16);
    std::uint32_t const strided = field(32);
    auto const u = [](int x) { return static_cast<std::uint32_t>(x); };
    std::uint32_t at = field(0);
    if (k_major) {
      int const in_bytes = k * bytes;
      at += u(row % 8 * span) + u(row / 8) * strided;
      at += kind == 0 ? u(in_bytes % 16) + u(in_bytes / 16) * leading : u(in_bytes);
    } else {
      int const run = span / bytes;
      at += u(row % run * bytes) + u(k % 8 * span);
      at += kind == 0 ? u(row / run) * strided + u(k / 8) * leading : u(row / run) * leading + u(k / 8) * strided;
    }
    std::uint32_t const mask = kind == 0 ? 0 : u(span / 16 - 1);
    return at ^ ((at >> 7 & mask) << 4);
  }
};

}  // namespace cute_py::workbench
