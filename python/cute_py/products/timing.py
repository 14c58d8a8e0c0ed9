"""How long calls take, measured."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

_ROUND_US = 5000  # of a call, repeated
_MOST_CALLS = 200
_ROUNDS = 5


def microseconds(calls: Sequence[Callable[[], Any]], wait: Callable[[], Any]) -> list[float]:
    """Return what each call takes: the median of five rounds in which all take turns, each for about 5 ms.

    `wait` returns when the work of all calls before it is done; the way there and back is shared by the calls of a
    round.
    """

    def timed(call: Callable[[], Any], count: int) -> float:
        wait()
        begin = time.perf_counter()
        for _ in range(count):
            call()
        wait()
        return (time.perf_counter() - begin) / count * 1e6

    counts = [max(1, min(_MOST_CALLS, int(_ROUND_US / max(timed(call, 1), 1)))) for call in calls]
    rounds = [[timed(call, count) for call, count in zip(calls, counts, strict=True)] for _ in range(_ROUNDS)]
    return [sorted(times)[_ROUNDS // 2] for times in zip(*rounds, strict=True)]
