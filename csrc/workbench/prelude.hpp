#pragma once

// CUDA C++ for a host compiler: included before a program's first line. CUDA's and Thrust's own headers come first, as
// a host compiler sees them; from then on the program is device code, too.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <type_traits>
#include <utility>

#ifdef CUTE_PY_USES_THRUST
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#endif
#include <cuda/std/array>
#include <cuda/std/cassert>
#include <cuda/std/complex>
#include <cuda/std/cstdint>
#include <cuda/std/limits>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/utility>

#include "workbench/builtin_variables.hpp"
#include "workbench/launch.hpp"
#include "workbench/ptx_operand.hpp"

#undef __global__
#undef __device__
#undef __host__
#undef __constant__
#undef __managed__
#undef __shared__
#undef __launch_bounds__
#undef __grid_constant__
#undef __align__
#undef __forceinline__
#undef __noinline__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __maxnreg__(...)
#define __grid_constant__
#define __align__(n) alignas(n)
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
// __global__ and __shared__ stay words: cute_py rewrites what they are part of.

#define CUTE_PY_IN_EMULATOR
#define __CUDACC__
#define __NVCC__
#define __CUDA_ARCH__ CUTE_PY_ARCHITECTURE
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __CUDACC_VER_BUILD__ 0

namespace cute_py::workbench {

void mark(char const* name);  // of a section, cute_py/marks.hpp
void sync_threads();
std::uint32_t sync_threads_and_vote(char mode, bool holds);
void sync_warp(std::uint32_t mask);
void fence(bool is_system);
std::uint32_t shuffle(char mode, std::uint32_t mask, std::uint32_t value, int lane, int width);
std::uint32_t vote(char mode, std::uint32_t mask, bool value);
void* to_shared(std::size_t address);
std::size_t from_shared(void const* address);
void* in_cluster(void const* own, unsigned rank);
unsigned long long ticks();

// An atomic operation on 4 or 8 bytes: "add", "cas", ... of "u32", "f32", ...
std::uint64_t atomic(char const* operation, char const* type, void* at, std::uint64_t x, std::uint64_t y);

template <class T>
std::uint64_t bits_of(T x) {
  std::uint64_t bits = 0;
  __builtin_memcpy(&bits, &x, sizeof(x));
  return bits;
}
template <class T>
T value_of(std::uint64_t bits) {
  T x;
  __builtin_memcpy(&x, &bits, sizeof(x));
  return x;
}
template <class T>
constexpr char const* type_name() {
  if constexpr (std::is_same_v<T, float>) return "f32";
  if constexpr (std::is_same_v<T, double>) return "f64";
  if constexpr (std::is_same_v<T, __half2>) return "f16x2";
  if constexpr (std::is_same_v<T, __nv_bfloat162>) return "bf16x2";
  if constexpr (std::is_same_v<T, __half>) return "f16";
  if constexpr (std::is_same_v<T, __nv_bfloat16>) return "bf16";
  if constexpr (std::is_signed_v<T>) return sizeof(T) == 8 ? "s64" : "s32";
  return sizeof(T) == 8 ? "u64" : "u32";
}
template <class T, class X>
T atomic_operation(char const* operation, T* at, X x, T y = T{}) {
  return value_of<T>(atomic(operation, type_name<T>(), at, bits_of(static_cast<T>(x)), bits_of(y)));
}

// Any type of up to 8 bytes.
template <class T>
T shuffled(char mode, unsigned mask, T value, int lane, int width) {
  static_assert(sizeof(T) <= 8);
  std::uint64_t const bits = bits_of(value);
  std::uint64_t result = shuffle(mode, mask, static_cast<std::uint32_t>(bits), lane, width);
  if constexpr (sizeof(T) > 4) {
    result |= std::uint64_t{shuffle(mode, mask, static_cast<std::uint32_t>(bits >> 32), lane, width)} << 32;
  }
  return value_of<T>(result);
}

// Of the four bytes of each word, as numbers of type Byte.
template <class Byte, class Word>
Word dot_product(Word x, Word y, Word sum) {
  for (int i = 0; i < 4; ++i) sum += static_cast<Word>(static_cast<Byte>(x >> 8 * i) * static_cast<Byte>(y >> 8 * i));
  return sum;
}

}  // namespace cute_py::workbench

inline constexpr int warpSize = 32;

inline void __syncthreads() { ::cute_py::workbench::sync_threads(); }
inline int __syncthreads_count(int value) {
  return static_cast<int>(::cute_py::workbench::sync_threads_and_vote('c', value != 0));
}
inline int __syncthreads_and(int value) {
  return static_cast<int>(::cute_py::workbench::sync_threads_and_vote('l', value != 0));
}
inline int __syncthreads_or(int value) {
  return static_cast<int>(::cute_py::workbench::sync_threads_and_vote('n', value != 0));
}
inline void __syncwarp(unsigned mask = 0xffffffffu) { ::cute_py::workbench::sync_warp(mask); }
inline void __threadfence() { ::cute_py::workbench::fence(false); }
inline void __threadfence_block() { ::cute_py::workbench::fence(false); }
inline void __threadfence_system() { ::cute_py::workbench::fence(true); }

