"""Reciprocal-rank fusion of runs (Cormack, Clarke and Büttcher 2009)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from verseir.faults import UserError
from verseir.ranking import DEPTH, check_depth, top_k

#: The constant of the paper.
K = 60


def reciprocal_rank_fusion(arms: Sequence[pl.DataFrame], k: float = K, depth: int = DEPTH) -> pl.DataFrame:
    """Fuse runs: a poem's score is the sum of ``1 / (k + rank)`` over the arms that retrieve it; ranks count from 1.

    The order of the arms does not matter: terms are summed from the largest down, in float64, and the sum is rounded to
    float32. The chunk shown for a poem is that of the arm that ranks it highest; among equals, the first by name.

    Args:
        arms: RUN frames over the same poems.
        k: at least 0.
        depth: poems kept per query.

    Returns:
        A RUN frame, sorted by query_id and rank.

    Raises:
        UserError: no arm, or k below 0.
    """
    check_depth(depth)
    if not arms:
        raise UserError("nothing to fuse", hint="name at least one system to fuse")
    if not 0 <= k < float("inf"):
        raise UserError(f"reciprocal-rank fusion with k={k}", hint="k is at least 0; 60 is the usual value")
    key = ["query_id", "poem_id"]
    # Place 0 is the best rank of a poem, 1 its second best ...
    rows = (
        pl.concat([arm.select(*key, "rank", "chunk_id") for arm in arms])
        .sort(*key, "rank", "chunk_id", nulls_last=True)
        .with_columns(pl.int_range(pl.len()).over(key).alias("place"))
    )
    first = rows["place"].to_numpy() == 0
    poem = np.cumsum(first) - 1
    score = np.zeros(first.sum(), dtype=np.float64)
    terms = 1.0 / (k + rows["rank"].to_numpy())
    for place in range(len(arms)):
        at = rows["place"].to_numpy() == place
        score[poem[at]] += terms[at]
    return top_k(rows.filter(first).select(*key, "chunk_id", pl.Series("score", score)), depth)
