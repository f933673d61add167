"""Logistic regression with a random intercept for each group: what is common to the outcomes of one query is set apart.

The model is fitted by gpboost, which maximises the Laplace approximation of the likelihood as lme4 does. gpboost's own
standard errors hold the spread of the intercepts fixed and are up to some percent too small; here they come from the
second derivatives in all parameters, the spread among them, as in lme4 (Bates et al., 2015).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from verseir.stats.laplace import LaplaceLikelihood
from verseir.stats.separation import independent_columns, named, separating_columns

#: A fit has converged where a Newton step would move it by less than this, in standard errors (squared, summed).
STEP = 1e-6
#: Intercepts that spread wider than this (in log-odds) are on their way to infinity.
WIDEST = 30.0
#: A standard error above this (in log-odds) is that of an outcome all but separated, where a Wald test says nothing.
LOOSEST = 10.0
#: Relative changes of the log-likelihood at which gpboost stops: the second where the first was not enough.
TOLERANCES = (1e-10, 1e-14)
#: A variance below this share of the largest one is 0 but for rounding.
NO_VARIANCE = 1e-13


class Estimate(NamedTuple):
    """A coefficient or a sum of coefficients: log-odds, its standard error, and the p of a test that it is 0."""

    estimate: float
    se: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class Coefficients:
    """Estimated coefficients in order of ``names``, their covariance, and what is to be said about them.

    Where ``usable`` is false (separated, not converged, too little data) there are no estimates: ``reason`` says why.
    ``dropped`` names columns that others already make up. ``df`` are the degrees of freedom of the tests; infinity
    stands for the normal distribution.
    """

    names: tuple[str, ...]
    estimates: NDArray[np.float64]
    covariance: NDArray[np.float64]
    reason: str = ""
    separated: bool = False
    converged: bool = True
    dropped: tuple[str, ...] = ()
    df: float = np.inf
    log_likelihood: float = np.nan
    n_rows: int = 0
    n_groups: int = 0
    notes: tuple[str, ...] = field(default=())

    @property
    def usable(self) -> bool:
        return not self.reason

    @property
    def se(self) -> NDArray[np.float64]:
        """Standard errors, float64 [k]."""
        return np.sqrt(np.diag(self.covariance))

    def combine(self, weights: Mapping[str, float], level: float = 0.95) -> Estimate:
        """The weighted sum of coefficients with its standard error, interval and Wald test.

        All NaN where the model has no estimates or lacks one of the columns; the estimate alone where its variance is
        0, as a robust one is where all clusters bear alike on it; no p where the standard error is above ``LOOSEST``:
        there it has grown faster than the estimate (Hauck and Donner, 1977).
        """
        if not self.usable or not set(weights) <= set(self.names):
            return Estimate(*[np.nan] * 5)
        vector = np.zeros(len(self.names))
        for name, weight in weights.items():
            vector[self.names.index(name)] = weight
        estimate = float(vector @ self.estimates)
        variance = float(vector @ self.covariance @ vector)
        if variance <= NO_VARIANCE * np.diag(self.covariance).max():
            return Estimate(estimate, *[np.nan] * 4)
        se = float(np.sqrt(variance))
        reach = float(scipy.stats.t.ppf((1 + level) / 2, self.df)) * se
        p = two_sided(estimate / se, self.df) if se <= LOOSEST else np.nan
        return Estimate(estimate, se, estimate - reach, estimate + reach, p)

    def coefficient(self, name: str) -> Estimate:
        """One coefficient."""
        return self.combine({name: 1.0})


@dataclass(frozen=True)
class MixedLogit(Coefficients):
    """A fitted mixed-effects logistic regression; ``sd`` is the spread of the groups' intercepts in log-odds."""

    sd: float = np.nan


class LikelihoodRatio(NamedTuple):
    """A test that the coefficients of a block of terms are all 0."""

    chi2: float
    df: int
    p: float
    note: str


def two_sided(statistic: float, df: float = np.inf) -> float:
    """The p of a statistic that is t or (``df`` infinite) normally distributed; never 0."""
    return max(float(2 * scipy.stats.t.sf(abs(statistic), df)), np.finfo(np.float64).tiny)


def prepare(
    y: NDArray[np.float64], x: NDArray[np.float64], names: Sequence[str]
) -> tuple[NDArray[np.float64], tuple[str, ...], tuple[str, ...], str]:
    """The columns of ``x`` that can be estimated, their names, the names of dropped ones, and why nothing can be.

    The reason begins with "separated" where the outcomes are; it is empty when a model can be fitted.
    """
    kept = independent_columns(x)
    used, dropped = named(kept, names), named([j for j in range(x.shape[1]) if j not in kept], names)
    x = np.ascontiguousarray(x[:, kept])
    if not len(y):
        return x, used, dropped, "no outcome to model"
    if np.ptp(y) == 0:
        return x, used, dropped, f"separated: the outcome is always {y[0]:.0f}"
    separating = separating_columns(y, x)
    if separating:
        return x, used, dropped, "separated: the outcome follows from " + ", ".join(named(separating, used))
    return x, used, dropped, ""


