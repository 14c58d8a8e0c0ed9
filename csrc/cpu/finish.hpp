#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cpu/arithmetic.hpp"
#include "cpu/operations.hpp"
#include "numeric/epilogue.hpp"

namespace cute_py::cpu {

// Some elements of an array that lie equally far apart.
struct Line {
  std::int64_t offset;  // of the first, in elements
  std::int64_t stride;
};

// Reads a line of an array as numbers of type T.
template <class T, DTypeSet set>
void load_line(void const* data, DType type, Line const& line, std::int64_t count, T* to) {
  numeric::with_type<set>(type, [&](auto const& sample) {
    using Stored = std::decay_t<decltype(sample)>;
    auto const* const from = static_cast<Stored const*>(data) + line.offset;
    if (line.stride == 1) {
      for (std::int64_t i = 0; i < count; ++i) to[i] = numeric::convert<T>(numeric::load(from + i));
    } else {
      for (std::int64_t i = 0; i < count; ++i) to[i] = numeric::convert<T>(numeric::load(from + i * line.stride));
    }
  });
}

// The same, of contiguous 16-bit numbers in vectors.
template <DTypeSet set, class Scalar, class T>
void load_line(Kernels<Scalar> const& kernels, void const* data, DType type, Line const& line, std::int64_t count,
               T* to) {
  if constexpr (std::is_same_v<T, float>) {
    auto const* const from = static_cast<char const*>(data) + line.offset * bytes_of(type);
    if (line.stride == 1 && kernels.convert.widen(type, count, from, to)) return;
  }
  load_line<T, set>(data, type, line, count, to);
}

// D = epilogue(sums) for lines of the result.
template <Compute compute>
class Finish {
  using Scalar = typename Arithmetic<compute>::Scalar;
  using Accumulator = typename Arithmetic<compute>::Accumulator;
  using E = numeric::EpilogueType<Accumulator>;

 public:
  Finish(Geometry const& g, Arguments const& x, Kernels<Scalar> const& kernels)
      : g_(g),
        x_(x),
        kernels_(kernels),
        alpha_(numeric::scalar<E>(x.alpha)),
        beta_(numeric::scalar<E>(x.beta)),
        scale_(numeric::scalar<E>(x.scale)) {
    auto const own = numeric::kDTypeOf<Accumulator>;
    bool const one_type = g.type[Role::d] == own && (!g.reads_c || g.type[Role::c] == own);
    plain_ = std::is_same_v<E, Scalar> && one_type && g.is_plain();
    in_one_pass_ = std::is_same_v<E, Scalar> && g.type[Role::d] == own && (!g.has_bias || g.type[Role::bias] == own) &&
                   !g.reads_c && !g.has_residual && !g.scales && !g.saturate;
  }

  // What an element of the result takes beside its products, in multiply-adds: those that call the C library most.
  std::int64_t work_of_element() const { return g_.activation == Activation::none ? 1 : 64; }

  // Is D = alpha * sums + beta * C all that is done, in one type?
  bool is_plain() const { return plain_; }
  // Is there no more than a bias and an activation, in one type?
  bool is_in_one_pass() const { return in_one_pass_; }
  E alpha() const { return alpha_; }
  E beta() const { return beta_; }

  // `sums` are those of `count` elements, which lie in each array that there is as its line says.
  void operator()(Accumulator const* sums, std::int64_t count, PerRole<Line> const& lines) const {
    if constexpr (std::is_same_v<E, Scalar>) {
      if (plain_ && lines[Role::d].stride == 1 && (!g_.reads_c || lines[Role::c].stride == 1)) {
        auto const* const c = g_.reads_c ? static_cast<E const*>(x_.data[Role::c]) + lines[Role::c].offset : nullptr;
        kernels_.elementwise.scale(count, alpha_, sums, g_.reads_c ? beta_ : E(0), c,
                                   static_cast<E*>(x_.data[Role::d]) + lines[Role::d].offset);
        return;
      }
    }
    if constexpr (std::is_same_v<E, Scalar>) {
      Line const& of_bias = lines[Role::bias];
      if (in_one_pass_ && lines[Role::d].stride == 1 && (!g_.has_bias || of_bias.stride == 0 || of_bias.stride == 1)) {
        auto const* const bias = g_.has_bias ? static_cast<E const*>(x_.data[Role::bias]) + of_bias.offset : nullptr;
        auto* const d = static_cast<E*>(x_.data[Role::d]) + lines[Role::d].offset;
        std::int64_t const only = 0;
        if (tile(count, 1, sums, 0, {bias, of_bias.stride == 1, &only}, d, &only)) return;
      }
    }
    if (count <= kAtOnce) return some(sums, count, lines);
    for (std::int64_t i = 0; i < count; i += kAtOnce) {
      PerRole<Line> rest = lines;
      for (auto& line : rest.values) line.offset += i * line.stride;
      some(sums + i, std::min(kAtOnce, count - i), rest);
    }
  }

