#pragma once

#include "kernels/common/params.hpp"
#include "kernels/permute/config.hpp"

namespace cute_py::kernels {

// The arguments of a copy.
template <class Config>
struct PermuteParams {
  static constexpr int partial_values = 0;
  static constexpr int split_tiles = 1;

  PermuteShape shape{};
  typename Config::Element const* from = nullptr;
  typename Config::Element* to = nullptr;
  Grid grid;

  PermuteParams(Geometry const& g, Schedule const&) {
    PermutePlan const plan(g, Config::bytes, PermuteLimits::of<Config::bytes>());
    grid.m = static_cast<unsigned>(plan.tiles());
    for (auto const& mode : plan.modes()) {
      shape.mode[shape.rank++] = {Divisor(static_cast<std::uint32_t>(mode.tiles())),
                                  static_cast<std::uint32_t>(mode.tile),
                                  static_cast<std::uint32_t>(mode.extent - mode.tile), mode.a, mode.d};
    }
    shape.a = way_of(plan.a(), &PermutePlan::Digit::a, kWarp);
    // Elements of a column of shared memory are w words apart: 32 / w threads, in different banks, go along it.
    shape.d = way_of(plan.d(), &PermutePlan::Digit::d, 4 * kWarp / std::max(plan.a().word_bytes, 4));
    shape.is_direct = plan.is_direct();
    shape.in_squares = plan.in_squares();
    shape.last_of_a = 1;
    for (auto const& mode : plan.modes()) {
      (mode.a < 0 ? shape.first_of_a : shape.last_of_a) += (mode.extent - 1) * mode.a;
    }
  }

  void bind(Arguments const& x) {
    from = static_cast<typename Config::Element const*>(x.data[Role::a]);
    to = static_cast<typename Config::Element*>(x.data[Role::d]);
  }

  template <class Launch>
  void for_each_grid(Launch const& launch) {
    launch(grid);
  }

  template <class Call>
  decltype(auto) apply(Call const& call) const {
    return call(shape, from, to);
  }

 private:
  static constexpr int kWarp = 32;

  // `fast` threads in a row, if a line is a multiple of them, go along a line.
  static PermuteShape::Way way_of(PermutePlan::Way const& planned, std::int64_t PermutePlan::Digit::* offset,
                                  int fast) {
    PermuteShape::Way way{};
    way.along = map_of(planned.along, offset);
    way.across = map_of(planned.across, offset);
    way.word_bytes = planned.word_bytes;
    way.window_bytes = planned.window_bytes;
    way.lines = static_cast<int>(planned.lines());
    way.line = static_cast<int>(planned.line());
    way.step = planned.along.size() == 1 ? static_cast<int>(planned.along[0].place) : 0;
    // Of the first and of the last window, all elements but one may not be of the line.
    int const window = planned.window_bytes / Config::bytes;
    int const width =
        window != 0 ? (way.line + 2 * (window - 1)) / window : way.line * Config::bytes / planned.word_bytes;
    bool const in_blocks = width % fast == 0 && width * (kWarp / fast) <= Config::threads;
    way.block = Divisor(static_cast<std::uint32_t>(in_blocks ? fast : width));
    way.blocks = Divisor(static_cast<std::uint32_t>(in_blocks ? width / fast : 1));
    way.block_height = in_blocks ? kWarp / fast : 1;
    way.height = Config::threads / (width * way.block_height) * way.block_height;
    return way;
  }

  static ModeMap<2> map_of(std::vector<PermutePlan::Digit> const& digits, std::int64_t PermutePlan::Digit::* offset) {
    ModeMap<2> map;
    map.rank = static_cast<int>(digits.size());
    for (int i = 0; i < map.rank; ++i) {
      auto const& digit = digits[static_cast<std::size_t>(i)];
      map.extent[i] = Divisor(static_cast<std::uint32_t>(digit.extent));
      map.stride[0][i] = digit.*offset;
      map.stride[1][i] = digit.place;
    }
    return map;
  }
};

}  // namespace cute_py::kernels
