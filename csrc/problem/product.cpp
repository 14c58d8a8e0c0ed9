#include "problem/product.hpp"

#include <algorithm>
#include <cctype>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "base/errors.hpp"

namespace cute_py {
namespace {

enum class Group { m, n, k, l };

// The number of products of -128 and -128 that fit int32.
constexpr std::int64_t kMostStepsOfInt8 = std::numeric_limits<std::int32_t>::max() / (128 * 128);

std::string number(std::int64_t value) { return std::to_string(value); }

// What products of these types are computed in, if it is anything.
std::optional<Compute> compute_for(DType a, DType b) {
  if (is_integer(a) || is_integer(b)) {
    return a == DType::i8 && b == DType::i8 ? std::optional(Compute::i32) : std::nullopt;
  }
  if (is_float8(a) != is_float8(b)) return std::nullopt;
  auto const either = [&](auto... type) { return ((a == type || b == type) || ...); };
  bool const wide = either(DType::f64, DType::c128);
  if (is_complex(a) || is_complex(b)) return wide ? Compute::c128 : Compute::c64;
  return wide ? Compute::f64 : Compute::f32;
}

// The type of a new result.
DType result_type_for(Compute compute, DType a, DType b) {
  DType const sums = type_of_sums(compute);
  if (is_float8(a)) return DType::bf16;
  return a == b && sums == DType::f32 ? a : sums;
}

std::string type_names(DTypeSet set) {
  std::string text;
  for (int i = 0; i < kDTypes; ++i) {
    auto const type = static_cast<DType>(i);
    if (contains(set, type)) text += (text.empty() ? "" : ", ") + std::string(name_of(type));
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

// "m-major" and the like, or "neither m-major nor k-major".
std::string major_text(View const& x, char const* first, char const* second) {
  bool const first_unit = x.stride[0] == 1 || x.shape[0] <= 1;
  bool const second_unit = x.stride[1] == 1 || x.shape[1] <= 1;
  if (first_unit) return std::string(first) + "-major";
  if (second_unit) return std::string(second) + "-major";
  return std::string("neither ") + first + "-major nor " + second + "-major";
}

// Is the stride of the unit mode 1, and that of the other at least as long as a line? A mode of one element has no
// stride.
bool has_layout(View const& x, int unit_mode) {
  auto const line = x.shape[unit_mode];
  auto const lines = x.shape[1 - unit_mode];
  if (line == 0 || lines == 0) return true;
  return (line == 1 || x.stride[unit_mode] == 1) && (lines == 1 || x.stride[1 - unit_mode] >= line);
}

std::string tuple_text(std::vector<std::int64_t> const& values) {
  std::string text = "(";
  for (std::size_t i = 0; i < values.size(); ++i) text += (i == 0 ? "" : ",") + number(values[i]);
  return text + ")";
}

// Would matmul, or a transposition, make sense of these?
bool batch_is_first(View const& a, View const& b) {
  return a.rank == 3 && b.rank == 3 && a.shape[0] == b.shape[0] &&
         (a.shape[2] == b.shape[2] || a.shape[2] == b.shape[1]);
}

// Makes the Product of a request, one rule after the other.
class Maker {
 public:
  explicit Maker(Request const& request)
      : r_(request), function_(*request.function), a_(*request.a), b_(*request.b), g_(product_.geometry) {}

  Product make() {
    make_labels();
    require_same_device(b_);
    make_modes();
    require_types();
    require_layout(nullptr);
    read_scalars();
    add_result();
    add_epilogue();
    count_bytes();
    product_.labels = labels_;
    product_.dtype = dlpack_of(product_.type);
    return std::move(product_);
  }

 private:
  // A letter: its extent, and where it stands.
  struct Letter {
    char letter;
    std::int64_t extent;
    bool in_a = false;
    bool in_b = false;
    bool in_d = false;
    Group group = Group::m;
    int place = 0;  // in the group
  };

  [[noreturn]] void refuse(std::string const& rule, std::string const& next) const {
    throw OperandError(function_.name + " " + rule + r_.operands_text() + "\n  next: " + next);
  }

  void make_labels() {
    if (function_.labels) {
      labels_ = *function_.labels;
      return;
    }
    require_gemm();
    bool const batch = a_.rank == 3 || b_.rank == 3;
    labels_ = {a_.rank == 3 ? "mkl" : "mk", b_.rank == 3 ? "nkl" : "nk", batch ? "mnl" : "mn"};
  }

  void require_gemm() const {
    for (View const* x : {&a_, &b_}) {
      if (x->rank != 2 && x->rank != 3) {
        refuse("multiplies matrices, and " + std::string(x->name) + " has rank " + number(x->rank),
               "A is (M,K) and B is (N,K), or (M,K,L) and (N,K,L); a vector v is the matrix v[None, :]");
      }
    }
    if (a_.shape[1] != b_.shape[1]) {
      refuse("needs the same K in A (M,K) and B (N,K), got " + number(a_.shape[1]) + " and " + number(b_.shape[1]),
             a_.shape[1] == b_.shape[0] ? "B is (K,N) here; pass B.T"
             : batch_is_first(a_, b_) ? "cute_py.matmul takes the batch first; gemm takes it last: (M,K,L) and (N,K,L)"
                                      : "check the shapes");
    }
    if (a_.rank == 3 && b_.rank == 3 && a_.shape[2] != b_.shape[2]) {
      refuse("needs the same L in A (M,K,L) and B (N,K,L), got " + number(a_.shape[2]) + " and " + number(b_.shape[2]),
             "check the shapes; without its last mode an operand is the same for all of L");
    }
  }

  void require_same_device(View const& x) const {
    bool const same = a_.on_cuda() ? x.on_cuda() && x.device.id == a_.device.id : x.on_host();
    if (!same) refuse("needs all arrays on one device", std::string("move ") + x.name + " to where A is");
  }

  Letter* find(char letter) {
    for (Letter& known : letters_) {
      if (known.letter == letter) return &known;
    }
    return nullptr;
  }

  Mode& mode_of(Letter const& letter) {
    Modes* const groups[] = {&g_.m, &g_.n, &g_.k, &g_.l};
    return (*groups[static_cast<int>(letter.group)])[letter.place];
  }

  void make_modes() {
    struct Side {
      View const& view;
      std::string const& labels;
      bool Letter::* flag;
    };
    for (auto const& [view, labels, flag] : {Side{a_, labels_.a, &Letter::in_a}, Side{b_, labels_.b, &Letter::in_b}}) {
      if (static_cast<int>(labels.size()) != view.rank) {
        refuse("names " + number(static_cast<std::int64_t>(labels.size())) + " indices of " + view.name +
                   ", which has rank " + number(view.rank),
               "write one letter for each mode, or ... for those that are not named");
      }
      for (int i = 0; i < view.rank; ++i) add_letter(view, labels, i).*flag = true;
    }
    for (char const name : labels_.d) {
      Letter* const letter = find(name);
      letter->in_d = true;
      product_.shape.push_back(letter->extent);
    }

    // Every count of elements and of multiplications has to fit 64 bits.
    __int128 work = 1;
    for (Letter const& letter : letters_) {
      work *= std::max<std::int64_t>(letter.extent, 1);
      if (work > std::numeric_limits<std::int64_t>::max() / 16) {
        refuse("has more multiplications than 64 bits count", "contract fewer elements at a time");
      }
    }

    Modes* const groups[] = {&g_.m, &g_.n, &g_.k, &g_.l};
    for (Letter& letter : letters_) {
      letter.group = !letter.in_d                 ? Group::k
                     : letter.in_a && letter.in_b ? Group::l
                     : letter.in_a                ? Group::m
                                                  : Group::n;
      Modes& modes = *groups[static_cast<int>(letter.group)];
      if (modes.rank() == kMaxModes) {
        throw UnsupportedProblemError(function_.name + " has more than " + number(kMaxModes) + " indices of one kind" +
                                      r_.operands_text() + "\n  next: merge modes, for instance with reshape");
      }
      letter.place = modes.rank();
      bool const summed = letter.group == Group::k;
      modes.push_back({letter.extent, {}, summed && !letter.in_b, summed && !letter.in_a});
    }
    place(a_, labels_.a, Role::a);
    place(b_, labels_.b, Role::b);
    g_.is_sum = labels_.a.empty() || labels_.b.empty() || (g_.m.rank() == 0 && g_.n.rank() == 0);
    g_.b_is_one = function_.b_is_one;
    g_.conj_a = r_.conj_a != a_.conjugated;
    g_.conj_b = r_.conj_b != b_.conjugated;
  }

  Letter& add_letter(View const& view, std::string const& labels, int mode) {
    char const name = labels[mode];
    auto const extent = view.shape[mode];
    auto const first = view.shape[labels.find(name)];
    if (first != extent) {
      refuse(std::string("takes a diagonal of ") + view.name + " along index " + name + ", whose extents " +
                 number(first) + " and " + number(extent) + " differ",
             "check the shapes");
    }
    Letter* letter = find(name);
    if (letter == nullptr) {
      letters_.push_back({name, extent});
      return letters_.back();
    }
    if (letter->extent != extent) {
      // An extent of 1 is repeated.
      if (letter->extent != 1 && extent != 1) {
        std::string const index =
            std::isalpha(static_cast<unsigned char>(name)) ? std::string(1, name) : "of the ellipsis";
        refuse("needs one extent for index " + index + ", got " + number(letter->extent) + " in A and " +
                   number(extent) + " in B",
               "check the subscripts and the shapes");
      }
      letter->extent = letter->extent == 1 ? extent : letter->extent;
    }
    return *letter;
  }

  // The strides of an array by its modes. A letter that it lacks, and one along which it is repeated, has stride 0; one
  // that it has twice, the diagonal, the sum of both.
  void place(View const& x, std::string_view labels, Role role) {
    if (x.type()) g_.type[role] = *x.type();
    g_.log2_alignment[role] = log2_alignment_of(reinterpret_cast<std::uintptr_t>(x.data));
    for (int i = 0; i < x.rank; ++i) {
      if (x.shape[i] > 1) mode_of(*find(labels[i])).stride[role] += x.stride[i];
    }
  }

  void require_types() {
    for (View const* x : {&a_, &b_}) {
      auto const type = x->type();
      if (!function_.factors.empty()) {
        if (!type || name_of(*type) != function_.factors) {
          refuse("multiplies " + function_.factors,
                 std::string("convert ") + x->name + " to " + function_.factors + ", or use cute_py.gemm");
        }
      } else if (!type || *type == DType::i32) {
        refuse("multiplies " + type_names(factor_types(Compute::c128) | types(DType::i8) | kFloat8) + ", and " +
                   x->name + " is none of them",
               std::string("convert ") + x->name + ", for instance to float64");
      }
    }
    DType const a = *a_.type();
    DType const b = *b_.type();
    auto const compute = compute_for(a, b);
    if (!compute) {
      bool const of_int8 = is_integer(a) || is_integer(b);
      throw UnsupportedProblemError(
          function_.name + (of_int8 ? " multiplies int8 only by int8" : " multiplies float8 only by float8") +
          r_.operands_text() + "\n  next: convert the " + (of_int8 ? "int8" : "float8") + " array to the other's type");
    }
    g_.compute = *compute;
    if (*compute == Compute::i32 && g_.k.size() > kMostStepsOfInt8) {
      throw UnsupportedProblemError(function_.name + " sums products of int8 in int32, which holds every sum of K <= " +
                                    number(kMostStepsOfInt8) + " of them; here K=" + number(g_.k.size()) +
                                    r_.operands_text() +
                                    "\n  next: split K and add the products, or convert A and B to float32");
    }
    bool const is_float32 = a == DType::f32 && b == DType::f32;
    compute_ = r_.compute.empty() && is_float32 && !function_.b_is_one ? r_.float32_compute : r_.compute;
    if (!compute_.empty() && !read_precision(*compute)) {
      auto const asked = by_name<Compute>(compute_, kComputes);
      if (!asked) {
        std::string names;
        for (int i = 0; i < kComputes; ++i) {
          names += (i == 0 ? "" : ", ") + std::string(name_of(static_cast<Compute>(i)));
        }
        for (PrecisionRow const& row : kPrecisionTable) {
          if (!by_name<Compute>(row.name, kComputes)) names += std::string(", ") + row.name;
        }
        throw OperandError(function_.name + ": compute is one of " + names + ", got '" + std::string(compute_) + "'");
      }
      auto const factors = factor_types(*asked);
      if (!contains(factors, a) || !contains(factors, b)) {
        throw UnsupportedProblemError(function_.name + " with compute='" + std::string(compute_) +
                                      "' takes A and B of " + type_names(factors) + r_.operands_text() +
                                      "\n  next: convert them, or leave compute out");
      }
      g_.compute = *asked;
    }
    product_.type = result_type_for(g_.compute, a, b);
    if (!r_.out_dtype.empty()) {
      auto const asked = by_name<DType>(r_.out_dtype, kDTypes);
      if (!asked || !contains(result_types(g_.compute), *asked)) {
        throw UnsupportedProblemError(function_.name + " computes in " + name_of(g_.compute) + " and writes " +
                                      type_names(result_types(g_.compute)) + ", not " + std::string(r_.out_dtype) +
                                      r_.operands_text() + "\n  next: " + wider(asked) +
                                      "leave out_dtype out, or name one of these");
      }
      product_.type = *asked;
    }
  }

  // Is `compute` a way to emulate precision? "fast_float32" is one of factors that are no float8.
  bool read_precision(Compute own) {
    for (PrecisionRow const& row : kPrecisionTable) {
      if (compute_ != row.name) continue;
      bool const is_any = row.precision == Precision::reproducible;
      if (!is_any && row.compute == Compute::f32 && is_float8(*a_.type())) return false;
      DTypeSet const takes = is_any ? types(DType::f32, DType::f64, DType::c64) : types(type_of_sums(row.compute));
      if (!contains(takes, type_of_sums(own)) || !contains(kWide, type_of_sums(own))) {
        throw UnsupportedProblemError(function_.name + " with compute='" + row.name + "' multiplies " +
                                      type_names(takes) + r_.operands_text() +
                                      "\n  next: convert A and B, or leave compute out");
      }
      g_.compute = own;
      if (!function_.b_is_one) g_.precision = row.precision;  // else nothing is multiplied
      return true;
    }
    return false;
  }

  // What the functions with a BLAS name require of strides.
  void require_layout(View const* c) const {
    if (function_.layout.empty()) return;
    struct Rule {
      View const* view;
      int unit_mode;
      char const* first;
      char const* second;
    };
    Rule const rules[] = {
        {&a_, function_.layout[0] == 'n' ? 0 : 1, "m", "k"},
        {&b_, function_.layout[1] == 't' ? 0 : 1, "n", "k"},
        {c, 0, "m", "n"},
    };
    for (auto const& [view, unit_mode, first, second] : rules) {
      if (view == nullptr || has_layout(*view, unit_mode)) continue;
      std::string const name = view->name;
      auto const wanted = std::string(unit_mode == 0 ? first : second) + "-major";
      auto const strides = unit_mode == 0 ? "(1, ld" + name + ")" : "(ld" + name + ", 1)";
      auto const got = major_text(*view, first, second);
      std::string next = "cute_py.gemm(A, B, C) takes any strides";
      if (view == c) {
        char const* const library = product_.type == DType::bf16 ? "ml_dtypes." : "numpy.";
        next += "; numpy.empty((M, N), " + std::string(library) + name_of(product_.type) + ", order='F') is m-major";
      } else {
        next += unit_mode == 0 ? "; numpy.asfortranarray(" + name + ") makes " + name + " " + wanted
                               : "; numpy.ascontiguousarray(" + name + ") makes " + name + " " + wanted;
      }
      throw OperandError(
          function_.name + " needs " + name + " " + wanted + ": strides " + strides + ", ld" + name +
          " >= " + number(view->shape[unit_mode]) + r_.operands_text() + "\n  " + name + " is " +
          (got == wanted ? wanted + ", but its leading dimension is " + number(view->stride[1 - unit_mode]) : got) +
          "\n  next: " + next);
    }
  }

  void read_scalars() {
    for (auto const& [name, scalar] : {std::pair{"alpha", r_.alpha}, std::pair{"beta", r_.beta}}) {
      if (scalar.is_complex && !is_complex(g_.compute)) {
        throw OperandError(
            function_.name + " computes in " + name_of(g_.compute) + ": " + name +
            " is a real number, and a complex one was given\n  next: convert A or B to a complex type, or give " +
            name + "'s real part");
      }
    }
    Arguments const x = make_arguments(r_, g_.compute);
    g_.batch_invariant = r_.batch_invariant;
    g_.real_scalars = x.alpha.imag() == 0 && x.beta.imag() == 0;
    g_.multiplies = x.alpha != 0.0 && g_.k.size() != 0;
    g_.reads_c = x.beta != 0.0;
    g_.scales = x.scale != 1;
    if (r_.c == nullptr && g_.reads_c) {
      throw OperandError(function_.name + " with beta != 0 adds to C, and no C was given\n  next: pass C, or beta=0");
    }
  }

  // What is added or written is read as it lies in memory.
  void require_unconjugated(View const& x) const {
    if (!x.conjugated) return;
    refuse(std::string("takes ") + x.name +
               " as it lies in memory, and this is a view that PyTorch conjugates when it is read",
           std::string("pass ") + x.name + ".resolve_conj()");
  }

  // The beginning of an advice to whoever wants float64 and multiplies float32, or "".
  std::string wider(std::optional<DType> wanted) const {
    bool const helps = wanted == DType::f64 && type_of_sums(g_.compute) == DType::f32;
    return helps ? "compute='float64' sums in float64 and writes it; or " : "";
  }

  // What C and the result have in common.
  void require_result(View const& x, bool is_written) const {
    std::string const name = x.name;
    std::string const a_name = (name == "out" ? "an " : "a ") + name;
    std::string const role = function_.labels ? "of shape" : labels_.d == "mnl" ? "(M,N,L)" : "(M,N)";
    require_same_device(x);
    require_unconjugated(x);
    if (!std::equal(x.shape, x.shape + x.rank, product_.shape.begin(), product_.shape.end())) {
      refuse("needs " + name + " " + role + " = " + tuple_text(product_.shape),
             "pass " + a_name + " of that shape, or none to get a new one");
    }
    if (!x.type() || !contains(result_types(g_.compute), *x.type())) {
      refuse(std::string(is_written ? "writes " : "adds ") + type_names(result_types(g_.compute)),
             wider(x.type()) + "pass a " + name_of(product_.type) + " " + name + ", or none to get a new one");
    }
    if (!is_written) return;
    if (x.read_only) {
      refuse("cannot write to " + name + ", which is read-only",
             "pass a writable " + name + ", or none to get a new one");
    }
    if (shares_elements(x)) {
      refuse("cannot write to " + name + ", whose strides put several elements in one place",
             "pass " + a_name + " with its own memory for every element, or none to get a new one");
    }
  }

  void add_result() {
    auto const rank = product_.shape.size();
    product_.order.resize(rank);
    std::iota(product_.order.begin(), product_.order.end(), 0);
    if (!function_.layout.empty()) std::reverse(product_.order.begin(), product_.order.end());
    if (r_.any_order && function_.layout.empty()) order_as_factors();
    product_.stride.resize(rank);
    std::int64_t stride = 1;
    for (std::size_t i = rank; i-- > 0;) {
      auto const at = static_cast<std::size_t>(product_.order[i]);
      product_.stride[at] = stride;
      stride *= std::max<std::int64_t>(product_.shape[at], 1);
    }

    if (r_.c != nullptr && r_.out != nullptr) require_result(*r_.c, false);
    View const* const d = r_.result();
    if (d != nullptr) {
      require_result(*d, true);
      require_layout(d);
      place(*d, labels_.d, Role::d);
    } else {
      g_.type[Role::d] = product_.type;
      g_.log2_alignment[Role::d] = kMaxLog2Alignment;  // as any allocation is
      for (std::size_t i = 0; i < rank; ++i) mode_of(*find(labels_.d[i])).stride[Role::d] = product_.stride[i];
    }
    if (!g_.reads_c) return;
    place(*r_.c, labels_.d, Role::c);
    g_.c_is_d = r_.out == nullptr || same_place(*r_.c, *r_.out);
  }

  // The modes of a new result in the order that they have in the factors: those of L are the slowest, and those of N
  // the fastest, so that what a kernel writes together lies together. If one factor has all of them, in the order of
  // that one.
  void order_as_factors() {
    struct Place {
      int group;            // 0 of the slowest
      std::int64_t stride;  // in a factor
    };
    std::int64_t const few = 16;
    bool const n_is_fastest = g_.n.size() >= few || g_.n.size() >= g_.m.size();
    auto const place_of = [&](int at) {
      Letter const& letter = *find(labels_.d[static_cast<std::size_t>(at)]);
      Mode const& mode = mode_of(letter);
      auto const along = [&](Role role) {
        auto const stride = std::abs(mode.stride[role]);
        return stride == 0 ? std::numeric_limits<std::int64_t>::max() : stride;
      };
      if (g_.n.rank() == 0) return Place{0, along(Role::a)};
      if (g_.m.rank() == 0) return Place{0, along(Role::b)};
      if (letter.in_a && letter.in_b) return Place{0, along(Role::a)};
      return letter.in_a ? Place{n_is_fastest ? 1 : 2, along(Role::a)} : Place{n_is_fastest ? 2 : 1, along(Role::b)};
    };
    std::stable_sort(product_.order.begin(), product_.order.end(), [&](int x, int y) {
      Place const p = place_of(x);
      Place const q = place_of(y);
      return p.group != q.group ? p.group < q.group : p.stride > q.stride;
    });
  }

  void add_epilogue() {
    g_.activation = r_.activation;
    g_.saturate = r_.saturate;
    if (is_complex(g_.compute) && g_.activation != Activation::none) {
      throw UnsupportedProblemError(function_.name + ": an activation of complex numbers is not defined" +
                                    r_.operands_text() + "\n  next: leave the activation out");
    }
    g_.has_bias = add(r_.bias, Role::bias);
    g_.has_residual = add(r_.residual, Role::residual);
  }

  bool add(View const* given, Role role) {
    if (given == nullptr) return false;
    View const& x = *given;
    require_same_device(x);
    require_unconjugated(x);
    auto const rank = static_cast<int>(product_.shape.size());
    bool fits = x.rank <= rank;
    for (int i = 0; fits && i < x.rank; ++i) {
      fits = x.shape[i] == 1 || x.shape[i] == product_.shape[rank - x.rank + i];
    }
    if (!fits) {
      refuse(std::string("cannot repeat ") + x.name + " to the shape of the result, " + tuple_text(product_.shape),
             "a bias per row is (M,1), one per column (N,) or (1,N)");
    }
    auto const readable = result_types(g_.compute);
    if (!x.type() || !contains(readable, *x.type())) {
      refuse(std::string("adds a ") + x.name + " of " + type_names(readable),
             std::string("convert ") + x.name + " to " + name_of(product_.type));
    }
    place(x, std::string_view(labels_.d).substr(rank - x.rank), role);
    return true;
  }

  void count_bytes() {
    auto const size = [](View const& x) {
      std::int64_t bytes = bytes_of(*x.type());
      for (int i = 0; i < x.rank; ++i) {
        if (x.stride[i] != 0 || x.shape[i] == 0) bytes *= x.shape[i];
      }
      return bytes;
    };
    std::int64_t result = bytes_of(g_.type[Role::d]);
    for (auto const extent : product_.shape) result *= extent;
    product_.bytes = size(a_) + size(b_) + (g_.reads_c ? 2 : 1) * result;
  }

  Request const& r_;
  Function const& function_;
  View const& a_;
  View const& b_;
  Labels labels_;
  std::string_view compute_;
  std::vector<Letter> letters_;
  Product product_;
  Geometry& g_;
};

[[noreturn]] void refuse_overlap(Request const& request, std::string const& rule, std::string const& next) {
  throw OperandError(request.function->name + " cannot write to " + request.result()->name + ", which may overlap " +
                     rule + request.operands_text() + "\n  next: " + next);
}

}  // namespace

std::string Request::operands_text() const {
  std::string text;
  for (View const* x : {a, b, c, out, bias, residual}) {
    bool const is_again = x == b && b == a;  // of what is no product, see execution::prepare_split
    if (x != nullptr && !is_again) text += "\n  " + x->describe();
  }
  return text;
}

Product make_product(Request const& request) {
  return request.b == nullptr ? make_copy(request) : Maker(request).make();
}

void require_apart(Request const& request) {
  View const* const d = request.result();
  if (d == nullptr) return;
  for (View const* x : {request.a, request.b}) {
    if (x != nullptr && may_overlap(*x, *d)) {
      refuse_overlap(request, x->name,
                     std::string("copy ") + x->name + ", or pass no " + d->name + " to get a new one");
    }
  }
  bool const reads_c = request.out != nullptr && request.c != nullptr && request.beta.value != 0.0;
  if (reads_c && !same_place(*request.c, *d) && may_overlap(*request.c, *d)) {
    refuse_overlap(request, "C without being C", "pass no out to write to C itself");
  }
  for (View const* x : {request.bias, request.residual}) {
    if (x != nullptr && !same_place(*x, *d) && may_overlap(*x, *d)) {
      refuse_overlap(request, x->name, std::string("copy ") + x->name);
    }
  }
}

Arguments make_arguments(Request const& request, Compute compute) {
  // Through memory: g++ 12 vectorises the conversion of a complex number to float and back, and removes it.
  auto const as_float = [](double x) {
    float const volatile narrow = static_cast<float>(x);
    return static_cast<double>(narrow);
  };
  auto const rounded = [&](std::complex<double> const& x) {
    return sums_in_float32(compute) ? std::complex<double>(as_float(x.real()), as_float(x.imag())) : x;
  };
  Arguments arguments;
  arguments.alpha = rounded(request.alpha.value);
  arguments.beta = rounded(request.beta.value);
  arguments.scale = request.scale;
  auto const data = [](View const* x) { return x != nullptr ? x->data : nullptr; };
  arguments.data[Role::a] = data(request.a);
  arguments.data[Role::b] = data(request.b);
  arguments.data[Role::c] = data(request.c);
  arguments.data[Role::d] = data(request.result());
  arguments.data[Role::bias] = data(request.bias);
  arguments.data[Role::residual] = data(request.residual);
  for (int i = 0; i < 2; ++i) arguments.split[i] = request.split[i] != nullptr ? request.split[i]->data : nullptr;
  return arguments;
}

}  // namespace cute_py
