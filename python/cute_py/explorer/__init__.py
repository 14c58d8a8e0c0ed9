"""The explorer: a page on this machine alone, on which one types layouts, operations, atoms and kernels and sees what
they are.

`Explorer` makes the pages, `serve` hands them out. What is typed is read by the package's own parser of expressions,
never run.
"""

from __future__ import annotations

from cute_py.explorer.pages import Answer, Explorer
from cute_py.explorer.server import Server, serve

__all__ = ["Answer", "Explorer", "Server", "serve"]
