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
        ([(0, 30_000, "a.o"), (0, 46_000, "b.o")], False, "b.o takes 46 s, over 45 s"),
        ([(0, 40_000, "a.o"), (81_000, 121_000, "b.o")], False, "wall time is 121 s, over 120 s"),
        ([(i, i + 41_000, f"{i}.o") for i in range(5)], False, "all steps together take 205 s, over 200 s"),
        ([(0, 50_000, "a.o"), (50_000, 130_000, "b.o")], True, ""),
        ([(0, 40_000, "a.o"), (0, 70_000, "b.o"), (0, 20_000, "b.o")], False, ""),
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


def test_slack_is_times_the_budgets(tmp_path: Path) -> None:
    folder = str(log(tmp_path, (0, 50_000, "a.o")))
    assert build_time.main([folder]) == 1
    assert build_time.main([folder, "--slack", "1.2"]) == 0


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
