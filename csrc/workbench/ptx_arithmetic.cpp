#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstring>

#include "workbench/ptx.hpp"

// Instructions of one thread on registers.
namespace cute_py::workbench {
namespace {

template <class To, class From>
To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

std::uint64_t masked(std::uint64_t value, Type type) {
  int const bytes = bytes_of(type);
  return bytes >= 8 ? value : value & ((std::uint64_t{1} << bytes * 8) - 1);
}

std::int64_t with_sign(std::uint64_t value, Type type) {
  int const shift = 64 - std::min(8, bytes_of(type)) * 8;
  return static_cast<std::int64_t>(value << shift) >> shift;
}

double to_double(std::uint64_t bits, Type type) {
  switch (type) {
    case Type::f16:
      return half_to_float(static_cast<std::uint16_t>(bits));
    case Type::bf16:
      return bfloat_to_float(static_cast<std::uint16_t>(bits));
    case Type::f64:
      return bits_as<double>(bits);
    default:
      return bits_as<float>(static_cast<std::uint32_t>(bits));
  }
}

// Of a number that is a float, or that is to be rounded once.
std::uint64_t from_double(double value, Type type) {
  switch (type) {
    case Type::f64:
      return bits_as<std::uint64_t>(value);
    case Type::f32:
      return bits_as<std::uint32_t>(static_cast<float>(value));
    default:
      break;
  }
  // To float toward odd, so that the second rounding sees what the first has dropped.
  auto rounded = static_cast<float>(value);
  if (std::isfinite(rounded) && static_cast<double>(rounded) != value) {
    auto bits = bits_as<std::uint32_t>(rounded);
    bool const away = std::fabs(static_cast<double>(rounded)) > std::fabs(value);
    if (away) --bits;
    rounded = bits_as<float>(bits | 1u);
  }
  return type == Type::f16 ? float_to_half(rounded) : float_to_bfloat(rounded);
}

// One instruction for each element of packed types, too.
template <class Scalar>
std::uint64_t for_each_half(std::uint64_t const* given, int count, Type packed, Scalar const& scalar) {
  Type const type = packed == Type::f16x2 ? Type::f16 : Type::bf16;
  std::uint64_t result = 0;
  for (int i = 0; i < 2; ++i) {
    std::uint64_t parts[3] = {};
    for (int j = 0; j < count; ++j) parts[j] = given[j] >> 16 * i & 0xffff;
    result |= (scalar(parts, type) & 0xffff) << 16 * i;
  }
  return result;
}

std::uint64_t flushed_or_clamped(Statement const& s, double value, Type type) {
  if (s.has("sat")) value = std::isnan(value) ? 0 : std::clamp(value, 0.0, 1.0);
  if (s.has("relu")) value = value > 0 ? value : 0;
  if (s.has("ftz") && type == Type::f32 && std::fabs(value) < 0x1p-126) value = std::copysign(0.0, value);
  return from_double(value, type);
}

template <class Scalar>
void float_operation(Frame& f, Statement const& s, int count, Scalar const& scalar) {
  std::uint64_t given[3] = {};
  for (int i = 0; i < count; ++i) given[i] = f.get(s.arguments[static_cast<std::size_t>(i) + 1]);
  Type const type = s.type();
  if (type == Type::f16x2 || type == Type::bf16x2) {
    f.set(s.arguments[0], for_each_half(given, count, type, scalar));
  } else {
    f.set(s.arguments[0], scalar(given, type));
  }
}

bool is_float_or_packed(Type type) { return is_float(type) || type == Type::f16x2 || type == Type::bf16x2; }

bool compares(std::string const& how, double a, double b) {
  bool const unordered = std::isnan(a) || std::isnan(b);
  if (how == "eq") return a == b;
  if (how == "ne") return !unordered && a != b;
  if (how == "lt") return a < b;
  if (how == "le") return a <= b;
  if (how == "gt") return a > b;
  if (how == "ge") return a >= b;
  if (how == "equ") return unordered || a == b;
  if (how == "neu") return unordered || a != b;
  if (how == "ltu") return unordered || a < b;
  if (how == "leu") return unordered || a <= b;
  if (how == "gtu") return unordered || a > b;
  if (how == "geu") return unordered || a >= b;
  if (how == "num") return !unordered;
  return unordered;  // nan
}

template <class T>
bool compares_integers(std::string const& how, T a, T b) {
  if (how == "eq") return a == b;
  if (how == "ne") return a != b;
  if (how == "lt" || how == "lo") return a < b;
  if (how == "le" || how == "ls") return a <= b;
  if (how == "gt" || how == "hi") return a > b;
  return a >= b;  // ge, hs
}

bool comparison(Frame const& f, Statement const& s, Argument const& x, Argument const& y) {
  Type const type = s.types.empty() ? Type::b32 : s.types.back();
  std::string const& how = s.parts[1];
  if (is_float(type)) return compares(how, to_double(f.get(x), type), to_double(f.get(y), type));
  std::uint64_t const a = masked(f.get(x), type);
  std::uint64_t const b = masked(f.get(y), type);
  return is_signed(type) ? compares_integers(how, with_sign(a, type), with_sign(b, type))
                         : compares_integers(how, a, b);
}

void mov(Frame& f, Statement const& s) {
  Argument const& to = s.arguments[0];
  Argument const& from = s.arguments[1];
  Type const type = s.type();
  int const bits = bytes_of(type) * 8;
  if (from.kind == Argument::Kind::vector) {  // mov.b32 d, {lo, hi}
    int const each = bits / static_cast<int>(from.parts.size());
    std::uint64_t value[2] = {0, 0};
    int at = 0;
    for (auto const& part : from.parts) {
      std::uint64_t const mask = each == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << each) - 1;
      value[at / 64] |= (f.get(part) & mask) << at % 64;
      at += each;
    }
    f.set(to, value[0], value[1]);
  } else if (to.kind == Argument::Kind::vector) {
    int const each = bits / static_cast<int>(to.parts.size());
    Operand const wide = f.wide(from);
    int at = 0;
    for (auto const& part : to.parts) {
      std::uint64_t const mask = each == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << each) - 1;
      f.set(part, wide.value[at / 64] >> at % 64 & mask);
      at += each;
    }
  } else {
    Operand const wide = f.wide(from);
    f.set(to, wide.value[0], wide.value[1]);
  }
}

