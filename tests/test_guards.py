"""What copyreg and `__new__` can do to the compiled classes: an answer or a TypeError, never the end of the process."""

from __future__ import annotations

import subprocess
import sys

import pytest

PREAMBLE = """
import copy, copyreg, pickle
import numpy as np
import cute_py
from cute_py import _core, layout as cl
A = np.ones((4, 4), np.float32)
layout = cl.Layout("(4,8):(8,1)")
"""


OBJECTS = {
    "Layout": "layout",
    "ComposedLayout": "cl.composition(cl.Swizzle(1, 1, 2), layout)",
    "nested": "cl.make_composed_layout(layout, 0, cl.composition(cl.Swizzle(1, 1, 2), layout))",
    "Swizzle": "cl.Swizzle(3, 4, 3)",
    "ScaledBasis": "cl.E(1, 0)",
}


def run(program: str) -> str:
    ran = subprocess.run([sys.executable, "-c", PREAMBLE + program], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"exit status {ran.returncode}: {ran.stderr[-800:]}"
    return ran.stdout


@pytest.mark.parametrize("name", OBJECTS)
def test_values_are_copied_by_every_protocol(name: str) -> None:
    run(f"""
x = {OBJECTS[name]}
for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
    assert pickle.loads(pickle.dumps(x, protocol)) == x
    function, arguments, *rest = x.__reduce_ex__(protocol)
    assert function(*arguments) == x
assert copy.copy(x) == copy.deepcopy(x) == x
""")


@pytest.mark.parametrize("how", [f"pickle.dumps(plan, {protocol})" for protocol in range(6)] + ["copy.copy(plan)", "copy.deepcopy(plan)", "plan.__reduce_ex__(0)"])  # fmt: skip
def test_what_cannot_be_copied_says_so(how: str) -> None:
    printed = run(f"""
plan = cute_py.gemm.plan(A, A)
try:
    {how}
except TypeError as error:
    print("TypeError", error)
""")
    assert printed.startswith("TypeError")
    assert "cannot be copied or pickled; next: " in printed


@pytest.mark.parametrize(
    "expression",
    [
        "cute_py.Layout.__base__()",
        "cute_py.Layout.__base__.__new__(cute_py.Layout.__base__)",
        "type('Made', (cute_py.Layout.__base__,), {})()",
        "copyreg._reduce_ex(layout, 0)",
        "copyreg._reduce_ex(layout, 1)",
        "copyreg._reconstructor(*copyreg._reduce_ex(cute_py.gemm.plan(A, A), 0)[1])",
        "cute_py.Layout.__new__(cute_py.Layout).shape",
        "cute_py.ComposedLayout.__new__(cute_py.ComposedLayout)(0)",
        "str(cute_py.Swizzle.__new__(cute_py.Swizzle))",
        "cl.composition(layout, cute_py.Layout.__new__(cute_py.Layout))",
        "copyreg.__newobj__(cute_py.Layout).size",
        "_core.Plan.__new__(_core.Plan).workspace_bytes",
    ],
)
def test_objects_without_a_constructor_are_refused(expression: str) -> None:
    printed = run(f"""
try:
    {expression}
except (TypeError, cute_py.LayoutError) as error:
    print("refused", error)
""")
    assert printed.startswith("refused")


def test_classes_can_still_be_derived_from() -> None:
    assert "(4,8):(8,1)" in run("""
class Named(cute_py.Layout):
    def __init__(self, *arguments, name=""):
        super().__init__(*arguments)
        self.name = name
x = Named("(4,8):(8,1)", name="x")
assert (x.name, x.size, x == layout) == ("x", 32, True)
print(x)
""")
