"""Two orders of the same objects under resampling: their seeds, the places of the objects, and how sure a move is.

``rank_orders.tau_interval`` does all in one for one tau. Here resampled means are taken that were kept, so that many
figures of the same two orders, such as tau without each object in turn, rest on the same resamples.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from verseir.stats.rank_orders import MOSTLY_UNDEFINED, UNDEFINED, Interval

#: Without width: places move in steps, and a move that no resample changes is not known without error.
SAME_PLACES = Interval(math.nan, math.nan, "no resample changes the places")
ONE_MOVE = Interval(math.nan, math.nan, "nearly all resamples give one move")


def independent_seeds(seed: int) -> tuple[int, int]:
    """Seeds for two sets of observations that are drawn independently."""
    first, second = np.random.SeedSequence(seed).generate_state(2)
    return int(first), int(second)


def places(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """The place float64 [r, m] of each object by the rows of ``means`` [r, m]: 1 is the highest.

    Ties share the mean of their places; a row that holds a NaN is NaN.
    """
    place = np.empty_like(means)
    for j in range(means.shape[1]):
        own = means[:, j : j + 1]
        place[:, j] = (means > own).sum(axis=1) + ((means == own).sum(axis=1) + 1) / 2
    place[np.isnan(means).any(axis=1)] = math.nan
    return place


def move_interval(first: NDArray[np.float64], second: NDArray[np.float64], level: float = 0.95) -> Interval:
    """The percentile interval (Efron, 1979) of how many places one object falls from one order to another.

    The ends are moves that were seen (``inverted_cdf``: there is no third of a place). NaN where more than a twentieth
    of the resamples have no places, or where the interval would have no width; ``why`` says which.

    Args:
        first: its place in each resample, float64 [r]; NaN where there is none.
        second: its place in the other order, float64 [r].
        level: of the interval.
    """
    moves = second - first
    known = ~np.isnan(moves)
    if not known.any() or known.sum() < (1 - UNDEFINED) * len(moves):
        return MOSTLY_UNDEFINED
    low, high = np.quantile(moves[known], [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf")
    if low < high:
        return Interval(float(low), float(high))
    return ONE_MOVE if np.ptp(first[known]) or np.ptp(second[known]) else SAME_PLACES
