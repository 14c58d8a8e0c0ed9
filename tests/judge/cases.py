"""Cases for the judge: an expression in C++ and the same in Python."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import cute_py.layout as cl
from cute_py import LayoutError
from cute_py.layout import ComposedLayout, Int, Layout, ScaledBasis, Swizzle

LAYOUTS = (Layout, ComposedLayout, Swizzle)


@dataclass(frozen=True)
class Case:
    """One expression, and what the engine makes of it."""

    operation: str
    cpp: str
    result: Any

    @property
    def text(self) -> str:
        return cl.notation(self.result)

    def values(self, limit: int) -> list[str]:
        """Return the first values of a layout, in the order of its coordinates; nothing for other results."""
        if not isinstance(self.result, (Layout, ComposedLayout)):
            return []
        return [cl.notation(self.result(i)) for i in range(min(self.result.size, limit))]


# ---- Python values as C++ expressions


def cpp(value: Any, tuple_name: str = "make_tuple") -> str:
    """Return an expression for a layout, a tiler, an integer or `_`."""
    if value is None:
        return "_"
    if isinstance(value, LAYOUTS):
        return cpp_layout(value)
    if isinstance(value, (tuple, list)):
        return f"{tuple_name}({','.join(cpp(v, tuple_name) for v in value)})"
    if isinstance(value, ScaledBasis):
        modes = ",".join(map(str, value.modes))
        scalar = f"C<{int(value.value)}>" if isinstance(value.value, Int) else "int"
        return f"ScaledBasis<{scalar},{modes}>{{{'' if isinstance(value.value, Int) else value.value}}}"
    if isinstance(value, Int):
        return f"Int<{int(value)}>{{}}"
    return str(value)


def cpp_layout(value: Any) -> str:
    text = value.to_cpp()
    if "int" not in text.replace("Int", ""):
        return f"{text}{{}}"
    return f"make_layout({cpp(value.shape, 'make_shape')},{cpp(value.stride, 'make_stride')})"


def static(value: Any) -> Any:
    """Make every integer of a tuple static."""
    if isinstance(value, (tuple, list)):
        return tuple(static(v) for v in value)
    return value if value is None or isinstance(value, (*LAYOUTS, ScaledBasis)) else Int(value)


# ---- Random layouts


class Maker:
    """Random static layouts and tilers that CuTe's static checks accept."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def shape(self, depth: int = 2, max_rank: int = 3) -> Any:
        if depth == 0 or self.random.random() < 0.45:
            return Int(self.random.choice([1, 2, 2, 2, 3, 4, 4, 4, 5, 6, 8, 8, 16]))
        return tuple(self.shape(depth - 1, max_rank) for _ in range(self.random.randint(1, max_rank)))

    def flat_shape(self, rank: int) -> tuple[Int, ...]:
        return tuple(Int(self.random.choice([1, 2, 2, 3, 4, 4, 6, 8, 8, 16])) for _ in range(rank))

    def layout(self, depth: int = 2, max_rank: int = 3, gaps: bool = True) -> Layout:
        """Return a layout that is compact in some order of its modes, perhaps with zero strides and gaps."""
        shape = self.shape(depth, max_rank)
        extents = leaves(shape)
        strides = [Int(0)] * len(extents)
        step = self.random.choice([1, 1, 1, 2, 3, 4]) if gaps else 1
        for i in self.random.sample(range(len(extents)), len(extents)):
            if extents[i] == 1:
                continue
            if gaps and self.random.random() < 0.12:
                continue  # a stride of 0
            strides[i] = Int(step)
            step *= extents[i] * (self.random.choice([1, 1, 1, 2, 3]) if gaps else 1)
        if step >= 2**30:  # CuTe's static integers are ints
            return self.layout(depth, max_rank, gaps)
        return Layout(shape, unflatten(iter(strides), shape))

    def compact(self, size_bits: int) -> Layout:
        """Return a compact layout of powers of two."""
        bits = self.random.randint(1, size_bits)
        extents = []
        while bits > 0:
            take = self.random.randint(1, bits)
            extents.append(Int(1 << take))
            bits -= take
        shape: Any = tuple(extents) if len(extents) > 1 or self.random.random() < 0.5 else extents[0]
        order = list(range(len(extents)))
        self.random.shuffle(order)
        return cl.make_ordered_layout(shape, tuple(Int(o) for o in order) if isinstance(shape, tuple) else Int(0))

    def tiler(self, layout: Layout, depth: int = 0) -> Any:
        """Return a tiler with as many modes as the layout or fewer."""
        kind = self.random.random()
        if kind < 0.35 or depth == 2:
            return Int(self.random.choice([1, 2, 3, 4, 8]))
        if kind < 0.6:
            return self.layout(1, 2)
        if isinstance(layout.shape, tuple):
            rank = self.random.randint(1, layout.rank)
            return tuple(
                None if self.random.random() < 0.12 and depth == 0 else self.tiler(layout[i], depth + 1)
                for i in range(rank)
            )
        return Int(self.random.choice([1, 2, 4]))

    def swizzle(self) -> Swizzle:
        bits = self.random.randint(0, 3)
        shift = self.random.randint(max(bits, 1), 4) * self.random.choice([1, 1, -1])
        return Swizzle(bits, self.random.randint(0, 4), shift)

    def coord(self, shape: Any, open_share: float = 0.0) -> Any:
        """Return a coordinate of dynamic integers, some of it left open."""
        if self.random.random() < open_share:
            return None
        if isinstance(shape, tuple) and self.random.random() < 0.8:
            return tuple(self.coord(s, open_share) for s in shape)
        return self.random.randrange(cl.size(shape))


