"""The rows of the report's tables: every cell is text that is ready to be read, beside the value that it sorts by."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from verseir.formats import (
    NOT_ESTIMABLE,
    interval,
    known,
    listing,
    number,
    p_value,
    percent,
    quantity,
    signed,
)
from verseir.orders import mode_order
from verseir.report import effects
from verseir.report.effects import Cells
from verseir.report.silent import silent_measures
from verseir.report.standings import NOT_SEPARATED, Standing

#: Shares of texts or tokens from here on are marked in the table of what the encoders saw.
NOTABLE_SHARE = 0.01

#: Sort key of query sets, by name: see ``spoken.set_order``.
SetOrder = Callable[[str], tuple[int, str]]


class Cell(NamedTuple):
    """``text`` is shown, ``small`` below it; ``sort`` orders the column; ``mark`` is shown as a sign and in words."""

    text: str
    sort: float | str | None = None
    small: str = ""
    mark: str = ""


def leaderboard_tables(
    standings: Sequence[Standing], measures: Mapping[str, str], declared: Sequence[str], n_poems: Mapping[str, int]
) -> list[dict[str, Any]]:
    """One table for each corpus and query set: modes are groups of rows, measures are columns.

    The main measure stands first, the others in the order of ``declared``, the study's. A measure that says nothing, or
    nothing that another does not say, stays, and a remark under the table says why; ``n_poems`` is by corpus.
    """
    tables: dict[tuple[str, str], dict[str, Any]] = {}
    for standing in standings:
        table = tables.setdefault((standing.corpus, standing.query_set), {"modes": {}})
        table["modes"].setdefault(standing.mode, {})[standing.measure] = standing
    found = []
    for (corpus, query_set), table in tables.items():
        main = measures[query_set]
        shown = {measure for by_measure in table["modes"].values() for measure in by_measure}
        place = {measure: position for position, measure in enumerate(declared)}
        order = [main, *sorted(shown - {main}, key=lambda measure: (place.get(measure, len(place)), measure))]
        modes = sorted(table["modes"], key=mode_order)
        groups = [_leaderboard_group(mode, table["modes"][mode], order) for mode in modes]
        tested = {measure for mode in modes for measure, standing in table["modes"][mode].items() if standing.declared}
        mute, remarks = silent_measures(table["modes"].values(), order, corpus, n_poems.get(corpus))
        columns = [{"measure": name, "tested": name in tested, "silent": name in mute} for name in order]
        found.append(
            {
                "corpus": corpus,
                "query_set": query_set,
                "main": main,
                "columns": columns,
                "groups": groups,
                "remarks": remarks,
            }
        )
    return found


def _leaderboard_group(mode: str, standings: Mapping[str, Standing], order: Sequence[str]) -> dict[str, Any]:
    first = standings.get(order[0]) or next(iter(standings.values()))
    rows = []
    for score in first.scores:
        cells = []
        for measure in order:
            standing = standings.get(measure)
            own = next((other for other in standing.scores if other.system == score.system), None) if standing else None
            if standing is None or own is None:
                cells.append(Cell("not measured"))
                continue
            state = standing.state(own.system)
            mark = state if state in ("best", NOT_SEPARATED) else ""
            cells.append(Cell(number(own.mean), own.mean, interval(own.low, own.high), mark))
        whisker = {"low": score.low, "mean": score.mean, "high": score.high}
        bounded = known(*whisker.values()) and all(0 <= value <= 1 for value in whisker.values())  # type: ignore[operator]
        best = score in first.leaders
        state = first.state(score.system) if first.declared else ("highest" if best else "not tested")
        drawn = whisker if bounded else None
        rows.append({"system": score.system, "state": state, "best": best, "cells": cells, "whisker": drawn})
    return {"mode": mode, "n_queries": first.n_queries, "declared": first.declared, "rows": rows}


def register_tables(cells: Cells, measures: Mapping[str, str]) -> list[dict[str, Any]]:
    """One table for each corpus and mode: systems by registers, with intervals."""
    tables: dict[tuple[str, str], dict[effects.Place, effects.Means]] = {}
    for (place, mode), means in cells.items():
        tables.setdefault((place.corpus, mode), {})[place] = means
    found = []
    for (corpus, mode), by_place in sorted(tables.items(), key=lambda item: (item[0][0], mode_order(item[0][1]))):
        columns = [
            {
                "register": place.register,
                "query_set": place.query_set,
                "measure": measures[place.query_set],
                "n": max(row["n_queries"] for row in means.values()),
            }
            for place, means in by_place.items()
        ]
        rows = []
        for system in sorted({system for means in by_place.values() for system in means}):
            row = []
            for means in by_place.values():
                if system not in means:
                    row.append(Cell("not measured"))
                    continue
                own = means[system]
                small = interval(own["ci_low"], own["ci_high"])
                mark = "best" if system in effects.highest(means) else ""
                row.append(Cell(number(own["mean"]), own["mean"], small, mark))
            rows.append({"system": system, "cells": row})
        found.append({"corpus": corpus, "mode": mode, "columns": columns, "rows": rows})
    return found


def contrast_tables(
    contrasts: pl.DataFrame, families: Iterable[Mapping[str, Any]], set_order: SetOrder
) -> list[dict[str, Any]]:
    """One table for each family, in the order in which they are declared; a row is one tested difference a - b."""
    baseline = {family["family"]: family["baseline"] for family in families}
    order_of = {name: place for place, name in enumerate(baseline)}
    tables: dict[str, list[dict[str, Any]]] = {}
    place = _order(set_order, "measure", "b", "a")
    for row in sorted(contrasts.iter_rows(named=True), key=place):
        tables.setdefault(row["family"], []).append(row)

    found = []
    for name in sorted(tables, key=lambda name: (order_of.get(name, len(order_of)), name)):
        rows = tables[name]
        told = [[part for part in (row["note"] or "").split("; ") if part] for row in rows]
        shared = [part for part in told[0] if all(part in parts for parts in told)]
        notes = ["; ".join(part for part in parts if part not in shared) for parts in told]
        sizes = sorted({row["family_size"] for row in rows})
        named = [key for key in ("corpus", "query_set", "measure") if len({row[key] for row in rows}) == 1]
        found.append(
            {
                "family": name,
                "same": [rows[0][key] for key in named],
                "columns": [key for key in ("corpus", "query_set", "mode", "measure") if key not in named],
                "baseline": baseline.get(name, ""),
                "sizes": f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}",
                "below": sum(known(row["p_holm"]) and row["p_holm"] < 0.05 for row in rows),
                "graded": any(known(row["p_t"]) for row in rows),
                "shared": [f"{part[0].upper()}{part[1:]}." for part in shared],
                "noted": any(notes),
                "rows": [row | _contrast_cells(row) | {"note": note} for row, note in zip(rows, notes, strict=True)],
            }
        )
    return found


def _order(set_order: SetOrder, *more: str) -> Callable[[Mapping[str, Any]], tuple]:
    """Sort key of rows: by corpus, query set and mode, then by ``more`` columns."""
    return lambda row: (
        row["corpus"],
        set_order(row["query_set"]),
        mode_order(row["mode"]),
        *(row[name] for name in more),
    )


def _contrast_cells(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "estimate": Cell(signed(row["estimate"]), row["estimate"], interval(row["ci_low"], row["ci_high"], sign=True)),
        "p": Cell(p_value(row["p"]), row["p"]),
        "p_holm": Cell(p_value(row["p_holm"]), row["p_holm"]),
        "p_t": Cell(p_value(row["p_t"]) if known(row["p_t"]) else "not used", row["p_t"]),
    }


def tie_rows(ties: pl.DataFrame, measures: Mapping[str, str], set_order: SetOrder) -> list[dict[str, Any]]:
    """Ties of every run, with the span of its main measure under any order of tied poems."""
    rows = []
    for row in sorted(ties.iter_rows(named=True), key=_order(set_order, "system")):
        if row["measure"] == measures.get(row["query_set"]):
            span = row["highest"] - row["lowest"]
            cells = {
                cut: Cell(percent(row[f"share_tied_at_{cut}"]), row[f"share_tied_at_{cut}"]) for cut in ("5", "10", "R")
            }
            ends = {name: Cell(number(row[name]), row[name]) for name in ("mean", "lowest", "highest")}
            rows.append(row | ends | {"cuts": cells, "span": Cell(number(span), span)})
    return rows


def cost_rows(costs: pl.DataFrame) -> list[dict[str, Any]]:
    """What each system cost on each corpus: before a query comes (index or encode), and for the queries."""
    build = pl.col("stage").str.contains("^(index|encode)")
    rows = []
    for (corpus, system), frame in sorted(costs.partition_by(["corpus", "system"], as_dict=True).items()):
        halves = [_stage_cells(frame.filter(build)), _stage_cells(frame.filter(~build))]
        seconds, index = sum(frame["seconds"].to_list()), sum(frame["index_mb"].drop_nulls().to_list())
        memory = max(frame["peak_memory_mb"].drop_nulls().to_list(), default=None)
        rows.append(
            {
                "corpus": corpus,
                "system": system,
                "build": halves[0],
                "search": halves[1],
                "seconds": Cell(quantity(seconds), seconds),
                "memory": Cell(quantity(memory), memory),
                "index": Cell(quantity(index), index) if index else Cell("no index"),
                "device": ", ".join(sorted(set(frame["device"].drop_nulls()))) or "not stated",
            }
        )
    return rows


def _stage_cells(frame: pl.DataFrame) -> dict[str, Cell]:
    if frame.is_empty():
        return {"texts": Cell("no step"), "rate": Cell("no step")}
    texts, seconds = sum(frame["n_texts"].drop_nulls().to_list()), sum(frame["seconds"].to_list())
    if not texts:
        return {"texts": Cell("0", 0.0), "rate": Cell(NOT_ESTIMABLE, small="no new text")}
    rate = texts / seconds if seconds > 0 else None
    return {"texts": Cell(f"{texts:,}", texts), "rate": Cell(quantity(rate), rate)}


def stage_rows(costs: pl.DataFrame) -> list[dict[str, Any]]:
    """Every row of the COSTS table."""
    rows = []
    for row in costs.sort("corpus", "system", "stage").iter_rows(named=True):
        texts = row["n_texts"]
        no_rate = Cell(NOT_ESTIMABLE, small="no new text" if not texts else "")
        rows.append(
            row
            | {
                "n_texts": Cell(f"{texts or 0:,}", texts or 0),
                "rate": Cell(quantity(row["texts_per_second"]), row["texts_per_second"])
                if known(row["texts_per_second"])
                else no_rate,
                "seconds": Cell(quantity(row["seconds"]), row["seconds"]),
                "memory": Cell(quantity(row["peak_memory_mb"]), row["peak_memory_mb"]),
                "index": Cell(quantity(row["index_mb"]), row["index_mb"])
                if known(row["index_mb"])
                else Cell("no index"),
                "device": row["device"] or "not stated",
            }
        )
    return rows


def encoding_rows(encoding: pl.DataFrame) -> list[dict[str, Any]]:
    """What each encoder saw of the texts: how many it had to cut, and how many tokens it does not know."""
    rows = []
    for row in encoding.sort("corpus", "system", "role").iter_rows(named=True):
        shares = {}
        for name in ("truncated_share", "unknown_token_share"):
            share = row[name]
            text = percent(share) if known(share) else "not counted"
            shares[name] = Cell(text, share, mark="notable" if known(share) and share >= NOTABLE_SHARE else "")
        revision = row["revision"] or "not stated"
        rows.append(
            row
            | shares
            | {
                "revision": revision,
                "short": revision[:12] if re.fullmatch("[0-9a-f]{40}", revision) else revision,
                "dimension": row["dimension"] or "not stated",
            }
        )
    return rows


def encoding_sentence(encoding: pl.DataFrame) -> str:
    """Which encoders cut texts or meet tokens that they do not know, at or above one in a hundred."""
    if encoding.is_empty():
        return "No encoder was run for this study."
    told = []
    for (system, corpus), frame in sorted(encoding.partition_by(["system", "corpus"], as_dict=True).items()):
        worst = []
        for column, what in (("truncated_share", "are cut"), ("unknown_token_share", "are unknown")):
            row = frame.sort(column, "role", descending=[True, False], nulls_last=True).row(0, named=True)
            if known(row[column]) and row[column] >= NOTABLE_SHARE:
                of = f"{row['role']} texts" if column == "truncated_share" else f"the tokens in {row['role']} texts"
                worst.append(f"{percent(row[column])} of {of} {what}")
        if worst:
            told.append(f"{system} on {corpus}: {listing(worst)}.")
    return " ".join(told) or "No encoder cut 1% of its texts or more, or met as many unknown tokens."


def failed_checks(encoders: Iterable[Mapping[str, Any]]) -> list[str]:
    """The checks that encoders did not pass, in sentences."""
    return [
        f"{encoder['system']} on {encoder['corpus']}, {check['name']}: {check['observed']}."
        for encoder in encoders
        for check in encoder.get("checks", [])
        if not check["ok"]
    ]


def tuned_rows(
    tuned: Iterable[Mapping[str, Any]], hidden: Collection[str], set_order: SetOrder
) -> list[dict[str, Any]]:
    """What each tuned system chose, by system, validation query set and mode; without ``hidden`` systems."""
    shown = [row for row in tuned if row["system"] not in hidden]
    place = _order(set_order)
    return [
        dict(row)
        | {name: Cell(f"{row[name]:g}", row[name]) for name in ("k1", "b")}
        | {"mean": Cell(number(row["mean"]), row["mean"]), "n_queries": f"{row['n_queries']:,}"}
        for row in sorted(shown, key=lambda row: (row["system"], *place(row)))
    ]


def audit_rows(audits: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Poems, verses and duplicates of each corpus, with the notes and warnings of its audit."""
    rows = []
    for audit in sorted(audits, key=lambda audit: audit["corpus"]):
        names = ("n_poems", "n_verses", "n_classes", "n_duplicates")
        cells = {
            name: Cell(f"{audit[name]:,}", audit[name]) if name in audit else Cell("not counted") for name in names
        }
        said = {name: list(audit.get(name, [])) for name in ("notes", "warnings")}
        rows.append({"corpus": audit["corpus"], **said, **cells})
    return rows
