#pragma once

// The docstrings of the layout algebra: what each function returns, its law, and what it refuses.
namespace cute_py::bindings::docs {

inline constexpr char const* make_layout = R"doc(make_layout(shape, stride=None) or make_layout(layout, layout, ...)

A layout from a shape and a stride, column-major without one, or one whose modes are the given layouts.

>>> print(make_layout((4, 8)), make_layout((4, 8), LayoutRight), make_layout(Layout(4), Layout(8, 4)))
(4,8):(_1,4) (4,8):(8,_1) (4,8):(_1,4))doc";

inline constexpr char const* make_ordered_layout = R"doc(make_ordered_layout(shape, order)

The compact layout of a shape whose modes are ordered by ascending `order`, or LayoutLeft or LayoutRight.

>>> print(make_ordered_layout((2, 3, 4), (2, 0, 1)))
(2,3,4):(12,_1,3))doc";

inline constexpr char const* make_layout_like = R"doc(make_layout_like(layout)

The compact layout of the same shape whose strides are in the same order. Strides of 0 stay.

>>> print(make_layout_like(Layout("(2,3,4):(0,40,10)")))
(2,3,4):(_0,4,_1))doc";

inline constexpr char const* make_fragment_like = R"doc(make_fragment_like(layout)

The compact layout of the registers that hold such a tensor: mode 0 first, the others in the order of their strides.)doc";

inline constexpr char const* make_identity_layout = R"doc(make_identity_layout(shape)

The layout that maps a coordinate to itself: its strides are basis elements.

>>> make_identity_layout((4, 5))(2, 3)
(2, 3))doc";

inline constexpr char const* make_composed_layout = R"doc(make_composed_layout(outer, offset, inner)

c -> outer(offset + inner(c)), evaluated as it stands. The outer function is a Swizzle or any layout, the inner one any layout;
either may be composed itself.

>>> make_composed_layout(Layout("(6,2):(1,7)"), 0, Layout("(3,2):(2,3)"))(2, 1)
8)doc";

inline constexpr char const* make_swizzle = R"doc(make_swizzle(y, z)

The swizzle that changes the bits `z` by the bits `y`. Raises LayoutError unless each is one run of as many bits.

>>> print(make_swizzle(0b11000000, 0b00000110))
Sw<2,1,5>)doc";

inline constexpr char const* rank = R"doc(rank(x, *modes)

The number of modes of a shape or a layout, or of one of its modes; 1 of an integer.)doc";

inline constexpr char const* depth = R"doc(depth(x, *modes)

The levels of nesting of a shape or a layout; 0 of an integer.)doc";

inline constexpr char const* size = R"doc(size(x, *modes)

The number of elements of a shape or a layout, or of one of its modes: the product of the extents.)doc";

inline constexpr char const* shape = R"doc(shape(x, *modes)

The shape of a layout, or of one of its modes.)doc";

inline constexpr char const* stride = R"doc(stride(layout, *modes)

The strides of a layout, or of one of its modes.)doc";

inline constexpr char const* cosize = R"doc(cosize(layout, *modes)

The size of the codomain: one more than the greatest index, strides taken as positive; 0 of a layout without elements.

>>> cosize(Layout("(4,8):(1,5)"))
39)doc";

inline constexpr char const* coshape = R"doc(coshape(layout, *modes)

The smallest shape that every value of the layout lies in: an integer, or a tuple where strides are basis elements.)doc";

inline constexpr char const* congruent = R"doc(congruent(a, b)

Whether two shapes or layouts have the same nesting.)doc";

inline constexpr char const* weakly_congruent = R"doc(weakly_congruent(a, b)

Whether the nesting of b refines that of a.)doc";

inline constexpr char const* compatible = R"doc(compatible(a, b)

Whether the sizes agree and every coordinate into a is one into b.)doc";

inline constexpr char const* ceil_div = R"doc(ceil_div(a, b)

a / b rounded up, by modes. An integer b is divided out of the modes of a from left to right.

>>> ceil_div((4, 6), 8)
(1, 3))doc";

inline constexpr char const* product_each = R"doc(product_each(shape)

The sizes of the modes, as a flat tuple.)doc";

