"""The archive's own format, its three shapes, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from verseir.corpora import jsonl
from verseir.corpora.load import load_corpus
from verseir.corpora.model import PartlyRead
from verseir.faults import InputFaults

FIXTURES = Path(__file__).parents[1] / "fixtures" / "corpora"


def write(tmp_path: Path, *rows: Any) -> dict[str, Any]:
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    (tmp_path / "poems.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {"adapter": "jsonl", "path": "poems.jsonl"}


def faults_of(spec: dict[str, Any], base: Path) -> list[tuple[int, str, str]]:
    with pytest.raises(PartlyRead) as caught:
        jsonl.read(spec, base)
    assert all(fault.file == "poems.jsonl" and fault.hint for fault in caught.value.faults)
    return [(fault.line, fault.field, fault.problem) for fault in caught.value.faults]


def test_fixture() -> None:
    records = jsonl.read({"path": "poems.jsonl"}, FIXTURES)
    assert [(record.poem_id, record.line, len(record.verses)) for record in records] == [
        ("garden-1", 1, 3),
        ("garden-2", 2, 2),
        ("garden-3", 3, 2),
    ]
    assert records[0].verses[0] == ("نامت على كتف الجبال سحابة", "وصحا على صوت المطر الوادي")
    assert records[2].verses[0] == ("كتبت اسمها في رمال الطريق", None)
    assert records[0].meter == "كامل تام" and records[2].meter is None
    assert records[0].explanations == {"note": {0: "السحابة تنام والوادي يصحو", 2: "نار قليلة تكفي"}}


@pytest.mark.parametrize(
    "verses",
    [
        [["نام الليل", "وقام النهار"], ["سكت البحر", "وغنى الرمل"]],
        ["نام الليل *** وقام النهار", "سكت البحر***وغنى الرمل"],
        ["نام الليل // وقام النهار", "سكت البحر//وغنى الرمل"],
        ["نام الليل ... وقام النهار", "سكت البحر…وغنى الرمل"],
        ["نام الليل\tوقام النهار", "سكت البحر \t وغنى الرمل"],
        ["نام الليل   وقام النهار", "سكت البحر  وغنى الرمل"],
        "نام الليل *** وقام النهار\n\nسكت البحر *** وغنى الرمل\n* * *\n",
    ],
)
def test_shapes_and_marks_read_as_a_person_would(tmp_path: Path, verses: Any) -> None:
    records = jsonl.read(write(tmp_path, {"poem_id": "a", "verses": verses}), tmp_path)
    assert records[0].verses == [("نام الليل", "وقام النهار"), ("سكت البحر", "وغنى الرمل")]


def test_an_ellipsis_here_and_there_parts_nothing(tmp_path: Path) -> None:
    spec = write(tmp_path, {"poem_id": "a", "verses": ["one ... two", "three", "four", "five"]})
    assert jsonl.read(spec, tmp_path)[0].verses == [
        ("one ... two", None),
        ("three", None),
        ("four", None),
        ("five", None),
    ]


def test_stated_separators(tmp_path: Path) -> None:
    spec = write(tmp_path, {"poem_id": "a", "verses": "نام الليل = وقام النهار | سكت البحر"})
    records = jsonl.read(spec | {"verse_separator": "|", "hemistich_separator": "="}, tmp_path)
    assert records[0].verses == [("نام الليل", "وقام النهار"), ("سكت البحر", None)]


def test_columns_of_another_name(tmp_path: Path) -> None:
    spec = write(tmp_path, {"id": "a", "author": "p", "content": "first line\nsecond line", "language": "ENG"})
    columns = {"poem_id": "id", "poet": "author", "verses": "content"}
    record = jsonl.read(spec | {"columns": columns}, tmp_path)[0]
    assert (record.poem_id, record.poet, record.language) == ("a", "p", "ENG")
    assert record.verses == [("first line", None), ("second line", None)]


def test_a_lone_hemistich_stands_on_either_side(tmp_path: Path) -> None:
    spec = write(tmp_path, {"poem_id": "a", "verses": [["", "نام الليل"], ["سكت البحر", ""], ["وغنى", None]]})
    assert jsonl.read(spec, tmp_path)[0].verses == [("نام الليل", None), ("سكت البحر", None), ("وغنى", None)]


def test_all_faults_at_once(tmp_path: Path) -> None:
    spec = write(
        tmp_path,
        {"poem_id": "a", "verses": [["x", "y"]]},
        {"verses": [["x", "y"]]},
        {"poem_id": 7, "verses": [["x", "y"]]},
        {"poem_id": "b"},
        {"poem_id": "c", "verses": []},
        {"poem_id": "d", "verses": "x"},
        {"poem_id": "e", "verses": [["x", "y"], "z"]},
        {"poem_id": "f", "verses": [["x", "y", "z"], [1], []]},
        {"poem_id": "g", "verses": {"0": "x"}},
        {"poem_id": "h", "title": 5, "verses": [["x", "y"]]},
        {"poem_id": "i", "verses": [["x", "y"]], "explanations": {"ai": ["a", "b"], "me": "text"}},
        {"poem_id": "j", "verses": [["x", "y"]], "explanations": ["text"]},
    )
    assert faults_of(spec, tmp_path) == [
        (2, "poem_id", "is missing"),
        (3, "poem_id", "is a number, expected text"),
        (4, "verses", "is missing"),
        (5, "verses", "the poem has no verses"),
        (6, "verses", "mixed shapes: verses is one text, on line 1 it is a list of [first, second]"),
        (7, "verses", "mixed shapes in one poem: a list and text"),
        (8, "verses", "verse 1 has 3 hemistichs, expected one or two"),
        (8, "verses", "verse 2 holds a number, expected text"),
        (8, "verses", "verse 3 has 0 hemistichs, expected one or two"),
        (9, "verses", "is an object, expected a list of verses"),
        (10, "title", "is a number, expected text or null"),
        (11, "explanations.ai", "has 2 texts for 1 verses"),
        (11, "explanations.me", "expected a list of texts"),
        (12, "explanations", "is a list, expected an object"),
    ]


def test_what_could_be_read_comes_with_the_faults(tmp_path: Path) -> None:
    spec = write(tmp_path, {"poem_id": "a", "verses": [["x", "y"]]}, {"poem_id": "b", "verses": []})
    with pytest.raises(PartlyRead) as caught:
        jsonl.read(spec, tmp_path)
    assert [record.poem_id for record in caught.value.records] == ["a"]
    assert caught.value.known_ids == {"a", "b"}


def test_too_many_hemistichs(tmp_path: Path) -> None:
    spec = write(tmp_path, {"poem_id": "a", "verses": ["x *** y", "x *** y *** z"]})
    assert faults_of(spec, tmp_path) == [(1, "verses", "verse 2 falls into 3 hemistichs, expected one or two")]


def test_named_fields_are_kept_as_attributes(tmp_path: Path) -> None:
    rows = [
        {"poem_id": "a", "verses": ["x"], "form": " ode ", "year": 1990, "share": 0.5, "checked": True, "other": "o"},
        {"poem_id": "b", "verses": ["y"], "form": "", "year": None, "checked": False},
    ]
    spec = write(tmp_path, *rows) | {"attributes": ["form", "year", "share", "checked"]}
    assert [found.attributes for found in jsonl.read(spec, tmp_path)] == [
        {"form": "ode", "year": "1990", "share": "0.5", "checked": "true"},
        {"checked": "false"},
    ]
    corpus = load_corpus("c", spec, tmp_path)
    assert corpus.attributes.filter(poem_id="b").rows() == [("b", "checked", "false")]


def test_faults_of_attributes(tmp_path: Path) -> None:
    spec = write(tmp_path, {"poem_id": "a", "verses": ["x"], "form": ["ode"], "year": {}})
    assert faults_of(spec | {"attributes": ["form", "forms", "year"]}, tmp_path) == [
        (0, "forms", "no such column, though it is named as an attribute"),
        (1, "form", "is a list, expected one value"),
        (1, "year", "is an object, expected one value"),
    ]
    with pytest.raises(PartlyRead) as caught:
        jsonl.read(spec | {"attributes": ["forms"]}, tmp_path)
    assert "did you mean 'form'?" in caught.value.faults[0].hint
    spec = write(tmp_path, {"poem_id": "a", "verses": ["x"], "form": "o\x00de"}) | {"attributes": ["form"]}
    with pytest.raises(InputFaults, match=r"\[form\]: holds the character U\+0000"):
        load_corpus("c", spec, tmp_path)


@pytest.mark.parametrize("char", ["\t", "\x85", "\u2028", "\u2029"])
@pytest.mark.parametrize("adapter", ["jsonl", "csv"])
def test_an_attribute_is_one_line(tmp_path: Path, char: str, adapter: str) -> None:
    spec = write(tmp_path, {"poem_id": "a", "verses": ["x"], "form": f"o{char}de"})
    if adapter == "csv":
        (tmp_path / "verses.csv").write_text(f"poem_id,first,form\na,x,o{char}de\n", encoding="utf-8")
        spec = {"adapter": "csv", "path": "verses.csv"}
    with pytest.raises(InputFaults, match=rf"\[form\]: holds the character U\+{ord(char):04X}"):
        load_corpus("c", spec | {"attributes": ["form"]}, tmp_path)
    assert len(load_corpus("c", spec, tmp_path).poems) == 1


def test_adapters_without_columns_have_no_attributes_to_name(tmp_path: Path) -> None:
    spec = write(tmp_path, {"id": "a", "content": "1\n\nx\n\ny"}) | {"adapter": "fannorflop", "attributes": ["form"]}
    with pytest.raises(InputFaults, match="the adapter fannorflop reads no columns"):
        load_corpus("c", spec, tmp_path)
