"""What all tests share: the markers `gpu`, `alone` and `thinned`, and arrays on either side."""

from __future__ import annotations

import zlib
from collections import defaultdict

import numpy as np
import pytest

import cute_py
from cute_py.units.emulator import compile_all
from problems import CHOSEN_BY_TESTS, EMULATED


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--all-cases", action="store_true", help="run all cases of tests marked `thinned`, and of the judge of layouts"
    )
    parser.addoption(
        "--alone", action="store_true", help="run the tests that measure time, for a machine that does nothing else"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Let pytest-xdist take files by their names: by their numbers of tests, those that compile for minutes are last."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


def pytest_sessionstart(session: pytest.Session) -> None:
    """Before all files run, compile what they run in the emulator: together that takes a third of one at a time."""
    config = session.config
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS and not hasattr(config, "workerinput"):
        compile_all(sorted(EMULATED | CHOSEN_BY_TESTS))


def thin_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of tests marked `thinned(n)`, keep about one case of n, and every value of each parameter in at least one.

    `thinned(n, by=f)`: every value of `f(**parameters)` instead.
    """
    kept, left_out = [], []
    met = defaultdict(set)
    for item in items:
        mark = item.get_closest_marker("thinned")
        if mark is None or item.get_closest_marker("gpu"):
            kept.append(item)
            continue
        parameters, by = item.callspec.params, mark.kwargs.get("by")
        values = {repr(by(**parameters))} if by else {f"{name}={value!r}" for name, value in parameters.items()}
        seen = met[item.function]
        chosen = not values <= seen or zlib.crc32(item.name.encode()) % mark.args[0] == 0
        if chosen:
            seen |= values
        (kept if chosen else left_out).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--all-cases"):
        thin_out(config, items)
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