def leaves(shape: Any) -> list[Any]:
    return [leaf for s in shape for leaf in leaves(s)] if isinstance(shape, tuple) else [shape]


def unflatten(values: Iterator[Any], shape: Any) -> Any:
    return tuple(unflatten(values, s) for s in shape) if isinstance(shape, tuple) else next(values)


def has_open(coord: Any) -> bool:
    return any(has_open(c) for c in coord) if isinstance(coord, tuple) else coord is None


# ---- Operations


def call(operation: str, *arguments: Any, cpp_name: str = "", templates: str = "") -> Case:
    """Apply an operation that bears the same name here and there."""
    result = getattr(cl, operation)(*arguments)
    return Case(operation, f"{cpp_name or operation}{templates}({','.join(cpp(a) for a in arguments)})", result)


def with_template(operation: str, layout: Any, *numbers: int) -> Case:
    """Apply an operation whose integers are template arguments in C++."""
    result = getattr(cl, operation)(layout, *numbers)
    return Case(operation, f"{operation}<{','.join(map(str, numbers))}>({cpp(layout)})", result)


def profile_of(maker: Maker, layout: Layout) -> Any:
    rank = maker.random.randint(1, layout.rank)
    return tuple(Int(1) for _ in range(rank)) if isinstance(layout.shape, tuple) else Int(1)


