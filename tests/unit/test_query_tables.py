"""Queries in tables: sheets that people fill in, with ids, grades and rows that wait."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest

from verseir.queries.load import PartlyLoaded, cross_check, load_query_set
from verseir.queries.sheet import graded_ids


def load(tmp_path: Path, text: str, **spec):
    (tmp_path / "q.csv").write_text(text, encoding="utf-8-sig", newline="")
    return load_query_set("q", {"path": "q.csv"} | spec, tmp_path)


def refused(tmp_path: Path, text: str, **spec) -> list[tuple[int, str, str]]:
    with pytest.raises(PartlyLoaded) as caught:
        load(tmp_path, text, **spec)
    assert all(fault.hint for fault in caught.value.faults)
    return [(fault.line, fault.field, fault.problem) for fault in caught.value.faults]


@pytest.mark.parametrize(
    ("cell", "pairs"),
    [
        ("poem-17", [("poem-17", 1)]),
        ("poem-17:2; poem-3", [("poem-17", 2), ("poem-3", 1)]),
        ("a\nb:3\n", [("a", 1), ("b", 3)]),
        ("a b", [("a", 1), ("b", 1)]),
        ("a, b، c؛ d,", [("a", 1), ("b", 1), ("c", 1), ("d", 1)]),
        ("a,b", [("a,b", 1)]),
        ("17:02", [("17", 2)]),
        ("urn:x", [("urn:x", 1)]),
        ("", []),
    ],
)
def test_ids_and_grades_of_a_cell(cell, pairs):
    assert graded_ids(cell) == pairs


def test_a_sheet_that_is_filled_in_by_half(tmp_path):
    text = (
        "query_id;register;text;relevant;poem_id;title;poet;poem\r\n"
        ';quoting;قفا نبك;p1;p1;t;;"a\r\nb"\r\n'
        ";abstract; ;p2;p2;;;c\r\n"
        ";Half remembered;لا تنس;p2:2;p2;;;c\r\n"
    )
    loaded = load(tmp_path, text)
    assert loaded.queries.select("query_id", "register", "text").rows() == [
        ("q1", "quoting", "قفا نبك"),
        ("q3", "half-remembered", "لا تنس"),
    ]
    assert loaded.qrels.rows() == [("q1", "p1", 1), ("q3", "p2", 2)]
    assert loaded.notes == (
        "q.csv: queries have no ids: they are called q1, q2, ... from the top",
        "q.csv: 1 row of 3 without a text passed over",
    )
    assert [place for _, place in sorted(loaded.places.items())] == [("q.csv", 2), ("q.csv", 5)]


def test_arabic_headers_and_attributes(tmp_path):
    loaded = load(tmp_path, "رقم,السؤال,إجابة,المدينة\n1,x,p1,حلب\n2,y,p2,\n", attributes=["المدينة"])
    assert loaded.queries["query_id"].to_list() == ["1", "2"]
    assert loaded.attributes.rows() == [("1", "المدينة", "حلب")]
    assert "text is 'السؤال'" in loaded.notes[0]


def test_faults_have_the_line_of_their_row(tmp_path):
    text = "query_id,text,relevant,register\na,x,p:1001,\n,y,p,\nc,z,p,quoted\n"
    assert refused(tmp_path, text) == [
        (2, "relevant", "the grade of poem 'p' is 1001"),
        (3, "query_id", "is empty, expected an id"),
        (4, "register", "'quoted' is not a register"),
    ]
    assert refused(tmp_path, "text\nx\n") == [(1, "relevant", "there is no such column")]
    assert refused(tmp_path, "query_id,relevant\na,p\n") == [(1, "text", "there is no such column")]
    assert refused(tmp_path, "text,relevant\n,p\n ,p\n") == [
        (1, "text", "is blank in all of 2 rows: there are no queries yet")
    ]


def test_a_query_without_an_answer_is_a_fault_of_its_row_unless_it_is_judged_later(tmp_path):
    text = 'text,relevant\n"x\ny",p\nz,\n'
    loaded = load(tmp_path, text)
    (fault,) = cross_check(loaded, {"c": {"p"}})
    assert (fault.line, fault.field, fault.problem) == (4, "relevant", "query 'q2' has no relevant poem")
    assert cross_check(load(tmp_path, text, judged="later"), {"c": {"p"}}) == []
    assert cross_check(load(tmp_path, "text\nx\n", judged="later"), {"c": {"p"}}) == []


def test_an_id_that_ends_like_a_grade_is_told_as_such(tmp_path):
    (fault,) = cross_check(load(tmp_path, "text,relevant\nx,diwan:17\n"), {"c": {"diwan:17"}})[:1]
    assert "'diwan:17:1'" in fault.hint


def test_a_workbook_of_queries_and_of_judgements(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["text", "relevant"])
    book.active.append(["x", 17])
    page = book.create_sheet("later")
    page.append(["text"])
    page.append(["y"])
    book.save(tmp_path / "q.xlsx")
    assert load_query_set("q", {"path": "q.xlsx"}, tmp_path).qrels.rows() == [("q1", "17", 1)]
    judged = openpyxl.Workbook()
    judged.active.append(["query_id", "poem_id", "grade"])
    judged.active.append(["q1", 17, 2])
    judged.save(tmp_path / "qrels.xlsx")
    spec = {"path": "q.xlsx", "sheet": "later", "qrels": "qrels.xlsx"}
    assert load_query_set("q", spec, tmp_path).qrels.rows() == [("q1", "17", 2)]
