// int8 in words of 32 bits with several steps of k, and the micro-kernel of such words
//
//   steps of a word   the processor multiplies and adds by       a word of A             a word of B
//   4 (AVX512-VNNI)   vpdpbusd: unsigned bytes times signed      bytes + 128 (zero point)  bytes
//   2 (SSE2, ...)     pmaddwd: numbers of 16 bits                two of 16 bits             two of 16 bits
//   1                 a product of 32 bits                       one number                 one number
//
// Order:  any: sums wrap round in 32 bits and are exact
#include "cpu/gemm/micro_kernel.inl"

namespace cute_py::cpu {
namespace {

// The step `s` of a word.
constexpr std::uint32_t in_word(std::int8_t x, bool is_a, int s) {
  if (kStepsOfWord == 4) {
    std::uint32_t const byte = static_cast<std::uint8_t>(x);
    return (is_a ? byte ^ 0x80 : byte) << (8 * s);  // the zero point, 128
  }
  if (kStepsOfWord == 2) return static_cast<std::uint32_t>(static_cast<std::uint16_t>(x)) << (16 * s);
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(x));
}

template <bool is_a>
void join_steps_of(std::int64_t count, std::int8_t const* const* steps, std::uint32_t* out) {
  std::int8_t const* from[kStepsOfWord];
  for (int s = 0; s < kStepsOfWord; ++s) from[s] = steps[s];
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint32_t word = 0;
#pragma GCC unroll 4
    for (int s = 0; s < kStepsOfWord; ++s) word |= in_word(from[s][i], is_a, s);
    out[i] = word;
  }
}

void join_steps(std::int64_t count, std::int8_t const* const* steps, bool is_a, std::uint32_t* out) {
  is_a ? join_steps_of<true>(count, steps, out) : join_steps_of<false>(count, steps, out);
}

template <bool is_a>
void join_row_of(std::int64_t steps, std::int8_t const* row, std::uint32_t* out) {
  std::int64_t const whole = steps / kStepsOfWord;
#pragma GCC ivdep
  for (std::int64_t w = 0; w < whole; ++w) {
    if constexpr (kStepsOfWord == 4) {
      __builtin_memcpy(out + w, row + 4 * w, 4);
      if (is_a) out[w] ^= 0x80808080;
    } else {
      std::uint32_t word = 0;
#pragma GCC unroll 4
      for (int s = 0; s < kStepsOfWord; ++s) word |= in_word(row[w * kStepsOfWord + s], is_a, s);
      out[w] = word;
    }
  }
  if (whole * kStepsOfWord == steps) return;
  std::uint32_t word = 0;
  for (int s = 0; s < kStepsOfWord; ++s) {
    auto const p = whole * kStepsOfWord + s;
    word |= in_word(p < steps ? row[p] : std::int8_t(0), is_a, s);
  }
  out[whole] = word;
}

void join_row(std::int64_t steps, std::int8_t const* row, bool is_a, std::uint32_t* out) {
  is_a ? join_row_of<true>(steps, row, out) : join_row_of<false>(steps, row, out);
}

}  // namespace

template <>
WordKernel word_kernel<kIsa>() {
  return {.micro = kMicro<std::uint32_t>, .steps = kStepsOfWord, .join_steps = &join_steps, .join_row = &join_row};
}

}  // namespace cute_py::cpu
