// A stand-in for GoogleTest, as far as CUTLASS's unit tests of CuTe use it: tests, typed tests, expectations, skips,
// and a main() with --gtest_filter and --gtest_list_tests.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace testing {

class Test {
 public:
  virtual ~Test() = default;
  virtual void SetUp() {}
  virtual void TearDown() {}
  virtual void TestBody() = 0;
};

template <class... T>
struct Types {};

namespace internal {

struct Case {
  std::string name;
  std::function<std::unique_ptr<Test>()> make;
};
inline std::vector<Case>& cases() {
  static std::vector<Case> made;
  return made;
}

// Of the test that runs.
struct State {
  int failures = 0;
  bool is_skipped = false;
};
inline State& state() {
  static State made;
  return made;
}

inline bool add(std::string name, std::function<std::unique_ptr<Test>()> make) {
  cases().push_back({std::move(name), std::move(make)});
  return true;
}

template <template <class> class Fixture, class... T>
bool add_typed(std::string const& suite, std::string const& name, Types<T...>) {
  int number = 0;
  (add(suite + "/" + std::to_string(number++) + "." + name, [] { return std::make_unique<Fixture<T>>(); }), ...);
  return true;
}

template <class T, class = void>
struct IsPrintable : std::false_type {};
template <class T>
struct IsPrintable<T, std::void_t<decltype(std::declval<std::ostream&>() << std::declval<T const&>())>>
    : std::true_type {};

template <class T>
std::string text_of(T const& value) {
  std::ostringstream out;
  if constexpr (std::is_enum_v<T>) {
    out << static_cast<long long>(value);
  } else if constexpr (std::is_integral_v<T> && sizeof(T) == 1) {
    out << static_cast<int>(value);
  } else if constexpr (IsPrintable<T>::value) {
    out << value;
  } else {
    out << "an object of " << sizeof(T) << " bytes";
  }
  return out.str();
}

// What is streamed behind an expectation.
class Message {
 public:
  template <class T>
  Message& operator<<(T const& value) {
    out_ << text_of(value);
    return *this;
  }
  Message& operator<<(std::ostream& (*manipulator)(std::ostream&)) {
    out_ << manipulator;
    return *this;
  }
  std::string text() const { return out_.str(); }

 private:
  std::ostringstream out_;
};

// Takes a message, and gives void, so that `return Failure(...) = Message() << ...` leaves a test.
class Failure {
 public:
  Failure(char const* file, int line, std::string what) : file_(file), line_(line), what_(std::move(what)) {}
  void operator=(Message const& message) const {
    constexpr int kPrinted = 5;
    if (++state().failures > kPrinted) return;
    std::string const more = message.text();
    std::cout << file_ << ":" << line_ << ": " << what_ << (more.empty() ? "" : ": ") << more << std::endl;
  }

