#include "dispatch/choose.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "dispatch/fold.hpp"
#include "dispatch/refusals.hpp"
#include "dispatch/workspace.hpp"

namespace cute_py::dispatch {
namespace {

Extents extents_of(Geometry const& g) { return {g.m.size(), g.n.size(), g.k.size(), g.l.size()}; }

// A product in the place of one that is batch_invariant: whatever M, N and L it has, the choice is the one for this.
Geometry canonical(Geometry const& g) {
  constexpr std::int64_t kExtent = 4096;
  auto const mode = [](std::int64_t extent, std::int64_t a, std::int64_t b, std::int64_t d) {
    Mode made{extent, {}, false, false};
    made.stride[Role::a] = a;
    made.stride[Role::b] = b;
    made.stride[Role::d] = d;
    return Modes({made});
  };
  Geometry same = g;
  auto const k = std::max<std::int64_t>(g.k.size(), 1);
  same.m = mode(kExtent, k, 0, 1);
  same.n = mode(kExtent, 0, k, kExtent);
  same.k = mode(g.k.size(), 1, 1, 0);
  same.l.clear();
  return same;
}

bool takes_parts(Traits const& t) { return t.part_bytes > 0; }

// Tiles of K. A tile has elements of one mode where the copy engine brings it.
std::int64_t tiles_of_k(Geometry const& g, Traits const& t) {
  if (!t.copies_boxes || g.k.rank() == 0) return ceil_div(g.k.size(), t.tile[2]);
  return ceil_div(g.k[0].extent, t.tile[2]) * (g.k.size() / g.k[0].extent);
}

// Clusters that share a tile's K, at most.
constexpr std::int64_t kMostClusters = 8;
constexpr std::int64_t kMostInClusters = 8 * kMostClusters;

// Of so many parts of K, those whose CTAs become a cluster: as many as can be so that all clusters run at a time, or
// else as many as can be.
std::int64_t parts_in_cluster(Traits const& t, DeviceInfo const& device, std::int64_t parts, std::int64_t tiles_of_c) {
  std::int64_t most = 1;
  for (std::int64_t count = t.parts_in_cluster; count > 1; count /= 2) {
    if (parts % count != 0 || parts / count > kMostClusters) continue;
    if (tiles_of_c * (parts / count) <= device.clusters_of(count)) return count;
    most = std::max(most, count);
  }
  return most;
}

// May the CTAs of two tiles, with all parts of a cluster, be one, and all clusters run at a time?
bool fit_in_pairs(Traits const& t, DeviceInfo const& device, Cut const& cut, std::int64_t tiles_of_c) {
  auto const ctas = 2 * cut.in_cluster;
  return cut.in_cluster > 1 && ctas <= t.parts_in_cluster &&
         tiles_of_c * (cut.count / cut.in_cluster) <= 2 * device.clusters_of(ctas);
}

// K in about so many parts, as its kernel can take them: those of clusters exactly, some of which may be empty.
Cut cut_k(Geometry const& g, Traits const& t, DeviceInfo const& device, std::int64_t wanted, std::int64_t tiles_of_c) {
  auto const all = tiles_of_k(g, t);
  Cut cut;
  if (t.parts_in_cluster > 0) {
    cut.count = wanted;
    cut.in_cluster = parts_in_cluster(t, device, wanted, tiles_of_c);
    cut.tiles = ceil_div(all, wanted);
  } else {
    cut.tiles = ceil_div(ceil_div(all, wanted), t.part_tiles) * t.part_tiles;
    cut.count = ceil_div(all, cut.tiles);
  }
  cut.reserve(tiles_of_c, t.part_bytes);
  return cut;
}

class Chooser {
 public:
  Chooser(Purpose purpose, Geometry const& geometry, PerRole<Place> const& places, Question const& question,
          std::int64_t reserved)
      : purpose_(purpose), places_(places), question_(question), reserved_(reserved) {
    // Kernels write D along m. If D's unit stride is in the other group, that is a reason to compute D^T. Not if it
    // changed bits which must depend on nothing but the row: exchanged factors exchange the adds of a complex product.
    bool const is_copy = geometry.compute == Compute::copy;
    bool const may_exchange = !is_copy && (!geometry.batch_invariant || !is_complex(geometry.compute));
    bool const n_major = may_exchange && fastest_group(Role::d, geometry.m, geometry.n) == 1;
    first_ = n_major;
    oriented_[first_] = folded(first_ ? transposed(geometry) : geometry);
    if (may_exchange) oriented_[!first_] = folded(first_ ? geometry : transposed(geometry));
  }

