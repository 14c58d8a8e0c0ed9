#include "problem/overlap.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

namespace cute_py {
namespace {

// A search gives up after this number of steps.
constexpr int kMaxSteps = 100'000;

// A term of a sum: stride * i for a whole number i in [low, high], stride > 0.
struct Term {
  std::int64_t stride;
  std::int64_t low;
  std::int64_t high;
};

std::int64_t floor_div(__int128 a, std::int64_t b) {
  auto const q = a / b;
  return static_cast<std::int64_t>(q - (a % b != 0 && a < 0));
}

// Is there a choice of one value of each term with a given sum? Terms are tried from the longest stride on; for strides
// that nest, as those of a dense array do, at most two values of each are left to try.
class Search {
 public:
  explicit Search(std::vector<Term> terms) : terms_(std::move(terms)) {
    std::sort(terms_.begin(), terms_.end(), [](Term const& x, Term const& y) { return x.stride > y.stride; });
    // Terms with one stride are one term.
    std::vector<Term> merged;
    for (Term const& t : terms_) {
      if (!merged.empty() && merged.back().stride == t.stride) {
        merged.back().low += t.low;
        merged.back().high += t.high;
      } else {
        merged.push_back(t);
      }
    }
    terms_ = std::move(merged);
    auto const count = terms_.size();
    low_.resize(count + 1);
    high_.resize(count + 1);
    gcd_.resize(count + 1);
    for (auto i = count; i-- > 0;) {
      low_[i] = low_[i + 1] + static_cast<__int128>(terms_[i].stride) * terms_[i].low;
      high_[i] = high_[i + 1] + static_cast<__int128>(terms_[i].stride) * terms_[i].high;
      gcd_[i] = std::gcd(gcd_[i + 1], terms_[i].stride);
    }
  }

  // Also true if the search gives up.
  bool finds(__int128 sum) { return step(0, sum); }

 private:
  bool step(std::size_t i, __int128 sum) {
    if (++steps_ > kMaxSteps) return true;
    if (sum < low_[i] || sum > high_[i]) return false;
    if (i == terms_.size()) return sum == 0;
    if (sum % gcd_[i] != 0) return false;
    Term const& t = terms_[i];
    // What the later terms can make up for decides which values of this one are left.
    auto const first = std::max(t.low, -floor_div(-(sum - high_[i + 1]), t.stride));
    auto const last = std::min(t.high, floor_div(sum - low_[i + 1], t.stride));
    for (auto value = first; value <= last; ++value) {
      if (step(i + 1, sum - static_cast<__int128>(t.stride) * value)) return true;
    }
    return false;
  }

  std::vector<Term> terms_;
  std::vector<__int128> low_;  // of the sum of the terms from i on
  std::vector<__int128> high_;
  std::vector<std::int64_t> gcd_;
  int steps_ = 0;
};

// The term of a mode that is counted from `low` to `high`; none for a stride of 0.
void add_term(std::vector<Term>& terms, std::int64_t stride, std::int64_t low, std::int64_t high) {
  if (stride == 0 || (low == 0 && high == 0)) return;
  if (stride < 0) {
    terms.push_back({-stride, -high, -low});
  } else {
    terms.push_back({stride, low, high});
  }
}

bool is_empty(Footprint const& array) {
  return std::any_of(array.modes.begin(), array.modes.end(), [](auto const& mode) { return mode.extent == 0; });
}

}  // namespace

bool shares_elements(Footprint const& array) {
  if (is_empty(array)) return false;
  auto modes = array.modes;
  modes.erase(std::remove_if(modes.begin(), modes.end(), [](auto const& mode) { return mode.extent == 1; }),
              modes.end());
  for (auto& mode : modes) mode.stride = std::abs(mode.stride);
  std::sort(modes.begin(), modes.end(), [](auto const& x, auto const& y) { return x.stride < y.stride; });

  // Strides that nest: each reaches beyond all that the shorter ones cover.
  std::int64_t reach = array.element_bytes;
  bool nested = true;
  for (auto const& mode : modes) {
    nested = nested && mode.stride >= reach;
    reach += mode.stride * (mode.extent - 1);
  }
  if (nested) return false;

  // Two coordinates differ first, from the last mode on, in some mode i: by at least 1 there, by anything in those
  // before. Their elements are less than an element apart.
  for (std::size_t i = 0; i < modes.size(); ++i) {
    std::vector<Term> terms;
    add_term(terms, modes[i].stride, 1, modes[i].extent - 1);
    if (modes[i].stride == 0) return true;
    for (std::size_t j = 0; j < i; ++j) {
      add_term(terms, modes[j].stride, -(modes[j].extent - 1), modes[j].extent - 1);
    }
    add_term(terms, 1, -(array.element_bytes - 1), array.element_bytes - 1);
    if (Search(std::move(terms)).finds(0)) return true;
  }
  return false;
}

bool may_overlap(Footprint const& x, Footprint const& y) {
  if (is_empty(x) || is_empty(y)) return false;
  std::vector<Term> terms;
  for (auto const& mode : x.modes) add_term(terms, mode.stride, 0, mode.extent - 1);
  for (auto const& mode : y.modes) add_term(terms, mode.stride, -(mode.extent - 1), 0);
  // A byte of an element of x is a byte of an element of y.
  add_term(terms, 1, 0, x.element_bytes - 1);
  add_term(terms, 1, -(y.element_bytes - 1), 0);
  return Search(std::move(terms))
      .finds(static_cast<__int128>(reinterpret_cast<std::intptr_t>(y.data)) - reinterpret_cast<std::intptr_t>(x.data));
}

}  // namespace cute_py
