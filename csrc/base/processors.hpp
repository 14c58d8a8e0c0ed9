#pragma once

#include <pthread.h>
#include <sched.h>

#include <thread>

namespace cute_py {

// The processors that a thread may use, and those beside the one that it runs on. A new thread often waits behind the
// one that made it for as long as that may run at a time: milliseconds in which other processors have nothing to do.
class Processors {
 public:
  Processors() {
    if (sched_getaffinity(0, sizeof(all_), &all_) != 0) return;
    others_ = all_;
    if (int const own = sched_getcpu(); own >= 0) CPU_CLR(own, &others_);
    has_others_ = CPU_COUNT(&others_) > 0;
  }

  // Moves a new thread to one of the others.
  void move(std::thread& thread) const {
    if (has_others_) pthread_setaffinity_np(thread.native_handle(), sizeof(others_), &others_);
  }

  // Lets the calling thread go wherever it may again.
  void free() const {
    if (has_others_) pthread_setaffinity_np(pthread_self(), sizeof(all_), &all_);
  }

 private:
  cpu_set_t all_;
  cpu_set_t others_;
  bool has_others_ = false;
};

}  // namespace cute_py
