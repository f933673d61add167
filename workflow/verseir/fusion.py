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
    table = pl.DataFrame(schema={"query_id": pl.String, "poem_id": pl.String})
    for i, arm in enumerate(arms):
        columns = arm.select(*key, pl.col("rank").alias(f"rank{i}"), pl.col("chunk_id").alias(f"chunk{i}"))
        table = table.join(columns, on=key, how="full", coalesce=True)
    ranks = pl.col([f"rank{i}" for i in range(len(arms))])
    score = np.zeros(len(table))
    for rank in np.sort(table.select(ranks.cast(pl.Float64).fill_null(np.inf)).to_numpy(), axis=1).T:
        score += 1.0 / (k + rank)
    best = pl.min_horizontal(ranks)
    chunk = pl.min_horizontal(pl.when(pl.col(f"rank{i}") == best).then(f"chunk{i}") for i in range(len(arms)))
    return top_k(table.select(*key, pl.Series("score", score), chunk.alias("chunk_id")), depth)
