"""Configs typed in Python: a variant of the catalogue with some of its fields replaced, checked, compiled, judged."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from cute_py import _core, tables, units
from cute_py._core import Layout
from cute_py.atoms.tiled import TiledCopy, TiledMMA, make_tiled_copy
from cute_py.catalogue.config import KernelConfig
from cute_py.catalogue.kernels import Kernel, kernels, raise_unknown_kernel
from cute_py.errors import CuteError, OperandError
from cute_py.units.compiler import Source, compile_source, emulator_compiler, gpu_compiler
from cute_py.units.emulator import LAUNCH

__all__ = ["FIELDS", "Config", "config"]

_MOST_SHARED = 232448  # bytes of a CTA on SM90; 166912 on SM80, 101376 on SM86 and SM89
_SHARED_OF_MULTIPROCESSOR = 233472
_MOST_ACCUMULATORS = 224  # of 32 bits, of a thread with 255 registers
_LIMIT_OF_TABLES = 4  # stages, where copies go by offset tables (kernels/common/gather.cuh)

# What can be replaced.
FIELDS = (
    "tiler", "stages", "ctas", "smem_a", "smem_b", "copy_a", "copy_b", "mma", "threads_a", "threads_b", "threads_c", "schedule",
)  # fmt: skip

# Families whose Configs can be replaced: what they partition by.
_BY_THREADS = ("sgemm_1",)
_BY_TILES = ("sgemm_2", "sgemm_sm70", "sgemm_sm80", "gemm_sm80")
_BY_CP_ASYNC = ("sgemm_sm80", "gemm_sm80")
_BY_WGMMA = ("gemm_sm90",)
_BY_TWO_WARPGROUPS = ("wgmma_sm90", "wgmma_tma_sm90")
_REPLACEABLE = (*_BY_THREADS, *_BY_TILES, *_BY_TWO_WARPGROUPS, *_BY_WGMMA)

_FORMS = ("whole", "predicated", "nested", "vectors", "elements", "gett")  # csrc/problem/traits.hpp


class _Base(NamedTuple):
    """A variant, as its C++ type says it was made."""

    kernel: Kernel
    config: KernelConfig
    element: str
    majors: tuple[str, str]  # of A and B: "mn" or "k"
    form: str

    @classmethod
    def of(cls, name: str) -> _Base:
        known = kernels()
        variants = [x for x, kernel in known.items() if kernel.kernel == name != x]
        if variants:
            raise OperandError(f"config: {name} is a family of kernels\n  next: one of it: {', '.join(variants[:8])}")
        if name not in known:
            raise_unknown_kernel(name)
        kernel = known[name]
        if any(name == loaded for loaded, _ in _LOADED):
            raise OperandError(f"config: {name} is a Config of yours already\n  next: start from its own base")
        if kernel.kernel not in _REPLACEABLE or not kernel.multiplies:
            families = ", ".join(_REPLACEABLE)
            raise OperandError(
                f"config: the Config of {name} cannot be replaced from Python\n"
                f"  next: a variant of {families}; or a copy of the family's folder, by cute_py.units.compile_unit"
            )
        found = re.fullmatch(r"cute_py::kernels::\w+<(.*), \(cute_py::Major\)(\d), \(cute_py::Major\)(\d), (.*)>", kernel.config.cpp_type)  # fmt: skip
        if found is None:
            raise OperandError(
                f"config: {name} is of a type that has no Config to start from, {kernel.config.cpp_type}\n"
                "  next: start from a variant of this package; cute_py.kernels() lists them"
            )
        form = re.match(r"\(cute_py::Form\)(\d)", found[4])
        majors = tuple("mn" if digit == "0" else "k" for digit in found.group(2, 3))
        return cls(kernel, kernel.config, found[1], (majors[0], majors[1]), _FORMS[int(form[1])] if form else "vectors")

    @property
    def bytes(self) -> int:
        return self.config.type_a.bits // 8


@dataclass(frozen=True)
class Config:
    """The Config of a kernel, checked. Made by `config`.

    Attributes
    ----------
    name
        Of the kernel that it becomes.
    base
        The variant that it was made from.
    tiler
        (BLK_M, BLK_N, BLK_K).
    stages
        Tiles of shared memory in flight.
    ctas
        How many CTAs a multiprocessor is to have room for; the compiler keeps to registers for as many.
    smem_a, smem_b
        (m,k,pipe) and (n,k,pipe) -> element. None of a kernel of SM90, whose swizzle is that of its instruction.
    copy_a, copy_b, mma
        Of a kernel that partitions by these, else None.
    threads_a, threads_b, threads_c
        Coordinate -> thread, of `sgemm_1`, else None.
    schedule
        ``"cooperative"`` or ``"pingpong"``, of a kernel of SM90, else None.
    replaced
        The names of the fields that differ from the base's.
    """

    name: str
    base: str
    tiler: tuple[int, int, int]
    stages: int
    ctas: int
    smem_a: Any
    smem_b: Any
    copy_a: TiledCopy | None
    copy_b: TiledCopy | None
    mma: TiledMMA | None
    threads_a: Layout | None
    threads_b: Layout | None
    threads_c: Layout | None
    schedule: Literal["cooperative", "pingpong"] | None
    replaced: tuple[str, ...] = field(compare=False)

    @property
    def threads(self) -> int:
        """Threads of a CTA."""
        base = _Base.of(self.base)
        if self.mma is not None:
            return self.mma.size
        return self.threads_c.size if self.threads_c is not None else base.kernel.threads

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a CTA, in bytes."""
        return _shared_bytes(_Base.of(self.base), self)

    @cached_property
    def source(self) -> str:
        """The C++ of its Config, its family and its list of variants: what `compile` compiles, but for includes."""
        return _source(_Base.of(self.base), self)

    def compile(self, target: Literal["emulator", "cuda"] = "emulator", *, architectures: Sequence[str] = ()) -> Kernel:
        """Compile it for a target, unless the cache has it, load it, and return the kernel.

        It is one of `kernels` from then on, and taken by its own name alone: ``kernel=`` takes the name or the kernel.
        `architectures` are those of `cute_py.units.compile_unit`. Raises OperandError if another kernel has the name,
        or without a GPU for architectures, and UnitError, with the compiler's words, where it does not compile.
        """
        if target not in ("emulator", "cuda"):
            raise OperandError(f"compile: target={target!r}\n  next: 'emulator' or 'cuda'")
        known = kernels().get(self.name)
        if known is not None and _LOADED.get((self.name, target)) == self.source:
            return known
        if known is not None and self.source not in [x for (name, _), x in _LOADED.items() if name == self.name]:
            raise OperandError(
                f"compile: there is a kernel {self.name} already, and none can be unloaded\n"
                "  next: another name=; or none, and it gets one of its own"
            )
        base = _Base.of(self.base)
        begins = LAUNCH
        if target == "cuda":
            compiler = gpu_compiler(architectures or units.architectures_here("compile"))
            begins = '#include "instances/launch_cuda.cuh"\n#include "instances/tensor_map.cu"\n'
            begins += '#include "instances/unit_entry.hpp"\n'
        else:
            compiler = emulator_compiler()
        text = f'{begins}#include "kernels/{base.kernel.kernel}/family.hpp"\n#include "kernels/common/replaced.hpp"\n'
        text += f"{self.source}CUTE_PY_UNIT(cute_py::instances::add_variants<cute_py::instances::ThisTarget, {_space(self.name)}::Variants>)\n"
        units.load_unit(compile_source(Source(self.name, text), compiler))
        _LOADED[self.name, target] = self.source
        return kernels()[self.name]

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.base} with {', '.join(self.replaced) or 'nothing replaced'}"]
        for name in ("tiler", "stages", "ctas", "schedule", "smem_a", "smem_b", "threads_a", "threads_b", "threads_c"):
            value = getattr(self, name)
            if value is not None:
                lines.append(f"  {name:10}{value}")
        for name in ("copy_a", "copy_b"):
            copy = getattr(self, name)
            if copy is not None:
                lines.append(f"  {name:10}{copy.atom.name}: {copy.layout_tv} of {'x'.join(map(str, copy.tile_shape))}")
        if self.mma is not None:
            tile = "x".join(map(str, self.mma.tile_shape))
            lines.append(f"  {'mma':10}{self.mma.atom.name}: {self.mma.size} threads, {tile} at a time")
        lines.append(f"  {self.threads} threads, {self.shared_bytes} bytes of shared memory")
        return "\n".join(lines)


