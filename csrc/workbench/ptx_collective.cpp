#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "numeric/tensor_core.hpp"
#include "workbench/ptx.hpp"

// Instructions that the lanes of a warp execute together: mma.sync, ldmatrix, shuffles, votes. The last lane that comes
// does the work for all.
namespace cute_py::workbench {
using numeric::DecodedFactor;
using numeric::FactorFormat;
using numeric::format_of;
using numeric::mma_sync_core;
using numeric::tensor_row;
using numeric::tensor_sum;
using numeric::TensorCore;

float element_to_float(std::string_view type, std::uint32_t bits) {
  if (type == "f16") return half_to_float(static_cast<std::uint16_t>(bits));
  if (type == "bf16") return bfloat_to_float(static_cast<std::uint16_t>(bits));
  if (type == "tf32") {
    std::uint32_t const kept = bits & ~0x1fffu;
    float value;
    std::memcpy(&value, &kept, sizeof(value));
    return value;
  }
  if (type == "s8") return static_cast<std::int8_t>(bits);
  if (type == "u8") return static_cast<float>(bits & 0xff);
  if (type == "s4")
    return static_cast<float>((bits & 0xf) >= 8 ? static_cast<int>(bits & 0xf) - 16 : static_cast<int>(bits & 0xf));
  if (type == "u4") return static_cast<float>(bits & 0xf);
  // Floats of few bits: a sign, an exponent, a mantissa.
  struct Small {
    std::string_view name;
    int exponent;
    int mantissa;
    int bias;
  };
  static constexpr Small kSmall[] = {
      {"e4m3", 4, 3, 7}, {"e5m2", 5, 2, 15}, {"e3m2", 3, 2, 3}, {"e2m3", 2, 3, 1}, {"e2m1", 2, 1, 1}};
  for (auto const& small : kSmall) {
    if (small.name != type) continue;
    int const width = small.exponent + small.mantissa;
    auto const mantissa = static_cast<int>(bits & ((1u << small.mantissa) - 1));
    auto const exponent = static_cast<int>(bits >> small.mantissa & ((1u << small.exponent) - 1));
    bool const negative = (bits >> width & 1) != 0;
    float value;
    int const most = (1 << small.exponent) - 1;
    if (type == "e5m2" && exponent == most) {
      value = mantissa == 0 ? INFINITY : NAN;
    } else if (type == "e4m3" && exponent == most && mantissa == 7) {
      value = NAN;
    } else if (exponent == 0) {
      value = std::ldexp(static_cast<float>(mantissa), 1 - small.bias - small.mantissa);
    } else {
      value = std::ldexp(static_cast<float>(mantissa + (1 << small.mantissa)), exponent - small.bias - small.mantissa);
    }
    return negative ? -value : value;
  }
  return NAN;
}

namespace {

// An element's bits as a number, without a look at its type's name.
using Decode = float (*)(std::uint32_t bits);

template <int which>
float decode_byte(std::uint32_t bits) {
  static constexpr std::string_view kTypes[] = {"e4m3", "e5m2", "e3m2", "e2m3", "e2m1"};
  static float const* const table = [] {
    auto* const made = new float[256];
    for (std::uint32_t i = 0; i < 256; ++i) made[i] = element_to_float(kTypes[which], i);
    return made;
  }();
  return table[bits & 0xff];
}

Decode decode_of(std::string const& type) {
  if (type == "f16") return [](std::uint32_t bits) { return half_to_float(static_cast<std::uint16_t>(bits)); };
  if (type == "bf16") return [](std::uint32_t bits) { return bfloat_to_float(static_cast<std::uint16_t>(bits)); };
  if (type == "tf32") return [](std::uint32_t bits) { return element_to_float("tf32", bits); };
  if (type == "s8") return [](std::uint32_t bits) { return static_cast<float>(static_cast<std::int8_t>(bits)); };
  if (type == "u8") return [](std::uint32_t bits) { return static_cast<float>(bits & 0xff); };
  if (type == "s4") return [](std::uint32_t bits) { return element_to_float("s4", bits); };
  if (type == "u4") return [](std::uint32_t bits) { return element_to_float("u4", bits); };
  if (type == "b1") return [](std::uint32_t bits) { return static_cast<float>(bits & 1); };
  if (type == "e4m3") return &decode_byte<0>;
  if (type == "e5m2") return &decode_byte<1>;
  if (type == "e3m2") return &decode_byte<2>;
  if (type == "e2m3") return &decode_byte<3>;
  if (type == "e2m1") return &decode_byte<4>;
  return nullptr;
}

enum class Sum : std::uint8_t { f16, f32, f64, s32 };

Sum sum_of_type(std::string const& type) {
  return type == "f16" ? Sum::f16 : type == "f64" ? Sum::f64 : type == "s32" ? Sum::s32 : Sum::f32;
}

struct Lane {
  Frame* frame;
  Statement const* statement;
  std::uint64_t value;  // of instructions with one input
  std::uint32_t taken;  // and what the lane gets
  bool holds;
  char* row;  // whose address it gives, of ldmatrix and stmatrix
};

Lane& lane_of(Collective const& c, int lane) { return *static_cast<Lane*>(c.lanes[static_cast<std::size_t>(lane)]); }

Argument const& part(Argument const& vector, int i) {
  return vector.kind == Argument::Kind::vector ? vector.parts[static_cast<std::size_t>(i)] : vector;
}
int parts_of(Argument const& a) { return a.kind == Argument::Kind::vector ? static_cast<int>(a.parts.size()) : 1; }

// mma.sync.aligned.mXnYkZ.alayout.blayout{.satfinite}.d.a.b.c
struct Mma {
  int m = 0;
  int n = 0;
  int k = 0;
  std::string d;
  std::string a;
  std::string b;
  std::string c;
  Decode decode_a = nullptr;
  Decode decode_b = nullptr;
  Sum sum_d = Sum::f32;
  Sum sum_c = Sum::f32;
  int bits_a = 0;
  int bits_b = 0;
  bool a_is_row = true;
  bool b_is_row = false;
  bool saturates = false;
  bool is_exclusive_or = false;
  bool is_known = false;
  TensorCore core{};  // of floats
  FactorFormat format_a{};
  FactorFormat format_b{};
};

int bits_of(std::string const& type) {
  if (type == "f64") return 64;
  if (type == "tf32" || type == "f32" || type == "s32") return 32;
  if (type == "f16" || type == "bf16") return 16;
  if (type == "s4" || type == "u4") return 4;
  if (type == "b1") return 1;
  return 8;  // e2m1 and kin lie in bytes here
}

Mma mma_of(Statement const& s) {
  Mma made;
  std::vector<std::string> types;
  int layouts = 0;
  for (auto const& part : s.parts) {
    if (std::sscanf(part.c_str(), "m%dn%dk%d", &made.m, &made.n, &made.k) == 3) continue;
    if (part == "row" || part == "col") {
      (layouts++ == 0 ? made.a_is_row : made.b_is_row) = part == "row";
    } else if (part == "satfinite") {
      made.saturates = true;
    } else if (part == "xor") {
      made.is_exclusive_or = true;
    } else if (layouts == 2 && part != "and" && part != "popc") {
      types.push_back(part);
    }
  }
  if (types.size() != 4) return made;
  made.d = types[0];
  made.a = types[1];
  made.b = types[2];
  made.c = types[3];
  made.bits_a = bits_of(made.a);
  made.bits_b = bits_of(made.b);
  made.decode_a = decode_of(made.a);
  made.decode_b = decode_of(made.b);
  made.sum_d = sum_of_type(made.d);
  made.sum_c = sum_of_type(made.c);
  bool const is_of_volta = made.m == 8 && made.k == 4;
  int const bytes = made.bits_a == 32 ? 4 : made.bits_a == 16 ? 2 : 1;
  made.core = mma_sync_core(options().architecture, is_of_volta, bytes, made.sum_d == Sum::f16);
  made.format_a = format_of(made.a);
  made.format_b = format_of(made.b);
  bool const has_types = made.a == "f64" || (made.decode_a != nullptr && made.decode_b != nullptr);
  made.is_known = has_types && made.bits_a == made.bits_b && !s.has("block_scale");
  return made;
}

// Where the elements of a lane's registers are. Registers of 32 bits (64 of double precision) hold elements that are
// adjacent along K; a lane's group is a row of A or a column of B.
struct Fragment {
  int rows;  // M or N
  int k;
  int bits;
};

template <class Visit>
void for_each_element(Fragment const& f, int lane, int registers, Visit const& visit) {
  int const each = f.bits == 64 ? 1 : 32 / f.bits;
  for (int r = 0; r < registers; ++r) {
    int const row = lane / 4 + (f.rows == 16 ? r % 2 * 8 : 0);
    int const block = f.rows == 16 ? r / 2 : r;
    for (int i = 0; i < each; ++i) visit(r, i, row, (block * 4 + lane % 4) * each + i);
  }
}

template <class Number>
Number number_at(Decode decode, int bits, std::uint64_t value, int i) {
  if constexpr (std::is_same_v<Number, double>) {
    Number number;
    std::memcpy(&number, &value, sizeof(number));
    return number;
  } else {
    auto const element = static_cast<std::uint32_t>(value >> i * bits);
    return decode(bits == 32 ? element : element & ((1u << bits) - 1));
  }
}

// Integers of few bits, exact as floats; sums are of 32 bits.
std::int32_t integer_sum(Mma const& mma, float const* x, float const* y, std::int32_t sum) {
  auto total = static_cast<std::int64_t>(sum);
  for (int k = 0; k < mma.k; ++k) {
    auto const p = static_cast<std::int64_t>(x[k]);
    auto const q = static_cast<std::int64_t>(y[k]);
    total += mma.bits_a > 1 ? p * q : mma.is_exclusive_or ? p ^ q : p & q;
  }
  if (mma.saturates) total = std::clamp<std::int64_t>(total, INT32_MIN, INT32_MAX);
  return static_cast<std::int32_t>(total);
}

float bits_to_float(std::uint64_t bits) {
  auto const low = static_cast<std::uint32_t>(bits);
  float value;
  std::memcpy(&value, &low, sizeof(value));
  return value;
}

std::uint32_t float_to_bits(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

// Visits (register, part of it, m, n) of a lane's sums. Of float16 two adjacent ones share a register.
template <class Visit>
void for_each_sum(Mma const& mma, int lane, bool is_half, Visit const& visit) {
  int const rows = mma.m == 16 ? 2 : 1;
  for (int row = 0; row < rows; ++row) {
    for (int i = 0; i < 2; ++i) {
      int const index = is_half ? row : row * 2 + i;
      visit(index, is_half ? i : 0, lane / 4 + row * 8, lane % 4 * 2 + i);
    }
  }
}

float number_of_sum(Sum type, std::uint64_t bits, int at) {
  return type == Sum::f16 ? half_to_float(static_cast<std::uint16_t>(bits >> 16 * at)) : bits_to_float(bits);
}

std::uint64_t bits_of_sum(Sum type, float value) {
  return type == Sum::f16 ? float_to_half(value) : float_to_bits(value);
}

// mma.m8n8k4 with float16, of Volta: four products of 8x8x4, each by two groups of four lanes, 16 apart.
void multiply_volta(Mma const& mma, Collective& c) {
  auto const half_at = [&](int lane, std::size_t argument, int i) {
    Lane const& own = lane_of(c, lane);
    std::uint64_t const bits = own.frame->get(part(own.statement->arguments[argument], i / 2));
    return half_to_float(static_cast<std::uint16_t>(bits >> 16 * (i % 2)));
  };
  auto const place = [](Sum type, int lane, int i, int& m, int& n) {
    int const upper = lane >= 16 ? 4 : 0;
    if (type == Sum::f16) {
      m = lane % 4 + upper;
      n = i;
    } else {
      m = (lane & 1) + (i & 2) + upper;
      n = (i & 4) + (lane & 2) + (i & 1);
    }
  };
  for (int quad = 0; quad < 4; ++quad) {
    float a[8][4];
    float b[8][4];
    float sums[8][8];
    for (int j = 0; j < 8; ++j) {
      int const lane = quad * 4 + j % 4 + (j / 4) * 16;
      int const upper = j / 4 * 4;
      for (int i = 0; i < 4; ++i) {
        if (mma.a_is_row) {
          a[lane % 4 + upper][i] = half_at(lane, 1, i);
        } else {
          a[i + upper][lane % 4] = half_at(lane, 1, i);
        }
        if (mma.b_is_row) {
          b[i + upper][lane % 4] = half_at(lane, 2, i);
        } else {
          b[lane % 4 + upper][i] = half_at(lane, 2, i);
        }
      }
      for (int i = 0; i < 8; ++i) {
        Lane const& own = lane_of(c, lane);
        int m = 0;
        int n = 0;
        place(mma.sum_c, lane, i, m, n);
        bool const half = mma.sum_c == Sum::f16;
        std::uint64_t const bits = own.frame->get(part(own.statement->arguments[3], half ? i / 2 : i));
        sums[m][n] = number_of_sum(mma.sum_c, bits, half ? i % 2 : 0);
      }
    }
    for (int m = 0; m < 8; ++m) {
      for (int n = 0; n < 8; ++n)
        sums[m][n] = tensor_sum(mma.core, mma.format_a, mma.format_b, a[m], b[n], 4, sums[m][n], mma.sum_c == Sum::f16);
    }
    for (int j = 0; j < 8; ++j) {
      int const lane = quad * 4 + j % 4 + (j / 4) * 16;
      Lane const& own = lane_of(c, lane);
      bool const half = mma.sum_d == Sum::f16;
      std::uint64_t registers[8] = {};
      for (int i = 0; i < 8; ++i) {
        int m = 0;
        int n = 0;
        place(mma.sum_d, lane, i, m, n);
        registers[half ? i / 2 : i] |= bits_of_sum(mma.sum_d, sums[m][n]) << (half ? 16 * (i % 2) : 0);
      }
      for (int i = 0; i < (half ? 4 : 8); ++i) own.frame->set(part(own.statement->arguments[0], i), registers[i]);
    }
  }
}

// A (m,k) and B (n,k) as numbers, of a tile of at most 16 x 8 x 256.
template <class Number>
struct Factors {
  static constexpr int kMostK = 256;
  Number a[16 * kMostK];
  Number b[8 * kMostK];
};

template <class Number>
void collect(Mma const& mma, Collective const& c, Factors<Number>& factors) {
  for (int lane = 0; lane < kWarp; ++lane) {
    Lane const& own = lane_of(c, lane);
    auto const& arguments = own.statement->arguments;
    auto const of = [&](Argument const& registers, Fragment const& fragment, Decode decode, Number* to) {
      for_each_element(fragment, lane, parts_of(registers), [&](int r, int i, int row, int k) {
        to[row * fragment.k + k] = number_at<Number>(decode, fragment.bits, own.frame->get(part(registers, r)), i);
      });
    };
    of(arguments[1], {mma.m, mma.k, mma.bits_a}, mma.decode_a, factors.a);
    of(arguments[2], {mma.n, mma.k, mma.bits_b}, mma.decode_b, factors.b);
  }
}

// Floats as a tensor core adds them; doubles by one fused multiply-add after the other.
void multiply_warp(Mma const& mma, Collective& c) {
  static thread_local Factors<float> singles;
  static thread_local Factors<double> doubles;
  constexpr int kColumns = 8;
  bool const is_double = mma.sum_d == Sum::f64;
  bool const is_integer = mma.sum_d == Sum::s32;
  is_double ? collect(mma, c, doubles) : collect(mma, c, singles);
  std::uint64_t given[kWarp][4] = {};
  float sums[16][kColumns] = {};
  for (int lane = 0; lane < kWarp; ++lane) {
    Lane const& own = lane_of(c, lane);
    Argument const& from = own.statement->arguments[3];
    for (int r = 0; r < parts_of(from); ++r) given[lane][r] = own.frame->get(part(from, r));
    if (is_double || is_integer) continue;
    for_each_sum(mma, lane, mma.sum_c == Sum::f16,
                 [&](int r, int at, int m, int n) { sums[m][n] = number_of_sum(mma.sum_c, given[lane][r], at); });
  }
  if (!is_double && !is_integer) {
    DecodedFactor b(mma.format_b, mma.k, kColumns);
    for (int n = 0; n < kColumns; ++n) {
      for (int k = 0; k < mma.k; ++k) b.set(k, n, singles.b[n * mma.k + k]);
    }
    for (int m = 0; m < mma.m; ++m)
      tensor_row(mma.core, mma.format_a, singles.a + m * mma.k, b, mma.k, sums[m], mma.sum_c == Sum::f16);
  }
  for (int lane = 0; lane < kWarp; ++lane) {
    Lane const& own = lane_of(c, lane);
    Argument const& to = own.statement->arguments[0];
    std::uint64_t registers[4] = {};
    for_each_sum(mma, lane, mma.sum_d == Sum::f16, [&](int r, int at, int m, int n) {
      if (is_double) {
        double sum;
        std::memcpy(&sum, &given[lane][r], sizeof(sum));
        double const* const x = doubles.a + m * mma.k;
        double const* const y = doubles.b + n * mma.k;
        for (int k = 0; k < mma.k; ++k) sum = std::fma(x[k], y[k], sum);
        std::memcpy(&registers[r], &sum, sizeof(sum));
      } else if (is_integer) {
        float const* const x = singles.a + m * mma.k;
        float const* const y = singles.b + n * mma.k;
        registers[r] = static_cast<std::uint32_t>(integer_sum(mma, x, y, static_cast<std::int32_t>(given[lane][r])));
      } else {
        registers[r] |= bits_of_sum(mma.sum_d, sums[m][n]) << 16 * at;
      }
    });
    for (int r = 0; r < parts_of(to); ++r) own.frame->set(part(to, r), registers[r]);
  }
}

// Of an instruction that all 32 lanes execute.
Collective& whole_warp(Frame const& f, Statement const& s) {
  Collective& c = f.cluster.collective();
  if (c.arrived != ~0u) f.refuse(s, "not all lanes of the warp execute it");
  return c;
}

void mma_sync(Frame& f, Statement const& s) {
  auto& prepared = const_cast<Statement&>(s).prepared;
  if (prepared == nullptr) prepared = std::make_shared<Mma>(mma_of(s));
  Mma const& mma = *static_cast<Mma const*>(prepared.get());
  bool const is_volta = mma.m == 8 && mma.n == 8 && mma.k == 4 && mma.a == "f16";
  if (!mma.is_known && !is_volta) return f.refuse(s, "the emulator does not know this product");
  Lane own{&f, &s, 0, 0, false, nullptr};
  if (!f.cluster.gather(&s, ~0u, &own)) return;
  Collective& c = whole_warp(f, s);
  is_volta ? multiply_volta(mma, c) : multiply_warp(mma, c);
  f.cluster.go_on();
}

// ldmatrix.sync.aligned.m8n8.xN{.trans}.shared.b16: lane i gives the address of row i % 8 of matrix i / 8. No lane goes
// on before all rows are read, or written by stmatrix. These are weak accesses all the same: bar.warp.sync orders them.
void load_matrix(Frame& f, Statement const& s) {
  if (!s.has("b16")) return f.refuse(s, "the emulator knows matrices of 16-bit elements alone");
  Argument const& to = s.arguments[0];
  int const count = parts_of(to);
  bool const transposed = s.has("trans");
  int const lane = static_cast<int>(special(f.cluster, laneid));
  Lane own{&f, &s, 0, 0, false, nullptr};
  if (lane < 8 * count) {
    own.row = static_cast<char*>(f.address(s, s.arguments[1]));
    access(own.row, 16, false, true, f.thread.code);
  }
  std::uint32_t registers[4] = {};
  if (f.cluster.gather(&s, ~0u, &own)) {
    Collective& c = whole_warp(f, s);
    for (int l = 0; l < kWarp; ++l) {
      if ((c.arrived >> l & 1) == 0) continue;
      Lane const& other = lane_of(c, l);
      for (int matrix = 0; matrix < count; ++matrix) {
        std::uint32_t value = 0;
        for (int i = 0; i < 2; ++i) {
          int const row = transposed ? l % 4 * 2 + i : l / 4;
          int const column = transposed ? l / 4 : l % 4 * 2 + i;
          std::uint16_t element;
          std::memcpy(&element, lane_of(c, matrix * 8 + row).row + 2 * column, sizeof(element));
          value |= static_cast<std::uint32_t>(element) << 16 * i;
        }
        registers[matrix] = value;
      }
      for (int matrix = 0; matrix < count; ++matrix) {
        other.frame->set(part(other.statement->arguments[0], matrix), registers[matrix]);
      }
    }
    f.cluster.go_on();
  }
}

void store_matrix(Frame& f, Statement const& s) {
  if (!s.has("b16")) return f.refuse(s, "the emulator knows matrices of 16-bit elements alone");
  Argument const& from = s.arguments[1];
  int const count = parts_of(from);
  bool const transposed = s.has("trans");
  int const lane = static_cast<int>(special(f.cluster, laneid));
  Lane own{&f, &s, 0, 0, false, nullptr};
  if (lane < 8 * count) {
    own.row = static_cast<char*>(f.address(s, s.arguments[0]));
    access(own.row, 16, true, true, f.thread.code);
  }
  if (f.cluster.gather(&s, ~0u, &own)) {
    Collective& c = whole_warp(f, s);
    for (int l = 0; l < kWarp; ++l) {
      if ((c.arrived >> l & 1) == 0) continue;
      Lane const& other = lane_of(c, l);
      for (int matrix = 0; matrix < count; ++matrix) {
        auto const value = static_cast<std::uint32_t>(other.frame->get(part(other.statement->arguments[1], matrix)));
        for (int i = 0; i < 2; ++i) {
          int const row = transposed ? l % 4 * 2 + i : l / 4;
          int const column = transposed ? l / 4 : l % 4 * 2 + i;
          auto const element = static_cast<std::uint16_t>(value >> 16 * i);
          std::memcpy(lane_of(c, matrix * 8 + row).row + 2 * column, &element, sizeof(element));
        }
      }
    }
    f.cluster.go_on();
  }
}

void transpose_matrix(Frame& f, Statement const& s) {
  Lane own{&f, &s, f.get(s.arguments[1]), 0, false, nullptr};
  if (f.cluster.gather(&s, ~0u, &own)) {
    Collective& c = whole_warp(f, s);
    for (int l = 0; l < kWarp; ++l) {
      Lane& other = lane_of(c, l);
      for (int i = 0; i < 2; ++i) {
        int const row = l % 4 * 2 + i;
        int const column = l / 4;
        std::uint64_t const given = lane_of(c, row * 4 + column / 2).value;
        other.taken |= static_cast<std::uint32_t>(given >> 16 * (column % 2) & 0xffff) << 16 * i;
      }
    }
    f.cluster.go_on();
  }
  f.set(s.arguments[0], own.taken);
}

// shfl.sync.mode.b32 d{|p}, a, b, c, mask
void shuffle(Frame& f, Statement const& s) {
  Lane own{&f, &s, f.get(s.arguments[1]), 0, false, nullptr};
  auto const mask = static_cast<std::uint32_t>(f.get(s.arguments[4]));
  if (f.cluster.gather(&s, mask, &own)) {
    Collective& c = f.cluster.collective();
    for (int l = 0; l < kWarp; ++l) {
      if ((c.arrived >> l & 1) == 0) continue;
      Lane& other = lane_of(c, l);
      auto const b = static_cast<int>(other.frame->get(other.statement->arguments[2]));
      auto const limits = static_cast<int>(other.frame->get(other.statement->arguments[3]));
      int const segment = limits >> 8 & 0x1f;
      int const clamp = limits & 0x1f;
      int const most = (l & segment) | (clamp & ~segment);
      int const least = l & segment;
      int from = l;
      bool inside = true;
      if (s.has("up")) {
        from = l - b;
        inside = from >= most;
      } else if (s.has("down")) {
        from = l + b;
        inside = from <= most;
      } else if (s.has("bfly")) {
        from = l ^ b;
        inside = from <= most;
      } else {
        from = least | (b & ~segment & 0x1f);
        inside = from <= most;
      }
      if (!inside) from = l;
      if ((c.arrived >> from & 1) == 0)
        f.refuse(
            s, "lane " + std::to_string(l) + " takes from lane " + std::to_string(from) + ", which is not in the mask");
      other.taken = static_cast<std::uint32_t>(lane_of(c, from).value);
      other.holds = inside;
    }
    f.cluster.go_on();
  }
  Argument const& to = s.arguments[0];
  if (to.kind == Argument::Kind::pair) {
    f.set(to.parts[0], own.taken);
    f.set(to.parts[1], own.holds);
  } else {
    f.set(to, own.taken);
  }
}

// vote.sync.{all,any,uni}.pred d, p, mask; vote.sync.ballot.b32 d, p, mask
void vote(Frame& f, Statement const& s) {
  Lane own{&f, &s, f.get(s.arguments[1]), 0, false, nullptr};
  auto const mask = static_cast<std::uint32_t>(f.get(s.arguments[2]));
  if (f.cluster.gather(&s, mask, &own)) {
    Collective& c = f.cluster.collective();
    std::uint32_t votes = 0;
    for (int l = 0; l < kWarp; ++l) {
      if ((c.arrived >> l & 1) != 0 && lane_of(c, l).value != 0) votes |= 1u << l;
    }
    bool const all = votes == c.arrived;
    std::uint32_t const result = s.has("ballot") ? votes
                                 : s.has("all")  ? all
                                 : s.has("any")  ? votes != 0
                                                 : all || votes == 0;
    for (int l = 0; l < kWarp; ++l) {
      if ((c.arrived >> l & 1) != 0) lane_of(c, l).taken = result;
    }
    f.cluster.go_on();
  }
  f.set(s.arguments[0], own.taken);
}

// match.any.sync.b32 d, a, mask
void match(Frame& f, Statement const& s) {
  Lane own{&f, &s, f.get(s.arguments[1]), 0, false, nullptr};
  auto const mask = static_cast<std::uint32_t>(f.get(s.arguments[2]));
  if (f.cluster.gather(&s, mask, &own)) {
    Collective& c = f.cluster.collective();
    for (int l = 0; l < kWarp; ++l) {
      if ((c.arrived >> l & 1) == 0) continue;
      for (int o = 0; o < kWarp; ++o) {
        if ((c.arrived >> o & 1) != 0 && lane_of(c, o).value == lane_of(c, l).value) lane_of(c, l).taken |= 1u << o;
      }
    }
    f.cluster.go_on();
  }
  f.set(s.arguments[0], own.taken);
}

// redux.sync.op.type d, a, mask
void reduce(Frame& f, Statement const& s) {
  Lane own{&f, &s, f.get(s.arguments[1]), 0, false, nullptr};
  auto const mask = static_cast<std::uint32_t>(f.get(s.arguments[2]));
  if (f.cluster.gather(&s, mask, &own)) {
    Collective& c = f.cluster.collective();
    bool is_first = true;
    std::uint32_t sum = 0;
    float number = 0;
    for (int l = 0; l < kWarp; ++l) {
      if ((c.arrived >> l & 1) == 0) continue;
      auto const x = static_cast<std::uint32_t>(lane_of(c, l).value);
      if (s.has("f32")) {
        float y = bits_to_float(x);
        if (s.has("abs")) y = std::fabs(y);
        bool const is_nan = std::isnan(y) || (!is_first && std::isnan(number));
        number = is_first                 ? y
                 : is_nan && s.has("NaN") ? NAN
                 : s.has("max")           ? std::fmax(number, y)
                                          : std::fmin(number, y);
      } else if (is_first) {
        sum = x;
      } else if (s.has("add")) {
        sum += x;
      } else if (s.has("and")) {
        sum &= x;
      } else if (s.has("or")) {
        sum |= x;
      } else if (s.has("xor")) {
        sum ^= x;
      } else {
        bool const less = s.has("s32") ? static_cast<std::int32_t>(x) < static_cast<std::int32_t>(sum) : x < sum;
        sum = less == s.has("min") ? x : sum;
      }
      is_first = false;
    }
    if (s.has("f32")) std::memcpy(&sum, &number, sizeof(sum));
    for (int l = 0; l < kWarp; ++l) {
      if ((c.arrived >> l & 1) != 0) lane_of(c, l).taken = sum;
    }
    f.cluster.go_on();
  }
  f.set(s.arguments[0], own.taken);
}

// elect.sync d|p, mask: the lowest lane.
void elect(Frame& f, Statement const& s) {
  Lane own{&f, &s, 0, 0, false, nullptr};
  auto const mask = static_cast<std::uint32_t>(f.get(s.arguments[1]));
  if (f.cluster.gather(&s, mask, &own)) {
    Collective& c = f.cluster.collective();
    auto const first = static_cast<std::uint32_t>(__builtin_ctz(c.arrived));
    for (int l = 0; l < kWarp; ++l) {
      if ((c.arrived >> l & 1) == 0) continue;
      lane_of(c, l).taken = first;
      lane_of(c, l).holds = static_cast<std::uint32_t>(l) == first;
    }
    f.cluster.go_on();
  }
  Argument const& to = s.arguments[0];
  f.set(to.parts[0], own.taken);
  f.set(to.parts[1], own.holds);
}

// The lanes that are in a warp, as far as the emulator can tell: it runs them one by one.
void active_mask(Frame& f, Statement const& s) { f.set(s.arguments[0], f.cluster.lanes_that_exist()); }

void set_registers(Frame&, Statement const&) {}

}  // namespace

Execute find_collective(std::vector<std::string> const& parts) {
  struct Known {
    char const* name;
    Execute execute;
  };
  static constexpr Known kKnown[] = {{"mma", &mma_sync},
                                     {"ldmatrix", &load_matrix},
                                     {"stmatrix", &store_matrix},
                                     {"movmatrix", &transpose_matrix},
                                     {"shfl", &shuffle},
                                     {"vote", &vote},
                                     {"match", &match},
                                     {"redux", &reduce},
                                     {"elect", &elect},
                                     {"activemask", &active_mask},
                                     {"setmaxnreg", &set_registers}};
  if (parts.size() > 1 && parts[0] == "mma" && parts[1] != "sync") return nullptr;  // sparse
  for (auto const& known : kKnown) {
    if (parts[0] == known.name) return known.execute;
  }
  return nullptr;
}

}  // namespace cute_py::workbench
