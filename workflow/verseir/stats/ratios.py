"""Bootstrap intervals of ratios of sums, such as shares of pairs of which each query has another number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from verseir.stats.bootstrap import Estimates, bca_interval, bca_p, clopper_pearson, cluster_sums
from verseir.stats.resampling import resample_counts

#: The share of resamples without a value from which an interval would describe the others only.
UNDEFINED = 0.05
#: Ratios of clusters that are nearer to each other than this are the same.
ALIKE = 1e-12


def bootstrap_ratios(
    numerators: NDArray[np.float64],
    denominators: NDArray[np.float64],
    clusters: NDArray[np.int64] | None = None,
    resamples: int = 9999,
    seed: int = 0,
    proportions: NDArray[np.bool_] | None = None,
    null: float = 0.0,
) -> Estimates:
    """The sum of each column of ``numerators`` over that of ``denominators``, with a BCa interval (Efron, 1987).

    Whole clusters are resampled, and all columns share the resamples, so that differences between columns are paired. A
    column of proportions of which every cluster has 0, or every cluster 1, gets the interval of Clopper and Pearson
    (1934) with these clusters as trials, and no p. Any other column without variation has neither, nor has one with
    fewer than two clusters, or that more than 5% of the resamples leave without a value.

    Args:
        numerators: float64 [n, m], of n queries in m columns.
        denominators: float64 [n, m], from 0; 0 where a query does not count.
        clusters: int64 [n], the cluster of each query; None where each is its own.
        resamples: bootstrap resamples.
        seed: of the bootstrap; the same seed and number of clusters give the same resamples.
        proportions: bool [m], which columns are proportions; none if None.
        null: the ratio that ``p`` tests by inverting the interval; p is never below 2 / (1 + resamples).
    """
    top, _ = cluster_sums(numerators, clusters)
    bottom, _ = cluster_sums(denominators, clusters)
    c, m = top.shape
    nothing = [np.full(m, np.nan) for _ in range(3)]
    if not c:
        return Estimates(np.full(m, np.nan), *nothing)
    total, size = top.sum(axis=0), bottom.sum(axis=0)
    estimate = _divided(total, size)
    low, high, p = nothing
    own = _divided(top, bottom)
    members = (bottom > 0).sum(axis=0)
    spread = np.zeros(m)
    held = np.flatnonzero(members > 0)
    spread[held] = np.nanmax(own[:, held], axis=0) - np.nanmin(own[:, held], axis=0)
    for j in np.flatnonzero((members >= 2) & (spread < ALIKE)):
        if proportions is not None and proportions[j] and estimate[j] in (0.0, 1.0):
            low[j], high[j] = clopper_pearson(int(estimate[j]) * int(members[j]), int(members[j]))
    varying = np.flatnonzero((members >= 2) & (spread >= ALIKE))
    if not len(varying):
        return Estimates(estimate, low, high, p)
    top, bottom = np.ascontiguousarray(top[:, varying]), np.ascontiguousarray(bottom[:, varying])
    drawn = np.concatenate(
        [_divided(counts @ top, counts @ bottom) for counts in resample_counts([c], resamples, seed)]
    )
    left_out = _divided(total[varying] - top, size[varying] - bottom)
    for k, j in enumerate(varying):
        replicates, jackknife = drawn[:, k], left_out[:, k]
        replicates, jackknife = replicates[~np.isnan(replicates)], jackknife[~np.isnan(jackknife)]
        if len(replicates) < (1 - UNDEFINED) * resamples or np.ptp(replicates) < ALIKE:
            continue
        low[j], high[j] = bca_interval(estimate[j], replicates, jackknife)
        if not np.isnan(low[j]):
            p[j] = bca_p(estimate[j] - null, replicates - null, jackknife - null)
    return Estimates(estimate, low, high, p)


def _divided(top: NDArray[np.float64], bottom: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0)
