#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>

#include "workbench/errors.hpp"
#include "workbench/ptx.hpp"

namespace cute_py::workbench {
namespace {

struct Failure {
  std::string text;
};

Type type_named(std::string const& name) {
  static std::map<std::string, Type> const types{
      {"b8", Type::b8},     {"b16", Type::b16},       {"b32", Type::b32},   {"b64", Type::b64}, {"b128", Type::b128},
      {"u8", Type::u8},     {"u16", Type::u16},       {"u32", Type::u32},   {"u64", Type::u64}, {"s8", Type::s8},
      {"s16", Type::s16},   {"s32", Type::s32},       {"s64", Type::s64},   {"f16", Type::f16}, {"f16x2", Type::f16x2},
      {"bf16", Type::bf16}, {"bf16x2", Type::bf16x2}, {"tf32", Type::tf32}, {"f32", Type::f32}, {"f64", Type::f64},
      {"pred", Type::pred}};
  auto const found = types.find(name);
  return found == types.end() ? Type::none : found->second;
}

// "%%" is one percent sign, comments go, tabs and ends of lines are blanks.
std::string cleaned(char const* text) {
  std::string out;
  for (char const* p = text; *p != 0; ++p) {
    if (p[0] == '/' && p[1] == '/') {
      while (*p != 0 && *p != '\n') ++p;
      if (*p == 0) break;
      out += ' ';
    } else if (p[0] == '/' && p[1] == '*') {
      char const* const end = std::strstr(p, "*/");
      if (end == nullptr) break;
      p = end + 1;
      out += ' ';
    } else {
      out += std::isspace(static_cast<unsigned char>(*p)) ? ' ' : *p;
    }
  }
  return out;
}

class Parser {
 public:
  explicit Parser(std::string text) : text_(std::move(text)) {}

