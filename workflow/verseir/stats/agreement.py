"""Agreement of two raters on an ordered scale."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np


class Kappa(NamedTuple):
    """Chance-corrected agreement with its asymptotic 95% interval; NaN where both raters use one category.

    The ends are NaN where the raters agree throughout.
    """

    estimate: float
    low: float
    high: float


def kappa(
    first: Sequence[Hashable], second: Sequence[Hashable], labels: Sequence[Hashable], weights: str = "quadratic"
) -> Kappa:
    """Cohen's kappa of two ratings of the same items, weighted by squared distance (Cohen, 1968) by default.

    ``labels`` is the whole scale in its order, one step between neighbours: a category that nobody used still holds the
    others apart, so it changes the weights. The interval is that of Fleiss, Cohen and Everitt (1969).

    Args:
        first: ratings of the first rater [n].
        second: ratings of the second [n].
        labels: all categories, lowest first.
        weights: ``quadratic`` or ``none``.

    Raises:
        ValueError: the ratings differ in number, or one is not of the scale.
    """
    from statsmodels.stats.inter_rater import cohens_kappa

    place = {label: index for index, label in enumerate(labels)}
    strange = sorted({str(rating) for rating in (*first, *second) if rating not in place})
    if strange:
        raise ValueError(f"not a category of the scale: {', '.join(strange)}")
    table = np.zeros((len(labels), len(labels)))
    for one, other in zip(first, second, strict=True):
        table[place[one], place[other]] += 1
    if np.count_nonzero(table.sum(axis=0) + table.sum(axis=1)) < 2:
        return Kappa(math.nan, math.nan, math.nan)
    with np.errstate(invalid="ignore"):
        found = cohens_kappa(table, wt="quadratic" if weights == "quadratic" else None)
    if not found.var_kappa > 1e-12:  # perfect agreement: an interval of zero width would lie
        return Kappa(float(found.kappa), math.nan, math.nan)
    return Kappa(float(found.kappa), max(-1.0, float(found.kappa_low)), min(1.0, float(found.kappa_upp)))
