"""Adapter ``anthology``: an anthology in mARkdown, whose chapters sort short pieces by theme.

The pieces are read as ``openiti`` reads poems. They are numbered through the corpus, ``<corpus>_0001``, since queries
name them, and a corpus has one text of an anthology, not its versions. Each has a poet of its own, or none, and no era.
Its title is its first hemistich.

A chapter is a heading that says so (``باب``, or else ``فصل``); where none does, a heading of the highest level. It
holds the pieces up to the next chapter, or up to a heading of its level or higher that is no chapter.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from verseir.arabic import normalise
from verseir.corpora.canonical import canonical_meter
from verseir.corpora.model import PartlyRead, Record
from verseir.corpora.openiti import SourceFile, files_of, poets_named, read_poems, source_of
from verseir.corpora.openiti_markup import Heading, Poem, headings
from verseir.faults import Fault

#: Words for a part of a book that is sorted by theme. The first that any heading begins with tells the chapters.
DIVISIONS = ("باب", "فصل")


@dataclass(frozen=True)
class Chapter:
    """A chapter: its heading and where that stands, and the pieces in it, in their order."""

    heading: str
    file: str
    line: int
    poem_ids: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Anthology:
    """The pieces of an anthology, its chapters (those without pieces too), and how many pieces stand in none."""

    records: list[Record]
    chapters: list[Chapter]
    n_outside: int


def read(spec: dict[str, Any], base: Path) -> list[Record]:
    """The pieces of ``spec``, numbered under ``name``: see ``read_anthology``."""
    return read_anthology(spec["name"], spec, base).records


def read_anthology(name: str, spec: dict[str, Any], base: Path) -> Anthology:
    """The anthology of ``spec``: ``path`` (a file), or ``sources`` (a list) with ``local`` and ``select``.

    Several files are read in the order of their names, and numbered on.

    Args:
        name: of the corpus; the ids of the pieces begin with it.
        spec: as for the adapter ``openiti``.
        base: folder that relative paths start from.

    Raises:
        PartlyRead: files that are no OpenITI text, hold no verse or no chapter, or are not UTF-8; all of them at once.
        InputFaults: a list of sources with faults, or a folder without files.
        UserError: listed files that neither ``local`` nor the network has.
    """
    faults: list[Fault] = []
    records: list[Record] = []
    chapters: list[Chapter] = []
    n_outside = 0
    for file in files_of(spec, base, faults):
        text, poems = read_poems(file.path, file.label, faults)
        marks = headings(text) if poems else []
        found = _chapters(marks)
        owners = _owners(marks, found, poems)
        pieces = _records(name, len(records), file, poems)
        if poems and (problem := _problem(found, owners)):
            hint = "a diwan, whose poems stand in no chapters, is read with adapter: openiti"
            faults.append(Fault(file.label, 0, "", problem, hint))
        of_file = [Chapter(heading.text, file.label, heading.line) for heading in found]
        for piece, owner in zip(pieces, owners, strict=True):
            if owner is None:
                n_outside += 1
            else:
                of_file[owner].poem_ids.append(piece.poem_id)
        chapters += of_file
        records += pieces
    if faults:
        raise PartlyRead(faults, records)
    return Anthology(records, chapters, n_outside)


def _records(name: str, n_before: int, file: SourceFile, poems: list[Poem]) -> list[Record]:
    return [
        Record(
            poem_id=f"{name}_{number:04d}",
            title=poem.verses[0][0],
            verses=poem.verses,
            poet=poet,
            meter=canonical_meter(poem.meter) if poem.meter else None,
            language="ar",
            source=source_of(file),
            file=file.label,
            line=poem.line,
        )
        for number, (poem, poet) in enumerate(zip(poems, poets_named(poems), strict=True), start=n_before + 1)
    ]


def _chapters(marks: list[Heading]) -> list[Heading]:
    """The headings that are chapters."""
    for word in DIVISIONS:
        found = [mark for mark in marks if _is_division(mark, word)]
        if found:
            return found
    highest = min((mark.level for mark in marks if mark.text), default=0)
    return [mark for mark in marks if mark.text and mark.level == highest]


def _is_division(mark: Heading, word: str) -> bool:
    return re.match(rf"(?:ال)?{word}\b", normalise(mark.text, "full")) is not None


def _owners(marks: list[Heading], chapters: list[Heading], poems: list[Poem]) -> list[int | None]:
    """The place in ``chapters`` of the chapter that each of ``poems`` stands in; None for one that stands in none."""
    places = {chapter.line: place for place, chapter in enumerate(chapters)}
    starts: list[int] = [0]
    owners: list[int | None] = [None]
    for mark in marks:
        last = owners[-1]
        ends = last is not None and mark.level <= chapters[last].level
        starts.append(mark.line)
        owners.append(places.get(mark.line, None if ends else last))
    return [owners[bisect_right(starts, poem.line) - 1] for poem in poems]


def _problem(chapters: list[Heading], owners: list[int | None]) -> str:
    """Why the headings of a file sort no pieces; empty where they do."""
    held = Counter(owner for owner in owners if owner is not None)
    if not chapters:
        return "has no chapter: no line is a heading (### | ...)"
    if not held:
        return f"has no chapter with pieces: all {len(owners)} stand outside its {len(chapters)} chapters"
    named = any(_is_division(chapters[0], word) for word in DIVISIONS)
    if not named and max(held.values()) == 1:
        return "has no chapter: each heading stands above one piece, and none begins with " + " or ".join(DIVISIONS)
    return ""
