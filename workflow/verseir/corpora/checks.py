"""What must hold of the poems of a corpus, whatever adapter read them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from verseir.corpora.attributes import first_break
from verseir.corpora.model import TEXT_FIELDS, Record
from verseir.faults import Fault, shown
from verseir.rows import FORBIDDEN, first_forbidden

#: An id has to survive TREC files, whose columns are parted by blanks. Slashes and dots are fine: no file is named by
#: it.
_BLANK = re.compile(r"\s")
_NO_BLANKS = "ids are parted by blanks in TREC files: use - or _ in their place"
#: In characters. What is longer is another column.
LONGEST_ID = 1000
#: Letters that are drawn as nothing; other characters of that kind can be told by their category.
_BLANK_LETTERS = "\u115f\u1160\u2800\u3164\uffa0"


def check_records(records: list[Record]) -> list[Fault]:
    """All faults of ``records``: ids, empty poems and verses, characters that no text may hold."""
    faults = list(_repeated_ids(records))
    for record in records:
        faults += _check(record)
    return faults


def id_problem(identifier: str) -> tuple[str, str] | None:
    """What is wrong with an id, and what would mend it; or None."""
    if _BLANK.search(identifier):
        return f"'{shown(identifier)}' holds a blank", _NO_BLANKS
    if code := first_forbidden([identifier]):
        return f"holds the character {code}", _NO_BLANKS
    if len(identifier) > LONGEST_ID:
        problem = f"'{shown(identifier)}' has {len(identifier):,} characters, expected at most {LONGEST_ID:,}"
        return problem, "give it a short id; is it another column?"
    if identifier and not any(map(_is_seen, identifier)):
        codes = ", ".join(sorted({f"U+{ord(char):04X}" for char in identifier}))
        return f"holds invisible characters only: {codes}", "give it an id that can be seen"
    return None


def _is_seen(char: str) -> bool:
    return unicodedata.category(char)[0] in "LNPS" and char not in _BLANK_LETTERS


def _repeated_ids(records: list[Record]) -> Iterator[Fault]:
    first: dict[str, Record] = {}
    for record in records:
        seen = first.setdefault(record.poem_id, record)
        if seen is not record:
            where = f"{seen.file}:{seen.line}" if seen.file != record.file else f"line {seen.line}"
            problem = f"duplicate id '{record.poem_id}', first on {where}"
            yield Fault(record.file, record.line, "poem_id", problem, "give each poem an id of its own")


def _check(record: Record) -> Iterator[Fault]:
    def fault(field: str, problem: str, hint: str) -> Fault:
        return Fault(record.file, record.line, field, problem, hint)

    if found := id_problem(record.poem_id):
        yield fault("poem_id", *found)
    if not record.verses:
        yield fault("verses", f"poem '{record.poem_id}' has no verses", "give it at least one, or take the poem out")
    for number, verse in enumerate(record.verses, 1):
        if not any(map(str.isalnum, f"{verse[0]}{verse[1] or ''}")):
            yield fault(
                "verses", f"verse {number} is empty", "a verse needs at least one letter: fill it, or take it out"
            )
    texts = [text for verse in record.verses for text in verse if text]
    named = [(name, value) for name in TEXT_FIELDS if (value := getattr(record, name))]
    named += [(name, value) for name, value in record.attributes.items() if name not in TEXT_FIELDS]
    explained = [text for by_verse in record.explanations.values() for text in by_verse.values()]
    # One search over everything; only a hit is looked at more closely.
    if FORBIDDEN.search("".join([*texts, *(value for _, value in named)])):
        if code := first_forbidden(texts):
            yield fault("verses", f"holds the character {code}", _hint(code, "a verse"))
        for name, value in named:
            if code := first_forbidden([value]):
                yield fault(name, f"holds the character {code}", _hint(code, "a name"))
    for name, value in record.attributes.items():
        if code := first_break(value):
            yield fault(name, f"holds the character {code}", "a value is one line without tabs: take it out")
    if code := first_forbidden(text.replace("\n", " ") for text in explained):
        yield fault("explanations", f"holds the character {code}", _hint(code, "a line of an explanation"))


def _hint(code: str, what: str) -> str:
    return f"{what} is one line of text: take the line break out" if code in ("U+000A", "U+000D") else "take it out"
