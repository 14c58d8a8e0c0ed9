#pragma once

#include <cstdint>

#include <cute/config.hpp>

// The semaphore of split-K: an arrival counter tagged with the number of its launch. The last of the CTAs that arrive at one
// finds out that it is.
//
// Nobody clears the counters, which would be a launch of its own. Let L be the launch's number, a multiple of 16 whose bit
// 63 is set. A word is taken for a counter of this launch only if it is L + n, n <= 15. Anything else that it holds is
// replaced: every CTA prepares a counter before it arrives at it, so that the first CTA to do so writes L, and L is there
// before any CTA counts. A CTA that loses the race to write L writes nothing: its compare-and-swap expects the old value, which
// never comes back, because from then on the word is L + n. The last arrival writes 0, and no CTA of the launch reads the word
// again, since all of them have arrived.
//
// Each launch has another number: 59 bits that begin at random in each process and count up. So a value that another launch
// left is never taken for L + n, and a value that is in memory by chance is with a probability of 2^-59.
//
// A graph launches the kernel again with the number that it was captured with. Then the word would hold L + n from the run
// before, if the last arrival did not leave 0. Runs of one graph follow one another, and its memory is its own.
namespace cute_py::kernels {

// Counters in global memory, each for up to 15 CTAs.
struct ArrivalCounters {
  using Word = unsigned long long;
  static constexpr Word most = 15;  // arrivals

  Word* words = nullptr;
  Word launch = 0;  // Arguments::launch

  // Computed, because ptxas 13.0 does not always wait until a register that it sets to zero itself is zero.
  CUTE_DEVICE Word zero() const { return launch & most; }
};

// Called by one thread of a CTA, before the CTA arrives.
CUTE_DEVICE void prepare_counter(ArrivalCounters const& counters, std::int64_t at) {
  auto* const word = counters.words + at;
  auto const seen = atomicCAS(word, counters.zero(), counters.launch);
  bool const is_ready = seen == 0 || (seen & ~ArrivalCounters::most) == counters.launch;
  if (!is_ready) atomicCAS(word, seen, counters.launch);
}

// Called by one thread of a CTA. Is it the last of `of` CTAs to arrive?
CUTE_DEVICE bool counts_last(ArrivalCounters const& counters, std::int64_t at, unsigned of) {
  auto* const word = counters.words + at;
  bool const is_last = atomicAdd(word, ArrivalCounters::Word{1}) == counters.launch + (of - 1);
  if (is_last) atomicCAS(word, counters.launch + of, counters.zero());
  return is_last;
}

// All threads of a CTA meet, as those of a NamedBarrier do.
struct CtaBarrier {
  CUTE_DEVICE void sync() const { __syncthreads(); }
};

// The CTA arrives: is it the last of `of` CTAs? If so, its threads see what the threads of all of them wrote before. The
// threads that write, and thread 0 among them, meet at the barrier; is_last is in shared memory.
template <class Barrier>
CUTE_DEVICE bool arrives_last(ArrivalCounters const& counters, std::int64_t at, unsigned of, int thread, bool& is_last,
                              Barrier const& barrier) {
  barrier.sync();  // all threads have written their partial sums, and have read what was in shared memory
  if (thread == 0) {
    __threadfence();
    is_last = counts_last(counters, at, of);
    __threadfence();
  }
  barrier.sync();  // whether this CTA is the last one becomes visible to all threads
  return is_last;
}

}  // namespace cute_py::kernels
