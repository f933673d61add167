"""How much of what a logistic regression explains is due to each group of its features?"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from math import factorial
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from verseir.stats.separation import independent_columns, separating_columns

#: A total R2 below this is too near 0 to be shared out.
NEAR_ZERO = 0.01
#: 2 ** groups models are fitted.
MOST_GROUPS = 5


class Shares(NamedTuple):
    """Shares of the groups (they add up to 1; NaN where not estimable), the total R2, and why there are no shares."""

    shares: dict[str, float]
    r2: float
    reason: str


def log_likelihood(y: NDArray[np.float64], x: NDArray[np.float64]) -> float:
    """The greatest log-likelihood of ``y`` [n] (0 or 1) under a logistic regression on ``x`` [n, k], by Newton steps.

    NaN where no maximum is found. The caller sees to it that ``x`` has independent columns and separates nothing.
    """
    beta = np.zeros(x.shape[1])
    value = -len(y) * np.log(2)
    for _ in range(50):
        p = scipy.special.expit(x @ beta)
        gradient = x.T @ (y - p)
        try:
            step = np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x, gradient)
        except np.linalg.LinAlgError:
            break
        if gradient @ step < 1e-12:
            return value
        for _ in range(30):  # halve the step until it helps
            trial = x @ (beta + step)
            reached = float(y @ trial - np.logaddexp(0, trial).sum())
            if reached >= value - 1e-9:
                break
            step = step / 2
        beta, value = beta + step, reached
    return float("nan")


def general_dominance(y: NDArray[np.float64], groups: Mapping[str, NDArray[np.float64]]) -> Shares:
    """The share of each group of features in McFadden's R2 of a logistic regression with all of them.

    A group's part is what it adds to R2 = 1 - logL / logL(intercept), averaged over the sizes and members of all sets
    of the other groups that it can join: general dominance (Budescu, 1993; for logistic regression Azen and Traxel,
    2009), the value of Shapley (1953). McFadden's R2 (1974) never falls when features are added, so no part is
    negative. No shares are given where the outcome is constant or separated by the features, or the total is near 0:
    below ``NEAR_ZERO``, or below what as many columns of noise give on average (their number / -2 logL(intercept)).

    Args:
        y: float64 [n], 0 or 1.
        groups: name -> float64 [n, k], features without an intercept; 5 groups at most.
    """
    if len(groups) > MOST_GROUPS:
        raise ValueError(f"{len(groups)} groups of features; at most {MOST_GROUPS} are shared out")
    names = list(groups)
    none = dict.fromkeys(names, float("nan"))
    if not names or len(y) < 2 or np.ptp(y) == 0:
        return Shares(none, float("nan"), "the outcome is constant" if names else "no features")
    order = np.lexsort((y, *np.column_stack([groups[name] for name in names]).T[::-1]))
    y, columns = y[order], {name: _scaled(groups[name][order]) for name in names}
    every = _with_intercept(len(y), columns.values())
    if separating_columns(y, every):
        return Shares(none, float("nan"), "the features separate successes from failures")
    base = log_likelihood(y, np.ones((len(y), 1)))
    r2 = {
        frozenset(chosen): 1 - log_likelihood(y, _with_intercept(len(y), [columns[name] for name in chosen])) / base
        for size in range(len(names) + 1)
        for chosen in combinations(names, size)
    }
    total = r2[frozenset(names)]
    if not np.isfinite(list(r2.values())).all():
        return Shares(none, float("nan"), "not converged: no maximum was found")
    if total < max(NEAR_ZERO, (every.shape[1] - 1) / (-2 * base)):
        return Shares(none, total, "the features explain next to nothing (R2 is near 0)")
    parts = {name: _value(name, names, r2) for name in names}
    return Shares({name: part / total for name, part in parts.items()}, total, "")


def _value(name: str, names: list[str], r2: Mapping[frozenset[str], float]) -> float:
    """The value of Shapley (1953) of one group."""
    others = [other for other in names if other != name]
    m = len(names)
    value = 0.0
    for size in range(m):
        weight = factorial(size) * factorial(m - size - 1) / factorial(m)
        for chosen in combinations(others, size):
            value += weight * (r2[frozenset((*chosen, name))] - r2[frozenset(chosen)])
    return value


def _scaled(x: NDArray[np.float64]) -> NDArray[np.float64]:
    centred = x - x.mean(axis=0)
    spread = centred.std(axis=0)
    return centred[:, spread > 0] / spread[spread > 0]


def _with_intercept(n: int, parts) -> NDArray[np.float64]:
    """A column of ones and the independent columns of ``parts``."""
    x = np.column_stack([np.ones(n), *parts])
    return np.ascontiguousarray(x[:, independent_columns(x)])
