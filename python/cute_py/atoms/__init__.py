"""The MMA and copy atoms of CuTe's headers, lifted from their traits.

>>> from cute_py import atoms
>>> atom = atoms.mma["SM70_8x8x4_F32F16F16F32_NT"]
>>> print(atom, end="")
MMA_Atom
  ThrID:      (_4,_2):(_1,_16)
  Shape_MNK:  (_8,_8,_4)
  LayoutA_TV: ((_4,_2),_4):((_8,_4),_1)
  LayoutB_TV: ((_4,_2),_4):((_8,_4),_1)
  LayoutC_TV: ((_2,_2,_2),(_2,_2,_2)):((_1,_16,_4),(_8,_2,_32))
>>> print(atoms.copy["SM75_U32x4_LDSM_N"].atom("half_t"), end="")
Copy_Atom
  ThrID:        _32:_1
  ValLayoutSrc: (_32,_8):(_8,_1)
  ValLayoutDst: (_32,(_2,_4)):(_2,(_1,_64))
  ValLayoutRef: (_32,(_2,_4)):(_2,(_1,_64))
  ValueType:    16b
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Generic, TypeVar

import numpy as np

from cute_py import _core, tables
from cute_py._core import Layout
from cute_py.drawing.picture import Drawable, Picture
from cute_py.drawing.subjects import picture_of_copy_atom, picture_of_mma
from cute_py.errors import LayoutError, OperandError

__all__ = ["CopyAtom", "CopyTraits", "MMAAtom", "ValueType", "copy", "mma", "value_type"]


@dataclass(frozen=True)
class ValueType:
    """An element type, by CuTe's name, and its size in bits."""

    name: str
    bits: int

    def __str__(self) -> str:
        return self.name


_BITS = {
    "uint1_t": 1, "int4_t": 4, "uint4_t": 4, "float_e2m1_t": 4, "float_e2m3_t": 6, "float_e3m2_t": 6,
    "int8_t": 8, "uint8_t": 8, "float_e4m3_t": 8, "float_e5m2_t": 8,
    "int16_t": 16, "uint16_t": 16, "half_t": 16, "bfloat16_t": 16,
    "int32_t": 32, "uint32_t": 32, "float": 32, "tfloat32_t": 32,
    "int64_t": 64, "uint64_t": 64, "double": 64, "complex<float>": 64, "complex<double>": 128, "uint128_t": 128,
}  # fmt: skip
_NUMPY = {"float16": "half_t", "float32": "float", "float64": "double", "complex64": "complex<float>",
          "complex128": "complex<double>", "bfloat16": "bfloat16_t", "tfloat32": "tfloat32_t",
          "float8_e4m3fn": "float_e4m3_t", "float8_e5m2": "float_e5m2_t"}  # fmt: skip


def value_type(value: Any) -> ValueType:
    """Return an element type from CuTe's name for it, ``"half_t"``, a NumPy dtype, or a size in bits.

    Raises OperandError for anything else.
    """
    if isinstance(value, ValueType):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        if value < 1:
            raise OperandError(f"value_type: a type of {value} bits does not exist; next: 1 or more")
        return ValueType(f"{value}b", value)
    if isinstance(value, str):
        value = _NUMPY.get(value, value)
        if value in _BITS:
            return ValueType(value, _BITS[value])
    try:
        if value is None:  # NumPy's default type
            raise TypeError
        name = np.dtype(value).name
    except (TypeError, ValueError, SyntaxError):  # NumPy reads some text as Python
        raise OperandError(
            f"value_type: {value!r} is no element type; known are {', '.join(_BITS)} and NumPy's dtypes"
        ) from None
    name = _NUMPY.get(name, f"{name}_t")
    if name not in _BITS:
        raise OperandError(f"value_type: {value!r} has no equivalent among {', '.join(_BITS)}")
    return ValueType(name, _BITS[name])


