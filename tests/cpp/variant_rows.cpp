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

// In the order of the members of Traits.
void print(Traits const& t) {
  std::printf("    {{\"%s\", \"%s\", \"%s\", Target::cuda, static_cast<Compute>(%d), %#x, %#x, %s, %s, %d, %d, %d, %d, %d, ",
              t.name, t.kernel, t.layout, static_cast<int>(t.compute), static_cast<unsigned>(t.factors),
              static_cast<unsigned>(t.results), text(t.one_type), text(t.conjugates), t.modes, t.modes_m, t.modes_l,
              t.most_m, t.most_n);
  std::printf("%s, {%d, %d, %d}, %d, %d, %d, %d, %d, %d, %d, ", text(t.fuses), t.tile[0], t.tile[1], t.tile[2],
              t.threads, t.ctas_per_multiprocessor, t.stages, t.shared_bytes, t.part_bytes, t.part_tiles,
              t.parts_in_cluster);
  std::printf("%s, %s, %s, %s, %d, %d, %d, %d, %d, %d, Isa::baseline, Isa::baseline, %s},\n", text(t.copies_boxes),
              text(t.predicated), text(t.major_a), text(t.major_b), t.moved_bytes, t.vector_bytes_a, t.vector_bytes_b,
              t.alignment_bytes, t.element_alignment, t.compute_capability, text(t.one_order));
  std::printf("     &kernels::%s_rules, nullptr, nullptr, nullptr, nullptr},\n", t.kernel);
}

struct Print {
  template <class Family, class Config, class Layout>
  void entry(char const* name) const {
    print(kernels::traits_of<Family, Config, Layout>(name, Target::cuda));
    std::string config = "null";
    if constexpr (!kernels::kCopies<Config>) config = catalogue::json::value(catalogue::reflect_config<Config>());
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
