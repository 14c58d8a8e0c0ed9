#include "layout/steps.hpp"

#include <initializer_list>

#include "base/errors.hpp"
#include "layout/algebra.hpp"
#include "layout/composer.hpp"
#include "layout/modes.hpp"

namespace cute_py::layout {
namespace {

// A mode of one extent.
struct Mode {
  Integer shape;
  Integer stride;
};

Mode mode_at(FlatLayout const& f, std::size_t i) { return {f.shape[i], f.stride[i]}; }

Integer end_of(Mode const& mode) { return mode.shape * mode.stride; }

// What stands in a step.
struct Value {
  Value(char const* n, Mode const& m)
      : name(n), value(Tiler::of(Layout::trusted(IntTuple(m.shape), IntTuple(m.stride)))) {}
  Value(char const* n, Integer const& i) : name(n), value(Tiler::of(i)) {}
  Value(char const* n, IntTuple const& t) : name(n), value(Tiler::of(t)) {}
  Value(char const* n, Layout const& l) : name(n), value(Tiler::of(l)) {}
  Value(char const* n, Tiler const& t) : name(n), value(t) {}

  char const* name;
  Tiler value;
};

// Collects the steps of one operation.
class Notes {
 public:
  void operator()(char const* kind, std::initializer_list<Value> values) {
    steps_.push_back({kind, {}});
    for (auto const& v : values) steps_.back().values.emplace_back(v.name, v.value);
  }

  Steps steps() && { return std::move(steps_); }

