#include "emulator/trace.hpp"

#include "emulator/cta.hpp"

namespace cute_py::emulator {

void Tracer::record(Space space, std::intptr_t offset, std::intptr_t bytes, bool is_write) {
  if ((spaces_ >> static_cast<int>(space) & 1u) == 0) return;
  if (records_.size() == limit_) {
    overflowed_ = true;
    stop("more accesses than a trace may hold");
  }
  Index3 const block = tile_index();
  records_.push_back({static_cast<std::int32_t>(block.x), static_cast<std::int32_t>(block.y),
                      static_cast<std::int32_t>(thread_index().x), barriers_passed(), offset,
                      static_cast<std::int32_t>(bytes), space, static_cast<std::uint8_t>(is_write), 0});
}

}  // namespace cute_py::emulator
