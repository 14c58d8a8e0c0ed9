#include "problem/view.hpp"

#include <algorithm>
#include <cstdlib>

#include "problem/overlap.hpp"

namespace cute_py {
namespace {

// A mode of one element, or of none, leads nowhere, whatever its stride.
std::int64_t step_of(View const& x, int mode) { return x.shape[mode] > 1 ? x.stride[mode] : 0; }

int bytes_of_element(View const& x) { return (x.dtype.bits * x.dtype.lanes + 7) / 8; }

Footprint footprint(View const& x) {
  Footprint f{x.data, bytes_of_element(x), {}};
  for (int i = 0; i < x.rank; ++i) f.modes.push_back({x.shape[i], step_of(x, i) * f.element_bytes});
  return f;
}

// The bytes between the lowest and the highest element.
struct Span {
  __int128 first;
  __int128 last;
};

Span span(View const& x) {
  __int128 const origin = reinterpret_cast<std::uintptr_t>(x.data);
  __int128 low = 0;
  __int128 high = 1;
  for (int i = 0; i < x.rank; ++i) {
    if (x.shape[i] == 0) return {origin, origin};
    auto const reach = static_cast<__int128>(x.shape[i] - 1) * step_of(x, i);
    (reach < 0 ? low : high) += reach;
  }
  auto const bytes = bytes_of_element(x);
  return {origin + low * bytes, origin + high * bytes};
}

}  // namespace

std::string text_of(dlpack::DataType const& dtype) {
  char const* kind = "unknown";
  switch (dtype.code) {
    case dlpack::kInt:
      kind = "int";
      break;
    case dlpack::kUInt:
      kind = "uint";
      break;
    case dlpack::kFloat:
      kind = "float";
      break;
    case dlpack::kBfloat:
      kind = "bfloat";
      break;
    case dlpack::kComplex:
      kind = "complex";
      break;
    case dlpack::kBool:
      kind = "bool";
      break;
    case dlpack::kFloat8E4m3fn:
      kind = "float8_e4m3fn";
      break;
    case dlpack::kFloat8E4m3fnuz:
      kind = "float8_e4m3fnuz";
      break;
    case dlpack::kFloat8E5m2:
      kind = "float8_e5m2";
      break;
    case dlpack::kFloat8E5m2fnuz:
      kind = "float8_e5m2fnuz";
      break;
    case dlpack::kFloat8E8m0fnu:
      kind = "float8_e8m0fnu";
      break;
    default:
      break;
  }
  bool const names_its_bits = dtype.code >= dlpack::kBool && dtype.code <= dlpack::kFloat8E8m0fnu;
  std::string text = kind;
  if (!names_its_bits) {
    text += std::to_string(dtype.bits);
  } else if (dtype.bits != 8) {
    text += " of " + std::to_string(dtype.bits) + " bits";
  }
  if (dtype.lanes != 1) text += "x" + std::to_string(dtype.lanes);
  return text;
}

std::string text_of(dlpack::Device const& device) {
  switch (device.type) {
    case dlpack::kCpu:
      return "cpu";
    case dlpack::kCudaHost:
      return "cpu (pinned)";
    case dlpack::kCuda:
      return "cuda:" + std::to_string(device.id);
    case dlpack::kCudaManaged:
      return "cuda:" + std::to_string(device.id) + " (managed)";
    default:
      return "DLPack device type " + std::to_string(device.type);
  }
}

std::string layout_text(int rank, std::int64_t const* shape, std::int64_t const* stride) {
  auto const tuple = [rank](std::int64_t const* values) {
    std::string text = "(";
    for (int i = 0; i < rank; ++i) text += (i == 0 ? "" : ",") + std::to_string(values[i]);
    return text + ")";
  };
  return tuple(shape) + ":" + tuple(stride);
}

std::string View::describe() const {
  return std::string(name) + " " + text_of(dtype) + " " + layout_text(rank, shape, stride) + " " + text_of(device);
}

bool may_overlap(View const& x, View const& y) {
  // The fast path: most arrays lie far from one another.
  Span const of_x = span(x);
  Span const of_y = span(y);
  if (of_x.last <= of_y.first || of_y.last <= of_x.first) return false;
  return may_overlap(footprint(x), footprint(y));
}

bool shares_elements(View const& x) {
  // The fast path: each stride is longer than the extent of all shorter ones, so that no two elements meet.
  std::int64_t reach = 1;
  int order[kMaxModes];
  int count = 0;
  for (int i = 0; i < x.rank; ++i) {
    if (x.shape[i] == 0) return false;
    if (x.shape[i] > 1) order[count++] = i;
  }
  std::sort(order, order + count, [&](int i, int j) { return std::abs(x.stride[i]) < std::abs(x.stride[j]); });
  for (int i = 0; i < count; ++i) {
    auto const stride = std::abs(x.stride[order[i]]);
    if (stride < reach) return shares_elements(footprint(x));
    reach += stride * (x.shape[order[i]] - 1);
  }
  return false;
}

bool same_place(View const& x, View const& y) {
  if (x.data != y.data || x.type() != y.type() || x.rank != y.rank) return false;
  for (int i = 0; i < x.rank; ++i) {
    if (x.shape[i] != y.shape[i] || (x.shape[i] > 1 && x.stride[i] != y.stride[i])) return false;
  }
  return true;
}

}  // namespace cute_py
