#include "layout/modes.hpp"

#include <algorithm>
#include <numeric>

#include "layout/composer.hpp"

namespace cute_py::layout {

Layout from_modes(FlatLayout const& f) {
  if (f.shape.size() == 1) return Layout::trusted(IntTuple(f.shape[0]), IntTuple(f.stride[0]));
  return Layout::trusted(IntTuple(std::vector<IntTuple>(f.shape.begin(), f.shape.end())),
                         IntTuple(std::vector<IntTuple>(f.stride.begin(), f.stride.end())));
}

FlatLayout merged(FlatLayout f, bool beyond) {
  if (f.shape.empty()) return {{fixed(1)}, {fixed(0)}};  // the shape ()
  std::size_t const last = f.shape.size() - 1;
  if (beyond && f.shape[last].is(1)) f.shape[last] = fixed(2);
  std::size_t head = last;  // what is merged so far lies in [head, last]
  for (std::size_t i = last; i-- > 0;) {
    if (f.shape[i].is(1)) continue;
    if (f.shape[head].is(1)) {
      f.shape[head] = f.shape[i];
    } else if (f.shape[i] * f.stride[i] == f.stride[head]) {
      f.shape[head] = f.shape[i] * f.shape[head];
    } else {
      --head;
      f.shape[head] = f.shape[i];
    }
    f.stride[head] = f.stride[i];
  }
  f.shape.erase(f.shape.begin(), f.shape.begin() + static_cast<std::ptrdiff_t>(head));
  f.stride.erase(f.stride.begin(), f.stride.begin() + static_cast<std::ptrdiff_t>(head));
  if (f.shape.size() == 1 && f.shape[0].is(1)) f = {{fixed(1)}, {fixed(0)}};
  return f;
}

FlatLayout filtered_modes(Layout const& layout) {
  FlatLayout f = flat(layout);
  for (std::size_t i = 0; i < f.shape.size(); ++i) {
    if (f.stride[i].is(0)) f.shape[i] = fixed(1);
  }
  return merged(std::move(f));
}

FlatLayout gaps_between(FlatLayout const& filtered, IntTuple const& cotarget, Layout const& layout) {
  FlatLayout gaps;
  Integer reached = fixed(1);
  for (std::size_t const i : ascending(filtered.stride)) {
    Integer const& s = filtered.shape[i];
    Integer const& d = filtered.stride[i];
    if (d.value < 0) {
      throw LayoutError("complement: the stride " + to_string(d) + " of " + to_string(layout) +
                        " is negative: its indices go below 0");
    }
    Integer const gap = d / reached;
    if (gap.value == 0) {
      std::string const where = gaps.shape.empty() ? "" : " inside the span " + to_string(reached) + " of those below";
      throw LayoutError("complement: the modes of " + to_string(layout) + " interleave: the mode " + to_string(s) +
                        ":" + to_string(d) + " starts" + where + describe_collision(from_modes(filtered)));
    }
    gaps.shape.push_back(gap);
    gaps.stride.push_back(reached);
    reached = d * s;
  }
  auto const rest = leaves(coalesced_shape(ceil_div(cotarget, IntTuple(reached))));
  for (std::size_t i = 0; i < rest.size(); ++i) {
    gaps.shape.push_back(rest[i]);
    gaps.stride.push_back(rest[i].is(1) ? fixed(0) : reached);
    if (i + 1 < rest.size()) reached = reached * rest[i];
  }
  return gaps;
}

IntTuple coalesced_shape(IntTuple const& shape) {
  std::vector<IntTuple> result;
  for (auto const& s : leaves(shape)) {
    if (!result.empty() && result.back().leaf().is_static == s.is_static) {
      result.back() = result.back().leaf() * s;
    } else {
      result.push_back(s);
    }
  }
  return result.size() == 1 ? result[0] : IntTuple(std::move(result));
}

std::vector<std::size_t> ascending(std::vector<Integer> const& stride) {
  std::vector<std::size_t> order(stride.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t i, std::size_t j) { return stride[i].value < stride[j].value; });
  return order;
}

std::vector<std::size_t> sorted_by_stride(std::vector<Integer> const& stride) {
  std::vector<std::size_t> order(stride.size());
  std::iota(order.begin(), order.end(), 0);
  auto sorted = order;
  std::sort(sorted.begin(), sorted.end(),
            [&](std::size_t i, std::size_t j) { return stride[i].value < stride[j].value; });
  bool const distinct = std::adjacent_find(sorted.begin(), sorted.end(), [&](std::size_t i, std::size_t j) {
                          return stride[i].value == stride[j].value;
                        }) == sorted.end();
  if (distinct) return sorted;
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t j = i + 1; j < order.size(); ++j) {
      if (stride[order[j]].value < stride[order[i]].value) std::swap(order[i], order[j]);
    }
  }
  return order;
}

std::vector<Integer> prefix_product(std::vector<Integer> const& shape) {
  std::vector<Integer> result{fixed(1)};
  for (auto const& s : shape) result.push_back(result.back() * s);
  return result;
}

void refuse_basis(char const* operation, Layout const& layout) {
  if (!has_basis(layout.stride())) return;
  throw LayoutError(std::string(operation) + ": the coordinate strides of " + to_string(layout) +
                    " have no place in an order of integers; next: a layout whose strides are integers");
}

}  // namespace cute_py::layout
