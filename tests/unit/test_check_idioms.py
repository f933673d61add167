"""The check before the first job: idiom benchmarks, and modes that index some poems only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from verseir.__main__ import main
from verseir.corpora.idiolink import Item
from verseir.faults import UserError
from verseir.queries.idioms import filtered

LITERAL = {"usage": ["literal"]}


def record(number: int, usage: str, **changes: Any) -> dict[str, Any]:
    base = {"id": f"{usage}_{number}", "sentence": f"They broke the ice {number}.", "idiom": "break the ice"}
    return base | {"span": "the ice", "subject": "Food", "usage": usage, "is_gold": True} | changes


def write(folder: Path, name: str, records: list[dict[str, Any]]) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps(records, indent=1), encoding="utf-8")


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for split in ("test", "val"):
        write(tmp_path / split, "indexes.json", [record(n, usage) for usage in ("literal", "sense") for n in range(3)])
        write(
            tmp_path / split, "queries.json", [record(9, usage, id=f"q_{usage}") for usage in ("literal", "idiomatic")]
        )
    return tmp_path


CORPORA = {split: {"adapter": "idiolink", "path": split} for split in ("test", "val")}
VALIDATION = {"corpus": "val", "query_set": "val_span"}
SETS: dict[str, dict[str, Any]] = {
    "sentence": {"corpora": ["test"], "idioms": {"corpus": "test"}},
    "span": {"corpora": ["test"], "idioms": {"corpus": "test"}, "validation": VALIDATION},
    "val_span": {"corpora": [], "idioms": {"corpus": "val"}},
}
MODES = {"full": ["verse"]}


def told_of(capsys: pytest.CaptureFixture[str], *more: str, **changes: Any) -> list[str]:
    """The faults, without their hints."""
    return [line.removeprefix("  - ") for line in said(capsys, *more, **changes) if line.startswith("  - ")]


def said(capsys: pytest.CaptureFixture[str], *more: str, **changes: Any) -> list[str]:
    """The lines of what the check says of faults."""
    spec = {"corpora": CORPORA, "query_sets": SETS, "modes": MODES, "keep": {}} | changes
    options = [f"--{name.replace('_', '-')}={json.dumps(given)}" for name, given in spec.items()]
    code = main(["check_inputs", *options, *more, "--output=inputs.json"])
    told = capsys.readouterr()
    assert (code == 0) == (not told.err), told.err
    return told.err.split("\n")


def with_mode(name: str, keep: dict[str, list[str]]) -> dict[str, Any]:
    return {"modes": MODES | {name: ["verse"]}, "keep": {name: keep}}


def test_idioms_are_read_and_counted(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert told_of(capsys) == []
    read = json.loads((base / "inputs.json").read_text(encoding="utf-8"))
    assert read["query_sets"] == {name: {"n_queries": 2, "n_judgements": 6} for name in SETS}
    paths = [f"{split}/{file}.json" for split in ("test", "val") for file in ("indexes", "queries")]
    assert [file["path"] for file in read["files"]] == paths


def test_faults_of_all_files_are_told_together_and_once(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(base / "test", "queries.json", [record(9, "sense", id="q")])
    write(base / "val", "queries.json", [])
    write(base / "test", "indexes.json", [record(1, "literal", is_gold=1)])
    assert told_of(capsys) == [
        "test/indexes.json:2 [is_gold]: record 1: is a number, expected true or false",
        "test/queries.json:2 [usage]: record 1: 'sense' is no usage, expected one of literal, idiomatic",
        "val/queries.json: holds no queries",
    ]


def test_a_split_whose_documents_answer_nothing_is_a_fault(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(base / "test", "indexes.json", [record(1, "literal", idiom="Break the ice")])
    assert told_of(capsys) == ["test/indexes.json:2 [idiom]: record 1: 'Break the ice' is spelt another way elsewhere"]
    write(base / "test", "indexes.json", [record(1, "literal", idiom="cold feet", sentence="They got the ice.")])
    none = "none of the 2 queries that come with test has a relevant document in it"
    assert told_of(capsys) == [f"corpus test: {none}"]
    sampled = CORPORA | {"test": CORPORA["test"] | {"sample": {"n": 1}}}
    assert told_of(capsys, corpora=sampled) == [f"corpus test [sample]: {none}"]


def test_a_corpus_without_queries_is_a_corpus(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (base / "val" / "queries.json").unlink()
    sets = {"sentence": SETS["sentence"]}
    assert told_of(capsys, query_sets=sets) == []
    assert "val/queries.json: there is no such file" in told_of(capsys)


def test_modes_that_ask_for_what_a_corpus_does_not_have(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = told_of(capsys, **with_mode("some", {"usage": ["literal", "sens"], "usag": ["x"]}))
    assert told == [
        f"corpus {split} [keep.some.{name}]: no poem has the {what}"
        for split in ("test", "val")
        for name, what in (("usag", "attribute 'usag'"), ("usage", "value 'sens' of 'usage'"))
    ]
    corpora = {name: spec | {"modes": ["full"]} for name, spec in CORPORA.items()}
    sets = {"sentence": SETS["sentence"]}
    assert told_of(capsys, **with_mode("some", {"usag": ["x"]}), corpora=corpora, query_sets=sets) == []


def test_a_query_that_loses_all_its_poems_in_a_mode_is_a_fault(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mode = with_mode("some", LITERAL)
    lost = "mode 'some' keeps no poem of {0} that is relevant to query 'q_idiomatic'"
    assert told_of(capsys, **mode) == [
        f"{split}/queries.json:11 [relevant]: {lost.format(split)}" for split in ("test", "val")
    ]
    elsewhere = {name: spec | {"modes": ["full"]} for name, spec in SETS.items()}
    assert told_of(capsys, **mode, query_sets=elsewhere) == []
    assert told_of(capsys, **with_mode("some", {"usage": ["literal", "sense"]})) == []


def test_many_lost_queries_are_counted(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = [record(n, "idiomatic", id=f"q_{n:02d}") for n in range(14)] + [record(9, "literal", id="q_lit")]
    write(base / "test", "queries.json", asked)
    told = told_of(capsys, **with_mode("some", LITERAL), query_sets={"sentence": SETS["sentence"]})
    assert len(told) == 11
    assert told[0] == ("corpus test [keep.some]: keeps no poem that is relevant to 4 more queries, such as 'q_10'")


def test_queries_from_a_file_can_lose_their_poems_too(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    poems = [{"poem_id": f"p{n}", "verses": ["text"], "genre": "elegy" if n else "ode"} for n in range(2)]
    (base / "poems.jsonl").write_text("".join(json.dumps(poem) + "\n" for poem in poems), encoding="utf-8")
    rows = [{"query_id": f"q{n}", "text": "t", "relevant": f"p{n}"} for n in range(2)]
    (base / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    spec = {"corpora": {"c": {"adapter": "jsonl", "path": "poems.jsonl"}}}
    asked = {"corpora": ["c"], "path": "queries.jsonl"}
    told = told_of(capsys, **spec, **with_mode("odes", {"genre": ["ode"]}), query_sets={"s": asked})
    assert told == ["queries.jsonl:2 [relevant]: mode 'odes' keeps no poem of c that is relevant to query 'q1'"]
    later = {"s": asked | {"judged": "later"}}
    assert told_of(capsys, **spec, **with_mode("odes", {"genre": ["ode"]}), query_sets=later) == []


def test_edits_of_idiom_queries_are_known_by_their_originals(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"query_id": f"{of}~x", "text": "t", "source_query_id": of, "relevant": "literal_0"}
        for of in ("q_literal", "q_l")
    ]
    (base / "edited.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    sets = SETS | {"edited": {"corpora": ["test"], "path": "edited.jsonl", "purpose": "edited"}}
    assert told_of(capsys, query_sets=sets) == [
        "edited.jsonl:2 [source_query_id]: the query that 'q_l~x' edits, 'q_l', is in no query set of the study"
    ]


def test_a_query_that_no_document_answers_is_a_fault(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(base / "test", "indexes.json", [record(1, "literal")])
    asked = [record(n, usage, id=f"q_{usage}") for n, usage in enumerate(("literal", "idiomatic"))]
    write(base / "test", "queries.json", [*asked, record(3, "literal", id="q_other", idiom="break the iced")])
    lost = "has no relevant document in test: none"
    uses = "idiomatic or simplification or sense"
    assert said(capsys)[1:] == [
        f"  - test/queries.json:11 [usage]: query 'q_idiomatic' {lost} of the idiom 'break the ice' is {uses}",
        "      hint: add one, or take the query out",
        f"  - test/queries.json:20 [idiom]: query 'q_other' {lost} has the idiom 'break the iced'",
        "      hint: did you mean 'break the ice'? known: break the ice",
        "",
    ]
    assert told_of(capsys, corpora=CORPORA | {"test": CORPORA["test"] | {"sample": {"n": 1}}}) == []
    everything = CORPORA | {"test": CORPORA["test"] | {"sample": {"seed": 4}}}
    assert len(told_of(capsys, corpora=everything)) == 2


def test_many_unanswered_queries_are_counted(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = [record(n, "literal", id=f"q_{n:02d}", idiom="cold feet") for n in range(12)]
    write(base / "test", "queries.json", [*asked, record(9, "literal", id="q_lit")])
    told = told_of(capsys)
    assert len(told) == 11
    assert told[0] == "corpus test [idiom]: 2 more queries have no relevant document in it, such as 'q_10'"


def test_an_idiom_that_is_spelt_another_way_is_one_fault(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = json.loads((base / "test" / "queries.json").read_text(encoding="utf-8"))
    given[1]["idiom"] = "Break  the ice"
    write(base / "test", "queries.json", given)
    assert said(capsys)[1:3] == [
        "  - test/queries.json:11 [idiom]: record 2: 'Break  the ice' is spelt another way elsewhere",
        "      hint: write it in one way: 'break the ice'",
    ]
    assert len(told_of(capsys)) == 1  # the query that it loses is no fault of its own
    assert told_of(capsys, query_sets={"val_span": SETS["val_span"]}) == []  # its queries are not read


def test_lists_that_are_too_short_for_a_measure(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(base / "test", "indexes.json", [record(n, usage) for usage in ("literal", "sense") for n in range(5)])
    for split in ("test", "val"):
        write(base / split, "queries.json", [record(9, usage, id=f"q_{usage}") for usage in ("literal", "idiomatic")])
    problem = "2 queries have up to {0} relevant poems, which {1} would find in a perfect list, but lists hold {2}"

    def at(depth: int, *measures: str, **changes: Any) -> list[str]:
        return told_of(capsys, f"--depth={depth}", "--measures", *measures, **changes)

    assert at(5, "Rprec", "P@50", "nDCG@10") == []
    assert at(1, "MRR", "nDCG@10", "Success@1") == []
    assert told_of(capsys, "--measures", "Rprec") == []
    deep = [f"query set {name} [depth]: {problem.format(5, 'Rprec, MAP', 4)}" for name in ("sentence", "span")]
    assert at(4, "Rprec", "MAP", "MRR") == deep
    # The validation set is searched too, where a system is tuned on it.
    assert at(2, "r-precision")[-1] == f"query set val_span [depth]: {problem.format(3, 'r-precision', 2)}"
    # A set counts in the modes in which it is searched.
    few = with_mode("few", {"usage": ["literal"]})
    some = {"sentence": SETS["sentence"] | {"modes": ["few"]}}
    write(base / "test", "queries.json", [record(9, "literal", id="q_literal")])
    assert at(4, "Rprec", query_sets=some, **few) == [
        "query set sentence [depth]: 1 query has up to 5 relevant poems, which Rprec would find in a perfect list,"
        " but lists hold 4"
    ]
    keep = {"keep": {"few": {"usage": ["sense"]}}, "modes": MODES | {"few": ["verse"]}}
    assert at(4, "Rprec", query_sets=some, **keep)[0].startswith("test/queries.json:2 [relevant]")


def test_sets_that_are_judged_later_have_no_depth_yet(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    poems = [{"poem_id": f"p{n}", "verses": ["text"]} for n in range(4)]
    (base / "poems.jsonl").write_text("".join(json.dumps(poem) + "\n" for poem in poems), encoding="utf-8")
    row = {"query_id": "q", "text": "t", "relevant": {"p0": 1, "p1": 2, "p2": 0, "p3": 1}}
    (base / "queries.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    corpora = {"c": {"adapter": "jsonl", "path": "poems.jsonl"}}
    asked = {"corpora": ["c"], "path": "queries.jsonl"}
    depth = ("--depth=2", "--measures", "Rprec")
    told = told_of(capsys, *depth, corpora=corpora, query_sets={"s": asked})
    assert len(told) == 1 and "up to 3 relevant poems" in told[0]
    assert told_of(capsys, *depth, corpora=corpora, query_sets={"s": asked | {"judged": "later"}}) == []


def test_attributes_that_split_nothing_are_a_fault(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (base / "poems.jsonl").write_text(json.dumps({"poem_id": "p", "verses": ["text"]}) + "\n", encoding="utf-8")
    rows = [{"query_id": f"q{n}", "text": "t", "relevant": "p", "form": " ", "kind": "k" * n} for n in range(2)]
    (base / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    corpora = {"c": {"adapter": "jsonl", "path": "poems.jsonl"}}
    asked = {"corpora": ["c"], "path": "queries.jsonl", "attributes": ["form", "kind"]}
    told = [
        "  - queries.jsonl [form]: no query has a value, and the set 's' is split by it",
        "      hint: fill the column, or leave it out: query_sets.s.strata: [kind]",
    ]
    for strata in ({}, {"strata": ["form", "kind"]}):
        assert said(capsys, corpora=corpora, query_sets={"s": asked | strata})[1:3] == told
    for strata in ({"strata": []}, {"strata": ["kind"]}):
        assert told_of(capsys, corpora=corpora, query_sets={"s": asked | strata}) == []


def test_a_filter_takes_the_queries_that_have_its_values():
    def item(name, usage):
        return Item(name, "a b", "b", "b", "Sport", usage, name == "q1", "f", 1)

    items = [item("q1", "literal"), item("q2", "idiomatic"), item("q3", "literal")]
    assert [one.item_id for one in filtered(items, {"usage": "literal"})] == ["q1", "q3"]
    assert [one.item_id for one in filtered(items, {"usage": "literal", "quality": "gold"})] == ["q1"]
    assert filtered(items, {}) == items
    with pytest.raises(UserError, match="leaves no query") as caught:
        filtered(items, {"quality": "golden"})
    assert "gold" in caught.value.hint
