"""The Laplace approximation of the likelihood of a logistic regression with a random intercept for each group."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray


class LaplaceLikelihood:
    """Log-likelihood of ``y ~ x + sd * u[group]``, u standard normal, as a function of (coefficients, sd).

    Each group's integral over u is replaced by that of the normal density with the same peak and curvature (Tierney and
    Kadane, 1986), which is what lme4 maximises with ``nAGQ = 1``.

    Args:
        y: float64 [n], 0 or 1, rows sorted by group.
        x: float64 [n, k].
        groups: int64 [n], 0, 1, 2 ... ascending.
    """

    def __init__(self, y: NDArray[np.float64], x: NDArray[np.float64], groups: NDArray[np.int64]) -> None:
        self.y, self.x, self.groups = y, x, groups
        self.starts = np.flatnonzero(np.diff(groups, prepend=-1))
        self.peaks = np.zeros(len(self.starts))

    def _sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.add.reduceat(values, self.starts, axis=0)

    def _find_peaks(self, fixed: NDArray[np.float64], sd: float) -> None:
        """Each group's most likely u, by Newton steps that move no row by more than 4 log-odds."""
        longest = 4 / max(abs(sd), 1e-12)
        for _ in range(200):
            p = scipy.special.expit(fixed + sd * self.peaks[self.groups])
            slope = sd * self._sums(self.y - p) - self.peaks
            step = slope / (1 + sd**2 * self._sums(p * (1 - p)))
            self.peaks = self.peaks + np.clip(step, -longest, longest)
            if np.abs(step).max() < 1e-12:
                return

    def value_and_gradient(self, parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """The log-likelihood and its derivatives, float64 [k + 1], at coefficients and sd, float64 [k + 1]."""
        beta, sd = parameters[:-1], parameters[-1]
        fixed = self.x @ beta
        self._find_peaks(fixed, sd)
        u = self.peaks
        eta = fixed + sd * u[self.groups]
        p = scipy.special.expit(eta)
        w = p * (1 - p)
        skew = w * (1 - 2 * p)
        spread = self._sums(w)
        curve = 1 + sd**2 * spread
        value = self._sums(self.y * eta - np.logaddexp(0, eta)) - u**2 / 2 - np.log(curve) / 2
        # the peak moves with the parameters; that matters to the curvature only, since at the peak the slope in u is 0
        u_beta = -sd * self._sums(w[:, None] * self.x) / curve[:, None]
        u_sd = (self._sums(self.y - p) - sd * u * spread) / curve
        skews = self._sums(skew)
        curve_beta = sd**2 * (self._sums(skew[:, None] * self.x) + sd * skews[:, None] * u_beta)
        curve_sd = 2 * sd * spread + sd**2 * skews * (u + sd * u_sd)
        d_beta = self.x.T @ (self.y - p) - (curve_beta / curve[:, None]).sum(axis=0) / 2
        d_sd = float(u @ self._sums(self.y - p) - (curve_sd / curve).sum() / 2)
        return float(value.sum()), np.append(d_beta, d_sd)

    def curvature(
        self, parameters: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64], float, NDArray[np.float64]]:
        """Near a maximum: the log-likelihood, the Newton step to the top, its length, the covariance of estimates.

        The step is float64 [k + 1]; its length is in standard errors, squared; infinite where the second derivatives
        (central differences of the gradient) are not those of a maximum. The covariance is float64 [k + 1, k + 1].
        """
        value, gradient = self.value_and_gradient(parameters)
        size = len(parameters)
        hessian = np.empty((size, size))
        for j in range(size):
            step = np.zeros(size)
            step[j] = 1e-4 * max(1.0, abs(parameters[j]))
            above = self.value_and_gradient(parameters + step)[1]
            below = self.value_and_gradient(parameters - step)[1]
            hessian[j] = (above - below) / (2 * step[j])
        information = -(hessian + hessian.T) / 2
        try:
            np.linalg.cholesky(information)
            covariance = np.asarray(np.linalg.inv(information), dtype=np.float64)
        except np.linalg.LinAlgError:
            return value, np.full(size, np.nan), np.inf, np.full((size, size), np.nan)
        newton = covariance @ gradient
        return value, newton, float(gradient @ newton), covariance
