"""How often each unit is drawn: the resamples that bootstrap intervals share."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

#: How many draws are held at a time: few enough to stay near the processor.
HELD = 250_000
#: How many of several strata, which are drawn in turns: with another number they would be other draws.
HELD_OF_STRATA = 4_000_000


def resample_counts(groups: list[int], resamples: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Blocks float64 [b, c] of how often each of c units is drawn, ``resamples`` rows in all.

    ``groups`` are the sizes of the strata, in order, with c their sum: as many units are drawn from each stratum, with
    replacement, as it has. The rows depend on ``seed`` and the sizes alone.
    """
    rng = np.random.default_rng(seed)
    c = sum(groups)
    rows = max(1, (HELD if len(groups) == 1 else HELD_OF_STRATA) // max(1, c))
    for start in range(0, resamples, rows):
        count = min(rows, resamples - start)
        parts = []
        for size in groups:
            drawn = rng.integers(0, size, size=(count, size))
            drawn += size * np.arange(count)[:, None]
            parts.append(np.bincount(drawn.ravel(), minlength=count * size).reshape(count, size))
        yield np.concatenate(parts, axis=1).astype(np.float64)
