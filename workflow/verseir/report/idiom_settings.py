"""An idiom benchmark: what depends on how queries are read and on what is indexed, and what the benchmark holds."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from verseir.formats import count, known, listing, number, percent
from verseir.orders import mode_order
from verseir.report.idiom_scores import ALL, MATCHES, USES, Scored, by_column, levels_said, mean_cell, scored
from verseir.report.panel import Column, Grid, Panel, empty, grid, places, text, whole, why_not
from verseir.report.sections import Cell
from verseir.report.wording import Scope, Tables, places_of

#: The uses of an idiom in a text, in the order in which they are read.
USAGES = (ALL, *USES, "simplification", "sense")


def settings(tables: Tables, scope: Scope, query_sets: Sequence[str]) -> Panel:
    """How queries are read, and which documents are indexed."""
    title = "Idioms by how they are asked for, and by what is indexed"
    names = [name for name in ("leaderboard", "strata", "string_match") if name in tables]
    scores = scored(tables, scope, query_sets)
    if not scores.means:
        return empty("idiom-settings", title, "no idiom was searched for", names)
    modes = sorted({key[2] for key in scores.means}, key=lambda mode: (mode != scope.base_mode, mode_order(mode)))
    others = [mode for mode in modes if mode != scope.base_mode]
    at = sorted(
        {key[:3] for key in scores.means},
        key=lambda place: (place[0], modes.index(place[2]), _place(place[1], query_sets)),
    )
    sentences = [levels_said(scores, place) for place in at if place[2] != scope.base_mode]
    if not others:
        sentences.append(f"One mode was searched, {listing(modes)}: what leaving texts out does cannot be seen.")
    lede = (
        "Where texts are left out of the index, those that are relevant are fewer, and what finding the idiom’s words "
        "scores is another: means of two modes are no measure of which searches better. With only paraphrases left to "
        "find for an idiomatic query, finding its words finds nothing that is relevant."
        if others
        else ""
    )
    legend = "The systems with the highest means, by how the query is read."
    return Panel(
        "idiom-settings", title, lede, sentences, [_ablation(scores, at, modes)], names, "idioms-modes", legend
    )


def _place(query_set: str, query_sets: Sequence[str]) -> int:
    return query_sets.index(query_set)


def _ablation(scores: Scored, at: Sequence[tuple[str, ...]], modes: Sequence[str]) -> Grid:
    """One row a system, query set and use; one column a mode."""
    rows = []
    for corpus, query_set in dict.fromkeys(place[:2] for place in at):
        for usage in (ALL, *USES):
            where = {"corpus": corpus, "query_set": query_set, "usage": usage, "group": (corpus, query_set, usage)}
            for system in scores.systems:
                by = {mode: scores.means.get((corpus, query_set, mode, usage, system)) for mode in modes}
                if any(by.values()):
                    rows.append(where | {"name": system, "by": by, "level": False})
            for match, name in MATCHES.items():
                by = {mode: scores.levels.get((corpus, query_set, mode, usage, match)) for mode in modes}
                if any(by.values()):
                    rows.append(where | {"name": name, "by": by, "level": True})
    lead = places(pl.DataFrame({"corpus": [row["corpus"] for row in rows]}), "corpus")
    lead += [text("query_set", "Query set"), text("usage", "Queries")]
    caption = "Systems by which texts are indexed and by the use of the idiom; bold: the highest of the systems"
    return by_column(scores, rows, [(mode, "") for mode in modes], lead, caption)


def data(tables: Tables) -> Panel:
    """What a benchmark holds, and how many words its queries share with what is relevant to them."""
    title, names = "What the idiom benchmark holds", ["idiom_data", "idiom_overlap"]
    held, shared = tables["idiom_data"], tables["idiom_overlap"]
    if held.is_empty():
        return empty("idiom-data", title, "no corpus of the study is an idiom benchmark", names)
    sentences = []
    for (corpus,), part in places_of(held, "corpus"):
        sentences.append(_held(corpus, part))
    for (corpus, _), part in places_of(shared, "corpus", "query_set"):  # all sets of a corpus hold the same queries
        sentences.append(_shared(corpus, part))
    rows = sorted(held.to_dicts(), key=lambda row: (row["corpus"], row["role"], _usage(row["usage"])))
    counts = grid(
        rows,
        "Documents and queries by use; lengths in words",
        [
            text("corpus", "Corpus"),
            text("role", "Texts"),
            text("usage", "Use"),
            *(
                whole(f"n{name}", heading)
                for name, heading in (("", "n"), ("_idioms", "Idioms"), ("_subjects", "Subjects"))
            ),
            whole("n_gold", "Checked", "by people"),
            whole("words_min", "Words", "least"),
            _mean("words_mean", "Words"),
            whole("words_max", "Words", "most"),
            _mean("span_words_mean", "Words of span"),
            whole("n_span_is_idiom", "Span is idiom"),
        ],
    )
    table = _overlaps(shared)
    return Panel("idiom-data", title, "", sentences, [counts, *([table] if table.rows else [])], names)


def _mean(key: str, heading: str) -> Column:
    """A mean number of words."""
    return Column(heading, lambda row: Cell(number(row[key], 1), row[key]), small="mean")


def _overlaps(shared: pl.DataFrame) -> Grid:
    """One row for each use of queries and of relevant texts, one column for each quantity."""
    kinds = sorted(set(shared.select("quantity", "words").iter_rows()), key=lambda kind: (kind[0], kind[1] != ALL))
    by: dict[tuple[str, ...], dict[tuple[str, str], dict]] = {}
    for row in shared.iter_rows(named=True):
        key = (row["corpus"], row["query_set"], row["usage"], row["found"])
        by.setdefault(key, {})[row["quantity"], row["words"]] = row
    rows = [
        dict(zip(("corpus", "query_set", "usage", "found"), key, strict=True))
        | {"n": max(row["n_queries"] for row in own.values()), "by": own}
        for key, own in sorted(by.items(), key=lambda item: (*item[0][:2], _usage(item[0][2]), _usage(item[0][3])))
    ]

    def column(quantity: str, words: str) -> Column:
        return Column(
            quantity.capitalize(),
            lambda row: mean_cell(row["by"].get((quantity, words))),
            small="" if words == ALL else words,
        )

    several = shared.group_by("corpus").agg(pl.col("query_set").n_unique())["query_set"]
    return grid(
        rows,
        "Words that queries share with what is relevant to them",
        [
            text("corpus", "Corpus"),
            text("query_set", "Query set") if len(several) and several.max() != 1 else None,
            text("usage", "Queries"),
            text("found", "Relevant texts"),
            whole("n", "n"),
            *(column(*kind) for kind in kinds),
        ],
    )


def _usage(usage: str) -> tuple[int, str]:
    return (USAGES.index(usage) if usage in USAGES else len(USAGES), usage)


def _held(corpus: str, rows: pl.DataFrame) -> str:
    """``test: 7,500 documents (3,000 literal, ...) and 1,500 queries (...) on 75 idioms; people checked ...``."""
    told, checked = [], []
    idioms = 0
    for role, one, many in (("document", "document", "documents"), ("query", "query", "queries")):
        own = {row["usage"]: row for row in rows.filter(pl.col("role") == role).iter_rows(named=True)}
        if ALL not in own:
            continue
        every = own[ALL]
        uses = [f"{own[usage]['n']:,} {usage}" for usage in sorted(own, key=_usage) if usage != ALL]
        told.append(f"{count(every['n'], one, many)}" + (f" ({', '.join(uses)})" if uses else ""))
        if every["n"]:
            checked.append(f"{percent(every['n_gold'] / every['n'])} of the {many}")
        idioms = max(idioms, every["n_idioms"])
    people = f"; people checked {listing(checked)}" if checked else ""
    return f"{corpus}: {listing(told)} on {count(idioms, 'idiom')}{people}."


def _shared(corpus: str, rows: pl.DataFrame) -> str:
    """The share of a query's words that relevant texts have, by use, with and without the spans."""
    recall = rows.filter(pl.col("quantity") == "query recall")
    found = {(row["usage"], row["found"], row["words"]): row for row in recall.iter_rows(named=True)}
    parts = []
    for usage in USES:
        with_, without = (found.get((usage, ALL, words)) for words in (ALL, "without spans"))
        if with_ is not None and known(with_["mean"]):
            bare = (
                f", {number(without['mean'])} without the spans"
                if without is not None and known(without["mean"])
                else ""
            )
            parts.append(f"of {usage} queries {number(with_['mean'])}{bare}")
    head = f"Share of a query’s words that a relevant text has, {corpus}"
    return f"{head}: {'; '.join(parts)}." if parts else f"{head}: {why_not(rows)}."
