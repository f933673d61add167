"""Records from the rows of ``jsonl`` and ``csv`` files: the fields that both have in common."""

from __future__ import annotations

import re
from typing import Any

from verseir.corpora import layout
from verseir.corpora.marks import Marks, marks_of_poems, marks_of_verses
from verseir.corpora.model import TEXT_FIELDS, Record, Verse
from verseir.faults import Fault, first_few
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
            problem, hint = (
                "is empty",
                "every poem needs an id; in a table of verses, on the first of its rows at least",
            )
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
    """Cuts the verses of a whole file into hemistichs, by a stated separator or by the one that the file shows.

    ``told`` and ``warnings`` are what people are to know of it once ``split`` has run.
    """

    def __init__(self, spec: dict[str, Any], label: str):
        self.label = label
        self.stated: str | None = spec.get("hemistich_separator")
        self.between: str | None = spec.get("verse_separator")
        self.told: tuple[str, ...] = ()
        self.warnings: tuple[str, ...] = ()
        self._waiting: list[tuple[Record, list[str], list[int]]] = []
        self._poems: list[tuple[Record, str]] = []

    def add(self, record: Record, verses: list[str], lines: list[int] | None = None) -> None:
        """Note that ``verses``, from these lines of the file, are those of ``record``."""
        self._waiting.append((record, verses, lines or [record.line] * len(verses)))

    def add_poem(self, record: Record, text: str) -> None:
        """Note that ``text`` holds all verses of ``record``."""
        self._poems.append((record, text))

    def split(self, faults: list[Fault]) -> None:
        """Give every record its verses, once all are known."""
        name = self.stated
        if self.stated is None or self._poems:
            marks = self._found()
            self.told, self.warnings = marks.told, marks.warnings
            if marks.problem:
                faults.append(Fault(self.label, 0, "verses", marks.problem, marks.hint))
                return
            name = self.stated or marks.hemistich
            for record, text in self._poems:
                self._add_split(record, text, marks, faults)
        separator = layout.separator_pattern(name) if name else None
        found: list[Fault] = []
        for record, verses, lines in self._waiting:
            if separator is None:
                self._check_marks(verses, lines, found)
            record.verses = [
                self._verse(text, separator, line, number, found)
                for number, (text, line) in enumerate(zip(verses, lines, strict=True), 1)
            ]
        faults += first_few(found)

    def of_file(self) -> list[str]:
        """The warnings, with the name of the file."""
        return [f"{self.label}: {warning}" for warning in self.warnings]

    def _found(self) -> Marks:
        """What parts verses and hemistichs; what the spec says is taken as it is."""
        if not self._poems:
            return marks_of_verses([verse for _, verses, _ in self._waiting for verse in verses])
        if self.stated is not None:
            return Marks(hemistich=self.stated)
        if self.between is not None:
            return marks_of_verses(
                [verse for _, text in self._poems for verse in layout.split_poem(text, self.between)]
            )
        return marks_of_poems([text for _, text in self._poems])

    def _add_split(self, record: Record, text: str, marks: Marks, faults: list[Fault]) -> None:
        """Part one poem into its verses: noted for their hemistichs, or with them where two lines are a verse."""
        halves: list[list[str]] = []
        if self.between is not None and self.between == self.stated:
            halves = [layout.split_poem(text, self.between)]
            if len(halves[0]) % 2:
                problem = f"falls into {len(halves[0])} hemistichs, an odd number, and two make a verse"
                faults.append(Fault(self.label, record.line, "verses", problem, "add the one that is lacking"))
        elif marks.paired:
            blocks = layout.stanzas(text)
            halves = blocks if marks.paired == "stanza" else [[line for block in blocks for line in block]]
        elif self.between is not None:
            self.add(record, layout.split_poem(text, self.between))
        else:
            pattern = layout.SEPARATORS[marks.verse] if marks.verse else None
            lines = layout.split_poem(text, None)
            self.add(record, [verse for line in lines for verse in layout.split_verse(line, pattern)])
        for lines in halves:
            whole = marks.paired == "stanza" and len(lines) != 2
            pairs = [[line] for line in lines] if whole else [lines[at : at + 2] for at in range(0, len(lines), 2)]
            record.verses += map(layout.pair, pairs)

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
        if len(parts) > 2 and separator is layout.SEPARATORS["spaces"]:
            parts = layout.split_at_gap(text) or parts
        if len(parts) > 2:
            problem = f"verse {number} falls into {len(parts)} hemistichs, expected one or two"
            hint = "put each verse on a line of its own, or name the mark between hemistichs: hemistich_separator"
            faults.append(Fault(self.label, line, "verses", problem, hint))
        return layout.pair(parts[:2])