void add_or_subtract(Frame& f, Statement const& s) {
  bool const subtracts = s.parts[0] == "sub";
  if (is_float_or_packed(s.type())) {
    float_operation(f, s, 2, [&](std::uint64_t const* x, Type type) {
      double const b = to_double(x[1], type);
      return flushed_or_clamped(s, to_double(x[0], type) + (subtracts ? -b : b), type);
    });
    return;
  }
  std::uint64_t const b = f.get(s.arguments[2]);
  f.set(s.arguments[0], masked(f.get(s.arguments[1]) + (subtracts ? ~b + 1 : b), s.type()));
}

void multiply(Frame& f, Statement const& s) {
  Type const type = s.type();
  bool const adds = s.parts[0] == "mad";
  if (is_float_or_packed(type) && !adds) {
    float_operation(f, s, 2, [&](std::uint64_t const* x, Type t) {
      return flushed_or_clamped(s, to_double(x[0], t) * to_double(x[1], t), t);
    });
    return;
  }
  std::uint64_t const a = f.get(s.arguments[1]);
  std::uint64_t const b = f.get(s.arguments[2]);
  std::uint64_t const c = adds ? f.get(s.arguments[3]) : 0;
  int const bits = bytes_of(type) * 8;
  __int128 const product =
      is_signed(type) ? static_cast<__int128>(with_sign(a, type)) * with_sign(b, type)
                      : static_cast<__int128>(static_cast<unsigned __int128>(masked(a, type)) * masked(b, type));
  if (s.has("wide")) {
    f.set(s.arguments[0], static_cast<std::uint64_t>(product) + c);
  } else if (s.has("hi")) {
    f.set(s.arguments[0], masked(static_cast<std::uint64_t>(product >> bits) + c, type));
  } else {
    f.set(s.arguments[0], masked(static_cast<std::uint64_t>(product) + c, type));
  }
}

