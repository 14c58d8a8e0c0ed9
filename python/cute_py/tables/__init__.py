"""Tables of what CuTe's headers say, as data: the atoms, and the layouts of the kernels. `tests/tables.py` writes
them.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any

__all__ = ["read"]


@cache
def read(name: str) -> dict[str, Any]:
    """Return a table, ``"atoms"`` or ``"kernels"``, as it is in its file."""
    import json  # only who looks into a table needs it

    with open(os.path.join(os.path.dirname(__file__), f"{name}.json"), encoding="utf-8") as file:
        table: dict[str, Any] = json.load(file)
    return table
