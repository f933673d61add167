"""What systems and string match score on an idiom benchmark, by the use of the idiom: rows, sentences, cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from verseir.analyses.strata import STRATA
from verseir.formats import NOT_ESTIMABLE, count, interval, known, listing, number
from verseir.report.panel import Column, Grid, grid, text
from verseir.report.remarks import NAMED
from verseir.report.sections import Cell
from verseir.report.standings import same_mean
from verseir.report.wording import Scope, Tables

#: The uses of an idiom in a query, in the order in which they are read; and all of them.
USES = ("literal", "idiomatic")
ALL = "all"
#: The kinds of string match: the first is the level that systems are held against.
MATCHES = {"annotated": "string match, annotated", "verbatim": "string match, verbatim"}
#: How a note ends that says why a mean needs no interval.
ALIKE = "scores alike"
ABOVE, BELOW, LEVEL = "above", "below", "not told apart"
#: The same of one system and of several; empty where there is no interval to say it by.
ONE = {ABOVE: "lies above it", BELOW: "lies below it", LEVEL: "is not told apart from it", "": "has no interval"}
MANY = {ABOVE: "lie above it", BELOW: "lie below it", LEVEL: "are not told apart from it", "": "have no interval"}


class Scored(NamedTuple):
    """What systems and string match score: by corpus, query set and mode, of the main measure of each query set.

    ``means`` is keyed by place, use of the query and system, ``levels`` by place, use and kind of match.
    """

    means: dict[tuple[str, ...], Mapping[str, Any]]
    levels: dict[tuple[str, ...], Mapping[str, Any]]
    measures: dict[str, str]
    systems: list[str]

    def at(self, place: Sequence[str], usage: str) -> list[Mapping[str, Any]]:
        """The rows of all systems in one place for one use, by system."""
        found = (self.means.get((*place, usage, system)) for system in self.systems)
        return [row for row in found if row is not None]

    def level(self, place: Sequence[str], usage: str) -> Mapping[str, Any] | None:
        """What systems are held against."""
        return self.levels.get((*place, usage, next(iter(MATCHES))))


def scored(tables: Tables, scope: Scope, query_sets: Sequence[str]) -> Scored:
    """The scores of ``query_sets``, all modes."""
    within = pl.col("query_set").is_in(list(query_sets))
    overall = scope.main(tables["leaderboard"].filter(within)).with_columns(usage=pl.lit(ALL))
    strata = tables.get("strata", pl.DataFrame(schema=dict(STRATA.columns)))
    split = scope.main(strata.filter(within, pl.col("attribute") == "usage")).rename({"value": "usage"})
    levels = scope.main(tables["string_match"].filter(within))
    place = ("corpus", "query_set", "mode", "usage")
    return Scored(
        {_key(row, *place, "system"): row for part in (overall, split) for row in part.iter_rows(named=True)},
        {_key(row, *place, "match"): row for row in levels.iter_rows(named=True)},
        dict(overall.select("query_set", "measure").unique().iter_rows()),
        sorted(overall["system"].unique()),
    )


def _key(row: Mapping[str, Any], *names: str) -> tuple[str, ...]:
    return tuple(row[name] for name in names)


def stand(row: Mapping[str, Any] | None, level: Mapping[str, Any] | None) -> str:
    """Whether a mean is above or below a level, by both intervals; empty where that cannot be said."""
    if row is None or level is None or not known(row["mean"], row["ci_low"], row["ci_high"], level["mean"]):
        return ""
    low, high = (level[end] if known(level[end]) else level["mean"] for end in ("ci_low", "ci_high"))
    return ABOVE if row["ci_low"] > high else BELOW if row["ci_high"] < low else LEVEL


def where(scores: Scored, place: Sequence[str]) -> str:
    """``span on test, mode full (nDCG@10)``."""
    corpus, query_set, mode = place
    return f"{query_set} on {corpus}, mode {mode} ({scores.measures[query_set]})"


def levels_said(scores: Scored, place: Sequence[str]) -> str:
    """What string match scores in one place, and how many systems are above it: over all queries, and by use."""
    level = scores.level(place, ALL)
    if level is None or not known(level["mean"]):
        why = level["note"] if level is not None and level["note"] else NOT_ESTIMABLE
        return f"{where(scores, place)}: the level of finding the idiom’s words is {why}."
    told = f"{where(scores, place)}: finding the idiom’s words and nothing else scores {_scored(level)}"
    parts = []
    for usage in USES:
        own, bar = scores.at(place, usage), scores.level(place, usage)
        if own and bar is not None and known(bar["mean"]):
            n = sum(stand(row, bar) == ABOVE for row in own)
            alone = f"{own[0]['system']} {ONE[stand(own[0], bar)]}"
            lie = alone if len(own) == 1 else f"{n} of {len(own)} {'lies' if n == 1 else 'lie'} above it"
            parts.append(f"on {usage} queries it scores {number(bar['mean'])}, and {lie}")
    both = above_both(scores, place)
    if both is not None and len(scores.at(place, ALL)) > 1:
        parts.append(f"on both, {named(both) if both else 'none'}")
    each = "; ".join(parts)
    return f"{told}; {_counted(scores.at(place, ALL), level)}.{f' {each[0].upper()}{each[1:]}.' if each else ''}"


def _scored(row: Mapping[str, Any]) -> str:
    ends = f" {interval(row['ci_low'], row['ci_high'])}" if known(row["ci_low"], row["ci_high"]) else ""
    return f"{number(row['mean'])}{ends}"


def _counted(rows: Sequence[Mapping[str, Any]], level: Mapping[str, Any]) -> str:
    """``of 27 systems 3 lie above it (a, b and c), 20 lie below it and 4 are not told apart from it``."""
    states = {row["system"]: stand(row, level) for row in rows}
    parts = []
    for state in MANY:
        names = [system for system, found in states.items() if found == state]
        if len(rows) == 1 and names:
            return f"{names[0]} {ONE[state]}"
        if names:
            who = f" ({listing(names)})" if len(names) <= NAMED else ""
            parts.append(f"{len(names)} {(ONE if len(names) == 1 else MANY)[state]}{who}")
    return f"of {count(len(rows), 'system')} {listing(parts)}"


def above_both(scores: Scored, place: Sequence[str]) -> list[str] | None:
    """The systems above the level on literal and on idiomatic queries; None where a level or all means are missing."""
    states = {
        usage: {row["system"]: stand(row, scores.level(place, usage)) for row in scores.at(place, usage)}
        for usage in USES
    }
    if not all(any(states[usage].values()) for usage in USES):
        return None
    return [system for system in scores.systems if all(states[usage].get(system) == ABOVE for usage in USES)]


def named(systems: Sequence[str]) -> str:
    """Systems by name, or of many how many they are."""
    return listing(systems) if len(systems) <= NAMED else f"{len(systems)} systems"


def uses_said(scores: Scored, place: Sequence[str]) -> str:
    """How literal and idiomatic queries differ in one place."""
    head = f"Literal against idiomatic queries, {where(scores, place)}"
    literal, idiomatic = ({row["system"]: row for row in scores.at(place, usage)} for usage in USES)
    pairs = [
        (literal[system], idiomatic[system])
        for system in scores.systems
        if system in literal and system in idiomatic and known(literal[system]["mean"], idiomatic[system]["mean"])
    ]
    if not pairs:
        rows = [*literal.values(), *idiomatic.values()]
        why = next((row["note"] for row in rows if row["note"]), NOT_ESTIMABLE)
        return f"{head}: {why}."
    higher = [one for one, two in pairs if one["mean"] > two["mean"] and not same_mean(one["mean"], two["mean"])]
    apart = sum(stand(one, two) == ABOVE for one, two in pairs)
    if len(pairs) == 1:
        one, two = pairs[0]
        return f"{head}: {one['system']} scores {_scored(one)} on literal and {_scored(two)} on idiomatic ones."
    means = [spread([(row["system"], row["mean"]) for row in column]) for column in zip(*pairs, strict=True)]
    return (
        f"{head}: {len(higher)} of {len(pairs)} systems score higher on literal ones, {apart} with intervals that do "
        f"not overlap. Literal ones score {means[0]}, idiomatic ones {means[1]}."
    )


def spread(values: Sequence[tuple[str, float]], form: Callable[[float], str] = number) -> str:
    """The lowest and the highest of some values, and whose they are."""
    ordered = sorted(values, key=lambda pair: (pair[1], pair[0]))
    (low, least), (high, most) = ordered[0], ordered[-1]
    if len(values) == 1 or form(least) == form(most):
        return f"{form(least)}"
    return f"{form(least)} ({low}) to {form(most)} ({high})"


def mean_cell(found: Mapping[str, Any] | None, best: bool = False, small: str = "") -> Cell:
    """A mean with its interval."""
    if found is None:
        return Cell("not searched")
    ends = interval(found["ci_low"], found["ci_high"]) if known(found["mean"]) else ""
    if not known(found["ci_low"], found["ci_high"]) and (found["note"] or "").endswith(ALIKE):
        ends = found["note"].rpartition(": ")[2]  # nothing varies: that is no lack
    return Cell(number(found["mean"]), found["mean"], small or ends, "best" if best else "")


def by_column(
    scores: Scored,
    rows: Sequence[Mapping[str, Any]],
    heads: Sequence[tuple[str, str]],
    lead: Sequence[Column | None],
    caption: str,
) -> Grid:
    """A grid whose rows hold, by heading, the row of a table; the highest mean of systems in each column is marked.

    Args:
        rows: ``name``, ``by`` (heading -> row) and ``level``, whether it is a kind of string match.
        heads: the key and the small print of each column.
        lead: columns before them.
    """

    def column(key: str, small: str) -> Column:
        means: dict[tuple, list[float]] = {}
        for row in rows:
            if not row["level"] and row["by"].get(key) is not None and known(row["by"][key]["mean"]):
                means.setdefault(row["group"], []).append(row["by"][key]["mean"])

        def cell(row: Mapping[str, Any]) -> Cell:
            found, others = row["by"].get(key), means.get(row["group"], [])
            best = found is not None and not row["level"] and len(others) > 1 and known(found["mean"])
            return mean_cell(found, best and same_mean(found["mean"], max(others)))

        return Column(key, cell, True, small)

    return grid(rows, caption, [text("name", "System"), *lead, *(column(*head) for head in heads)])
