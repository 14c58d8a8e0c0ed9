"""Find the atoms that CuTe's headers have traits for, and write them as the entries of tests/cpp/atoms.cpp.

Usage: atom_names.py INCLUDE_FOLDER OUTPUT_FOLDER
"""

from __future__ import annotations

import re
import sys
from itertools import product
from pathlib import Path

MMA_HEADERS = ["sm61", "sm70", "sm75", "sm80", "sm89", "sm90", "sm90_gmma", "sm100", "sm120"]
WGMMA_HEADERS = ["sm90_gmma", "sm90_gmma_ext", "sm90_gmma_sparse", "sm90_gmma_sparse_ext"]
COPY_HEADERS = ["sm50", "sm75", "sm80", "sm90", "sm100"]
FULL = re.compile(r"^struct {traits}<(SM(\d+)_\w+)>".replace("{traits}", r"(?:MMA|Copy)_Traits"), re.MULTILINE)
GMMA = re.compile(r"^struct MMA_Traits<((?:SM90::GMMA::SPARSE::|SM90_)\w+)<((?:\w+(?:, )?)+)>>", re.MULTILINE)

# Templates without a list in the headers: their instances by pattern.
UMMA_16 = [("half_t", "half_t", "half_t"), ("half_t", "half_t", "float"), ("bfloat16_t", "bfloat16_t", "float")]
UMMA_TF32 = [("tfloat32_t", "tfloat32_t", "float")]
UMMA_8 = [("int8_t", "int8_t", "int32_t"), ("uint8_t", "uint8_t", "int32_t")]
NARROW = ["float_e4m3_t", "float_e5m2_t", "float_e2m1_t", "float_e2m3_t", "float_e3m2_t"]
WIDE = range(32, 257, 32)  # extents of N, of the families that have every multiple of 8 or 16
WIDE_OF_NARROW = range(64, 257, 64)  # there are 25 pairs of types
MAJORS = [("K", "K"), ("K", "MN"), ("MN", "K"), ("MN", "MN")]


def majors(name: str, parameters: str) -> list[tuple[str, ...]]:
    """Return the majornesses that an SM90 atom exists in. Registers hold A k-major; only 16-bit types have a choice."""
    if "tnspA" not in parameters:
        return [()]
    firsts = ["K"] if name.endswith(("_RS_TN", "_RS")) else ["K", "MN"]
    return [(a, b) for a in firsts for b in ("K", "MN")]


def wgmma(text: str) -> list[str]:
    lines = []
    for name, parameters in GMMA.findall(text):
        for major in majors(name, parameters):
            arguments = ",".join(major)
            shown = f"{name}<{arguments}>" if major else name
            lines.append(f'mma<{name}<{arguments}>>("{shown}", 90),')
    return lines


def umma() -> list[str]:
    """Return tcgen05's products, and warps' of narrow floats: from shared or tensor memory, dense or sparse, with or without scales."""
    lines = []

    def add(name: str, types: tuple[str, ...], m: int, n: int, major: tuple[str, str]) -> None:
        arguments = ",".join((*types, str(m), str(n)))
        cpp = ",".join(f"U{which}" for which in major)
        lines.append(f'mma<{name}<{arguments},{cpp}>>("{name}<{arguments},{",".join(major)}>", 100),')

    for m, n in [*product((64, 128), range(16, 257, 16)), (64, 8)]:
        for types, major in product(UMMA_16, MAJORS):
            add("SM100_MMA_F16BF16_SS", types, m, n, major)
        for types in UMMA_TF32:
            add("SM100_MMA_TF32_SS", types, m, n, ("K", "K"))
        for types in UMMA_8:
            add("SM100_MMA_S8_SS", types, m, n, ("K", "K"))
    for m, n in product((128, 256), range(32, 257, 32)):
        for types, major in product(UMMA_16, MAJORS):
            add("SM100_MMA_F16BF16_2x1SM_SS", types, m, n, major)
    k_major = ("K", "K")
    for ctas, rows in (("", (64, 128)), ("_2x1SM", (128, 256))):
        for m, n, source in product(rows, WIDE, ("SS", "TS")):
            for family, kinds in (("F16BF16", UMMA_16), ("TF32", UMMA_TF32), ("S8", UMMA_8)):
                name = f"SM100_MMA_{family}{ctas}_{source}"
                for types in kinds if name not in UMMA_LISTED else ():
                    add(name, types, m, n, k_major)
        for m, n, types in product(rows, WIDE_OF_NARROW, UMMA_NARROW):
            add(f"SM100_MMA_F8F6F4{ctas}_TS", types, m, n, k_major)
            name = f"SM100_MMA_F8F6F4{ctas}_SS"  # the one whose parameters are arguments of the traits
            arguments = (
                f"{','.join(types)},cute::C<{m}>,cute::C<{n}>,Constant<UK>,Constant<UK>,Constant<One>,Constant<One>"
            )
            lines.append(f'mma<{name},{arguments}>("{name}<{",".join(types)},{m},{n},K,K>", 100),')
        for m, n in product(rows, WIDE):
            for family, kinds in (("F16BF16", UMMA_16), ("TF32", UMMA_TF32), ("S8", UMMA_8), ("F8F6F4", UMMA_EIGHT)):
                for types in kinds:
                    add(f"SM100_MMA_{family}{ctas}_SS_SPARSE", types, m, n, k_major)
        lines += block_scaled(ctas, rows[1])
    return lines + narrow_of_warps()


