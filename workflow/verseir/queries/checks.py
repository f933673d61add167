"""What can be known of the query sets of a study, whether read or drawn, before anything is searched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from verseir.corpora.anthology import read_anthology
from verseir.corpora.attributes import alike
from verseir.corpora.idiolink import Item, read_queries, spelling_faults
from verseir.corpora.indexed import modes_of
from verseir.corpora.model import Corpus
from verseir.corpora.sampling import is_sampled
from verseir.faults import Fault, InputFaults, UserError, closest
from verseir.kept import Keep, keep_problems, kept_poems
from verseir.measures import RELEVANT, parse_measure
from verseir.probes import known_item_probes
from verseir.queries.chapters import chapter_queries
from verseir.queries.idioms import filtered, idiom_queries, lost_faults
from verseir.queries.load import QuerySet
from verseir.queries.rewrites import limits_of, read_prompts, read_rewrites

#: Measures that, without a cutoff, want all relevant poems in a list: one that is too short for them is never perfect.
_OF_ALL_RELEVANT = ("AP", "Bpref", "Rprec", "nDCG")
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
    if any("idioms" in spec and query_sets.get(name) is None for name, spec in specs.items()):
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
    indexed = _Indexed(corpora, keep)
    for name, query_set in sorted(query_sets.items()):
        if query_set is None or query_set.judged != "now":
            continue
        relevant = query_set.qrels.filter(pl.col("grade") >= RELEVANT)
        for place in sorted(places.get(name, ())):
            corpus, mode, poems = corpora.get(place[0]), place[1], indexed.poems(*place)
            if corpus is None or mode not in keep or poems is None:
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


def depth_faults(
    corpora: Corpora,
    query_sets: QuerySets,
    specs: Specs,
    places: Mapping[str, set[tuple[str, str]]],
    keep: Mapping[str, Keep],
    depth: int,
    measures: Sequence[str],
) -> Iterator[Fault]:
    """Query sets, judged now, with queries of which more poems are relevant than ranked lists hold.

    R-precision, and the other measures of all relevant poems that have no cutoff, would be capped in silence: the best
    list could not reach 1.

    Args:
        corpora, query_sets, places, keep: as for ``unanswered_faults``.
        specs: the query sets in the config.
        depth: poems in a ranked list.
        measures: names that ``parse_measure`` knows; those that have a cutoff are passed over.

    Raises:
        UserError: a name that it does not know.
    """
    parsed = [(name, parse_measure(name)) for name in measures]
    capped = [name for name, measure in parsed if measure.family in _OF_ALL_RELEVANT and measure.cutoff is None]
    indexed = _Indexed(corpora, keep)
    for name, query_set in sorted(query_sets.items() if capped else ()):
        if query_set is None or "later" in (query_set.judged, specs[name].get("judged")):
            continue
        relevant = query_set.qrels.filter(pl.col("grade") >= RELEVANT)
        found: dict[str, int] = {}
        for place in sorted(places.get(name, ())):
            poems = indexed.poems(*place)
            if poems is None:
                continue
            there = relevant.filter(pl.col("poem_id").is_in(poems.implode()))
            for query_id, n in there.group_by("query_id").len().filter(pl.col("len") > depth).iter_rows():
                found[query_id] = max(n, found.get(query_id, 0))
        if found:
            queries = "1 query has" if len(found) == 1 else f"{len(found)} queries have"
            most = max(found.values())
            problem = f"{queries} up to {most} relevant poems, which {', '.join(capped)} would find in a perfect list,"
            yield Fault(f"query set {name}", 0, "depth", f"{problem} but lists hold {depth}", f"depth: {most}")


@dataclass
class _Indexed:
    """The poems that each mode indexes of each corpus, found once."""

    corpora: Corpora
    keep: Mapping[str, Keep]
    _found: dict[tuple[str, str], pl.Series | None] = field(default_factory=dict)

    def poems(self, name: str, mode: str) -> pl.Series | None:
        """Their ids; None where the corpus could not be read, or does not have what the mode asks for."""
        if (name, mode) not in self._found:
            corpus, keep = self.corpora.get(name), self.keep.get(mode, {})
            fits = corpus is not None and not keep_problems(corpus.poems, corpus.attributes, keep)
            kept = kept_poems(corpus.poems, corpus.attributes, keep) if corpus is not None and fits else None
            self._found[name, mode] = None if kept is None else kept["poem_id"]
        return self._found[name, mode]
