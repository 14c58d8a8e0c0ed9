// Lines of float32 to and from float16 and bfloat16
#include "cpu/simd.inl"
#include "cpu/transpose/transpose.hpp"

namespace cute_py::cpu {
namespace {

template <DType type>
void narrow_line(std::int64_t count, float const* from, std::uint16_t* to) {
  std::int64_t i = 0;
  for (; i + kLanes<float> <= count; i += kLanes<float>) {
    *reinterpret_cast<Integers::LooseHalves*>(to + i) = narrowed<type>(load(from + i));
  }
  if (i == count) return;
  auto const rest = narrowed<type>(load_partial(from + i, count - i));
  __builtin_memcpy(to + i, &rest, (count - i) * sizeof(std::uint16_t));
}

template <DType type>
void widen_line(std::int64_t count, std::uint16_t const* from, float* to) {
  std::int64_t i = 0;
  for (; i + kLanes<float> <= count; i += kLanes<float>) {
    store(to + i, widened<type>(*reinterpret_cast<Integers::LooseHalves const*>(from + i)));
  }
  if (i == count) return;
  Integers::Halves rest = {};
  __builtin_memcpy(&rest, from + i, (count - i) * sizeof(std::uint16_t));
  store_partial(to + i, count - i, widened<type>(rest));
}

bool narrow(DType type, std::int64_t count, float const* from, void* to) {
  auto* const halves = static_cast<std::uint16_t*>(to);
  if (type == DType::f16) narrow_line<DType::f16>(count, from, halves);
  if (type == DType::bf16) narrow_line<DType::bf16>(count, from, halves);
  return type == DType::f16 || type == DType::bf16;
}

bool widen(DType type, std::int64_t count, void const* from, float* to) {
  auto const* const halves = static_cast<std::uint16_t const*>(from);
  if (type == DType::f16) widen_line<DType::f16>(count, halves, to);
  if (type == DType::bf16) widen_line<DType::bf16>(count, halves, to);
  return type == DType::f16 || type == DType::bf16;
}

constexpr ConvertKernel kConvert = {.narrow = &narrow, .widen = &widen};

}  // namespace
}  // namespace cute_py::cpu
