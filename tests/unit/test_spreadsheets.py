"""A poem written in any layout, with any marks, into any kind of file that spreadsheets save, reads back the same."""

from __future__ import annotations

import csv
import datetime
import io
from pathlib import Path

import openpyxl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from verseir.corpora import tabular
from verseir.corpora.load import load_corpus
from verseir.corpora.marks import marks_of_poems, marks_of_verses
from verseir.corpora.model import PartlyRead
from verseir.faults import Fault
from verseir.rows import read_delimited
from verseir.workbooks import shown_value

WORDS = "ليل نجم ريح رمل نخل جبل بحر سيف درع خيل فجر شمس قمر نهر غيم برق ورد غصن طير صقر".split()
#: Our name -> what the column is called in three files.
HEADERS = {
    "ours": {},
    "arabic": {
        "poem_id": "رقم",
        "title": "العنوان",
        "verses": "النص",
        "verse": "البيت",
        "first": "الصدر",
        "second": "العجز",
    },
    "english": {"poem_id": "No.", "title": "Poem Title", "verses": "Text", "verse": "Verse", "first": "First hemistich"}
    | {"second": "Second hemistich"},
}
MARKS = [" *** ", "  ***  ", "   =   ", "***", " * ", "//", " / ", " | ", " = ", " … ", "...", "\t", "    ", " - "]


def csv_bytes(table, delimiter=",", ending="\n", encoding="utf-8"):
    out = io.StringIO(newline="")
    quoting = csv.QUOTE_ALL if ending == "\r" else csv.QUOTE_MINIMAL  # else the writer leaves line breaks bare
    csv.writer(out, delimiter=delimiter, lineterminator=ending, quoting=quoting).writerows(table)
    return out.getvalue().encode(encoding)


def xlsx_bytes(table):
    book, out = openpyxl.Workbook(), io.BytesIO()
    for row in table:
        book.active.append([int(cell) if cell.isdigit() else cell or None for cell in row])
    book.save(out)
    return out.getvalue()


FORMS = {
    "comma": lambda table: csv_bytes(table),
    "semicolon, mark, CRLF": lambda table: csv_bytes(table, ";", "\r\n", "utf-8-sig"),
    "tab, UTF-16": lambda table: csv_bytes(table, "\t", "\r\n", "utf-16"),
    "comma, CR": lambda table: csv_bytes(table, ",", "\r"),
    "workbook": xlsx_bytes,
}


def rows_of_halves(poems, mark, fill):
    yield "poem_id", "title", "first", "second"
    for number, (title, verses) in enumerate(poems, 1):
        for at, verse in enumerate(verses):
            yield ("" if at and not fill else str(number), "" if at and not fill else title, *verse)


def rows_of_verses(poems, mark, fill):
    yield "poem_id", "title", "verse"
    for number, (title, verses) in enumerate(poems, 1):
        for at, verse in enumerate(verses):
            yield ("" if at and not fill else str(number), "" if at and not fill else title, mark.join(verse))
        if not fill:
            yield "", "", ""


def cells_of_lines(poems, mark, fill):
    yield "poem_id", "title", "verses"
    for number, (title, verses) in enumerate(poems, 1):
        yield str(number), title, ("\n" if fill else "\n\n").join(map(mark.join, verses))


def cells_of_stanzas(poems, mark, fill):
    yield "poem_id", "title", "verses"
    for number, (title, verses) in enumerate(poems, 1):
        yield str(number), title, "\n\n".join(map("\n".join, verses))


def cells_of_one_line(poems, mark, fill):
    between = " # " if fill else " // "
    yield "poem_id", "title", "verses"
    for number, (title, verses) in enumerate(poems, 1):
        yield str(number), title, between.join(map(mark.join, verses))


LAYOUTS = [rows_of_halves, rows_of_verses, cells_of_lines, cells_of_stanzas, cells_of_one_line]
HEMISTICH = st.lists(st.sampled_from(WORDS), min_size=2, max_size=4).map(" ".join)
VERSES = st.lists(st.tuples(HEMISTICH, HEMISTICH), min_size=2, max_size=5)
POEMS = st.lists(st.tuples(HEMISTICH, VERSES), min_size=2, max_size=5)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    POEMS,
    st.sampled_from(LAYOUTS),
    st.sampled_from(MARKS),
    st.booleans(),
    st.sampled_from(sorted(FORMS)),
    st.sampled_from(sorted(HEADERS)),
)
def test_a_poem_reads_back_the_same_however_it_was_written(tmp_path, poems, layout, mark, fill, form, names):
    if layout is cells_of_one_line and mark in ("//", " / ", "\t"):
        mark = " * "
    header, *rows = layout(poems, mark, fill)
    table = [[HEADERS[names].get(name, name) for name in header], *rows]
    path = tmp_path / ("poems.xlsx" if form == "workbook" else "poems.csv")
    path.write_bytes(FORMS[form](table))
    read = tabular.read({"path": path.name}, tmp_path)
    assert [(poem.poem_id, poem.title, poem.verses) for poem in read] == [
        (str(number), title, verses) for number, (title, verses) in enumerate(poems, 1)
    ]
    assert read.warnings == ()


