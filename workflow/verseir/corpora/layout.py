"""How verses are laid out in plain text: lines of a poem, and the mark between the hemistichs of a verse."""

from __future__ import annotations

import re
from collections.abc import Sequence

from verseir.corpora.model import Verse

#: Marks between hemistichs, or between verses in one line, by the name that a spec may use. Where two marks part a
#: file alike, the first is taken.
SEPARATORS: dict[str, re.Pattern[str]] = {
    "***": re.compile(r"\s*\*{2,}\s*"),
    "*": re.compile(r"\s*\*+\s*"),
    "//": re.compile(r"\s*//+\s*"),
    "/": re.compile(r"\s*(?<!/)/(?!/)\s*"),
    "|": re.compile(r"\s*\|+\s*"),
    "=": re.compile(r"\s*=+\s*"),
    "#": re.compile(r"\s*#+\s*"),
    "...": re.compile(r"\s*(?:\.{3,}|…+)\s*"),
    "tab": re.compile(r"[^\S\n]*\t\s*"),
    "spaces": re.compile(r"[^\S\t\n]{2,}"),
    " - ": re.compile(r"\s+[-–—]+\s+"),
    "line": re.compile(r"\s*\n\s*"),
}
#: What stands in a text wherever the mark of this name does: told at a glance, before its pattern is tried.
_HINTS = {
    "***": ("**",),
    "...": ("...", "…"),
    "tab": ("\t",),
    " - ": ("-", "–", "—"),
    "line": ("\n",),
}


def separator_pattern(name: str) -> re.Pattern[str]:
    """The pattern of a separator of ``SEPARATORS``, or of any other text taken literally."""
    return SEPARATORS.get(name) or re.compile(rf"\s*{re.escape(name)}\s*")


def may_hold(text: str, name: str) -> bool:
    """Whether ``text`` may hold the separator ``name`` of ``SEPARATORS``."""
    return name == "spaces" or any(sign in text for sign in _HINTS.get(name, (name,)))


def split_verse(verse: str, separator: re.Pattern[str] | None) -> list[str]:
    """The hemistichs of a verse; without a separator the verse is one."""
    verse = verse.strip()
    return [part for part in separator.split(verse) if part] if separator else [verse]


def split_at_gap(verse: str) -> list[str]:
    """The hemistichs of a verse that several spaces part, cut at the widest of its gaps; none where two are as wide."""
    verse = verse.strip()
    gaps = sorted(SEPARATORS["spaces"].finditer(verse), key=lambda gap: len(gap[0]), reverse=True)
    if not gaps or (len(gaps) > 1 and len(gaps[0][0]) == len(gaps[1][0])):
        return []
    return [verse[: gaps[0].start()], verse[gaps[0].end() :]]


def split_poem(text: str, separator: str | None) -> list[str]:
    """The verses of a poem in one text: its lines, or its parts between ``separator``.

    A line that is blank or holds no letter (a row of asterisks) is a break between stanzas.
    """
    parts = text.split(separator) if separator else text.split("\n")
    return [part for part in parts if any(map(str.isalnum, part))]


def stanzas(text: str) -> list[list[str]]:
    """The lines of a poem, those between two breaks together."""
    found: list[list[str]] = [[]]
    for line in text.split("\n"):
        if any(map(str.isalnum, line)):
            found[-1].append(line)
        elif found[-1]:
            found.append([])
    return [lines for lines in found if lines]


def pair(hemistichs: Sequence[str | None]) -> Verse:
    """A verse of one or two hemistichs. One that is blank is absent, on whichever side it was left out."""
    texts = [text.strip() for text in hemistichs if text and text.strip()]
    return (texts[0] if texts else "", texts[1] if len(texts) > 1 else None)
