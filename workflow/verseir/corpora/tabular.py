"""Adapter ``csv``: a spreadsheet: a workbook (XLSX), CSV or TSV, with a header.

Either a row is a poem, all its verses in the cell ``verses``; or a row is a verse, in the cell ``verse`` or the cells
``first`` and ``second``, with the poem's id and fields on its first row at least. Rows of verses are in the order of
the file, or of ``verse_index`` where there is such a column. Usual names of columns, in English and Arabic, are read as
ours (see ``columns``). What parts verses and hemistichs in one cell is told from the whole column (see ``marks``). A
column ``explanation:NAME`` holds the explanations of source NAME. The columns that the spec names in ``attributes`` are
kept as they are; others are passed over. What was decided is told in the ``notes`` of what is read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from verseir.corpora import layout
from verseir.corpora.attributes import absent_columns, attributes_of
from verseir.corpora.columns import same_column, take_columns, told_columns
from verseir.corpora.fields import VerseSplitter, new_record
from verseir.corpora.hub import source_file
from verseir.corpora.model import TEXT_FIELDS, Noted, PartlyRead, Record
from verseir.corpora.poem_rows import with_ids
from verseir.faults import Fault, shown
from verseir.rows import Row, read_delimited, rename, whole_number

_EXPLANATION = "explanation:"


def read(spec: dict[str, Any], base: Path) -> list[Record]:
    """The poems of a spreadsheet. Raises PartlyRead with every fault of the file."""
    path, label = source_file(spec, base)
    faults: list[Fault] = []
    notes: list[str] = []
    warnings: list[str] = []
    rows = read_delimited(path, label, faults, spec.get("sheet"), remarks=notes)
    warnings += [note for note in notes if "not read: " in note]
    rows = rename(_without_headers(rows, notes), spec.get("columns") or {}, label, faults)
    if not rows:
        if not faults:
            faults.append(Fault(label, 1, "", "has no rows below the header", "one row for each poem or verse"))
        raise PartlyRead(faults, [], complete=False)
    faults += absent_columns(rows, spec.get("attributes") or [], label)
    header = list(rows[0].values)
    cells = {name: [row.values[name] for row in rows] for name in header}
    taken = take_columns(header, spec.get("attributes") or [], cells)
    rows = [
        Row(row.line, row.values | {ours: row.values[name] for ours, name in taken.columns.items()}) for row in rows
    ]
    if taken.problem:
        hint = (
            "say which: columns: {verses: its name}, where a row is a poem; {verse: its name}, or {first: ..., second:"
        )
        hint += f" ...}}, where a row is a verse. The file has: {shown(', '.join(header))}"
        faults.append(Fault(label, 1, "verses", taken.problem, hint))
        raise PartlyRead(faults, [], complete=False)
    notes += filter(None, [told_columns(taken)])
    rows = with_ids(rows, taken, label, notes, warnings, faults)
    if "poem_id" not in rows[0].values:
        raise PartlyRead(faults, [], complete=False)
    splitter = VerseSplitter(spec, label)
    reader = _read_poems if taken.shape == "verses" else _read_verses
    records = reader(rows, spec, label, splitter, faults)
    splitter.split(faults)
    if taken.shape == "verses":
        notes += _explain(records, rows, label)
    if faults:
        faulty = {(fault.file, fault.line) for fault in faults}
        good = [record for record in records if (record.file, record.line) not in faulty and record.verses]
        raise PartlyRead(faults, good, (record.poem_id for record in records))
    told = [f"{label}: {warning}" for warning in warnings]
    return Noted(records, [f"{label}: {note}" for note in (*notes, *splitter.told)], told + splitter.of_file())


def _without_headers(rows: list[Row], notes: list[str]) -> list[Row]:
    """Rows but for those that name the columns in another language."""
    kept = []
    for row in rows:
        filled = [(name, cell) for name, cell in row.values.items() if cell.strip()]
        if len(filled) > 1 and all(same_column(name, cell) for name, cell in filled):
            notes.append(f"row {row.line} names the columns again, and is passed over")
        else:
            kept.append(row)
    return kept


def _read_poems(
    rows: list[Row], spec: dict[str, Any], label: str, splitter: VerseSplitter, faults: list[Fault]
) -> list[Record]:
    records = []
    for row in rows:
        if record := new_record(row, label, faults):
            record.attributes = attributes_of(row, spec.get("attributes") or [], label, faults)
            splitter.add_poem(record, row.values["verses"])
            records.append(record)
    return records


def _explain(records: list[Record], rows: list[Row], label: str) -> list[str]:
    """Give poems of one row each their explanations, and tell how.

    Where every cell of a column has as many lines as its poem has verses, each explains its verse; else a cell explains
    the whole poem, and is kept with its first verse.
    """
    cells_of = {row.line: row.values for row in rows}
    told = []
    for column in (name for name in rows[0].values if name.startswith(_EXPLANATION)):
        source = column.removeprefix(_EXPLANATION)
        texts = {record.poem_id: cells_of[record.line][column].strip() for record in records}
        by_verse = all(
            len(_lines(texts[record.poem_id])) == len(record.verses) for record in records if texts[record.poem_id]
        )
        for record in records:
            text = texts[record.poem_id]
            lines = _lines(text) if by_verse else [text] if text else []
            record.explanations[source] = dict(enumerate(lines))
        if any(texts.values()) and not by_verse:
            told.append(f"explanations '{source}' are of whole poems, and are kept with their first verse")
    return told


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]


def _read_verses(
    rows: list[Row], spec: dict[str, Any], label: str, splitter: VerseSplitter, faults: list[Fault]
) -> list[Record]:
    poems: dict[str, list[Row]] = {}
    records: list[Record] = []
    for row in rows:
        if (record := new_record(row, label, faults)) is None:
            continue
        if record.poem_id not in poems:
            records.append(record)
        poems.setdefault(record.poem_id, []).append(row)
    for record in records:
        verses = _in_order(poems[record.poem_id], label, faults)
        _fill_fields(record, verses, label, faults)
        if len(verses) > 1 and not _has_verse(verses[0]):
            verses = verses[1:]  # a row of its own for what is known of the poem
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
    return records


def _has_verse(row: Row) -> bool:
    return any(row.values.get(name, "").strip() for name in ("verse", "first", "second"))


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
