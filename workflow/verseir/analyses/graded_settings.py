"""How good is each system in each setting of a benchmark, and on average over its settings and languages?

A setting is what all queries of a set have in common: the attributes of which they have one value, such as the aspect
that they ask for, and the split that they are of. Attributes of which the queries of a set have several values, such as
the language of their poems, part the set.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple
from urllib.parse import unquote

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verseir.analyses.clusters import no_interval
from verseir.analyses.leaderboard import NOTHING_TO_TELL_APART
from verseir.analyses.paired import Cell, cells, independent, tidy
from verseir.measures import RELEVANT, parse_measure
from verseir.stats.bootstrap import bootstrap_means
from verseir.stats.macro import Part, macro_means
from verseir.tables import define

GRADED_SETTINGS = define(
    "graded_settings",
    {
        "corpus": pl.String,
        "mode": pl.String,
        "system": pl.String,
        "measure": pl.String,
        "split": pl.String,
        "setting": pl.String,
        "over": pl.String,
        "query_set": pl.String,
        "n_parts": pl.Int64,
        "n_queries": pl.Int64,
        "mean": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "note": pl.String,
    },
    nullable="split over query_set ci_low ci_high note",
    unique="corpus mode system measure split setting over query_set",
)
#: An attribute with more values parts nothing here.
MOST = 60
#: The setting of a mean over all.
EVERYTHING = "all"
ONE_QUERY = "interval not estimable: a part has fewer than two independent queries"
ALIKE = "interval not estimable: every query scores alike"

Facets = Mapping[str, str]


class _Set(NamedTuple):
    """One query set: the outcomes of its queries, what they have in common, and the rows that each value of each other
    attribute has, int64 [n]."""

    cell: Cell
    split: str | None
    facets: Facets
    parts: Mapping[str, Mapping[str, NDArray[np.int64]]]
    all_relevant: bool

    @property
    def name(self) -> str:
        return self.cell.query_set


class _Mean(NamedTuple):
    """A mean that is wanted: of which setting, over what, and the weight of each part of sets, by ``_part_name``."""

    setting: str
    over: str
    query_set: str | None
    weights: Mapping[str, float]


def setting_text(facets: Facets) -> str:
    """``aspect=emotion, scope=mono``; ``all`` where nothing is fixed. ``,``, ``=`` and ``%`` of a value are escaped."""
    return ", ".join(f"{name}={_escaped(facets[name])}" for name in sorted(facets)) or EVERYTHING


def read_setting(text: str) -> dict[str, str]:
    """The facets of a ``setting_text``."""
    parts = [part.split("=", 1) for part in text.split(", ")] if text != EVERYTHING else []
    return {name: unquote(value) for name, value in parts}


def _escaped(value: str) -> str:
    return value.replace("%", "%25").replace(",", "%2C").replace("=", "%3D")


def graded_settings(
    per_query: pl.DataFrame,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    attributes: Mapping[str, pl.DataFrame],
    splits: Mapping[str, str | None],
    resamples: int,
    seed: int,
) -> pl.DataFrame:
    """The GRADED_SETTINGS table: the mean of each setting, of each value in it, and means over settings and values.

    A mean of a set, or of a value in it, is that of the leaderboard and of the strata. In a mean over settings or
    values every part counts alike, however many queries it has (a macro-average); one over ``aspect, language`` is the
    mean over aspects of the means over languages. Its interval is that of ``stats.macro``. Splits are never averaged:
    others judged them.

    Args:
        per_query: a PER_QUERY table.
        queries, qrels: QUERIES and QRELS of the query sets, the latter with a column ``query_set``.
        attributes: query set -> its QUERY_ATTRIBUTES.
        splits: query set -> the split that it is, None where it is of none. No other sets are looked at.
        resamples: bootstrap resamples.
        seed: of the bootstrap.
    """
    queries = queries.filter(pl.col("query_set").is_in(list(splits)))
    measures = sorted(per_query["measure"].unique())
    places: dict[tuple[str, str, str | None], list[_Set]] = {}
    for cell in cells(per_query, queries, qrels, measures):
        judged = qrels.filter(pl.col("query_set") == cell.query_set)
        own = _facets(cell, attributes[cell.query_set], judged.filter(pl.col("grade") < RELEVANT).is_empty())
        for mode in cell.modes():
            place = (cell.corpus, mode, splits[cell.query_set])
            places.setdefault(place, []).append(own._replace(split=splits[cell.query_set]))
    rows = [
        row
        for (corpus, mode, split), sets in places.items()
        for row in _rows(corpus, mode, split, sorted(sets, key=lambda one: one.name), resamples, seed)
    ]
    frame = pl.DataFrame(rows, schema=dict(GRADED_SETTINGS.columns), orient="row")
    return tidy(frame).sort(GRADED_SETTINGS.unique)


def _facets(cell: Cell, attributes: pl.DataFrame, all_relevant: bool) -> _Set:
    """What the measured queries of a set have in common, and by what they differ."""
    place = {query_id: i for i, query_id in enumerate(cell.query_ids)}
    facets: dict[str, str] = {}
    parts: dict[str, dict[str, NDArray[np.int64]]] = {}
    own = attributes.filter(pl.col("query_id").is_in(cell.query_ids)).sort("attribute", "value", "query_id")
    for (name,), given in own.group_by(["attribute"], maintain_order=True):
        by_value: dict[str, list[int]] = {}
        for query_id, value in given.select("query_id", "value").iter_rows():
            by_value.setdefault(value, []).append(place[query_id])
        if len(by_value) == 1 and len(given) == len(place):
            facets[str(name)] = next(iter(by_value))
        elif 1 < len(by_value) <= MOST:
            parts[str(name)] = {value: np.array(at, dtype=np.int64) for value, at in by_value.items()}
    return _Set(cell, None, facets, parts, all_relevant)


def _rows(
    corpus: str, mode: str, split: str | None, sets: Sequence[_Set], resamples: int, seed: int
) -> Iterator[tuple]:
    columns = sorted({(key[1], key[2]) for one in sets for key in one.cell.columns if key[0] == mode})

    def row(column: int, setting: str, over: str | None, query_set: str | None, *numbers: object) -> tuple:
        system, measure = columns[column]
        return (corpus, mode, system, measure, split, setting, over, query_set, *numbers)

    values = {one.name: _values(one.cell, mode, columns) for one in sets}
    for one in sets:
        whole = np.arange(len(one.cell.query_ids))
        for facets, at in [(one.facets, whole), *_valued(one)]:
            own = None if one.cell.clusters is None else independent(one.cell.clusters[at])
            found = bootstrap_means(values[one.name][at], own, resamples, seed)
            for j, (mean, low, high) in enumerate(zip(*found, strict=True)):
                note = no_interval(len(at), own) if math.isnan(low) else None
                if one.all_relevant and parse_measure(columns[j][1]).needs_judged:
                    note = NOTHING_TO_TELL_APART
                if not math.isnan(mean):  # a system that did not search the set
                    yield row(j, setting_text(facets), None, one.name, 1, len(at), mean, low, high, note)
    parts = {part.name: part for one in sets for part in _parts(one, values[one.name])}
    wanted = list(_wanted(sets))
    for mean, found in zip(
        wanted, macro_means(parts.values(), [one.weights for one in wanted], resamples, seed), strict=True
    ):
        n_queries = sum(len(parts[name].values) for name in mean.weights)
        note = ONE_QUERY if any(parts[name].single for name in mean.weights) else ALIKE
        for j, (value, low, high) in enumerate(zip(*found, strict=True)):
            if not math.isnan(value):
                told = note if math.isnan(low) else None
                yield row(
                    *(j, mean.setting, mean.over, mean.query_set),
                    *(len(mean.weights), n_queries, value, low, high, told),
                )


def _values(cell: Cell, mode: str, columns: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
    """The outcomes float64 [n, m] in ``mode``; NaN of a system that did not search there."""
    nothing = np.full(len(cell.query_ids), np.nan)
    found = [cell.columns.get((mode, *column)) for column in columns]
    return np.stack([nothing if at is None else cell.values[:, at] for at in found], axis=1)


def _part_name(query_set: str, attribute: str = "", value: str = "") -> str:
    return "\t".join([query_set, attribute, value])


def _valued(one: _Set) -> Iterator[tuple[Facets, NDArray[np.int64]]]:
    for attribute, by_value in one.parts.items():
        for value, at in by_value.items():
            yield {**one.facets, attribute: value}, at


def _parts(one: _Set, values: NDArray[np.float64]) -> Iterator[Part]:
    """The whole set, and its queries by each value of each attribute."""
    clusters = one.cell.clusters
    yield Part(_part_name(one.name), values, clusters)
    for attribute, by_value in one.parts.items():
        for value, at in by_value.items():
            own = None if clusters is None else independent(clusters[at])
            yield Part(_part_name(one.name, attribute, value), values[at], own)


def _wanted(sets: Sequence[_Set]) -> Iterator[_Mean]:
    """All means over settings, over the values of an attribute, and over both."""
    yield from _over(sets, {one.name: {_part_name(one.name): 1.0} for one in sets}, {}, "")
    for attribute in sorted({name for one in sets for name in one.parts}):
        inside = [one for one in sets if attribute in one.parts]
        spread = {
            one.name: {
                _part_name(one.name, attribute, value): 1 / len(one.parts[attribute]) for value in one.parts[attribute]
            }
            for one in inside
        }
        for one in inside:
            yield _Mean(setting_text(one.facets), attribute, one.name, spread[one.name])
        yield from _over(inside, spread, {}, attribute)
        for value in sorted({value for one in inside for value in one.parts[attribute]}):
            of = [one for one in inside if value in one.parts[attribute]]
            alone = {one.name: {_part_name(one.name, attribute, value): 1.0} for one in of}
            yield from _over(of, alone, {attribute: value}, "")


def _over(
    sets: Sequence[_Set], parts: Mapping[str, Mapping[str, float]], fixed: Facets, within: str
) -> Iterator[_Mean]:
    """Means over every choice of facets by which sets differ that are else alike; each set counts alike.

    Args:
        parts: set -> weights of the parts that its own mean is made of.
        fixed: what else the setting says.
        within: the attribute whose values the mean of a set is over.
    """
    names = sorted({name for one in sets for name in one.facets})
    for size in range(1, len(names) + 1):
        for over in combinations(names, size):
            alike: dict[str, list[_Set]] = {}
            for one in sets:
                if set(over) <= set(one.facets):
                    rest = {name: value for name, value in one.facets.items() if name not in over}
                    alike.setdefault(setting_text({**rest, **fixed}), []).append(one)
            for setting, some in sorted(alike.items()):
                if all(len({one.facets[name] for one in some}) > 1 for name in over):
                    weights = {part: weight / len(some) for one in some for part, weight in parts[one.name].items()}
                    yield _Mean(setting, ", ".join([*over, *([within] if within else [])]), None, weights)
