"""Tiled copies and tiled MMAs at run time: CuTe's ``make_tiled_copy``, ``make_tiled_mma`` and what they partition.

>>> from cute_py import atoms, Layout, make_tiled_mma
>>> mma = make_tiled_mma(atoms.mma["SM80_16x8x16_F32F16F16F32_TN"], Layout("(_2,_2,_1)"), (32, 32, 16))
>>> mma.size, mma.tile_shape
(128, (32, 32, 16))
>>> print(mma.get_slice(5).partition_C(Layout("(_32,_32)")).layout)
((_2,_2),_1,_2):((_32,_8),_0,_512)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cute_py import _core
from cute_py._core import Layout
from cute_py.atoms import CopyAtom, CopyTraits, MMAAtom
from cute_py.drawing.picture import Drawable, Picture
from cute_py.drawing.subjects import picture_of_copy, picture_of_mma
from cute_py.errors import LayoutError, OperandError
from cute_py.layout.integers import Int
from cute_py.layout.tensor import Tensor, make_tensor

__all__ = [
    "ThrCopy",
    "ThrMMA",
    "TiledCopy",
    "TiledMMA",
    "make_cotiled_copy",
    "make_tiled_copy",
    "make_tiled_copy_A",
    "make_tiled_copy_B",
    "make_tiled_copy_C",
    "make_tiled_copy_D",
    "make_tiled_copy_S",
    "make_tiled_mma",
    "partition_fragment_A",
    "partition_fragment_B",
    "partition_fragment_C",
    "partition_shape_A",
    "partition_shape_B",
    "partition_shape_C",
    "tile_shape",
    "tile_size",
]


@dataclass(frozen=True)
class TiledMMA(Drawable):
    """Atoms side by side: CuTe's ``TiledMMA``. Made by `make_tiled_mma`.

    Attributes
    ----------
    atom
        The instruction.
    atom_layout
        (M,N,K) of atoms -> their order.
    permutations
        For each of M, N, K: None, an extent, or a layout that the mode is reordered by before it is tiled.
    """

    atom: MMAAtom
    atom_layout: Layout
    permutations: tuple[Any, Any, Any]

    @cached_property
    def thr_layout_vmnk(self) -> Layout:
        """(thread of the atom, atom in M, in N, in K) -> thread."""
        layout: Layout = _core.tiled_product(self.atom.thr_id, self.atom_layout)
        return layout

    @property
    def size(self) -> int:
        """The number of threads that hold something of their own, CuTe's ``size(mma)``."""
        return self.thr_layout_vmnk.size

    def permutation_mnk(self, mode: int) -> Any:
        """Return what one mode of the data is divided by: its permutation, or the extent that the atoms cover."""
        permutation = self.permutations[mode]
        if permutation is not None:
            return permutation
        return Int(_core.size(self.atom.shape_mnk[mode]) * _core.size(self.thr_layout_vmnk, mode + 1))

    @cached_property
    def tile_shape(self) -> tuple[int, int, int]:
        """The (M,N,K) that one pass of all threads covers."""
        m, n, k = (self._tile_size(mode) for mode in range(3))
        return (int(m), int(n), int(k))

    def _tile_size(self, mode: int) -> Any:
        permutation = self.permutation_mnk(mode)
        return Int(permutation.size) if isinstance(permutation, Layout) else Int(_core.size(permutation))

    def thrfrg_A(self, tensor: Any) -> Any:  # noqa: N802 - CuTe's name
        """(M,K,...) -> ((ThrV,(ThrM,ThrK)),(FrgV,(RestM,RestK,...)))"""
        return self._thrfrg(tensor, (0, 2), self.atom.layout_a_tv)

    def thrfrg_B(self, tensor: Any) -> Any:  # noqa: N802
        """(N,K,...) -> ((ThrV,(ThrN,ThrK)),(FrgV,(RestN,RestK,...)))"""
        return self._thrfrg(tensor, (1, 2), self.atom.layout_b_tv)

    def thrfrg_C(self, tensor: Any) -> Any:  # noqa: N802
        """(M,N,...) -> ((ThrV,(ThrM,ThrN)),(FrgV,(RestM,RestN,...)))"""
        return self._thrfrg(tensor, (0, 1), self.atom.layout_c_tv)

    def _thrfrg(self, tensor: Any, modes: tuple[int, int], atom_tv: Layout) -> Any:
        if _core.rank(tensor) < 2:
            raise LayoutError(
                f"thrfrg: {_layout(tensor)} has rank {_core.rank(tensor)}, an operand has two modes or more; next: a layout (M,K), (N,K) or (M,N)"
            )
        # Reorder the operand for the atoms, cut it into atoms, give each atom's elements to (thread,value), and spread the
        # atoms over the threads.
        permuted = _core.logical_divide(tensor, tuple(self.permutation_mnk(mode) for mode in modes))
        atom_tile = tuple(Layout(Int(_core.size(self.atom.shape_mnk[mode]))) for mode in modes)
        atoms = _core.zipped_divide(permuted, atom_tile)
        values = _core.composition(atoms, (atom_tv, None))
        threads = tuple(Layout(Int(_core.size(self.thr_layout_vmnk, mode + 1))) for mode in modes)
        return _core.zipped_divide(values, (None, threads))

    def get_slice(self, thread: int) -> ThrMMA:
        """Return what one thread partitions operands with.

        As in CuTe, a thread that `thr_layout_vmnk` leaves out holds what one that it has holds: with SM70's quad pair, whose
        threads are 0 to 3 and 16 to 19, thread 4 is as thread 0.
        """
        threads = self.threads
        if not isinstance(thread, (int, np.integer)) or isinstance(thread, bool) or not 0 <= thread < threads:
            raise LayoutError(
                f"get_slice: there is no thread {thread!r}; next: give one of the {threads} that {self.thr_layout_vmnk} lies in"
            )
        layout = self.thr_layout_vmnk
        coord = _core.idx2crd(int(thread), layout.shape, layout.stride)
        v, m, n, k = (_core.crd2idx(c, s) for c, s in zip(coord, layout.shape, strict=True))
        return ThrMMA(self, (v, m, n, k))

    get_thread_slice = get_slice

    @property
    def threads(self) -> int:
        """One more than the greatest thread that a tile is spread over: `size`, unless `thr_layout_vmnk` leaves threads out."""
        return int(_core.size(self.layout_c_tv, 0))

    @cached_property
    def layout_a_tv(self) -> Layout:
        """(thread, value) -> index in the (M,K) tile."""
        layout: Layout = self.tv_A((self._tile_size(0), self._tile_size(2)))
        return layout

    @cached_property
    def layout_b_tv(self) -> Layout:
        """(thread, value) -> index in the (N,K) tile."""
        layout: Layout = self.tv_B((self._tile_size(1), self._tile_size(2)))
        return layout

    @cached_property
    def layout_c_tv(self) -> Layout:
        """(thread, value) -> index in the (M,N) tile."""
        layout: Layout = self.tv_C((self._tile_size(0), self._tile_size(1)))
        return layout

    def tv_A(self, tensor: Any) -> Any:  # noqa: N802
        """(M,K) -> (thread, value): the whole partition of an operand, or of a shape, in one layout."""
        return self._tv(self.thrfrg_A(_shape_or_tensor(tensor)), (Int(1), Int(0)))

    def tv_B(self, tensor: Any) -> Any:  # noqa: N802
        """(N,K) -> (thread, value)"""
        return self._tv(self.thrfrg_B(_shape_or_tensor(tensor)), (Int(0), Int(1)))

    def tv_C(self, tensor: Any) -> Any:  # noqa: N802
        """(M,N) -> (thread, value). The values are in the order of the accumulators."""
        return self._tv(self.thrfrg_C(_shape_or_tensor(tensor)), None)

    def _tv(self, tv: Any, expand: Any) -> Any:
        threads = self.thr_layout_vmnk
        if expand is not None:
            # (ThrV,(ThrX,ThrK)) -> (ThrV,(ThrM,ThrN,ThrK)): the threads along the third mode hold the same elements.
            mn = Layout((Int(_core.size(threads, 1)), Int(_core.size(threads, 2))), expand)
            tv = _core.composition(tv, ((None, (mn, None)), None))
        index_to_thread = _core.composition(
            Layout((Int(threads.size), Int(1)), (Int(1), Int(0))),
            _core.right_inverse(_core.make_layout(threads, _core.complement(threads))),
        )
        return _core.composition(tv, (index_to_thread, None))

    def __str__(self) -> str:
        return (
            "TiledMMA\n"
            f"  ThrLayoutVMNK:  {self.thr_layout_vmnk}\n"
            f"  PermutationMNK: {_core.print_tiler(self.permutations)}\n"
            f"{self.atom}"
        )

    def to_cpp(self) -> str:
        """Return the C++ type. Names are those of the namespace ``cute``. Raises LayoutError as `MMAAtom.to_cpp` does."""
        return f"TiledMMA<{self.atom.to_cpp()},{self.atom_layout.to_cpp()},{_tiler_to_cpp(self.permutations)}>"

    def __repr__(self) -> str:
        return f"make_tiled_mma({self.atom!r}, {self.atom_layout!r}, {self.permutations!r})"

    def _picture(self) -> Picture:
        title = f"TiledMMA of {self.atom.name}"
        return picture_of_mma(title, self.tile_shape, self.layout_a_tv, self.layout_b_tv, self.layout_c_tv)


