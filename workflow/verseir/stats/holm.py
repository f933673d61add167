"""Correction for several tests of one family."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def holm(p: Sequence[float]) -> list[float]:
    """Adjusted p values (Holm, 1979). A NaN is no test: it stays NaN and does not count in the family's size."""
    from statsmodels.stats.multitest import multipletests

    values = np.asarray(p, dtype=np.float64)
    adjusted = np.full(len(values), np.nan)
    tested = ~np.isnan(values)
    if tested.any():
        adjusted[tested] = multipletests(values[tested], method="holm")[1]
    return adjusted.tolist()
