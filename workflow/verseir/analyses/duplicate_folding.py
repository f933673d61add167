"""Would a measure change if a poem and its duplicates counted as one?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from verseir.analyses.clusters import clusters_of
from verseir.analyses.inputs import Indexed
from verseir.analyses.leaderboard import query_matrices
from verseir.analyses.paired import TAB, tidy
from verseir.layout import Run, runs
from verseir.measures import per_query as measured
from verseir.stats.bootstrap import bootstrap_means
from verseir.tables import RUN, define, read_table

DUPLICATE_FOLDING = define(
    "duplicate_folding",
    {
        "corpus": pl.String,
        "query_set": pl.String,
        "mode": pl.String,
        "system": pl.String,
        "measure": pl.String,
        "n_queries": pl.Int64,
        "n_duplicates": pl.Int64,
        "unfolded": pl.Float64,
        "folded": pl.Float64,
        "difference": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "n_changed": pl.Int64,
        "note": pl.String,
    },
    nullable="ci_low ci_high note",
    unique="corpus query_set mode system measure",
)
#: A value that moves by less has not changed: measures are sums of fractions.
ROUNDING = 1e-12


def class_names(duplicates: pl.DataFrame) -> pl.DataFrame:
    """poem_id and class_id of the poems of DUPLICATES that have a duplicate."""
    return duplicates.filter(pl.col("class_size") > 1).select("poem_id", "class_id")


def fold_run(run: pl.DataFrame, classes: pl.DataFrame) -> pl.DataFrame:
    """The columns query_id, poem_id and rank of a RUN in which a class of duplicates stands once, as its class_id.

    The class keeps the place of its best-ranked member; poems below those that are dropped move up.

    Args:
        run: a RUN frame, sorted by query_id and rank.
        classes: as ``class_names`` gives them.
    """
    ranked = run.select("query_id", "poem_id", "rank").with_row_index("row")
    members = ranked.join(classes, on="poem_id", maintain_order="left")
    dropped = members.filter(~pl.struct("query_id", "class_id").is_first_distinct())["row"]
    named = ranked.update(members.select("row", poem_id="class_id"), on="row")
    kept = named.filter(~pl.col("row").is_in(dropped.to_list()))
    rank = pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over("query_id")
    return kept.select("query_id", "poem_id", rank=rank)


def fold_qrels(qrels: pl.DataFrame, classes: pl.DataFrame) -> pl.DataFrame:
    """QRELS in which a class of duplicates stands once, as its class_id, with the highest grade of its members."""
    named = qrels.join(classes, on="poem_id", how="left")
    return (
        named.select("query_id", poem_id=pl.coalesce("class_id", "poem_id"), grade="grade")
        .group_by("query_id", "poem_id")
        .agg(pl.col("grade").max())
        .sort("query_id", "poem_id")
    )


def duplicate_folding(
    per_query: pl.DataFrame,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    duplicates: Mapping[str, pl.DataFrame],
    folder: str | Path,
    cross: Mapping[str, Any],
    measures: list[str],
    resamples: int,
    seed: int,
    indexed: Indexed | None = None,
) -> pl.DataFrame:
    """The DUPLICATE_FOLDING table: every run of a cross, with a retrieved duplicate of a gold poem counted as gold.

    Folded runs are measured by the judgements by which the others were: those of the poems that the mode indexes. The
    interval is that of the mean paired difference, BCa over queries, or poems where queries share one.

    Args:
        per_query: a PER_QUERY table, with the unfolded values.
        queries: the QUERIES of the query sets of the cross.
        qrels: their QRELS, with a column ``query_set``.
        duplicates: corpus -> its DUPLICATES.
        folder: of the RUN files, read only where a corpus has duplicates.
        cross: as ``layout.runs`` takes it.
        measures: those to report.
        resamples: bootstrap resamples.
        seed: of the bootstrap.
        indexed: which judgements each mode has; all where it is None.
    """
    parts = [pl.DataFrame(schema=dict(DUPLICATE_FOLDING.columns))]
    classes = {corpus: class_names(frame) for corpus, frame in duplicates.items()}
    chosen = per_query.filter(pl.col("measure").is_in(measures))
    present = set(chosen.select(Run._fields).unique().iter_rows())
    for (corpus, query_set, mode), before in query_matrices(chosen):
        cell = [one for one in runs(cross) if (one.corpus, one.query_set, one.mode) == (corpus, query_set, mode)]
        cell = [one for one in cell if one in present]
        if not cell:
            continue
        ids, of_corpus = before["query_id"].to_list(), classes[corpus]
        inside = pl.col("query_set") == query_set
        judged = qrels.filter(inside)
        columns = [f"{one.system}{TAB}{measure}" for one in cell for measure in sorted(set(measures))]
        columns = [column for column in columns if column in before.columns]
        before = before.select("query_id", pl.col(columns).fill_null(0.0))
        after = before
        if len(of_corpus):
            of_mode = judged if indexed is None else indexed.qrels(corpus, mode, query_set, judged)
            after = _folded(cell, of_corpus, of_mode, ids, measures, folder).select(columns)
        clusters = clusters_of(ids, queries.filter(inside), judged)
        table = _compared(before.select(columns), after.select(columns), clusters, resamples, seed)
        named = {"corpus": pl.lit(corpus), "query_set": pl.lit(query_set), "mode": pl.lit(mode)}
        if not len(of_corpus):
            named["note"] = pl.lit("the corpus has no duplicates")
        size = pl.lit(len(of_corpus), dtype=pl.Int64)
        parts.append(table.with_columns(**named, n_duplicates=size).select(list(DUPLICATE_FOLDING.columns)))
    return pl.concat(parts).sort("corpus", "query_set", "mode", "system", "measure")


def _folded(
    cell: list[Run],
    classes: pl.DataFrame,
    qrels: pl.DataFrame,
    ids: list[str],
    measures: list[str],
    folder: str | Path,
) -> pl.DataFrame:
    """The values of the folded runs, a column for each system and measure, rows in the order of ``ids`` (sorted)."""
    judged = fold_qrels(qrels, classes)
    parts = []
    for one in cell:
        values = measured(fold_run(read_table(one.path(folder), RUN), classes), judged, ids, measures)
        named = values.with_columns(column=pl.concat_str(pl.lit(one.system), "measure", separator=TAB))
        parts.append(named.pivot("column", index="query_id", values="value").drop("query_id"))
    return pl.concat(parts, how="horizontal")


def _compared(
    before: pl.DataFrame, after: pl.DataFrame, clusters: np.ndarray | None, resamples: int, seed: int
) -> pl.DataFrame:
    """A row for each column: its mean before and after folding, and the difference with its interval."""
    old, new = before.to_numpy(), after.to_numpy()
    difference = np.where(np.abs(new - old) < ROUNDING, 0.0, new - old)
    changed = np.count_nonzero(difference, axis=0)
    low, high = np.full(len(changed), np.nan), np.full(len(changed), np.nan)
    moved = np.flatnonzero(changed)  # where nothing moved, nothing was measured: an interval of zero width would lie
    if len(moved):
        interval = bootstrap_means(difference[:, moved], clusters, resamples, seed)
        low[moved], high[moved] = interval.low, interval.high
    notes = [
        "folding changes no query"
        if not n
        else "interval not estimable: fewer than two independent queries, or all change alike"
        if np.isnan(end)
        else None
        for n, end in zip(changed, low, strict=True)
    ]
    names = [column.split(TAB) for column in before.columns]
    frame = pl.DataFrame(
        {
            "system": [system for system, _ in names],
            "measure": [measure for _, measure in names],
            "n_queries": pl.Series([len(old)] * len(names), dtype=pl.Int64),
            "unfolded": old.mean(axis=0),
            "folded": new.mean(axis=0),
            "difference": difference.mean(axis=0),
            "ci_low": low,
            "ci_high": high,
            "n_changed": pl.Series(changed, dtype=pl.Int64),
            "note": pl.Series(notes, dtype=pl.String),
        }
    )
    return tidy(frame)
