#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <thread>

// Interrupts: computations on the host can be ended before they are done.
namespace cute_py {

// Thrown out of a computation that was asked to stop. What it had written stays written.
struct Interrupted : std::exception {
  char const* what() const noexcept override { return "interrupted"; }
};

// One request to stop, for all threads of a computation. The thread that makes it asks its caller now and then.
class Interrupt {
 public:
  // `ask(context)` says whether to stop. It is called by the thread that constructs this, and by no other.
  Interrupt(bool (*ask)(void*), void* context) : ask_(ask), context_(context) {}
  Interrupt(Interrupt const&) = delete;
  Interrupt& operator=(Interrupt const&) = delete;

  // Called often by every thread of the computation. Throws Interrupted once it is to stop.
  void check() {
    if (!stop_.load(std::memory_order_relaxed) && std::this_thread::get_id() == owner_) {
      auto const now = std::chrono::steady_clock::now();
      if (asked_ == std::chrono::steady_clock::time_point()) asked_ = now;  // the clock is read by what takes long only
      if (now - asked_ >= kInterval) {
        asked_ = now;
        if (ask_(context_)) stop_ = true;
      }
    }
    if (stop_.load(std::memory_order_relaxed)) throw Interrupted();
  }

 private:
  static constexpr std::chrono::milliseconds kInterval{50};

  bool (*ask_)(void*);
  void* context_;
  std::thread::id const owner_ = std::this_thread::get_id();
  std::chrono::steady_clock::time_point asked_;
  std::atomic<bool> stop_{false};
};

}  // namespace cute_py