void fused(Frame& f, Statement const& s) {
  auto const one = [&](std::uint64_t const* x, Type type) {
    double const a = to_double(x[0], type);
    double const b = to_double(x[1], type);
    double const c = to_double(x[2], type);
    if (type == Type::f64) return from_double(std::fma(a, b, c), type);
    if (type == Type::f32) {
      int const before = std::fegetround();
      std::fesetround(s.has("rm") ? FE_DOWNWARD : s.has("rp") ? FE_UPWARD : s.has("rz") ? FE_TOWARDZERO : FE_TONEAREST);
      float const sum = std::fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c));
      std::fesetround(before);
      return flushed_or_clamped(s, sum, type);
    }
    return flushed_or_clamped(s, std::fma(a, b, c), type);
  };
  float_operation(f, s, 3, one);
}

// fma.rn.f32x2 and kin: two floats in a register of 64 bits.
void packed_floats(Frame& f, Statement const& s) {
  std::uint64_t result = 0;
  for (int i = 0; i < 2; ++i) {
    auto const x = [&](std::size_t j) {
      return bits_as<float>(static_cast<std::uint32_t>(f.get(s.arguments[j]) >> 32 * i));
    };
    float const value = s.parts[0] == "fma"   ? std::fma(x(1), x(2), x(3))
                        : s.parts[0] == "mul" ? x(1) * x(2)
                                              : x(1) + x(2);
    result |= static_cast<std::uint64_t>(bits_as<std::uint32_t>(value)) << 32 * i;
  }
  f.set(s.arguments[0], result);
}

void minimum_or_maximum(Frame& f, Statement const& s) {
  bool const is_maximum = s.parts[0] == "max";
  if (is_float_or_packed(s.type())) {
    float_operation(f, s, 2, [&](std::uint64_t const* x, Type type) {
      double const a = to_double(x[0], type);
      double const b = to_double(x[1], type);
      if (std::isnan(a) || std::isnan(b)) {
        if (s.has("NaN") || (std::isnan(a) && std::isnan(b))) return from_double(std::nan(""), type);
        return from_double(std::isnan(a) ? b : a, type);
      }
      return from_double(is_maximum ? std::fmax(a, b) : std::fmin(a, b), type);
    });
    return;
  }
  Type const type = s.type();
  std::uint64_t const a = masked(f.get(s.arguments[1]), type);
  std::uint64_t const b = masked(f.get(s.arguments[2]), type);
  bool const less = is_signed(type) ? with_sign(a, type) < with_sign(b, type) : a < b;
  f.set(s.arguments[0], less == is_maximum ? b : a);
}

void logic(Frame& f, Statement const& s) {
  std::uint64_t const a = f.get(s.arguments[1]);
  std::uint64_t const b = s.arguments.size() > 2 ? f.get(s.arguments[2]) : 0;
  std::string const& op = s.parts[0];
  if (s.type() == Type::pred) {
    bool const x = a != 0;
    bool const y = b != 0;
    f.set(s.arguments[0], op == "and" ? x && y : op == "or" ? x || y : op == "xor" ? x != y : !x);
    return;
  }
  f.set(s.arguments[0], masked(op == "and" ? a & b : op == "or" ? a | b : op == "xor" ? a ^ b : ~a, s.type()));
}

