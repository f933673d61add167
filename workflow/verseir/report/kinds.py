"""Systems on queries of one kind: means by the attributes that the study declares as strata."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from verseir.formats import NOT_ESTIMABLE, count, known, listing, number
from verseir.report.idiom_scores import mean_cell
from verseir.report.panel import Column, Grid, Panel, empty, grid, places, text, whole
from verseir.report.sections import Cell
from verseir.report.standings import same_mean
from verseir.report.wording import Scope, Tables

#: An attribute with more values has no table of its own.
MOST = 12
#: Of an idiom benchmark: what other parts of the page show, and what is too much to show whatever it holds.
ELSEWHERE, IN_LINE = "usage", "idiom"

LEDE = (
    "What cannot be concluded: that a kind is what makes queries harder, since queries of two kinds may differ in "
    "other respects too, such as how many texts are relevant to them. Each interval is for itself; no difference "
    "between kinds was tested."
)

Rows = Sequence[Mapping[str, Any]]


def kinds(tables: Tables, scope: Scope, idiom_sets: Sequence[str]) -> Panel | None:
    """Systems by the values of attributes of queries, in the base mode; None where there is nothing to show.

    Args:
        tables: by name; ``strata`` where the study declares any.
        scope: of the page.
        idiom_sets: the query sets of idiom benchmarks, in their order.
    """
    title, names = "By kind of query", ["strata"]
    if "strata" not in tables:
        return None
    frame = scope.main(tables["strata"].filter(pl.col("mode") == scope.base_mode))
    if frame.is_empty():
        return empty("kinds", title, f"no query set with strata was searched in mode {scope.base_mode}", names)
    about_idioms = pl.col("query_set").is_in(list(idiom_sets))
    frame = frame.filter(~(about_idioms & (pl.col("attribute") == ELSEWHERE)))
    if frame.is_empty():
        return None
    order = {name: place for place, name in enumerate(idiom_sets, 1)}
    parts = frame.partition_by(["corpus", "query_set", "attribute"], as_dict=True)
    at = sorted(parts, key=lambda key: (key[0], order.get(key[1], 0), *key[1:]))
    several = frame["corpus"].n_unique() > 1
    tables_: list[Grid] = []
    lines: list[dict[str, Any]] = []
    shown: dict[str, list[int]] = {}
    for key in at:
        part, (_, query_set, attribute) = parts[key], key
        values = sorted(part["value"].unique(), key=_natural)
        shown.setdefault(attribute, []).append(len(values))
        if len(values) > MOST or (query_set in order and attribute == IN_LINE):
            lines += _lines(part)
        else:
            tables_.append(_by_value(part, values, scope.base_mode, several))
    named = [f"{name} ({_counted(sizes)})" for name, sizes in sorted(shown.items())]
    said = f"Means over the queries of one kind, in mode {scope.base_mode}, by {listing(named)}."
    grids = [*tables_, *([_ends_of(lines, scope.base_mode)] if lines else [])]
    return Panel("kinds", title, LEDE, [said], grids, names)


def _natural(value: str) -> tuple[float, str]:
    """Numbers by size, then words by name."""
    try:
        size = float(value)
    except ValueError:
        return math.inf, value
    return (size if math.isfinite(size) else math.inf), value


def _counted(sizes: Sequence[int]) -> str:
    least, most = min(sizes), max(sizes)
    return count(most, "value") if least == most else f"{least} to {most} values"


def _by_value(rows: pl.DataFrame, values: Sequence[str], mode: str, several: bool) -> Grid:
    """One row a system, one column a value."""
    by = {(row["system"], row["value"]): row for row in rows.iter_rows(named=True)}
    n = {value: max(row["n_queries"] for (_, at), row in by.items() if at == value) for value in values}
    corpus, query_set, attribute, measure = rows.select("corpus", "query_set", "attribute", "measure").row(0)
    where = f"{query_set} on {corpus}" if several else query_set

    def column(value: str) -> Column:
        return Column(value, lambda row: mean_cell(by.get((row["system"], value))), small=f"n = {n[value]:,}")

    return grid(
        [{"system": system} for system in sorted(rows["system"].unique())],
        f"{where} by {attribute.replace('_', ' ')}: {measure}, mode {mode}",
        [text("system", "System"), *map(column, values)],
    )


def _lines(rows: pl.DataFrame) -> list[dict[str, Any]]:
    """Of each system the values with the lowest and the highest mean."""
    found = []
    for (system,), own in sorted(rows.partition_by(["system"], as_dict=True).items()):
        means = [(row["value"], row["mean"]) for row in own.sort("value").iter_rows(named=True) if known(row["mean"])]
        first = own.row(0, named=True)
        row = {key: first[key] for key in ("corpus", "query_set", "attribute", "measure")} | {"system": system}
        found.append(row | {"n": len(own), "lowest": _end(means, min), "highest": _end(means, max)})
    return found


def _end(means: Sequence[tuple[str, float]], of: Any) -> Cell:
    """The lowest or highest mean, and whose it is."""
    if not means:
        return Cell(NOT_ESTIMABLE)
    end = of(mean for _, mean in means)
    names = [value for value, mean in means if same_mean(mean, end)]
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return Cell(number(end), end, f"{names[0]}{more}")


def _ends_of(rows: Rows, mode: str) -> Grid:
    at = pl.DataFrame([{key: row[key] for key in ("corpus", "attribute", "measure")} for row in rows])
    return grid(
        rows,
        f"The values with the lowest and the highest mean, mode {mode}; all values are in strata.csv",
        [
            text("system", "System"),
            *places(at, "corpus"),
            text("query_set", "Query set"),
            text("attribute", "Attribute"),
            *places(at, "measure"),
            whole("n", "Values"),
            Column("Lowest", lambda row: row["lowest"]),
            Column("Highest", lambda row: row["highest"]),
        ],
    )