@dataclass(frozen=True)
class ThrMMA:
    """One thread of a `TiledMMA`: ``partition_X`` gives its part of an operand, a tensor (MMA, MMA_M, MMA_K, ...)."""

    mma: TiledMMA
    thr_vmnk: tuple[int, int, int, int]

    def partition_A(self, tensor: Any) -> Tensor:  # noqa: N802 - CuTe's name
        """(M,K,...) -> (MMA,MMA_M,MMA_K,...)"""
        return self._partition(self.mma.thrfrg_A(as_tensor(tensor)), 1, 3)

    def partition_B(self, tensor: Any) -> Tensor:  # noqa: N802
        """(N,K,...) -> (MMA,MMA_N,MMA_K,...)"""
        return self._partition(self.mma.thrfrg_B(as_tensor(tensor)), 2, 3)

    def partition_C(self, tensor: Any) -> Tensor:  # noqa: N802
        """(M,N,...) -> (MMA,MMA_M,MMA_N,...)"""
        return self._partition(self.mma.thrfrg_C(as_tensor(tensor)), 1, 2)

    def _partition(self, tensor: Tensor, first: int, second: int) -> Tensor:
        thread = (self.thr_vmnk[0], (self.thr_vmnk[first], self.thr_vmnk[second]))
        result: Tensor = tensor[thread, (None, (None,) * _core.rank(tensor, 1, 1))]
        return result

    def fragment_layout_A(self, tensor: Any) -> Layout:  # noqa: N802
        """Return the layout of the registers that hold this thread's part of A: ``make_fragment_A``."""
        return _core.make_fragment_like(self.partition_A(tensor).layout)

    def fragment_layout_B(self, tensor: Any) -> Layout:  # noqa: N802
        """Return the layout of the registers that hold this thread's part of B."""
        return _core.make_fragment_like(self.partition_B(tensor).layout)

    def fragment_layout_C(self, tensor: Any) -> Layout:  # noqa: N802
        """Return the layout of this thread's accumulators: ``make_fragment_C``."""
        return _core.make_layout(self.partition_C(tensor).shape)

    def make_fragment_A(self, part: Any) -> Tensor:  # noqa: N802
        """Return registers, zeroed, for this thread's part of A, as `partition_A` gives it: of its type, or else the atom's."""
        return self._fragment("make_fragment_A", part, self.mma.atom.a, _core.make_fragment_like)

    def make_fragment_B(self, part: Any) -> Tensor:  # noqa: N802
        """Return registers, zeroed, for this thread's part of B."""
        return self._fragment("make_fragment_B", part, self.mma.atom.b, _core.make_fragment_like)

    def make_fragment_C(self, part: Any) -> Tensor:  # noqa: N802
        """Return this thread's accumulators, zeroed, for its part of C."""
        return self._fragment("make_fragment_C", part, self.mma.atom.c, lambda layout: Layout(layout.shape))

    def partition_fragment_A(self, tensor: Any) -> Tensor:  # noqa: N802
        """Return `make_fragment_A` of `partition_A`."""
        return self.make_fragment_A(self.partition_A(tensor))

    def partition_fragment_B(self, tensor: Any) -> Tensor:  # noqa: N802
        """Return `make_fragment_B` of `partition_B`."""
        return self.make_fragment_B(self.partition_B(tensor))

    def partition_fragment_C(self, tensor: Any) -> Tensor:  # noqa: N802
        """Return `make_fragment_C` of `partition_C`; a shape will do."""
        return self.make_fragment_C(self.partition_C(tensor))

    @staticmethod
    def _fragment(name: str, part: Any, value_type: Any, layout_of: Any) -> Tensor:
        if not isinstance(part, Tensor) or part.rank < 3:
            raise OperandError(
                f"{name}: give what partition_{name[-1]} returns, a tensor (MMA, ...) of 3 modes or more; next: "
                f"partition_fragment_{name[-1]}(tensor) does both"
            )
        return make_tensor(part.dtype if part.dtype is not None else value_type.name, layout_of(part.layout))

    def __str__(self) -> str:
        return f"ThrMMA\n  Thr VMNK: {_core.print_tiler(self.thr_vmnk)}\n{self.mma}"