 private:
  char const* file_;
  int line_;
  std::string what_;
};
class Skip {
 public:
  void operator=(Message const& message) const {
    state().is_skipped = true;
    std::cout << message.text() << std::endl;
  }
};

// An expectation's outcome: its text where it does not hold.
struct Outcome {
  bool holds;
  std::string text;
  explicit operator bool() const { return holds; }
};

template <class A, class B, class Compare>
Outcome compared(A const& a, B const& b, char const* names, char const* sign, Compare const& compare) {
  if (compare(a, b)) return {true, {}};
  return {false, std::string(names) + ": " + text_of(a) + " " + sign + " " + text_of(b) + " does not hold"};
}
template <class T>
Outcome truth(T const& value, bool wanted, char const* name) {
  if (static_cast<bool>(value) == wanted) return {true, {}};
  return {false, std::string(name) + " is " + (wanted ? "false" : "true")};
}
inline Outcome near(double a, double b, double most, char const* names) {
  return compared(a, b, names, "near", [=](double x, double y) { return std::fabs(x - y) <= most; });
}

// Patterns between colons, those behind a minus exclude.
inline bool matches(char const* pattern, char const* name) {
  if (*pattern == 0) return *name == 0;
  if (*pattern == '*') return matches(pattern + 1, name) || (*name != 0 && matches(pattern, name + 1));
  return *name != 0 && (*pattern == '?' || *pattern == *name) && matches(pattern + 1, name + 1);
}
inline bool matches_any(std::string const& patterns, std::string const& name) {
  std::istringstream in(patterns);
  for (std::string pattern; std::getline(in, pattern, ':');) {
    if (matches(pattern.c_str(), name.c_str())) return true;
  }
  return false;
}
inline bool is_chosen(std::string const& filter, std::string const& name) {
  auto const minus = filter.find('-');
  std::string const wanted = filter.substr(0, minus);
  if (name.find("DISABLED_") != std::string::npos) return false;
  if (minus != std::string::npos && matches_any(filter.substr(minus + 1), name)) return false;
  return wanted.empty() || matches_any(wanted, name);
}

inline std::string& filter() {
  static std::string made = "*";
  return made;
}

// 0: it has passed or was skipped.
inline int run_one(Case const& test) {
  state() = {};
  std::cout << "[ RUN ] " << test.name << std::endl;
  auto const began = std::chrono::steady_clock::now();
  try {
    std::unique_ptr<Test> const made = test.make();
    made->SetUp();
    if (state().failures == 0 && !state().is_skipped) made->TestBody();
    made->TearDown();
  } catch (std::exception const& error) {
    Failure("", 0, std::string("an exception: ") + error.what()) = Message();
  }
  auto const took = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
  bool const failed = state().failures != 0;
  std::cout << (failed               ? "[ FAILED ] "
                : state().is_skipped ? "[ SKIPPED ] "
                                     : "[ OK ] ")
            << test.name << " (" << static_cast<long long>(took) << " ms)" << std::endl;
  return failed;
}

inline int run_all() {
  int failed = 0;
  int count = 0;
  for (auto const& test : cases()) {
    if (!is_chosen(filter(), test.name)) continue;
    ++count;
    failed += run_one(test);
  }
  std::cout << count << " tests, " << failed << " failed" << std::endl;
  return failed != 0;
}

}  // namespace internal

inline void InitGoogleTest(int* count, char** arguments) {
  for (int i = 1; i < *count; ++i) {
    constexpr char const* kFilter = "--gtest_filter=";
    std::string const argument = arguments[i];
    if (argument.rfind(kFilter, 0) == 0) internal::filter() = argument.substr(std::strlen(kFilter));
    if (argument == "--gtest_list_tests") {
      for (auto const& test : internal::cases()) std::cout << test.name << "\n";
      std::cout.flush();
      std::exit(0);
    }
  }
}

}  // namespace testing

inline int RUN_ALL_TESTS() { return ::testing::internal::run_all(); }

#define GTEST_FLAG(name) internal::name()

#define TEST_F(fixture, name)                                                                                   \
  class fixture##_##name##_Test : public fixture {                                                              \
   public:                                                                                                      \
    void TestBody() override;                                                                                   \
  };                                                                                                            \
  static bool const fixture##_##name##_added =                                                                  \
      ::testing::internal::add(#fixture "." #name, [] { return std::make_unique<fixture##_##name##_Test>(); }); \
  void fixture##_##name##_Test::TestBody()

#define TEST(suite, name)                                                                                   \
  class suite##_##name##_Test : public ::testing::Test {                                                    \
   public:                                                                                                  \
    void TestBody() override;                                                                               \
  };                                                                                                        \
  static bool const suite##_##name##_added =                                                                \
      ::testing::internal::add(#suite "." #name, [] { return std::make_unique<suite##_##name##_Test>(); }); \
  void suite##_##name##_Test::TestBody()

#define TYPED_TEST_SUITE(suite, types) using suite##_types = types
#define TYPED_TEST(suite, name)                                                              \
  template <class T>                                                                         \
  class suite##_##name##_Test : public suite<T> {                                            \
   public:                                                                                   \
    using TypeParam = T;                                                                     \
    using TestFixture = suite<T>;                                                            \
    void TestBody() override;                                                                \
  };                                                                                         \
  static bool const suite##_##name##_added =                                                 \
      ::testing::internal::add_typed<suite##_##name##_Test>(#suite, #name, suite##_types{}); \
  template <class T>                                                                         \
  void suite##_##name##_Test<T>::TestBody()

