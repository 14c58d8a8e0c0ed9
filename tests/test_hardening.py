"""Four laws against hostile or unlucky input.

Whatever is borrowed is held for the call. Whatever was checked is checked again when it is used. Every loop asks for signals by work, not
by panel. Every input that is read is read whole, checked, then put in force.
"""

from __future__ import annotations

import contextlib
import ctypes
import gzip
import json
import os
import re
import stat
import subprocess
import sys
import textwrap
import threading
import time
import unittest.mock
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cute_py
from cute_py import CuteError, Layout, LayoutError, OperandError, Swizzle, UnsupportedProblemError, make_tensor

HERE = Path(__file__).parent


def run_program(source: str, *arguments: str, timeout: int = 240) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(source), *arguments],
        capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip


# ---- Whatever is borrowed is held for the call


@pytest.mark.parametrize("name", ["bias", "residual"])
def test_an_array_that_an_epilogue_makes_when_asked_lives_as_long_as_the_call(name: str) -> None:
    columns = 1 << 16

    class Lazy(cute_py.Epilogue):
        def __getattribute__(self, attribute: str) -> Any:
            if attribute == name:
                return np.full(columns, 7.0, np.float32)
            return super().__getattribute__(attribute)

    A, B = np.zeros((4, 2), np.float32), np.zeros((columns, 2), np.float32)
    epilogue = Lazy(**{name: np.zeros(columns, np.float32)})
    plan = cute_py.gemm.plan(A, B, epilogue=epilogue)
    for i in range(60):  # the result, or the junk of another round, would be where the array was
        junk = [np.full(columns, float(i), np.float32) for _ in range(3)]
        del junk
        result = plan(A, B) if i % 2 else cute_py.gemm(A, B, epilogue=epilogue)
        assert (result == 7).all()


def test_the_interpreter_ends_while_daemon_threads_are_in_products() -> None:
    program = """
        import sys, threading, time
        import numpy as np
        import cute_py

        A = np.ones((20, 20), np.float32)
        work = {
            "explain": lambda: cute_py.gemm.explain(A, A),
            "call": lambda: cute_py.matmul(A, A),
            "plan": lambda: cute_py.contract.plan("ij,kj->ik", A, A),
            "einsum": lambda: cute_py.einsum("ij,jk,kl->il", A, A, A),
        }[sys.argv[1]]

        def loop():
            while True:
                work()

        for _ in range(3):
            threading.Thread(target=loop, daemon=True).start()
        time.sleep(0.15)
    """
    for work in ("explain", "call", "plan", "einsum"):
        for _ in range(3):
            ended = run_program(program, work)
            assert ended.returncode == 0, (work, ended.stderr)


def test_python_that_never_returns_does_not_keep_the_interpreter() -> None:
    ended = run_program("""
        import threading, time
        import numpy as np
        import cute_py

        class Slow:
            shape, dtype = (2, 2), np.dtype("f4")
            def __dlpack_device__(self):
                time.sleep(1000)
            def __dlpack__(self, **_):
                raise BufferError

        threading.Thread(target=lambda: cute_py.gemm(Slow(), Slow()), daemon=True).start()
        time.sleep(0.2)
    """)
    assert ended.returncode == 0, ended.stderr


# ---- Whatever was checked is checked again when it is used


@pytest.mark.parametrize("what", ["strides", "shape", "dtype"])
def test_a_tensor_does_not_follow_its_array_beyond_the_memory(what: str) -> None:
    array = np.arange(100.0)[::-1][:50]
    tensor = make_tensor(array)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy means to forbid some of it one day
        setattr(array, what, {"strides": (0,), "shape": (25, 2), "dtype": np.int64}[what])
    for use in (lambda: tensor[3], lambda: tensor.numpy(), lambda: tensor.__setitem__(3, 1.0)):
        with pytest.raises(OperandError, match=r"was changed after the tensor was made\n  next: make_tensor"):
            use()


class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class _Type(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device", _Device), ("ndim", ctypes.c_int32), ("dtype", _Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64),
    ]  # fmt: skip


class _Managed(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _Tensor),
    ]  # fmt: skip