def table_at(tmp_path: Path, text: str, name: str = "poems.csv") -> dict:
    (tmp_path / name).write_text(text, encoding="utf-8", newline="")
    return {"adapter": "csv", "path": name}


def told(tmp_path: Path, text: str, **spec) -> tuple[str, ...]:
    read = tabular.read(table_at(tmp_path, text) | spec, tmp_path)
    return (*read.notes, *read.warnings)


def faults(tmp_path: Path, text: str, **spec) -> list[Fault]:
    with pytest.raises(PartlyRead) as caught:
        tabular.read(table_at(tmp_path, text) | spec, tmp_path)
    return caught.value.faults


def test_it_is_told_which_column_was_taken_for_what(tmp_path):
    notes = told(tmp_path, "رقم,عنوان القصيدة,الشاعِر,النَّص,ملاحظات\n1,a,b,x *** y\\n,c\n")
    assert notes[0] == (
        "poems.csv: columns: poem_id is 'رقم'; poet is 'الشاعِر'; title is 'عنوان القصيدة'; verses is 'النَّص';"
        " not read: 'ملاحظات'"
    )


def test_our_own_names_go_before_usual_ones(tmp_path):
    spec = table_at(tmp_path, "id,poem_id,title,عنوان,verses,text\n1,a,b,c,x,y\n")
    (poem,) = tabular.read(spec, tmp_path)
    assert (poem.poem_id, poem.title, poem.verses) == ("a", "b", [("x", None)])


def test_poems_without_ids_are_numbered_and_verses_without_ids_are_refused(tmp_path):
    text = "title,text\na,x\nb,y\n"
    assert [poem.poem_id for poem in tabular.read(table_at(tmp_path, text), tmp_path)] == ["poem-1", "poem-2"]
    assert "numbered from the top" in told(tmp_path, text)[1]
    (fault,) = faults(tmp_path, "title,verse\na,x\nb,y\n")
    assert fault.field == "poem_id" and "a row is a verse" in fault.problem


def test_a_number_of_rows_is_no_id_of_poems(tmp_path):
    (fault,) = faults(tmp_path, "رقم,البيت\n1,x\n2,y\n3,z\n")
    assert "each verse would be a poem" in fault.problem and "columns" in fault.hint
    spec = table_at(tmp_path, "رقم,البيت\n1,x\n2,y\n3,z\n") | {"columns": {"poem_id": "رقم"}}
    assert len(tabular.read(spec, tmp_path)) == 3


def test_a_row_of_its_own_for_what_is_known_of_a_poem_is_no_verse(tmp_path):
    spec = table_at(tmp_path, "id,title,first,second\n1,a,,\n,,x,y\n,,z,w\n")
    (poem,) = tabular.read(spec, tmp_path)
    assert (poem.title, poem.verses) == ("a", [("x", "y"), ("z", "w")])


def test_two_columns_of_texts_are_refused(tmp_path):
    (fault,) = faults(tmp_path, "id,text,النص\n1,x,y\n")
    assert "'text'" not in fault.problem and "text and النص" in fault.problem
    (fault,) = faults(tmp_path, "id,words\n1,x\n")
    assert fault.problem == "has no column of verses" and "id, words" in fault.hint


LINE = "ليل نجم ريح"


def test_a_mark_in_few_verses_parts_nothing_and_is_told():
    found = marks_of_verses([LINE] * 9 + [f"{LINE} | {LINE}"])
    assert found.hemistich == "" and "1 of 10 verses, too few" in found.warnings[0]
    assert marks_of_verses([LINE] * 99 + [f"{LINE} … {LINE}"]).warnings == ()


def test_a_mark_in_most_verses_parts_them_and_the_rest_is_told():
    found = marks_of_verses([f"{LINE} *** {LINE}"] * 6 + [LINE] * 4)
    assert found.hemistich == "***" and "4 verses without it" in found.warnings[0]
    assert marks_of_verses([f"{LINE} *** {LINE}"] * 10).warnings == ()


