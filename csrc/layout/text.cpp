#include "layout/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "base/errors.hpp"
#include "layout/layout.hpp"
#include "layout/swizzle.hpp"

namespace cute_py::layout {
namespace {

// The integers that CuTe has a name for.
constexpr std::array<int, 50> kNamed = {0,   1,   2,   3,   4,   5,   6,    7,    8,    9,    10,   12,  16,
                                        24,  32,  40,  48,  56,  64,  72,   80,   88,   96,   104,  112, 120,
                                        128, 136, 144, 152, 160, 168, 176,  184,  192,  200,  208,  216, 224,
                                        232, 240, 248, 256, 384, 512, 1024, 2048, 4096, 8192, 16384};

template <class Trees>
std::string joined(Trees const& elements) {
  std::string text = "(";
  for (auto const& e : elements) {
    if (text.size() > 1) text += ",";
    text += to_string(e);
  }
  return text + ")";
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Tiler tiler(int nesting = 0) {
    if (nesting > kMaxDepth) fail("deeper than " + std::to_string(kMaxDepth) + " levels");
    bool const angled = take("<");  // a tuple of tilers, as CuTe's documents write it: <3:4,8:2>
    if (angled || take("(")) {
      std::string_view const end = angled ? ">" : ")";
      std::vector<Tiler> elements;
      if (!take(end)) {
        do {
          if (peek(end) && !elements.empty()) break;  // (4,) as in Python
          elements.push_back(tiler(nesting + 1));
        } while (take(","));
        expect(end);
      }
      Tiler tuple = Tiler::of(std::move(elements));
      if (angled) return tuple;
      if (!peek(":")) return tuple;
      return Tiler::of(with_stride(tuple, nesting));
    }
    if (take("X")) return Tiler{};  // Step<_1, X,_1>
    bool const is_static = take("_");
    if (is_static && !at_digit() && !peek("-")) return Tiler{};
    Tiler leaf = Tiler::of(integer(is_static));
    if (!peek(":")) return leaf;
    return Tiler::of(with_stride(leaf, nesting));
  }

  // Up to a ':' that belongs to the caller.
  IntTuple int_tuple(int nesting = 0) {
    if (nesting > kMaxDepth) fail("deeper than " + std::to_string(kMaxDepth) + " levels");
    if (!take("(")) {
      bool const is_static = take("_");
      return integer(is_static);
    }
    std::vector<IntTuple> elements;
    if (take(")")) return IntTuple(std::move(elements));
    do {
      if (peek(")") && !elements.empty()) break;
      elements.push_back(int_tuple(nesting + 1));
    } while (take(","));
    expect(")");
    return IntTuple(std::move(elements));
  }

  Layout layout() {
    if (peek("<")) fail("a tiler, which has a layout for each mode, in the place of one layout");
    IntTuple shape = int_tuple();
    if (!take(":")) return Layout(shape);
    return Layout(std::move(shape), int_tuple());
  }

  Swizzle swizzle() {
    if (!take("Sw")) expect("S");
    expect("<");
    int const bits = small();
    expect(",");
    int const base = small();
    expect(",");
    int const shift = small();
    expect(">");
    return Swizzle(bits, base, shift);
  }

  // Functions with an offset behind each, and the layout that they are applied to; a layout, or a swizzle, alone.
  std::variant<Layout, Swizzle, ComposedLayout> function() {
    std::vector<ComposedLayout::Function> functions;
    while (true) {
      if (static_cast<int>(functions.size()) > ComposedLayout::kMaxFunctions) fail("too many functions");
      if (peek("S")) {
        Swizzle const outer = swizzle();
        if (functions.empty() && at_end()) return outer;
        expect("o");
        functions.emplace_back(outer, offset_then_o());
        continue;
      }
      Layout next = layout();
      if (take("o")) {
        functions.emplace_back(std::move(next), offset_then_o());
      } else if (functions.empty()) {
        return next;
      } else {
        return ComposedLayout(std::move(functions), std::move(next));
      }
    }
  }

  ComposedLayout composed() {
    auto result = function();
    if (auto* const layout = std::get_if<ComposedLayout>(&result)) return std::move(*layout);
    fail("expected 'o'");
  }

  bool at_end() {
    skip();
    return at_ == text_.size();
  }

  void end() {
    if (!at_end()) fail("unexpected text");
  }

  bool peek(std::string_view token) {
    skip();
    return text_.substr(at_, token.size()) == token;
  }

 private:
  Layout with_stride(Tiler const& shape, int nesting) {
    expect(":");
    IntTuple const stride = int_tuple(nesting);
    return Layout(coordinate(shape), stride);
  }

  Integer offset_then_o() {
    bool const is_static = take("_");
    Integer const offset = integer(is_static);
    expect("o");
    return offset;
  }

  int small() {
    bool const is_static = take("_");
    Integer const i = integer(is_static);
    if (i.has_basis() || i.value < -64 || i.value > 64) fail("expected a small integer");
    return static_cast<int>(i.value);
  }

  Integer integer(bool is_static) {
    skip();
    std::int64_t value = 0;
    auto const [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error == std::errc::result_out_of_range) fail("the integer does not fit in 64 bits");
    if (error != std::errc()) fail("expected an integer");
    at_ = static_cast<std::size_t>(end - text_.data());
    Integer result{value, {}, is_static};
    std::vector<std::uint8_t> modes;
    while (take("@")) {
      unsigned mode = 0;
      auto const [mode_end, mode_error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), mode);
      if (mode_error != std::errc() || mode > std::numeric_limits<std::uint8_t>::max()) fail("expected a mode");
      at_ = static_cast<std::size_t>(mode_end - text_.data());
      modes.push_back(static_cast<std::uint8_t>(mode));
    }
    if (modes.size() > Basis::kMaxDepth) fail("too many modes");
    std::reverse(modes.begin(), modes.end());  // written innermost first
    for (auto const mode : modes) result.basis.mode[result.basis.depth++] = mode;
    return result;
  }

