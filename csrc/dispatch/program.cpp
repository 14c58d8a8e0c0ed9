#include "dispatch/program.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "dispatch/fold.hpp"

namespace cute_py::dispatch {
namespace {

// Of the workspace: as aligned as any kernel wants, and where a step pretends it to be while it is chosen.
constexpr std::int64_t kAlignment = 256;
void* const kSomewhere = reinterpret_cast<void*>(std::intptr_t{1} << 20);

// A part of K has at least so many tiles, and a device so many CTAs on each multiprocessor.
constexpr std::int64_t kTilesOfPart = 8;
constexpr std::int64_t kCtasPerMultiprocessor = 2;
constexpr std::int64_t kMostParts = 64;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// The type of a sum on its way from step to step.
DType type_of_sums(Compute compute) {
  switch (compute) {
    case Compute::f32:
    case Compute::tf32:
      return DType::f32;
    case Compute::f64:
      return DType::f64;
    case Compute::c64:
      return DType::c64;
    case Compute::c128:
      return DType::c128;
    case Compute::i32:
      break;
  }
  return DType::i32;
}

// Sums can be factors of another product, those of int8 cannot.
bool sums_are_factors(Compute compute) { return compute != Compute::i32; }

Compute exact(Compute compute) { return compute == Compute::tf32 ? Compute::f32 : compute; }

void clear_strides(Array& array) {
  for (auto& strides : array.stride) std::fill(std::begin(strides), std::end(strides), 0);
}

Array number_one(DType type) {
  Array one;
  one.data = kSomewhere;
  one.type = type;
  clear_strides(one);
  return one;
}

Place place_of_one(DType type) { return {Source::one, kBytesOfOne * static_cast<int>(type)}; }

// Appends a mode to a group, with no strides yet; returns its place.
int append(Modes& modes, std::int64_t extent) {
  modes.extent[modes.rank] = extent;
  return modes.rank++;
}

class Planner {
 public:
  Planner(Target target, DeviceInfo const& device, std::string_view name, Registry const& registry)
      : target_(target), device_(device), name_(name), registry_(registry) {}

  Program run(Problem const& problem) {
    Problem p = problem;
    std::array<Place, 6> places;
    constexpr Source kOwn[] = {Source::a, Source::b, Source::c, Source::d, Source::bias, Source::residual};
    for (int i = 0; i < 6; ++i) places[i] = {kOwn[i], 0};
    if (p.alpha != 0.0 && p.k.size() != 0 && sums_are_factors(p.compute)) {
      sum_first(p, true, places[0], "sum A over its own indices");
      sum_first(p, false, places[1], "sum B over its own indices");
    }
    Step whole = choose("multiply", p, places, name_);
    if (!split(p, whole, places)) program_.steps.push_back(whole);
    return std::move(program_);
  }

 private:
  Step choose(char const* what, Problem const& p, std::array<Place, 6> const& places, std::string_view name) const {
    Choice const choice = select(p, target_, device_, name, registry_);
    Step step{what, choice.problem, choice.transposed, places, choice.entry};
    if (choice.transposed) std::swap(step.places[0], step.places[1]);
    return step;
  }

  Place reserve(std::int64_t elements, DType type) {
    Place const place{Source::workspace, program_.workspace_bytes};
    program_.workspace_bytes += ceil_div(elements * bytes_of(type), kAlignment) * kAlignment;
    return place;
  }

