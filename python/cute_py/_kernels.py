"""The kernels of this build."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import NoReturn

from cute_py import _core
from cute_py.errors import OperandError

__all__ = ["Kernel", "Kernels", "kernels"]


@dataclass(frozen=True)
class Kernel:
    """One compiled kernel variant.

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
    tile
        (BLK_M, BLK_N, BLK_K) of a CTA, in elements; of a CPU kernel, the register tile and the block of K.
    threads
        Per CTA; 1 for a CPU kernel, which is given its threads by `set_num_threads`.
    stages
        Tiles of shared memory in flight.
    shared_bytes
        Shared memory per CTA, in bytes.
    predicated
        True: any extents, any strides. False: extents are multiples of the tile, A, B and C have the unit strides of the
        layout, pointers and leading dimensions are multiples of `alignment_bytes`.
    alignment_bytes
        See `predicated`.
    compute_capability
        The least of a GPU that it is made for, 80 for 8.0; 0 of a CPU kernel.
    isa
        The instruction set that a CPU kernel needs: ``"baseline"``, ``"avx2"`` or ``"avx512"``.
    """

    name: str
    kernel: str
    layout: str
    targets: tuple[str, ...]
    tile: tuple[int, int, int]
    threads: int
    stages: int
    shared_bytes: int
    predicated: bool
    alignment_bytes: int
    compute_capability: int
    isa: str


class Kernels(Mapping[str, Kernel]):
    """The kernel variants of this build by name, in the order of preference: the later of two that fit is chosen."""

    def __init__(self, variants: Iterable[Kernel]) -> None:
        self._by_name = {variant.name: variant for variant in variants}

    def __getitem__(self, name: str) -> Kernel:
        try:
            return self._by_name[name]
        except KeyError:
            raise KeyError(_unknown(name, list(self._by_name))) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def families(self) -> list[str]:
        """Return the names of the kernels that the variants belong to, in order."""
        return list(dict.fromkeys(variant.kernel for variant in self.values()))

    def __repr__(self) -> str:
        return f"Kernels({list(self._by_name)})"

    def __str__(self) -> str:
        header = ("name", "runs on", "tile", "threads", "stages", "smem", "takes")
        rows = [
            (
                k.name,
                "+".join(k.targets),
                "x".join(map(str, k.tile)),
                str(k.threads),
                str(k.stages),
                str(k.shared_bytes),
                "any extents and strides" if k.predicated else f"whole tiles, {k.alignment_bytes}-byte aligned",
            )
            for k in self.values()
        ]
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (header, *rows)
        ]
        return "\n".join(line.rstrip() for line in lines)


@cache
def kernels() -> Kernels:
    """Return every kernel variant of this build, by name.

    >>> import cute_py
    >>> cute_py.kernels()["sgemm_sm80_nt_f32"].tile
    (128, 128, 16)
    """
    targets: dict[str, list[str]] = {}
    entries = _core.entries()
    for entry in entries:
        targets.setdefault(entry["name"], []).append(entry["target"])
    variants = []
    for entry in entries:
        if entry["target"] != targets[entry["name"]][-1]:
            continue
        fields = {key: value for key, value in entry.items() if key != "target"}
        variants.append(Kernel(**fields, targets=tuple(targets[entry["name"]])))
    return Kernels(variants)


def raise_unknown_kernel(name: str) -> NoReturn:
    """Raise the OperandError for a kernel that does not exist, naming those with a similar name."""
    raise OperandError(_unknown(name, ["auto", *kernels().families(), *kernels()]))


def _unknown(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(str(name), known, n=4, cutoff=0.5)
    hint = f"near: {', '.join(near)}" if near else f"there are: {', '.join(kernels().families())} and their variants"
    return f"no kernel is called {name!r}; {hint}"
