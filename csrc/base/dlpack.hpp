#pragma once

#include <cstdint>

// The binary interface of DLPack 1.x, as its specification gives it: https://dmlc.github.io/dlpack
namespace cute_py::dlpack {

enum DeviceType : std::int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3, kCudaManaged = 13 };

enum TypeCode : std::uint8_t {
  kInt = 0,
  kUInt = 1,
  kFloat = 2,
  kBfloat = 4,
  kComplex = 5,
  kBool = 6,
  kFloat8E4m3fn = 10,
  kFloat8E4m3fnuz = 11,
  kFloat8E5m2 = 12,
  kFloat8E5m2fnuz = 13,
  kFloat8E8m0fnu = 14,
};

// Of a ManagedTensorVersioned.
inline constexpr std::uint64_t kReadOnly = 1;
inline constexpr std::uint64_t kIsCopied = 2;  // made by its producer, to be exported

struct Device {
  std::int32_t type;
  std::int32_t id;
};

struct DataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

constexpr bool operator==(DataType const& x, DataType const& y) {
  return x.code == y.code && x.bits == y.bits && x.lanes == y.lanes;
}

struct Tensor {
  void* data;
  Device device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null for a compact row-major array from a producer before 1.2
  std::uint64_t byte_offset;
};

struct ManagedTensor {
  Tensor tensor;
  void* manager;
  void (*deleter)(ManagedTensor*);
};

struct Version {
  std::uint32_t major;
  std::uint32_t minor;
};

struct ManagedTensorVersioned {
  Version version;
  void* manager;
  void (*deleter)(ManagedTensorVersioned*);
  std::uint64_t flags;
  Tensor tensor;
};

// The C exchange interface, which a type offers as `__dlpack_c_exchange_api__`.
struct ExchangeApi {
  Version version;
  void* previous;
  int (*allocate)(Tensor*, ManagedTensorVersioned**, void*, void (*)(void*, char const*, char const*));
  int (*from_object)(void*, ManagedTensorVersioned**);
  int (*to_object)(ManagedTensorVersioned*, void**);
  int (*view_object)(void*, Tensor*);  // may be null; the object keeps owning shape, strides and data
  int (*current_stream)(std::int32_t, std::int32_t, void**);
};

}  // namespace cute_py::dlpack