@dataclass(frozen=True)
class TiledCopy(Drawable):
    """Copy atoms side by side: CuTe's ``TiledCopy``. Made by `make_tiled_copy` and its kin.

    Attributes
    ----------
    atom
        The instruction and the element type.
    layout_tv
        (thread, value) -> coordinate in the tile.
    tiler
        The tile of the data, by modes.
    """

    atom: CopyAtom
    layout_tv: Layout
    tiler: tuple[Any, ...]

    def __post_init__(self) -> None:
        threads, values = (int(_core.size(self.atom.val_layout_ref, mode)) for mode in range(2))
        if self.layout_tv.rank != 2:
            raise LayoutError(
                f"tiled copy: the TV layout {self.layout_tv} has rank {self.layout_tv.rank}, not 2; next: (threads, values)"
            )
        if self.size % threads:
            raise LayoutError(
                f"tiled copy: {self.size} threads are no multiple of the {threads} of {self.atom.name}; next: {threads} threads, or a multiple"
            )
        if _core.size(self.layout_tv, 1) % values:
            raise LayoutError(
                f"tiled copy: {int(_core.size(self.layout_tv, 1))} values for each thread are no multiple of the {values} of "
                f"{self.atom.name} with {self.atom.value_type}; next: give val_layout a multiple of {values} elements"
            )

    @property
    def size(self) -> int:
        """The number of threads."""
        return int(_core.size(self.layout_tv, 0))

    @property
    def tile_shape(self) -> tuple[int, ...]:
        """The extents of the tile."""
        return tuple(t.size if isinstance(t, Layout) else int(_core.size(t)) for t in self.tiler)

    def tidfrg_S(self, tensor: Any) -> Any:  # noqa: N802 - CuTe's name
        """(M,N,...) -> (Thr,(FrgV,FrgX),(RestM,RestN,...)) of a source."""
        return self._tidfrg(tensor, self.atom.val_layout_src)

    def tidfrg_D(self, tensor: Any) -> Any:  # noqa: N802
        """(M,N,...) -> (Thr,(FrgV,FrgX),(RestM,RestN,...)) of a destination."""
        return self._tidfrg(tensor, self.atom.val_layout_dst)

    def _tidfrg(self, tensor: Any, atom_layout: Layout) -> Any:
        if _core.rank(tensor) < len(self.tiler):
            raise LayoutError(
                f"tidfrg: {_layout(tensor)} has rank {_core.rank(tensor)}, the tiler {_core.print_tiler(self.tiler)} needs "
                f"{len(self.tiler)}; next: a layout with a mode for each of the tiler"
            )
        return self._tile_to_thrfrg(_core.zipped_divide(tensor, self.tiler), atom_layout)

    def _tile_to_thrfrg(self, tiled: Any, atom_layout: Layout) -> Any:
        # (thread,value) of the atom's operand -> (thread,value) that the TV layout is written in
        to_reference = _core.composition(_core.right_inverse(self.atom.val_layout_ref), atom_layout)
        atom_shape = tuple(Int(_core.size(self.atom.val_layout_ref, mode)) for mode in range(2))
        atoms = _core.composition(_core.zipped_divide(self.layout_tv, atom_shape), (to_reference, None))
        by_thread = _core.coalesce(_core.zip(atoms), (Int(1), (Int(1), Int(1))))
        values = _core.composition(tiled, (by_thread, None))
        if isinstance(values, Tensor):
            return values[(None, None), None]
        return _core.slice_(((None, None), None), values)

    def retile(self, tensor: Any) -> Any:
        """Return a fragment, (V,M,N,...), regrouped into the values that one instruction moves."""
        layout = _layout(tensor)
        v = Int(_core.size(layout, 0))
        tile = tuple(Int(extent) for extent in self.tile_shape)
        fragment = _core.upcast(_core.right_inverse(self.layout_tv).with_shape(tile), self.size * v)
        atom_values = Layout(Int(_core.size(self.atom.val_layout_ref, 1)))
        order = _core.zipped_divide(_core.logical_product(Layout(v), _core.right_inverse(fragment)), atom_values)
        tiled = _core.zipped_divide(tensor, (v, *_core.product_each(fragment.shape)))
        values = _core.composition(tiled, (order, None))
        coord = (None, (0, *(None,) * (layout.rank - 1)))
        return values[coord] if isinstance(values, Tensor) else _core.slice_(coord, values)

    @cached_property
    def layout_src_tv(self) -> Layout:
        """(thread, value) -> index in the tile, of the source."""
        return self._layout_of(self.atom.val_layout_src)

    @cached_property
    def layout_dst_tv(self) -> Layout:
        """(thread, value) -> index in the tile, of the destination."""
        return self._layout_of(self.atom.val_layout_dst)

    def _layout_of(self, atom_layout: Layout) -> Layout:
        tile = tuple(Int(t.size) if isinstance(t, Layout) else t for t in self.tiler)
        whole = _core.make_layout(Layout(tile), Layout(Int(1), Int(0)))
        result: Layout = _core.slice_((None, None, 0), self._tile_to_thrfrg(whole, atom_layout))
        return result

    def get_slice(self, thread: int) -> ThrCopy:
        """Return what one thread partitions tensors with."""
        if not isinstance(thread, int) or not 0 <= thread < self.size:
            raise LayoutError(f"get_slice: there is no thread {thread!r}; next: one of 0 to {self.size - 1}")
        return ThrCopy(self, thread)

    get_thread_slice = get_slice

    def __str__(self) -> str:
        return (
            "TiledCopy\n"
            f"  Tiler_MN:       {_core.print_tiler(self.tiler)}\n"
            f"  TiledLayout_TV: {self.layout_tv}\n"
            f"{self.atom}"
        )

    def to_cpp(self) -> str:
        """Return the C++ type. Names are those of the namespace ``cute``."""
        return f"TiledCopy<{self.atom.to_cpp()},{self.layout_tv.to_cpp()},{_tiler_to_cpp(self.tiler)}>"

    def __repr__(self) -> str:
        return f"TiledCopy({self.atom!r}, {self.layout_tv!r}, {self.tiler!r})"

    def _picture(self) -> Picture:
        return picture_of_copy(
            f"TiledCopy of {self.atom.name}", self.tile_shape, self.layout_src_tv, self.layout_dst_tv
        )


