"""Does success depend on how many poems of the poet the corpus has?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from verseir.analyses.era_trend import left_out
from verseir.analyses.paired import cells, notes, tested
from verseir.analyses.targets import target_values
from verseir.stats.pooled_logit import pooled_slope
from verseir.tables import define

POET_FREQUENCY = define(
    "poet_frequency",
    {
        "family": pl.String,
        "corpus": pl.String,
        "query_set": pl.String,
        "mode": pl.String,
        "system": pl.String,
        "quantity": pl.String,
        "n_queries": pl.Int64,
        "n_poets": pl.Int64,
        "estimate": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "test": pl.String,
        "p": pl.Float64,
        "p_holm": pl.Float64,
        "family_size": pl.Int64,
        "note": pl.String,
    },
    nullable="estimate ci_low ci_high p p_holm note",
    unique="corpus query_set mode system quantity",
)


def poems_by_poet(poems: pl.DataFrame) -> pl.DataFrame:
    """poem_id, poet and n_poems, those that the corpus has by that poet; poems without a poet are left out."""
    named = poems.select("poem_id", pl.col("poet").str.strip_chars().replace("", None)).drop_nulls("poet")
    return named.with_columns(n_poems=pl.len().over("poet").cast(pl.Int64))


def poet_frequency(
    per_query: pl.DataFrame,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    poems: Mapping[str, pl.DataFrame],
    success: str,
) -> pl.DataFrame:
    """The POET_FREQUENCY table: log-odds of success for each doubling of the poems by the target's poet, per system.

    The standard error is robust to what the queries for one poet have in common, as the number of poems is the poet's.
    A query whose target has no poet, or whose targets have several, is left out and counted in the note.

    Args:
        per_query: a PER_QUERY table.
        queries: the QUERIES of the query sets to analyse; others are passed over.
        qrels: their QRELS, with a column ``query_set``.
        poems: corpus -> its POEMS.
        success: the measure; a query succeeds where it is above 0.
    """
    rows: list[dict[str, Any]] = []
    for cell in cells(per_query.filter(pl.col("corpus").is_in(list(poems))), queries, qrels, [success]):
        counted = poems_by_poet(poems[cell.corpus])
        coded = counted.with_columns(value=pl.col("poet").rank("dense").cast(pl.Int64) - 1)
        sizes = coded.unique("value").sort("value")["n_poems"].to_numpy().astype(np.float64)
        judged = qrels.filter(pl.col("query_set") == cell.query_set)
        poet = target_values(cell.query_ids, judged, coded.select("poem_id", "value"))
        known = ~np.isnan(poet)
        poet_of = poet[known].astype(np.int64)
        of_known = cell.rows(known)
        for mode, system, _ in sorted(cell.columns):
            outcome = (of_known.of(mode, system, success) > 0).astype(np.float64)[:, None]
            slope = pooled_slope(outcome, np.log2(sizes[poet_of]), poet_of)
            rows.append(
                {
                    "family": f"poet_frequency/{cell.corpus}/{cell.query_set}/{mode}",
                    "corpus": cell.corpus,
                    "query_set": cell.query_set,
                    "mode": mode,
                    "system": system,
                    "quantity": "slope per doubling of the poet's poems",
                    "n_queries": int(known.sum()),
                    "n_poets": len(np.unique(poet_of)),
                    "estimate": slope.estimate,
                    "ci_low": slope.low,
                    "ci_high": slope.high,
                    "test": "logit, robust by poet",
                    "p": slope.p,
                    "note": notes(slope.note, left_out(known, "poet")),
                }
            )
    return tested(rows, POET_FREQUENCY, ["corpus", "query_set", "mode", "system"])
