"""Copies by Hopper's TMA at run time: CuTe's ``make_tma_copy`` and ``tma_partition``.

>>> from cute_py import Layout, Swizzle, composition, make_tma_copy
>>> smem = composition(Swizzle(3, 4, 3), Layout("((_8,_16),_64):((_64,_512),_1)"))
>>> copy = make_tma_copy("SM90_TMA_LOAD", Layout("(1000,520):(520,_1)"), smem, dtype="half_t")
>>> copy.box, copy.swizzle, copy.copies
((64, 128), 128, 1)
>>> print(copy.coordinates)
ArithTuple(0,0) o (1000,520):(_1@1,_1@0)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cute_py import _core
from cute_py._core import ComposedLayout, Layout
from cute_py.atoms import ValueType, value_type
from cute_py.drawing.picture import Drawable, Picture
from cute_py.drawing.subjects import picture_of_layout
from cute_py.errors import LayoutError, OperandError
from cute_py.layout import make_tile, notation
from cute_py.layout.integers import Int
from cute_py.layout.tensor import Tensor, domain_offset, make_counting_tensor
from cute_py.machine.tma import TmaReport, tma_check

__all__ = ["TmaCopy", "make_tma_copy", "tma_partition"]

OPERATIONS = ("SM90_TMA_LOAD", "SM90_TMA_LOAD_MULTICAST", "SM90_TMA_STORE", "SM90_TMA_REDUCE_ADD")
_MOST_MODES = 5
_MOST_EXTENT = 256  # of a box, to which modes are merged
_UNIT = 16  # bytes: what the scale of a mode of several is counted in


@dataclass(frozen=True)
class TmaCopy(Drawable):
    """A tile that TMA loads in boxes: CuTe's ``TiledCopy`` of a TMA operation. Made by `make_tma_copy`.

    Attributes
    ----------
    op
        The operation, one of those in `OPERATIONS`.
    dtype
        Of the elements.
    tensor
        The layout of the whole tensor in global memory.
    smem
        The layout of the tile in shared memory.
    tile
        Its extents in the tensor.
    multicast
        As many CTAs share the tile (multicast): each loads its part of every box, for all.
    basis
        The modes of a box, and which mode of the tensor each of them goes along: CuTe's ``TmaGmemBasis``.
    box
        The extents of the box that one CTA loads at a time.
    extents, strides
        Of the tensor as the engine sees it, in elements.
    swizzle
        0, 32, 64 or 128: the span in bytes of the swizzle in shared memory.

    Source: ``make_tma_copy_tiled`` of ``cute/atom/copy_traits_sm90_tma.hpp``.
    """

    op: str
    dtype: ValueType
    tensor: Layout
    smem: Layout | ComposedLayout
    tile: Any
    multicast: int
    basis: Layout
    box: tuple[int, ...]
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    swizzle: int

    @property
    def copies(self) -> int:
        """The number of boxes that a CTA loads, to have the tile."""
        return self.smem.size // self.basis.size

    @property
    def box_bytes(self) -> int:
        """What arrives at a CTA for one of them, those of all CTAs that share it together."""
        return self.basis.size * self.dtype.bits // 8

    @property
    def rules(self) -> TmaReport:
        """The rules of the engine that are broken, as `tma_check` has them."""
        return tma_check(self.extents, self.strides, str(self.dtype), self.box, swizzle=self.swizzle)

    @cached_property
    def coordinates(self) -> Tensor:
        """The tensor of the engine's coordinates: what to tile in the place of the one in memory. CuTe's
        ``get_tma_tensor``.
        """
        modes = list(_tuple(self.basis.stride))
        strides = _leaves(_core.make_basis_like(self.tensor.shape))

        def along(basis: Any) -> Any:
            extent, stride = _leaf(self.tensor.shape, basis), _leaf(self.tensor.stride, basis)
            found = [j for j, mode in enumerate(modes) if basis in list(_leaves(mode))]
            if _is_static(extent, 1) or _is_static(stride, 0) or not found:
                return Int(0)
            (j,) = found
            if j == 0:
                return _core.ScaledBasis(stride, j)
            if len(list(_leaves(modes[j]))) == 1:
                return _core.ScaledBasis(Int(1), j)
            return _core.ScaledBasis(math.ceil(int(stride) * self.dtype.bits // max(self._bytes(j), _UNIT) / 8), j)

        scaled = iter([along(basis) for basis in strides])
        layout = Layout(self.tensor.shape, _core.unflatten(tuple(scaled), self.tensor.shape))
        return make_counting_tensor(layout, (0,) * len(self.box))

    def _bytes(self, mode: int) -> int:
        return self.strides[mode] * self.dtype.bits // 8

    def _picture(self) -> Picture:
        inverse = _core.right_inverse(_plain(self.smem))
        first = {inverse(i): i // self.basis.size for i in range(self.smem.size)}
        layout = self.smem
        return picture_of_layout(
            layout,
            title=f"{self.op}: a tile of {_extents(_leaves(self.tile))}, boxes of {_extents(self.box)}",
            color=lambda coordinate, _: first[_core.crd2idx(coordinate, layout.shape)],
        )

    def __str__(self) -> str:
        what = [f"{extent}:{stride}" for extent, stride in zip(self.extents, self.strides, strict=True)]
        lines = [
            f"{self.op} of {self.dtype}, a tile of {_extents(_leaves(self.tile))}",
            f"  tensor  {', '.join(what)}, extent and stride of each mode, in elements",
            f"  box     {_extents(self.box)}, {self.box_bytes} bytes, {self.copies} for the tile",
            f"  modes   {self.basis}",
            f"  swizzle {self.swizzle} bytes" if self.swizzle else "  no swizzle",
        ]
        if self.multicast > 1:
            lines.append(f"  shared by {self.multicast} CTAs, each of which loads its part for all")
        if not self.rules:
            lines += [f"  broken: {rule}" for rule in self.rules.broken]
        return "\n".join(lines)


def make_tma_copy(
    op: str,
    tensor: Layout | str,
    smem: Layout | ComposedLayout | str,
    tile: Any = None,
    *,
    dtype: Any,
    multicast: int = 1,
) -> TmaCopy:
    """Return the boxes by which TMA loads tiles of a tensor to shared memory, or back: CuTe's
    ``make_tma_copy``.

    The box is the longest piece of shared memory, in the order of its layout, that is a box of the tensor, too.

    Parameters
    ----------
    op
        One of "SM90_TMA_LOAD", "SM90_TMA_LOAD_MULTICAST", "SM90_TMA_STORE", "SM90_TMA_REDUCE_ADD".
    tensor
        The layout of the tensor in global memory, in elements; one of its modes has stride 1.
    smem
        The layout of a tile in shared memory, swizzled or not, in elements.
    tile
        The extents of a tile in the tensor's modes; as smem has them, unless given.
    dtype
        The element type, as in `value_type`, of 8 bits or more.
    multicast
        The number of CTAs that share the tile, a power of two up to 16; for "SM90_TMA_LOAD_MULTICAST".

    Raises OperandError for what is no operation, type or number of CTAs, LayoutError for a tile that has no box, or
    whose fastest mode is not the tensor's. What the engine refuses for other reasons is in `TmaCopy.rules`.
    """
    if op not in OPERATIONS:
        raise OperandError(f"make_tma_copy: op must be one of {', '.join(OPERATIONS)}, not {op!r}")
    element = value_type(dtype)
    if element.bits < 8:
        raise OperandError(f"make_tma_copy: dtype {element} has {element.bits} bits; next: give the layouts in bytes")
    if not isinstance(multicast, int) or isinstance(multicast, bool) or multicast not in (1, 2, 4, 8, 16):
        raise OperandError(f"make_tma_copy: multicast must be 1, 2, 4, 8 or 16 CTAs, not {multicast!r}")
    if multicast > 1 and op != "SM90_TMA_LOAD_MULTICAST":
        raise OperandError(
            f"make_tma_copy: {op} is for one CTA; next: SM90_TMA_LOAD_MULTICAST for multicast={multicast}"
        )
    whole = _layout("tensor", tensor)
    shared = _core.parse(smem) if isinstance(smem, str) else smem
    if not isinstance(shared, (Layout, ComposedLayout)):
        raise OperandError(f"make_tma_copy: smem must be a layout, not {smem!r}; next: Layout((64, 64))")
    plain = _plain(shared)
    plain = Layout(_static(plain.shape), _static(plain.stride))  # as CuTe wants what is in shared memory
    extents = _static(_core.product_each(plain.shape) if tile is None else tile)
    of_tile = _core.composition(_core.make_identity_layout(whole.shape), _tiler(extents))
    if _core.size(of_tile) != plain.size:
        raise LayoutError(
            f"make_tma_copy: a tile of {notation(extents)} has {int(_core.size(of_tile))} elements, smem {shared} has {int(plain.size)}; next: leave tile out"
        )

    basis = _group(_box(whole, plain, of_tile))
    of_modes = [_extent_and_stride(whole, stride) for stride in _tuple(basis.stride)]
    if of_modes[0][1] != 1:
        raise LayoutError(
            f"make_tma_copy: what is contiguous in smem has stride {of_modes[0][1]} in the tensor\n  smem {shared}\n  tensor {whole}\n"
            f"  next: order smem's modes as the tensor's are, its mode of stride 1 first"
        )
    return TmaCopy(
        op,
        element,
        whole,
        shared,
        extents,
        multicast,
        basis,
        _shared_box([_core.size(extent) for extent in _tuple(basis.shape)], multicast),
        tuple(extent for extent, _ in of_modes),
        tuple(stride for _, stride in of_modes),
        _swizzle_bytes(shared, element),
    )


def tma_partition(
    copy: TmaCopy, smem: Layout | ComposedLayout, coordinates: Tensor, *, cta: int = 0
) -> tuple[Tensor, Layout | ComposedLayout, int]:
    """Return what a CTA loads: coordinates, and the layout and the first element of where they go, CuTe's
    ``tma_partition``.

    Parameters
    ----------
    copy
        From `make_tma_copy`.
    smem
        The layout in shared memory, the tile as mode 0, and whatever else there is: (tile,rest...).
    coordinates
        `TmaCopy.coordinates`, tiled: (tile,rest...), as `zipped_divide` makes it.
    cta
        Of those that share the tile.

    Returns coordinates ((TMA,TMA_Iter),rest...), the layout of smem in the same modes, and its offset in elements.

    Raises LayoutError for tiles of unequal sizes, OperandError for a CTA that there is not.
    """
    if not isinstance(cta, int) or not 0 <= cta < copy.multicast:
        raise OperandError(f"tma_partition: cta must be in 0 to {copy.multicast - 1}, not {cta!r}")
    of_smem, of_global = _core.shape(smem, 0), _core.shape(coordinates.layout, 0)
    if _core.size(of_smem) != _core.size(of_global):
        raise LayoutError(
            f"tma_partition: mode 0 of smem has {int(_core.size(of_smem))} elements, of the coordinates {int(_core.size(of_global))}; "
            "next: group the modes of a tile in both, group(x, 0, 2)"
        )
    plain = _plain(smem)
    inverse = _core.right_inverse(_core.get(plain, 0))
    values = _core.tile_to_shape(_core.make_layout(inverse), _core.size(of_smem))
    split = _core.logical_divide(values, Layout(Int(copy.basis.size)))  # ((TMA,TMA_Iter))

    def parts(layout: Any) -> Any:
        rest = [_core.get(layout, i) for i in range(1, _core.rank(layout))]
        tile = _core.composition(_core.get(layout, 0), split)
        return _core.coalesce(_core.make_layout(tile, *rest), ((Int(1), Int(1)),))

    of_coordinates, shared = parts(coordinates.layout), parts(plain)
    first = cta * (copy.basis.size // copy.multicast)
    offset = int(shared(((first, 0), *([0] * (_core.rank(shared) - 1)))))
    moved = domain_offset(
        ((first, 0), *([0] * (_core.rank(of_coordinates) - 1))), coordinates.with_layout(of_coordinates)
    )
    if isinstance(smem, ComposedLayout):
        shared = _core.make_composed_layout(smem.outer, smem.offset, shared)
    return moved, shared, offset


def _layout(name: str, value: Any) -> Layout:
    layout = _core.parse(value) if isinstance(value, str) else value
    if not isinstance(layout, Layout):
        raise OperandError(
            f"make_tma_copy: {name} must be a layout without a swizzle, not {value!r}; next: Layout((256, 256)), or '(256,256):(1,256)'"
        )
    return layout


def _plain(layout: Layout | ComposedLayout) -> Layout:
    """What a swizzle is applied to."""
    inner = layout.inner if isinstance(layout, ComposedLayout) else layout
    if not isinstance(inner, Layout):
        raise LayoutError(f"make_tma_copy: smem {layout} is a swizzle of no layout")
    return inner


def _swizzle_bytes(layout: Layout | ComposedLayout, element: ValueType) -> int:
    """The span in bytes of a swizzle that the engine has: of pieces of 16 bytes by the 8 lines that they are in."""
    if isinstance(layout, Layout):
        return 0
    swizzle = layout.outer
    unit, lines = 16 * 8 // element.bits, 3
    if (
        not isinstance(swizzle, _core.Swizzle)
        or layout.offset != 0
        or swizzle.shift != lines
        or (swizzle.bits > 0 and 1 << swizzle.base not in (unit, 16))
        or swizzle.bits > lines
    ):
        base = unit.bit_length() - 1
        raise LayoutError(
            f"make_tma_copy: the engine has no {swizzle} of {element}\n  next: Swizzle(1, {base}, 3), Swizzle(2, {base}, 3) or "
            f"Swizzle(3, {base}, 3)"
        )
    return 16 << swizzle.bits if swizzle.bits else 0


def _extents(values: Iterable[Any]) -> str:
    return " x ".join(str(int(value)) for value in values)


def _tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _static(value: Any) -> Any:
    return tuple(_static(item) for item in value) if isinstance(value, tuple) else Int(value)


def _is_static(value: Any, wanted: int) -> bool:
    return isinstance(value, Int) and value == wanted


def _leaf(value: Any, basis: Any) -> Any:
    """What stands where a basis points: of a tensor's shape, or its strides."""
    for mode in basis.modes:
        value = _tuple(value)[mode]
    return value