# Those of all extents and majors, listed first.
UMMA_LISTED = {"SM100_MMA_F16BF16_SS", "SM100_MMA_TF32_SS", "SM100_MMA_S8_SS", "SM100_MMA_F16BF16_2x1SM_SS"}
UMMA_NARROW = [(a, b, "float") for a, b in product(NARROW, repeat=2)]
UMMA_EIGHT = [(a, b, "float") for a, b in product(["float_e4m3_t", "float_e5m2_t"], repeat=2)]
FOUR = "float_e2m1_t"
SCALES_OF_FOUR = [("float_ue8m0_t", 32), ("float_ue8m0_t", 16), ("float_ue4m3_t", 16)]  # with the elements of a scale


def block_scaled(ctas: str, m: int) -> list[str]:
    """Return tcgen05's products with a scale for each 16 or 32 elements along K, of one CTA or of two."""
    lines = []

    def add(name: str, arguments: tuple[object, ...], arch: int = 100) -> None:
        shown = ",".join(map(str, arguments))
        lines.append(f'mma<{name}<{shown},UK,UK>>("{name.rpartition(":")[2]}<{shown},K,K>", {arch}),')

    for n, (a, b), sparse in product(WIDE_OF_NARROW, product(NARROW, repeat=2), ("", "_SPARSE")):
        add(f"SM100_MMA_MXF8F6F4{ctas}_SS{sparse}", (a, b, "float", "float_ue8m0_t", m, n))
    for n in WIDE:
        for scale, length in SCALES_OF_FOUR:
            four = (FOUR, FOUR, "float", scale, m, n, length)
            add(f"SM100_MMA_MXF4{ctas}_SS", four)
            add(f"SM103::SM103_MXF4_ULTRA{ctas}_SS_VS", four, 103)
    return lines


def narrow_of_warps() -> list[str]:
    """Return a warp's products of narrow floats on SM120: plain, sparse, with scales, and both."""
    lines = []

    def add(space: str, name: str, arguments: tuple[object, ...]) -> None:
        shown = ",".join(map(str, arguments))
        lines.append(f'mma<{space}{name}<{shown}>>("{name}<{shown}>", 120),')

    for (a, b), c in product(product(NARROW, repeat=2), ("float", "half_t")):
        add("", "SM120_16x8x32_TN", (a, b, c))
        add("SM120::SPARSE::", "SM120_SPARSE_16x8x64_TN", (a, b, c))
    for a, b in product(NARROW, repeat=2):
        scaled = (a, b, "float", "float_ue8m0_t", 32)
        add("SM120::BLOCKSCALED::", "SM120_16x8x32_TN_VS", scaled)
        add("SM120::BLOCKSCALED::SPARSE::", "SM120_SPARSE_16x8x64_TN_VS", scaled)
    for scale, length in SCALES_OF_FOUR:
        four = (FOUR, FOUR, "float", scale, length)
        add("SM120::BLOCKSCALED::", "SM120_16x8x64_TN_VS", four)
        add("SM120::BLOCKSCALED::SPARSE::", "SM120_SPARSE_16x8x128_TN_VS", four)
    return lines


def entries(kind: str, atom: Path) -> list[str]:
    lines = []
    for header in MMA_HEADERS if kind == "mma" else COPY_HEADERS:
        text = (atom / f"{kind}_traits_{header}.hpp").read_text()
        lines += [f'{kind}<{name}>("{name}", {arch}),' for name, arch in FULL.findall(text)]
    if kind == "mma":
        paths = [atom / f"mma_traits_{header}.hpp" for header in WGMMA_HEADERS]
        lines += [line for path in paths if path.exists() for line in wgmma(path.read_text())]
        lines += umma()
    return lines


def main() -> None:
    atom, output = Path(sys.argv[1]) / "cute" / "atom", Path(sys.argv[2])
    output.mkdir(parents=True, exist_ok=True)
    for kind in ("mma", "copy"):
        text = "\n".join(entries(kind, atom)) + "\n"
        path = output / f"{kind}_atoms.inc"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


if __name__ == "__main__":
    main()
