"""The query sets and judgements that analyses read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from verseir.layout import Run, runs
from verseir.tables import QRELS, QUERIES, RUN, read_table


def read_query_set(results: str | Path, query_set: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The QUERIES and QRELS tables of one query set of a study."""
    folder = Path(results) / "queries"
    return read_table(folder / f"{query_set}.parquet", QUERIES), read_table(
        folder / f"{query_set}.qrels.parquet", QRELS
    )


def read_judged(results: str | Path, query_sets: Iterable[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The QUERIES and QRELS of several query sets, each in one frame; QRELS gets a column ``query_set``."""
    judged_in = {**QRELS.columns, "query_set": pl.String}
    queries, qrels = [pl.DataFrame(schema=dict(QUERIES.columns))], [pl.DataFrame(schema=judged_in)]
    for name in sorted(query_sets):
        part, judged = read_query_set(results, name)
        queries.append(part)
        qrels.append(judged.with_columns(query_set=pl.lit(name)))
    return pl.concat(queries), pl.concat(qrels)


def measured_queries(queries: pl.DataFrame, qrels: pl.DataFrame, judged_later: bool) -> list[str]:
    """The queries that a mean is over, sorted: all of the set, or those with a relevant poem so far if judged later."""
    if judged_later:
        queries = queries.join(qrels.filter(pl.col("grade") > 0), on="query_id", how="semi")
    return sorted(queries["query_id"].to_list())


def judged_runs(
    results: str | Path, cross: Mapping[str, Any], judged_later: Collection[str]
) -> Iterator[tuple[Run, pl.DataFrame, pl.DataFrame, list[str]]]:
    """Each run of a cross with its RUN table, the QRELS of its query set, and the queries that its means are over."""
    query_sets = {name: read_query_set(results, name) for name in cross["query_sets"]}
    for one in runs(cross):
        queries, qrels = query_sets[one.query_set]
        ids = measured_queries(queries, qrels, one.query_set in judged_later)
        yield one, read_table(one.path(Path(results) / "runs"), RUN), qrels, ids
