#include "problem/profiles.hpp"

#include <string_view>
#include <utility>

// What was measured of GPUs.
namespace cute_py {
namespace {

struct Known {
  std::string_view begins;  // a name
  GpuProfile profile;
};

// docs/perf/cost-model.md has the measurements.
constexpr Known kKnown[] = {
    {"NVIDIA H200", {2.4, 0.85, 31.2, 50e6}},
    {"NVIDIA H100", {2.4, 0.85, 31.2, 50e6}},
};

FindProfile& find_profile() {
  static auto* const find = new FindProfile;  // never destroyed: threads may outlive the module
  return *find;
}

}  // namespace

GpuProfile profile_of(std::string const& name) {
  if (auto const& find = find_profile()) {
    if (auto const found = find(name)) return *found;
  }
  for (Known const& known : kKnown) {
    if (std::string_view(name).substr(0, known.begins.size()) == known.begins) return known.profile;
  }
  return {};
}

void set_find_profile(FindProfile find) { find_profile() = std::move(find); }

DeviceInfo h200() {
  DeviceInfo device;
  device.name = "H200";
  device.compute_capability = 90;
  device.multiprocessors = 132;
  device.memory_bytes = std::int64_t{141} << 30;
  device.shared_bytes_per_cta = 227 * 1024;
  device.clock_mhz = 1980;
  device.memory_gb_per_s = 4800;
  return device;
}

CpuRate const cpu_rates[kCpuRates] = {
    {"l1_bytes_per_us", &CpuProfile::l1_bytes_per_us},
    {"l2_bytes_per_us", &CpuProfile::l2_bytes_per_us},
    {"l3_bytes_per_us", &CpuProfile::l3_bytes_per_us},
    {"dram_bytes_per_us", &CpuProfile::dram_bytes_per_us},
    {"vector_slowdown", &CpuProfile::vector_slowdown},
    {"memory_slowdown", &CpuProfile::memory_slowdown},
    {"call_us", &CpuProfile::call_us},
    {"cycles_per_us", &CpuProfile::cycles_per_us},
    {"fma_per_us", &CpuProfile::fma_per_us},
    {"int8_speedup", &CpuProfile::int8_speedup},
    {"gemv_fma_per_us", &CpuProfile::gemv_fma_per_us},
    {"axpy_fma_per_us", &CpuProfile::axpy_fma_per_us},
    {"packed_per_us", &CpuProfile::packed_per_us},
    {"packed_apart_per_us", &CpuProfile::packed_apart_per_us},
    {"interleaved_per_us", &CpuProfile::interleaved_per_us},
    {"scattered_per_us", &CpuProfile::scattered_per_us},
    {"scattered_far_per_us", &CpuProfile::scattered_far_per_us},
    {"product_us", &CpuProfile::product_us},
    {"tile_us", &CpuProfile::tile_us},
    {"tile_by_memory_us", &CpuProfile::tile_by_memory_us},
    {"small_product_us", &CpuProfile::small_product_us},
    {"small_tile_us", &CpuProfile::small_tile_us},
    {"latency_cycles", &CpuProfile::latency_cycles},
    {"transpose_cycles", &CpuProfile::transpose_cycles},
    {"gather_cycles", &CpuProfile::gather_cycles},
    {"convert_cycles", &CpuProfile::convert_cycles},
    {"loops_call_us", &CpuProfile::loops_call_us},
    {"line_us", &CpuProfile::line_us},
    {"rows_us", &CpuProfile::rows_us},
    {"row_step_us", &CpuProfile::row_step_us},
    {"gather_step_us", &CpuProfile::gather_step_us},
    {"block_us", &CpuProfile::block_us},
    {"transposed_element_us", &CpuProfile::transposed_element_us},
    {"gathered_element_us", &CpuProfile::gathered_element_us},
    {"vector_of_sums_us", &CpuProfile::vector_of_sums_us},
    {"vector_of_products_us", &CpuProfile::vector_of_products_us},
    {"rectangle_us", &CpuProfile::rectangle_us},
    {"piece_us", &CpuProfile::piece_us},
    {"short_transposed_us", &CpuProfile::short_transposed_us},
};

}  // namespace cute_py
