#include "runtime/transfer.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/parallel.hpp"
#include "runtime/cuda.hpp"

namespace cute_py::runtime {
namespace {

// What a thread moves at a time, and the most threads that share the bus.
constexpr std::int64_t kPieceBytes = std::int64_t{2} << 20;
constexpr int kMostThreads = 8;
constexpr int kBuffers = 2;

// A thread's way to a GPU: while one buffer is on its way, the other is filled.
class Lane {
 public:
  Lane() : Lane(Nothing()) {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
    for (int i = 0; i < kBuffers; ++i) {
      check(cudaMallocHost(&buffer_[i], kPieceBytes), "allocating pinned memory");
      check(cudaEventCreateWithFlags(&event_[i], cudaEventDisableTiming), "making an event");
    }
  }
  Lane(Lane const&) = delete;
  Lane& operator=(Lane const&) = delete;
  ~Lane() {
    for (int i = 0; i < kBuffers; ++i) {
      if (event_[i] != nullptr) cudaEventDestroy(event_[i]);
      if (buffer_[i] != nullptr) cudaFreeHost(buffer_[i]);
    }
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  void* buffer(int i) const { return buffer_[i]; }
  cudaStream_t stream() const { return stream_; }
  void mark(int i) const { check(cudaEventRecord(event_[i], stream_), "copying"); }
  void wait(int i) const { check(cudaEventSynchronize(event_[i]), "copying"); }
  void wait_for_all() const noexcept { cudaStreamSynchronize(stream_); }

 private:
  // A lane is complete for its destructor before anything is made for it.
  struct Nothing {};
  explicit Lane(Nothing) {}

  // Kept for the life of the process, as the CUDA context is.
  cudaStream_t stream_ = nullptr;
  std::array<void*, kBuffers> buffer_{};
  std::array<cudaEvent_t, kBuffers> event_{};
};

// The lanes to the current GPU, for one transfer at a time.
class Lanes {
 public:
  static Lanes& of_current_device() {
    static std::mutex guard;
    static auto* const known = new std::map<int, std::unique_ptr<Lanes>>;
    int ordinal = 0;
    check(cudaGetDevice(&ordinal), "asking for the current device");
    std::lock_guard lock(guard);
    auto& lanes = (*known)[ordinal];
    if (!lanes) lanes.reset(new Lanes(ordinal));
    return *lanes;
  }

  // Calls move(lane, first, count) for all pieces of at most kPieceBytes. A lane gets its pieces one after the other.
  template <class Move>
  void for_each_piece(std::int64_t elements, int element_bytes, int threads, Move const& move) {
    std::lock_guard lock(in_use_);
    auto const length = kPieceBytes / element_bytes;
    auto const pieces = (elements + length - 1) / length;
    auto const workers = std::min<std::int64_t>({pieces, std::max(threads, 1), kMostThreads});
    while (static_cast<std::int64_t>(lanes_.size()) < workers) lanes_.push_back(std::make_unique<Lane>());
    parallel_for(static_cast<int>(workers), workers, [&](std::int64_t worker) {
      check(cudaSetDevice(ordinal_),
            "switching devices");  // of a thread that ends here, or of the caller's, whose it is
      Lane const& lane = *lanes_[static_cast<std::size_t>(worker)];
      try {
        move(lane, [&](auto const& each) {
          for (auto piece = worker; piece < pieces; piece += workers) {
            each(piece * length, std::min(length, elements - piece * length));
          }
        });
      } catch (...) {
        lane.wait_for_all();  // before anybody frees what a copy may still be on its way to
        throw;
      }
    });
  }

 private:
  explicit Lanes(int ordinal) : ordinal_(ordinal) {}

  int const ordinal_;
  std::mutex in_use_;
  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace

void send(void* device, std::int64_t elements, int element_bytes, int threads, Pack const& pack) {
  auto const move = [&](Lane const& lane, auto const& for_each) {
    int next = 0;
    for_each([&](std::int64_t first, std::int64_t count) {
      lane.wait(next);  // what was in this buffer has left
      pack(lane.buffer(next), first, count);
      check(cudaMemcpyAsync(static_cast<char*>(device) + first * element_bytes, lane.buffer(next),
                            static_cast<std::size_t>(count * element_bytes), cudaMemcpyHostToDevice, lane.stream()),
            "copying to the GPU");
      lane.mark(next);
      next = (next + 1) % kBuffers;
    });
    for (int i = 0; i < kBuffers; ++i) lane.wait(i);
  };
  Lanes::of_current_device().for_each_piece(elements, element_bytes, threads, move);
}

void fetch(void const* device, std::int64_t elements, int element_bytes, int threads, Unpack const& unpack) {
  auto const move = [&](Lane const& lane, auto const& for_each) {
    struct Piece {
      std::int64_t first = 0;
      std::int64_t count = 0;
    };
    std::array<Piece, kBuffers> coming{};
    auto const take = [&](int i) {
      if (coming[i].count == 0) return;
      lane.wait(i);
      unpack(lane.buffer(i), coming[i].first, coming[i].count);
      coming[i].count = 0;
    };
    int next = 0;
    for_each([&](std::int64_t first, std::int64_t count) {
      take(next);
      check(cudaMemcpyAsync(lane.buffer(next), static_cast<char const*>(device) + first * element_bytes,
                            static_cast<std::size_t>(count * element_bytes), cudaMemcpyDeviceToHost, lane.stream()),
            "copying from the GPU");
      lane.mark(next);
      coming[next] = {first, count};
      next = (next + 1) % kBuffers;
    });
    for (int i = 0; i < kBuffers; ++i) take((next + i) % kBuffers);
  };
  Lanes::of_current_device().for_each_piece(elements, element_bytes, threads, move);
}

}  // namespace cute_py::runtime
