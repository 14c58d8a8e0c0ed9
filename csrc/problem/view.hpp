#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/dlpack.hpp"
#include "base/dtype.hpp"
#include "problem/modes.hpp"

namespace cute_py {

// An array as its library describes it, by the name that messages have for it.
struct View {
  char const* name = "";
  dlpack::Device device{};
  dlpack::DataType dtype{};
  int rank = 0;
  std::int64_t shape[kMaxModes];
  std::int64_t stride[kMaxModes];  // in elements
  void* data = nullptr;            // the element at coordinate 0
  bool read_only = false;
  bool conjugated = false;  // a view that is conjugated when it is read; the memory is not

  bool on_host() const { return device.type == dlpack::kCpu || device.type == dlpack::kCudaHost; }
  bool on_cuda() const { return device.type == dlpack::kCuda || device.type == dlpack::kCudaManaged; }

  // None of a type that no product takes.
  std::optional<DType> type() const { return dtype_of(dtype); }

  // "A float32 (128,64):(64,1) cpu"
  std::string describe() const;
};

// "(128,64):(64,1)"
std::string layout_text(int rank, std::int64_t const* shape, std::int64_t const* stride);

std::string text_of(dlpack::DataType const& dtype);
std::string text_of(dlpack::Device const& device);

// Do two different coordinates of an array name the same memory, in part or in full? Certain if not.
bool shares_elements(View const& x);

// Do two arrays have memory in common? Certain if not.
bool may_overlap(View const& x, View const& y);

// Are they one array: the same elements at the same coordinates?
bool same_place(View const& x, View const& y);

}  // namespace cute_py
