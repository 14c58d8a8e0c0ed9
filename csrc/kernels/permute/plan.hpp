#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <vector>

#include "problem/access.hpp"
#include "problem/entry.hpp"

// Which part of each mode a tile of a copy has, and in what order its elements are read and written.
namespace cute_py::kernels {

// The tiles of copies of elements of `bytes` bytes. Contiguous elements move in words of up to 16 bytes.
template <int bytes>
struct PermuteTile {
  static constexpr int threads = 256;
  static constexpr int line = bytes == 1 ? 192 : bytes == 2 ? 128 : bytes == 4 ? 64 : bytes == 8 ? 48 : 32;
  static constexpr int longest_line = 4 * line;
  static constexpr int most_lines = 2 * line;
  static constexpr int places = line * (line * bytes / 16 + 1) * 16 / bytes + 16 / bytes;
};

// The same as values.
struct PermuteLimits {
  int bytes;
  int threads;
  int line;
  int longest_line;
  int most_lines;
  int places;

  template <int bytes>
  static PermuteLimits of() {
    using Tile = PermuteTile<bytes>;
    return {bytes, Tile::threads, Tile::line, Tile::longest_line, Tile::most_lines, Tile::places};
  }

  int in_four() const { return std::max(4 / bytes, 1); }  // elements in four bytes

  // What a line takes in shared memory: an odd number of words, so that columns are in as many banks as there are.
  std::int64_t pitch_of(std::int64_t elements, int word_bytes) const {
    int const unit = std::max(word_bytes, 4);
    auto const words = (elements * bytes + unit - 1) / unit;
    return (words + 1 - words % 2) * unit / bytes;
  }
};

class PermutePlan {
 public:
  struct TiledMode {
    std::int64_t extent;
    std::int64_t a;  // strides, in elements as they are moved
    std::int64_t d;
    std::int64_t tile = 1;

    std::int64_t tiles() const { return (extent + tile - 1) / tile; }
  };

  // A factor of a mode's part of a tile.
  struct Digit {
    std::int64_t extent;
    std::int64_t a;
    std::int64_t d;
    std::int64_t place = 0;  // stride in shared memory
    bool along_a = false;    // within a line of A
    bool along_d = false;
  };

  // A way through a tile: the digits of a line, and those that lead from line to line.
  struct Way {
    std::vector<Digit> along;
    std::vector<Digit> across;
    int word_bytes = 0;  // that move at a time

    // Bytes of a window: elements of less than 4 bytes, whose lines begin anywhere, but without gaps, move as the
    // aligned words that they lie in. 0: they do not.
    int window_bytes = 0;

    static std::int64_t size(std::vector<Digit> const& digits) {
      std::int64_t product = 1;
      for (Digit const& digit : digits) product *= digit.extent;
      return product;
    }
    std::int64_t line() const { return size(along); }
    std::int64_t lines() const { return size(across); }
  };

  // Of a copy along M that moves `bytes` at a time. Requires: moves_together(g, bytes).
  PermutePlan(Geometry const& g, int bytes, PermuteLimits const& limits) : limits_(limits) {
    std::int64_t const element = bytes_of(g.type[Role::d]);
    std::int64_t const parts = std::max<std::int64_t>(element / bytes, 1);     // of an element
    std::int64_t const together = std::max<std::int64_t>(bytes / element, 1);  // elements
    if (parts > 1) modes_.push_back({parts, 1, 1});
    bool joined = together == 1;
    for (Mode const& mode : g.m) {
      TiledMode x{mode.extent, mode.stride[Role::a] * parts, mode.stride[Role::d] * parts};
      if (!joined && x.a == 1 && x.d == 1) {
        x.extent /= together;
        joined = true;
      } else {
        x.a /= together;
        x.d /= together;
      }
      if (x.extent > 1) modes_.push_back(x);
    }
    a_.word_bytes = widest_word(g, Role::a, &TiledMode::a);
    d_.word_bytes = widest_word(g, Role::d, &TiledMode::d);
    // Lines of D go on from CTA to CTA, as long as L2 has where they end.
    std::stable_sort(modes_.begin(), modes_.end(),
                     [](TiledMode const& x, TiledMode const& y) { return length(x.d) < length(y.d); });
    // Of a small array the tiles are smaller, so that most multiprocessors have one.
    int const shortest_line = 64 / bytes;  // 64 bytes
    constexpr std::int64_t kEnoughTiles = 100;
    std::int64_t elements = 1;
    for (TiledMode const& mode : modes_) elements *= mode.extent;
    while (limits_.line >= 2 * shortest_line && elements < kEnoughTiles * limits_.line * limits_.line)
      limits_.line /= 2;
    for (auto most = std::int64_t{limits_.line} * limits_.line; !fits(most); most -= most / 16) {
    }
  }

