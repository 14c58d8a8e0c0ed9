#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace cute_py {

// Memory of the host for one call, aligned to 256 bytes. What is given back is kept for the next call, since fresh
// memory costs more than many products: up to kMostKept pieces of kLeastBytesKept to kMostBytesKept bytes. A process
// that was forked has them, too.
class KeptMemory {
 public:
  static constexpr int kMostKept = 8;
  static constexpr std::size_t kLeastBytesKept = std::size_t{64} << 10;
  static constexpr std::size_t kMostBytesKept = std::size_t{16} << 20;

  static void* take(std::size_t bytes) {
    Piece* piece = nullptr;
    for (auto& slot : kept_) {
      if (bytes < kLeastBytesKept) break;
      piece = slot.exchange(nullptr);
      if (piece == nullptr) continue;
      if (piece->bytes >= bytes) break;
      release(piece);  // too small: a larger one will take its place
      piece = nullptr;
    }
    if (piece == nullptr) piece = allocate(bytes);
    return reinterpret_cast<char*>(piece) + kHeader;
  }

  static void give(void* pointer) noexcept {
    auto* piece = reinterpret_cast<Piece*>(static_cast<char*>(pointer) - kHeader);
    if (kLeastBytesKept <= piece->bytes && piece->bytes <= kMostBytesKept) {
      for (auto& slot : kept_) {
        Piece* none = nullptr;
        if (slot.compare_exchange_strong(none, piece)) return;
      }
    }
    release(piece);
  }

 private:
  // Lies before the memory itself.
  struct Piece {
    std::size_t bytes;
  };
  static constexpr std::size_t kHeader = 256;
  static constexpr std::size_t kLargePage = std::size_t{2} << 20;

  static std::align_val_t alignment(std::size_t bytes) {
    return std::align_val_t{bytes < kLeastBytesKept ? kHeader : kLargePage};
  }

  static Piece* allocate(std::size_t bytes) {
    bool const is_kept = bytes >= kLeastBytesKept;
    auto const all = is_kept ? (bytes + kHeader + kLargePage - 1) / kLargePage * kLargePage : bytes + kHeader;
    void* const data = ::operator new(all, alignment(all - kHeader));
#ifdef __linux__
    if (is_kept) madvise(data, all, MADV_HUGEPAGE);  // if there are none, small pages do
#endif
    return new (data) Piece{all - kHeader};
  }

  static void release(Piece* piece) noexcept {
    auto const how = alignment(piece->bytes);
    ::operator delete(static_cast<void*>(piece), how);
  }

  // Exchanged and never locked, so that a fork at any moment leaves nothing locked behind.
  inline static std::array<std::atomic<Piece*>, kMostKept> kept_{};
};

// A piece of it, cut for the arrays of one thread.
class Workspace {
 public:
  explicit Workspace(std::size_t bytes) : data_(static_cast<char*>(KeptMemory::take(bytes))) {}
  Workspace(Workspace const&) = delete;
  Workspace& operator=(Workspace const&) = delete;
  ~Workspace() { KeptMemory::give(data_); }

  // The next elements, at a multiple of 64 bytes. The sum of bytes_of() of all arrays must not exceed the size of the
  // workspace.
  template <class T>
  T* take(std::int64_t elements) {
    T* const taken = reinterpret_cast<T*>(data_ + taken_);
    taken_ += bytes_of<T>(elements);
    return taken;
  }

  template <class T>
  static std::size_t bytes_of(std::int64_t elements) {
    return (static_cast<std::size_t>(elements) * sizeof(T) + 63) / 64 * 64;
  }

 private:
  char* const data_;
  std::size_t taken_ = 0;
};

}  // namespace cute_py
