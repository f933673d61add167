"""Ties: how often the order of equal scores decides, and how much it could change.

Tied documents are documents of one query with the same float32 score in the run. A tie touches rank c of a query when a
group of tied documents holds both rank c and rank c + 1: which of them stand above the cut is then decided by the
tie-break rule, not by the system. R is the number of relevant poems of the query; with R = 0 it is not touched.

The lowest (highest) value of a measure is reached when in each group of tied documents the judged ones come last
(first), higher grades last (first) among them. It holds for every measure of ``verseir.measures``: none of them rises
when a relevant document moves down, or a judged one below an unjudged one; Bpref and measures on condensed lists see
the order of the judged ones alone.

A run is cut at its depth. Documents beyond the cut may have tied with the last ones of the run; they are not in it, so
at the cut itself no tie is seen, and the bounds are over the orders of the documents that are in the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verseir.measures import (
    UNMEASURED,
    Hits,
    Judged,
    count_found,
    match_judged,
    parse_measure,
    place_in_group,
    read_judgements,
)

CUTS = (5, 10)


def tie_groups(run: pl.DataFrame) -> pl.DataFrame:
    """Add to a RUN frame, sorted by query_id and rank, the first and the last rank of each document's tie group."""
    group = pl.struct("query_id", "score").rle_id()
    return run.sort("query_id", "rank").with_columns(
        pl.col("rank").min().over(group).alias("first").cast(pl.Int64),
        pl.col("rank").max().over(group).alias("last").cast(pl.Int64),
    )


class Bounds(NamedTuple):
    """What each query has by each measure, and what it could have under other orders of tied documents.

    Attributes:
        query_ids: q names, bytewise ascending.
        measures: m names, ascending.
        values: float64 [q, m], as ranked.
        lowest: float64 [q, m], with ties at their worst, each query and measure for itself.
        highest: float64 [q, m], with ties at their best.
    """

    query_ids: list[str]
    measures: list[str]
    values: NDArray[np.float64]
    lowest: NDArray[np.float64]
    highest: NDArray[np.float64]


def tie_bounds(run: pl.DataFrame, judged: Judged, measures: Sequence[str]) -> Bounds:
    """The values of each query of one run, and the lowest and highest that ties allow.

    Args:
        run: a RUN frame.
        judged: the judgements of the queries, as ``measures.read_judgements`` gives them.
        measures: names that ``measures.parse_measure`` knows.

    Raises:
        UserError: a measure is unknown.
    """
    return _bounds(run, tie_groups(run.select("query_id", "poem_id", "rank", "score")), judged, measures)


def _bounds(run: pl.DataFrame, groups: pl.DataFrame, judged: Judged, measures: Sequence[str]) -> Bounds:
    names = sorted(set(measures))
    parsed = [parse_measure(name) for name in names]
    rows = match_judged(groups, judged)
    query, first, last, grade = (rows[column].to_numpy() for column in ("query", "first", "last", "grade"))
    as_ranked = Hits(query, rows["rank"].to_numpy(), grade, count_found(run, judged))
    orders = (
        as_ranked,
        replace(_rearranged(query, last, grade, down=True), n_found=as_ranked.n_found),
        replace(_rearranged(query, first, grade, down=False), n_found=as_ranked.n_found),
    )
    shape = (len(names), len(judged.query_ids))
    found = (np.array([measure.values(hits, judged) for measure in parsed]).reshape(shape).T for hits in orders)
    return Bounds(judged.query_ids, names, *found)


def tie_report(
    run: pl.DataFrame, qrels: pl.DataFrame, query_ids: Sequence[str], measures: Sequence[str]
) -> pl.DataFrame:
    """Report the ties of one run.

    Args:
        run: a RUN frame.
        qrels: a QRELS frame.
        query_ids: all queries of the set.
        measures: names that ``measures.parse_measure`` knows.

    Returns:
        One row per measure, sorted by it: measure, n_queries, share_tied_at_5, share_tied_at_10, share_tied_at_R, mean,
        lowest, highest: the mean over the queries as ranked, and at the lowest and the highest value of each query;
        and a note, where there is no query: all numbers are null then.
    """
    judged = read_judgements(qrels, query_ids)
    groups = tie_groups(run.select("query_id", "poem_id", "rank", "score"))
    bounds = _bounds(run, groups, judged, measures)
    shares = _shares_tied(groups, judged.query_ids, judged.n_relevant)
    n, none = len(bounds.measures), len(judged.query_ids) == 0
    means = {"mean": bounds.values, "lowest": bounds.lowest, "highest": bounds.highest}
    return pl.DataFrame(
        {
            "measure": pl.Series(bounds.measures, dtype=pl.String),
            "n_queries": pl.Series([len(judged.query_ids)] * n, dtype=pl.Int64),
            **{name: pl.Series([share] * n, dtype=pl.Float64) for name, share in shares.items()},
            **{
                name: pl.Series([None if none else float(column.mean()) for column in values.T], dtype=pl.Float64)
                for name, values in means.items()
            },
            "note": pl.Series([UNMEASURED if none else None] * n, dtype=pl.String),
        }
    )


def _rearranged(query: np.ndarray, end: np.ndarray, grade: np.ndarray, down: bool) -> Hits:
    """Move the judged documents of each tie group to its ``end``: its last ranks if ``down``, else its first ranks.

    Either way the higher grade goes further.
    """
    by_group = np.lexsort((-grade, end, query))
    query, end, grade = query[by_group], end[by_group], grade[by_group]
    # A group is known by its query and its end; the two in one number.
    steps = place_in_group(query * (end.max(initial=0) + 1) + end) - 1
    rank = end - steps if down else end + steps
    by_rank = np.lexsort((rank, query))
    return Hits(query[by_rank], rank[by_rank], grade[by_rank])


def _shares_tied(groups: pl.DataFrame, query_ids: list[str], n_relevant: np.ndarray) -> dict[str, float | None]:
    """The share of ``query_ids`` in which a tie touches rank 5, 10 and R."""
    sizes = pl.DataFrame({"query_id": pl.Series(query_ids, dtype=pl.String), "R": n_relevant})
    rows = groups.join(sizes, on="query_id")
    cuts = {f"share_tied_at_{cut}": pl.lit(cut) for cut in CUTS} | {"share_tied_at_R": pl.col("R")}
    touched = {name: rows.filter((pl.col("first") <= cut) & (cut < pl.col("last"))) for name, cut in cuts.items()}
    n = len(query_ids)
    return {name: found["query_id"].n_unique() / n if n else None for name, found in touched.items()}
