// The micro-kernel of int8, whose steps of k are in words, included behind register_tile.inl.

namespace {

// The step `s` of a word.
constexpr std::uint32_t in_word(std::int8_t x, bool is_a, int s) {
  if (kStepsOfWord == 4) {
    std::uint32_t const byte = static_cast<std::uint8_t>(x);
    return (is_a ? byte ^ 0x80 : byte) << (8 * s);
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

// Unsigned, so that sums wrap round instead of overflowing; the bits are those of int32.
template <>
MicroKernel<std::uint32_t> micro_kernel<std::uint32_t, kIsa>() {
  using T = std::uint32_t;
  return {kMr<T>, kNr, 0, &multiply<T>, &multiply_into<T>, nullptr, nullptr, nullptr, nullptr, &add<T>, &store<T>};
}

template <>
WordKernel word_kernel<kIsa>() {
  return {kStepsOfWord, &join_steps, &join_row};
}
