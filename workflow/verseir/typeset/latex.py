"""A table as LaTeX: ``booktabs`` is the one package it needs, and ``babel`` where a cell is Arabic."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from verseir.atomic import atomic_path
from verseir.formats import MINUS, NBSP
from verseir.typeset.sheet import LONG_WORDS, NUMBERS, WORDS, Cell, Column, Sheet

#: Characters that LaTeX would take for something else, or that its first fonts lack.
_SPECIAL = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "~": r"\~{}",
        "^": r"\^{}",
        "<": "$<$",
        ">": "$>$",
        "|": "$|$",
        '"': "''",
        "`": r"\`{}",
        MINUS: "$-$",
        NBSP: "~",
        "†": r"$^\dagger$",
        "‡": r"$^\ddagger$",
        "≥": r"$\geq$",
        "≤": r"$\leq$",
        "×": r"$\times$",
        "κ": r"$\kappa$",
        "ρ": r"$\rho$",
        "τ": r"$\tau$",
        "…": r"\ldots{}",
    }
)
#: Sizes of type with what a width of 1 is in them, the largest first: letters of the smaller ones are wider than their
#: points say; the width of a page and of a column of a page that has two, in
#: points, 7 and 3.33 inches; and points between two columns, halved, at best and where it is tight.
SIZES, PAGE, COLUMN = (("small", 9.4), ("footnotesize", 8.7), ("scriptsize", 8.2), ("tiny", 7.0)), 505, 240
GAP, TIGHT = 3.0, 1.5
#: The smallest size that is read with ease; a smaller one is taken where a page would not hold the table else.
SMALLEST = "scriptsize"
#: Lines of a table that a page holds; what is longer goes on in a table of its own.
LINES = 58
#: Letters on a line of a cell that is broken into lines.
LONGEST = 30
#: Widths of letters in parts of the size of the type, about those of Computer Modern.
_WIDTHS = {".": 0.28, ",": 0.28, "[": 0.28, "]": 0.28, " ": 0.3, NBSP: 0.3, "'": 0.28, "i": 0.28, "l": 0.28, "+": 0.78}
_WIDTHS |= {MINUS: 0.78, "%": 0.83, "t": 0.39, "f": 0.31, "r": 0.39, "(": 0.39, ")": 0.39, "m": 0.83, "w": 0.72}
_DIGIT, _SMALL, _CAPITAL, _POWER_EMS = 0.5, 0.53, 0.75, 4.8
_LETTERS = "\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufeff"
_ARABIC = re.compile(f"[{_LETTERS}]+(?:[ {NBSP}]+[{_LETTERS}]+)*")
#: A value with its interval, and the marks after it.
_INTERVAL = re.compile(rf"([+{MINUS}]?[\d.,]+%?) (\[[^\]]*\])([†‡]*)")
_POWER = re.compile(r"(< )?(\d(?:\.\d+)?)e(-?\d+)")


def escape(text: str) -> str:
    """``text`` as LaTeX sets it: on one line, no character with a meaning of its own, Arabic marked as such."""
    line = NBSP.join(" ".join(part.split()) for part in text.split(NBSP))
    parts, end = [], 0
    for found in _ARABIC.finditer(line):
        parts += [_plain(line[end : found.start()]), rf"\foreignlanguage{{arabic}}{{{_plain(found.group())}}}"]
        end = found.end()
    whole = "".join([*parts, _plain(line[end:])])
    return f"{{{whole[0]}}}{whole[1:]}" if whole[:1] in ("[", "*") else whole  # `\\` would read them as its own


def _plain(text: str) -> str:
    return re.sub(r"-(?=-)", "-{}", text.translate(_SPECIAL))  # two hyphens would become a dash


def cell_text(cell: Cell) -> str:
    """A cell as LaTeX; a power of ten as one, the best in bold."""
    power = _POWER.fullmatch(cell.text)
    if power:
        below, mantissa, exponent = power.groups()
        said = rf"${'<' if below else ''}{mantissa}\times10^{{{int(exponent)}}}$"
    else:
        said = escape(cell.text)
    return rf"\textbf{{{said}}}" if cell.best else said


def write_latex(sheet: Sheet, path: str | Path) -> None:
    """Write a sheet as one ``table`` for each of its parts, to be taken in by ``\\input``."""
    with atomic_path(path) as temporary:
        temporary.write_text(latex(sheet), encoding="utf-8")


def latex(sheet: Sheet) -> str:
    """The LaTeX of a sheet."""
    lines: list[str] = []
    number = 0
    parts = [(key, list(rows)) for key, rows in groupby(sheet.rows, key=lambda row: _texts(row[: sheet.parts]))]
    for key, rows in parts or [((), [])]:
        for place, page in enumerate(_pages(sheet, rows)):
            lines += _table(sheet, key, page, number, continued=place > 0)
            number += 1
    needs = ["booktabs"]
    if any(r"\foreignlanguage" in line for line in lines):
        needs.append("babel with the language arabic")
    return "\n".join([f"% needs {' and '.join(needs)}", *lines, ""])


def _texts(cells: Sequence[Cell]) -> tuple[str, ...]:
    return tuple(cell.text for cell in cells)


def _pages(sheet: Sheet, rows: list[list[Cell]]) -> list[list[list[Cell]]]:
    """The rows of a part, parted where a page would not hold them: between blocks where that can be."""
    pages: list[list[list[Cell]]] = [[]]
    used = 0
    for _, group in groupby(rows, key=lambda row: _texts(row[sheet.parts : sheet.parts + sheet.blocks])):
        block = list(group)
        lines = [_lines(row, sheet) for row in block]
        head = 2 if sheet.blocks else 0
        if used and used + head + sum(lines) > LINES:
            pages.append([])
            used = 0
        used += head
        for row, height in zip(block, lines, strict=True):
            if pages[-1] and used + height > LINES:
                pages.append([])
                used = head
            pages[-1].append(row)
            used += height
    return pages


def _lines(row: Sequence[Cell], sheet: Sheet) -> int:
    """How many lines a row takes."""
    long = [
        len(cell.text) // LONGEST for cell, column in zip(row, sheet.columns, strict=True) if column.align == LONG_WORDS
    ]
    return 1 + max(long, default=0)


class _Fit(NamedTuple):
    """How a table is set: its size of type, half of the gap between columns in points, and whether it takes the page or
    a column of it."""

    size: str
    gap: float
    wide: bool


def _table(
    sheet: Sheet, part: tuple[str, ...], rows: list[list[Cell]], number: int, continued: bool = False
) -> Iterator[str]:
    skipped = sheet.parts + sheet.blocks
    columns = sheet.columns[skipped:]
    cells = [row[skipped:] for row in rows]
    parted = [_is_parted(place, column, cells) for place, column in enumerate(columns)]
    n_columns = len(columns) + sum(parted)
    named = zip(sheet.columns, part, strict=False)  # the first columns are those of the part
    where = ", ".join(f"{column.heading} {value}" for column, value in named)
    caption = f"{sheet.caption} {where[:1].upper()}{where[1:]}." if where else sheet.caption
    caption += " Continued." if continued else ""
    label = re.sub(r"^table-\d+-", "", sheet.name) + (f"-{number + 1}" if number else "")
    fit = _fit(columns, cells)
    table = "table*" if fit.wide else "table"
    yield rf"\begin{{{table}}}"
    yield rf"\centering\{fit.size}\setlength{{\tabcolsep}}{{{fit.gap:g}pt}}"
    yield rf"\caption{{{escape(caption)}}}\label{{tab:{label}}}\smallskip"
    yield rf"\begin{{tabular}}{{{''.join(map(_spec, columns, parted))}}}"
    yield r"\toprule"
    yield _row([_heading(column, two) for column, two in zip(columns, parted, strict=True)])
    yield r"\midrule"
    if not rows:
        yield _across(escape(sheet.notes[0]), n_columns)
    inside = slice(sheet.parts, skipped)
    headings = [column.heading for column in sheet.columns[inside]]
    for place, (block, group) in enumerate(groupby(rows, key=lambda row: _texts(row[inside]))):
        if place and sheet.blocks:
            yield r"\addlinespace"
        if sheet.blocks:
            said = ", ".join(_named(heading, value) for heading, value in zip(headings, block, strict=True) if value)
            yield _across(rf"\emph{{{escape(said)}}}", n_columns)
        for row in group:
            own = zip(row[skipped:], columns, parted, strict=True)
            yield _row([_ragged(_in_two(cell) if two else cell_text(cell), column) for cell, column, two in own])
    yield r"\bottomrule"
    yield r"\end{tabular}"
    if rows and sheet.notes:
        yield r"\par\smallskip\begin{minipage}{\linewidth}\raggedright"
        yield r" \par ".join(escape(f"{note.removesuffix('.')}.") for note in sheet.notes)
        yield r"\end{minipage}"
    yield rf"\end{{{table}}}"


def _is_parted(place: int, column: Column, rows: Sequence[Sequence[Cell]]) -> bool:
    """Whether a column holds values with intervals: those stand in two columns, so that the numbers are aligned."""
    return column.align == NUMBERS and any(_INTERVAL.fullmatch(row[place].text) for row in rows)


def _in_two(cell: Cell) -> str:
    """A value and its interval as two cells, the best value in bold; marks stand after the interval.

    What has no interval stands in the middle of both.
    """
    found = _INTERVAL.fullmatch(cell.text)
    if not found:
        return rf"\multicolumn{{2}}{{c}}{{{cell_text(cell)}}}"
    value, ends, marks = found.groups()
    return f"{cell_text(Cell(value, cell.best))} & {escape(ends).replace('{[}', '[', 1)}{escape(marks)}"


def _spec(column: Column, parted: bool) -> str:
    return r"r@{\ }l" if parted else column.align


def _fit(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> _Fit:
    """The largest of the small sizes in which the columns fit a column of the page, about, or else the page."""
    long = any(column.align == LONG_WORDS for column in columns)  # a share of the page
    widths = [_width(column, [row[place].text for row in rows]) for place, column in enumerate(columns)]
    own, place = sum(widths), [name for name, _ in SIZES].index(SMALLEST)
    readable = [(name, point, gap) for gap in (GAP, TIGHT) for name, point in SIZES[: place + 1]]
    for wide, room in ((False, COLUMN), (True, PAGE)):
        for name, point, gap in readable:
            if (wide or not long) and own * point + 2 * gap * len(columns) < room:
                return _Fit(name, gap, wide)
    return _Fit(SIZES[-1][0], TIGHT, wide=True)


def _width(column: Column, texts: Sequence[str]) -> float:
    """The width of a column in parts of the size of the type, about: values and intervals are aligned apart."""
    if column.align == LONG_WORDS:
        return LONGEST * _SMALL
    found = [_INTERVAL.fullmatch(text) for text in texts]
    halves = [(_ems(one[1]), _ems(one[2] + one[3])) for one in found if one]
    both = max((value for value, _ in halves), default=0) + max((ends for _, ends in halves), default=0) + _WIDTHS[" "]
    return max(both, *map(_ems, [column.heading, *texts]))


def _ems(text: str) -> float:
    """The width of a text in parts of its size, about."""
    if _POWER.fullmatch(text):
        return _POWER_EMS
    return sum(
        _WIDTHS.get(letter, _DIGIT if letter.isdigit() else _CAPITAL if letter.isupper() else _SMALL) for letter in text
    )


def _named(heading: str, value: str) -> str:
    return f"{value} {heading}" if value.replace(",", "").isdigit() else value


def _heading(column: Column, parted: bool) -> str:
    """A heading that stands like its numbers, and is not broken into lines."""
    if column.align == WORDS:
        return escape(column.heading)
    side = "c" if parted else "r" if column.align == NUMBERS else "l"
    return rf"\multicolumn{{{1 + parted}}}{{{side}}}{{{escape(column.heading)}}}"


def _ragged(said: str, column: Column) -> str:
    return rf"\raggedright {said}" if said and column.align == LONG_WORDS else said


def _across(said: str, n_columns: int) -> str:
    return rf"\multicolumn{{{n_columns}}}{{l}}{{{said}}} \\"


def _row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"
