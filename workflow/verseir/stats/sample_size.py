"""How many independent clusters would tell: of a difference that was seen, and of one that does not matter."""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy import stats

#: Levels and power of all numbers: a two-sided test of 5%, two one-sided tests of 5%, 80% power.
LEVEL, POWER = 0.05, 0.80
#: More clusters than this is no number to go by.
MOST = 1_000_000
#: A difference that is smaller is none.
NOTHING = 1e-9


def clusters_to_tell(difference: float, deviation: float, wider: float = 1.0) -> int | None:
    """Clusters with which a two-sided t test of 5% finds a true ``difference`` with 80% power (Lachin, 1981).

    The test's standard error is ``wider`` times that of the mean: see ``cross_validation.widening``. None where there
    is no difference to find, or where no million clusters would do.

    Args:
        difference: that is to be found.
        deviation: of one cluster's difference: the standard error of the mean times the root of the clusters.
        wider: by how much the test widens the error.
    """
    if not abs(difference) > NOTHING or not deviation > 0:
        return None

    def power(n: int) -> float:
        bound = wider * float(stats.t.ppf(1 - LEVEL / 2, n - 1))
        return float(stats.norm.sf(bound - abs(difference) * math.sqrt(n) / deviation))

    return _fewest(power)


def clusters_to_level(margin: float, difference: float, deviation: float, wider: float = 1.0) -> int | None:
    """Clusters with which two one-sided t tests of 5% (Schuirmann, 1987) put a true ``difference`` within ``margin``
    with 80% power (Julious, 2004). None where the difference is not within it, or no million clusters would do.

    Without a ``deviation`` (no cluster was seen to differ) it is those with which the score interval of Tango (1998)
    lies within the margin, if still none differs.
    """
    if not abs(difference) < margin:
        return None
    if not deviation > 0:
        squared = float(stats.norm.ppf(1 - LEVEL)) ** 2
        return math.floor(squared * (1 - margin) / margin) + 1

    def power(n: int) -> float:
        error = deviation / math.sqrt(n)
        bound = wider * float(stats.t.ppf(1 - LEVEL, n - 1))
        return sum(float(stats.norm.cdf((margin + d) / error - bound)) for d in (difference, -difference)) - 1

    return _fewest(power)


def _fewest(power: Callable[[int], float]) -> int | None:
    """The fewest clusters with which ``power``, which grows with them, is enough."""
    low, high = 1, 2
    while power(high) < POWER:
        low, high = high, 2 * high
        if low > MOST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(middle) >= POWER else (middle, high)
    return high