void shift(Frame& f, Statement const& s) {
  Type const type = s.type();
  int const bits = bytes_of(type) * 8;
  std::uint64_t const value = masked(f.get(s.arguments[1]), type);
  auto const by =
      static_cast<int>(std::min<std::uint64_t>(f.get(s.arguments[2]) & 0xffffffffu, static_cast<std::uint64_t>(bits)));
  if (s.parts[0] == "shl") {
    f.set(s.arguments[0], by == bits ? 0 : masked(value << by, type));
  } else if (is_signed(type)) {
    f.set(s.arguments[0], masked(static_cast<std::uint64_t>(with_sign(value, type) >> std::min(by, bits - 1)), type));
  } else {
    f.set(s.arguments[0], by == bits ? 0 : value >> by);
  }
}

void negate_or_absolute(Frame& f, Statement const& s) {
  bool const negates = s.parts[0] == "neg";
  if (is_float_or_packed(s.type())) {
    float_operation(f, s, 1, [&](std::uint64_t const* x, Type type) {
      double const a = to_double(x[0], type);
      return from_double(negates ? -a : std::fabs(a), type);
    });
    return;
  }
  std::int64_t const a = with_sign(f.get(s.arguments[1]), s.type());
  f.set(s.arguments[0], masked(static_cast<std::uint64_t>(negates || a < 0 ? -a : a), s.type()));
}

void setp(Frame& f, Statement const& s) {
  bool holds = comparison(f, s, s.arguments[1], s.arguments[2]);
  if (s.parts.size() > 3 && s.arguments.size() > 3) {
    bool const c = f.get(s.arguments[3]) != 0;
    std::string const& op = s.parts[2];
    holds = op == "and" ? holds && c : op == "or" ? holds || c : holds != c;
  }
  Argument const& to = s.arguments[0];
  if (to.kind == Argument::Kind::pair) {
    f.set(to.parts[0], holds);
    f.set(to.parts[1], !holds);
  } else {
    f.set(to, holds);
  }
}

void set(Frame& f, Statement const& s) {
  bool const holds = comparison(f, s, s.arguments[1], s.arguments[2]);
  Type const type = s.type();
  f.set(s.arguments[0],
        is_float(type) ? from_double(holds ? 1 : 0, type) : masked(holds ? ~std::uint64_t{0} : 0, type));
}

void selp(Frame& f, Statement const& s) {
  f.set(s.arguments[0], f.get(s.arguments[3]) != 0 ? f.get(s.arguments[1]) : f.get(s.arguments[2]));
}

void prmt(Frame& f, Statement const& s) {
  std::uint64_t const bytes = (f.get(s.arguments[1]) & 0xffffffffu) | f.get(s.arguments[2]) << 32;
  std::uint64_t const selector = f.get(s.arguments[3]);
  std::uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    auto const pick = static_cast<int>(selector >> 4 * i & 0xf);
    auto byte = static_cast<std::uint32_t>(bytes >> 8 * (pick & 7) & 0xff);
    if (pick >= 8) byte = (byte & 0x80) != 0 ? 0xff : 0;
    result |= byte << 8 * i;
  }
  f.set(s.arguments[0], result);
}

void lop3(Frame& f, Statement const& s) {
  auto const a = static_cast<std::uint32_t>(f.get(s.arguments[1]));
  auto const b = static_cast<std::uint32_t>(f.get(s.arguments[2]));
  auto const c = static_cast<std::uint32_t>(f.get(s.arguments[3]));
  std::uint64_t const table = f.get(s.arguments[4]);
  std::uint32_t result = 0;
  for (int i = 0; i < 8; ++i) {
    if ((table >> i & 1) == 0) continue;
    result |= ((i & 4) != 0 ? a : ~a) & ((i & 2) != 0 ? b : ~b) & ((i & 1) != 0 ? c : ~c);
  }
  f.set(s.arguments[0], result);
}

