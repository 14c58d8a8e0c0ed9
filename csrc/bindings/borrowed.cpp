#include "bindings/borrowed.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "bindings/arguments.hpp"
#include "bindings/arrays.hpp"

namespace cute_py::bindings {
namespace {

// An array that is held as long as a kernel may use its memory.
class Borrowed {
 public:
  Borrowed(std::string name, py::handle array, std::optional<std::uintptr_t> stream)
      : name_(std::move(name)), operand_(name_.c_str(), array, stream) {}

  Operand const& operand() const { return operand_; }
  View const& view() const { return operand_.view(); }

 private:
  std::string name_;  // the operand points to it
  Operand operand_;
};

py::tuple tuple_of(int rank, std::int64_t const* values) {
  py::tuple made(rank);
  for (int i = 0; i < rank; ++i) made[i] = values[i];
  return made;
}

}  // namespace

void register_borrowed(py::module_& module) {
  py::class_<Borrowed>(module, "Borrowed", "The memory of an array, held.")
      .def_property_readonly("address",
                             [](Borrowed const& x) { return reinterpret_cast<std::uintptr_t>(x.view().data); })
      .def_property_readonly("shape", [](Borrowed const& x) { return tuple_of(x.view().rank, x.view().shape); })
      .def_property_readonly("strides", [](Borrowed const& x) { return tuple_of(x.view().rank, x.view().stride); })
      .def_property_readonly("dtype", [](Borrowed const& x) { return text_of(x.view().dtype); })
      .def_property_readonly("item_bytes", [](Borrowed const& x) { return (x.view().dtype.bits + 7) / 8; })
      .def_property_readonly("device", [](Borrowed const& x) { return text_of(x.view().device); })
      .def_property_readonly(
          "ordinal", [](Borrowed const& x) { return x.view().on_cuda() ? x.view().device.id : -1; }, "-1: no GPU's.")
      .def_property_readonly("read_only", [](Borrowed const& x) { return x.view().read_only; })
      .def_property_readonly("conjugated", [](Borrowed const& x) { return x.view().conjugated; })
      .def_property_readonly("stream", [](Borrowed const& x) { return x.operand().stream(); })
      .def_property_readonly("must_wait", [](Borrowed const& x) { return x.operand().must_wait(); });
  module.def(
      "borrow",
      [](std::string name, py::handle array, py::handle stream) {
        return std::make_unique<Borrowed>(std::move(name), array, stream_argument(stream));
      },
      py::arg("name"), py::arg("array"), py::arg("stream"));
  module.def("stream_handle", [](py::handle stream) { return stream_argument(stream).value_or(0); }, py::arg("stream"));
}

}  // namespace cute_py::bindings
