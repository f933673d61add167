"""Adapter ``idiolink``: the documents of one split of an idiom benchmark; its queries are read here too.

A split is a folder with ``indexes.json`` (documents) and ``queries.json``, each one JSON array of records ``id``,
``sentence``, ``idiom``, ``span`` (the part of the sentence that carries the meaning), ``subject``, ``usage`` and
``is_gold`` (checked by a person); other keys are passed over. ``path`` names the folder, or ``hub`` a data set and the
``folder`` in it. A document is a poem of one verse with the attributes of ``ATTRIBUTES``.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from verseir.corpora.attributes import alike, first_break
from verseir.corpora.checks import id_problem
from verseir.corpora.hub import source_file
from verseir.corpora.json_array import read_json_array
from verseir.corpora.model import PartlyRead, Record
from verseir.faults import Fault, InputFaults, UserError, closest, shown
from verseir.rows import FORBIDDEN, Row, first_forbidden, json_type

DOCUMENTS = "indexes.json"
QUERIES = "queries.json"

#: How an idiom, or what means the same, is used: what a document does, and what a query may do.
USAGES = ("literal", "idiomatic", "simplification", "sense")
ASKED = ("literal", "idiomatic")

#: What is known of a document or a query beside its text. The span of a query is in its own column.
ATTRIBUTES = ("idiom", "quality", "span", "subject", "usage")

_TEXTS = {
    "id": "the id of the record",
    "sentence": "one sentence",
    "idiom": "the idiom",
    "span": "a part of the sentence",
    "subject": "the subject of the sentence",
    "usage": f"one of {', '.join(USAGES)}",
}
_KEYS = (*_TEXTS, "is_gold")
#: What records are put together by: in another spelling, a record would be apart.
_GROUPED = ("idiom", "subject")
_ARRAY = 'expected a list of records: [{"id": "...", "sentence": "...", ...}, ...]'


@dataclass(frozen=True, slots=True)
class Item:
    """One record: a document or a query, with the file, the line that it begins on and its number there, from 1."""

    item_id: str
    sentence: str
    idiom: str
    span: str
    subject: str
    usage: str
    is_gold: bool
    file: str
    line: int
    number: int = 0

    @property
    def attributes(self) -> dict[str, str]:
        """The values of ``ATTRIBUTES``."""
        quality = "gold" if self.is_gold else "silver"
        return dict(zip(ATTRIBUTES, (self.idiom, quality, self.span, self.subject, self.usage), strict=True))


def read(spec: dict[str, Any], base: Path) -> list[Record]:
    """The documents of a split, in the order of the file.

    Raises:
        PartlyRead: with every fault of the file.
        UserError: a file of the hub can be had from nowhere, or is not the one that ``sha256`` pins.
    """
    faults: list[Fault] = []
    items, complete = _items(spec, base, DOCUMENTS, USAGES, faults)
    records = [
        Record(
            poem_id=item.item_id,
            verses=[(item.sentence, None)],
            attributes=item.attributes,
            file=item.file,
            line=item.line,
        )
        for item in items.values()
        if item is not None
    ]
    if faults:
        raise PartlyRead(faults, records, items, complete)
    return records


def read_queries(spec: dict[str, Any], base: Path) -> list[Item]:
    """The queries of a split, in the order of the file.

    Raises:
        InputFaults: with every fault of the file, such as one without any query.
        UserError: as for ``read``.
    """
    faults: list[Fault] = []
    items, _ = _items(spec, base, QUERIES, ASKED, faults)
    found = [item for item in items.values() if item is not None]
    if not found and not faults:
        faults.append(Fault(source_file(spec, base, QUERIES)[1], 0, "", "holds no queries", "it needs at least one"))
    if faults:
        raise InputFaults(faults)
    return found


def spelling_faults(spec: Mapping[str, Any], base: Path, with_queries: bool) -> Iterator[Fault]:
    """Idioms and subjects of a split that are spelt in more than one way, see ``alike``; faulty records are left out.

    A document and a query of which one is spelt another way would not be told to be of one idiom. The spelling that
    most records have stands; each other one is a fault, once for each file.

    Args:
        spec, base: as for ``read``.
        with_queries: whether the queries of the split are read too.

    Raises:
        UserError: as for ``read``.
    """
    faults: list[Fault] = []  # told by who reads the file
    files = [(DOCUMENTS, USAGES), (QUERIES, ASKED)]
    read = [_items(spec, base, name, usages, faults)[0] for name, usages in files[: 1 + with_queries]]
    items = [item for found in read for item in found.values() if item is not None]
    for key in _GROUPED:
        by_spelling: dict[str, list[Item]] = {}
        for item in items:
            by_spelling.setdefault(getattr(item, key), []).append(item)
        together: dict[str, list[str]] = {}
        for spelling in by_spelling:
            together.setdefault(alike(spelling), []).append(spelling)
        for spellings in together.values():
            usual, *others = sorted(spellings, key=lambda spelling: (-len(by_spelling[spelling]), spelling))
            for spelling in others:
                counts = Counter(item.file for item in by_spelling[spelling])
                for file, n in counts.items():
                    first = next(item for item in by_spelling[spelling] if item.file == file)
                    more = f" (as in {n - 1} more)" if n > 1 else ""
                    problem = f"record {first.number}: {shown(repr(spelling))}{more} is spelt another way elsewhere"
                    yield Fault(file, first.line, key, problem, f"write it in one way: {shown(repr(usual))}")


def _items(
    spec: Mapping[str, Any], base: Path, name: str, usages: tuple[str, ...], faults: list[Fault]
) -> tuple[dict[str, Item | None], bool]:
    """The records of a file by id, None for one with faults; and whether the file was read to its end."""
    for unknown in sorted(set(spec.get("hub", {}).get("sha256") or {}) - {DOCUMENTS, QUERIES}):
        hint = closest(unknown, (DOCUMENTS, QUERIES))
        raise UserError(f"hub.sha256 pins '{unknown}', which is no file of a split", hint)
    path, label = source_file(spec, base, name)
    rows, complete = read_json_array(path, label, faults, _ARRAY)
    items: dict[str, Item | None] = {}
    first: dict[str, int] = {}
    for number, row in rows:
        before = len(faults)
        values = _values(row, number, usages, label, faults)
        item_id = values.get("id", "")
        if item_id in first:
            problem = f"record {number}: duplicate id '{item_id}', first in record {first[item_id]}"
            faults.append(Fault(label, row.line, "id", problem, "give each record of a file an id of its own"))
        elif item_id:
            first[item_id] = number
            named: dict[str, Any] = {key: values.get(key) for key in _KEYS[1:]}
            good = len(faults) == before
            place: dict[str, Any] = {"file": label, "line": row.line, "number": number}
            items[item_id] = Item(item_id=item_id, **named, **place) if good else None
    return items, complete


def _values(row: Row, number: int, usages: tuple[str, ...], label: str, faults: list[Fault]) -> dict[str, Any]:
    """The values of a record that have the right type; what is wrong with any is added to ``faults``."""
    values: dict[str, Any] = {}

    def fault(key: str, problem: str, hint: str) -> None:
        faults.append(Fault(label, row.line, key, f"record {number}: {problem}", hint))

    for key, what in _TEXTS.items():
        value = row.values.get(key)
        if not isinstance(value, str):
            if key in row.values:
                fault(key, f"is {json_type(value)}, expected text", f"expected {what}, in quotes")
            else:
                fault(key, f"is missing, expected {what}", _misspelt(key, frozenset(row.values)))
        elif not value.strip():
            fault(key, f"is empty, expected {what}", "fill it, or take the record out")
        else:
            values[key] = value
    joined = "".join(values.values())
    if FORBIDDEN.search(joined) or first_break(joined):
        for key, value in values.items():
            # The blanks of an id are told below.
            if code := first_forbidden([value]) or (first_break(value) if key != "id" else None):
                fault(key, f"holds the character {code}", "a text is one line without tabs and control characters")
    _check_id(values, fault)
    if "sentence" in values and not any(map(str.isalnum, values["sentence"])):
        fault("sentence", "holds no letter", "fill it, or take the record out")
    if "span" in values and "sentence" in values and values["span"] not in values["sentence"]:
        problem = f"'{shown(values['span'])}' does not stand in the sentence"
        fault("span", problem, "expected a part of the sentence as it is written there, capitals and all")
    if "usage" in values:
        # As the benchmark's own code does, which lower-cases what documents say and not what queries say.
        usage = values["usage"].lower() if usages == USAGES else values["usage"]
        if usage not in usages:
            fault("usage", f"'{shown(usage)}' is no usage, expected one of {', '.join(usages)}", closest(usage, usages))
        values["usage"] = usage
    gold = row.values.get("is_gold")
    if isinstance(gold, bool):
        values["is_gold"] = gold
    else:
        found = f"is {json_type(gold)}" if "is_gold" in row.values else "is missing"
        missing = "" if "is_gold" in row.values else _misspelt("is_gold", frozenset(row.values))
        fault("is_gold", f"{found}, expected true or false", missing or "without quotes")
    return values


def _check_id(values: Mapping[str, Any], fault: Any) -> None:
    if (found := id_problem(values.get("id", ""))) and not found[0].startswith("holds the character"):
        fault("id", *found)


@lru_cache(maxsize=256)
def _misspelt(key: str, given: frozenset[str]) -> str:
    """A hint for a key that a record lacks: the one of its keys that may be meant."""
    near = difflib.get_close_matches(key, sorted(given - set(_KEYS)), n=1)
    return f"did you mean '{key}' by '{near[0]}'?" if near else f"a record has {', '.join(_KEYS)}"
