#include "bindings/layout_batches.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/errors.hpp"
#include "bindings/layout_arguments.hpp"
#include "layout/batch.hpp"
#include "layout/composer.hpp"
#include "layout/text.hpp"

namespace cute_py::bindings {
namespace {

using layout::Basis;
using layout::Integer;
using layout::IntTuple;
using layout::Layout;

py::object numpy(char const* name) { return py::module_::import("numpy").attr(name); }

PyTypeObject* array_type() {
  static PyObject* const type = numpy("ndarray").release().ptr();
  return reinterpret_cast<PyTypeObject*>(type);
}

bool is_array(py::handle value) { return PyObject_TypeCheck(value.ptr(), array_type()) != 0; }

// The elements of an int64 array whose memory is contiguous.
class Elements {
 public:
  explicit Elements(py::object array) : array_(std::move(array)), view_(py::buffer(array_).request()) {}

  static Elements of(char const* name, py::handle value) {
    if (Py_TYPE(value.ptr()) != array_type() && PyObject_HasAttrString(value.ptr(), "mask") == 1) {
      throw LayoutError(std::string(name) +
                        " must not be a masked array, whose mask would be lost; next: x.filled(value)");
    }
    std::string const kind = py::str(value.attr("dtype").attr("kind"));
    if (kind != "i" && kind != "u") {
      throw LayoutError(std::string(name) + " must have integers in its arrays, not " +
                        std::string(py::str(value.attr("dtype"))) + "; next: x.astype(np.int64)");
    }
    // A plain array, of a subclass, too; values of uint64 that do not fit become negative, which is checked.
    auto const plain = numpy("ascontiguousarray")(value, numpy("int64"));
    Elements result(plain.attr("reshape")(value.attr("shape")));  // ascontiguousarray makes one axis of none
    bool const all_fit =
        std::none_of(result.data(), result.data() + result.count(), [](std::int64_t v) { return v < 0; });
    if (kind == "u" && !all_fit)
      throw LayoutError(std::string(name) + " must have integers of 64 bits with a sign, and has larger ones");
    return result;
  }

  Elements like() const { return Elements(numpy("empty")(array_.attr("shape"), numpy("int64"))); }

  std::int64_t* data() const { return static_cast<std::int64_t*>(view_.ptr); }
  std::size_t count() const { return static_cast<std::size_t>(view_.size); }
  py::object const& array() const { return array_; }

 private:
  py::object array_;
  py::buffer_info view_;
};

[[noreturn]] void refuse_shape(std::string const& coord, IntTuple const& shape) {
  throw LayoutError("the coordinate " + coord + " does not fit the shape " + to_string(shape) +
                    "; next: give an element for each mode, or one index for all of them");
}

// The values of a layout of integers at 1-D coordinates.
py::object values_of(Layout const& l, Elements const& coords) {
  Elements const result = coords.like();
  layout::values_at(l, coords.data(), coords.count(), result.data());
  return result.array();
}

py::object by_basis(Layout const& l, Elements const& coords, IntTuple const& profile, Basis const& path) {
  // Where no stride goes there is the integer 0, to which CuTe adds coordinates of any nesting.
  if (!profile.is_tuple() && !layout::goes_along(path, l.stride())) return py::int_(0);
  if (!profile.is_tuple()) return values_of(Layout::trusted(l.shape(), layout::along(path, l.stride())), coords);
  py::tuple result(profile.rank());
  for (int i = 0; i < profile.rank(); ++i) {
    Basis next = path;
    next.mode[next.depth++] = static_cast<std::uint8_t>(i);
    result[i] = by_basis(l, coords, profile[i], next);
  }
  return result;
}

void check_magnitude(py::object const& value) {
  if (is_array(value)) {
    Elements const elements(value);
    layout::largest_magnitude(elements.data(), elements.count());
    return;
  }
  std::int64_t const number = integer_argument({"layout(coord)", "a value"}, value);
  if (number >= layout::kLargestInBatch || number <= -layout::kLargestInBatch) {
    throw LayoutError(
        "a value beside an array needs more than 55 bits; next: integers, one coordinate at a time, have 64");
  }
}

// The sum of two arrays, or of one and an integer: an array, also where NumPy would make a number.
py::object array_sum(py::object const& a, py::object const& b) {
  check_magnitude(a);
  check_magnitude(b);
  try {
    return numpy("asarray")(a + b);
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_ValueError)) throw;
    throw LayoutError("arrays of shapes " + std::string(py::str(a.attr("shape"))) + " and " +
                      std::string(py::str(b.attr("shape"))) +
                      " in one coordinate do not broadcast; next: x[:, None] beside y makes a table");
  }
}

