"""Two strata of queries: how much lower are the means in one than in the other?"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from verseir.stats.bootstrap import bca_interval, cluster_sums
from verseir.stats.resampling import resample_counts

#: How many shuffled labels are held at a time: what is reckoned from them fits into a processor's cache.
HELD = 100_000


class Strata(NamedTuple):
    """Mean inside minus mean outside of each column with its interval and p values, float64 [m]; NaN: not estimable."""

    estimate: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    p: NDArray[np.float64]
    p_permutation: NDArray[np.float64]
    test: str


class _Sums(NamedTuple):
    """Sums [c, m] and sizes [c] of each cluster inside and outside the stratum."""

    inside: NDArray[np.float64]
    n_inside: NDArray[np.float64]
    outside: NDArray[np.float64]
    n_outside: NDArray[np.float64]

    def difference(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mean inside minus mean outside [b, m], clusters weighted by ``weights`` [b, c]; NaN for an empty stratum."""
        with np.errstate(invalid="ignore", divide="ignore"):
            first = (weights @ self.inside) / (weights @ self.n_inside)[:, None]
            return first - (weights @ self.outside) / (weights @ self.n_outside)[:, None]


def two_strata(
    values: NDArray[np.float64],
    first: NDArray[np.bool_],
    clusters: NDArray[np.int64] | None = None,
    resamples: int = 9999,
    flips: int = 99_999,
    seed: int = 0,
) -> Strata:
    """Compare the column means of ``values`` between the rows of ``first`` and the others. Columns share all draws.

    A column may be the outcome of a system (its slope) or the difference of two systems on the same query (the
    difference of their slopes).

    Independent rows: the t test of Welch (1947), and the permutation of the studentised difference (Janssen, 1997),
    (1 + count) / (1 + flips), which holds where variances differ; the BCa interval (Efron, 1987) with each stratum
    resampled by itself.

    With ``clusters``: a t test with cluster-robust variance (least squares on the stratum, CR1, as many degrees of
    freedom as clusters less one), no permutation, and the BCa interval over whole clusters, each stratum resampled by
    itself where no cluster has rows in both.

    NaN where a stratum is empty, and everything but the estimate also where a stratum has one cluster or a column is
    constant within both strata.

    Args:
        values: float64 [n, m].
        first: bool [n], the rows of the stratum.
        clusters: int64 [n], the cluster of each row.
        resamples: bootstrap resamples.
        flips: random relabellings.
        seed: of both.
    """
    values = np.asarray(values, dtype=np.float64)
    first = np.asarray(first, dtype=bool)
    m = values.shape[1]
    nothing = np.full(m, np.nan)
    test = "Welch t" if clusters is None else "cluster-robust t"
    if first.all() or not first.any():
        return Strata(nothing, nothing.copy(), nothing.copy(), nothing.copy(), nothing.copy(), test)
    estimate = values[first].mean(axis=0) - values[~first].mean(axis=0)
    low, high, p, p_permutation = (nothing.copy() for _ in range(4))
    sums = _sums(values, first, clusters)
    varying = np.maximum(np.ptp(values[first], axis=0), np.ptp(values[~first], axis=0)) > 1e-12
    enough = min(np.count_nonzero(sums.n_inside), np.count_nonzero(sums.n_outside)) >= 2
    if enough and varying.any():
        low[varying], high[varying] = _interval(_columns(sums, varying), estimate[varying], resamples, seed)
        if clusters is None:
            p[varying] = _p(_welch(values[:, varying], first))
            p_permutation[varying] = _permutation(values[:, varying], first, flips, seed)
        else:
            p[varying] = _p(_cluster_robust(_columns(sums, varying)))
    return Strata(estimate, low, high, p, p_permutation, test)


def _welch(values: NDArray[np.float64], first: NDArray[np.bool_]) -> NDArray[np.float64]:
    """p of the t test of Welch (1947), from moments: one constant stratum is no cause for a warning."""
    moments = [(part.mean(axis=0), part.std(axis=0, ddof=1), len(part)) for part in (values[first], values[~first])]
    return scipy.stats.ttest_ind_from_stats(*moments[0], *moments[1], equal_var=False).pvalue


