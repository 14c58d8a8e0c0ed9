#pragma once

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <vector>

namespace cute_py {

// The processors that a thread may use, and those beside the one that it runs on.
class Processors {
 public:
  Processors() {
    if (sched_getaffinity(0, sizeof(all_), &all_) != 0) return;
    others_ = all_;
    if (int const own = sched_getcpu(); own >= 0) CPU_CLR(own, &others_);
    has_others_ = CPU_COUNT(&others_) > 0;
  }

  // Has threads begin on one of the others.
  void begin_on_others(pthread_attr_t& of_threads) const {
    if (has_others_) pthread_attr_setaffinity_np(&of_threads, sizeof(others_), &others_);
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

// Up to `count` threads, as many as there are to be had, that each call help(), which throws nothing. They are waited
// for at the object's end.
//
// They begin on other processors than the one of their maker. There they would often wait behind it for as long as it
// may run at a time: milliseconds in which the others have nothing to do. They are not moved by their maker when they
// are there: one that has ended by then has no number any more, and 0 means the caller.
template <class Help>
class Helpers {
 public:
  Helpers(Help const& help, std::int64_t count) : help_(help) {
    threads_.reserve(static_cast<std::size_t>(count));
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) return;
    processors_.begin_on_others(attributes);
    for (pthread_t thread; count > 0 && pthread_create(&thread, &attributes, &run, this) == 0; --count) {
      threads_.push_back(thread);
    }
    pthread_attr_destroy(&attributes);
  }
  Helpers(Helpers const&) = delete;
  Helpers& operator=(Helpers const&) = delete;
  ~Helpers() {
    if (getpid() != process_) return;  // a child that was forked meanwhile, which has none of them
    for (pthread_t const thread : threads_) pthread_join(thread, nullptr);
  }

 private:
  static void* run(void* own) {
    auto const& helpers = *static_cast<Helpers const*>(own);
    helpers.processors_.free();
    if (has_memory_to_throw()) helpers.help_();
    return nullptr;
  }

  // The first exception of a thread takes memory of its own, without which the C library ends the process. So it is
  // taken now, and a thread that cannot have it does not help. The pointer is volatile because a compiler may remove a
  // malloc whose memory is only freed.
  static bool has_memory_to_throw() {
    constexpr std::size_t kEnough = std::size_t{64} << 10;
    void* const volatile memory = std::malloc(kEnough);
    if (memory == nullptr) return false;
    std::free(memory);
    return std::uncaught_exceptions() == 0;
  }

  Help const& help_;
  pid_t const process_ = getpid();
  Processors const processors_;
  std::vector<pthread_t> threads_;
};

}  // namespace cute_py