def random_case(operation: str, maker: Maker) -> Case:
    """Make one case; raises LayoutError where the arguments do not fit one another."""
    rnd = maker.random
    if operation in {"flatten", "coalesce", "filter", "filter_zeros", "nullspace", "make_layout_like"}:
        layout = maker.layout(3)
        if operation in {"coalesce", "filter"} and rnd.random() < 0.4:
            return call(operation, layout, profile_of(maker, layout))
        return call(operation, layout)
    if operation in {"right_inverse", "left_inverse"}:
        layout = maker.layout(gaps=rnd.random() < 0.5)
        return call(operation, layout)
    if operation == "make_fragment_like":
        return call(operation, maker.layout(2))
    if operation == "make_layout":
        shape = maker.shape(3)
        if rnd.random() < 0.5:
            return Case(operation, f"make_layout({cpp(shape)},LayoutRight{{}})", Layout(shape, cl.LayoutRight))
        return call(operation, shape)
    if operation == "make_identity_layout":
        return call(operation, maker.shape(3))
    if operation == "make_ordered_layout":
        shape = maker.flat_shape(rnd.randint(2, 4))
        order = tuple(Int(o) for o in rnd.sample(range(6), len(shape)))
        return call(operation, shape, order)
    if operation == "composition":
        return composition_case(maker)
    if operation == "complement":
        layout = maker.layout()
        if rnd.random() < 0.3:
            return call(operation, layout)
        return call(operation, layout, static(rnd.choice([1, 2, 7, 24, 64, 460, (2, 32), (4, (4, 8))])))
    if operation in {"logical_divide", "zipped_divide", "tiled_divide", "flat_divide"}:
        layout = maker.layout(2)
        tiler = maker.tiler(layout)
        # CuTe's tiled_divide of a mode that `_` keeps whole needs a pair there.
        return call(operation, layout, tiler)
    if operation in {"logical_product", "zipped_product", "tiled_product", "flat_product"}:
        block = maker.layout(1)
        return call(operation, block, maker.tiler(block))
    if operation in {"blocked_product", "raked_product"}:
        return call(operation, maker.layout(1, gaps=False), maker.layout(1, gaps=False))
    if operation == "tile_to_shape":
        block = maker.layout(1, 3, gaps=False)
        shape = tuple(Int(cl.size(block, i) * rnd.choice([1, 2, 3, 4])) for i in range(block.rank))
        shape += tuple(Int(rnd.choice([1, 2, 4])) for _ in range(rnd.randint(0, 1)))
        if rnd.random() < 0.5:
            return call(operation, block, shape, tuple(Int(o) for o in rnd.sample(range(len(shape)), len(shape))))
        return call(operation, block, shape)
    if operation in {"upcast", "downcast"}:
        return with_template(operation, maker.layout(2), rnd.choice([2, 4, 8]))
    if operation in {"max_common_vector", "max_common_layout"}:
        return call(operation, maker.compact(6), maker.compact(6))
    if operation in {"get", "select", "take", "group", "append", "prepend", "replace", "zip"}:
        return mode_case(operation, maker)
    if operation in {"size", "rank", "depth", "cosize", "coshape"}:
        layout = maker.layout(3)
        result = getattr(cl, operation)(layout)
        return Case(operation, f"{operation}({cpp(layout)})", Int(result) if operation in {"rank", "depth"} else result)
    if operation in {"crd2idx", "idx2crd", "crd2crd", "slice_", "dice", "ceil_div", "congruent", "compatible"}:
        return coordinate_case(operation, maker)
    if operation in TUPLE_FUNCTIONS:
        return tuple_case(operation, maker)
    return swizzle_case(operation, maker)


def composition_case(maker: Maker) -> Case:
    rnd = maker.random
    kind = rnd.random()
    if kind < 0.45:
        return call("composition", maker.layout(2), maker.layout(2))
    if kind < 0.6:
        return call("composition", maker.compact(8), maker.compact(6))
    if kind < 0.8:
        layout = maker.layout(2)
        return call("composition", layout, maker.tiler(layout))
    if kind < 0.9:  # coordinate strides on the right
        shape = maker.flat_shape(2)
        basis = cl.make_identity_layout(shape)
        rhs = cl.composition(
            basis, (Layout(Int(rnd.choice([1, 2, 4])), Int(rnd.choice([1, 2]))), Int(rnd.choice([1, 2, 3])))
        )
        return call("composition", Layout(shape, (Int(rnd.choice([1, 16])), Int(rnd.choice([16, 1, 0])))), rhs)
    layout = maker.layout(1)  # coordinate strides on the left
    return call("composition", cl.make_identity_layout(maker.shape(2)), layout)


