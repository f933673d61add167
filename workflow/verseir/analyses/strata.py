"""How good is each system on queries of one kind? Means by attributes of queries, and how far ties could move them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verseir.analyses.clusters import clusters_of, no_interval
from verseir.analyses.leaderboard import NOTHING_TO_TELL_APART
from verseir.analyses.paired import independent, tidy
from verseir.faults import UserError, closest
from verseir.layout import Run
from verseir.measures import RELEVANT, parse_measure, read_judgements
from verseir.stats.bootstrap import bootstrap_means, cluster_sums
from verseir.tables import define
from verseir.ties import Bounds, tie_bounds

STRATA = define(
    "strata",
    {
        "corpus": pl.String,
        "query_set": pl.String,
        "mode": pl.String,
        "system": pl.String,
        "measure": pl.String,
        "attribute": pl.String,
        "value": pl.String,
        "n_queries": pl.Int64,
        "mean": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "lowest": pl.Float64,
        "highest": pl.Float64,
        "note": pl.String,
    },
    nullable="mean ci_low ci_high lowest highest note",
    unique="corpus query_set mode system measure attribute value",
)
#: Why a stratum of a set that is judged later has no mean.
UNJUDGED = "not estimable: no query with this value has a relevant poem"

#: attribute -> value -> the queries that have it.
Members = Mapping[str, Mapping[str, Sequence[str]]]
Values = NDArray[np.float64]


def members_of(attributes: pl.DataFrame, wanted: Sequence[str], query_set: str) -> dict[str, dict[str, list[str]]]:
    """Which queries have which value of each attribute; a query without a value of an attribute is in none.

    Args:
        attributes: the QUERY_ATTRIBUTES of one query set.
        wanted: the attributes to look at.
        query_set: its name, for messages.

    Raises:
        UserError: no query of the set has one of the attributes.
    """
    known = attributes["attribute"].unique().to_list()
    for name in sorted(set(wanted) - set(known)):
        problem = f"no query of the set '{query_set}' has a value of the attribute '{name}'"
        raise UserError(problem, hint=f"correct query_sets.{query_set}.strata. {closest(name, known)}")
    found: dict[str, dict[str, list[str]]] = {name: {} for name in sorted(set(wanted))}
    inside = attributes.filter(pl.col("attribute").is_in(list(found)))
    parts = inside.group_by("attribute", "value").agg(pl.col("query_id").sort()).sort("attribute", "value")
    for attribute, value, query_ids in parts.iter_rows():
        found[attribute][value] = query_ids
    return found


def strata(
    judged: Iterable[tuple[Run, pl.DataFrame, pl.DataFrame, list[str]]],
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    members: Mapping[str, Members],
    measures: Sequence[str],
    resamples: int,
    seed: int,
) -> pl.DataFrame:
    """The STRATA table: means as in the leaderboard, over the queries that have one value of one attribute.

    Intervals are those of ``stats.bootstrap.bootstrap_means``, over whole clusters. ``lowest`` and ``highest`` are
    means of the bounds of single queries, see ``verseir.ties``.

    Args:
        judged: what ``inputs.judged_runs`` gives; it is read once. Runs of one corpus, mode and query set are
            neighbours.
        queries: the QUERIES of all its query sets.
        qrels: the QRELS of all its query sets, with a column ``query_set``, for the clusters.
        members: query set -> ``members_of`` it.
        measures: names that ``measures.parse_measure`` knows.
        resamples: bootstrap resamples.
        seed: of the bootstrap.

    Raises:
        UserError: a measure is unknown, or ``judged`` raises it.
    """
    rows: list[tuple] = []
    for (corpus, mode, query_set), some in groupby(judged, key=lambda item: item[0][:3]):
        systems, bounds, all_relevant = _measured(some, measures)
        inside = pl.col("query_set") == query_set
        query_ids = bounds[0].query_ids
        clusters = clusters_of(query_ids, queries.filter(inside), qrels.filter(inside))
        columns = [(system, measure) for system in systems for measure in bounds[0].measures]
        place = {query_id: i for i, query_id in enumerate(query_ids)}
        values = [np.concatenate(parts, axis=1) for parts in zip(*(one[2:] for one in bounds), strict=True)]
        for attribute, value, chosen in _chosen(members[query_set], place):
            own = independent(clusters[chosen]) if clusters is not None and len(chosen) else None
            found = _numbers([np.asfortranarray(part[chosen]) for part in values], own, resamples, seed)
            for (system, measure), numbers in zip(columns, found, strict=True):
                note = None
                if not len(chosen):
                    note = UNJUDGED
                elif all_relevant and parse_measure(measure).needs_judged:
                    note = NOTHING_TO_TELL_APART
                elif math.isnan(numbers[1]):
                    note = no_interval(len(chosen), own)
                rows.append(
                    (corpus, query_set, mode, system, measure, attribute, value, len(chosen), *numbers.tolist(), note)
                )
    frame = pl.DataFrame(rows, schema=dict(STRATA.columns), orient="row")
    return tidy(frame).sort(STRATA.unique)


def _measured(
    judged: Iterable[tuple[Run, pl.DataFrame, pl.DataFrame, list[str]]], measures: Sequence[str]
) -> tuple[list[str], list[Bounds], bool]:
    """The systems of one corpus, mode and query set, what each has, and whether every judged poem is relevant."""
    systems, bounds, judgements, all_relevant = [], [], None, False
    for one, ranked, qrels, query_ids in judged:
        if judgements is None:
            judgements = read_judgements(qrels, query_ids)
            all_relevant = qrels.filter(pl.col("grade") < RELEVANT).is_empty()
        systems.append(one.system)
        bounds.append(tie_bounds(ranked, judgements, measures))
    return systems, bounds, all_relevant


def _chosen(members: Members, place: Mapping[str, int]) -> Iterator[tuple[str, str, NDArray[np.int64]]]:
    """Each attribute, each value of it, and the rows int64 [n] of the queries that have it."""
    for attribute, values in members.items():
        for value, query_ids in values.items():
            yield attribute, value, np.array([place[name] for name in query_ids if name in place], dtype=np.int64)


def _numbers(values: Sequence[Values], clusters: NDArray[np.int64] | None, resamples: int, seed: int) -> Values:
    """Mean, ends of its interval, lowest and highest mean of each column, float64 [m, 5]; NaN where there is none.

    ``values`` are those as ranked, the lowest and the highest, float64 [n, m] each.
    """
    ordered = values[0]
    if not len(ordered):
        return np.full((ordered.shape[1], 5), np.nan)
    interval = bootstrap_means(ordered, clusters, resamples, seed)
    # Added up in the same order as the mean, so that rounding puts no bound on its wrong side.
    ends = [cluster_sums(end, clusters)[0].sum(axis=0) / len(ordered) for end in values[1:]]
    return np.stack([interval.mean, interval.low, interval.high, *ends], axis=1)
