"""Which keys of the config each source of queries and each adapter reads: others would be passed over in silence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from verseir.faults import Fault

#: What describes the rows of a file of queries.
_OF_QUERIES = ("attributes", "binary", "columns", "filter", "max_grade", "qrels", "register", "sheet")


@dataclass(frozen=True)
class Source:
    """Where queries come from, other than a file of rows.

    Attributes:
        named: a set of it in messages.
        has: why it needs no other of the keys that describe rows.
        reads: those of these keys that it reads.
        judged: why its queries cannot be judged later; empty where they can.
        purpose: what they are for, where that is known of all.
    """

    named: str
    has: str
    reads: tuple[str, ...] = ()
    judged: str = ""
    purpose: str = ""


#: ``edit`` and ``graded`` name another set, which has these keys: see ``study_faults`` and ``construction``.
SOURCES = {
    "probe": Source("a set of probes", "has this from the poems"),
    "chapters": Source("a set of chapters", "has this from its anthology"),
    "idioms": Source("an idiom set", "has this from its file", ("filter",), "is judged by its rules"),
    "beir": Source("a beir set", "has this from its files", ("attributes", "binary", "max_grade", "register")),
    "poetry": Source("a poetry set", "has this from its files", (), "is judged in its files", "thematic"),
}

_LISTED = ("local", "path", "select", "sources")
_TABLE = ("attributes", "columns", "hemistich_separator", "hub", "language", "path", "verse_separator")
#: Of the keys of a corpus that only some adapters read: those that each reads.
ADAPTERS: dict[str, tuple[str, ...]] = {
    "anthology": (*_LISTED, "language"),
    "beir": ("hub", "language", "path"),
    "csv": (*_TABLE, "sheet"),
    "fannorflop": ("exclude", "hub", "language", "path"),
    "idiolink": ("hub", "language", "local", "path"),
    "jsonl": _TABLE,
    "openiti": (*_LISTED, "language"),
    "poetrymteb": ("counts", "files", "hub", "languages", "local", "path"),
}
_SOME_READ = {key for keys in ADAPTERS.values() for key in keys}


def idle_keys(spec: Mapping[str, Any], where: str) -> Iterator[Fault]:
    """Keys of corpora and query sets that do nothing there. ``spec`` is a study that fits its schema, with defaults."""
    for name, corpus in spec["corpora"].items():
        for key in sorted((set(corpus) & _SOME_READ) - set(ADAPTERS[corpus["adapter"]])):
            others = ", ".join(adapter for adapter, keys in ADAPTERS.items() if key in keys)
            problem = f"the adapter {corpus['adapter']} does not read it"
            yield Fault(where, 0, f"corpora.{name}.{key}", problem, f"take it out; it is read by {others}")
    for name, query_set in spec["query_sets"].items():
        field = f"query_sets.{name}"
        for source in (SOURCES[key] for key in SOURCES if key in query_set):
            for key in _OF_QUERIES:
                if key in query_set and key not in source.reads:
                    yield Fault(where, 0, f"{field}.{key}", f"{source.named} {source.has}", "take it out")
            if source.judged and query_set["judged"] == "later":
                yield Fault(where, 0, f"{field}.judged", f"{source.named} {source.judged}", "take it out")
            if source.purpose and query_set["purpose"] != source.purpose:
                yield Fault(where, 0, f"{field}.purpose", f"{source.named} is {source.purpose}", "take it out")


def scope_faults(query_sets: Mapping[str, Any], where: str) -> Iterator[Fault]:
    """Settings of a benchmark of poetry that are not searched where their scope says."""
    for name, query_set in query_sets.items():
        scope, within = query_set.get("poetry", {}).get("scope"), query_set.get("within")
        if scope == "mono" and within != "language":
            problem = "a query of a mono setting asks for poems in its target language, and all would be searched"
            if within is not None:
                problem = f"a query of a mono setting is searched within its target language, not its {within}"
            yield Fault(where, 0, f"query_sets.{name}.within", problem, "within: language")
        if scope == "cross" and within is not None:
            problem = "a query of a cross setting is searched among all poems"
            yield Fault(where, 0, f"query_sets.{name}.within", problem, "take it out")
