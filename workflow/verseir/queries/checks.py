"""What can be known of the query sets of a study, whether read or drawn, before anything is searched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from verseir.corpora.anthology import read_anthology
from verseir.corpora.indexed import modes_of
from verseir.corpora.model import Corpus
from verseir.faults import Fault, InputFaults, UserError, closest
from verseir.probes import KINDS, known_item_probes
from verseir.queries.chapters import chapter_queries
from verseir.queries.load import QuerySet
from verseir.queries.rewrites import limits_of, read_prompts, read_rewrites

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
                probes = known_item_probes(
                    corpus.poems, asked["n"], asked.get("seed", 0), name, asked.get("kinds", KINDS)
                )
                drawn[name] = QuerySet(name, probes.queries, probes.qrels)
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


def strata_faults(query_sets: QuerySets, specs: Specs) -> Iterator[Fault]:
    """Attributes by which a query set is split, and of which none of its queries has a value."""
    for name, query_set in sorted(query_sets.items()):
        wanted = specs[name].get("strata", specs[name].get("attributes", []))
        if query_set is None or not wanted:
            continue
        there = set(query_set.attributes["attribute"])
        left = ", ".join(attribute for attribute in wanted if attribute in there)
        for attribute in sorted(set(wanted) - there):
            problem = f"no query has a value, and the set '{name}' is split by it"
            hint = f"fill the column, or leave it out: query_sets.{name}.strata: [{left}]"
            yield Fault(str(specs[name].get("path", f"query set {name}")), 0, attribute, problem, hint)


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
