#include <algorithm>
#include <limits>
#include <string>

#include "base/errors.hpp"
#include "problem/product.hpp"

namespace cute_py {
namespace {

// A type of as many bytes: a copy moves them, whatever they mean.
std::optional<DType> moved_type(dlpack::DataType const& type) {
  constexpr DType kByBytes[] = {DType::i8, DType::f16, DType::f32, DType::f64, DType::c128};
  if (auto const known = dtype_of(type)) return known;
  int const bits = type.bits * type.lanes;
  for (DType const moved : kByBytes) {
    if (bits == 8 * bytes_of(moved)) return moved;
  }
  return std::nullopt;
}

[[noreturn]] void refuse(Request const& r, std::string const& rule, std::string const& next) {
  throw OperandError(r.function->name + " " + rule + r.operands_text() + "\n  next: " + next);
}

void require_source(Request const& r) {
  View const& a = *r.a;
  auto const named = r.function->labels->a.size();
  if (named != static_cast<std::size_t>(a.rank)) {
    refuse(r, "reads a shape of " + std::to_string(named) + " modes, and A comes with " + std::to_string(a.rank),
           "check its producer");
  }
  if (!moved_type(a.dtype)) refuse(r, "copies elements of 1, 2, 4, 8 or 16 bytes", "view A as one of these");
  if (a.conjugated) {
    refuse(r, "takes A as it lies in memory, and this is a view that PyTorch conjugates when it is read",
           "pass A.resolve_conj()");
  }
  __int128 bytes = a.dtype.bits;
  for (int i = 0; i < a.rank; ++i) {
    bytes *= std::max<std::int64_t>(a.shape[i], 1);
    if (bytes > std::numeric_limits<std::int64_t>::max() / 16) {
      refuse(r, "has more elements than 64 bits count", "copy fewer elements at a time");
    }
  }
}

void require_result(Request const& r, View const& x, Product const& product) {
  View const& a = *r.a;
  bool const same_device = a.on_cuda() ? x.on_cuda() && x.device.id == a.device.id : x.on_host();
  if (!same_device) refuse(r, "needs both arrays on one device", "move out to where A is");
  if (!std::equal(x.shape, x.shape + x.rank, product.shape.begin(), product.shape.end())) {
    std::string shape;
    for (auto const extent : product.shape) shape += (shape.empty() ? "" : ",") + std::to_string(extent);
    refuse(r, "needs out of the shape (" + shape + ")", "pass an out of that shape, or none to get a new one");
  }
  if (!(x.dtype == a.dtype)) {
    refuse(r, "keeps the type of A", "pass an out of the type " + text_of(a.dtype) + ", or none to get a new one");
  }
  if (x.read_only || x.conjugated) {
    refuse(r, x.read_only ? "cannot write to out, which is read-only" : "cannot write to a view that is conjugated",
           "pass another out, or none to get a new one");
  }
  if (shares_elements(x)) {
    refuse(r, "cannot write to out, whose strides put several elements in one place",
           "pass an out with its own memory for every element, or none to get a new one");
  }
}

}  // namespace

Product make_copy(Request const& r) {
  View const& a = *r.a;
  require_source(r);
  Product product;
  product.labels = *r.function->labels;
  auto const& [of_a, none, of_d] = product.labels;
  auto const rank = of_d.size();
  for (char const letter : of_d) product.shape.push_back(a.shape[of_a.find(letter)]);
  product.stride.resize(rank);
  std::int64_t elements = 1;
  for (auto i = rank; i-- > 0;) {
    product.stride[i] = elements;
    elements *= std::max<std::int64_t>(product.shape[i], 1);
  }
  product.type = *moved_type(a.dtype);
  product.dtype = a.dtype;
  product.bytes = 2 * bytes_of(product.type);
  for (auto const extent : product.shape) product.bytes *= extent;

  View const* const d = r.result();
  if (d != nullptr) require_result(r, *d, product);
  Geometry& g = product.geometry;
  g.compute = Compute::copy;
  for (Role const role : {Role::a, Role::b, Role::d}) g.type[role] = product.type;
  g.log2_alignment[Role::a] = log2_alignment_of(reinterpret_cast<std::uintptr_t>(a.data));
  g.log2_alignment[Role::d] =
      d != nullptr ? log2_alignment_of(reinterpret_cast<std::uintptr_t>(d->data)) : std::uint8_t{kMaxLog2Alignment};
  for (std::size_t i = 0; i < rank; ++i) {
    Mode mode{product.shape[i], {}, false, false};
    if (mode.extent > 1) {
      mode.stride[Role::a] = a.stride[of_a.find(of_d[i])];
      mode.stride[Role::d] = d != nullptr ? d->stride[i] : product.stride[i];
    }
    g.m.push_back(mode);
  }
  return product;
}

}  // namespace cute_py