  // In the order in which CTAs count their tiles.
  std::vector<TiledMode> const& modes() const { return modes_; }
  Way const& a() const { return a_; }
  Way const& d() const { return d_; }

  std::int64_t tiles() const {
    std::int64_t count = 1;
    for (TiledMode const& mode : modes_) count *= mode.tiles();
    return count;
  }

  // Do the elements in four bytes of a line of A lie in as many adjacent lines of D, so that squares of them can be
  // transposed in registers?
  bool in_squares() const {
    if (limits_.in_four() == 1 || a_.word_bytes < 4 || d_.word_bytes < 4 || d_.across.empty()) return false;
    Digit const& first = d_.across.front();
    return first.a == 1 && first.along_a && first.extent % limits_.in_four() == 0;
  }

  // Are both ways the same?
  bool is_direct() const {
    if (a_.window_bytes != 0) return false;
    auto const same = [](Digit const& x, Digit const& y) { return x.extent == y.extent && x.a == y.a && x.d == y.d; };
    auto const all = [&](std::vector<Digit> const& x, std::vector<Digit> const& y) {
      return std::equal(x.begin(), x.end(), y.begin(), y.end(), same);
    };
    return a_.word_bytes == d_.word_bytes && all(a_.along, d_.along) && all(a_.across, d_.across);
  }

 private:
  template <class T>
  using Stride = std::int64_t T::*;

  static constexpr int kSectorBytes = 32;  // the least that memory moves

  static std::int64_t length(std::int64_t stride) {
    return stride == 0 ? std::numeric_limits<std::int64_t>::max() : std::abs(stride);
  }

  static std::int64_t round_up(std::int64_t x, std::int64_t step) { return (x + step - 1) / step * step; }

  // The widest word whose elements lie side by side, wherever one begins.
  int widest_word(Geometry const& g, Role role, Stride<TiledMode> stride) const {
    for (int const word : {16, 8, 4}) {
      if (word > limits_.bytes && lies_in_words(g, role, stride, word)) return word;
    }
    return limits_.bytes;
  }

  bool lies_in_words(Geometry const& g, Role role, Stride<TiledMode> stride, int word) const {
    if (!g.is_aligned(role, word)) return false;
    bool has_unit = false;
    for (TiledMode const& mode : modes_) {
      bool const is_unit = mode.*stride == 1;
      has_unit = has_unit || is_unit;
      if ((is_unit ? mode.extent : mode.*stride) % (word / limits_.bytes) != 0) return false;
    }
    return has_unit;
  }

  // Chooses a tile of at most `most` elements. Does it fit into shared memory?
  bool fits(std::int64_t most) {
    choose_tile(most);
    return make_ways() <= limits_.places && a_.lines() <= limits_.most_lines && d_.lines() <= limits_.most_lines;
  }

  std::vector<TiledMode*> by(Stride<TiledMode> stride) {
    std::vector<TiledMode*> order;
    for (TiledMode& mode : modes_) order.push_back(&mode);
    std::stable_sort(order.begin(), order.end(),
                     [&](TiledMode const* x, TiledMode const* y) { return length(x->*stride) < length(y->*stride); });
    return order;
  }