def test_two_marks_that_part_at_different_places_are_refused():
    found = marks_of_verses([f"{LINE} = {LINE} | {LINE}"] * 5)
    assert "both '|' and '=' part most verses" in found.problem and "hemistich_separator" in found.hint
    assert marks_of_verses([f"{LINE}\t***\t{LINE}"] * 5).hemistich == "***"


def test_one_mark_again_and_again_is_refused_once(tmp_path):
    text = "id,text\n" + "".join(f"{at},{LINE} / {LINE} / {LINE} / {LINE}\n" for at in range(30))
    (fault,) = faults(tmp_path, text)
    assert "again and again in 30 of 30 lines" in fault.problem
    both = {"verse_separator": "/", "hemistich_separator": "/"}
    assert tabular.read(table_at(tmp_path, text) | both, tmp_path)[0].verses == [(LINE, LINE), (LINE, LINE)]
    assert tabular.read(table_at(tmp_path, text) | {"verse_separator": "/"}, tmp_path)[0].verses == [(LINE, None)] * 4
    (odd,) = faults(tmp_path, f"id,text\n1,{LINE} / {LINE} / {LINE}\n", **both)
    assert "3 hemistichs, an odd number" in odd.problem


def test_lines_that_rhyme_in_turn_are_hemistichs():
    poem = "على برج ساعة\nتوقف من سنين\nتشير المستحيل\nوتسخر مبحرين"
    assert marks_of_poems([poem] * 4).paired == "lines"
    assert marks_of_poems([poem] * 2).paired == ""
    assert marks_of_poems([poem.replace("ساعة", "حنين").replace("المستحيل", "رزين")] * 4).paired == ""


def test_explanations_of_a_table_of_poems(tmp_path):
    spec = table_at(tmp_path, 'id,text,شرح\n1,"a\nb","one\ntwo"\n2,c,three\n')
    assert [poem.explanations for poem in tabular.read(spec, tmp_path)] == [
        {"commentary": {0: "one", 1: "two"}},
        {"commentary": {0: "three"}},
    ]
    spec = table_at(tmp_path, 'id,text,شرح\n1,"a\nb",whole\n2,c,\n')
    read = tabular.read(spec, tmp_path)
    assert [poem.explanations for poem in read] == [{"commentary": {0: "whole"}}, {"commentary": {}}]
    assert "of whole poems" in read.notes[-1]


def test_an_old_encoding_is_refused_once_with_the_command_that_mends_it(tmp_path):
    text = "رقم,النص\r\n1,بيت من الشعر\r\n2,وبيت غيره\r\n"
    for encoding in ("cp1256", "iso8859-6"):
        (tmp_path / "old.csv").write_bytes(text.encode(encoding))
        found: list[Fault] = []
        assert read_delimited(tmp_path / "old.csv", "old.csv", found) == []
        assert found[0].hint.startswith(f"python -m verseir repair_text --encoding {encoding} old.csv")
        assert len([fault for fault in found if "another encoding" in fault.problem]) == 1


def test_the_line_that_names_the_separator_and_columns_without_a_name(tmp_path):
    (tmp_path / "a.csv").write_text('sep=;\nid;a,b;;\n1;x,y;;\n2;"z\nw";;\n', encoding="utf-8")
    found: list[Fault] = []
    rows = read_delimited(tmp_path / "a.csv", "a.csv", found)
    assert [(row.line, row.values) for row in rows] == [(3, {"id": "1", "a,b": "x,y"}), (4, {"id": "2", "a,b": "z\nw"})]
    assert found == []


# Workbooks


def save(tmp_path: Path, fill, name: str = "book.xlsx") -> Path:
    book = openpyxl.Workbook()
    fill(book)
    book.save(tmp_path / name)
    return tmp_path / name


def test_a_sheet_by_its_name_and_the_first_that_is_seen(tmp_path):
    def fill(book):
        book.active.title, book.active.sheet_state = "notes", "hidden"
        for name, number in (("one", 1), ("two", 2)):
            page = book.create_sheet(name)
            page.append([])
            page.append(["id", "text"])
            page.append([number, "line\nline"])

    path, found = save(tmp_path, fill), []
    assert read_delimited(path, "b", found)[0].values == {"id": "1", "text": "line\nline"}
    assert read_delimited(path, "b", found, "two")[0].line == 3
    assert found == []
    assert read_delimited(path, "b", found, "tow") == []
    assert "did you mean 'two'" in found[0].hint


