#include "execution/pipeline.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <random>
#include <utility>

#include "base/errors.hpp"
#include "dispatch/emulated.hpp"
#include "dispatch/tuned.hpp"
#include "instances/registry.hpp"
#include "runtime/cuda.hpp"
#include "runtime/host.hpp"

namespace cute_py::execution {
namespace {

// Memory for the sums of one call.
class Workspace {
 public:
  Workspace(Memory const& memory, std::int64_t bytes, void* stream)
      : memory_(memory), stream_(stream), data_(memory.allocate_on(stream, static_cast<std::size_t>(bytes))) {}
  Workspace(Workspace const&) = delete;
  Workspace& operator=(Workspace const&) = delete;
  ~Workspace() { memory_.release_on(stream_, data_); }

  void* data() const { return data_; }

 private:
  Memory const& memory_;
  void* stream_;
  void* data_;
};

// The arguments of a step, given an address for each source.
Arguments arguments_of(dispatch::Step const& step, std::array<void*, dispatch::kSources> const& base,
                       Arguments const& given) {
  Arguments x;
  if (step.takes_scalars) x = given;
  if (!step.geometry.multiplies) x.alpha = 0;
  for (int i = 0; i < kRoles; ++i) {
    auto const role = static_cast<Role>(i);
    dispatch::Place const& place = step.places[role];
    void* const start = step.geometry.has(role) ? base[static_cast<std::size_t>(place.source)] : nullptr;
    x.data[role] = start != nullptr ? static_cast<char*>(start) + place.offset : nullptr;
  }
  if (step.planes) {
    auto const at = [&](dispatch::Place const& place) {
      return static_cast<char*>(base[static_cast<std::size_t>(place.source)]) + place.offset;
    };
    for (int i = 0; i < 2; ++i) x.exponents[i] = reinterpret_cast<std::int32_t*>(at(step.planes->exponents[i]));
    x.residues = at(step.planes->residues);
  }
  return x;
}

// A number that no other launch has, and that memory does not hold by chance: a multiple of 16, and not 0.
std::uint64_t next_launch() {
  constexpr std::uint64_t kNotZero = std::uint64_t{1} << 63;
  static std::atomic<std::uint64_t> next = [] {
    std::random_device device;
    return static_cast<std::uint64_t>(device()) << 32 | device();
  }();
  return next.fetch_add(1) << 4 | kNotZero;
}

// May a step begin before the one before it has ended? Both factors may be packed, or split, at a time.
bool are_independent(dispatch::Step const& before, dispatch::Step const& step) {
  using dispatch::Purpose;
  auto const is_split = [](Purpose purpose) { return purpose == Purpose::split_a || purpose == Purpose::split_b; };
  bool const packs = before.purpose == Purpose::pack_a && step.purpose == Purpose::pack_b;
  return (packs || (is_split(before.purpose) && is_split(step.purpose))) && step.clear_bytes == 0;
}

// Runs one step.
void run_step(dispatch::Step const& step, Launch const& launch, Memory const& memory, Arguments x,
              std::array<void*, dispatch::kSources> const& base, Execution const& execution) {
  if (step.schedule.has_split_k()) {
    void* const workspace = base[static_cast<std::size_t>(dispatch::Source::workspace)];
    x.split_k_workspace = static_cast<char*>(workspace) + step.schedule_offset;
    x.launch = next_launch();
  }
  if (step.clear_bytes > 0) {
    memory.clear_on(execution.stream, x.data[Role::d], static_cast<std::size_t>(step.clear_bytes));
  }
  runtime::check(launch.run(x, execution), step.entry->traits.name);
}

void run_steps(Prepared const& prepared, Memory const& memory, Arguments const& given, Execution const& execution,
               void* workspace) {
  dispatch::Program const& program = prepared.outline.program;
  auto const& data = given.data.values;
  std::array<void*, dispatch::kSources> base{data[0], data[1],   data[2], data[3],        data[4],
                                             data[5], workspace, nullptr, given.split[0], given.split[1]};
  std::optional<Workspace> own;
  if (workspace == nullptr && program.workspace_bytes > 0) {
    own.emplace(memory, program.workspace_bytes, execution.stream);
    base[static_cast<std::size_t>(dispatch::Source::workspace)] = own->data();
  }
  if (program.steps.size() > 1) base[static_cast<std::size_t>(dispatch::Source::one)] = memory.ones();
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    dispatch::Step const& step = program.steps[i];
    Arguments x = arguments_of(step, base, given);
    x.overlaps_previous = i > 0 && are_independent(program.steps[i - 1], step);
    run_step(step, *prepared.launches[i], memory, x, base, execution);
  }
}

// The cache of prepared programs: a fixed number of slots, found by the hash of a request.
class Cache {
 public:
  std::shared_ptr<Prepared const> find(Key const& key) {
    std::lock_guard const lock(mutex_);
    Slot const& slot = slots_[key.hash() % kSlots];
    return slot.prepared != nullptr && slot.key == key ? slot.prepared : nullptr;
  }

