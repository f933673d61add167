"""Do known-item retrieval and thematic relevance put the same systems first?"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

import polars as pl
from scipy import stats

from verseir.analyses.paired import tested, tidy
from verseir.stats.correlation import Correlation, kendall
from verseir.tables import define

#: Systems that a rank correlation needs.
FEWEST = 3

_PLACE: dict[str, Any] = {
    "corpus": pl.String,
    "mode": pl.String,
    "known_item": pl.String,
    "thematic": pl.String,
}
PLACE = list(_PLACE)
DISSOCIATION = define(
    "dissociation",
    {
        "family": pl.String,
        **_PLACE,
        "measure_known_item": pl.String,
        "measure_thematic": pl.String,
        "left_out": pl.String,
        "n_systems": pl.Int64,
        "tau": pl.Float64,
        "test": pl.String,
        "p": pl.Float64,
        "p_holm": pl.Float64,
        "family_size": pl.Int64,
        "note": pl.String,
    },
    nullable="left_out tau p p_holm note",
    unique="corpus mode known_item thematic left_out",
)
RANK_MOVES = define(
    "rank_moves",
    {
        **_PLACE,
        "measure_known_item": pl.String,
        "measure_thematic": pl.String,
        "system": pl.String,
        "n_systems": pl.Int64,
        "mean_known_item": pl.Float64,
        "mean_thematic": pl.Float64,
        "rank_known_item": pl.Float64,
        "rank_thematic": pl.Float64,
        "move": pl.Float64,
    },
    unique="corpus mode known_item thematic system",
)


class _Pair(NamedTuple):
    """One known-item and one thematic set of a corpus and mode, and the means of the systems searched in both."""

    place: dict[str, Any]
    systems: list[str]
    known_item: list[float]
    thematic: list[float]


def dissociation(
    per_query: pl.DataFrame,
    known_item: Collection[str],
    thematic: Collection[str],
    measures: Mapping[str, str],
    systems: Collection[str],
    flips: int,
    seed: int,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The DISSOCIATION and RANK_MOVES tables.

    Each known-item set is set beside each thematic set that was searched in the same corpus and mode. Kendall's tau-b
    of the means of the systems: p is exact without ties and by permutation with them. A row with ``left_out`` is the
    same without that system. The test is over systems, as if they were drawn from many: it does not know how sure each
    mean is.

    A rank is 1 for the highest mean; tied systems share their mean rank. ``move`` is the rank on the thematic set less
    that on the known-item set: above 0 the system falls.

    Args:
        per_query: a PER_QUERY table.
        known_item: known-item query sets.
        thematic: thematic query sets.
        measures: query set -> its main measure.
        systems: those to rank; all when empty.
        flips: random permutations.
        seed: of them.
    """
    tests: list[dict[str, Any]] = []
    moves: list[dict[str, Any]] = []
    for pair in _pairs(_means(per_query, measures, systems), known_item, thematic, measures):
        moves += _moves(pair)
        tests.append(_test(pair, None, flips, seed))
        if len(pair.systems) >= FEWEST:
            tests += [_test(pair, system, flips, seed) for system in pair.systems]
    ranked = tidy(pl.DataFrame(moves, schema=dict(RANK_MOVES.columns)))
    return tested(tests, DISSOCIATION, [*PLACE, "left_out"]), ranked.sort([*PLACE, "rank_known_item", "system"])


def _means(per_query: pl.DataFrame, measures: Mapping[str, str], systems: Collection[str]) -> pl.DataFrame:
    """corpus, mode, query_set, system, mean: by the main measure of each query set."""
    main = pl.DataFrame(sorted(measures.items()), schema={"query_set": pl.String, "measure": pl.String}, orient="row")
    rows = per_query.join(main, on=["query_set", "measure"], how="semi")
    if systems:
        rows = rows.filter(pl.col("system").is_in(list(systems)))
    # Equal means must be equal to the last bit, or ties would hang on the order in which queries are added up.
    ordered = rows.sort("corpus", "mode", "query_set", "system", "query_id")
    return ordered.group_by("corpus", "mode", "query_set", "system").agg(mean=pl.col("value").mean().round(12))


def _pairs(
    means: pl.DataFrame, known_item: Collection[str], thematic: Collection[str], measures: Mapping[str, str]
) -> Iterator[_Pair]:
    for (corpus, mode), part in sorted(means.group_by(["corpus", "mode"]), key=lambda item: item[0]):
        by_set = {name[0]: rows for name, rows in part.group_by(["query_set"])}
        for first in sorted(set(known_item) & set(by_set)):
            for second in sorted(set(thematic) & set(by_set)):
                both = by_set[first].join(by_set[second], on="system", suffix="_thematic").sort("system")
                place = {
                    "corpus": corpus,
                    "mode": mode,
                    "known_item": first,
                    "thematic": second,
                    "measure_known_item": measures[first],
                    "measure_thematic": measures[second],
                }
                yield _Pair(place, both["system"].to_list(), both["mean"].to_list(), both["mean_thematic"].to_list())


def _test(pair: _Pair, left_out: str | None, flips: int, seed: int) -> dict[str, Any]:
    kept = [i for i, system in enumerate(pair.systems) if system != left_out]
    place = pair.place
    family = f"dissociation/{place['corpus']}/{place['known_item']}/{place['thematic']}"
    found, note = Correlation(math.nan, math.nan, "none"), None
    if len(kept) < FEWEST:
        note = "not estimable: fewer than three systems"
    else:
        found = kendall([pair.known_item[i] for i in kept], [pair.thematic[i] for i in kept], flips, seed)
        if math.isnan(found.estimate):
            note = "not estimable: all systems have one mean"
    return place | {
        "family": family if left_out is None else f"{family}/{place['mode']}/one left out",
        "left_out": left_out,
        "n_systems": len(kept),
        "tau": found.estimate,
        "test": "none" if found.method == "none" else f"Kendall tau-b, {found.method}",
        "p": found.p,
        "note": note,
    }


def _moves(pair: _Pair) -> Iterator[dict[str, Any]]:
    first = stats.rankdata([-mean for mean in pair.known_item])
    second = stats.rankdata([-mean for mean in pair.thematic])
    for i, system in enumerate(pair.systems):
        yield pair.place | {
            "system": system,
            "n_systems": len(pair.systems),
            "mean_known_item": pair.known_item[i],
            "mean_thematic": pair.thematic[i],
            "rank_known_item": float(first[i]),
            "rank_thematic": float(second[i]),
            "move": float(second[i] - first[i]),
        }
