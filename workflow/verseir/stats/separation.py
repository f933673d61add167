"""Can a logistic regression be estimated at all? Columns that add nothing, and outcomes that the columns separate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: A column counts as collinear where less than this share of its length is new.
COLLINEAR = 1e-8


def independent_columns(x: NDArray[np.float64]) -> list[int]:
    """The columns of ``x`` [n, k] to keep, ascending: one that the kept ones before it already make up is left out."""
    kept: list[int] = []
    basis = np.empty((len(x), 0))
    for j in range(x.shape[1]):
        rest = x[:, j] - basis @ (basis.T @ x[:, j])
        rest = rest - basis @ (basis.T @ rest)  # once more: the first pass leaves rounding errors along the basis
        length = float(np.linalg.norm(rest))
        if length > COLLINEAR * np.linalg.norm(x[:, j]):
            kept.append(j)
            basis = np.column_stack([basis, rest / length])
    return kept


def separating_columns(y: NDArray[np.float64], x: NDArray[np.float64]) -> list[int]:
    """The columns of ``x`` [n, k] with which a line separates the outcomes ``y`` [n] (0 or 1); empty if none does.

    Where one does, completely or quasi-completely (Albert and Anderson, 1984), the likelihood grows without end along
    it and no estimate exists. Found by the linear program of Konis (2007): the direction, each entry within -1 and 1,
    that puts no row on the wrong side and the rows on the right side as far away as can be. The columns of ``x`` must
    be independent.
    """
    from scipy.optimize import linprog

    if not x.size:
        return []
    scaled = x / np.maximum(np.abs(x).max(axis=0), 1e-300)
    signed = np.where(y[:, None] > 0.5, scaled, -scaled)
    solved = linprog(-signed.sum(axis=0), A_ub=-signed, b_ub=np.zeros(len(y)), bounds=(-1, 1), method="highs")
    if solved.status != 0 or -solved.fun < 1e-6:
        return []
    return [int(j) for j in np.flatnonzero(np.abs(solved.x) > 1e-6)]


def named(columns: Sequence[int], names: Sequence[str]) -> tuple[str, ...]:
    """The names of ``columns``."""
    return tuple(names[j] for j in columns)
