"""Correction for several tests of one family."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def holm(p: Sequence[float]) -> list[float]:
    """Adjusted p values (Holm, 1979). A NaN is no test: it stays NaN and does not count in the family's size.

    Three lines of our own: ``statsmodels``' ``multipletests`` counts NaN, and collects garbage on each call, which took
    most of the time of analyses with many families.
    """
    values = np.asarray(p, dtype=np.float64)
    adjusted = np.full(len(values), np.nan)
    tested = np.flatnonzero(~np.isnan(values))
    ascending = tested[np.argsort(values[tested], kind="stable")]
    steps = values[ascending] * np.arange(len(ascending), 0, -1)
    adjusted[ascending] = np.minimum(1.0, np.maximum.accumulate(steps))
    return adjusted.tolist()
