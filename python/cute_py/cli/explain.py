"""``cute-py explain``: how a product would be computed, of arrays that need not exist, on a GPU that need not
be there.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from dataclasses import asdict
from typing import Any

import numpy as np

from cute_py._dtypes import numpy_type
from cute_py._strided import as_strided
from cute_py.cli.command_error import CommandError
from cute_py.machine.devices import PRESETS, Device
from cute_py.products.contraction import contract
from cute_py.products.einsum import EinsumExplanation, einsum
from cute_py.products.explanation import Explanation
from cute_py.products.subscripts import parse
from cute_py.products.types import type_name

HERE = ("cuda", "cpu", "emulator")
MAJORS = {"nt": ("mk", "nk"), "tn": ("km", "kn"), "nn": ("mk", "kn"), "tt": ("km", "nk")}  # the fastest first


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "explain",
        help="say which kernel computes a product, why, and why no other",
        description="Nothing is computed, and no arrays are needed: a product is three extents, M N K, or subscripts with the "
        "extent of each index, abk,kc->abc a=8 b=64 c=96 k=128.",
    )
    parser.add_argument("product", metavar="M N K | SUBSCRIPTS INDEX=EXTENT", nargs="+")
    parser.add_argument("--layout", choices=sorted(MAJORS), default="tn", help="of M N K: which modes are contiguous")
    parser.add_argument(
        "--strides",
        action="append",
        default=[],
        metavar="A=S,S",
        help="of an operand (A, B, C...), in elements, a stride for each mode; may be repeated; by default its last mode is contiguous",
    )
    parser.add_argument("--dtype", default="float32", help="of all operands, or of each: float16,float32")
    parser.add_argument("--out-dtype", help="of the result")
    parser.add_argument("--compute", help="what sums are computed in")
    parser.add_argument("--kernel", default="auto", help="a name that `cute-py kernels` shows (default: auto)")
    parser.add_argument(
        "--device", default="H200", help=f"{', '.join(PRESETS)}, or what is here: {', '.join(HERE)} (default: H200)"
    )
    parser.add_argument("--long", action="store_true", help="all candidates, and every kernel that refuses")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    found = explained(options)
    if options.json:
        print(json.dumps(asdict(found), indent=2))
    elif isinstance(found, Explanation):
        print(found.text(long=options.long))
    else:
        print(found)
    return 0


def explained(options: argparse.Namespace) -> Explanation | EinsumExplanation:
    """Return the explanation of what the options name."""
    subscripts, extents = read_product(options.product)
    operands = subscripts.partition("->")[0].split(",")
    labels, _ = parse("explain", subscripts, tuple(len(letters) for letters in operands))
    strides = read_strides(options.strides, labels)
    if subscripts == "mk,nk->mn" and options.product[0].isdigit():
        for name, order in zip("AB", MAJORS[options.layout], strict=True):
            strides.setdefault(name, dense(labels["AB".index(name)], order, extents))
    types = read_types(options.dtype, len(labels))
    arrays = [
        array_of([extents[x] for x in letters], strides.get(chr(ord("A") + i)), types[i])
        for i, letters in enumerate(labels)
    ]
    call: dict[str, Any] = {"kernel": options.kernel, "device": device_of(options.device)}
    call |= {"compute": options.compute, "out_dtype": options.out_dtype}
    if len(arrays) == 2:
        return contract.explain(subscripts, *arrays, **call)
    return einsum.explain(subscripts, *arrays, **call)


def read_product(words: list[str]) -> tuple[str, dict[str, int]]:
    """Return subscripts and the extent of each index."""
    if words[0].isdigit():
        if len(words) != 3 or not all(word.isdigit() for word in words):
            raise CommandError(
                f"a matrix product is M N K, three numbers, not {' '.join(words)}\n  next: cute-py explain 512 512 64"
            )
        return "mk,nk->mn", dict(zip("mnk", map(int, words), strict=True))
    subscripts, *pairs = words
    if "." in subscripts:
        raise CommandError(
            f"{subscripts!r} shall name every mode: '...' stands for arrays that are not here\n  next: write a letter for each of these modes"
        )
    extents: dict[str, int] = {}
    for pair in (part for word in pairs for part in word.split(",")):
        if not (match := re.fullmatch(r"([A-Za-z])=(\d+)", pair)):
            raise CommandError(f"{pair!r} is no extent of an index\n  next: write k=128")
        extents[match[1]] = int(match[2])
    named = {x for x in subscripts if x.isalpha()}
    if missing := sorted(named - extents.keys()):
        raise CommandError(
            f"no extent of index {', '.join(missing)}\n  next: add {' '.join(f'{x}=64' for x in missing)}"
        )
    if unknown := sorted(extents.keys() - named):
        raise CommandError(
            f"{subscripts!r} has no index {', '.join(unknown)}\n  next: leave out {' '.join(f'{x}={extents[x]}' for x in unknown)}"
        )
    return subscripts, extents


def read_strides(given: list[str], labels: tuple[str, ...]) -> dict[str, tuple[int, ...]]:
    strides: dict[str, tuple[int, ...]] = {}
    for text in given:
        match = re.fullmatch(r"([A-Z])=(-?\d+(?:,-?\d+)*)", text)
        if not match or not 0 <= (number := ord(match[1]) - ord("A")) < len(labels):
            last = chr(ord("A") + len(labels) - 1)
            raise CommandError(f"--strides {text!r} is not of an operand, A to {last}\n  next: --strides A=1,4096")
        strides[match[1]] = tuple(map(int, match[2].split(",")))
        if len(strides[match[1]]) != len(labels[number]):
            raise CommandError(
                f"--strides {text} has {len(strides[match[1]])} strides for {len(labels[number])} modes\n  next: one for each mode"
            )
    return strides


def read_types(text: str, count: int) -> list[Any]:
    names = text.split(",")
    if len(names) not in (1, count):
        raise CommandError(
            f"--dtype {text} names {len(names)} types for {count} operands\n  next: one type for all, or {count} with commas between them"
        )
    types = []
    for name in names * (1 if len(names) == count else count):
        try:
            dtype = numpy_type(type_name("dtype", name) or "")
            if dtype.hasobject or dtype.itemsize == 0:
                raise TypeError(name)
            types.append(dtype)
        except TypeError:
            raise CommandError(
                f"--dtype {name!r} is no type\n  next: float16, bfloat16, float32, float64, int8, ..."
            ) from None
    return types


def dense(letters: str, order: str, extents: dict[str, int]) -> tuple[int, ...]:
    """Return the strides of modes that lie in memory in an order, the fastest first."""
    found, step = {}, 1
    for letter in order:
        found[letter] = step
        step *= extents[letter]
    return tuple(found[letter] for letter in letters)


def array_of(extents: list[int], strides: tuple[int, ...] | None, dtype: Any) -> Any:
    """Return an array with this layout, at an address that all kernels like. Nobody may read it: it has no memory."""
    if strides is None:
        strides = tuple(math.prod(extents[i + 1 :]) for i in range(len(extents)))
    memory = np.empty(4096, np.uint8)
    first = -memory.ctypes.data % 256
    element = memory[first : first + dtype.itemsize].view(dtype)
    try:
        bytes_apart = [stride * dtype.itemsize for stride in strides]
        return as_strided(element, tuple(extents), tuple(bytes_apart), writeable=False)
    except (ValueError, OverflowError):
        raise CommandError(
            f"an array of {'x'.join(map(str, extents))} numbers is larger than any memory\n  next: smaller extents"
        ) from None


def device_of(name: str) -> str | Device:
    if name.upper() in PRESETS:
        return Device.preset(name)
    if name.partition(":")[0] in HERE:
        return name
    raise CommandError(f"no device is called {name!r}\n  next: {', '.join([*PRESETS, *HERE])}")
