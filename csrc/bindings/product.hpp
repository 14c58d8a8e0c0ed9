#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <complex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/arrays.hpp"
#include "problem/entry.hpp"
#include "problem/problem.hpp"

// A product as a caller asks for it, and the Problem that it is.
namespace cute_py::bindings {

// The modes of A, B and D, a letter for each. Letters of all three are L, of A and D M, of B and D N, of others K.
struct Labels {
  std::string a;
  std::string b;
  std::string d;
};

// What the Python front end passes on: the arguments of a public function and its name, for messages.
struct Call {
  std::string function;          // "gemm", "sgemm_nt", "contract('ij,jk', ...)"
  std::string_view layout;       // "nt", ...: the strides that this function insists on; "" for any
  std::optional<Labels> labels;  // none: of a GEMM, by the ranks of A and B
  py::handle a;
  py::handle b;
  py::handle c;    // None: nothing to add
  py::handle out;  // None: C itself, or a new array
  py::handle alpha;
  py::handle beta;
  std::string_view kernel;               // "auto", a kernel or a variant
  std::string_view device;               // "", "cpu", "emulator", "cuda" or "cuda:1"
  std::optional<std::uintptr_t> stream;  // as the caller gave it
  Execution execution;

  std::string_view compute;    // "" for the types' own
  std::string_view out_dtype;  // "" for the factors' own
  std::string_view factors;    // the type that a function with a BLAS name insists on; "" for any
  bool conj_a = false;
  bool conj_b = false;
  py::handle epilogue;  // cute_py.Epilogue or null
  bool batch_invariant = false;
};

// A and B, then the result and all that is added to it, checked step by step. Pointers of the Problem lie in the
// arrays, which the caller of the Python function keeps alive.
class Product {
 public:
  // Imports A and B and checks what can be known of them.
  explicit Product(Call const& call);

  // Makes C and D known: `out`, C, or a new array from `allocate(like, shape, order, dtype)`. Without an allocator, a
  // new array is only imagined.
  void add_result(py::handle allocate);

  Call const& call() const { return call_; }
  Operand const& a() const { return a_; }
  Operand const& b() const { return b_; }
  Problem const& problem() const { return problem_; }
  py::object result() const { return result_; }
  std::optional<std::uintptr_t> stream() const { return stream_; }
  bool must_wait() const;

  // "\n  A float32 (2,3):(3,1) cpu\n  B ...", of those that are known so far.
  std::string operands_text() const;

  // The same as a list; a result that there is not yet is "C float32 (2,3):(3,1) new".
  py::list operands() const;

  // The bytes that have to move at least: each element of A, B, D and, if it is read, C once.
  std::int64_t bytes() const;

 private:
  void require_gemm() const;
  void require_types();
  void require_layout(Operand const* c) const;
  void require_result(Operand const& x, char const* role) const;
  void require_unconjugated(Operand const& x) const;
  std::string wider(std::optional<DType> wanted) const;
  void make_modes();
  void add_scalars();
  void add_epilogue();
  void place(Operand const& x, std::string const& labels, Array& array, bool is_factor) const;
  Operand const* same_device(Operand const& x) const;
  [[noreturn]] void refuse(std::string const& rule, std::string const& next) const;

  // A letter: its extent, and where it stands.
  struct Mode {
    char letter;
    std::int64_t extent;
    bool in_a = false;
    bool in_b = false;
    bool in_d = false;
    int group = 0;  // 0 to 3: M, N, K, L
    int place = 0;  // in the group
  };
  Mode* find(char letter);
  Mode const* find(char letter) const;

  Call const& call_;
  Labels labels_;
  std::optional<std::uintptr_t> stream_;
  Operand a_;
  Operand b_;
  std::optional<Operand> c_;
  std::optional<Operand> d_;
  std::optional<Operand> bias_;
  std::optional<Operand> residual_;
  py::object result_;
  std::vector<Mode> modes_;
  std::vector<std::int64_t> result_shape_;
  DType result_type_ = DType::f32;
  Problem problem_;
};

}  // namespace cute_py::bindings
