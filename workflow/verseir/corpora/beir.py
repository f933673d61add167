"""Adapter ``beir``: the documents of a data set in the format of BEIR (Thakur et al. 2021, arXiv:2104.08663).

``path`` names a folder, or ``hub`` a data set (or a ``folder`` of it), with ``corpus.jsonl``, one document a line:
``_id``, ``text``, and perhaps ``title`` and ``metadata``, of which ``language`` alone is kept. Each line of the text
is a verse; one without a letter parts stanzas. A document without a text is a poem of one verse, its title: BEIR
searches both as one. The queries of the folder are read by ``verseir.queries.beir``. Files may be packed:
``corpus.jsonl.gz``, where there is no ``corpus.jsonl``.
"""

from __future__ import annotations

import gzip
import json
import re
import shlex
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from verseir.corpora.hub import source_file
from verseir.corpora.layout import pair, split_poem
from verseir.corpora.model import PartlyRead, Record, Verse
from verseir.corpora.named_files import Source, find_files
from verseir.faults import Fault, InputFaults, UserError
from verseir.rows import as_found, json_type

DOCUMENTS = "corpus.jsonl"
QUERIES = "queries.jsonl"

#: A file with more lines than this that are no UTF-8, or no JSON, is another kind of file; the rest are counted.
_SHOWN = 20
_BREAKS = re.compile(r"\s*[\r\n]+\s*")


def read(spec: dict[str, Any], base: Path) -> list[Record]:
    """The documents of a data set, in the order of the file; it is read line by line.

    Raises:
        PartlyRead: with every fault of the file.
        UserError: ``spec`` names no folder or data set, or the data set cannot be had.
    """
    path, label = part_of(spec, base, DOCUMENTS)
    faults: list[Fault] = []
    lines = JsonLines(path, label, faults)
    records: list[Record] = []
    first: dict[str, int] = {}
    for line, values in lines:
        before = len(faults)
        found = identified(values, line, label, first, faults)
        verses, title = _verses(values, line, label, faults)
        if found and len(faults) == before:
            language = _language(values)
            records.append(Record(found, verses, title=title, language=language, file=label, line=line))
    if faults:
        raise PartlyRead(faults, records, first, lines.complete)
    return records


def document_ids(spec: Mapping[str, Any], base: Path) -> set[str]:
    """The ids of all documents of a data set, whatever is sampled of it; faults of the file are passed over."""
    path, label = part_of(spec, base, DOCUMENTS)
    return {values["_id"] for _, values in JsonLines(path, label, []) if isinstance(values.get("_id"), str)}


def part_of(spec: Mapping[str, Any], base: Path, name: str) -> tuple[Path, str]:
    """The file ``name`` of the folder or data set of ``spec``, or the packed one in its place; its name in messages.

    Raises:
        UserError: ``spec`` names neither, or a file of the hub cannot be had, or is not the one that ``sha256`` pins.
        InputFaults: the data set of the hub has no such file.
    """
    if spec.get("hub"):
        found = hub_part(spec, base, name)
        return found.path, found.label
    if not spec.get("path"):
        raise UserError("a corpus with the adapter beir names neither a folder nor a data set", "path: data/nfcorpus")
    path, label = source_file({"path": spec["path"]}, base, name)
    packed = path.with_name(f"{path.name}.gz")
    return (packed, f"{label}.gz") if packed.is_file() and not path.is_file() else (path, label)


def hub_part(spec: Mapping[str, Any], base: Path, name: str) -> Source:
    """The file ``name`` of the data set of ``spec``, or the packed one; raises what ``part_of`` does."""
    return find_files(spec, base, (name, f"{name}.gz"), f"the data set called {name}")[0]


def hub_names(spec: Mapping[str, Any], base: Path, *names: str) -> list[str]:
    """The names that the files ``names`` have in the hub's data set; none where a folder is read."""
    if not spec.get("hub"):
        return []
    try:
        return [hub_part(spec, base, name).name for name in names]
    except InputFaults:
        return []


def identified(
    values: Mapping[str, Any], line: int, label: str, first: dict[str, int], faults: list[Fault]
) -> str | None:
    """The ``_id`` of a line; None, and a fault, where it has none or one that ``first`` (id -> line) has already."""
    found = values.get("_id")
    if not isinstance(found, str) or not found:
        told = as_found(found) if "_id" in values else "is missing"
        faults.append(Fault(label, line, "_id", f"{told}, expected an id", 'in quotes: {"_id": "17", ...}'))
        return None
    if found in first:
        problem = f"duplicate id '{found}', first on line {first[found]}"
        faults.append(Fault(label, line, "_id", problem, "give each line of the file an id of its own"))
        return None
    first[found] = line
    return found


