#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "cpu/arithmetic.hpp"
#include "cpu/profile.hpp"
#include "problem/decision.hpp"

// What the cost models of the families share: rates of a machine's profile times counted work. What matters is which
// kernel is the fastest.
namespace cute_py::cpu::model {

inline Profile profile_of(Traits const& t, DeviceInfo const& device) { return cpu::profile_of(t.needs.isa, device); }

// Multiply-adds of the micro-kernel in a microsecond.
inline double fma_per_us(Profile const& p, Compute compute) {
  switch (compute) {
    case Compute::f64:
      return p.fma_per_us / 2;
    case Compute::c64:
      return p.fma_per_us / 4;
    case Compute::c128:
      return p.fma_per_us / 8;
    case Compute::i32:
      return p.fma_per_us * p.int8_speedup;
    default:
      return p.fma_per_us;
  }
}

// The bandwidth of the first level beyond L1 that holds so many bytes.
inline double bandwidth(Profile const& p, double bytes) {
  if (bytes <= p.l2_bytes) return p.l2_bytes_per_us;
  return bytes <= p.l3_bytes ? p.l3_bytes_per_us : p.dram_bytes_per_us;
}

// To write a result once: dense, or element by element, because its rows are not contiguous.
inline double us_to_write(Profile const& p, double bytes) { return bytes / bandwidth(p, bytes); }
inline double us_to_scatter(Profile const& p, double elements, double bytes) {
  return elements / (bytes > p.l2_bytes ? p.scattered_far_per_us : p.scattered_per_us);
}

// One pass over an array of so many bytes that is read again and again, in contiguous pieces of so many.
inline double us_to_read_again(Profile const& p, double bytes, double piece) {
  if (bytes <= p.l1_bytes) return 0;
  if (bytes <= p.l2_bytes) return bytes / p.l2_bytes_per_us;
  constexpr double kShort = 256;
  constexpr double kMost = 4;
  return bytes / bandwidth(p, bytes) * std::min(1 + kShort / piece, kMost);
}

inline double threads_for(double work, double of_thread, DeviceInfo const& device) {
  return cpu::threads_for(work, of_thread, device.multiprocessors);
}

inline double work_of(Extents const& x) {
  return static_cast<double>(x.m) * static_cast<double>(x.n) * static_cast<double>(std::max<std::int64_t>(x.k, 1)) *
         static_cast<double>(x.l);
}

inline std::int64_t stride_of(Modes const& modes, Role role) { return modes.rank() == 0 ? 1 : modes[0].stride[role]; }

// How many elements are contiguous in an array, in the order of its modes.
inline double run_of(Modes const& modes, Role role) {
  std::int64_t run = 1;
  for (Mode const& mode : modes) {
    if (mode.stride[role] != run) break;
    run *= mode.extent;
  }
  return static_cast<double>(run);
}

// Contiguous bytes of a factor where `count` of its rows are read for all k.
inline double piece_of(Geometry const& g, Role role, Modes const& rows, double count, double k) {
  bool const is_along_k = k > 1 && stride_of(g.k, role) == 1;
  bool const is_along_rows = stride_of(rows, role) == 1;
  // Where all rows are read, a step of k may begin where the one before ends.
  bool const goes_on = is_along_rows && rows.rank() == 1 && g.k.rank() == 1 &&
                       static_cast<double>(rows[0].extent) == count && g.k[0].stride[role] == rows[0].extent;
  return bytes_of(g.type[role]) * (goes_on ? count * k : is_along_k ? run_of(g.k, role) : is_along_rows ? count : 1);
}

using EstimateOf = Estimate (*)(Geometry const&, Extents const&, Traits const&, DeviceInfo const&);

template <EstimateOf estimate>
Proposal proposal(Task const& task) {
  return {{}, estimate(task.judged, extents_of(task.judged), task.entry.traits, task.device)};
}

template <EstimateOf estimate>
void propose(Task const& task, bool, std::vector<Proposal>& proposals) {
  proposals.push_back(proposal<estimate>(task));
}

// A CPU kernel has one schedule: threads share a product as its launch sees fit.
template <EstimateOf estimate>
std::optional<Proposal> complete(Task const& task, Schedule const& wanted) {
  if (wanted.split_k != 1 || wanted.cluster() > 1 || wanted.raster != 0) return std::nullopt;
  return proposal<estimate>(task);
}

// The rules of a family with an estimate.
template <EstimateOf estimate>
inline constexpr Rules kRules{&propose<estimate>, &complete<estimate>};

}  // namespace cute_py::cpu::model
