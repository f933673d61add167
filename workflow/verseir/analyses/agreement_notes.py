"""What a row of agreement lacks and why, and what a reader of its intervals must know."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from verseir.formats import listing
from verseir.stats.clustered import FEW, Clustered

FEW_ITEMS = "fewer than two items"


def lacking(found: Mapping[str, Clustered], constant: Mapping[str, str], n_items: int, n_clusters: int) -> list[str]:
    """Why estimates or their intervals are not there, those of one reason together; empty where all are.

    Args:
        found: the name of each estimate -> what was found of it.
        constant: name -> what is so where the estimate of several items is undefined.
        n_items: how many items they are of.
        n_clusters: how many independent queries these are of.
    """
    reasons: dict[tuple[str, str], list[str]] = {}
    for name, each in found.items():
        if math.isnan(each.estimate):
            reasons.setdefault(("", FEW_ITEMS if n_items < 2 else constant[name]), []).append(name)
        elif math.isnan(each.low):
            reasons.setdefault(("interval of ", _no_interval(each, n_clusters)), []).append(name)
    return [f"{what}{listing(names)} not estimable: {why}" for (what, why), names in reasons.items()]


def _no_interval(found: Clustered, n_clusters: int) -> str:
    if n_clusters < 2:
        return "fewer than two independent queries"
    return "they agree throughout" if abs(found.estimate) > 1 - 1e-9 else "too little variation between queries"


def few_queries(n_clusters: int, correlations: Sequence[Clustered], shares: Sequence[Clustered] = ()) -> str:
    """A warning of intervals from a bootstrap of few independent queries; empty where there is none, or none of few.

    A share of 0 or 1 has an exact interval.
    """
    drawn = [*correlations, *(share for share in shares if 0 < share.estimate < 1)]
    few = n_clusters < FEW and any(not math.isnan(found.low) for found in drawn)
    return f"{n_clusters} independent queries only: intervals are too narrow" if few else ""
