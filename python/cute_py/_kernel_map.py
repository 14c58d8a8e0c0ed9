"""The layouts of a kernel, who owns which element, and a record of who touched what."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from cute_py import _core
from cute_py._core import ComposedLayout, Layout
from cute_py.atoms import CopyAtom, CopyTraits, MMAAtom, ValueType
from cute_py.errors import OperandError
from cute_py.tensor import Tensor, make_tensor
from cute_py.tiled import TiledCopy, TiledMMA

__all__ = ["KernelConfig", "Load", "Loads", "Owner", "Trace", "trace"]

WARP = 32


@dataclass(frozen=True)
class Owner:
    """Who computes an element of C.

    Attributes
    ----------
    block
        (blockIdx.x, blockIdx.y), the coordinate of the CTA's tile in C. Of a kernel for two modes in M, ((i, j), blockIdx.y) with
        the tile's coordinate along each of them.
    thread
        threadIdx.x.
    register
        The index of the accumulator in the thread's fragment of C.
    warp, lane
        ``thread // 32`` and ``thread % 32``.
    """

    block: tuple[Any, int]
    thread: int
    register: int

    @property
    def warp(self) -> int:
        return self.thread // WARP

    @property
    def lane(self) -> int:
        return self.thread % WARP


@dataclass(frozen=True)
class Load:
    """One element on its way to shared memory: its coordinate in the operand, (m,k) or (n,k), and its element there."""

    coordinate: tuple[int, int]
    shared: int


@dataclass(frozen=True)
class Loads:
    """What one thread copies of one tile, in the order of its instructions.

    ``vector_a`` and ``vector_b`` are the elements that one instruction moves, ``stage`` the stage of shared memory.
    """

    a: tuple[Load, ...]
    b: tuple[Load, ...]
    vector_a: int
    vector_b: int
    stage: int


@dataclass(frozen=True)
class KernelConfig:
    """Every layout of a kernel, lifted from the types that it was compiled from.

    Attributes
    ----------
    cta_tiler
        (BLK_M, BLK_N, BLK_K).
    smem_layout_a, smem_layout_b
        (m,k,...) and (n,k,...) -> element of the operand's shared memory. None where A goes straight to registers; of `gemm_small`
        those of k-major products of 64x64.
    smem_offset_a, smem_offset_b
        Where that begins in the CTA's shared memory, in bytes.
    type_a, type_b, type_c
        The element types.
    thread_layout_a, thread_layout_b, thread_layout_c
        Coordinate -> thread, of a kernel that partitions by thread layouts; else None.
    tiled_copy_a, tiled_copy_b, tiled_mma
        Of a kernel that partitions by these; else None.
    owner_layout_c
        (thread,value) -> index in the tile of C, of a kernel whose threads add up what others have multiplied; else None.
    """

    cta_tiler: tuple[Any, int, int]
    smem_layout_a: Layout | ComposedLayout | None
    smem_layout_b: Layout | ComposedLayout
    smem_offset_a: int
    smem_offset_b: int
    type_a: ValueType
    type_b: ValueType
    type_c: ValueType
    thread_layout_a: Layout | None
    thread_layout_b: Layout | None
    thread_layout_c: Layout | None
    tiled_copy_a: TiledCopy | None
    tiled_copy_b: TiledCopy | None
    tiled_mma: TiledMMA | None
    owner_layout_c: Layout | None

    @classmethod
    def of(cls, name: str) -> KernelConfig | None:
        """Return the layouts of a variant, None of one that is no CuTe kernel."""
        record = _core.config(name)
        if record is None:
            return None
        return cls(
            cta_tiler=record["cta_tiler"],
            smem_layout_a=record["smem_a"],
            smem_layout_b=record["smem_b"],
            smem_offset_a=record["smem_offset_a"],
            smem_offset_b=record["smem_offset_b"],
            type_a=ValueType(*record["a"]),
            type_b=ValueType(*record["b"]),
            type_c=ValueType(*record["c"]),
            thread_layout_a=record["threads_a"],
            thread_layout_b=record["threads_b"],
            thread_layout_c=record["threads_c"],
            tiled_copy_a=_tiled_copy(record["copy_a"]),
            tiled_copy_b=_tiled_copy(record["copy_b"]),
            tiled_mma=_tiled_mma(record["mma"]),
            owner_layout_c=record["owners_c"],
        )

    @property
    def tile_mn(self) -> tuple[int, int]:
        """(BLK_M, BLK_N), each as one number."""
        return int(_core.size(self.cta_tiler[0])), int(self.cta_tiler[1])

    @cached_property
    def layout_c_tv(self) -> Layout:
        """(thread, accumulator) -> index in the column-major (BLK_M,BLK_N) tile."""
        if self.owner_layout_c is not None:
            return self.owner_layout_c
        tile = Layout(self.tile_mn)
        if self.tiled_mma is not None:
            layout: Layout = self.tiled_mma.tv_C(tile)
            return layout
        assert self.thread_layout_c is not None
        return _partition_tv(tile, self.thread_layout_c)

    @cached_property
    def owners(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """The thread and the accumulator of every element of a tile: two (BLK_M,BLK_N) arrays."""
        m, n = self.tile_mn
        tv = self.layout_c_tv
        threads, values = int(_core.size(tv, 0)), int(_core.size(tv, 1))
        index = np.array(_core.layout_values(tv, tv.size)).reshape(values, threads)
        thread, register = np.full(m * n, -1, np.int32), np.full(m * n, -1, np.int32)
        thread[index] = np.arange(threads, dtype=np.int32)[None, :]
        register[index] = np.arange(values, dtype=np.int32)[:, None]
        return thread.reshape(n, m).T, register.reshape(n, m).T

    def owner_of(self, i: int | tuple[int, int], j: int) -> Owner:
        """The owner of a row, one number or one for each mode of M, and a column."""
        n = self.tile_mn[1]
        if isinstance(i, tuple):
            tile = self.cta_tiler[0]
            block: Any = (i[0] // tile[0], i[1] // tile[1])
            row = i[0] % tile[0] + i[1] % tile[1] * tile[0]
        else:
            block, row = i // self.tile_mn[0], i % self.tile_mn[0]
        thread, register = self.owners
        return Owner((block, j // n), int(thread[row, j % n]), int(register[row, j % n]))

    def loads_of(self, block: tuple[int, int], thread: int, k_tile: int, stages: int) -> Loads:
        stage = k_tile % stages
        k = int(self.cta_tiler[2])
        parts = []
        for operand, extent, where in (("a", self.cta_tiler[0], block[0]), ("b", self.cta_tiler[1], block[1])):
            source, destination, vector = self.copy_partition(operand, thread, stage)
            origin = (where * int(extent), k_tile * k)
            loads = []
            for i in range(source.size):
                index = int(source(i))
                coordinate = (origin[0] + index % int(extent), origin[1] + index // int(extent))
                loads.append(Load(coordinate, int(destination(i))))
            parts.append((tuple(loads), vector))
        return Loads(parts[0][0], parts[1][0], parts[0][1], parts[1][1], stage)

    def copy_partition(self, operand: str, thread: int, stage: int) -> tuple[Tensor, Tensor, int]:
        """Return a thread's part of a tile of A or B, of its shared memory, and the elements that an instruction moves."""
        extent = self.cta_tiler[0 if operand == "a" else 1]
        tile = make_tensor(Layout((extent, self.cta_tiler[2])))
        layout = self.smem_layout_a if operand == "a" else self.smem_layout_b
        assert layout is not None
        smem = make_tensor(layout)
        if smem.rank == 3:
            smem = smem[None, None, stage]
        tiled_copy = self.tiled_copy_a if operand == "a" else self.tiled_copy_b
        if tiled_copy is not None:
            part = tiled_copy.get_slice(thread)
            return part.partition_S(tile), part.partition_D(smem), int(_core.size(tiled_copy.atom.val_layout_ref, 1))
        threads = self.thread_layout_a if operand == "a" else self.thread_layout_b
        assert threads is not None
        by_thread = _core.right_inverse(threads)
        return (
            _partition(tile, threads, by_thread)[thread, None],
            _partition(smem, threads, by_thread)[thread, None],
            1,
        )


