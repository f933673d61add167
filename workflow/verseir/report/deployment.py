"""What follows for those who choose a system: fusion, normalisation, the two protocols, and printed figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from verseir.analyses.dissociation import PLACE, judged_measure
from verseir.analyses.published import VERDICTS
from verseir.formats import count, known, listing, number, p_phrase, p_value, quantity, signed
from verseir.report.panel import Column, Panel, empty, grid, notes, ordered, p, places, text, value, whole
from verseir.report.remarks import ends, remark
from verseir.report.sections import Cell
from verseir.report.wording import Scope, Tables, places_of

#: Values of tau that are nearer to each other than this are one.
SAME = 1e-12
#: How the selections of a search for the best fusion are spoken of.
CHOICES = {
    "any": "all subsets of arms",
    "with a lexical arm": "the subsets with a lexical arm",
    "without a lexical arm": "the subsets without one",
    "single arm": "the single arms",
    "single without lexical": "the single arms that are not lexical",
}


def fusion(tables: Tables, scope: Scope) -> Panel:
    """The best fusion, with and without a lexical arm."""
    title, names = "Fusion", ["fusion", "fusion_contrasts", "fusion_subsets"]
    frame, contrasts = tables["fusion"], tables["fusion_contrasts"]
    if frame.is_empty():
        where = " in a mode of all poems" if scope.kept else ""
        reason = f"there is no run of a single system on a query set with relevant poems{where}"
        return empty("fusion", title, reason, names)
    sentences = []
    for row in contrasts.sort("corpus", "query_set", "a", "b").iter_rows(named=True):
        pair = f"{row['query_set']} on {row['corpus']}, the best of {CHOICES[row['a']]} against {CHOICES[row['b']]}"
        if row["estimate"] is None:
            sentences.append(f"{pair}: {row['note']}.")
            continue
        sentences.append(
            f"{pair}: {signed(row['estimate'])} {row['measure']} on queries that had no part in the choice "
            f"({p_phrase('Holm p', row['p_holm'])}), {signed(row['in_sample_difference'])} on those that chose."
        )
    best = grid(
        frame,
        "The best subset of arms of each kind",
        [
            text("selection", "Choice"),
            *places(frame, "corpus", "query_set", "measure"),
            whole("n_subsets", "Subsets"),
            text("arms", "Best on all queries", "not estimable"),
            value("in_sample", "In-sample"),
            value("cross_validated", "Cross-validated", "ci_low", "ci_high"),
            notes(frame),
        ],
    )
    lede = (
        "Reciprocal-rank fusion over all subsets of (system, mode) arms. The in-sample mean is of the queries that "
        "chose the subset and flatters it; the cross-validated mean is of queries that had no part in the choice."
    )
    if scope.kept:
        lede += f" Arms in modes of some poems only take no part: {listing(scope.kept)}."
    return Panel(
        "fusion",
        title,
        lede,
        sentences,
        [best],
        names,
        "fusions",
        "In-sample means (hollow) and cross-validated means with intervals (solid).",
    )


def normalisation(tables: Tables, scope: Scope) -> Panel:
    """What each normalisation of text does."""
    title, names = "Normalisation of the text", ["normalisation"]
    frame = tables.get("normalisation", pl.DataFrame())
    if frame.is_empty():
        return empty(
            "normalisation",
            title,
            "the study does not repeat its searches under other normalisations (`analyses.normalisation`)",
            names if "normalisation" in tables else [],
        )
    frame = ordered(scope.main(frame), "corpus", "query_set", "mode", "system", "preset")
    sentences = []
    for (system,), part in places_of(
        frame.filter((pl.col("preset") != pl.col("own_preset")) & pl.col("estimate").is_not_null()), "system"
    ):
        told = [
            f"{signed(row['estimate'])} {row['measure']} with {row['preset']} on {row['query_set']}, {row['corpus']}"
            for row in part.iter_rows(named=True)
        ]
        own = part["own_preset"][0]
        sentences.append(f"Against the preset that {system} has, {own}: {listing(told)}.")
    table = grid(
        frame,
        "Every preset against the system's own",
        [
            text("system", "System"),
            *places(frame, "corpus", "query_set", "mode", "measure"),
            text("preset", "Preset"),
            value("mean", "Mean", "mean_ci_low", "mean_ci_high"),
            value("estimate", "Against own", "ci_low", "ci_high", sign=True),
            p(),
            notes(frame),
        ],
    )
    return Panel("normalisation", title, "", sentences, [table], names)


def protocols(tables: Tables, scope: Scope, main: str | None = None) -> Panel:
    """Do known-item and thematic query sets rank systems alike? Of judges, ``main`` is spoken of."""
    title, names = "Known-item against thematic", ["dissociation", "rank_moves"]
    frame, moves = tables["dissociation"], tables["rank_moves"]
    whole_order = frame.filter(pl.col("left_out").is_null())
    if whole_order.is_empty():
        return empty(
            "protocols", title, "no corpus has both a known-item and a thematic query set that were measured", names
        )
    sentences = []
    spoken = ~pl.col("measure_thematic").str.contains(": ") | (pl.col("measure_thematic") == judged_measure(str(main)))
    for row in whole_order.filter(spoken, pl.col("mode") == scope.base_mode).iter_rows(named=True):
        orders = f"{row['known_item']} ({row['measure_known_item']}) and {row['thematic']} ({row['measure_thematic']})"
        if row["tau"] is None:
            sentences.append(f"{orders} on {row['corpus']}: {row['note']}.")
            continue
        told = f"{orders} on {row['corpus']} order {count(row['n_systems'], 'system')} with Kendall's τ {_tau(row)}"
        sentences.append(f"{told}; {_hangs_on(row, frame)}.")
    order = grid(
        frame,
        "Kendall's τ between the two orders",
        [
            *places(frame, "corpus", "known_item", "thematic"),
            text("measure_thematic", "Thematic by"),
            text("mode", "Mode"),
            text("left_out", "Left out", "none"),
            whole("n_systems", "Systems"),
            value("tau", "τ", "ci_low", "ci_high", sign=True),
            text("test", "Test"),
            p("p", "p"),
            notes(frame),
        ],
    )
    places_ = grid(
        moves,
        "Ranks",
        [
            text("system", "System"),
            *places(moves, "corpus", "known_item", "thematic"),
            text("measure_thematic", "Thematic by"),
            text("mode", "Mode"),
            value("mean_known_item", "Known-item mean"),
            value("mean_thematic", "Thematic mean"),
            Column("Known-item rank", lambda row: _rank(row["rank_known_item"])),
            Column("Thematic rank", lambda row: _rank(row["rank_thematic"])),
            Column("Falls by", _moved),
            notes(moves),
        ],
    )
    lede = (
        "A system that finds the poem that was meant need not find poems on a theme. Intervals resample the queries of "
        "both sets, for these systems; noise draws τ towards 0. Orders that no resample changes have none. The p value "
        "takes the systems as drawn from many."
    )
    legend = "Places on known-item queries (left) and on themes (right)."
    grids = [order, *([places_] if len(moves) else [])]
    return Panel("protocols", title, lede, sentences, grids, names, "rankings", legend, brief=sentences[:1])


def _hangs_on(row: Mapping[str, Any], frame: pl.DataFrame) -> str:
    """Without which system two orders agree best, and how well."""
    same = pl.all_horizontal(pl.col(name) == row[name] for name in (*PLACE, "measure_thematic"))
    others = frame.filter(same & pl.col("left_out").is_not_null() & pl.col("tau").is_not_null())
    if others.is_empty():
        return "no system can be left out"
    best = others.filter(pl.col("tau") > pl.col("tau").max() - SAME).sort("left_out").to_dicts()
    if len(best) == 1:
        return f"without {best[0]['left_out']} it is {_tau(best[0])}, the highest that leaving one out gives"
    number_ = signed(best[0]["tau"], 2)
    if len(best) == len(others):
        return f"whichever system is left out, it is {number_}"
    names = listing([row["left_out"] for row in best])
    return f"without any one of {names} it is {number_}, the highest that leaving one out gives"


def _tau(row: Mapping[str, Any]) -> str:
    """``+0.24 [-0.11, +0.51]``, or in words why it has no interval."""
    return f"{signed(row['tau'], 2)}{ends(row, 'ci_low', 'ci_high', sign=True)}{remark(row)}"


def _rank(rank: float) -> Cell:
    return Cell(f"{rank:g}".replace("-", "\u2212"), rank)


def _moved(row: Mapping[str, Any]) -> Cell:
    """How many places a system falls, with the interval."""
    cell = _rank(row["move"])
    if not known(row["move_low"], row["move_high"]):
        return cell
    ends = f"[{row['move_low']:+g},\u00a0{row['move_high']:+g}]".replace("-", "\u2212").replace("+0", "0")
    return Cell(cell.text, row["move"], ends)


def _computed(row: Mapping[str, Any]) -> str:
    """A computed figure in the form of its unit, with no fewer decimals than are printed."""
    if row["computed"] is None:
        return "none"
    form = {"p": p_value, "count": quantity, "rank": quantity, "place": quantity}.get(row["unit"])
    decimals = row["published"].partition(".")[2]
    if row["unit"] in ("count", "percent") and not decimals and float(row["computed"]).is_integer():
        return f"{int(row['computed']):,}"
    return form(row["computed"]) if form else number(row["computed"], max(3, len(decimals)))


def published(tables: Tables) -> Panel | None:
    """Printed figures beside computed ones; None where the study names no file of them."""
    if "published" not in tables:
        return None
    frame = tables["published"]
    counts = dict(frame["verdict"].value_counts().iter_rows())
    told = [f"{counts[verdict]} {verdict}" for verdict in VERDICTS if verdict in counts]
    table = grid(
        frame,
        "Published against computed",
        [
            text("place", "Place"),
            text("quantity", "Quantity"),
            text("published", "Published"),
            text("unit", "Unit"),
            Column("Computed", lambda row: Cell(_computed(row), row["computed"])),
            text("verdict", "Verdict"),
            notes(frame),
        ],
    )
    lede = (
        "Tied: what is printed is among the values that other orders of tied documents give, so a rule for ties that "
        "is not stated can make the difference."
    )
    return Panel(
        "published",
        "Published against computed",
        lede if "tied" in counts else "",
        [f"Of {count(len(frame), 'printed figure')}: {listing(told)}."],
        [table],
        ["published"],
    )