  // The same of a tile whose rows are contiguous in D and in a bias, and true; false if that cannot be done in one
  // pass.
  template <class T>
  bool tile(std::int64_t rows, std::int64_t columns, T const* sums, std::int64_t column, BiasOfTile<T> const& bias,
            T* d, std::int64_t const* d_columns) const {
    return kernels_.elementwise.finish(g_.activation, rows, columns, alpha_, sums, column, bias, d, d_columns);
  }

 private:
  static constexpr std::int64_t kAtOnce = 128;

  void some(Accumulator const* sums, std::int64_t count, PerRole<Line> const& lines) const {
    alignas(64) E x[kAtOnce];
    alignas(64) E buffer[kAtOnce];
    // A line of the type that is computed in, where it lies or in the buffer.
    auto const line_of = [&](Role role) -> E const* {
      if (lines[role].stride == 1 && g_.type[role] == numeric::kDTypeOf<E>) {
        return static_cast<E const*>(x_.data[role]) + lines[role].offset;
      }
      load_line<numeric::kReadableOnHost<E>>(kernels_, x_.data[role], g_.type[role], lines[role], count, buffer);
      return buffer;
    };
    scale(count, alpha_, sums, g_.reads_c ? line_of(Role::c) : nullptr, x);
    if (g_.has_bias) add(count, line_of(Role::bias), x);
    if (g_.activation != Activation::none && !activate_in_vectors(count, x)) {
      for (std::int64_t i = 0; i < count; ++i) x[i] = numeric::activate(g_.activation, x[i]);
    }
    if (g_.scales) {
      for (std::int64_t i = 0; i < count; ++i) x[i] = numeric::times<E>(scale_, x[i]);
    }
    if (g_.has_residual) add(count, line_of(Role::residual), x);
    store(count, x, lines[Role::d]);
  }

  // x = alpha * sums + beta * c, unless c is null.
  void scale(std::int64_t count, E const& alpha, Accumulator const* sums, E const* c, E* x) const {
    if constexpr (std::is_same_v<E, Scalar>) {
      kernels_.elementwise.scale(count, alpha, sums, c == nullptr ? E(0) : beta_, c, x);
    } else if (c == nullptr) {
      for (std::int64_t i = 0; i < count; ++i) x[i] = numeric::times<E>(alpha, static_cast<E>(sums[i]));
    } else {
      for (std::int64_t i = 0; i < count; ++i) {
        x[i] = numeric::axpby<E>(alpha, static_cast<E>(sums[i]), beta_, numeric::load(c + i));
      }
    }
  }

  void add(std::int64_t count, E const* y, E* x) const {
    if constexpr (std::is_same_v<E, Scalar>) {
      kernels_.sums.add(count, y, x);
    } else {
      for (std::int64_t i = 0; i < count; ++i) x[i] = x[i] + numeric::load(y + i);
    }
  }

  void store(std::int64_t count, E const* x, Line const& line) const {
    if constexpr (std::is_same_v<E, Scalar>) {
      if (g_.type[Role::d] == numeric::kDTypeOf<E> && !g_.saturate && line.stride == 1) {
        kernels_.elementwise.scale(count, E(1), x, E(0), nullptr, static_cast<E*>(x_.data[Role::d]) + line.offset);
        return;
      }
    }
    if constexpr (std::is_same_v<E, float> && std::is_same_v<Scalar, float>) {
      void* const to = element(x_.data[Role::d], g_.type[Role::d], line.offset);
      if (!g_.saturate && line.stride == 1 && kernels_.convert.narrow(g_.type[Role::d], count, x, to)) return;
    }
    numeric::with_type<numeric::kWritableOnHost<E>>(g_.type[Role::d], [&](auto const& sample) {
      using Stored = std::decay_t<decltype(sample)>;
      auto* const to = static_cast<Stored*>(x_.data[Role::d]) + line.offset;
      for (std::int64_t i = 0; i < count; ++i) {
        numeric::store(to + i * line.stride, numeric::narrow<Stored>(x[i], g_.saturate));
      }
    });
  }

  bool activate_in_vectors(std::int64_t count, E* x) const {
    if constexpr (std::is_same_v<E, Scalar>) {
      return kernels_.math.activate(g_.activation, count, x);
    } else {
      return false;
    }
  }

  Geometry const& g_;
  Arguments const& x_;
  Kernels<Scalar> const& kernels_;
  E const alpha_;
  E const beta_;
  E const scale_;
  bool in_one_pass_;  // with a bias and an activation at most, in one type
  bool plain_ = false;
};

}  // namespace cute_py::cpu
