"""Orders of the same objects under resampling: their means, their places, and percentile intervals of what follows.

``rank_orders.tau_interval`` does this for one tau. Here the resampled means are kept, so that many figures of the same
two orders, such as tau without each object in turn, rest on the same resamples and cost little more than one.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from verseir.stats.bootstrap import cluster_sums
from verseir.stats.rank_orders import DIGITS, UNDEFINED
from verseir.stats.resampling import resample_counts


def independent_seeds(seed: int) -> tuple[int, int]:
    """Seeds for two sets of observations that are drawn independently."""
    first, second = np.random.SeedSequence(seed).generate_state(2)
    return int(first), int(second)


def resampled_means(
    values: NDArray[np.float64], clusters: NDArray[np.int64] | None, resamples: int, seed: int
) -> NDArray[np.float64]:
    """Means float64 [resamples, m] of the columns of ``values`` [n, m] over resampled rows, or whole clusters of rows.

    Entries that are NaN are left out; a column that has none in a resample is NaN there. Means are rounded so that
    equal ones are equal. The resamples depend on the seed and the number of clusters alone.
    """
    if not len(values):
        return np.full((resamples, values.shape[1]), math.nan)
    present = ~np.isnan(values)
    sums, _ = cluster_sums(np.where(present, values, 0.0), clusters)
    counts, _ = cluster_sums(present.astype(np.float64), clusters)
    blocks = []
    for drawn in resample_counts([len(sums)], resamples, seed):
        with np.errstate(invalid="ignore"):
            blocks.append(np.round((drawn @ sums) / (drawn @ counts), DIGITS))
    return np.concatenate(blocks)


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


def percentile_interval(
    replicates: NDArray[np.float64], level: float = 0.95, method: str = "linear"
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Ends float64 [k] of the percentile intervals (Efron, 1979) of the columns of ``replicates`` [b, k].

    Resamples that are NaN are left out; NaN where they are more than a twentieth. ``method`` is that of
    ``numpy.quantile``: ``inverted_cdf`` for what only takes certain values.
    """
    k = replicates.shape[1]
    low, high = np.full(k, math.nan), np.full(k, math.nan)
    for j in range(k):
        defined = replicates[~np.isnan(replicates[:, j]), j]
        if len(defined) and len(defined) >= (1 - UNDEFINED) * len(replicates):
            ends = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2], method=method)  # type: ignore[call-overload]
            low[j], high[j] = ends
    return low, high
