// Random products, planned for an invented GPU with the table of all variants, and computed step by step: every kernel
// of the table is the same four loops, so that what is tested is the planning alone. Integers, so that results are
// exact.
//
// Prints how many were planned, how many of them in how many ways, and every one that is wrong.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "dispatch/choose.hpp"
#include "dispatch/refusals.hpp"
#include "instances/registry.hpp"
#include "instances/variants.hpp"
#include "kernels/common/platform.hpp"

using namespace cute_py;

namespace {

float& at(Arguments const& x, Geometry const& g, Role role, std::int64_t m, std::int64_t n, std::int64_t k,
          std::int64_t l) {
  bool const is_factor = role == Role::a || role == Role::b;  // of no steps of k there are no elements
  auto const offset = offset_of(g.m, role, m) + offset_of(g.n, role, n) + offset_of(g.l, role, l) +
                      (is_factor ? offset_of(g.k, role, k) : 0);
  return static_cast<float*>(x.data[role])[offset];
}

void copy(Geometry const& g, Arguments const& x) {
  for (std::int64_t m = 0; m < g.m.size(); ++m) at(x, g, Role::d, m, 0, 0, 0) = at(x, g, Role::a, m, 0, 0, 0);
}

// K part by part, of `length` steps each.
void multiply(Geometry const& g, Arguments const& x, std::int64_t splits, std::int64_t length) {
  auto const steps = g.multiplies ? g.k.size() : 0;
  for (std::int64_t l = 0; l < g.l.size(); ++l) {
    for (std::int64_t n = 0; n < g.n.size(); ++n) {
      for (std::int64_t m = 0; m < g.m.size(); ++m) {
        double sum = 0;
        for (std::int64_t k = 0; k < std::min(steps, splits * length); ++k) {
          sum += static_cast<double>(at(x, g, Role::a, m, n, k, l)) * at(x, g, Role::b, m, n, k, l);
        }
        double result = x.alpha.real() * sum;
        if (g.reads_c) result += x.beta.real() * at(x, g, Role::c, m, n, 0, l);
        if (g.has_bias) result += at(x, g, Role::bias, m, n, 0, l);
        if (g.activation == Activation::relu) result = result > 0 ? result : 0;
        if (g.has_residual) result += at(x, g, Role::residual, m, n, 0, l);
        at(x, g, Role::d, m, n, 0, l) = static_cast<float>(result);
      }
    }
  }
}

// The variants that products of float32 and copies of their elements may take, with the rules of their families.
std::vector<Entry> make_table() {
  std::vector<Entry> entries;
  for (Entry entry : instances::gpu_variants()) {
    Traits const& t = entry.traits;
    entry.prepare = [](char const*, Geometry const&, Schedule const&) {
      return std::unique_ptr<Launch>();
    };  // as if built
    bool const multiplies = t.types.compute == Compute::f32 || t.types.compute == Compute::tf32;
    if ((multiplies || t.types.compute == Compute::copy) && contains(t.types.factors, DType::f32))
      entries.push_back(entry);
  }
  return entries;
}

class Fuzz {
 public:
  explicit Fuzz(unsigned seed) : random_(seed), registry_(make_table()), used_(registry_.size()) {
    device_.name = "invented";
    device_.compute_capability = 90;
    device_.shared_bytes_per_cta = 227 * 1024;
    device_.memory_gb_per_s = 4800;
    device_.memory_bytes = std::int64_t{1} << 30;
  }

  void run(int count) {
    for (int i = 0; i < count; ++i) one(i);
    std::printf("planned %d wrong %d refused %d splits %d sums %d exchanged %d packs %d clusters %d\n", planned_,
                wrong_, refused_, splits_, sums_, exchanged_, packs_, clusters_);
    std::map<std::string, int> families;
    for (std::size_t i = 0; i < registry_.size(); ++i) families[registry_[i].traits.kernel] += used_[i];
    for (auto const& [family, times] : families) std::printf("used %s %d\n", family.c_str(), times);
  }

