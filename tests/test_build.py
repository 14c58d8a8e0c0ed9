"""What a build contains: who asks for GPU kernels gets them, and who has a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from headers import ROOT

BACKEND = ROOT / "build_backend"


@pytest.fixture
def gpu_kernels(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BACKEND))
    import gpu_kernels

    return gpu_kernels


@pytest.mark.parametrize(
    ("environment", "visible", "cuda", "architectures", "reason"),
    [
        ({}, [], False, (), "no GPU with a driver for CUDA 13 is visible"),
        ({}, [(9, 0), (9, 0)], True, ("90a-real",), "a GPU is visible"),
        ({}, [(8, 6), (8, 0), (12, 0)], True, ("80-real", "86-real", "120a-real"), "a GPU is visible"),
        ({}, [(7, 5)], False, (), "older than compute capability 8.0"),
        ({}, [(7, 5), (8, 9)], True, ("89-real",), "a GPU is visible"),
        ({"CUTE_PY_CUDA": "ON"}, [], True, (), "CUTE_PY_CUDA=ON"),
        ({"CUTE_PY_CUDA": "1", "FORCE_CUDA": "0"}, [(9, 0)], True, (), "CUTE_PY_CUDA=1"),
        ({"CUTE_PY_CUDA": "off", "FORCE_CUDA": "1"}, [(9, 0)], False, (), "CUTE_PY_CUDA=off"),
        ({"FORCE_CUDA": "1"}, [], True, (), "FORCE_CUDA=1"),
        ({"FORCE_CUDA": "0"}, [(9, 0)], True, ("90a-real",), "a GPU is visible"),
    ],
)
def test_who_gets_gpu_kernels(
    gpu_kernels: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    visible: list[tuple[int, int]],
    cuda: bool,
    architectures: tuple[str, ...],
    reason: str,
) -> None:
    monkeypatch.setattr(gpu_kernels, "visible_capabilities", lambda: visible)
    decision = gpu_kernels.decide(environment)
    assert (decision.cuda, decision.architectures) == (cuda, architectures)
    assert reason in decision.reason


def test_a_wrong_wish_is_refused(gpu_kernels: ModuleType) -> None:
    with pytest.raises(SystemExit, match="CUTE_PY_CUDA is ON or OFF, not 'maybe'"):
        gpu_kernels.decide({"CUTE_PY_CUDA": "maybe"})


def test_what_cmake_reads() -> None:
    def printed(**environment: str) -> str:
        return subprocess.run(
            [sys.executable, str(Path(BACKEND, "gpu_kernels.py"))],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    assert printed(CUTE_PY_CUDA="ON") == "ON - because CUTE_PY_CUDA=ON\n"
    assert printed(CUTE_PY_CUDA="OFF") == "OFF - because CUTE_PY_CUDA=OFF\n"
    assert printed().startswith(("ON ", "OFF - because no GPU", "OFF - because the visible GPU"))


@pytest.mark.gpu
def test_the_gpu_of_this_machine_is_visible(gpu_kernels: ModuleType) -> None:
    import cute_py

    assert gpu_kernels.visible_capabilities() == [device.compute_capability for device in cute_py.devices()]


MOST_BYTES_OF_A_FRAME = 16 << 10


def test_no_function_of_the_cpu_engine_needs_much_of_a_threads_stack() -> None:
    """By what the compiler said of the last build in this checkout; Clang and sanitizers say nothing."""
    said = sorted(ROOT.glob("build/cp*/csrc/cpu/**/*.su"))
    if not said and "CI" not in os.environ:
        pytest.skip("there is no build by GCC in this checkout")
    frames = [line.rsplit("\t", 2) for file in said for line in file.read_text().splitlines()]
    assert len(frames) > 1000
    over = {function: int(size) for function, size, _ in frames if int(size) > MOST_BYTES_OF_A_FRAME}
    assert over == {}
    assert not [function for function, _, how in frames if how == "dynamic"], "a frame without a bound"
