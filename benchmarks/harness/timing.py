"""Times of two programs, taken in turns, so that what else the machine does falls on both."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

#: A call that takes less is repeated until its calls take so long together: clocks and switches are no part of it.
SHORTEST = 0.02
#: The fewest pairs that a median is taken of; the most.
FEWEST, MOST = 3, 9


class Pairs(NamedTuple):
    """Seconds of one call of ours and of the peer, in the order of the pairs; lists of one length."""

    ours: list[float]
    theirs: list[float]

    @property
    def ratios(self) -> list[float]:
        """The peer's time divided by ours, by pair."""
        return [other / mine for mine, other in zip(self.ours, self.theirs, strict=True)]

    @property
    def median(self) -> tuple[float, float, float]:
        """Medians: seconds of ours, seconds of the peer, ratio. The last is that of the pairs' ratios."""
        return statistics.median(self.ours), statistics.median(self.theirs), statistics.median(self.ratios)


def seconds_of(call: Callable[[], Any], repeats: int = 1) -> float:
    """Seconds of one call, the mean of ``repeats``."""
    gc.collect()
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def first_call(call: Callable[[], Any]) -> float:
    """How many seconds more the first call takes than the next: compiling, and loading what was compiled."""
    first = seconds_of(call)
    return max(0.0, first - seconds_of(call))


def interleave(
    ours: Callable[[], Any],
    theirs: Callable[[], Any],
    seconds: float,
    fewest: int = FEWEST,
    most: int = MOST,
) -> Pairs:
    """Time two calls in turns: ours first, then the peer first, and so on.

    Args:
        seconds: no pair is begun after these, once there are ``fewest``.
        fewest, most: pairs.
    """
    start = time.perf_counter()
    pairs = Pairs([seconds_of(ours)], [seconds_of(theirs)])
    repeats = [max(1, round(SHORTEST / max(taken[0], 1e-9))) for taken in pairs]
    for taken, call, times in zip(pairs, (ours, theirs), repeats, strict=True):
        if times > 1:
            taken[0] = seconds_of(call, times)
    while len(pairs.ours) < fewest or (len(pairs.ours) < most and time.perf_counter() - start < seconds):
        turns = [(pairs.ours, ours, repeats[0]), (pairs.theirs, theirs, repeats[1])]
        for taken, call, times in turns if len(pairs.ours) % 2 == 0 else turns[::-1]:
            taken.append(seconds_of(call, times))
    return pairs