  // Gives a mode about `wanted` elements in a tile, and about as many to each of its tiles, if there is room.
  void grow(TiledMode& mode, std::int64_t wanted, std::int64_t most) {
    std::int64_t others = 1;
    for (TiledMode const& other : modes_) {
      if (&other != &mode) others *= other.tile;
    }
    auto tile = std::min({wanted, most / others, mode.extent});
    // What is longer than a line can be is cut in lines.
    auto const step = tile > limits_.longest_line ? std::int64_t{limits_.line} : step_of(mode);
    if (tile < mode.extent || tile > limits_.longest_line) {
      tile = std::max(tile / step, std::int64_t{1}) * step;
      auto const count = (mode.extent + tile - 1) / tile;
      tile = std::min(round_up((mode.extent + count - 1) / count, step), tile);
    }
    mode.tile = std::max(mode.tile, std::min(tile, mode.extent));
  }

  // A line of A, then one of D, then as much as there is room for.
  void choose_tile(std::int64_t most) {
    for (TiledMode& mode : modes_) mode.tile = 1;
    for (auto const stride : {&TiledMode::a, &TiledMode::d}) {
      std::int64_t reached = 1;
      for (TiledMode* const mode : by(stride)) {
        if (reached >= limits_.line) break;
        grow(*mode, (limits_.line + reached - 1) / reached, most);
        reached *= mode->tile;
        if (mode->tile < mode->extent) break;
      }
    }
    for (TiledMode* const mode : by(&TiledMode::a)) {
      if (mode->tile < mode->extent) grow(*mode, mode->extent, most);
    }
  }

  // Words begin at multiples of their length, and a tile's lines at multiples of the least that memory moves.
  std::int64_t step_of(TiledMode const& mode) const {
    return mode.a == 1 || mode.d == 1 ? kSectorBytes / limits_.bytes : 1;
  }

  // Returns the places in shared memory that it takes.
  std::int64_t make_ways() {
    std::vector<Digit> digits;
    for (TiledMode const& mode : modes_) {
      if (mode.tile > 1) digits.push_back({mode.tile, mode.a, mode.d});
    }
    mark_line(digits, &Digit::a, &Digit::along_a, a_.word_bytes);
    mark_line(digits, &Digit::d, &Digit::along_d, d_.word_bytes);

    bool const d_is_dense = d_.word_bytes < 4 && has_no_gaps(digits, &Digit::d, &Digit::along_d);
    d_.window_bytes = d_is_dense ? 4 : 0;

    // Lines of A begin in their windows in shared memory as they do in memory. Where that would bring columns into few
    // banks, the windows are small.
    bool const goes_through_banks = !digits.empty() && digits[0].a % 2 != 0;
    sort(digits, &Digit::a);
    bool const a_is_dense = a_.word_bytes < 4 && has_no_gaps(digits, &Digit::a, &Digit::along_a);
    a_.window_bytes = !a_is_dense ? 0 : goes_through_banks ? 16 : 4;
    std::int64_t line = 1;
    for (Digit& digit : digits) {
      if (!digit.along_a) continue;
      digit.place = line;
      line *= digit.extent;
    }

    // Columns of shared memory are read for D: its order is that of the lines. The elements of a word are as far apart
    // as there is room, so that adjacent threads, each with the next word, read adjacent lines.
    sort(digits, &Digit::d);
    // Not where adjacent lines are an odd number of elements apart: they are in different banks then.
    bool const are_odd = d_.word_bytes < 4 && a_.window_bytes == 16;
    auto const together = are_odd ? 1 : std::max(d_.word_bytes, 4) / limits_.bytes;
    bool const apart = together > 1 && !digits.empty() && !digits[0].along_a && digits[0].extent > together &&
                       digits[0].extent % together == 0;
    if (apart) split(digits, 0, together);
    // Of a window's other elements, some may come before a line and behind it.
    std::int64_t const window = std::max(a_.window_bytes / limits_.bytes, 1);
    std::int64_t place = limits_.pitch_of(line + 3 * (window - 1), a_.word_bytes);
    auto const place_line = [&](Digit& digit) {
      if (digit.along_a) return;
      if (window > 1) place += ((digit.a - place) % window + window) % window;
      digit.place = place;
      place *= digit.extent;
    };
    for (std::size_t i = apart ? 1 : 0; i < digits.size(); ++i) place_line(digits[i]);
    if (apart) place_line(digits[0]);

    // Adjacent lines of D are contiguous in a line of A.
    fill(d_, digits, &Digit::along_d);
    sort(d_.across, &Digit::a);
    sort(digits, &Digit::a);
    fill(a_, digits, &Digit::along_a);
    return place + window;
  }

