#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

// What a program hands to an asm statement. Included by programs: no more than they need.
namespace cute_py::workbench {

struct Operand {
  std::uint64_t value[2] = {0, 0};
  void* to = nullptr;  // of an output
  int bytes = 0;
};

template <class T>
Operand input(T const& x) {
  Operand operand;
  operand.bytes = static_cast<int>(sizeof(T));
  if constexpr (std::is_integral_v<T> && sizeof(T) <= 8) {
    operand.value[0] = static_cast<std::uint64_t>(x);  // with its sign
  } else if constexpr (std::is_enum_v<T>) {
    operand.value[0] = static_cast<std::uint64_t>(x);
  } else {
    static_assert(sizeof(T) <= 16 && std::is_trivially_copyable_v<T>, "an operand of asm has at most 16 bytes");
    __builtin_memcpy(operand.value, &x, sizeof(T));
  }
  return operand;
}

template <class T>
Operand output(T& x) {
  static_assert(sizeof(T) <= 16, "an operand of asm has at most 16 bytes");
  Operand operand;
  operand.to = &x;
  operand.bytes = static_cast<int>(sizeof(T));
  return operand;
}

// "+r": read, too.
template <class T>
Operand in_and_out(T& x) {
  Operand operand = input(x);
  operand.to = &x;
  return operand;
}

// Executes PTX as the running thread. `text` lives as long as the program.
void execute_ptx(char const* text, Operand* operands, int count);

template <class... Operands>
inline __attribute__((always_inline)) void ptx(char const* text, Operands... operands) {
  if constexpr (sizeof...(operands) == 0) {
    execute_ptx(text, nullptr, 0);
  } else {
    Operand all[] = {operands...};
    execute_ptx(text, all, static_cast<int>(sizeof...(operands)));
  }
}

}  // namespace cute_py::workbench
