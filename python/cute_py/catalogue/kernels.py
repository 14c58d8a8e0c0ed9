"""The kernels."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np

from cute_py import _core
from cute_py._core import ComposedLayout, Layout
from cute_py._dtypes import STEPS, Compute
from cute_py._files import write_whole
from cute_py.atoms.tiled import TiledCopy, TiledMMA
from cute_py.catalogue.config import KernelConfig, Loads, Owner
from cute_py.catalogue.trace import Trace, trace
from cute_py.drawing.picture import Drawable, Picture
from cute_py.drawing.subjects import picture_of_tv
from cute_py.errors import OperandError, UnsupportedProblemError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Kernel", "Kernels", "kernels"]

_LARGEST_TRACED = 4096


@dataclass(frozen=True)
class Kernel(Drawable):
    """One kernel variant.

    Attributes
    ----------
    name
        Of the variant, such as ``"sgemm_sm80_nt_f32"``.
    kernel
        What it is a variant of, such as ``"sgemm_sm80"``. Naming this lets the variant be chosen.
    layout
        ``"nt"``, ``"tn"``, ``"nn"`` or ``"tt"``, the majornesses that it was made for, or ``"any"``.
    targets
        Where it runs: ``"cuda"`` and ``"emulator"``, or ``"cpu"``.
    not_built
        The targets that this build has no code for: ``"cuda"``, where it was built without GPU kernels, or without this
        one's architecture. Such a variant can be explained, drawn and chosen for a `Device`, and it runs in the
        emulator.
    compute
        What products are formed and summed in: ``"float32"``, ... Of the kernels of `permute` ``"copy"``. Of those that
        emulate precision what they do: ``"split"``, ``"planes"``, ``"residues"`` or ``"combine"``.
    factors, results
        The types that A and B, and C, may have.
    one_type
        True: A and B have the same type.
    conjugates
        Whether it can multiply by the conjugate of A or B.
    modes, modes_m
        How many modes each of N and K, and M, may have; 1 is a GEMM.
    most_m, most_n
        The most rows and columns of C that it takes; None for any number.
    tile
        (BLK_M, BLK_N, BLK_K) of a CTA, in elements; of a CPU kernel, the register tile and the block of K.
    threads
        Per CTA; 1 for a CPU kernel, which is given its threads by `set_num_threads`.
    ctas_per_multiprocessor
        CTAs that a multiprocessor of an H100 has room for at a time; 0 of a CPU kernel.
    stages
        Tiles of shared memory in flight.
    shared_bytes
        Shared memory per CTA, in bytes.
    predicated
        True: any extents, and any strides but for `vector_bytes`. False: extents are multiples of the tile, A, B and C
        have the unit strides of the layout, pointers and leading dimensions are multiples of `alignment_bytes`.
    multiples
        What M, N and K have to be multiples of: the tile, or the elements of `vector_bytes`.
    vector_bytes
        Of A and of B, how many bytes have to lie side by side along the unit stride of the layout, at multiples of as
        many: the extent there and all other strides are multiples, too. 0: they lie as they like.
    copies_boxes
        Whether SM90's TMA moves A and B: extents are any then, also along the unit stride.
    alignment_bytes
        See `predicated`.
    compute_capability
        The least of a GPU that it is made for, 80 for 8.0; 0 of a CPU kernel.
    isa
        The instruction set that a CPU kernel needs: ``"baseline"``, ``"avx2"``, ``"avx512"`` or ``"avx512_vnni"``.
    """

    name: str
    kernel: str
    layout: str
    targets: tuple[str, ...]
    not_built: tuple[str, ...]
    compute: Compute | Literal["copy", "split", "planes", "residues", "combine"]
    factors: tuple[str, ...]
    results: tuple[str, ...]
    one_type: bool
    conjugates: bool
    modes: int
    modes_m: int
    most_m: int | None
    most_n: int | None
    tile: tuple[int, int, int]
    threads: int
    ctas_per_multiprocessor: int
    stages: int
    shared_bytes: int
    predicated: bool
    multiples: tuple[int, int, int]
    vector_bytes: tuple[int, int]
    copies_boxes: bool
    alignment_bytes: int
    compute_capability: int
    isa: str

    @property
    def multiplies(self) -> bool:
        """Whether it computes products by itself. The others copy, or are a step of emulated precision."""
        return self.compute != "copy" and not self.is_step

    @property
    def is_step(self) -> bool:
        """Whether it is a step of emulated precision: splits factors, multiplies planes, or combines results."""
        return self.compute in STEPS

    @property
    def precisions(self) -> tuple[Compute, ...]:
        """Of a step, the values of `compute` whose products it is a part of."""
        own = self.factors[-1]
        found: dict[str, tuple[Compute, ...]] = {
            "float16": ("fp16x3",),
            "bfloat16": ("bf16x6",),
            "int8": ("reproducible", "fast_complex64", "fast_float64", "fast_complex128"),
            "float32": ("reproducible",) if self.targets == ("cpu",) else ("fp16x3", "bf16x6", "reproducible"),
            "complex64": ("fast_complex64", "reproducible"),
            "float64": ("fast_float64", "reproducible"),
            "complex128": ("fast_complex128",),
        }
        return found[own] if self.is_step else ()

    @cached_property
    def config(self) -> KernelConfig:
        """Every layout that the kernel was compiled from: tiler, shared memory, tiled copies, tiled MMA.

        Raises UnsupportedProblemError of a CPU kernel, which is no program of layouts, and of one of `permute`, whose
        layouts are made of the strides that it is given.
        """
        config = KernelConfig.of(self.name)
        if config is None:
            is_on_gpu = "emulator" in self.targets
            why = "has no layouts before it has strides" if is_on_gpu else "is a CPU kernel, which has no CuTe layouts"
            raise UnsupportedProblemError(
                f"{self.name} {why}\n  next: any kernel that multiplies and whose targets have 'emulator'"
            )
        return config

    @property
    def registers(self) -> int | None:
        """Registers of a thread, as the CUDA runtime tells on the current GPU; None where there is no GPU."""
        return _core.registers(self.name)

    @property
    def tiled_mma(self) -> TiledMMA | None:
        """The `TiledMMA`; None of a kernel that partitions by thread layouts."""
        return self.config.tiled_mma

    @property
    def tiled_copy_a(self) -> TiledCopy | None:
        """The `TiledCopy` that brings A to shared memory; None of a kernel that partitions by thread layouts."""
        return self.config.tiled_copy_a

    @property
    def tiled_copy_b(self) -> TiledCopy | None:
        """The `TiledCopy` that brings B to shared memory; None of a kernel that partitions by thread layouts."""
        return self.config.tiled_copy_b

    @property
    def smem_layout_a(self) -> Layout | ComposedLayout:
        """(m,k,...) -> element of A's shared memory. Raises UnsupportedProblemError where A goes straight to
        registers.
        """
        layout = self.config.smem_layout_a
        if layout is None:
            raise UnsupportedProblemError(
                f"smem_layout_a: A of {self.name} goes from global memory straight to registers\n  next: trace() shows who reads it"
            )
        return layout

    @property
    def smem_layout_b(self) -> Layout | ComposedLayout:
        """(n,k,...) -> element of B's shared memory."""
        return self.config.smem_layout_b

    def owner_of(self, *, C: tuple[int | tuple[int, int], int]) -> Owner:
        """Return who computes the element (i, j) of C: block, thread, register, warp.

        It is a fact of the layouts, for every M and N that have the element. A kernel for two modes in M takes ((i0,
        i1), j). Of `gemm_skinny` it is the thread that adds the sums of others up; of `gemm_small`, whose threads share
        out what there is, that of products of 64x64. A kernel for any modes, and every kernel with an `Epilogue`, hands
        its sums to other threads of the block to be written. Raises OperandError for negative coordinates, and those
        beyond what the kernel takes, and UnsupportedProblemError of `gemm_tall`, whose tiles depend on strides.
        """
        if self.kernel == "gemm_tall":
            raise UnsupportedProblemError(
                f"owner_of: which elements a block of {self.name} has depends on extents and strides\n"
                "  next: trace() shows it for some"
            )
        if self.modes_m > self.modes:
            if not isinstance(C, (tuple, list)) or len(C) != 2 or not isinstance(C[0], (tuple, list)):
                raise OperandError(
                    f"owner_of: a row of {self.name} has two coordinates: C must be ((i0, i1), j), not {C!r}"
                )
            i0, i1 = _coordinate("owner_of", "the row of C", C[0])
            return self.config.owner_of((i0, i1), _coordinate("owner_of", "C", (0, C[1]))[1])
        i, j = _coordinate("owner_of", "C", C)
        for name, at, most in (("rows", i, self.most_m), ("columns", j, self.most_n)):
            if most is not None and at >= most:
                raise OperandError(
                    f"owner_of: {self.name} takes at most {most} {name}, and C is {C!r}; next: count them from 0"
                )
        return self.config.owner_of(i, j)

    def loads_of(self, block: tuple[int, int], thread: int, k_tile: int) -> Loads:
        """Return what a thread copies to shared memory of the k_tile-th tiles of A and B: coordinates there and here.

        A predicated kernel skips, or fills with zeros, what lies outside of the matrix. Raises OperandError for a
        block, a thread or a tile that cannot be, and UnsupportedProblemError of a kernel whose threads go where memory
        is contiguous: for any modes, for small products, or for two modes in M; and of one for which TMA
        copies.
        """
        if self.copies_boxes:
            raise UnsupportedProblemError(
                f"loads_of: threads of {self.name} copy nothing, TMA does\n  next: trace() shows what it writes"
            )
        if self.modes > 1 or self.most_m is not None or self.modes_m > self.modes:
            raise UnsupportedProblemError(
                f"loads_of: what a thread of {self.name} copies depends on the operand's extents and strides\n"
                "  next: trace() shows it for some"
            )
        where = _coordinate("loads_of", "block", block)
        if not 0 <= thread < self.threads:
            raise OperandError(f"loads_of: thread must be 0 to {self.threads - 1}, not {thread}")
        if k_tile < 0:
            raise OperandError(f"loads_of: k_tile must be 0 or more, not {k_tile}")
        return self.config.loads_of(where, thread, k_tile, self.stages)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write one HTML page about the kernel: tiles, shared memory, copies, math, owners of C, banks. Return its
        path.

        The page needs nothing else, and appears whole or not at all. Raises UnsupportedProblemError of a CPU kernel,
        and OSError where it cannot be written.
        """
        from pathlib import Path

        from cute_py.catalogue.report import kernel_report  # only reports need html

        page = kernel_report(self).encode()
        place = Path(path)
        write_whole(place, lambda file: file.write(page))
        return place

    def _picture(self) -> Picture:
        if self.tiled_mma is not None:
            return self.tiled_mma._picture()
        threads = self.config.thread_layout_c
        if threads is None:
            return picture_of_tv(f"{self.name}: owners of C", self.config.tile_mn, self.config.layout_c_tv)
        tile = _core.product_each(threads)
        return picture_of_tv(
            f"{self.name}: threads of C", tile, _core.right_inverse(threads).with_shape(threads.size, 1)
        )

    def trace(
        self,
        m: int | None = None,
        n: int | None = None,
        k: int | None = None,
        *,
        spaces: tuple[str, ...] = ("A", "B", "C", "shared"),
    ) -> Trace:
        """Run the kernel in the emulator on small integers and return every access to A, B, C and shared memory.

        Extents are one tile, and two in K, unless given, and multiples of `multiples`. A kernel for two modes in M gets
        (m / 2, 2) of them. Raises OperandError for others, for more than 50 million accesses, and for more
        multiply-adds than the emulator does in some seconds.
        """
        self.config  # noqa: B018 - refuses CPU kernels
        extents = []
        for name, given, tile, multiple, default in zip(
            "mnk", (m, n, k), self.tile, self.multiples, (1, 1, 2), strict=True
        ):
            extent = default * tile if given is None else given
            if not isinstance(extent, int) or isinstance(extent, bool) or not 1 <= extent <= _LARGEST_TRACED:
                raise OperandError(f"trace: {name} must be an integer from 1 to {_LARGEST_TRACED}, not {extent!r}")
            most = {"m": self.most_m, "n": self.most_n}.get(name)
            if most is not None and extent > most:
                raise OperandError(
                    f"trace: {self.name} takes at most {name}={most}, not {extent}\n  next: {name}={most}, or another kernel"
                )
            if extent % multiple:
                raise OperandError(
                    f"trace: of {self.name}, {name} is a multiple of {multiple}, not {extent}\n"
                    "  next: a variant whose `multiples` are (1, 1, 1)"
                )
            extents.append(extent)
        return trace(self, (extents[0], extents[1], extents[2]), spaces)


class Kernels(Mapping[str, Kernel]):
    """The kernel variants by name, family by family. Which of them is chosen is by estimates, see `explain`."""

    def __init__(self, variants: Iterable[Kernel]) -> None:
        self._by_name = {variant.name: variant for variant in variants}

    def __getitem__(self, name: str) -> Kernel:
        try:
            return self._by_name[name]
        except KeyError:
            raise KeyError(
                _unknown(name, list(self._by_name), "list(cute_py.kernels()) or cute-py kernels names all")
            ) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def families(self) -> list[str]:
        """Return the names of the kernels that the variants belong to, in order."""
        return list(dict.fromkeys(variant.kernel for variant in self.values()))

    def find(self, *parts: str) -> Kernels:
        """Return the variants whose names contain every one of the parts, in any case.

        >>> import cute_py
        >>> list(cute_py.kernels().find("GETT", "f32"))
        ['sgemm_1_gett_f32']
        """
        return Kernels(v for v in self.values() if all(part.lower() in v.name.lower() for part in parts))

    def __repr__(self) -> str:
        return f"<{len(self)} kernel variants of {', '.join(self.families())}; print() lists them>"

    def _repr_html_(self) -> str:
        import html

        header, *rows = self._rows()
        lines = ["<tr>" + "".join(f"<th>{cell}</th>" for cell in header) + "</tr>"]
        lines += ["<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows]
        return "<table>" + "".join(lines) + "</table>"

    def __str__(self) -> str:
        header, *rows = self._rows()
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (header, *rows)
        ]
        return "\n".join(line.rstrip() for line in lines)

    def _rows(self) -> list[tuple[str, ...]]:
        header = ("name", "runs on", "computes in", "tile", "threads", "stages", "smem", "takes")
        rows = [
            (
                k.name,
                "+".join(f"({target})" if target in k.not_built else target for target in k.targets),
                k.compute,
                "x".join(map(str, k.tile)),
                str(k.threads),
                str(k.stages),
                str(k.shared_bytes),
                _taken(k),
            )
            for k in self.values()
        ]
        return [header, *rows]


def kernels() -> Kernels:
    """Return every kernel variant, by name: those of a default build, in every build, and those of units that were
    loaded.

    >>> import cute_py
    >>> cute_py.kernels()["sgemm_sm80_nt_f32"].tile
    (128, 128, 16)
    """
    return _kernels(_core.entries_version())


@lru_cache(maxsize=1)
def _kernels(version: int) -> Kernels:
    rows: dict[str, list[dict[str, Any]]] = {}
    for entry in _core.entries():
        rows.setdefault(entry["name"], []).append(entry)
    variants = []
    for of_name in rows.values():
        targets = tuple(entry["target"] for entry in of_name)
        not_built = tuple(entry["target"] for entry in of_name if not entry["is_built"])
        fields = {key: value for key, value in of_name[-1].items() if key not in ("target", "is_built")}
        variants.append(Kernel(**fields, targets=targets, not_built=not_built))
    return Kernels(variants)


def _taken(kernel: Kernel) -> str:
    """Return what a kernel takes, in words."""
    if not kernel.predicated:
        return f"whole tiles, {kernel.alignment_bytes}-byte aligned"
    if kernel.most_m is not None:
        return f"many products of at most {kernel.most_m}x{kernel.most_n}"
    if kernel.most_n is not None:
        return f"any modes and strides, at most {kernel.most_n} columns"
    if kernel.copies_boxes:
        return "any extents; strides that TMA can follow"
    if kernel.modes > 1:
        return "any modes, extents and strides"
    return "any extents and strides" + (", two modes in M" if kernel.modes_m > 1 else "")


def _coordinate(operation: str, argument: str, value: Any) -> tuple[int, int]:
    if (
        not isinstance(value, (tuple, list))
        or len(value) != 2
        or any(not isinstance(v, (int, np.integer)) for v in value)
    ):
        raise OperandError(f"{operation}: {argument} must be a pair of integers, not {value!r}")
    if any(v < 0 for v in value):
        raise OperandError(f"{operation}: {argument} must not be negative: {value!r}")
    return int(value[0]), int(value[1])


def raise_unknown_kernel(name: str) -> NoReturn:
    """Raise the OperandError for a kernel that does not exist, naming those with a similar name."""
    raise OperandError(_unknown(name, ["auto", *kernels().families(), *kernels()]))


def _unknown(name: str, known: list[str], where: str = "") -> str:
    import difflib  # only errors need it

    near = difflib.get_close_matches(str(name), known, n=4, cutoff=0.5)
    families = f"there are: {', '.join(kernels().families())} and their variants"
    hint = f"near: {', '.join(near)}" if near else f"{families}; next: {where}" if where else families
    return f"no kernel is called {name!r}; {hint}"
