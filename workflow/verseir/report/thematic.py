"""What judges and people say of thematic results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from verseir.analyses.annotators import MEAN
from verseir.formats import count, interval, listing, number, ordinal, p_phrase, percent, signed
from verseir.report.panel import (
    Column,
    Grid,
    Panel,
    empty,
    grid,
    notes,
    ordered,
    p,
    places,
    share,
    text,
    value,
    whole,
    why_not,
)
from verseir.report.sections import Cell
from verseir.report.wording import Scope, Tables, places_of

OVERALL, ABOUTNESS = "overall", "aboutness"
#: The order in which kinds of aspects are read.
KINDS = {"overall": 0, "aboutness": 1, "wording": 2}


def judged(tables: Tables, scope: Scope, main: str | None) -> Panel:
    """How judges score what each system puts first."""
    title, names = "Thematic results, judged", ["thematic_means", "thematic_contrasts", "pool_coverage"]
    frame = tables["thematic_means"].filter(pl.col("mode") == scope.base_mode)
    if main is None or frame.is_empty():
        return empty("judged", title, "no judge has judged results of this study", names)
    own = frame.filter(pl.col("judge") == main)
    contrasts = tables["thematic_contrasts"].filter(pl.col("mode") == scope.base_mode)
    sentences = []
    for (corpus, query_set), part in places_of(own, "corpus", "query_set"):
        sentences += _standing(part, corpus, query_set, scope)
        tested = contrasts.filter(
            pl.col("corpus") == corpus, pl.col("query_set") == query_set, pl.col("aspect") == OVERALL
        )
        sentences += [
            f"{judge}, {_against(rows, lexical)}." for (judge, lexical), rows in places_of(tested, "judge", "a")
        ]
    table = _aspect_grid(own, f"Mean score of what each system puts first, by aspect ({main}, {scope.base_mode})")
    everywhere = tables["thematic_means"].filter(pl.col("aspect") == OVERALL)
    others = grid(
        ordered(everywhere, "corpus", "query_set", "judge", "mode", "rank"),
        "Overall quality, by every judge and in every mode",
        [
            text("judge", "Judge"),
            text("rubric", "Rubric"),
            *places(frame, "corpus", "query_set"),
            text("mode", "Mode"),
            text("system", "System"),
            value("mean", "Mean", "ci_low", "ci_high"),
            Column("Rank", _rank),
            whole("n_queries", "Queries"),
            share("judged_at_k", "Judged"),
            notes(everywhere),
        ],
    )
    tests = ordered(contrasts, "corpus", "query_set", "judge", "aspect", "a", "b")
    differences = grid(
        tests,
        "Differences between systems, by judges",
        [
            text("judge", "Judge"),
            *places(tests, "corpus", "query_set", "aspect"),
            text("a", "a"),
            text("b", "b"),
            whole("n", "n"),
            value("estimate", "a − b", "ci_low", "ci_high", sign=True),
            p(),
            notes(tests),
        ],
    )
    k = int(frame["k"].max())  # type: ignore[arg-type]
    lede = (
        "Judges read a query and the first verses of a poem, not knowing which system found it, and score each aspect. "
        f"A system's score for a query is the mean of its first {k} poems; what was not judged is left out, and a "
        "place that a system leaves empty scores the lowest grade. A high score for an aspect of wording says that "
        "words are repeated, not that a result is good: it counts neither for aboutness nor for overall quality."
    )
    grids = [table, others, *([differences] if len(tests) else [])]
    return Panel("judged", title, lede, sentences, grids, names, brief=sentences[:1])


def _standing(part: pl.DataFrame, corpus: str, query_set: str, scope: Scope) -> list[str]:
    """Who leads by overall quality, and where the lexical systems stand by it, by aboutness and by wording."""
    overall = part.filter(pl.col("aspect") == OVERALL, pl.col("mean").is_not_null()).sort("rank", "system")
    if overall.is_empty():
        return [f"{query_set} on {corpus}: {why_not(part)}."]
    best = overall.row(0, named=True)
    said = [
        f"On {query_set}, {corpus}, {best['judge']} scores {best['system']} highest overall: {number(best['mean'], 2)} "
        f"{interval(best['ci_low'], best['ci_high'], 2)} over {count(best['n_queries'], 'query', 'queries')}"
    ]
    for lexical in scope.lexical if best["n_systems"] > 1 else []:
        ranked = part.filter(pl.col("system") == lexical, pl.col("rank").is_not_null())
        places_ = {row["aspect"]: row for row in ranked.to_dicts()}
        if OVERALL in places_:
            note = places_[OVERALL]["note"]
            told = f"{lexical} is {_place(places_[OVERALL])} with {number(places_[OVERALL]['mean'], 2)}"
            told += f" ({note})" if note else ""
            wording = [row for row in places_.values() if row["kind"] == "wording"]
            if ABOUTNESS in places_:
                told += f", {_place(places_[ABOUTNESS])} by aboutness alone"
            told += "".join(f" and {_place(row)} by {row['aspect'].replace('_', ' ')}" for row in wording)
            said.append(told)
    return ["; ".join(said) + "."]


def _place(row: Mapping[str, Any]) -> str:
    rank = row["rank"]
    place = ordinal(int(rank)) if rank == int(rank) else f"level at {rank:g}"
    return f"{place} of {row['n_systems']}"


def _against(rows: pl.DataFrame, lexical: str) -> str:
    """How many systems are established above or below ``lexical``."""
    made = rows.filter(pl.col("p_holm").is_not_null())
    if made.is_empty():
        return f"the comparison of {lexical} is {why_not(rows)}"
    sure = made.filter(pl.col("p_holm") < 0.05)
    above = sorted(sure.filter(pl.col("estimate") < 0)["b"].to_list())
    below = sorted(sure.filter(pl.col("estimate") > 0)["b"].to_list())
    told = [f"{listing(above)} above it" if above else "", f"{listing(below)} below it" if below else ""]
    found = " and ".join(filter(None, told)) or "none above or below it"
    return f"of {count(len(made), 'system')} compared with {lexical} overall, places {found} (Holm p < 0.05)"


def _rank(row: Mapping[str, Any]) -> Cell:
    return Cell(f"{row['rank']:g}" if row["rank"] is not None else "none", row["rank"])


def _aspect_grid(own: pl.DataFrame, caption: str) -> Grid:
    """One row a system, one column an aspect."""
    kinds = dict(own.select("aspect", "kind").unique().iter_rows())
    aspects = sorted(kinds, key=lambda name: (KINDS.get(kinds[name], 3), name != ABOUTNESS, name))
    rows = []
    for keys, part in places_of(own, "corpus", "query_set", "system"):
        by_aspect = {row["aspect"]: row for row in part.to_dicts()}
        rank = by_aspect.get(OVERALL, {}).get("rank")
        rows.append({"corpus": keys[0], "query_set": keys[1], "system": keys[2], "by": by_aspect, "rank": rank})
    rows.sort(key=lambda row: (row["corpus"], row["query_set"], row["rank"] is None, row["rank"] or 0, row["system"]))

    def column(aspect: str) -> Column:
        def cell(row: Mapping[str, Any]) -> Cell:
            found = row["by"].get(aspect)
            if found is None or found["mean"] is None:
                return Cell("none")
            return Cell(number(found["mean"], 2), found["mean"], interval(found["ci_low"], found["ci_high"], 2))

        small = {"aboutness": "aboutness", "wording": "wording"}.get(kinds[aspect], "")
        return Column(aspect.replace("_", " ").capitalize(), cell, True, small if aspect != ABOUTNESS else "mean")

    return grid(rows, caption, [text("system", "System"), *places(own, "corpus", "query_set"), *map(column, aspects)])


def judges(tables: Tables, scope: Scope, main: str | None) -> Panel:
    """Do judges agree, and does the order of systems hang on the judge or on the rubric?"""
    title, names = "How far judges can be trusted", ["judging", "judge_agreement", "judge_orders"]
    asked, agreement, orders = (tables[name] for name in names)
    if asked.is_empty():
        return empty("judges", title, "no judge has judged results of this study", names)
    sentences = [_asked(row) for row in asked.sort("corpus", "query_set", "judge").iter_rows(named=True)]
    with_main = (pl.col("judge_a") == main) | (pl.col("judge_b") == main)
    for row in agreement.filter(with_main, pl.col("aspect") == OVERALL).iter_rows(named=True):
        pair = f"{row['judge_a']} and {row['judge_b']} on {row['query_set']}, {row['corpus']}"
        if row["rho"] is None:
            sentences.append(f"{pair}: {row['note']}.")
        else:
            sentences.append(
                f"{pair} agree on overall quality with ρ {number(row['rho'], 2)} "
                f"{interval(row['rho_low'], row['rho_high'], 2)} over {count(row['n_items'], 'item')}."
            )
    here = orders.filter(with_main, pl.col("mode") == scope.base_mode)
    sentences += [_order(row) for row in here.iter_rows(named=True)]
    rows = ordered(agreement, "corpus", "query_set", "judge_a", "judge_b", "aspect")
    table = grid(
        rows,
        "Agreement of judges, by aspect",
        [
            text("judge_a", "Judge"),
            text("judge_b", "Judge"),
            *places(rows, "corpus", "query_set"),
            text("aspect", "Aspect"),
            whole("n_items", "Items"),
            value("rho", "Spearman ρ", "rho_low", "rho_high"),
            value("kappa", "Weighted κ", "kappa_low", "kappa_high"),
            share("within_one", "Within one", "within_one_low", "within_one_high"),
            notes(rows),
        ],
    )
    taus = ordered(orders, "corpus", "query_set", "judge_a", "aspect_a", "judge_b", "aspect_b", "mode")
    rank_table = grid(
        taus,
        "Kendall's τ between orders of systems",
        [
            Column("One order", lambda row: Cell(f"{row['judge_a']}: {row['aspect_a']}"), False),
            Column("Other order", lambda row: Cell(f"{row['judge_b']}: {row['aspect_b']}"), False),
            *places(taus, "corpus", "query_set"),
            text("mode", "Mode"),
            whole("n_systems", "Systems"),
            value("tau", "τ", "ci_low", "ci_high", sign=True),
            p("p", "p"),
            p(),
            notes(taus),
        ],
    )
    lede = "Intervals resample whole queries: items of one query are not independent."
    shown = [table] if len(rows) else []
    return Panel("judges", title, lede, sentences, [*shown, *([rank_table] if len(taus) else [])], names)


def _asked(row: Mapping[str, Any]) -> str:
    told = f"{row['judge']} ({row['rubric']}) judged {row['answered']:,} of {count(row['n_pool'], 'item')}"
    told += f" of {row['query_set']} on {row['corpus']}"
    lost = [f"{row[key]:,} {key}" for key in ("refused", "malformed", "unjudged") if row[key]]
    told += f"; {listing(lost)}, and scored nowhere" if lost else ""
    if row["prompt_tokens"] is not None:
        told += f"; {row['prompt_tokens']:,} tokens sent, {row['completion_tokens']:,} answered"
    return told + (f", at a cost of {row['cost']:,.2f}." if row["cost"] is not None else ".")


def _order(row: Mapping[str, Any]) -> str:
    one, other = f"{row['judge_a']} by {row['aspect_a']}", f"{row['judge_b']} by {row['aspect_b']}"
    pair = f"{one} and {other} on {row['query_set']}, {row['corpus']}"
    if row["tau"] is None:
        return f"{pair}: {row['note']}."
    ends = interval(row["ci_low"], row["ci_high"], 2, sign=True)
    return f"{pair} order {count(row['n_systems'], 'system')} with τ {signed(row['tau'], 2)} {ends}."


def people(tables: Tables, main: str | None) -> Panel | None:
    """What people who judged blind found; None where the study has no annotation."""
    title = "Judged by people"
    names = ["annotator_agreement", "human_judge", "annotator_contrasts", "acceptability"]
    agreement, human, contrasts, acceptable = (tables[name] for name in names)
    if all(tables[name].is_empty() for name in names):
        return None
    sentences = [_agreed(row) for row in agreement.iter_rows(named=True)]
    agreed = human.filter(
        pl.col("judge") == pl.lit(main, pl.String), pl.col("aspect") == OVERALL, pl.col("rho").is_not_null()
    )
    for row in _together(agreed).iter_rows(named=True):
        sentences.append(
            f"{row['sheet']}: {row['annotator']} and {row['judge']} agree with ρ {number(row['rho'], 2)} "
            f"{interval(row['rho_low'], row['rho_high'], 2)} over {count(row['n_items'], 'item')}."
        )
    for row in contrasts.filter(pl.col("estimate").is_not_null()).iter_rows(named=True):
        sentences.append(
            f"{row['sheet']}, {row['annotator']}: {row['a']} against {row['b']} {signed(row['estimate'], 2)} "
            f"({p_phrase('p', row['p'])}, {p_phrase('Holm p', row['p_holm'])})."
        )
    sentences += [_acceptable(row) for row in _together(acceptable).iter_rows(named=True)]
    rate = grid(
        acceptable,
        "What is shown in place of a missed poem, and the measure with acceptable poems counted",
        [
            text("sheet", "Sheet"),
            text("system", "System"),
            text("annotator", "Annotator"),
            text("threshold", "Counted"),
            whole("n_misses", "Misses"),
            whole("n_judged", "Judged"),
            share("share", "Acceptable", "share_low", "share_high"),
            text("measure", "Measure"),
            value("value", "As it is"),
            value("adjusted", "Adjusted", "adjusted_low", "adjusted_high"),
            notes(acceptable),
        ],
    )
    kappas = grid(
        agreement,
        "Agreement of annotators",
        [
            text("sheet", "Sheet"),
            text("annotator_a", "Annotator"),
            text("annotator_b", "Annotator"),
            whole("n_items", "Items"),
            value("kappa", "Weighted κ", "kappa_low", "kappa_high"),
            share("within_one", "Within one", "within_one_low", "within_one_high"),
            share("same", "Same"),
            notes(agreement),
        ],
    )
    rhos = grid(
        human,
        "Annotators against judges",
        [
            text("sheet", "Sheet"),
            text("annotator", "Annotator"),
            text("judge", "Judge"),
            text("aspect", "Aspect"),
            whole("n_items", "Items"),
            value("rho", "Spearman ρ", "rho_low", "rho_high"),
            notes(human),
        ],
    )
    tests = grid(
        contrasts,
        "Systems compared by annotators",
        [
            text("sheet", "Sheet"),
            text("annotator", "Annotator"),
            *places(contrasts, "mode"),
            text("a", "a"),
            text("b", "b"),
            whole("n", "Queries"),
            value("mean_a", "Mean a"),
            value("mean_b", "Mean b"),
            value("estimate", "a − b", "ci_low", "ci_high", sign=True),
            p("p", "p"),
            p(),
            notes(contrasts),
        ],
    )
    filled = zip((kappas, rhos, tests, rate), (agreement, human, contrasts, acceptable), strict=True)
    lede = "People judged blind, from 0 to 2, on sheets that this study draws. Intervals resample whole queries."
    return Panel("people", title, lede, sentences, [table for table, frame in filled if len(frame)], names)


def _together(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows about all annotators of a sheet together; those of the one annotator where it has no other."""
    several = pl.col("annotator").eq(MEAN).any().over("sheet")
    return rows.filter(~several | (pl.col("annotator") == MEAN))


