"""Ways to ask and to index compared: the same queries, one system, two query sets or two modes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from verseir.formats import count, listing, signed
from verseir.orders import mode_order
from verseir.report.idiom_scores import spread
from verseir.report.panel import Column, Grid, Panel, grid, notes, p, places, text, value, whole, why_not
from verseir.report.remarks import NAMED
from verseir.report.wording import Scope, Tables

ALPHA = 0.05
#: What is compared, and in which column it is said on what.
KINDS = {
    "query_set": ("Ways to ask compared", text("mode", "Mode")),
    "mode": ("Ways to index compared", text("query_set", "Query set")),
}


def settings(tables: Tables, scope: Scope, order: Sequence[str]) -> Panel | None:
    """Which differences between query sets and between modes are established; None where the study declares none.

    Args:
        tables: by name; ``setting_contrasts`` where the study declares families of them.
        scope: what is shown of each table.
        order: query sets that stand before others, in this order.
    """
    if "setting_contrasts" not in tables:
        return None
    title, names = "Ways to ask and to index, compared", ["setting_contrasts"]
    rows = _spoken(tables["setting_contrasts"], scope)
    if rows.is_empty():
        why = "No two ways to ask or to index were compared on the same queries by the main measure of a query set."
        return Panel("settings", title, "", [why], [], names)
    keys = ["setting", "corpus", "query_set", "a", "b", "measure", "family"]

    def rank(key: tuple[Any, ...]) -> tuple[Any, ...]:
        setting, corpus, query_set, a, b, *_ = key
        asked = query_set or a
        place = order.index(asked) if asked in order else len(order)
        return (setting != "query_set", corpus, place, asked, mode_order(a), b, key[-1])

    parts = rows.partition_by(keys, as_dict=True)
    in_order = [parts[key] for key in sorted(parts, key=rank)]
    rows = pl.concat(in_order)
    kinds = rows.partition_by("setting", maintain_order=True, as_dict=True)
    grids = [_grid(part, *KINDS[str(setting)]) for (setting,), part in kinds.items()]
    lede = (
        "Each system is compared with itself on the same queries. A mode that leaves texts out has fewer relevant "
        "ones, so a difference from it is one of what there is to find, too."
    )
    return Panel("settings", title, lede, [_difference(part, scope) for part in in_order], grids, names)


def _grid(rows: pl.DataFrame, what: str, where: Column) -> Grid:
    """The differences between query sets, or between modes; a note that all rows share stands in the caption."""
    notes_of = rows["note"].unique()
    shared = notes_of[0] if len(notes_of) == 1 else None
    return grid(
        rows,
        f"{what}, a minus b" + (f"; {shared}" if shared else ""),
        [
            text("system", "System"),
            *places(rows, "corpus", "family"),
            text("a", "a"),
            text("b", "b"),
            where,
            *places(rows, "measure"),
            whole("n", "n"),
            value("estimate", "a − b", "ci_low", "ci_high", sign=True),
            p("p", "p"),
            p(),
            None if shared else notes(rows),
        ],
    )


def _spoken(contrasts: pl.DataFrame, scope: Scope) -> pl.DataFrame:
    """The contrasts by the main measure of each query set; between query sets in the base mode alone."""
    asked = pl.col("query_set").fill_null(pl.col("a"))
    main = pl.col("measure") == asked.replace_strict(dict(scope.measures), default=None, return_dtype=pl.String)
    here = (pl.col("setting") == "mode") | (pl.col("mode") == scope.base_mode)
    return contrasts.filter(main, here).sort("a", "b", "system")


def _difference(rows: pl.DataFrame, scope: Scope) -> str:
    """How many systems differ between two settings after Holm's correction, and by how much."""
    first = rows.row(0, named=True)
    where = f"mode {scope.base_mode}" if first["setting"] == "query_set" else first["query_set"]
    head = f"{first['a']} against {first['b']}, {where} on {first['corpus']} ({first['measure']})"
    tested = rows.filter(pl.col("p_holm").is_not_null(), pl.col("estimate").is_not_null())
    if tested.is_empty():
        return f"{head}: {why_not(rows)}."
    sure = tested.filter(pl.col("p_holm") < ALPHA)
    if len(tested) == 1:
        system, estimate = tested.select("system", "estimate").row(0)
        way = "does not differ" if sure.is_empty() else f"scores {'higher' if estimate > 0 else 'lower'}"
        return f"{head}: {system} alone {way} after Holm’s correction; difference {signed(estimate)}."
    parts = []
    for side, what in ((pl.col("estimate") > 0, "higher"), (pl.col("estimate") < 0, "lower")):
        names = sure.filter(side)["system"].to_list()
        if names:
            who = f" ({listing(names)})" if len(names) <= NAMED else ""
            parts.append(f"{len(names)} {'scores' if len(names) == 1 else 'score'} {what}{who}")
    changes = spread(list(tested.select("system", "estimate").iter_rows()), signed)
    found = listing(parts) if parts else "none differs"
    return f"{head}: of {count(len(tested), 'system')} {found} after Holm’s correction; differences {changes}."
