"""Query sets: rows, judgements, and what only the corpora can show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from verseir.__main__ import main
from verseir.faults import InputFaults, UserError
from verseir.queries import REGISTERS, cross_check, load_query_set
from verseir.queries.load import PartlyLoaded
from verseir.tables import QRELS, QUERIES, QUERY_ATTRIBUTES, check_table, read_table

FIXTURES = Path(__file__).parents[1] / "fixtures" / "corpora"


def write(tmp_path: Path, *rows: Any, name: str = "queries.jsonl") -> dict[str, Any]:
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {"path": name}


def faults_of(spec: dict[str, Any], base: Path) -> list[tuple[str, int, str, str]]:
    with pytest.raises(InputFaults) as caught:
        load_query_set("set", spec, base)
    assert all(fault.hint for fault in caught.value.faults)
    return [(fault.file, fault.line, fault.field, fault.problem) for fault in caught.value.faults]


def test_fixture_keeps_the_contract() -> None:
    loaded = load_query_set("set", {"path": "queries.jsonl", "purpose": "known-item"}, FIXTURES)
    check_table(loaded.queries, QUERIES, "queries")
    check_table(loaded.qrels, QRELS, "qrels")
    assert loaded.queries["register"].to_list() == ["quoting", "half-remembered", "thematic"]
    assert loaded.queries["query_set"].unique().to_list() == ["set"]
    assert loaded.queries["span"].to_list() == ["كتف الجبال", None, None]
    assert loaded.qrels.rows() == [
        ("q1", "garden-1", 1),
        ("q2", "garden-2", 1),
        ("q3", "garden-1", 0),
        ("q3", "garden-2", 2),
        ("q3", "garden-3", 1),
    ]
    assert loaded.purpose == "known-item" and loaded.places["q2"] == ("queries.jsonl", 2)


def test_filter_makes_two_sets_of_one_file() -> None:
    whole = load_query_set("w", {"path": "queries.jsonl", "filter": {"kind": "whole"}}, FIXTURES)
    part = load_query_set("p", {"path": "queries.jsonl", "filter": {"kind": "part"}}, FIXTURES)
    assert (whole.queries["query_id"].to_list(), part.queries["query_id"].to_list()) == (["q1", "q3"], ["q2"])
    assert set(part.qrels["query_id"]) == {"q2"}
    with pytest.raises(InputFaults, match="no row has the value 'hole'"):
        load_query_set("h", {"path": "queries.jsonl", "filter": {"kind": "hole"}}, FIXTURES)


def test_binary_grades() -> None:
    loaded = load_query_set("set", {"path": "queries.jsonl", "binary": True}, FIXTURES)
    assert loaded.qrels["grade"].to_list() == [1, 1, 0, 1, 1]


def test_default_register_and_columns(tmp_path: Path) -> None:
    spec = write(tmp_path, {"id": "a", "q": "text", "relevant": "p"}, {"id": "b", "q": "t", "register": "quoting"})
    spec |= {"register": "abstract", "columns": {"query_id": "id", "text": "q"}, "judged": "later"}
    loaded = load_query_set("set", spec, tmp_path)
    assert loaded.queries.select("query_id", "text", "register").rows() == [
        ("a", "text", "abstract"),
        ("b", "t", "quoting"),
    ]


def test_a_table_of_queries(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text(
        'query_id,text,register,relevant\na,"x, y",,p1 p2\nb,z,quoting,p3\n', encoding="utf-8"
    )
    loaded = load_query_set("set", {"path": "q.csv"}, tmp_path)
    assert loaded.queries["register"].to_list() == [None, "quoting"]
    assert loaded.qrels.rows() == [("a", "p1", 1), ("a", "p2", 1), ("b", "p3", 1)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q.qrels", "a 0 p1 2\na 0 p2 0\nb Q0 p1 1\n"),
        ("q.txt", "a p1 2\na p2 0\n\nb p1 1\n"),
        ("q.csv", "query_id,poem_id,grade\na,p1,2\na,p2,0\nb,p1,1\n"),
        ("q.tsv", "query_id\titer\tpoem_id\tgrade\na\t0\tp1\t2\na\t0\tp2\t0\nb\t0\tp1\t1\n"),
        ("qrels.jsonl", "".join(f'{{"query_id": "{q}", "poem_id": "{p}", "grade": {g}}}\n' for q, p, g in
                                [("a", "p1", 2), ("a", "p2", 0), ("b", "p1", 1)])),
    ],
)  # fmt: skip
def test_files_of_judgements(tmp_path: Path, name: str, text: str) -> None:
    spec = write(tmp_path, {"query_id": "a", "text": "x"}, {"query_id": "b", "text": "y"})
    (tmp_path / name).write_text(text, encoding="utf-8")
    loaded = load_query_set("set", spec | {"qrels": name}, tmp_path)
    assert loaded.qrels.rows() == [("a", "p1", 2), ("a", "p2", 0), ("b", "p1", 1)]
    assert loaded.judgement_places["b", "p1"][0] == name


def test_all_faults_at_once(tmp_path: Path) -> None:
    spec = write(
        tmp_path,
        {"query_id": "a", "text": "x", "relevant": ["p"]},
        {"query_id": "a", "text": "x", "relevant": ["p"]},
        {"text": "x"},
        {"query_id": "b c", "text": "x"},
        {"query_id": 5, "text": "x"},
        {"query_id": "d"},
        {"query_id": "e", "text": " "},
        {"query_id": "f", "text": 3, "span": ["x"]},
        {"query_id": "g", "text": "a\u0000b"},
        {"query_id": "h", "text": "x", "register": "qoting"},
        {"query_id": "i", "text": "x", "relevant": 7},
        {"query_id": "j", "text": "x", "relevant": [7, ""]},
        {"query_id": "k", "text": "x", "relevant": {"p": -1, "q": 1.5, "r": True, "s": "high"}},
        {"query_id": "l", "text": "x", "relevant": ["p", "p"]},
        {"query_id": "\u200f", "text": "x"},
        {"query_id": "m" * 1001, "text": "x"},
    )
    q = "queries.jsonl"
    assert faults_of(spec, tmp_path) == [
        (q, 2, "query_id", "duplicate id 'a', first on line 1"),
        (q, 3, "query_id", "is missing, expected an id"),
        (q, 4, "query_id", "'b c' holds a blank or a control character"),
        (q, 5, "query_id", "is a number, expected an id"),
        (q, 6, "text", "is missing"),
        (q, 7, "text", "is empty"),
        (q, 8, "span", "is a list, expected text"),
        (q, 8, "text", "is a number, expected text"),
        (q, 9, "text", "holds the character U+0000"),
        (q, 10, "register", "'qoting' is not a register"),
        (q, 11, "relevant", "is a number, expected poem ids"),
        (q, 12, "relevant", "holds a number, expected the id of a poem"),
        (q, 12, "relevant", "holds an empty id, expected the id of a poem"),
        (q, 13, "relevant", "the grade of poem 'p' is -1"),
        (q, 13, "relevant", "the grade of poem 'q' is 1.5"),
        (q, 13, "relevant", "the grade of poem 'r' is True"),
        (q, 13, "relevant", "the grade of poem 's' is 'high'"),
        (q, 14, "relevant", "poem 'p' is judged twice for query 'l'"),
        (q, 15, "query_id", "holds invisible characters only: U+200F"),
        (q, 16, "query_id", f"'{'m' * 57}...' has 1,001 characters, expected at most 1,000"),
    ]


def test_faults_of_a_file_of_judgements(tmp_path: Path) -> None:
    spec = write(tmp_path, {"query_id": "a", "text": "x"}, {"query_id": "b", "text": "x", "relevant": "p"})
    (tmp_path / "q.qrels").write_text("a 0 p1 1\nz 0 p1 1\na 0 p1 2\na 0 p2 -1\na b\n", encoding="utf-8")
    assert faults_of(spec | {"qrels": "q.qrels"}, tmp_path) == [
        ("q.qrels", 2, "query_id", "no query of the set is called 'z'"),
        ("q.qrels", 3, "poem_id", "poem 'p1' is judged twice for query 'a', first on line 1"),
        ("q.qrels", 4, "grade", "the grade of poem 'p2' is '-1'"),
        ("q.qrels", 5, "", "has 2 columns, expected 4"),
        ("queries.jsonl", 2, "relevant", "has relevant poems, and so has the file q.qrels"),
    ]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b'\xef\xbb\xbf{"query_id": "a", "text": "x"}\n', "begins with a byte order mark (BOM)"),
        (b'{"query_id": "a", "text": "x"}\r\n', "has CR or CRLF line ends (1 of them); expected LF"),
        (b'{"query_id": "a", "text": "\xe1"}\n', "invalid UTF-8: byte 0xe1 at column 28"),
        (b"\n", "holds no queries"),
    ],
)
def test_files_that_break_the_rules(tmp_path: Path, data: bytes, problem: str) -> None:
    (tmp_path / "q.jsonl").write_bytes(data)
    assert [fault[3] for fault in faults_of({"path": "q.jsonl"}, tmp_path)] == [problem]


def test_cross_check_finds_all_that_the_corpora_lack(tmp_path: Path) -> None:
    spec = write(
        tmp_path,
        {"query_id": "a", "text": "x", "relevant": ["garden-1", "gardne-2"]},
        {"query_id": "b", "text": "x"},
        {"query_id": "c", "text": "x", "relevant": {"garden-1": 0}},
    )
    corpora = {"one": ["garden-1", "garden-2"], "two": ["garden-1"]}
    now = load_query_set("set", spec, tmp_path)
    assert [(fault.line, fault.problem) for fault in cross_check(now, corpora)] == [
        (1, "judged poem 'gardne-2' of query 'a' is not in corpus 'one'"),
        (1, "judged poem 'gardne-2' of query 'a' is not in corpus 'two'"),
        (2, "query 'b' has no relevant poem"),
        (3, "query 'c' has no relevant poem"),
    ]
    assert "did you mean 'garden-2'" in cross_check(now, corpora)[0].hint
    later = load_query_set("set", spec | {"judged": "later"}, tmp_path)
    assert [fault.line for fault in cross_check(later, corpora)] == [1, 1]


def test_cross_check_is_silent_when_all_is_well_and_wants_a_corpus() -> None:
    loaded = load_query_set("set", {"path": "queries.jsonl"}, FIXTURES)
    assert cross_check(loaded, {"garden": {"garden-1", "garden-2", "garden-3"}}) == []
    assert cross_check(loaded, {})[0].problem == "names no corpus"


def test_registers_are_closed(tmp_path: Path) -> None:
    assert REGISTERS == ("quoting", "half-remembered", "abstract", "thematic")
    spec = write(tmp_path, {"query_id": "a", "text": "x"})
    for wrong in ({"register": "thematical"}, {"judged": "latter"}):
        with pytest.raises(UserError, match="did you mean"):
            load_query_set("set", spec | wrong, tmp_path)


def test_a_misspelt_field_is_named(tmp_path):
    path = tmp_path / "q.jsonl"
    path.write_text('{"query_id": "q1", "text": "a", "relevent": ["p1"], "registre": "quoting"}\n', encoding="utf-8")
    with pytest.raises(InputFaults) as caught:
        load_query_set("q", {"path": "q.jsonl", "corpora": ["c"]}, tmp_path)
    told = str(caught.value)
    assert "did you mean 'relevant'?" in told
    assert "did you mean 'register'?" in told


def test_clusters_and_attributes_are_read(tmp_path: Path) -> None:
    rows = [
        {"query_id": "b", "text": "t", "relevant": "p", "cluster": " c1 ", "level": 2, "checked": True},
        {"query_id": "a", "text": "t", "relevant": "p", "cluster": "", "level": None, "checked": False},
    ]
    spec = write(tmp_path, *rows) | {"attributes": ["level", "checked"]}
    loaded = load_query_set("set", spec, tmp_path)
    check_table(loaded.attributes, QUERY_ATTRIBUTES, "attributes")
    assert loaded.queries["cluster"].to_list() == [None, "c1"]
    assert loaded.attributes.rows() == [("a", "checked", "false"), ("b", "checked", "true"), ("b", "level", "2")]
    without = load_query_set("set", {"path": spec["path"]}, tmp_path)
    check_table(without.attributes, QUERY_ATTRIBUTES, "attributes")
    assert without.attributes.is_empty()


def test_faults_of_attributes(tmp_path: Path) -> None:
    row = {"query_id": "a", "text": "t", "relevant": "p", "level": ["x"], "kind": "a\nb", "cluster": 3}
    q = "queries.jsonl"
    assert faults_of(write(tmp_path, row) | {"attributes": ["level", "kind", "levels"]}, tmp_path) == [
        (q, 0, "levels", "no such column, though it is named as an attribute"),
        (q, 1, "cluster", "is a number, expected text"),
        (q, 1, "kind", "holds the character U+000A"),
        (q, 1, "level", "is a list, expected one value"),
    ]
    row = {"query_id": "a", "text": "t", "relevant": "p", "level": "x\u2028y", "kind": "x\ty"}
    assert faults_of(write(tmp_path, row) | {"attributes": ["level", "kind"]}, tmp_path) == [
        (q, 1, "kind", "holds the character U+0009"),
        (q, 1, "level", "holds the character U+2028"),
    ]


def test_the_verb_writes_the_attributes(tmp_path: Path) -> None:
    write(tmp_path, {"query_id": "a", "text": "t", "relevant": "p", "level": "x"})
    at = {name: str(tmp_path / f"{name}.parquet") for name in ("queries", "qrels", "attributes")}
    options = [part for name, path in at.items() for part in (f"--{name}", path)]
    spec = {"path": str(tmp_path / "queries.jsonl"), "attributes": ["level"]}
    assert main(["ingest_queries", "--name", "set", "--spec", json.dumps(spec), *options]) == 0
    assert read_table(at["attributes"], QUERY_ATTRIBUTES).rows() == [("a", "level", "x")]


def test_what_the_corpora_tell_is_told_together_with_faults_of_judgements(tmp_path):
    (tmp_path / "q.jsonl").write_text('{"query_id": "q1", "text": "a"}\n{"query_id": "q2", "text": "b"}\n')
    spec = {"path": "q.jsonl", "qrels": "qrels.csv", "max_grade": 3, "corpora": ["c"]}

    def partly(*rows):
        (tmp_path / "qrels.csv").write_text("\n".join(["query_id,poem_id,grade", *rows, ""]))
        with pytest.raises(PartlyLoaded) as caught:
            load_query_set("s", spec, tmp_path)
        return caught.value

    found = partly("q1,p1,4", "q1,nowhere,1", "q2,p1,0", "q2,p1,0")
    assert [(fault.line, fault.field) for fault in found.faults] == [(2, "grade"), (5, "poem_id")]
    more = cross_check(found.query_set, {"c": {"p1"}})
    # The query of the grade that is none may have been answered by it.
    assert [(fault.file, fault.line) for fault in more] == [("q.jsonl", 2), ("qrels.csv", 3)]
    assert partly("q1,,2", "q2,p1,0").query_set is None  # it may have been the answer
    assert partly("q1,p1,9", "q2,p1").query_set is None
