"""Means of the means of parts, each with a weight of its own, and their intervals: each part resampled by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from verseir.stats.bootstrap import Interval, cluster_sums
from verseir.stats.resampling import HELD


class Part(NamedTuple):
    """Queries that are averaged together first: ``values`` float64 [n, m]; ``clusters`` int64 [n], or None where every
    query is independent. Its draws depend on ``name``, not on which parts stand beside it."""

    name: str
    values: NDArray[np.float64]
    clusters: NDArray[np.int64] | None = None

    @property
    def single(self) -> bool:
        """Whether nothing can be resampled: fewer than two independent queries."""
        return len(self.values if self.clusters is None else np.unique(self.clusters)) < 2


def macro_means(
    parts: Iterable[Part], weights: Sequence[Mapping[str, float]], resamples: int, seed: int, level: float = 0.95
) -> list[Interval]:
    """Weighted sums of the means of parts with percentile intervals of the rescaled bootstrap (Rao and Wu, 1988).

    Of the n clusters of a part, n - 1 are drawn with replacement, which makes the variance of its mean s^2 / n: drawing
    n of them would give (n - 1) / n of that, half of it where a language has two queries. Parts are taken as
    independent of each other.

    An interval is NaN where a part of the sum has fewer than two independent queries, or where no resample differs.

    Args:
        parts: each is read once, whatever their order.
        weights: of each sum that is wanted, by name of part; those of one sum add up to 1.
        resamples: bootstrap resamples.
        seed: of the resampling.
        level: of the interval.
    """
    means: list[NDArray[np.float64] | float] = [0.0] * len(weights)
    drawn: list[NDArray[np.float64] | float] = [0.0] * len(weights)
    for part in sorted(parts, key=lambda part: part.name):
        wanted = [(i, sums[part.name]) for i, sums in enumerate(weights) if part.name in sums]
        if not wanted:
            continue
        mean = part.values.mean(axis=0)
        replicates = np.full((1, len(mean)), np.nan) if part.single else _replicates(part, resamples, seed)
        for i, weight in wanted:
            means[i] = means[i] + weight * mean
            drawn[i] = drawn[i] + weight * replicates
    return [_interval(np.asarray(mean), np.asarray(of), level) for mean, of in zip(means, drawn, strict=True)]


def _replicates(part: Part, resamples: int, seed: int) -> NDArray[np.float64]:
    """Means float64 [resamples, m] of all clusters but one, drawn with replacement."""
    sums, sizes = cluster_sums(part.values, part.clusters)
    rng = np.random.default_rng([seed, crc32(part.name.encode())])
    return np.concatenate(
        [(counts @ sums) / (counts @ sizes)[:, None] for counts in _counts(rng, len(sums), resamples)]
    )


def _counts(rng: np.random.Generator, c: int, resamples: int) -> Iterator[NDArray[np.float64]]:
    rows = max(1, HELD // c)
    for start in range(0, resamples, rows):
        n = min(rows, resamples - start)
        drawn = rng.integers(0, c, size=(n, c - 1)) + c * np.arange(n)[:, None]
        yield np.bincount(drawn.ravel(), minlength=n * c).reshape(n, c).astype(np.float64)


def _interval(mean: NDArray[np.float64], replicates: NDArray[np.float64], level: float) -> Interval:
    low, high = np.quantile(replicates, [(1 - level) / 2, (1 + level) / 2], axis=0)
    alike = ~(np.ptp(replicates, axis=0) > 1e-12)  # also where they are NaN
    return Interval(mean, np.where(alike, np.nan, low), np.where(alike, np.nan, high))
