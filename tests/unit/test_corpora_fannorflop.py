"""Records in the shape of the FannOrFlop data set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from verseir.corpora import fannorflop
from verseir.corpora.model import PartlyRead

FIXTURES = Path(__file__).parents[1] / "fixtures" / "corpora"


def record(**changes: Any) -> dict[str, Any]:
    content = "1\n\nنام الليل\n\nوقام النهار\n\n2\n\nسكت البحر\n\nوغنى الرمل"
    explained = [
        {"verse": "نامَ الليلُ\nوقامَ النهارُ", "explanation": "عن الليل"},
        {"verse": "سكت البحر وغنى الرمل", "explanation": "عن البحر"},
    ]
    base = {"id": "poem_1", "title": "t", "author": "p", "verse_count": 2, "content": content}
    return base | {"verse_explanations": explained} | changes


def read(tmp_path: Path, *records: Any, **spec: Any) -> list[fannorflop.Record]:
    (tmp_path / "fof.json").write_text(json.dumps(records, ensure_ascii=False, indent=1), encoding="utf-8")
    return fannorflop.read({"path": "fof.json", **spec}, tmp_path)


def test_fixture() -> None:
    records = fannorflop.read({"path": "fannorflop.json"}, FIXTURES)
    assert [(r.poem_id, r.poet, r.era, len(r.verses)) for r in records] == [
        ("poem_1", "شاعر أول", "العصر العباسي", 3),
        ("poem_2", "شاعر أول", "العصر العباسي", 2),
    ]
    lines = (FIXTURES / "fannorflop.json").read_text(encoding="utf-8").split("\n")
    assert all(lines[r.line - 1] == "  {" and f'"{r.poem_id}"' in lines[r.line] for r in records)
    assert records[0].verses[0] == ("نامَت عَلى كَتِفِ الجِبالِ سَحابَةٌ", "وَصَحا عَلى صَوتِ المَطَرِ الوادي")
    assert records[0].explanations == {"fof": {0: "نوم السحابة", 1: "مشي الرعاة", 2: "دفء النار"}}
    assert records[1].explanations == {"fof": {0: "سؤال الطائر", 1: "جواب الموج"}}


def test_explanations_go_to_the_verse_that_they_quote(tmp_path: Path) -> None:
    given = record()["verse_explanations"]
    assert read(tmp_path, record(verse_explanations=given[::-1]))[0].explanations == {
        "fof": {0: "عن الليل", 1: "عن البحر"}
    }
    assert read(tmp_path, record(verse_explanations=given[1:]))[0].explanations == {"fof": {1: "عن البحر"}}
    assert read(tmp_path, record(verse_explanations=None))[0].explanations == {}


def test_an_explanation_that_misquotes_goes_by_its_place(tmp_path: Path) -> None:
    given = [record()["verse_explanations"][0], {"verse": "سكت الموج", "explanation": "عن البحر"}]
    assert read(tmp_path, record(verse_explanations=given))[0].explanations == {"fof": {0: "عن الليل", 1: "عن البحر"}}


@pytest.mark.parametrize(
    ("changes", "field", "problem"),
    [
        ({"content": "1\n\na\n\nb\n\n2\n\nc"}, "content", "verse 2 has 1 hemistichs, expected 2"),
        ({"content": "1\n\na\n\nb\n\n2\n\nc\n\nd\n\ne"}, "content", "verse 2 has 3 hemistichs, expected 2"),
        ({"content": "1\n\na\n\nb\n\n3\n\nc\n\nd"}, "content", "verse number 3 follows 1"),
        ({"content": "a\n\nb"}, "content", "does not begin with the number of a verse"),
        ({"content": None}, "content", "is null, expected text"),
        ({"verse_count": 3}, "verse_count", "is 3, but the content has 2 verses"),
        ({"verse_explanations": [{"verse": "x"}]}, "verse_explanations", "expected a list of objects"),
        ({"verse_explanations": [{"verse": "غريب", "explanation": "e"}]}, "verse_explanations",
         "explanation 1 quotes no verse of the poem"),
        ({"id": None}, "poem_id", "is null, expected text"),
        ({"title": 3}, "title", "is a number, expected text or null"),
    ],
)  # fmt: skip
def test_faulty_records(tmp_path: Path, changes: dict[str, Any], field: str, problem: str) -> None:
    good = record(id="poem_2")
    with pytest.raises(PartlyRead) as caught:
        read(tmp_path, good, record(**changes))
    faults = [fault for fault in caught.value.faults if fault.field == field and fault.problem.startswith(problem)]
    assert len(faults) == 1
    assert faults[0].line > 2 and faults[0].hint
    assert [r.poem_id for r in caught.value.records] == ["poem_2"]


def test_exclude_leaves_a_faulty_record_out(tmp_path: Path) -> None:
    faulty = record(id="poem_9", content="1\n\na")
    assert [r.poem_id for r in read(tmp_path, record(), faulty, exclude=["poem_9"])] == ["poem_1"]


@pytest.mark.parametrize(
    ("text", "line"), [("{}", 1), ('[\n{"id": 1},\n{"id" 2}\n]', 3), ('[\n"text"\n]', 2), ("not json", 1)]
)
def test_files_that_are_no_array_of_records(tmp_path: Path, text: str, line: int) -> None:
    (tmp_path / "fof.json").write_text(text, encoding="utf-8")
    with pytest.raises(PartlyRead) as caught:
        fannorflop.read({"path": "fof.json"}, tmp_path)
    assert line in [fault.line for fault in caught.value.faults]


def test_json_lines_and_parquet_hold_the_same_records(tmp_path: Path) -> None:
    expected = fannorflop.read({"path": "fannorflop.json"}, FIXTURES)
    rows = json.loads((FIXTURES / "fannorflop.json").read_text(encoding="utf-8"))
    pl.DataFrame(rows).write_parquet(tmp_path / "fof.parquet")
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (tmp_path / "fof.jsonl").write_text(lines, encoding="utf-8")
    for name in ("fof.parquet", "fof.jsonl"):
        found = fannorflop.read({"path": name}, tmp_path)
        assert [(r.poem_id, r.verses, r.explanations) for r in found] == [
            (r.poem_id, r.verses, r.explanations) for r in expected
        ]
        assert [r.line for r in found] == [1, 2]


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda text: text.rstrip()[:-1], "cut off"),
        (lambda text: text + "[]", "follows the end"),
        (lambda text: text.replace("},\n {", "}\n {"), "expected a comma"),
    ],
)
def test_an_array_that_is_not_whole_is_refused(tmp_path: Path, spoil: Any, told: str) -> None:
    text = json.dumps([record(), record(id="poem_2")], ensure_ascii=False, indent=1)
    (tmp_path / "fof.json").write_text(spoil(text), encoding="utf-8")
    with pytest.raises(PartlyRead) as caught:
        fannorflop.read({"path": "fof.json"}, tmp_path)
    assert told in str(caught.value)
