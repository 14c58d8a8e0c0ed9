#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/errors.hpp"
#include "bindings/layout_arguments.hpp"
#include "bindings/layout_batches.hpp"
#include "layout/algebra.hpp"
#include "layout/swizzle.hpp"
#include "layout/text.hpp"

// What the entries of the layout algebra have in common: arguments to values, values to results, names in front of
// errors.
namespace cute_py::bindings {

using namespace layout;
using namespace py::literals;

inline std::string prefixed(char const* operation, std::string const& text) {
  std::string const prefix = std::string(operation) + ": ";
  return text.compare(0, prefix.size(), prefix) == 0 ? text : prefix + text;
}

// The operation that an entry computes, for the places of its arguments: op("A").
struct Operation {
  char const* name;

  Place operator()(char const* argument) const { return {name, argument}; }
};

// f(), with the operation's name in front of an error that does not begin with it.
template <class F>
auto with_name(char const* operation, F f) {
  try {
    return f();
  } catch (LayoutError const& error) {
    throw LayoutError(prefixed(operation, error.what()));
  }
}

// The same function with the name in front of its errors. An Operation, if it is the first argument, is given to it.
template <class F, class R, class C, class... A>
auto named(char const* operation, F f, R (C::*)(Operation, A...) const) {
  return [operation, f](A... arguments) -> R {
    return with_name(operation, [&]() -> R { return f(Operation{operation}, std::forward<A>(arguments)...); });
  };
}

template <class F, class R, class C, class... A>
auto named(char const* operation, F f, R (C::*)(A...) const) {
  return [operation, f](A... arguments) -> R {
    return with_name(operation, [&]() -> R { return f(std::forward<A>(arguments)...); });
  };
}

template <class F>
auto named(char const* operation, F f) {
  return named(operation, f, &F::operator());
}

// The arguments of a function, by name.
template <class... Arguments>
std::tuple<Arguments...> with(Arguments... arguments) {
  return {std::move(arguments)...};
}

// A function of the module. What it does is written in python/cute_py/layout/functions.py.
template <class F, class... Arguments>
void def(py::module_& m, char const* name, std::tuple<Arguments...> const& arguments, F f) {
  std::apply([&](auto const&... a) { m.def(name, named(name, f), a...); }, arguments);
}

template <class F>
void def(py::module_& m, char const* name, F f) {
  m.def(name, named(name, f));
}

inline py::object cast_any(AnyLayout&& any) {
  return std::visit([](auto&& l) { return py::cast(std::forward<decltype(l)>(l)); }, std::move(any));
}

// Of a composed layout, the inner layout is what has modes.
inline Layout const& domain_of(AnyLayout const& any) {
  auto const* plain = std::get_if<Layout>(&any);
  return plain != nullptr ? *plain : std::get<ComposedLayout>(any).inner();
}

inline bool is_layout(py::handle value) { return is_a<Layout>(value) || is_a<ComposedLayout>(value) || is_text(value); }

template <class F>
py::object on_domain(AnyLayout const& any, F f) {
  if (auto const* plain = std::get_if<Layout>(&any)) return py::cast(f(*plain));
  auto const& composed = std::get<ComposedLayout>(any);
  return py::cast(composed.with_inner(f(composed.inner())));
}

// The same for whatever has a layout and a method `with_layout`, such as a tensor.
template <class F>
py::object on_domain(Place place, py::handle value, F f) {
  if (has_layout(value)) return value.attr("with_layout")(on_domain(any_layout_argument(place, value), f));
  return on_domain(any_layout_argument(place, value), f);
}

inline std::vector<int> path_of(Operation op, py::args const& modes) {
  std::vector<int> path;
  for (auto const mode : modes) path.push_back(small_argument(op("a mode"), mode));
  return path;
}

inline IntTuple at_path(Operation op, IntTuple const& t, std::vector<int> const& path) {
  IntTuple result = t;
  for (int const mode : path) {
    if (mode < 0 || mode >= result.rank()) {
      throw LayoutError(std::string(op.name) + ": there is no mode " + std::to_string(mode) + " in " +
                        to_string(result) + "; next: count them from 0");
    }
    IntTuple next = result[mode];
    result = std::move(next);
  }
  return result;
}

inline IntTuple shape_argument(Place place, py::handle value) {
  if (has_layout(value)) return domain_of(any_layout_argument(place, value)).shape();
  if (is_layout(value)) return domain_of(any_layout_argument(place, value)).shape();
  return int_tuple_argument(place, value);
}

// A shape whose size fits, and one that has elements, too.
inline IntTuple any_extents_argument(Place place, py::handle value, bool has_elements = false) {
  IntTuple shape = shape_argument(place, value);
  try {
    if (has_elements) require_elements(shape);
    Layout const checked(shape);
  } catch (LayoutError const& error) {
    throw LayoutError(std::string(place.operation) + ": " + place.argument + ": " + error.what());
  }
  return shape;
}

inline IntTuple extents_argument(Place place, py::handle value) { return any_extents_argument(place, value, true); }

inline bool has_static(IntTuple const& t) {
  if (!t.is_tuple()) return t.leaf().is_static;
  return std::any_of(t.elements().begin(), t.elements().end(), [](IntTuple const& e) { return has_static(e); });
}

// What comes of arguments with a static integer among them is static where C++ would know it; else it is plain ints.
inline py::object like(IntTuple const& argument, IntTuple const& result) {
  return has_static(argument) ? to_python(result) : to_plain_python(result);
}

// Shape and stride, a shape and LayoutLeft or LayoutRight, or one text.
inline Layout new_layout(Operation op, py::handle shape, py::handle stride) {
  if (is_a<Layout>(shape) && stride.is_none()) return as<Layout>(shape);
  if (is_text(shape) && stride.is_none()) return layout_argument(op("shape"), shape);
  IntTuple s = int_tuple_argument(op("shape"), shape);
  if (stride.is_none() || is_tag_left(stride)) return Layout(s);
  if (is_tag_right(stride)) {
    IntTuple strides = compact_right(Layout(s).shape());
    return Layout(std::move(s), std::move(strides));
  }
  return Layout(std::move(s), int_tuple_argument(op("stride"), stride));
}

inline std::optional<IntTuple> order_argument(Place place, IntTuple const& shape, py::handle order) {
  if (is_tag_left(order)) return std::nullopt;
  if (is_tag_right(order)) {
    // The last mode first.
    std::vector<IntTuple> ranks;
    for (int i = 0; i < shape.rank(); ++i) ranks.emplace_back(fixed(shape.rank() - i));
    return shape.is_tuple() ? IntTuple(std::move(ranks)) : ranks[0];
  }
  return int_tuple_argument(place, order);
}

inline py::object composed_slice(SwizzledSlice&& sliced) {
  return sliced.is_plain ? py::cast(std::move(sliced.plain)) : py::cast(std::move(sliced.composed));
}

inline Integer dynamic_or_static(Place place, py::handle value) {
  IntTuple const t = int_tuple_argument(place, value);
  if (t.is_tuple()) throw LayoutError(std::string(place.operation) + ": " + place.argument + " must be an integer");
  return t.leaf();
}

void register_layout_classes(py::module_& m);
void register_layout_queries(py::module_& m);  // and what makes layouts
void register_layout_modes(py::module_& m);
void register_layout_algebra(py::module_& m);

}  // namespace cute_py::bindings