  void keep(Key const& key, std::shared_ptr<Prepared const> const& prepared) {
    std::lock_guard const lock(mutex_);
    slots_[key.hash() % kSlots] = {key, prepared};
  }

 private:
  static constexpr std::size_t kSlots = 1024;
  struct Slot {
    Key key;
    std::shared_ptr<Prepared const> prepared;
  };

  std::mutex mutex_;
  std::array<Slot, kSlots> slots_;
};

}  // namespace

dispatch::Question question_of(Request const& request, Outline const& outline) {
  Location const& location = outline.location;
  dispatch::Question question{location.target,        instances::platform(location.target),
                              *location.device,       request.kernel,
                              instances::registry(),  request.config,
                              request.workspace_limit};
  for (int i = 0; i < 2; ++i) question.split[i] = request.split[i];
  return question;
}

Outline make_outline(Request const& request) {
  Product product = make_product(request);
  Outline outline{std::move(product), choose_location(request), std::nullopt, {}};
  bool const has_split = request.split[0] != nullptr || request.split[1] != nullptr;
  if (outline.location.staged && has_split) {
    throw OperandError(request.function->name + " copies host arrays to a GPU, and a prepared operand is where it was" +
                       request.operands_text() + "\n  next: pass its array, or prepare an array on the GPU");
  }
  if (outline.location.staged) outline.staging.emplace(outline.product.geometry);
  FoldedProduct const folded(outline.staging ? outline.staging->geometry() : outline.product.geometry);
  dispatch::Question question = question_of(request, outline);
  if (request.kernel == "auto" && !request.config) {
    // A tuned decision comes before estimates, as long as it is legal.
    question.config = dispatch::tuned().find(outline.location.device->name, dispatch::text_of(folded.folded(false)));
    if (question.config) {
      outline.program = dispatch::make_program(folded, question);
      outline.tuned = !outline.program.candidates.empty();
      question.config.reset();
    }
  }
  if (outline.tuned) {  // the others are listed behind it
    auto& all = outline.program.candidates;
    for (Candidate const& other : dispatch::make_program(folded, question).candidates) {
      if (!(other.decision == all.front().decision)) all.push_back(other);
    }
    return outline;
  }
  outline.program = dispatch::make_program(folded, question);
  std::string& refused = outline.program.refused;
  if (!refused.empty()) {  // the operands come between the reason and the way out
    refused.insert(refused.find('\n'), request.operands_text());
    std::string const compute(request.compute.empty() ? request.float32_compute : request.compute);
    throw UnsupportedProblemError(request.function->name + " with compute='" + compute + "' " + refused);
  }
  return outline;
}

std::string refusals_text(Request const& request, Outline const& outline, dispatch::Step const& step) {
  Location const& location = outline.location;
  std::string text = request.function->name + ": no kernel called '" + std::string(request.kernel) +
                     "' takes this problem on the target " + name_of(location.target) + request.operands_text();
  if (step.transposed) {
    text +=
        "\n  roles exchanged: C^T = B A^T is computed, so below A is B, M is N, m-major is n-major and the other way "
        "round";
  }
  auto const rejections = dispatch::rejections(step.geometry, question_of(request, outline));
  for (auto const& [entry, refused] : rejections) {
    text += std::string("\n  ") + entry->traits.name + ": " +
            dispatch::describe(refused, entry->traits, step.geometry, *location.device);
  }
  if (request.config) {
    text += "\n  next: config=None, or one of the candidates of explain(), for arrays like these";
    if (request.workspace_limit != kNoLimit) {
      text += "; or a larger workspace than " + std::to_string(request.workspace_limit) + " bytes";
    }
  } else if (rejections.empty()) {
    text +=
        std::string("\n  next: a unit that has its code for this target, cute_py.units.compile_unit(folder, target='") +
        name_of(location.target) + "')";
  } else if (request.kernel != "auto") {
    text +=
        "\n  next: kernel='auto' chooses one that fits; a kernel's name without its suffix lets all of its variants "
        "run";
  } else {
    text += "\n  next: other types or a smaller problem";
    if (location.target != Target::cpu) text += "; a build with CUTE_PY_KERNELS=full has more variants";
  }
  return text;
}

