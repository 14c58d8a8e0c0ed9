"""The 48 contractions of the TCCG benchmark, their extents divided by 12; `benchmarks/gpu_fixed.py tccg` has them in full."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import cute_py
from cute_py.testing import check_contract
from problems import draw

DATA = Path(__file__).parents[1] / "benchmarks" / "data" / "tccg48.json"
CONTRACTIONS = json.loads(DATA.read_text())


def test_there_are_48() -> None:
    assert len(CONTRACTIONS) == 48


@pytest.mark.parametrize("target", ["cpu", "emulator", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("contraction", CONTRACTIONS, ids=lambda c: c["contraction"])
def test_a_contraction(contraction: dict, target: str, rng: np.random.Generator) -> None:
    """The leftmost index is the fastest."""
    c, a, b = contraction["contraction"].split("-")
    extents = {index: max(2, min(60, extent // 12)) for index, extent in contraction["extents"].items()}
    A, B = (np.asfortranarray(draw(rng, tuple(extents[i] for i in indices))) for indices in (a, b))
    C = np.full([extents[i] for i in c], np.nan, np.float32, order="F")
    cute_py.contract(f"{a},{b}->{c}", A, B, C, device=target)
    check_contract(f"{a},{b}->{c}", C, A, B)
