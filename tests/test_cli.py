"""The command line: results on standard output, errors on standard error, exit codes, whole files or none."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cute_py
from cute_py import _core, testing
from cute_py.cli import main
from pace import takes_under


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
        (["D.npy", "B.npy", "-o", "C.npy"], "--cast TYPE converts both"),
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

    class Wrong:
        explain = cute_py.gemm.explain

        def __call__(self, a: np.ndarray, b: np.ndarray, c: np.ndarray, **options: object) -> None:
            np.copyto(c, a @ b.T + 1)

    monkeypatch.setattr(gemm, "gemm", Wrong())
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


@pytest.mark.parametrize("names", [("loop.npy",), ("one.npy", "two.npy"), ("one.npy", "two.npy", "three.npy")])
def test_links_that_lead_in_a_circle(names: tuple[str, ...], files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, target in zip(names, (*names[1:], names[0]), strict=True):
        (files / name).symlink_to(files / target)
    assert run(files, "A.npy", "B.npy", "-o", names[0]) == 2
    assert "its links lead in a circle" in capsys.readouterr().err
    assert (files / names[0]).is_symlink()
    assert run(files, names[0], "B.npy", "-o", "C.npy") == 2
    assert "cannot read" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["pipe.npy", "B.npy"], ["A.npy", "pipe.npy"], ["A.npy", "B.npy", "--c", "pipe.npy"]]
)
def test_a_pipe_is_refused_rather_than_waited_for(arguments: list[str], files: Path) -> None:
    os.mkfifo(files / "pipe.npy")
    command = [sys.executable, "-m", "cute_py", "gemm", *arguments, "-o", "C.npy"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=files, timeout=60)
    assert done.returncode == 2
    assert "cannot read pipe.npy: it is not a plain file\n  next: " in done.stderr


@pytest.mark.parametrize("output", ["A.npy", "B.npy", "link.npy"])
def test_a_factor_is_not_overwritten(output: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "link.npy").symlink_to(files / "B.npy")
    before = (files / "A.npy").read_bytes(), (files / "B.npy").read_bytes()
    assert run(files, "A.npy", "B.npy", "-o", output) == 2
    error = capsys.readouterr().err
    assert "which is read" in error
    assert "next: -o another file" in error
    assert ((files / "A.npy").read_bytes(), (files / "B.npy").read_bytes()) == before


def test_c_is_updated_in_its_own_file(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    A, B, C = load(files, "A", "B", "C0")
    assert run(files, "A.npy", "B.npy", "--c", "C0.npy", "--beta", "3", "-o", "C0.npy") == 0
    np.testing.assert_array_equal(*load(files, "C0"), A @ B.T + 3 * C)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
@pytest.mark.parametrize("name", ["\u03b1\u03b2.npy", "\udcff.npy"])
def test_a_name_that_the_output_cannot_encode(encoding: str, name: str, files: Path) -> None:
    command = [sys.executable, "-m", "cute_py", "gemm", "A.npy", "B.npy", "-o", name]
    done = subprocess.run(
        command, capture_output=True, cwd=files, env={**os.environ, "PYTHONIOENCODING": f"{encoding}:strict"}
    )
    assert done.returncode == 0
    assert done.stderr == b""
    assert b"wrote " in done.stdout
    assert (files / name).exists()


@pytest.mark.parametrize("count", ["0", "-1", "10001", "1000000000000"])
def test_how_often_a_product_may_be_repeated(count: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        run(files, "A.npy", "B.npy", "-o", "C.npy", "--repeat", count)
    assert exit_.value.code == 2
    assert "1 to 10000" in capsys.readouterr().err


def test_an_interrupted_repetition_says_how_far_it_came(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from cute_py.cli import gemm

    calls = []

    class Interrupted:
        explain = cute_py.gemm.explain

        def __call__(self, a: np.ndarray, b: np.ndarray, c: np.ndarray, **options: object) -> None:
            if len(calls) == 2:
                raise KeyboardInterrupt
            calls.append(c)

    monkeypatch.setattr(gemm, "gemm", Interrupted())
    assert run(files, "A.npy", "B.npy", "-o", "C.npy", "--repeat", "500") == 130
    assert capsys.readouterr().err == "cute-py: interrupted after 2 of 500 products; nothing was written\n"
    assert not (files / "C.npy").exists()


def test_what_is_reported_is_what_ran(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """alpha, beta, the kernel and the place decide what runs, so the explanation has to know all of them."""
    from cute_py.cli import gemm

    asked = []

    class Gemm:
        def __call__(self, *operands: np.ndarray, **options: object) -> np.ndarray:
            return cute_py.gemm(*operands, **options)

        def explain(self, *operands: np.ndarray, **options: object) -> cute_py.Explanation:
            asked.append(options)
            return cute_py.gemm.explain(*operands, **options)

    monkeypatch.setattr(gemm, "gemm", Gemm())
    arguments = [
        "A.npy",
        "B.npy",
        "--c",
        "C0.npy",
        "--alpha",
        "0",
        "--beta",
        "2",
        "-o",
        "C.npy",
        "--device",
        "emulator",
    ]
    assert run(files, *arguments, "--json") == 0
    assert asked == [{"alpha": 0.0, "beta": 2.0, "kernel": "auto", "device": "emulator", "compute": None}]
    np.testing.assert_array_equal(*load(files, "C"), 2 * load(files, "C0")[0])


@pytest.mark.parametrize("mask", [0o022, 0o027, 0o077, 0o002])
def test_a_new_file_has_the_mode_of_any_new_file(
    mask: int, files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The umask belongs to every thread of the process: it is neither set nor, which would be to set it, read."""
    before = os.umask(mask)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(os, "umask", lambda mask: pytest.fail("the umask of the process was touched"))
            assert run(files, "A.npy", "B.npy", "-o", "C.npy") == 0
    finally:
        os.umask(before)
    assert (files / "C.npy").stat().st_mode & 0o777 == 0o666 & ~mask


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


