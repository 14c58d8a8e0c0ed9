#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "layout/int_tuple.hpp"

// CuTe's own notation: what its print() writes, and back.
namespace cute_py::layout {

class Layout;
struct Tiler;
class Swizzle;
class ComposedLayout;

std::string to_string(Integer const& i);
std::string to_string(IntTuple const& t);
std::string to_string(Layout const& layout);
std::string to_string(Tiler const& tiler);
std::string to_string(Swizzle const& swizzle);
std::string to_string(ComposedLayout const& layout);

// The C++ type: Layout<Shape<_128,_8>,Stride<_1,_128>>. A dynamic integer is an int, or an int64_t where it needs one.
std::string to_cpp(Integer const& i);
std::string to_cpp(IntTuple const& t, char const* tuple);
std::string to_cpp(Layout const& layout);
std::string to_cpp(Swizzle const& swizzle);
std::string to_cpp(ComposedLayout const& layout);

// The reverse of to_string. Each throws LayoutError, showing where the text goes wrong. A layout may be a shape alone.
IntTuple parse_int_tuple(std::string_view text);
Layout parse_layout(std::string_view text);
Tiler parse_tiler(std::string_view text);
Swizzle parse_swizzle(std::string_view text);
ComposedLayout parse_composed(std::string_view text);

// What the text is: a layout, composed or not, or a swizzle; with `parse`, a tiler in the place of a layout alone.
std::variant<Layout, Swizzle, ComposedLayout> parse_function(std::string_view text);
std::variant<Tiler, Swizzle, ComposedLayout> parse(std::string_view text);

}  // namespace cute_py::layout
