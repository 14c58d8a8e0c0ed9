#pragma once

#include <cstddef>
#include <cstdint>

// The binary interface of XLA's foreign functions, version 0.x, as far as it is used here. A structure begins with its
// size, as its maker knows it; fields are only ever added at the end. Source: https://openxla.org/xla/custom_call
namespace cute_py::xla {

struct Extension {
  std::size_t struct_size;
  std::int32_t type;
  Extension* next;
};
inline constexpr std::int32_t kMetadataExtension = 1;

// What every structure begins with.
struct Head {
  std::size_t struct_size;
  Extension* extensions;
};

struct Version {
  Head head;
  int major;
  int minor;
};
inline constexpr int kMajor = 0;
inline constexpr int kMinor = 1;  // of what is used here

// What XLA asks of a function before it uses it.
struct Metadata {
  std::size_t struct_size;
  Version version;
  std::uint32_t traits;
};
inline constexpr std::uint32_t kCanBeCaptured = 1;  // it launches the same work each time

struct MetadataExtension {
  Extension base;
  Metadata* metadata;
};

// xla::PrimitiveType, the numbers that products take.
enum class Type : std::int32_t {
  s8 = 2,
  s32 = 4,
  f16 = 10,
  f32 = 11,
  f64 = 12,
  c64 = 15,
  bf16 = 16,
  c128 = 18,
  f8e5m2 = 19,
  f8e4m3fn = 20,
};

// Dense, the last mode the fastest.
struct Buffer {
  Head head;
  Type type;
  void* data;
  std::int64_t rank;
  std::int64_t* extents;
};

struct Text {
  char const* first;
  std::size_t size;
};

struct Number {
  std::int32_t type;
  void* value;
};

enum class Attribute : std::int32_t { array = 1, dictionary = 2, number = 3, text = 4 };

struct Arguments {  // and results
  Head head;
  std::int64_t count;
  std::int32_t* kinds;
  void** values;  // Buffer*
};

struct Attributes {
  Head head;
  std::int64_t count;
  Attribute* kinds;
  Text** names;
  void** values;  // Text* or Number*
};

enum class Code : std::int32_t { invalid_argument = 3, unimplemented = 12, internal = 13 };
struct Error;
struct Context;

struct ErrorCreate {
  Head head;
  char const* message;
  Code code;
};

struct StreamGet {
  Head head;
  Context* context;
  void* stream;
};

struct OrdinalGet {
  Head head;
  Context* context;
  std::int32_t ordinal;
};

struct Api {
  Head head;
  Version version;
  void const* internal;
  Error* (*error_create)(ErrorCreate*);
  void* error_get_message;
  void (*error_destroy)(void*);
  void* handler_register;
  Error* (*stream_get)(StreamGet*);
  void* others[12];
  Error* (*ordinal_get)(OrdinalGet*);
};

enum class Stage : std::int32_t { instantiate, prepare, initialize, execute };

struct Call {
  Head head;
  Api const* api;
  Context* context;
  Stage stage;
  Arguments arguments;
  Arguments results;
  Attributes attributes;
};

using Function = Error*(Call*);

}  // namespace cute_py::xla
