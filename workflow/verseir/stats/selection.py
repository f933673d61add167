"""What does choosing the best of many gain? Estimated on rows that had no part in the choice.

Rows may lie in strata that count by fixed weights, as the registers of a mix do: means are then weighted means of the
strata's means.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from verseir.stats.bootstrap import Interval, bca_interval, bootstrap_means, cluster_sums
from verseir.stats.cross_validation import widening
from verseir.stats.resampling import resample_counts

#: Means that differ by less are equal: they were summed in another order.
DIGITS = 12
#: A standard error that is smaller is the noise of a sum.
NOISE = 1e-12


class Rows(NamedTuple):
    """What is independent and what counts how much.

    ``stratum`` int64 [n] of each row, ``weight`` float64 [r] of each stratum (they add up to 1), ``clusters`` int64 [n]
    of each row or None where each is its own.
    """

    stratum: NDArray[np.int64]
    weight: NDArray[np.float64]
    clusters: NDArray[np.int64] | None

    def codes(self) -> NDArray[np.int64]:
        """The cluster of each row, int64 [n], numbered from 0."""
        if self.clusters is None:
            return np.arange(len(self.stratum))
        return np.unique(self.clusters, return_inverse=True)[1].astype(np.int64)

    def n_clusters(self) -> int:
        """How many clusters there are."""
        return int(self.codes().max(initial=-1)) + 1

    def shares(self) -> NDArray[np.float64]:
        """By how much each row counts in a weighted mean, float64 [n]."""
        sizes = np.bincount(self.stratum, minlength=len(self.weight))
        return (self.weight / np.maximum(sizes, 1))[self.stratum]

    def groups(self) -> NDArray[np.int64]:
        """The stratum of each cluster, int64 [c], or all 0 where a cluster has rows in two: then none is by itself."""
        held = _members(self)
        if (held.sum(axis=1) > 1).any():
            return np.zeros(len(held), dtype=np.int64)
        return np.argmax(held, axis=1)

    def fewest(self) -> int:
        """The clusters of the stratum that has the fewest, of those that count."""
        held = _members(self).sum(axis=0)[self.weight > 0]
        return int(held.min(initial=len(self.stratum)))


class Gain(NamedTuple):
    """What the best of some candidates has over a baseline.

    ``chosen`` is the best on all rows and ``in_sample`` its lead there; ``estimate`` is the lead, on the rows of each
    fold, of the best on the others. ``low`` to ``high`` is its 95% interval, ``inner_low`` to ``inner_high`` that of
    90%; ``error`` the standard error with a known choice, ``wider`` by how much the choice widens it, and ``steady``
    says whether all folds chose the same. NaN where not estimable.
    """

    chosen: int
    in_sample: float
    estimate: float
    low: float
    high: float
    inner_low: float
    inner_high: float
    p: float
    error: float
    wider: float
    steady: bool

    def planned(self) -> tuple[float, float]:
        """The standard error that a larger sample starts from, and by how much a test of it widens that.

        Where all folds choose the same, so will they of more rows, and the estimate varies as with a known choice;
        where they do not, it varies as much as the test allows for (so simulations have the power that is planned).
        """
        return (self.error, self.wider) if self.steady else (self.error * self.wider, 1.0)


def _members(rows: Rows) -> NDArray[np.bool_]:
    """Which clusters have rows in which strata, bool [c, r]."""
    held = np.zeros((rows.n_clusters(), len(rows.weight)), dtype=bool)
    held[rows.codes(), rows.stratum] = True
    return held


def deal_spread(rows: Rows, folds: int, seed: int) -> NDArray[np.int64]:
    """The fold of each row, int64 [n]: whole clusters at random, those of equal strata spread evenly over the folds.

    Each cluster is its own fold where there are fewer than ``folds``.
    """
    held = _members(rows)
    shuffled = np.random.default_rng(seed).permutation(len(held))
    order = shuffled[np.lexsort(held[shuffled].T)]  # a stable sort: at random within the clusters of equal strata
    dealt = np.empty(len(held), dtype=np.int64)
    dealt[order] = np.arange(len(held)) % min(folds, len(held))
    return dealt[rows.codes()]


def weighted_means(values: NDArray[np.float64], rows: Rows) -> NDArray[np.float64]:
    """The weighted means float64 [m] of columns of ``values`` [n, m]."""
    return rows.shares() @ values


def selected_gain(
    candidates: NDArray[np.float64], baseline: NDArray[np.float64], rows: Rows, folds: int, seed: int
) -> tuple[Gain, NDArray[np.float64]]:
    """The gain of the best of ``candidates`` over a baseline, and the values float64 [n] of the held-out choices.

    Each fold's rows are scored by the candidate that is best on the rows of the other folds (Stone, 1974). The interval
    and p are those of the corrected resampled t test (Nadeau and Bengio, 2003): a variance that is robust to clusters,
    with strata taken as fixed, times what the choices of the folds share. A single candidate is no choice: nothing is
    held out, and nothing widened. Degrees of freedom are those of Satterthwaite (1946) over strata that are
    independent, and clusters less one else.

    Args:
        candidates: float64 [n, m]; of equal ones the first is chosen.
        baseline: float64 [n].
        rows: their strata and clusters; each stratum that counts has at least two clusters.
        folds: parts of the clusters.
        seed: of the folds.
    """
    means = weighted_means(candidates, rows)
    chosen = _first_best(means)
    in_sample = float(means[chosen] - weighted_means(baseline[:, None], rows)[0])
    if candidates.shape[1] == 1:
        held, wider, steady = candidates[:, 0], 1.0, True
    else:
        dealt = deal_spread(rows, folds, seed)
        held, steady = _held_out(candidates, rows, dealt)
        wider = widening(int(dealt.max()) + 1)
    estimate, error, degrees = stratified_error(held - baseline, rows)
    gain = Gain(chosen, in_sample, estimate, *(math.nan,) * 5, error, wider, steady)
    if not error > NOISE:
        return gain, held
    from scipy import stats

    reach = error * wider
    outer, inner = (float(stats.t.ppf(place, degrees)) * reach for place in (0.975, 0.95))
    p = max(2 * float(stats.t.sf(abs(estimate) / reach, degrees)), float(np.finfo(np.float64).tiny))
    gain = gain._replace(low=estimate - outer, high=estimate + outer, p=min(1.0, p))
    return gain._replace(inner_low=estimate - inner, inner_high=estimate + inner), held


def _first_best(means: NDArray[np.float64]) -> int:
    return int(np.argmax(np.round(means, DIGITS)))


def _held_out(
    candidates: NDArray[np.float64], rows: Rows, dealt: NDArray[np.int64]
) -> tuple[NDArray[np.float64], bool]:
    """The value of each row under the candidate that is best on the rows of the other folds, and whether it is one."""
    held, found = np.empty(len(candidates)), set()
    for fold in range(int(dealt.max()) + 1):
        others = dealt != fold
        left = Rows(rows.stratum[others], rows.weight, None)  # a stratum that is not there does not count
        best = _first_best(weighted_means(candidates[others], left))
        held[~others] = candidates[~others, best]
        found.add(best)
    return held, len(found) == 1


def stratified_error(values: NDArray[np.float64], rows: Rows) -> tuple[float, float, float]:
    """The weighted mean of ``values`` [n], its standard error and their degrees of freedom.

    The error is that of a stratified sample of clusters (Cochran, 1977), linearised where the sizes of clusters differ,
    robust to whatever rows of one cluster share. NaN where a stratum that counts has fewer than two clusters.
    """
    shares = rows.shares()
    estimate = float(shares @ values)
    if rows.fewest() < 2:
        return estimate, math.nan, math.nan
    sizes = np.bincount(rows.stratum, minlength=len(rows.weight))
    means = np.bincount(rows.stratum, values, minlength=len(rows.weight)) / np.maximum(sizes, 1)
    scores = cluster_sums((shares * (values - means[rows.stratum]))[:, None], rows.codes())[0][:, 0]
    parts, degrees = [], []
    group = rows.groups()
    for one in np.unique(group):
        own = scores[group == one]
        if len(own) > 1:
            parts.append(len(own) / (len(own) - 1) * float(((own - own.mean()) ** 2).sum()))
            degrees.append(len(own) - 1)
    variance, squares = np.array(parts), np.array(degrees, dtype=np.float64)
    if not variance.sum() > NOISE**2:
        return estimate, 0.0, float(squares.sum())
    satterthwaite = variance.sum() ** 2 / (variance**2 / squares).sum()
    return estimate, math.sqrt(variance.sum()), float(satterthwaite)


def mixed_interval(
    values: NDArray[np.float64], rows: Rows, wider: float = 1.0, resamples: int = 9999, seed: int = 0
) -> tuple[float, float, float]:
    """The weighted mean of ``values`` [n] in [0, 1] and its interval: the stratified bootstrap, BCa (Efron, 1987).

    Whole clusters are resampled, those of each stratum by themselves where no cluster has rows in two. The ends are
    ``wider`` times as far from the mean, within [0, 1]: see ``cross_validation.widening``.
    """
    if len(rows.weight) == 1:
        interval: Interval = bootstrap_means(values[:, None], rows.clusters, resamples, seed)
        mean, low, high = (float(part[0]) for part in interval)
    else:
        mean, low, high = _stratified(values, rows, resamples, seed)
    ends = np.clip([mean + (end - mean) * wider for end in (low, high)], 0.0, 1.0)  # NaN stays NaN
    return mean, float(ends[0]), float(ends[1])


def _stratified(values: NDArray[np.float64], rows: Rows, resamples: int, seed: int) -> tuple[float, float, float]:
    estimate = float(weighted_means(values[:, None], rows)[0])
    if rows.fewest() < 2:
        return estimate, math.nan, math.nan
    r, codes, group = len(rows.weight), rows.codes(), rows.groups()
    inside = np.eye(r)[rows.stratum]
    summed = cluster_sums(np.concatenate([values[:, None] * inside, inside], axis=1), codes)[0]
    order = np.argsort(group, kind="stable")
    summed, sizes = summed[order], np.bincount(group)

    def mean(counts: NDArray[np.float64]) -> NDArray[np.float64]:
        totals = counts @ summed
        with np.errstate(invalid="ignore", divide="ignore"):
            parts = totals[:, :r] / totals[:, r:]
        return np.where(rows.weight > 0, parts, 0.0) @ rows.weight

    drawn = np.concatenate([mean(counts) for counts in resample_counts(sizes[sizes > 0].tolist(), resamples, seed)])
    drawn = drawn[~np.isnan(drawn)]  # a resample may leave a stratum empty
    if not len(drawn) or np.ptp(drawn) < NOISE:
        return estimate, math.nan, math.nan
    return estimate, *bca_interval(estimate, drawn, mean(1.0 - np.eye(len(summed))))
