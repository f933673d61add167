"""A corpus from its spec: everything checked, names canonical, explanations joined, sample drawn."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from verseir.corpora.load import ADAPTERS, load_corpus
from verseir.faults import Fault, InputFaults, UserError
from verseir.tables import EXPLANATIONS, POEMS, check_table

FIXTURES = Path(__file__).parents[1] / "fixtures" / "corpora"
GARDEN: dict[str, Any] = {"adapter": "jsonl", "path": "poems.jsonl", "language": "ar"}


def write(tmp_path: Path, name: str, *rows: Any) -> None:
    lines = [json.dumps(row) for row in rows]  # in ASCII: some rows hold what UTF-8 cannot
    (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def faults_of(spec: dict[str, Any], base: Path) -> list[Fault]:
    with pytest.raises(InputFaults) as caught:
        load_corpus("garden", spec, base)
    return caught.value.faults


def poem(poem_id: str, *verses: Any, **fields: Any) -> dict[str, Any]:
    return {"poem_id": poem_id, "verses": list(verses) or [["نام الليل", "وقام النهار"]], **fields}


def test_frames_keep_the_contract() -> None:
    corpus = load_corpus("garden", GARDEN, FIXTURES)
    check_table(corpus.poems, POEMS, "poems")
    check_table(corpus.explanations, EXPLANATIONS, "explanations")
    assert corpus.name == "garden"
    assert corpus.poems["poem_id"].to_list() == ["garden-1", "garden-2", "garden-3"]
    assert corpus.poems["language"].to_list() == ["ar"] * 3
    assert corpus.poems["verses"][2].to_list()[0] == {"first": "كتبت اسمها في رمال الطريق", "second": None}
    assert corpus.explanations.rows() == [
        ("garden-1", 0, "note", "السحابة تنام والوادي يصحو"),
        ("garden-1", 2, "note", "نار قليلة تكفي"),
    ]


def test_meters_and_eras_are_canonical() -> None:
    poems = load_corpus("garden", GARDEN, FIXTURES).poems
    assert poems["meter"][0] == poems["meter"][1]  # two spellings in the file
    assert poems["era_order"][1] < poems["era_order"][0]  # Umayyad before Abbasid
    assert poems["era"][2] is None and poems["era_order"][2] is None


@pytest.mark.parametrize("spec", [{"adapter": "csv", "path": "poems.csv"}, {"adapter": "csv", "path": "verses.tsv"}])
def test_adapters_agree(spec: dict[str, Any]) -> None:
    expected = load_corpus("a", GARDEN, FIXTURES).poems.drop("source")
    assert load_corpus("b", spec | {"language": "ar"}, FIXTURES).poems.drop("source").equals(expected)


def test_result_does_not_depend_on_the_order_of_the_file(tmp_path: Path) -> None:
    lines = (FIXTURES / "poems.jsonl").read_text(encoding="utf-8").splitlines()
    (tmp_path / "poems.jsonl").write_text("\n".join(lines[::-1]) + "\n", encoding="utf-8")
    straight, turned = load_corpus("garden", GARDEN, FIXTURES), load_corpus("garden", GARDEN, tmp_path)
    assert turned.poems.equals(straight.poems) and turned.explanations.equals(straight.explanations)


def test_explanations_from_a_file() -> None:
    corpus = load_corpus("garden", GARDEN | {"explanations": {"old": "commentary.jsonl"}}, FIXTURES)
    assert corpus.explanations.filter(pl.col("source") == "old").rows() == [
        ("garden-2", 0, "old", "يسأل الشاعر الطائر عن وطنه\nوالريح هنا خبر"),
        ("garden-3", 1, "old", "السيل هو الزمن"),
    ]
    assert corpus.warnings == ("commentary.jsonl: 1 verses have several explanations each; they were joined",)


def test_explanations_from_a_table_and_under_the_other_name(tmp_path: Path) -> None:
    shutil.copy(FIXTURES / "poems.jsonl", tmp_path)
    (tmp_path / "e.csv").write_text("poem_id,verse_index,explanation\ngarden-3,0,text\n", encoding="utf-8")
    corpus = load_corpus("garden", GARDEN | {"explanations": {"ai": "e.csv"}}, tmp_path)
    assert ("garden-3", 0, "ai", "text") in corpus.explanations.rows()


def test_sample_takes_poems_and_their_explanations() -> None:
    corpus = load_corpus("garden", GARDEN | {"sample": {"max_verses": 2}}, FIXTURES)
    assert corpus.poems["poem_id"].to_list() == ["garden-2", "garden-3"]
    assert corpus.explanations.is_empty()
    faults = faults_of(GARDEN | {"sample": {"n": 9}}, FIXTURES)
    assert faults[0].field == "sample" and "only 3 of 3" in faults[0].problem


def test_all_faults_of_poems_and_explanations_at_once(tmp_path: Path) -> None:
    write(
        tmp_path,
        "poems.jsonl",
        poem("a"),
        poem("a"),
        poem("b c"),
        poem("d", ["", ""], ["،", None], ["x", "y"]),
        poem("e", ["a\u0000b", "c"]),
        poem("f", ["a\nb", "c"]),
        poem("g", ["a\ud800", "c"]),
        poem("h", title="a\nb"),
        poem("i", ["a\u0085b", "c\td"]),
        {"poem_id": "j", "verses": []},
    )
    write(
        tmp_path,
        "ai.jsonl",
        {"poem_id": "a", "verse_index": 1, "text": "x"},
        {"poem_id": "z", "verse_index": 0, "text": "x"},
        {"poem_id": "a", "verse_index": -1, "text": ""},
        {"poem_id": "a", "verse_index": True, "text": 3},
        {"poem_id": "j", "verse_index": 0, "text": "of a poem that could not be read"},
        {},
        {"poem_id": "a", "verse_index": "1" * 5000, "text": "x"},
    )
    faults = faults_of(GARDEN | {"explanations": {"ai": "ai.jsonl", "me": "none.jsonl"}}, tmp_path)
    assert [(fault.file, fault.line, fault.field, fault.problem) for fault in faults] == [
        ("ai.jsonl", 1, "verse_index", "is 1, but poem 'a' has 1 verses"),
        ("ai.jsonl", 2, "poem_id", "no poem of the corpus is called 'z'"),
        ("ai.jsonl", 3, "text", "is empty, expected the text of an explanation"),
        ("ai.jsonl", 3, "verse_index", "is -1, expected a whole number from 0"),
        ("ai.jsonl", 4, "text", "is a number, expected the text of an explanation"),
        ("ai.jsonl", 4, "verse_index", "is True, expected a whole number from 0"),
        ("ai.jsonl", 6, "poem_id", "is missing, expected the id of a poem"),
        ("ai.jsonl", 6, "text", "is missing, expected the text of an explanation"),
        ("ai.jsonl", 6, "verse_index", "is missing, expected a whole number from 0"),
        ("ai.jsonl", 7, "verse_index", f"is '{'1' * 56}..., expected a whole number from 0"),
        ("none.jsonl", 0, "", "there is no such file"),
        ("poems.jsonl", 2, "poem_id", "duplicate id 'a', first on line 1"),
        ("poems.jsonl", 3, "poem_id", "'b c' holds a blank"),
        ("poems.jsonl", 4, "verses", "verse 1 is empty"),
        ("poems.jsonl", 4, "verses", "verse 2 is empty"),
        ("poems.jsonl", 5, "verses", "holds the character U+0000"),
        ("poems.jsonl", 6, "verses", "holds the character U+000A"),
        ("poems.jsonl", 7, "", r"holds half a character (an escape \uD800 to \uDFFF alone)"),
        ("poems.jsonl", 8, "title", "holds the character U+000A"),
        ("poems.jsonl", 10, "verses", "the poem has no verses"),
    ]
    assert all(fault.hint for fault in faults)


def test_an_id_can_be_seen_and_is_short(tmp_path: Path) -> None:
    ids = ["\u200f", "\u200b\u2800", "x" * 1001, "x" * 1000, "\u200fa", "٣", "-"]
    write(tmp_path, "poems.jsonl", *({"poem_id": name, "verses": [["x"]]} for name in ids))
    found = {fault.line: fault.problem for fault in faults_of({"adapter": "jsonl", "path": "poems.jsonl"}, tmp_path)}
    assert found == {
        1: "holds invisible characters only: U+200F",
        2: "holds invisible characters only: U+200B, U+2800",
        3: f"'{'x' * 57}...' has 1,001 characters, expected at most 1,000",
    }


def test_a_file_that_repeats_the_explanations_of_the_corpus(tmp_path: Path) -> None:
    shutil.copy(FIXTURES / "poems.jsonl", tmp_path)
    write(tmp_path, "note.jsonl", {"poem_id": "garden-1", "verse_index": 0, "text": "x"})
    faults = faults_of(GARDEN | {"explanations": {"note": "note.jsonl"}}, tmp_path)
    assert "the corpus itself has an explanation 'note'" in faults[0].problem


def test_an_empty_file_is_no_corpus(tmp_path: Path) -> None:
    write(tmp_path, "poems.jsonl")
    assert faults_of(GARDEN, tmp_path)[0].problem == "holds no poems"


def test_an_absent_file_is_one_fault(tmp_path: Path) -> None:
    faults = faults_of(GARDEN, tmp_path)
    assert [fault.problem for fault in faults] == ["there is no such file"]


def test_unknown_adapter() -> None:
    assert sorted(ADAPTERS) == ["anthology", "beir", "csv", "fannorflop", "idiolink", "jsonl", "openiti", "poetrymteb"]
    with pytest.raises(UserError, match="did you mean 'jsonl'"):
        load_corpus("garden", {"adapter": "json", "path": "poems.jsonl"}, FIXTURES)