template <class T>
T __shfl_sync(unsigned mask, T value, int lane, int width = 32) {
  return ::cute_py::workbench::shuffled('i', mask, value, lane, width);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32) {
  return ::cute_py::workbench::shuffled('u', mask, value, static_cast<int>(by), width);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32) {
  return ::cute_py::workbench::shuffled('d', mask, value, static_cast<int>(by), width);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int by, int width = 32) {
  return ::cute_py::workbench::shuffled('b', mask, value, by, width);
}
inline int __all_sync(unsigned mask, int value) {
  return static_cast<int>(::cute_py::workbench::vote('l', mask, value != 0));
}
inline int __any_sync(unsigned mask, int value) {
  return static_cast<int>(::cute_py::workbench::vote('n', mask, value != 0));
}
inline unsigned __ballot_sync(unsigned mask, int value) { return ::cute_py::workbench::vote('b', mask, value != 0); }
inline unsigned __activemask() { return 0xffffffffu; }

template <class T, class X>
T atomicAdd(T* at, X x) {
  return ::cute_py::workbench::atomic_operation("add", at, x);
}
template <class T, class X>
T atomicSub(T* at, X x) {
  return ::cute_py::workbench::atomic_operation("add", at, -x);
}
template <class T, class X>
T atomicMin(T* at, X x) {
  return ::cute_py::workbench::atomic_operation("min", at, x);
}
template <class T, class X>
T atomicMax(T* at, X x) {
  return ::cute_py::workbench::atomic_operation("max", at, x);
}
template <class T, class X>
T atomicExch(T* at, X x) {
  return ::cute_py::workbench::atomic_operation("exch", at, x);
}
template <class T, class X>
T atomicAnd(T* at, X x) {
  return ::cute_py::workbench::atomic_operation("and", at, x);
}
template <class T, class X>
T atomicOr(T* at, X x) {
  return ::cute_py::workbench::atomic_operation("or", at, x);
}
template <class T, class X>
T atomicXor(T* at, X x) {
  return ::cute_py::workbench::atomic_operation("xor", at, x);
}
inline unsigned atomicInc(unsigned* at, unsigned x) { return ::cute_py::workbench::atomic_operation("inc", at, x); }
inline unsigned atomicDec(unsigned* at, unsigned x) { return ::cute_py::workbench::atomic_operation("dec", at, x); }
template <class T, class X, class Y>
T atomicCAS(T* at, X expected, Y to) {
  return ::cute_py::workbench::atomic_operation("cas", at, expected, static_cast<T>(to));
}

template <class T>
T __ldg(T const* at) {
  return *at;
}
template <class T>
T __ldcg(T const* at) {
  return *at;
}
template <class T>
T __ldcs(T const* at) {
  return *at;
}
inline std::size_t __cvta_generic_to_shared(void const* at) { return ::cute_py::workbench::from_shared(at); }
inline void* __cvta_shared_to_generic(std::size_t at) { return ::cute_py::workbench::to_shared(at); }
inline std::size_t __cvta_generic_to_global(void const* at) { return reinterpret_cast<std::size_t>(at); }
template <class T>
T* __cluster_map_shared_rank(T* at, unsigned rank) {
  return static_cast<T*>(::cute_py::workbench::in_cluster(at, rank));
}
inline void cudaTriggerProgrammaticLaunchCompletion() {}
inline void cudaGridDependencySynchronize() {}
inline void __nanosleep(unsigned) {}
[[noreturn]] inline void __trap() {
  ::cute_py::workbench::ptx("trap;");
  __builtin_unreachable();
}
inline long long clock64() { return static_cast<long long>(::cute_py::workbench::ticks()); }

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline unsigned __umulhi(unsigned x, unsigned y) { return static_cast<unsigned>((std::uint64_t{x} * y) >> 32); }
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(x) * y) >> 64);
}
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  std::uint64_t const bytes = std::uint64_t{y} << 32 | x;
  unsigned made = 0;
  for (unsigned i = 0; i < 4; ++i) {
    unsigned const chosen = selector >> 4 * i & 0xf;
    auto const byte = static_cast<std::uint8_t>(bytes >> 8 * (chosen & 7));
    unsigned const filled = byte >= 0x80 ? 0xff : 0;  // as prmt, by the upper bit
    made |= ((chosen & 8) != 0 ? filled : byte) << 8 * i;
  }
  return made;
}
inline int __dp4a(int x, int y, int sum) { return ::cute_py::workbench::dot_product<std::int8_t>(x, y, sum); }
inline unsigned __dp4a(unsigned x, unsigned y, unsigned sum) {
  return ::cute_py::workbench::dot_product<std::uint8_t>(x, y, sum);
}
inline void __brkpt(int = 0) { ::cute_py::workbench::ptx("brkpt;"); }
inline int __mulhi(int x, int y) { return static_cast<int>((std::int64_t{x} * y) >> 32); }
inline float __fmaf_rn(float x, float y, float z) { return std::fma(x, y, z); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline double rsqrt(double x) { return 1 / std::sqrt(x); }
inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1) : 0; }
inline int __float_as_int(float x) { return ::cute_py::workbench::value_of<int>(::cute_py::workbench::bits_of(x)); }
inline unsigned __float_as_uint(float x) {
  return ::cute_py::workbench::value_of<unsigned>(::cute_py::workbench::bits_of(x));
}
inline float __int_as_float(int x) { return ::cute_py::workbench::value_of<float>(::cute_py::workbench::bits_of(x)); }
inline float __uint_as_float(unsigned x) {
  return ::cute_py::workbench::value_of<float>(::cute_py::workbench::bits_of(x));
}
inline int __float2int_rn(float x) { return static_cast<int>(std::nearbyint(x)); }
inline int __float2int_rz(float x) { return static_cast<int>(x); }
inline float __int2float_rn(int x) { return static_cast<float>(x); }
using std::max;
using std::min;

