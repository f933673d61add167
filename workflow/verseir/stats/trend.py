"""Does success rise or fall along an ordered score?"""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray


class ChiSquared(NamedTuple):
    """A statistic on one degree of freedom and its p; NaN where not estimable."""

    statistic: float
    p: float


class Trend(NamedTuple):
    """Slope in log-odds of success for one step of the score, with its error, 95% interval and Wald p, and a note.

    NaN with a note that begins ``not estimable`` where there is none.
    """

    slope: float
    se: float
    low: float
    high: float
    p: float
    note: str


def cochran_armitage(success: ArrayLike, n: ArrayLike, score: ArrayLike) -> ChiSquared:
    """The chi-squared test for trend in proportions (Cochran, 1954; Armitage, 1955), without continuity correction.

    Args:
        success: successes of each group [k].
        n: trials of each group [k].
        score: score of each group [k].
    """
    x, trials, at = (np.asarray(values, dtype=np.float64) for values in (success, n, score))
    total = trials.sum()
    rate = x.sum() / total if total else math.nan
    centred = at - (trials @ at) / total if total else at
    variance = rate * (1 - rate) * (trials @ centred**2)
    if not variance > 0:
        return ChiSquared(math.nan, math.nan)
    statistic = float((x @ centred) ** 2 / variance)
    return ChiSquared(statistic, max(sys.float_info.min, float(scipy.stats.chi2.sf(statistic, 1))))


def logit_trend(y: ArrayLike, x: ArrayLike, clusters: NDArray[np.int64] | None = None) -> Trend:
    """Logistic regression of a binary outcome on one score, fitted and stopped as R's ``glm`` does, with a Wald test.

    With ``clusters`` the error is cluster-robust (Liang and Zeger, 1986): the slope is then a marginal effect.

    Args:
        y: 0 or 1 [n].
        x: the score [n].
        clusters: int64 [n].
    """
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_linear_model import GLM

    outcome, score = np.asarray(y, dtype=np.float64), np.asarray(x, dtype=np.float64)
    reason = _obstacle(outcome, score, clusters)
    if reason:
        return _none(reason)
    design = np.column_stack([np.ones(len(score)), score - score.mean()])
    robust = {} if clusters is None else {"cov_type": "cluster", "cov_kwds": {"groups": clusters}}
    fit = GLM(outcome, design, family=Binomial()).fit(**robust)
    if not fit.converged:
        return _none("the regression did not converge")
    slope, se = float(fit.params[1]), float(fit.bse[1])
    if not (math.isfinite(slope) and math.isfinite(se) and se > 0):
        return _none("the regression has no error for its slope")
    reach = float(scipy.special.ndtri(0.975)) * se
    p = max(sys.float_info.min, float(2 * scipy.special.ndtr(-abs(slope / se))))
    return Trend(slope, se, slope - reach, slope + reach, p, "")


def _none(reason: str) -> Trend:
    return Trend(math.nan, math.nan, math.nan, math.nan, math.nan, f"not estimable: {reason}")


def _obstacle(y: NDArray[np.float64], x: NDArray[np.float64], clusters: NDArray[np.int64] | None) -> str:
    """Why there is no slope, or nothing."""
    if len(y) < 3:
        return "fewer than three observations"
    if np.ptp(y) == 0:
        return "the outcome is constant"
    if np.ptp(x) == 0:
        return "the score is constant"
    if clusters is not None and len(np.unique(clusters)) < 3:
        return "fewer than three clusters"
    failed, succeeded = x[y == 0], x[y > 0]
    if failed.max() <= succeeded.min() or succeeded.max() <= failed.min():
        return "the score separates success from failure"
    return ""
