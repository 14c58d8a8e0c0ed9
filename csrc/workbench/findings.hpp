#pragma once

#include <cstdint>
#include <string>
#include <vector>

// What is wrong with a program, as it is found, for the process that started it. Places are addresses of code, which
// that process looks up in the program's debugging information.
namespace cute_py::workbench {

// Named as in documentation; the text form is in findings.cpp.
enum class Kind : std::uint8_t {
  race,           // two accesses, one of them a write, and nothing says which comes first
  proxy_fence,    // an asynchronous unit reads what no fence has made visible to it
  uninitialised,  // a read of what nobody wrote
  out_of_bounds,  // an access outside of every array
  misaligned,     // an address that is no multiple of what the instruction moves
  barrier,        // misuse of a barrier
  deadlock,       // a wait that never ends
  divergence,     // lanes of a warp that execute different collective instructions
  asynchronous,   // a thread that ends, or goes on, while what it started is on its way
  rule,           // another rule of an instruction
  assertion,      // assert(), of what is false
  crash,          // a signal that ended the program
  api,            // a call of the runtime that fails
  unsupported,    // what the emulator does not know
};

// A severity: a warning does not fail the run.
bool is_warning(Kind kind);

struct Place {
  std::vector<std::uintptr_t> code;  // return addresses, the innermost first
  int thread[3] = {-1, 0, 0};        // none
  int block[3] = {0, 0, 0};
};

struct Finding {
  Kind kind;
  std::string text;    // "writes 4 bytes at shared memory + 128, which thread ... reads"
  std::string kernel;  // empty: host code
  Place place;
  Place other;  // of a race
};

// Notes a finding once for each kind and place; counts how often. From any thread.
void note(Finding finding);

// The code that called, up to a number of frames: the program is compiled with frame pointers.
std::vector<std::uintptr_t> code_from(void const* frame, std::uintptr_t first);

bool any_errors();

// Writes what was found, what ran and how long it took to the file that CUTE_PY_WORKBENCH names. At the end of the
// program, however it ends.
void write_report();

// From now on a signal that ends the program is a finding, and the report is written.
void report_crashes();

}  // namespace cute_py::workbench
