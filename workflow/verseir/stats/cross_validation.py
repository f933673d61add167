"""Cross-validation of a choice: folds of independent clusters, and tests that allow for what the choices share."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from verseir.stats.bootstrap import bootstrap_means, cluster_sums


class CorrectedT(NamedTuple):
    """A mean of held-out values, its interval and two-sided p; NaN where they are not estimable."""

    estimate: float
    low: float
    high: float
    p: float


def deal_folds(n: int, clusters: NDArray[np.int64] | None, folds: int, seed: int) -> NDArray[np.int64] | None:
    """The fold of each of n rows, int64 [n]: whole clusters are dealt out at random.

    Each cluster is its own fold where there are fewer than ``folds``. None where there are not two clusters.
    """
    codes = np.arange(n) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    count = int(codes.max(initial=-1)) + 1
    if count < 2:
        return None
    dealt = np.empty(count, dtype=np.int64)
    dealt[np.random.default_rng(seed).permutation(count)] = np.arange(count) % min(folds, count)
    return dealt[codes]


def widening(folds: int) -> float:
    """By how much the standard error of a mean over held-out values is too small (Nadeau and Bengio, 2003).

    The choices of two folds were made on mostly the same rows, so they are wrong together: the variance is not 1/J of
    that of a fold but 1/J + n_test / n_train of it. Where many candidates are level, a test without this finds
    differences between equals in a quarter of all cases.
    """
    return math.sqrt(1 + folds / (folds - 1))


def widened_means(
    values: NDArray[np.float64], clusters: NDArray[np.int64] | None, folds: int, resamples: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Means of held-out values in [0, 1], float64 [n, m], and their BCa intervals, widened; three float64 [m]."""
    interval = bootstrap_means(values, clusters, resamples, seed)
    low, high = (interval.mean + (end - interval.mean) * widening(folds) for end in (interval.low, interval.high))
    return interval.mean, np.maximum(low, 0.0), np.minimum(high, 1.0)


def corrected_t(
    values: NDArray[np.float64], clusters: NDArray[np.int64] | None, folds: int, level: float = 0.95
) -> CorrectedT:
    """Test whether held-out values, float64 [n], have mean 0: the corrected resampled t test (Nadeau and Bengio, 2003).

    The variance is that of the mean of n values, robust to clusters, times ``widening(folds)`` squared; as many degrees
    of freedom as clusters less one. Interval and p are NaN where the values of all clusters have the same mean.
    """
    from scipy import stats

    estimate = float(values.mean())
    sums, sizes = cluster_sums(values[:, None], clusters)
    deviation = sums[:, 0] - estimate * sizes
    count = len(sizes)
    if count < 2 or np.abs(deviation).max() < 1e-12:
        return CorrectedT(estimate, math.nan, math.nan, math.nan)
    error = math.sqrt(count / (count - 1) * float(deviation @ deviation)) / len(values) * widening(folds)
    reach = float(stats.t.ppf((1 + level) / 2, count - 1)) * error
    p = 2 * float(stats.t.sf(abs(estimate) / error, count - 1))
    return CorrectedT(estimate, estimate - reach, estimate + reach, max(p, float(np.finfo(np.float64).tiny)))
