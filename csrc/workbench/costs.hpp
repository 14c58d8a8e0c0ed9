#pragma once

#include <cstdint>
#include <vector>

// What accesses of a warp cost: wavefronts of shared memory, where lanes meet in a bank, and sectors of 32 bytes of
// arrays.
namespace cute_py::workbench {

class Cluster;

// Of the accesses of one instruction.
struct Cost {
  std::uintptr_t code = 0;
  bool is_shared = false;
  bool is_write = false;
  int bytes = 0;               // of a lane
  std::uint64_t requests = 0;  // of warps
  std::uint64_t needed = 0;    // wavefronts or sectors, if all went well
  std::uint64_t taken = 0;
};

// The accesses of a cluster, as its threads make them. The n-th access of a lane at a place in the program belongs to
// the n-th of the other lanes of its warp.
class Requests {
 public:
  explicit Requests(int threads) : counts_(static_cast<std::size_t>(threads)) {}

  void note(int thread, std::uintptr_t code, void const* address, int bytes, bool is_shared, bool is_write);
  std::vector<Cost> costs();

 private:
  struct Access {
    std::uint16_t code;
    std::uint16_t bytes;
    std::uint32_t warp;
    std::uint32_t turn;
    std::uint8_t lane;
    bool is_shared;
    bool is_write;
    std::uintptr_t address;
  };
  static constexpr std::size_t kMost = 1 << 22;

  std::vector<Access> accesses_;
  std::vector<std::vector<std::uint32_t>> counts_;  // of each thread, by place
};

}  // namespace cute_py::workbench
