"""Which of two predictors ranks an outcome better? A paired bootstrap of two Spearman correlations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from verseir.stats.bootstrap import bca_interval, bca_p
from verseir.stats.resampling import resample_counts

#: How many sums over distinct values are held at a time: few enough to stay near the processor.
HELD = 250_000


class Ends(NamedTuple):
    """Estimates and the ends of their intervals, each float64 [m]; NaN where not estimable."""

    estimate: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


class PairedRanks(NamedTuple):
    """Correlations of each outcome with two predictors, their difference, and the bootstrap p of that, float64 [m]."""

    first: Ends
    second: Ends
    difference: Ends
    p: NDArray[np.float64]


class _Coded(NamedTuple):
    """Variables by their sorted distinct values, side by side.

    ``onehot`` float32 [n, u] says which row has which value, ``columns`` which values are of which variable, and
    ``codes`` [n, m] the place of a row's value within its variable.
    """

    onehot: NDArray[np.float32]
    columns: list[slice]
    codes: NDArray[np.int64]


def paired_rank_correlations(
    outcomes: NDArray[np.float64],
    predictors: NDArray[np.float64],
    clusters: NDArray[np.int64] | None = None,
    resamples: int = 9999,
    seed: int = 0,
) -> PairedRanks:
    """Spearman's rho of each outcome with two predictors, and the first less the second, with BCa intervals.

    Rows are resampled whole, so that all three variables stay together, and whole clusters where queries share a poem;
    each resample is ranked anew with mean ranks for ties. All outcomes share the resamples. The p value is two-sided
    and inverts the BCa interval of the difference (Efron, 1987): it is below 5% where the 95% interval leaves out 0. It
    is never below 2 / (1 + resamples).

    A resample in which a variable is constant is left out. NaN where a variable is constant, where there are fewer than
    four independent rows, or where fewer than half of the resamples are usable.

    Args:
        outcomes: float64 [n, m].
        predictors: float64 [n, 2]; a column of NaN is a predictor that is absent.
        clusters: int64 [n], the cluster of each row.
        resamples: bootstrap resamples.
        seed: of the bootstrap.
    """
    outcomes = np.asarray(outcomes, dtype=np.float64)
    n, m = outcomes.shape
    codes = np.arange(n) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    c = int(codes.max()) + 1 if n else 0
    coded = _code(outcomes)
    present = [k for k in (0, 1) if not np.isnan(predictors[:, k]).any()]
    coded_predictors = {k: _code(predictors[:, [k]]) for k in present}

    def correlations(counts: NDArray[np.float64]) -> NDArray[np.float64]:
        rho = np.full((len(counts), m, 2), np.nan)
        weights = counts[:, codes]
        for k, values in _weighted_rho(weights, coded, coded_predictors):
            rho[:, :, k] = values
        return rho

    nothing = np.full(m, np.nan)
    if n < 2:
        empty = Ends(nothing, nothing, nothing)
        return PairedRanks(empty, empty, empty, nothing)
    estimate = correlations(np.ones((1, c)))[0]
    if c < 4:
        return PairedRanks(
            Ends(estimate[:, 0], nothing, nothing),
            Ends(estimate[:, 1], nothing, nothing),
            Ends(estimate[:, 0] - estimate[:, 1], nothing, nothing),
            nothing,
        )
    step = max(1, HELD // max(n, coded.onehot.shape[1]))
    replicates = np.concatenate(
        [
            correlations(counts[start : start + step])
            for counts in resample_counts([c], resamples, seed)
            for start in range(0, len(counts), step)
        ]
    )
    left_out = 1.0 - np.eye(c)
    jackknife = np.concatenate([correlations(left_out[start : start + step]) for start in range(0, c, step)])
    first, _ = _ends(estimate[:, 0], replicates[:, :, 0], jackknife[:, :, 0])
    second, _ = _ends(estimate[:, 1], replicates[:, :, 1], jackknife[:, :, 1])
    difference, p = _ends(
        estimate[:, 0] - estimate[:, 1],
        replicates[:, :, 0] - replicates[:, :, 1],
        jackknife[:, :, 0] - jackknife[:, :, 1],
    )
    return PairedRanks(first, second, difference, p)


def _code(values: NDArray[np.float64]) -> _Coded:
    parts, columns, start = [np.zeros((len(values), 0), dtype=np.float32)], [], 0
    places = np.zeros(values.shape, dtype=np.int64)
    for j, column in enumerate(values.T):
        distinct, places[:, j] = np.unique(column, return_inverse=True)
        parts.append(np.eye(len(distinct), dtype=np.float32)[places[:, j]])
        columns.append(slice(start, start + len(distinct)))
        start += len(distinct)
    return _Coded(np.concatenate(parts, axis=1), columns, places)


def _mean_ranks(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean ranks [b, u] of u sorted distinct values that occur ``counts`` [b, u] times, less the mean of all ranks."""
    total = counts.sum(axis=1, keepdims=True)
    return np.cumsum(counts, axis=1) - counts / 2 - total / 2


def _weighted_rho(
    weights: NDArray[np.float64], outcomes: _Coded, predictors: dict[int, _Coded]
) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """For each predictor: Spearman's rho [b, m] with each outcome, rows counted ``weights`` [b, n] times.

    A rank depends on the value alone, so sums over rows become sums over distinct values: a product of matrices. These
    are of whole and half numbers, which float32 adds exactly below 8 million: for some 4,000 rows.
    """
    counts = _summed(weights, outcomes)
    ranks = np.empty_like(counts)
    variance = np.empty((len(weights), len(outcomes.columns)))
    for j, column in enumerate(outcomes.columns):
        ranks[:, column] = _mean_ranks(counts[:, column])
        variance[:, j] = (counts[:, column] * ranks[:, column] ** 2).sum(axis=1)
    for k, predictor in predictors.items():
        times = _summed(weights, predictor)
        positions = _mean_ranks(times)
        spread = (times * positions**2).sum(axis=1)
        shared = _summed(weights * positions[:, predictor.codes[:, 0]], outcomes)
        shared *= ranks
        covariance = np.stack([shared[:, column].sum(axis=1) for column in outcomes.columns], axis=1)
        scale = variance * spread[:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            yield k, np.where(scale > 1e-9, np.clip(covariance / np.sqrt(scale), -1, 1), np.nan)


def _summed(rows: NDArray[np.float64], coded: _Coded) -> NDArray[np.float64]:
    """Sums [b, u] of ``rows`` [b, n] over the rows that have each value."""
    return (rows.astype(np.float32) @ coded.onehot).astype(np.float64)


def _ends(
    estimate: NDArray[np.float64], replicates: NDArray[np.float64], jackknife: NDArray[np.float64]
) -> tuple[Ends, NDArray[np.float64]]:
    """BCa intervals of the columns, and the p values that invert them at 0."""
    low, high, p = (np.full(len(estimate), np.nan) for _ in range(3))
    for j in np.flatnonzero(~np.isnan(estimate)):
        drawn = replicates[~np.isnan(replicates[:, j]), j]
        left_out = jackknife[~np.isnan(jackknife[:, j]), j]
        if 2 * len(drawn) < len(replicates) or len(left_out) < 2 or np.ptp(drawn) < 1e-12:
            continue
        low[j], high[j] = bca_interval(estimate[j], drawn, left_out)
        if not np.isnan(low[j]):
            p[j] = bca_p(estimate[j], drawn, left_out)
    return Ends(estimate, low, high), p