def mode_case(operation: str, maker: Maker) -> Case:
    rnd = maker.random
    layout = maker.layout(2)
    if operation == "zip":
        rank = rnd.randint(2, 3)
        layout = Layout(tuple(maker.flat_shape(2) for _ in range(rank)))
        return call("zip", layout)
    if not isinstance(layout.shape, tuple):
        layout = Layout((layout.shape, Int(4)), (layout.stride, Int(64)))
    if operation == "get":
        return with_template("get", layout, rnd.randrange(layout.rank))
    if operation == "select":
        return with_template("select", layout, *rnd.choices(range(layout.rank), k=rnd.randint(1, 3)))
    if operation in {"take", "group"}:
        begin = rnd.randrange(layout.rank)
        return with_template(operation, layout, begin, rnd.randint(begin + 1, layout.rank))
    other = maker.layout(1)
    if operation == "replace":
        at = rnd.randrange(layout.rank)
        return Case(operation, f"replace<{at}>({cpp(layout)},{cpp(other)})", cl.replace(layout, at, other))
    rank = layout.rank + rnd.randint(0, 2)
    if rnd.random() < 0.5:
        return with_template(operation, layout, rank)
    result = getattr(cl, operation)(layout, rank, other)
    return Case(operation, f"{operation}<{rank}>({cpp(layout)},{cpp(other)})", result)


def coordinate_case(operation: str, maker: Maker) -> Case:
    rnd = maker.random
    if operation in {"congruent", "compatible"}:
        a, b = maker.layout(2).shape, maker.layout(2).shape
        if rnd.random() < 0.6:
            b = rnd.choice([a, cl.size(a), cl.product_each(a)])
        return Case(operation, f"C<bool({operation}({cpp(a)},{cpp(b)}))>{{}}", Int(getattr(cl, operation)(a, b)))
    layout = maker.layout(3)
    if operation == "crd2idx":
        coord = maker.coord(layout.shape)
        return Case(operation, f"int(crd2idx({cpp(coord)},{cpp(layout)}))", cl.crd2idx(coord, layout))
    if operation == "idx2crd":
        index = rnd.randrange(layout.size)
        return Case(operation, f"judge::plain(idx2crd({index},{cpp(layout.shape)}))", cl.idx2crd(index, layout.shape))
    if operation == "crd2crd":
        to = rnd.choice([cl.product_each(layout.shape), layout.shape, cl.size(layout)])
        coord = (
            maker.coord(cl.product_each(layout.shape))
            if isinstance(layout.shape, tuple)
            else rnd.randrange(layout.size)
        )
        cpp_text = f"judge::plain(crd2crd({cpp(coord)},{cpp(layout.shape)},{cpp(to)}))"
        return Case(operation, cpp_text, cl.crd2crd(coord, layout.shape, to))
    if operation == "ceil_div":
        shape = maker.shape(2)
        return call(operation, shape, Int(rnd.choice([1, 2, 3, 4, 8])))
    coord = maker.coord(layout.shape, 0.4)
    if not has_open(coord):
        coord = None if not isinstance(coord, tuple) else (None, *coord[1:])
    if operation == "slice_":
        return Case(operation, f"slice({cpp(coord)},{cpp(layout)})", cl.slice_(coord, layout))
    if not isinstance(coord, tuple) or all(c is None or has_open(c) for c in coord):
        coord = (1, *(None for _ in range(layout.rank - 1)))
        layout = Layout((Int(4), *(Int(2) for _ in range(layout.rank - 1))))
    return call(operation, coord, layout)


# What takes tuples of integers, and its name in C++.
TUPLE_FUNCTIONS = {
    "shape_div": "shape_div",
    "round_up": "round_up",
    "evenly_divides": "evenly_divides",
    "elem_scale": "elem_scale",
    "inner_product": "inner_product",
    "colex_less": "colex_less",
    "lex_less": "lex_less",
    "product": "product",
    "tuple_max": "max",
    "tuple_sum": "sum",
    "tuple_gcd": "gcd",
    "compact_col_major": "compact_col_major",
    "compact_row_major": "compact_row_major",
    "make_basis_like": "make_basis_like",
    "repeat_like": "repeat_like",
    "product_like": "product_like",
    "static_coordinates": "idx2crd",
}


