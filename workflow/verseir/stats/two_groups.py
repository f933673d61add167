"""Two independent groups: do their categories differ (Cramer's V), or their numbers (Cliff's delta)?"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

#: How many cells of drawn tables are held at a time.
HELD = 4_000_000


class Effect(NamedTuple):
    """An effect, its 95% interval (NaN where there is none), the test and its p, and why something is missing."""

    estimate: float
    low: float
    high: float
    test: str
    p: float
    note: str


def cramers_v(counts: NDArray[np.int64], draws: int, seed: int) -> Effect:
    """Cramer's V of a table of two groups by k categories, corrected for its bias (Bergsma, 2013).

    Tested by chi-square, or where the table is sparse (Cochran, 1954: an expected count below 1, or more than a fifth
    of them below 5) by drawing tables with the same margins: p is (1 + count) / (1 + draws). The interval turns the
    noncentral chi-square distribution round (Smithson, 2003); a sparse table has none.

    Args:
        counts: [2, k].
        draws: tables to draw where it is sparse.
        seed: of the draws.
    """
    counts = counts[:, counts.sum(axis=0) > 0]
    sizes, n, k = counts.sum(axis=1), int(counts.sum()), counts.shape[1]
    if not sizes.all():
        return _nothing("none", "one of the two groups is empty")
    if k < 2:
        return _nothing("none", "the value is the same throughout")
    expected = np.outer(sizes, counts.sum(axis=0)) / n
    statistic, df = float(np.sum((counts - expected) ** 2 / expected)), k - 1
    smaller_side = min(1 - 1 / (n - 1), k - 1 - df**2 / (n - 1)) if n > 2 else 0.0
    association = max(0.0, statistic / n - df / (n - 1))
    estimate = math.sqrt(min(1.0, association / smaller_side)) if smaller_side > 0 else math.nan
    if expected.min() < 1 or np.mean(expected < 5) > 0.2:
        p = _drawn(counts[0], counts.sum(axis=0), expected, statistic, draws, seed)
        return Effect(estimate, math.nan, math.nan, "permutation chi-square", p, "no interval: the table is sparse")
    p = max(float(scipy.stats.chi2.sf(statistic, df)), np.finfo(np.float64).tiny)
    low, high = (math.sqrt(min(1.0, _noncentrality(statistic, df, level) / n)) for level in (0.975, 0.025))
    if high == 0:
        return Effect(
            estimate, math.nan, math.nan, "chi-square", p, "no interval: the groups are more alike than by chance"
        )
    return Effect(estimate, low, high, "chi-square", p, "")


def cliffs_delta(first: NDArray[np.float64], second: NDArray[np.float64]) -> Effect:
    """Cliff's delta (1993), also called rank-biserial: how much oftener a value of the first group is the larger.

    Tested by Mann and Whitney (1947), exact for small groups without ties. The interval is that of Feng and Cliff
    (2004), from the consistent variance; it does not assume that the groups have distributions of one shape.
    """
    a, b = len(first), len(second)
    if not a or not b:
        return _nothing("none", "one of the two groups is empty")
    if np.ptp(np.concatenate([first, second])) == 0:
        return _nothing("none", "the value is the same throughout")
    above, below = _placements(first, second)
    under, over = _placements(second, first)
    delta = float(np.mean(above - below)) / b
    p = max(float(scipy.stats.mannwhitneyu(first, second).pvalue), np.finfo(np.float64).tiny)
    if a < 2 or b < 2 or abs(delta) == 1:
        why = "the groups do not overlap" if abs(delta) == 1 else "a group has one member"
        return Effect(delta, math.nan, math.nan, "Mann-Whitney", p, f"no interval: {why}")
    of_first, of_second = (above - below) / b - delta, (over - under) / a - delta
    of_pairs = float(np.sum(above + below)) - a * b * delta**2
    variance = (b**2 * np.sum(of_first**2) + a**2 * np.sum(of_second**2) - of_pairs) / (a * b * (a - 1) * (b - 1))
    variance = max(float(variance), (1 - delta**2) / (a * b - 1))
    reach = float(scipy.special.ndtri(0.975)) ** 2 * variance
    middle, width, scale = delta - delta**3, math.sqrt(reach * ((1 - delta**2) ** 2 + reach)), 1 - delta**2 + reach
    return Effect(delta, (middle - width) / scale, (middle + width) / scale, "Mann-Whitney", p, "")


def _nothing(test: str, why: str) -> Effect:
    return Effect(math.nan, math.nan, math.nan, test, math.nan, f"not estimable: {why}")


def _placements(values: NDArray[np.float64], others: NDArray[np.float64]) -> tuple[NDArray, NDArray]:
    """For each value, how many of ``others`` are smaller, and how many larger."""
    ordered = np.sort(others)
    smaller = np.searchsorted(ordered, values, "left")
    return smaller.astype(np.float64), (len(others) - np.searchsorted(ordered, values, "right")).astype(np.float64)


def _drawn(
    first: NDArray[np.int64],
    totals: NDArray[np.int64],
    expected: NDArray[np.float64],
    statistic: float,
    draws: int,
    seed: int,
) -> float:
    """The share of tables with the same margins whose chi-square is at least ``statistic``."""
    rng = np.random.default_rng(seed)
    weights = 1 / expected[0] + 1 / expected[1]  # the second row deviates as far as the first
    rows = max(1, HELD // len(totals))
    count = 0
    for start in range(0, draws, rows):
        drawn = rng.multivariate_hypergeometric(totals, int(first.sum()), size=min(rows, draws - start))
        chi_square = (drawn - expected[0]) ** 2 @ weights
        count += int(np.count_nonzero(chi_square >= statistic * (1 - 1e-9)))
    return (1 + count) / (1 + draws)


def _noncentrality(statistic: float, df: int, level: float) -> float:
    """The noncentrality under which ``statistic`` is the quantile ``level`` of chi-square; 0 where none is so low."""
    if scipy.stats.chi2.cdf(statistic, df) <= level:
        return 0.0
    upper = 2 * statistic + 10.0
    while scipy.special.chndtr(statistic, df, upper) > level:
        upper *= 2
    return float(scipy.optimize.brentq(lambda nc: scipy.special.chndtr(statistic, df, nc) - level, 0.0, upper))
