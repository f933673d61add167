"""What predicts which queries a system answers, and which differences are established."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from verseir.formats import NOT_ESTIMABLE, count, listing
from verseir.report.panel import (
    Column,
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

#: Tests that do not survive are listed up to this number.
LISTED = 60


def mechanism(tables: Tables, scope: Scope) -> Panel:
    """Shared words against nearness of vectors as predictors of success."""
    title, names = "What predicts success", ["mechanism", "mechanism_summary"]
    frame = scope.main(tables["mechanism"])
    if frame.is_empty():
        return empty("mechanism", title, "no known-item query set was measured", names)
    value_rows = frame.filter(pl.col("against_mode").is_null() & (pl.col("mode") == scope.base_mode))
    sentences = []
    for (corpus, query_set), part in places_of(value_rows, "corpus", "query_set"):
        words = part.filter(pl.col("better") == "lexical")["system"].sort().to_list()
        near = part.filter(pl.col("better") == "embedding")["system"].sort().to_list()
        told = [
            f"shared words predict {listing(names)} better than nearness of vectors" if kind == "words" else
            f"nearness of vectors predicts {listing(names)} better than shared words"
            for kind, names in (("words", words), ("near", near)) if names
        ]  # fmt: skip
        level = len(part.filter(pl.col("better") == "not separated"))
        if level:
            told.append(f"for {count(level, 'system')} the two predictors are not separated")
        unknown = part.filter(pl.col("better").is_null())
        if len(unknown):
            told.append(f"for {count(len(unknown), 'system')} the comparison is {why_not(unknown)}")
        sentences.append(f"On {query_set}, {corpus}, {listing(told)}.")
    frame = ordered(frame, "corpus", "query_set", "against_mode", "mode", "system")
    rows = grid(
        frame,
        "Spearman correlation of shared words, and of nearness of vectors, with the value of each query",
        [
            Column("System", lambda row: Cell(row["system"] + (" (reference)" if row["reference"] else "")), False),
            *places(frame, "corpus", "query_set"),
            text("mode", "Mode"),
            text("against_mode", "Change from", "none") if frame["against_mode"].is_not_null().any() else None,
            whole("n", "n"),
            value("rho_lexical", "ρ shared words", "lexical_low", "lexical_high", sign=True),
            value("rho_embedding", "ρ nearness", "embedding_low", "embedding_high", sign=True),
            value("difference", "Difference", "difference_low", "difference_high", sign=True),
            p(),
            text("better", "Better", "not estimable"),
            notes(frame),
        ],
    )
    lede = (
        "Rows with a change from another mode relate the change of a query's value to the change in what the index "
        "shares with it. The reference encoder measures nearness, so its own row is no independent evidence."
    )
    return Panel(
        "mechanism",
        title,
        lede,
        sentences,
        [rows],
        names,
        "mechanism",
        "Each system's correlation with shared words (across) and with nearness of vectors (up).",
        brief=sentences,
    )


def models(tables: Tables, scope: Scope) -> Panel:
    """Mixed-effects logistic regression, and shares of explained variance."""
    title, names = (
        "Shared words, with other properties of queries and poems held",
        ["mixed_model", "mixed_model_tests", "mixed_model_fit", "variance_shares"],
    )
    terms, fits, shares = tables["mixed_model"], tables["mixed_model_fit"], tables["variance_shares"]
    if fits.is_empty():
        return empty("models", title, "no known-item query set was measured", names)
    terms = terms.filter(pl.col("mode") == scope.base_mode)
    sentences = []
    for row in fits.filter(pl.col("mode") == scope.base_mode).sort("model").iter_rows(named=True):
        sentences.append(f"Model {row['model']}: {_fitted(row)}.")
    slopes = ordered(terms.filter(pl.col("term").str.starts_with("containment")), "model", "term", "kind")
    table = grid(
        slopes,
        "Log-odds of success for one standard deviation of shared words",
        [
            text("model", "Model"),
            text("term", "Term"),
            text("kind", "Effect"),
            value("estimate", "Log-odds", "ci_low", "ci_high", sign=True),
            value("se", "SE"),
            p("p", "p"),
            p(),
            notes(slopes),
        ],
    )
    wide = ordered(shares.filter(pl.col("mode") == scope.base_mode), "corpus", "query_set", "system", "group")
    parts = grid(
        wide,
        "Shares of what is explained, general dominance",
        [
            text("system", "System"),
            *places(wide, "corpus", "query_set"),
            text("group", "Features"),
            share("share", "Share"),
            value("r2_total", "R² of all"),
            notes(wide),
        ],
    )
    lede = (
        "Conditional effects hold the query fixed (random intercept for each query); marginal effects average over "
        "queries, with standard errors clustered by poem."
    )
    return Panel(
        "models", title, lede, sentences, [*([table] if len(slopes) else []), *([parts] if len(wide) else [])], names
    )


def _fitted(row: Mapping[str, Any]) -> str:
    """How the fit of one model went."""
    note = row["note"] or ""
    if note.startswith(NOT_ESTIMABLE):
        return note
    state = "converged" if row["converged"] else "did not converge"
    state += ", with separation" if row["separated"] else ""
    size = f"{count(row['n_rows'], 'row')} of {count(row['n_queries'], 'query', 'queries')}"
    return f"{size} and {count(row['n_systems'], 'system')}; {state}{f' ({note})' if note else ''}"


def sameness(tables: Tables, scope: Scope) -> Panel:
    """Which systems are shown to be level."""
    title, frame = "Level, different, or not told apart", scope.main(tables["equivalence"])
    if frame.is_empty():
        return empty("sameness", title, "no two systems were measured on one query set", ["equivalence"])
    frame = frame.filter(pl.col("mode") == scope.base_mode)
    if frame.is_empty():
        why = f"no two systems were measured on one query set in mode {scope.base_mode}"
        return empty("sameness", title, why, ["equivalence"])
    frame = ordered(frame, "corpus", "query_set", "stratum", "a", "b")
    sentences = []
    for (statement,), part in places_of(frame, "statement"):
        told = f"{statement[0].upper()}{statement[1:]}: {len(part)} of {count(len(frame), 'comparison')}"
        without = part["low"].null_count()
        sentences.append(told + (f", {without} of them {NOT_ESTIMABLE}." if without else "."))
    table = grid(
        frame,
        "Differences with 90% intervals against the margin",
        [
            text("a", "a"),
            text("b", "b"),
            *places(frame, "corpus", "query_set", "measure"),
            text("stratum", "Queries"),
            whole("n", "n"),
            value("estimate", "a − b", "low", "high", sign=True),
            value("margin", "Margin"),
            text("statement", "Statement"),
            notes(frame),
        ],
    )
    lede = (
        "A large p value does not show that two systems are level. They are called level only where the whole 90% "
        "interval of their difference is within the margin (two one-sided tests at 5%)."
    )
    return Panel("sameness", title, lede, sentences, [table], ["equivalence"])


def corrections(tables: Tables) -> Panel:
    """How many tests survive correction."""
    frame, lost, declared = tables["multiplicity"], tables["multiplicity_lost"], tables["declared_families"]
    names = ["multiplicity", "multiplicity_lost", "declared_families"]
    said = {"declared families": "Of the families that the study declares", "all tables": "Of all tests in all tables"}
    sentences = []
    for name, whose in said.items():
        for row in frame.filter(pl.col("table") == name).iter_rows(named=True):
            sentences.append(f"{whose}, {_surviving(row)}.")
    what = [text("family", "Family"), text("table", "Table"), text("what", "Test"), p("p", "p"), p()]
    columns = [
        text("table", "Table"),
        whole("n_families", "Families"),
        whole("n_tests", "Tests"),
        whole("n_nominal", "p < 0.05"),
        whole("n_after_holm", "Holm p < 0.05"),
        whole("lost", "Lost"),
    ]
    grids = [grid(frame, "Tests with p below 0.05, before and after Holm's correction within families", columns)]
    if len(declared):
        grids.append(grid(declared, "The declared families", [*what, whole("family_size", "Tests"), notes(declared)]))
    if 0 < len(lost) <= LISTED:
        grids.append(grid(lost, "The tests that do not survive", what))
    return Panel("corrections", "How many tests survive correction", "", sentences, grids, names, brief=sentences[:1])


def _surviving(row: Mapping[str, Any]) -> str:
    """How many nominally significant tests of one row of MULTIPLICITY remain so."""
    size = f"{count(row['n_tests'], 'test')} in {count(row['n_families'], 'family', 'families')}"
    if not row["n_tests"]:
        return "no test could be made"
    if not row["n_nominal"]:
        return f"none has p below 0.05 ({size})"
    nominal, left = row["n_nominal"], row["n_after_holm"]
    told = f"{left or 'none'} of {nominal:,} nominally significant tests {'remains' if left == 1 else 'remain'}"
    if nominal == 1:
        told = f"the one nominally significant test {'remains' if left else 'does not remain'}"
    return f"{told} significant after Holm's correction ({size})"
