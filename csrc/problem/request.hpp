#pragma once

#include <complex>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "problem/device.hpp"
#include "problem/geometry.hpp"
#include "problem/schedule.hpp"
#include "problem/view.hpp"

// A product as its caller describes it.
namespace cute_py {

// The modes of A, B and D, a letter for each. Letters of all three are L, of A and D M, of B and D N, of others K.
struct Labels {
  std::string a;
  std::string b;
  std::string d;
};

// A function of the public interface.
struct Function {
  std::string name;              // for messages: "gemm", "sgemm_nt", "contract('ij,jk', ...)"
  std::string layout;            // "nt", ...: the strides that it insists on; "" for any
  std::string factors;           // the type that it insists on; "" for any
  std::optional<Labels> labels;  // none: of a GEMM, by the ranks of A and B
  bool b_is_one = false;         // B is the number one, an array of no modes: a sum of A alone
  std::uint64_t id = 0;          // of the rules for its labels: no two functions have the same
};

// A decision that is taken in place of a choice, by the name of its variant.
struct Config {
  std::string kernel;
  bool transposed = false;  // as C^T = B A^T
  Schedule schedule;        // of which a family completes what is left open
  unsigned packs = 0;       // Packs of problem/decision.hpp
};

struct Scalar {
  std::complex<double> value;
  bool is_complex = false;
};

// A factor that is kept split for products of emulated precision: the exponents of its rows, and its planes behind
// them.
struct SplitFactor {
  std::string compute;     // as it was asked for
  Geometry geometry;       // of the step that split it
  std::int64_t planes_at;  // bytes before the planes
  std::int64_t bytes;      // of both
  std::uint64_t id;        // which no other has
  void* data;
};

// As many bytes as a product likes.
inline constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

struct Request {
  Function const* function = nullptr;
  std::string_view what;  // what decides on its labels beside the shapes of A and B, such as subscripts

  // The arrays; null of those that were not given. Without B it is a copy of A.
  View const* a = nullptr;
  View const* b = nullptr;
  View const* c = nullptr;    // added, times beta, and written to if there is no `out`
  View const* out = nullptr;  // written to
  View const* bias = nullptr;
  View const* residual = nullptr;
  SplitFactor const* split[2] = {nullptr, nullptr};  // A, and B, as they were split before

  Scalar alpha{1.0};
  Scalar beta{0.0};
  double scale = 1;
  Activation activation = Activation::none;
  bool saturate = false;
  bool conj_a = false;
  bool conj_b = false;
  bool batch_invariant = false;
  bool any_order = false;                      // a new result lies as suits the product
  std::int64_t workspace_limit = kNoLimit;     // bytes that its steps may take beside the arrays
  std::string_view compute;                    // "" for the types' own
  std::string_view float32_compute;            // in its place where it is "" and A and B are float32
  std::string_view out_dtype;                  // "" for the factors' own
  std::string_view kernel = "auto";            // or a kernel's name, or a variant's
  std::optional<Config> config;                // in place of a choice
  std::string_view device;                     // "", "cpu", "emulator", "cuda" or "cuda:1"
  std::shared_ptr<DeviceInfo const> invented;  // a processor that nobody has, in place of `device`

  // What is written to; null for a new array.
  View const* result() const { return out != nullptr ? out : c; }

  // "\n  A float32 (2,3):(3,1) cpu\n  B ...", for messages.
  std::string operands_text() const;
};

}  // namespace cute_py
