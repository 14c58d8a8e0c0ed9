#pragma once

#include <cstdio>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "catalogue/records.hpp"
#include "layout/text.hpp"

// Records of the catalogue as JSON, layouts in CuTe's notation.
namespace cute_py::catalogue::json {

inline std::string text(std::string const& x) {
  std::string quoted = "\"";
  for (char const c : x) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}
inline std::string value(int x) { return std::to_string(x); }
inline std::string value(std::size_t x) { return std::to_string(x); }
inline std::string value(char const* x) { return text(x); }
inline std::string value(std::string const& x) { return text(x); }
inline std::string value(ValueType const& x) { return "[" + text(x.name) + ", " + value(x.bits) + "]"; }
inline std::string value(std::array<int, 2> const& x) { return "[" + value(x[0]) + ", " + value(x[1]) + "]"; }
inline std::string value(RolesRecord const& x) {
  return "[" + value(x.multiplying) + ", " + value(x.copying) + ", " + value(x.of_tile) + "]";
}
inline std::string value(SmemLayoutRecord const& x) {
  return text(std::visit([](auto const& layout) { return layout::to_string(layout); }, x));
}
template <class T>
std::string value(T const& x) {
  return text(layout::to_string(x));
}
template <class T>
std::string value(std::optional<T> const& x);

inline std::string object(std::initializer_list<std::pair<char const*, std::string>> members) {
  std::string all;
  for (auto const& [name, member] : members) all += (all.empty() ? "" : ", ") + text(name) + ": " + member;
  return "{" + all + "}";
}

inline std::string value(MmaRecord const& r) {
  auto const scales = r.scales.value_or(ScaleRecord{{"", 0}, 0, std::nullopt, std::nullopt});
  return object({{"name", value(r.name)},
                 {"architecture", value(r.architecture)},
                 {"shape_mnk", value(r.shape_mnk)},
                 {"thr_id", value(r.thr_id)},
                 {"layout_a_tv", value(r.layout_a)},
                 {"layout_b_tv", value(r.layout_b)},
                 {"layout_c_tv", value(r.layout_c)},
                 {"a", value(r.a)},
                 {"b", value(r.b)},
                 {"c", value(r.c)},
                 {"d", value(r.d)},
                 {"scale", r.scales ? value(scales.type) : "null"},
                 {"scale_length", value(scales.length)},
                 {"layout_sfa_tv", value(scales.layout_a)},
                 {"layout_sfb_tv", value(scales.layout_b)}});
}

inline std::string value(CopyRecord const& r) {
  return object({{"name", value(r.name)},
                 {"architecture", value(r.architecture)},
                 {"thr_id", value(r.thr_id)},
                 {"layout_src", value(r.layout_src)},
                 {"layout_dst", value(r.layout_dst)},
                 {"layout_ref", value(r.layout_ref)}});
}

inline std::string value(TiledMmaRecord const& r) {
  return object(
      {{"atom", value(r.atom)}, {"atom_layout", value(r.atom_layout)}, {"permutations", value(r.permutations)}});
}

inline std::string value(TiledCopyRecord const& r) {
  return object({{"atom", value(r.atom)},
                 {"value_type", value(r.value_type)},
                 {"layout_tv", value(r.layout_tv)},
                 {"tiler", value(r.tiler)}});
}

template <class T>
std::string value(std::optional<T> const& x) {
  return x ? value(*x) : "null";
}

inline std::string value(ConfigRecord const& r) {
  return object({{"cpp_type", value(r.cpp_type)},
                 {"cta_tiler", value(r.cta_tiler)},
                 {"smem_layout_a", value(r.smem_a)},
                 {"smem_layout_b", value(r.smem_b)},
                 {"smem_offset_a", value(r.smem_offset_a)},
                 {"smem_offset_b", value(r.smem_offset_b)},
                 {"type_a", value(r.a)},
                 {"type_b", value(r.b)},
                 {"type_c", value(r.c)},
                 {"thread_layout_a", value(r.threads_a)},
                 {"thread_layout_b", value(r.threads_b)},
                 {"thread_layout_c", value(r.threads_c)},
                 {"tiled_copy_a", value(r.copy_a)},
                 {"tiled_copy_b", value(r.copy_b)},
                 {"tiled_mma", value(r.mma)},
                 {"owner_layout_c", value(r.owners_c)},
                 {"box_a", value(r.box_a)},
                 {"box_b", value(r.box_b)},
                 {"roles", value(r.roles)}});
}

}  // namespace cute_py::catalogue::json
