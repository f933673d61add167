"""Are two systems level? An interval inside a margin says so; a large p does not."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from verseir.stats.bootstrap import bootstrap_means
from verseir.stats.mcnemar import tango_interval

#: Two one-sided tests at 5% are one interval of 90%.
LEVEL = 0.90


class Equivalence(NamedTuple):
    """A mean difference and the ends of its 90% interval; NaN where the ends are not estimable."""

    estimate: float
    low: float
    high: float

    def is_level(self, margin: float) -> bool | None:
        """Whether the whole interval lies inside +-``margin``; None where it is not estimable."""
        if math.isnan(self.low) or math.isnan(self.high):
            return None
        return -margin < self.low and self.high < margin


def paired_equivalence(
    difference: NDArray[np.float64],
    clusters: NDArray[np.int64] | None,
    margin: float,
    resamples: int = 9999,
    seed: int = 0,
) -> Equivalence:
    """The 90% interval of a mean paired difference; with a margin, two one-sided tests of 5% (Schuirmann, 1987).

    Differences of a binary measure (-1, 0 or 1) on independent queries get the score interval of Tango (1998), any
    others the BCa bootstrap over queries or clusters (Efron, 1987). Where no cluster differs on a binary measure, the
    clusters are the trials of Tango's interval: no difference seen in few of them is not evidence of none.

    Args:
        difference: float64 [n].
        clusters: int64 [n], the cluster of each query, or None where queries are independent.
        margin: differences below it do not matter; it must be above 0. The interval does not depend on it.
        resamples: bootstrap resamples.
        seed: of the bootstrap.

    Raises:
        ValueError: the margin is not above 0.
    """
    if not margin > 0:
        raise ValueError(f"an equivalence margin must be above 0, not {margin}")
    difference = np.asarray(difference, dtype=np.float64)
    estimate = float(difference.mean()) if len(difference) else math.nan
    independent = len(difference) if clusters is None else len(np.unique(clusters))
    if independent < 2:
        return Equivalence(estimate, math.nan, math.nan)
    binary = bool(np.isin(difference, (-1.0, 0.0, 1.0)).all())
    if binary and (clusters is None or not difference.any()):
        b, c = int((difference > 0).sum()), int((difference < 0).sum())
        return Equivalence(estimate, *tango_interval(b, c, independent, LEVEL))
    if np.ptp(difference) < 1e-15:
        return Equivalence(estimate, math.nan, math.nan)  # no spread was seen: an interval of zero width would lie
    interval = bootstrap_means(difference[:, None], clusters, resamples, seed, LEVEL)
    return Equivalence(estimate, float(interval.low[0]), float(interval.high[0]))