def fit_mixed_logit(
    y: NDArray[np.float64],
    x: NDArray[np.float64],
    names: Sequence[str],
    groups: NDArray[np.int64],
    threads: int = 1,
) -> MixedLogit:
    """Fit ``y ~ x + (1 | group)`` by the Laplace approximation.

    The result does not depend on the order of the rows. No estimates are given where the columns separate the outcomes
    (``separation.separating_columns``), where no group has two rows or there is one group, or where the optimiser did
    not reach a maximum; ``reason`` says which.

    Args:
        y: float64 [n], 0 or 1.
        x: float64 [n, k], with a column of ones if there is to be an intercept.
        names: of the columns of ``x``.
        groups: int64 [n].
        threads: that gpboost may use.
    """
    order = np.lexsort((y, *x.T[::-1], groups))
    y, x, groups = y[order], x[order], np.unique(groups[order], return_inverse=True)[1]
    n_groups = int(groups.max()) + 1 if len(groups) else 0
    x, used, dropped, reason = prepare(y, x, names)
    separated = reason.startswith("separated")
    if not reason and (n_groups < 2 or n_groups == len(y)):
        reason = "fewer than two groups" if n_groups < 2 else "one row for each group: their intercepts are not seen"
    blank = MixedLogit(
        used, np.full(len(used), np.nan), np.full((len(used),) * 2, np.nan), reason, separated, not reason, dropped,
        n_rows=len(y), n_groups=n_groups,
    )  # fmt: skip
    if reason:
        return blank
    likelihood = LaplaceLikelihood(y, x, groups)
    start = None
    for tolerance in TOLERANCES:
        found = _maximise(y, x, groups, tolerance, start, threads)
        value, newton, step, covariance = likelihood.curvature(found)
        sd = float(found[-1])
        if step < STEP:
            break
        start = found
    if not step < STEP or sd > WIDEST:
        why = f"not converged: the optimiser stopped {np.sqrt(step):.2g} standard errors from a maximum"
        if not np.isfinite(step) or sd > WIDEST:
            why = "not converged: the likelihood has no maximum within reach"
        return _replaced(blank, reason=why, converged=False)
    notes = ("the groups' intercepts do not spread: the model is a plain logistic regression",) if sd < 1e-3 else ()
    estimates = (found + newton)[:-1]  # takes out what the optimiser left, so that threads and order do not show
    return _replaced(
        blank,
        estimates=estimates,
        covariance=covariance[:-1, :-1],
        sd=abs(sd + float(newton[-1])),
        log_likelihood=value + step / 2,
        notes=notes,
    )


def _replaced(fit: MixedLogit, **changes: object) -> MixedLogit:
    from dataclasses import replace

    return replace(fit, **changes)  # type: ignore[arg-type]


def _maximise(
    y: NDArray[np.float64],
    x: NDArray[np.float64],
    groups: NDArray[np.int64],
    tolerance: float,
    start: NDArray[np.float64] | None,
    threads: int,
) -> NDArray[np.float64]:
    """Coefficients and spread of the intercepts, float64 [k + 1], as gpboost finds them from ``start``."""
    import gpboost

    # it would warn on standard output; whether it reached a maximum is checked by the caller
    gpboost.register_logger(logging.Logger("gpboost", logging.CRITICAL))
    params: dict[str, object] = {"delta_rel_conv": tolerance}
    if start is not None:
        params |= {"init_coef": start[:-1], "init_cov_pars": np.array([max(start[-1] ** 2, 1e-6)])}
    model = gpboost.GPModel(group_data=groups, likelihood="bernoulli_logit", num_parallel_threads=threads)
    model.fit(y=y, X=x, params=params)
    variance = float(model.get_cov_pars(format_pandas=False).ravel()[0])
    return np.append(model.get_coef(format_pandas=False).ravel(), np.sqrt(variance))


def likelihood_ratio_tests(
    full: MixedLogit,
    y: NDArray[np.float64],
    x: NDArray[np.float64],
    names: Sequence[str],
    groups: NDArray[np.int64],
    blocks: Mapping[str, Iterable[str]],
    threads: int = 1,
) -> dict[str, LikelihoodRatio]:
    """Refit without each named block of columns and test what it adds to ``full``, the fit with all of them."""
    tests = {}
    for block, columns in blocks.items():
        tested = set(columns) & set(full.names)
        if not full.usable or not tested:
            reason = full.reason or "the model has no such term"
            tests[block] = LikelihoodRatio(np.nan, 0, np.nan, reason)
            continue
        kept = [j for j, name in enumerate(names) if name in full.names and name not in tested]
        reduced = fit_mixed_logit(y, x[:, kept], [names[j] for j in kept], groups, threads)
        tests[block] = _ratio(full, reduced)
    return tests


def _ratio(full: MixedLogit, reduced: MixedLogit) -> LikelihoodRatio:
    df = len(full.names) - len(reduced.names)
    if not reduced.usable:
        return LikelihoodRatio(np.nan, df, np.nan, f"without these terms {reduced.reason}")
    chi2 = max(2 * (full.log_likelihood - reduced.log_likelihood), 0.0)
    p = max(float(scipy.special.chdtrc(df, chi2)), np.finfo(np.float64).tiny)
    return LikelihoodRatio(chi2, df, p, "")
