"""Find the atoms that CuTe's headers have traits for, and write them as the entries of csrc/catalogue/atoms.cpp.

Usage: atom_names.py INCLUDE_FOLDER OUTPUT_FOLDER
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

MMA_HEADERS = ["sm61", "sm70", "sm75", "sm80", "sm89", "sm90", "sm90_gmma", "sm100", "sm120"]
COPY_HEADERS = ["sm50", "sm75", "sm80", "sm90", "sm100"]
FULL = re.compile(r"^struct {traits}<(SM(\d+)_\w+)>".replace("{traits}", r"(?:MMA|Copy)_Traits"), re.MULTILINE)
GMMA = re.compile(r"^struct MMA_Traits<(SM90_\w+)<((?:\w+(?:, )?)+)>>", re.MULTILINE)


def majors(name: str, parameters: str) -> list[tuple[str, ...]]:
    """Return the majornesses that an SM90 atom exists in. Registers hold A k-major; only 16-bit types have a choice."""
    if "tnspA" not in parameters:
        return [()]
    firsts = ["K"] if name.endswith(("_RS_TN", "_RS")) else ["K", "MN"]
    return [(a, b) for a in firsts for b in ("K", "MN")]


def entries(kind: str, atom: Path) -> list[str]:
    lines = []
    headers = MMA_HEADERS if kind == "mma" else COPY_HEADERS
    for header in headers:
        text = (atom / f"{kind}_traits_{header}.hpp").read_text()
        lines += [f'{kind}<{name}>("{name}", {arch}),' for name, arch in FULL.findall(text)]
        if header == "sm90_gmma":
            for name, parameters in GMMA.findall(text):
                for major in majors(name, parameters):
                    arguments = ",".join(major)
                    shown = f"{name}<{arguments}>" if major else name
                    lines.append(f'{kind}<{name}<{arguments}>>("{shown}", 90),')
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
