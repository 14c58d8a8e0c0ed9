#include "workbench/costs.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "workbench/machine.hpp"

namespace cute_py::workbench {
namespace {

constexpr int kBanks = 32;
constexpr int kWord = 4;
constexpr std::uintptr_t kSector = 32;

// Of up to 32 lanes with addresses: lanes of 8 bytes go in halves of a warp, of 16 in quarters. In each the words of a
// bank take one wavefront each.
void add_wavefronts(std::vector<std::pair<int, std::uintptr_t>> const& lanes, int bytes, Cost& cost) {
  int const at_a_time = bytes <= kWord ? kWarp : bytes <= 2 * kWord ? kWarp / 2 : kWarp / 4;
  for (int first = 0; first < kWarp; first += at_a_time) {
    std::array<std::set<std::uintptr_t>, kBanks> words;
    bool any = false;
    for (auto const& [lane, address] : lanes) {
      if (lane < first || lane >= first + at_a_time) continue;
      any = true;
      for (std::uintptr_t word = address / kWord; word <= (address + static_cast<unsigned>(bytes) - 1) / kWord;
           ++word) {
        words[word % kBanks].insert(word);
      }
    }
    if (!any) continue;
    std::size_t most = 0;
    for (auto const& of_bank : words) most = std::max(most, of_bank.size());
    ++cost.needed;
    cost.taken += most;
  }
}

void add_sectors(std::vector<std::pair<int, std::uintptr_t>> const& lanes, int bytes, Cost& cost) {
  std::set<std::uintptr_t> sectors;
  std::set<std::uintptr_t> distinct;
  for (auto const& [lane, address] : lanes) {
    distinct.insert(address);
    for (std::uintptr_t s = address / kSector; s <= (address + static_cast<unsigned>(bytes) - 1) / kSector; ++s) {
      sectors.insert(s);
    }
  }
  cost.taken += sectors.size();
  cost.needed += (distinct.size() * static_cast<std::size_t>(bytes) + kSector - 1) / kSector;
}

}  // namespace

void Requests::note(int thread, std::uintptr_t code, void const* address, int bytes, bool is_shared, bool is_write) {
  if (accesses_.size() == kMost || bytes > 16) return;
  std::uint16_t const index = index_of_code(code);
  auto& counts = counts_[static_cast<std::size_t>(thread)];
  if (counts.size() <= index) counts.resize(index + std::size_t{64});
  accesses_.push_back({index, static_cast<std::uint16_t>(bytes), static_cast<std::uint32_t>(thread / kWarp),
                       counts[index]++, static_cast<std::uint8_t>(thread % kWarp), is_shared, is_write,
                       reinterpret_cast<std::uintptr_t>(address)});
}

std::vector<Cost> Requests::costs() {
  auto const key = [](Access const& a) {
    return std::make_tuple(a.code, a.is_shared, a.is_write, a.bytes, a.warp, a.turn);
  };
  std::stable_sort(accesses_.begin(), accesses_.end(), [&](auto const& a, auto const& b) { return key(a) < key(b); });
  std::map<std::tuple<std::uint16_t, bool, bool, std::uint16_t>, Cost> found;
  std::vector<std::pair<int, std::uintptr_t>> lanes;
  for (std::size_t i = 0; i < accesses_.size();) {
    Access const& first = accesses_[i];
    lanes.clear();
    for (; i < accesses_.size() && key(accesses_[i]) == key(first); ++i) {
      lanes.emplace_back(accesses_[i].lane, accesses_[i].address);
    }
    Cost& cost = found[{first.code, first.is_shared, first.is_write, first.bytes}];
    cost.code = code_at(first.code);
    cost.is_shared = first.is_shared;
    cost.is_write = first.is_write;
    cost.bytes = first.bytes;
    ++cost.requests;
    first.is_shared ? add_wavefronts(lanes, first.bytes, cost) : add_sectors(lanes, first.bytes, cost);
  }
  std::vector<Cost> costs;
  for (auto const& [place, cost] : found) costs.push_back(cost);
  return costs;
}

}  // namespace cute_py::workbench
