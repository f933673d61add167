"""Strict reading of what users write: UTF-8 without a byte order mark, LF line ends, JSON Lines and tables.

The readers go on after a fault and add it to a list, so that one run reports all that is wrong with a file.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verseir.faults import Fault, closest, shown

#: Characters that no text may hold: controls but for tab and U+0085, which old pages have as a line end; half a
#: surrogate pair, which JSON can spell and UTF-8 cannot. The C1 controls are let through: they read as spaces.
FORBIDDEN = re.compile("[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")

#: A file with more lines than this that are no UTF-8 is in another encoding, and nothing else can be said of it.
_MOST_BAD_LINES = 20

#: Names for values of JSON in messages.
_JSON_TYPES = {
    str: "text",
    int: "a number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One row of an input file: its first line, counted from 1, and its values by column name."""

    line: int
    values: dict[str, Any]


def json_type(value: Any) -> str:
    """What a JSON value is, in words."""
    if value is None:
        return "null"
    return next((_JSON_TYPES[kind] for kind in type(value).__mro__ if kind in _JSON_TYPES), type(value).__name__)


class Exponential(float):
    """A number of JSON that is written with an exponent: messages show it as it is written."""

    text: str

    def __new__(cls, text: str) -> Exponential:
        number = super().__new__(cls, text)
        number.text = text
        return number

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


#: More digits than any number has that a file of ours could mean.
_MOST_DIGITS = 300
#: Spreadsheets and data frames write whole numbers with a decimal point too; a sheet has an apostrophe before a text.
_WHOLE = re.compile(r"'?([+-]?\d{1,15})(\.0*)?")
#: What a spreadsheet would run as a formula, with the apostrophes that may stand before it.
_FORMULA = re.compile("'*[=+\\-@\t\r]")


def whole_number(value: Any) -> int | None:
    """A whole number of at most 15 digits as JSON or a cell of a table has it: 4, 4.0, " 4 ", "4.0".

    None where ``value`` is no such number. Digits of all scripts are read.
    """
    if isinstance(value, str):
        found = _WHOLE.fullmatch(value.strip())
        return int(found[1]) if found else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 10**15:
        return None
    return int(value) if value == int(value) else None


def as_found(value: Any) -> str:
    """What a value is, for a message: "is missing", "is empty", "is 'text'", "is 3", "is a list"."""
    if value is None:
        return "is missing"
    if isinstance(value, str):
        return f"is '{shown(value.strip())}'" if value.strip() else "is empty"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"is {shown(value)}"
    return f"is {json_type(value)}"


def starts_formula(text: str) -> bool:
    """Whether a spreadsheet would run ``text`` as a formula."""
    return text.startswith(("=", "+", "-", "@", "\t", "\r"))


def escaped(text: str) -> str:
    """``text`` as a cell that a spreadsheet does not run: with an apostrophe before what begins as a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def unescaped(rows: list[Row], columns: Iterable[str]) -> list[Row]:
    """Rows of a table whose cells in ``columns`` have lost the apostrophe that ``escaped`` gave them."""
    names = set(columns)

    def cell(name: str, value: Any) -> Any:
        given = name in names and isinstance(value, str) and value.startswith("'") and _FORMULA.match(value)
        return value[1:] if given else value

    return [Row(row.line, {name: cell(name, value) for name, value in row.values.items()}) for row in rows]


def read_utf8(path: Path, label: str, faults: list[Fault]) -> str:
    """The text of the file at ``path``; what breaks the rules is added to ``faults`` under the name ``label``.

    The text that comes back is mended (no byte order mark, LF only), so that what else is wrong can be found too. It is
    empty when the file cannot be read at all.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        faults.append(Fault(label, 0, "", "there is no such file", f"looked for {path}"))
        return ""
    except OSError as error:
        faults.append(Fault(label, 0, "", f"cannot be read: {error.strerror}", f"looked for {path}"))
        return ""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        faults.append(
            Fault(label, 1, "", "is UTF-16, not UTF-8", f"python -m verseir repair_text --encoding utf-16 {label}")
        )
        return ""
    if data.startswith(b"PK\x03\x04"):
        faults.append(Fault(label, 0, "", "is a workbook or an archive, not text", "save the sheet as CSV in UTF-8"))
        return ""
    if data.startswith(b"\xef\xbb\xbf"):
        faults.append(
            Fault(label, 1, "", "begins with a byte order mark (BOM)", f"python -m verseir repair_text {label}")
        )
        data = data[3:]
    if b"\r" in data:
        first = data[: data.index(b"\r")].count(b"\n") + 1
        count = data.count(b"\r")
        hint = f"python -m verseir repair_text {label}"
        faults.append(Fault(label, first, "", f"has CR or CRLF line ends ({count} of them); expected LF", hint))
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return _decode_by_line(data, label, faults)


def _decode_by_line(data: bytes, label: str, faults: list[Fault]) -> str:
    hint = "save it as UTF-8; if it is CP1256 (Windows, Arabic): python -m verseir repair_text --encoding cp1256 FILE"
    lines = []
    n_bad = 0
    for number, line in enumerate(data.split(b"\n"), 1):
        try:
            lines.append(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            lines.append("")
            n_bad += 1
            if n_bad <= _MOST_BAD_LINES:
                problem = f"invalid UTF-8: byte 0x{line[error.start]:02x} at column {error.start + 1}"
                faults.append(Fault(label, number, "", problem, hint))
    if n_bad <= _MOST_BAD_LINES:
        return "\n".join(lines)
    faults.append(Fault(label, 0, "", f"invalid UTF-8 on {n_bad} lines: it is in another encoding", hint))
    return ""


#: An escape that may be half of a character outside the basic plane.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the field '{next(name for name in names if names.count(name) > 1)}' stands twice")
    return values


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"{shown(digits)} is a number of {len(digits)} digits")
    return int(digits)


