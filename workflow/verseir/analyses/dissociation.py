"""Do known-item retrieval and thematic relevance put the same systems first?

The intervals of tau and of moves say how sure the orders are for these systems: queries are resampled, systems are not.
Noise in the means draws tau towards 0, in the resamples more than in the data, so that an interval may lie below its
tau. The p of tau asks something else: it takes the systems as drawn from many, and does not know how sure a mean is.

Places and tau move in steps. Where resamples leave them on one step there is no interval: one of no width would say
that they are known without error.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verseir.analyses.clusters import clusters_of
from verseir.analyses.paired import Draws, notes, tested, tidy
from verseir.judging.rubrics import OVERALL
from verseir.stats.correlation import UNDEFINED, kendall
from verseir.stats.rank_orders import STILL, TOO_FEW, Interval, column_means, resampled_means, resampled_tau, still
from verseir.stats.resampled_orders import independent_seeds, move_interval, places
from verseir.tables import QRELS, define

#: Systems that a rank correlation needs.
FEWEST = 3
KNOWN_ITEM, THEMATIC = "known-item", "thematic"

#: ``measure_thematic`` is a measure of judgements that came with the queries, or a judge: "<judge>: overall".
_PLACE: dict[str, Any] = {
    "corpus": pl.String,
    "mode": pl.String,
    "known_item": pl.String,
    "thematic": pl.String,
    "measure_known_item": pl.String,
    "measure_thematic": pl.String,
}
PLACE = list(_PLACE)
DISSOCIATION = define(
    "dissociation",
    {
        "family": pl.String,
        **_PLACE,
        "left_out": pl.String,
        "n_systems": pl.Int64,
        "tau": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "test": pl.String,
        "p": pl.Float64,
        "p_holm": pl.Float64,
        "family_size": pl.Int64,
        "note": pl.String,
    },
    nullable="left_out tau ci_low ci_high p p_holm note",
    unique="corpus mode known_item thematic measure_thematic left_out",
)
RANK_MOVES = define(
    "rank_moves",
    {
        **_PLACE,
        "system": pl.String,
        "n_systems": pl.Int64,
        "mean_known_item": pl.Float64,
        "mean_thematic": pl.Float64,
        "rank_known_item": pl.Float64,
        "rank_thematic": pl.Float64,
        "move": pl.Float64,
        "move_low": pl.Float64,
        "move_high": pl.Float64,
        "note": pl.String,
    },
    nullable="move_low move_high note",
    unique="corpus mode known_item thematic measure_thematic system",
)


def judged_measure(judge: str) -> str:
    """What ``measure_thematic`` calls the scores of a judge."""
    return f"{judge}: {OVERALL}"


@dataclass(frozen=True)
class _Side:
    """One query set by one measure: ``means`` float64 [m] of m systems, NaN where there is none.

    ``resampled`` float64 [b, m] are the same over resampled queries, of which ``independent`` are so.
    """

    query_set: str
    measure: str
    judge: str | None
    systems: list[str]
    means: NDArray[np.float64]
    resampled: NDArray[np.float64]
    independent: int

    def fixed(self, systems: list[int]) -> Interval | None:
        """Why resampling says nothing of the means of these systems; None where it does."""
        return TOO_FEW if self.independent < 2 else STILL if still(self.resampled[:, systems]) else None


class _Pair(NamedTuple):
    """Two sides of a corpus and mode, with the systems that both rank: means [m] and resampled means [b, m] of each.

    ``fixed`` says why resamples tell nothing of one side or of both; empty where they do.
    """

    place: dict[str, Any]
    family: str
    systems: list[str]
    known_item: NDArray[np.float64]
    thematic: NDArray[np.float64]
    resampled_known_item: NDArray[np.float64]
    resampled_thematic: NDArray[np.float64]
    fixed: str


def dissociation(
    per_query: pl.DataFrame,
    judged: pl.DataFrame,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    known_item: Collection[str],
    thematic: Collection[str],
    measures: Mapping[str, str],
    systems: Collection[str],
    draws: Draws,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The DISSOCIATION and RANK_MOVES tables.

    Each known-item set is set beside each thematic set that was searched in the same corpus and mode, by the main
    measure of its judgements, and by the overall score of each judge. Kendall's tau-b of the means of the systems: p is
    exact without ties and by permutation with them. A row with ``left_out`` is the same without that system. The
    interval of tau is the percentile interval over resampled queries, of both sets independently, whole poems together
    where queries share one; see the head of this module for what it says and p does not. There is none where a set has
    fewer than two independent queries, where its means do not vary, or where it would have no width.

    A rank is 1 for the highest mean; tied systems share their mean rank. ``move`` is the rank on the thematic set less
    that on the known-item set: above 0 the system falls. Its interval is from the same resamples, under the same terms.

    Args:
        per_query: a PER_QUERY table.
        judged: a JUDGED_PER_QUERY table; scores that are null are left out of the means.
        queries: the QUERIES of the query sets.
        qrels: their QRELS, with a column ``query_set``.
        known_item: known-item query sets.
        thematic: thematic query sets.
        measures: query set -> its main measure.
        systems: those to rank; all when empty.
        draws: resamples of queries, random permutations where means are tied, and the seed of both.
    """
    tests: list[dict[str, Any]] = []
    moves: list[dict[str, Any]] = []
    frame = _values(per_query, judged, measures, systems).filter(
        pl.col("query_set").is_in([*known_item, *thematic]),
        pl.col("judge").is_null() | pl.col("query_set").is_in(list(thematic)),
    )
    for (corpus, mode), part in sorted(frame.group_by(["corpus", "mode"]), key=lambda item: item[0]):
        sides = list(_sides(part, queries, qrels, known_item, draws))
        for first in sides:
            for second in sides:
                if first.query_set in known_item and first.judge is None and second.query_set in thematic:
                    pair = _pair(str(corpus), str(mode), first, second)
                    moves += _moves(pair)
                    left_out = pair.systems if len(pair.systems) >= FEWEST else []
                    tests += [_test(pair, system, draws) for system in [None, *left_out]]
    ranked = tidy(pl.DataFrame(moves, schema=dict(RANK_MOVES.columns)))
    return tested(tests, DISSOCIATION, [*PLACE, "left_out"]), ranked.sort([*PLACE, "rank_known_item", "system"])