  Choice run() {
    Choice choice;
    propose(first_);
    // If it is batch_invariant, how D lies decides, and the other way is for want of a kernel alone.
    if (oriented_[!first_] && (!geometry_of(first_).batch_invariant || found_.empty())) propose(!first_);
    if (!found_.empty()) {
      std::stable_sort(found_.begin(), found_.end(), [](Found const& x, Found const& y) {
        return x.candidate.estimate.us < y.candidate.estimate.us;
      });
      auto const best = std::min_element(found_.begin(), found_.end(), [this](Found const& x, Found const& y) {
        return std::make_tuple(!is_close(x), x.candidate.decision.parts > 1, x.order) <
               std::make_tuple(!is_close(y), y.candidate.decision.parts > 1, y.order);
      });
      std::rotate(found_.begin(), best, best + 1);
      for (Found const& found : found_) choice.candidates.push_back(found.candidate);
      choice.steps.push_back(step_of(choice.candidates.front()));
      choice.workspace_bytes = reserved_ + choice.steps.front().cut.bytes;
      return choice;
    }
    choice.steps.push_back({purpose_, geometry_of(first_), first_, oriented_places(first_), true, nullptr, {}, {}, 0});
    choice.workspace_bytes = reserved_;
    return choice;
  }

 private:
  struct Found {
    Candidate candidate;
    std::size_t order;  // in which it was proposed
  };

  Geometry const& geometry_of(bool exchanged) const { return *oriented_[exchanged]; }

  PerRole<Place> oriented_places(bool exchanged) const {
    PerRole<Place> places = places_;
    if (exchanged) std::swap(places[Role::a], places[Role::b]);
    return places;
  }

  // One for narrower vectors than the processor has, which nobody asked for by its own name.
  bool is_for_older_processors(Traits const& t) const {
    bool const is_asked_for = question_.kernel == t.name || (question_.config && question_.config->kernel == t.name);
    return t.isa < std::min(question_.device.isa, t.widest_isa) && !is_asked_for;
  }

  void propose(bool exchanged) {
    Geometry const& g = geometry_of(exchanged);
    Geometry const& judged = g.batch_invariant ? canonical_.emplace(canonical(g)) : g;
    Extents const x = extents_of(judged);
    bool const may_part =
        question_.may_part && question_.kernel == "auto" && !g.batch_invariant && g.multiplies && g.k.size() > 0;
    std::vector<std::int64_t> parts;
    for (Entry const& entry : question_.registry) {
      Traits const& t = entry.traits;
      if (t.target != question_.target || t.compute != g.compute || !matches(t, question_.kernel)) continue;
      if (is_for_older_processors(t)) continue;
      if (question_.in_vectors && t.vector_bytes_a == 0) continue;
      if (refusals(entry, g, question_.device) != kNone) continue;
      parts.assign(1, 1);
      if (question_.config) {
        if (t.name != question_.config->kernel || exchanged != question_.config->transposed) continue;
        parts.assign(1, question_.config->parts);
      } else if (may_part && takes_parts(t)) {
        entry.rules->propose_parts(x, t, question_.device, parts);
      }
      for (auto const wanted : parts) {
        if (wanted > 1 && (!takes_parts(t) || g.k.size() == 0)) continue;
        if (wanted > 1 && wanted > std::max(tiles_of_k(g, t), kMostInClusters)) continue;  // of a file, or of a caller
        auto const tiles_of_c = entry.rules->ctas(g, extents_of(g), t);
        Cut const cut = wanted > 1 ? cut_k(g, t, question_.device, wanted, tiles_of_c) : Cut{};
        auto const count = cut.count;
        if (t.parts_in_cluster > 0 && count > 1 && cut.in_cluster == 1) continue;
        if ((question_.config && count != wanted) || (wanted > 1 && count < 2)) continue;
        if (!question_.config && count > 1 && found_.back().candidate.decision.parts == count) continue;
        Extents of_parts = x;
        if (count > 1) of_parts.k = cut.tiles * t.tile[2];
        of_parts.l *= count;
        of_parts.parts = count;
        of_parts.in_cluster = cut.in_cluster;
        auto const ctas = tiles_of_c * count;
        if (cut.bytes > question_.workspace_limit - reserved_) continue;
        Estimate estimate = entry.rules->estimate(judged, of_parts, t, question_.device);
        bool in_pairs = false;
        if (fit_in_pairs(t, question_.device, cut, tiles_of_c)) {
          of_parts.in_pairs = true;
          Estimate const of_pairs = entry.rules->estimate(judged, of_parts, t, question_.device);
          in_pairs = of_pairs.us < estimate.us;
          if (in_pairs) estimate = of_pairs;
        }
        if (count > 1) estimate.us += us_to_add(t, cut);
        if (!t.copies_boxes) estimate.us += question_.us_of_zeros;
        found_.push_back({{{&entry, exchanged, count, ctas, in_pairs}, estimate}, found_.size()});
      }
    }
  }