@dataclass(frozen=True)
class ThrCopy:
    """One thread of a `TiledCopy`."""

    copy: TiledCopy
    thread: int

    def partition_S(self, tensor: Any) -> Tensor:  # noqa: N802 - CuTe's name
        """(M,N,...) -> (CPY,CPY_M,CPY_N,...): this thread's part of a source."""
        return self._partition(as_tensor(tensor), self.copy.tidfrg_S)

    def partition_D(self, tensor: Any) -> Tensor:  # noqa: N802
        """(M,N,...) -> (CPY,CPY_M,CPY_N,...): this thread's part of a destination."""
        return self._partition(as_tensor(tensor), self.copy.tidfrg_D)

    def _partition(self, tensor: Tensor, tidfrg: Any) -> Tensor:
        result: Tensor = tidfrg(tensor)[self.thread, None, (None,) * tensor.rank if tensor.rank > 1 else None]
        return result

    def retile_S(self, tensor: Any) -> Any:  # noqa: N802
        """Regroup a fragment of another partition into this copy's values."""
        return self.copy.retile(tensor)

    def retile_D(self, tensor: Any) -> Any:  # noqa: N802
        """Regroup a fragment of another partition into this copy's values."""
        return self.copy.retile(tensor)

    def __str__(self) -> str:
        return f"ThrCopy\n  ThrIdx: {self.thread}\n{self.copy}"


