#pragma once

#include <cstddef>

// Fibers: stacks that one operating-system thread runs in turn. A switch saves the registers that a called function has
// to keep, and nothing else: no system call, as swapcontext makes two for the signal mask.
namespace cute_py::workbench {

// Of a fiber's stack, which begins at a multiple of it. The system hands out only the pages that are used.
inline constexpr std::size_t kStackBytes = 1024 * 1024;

// A stack that does not run: where its saved registers are.
using Context = void*;

// A new stack, which calls entry() when it is first switched to. entry() never returns.
Context make_context(void* stack, std::size_t bytes, void (*entry)());

// Saves what runs to `from`, and goes on with `to`.
extern "C" void cute_py_workbench_switch(Context* from, Context to);

}  // namespace cute_py::workbench
