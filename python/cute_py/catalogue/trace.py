"""A record of who touched what while a kernel ran in the emulator, and an audit of its shared memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from cute_py import _core
from cute_py._dtypes import NOT_IN_NUMPY, bits_of_numbers
from cute_py.catalogue.config import KernelConfig
from cute_py.catalogue.playback import SPACES, Place, Playback
from cute_py.errors import OperandError
from cute_py.machine.banks import NOTHING, WARP, BankConflicts, wavefronts

__all__ = ["Trace", "audit", "trace"]

# What A and B, and C, are in a trace.
_OWN_FACTOR = {"int32": "int8", "tfloat32": "float32"} | {
    name: name for name in ("float32", "float64", "complex64", "complex128")
}
_OWN_RESULT = {name: name for name in ("float64", "complex64", "complex128", "int32")}
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
        block_n, thread, phase (barriers that the thread had passed), offset (in bytes, from the first element of the
        operand or of the CTA's shared memory), bytes, space (0 to 3: A, B, C, shared memory), is_write.
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
        if space not in SPACES:
            raise OperandError(f"trace.of: space must be one of {', '.join(SPACES)}, not {space!r}")
        chosen = self.accesses["space"] == SPACES.index(space)
        if is_write is not None:
            chosen &= self.accesses["is_write"] == is_write
        accesses: npt.NDArray[np.void] = self.accesses[chosen]
        return accesses

    def writers(self) -> npt.NDArray[np.int32]:
        """Return, for each element of C, (block_m, block_n, thread, times written): an array (M, N, 4); -1 where nobody
        wrote.
        """
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

    def instructions(self, warp: int = 0, block: tuple[int, int] = (0, 0)) -> Playback:
        """Return what a warp of a block did, access by access: a sequence of `Instruction`, each with its cost and its
        picture.

        Raises OperandError for a block, or a warp, that touched nothing in this trace.

        >>> from cute_py import kernels
        >>> print(kernels()["sgemm_1_nt_f32"].trace().instructions(warp=1)[0])
        phase 0: 32 threads of warp 1 read 4 bytes of A, thread 32 at A(0,1): 4 segments of 32 bytes, 4 would do
        """
        places = {
            "A": _place("A", self.A),
            "B": _place("B", self.B),
            "C": _place("C", self.C),
            "shared": _in_shared(self.kernel),
        }
        return Playback(self.kernel, self.accesses, block, warp, places)

    def __repr__(self) -> str:
        m, n, k = *self.C.shape, self.A.shape[1]
        counts = ", ".join(f"{len(self.of(space))} of {space}" for space in SPACES)
        return f"<Trace of {self.kernel}, M={m} N={n} K={k}: {counts}>"


def trace(kernel: Any, extents: tuple[int, int, int], spaces: tuple[str, ...]) -> Trace:
    """Run a variant in the emulator on matrices of its own and note every access."""
    for space in spaces:
        if space not in SPACES:
            raise OperandError(f"trace: spaces are {', '.join(SPACES)}, not {space!r}")
    m, n, k = extents
    factor = next(name for name in (_OWN_FACTOR.get(kernel.compute), *kernel.factors) if name in kernel.factors)
    result = _OWN_RESULT.get(kernel.compute, "float32")
    layout = "nt" if kernel.layout == "any" else kernel.layout
    rng = np.random.default_rng(0)
    a = _integers(rng, (m, k), factor, "C" if layout[0] == "t" else "F")
    b = _integers(rng, (n, k), factor, "C" if layout[1] == "n" else "F")
    c = np.zeros((m, n), result, order="F")

    least = _least_accesses(kernel, extents, a.itemsize, c.itemsize, spaces)
    data = None
    if least <= _LIMIT and m * n * k <= _MOST_MULTIPLIED:
        groups = _modes_of_m(kernel, m), (n,), (k,), ()
        mask = sum(1 << SPACES.index(space) for space in set(spaces))
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
    """Small whole numbers; of types that NumPy lacks, their bits."""
    values = rng.integers(-4, 5, shape)
    values = bits_of_numbers(values, dtype) if dtype in NOT_IN_NUMPY else values.astype(dtype)
    return np.asarray(values, order=order)


def _operand(array: npt.NDArray[Any], modes: tuple[int, ...]) -> tuple[int, tuple[tuple[int, ...], ...]]:
    """The address, and the strides of each group in elements; the first group has these modes."""
    first, second = (stride // array.itemsize for stride in array.strides)
    strides = tuple(first * prod(modes[:i]) for i in range(len(modes)))
    return array.__array_interface__["data"][0], (strides, (second,), ())


def _place(name: str, matrix: npt.NDArray[Any]) -> Place:
    """Return how the element of a matrix at a byte is called."""
    first, second = matrix.strides

    def place(byte: int) -> str:
        if first <= second:
            column, rest = divmod(byte, second)
            return f"{name}({rest // first},{column})"
        row, rest = divmod(byte, first)
        return f"{name}({row},{rest // second})"

    return place


def _in_shared(kernel: str) -> Place:
    """Return how the element of a CTA's shared memory at a byte is called: sA and sB are the operands' parts of it."""
    config = KernelConfig.of(kernel)
    assert config is not None  # only kernels that have one are traced
    parts = []
    for name, layout, start, element in (
        ("sA", config.smem_layout_a, config.smem_offset_a, config.type_a),
        ("sB", config.smem_layout_b, config.smem_offset_b, config.type_b),
    ):
        if layout is not None:
            indices = np.asarray(layout(np.arange(layout.size)))
            coordinate = np.full(int(indices.max()) + 1, -1)
            coordinate[indices] = np.arange(layout.size)
            parts.append((name, start, element.bits // 8, coordinate, _core.product_each(_core.shape(layout))))

    def place(byte: int) -> str:
        for name, start, size, coordinate, shape in parts:
            index = (byte - start) // size
            if 0 <= index < len(coordinate) and coordinate[index] >= 0:
                return name + _core.print_tiler(_core.idx2crd(int(coordinate[index]), shape))
        return f"byte {byte}"

    return place


def audit(trace: Trace) -> dict[str, BankConflicts]:
    """Return what the accesses of a trace to shared memory cost: writes and reads of each width.

    Trace whole tiles: where threads of a warp part, as at the edge of a matrix, their accesses cannot be paired.

    >>> from cute_py import kernels
    >>> for access, cost in audit(kernels()["sgemm_sm80_nt_f32"].trace(spaces=("shared",))).items():
    ...     print(access, cost)
    write of 16 bytes: 256 wavefronts in 64 instructions, no bank conflicts
    read of 16 bytes: 3168 wavefronts in 1056 instructions, no bank conflicts
    """
    shared = trace.of("shared")
    if not len(shared):
        raise OperandError(
            'audit: the trace has no accesses to shared memory\n  next: trace a kernel that has some, with spaces=("shared",)'
        )
    costs: dict[str, BankConflicts] = {}
    for block in np.unique(shared[["block_m", "block_n"]]):
        inside = shared[(shared["block_m"] == block["block_m"]) & (shared["block_n"] == block["block_n"])]
        threads = int(inside["thread"].max()) + 1
        order = np.argsort(inside["thread"], kind="stable")
        by_thread = np.split(inside[order], np.searchsorted(inside["thread"][order], range(1, threads)))
        for warp in range(0, threads, WARP):
            for name, cost in _audit_warp(trace, by_thread[warp : warp + WARP]):
                costs[name] = costs.get(name, NOTHING) + cost
    return costs


def _audit_warp(trace: Trace, lanes: Sequence[npt.NDArray[np.void]]) -> Iterable[tuple[str, BankConflicts]]:
    lengths = {len(lane) for lane in lanes}
    table = np.stack(lanes) if len(lengths) == 1 else None
    if table is None or any(np.any(table[f] != table[f][:1]) for f in ("bytes", "is_write", "phase")):
        raise OperandError(
            f"audit: the threads of a warp of {trace.kernel} part\n  next: trace whole tiles, trace() without extents"
        )
    for instruction in table.T:
        width = int(instruction["bytes"][0])
        name = f"{'write' if instruction['is_write'][0] else 'read'} of {width} bytes:"
        yield name, wavefronts(instruction["offset"], width, is_write=bool(instruction["is_write"][0]))
