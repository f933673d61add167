"""Plain logistic regression with cluster-robust standard errors: the effect on the average over clusters ("marginal").

Its coefficients are closer to 0 than the mixed model's ("conditional", within one query): the two answer different
questions and neither is wrong (Zeger, Liang and Albert, 1988).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from verseir.stats.glmm import Coefficients, prepare


def fit_marginal_logit(
    y: NDArray[np.float64], x: NDArray[np.float64], names: Sequence[str], clusters: NDArray[np.int64]
) -> Coefficients:
    """Fit ``y ~ x`` with standard errors that are robust to dependence within clusters (Liang and Zeger, 1986).

    The correction for few clusters is CR1, G / (G - 1) x (n - 1) / (n - k); tests are t with G - 1 degrees of freedom.
    No estimates are given where the columns separate the outcomes or there are no more clusters than columns.

    Args:
        y: float64 [n], 0 or 1.
        x: float64 [n, k], with a column of ones if there is to be an intercept.
        names: of the columns of ``x``.
        clusters: int64 [n].
    """
    from statsmodels.api import Logit

    order = np.lexsort((y, *x.T[::-1], clusters))
    y, x, clusters = y[order], x[order], np.unique(clusters[order], return_inverse=True)[1]
    n_clusters = int(clusters.max()) + 1 if len(clusters) else 0
    x, used, dropped, reason = prepare(y, x, names)
    separated = reason.startswith("separated")
    if not reason and n_clusters <= len(used):
        reason = f"{n_clusters} independent clusters are too few for {len(used)} coefficients"
    estimates, covariance, value, converged = (
        np.full(len(used), np.nan),
        np.full((len(used),) * 2, np.nan),
        np.nan,
        True,
    )
    if not reason:
        fitted = Logit(y, x).fit(
            disp=0, maxiter=100, cov_type="cluster", cov_kwds={"groups": clusters, "use_correction": True}
        )
        estimates, covariance, value = fitted.params, fitted.cov_params(), float(fitted.llf)
        converged = bool(fitted.mle_retvals["converged"]) and bool(np.isfinite(covariance).all())
        reason = "" if converged else "not converged: the optimiser stopped before a maximum"
    return Coefficients(
        used,
        estimates,
        covariance,
        reason,
        separated,
        converged and not reason,
        dropped,
        df=n_clusters - 1 if n_clusters > 1 else np.nan,
        log_likelihood=value,
        n_rows=len(y),
        n_groups=n_clusters,
    )