# ---- Makers


def _tiler_to_cpp(tiler: Any) -> str:
    """Return the C++ type of a tiler: of extents and layouts, None for a mode that stays as it is."""
    if isinstance(tiler, tuple):
        return f"Tile<{','.join(map(_tiler_to_cpp, tiler))}>"
    if tiler is None:
        return "Underscore"
    return tiler.to_cpp() if isinstance(tiler, Layout) else f"Int<{int(_core.size(tiler))}>"


def make_tiled_mma(atom: MMAAtom, atom_layout: Any = None, permutations: Any = (None, None, None)) -> TiledMMA:
    """Return atoms laid out over M, N and K.

    Parameters
    ----------
    atom
        From `cute_py.atoms.mma`.
    atom_layout
        How many atoms along M, N and K, and in which order: a layout or a shape of rank 3 or less. One atom by default.
    permutations
        For M, N and K: None, an extent, or a layout that reorders the mode before it is cut into atoms.

    Raises LayoutError for more than three modes.
    """
    if not isinstance(atom, MMAAtom):
        raise OperandError(f"make_tiled_mma: atom must come from cute_py.atoms.mma, not {type(atom).__name__}")
    layout = _as_layout(
        "make_tiled_mma", "atom_layout", (Int(1), Int(1), Int(1)) if atom_layout is None else atom_layout
    )
    if layout.rank > 3:
        raise LayoutError(
            f"make_tiled_mma: atom_layout {layout} has rank {layout.rank}; its modes are M, N and K; next: Layout((2, 2, 1))"
        )
    tiler = tuple(permutations) if isinstance(permutations, (tuple, list)) else (permutations,)
    if len(tiler) > 3:
        raise LayoutError(
            f"make_tiled_mma: permutations has {len(tiler)} elements; they are for M, N and K; next: None for a mode that stays as it is"
        )
    first, second, third = (_static(p) for p in (*tiler, None, None, None)[:3])
    return TiledMMA(atom, _core.append(layout, 3), (first, second, third))


