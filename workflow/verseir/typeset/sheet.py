"""A table as it is printed: headings, cells that are text already, and what has to be said below it."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from verseir.atomic import atomic_path
from verseir.formats import NBSP

#: Alignments of columns, as LaTeX names them.
WORDS, NUMBERS, LONG_WORDS = "l", "r", r"p{0.3\textwidth}"


class Column(NamedTuple):
    """A heading and its alignment."""

    heading: str
    align: str = WORDS


class Cell(NamedTuple):
    """One printed value; ``best`` where it is the best of its kind."""

    text: str
    best: bool = False


@dataclass(frozen=True)
class Sheet:
    """One table of a paper.

    The first ``parts`` columns part it into tables of their own, and the next ``blocks`` columns part these into blocks
    of rows under a heading: LaTeX shows them so. A sheet without rows has a note that says why.
    """

    name: str
    caption: str
    columns: list[Column]
    rows: list[list[Cell]]
    notes: list[str] = field(default_factory=list)
    parts: int = 0
    blocks: int = 0

    def __post_init__(self) -> None:
        for row in self.rows:
            assert len(row) == len(self.columns), f"{self.name}: {len(row)} cells in {len(self.columns)} columns"
        assert self.rows or self.notes, f"{self.name} has no rows and does not say why"


def write_csv(sheet: Sheet, path: str | Path) -> None:
    """Write a sheet for a spreadsheet: the best values have an asterisk, notes stand in the first column below."""
    width = len(sheet.columns)
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([column.heading for column in sheet.columns])
        for row in sheet.rows:
            texts = [cell.text.replace(NBSP, " ") for cell in row]
            writer.writerow([f"{text} *" if cell.best else text for text, cell in zip(texts, row, strict=True)])
        best = ["* the best"] if any(cell.best for row in sheet.rows for cell in row) else []
        for note in [*best, *sheet.notes]:
            writer.writerow([note, *[""] * (width - 1)])