def test_info_of_a_build_without_cuda(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(_core, "built_with_cuda", False)
    assert main(["info"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("CUDA: ")]
    assert lines == ["CUDA: not in this build; for GPU kernels: CUTE_PY_CUDA=ON pip install ."]


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["--version"])
    assert exit_.value.code == 0
    assert capsys.readouterr().out == f"cute-py {cute_py.__version__}\n"


def test_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernels"]) == 0
    table = capsys.readouterr().out
    assert all(name in table for name in cute_py.kernels())
    assert main(["kernels", "--json"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == list(cute_py.kernels())


def test_verify(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "sgemm_sm80", "--target", "emulator"]) == 0
    count = testing.count_checks(["sgemm_sm80"], ["emulator"])
    assert count >= 100
    assert capsys.readouterr().out == f"verify: all {count} checks passed ({count} on emulator)\n"
    assert main(["verify", "sgemm_sm81"]) == 2
    assert "near: sgemm_sm80" in capsys.readouterr().err
    assert main(["verify", "cpu", "--target", "emulator"]) == 2
    assert "nothing to test" in capsys.readouterr().err


def test_verify_says_how_far_it_is_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "sgemm_1", "sgemm_2", "--target", "emulator"]) == 0
    of = [testing.count_checks(names, ["emulator"]) for names in (["sgemm_1"], ["sgemm_1", "sgemm_2"])]
    said = [line for line in capsys.readouterr().err.splitlines() if "compiling" not in line]
    assert said == [
        f"verify: sgemm_1, from check 1 of {of[1]}",
        f"verify: sgemm_2, from check {of[0] + 1} of {of[1]}",
    ]


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


ESCAPES = [
    "atoms.np.ctypeslib.ctypes.CDLL(None).system('id > OWNED'.encode())",
    "atoms.np.load('evil.npy', allow_pickle=True)",
    "atoms.difflib",
    "atoms.dataclass",
    "atoms.mma.find.__globals__",
    "errors.annotations",
    "kernels()['sgemm_1_nt_f32'].report('OWNED')",
    "kernels()['sgemm_1_nt_f32'].trace()",
    "kernels().__class__",
    "kernels.__wrapped__",
    "kernels.cache_clear()",
    "Layout('4:1').to_svg()",
    "Layout.mro()",
    "Layout('4:1').__class__",
    "'{0.__init__.__globals__}'.format(Layout)",
    "'id'.encode()",
    "make_tensor('(4,8):(8,1)').numpy()",
    "make_tensor('(4,8):(8,1)').to_svg()",
    "make_identity_tensor((4, 4)).source",
    "Plan('x')",
    "best_swizzle('(100000,100000)', 'float', '(100000,100000)', '(100000,100000)')",
    "gemm(1, 2)",
    "set_num_threads(1)",
    "(lambda: 1)()",
    "[x for x in (1, 2)]",
    "f'{Layout}'",
    "__import__('os')",
    "Layout(**{'shape': 4})",
    "Layout(*(4, 1))",
    "make_layout(x := 4)",
    "4 if 1 else 2",
]


