"""How much of what explains a system's success is shared wording, and how much the lengths of query and target?

Of each system a logistic regression of success on three groups of features: overlap (containment, longest shared run
and, where given, nearness under the reference encoder), query length and target length (logarithms of tokens). The
groups share McFadden's R2 by general dominance (``stats.shapley``).
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import polars as pl
from threadpoolctl import threadpool_limits

from verseir.analyses.mixed_model import outcome_rows
from verseir.analyses.paired import cells, left_out, notes, tidy
from verseir.stats.shapley import general_dominance
from verseir.tables import define

VARIANCE_SHARES = define(
    "variance_shares",
    {
        "corpus": pl.String,
        "query_set": pl.String,
        "mode": pl.String,
        "system": pl.String,
        "group": pl.String,
        "features": pl.String,
        "share": pl.Float64,
        "r2_total": pl.Float64,
        "n": pl.Int64,
        "note": pl.String,
    },
    nullable="share r2_total note",
    unique="corpus query_set mode system group",
)

OVERLAP = "overlap"
PLACE = ["corpus", "mode", "query_set", "query_id"]


@threadpool_limits.wrap(limits=1)
def variance_shares(
    per_query: pl.DataFrame,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    wording: pl.DataFrame,
    proximity: pl.DataFrame,
    success: str,
    fusions: Collection[str],
) -> pl.DataFrame:
    """The VARIANCE_SHARES table.

    Args:
        per_query: a PER_QUERY table.
        queries: the QUERIES of the known-item query sets.
        qrels: their QRELS, with a column ``query_set``.
        wording: their WORDING tables, in one.
        proximity: their PROXIMITY tables, in one, of one encoder; empty if there are none.
        success: a query succeeds where this measure is above 0.
        fusions: systems that fuse others, left out.
    """
    parts = [pl.DataFrame(schema=dict(VARIANCE_SHARES.columns))]
    nearness = proximity.select(*PLACE, "proximity").unique(PLACE)
    for cell in cells(per_query, queries, qrels, [success]):
        for mode in cell.modes():
            rows = outcome_rows(cell, mode, success, wording, fusions)
            rows = rows.with_columns(mode=pl.lit(mode)).join(nearness, on=PLACE, how="left")
            aimed = rows.filter(pl.col("containment").is_not_null()).sort("system", "query_id")
            without = rows.filter(pl.col("containment").is_null())["query_id"].n_unique()
            named = {"corpus": cell.corpus, "query_set": cell.query_set, "mode": mode}
            for system in rows["system"].unique().sort():
                own = aimed.filter(pl.col("system") == system)
                parts.append(
                    _shares(own, without).with_columns(
                        system=pl.lit(system), **{k: pl.lit(v) for k, v in named.items()}
                    )
                )
    table = pl.concat([part.select(list(VARIANCE_SHARES.columns)) for part in parts])
    return tidy(table).sort("corpus", "query_set", "mode", "system", "group")


def _shares(rows: pl.DataFrame, without_target: int) -> pl.DataFrame:
    """The shares of the groups for the rows of one system."""
    features = {
        OVERLAP: ["containment", "longest_run"],
        "query length": ["n_query_tokens"],
        "target length": ["n_target_tokens"],
    }
    if rows["proximity"].null_count() == 0 and len(rows):
        features[OVERLAP] = [*features[OVERLAP], "proximity"]
    lengths = pl.col("n_query_tokens", "n_target_tokens").clip(lower_bound=1).log()
    numbers = rows.with_columns(lengths)
    groups = {group: numbers.select(pl.col(names).cast(pl.Float64)).to_numpy() for group, names in features.items()}
    found = general_dominance(rows["success"].to_numpy().astype(np.float64), groups)
    note = notes(f"not estimable: {found.reason}" if found.reason else "", left_out(without_target))
    return pl.DataFrame(
        [
            {
                "group": group,
                "features": " ".join(names),
                "share": found.shares[group],
                "r2_total": found.r2,
                "n": len(rows),
                "note": note,
            }
            for group, names in features.items()
        ],
        schema={name: dtype for name, dtype in VARIANCE_SHARES.columns.items() if name not in ("system", *PLACE)},
    )
