"""CuTe's layout algebra with run-time integers, under CuTe's names.

A layout maps coordinates to indices. Its first mode is the fastest (colexicographic order). Python ints are dynamic, `Int` is
static; both give the same results, and differ in what is printed: ``(_4,8):(_1,4)``. ``None`` stands for CuTe's ``_``, a tuple
of tilers acts by modes, and text in CuTe's notation is accepted wherever a layout is.

Every function raises `LayoutError` for arguments that are no layouts, shapes or tilers, for results that do not fit in 64 bits,
and where its law would not hold.

``from cute_py.layout import *`` leaves out `filter` and `zip`, which would take the place of Python's own. They are
``cute_py.layout.filter`` and ``cute_py.layout.zip``.
"""

from __future__ import annotations

from cute_py._core import (
    Swizzle,
    append,
    blocked_product,
    ceil_div,
    coalesce,
    compatible,
    complement,
    composition,
    congruent,
    coshape,
    cosize,
    crd2crd,
    crd2idx,
    depth,
    dice,
    downcast,
    elem_less,
    filter_zeros,
    flat_divide,
    flat_product,
    flatten,
    get,
    group,
    idx2crd,
    layout_values,
    left_inverse,
    logical_divide,
    logical_product,
    make_composed_layout,
    make_fragment_like,
    make_identity_layout,
    make_layout,
    make_layout_like,
    make_layout_tv,
    make_ordered_layout,
    make_swizzle,
    max_common_layout,
    max_common_vector,
    nullspace,
    parse,
    prepend,
    print_tiler,
    product_each,
    raked_product,
    rank,
    recast_layout,
    replace,
    right_inverse,
    select,
    shape,
    size,
    slice_,
    slice_and_offset,
    stride,
    take,
    tile_to_shape,
    tiled_divide,
    tiled_product,
    unflatten,
    upcast,
    weakly_congruent,
    zipped_divide,
    zipped_product,
)
from cute_py._core import (
    filter as filter,  # noqa: A004 - CuTe's name
)
from cute_py._core import (
    zip as zip,  # noqa: A004 - CuTe's name
)
from cute_py.layout.drawn import ComposedLayout, Layout
from cute_py.layout.integers import E, Int, LayoutLeft, LayoutRight, ScaledBasis

__all__ = [
    "ComposedLayout",
    "E",
    "Int",
    "Layout",
    "LayoutLeft",
    "LayoutRight",
    "ScaledBasis",
    "Swizzle",
    "append",
    "blocked_product",
    "ceil_div",
    "coalesce",
    "compatible",
    "complement",
    "composition",
    "congruent",
    "coshape",
    "cosize",
    "crd2crd",
    "crd2idx",
    "depth",
    "dice",
    "downcast",
    "elem_less",
    "filter_zeros",
    "flat_divide",
    "flat_product",
    "flatten",
    "get",
    "group",
    "idx2crd",
    "layout_values",
    "left_inverse",
    "logical_divide",
    "logical_product",
    "make_composed_layout",
    "make_fragment_like",
    "make_identity_layout",
    "make_layout",
    "make_layout_like",
    "make_layout_tv",
    "make_ordered_layout",
    "make_swizzle",
    "max_common_layout",
    "max_common_vector",
    "notation",
    "nullspace",
    "parse",
    "prepend",
    "product_each",
    "raked_product",
    "rank",
    "recast_layout",
    "replace",
    "right_inverse",
    "select",
    "shape",
    "size",
    "slice_",
    "slice_and_offset",
    "stride",
    "take",
    "tile_to_shape",
    "tiled_divide",
    "tiled_product",
    "unflatten",
    "upcast",
    "weakly_congruent",
    "zipped_divide",
    "zipped_product",
]


def notation(value: object) -> str:
    """Return a layout, a tiler, a shape, a stride or a coordinate as CuTe prints it.

    >>> notation((Int(4), (2, None)))
    '(_4,(2,_))'
    """
    if isinstance(value, (Layout, ComposedLayout, Swizzle)):
        return str(value)
    return print_tiler(value)
