"""The layout engine against CuTe's own headers, to the character."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from judge import corners, tiled
from judge.cases import Case, random_cases
from judge.program import EXTENDED, VALUES, printed, verdicts
from judge.tiled import Print

pytestmark = pytest.mark.compiler

SEED = 20261120


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Print although pytest keeps what tests print: the counts belong into the log."""

    def say(text: str) -> None:
        with capsys.disabled():
            print(f"\njudge: {text}")

    return say


def judge(cases: list[Case], folder: Path, parts: int, say: Callable[[str], None]) -> None:
    counts = Counter(case.operation for case in cases)
    wrong = []
    for case, (text, values) in zip(cases, verdicts(cases, folder, parts), strict=True):
        if case.text != text or case.values(VALUES) != values:
            wrong.append(f"{case.cpp}\n  CuTe    {text} {values[:16]}\n  cute_py {case.text} {case.values(16)}")
    say(f"{len(cases)} cases, {len(wrong)} mismatches: {dict(sorted(counts.items()))}")
    assert not wrong, f"{len(wrong)} mismatches:\n" + "\n".join(wrong[:20])


def test_random_cases(tmp_path: Path, say: Callable[[str], None], pytestconfig: pytest.Config) -> None:
    share = 1 if pytestconfig.getoption("all_cases") else 0.15
    cases = random_cases(SEED, share)
    assert len(cases) >= 8000 * share
    judge(cases, tmp_path, 4, say)


def test_corner_cases(tmp_path: Path, say: Callable[[str], None]) -> None:
    judge(corners.cases(), tmp_path, 2, say)


@pytest.mark.parametrize(
    "prints",
    [
        tiled.some_mma_prints,
        tiled.copy_prints,
        tiled.config_prints,
        tiled.atom_prints,
        tiled.tutorial_prints,
        tiled.table_prints,
    ],
    ids=lambda f: f.__name__,
)
def test_what_cute_prints(
    prints: Callable[[], list[Print]], tmp_path: Path, say: Callable[[str], None], pytestconfig: pytest.Config
) -> None:
    if prints is tiled.some_mma_prints and pytestconfig.getoption("all_cases"):
        prints = tiled.mma_prints
    statements = prints()
    wrong = []
    for statement, text in zip(statements, printed(statements, tmp_path), strict=True):
        if lines_of(statement.text) != lines_of(text):
            wrong.append(f"{statement.name}\n  CuTe    {text}\n  cute_py {statement.text}")
    say(f"{prints.__name__}: {len(statements)} statements, {len(wrong)} mismatches")
    assert not wrong, f"{len(wrong)} mismatches:\n" + "\n".join(wrong[:10])


def test_atoms_of_further_headers(tmp_path: Path, say: Callable[[str], None]) -> None:
    """Sparse atoms, and extents of N beyond the common ones: one of each kind of layouts."""
    statements = tiled.extended_prints()
    assert len(statements) > 100
    texts = printed(statements, tmp_path, head=EXTENDED)
    wrong = [s.name for s, text in zip(statements, texts, strict=True) if lines_of(s.text) != lines_of(text)]
    say(f"atoms of further headers: {len(statements)} kinds, {len(wrong)} mismatches")
    assert not wrong


def lines_of(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip("\n").splitlines()]


def test_the_judge_sees_a_mismatch(tmp_path: Path) -> None:
    case = corners.cases()[0]
    with pytest.raises(AssertionError, match="1 mismatches"):
        judge([Case(case.operation, "Layout<_2,_3>{}", case.result)], tmp_path, 1, print)


def test_a_judge_that_does_not_compile_is_a_failure(tmp_path: Path) -> None:
    case = corners.cases()[0]
    with pytest.raises(AssertionError, match="does not compile"):
        judge([Case(case.operation, "no_such_function()", case.result)], tmp_path, 1, print)
