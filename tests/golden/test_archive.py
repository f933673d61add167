"""A real anthology as an archive might keep it: spreadsheets of several shapes read back as the poems that they hold.

Needs the file ``poetry/hamasa_abu_tammam.jsonl`` of 850 poems under ``VERSEIR_DATA``.
"""

import csv
import io
import os
import re
from pathlib import Path

import openpyxl
import pytest

from verseir.corpora import jsonl
from verseir.corpora.load import load_corpus

DATA = Path(os.environ.get("VERSEIR_DATA", "no such folder")) / "poetry"
NAME = "hamasa_abu_tammam.jsonl"
ARABIC = ["رقم", "العنوان", "الشاعر", "الغرض"]

pytestmark = pytest.mark.skipif(not (DATA / NAME).is_file(), reason=f"VERSEIR_DATA names no folder with {NAME}")


@pytest.fixture(scope="module")
def poems():
    return jsonl.read({"path": NAME}, DATA)


def named(poem):
    return [poem.poem_id, poem.title or "", poem.poet or "", poem.genre or ""]


def lines(poem, mark):
    return [mark.join(filter(None, verse)) for verse in poem.verses]


def book_of_poems(poems):
    table = [[*ARABIC, "النص"], *([*named(poem), "\n".join(lines(poem, "  ***  "))] for poem in poems)]
    book, out = openpyxl.Workbook(write_only=True), io.BytesIO()
    page = book.create_sheet("الديوان")
    for row in table:
        page.append(row)
    book.save(out)
    return "a.xlsx", out.getvalue()


def text(table, delimiter, encoding):
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter, lineterminator="\r\n").writerows(table)
    return out.getvalue().encode(encoding)


def halves_with_ids_on_the_first_row(poems):
    table = [[*ARABIC, "الشطر الأول", "الشطر الثاني"]]
    for poem in poems:
        table += [[*(named(poem) if not at else [""] * 4), a, b or ""] for at, (a, b) in enumerate(poem.verses)]
    return "a.csv", text(table, ";", "utf-8-sig")


def verses_with_blank_rows_between_poems(poems):
    table = [[*ARABIC, "البيت"]]
    for poem in poems:
        table += [[*named(poem), line] for line in lines(poem, "      ")] + [[""] * 5]
    return "a.tsv", text(table, "\t", "utf-16")


def poems_in_one_line(poems):
    table = [["ID", "Title", "Poet", "Genre", "Text"], *([*named(p), " / ".join(lines(p, " = "))] for p in poems)]
    return "a.csv", text(table, ",", "utf-8")


def stanzas_of_two_lines(poems):
    table = [["id", "title", "poet", "genre", "poem"], *([*named(p), "\n\n".join(lines(p, "\n"))] for p in poems)]
    return "a.csv", text(table, ",", "utf-8-sig")


@pytest.mark.parametrize(
    "shape",
    [
        book_of_poems,
        halves_with_ids_on_the_first_row,
        verses_with_blank_rows_between_poems,
        poems_in_one_line,
        stanzas_of_two_lines,
    ],
)
def test_the_anthology_reads_back_from_any_spreadsheet(tmp_path, poems, shape):
    name, data = shape(poems)
    (tmp_path / name).write_bytes(data)
    corpus = load_corpus("archive", {"adapter": "csv", "path": name}, tmp_path)
    found = {row["poem_id"]: row for row in corpus.poems.iter_rows(named=True)}
    assert len(found) == len(poems) == 850
    for poem in poems:
        row = found[poem.poem_id]
        assert [row["title"], row["poet"], row["genre"]] == [poem.title, poem.poet, poem.genre]
        read = [(verse["first"], verse["second"]) for verse in row["verses"]]
        assert [tuple(map(squeezed, verse)) for verse in read] == [tuple(map(squeezed, v)) for v in poem.verses]
    assert any("poem_id is" in note for note in corpus.notes) or shape is stanzas_of_two_lines


def squeezed(text):
    return re.sub(r"\s+", " ", text) if text else None