def make_tiled_copy(atom: CopyAtom, thr_layout: Any, val_layout: Any = None) -> TiledCopy:
    """Return a tiled copy from (m,n) -> thread and (m,n) -> value. Their raked product is the tile.

    Raises OperandError if the atom has no element type yet, LayoutError if threads or values are no multiple of the atom's.
    """
    _check_copy_atom("make_tiled_copy", atom)
    threads = _as_layout("make_tiled_copy", "thr_layout", thr_layout)
    values = _as_layout("make_tiled_copy", "val_layout", Layout(Int(1)) if val_layout is None else val_layout)
    layout_mn = _core.raked_product(threads, values)
    layout_tv = _core.right_inverse(layout_mn).with_shape(Int(threads.size), Int(values.size))
    return TiledCopy(atom, layout_tv, _core.product_each(layout_mn))


def make_tiled_copy_A(atom: CopyAtom, mma: TiledMMA) -> TiledCopy:  # noqa: N802 - CuTe's name
    """Return the tiled copy whose threads move what they hold of A in a tiled MMA."""
    return _copy_of_mma("make_tiled_copy_A", atom, mma, "layout_a_tv", (0, 2))


def make_tiled_copy_B(atom: CopyAtom, mma: TiledMMA) -> TiledCopy:  # noqa: N802
    """Return the tiled copy whose threads move what they hold of B in a tiled MMA."""
    return _copy_of_mma("make_tiled_copy_B", atom, mma, "layout_b_tv", (1, 2))