def _decimal(text: str) -> float:
    number = Exponential(text) if "e" in text.lower() else float(text)
    if abs(number) == float("inf"):
        raise ValueError(f"{shown(text)} is too large a number")
    return number


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def read_json_lines(path: Path, label: str, faults: list[Fault]) -> list[Row]:
    """The objects of a JSON Lines file. Blank lines are passed over."""
    rows = []
    # Not splitlines(): U+0085 and U+2028 may stand inside a text and end no line of the file.
    for number, line in enumerate(read_utf8(path, label, faults).split("\n"), 1):
        if not line or line.isspace():
            continue
        try:
            values = json.loads(
                line,
                parse_int=_whole,
                parse_float=_decimal,
                parse_constant=_no_constant,
                object_pairs_hook=_no_repeats,
            )
            if _SURROGATE.search(line):
                json.dumps(values, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError:
            problem = r"holds half a character (an escape \uD800 to \uDFFF alone)"
            faults.append(Fault(label, number, "", problem, "write the character itself, or both halves of its escape"))
            continue
        except RecursionError:
            faults.append(Fault(label, number, "", "is nested too deeply", "expected one flat JSON object a line"))
            continue
        except ValueError as error:
            faults.append(Fault(label, number, "", f"is not valid JSON: {error}", "expected one JSON object a line"))
            continue
        if isinstance(values, dict):
            rows.append(Row(number, values))
        else:
            faults.append(
                Fault(
                    label, number, "", f"is {json_type(values)}, expected an object", "expected one JSON object a line"
                )
            )
    return rows


def read_delimited(path: Path, label: str, faults: list[Fault]) -> list[Row]:
    """The rows of a CSV or TSV file with a header; every value is text, an empty cell is "".

    The delimiter is a tab for ``.tsv``; else the comma or semicolon, whichever the header has more of. Rows that are
    empty throughout are passed over.
    """
    before = len(faults)
    text = read_utf8(path, label, faults)
    header_line = text.split("\n", 1)[0]
    tab = path.suffix.lower() == ".tsv"
    delimiter = "\t" if tab else max(",;", key=lambda mark: (header_line.count(mark), mark == ","))
    csv.field_size_limit(1 << 24)  # a long poem in one cell passes the default of 131,072 characters
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[Row] = []
    header: list[str] = []
    line = 1
    try:
        for cells in reader:
            start, line = line, reader.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            if not header:
                header = [cell.strip() for cell in cells]
                _check_header(header, label, start, faults)
            elif len(cells) != len(header):
                problem = f"has {len(cells)} cells, the header has {len(header)}"
                hint = f"a cell that holds '{delimiter}' or a line break must stand in double quotes"
                faults.append(Fault(label, start, "", problem, hint if not tab else "a cell may not hold a tab"))
            else:
                rows.append(Row(start, dict(zip(header, cells, strict=True))))
    except csv.Error as error:
        faults.append(Fault(label, line, "", f"is not a valid table: {error}", "check the double quotes from here on"))
    if not header and len(faults) == before:
        faults.append(Fault(label, 1, "", "is empty", "expected a header row with the names of the columns"))
    return rows


def _check_header(header: list[str], label: str, line: int, faults: list[Fault]) -> None:
    for name in sorted({name for name in header if header.count(name) > 1}):
        problem = f"{header.count(name)} columns are called '{name}'" if name else "a column has no name"
        faults.append(Fault(label, line, name, problem, "give each column a name of its own"))
    if header.count("") == 1:
        faults.append(Fault(label, line, "", "a column has no name", "name it, or take it out"))


def read_rows(path: Path, label: str, faults: list[Fault]) -> list[Row]:
    """The rows of a ``.csv`` or ``.tsv`` table, or of JSON Lines (any other suffix)."""
    return (read_delimited if is_delimited(path) else read_json_lines)(path, label, faults)


def is_delimited(path: Path) -> bool:
    """Whether the file is a table by its suffix."""
    return path.suffix.lower() in (".csv", ".tsv")


def rename(rows: list[Row], columns: Mapping[str, str], label: str, faults: list[Fault]) -> list[Row]:
    """``rows`` with the columns that ``columns`` maps (our name to the file's) under our names.

    A name that no row has is a fault. A column that already has our name gives way to the mapped one.
    """
    if not columns or not rows:
        return rows
    present = set().union(*(row.values for row in rows))
    for ours, theirs in columns.items():
        if theirs not in present:
            faults.append(
                Fault(label, 0, theirs, f"no such column, though it is named as '{ours}'", closest(theirs, present))
            )
    taken = set(columns) | set(columns.values())
    return [
        Row(
            row.line,
            {key: value for key, value in row.values.items() if key not in taken}
            | {ours: row.values[theirs] for ours, theirs in columns.items() if theirs in row.values},
        )
        for row in rows
    ]


def first_forbidden(texts: Iterable[str]) -> str | None:
    """The code point (``U+0000``) of the first forbidden character in ``texts``, or None."""
    for text in texts:
        if found := FORBIDDEN.search(text):
            return f"U+{ord(found[0]):04X}"
    return None