template <double (*function)(double)>
void approximate(Frame& f, Statement const& s) {
  float_operation(f, s, 1, [&](std::uint64_t const* x, Type type) {
    return flushed_or_clamped(s, function(to_double(x[0], type)), type);
  });
}
double reciprocal(double x) { return 1 / x; }
double reciprocal_root(double x) { return 1 / std::sqrt(x); }

void dot_product(Frame& f, Statement const& s) {
  // dp4a.atype.btype d, a, b, c; dp2a.lo/hi: two numbers of 16 bits by two of 8.
  bool const four = s.parts[0] == "dp4a";
  auto const a = static_cast<std::uint32_t>(f.get(s.arguments[1]));
  auto const b = static_cast<std::uint32_t>(f.get(s.arguments[2]));
  Type const of_a = s.types[0];
  Type const of_b = s.types[1];
  std::int64_t sum = static_cast<std::int32_t>(f.get(s.arguments[3]));
  int const first = !four && s.has("hi") ? 2 : 0;
  for (int i = 0; i < (four ? 4 : 2); ++i) {
    auto const part = [](std::uint32_t x, int at, int bits, bool has_sign) {
      std::uint32_t const value = x >> at & ((1u << bits) - 1);
      return has_sign && (value >> (bits - 1)) != 0 ? static_cast<std::int64_t>(value) - (std::int64_t{1} << bits)
                                                    : static_cast<std::int64_t>(value);
    };
    sum += part(a, i * (four ? 8 : 16), four ? 8 : 16, is_signed(of_a)) * part(b, (first + i) * 8, 8, is_signed(of_b));
  }
  f.set(s.arguments[0], static_cast<std::uint32_t>(sum));
}

// The numbers of integers that a float goes to, with saturation.
std::uint64_t to_integer(double value, Type type, Statement const& s) {
  double const whole = s.has("rni")   ? std::nearbyint(value)
                       : s.has("rmi") ? std::floor(value)
                       : s.has("rpi") ? std::ceil(value)
                                      : std::trunc(value);
  int const bits = bytes_of(type) * 8;
  if (std::isnan(value)) return is_signed(type) && bits >= 64 ? std::uint64_t{1} << 63 : 0;
  double const low = is_signed(type) ? -std::ldexp(1.0, bits - 1) : 0;
  double const high = std::ldexp(1.0, is_signed(type) ? bits - 1 : bits);
  if (whole < low) return masked(static_cast<std::uint64_t>(static_cast<std::int64_t>(low)), type);
  if (whole >= high) return masked(is_signed(type) ? (std::uint64_t{1} << (bits - 1)) - 1 : ~std::uint64_t{0}, type);
  return masked(is_signed(type) ? static_cast<std::uint64_t>(static_cast<std::int64_t>(whole))
                                : static_cast<std::uint64_t>(whole),
                type);
}

// To the nearest float of 8 bits, a tie to the even one; beyond the largest, to that. Codes are in the order of
// numbers.
std::uint32_t to_small(std::string const& type, float value) {
  std::uint32_t const sign = std::signbit(value) ? 0x80 : 0;
  std::uint32_t const most = type == "e4m3" ? 0x7e : 0x7b;
  if (std::isnan(value)) return sign | 0x7f;
  float const size = std::fabs(value);
  std::uint32_t low = 0;
  std::uint32_t high = most;
  if (size >= element_to_float(type, most)) return sign | most;
  while (high - low > 1) {
    std::uint32_t const middle = (low + high) / 2;
    (element_to_float(type, middle) <= size ? low : high) = middle;
  }
  float const below = size - element_to_float(type, low);
  float const above = element_to_float(type, high) - size;
  return sign | (below < above || (below == above && low % 2 == 0) ? low : high);
}

