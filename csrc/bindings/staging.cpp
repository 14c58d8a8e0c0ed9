#include "bindings/staging.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "runtime/cuda.hpp"
#include "runtime/transfer.hpp"

namespace cute_py::bindings {
namespace {

constexpr std::uintptr_t kAlignedNowhere = 1 << 12;

}  // namespace

StagedArray::StagedArray(int ordinal, Array const& array, Modes const& first, Modes const& second, Modes const& batch)
    : ordinal_(ordinal), host_(array), device_(array) {
  device_.data = reinterpret_cast<void*>(kAlignedNowhere);
  Modes const* const groups[] = {&first, &second, &batch};
  struct Placed {
    Mode mode;
    std::int64_t* stride;
  };
  std::vector<Placed> placed;
  for (int group = 0; group < 3; ++group) {
    for (int i = 0; i < groups[group]->rank; ++i) {
      auto const stride = array.stride[group][i];
      if (stride != 0) placed.push_back({{groups[group]->extent[i], stride}, &device_.stride[group][i]});
    }
  }
  std::stable_sort(placed.begin(), placed.end(),
                   [](Placed const& x, Placed const& y) { return std::abs(x.mode.host) < std::abs(y.mode.host); });
  for (Placed const& p : placed) {
    *p.stride = elements_;
    elements_ *= std::max<std::int64_t>(p.mode.extent, 1);
    if (!modes_.empty() && p.mode.host == modes_.back().host * modes_.back().extent) {
      modes_.back().extent *= p.mode.extent;
    } else {
      modes_.push_back(p.mode);
    }
  }
}

StagedArray::~StagedArray() {
  if (allocated_) runtime::release_of(ordinal_, device_.data);
}

// Calls copy(host, at, length) for the elements from `first` on, as the device counts them, in runs that follow one
// another on the host, too: `host` is the offset of a run there, `at` its number among the elements asked for.
template <class Copy>
void StagedArray::for_each_run(std::int64_t first, std::int64_t count, Copy const& copy) const {
  std::vector<std::int64_t> digit(modes_.size());
  std::int64_t host = 0;
  for (std::size_t i = 0; i < modes_.size(); ++i) {
    digit[i] = first % modes_[i].extent;
    first /= modes_[i].extent;
    host += digit[i] * modes_[i].host;
  }
  bool const has_runs = !modes_.empty() && modes_[0].host == 1;
  for (std::int64_t at = 0; at < count;) {
    auto const length = has_runs ? std::min(modes_[0].extent - digit[0], count - at) : 1;
    copy(host, at, length);
    at += length;
    if (modes_.empty()) return;
    digit[0] += length;
    host += length * modes_[0].host;
    for (std::size_t i = 0; i + 1 < modes_.size() && digit[i] == modes_[i].extent; ++i) {
      digit[i] = 0;
      ++digit[i + 1];
      host += modes_[i + 1].host - modes_[i].host * modes_[i].extent;
    }
  }
}

void StagedArray::copy_in(bool wanted, int threads) {
  auto const size = bytes_of(host_.type);
  device_.data = runtime::allocate_on(nullptr, static_cast<std::size_t>(elements_ * size));
  allocated_ = true;
  runtime::synchronize(nullptr);  // the streams that carry the elements must not be ahead of the allocation
  if (!wanted) return;
  auto const* const source = static_cast<char const*>(host_.data);
  runtime::send(device_.data, elements_, size, threads, [&](void* to, std::int64_t first, std::int64_t count) {
    for_each_run(first, count, [&](std::int64_t host, std::int64_t at, std::int64_t length) {
      std::memcpy(static_cast<char*>(to) + at * size, source + host * size, static_cast<std::size_t>(length * size));
    });
  });
}

void StagedArray::copy_back(int threads) const {
  auto const size = bytes_of(host_.type);
  auto* const target = static_cast<char*>(host_.data);
  runtime::fetch(device_.data, elements_, size, threads, [&](void const* from, std::int64_t first, std::int64_t count) {
    for_each_run(first, count, [&](std::int64_t host, std::int64_t at, std::int64_t length) {
      std::memcpy(target + host * size, static_cast<char const*>(from) + at * size,
                  static_cast<std::size_t>(length * size));
    });
  });
}

}  // namespace cute_py::bindings