def _p(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """A p value that underflows is the smallest that there is, not 0."""
    return np.maximum(p, sys.float_info.min)


def _sums(values: NDArray[np.float64], first: NDArray[np.bool_], clusters: NDArray[np.int64] | None) -> _Sums:
    """Sums by cluster; clusters of the stratum stand before the others where none has rows in both."""
    inside = first.astype(np.float64)[:, None]
    columns = np.concatenate([values * inside, inside, values * (1 - inside), 1 - inside], axis=1)
    summed = cluster_sums(columns, clusters)[0]
    summed = summed[np.argsort(summed[:, values.shape[1]] == 0, kind="stable")]
    m = values.shape[1]
    return _Sums(summed[:, :m], summed[:, m], summed[:, m + 1 : 2 * m + 1], summed[:, 2 * m + 1])


def _columns(sums: _Sums, chosen: NDArray[np.bool_]) -> _Sums:
    return sums._replace(inside=sums.inside[:, chosen], outside=sums.outside[:, chosen])


def _interval(
    sums: _Sums, estimate: NDArray[np.float64], resamples: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    c = len(sums.n_inside)
    crossed = ((sums.n_inside > 0) & (sums.n_outside > 0)).any()
    k = int(np.count_nonzero(sums.n_inside))
    groups = [c] if crossed else [k, c - k]
    replicates = np.concatenate([sums.difference(counts) for counts in resample_counts(groups, resamples, seed)])
    replicates = replicates[~np.isnan(replicates).any(axis=1)]  # a resample may leave a stratum empty
    jackknife = sums.difference(1.0 - np.eye(c))
    ends = [bca_interval(estimate[j], replicates[:, j], jackknife[:, j]) for j in range(len(estimate))]
    return np.array([low for low, _ in ends]), np.array([high for _, high in ends])


def _cluster_robust(sums: _Sums) -> NDArray[np.float64]:
    """p of the stratum's coefficient in least squares with CR1 variance (Liang and Zeger, 1986)."""
    n1, n2, g = sums.n_inside.sum(), sums.n_outside.sum(), len(sums.n_inside)
    mean1, mean2 = sums.inside.sum(axis=0) / n1, sums.outside.sum(axis=0) / n2
    score1 = (sums.inside - np.outer(sums.n_inside, mean1)) / n1
    score2 = (sums.outside - np.outer(sums.n_outside, mean2)) / n2
    variance = ((score1 - score2) ** 2).sum(axis=0) * g / (g - 1) * (n1 + n2 - 1) / max(1.0, n1 + n2 - 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        t = (mean1 - mean2) / np.sqrt(variance)
    return np.where(variance > 1e-24, 2 * scipy.stats.t.sf(np.abs(t), g - 1), np.nan)


def _permutation(values: NDArray[np.float64], first: NDArray[np.bool_], flips: int, seed: int) -> NDArray[np.float64]:
    """p of the studentised difference when the labels are shuffled; a tie with the observed value counts."""
    centred = values - values.mean(axis=0)
    both = np.concatenate([centred, centred**2], axis=1)
    observed = _studentised(first[None, :].astype(np.float64), both)[0]
    bound = observed * (1 - 1e-9)
    counts = np.zeros(values.shape[1])
    rng = np.random.default_rng(seed)
    n, k = len(values), int(first.sum())
    rows = max(1, HELD // n)
    for start in range(0, flips, rows):
        keys = rng.random((min(rows, flips - start), n))
        shuffled = (keys <= np.partition(keys, k - 1, axis=1)[:, k - 1 : k]).astype(np.float64)
        counts += np.count_nonzero(_studentised(shuffled, both) >= bound, axis=0)
    return (1 + counts) / (1 + flips)


def _studentised(labels: NDArray[np.float64], both: NDArray[np.float64]) -> NDArray[np.float64]:
    """|t| of Welch [b, m] for rows of ``labels`` [b, n]; ``both`` [n, 2m] holds centred values and their squares."""
    m = both.shape[1] // 2
    n1 = labels[0].sum()
    n2 = labels.shape[1] - n1
    inside, total = labels @ both, both.sum(axis=0)
    outside = total - inside
    mean1, mean2 = inside[:, :m] / n1, outside[:, :m] / n2
    variance1 = np.maximum(0.0, inside[:, m:] / n1 - mean1**2) / (n1 - 1)
    variance2 = np.maximum(0.0, outside[:, m:] / n2 - mean2**2) / (n2 - 1)
    variance = variance1 + variance2
    scale = total[m:] / labels.shape[1]
    gap = np.abs(mean1 - mean2)
    with np.errstate(invalid="ignore", divide="ignore"):
        t = gap / np.sqrt(variance)
    return np.where(variance > 1e-12 * scale, t, np.where(gap > 1e-9 * np.sqrt(scale), np.inf, 0.0))
