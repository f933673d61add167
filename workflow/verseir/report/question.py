"""What a study asked: of which systems, where, with which queries, and what was indexed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from verseir.formats import count, listing
from verseir.orders import mode_order
from verseir.report.graded import judged_elsewhere, judged_here, searched_within
from verseir.report.spoken import graded_from, graded_only, idioms_only, set_order, synthetic_sets


def asked(study: Mapping[str, Any], leaderboard: pl.DataFrame, audits: Iterable[Mapping[str, Any]]) -> list[str]:
    """What the study asked, in sentences."""
    systems = sorted(set(leaderboard["system"]))
    poems = {audit["corpus"]: audit.get("n_poems", 0) for audit in audits}
    corpora = [
        f"{name} ({count(poems[name], _text(study, name))})" if poems.get(name) else name
        for name in sorted(_searched(study))
    ]
    sets, synthetic = [], synthetic_sets(study)
    searched = {name for name, spec in study["query_sets"].items() if spec["corpora"]} - graded_from(study)
    for name in sorted(searched, key=set_order(study)):
        n = max(leaderboard.filter(pl.col("query_set") == name)["n_queries"].to_list(), default=None)
        purpose = study["query_sets"][name].get("purpose", name)
        if name in synthetic:
            purpose = "synthetic probes drawn from the poems"
        elif idioms_only(study):
            purpose = name  # all are of one kind, which the question tells
        facts = [*([purpose] if purpose != name else []), *_size(n, study["query_sets"][name])]
        sets.append(f"{name} ({', '.join(facts)})" if facts else name)
    modes = sorted(set(leaderboard["mode"]), key=mode_order)
    who = f"do {len(systems)} systems ({listing(systems)})" if len(systems) > 1 else f"does {systems[0]}"
    told = [
        _question(who, study),
        f"Searched: {listing(corpora)}. Asked: {listing(sets)}. "
        f"Indexed: {listing([_mode(name, study) for name in modes])}.",
    ]
    told += [*judged_elsewhere(study), *judged_here(study), *searched_within(study)]
    base = study["analyses"]["base_mode"]
    bare = sorted(name for name, corpus in study["corpora"].items() if base not in corpus.get("modes", [base]))
    if bare:
        told.append(
            f"{listing(bare)} {'is' if len(bare) == 1 else 'are'} not indexed in mode {base}, which the parts on what "
            "results depend on show: the tables have what was measured in other modes."
        )
    if synthetic:
        told.append(
            f"The queries of {listing(synthetic)} are synthetic. They tell whether a system finds a poem by words that "
            "it holds, and nothing of what readers ask."
        )
    return told


def _searched(study: Mapping[str, Any]) -> set[str]:
    """The corpora that query sets are searched in: others are there to choose parameters on, or to be counted."""
    return {corpus for spec in study["query_sets"].values() for corpus in spec["corpora"]}


def _text(study: Mapping[str, Any], corpus: str) -> str:
    """What a text of a corpus is called."""
    return "document" if study["corpora"][corpus].get("adapter") == "idiolink" else "poem"


def _question(who: str, study: Mapping[str, Any]) -> str:
    """What the study asks of its systems: of idioms where all its queries are of an idiom benchmark."""
    if idioms_only(study):
        return (
            f"How well {who} find texts that mean what a query means by an idiom, and how far is that more than "
            "finding its words?"
        )
    if graded_only(study):
        return (
            f"How well {who} find the poems that were judged to answer a query, and how far does that depend on what "
            "is asked, and among which poems it is searched?"
        )
    return (
        f"How well {who} find poems, and how far does the answer depend on what the query remembers of the poem’s "
        "wording and on which text is indexed?"
    )


def _size(n: int | None, query_set: Mapping[str, Any]) -> list[str]:
    """How many queries of a set were measured, of those that stand for themselves."""
    if n is None:
        return [] if query_set.get("purpose") == "edited" else ["which no system searched"]
    return [count(n, "query", "queries") if n else "none with a relevant poem"]


def _mode(name: str, study: Mapping[str, Any]) -> str:
    """A mode with the fields that it indexes, and of which poems, where that is not all that its name says."""
    fields = [field.replace("explanation:", "explanations of source ") for field in study["modes"].get(name, [])]
    kept = study.get("keep", {}).get(name, {})
    if idioms_only(study):  # a document is one text
        uses = [listing([str(value) for value in values]) for values in kept.values()]
        return f"{name} ({'; '.join(uses)} alone)" if uses else f"{name} (all documents)"
    poems = [f"{attribute} {listing(values)} alone" for attribute, values in sorted(kept.items())]
    told = [*([listing(fields)] if fields and fields != [name] else []), *poems]
    return f"{name} ({'; '.join(told)})" if told else name
