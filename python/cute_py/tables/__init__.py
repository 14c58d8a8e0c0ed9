"""Tables of what CuTe's headers say, as data: the atoms, and the layouts of the kernels. `tests/tables.py` writes
them.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["read"]


@cache
def read(name: str) -> dict[str, Any]:
    """Return a table, ``"atoms"`` or ``"kernels"``, as it is in its file."""
    table: dict[str, Any] = json.loads((Path(__file__).parent / f"{name}.json").read_text())
    return table
