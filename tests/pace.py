"""Bounds of time that hold on a slow or busy machine: in multiples of a fixed piece of work, measured beside what they bound.

What must hold in seconds on a machine that does nothing else is marked `alone`, and runs with ``pytest --alone``.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

_USUAL = 0.012  # seconds that the work takes on an idle processor of 2024


def _work() -> float:
    begin = time.perf_counter()
    total = 0
    for i in range(200_000):
        total += i * i
    assert total > 0
    return time.perf_counter() - begin


def slowness() -> float:
    """Return how much longer than usual this machine takes now, at least 1."""
    return max(1.0, max(_work() for _ in range(3)) / _USUAL)


@contextmanager
def takes_under(seconds: float) -> Iterator[None]:
    """Fail if what is inside takes longer than so many seconds of an idle processor."""
    before = slowness()
    begin = time.perf_counter()
    yield
    took = time.perf_counter() - begin
    allowed = seconds * max(before, slowness())
    assert took < allowed, f"{took:.2f} s, and {allowed:.2f} s are allowed on a machine as slow as this one is now"
