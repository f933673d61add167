"""The cells of tables as people keep them: CSV and TSV as spreadsheets write them, and workbooks (XLSX).

What a spreadsheet writes is read as it is: a byte order mark, line ends of any kind (RFC 4180 asks for CRLF), UTF-16
with a mark, commas, semicolons or tabs. Cells of a workbook become the text that a person sees in them.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from verseir.faults import Fault
from verseir.text_files import OLE, PACKED, UTF_8, UTF_16, decoded, mending, read_bytes

#: What may part cells; of two that do equally well, the first.
DELIMITERS = (",", ";", "\t")
#: Rows that the choice between them looks at.
_LOOKED_AT = 200
#: The line with which a spreadsheet program says what parts the cells.
_SAID = re.compile("sep=(.)(?=\n)")


class Cells(NamedTuple):
    """Rows of cells, each with its line (of a workbook, its row), and what mends a row of too many or too few."""

    rows: list[tuple[int, list[str]]]
    hint: str = "fill the row up to the last column"


def read_cells(path: Path, label: str, faults: list[Fault], sheet: str | None = None) -> Cells:
    """The cells of a table. Which kind of file it is, is told from what it holds. Faults are added to ``faults``."""
    data = read_bytes(path, label, faults)
    if data is None:
        return Cells([])
    if data.startswith(PACKED):
        from verseir.workbooks import read_workbook

        return Cells(read_workbook(data, label, faults, sheet))
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
    elif b"\x00" in data[:200]:
        encoding = "utf-16-le" if data[1:2] == b"\x00" else "utf-16-be"
        faults.append(Fault(label, 0, "", "is UTF-16 without a mark, or no text", mending(label, encoding)))
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
    return Cells(rows, "a cell may not hold a tab" if delimiter == "\t" else hint)


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
    widths = list(_widths(text, delimiter))
    if not widths:
        return False, 0.0, 0
    return widths[0] > 1, sum(width == widths[0] for width in widths) / len(widths), widths[0]


def _widths(text: str, delimiter: str) -> Iterator[int]:
    """The number of cells in each of the first rows that are not blank."""
    try:
        for number, cells in enumerate(_reader(text, delimiter, strict=False)):
            if number == _LOOKED_AT:
                return
            if any(cell.strip() for cell in cells):
                yield len(cells)
    except csv.Error:
        return
