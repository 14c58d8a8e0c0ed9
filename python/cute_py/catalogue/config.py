"""The layouts of a kernel, and who owns which element."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cute_py import _core, tables
from cute_py._core import ComposedLayout, Layout
from cute_py.atoms import CopyAtom, CopyTraits, MMAAtom, ValueType
from cute_py.atoms.tiled import TiledCopy, TiledMMA
from cute_py.layout.tensor import Tensor, make_tensor

__all__ = ["KernelConfig", "Load", "Loads", "Owner", "Roles"]

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


class Roles(NamedTuple):
    """The tasks of the threads of a CTA.

    Attributes
    ----------
    multiplying
        Threads, the first ones, that multiply and write C.
    copying
        Threads of the producer, behind them, of which one starts TMA loads.
    of_tile
        Threads that share a tile. If fewer than multiply, warpgroups alternate: one multiplies while the other writes.
    """

    multiplying: int
    copying: int
    of_tile: int


@dataclass(frozen=True)
class KernelConfig:
    """Every layout of a kernel, lifted from the types that it was compiled from.

    Attributes
    ----------
    cpp_type
        What C++ calls the Config, whole: the type in csrc/kernels that has all that follows as members.
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
    box_a, box_b
        Rows and steps of k, and columns and steps of k, of a box that TMA loads; else None. Two CTAs that share a
        tile load half of each (multicast).
    roles
        Who does what, of a kernel whose warpgroups have tasks of their own; else None.
    """

    cpp_type: str
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
    box_a: tuple[int, int] | None
    box_b: tuple[int, int] | None
    roles: Roles | None

    @classmethod
    def of(cls, name: str) -> KernelConfig | None:
        """Return the layouts of a variant, None of one that is no CuTe kernel."""
        record = _record_of(name)
        if record is None:
            return None
        special: dict[str, Any] = {
            "tiled_copy_a": _tiled_copy(record["tiled_copy_a"]),
            "tiled_copy_b": _tiled_copy(record["tiled_copy_b"]),
            "tiled_mma": _tiled_mma(record["tiled_mma"]),
            "box_a": record["box_a"] and tuple(record["box_a"]),
            "box_b": record["box_b"] and tuple(record["box_b"]),
            "roles": record["roles"] and Roles(*record["roles"]),
        }
        return cls(**_values({key: value for key, value in record.items() if key not in special}), **special)

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


def _record_of(name: str) -> dict[str, Any] | None:
    """Return what is known of a variant's layouts: from the package's table, or from the unit that brought it."""
    table = tables.read("kernels")
    if name in table:
        config: dict[str, Any] | None = table[name]["config"]
        return config
    text = _core.config(name)
    if text is None:
        return None
    import json  # only kernels that came with a unit need it

    record: dict[str, Any] = json.loads(text)
    return record


def _value(value: Any) -> Any:
    """Return a value of such a record: text in CuTe's notation, a type as a list of its name and bits, or as it is."""
    if isinstance(value, str):
        return _core.parse(value)
    if isinstance(value, list):
        return ValueType(*value)
    return value


def _values(record: dict[str, Any]) -> dict[str, Any]:
    return {key: value if key in ("name", "cpp_type") else _value(value) for key, value in record.items()}


def _tiled_copy(record: dict[str, Any] | None) -> TiledCopy | None:
    if record is None:
        return None
    atom = CopyAtom(CopyTraits(**_values(record["atom"])), ValueType(*record["value_type"]))
    return TiledCopy(atom, _core.parse(record["layout_tv"]), _core.parse(record["tiler"]))


def _tiled_mma(record: dict[str, Any] | None) -> TiledMMA | None:
    if record is None:
        return None
    atom = MMAAtom(**_values(record["atom"]))
    return TiledMMA(atom, _core.parse(record["atom_layout"]), _core.parse(record["permutations"]))
