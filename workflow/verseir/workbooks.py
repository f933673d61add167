"""Workbooks (XLSX): the rows of one sheet, every cell as the text that a person sees in it."""

from __future__ import annotations

import datetime
import io
import re
import warnings
import zipfile
from collections.abc import Iterator
from typing import Any

from verseir.faults import Fault, closest, first_few
from verseir.formats import count

#: Characters that the format spells out, such as _x000D_.
_SPELT = re.compile("_x([0-9A-Fa-f]{4})_")
#: A formula, in the file of a sheet.
_FORMULA = re.compile(rb"<(?:\w+:)?f[ />]")
#: Parts of a number format that change nothing of what is seen of the digits: colours, quoted texts, padding.
_DRESS = re.compile(r'\[[^\]]*\]|"[^"]*"|\\.|_.|\*.')
#: Number formats with leading zeros; with thousands, decimals and percentages.
_ZEROS, _DECIMALS = re.compile("0+"), re.compile(r"(#,##)?0(?:\.(0+))?(%?)")
#: A number format with words before or behind the digits, such as "P"000.
_LITERAL = re.compile(r'((?:"[^"]*"|\\.)*)(0+|#,##0|General)((?:"[^"]*"|\\.)*)(?:;.*)?')
#: The parts of a date in a number format, the longest first.
_DATE_PARTS = re.compile(r"yyyy|yy|mm|m|dd|d|hh|h|ss|s|[/\-. :,]")
#: Names of months and days.
_NAMED = re.compile("m{3}|d{3}")
#: The formats in which every country sees its own way of writing a date.
_LOCAL = ("mm-dd-yy", "m/d/yy h:mm")

#: What a workbook may unpack to, in bytes; what one of its cells may hold, in characters: no program writes more.
_MOST_UNPACKED, _MOST_IN_CELL = 1_000_000_000, 32_767
_LONG = "part the text into several cells, or keep the table as CSV"


def read_workbook(
    data: bytes, label: str, faults: list[Fault], sheet: str | None, remarks: list[str] | None = None
) -> list[tuple[int, list[str]]]:
    """The rows of a sheet that hold something, each with its number: of ``sheet``, or of the first that holds any.

    Hidden sheets are read where they are named. All rows are as long as the longest. Errors of formulas, and formulas
    whose value the file does not hold, are added to ``faults``; what other sheets hold is told in ``remarks``.
    """
    try:
        if problem := _unfit(data):
            faults.append(Fault(label, 0, "", problem, "save it as .xlsx, or as CSV in UTF-8"))
            return []
        sheet = _chosen(data, sheet, label, faults, [] if remarks is None else remarks)
        rows = [] if sheet is None else list(_rows(data, sheet))
        found = list(_lost_formulas(data, label, sheet)) if rows and sheet and _has_formulas(data) else []
    except Exception as error:  # whatever a reader of workbooks makes of a damaged one
        problem = f"is no workbook that can be read: it is damaged, or not whole ({type(error).__name__}: {error})"
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
        found += [
            Fault(label, number, cell.coordinate, f"holds {len(cell.value):,} characters, more than a cell may", _LONG)
            for cell in cells
            if isinstance(cell.value, str) and len(cell.value) > _MOST_IN_CELL
        ]
    faults += first_few(found)
    if any("more than a cell may" in fault.problem for fault in found):
        return []
    texts = [(number, [shown_cell(cell) for cell in cells]) for number, cells in rows]
    width = max((place + 1 for _, cells in texts for place, text in enumerate(cells) if text.strip()), default=0)
    return [(number, (cells + [""] * width)[:width]) for number, cells in texts]


def _unfit(data: bytes) -> str:
    """Why a packed file is no workbook that is read; "" where it may be one. Nothing is unpacked but for a name."""
    with zipfile.ZipFile(io.BytesIO(data)) as parts:
        infos = {info.filename: info for info in parts.infolist()}
        if "mimetype" in infos and infos["mimetype"].file_size < 200:
            kind = parts.read("mimetype").decode("ascii", errors="replace").rpartition(".")[2]
            return f"is a file of OpenDocument ({kind}), not a workbook in XLSX"
    if any(name.startswith("word/") for name in infos):
        return "is a document of Word, not a workbook"
    if "[Content_Types].xml" not in infos:
        return "is an archive, not a workbook"
    if "xl/workbook.bin" in infos:
        return "is a binary workbook (.xlsb), not one in XLSX"
    large = sum(info.file_size for info in infos.values())
    if large > _MOST_UNPACKED:
        return f"unpacks to {large / 1e9:.1f} GB, more than the {_MOST_UNPACKED / 1e9:.0f} GB that are read"
    return ""


