"""Threads, signals, the end of the interpreter, and what is kept alive."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
import time
import weakref
from pathlib import Path

import numpy as np
import pytest

import cute_py


def run_program(source: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(source)], capture_output=True, text=True, timeout=timeout, check=False
    )


@pytest.mark.parametrize("call", ["gemm(A, A)", "gemm(S, S, kernel='sgemm_1', device='emulator')", "plan(A, A)"])
def test_the_interpreter_may_end_while_daemon_threads_compute(call: str) -> None:
    program = f"""
        import threading, time, numpy as np, cute_py
        A, S = np.ones((300, 300), np.float32), np.ones((60, 60), np.float32)
        gemm, plan = cute_py.gemm, cute_py.gemm.plan(A, A)
        def loop():
            while True:
                {call}
        for _ in range(4):
            threading.Thread(target=loop, daemon=True).start()
        time.sleep(0.2)
    """
    for _ in range(3):
        ended = run_program(program)
        assert ended.returncode == 0, ended.stderr


LONG = {
    "the engine": "cute_py.gemm(A, A)",
    "the reference": "cute_py.gemm(A, A, kernel='reference')",
    "a sum of repeated numbers": "cute_py.contract('i,i->', ones, ones)",
    "the emulator": "cute_py.gemm(A, A, kernel='sgemm_1', device='emulator')",
    "one block of the emulator": "cute_py.gemm(narrow, narrow, kernel='sgemm_1', device='emulator')",
    "a plan": "plan(A, A)",
}


@pytest.mark.parametrize("case", LONG)
def test_ctrl_c_ends_a_computation(case: str) -> None:
    ended = run_program(f"""
        import os, signal, sys, threading, time, numpy as np, cute_py
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from pace import slowness
        signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in a shell's background ignores it
        A = np.ones((6000, 6000), np.float32)
        narrow = np.ones((1, 4_000_000), np.float32)
        ones = np.broadcast_to(np.float32(1), (2**38,))
        plan = cute_py.gemm.plan(A, A)
        cute_py.set_num_threads(2)
        sent, slow = [], []
        def send():
            time.sleep(0.5)
            slow.append(slowness())
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=send, daemon=True).start()
        try:
            {LONG[case]}
            print("finished")
        except KeyboardInterrupt:
            print(time.monotonic() - sent[0], max(slow[0], slowness()))
        print(cute_py.gemm(A[:2, :3], A[:4, :3])[0, 0])
    """)
    assert ended.returncode == 0, ended.stderr
    seconds, slow, after = ended.stdout.split()
    assert after == "3.0"  # all is well afterwards
    assert float(seconds) < float(os.environ.get("CUTE_PY_TEST_SECONDS_TO_INTERRUPT", "0.2")) * float(slow)


def test_a_handler_that_does_not_raise_lets_a_computation_go_on() -> None:
    ended = run_program("""
        import os, signal, threading, time, numpy as np, cute_py
        A = np.ones((2500, 2500), np.float32)
        seen = []
        signal.signal(signal.SIGUSR1, lambda *_: seen.append(1))
        threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGUSR1)).start()
        for _ in range(20):
            assert (cute_py.gemm(A, A) == 2500).all()
            if seen:
                break
        print(len(seen))
    """)
    assert (ended.stdout.strip(), ended.returncode) == ("1", 0), ended.stderr


def test_other_threads_run_while_one_computes() -> None:
    A = np.ones((900, 900), np.float32)
    ticks = []

    import threading

    done = threading.Event()

    def tick() -> None:
        while not done.wait(0.001):
            ticks.append(time.monotonic())

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.monotonic()
    while time.monotonic() - begin < 0.5:
        cute_py.gemm(A, A)
    done.set()
    thread.join()
    assert len(ticks) > 5  # none, if calls did not let others run


def test_a_plan_that_its_bias_refers_to_is_collected() -> None:
    class Bias(np.ndarray):
        pass

    A = np.ones((3, 4), np.float32)
    bias = np.zeros(3, np.float32).view(Bias)
    plan = cute_py.gemm.plan(A, A, epilogue=cute_py.Epilogue(bias=bias))
    bias.plan = plan  # type: ignore[attr-defined]
    gone = weakref.ref(bias)
    del plan, bias
    gc.collect()
    assert gone() is None


def test_a_plan_looks_at_its_bias_again() -> None:
    A = np.ones((3, 4), np.float32)
    for change in ("resize", "strides"):
        bias = np.zeros(3, np.float32)
        plan = cute_py.gemm.plan(A, A, epilogue=cute_py.Epilogue(bias=bias))
        assert (plan(A, A) == 4).all()
        if change == "resize":
            bias.resize((1,), refcheck=False)
        else:
            bias = None
            wide = np.zeros(6, np.float32)
            plan = cute_py.gemm.plan(A, A, epilogue=(epilogue := cute_py.Epilogue(bias=wide[:3])))
            object.__setattr__(epilogue, "bias", wide[::2])
        with pytest.raises(cute_py.OperandError, match="not laid out like those of the plan"):
            plan(A, A)


def test_an_activation_that_the_core_does_not_know() -> None:
    A = np.ones((3, 4), np.float32)
    epilogue = cute_py.Epilogue(activation="relu")
    object.__setattr__(epilogue, "activation", "relu6")
    for call in (cute_py.gemm, cute_py.gemm.plan, cute_py.gemm.explain):
        with pytest.raises(cute_py.OperandError, match="there is no activation 'relu6'"):
            call(A, A, epilogue=epilogue)


def test_a_subinterpreter_is_refused_and_does_not_hang() -> None:
    ended = run_program("""
        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters
        inner = interpreters.create()
        try:
            failed = interpreters.run_string(inner, "import cute_py")
        except Exception as error:
            failed = error
        print("sub-interpreter" in str(failed), end="")
    """)
    assert (ended.stdout, ended.returncode) == ("True", 0), ended.stderr
