// What every CPU kernel of float32 and of copies is expected to take for one product on machines with other caches, and
// the cache blocking there: a line for each, in the order of the machines.
#include <cstdio>
#include <vector>

#include "cpu/families.hpp"
#include "cpu/gemm/blocking.hpp"
#include "problem/decision.hpp"

using namespace cute_py;

namespace {

Mode mode(std::int64_t extent, std::int64_t a, std::int64_t b, std::int64_t d) {
  Mode made{extent, {}, false, false};
  made.stride[Role::a] = a;
  made.stride[Role::b] = b;
  made.stride[Role::d] = d;
  return made;
}

Geometry geometry(Compute compute) {
  constexpr std::int64_t kExtent = 600;
  Geometry g;
  g.compute = compute;
  g.type[Role::a] = g.type[Role::b] = g.type[Role::d] = DType::f32;
  if (compute == Compute::copy) {
    g.m.push_back(mode(kExtent, kExtent, 0, 1));
    g.m.push_back(mode(kExtent, 1, 0, kExtent));
  } else {
    g.m.push_back(mode(kExtent, 1, 0, 1));
    g.n.push_back(mode(kExtent, 0, 1, kExtent));
    g.k.push_back(mode(kExtent, kExtent, kExtent, 0));
  }
  return g;
}

}  // namespace

int main() {
  constexpr CacheSizes kCaches[] = {
      {}, {32 << 10, 1 << 20, 32 << 20}, {64 << 10, 4 << 20, 256 << 20}, {16 << 10, 128 << 10, 1 << 20}};
  for (Entry const& entry : cpu::entries()) {
    if (entry.traits.types.compute != Compute::f32 && entry.traits.types.compute != Compute::copy) continue;
    Geometry const g = geometry(entry.traits.types.compute);
    std::printf("%s", entry.traits.name);
    for (CacheSizes const& caches : kCaches) {
      DeviceInfo device;
      device.multiprocessors = 1;
      device.caches = caches;
      std::vector<Proposal> proposals;
      entry.rules->propose({g, g, entry, device}, false, proposals);
      std::printf(" %.6f", proposals.at(0).estimate.us);
    }
    std::printf("\n");
  }
  auto const print = [&](char const* name, std::int64_t cpu::CacheBlocking::* bytes) {
    std::printf("%s", name);
    for (CacheSizes const& caches : kCaches) {
      std::printf(" %lld", static_cast<long long>(cpu::cache_blocking(caches).*bytes));
    }
    std::printf("\n");
  };
  print("MC*KC", &cpu::CacheBlocking::bytes_a);
  print("NC*KC", &cpu::CacheBlocking::bytes_b);
  print("small-A", &cpu::CacheBlocking::bytes_small_a);
}
