"""How verses are laid out in plain text: lines of a poem, and the mark between the hemistichs of a verse."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from verseir.corpora.model import Verse

#: Marks between hemistichs, by the name that a spec may use, in the order in which they are tried.
SEPARATORS: dict[str, re.Pattern[str]] = {
    "***": re.compile(r"\s*\*{2,}\s*"),
    "//": re.compile(r"\s*//+\s*"),
    "...": re.compile(r"\s*(?:\.{3,}|…+)\s*"),
    "tab": re.compile(r"\s*\t\s*"),
    "spaces": re.compile(r"[^\S\t]{2,}"),
}


def separator_pattern(name: str) -> re.Pattern[str]:
    """The pattern of a separator of ``SEPARATORS``, or of any other text taken literally."""
    return SEPARATORS.get(name) or re.compile(rf"\s*{re.escape(name)}\s*")


def split_verse(verse: str, separator: re.Pattern[str] | None) -> list[str]:
    """The hemistichs of a verse; without a separator the verse is one."""
    verse = verse.strip()
    return [part for part in separator.split(verse) if part] if separator else [verse]


def find_separator(verses: Iterable[str]) -> re.Pattern[str] | None:
    """The separator that cuts most verses into exactly two, if it does so for at least half of them; else None.

    A reader sees at once which mark a page uses, and that an ellipsis in one verse is no mark. So do we, by the whole
    file.
    """
    verses = list(verses)
    best, most = None, 0
    for pattern in SEPARATORS.values():
        in_two = sum(bool(pattern.search(verse)) and len(split_verse(verse, pattern)) == 2 for verse in verses)
        if in_two > most:
            best, most = pattern, in_two
    return best if most and 2 * most >= len(verses) else None


def split_poem(text: str, separator: str | None) -> list[str]:
    """The verses of a poem in one text: its lines, or its parts between ``separator``.

    A line that is blank or holds no letter (a row of asterisks) is a break between stanzas.
    """
    parts = text.split(separator) if separator else text.split("\n")
    return [part for part in parts if any(map(str.isalnum, part))]


def pair(hemistichs: Sequence[str | None]) -> Verse:
    """A verse of one or two hemistichs. One that is blank is absent, on whichever side it was left out."""
    texts = [text.strip() for text in hemistichs if text and text.strip()]
    return (texts[0] if texts else "", texts[1] if len(texts) > 1 else None)
