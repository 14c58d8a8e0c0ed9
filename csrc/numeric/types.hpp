#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>

#include <cutlass/complex.h>
#include <cutlass/float8.h>
#include <cute/config.hpp>
#include <cute/numeric/numeric_types.hpp>

#include "base/dtype.hpp"

// Element types as C++ types, and conversions between them, for a GPU and for a host.
namespace cute_py::numeric {

using complex64 = cutlass::complex<float>;
using complex128 = cutlass::complex<double>;

template <class T>
inline constexpr bool kIsComplex = cutlass::is_complex<T>::value;

// The type of a number's parts.
template <class T>
struct RealOfType {
  using type = T;
};
template <class T>
struct RealOfType<cutlass::complex<T>> {
  using type = T;
};
template <class T>
using RealOf = typename RealOfType<T>::type;

// The C++ type of a DType. One without a row does not compile.
template <DType type>
struct CppTypeOf;
template <>
struct CppTypeOf<DType::f16> {
  using type = cutlass::half_t;
};
template <>
struct CppTypeOf<DType::bf16> {
  using type = cutlass::bfloat16_t;
};
template <>
struct CppTypeOf<DType::f32> {
  using type = float;
};
template <>
struct CppTypeOf<DType::f64> {
  using type = double;
};
template <>
struct CppTypeOf<DType::c64> {
  using type = complex64;
};
template <>
struct CppTypeOf<DType::c128> {
  using type = complex128;
};
template <>
struct CppTypeOf<DType::i8> {
  using type = std::int8_t;
};
template <>
struct CppTypeOf<DType::i32> {
  using type = std::int32_t;
};
template <>
struct CppTypeOf<DType::e4m3> {
  using type = cutlass::float_e4m3_t;
};
template <>
struct CppTypeOf<DType::e5m2> {
  using type = cutlass::float_e5m2_t;
};
template <DType type>
using CppType = typename CppTypeOf<type>::type;

// The DType of a C++ type: of the numbers as they lie in memory.
template <class T, int number = 0>
constexpr DType find_dtype() {
  static_assert(number < kDTypes, "a C++ type that is no DType's");
  constexpr auto type = static_cast<DType>(number);
  if constexpr (std::is_same_v<T, CppType<type>>) {
    return type;
  } else {
    return find_dtype<T, number + 1>();
  }
}

template <class T>
inline constexpr DType kDTypeOf = find_dtype<std::conditional_t<std::is_same_v<T, cutlass::tfloat32_t>, float, T>>();

// As names of kernels call it.
template <class T>
inline constexpr char const* kLettersOf = std::is_same_v<T, cutlass::tfloat32_t> ? "tf32" : row_of(kDTypeOf<T>).letters;

// Has a C++ type no arithmetic of its own, but a conversion to float?
template <class T>
inline constexpr bool kIsNarrowFloat =
    std::is_same_v<T, cutlass::half_t> || std::is_same_v<T, cutlass::bfloat16_t> ||
    std::is_same_v<T, cutlass::float_e4m3_t> || std::is_same_v<T, cutlass::float_e5m2_t>;

// x as a To. A real number becomes a complex one; the other way round cannot happen.
template <class To, class From>
CUTE_HOST_DEVICE To convert(From const& x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (kIsComplex<To>) {
    using Real = typename To::value_type;
    if constexpr (kIsComplex<From>) {
      return To(static_cast<Real>(x.real()), static_cast<Real>(x.imag()));
    } else {
      return To(convert<Real>(x), Real(0));
    }
  } else if constexpr (kIsNarrowFloat<From>) {
    return static_cast<To>(static_cast<float>(x));
  } else {
    return static_cast<To>(x);
  }
}

template <class T>
CUTE_HOST_DEVICE T conjugate_if(bool conjugate, T const& x) {
  if constexpr (kIsComplex<T>) {
    return conjugate ? T(x.real(), -x.imag()) : x;
  } else {
    return x;
  }
}

// A number of 8 bits for what is beyond its largest: infinity, or NaN where there is none. The conversion of a GPU, and
// cutlass's of a host, knows the largest number alone.
template <class To>
CUTE_HOST_DEVICE To past_largest(float x) {
  constexpr bool kHasInfinity = std::is_same_v<To, cutlass::float_e5m2_t>;
  constexpr std::uint8_t kPast = kHasInfinity ? 0x7c : 0x7f;
  return To::bitcast(static_cast<std::uint8_t>(x < 0 ? kPast | 0x80 : kPast));
}

// x rounded to the nearest To. Integers take the nearest whole number, ties to even, and their largest or smallest
// number for what they cannot hold; NaN becomes 0. Floats take their largest number only if `saturate`, else infinity,
// or NaN if they have none (float8_e4m3fn).
template <class To, class From>
CUTE_HOST_DEVICE To narrow(From x, bool saturate) {
  if constexpr (kIsComplex<From>) {
    return convert<To>(x);
  } else if constexpr (std::is_integral_v<To>) {
    // Compared as the number's own type, in which the bounds of To are exact or one above.
    constexpr From kLow = static_cast<From>(std::numeric_limits<To>::min());
    constexpr From kPast = -kLow;
    From const rounded = std::rint(x);
    if (rounded != rounded) return To(0);
    if (rounded <= kLow) return std::numeric_limits<To>::min();
    if (rounded >= kPast) return std::numeric_limits<To>::max();
    return static_cast<To>(rounded);
  } else if constexpr (sizeof(To) == 1) {
    // What rounds to the largest number at most: half a step more, where a tie goes to it, or does not.
    constexpr bool kHasInfinity = std::is_same_v<To, cutlass::float_e5m2_t>;
    auto const value = static_cast<float>(x);
    float const size = std::fabs(value);
    bool const is_past = kHasInfinity ? size >= 61440.0f : size > 464.0f;
    return is_past && !saturate ? past_largest<To>(value) : To(value);
  } else {
    if (saturate && x == x) {
      From largest;
      if constexpr (std::is_same_v<To, cutlass::half_t>) {
        largest = From(65504);
      } else if constexpr (std::is_same_v<To, cutlass::bfloat16_t>) {
        largest = From(3.38953138925153547590470800371487866880e38);
      } else {
        largest = static_cast<From>(std::numeric_limits<To>::max());
      }
      x = x > largest ? largest : x < -largest ? -largest : x;
    }
    return static_cast<To>(x);
  }
}

// The types that a number of type T can be read from: real into complex, never back. Kernels for a GPU have those of 8
// bits only where they are made for them.
template <class T>
inline constexpr DTypeSet kReadableAs =
    std::is_same_v<T, float>          ? types(DType::f16, DType::bf16, DType::f32, DType::i8)
    : std::is_same_v<T, double>       ? types(DType::f16, DType::bf16, DType::f32, DType::f64, DType::i8, DType::i32)
    : std::is_same_v<T, complex64>    ? types(DType::f16, DType::bf16, DType::f32, DType::c64)
    : std::is_same_v<T, complex128>   ? types(DType::f16, DType::bf16, DType::f32, DType::f64, DType::c64, DType::c128)
    : std::is_same_v<T, std::int32_t> ? types(DType::i8, DType::i32)
                                      : 0u;

// Ends a program that asked for a type which is none of those that it was compiled for; a kernel is not asked for one.
// With a trap in a kernel whose warps exchange registers (setmaxnreg), nvcc 13.0 leaves them the registers that they
// began with.
[[noreturn]] CUTE_HOST_DEVICE void stop_at_unknown_type() {
#ifdef __CUDA_ARCH__
  __builtin_unreachable();
#else
  std::abort();
#endif
}

template <DTypeSet set, int number, class Work>
CUTE_HOST_DEVICE void with_type_from(DType type, Work const& work) {
  if constexpr (number == kDTypes) {
    stop_at_unknown_type();
  } else {
    constexpr auto candidate = static_cast<DType>(number);
    if constexpr (contains(set, candidate)) {
      if (type == candidate) return work(CppType<candidate>{});
    }
    with_type_from<set, number + 1>(type, work);
  }
}

// Calls work with a value of the C++ type of a DType, which is one of `set`.
template <DTypeSet set, class Work>
CUTE_HOST_DEVICE void with_type(DType type, Work const& work) {
  // What there is most of comes first.
  if constexpr (contains(set, DType::f32)) {
    if (type == DType::f32) return work(float{});
  }
  with_type_from<(set & ~types(DType::f32)), 0>(type, work);
}

// An element of an array, on a host at any address.
template <class T>
CUTE_HOST_DEVICE T load(T const* element) {
#ifdef __CUDA_ARCH__
  return *element;
#else
  T value;
  std::memcpy(static_cast<void*>(&value), static_cast<void const*>(element), sizeof(T));
  return value;
#endif
}

template <class T>
CUTE_HOST_DEVICE void store(T* element, T const& value) {
#ifdef __CUDA_ARCH__
  *element = value;
#else
  std::memcpy(static_cast<void*>(element), static_cast<void const*>(&value), sizeof(T));
#endif
}

// The element of an array of run-time type.
template <class T, DTypeSet set = kReadableAs<T>>
CUTE_HOST_DEVICE T load_as(void const* data, DType type, std::int64_t index) {
  T result{};
  with_type<set>(type, [&](auto const& sample) {
    using Stored = std::decay_t<decltype(sample)>;
    result = convert<T>(load(static_cast<Stored const*>(data) + index));
  });
  return result;
}

// The types that a number of type T can be written as.
template <class T>
inline constexpr DTypeSet kWritableFrom =
    std::is_same_v<T, float>        ? types(DType::f16, DType::bf16, DType::f32, DType::i8)
    : std::is_same_v<T, double>     ? types(DType::f32, DType::f64, DType::i8, DType::i32)
    : std::is_same_v<T, complex64>  ? types(DType::c64)
    : std::is_same_v<T, complex128> ? types(DType::c64, DType::c128)
                                    : 0u;

// The same on a host, where every type is read and written.
template <class T>
inline constexpr DTypeSet kReadableOnHost = kReadableAs<T> | (std::is_same_v<T, float> ? kFloat8 : 0u);
template <class T>
inline constexpr DTypeSet kWritableOnHost = kWritableFrom<T> | (std::is_same_v<T, float> ? kFloat8 : 0u);

template <class T, DTypeSet set = kWritableFrom<T>>
CUTE_HOST_DEVICE void store_as(void* data, DType type, std::int64_t index, T const& value, bool saturate) {
  with_type<set>(type, [&](auto const& sample) {
    using Stored = std::decay_t<decltype(sample)>;
    store(static_cast<Stored*>(data) + index, narrow<Stored>(value, saturate));
  });
}

}  // namespace cute_py::numeric
