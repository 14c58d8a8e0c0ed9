// Prints the GPU variants of a build: as rows of csrc/instances/variants.inc, and of each the layouts of its Config as
// JSON. tests/tables.py compiles and runs it.
#include <cstdio>

// clang-format off: the emulator's stand for CUDA's names
#include "instances/launch_emulator.hpp"
#include "instances/add.hpp"
#include "catalogue/json.hpp"
#include "lists.hpp"

using namespace cute_py;

namespace {

char const* text(bool x) { return x ? "true" : "false"; }
char const* text(Major x) { return x == Major::mn ? "Major::mn" : "Major::k"; }

char const* text(OperandRule::Kind x) {
  switch (x) {
    case OperandRule::Kind::strided:
      return "strided";
    case OperandRule::Kind::boxes:
      return "boxes";
    case OperandRule::Kind::whole:
      return "whole";
    case OperandRule::Kind::moved:
      return "moved";
  }
  return "";
}

char const* text(Form x) {
  switch (x) {
    case Form::whole:
      return "whole";
    case Form::predicated:
      return "predicated";
    case Form::nested:
      return "nested";
    case Form::vectors:
      return "vectors";
    case Form::elements:
      return "elements";
    case Form::gett:
      return "gett";
  }
  return "";
}

std::string limit(std::int64_t x) { return x == Limits::kNone ? "Limits::kNone" : std::to_string(x); }

// In the order of the members.
void print(Traits const& t, Resources const& r) {
  std::printf("    {{\"%s\", \"%s\", Target::cuda, {%d, %s, %d, Isa::baseline, Isa::baseline}, ", t.name, t.kernel,
              t.needs.compute_capability, text(t.needs.one_major), t.needs.shared_bytes);
  std::printf("{static_cast<Compute>(%d), %#x, %#x, %#x, %s, %s}, {%d, %d, %d}, ", static_cast<int>(t.types.compute),
              static_cast<unsigned>(t.types.factors), static_cast<unsigned>(t.types.results),
              static_cast<unsigned>(t.types.epilogue), text(t.types.one_type), text(t.types.conjugates), t.modes.m,
              t.modes.n_and_k, t.modes.l);
  std::printf("{%d, %d, %s, %s, %s}, ", t.limits.m, t.limits.n, limit(t.limits.extent).c_str(),
              limit(t.limits.tiles_n).c_str(), limit(t.limits.tiles).c_str());
  OperandRule const& o = t.operands;
  std::printf("{OperandRule::Kind::%s, \"%s\", %s, %s, %d, %d, %d, %d, %d}, ", text(o.kind), o.letters, text(o.major_a),
              text(o.major_b), o.vector_bytes_a, o.vector_bytes_b, o.moved_bytes, o.alignment_bytes,
              o.element_alignment);
  std::printf("{%d, %d, %d}, %s, %s},\n", t.tile[0], t.tile[1], t.tile[2], text(t.fuses), text(t.one_order));
  std::printf("     {%d, %d, %d, %d, %d, %d, Form::%s, %s}, ", r.threads, r.ctas_per_multiprocessor, r.stages, r.sum_bytes,
              r.split_tiles, r.max_cluster, text(r.form), text(r.is_cooperative));
  std::printf("&kernels::%s_rules, nullptr, nullptr, nullptr, nullptr},\n", t.kernel);
}

struct Print {
  template <class Family, class Config, class Layout>
  void entry(char const* name) const {
    print(kernels::traits_of<Family, Config, Layout>(name, Target::cuda), kernels::resources_of<Family, Config>());
    std::string config = "null";
    if constexpr (!kernels::kCopies<Config> && !kernels::kIsPass<Config>)
      config = catalogue::json::value(catalogue::reflect_config<Config>());
    std::fprintf(stderr, "%s %s\n", name, config.c_str());
  }
};

template <class... Variants>
void print_all(kernels::List<Variants...>) {
  char const* const* list = instances::kLists;
  ((std::fprintf(stderr, "list %s\n", *list++),
    kernels::for_each_variant<typename Variants::Family>(Print{}, typename Variants::Rows{})),
   ...);
}

}  // namespace

int main() { print_all(instances::Lists{}); }
