#pragma once

#include <cstddef>
#include <cstdint>

namespace cute_py {

// What an epilogue applies to its sums.
enum class Activation : std::uint8_t { none, relu, gelu, gelu_tanh, silu, sigmoid };
inline constexpr char const* kActivationNames[] = {"none", "relu", "gelu", "gelu_tanh", "silu", "sigmoid"};
inline constexpr std::size_t kActivations = static_cast<std::size_t>(Activation::sigmoid) + 1;
static_assert(sizeof(kActivationNames) == kActivations * sizeof(char const*), "each activation has a name");

}  // namespace cute_py