std::shared_ptr<Prepared const> prepare(Request const& request) {
  auto prepared = std::make_shared<Prepared>(Prepared{*request.function, make_outline(request), {}});
  if (prepared->outline.product.geometry.is_empty()) return prepared;
  std::optional<runtime::UncapturedCalls> beside;
  if (prepared->outline.location.target == Target::cuda) beside.emplace();
  for (dispatch::Step const& step : prepared->outline.program.steps) {
    if (step.entry == nullptr) throw UnsupportedProblemError(refusals_text(request, prepared->outline, step));
    Traits const& traits = step.entry->traits;
    if (prepared->outline.location.target == Target::cpu && traits.needs.isa > runtime::host_isa()) {
      throw UnsupportedProblemError(std::string(traits.name) + " runs on " + request.invented->name +
                                    ", and this CPU lacks its instruction set" + request.operands_text() +
                                    "\n  next: explain() plans for it; leave device out to compute");
    }
    prepared->launches.push_back(step.entry->prepare(traits.name, step.geometry, step.schedule));
  }
  return prepared;
}

PreparedSplit prepare_split(Request const& request) {
  Outline outline{make_product(request), choose_location(request), std::nullopt, {}};
  auto const refuse = [&](std::string const& why) {
    std::string text = request.function->name + " with compute='" + std::string(request.compute) + "' " + why;
    text.insert(text.find('\n'), request.operands_text());
    return text;
  };
  if (outline.location.staged) {
    throw OperandError(refuse("splits arrays where they are\n  next: an array on the GPU"));
  }
  auto const planes = dispatch::planes_for(outline.product.geometry);
  if (planes.empty() || outline.product.geometry.is_empty()) {
    throw OperandError(
        refuse("has nothing to split\n  next: compute='fp16x3', or another of docs/numerics.md, and an "
               "array with elements"));
  }
  auto const question = question_of(request, outline);
  outline.program = dispatch::make_split(FoldedProduct(outline.product.geometry), planes.front(), question);
  if (!outline.program.refused.empty()) throw UnsupportedProblemError(refuse(outline.program.refused));
  dispatch::Step const& step = outline.program.steps.front();
  auto const bytes = std::exchange(outline.program.workspace_bytes, 0);
  auto const planes_at = step.places[Role::d].offset;
  std::vector<std::unique_ptr<Launch>> launches;
  launches.push_back(step.entry->prepare(step.entry->traits.name, step.geometry, step.schedule));
  return {{*request.function, std::move(outline), std::move(launches)}, bytes, planes_at};
}

namespace {

Cache& cache() {
  static auto* const kept = new Cache;  // never destroyed: threads may outlive the module
  return *kept;
}

}  // namespace

std::shared_ptr<Prepared const> find_prepared(Key const& key) { return cache().find(key); }

void keep_prepared(Key const& key, std::shared_ptr<Prepared const> const& prepared) { cache().keep(key, prepared); }

void Key::add(std::string_view text) {
  add(text.size());
  for (std::size_t i = 0; i < text.size(); i += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + i, std::min(sizeof(word), text.size() - i));
    add(word);
  }
}

namespace {

std::uint64_t bits_of(double x) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}

}  // namespace

void Key::add(View const* view) {
  if (view == nullptr) return add(std::uint64_t{0});
  View const& x = *view;
  auto const log2 = log2_alignment_of(reinterpret_cast<std::uintptr_t>(x.data));
  add(std::uint64_t{1} | std::uint64_t{x.read_only} << 1 | std::uint64_t{x.conjugated} << 2 |
      static_cast<std::uint64_t>(log2) << 3 | static_cast<std::uint64_t>(x.rank) << 8 |
      static_cast<std::uint64_t>(x.dtype.code) << 16 | static_cast<std::uint64_t>(x.dtype.bits) << 24 |
      static_cast<std::uint64_t>(x.dtype.lanes) << 32);
  add(static_cast<std::uint64_t>(x.device.type) << 32 | static_cast<std::uint32_t>(x.device.id));
  for (int i = 0; i < x.rank; ++i) {
    add(static_cast<std::uint64_t>(x.shape[i]));
    add(static_cast<std::uint64_t>(x.stride[i]));
  }
}