# The source of what was loaded, by name and target.
_LOADED: dict[tuple[str, str], str] = {}


def config(
    base: str,
    *,
    name: str | None = None,
    tiler: tuple[int, int, int] | tuple[int, int] | None = None,
    stages: int | None = None,
    ctas: int | None = None,
    smem_a: Any = None,
    smem_b: Any = None,
    copy_a: TiledCopy | None = None,
    copy_b: TiledCopy | None = None,
    mma: TiledMMA | None = None,
    threads_a: Any = None,
    threads_b: Any = None,
    threads_c: Any = None,
    schedule: Literal["cooperative", "pingpong"] | None = None,
) -> Config:
    """Return the Config of a variant with some of its fields replaced, checked before anything is compiled.

    Parameters
    ----------
    base
        A variant of `sgemm_1`, `sgemm_2`, `sgemm_sm70`, `sgemm_sm80`, `gemm_sm80`, `wgmma_sm90`, `wgmma_tma_sm90` or
        `gemm_sm90`.
    name
        Of the kernel; by default one that the fields decide.
    tiler
        (BLK_M, BLK_N, BLK_K). Where a layout or a copy is not given, it follows from the tile as the base's does.
    stages
        Tiles of shared memory in flight; 1 where the base has 1.
    ctas
        CTAs that a multiprocessor is to have room for; by default the base's, or as many as shared memory allows.
    smem_a, smem_b
        (m,k) or (m,k,pipe), (n,k) or (n,k,pipe) -> element: a layout, or its text. One that is smaller than the tile is
        repeated (``tile_to_shape``); stages follow each other. Numbers count as static.
    copy_a, copy_b, mma
        Who copies, and who multiplies, by `make_tiled_copy` and `make_tiled_mma`.
    threads_a, threads_b, threads_c
        Coordinate -> thread, of `sgemm_1`.
    schedule
        ``"cooperative"`` (the consumer warpgroups share a tile) or ``"pingpong"`` (each has its own), of `gemm_sm90`.

    Raises OperandError for a field that the base does not have or that does not fit the others: which mode, and what
    would fit.

    >>> from cute_py import workbench
    >>> mine = workbench.config("sgemm_sm80_nt_f32", tiler=(128, 64, 16), stages=4)
    >>> print(mine.smem_b, mine.shared_bytes)
    ((_64,_1),(_16,_1),(_1,_4)):((_1,_1024),(_64,_1024),(_0,_1024)) 49152
    """
    found = _Base.of(base)
    given = {
        "tiler": tiler, "stages": stages, "ctas": ctas, "smem_a": smem_a, "smem_b": smem_b, "copy_a": copy_a, "copy_b": copy_b,
        "mma": mma, "threads_a": threads_a, "threads_b": threads_b, "threads_c": threads_c, "schedule": schedule,
    }  # fmt: skip
    replaced = tuple(key for key, value in given.items() if value is not None)
    _check_fields(found, replaced)
    tile = _tiler(found, tiler)
    if found.kernel.kernel in _BY_WGMMA:
        made = _of_wgmma(found, tile, stages, schedule)
    elif found.kernel.kernel in _BY_TWO_WARPGROUPS:
        made = _of_two_warpgroups(found, tile, stages)
    else:
        made = _of_tiles(found, tile, given)
    made = replace(made, ctas=_ctas(found, made, ctas), replaced=replaced)
    made = replace(made, name=_name(made, name))
    return made