// cvt.rn.satfinite.e4m3x2.f32 d, high, low; cvt.rn.satfinite.e4m3x2.f16x2 d, a; cvt.rn.f16x2.e4m3x2 d, a; and of
// e5m2x2.
void convert_small(Frame& f, Statement const& s) {
  bool const to_halves = s.parts.back() == "e4m3x2" || s.parts.back() == "e5m2x2";
  std::string const type = s.has("e4m3x2") ? "e4m3" : "e5m2";
  if (!s.has("e4m3x2") && !s.has("e5m2x2")) return f.refuse(s, "the emulator does not know this conversion");
  std::uint64_t const given = f.get(s.arguments[1]);
  std::uint32_t result = 0;
  for (int i = 0; i < 2; ++i) {
    if (to_halves) {
      float value = element_to_float(type, static_cast<std::uint32_t>(given >> 8 * i & 0xff));
      if (s.has("relu") && !(value > 0)) value = 0;
      result |= static_cast<std::uint32_t>(float_to_half(value)) << 16 * i;
    } else {
      float value = s.arguments.size() > 2 ? f.get_float(s.arguments[i == 0 ? 2 : 1])
                                           : half_to_float(static_cast<std::uint16_t>(given >> 16 * i));
      if (s.has("relu") && !(value > 0)) value = 0;
      result |= to_small(type, value) << 8 * i;
    }
  }
  f.set(s.arguments[0], result);
}

void convert(Frame& f, Statement const& s) {
  if (s.types.size() < 2) return convert_small(f, s);
  Type const to = s.types[0];
  Type const from = s.types[1];
  if ((to == Type::f16x2 || to == Type::bf16x2) && from == Type::f32) {
    Type const each = to == Type::f16x2 ? Type::f16 : Type::bf16;
    std::uint64_t const high = flushed_or_clamped(s, f.get_float(s.arguments[1]), each);
    std::uint64_t const low = flushed_or_clamped(s, f.get_float(s.arguments[2]), each);
    f.set(s.arguments[0], high << 16 | low);
    return;
  }
  std::uint64_t const given = f.get(s.arguments[1]);
  if (to == Type::tf32) {  // cvt.rna.tf32.f32
    auto bits = static_cast<std::uint32_t>(given);
    bool const is_finite = (bits >> 23 & 0xff) != 0xff;
    if (is_finite) bits = s.has("rna") ? bits + 0x1000 : bits + 0xfff + (bits >> 13 & 1);
    f.set(s.arguments[0], bits & ~0x1fffu);
    return;
  }
  if (is_float(from) && is_float(to)) {
    double value = to_double(given, from);
    if (s.has("rni")) value = std::nearbyint(value);
    if (s.has("rzi")) value = std::trunc(value);
    if (s.has("rmi")) value = std::floor(value);
    if (s.has("rpi")) value = std::ceil(value);
    f.set(s.arguments[0], flushed_or_clamped(s, value, to));
  } else if (is_float(from)) {
    f.set(s.arguments[0], to_integer(to_double(given, from), to, s));
  } else if (is_float(to)) {
    std::uint64_t const integer = masked(given, from);
    if (to == Type::f32) {
      f.set(s.arguments[0], bits_as<std::uint32_t>(is_signed(from) ? static_cast<float>(with_sign(integer, from))
                                                                   : static_cast<float>(integer)));
    } else {
      f.set(s.arguments[0],
            from_double(is_signed(from) ? static_cast<double>(with_sign(integer, from)) : static_cast<double>(integer),
                        to));
    }
  } else {
    std::uint64_t const integer =
        is_signed(from) ? static_cast<std::uint64_t>(with_sign(given, from)) : masked(given, from);
    f.set(s.arguments[0], masked(integer, to));
  }
}

void branch(Frame& f, Statement const& s) { f.next = f.code->labels[static_cast<std::size_t>(s.arguments[0].index)]; }
void nothing(Frame&, Statement const&) {}

