"""The cells of tables as people keep them: CSV and TSV as spreadsheets write them, and workbooks (XLSX).

What a spreadsheet writes is read as it is: a byte order mark, line ends of any kind (RFC 4180 asks for CRLF), UTF-16
with a mark, commas, semicolons or tabs. Cells of a workbook become the text that a person sees in them.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from verseir.faults import Fault, first_few, shown
from verseir.text_files import OLE, PACKED, UTF_8, UTF_16, decoded, mending, read_bytes, utf_16_of

#: What may part cells; of two that do equally well, the first.
DELIMITERS = (",", ";", "\t")
#: Rows that the choice between them looks at.
_LOOKED_AT = 200
#: The line with which a spreadsheet program says what parts the cells.
_SAID = re.compile("sep=(.)(?=\n)")


class Cells(NamedTuple):
    """Rows of cells, each with its line (of a workbook, its row), and what mends a row of too many or too few.

    ``remarks`` are what people are to know of the file; ``workbook``: whether it is one.
    """

    rows: list[tuple[int, list[str]]]
    hint: str = "fill the row up to the last column"
    remarks: Sequence[str] = ()
    workbook: bool = False


def read_cells(path: Path, label: str, faults: list[Fault], sheet: str | None = None) -> Cells:
    """The cells of a table. Which kind of file it is, is told from what it holds. Faults are added to ``faults``."""
    data = read_bytes(path, label, faults)
    if data is None:
        return Cells([])
    if data.startswith(PACKED):
        from verseir.workbooks import read_workbook

        remarks: list[str] = []
        return Cells(read_workbook(data, label, faults, sheet, remarks), remarks=remarks, workbook=True)
    if data.startswith(OLE):
        problem = "is a workbook of an old Excel (.xls), or one with a password"
        faults.append(Fault(label, 0, "", problem, "save it as .xlsx, or as CSV in UTF-8"))
        return Cells([])
    if sheet is not None:
        faults.append(Fault(label, 0, "sheet", "is no workbook, and has no sheets", "take `sheet` out"))
    return _delimited(_text(data, label, faults), label, faults)


def _text(data: bytes, label: str, faults: list[Fault]) -> str:
    """The text of a table, with LF as its line ends."""
    if data.startswith(UTF_16):
        try:
            text = data.decode("utf-16")
        except UnicodeDecodeError as error:
            faults.append(Fault(label, 0, "", f"begins as UTF-16 and is not: {error.reason}", "save it anew, as UTF-8"))
            return ""
    elif (encoding := utf_16_of(data)) is not None:
        problem = "is UTF-16 without a mark" if encoding else "is no text: it holds many NULs"
        faults.append(Fault(label, 0, "", problem, mending(label, encoding) if encoding else "save it as CSV in UTF-8"))
        return ""
    else:
        lines = data.removeprefix(UTF_8).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return decoded(lines, label, faults)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _delimited(text: str, label: str, faults: list[Fault]) -> Cells:
    said = _SAID.match(text)
    if said:
        text = text[said.end() :]  # its line stays, empty: lines are counted
    delimiter = said[1] if said else delimiter_of(text)
    hint = f"a cell that holds '{delimiter}' or a line break must stand in double quotes"
    rows: list[tuple[int, list[str]]] = []
    line = 1
    reader = _reader(text, delimiter, strict=True)
    try:
        for cells in reader:
            rows.append((line, cells))
            line = reader.line_num + 1
    except csv.Error as error:
        faults.append(Fault(label, line, "", f"is not a valid table: {error}", "check the double quotes from here on"))
    faults += _swallowed(rows, delimiter, label)
    return Cells(rows, "a cell may not hold a tab" if delimiter == "\t" else hint)


def _swallowed(rows: list[tuple[int, list[str]]], delimiter: str, label: str) -> list[Fault]:
    """Faults of quoted cells whose lines are rows: a double quote is lacking, or one is too many."""
    width = next((len(cells) for _, cells in rows if len(cells) > 1), 0)
    found = []
    for line, cells in rows if width > 1 else []:
        shape = _shape("".join(cells[:1]))
        for cell in (cell for cell in cells if "\n" in cell):
            for inner in cell.split("\n")[1:]:
                parts = inner.split(delimiter)
                counted = any(map(str.isdigit, shape)) and _shape(parts[0]) == shape and len(parts) >= width
                tight = not any(part[:1].isspace() for part in parts)  # commas of a text have a blank behind them
                if tight and (counted or len(parts) == width > 2):
                    problem = f"a cell in double quotes holds what looks like a row: {shown(inner)}"
                    hint = "check the double quotes of this row: one is lacking, or one is too many"
                    found.append(Fault(label, line, "", problem, hint))
                    break
    return first_few(found)


def _shape(cell: str) -> str:
    return re.sub(r"\d+", "0", cell.strip())


def _reader(text: str, delimiter: str, strict: bool) -> Any:
    csv.field_size_limit(1 << 24)  # a long poem in one cell passes the default of 131,072 characters
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=strict)


def delimiter_of(text: str) -> str:
    """What parts the cells of ``text``: it parts the header, and most rows into as many cells as the header.

    Of several such, the one that makes the most cells; a comma where nothing parts the header.
    """
    return max(DELIMITERS, key=lambda mark: (*_fit(text, mark), -DELIMITERS.index(mark)))


def _fit(text: str, delimiter: str) -> tuple[bool, float, int]:
    """Whether it parts the header, the share of rows with as many cells, and how many these are."""
    rows = list(_first_rows(text, delimiter))
    titles = next((at for at, cells in enumerate(rows) if len(cells) > 1), 0)
    if titles and all(cell[:1].strip() for cell in rows[titles]):  # lines of one cell above a header
        below = rows[titles:]
        if sum(len(cells) == len(below[0]) for cells in below) > 0.9 * len(below) and len(below) > 1:
            rows = below
    widths = [len(cells) for cells in rows]
    if not widths:
        return False, 0.0, 0
    return widths[0] > 1, sum(width == widths[0] for width in widths) / len(widths), widths[0]


def _first_rows(text: str, delimiter: str) -> Iterator[list[str]]:
    """The first rows that are not blank."""
    try:
        for number, cells in enumerate(_reader(text, delimiter, strict=False)):
            if number == _LOOKED_AT:
                return
            if any(cell.strip() for cell in cells):
                yield cells
    except csv.Error:
        return