def test_a_formula_without_a_value_and_an_error_are_faults_of_their_cells(tmp_path):
    def fill(book):
        book.active.append(["id", "text"])
        book.active.append([1, "=A2"])
        book.active.append([2, "x"])
        book.active["B3"].value, book.active["B3"].data_type = "#REF!", "e"

    found: list[Fault] = []
    read_delimited(save(tmp_path, fill), "b", found)
    assert [(fault.line, fault.field) for fault in found] == [(2, "B2"), (3, "B3")]


def test_what_is_packed_and_no_workbook(tmp_path):
    (tmp_path / "a.xlsx").write_bytes(b"PK\x03\x04 and no more")
    (tmp_path / "b.csv").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
    for name, told_of in (("a.xlsx", "no workbook"), ("b.csv", "old Excel")):
        found: list[Fault] = []
        assert read_delimited(tmp_path / name, name, found) == []
        assert told_of in found[0].problem and "CSV in UTF-8" in found[0].hint


@pytest.mark.parametrize(
    ("value", "number_format", "text"),
    [
        (17, "General", "17"),
        (17.0, "General", "17"),
        (0.1 + 0.2, "General", "0.3"),
        (17, "0000", "0017"),
        (2.5, "0.00", "2.50"),
        (12345.6, "#,##0", "12,346"),
        (0.25, "0%", "25%"),
        (True, "General", "TRUE"),
        (datetime.datetime(1990, 5, 7), "mm-dd-yy", "1990-05-07"),
        (datetime.datetime(1990, 5, 7), "yyyy", "1990"),
        (datetime.datetime(1990, 5, 7), "dd/mm/yyyy", "07/05/1990"),
        (datetime.datetime(1990, 5, 7, 14, 3), "d/m/yy h:mm", "7/5/90 14:03"),
        (datetime.datetime(1990, 5, 7, 14, 3), "d mmm yyyy", "1990-05-07 14:03"),
        (datetime.time(17, 2), "h:mm", "17:02"),
        (datetime.timedelta(hours=17, minutes=2), "[h]:mm", "17:02:00"),
    ],
)
def test_a_cell_is_what_a_person_sees(value, number_format, text):
    assert shown_value(value, number_format) == text


# What a row is, told from what the columns hold


@pytest.mark.parametrize(
    "text",
    [
        "القصيدة,البيت,النص\n1,1,x *** y\n1,2,z *** w\n2,1,a *** b\n",  # a number, and not a text, is called verse
        "رقم القصيدة,رقم البيت,النص\n1,1,x *** y\n1,2,z *** w\n2,1,a *** b\n",  # numbered rows are verses
        "id,text\n1,x *** y\n1,z *** w\n2,a *** b\n",  # ids that repeat
        "id,text\n1,x *** y\n,z *** w\n2,a *** b\n",  # as in merged cells
        "The archive,\n\nid,text\n1,x *** y\n,z *** w\n2,a *** b\n",  # a title above the header
    ],
)
def test_a_row_is_a_verse(tmp_path, text):
    read = tabular.read(table_at(tmp_path, text), tmp_path)
    assert [(poem.poem_id, poem.verses) for poem in read] == [("1", [("x", "y"), ("z", "w")]), ("2", [("a", "b")])]


def test_ids_that_hardly_repeat_are_a_fault_of_poems(tmp_path):
    with pytest.raises(Exception, match="duplicate id"):
        load_corpus("c", table_at(tmp_path, "id,text\n1,x\n2,y\n3,z\n3,w\n"), tmp_path)


def test_a_poem_that_is_numbered_and_named(tmp_path):
    (poem,) = tabular.read(table_at(tmp_path, "م,القصيدة,النص\n7,عنوان,بيت\n"), tmp_path)
    assert (poem.poem_id, poem.verses) == ("7", [("بيت", None)])
    (poem,) = tabular.read(table_at(tmp_path, "رقم,القصيدة\n7,بيت\n"), tmp_path)
    assert (poem.poem_id, poem.verses) == ("7", [("بيت", None)])


def test_a_gap_of_spaces_is_the_widest_of_a_verse(tmp_path):
    text = "id,verse\n" + "1,ليل نجم      ريح رمل\n" * 9
    (poem,) = tabular.read(table_at(tmp_path, text + "1,ليل  نجم      ريح رمل\n"), tmp_path)
    assert poem.verses == [("ليل نجم", "ريح رمل")] * 9 + [("ليل  نجم", "ريح رمل")]
    (fault,) = faults(tmp_path, text + "1,ليل  نجم  ريح رمل\n")
    assert (fault.line, fault.problem) == (11, "verse 10 falls into 3 hemistichs, expected one or two")
