#include <chrono>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "workbench/ptx.hpp"

// What CUDA C++ has as functions and variables, for the prelude: mostly PTX by another name.
namespace cute_py::workbench {

std::uint32_t shuffle(char mode, std::uint32_t mask, std::uint32_t value, int lane, int width) {
  std::uint32_t result = value;
  // The segment's mask and its bound, as nvcc makes them.
  int const limits = (32 - width) << 8 | (mode == 'u' ? 0 : 31);
  switch (mode) {
    case 'i':
      ptx("shfl.sync.idx.b32 %0, %1, %2, %3, %4;", output(result), input(value), input(lane), input(limits),
          input(mask));
      break;
    case 'u':
      ptx("shfl.sync.up.b32 %0, %1, %2, %3, %4;", output(result), input(value), input(lane), input(limits),
          input(mask));
      break;
    case 'd':
      ptx("shfl.sync.down.b32 %0, %1, %2, %3, %4;", output(result), input(value), input(lane), input(limits),
          input(mask));
      break;
    default:
      ptx("shfl.sync.bfly.b32 %0, %1, %2, %3, %4;", output(result), input(value), input(lane), input(limits),
          input(mask));
  }
  return result;
}

std::uint32_t vote(char mode, std::uint32_t mask, bool value) {
  std::uint32_t result = 0;
  int const given = value ? 1 : 0;
  switch (mode) {
    case 'l':
      ptx("vote.sync.all.pred %0, %1, %2;", output(result), input(given), input(mask));
      break;
    case 'n':
      ptx("vote.sync.any.pred %0, %1, %2;", output(result), input(given), input(mask));
      break;
    default:
      ptx("vote.sync.ballot.b32 %0, %1, %2;", output(result), input(given), input(mask));
  }
  return result;
}

void* to_shared(std::size_t address) {
  return running == nullptr ? nullptr : cluster_shared_at(static_cast<std::uint32_t>(address));
}
std::size_t from_shared(void const* address) { return running == nullptr ? 0 : address_in_shared(address); }
void* in_cluster(void const* own, unsigned rank) {
  return running == nullptr ? nullptr
                            : cluster_shared_at(address_in_cluster(static_cast<int>(rank), address_in_shared(own)));
}
unsigned long long ticks() {
  return static_cast<unsigned long long>(std::chrono::steady_clock::now().time_since_epoch().count());
}

std::uint64_t atomic(char const* operation, char const* type, void* at, std::uint64_t x, std::uint64_t y) {
  std::uint64_t result = 0;
  // Of each operating-system thread, which knows PTX by its address.
  thread_local std::unordered_map<std::string, std::string> texts;
  std::string& text = texts[std::string(operation) + type];
  if (text.empty()) text = std::string("atom.global.") + operation + "." + type + " %0, [%1], %2, %3;";
  ptx(text.c_str(), output(result), input(reinterpret_cast<std::uint64_t>(at)), input(x), input(y));
  return result;
}

}  // namespace cute_py::workbench
