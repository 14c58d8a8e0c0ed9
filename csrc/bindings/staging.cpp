#include "bindings/staging.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "runtime/cuda.hpp"
#include "runtime/transfer.hpp"

namespace cute_py::bindings {
namespace {

constexpr std::uintptr_t kAlignedNowhere = 1 << 12;

}  // namespace

StagedArray::StagedArray(Array const& array, Modes const& first, Modes const& second, Modes const& batch)
    : host_(array), device_(array) {
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
  if (allocated_) runtime::release(device_.data);
}

// Calls copy(host, at, length) for the elements from `first` on, as the device counts them, in runs along the first
// mode: `host` is the offset of a run on the host, `at` its number among the elements asked for.
template <class Copy>
void StagedArray::for_each_run(std::int64_t first, std::int64_t count, Copy const& copy) const {
  std::vector<std::int64_t> digit(modes_.size());
  std::int64_t host = 0;
  for (std::size_t i = 0; i < modes_.size(); ++i) {
    digit[i] = first % modes_[i].extent;
    first /= modes_[i].extent;
    host += digit[i] * modes_[i].host;
  }
  for (std::int64_t at = 0; at < count;) {
    auto const length = modes_.empty() ? 1 : std::min(modes_[0].extent - digit[0], count - at);
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

// Calls work with the bytes of an element as a constant, so that copying one is an instruction and no call.
template <class Work>
void with_size(int bytes, Work const& work) {
  switch (bytes) {
    case 1:
      return work(std::integral_constant<std::int64_t, 1>());
    case 2:
      return work(std::integral_constant<std::int64_t, 2>());
    case 4:
      return work(std::integral_constant<std::int64_t, 4>());
    case 8:
      return work(std::integral_constant<std::int64_t, 8>());
    default:
      return work(std::integral_constant<std::int64_t, 16>());
  }
}

// Calls copy(host, packed, bytes) for the elements from `first` on, which lie one after the other in `packed`: one at a
// time, with the bytes as a constant, or all of a run at once where they do so on the host, too.
template <class Copy>
void StagedArray::copy_elements(char* packed, std::int64_t first, std::int64_t count, Copy const& copy) const {
  auto* const host = static_cast<char*>(host_.data);
  auto const step = modes_.empty() ? 1 : modes_[0].host;
  with_size(bytes_of(host_.type), [&](auto bytes) {
    for_each_run(first, count, [&](std::int64_t offset, std::int64_t at, std::int64_t length) {
      char* const run = host + offset * bytes;
      char* const place = packed + at * bytes;
      if (step == 1) {
        copy(run, place, length * bytes);
      } else {
        for (std::int64_t i = 0; i < length; ++i) copy(run + i * step * bytes, place + i * bytes, bytes);
      }
    });
  });
}

void StagedArray::copy_in(bool wanted, int threads) {
  auto const size = bytes_of(host_.type);
  device_.data = runtime::allocate(static_cast<std::size_t>(elements_ * size));
  allocated_ = true;
  if (!wanted) return;
  runtime::send(device_.data, elements_, size, threads, [&](void* to, std::int64_t first, std::int64_t count) {
    copy_elements(static_cast<char*>(to), first, count, [](char* host, char* packed, auto bytes) {
      std::memcpy(packed, host, static_cast<std::size_t>(bytes));
    });
  });
}

void StagedArray::copy_back(int threads) const {
  auto const size = bytes_of(host_.type);
  runtime::fetch(device_.data, elements_, size, threads, [&](void const* from, std::int64_t first, std::int64_t count) {
    copy_elements(
        const_cast<char*>(static_cast<char const*>(from)), first, count,
        [](char* host, char* packed, auto bytes) { std::memcpy(host, packed, static_cast<std::size_t>(bytes)); });
  });
}

}  // namespace cute_py::bindings
