"""Reading of what users write, row by row: JSON Lines and tables.

The readers go on after a fault and add it to a list, so that one run reports all that is wrong with a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verseir.cells import read_cells
from verseir.faults import Fault, closest, shown
from verseir.text_files import read_utf8

#: Characters that no text may hold: controls but for tab and U+0085, which old pages have as a line end; half a
#: surrogate pair, which JSON can spell and UTF-8 cannot. The C1 controls are let through: they read as spaces.
FORBIDDEN = re.compile("[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")

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


#: Characters that show nothing: marks of direction, blanks without a width. Joiners change letters inside of a word.
_UNSEEN = re.compile(
    "[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]|^[\u200c\u200d]+|[\u200c\u200d]+$"
)


def seen(text: str) -> str:
    """``text`` without the characters that show nothing, as people see an id."""
    return text if text.isascii() else _UNSEEN.sub("", text)


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


def read_delimited(
    path: Path, label: str, faults: list[Fault], sheet: str | None = None, remarks: list[str] | None = None
) -> list[Row]:
    """The rows of a table with a header, CSV, TSV or a workbook; every value is text, an empty cell is "".

    Rows that are empty throughout are passed over, columns without a name in which nothing stands, and a title of one
    cell above the header. ``sheet`` is the sheet of a workbook, its first when None. What a spreadsheet writes is read
    as it is: see ``cells``.
    """
    before = len(faults)
    rows: list[Row] = []
    header: list[str] = []
    named: list[int] = []
    again: list[int] = []
    found = read_cells(path, label, faults, sheet)
    wide = any(len(_filled(cells)) > 1 for _, cells in found.rows)
    filled = {place for _, cells in found.rows for place in _filled(cells)}
    for line, cells in found.rows:
        if not _filled(cells) or (not header and wide and len(_filled(cells)) == 1):
            continue  # blank, or the title of a table above its header
        if not header:
            header = [cell.strip() for cell in cells]
            named = [place for place, name in enumerate(header) if name or place in filled]
            stray = _stray(found.rows, header, named) if found.workbook else []
            named = [place for place in named if place not in {at for _, at in stray}]
            faults += [Fault(label, row, _cell_name(row, at), _STRAY, "empty the cell") for row, at in stray]
            _check_header([header[place] for place in named], label, line, faults)
            continue
        if [cell.strip() for cell in cells] == header and len(_filled(cells)) > 1:
            again.append(line)
            continue
        if len(cells) > len(header) and not any(cell.strip() for cell in cells[len(header) :]):
            cells = cells[: len(header)]
        if len(cells) != len(header):
            problem = f"has {len(cells)} cells, the header has {len(header)}"
            faults.append(Fault(label, line, "", problem, found.hint))
        else:
            rows.append(Row(line, {header[place]: cells[place] for place in named}))
    if remarks is not None:
        remarks += found.remarks
        remarks += [f"the header comes again on row {line}, and is passed over there" for line in again]
    if not header and len(faults) == before:
        faults.append(Fault(label, 1, "", "is empty", "expected a header row with the names of the columns"))
    return rows


#: What is said of a cell that stands alone, beside the table.
_STRAY = "stands in a column without a name, far from the others"


def _stray(rows: Sequence[tuple[int, list[str]]], header: list[str], named: list[int]) -> list[tuple[int, int]]:
    """The cells, by row and place, of a column of one cell that a blank column parts from the table."""
    last = max((place for place, name in enumerate(header) if name), default=0)
    found = []
    for place in (place for place in named if place > last + 1):
        lines = [line for line, cells in rows if len(cells) > place and cells[place].strip()]
        found += [(lines[0], place)] if len(lines) == 1 else []
    return found


def _cell_name(row: int, place: int) -> str:
    """A cell as a spreadsheet calls it: ``GR2``."""
    letters = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        letters = chr(65 + rest) + letters
    return f"{letters}{row}"


def _filled(cells: list[str]) -> list[int]:
    return [place for place, cell in enumerate(cells) if cell.strip()]


def _check_header(header: list[str], label: str, line: int, faults: list[Fault]) -> None:
    for name in sorted({name for name in header if header.count(name) > 1}):
        problem = f"{header.count(name)} columns are called '{name}'" if name else "a column has no name"
        faults.append(Fault(label, line, name, problem, "give each column a name of its own"))
    if header.count("") == 1:
        faults.append(Fault(label, line, "", "a column has no name", "name it, or take it out"))


def read_rows(
    path: Path, label: str, faults: list[Fault], sheet: str | None = None, remarks: list[str] | None = None
) -> list[Row]:
    """The rows of a table (by its suffix, see ``is_delimited``), or of JSON Lines (any other suffix)."""
    if is_delimited(path):
        return read_delimited(path, label, faults, sheet, remarks)
    if sheet is not None:
        faults.append(Fault(label, 0, "sheet", "is no workbook, and has no sheets", "take `sheet` out"))
    return read_json_lines(path, label, faults)


def is_delimited(path: Path) -> bool:
    """Whether the file is a table by its suffix: a spreadsheet, or saved from one."""
    return path.suffix.lower() in (".csv", ".tsv", ".xlsx", ".xlsm")


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