// Of float16 and bfloat16: what CUDA's headers have for nvcc alone.
inline __half __hfma(__half x, __half y, __half z) {
  return __float2half_rn(std::fma(__half2float(x), __half2float(y), __half2float(z)));
}
inline __nv_bfloat16 __hfma(__nv_bfloat16 x, __nv_bfloat16 y, __nv_bfloat16 z) {
  return __float2bfloat16_rn(std::fma(__bfloat162float(x), __bfloat162float(y), __bfloat162float(z)));
}
inline __half2 __hfma2(__half2 x, __half2 y, __half2 z) { return {__hfma(x.x, y.x, z.x), __hfma(x.y, y.y, z.y)}; }
inline __nv_bfloat162 __hfma2(__nv_bfloat162 x, __nv_bfloat162 y, __nv_bfloat162 z) {
  return {__hfma(x.x, y.x, z.x), __hfma(x.y, y.y, z.y)};
}
inline __half __hfma_relu(__half x, __half y, __half z) {
  return __float2half_rn(std::max(0.0f, __half2float(__hfma(x, y, z))));
}
inline __half2 __hfma2_relu(__half2 x, __half2 y, __half2 z) {
  return {__hfma_relu(x.x, y.x, z.x), __hfma_relu(x.y, y.y, z.y)};
}
inline int __half2int_rn(__half x) { return static_cast<int>(std::nearbyint(__half2float(x))); }
#define CUTE_PY_OF_HALVES(name, expression)                                               \
  inline __half h##name(__half given) {                                                   \
    float const x = __half2float(given);                                                  \
    return __float2half_rn(expression);                                                   \
  }                                                                                       \
  inline __half2 h2##name(__half2 given) { return {h##name(given.x), h##name(given.y)}; } \
  inline __nv_bfloat16 h##name(__nv_bfloat16 given) {                                     \
    float const x = __bfloat162float(given);                                              \
    return __float2bfloat16_rn(expression);                                               \
  }                                                                                       \
  inline __nv_bfloat162 h2##name(__nv_bfloat162 given) { return {h##name(given.x), h##name(given.y)}; }
CUTE_PY_OF_HALVES(sqrt, std::sqrt(x))
CUTE_PY_OF_HALVES(rsqrt, 1 / std::sqrt(x))
CUTE_PY_OF_HALVES(rcp, 1 / x)
CUTE_PY_OF_HALVES(exp, std::exp(x))
CUTE_PY_OF_HALVES(exp2, std::exp2(x))
CUTE_PY_OF_HALVES(log, std::log(x))
CUTE_PY_OF_HALVES(log2, std::log2(x))
CUTE_PY_OF_HALVES(sin, std::sin(x))
CUTE_PY_OF_HALVES(cos, std::cos(x))
CUTE_PY_OF_HALVES(tanh, std::tanh(x))
#undef CUTE_PY_OF_HALVES

// What CUDA's headers give to nvcc alone.
template <class T>
cudaError_t cudaFuncSetAttribute(T* kernel, cudaFuncAttribute attribute, int value) {
  return ::cudaFuncSetAttribute(reinterpret_cast<void const*>(kernel), attribute, value);
}
template <class T>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* to, T* kernel) {
  return ::cudaFuncGetAttributes(to, reinterpret_cast<void const*>(kernel));
}
template <class T>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* to, T* kernel, int threads, std::size_t bytes) {
  return ::cudaOccupancyMaxActiveBlocksPerMultiprocessor(to, reinterpret_cast<void const*>(kernel), threads, bytes);
}
template <class T>
cudaError_t cudaMemcpyToSymbol(T& symbol, void const* from, std::size_t bytes, std::size_t offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  return ::cudaMemcpyToSymbol(static_cast<void const*>(&symbol), from, bytes, offset, kind);
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void* to, T& symbol, std::size_t bytes, std::size_t offset = 0,
                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
  return ::cudaMemcpyFromSymbol(to, static_cast<void const*>(&symbol), bytes, offset, kind);
}
