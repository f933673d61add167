"""Tables 7 and 8 of a paper: quotation slopes by threshold and by measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from verseir.analyses.quotation import NOT_QUOTING, QUOTING
from verseir.figures.panels import main_rows
from verseir.typeset.cells import cells, columns, p_of, places, reasons, sheet, value, versus, with_best
from verseir.typeset.sheet import Sheet


def thresholds(means: pl.DataFrame, slopes: pl.DataFrame, mode: str, measures: Mapping[str, str]) -> Sheet:
    """Table 7: quotation slopes by threshold, by the main measure, from QUOTATION and QUOTATION_SLOPES tables."""
    at = pl.col("mode") == mode
    return _slopes(
        "table-7-thresholds",
        f"Quotation by the number of verbatim tokens in a row that makes a query quoting, indexing mode {mode}.",
        main_rows(means.filter(at), measures),
        main_rows(slopes.filter(at), measures),
        "measure",
        "threshold",
        {number: f"≥ {number}" for number in sorted(means["threshold"].unique())},
    )


def by_measure(means: pl.DataFrame, slopes: pl.DataFrame, mode: str, threshold: int, measures: Sequence[str]) -> Sheet:
    """Table 8: quotation slopes by measure, at one threshold, from QUOTATION and QUOTATION_SLOPES tables."""
    at = (pl.col("mode") == mode) & (pl.col("threshold") == threshold)
    return _slopes(
        "table-8-measures",
        f"Quotation by measure, indexing mode {mode}: {threshold} verbatim tokens in a row make a query quoting.",
        means.filter(at),
        slopes.filter(at),
        "threshold",
        "measure",
        {name: name for name in measures if name in means.filter(at)["measure"]},
    )


def _slopes(
    name: str,
    caption: str,
    means: pl.DataFrame,
    slopes: pl.DataFrame,
    part: str,
    across: str,
    headings: Mapping[Any, str],
) -> Sheet:
    """Means by stratum, slopes and their differences, with the values of ``across`` side by side under ``headings``."""
    shown = list(headings)
    means, slopes = (table.filter(pl.col(across).is_in(shown)) for table in (means, slopes))
    printed = []
    for corpus, query_set, other in places(means, "corpus", "query_set", part):
        here = (pl.col("corpus") == corpus) & (pl.col("query_set") == query_set) & (pl.col(part) == other)
        mean = {(r["stratum"], r["system"], r[across]): r for r in means.filter(here).iter_rows(named=True)}
        slope = {(r["a"], r["b"], r[across]): r for r in slopes.filter(here).iter_rows(named=True)}
        systems = sorted({system for _, system, _ in mean})
        pairs = sorted({(a, b) for a, b, _ in slope if b is not None})
        place = (corpus, query_set, str(other))
        for stratum in (QUOTING, NOT_QUOTING):
            found = {v: row["n_queries"] for (at, _, v), row in mean.items() if at == stratum}
            printed.append(cells(*place, "number of queries", stratum, *(f"{found.get(v, 0):,}" for v in shown)))
        for stratum in (QUOTING, NOT_QUOTING):
            block = [
                with_best(
                    [
                        (value(row, "mean"), row["mean"] if row else None)
                        for row in (mean.get((stratum, system, v)) for system in systems)
                    ]
                )
                for v in shown
            ]
            for i, system in enumerate(systems):
                printed.append([*cells(*place, f"mean, {stratum}", system), *(column[i] for column in block)])
        for system in systems:
            texts = [value(slope.get((system, None, v)), "estimate", sign=True) for v in shown]
            printed.append(cells(*place, "slope: mean when quoting less mean when not", system, *texts))
        for a, b in pairs:
            texts = [value(slope.get((a, b, v)), "estimate", sign=True) for v in shown]
            printed.append(cells(*place, "difference of slopes", versus(a, b), *texts))
        for a, b in pairs:
            texts = [p_of(slope.get((a, b, v))) for v in shown]
            printed.append(cells(*place, "difference of slopes, Holm p", versus(a, b), *texts))
    heads = columns(f"corpus, query set, {part}, quantity, system", headings.values())
    empty = "no query with a target was searched in this mode at this threshold"
    return sheet(
        name,
        f"{caption} Means of both strata, slopes and their differences, with 95% intervals.",
        heads,
        printed,
        empty,
        [reasons([*means.to_dicts(), *slopes.to_dicts()])],
        parts=3,
        blocks=1,
    )
