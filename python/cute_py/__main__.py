"""``python -m cute_py`` is the command ``cute-py``."""

from __future__ import annotations

import sys

from cute_py.cli import main

if __name__ == "__main__":
    sys.exit(main())