def make_tiled_copy_C(atom: CopyAtom, mma: TiledMMA) -> TiledCopy:  # noqa: N802
    """Return the tiled copy whose threads move what they hold of C in a tiled MMA."""
    return _copy_of_mma("make_tiled_copy_C", atom, mma, "layout_c_tv", (0, 1))


def make_tiled_copy_S(atom: CopyAtom, copy: TiledCopy) -> TiledCopy:  # noqa: N802
    """Return the tiled copy whose threads hold what they hold as source of another."""
    _check_copy_atom("make_tiled_copy_S", atom)
    return TiledCopy(atom, copy.layout_src_tv, copy.tiler)


def make_tiled_copy_D(atom: CopyAtom, copy: TiledCopy) -> TiledCopy:  # noqa: N802
    """Return the tiled copy whose threads hold what they hold as destination of another."""
    _check_copy_atom("make_tiled_copy_D", atom)
    return TiledCopy(atom, copy.layout_dst_tv, copy.tiler)


def make_cotiled_copy(atom: CopyAtom, atom_tv_layout: Layout, data_layout: Layout) -> TiledCopy:
    """Return the tiled copy whose (thread, value) go to given addresses of a data layout.

    Raises LayoutError if an address is not in the data layout.
    """
    _check_copy_atom("make_cotiled_copy", atom)
    tv, data = (
        _as_layout("make_cotiled_copy", name, value)
        for name, value in (("atom_tv_layout", atom_tv_layout), ("data_layout", data_layout))
    )
    beyond = Layout(Int(1), Int(0))
    tv_data = _core.composition(_core.make_layout(_core.left_inverse(data), beyond), tv)
    back = _core.composition(_core.make_layout(data, beyond), tv_data[1])
    if _core.coalesce(back) != _core.coalesce(tv[1]):
        raise LayoutError(
            f"make_cotiled_copy: {tv} goes to addresses that {data} does not have; next: a larger data_layout"
        )
    shape = _core.product_each(data)
    tiler = []
    for mode in range(len(shape)):
        unit = tuple(Int(int(i == mode)) for i in range(len(shape)))
        tiler.append(_core.filter(_core.composition(Layout(shape, unit), tv_data)))
    tile_to_data = _core.composition(Layout(shape), tuple(tiler))
    return TiledCopy(atom, _core.composition(_core.left_inverse(tile_to_data), tv_data), tuple(tiler))


def tile_shape(tiled: TiledMMA | TiledCopy) -> Any:
    """Return the (M,N,K) or (M,N) that one pass of all threads covers.

    >>> from cute_py import atoms
    >>> mma = make_tiled_mma(atoms.mma["UniversalFMA<float>"], Layout("(_16,_8,_1)"))
    >>> tile_shape(mma), tile_size(mma, 1)
    ((16, 8, 1), 8)
    """
    if not isinstance(tiled, (TiledMMA, TiledCopy)):
        raise OperandError(f"tile_shape: give a TiledMMA or a TiledCopy, not {type(tiled).__name__}")
    return tiled.tile_shape


def tile_size(tiled: TiledMMA | TiledCopy, mode: int) -> int:
    """Return the extent of one mode of `tile_shape`: CuTe's ``tile_size<0>(mma)``."""
    shape = tile_shape(tiled)
    if not isinstance(mode, (int, np.integer)) or isinstance(mode, bool) or not 0 <= mode < len(shape):
        raise LayoutError(
            f"tile_size: there is no mode {mode!r} in {shape}; next: count them from 0 to {len(shape) - 1}"
        )
    return int(_core.size(shape[mode]))


def partition_shape_A(mma: TiledMMA, shape_MK: Any) -> Any:  # noqa: N802 - CuTe's names
    """Return the shape (MMA,MMA_M,MMA_K,...) of a thread's part of an A of a shape (M,K,...).

    `partition_shape_B` and `partition_shape_C` do so for (N,K,...) and (M,N,...); ``partition_fragment_X`` gives registers of that shape.

    >>> from cute_py import atoms
    >>> mma = make_tiled_mma(atoms.mma["UniversalFMA<float>"], Layout("(_16,_8,_1)"))
    >>> print(*partition_shape_C(mma, (64, 32)))
    _1 4 4
    """
    return _part("partition_shape_A", mma, shape_MK).partition_A(_of_shape(shape_MK)).shape


