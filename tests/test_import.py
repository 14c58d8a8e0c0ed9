"""Importing cute_py: NumPy only, quick, beside other libraries in any order, and without a CUDA context."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys

import pytest


def python(code: str, **environment: str) -> str:
    """Run code in a new interpreter and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_only_numpy_is_imported() -> None:
    code = """
import sys, json, numpy
before = set(sys.modules)
import cute_py
print(json.dumps(sorted({name.partition('.')[0] for name in set(sys.modules) - before})))
"""
    third_party = set(json.loads(python(code))) - set(sys.stdlib_module_names)
    third_party -= {"_interpreters", "_xxsubinterpreters"}  # Python's own, by names that it does not list
    assert third_party <= {"cute_py", "numpy"}


@pytest.mark.alone
def test_import_takes_under_100_ms_beyond_numpy() -> None:
    """Or, where that is more on a slow machine, as long as NumPy's own. The least of nine: what else runs only adds."""
    code = """
import time
start = time.perf_counter()
import numpy
between = time.perf_counter()
import cute_py
print(between - start, time.perf_counter() - between)
"""
    of_numpy, own = zip(*(map(float, python(code).split()) for _ in range(9)), strict=True)
    assert min(own) < max(0.1, min(of_numpy))


def test_import_leaves_the_seldom_used_out() -> None:
    """Modules that only errors, files and pictures need: 15 ms of 60."""
    code = "import sys, numpy; known = set(sys.modules); import cute_py; print(*set(sys.modules) - known)"
    assert not set(python(code).split()) & {"difflib", "hmac", "html", "json", "pathlib", "secrets", "urllib.parse"}


@pytest.mark.parametrize("library", ["torch", "jax", pytest.param("cupy", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("first", ["cute_py", "library"])
def test_import_order(library: str, first: str) -> None:
    imports = [f"import {library}", "import cute_py"]
    if first == "cute_py":
        imports.reverse()
    code = "\n".join([*imports, "import numpy as np", "print(cute_py.gemm(*2 * [np.ones((2, 3), np.float32)])[1, 1])"])
    assert python(code, XLA_PYTHON_CLIENT_PREALLOCATE="false").strip() == "3.0"


def test_a_fork_can_compute() -> None:
    code = """
import os, numpy as np, cute_py
A = np.ones((400, 300), np.float32)
cute_py.gemm(A, A)
child = os.fork()
if child == 0:
    os._exit(0 if (cute_py.gemm(A, A) == 300).all() else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    python(code)


def test_many_threads_at_once() -> None:
    code = """
import numpy as np, cute_py
from concurrent.futures import ThreadPoolExecutor
rng = np.random.default_rng(0)
A = rng.integers(-4, 5, (130, 70)).astype(np.float32)
expected = A @ A.T
def work(i):
    kernel = ('reference', 'cpu', 'sgemm_1', 'sgemm_2', 'sgemm_sm70', 'sgemm_sm80', 'gemm_sm80')[i % 7]
    device = 'cpu' if kernel in ('cpu', 'reference') else 'emulator'
    compute = 'tfloat32' if kernel == 'gemm_sm80' else None
    return np.array_equal(cute_py.gemm(A, A, kernel=kernel, device=device, compute=compute), expected)
with ThreadPoolExecutor(8) as pool:
    assert all(pool.map(work, range(96)))
"""
    python(code)


@pytest.mark.gpu
def test_import_makes_no_cuda_context() -> None:
    code = """
import ctypes, cute_py
assert cute_py.cuda_available()
cuda = ctypes.CDLL('libcuda.so.1')
assert cuda.cuInit(0) == 0
active, flags = ctypes.c_int(), ctypes.c_uint()
assert cuda.cuDevicePrimaryCtxGetState(0, ctypes.byref(flags), ctypes.byref(active)) == 0
assert active.value == 0, 'a context is active'
"""
    python(code)


@pytest.mark.parametrize("name", ["_core"])
def test_only_the_entry_point_is_exported(name: str) -> None:
    """Other symbols could be mixed up with those of other libraries in the process; threadpoolctl calls two."""
    module = importlib.import_module(f"cute_py.{name}")
    table = subprocess.run(
        ["nm", "-D", "--defined-only", "--extern-only", module.__file__], capture_output=True, text=True, check=True
    ).stdout
    exported = {line.split()[-1] for line in table.splitlines()}
    assert exported == {f"PyInit_{name}", "cute_py_get_num_threads", "cute_py_set_num_threads"}


def test_the_gil_is_released_while_computing() -> None:
    code = """
import threading, time, numpy as np, cute_py
A = np.ones((700, 1000), np.float32)
call = threading.Thread(target=lambda: cute_py.gemm(A, A, kernel='reference'))
start = time.perf_counter()
call.start()
ticks = 0
while call.is_alive():
    time.sleep(0.001)
    ticks += 1
seconds = time.perf_counter() - start
print(ticks, seconds)
assert ticks > 5 + 10 * seconds  # a call that held the lock would let through one or two
"""
    python(code)


@pytest.mark.parametrize("library", ["torch", "jax", "dask"])
def test_a_missing_library_is_named_with_the_extra_that_brings_it(library: str) -> None:
    code = f"""
import sys
sys.modules[{library!r}] = None
try:
    import cute_py.{library}
except ModuleNotFoundError as error:
    assert error.name == {library!r}, error.name
    print(str(error).splitlines()[-1])
"""
    assert python(code).strip() == f"next: pip install 'cute-py[{library}]'"