def _refuse(argument: str, why: str, fits: str) -> NoReturn:
    raise OperandError(f"config: {argument}: {why}\n  next: {fits}")


def _check_fields(base: _Base, replaced: tuple[str, ...]) -> None:
    family = base.kernel.kernel
    has = ["tiler", "ctas"]
    if family in _BY_THREADS:
        has += ["smem_a", "smem_b", "threads_a", "threads_b", "threads_c"]
    if family in _BY_TILES:
        has += ["smem_a", "smem_b", "copy_a", "copy_b", "mma"]
    if family in _BY_CP_ASYNC:
        has += ["stages"]
    if family in _BY_WGMMA:
        has = ["tiler", "stages", "schedule"]
    if family in _BY_TWO_WARPGROUPS:
        has = ["tiler", "stages"]
    for argument in replaced:
        if argument not in has:
            _refuse(argument, f"a Config of {family} has none", f"of {base.kernel.name}: {', '.join(has)}")
    if base.form in ("nested", "gett") and family not in _BY_CP_ASYNC:
        whole = base.kernel.name.replace("_nested", "").replace("_gett", "")
        near = next((x for x in (whole, f"{family}_nt_f32") if x in kernels()), family)
        _refuse("base", f"threads of {base.kernel.name} copy by strides that they are given", near)


def _tiler(base: _Base, given: Any) -> tuple[int, int, int]:
    own = base.config.cta_tiler
    if given is None:
        return (int(own[0]), int(own[1]), int(own[2]))
    extents = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    if len(extents) == 2:
        extents = (*extents, own[2])
    if len(extents) != 3 or any(not isinstance(x, (int, np.integer)) or isinstance(x, bool) or x < 1 for x in extents):
        _refuse("tiler", f"it is {given!r}", "three extents, (BLK_M, BLK_N, BLK_K), such as (128, 64, 16)")
    return (int(extents[0]), int(extents[1]), int(extents[2]))


# --- Kernels that partition by thread layouts, tiled copies and tiled MMAs ------------------------------------------


def _of_tiles(base: _Base, tile: tuple[int, int, int], given: dict[str, Any]) -> Config:
    stages = base.kernel.stages if given["stages"] is None else given["stages"]
    has_tables = base.form in ("vectors", "elements", "nested")
    least, most = (2, _LIMIT_OF_TABLES if has_tables else 64) if base.kernel.kernel in _BY_CP_ASYNC else (1, 1)
    if not isinstance(stages, int) or isinstance(stages, bool) or not least <= stages <= most:
        _refuse("stages", f"it is {stages!r}", f"{least} to {most}")
    if has_tables and (tile[2] & (tile[2] - 1)):
        _refuse("tiler", f"BLK_K={tile[2]}, and offsets are looked up for powers of two", "BLK_K of 16, 32 or 64")
    made = Config(
        "", base.kernel.name, tile, stages, 1, None, None, None, None, given["mma"] or base.config.tiled_mma,
        None, None, None, None, (),
    )  # fmt: skip
    if base.kernel.kernel in _BY_THREADS:
        layouts: dict[str, Any] = {
            f"threads_{x}": _layout(f"threads_{x}", given[f"threads_{x}"])
            or _static(getattr(base.config, f"thread_layout_{x}"))
            for x in "abc"
        }
        made = replace(made, **layouts)
        _check_threads(made)
    else:
        _check_mma(base, made, "mma" if given["mma"] is not None else "tiler")
    smem: dict[str, Any] = {
        f"smem_{x}": _smem(base, x, given[f"smem_{x}"], (tile[i], tile[2]), stages) for i, x in ((0, "a"), (1, "b"))
    }
    made = replace(made, **smem)
    for i, x in ((0, "a"), (1, "b")):
        _check_smem(f"smem_{x}", getattr(made, f"smem_{x}"), (tile[i], tile[2]))
    if base.kernel.kernel not in _BY_THREADS:
        copies: dict[str, Any] = {}
        for i, x in ((0, "a"), (1, "b")):
            copies[f"copy_{x}"] = _copy(base, x, given[f"copy_{x}"], (tile[i], tile[2]), made.threads)
        made = replace(made, **copies)
        for i, x in ((0, "a"), (1, "b")):
            _check_copy(base, made, x, (tile[i], tile[2]))
        if base.kernel.kernel == "gemm_sm80":
            _check_ldmatrix(base, made)
    _check_resources(base, made)
    return made


def _layout(argument: str, value: Any) -> Any:
    """Return a layout of static numbers, of a layout, a shape or a text; None of None."""
    if value is None:
        return None
    try:
        found = _core.parse(value) if isinstance(value, str) else value
        if not hasattr(found, "to_cpp"):
            found = Layout(found)
    except CuteError as error:
        _refuse(argument, f"{value!r} is no layout: {str(error).splitlines()[0]}", "a layout, or its text, such as (16,8):(1,16)")  # fmt: skip
    if "-" in str(found):
        _refuse(argument, f"{found} has places before its beginning", "strides that are not negative")
    return _static(found)


def _static(layout: Any) -> Any:
    """Return a layout with all numbers static: ``128`` becomes ``_128``."""
    parts = str(layout).split(" o ")
    numbers = [part if part.startswith("Sw<") else re.sub(r"(?<![_\w])(\d+)", r"_\1", part) for part in parts]
    return _core.parse(" o ".join(numbers))