 private:
  Steps steps_;
};

// The steps that a replay notes until it throws what the operation throws.
template <class Replay>
Steps steps_of(Replay const& replay) {
  Notes note;
  try {
    replay(note);
  } catch (LayoutError const&) {
    // whoever calls the operation sees it
  }
  return std::move(note).steps();
}

// What a tuple does to each mode, by an operation on one mode.
void note_modes(Notes& note, Layout const& layout, Tiler const& tiler,
                Layout (*operation)(Layout const&, Tiler const&)) {
  if (tiler.rank() > layout.rank()) return;
  for (int i = 0; i < tiler.rank(); ++i) {
    Layout const mode = layout[i];
    Tiler const& of_mode = tiler.elements[static_cast<std::size_t>(i)];
    note("by mode", {{"index", dynamic(i)}, {"mode", mode}, {"tiler", of_mode}, {"result", operation(mode, of_mode)}});
  }
}

// How a mode of b goes through the digits of a, up to where a does not divide by it.
void note_digits(Notes& note, Layout const& digits, Mode const& mode) {
  Mode rest{mode.shape, {mode.stride.value, {}, mode.stride.is_static}};
  if (rest.stride.value == 0) return note("stay", {{"result", rest}});
  IntTuple const& strides = digits.stride();
  if (!digits.shape().is_tuple()) {
    Integer const by = strides.leaf();
    return note("scale", {{"step", rest.stride}, {"by", by}, {"result", Mode{rest.shape, rest.stride * by}}});
  }
  bool taken = false;
  for (int i = 0; i + 1 < digits.rank(); ++i) {
    Mode const digit{digits.shape()[i].leaf(), strides[i].leaf()};
    Integer const step = rest.stride;
    Integer const magnitude = abs(step);
    if (!rest.shape.is(1) && magnitude.value >= digit.shape.value && magnitude.value % digit.shape.value != 0) {
      return note("no multiple", {{"digit", digit}, {"step", magnitude}});
    }
    Integer const fit = ceil_div(digit.shape, magnitude);
    rest.stride = ceil_div(magnitude, digit.shape) * sign(step);
    if (rest.shape.is(1)) continue;
    if (fit.is(1)) {
      note("over", {{"digit", digit}, {"step", step}, {"left", rest.stride}});
      continue;
    }
    Integer const piece = min(fit, rest.shape);
    if (rest.shape.value % piece.value != 0) {
      return note("no fit", {{"digit", digit}, {"step", step}, {"of", rest.shape}, {"fit", piece}});
    }
    note("take", {{"digit", digit}, {"of", rest.shape}, {"step", step}, {"result", Mode{piece, step * digit.stride}}});
    rest.shape = rest.shape / piece;
    taken = true;
  }
  Integer const by = strides[digits.rank() - 1].leaf();
  Mode const last{rest.shape, rest.stride * by};
  if (!taken || !rest.shape.is(1)) note("last", {{"by", by}, {"step", rest.stride}, {"result", last}});
}

void note_composition(Notes& note, Layout const& a, Layout const& b) {
  Composer composer(a, b);
  FlatLayout const modes = flat(b);
  for (std::size_t i = 0; i < modes.shape.size(); ++i) {
    Mode const mode = mode_at(modes, i);
    Layout const digits = composer.digits(mode.stride);
    note("mode", {{"mode", mode}, {"digits", digits}});
    note_digits(note, digits, mode);
    note("together", {{"result", composer.compose_mode(mode.shape, mode.stride)}});
  }
  if (!composer.is_proven()) note("check", {{"size", b.size()}});
}

void note_complement(Notes& note, Layout const& layout, IntTuple const& cotarget) {
  require_elements("complement", layout);
  refuse_basis("complement", layout);
  FlatLayout const filtered = filtered_modes(layout);
  note("filtered", {{"layout", from_modes(filtered)}});
  if (filtered.stride.size() == 1 && filtered.stride[0].value == 0) {
    return note("nothing", {{"result", complement(layout, cotarget)}});
  }
  Integer reached = fixed(1);
  for (std::size_t const i : ascending(filtered.stride)) {
    Mode const mode = mode_at(filtered, i);
    if (mode.stride.value < 0) return note("negative", {{"mode", mode}});
    Mode const gap{mode.stride / reached, reached};
    if (gap.shape.value == 0) return note("interleave", {{"mode", mode}, {"reached", reached}});
    reached = end_of(mode);
    note("gap", {{"mode", mode}, {"result", gap}, {"reached", reached}});
  }
  IntTuple const rest = coalesced_shape(ceil_div(cotarget, IntTuple(reached)));
  note("above", {{"target", cotarget}, {"reached", reached}, {"rest", rest}});
  note("gaps", {{"layout", from_modes(gaps_between(filtered, cotarget, layout))}});
}

}  // namespace

Steps coalesce_steps(Layout const& layout) {
  return steps_of([&](Notes& note) {
    FlatLayout const f = flat(layout);
    if (f.shape.empty()) return;
    std::size_t i = f.shape.size() - 1;
    Mode head = mode_at(f, i);
    bool is_alone = true;  // no mode stays behind the head
    note("start", {{"mode", head}});
    while (i-- > 0) {
      Mode const mode = mode_at(f, i);
      if (mode.shape.is(1)) {
        note("vanish", {{"mode", mode}});
      } else if (head.shape.is(1)) {
        note("give way", {{"head", head}, {"mode", mode}});
        head = mode;
      } else if (end_of(mode) == head.stride) {
        Mode const both{mode.shape * head.shape, mode.stride};
        note("merge", {{"mode", mode}, {"head", head}, {"result", both}});
        head = both;
      } else {
        note("stay", {{"mode", mode}, {"head", head}});
        head = mode;
        is_alone = false;
      }
    }
    if (is_alone && head.shape.is(1) && !head.stride.is(0)) note("alone", {{"mode", head}});
  });
}

Steps composition_steps(Layout const& a, Tiler const& b) {
  return steps_of([&](Notes& note) {
    if (b.kind == Tiler::Kind::tuple) return note_modes(note, a, b, &composition);
    if (b.kind == Tiler::Kind::layout) return note_composition(note, a, b.layout);
    if (b.kind == Tiler::Kind::integer) note_composition(note, a, Layout(IntTuple(b.integer), IntTuple(fixed(1))));
  });
}

Steps complement_steps(Layout const& layout) {
  return steps_of([&](Notes& note) {
    Layout const filtered = filter(layout);
    note_complement(note, filtered, IntTuple(cosize(filtered)));
  });
}

Steps complement_steps(Layout const& layout, IntTuple const& cotarget) {
  return steps_of([&](Notes& note) { note_complement(note, layout, cotarget); });
}

Steps right_inverse_steps(Layout const& layout) {
  return steps_of([&](Notes& note) {
    require_elements("right_inverse", layout);
    refuse_basis("right_inverse", layout);
    FlatLayout const f = merged(flat(layout));
    note("coalesced", {{"layout", from_modes(f)}});
    std::vector<Integer> const below = prefix_product(f.shape);
    Integer reached = fixed(1);
    for (std::size_t const i : sorted_by_stride(f.stride)) {
      Mode const mode = mode_at(f, i);
      if (mode.stride.value != reached.value) {
        note("skip", {{"mode", mode}, {"reached", reached}});
        continue;
      }
      note("take", {{"mode", mode}, {"reached", reached}, {"result", Mode{mode.shape, below[i]}}});
      reached = end_of(mode);
    }
  });
}

Steps left_inverse_steps(Layout const& layout) {
  return steps_of([&](Notes& note) {
    require_elements("left_inverse", layout);
    refuse_basis("left_inverse", layout);
    FlatLayout const f = merged(flat(layout));
    note("coalesced", {{"layout", from_modes(f)}});
    std::vector<Integer> const below = prefix_product(f.shape);
    Integer reached = fixed(1);
    Integer stride = fixed(0);
    auto const order = sorted_by_stride(f.stride);
    for (std::size_t const i : order) {
      Mode const mode = mode_at(f, i);
      if (mode.stride.value == 0) continue;
      if (mode.stride.value < 0 || mode.stride.value % reached.value != 0) return;
      end_of(mode);  // throws where it does not fit in 64 bits
      Mode const gap{mode.stride / reached, stride};
      note("below", {{"mode", mode}, {"reached", reached}, {"result", gap}, {"next", below[i]}});
      stride = below[i];
      reached = reached * gap.shape;
    }
    note("last", {{"result", Mode{f.shape[order.back()], stride}}});
  });
}

Steps logical_divide_steps(Layout const& layout, Tiler const& tiler) {
  return steps_of([&](Notes& note) {
    if (tiler.kind == Tiler::Kind::any) return;
    if (tiler.kind == Tiler::Kind::tuple) return note_modes(note, layout, tiler, &logical_divide);
    Layout const tile = tiler.kind == Tiler::Kind::layout ? tiler.layout : Layout(IntTuple(tiler.integer));
    require_elements("logical_divide", layout);
    require_elements("logical_divide", tile);
    IntTuple const target = coalesce(layout).shape();
    Layout const rest = complement(tile, target);
    note("divide", {{"tile", tile}, {"target", target}, {"rest", rest}, {"both", make_layout({tile, rest})}});
  });
}

Steps logical_product_steps(Layout const& block, Tiler const& tiler) {
  return steps_of([&](Notes& note) {
    if (tiler.kind == Tiler::Kind::any) return;
    if (tiler.kind == Tiler::Kind::tuple) return note_modes(note, block, tiler, &logical_product);
    Layout const copies = tiler.kind == Tiler::Kind::layout ? tiler.layout : Layout(IntTuple(tiler.integer));
    require_elements("logical_product", block);
    require_elements("logical_product", copies);
    Integer const reach = block.size() * cosize(copies);
    Layout const free = complement(block, IntTuple(reach));
    note("product", {{"size", block.size()}, {"cosize", cosize(copies)}, {"reach", reach}, {"free", free}});
    note("copies", {{"result", composition(free, copies)}});
  });
}

}  // namespace cute_py::layout
