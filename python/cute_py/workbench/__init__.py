"""CUDA programs in the emulator: NVIDIA's own files and yours, unchanged, on a machine without a GPU.

>>> from cute_py import workbench
>>> sgemm = workbench.program("sgemm_sm80.cu")  # doctest: +SKIP
>>> print(sgemm.run(256, 256, 64, "T", "N"))  # doctest: +SKIP

`program` compiles a file, and `Program.run` runs its ``main`` and says what is wrong with its kernels: races, missing
fences, reads of what nobody wrote, accesses out of bounds, barriers that are misused. ``cute-py run`` does both.
`page` makes a report of that in HTML. `inline` takes kernels typed in Python, `module` those of a file, and calls them
on NumPy arrays.
"""

from cute_py.workbench.findings import Cost, Finding, Line
from cute_py.workbench.kernels import Kernel, Module, inline, module
from cute_py.workbench.page import page
from cute_py.workbench.programs import Program, Run, program

__all__ = ["Cost", "Finding", "Kernel", "Line", "Module", "Program", "Run", "inline", "module", "page", "program"]
