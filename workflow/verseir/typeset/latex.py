"""A table as LaTeX: ``booktabs`` is the one package it needs, and ``babel`` where a cell is Arabic."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

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
#: Sizes of type with the points that a letter takes in them, about; the points between two columns, halved; and the
#: width of a page in points.
SIZES, GAP, PAGE = (("small", 4.6), ("footnotesize", 4.1), ("scriptsize", 3.6), ("tiny", 2.8)), 3, 455
#: Letters on a line of a cell that is broken into lines.
LONGEST = 30
_LETTERS = "\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufeff"
_ARABIC = re.compile(f"[{_LETTERS}]+(?:[ {NBSP}]+[{_LETTERS}]+)*")
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
    parts = [(key, list(rows)) for key, rows in groupby(sheet.rows, key=lambda row: _texts(row[: sheet.parts]))]
    for number, (key, rows) in enumerate(parts or [((), [])]):
        lines += _table(sheet, key, rows, number)
    needs = ["booktabs"]
    if any(r"\foreignlanguage" in line for line in lines):
        needs.append("babel with the language arabic")
    return "\n".join([f"% needs {' and '.join(needs)}", *lines, ""])


def _texts(cells: Sequence[Cell]) -> tuple[str, ...]:
    return tuple(cell.text for cell in cells)


def _table(sheet: Sheet, part: tuple[str, ...], rows: list[list[Cell]], number: int) -> Iterator[str]:
    columns = sheet.columns[sheet.parts + sheet.blocks :]
    named = zip(sheet.columns, part, strict=False)  # the first columns are those of the part
    where = ", ".join(f"{column.heading} {value}" for column, value in named)
    caption = f"{sheet.caption} {where[:1].upper()}{where[1:]}." if where else sheet.caption
    label = re.sub(r"^table-\d+-", "", sheet.name) + (f"-{number + 1}" if number else "")
    yield r"\begin{table*}"  # across both columns of a page that has two
    yield rf"\centering\{_size(columns, rows, sheet.parts + sheet.blocks)}\setlength{{\tabcolsep}}{{{GAP}pt}}"
    yield rf"\caption{{{escape(caption)}}}\label{{tab:{label}}}\smallskip"
    yield rf"\begin{{tabular}}{{{''.join(column.align for column in columns)}}}"
    yield r"\toprule"
    yield _row([_heading(column) for column in columns])
    yield r"\midrule"
    if not rows:
        yield _across(escape(sheet.notes[0]), len(columns))
    inside = slice(sheet.parts, sheet.parts + sheet.blocks)
    headings = [column.heading for column in sheet.columns[inside]]
    for place, (block, group) in enumerate(groupby(rows, key=lambda row: _texts(row[inside]))):
        if place and sheet.blocks:
            yield r"\addlinespace"
        if sheet.blocks:
            said = ", ".join(_named(heading, value) for heading, value in zip(headings, block, strict=True) if value)
            yield _across(rf"\emph{{{escape(said)}}}", len(columns))
        for row in group:
            cells = zip(row[sheet.parts + sheet.blocks :], columns, strict=True)
            yield _row([_ragged(cell_text(cell), column) for cell, column in cells])
    yield r"\bottomrule"
    yield r"\end{tabular}"
    for note in sheet.notes if rows else []:
        yield rf"\par\smallskip {escape(note)}"
    yield r"\end{table*}"


def _size(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], skipped: int) -> str:
    """The largest of the small sizes in which the columns fit the width of a page, about."""
    widths = [
        max(len(column.heading), *(len(row[skipped + place].text) for row in rows)) if rows else len(column.heading)
        for place, column in enumerate(columns)
    ]
    letters = sum(LONGEST if column.align == LONG_WORDS else n for n, column in zip(widths, columns, strict=True))
    return next((size for size, point in SIZES if letters * point + 2 * GAP * len(columns) < PAGE), SIZES[-1][0])


def _named(heading: str, value: str) -> str:
    return f"{value} {heading}" if value.replace(",", "").isdigit() else value


def _heading(column: Column) -> str:
    """A heading that stands like its numbers, and is not broken into lines."""
    if column.align == WORDS:
        return escape(column.heading)
    side = "r" if column.align == NUMBERS else "l"
    return rf"\multicolumn{{1}}{{{side}}}{{{escape(column.heading)}}}"


def _ragged(said: str, column: Column) -> str:
    return rf"\raggedright {said}" if said and column.align == LONG_WORDS else said


def _across(said: str, n_columns: int) -> str:
    return rf"\multicolumn{{{n_columns}}}{{l}}{{{said}}} \\"


def _row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"