// The sum of values: numbers, arrays, tuples of these as CuTe adds them.
py::object sum_of(py::object const& a, py::object const& b) {
  bool const tuple_a = PyTuple_Check(a.ptr());
  bool const tuple_b = PyTuple_Check(b.ptr());
  if (!tuple_a && !tuple_b) return is_array(a) || is_array(b) ? array_sum(a, b) : a + b;
  if (!tuple_a || !tuple_b) {
    py::object const& number = tuple_a ? b : a;
    if (PyLong_Check(number.ptr()) && number.equal(py::int_(0))) return tuple_a ? a : b;
    throw LayoutError(
        "coordinates and indices cannot be added; next: strides that are all integers, or all basis elements such as "
        "E(0)");
  }
  auto const x = py::reinterpret_borrow<py::tuple>(a);
  auto const y = py::reinterpret_borrow<py::tuple>(b);
  py::tuple result(std::max(x.size(), y.size()));
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = i >= x.size() ? py::object(y[i]) : i >= y.size() ? py::object(x[i]) : sum_of(x[i], y[i]);
  }
  return result;
}

py::object values_of_mode(Layout const& l, py::handle coord) {
  if (is_array(coord)) {
    Elements const elements = Elements::of("coord", coord);
    return has_basis(l.stride()) ? by_basis(l, elements, coprofile(l), Basis{}) : values_of(l, elements);
  }
  if (coord.is_none())
    throw LayoutError("a coordinate with arrays in it leaves no mode open; next: np.arange in the place of None");
  if (!is_sequence(coord)) return to_plain_python(l(int_tuple_argument({"layout(coord)", "coord"}, coord)));
  py::tuple const elements = elements_of(coord);
  int const size = static_cast<int>(elements.size());
  if (!l.shape().is_tuple() || size != l.rank()) refuse_shape("of " + std::to_string(size) + " elements", l.shape());
  py::object sum = py::int_(0);
  for (int i = 0; i < size; ++i) {
    py::object const part = values_of_mode(l[i], elements[i]);
    sum = i == 0 ? part : sum_of(sum, part);
  }
  return sum;
}

py::object swizzled_values(layout::Swizzle const& swizzle, py::object const& index) {
  if (!is_array(index))
    throw LayoutError(to_string(swizzle) +
                      ": a swizzle takes an integer, not a tuple; next: compose it with a layout, composition(swizzle, "
                      "Layout(shape))");
  Elements const in = Elements::of("index", index);
  Elements const out = in.like();
  std::transform(in.data(), in.data() + in.count(), out.data(), swizzle);
  return out.array();
}

py::object tree_of(std::vector<py::object> const& flat, IntTuple const& profile, std::size_t& next) {
  if (!profile.is_tuple()) return flat[next++];
  py::tuple result(profile.rank());
  for (int i = 0; i < profile.rank(); ++i) result[i] = tree_of(flat, profile[i], next);
  return result;
}

// Digit by digit; the last mode takes what is left.
py::object digits_of(Elements const& index, IntTuple const& shape) {
  std::vector<Integer> const extents = leaves(shape);
  std::vector<std::int64_t> rest(index.data(), index.data() + index.count());
  std::vector<py::object> digits;
  for (std::size_t m = 0; m < extents.size(); ++m) {
    Elements const digit = index.like();
    std::fill_n(digit.data(), digit.count(), 0);
    if (m + 1 < extents.size()) {
      layout::take_digit(rest, extents[m].value, 1, digit.data());
    } else {
      std::copy(rest.begin(), rest.end(), digit.data());
    }
    digits.push_back(digit.array());
  }
  std::size_t next = 0;
  return tree_of(digits, shape, next);
}

