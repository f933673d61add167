"""Retrieval measures per query, from ranks alone; equal to trec_eval's.

A poem is relevant from grade 1 on. The gain of nDCG is the grade itself (Järvelin and Kekäläinen 2002, with the
discount of trec_eval, log2(rank + 1)). A poem with any grade is judged, one without is not, and counts as not relevant.
Where the world is open, and a poem without a judgement may well be relevant, three kinds of measures do not do so:

* ``nDCG(judged_only=True)@10`` and its like, on condensed lists: unjudged poems are taken out of the ranked list before
  ranks are counted (Sakai 2007);
* ``Bpref``: how seldom judged non-relevant poems stand above relevant ones (Buckley and Voorhees 2004; as trec_eval);
* ``Judged@10``: the share of the first 10 that are judged at all, of what is found. It tells how far to trust others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from verseir.faults import UserError, closest

#: The lowest grade of a relevant poem.
RELEVANT = 1


@dataclass(frozen=True)
class Judged:
    """The judgements of a query set, whatever a run finds of the poems.

    Attributes:
        query_ids: q names, bytewise ascending.
        relevant: columns query_id, query (index of it), poem_id, grade; sorted by query, then grade, highest first.
        n_relevant: int64 [q], relevant poems per query.
        rows: likewise of all judged poems.
        n_judged: int64 [q], judged poems per query.
    """

    query_ids: list[str]
    relevant: pl.DataFrame
    n_relevant: np.ndarray
    rows: pl.DataFrame
    n_judged: np.ndarray


@dataclass(frozen=True)
class Hits:
    """Judged poems that a run found, by query and rank: int64 [m] each; ranks count from 1, grades from 0.

    Measures that ``needs_judged`` is false of may be given the relevant ones alone. ``n_found``, int64 [q], counts all
    poems that the run found for a query; ``Judged`` wants it.
    """

    query: np.ndarray
    rank: np.ndarray
    grade: np.ndarray
    n_found: np.ndarray | None = None

    def where(self, kept: np.ndarray) -> Hits:
        """The hits that the mask ``kept``, bool [m], keeps."""
        return Hits(self.query[kept], self.rank[kept], self.grade[kept], self.n_found)


@dataclass(frozen=True)
class Measure:
    """A measure, its cutoff, and whether lists are condensed. Prints as ``ir_measures`` spells it."""

    family: str
    cutoff: int | None = None
    judged_only: bool = False

    def __str__(self) -> str:
        condensed = "(judged_only=True)" if self.judged_only else ""
        return self.family + condensed + ("" if self.cutoff is None else f"@{self.cutoff}")

    @property
    def needs_judged(self) -> bool:
        """Whether it looks at poems that were judged not relevant, and not at the relevant ones alone."""
        return self.judged_only or self.family in _ON_JUDGED

    def values(self, hits: Hits, judged: Judged) -> np.ndarray:
        """float64 [q]: the value of each query; 0 for a query without results.

        It is 0 for one without relevant poems too, but for ``Judged``, which tells only how many are judged.
        """
        if self.judged_only:
            hits = Hits(hits.query, place_in_group(hits.query), hits.grade, hits.n_found)
        if self.family not in _ON_JUDGED:
            hits = hits.where(hits.grade >= RELEVANT)
        if self.cutoff is not None:
            hits = hits.where(hits.rank <= self.cutoff)
        return _FAMILIES[self.family](hits, judged, self.cutoff)


def parse_measure(name: str) -> Measure:
    """The measure that a name means: ``Recall@5`` and ``R@5``, ``MRR`` and ``RR``, ``MAP(judged_only=True)`` ...

    Raises:
        UserError: an unknown name; a cutoff that is missing, not a whole number above 0, or out of place; a
            ``judged_only`` that is out of place.
    """
    match = re.fullmatch(r"([A-Za-z-]+)(?:\(judged_only=(True|False)\))?(?:@([1-9][0-9]*))?", name.strip())
    family = _ALIASES.get(match[1].lower()) if match else None
    if match is None or family is None:
        raise UserError(f"unknown measure '{name}'", hint=closest(name.strip(), EXAMPLES))
    if match[2] and family in _ON_JUDGED:
        raise UserError(f"measure '{name}' takes no judged_only", hint=f"{family} looks at the judged poems as it is")
    if match[3] is None and family in ("R", "P", "Success"):
        raise UserError(f"measure '{name}' needs a cutoff", hint=f"for example {name.strip()}@5")
    if match[3] is not None and family in _WHOLE:
        raise UserError(f"measure '{name}' takes no cutoff", hint=_WHOLE[family])
    return Measure(family, int(match[3]) if match[3] else None, match[2] == "True")


def read_judgements(qrels: pl.DataFrame, query_ids: Sequence[str]) -> Judged:
    """Collect the judgements of ``query_ids`` from a QRELS frame; those of other queries are passed over."""
    names = sorted(set(query_ids))
    index = pl.DataFrame({"query_id": pl.Series(names, dtype=pl.String), "query": np.arange(len(names))})
    rows = (
        qrels.select("query_id", "poem_id", pl.col("grade").cast(pl.Int64))
        .join(index, on="query_id")
        .sort("query", "grade", "poem_id", descending=[False, True, False])
    )
    relevant = rows.filter(pl.col("grade") >= RELEVANT)
    n_relevant, n_judged = (np.bincount(part["query"].to_numpy(), minlength=len(names)) for part in (relevant, rows))
    return Judged(names, relevant, n_relevant, rows, n_judged)


def match_judged(run: pl.DataFrame, judged: Judged) -> pl.DataFrame:
    """The rows of a run that are judged, with columns ``query`` and ``grade`` added, sorted by query and rank."""
    rows = judged.rows.select("query_id", "poem_id", "query", "grade")
    # Joining by two names takes long, and few rows of a run are judged: one number of both leaves out most others.
    number = pl.col("query_id").hash() ^ pl.col("poem_id").hash()
    return (
        run.filter(number.is_in(rows.select(number).to_series().implode()))
        .join(rows, on=["query_id", "poem_id"])
        .sort("query", "rank")
        .with_columns(pl.col("rank").cast(pl.Int64))
    )


def count_found(run: pl.DataFrame, judged: Judged) -> np.ndarray:
    """int64 [q]: how many poems a RUN frame has for each query."""
    neighbours = run["query_id"].rle().struct.unnest()  # a query's rows mostly stand together: hardly more than queries
    counts = dict(neighbours.group_by("value").agg(pl.col("len").sum()).iter_rows())
    return np.array([counts.get(query_id, 0) for query_id in judged.query_ids], dtype=np.int64)


def find_hits(run: pl.DataFrame, judged: Judged) -> Hits:
    """Find the judged poems of each query in a RUN frame, and count all that it has."""
    return replace(_uncounted_hits(run, judged), n_found=count_found(run, judged))


def _uncounted_hits(run: pl.DataFrame, judged: Judged) -> Hits:
    rows = match_judged(run.select("query_id", "poem_id", "rank"), judged)
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
        query_ids: all queries of the set: one with no results scores 0, and so does one with no relevant poem, but for
            ``Judged``. Other queries of the run are passed over.
        measures: names that ``parse_measure`` knows.

    Returns:
        What ``measure_run`` gives.
    """
    return measure_run(run, read_judgements(qrels, query_ids), measures)


