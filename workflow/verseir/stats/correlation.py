"""Rank correlations with p values for few and for many observations, and tests of two that share a variable."""

from __future__ import annotations

import itertools
import math
import sys
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

#: Up to this many observations all orders are enumerated.
ENUMERATED = 8
#: Up to this many, Spearman's null distribution is exact; above, its Edgeworth series stands in, as in R.
EXACT_RHO = 9
#: Above this many observations the series gains nothing on the t approximation.
SERIES_RHO = 1290
#: Above this many, Kendall's exact distribution is not worth its time.
EXACT_TAU = 170
#: Above this many, permutations say nothing that the normal approximation, corrected for ties, does not.
PERMUTED_TAU = 50


class Correlation(NamedTuple):
    """An estimate, its two-sided p and how that was reckoned; NaN, NaN and ``none`` where a variable is constant."""

    estimate: float
    p: float
    method: str


UNDEFINED = Correlation(math.nan, math.nan, "none")


def spearman(x: ArrayLike, y: ArrayLike) -> Correlation:
    """Spearman's rho (1904) of two variables [n].

    Without ties: p is exact up to 9 observations, and from the Edgeworth series of Best and Roberts (1975, AS 89) up to
    1,290, as in R. With ties or above: from the t distribution.
    """
    a, b = _pair(x, y)
    if _constant(a, b):
        return UNDEFINED
    n = len(a)
    ranks_a, ranks_b = scipy.stats.rankdata(a), scipy.stats.rankdata(b)
    rho = max(-1.0, min(1.0, float(np.corrcoef(ranks_a, ranks_b)[0, 1])))
    if _tied(a) or _tied(b) or n > SERIES_RHO:
        return Correlation(rho, _t_of_rho(rho, n), "t" if n > 2 else "none")
    distance = round(float(((ranks_a - ranks_b) ** 2).sum()))
    distance = max(distance, (n**3 - n) // 3 - distance)
    if n <= EXACT_RHO:
        return Correlation(rho, min(1.0, 2 * _exact_tail(distance, n)), "exact")
    return Correlation(rho, min(1.0, 2 * _series_tail(distance, n)), "Edgeworth series")


def _t_of_rho(rho: float, n: int) -> float:
    if n <= 2:
        return math.nan
    if abs(rho) >= 1:
        return sys.float_info.min
    return max(sys.float_info.min, float(2 * scipy.stats.t.sf(abs(rho) * math.sqrt((n - 2) / (1 - rho**2)), n - 2)))


def _exact_tail(distance: int, n: int) -> float:
    """The share of all orders of n whose sum of squared rank differences is at least ``distance``.

    Counted place by place over the sets of ranks that are used up: 2^n steps in place of n!.
    """
    size = (n**3 - n) // 3 + 1
    counts = {0: np.eye(1, size)[0]}
    for place in range(n):
        following: dict[int, NDArray[np.float64]] = {}
        for used, ways in counts.items():
            for rank in range(n):
                if not used >> rank & 1:
                    step = (place - rank) ** 2
                    total = following.setdefault(used | 1 << rank, np.zeros(size))
                    total[step:] += ways[: size - step]
        counts = following
    ways = counts[(1 << n) - 1]
    return float(ways[distance:].sum() / ways.sum())


def _series_tail(distance: int, n: int) -> float:
    """The upper tail of the sum of squared rank differences by the Edgeworth series (Best and Roberts, 1975)."""
    b = 1 / n
    x = (6 * (distance - 1) * b / (n**2 - 1) - 1) * math.sqrt(n - 1)
    y = x * x
    inner = 0.0879 + b * 0.0151 - y * (0.0072 - b * 0.0831 + y * b * (0.0131 - 4.6e-4 * y))
    middle = -0.0758 + b * (0.1033 + 0.3932 * b) - y * b * inner
    series = x * b * (0.2274 + b * (0.2531 + 0.1745 * b) + y * middle)
    return min(1.0, max(sys.float_info.min, series / math.exp(y / 2) + float(scipy.special.ndtr(-x))))


def kendall(x: ArrayLike, y: ArrayLike, flips: int = 99_999, seed: int = 0) -> Correlation:
    """Kendall's tau-b (1945) of two variables [n].

    Without ties p is exact up to 170 observations and normal above. With ties it is by permutation: all orders up to 8
    observations, (1 + count) / (1 + flips) over random ones up to 50, and normal above.
    """
    a, b = _pair(x, y)
    if _constant(a, b):
        return UNDEFINED
    if not _tied(a) and not _tied(b):
        method = "exact" if len(a) <= EXACT_TAU else "asymptotic"
        found = scipy.stats.kendalltau(a, b, method=method)
        return Correlation(float(found.statistic), max(sys.float_info.min, float(found.pvalue)), method)
    found = scipy.stats.kendalltau(a, b, method="asymptotic")
    estimate = float(found.statistic)
    if len(a) > PERMUTED_TAU:
        return Correlation(estimate, max(sys.float_info.min, float(found.pvalue)), "asymptotic")
    every = len(a) <= ENUMERATED
    return Correlation(estimate, _permuted(a, b, flips, seed), "all permutations" if every else "permutation")


def _permuted(a: NDArray[np.float64], b: NDArray[np.float64], flips: int, seed: int) -> float:
    """p of the concordance of two variables: under a permutation its denominator does not change."""
    n = len(a)
    upper = np.triu_indices(n, 1)
    signs_a = np.sign(a[:, None] - a)[upper]
    signs_b = np.sign(b[:, None] - b).astype(np.int8)
    bound = abs(float((signs_a * signs_b[upper]).sum()))

    def reached(orders: NDArray[np.int64]) -> int:
        return int(np.count_nonzero(np.abs(signs_b[orders[:, upper[0]], orders[:, upper[1]]] @ signs_a) >= bound))

    if n <= ENUMERATED:
        orders = np.array(list(itertools.permutations(range(n))))
        return reached(orders) / len(orders)
    rng = np.random.default_rng(seed)
    count, rows = 0, max(1, 4_000_000 // n**2)
    for start in range(0, flips, rows):
        orders = np.tile(np.arange(n), (min(rows, flips - start), 1))
        count += reached(rng.permuted(orders, axis=1))
    return (1 + count) / (1 + flips)


def _pair(x: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError("a correlation needs two variables of one length")
    return a, b


def _constant(*variables: NDArray[np.float64]) -> bool:
    return any(len(variable) < 2 or np.ptp(variable) == 0 for variable in variables)


def _tied(variable: NDArray[np.float64]) -> bool:
    return len(np.unique(variable)) < len(variable)


class Dependent(NamedTuple):
    """Four tests of two correlations that share a variable: statistics and two-sided p values; NaN: undefined."""

    meng_z: float
    meng_p: float
    steiger_z: float
    steiger_p: float
    hittner_z: float
    hittner_p: float
    williams_t: float
    williams_p: float


def dependent_correlations(r_jk: float, r_jh: float, r_kh: float, n: int) -> Dependent:
    """Does j correlate more with k than with h? Tests on n independent observations.

    Meng, Rosenthal and Rubin (1992); Steiger (1980), the z of Dunn and Clark with the two correlations pooled; Hittner,
    May and Silver (2003), the same with them pooled as Fisher's z; Williams' t (1959; Steiger's case A), n - 3 degrees
    of freedom. They assume two normal variables; for ranks of a binary outcome Meng's rejects too often.
    """
    if n < 4 or not all(abs(r) < 1 for r in (r_jk, r_jh, r_kh)):  # NaN fails the comparison too
        return Dependent(*[math.nan] * 8)
    z_jk, z_jh = math.atanh(r_jk), math.atanh(r_jh)
    gap = z_jk - z_jh
    squared = (r_jk**2 + r_jh**2) / 2
    f = min(1.0, (1 - r_kh) / (2 * (1 - squared)))
    h = (1 - f * squared) / (1 - squared)
    meng = gap * math.sqrt((n - 3) / (2 * (1 - r_kh) * h))
    steiger = _pooled_z(gap, (r_jk + r_jh) / 2, r_kh, n)
    hittner = _pooled_z(gap, math.tanh((z_jk + z_jh) / 2), r_kh, n)
    williams = _williams(r_jk, r_jh, r_kh, n)
    return Dependent(
        meng,
        _p_of_z(meng),
        steiger,
        _p_of_z(steiger),
        hittner,
        _p_of_z(hittner),
        williams,
        max(sys.float_info.min, float(2 * scipy.stats.t.sf(abs(williams), n - 3))) if n > 3 else math.nan,
    )


def _pooled_z(gap: float, pooled: float, r_kh: float, n: int) -> float:
    square = pooled**2
    covariance = r_kh * (1 - 2 * square) - square * (1 - 2 * square - r_kh**2) / 2
    spread = 2 - 2 * covariance / (1 - square) ** 2
    return gap * math.sqrt((n - 3) / spread) if spread > 0 else math.nan


def _williams(r_jk: float, r_jh: float, r_kh: float, n: int) -> float:
    determinant = 1 - r_jk**2 - r_jh**2 - r_kh**2 + 2 * r_jk * r_jh * r_kh
    spread = 2 * determinant * (n - 1) / (n - 3) + ((r_jk + r_jh) / 2) ** 2 * (1 - r_kh) ** 3
    return (r_jk - r_jh) * math.sqrt((n - 1) * (1 + r_kh) / spread) if spread > 0 else math.nan


def _p_of_z(z: float) -> float:
    return max(sys.float_info.min, float(2 * scipy.special.ndtr(-abs(z)))) if not math.isnan(z) else math.nan
