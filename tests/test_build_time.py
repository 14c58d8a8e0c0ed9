"""benchmarks/build_time.py on logs of invented builds."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from headers import ROOT

spec = importlib.util.spec_from_file_location("build_time", ROOT / "benchmarks" / "build_time.py")
assert spec is not None
assert spec.loader is not None
build_time = importlib.util.module_from_spec(spec)
sys.modules["build_time"] = build_time
spec.loader.exec_module(build_time)


def log(folder: Path, *steps: tuple[int, int, str]) -> Path:
    lines = ["# ninja log v6", *(f"{start}\t{end}\t0\t{name}\tabc" for start, end, name in steps)]
    (folder / ".ninja_log").write_text("\n".join(lines) + "\n")
    return folder


@pytest.mark.parametrize(
    ("steps", "cuda", "message"),
    [
        ([(0, 50_000, "a.o"), (0, 80_000 - 1, "b.o")], False, "b.o takes 80 s, over 60 s"),
        ([(0, 50_000, "a.o"), (50_000, 91_000, "b.o")], False, "wall time 91 s is over 90 s"),
        ([(0, 50_000, "a.o"), (50_000, 91_000, "b.o")], True, ""),
        ([(0, 50_000, "a.o"), (0, 70_000, "b.o"), (0, 20_000, "b.o")], False, ""),
    ],
)
def test_budgets(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    steps: list[tuple[int, int, str]],
    cuda: bool,
    message: str,
) -> None:
    code = build_time.main([str(log(tmp_path, *steps)), *(["--cuda"] if cuda else [])])
    printed = capsys.readouterr().out
    assert code == (1 if message else 0)
    assert message in printed
    assert ("over budget" in printed) == bool(message)


def test_the_report_adds_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build_time.main([str(log(tmp_path, (0, 3000, "a.o"), (1000, 5000, "b.o"))), "--most", "1"])
    printed = capsys.readouterr().out
    assert "wall 5 s, core-seconds 7, 2 steps" in printed
    assert "4.0 s  b.o" in printed
    assert "a.o" not in printed


def test_what_is_no_log_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".ninja_log").write_text("hello\n")
    with pytest.raises(SystemExit, match="is no log of ninja"):
        build_time.main([str(tmp_path)])
