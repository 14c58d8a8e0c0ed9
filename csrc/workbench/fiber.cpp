#include "workbench/fiber.hpp"

#include <cstdint>

namespace cute_py::workbench {

#if defined(__x86_64__)

// The registers that the System V ABI has a function keep: rbx, rbp, r12 to r15.
asm(R"(
.text
.globl cute_py_workbench_switch
.type cute_py_workbench_switch, @function
cute_py_workbench_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size cute_py_workbench_switch, .-cute_py_workbench_switch
)");

Context make_context(void* stack, std::size_t bytes, void (*entry)()) {
  auto* const top = reinterpret_cast<std::uintptr_t*>(static_cast<char*>(stack) + bytes);
  // A function begins with its stack pointer 8 beyond a multiple of 16, and at it an address to return to: none.
  top[-1] = 0;
  top[-2] = reinterpret_cast<std::uintptr_t>(entry);
  for (int i = 3; i < 9; ++i) top[-i] = 0;
  return top - 8;
}

#elif defined(__aarch64__)

// The registers that the AAPCS64 has a function keep: x19 to x30, d8 to d15.
asm(R"(
.text
.globl cute_py_workbench_switch
.type cute_py_workbench_switch, %function
cute_py_workbench_switch:
  stp x19, x20, [sp, #-160]!
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  ldp x19, x20, [sp], #160
  ret
.size cute_py_workbench_switch, .-cute_py_workbench_switch
)");

Context make_context(void* stack, std::size_t bytes, void (*entry)()) {
  auto* const registers = reinterpret_cast<std::uintptr_t*>(static_cast<char*>(stack) + bytes) - 20;
  for (int i = 0; i < 20; ++i) registers[i] = 0;
  registers[11] = reinterpret_cast<std::uintptr_t>(entry);  // x30
  return registers;
}

#else
#error "the workbench's fibers are written for x86-64 and for AArch64"
#endif

}  // namespace cute_py::workbench
