"""What a spreadsheet may hold beside its table, or in a way of its own, is never misread in silence."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from verseir.__main__ import main
from verseir.corpora.load import load_corpus
from verseir.faults import InputFaults
from verseir.queries.load import cross_check, load_query_set


def read(base: Path, content: str | bytes, name: str = "poems.csv", **spec: Any) -> Any:
    (base / name).write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return load_corpus("a", {"adapter": "csv", "path": name, "language": "ar", **spec}, base)


def poems(corpus: Any) -> dict[str, list[str]]:
    return {
        row["poem_id"]: [" / ".join(filter(None, (verse["first"], verse["second"]))) for verse in row["verses"]]
        for row in corpus.poems.iter_rows(named=True)
    }


def faults(base: Path, content: str | bytes, name: str = "poems.csv", **spec: Any) -> list[Any]:
    with pytest.raises(InputFaults) as caught:
        read(base, content, name, **spec)
    assert all(fault.hint for fault in caught.value.faults)
    return caught.value.faults


@pytest.mark.parametrize(
    "text",
    [
        "القصيدة,رقم,الصدر,العجز\nأ,1,a b,c d\nأ,2,e f,g h\nب,1,i j,k l\nب,2,m n,o p\n",
        "م,القصيدة,البيت\n1,أ,a b // c d\n2,أ,e f // g h\n1,ب,i j // k l\n2,ب,m n // o p\n",
        "العنوان,رقم,الصدر,العجز\nأ,1,a b,c d\n,2,e f,g h\nب,1,i j,k l\n,2,m n,o p\n",
        "poem,no,verse\nأ,2,e f // g h\nأ,1,a b // c d\nب,1,i j // k l\nب,2,m n // o p\n",
        "poem,no,verse\nأ,1,a b // c d\nأ,2,e f // g h\nب,3,i j // k l\nب,4,m n // o p\n",
    ],
)
def test_a_number_that_starts_anew_in_each_poem_is_that_of_the_verse(text: str, tmp_path: Path) -> None:
    corpus = read(tmp_path, text)
    assert poems(corpus) == {"أ": ["a b / c d", "e f / g h"], "ب": ["i j / k l", "m n / o p"]}
    assert any("which poem a verse belongs to" in note for note in corpus.notes)


def test_a_poem_of_one_verse_is_not_mixed_with_the_next(tmp_path: Path) -> None:
    text = "poem,no,verse\nA,1,a b // c d\nB,1,e f // g h\nB,2,i j // k l\n"
    assert poems(read(tmp_path, text)) == {"A": ["a b / c d"], "B": ["e f / g h", "i j / k l"]}


def test_titles_of_several_words_give_no_ids(tmp_path: Path) -> None:
    text = "العنوان,رقم,البيت\nساعة الميناء,1,a b // c d\n,2,e f // g h\nليل المدينة,1,i j // k l\n,2,m n // o p\n"
    corpus = read(tmp_path, text)
    assert poems(corpus) == {"poem-1": ["a b / c d", "e f / g h"], "poem-2": ["i j / k l", "m n / o p"]}
    assert corpus.poems["title"].to_list() == ["ساعة الميناء", "ليل المدينة"]


@pytest.mark.parametrize(
    "text",
    [
        "رقم,البيت\n1,a b // c d\n2,e f // g h\n1,i j // k l\n2,m n // o p\n",
        "poem,no,verse\nA,1,a b // c d\nB,1,e f // g h\nA,2,i j // k l\n",
        "رقم القصيدة,القصيدة,البيت\n1,A,a b // c d\n2,A,e f // g h\n1,B,i j // k l\n2,B,m n // o p\n",
    ],
)
def test_ids_that_come_again_are_not_believed(text: str, tmp_path: Path) -> None:
    (fault,) = faults(tmp_path, text)
    assert "was taken for the id of poems" in fault.problem and "columns: {poem_id: name" in fault.hint


def test_ids_that_are_named_are_believed_with_a_warning(tmp_path: Path) -> None:
    text = "رقم,البيت\n1,a b // c d\n2,e f // g h\n1,i j // k l\n2,m n // o p\n"
    corpus = read(tmp_path, text, columns={"poem_id": "رقم"})
    assert poems(corpus)["1"] == ["a b / c d", "i j / k l"]
    assert any("come again after the rows of other poems, such as '1' on row 4" in told for told in corpus.warnings)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("رقم,الصدر,العجز\n1,a b,c d\n,e f,g h\n,باب الغزل,\n2,i j,k l\n,m n,o p\n", "row 4"),
        ("رقم,الصدر,العجز\n1,a b,c d\n1,e f,g h\n,i j,k l\n3,m n,o p\n", "row 4"),
        ("رقم,العنوان,النص\n1,أ,a b // c d\n,باب الغزل,\n2,ب,e f // g h\n3,ب,e f // g i\n", "row 3"),
    ],
)
def test_rows_without_an_id_are_named(text: str, told: str, tmp_path: Path) -> None:
    assert any(told in warning for warning in read(tmp_path, text).warnings)


def test_a_remark_below_poems_makes_no_verses_of_them(tmp_path: Path) -> None:
    (fault,) = faults(tmp_path, "رقم,العنوان,النص\n1,أ,a b // c d\n2,ب,e f // g h\n\n,,جمعها فلان\n")
    assert (fault.line, fault.field) == (5, "poem_id")


ARABIC = "رقم;العنوان;النص\n1;أ;يمر بها القارب // المستعار\n2;ب;ويترك في كل // باب نهار\n"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "cp1256", "iso8859-6"])
def test_the_hint_of_an_encoding_mends_the_file(encoding: str, tmp_path: Path) -> None:
    (fault,) = faults(tmp_path, ARABIC.encode(encoding))
    assert f"--encoding {encoding} " in fault.hint
    path = tmp_path / "poems.csv"
    (tmp_path / "poems.csv.before").write_bytes(b"mine")
    main(["repair_text", "--encoding", encoding, str(path)])
    assert path.read_text(encoding="utf-8") == ARABIC
    assert (tmp_path / "poems.csv.before").read_bytes() == b"mine"
    assert (tmp_path / "poems.csv.before-2").read_bytes() == ARABIC.encode(encoding)


@pytest.mark.parametrize(
    "content",
    [
        "id,text\n1,é abc\n2,ü def\n".encode("latin-1"),
        ARABIC.encode() + "3;ج;نص قصير هنا\n".encode("cp1256"),
        b"id,text\n1,a\0b c\n",
    ],
)
def test_no_encoding_is_named_that_is_none(content: bytes, tmp_path: Path) -> None:
    assert not any(
        f"--encoding {name}" in fault.hint for fault in faults(tmp_path, content) for name in ("utf", "cp", "iso")
    )


@pytest.mark.parametrize(
    ("written", "said"),
    [("utf-16-le", "utf-16-be"), ("utf-16-be", "utf-16-le"), ("utf-8", "cp1256"), ("cp1256", "utf-16-le")],
)
def test_a_file_is_not_rewritten_as_what_it_is_not(written: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "poems.csv"
    path.write_bytes(ARABIC.encode(written))
    assert main(["repair_text", "--encoding", said, str(path)]) != 0
    assert path.read_bytes() == ARABIC.encode(written) and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    "text",
    [
        'رقم,العنوان,النص\n1,أ,"a b\n2,ب,c d\n3,ج,e f"\n4,د,g h\n',
        'id,text\np1,"a b\np2,c d"\n',
        'title,poet,text\nA,x,"a b\nB,y,c d"\n',
    ],
)
def test_a_quote_that_swallows_rows_is_a_fault(text: str, tmp_path: Path) -> None:
    found = faults(tmp_path, text)
    assert (found[0].line, "looks like a row" in found[0].problem) == (2, True)


def test_commas_in_the_lines_of_a_poem_are_no_rows(tmp_path: Path) -> None:
    text = 'id,title,text\n1,The Tyger,"Tyger, tyger, burning bright\nIn the forests, of the, night\n3, or 4, or 5"\n'
    assert len(poems(read(tmp_path, text))["1"]) == 3


HEADER = ["رقم", "العنوان", "النص"]
ONE, TWO = [1, "أ", "a b // c d"], [2, "ب", "e f // g h"]


def workbook(sheets: dict[str, list[list[Any]]], change: Any = None) -> bytes:
    book, out = openpyxl.Workbook(), io.BytesIO()
    book.remove(book.active)
    for name, rows in sheets.items():
        page = book.create_sheet(name)
        for row in rows:
            page.append(row)
    if change:
        change(book)
    book.save(out)
    return out.getvalue()


def test_other_sheets_with_rows_are_named(tmp_path: Path) -> None:
    data = workbook({"empty": [], "first": [HEADER, ONE], "more": [HEADER, TWO, TWO]})
    corpus = read(tmp_path, data, "poems.xlsx")
    assert list(poems(corpus)) == ["1"]
    told = "poems.xlsx: sheet 'first' was read; not read: 'more' (3 rows); `sheet: NAME` names another"
    assert told in corpus.warnings and told in corpus.notes
    alone = read(tmp_path, workbook({"empty": [], "first": [HEADER, ONE]}), "poems.xlsx")
    assert not alone.warnings and any("'first' was read" in note for note in alone.notes)


def test_a_sheet_that_is_a_chart_is_passed_over(tmp_path: Path) -> None:
    data = workbook({"first": [HEADER, ONE]}, lambda book: book.create_chartsheet("chart", 0))
    assert list(poems(read(tmp_path, data, "poems.xlsx"))) == ["1"]


def test_numbers_are_read_with_the_words_of_their_format(tmp_path: Path) -> None:
    def change(book: Any) -> None:
        book["s"]["A2"].number_format = '"P"000'
        book["s"]["A3"].number_format = '0"-b"'

    assert list(poems(read(tmp_path, workbook({"s": [HEADER, ONE, TWO]}, change), "poems.xlsx"))) == ["2-b", "P001"]


def test_a_cell_far_from_the_table_is_named(tmp_path: Path) -> None:
    data = workbook({"s": [HEADER, ONE]}, lambda book: book["s"].cell(2, 200, "note"))
    assert [fault.field for fault in faults(tmp_path, data, "poems.xlsx")] == ["GR2"]


def packed(**parts: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name.replace("__", "/"), data)
    return out.getvalue()


def damaged() -> bytes:
    data = bytearray(workbook({"s": [HEADER, ONE]}))
    data[900:1000] = bytes(byte ^ 0x55 for byte in data[900:1000])
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (packed(mimetype=b"application/vnd.oasis.opendocument.spreadsheet"), "OpenDocument (spreadsheet)"),
        (packed(word__document=b"<a/>"), "a document of Word"),
        (packed(a=b"a"), "is an archive"),
        (workbook({"s": [HEADER, ONE]})[:2000], "is damaged"),
        (damaged(), "is damaged"),
    ],
)
def test_what_is_no_workbook_is_told_as_what_it_is(data: bytes, told: str, tmp_path: Path) -> None:
    (fault,) = faults(tmp_path, data, "poems.xlsx")
    assert told in fault.problem


def test_a_workbook_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = workbook({"s": [HEADER, ONE]})
    monkeypatch.setattr("verseir.workbooks._MOST_UNPACKED", 1000)
    (fault,) = faults(tmp_path, data, "poems.xlsx")
    assert "unpacks to" in fault.problem


@pytest.mark.parametrize("again", ["رقم,العنوان,النص", "id,title,text"])
def test_a_header_that_comes_again_is_passed_over(again: str, tmp_path: Path) -> None:
    corpus = read(tmp_path, f"رقم,العنوان,النص\n1,أ,a b // c d\n{again}\n2,ب,e f // g h\n")
    assert poems(corpus) == {"1": ["a b / c d"], "2": ["e f / g h"]}
    assert any("row 3" in note and "again" in note for note in corpus.notes)


@pytest.mark.parametrize("mark", [",", ";"])
def test_a_title_above_the_header_needs_no_delimiters(mark: str, tmp_path: Path) -> None:
    text = "ديوان الشاعر\nرقم,العنوان,النص\n1,أ,a b // c d\n2,ب,e f // g h\n".replace(",", mark)
    assert list(poems(read(tmp_path, text))) == ["1", "2"]


def test_commas_in_a_file_of_one_column_part_nothing(tmp_path: Path) -> None:
    corpus = read(tmp_path, "text\nabc, d e\nxyz, d e\n")
    assert poems(corpus) == {"poem-1": ["abc, d e"], "poem-2": ["xyz, d e"]}


@pytest.mark.parametrize(
    "mark", ["٭", " ٭ ", "ــــ", "؛", " \\ ", "--", "..", " ~ ", " • ", " ۞ ", " ◆ ", " : ", "\\t"]
)
def test_a_mark_that_is_not_known_is_named(mark: str, tmp_path: Path) -> None:
    texts = ["abc def", "ghi jkl", "mno pqr", "stu vwx"]
    text = "id,text\n" + "".join(f'"{at}","{one}{mark}{one}"\n' for at, one in enumerate(texts))
    corpus = read(tmp_path, text)
    (told,) = corpus.warnings
    said = json.loads(told.partition("hemistich_separator: ")[2])
    assert said == mark.strip()
    assert poems(read(tmp_path, text, hemistich_separator=said))["0"] == ["abc def / abc def"]


def test_what_shows_nothing_is_no_part_of_an_id(tmp_path: Path) -> None:
    corpus = read(tmp_path, "رقم,النص\n\u200f1\u200f,a b // c d\n\u202b2\u202c,e f // g h\na\u200bb,i j // k l\n")
    assert list(poems(corpus)) == ["1", "2", "ab"]
    assert any("show nothing" in note for note in corpus.notes)
    (tmp_path / "q.csv").write_text("text,relevant\nabc,\u200f1\u200e:2\n", encoding="utf-8")
    queries = load_query_set("q", {"path": "q.csv"}, tmp_path)
    assert queries.qrels.rows() == [("q1", "1", 2)] and any("show nothing" in note for note in queries.notes)


@pytest.mark.parametrize("name", ["poem_id", "رقم القصيدة", "القصيدة"])
def test_the_poem_of_a_query_is_its_answer(name: str, tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text(f"text,{name}\nabc,p-1\n", encoding="utf-8")
    assert load_query_set("q", {"path": "q.csv"}, tmp_path).qrels["poem_id"].to_list() == ["p-1"]
    (tmp_path / "q.csv").write_text(f"text,{name},relevant\nabc,p-1,p-2\n", encoding="utf-8")
    assert load_query_set("q", {"path": "q.csv"}, tmp_path).qrels["poem_id"].to_list() == ["p-2"]


@pytest.mark.parametrize(("asked", "known"), [("7", "007"), ("٧", "7"), ("7.0", "7"), ("7", "٧")])
def test_a_number_written_otherwise_is_meant(asked: str, known: str, tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text(f"text,relevant\nabc,{asked}\n", encoding="utf-8")
    (fault,) = cross_check(load_query_set("q", {"path": "q.csv"}, tmp_path), {"a": [known, "17"]})
    assert fault.hint == f"did you mean '{known}'?"


def test_a_title_in_the_place_of_an_id_is_told_as_one(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("text,relevant\nabc,ساعة الميناء\nabd,p-2\n", encoding="utf-8")
    queries = load_query_set("q", {"path": "q.csv"}, tmp_path)
    (fault,) = cross_check(queries, {"a": ["p-1", "p-2"]}, (), {"a": {"ساعة الميناء": "p-1"}})
    assert (fault.line, fault.hint) == (2, "write its id: p-1") and "is the title of a poem" in fault.problem
