#pragma once

namespace cute_py {

// The instruction set that a CPU kernel was compiled for.
enum class Isa { baseline, avx2, avx512, avx512_vnni };

constexpr char const* name_of(Isa isa) {
  switch (isa) {
    case Isa::baseline:
      return "baseline";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
    case Isa::avx512_vnni:
      return "avx512_vnni";
  }
  return "";
}

}  // namespace cute_py