  bool at_digit() const { return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; }

  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }

  bool take(std::string_view token) {
    if (!peek(token)) return false;
    at_ += token.size();
    return true;
  }

  void expect(std::string_view token) {
    if (!take(token)) fail("expected '" + std::string(token) + "'");
  }

  [[noreturn]] void fail(std::string const& reason) const {
    std::string shown(text_.substr(0, 200));
    throw LayoutError("cannot read \"" + shown + "\": " + reason + " at character " + std::to_string(at_) +
                      "; a layout is written (4,8):(1,4)");
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

template <class Read>
auto parsed(std::string_view text, Read read) {
  Parser parser(text);
  auto result = read(parser);
  parser.end();
  return result;
}

}  // namespace

std::string to_string(Integer const& i) {
  std::string text = (i.is_static ? "_" : "") + std::to_string(i.value);
  for (int level = i.basis.depth - 1; level >= 0; --level) text += "@" + std::to_string(i.basis.mode[level]);
  return text;
}

std::string to_string(IntTuple const& t) { return t.is_tuple() ? joined(t.elements()) : to_string(t.leaf()); }

std::string to_string(Layout const& layout) { return to_string(layout.shape()) + ":" + to_string(layout.stride()); }

std::string to_string(Tiler const& tiler) {
  switch (tiler.kind) {
    case Tiler::Kind::any:
      return "_";
    case Tiler::Kind::integer:
      return to_string(tiler.integer);
    case Tiler::Kind::layout:
      return to_string(tiler.layout);
    case Tiler::Kind::tuple:
      return joined(tiler.elements);
  }
  return "";
}

std::string to_string(Swizzle const& s) {
  return "Sw<" + std::to_string(s.bits()) + "," + std::to_string(s.base()) + "," + std::to_string(s.shift()) + ">";
}

std::string to_string(ComposedLayout const& layout) {
  std::string text;
  for (auto const& f : layout.functions()) {
    text += (f.is_swizzle ? to_string(f.swizzle) : to_string(f.layout)) + " o " + to_string(f.offset) + " o ";
  }
  return text + to_string(layout.inner());
}

std::string to_cpp(Integer const& i) {
  bool const fits = i.value >= std::numeric_limits<int>::min() && i.value <= std::numeric_limits<int>::max();
  std::string text;
  if (!i.is_static) {
    text = fits ? "int" : "int64_t";
  } else if (std::find(kNamed.begin(), kNamed.end(), i.value) != kNamed.end()) {
    text = "_" + std::to_string(i.value);
  } else if (fits) {
    text = "Int<" + std::to_string(i.value) + ">";
  } else {
    text = "C<int64_t(" + std::to_string(i.value) + ")>";
  }
  if (!i.has_basis()) return text;
  text = "ScaledBasis<" + text;
  for (int level = 0; level < i.basis.depth; ++level) text += "," + std::to_string(i.basis.mode[level]);
  return text + ">";
}

std::string to_cpp(IntTuple const& t, char const* tuple) {
  if (!t.is_tuple()) return to_cpp(t.leaf());
  std::string text = std::string(tuple) + "<";
  for (int i = 0; i < t.rank(); ++i) text += (i > 0 ? "," : "") + to_cpp(t[i], tuple);
  return text + ">";
}

std::string to_cpp(Layout const& layout) {
  return "Layout<" + to_cpp(layout.shape(), "Shape") + "," + to_cpp(layout.stride(), "Stride") + ">";
}

std::string to_cpp(Swizzle const& s) {
  return "Swizzle<" + std::to_string(s.bits()) + "," + std::to_string(s.base()) + "," + std::to_string(s.shift()) + ">";
}

std::string to_cpp(ComposedLayout const& layout) {
  std::string text;
  for (auto const& f : layout.functions()) {
    text += "ComposedLayout<" + (f.is_swizzle ? to_cpp(f.swizzle) : to_cpp(f.layout)) + "," + to_cpp(f.offset) + ",";
  }
  return text + to_cpp(layout.inner()) + std::string(layout.functions().size(), '>');
}

IntTuple parse_int_tuple(std::string_view text) {
  return parsed(text, [](Parser& p) { return p.int_tuple(); });
}

Layout parse_layout(std::string_view text) {
  return parsed(text, [](Parser& p) { return p.layout(); });
}

Tiler parse_tiler(std::string_view text) {
  return parsed(text, [](Parser& p) { return p.tiler(); });
}

Swizzle parse_swizzle(std::string_view text) {
  return parsed(text, [](Parser& p) { return p.swizzle(); });
}

ComposedLayout parse_composed(std::string_view text) {
  return parsed(text, [](Parser& p) { return p.composed(); });
}

std::variant<Layout, Swizzle, ComposedLayout> parse_function(std::string_view text) {
  return parsed(text, [](Parser& p) { return p.function(); });
}

std::variant<Tiler, Swizzle, ComposedLayout> parse(std::string_view text) {
  Parser parser(text);
  if (!parser.peek("S")) {
    Tiler const tiler = parser.tiler();
    if (!parser.peek("o")) {
      parser.end();
      return tiler;
    }
  }
  auto function = parse_function(text);
  if (auto* const swizzle = std::get_if<Swizzle>(&function)) return *swizzle;
  return std::get<ComposedLayout>(std::move(function));
}

}  // namespace cute_py::layout
