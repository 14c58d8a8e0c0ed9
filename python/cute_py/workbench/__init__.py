"""CUDA programs, NVIDIA's own files and yours, unchanged: in the emulator without a GPU, or on one.

>>> from cute_py import workbench
>>> sgemm = workbench.program("sgemm_sm80.cu")  # doctest: +SKIP
>>> print(sgemm.run(256, 256, 64, "T", "N"))  # doctest: +SKIP

`program` compiles a file, and `Program.run` runs its ``main`` and says what is wrong with its kernels: races, missing
fences, reads of what nobody wrote, accesses out of bounds, barriers that are misused. ``cute-py run`` does both.
`page` makes a report of that in HTML, a `Timeline` shows what warps did and waited
for. `inline` takes kernels typed in Python, `module` those of a file, and calls them where their arrays are: in the
emulator on those of the host, on a GPU on its own.

`config` takes a kernel of the package with some of its layouts replaced: a Config that is checked, compiled and
becomes a kernel like any other. `judge` compares it with float64 and counts its bank conflicts, `search` tries many.
"""

from cute_py.workbench.configs import Config, config
from cute_py.workbench.findings import Cost, Finding, Line
from cute_py.workbench.kernels import Kernel, Module, inline, module
from cute_py.workbench.page import page
from cute_py.workbench.programs import Program, Run, program
from cute_py.workbench.search import Judged, Search, judge, search
from cute_py.workbench.timeline import Span, Timeline

__all__ = [
    "Config", "Cost", "Finding", "Judged", "Kernel", "Line", "Module", "Program", "Run", "Search", "Span", "Timeline", "config",
    "inline", "judge", "module", "page", "program", "search",
]  # fmt: skip