class JsonLines:
    """The objects of a JSON Lines file, plain or packed, with their lines: read as they are asked for.

    What is wrong with the file is added to ``faults``. ``complete`` is False once it turns out to be unreadable.
    """

    def __init__(self, path: Path, label: str, faults: list[Fault]):
        self.path, self.label, self.faults = path, label, faults
        self.complete = True
        self._n_bad = 0

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        number, n_returns, first_return = 0, 0, 0
        mend = f"python -m verseir repair_text {shlex.quote(self.label.removesuffix('.gz'))}"
        try:
            with gzip.open(self.path, "rb") if self.path.suffix == ".gz" else self.path.open("rb") as file:
                for number, line in enumerate(file, start=1):
                    if number == 1 and line.startswith(b"\xef\xbb\xbf"):
                        self._fault(1, "begins with a byte order mark (BOM)", mend)
                        line = line[3:]
                    if b"\r" in line:
                        n_returns, first_return = n_returns + line.count(b"\r"), first_return or number
                    if (values := self._object(line, number)) is not None:
                        yield number, values
        except FileNotFoundError:
            self._unreadable(0, "there is no such file", f"looked for {self.path}, and the same with .gz")
        except (OSError, EOFError, zlib.error) as error:
            self._unreadable(number, f"cannot be read: {getattr(error, 'strerror', None) or error}", "fetch it again")
        if first_return:
            problem = f"has CR or CRLF line ends ({n_returns} of them); expected LF"
            self._fault(first_return, problem, mend)
        if self._n_bad > _SHOWN:
            self._fault(0, f"{self._n_bad - _SHOWN} more lines cannot be read", "is it JSON Lines in UTF-8?")

    def _object(self, line: bytes, number: int) -> dict[str, Any] | None:
        """The object of a line; None for a blank line, or one that is none."""
        try:
            text = line.decode("utf-8")
            if not text or text.isspace():
                return None
            values = json.loads(text, object_pairs_hook=_no_repeats)
        except UnicodeDecodeError as error:
            problem = f"invalid UTF-8: byte 0x{line[error.start]:02x} at column {error.start + 1}"
            self._bad(number, problem, "save it as UTF-8")
        except RecursionError:
            self._bad(number, "is nested too deeply", "expected one flat JSON object a line")
        except ValueError as error:
            self._bad(number, f"is not valid JSON: {error}", "expected one JSON object a line")
        else:
            if isinstance(values, dict):
                return values
            self._bad(number, f"is {json_type(values)}, expected an object", "expected one JSON object a line")
        return None

    def _bad(self, line: int, problem: str, hint: str) -> None:
        self._n_bad += 1
        if self._n_bad <= _SHOWN:
            self._fault(line, problem, hint)

    def _unreadable(self, line: int, problem: str, hint: str) -> None:
        self.complete = False
        self._fault(line, problem, hint)

    def _fault(self, line: int, problem: str, hint: str) -> None:
        self.faults.append(Fault(self.label, line, "", problem, hint))


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the field '{next(name for name in names if names.count(name) > 1)}' stands twice")
    return values


def _verses(values: Mapping[str, Any], line: int, label: str, faults: list[Fault]) -> tuple[list[Verse], str | None]:
    """The verses and the title of a document; what is wrong with either is added to ``faults``."""
    title, text = values.get("title"), values.get("text")
    if title is not None and not isinstance(title, str):
        problem = f"is {json_type(title)}, expected text or null"
        faults.append(Fault(label, line, "title", problem, "put it in quotes"))
        title = None
    title = _BREAKS.sub(" ", title.strip()) if title else None
    if "text" not in values:
        faults.append(Fault(label, line, "text", "is missing", "every document needs a text"))
    elif text is not None and not isinstance(text, str):
        faults.append(Fault(label, line, "text", f"is {json_type(text)}, expected text", "put it in quotes"))
    else:
        lines = split_poem(text or "", None) or split_poem(title or "", None)
        if lines:
            return [pair([verse]) for verse in lines], title or None
        hint = "a document needs at least one letter, in its text or its title: fill it, or take it out"
        faults.append(Fault(label, line, "text", "holds no letter, and the title holds none", hint))
    return [], title or None


def _language(values: Mapping[str, Any]) -> str | None:
    metadata = values.get("metadata")
    language = metadata.get("language") if isinstance(metadata, dict) else None
    return language.strip() or None if isinstance(language, str) else None