def _values(
    per_query: pl.DataFrame, judged: pl.DataFrame, measures: Mapping[str, str], systems: Collection[str]
) -> pl.DataFrame:
    """corpus, mode, query_set, judge, measure, system, query_id, value: by main measures, and by judges."""
    names = ["corpus", "mode", "query_set", "judge", "measure", "system", "query_id", "value"]
    main = pl.DataFrame(sorted(measures.items()), schema={"query_set": pl.String, "measure": pl.String}, orient="row")
    measured = per_query.join(main, on=["query_set", "measure"], how="semi")
    measured = measured.with_columns(judge=pl.lit(None, dtype=pl.String)).select(names)
    scored = judged.filter(pl.col("aspect") == OVERALL, pl.col("value").is_not_null())
    scored = scored.with_columns(measure=pl.col("judge") + f": {OVERALL}").select(names)
    rows = pl.concat([measured, scored])
    return rows.filter(pl.col("system").is_in(list(systems))) if systems else rows


def _sides(
    part: pl.DataFrame, queries: pl.DataFrame, qrels: pl.DataFrame, known_item: Collection[str], draws: Draws
) -> Iterator[_Side]:
    """The query sets of one corpus and mode, by each measure and judge."""
    seeds = independent_seeds(draws.seed)
    for key, rows in sorted(
        part.group_by(["query_set", "judge", "measure"]), key=lambda item: (item[0][0], item[0][2])
    ):
        query_set, judge, measure = key
        # Rows in a fixed order: sums hang on the order in which queries are added up.
        wide = rows.pivot("system", index="query_id", values="value").sort("query_id")
        systems = sorted(wide.columns[1:])
        values = wide.select(pl.col(systems).fill_null(math.nan)).to_numpy().astype(np.float64)
        inside = pl.col("query_set") == query_set
        # What judges say is not said of the poems that came with the queries as relevant.
        relevant = qrels.filter(inside) if judge is None else pl.DataFrame(schema=dict(QRELS.columns))
        clusters = clusters_of(wide["query_id"].to_list(), queries.filter(inside), relevant)
        seed = seeds[0] if query_set in known_item else seeds[1]
        resampled = resampled_means(values, clusters, draws.resamples, seed)
        n = len(values) if clusters is None else len(np.unique(clusters))
        yield _Side(str(query_set), str(measure), judge, systems, column_means(values), resampled, n)


