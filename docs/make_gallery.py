"""Write the pictures of gallery.md, gett.md and cpu.md: ``python docs/make_gallery.py``.

The pages are the only lists. The Python blocks of a page are one program; where a picture follows a block, the value of the block's
last line is the picture.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

PAGES = [Path(__file__).parent / name for name in ("gallery.md", "gett.md", "cpu.md")]
FOLDER = PAGES[0].parent / "gallery"
BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n\n!\[[^\]\n]*\]\(gallery/([^)\n]+)\)$)?", re.MULTILINE | re.DOTALL)


def pictures() -> dict[str, str]:
    """Run the pages and return the text of each picture, by file name."""
    made: dict[str, str] = {}
    for page in PAGES:
        scope: dict[str, object] = {}
        for code, name in BLOCK.findall(page.read_text()):
            *statements, last = ast.parse(code).body
            body = statements if name else [*statements, last]
            exec(compile(ast.Module(body, []), str(page), "exec"), scope)
            if name:
                assert isinstance(last, ast.Expr), f"the block of {name} does not end with a value"
                assert name not in made, f"{name} is on the pages twice"
                made[name] = str(eval(compile(ast.Expression(last.value), str(page), "eval"), scope))
    return made


if __name__ == "__main__":
    made = pictures()
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.svg"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        (FOLDER / name).write_text(text)
        print(f"{name}: {len(text.encode()) / 1000:.0f} KB")
