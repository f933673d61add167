"""Bootstrap intervals of means: bias-corrected and accelerated, over queries or over clusters of queries."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from verseir.stats.resampling import resample_counts


class Interval(NamedTuple):
    """Means of the columns and the ends of their intervals, each float64 [m]; NaN where an end is not estimable."""

    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def cluster_sums(
    values: NDArray[np.float64], clusters: NDArray[np.int64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sums float64 [c, m] and sizes float64 [c] of the clusters of ``values`` [n, m]; every row is one if None."""
    if clusters is None:
        return values, np.ones(len(values))
    codes = np.unique(clusters, return_inverse=True)[1]
    sums = np.zeros((codes.max() + 1, values.shape[1]))
    np.add.at(sums, codes, values)
    return sums, np.bincount(codes).astype(np.float64)


def bootstrap_means(
    values: NDArray[np.float64],
    clusters: NDArray[np.int64] | None = None,
    resamples: int = 9999,
    seed: int = 0,
    level: float = 0.95,
) -> Interval:
    """Intervals of the column means of ``values`` by the BCa bootstrap (Efron, 1987).

    Whole clusters are resampled where ``clusters`` is given, since queries that ask for the same poem are not
    independent. All columns share the resamples. A column that is constantly 0 or 1 has no bootstrap variance: it gets
    the interval of Clopper and Pearson (1934) with the clusters as trials. Any other constant column, and any column
    from fewer than two clusters, has an interval of NaN.

    Args:
        values: float64 [n, m], n queries by m columns.
        clusters: int64 [n], the cluster of each query.
        resamples: bootstrap resamples.
        seed: of the resampling; the same seed and clusters give the same resamples.
        level: of the interval.
    """
    sums, sizes = cluster_sums(np.asarray(values, dtype=np.float64), clusters)
    c, m = sums.shape
    total, n = sums.sum(axis=0), sizes.sum()
    mean = total / n
    low, high = np.full(m, np.nan), np.full(m, np.nan)
    if c < 2:
        return Interval(mean, low, high)
    constant = np.ptp(sums / sizes[:, None], axis=0) < 1e-15
    for j in np.flatnonzero(constant):
        if mean[j] in (0.0, 1.0):
            low[j], high[j] = clopper_pearson(int(mean[j]) * c, c, level)
    varying = np.flatnonzero(~constant)
    if len(varying):
        columns = np.column_stack([sums[:, varying], sizes])
        drawn = np.concatenate([counts @ columns for counts in resample_counts([c], resamples, seed)])
        replicates = (drawn[:, :-1] / drawn[:, -1:]).T.copy()
        jackknife = ((total[varying] - sums[:, varying]) / (n - sizes)[:, None]).T.copy()
        low[varying], high[varying] = bca_intervals(mean[varying], replicates, jackknife, level)
    return Interval(mean, low, high)


def bca_intervals(
    estimates: NDArray[np.float64],
    replicates: NDArray[np.float64],
    jackknife: NDArray[np.float64],
    level: float = 0.95,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The ends float64 [m] of BCa intervals (Efron, 1987) of ``estimates`` [m].

    Replicates equal to the estimate count half in the bias correction. NaN where all replicates lie on one side.

    Args:
        estimates: float64 [m].
        replicates: float64 [m, b], of the bootstrap.
        jackknife: float64 [m, c], the leave-one-out values.
        level: of the intervals.
    """
    lean, spread = replicates - estimates[:, None], 1e-12 * np.maximum(1.0, np.abs(estimates))[:, None]
    above = np.count_nonzero(lean > spread, axis=1)
    below = np.count_nonzero(lean < -spread, axis=1)
    bias = scipy.special.ndtri(0.5 + (below - above) / (2 * replicates.shape[1]))
    acceleration = _accelerations(jackknife)
    low, high = np.full(len(estimates), np.nan), np.full(len(estimates), np.nan)
    for j in np.flatnonzero(np.isfinite(bias)):
        z = bias[j] + scipy.special.ndtri([(1 - level) / 2, (1 + level) / 2])
        quantiles = scipy.special.ndtr(bias[j] + z / (1 - acceleration[j] * z))
        low[j], high[j] = np.quantile(replicates[j], quantiles)
    return low, high


def bca_interval(
    estimate: float, replicates: NDArray[np.float64], jackknife: NDArray[np.float64], level: float = 0.95
) -> tuple[float, float]:
    """``bca_intervals`` of one estimate, from ``replicates`` [b] and ``jackknife`` [c]."""
    low, high = bca_intervals(np.array([estimate]), replicates[None], jackknife[None], level)
    return float(low[0]), float(high[0])


def _accelerations(jackknife: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64 [m] of leave-one-out values [m, c]; 0 where they do not vary."""
    deviations = jackknife.mean(axis=1, keepdims=True) - jackknife
    spread = 6 * np.sum(deviations**2, axis=1) ** 1.5
    return np.divide(np.sum(deviations**3, axis=1), spread, out=np.zeros(len(spread)), where=spread > 0)


class Estimates(NamedTuple):
    """Estimates, the ends of their intervals and two-sided p values, float64 [m]; NaN where not estimable."""

    estimate: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    p: NDArray[np.float64]


def bca_p(estimate: float, replicates: NDArray[np.float64], jackknife: NDArray[np.float64]) -> float:
    """The two-sided level at which an end of the BCa interval of a difference is 0 (Efron, 1987).

    It is below 5% where the 95% interval leaves out 0, and never below 2 / (1 + b) for b ``replicates``.
    """
    b = len(replicates)

    def below(bound: float) -> float:
        near = 1e-12 * max(1.0, abs(bound))
        return float(np.mean(replicates < bound - near) + np.mean(np.abs(replicates - bound) <= near) / 2)

    bias = scipy.special.ndtri(below(estimate))
    acceleration = _accelerations(jackknife[None])[0]
    shifted = scipy.special.ndtri(min(b / (b + 1), max(1 / (b + 1), below(0.0)))) - bias
    z = shifted / (1 + acceleration * shifted) - bias
    return float(min(1.0, max(2 / (b + 1), 2 * scipy.special.ndtr(-abs(z)))))


def clopper_pearson(successes: int, trials: int, level: float = 0.95) -> tuple[float, float]:
    """The exact interval of a proportion (Clopper and Pearson, 1934)."""
    interval = scipy.stats.binomtest(successes, trials).proportion_ci(level, method="exact")
    return float(interval.low), float(interval.high)
