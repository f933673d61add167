"""Data sets in the format of BEIR: documents, queries and judgements, and all that can be wrong with them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verseir.__main__ import main
from verseir.config import load_study
from verseir.corpora.beir import document_ids
from verseir.corpora.load import load_corpus
from verseir.corpora.model import PartlyRead
from verseir.faults import InputFaults, UserError
from verseir.queries.beir import Drawn, beir_queries, read_queries
from verseir.tables import QRELS, QUERIES, QUERY_ATTRIBUTES, read_table

#: A revision of the hub.
COMMIT = "0123456789abcdef" * 2 + "01234567"
HOME = {"adapter": "beir", "path": "set"}
ASKED: dict[str, Any] = {"corpora": ["c"], "beir": {"corpus": "c", "split": "test"}}
DOCUMENTS = [
    {"_id": "d1", "title": "قصيدة", "text": "بيت أول\n\nبيت ثان", "metadata": {"language": "ar", "poet": "x"}},
    {"_id": "d2", "title": "", "text": "one line", "metadata": {}},
    {"_id": "d3", "title": "Only a title", "text": ""},
]
QUESTIONS = [
    {"_id": "q1", "text": "first", "metadata": {"register": "quoting", "kind": "a", "span": "fir"}},
    {"_id": "q2", "text": "second", "metadata": {"register": "loud"}},
    {"_id": "q3", "text": "of another split"},
]
ROWS = ["q1\td1\t2", "q1\td2\t0", "q2\td3\t1"]


def write(folder: Path, documents: Any = DOCUMENTS, questions: Any = QUESTIONS, rows: Any = ROWS) -> None:
    (folder / "set" / "qrels").mkdir(parents=True, exist_ok=True)
    for name, given_rows in (("corpus", documents), ("queries", questions)):
        lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in given_rows]
        (folder / "set" / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    text = "".join(f"{line}\n" for line in ["query-id\tcorpus-id\tscore", *rows])
    (folder / "set" / "qrels" / "test.tsv").write_text(text, encoding="utf-8")


def drawn(base: Path, spec: dict[str, Any] = ASKED, home: dict[str, Any] = HOME) -> Drawn:
    """The query set as the verb draws it."""
    poems = load_corpus("c", home, base).poems["poem_id"]
    known = document_ids(home, base) if "sample" in home else None
    return beir_queries("s", read_queries(home, base), spec, home, base, poems, known)


def told(base: Path, **changes: Any) -> list[str]:
    """The faults of the queries of a data set, without hints."""
    spec = ASKED | changes
    with pytest.raises(InputFaults) as caught:
        beir_queries("s", read_queries(HOME, base), spec, HOME, base, {"d1", "d2", "d3"})
    return [str(fault).split("\n")[0] for fault in caught.value.faults]


def test_documents_are_poems_with_a_verse_a_line(tmp_path: Path) -> None:
    write(tmp_path)
    poems = load_corpus("c", HOME | {"language": "en"}, tmp_path).poems
    assert poems["poem_id"].to_list() == ["d1", "d2", "d3"]
    assert poems["title"].to_list() == ["قصيدة", None, "Only a title"]
    assert poems["language"].to_list() == ["ar", "en", "en"]
    assert poems["poet"].to_list() == [None] * 3
    verses = [[verse["first"] for verse in poem] for poem in poems["verses"]]
    assert verses == [["بيت أول", "بيت ثان"], ["one line"], ["Only a title"]]


def test_packed_files_are_read_where_there_are_no_plain_ones(tmp_path: Path) -> None:
    write(tmp_path)
    plain = load_corpus("c", HOME, tmp_path).poems, drawn(tmp_path).query_set.queries
    for name in ("corpus.jsonl", "queries.jsonl"):
        path = tmp_path / "set" / name
        path.with_name(f"{name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert load_corpus("c", HOME, tmp_path).poems.equals(plain[0])
    assert drawn(tmp_path).query_set.queries.equals(plain[1])
    (tmp_path / "set" / "corpus.jsonl.gz").write_bytes(b"\x1f\x8b\x08 no archive at all")
    with pytest.raises(PartlyRead, match="cannot be read") as caught:
        load_corpus("c", HOME, tmp_path)
    assert not caught.value.complete


def test_the_queries_are_those_that_the_split_judges(tmp_path: Path) -> None:
    write(tmp_path)
    made = drawn(tmp_path, ASKED | {"attributes": ["kind"], "register": "abstract"}).query_set
    assert made.queries.select("query_id", "query_set", "text", "register", "span").rows() == [
        ("q1", "s", "first", "quoting", "fir"),
        ("q2", "s", "second", "abstract", None),  # 'loud' is no register of ours
    ]
    assert made.qrels.rows() == [("q1", "d1", 2), ("q1", "d2", 0), ("q2", "d3", 1)]
    assert made.attributes.rows() == [("q1", "kind", "a")]
    assert made.places == {"q1": ("set/queries.jsonl", 1), "q2": ("set/queries.jsonl", 2)}
    assert drawn(tmp_path, ASKED | {"binary": True}).query_set.qrels["grade"].to_list() == [1, 0, 1]


def test_reading_twice_gives_the_same(tmp_path: Path) -> None:
    write(tmp_path)
    first, second = drawn(tmp_path).query_set, drawn(tmp_path).query_set
    assert first.queries.equals(second.queries) and first.qrels.equals(second.qrels)
    write(tmp_path, DOCUMENTS[::-1], QUESTIONS[::-1], ROWS[::-1])
    other = drawn(tmp_path).query_set
    assert first.queries.equals(other.queries) and first.qrels.equals(other.qrels)


def test_all_faults_of_documents_are_told_with_their_lines(tmp_path: Path) -> None:
    bad = [
        DOCUMENTS[0],
        '{"_id": "d9", "text": ',
        {"_id": "d1", "text": "again"},
        {"text": "no id"},
        {"_id": 7, "text": "number"},
        {"_id": "d4"},
        {"_id": "d5", "title": 3, "text": ["a"]},
        {"_id": "d6", "title": "***", "text": " \n--"},
        {"_id": "d 7", "text": "blank"},
        {"_id": "d8", "text": "a\u0000b"},
        "[1]",
        '{"_id": "x", "_id": "y", "text": "t"}',
    ]
    write(tmp_path, bad)
    data = (tmp_path / "set" / "corpus.jsonl").read_bytes()
    (tmp_path / "set" / "corpus.jsonl").write_bytes(data + b'{"_id": "e1", "text": "\xc8"}\n')
    with pytest.raises(PartlyRead) as caught:
        load_corpus("c", HOME, tmp_path)
    faults = [str(fault).split("\n")[0].removeprefix("set/corpus.jsonl:") for fault in caught.value.faults]
    assert sorted(faults, key=lambda fault: int(fault.split(" ")[0].strip(":"))) == [
        "2: is not valid JSON: Expecting value: line 2 column 1 (char 23)",
        "3 [_id]: duplicate id 'd1', first on line 1",
        "4 [_id]: is missing, expected an id",
        "5 [_id]: is 7, expected an id",
        "6 [text]: is missing",
        "7 [text]: is a list, expected text",
        "7 [title]: is a number, expected text or null",
        "8 [text]: holds no letter, and the title holds none",
        "9 [poem_id]: 'd 7' holds a blank",
        "10 [verses]: holds the character U+0000",
        "11: is a list, expected an object",
        "12: is not valid JSON: the field '_id' stands twice",
        "13: invalid UTF-8: byte 0xc8 at column 24",
    ]
    assert {"d1", "d4", "d6"} <= caught.value.known_ids


def test_all_faults_of_queries_and_judgements_are_told_together(tmp_path: Path) -> None:
    questions = [QUESTIONS[0], {"_id": "q1", "text": "again"}, {"_id": "q2", "text": " "}, {"_id": "q3"}, "{"]
    rows = [
        *("q1\td1\t2", "q9\td1\t1", "q1\td9\t1", "q1\td1\t1", "q1\td2\t1.5", "q1\td3\t-1", "q1\td2"),
        *("q2\td1\t0", "q2\td2\t0", "q3\t\t1", "q3\td1\t1001", "q3\td2\tno"),
    ]
    write(tmp_path, questions=questions, rows=rows)
    assert told(tmp_path) == [
        "set/qrels/test.tsv:4 [corpus-id]: no document of the corpus is called 'd9'",
        "set/qrels/test.tsv:5 [corpus-id]: 'd1' is judged twice for query 'q1', first on line 2",
        "set/qrels/test.tsv:6 [score]: the score of 'd2' for query 'q1' is '1.5'",
        "set/qrels/test.tsv:7 [score]: the score of 'd3' for query 'q1' is '-1'",
        "set/qrels/test.tsv:8: has 2 cells, expected 3",
        "set/qrels/test.tsv:9 [score]: query 'q2' has no positive: no document with a score above 0",
        "set/qrels/test.tsv:11 [corpus-id]: is empty, expected an id",
        "set/qrels/test.tsv:12 [score]: the score of 'd1' for query 'q3' is '1001'",
        "set/qrels/test.tsv:13 [score]: the score of 'd2' for query 'q3' is 'no'",
        "set/queries.jsonl:2 [_id]: duplicate id 'q1', first on line 1",
        "set/queries.jsonl:3 [text]: is empty, expected the text of a query",
        "set/queries.jsonl:4 [text]: is missing, expected the text of a query",
        "set/queries.jsonl:5: is not valid JSON: Expecting property name enclosed in double quotes:"
        " line 2 column 1 (char 2)",
        "set/qrels/test.tsv:3 [query-id]: no query of set/queries.jsonl is called 'q9'",
    ]


def test_a_query_without_a_positive_may_be_judged_later(tmp_path: Path) -> None:
    write(tmp_path, rows=["q1\td1\t1", "q2\td1\t0"])
    assert told(tmp_path) == [
        "set/qrels/test.tsv:3 [score]: query 'q2' has no positive: no document with a score above 0"
    ]
    assert drawn(tmp_path, ASKED | {"judged": "later"}).query_set.qrels["grade"].to_list() == [1, 0]


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        (["d1 q1 1"], "set/qrels/test.tsv:1: begins with 'd1 q1 1', which is no header"),
        ([], "set/qrels/test.tsv: is empty"),
        (["query-id\tcorpus-id\tscore"], "set/qrels/test.tsv: holds no judgements"),
    ],
)
def test_a_split_needs_a_header_and_rows(tmp_path: Path, rows: list[str], problem: str) -> None:
    write(tmp_path)
    (tmp_path / "set" / "qrels" / "test.tsv").write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    assert told(tmp_path) == [problem]


def test_a_split_that_is_not_there_names_those_that_are(tmp_path: Path) -> None:
    write(tmp_path)
    with pytest.raises(InputFaults, match="known: test"):
        drawn(tmp_path, ASKED | {"beir": {"corpus": "c", "split": "dev"}})


def test_many_faults_of_a_kind_are_counted(tmp_path: Path) -> None:
    write(tmp_path, rows=["q1\td1\t1", "q2\td1\t1", *(f"q1\tx{n}\t1" for n in range(25))])
    faults = told(tmp_path)
    assert len(faults) == 11
    assert faults[9:] == [
        "set/qrels/test.tsv:13 [corpus-id]: no document of the corpus is called 'x9'",
        "set/qrels/test.tsv:14 [corpus-id]: and 15 more like this: no document of the corpus is called 'x10'",
    ]


def test_a_folder_without_files_and_a_corpus_without_a_place_are_told(tmp_path: Path) -> None:
    with pytest.raises(PartlyRead, match=r"set/corpus\.jsonl: there is no such file"):
        load_corpus("c", HOME, tmp_path)
    with pytest.raises(UserError, match="neither a folder nor a data set"):
        load_corpus("c", {"adapter": "beir"}, tmp_path)


@pytest.mark.parametrize("packed", [False, True])
def test_a_data_set_of_the_hub_is_read_as_a_folder_is(tmp_path: Path, on_hub: Path, packed: bool) -> None:
    write(tmp_path)
    write(on_hub)
    if packed:
        for name in ("corpus.jsonl", "queries.jsonl"):
            path = on_hub / "set" / name
            path.with_name(f"{name}.gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
    home = {"adapter": "beir", "hub": {"id": "someone/set", "revision": COMMIT, "folder": "set"}}
    assert load_corpus("c", home, tmp_path).poems.equals(load_corpus("c", HOME, tmp_path).poems)
    assert load_corpus("c", home, tmp_path).warnings == ()
    ours, theirs = drawn(tmp_path), drawn(tmp_path, home=home)
    assert ours.query_set.queries.equals(theirs.query_set.queries) and ours.query_set.qrels.equals(
        theirs.query_set.qrels
    )
    suffix = ".gz" if packed else ""
    assert theirs.query_set.places["q1"] == (f"someone/set@{COMMIT}/set/queries.jsonl{suffix}", 1)
    assert theirs.warnings == ()


def test_a_data_set_of_the_hub_tells_what_it_lacks_and_that_it_may_change(tmp_path: Path, on_hub: Path) -> None:
    write(on_hub, rows=[*ROWS, "q1\tunknown\t1"])
    home: dict[str, Any] = {"adapter": "beir", "hub": {"id": "someone/set", "folder": "set"}}
    assert load_corpus("c", home, tmp_path).warnings == (
        f"hub data set 'someone/set' is unpinned: revision 'main' is now {COMMIT}",
    )
    with pytest.raises(InputFaults, match=r"someone/set@main/set/qrels/test\.tsv:5 .*called 'unknown'"):
        drawn(tmp_path, home=home)
    other = ASKED | {"beir": {"corpus": "c", "split": "dev"}}
    with pytest.raises(InputFaults, match=r"has no file of the split 'dev'"):
        drawn(tmp_path, other, home)
    (on_hub / "set" / "corpus.jsonl").unlink()
    with pytest.raises(PartlyRead, match=r"has no file of the data set called corpus\.jsonl"):
        load_corpus("c", home, tmp_path)


def test_a_sample_takes_judgements_and_lost_queries_with_it(tmp_path: Path) -> None:
    documents = [{"_id": f"d{n}", "text": f"text {n}\nline" if n % 2 else "short"} for n in range(10)]
    questions = [{"_id": f"q{n}", "text": "t"} for n in range(10)]
    write(tmp_path, documents, questions, [f"q{n}\td{n}\t1" for n in range(10)])
    made = drawn(tmp_path, home=HOME | {"sample": {"min_verses": 2}})
    assert made.query_set.queries["query_id"].to_list() == [f"q{n}" for n in (1, 3, 5, 7, 9)]
    assert made.query_set.qrels["poem_id"].to_list() == [f"d{n}" for n in (1, 3, 5, 7, 9)]
    assert len(made.warnings) == 1 and "5 queries without a relevant document in c" in made.warnings[0]
    with pytest.raises(UserError, match="none of the 2 queries"):
        write(tmp_path, documents, questions, ["q0\td0\t1", "q2\td2\t1"])
        drawn(tmp_path, home=HOME | {"sample": {"min_verses": 2}})


IDS = st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=8)


@given(st.lists(st.tuples(IDS, IDS, st.integers(0, 1000)), min_size=1, unique_by=lambda row: row[:2]))
def test_judgements_are_read_whatever_the_ids(tmp_path_factory: pytest.TempPathFactory, rows: Any) -> None:
    import csv
    import io

    from verseir.queries.beir import _read_split

    base = tmp_path_factory.mktemp("ids")
    (base / "set" / "qrels").mkdir(parents=True)
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    writer.writerows([("query-id", "corpus-id", "score"), *rows])
    (base / "set" / "qrels" / "test.tsv").write_text(text.getvalue(), encoding="utf-8", newline="\n")
    faults: list[Any] = []
    frame, _ = _read_split(HOME, base, "test", faults, 1000)
    assert not faults
    assert frame.select("query_id", "poem_id", "grade").rows() == rows
    assert frame["line"].to_list() == list(range(2, len(rows) + 2))


# ---------------------------------------------------------------------------------------------------------------
# Through the config, the check and the verb.


def study(base: Path, **changes: Any) -> dict[str, Any]:
    (base / "systems.yaml").write_text("bm25: {kind: bm25}\n", encoding="utf-8")
    config = {
        "study": "small",
        "registry": ["systems.yaml"],
        "corpora": {"c": dict(HOME)},
        "modes": {"verse": ["verse"]},
        "query_sets": {"s": {"corpora": ["c"], "beir": {"corpus": "c"}}},
        "systems": ["bm25"],
    } | changes
    return load_study(config, base).spec


def checked(base: Path, capsys: pytest.CaptureFixture[str], **changes: Any) -> list[str]:
    """The faults that the check before any job tells, without hints."""
    spec = study(base, **changes)
    options = [f"--{name.replace('_', '-')}={json.dumps(spec[name])}" for name in ("corpora", "query_sets", "modes")]
    main(["check_inputs", *options, f"--keep={json.dumps(spec['keep'])}", "--output=inputs.json"])
    return [line.removeprefix("  - ") for line in capsys.readouterr().err.split("\n") if line.startswith("  - ")]


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path)
    return tmp_path


def test_a_study_fills_in_the_split_and_the_purpose(base: Path) -> None:
    filled = study(base)["query_sets"]["s"]
    assert filled["beir"] == {"corpus": "c", "split": "test"}
    assert (filled["purpose"], filled["judged"], filled["strata"]) == ("known-item", "now", [])


def test_systems_are_tuned_on_a_split_that_is_searched_nowhere(base: Path) -> None:
    asked = {"corpora": ["c"], "beir": {"corpus": "c"}, "validation": {"corpus": "c", "query_set": "dev"}}
    dev = {"corpora": [], "beir": {"corpus": "c", "split": "dev"}}
    assert study(base, query_sets={"s": asked, "dev": dev})["query_sets"]["dev"]["corpora"] == []
    with pytest.raises(InputFaults, match="cannot be tuned on its own queries"):
        study(base, query_sets={"s": asked, "dev": dev | {"beir": {"corpus": "c"}}})
    with pytest.raises(InputFaults, match=r"query_sets\.given\.corpora\]: names no corpus"):
        study(base, query_sets={"s": asked, "dev": dev, "given": {"corpora": [], "path": "q.jsonl"}})


def test_a_set_may_say_what_its_largest_grade_is(tmp_path: Path) -> None:
    write(tmp_path, rows=["q1\td1\t4", "q2\td2\t3"])
    assert drawn(tmp_path).query_set.qrels["grade"].to_list() == [4, 3]
    assert told(tmp_path, max_grade=3) == ["set/qrels/test.tsv:2 [score]: the score of 'd1' for query 'q1' is '4'"]


def test_a_set_from_a_corpus_that_is_no_such_data_set_is_refused(base: Path) -> None:
    corpora = {"c": dict(HOME), "d": {"adapter": "jsonl", "path": "d.jsonl"}}
    with pytest.raises(InputFaults) as caught:
        study(base, corpora=corpora, query_sets={"s": {"corpora": ["c"], "beir": {"corpus": "d"}}})
    faults = [str(fault).split("\n")[0] for fault in caught.value.faults]
    assert faults == [
        "config [query_sets.s.beir]: d is read with jsonl, which knows no beir",
        "config [query_sets.s.corpora]: the documents of d can be found in d alone, not in ['c']",
    ]


def test_the_check_reads_them_and_names_every_file_once(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert checked(base, capsys) == []
    record = json.loads((base / "inputs.json").read_text(encoding="utf-8"))
    assert [file["path"] for file in record["files"]] == [
        "set/corpus.jsonl",
        "set/qrels/test.tsv",
        "set/queries.jsonl",
    ]
    assert record["query_sets"] == {"s": {"n_queries": 2, "n_judgements": 3}}


def test_the_check_tells_the_faults_of_all_files_together(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(base, [*DOCUMENTS, {"_id": "d4", "text": 4}], [*QUESTIONS, "?"], [*ROWS, "q1\td4\t1", "q1\td5\t1"])
    assert checked(base, capsys) == [
        "set/corpus.jsonl:4 [text]: is a number, expected text",
        "set/queries.jsonl:4: is not valid JSON: Expecting value: line 1 column 1 (char 0)",
        "set/qrels/test.tsv:6 [corpus-id]: no document of the corpus is called 'd5'",
    ]


def test_the_check_knows_what_a_mode_takes_from_a_query(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = {"modes": {"verse": ["verse"], "arabic": ["verse"]}, "keep": {"arabic": {"language": ["ar"]}}}
    assert checked(base, capsys, **more) == [
        "set/queries.jsonl:2 [relevant]: mode 'arabic' keeps no poem of c that is relevant to query 'q2'"
    ]


def test_the_check_knows_documents_that_a_sample_leaves_out(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sampled = {"corpora": {"c": HOME | {"sample": {"min_verses": 2}}}}
    assert checked(base, capsys, **sampled) == []
    write(base, rows=[*ROWS, "q1\td5\t1"])
    assert checked(base, capsys, **sampled) == [
        "set/qrels/test.tsv:5 [corpus-id]: no document of the corpus is called 'd5'"
    ]


def test_the_verb_writes_the_three_tables(base: Path) -> None:
    parts = [f"--{part}={base / part}.parquet" for part in ("poems", "explanations", "attributes", "duplicates")]
    assert main(["ingest_corpus", "--name=c", f"--spec={json.dumps(HOME)}", *parts, f"--audit={base / 'a.json'}"]) == 0
    outputs = [f"--{part}={base / part}.parquet" for part in ("queries", "qrels", "attributes")]
    specs = [f"--spec={json.dumps(ASKED)}", f"--corpus-spec={json.dumps(HOME)}"]
    assert main(["draw_beir", "--name=s", *specs, f"--poems={base / 'poems.parquet'}", *outputs]) == 0
    assert read_table(base / "queries.parquet", QUERIES)["query_id"].to_list() == ["q1", "q2"]
    assert len(read_table(base / "qrels.parquet", QRELS)) == 3
    assert len(read_table(base / "attributes.parquet", QUERY_ATTRIBUTES)) == 0


def test_characters_that_no_id_holds_are_told_by_their_code(tmp_path: Path) -> None:
    write(tmp_path, rows=[*ROWS, "q\x001\td1\t1", "q1\td\x002\t1"])
    lines = len(ROWS)
    assert told(tmp_path) == [
        f"set/qrels/test.tsv:{lines + 2} [query-id]: holds the character U+0000",
        f"set/qrels/test.tsv:{lines + 3} [corpus-id]: holds the character U+0000",
    ]


def test_an_id_that_is_none_is_told_before_the_rows_that_name_it(
    base: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [*ROWS, *(f"q7\td{n}\t1" for n in (1, 2, 3)), *(f"q1\tx{n}\t1" for n in range(30))]
    write(base, questions=[*QUESTIONS, {"_id": 3, "text": "three"}], rows=rows)
    found = checked(base, capsys)
    assert sum("is called 'x" in fault for fault in found) == 11
    assert found[-3:] == [
        f"set/qrels/test.tsv:{len(ROWS) + n} [query-id]: no query of set/queries.jsonl is called 'q7'"
        for n in (2, 3, 4)
    ]
