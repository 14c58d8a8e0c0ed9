// Kernels that touch what they should not, and what breaks a rule of the hardware, one for each line of the output: its
// name and what the emulator says.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "emulator/cta.hpp"
#include "emulator/sm90.hpp"

namespace {

using namespace cute_py;

struct alignas(16) Vector {
  float value[4];
};

struct KernelArguments {
  float* a;
  float* c;
  unsigned char* heap;
};

unsigned char* shared(int offset) { return *kernels::shared_memory_of_cta() + offset; }

template <class T>
T volatile sink;

template <class T>
void read(void const* address) {
  // The compiler must not know where it is.
  void const* volatile hidden = address;
  *const_cast<T*>(&sink<T>) = *static_cast<T const*>(hidden);
}

void write(void* address) {
  void* volatile hidden = address;
  *static_cast<float*>(hidden) = 1;
}

KernelArguments const& of(void const* arguments) { return *static_cast<KernelArguments const*>(arguments); }

unsigned long long* counter(void const* arguments) { return reinterpret_cast<unsigned long long*>(of(arguments).c); }

void run(char const* name, void (*body)(void const*), int threads = 1) {
  std::vector<Vector> memory(64);
  std::vector<unsigned char> heap(64);
  Mode rows{8, {}, false, false};
  Mode steps{4, {}, false, false};
  rows.stride[Role::a] = rows.stride[Role::d] = 1;
  steps.stride[Role::a] = 8;
  steps.stride[Role::b] = 1;
  Geometry geometry;
  geometry.m = Modes({rows});
  geometry.k = Modes({steps});
  geometry.type[Role::a] = geometry.type[Role::b] = geometry.type[Role::d] = DType::f32;
  cute_py::Arguments given;
  given.data[Role::a] = memory.data() + 8;
  given.data[Role::b] = memory.data() + 32;
  given.data[Role::d] = memory.data() + 48;
  KernelArguments const arguments{static_cast<float*>(given.data[Role::a]), static_cast<float*>(given.data[Role::d]),
                                  heap.data()};
  emulator::Launch launch{};
  launch.kernel = "kernel";
  launch.grid = {2, 1, 1};
  launch.threads = threads;
  launch.shared_bytes = 1024;
  launch.body = body;
  launch.arguments = &arguments;
  launch.argument_bytes = sizeof(arguments);
  launch.operands = emulator::operands_of(geometry, given, 0);
  try {
    emulator::run_grid(launch, {});
    std::printf("%s: nothing\n", name);
  } catch (emulator::KernelError const& error) {
    std::printf("%s: %s\n", name, error.what());
  }
}

// One product of which only the descriptors are looked at.
void multiply(std::uint64_t descriptor_of_a, std::uint64_t descriptor_of_b, bool is_fenced = true) {
  static constexpr emulator::WarpgroupMma mma{64, 8, 16, 4, nullptr, nullptr, false};
  emulator::note_registers_fenced(is_fenced);
  emulator::warpgroup_multiply(mma, {descriptor_of_a, true, 2}, {descriptor_of_b, true, 2}, nullptr, false);
}

void make_map(char const* name, std::intptr_t address, std::int64_t stride, int length) {
  TensorBox box;
  box.rank = 2;
  box.extent[0] = box.extent[1] = 1024;
  box.stride[1] = stride;
  box.box[0] = length;
  try {
    emulator::map_of(box, reinterpret_cast<void*>(address));
    std::printf("%s: nothing\n", name);
  } catch (emulator::KernelError const& error) {
    std::printf("%s: %s\n", name, error.what());
  }
}

}  // namespace

int main() {
  run("right", [](void const* x) {
    read<float>(of(x).a + 31);
    read<Vector>(of(x).a + 28);
    read<Vector>(shared(1008));
    write(of(x).c + 7);
    emulator::async_copy(shared(0), of(x).a + 4, 16, false);
    emulator::async_copy(shared(0), of(x).heap, 16, true);  // zeros, from nowhere
    emulator::async_wait(0);
  });
  run("past the end", [](void const* x) { read<float>(of(x).a + 32); });
  run("before the beginning", [](void const* x) { read<float>(of(x).a - 1); });
  run("half outside", [](void const* x) { write(reinterpret_cast<char*>(of(x).c + 7) + 2); });
  run("write", [](void const* x) { write(of(x).c + 8); });
  run("vector", [](void const* x) { read<Vector>(of(x).a + 1); });
  run("number", [](void const* x) { read<float>(reinterpret_cast<char*>(of(x).a) + 2); });
  run("other memory", [](void const* x) { read<unsigned char>(of(x).heap); });
  run("shared past the end", [](void const*) { read<float>(shared(1024)); });
  run("shared half outside", [](void const*) { read<Vector>(shared(1016)); });
  run("shared vector", [](void const*) { read<Vector>(shared(8)); });
  run("asynchronous source", [](void const* x) { emulator::async_copy(shared(0), of(x).a + 30, 16, false); });
  run("asynchronous vector", [](void const* x) { emulator::async_copy(shared(0), of(x).a + 2, 16, false); });
  run("asynchronous destination", [](void const* x) { emulator::async_copy(shared(1020), of(x).a, 16, false); });
  run(
      "barrier",
      [](void const*) {
        if (emulator::thread_index().x < 7) emulator::barrier();
      },
      32);
  run(
      "one thread",
      [](void const* x) {
        if (emulator::thread_index().x == 5 && emulator::block_index().x == 1) read<float>(of(x).a + 40);
      },
      32);
  constexpr std::uint64_t swizzled = std::uint64_t{1} << 62;  // in 128 bytes
  run("descriptor", [](void const*) { multiply(swizzled, swizzled | 128 / 16); });
  run("descriptor without a swizzle", [](void const*) { multiply(0, swizzled); });
  run("product without a fence", [](void const*) { multiply(swizzled, swizzled, false); });
  run("mbarrier", [](void const*) { emulator::mbarrier_init(shared(0), 0); });
  run("mbarrier without a fence", [](void const*) {
    emulator::mbarrier_init(shared(0), 1);
    emulator::barrier();
  });
  run("counting before a fence", [](void const* x) { emulator::count_up(counter(x), 1); });
  run("counting with no fence after it", [](void const* x) {
    emulator::fence();
    emulator::count_up(counter(x), 1);
    emulator::barrier();
  });
  make_map("box", 0, 1024, 64);
  make_map("box at an odd address", 8, 1024, 64);
  make_map("box of odd rows", 0, 9, 64);
  make_map("box beyond its swizzle", 0, 1024, 128);
}
