"""Adapter ``fannorflop``: the records of the hub data set ``omkarthawakar/FannOrFlop``, or a file of the same records.

A record has ``id``, ``title``, ``genre``, ``meter``, ``era``, ``author``, ``source``, ``verse_count``, ``content``
(the number of each verse on a line, then its hemistichs, with blank lines between) and ``verse_explanations`` (a list
of ``verse`` and ``explanation``), which become the explanations of source ``fof``. The explanation of the whole poem
belongs to no verse and is passed over.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from verseir.arabic import tokenize
from verseir.corpora.fields import new_record
from verseir.corpora.hub import source_file
from verseir.corpora.json_array import read_json_array
from verseir.corpora.layout import pair
from verseir.corpora.model import PartlyRead, Record, Verse
from verseir.faults import Fault
from verseir.rows import Row, json_type, read_json_lines

#: Name of the explanations that come with the data set.
SOURCE = "fof"

_OURS = {"id": "poem_id", "author": "poet"}
_LEAVE_OUT = "mend the record, or leave the poem out: exclude: [{}]"


def read(spec: dict[str, Any], base: Path) -> list[Record]:
    """The poems of a JSON array, a JSON Lines or a Parquet file of records. Raises PartlyRead with every fault."""
    path, label = source_file(spec, base)
    excluded = set(spec.get("exclude") or ())
    faults: list[Fault] = []
    records: list[Record] = []
    known_ids = set()
    rows, complete = _rows(path, label, faults)
    for row in rows:
        if row.values.get("id") in excluded:
            continue
        before = len(faults)
        record = _record(row, label, faults)
        if record is not None:
            known_ids.add(record.poem_id)
            if len(faults) == before:
                records.append(record)
    if faults:
        raise PartlyRead(faults, records, known_ids, complete)
    return records


def _rows(path: Path, label: str, faults: list[Fault]) -> tuple[list[Row], bool]:
    """The records of a file, and whether all of it was read."""
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        import polars as pl

        named = pl.read_parquet(path).iter_rows(named=True)
        return [Row(number, values) for number, values in enumerate(named, 1)], True
    if suffix == ".jsonl":
        return read_json_lines(path, label, faults), True
    rows, complete = read_json_array(path, label, faults, "a file of one record a line ends in .jsonl")
    return [row for _, row in rows], complete


def _record(row: Row, label: str, faults: list[Fault]) -> Record | None:
    named = Row(row.line, {_OURS.get(key, key): value for key, value in row.values.items()})
    record = new_record(named, label, faults)
    if record is None:
        return None

    def fault(field: str, problem: str) -> None:
        faults.append(Fault(label, row.line, field, problem, _LEAVE_OUT.format(record.poem_id)))

    content = row.values.get("content")
    if not isinstance(content, str):
        fault("content", f"is {json_type(content)}, expected text")
        return record
    verses = _verses(content, fault)
    count = row.values.get("verse_count")
    if verses and count is not None and count != len(verses):
        fault("verse_count", f"is {count}, but the content has {len(verses)} verses")
    record.verses = verses
    if verses:
        record.explanations = _explanations(row.values.get("verse_explanations"), verses, fault)
    return record


def _verses(content: str, fault: Any) -> list[Verse]:
    """The verses of ``content``: each a line with its number, then two lines."""
    verses: list[Verse] = []
    current: list[str] = []
    number = 0
    lines = [line for line in map(str.strip, content.split("\n")) if line]
    if not lines or not lines[0].isdecimal():
        fault("content", "does not begin with the number of a verse")
        return []
    for line in [*lines, None]:
        if line is not None and not line.isdecimal():
            current.append(line)
            continue
        if number:
            if len(current) != 2:
                fault("content", f"verse {number} has {len(current)} hemistichs, expected 2")
            verses.append(pair([*current, None][:2]))
        if line is not None:
            if int(line) != number + 1:
                fault("content", f"verse number {int(line)} follows {number}")
            number, current = int(line), []
    return verses


def _explanations(given: Any, verses: list[Verse], fault: Any) -> dict[str, dict[int, str]]:
    """The explanation of each verse: of the one that it quotes, or else of the one at its place in the list."""
    if given is None:
        return {}
    if not isinstance(given, list) or not all(
        isinstance(item, dict) and isinstance(item.get("verse"), str) and isinstance(item.get("explanation"), str)
        for item in given
    ):
        fault("verse_explanations", "expected a list of objects with 'verse' and 'explanation'")
        return {}
    words = [tokenize(f"{first} {second or ''}") for first, second in verses]
    found: dict[int, str] = {}
    for place, item in enumerate(given):
        quoted = tokenize(item["verse"])
        quoting = [i for i, own in enumerate(words) if own == quoted]
        if place in quoting or (not quoting and len(given) == len(verses)):
            index = place
        elif quoting:
            index = quoting[0]
        else:
            fault("verse_explanations", f"explanation {place + 1} quotes no verse of the poem")
            continue
        if index in found:
            fault("verse_explanations", f"verse {index + 1} is explained twice")
        elif item["explanation"].strip():
            found[index] = item["explanation"].strip()
    return {SOURCE: found}