def _agreed(row: Mapping[str, Any]) -> str:
    pair = f"{row['sheet']}: {row['annotator_a']} and {row['annotator_b']}"
    if row["kappa"] is None:
        return f"{pair}: {row['note']}."
    return (
        f"{pair} agree with quadratic-weighted κ {number(row['kappa'], 2)} "
        f"{interval(row['kappa_low'], row['kappa_high'], 2)}; {percent(row['within_one'])} of "
        f"{count(row['n_items'], 'item')} are within one point."
    )


def _acceptable(row: Mapping[str, Any]) -> str:
    where = f"{row['sheet']}, {row['annotator']}: what {row['system']} shows first where it misses"
    if row["share"] is None:
        return f"{where}: {row['note']}."
    ends = f"{percent(row['share_low'])} to {percent(row['share_high'])}" if row["share_low"] is not None else ""
    accepted = row["threshold"] if row["threshold"].endswith("acceptable") else f"{row['threshold']} acceptable"
    return (
        f"{where} is {accepted} in {percent(row['share'])}{f' ({ends})' if ends else ''} of "
        f"{count(row['n_judged'], 'case')}; counted as found, {row['measure']} {number(row['value'])} becomes "
        f"{number(row['adjusted'])} {interval(row['adjusted_low'], row['adjusted_high'])}."
    )
