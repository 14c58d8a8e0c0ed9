#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>

#include "base/helpers.hpp"

namespace cute_py {

// Calls work(i) for i in [0, count) from up to `threads` threads, the caller among them, and returns when all calls
// have. Threads live for one call: nothing is left behind for a fork or an unload to trip over. The first exception is
// rethrown, and no further work is started after it.
template <class Work>
void parallel_for(int threads, std::int64_t count, Work const& work) {
  std::atomic<std::int64_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;

  auto const loop = [&] {
    for (std::int64_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        std::lock_guard lock(failure_mutex);
        if (!failure) failure = std::current_exception();
        next = count;
      }
    }
  };

  {
    std::optional<Helpers<decltype(loop)>> helpers;
    auto const wanted = std::min<std::int64_t>(threads, count) - 1;
    if (wanted > 0) helpers.emplace(loop, wanted);
    loop();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace cute_py