def measure_run(run: pl.DataFrame, judged: Judged, measures: Sequence[str]) -> pl.DataFrame:
    """Measure one run, with the judgements of its query set as ``read_judgements`` gives them.

    Returns:
        query_id, measure (named as in ``measures``), value (float64); sorted by query_id and measure.
    """
    names = sorted(set(measures))
    parsed = [parse_measure(name) for name in names]
    counted = any(measure.family == "Judged" for measure in parsed)  # no other asks how long the lists are
    hits = find_hits(run, judged) if counted else _uncounted_hits(run, judged)
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


def _bpref(hits: Hits, judged: Judged, cutoff: int | None) -> np.ndarray:
    n_other = judged.n_judged - judged.n_relevant
    most = np.minimum(judged.n_relevant, n_other)
    is_relevant = hits.grade >= RELEVANT
    query = hits.query[is_relevant]
    above = place_in_group(hits.query)[is_relevant] - place_in_group(query)
    lost = np.minimum(above, judged.n_relevant[query]) / np.maximum(most[query], 1)
    return _per_relevant(np.bincount(query, 1.0 - lost, minlength=len(judged.query_ids)), judged)


def _judged_share(hits: Hits, judged: Judged, cutoff: int | None) -> np.ndarray:
    if hits.n_found is None:
        raise UserError(
            "Judged cannot be had here: it needs to know how many poems each list holds",
            hint="it tells how far a list was judged, not how good it is: name another measure",
        )
    looked_at = hits.n_found if cutoff is None else np.minimum(hits.n_found, cutoff)
    return _count(hits, judged) / np.maximum(looked_at, 1)


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
    "Bpref": _bpref,
    "Judged": _judged_share,
}
#: Measures of all judged poems, the relevant and the others.
_ON_JUDGED = ("Bpref", "Judged")
#: Measures that have no cutoff, and why.
_WHOLE = {
    "Rprec": "its cutoff is the number of relevant poems: Rprec",
    "Bpref": "it looks at the whole list: Bpref",
}
_ALIASES = {family.lower(): family for family in _FAMILIES} | {
    "recall": "R",
    "precision": "P",
    "mrr": "RR",
    "r-precision": "Rprec",
    "map": "AP",
}
#: Names shown to who mistypes one.
EXAMPLES = (
    *("AP", "Bpref", "Judged@10", "MAP", "MRR", "MRR@10", "P@5", "R@5", "RR", "Recall@5", "Rprec", "Success@5", "nDCG"),
    *("nDCG@10", "AP(judged_only=True)", "P(judged_only=True)@5", "nDCG(judged_only=True)@10"),
)