@pytest.mark.parametrize("command", ["layout", "draw"])
@pytest.mark.parametrize("expression", ESCAPES)
def test_an_expression_reaches_layouts_and_nothing_else(
    expression: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([command, expression, *(["-o", "x.svg"] if command == "draw" else [])]) == 2
    error = capsys.readouterr().err
    assert any(words in error for words in ("there is no", "cannot ask", "cannot evaluate")), error
    assert "object is not callable" not in error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("'x' * 10000000000", "only integers are multiplied"),
        ("Layout(8) * 9", "only integers are multiplied"),
        ("(1, 2) * 1000000000", "only integers are multiplied"),
        (" * ".join(["9223372036854775807"] * 40), "does not fit in 64 bits"),
        ("9" * 4000, "does not fit in 64 bits"),
        ("(" + "-" * 200 + "1)", "nested deeper than 64"),
        ("coalesce(" * 90 + "'4:1'" + ")" * 90, "nested deeper than 64"),
        ("make_layout(" + "1, " * 2000 + ")", "at most 4096 are read"),
        ("(" * 2000 + "1" + ")" * 2000, "cannot read"),
    ],
    ids=lambda text: text[:20],
)
def test_an_expression_is_no_bomb(expression: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with takes_under(1):
        assert main(["layout", expression]) == 2
    assert message in capsys.readouterr().err


def test_a_kernel_that_does_not_exist_gets_near_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["draw", 'kernels()["sgemm_1_xx"].tiled_mma', "-o", str(tmp_path / "x.svg")]) == 2
    assert ": no kernel is called 'sgemm_1_xx'; near: sgemm_1_" in capsys.readouterr().err