 private:
  int draw(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  Modes modes(int most, std::vector<int> const& extents) {
    Modes made;
    for (int rank = draw(0, most); rank > 0; --rank) {
      made.push_back(
          {extents[static_cast<std::size_t>(draw(0, static_cast<int>(extents.size()) - 1))], {}, false, false});
    }
    return made;
  }

  // Gives an array its strides, in any order, with gaps now and then, and memory full of small integers.
  void place(Geometry& g, Arguments& x, Role role, std::vector<Modes*> const& groups, bool repeats) {
    std::vector<Mode*> order;
    for (Modes* group : groups) {
      for (Mode& mode : *group) order.push_back(&mode);
    }
    std::shuffle(order.begin(), order.end(), random_);
    std::int64_t step = draw(0, 4) == 0 ? 2 : 1;
    for (Mode* mode : order) {
      bool const is_own = (role == Role::a && mode->only_in_b) || (role == Role::b && mode->only_in_a);
      if (is_own || (repeats && draw(0, 7) == 0)) continue;
      mode->stride[role] = step;
      step *= mode->extent;
      if (draw(0, 3) == 0) step += draw(1, 3);
    }
    auto& memory = memory_.emplace_back(static_cast<std::size_t>(step + 8));
    for (float& value : memory) value = static_cast<float>(draw(-3, 3));
    x.data[role] = memory.data() + draw(0, 3);
    g.type[role] = DType::f32;
    g.log2_alignment[role] = log2_alignment_of(reinterpret_cast<std::uintptr_t>(x.data[role]));
  }

  void one(int number) {
    Geometry g;
    bool const of_tiles = draw(0, 3) == 0;
    g.m = of_tiles ? Modes({Mode{16 * draw(1, 2), {}, false, false}}) : modes(2, {1, 2, 3, 5});
    g.n = of_tiles ? Modes({Mode{16 * draw(1, 2), {}, false, false}}) : modes(2, {1, 2, 3, 4});
    g.l = modes(1, {1, 2, 3});
    g.k = modes(2, {1, 2, 3, 40});
    if (draw(0, 1) != 0) {
      g.k = Modes({Mode{draw(0, 1) != 0 ? draw(300, 900) : 64 * draw(4, 12), {}, false, false}});
      if (draw(0, 1) != 0) g.k.insert(draw(0, 1), Mode{draw(1, 5), {}, false, false});
    }
    for (Mode& mode : g.k) {
      mode.only_in_a = draw(0, 9) == 0;
      mode.only_in_b = !mode.only_in_a && draw(0, 9) == 0;
    }
    if (g.m.size() * g.n.size() * g.l.size() * g.k.size() > 400'000) return;
    g.batch_invariant = draw(0, 9) == 0;
    if (draw(0, 2) == 0) g.compute = Compute::tf32;
    memory_.clear();
    memory_.reserve(kRoles);
    Arguments x;
    place(g, x, Role::a, {&g.m, &g.k, &g.l}, true);
    place(g, x, Role::b, {&g.n, &g.k, &g.l}, true);
    place(g, x, Role::d, {&g.m, &g.n, &g.l}, false);
    x.alpha = 0.5 * draw(0, 5) - 1;
    x.beta = draw(0, 2);
    g.multiplies = x.alpha != 0.0 && g.k.size() != 0;
    g.reads_c = x.beta != 0.0;
    if (g.reads_c && draw(0, 1) != 0) {
      place(g, x, Role::c, {&g.m, &g.n, &g.l}, true);
    } else if (g.reads_c) {
      g.c_is_d = true;
      g.type[Role::c] = DType::f32;
      g.log2_alignment[Role::c] = g.log2_alignment[Role::d];
      x.data[Role::c] = x.data[Role::d];
      for_each_group(g, [](Modes& group) {
        for (Mode& mode : group) mode.stride[Role::c] = mode.stride[Role::d];
      });
    }
    g.has_bias = draw(0, 3) == 0;
    if (g.has_bias) place(g, x, Role::bias, {&g.m, &g.n, &g.l}, true);
    g.has_residual = draw(0, 4) == 0;
    if (g.has_residual) place(g, x, Role::residual, {&g.m, &g.n, &g.l}, true);
    if (draw(0, 3) == 0) g.activation = Activation::relu;

    auto const before = memory_;
    multiply(g, x, 1, g.k.size());
    auto const expected = memory_;
    restore(before);
    ++planned_;
    constexpr int kMultiprocessors[] = {1, 8, 132};
    device_.multiprocessors = kMultiprocessors[draw(0, 2)];
    device_.clock_mhz = draw(0, 3) == 0 ? 5 : 1980;  // so slow that another launch is worth it
    dispatch::Question const question{Target::cuda, kernels::platform(), device_, "auto", registry_};
    auto const program = dispatch::make_program(FoldedProduct(g), question);
    if (compute(program, x) && memory_ != expected) {
      ++wrong_;
      std::printf("wrong: number %d in %zu steps\n", number, program.steps.size());
    }
  }

  void restore(std::vector<std::vector<float>> const& values) {
    for (std::size_t i = 0; i < memory_.size(); ++i) std::copy(values[i].begin(), values[i].end(), memory_[i].begin());
  }

  // False: a step has no kernel.
  bool compute(dispatch::Program const& program, Arguments const& x) {
    std::vector<float> workspace(static_cast<std::size_t>(program.workspace_bytes) / sizeof(float) + 64, -1e30f);
    auto const& data = x.data.values;
    std::array<void*, dispatch::kSources> const base{
        data[0], data[1], data[2],          data[3],
        data[4], data[5], workspace.data(), const_cast<unsigned char*>(&kOnes.bytes[0][0])};
    if (program.steps.empty()) {
      std::printf("wrong: no steps\n");
      ++wrong_;
    }
    for (dispatch::Step const& step : program.steps) {
      if (step.entry == nullptr) {
        ++refused_;
        return false;
      }
      // Wherever it is put, an array has to be as aligned as the kernel was told.
      if (dispatch::refusals(step.entry->traits, step.geometry, device_) != dispatch::kNone) {
        std::printf("wrong: %s refuses its step\n", step.entry->traits.name);
        ++wrong_;
      }
      ++used_[static_cast<std::size_t>(step.entry - &registry_[0])];
      splits_ += step.schedule.split_k > 1;
      clusters_ += step.schedule.cluster_k > 1;
      sums_ += step.purpose == dispatch::Purpose::sum_a || step.purpose == dispatch::Purpose::sum_b;
      exchanged_ += step.transposed;
      packs_ += step.purpose == dispatch::Purpose::pack_a || step.purpose == dispatch::Purpose::pack_b;
      Arguments of_step;
      if (step.takes_scalars) of_step = x;
      for (int i = 0; i < kRoles; ++i) {
        auto const role = static_cast<Role>(i);
        if (!step.geometry.has(role)) continue;
        auto const& place = step.places[role];
        of_step.data[role] = static_cast<char*>(base[static_cast<std::size_t>(place.source)]) + place.offset;
        auto const bytes = std::int64_t{1} << step.geometry.log2_alignment[role];
        auto const is_callers = place.source != dispatch::Source::workspace && place.source != dispatch::Source::one;
        if (is_callers &&
            reinterpret_cast<std::uintptr_t>(of_step.data[role]) % static_cast<std::uintptr_t>(bytes) != 0) {
          std::printf("wrong: an array is less aligned than its step was told\n");
          ++wrong_;
        }
      }
      auto const length =
          step.schedule.split_k > 1 ? step.schedule.k_tiles * step.entry->traits.tile[2] : step.geometry.k.size();
      bool const fits = step.schedule_offset % 256 == 0 &&
                        step.schedule_offset + step.schedule.workspace_bytes <= program.workspace_bytes;
      bool const has_empty = (step.schedule.split_k - 1) * length >= step.geometry.k.size();  // which clusters may have
      if (step.schedule.split_k > 1 && (!fits || (has_empty && step.schedule.cluster_k == 1))) {
        std::printf("wrong: splits that are empty, or have no memory\n");
        ++wrong_;
      }
      if (step.clear_bytes > 0) std::memset(of_step.data[Role::d], 0, static_cast<std::size_t>(step.clear_bytes));
      if (step.geometry.compute == Compute::copy) {
        copy(step.geometry, of_step);
      } else {
        multiply(step.geometry, of_step, step.schedule.split_k, length);
      }
    }
    return true;
  }

  std::mt19937 random_;
  instances::Registry registry_;
  DeviceInfo device_;
  std::vector<std::vector<float>> memory_;
  std::vector<int> used_;
  int planned_ = 0;
  int wrong_ = 0;
  int refused_ = 0;
  int splits_ = 0;
  int sums_ = 0;
  int exchanged_ = 0;
  int packs_ = 0;
  int clusters_ = 0;
};

}  // namespace

int main(int, char** arguments) { Fuzz(static_cast<unsigned>(std::atoi(arguments[1]))).run(std::atoi(arguments[2])); }