def _partition(tensor: Any, threads: Layout, by_thread: Layout) -> Any:
    """(m,n) -> (thread, value) of `local_partition`."""
    tiled = _core.zipped_divide(tensor, _core.product_each(threads))
    return _core.composition(tiled, (by_thread, None))


def _partition_tv(tile: Layout, threads: Layout) -> Layout:
    layout: Layout = _partition(tile, threads, _core.right_inverse(threads))
    return layout


def _copy_traits(record: dict[str, Any]) -> CopyTraits:
    return CopyTraits(**record)


def _tiled_copy(record: dict[str, Any] | None) -> TiledCopy | None:
    if record is None:
        return None
    atom = CopyAtom(_copy_traits(record["atom"]), ValueType(*record["value_type"]))
    return TiledCopy(atom, record["layout_tv"], record["tiler"])


def _tiled_mma(record: dict[str, Any] | None) -> TiledMMA | None:
    if record is None:
        return None
    atom = dict(record["atom"])
    types = {key: ValueType(*atom[key]) for key in "abcd"}
    return TiledMMA(MMAAtom(**{**atom, **types}), record["atom_layout"], record["permutations"])


# ---- Traces

_SPACES = ("A", "B", "C", "shared")
# What A and B, and C, are in a trace.
_OWN_FACTOR = {"int32": "int8", "tfloat32": "float32"} | {
    name: name for name in ("float32", "float64", "complex64", "complex128")
}
_OWN_RESULT = {"tfloat32": "float32"} | {
    name: name for name in ("float32", "float64", "complex64", "complex128", "int32")
}
_LIMIT = 50_000_000  # accesses; 2 GB of them
_MOST_MULTIPLIED = 1 << 28  # multiply-adds; the emulator does some 20 million in a second

