#include "dispatch/program.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "dispatch/fold.hpp"

namespace cute_py::dispatch {
namespace {

// Of what the workspace is cut into: as aligned as any kernel wants.
constexpr std::int64_t kAlignment = 256;

// A part of K has at least so many tiles, and a device so many CTAs on each multiprocessor.
constexpr std::int64_t kTilesOfPart = 8;
constexpr std::int64_t kCtasPerMultiprocessor = 2;
constexpr std::int64_t kMostParts = 64;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Sums can be factors of another product, those of int8 cannot.
bool sums_are_factors(Compute compute) { return compute != Compute::i32; }

Compute exact(Compute compute) { return compute == Compute::tf32 ? Compute::f32 : compute; }

Place place_of_one(DType type) { return {Source::one, kBytesOfOne * static_cast<int>(type)}; }

// An array in the workspace, or a number one.
void set_array(Geometry& g, Role role, DType type) {
  g.type[role] = type;
  g.log2_alignment[role] = kMaxLog2Alignment;
}

void clear_strides(Geometry& g, Role role) {
  for_each_group(g, [&](Modes& modes) {
    for (Mode& mode : modes) mode.stride[role] = 0;
  });
}

// How aligned an array is so many bytes further on.
std::uint8_t log2_alignment_at(Geometry const& g, Role role, std::int64_t bytes) {
  return std::min(g.log2_alignment[role], log2_alignment_of(static_cast<std::uintptr_t>(bytes)));
}

class Planner {
 public:
  Planner(Target target, DeviceInfo const& device, std::string_view name, Registry const& registry)
      : target_(target), device_(device), name_(name), registry_(registry) {}

  Program run(Geometry geometry) {
    PerRole<Place> places;
    for (int i = 0; i < kRoles; ++i) places[static_cast<Role>(i)] = {static_cast<Source>(i), 0};
    if (geometry.multiplies && sums_are_factors(geometry.compute)) {
      sum_first(geometry, Role::a, places[Role::a]);
      sum_first(geometry, Role::b, places[Role::b]);
    }
    Step whole = choose(Purpose::multiply, geometry, places, name_);
    whole.takes_scalars = true;
    if (!split(geometry, whole, places)) program_.steps.push_back(std::move(whole));
    return std::move(program_);
  }

 private:
  Step choose(Purpose purpose, Geometry const& g, PerRole<Place> const& places, std::string_view name) const {
    Choice choice = select(g, target_, device_, name, registry_);
    Step step{purpose, std::move(choice.geometry), choice.transposed, places, false, choice.entry};
    if (choice.transposed) std::swap(step.places[Role::a], step.places[Role::b]);
    return step;
  }

  Place reserve(std::int64_t elements, DType type) {
    Place const place{Source::workspace, program_.workspace_bytes};
    program_.workspace_bytes += ceil_div(elements * bytes_of(type), kAlignment) * kAlignment;
    return place;
  }

  // A, or B, is summed over the modes of K that it has alone. If the product is batch_invariant, the extents of the
  // other groups have no say in it.
  void sum_first(Geometry& g, Role x, Place& place) {
    bool const is_a = x == Role::a;
    Modes& mn = is_a ? g.m : g.n;
    auto const is_own = [is_a](Mode const& mode) { return is_a ? mode.only_in_a : mode.only_in_b; };
    std::int64_t lone = 1;
    std::int64_t others = (is_a ? g.n : g.m).size();  // how often each element of x would be multiplied
    for (Mode const& mode : g.k) {
      if (is_own(mode)) {
        lone *= mode.extent;
      } else if (mode.stride[x] == 0) {
        others *= mode.extent;
      }
    }
    if (lone < 2 || (others < 2 && !g.batch_invariant)) return;
    if (mn.rank() + g.k.rank() + g.l.rank() > kMaxModes) return;

    // M: all that stays of x; K: what is summed over.
    Geometry s;
    s.compute = exact(g.compute);
    s.batch_invariant = g.batch_invariant;
    set_array(s, Role::a, g.type[x]);
    s.log2_alignment[Role::a] = g.log2_alignment[x];
    set_array(s, Role::b, g.type[x]);
    set_array(s, Role::d, type_of_sums(g.compute));
    std::int64_t elements = 1;
    auto const keep = [&](Mode& mode) {
      if (mode.stride[x] == 0) return;  // repeated before, repeated after
      Mode kept{mode.extent, {}, false, false};
      kept.stride[Role::a] = mode.stride[x];
      kept.stride[Role::d] = elements;
      s.m.push_back(kept);
      mode.stride[x] = elements;
      elements *= mode.extent;
    };
    for (Mode& mode : mn) keep(mode);
    Modes left;
    for (Mode& mode : g.k) {
      if (is_own(mode)) {
        Mode summed{mode.extent, {}, false, false};
        summed.stride[Role::a] = mode.stride[x];
        s.k.push_back(summed);
      } else {
        keep(mode);
        left.push_back(mode);
      }
    }
    for (Mode& mode : g.l) keep(mode);
    g.k = std::move(left);
    set_array(g, x, s.type[Role::d]);

    Place const result = reserve(elements, g.type[x]);
    PerRole<Place> places;
    places[Role::a] = place;
    places[Role::b] = place_of_one(s.type[Role::b]);
    places[Role::d] = result;
    program_.steps.push_back(choose(is_a ? Purpose::sum_a : Purpose::sum_b, s, places, "auto"));
    place = result;
  }

