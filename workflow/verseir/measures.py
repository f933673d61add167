"""Retrieval measures per query, from ranks alone; equal to trec_eval's.

A poem is relevant from grade 1 on. The gain of nDCG is the grade itself (Järvelin and Kekäläinen 2002, with the
discount of trec_eval, log2(rank + 1)); grades below 0 gain nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from verseir.faults import UserError, closest

#: The lowest grade of a relevant poem.
RELEVANT = 1


@dataclass(frozen=True)
class Judged:
    """The relevant poems of a query set, whatever a run finds of them.

    Attributes:
        query_ids: q names, bytewise ascending.
        relevant: columns query_id, query (index of it), poem_id, grade; sorted by query, then grade, highest first.
        n_relevant: int64 [q], relevant poems per query.
    """

    query_ids: list[str]
    relevant: pl.DataFrame
    n_relevant: np.ndarray


@dataclass(frozen=True)
class Hits:
    """Relevant poems that a run found, by query and rank: int64 [m] each; ranks count from 1."""

    query: np.ndarray
    rank: np.ndarray
    grade: np.ndarray


@dataclass(frozen=True)
class Measure:
    """A measure and its cutoff. Prints as ``ir_measures`` spells it."""

    family: str
    cutoff: int | None = None

    def __str__(self) -> str:
        return self.family + ("" if self.cutoff is None else f"@{self.cutoff}")

    def values(self, hits: Hits, judged: Judged) -> np.ndarray:
        """float64 [q]: the value of each query; 0 for a query without results or without relevant poems."""
        if self.cutoff is not None:
            within = hits.rank <= self.cutoff
            hits = Hits(hits.query[within], hits.rank[within], hits.grade[within])
        return _FAMILIES[self.family](hits, judged, self.cutoff)


def parse_measure(name: str) -> Measure:
    """The measure that a name means: ``Recall@5`` and ``R@5``, ``MRR`` and ``RR``, ``MAP`` and ``AP``, ``nDCG@10`` ...

    Raises:
        UserError: an unknown name, a cutoff that is missing, not a whole number above 0, or out of place.
    """
    match = re.fullmatch(r"([A-Za-z-]+)(?:@([1-9][0-9]*))?", name.strip())
    family = _ALIASES.get(match[1].lower()) if match else None
    if match is None or family is None:
        raise UserError(f"unknown measure '{name}'", hint=closest(name.strip(), EXAMPLES))
    if match[2] is None and family in ("R", "P", "Success"):
        raise UserError(f"measure '{name}' needs a cutoff", hint=f"for example {match[1]}@5")
    if match[2] is not None and family == "Rprec":
        raise UserError(f"measure '{name}' takes no cutoff", hint="its cutoff is the number of relevant poems: Rprec")
    return Measure(family, int(match[2]) if match[2] else None)


def read_judgements(qrels: pl.DataFrame, query_ids: Sequence[str]) -> Judged:
    """Collect the relevant poems of ``query_ids`` from a QRELS frame; judgements of other queries are passed over."""
    names = sorted(set(query_ids))
    index = pl.DataFrame({"query_id": pl.Series(names, dtype=pl.String), "query": np.arange(len(names))})
    relevant = (
        qrels.select("query_id", "poem_id", pl.col("grade").cast(pl.Int64))
        .filter(pl.col("grade") >= RELEVANT)
        .join(index, on="query_id")
        .sort("query", "grade", "poem_id", descending=[False, True, False])
    )
    counts = np.bincount(relevant["query"].to_numpy(), minlength=len(names))
    return Judged(names, relevant, counts)


def match_relevant(run: pl.DataFrame, judged: Judged) -> pl.DataFrame:
    """The rows of a run that are relevant, with columns ``query`` and ``grade`` added, sorted by query and rank."""
    return (
        run.join(judged.relevant.select("query_id", "poem_id", "query", "grade"), on=["query_id", "poem_id"])
        .sort("query", "rank")
        .with_columns(pl.col("rank").cast(pl.Int64))
    )


def find_hits(run: pl.DataFrame, judged: Judged) -> Hits:
    """Find the relevant poems of each query in a RUN frame."""
    rows = match_relevant(run.select("query_id", "poem_id", "rank"), judged)
    return Hits(*(rows[column].to_numpy() for column in ("query", "rank", "grade")))


#: Why a query set has no mean: it is judged later, or holds no query.
UNMEASURED = "not estimable: no query of the set has a relevant poem"


def per_query(
    run: pl.DataFrame, qrels: pl.DataFrame, query_ids: Sequence[str], measures: Sequence[str]
) -> pl.DataFrame:
    """Measure one run.

    Args:
        run: a RUN frame; only its ranks count.
        qrels: a QRELS frame.
        query_ids: all queries of the set: one with no results, or with no relevant poem, scores 0. Other queries of the
            run are passed over.
        measures: names that ``parse_measure`` knows.

    Returns:
        query_id, measure (named as in ``measures``), value (float64); sorted by query_id and measure.
    """
    names = sorted(set(measures))
    parsed = [parse_measure(name) for name in names]
    judged = read_judgements(qrels, query_ids)
    hits = find_hits(run, judged)
    n = len(judged.query_ids)
    values = np.array([measure.values(hits, judged) for measure in parsed]).reshape(len(names), n)
    return pl.DataFrame(
        {
            "query_id": pl.Series(judged.query_ids, dtype=pl.String).gather(np.repeat(np.arange(n), len(names))),
            "measure": pl.Series(names * n, dtype=pl.String),
            "value": pl.Series(values.T.ravel(), dtype=pl.Float64),
        }
    )


def _count(hits: Hits, judged: Judged) -> np.ndarray:
    return np.bincount(hits.query, minlength=len(judged.query_ids))


def _per_relevant(sums: np.ndarray, judged: Judged) -> np.ndarray:
    return sums / np.maximum(judged.n_relevant, 1)


def _recall(hits: Hits, judged: Judged, cutoff: int | None) -> np.ndarray:
    return _per_relevant(_count(hits, judged), judged)


def _precision(hits: Hits, judged: Judged, cutoff: int | None) -> np.ndarray:
    assert cutoff is not None
    return _count(hits, judged) / cutoff


def _success(hits: Hits, judged: Judged, cutoff: int | None) -> np.ndarray:
    return (_count(hits, judged) > 0).astype(np.float64)


def _reciprocal_rank(hits: Hits, judged: Judged, cutoff: int | None) -> np.ndarray:
    values = np.zeros(len(judged.query_ids))
    np.maximum.at(values, hits.query, 1.0 / hits.rank)
    return values


def _r_precision(hits: Hits, judged: Judged, cutoff: int | None) -> np.ndarray:
    within = hits.rank <= judged.n_relevant[hits.query]
    return _per_relevant(np.bincount(hits.query[within], minlength=len(judged.query_ids)), judged)


def _average_precision(hits: Hits, judged: Judged, cutoff: int | None) -> np.ndarray:
    precisions = place_in_group(hits.query) / hits.rank
    return _per_relevant(np.bincount(hits.query, precisions, minlength=len(judged.query_ids)), judged)


def _ndcg(hits: Hits, judged: Judged, cutoff: int | None) -> np.ndarray:
    ideal_query = judged.relevant["query"].to_numpy()
    ideal_rank = place_in_group(ideal_query)
    within = ideal_rank <= (len(ideal_rank) if cutoff is None else cutoff)
    ideal = Hits(ideal_query[within], ideal_rank[within], judged.relevant["grade"].to_numpy()[within])
    n = len(judged.query_ids)
    gained, possible = (np.bincount(h.query, h.grade / np.log2(h.rank + 1.0), minlength=n) for h in (hits, ideal))
    return np.divide(gained, possible, out=np.zeros(n), where=possible > 0)


def place_in_group(group: np.ndarray) -> np.ndarray:
    """1, 2, 3 ... within each group of equal neighbours of an int array [m]."""
    changes = np.flatnonzero(np.diff(group)) + 1
    firsts = np.concatenate([[0], changes]).astype(np.int64)
    return np.arange(1, len(group) + 1) - np.repeat(firsts, np.diff(np.concatenate([firsts, [len(group)]])))


_FAMILIES: dict[str, Callable[[Hits, Judged, int | None], np.ndarray]] = {
    "R": _recall,
    "P": _precision,
    "Success": _success,
    "RR": _reciprocal_rank,
    "Rprec": _r_precision,
    "AP": _average_precision,
    "nDCG": _ndcg,
}
_ALIASES = {family.lower(): family for family in _FAMILIES} | {
    "recall": "R",
    "precision": "P",
    "mrr": "RR",
    "r-precision": "Rprec",
    "map": "AP",
}
#: Names shown to who mistypes one.
EXAMPLES = ("AP", "MAP", "MRR", "MRR@10", "P@5", "R@5", "RR", "Recall@5", "Rprec", "Success@5", "nDCG", "nDCG@10")
