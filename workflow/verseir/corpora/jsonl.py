"""Adapter ``jsonl``: one poem a line, the archive's own format.

``{"poem_id": "...", "title": ..., "poet": ..., "era": ..., "meter": ..., "genre": ..., "verses": ..., "source":
...}``. ``verses`` has one of three shapes, the same in the whole file: a list of ``[first, second]`` (``[first]`` or a
null for a verse of one hemistich); a list of texts, one a verse; one text, one verse a line. In the last two a mark
parts the hemistichs (see ``layout``). ``explanations`` may hold ``{source: [text or null for each verse]}``. The
fields that the spec names in ``attributes`` are kept as they are; others are passed over.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from verseir.corpora import layout
from verseir.corpora.attributes import absent_columns, attributes_of
from verseir.corpora.fields import VerseSplitter, new_record
from verseir.corpora.hub import source_file
from verseir.corpora.model import Noted, PartlyRead, Record
from verseir.faults import Fault
from verseir.rows import Row, json_type, read_json_lines, rename

_SHAPES = {"pairs": "a list of [first, second]", "verses": "a list of texts", "text": "one text"}


def read(spec: dict[str, Any], base: Path) -> list[Record]:
    """The poems of a JSON Lines file. Raises PartlyRead with every fault of the file."""
    path, label = source_file(spec, base)
    faults: list[Fault] = []
    rows = rename(read_json_lines(path, label, faults), spec.get("columns") or {}, label, faults)
    splitter = VerseSplitter(spec, label)
    shapes = _Shapes(label, faults)
    attributes = spec.get("attributes") or []
    faults += absent_columns(rows, attributes, label)
    read_records: list[Record] = []
    known_ids = set()
    for row in rows:
        before = len(faults)
        record = new_record(row, label, faults)
        shape = shapes.of(row)
        if record is None:
            continue
        known_ids.add(record.poem_id)
        record.attributes = attributes_of(row, attributes, label, faults)
        verses: Any = row.values.get("verses")
        if shape == "pairs":
            record.verses = [layout.pair(verse) for verse in verses]
            n_verses = len(verses)
        elif shape:
            parts = verses if shape == "verses" else layout.split_poem(verses, spec.get("verse_separator"))
            splitter.add(record, parts)
            n_verses = len(parts)
        else:
            continue
        record.explanations = _explanations(row, n_verses, label, faults)
        if len(faults) == before:
            read_records.append(record)
    splitter.split(faults)
    if faults:
        raise PartlyRead(faults, read_records, known_ids)
    return Noted(read_records, [f"{label}: {note}" for note in splitter.told], splitter.of_file())


class _Shapes:
    """The shape of ``verses`` in each row; the first good row settles that of the file."""

    def __init__(self, label: str, faults: list[Fault]):
        self.label, self.faults = label, faults
        self.first: tuple[str, int] | None = None

    def of(self, row: Row) -> str | None:
        """The shape of this row, or None with a fault when it has none, or another than the file."""
        verses: Any = row.values.get("verses")
        if "verses" not in row.values:
            hint = "if the column has another name: columns: {verses: name}"
            return self._fault(row, "is missing", hint)
        if isinstance(verses, str):
            shape = "text"
        elif not isinstance(verses, list):
            return self._fault(
                row, f"is {json_type(verses)}, expected a list of verses", 'verses: [["first", "second"]]'
            )
        elif not verses:
            return self._fault(row, "the poem has no verses", "give it at least one, or take the poem out")
        elif all(isinstance(verse, list) for verse in verses):
            shape = "pairs"
        elif all(isinstance(verse, str) for verse in verses):
            shape = "verses"
        else:
            found = " and ".join(sorted({json_type(verse) for verse in verses}))
            return self._fault(row, f"mixed shapes in one poem: {found}", "make each verse [first, second]")
        if shape == "pairs" and not self._good_pairs(row, verses):
            return None
        self.first = self.first or (shape, row.line)
        if shape != self.first[0]:
            problem = (
                f"mixed shapes: verses is {_SHAPES[shape]}, on line {self.first[1]} it is {_SHAPES[self.first[0]]}"
            )
            return self._fault(row, problem, "give all poems of a file the same shape")
        return shape

    def _good_pairs(self, row: Row, verses: list[list[Any]]) -> bool:
        good = True
        for number, verse in enumerate(verses, 1):
            odd = [json_type(part) for part in verse if part is not None and not isinstance(part, str)]
            if len(verse) not in (1, 2):
                self._fault(row, f"verse {number} has {len(verse)} hemistichs, expected one or two", "[first, second]")
            elif odd:
                self._fault(row, f"verse {number} holds {odd[0]}, expected text", "[first, second], each in quotes")
            good = good and len(verse) in (1, 2) and not odd
        return good

    def _fault(self, row: Row, problem: str, hint: str) -> str | None:
        """Note a fault of ``verses``. Returns None: the shape of a row that has one."""
        self.faults.append(Fault(self.label, row.line, "verses", problem, hint))
        return None


def _explanations(row: Row, n_verses: int, label: str, faults: list[Fault]) -> dict[str, dict[int, str]]:
    value = row.values.get("explanations")
    if value is None:
        return {}
    if not isinstance(value, dict):
        problem = f"is {json_type(value)}, expected an object"
        faults.append(Fault(label, row.line, "explanations", problem, '{"source": ["for verse 1", null, ...]}'))
        return {}
    found: dict[str, dict[int, str]] = {}
    for source, texts in value.items():
        name = f"explanations.{source}"
        if not isinstance(texts, list) or not all(text is None or isinstance(text, str) for text in texts):
            faults.append(Fault(label, row.line, name, "expected a list of texts", "one for each verse, null for none"))
        elif len(texts) != n_verses:
            problem = f"has {len(texts)} texts for {n_verses} verses"
            faults.append(Fault(label, row.line, name, problem, "one for each verse, null for none"))
        else:
            found[source] = {i: text.strip() for i, text in enumerate(texts) if text and text.strip()}
    return found