inline constexpr char const* shape_div = R"doc(shape_div(a, b)

a / b of shapes where one divides the other, else LayoutError: by modes, an integer b out of the modes of a from left to right, an
integer a by the size of b.

>>> shape_div((12, 4), 6), shape_div((4, 5, 6), 40)
((2, 4), (1, 1, 3)))doc";

inline constexpr char const* round_up = R"doc(round_up(a, b)

The least multiples of b that are not below a, by modes. Where b has fewer modes, a stays.

>>> round_up((100, 30), (64, 8))
(128, 32))doc";

inline constexpr char const* evenly_divides = R"doc(evenly_divides(a, b)

Whether tiles b fill the shape a without a rest.

>>> evenly_divides((128, 30), (64, 8)), evenly_divides((128, 32), (64, 8))
(False, True))doc";

inline constexpr char const* elem_scale = R"doc(elem_scale(a, b)

Each integer of a times the size of what b has in its place.

>>> elem_scale((2, 3), ((4, 5), 6))
(40, 18))doc";

inline constexpr char const* inner_product = R"doc(inner_product(a, b)

The sum of the products of the integers in one place, as of a coordinate and strides; where strides are basis elements, a coordinate.

>>> inner_product((2, (1, 3)), (1, (4, 8)))
30)doc";

inline constexpr char const* colex_less = R"doc(colex_less(a, b)

Whether a comes before b in colexicographic order, that of a layout's coordinates: the last mode decides first.

>>> colex_less((3, 0), (0, 1)), colex_less((0, 1), (3, 0))
(True, False))doc";

inline constexpr char const* lex_less = R"doc(lex_less(a, b)

Whether a comes before b in lexicographic order: the first mode decides first.)doc";

inline constexpr char const* product = R"doc(product(t)

The product of the integers of a tuple, or of a shape's extents.

>>> product((2, (3, 4)))
24)doc";

inline constexpr char const* tuple_max = R"doc(tuple_max(t)

The greatest integer of a tuple or of a shape, CuTe's `max`.)doc";

inline constexpr char const* tuple_sum = R"doc(tuple_sum(t)

The sum of the integers of a tuple, CuTe's `sum`.)doc";

inline constexpr char const* tuple_gcd = R"doc(tuple_gcd(t)

The greatest common divisor of the integers of a tuple, CuTe's `gcd`.)doc";

inline constexpr char const* compact_col_major = R"doc(compact_col_major(shape, first=1)

The strides of a compact layout, the first mode fastest, from the stride `first` on.

>>> compact_col_major((2, (3, 4)))
(Int(1), (2, 6)))doc";

inline constexpr char const* compact_row_major = R"doc(compact_row_major(shape, first=1)

The strides of a compact layout, the last mode fastest, from the stride `first` on.

>>> compact_row_major((2, (3, 4)))
(12, (4, Int(1))))doc";

inline constexpr char const* make_basis_like = R"doc(make_basis_like(shape)

The strides of the identity: a unit step along each mode.

>>> print(notation(make_basis_like((4, (2, 3)))))
(_1@0,(_1@0@1,_1@1@1)))doc";

inline constexpr char const* repeat_like = R"doc(repeat_like(t, value)

A tuple of the nesting of t with one value everywhere.

>>> repeat_like((4, (2, 3)), 0)
(0, (0, 0)))doc";

inline constexpr char const* product_like = R"doc(product_like(t, profile)

The sizes of what t has at the leaves of a profile.

>>> product_like((2, (3, 4)), (0, 0))
(2, 12))doc";

inline constexpr char const* elem_less = R"doc(elem_less(a, b)

Whether each integer of the coordinate a is less than the one of b, a shape or a layout of the same nesting. a may have fewer
modes. The predicate of CuTe's kernels: `elem_less(cA(m, k), shape(A))`.

>>> elem_less((3, 6), (4, 7)), elem_less((3, 7), (4, 7))
(True, False))doc";

inline constexpr char const* layout_indices = R"doc(layout_indices(layout)

The index of every coordinate, in the order of coordinates, as the bytes of native 64-bit integers.)doc";

inline constexpr char const* record = R"doc(record(operation, layout, argument=None)

