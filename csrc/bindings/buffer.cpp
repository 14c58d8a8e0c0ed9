#include "bindings/buffer.hpp"

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>

#include <pybind11/stl.h>

#include "base/dlpack.hpp"
#include "base/errors.hpp"
#include "runtime/cuda.hpp"

namespace cute_py::bindings {
namespace {

// What a capsule owns: the tensor and a reference to the Buffer that its pointers point into.
template <class Managed>
struct Export {
  Managed managed{};
  PyObject* buffer;
};

template <class Managed>
void give_back(Managed* managed) {
  auto* const owner = static_cast<Export<Managed>*>(managed->manager);
  py::gil_scoped_acquire gil;
  Py_DECREF(owner->buffer);
  delete owner;
}

// The destructor of a capsule that nobody consumed.
template <class Managed>
void drop_capsule(PyObject* capsule, char const* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}

template <class Managed>
py::capsule make_capsule(py::object const& self, dlpack::Tensor const& tensor, char const* name,
                         void (*destructor)(PyObject*)) {
  auto owner = std::make_unique<Export<Managed>>();
  owner->managed.tensor = tensor;
  owner->managed.manager = owner.get();
  owner->managed.deleter = &give_back<Managed>;
  if constexpr (std::is_same_v<Managed, dlpack::ManagedTensorVersioned>) owner->managed.version = {1, 0};
  owner->buffer = self.ptr();
  PyObject* const capsule = PyCapsule_New(&owner->managed, name, destructor);
  if (capsule == nullptr) throw py::error_already_set();
  Py_INCREF(self.ptr());
  owner.release();
  return py::reinterpret_steal<py::capsule>(capsule);
}

}  // namespace

Buffer::Buffer(int device, std::vector<std::int64_t> shape, std::vector<int> const& order, std::string const& type)
    : device_(device), shape_(std::move(shape)), stride_(shape_.size()) {
  int index = 0;
  while (index < kDTypes && type != name_of(static_cast<DType>(index))) ++index;
  if (index == kDTypes) throw OperandError("Buffer: no type is called " + type);
  type_ = static_cast<DType>(index);
  std::int64_t elements = 1;
  for (std::size_t i = shape_.size(); i-- > 0;) {
    auto const at = order.empty() ? i : static_cast<std::size_t>(order.at(i));
    if (at >= shape_.size()) throw OperandError("Buffer: order has numbers of modes");
    stride_[at] = elements;
    elements *= std::max<std::int64_t>(shape_[at], 1);
  }
  runtime::DeviceGuard guard(device);
  data_ = runtime::allocate(static_cast<std::size_t>(elements) * bytes_of(type_));
}

Buffer::~Buffer() { runtime::release(data_); }

std::pair<int, int> Buffer::device() const { return {dlpack::kCuda, device_}; }

py::capsule Buffer::export_capsule(py::object self, py::object max_version) {
  auto& buffer = self.cast<Buffer&>();
  dlpack::Tensor const tensor{buffer.data_,
                              {dlpack::kCuda, buffer.device_},
                              static_cast<std::int32_t>(buffer.shape_.size()),
                              dlpack_of(buffer.type_),
                              buffer.shape_.data(),
                              buffer.stride_.data(),
                              0};
  if (max_version.is_none()) {
    return make_capsule<dlpack::ManagedTensor>(
        self, tensor, "dltensor", [](PyObject* capsule) { drop_capsule<dlpack::ManagedTensor>(capsule, "dltensor"); });
  }
  return make_capsule<dlpack::ManagedTensorVersioned>(self, tensor, "dltensor_versioned", [](PyObject* capsule) {
    drop_capsule<dlpack::ManagedTensorVersioned>(capsule, "dltensor_versioned");
  });
}

void register_buffer(py::module_& module) {
  py::class_<Buffer>(module, "Buffer", "An array in GPU memory, exported through DLPack.")
      .def(py::init<int, std::vector<std::int64_t>, std::vector<int> const&, std::string const&>(), py::arg("device"),
           py::arg("shape"), py::arg("order"), py::arg("dtype"))
      .def("__dlpack_device__", [](Buffer const& buffer) { return buffer.device(); })
      .def(
          "__dlpack__",
          [](py::object self, py::object, py::object max_version, py::object, py::object) {
            return Buffer::export_capsule(std::move(self), std::move(max_version));
          },
          py::kw_only(), py::arg("stream") = py::none(), py::arg("max_version") = py::none(),
          py::arg("dl_device") = py::none(), py::arg("copy") = py::none());
}

}  // namespace cute_py::bindings
