"""Spearman correlations of several outcomes with several predictors over thousands of rows, by one bootstrap."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from verseir.stats.bootstrap import Estimates, bca_interval, bca_p
from verseir.stats.resampling import resample_counts

#: Fewer independent rows have no interval.
FEWEST = 4


def resampled_correlations(
    outcomes: NDArray[np.float64],
    predictor: NDArray[np.float64],
    pairs: NDArray[np.int64],
    clusters: NDArray[np.int64] | None = None,
    resamples: int = 9999,
    seed: int = 0,
) -> Estimates:
    """Spearman's rho of each outcome with the predictor, then of each pair the first less the second.

    Rows are resampled whole, whole clusters where there are any, and each resample is ranked anew with mean ranks for
    ties; all outcomes share the resamples. Intervals are BCa, p inverts them (Efron, 1987) and is never below
    2 / (1 + resamples). It says what ``paired_ranks`` says, in time and memory that grow with the rows and not with
    their square, so that it serves for thousands of queries.

    NaN where a variable is constant, no interval where there are fewer than four independent rows or half of the
    resamples leave a variable constant.

    Args:
        outcomes: float64 [n, m].
        predictor: float64 [n].
        pairs: int64 [d, 2], columns of ``outcomes`` to compare.
        clusters: int64 [n], the cluster of each row.
        resamples: bootstrap resamples.
        seed: of the bootstrap.
    """
    n, m = outcomes.shape
    codes = np.arange(n) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    c = int(codes.max()) + 1 if n else 0
    columns = np.column_stack([predictor, outcomes])
    order = np.argsort(columns, axis=0, kind="stable")
    ordered = np.take_along_axis(columns, order, axis=0)
    last = np.ones(ordered.shape, dtype=np.bool_)  # of equal neighbours
    last[:-1] = ordered[1:] != ordered[:-1]
    order, last = np.ascontiguousarray(order.T), np.ascontiguousarray(last.T)

    def correlations(counts: NDArray[np.float64]) -> NDArray[np.float64]:
        rho = _rho(counts, codes, order, last)
        return np.concatenate([rho, rho[:, pairs[:, 0]] - rho[:, pairs[:, 1]]], axis=1)

    width = m + len(pairs)
    low, high, p = (np.full(width, np.nan) for _ in range(3))
    if not n:
        return Estimates(np.full(width, np.nan), low, high, p)
    estimate = correlations(np.ones((1, c)))[0]
    if c < FEWEST:
        return Estimates(estimate, low, high, p)
    drawn = np.concatenate([correlations(counts) for counts in resample_counts([c], resamples, seed)])
    step = max(1, 4_000_000 // c)
    left_out = np.concatenate(
        [correlations(1.0 - np.eye(min(step, c - first), c, first)) for first in range(0, c, step)]
    )
    for j in np.flatnonzero(~np.isnan(estimate)):
        replicates, jackknife = drawn[:, j], left_out[:, j]
        replicates, jackknife = replicates[~np.isnan(replicates)], jackknife[~np.isnan(jackknife)]
        if 2 * len(replicates) < resamples or len(jackknife) < 2 or np.ptp(replicates) < 1e-12:
            continue
        low[j], high[j] = bca_interval(estimate[j], replicates, jackknife)
        if not np.isnan(low[j]):
            p[j] = bca_p(estimate[j], replicates, jackknife)
    return Estimates(estimate, low, high, p)


@njit(cache=True)
def _rho(counts, codes, order, last):
    """rho [b, m] of the first of m + 1 columns with each other, rows counted ``counts`` [b, c] times by their codes.

    ``order`` int64 [m + 1, n] sorts each column, ``last`` bool [m + 1, n] marks the last of equal values in it.
    """
    b, m, n = counts.shape[0], order.shape[0] - 1, order.shape[1]
    rho = np.full((b, m), np.nan)
    weights, first, other = np.empty(n), np.empty(n), np.empty(n)
    for i in range(b):
        total = 0.0
        for row in range(n):
            weights[row] = counts[i, codes[row]]
            total += weights[row]
        spread = _ranks(weights, total, order[0], last[0], first)
        for j in range(m):
            own = _ranks(weights, total, order[j + 1], last[j + 1], other)
            if spread > 1e-9 and own > 1e-9:
                shared = 0.0
                for row in range(n):
                    shared += weights[row] * first[row] * other[row]
                rho[i, j] = min(1.0, max(-1.0, shared / np.sqrt(spread * own)))
    return rho


@njit(cache=True)
def _ranks(weights, total, order, last, ranks):
    """Write the mean ranks, less their mean, of rows that count ``weights`` times; returns their sum of squares."""
    below, start, spread, here = 0.0, 0, 0.0, 0.0
    for place in range(len(order)):
        here += weights[order[place]]
        if last[place]:
            rank = below + here / 2 - total / 2
            spread += here * rank * rank
            for member in range(start, place + 1):
                ranks[order[member]] = rank
            below += here
            start, here = place + 1, 0.0
    return spread
