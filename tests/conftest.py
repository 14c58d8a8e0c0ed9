"""What all tests share: the marker `gpu`, and arrays on either side."""

from __future__ import annotations

import numpy as np
import pytest

import cute_py


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--all-cases", action="store_true", help="judge all random cases against the headers, not three of ten"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if cute_py.cuda_available():
        return
    skip = pytest.mark.skip(reason="there is no NVIDIA GPU")
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(skip)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20261120)
