"""How sure is the agreement of two orders: Kendall's tau-b over resampled observations."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from verseir.stats.bootstrap import cluster_sums
from verseir.stats.resampling import resample_counts

#: How many pairs of objects, over all resamples, are held at a time.
HELD = 4_000_000
#: Means that differ by less are equal: they hang on the order in which observations are added up.
DIGITS = 12
#: The largest share of resamples without a tau (one order is all ties, or an object has no value) that an interval
#: may rest on.
UNDEFINED = 0.05


#: Ends that are nearer to each other than this are one: tau is a quotient.
NO_WIDTH = 1e-12


class Interval(NamedTuple):
    """The ends of an interval; where it is not estimable they are NaN, and ``why`` says what stands against it."""

    low: float
    high: float
    why: str = ""


def _none(why: str) -> Interval:
    return Interval(math.nan, math.nan, why)


NO_ORDER = _none("an order has no tau")
TOO_FEW = _none("fewer than two independent queries")
STILL = _none("no resample of queries moves a mean")
MOSTLY_UNDEFINED = _none("too many resamples have no order")
#: No width. Tau moves in steps: that no resample left the step is not to say that none could.
SAME_ORDER = _none("no resample changes the order")
SAME_TAU = _none("no resample changes tau")
ONE_TAU = _none("nearly all resamples give one tau")


def column_means(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means float64 [m] of the entries of ``values`` [n, m] that are not NaN, rounded so that equal means are equal.

    NaN for a column without any.
    """
    present = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.round(np.where(present, values, 0.0).sum(axis=0) / present.sum(axis=0), DIGITS)


def tau_b(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Kendall's tau-b (1945) of each row of ``first`` with the same row of ``second``, float64 [r, m] each.

    NaN where a row is constant or holds a NaN.
    """
    r, m = first.shape
    one, other = np.triu_indices(m, 1)
    tau = np.full(r, np.nan)
    rows = max(1, HELD // max(1, len(one)))
    for start in range(0, r, rows):
        block = slice(start, start + rows)
        signs_a = np.sign(first[block][:, one] - first[block][:, other])
        signs_b = np.sign(second[block][:, one] - second[block][:, other])
        concordance = np.einsum("rp,rp->r", signs_a, signs_b)
        untied = np.einsum("rp,rp->r", signs_a, signs_a) * np.einsum("rp,rp->r", signs_b, signs_b)
        with np.errstate(invalid="ignore", divide="ignore"):
            tau[block] = concordance / np.sqrt(untied)
    return tau


def tau_interval(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    first_clusters: NDArray[np.int64] | None,
    second_clusters: NDArray[np.int64] | None,
    paired: bool,
    resamples: int,
    seed: int,
    level: float = 0.95,
) -> Interval:
    """The percentile bootstrap interval (Efron, 1979) of tau-b between two orders of the same m objects by their means.

    Observations are resampled, objects are not: the interval says how sure the two orders are for these objects. Noise
    of its own in each order draws tau towards 0, and noise that paired orders share draws it up, in the resamples more
    than in the data: between systems that lie close, the interval is off-centre. Entries that are NaN are left out of
    the means, and resamples without a tau of the interval.

    Args:
        first: observations float64 [n1, m] of the objects; an object's place is by its column's mean.
        second: those of the other order, float64 [n2, m], columns in the same order.
        first_clusters: int64 [n1]; whole clusters are resampled. None: each row by itself.
        second_clusters: int64 [n2]; not read where ``paired``.
        paired: the rows of both are of the same things (n1 = n2) and are drawn together; else each is drawn for itself.
        resamples: bootstrap resamples.
        seed: of the resampling.
        level: of the interval.

    Returns:
        NaN where the orders have no tau, one of them cannot change (fewer than two clusters, or every row alike), more
        than a twentieth of the resamples have no tau, or the interval would have no width; ``why`` says which.
    """
    if first.shape[1] != second.shape[1] or (paired and len(first) != len(second)):
        raise ValueError("two orders need the same objects, and paired ones the same rows")
    seeds = [seed, seed] if paired else [int(state) for state in np.random.SeedSequence(seed).generate_state(2)]
    sides = ((first, first_clusters, seeds[0]), (second, first_clusters if paired else second_clusters, seeds[1]))
    if not all(len(values) for values in (first, second)):
        return NO_ORDER
    if np.isnan(tau_b(column_means(first)[None], column_means(second)[None])[0]):
        return NO_ORDER
    if any((len(values) if clusters is None else len(np.unique(clusters))) < 2 for values, clusters, _ in sides):
        return TOO_FEW
    means = [resampled_means(values, clusters, resamples, each) for values, clusters, each in sides]
    return STILL if any(map(still, means)) else resampled_tau(means[0], means[1], level)


def resampled_tau(first: NDArray[np.float64], second: NDArray[np.float64], level: float = 0.95) -> Interval:
    """The percentile interval of tau-b over the resampled means float64 [r, m] of two orders; see ``tau_interval``."""
    tau = tau_b(first, second)
    known = ~np.isnan(tau)
    defined = tau[known]
    if not len(defined) or len(defined) < (1 - UNDEFINED) * len(tau):
        return MOSTLY_UNDEFINED
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    if high - low > NO_WIDTH:
        return Interval(float(low), float(high))
    if np.ptp(defined) > NO_WIDTH:
        return ONE_TAU
    return SAME_ORDER if _one_order(first[known]) and _one_order(second[known]) else SAME_TAU


def _one_order(means: NDArray[np.float64]) -> bool:
    """Whether all rows of ``means`` [r, m] put the columns into one order."""
    pairs = zip(*np.triu_indices(means.shape[1], 1), strict=True)
    return not any(np.ptp(np.sign(means[:, i] - means[:, j])) for i, j in pairs)


def still(resampled: NDArray[np.float64]) -> bool:
    """Whether all rows of resampled means float64 [r, m] are alike."""
    filled = np.nan_to_num(resampled, nan=-math.inf)
    return not (filled != filled[:1]).any()


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
