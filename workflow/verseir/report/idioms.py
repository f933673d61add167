"""An idiom benchmark: who finds meanings, and who finds words?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from verseir.figures.idioms import kinds_found, shares_found
from verseir.formats import count, known, listing, number, percent
from verseir.report.idiom_scores import (
    ALL,
    MATCHES,
    USES,
    Scored,
    above_both,
    by_column,
    levels_said,
    mean_cell,
    scored,
    spread,
    stand,
    uses_said,
)
from verseir.report.panel import Column, Grid, Panel, empty, grid, places, text, value, whole, why_not
from verseir.report.remarks import NAMED
from verseir.report.sections import Cell
from verseir.report.standings import same_mean
from verseir.report.wording import Scope, Tables, places_of

#: How the parts of a top R are called in a sentence.
SPOKEN = {
    "relevant": "relevant",
    "same idiom, other use": "the same idiom in another use",
    "other idiom": "another idiom",
}
#: The measure that the share of relevant texts in the top R is.
R_PRECISION = "Rprec"

QUESTION = (
    "Do systems find texts that mean the same, or texts that hold the same words? To a literal use of an idiom its "
    "literal uses are relevant; to an idiomatic one its idiomatic uses, and texts that say the meaning in other words."
)
LIMITS = (
    "What cannot be concluded: that use is understood where the level is passed over all queries, since a system that "
    "puts literal uses first whatever is asked gains on literal queries what it loses on idiomatic ones (both have to "
    "be read); that the difference of literal and idiomatic queries is one of understanding alone, since they have "
    "other numbers of relevant texts, of which only literal uses all hold the idiom; that what is not told apart is "
    "equal. A system is called above or below where its interval and that of the level do not overlap, which asks for "
    "more than a paired test would. Intervals resample idioms, and speak of idioms like these."
)


def idioms(tables: Tables, scope: Scope, query_sets: Sequence[str]) -> Panel:
    """Systems by query set, by the use of the idiom, and against string match."""
    title = "Idioms"
    names = [name for name in ("leaderboard", "strata", "string_match", "subjects") if name in tables]
    scores = scored(tables, scope, query_sets)
    found = [key[:3] for key in scores.means if key[2] == scope.base_mode]
    at = sorted(set(found), key=lambda place: (place[0], query_sets.index(place[1])))
    if not at:
        return empty("idioms", title, f"no idiom was searched for in mode {scope.base_mode}", names)
    sentences, briefs = [QUESTION], []
    for place in at:
        sentences += [levels_said(scores, place), uses_said(scores, place)]
        both = above_both(scores, place)
        if both is not None:
            told = f"{len(both)} of {count(len(scores.at(place, ALL)), 'system')}" if both else "no system"
            briefs.append(f"{told} on {place[1]}" + (f" ({listing(both)})" if 0 < len(both) <= NAMED else ""))
    sentences += _subject_said(tables["subjects"], scope, query_sets)
    brief = (
        f"Above what finding an idiom’s words scores, on literal and on idiomatic queries alike: {'; '.join(briefs)}."
    )
    return Panel(
        "idioms",
        title,
        LIMITS,
        sentences,
        [_zero_shot(scores, at, scope), _by_use(scores, at, scope), *_subjects(tables["subjects"], scope, query_sets)],
        names,
        "idioms-systems",
        "Each system by query set, the highest of the first set on top; lines: what finding the idiom’s words scores.",
        brief=[brief] if briefs else [],
    )


def _zero_shot(scores: Scored, at: Sequence[tuple[str, ...]], scope: Scope) -> Grid:
    """One row a system, one column a query set."""
    rows = []
    for corpus in dict.fromkeys(place[0] for place in at):
        sets = [place for place in at if place[0] == corpus]
        for system in scores.systems:
            by = {place[1]: scores.means.get((*place, ALL, system)) for place in sets}
            if any(by.values()):
                rows.append({"corpus": corpus, "name": system, "by": by, "level": False, "group": (corpus,)})
        for match, name in MATCHES.items():
            by = {place[1]: scores.levels.get((*place, ALL, match)) for place in sets}
            if any(by.values()):
                rows.append({"corpus": corpus, "name": name, "by": by, "level": True, "group": (corpus,)})
    heads = [(name, scores.measures[name]) for name in dict.fromkeys(place[1] for place in at)]
    lead = places(pl.DataFrame({"corpus": [row["corpus"] for row in rows]}), "corpus")
    caption = f"Systems by how the query is read, mode {scope.base_mode}; bold: the highest of the systems"
    return by_column(scores, rows, heads, lead, caption)


def _by_use(scores: Scored, at: Sequence[tuple[str, ...]], scope: Scope) -> Grid:
    """One row a system and query set: all, literal and idiomatic queries, and how each stands against string match."""
    rows = []
    for place in at:
        for system in scores.systems:
            by = {usage: scores.means.get((*place, usage, system)) for usage in (ALL, *USES)}
            if any(by.values()):
                stands = {usage: stand(row, scores.level(place, usage)) or "not known" for usage, row in by.items()}
                rows.append({"name": system, "corpus": place[0], "query_set": place[1], "by": by, "stands": stands})

    def columns(usage: str, heading: str) -> list[Column]:
        return [
            Column(heading, lambda row: mean_cell(row["by"].get(usage)), small="mean"),
            Column(heading, lambda row: Cell(row["stands"][usage]), False, "against string match"),
        ]

    return grid(
        rows,
        f"By the use of the idiom, and against what finding its words scores, mode {scope.base_mode}",
        [
            text("name", "System"),
            *places(pl.DataFrame({"corpus": [row["corpus"] for row in rows]}), "corpus"),
            text("query_set", "Query set"),
            *columns(ALL, "All"),
            *columns("literal", "Literal"),
            *columns("idiomatic", "Idiomatic"),
        ],
    )


def _subject_rows(subjects: pl.DataFrame, scope: Scope, query_sets: Sequence[str]) -> pl.DataFrame:
    rows = subjects.filter(pl.col("mode") == scope.base_mode, pl.col("query_set").is_in(list(query_sets)))
    order = {name: n for n, name in enumerate(query_sets)}
    at = pl.col("query_set").replace_strict(order, return_dtype=pl.Int64)
    return rows.sort("corpus", at, "measure", "system")


def _subject_said(subjects: pl.DataFrame, scope: Scope, query_sets: Sequence[str]) -> list[str]:
    """How far lists share the subject of the query, and how far they could."""
    rows = _subject_rows(subjects, scope, query_sets)
    sentences = []
    for (corpus, query_set), part in rows.group_by("corpus", "query_set", maintain_order=True):
        told = [_by_subject(own) for _, own in part.group_by("measure", maintain_order=True)]
        head = f"By shared subject alone, {query_set} on {corpus}" + _alone(part["system"].unique().to_list())
        sentences.append(f"{head}: {'; '.join(told)}.")
    return sentences


def _alone(systems: Sequence[str]) -> str:
    """Whose numbers follow, where they are those of one system."""
    return f" ({systems[0]} alone)" if len(systems) == 1 else ""


def _by_subject(rows: pl.DataFrame) -> str:
    """What systems score by one measure, and what lists of their length could where that is less than all."""
    measure = rows["measure"][0]
    found = [(row["system"], row["mean"]) for row in rows.iter_rows(named=True) if known(row["mean"])]
    if not found:
        return f"{measure} is {why_not(rows)}"
    most = max((value for value in rows["ceiling"] if known(value)), default=1.0)
    reach = f", where lists of this length reach {number(most)} at most" if number(most) != number(1.0) else ""
    return f"{measure} {spread(found)}{reach}"


def _subjects(subjects: pl.DataFrame, scope: Scope, query_sets: Sequence[str]) -> list[Grid]:
    rows = _subject_rows(subjects, scope, query_sets)
    if rows.is_empty():
        return []
    caption = f"By shared subject alone, whatever is meant, mode {scope.base_mode}: a check, and no headline"
    columns = [
        text("system", "System"),
        *places(rows, "corpus"),
        text("query_set", "Query set"),
        text("measure", "Measure"),
        value("mean", "Mean", "ci_low", "ci_high"),
        value("ceiling", "At most"),
        whole("n_queries", "Queries"),
    ]
    return [grid(rows, caption, columns)]


def confusion(tables: Tables, scope: Scope, query_sets: Sequence[str]) -> Panel:
    """What stands in the top R of literal and of idiomatic queries."""
    title, names = "What stands where relevant texts should", ["confusion"]
    frame = tables["confusion"].filter(pl.col("mode") == scope.base_mode, pl.col("query_set").is_in(list(query_sets)))
    if frame.is_empty():
        return empty("idiom-confusion", title, f"no idiom was searched for in mode {scope.base_mode}", names)
    kinds, precision = kinds_found(frame), _precision(tables, scope)
    sentences, rows = [], []
    parts = sorted(
        places_of(frame, "corpus", "query_set", "usage"),
        key=lambda at: (at[0][0], query_sets.index(at[0][1]), at[0][2] != USES[0], at[0][2]),
    )
    for (corpus, query_set, usage), part in parts:
        shares = shares_found(part)
        systems = sorted({system for system, _ in shares})
        head = f"Top R of {usage} queries, {query_set} on {corpus}" + _alone(systems)
        told = [
            f"{said} {spread([(system, shares.get((system, kind), 0.0)) for system in systems], percent)}"
            for kind, said in SPOKEN.items()
            if systems
        ]
        sentences.append(f"{head}: {listing(told)}." if told else f"{head}: {why_not(part)}.")
        for system in sorted(part["system"].unique()):
            own = part.filter(pl.col("system") == system)
            counted = system in systems
            by = {kind: (shares.get((system, kind), 0.0) if counted else None, _ends(own, kind)) for kind in kinds}
            share, ends = by["relevant"]
            by["relevant"] = share, ends or _precision_ends(precision.get((corpus, query_set, usage, system)), share)
            rows.append({"system": system, "corpus": corpus, "query_set": query_set, "usage": usage, "by": by})

    def column(kind: str) -> Column:
        return Column(
            kind.capitalize(), lambda row: Cell(percent(row["by"][kind][0]), row["by"][kind][0], row["by"][kind][1])
        )

    table = grid(
        rows,
        f"Shares of the top R, mode {scope.base_mode}",
        [
            text("system", "System"),
            *places(pl.DataFrame(rows, schema=["corpus"]) if not rows else frame, "corpus"),
            text("query_set", "Query set"),
            text("usage", "Queries"),
            *map(column, kinds),
        ],
    )
    lede = (
        "R is the number of relevant texts, so a perfect list holds nothing else in its first R places, and the share "
        "of relevant ones is R-precision. Other shares that several uses make up have no interval; the table has each "
        "use."
    )
    legend = "Shares of the top R by what is found there, for literal (above) and idiomatic queries (below)."
    return Panel("idiom-confusion", title, lede, sentences, [table], names, "idioms-confusion", legend)


def _ends(rows: pl.DataFrame, kind: str) -> str:
    """The interval of a share that one row makes up; empty for a sum."""
    relevant = pl.col("relevant")
    same, other = pl.col("idiom") == "same", pl.col("idiom") == "other"
    of = {"relevant": relevant, "same idiom, other use": same & ~relevant, "other idiom": other & ~relevant}
    own = rows.filter(of.get(kind, ~same & ~other & ~relevant)).to_dicts()
    if len(own) != 1 or not known(own[0]["ci_low"], own[0]["ci_high"]):
        return ""
    return _percents(own[0])


def _precision(tables: Tables, scope: Scope) -> dict[tuple[str, ...], Mapping[str, Any]]:
    """The rows of R-precision by corpus, query set, use of the query and system, where it was measured by use."""
    if "strata" not in tables:
        return {}
    measured = tables["strata"].filter(
        pl.col("attribute") == "usage", pl.col("mode") == scope.base_mode, pl.col("measure") == R_PRECISION
    )
    keys = ("corpus", "query_set", "value", "system")
    return {tuple(row[key] for key in keys): row for row in measured.iter_rows(named=True)}


def _precision_ends(row: Mapping[str, Any] | None, share: float | None) -> str:
    """The interval of R-precision, where it is the share of relevant texts; empty where it is over other queries."""
    if row is None or not known(share, row["mean"], row["ci_low"], row["ci_high"]):
        return ""
    return _percents(row) if same_mean(share or 0.0, row["mean"]) else ""


def _percents(row: Mapping[str, Any]) -> str:
    return f"{percent(row['ci_low'])} to {percent(row['ci_high'])}"
