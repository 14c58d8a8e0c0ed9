"""Refuses to be imported in a sub-interpreter, where importing the compiled modules would wait for a lock for ever."""

from __future__ import annotations

import importlib


def _is_main() -> bool:
    for name in ("_interpreters", "_xxsubinterpreters"):  # since Python 3.13, and before
        try:
            interpreters = importlib.import_module(name)
        except ImportError:
            continue
        return bool(interpreters.get_current() == interpreters.get_main())
    return True


if not _is_main():
    raise ImportError("cute_py cannot be imported in a sub-interpreter; next: import it in the main one")