  // A, or B, is summed over the modes of K that it has alone. If the problem is batch_invariant, the extents of the
  // other groups have no say in it.
  void sum_first(Problem& p, bool is_a, Place& place, char const* what) {
    Array& x = is_a ? p.a : p.b;
    Array const& other = is_a ? p.b : p.a;
    Modes const& mn = is_a ? p.m : p.n;
    auto const own = is_a ? p.own_a : p.own_b;
    auto const is_own = [own](int mode) { return (own >> mode & 1u) != 0; };
    std::int64_t lone = 1;
    std::int64_t others = (is_a ? p.n : p.m).size();  // how often each element of x would be multiplied
    for (int i = 0; i < p.k.rank; ++i) {
      if (is_own(i)) {
        lone *= p.k.extent[i];
      } else if (x.stride[1][i] == 0) {
        others *= p.k.extent[i];
      }
    }
    if (lone < 2 || (others < 2 && !p.batch_invariant)) return;
    if (mn.rank + p.k.rank + p.l.rank > kMaxModes) return;

    // M: all that stays of x; K: what is summed over.
    Problem s;
    s.compute = exact(p.compute);
    s.batch_invariant = p.batch_invariant;
    s.a = x;
    s.b = number_one(x.type);
    clear_strides(s.a);
    s.d = number_one(type_of_sums(p.compute));
    Array sums = number_one(s.d.type);
    std::int64_t stride = 1;
    auto const keep = [&](std::int64_t extent, std::int64_t stride_x, int group, int at) {
      int const i = append(s.m, extent);
      s.a.stride[0][i] = stride_x;
      s.d.stride[0][i] = stride_x == 0 ? 0 : stride;
      sums.stride[group][at] = stride_x == 0 ? 0 : stride;
      if (stride_x == 0) {
        --s.m.rank;  // repeated before, repeated after
      } else {
        stride *= extent;
      }
    };
    for (int i = 0; i < mn.rank; ++i) keep(mn.extent[i], x.stride[0][i], 0, i);
    Modes kept;
    Array kept_other = other;
    std::uint32_t own_other = 0;
    for (int i = 0; i < p.k.rank; ++i) {
      if (is_own(i)) {
        int const at = append(s.k, p.k.extent[i]);
        s.a.stride[1][at] = x.stride[1][i];
      } else {
        int const at = append(kept, p.k.extent[i]);
        kept_other.stride[1][at] = other.stride[1][i];
        own_other |= ((is_a ? p.own_b : p.own_a) >> i & 1u) << at;
        keep(p.k.extent[i], x.stride[1][i], 1, at);
      }
    }
    for (int i = 0; i < p.l.rank; ++i) keep(p.l.extent[i], x.stride[2][i], 2, i);
    s.c = s.d;

    Place const result = reserve(stride, s.d.type);
    std::array<Place, 6> const places = {place, place_of_one(s.b.type), result, result, Place{}, Place{}};
    program_.steps.push_back(choose(what, s, places, "auto"));
    p.k = kept;
    p.own_a = is_a ? 0 : own_other;
    p.own_b = is_a ? own_other : 0;
    x = sums;
    (is_a ? p.b : p.a) = kept_other;
    place = result;
  }

