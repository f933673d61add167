"""Workbooks (XLSX): the rows of one sheet, every cell as the text that a person sees in it."""

from __future__ import annotations

import datetime
import io
import re
import warnings
import zipfile
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import ParseError

from verseir.faults import Fault, closest, first_few

#: Characters that the format spells out, such as _x000D_.
_SPELT = re.compile("_x([0-9A-Fa-f]{4})_")
#: A formula, in the file of a sheet.
_FORMULA = re.compile(rb"<(?:\w+:)?f[ />]")
#: Parts of a number format that change nothing of what is seen of the digits: colours, quoted texts, padding.
_DRESS = re.compile(r'\[[^\]]*\]|"[^"]*"|\\.|_.|\*.')
#: Number formats with leading zeros; with thousands, decimals and percentages.
_ZEROS, _DECIMALS = re.compile("0+"), re.compile(r"(#,##)?0(?:\.(0+))?(%?)")
#: The parts of a date in a number format, the longest first.
_DATE_PARTS = re.compile(r"yyyy|yy|mm|m|dd|d|hh|h|ss|s|[/\-. :,]")
#: Names of months and days.
_NAMED = re.compile("m{3}|d{3}")
#: The formats in which every country sees its own way of writing a date.
_LOCAL = ("mm-dd-yy", "m/d/yy h:mm")


def read_workbook(data: bytes, label: str, faults: list[Fault], sheet: str | None) -> list[tuple[int, list[str]]]:
    """The rows of a sheet that hold something, each with its number: of ``sheet``, or of the first that is not hidden.

    All rows are as long as the longest. Errors of formulas, and formulas whose value the file does not hold, are added
    to ``faults``.
    """
    try:
        rows = list(_rows(data, label, faults, sheet))
        found = list(_lost_formulas(data, label, sheet)) if rows and _has_formulas(data) else []
    except (OSError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile, ParseError) as error:
        problem = f"is no workbook that can be read ({type(error).__name__}: {error})"
        faults.append(Fault(label, 0, "", problem, "save it as .xlsx, or as CSV in UTF-8"))
        return []
    for number, cells in rows:
        found += [
            Fault(
                label, number, cell.coordinate, f"holds the error {cell.value}", "mend the formula, or empty the cell"
            )
            for cell in cells
            if cell.value is not None and cell.data_type == "e"
        ]
    faults += first_few(found)
    texts = [(number, [shown_cell(cell) for cell in cells]) for number, cells in rows]
    width = max((place + 1 for _, cells in texts for place, text in enumerate(cells) if text.strip()), default=0)
    return [(number, (cells + [""] * width)[:width]) for number, cells in texts]


def _sheet(data: bytes, values: bool, label: str, faults: list[Fault], sheet: str | None) -> Any:
    """The sheet that is read, with the values of its formulas or with the formulas; None with a fault for none."""
    import openpyxl

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and extensions, which are not read
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=values)
    named = {page.title: page for page in book.worksheets}
    if sheet is None:
        seen = [page for page in book.worksheets if page.sheet_state == "visible"]
        found = (seen or book.worksheets or [None])[0]
    else:
        found = named.get(sheet)
    if found is None:
        faults.append(Fault(label, 0, "sheet", f"no sheet is called '{sheet}'", closest(sheet or "", named)))
    else:
        found.reset_dimensions()  # some programs write wrong ones
    return found


def _rows(data: bytes, label: str, faults: list[Fault], sheet: str | None) -> Iterator[tuple[int, tuple[Any, ...]]]:
    page = _sheet(data, True, label, faults, sheet)
    for number, cells in enumerate([] if page is None else page.iter_rows(), 1):
        if any(cell.value is not None for cell in cells):
            yield number, cells


def _has_formulas(data: bytes) -> bool:
    with zipfile.ZipFile(io.BytesIO(data)) as parts:
        names = [name for name in parts.namelist() if re.fullmatch(r"xl/worksheets/[^/]*\.xml", name)]
        return any(_FORMULA.search(parts.read(name)) for name in names)


def _lost_formulas(data: bytes, label: str, sheet: str | None) -> Iterator[Fault]:
    """Formulas whose value the file does not hold: written by a program that does not reckon."""
    lost = {
        cell.coordinate: cell.row
        for row in _sheet(data, False, label, [], sheet).iter_rows()
        for cell in row
        if cell.value is not None and cell.data_type == "f"
    }
    for row in _sheet(data, True, label, [], sheet).iter_rows():
        for cell in row:
            if cell.value is not None:
                lost.pop(cell.coordinate, None)
    for place, number in lost.items():
        hint = "open the file in a spreadsheet program and save it"
        yield Fault(label, number, place, "is a formula, and the file does not hold its value", hint)


def shown_cell(cell: Any) -> str:
    """The text that a person sees in a cell."""
    value = cell.value
    if value is None:
        return ""
    if isinstance(value, str):
        text = _SPELT.sub(lambda found: chr(int(found[1], 16)), value)
        return text.replace("\r\n", "\n").replace("\r", "\n")
    return shown_value(value, str(cell.number_format or "General"))


def shown_value(value: Any, number_format: str) -> str:
    """A number, a date or a truth value, as text; dates in a country's own way, or with names, as ISO has them."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return _shown_date(value, number_format.partition(";")[0])
    if isinstance(value, datetime.timedelta):
        seconds = round(value.total_seconds())
        return f"{seconds // 3600}:{seconds % 3600 // 60:02}:{seconds % 60:02}"
    if not isinstance(value, int | float):
        return str(value)
    pattern = _DRESS.sub("", number_format.partition(";")[0]).strip()
    if _ZEROS.fullmatch(pattern):
        return f"{value:0{len(pattern) + (value < 0)}.0f}"
    if pattern not in ("General", "@", "") and (found := _DECIMALS.fullmatch(pattern)):
        shown = value * 100 if found[3] else value
        return f"{shown:{',' if found[1] else ''}.{len(found[2] or '')}f}{found[3]}"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else f"{value:.11g}"


def _shown_date(value: Any, number_format: str) -> str:
    pattern = _DRESS.sub("", number_format).strip().lower()
    names = _DATE_PARTS.findall(pattern)
    if pattern in _LOCAL or _NAMED.search(pattern) or "".join(names) != pattern or not any(map(str.isalpha, pattern)):
        if isinstance(value, datetime.datetime):
            whole = value.time() == datetime.time()
            return value.date().isoformat() if whole else value.isoformat(" ", "minutes")
        return value.isoformat("minutes") if isinstance(value, datetime.time) else str(value.isoformat())
    text, after_hours = "", False
    for number, name in enumerate(names):
        minutes = name in ("m", "mm") and (after_hours or any(part in ("s", "ss") for part in names[number + 1 :][1:2]))
        text += _part(value, name, minutes)
        after_hours = name in ("h", "hh") or (after_hours and not name.isalpha())
    return text


def _part(value: Any, name: str, minutes: bool) -> str:
    """One part of a date or a time, as a number format asks for it."""
    if not name.isalpha():
        return name
    kind = "minute" if minutes else {"y": "year", "m": "month", "d": "day", "h": "hour", "s": "second"}[name[0]]
    number = getattr(value, kind, 0)
    if kind == "year":
        return f"{number:04}" if name == "yyyy" else f"{number % 100:02}"
    return f"{number:0{len(name)}}"
