"""Adapter ``csv``: a spreadsheet saved as CSV or TSV, with a header.

Either a row is a poem, its verses in the cell ``verses``, one a line (or parted by the spec's ``verse_separator``); or
a row is a verse, in the cell ``verse`` or the cells ``first`` and ``second``, with the poem's id and fields repeated
on each of its rows (a field may be left blank after the first). Rows of verses are in the order of the file, or of
``verse_index`` where there is such a column. Hemistichs in one cell are parted by a mark (see ``layout``). A column
``explanation:NAME`` in a table of verses holds the explanations of source NAME. The columns that the spec names in
``attributes`` are kept as they are; others are passed over.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from verseir.corpora import layout
from verseir.corpora.attributes import absent_columns, attributes_of
from verseir.corpora.fields import VerseSplitter, new_record
from verseir.corpora.hub import source_file
from verseir.corpora.model import TEXT_FIELDS, PartlyRead, Record
from verseir.faults import Fault
from verseir.rows import Row, read_delimited, rename, whole_number

_EXPLANATION = "explanation:"


def read(spec: dict[str, Any], base: Path) -> list[Record]:
    """The poems of a CSV or TSV file. Raises PartlyRead with every fault of the file."""
    path, label = source_file(spec, base)
    faults: list[Fault] = []
    rows = rename(read_delimited(path, label, faults), spec.get("columns") or {}, label, faults)
    columns = set(rows[0].values) if rows else set()
    layouts = [name for name in ("verses", "verse", "first") if name in columns]
    missing = [Fault(label, 1, "poem_id", "there is no such column", "columns: {poem_id: its name in the file}")]
    faults += missing if rows and "poem_id" not in columns else []
    if rows and len(layouts) != 1:
        problem = f"has the columns {' and '.join(layouts)}" if layouts else "has no column of verses"
        hint = "name one: 'verses' (a row is a poem), 'verse', or 'first' and 'second' (a row is a verse)"
        faults.append(Fault(label, 1, "verses", problem, hint))
    if not rows or len(layouts) != 1 or "poem_id" not in columns:
        if not faults:
            faults.append(Fault(label, 1, "", "has no rows below the header", "one row for each poem or verse"))
        raise PartlyRead(faults, [])
    faults += absent_columns(rows, spec.get("attributes") or [], label)
    reader = _read_poems if layouts == ["verses"] else _read_verses
    records = reader(rows, spec, label, faults)
    if faults:
        faulty = {(fault.file, fault.line) for fault in faults}
        good = [record for record in records if (record.file, record.line) not in faulty]
        raise PartlyRead(faults, good, (record.poem_id for record in records))
    return records


def _read_poems(rows: list[Row], spec: dict[str, Any], label: str, faults: list[Fault]) -> list[Record]:
    splitter = VerseSplitter(spec, label)
    records = []
    for row in rows:
        if record := new_record(row, label, faults):
            record.attributes = attributes_of(row, spec.get("attributes") or [], label, faults)
            splitter.add(record, layout.split_poem(row.values["verses"], spec.get("verse_separator")))
            records.append(record)
    splitter.split(faults)
    return records


def _read_verses(rows: list[Row], spec: dict[str, Any], label: str, faults: list[Fault]) -> list[Record]:
    poems: dict[str, list[Row]] = {}
    records: list[Record] = []
    for row in rows:
        if (record := new_record(row, label, faults)) is None:
            continue
        if record.poem_id not in poems:
            records.append(record)
        poems.setdefault(record.poem_id, []).append(row)
    splitter = VerseSplitter(spec, label)
    for record in records:
        verses = _in_order(poems[record.poem_id], label, faults)
        _fill_fields(record, verses, label, faults)
        for name in spec.get("attributes") or []:
            if value := _value(verses, name, label, faults):
                record.attributes[name] = value
        if "verse" in verses[0].values:
            splitter.add(record, [row.values["verse"] for row in verses], [row.line for row in verses])
        else:
            record.verses = [layout.pair([row.values["first"], row.values.get("second")]) for row in verses]
        for column in verses[0].values:
            if column.startswith(_EXPLANATION):
                texts = {i: row.values[column].strip() for i, row in enumerate(verses)}
                record.explanations[column.removeprefix(_EXPLANATION)] = {i: text for i, text in texts.items() if text}
    splitter.split(faults)
    return records


def _in_order(rows: list[Row], label: str, faults: list[Fault]) -> list[Row]:
    """The rows of one poem by ``verse_index``, which must run without gaps from 0 or 1; in file order without it."""
    if "verse_index" not in rows[0].values:
        return rows
    hint = "number the verses of each poem 0, 1, 2 ... or 1, 2, 3 ..."
    numbers = []
    for row in rows:
        text = row.values["verse_index"].strip()
        number = whole_number(text)
        if number is None:
            faults.append(Fault(label, row.line, "verse_index", f"'{text}' is not a whole number", hint))
            return rows
        numbers.append(number)
    ordered = sorted(zip(numbers, rows, strict=True), key=lambda item: (item[0], item[1].line))
    for expected, (number, row) in enumerate(ordered, min(ordered[0][0], 1)):
        if number != expected:
            faults.append(Fault(label, row.line, "verse_index", f"is {number}, expected {expected}", hint))
            break
    return [row for _, row in ordered]


def _fill_fields(record: Record, rows: list[Row], label: str, faults: list[Fault]) -> None:
    for name in TEXT_FIELDS:
        if value := _value(rows, name, label, faults):
            setattr(record, name, value)


def _value(rows: list[Row], name: str, label: str, faults: list[Fault]) -> str | None:
    """The value of a column in the first row of a poem that has one; rows that disagree are a fault."""
    said = [(row.values[name].strip(), row.line) for row in rows if row.values.get(name, "").strip()]
    for value, line in said[1:]:
        if value != said[0][0]:
            problem = f"is '{value}', but '{said[0][0]}' on line {said[0][1]} of the same poem"
            faults.append(Fault(label, line, name, problem, "give all rows of a poem the same value"))
            break
    return said[0][0] if said else None