  // Parts of K, if the whole has too few tiles. `p` is the problem of the step `whole`.
  bool split(Problem const& given, Step const& whole, std::array<Place, 6> const& places) {
    if (whole.entry == nullptr || name_ != "auto" || target_ == Target::cpu || device_.multiprocessors == 0)
      return false;
    if (given.batch_invariant || !sums_are_factors(given.compute) || whole.problem.alpha == 0.0) return false;
    Traits const& t = whole.entry->traits;
    Problem p = whole.problem;  // folded, and as the kernel will see it
    auto const tiles = ceil_div(p.m.size(), t.tile[0]) * ceil_div(p.n.size(), t.tile[1]) * p.l.size();
    auto const k_tiles = ceil_div(p.k.size(), t.tile[2]);
    auto const room = device_.multiprocessors * kCtasPerMultiprocessor;
    auto const wanted = std::min({room / std::max<std::int64_t>(tiles, 1), k_tiles / kTilesOfPart, kMostParts});
    if (wanted < 2 || p.k.rank == 0 || p.l.rank + 1 > kMaxKernelModes) return false;
    if (p.m.rank + p.n.rank + p.l.rank > kMaxKernelModes) return false;

    // The last mode of K is cut in equal parts, and a shorter one if there is a rest. In a K of one mode, parts are
    // whole tiles.
    int const last = p.k.rank - 1;
    auto const extent = p.k.extent[last];
    auto length = ceil_div(extent, wanted);
    if (last == 0) length = ceil_div(length, t.tile[2]) * t.tile[2];
    auto const parts = extent / length;
    auto const rest = extent - parts * length;
    if (parts < 2) return false;
    auto const slots = parts + (rest > 0 ? 1 : 0);

    Problem part = p;
    part.k.extent[last] = length;
    part.alpha = 1;
    part.beta = 0;
    part.epilogue = {};
    part.d = number_one(type_of_sums(p.compute));
    std::int64_t stride = 1;
    Modes* const groups[] = {&part.m, &part.n, &part.l};
    for (int group = 0; group < 3; ++group) {
      for (int i = 0; i < groups[group]->rank; ++i) {
        part.d.stride[group][i] = stride;
        stride *= groups[group]->extent[i];
      }
    }
    auto const slot = stride;
    part.c = part.d;
    Place const sums = reserve(slot * slots, part.d.type);
    std::array<Place, 6> part_places = {whole.places[0], whole.places[1], sums, sums, Place{}, Place{}};
    auto const at_rest = [&](Array const& x) { return parts * length * x.stride[1][last] * bytes_of(x.type); };

    Problem remainder = part;
    int const mode = append(part.l, parts);
    part.a.stride[2][mode] = part.a.stride[1][last] * length;
    part.b.stride[2][mode] = part.b.stride[1][last] * length;
    part.d.stride[2][mode] = slot;
    part.c = part.d;
    Step const main = choose("multiply parts of K", part, part_places, "auto");
    if (main.entry == nullptr) return false;

    Step tail = main;
    if (rest > 0) {
      remainder.k.extent[last] = rest;
      auto rest_places = part_places;
      rest_places[0].offset += at_rest(p.a);
      rest_places[1].offset += at_rest(p.b);
      rest_places[2].offset = rest_places[3].offset = sums.offset + parts * slot * bytes_of(part.d.type);
      remainder.a.data = static_cast<char*>(p.a.data) + at_rest(p.a);
      remainder.b.data = static_cast<char*>(p.b.data) + at_rest(p.b);
      remainder.d.data = element(part.d.data, part.d.type, parts * slot);
      remainder.c = remainder.d;
      tail = choose("multiply the rest of K", remainder, rest_places, "auto");
      if (tail.entry == nullptr) return false;
    }

    // D: the sums of all parts, in their order, times one, and the epilogue.
    Problem add = p;
    add.compute = exact(p.compute);
    add.a = number_one(part.d.type);
    add.b = number_one(part.d.type);
    add.conj_a = add.conj_b = false;
    add.m = Modes{};
    add.n = Modes{};
    add.l = Modes{};
    add.k = one_mode(slots);
    add.a.stride[1][0] = slot;
    Array* const targets[] = {&add.c, &add.d, &add.epilogue.bias, &add.epilogue.residual};
    Array const* const sources[] = {&p.c, &p.d, &p.epilogue.bias, &p.epilogue.residual};
    for (Array* array : targets) clear_strides(*array);
    Modes const* const from[] = {&p.m, &p.n, &p.l};
    std::int64_t step = 1;
    for (int group = 0; group < 3; ++group) {
      for (int i = 0; i < from[group]->rank; ++i) {
        int const at = append(add.m, from[group]->extent[i]);
        add.a.stride[0][at] = step;
        step *= from[group]->extent[i];
        for (int x = 0; x < 4; ++x) targets[x]->stride[0][at] = sources[x]->stride[group][i];
      }
    }
    std::array<Place, 6> const add_places = {sums,     place_of_one(add.b.type), places[2], places[3], places[4],
                                             places[5]};
    Step const finish = choose("add the parts", add, add_places, "auto");
    if (finish.entry == nullptr) return false;
    program_.steps.push_back(main);
    if (rest > 0) program_.steps.push_back(tail);
    program_.steps.push_back(finish);
    return true;
  }

  Target target_;
  DeviceInfo const& device_;
  std::string_view name_;
  Registry const& registry_;
  Program program_;
};

}  // namespace

bool Program::is_complete() const {
  return std::all_of(steps.begin(), steps.end(), [](Step const& step) { return step.entry != nullptr; });
}

Program make_program(Problem const& problem, Target target, DeviceInfo const& device, std::string_view name,
                     Registry const& registry) {
  return Planner(target, device, name, registry).run(problem);
}

Problem resolved(Step const& step, std::array<void*, kSources> const& base) {
  Problem p = step.problem;
  Array* const arrays[] = {&p.a, &p.b, &p.c, &p.d, &p.epilogue.bias, &p.epilogue.residual};
  for (int i = 0; i < 6; ++i) {
    if (i >= 4 && arrays[i]->data == nullptr) continue;
    Place const& place = step.places[i];
    arrays[i]->data = static_cast<char*>(base[static_cast<int>(place.source)]) + place.offset;
  }
  return p;
}

}  // namespace cute_py::dispatch