def tuple_case(operation: str, maker: Maker) -> Case:
    rnd = maker.random
    name = TUPLE_FUNCTIONS[operation]
    shape = maker.shape(3)
    if operation == "static_coordinates":
        index = Int(rnd.randrange(cl.size(shape)))
        return Case(operation, f"idx2crd({cpp(index)},{cpp(shape)})", cl.idx2crd(index, shape))
    if operation in {"product", "tuple_max", "tuple_sum", "tuple_gcd", "make_basis_like"}:
        return call(operation, shape if isinstance(shape, tuple) else (shape, Int(6)), cpp_name=name)
    if operation in {"compact_col_major", "compact_row_major"}:
        return call(operation, shape, *([Int(rnd.choice([2, 3, 8]))] if rnd.random() < 0.4 else []))
    if operation == "repeat_like":
        return call(operation, shape, Int(rnd.randint(0, 9)))
    if operation == "product_like":
        return call(operation, shape, pruned(shape, rnd))
    other = unflatten(iter([Int(rnd.choice([1, 2, 3, 4, 6, 8])) for _ in leaves(shape)]), shape)
    if operation in {"colex_less", "lex_less", "evenly_divides"}:
        if operation == "evenly_divides":
            other = pruned_tiler(shape, rnd)
        result = Int(getattr(cl, operation)(shape, other))
        return Case(operation, f"C<bool({name}({cpp(shape)},{cpp(other)}))>{{}}", result)
    if operation == "shape_div" and rnd.random() < 0.5:
        other = Int(rnd.choice([1, 2, 4, 8, 16]))
    if operation == "elem_scale":
        other = unflatten(iter([maker.shape(1) for _ in leaves(shape)]), shape)
    return call(operation, shape, other)


def pruned(shape: Any, rnd: random.Random) -> Any:
    """Return a profile that ends where the shape goes on, here and there."""
    return tuple(pruned(s, rnd) for s in shape) if isinstance(shape, tuple) and rnd.random() < 0.7 else Int(1)


def pruned_tiler(shape: Any, rnd: random.Random) -> Any:
    if isinstance(shape, tuple) and rnd.random() < 0.7:
        return tuple(pruned_tiler(s, rnd) for s in shape[: rnd.randint(1, len(shape))])
    return Int(rnd.choice([1, 2, 3, 4, 8]))


def swizzled(maker: Maker) -> ComposedLayout:
    while True:
        swizzle = maker.swizzle()
        if swizzle.bits:
            rows, columns = 1 << maker.random.randint(1, 4), 1 << maker.random.randint(2, 7)
            stride = (Int(columns), Int(1)) if maker.random.random() < 0.5 else (Int(1), Int(rows))
            return cl.composition(swizzle, Layout((Int(rows), Int(columns)), stride))


