"""What is measured of a GPU, for the choice of kernels: `cute-py profile`, and a Device's members."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import cute_py
from cute_py import Device, OperandError
from cute_py.catalogue import profile
from cute_py.cli import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CUTE_PY_CACHE_DIR", str(tmp_path / "kept"))
    return tmp_path / "kept"


def us(device: Device | str, shape: tuple[int, int] = (4096, 4096), dtype: str = "float32") -> dict[str, float]:
    A = np.lib.stride_tricks.as_strided(
        np.zeros(1, dtype), shape, (shape[1] * np.dtype(dtype).itemsize, np.dtype(dtype).itemsize)
    )
    return {c.kernel: c.us for c in cute_py.gemm.explain(A, A, device=device).candidates}


def test_the_emulator_chooses_as_an_h200() -> None:
    assert us("emulator") == us(Device.preset("H200"))


@pytest.mark.parametrize(
    ("member", "worse", "shape"),
    [
        ("launch_us", 20.0, (64, 64)),
        ("memory_efficiency", 0.05, (4096, 8)),
        ("l2_bytes_per_cycle", 0.5, (4096, 4096)),
    ],
)
def test_estimates_follow_what_was_measured(member: str, worse: float, shape: tuple[int, int]) -> None:
    known, other = Device("H200"), replace(Device("H200"), **{member: worse})
    before, after = us(known, shape), us(other, shape)
    common = before.keys() & after.keys()
    assert common
    assert all(after[name] > 1.2 * before[name] for name in common if name.startswith("sgemm_sm80"))


@pytest.mark.parametrize(
    ("member", "value", "message"),
    [
        ("launch_us", 0, "launch_us is a number above 0, got 0"),
        ("l2_bytes", float("nan"), "l2_bytes is a number above 0, got nan"),
        ("l2_bytes_per_cycle", "fast", "l2_bytes_per_cycle is a number above 0, got 'fast'"),
        ("memory_efficiency", 1.5, "memory_efficiency is at most 1, got 1.5"),
    ],
)
def test_what_no_gpu_can_be_is_refused(member: str, value: object, message: str) -> None:
    with pytest.raises(OperandError, match=message):
        Device("some", **{member: value})


def test_a_profile_is_kept_found_and_forgotten(folder: Path) -> None:
    assert profile.find("some") is None
    assert not folder.exists()  # to look makes nothing
    profile.save(Device("some", launch_us=5.5))
    profile.save(Device("other", memory_efficiency=0.5))
    assert profile.find("some") == (5.5, 0.85, 31.2, 50_000_000)
    assert profile.find("other") == (2.4, 0.5, 31.2, 50_000_000)
    assert main(["profile", "--forget"]) == 0
    assert profile.find("some") is None


@pytest.mark.parametrize("text", ["", "[1]", '{"some": 3}', '{"some": {"launch_us": 1}}'])
def test_a_file_that_is_none_of_ours_is_refused(folder: Path, text: str) -> None:
    folder.mkdir()
    (folder / "profiles.json").write_text(text)
    with pytest.raises(
        OperandError, match=r"profiles\.json is no file of profiles: .*\n  next: cute-py profile --forget"
    ):
        profile.find("some")
    with pytest.raises(OperandError, match=r"profiles\.json is no file"):
        profile.save(Device("some"))
    assert (folder / "profiles.json").read_text() == text


@pytest.mark.skipif(cute_py.cuda_available(), reason="there is a GPU")
def test_without_a_gpu_there_is_nothing_to_measure(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile"]) == 2
    assert "there is no GPU number 0\n  next: cute-py info" in capsys.readouterr().err


@pytest.mark.gpu
def test_a_gpu_is_measured_and_its_profile_is_used(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    assert main(["profile", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["name"] == cute_py.devices()[0].name
    if found["name"].startswith("NVIDIA H200"):
        assert found["launch_us"] == pytest.approx(2.4, rel=0.2)
        assert found["memory_efficiency"] == pytest.approx(0.85, rel=0.05)
        assert found["l2_bytes_per_cycle"] == pytest.approx(31.2, rel=0.1)
    program = "import cute_py; print(cute_py.devices()[0].launch_us)"
    (folder / "profiles.json").write_text(json.dumps({found["name"]: {**found, "launch_us": 7.25}}))
    command = [sys.executable, "-c", program]
    assert subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ).stdout == "7.25\n"