// index / stride % extent, at each leaf.
py::object digits_of(Elements const& index, IntTuple const& shape, IntTuple const& stride) {
  if (shape.is_tuple()) {
    py::tuple result(shape.rank());
    IntTuple const strides = stride.is_tuple() ? stride : compact_left(shape, stride.leaf());
    if (strides.rank() != shape.rank()) refuse_shape("strides " + to_string(stride), shape);
    for (int i = 0; i < shape.rank(); ++i) result[i] = digits_of(index, shape[i], strides[i]);
    return result;
  }
  if (stride.is_tuple() || stride.leaf().has_basis()) {
    throw LayoutError("there is no inverse along the stride " + to_string(stride) +
                      "; next: strides that are integers of 1 or more");
  }
  std::int64_t const extent = shape.leaf().value;
  std::int64_t const step = stride.leaf().value;
  if (step < 0) layout::largest_magnitude(index.data(), index.count());  // the least integer has no negative
  if (step == 0 && extent > 1)
    throw LayoutError("there is no inverse along the stride 0; next: strides that are integers of 1 or more");
  Elements const result = index.like();
  std::transform(index.data(), index.data() + index.count(), result.data(),
                 [&](std::int64_t i) { return extent == 1 ? 0 : i / step % extent; });
  return result.array();
}

constexpr int kMostLookedAt = 1 << 12;  // tuples may share elements, so that a few of them stand for very many

bool meets_array(py::handle value, int& left) {
  if (--left < 0 || PyLong_Check(value.ptr()) || value.is_none()) return false;
  if (!is_sequence(value)) return is_array(value);
  for (py::handle const element : elements_of(value)) {
    if (left <= 0) break;
    if (meets_array(element, left)) return true;
  }
  return false;
}

}  // namespace

bool has_array(py::handle value) {
  int left = kMostLookedAt;
  return meets_array(value, left);
}

py::object values_at(Layout const& l, py::handle coord) { return values_of_mode(l, coord); }

py::object values_at(layout::ComposedLayout const& l, py::handle coord) {
  py::object value = values_at(l.inner(), coord);
  auto const& functions = l.functions();
  for (auto f = functions.rbegin(); f != functions.rend(); ++f) {
    value = sum_of(to_plain_python(IntTuple(f->offset)), value);
    value = f->is_swizzle ? swizzled_values(f->swizzle, value) : values_of_mode(f->layout, value);
  }
  return value;
}

py::object coordinates_at(py::handle index, IntTuple const& shape, std::optional<IntTuple> const& stride) {
  if (is_array(index)) {
    Elements const elements = Elements::of("index", index);
    return stride ? digits_of(elements, shape, *stride) : digits_of(elements, shape);
  }
  if (!is_sequence(index)) {
    IntTuple const i = int_tuple_argument({"idx2crd", "index"}, index);
    return to_plain_python(stride ? idx2crd(i, shape, *stride) : idx2crd(i, shape));
  }
  py::tuple const elements = elements_of(index);
  int const size = static_cast<int>(elements.size());
  if (!shape.is_tuple() || size != shape.rank()) refuse_shape("of " + std::to_string(size) + " elements", shape);
  std::optional<IntTuple> strides = stride;
  if (strides && !strides->is_tuple()) strides = compact_left(shape, strides->leaf());
  if (strides && strides->rank() != size) refuse_shape("strides " + to_string(*strides), shape);
  py::tuple result(size);
  for (int i = 0; i < size; ++i) {
    result[i] = coordinates_at(elements[i], shape[i], strides ? std::optional((*strides)[i]) : std::nullopt);
  }
  return result;
}

}  // namespace cute_py::bindings
