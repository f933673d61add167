"""Logistic trends of binary outcomes over one score per row: in one column, or in several columns with one slope."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

#: A level of the score with fewer independent clusters than this says nothing of its own rate.
FEWEST_CLUSTERS = 5

Matrix = NDArray[np.float64]


class Slope(NamedTuple):
    """Log-odds per unit of the score, its 95% interval and p; all NaN where ``note`` says why it is not estimable."""

    estimate: float
    low: float
    high: float
    p: float
    note: str


class Departure(NamedTuple):
    """A likelihood-ratio statistic, its degrees of freedom and p; NaN where ``note`` says why it is not estimable.

    ``left_out`` says of each level of the score that was left out why.
    """

    statistic: float
    df: int
    p: float
    note: str
    left_out: tuple[tuple[float, str], ...]


def pooled_slope(success: Matrix, score: Matrix, clusters: NDArray[np.int64] | None = None) -> Slope:
    """The common slope of the columns of ``success`` on ``score``: logistic, an intercept for each column.

    The standard error is robust to what rows of a cluster, and columns of a row, have in common (Liang and Zeger, 1986;
    with the correction for the number of clusters c, and t with c - 1 degrees of freedom). A column that is constant
    tells nothing of a slope and is left out.

    Args:
        success: 0 or 1, [n, m].
        score: [n].
        clusters: int64 [n], the cluster of each row; every row is its own if None.
    """
    kept = _varying(success)
    problem = _problem(kept, score)
    if problem:
        return _no_slope(problem)
    return _wald(kept, [score], np.ones(1), clusters)


def slope_difference(first: Matrix, second: Matrix, score: Matrix, clusters: NDArray[np.int64] | None = None) -> Slope:
    """The slope of the columns of ``first`` minus that of ``second``, from one model with an interaction.

    Arguments as those of ``pooled_slope``; both matrices have the same rows.
    """
    groups = [_varying(first), _varying(second)]
    for group in groups:
        problem = _problem(group, score)
        if problem:
            return _no_slope(problem)
    inside = np.repeat([1.0, 0.0], [group.shape[1] for group in groups])
    scores = [np.outer(score, inside), np.outer(score, 1 - inside)]
    return _wald(np.hstack(groups), scores, np.array([1.0, -1.0]), clusters)


def departure_from_linearity(success: Matrix, score: Matrix, clusters: NDArray[np.int64] | None = None) -> Departure:
    """Test the levels of ``score`` as categories against the one slope of ``pooled_slope``, by likelihood ratio.

    Where rows share clusters, or there are several columns, the statistic is no chi-square: its p is that of Rao and
    Scott (1984), by the second-order correction, with F for the number of clusters. Levels with fewer than
    ``FEWEST_CLUSTERS`` clusters, or with the same outcome throughout, are left out of both models.

    Arguments as those of ``pooled_slope``.
    """
    own = np.arange(len(success)) if clusters is None else clusters
    kept, left_out = np.ones(len(success), dtype=bool), []
    for level in np.unique(score):
        inside = score == level
        if len(np.unique(own[inside])) < FEWEST_CLUSTERS:
            left_out.append((float(level), f"fewer than {FEWEST_CLUSTERS} independent observations"))
        elif np.ptp(success[inside]) == 0:
            left_out.append((float(level), "the outcome is constant"))
        else:
            continue
        kept &= ~inside
    columns, score, own = _varying(success[kept]), score[kept], own[kept]
    levels, n_clusters = np.unique(score), len(np.unique(own))
    nothing = Departure(np.nan, 0, np.nan, "", tuple(left_out))
    if len(levels) < 3 or not columns.shape[1] or n_clusters <= len(levels):
        return nothing._replace(note="not estimable: fewer than three levels on which the outcome varies")
    extra = [(score == level).astype(np.float64) for level in levels[1:-1]]
    line, curve = _fit(columns, [score], own), _fit(columns, [score, *extra], own)
    if line is None or curve is None:
        return nothing._replace(note="not estimable: the model did not converge")
    statistic, df = max(0.0, 2 * float(curve.llf - line.llf)), len(extra)
    if clusters is None and columns.shape[1] == 1:
        return nothing._replace(statistic=statistic, df=df, p=_above_zero(scipy.stats.chi2.sf(statistic, df)))
    model, robust = (matrix[-df:, -df:] for matrix in (curve.normalized_cov_params, curve.cov_params()))
    # As many means are fitted as there are levels: the usual correction for one mean would be liberal.
    robust = robust * (n_clusters - 1) / (n_clusters - len(levels))
    effects = np.linalg.eigvals(np.linalg.solve(model, robust)).real
    freedom = df * float(effects.mean() ** 2 / np.mean(effects**2))
    p = scipy.stats.f.sf(statistic / effects.sum(), freedom, (n_clusters - len(levels)) * freedom)
    return nothing._replace(statistic=statistic, df=df, p=_above_zero(p))


def _above_zero(p: float) -> float:
    return max(float(p), np.finfo(np.float64).tiny)


def _varying(success: Matrix) -> Matrix:
    """The columns that are not constant."""
    return success[:, np.ptp(success, axis=0) > 0] if len(success) else success[:, :0]


def _no_slope(problem: str) -> Slope:
    return Slope(np.nan, np.nan, np.nan, np.nan, f"not estimable: {problem}")


def _problem(varying: Matrix, score: Matrix) -> str:
    """Why a slope over columns that vary cannot be estimated; empty where it can."""
    if not len(score):
        return "there is no observation"
    if np.ptp(score) == 0:
        return "the score is the same throughout"
    if not varying.shape[1]:
        return "the outcome is constant"
    ends = [(score[y == 1].min(), score[y == 0].max(), score[y == 1].max(), score[y == 0].min()) for y in varying.T]
    if all(low >= high for low, high, _, _ in ends) or all(high <= low for _, _, high, low in ends):
        return "the score separates success from failure"
    return ""


def _fit(success: Matrix, scores: list[Matrix], clusters: NDArray[np.int64]) -> Any | None:
    """The logistic model with an intercept for each column and a coefficient, last, for each of ``scores``.

    A score is [n], shared by all columns, or [n, m]. None where it did not converge.
    """
    from statsmodels.discrete.discrete_model import Logit

    n, m = success.shape
    intercepts = np.kron(np.eye(m), np.ones((n, 1)))
    # Centred, which changes no slope and spares the optimiser a long valley.
    slopes = [np.broadcast_to((x if x.ndim == 2 else x[:, None]) - x.mean(), (n, m)).T.ravel() for x in scores]
    design = np.column_stack([intercepts, *slopes])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            fitted = Logit(success.T.ravel(), design).fit(
                disp=0, maxiter=100, cov_type="cluster", cov_kwds={"groups": np.tile(clusters, m)}
            )
        except (np.linalg.LinAlgError, ArithmeticError, ValueError, Warning):
            return None
    return fitted if fitted.mle_retvals["converged"] else None


def _wald(success: Matrix, scores: list[Matrix], weights: Matrix, clusters: NDArray[np.int64] | None) -> Slope:
    """The weighted sum of the coefficients of ``scores``."""
    own = np.arange(len(success)) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    freedom = int(own.max())
    if freedom < 2:
        return _no_slope("fewer than three independent observations")
    fitted = _fit(success, scores, own)
    if fitted is None:
        return _no_slope("the model did not converge")
    k = len(weights)
    estimate = float(weights @ fitted.params[-k:])
    error = float(np.sqrt(weights @ fitted.cov_params()[-k:, -k:] @ weights))
    if not error > 1e-6 * max(1.0, abs(estimate)):
        return _no_slope("too few independent observations for a standard error")
    reach = float(scipy.stats.t.ppf(0.975, freedom)) * error
    p = _above_zero(2 * scipy.stats.t.sf(abs(estimate) / error, freedom))
    return Slope(estimate, estimate - reach, estimate + reach, p, "")
