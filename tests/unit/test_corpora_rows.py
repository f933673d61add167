"""Strict reading: every fault of a file is found in one pass, with its line and a hint."""

from __future__ import annotations

from pathlib import Path

import pytest

from verseir.faults import Fault
from verseir.rows import Row, read_delimited, read_json_lines, read_utf8, rename


def write(tmp_path: Path, data: bytes, name: str = "in.jsonl") -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


def test_json_lines_keep_line_numbers_and_odd_line_ends_inside_texts(tmp_path: Path) -> None:
    data = '{"a": "x\u0085y\u2028z"}\n\n{"a": 2}\n'.encode()
    faults: list[Fault] = []
    assert read_json_lines(write(tmp_path, data), "in", faults) == [Row(1, {"a": "x\u0085y\u2028z"}), Row(3, {"a": 2})]
    assert faults == []


def test_all_faults_of_a_file_are_found_at_once(tmp_path: Path) -> None:
    data = b'\xef\xbb\xbf{"a": 1}\r\n{"a": "\xc7\xe1"}\r\n[1]\r\n{"a": NaN}\r\n{"a" 5}\r\n{"a": 6}\r\n'
    faults: list[Fault] = []
    rows = read_json_lines(write(tmp_path, data), "in.jsonl", faults)
    assert [row.values for row in rows] == [{"a": 1}, {"a": 6}]
    found = [(fault.line, fault.problem) for fault in faults]
    assert found[0] == (1, "begins with a byte order mark (BOM)")
    assert found[1] == (1, "has CR or CRLF line ends (6 of them); expected LF")
    assert found[2] == (2, "invalid UTF-8: byte 0xc7 at column 8")
    assert found[3] == (3, "is a list, expected an object")
    assert found[4][0] == 4 and "NaN" in found[4][1]
    assert found[5][0] == 5 and found[5][1].startswith("is not valid JSON")
    assert all(fault.hint for fault in faults)
    assert "in.jsonl" in faults[0].hint and "repair_text" in faults[1].hint


@pytest.mark.parametrize("data", [b"\xff\xfea\x00", b"\xfe\xff\x00a"])
def test_utf_16_is_named_as_such(tmp_path: Path, data: bytes) -> None:
    faults: list[Fault] = []
    assert read_utf8(write(tmp_path, data), "in", faults) == ""
    assert faults[0].problem == "is UTF-16, not UTF-8"


def test_a_file_in_another_encoding_is_not_reported_line_by_line(tmp_path: Path) -> None:
    lines = "poem_id,verse\n" + "a,نام الليل\n" * 300
    faults: list[Fault] = []
    assert read_delimited(write(tmp_path, lines.encode("cp1256"), "in.csv"), "in.csv", faults) == []
    assert [fault.problem for fault in faults] == ["invalid UTF-8 on 300 lines: it is in another encoding"]
    assert "repair_text --encoding cp1256 in.csv" in faults[0].hint


def test_a_workbook_is_named_as_such(tmp_path: Path) -> None:
    faults: list[Fault] = []
    assert read_json_lines(write(tmp_path, b"PK\x03\x04\xff\xfe\r\n"), "in.jsonl", faults) == []
    assert [fault.problem for fault in faults] == ["is a workbook or an archive, not text"]


def test_absent_file_and_folder(tmp_path: Path) -> None:
    faults: list[Fault] = []
    read_utf8(tmp_path / "none.jsonl", "none.jsonl", faults)
    read_utf8(tmp_path, "folder", faults)
    assert faults[0].problem == "there is no such file" and str(tmp_path) in faults[0].hint
    assert faults[1].problem.startswith("cannot be read")


@pytest.mark.parametrize(("name", "mark"), [("in.csv", ","), ("in.csv", ";"), ("in.tsv", "\t")])
def test_delimited(tmp_path: Path, name: str, mark: str) -> None:
    text = f'id{mark}text\n1{mark}"two\nlines"\n{mark}\n2{mark}one\n'
    faults: list[Fault] = []
    rows = read_delimited(write(tmp_path, text.encode(), name), name, faults)
    assert rows == [Row(2, {"id": "1", "text": "two\nlines"}), Row(5, {"id": "2", "text": "one"})]
    assert faults == []


def test_delimited_faults(tmp_path: Path) -> None:
    faults: list[Fault] = []
    rows = read_delimited(write(tmp_path, b'a,a,\n1,2,3\n1,2\n1,2,3,4\n"x\n', "in.csv"), "in.csv", faults)
    assert len(rows) == 1
    assert sorted((fault.line, fault.field) for fault in faults) == [(1, ""), (1, "a"), (3, ""), (4, ""), (5, "")]
    assert [fault.problem for fault in faults if fault.line == 3] == ["has 2 cells, the header has 3"]
    empty: list[Fault] = []
    assert read_delimited(write(tmp_path, b"", "empty.csv"), "empty.csv", empty) == []
    assert empty[0].problem == "is empty"


def test_rename_maps_our_names_to_the_columns_of_the_file() -> None:
    rows = [Row(1, {"id": "a", "title": "t", "other": 1})]
    faults: list[Fault] = []
    assert rename(rows, {"poem_id": "id", "poet": "title"}, "in", faults) == [
        Row(1, {"other": 1, "poem_id": "a", "poet": "t"})
    ]
    assert rename(rows, {"title": "id", "id": "title"}, "in", faults)[0].values == {"other": 1, "title": "a", "id": "t"}
    assert faults == []
    rename(rows, {"poem_id": "idd"}, "in", faults)
    assert "did you mean 'id'" in faults[0].hint


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (rb'{"a": 1, "a": 2}', "'a' stands twice"),
        (rb'{"a": "\ud800"}', "half a character"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not valid JSON"),
    ],
)
def test_rows_that_python_would_stumble_over(tmp_path: Path, line: bytes, told: str) -> None:
    faults: list[Fault] = []
    assert read_json_lines(write(tmp_path, b'{"a": "\\ud83d\\ude00"}\n' + line + b"\n"), "in.jsonl", faults) != []
    assert [fault.line for fault in faults] == [2]
    assert told in faults[0].problem