def partition_shape_B(mma: TiledMMA, shape_NK: Any) -> Any:  # noqa: N802
    """Return the shape (MMA,MMA_N,MMA_K,...) of a thread's part of a B of a shape (N,K,...)."""
    return _part("partition_shape_B", mma, shape_NK).partition_B(_of_shape(shape_NK)).shape


def partition_shape_C(mma: TiledMMA, shape_MN: Any) -> Any:  # noqa: N802
    """Return the shape (MMA,MMA_M,MMA_N,...) of a thread's part of a C of a shape (M,N,...)."""
    return _part("partition_shape_C", mma, shape_MN).partition_C(_of_shape(shape_MN)).shape


def partition_fragment_A(mma: TiledMMA, shape_MK: Any) -> Tensor:  # noqa: N802
    """Return registers, zeroed, for a thread's part of an A of a shape (M,K,...)."""
    return _part("partition_fragment_A", mma, shape_MK).partition_fragment_A(_of_shape(shape_MK))


def partition_fragment_B(mma: TiledMMA, shape_NK: Any) -> Tensor:  # noqa: N802
    """Return registers, zeroed, for a thread's part of a B of a shape (N,K,...)."""
    return _part("partition_fragment_B", mma, shape_NK).partition_fragment_B(_of_shape(shape_NK))


def partition_fragment_C(mma: TiledMMA, shape_MN: Any) -> Tensor:  # noqa: N802
    """Return accumulators, zeroed, for a thread's part of a C of a shape (M,N,...)."""
    return _part("partition_fragment_C", mma, shape_MN).partition_fragment_C(_of_shape(shape_MN))


# ---- Helpers


def _part(operation: str, mma: Any, shape: Any) -> ThrMMA:
    """Return the slice whose parts have the shape that every thread's has."""
    if not isinstance(mma, TiledMMA):
        raise OperandError(f"{operation}: mma must be a TiledMMA, not {type(mma).__name__}")
    if isinstance(shape, Tensor):
        raise OperandError(f"{operation}: give a shape; next: mma.get_slice(thread).{operation}(tensor) takes a tensor")
    return mma.get_slice(0)


def _of_shape(shape: Any) -> Layout:
    return _core.make_layout(shape)


def as_tensor(value: Any) -> Tensor:
    """Return a tensor itself, and of a layout the tensor of its indices."""
    return value if isinstance(value, Tensor) else make_tensor(value)


def _shape_or_tensor(value: Any) -> Any:
    return Layout(value) if isinstance(value, tuple) else value


def _layout(value: Any) -> Any:
    return value.layout if isinstance(value, Tensor) else value


def _static(value: Any) -> Any:
    """Return a permutation with static integers, as C++ requires them."""
    if isinstance(value, (tuple, list)):
        return tuple(_static(v) for v in value)
    return Int(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _as_layout(operation: str, name: str, value: Any) -> Layout:
    if isinstance(value, (Layout, str)):
        return _core.make_layout(value) if isinstance(value, str) else value
    if isinstance(value, (int, tuple, list)):
        return _core.make_layout(_static(value))
    raise LayoutError(f"{operation}: {name} must be a Layout or a shape, not {type(value).__name__}")


def _check_copy_atom(operation: str, atom: Any) -> None:
    if isinstance(atom, CopyTraits):
        raise OperandError(f'{operation}: give the atom an element type: {atom!r}.atom("float")')
    if not isinstance(atom, CopyAtom):
        raise OperandError(f"{operation}: atom must come from cute_py.atoms.copy, not {type(atom).__name__}")


def _copy_of_mma(operation: str, atom: CopyAtom, mma: TiledMMA, layout: str, modes: tuple[int, int]) -> TiledCopy:
    _check_copy_atom(operation, atom)
    if not isinstance(mma, TiledMMA):
        raise OperandError(f"{operation}: mma must be a TiledMMA, not {type(mma).__name__}")
    tile = tuple(Int(mma.tile_shape[mode]) for mode in modes)
    return TiledCopy(atom, getattr(mma, layout), tile)
