"""Tiled MMAs and tiled copies for the judge: what CuTe prints of them and of their partitions."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import cute_py
import cute_py.layout as cl
from cute_py import atoms, make_tiled_copy, make_tiled_copy_A, make_tiled_copy_B, make_tiled_copy_C, make_tiled_mma
from cute_py.layout import Int, Layout
from judge.cases import cpp, static


@dataclass(frozen=True)
class Print:
    """A statement in C++ that prints, and the text that the engine expects."""

    name: str
    cpp: str
    text: str


def partition(expression: str, tensor: Layout) -> str:
    """C++ that prints the layout and the offset of a partition of the tensor of indices."""
    return f"show_part([&](auto const& t) {{ return {expression}; }}, {cpp(tensor)});"


def part_text(part: cute_py.Tensor) -> str:
    return f"{part.layout} + {part.offset}"


# ---- MMAs: atom, layout of atoms, permutations

MMAS: list[tuple[str, Any, Any]] = [
    (name, atom_layout, permutations)
    for name in [
        "UniversalFMA<float>",
        "SM70_8x8x4_F32F16F16F32_NT",
        "SM75_16x8x8_F32F16F16F32_TN",
        "SM80_16x8x16_F32F16F16F32_TN",
        "SM80_16x8x32_S32S8S8S32_TN",
        "SM90_16x8x8_F64F64F64F64_TN",
    ]
    for atom_layout, permutations in [
        ((1, 1, 1), (None, None, None)),
        ((2, 2, 1), (None, None, None)),
        (Layout("(_2,_4,_1):(_4,_1,_0)"), (None, None, None)),
        ((2, 2, 1), (Int(64), Int(32), None)),
        ((2, 1, 2), (None, None, None)),
    ]
]
MMAS += [
    ("UniversalFMA<float>", (16, 16, 1), (None, None, None)),
    ("UniversalFMA<float>", (16, 16, 1), (Layout("(_16,_2):(_2,_1)"), Layout("(_16,_4):(_4,_1)"), Int(1))),
    ("SM90_64x64x16_F32F16F16_SS<K,K>", (1, 1, 1), (None, None, None)),
    ("SM90_64x128x16_F32F16F16_SS<MN,MN>", (2, 1, 1), (None, None, None)),
    ("SM80_16x8x16_F32F16F16F32_TN", (2, 2, 1), (Int(32), Layout("(_8,_2,_2):(_1,_16,_8)"), Int(16))),
]

CPP_MAJOR = {"K": "GMMA::Major::K", "MN": "GMMA::Major::MN"}


def cpp_atom(name: str) -> str:
    """Return the C++ type of an MMA operation."""
    base, _, arguments = name.partition("<")
    if not arguments and ("SPARSE" in name or (name.startswith("SM90_64") and "S32" not in name)):
        return f"{name}<>"  # every template argument has a default
    if not arguments or "FMA" in name:
        return name
    return f"{base}<{','.join(CPP_MAJOR[a] for a in arguments.rstrip('>').split(','))}>"


def cpp_tile(permutations: tuple[Any, ...]) -> str:
    return f"make_tile({','.join('Underscore{}' if p is None else cpp(static(p)) for p in permutations)})"


def some_mma_prints() -> list[Print]:
    """Of every second one: each atom, each layout of atoms and each permutation are among them."""
    return mma_prints(MMAS[::2])


def mma_prints(mmas: list[tuple[str, Any, Any]] = MMAS) -> list[Print]:
    prints = []
    for name, atom_layout, permutations in mmas:
        layout = atom_layout if isinstance(atom_layout, Layout) else Layout(static(atom_layout))
        mma = make_tiled_mma(atoms.mma[name], layout, permutations)
        made = f"auto mma = make_tiled_mma({cpp_atom(name)}{{}}, {cpp(layout)}, {cpp_tile(permutations)});"
        m, n, k = (Int(2 * t) for t in mma.tile_shape)
        thread = mma.thr_layout_vmnk(mma.size * 5 // 7)
        tensors = {
            "A": Layout((m, k), (Int(1), Int(m + 8))),
            "B": Layout((n, k, Int(3)), cl.LayoutRight),
            "C": Layout((m, n)),
        }
        label = f"{name} {cl.notation(layout)} {cl.notation(permutations)}"
        statements: list[tuple[str, str, str]] = [("print", "print(mma);", str(mma))]
        for operand, tensor in tensors.items():
            tv = getattr(mma, f"layout_{operand.lower()}_tv")
            statements.append((f"layout{operand}_TV", f"SHOW(mma.get_layout{operand}_TV());", str(tv)))
            frg = getattr(mma, f"thrfrg_{operand}")(tensor)
            statements.append((f"thrfrg_{operand}", f"SHOW(mma.thrfrg_{operand}({cpp(tensor)}));", str(frg)))
            # A quad pair leaves threads out, which CuTe gives what others hold.
            for t in (thread, *((4, 9, 21) if name.startswith("SM70") else ())):
                if t < mma.threads:
                    part = getattr(mma.get_slice(t), f"partition_{operand}")(tensor)
                    call = f"mma.get_slice({t}).partition_{operand}(t)"
                    statements.append((f"partition_{operand} {t}", partition(call, tensor), part_text(part)))
        prints += [Print(f"{label} {what}", f"{made} {code}", text) for what, code, text in statements]
    return prints


# ---- Copies: operation in C++, in the catalogue, element type, threads, values

COPIES: list[tuple[str, str, str, str, Any, Any]] = [
    ("UniversalCopy<float>", "UniversalCopy<float>", "float", "float", "(_32,_8)", "(_1,_1)"),
    ("UniversalCopy<uint128_t>", "UniversalCopy<uint128_t>", "float", "float", "(_32,_8)", "(_4,_1)"),
    ("UniversalCopy<uint128_t>", "UniversalCopy<uint128_t>", "float", "float", "(_128,_2):(_2,_1)", "(_1,_4)"),
    ("UniversalCopy<uint64_t>", "UniversalCopy<uint64_t>", "float", "float", "(_16,_16)", "(_2,_1)"),
    ("UniversalCopy<uint128_t>", "UniversalCopy<uint128_t>", "half_t", "half_t", "(_16,_8):(_8,_1)", "(_1,_8)"),
    ("UniversalCopy<uint128_t>", "UniversalCopy<uint128_t>", "half_t", "half_t", "(_16,_8):(_8,_1)", "(_2,_8):(_8,_1)"),
    ("UniversalCopy<uint32_t>", "UniversalCopy<uint32_t>", "half_t", "half_t", "(_32,_4):(_4,_1)", "(_2,_4):(_4,_1)"),
    ("UniversalCopy<double>", "UniversalCopy<double>", "double", "double", "((_2,_8),_4)", "(_2,_2)"),
    ("SM80_CP_ASYNC_CACHEALWAYS<uint128_t>", "SM80_CP_ASYNC_CACHEALWAYS<uint128_t>", "half_t", "half_t", "(_32,_4):(_4,_1)", "(_1,_8)"),
    ("SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>", "SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>", "float", "float", "(_32,_8):(_8,_1)", "(_1,_4)"),
    ("SM75_U32x1_LDSM_N", "SM75_U32x1_LDSM_N", "half_t", "half_t", "(_32,_1)", "(_1,_2)"),
    ("SM75_U32x4_LDSM_N", "SM75_U32x4_LDSM_N", "half_t", "half_t", "(_32,_1)", "(_1,_8)"),
    ("SM75_U16x8_LDSM_T", "SM75_U16x8_LDSM_T", "half_t", "half_t", "(_32,_2)", "(_1,_8)"),
    ("SM90_U32x4_STSM_N", "SM90_U32x4_STSM_N", "half_t", "half_t", "(_32,_1)", "(_1,_8)"),
]  # fmt: skip


def copy_prints() -> list[Print]:
    prints = []
    for operation, name, cpp_type, dtype, threads, values in COPIES:
        copy = make_tiled_copy(atoms.copy[name].atom(dtype), Layout(threads), Layout(values))
        made = (
            f"auto copy = make_tiled_copy(Copy_Atom<{operation},{cpp_type}>{{}}, {cpp(Layout(threads))}, "
            f"{cpp(Layout(values))});"
        )
        prints += of_copy(f"{operation} {cpp_type} {threads} {values}", made, copy)
    # Copies that match an MMA
    mma = make_tiled_mma(atoms.mma["SM80_16x8x16_F32F16F16F32_TN"], Layout("(_2,_2,_1)"), (Int(32), Int(32), Int(16)))
    makers: list[tuple[str, str, Callable[..., Any]]] = [
        ("A", "SM75_U32x4_LDSM_N", make_tiled_copy_A),
        ("B", "SM75_U32x4_LDSM_N", make_tiled_copy_B),
        ("B", "SM75_U32x2_LDSM_N", make_tiled_copy_B),
        ("C", "UniversalCopy<uint32_t>", make_tiled_copy_C),
        ("C", "SM90_U32x2_STSM_N", make_tiled_copy_C),
    ]
    for operand, name, maker in makers:
        copy = maker(atoms.copy[name].atom("half_t"), mma)
        made = (
            "auto mma = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2,_2,_1>>{}, Tile<_32,_32,_16>{}); "
            f"auto copy = make_tiled_copy_{operand}(Copy_Atom<{name},half_t>{{}}, mma);"
        )
        prints += of_copy(f"make_tiled_copy_{operand} {name}", made, copy)
        tensor = Layout((Int(64), Int(64)), cl.LayoutRight)
        thread = mma.get_slice(37)
        fragment = getattr(thread, f"fragment_layout_{operand}")(tensor)
        prints.append(
            Print(f"retile_{operand} {name}", f"{made} SHOW(copy.retile({cpp(fragment)}));", str(copy.retile(fragment)))
        )
    return prints


def of_copy(label: str, made: str, copy: cute_py.TiledCopy) -> list[Print]:
    m, n = (Int(2 * t) for t in copy.tile_shape)
    thread = copy.size * 3 // 5
    source = Layout((m, n, Int(2)), (Int(1), Int(m), Int(m * n)))
    destination = Layout((m, n), cl.LayoutRight)
    part = copy.get_slice(thread)
    statements = [
        ("print", "print(copy);", str(copy)),
        ("layoutS_TV", "SHOW(copy.get_layoutS_TV());", str(copy.layout_src_tv)),
        ("layoutD_TV", "SHOW(copy.get_layoutD_TV());", str(copy.layout_dst_tv)),
        ("tidfrg_S", f"SHOW(copy.tidfrg_S({cpp(source)}));", str(copy.tidfrg_S(source))),
        ("tidfrg_D", f"SHOW(copy.tidfrg_D({cpp(destination)}));", str(copy.tidfrg_D(destination))),
        (
            "partition_S",
            partition(f"copy.get_slice({thread}).partition_S(t)", source),
            part_text(part.partition_S(source)),
        ),
        (
            "partition_D",
            partition(f"copy.get_slice({thread}).partition_D(t)", destination),
            part_text(part.partition_D(destination)),
        ),
    ]
    return [Print(f"{label} {what}", f"{made} {code}", text) for what, code, text in statements]


# ---- The kernels' own


def config_prints() -> list[Print]:
    prints = []
    seen = set()
    for kernel in cute_py.kernels().values():
        if "emulator" not in kernel.targets or not kernel.multiplies:
            continue
        # Types of one width have the same layouts.
        config = kernel.config.cpp_type
        kind = config.partition("<")[0], kernel.config.type_a.bits, *config.split(",")[-3:]
        if kind in seen:
            continue
        seen.add(kind)
        using = f"using namespace cute_py::kernels; using C = {config};"
        statements = [
            ("CtaTiler", "print(typename C::CtaTiler{});", cl.notation(kernel.config.cta_tiler)),
            *(
                (f"SmemLayout{x}", f"print(typename C::SmemLayout{x}{{}});", str(layout))
                for x, layout in (("A", kernel.config.smem_layout_a), ("B", kernel.config.smem_layout_b))
                if layout is not None
            ),
        ]
        if kernel.tiled_mma is not None and kernel.tiled_copy_a is not None and kernel.tiled_copy_b is not None:
            tile = Layout((Int(kernel.tile[0]), Int(kernel.tile[1])))
            operand = Layout((Int(kernel.tile[0]), Int(kernel.tile[2])))
            statements += [
                ("TiledMma", "print(typename C::TiledMma{});", str(kernel.tiled_mma)),
                ("TiledCopyA", "print(typename C::TiledCopyA{});", str(kernel.tiled_copy_a)),
                ("TiledCopyB", "print(typename C::TiledCopyB{});", str(kernel.tiled_copy_b)),
            ]
            for thread in (0, 37, kernel.threads - 1):
                c = kernel.tiled_mma.get_slice(thread).partition_C(tile)
                a = kernel.tiled_copy_a.get_slice(thread).partition_S(operand)
                statements += [
                    (
                        f"partition_C {thread}",
                        partition(f"typename C::TiledMma{{}}.get_slice({thread}).partition_C(t)", tile),
                        part_text(c),
                    ),
                    (
                        f"partition_S {thread}",
                        partition(f"typename C::TiledCopyA{{}}.get_slice({thread}).partition_S(t)", operand),
                        part_text(a),
                    ),
                ]
        statements += [
            (f"ThreadLayout{x}", f"print(typename C::ThreadLayout{x}{{}});", str(layout))
            for x, layout in (
                ("A", kernel.config.thread_layout_a),
                ("B", kernel.config.thread_layout_b),
                ("C", kernel.config.thread_layout_c),
            )
            if layout is not None
        ]
        prints += [Print(f"{kernel.name} {what}", f"{using} {code}", text) for what, code, text in statements]
    return prints


# ---- Every atom of the catalogue, as CuTe prints it


def atom_prints() -> list[Print]:
    prints = [
        Print(name, f"print(MMA_Atom<{cpp_atom(name)}>{{}});", str(atom))
        for name, atom in atoms.mma.items()
        if atom.architecture < 100 and not is_extended(name)
    ]
    for name, traits in atoms.copy.items():
        if "TMA" in name or "BULK" in name:
            continue
        dtype = next(t for t in ("uint8_t", "half_t", "float", "double", "uint128_t") if movable(traits, t))
        prints.append(Print(name, f"print(Copy_Atom<{name},{dtype}>{{}});", str(traits.atom(dtype))))
    return prints


def is_extended(name: str) -> bool:
    """Return whether an atom is in headers that are included only where they are asked for: sparse ones, and further extents of N."""
    extent = re.match(r"SM90_64x(\d+)x", name)
    return "SPARSE" in name or (extent is not None and int(extent[1]) not in {8, 16, 32, 64, 96, 128, 192, 256})


def extended_prints() -> list[Print]:
    """Return one atom of each kind of layouts."""
    kinds = {str(atom): name for name, atom in atoms.mma.items() if atom.architecture < 100 and is_extended(name)}
    return [Print(name, f"print(MMA_Atom<{cpp_atom(name)}>{{}});", text) for text, name in kinds.items()]


def movable(traits: atoms.CopyTraits, dtype: str) -> bool:
    try:
        traits.atom(dtype)
    except cute_py.LayoutError:
        return False
    return True


# ---- The tutorial, with dynamic extents


def tutorial_prints() -> list[Print]:
    m, n, k = 500, 300, 100
    prints = []
    for layout_name, strides in (("nt", ((Int(1), m), (Int(1), n))), ("tn", ((k, Int(1)), (k, Int(1))))):
        a = Layout((m, k), strides[0])
        b = Layout((n, k), strides[1])
        tiler = (Int(128), Int(128), Int(8))
        thr = Layout((Int(32), Int(8)))
        for operand, whole, proj in (("A", a, (Int(1), None, Int(1))), ("B", b, (None, Int(1), Int(1)))):
            made = (
                f"auto t = make_tensor(make_counting(), {cpp(whole)}); "
                f"auto g = local_tile(t, {cpp(tiler)}, make_coord(1,2,_), Step<{step(proj)}>{{}});"
            )
            g = cute_py.local_tile(cute_py.make_tensor(whole), tiler, (1, 2, None), proj)
            part = cute_py.local_partition(g, thr, 37)
            prints.append(Print(f"{layout_name} g{operand}", f"{made} print(g.layout());", str(g.layout)))
            prints.append(
                Print(
                    f"{layout_name} t{operand}g{operand}",
                    f"{made} print(local_partition(g, {cpp(thr)}, 37).layout());",
                    str(part.layout),
                )
            )
    return prints


def table_prints() -> list[Print]:
    """Return the tables of layouts, and of tensors of each element type."""
    prints = []
    for text in (
        "(_4,_8):(_8,_1)",
        "(_2,_3):(_1,_2)",
        "((_2,_2),_4):((_1,_8),_2)",
        "(_3,_1):(_100,_0)",
        "(_12,_5):(_1,_12)",
    ):
        layout = Layout(text)
        prints.append(
            Print(f"print_layout {text}", f"print_layout({cpp(layout)});", written(cute_py.print_layout, layout))
        )
    swizzled = cl.composition(cl.Swizzle(2, 0, 2), Layout("(_4,_4):(_4,_1)"))
    prints.append(
        Print("print_layout of a swizzle", f"print_layout({cpp(swizzled)});", written(cute_py.print_layout, swizzled))
    )
    for name, dtype in (
        ("float", "float32"),
        ("double", "float64"),
        ("int", "int32"),
        ("int64_t", "int64"),
        ("half_t", "float16"),
        ("bool", "bool"),
    ):
        for shape in ((3,), (2, 3), (2, 3, 2), (2, 2, 2, 2)):
            count = math.prod(shape)
            values = [
                (i % 2 if dtype == "bool" else (i - 3) * 1.5 if dtype.startswith("float") else i - 3)
                for i in range(count)
            ]
            tensor = cute_py.make_tensor(np.array(values, dtype), shape)
            numbers = ",".join(f"{name}({str(v).lower()})" for v in values)
            expression = f"make_tensor(&data[0], {cpp(Layout(static(shape)))})"
            prints.append(
                Print(
                    f"print_tensor {name} {shape}",
                    f"{name} data[] = {{{numbers}}}; print_tensor({expression}, false);",
                    written(cute_py.print_tensor, tensor, False),
                )
            )
    return prints


def written(function: Callable[..., None], *arguments: Any) -> str:
    file = io.StringIO()
    function(*arguments, file=file)
    return file.getvalue()


def step(proj: tuple[Any, ...]) -> str:
    return ",".join("X" if p is None else "_1" for p in proj)