void Key::assign(Request const& r) {
  count_ = 0;
  others_.clear();
  // A number decides by being 0 or not, and real or not, as what it is rounded to.
  auto const bits = [](Scalar const& x) {
    auto const narrow = std::complex<float>(x.value);
    return std::uint64_t{x.value != 0.0} | std::uint64_t{narrow != 0.0f} << 1 | std::uint64_t{x.is_complex} << 2 |
           std::uint64_t{x.value.imag() != 0} << 33 | std::uint64_t{narrow.imag() != 0} << 34;
  };
  bool const c_is_out = r.c != nullptr && r.out != nullptr && r.c->data == r.out->data;
  add(bits(r.alpha) | bits(r.beta) << 4 | std::uint64_t{r.scale != 1} << 8 | std::uint64_t{r.saturate} << 9 |
      std::uint64_t{r.conj_a} << 10 | std::uint64_t{r.conj_b} << 11 | std::uint64_t{r.batch_invariant} << 12 |
      std::uint64_t{c_is_out} << 13 | std::uint64_t{r.config.has_value()} << 14 |
      std::uint64_t{r.invented != nullptr} << 15 | static_cast<std::uint64_t>(r.activation) << 16 |
      std::uint64_t{r.any_order} << 32);
  for (View const* view : {r.a, r.b, r.c, r.out, r.bias, r.residual}) add(view);
  auto const id = [&](int i) { return r.split[i] != nullptr ? r.split[i]->id : 0; };
  add(id(0) | id(1) << 32);
  add(r.function->id);
  add(r.what);
  add(r.compute);
  add(r.float32_compute);
  add(r.out_dtype);
  add(r.kernel);
  if (r.config) {
    add(r.config->kernel);
    Schedule const& s = r.config->schedule;
    add(static_cast<std::uint64_t>(r.config->transposed) << 32 | static_cast<std::uint64_t>(s.split_k));
    add(static_cast<std::uint64_t>(s.cluster_k) << 32 | static_cast<std::uint64_t>(s.cluster_m) << 16 |
        static_cast<std::uint64_t>(s.cluster_n));
    add(static_cast<std::uint64_t>(s.raster));
    add(r.config->packs);
  }
  add(static_cast<std::uint64_t>(r.workspace_limit));
  add(dispatch::tuned().version());
  add(instances::registry().version());
  add(static_cast<std::uint64_t>(runtime::host_threads()));
  add(r.device);
  if (r.invented != nullptr) {
    DeviceInfo const& device = *r.invented;
    add(device.name);
    add(static_cast<std::uint64_t>(device.compute_capability));
    add(static_cast<std::uint64_t>(device.multiprocessors));
    add(static_cast<std::uint64_t>(device.memory_bytes));
    add(static_cast<std::uint64_t>(device.shared_bytes_per_cta));
    add(static_cast<std::uint64_t>(device.clock_mhz));
    add(static_cast<std::uint64_t>(device.memory_gb_per_s));
    add(static_cast<std::uint64_t>(device.copies_arrays) | static_cast<std::uint64_t>(device.isa) << 1);
    for (double const x : {device.profile.launch_us, device.profile.memory_efficiency,
                           device.profile.l2_bytes_per_cycle, device.profile.l2_bytes}) {
      add(bits_of(x));
    }
    for (std::int64_t const x : {device.caches.l1, device.caches.l2, device.caches.l3}) {
      add(static_cast<std::uint64_t>(x));
    }
    for (CpuRate const& rate : cpu_rates) add(bits_of(device.cpu.*rate.value));
  }
  if (count_ % 2 != 0) add(std::uint64_t{0});
  std::uint64_t even = 0;  // two, as a processor waits for a multiplication
  std::uint64_t odd = 1;
  for (std::size_t i = 0; i < count_; i += 2) {
    even = (even ^ first_[i]) * 0x9e3779b97f4a7c15;
    odd = (odd ^ first_[i + 1]) * 0xc2b2ae3d27d4eb4f;
  }
  for (std::uint64_t const word : others_) even = (even ^ word) * 0x9e3779b97f4a7c15;
  even ^= odd >> 32 ^ odd << 32;
  hash_ = even ^ even >> 32;
}

std::int64_t Prepared::scratch_bytes() const {
  std::int64_t most = 0;
  if (outline.location.target != Target::cpu) return most;
  for (auto const& launch : launches) most = std::max(most, launch->scratch_bytes(runtime::host_threads()));
  return most;
}

void warm_up(Prepared const& prepared) {
  Location const& location = prepared.outline.location;
  if (location.target != Target::cuda) return;
  runtime::DeviceGuard const guard(location.ordinal);
  if (prepared.launches.size() > 1) Memory(location.target).ones();
  if (prepared.workspace_bytes() > 0) runtime::prepare_pool();
}

void run(Prepared const& prepared, Arguments arguments, Execution const& execution, bool wait, void* workspace) {
  Outline const& outline = prepared.outline;
  if (outline.product.geometry.is_empty()) return;
  Memory const memory(outline.location.target);
  std::optional<runtime::DeviceGuard> guard;
  if (outline.location.target == Target::cuda) guard.emplace(outline.location.ordinal);
  if (!outline.staging) {
    run_steps(prepared, memory, arguments, execution, workspace);
    if (wait) runtime::synchronize(execution.stream);
    return;
  }
  outline.staging->run(memory, arguments, execution, [&](Arguments const& there) {
    run_steps(prepared, memory, there, execution, nullptr);
    if (outline.location.target == Target::cuda) runtime::synchronize(execution.stream);
  });
}

}  // namespace cute_py::execution