ACCESS = np.dtype(
    [
        ("block_m", "i4"),
        ("block_n", "i4"),
        ("thread", "i4"),
        ("phase", "i4"),
        ("offset", "i8"),
        ("bytes", "i4"),
        ("space", "u1"),
        ("is_write", "?"),
        ("unused", "u2"),
    ]
)


@dataclass(frozen=True)
class Trace:
    """Every access that a kernel made in the emulator.

    Attributes
    ----------
    kernel
        The name of the variant.
    accesses
        A structured array in the order of the emulator, which runs each thread from one barrier to the next: block_m,
        block_n, thread, phase (barriers that the thread had passed), offset (in bytes, from the first element of the operand
        or of the CTA's shared memory), bytes, space (0 to 3: A, B, C, shared memory), is_write.
    A, B, C
        The matrices of the run.
    """

    kernel: str
    accesses: npt.NDArray[np.void]
    A: npt.NDArray[Any]
    B: npt.NDArray[Any]
    C: npt.NDArray[Any]

    def of(self, space: str, *, is_write: bool | None = None) -> npt.NDArray[np.void]:
        """Return the accesses to ``"A"``, ``"B"``, ``"C"`` or ``"shared"``."""
        if space not in _SPACES:
            raise OperandError(f"trace.of: space must be one of {', '.join(_SPACES)}, not {space!r}")
        chosen = self.accesses["space"] == _SPACES.index(space)
        if is_write is not None:
            chosen &= self.accesses["is_write"] == is_write
        accesses: npt.NDArray[np.void] = self.accesses[chosen]
        return accesses

    def writers(self) -> npt.NDArray[np.int32]:
        """Return, for each element of C, (block_m, block_n, thread, times written): an array (M, N, 4); -1 where nobody wrote."""
        m, n = self.C.shape
        writers = np.full((m, n, 4), -1, np.int32)
        writers[..., 3] = 0
        writes = self.of("C", is_write=True)
        for vector in np.unique(writes["bytes"]):
            some = writes[writes["bytes"] == vector]
            size = self.C.itemsize
            if vector < size:  # a part of a complex number: its first one counts
                some = some[some["offset"] % size == 0]
            for element in range(max(int(vector) // size, 1)):
                index = some["offset"] // size + element
                step_m, step_n = (stride // size for stride in self.C.strides)
                i, j = (index % step_n, index // step_n) if step_m == 1 else (index // step_m, index % step_m)
                writers[i, j, 0], writers[i, j, 1], writers[i, j, 2] = some["block_m"], some["block_n"], some["thread"]
                np.add.at(writers, (i, j, np.full_like(i, 3)), 1)
        return writers

    def __repr__(self) -> str:
        m, n, k = *self.C.shape, self.A.shape[1]
        counts = ", ".join(f"{len(self.of(space))} of {space}" for space in _SPACES)
        return f"<Trace of {self.kernel}, M={m} N={n} K={k}: {counts}>"


def trace(kernel: Any, extents: tuple[int, int, int], spaces: tuple[str, ...]) -> Trace:
    """Run a variant in the emulator on matrices of its own and note every access."""
    for space in spaces:
        if space not in _SPACES:
            raise OperandError(f"trace: spaces are {', '.join(_SPACES)}, not {space!r}")
    m, n, k = extents
    factor = next(name for name in (_OWN_FACTOR[kernel.compute], *kernel.factors) if name in kernel.factors)
    result = _OWN_RESULT[kernel.compute]
    layout = "nt" if kernel.layout == "any" else kernel.layout
    rng = np.random.default_rng(0)
    a = _integers(rng, (m, k), factor, "C" if layout[0] == "t" else "F")
    b = _integers(rng, (n, k), factor, "C" if layout[1] == "n" else "F")
    c = np.zeros((m, n), result, order="F")

    least = _least_accesses(kernel, extents, a.itemsize, c.itemsize, spaces)
    data = None
    if least <= _LIMIT and m * n * k <= _MOST_MULTIPLIED:
        groups = _modes_of_m(kernel, m), (n,), (k,), ()
        mask = sum(1 << _SPACES.index(space) for space in set(spaces))
        operands = _operand(a, groups[0]), _operand(b, groups[1]), _operand(c, groups[0])
        data = _core.trace(kernel.name, groups, *operands, factor, result, mask, _LIMIT)
    if data is None:
        raise OperandError(
            f"trace: M={m} N={n} K={k} are more than {_LIMIT} accesses of {kernel.name}, or more than "
            f"{_MOST_MULTIPLIED} multiply-adds\n  next: trace fewer spaces, or one tile, trace(): every block does the same"
        )
    return Trace(kernel.name, np.frombuffer(data, ACCESS), a, b, c)


def _least_accesses(kernel: Any, extents: tuple[int, int, int], item: int, item_c: int, spaces: tuple[str, ...]) -> int:
    """How many accesses there are at the least: by vectors of 16 bytes, and each tile once."""
    m, n, k = extents
    bytes_of: dict[str, int]
    blocks_m, blocks_n = (-(-extent // tile) for extent, tile in zip(extents[:2], kernel.tile[:2], strict=True))
    bytes_of = {"A": m * k * item * blocks_n, "B": n * k * item * blocks_m, "C": m * n * item_c}
    bytes_of["shared"] = bytes_of["B"]
    return sum(bytes_of[space] for space in set(spaces)) // 16


def _modes_of_m(kernel: Any, m: int) -> tuple[int, ...]:
    """The modes of M in a trace: one, or two of a kernel that takes them as such."""
    if kernel.modes_m == kernel.modes:
        return (m,)
    return (m // 2, 2) if m % 2 == 0 else (m, 1)


def _integers(rng: np.random.Generator, shape: tuple[int, int], dtype: str, order: Any) -> npt.NDArray[Any]:
    """Small whole numbers; of bfloat16, which NumPy lacks, their bits."""
    values = rng.integers(-4, 5, shape)
    if dtype == "bfloat16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16, order=order)
    return values.astype(dtype, order=order)


def _operand(array: npt.NDArray[Any], modes: tuple[int, ...]) -> tuple[int, tuple[tuple[int, ...], ...]]:
    """The address, and the strides of each group in elements; the first group has these modes."""
    first, second = (stride // array.itemsize for stride in array.strides)
    strides = tuple(first * prod(modes[:i]) for i in range(len(modes)))
    return array.__array_interface__["data"][0], (strides, (second,), ())
