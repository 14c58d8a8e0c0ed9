#include "dispatch/choose.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "dispatch/refusals.hpp"

namespace cute_py::dispatch {
namespace {

// The canonical product for batch_invariant: it stands for all M, N and L, so that they decide nothing.
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

class Chooser {
 public:
  Chooser(Purpose purpose, FoldedProduct const& product, PerRole<Place> const& places, Question const& question,
          std::int64_t reserved)
      : purpose_(purpose),
        product_(product),
        places_(places),
        question_(question),
        reserved_(reserved),
        first_(product.is_along_n()) {}

  Choice run() {
    Choice choice;
    propose(first_);
    // If it is batch_invariant, the layout of D decides, and the other way is taken only if no kernel takes this one.
    if (product_.may_exchange() && (!product_.asked().batch_invariant || found_.empty())) propose(!first_);
    if (!found_.empty()) {
      std::stable_sort(found_.begin(), found_.end(), [](Found const& x, Found const& y) {
        return x.candidate.estimate.us < y.candidate.estimate.us;
      });
      auto const best = std::min_element(found_.begin(), found_.end(), [this](Found const& x, Found const& y) {
        return std::make_tuple(!is_close(x), x.candidate.decision.schedule.has_split_k(), x.order) <
               std::make_tuple(!is_close(y), y.candidate.decision.schedule.has_split_k(), y.order);
      });
      std::rotate(found_.begin(), best, best + 1);
      for (Found const& found : found_) choice.candidates.push_back(found.candidate);
      choice.steps.push_back(step_of(choice.candidates.front()));
      choice.workspace_bytes = reserved_ + choice.steps.front().schedule.workspace_bytes;
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

  Geometry const& geometry_of(bool exchanged) const { return *product_.folded(exchanged); }

  PerRole<Place> oriented_places(bool exchanged) const {
    PerRole<Place> places = places_;
    if (exchanged) std::swap(places[Role::a], places[Role::b]);
    return places;
  }

  // A kernel for narrower vectors than the processor has is taken only by its own name, and so is a Config of a user.
  bool is_passed_over(Traits const& t) const {
    bool const is_asked_for = question_.kernel == t.name || (question_.config && question_.config->kernel == t.name);
    return (t.by_name || t.needs.is_outdone(question_.device)) && !is_asked_for;
  }

  void propose(bool exchanged) {
    Geometry const& g = geometry_of(exchanged);
    Geometry const& judged = g.batch_invariant ? canonical_.emplace(canonical(g)) : g;
    bool const may_split_k =
        question_.may_split_k && question_.kernel == "auto" && !g.batch_invariant && g.multiplies && g.k.size() > 0;
    if (question_.is_void) return;
    std::vector<Proposal> proposals;
    for (Entry const& entry : question_.registry) {
      Traits const& t = entry.traits;
      if (t.target != question_.target || t.types.compute != g.compute || !matches(t, question_.kernel)) continue;
      if (is_passed_over(t)) continue;
      if (question_.has_packed && !question_.platform.reads_packed(t)) continue;
      if (refusals(entry, g, question_.device) != kNone) continue;
      Task const task{g, judged, entry, question_.device};
      proposals.clear();
      if (question_.config) {
        if (t.name != question_.config->kernel || exchanged != question_.config->transposed) continue;
        if (auto const found = entry.rules->complete(task, question_.config->schedule)) proposals.push_back(*found);
      } else {
        entry.rules->propose(task, may_split_k, proposals);
      }
      for (auto& [schedule, estimate] : proposals) {
        if (schedule.workspace_bytes > question_.workspace_limit - reserved_) continue;
        if (question_.platform.reads_gaps(t)) estimate.us += question_.us_of_zeros;
        found_.push_back({{{&entry, exchanged, schedule}, estimate}, found_.size()});
      }
    }
  }

  bool is_close(Found const& found) const {
    return found.candidate.estimate.us <= found_.front().candidate.estimate.us * (1 + kTie);
  }

  Step step_of(Candidate const& candidate) const {
    Decision const& d = candidate.decision;
    Geometry const& g = geometry_of(d.exchanged);
    return {purpose_,           g,          d.exchanged, oriented_places(d.exchanged), true, d.entry,
            candidate.estimate, d.schedule, reserved_};
  }

  Purpose purpose_;
  FoldedProduct const& product_;
  PerRole<Place> places_;
  Question const& question_;
  std::int64_t reserved_;
  bool const first_;
  std::optional<Geometry> canonical_;
  std::vector<Found> found_;
};

}  // namespace

bool matches(Traits const& traits, std::string_view name) {
  return name == "auto" || name == traits.kernel || name == traits.name;
}

Choice choose(Purpose purpose, FoldedProduct const& product, PerRole<Place> const& places, Question const& question,
              std::int64_t reserved_bytes) {
  return Chooser(purpose, product, places, question, reserved_bytes).run();
}

std::vector<Rejection> rejections(Geometry const& geometry, Question const& question) {
  std::vector<Rejection> found;
  for (Entry const& entry : question.registry) {
    Traits const& t = entry.traits;
    if (t.target != question.target || !matches(t, question.kernel)) continue;
    if ((t.by_name || t.types.compute != geometry.compute) && t.name != question.kernel) continue;
    auto const refused = refusals(entry, geometry, question.device);
    if (refused != kNone) found.push_back({&entry, refused});
  }
  return found;
}

}  // namespace cute_py::dispatch