def _smem(base: _Base, operand: str, given: Any, extents: tuple[int, int], stages: int) -> Any:
    """Return the layout (mn,k) or (mn,k,pipe) of an operand in shared memory, all of its stages."""
    argument = f"smem_{operand}"
    is_staged = base.kernel.stages > 1
    shape: tuple[int, ...] = (*extents, stages) if is_staged else extents
    own = base.config.smem_layout_a if operand == "a" else base.config.smem_layout_b
    layout = _layout(argument, given)
    if layout is None:
        tile = (base.config.tile_mn[0 if operand == "a" else 1], int(base.config.cta_tiler[2]))
        if (*tile, base.kernel.stages) == (*extents, stages):
            return own
        layout = _smem_like(base, own, tile, extents)
    if int(_core.rank(layout)) == 3:
        if not is_staged or int(_core.size(layout, 2)) != stages:
            has = int(_core.size(layout, 2))
            fits = f"a mode of {stages}, or two modes" if is_staged else "two modes, (mn,k)"
            _refuse(argument, f"its third mode has {has} stages", fits)
        return layout
    if int(_core.rank(layout)) != 2:
        _refuse(argument, f"{layout} has rank {_core.rank(layout)}", f"two modes of {extents[0]} and {extents[1]}")
    for mode, (extent, what) in enumerate(zip(extents, (_mn(operand), "BLK_K"), strict=True)):
        has = int(_core.size(layout, mode))
        if extent % has:
            _refuse(
                argument,
                f"{has} elements of mode {mode} do not divide {what}={extent}",
                f"{extent}, or a divisor of it",
            )
    sizes = (int(_core.size(layout, 0)), int(_core.size(layout, 1)))
    _check_places(argument, layout, sizes)
    try:
        return _static(_core.tile_to_shape(layout, shape))
    except CuteError as error:
        _refuse(argument, f"it cannot be repeated to {'x'.join(map(str, shape))}: {str(error).splitlines()[0]}", "a layout whose places are side by side, but for padding")  # fmt: skip


def _smem_like(base: _Base, own: Any, tile: tuple[int, int], extents: tuple[int, int]) -> Any:
    """Return one stage of shared memory as the base has it, for another tile."""
    *prefix, inner = str(own).split(" o ")
    layout = Layout(inner)
    if not prefix:  # (mn,k) with mn the fast one, and padding of a k-major operand
        stride = int(_core.crd2idx((0, 1), _core.shape(layout)[:2], _core.stride(layout)[:2]))
        return _static(Layout((extents[0], extents[1]), (1, extents[0] + stride - tile[0])))
    shape, stride = _core.shape(layout), _core.stride(layout)
    atom = Layout((shape[0][0], shape[1][0]), (stride[0][0], stride[1][0]))
    for mode, extent in enumerate(extents):
        if extent % int(_core.size(atom, mode)):
            _refuse("tiler", f"{extent} is no multiple of {int(_core.size(atom, mode))}, the extent of the base's swizzled layout {' o '.join([*prefix, str(atom)])}", "a multiple of it, or smem_a and smem_b for this tile")  # fmt: skip
    return _core.parse(" o ".join([*prefix, str(atom)]))


def _mn(operand: str) -> str:
    return "BLK_M" if operand == "a" else "BLK_N"


def _check_smem(argument: str, layout: Any, extents: tuple[int, int]) -> None:
    for mode, (extent, what) in enumerate(zip(extents, (_mn(argument[-1]), "BLK_K"), strict=True)):
        has = int(_core.size(layout, mode))
        if has != extent:
            _refuse(
                argument, f"mode {mode} has {has} elements, and {what} is {extent}", f"{extent} elements in mode {mode}"
            )
    _check_places(argument, layout, extents)


def _check_places(argument: str, layout: Any, extents: tuple[int, int]) -> None:
    """Check that each element has a place of its own."""
    where = _indices(layout)
    if len(np.unique(where)) != len(where):
        order = np.argsort(where, kind="stable")
        same = int(np.flatnonzero(np.diff(where[order]) == 0)[0])
        first, second = sorted(int(x) for x in order[same : same + 2])
        place = int(where[first])
        _refuse(argument, f"elements {_coordinate(first, extents)} and {_coordinate(second, extents)} share the place {place}", "a layout that gives each element a place of its own: greater strides")  # fmt: skip


def _indices(layout: Any) -> npt.NDArray[np.int64]:
    return np.asarray(layout(np.arange(layout.size)), np.int64)


