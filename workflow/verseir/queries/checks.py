"""What can be known of the query sets of a study, whether read or drawn, before anything is searched."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from verseir.corpora.anthology import read_anthology
from verseir.corpora.beir import document_ids
from verseir.corpora.idiolink import Item, read_queries
from verseir.corpora.indexed import modes_of
from verseir.corpora.model import Corpus
from verseir.corpora.poetrymteb import Setting, poem_languages
from verseir.faults import Fault, InputFaults, UserError, closest
from verseir.kept import COLUMNS, Keep, keep_problems, kept_poems, poem_values
from verseir.probes import known_item_probes
from verseir.queries.beir import Asked, beir_queries
from verseir.queries.beir import read_queries as read_beir
from verseir.queries.chapters import chapter_queries
from verseir.queries.graded import graded_queries
from verseir.queries.idioms import idiom_queries
from verseir.queries.load import QuerySet
from verseir.queries.rewrites import limits_of, read_prompts, read_rewrites
from verseir.queries.within import beyond_reach, values_of_queries

#: How many queries that a mode robs of their poems are told one by one; the rest are counted.
_SHOWN = 10

#: Name -> what is known of it; None for what could not be read.
Corpora = Mapping[str, Corpus | None]
QuerySets = Mapping[str, QuerySet | None]
#: Name -> its part of the config.
Specs = Mapping[str, Any]


def probe_faults(corpora: Corpora, query_sets: Specs, drawn: dict[str, QuerySet | None]) -> Iterator[Fault]:
    """Probes that cannot be drawn from their corpus; those that can go to ``drawn``."""
    for name, spec in sorted(query_sets.items()):
        corpus = corpora.get(spec.get("probe", {}).get("corpus", ""))
        if corpus is not None:
            try:
                asked = spec["probe"]
                drawn[name] = QuerySet(name, *known_item_probes(corpus.poems, asked["n"], asked.get("seed", 0), name))
            except UserError as error:
                yield Fault(f"query set {name}", 0, "probe.n", str(error.args[0]), error.hint)


def chapter_faults(
    corpora: Corpora, specs: Specs, query_sets: Specs, drawn: dict[str, QuerySet | None]
) -> Iterator[Fault]:
    """Anthologies without chapters that hold a piece of the corpus; the queries of others go to ``drawn``."""
    for name, spec in sorted(query_sets.items()):
        corpus = corpora.get(spec.get("chapters", {}).get("corpus", ""))
        if corpus is not None:
            try:
                anthology = read_anthology(corpus.name, specs[corpus.name], Path())
                found = chapter_queries(name, anthology, corpus.poems["poem_id"])
                drawn[name] = QuerySet(name, found.queries, found.qrels)
            except UserError as error:
                yield Fault(f"query set {name}", 0, "chapters", str(error.args[0]), error.hint)


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
        try:
            made = idiom_queries(name, home, items[home], corpus.attributes, corpus.poems["poem_id"])
        except UserError as error:
            yield Fault(f"corpus {home}", 0, "sample", str(error.args[0]), error.hint)
            continue
        places = {item.item_id: (item.file, item.line) for item in items[home]}
        drawn[name] = QuerySet(name, made.queries, made.qrels, places=places, attributes=made.attributes)


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
            made = beir_queries(name, asked[home], spec, specs[home], Path(), poems, documents.get(home))
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
            made = graded_queries(name, setting, specs[home], Path(), languages[home], kept)
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


def edit_faults(query_sets: QuerySets, specs: Specs) -> Iterator[Fault]:
    """Files of edits that cannot be read, and rewrites of queries that are not there."""
    for name, spec in sorted(specs.items()):
        edit = spec.get("edit", {})
        original = query_sets.get(edit.get("of", ""))
        try:
            limits_of(edit, Path())
            if "prompt" in edit:
                read_prompts(Path(edit["prompt"]))
            if "path" in edit and original is not None:
                read_rewrites(Path(edit["path"]), edit["path"], original.queries["query_id"].to_list())
        except InputFaults as found:
            yield from found.faults
        except UserError as error:
            yield Fault(f"query set {name}", 0, "edit", str(error.args[0]), error.hint)


def stray_edits(query_sets: QuerySets, specs: Specs) -> Iterator[Fault]:
    """Edited queries from a file whose originals stand in no set of the study."""
    if any("probe" in spec or "chapters" in spec for spec in specs.values()):
        return  # the ids of drawn queries are known when they are drawn
    if any({"beir", "idioms", "poetry"} & set(spec) and query_sets.get(name) is None for name, spec in specs.items()):
        return
    others = [read for name, read in query_sets.items() if read is not None and specs[name].get("purpose") != "edited"]
    known = {query_id for read in others for query_id in read.queries["query_id"]}
    for name, read in query_sets.items():
        if read is not None and specs[name].get("purpose") == "edited":
            for query_id, source in read.queries.select("query_id", "source_query_id").iter_rows():
                if source not in known:
                    file, line = read.places[query_id]
                    problem = f"the query that '{query_id}' edits, '{source}', is in no query set of the study"
                    yield Fault(file, line, "source_query_id", problem, closest(source or "", known))


def places_of(query_sets: Specs, corpora: Specs, modes: Specs) -> dict[str, set[tuple[str, str]]]:
    """(corpus, mode) in which each query set is searched, also those in which a system is tuned on it for another."""
    places: dict[str, set[tuple[str, str]]] = {name: set() for name in query_sets}
    for name, spec in query_sets.items():
        own = {
            (corpus, mode)
            for corpus in spec.get("corpora", [])
            if corpus in corpora
            for mode in modes_of(corpora[corpus], modes)
            if mode in spec.get("modes", modes)
        }
        places[name] |= own
        validation = spec.get("validation", {})
        if validation.get("query_set") in places:
            places[validation["query_set"]] |= {(validation["corpus"], mode) for _, mode in own}
    return places


def within_faults(
    corpora: Corpora,
    query_sets: QuerySets,
    specs: Specs,
    places: Mapping[str, set[tuple[str, str]]],
    keep: Mapping[str, Keep],
) -> Iterator[Fault]:
    """Queries that are searched within an attribute and have no value of it, or one that no indexed poem has.

    Args:
        corpora, query_sets: those that were read or drawn.
        specs, places, keep: as in ``unanswered_faults``, and the parts of the config of the query sets.
    """
    for name, query_set in sorted(query_sets.items()):
        within = specs[name].get("within", "")
        if query_set is None or not within:
            continue
        values = values_of_queries(query_set.queries, query_set.attributes, within)
        for place in sorted(places.get(name, ())):
            corpus, kept = corpora.get(place[0]), keep.get(place[1], {})
            if corpus is None or keep_problems(corpus.poems, corpus.attributes, kept):
                continue
            poems = kept_poems(corpus.poems, corpus.attributes, kept)
            known = {value for value in poem_values(poems, corpus.attributes, within).values() if value is not None}
            if not known:
                hint = closest(within, {*COLUMNS, *corpus.attributes["attribute"]})
                yield Fault(f"corpus {corpus.name}", 0, f"query_sets.{name}.within", f"no poem has '{within}'", hint)
                continue
            lost = beyond_reach(query_set.queries["query_id"], values, known, within)
            for query_id, problem, hint in lost[:_SHOWN]:
                file, line = query_set.places.get(query_id, (f"query set {name}", 0))
                where = "" if problem.startswith("has no") else f" in {corpus.name}, mode '{place[1]}'"
                yield Fault(file, line, within, f"query '{query_id}': {problem}{where}", hint)
            if len(lost) > _SHOWN:
                problem = f"{len(lost) - _SHOWN} more queries cannot be searched within it, such as '{lost[_SHOWN][0]}'"
                yield Fault(f"query set {name}", 0, f"within.{within}", problem, lost[_SHOWN][2])


def unanswered_faults(
    corpora: Corpora,
    query_sets: QuerySets,
    places: Mapping[str, set[tuple[str, str]]],
    keep: Mapping[str, Keep],
) -> Iterator[Fault]:
    """Queries that have a relevant poem in a corpus, but none among those that a mode keeps in which they are searched.

    Args:
        corpora, query_sets: those that were read or drawn.
        places: of each query set, (corpus, mode) for each in which it is searched.
        keep: mode -> attribute -> values.
    """
    kept: dict[tuple[str, str], pl.Series | None] = {}
    for name, query_set in sorted(query_sets.items()):
        if query_set is None or query_set.judged != "now":
            continue
        relevant = query_set.qrels.filter(pl.col("grade") > 0)
        for place in sorted(places.get(name, ())):
            corpus, mode = corpora.get(place[0]), place[1]
            if corpus is None or mode not in keep:
                continue
            if place not in kept:
                fits = not keep_problems(corpus.poems, corpus.attributes, keep[mode])
                left = kept_poems(corpus.poems, corpus.attributes, keep[mode]) if fits else None
                kept[place] = None if left is None else left["poem_id"]
            poems = kept[place]
            if poems is None:
                continue
            there = relevant.filter(pl.col("poem_id").is_in(corpus.poems["poem_id"].implode()))
            answered = set(there.filter(pl.col("poem_id").is_in(poems.implode()))["query_id"])
            lost = sorted(set(there["query_id"]) - answered)
            hint = f"widen keep.{mode}, or search the query set in other modes: its modes"
            for query_id in lost[:_SHOWN]:
                file, line = query_set.places.get(query_id, (f"query set {name}", 0))
                problem = f"mode '{mode}' keeps no poem of {corpus.name} that is relevant to query '{query_id}'"
                yield Fault(file, line, "relevant", problem, hint)
            if len(lost) > _SHOWN:
                problem = (
                    f"keeps no poem that is relevant to {len(lost) - _SHOWN} more queries, such as '{lost[_SHOWN]}'"
                )
                yield Fault(f"corpus {corpus.name}", 0, f"keep.{mode}", problem, hint)