@dataclass(frozen=True)
class MMAAtom(Drawable):
    """One matrix instruction: which element each thread holds as which value.

    Attributes
    ----------
    name
        Of the operation in C++.
    architecture
        Of the first GPUs that have it, 80 for SM80; 0 of one that is no single instruction.
    shape_mnk
        (M,N,K) that it multiplies.
    thr_id
        Logical thread -> thread of the warp, or of the warpgroup.
    layout_a_tv, layout_b_tv, layout_c_tv
        (thread, value) -> index in the column-major (M,K), (N,K) and (M,N) tile.
    a, b, c, d
        The element types.
    scale, scale_length
        Of a block-scaled product, the type of the scales, and how many elements along K have one; None and 0 of others.
    layout_sfa_tv, layout_sfb_tv
        (thread, value) -> index in the (M,K) and (N,K) tile of the element that is scaled, where threads hold the scales; None
        where tensor memory does.
    """

    name: str
    architecture: int
    shape_mnk: tuple[Any, Any, Any]
    thr_id: Layout
    layout_a_tv: Layout
    layout_b_tv: Layout
    layout_c_tv: Layout
    a: ValueType
    b: ValueType
    c: ValueType
    d: ValueType
    scale: ValueType | None = None
    scale_length: int = 0
    layout_sfa_tv: Layout | None = None
    layout_sfb_tv: Layout | None = None

    def tiles(self) -> tuple[tuple[str, Layout, int], ...]:
        """Return each operand's name, (thread, value) layout and number of elements."""
        m, n, k = (int(extent) for extent in self.shape_mnk)
        return (("A", self.layout_a_tv, m * k), ("B", self.layout_b_tv, n * k), ("C", self.layout_c_tv, m * n))

    @property
    def lanes(self) -> tuple[int, ...]:
        """The lanes of the warp, or the threads of the warpgroup, that take part: ThrID of each thread of the layouts."""
        return tuple(int(lane) for lane in _core.layout_values(self.thr_id, self.thr_id.size))

    @property
    def about(self) -> str:
        """One sentence: extents, types, threads.

        >>> print(mma["SM70_8x8x4_F32F16F16F32_NT"].about)
        8x8x4, float = half_t x half_t + float, by 8 threads: lanes 0..3, 16..19
        """
        m, n, k = (int(_core.size(mode)) for mode in self.shape_mnk)
        what = f"{m}x{n}x{k}, {self.d.name} = {self.a.name} x {self.b.name} + {self.c.name}"
        if self.scale is not None:
            what += f", a scale ({self.scale.name}) for each {self.scale_length} along K"
        lanes = self.lanes
        if "_2x1SM_" in self.name:
            return f"{what}, by one thread for two CTAs"
        if self.architecture >= 100 and len(lanes) == 1:
            return f"{what}, by one thread for its CTA"
        if len(lanes) == 1:
            return f"{what}, by each thread"
        where = "" if lanes == tuple(range(len(lanes))) else f": lanes {_runs(lanes)}"
        return f"{what}, by {len(lanes)} threads{where}"

    @property
    def suspicion(self) -> str:
        """Which layout does not reach every element of its tile; empty if all do."""
        for operand, layout, size in self.tiles():
            reached = _reached(layout)
            if reached != size:
                return f"{operand}: {layout} reaches {reached} of {size} elements"
        return ""

    def __str__(self) -> str:
        return (
            "MMA_Atom\n"
            f"  ThrID:      {self.thr_id}\n"
            f"  Shape_MNK:  {_core.print_tiler(self.shape_mnk)}\n"
            f"  LayoutA_TV: {self.layout_a_tv}\n"
            f"  LayoutB_TV: {self.layout_b_tv}\n"
            f"  LayoutC_TV: {self.layout_c_tv}\n"
        )

    def to_cpp(self) -> str:
        """Return the C++ type, ``MMA_Atom<Operation>``. Names are those of the namespace ``cute``.

        Raises LayoutError of a warpgroup's instruction, whose type says how A and B lie in shared memory, which is no
        part of this atom.
        """
        if "GMMA" in self.name or self.name.startswith(("MMA_", "SM90_64x")):
            raise LayoutError(
                f"to_cpp: the C++ type of {self.name} says how A and B lie in shared memory, and this atom does not\n"
                "  next: write the type out, as SM90::GMMA::ss_op_selector gives it"
            )
        return f"MMA_Atom<{self.name}>"

    def __repr__(self) -> str:
        return f"cute_py.atoms.mma[{self.name!r}]"

    def _picture(self) -> Picture:
        m, n, k = self.shape_mnk
        layouts = (self.layout_a_tv, self.layout_b_tv, self.layout_c_tv)
        return picture_of_mma(f"{self.name}{_id_text(self.thr_id)}", (m, n, k), *layouts, self.thr_id)


