#include "cpu/workspace.hpp"

#include <array>
#include <atomic>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace cute_py::cpu {
namespace {

constexpr std::size_t kPage = std::size_t{2} << 20;  // a large one
constexpr std::align_val_t kAlignment{kPage};

// Lies before the memory itself, a cache line long.
struct Piece {
  std::size_t bytes;
};
constexpr std::size_t kHeader = 64;

// Exchanged and never locked, so that a fork at any moment leaves nothing locked behind.
std::array<std::atomic<Piece*>, Workspace::kMostKept> kept{};

Piece* allocate(std::size_t bytes) {
  auto const all = (bytes + kHeader + kPage - 1) / kPage * kPage;
  void* const data = ::operator new(all, kAlignment);
#ifdef __linux__
  madvise(data, all, MADV_HUGEPAGE);  // if there are none, small pages do
#endif
  return new (data) Piece{all - kHeader};
}

void release(Piece* piece) { ::operator delete(static_cast<void*>(piece), kAlignment); }

}  // namespace

Workspace::Workspace(std::size_t bytes) {
  Piece* piece = nullptr;
  for (auto& slot : kept) {
    piece = slot.exchange(nullptr);
    if (piece == nullptr) continue;
    if (piece->bytes >= bytes) break;
    release(piece);  // too small: a larger one will take its place
    piece = nullptr;
  }
  if (piece == nullptr) piece = allocate(bytes);
  bytes_ = piece->bytes;
  data_ = reinterpret_cast<char*>(piece) + kHeader;
}

Workspace::~Workspace() {
  auto* const piece = reinterpret_cast<Piece*>(data_ - kHeader);
  if (bytes_ <= kMostBytesKept) {
    for (auto& slot : kept) {
      Piece* none = nullptr;
      if (slot.compare_exchange_strong(none, piece)) return;
    }
  }
  release(piece);
}

}  // namespace cute_py::cpu
