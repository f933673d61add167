"""How good is each system? Means with intervals, of a query set and of each register in it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from verseir.analyses.clusters import clusters_of, no_interval
from verseir.layout import Run, runs
from verseir.measures import RELEVANT, UNMEASURED, parse_measure
from verseir.stats.bootstrap import bootstrap_means
from verseir.tables import LEADERBOARD, REGISTERS

CELL = ["corpus", "query_set", "mode"]
COLUMN = ["system", "measure"]


def query_matrices(per_query: pl.DataFrame) -> Iterator[tuple[tuple[str, ...], pl.DataFrame]]:
    """For each corpus, query set and mode: a frame with ``query_id`` and a float64 column for each system and measure.

    Rows are sorted by query and columns by name, so that nothing downstream depends on the order of the input.
    Column names are ``system`` and ``measure`` joined by a tab.
    """
    for key, cell in sorted(per_query.group_by(CELL), key=lambda item: item[0]):
        named = cell.with_columns(column=pl.concat_str(COLUMN, separator="\t")).sort("query_id", "column")
        wide = named.pivot("column", index="query_id", values="value", sort_columns=True)
        yield key, wide.sort("query_id")


#: Why a measure over judged poems alone says nothing.
NOTHING_TO_TELL_APART = "every judged poem of the set is relevant: there is nothing to tell it apart from"


def means(
    per_query: pl.DataFrame, queries: pl.DataFrame, qrels: pl.DataFrame, resamples: int, seed: int
) -> pl.DataFrame:
    """The LEADERBOARD table: BCa bootstrap intervals over queries, or over poems where queries share one.

    Args:
        per_query: a PER_QUERY table.
        queries: the QUERIES of all its query sets.
        qrels: the QRELS of all its query sets, with a column ``query_set``.
        resamples: bootstrap resamples.
        seed: of the bootstrap.
    """
    rows = []
    for (corpus, query_set, mode), wide in query_matrices(per_query):
        inside = pl.col("query_set") == query_set
        clusters = clusters_of(wide["query_id"].to_list(), queries.filter(inside), qrels.filter(inside))
        columns = wide.columns[1:]
        all_relevant = not len(qrels.filter(inside & (pl.col("grade") < RELEVANT)))
        interval = bootstrap_means(wide.select(columns).to_numpy(), clusters, resamples, seed)
        for j, column in enumerate(columns):
            system, measure = column.split("\t")
            ends = (interval.mean[j], interval.low[j], interval.high[j])
            note = no_interval(len(wide), clusters) if math.isnan(interval.low[j]) else None
            if all_relevant and parse_measure(measure).needs_judged:
                note = NOTHING_TO_TELL_APART
            rows.append((corpus, query_set, mode, system, measure, len(wide), *ends, note))
    frame = pl.DataFrame(rows, schema=dict(LEADERBOARD.columns), orient="row")
    return frame.with_columns(pl.col("ci_low", "ci_high").fill_nan(None)).sort(CELL + COLUMN)


def unmeasured(per_query: pl.DataFrame, cross: Mapping[str, Any], measures: Sequence[str]) -> pl.DataFrame:
    """LEADERBOARD rows of the runs of a cross, as ``layout.runs`` takes it, of which no query could be measured."""
    measured = set(per_query.select(Run._fields).unique().iter_rows())
    rows = [
        (run.corpus, run.query_set, run.mode, run.system, measure, 0, None, None, None, UNMEASURED)
        for run in runs(cross)
        for measure in measures
        if run not in measured
    ]
    return pl.DataFrame(rows, schema=dict(LEADERBOARD.columns), orient="row")


def means_by_register(
    per_query: pl.DataFrame, queries: pl.DataFrame, qrels: pl.DataFrame, resamples: int, seed: int
) -> pl.DataFrame:
    """The REGISTERS table: ``means`` of each register alone. Queries without a register are left out."""
    parts = [pl.DataFrame(schema=dict(REGISTERS.columns))]
    known = queries.filter(pl.col("register").is_not_null()).select("query_set", "query_id", "register")
    for (register,), members in sorted(known.group_by(["register"]), key=lambda item: item[0]):
        inside = per_query.join(members, on=["query_set", "query_id"], how="semi")
        part = means(inside, queries, qrels, resamples, seed)
        parts.append(part.with_columns(register=pl.lit(register)).select(list(REGISTERS.columns)))
    return pl.concat(parts).sort("corpus", "query_set", "register", "mode", *COLUMN)
