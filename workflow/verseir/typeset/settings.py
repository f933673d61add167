"""The tables of a paper on a benchmark of several settings: systems by setting, and by the values of an attribute."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from verseir.analyses.setting_views import Shown, View, views
from verseir.formats import known, number
from verseir.typeset.cells import cells, columns, reasons, sheet, value
from verseir.typeset.sheet import Cell, Sheet

#: What was not searched.
MISSING = "–"
LEAD = "corpus, mode, split, measure"
MACRO = "a mean over settings or values counts each of them alike; its interval resamples each by itself"


def means(table: pl.DataFrame, measures: Sequence[str]) -> Sheet:
    """Systems by setting, and means over settings, from a GRADED_SETTINGS table; intervals of the last mean alone."""
    found = list(views(table, measures))
    heads: dict[str, None] = {}  # a set that keeps its order
    for over in (False, True):
        heads |= {shown.label: None for view in found for shown in view.settings if bool(shown.over) == over}
    printed = []
    for view in found:
        by_label = {shown.label: shown for shown in view.settings}
        table_ = [_cells(by_label.get(label), view.systems, label == view.settings[-1].label) for label in heads]
        for place, system in enumerate(view.systems):
            printed.append([*_lead(view), Cell(system), *(column[place] for column in table_)])
    rows = [row for view in found for shown in view.settings for row in shown.rows.values()]
    return _sheet(
        "means",
        "Systems by setting, and means over settings, the highest of each column in bold; the mean over the most"
        " settings with its 95% interval, all other intervals in graded_settings.csv.",
        "system",
        list(heads),
        printed,
        reasons(rows),
    )


def values(table: pl.DataFrame, measures: Sequence[str]) -> Sheet:
    """The values of attributes by system, with intervals, from a GRADED_SETTINGS table."""
    found = list(views(table, measures))
    systems = sorted({system for view in found for system in view.systems})
    printed = []
    for view in found:
        for attribute, some in view.values.items():
            for one in some.shown:
                printed.append(
                    [
                        *_lead(view),
                        *cells(attribute, some.common or MISSING, one.label, f"{one.n_queries:,}"),
                        *_cells(one, systems, ends=True),
                    ]
                )
    rows = [
        row for view in found for some in view.values.values() for shown in some.shown for row in shown.rows.values()
    ]
    return _sheet(
        "values",
        "Systems by the values of attributes of queries, as means over the settings that have them with 95% intervals,"
        " the highest of each row in bold.",
        "attribute, means of, value, n",
        systems,
        printed,
        reasons(rows),
    )


def _lead(view: View) -> list[Cell]:
    return cells(*(MISSING if part is None else part for part in view.place))


def _cells(shown: Shown | None, systems: Sequence[str], ends: bool) -> list[Cell]:
    """The cells of one setting, by system, the highest marked."""
    best = shown.highest if shown is not None and len(shown.rows) > 1 else []
    return [Cell(_text(shown, system, ends), system in best) for system in systems]


def _text(shown: Shown | None, system: str, ends: bool) -> str:
    if shown is None or system not in shown.rows:
        return MISSING
    row = shown.rows[system]
    return value(row, "mean") if ends and known(row["ci_low"], row["ci_high"]) else number(row["mean"])


def _sheet(name: str, caption: str, words: str, numbers: Sequence[str], printed: list[list[Cell]], why: str) -> Sheet:
    missing = any(cell.text == MISSING for row in printed for cell in row)
    return sheet(
        f"table-settings-{name}",
        caption,
        columns(f"{LEAD}, {words}", numbers),
        printed,
        "no query set says more of its queries than their text",
        [f"{MISSING}: not searched, or no such part" if missing else "", MACRO, why],
        parts=LEAD.count(",") + 1,
    )