def _runs(numbers: tuple[int, ...]) -> str:
    """Return numbers as ``"0..3, 16..19"``."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}..{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


@cache
def _reached(layout: Layout) -> int:
    """Return how many elements a layout reaches."""
    image = _core.filter(layout)  # the same values, each as rarely as modes of stride 0 allow
    return len(set(_core.layout_values(image, image.size)))


def _id_text(thr_id: Layout) -> str:
    """Return the thread layout for a title, where it is not just a count."""
    return "" if [thr_id(t) for t in range(thr_id.size)] == list(range(thr_id.size)) else f", ThrID {thr_id}"


@dataclass(frozen=True)
class CopyTraits:
    """One copy instruction: which bit each thread moves as which value. `atom` makes an atom for an element type of it.

    Attributes
    ----------
    name, architecture, thr_id
        As of `MMAAtom`.
    layout_src, layout_dst, layout_ref
        (thread, bit value) -> bit.
    """

    name: str
    architecture: int
    thr_id: Layout
    layout_src: Layout
    layout_dst: Layout
    layout_ref: Layout

    def atom(self, dtype: Any) -> CopyAtom:
        """Return the atom that moves elements of a type: `value_type` says how to name one.

        Raises LayoutError if the instruction does not move whole elements of that size.
        """
        return CopyAtom(self, value_type(dtype))

    def __repr__(self) -> str:
        return f"cute_py.atoms.copy[{self.name!r}]"


@dataclass(frozen=True)
class CopyAtom(Drawable):
    """A copy instruction for elements of one type: CuTe's ``Copy_Atom<Operation, T>``."""

    traits: CopyTraits
    value_type: ValueType

    def __post_init__(self) -> None:
        threads = self.traits.thr_id.size
        for layout in (self.val_layout_src, self.val_layout_dst, self.val_layout_ref):
            if _core.size(layout, 0) != threads:
                raise LayoutError(
                    f"copy atom: {self.traits.name} does not move whole elements of {self.value_type.bits} bits; next: a smaller type, such as uint8_t"
                )

    @property
    def name(self) -> str:
        return self.traits.name

    @property
    def thr_id(self) -> Layout:
        return self.traits.thr_id

    @cached_property
    def val_layout_src(self) -> Layout:
        """(thread, value) -> element of the source."""
        layout: Layout = _core.upcast(self.traits.layout_src, self.value_type.bits)
        return layout

    @cached_property
    def val_layout_dst(self) -> Layout:
        """(thread, value) -> element of the destination."""
        layout: Layout = _core.upcast(self.traits.layout_dst, self.value_type.bits)
        return layout

    @cached_property
    def val_layout_ref(self) -> Layout:
        """(thread, value) -> element, in the numbering that tiled copies go by."""
        layout: Layout = _core.upcast(self.traits.layout_ref, self.value_type.bits)
        return layout

    def __str__(self) -> str:
        return (
            "Copy_Atom\n"
            f"  ThrID:        {self.thr_id}\n"
            f"  ValLayoutSrc: {self.val_layout_src}\n"
            f"  ValLayoutDst: {self.val_layout_dst}\n"
            f"  ValLayoutRef: {self.val_layout_ref}\n"
            f"  ValueType:    {self.value_type.bits}b\n"
        )

    def to_cpp(self) -> str:
        """Return the C++ type, ``Copy_Atom<Operation,T>``. Names are those of the namespace ``cute``."""
        return f"Copy_Atom<{self.name},{self.value_type.name}>"

    def __repr__(self) -> str:
        return f"{self.traits!r}.atom({self.value_type.name!r})"

    def _picture(self) -> Picture:
        return picture_of_copy_atom(self.name, self.val_layout_src, self.val_layout_dst)


Atom = TypeVar("Atom", MMAAtom, CopyTraits)


