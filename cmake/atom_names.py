"""Find the atoms that CuTe's headers have traits for, and write them as the entries of csrc/catalogue/atoms.cpp.

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
    """Return tcgen05's dense products of operands in shared memory, and warps' of narrow floats."""
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
    for a, b in product(NARROW, repeat=2):
        lines.append(f'mma<SM120_16x8x32_TN<{a},{b},float>>("SM120_16x8x32_TN<{a},{b},float>", 120),')
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