  // Parts of K, if the whole has too few tiles. `given` is the product of the step `whole`.
  bool split(Geometry const& given, Step const& whole, PerRole<Place> const& places) {
    if (whole.entry == nullptr || name_ != "auto" || target_ == Target::cpu || device_.multiprocessors == 0)
      return false;
    if (given.batch_invariant || !sums_are_factors(given.compute) || !whole.geometry.multiplies) return false;
    Traits const& t = whole.entry->traits;
    Geometry const& g = whole.geometry;  // folded, and as the kernel will see it
    auto const tiles = ceil_div(g.m.size(), t.tile[0]) * ceil_div(g.n.size(), t.tile[1]) * g.l.size();
    auto const k_tiles = ceil_div(g.k.size(), t.tile[2]);
    auto const room = device_.multiprocessors * kCtasPerMultiprocessor;
    auto const wanted = std::min({room / std::max<std::int64_t>(tiles, 1), k_tiles / kTilesOfPart, kMostParts});
    if (wanted < 2 || g.k.rank() == 0 || g.l.rank() + 1 > kMaxKernelModes) return false;
    if (g.m.rank() + g.n.rank() + g.l.rank() > kMaxKernelModes) return false;

    // The last mode of K is cut in equal parts, and a shorter one if there is a rest. In a K of one mode, parts are
    // whole tiles.
    int const last = g.k.rank() - 1;
    auto const extent = g.k[last].extent;
    auto length = ceil_div(extent, wanted);
    if (last == 0) length = ceil_div(length, t.tile[2]) * t.tile[2];
    auto const parts = extent / length;
    auto const rest = extent - parts * length;
    if (parts < 2) return false;
    auto const slots = parts + (rest > 0 ? 1 : 0);

    Geometry part = g;
    part.k[last].extent = length;
    part.reads_c = part.c_is_d = part.has_bias = part.has_residual = part.scales = part.saturate = false;
    part.activation = Activation::none;
    set_array(part, Role::d, type_of_sums(g.compute));
    for (Role const role : {Role::c, Role::bias, Role::residual}) clear_strides(part, role);
    std::int64_t slot = 1;  // elements of the sums of one part
    for (Modes* modes : {&part.m, &part.n, &part.l}) {
      for (Mode& mode : *modes) {
        mode.stride[Role::d] = slot;
        slot *= mode.extent;
      }
    }
    Place const sums = reserve(slot * slots, part.type[Role::d]);
    PerRole<Place> part_places;
    part_places[Role::a] = whole.places[Role::a];
    part_places[Role::b] = whole.places[Role::b];
    part_places[Role::d] = sums;

    Geometry remainder = part;
    Mode batch{parts, {}, false, false};
    batch.stride[Role::a] = part.k[last].stride[Role::a] * length;
    batch.stride[Role::b] = part.k[last].stride[Role::b] * length;
    batch.stride[Role::d] = slot;
    part.l.push_back(batch);
    Step const main = choose(Purpose::multiply_parts, part, part_places, "auto");
    if (main.entry == nullptr) return false;

    Step tail = main;
    if (rest > 0) {
      remainder.k[last].extent = rest;
      for (Role const role : {Role::a, Role::b, Role::d}) {
        auto const bytes = parts * batch.stride[role] * bytes_of(remainder.type[role]);
        part_places[role].offset += bytes;
        remainder.log2_alignment[role] = log2_alignment_at(remainder, role, bytes);
      }
      tail = choose(Purpose::multiply_rest, remainder, part_places, "auto");
      if (tail.entry == nullptr) return false;
    }

    // D: the sums of all parts, in their order, times one, and the epilogue.
    Geometry add = g;
    add.compute = exact(g.compute);
    set_array(add, Role::a, part.type[Role::d]);
    set_array(add, Role::b, part.type[Role::d]);
    add.conj_a = add.conj_b = false;
    for (Modes* modes : {&add.m, &add.n, &add.k, &add.l}) modes->clear();
    Mode summed{slots, {}, false, false};
    summed.stride[Role::a] = slot;
    add.k.push_back(summed);
    std::int64_t step = 1;
    for (Modes const* modes : {&g.m, &g.n, &g.l}) {
      for (Mode mode : *modes) {
        mode.stride[Role::a] = step;
        mode.stride[Role::b] = 0;
        step *= mode.extent;
        add.m.push_back(mode);
      }
    }
    PerRole<Place> add_places = places;
    add_places[Role::a] = sums;
    add_places[Role::b] = place_of_one(add.type[Role::b]);
    Step finish = choose(Purpose::add_parts, add, add_places, "auto");
    finish.takes_scalars = true;
    if (finish.entry == nullptr) return false;
    program_.steps.push_back(main);
    if (rest > 0) program_.steps.push_back(tail);
    program_.steps.push_back(std::move(finish));
    return true;
  }

  Target target_;
  DeviceInfo const& device_;
  std::string_view name_;
  Registry const& registry_;
  Program program_;
};

}  // namespace

char const* name_of(Purpose purpose) {
  switch (purpose) {
    case Purpose::multiply:
      return "multiply";
    case Purpose::sum_a:
      return "sum A over its own indices";
    case Purpose::sum_b:
      return "sum B over its own indices";
    case Purpose::multiply_parts:
      return "multiply parts of K";
    case Purpose::multiply_rest:
      return "multiply the rest of K";
    case Purpose::add_parts:
      return "add the parts";
  }
  return "";
}

Program make_program(Geometry const& geometry, Target target, DeviceInfo const& device, std::string_view name,
                     Registry const& registry) {
  return Planner(target, device, name, registry).run(geometry);
}

}  // namespace cute_py::dispatch