#define GTEST_STAND_IN_EXPECT(outcome)                                     \
  switch (0)                                                               \
  case 0:                                                                  \
  default:                                                                 \
    if (::testing::internal::Outcome const outcome_ = outcome; outcome_) { \
    } else                                                                 \
      ::testing::internal::Failure(__FILE__, __LINE__, outcome_.text) = ::testing::internal::Message()
#define GTEST_STAND_IN_ASSERT(outcome)                                     \
  switch (0)                                                               \
  case 0:                                                                  \
  default:                                                                 \
    if (::testing::internal::Outcome const outcome_ = outcome; outcome_) { \
    } else                                                                 \
      return ::testing::internal::Failure(__FILE__, __LINE__, outcome_.text) = ::testing::internal::Message()

#define GTEST_STAND_IN_COMPARED(a, b, sign) \
  ::testing::internal::compared(a, b, #a ", " #b, #sign, [](auto const& x, auto const& y) { return x sign y; })

#define EXPECT_EQ(a, b) GTEST_STAND_IN_EXPECT(GTEST_STAND_IN_COMPARED(a, b, ==))
#define EXPECT_NE(a, b) GTEST_STAND_IN_EXPECT(GTEST_STAND_IN_COMPARED(a, b, !=))
#define EXPECT_LT(a, b) GTEST_STAND_IN_EXPECT(GTEST_STAND_IN_COMPARED(a, b, <))
#define EXPECT_LE(a, b) GTEST_STAND_IN_EXPECT(GTEST_STAND_IN_COMPARED(a, b, <=))
#define EXPECT_GT(a, b) GTEST_STAND_IN_EXPECT(GTEST_STAND_IN_COMPARED(a, b, >))
#define EXPECT_GE(a, b) GTEST_STAND_IN_EXPECT(GTEST_STAND_IN_COMPARED(a, b, >=))
#define EXPECT_TRUE(a) GTEST_STAND_IN_EXPECT(::testing::internal::truth(a, true, #a))
#define EXPECT_FALSE(a) GTEST_STAND_IN_EXPECT(::testing::internal::truth(a, false, #a))
#define EXPECT_NEAR(a, b, most) GTEST_STAND_IN_EXPECT(::testing::internal::near(a, b, most, #a ", " #b))
#define ASSERT_EQ(a, b) GTEST_STAND_IN_ASSERT(GTEST_STAND_IN_COMPARED(a, b, ==))
#define ASSERT_NE(a, b) GTEST_STAND_IN_ASSERT(GTEST_STAND_IN_COMPARED(a, b, !=))
#define ASSERT_LT(a, b) GTEST_STAND_IN_ASSERT(GTEST_STAND_IN_COMPARED(a, b, <))
#define ASSERT_LE(a, b) GTEST_STAND_IN_ASSERT(GTEST_STAND_IN_COMPARED(a, b, <=))
#define ASSERT_GT(a, b) GTEST_STAND_IN_ASSERT(GTEST_STAND_IN_COMPARED(a, b, >))
#define ASSERT_GE(a, b) GTEST_STAND_IN_ASSERT(GTEST_STAND_IN_COMPARED(a, b, >=))
#define ASSERT_TRUE(a) GTEST_STAND_IN_ASSERT(::testing::internal::truth(a, true, #a))
#define ASSERT_FALSE(a) GTEST_STAND_IN_ASSERT(::testing::internal::truth(a, false, #a))
#define ASSERT_NEAR(a, b, most) GTEST_STAND_IN_ASSERT(::testing::internal::near(a, b, most, #a ", " #b))

#define ADD_FAILURE() ::testing::internal::Failure(__FILE__, __LINE__, "a failure") = ::testing::internal::Message()
#define FAIL() return ::testing::internal::Failure(__FILE__, __LINE__, "a failure") = ::testing::internal::Message()
#define SUCCEED() static_cast<void>(0)
#define GTEST_SKIP() return ::testing::internal::Skip() = ::testing::internal::Message()

// A file of tests is a program.
__attribute__((weak)) int main(int count, char** arguments) {
  ::testing::InitGoogleTest(&count, arguments);
  return RUN_ALL_TESTS();
}
