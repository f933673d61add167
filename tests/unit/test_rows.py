"""What all readers share: numbers, cells that a spreadsheet would run, values in messages."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verseir.judging.sheets import csv_text
from verseir.rows import Row, as_found, escaped, json_type, read_json_lines, starts_formula, unescaped, whole_number

DIGITS = "1" * 6000


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (4, 4),
        (4.0, 4),
        (" 4 ", 4),
        ("4.0", 4),
        ("4.", 4),
        ("-1", -1),
        ("'2", 2),
        ("٢", 2),
        (10**14, 10**14),
        (1e3, 1000),
    ],
)
def test_whole_numbers_are_read_as_programs_write_them(value, number):
    assert whole_number(value) == number


@pytest.mark.parametrize(
    "value",
    [None, True, 0.5, "", "'", "1e3", "0x1", "1_0", [], {}, 10**400, float("inf"), float("nan"), DIGITS, DIGITS + ".0"],
)
def test_what_is_no_number_to_work_with_is_none(value):
    assert whole_number(value) is None


@given(st.integers(-(10**14), 10**14))
def test_a_whole_number_is_the_same_as_json_and_as_a_cell(number):
    assert whole_number(number) == whole_number(str(number)) == whole_number(f" {number}.00") == number


@pytest.mark.parametrize("number", [DIGITS, "-" + "9" * 301, "1e400", "-" + DIGITS + ".5"])
def test_a_number_of_json_without_end_is_a_fault_of_its_line(tmp_path, number):
    (tmp_path / "a.jsonl").write_text(f'{{"a": 1}}\n{{"a": {number}}}\n', encoding="utf-8")
    faults = []
    assert [row.values for row in read_json_lines(tmp_path / "a.jsonl", "a.jsonl", faults)] == [{"a": 1}]
    assert [(fault.file, fault.line) for fault in faults] == [("a.jsonl", 2)]
    assert len(str(faults[0])) < 250


def test_a_number_is_told_as_it_is_written(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"a": 1e3, "b": 2.50E-1}\n', encoding="utf-8")
    (row,) = read_json_lines(tmp_path / "a.jsonl", "a.jsonl", [])
    assert [as_found(value) for value in row.values.values()] == ["is 1e3", "is 2.50E-1"]
    assert row.values["a"] == 1000.0 and json_type(row.values["a"]) == "a number"
    assert [as_found(value) for value in (None, " ", "x" * 99, [1], True)] == [
        "is missing",
        "is empty",
        f"is '{'x' * 57}...'",
        "is a list",
        "is true or false",
    ]


@given(st.text(st.sampled_from("'=+-@\ta1"), max_size=6))
def test_a_cell_comes_back_as_it_was_and_is_never_run(text):
    assert not starts_formula(escaped(text))
    table = csv_text(("id", "other"), [(text, text)])
    cells = list(csv.reader(io.StringIO(table, newline="")))[1]
    (row,) = unescaped([Row(2, dict(zip(("id", "other"), cells, strict=True)))], ["id"])
    assert row.values["id"] == text and row.values["other"] == cells[1]
