#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "problem/folded.hpp"
#include "problem/request.hpp"

// Decisions that were tuned, by measurement.
namespace cute_py::dispatch {

// A product in words, by which it is known again: everything that a choice may look at. Equal geometries have equal
// texts, and others have others.
std::string text_of(Folded const& product);

// By device and product. Empty at first.
class Tuned {
 public:
  std::optional<Config> find(std::string const& device, std::string const& product) const;
  void put(std::string const& device, std::string const& product, std::optional<Config> const& config);  // or forgets
  void clear();

  // Grows with every change.
  std::uint64_t version() const { return version_; }

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, Config> known_;
  std::atomic<std::uint64_t> version_{0};
};

// Of this process.
Tuned& tuned();

}  // namespace cute_py::dispatch
