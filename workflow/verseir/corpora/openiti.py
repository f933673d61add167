"""Adapter ``openiti``: diwans in mARkdown, from a file, a folder, or a list of files pinned by commit and sha256.

OpenITI names a file by its version URI, ``<year of death AH><Author>.<Book>.<Version>``. Poems are numbered through a
file: ``0110JarirShacir.Diwan.ShamAY0037926-ara1_0042``. The texts have no titles, so poems have none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verseir.arabic import normalise
from verseir.corpora import openiti_fetch
from verseir.corpora.canonical import canonical_era, canonical_meter, era_of_death_year
from verseir.corpora.model import PartlyRead, Record
from verseir.corpora.openiti_markup import MAGIC, Poem, parse, split_header
from verseir.faults import Fault, InputFaults

#: Where fetched files are kept, below the folder that the paths of a study start from.
CACHE = Path(".cache/openiti")

_URI = re.compile(
    r"(?P<uri>(?P<year>\d{4})(?P<author>[A-Za-z0-9]+)\.(?P<book>[A-Za-z0-9]+)\.[A-Za-z0-9]+-[a-z]{3}\d+)"
    r"(?:\.(?:mARkdown|completed|inProgress))?"
)
#: Books in which each piece has a poet of its own, named above it; the author of the file only chose them.
_ANTHOLOGY = re.compile(r"Hamasa|Mufaddaliyy?at|Asmaciyy?at|Mukhtar|Jamhara|Mucallaqat|Wahshiyy?at")
_POET_KEYS = ("010.AuthorAKA", "010.AuthorNAME", "auth", "المؤلف")
_SUBJECT_KEY = "021.BookSUBJ"
_AFTER_NAME = re.compile(r"\s*(?:::|[،,(\[.¶]|\bالمتوفى|\bالمعروف|\bوالمعروف).*")


@dataclass(frozen=True)
class _File:
    """A file to read: ``label`` names it in faults; ``source`` and ``era`` are what a list of sources says of it."""

    path: Path
    label: str
    source: str = ""
    era: str = ""


def read(spec: dict[str, Any], base: Path) -> list[Record]:
    """The poems of ``spec``: ``path`` (a file or a folder), or ``sources`` (a list) with ``local`` and ``select``.

    Args:
        spec: ``sources`` names a CSV list; its files come from the folder ``local``, or else from the network, once.
            ``select`` keeps the rows whose columns have these values.
        base: folder that relative paths start from.

    Raises:
        PartlyRead: files that are no OpenITI text, hold no verse or are not UTF-8; all of them at once.
        InputFaults: a list of sources with faults, or a folder without files.
        UserError: listed files that neither ``local`` nor the network has.
    """
    files = _listed(spec, base) if "sources" in spec else _found(base / spec["path"], spec["path"])
    faults: list[Fault] = []
    records: list[Record] = []
    labels: dict[str, str] = {}
    for file in files:
        match = _URI.fullmatch(file.path.name)
        first = labels.setdefault(match["uri"], file.label) if match else file.label
        if first == file.label:
            records += _records(file, faults)
        else:
            faults.append(Fault(file.label, 0, "", f"is the same version as {first}", "keep one of the two"))
    if faults:
        raise PartlyRead(faults, records)
    return records


def numbered_poems(path: Path, label: str, faults: list[Fault]) -> tuple[list[tuple[str, str]], list[tuple[str, Poem]]]:
    """The metadata of an OpenITI file as (key, value) pairs, and its poems with their ids.

    What is wrong with the file is added to ``faults`` under the name ``label``; the lists are then empty.
    """
    match = _URI.fullmatch(path.name)
    text = _text(path, label, faults)
    if match is None and text is not None:
        hint = "expected <year><Author>.<Book>.<Version>-<lang>, such as 0110JarirShacir.Diwan.ShamAY0037926-ara1"
        faults.append(Fault(label, 0, "", "the file name is not an OpenITI version URI", hint))
    if match is None or text is None:
        return [], []
    if not text.lstrip().startswith(MAGIC):
        faults.append(Fault(label, 1, "", f"is not an OpenITI text: does not start with {MAGIC}"))
        return [], []
    poems = parse(text)
    if not poems:
        hint = "verses are marked by %~% or %, by a number and ..., or by ¶; prose is left out"
        faults.append(Fault(label, 0, "", "has no verse", hint))
    metadata, _, _ = split_header(text)
    return metadata, [(f"{match['uri']}_{number:04d}", poem) for number, poem in enumerate(poems, start=1)]


def _text(path: Path, label: str, faults: list[Fault]) -> str | None:
    try:
        data = path.read_bytes()
        return data.decode("utf-8").removeprefix("\ufeff")  # OpenITI's own files start with a byte order mark
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        faults.append(Fault(label, line, "", f"invalid UTF-8: byte 0x{data[error.start]:02x}", "fetch the file again"))
    except OSError as error:
        faults.append(Fault(label, 0, "", f"cannot be read: {error.strerror}"))
    return None


def _records(file: _File, faults: list[Fault]) -> list[Record]:
    metadata, poems = numbered_poems(file.path, file.label, faults)
    if not poems:
        return []
    match = _URI.fullmatch(file.path.name)
    assert match is not None
    anthology = _ANTHOLOGY.search(match["book"]) is not None
    author = _poet(metadata) or _poet_of_uri(match["author"])
    era = None if anthology else _era(file.era, metadata, int(match["year"]))
    said_by = None
    records = []
    for poem_id, poem in poems:
        said_by = poem.said_by if poem.said_by != "" else said_by
        records.append(
            Record(
                poem_id=poem_id,
                verses=poem.verses,
                poet=_named(said_by) if anthology else author,
                era=era,
                meter=canonical_meter(poem.meter) if poem.meter else None,
                language="ar",
                source=file.source or f"OpenITI {match['uri']}",
                file=file.label,
                line=poem.line,
            )
        )
    return records


def _poet(metadata: Iterable[tuple[str, str]]) -> str | None:
    """The name of the author that the header gives in Arabic, the short one first."""
    given = dict(reversed(list(metadata)))
    for key in _POET_KEYS:
        name = normalise(_AFTER_NAME.sub("", given.get(key, "")), "light").strip()
        if re.search("[\u0621-\u064a]{2}", name):
            return name
    return None


def _poet_of_uri(author: str) -> str:
    return " ".join(re.findall(r"[A-Z][a-z]*|\d+", author)) or author


def _named(poet: str | None) -> str | None:
    """The poet of a piece; None where the anthology does not know: "another said"."""
    return None if poet in (None, "", "آخر", "الآخر", "أخر") else poet


def _era(listed: str, metadata: Iterable[tuple[str, str]], year: int) -> str:
    """The era: as the list of sources says, else as the header does (JK names it), else by the year of death.

    A year of death alone puts Andalusian, Fatimid and Ayyubid poets among the Abbasids (see ``era_of_death_year``).
    """
    if listed:
        return canonical_era(listed)[0]
    for subject in dict(metadata).get(_SUBJECT_KEY, "").split("::"):
        name, order = canonical_era(subject)
        if order:
            return name
    return era_of_death_year(year)


def _found(path: Path, label: str) -> list[_File]:
    if not path.is_dir():
        return [_File(path, label)]
    files = sorted(file for file in path.rglob("*") if file.is_file() and _URI.fullmatch(file.name))
    if not files:
        hint = "files are named by their version URI, such as 0110JarirShacir.Diwan.ShamAY0037926-ara1"
        raise InputFaults([Fault(label, 0, "", "the folder has no OpenITI file", hint)])
    return [_File(file, f"{label}/{file.relative_to(path).as_posix()}") for file in files]


def _listed(spec: dict[str, Any], base: Path) -> list[_File]:
    sources = openiti_fetch.read_sources(base / spec["sources"], spec["sources"], spec.get("select"))
    if "local" in spec:
        paths = openiti_fetch.find_local(sources, base / spec["local"], spec["local"])
    else:
        paths = openiti_fetch.fetch_sources(sources, base / CACHE)
    return [
        _File(
            path, source.name, f"{source.repository}@{source.commit[:10]}:{source.path}", source.columns.get("era", "")
        )
        for source, path in zip(sources, paths, strict=True)
    ]
