"""Two systems, one binary measure: the exact test of McNemar and the score interval of Tango."""

from __future__ import annotations

import math

import scipy


def mcnemar_exact(b: int, c: int) -> float:
    """Two-sided exact p (McNemar, 1947) of the discordant counts ``b`` and ``c``; 1 where both are 0."""
    return float(scipy.stats.binomtest(b, b + c).pvalue) if b + c else 1.0


def tango_interval(b: int, c: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Score interval of the difference (b - c) / n of two paired proportions (Tango, 1998).

    Args:
        b: queries that only the first system answers.
        c: queries that only the second answers.
        n: all queries.
        level: of the interval.
    """
    z = float(scipy.special.ndtri((1 + level) / 2))
    estimate = (b - c) / n

    def statistic(delta: float) -> float:
        # The constrained maximum-likelihood estimate of the second discordant probability.
        linear = -b - c + (2 * n - b + c) * delta
        constant = -c * delta * (1 - delta)
        second = (math.sqrt(max(0.0, linear**2 - 8 * n * constant)) - linear) / (4 * n)
        variance = n * (2 * second + delta * (1 - delta))
        gap = b - c - n * delta
        return gap / math.sqrt(variance) if variance > 0 else math.copysign(math.inf, gap) if gap else 0.0

    def end(bound: float, target: float) -> float:
        if statistic(bound) * math.copysign(1, target) <= abs(target):
            return bound  # the interval reaches the end of the scale
        shifted = lambda delta: max(-1e9, min(1e9, statistic(delta) - target))  # noqa: E731
        return float(scipy.optimize.brentq(shifted, *sorted((estimate, bound)), xtol=1e-14))

    return end(-1.0, z), end(1.0, -z)
