"""Odds ratios of two groups, independent or paired."""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from verseir.stats.bootstrap import clopper_pearson
from verseir.stats.mcnemar import mcnemar_exact


class OddsRatio(NamedTuple):
    """Cross-product ratio, conditional estimate with its exact interval, and p; NaN: undefined, inf: no upper end."""

    sample: float
    conditional: float
    low: float
    high: float
    p: float


class PairedOddsRatio(NamedTuple):
    """Ratio of the discordant counts, its exact interval and p; NaN where there are none, inf where only one kind."""

    estimate: float
    low: float
    high: float
    p: float


def odds_ratio(table: ArrayLike, level: float = 0.95) -> OddsRatio:
    """The odds ratio of a table [[a, b], [c, d]] of counts.

    ``sample`` is ad / bc; ``conditional`` is the maximum-likelihood estimate given the margins, with the interval and
    the test of Fisher (1935; Cornfield, 1956). A table with an empty row or column has no odds ratio.
    """
    counts = np.asarray(table, dtype=np.int64)
    if counts.shape != (2, 2) or (counts < 0).any():
        raise ValueError("an odds ratio needs a table of two by two counts")
    if (counts.sum(axis=0) == 0).any() or (counts.sum(axis=1) == 0).any():
        return OddsRatio(*[math.nan] * 5)
    (a, b), (c, d) = counts.tolist()
    sample = a * d / (b * c) if b * c else math.inf
    found = scipy.stats.contingency.odds_ratio(counts, kind="conditional")
    interval = found.confidence_interval(level)
    p = max(sys.float_info.min, float(scipy.stats.fisher_exact(counts).pvalue))
    return OddsRatio(sample, float(found.statistic), float(interval.low), float(interval.high), p)


def paired_odds_ratio(b: int, c: int, level: float = 0.95) -> PairedOddsRatio:
    """b / c of the discordant counts of paired outcomes: the conditional odds ratio of matched pairs.

    The interval is that of Clopper and Pearson (1934) for b of b + c, as odds; the test is the exact one of McNemar.
    """
    if b + c == 0:
        return PairedOddsRatio(math.nan, math.nan, math.nan, 1.0)
    low, high = clopper_pearson(b, b + c, level)
    upper = high / (1 - high) if high < 1 else math.inf
    return PairedOddsRatio(b / c if c else math.inf, low / (1 - low), upper, mcnemar_exact(b, c))
