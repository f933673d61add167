"""Records from the rows of ``jsonl`` and ``csv`` files: the fields that both have in common."""

from __future__ import annotations

import re
from typing import Any

from verseir.corpora import layout
from verseir.corpora.model import TEXT_FIELDS, Record, Verse
from verseir.faults import Fault
from verseir.rows import Row, json_type


def new_record(row: Row, label: str, faults: list[Fault]) -> Record | None:
    """A record with the id and the plain fields of ``row``, without verses; None when it has no usable id."""
    poem_id = row.values.get("poem_id")
    if not isinstance(poem_id, str) or not poem_id:
        if "poem_id" not in row.values:
            problem, hint = (
                "is missing",
                "every poem needs an id; if the column has another name: columns: {poem_id: name}",
            )
        elif poem_id == "":
            problem, hint = "is empty", "every poem needs an id; in a table of verses, repeat it on every row"
        else:
            problem, hint = f"is {json_type(poem_id)}, expected text", 'put the id in quotes: "17"'
        faults.append(Fault(label, row.line, "poem_id", problem, hint))
        return None
    record = Record(poem_id, [], file=label, line=row.line)
    for name in TEXT_FIELDS:
        setattr(record, name, _text(row, name, label, faults))
    return record


def _text(row: Row, name: str, label: str, faults: list[Fault]) -> str | None:
    value = row.values.get(name)
    if value is None or isinstance(value, str):
        return value.strip() or None if value else None
    faults.append(Fault(label, row.line, name, f"is {json_type(value)}, expected text or null", "put it in quotes"))
    return None


class VerseSplitter:
    """Cuts the verses of a whole file into hemistichs, by a stated separator or by the one that the file shows."""

    def __init__(self, spec: dict[str, Any], label: str):
        self.label = label
        self.stated: str | None = spec.get("hemistich_separator")
        self._waiting: list[tuple[Record, list[str], list[int]]] = []

    def add(self, record: Record, verses: list[str], lines: list[int] | None = None) -> None:
        """Note that ``verses``, from these lines of the file, are those of ``record``."""
        self._waiting.append((record, verses, lines or [record.line] * len(verses)))

    def split(self, faults: list[Fault]) -> None:
        """Give every record its verses, once all are known."""
        separator = (
            layout.separator_pattern(self.stated)
            if self.stated
            else layout.find_separator(verse for _, verses, _ in self._waiting for verse in verses)
        )
        for record, verses, lines in self._waiting:
            if separator is None:
                self._check_marks(verses, lines, faults)
            record.verses = [
                self._verse(text, separator, line, number, faults)
                for number, (text, line) in enumerate(zip(verses, lines, strict=True), 1)
            ]

    def _check_marks(self, verses: list[str], lines: list[int], faults: list[Fault]) -> None:
        """A verse that holds a mark of hemistichs again and again is a poem in one line, not a verse."""
        for text, line in zip(verses, lines, strict=True):
            for mark in ("***", "//"):
                if (n := len(layout.split_verse(text, layout.separator_pattern(mark)))) > 2:
                    problem = f"'{mark}' parts this text into {n} pieces: it is no verse of two hemistichs"
                    hint = "put each verse on a line of its own, or name what parts the verses: verse_separator"
                    faults.append(Fault(self.label, line, "verses", problem, hint))

    def _verse(
        self, text: str, separator: re.Pattern[str] | None, line: int, number: int, faults: list[Fault]
    ) -> Verse:
        parts = layout.split_verse(text, separator)
        if len(parts) > 2:
            problem = f"verse {number} falls into {len(parts)} hemistichs, expected one or two"
            hint = "put each verse on a line of its own, or name the mark between hemistichs: hemistich_separator"
            faults.append(Fault(self.label, line, "verses", problem, hint))
        return layout.pair(parts[:2])