What coalesce, composition, complement, right_inverse, left_inverse, logical_divide or logical_product does, as (steps, result, error). A step is its kind
and its operands and results by name. Of result and error, the text of a LayoutError, one is None.)doc";

inline constexpr char const* crd2idx = R"doc(crd2idx(coord, layout) or crd2idx(coord, shape, stride=None)

The index of a coordinate: an integer, flat or nested. Without strides, its position in colexicographic order. NumPy arrays of
integers in the coordinate broadcast and give an array of indices.

>>> crd2idx((1, (1, 2)), (3, (2, 3)), (3, (12, 1)))
17)doc";

inline constexpr char const* idx2crd = R"doc(idx2crd(index, shape, stride=None)

The coordinate at an index, in colexicographic order, or in that of compact strides. Static integers stay static. Of an array of
indices, a coordinate of arrays.

>>> idx2crd(16, (3, (2, 3)))
(1, (1, 2)))doc";

inline constexpr char const* crd2crd = R"doc(crd2crd(coord, src_shape, dst_shape)

The same position as a coordinate of another shape of that size.)doc";

inline constexpr char const* get = R"doc(get(x, *modes)

A mode of a layout, a tensor or a tuple; several numbers go down the nesting.)doc";

inline constexpr char const* select = R"doc(select(x, *modes)

The layout, or the tuple, of these modes, in this order.

>>> select((128, 96, 8), 0, 2)
(128, 8))doc";

inline constexpr char const* take = R"doc(take(x, begin, end)

The layout, or the tuple, of the modes begin to end - 1.)doc";

inline constexpr char const* group = R"doc(group(x, begin, end)

The same layout, or the same tuple, with the modes begin to end - 1 grouped into one.)doc";

inline constexpr char const* append = R"doc(append(x, rank, mode=Layout(1, 0)) or append(x, mode)

The layout, or the tuple, with `mode` repeated at its end up to a rank, or once. A tuple needs the mode.

>>> append((1, 2), 3), append((1, 2), 4, 3)
((1, 2, 3), (1, 2, 3, 3)))doc";

inline constexpr char const* prepend = R"doc(prepend(x, rank, mode=Layout(1, 0)) or prepend(x, mode)

The layout, or the tuple, with `mode` repeated at its front up to a rank, or once. A tuple needs the mode.)doc";

inline constexpr char const* replace = R"doc(replace(x, at, mode)

The layout, or the tuple, with another mode in one place.)doc";

inline constexpr char const* flatten = R"doc(flatten(x)

The layout, or the tuple, without nesting.)doc";

inline constexpr char const* unflatten = R"doc(unflatten(x, profile)

A flat layout, or a flat tuple, with the nesting of a profile: a tuple or a layout.

>>> unflatten((1, 2, 3), (0, (0, 0)))
(1, (2, 3)))doc";

inline constexpr char const* zip = R"doc(zip(layout, other=None)

Of one layout of modes of equal rank, its transpose: ((a,b),(c,d)) -> ((a,c),(b,d)). Of two, their modes in pairs.)doc";

inline constexpr char const* slice_ = R"doc(slice_(coord, x)

The modes of a layout, or the elements of a tuple, where the coordinate is None. `slice_and_offset` also gives where the modes
start.

>>> slice_((None, 0), (3, 4))
(3,))doc";

inline constexpr char const* slice_and_offset = R"doc(slice_and_offset(coord, layout)

The modes where the coordinate is None, and the index of the rest of it. A swizzled layout decays to a plain one where the open
modes do not meet the swizzle, as in CuTe.

>>> slice_and_offset((2, None), Layout("(4,8):(8,1)"))
(Layout("(8):(1)"), 16))doc";

inline constexpr char const* dice = R"doc(dice(coord, x)

The modes of a layout, or the elements of a tuple, where the coordinate is not None.

>>> dice((1, None, 1), (128, 64, 8))
(128, 8))doc";

inline constexpr char const* parse = R"doc(parse(text)

What CuTe printed: a Layout, a ComposedLayout, a Swizzle, or a tuple of integers and layouts with None for `_`.

>>> parse("Sw<3,3,3> o _0 o (_8,_64):(_64,_1)")
ComposedLayout("Sw<3,3,3> o _0 o (_8,_64):(_64,_1)"))doc";

