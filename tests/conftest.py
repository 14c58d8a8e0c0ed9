"""What all tests share: the marker `gpu`, and arrays on either side."""

from __future__ import annotations

import numpy as np
import pytest

import cute_py


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--all-cases", action="store_true", help="judge all random cases against the headers, not three of ten"
    )
    parser.addoption(
        "--alone", action="store_true", help="run the tests that measure time, for a machine that does nothing else"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--alone"):
        not_alone = pytest.mark.skip(reason="measures time; run it with --alone")
        for item in items:
            if item.get_closest_marker("alone"):
                item.add_marker(not_alone)
    if cute_py.cuda_available():
        return
    skip = pytest.mark.skip(reason="there is no NVIDIA GPU")
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(skip)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20261120)
