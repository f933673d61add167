"""Benchmarks that come with their judgements: settings, means over them, and where both are from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from verseir.analyses.setting_views import Shown, View, views
from verseir.formats import NOT_ESTIMABLE, count, interval, known, listing, number
from verseir.report.leads import lead_finding
from verseir.report.panel import Column, Grid, Panel, grid, text
from verseir.report.sections import Cell
from verseir.report.spoken import setting_sets
from verseir.report.standings import Standing
from verseir.report.wording import Scope, Tables

#: Who judged the splits of the benchmark of poetry, by its card. Other data may have its form.
JUDGES = "In PoetryMTEB, by its card, people judged the split gold, and a language model silver and train."

LEDE = (
    "A setting is what all queries of a set have in common. In a mean over settings or values each counts alike, "
    "however many queries it has; splits are not averaged, since others judged them. What cannot be concluded: that "
    "one setting is harder than another, or one language, since their queries, relevant poems and candidates differ "
    "too; no difference between settings was tested. An interval is not estimable where a part of a mean has one "
    "independent query, or where all queries score alike."
)


def graded(tables: Tables, scope: Scope, query_sets: Mapping[str, Mapping[str, Any]]) -> Panel | None:
    """Systems by setting and by the values of attributes, in the base mode; None where no benchmark has settings.

    Args:
        tables: by name; ``graded_settings`` where the study has such sets.
        scope: of the page.
        query_sets: of the study, by name.
    """
    if "graded_settings" not in tables:
        return None
    title, names = "By setting and language", ["graded_settings"]
    frame = tables["graded_settings"]
    measures = list(dict.fromkeys(scope.measures[name] for name in frame["query_set"].drop_nulls().unique().sort()))
    found = [view for view in views(frame, measures) if view.place[1] == scope.base_mode]
    if not found:
        return Panel("graded", title, "", [f"No such set was searched in mode {scope.base_mode}."], [], names)
    several = len({view.place[0] for view in found}) > 1
    grids: list[Grid] = []
    for view in found:
        where = _where(view, several)
        grids.append(_grid(view, view.settings, f"Systems by setting: {where}", "Setting", _searched(query_sets)))
        for attribute, values in view.values.items():
            by = f"Systems by {attribute.replace('_', ' ')}{f', {values.common}' if values.common else ''}"
            grids.append(_grid(view, values.shown, f"{by}: {where}", attribute.replace("_", " ").capitalize()))
    said = [_said(view, _where(view, several)) for view in found]
    return Panel("graded", title, LEDE, said, grids, names, brief=said)


def _where(view: View, several: bool) -> str:
    corpus, mode, split, measure = view.place
    parts = [*([f"split {split}"] if split else []), str(measure), f"mode {mode}", *([str(corpus)] if several else [])]
    return ", ".join(parts)


def _said(view: View, where: str) -> str:
    """Which system has the highest mean: over the most settings, and in how many of them."""
    head = f"By setting, {where}"
    own = [shown for shown in view.settings if not shown.over]
    top = view.overall
    if top is None or not top.highest:
        tops = [f"{listing(shown.highest) or 'none'} in {shown.label}" for shown in own]
        return f"{head}: the highest mean has {'; '.join(tops)}."
    name = top.highest[0]
    row = top.rows[name]
    ends = f", 95% interval {interval(row['ci_low'], row['ci_high'])}" if known(row["ci_low"], row["ci_high"]) else ""
    n = sum(name in shown.highest for shown in own)
    each = "in each of" if n == len(own) else f"in {n} of"
    return (
        f"{head}: {listing(top.highest)} {'has' if len(top.highest) == 1 else 'have'} the highest {top.label} "
        f"({number(row['mean'])}{ends}); {name} is highest {each} {count(len(own), 'setting')}."
    )


def _searched(query_sets: Mapping[str, Mapping[str, Any]]) -> Column | None:
    """Among which poems a set is searched, where any is searched among some only."""
    if not any("within" in spec for spec in query_sets.values()):
        return None

    def cell(row: Mapping[str, Any]) -> Cell:
        name = next(iter(row["shown"].rows.values()))["query_set"]
        within = query_sets[name].get("within") if name in query_sets else None
        return Cell("" if name is None else f"its {within}" if within else "all poems")

    return Column("Searched", cell, numeric=False)


def _grid(view: View, shown: Sequence[Shown], caption: str, heading: str, searched: Column | None = None) -> Grid:
    """One row a setting or value, one column a system."""

    def column(system: str) -> Column:
        def cell(row: Mapping[str, Any]) -> Cell:
            one: Shown = row["shown"]
            own = one.rows.get(system)
            if own is None:
                return Cell("not searched")
            small = interval(own["ci_low"], own["ci_high"]) if known(own["ci_low"], own["ci_high"]) else ""
            best = len(one.rows) > 1 and system in one.highest
            return Cell(number(own["mean"]), own["mean"], small or f"interval {NOT_ESTIMABLE}", "best" if best else "")

        return Column(system, cell)

    rows = [{"label": one.label, "n": one.n_queries, "shown": one} for one in shown]
    number_of = Column("Queries", lambda row: Cell(f"{row['n']:,}", row["n"]))
    return grid(rows, caption, [text("label", heading), searched, number_of, *map(column, view.systems)])


def settings_briefs(found: Sequence[Standing], splits: Mapping[str, str | None]) -> list[str]:
    """In one sentence for each corpus, split and measure: on which settings of a benchmark a lead is established.

    Args:
        found: standings by the main measure of their query sets; those of other sets are passed over.
        splits: of the settings, see ``spoken.setting_sets``.
    """
    places: dict[tuple[str, str, str], list[Standing]] = {}
    for standing in found:
        if standing.query_set in splits:
            split = splits[standing.query_set] or ""
            places.setdefault((standing.corpus, split, standing.measure), []).append(standing)
    told = []
    for (corpus, split, measure), own in sorted(places.items()):
        modes = len({standing.mode for standing in own}) > 1
        leads: dict[str, list[str]] = {}
        for standing in own:
            if lead_finding(standing).verdict == "leads":
                name = f"{standing.query_set} in mode {standing.mode}" if modes else standing.query_set
                leads.setdefault(standing.leader.system, []).append(name)
        n = sum(map(len, leads.values()))
        parts = [f"{system} leads on {listing(names)}" for system, names in sorted(leads.items())]
        if n < len(own):
            parts.append(f"no lead is established on {'any' if not n else 'the others'} of {len(own)}")
        told.append(f"Queries of {corpus}{f', split {split}' if split else ''}, {measure}: {'; '.join(parts)}.")
    return told


def searched_within(study: Mapping[str, Any]) -> list[str]:
    """Which sets are searched among some poems only, in sentences."""
    by_attribute: dict[str, list[str]] = {}
    for name, spec in sorted(study["query_sets"].items()):
        if "within" in spec and spec["corpora"]:
            by_attribute.setdefault(spec["within"], []).append(name)
    return [
        f"Each query of {listing(names)} is searched among the poems of its {attribute} alone, exactly: with an index "
        f"for each {attribute}, not by leaving poems out of a list of all."
        for attribute, names in sorted(by_attribute.items())
    ]


def judged_elsewhere(study: Mapping[str, Any]) -> list[str]:
    """Which sets came with their judgements, from where, and who judged them, in sentences."""
    by_home: dict[tuple[str, str], dict[str, list[str]]] = {}
    for name, spec in sorted(study["query_sets"].items()):
        kind = next((kind for kind in ("poetry", "beir") if kind in spec), None)
        if kind and spec["corpora"]:
            home = by_home.setdefault((kind, spec[kind]["corpus"]), {})
            home.setdefault(spec[kind]["split"], []).append(name)
    told = []
    for (kind, corpus), by_split in sorted(by_home.items()):
        splits = [f"split {split} ({listing(names)})" for split, names in sorted(by_split.items())]
        told.append(
            f"Queries and judgements come with the data of {corpus}{_place(study['corpora'][corpus])} and were not "
            f"made for this study: {listing(splits)}." + (f" {JUDGES}" if kind == "poetry" else "")
        )
    return told


def judged_here(study: Mapping[str, Any]) -> list[str]:
    """Which sets the study graded itself, from what, and by whom, in sentences."""
    by_parent: dict[str, list[str]] = {}
    for name, spec in sorted(study["query_sets"].items()):
        if "graded" in spec and spec["corpora"]:
            asked = spec["graded"]
            part = f"part {asked['part']}, " if "part" in asked else ""
            by = f"people on the sheet {asked['sheet']}" if "sheet" in asked else f"the judge {asked['judge']}"
            by_parent.setdefault(asked["of"], []).append(f"{name} ({part}graded by {by})")
    gold = " Queries of the part gold are in the part test too."
    return [
        f"The queries of {listing(names)} are those of {parent}, whose results were pooled and graded in this study; "
        f"{parent} itself, of which only the poems are known that its file names, is ranked nowhere on this page."
        + (gold if study["query_sets"][parent].get("split", {}).get("gold") else "")
        for parent, names in sorted(by_parent.items())
    ]


def _place(corpus: Mapping[str, Any]) -> str:
    hub = corpus.get("hub") or {}
    place = f"{hub['id']} at {hub.get('revision') or 'main'}" if "id" in hub else corpus.get("path", "")
    return f" ({place})" if place else ""


def measured_grades(study: Mapping[str, Any]) -> str:
    """How grades enter the measures, where sets came with grades; empty where none did."""
    if not judged_elsewhere(study):
        return ""
    return (
        "A poem is relevant from grade 1 on, in MAP, recall and the reciprocal rank alike; the gain of nDCG is the "
        "grade itself, with the discount of trec_eval, log2(rank + 1). A poem that no judgement names counts as not "
        "relevant, although few of all poems were judged for a query: a system that finds others than those that "
        "were judged is held to be wrong. MAP looks at the whole list."
    )


def ranked_within(study: Mapping[str, Any]) -> str:
    """What the statistics of a search within an attribute are those of; empty where there is none."""
    told = searched_within(study)
    if not told:
        return ""
    return " ".join(told) + (
        " Document frequencies, the number of documents and their average length, of which BM25 reckons, are those of "
        "these poems alone, as in a search of a corpus that holds no others."
    )


def averaged(study: Mapping[str, Any]) -> str:
    """How means over settings are made; empty where there are none."""
    if not setting_sets(study):
        return ""
    return (
        "In a mean over settings or languages each counts alike (a macro-average); one over two is the mean over the "
        "one of the means over the other. Its 95% interval is the percentile interval of the rescaled bootstrap (Rao "
        f"and Wu, 1988): in each of {study['bootstrap']:,} resamples, all but one of the queries of each setting or "
        "language are drawn, with replacement and each by itself, so that the interval is of the mean over these "
        "settings and languages, and of no others; queries of different settings are taken as independent."
    )
