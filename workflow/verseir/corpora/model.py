"""What every corpus adapter returns and what a loaded corpus is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from verseir.faults import Fault, InputFaults
from verseir.tables import ATTRIBUTES, EXPLANATIONS, POEMS

#: A verse (bayt) as its hemistichs; ``second`` is None for a verse of one hemistich.
Verse = tuple[str, str | None]


@dataclass(slots=True)
class Record:
    """One poem as an adapter read it: names as spelt in the source, and the place to name in a fault.

    ``explanations`` maps the source of an explanation (``fof``, ``ai`` ...) to {verse index from 0: text}.
    ``attributes`` are what else the source says of the poem, by the name that the source has for it.
    ``era_order`` is given only by a source that knows it better than the name of the era does (a year of death);
    ``line`` is the line, row or record number in ``file``, counted from 1; 0 where there is none.
    """

    poem_id: str
    verses: list[Verse]
    title: str | None = None
    poet: str | None = None
    era: str | None = None
    meter: str | None = None
    genre: str | None = None
    language: str | None = None
    source: str | None = None
    explanations: dict[str, dict[int, str]] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    era_order: int | None = None
    file: str = ""
    line: int = 0


class Noted(list[Record]):
    """The poems of a file with what people are to know of how it was read.

    ``notes`` tell what was decided where the file left it open, ``warnings`` what may be wrong with it.
    """

    def __init__(self, records: Iterable[Record], notes: Iterable[str] = (), warnings: Iterable[str] = ()):
        super().__init__(records)
        self.notes, self.warnings = tuple(notes), tuple(warnings)


#: The fields of a record that a row gives as plain text.
TEXT_FIELDS = ("title", "poet", "era", "meter", "genre", "language", "source")


@dataclass(frozen=True)
class Corpus:
    """A loaded, validated corpus: POEMS, EXPLANATIONS and ATTRIBUTES frames; ``notes``, ``warnings`` are for the log.

    Each frame is in the order of ``poem_id`` (bytewise).
    """

    name: str
    poems: pl.DataFrame
    explanations: pl.DataFrame
    warnings: tuple[str, ...] = ()
    attributes: pl.DataFrame = field(default_factory=lambda: attributes_frame([]))
    notes: tuple[str, ...] = ()


#: ``read(spec, base)``: the spec of a corpus and the folder that its relative paths start from. An adapter that finds
#: faults raises InputFaults with all of them, best as PartlyRead.
Adapter = Callable[[dict[str, Any], Path], list[Record]]


class PartlyRead(InputFaults):
    """Faults of an adapter, with the ``records`` that it could read, so that these are checked in the same run.

    ``known_ids`` are the ids of all poems that the adapter saw, also of those with a fault: nothing that refers to one
    of them is a fault of its own. ``complete`` is False where the file could not be read to its end.
    """

    def __init__(
        self,
        faults: Iterable[Fault],
        records: list[Record],
        known_ids: Iterable[str] = (),
        complete: bool = True,
    ):
        super().__init__(faults)
        self.complete = complete
        self.records = records
        self.known_ids = frozenset(known_ids)


def poems_frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """A POEMS frame of ``rows`` (column name to value), in the order of ``poem_id``."""
    return pl.DataFrame(rows, schema=dict(POEMS.columns)).sort("poem_id")


def explanations_frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """An EXPLANATIONS frame of ``rows``, in the order of poem, source and verse."""
    return pl.DataFrame(rows, schema=dict(EXPLANATIONS.columns)).sort("poem_id", "source", "verse_index")


def attributes_frame(rows: list[tuple[str, str, str]]) -> pl.DataFrame:
    """An ATTRIBUTES frame of ``rows`` (poem_id, attribute, value), in the order of poem and attribute."""
    return pl.DataFrame(rows, schema=dict(ATTRIBUTES.columns), orient="row").sort("poem_id", "attribute")
