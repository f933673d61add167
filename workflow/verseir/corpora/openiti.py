"""Adapter ``openiti``: diwans in mARkdown, from a file, a folder, or a list of files pinned by commit and sha256.

OpenITI names a file by its version URI, ``<year of death AH><Author>.<Book>.<Version>``. Poems are numbered through a
file: ``0110JarirShacir.Diwan.ShamAY0037926-ara1_0042``. The texts have no titles, so poems have none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verseir.arabic import normalise
from verseir.corpora import openiti_fetch
from verseir.corpora.canonical import canonical_era, canonical_meter, era_of_death_year
from verseir.corpora.model import PartlyRead, Record
from verseir.corpora.openiti_markup import MAGIC, Poem, parse, split_header
from verseir.faults import Fault, InputFaults, UserError

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
class SourceFile:
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
    faults: list[Fault] = []
    records = [record for file in files_of(spec, base, faults) for record in _records(file, faults)]
    if faults:
        raise PartlyRead(faults, records)
    return records


def files_of(spec: dict[str, Any], base: Path, faults: list[Fault]) -> list[SourceFile]:
    """The files that ``spec`` names, in the order of their names; a version that is there twice is a fault."""
    if "sources" not in spec and "path" not in spec:
        problem = f"the adapter {spec.get('adapter', 'openiti')} reads path or sources, and neither is named"
        raise UserError(problem, hint="sources: resources/openiti/sources.csv, with select")
    found = _listed(spec, base) if "sources" in spec else _found(base / spec["path"], spec["path"])
    files, labels = [], dict[str, str]()
    for file in found:
        match = _URI.fullmatch(file.path.name)
        first = labels.setdefault(match["uri"], file.label) if match else file.label
        if first == file.label:
            files.append(file)
        else:
            faults.append(Fault(file.label, 0, "", f"is the same version as {first}", "keep one of the two"))
    return files


def read_poems(path: Path, label: str, faults: list[Fault]) -> tuple[str, list[Poem]]:
    """The text of an OpenITI file and its poems.

    What is wrong with the file is added to ``faults`` under the name ``label``; there are no poems then.
    """
    text = _text(path, label, faults)
    if text is None:
        return "", []
    if not text.lstrip().startswith(MAGIC):
        faults.append(Fault(label, 1, "", f"is not an OpenITI text: does not start with {MAGIC}"))
        return text, []
    poems = parse(text)
    if not poems:
        hint = "verses are marked by %~% or %, by a number and ..., or by ¶; prose is left out"
        faults.append(Fault(label, 0, "", "has no verse", hint))
    return text, poems


def poets_named(poems: Iterable[Poem]) -> Iterator[str | None]:
    """The poet whom an anthology names above each of ``poems``, in their order; None where it does not know him."""
    said_by = None
    for poem in poems:
        said_by = poem.said_by if poem.said_by != "" else said_by
        yield _named(said_by)


def source_of(file: SourceFile) -> str:
    """Where a poem is from: as the list of sources says, else the version of the text, else the name of the file."""
    match = _URI.fullmatch(file.path.name)
    return file.source or (f"OpenITI {match['uri']}" if match else file.path.name)


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


def _records(file: SourceFile, faults: list[Fault]) -> list[Record]:
    match = _URI.fullmatch(file.path.name)
    if match is None and file.path.is_file():
        hint = "expected <year><Author>.<Book>.<Version>-<lang>, such as 0110JarirShacir.Diwan.ShamAY0037926-ara1"
        faults.append(Fault(file.label, 0, "", "the file name is not an OpenITI version URI", hint))
        return []
    text, poems = read_poems(file.path, file.label, faults)
    if match is None or not poems:
        return []
    metadata, _, _ = split_header(text)
    anthology = _ANTHOLOGY.search(match["book"]) is not None
    author = _poet(metadata) or _poet_of_uri(match["author"])
    era = None if anthology else _era(file.era, metadata, int(match["year"]))
    return [
        Record(
            poem_id=f"{match['uri']}_{number:04d}",
            verses=poem.verses,
            poet=named if anthology else author,
            era=era,
            meter=canonical_meter(poem.meter) if poem.meter else None,
            language="ar",
            source=source_of(file),
            file=file.label,
            line=poem.line,
        )
        for number, (poem, named) in enumerate(zip(poems, poets_named(poems), strict=True), start=1)
    ]


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
    """The poet of a piece; None where the anthology does not know: "another said", "one of them"."""
    return None if poet in (None, "", "آخر", "الآخر", "أخر", "غيره", "بعضهم") else poet


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


def _found(path: Path, label: str) -> list[SourceFile]:
    if not path.is_dir():
        return [SourceFile(path, label)]
    files = sorted(file for file in path.rglob("*") if file.is_file() and _URI.fullmatch(file.name))
    if not files:
        hint = "files are named by their version URI, such as 0110JarirShacir.Diwan.ShamAY0037926-ara1"
        raise InputFaults([Fault(label, 0, "", "the folder has no OpenITI file", hint)])
    return [SourceFile(file, f"{label}/{file.relative_to(path).as_posix()}") for file in files]


def _listed(spec: dict[str, Any], base: Path) -> list[SourceFile]:
    sources = openiti_fetch.read_sources(base / spec["sources"], spec["sources"], spec.get("select"))
    if "local" in spec:
        paths = openiti_fetch.find_local(sources, base / spec["local"], spec["local"])
    else:
        paths = openiti_fetch.fetch_sources(sources, base / CACHE)
    return [
        SourceFile(
            path, source.name, f"{source.repository}@{source.commit[:10]}:{source.path}", source.columns.get("era", "")
        )
        for source, path in zip(sources, paths, strict=True)
    ]
