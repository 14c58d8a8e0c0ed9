#include "emulator/trace.hpp"

#include "emulator/cta.hpp"

namespace cute_py::emulator {
namespace {

Tracer* tracing = nullptr;

void record(void const* address, int bytes, bool is_write) {
  if (tracing != nullptr) tracing->record(address, bytes, is_write);
}

}  // namespace

Tracer::Tracer(Watched const (&operands)[3], std::size_t shared_bytes, unsigned spaces, std::size_t limit)
    : spaces_(spaces), limit_(limit) {
  for (int i = 0; i < 3; ++i) watched_[i] = operands[i];
  auto const shared = reinterpret_cast<std::intptr_t>(kernels::cutlass_scheduled::shared_memory);
  watched_[3] = {kernels::cutlass_scheduled::shared_memory, shared, shared + static_cast<std::intptr_t>(shared_bytes)};
  tracing = this;
  access_hook = &emulator::record;
}

Tracer::~Tracer() {
  tracing = nullptr;
  access_hook = nullptr;
}

void Tracer::record(void const* address, int bytes, bool is_write) {
  auto const where = reinterpret_cast<std::intptr_t>(address);
  for (int i = 0; i < 4; ++i) {
    if (where < watched_[i].first || where >= watched_[i].last) continue;
    if ((spaces_ >> i & 1u) == 0) return;
    if (accesses_.size() == limit_) {
      overflowed_ = true;
      return;
    }
    Index3 const block = block_index();
    accesses_.push_back({static_cast<std::int32_t>(block.x), static_cast<std::int32_t>(block.y),
                         static_cast<std::int32_t>(thread_index().x), barriers_passed(),
                         where - reinterpret_cast<std::intptr_t>(watched_[i].origin), bytes, static_cast<Space>(i),
                         static_cast<std::uint8_t>(is_write), 0});
    return;
  }
}

}  // namespace cute_py::emulator

// What the instrumentation calls. Accesses to the stack and to other memory are looked up and ignored.
extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

void __tsan_read1(void* p) { cute_py::emulator::record(p, 1, false); }
void __tsan_read2(void* p) { cute_py::emulator::record(p, 2, false); }
void __tsan_read4(void* p) { cute_py::emulator::record(p, 4, false); }
void __tsan_read8(void* p) { cute_py::emulator::record(p, 8, false); }
void __tsan_read16(void* p) { cute_py::emulator::record(p, 16, false); }
void __tsan_write1(void* p) { cute_py::emulator::record(p, 1, true); }
void __tsan_write2(void* p) { cute_py::emulator::record(p, 2, true); }
void __tsan_write4(void* p) { cute_py::emulator::record(p, 4, true); }
void __tsan_write8(void* p) { cute_py::emulator::record(p, 8, true); }
void __tsan_write16(void* p) { cute_py::emulator::record(p, 16, true); }
void __tsan_unaligned_read2(void* p) { cute_py::emulator::record(p, 2, false); }
void __tsan_unaligned_read4(void* p) { cute_py::emulator::record(p, 4, false); }
void __tsan_unaligned_read8(void* p) { cute_py::emulator::record(p, 8, false); }
void __tsan_unaligned_read16(void* p) { cute_py::emulator::record(p, 16, false); }
void __tsan_unaligned_write2(void* p) { cute_py::emulator::record(p, 2, true); }
void __tsan_unaligned_write4(void* p) { cute_py::emulator::record(p, 4, true); }
void __tsan_unaligned_write8(void* p) { cute_py::emulator::record(p, 8, true); }
void __tsan_unaligned_write16(void* p) { cute_py::emulator::record(p, 16, true); }
void __tsan_read_range(void* p, unsigned long bytes) { cute_py::emulator::record(p, static_cast<int>(bytes), false); }
void __tsan_write_range(void* p, unsigned long bytes) { cute_py::emulator::record(p, static_cast<int>(bytes), true); }

}  // extern "C"
