"""What can be known of the query sets of benchmarks before anything is searched."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from verseir.corpora.attributes import alike
from verseir.corpora.beir import document_ids
from verseir.corpora.idiolink import Item, read_queries, spelling_faults
from verseir.corpora.model import Corpus
from verseir.corpora.poetrymteb import Setting, poem_languages
from verseir.corpora.sampling import is_sampled
from verseir.faults import Fault, InputFaults, UserError
from verseir.queries.beir import Asked, beir_queries
from verseir.queries.beir import read_queries as read_beir
from verseir.queries.checks import Corpora, Specs
from verseir.queries.idioms import filtered, idiom_queries, lost_faults
from verseir.queries.load import QuerySet
from verseir.queries.poetry import poetry_queries


def idiom_faults(
    corpora: Corpora, specs: Specs, query_sets: Specs, drawn: dict[str, QuerySet | None]
) -> Iterator[Fault]:
    """Queries of idiom benchmarks that cannot be read, or that nothing in their corpus answers; others go to ``drawn``.

    The queries of a corpus are read once, however many query sets are made of them, and also where the corpus itself
    has faults.
    """
    items: dict[str, list[Item]] = {}
    for name, spec in sorted(query_sets.items()):
        home = spec.get("idioms", {}).get("corpus", "")
        if home not in specs:
            continue
        if home not in items:
            items[home] = []
            try:
                items[home] = read_queries(specs[home], Path())
            except InputFaults as found:
                yield from found.faults
            except UserError as error:
                yield Fault(f"corpus {home}", 0, "", str(error.args[0]), error.hint)
        corpus = corpora.get(home)
        if corpus is None or not items[home]:
            continue
        sampled, others = is_sampled(specs[home]), _spelt_otherwise(items[home], corpus.attributes)
        try:
            asked = filtered(items[home], spec.get("filter", {}))
        except UserError as error:
            yield Fault(f"query set {name}", 0, "filter", str(error.args[0]), error.hint)
            continue
        try:
            made = idiom_queries(name, home, asked, corpus.attributes, corpus.poems["poem_id"], sampled=sampled)
        except UserError as error:
            if not others:
                yield Fault(f"corpus {home}", 0, "sample" if sampled else "", str(error.args[0]), error.hint)
            continue
        if not sampled:
            lost = [item for item in made.lost if item.idiom not in others]
            yield from lost_faults(lost, home, corpus.attributes)
        places = {item.item_id: (item.file, item.line) for item in items[home]}
        drawn[name] = QuerySet(name, made.queries, made.qrels, places=places, attributes=made.attributes)


def _spelt_otherwise(items: list[Item], attributes: pl.DataFrame) -> set[str]:
    """The idioms of queries that documents spell another way only: told by ``idiom_spelling_faults``."""
    known = set(attributes.filter(pl.col("attribute") == "idiom")["value"])
    folded = set(map(alike, known))
    return {item.idiom for item in items if item.idiom not in known and alike(item.idiom) in folded}


def idiom_spelling_faults(specs: Specs, query_sets: Specs) -> Iterator[Fault]:
    """Idioms and subjects that one corpus of an idiom benchmark spells in more than one way."""
    asked = {spec["idioms"]["corpus"] for spec in query_sets.values() if "idioms" in spec}
    for name, spec in sorted(specs.items()):
        if spec.get("adapter") == "idiolink":
            try:
                yield from spelling_faults(spec, Path(), with_queries=name in asked)
            except UserError:
                continue  # told where the corpus is read


def beir_faults(
    corpora: Corpora,
    specs: Specs,
    query_sets: Specs,
    drawn: dict[str, QuerySet | None],
    known_ids: Mapping[str, Collection[str]],
) -> Iterator[Fault]:
    """Queries and judgements of data sets in the format of BEIR that cannot be used; those that can go to ``drawn``.

    The queries of a data set are read once, however many splits are searched, and also where its documents have faults:
    ``known_ids`` has the ids of the poems of each corpus that could be read to its end and is not sampled.
    """
    asked: dict[str, Asked] = {}
    documents: dict[str, Collection[str]] = {}
    for name, spec in sorted(query_sets.items()):
        home = spec.get("beir", {}).get("corpus", "")
        if home not in specs:
            continue
        corpus, sampled = corpora.get(home), bool(specs[home].get("sample"))
        try:
            if home not in asked:
                asked[home] = read_beir(specs[home], Path())
            if sampled and home not in documents:
                documents[home] = document_ids(specs[home], Path())
            poems = known_ids.get(home) if corpus is None else corpus.poems["poem_id"]
            made = beir_queries(
                name, asked[home], spec, specs[home], Path(), poems, documents.get(home), corpus is not None
            )
        except InputFaults as found:
            yield from found.faults
        except UserError as error:
            yield Fault(f"corpus {home}", 0, "", str(error.args[0]), error.hint)
        else:
            drawn[name] = made.query_set if corpus is not None else None


def poetry_faults(
    corpora: Corpora,
    specs: Specs,
    query_sets: Specs,
    drawn: dict[str, QuerySet | None],
    known_ids: Mapping[str, Collection[str]],
) -> Iterator[Fault]:
    """Queries and grades of benchmarks of poetry that cannot be used; those that can go to ``drawn``.

    They are read also where the poems have faults: ``known_ids`` is that of ``beir_faults``.
    """
    languages: dict[str, pl.DataFrame | None] = {}
    for name, spec in sorted(query_sets.items()):
        asked = spec.get("poetry", {})
        home = asked.get("corpus", "")
        if home not in specs:
            continue
        corpus, sampled = corpora.get(home), bool(specs[home].get("sample"))
        kept = corpus.poems["poem_id"] if corpus is not None and sampled else None
        setting = Setting(asked["aspect"], asked["scope"], asked["split"])
        try:
            if home not in languages:
                languages[home] = _languages(specs[home], corpus, known_ids.get(home))
            made = poetry_queries(name, setting, specs[home], Path(), languages[home], kept, corpus is not None)
        except InputFaults as found:
            yield from found.faults
        except UserError as error:
            yield Fault(f"corpus {home}", 0, "", str(error.args[0]), error.hint)
        else:
            read = QuerySet(name, made.queries, made.qrels, places=made.places, attributes=made.attributes)
            drawn[name] = read if corpus is not None else None


def _languages(
    spec: Mapping[str, Any], corpus: Corpus | None, known_ids: Collection[str] | None
) -> pl.DataFrame | None:
    """``poem_id`` and ``language`` of all poems of a corpus, as far as it could be read; None where it could not."""
    if corpus is not None:
        sampled = bool(spec.get("sample"))
        return poem_languages(dict(spec), Path()) if sampled else corpus.poems.select("poem_id", "language")
    if known_ids is None:
        return None
    return pl.DataFrame({"poem_id": sorted(known_ids)}, schema={"poem_id": pl.String}).with_columns(
        language=pl.lit(None, pl.String)
    )
