#include "execution/staging.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <type_traits>

namespace cute_py::execution {

Copy::Copy(Geometry& geometry, Role role) : bytes_(bytes_of(geometry.type[role])) {
  std::vector<Mode*> placed;
  for_each_group(geometry, [&](Modes& modes) {
    for (Mode& mode : modes) {
      if (mode.stride[role] != 0) placed.push_back(&mode);
    }
  });
  std::stable_sort(placed.begin(), placed.end(), [role](Mode const* x, Mode const* y) {
    return std::abs(x->stride[role]) < std::abs(y->stride[role]);
  });
  for (Mode* mode : placed) {
    auto const stride = mode->stride[role];
    mode->stride[role] = elements_;
    elements_ *= std::max<std::int64_t>(mode->extent, 1);
    if (!modes_.empty() && stride == modes_.back().stride * modes_.back().extent) {
      modes_.back().extent *= mode->extent;
    } else {
      modes_.push_back({mode->extent, stride});
    }
  }
  geometry.log2_alignment[role] = kMaxLog2Alignment;
}

// Calls work(host, at, length) for the elements from `first` on, as the device counts them, in runs along the first
// mode: `host` is the offset of a run on the host, `at` its number, counted from `first`.
template <class Work>
void Copy::for_each_run(std::int64_t first, std::int64_t count, Work const& work) const {
  std::vector<std::int64_t> digit(modes_.size());
  std::int64_t host = 0;
  for (std::size_t i = 0; i < modes_.size(); ++i) {
    digit[i] = first % modes_[i].extent;
    first /= modes_[i].extent;
    host += digit[i] * modes_[i].stride;
  }
  for (std::int64_t at = 0; at < count;) {
    auto const length = modes_.empty() ? 1 : std::min(modes_[0].extent - digit[0], count - at);
    work(host, at, length);
    at += length;
    if (modes_.empty()) return;
    digit[0] += length;
    host += length * modes_[0].stride;
    for (std::size_t i = 0; i + 1 < modes_.size() && digit[i] == modes_[i].extent; ++i) {
      digit[i] = 0;
      ++digit[i + 1];
      host += modes_[i + 1].stride - modes_[i].stride * modes_[i].extent;
    }
  }
}

// Calls work with the bytes of an element as a constant, so that copying one is an instruction and no call.
template <class Work>
void with_size(int bytes, Work const& work) {
  switch (bytes) {
    case 1:
      return work(std::integral_constant<std::int64_t, 1>());
    case 2:
      return work(std::integral_constant<std::int64_t, 2>());
    case 4:
      return work(std::integral_constant<std::int64_t, 4>());
    case 8:
      return work(std::integral_constant<std::int64_t, 8>());
    default:
      return work(std::integral_constant<std::int64_t, 16>());
  }
}

namespace {

// Calls work(at, length) for pieces of `count` elements, and asks before each whether to stop.
template <class Work>
void in_pieces(std::int64_t count, Execution const& execution, Work const& work) {
  constexpr std::int64_t kPiece = std::int64_t{1} << 18;
  for (std::int64_t at = 0; at < count; at += kPiece) {
    execution.check_interrupt();
    work(at, std::min(kPiece, count - at));
  }
}

}  // namespace

// Calls work(host, packed, bytes) for the elements from `first` on, which lie one after the other in `packed`: one at a
// time, with the bytes as a constant, or all of a run at once where they do so on the host, too.
template <class Work>
void Copy::copy_elements(char* host, char* packed, std::int64_t first, std::int64_t count, Work const& work) const {
  auto const step = modes_.empty() ? 1 : modes_[0].stride;
  with_size(bytes_, [&](auto bytes) {
    for_each_run(first, count, [&](std::int64_t offset, std::int64_t at, std::int64_t length) {
      char* const run = host + offset * bytes;
      char* const place = packed + at * bytes;
      if (step == 1) {
        work(run, place, length * bytes);
      } else {
        for (std::int64_t i = 0; i < length; ++i) work(run + i * step * bytes, place + i * bytes, bytes);
      }
    });
  });
}

void Copy::send(Memory const& memory, void const* host, void* device, Execution const& execution) const {
  auto* const from = const_cast<char*>(static_cast<char const*>(host));
  memory.send(device, elements_, bytes_, execution.host_threads, [&](void* to, std::int64_t first, std::int64_t count) {
    in_pieces(count, execution, [&](std::int64_t at, std::int64_t length) {
      copy_elements(from, static_cast<char*>(to) + at * bytes_, first + at, length,
                    [](char* x, char* packed, auto bytes) { std::memcpy(packed, x, static_cast<std::size_t>(bytes)); });
    });
  });
}

void Copy::fetch(Memory const& memory, void const* device, void* host, Execution const& execution) const {
  auto* const to = static_cast<char*>(host);
  auto const unpack = [&](void const* from, std::int64_t first, std::int64_t count) {
    in_pieces(count, execution, [&](std::int64_t at, std::int64_t length) {
      copy_elements(to, const_cast<char*>(static_cast<char const*>(from)) + at * bytes_, first + at, length,
                    [](char* x, char* packed, auto bytes) { std::memcpy(x, packed, static_cast<std::size_t>(bytes)); });
    });
  };
  memory.fetch(device, elements_, bytes_, execution.host_threads, unpack);
}

Staging::Staging(Geometry const& host) : geometry_(host), copies_(kRoles) {
  for (int i = 0; i < kRoles; ++i) {
    auto const role = static_cast<Role>(i);
    if (geometry_.has(role)) copies_[i].emplace(geometry_, role);
  }
}

Staging::OnDevice::OnDevice(Staging const& staging, Memory const& memory, Arguments const& host,
                            Execution const& execution)
    : staging_(staging), memory_(memory), host_(host), arguments_(host), execution_(execution) {
  try {
    // What is the result itself on the host is so on the GPU, and is read before it is written.
    bool result_is_read = false;
    auto const bring = [&](Role role, bool is_read) {
      Copy const& copy = *staging.copies_[static_cast<std::size_t>(role)];
      void*& there = arguments_.data[role];
      there = memory.allocate(static_cast<std::size_t>(copy.elements() * copy.element_bytes()));
      allocated_.push_back(there);
      if (is_read) copy.send(memory, host.data[role], there, execution);
    };
    for (Role const role : {Role::a, Role::b, Role::c, Role::bias, Role::residual}) {
      if (!staging.geometry_.has(role)) continue;
      if (host.data[role] == host.data[Role::d]) {
        result_is_read = true;
      } else {
        bring(role, true);
      }
    }
    bring(Role::d, result_is_read);
    for (Role const role : {Role::c, Role::bias, Role::residual}) {
      if (host.data[role] == host.data[Role::d]) arguments_.data[role] = arguments_.data[Role::d];
    }
  } catch (...) {
    for (void* const there : allocated_) memory_.release(there);
    throw;
  }
}

Staging::OnDevice::~OnDevice() {
  for (void* const there : allocated_) memory_.release(there);
}

void Staging::OnDevice::fetch() const {
  staging_.copies_[static_cast<std::size_t>(Role::d)]->fetch(memory_, arguments_.data[Role::d], host_.data[Role::d],
                                                             execution_);
}

}  // namespace cute_py::execution
