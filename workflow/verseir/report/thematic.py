"""What judges and people say of thematic results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from verseir.formats import count, interval, listing, number, ordinal, percent, printed, signed
from verseir.report import people as by_people
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
from verseir.report.remarks import NAMED, against, ends, remark, spoken
from verseir.report.sections import Cell
from verseir.report.wording import Scope, Tables, places_of

OVERALL, ABOUTNESS = "overall", "aboutness"
#: The order in which kinds of aspects are read.
KINDS = {"overall": 0, "aboutness": 1, "wording": 2}
PLACE = ("query_set", "corpus")
#: What becomes of items that a judge does not score.
LOST = ("refused", "malformed", "unjudged")


def judged(tables: Tables, scope: Scope, main: str | None) -> Panel:
    """How judges score what each system puts first."""
    title, names = "Thematic results, judged", ["thematic_means", "thematic_contrasts", "pool_coverage"]
    frame = tables["thematic_means"].filter(pl.col("mode") == scope.base_mode)
    if main is None or frame.is_empty():
        return empty("judged", title, "no judge has judged results of this study", names)
    own = spoken(frame, main, "corpus", "query_set")
    contrasts = tables["thematic_contrasts"].filter(pl.col("mode") == scope.base_mode)
    sentences = []
    for (corpus, query_set), part in places_of(own, "corpus", "query_set"):
        sentences += _standing(part, corpus, query_set, scope)
        judge, here = part["judge"][0], (pl.col("corpus") == corpus, pl.col("query_set") == query_set)
        tested = contrasts.filter(*here, pl.col("judge") == judge, pl.col("aspect") == OVERALL)
        sentences += [f"{judge}, {against(rows, lexical, ' overall')}." for (lexical,), rows in places_of(tested, "a")]
    by = listing(sorted(own["judge"].unique()))
    table = _aspect_grid(own, f"Mean score of what each system puts first, by aspect ({by}, {scope.base_mode})")
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
            share("empty_at_k", "Empty places"),
            value("mean_shown", "Of what is shown"),
            whole("n_shown", "Shown"),
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
        "place that a system leaves empty scores the lowest grade, so a system that shows little has a low mean "
        "however good what it shows: that stands beside it. A high score for an aspect of wording says that "
        "words are repeated, not that a result is good: it counts neither for aboutness nor for overall quality."
    )
    grids = [table, others, *([differences] if len(tests) else [])]
    return Panel("judged", title, lede, sentences, grids, names, brief=sentences[:1])


def _standing(part: pl.DataFrame, corpus: str, query_set: str, scope: Scope) -> list[str]:
    """Who leads by overall quality, and where the lexical systems stand by it, by aboutness and by wording."""
    overall = part.filter(pl.col("aspect") == OVERALL, pl.col("mean").is_not_null()).sort("rank", "system")
    if overall.is_empty():
        return [f"{query_set} on {corpus}: {why_not(part)}."]
    best = overall.filter(pl.col("rank") == pl.col("rank").min()).to_dicts()
    said = [f"On {query_set}, {corpus}, {best[0]['judge']} scores {_highest(best)}"]
    for lexical in scope.lexical if best[0]["n_systems"] > 1 else []:
        ranked = part.filter(pl.col("system") == lexical, pl.col("rank").is_not_null())
        places_ = {row["aspect"]: row for row in ranked.to_dicts()}
        if OVERALL in places_:
            told = f"{lexical} is {_place(places_[OVERALL], part)} with {number(places_[OVERALL]['mean'], 2)}"
            told += "" if places_[OVERALL] in best else _shown(places_[OVERALL])
            wording = [row for row in places_.values() if row["kind"] == "wording"]
            if ABOUTNESS in places_:
                told += f", {_place(places_[ABOUTNESS], part)} by aboutness alone"
            told += "".join(f" and {_place(row, part)} by {row['aspect'].replace('_', ' ')}" for row in wording)
            said.append(told)
    return ["; ".join(said) + "."]


def _highest(best: list[dict[str, Any]]) -> str:
    """The systems that share the highest overall mean, be it one."""
    first, mean = best[0], number(best[0]["mean"], 2)
    queries = count(first["n_queries"], "query", "queries")
    if len(best) == 1:
        what = "highest overall:" if first["n_systems"] > 1 else "overall, the only system,"
        return f"{first['system']} {what} {mean}{ends(first, 'ci_low', 'ci_high')} over {queries}{_shown(first)}"
    names = listing([row["system"] for row in best])
    each = [f"{row['system']}{ends(row, 'ci_low', 'ci_high')}" for row in best if row["ci_low"] is not None]
    told = f"{names} highest overall, {mean}{f' ({listing(each)})' if each else ''}"
    told += f" over {queries}" if len({row["n_queries"] for row in best}) == 1 else ""
    cautions = [f"{row['system']}{_shown(row)}" for row in best if row["note"]]
    return f"{told}, so none leads alone{f'; {listing(cautions)}' if cautions else ''}"


def _shown(row: Mapping[str, Any]) -> str:
    """The note of a mean and, where places are empty, the mean of those that are not."""
    told = remark(row)
    if row["empty_at_k"] and row["mean_shown"] is not None:
        poems = count(row["n_shown"], "poem that it shows", "poems that it shows")
        told = f"{told.removesuffix(')') or ' ('}; the {poems} {'has' if row['n_shown'] == 1 else 'have'} "
        told += f"{number(row['mean_shown'], 2)} on average)"
    return told


def _place(row: Mapping[str, Any], part: pl.DataFrame) -> str:
    """The place of a system by one aspect, among the systems of ``part``; it is level where another has it too."""
    rank, aspect = row["rank"], row["aspect"]
    shared = part.filter(pl.col("aspect") == aspect, pl.col("rank") == rank).height > 1
    return f"{f'level at {rank:g}' if shared else ordinal(int(rank))} of {row['n_systems']}"


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
        named = dict(zip(("corpus", "query_set", "system"), keys, strict=True))
        rows.append(named | {"judge": part["judge"][0], "by": by_aspect, "rank": rank})
    rows.sort(key=lambda row: (row["corpus"], row["query_set"], row["rank"] is None, row["rank"] or 0, row["system"]))

    def column(aspect: str) -> Column:
        def cell(row: Mapping[str, Any]) -> Cell:
            found = row["by"].get(aspect)
            if found is None or found["mean"] is None:
                return Cell("none")
            return Cell(number(found["mean"], 2), found["mean"], interval(found["ci_low"], found["ci_high"], 2))

        small = {"aboutness": "aboutness", "wording": "wording"}.get(kinds[aspect], "")
        return Column(aspect.replace("_", " ").capitalize(), cell, True, small if aspect != ABOUTNESS else "mean")

    def filled(row: Mapping[str, Any]) -> Cell:
        found = row["by"].get(OVERALL)
        if found is None or found["mean_shown"] is None:
            return Cell("none")
        empty = f"{percent(found['empty_at_k'])} empty" if found["empty_at_k"] else "all places"
        return Cell(number(found["mean_shown"], 2), found["mean_shown"], empty)

    columns = [text("system", "System"), *places(own, "corpus", "query_set", "judge"), *map(column, aspects)]
    columns.insert(-len(aspects) + 1 or len(columns), Column("Overall, of what is shown", filled))
    return grid(rows, caption, columns)


def judges(tables: Tables, scope: Scope, main: str | None) -> Panel:
    """Do judges agree, and does the order of systems hang on the judge or on the rubric?"""
    title, names = "How far judges can be trusted", ["judging", "judge_agreement", "judge_orders"]
    asked, agreement, orders = (tables[name] for name in names)
    if asked.is_empty():
        return empty("judges", title, "no judge has judged results of this study", names)
    sentences = _all_asked(asked, main)
    mains = spoken(asked, main, "corpus", "query_set").select("corpus", "query_set", main="judge")
    for place, pairs in places_of(_with_main(agreement.filter(pl.col("aspect") == OVERALL), mains), *PLACE):
        told, judge = [_correlated(row) for row in pairs.iter_rows(named=True)], pairs["main"][0]
        sentences += told if len(told) <= NAMED else [_range(pairs, place, judge, "rho", "overall scores: ρ")]
    here = _with_main(orders.filter(pl.col("mode") == scope.base_mode), mains)
    for place, pairs in places_of(here, *PLACE):
        judge = pairs["main"][0]
        own, others = (pairs.filter((pl.col("judge_a") == pl.col("judge_b")) == same) for same in (True, False))
        told = [_order(row) for row in others.iter_rows(named=True)]
        sentences += [_order(row) for row in own.iter_rows(named=True)]
        sentences += told if len(told) <= NAMED else [_range(others, place, judge, "tau", "orders of systems: τ")]
    counts = grid(
        ordered(asked, "corpus", "query_set", "judge"),
        "What the judges answered",
        [
            text("judge", "Judge"),
            text("rubric", "Rubric"),
            *places(asked, "corpus", "query_set"),
            whole("n_pool", "Items"),
            *(whole(name, name.capitalize()) for name in ("answered", *LOST)),
            notes(asked),
        ],
    )
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
    shown = [counts, *([table] if len(rows) else []), *([rank_table] if len(taus) else [])]
    return Panel("judges", title, lede, sentences, shown, names)


def _with_main(pairs: pl.DataFrame, mains: pl.DataFrame) -> pl.DataFrame:
    """The pairs of judges of which one is the main judge there, named in a column ``main``."""
    named = pairs.join(mains, on=["corpus", "query_set"], maintain_order="left")
    return named.filter((pl.col("judge_a") == pl.col("main")) | (pl.col("judge_b") == pl.col("main")))


def _all_asked(asked: pl.DataFrame, main: str | None) -> list[str]:
    """What each judge answered; of many, the main one and the others in one sentence."""
    sentences = []
    for (corpus, query_set), rows in places_of(asked, "corpus", "query_set"):
        own = spoken(rows, main, "corpus")
        others = rows.filter(pl.col("judge") != own["judge"][0]).sort("judge")
        few = len(others) <= NAMED
        sentences += [_asked(row) for row in (rows.sort("judge") if few else own).iter_rows(named=True)]
        if not few:
            low, high = min(others["answered"].to_list()), max(others["answered"].to_list())
            said = f"{low:,}" if low == high else f"{low:,} to {high:,}"
            items = count(max(others["n_pool"].to_list()), "item")
            sentences.append(f"{len(others)} other judges judged {said} of {items} of {query_set} on {corpus}.")
    return sentences


def _correlated(row: Mapping[str, Any]) -> str:
    pair = f"{row['judge_a']} and {row['judge_b']} on {row['query_set']}, {row['corpus']}"
    if row["rho"] is None:
        return f"{pair}: {row['note']}."
    rho = f"{signed(row['rho'], 2)}{ends(row, 'rho_low', 'rho_high', sign=True)}"
    return f"{pair}: overall scores correlate with ρ {rho} over {count(row['n_items'], 'item')}{remark(row)}."


def _range(pairs: pl.DataFrame, place: tuple[str, ...], main: str | None, key: str, what: str) -> str:
    """The lowest and the highest that the main judge has with one of many others."""
    query_set, corpus = place
    head = f"{main} and {len(pairs)} other judges on {query_set}, {corpus}"
    found = pairs.filter(pl.col(key).is_not_null()).sort(key, "judge_a", "judge_b").to_dicts()
    if not found:
        return f"{head}: {why_not(pairs)}."
    other = [row["judge_b"] if row["judge_a"] == main else row["judge_a"] for row in (found[0], found[-1])]
    low, high = (signed(row[key], 2) for row in (found[0], found[-1]))
    absent = f"; {len(pairs) - len(found)} not estimable" if len(found) < len(pairs) else ""
    return f"{head}, {what} from {low} ({other[0]}) to {high} ({other[1]}){absent}."


def _asked(row: Mapping[str, Any]) -> str:
    told = f"{row['judge']} ({row['rubric']}) judged {row['answered']:,} of {count(row['n_pool'], 'item')}"
    told += f" of {row['query_set']} on {row['corpus']}"
    lost = [f"{row[key]:,} {key}" for key in LOST if row[key]]
    told += f"; {listing(lost)}, and scored nowhere" if lost else ""
    if row["prompt_tokens"] is not None:
        told += f"; {row['prompt_tokens']:,} tokens sent, {row['completion_tokens']:,} answered"
    told += f", at a cost of {printed(row['cost'], ',.2f')}" if row["cost"] is not None else ""
    return told + (f"; {row['note']}." if row["note"] else ".")


def _order(row: Mapping[str, Any]) -> str:
    one, other = f"{row['judge_a']} by {row['aspect_a']}", f"{row['judge_b']} by {row['aspect_b']}"
    pair = f"{one} and {other} on {row['query_set']}, {row['corpus']}"
    if row["tau"] is None:
        return f"{pair}: {row['note']}."
    tau = f"{signed(row['tau'], 2)}{ends(row, 'ci_low', 'ci_high', sign=True)}{remark(row)}"
    return f"{pair} order {count(row['n_systems'], 'system')} with τ {tau}."


def people(tables: Tables, main: str | None) -> Panel | None:
    """What people who judged blind found; None where the study has no annotation."""
    title = "Judged by people"
    names = ["annotator_agreement", "human_judge", "annotator_contrasts", "acceptability"]
    agreement, human, contrasts, acceptable = (tables[name] for name in names)
    if all(tables[name].is_empty() for name in names):
        return None
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
    sentences = by_people.found(tables, main)
    lede = "People judged blind on sheets that this study draws, and graded as the guidelines of each say. "
    lede += "Intervals resample whole queries."
    return Panel("people", title, lede, sentences, [table for table, frame in filled if len(frame)], names)