  // At each level the last CTA of a few counts, and reads their sums, four at a time. The CTAs of a cluster add by way
  // of shared memory, each some of the tile, and go on with those of as many clusters.
  static double us_to_add(Traits const& t, Cut const& cut) {
    constexpr double kClusterUs = 1.3;
    constexpr double kElementsPerUs = 7300;
    constexpr double kClustersUs = 1.4;  // more than of single CTAs, whose threads have their sums in registers
    constexpr double kLevelUs = 1.5;
    constexpr double kReadUs = 0.5;
    constexpr double kBytesPerUs = 32e3;  // of a CTA
    constexpr std::int64_t kTogether = 8;
    double us = cut.in_cluster > 1 ? kClusterUs + t.tile[0] * t.tile[1] / kElementsPerUs : 0;
    auto const bytes = static_cast<double>(t.part_bytes / cut.in_cluster);
    auto left = cut.count / cut.in_cluster;
    if (left > 1 && cut.in_cluster > 1) us += kClustersUs;
    for (; left > 1; left = ceil_div(left, kTogether)) {
      auto const reads = static_cast<double>(ceil_div(std::min(left, kTogether), 4));
      us += kLevelUs + reads * (kReadUs + bytes / kBytesPerUs);
    }
    return us;
  }

  bool is_close(Found const& found) const {
    return found.candidate.estimate.us <= found_.front().candidate.estimate.us * (1 + kTie);
  }

  Step step_of(Candidate const& candidate) const {
    Decision const& d = candidate.decision;
    Geometry const& g = geometry_of(d.exchanged);
    Step step{purpose_, g, d.exchanged, oriented_places(d.exchanged), true, d.entry, candidate.estimate, {}, reserved_};
    if (d.parts > 1) {
      step.cut = cut_k(g, d.entry->traits, question_.device, d.parts, d.ctas / d.parts);
      step.cut.in_pairs = d.in_pairs;
    }
    return step;
  }

  Purpose purpose_;
  PerRole<Place> places_;
  Question const& question_;
  std::int64_t reserved_;
  bool first_ = false;
  std::optional<Geometry> oriented_[2];
  std::optional<Geometry> canonical_;
  std::vector<Found> found_;
};

}  // namespace

bool matches(Traits const& traits, std::string_view name) {
  return name == "auto" || name == traits.kernel || name == traits.name;
}

Choice choose(Purpose purpose, Geometry const& geometry, PerRole<Place> const& places, Question const& question,
              std::int64_t reserved_bytes) {
  return Chooser(purpose, geometry, places, question, reserved_bytes).run();
}

std::vector<Rejection> rejections(Geometry const& geometry, Question const& question) {
  std::vector<Rejection> found;
  for (Entry const& entry : question.registry) {
    Traits const& t = entry.traits;
    if (t.target != question.target || !matches(t, question.kernel)) continue;
    if (t.compute != geometry.compute && t.name != question.kernel) continue;
    auto const refused = refusals(entry, geometry, question.device);
    if (refused != kNone) found.push_back({&entry, refused});
  }
  return found;
}

}  // namespace cute_py::dispatch
