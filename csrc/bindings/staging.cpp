#include "bindings/staging.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "runtime/cuda.hpp"

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
      if (stride != 0) placed.push_back({{groups[group]->extent[i], stride, 0}, &device_.stride[group][i]});
    }
  }
  std::stable_sort(placed.begin(), placed.end(),
                   [](Placed const& x, Placed const& y) { return std::abs(x.mode.host) < std::abs(y.mode.host); });
  for (Placed& p : placed) {
    p.mode.device = elements_;
    *p.stride = elements_;
    elements_ *= std::max<std::int64_t>(p.mode.extent, 1);
    modes_.push_back(p.mode);
  }
}

StagedArray::~StagedArray() {
  if (allocated_) runtime::release(device_.data);
}

template <class Copy>
void StagedArray::for_each_element(Copy const& copy) const {
  if (std::any_of(modes_.begin(), modes_.end(), [](Mode const& mode) { return mode.extent == 0; })) return;
  std::vector<std::int64_t> digit(modes_.size());
  std::int64_t host = 0;
  std::int64_t device = 0;
  for (;;) {
    copy(host, device);
    std::size_t i = 0;
    for (; i < modes_.size(); ++i) {
      host += modes_[i].host;
      device += modes_[i].device;
      if (++digit[i] < modes_[i].extent) break;
      host -= modes_[i].host * modes_[i].extent;
      device -= modes_[i].device * modes_[i].extent;
      digit[i] = 0;
    }
    if (i == modes_.size()) return;
  }
}

void StagedArray::copy_in(bool wanted) {
  auto const size = static_cast<std::size_t>(bytes_of(host_.type));
  device_.data = runtime::allocate(static_cast<std::size_t>(elements_) * size);
  allocated_ = true;
  if (!wanted) return;
  std::vector<char> bytes(static_cast<std::size_t>(elements_) * size);
  auto const* const source = static_cast<char const*>(host_.data);
  for_each_element([&](std::int64_t host, std::int64_t device) {
    std::memcpy(bytes.data() + device * static_cast<std::int64_t>(size),
                source + host * static_cast<std::int64_t>(size), size);
  });
  runtime::copy_to_device(device_.data, bytes.data(), bytes.size());
}

void StagedArray::copy_back() const {
  auto const size = static_cast<std::int64_t>(bytes_of(host_.type));
  std::vector<char> bytes(static_cast<std::size_t>(elements_ * size));
  runtime::copy_to_host(bytes.data(), device_.data, bytes.size());
  auto* const target = static_cast<char*>(host_.data);
  for_each_element([&](std::int64_t host, std::int64_t device) {
    std::memcpy(target + host * size, bytes.data() + device * size, static_cast<std::size_t>(size));
  });
}

}  // namespace cute_py::bindings