@pytest.mark.parametrize(
    "expression",
    [
        "(4,8):(8,1)",
        "Sw<3,4,3> o 0 o (8,32):(32,1)",
        'raked_product("(2,5)", "(3,4)")',
        "Layout((4, 8), (8, -1 * 3)).with_shape(8, 4)",
        "Layout((4, (2, 2)))[1]",
        "composition('(8,4)', ('2:4', None))",
        'atoms.mma["SM80_16x8x16_F32F16F16F32_TN"]',
        'atoms.mma[atoms.mma.find("SM80", "BF16")[0]].layout_c_tv',
        'atoms.copy["SM75_U32x4_LDSM_N"].atom("half_t")',
        'atoms.copy["SM75_U32x4_LDSM_N"].atom(atoms.value_type("half_t")).val_layout_src',
        'kernels()["sgemm_sm80_nt_f32"]',
        'kernels()["sgemm_sm80_nt_f32"].tiled_mma',
        'kernels()["sgemm_sm80_nt_f32"].config.smem_layout_a',
        'make_tiled_mma(atoms.mma["SM80_16x8x16_F32F16F16F32_TN"], "(_2,_2,_1)").get_slice(5).partition_C("(_32,_32)")',
        'make_tiled_copy(atoms.copy["UniversalCopy<uint128_t>"].atom("float"), "(32,8)", "(4,1)").layout_src_tv',
        'local_tile(make_tensor("(8,6):(6,1)"), (4, 3), (1, 1))',
        "Layout((4, 4), (3 * E(1), E(0)))",
    ],
)
def test_expressions_that_draw(expression: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "x.svg"
    assert main(["draw", expression, "-o", str(picture)]) == 0, capsys.readouterr().err
    assert picture.read_text().startswith("<svg")


def explained(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["explain", *arguments]) == 0
    return capsys.readouterr().out


def test_explain_says_what_a_call_would_do(capsys: pytest.CaptureFixture[str]) -> None:
    A, B = np.ones((100, 70), np.float32), np.ones((80, 70), np.float32)
    expected = cute_py.contract.explain("mk,nk->mn", A, B, device="cpu")
    assert explained(capsys, "100", "80", "70", "--device", "cpu") == f"{expected}\n"
    assert explained(capsys, "100", "80", "70", "--device", "cpu", "--long") == f"{expected.text(long=True)}\n"
    found = json.loads(explained(capsys, "100", "80", "70", "--device", "cpu", "--json"))
    assert found["steps"][0]["kernel"] == expected.chosen
    expected = cute_py.contract.explain("mk,nk->mn", A.T.copy().T, B, device=cute_py.Device("H200"))
    assert explained(capsys, "100", "80", "70", "--strides", "A=1,100") == f"{expected}\n"


@pytest.mark.parametrize("layout", ["nt", "tn", "nn", "tt"])
def test_explain_knows_layouts(layout: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(explained(capsys, "256", "512", "128", "--layout", layout, "--dtype", "float16", "--json"))
    A = "(256,128):(1,256)" if layout[0] == "n" else "(256,128):(128,1)"
    B = "(512,128):(1,512)" if layout[1] == "t" else "(512,128):(128,1)"
    assert found["operands"][:2] == [f"A float16 {A} cpu", f"B float16 {B} cpu"]
    assert found["device"] == "H200"


def test_explain_takes_contractions(capsys: pytest.CaptureFixture[str]) -> None:
    more = ["a=8,b=64", "c=96", "k=128", "--strides", "A=1,8,512", "--device", "A100", "--dtype", "float16,float32"]
    text = explained(capsys, "abk,kc->abc", *more)
    for part in ("A float16 (8,64,128):(1,8,512)", "B float32 (128,96):(96,1)", "(A100)", "M=512 N=96 K=128"):
        assert part in text
    assert "sm90" not in text.partition("  not ")[0]
    text = explained(capsys, "ij,jk,kl->il", "i=3", "j=4", "k=5", "l=6", "--device", "cpu", "--compute", "float64")
    assert "pair 2 of 2" in text
    assert explained(capsys, "4", "0", "5", "--out-dtype", "float64", "--compute", "float64")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["100", "100"], "three numbers"),
        (["100", "100", "x"], "three numbers"),
        (["ab,bc", "a=1", "b=2"], "no extent of index c\n  next: add c=64"),
        (["ab,bc", "a=1", "b=2", "c=3", "d=4"], "has no index d"),
        (["ab,bc", "a:1"], "'a:1' is no extent"),
        (["...b,bc", "b=1", "c=2"], "name every mode"),
        (["ab,bc->ad", "a=1", "b=2", "c=3", "d=4"], "index d in the result and in no operand"),
        (["8", "8", "8", "--dtype", "float99"], "'float99' is no type"),
        (["8", "8", "8", "--dtype", "float32,float32,float32"], "3 types for 2 operands"),
        (["8", "8", "8", "--strides", "A=1"], "1 strides for 2 modes"),
        (["8", "8", "8", "--strides", "C=1,2"], "not of an operand, A to B"),
        (["8", "8", "8", "--device", "H300"], "no device is called 'H300'"),
        (["8", "8", "8", "--kernel", "sgemm_9"], "no kernel is called 'sgemm_9'"),
        (["8", "8", "8", "--dtype", "int8,float32"], "int8 only by int8"),
        (["10000000000", "10000000000", "10000000000"], "larger than any memory"),
        (["8", "8", "8", "--strides", f"A=1,{10**30}"], "larger than any memory"),
    ],
)
def test_explain_refuses(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_kernels_by_parts_of_their_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernels", "SM80", "nt_f64", "--json"]) == 0
    names = [variant["name"] for variant in json.loads(capsys.readouterr().out)]
    assert names == [name for name in cute_py.kernels() if "sm80" in name and "nt_f64" in name] != []
    assert main(["kernels", "sm80", "sgemm_1"]) == 2
    assert "no kernel's name has sm80 and sgemm_1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "key", "value"),
    [
        (["layout", "(4,8):(8,1)"], "cosize", 32),
        (["layout", "(4,8):(-1,4)"], "left_inverse", None),
        (["atom", "SM70_8x8x4_F32F16F16F32_NT"], "lanes", [0, 1, 2, 3, 16, 17, 18, 19]),
        (["atom", "SM75_U32x4_LDSM_N"], "bits", 4096),
        (["kernel", "sgemm_2_nt_f32"], "kernel", "sgemm_2"),
        (["kernel", "sgemm_2_nt_f32", "--owner", "3", "4"], "thread", 67),
        (["verify", "reference", "--target", "cpu"], "failed", []),
    ],
)
def test_json_of_what_is_shown(arguments: list[str], key: str, value: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[key] == value


def test_json_of_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["atom", "sm70", "8x8x4", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 8


# ---- Types and einsum


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128", "int8"])
def test_gemm_of_every_type_that_a_file_holds(
    dtype: str, tmp_path: Path, rng: np.random.Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = (rng.integers(-4, 5, shape).astype(dtype) for shape in ((9, 7), (11, 7)))
    np.save(tmp_path / "A.npy", a)
    np.save(tmp_path / "B.npy", b)
    assert run(tmp_path, "A.npy", "B.npy", "-o", "C.npy", "--verify") == 0
    c = np.load(tmp_path / "C.npy")
    assert c.dtype == ("int32" if dtype == "int8" else dtype)
    np.testing.assert_array_equal(c, a.astype(c.dtype) @ b.T.astype(c.dtype))
    assert "right" in capsys.readouterr().out


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float16", "complex64", "int8"])
def test_gemm_casts(dtype: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ml_dtypes")
    assert run(files, "D.npy", "B.npy", "--cast", dtype, "-o", "C.npy", "--verify", "--json") == 0
    D, B, C = load(files, "D", "B", "C")
    np.testing.assert_array_equal(C, D @ B.T)  # small integers, which all of these have
    assert json.loads(capsys.readouterr().out)["verified"] is True


def test_gemm_computes_in_what_is_asked_for(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("A.npy", "B.npy", "-o", "C.npy", "--device", "emulator", "--compute", "tfloat32", "--json", "--verify")
    assert run(files, *arguments) == 0
    report = json.loads(capsys.readouterr().out)
    assert "tf32" in report["kernel"]
    assert run(files, "A.npy", "B.npy", "-o", "C.npy", "--compute", "float3") == 2
    assert "float3" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["D.npy", "B.npy", "-o", "C.npy"], "holds float64 and"),
        (["strings.npy", "B.npy", "-o", "C.npy"], "which no kernel multiplies\n  next: --cast TYPE converts it"),
        (["strings.npy", "B.npy", "-o", "C.npy", "--cast"], "no float32 equivalent"),
        (["halves.npy", "halves.npy", "-o", "C.npy", "--cast", "int8"], "no int8"),
        (["big_endian.npy", "B.npy", "-o", "C.npy"], "--cast TYPE converts it"),
    ],
)
def test_types_that_do_not_fit(
    files: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(files / "strings.npy", np.array([["a", "b"]]))
    np.save(files / "halves.npy", np.full((3, 20), 0.5, np.float32))
    np.save(files / "big_endian.npy", np.ones((30, 20), ">f4"))
    assert run(files, *arguments) == 2
    assert message in capsys.readouterr().err
    assert not (files / "C.npy").exists()


def run_einsum(files: Path, *arguments: str) -> int:
    return main(["einsum", *(str(files / a) if a.endswith(".npy") else a for a in arguments)])


@pytest.mark.parametrize(
    ("subscripts", "names"),
    [
        ("mk,nk->mn", ("A", "B")),
        ("mk,kn->nm", ("A", "X")),
        ("ij->ji", ("A",)),
        ("ij->", ("A",)),
        ("mk,nk,mn->m", ("A", "B", "C0")),
        ("...k,k", ("A", "vector")),
    ],
)
def test_einsum(subscripts: str, names: tuple[str, ...], files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    operands = [f"{name}.npy" for name in names]
    assert run_einsum(files, subscripts, *operands, "-o", "E.npy", "--verify", "--explain", "--repeat", "2") == 0
    expected = np.einsum(subscripts, *load(files, *names))
    np.testing.assert_array_equal(np.load(files / "E.npy"), expected)
    output = capsys.readouterr().out
    assert output.startswith(f"{subscripts}: ({','.join(map(str, expected.shape))}) float32 in ")
    assert "against float64: right" in output
    assert output.endswith(f"wrote {files / 'E.npy'}\n")


def test_einsum_casts_and_reports(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ml_dtypes")
    assert (
        run_einsum(files, "mk,nk->mn", "D.npy", "B.npy", "--cast", "bfloat16", "-o", "E.npy", "--verify", "--json") == 0
    )
    report = json.loads(capsys.readouterr().out)
    assert report["shape"] == [30, 40]
    assert report["type"] == "bfloat16"
    assert np.load(files / "E.npy").dtype == "float32"
    assert report["verified"] is True
    assert 0 <= report["error_ratio"] <= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ij,jk->ik", "A.npy", "B.npy", "-o", "E.npy"], "j"),
        (["ij,jk->ik", "A.npy", "-o", "E.npy"], ""),
        (["mk,nk->mn", "D.npy", "B.npy", "-o", "E.npy"], "--cast TYPE converts all"),
        (["mk,nk->mn", "A.npy", "B.npy", "-o", "A.npy"], "which is read"),
        (["mk,nk->mn", "A.npy", "missing.npy", "-o", "E.npy"], "cannot read"),
        (["m!,nk->mn", "A.npy", "B.npy", "-o", "E.npy"], "!"),
    ],
)
def test_einsum_failures(files: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in files.glob("*.npy")}
    assert run_einsum(files, *arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""
    assert {path: path.read_bytes() for path in files.glob("*.npy")} == before


def test_a_wrong_einsum_is_not_written(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from cute_py.cli import einsum

    monkeypatch.setattr(einsum, "einsum", lambda subscripts, *arrays, **options: np.einsum(subscripts, *arrays) + 1)
    assert run_einsum(files, "mk,nk->mn", "A.npy", "B.npy", "-o", "E.npy", "--verify") == 1
    assert "WRONG, nothing was written" in capsys.readouterr().out
    assert not (files / "E.npy").exists()