void convert_address(Frame& f, Statement const& s) {
  std::uint64_t const given = f.get(s.arguments[1]);
  bool const to_space = s.has("to");
  if (s.has("shared") || s.has("shared::cta") || s.has("shared::cluster")) {
    f.set(s.arguments[0], to_space
                              ? address_in_shared(reinterpret_cast<void const*>(given))
                              : reinterpret_cast<std::uint64_t>(cluster_shared_at(static_cast<std::uint32_t>(given))));
  } else {
    f.set(s.arguments[0], given);
  }
}

void count_bits(Frame& f, Statement const& s) {
  Type const type = s.type();
  std::uint64_t const x = masked(f.get(s.arguments[1]), type);
  int const bits = bytes_of(type) * 8;
  std::string const& op = s.parts[0];
  std::uint64_t result = 0;
  if (op == "popc") result = static_cast<std::uint64_t>(__builtin_popcountll(x));
  if (op == "clz") result = static_cast<std::uint64_t>(x == 0 ? bits : __builtin_clzll(x) - (64 - bits));
  if (op == "brev") {
    for (int i = 0; i < bits; ++i) result |= (x >> i & 1) << (bits - 1 - i);
  }
  f.set(s.arguments[0], result);
}

void trap(Frame& f, Statement const& s) { f.refuse(s, "which ends the kernel"); }

}  // namespace

float half_to_float(std::uint16_t bits) {
  _Float16 value;
  std::memcpy(&value, &bits, sizeof(value));
  return static_cast<float>(value);
}
std::uint16_t float_to_half(float value) {
  auto const half = static_cast<_Float16>(value);
  std::uint16_t bits;
  std::memcpy(&bits, &half, sizeof(bits));
  return bits;
}
float bfloat_to_float(std::uint16_t bits) { return bits_as<float>(static_cast<std::uint32_t>(bits) << 16); }
std::uint16_t float_to_bfloat(float value) {
  auto const bits = bits_as<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

Execute find_arithmetic(std::vector<std::string> const& parts) {
  struct Known {
    char const* name;
    Execute execute;
  };
  static constexpr Known kKnown[] = {{"mov", &mov},
                                     {"add", &add_or_subtract},
                                     {"sub", &add_or_subtract},
                                     {"mul", &multiply},
                                     {"mad", &multiply},
                                     {"fma", &fused},
                                     {"min", &minimum_or_maximum},
                                     {"max", &minimum_or_maximum},
                                     {"and", &logic},
                                     {"or", &logic},
                                     {"xor", &logic},
                                     {"not", &logic},
                                     {"shl", &shift},
                                     {"shr", &shift},
                                     {"neg", &negate_or_absolute},
                                     {"abs", &negate_or_absolute},
                                     {"setp", &setp},
                                     {"set", &set},
                                     {"selp", &selp},
                                     {"prmt", &prmt},
                                     {"lop3", &lop3},
                                     {"ex2", &approximate<&std::exp2>},
                                     {"lg2", &approximate<&std::log2>},
                                     {"tanh", &approximate<&std::tanh>},
                                     {"sin", &approximate<&std::sin>},
                                     {"cos", &approximate<&std::cos>},
                                     {"sqrt", &approximate<&std::sqrt>},
                                     {"rcp", &approximate<&reciprocal>},
                                     {"rsqrt", &approximate<&reciprocal_root>},
                                     {"dp4a", &dot_product},
                                     {"dp2a", &dot_product},
                                     {"cvt", &convert},
                                     {"cvta", &convert_address},
                                     {"bra", &branch},
                                     {"popc", &count_bits},
                                     {"clz", &count_bits},
                                     {"brev", &count_bits},
                                     {"trap", &trap},
                                     {"brkpt", &trap},
                                     {"nanosleep", &nothing},
                                     {"pmevent", &nothing}};
  if (parts.back() == "f32x2") return &packed_floats;
  for (auto const& known : kKnown) {
    if (parts[0] == known.name) return known.execute;
  }
  return nullptr;
}

}  // namespace cute_py::workbench