def _tiler(extents: Any) -> Any:
    return make_tile(*extents) if isinstance(extents, tuple) else extents


def _box(tensor: Layout, smem: Layout, of_tile: Layout) -> Layout:
    """The modes of a box: as much of shared memory, in its order, as goes along modes of the tensor by steps of 1."""
    along = _core.coalesce(_core.composition(of_tile, _core.right_inverse(smem)))
    kept: list[tuple[Any, Any]] = []  # extents and bases
    for extent, basis in zip(_tuple(along.shape), _tuple(along.stride), strict=True):
        if not isinstance(basis, _core.ScaledBasis) or not _is_static(basis.value, 1):
            break
        kept.append((extent, basis))
    if not kept:
        raise LayoutError(
            f"make_tma_copy: nothing of smem is contiguous in the tensor, too\n  smem {smem}\n  elements of the tensor, in its order: "
            f"{along}\n  next: a tile whose fastest mode is one of the tensor's, with extents that are static integers"
        )
    # Modes that follow one another in the tensor are one, up to 256 elements, if it is known before a kernel runs.
    merged: list[list[tuple[Any, Any]]] = []
    for extent, basis in kept:
        if merged:
            stride = _leaf(tensor.stride, merged[-1][0][1])
            size = math.prod(int(e) for e, _ in merged[-1])
            following = stride * size
            own = _leaf(tensor.stride, basis)
            known = isinstance(stride, Int) and isinstance(own, Int)
            if known and following == own and size * int(extent) <= _MOST_EXTENT:
                merged[-1].append((extent, basis))
                continue
        if merged and _is_static(extent, 1):
            continue
        merged.append([(extent, basis)])
    shape = [tuple(e for e, _ in mode) if len(mode) > 1 else mode[0][0] for mode in merged]
    stride = [tuple(b for _, b in mode) if len(mode) > 1 else mode[0][1] for mode in merged]
    # All others are of extent 1 in a box.
    have = list(_leaves(tuple(stride)))
    for basis in _leaves(_core.make_basis_like(tensor.shape)):
        extent, own = _leaf(tensor.shape, basis), _leaf(tensor.stride, basis)
        if not (_is_static(extent, 1) or _is_static(own, 0) or basis in have):
            shape.append(Int(1))
            stride.append(basis)
    return Layout(tuple(shape), tuple(stride))


def _group(basis: Layout) -> Layout:
    """The engine has five modes: what is beyond the fourth is one."""
    shape, stride = _tuple(basis.shape), _tuple(basis.stride)
    if len(shape) <= _MOST_MODES:
        return basis
    last = _MOST_MODES - 1
    return Layout((*shape[:last], shape[last:]), (*stride[:last], stride[last:]))


def _extent_and_stride(tensor: Layout, stride: Any) -> tuple[int, int]:
    """Of a mode of the engine, made of some of the tensor's: as far as these go, by steps that divide theirs."""
    extent, step = 1, 0
    for basis in _leaves(stride):
        of_mode, own = int(_leaf(tensor.shape, basis)), int(_leaf(tensor.stride, basis))
        before, step = step, math.gcd(step, own)
        extent = (extent - 1) * (before // step) + (of_mode - 1) * (own // step) + 1 if step else of_mode
    return extent, step


def _shared_box(box: list[int], multicast: int) -> tuple[int, ...]:
    """What each of the CTAs that share a tile loads: a part along the last modes."""
    for i in reversed(range(len(box))):
        if multicast == 1:
            break
        box[i], multicast = math.ceil(box[i] / multicast), math.ceil(multicast / box[i])
    return tuple(int(extent) for extent in box)
