"""The command line: results on standard output, errors on standard error, exit codes, whole files or none."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cute_py
from cute_py import testing
from cute_py.cli import main


@pytest.fixture
def files(tmp_path: Path, rng: np.random.Generator) -> Path:
    np.save(tmp_path / "A.npy", rng.integers(-8, 9, (30, 20)).astype(np.float32))
    np.save(tmp_path / "B.npy", rng.integers(-8, 9, (40, 20)).astype(np.float32))
    np.save(tmp_path / "C0.npy", rng.integers(-8, 9, (30, 40)).astype(np.float32))
    np.save(tmp_path / "X.npy", rng.integers(-8, 9, (20, 40)).astype(np.float32))
    np.save(tmp_path / "D.npy", rng.integers(-8, 9, (30, 20)).astype(np.float64))
    np.save(tmp_path / "complex.npy", np.ones((30, 20), np.complex64))
    np.save(tmp_path / "vector.npy", np.ones(20, np.float32))
    np.savez(tmp_path / "several.npz", a=np.ones(2), b=np.ones(2))
    np.save(tmp_path / "pickled.npy", np.array([{}], dtype=object), allow_pickle=True)
    (tmp_path / "text.npy").write_text("no array")
    (tmp_path / "folder").mkdir()
    return tmp_path


def run(files: Path, *arguments: str) -> int:
    """Run ``cute-py gemm`` with file names relative to the folder."""
    return main(["gemm", *(str(files / a) if a.endswith((".npy", ".npz", "folder")) else a for a in arguments)])


def load(files: Path, *names: str) -> list[np.ndarray]:
    return [np.load(files / f"{name}.npy") for name in names]


def test_gemm(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(files, "A.npy", "B.npy", "-o", "C.npy", "--verify") == 0
    A, B, C = load(files, "A", "B", "C")
    np.testing.assert_array_equal(C, A @ B.T)
    output = capsys.readouterr().out
    for part in ("M=30 N=40 K=20", "kernel: cpu_", "GFLOP/s", "against float64: right", f"wrote {files / 'C.npy'}"):
        assert part in output


def test_gemm_options(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    A, X, C0, D, B = load(files, "A", "X", "C0", "D", "B")
    assert run(files, "A.npy", "X.npy", "--kn", "-o", "C.npy") == 0
    np.testing.assert_array_equal(*load(files, "C"), A @ X)
    assert (
        run(
            files,
            "A.npy",
            "X.npy",
            "--kn",
            "--c",
            "C0.npy",
            "--alpha",
            "2",
            "--beta",
            "-1",
            "-o",
            "C.npy",
            "--repeat",
            "3",
        )
        == 0
    )
    np.testing.assert_array_equal(*load(files, "C"), 2 * (A @ X) - C0)
    assert run(files, "D.npy", "B.npy", "--cast", "-o", "C.npy") == 0
    np.testing.assert_array_equal(*load(files, "C"), D @ B.T)
    capsys.readouterr()
    assert (
        run(files, "A.npy", "B.npy", "-o", "C.npy", "--device", "emulator", "--kernel", "sgemm_2", "--verify", "--json")
        == 0
    )
    report = json.loads(capsys.readouterr().out)
    assert report["kernel"].startswith("sgemm_2_tn_f32")
    assert report["target"] == "emulator"
    assert report["verified"] is True
    assert report["error_ratio"] <= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["A.npy", "missing.npy", "-o", "C.npy"], "cannot read"),
        (["A.npy", "text.npy", "-o", "C.npy"], "cannot read"),
        (["A.npy", "pickled.npy", "-o", "C.npy"], "cannot read"),
        (["A.npy", "folder", "-o", "C.npy"], "cannot read"),
        (["A.npy", "several.npz", "-o", "C.npy"], "several arrays"),
        (["A.npy", "vector.npy", "-o", "C.npy"], "rank 1"),
        (["D.npy", "B.npy", "-o", "C.npy"], "--cast converts it"),
        (["complex.npy", "B.npy", "-o", "C.npy", "--cast"], "no float32 equivalent"),
        (["A.npy", "X.npy", "-o", "C.npy"], "same K"),
        (["A.npy", "B.npy", "-o", "C.npy", "--kernel", "sgemm_3"], "near: sgemm_"),
        (["A.npy", "B.npy", "-o", "C.npy", "--beta", "1"], "--beta needs --c"),
        (["A.npy", "B.npy", "-o", "folder"], "it is a folder"),
        (["A.npy", "B.npy", "-o", "nowhere/C.npy"], "there is no folder"),
    ],
)
def test_gemm_failures(files: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(files.rglob("*"))
    assert run(files, *arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
    assert sorted(files.rglob("*")) == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_a_result_is_written_whole_or_not_at_all(files: Path, error: object, monkeypatch: pytest.MonkeyPatch) -> None:
    (files / "C.npy").write_bytes(b"precious")
    before = sorted(files.iterdir())

    def fail(file: object, array: object, **options: object) -> None:
        file.write(b"half")  # type: ignore[attr-defined]
        raise error  # type: ignore[misc]

    monkeypatch.setattr(np, "save", fail)
    assert run(files, "A.npy", "B.npy", "-o", "C.npy") == (130 if error is KeyboardInterrupt else 2)
    assert (files / "C.npy").read_bytes() == b"precious"
    assert sorted(files.iterdir()) == before


def test_a_wrong_result_is_not_written(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from cute_py.cli import gemm

    monkeypatch.setattr(gemm, "gemm", lambda a, b, c, **options: np.copyto(c, a @ b.T + 1))
    assert run(files, "A.npy", "B.npy", "-o", "C.npy", "--verify") == 1
    assert "WRONG, nothing was written" in capsys.readouterr().out
    assert not (files / "C.npy").exists()


def test_damaged_files_are_named(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = (files / "A.npy").read_bytes()
    damaged = {
        "zip": b"PK\x03\x04",
        "short": good[:100],
        "huge": good.replace(b"(30, 20)", b"(10000000000, 1000000)"),
        "bool": good.replace(b"(30, 20)", b"(True,3)"),
        "open": good.replace(b"}", b" "),
        "empty": b"",
    }
    for name, content in damaged.items():
        (files / "broken.npy").write_bytes(content)
        assert run(files, "broken.npy", "B.npy", "-o", "C.npy") == 2, name
        assert "cannot read" in capsys.readouterr().err
    assert not (files / "C.npy").exists()


def test_only_plain_files_are_replaced(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(files / "pipe.npy")
    assert run(files, "A.npy", "B.npy", "-o", "pipe.npy") == 2
    assert "not a plain file" in capsys.readouterr().err
    assert (files / "pipe.npy").is_fifo()

    (files / "target.npy").write_bytes(b"old")
    (files / "target.npy").chmod(0o640)
    (files / "link.npy").symlink_to(files / "target.npy")
    assert run(files, "A.npy", "B.npy", "-o", "link.npy") == 0
    assert (files / "link.npy").is_symlink()
    assert np.load(files / "target.npy").shape == (30, 40)
    assert (files / "target.npy").stat().st_mode & 0o777 == 0o640

    assert run(files, "A.npy", "B.npy", "-o", "x" * 240 + ".npy") == 0
    assert run(files, "A.npy", "B.npy", "-o", "x" * 300 + ".npy") == 2


def test_a_product_too_large_for_memory(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(files / "long.npy", np.zeros((10**8, 0), np.float32))
    assert run(files, "long.npy", "long.npy", "-o", "C.npy") == 2
    assert "no memory for the product" in capsys.readouterr().err


@pytest.mark.parametrize("shell", ["exec {} > /dev/full", "exec {} >&-"])
def test_an_output_that_cannot_be_written(shell: str) -> None:
    command = shell.format(f"{sys.executable} -m cute_py kernels")
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    assert done.returncode == (2 if "full" in shell else 0)


def test_info(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info"]) == 0
    output = capsys.readouterr().out
    assert f"cute_py {cute_py.__version__}, CUTLASS 4.2" in output
    assert main(["info", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["kernels"] == cute_py.kernels().families()
    assert len(facts["devices"]) == len(cute_py.devices())


def test_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernels"]) == 0
    table = capsys.readouterr().out
    assert all(name in table for name in cute_py.kernels())
    assert main(["kernels", "--json"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == list(cute_py.kernels())


def test_verify(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "sgemm_sm80", "--target", "emulator"]) == 0
    count = testing.count_checks(["sgemm_sm80"], ["emulator"])
    assert count >= 30  # a build without CUDA has fewer variants
    assert capsys.readouterr().out == f"verify: all {count} checks passed ({count} on emulator)\n"
    assert main(["verify", "sgemm_sm81"]) == 2
    assert "near: sgemm_sm80" in capsys.readouterr().err
    assert main(["verify", "cpu", "--target", "emulator"]) == 2
    assert "nothing to test" in capsys.readouterr().err


def test_verify_notices_a_wrong_kernel(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def wrong(A: np.ndarray, B: np.ndarray, C: np.ndarray, **options: object) -> None:
        cute_py.gemm(A, B, C, **options)
        if C.size:
            C[-1, -1] += 1

    monkeypatch.setattr(testing, "gemm", wrong)
    assert main(["verify", "reference"]) == 1
    captured = capsys.readouterr()
    assert "checks FAILED" in captured.out
    assert "FAILED reference_f32 on cpu, M=1 N=7" in captured.err


def test_no_command_and_unknown_commands_are_usage_errors() -> None:
    for arguments in ([], ["juggle"], ["gemm"], ["gemm", "A", "B", "-o", "C", "--repeat", "0"]):
        with pytest.raises(SystemExit) as exit_:
            main(arguments)
        assert exit_.value.code == 2


def test_python_m_and_a_reader_that_stops() -> None:
    command = [sys.executable, "-m", "cute_py", "kernels"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.wait() == 0
        assert process.stderr.read() == b""


def test_the_progress_bar_shows_on_a_terminal() -> None:
    terminal, end = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "cute_py", "verify", "sgemm_1"], stdout=subprocess.PIPE, stderr=end
    ) as process:
        os.close(end)
        shown = b""
        while True:
            try:
                chunk = os.read(terminal, 65536)
            except OSError:
                break
            if not chunk:
                break
            shown += chunk
        assert process.wait() == 0
    os.close(terminal)
    assert f"/{testing.count_checks(['sgemm_1'])}".encode() in shown
