// The number one of every type in the memory of each GPU: loaded with the module, so that nothing has to arrive first.
#include "base/ones.hpp"
#include "runtime/cuda.hpp"

namespace cute_py::runtime {
namespace {

__device__ Ones const device_ones = kOnes;

}  // namespace

void const* ones_on_device() {
  UncapturedCalls const beside;
  void* address = nullptr;
  check(cudaGetSymbolAddress(&address, device_ones), "looking up a constant on the GPU");
  return address;
}

}  // namespace cute_py::runtime
