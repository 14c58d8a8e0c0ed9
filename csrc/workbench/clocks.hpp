#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>

// Vector clocks, which say what happened before what. Every thread of a cluster is an agent, and so is the unit that
// does what a thread started and did not wait for (cp.async, wgmma, TMA). An agent counts its clock up whenever it
// tells others that it has come so far.
namespace cute_py::workbench {

using Clock = std::uint32_t;

// What an agent knows of the others: for each, the clock up to which everything it did has happened before. A copy
// shares the numbers until one of both changes. Of one operating-system thread.
class Clocks {
 public:
  Clocks() = default;
  Clocks(Clocks const& other) : block_(other.block_) { keep(); }
  Clocks(Clocks&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Clocks& operator=(Clocks other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Clocks() { drop(); }

  static Clocks zero(int agents) {
    Clocks made;
    made.block_ = allocate(agents);
    std::fill_n(made.block_->clock(), agents, Clock{0});
    return made;
  }

  bool is_empty() const { return block_ == nullptr; }
  Clock operator[](int agent) const { return block_->clock()[agent]; }

  void raise(int agent, Clock to) {
    if ((*this)[agent] >= to) return;
    own();
    block_->clock()[agent] = to;
  }

  // The later of both, for each agent.
  void join(Clocks const& other) {
    if (other.block_ == nullptr || block_ == other.block_) return;
    if (block_ == nullptr) {
      *this = other;
      return;
    }
    Clock const* const theirs = other.block_->clock();
    int const agents = block_->agents;
    int first = 0;
    while (first < agents && theirs[first] <= block_->clock()[first]) ++first;
    if (first == agents) return;
    own();
    Clock* const mine = block_->clock();
    for (int i = first; i < agents; ++i) mine[i] = std::max(mine[i], theirs[i]);
  }

 private:
  struct Block {
    int uses;
    int agents;
    Clock* clock() { return reinterpret_cast<Clock*>(this + 1); }
  };

  static Block* allocate(int agents) {
    auto* const block =
        static_cast<Block*>(std::malloc(sizeof(Block) + static_cast<std::size_t>(agents) * sizeof(Clock)));
    block->uses = 1;
    block->agents = agents;
    return block;
  }
  void keep() const {
    if (block_ != nullptr) ++block_->uses;
  }
  void drop() {
    if (block_ != nullptr && --block_->uses == 0) std::free(block_);
    block_ = nullptr;
  }
  void own() {
    if (block_->uses == 1) return;
    Block* const copy = allocate(block_->agents);
    std::copy_n(block_->clock(), block_->agents, copy->clock());
    --block_->uses;
    block_ = copy;
  }

  Block* block_ = nullptr;
};

}  // namespace cute_py::workbench
