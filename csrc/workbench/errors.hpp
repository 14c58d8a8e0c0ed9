#pragma once

#include <cstddef>

// The runtime's error codes and the limits of devices, without its headers.
namespace cute_py::workbench {

inline constexpr int kErrorInvalidValue = 1;
inline constexpr int kErrorMemoryAllocation = 2;
inline constexpr int kErrorInvalidConfiguration = 9;
inline constexpr int kErrorInvalidDevicePointer = 17;
inline constexpr int kErrorInvalidDeviceFunction = 98;
inline constexpr int kErrorIllegalAddress = 700;
inline constexpr int kErrorLaunchTimeout = 702;
inline constexpr int kErrorAssert = 710;
inline constexpr int kErrorIllegalInstruction = 715;
inline constexpr int kErrorMisalignedAddress = 716;
inline constexpr int kErrorLaunchFailure = 719;
inline constexpr int kErrorNotSupported = 801;

// What a CTA can have of shared memory, in bytes, by compute capability (the CUDA C++ Programming Guide's table).
constexpr std::size_t shared_bytes_of(int architecture) {
  switch (architecture) {
    case 70:
      return 96 * 1024;
    case 75:
      return 64 * 1024;
    case 80:
    case 87:
      return 163 * 1024;
    case 86:
    case 89:
    case 120:
      return 99 * 1024;
    default:
      return 227 * 1024;
  }
}
inline constexpr std::size_t kSharedBytesByDefault = 48 * 1024;

}  // namespace cute_py::workbench
