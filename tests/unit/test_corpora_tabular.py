"""Spreadsheets: a row a poem, or a row a verse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from verseir.corpora import jsonl, tabular
from verseir.corpora.model import PartlyRead

FIXTURES = Path(__file__).parents[1] / "fixtures" / "corpora"


def write(tmp_path: Path, text: str, name: str = "poems.csv") -> dict[str, Any]:
    (tmp_path / name).write_text(text, encoding="utf-8", newline="")
    return {"adapter": "csv", "path": name}


def faults_of(spec: dict[str, Any], base: Path) -> list[tuple[int, str, str]]:
    with pytest.raises(PartlyRead) as caught:
        tabular.read(spec, base)
    assert all(fault.hint for fault in caught.value.faults)
    return [(fault.line, fault.field, fault.problem) for fault in caught.value.faults]


@pytest.mark.parametrize("name", ["poems.csv", "verses.tsv"])
def test_both_layouts_hold_the_poems_of_the_jsonl_fixture(name: str) -> None:
    table = tabular.read({"path": name}, FIXTURES)
    lines = jsonl.read({"path": "poems.jsonl"}, FIXTURES)
    assert [(r.poem_id, r.verses, r.title, r.poet, r.era, r.meter, r.genre) for r in table] == [
        (r.poem_id, r.verses, r.title, r.poet, r.era, r.meter, r.genre) for r in lines
    ]


def test_explanations_in_a_column_of_verses() -> None:
    records = tabular.read({"path": "verses.tsv"}, FIXTURES)
    assert records[0].explanations == {"note": {0: "السحابة تنام والوادي يصحو", 2: "نار قليلة تكفي"}}
    assert records[1].explanations == {"note": {}}


def test_verses_by_index_in_any_order_of_rows(tmp_path: Path) -> None:
    spec = write(tmp_path, "poem_id,verse_index,verse\na,2,second\nb,1,other // half\na,1,first // half\n")
    records = tabular.read(spec, tmp_path)
    assert [(r.poem_id, r.verses) for r in records] == [
        ("a", [("first", "half"), ("second", None)]),
        ("b", [("other", "half")]),
    ]


def test_columns_and_separators(tmp_path: Path) -> None:
    spec = write(tmp_path, "No;Text\np1;a / b | c / d\n")
    spec |= {"columns": {"poem_id": "No", "verses": "Text"}, "verse_separator": "|", "hemistich_separator": "/"}
    assert tabular.read(spec, tmp_path)[0].verses == [("a", "b"), ("c", "d")]


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("poem_id,words\na,x\n", [(1, "verses", "has no column of verses")]),
        ("poem_id,verses,verse\na,x,y\n", [(1, "verses", "has the columns verses and verse")]),
        ("name,verse\na,x\n", [(1, "poem_id", "there is no such column, and a row is a verse")]),
        ("poem_id,verses\n", [(1, "", "has no rows below the header")]),
        ("poem_id,verses\n,x\na,x\n", [(2, "poem_id", "is empty")]),
        ("poem_id,poet,verse\na,x,v\na,,w\na,y,z\n", [(4, "poet", "is 'y', but 'x' on line 2 of the same poem")]),
        ("poem_id,verse_index,verse\na,1,v\na,3,w\n", [(3, "verse_index", "is 3, expected 2")]),
        ("poem_id,verse_index,verse\na,0,v\na,0,w\n", [(3, "verse_index", "is 0, expected 1")]),
        ("poem_id,verse_index,verse\na,one,v\n", [(2, "verse_index", "'one' is not a whole number")]),
        ("poem_id,verse_index,verse\na,2,v\n", [(2, "verse_index", "is 2, expected 1")]),
        (
            "poem_id,verse\na,x *** y\na,x *** y *** z\n",
            [(3, "verses", "verse 2 falls into 3 hemistichs, expected one or two")],
        ),
        (
            "\ufeffpoem_id,verse\r\na,x *** y\r\na,x *** y *** z\r\n",
            [(3, "verses", "verse 2 falls into 3 hemistichs, expected one or two")],
        ),
    ],
)
def test_faults(tmp_path: Path, text: str, faults: list[tuple[int, str, str]]) -> None:
    assert faults_of(write(tmp_path, text), tmp_path) == faults


def test_a_whole_poem_on_one_line_is_no_verse(tmp_path):
    (tmp_path / "p.csv").write_text("poem_id,verses\na,x *** y *** z *** w\nb,x *** y *** z\n", encoding="utf-8")
    with pytest.raises(PartlyRead) as caught:
        tabular.read({"path": "p.csv"}, tmp_path)
    assert "again and again in 2 of 2 lines" in str(caught.value)
    assert "verse_separator" in str(caught.value)


def test_named_columns_are_kept_as_attributes(tmp_path: Path) -> None:
    spec = write(tmp_path, "poem_id,verses,form,year\na,x,ode, 1990 \nb,y,,1991\n") | {"attributes": ["form", "year"]}
    attributes = [found.attributes for found in tabular.read(spec, tmp_path)]
    assert attributes == [{"form": "ode", "year": "1990"}, {"year": "1991"}]


def test_an_attribute_of_a_poem_is_the_same_on_all_its_rows(tmp_path: Path) -> None:
    text = "poem_id,verse,form\na,x,ode\na,y,\nb,z,\n"
    spec = write(tmp_path, text) | {"attributes": ["form"]}
    assert [found.attributes for found in tabular.read(spec, tmp_path)] == [{"form": "ode"}, {}]
    write(tmp_path, text + "a,w,elegy\n")
    assert faults_of(spec, tmp_path) == [(5, "form", "is 'elegy', but 'ode' on line 2 of the same poem")]


def test_a_column_that_is_not_there_is_no_attribute(tmp_path: Path) -> None:
    spec = write(tmp_path, "poem_id,verses,form\na,x,ode\n") | {"attributes": ["from"]}
    with pytest.raises(PartlyRead) as caught:
        tabular.read(spec, tmp_path)
    (fault,) = caught.value.faults
    assert (fault.field, fault.problem) == ("from", "no such column, though it is named as an attribute")
    assert fault.hint.startswith("did you mean 'form'?")
