"""Keys that a source of queries or an adapter does not read are refused, and so is a scope that is not searched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from verseir.config import SCHEMA, load_study
from verseir.faults import InputFaults
from verseir.given_keys import ADAPTERS, SOURCES

ROOT = Path(__file__).parents[2]
POETRY = {"corpus": "p", "aspect": "theme", "scope": "mono", "split": "gold"}
SETS: dict[str, dict[str, Any]] = {
    "poetry": {"corpora": ["p"], "within": "language", "poetry": POETRY},
    "beir": {"corpora": ["b"], "beir": {"corpus": "b"}},
    "probe": {"corpora": ["j"], "probe": {"corpus": "j", "n": 2}},
    "path": {"corpora": ["j"], "path": "q.jsonl"},
}
VALUES: dict[str, Any] = {
    "attributes": ["language"],
    "binary": True,
    "columns": {"text": "query"},
    "filter": {"a": "b"},
    "judged": "later",
    "max_grade": 2,
    "purpose": "known-item",
    "qrels": "q.tsv",
    "register": "quoting",
}


def refused(source: str = "path", corpora: dict[str, Any] | None = None, **changes: Any) -> list[str]:
    """Where the faults of a study are, with what is wrong and what to do."""
    given = {"p": {"adapter": "poetrymteb", "path": "p"}, "b": {"adapter": "beir", "path": "b"}}
    given["j"] = {"adapter": "jsonl", "path": "j.jsonl"}
    query_set = {key: value for key, value in (SETS[source] | changes).items() if value is not None}
    study = {
        "study": "small",
        "corpora": given | (corpora or {}),
        "modes": {"poem": ["verse"]},
        "query_sets": {"q": query_set},
        "systems": ["bm25"],
    }
    try:
        load_study(study, ROOT)
    except InputFaults as found:
        return [f"{fault.field}: {fault.problem}; {fault.hint}" for fault in found.faults]
    return []


@pytest.mark.parametrize("key", VALUES)
def test_a_poetry_set_has_all_of_this_from_its_files(key: str) -> None:
    told = {"judged": "is judged in its files", "purpose": "is thematic"}.get(key, "has this from its files")
    assert refused("poetry", **{key: VALUES[key]}) == [f"query_sets.q.{key}: a poetry set {told}; take it out"]


def test_a_beir_set_has_some_of_it() -> None:
    for key in ("columns", "filter", "qrels"):
        told = f"query_sets.q.{key}: a beir set has this from its files; take it out"
        assert refused("beir", **{key: VALUES[key]}) == [told]
    known = {key: VALUES[key] for key in VALUES if key not in ("columns", "filter", "qrels")}
    assert refused("beir", **known) == []
    assert refused("path", **VALUES) == []
    assert refused("probe", register="quoting") == [
        "query_sets.q.register: a set of probes has this from the poems; take it out"
    ]


def test_what_a_set_says_anyway_is_no_key_too_many() -> None:
    assert refused("poetry", purpose="thematic", judged="now", strata=["aspect"], modes=["poem"]) == []


@pytest.mark.parametrize(
    ("key", "value"),
    [("counts", "c.csv"), ("files", {"corpus": "p.jsonl"}), ("languages", ["ENG"]), ("columns", {"text": "body"})],
)
def test_a_corpus_is_given_no_key_that_its_adapter_does_not_read(key: str, value: Any) -> None:
    readers = [adapter for adapter, keys in ADAPTERS.items() if key in keys]
    for adapter in ADAPTERS:
        corpora = {"x": {"adapter": adapter, "path": "x", key: value}}
        told = f"corpora.x.{key}: the adapter {adapter} does not read it; take it out; it is read by "
        assert refused(corpora=corpora) == ([] if adapter in readers else [told + ", ".join(readers)])


def test_each_source_and_adapter_of_the_schema_is_in_the_tables() -> None:
    parts = json.loads(SCHEMA.read_text(encoding="utf-8"))["$defs"]
    assert set(ADAPTERS) == set(parts["corpus"]["properties"]["adapter"]["enum"])
    assert {key for keys in ADAPTERS.values() for key in keys} <= set(parts["corpus"]["properties"])
    assert set(SOURCES) <= set(parts["query_set"]["properties"])
    everywhere = {"adapter", "audits", "explanations", "licence", "modes", "sample"}
    assert set(parts["corpus"]["properties"]) - everywhere == {key for keys in ADAPTERS.values() for key in keys}


def test_a_scope_is_searched_as_it_says() -> None:
    (told,) = refused("poetry", within=None)
    assert told.startswith("query_sets.q.within: a query of a mono setting asks for poems in its target language")
    assert told.endswith("; within: language")
    for other in ("aspect", "scope", "poet"):
        (told,) = refused("poetry", within=other)
        assert told.endswith(f"within its target language, not its {other}; within: language")
    cross = {"poetry": POETRY | {"scope": "cross"}}
    assert refused("poetry", **cross) == [
        "query_sets.q.within: a query of a cross setting is searched among all poems; take it out"
    ]
    assert refused("poetry", within=None, **cross) == []
