"""What queries share with the many poems that answer them, and what being found hangs on, across languages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from verseir.analyses.found_by_language import BY_WORDING, WITHIN
from verseir.analyses.found_by_wording import GAP, RHO
from verseir.analyses.found_model import CONDITIONAL, CONTAINMENT
from verseir.analyses.shared_pairs import ALL, LANGUAGE, SCRIPT
from verseir.analyses.shared_wording import ANY
from verseir.formats import NOT_ESTIMABLE, count, known, listing, number, percent, signed
from verseir.report import many_sets
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

TITLE = "What queries share with the poems that answer them"
NAMES = ["shared_wording", "found_by_language", "found_by_wording", "found_model"]
#: Of more query sets, findings are told once and not once a set.
SEVERAL = 2
#: A preference is told where the whole interval is beyond 1.
EVEN = 1.0
#: Of a table with more rows the page shows those that speak of all; the rest is in the file.
MOST = 60
#: Languages that a sentence names.
NAMED = 3

LEDE = (
    "A query of these sets asks for many poems, each with a grade. Words are compared with the text of each judged "
    "poem; in scripts that do not part words, pairs of characters are. What cannot be concluded: that shared words or "
    "a language are why a poem is found; poems differ in other respects too, and those of high grade may share more."
)


def languages(tables: Tables, scope: Scope) -> Panel | None:
    """The panel; None where the study has no such query set."""
    if "shared_wording" not in tables:
        return None
    shared = tables["shared_wording"]
    if shared.is_empty():
        return empty("languages", TITLE, "no query has a judged poem in the base mode", NAMES)
    found, related, models = (_shown(tables[name], scope) for name in NAMES[1:])
    if shared.select("corpus", "query_set").n_unique() > SEVERAL:
        hangs = list(many_sets.hangs(related))
        sentences = [*many_sets.carried(shared), *hangs, *many_sets.held(models), *many_sets.preferred(found)]
        brief = hangs[:1]
    else:
        sentences, brief = _one_by_one(shared, related, models, found)
    grids = [_wording(shared), *_found(found), *_related(related), *_models(models)]
    legend = "Percent of relevant poems that each system shows first, by shared words, script and language."
    return Panel("languages", TITLE, LEDE, sentences, grids, NAMES, "languages", legend, brief)


def _one_by_one(
    shared: pl.DataFrame, related: pl.DataFrame, models: pl.DataFrame, found: pl.DataFrame
) -> tuple[list[str], list[str]]:
    """What there is to say of each query set, and of that what the head of the page says."""
    sentences: list[str] = []
    brief: list[str] = []
    for (corpus, query_set), part in places_of(shared, "corpus", "query_set"):
        here = (pl.col("corpus") == corpus) & (pl.col("query_set") == query_set)
        told = [*_hangs(related.filter(here)), *_held(models.filter(here)), *_preferred(found.filter(here))]
        sentences += [*_carried(part), *told]
        brief += told[:1]
    return sentences, brief


def _shown(frame: pl.DataFrame, scope: Scope) -> pl.DataFrame:
    """The rows in the base mode; of a corpus that has not got it, in its first mode."""
    parts = [frame.clear()]
    for _, part in places_of(frame, "corpus"):
        modes = sorted(part["mode"].unique())
        parts.append(part.filter(pl.col("mode") == (scope.base_mode if scope.base_mode in modes else modes[0])))
    return pl.concat(parts)


def _carried(shared: pl.DataFrame) -> Iterator[str]:
    """How much of a query stands in the poems that answer it, and in those that do not."""
    every = {row["grade"]: row for row in shared.filter(pl.col("attribute") == ALL).iter_rows(named=True)}
    row, none = every[ANY], every.get("0")
    against = "" if none is None else f", and {percent(none['containment'])} in one that is judged not to answer it"
    where = f"Of a query of {row['query_set']} on {row['corpus']}"
    pairs = count(row["n_pairs"], "relevant pair")
    if row["shares_none"] == 1:
        yield f"No query of {row['query_set']} on {row['corpus']} shares a word with a poem that answers it ({pairs})."
        return
    yield (
        f"{where}, {percent(row['containment'])} of the words stand in a poem that answers it{against}; "
        f"{percent(row['shares_none'])} of {pairs} share no word."
    )
    own = shared.filter(pl.col("attribute") == LANGUAGE, pl.col("grade") == ANY)
    silent = own.filter(pl.col("shares_none") == 1)["value"].sort().to_list()
    if silent and len(own) > 1:
        which = f"{len(silent)} of {len(own)} languages"
        yield f"In {which} no relevant poem shares a word with its query: {listing(silent)}."


def _hangs(related: pl.DataFrame) -> Iterator[str]:
    """Of which systems what is found hangs on shared words, within queries and between them."""
    for quantity in (GAP, RHO):
        part = related.filter(pl.col("quantity") == quantity)
        own = part.filter(pl.col("b").is_null())
        if own.is_empty():
            continue
        where = f"On {own['query_set'][0]}, {own['corpus'][0]}"
        if own["estimate"].count() == 0:
            subject = "whether poems that share a word with their query are found more often"
            yield f"{where}, {subject if quantity == GAP else 'a correlation with shared words'} is {why_not(own)}."
            continue
        clear = own.filter(pl.col("p_holm") < 0.05).sort("estimate", "a", descending=[True, False])
        told = listing([f"{row['a']} {signed(row['estimate'])}" for row in clear.iter_rows(named=True)])
        n = f"{len(clear) or 'none'} of {count(own['estimate'].count(), 'system')}"
        untested = own.filter(pl.col("estimate").is_not_null(), pl.col("p").is_null()).sort("a")
        alike = [f"{row['a']} ({signed(row['estimate'])} throughout)" for row in untested.iter_rows(named=True)]
        left = f"; {listing(alike)} cannot be tested" if alike else ""
        said = (
            "of the relevant poems of one query, those that share a word with it are found at another rate than those "
            "that share none"
            if quantity == GAP
            else f"the {own['measure'][0]} of a query goes with how much of it stands in its relevant poems"
        )
        if len(clear):
            yield f"{where}, {said} for {n}: {'' if quantity == GAP else 'ρ = '}{told}{left}."
        else:
            yield f"{where}, that {said} is established for {n}{left}."
        what = "this difference" if quantity == GAP else "this correlation"
        yield from _steeper(part.filter(pl.col("b").is_not_null(), pl.col("p_holm") < 0.05), what)


def _steeper(clear: pl.DataFrame, what: str) -> Iterator[str]:
    for (a,), own in places_of(clear, "a"):
        more = own.filter(pl.col("estimate") > 0)["b"].sort().to_list()
        less = own.filter(pl.col("estimate") < 0)["b"].sort().to_list()
        ways = [f"{way} than for {listing(names)}" for way, names in (("higher", more), ("lower", less)) if names]
        yield f"For {a} {what} is {listing(ways)}, after Holm's correction."


def _held(models: pl.DataFrame) -> Iterator[str]:
    """For which systems shared words predict that a poem is found, among poems of one grade and script."""
    own = models.filter(pl.col("term") == CONTAINMENT, pl.col("kind") == CONDITIONAL)
    if own.is_empty():
        return
    if own["estimate"].count() == 0:
        yield f"With grade and script held, what shared words do is {why_not(own)}."
        return
    clear = own.filter(pl.col("p_holm") < 0.05).sort("estimate", "system", descending=[True, False])
    told = listing([f"{row['system']} {signed(row['estimate'])}" for row in clear.iter_rows(named=True)])
    n = f"{len(clear) or 'none'} of {count(own['estimate'].count(), 'system')}"
    unknown = own.filter(pl.col("estimate").is_null())["system"].sort().to_list()
    left = f"; for {listing(unknown)} this is not estimable" if unknown else ""
    yield (
        "With the grade of a poem, its script and the query held, how many of the query's words it holds goes with its "
        f"being found for {n}{f' (log-odds for one standard deviation: {told})' if len(clear) else ''}{left}."
    )


def _models(models: pl.DataFrame) -> Iterator[Grid]:
    rows = ordered(models, "corpus", "query_set", "kind", "term", "system")
    if len(rows) > MOST:  # the table on disk has all
        rows = rows.filter(pl.col("kind") == CONDITIONAL, pl.col("term") == CONTAINMENT)
    if len(rows):
        yield grid(
            rows,
            "Log-odds that a relevant poem is found: logistic models of each system",
            [
                text("system", "System"),
                *places(rows, "corpus", "query_set"),
                text("kind", "Effect"),
                text("term", "Term"),
                whole("n_pairs", "Pairs"),
                value("estimate", "Log-odds", "ci_low", "ci_high", sign=True),
                p("p", "p"),
                p(),
                notes(rows),
            ],
        )


def _preferred(found: pl.DataFrame) -> Iterator[str]:
    """Which languages a system shows more, and less, than chance would."""
    own = found.filter(pl.col("attribute") == LANGUAGE, pl.col("wording") == ALL)
    for (system,), part in places_of(own, "system"):
        if part["note"].str.contains(WITHIN).fill_null(False).any():
            continue
        where = f"On {part['query_set'][0]}, {part['corpus'][0]}, {system}"
        above = part.filter(pl.col("preference_low") > EVEN).sort("preference", "value", descending=[True, False])
        below = part.filter(pl.col("preference_high") < EVEN).sort("preference", "value")
        ways = [f"{way} in {_named(some)}" for way, some in (("more", above), ("less", below)) if len(some)]
        if ways:
            yield f"{where} shows poems {listing(ways)} than their share of the poems searched would have it."


def _named(rows: pl.DataFrame) -> str:
    told = [f"{row['value']} (× {number(row['preference'], 2)})" for row in rows.head(NAMED).iter_rows(named=True)]
    rest = len(rows) - len(told)
    return listing([*told, *([f"{rest} more"] if rest else [])])


def _wording(shared: pl.DataFrame) -> Grid:
    grades = shared.filter(pl.col("attribute") == ALL)
    several = shared.filter(pl.col("attribute") != ALL, pl.col("grade") == ANY)
    if len(several) > MOST:
        several = several.clear()
    parts = [(grades, ["grade"]), (several, ["attribute", "value"])]
    rows = pl.concat([ordered(part, "corpus", "query_set", *keys) for part, keys in parts])
    near = rows["proximity"].is_not_null().any()
    return grid(
        rows,
        "Words that queries share with judged poems, by grade, and with relevant poems by language",
        [
            text("query_set", "Query set"),
            *places(rows, "corpus"),
            Column("Poems", lambda row: Cell(_kind(row)), numeric=False),
            text("grade", "Grade"),
            whole("n_queries", "Queries"),
            whole("n_pairs", "Pairs"),
            share("containment", "Words contained", "containment_low", "containment_high"),
            share("shares_none", "Share no word", "none_low", "none_high"),
            value("proximity", "Nearness of vectors", "proximity_low", "proximity_high") if near else None,
            notes(rows),
        ],
    )


def _kind(row: Mapping[str, Any]) -> str:
    return {ALL: "all", SCRIPT: f"script {row['value']}"}.get(row["attribute"], row["value"])


def _found(found: pl.DataFrame) -> Iterator[Grid]:
    rows = ordered(found, "corpus", "query_set", "system", "attribute", "value", "wording")
    worded = rows.filter(pl.col("attribute") == ALL).with_columns(
        note=pl.when(pl.col("note") != BY_WORDING).then("note")  # of shares, which this table has not
    )
    if len(worded):
        yield grid(
            worded,
            "Relevant poems found, by whether they share a word with their query",
            [
                text("system", "System"),
                *places(worded, "corpus", "query_set", "k"),
                text("wording", "Relevant poems"),
                whole("n_relevant", "Pairs"),
                share("found", f"Found in {_ks(worded)}", "found_low", "found_high"),
                notes(worded),
            ],
        )
    apart = rows.filter(pl.col("attribute") != ALL, pl.col("wording") == ALL)
    if len(apart) > MOST:  # the figure has what is found; the table on disk has all
        apart = apart.filter(pl.col("attribute") == SCRIPT)
    if len(apart):
        yield grid(
            apart,
            "Relevant poems found, and poems shown, by language and script",
            [
                text("system", "System"),
                *places(apart, "corpus", "query_set", "k"),
                Column("Poems", lambda row: Cell(_kind(row)), numeric=False),
                whole("n_relevant", "Relevant pairs"),
                share("found", f"Found in {_ks(apart)}", "found_low", "found_high"),
                share("corpus_share", "Of the poems searched"),
                share("relevant_share", "Of the relevant"),
                share("shown_share", "Of those shown"),
                Column("Shown against searched", _preference),
                notes(apart),
            ],
        )


def _ks(rows: pl.DataFrame) -> str:
    return listing([str(k) for k in rows["k"].unique().sort()]).replace(" and ", " or ")


def _preference(row: Mapping[str, Any]) -> Cell:
    if not known(row["preference"]):
        return Cell(NOT_ESTIMABLE)
    low, high = row["preference_low"], row["preference_high"]
    ends = f"{number(low, 2)} to {number(high, 2)}" if known(low, high) else ""
    return Cell(f"× {number(row['preference'], 2)}", row["preference"], ends)


def _related(related: pl.DataFrame) -> Iterator[Grid]:
    rows = ordered(related, "quantity", "corpus", "query_set", "b", "a")
    if len(rows) > MOST:  # the table on disk has all
        rows = rows.filter(pl.col("quantity").is_in([GAP, RHO]), pl.col("b").is_null())
    if len(rows):
        yield grid(
            rows,
            "How finding hangs on shared words: each system, and lexical systems (a) against others (b)",
            [
                text("quantity", "Quantity"),
                *places(rows, "corpus", "query_set", "measure"),
                text("a", "a"),
                text("b", "b", "none"),
                whole("n", "Queries"),
                value("estimate", "Estimate", "ci_low", "ci_high", sign=True),
                p("p", "p"),
                p(),
                notes(rows),
            ],
        )
