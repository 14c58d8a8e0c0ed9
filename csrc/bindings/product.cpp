#include "bindings/product.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "bindings/arguments.hpp"
#include "problem/errors.hpp"
#include "problem/overlap.hpp"

namespace cute_py::bindings {
namespace {

enum GroupIndex { kGroupM, kGroupN, kGroupK, kGroupL };

// So many products of -128 and -128 fit int32.
constexpr std::int64_t kMostStepsOfInt8 = std::numeric_limits<std::int32_t>::max() / (128 * 128);

std::string number(std::int64_t value) { return std::to_string(value); }

// What products of these types are computed in, if it is anything.
std::optional<Compute> compute_for(DType a, DType b) {
  if (is_integer(a) || is_integer(b)) {
    return a == DType::i8 && b == DType::i8 ? std::optional(Compute::i32) : std::nullopt;
  }
  auto const either = [&](auto... type) { return ((a == type || b == type) || ...); };
  bool const wide = either(DType::f64, DType::c128);
  if (is_complex(a) || is_complex(b)) return wide ? Compute::c128 : Compute::c64;
  return wide ? Compute::f64 : Compute::f32;
}

// The type of a new result.
DType result_type_for(Compute compute, DType a, DType b) {
  switch (compute) {
    case Compute::f32:
    case Compute::tf32:
      return a == b ? a : DType::f32;
    case Compute::f64:
      return DType::f64;
    case Compute::c64:
      return DType::c64;
    case Compute::c128:
      return DType::c128;
    case Compute::i32:
      break;
  }
  return DType::i32;
}

std::string type_names(DTypeSet set) {
  std::string text;
  for (int i = 0; i < kDTypes; ++i) {
    if (contains(set, static_cast<DType>(i)))
      text += (text.empty() ? "" : ", ") + std::string(name_of(static_cast<DType>(i)));
  }
  return text;
}

template <class Enum>
std::optional<Enum> by_name(std::string_view name, int count) {
  for (int i = 0; i < count; ++i) {
    if (name == name_of(static_cast<Enum>(i))) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

// A mode of one element, or of none, leads nowhere, whatever its stride.
std::int64_t step_of(Operand const& x, int mode) { return x.extent(mode) > 1 ? x.stride(mode) : 0; }

Footprint footprint(Operand const& x, DType type) {
  Footprint f{x.data(), bytes_of(type), {}};
  for (int i = 0; i < x.rank(); ++i) f.modes.push_back({x.extent(i), step_of(x, i) * bytes_of(type)});
  return f;
}

// The bytes between the lowest and the highest element.
struct Span {
  __int128 first;
  __int128 last;
};

Span span(Operand const& x) {
  __int128 const origin = reinterpret_cast<std::uintptr_t>(x.data());
  __int128 low = 0;
  __int128 high = 1;
  for (int i = 0; i < x.rank(); ++i) {
    if (x.extent(i) == 0) return {origin, origin};
  }
  for (int i = 0; i < x.rank(); ++i) {
    auto const reach = static_cast<__int128>(x.extent(i) - 1) * step_of(x, i);
    (reach < 0 ? low : high) += reach;
  }
  return {origin + low * bytes_of(*x.type()), origin + high * bytes_of(*x.type())};
}

// Mostly arrays lie far from one another, and nothing else has to be found out.
bool may_overlap(Operand const& x, Operand const& y) {
  Span const of_x = span(x);
  Span const of_y = span(y);
  if (of_x.last <= of_y.first || of_y.last <= of_x.first) return false;
  return cute_py::may_overlap(footprint(x, *x.type()), footprint(y, *y.type()));
}

// Mostly each stride is longer than all that the shorter ones reach, and no two elements meet.
bool shares_elements(Operand const& x) {
  std::int64_t reach = 1;
  int order[kMaxModes];
  int count = 0;
  for (int i = 0; i < x.rank(); ++i) {
    if (x.extent(i) == 0) return false;
    if (x.extent(i) > 1) order[count++] = i;
  }
  std::sort(order, order + count, [&](int i, int j) { return std::abs(x.stride(i)) < std::abs(x.stride(j)); });
  for (int i = 0; i < count; ++i) {
    auto const stride = std::abs(x.stride(order[i]));
    if (stride < reach) return cute_py::shares_elements(footprint(x, *x.type()));
    reach += stride * (x.extent(order[i]) - 1);
  }
  return false;
}

bool same_place(Operand const& x, Operand const& y) {
  if (x.data() != y.data() || x.type() != y.type() || x.rank() != y.rank()) return false;
  for (int i = 0; i < x.rank(); ++i) {
    if (x.extent(i) != y.extent(i) || (x.extent(i) > 1 && x.stride(i) != y.stride(i))) return false;
  }
  return true;
}

// "m-major" and the like, or "neither m-major nor k-major".
std::string major_text(Operand const& x, char const* first, char const* second) {
  bool const first_unit = x.stride(0) == 1 || x.extent(0) <= 1;
  bool const second_unit = x.stride(1) == 1 || x.extent(1) <= 1;
  if (first_unit) return std::string(first) + "-major";
  if (second_unit) return std::string(second) + "-major";
  return std::string("neither ") + first + "-major nor " + second + "-major";
}

// Is the stride of the unit mode 1, and that of the other at least as long as a line? A mode of one element has no
// stride.
bool has_layout(Operand const& x, int unit_mode) {
  auto const line = x.extent(unit_mode);
  auto const lines = x.extent(1 - unit_mode);
  if (line == 0 || lines == 0) return true;
  return (line == 1 || x.stride(unit_mode) == 1) && (lines == 1 || x.stride(1 - unit_mode) >= line);
}

std::string tuple_text(std::vector<std::int64_t> const& values) {
  std::string text = "(";
  for (std::size_t i = 0; i < values.size(); ++i) text += (i == 0 ? "" : ",") + number(values[i]);
  return text + ")";
}

// Would matmul, or a transposition, make sense of these?
bool batch_is_first(Operand const& a, Operand const& b) {
  return a.rank() == 3 && b.rank() == 3 && a.extent(0) == b.extent(0) &&
         (a.extent(2) == b.extent(2) || a.extent(2) == b.extent(1));
}

Operand import_first(Call const& call, std::optional<std::uintptr_t>& stream) {
  Operand a = Operand::import("A", call.a, stream);
  if (!stream && a.on_cuda()) stream = a.stream();
  return a;
}

}  // namespace

Product::Product(Call const& call)
    : call_(call), stream_(call.stream), a_(import_first(call, stream_)), b_(Operand::import("B", call.b, stream_)) {
  if (call.labels) {
    labels_ = *call.labels;
  } else {
    require_gemm();
    labels_ = {a_.rank() == 3 ? "mkl" : "mk", b_.rank() == 3 ? "nkl" : "nk",
               a_.rank() == 3 || b_.rank() == 3 ? "mnl" : "mn"};
  }
  same_device(b_);
  make_modes();
  require_types();
  require_layout(nullptr);
}

void Product::refuse(std::string const& rule, std::string const& next) const {
  throw OperandError(call_.function + " " + rule + operands_text() + "\n  next: " + next);
}

std::string Product::operands_text() const {
  std::string text = "\n  " + a_.describe() + "\n  " + b_.describe();
  for (auto const* x : {&c_, &d_, &bias_, &residual_}) {
    if (x->has_value()) text += "\n  " + (*x)->describe();
  }
  return text;
}

py::list Product::operands() const {
  py::list list;
  list.append(a_.describe());
  list.append(b_.describe());
  if (c_) list.append(c_->describe());
  if (d_) {
    list.append(d_->describe());
  } else {
    std::vector<std::int64_t> stride;
    for (char const letter : labels_.d) {
      Mode const& mode = *find(letter);
      stride.push_back(problem_.d.stride[mode.group == kGroupL ? 2 : mode.group == kGroupN ? 1 : 0][mode.place]);
    }
    list.append("C " + std::string(name_of(result_type_)) + " " +
                layout_text(static_cast<int>(stride.size()), result_shape_.data(), stride.data()) + " new");
  }
  for (auto const* x : {&bias_, &residual_}) {
    if (x->has_value()) list.append((*x)->describe());
  }
  return list;
}

std::int64_t Product::bytes() const {
  auto const size = [](Operand const& x) {
    std::int64_t bytes = bytes_of(*x.type());
    for (int i = 0; i < x.rank(); ++i) {
      if (x.stride(i) != 0 || x.extent(i) == 0) bytes *= x.extent(i);
    }
    return bytes;
  };
  std::int64_t result = bytes_of(problem_.d.type);
  for (auto const extent : result_shape_) result *= extent;
  return size(a_) + size(b_) + (problem_.reads_c() ? 2 : 1) * result;
}

bool Product::must_wait() const {
  bool wait = a_.must_wait() || b_.must_wait();
  for (auto const* x : {&c_, &d_, &bias_, &residual_}) wait = wait || (x->has_value() && (*x)->must_wait());
  return wait;
}

void Product::require_gemm() const {
  for (Operand const* x : {&a_, &b_}) {
    if (x->rank() != 2 && x->rank() != 3) {
      refuse("multiplies matrices, and " + std::string(x->name()) + " has rank " + number(x->rank()),
             "A is (M,K) and B is (N,K), or (M,K,L) and (N,K,L); a vector v is the matrix v[None, :]");
    }
  }
  if (a_.extent(1) != b_.extent(1)) {
    refuse("needs the same K in A (M,K) and B (N,K), got " + number(a_.extent(1)) + " and " + number(b_.extent(1)),
           a_.extent(1) == b_.extent(0) ? "B is (K,N) here; pass B.T"
           : batch_is_first(a_, b_) ? "cute_py.matmul takes the batch first; gemm takes it last: (M,K,L) and (N,K,L)"
                                    : "check the shapes");
  }
  if (a_.rank() == 3 && b_.rank() == 3 && a_.extent(2) != b_.extent(2)) {
    refuse("needs the same L in A (M,K,L) and B (N,K,L), got " + number(a_.extent(2)) + " and " + number(b_.extent(2)),
           "check the shapes; without its last mode an operand is the same for all of L");
  }
}

Operand const* Product::same_device(Operand const& x) const {
  bool const same = a_.on_cuda() ? x.on_cuda() && x.device_id() == a_.device_id() : x.on_host();
  if (!same) refuse("needs all arrays on one device", std::string("move ") + x.name() + " to where A is");
  return &x;
}

Product::Mode* Product::find(char letter) {
  for (Mode& mode : modes_) {
    if (mode.letter == letter) return &mode;
  }
  return nullptr;
}

Product::Mode const* Product::find(char letter) const { return const_cast<Product*>(this)->find(letter); }

void Product::make_modes() {
  struct Side {
    Operand const& operand;
    std::string const& labels;
    bool Mode::* flag;
  };
  for (auto const& [operand, labels, flag] : {Side{a_, labels_.a, &Mode::in_a}, Side{b_, labels_.b, &Mode::in_b}}) {
    if (static_cast<int>(labels.size()) != operand.rank()) {
      refuse("names " + number(static_cast<std::int64_t>(labels.size())) + " indices of " + operand.name() +
                 ", which has rank " + number(operand.rank()),
             "write one letter for each mode, or ... for those that are not named");
    }
    for (int i = 0; i < operand.rank(); ++i) {
      auto const extent = operand.extent(i);
      auto const first = operand.extent(static_cast<int>(labels.find(labels[i])));
      if (first != extent) {
        refuse(std::string("takes a diagonal of ") + operand.name() + " along index " + labels[i] + ", whose extents " +
                   number(first) + " and " + number(extent) + " differ",
               "check the shapes");
      }
      Mode* mode = find(labels[i]);
      if (mode == nullptr) {
        modes_.push_back({labels[i], extent});
        mode = &modes_.back();
      } else if (mode->extent != extent) {
        // An extent of 1 is repeated.
        if (mode->extent != 1 && extent != 1) {
          std::string const index =
              std::isprint(static_cast<unsigned char>(labels[i])) ? std::string(1, labels[i]) : "of the ellipsis";
          refuse("needs one extent for index " + index + ", got " + number(mode->extent) + " in A and " +
                     number(extent) + " in B",
                 "check the subscripts and the shapes");
        }
        mode->extent = std::max(mode->extent, extent) == 1 || extent == 0 || mode->extent == 0
                           ? std::min(mode->extent, extent)
                           : std::max(mode->extent, extent);
      }
      mode->*flag = true;
    }
  }
  for (char const letter : labels_.d) {
    Mode* const mode = find(letter);
    mode->in_d = true;
    result_shape_.push_back(mode->extent);
  }

  // Every count of elements and of multiplications has to fit 64 bits.
  __int128 work = 1;
  for (Mode const& mode : modes_) {
    work *= std::max<std::int64_t>(mode.extent, 1);
    if (work > std::numeric_limits<std::int64_t>::max() / 16) {
      refuse("has more multiplications than 64 bits count", "contract fewer elements at a time");
    }
  }

  Modes* const groups[] = {&problem_.m, &problem_.n, &problem_.k, &problem_.l};
  for (Mode& mode : modes_) {
    mode.group = !mode.in_d ? kGroupK : mode.in_a && mode.in_b ? kGroupL : mode.in_a ? kGroupM : kGroupN;
    Modes& modes = *groups[mode.group];
    if (modes.rank == kMaxModes) {
      throw UnsupportedProblemError(call_.function + " has more than " + number(kMaxModes) + " indices of one kind" +
                                    operands_text() + "\n  next: merge modes, for instance with reshape");
    }
    mode.place = modes.rank;
    if (mode.group == kGroupK && !mode.in_b) problem_.own_a |= 1u << mode.place;
    if (mode.group == kGroupK && !mode.in_a) problem_.own_b |= 1u << mode.place;
    modes.extent[modes.rank++] = mode.extent;
  }
  place(a_, labels_.a, problem_.a, true);
  place(b_, labels_.b, problem_.b, true);
  problem_.conj_a = call_.conj_a != a_.conjugated();
  problem_.conj_b = call_.conj_b != b_.conjugated();
}

// The strides of an operand by group. A letter that it lacks, and one along which it is repeated, has stride 0; one
// that it has twice, the diagonal, the sum of both.
void Product::place(Operand const& x, std::string const& labels, Array& array, bool is_factor) const {
  for (auto& strides : array.stride) std::fill(std::begin(strides), std::end(strides), 0);
  array.data = x.data();
  if (x.type()) array.type = *x.type();
  for (int i = 0; i < x.rank(); ++i) {
    Mode const& mode = *find(labels[i]);
    // The array's groups: (M,K,L), (N,K,L) or (M,N,L).
    int const which = mode.group == kGroupL   ? 2
                      : !is_factor            ? (mode.group == kGroupN ? 1 : 0)
                      : mode.group == kGroupK ? 1
                                              : 0;
    array.stride[which][mode.place] += step_of(x, i);
  }
}

void Product::require_types() {
  for (Operand const* x : {&a_, &b_}) {
    if (!call_.factors.empty()) {
      if (!x->type() || name_of(*x->type()) != call_.factors) {
        refuse("multiplies " + std::string(call_.factors),
               std::string("convert ") + x->name() + " to " + std::string(call_.factors) + ", or use cute_py.gemm");
      }
    } else if (!x->type() || *x->type() == DType::i32) {
      refuse("multiplies " + type_names(factor_types(Compute::c128) | types(DType::i8)) + ", and " + x->name() +
                 " is none of them",
             std::string("convert ") + x->name() + ", for instance to float64");
    }
  }
  DType const a = *a_.type();
  DType const b = *b_.type();
  problem_.a.type = a;
  problem_.b.type = b;
  auto const compute = compute_for(a, b);
  if (!compute) {
    throw UnsupportedProblemError(call_.function + " multiplies int8 only by int8" + operands_text() +
                                  "\n  next: convert the int8 array to the other's type");
  }
  problem_.compute = *compute;
  if (*compute == Compute::i32 && problem_.k.size() > kMostStepsOfInt8) {
    throw UnsupportedProblemError(
        call_.function + " sums products of int8 in int32, which holds every sum of K <= " + number(kMostStepsOfInt8) +
        " of them; here K=" + number(problem_.k.size()) + operands_text() +
        "\n  next: add the products of parts of K, or convert A and B to float32");
  }
  if (!call_.compute.empty()) {
    auto const asked = by_name<Compute>(call_.compute, kComputes);
    if (!asked) {
      std::string names;
      for (int i = 0; i < kComputes; ++i) names += (i == 0 ? "" : ", ") + std::string(name_of(static_cast<Compute>(i)));
      throw OperandError(call_.function + ": compute is one of " + names + ", got '" + std::string(call_.compute) +
                         "'");
    }
    auto const factors = factor_types(*asked);
    if (!contains(factors, a) || !contains(factors, b)) {
      throw UnsupportedProblemError(call_.function + " with compute='" + std::string(call_.compute) +
                                    "' takes A and B of " + type_names(factors) + operands_text() +
                                    "\n  next: convert them, or leave compute out");
    }
    problem_.compute = *asked;
  }
  result_type_ = result_type_for(problem_.compute, a, b);
  if (!call_.out_dtype.empty()) {
    auto const asked = by_name<DType>(call_.out_dtype, kDTypes);
    if (!asked || !contains(result_types(problem_.compute), *asked)) {
      throw UnsupportedProblemError(call_.function + " computes in " + name_of(problem_.compute) + " and writes " +
                                    type_names(result_types(problem_.compute)) + ", not " +
                                    std::string(call_.out_dtype) + operands_text() + "\n  next: " + wider(asked) +
                                    "leave out_dtype out, or name one of these");
    }
    result_type_ = *asked;
  }
}

// What the functions with a BLAS name require of strides.
void Product::require_layout(Operand const* c) const {
  if (call_.layout.empty()) return;
  struct Rule {
    Operand const* operand;
    int unit_mode;
    char const* first;
    char const* second;
  };
  Rule const rules[] = {
      {&a_, call_.layout[0] == 'n' ? 0 : 1, "m", "k"},
      {&b_, call_.layout[1] == 't' ? 0 : 1, "n", "k"},
      {c, 0, "m", "n"},
  };
  for (auto const& [operand, unit_mode, first, second] : rules) {
    if (operand == nullptr || has_layout(*operand, unit_mode)) continue;
    std::string const name = operand->name();
    auto const wanted = std::string(unit_mode == 0 ? first : second) + "-major";
    auto const strides = unit_mode == 0 ? "(1, ld" + name + ")" : "(ld" + name + ", 1)";
    auto const got = major_text(*operand, first, second);
    std::string next = "cute_py.gemm(A, B, C) takes any strides";
    if (operand == c) {
      next += "; numpy.empty((M, N), numpy." + std::string(name_of(result_type_)) + ", order='F') is m-major";
    } else {
      next += unit_mode == 0 ? "; numpy.asfortranarray(" + name + ") makes " + name + " " + wanted
                             : "; numpy.ascontiguousarray(" + name + ") makes " + name + " " + wanted;
    }
    throw OperandError(
        call_.function + " needs " + name + " " + wanted + ": strides " + strides + ", ld" + name +
        " >= " + number(operand->extent(unit_mode)) + operands_text() + "\n  " + name + " is " +
        (got == wanted ? wanted + ", but its leading dimension is " + number(operand->stride(1 - unit_mode)) : got) +
        "\n  next: " + next);
  }
}

void Product::add_scalars() {
  bool const complex = problem_.compute == Compute::c64 || problem_.compute == Compute::c128;
  bool const is_float32 =
      problem_.compute == Compute::f32 || problem_.compute == Compute::tf32 || problem_.compute == Compute::c64;
  auto const rounded = [&](std::complex<double> const& x) {
    return is_float32 ? std::complex<double>(std::complex<float>(x)) : x;
  };
  problem_.alpha = rounded(number_argument("alpha", call_.alpha, complex));
  problem_.beta = rounded(number_argument("beta", call_.beta, complex));
}

// What is added or written is read as it lies in memory.
void Product::require_unconjugated(Operand const& x) const {
  if (!x.conjugated()) return;
  refuse(std::string("takes ") + x.name() +
             " as it lies in memory, and this is a view that PyTorch conjugates when it is read",
         std::string("pass ") + x.name() + ".resolve_conj()");
}

// The beginning of an advice to whoever wants float64 and multiplies float32, or "".
std::string Product::wider(std::optional<DType> wanted) const {
  bool const helps = wanted == DType::f64 && (problem_.compute == Compute::f32 || problem_.compute == Compute::tf32);
  return helps ? "compute='float64' sums in float64 and writes it; or " : "";
}

// What C, the result and what is added to it have in common.
void Product::require_result(Operand const& x, char const* role) const {
  bool const is_written = &x == &*d_;
  std::string const name = x.name();
  std::string const a_name = (name == "out" ? "an " : "a ") + name;
  require_unconjugated(x);
  bool same = x.rank() == static_cast<int>(result_shape_.size());
  for (int i = 0; same && i < x.rank(); ++i) same = x.extent(i) == result_shape_[i];
  if (!same) {
    refuse("needs " + name + " " + std::string(role) + " = " + tuple_text(result_shape_),
           "pass " + a_name + " of that shape, or none to get a new one");
  }
  if (!x.type() || !contains(result_types(problem_.compute), *x.type())) {
    refuse(std::string(is_written ? "writes " : "adds ") + type_names(result_types(problem_.compute)),
           wider(x.type()) + "pass a " + name_of(result_type_) + " " + name + ", or none to get a new one");
  }
  if (!is_written) return;
  if (x.read_only()) {
    refuse("cannot write to " + name + ", which is read-only",
           "pass a writable " + name + ", or none to get a new one");
  }
  if (shares_elements(x)) {
    refuse("cannot write to " + name + ", whose strides put several elements in one place",
           "pass " + a_name + " with its own memory for every element, or none to get a new one");
  }
  for (Operand const* other : {&a_, &b_}) {
    if (may_overlap(*other, x)) {
      refuse("cannot write to " + name + ", which may overlap " + other->name(),
             std::string("copy ") + other->name() + ", or pass no " + name + " to get a new one");
    }
  }
  if (c_ && problem_.beta != 0.0 && !same_place(*c_, x) && may_overlap(*c_, x)) {
    refuse("cannot write to " + name + ", which may overlap C without being C", "pass no out to write to C itself");
  }
}

void Product::add_result(py::handle allocate) {
  add_scalars();
  bool const has_c = !call_.c.is_none();
  bool const has_out = !call_.out.is_none();
  if (!has_c && problem_.beta != 0.0) {
    throw OperandError(call_.function + " with beta != 0 adds to C, and no C was given\n  next: pass C, or beta=0");
  }
  bool const m_major = !call_.layout.empty();
  std::string const role = call_.labels ? "of shape" : labels_.d == "mnl" ? "(M,N,L)" : "(M,N)";
  if (has_c) {
    Operand x = Operand::import("C", call_.c, stream_);
    (has_out ? c_ : d_).emplace(std::move(x));
  }
  if (has_out) d_.emplace(Operand::import("out", call_.out, stream_));
  result_ = py::reinterpret_borrow<py::object>(has_out ? call_.out : call_.c);
  if (!d_ && allocate) {
    py::tuple shape(result_shape_.size());
    for (std::size_t i = 0; i < result_shape_.size(); ++i) shape[i] = result_shape_[i];
    result_ = allocate(call_.a, shape, py::bool_(m_major), py::str(name_of(result_type_)));
    d_.emplace(Operand::import("C", result_, stream_));
  }
  if (d_) {
    if (c_) require_result(*same_device(*c_), role.c_str());
    require_result(*same_device(*d_), role.c_str());
    require_layout(&*d_);
    place(*d_, labels_.d, problem_.d, false);
  } else {
    // As aligned as any allocation.
    constexpr std::uintptr_t kAlignedNowhere = 1 << 12;
    problem_.d.data = reinterpret_cast<void*>(kAlignedNowhere);
    problem_.d.type = result_type_;
    for (auto& strides : problem_.d.stride) std::fill(std::begin(strides), std::end(strides), 0);
    std::int64_t stride = 1;
    for (std::size_t i = 0; i < result_shape_.size(); ++i) {
      auto const at = m_major ? i : result_shape_.size() - 1 - i;
      Mode const& mode = *find(labels_.d[at]);
      problem_.d.stride[mode.group == kGroupL ? 2 : mode.group == kGroupN ? 1 : 0][mode.place] = stride;
      stride *= std::max<std::int64_t>(result_shape_[at], 1);
    }
  }
  if (c_) {
    place(*c_, labels_.d, problem_.c, false);
  } else {
    problem_.c = problem_.d;
  }
  add_epilogue();
  problem_.batch_invariant = call_.batch_invariant;
}

void Product::add_epilogue() {
  if (!call_.epilogue || call_.epilogue.is_none()) return;
  py::handle const given = call_.epilogue;
  Epilogue& epilogue = problem_.epilogue;
  static constexpr char const* kActivations[] = {"none", "relu", "gelu", "gelu_tanh", "silu", "sigmoid"};
  auto const activation = text_argument("activation", given.attr("activation"));
  auto const found = std::find(std::begin(kActivations), std::end(kActivations), activation);
  if (found == std::end(kActivations)) {
    throw OperandError(call_.function + ": there is no activation '" + std::string(activation) +
                       "'\n  next: make the Epilogue anew, with one that it takes");
  }
  epilogue.activation = static_cast<Activation>(found - std::begin(kActivations));
  bool const complex = problem_.compute == Compute::c64 || problem_.compute == Compute::c128;
  if (complex && epilogue.activation != Activation::none) {
    throw UnsupportedProblemError(call_.function + ": an activation of complex numbers is not defined" +
                                  operands_text() + "\n  next: leave the activation out");
  }
  epilogue.scale = number_argument("scale", given.attr("scale"), false).real();
  epilogue.saturate = flag_argument("saturate", given.attr("saturate"));

  struct Added {
    char const* name;
    py::object object;
    std::optional<Operand>& operand;
    Array& array;
  };
  for (auto const& [name, object, operand, array] :
       {Added{"bias", given.attr("bias"), bias_, epilogue.bias},
        Added{"residual", given.attr("residual"), residual_, epilogue.residual}}) {
    if (object.is_none()) continue;
    operand.emplace(Operand::import(name, object, stream_));
    Operand const& x = *same_device(*operand);
    require_unconjugated(x);
    auto const rank = static_cast<int>(result_shape_.size());
    bool fits = x.rank() <= rank;
    for (int i = 0; fits && i < x.rank(); ++i) {
      fits = x.extent(i) == 1 || x.extent(i) == result_shape_[rank - x.rank() + i];
    }
    if (!fits) {
      refuse(std::string("cannot repeat ") + name + " to the shape of the result, " + tuple_text(result_shape_),
             "a bias per row is (M,1), one per column (N,) or (1,N)");
    }
    auto const readable = result_types(problem_.compute);
    if (!x.type() || !contains(readable, *x.type())) {
      refuse(std::string("adds a ") + name + " of " + type_names(readable), std::string("convert ") + name);
    }
    place(x, labels_.d.substr(rank - x.rank()), array, false);
    if (d_ && !same_place(x, *d_) && may_overlap(x, *d_)) {
      refuse(std::string("cannot write to ") + d_->name() + ", which may overlap " + name, std::string("copy ") + name);
    }
  }
}

}  // namespace cute_py::bindings
