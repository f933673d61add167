"""Sign-flip permutation tests of paired differences."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from verseir.stats.bootstrap import cluster_sums

#: How many signs are drawn at a time, in single bytes.
HELD = 8_000_000
#: How many of them are multiplied at a time: as float64 they fit into a processor's cache.
MULTIPLIED = 250_000


class SignFlip(NamedTuple):
    """Two-sided p values float64 [m], and for each column whether all flips were enumerated, bool [m]."""

    p: NDArray[np.float64]
    exact: NDArray[np.bool_]


def sign_flip(
    differences: NDArray[np.float64], clusters: NDArray[np.int64] | None = None, flips: int = 99_999, seed: int = 0
) -> SignFlip:
    """Test whether paired differences are symmetric about zero (Fisher, 1935), for all columns with the same flips.

    The statistic is the absolute sum. Whole clusters are flipped where ``clusters`` is given. Where there are at most
    ``flips`` sign patterns of the clusters that differ at all, they are enumerated and p is exact; otherwise p is
    (1 + count) / (1 + flips) over random flips (Phipson and Smyth, 2010), never 0. A flip that ties with the
    observed value up to rounding counts.

    Args:
        differences: float64 [n, m], n queries by m pairs of systems.
        clusters: int64 [n], the cluster of each query.
        flips: random flips.
        seed: of the flips.
    """
    sums, _ = cluster_sums(np.asarray(differences, dtype=np.float64), clusters)
    c, m = sums.shape
    bound = np.abs(sums.sum(axis=0)) - 1e-12 * np.abs(sums).sum(axis=0)
    p = np.ones(m)
    moving = np.count_nonzero(sums, axis=0)
    exact = 2.0**moving <= flips
    for j in np.flatnonzero(exact & (moving > 0)):
        totals = _all_totals(sums[sums[:, j] != 0, j])
        p[j] = np.mean(np.abs(totals) >= bound[j])
    sampled = np.flatnonzero(~exact)
    if len(sampled):
        counts = np.zeros(len(sampled))
        rng = np.random.default_rng(seed)
        rows, step = max(1, HELD // c), max(1, MULTIPLIED // c)
        for start in range(0, flips, rows):
            drawn = rng.integers(0, 2, size=(min(rows, flips - start), c), dtype=np.int8)
            for few in range(0, len(drawn), step):
                signs = drawn[few : few + step] * 2.0 - 1.0
                counts += np.count_nonzero(np.abs(signs @ sums[:, sampled]) >= bound[sampled], axis=0)
        p[sampled] = (1 + counts) / (1 + flips)
    return SignFlip(p, exact)


def _all_totals(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sums of ``values`` [k] under all 2^k sign patterns."""
    totals = np.zeros(1)
    for value in values:
        totals = np.concatenate([totals + value, totals - value])
    return totals