def swizzle_case(operation: str, maker: Maker) -> Case:
    rnd = maker.random
    if operation == "swizzle":
        a = maker.swizzle()
        name = rnd.choice(["upcast", "downcast"])
        return with_template(name, a, rnd.choice([1, 2, 4]))
    layout = swizzled(maker)
    if operation == "composed_slice":
        i, j = rnd.randrange(cl.size(layout, 0)), rnd.randrange(cl.size(layout, 1))
        coord = rnd.choice([(static(i), None), (None, static(j))])
        return Case(operation, f"slice({cpp(coord)},{cpp(layout)})", cl.slice_(coord, layout))
    if operation == "composed_divide":
        tiler = (Int(rnd.choice([1, 2])), Int(rnd.choice([1, 2, 4])))
        return call(rnd.choice(["zipped_divide", "tiled_divide", "logical_divide", "flat_divide"]), layout, tiler)
    if operation == "composed_tile_to_shape":
        shape = tuple(Int(cl.size(layout, i) * rnd.choice([1, 2, 4])) for i in range(2))
        return call("tile_to_shape", layout, shape)
    if operation == "composed_inverse":
        case = call(rnd.choice(["right_inverse", "left_inverse"]), layout)
        if not isinstance(case.result.outer, Swizzle):
            raise LayoutError("the headers do not compile an inverse that is no swizzle in front of a layout")
        return case
    if operation == "composed_inverse_at":  # behind an offset
        shifted = cl.make_composed_layout(layout.outer, Int(rnd.choice([1, 4, 12, 64, 1000])), layout.inner)
        index = shifted(rnd.randrange(layout.size))
        return Case(operation, f"left_inverse({cpp(shifted)})({index})", cl.left_inverse(shifted)(index))
    if operation == "composed_cast":
        return with_template(rnd.choice(["upcast", "downcast"]), layout, 2)
    assert operation == "composed_coalesce", operation
    return call("coalesce", layout)


# How many cases of each operation the judge looks at.
COUNTS: dict[str, int] = {
    "composition": 1160,
    "complement": 420,
    "coalesce": 300,
    "filter": 170,
    "filter_zeros": 70,
    "flatten": 40,
    "nullspace": 90,
    "right_inverse": 300,
    "left_inverse": 300,
    "max_common_vector": 120,
    "max_common_layout": 120,
    "logical_divide": 420,
    "zipped_divide": 300,
    "tiled_divide": 170,
    "flat_divide": 170,
    "logical_product": 300,
    "zipped_product": 120,
    "tiled_product": 90,
    "flat_product": 90,
    "blocked_product": 140,
    "raked_product": 140,
    "tile_to_shape": 140,
    "upcast": 120,
    "downcast": 90,
    "make_layout": 90,
    "make_ordered_layout": 90,
    "make_layout_like": 90,
    "make_fragment_like": 70,
    "make_identity_layout": 40,
    "get": 30,
    "select": 40,
    "take": 30,
    "group": 40,
    "append": 30,
    "prepend": 30,
    "replace": 30,
    "zip": 30,
    "size": 30,
    "rank": 30,
    "depth": 30,
    "cosize": 70,
    "coshape": 40,
    "crd2idx": 170,
    "idx2crd": 120,
    "crd2crd": 70,
    "slice_": 90,
    "dice": 40,
    "ceil_div": 40,
    "congruent": 30,
    "compatible": 40,
    "swizzle": 40,
    "composed_slice": 170,
    "composed_divide": 70,
    "composed_tile_to_shape": 40,
    "composed_inverse": 40,
    "composed_inverse_at": 40,
    "composed_cast": 40,
    "composed_coalesce": 30,
    "shape_div": 90,
    "round_up": 50,
    "evenly_divides": 60,
    "elem_scale": 60,
    "inner_product": 60,
    "colex_less": 60,
    "lex_less": 60,
    "product": 40,
    "tuple_max": 40,
    "tuple_sum": 40,
    "tuple_gcd": 40,
    "compact_col_major": 60,
    "compact_row_major": 60,
    "make_basis_like": 40,
    "repeat_like": 30,
    "product_like": 60,
    "static_coordinates": 90,
}


def random_cases(seed: int, share: float = 1) -> list[Case]:
    """Return distinct cases, as many of each operation as `COUNTS` says, or a share of them."""
    cases: dict[str, Case] = {}
    for number, (operation, count) in enumerate(COUNTS.items()):
        maker = Maker(seed * 1000 + number)
        found = tried = 0
        count = round(count * share)
        while found < count:
            tried += 1
            assert tried < 60 * count + 2000, f"{operation}: {found} of {count} cases found"
            try:
                case = random_case(operation, maker)
            except LayoutError:
                continue
            if case.cpp not in cases:
                cases[case.cpp] = case
                found += 1
    return list(cases.values())