  Code parse() {
    for (skip(); at_ < text_.size(); skip()) {
      if (take('{') || take('}') || take(';')) continue;
      std::size_t const begin = at_;
      if (peek() == '.' && text_.compare(at_, 4, ".reg") == 0) {
        declare();
        continue;
      }
      if (peek() == '@') {
        statement(begin);
        continue;
      }
      std::string const word = name();
      skip();
      if (!word.empty() && peek() == ':' && word.find('.') == std::string::npos) {
        ++at_;
        label(word) = code_.statements.size();
        continue;
      }
      at_ = begin;
      statement(begin);
    }
    for (auto const& [known, index] : label_indices_) {
      if (code_.labels[static_cast<std::size_t>(index)] == ~std::size_t{0}) throw Failure{"no label " + known};
    }
    code_.locals = locals_count_;
    return std::move(code_);
  }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    skip();
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) throw Failure{std::string("'") + c + "' expected at \"" + text_.substr(at_, 24) + "\""};
  }
  static bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }

  // An identifier, with a "%" or two before it, and with dots if it is a special register.
  std::string name() {
    std::size_t const begin = at_;
    while (peek() == '%') ++at_;
    std::size_t const percents = at_ - begin;
    while (in_name(peek()) || (percents > 0 && peek() == '.' && at_ > begin + percents)) ++at_;
    std::string word = text_.substr(begin, at_ - begin);
    if (percents == 2) word.erase(0, 1);
    return word;
  }

  std::size_t& label(std::string const& word) {
    auto const [found, is_new] = label_indices_.emplace(word, static_cast<int>(code_.labels.size()));
    if (is_new) code_.labels.push_back(~std::size_t{0});
    return code_.labels[static_cast<std::size_t>(found->second)];
  }

  void declare() {
    while (peek() == '.' || in_name(peek())) ++at_;  // .reg
    skip();
    while (peek() == '.') {  // .pred, .v2 .b32
      ++at_;
      while (in_name(peek())) ++at_;
      skip();
    }
    do {
      skip();
      std::string const word = name();
      if (word.empty()) throw Failure{"a register expected at \"" + text_.substr(at_, 24) + "\""};
      if (take('<')) {
        skip();
        int const count = std::atoi(text_.c_str() + at_);
        while (std::isdigit(static_cast<unsigned char>(peek()))) ++at_;
        expect('>');
        for (int i = 0; i < count; ++i) locals_[word + std::to_string(i)] = locals_count_++;
      } else {
        locals_[word] = locals_count_++;
      }
    } while (take(','));
    expect(';');
  }

  void statement(std::size_t begin) {
    Statement made;
    if (take('@')) {
      made.guard_negated = take('!');
      skip();
      Argument const guard = simple(name());
      if (guard.kind != Argument::Kind::local && guard.kind != Argument::Kind::operand)
        throw Failure{"a guard is a predicate"};
      made.guard = guard.index;
      made.guard_is_operand = guard.kind == Argument::Kind::operand;
    }
    skip();
    // The opcode: words between dots, each perhaps with "::".
    while (at_ < text_.size()) {
      std::size_t const first = at_;
      while (in_name(peek()) || (peek() == ':' && text_[at_ + 1] == ':') ||
             (peek() == ':' && at_ > first && text_[at_ - 1] == ':'))
        ++at_;
      made.parts.push_back(text_.substr(first, at_ - first));
      if (peek() != '.') break;
      ++at_;
    }
    skip();
    while (peek() != ';' && peek() != '}' && at_ < text_.size()) {
      made.arguments.push_back(argument());
      skip();
      if (!take(',')) break;
      skip();
    }
    std::size_t const end = at_;
    skip();
    if (peek() != '}' && at_ < text_.size()) expect(';');
    made.text = text_.substr(begin, end - begin);
    while (!made.text.empty() && made.text.back() == ' ') made.text.pop_back();
    for (auto const& part : made.parts) {
      if (Type const type = type_named(part); type != Type::none) made.types.push_back(type);
    }
    made.execute = find_instruction(made.parts);
    code_.statements.push_back(std::move(made));
  }

  Argument argument() {
    skip();
    Argument made;
    if (take('{')) {
      made.kind = Argument::Kind::vector;
      do made.parts.push_back(argument());
      while (take(','));
      expect('}');
    } else if (take('[')) {
      made.kind = Argument::Kind::address;
      made.parts.push_back(argument());
      skip();
      if (peek() == '+' || peek() == '-') {
        bool const minus = text_[at_++] == '-';
        skip();
        std::uint64_t const offset = integer();
        made.immediate = minus ? ~offset + 1 : offset;
      }
      while (take(',')) made.parts.push_back(argument());
      expect(']');
    } else {
      made = value();
      if (take('|')) {
        Argument pair;
        pair.kind = Argument::Kind::pair;
        pair.parts.push_back(std::move(made));
        skip();
        pair.parts.push_back(value());
        return pair;
      }
    }
    return made;
  }

  std::uint64_t integer() {
    char* end = nullptr;
    char const* const begin = text_.c_str() + at_;
    std::uint64_t const number = std::strtoull(begin, &end, 0);
    if (end == begin) throw Failure{"a number expected at \"" + text_.substr(at_, 24) + "\""};
    at_ += static_cast<std::size_t>(end - begin);
    while (peek() == 'U' || peek() == 'u') ++at_;
    return number;
  }

  Argument value() {
    skip();
    char const c = peek();
    Argument made;
    made.kind = Argument::Kind::immediate;
    if (c == '!') {
      ++at_;
      throw Failure{"a negated operand"};
    }
    if (c == '-') {
      ++at_;
      made.immediate = ~integer() + 1;
      return made;
    }
    if (c == '0' &&
        (text_[at_ + 1] == 'f' || text_[at_ + 1] == 'F' || text_[at_ + 1] == 'd' || text_[at_ + 1] == 'D')) {
      at_ += 2;
      char* end = nullptr;
      char const* const begin = text_.c_str() + at_;
      made.immediate = std::strtoull(begin, &end, 16);
      at_ += static_cast<std::size_t>(end - begin);
      return made;
    }
    if (std::isdigit(static_cast<unsigned char>(c))) {
      std::size_t const begin = at_;
      made.immediate = integer();
      if (peek() == '.') {  // 1.5
        char* end = nullptr;
        float const number = std::strtof(text_.c_str() + begin, &end);
        at_ = static_cast<std::size_t>(end - text_.c_str());
        std::uint32_t bits = 0;
        std::memcpy(&bits, &number, sizeof(bits));
        made.immediate = bits;
      }
      return made;
    }
    return simple(name());
  }

  Argument simple(std::string const& word) {
    Argument made;
    if (word == "_") return made;
    if (word.size() > 1 && word[0] == '%' && std::isdigit(static_cast<unsigned char>(word[1]))) {
      made.kind = Argument::Kind::operand;
      made.index = std::atoi(word.c_str() + 1);
      code_.operands = std::max(code_.operands, made.index + 1);
      return made;
    }
    if (auto const found = locals_.find(word); found != locals_.end()) {
      made.kind = Argument::Kind::local;
      made.index = found->second;
      return made;
    }
    if (!word.empty() && word[0] == '%') {
      made.index = special_named(std::string_view(word).substr(1));
      if (made.index < 0) throw Failure{"no special register " + word};
      made.kind = Argument::Kind::special;
      return made;
    }
    if (word == "WARP_SZ") {
      made.kind = Argument::Kind::immediate;
      made.immediate = kWarp;
      return made;
    }
    if (word.empty()) throw Failure{"an operand expected at \"" + text_.substr(at_, 24) + "\""};
    made.kind = Argument::Kind::label;
    label(word);
    made.index = label_indices_[word];
    return made;
  }

  std::string text_;
  std::size_t at_ = 0;
  Code code_;
  std::map<std::string, int> locals_;
  std::map<std::string, int> label_indices_;
  int locals_count_ = 0;
};

}  // namespace

int bytes_of(Type type) {
  switch (type) {
    case Type::b8:
    case Type::u8:
    case Type::s8:
      return 1;
    case Type::b16:
    case Type::u16:
    case Type::s16:
    case Type::f16:
    case Type::bf16:
      return 2;
    case Type::b64:
    case Type::u64:
    case Type::s64:
    case Type::f64:
      return 8;
    case Type::b128:
      return 16;
    case Type::pred:
      return 1;
    default:
      return 4;
  }
}
bool is_float(Type type) {
  return type == Type::f16 || type == Type::bf16 || type == Type::f32 || type == Type::f64 || type == Type::tf32;
}
bool is_signed(Type type) { return type == Type::s8 || type == Type::s16 || type == Type::s32 || type == Type::s64; }

Code parse_ptx(char const* text) {
  try {
    return Parser(cleaned(text)).parse();
  } catch (Failure const& failure) {
    std::string const what = "executes asm that is not understood, \"" + cleaned(text) + "\": " + failure.text;
    if (running != nullptr) running->stop(Kind::unsupported, what, kErrorNotSupported);
    std::fprintf(stderr, "the host %s\n", what.c_str());
    std::abort();
  }
}

}  // namespace cute_py::workbench