def _coordinate(index: int, extents: tuple[int, int]) -> tuple[int, ...]:
    m, k = extents
    found = (index % m, index // m % k)
    return found if index < m * k else (*found, index // (m * k))


def _copy(base: _Base, operand: str, given: TiledCopy | None, extents: tuple[int, int], threads: int) -> TiledCopy:
    """Return the tiled copy of an operand, with adjacent threads along the unit stride."""
    argument = f"copy_{operand}"
    own = base.config.tiled_copy_a if operand == "a" else base.config.tiled_copy_b
    assert own is not None
    if given is not None:
        if not isinstance(given, TiledCopy):
            _refuse(argument, f"it is a {type(given).__name__}", "a TiledCopy, by make_tiled_copy")
        return given
    if own.size == threads and all(extent % tile == 0 for extent, tile in zip(extents, own.tile_shape, strict=True)):
        return own
    major = base.majors[0 if operand == "a" else 1]
    line, lines = extents if major == "mn" else extents[::-1]
    vector = int(_core.size(own.atom.val_layout_ref, 1))
    along = 1
    while along * 2 <= min(threads, line // vector) and line % (along * 2 * vector) == 0:
        along *= 2
    while along > 1 and lines % max(threads // along, 1) == 0 and along * vector * base.bytes > 128:
        if lines % (threads // (along // 2)):
            break
        along //= 2
    across = threads // along
    if line % (along * vector) or lines % across:
        _refuse("tiler", f"{threads} threads with {vector} elements each do not tile {operand.upper()}'s {extents[0]}x{extents[1]} evenly", f"{argument}=make_tiled_copy(...) for it, or another tile")  # fmt: skip
    if major == "mn":
        thr, val = Layout((along, across)), Layout((vector, 1))
    else:
        thr, val = Layout((across, along), (along, 1)), Layout((1, vector))
    return make_tiled_copy(own.atom, _static(thr), _static(val))


def _check_threads(made: Config) -> None:
    """Check the thread layouts of sgemm_1."""
    assert made.threads_c is not None
    threads = made.threads_c.size
    _check_count("threads_c", threads)
    m, n, k = made.tiler
    for argument, extents in (("threads_a", (m, k)), ("threads_b", (n, k)), ("threads_c", (m, n))):
        layout = getattr(made, argument)
        if layout.rank != 2:
            _refuse(argument, f"{layout} has rank {layout.rank}", "two modes")
        if layout.size != threads:
            _refuse(argument, f"it has {layout.size} threads, and threads_c has {threads}", f"{threads} threads")
        if sorted(_indices(layout)) != list(range(threads)):
            _refuse(argument, f"{layout} does not number its threads 0 to {threads - 1}, each once", "a compact layout")
        for mode, extent in enumerate(extents):
            has = int(_core.size(layout, mode))
            if extent % has:
                _refuse(
                    argument,
                    f"{has} threads of mode {mode} do not divide its {extent} elements",
                    f"a divisor of {extent}",
                )


def _check_count(argument: str, threads: int) -> None:
    if threads % 32 or not 32 <= threads <= 1024:
        _refuse(argument, f"it has {threads} threads", "a multiple of 32, at most 1024")


def _check_mma(base: _Base, made: Config, argument: str) -> None:
    mma, own = made.mma, base.config.tiled_mma
    assert own is not None
    if not isinstance(mma, TiledMMA):
        _refuse("mma", f"it is a {type(mma).__name__}", "a TiledMMA, by make_tiled_mma")
    for name in ("a", "b", "c"):
        has, wanted = getattr(mma.atom, name), getattr(own.atom, name)
        if has != wanted:
            _refuse("mma", f"{mma.atom.name} takes {name.upper()} of {has}, and {base.kernel.name} has {wanted}", f"an atom like {own.atom.name}")  # fmt: skip
    slices, own_slices = (int(_core.size(x.thr_layout_vmnk, 3)) for x in (mma, own))
    if slices != own_slices or (own_slices > 1 and (mma != own or made.tiler != _tiler(base, None))):
        _refuse(
            argument,
            "warps share K (sliced-K), and who adds their sums up is fixed",
            "a base and an mma with one warp along K",
        )
    _check_count("mma", mma.size)
    if base.kernel.kernel in _BY_CP_ASYNC and mma.size & (mma.size - 1):
        _refuse("mma", f"{mma.size} threads, and the epilogue shares lines among powers of two", "64, 128, 256 or 512")
    if mma.threads != mma.size:
        _refuse("mma", f"its {mma.size} threads are numbered up to {mma.threads - 1}", "an atom layout without gaps")
    for mode, (extent, what) in enumerate(zip(made.tiler, ("BLK_M", "BLK_N", "BLK_K"), strict=True)):
        step = mma.tile_shape[mode]
        if extent % step:
            _refuse(argument, f"{what}={extent} is no multiple of the {step} that the MMA covers", f"{what} of {step}, {2 * step}, ...; or an mma with less in mode {mode}")  # fmt: skip
    if base.kernel.kernel in _BY_CP_ASYNC and made.tiler[2] < 2 * mma.tile_shape[2]:
        _refuse(argument, f"BLK_K={made.tiler[2]} is one k-block of the MMA, and the kernel reads one ahead", f"BLK_K of {2 * mma.tile_shape[2]} or more")  # fmt: skip


def _check_copy(base: _Base, made: Config, operand: str, extents: tuple[int, int]) -> None:
    """Check that a copy brings each element of a tile once, in vectors that lie side by side at both ends."""
    argument = f"copy_{operand}"
    copy: TiledCopy = getattr(made, argument)
    own = base.config.tiled_copy_a if operand == "a" else base.config.tiled_copy_b
    assert own is not None
    if copy.size != made.threads:
        _refuse(argument, f"it has {copy.size} threads, and the MMA {made.threads}", f"{made.threads} threads")
    if copy.atom.value_type != own.atom.value_type:
        _refuse(argument, f"it copies {copy.atom.value_type}", f"{own.atom.value_type}")
    if int(copy.atom.thr_id.size) != 1:
        _refuse(argument, f"{copy.atom.name} is an instruction of a warp", f"one of a thread, such as {own.atom.name}")
    is_asynchronous = base.kernel.kernel in _BY_CP_ASYNC
    if is_asynchronous != ("CP_ASYNC" in copy.atom.name):
        how = "by cp.async" if is_asynchronous else "through registers"
        _refuse(
            argument, f"{base.kernel.kernel} copies {how}, and {copy.atom.name} does not", f"such as {own.atom.name}"
        )
    for mode, (extent, what) in enumerate(zip(extents, (_mn(operand), "BLK_K"), strict=True)):
        tile = copy.tile_shape[mode]
        if extent % tile:
            _refuse(
                argument,
                f"it covers {tile} of {what}={extent}",
                f"a copy that covers a divisor of {extent} in mode {mode}",
            )
    vector = int(_core.size(copy.atom.val_layout_ref, 1))
    own_vector = int(_core.size(own.atom.val_layout_ref, 1))
    if vector != own_vector and base.form in ("elements", "nested"):
        _refuse(argument, f"it moves {vector} elements at a time", f"{own_vector}, as {base.kernel.name} does")
    parts = _parts(copy, extents)
    flat = parts.reshape(-1)
    counts = np.bincount(flat, minlength=extents[0] * extents[1])
    wrong = np.flatnonzero(counts != 1)
    if len(wrong):
        times = int(counts[wrong[0]])
        _refuse(argument, f"element {_coordinate(int(wrong[0]), extents)} is copied {times} times", "threads and values that cover the tile once")  # fmt: skip
    vectors = parts.reshape(parts.shape[0], vector, -1, order="F")  # (thread, element of a vector, vector)
    major = base.majors[0 if operand == "a" else 1]
    step = 1 if major == "mn" else extents[0]
    if vector > 1 and np.any(np.diff(vectors, axis=1) != step):
        _refuse(argument, f"the {vector} elements of an instruction do not lie along {'m or n' if major == 'mn' else 'k'}, the unit stride of {operand.upper()}", "values along it")  # fmt: skip
    if is_asynchronous and vector > 1:
        where = _indices(getattr(made, f"smem_{operand}"))[: extents[0] * extents[1]][vectors]
        apart = np.diff(where, axis=1) != 1
        bad = apart.any(axis=1) | (where[:, 0] % vector != 0)
        if bad.any():
            thread, index = (int(x[0]) for x in np.nonzero(bad))
            at = _coordinate(int(vectors[thread, 0, index]), extents)
            places = ", ".join(map(str, where[thread, :, index]))
            _refuse(f"smem_{operand}", f"thread {thread} copies {vector} elements from {at} on at once, and they are at the places {places}", f"{vector} places side by side that begin at a multiple of {vector}; or a copy of one element")  # fmt: skip
    if base.form in ("vectors", "elements", "nested") and base.kernel.kernel in _BY_CP_ASYNC:
        coords = np.stack([parts % extents[0], parts // extents[0]])
        if np.any(coords - coords[:, :1] != (coords[:, :, :1] - coords[:, :1, :1])):
            _refuse(argument, "threads differ by more than where they begin, and offsets are looked up from there", "thread and value layouts without a swizzle")  # fmt: skip


def _parts(copy: TiledCopy, extents: tuple[int, int]) -> npt.NDArray[np.int64]:
    """Return the indices in a column-major tile that each thread copies: (thread, value)."""
    layout = copy.tidfrg_S(_static(Layout(extents)))
    return _indices(layout).reshape(copy.size, -1, order="F")


def _check_ldmatrix(base: _Base, made: Config) -> None:
    """Check that the instruction which reads an operand for a tensor core finds its rows."""
    size = base.bytes
    if size > 4:
        return
    for i, operand in ((0, "a"), (1, "b")):
        major = base.majors[i]
        if major == "mn" and size != 2:
            continue  # read element by element
        extents = (made.tiler[i], made.tiler[2])
        where = _indices(getattr(made, f"smem_{operand}"))[: extents[0] * extents[1]].reshape(extents, order="F")
        rows = where if major == "k" else where.T
        vector = 16 // size
        runs = rows.reshape(rows.shape[0], -1, vector)
        if np.any(np.diff(runs, axis=2) != 1) or np.any(runs[..., 0] % vector):
            along = "k" if major == "k" else _mn(operand)[-1].lower()
            _refuse(f"smem_{operand}", f"ldmatrix reads {vector} elements along {along} at once, and they do not lie side by side", f"{along} the fast mode, in runs of {vector} elements at multiples of {vector}")  # fmt: skip


def _shared_bytes(base: _Base, made: Config) -> int:
    if base.kernel.kernel in _BY_WGMMA:
        m, n, k = made.tiler
        boxes = 2 * int(_tile_of_wgmma(base)[6]) * 8192
        places, barriers = 2 * 128 * 8, 16 * made.stages + 1
        return -(-(made.stages * (m + n) * k * base.bytes + boxes + places + barriers) // 1024) * 1024
    if base.kernel.kernel in _BY_TWO_WARPGROUPS:
        m, n, k = made.tiler
        barriers = 16 * made.stages if base.kernel.kernel == "wgmma_tma_sm90" else 0
        return -(-(made.stages * (m + n) * k * base.bytes + barriers) // 1024) * 1024
    aligned = 128 if base.kernel.kernel == "gemm_sm80" else 16
    total = 0
    for layout in (made.smem_a, made.smem_b):
        total = -(-total // aligned) * aligned + int(layout.cosize) * base.bytes
    if base.form in ("vectors", "elements", "nested"):
        total = -(-total // 8) * 8 + _bytes_of_tables(base, made)
    return -(-total // aligned) * aligned


def _bytes_of_tables(base: _Base, made: Config) -> int:
    """Return the bytes of both operands' offset tables, as kernels/common/mode_map.hpp has them."""
    chunk = max(256, 4 * made.tiler[2])
    total = 0
    for rows, copy, major in (
        (made.tiler[0], made.copy_a, base.majors[0]),
        (made.tiler[1], made.copy_b, base.majors[1]),
    ):
        is_along_k = base.kernel.kernel == "gemm_sm80" and base.form != "nested" and major == "k"
        step = int(_core.size(copy.atom.val_layout_ref, 1)) if copy is not None and is_along_k else 1
        total += 8 * (rows + 2 * chunk // step)
    return total


def _check_resources(base: _Base, made: Config) -> None:
    m, n, _ = made.tiler
    threads, family = made.threads, base.kernel.kernel
    argument = "mma" if made.mma is not None else "threads_c"
    words = base.config.type_c.bits // 32
    each = m * n // threads
    if each * words > _MOST_ACCUMULATORS:
        _refuse(argument if made.tiler == base.kernel.tile else "tiler", f"{each} sums of {4 * words} bytes for each of {threads} threads are more than the registers of a thread", "a smaller tile, or more threads")  # fmt: skip
    shared = _shared_bytes(base, made)
    for operand, rows in (("a", m), ("b", n)):
        layout = getattr(made, f"smem_{operand}")
        if shared > _MOST_SHARED and int(layout.cosize) > 2 * rows * made.tiler[2] * made.stages:
            _refuse(f"smem_{operand}", f"it reaches over {int(layout.cosize) * base.bytes} bytes, for {layout.size} elements of {base.bytes}", "smaller strides")  # fmt: skip
    if shared > _MOST_SHARED:
        fits = made.stages - 1
        while fits > 1 and _shared_bytes(base, made) * fits // made.stages > _MOST_SHARED:
            fits -= 1
        way = f"{fits} stages, or a smaller tile" if fits >= 2 else "a smaller tile"
        _refuse("stages" if made.stages > 1 else "tiler", f"{shared} bytes of shared memory are more than the {_MOST_SHARED} of a CTA on SM90", way)  # fmt: skip
    if family not in _BY_CP_ASYNC:
        return
    if max(m, n) > threads:
        _refuse(argument, f"{threads} threads, and the epilogue has one for each of {max(m, n)} rows or columns", f"{max(m, n)} threads or more, or a smaller tile")  # fmt: skip
    if family == "sgemm_sm80" and threads % m:
        _refuse("tiler", f"{threads} threads are no multiple of BLK_M={m}, and each writes one row", f"BLK_M of {threads}, {threads // 2}, ...")  # fmt: skip
    size = base.config.type_c.bits // 8
    pad = 16 // size
    columns = ((shared - max(m, n) * 8) // size - m * pad) // (m + pad) // 8 * 8
    if columns < 8:
        _refuse("tiler", f"the epilogue stages 8 columns of {m} sums in the {shared} bytes of shared memory, which do not hold them", "more stages, or a greater BLK_K")  # fmt: skip


# --- Kernels of SM90 -------------------------------------------------------------------------------------------------


def _tile_of_wgmma(base: _Base) -> re.Match[str]:
    found = re.search(r"cute_py::kernels::WgmmaTile<(\d+), (\d+), (\d+), (true|false), (true|false), (\d+)>", base.config.cpp_type)  # fmt: skip
    if found is None:
        _refuse(
            "base",
            f"the tile of {base.kernel.name} is one of planes",
            "gemm_sm90 of float16, bfloat16, tfloat32, int8 or float8",
        )
    return found


def _of_wgmma(base: _Base, tile: tuple[int, int, int], stages: int | None, schedule: str | None) -> Config:
    own = _tile_of_wgmma(base)
    m, n, k = tile
    is_ping_pong = own[4] == "true" if schedule is None else schedule == "pingpong"
    if schedule not in (None, "cooperative", "pingpong"):
        _refuse("schedule", f"it is {schedule!r}", "'cooperative' or 'pingpong'")
    if k != int(base.config.cta_tiler[2]):
        _refuse(
            "tiler",
            f"BLK_K={k}, and the swizzle of 128 bytes has {int(base.config.cta_tiler[2])}",
            f"{int(base.config.cta_tiler[2])}",
        )
    rows = (64, 128) if is_ping_pong else (128,)
    if m not in rows:
        which = "of a warpgroup" if is_ping_pong else "of two warpgroups"
        _refuse("tiler", f"BLK_M={m}, and {which} it is {' or '.join(map(str, rows))}", f"BLK_M of {rows[-1]}")
    if n % 64 or not 64 <= n <= 256:
        _refuse("tiler", f"BLK_N={n}, and results leave in boxes of 64 columns", "64, 128, 192 or 256")
    sums = m * n // (128 if is_ping_pong else 256)
    promoted = 2 if own[5] == "true" else 1
    if sums * promoted > 192:
        _refuse(
            "tiler",
            f"{sums * promoted} sums for each thread of a warpgroup are more than its registers",
            "'cooperative', or a smaller BLK_N",
        )
    count = int(own[3]) if stages is None else stages
    if not isinstance(count, int) or isinstance(count, bool) or not 2 <= count <= 32:
        _refuse("stages", f"it is {count!r}", "2 to 32")
    schedule_: Literal["cooperative", "pingpong"] = "pingpong" if is_ping_pong else "cooperative"
    made = Config(
        "", base.kernel.name, (m, n, k), count, 1, None, None, None, None, None, None, None, None, schedule_, ()
    )
    partial = max((m + 8) * n, (n + 8) * m) * 4
    stage = (m + n) * k * base.bytes
    if partial > count * stage:
        _refuse("stages", f"{count} stages of {stage} bytes do not hold the {partial} bytes of sums of a split of K", f"{-(-partial // stage)} stages or more")  # fmt: skip
    shared = _shared_bytes(base, made)
    if shared > _MOST_SHARED:
        rest = shared - count * stage
        _refuse("stages", f"{shared} bytes of shared memory are more than the {_MOST_SHARED} of a CTA", f"{(_MOST_SHARED - rest) // stage} stages, or a smaller tile")  # fmt: skip
    return made


def _of_two_warpgroups(base: _Base, tile: tuple[int, int, int], stages: int | None) -> Config:
    m, n, k = tile
    by_threads = base.kernel.kernel == "wgmma_sm90"
    own_m, _, own_k = base.kernel.tile
    if k != own_k:
        _refuse("tiler", f"BLK_K={k}, and the swizzle of 128 bytes has {own_k}", f"{own_k}")
    if m != own_m:
        _refuse("tiler", f"BLK_M={m}, and two warpgroups have 64 rows each", f"BLK_M of {own_m}")
    step = 128 if by_threads and base.majors[1] == "mn" else 64
    if n % step or not step <= n <= 256:
        why = "the threads copy 128 columns at a time" if step == 128 else "a swizzled column is one of 64 elements"
        _refuse("tiler", f"BLK_N={n}, and {why}", ", ".join(map(str, range(step, 257, step))))
    count = base.kernel.stages if stages is None else stages
    if not isinstance(count, int) or isinstance(count, bool) or not 2 <= count <= 32:
        _refuse("stages", f"it is {count!r}", "2 to 32")
    made = Config("", base.kernel.name, tile, count, 1, None, None, None, None, None, None, None, None, None, ())
    shared = _shared_bytes(base, made)
    if shared > _MOST_SHARED:
        stage = (m + n) * k * base.bytes
        _refuse("stages", f"{shared} bytes of shared memory are more than the {_MOST_SHARED} of a CTA", f"{(_MOST_SHARED - 1024) // stage} stages, or a smaller tile")  # fmt: skip
    return made


# --- C++ -------------------------------------------------------------------------------------------------------------


def _ctas(base: _Base, made: Config, given: int | None) -> int:
    if given is not None:
        most = 2048 // made.threads
        if not isinstance(given, int) or isinstance(given, bool) or not 1 <= given <= most:
            _refuse("ctas", f"it is {given!r}", f"1 to {most}, of {made.threads} threads each")
        return given
    if base.kernel.kernel in _BY_TWO_WARPGROUPS:
        return 2 if made.tiler[1] <= 128 and 2 * (_shared_bytes(base, made) + 1024) <= _SHARED_OF_MULTIPROCESSOR else 1
    is_larger = made.tiler[0] * made.tiler[1] > base.kernel.tile[0] * base.kernel.tile[1]
    if made.threads == base.kernel.threads and not is_larger and _shared_bytes(base, made) <= base.kernel.shared_bytes:
        return base.kernel.ctas_per_multiprocessor
    fit = _SHARED_OF_MULTIPROCESSOR // (_shared_bytes(base, made) + 1024)
    words = base.config.type_c.bits // 32
    registers = made.tiler[0] * made.tiler[1] // made.threads * words + 40
    return max(
        1, min(base.kernel.ctas_per_multiprocessor, fit, 2048 // made.threads, 65536 // (made.threads * registers))
    )


def _name(made: Config, given: str | None) -> str:
    if given is None:
        text = f"{_fields(_Base.of(made.base), made)}{made.schedule}"
        return f"{made.base[:38]}_{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    if not isinstance(given, str) or not re.fullmatch(r"[a-z][a-z0-9_]{0,46}", given):
        _refuse("name", f"it is {given!r}", "lower-case letters, digits and _, at most 47")
    if given == "auto" or given in tables.read("kernels") or (given in kernels().families() and given not in kernels()):
        _refuse("name", f"{given} is a kernel of the package, or stands for any", "another name")
    return given


def _space(name: str) -> str:
    """Return the namespace of a Config, so that two of them are two types for the linker."""
    return f"cute_py_user_{name}"


def _fields(base: _Base, made: Config) -> str:
    """Return the C++ of the fields that can be replaced, as members."""
    lines = [f"  using CtaTiler = Shape<{','.join(f'Int<{x}>' for x in made.tiler)}>;"]
    for name, cpp in (("smem_a", "SmemLayoutA"), ("smem_b", "SmemLayoutB"), ("threads_a", "ThreadLayoutA"), ("threads_b", "ThreadLayoutB"), ("threads_c", "ThreadLayoutC")):  # fmt: skip
        if (layout := getattr(made, name)) is not None:
            lines.append(f"  using {cpp} = {layout.to_cpp()};")
    own = {"copy_a": base.config.tiled_copy_a, "copy_b": base.config.tiled_copy_b, "mma": base.config.tiled_mma}
    for name, cpp in (("copy_a", "TiledCopyA"), ("copy_b", "TiledCopyB"), ("mma", "TiledMma")):
        if (tiled := getattr(made, name)) is not None:
            lines.append(f"  using {cpp} = {f'typename Base::{cpp}' if tiled == own[name] else tiled.to_cpp()};")
    for operand, copy in (("a", made.copy_a), ("b", made.copy_b)):
        if copy is not None:
            lines.append(f"  static constexpr int vector_{operand} = {int(_core.size(copy.atom.val_layout_ref, 1))};")
    lines.append(f"  static constexpr int stages = {made.stages};")
    lines.append(f"  static constexpr int ctas = {made.ctas};")
    return "\n".join(lines) + "\n"


def _source(base: _Base, made: Config) -> str:
    family = base.kernel.kernel
    parameters = "class, cute_py::Major, cute_py::Major, cute_py::Form"
    if family in _BY_WGMMA:
        own = _tile_of_wgmma(base)
        m, n, _ = made.tiler
        is_ping_pong = "true" if made.schedule == "pingpong" else "false"
        tile = f"cute_py::kernels::WgmmaTile<{m}, {n}, {made.stages}, {is_ping_pong}, {own[5]}, {own[6]}>"
        types = f"template <{parameters}>\nusing Config = {base.config.cpp_type.replace(own[0], tile)};\n"
    elif family in _BY_TWO_WARPGROUPS:
        own_type, _, _ = base.config.cpp_type.rpartition(f", {base.kernel.tile[1]}, ")
        types = f"template <{parameters}>\nusing Config = {own_type}, {made.tiler[1]}, {made.stages}>;\n"
    else:
        replaced = "ReplacedThreads" if family in _BY_THREADS else "ReplacedTiles"
        types = f"using Base = {base.config.cpp_type};\n\nstruct Fields {{\n{_fields(base, made)}}};\n\n"
        types += f"template <{parameters}>\nusing Config = cute_py::kernels::{replaced}<Base, Fields>;\n"
    space = "cute_py::kernels"
    letters = {("mn", "mn"): "NT", ("k", "k"): "TN", ("mn", "k"): "NN", ("k", "mn"): "TT"}[base.majors]
    return (
        f"namespace {_space(made.name)} {{\nusing namespace cute;\n\n{types}\n"
        f"struct Family : {space}::{family}_family {{\n"
        f'  static constexpr char const* name = "{made.name}";\n'
        "  static constexpr bool by_name = true;\n};\n\n"
        f"struct Variants {{\n  using Family = {_space(made.name)}::Family;\n"
        f"  using Rows = {space}::List<{space}::Row<Config, cute_py::Form::{base.form}, {space}::NamedAsFamily,\n"
        f"                                          {space}::kAlways, {space}::Types<{base.element}>,\n"
        f"                                          {space}::Layouts<{space}::{letters}>>>;\n}};\n}}\n\n"
    )