class Producer:
    """An array of anything that DLPack can say, with any flags; it may copy itself to be exported."""

    def __init__(self, memory: Any, code: int, bits: int, lanes: int = 1, flags: int = 0) -> None:
        self.memory, self.type, self.flags = memory, _Type(code, bits, lanes), flags
        self.shape, self.dtype, self.kept = memory.shape, memory.dtype, []  # type: ignore[var-annotated]
        self.asked: list[Any] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **options: Any) -> Any:
        self.asked.append(options.get("copy"))
        copied = self.memory.copy() if self.flags & 2 else self.memory
        managed = _Managed(major=1, minor=0, flags=self.flags)
        tensor = managed.tensor
        tensor.data, tensor.device, tensor.ndim, tensor.dtype = (
            copied.ctypes.data,
            _Device(1, 0),
            copied.ndim,
            self.type,
        )
        tensor.shape = (ctypes.c_int64 * copied.ndim)(*copied.shape)
        tensor.strides = (ctypes.c_int64 * copied.ndim)(*[s // copied.itemsize for s in copied.strides])
        self.kept += [managed, copied]
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(ctypes.addressof(managed), b"dltensor_versioned", None)


@pytest.mark.parametrize("role", ["C", "out"])
def test_a_result_is_not_written_into_a_producers_copy(role: str) -> None:
    A = np.ones((2, 4), np.float32)
    copies = Producer(np.zeros((2, 2), np.float32), 2, 32, flags=2)
    with pytest.raises(OperandError, match=rf"{role} is exported as a copy, .*\n  next: pass an array"):
        cute_py.gemm(A, A, **{role: copies})
    assert copies.asked == [False]
    assert (copies.memory == 0).all()
    itself = Producer(np.zeros((2, 2), np.float32), 2, 32)
    cute_py.gemm(A, A, **{role: itself})
    assert (itself.memory == 4).all()
    assert (cute_py.gemm(Producer(A, 2, 32, flags=2), A) == 4).all(), "what is read may be a copy"


@pytest.mark.parametrize(("code", "bits", "lanes"), [(12, 32, 4), (10, 32, 4), (12, 8, 4), (6, 32, 4), (10, 16, 1)])
def test_vectors_of_float8_and_of_bool_are_not_copied_as_single_ones(code: int, bits: int, lanes: int) -> None:
    memory = np.full(64 * bits * lanes // 8, 7, np.uint8)[:64]
    with pytest.raises((OperandError, TypeError)):
        cute_py.permute(Producer(memory, code, bits, lanes))


@pytest.mark.parametrize("shape", [(2, 3), (6, 1, 1), (6,) * 24, ()])
def test_a_copy_compares_the_shape_with_what_dlpack_says(shape: tuple[int, ...]) -> None:
    producer = Producer(np.arange(6, dtype=np.float32), 2, 32)
    producer.shape = shape
    with pytest.raises(OperandError, match=r"modes, and A comes with 1|check its producer"):
        cute_py.permute(producer, tuple(range(len(shape)))[::-1])


def test_a_text_does_not_pass_for_another_argument() -> None:
    A, B = np.ones((3, 4), np.float32), np.ones((4, 3), np.float32)

    class Text(str):
        __slots__ = ()

    for right, wrong in (
        (lambda: cute_py.tensordot(A, B, 1), lambda: cute_py.tensordot(A, B, "#1")),
        (lambda: cute_py.permute(A, (1, 0)), lambda: cute_py.permute(A, "(1,0,)")),
        (lambda: cute_py.contract(Text("ab,bc->ac"), A, B), lambda: cute_py.contract("ab,bc>ac", A, B)),
        (lambda: cute_py.contract(Text("ab,bc->ac"), A, B), lambda: cute_py.contract("=ab,bc>ac", A, B)),
    ):
        right()
        with pytest.raises(OperandError):
            wrong()


@pytest.mark.parametrize("shapes", [((0, 3), (4, 3)), ((3, 3), (0, 3)), ((2, 3), (0, 3)), ((0, 0), (0, 0))])
def test_a_plan_of_an_empty_result_takes_its_own_arrays(shapes: tuple[tuple[int, int], tuple[int, int]]) -> None:
    A, B = (np.ones(shape, np.float32) for shape in shapes)
    assert cute_py.gemm.plan(A, B)(A, B).shape == (shapes[0][0], shapes[1][0])


FLOAT8 = ("float8_e4m3fn", "float8_e5m2")


@pytest.mark.parametrize("side", FLOAT8)
@pytest.mark.parametrize("factors", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("role", ["bias", "residual"])
@pytest.mark.parametrize("device", ["cpu", "emulator"])
def test_an_epilogues_array_of_float8_is_read_or_refused(device: str, role: str, factors: str, side: str) -> None:
    A = np.ones((4, 8), getattr(ml_dtypes, factors, factors))
    epilogue = cute_py.Epilogue(**{role: np.ones((4, 5), getattr(ml_dtypes, side))})
    B = np.ones((5, 8), A.dtype)
    if device == "emulator":
        with pytest.raises(UnsupportedProblemError, match="takes C, bias and residual of"):
            cute_py.gemm(A, B, epilogue=epilogue, device=device)
    else:
        assert (cute_py.gemm(A, B, epilogue=epilogue, device=device).astype(float) == 9).all()


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
@pytest.mark.parametrize("offset", [0, 2, 8])
def test_a_result_begins_anywhere_in_the_emulator(name: str, offset: int) -> None:
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    for m, n in ((40, 24), (3, 1), (1, 7)):
        memory = np.zeros(1 << 14, np.uint8)
        out = np.ndarray((m, n), dtype, memory.data, -memory.ctypes.data % 64 + 1024 + offset)
        A, B = np.ones((m, 64), dtype), np.ones((n, 64), dtype)
        assert (cute_py.gemm(A, B, out=out, device="emulator").astype(float) == 64).all()


def test_what_has_itself_as_its_layout_is_refused() -> None:
    class Itself:
        def with_layout(self, layout: Any) -> Any:
            return layout

        @property
        def layout(self) -> Any:
            return self

    class Another(Itself):
        @property
        def layout(self) -> Any:
            return Another()

    functions: list[Callable[[Any], Any]] = [
        cute_py.size, cute_py.rank, cute_py.depth, cute_py.cosize, cute_py.coalesce, cute_py.flatten, cute_py.right_inverse,
        cute_py.make_layout, cute_py.shape, lambda x: cute_py.composition(x, 2), lambda x: cute_py.composition(Layout(4), x),
        lambda x: cute_py.logical_divide(x, 2), lambda x: cute_py.complement(x, 4), lambda x: cute_py.group(x, 0, 1),
    ]  # fmt: skip
    for thing in (Itself(), Another()):
        for function in functions:
            with pytest.raises(LayoutError):
                function(thing)
    for function in functions[:7]:  # the others take an integer, which a mock says that it is
        with pytest.raises(LayoutError):
            function(unittest.mock.MagicMock())


@pytest.mark.parametrize(
    "thing", [Layout, Swizzle, cute_py.ComposedLayout, cute_py.ScaledBasis], ids=lambda x: x.__name__
)
def test_none_is_no_self(thing: type) -> None:
    for name in sorted(set(dir(thing)) - set(dir(object)) | {"__len__", "__eq__", "__hash__", "__str__", "__repr__"}):
        member = getattr(thing, name, None)
        getter = member.fget if isinstance(member, property) else member
        if not callable(getter) or type(getter).__name__ == "function":
            continue
        with contextlib.suppress(TypeError, CuteError, AttributeError):
            getter(None)


def test_floats_of_8_bits_overflow_to_infinity_or_nan_unless_they_saturate() -> None:
    one = np.ones((1, 1), np.float32)
    for name, largest, past in (("float8_e5m2", 57344, np.inf), ("float8_e4m3fn", 448, np.nan)):
        dtype = np.dtype(getattr(ml_dtypes, name))
        numbers = [
            np.inf,
            -np.inf,
            1e30,
            largest,
            -largest,
            1.07 * largest,
            np.nan,
            *np.linspace(0.9, 1.2, 301) * largest,
        ]
        x = np.array(numbers, np.float32)[:, None]
        found = cute_py.gemm(x, one, out_dtype=name).ravel()
        np.testing.assert_array_equal(found.astype(float), x.ravel().astype(dtype).astype(float), err_msg=name)
        saturated = cute_py.gemm(x, one, out_dtype=name, epilogue=cute_py.Epilogue(saturate=True)).ravel().astype(float)
        assert saturated[0] == largest == -saturated[1]
        assert np.isnan(saturated[6])
        assert np.isnan(past) or found[0] == past
        for kernel in ("cpu", "reference"):
            assert cute_py.gemm(x, one, out_dtype=name, kernel=kernel).tobytes() == found.tobytes()


# ---- Every loop asks for signals by work


LONG = {
    "a long K of few rows": """
        A = np.broadcast_to(np.float32(1), (2, 6_000_000_000))
        work = lambda: cute_py.gemm(A, A, kernel="cpu_small")
    """,
    "no K": """
        A, out = np.ones((20000, 0), np.float32), np.empty((20000, 20000), np.float32)
        work = lambda: [cute_py.gemm(A, A, out=out) for _ in range(200)]
    """,
    "the engine without K": """
        A, out = np.ones((20000, 0), np.float32), np.empty((20000, 20000), np.float32)
        work = lambda: [cute_py.gemm(A, A, out=out, kernel="cpu") for _ in range(200)]
    """,
    "an activation of doubles": """
        A = np.ones((8000, 2))
        work = lambda: [cute_py.gemm(A, A, epilogue=cute_py.Epilogue(activation="gelu")) for _ in range(50)]
    """,
    "staging": """
        A = np.ones((20000, 10000), np.float32)
        device = cute_py.Device("d", copies_arrays=True)
        work = lambda: [cute_py.gemm(A, A[:1], device=device) for _ in range(20)]
    """,
    "a list of values": """
        layout = cute_py.Layout("(16384,16384):(1,16385)")
        work = lambda: cute_py.layout_values(layout, layout.size)
    """,
}


@pytest.mark.parametrize("case", LONG)
def test_ctrl_c_is_answered_wherever_a_call_takes_long(case: str) -> None:
    ended = run_program(
        textwrap.dedent("""
        import os, signal, sys, threading, time
        import numpy as np
        import cute_py
        sys.path.insert(0, sys.argv[1])
        from pace import slowness

        signal.signal(signal.SIGINT, signal.default_int_handler)
        cute_py.set_num_threads(1)
        """)
        + textwrap.dedent(LONG[case])
        + textwrap.dedent("""
        sent = []

        def send():
            time.sleep(0.5)
            slow = slowness()
            sent.extend([time.monotonic(), slow])
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=send, daemon=True).start()
        try:
            work()
            time.sleep(2)
            print("finished")
        except KeyboardInterrupt:
            print(time.monotonic() - sent[0], max(sent[1], slowness()))
        """),
        str(HERE),
    )
    assert ended.returncode == 0, ended.stderr
    seconds, slow = ended.stdout.split()
    assert float(seconds) < 0.5 * float(slow), case


def test_other_threads_have_turns_while_a_long_list_is_made() -> None:
    layout = cute_py.Layout("(4096,4096):(1,4097)")
    turns = 0
    ended = threading.Event()

    def count() -> None:
        nonlocal turns
        while not ended.is_set():
            turns += 1
            time.sleep(0)  # gives up the GIL, and has to get it again

    counter = threading.Thread(target=count)
    counter.start()
    try:
        before = turns
        cute_py.layout_values(layout, layout.size)
        assert turns - before >= 8  # of 32 times that the GIL is released
    finally:
        ended.set()
        counter.join()


def test_a_child_that_a_handler_forks_in_a_product_gets_an_error() -> None:
    ended = run_program("""
        import os, signal
        import numpy as np
        import cute_py

        cute_py.set_num_threads(2)
        A = np.ones((1800, 1800))
        state = {"child": False, "pids": []}

        def handler(*_):
            pid = os.fork()
            if pid == 0:
                state["child"] = True
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(60)
            else:
                state["pids"].append(pid)

        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        answer = 5
        try:
            for _ in range(1000):
                right = (cute_py.gemm(A, A) == 1800).all()
                if state["child"]:
                    answer = 0 if right else 3
                if state["child"] or state["pids"]:
                    break
        except RuntimeError as error:
            answer = 0 if "forked the process while a product was computed" in str(error) else 4
            assert (cute_py.gemm(A[:3], A[:5]) == 1800).all()  # and it computes afterwards
        if state["child"]:
            os._exit(answer)
        assert right
        print(os.waitstatus_to_exitcode(os.waitpid(state["pids"][0], 0)[1]))
    """)
    assert (ended.stdout.strip(), ended.returncode) == ("0", 0), ended.stderr


def test_too_little_memory_is_a_memory_error_with_any_number_of_threads() -> None:
    ended = run_program("""
        import random, resource
        import numpy as np
        import cute_py

        A, out = np.ones((600, 500)), np.empty((600, 600))
        half = A.astype(np.float16)
        chance = random.Random(3)
        for i in range(500):
            cute_py.set_num_threads(chance.choice([2, 3, 8]))
            used = int(open("/proc/self/statm").read().split()[0]) * 4096
            room = chance.choice([0, 1 << 13, 1 << 14, 1 << 15, 1 << 20, 1 << 21])
            resource.setrlimit(resource.RLIMIT_AS, (used + room, -1))
            try:
                cute_py.gemm(half, half) if i % 3 else cute_py.gemm(A, A, out=out)
            except MemoryError:
                pass
            resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
            cute_py.gemm(A, A, out=out)
        print("ended")
    """)
    assert ended.stdout.strip() == "ended", ended.stderr


STACKS = (64, 96, 128, 192)


@pytest.mark.parametrize("kilobytes", STACKS)
def test_products_need_little_of_a_threads_stack(kilobytes: int) -> None:
    """musl gives a thread 128 KiB. NumPy, whose BLAS may need more than 64, multiplies elsewhere."""
    ended = run_program(
        """
        import sys, threading
        import numpy as np
        import cute_py

        numbers = np.random.default_rng(0)
        found = []

        def check(result, expected):
            found.append((result, expected))

        def run():
            for dtype in (np.float32, np.float64, np.complex64, np.complex128, np.float16, np.int8):
                A = numbers.integers(-4, 5, (200, 512)).astype(dtype)
                wide = A.astype(np.complex128 if A.dtype.kind == "c" else np.float64)
                for rows in (1, 2, 8, 200):
                    a, w = A[:rows], wide[:rows]
                    check(cute_py.gemm(a, A), lambda w=w, wide=wide, A=A: w @ wide.T)
                    check(cute_py.gemm(A, a), lambda w=w, wide=wide, A=A: wide @ w.T)
                check(cute_py.einsum("ij,j->i", A, A[0]), lambda w=w, wide=wide, A=A: wide @ wide[0])
                check(cute_py.einsum("ij->i", A), lambda w=w, wide=wide, A=A: wide.sum(1))
                check(cute_py.einsum("ij->j", A), lambda w=w, wide=wide, A=A: wide.sum(0))
                check(cute_py.einsum("ij,ij->", A, A), lambda w=w, wide=wide, A=A: (wide * wide).sum())
                check(cute_py.einsum("ij,ij->ij", A, A), lambda w=w, wide=wide, A=A: wide * wide)
                check(cute_py.permute(A, (1, 0)), lambda w=w, wide=wide, A=A: A.T)

        threading.stack_size(int(sys.argv[1]) << 10)
        for threads in (1, 2):
            cute_py.set_num_threads(threads)
            thread = threading.Thread(target=run)
            thread.start()
            thread.join()
        right = [np.array_equal(x, np.asarray(expected()).astype(x.dtype)) for x, expected in found]
        print(len(right), sum(right))
        """,
        str(kilobytes),
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split() == ["168", "168"], ended.stderr


# ---- Every input that is read is read whole, checked, then put in force


GOOD = {"device": "cpu", "product": "a", "kernel": "cpu", "transposed": False, "split_k": 1, "packed": "", "us": 1.0}
GOOD |= {"cluster": [1, 1, 1], "raster": 0}

BAD: dict[str, Any] = {
    "split-K beyond 64 bits": {**GOOD, "split_k": 2**70},
    "split-K near 2**63": {**GOOD, "split_k": 2**63 - 1},
    "split-K by nothing": {**GOOD, "split_k": 0},
    "split-K by a text": {**GOOD, "split_k": "1"},
    "a cluster of two extents": {**GOOD, "cluster": [1, 1]},
    "a cluster of nothing": {**GOOD, "cluster": [1, 0, 1]},
    "a raster below 0": {**GOOD, "raster": -1},
    "a raster that is a text": {**GOOD, "raster": "8"},
    "a kernel that is a list": {**GOOD, "kernel": ["cpu"]},
    "a lone surrogate": {**GOOD, "product": "\ud800"},
    "letters that are none": {**GOOD, "packed": "X"},
    "no time": {**GOOD, "us": None},
    "a time that is none": {**GOOD, "us": float("nan")},
    "a number": 3,
    "nothing": {},
}


@pytest.mark.parametrize("case", BAD)
def test_a_tuning_file_is_in_force_whole_or_not_at_all(case: str, tmp_path: Path) -> None:
    cute_py.forget_tuning()
    path = tmp_path / "tuning.json"
    path.write_text(json.dumps({"cute_py_tuning": 2, "products": [GOOD, BAD[case]]}))
    with pytest.raises(OperandError, match=rf"load_tuning: {re.escape(str(path))} is no file of save_tuning"):
        cute_py.load_tuning(path)
    cute_py.save_tuning(tmp_path / "now.json")
    assert json.loads((tmp_path / "now.json").read_text())["products"] == []


@pytest.mark.parametrize(
    "content",
    [gzip.compress(b"{}"), '{"cute_py_tuning": 2}'.encode("utf-16"), b"", b"[" * 100_000, b"\xff\xfe", b"null"],
    ids=lambda x: ascii(x[:8]),
)
def test_a_file_of_other_bytes_is_no_tuning_file(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(OperandError, match=rf"load_tuning: {re.escape(str(path))} is no file of save_tuning"):
        cute_py.load_tuning(path)


@pytest.mark.parametrize("parts", [2**63 - 1, 2**63 - 100, 2**62, 2**40])
def test_a_config_of_too_many_parts_is_refused(parts: int) -> None:
    A = np.ones((64, 4096), np.float32)
    best = cute_py.gemm.explain(A, A, device="emulator").candidates[0]
    config = cute_py.Candidate(best.kernel, best.transposed, parts, 0, 1.0, "math", "")
    with pytest.raises(CuteError, match="next: config=None"):
        cute_py.gemm(A, A, device="emulator", config=config)


LAYOUT = Layout("(4,8):(8,1)")
WRITERS: dict[str, Callable[[Path], Any]] = {
    "save_tuning": cute_py.save_tuning,
    "to_svg": LAYOUT.to_svg,
    "to_html": LAYOUT.to_html,
    "to_latex": LAYOUT.to_latex,
    "report": next(iter(cute_py.kernels().values())).report,
}


@pytest.mark.parametrize("name", WRITERS)
def test_what_is_no_file_is_not_replaced_by_one(name: str, tmp_path: Path) -> None:
    place = tmp_path / "fifo"
    os.mkfifo(place)
    with pytest.raises(FileExistsError):
        WRITERS[name](place)
    assert stat.S_ISFIFO(place.stat().st_mode)


@pytest.mark.parametrize("name", WRITERS)
def test_a_link_stays_a_link_and_a_read_only_file_as_it_is(name: str, tmp_path: Path) -> None:
    file, link, kept = tmp_path / "file", tmp_path / "link", tmp_path / "kept"
    file.write_text("before")
    link.symlink_to(file)
    WRITERS[name](link)
    assert link.is_symlink()
    assert "before" not in file.read_text()
    kept.write_text("before")
    kept.chmod(0o444)
    with pytest.raises(PermissionError):
        WRITERS[name](kept)
    assert kept.read_text() == "before"
    assert sorted(x.name for x in tmp_path.iterdir()) == ["file", "kept", "link"]