def _open(data: bytes, values: bool) -> Any:
    """The workbook, with the values of its formulas or with the formulas."""
    import openpyxl

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and extensions, which are not read
        return openpyxl.load_workbook(io.BytesIO(_without_charts(data)), read_only=True, data_only=values)


def _without_charts(data: bytes) -> bytes:
    """The workbook without sheets that are charts: they hold no cells, and openpyxl cannot pass them over."""
    with zipfile.ZipFile(io.BytesIO(data)) as parts:
        names = parts.namelist()
        if not any(name.startswith("xl/chartsheets/") for name in names):
            return data
        related = parts.read("xl/_rels/workbook.xml.rels")
        charts = [tag for tag in re.findall(rb"<(?:\w+:)?Relationship\b[^>]*>", related) if b'/chartsheet"' in tag]
        ids = [found[1] for tag in charts if (found := re.search(rb"\bId=\"([^\"]*)\"", tag))]
        book = parts.read("xl/workbook.xml")
        for tag in re.findall(rb"<(?:\w+:)?sheet\b[^>]*>", book):
            if any(b'"' + name + b'"' in tag for name in ids):
                book = book.replace(tag, b"")
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as kept:
            for name in names:
                kept.writestr(name, book if name == "xl/workbook.xml" else parts.read(name))
    return out.getvalue()


def _page(book: Any, sheet: str) -> Any:
    page = book[sheet]
    page.reset_dimensions()  # some programs write wrong ones
    return page


def _chosen(data: bytes, sheet: str | None, label: str, faults: list[Fault], remarks: list[str]) -> str | None:
    """The name of the sheet that is read; None with a fault for none."""
    book = _open(data, True)
    titles = [page.title for page in book.worksheets]
    if sheet is not None:
        if sheet not in titles:
            faults.append(Fault(label, 0, "sheet", f"no sheet is called '{sheet}'", closest(sheet, titles)))
        return sheet if sheet in titles else None
    seen = [page.title for page in book.worksheets if page.sheet_state == "visible"] or titles
    if len(seen) < 2:
        return seen[0] if seen else None
    n_rows = {title: sum(_holds(cells) for cells in _page(book, title).iter_rows(values_only=True)) for title in seen}
    filled = [title for title in seen if n_rows[title]]
    chosen = (filled or seen)[0]
    if rest := [f"'{title}' ({count(n_rows[title], 'row')})" for title in filled if title != chosen]:
        remarks.append(f"sheet '{chosen}' was read; not read: {', '.join(rest)}; `sheet: NAME` names another")
    elif filled and chosen != seen[0]:
        remarks.append(f"sheet '{chosen}' was read, the first that holds rows")
    return chosen


def _holds(cells: Any) -> bool:
    return any(value is not None for value in cells)


def _rows(data: bytes, sheet: str) -> Iterator[tuple[int, tuple[Any, ...]]]:
    for number, cells in enumerate(_page(_open(data, True), sheet).iter_rows(), 1):
        if any(cell.value is not None for cell in cells):
            yield number, cells


def _has_formulas(data: bytes) -> bool:
    with zipfile.ZipFile(io.BytesIO(data)) as parts:
        names = [name for name in parts.namelist() if re.fullmatch(r"xl/worksheets/[^/]*\.xml", name)]
        return any(_FORMULA.search(parts.read(name)) for name in names)


def _lost_formulas(data: bytes, label: str, sheet: str) -> Iterator[Fault]:
    """Formulas whose value the file does not hold: written by a program that does not reckon."""
    lost = {
        cell.coordinate: cell.row
        for row in _page(_open(data, False), sheet).iter_rows()
        for cell in row
        if cell.value is not None and cell.data_type == "f"
    }
    for row in _page(_open(data, True), sheet).iter_rows():
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
    spoken = _LITERAL.fullmatch(number_format)
    if spoken and (spoken[1] or spoken[3]) and (value >= 0 or ";" not in number_format):
        inner = shown_value(abs(value), spoken[2])
        return f"{'-' if value < 0 else ''}{_words(spoken[1])}{inner}{_words(spoken[3])}"
    pattern = _DRESS.sub("", number_format.partition(";")[0]).strip()
    if _ZEROS.fullmatch(pattern):
        return f"{value:0{len(pattern) + (value < 0)}.0f}"
    if pattern not in ("General", "@", "") and (found := _DECIMALS.fullmatch(pattern)):
        shown = value * 100 if found[3] else value
        return f"{shown:{',' if found[1] else ''}.{len(found[2] or '')}f}{found[3]}"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else f"{value:.11g}"


def _words(literal: str) -> str:
    """What quoted texts and characters behind a backslash of a number format show."""
    return re.sub(r'"([^"]*)"|\\(.)', lambda found: found[1] or found[2] or "", literal)


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
