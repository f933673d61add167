"""Do quoted words name one poem alone, where in the poem do they stand, and does each system find it?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verseir.analyses.clusters import clusters_of
from verseir.analyses.overlap_spectrum import no_interval
from verseir.stats.bootstrap import bootstrap_means, clopper_pearson
from verseir.tables import define

#: ``by_chance`` is the share that would be seen if each span stood in any verse of its poem alike.
QUOTED_SPANS = define(
    "quoted_spans",
    {
        "corpus": pl.String,
        "query_set": pl.String,
        "tokens": pl.Int64,
        "aspect": pl.String,
        "value": pl.String,
        "n_spans": pl.Int64,
        "n_all": pl.Int64,
        "share": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "interval": pl.String,
        "by_chance": pl.Float64,
        "note": pl.String,
    },
    nullable="share ci_low ci_high interval by_chance note",
    unique="corpus query_set aspect value",
)
SPAN_SUCCESS = define(
    "span_success",
    {
        "corpus": pl.String,
        "query_set": pl.String,
        "mode": pl.String,
        "system": pl.String,
        "measure": pl.String,
        "tokens": pl.Int64,
        "spans": pl.String,
        "n_successes": pl.Int64,
        "n_queries": pl.Int64,
        "rate": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "interval": pl.String,
        "note": pl.String,
    },
    nullable="rate ci_low ci_high interval note",
    unique="corpus query_set mode system measure spans",
)

ASPECTS = {"in other poems": ("unique", "repeated"), "place": ("opening", "middle", "final")}


def quoted_spans(
    wording: pl.DataFrame, queries: pl.DataFrame, qrels: pl.DataFrame, tokens: int, resamples: int, seed: int
) -> pl.DataFrame:
    """The QUOTED_SPANS table: how many quoted spans no other poem holds, and where in their poems they stand.

    The opening is the first verse of a poem and the final the last; a poem of one verse has only an opening. A span
    stands in the verse in which it starts. Shares of independent queries have the exact interval of Clopper and Pearson
    (1934); where queries share a poem it is that of ``bootstrap_means`` over poems.

    Args:
        wording: WORDING tables of any corpora and query sets.
        queries: the QUERIES of all query sets.
        qrels: the QRELS of all query sets, with a column ``query_set``.
        tokens: shared tokens in a row that make a query quoting, 2 or more.
        resamples: bootstrap resamples.
        seed: of the bootstrap.
    """
    spans = _quoting(wording, tokens)
    none = f"no query shares {tokens} tokens in a row with its target"
    rows = []
    for corpus, query_set in sorted(set(wording.select("corpus", "query_set").iter_rows())):
        cell = _of_set(spans, corpus, query_set)
        clusters = _clusters(cell["query_id"].to_list(), query_set, queries, qrels)
        chance = _places_by_chance(cell["n_verses"].to_numpy()) if len(cell) else {}
        for aspect, values in ASPECTS.items():
            for value in values:
                count, n, *rest, note = _share((cell[aspect] == value).to_numpy(), clusters, resamples, seed, none)
                row = (corpus, query_set, tokens, aspect, value, count, n, *rest, chance.get(value), note)
                rows.append(row)
    return pl.DataFrame(rows, schema=dict(QUOTED_SPANS.columns), orient="row")


def span_success(
    wording: pl.DataFrame,
    per_query: pl.DataFrame,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    tokens: int,
    success: str,
    resamples: int,
    seed: int,
) -> pl.DataFrame:
    """The SPAN_SUCCESS table: how often each system finds the target of a unique span, and of a repeated one.

    Args:
        wording: WORDING tables of any corpora and query sets.
        per_query: a PER_QUERY table.
        queries: the QUERIES of all query sets.
        qrels: the QRELS of all query sets, with a column ``query_set``.
        tokens: shared tokens in a row that make a query quoting, 2 or more.
        success: a measure; a query succeeds where it is above 0.
        resamples: bootstrap resamples, where queries share a poem.
        seed: of the bootstrap.
    """
    spans = _quoting(wording, tokens)
    judged = per_query.filter(pl.col("measure") == success).join(wording, on=["corpus", "query_set"], how="semi")
    rows = []
    groups = judged.group_by("corpus", "query_set", "mode", "system")
    for (corpus, query_set, mode, system), cell in sorted(groups, key=lambda item: item[0]):
        quoting = _of_set(spans, corpus, query_set).join(cell.select("query_id", "value"), on="query_id")
        for value in ASPECTS["in other poems"]:
            part = quoting.filter(pl.col("in other poems") == value).sort("query_id")
            clusters = _clusters(part["query_id"].to_list(), query_set, queries, qrels)
            share = _share((part["value"] > 0).to_numpy(), clusters, resamples, seed, f"no {value} span is quoted")
            rows.append((corpus, query_set, mode, system, success, tokens, value, *share))
    return pl.DataFrame(rows, schema=dict(SPAN_SUCCESS.columns), orient="row")


class _Share(NamedTuple):
    n_spans: int
    n_all: int
    share: float | None
    low: float | None
    high: float | None
    interval: str | None
    note: str | None


def _share(
    holds: NDArray[np.bool_], clusters: NDArray[np.int64] | None, resamples: int, seed: int, why_none: str
) -> _Share:
    count, n = int(holds.sum()), len(holds)
    if not n:
        return _Share(0, 0, None, None, None, None, f"not estimable: {why_none}")
    if clusters is None:
        return _Share(count, n, count / n, *clopper_pearson(count, n), "exact", None)
    values = holds.astype(np.float64)
    _, low, high = bootstrap_means(values[:, None], clusters, resamples, seed)
    if np.isnan(low[0]):
        return _Share(count, n, count / n, None, None, None, no_interval(values, clusters))
    return _Share(count, n, count / n, float(low[0]), float(high[0]), "by poem", None)


def _quoting(wording: pl.DataFrame, tokens: int) -> pl.DataFrame:
    """The queries that quote, with a column for each aspect."""
    verse = pl.col("verse_index")
    place = (
        pl.when(verse == 0)
        .then(pl.lit("opening"))
        .when(verse == pl.col("n_verses") - 1)
        .then(pl.lit("final"))
        .otherwise(pl.lit("middle"))
    )
    unique = pl.when(pl.col("n_other_poems") == 0).then(pl.lit("unique")).otherwise(pl.lit("repeated"))
    quoting = wording.filter(pl.col("longest_run") >= tokens, pl.col("n_other_poems").is_not_null())
    return quoting.with_columns(unique.alias("in other poems"), place.alias("place"))


def _of_set(spans: pl.DataFrame, corpus: str, query_set: str) -> pl.DataFrame:
    return spans.filter(pl.col("corpus") == corpus, pl.col("query_set") == query_set).sort("query_id")


def _clusters(
    query_ids: list[str], query_set: str, queries: pl.DataFrame, qrels: pl.DataFrame
) -> NDArray[np.int64] | None:
    inside = pl.col("query_set") == query_set
    return clusters_of(query_ids, queries.filter(inside), qrels.filter(inside)) if query_ids else None


def _places_by_chance(n_verses: NDArray[np.int64]) -> dict[str, float]:
    opening, final = 1 / n_verses, np.where(n_verses > 1, 1 / n_verses, 0.0)
    return {
        "opening": float(opening.mean()),
        "middle": float((1 - opening - final).mean()),
        "final": float(final.mean()),
    }