inline constexpr char const* print_tiler = R"doc(print_tiler(value)

A tiler, a shape or a coordinate in CuTe's notation.)doc";

inline constexpr char const* layout_values = R"doc(layout_values(layout, limit=None)

The values of a layout in colexicographic order of its coordinates, all of them or the first ones.)doc";

inline constexpr char const* composition = R"doc(composition(a, b)

Law: result(c) == a(b(c)) for every coordinate c of b, and compatible(b, result).

`b` is a layout; a tuple acts by modes, None keeps a mode, an integer n stands for n:1. A swizzle on the left gives a
ComposedLayout. Raises LayoutError, with a coordinate that shows it, where the modes of b carry into one another in a, which C++
does not notice, and where a does not divide by a mode of b.

>>> print(composition(Layout("(10,2):(16,4)"), Layout("(5,4):(1,5)")))
(5,(2,2)):(16,(80,4)))doc";

inline constexpr char const* coalesce = R"doc(coalesce(layout, profile=None)

Law: result(i) == layout(i) for 0 <= i < size(layout), and depth(result) <= 1, in as few modes as possible. With a profile, at each
of its leaves.

>>> print(coalesce(Layout("(2,(1,6)):(1,(6,2))")))
12:1)doc";

inline constexpr char const* filter_zeros = R"doc(filter_zeros(layout, profile=None)

The layout with extents of 1 where strides, or the leaves of the profile, are 0.)doc";

inline constexpr char const* filter = R"doc(filter(layout, profile=None)

The layout without strides of 0 and extents of 1, coalesced. With a profile, at each of its leaves.)doc";

inline constexpr char const* complement = R"doc(complement(layout, cotarget=None)

What a layout misses of the indices below size(cotarget), by default below its own cosize.

Law: the result's indices ascend, and but for 0 they are none of the layout's; they stay below the target, rounded up to the
layout's cosize. Raises LayoutError for
negative strides, and where modes interleave, so that there is no complement.

>>> print(complement(Layout("(2,2):(1,6)"), 24))
(3,2):(2,12))doc";

inline constexpr char const* right_inverse = R"doc(right_inverse(layout)

Law: layout(result(i)) == i for 0 <= i < size(result). If no two coordinates have one index and no stride is negative, no right
inverse is larger. Where indices repeat, a larger one may exist: of (6,4):(1,3) this is 6:_1, as CuTe's, and (2,2,3):(1,2,7) is
another. Of a swizzled layout it is the swizzle in front of a layout where that is one, else every function undone, one after the
other, for as many i as it holds; raises LayoutError where the layout does not give the index 0, as behind an offset.

>>> print(right_inverse(Layout("(4,8):(8,1)")))
(8,4):(4,_1)
>>> print(right_inverse(make_composed_layout(Swizzle(3, 0, 4), 0, Layout((2, 2), (2, 1)))))
(2,2):(2,_1) o 0 o Sw<3,0,4> o _0 o 4:_1)doc";

inline constexpr char const* left_inverse = R"doc(left_inverse(layout)

Law: layout(result(layout(i))) == layout(i), and result(layout(i)) == i if the layout is injective. Raises LayoutError for
negative strides and for strides that do not divide one another. Of a swizzled layout, also one with an offset and a nested one,
every function is undone.

>>> print(left_inverse(Layout("4:2")))
(2,4):(_0,_1)
>>> f = make_composed_layout(Swizzle(1, 0, 2), 8, Layout((2, 4)))
>>> back = left_inverse(f)
>>> print(back, [back(f(c)) for c in range(8)])
8:_1 o -8 o Sw<1,0,2> o _0 o 16:_1 [0, 1, 2, 3, 4, 5, 6, 7])doc";

inline constexpr char const* nullspace = R"doc(nullspace(layout)

Law: layout(result(i)) == 0, and size(result) == size(layout) / size(filter(layout)).)doc";

inline constexpr char const* max_common_vector = R"doc(max_common_vector(a, b)

The number of elements that are neighbours, in the same order, in both layouts: how wide a copy between them can be.)doc";

inline constexpr char const* max_common_layout = R"doc(max_common_layout(a, b)