  // Do the elements of a line lie side by side? The digits are sorted.
  static bool has_no_gaps(std::vector<Digit> const& digits, Stride<Digit> stride, bool Digit::* along) {
    std::int64_t next = 1;
    for (Digit const& digit : digits) {
      if (!(digit.*along)) continue;
      if (digit.*stride != next) return false;
      next *= digit.extent;
    }
    return next > 1;
  }

  static void fill(Way& way, std::vector<Digit> const& digits, bool Digit::* along) {
    way.along.clear();
    way.across.clear();
    for (Digit const& digit : digits) (digit.*along ? way.along : way.across).push_back(digit);
  }

  // Marks the digits of a line: the shortest strides, until they make one, the last of them cut off where it ends. A
  // thread moves a word of it, or a window, in which there are no gaps.
  void mark_line(std::vector<Digit>& digits, Stride<Digit> stride, bool Digit::* along, int word_bytes) const {
    sort(digits, stride);
    std::int64_t reached = 1;
    bool is_dense = true;
    for (std::size_t i = 0; i < digits.size() && reached < limits_.line; ++i) {
      is_dense = is_dense && digits[i].*stride == reached;
      if (!is_dense && word_bytes < 4 && reached * limits_.bytes >= kSectorBytes) return;
      int const together = std::max(std::max(word_bytes, is_dense ? 4 : 1) / limits_.bytes, 1);
      // The first and the last window of a line have others' elements, too.
      auto const in_threads = std::int64_t{together} * limits_.threads - (word_bytes < 4 ? 2 * (together - 1) : 0);
      auto const most = std::min<std::int64_t>(limits_.longest_line, in_threads);
      bool const is_longer = reached * digits[i].extent > most;
      if (is_longer) {
        auto const step = elements_of_word(digits[i]);
        auto const inner = largest_divisor(digits[i].extent / step, limits_.line / reached / step) * step;
        if (i > 0 && (inner == 1 || reached * inner > most)) return;
        split(digits, i, inner);
      }
      digits[i].*along = true;
      if (is_longer) return;
      reached *= digits[i].extent;
    }
  }

  // A digit of unit stride is cut between words, those of A and those of D: a word is in one line of both.
  std::int64_t elements_of_word(Digit const& digit) const {
    int const bytes = std::max({limits_.bytes, digit.a == 1 ? a_.word_bytes : 0, digit.d == 1 ? d_.word_bytes : 0});
    return bytes / limits_.bytes;
  }

  static void sort(std::vector<Digit>& digits, Stride<Digit> stride) {
    std::stable_sort(digits.begin(), digits.end(),
                     [&](Digit const& x, Digit const& y) { return length(x.*stride) < length(y.*stride); });
  }

  // Makes two digits of one: `inner` of its elements, and what they are repeated by.
  static void split(std::vector<Digit>& digits, std::size_t i, std::int64_t inner) {
    Digit outer = digits[i];
    outer.extent /= inner;
    outer.a *= inner;
    outer.d *= inner;
    digits[i].extent = inner;
    digits.insert(digits.begin() + static_cast<std::ptrdiff_t>(i) + 1, outer);
  }

  static std::int64_t largest_divisor(std::int64_t x, std::int64_t most) {
    auto divisor = std::max<std::int64_t>(std::min(x, most), 1);
    while (x % divisor != 0) --divisor;
    return divisor;
  }

  PermuteLimits limits_;
  std::vector<TiledMode> modes_;
  Way a_;
  Way d_;
};

}  // namespace cute_py::kernels
