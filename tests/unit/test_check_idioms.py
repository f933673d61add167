"""The check before the first job: idiom benchmarks, and modes that index some poems only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from verseir.__main__ import main

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


def told_of(capsys: pytest.CaptureFixture[str], **changes: Any) -> list[str]:
    """The faults, without their hints."""
    spec = {"corpora": CORPORA, "query_sets": SETS, "modes": MODES, "keep": {}} | changes
    options = [f"--{name.replace('_', '-')}={json.dumps(given)}" for name, given in spec.items()]
    code = main(["check_inputs", *options, "--output=inputs.json"])
    told = capsys.readouterr()
    assert (code == 0) == (not told.err), told.err
    return [line.removeprefix("  - ") for line in told.err.split("\n") if line.startswith("  - ")]


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
    assert told_of(capsys) == [
        "corpus test [sample]: none of the 2 queries that come with test has a relevant document in it"
    ]


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
