#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "workbench/errors.hpp"
#include "workbench/machine.hpp"

// How a program ends otherwise than by leaving main(): assertions in kernels, and signals, whose report is written all
// the same.
namespace cute_py::workbench {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

char const* name_of(int number) {
  switch (number) {
    case SIGSEGV:
      return "SIGSEGV, an access to memory that nobody has";
    case SIGBUS:
      return "SIGBUS, an access to memory that is gone";
    case SIGFPE:
      return "SIGFPE, a division of integers by 0";
    case SIGILL:
      return "SIGILL, an instruction that this processor lacks";
    default:
      return "SIGABRT, as by abort()";
  }
}

// Notes what ended the program and writes the report, the main thread on a stack of its own: a fiber's may be used up.
// A second signal ends the process as if there were no handler, and so does what takes long: memory may be locked.
void handle(int number) {
  static bool volatile is_second = false;
  if (!is_second) {
    is_second = true;
    constexpr unsigned kSeconds = 10;
    signal(SIGALRM, SIG_DFL);
    alarm(kSeconds);
    if (running != nullptr) {
      running->report(Kind::crash, std::string("ends the program by ") + name_of(number));
    } else {
      note({Kind::crash, std::string("ends by ") + name_of(number), "", {}, {}});
    }
    write_report();
  }
  signal(number, SIG_DFL);
  raise(number);
}

}  // namespace

void report_crashes() {
  if (options().report.empty()) return;  // a debugger, or a shell, sees the signal itself
  constexpr std::size_t kBytes = std::size_t{256} << 10;
  stack_t stack{};
  stack.ss_sp = std::malloc(kBytes);
  stack.ss_size = kBytes;
  sigaltstack(&stack, nullptr);
  struct sigaction action{};
  action.sa_handler = &handle;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  for (int const number : kSignals) sigaction(number, &action, nullptr);
}

}  // namespace cute_py::workbench

// What assert() calls. In a kernel the launch fails, as on a GPU, and the program goes on.
extern "C" [[noreturn]] void __assert_fail(char const* condition, char const* file, unsigned line,
                                           char const* function) noexcept {
  using namespace cute_py::workbench;
  if (running != nullptr) {
    auto& thread = running->current();
    thread.frame = __builtin_frame_address(0);
    thread.code = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
    running->stop(Kind::assertion, std::string("asserts ") + condition + ", which is false", kErrorAssert);
  }
  std::fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, condition);
  std::abort();
}