def _pair(corpus: str, mode: str, first: _Side, second: _Side) -> _Pair:
    systems = sorted(set(first.systems) & set(second.systems))
    one, other = ([side.systems.index(system) for system in systems] for side in (first, second))
    place = {
        "corpus": corpus,
        "mode": mode,
        "known_item": first.query_set,
        "thematic": second.query_set,
        "measure_known_item": first.measure,
        "measure_thematic": second.measure,
    }
    family = f"dissociation/{corpus}/{first.query_set}/{second.query_set}"
    return _Pair(
        place,
        family if second.judge is None else f"{family}/{second.judge}",
        systems,
        first.means[one],
        second.means[other],
        first.resampled[:, one],
        second.resampled[:, other],
        _fixed(first.fixed(one), second.fixed(other)),
    )


def _fixed(known_item: Interval | None, thematic: Interval | None) -> str:
    """Why resamples tell nothing of a side, and of which."""
    if known_item and thematic and known_item.why == thematic.why:
        return f"{known_item.why} on both sides"
    sides = ((known_item, KNOWN_ITEM), (thematic, THEMATIC))
    return " and ".join(f"{found.why} on the {side} side" for found, side in sides if found)


def _one_mean(known_item: NDArray[np.float64], thematic: NDArray[np.float64]) -> str:
    """Where all systems have one mean; empty where they have not."""
    sides = [side for side, means in ((KNOWN_ITEM, known_item), (THEMATIC, thematic)) if np.ptp(means) == 0]
    where = "both sides" if len(sides) == 2 else f"the {sides[0]} side" if sides else ""
    return f"not estimable: all systems have one mean on {where}" if sides else ""


def _test(pair: _Pair, left_out: str | None, draws: Draws) -> dict[str, Any]:
    kept = [i for i, system in enumerate(pair.systems) if system != left_out]
    found, interval, note = UNDEFINED, Interval(math.nan, math.nan, pair.fixed), ""
    if len(kept) < FEWEST:
        note = "not estimable: fewer than three systems"
    else:
        found = kendall(pair.known_item[kept], pair.thematic[kept], draws.flips, draws.seed)
        note = _one_mean(pair.known_item[kept], pair.thematic[kept])
        if not note and not pair.fixed:
            interval = resampled_tau(pair.resampled_known_item[:, kept], pair.resampled_thematic[:, kept])
    return pair.place | {
        "family": pair.family if left_out is None else f"{pair.family}/{pair.place['mode']}/one left out",
        "left_out": left_out,
        "n_systems": len(kept),
        "tau": found.estimate,
        "ci_low": interval.low,
        "ci_high": interval.high,
        "test": "none" if found.method == "none" else f"Kendall tau-b, {found.method}",
        "p": found.p,
        "note": notes(note or _why(interval)),
    }


def _moves(pair: _Pair) -> Iterator[dict[str, Any]]:
    m = len(pair.systems)
    if not m:
        return
    first, second = places(pair.known_item[None])[0], places(pair.thematic[None])[0]
    intervals = [Interval(math.nan, math.nan, pair.fixed)] * m
    if not pair.fixed:
        before, after = places(pair.resampled_known_item), places(pair.resampled_thematic)
        intervals = [move_interval(before[:, i], after[:, i]) for i in range(m)]
    for i, system in enumerate(pair.systems):
        yield pair.place | {
            "system": system,
            "n_systems": m,
            "mean_known_item": float(pair.known_item[i]),
            "mean_thematic": float(pair.thematic[i]),
            "rank_known_item": float(first[i]),
            "rank_thematic": float(second[i]),
            "move": float(second[i] - first[i]),
            "move_low": intervals[i].low,
            "move_high": intervals[i].high,
            "note": _why(intervals[i]) or None,
        }


def _why(interval: Interval) -> str:
    """The note of an interval that is not there."""
    return f"interval not estimable: {interval.why}" if math.isnan(interval.low) else ""