class Catalogue(Mapping[str, Atom], Generic[Atom]):
    """Atoms by name, as C++ may spell it, too. Printing lists the names; `find` filters them.

    >>> mma["UniversalFMA<float, float, float>"].name
    'UniversalFMA<float>'
    """

    def __init__(self, kind: str, make: Callable[..., Atom]) -> None:
        self._kind = kind
        self._make: Callable[..., Atom] = make

    @cached_property
    def _atoms(self) -> dict[str, Atom]:
        table = tables.read("atoms")
        values = [_value(value) for value in table["values"]]
        return {name: self._make(name, values, *row) for name, row in table[self._kind].items()}

    @cached_property
    def defects(self) -> dict[str, str]:
        """The atoms whose traits in the headers are malformed, and what is wrong with them. They are not in the catalogue."""
        defects: dict[str, str] = tables.read("atoms")[f"{self._kind}_defects"]
        return defects

    def __getitem__(self, name: str) -> Atom:
        if name in self._atoms:
            return self._atoms[name]
        plain = _plain_name(name)
        if plain in self._atoms:
            return self._atoms[plain]
        if name in self.defects:
            raise OperandError(f"atoms: the headers' traits of {name} are malformed: {self.defects[name]}")
        import difflib  # only errors need it

        near = difflib.get_close_matches(str(name), self._atoms, n=5, cutoff=0.5)
        hint = f"; near: {', '.join(near)}" if near else f"; cute_py.atoms.{self._kind} lists all {len(self._atoms)}"
        raise OperandError(f"atoms: there is no {self._kind} atom {name!r}{hint}")

    def __contains__(self, name: object) -> bool:
        return name in self._atoms or _plain_name(name) in self._atoms

    def __iter__(self) -> Iterator[str]:
        return iter(self._atoms)

    def __len__(self) -> int:
        return len(self._atoms)

    @cached_property
    def suspects(self) -> dict[str, str]:
        """The MMA atoms whose layouts in the headers do not reach every element of their tile, and which operand it is.

        >>> mma.suspects["SM80_16x8x32_S32S4S4S32_TN"]
        'B: ((_4,_8),(_8)):((_32,_1),(_8)) reaches 160 of 256 elements'
        """
        atoms = {name: atom for name, atom in self._atoms.items() if isinstance(atom, MMAAtom)}
        return {name: atom.suspicion for name, atom in atoms.items() if atom.suspicion}

    def find(self, *parts: str) -> list[str]:
        """Return the names that contain every one of the parts, in any case.

        >>> mma.find("sm80", "16x8x16", "bf16")
        ['SM80_16x8x16_F32BF16BF16F32_TN']
        """
        return [name for name in self._atoms if all(part.lower() in name.lower() for part in parts)]

    def __repr__(self) -> str:
        return f"<{len(self)} {self._kind} atoms; find() filters their names>"

    def __str__(self) -> str:
        return "\n".join(self._atoms)


def _plain_name(name: object) -> str:
    """Return an atom's name without spaces, namespaces and what a template's defaults say."""
    import re  # only names that are not the catalogue's own need it

    plain = re.sub(r"\s|\w+::", "", str(name))
    return re.sub(r"^(UniversalFMA|UniversalCopy)<(\w+)(,\2)+>$", r"\1<\2>", plain)


def _value(value: Any) -> Any:
    """Return what a table has as text or as a list: a layout, integers, or a type."""
    return ValueType(*value) if isinstance(value, list) else _core.parse(value)


def _make_mma(name: str, values: list[Any], architecture: int, *row: int | None) -> MMAAtom:
    # In the order of the attributes of MMAAtom; the length of a scale is a number itself.
    read: list[Any] = [None if at is None else values[at] for at in row]
    read[10] = row[10] or 0
    return MMAAtom(name, architecture, *read)


def _make_copy(name: str, values: list[Any], architecture: int, *row: int) -> CopyTraits:
    return CopyTraits(name, architecture, *(values[at] for at in row))


mma: Catalogue[MMAAtom] = Catalogue("mma", _make_mma)
copy: Catalogue[CopyTraits] = Catalogue("copy", _make_copy)