Law: a(result(i)) == b(result(i)) == i for 0 <= i < size(result).)doc";

inline constexpr char const* logical_divide = R"doc(logical_divide(layout, tiler)

Law: layout o (tiler, complement(tiler, size(layout))): mode 0 is a tile, mode 1 the tiles. A tuple acts by modes, None keeps a
mode.

>>> print(logical_divide(Layout("(4,2,3):(2,1,8)"), Layout("4:2")))
((2,2),(2,3)):((4,1),(2,8)))doc";

inline constexpr char const* zipped_divide = R"doc(zipped_divide(layout, tiler)

`logical_divide` with all tile modes in mode 0 and all rest modes in mode 1: ((TileM,TileN),(RestM,RestN,...)).)doc";

inline constexpr char const* tiled_divide = R"doc(tiled_divide(layout, tiler)

`zipped_divide` with the rest modes unpacked: ((TileM,TileN),RestM,RestN,...).)doc";

inline constexpr char const* flat_divide = R"doc(flat_divide(layout, tiler)

`zipped_divide` with both unpacked: (TileM,TileN,RestM,RestN,...).)doc";

inline constexpr char const* logical_product = R"doc(logical_product(block, tiler)

Law: (block, complement(block, size(block) * cosize(tiler)) o tiler): mode 0 is the block, mode 1 its copies. A tuple acts by modes.

>>> print(logical_product(Layout("(2,2):(4,1)"), Layout("6:1")))
((2,2),(2,3)):((4,1),(2,8)))doc";

inline constexpr char const* zipped_product = R"doc(zipped_product(block, tiler)

`logical_product` with all block modes in mode 0 and all copies in mode 1.)doc";

inline constexpr char const* tiled_product = R"doc(tiled_product(block, tiler)

`zipped_product` with the copies unpacked.)doc";

inline constexpr char const* flat_product = R"doc(flat_product(block, tiler)

`zipped_product` with both unpacked.)doc";

inline constexpr char const* blocked_product = R"doc(blocked_product(block, tiler)

The block repeated over the tiler, by modes: ((BlockM,TilerM),(BlockN,TilerN)).

>>> print(blocked_product(Layout("(2,5):(5,1)"), Layout("(3,4):(1,3)")))
((2,3),(5,4)):((5,10),(1,30)))doc";

inline constexpr char const* raked_product = R"doc(raked_product(block, tiler)

The block interleaved with the tiler, by modes: ((TilerM,BlockM),(TilerN,BlockN)).)doc";

inline constexpr char const* tile_to_shape = R"doc(tile_to_shape(block, shape, order=None)

The block repeated until it fills a shape, first mode first or in an order. Raises LayoutError if it does not divide the shape.

>>> print(tile_to_shape(Layout("(_8,_64):(_64,_1)"), (Int(128), Int(64))))
((_8,_16),(_64,_1)):((_64,_512),(_1,_0)))doc";

inline constexpr char const* upcast = R"doc(upcast(layout, n)

The same memory in elements n times as large. Raises LayoutError if a stride and n do not divide one another.)doc";

inline constexpr char const* downcast = R"doc(downcast(layout, n)

The same memory in elements of which n make one. Raises LayoutError if no stride is 1.)doc";

inline constexpr char const* recast_layout = R"doc(recast_layout(layout, old_bits, new_bits)

The same memory in elements of another size, in bits: `downcast`, `upcast`, or both.

>>> print(recast_layout(Layout("(_8,_4):(_1,_8)"), 16, 32), recast_layout(Layout("(_8,_4):(_1,_8)"), 16, 8))
(_4,_4):(_1,_4) (_16,_4):(_1,_16))doc";

inline constexpr char const* make_layout_tv = R"doc(make_layout_tv(thr_layout, val_layout)

The tile that threads and values cover, and the layout (thread, value) -> index in it, from (m,n) -> thread and (m,n) -> value.

>>> tile, tv = make_layout_tv(Layout("(_4,_8):(_8,_1)"), Layout("(_2,_2)"))
>>> print(tile, tv)
(8, 16) ((_8,_4),(_2,_2)):((_16,_2),(_1,_8)))doc";

}  // namespace cute_py::bindings::docs
