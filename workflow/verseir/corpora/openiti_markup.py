"""OpenITI mARkdown to poems: the markup only, with no knowledge of files or of who the poet is.

One text, four ways to mark a verse, after the digital families whose diwans OpenITI holds:

* ``# first %~% second`` (ShamAY, LAL);
* ``# % first % second % 7``, a ``%`` doubled or missing anywhere, the number of the *next* verse last (JK);
* ``# 7 first ... second`` or ``# 7 - first ... second`` among lines of commentary or attribution (Sham19Y);
* a heading that is the first verse, the next verses a line each, then the whole poem again, cut by ``¶``, glued to the
  last line; the caesura is not marked (one ShamAY file).

A poem starts at ``البحر : <meter>`` (which may stand behind the last verse of the poem before it), at a heading, at a
piece number ``(12)``, or at verse 1. ``~~`` continues a line; page marks and milestones stand anywhere, also between
``البحر`` and its meter. Everything else is prose and is left out. The markup: https://maximromanov.github.io/mARkdown
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from verseir.corpora.canonical import is_known_meter
from verseir.corpora.model import Verse

MAGIC = "######OpenITI#"
_HEADER_END = "#META#Header#End#"

_MARKS = re.compile(
    r"Page(?:V\d*(?:P\d*[A-Z]?)?|Beg|End)|(?<![^\W\d])ms\d+(?!\w)|-{1,8}NO PAGE NO-{0,8}"
    r"|[\x00-\x08\x0b-\x1f\x7f\u200e\u200f\ufeff]"
)
_HEADING = re.compile(r"[# ]*###\s*(?P<level>[|$]+)\s*(?:(?:AUTO|CHECK)\b)?\s*(?P<text>.*)")
_APPARATUS = re.compile(r"[# ]*(?:###\s*\|EDITOR\||ENDNOTES\b)")
_WORDS = r"[^\W\d_]+(?: [^\W\d_]+){0,3}?"
_METER = re.compile(rf"(?:^|(?<=[ %#]))البحر ?: ?(?P<meter>[-– ]*|{_WORDS}) ?\d* ?(?P<rest>[(%].*)?$")
_PIECE_NUMBER = re.compile(r"\(\d+\)")
_NUMBERED = re.compile(r"(?P<number>\d{1,4})(?!\d) ?(?P<dash>-)?(?P<text>.*)")
_DOTS = re.compile(r" ?(?:\.{3,}|…) ?")
_DOTS_OR_NUMBER = re.compile(r" ?(?:\.{3,}|…) ?(?:\d+ ?- )?| \d+ ?- ")
_BRACKETED = re.compile(r"[(\[](?P<text>[^()\[\]\d]{3,30})[)\]] ?:?$")
_SAID = re.compile(
    r"(?:\d+ )?و?قالت? (?P<poet>[^:،.(\[]{2,80}?)"
    r"(?: ?[:،(\[]| ?\. ?(?=[(\[])"
    r"| (?:[يت](?:رث[يى]|هجو|مدح|عير|ذكر|خاطب|عاتب|صف|عتذر|فتخر)(?:هم?|ها)?|في|لما|حين|وكانت?|وقد|و[يت]روى)\b)"
)
#: "He also said", "he said on", "she said, mourning him": the poet of the piece before.
_SAME_POET = re.compile(r"(?:أيضا|في|[يت]رث[يى](?:هم?|ها)?)\b|.* أيضا$")
_MARKUP = re.compile(r"@[A-Za-z]+\d*|\(\d+\)?|[\[\]{}<>|\\¶#$~%*_^=]")
_NUMBERS_AT_ENDS = re.compile(r"^(?:\d+ )+|(?: \d+)+$")
_LETTER = re.compile(r"[^\W\d_ـ]")


@dataclass(frozen=True)
class Heading:
    """A heading: its line in the file, from 1; its level, 1 the highest; its text without markup."""

    line: int
    level: int
    text: str


@dataclass
class Poem:
    """A poem as it stands in the text.

    ``line`` is that of its first verse, from 1; ``heading`` the section that it stands in (the chapter of an
    anthology); ``said_by`` the poet that the prose above it names, "" where that says "he also said".
    """

    line: int = 0
    meter: str | None = None
    heading: str | None = None
    said_by: str | None = None
    verses: list[Verse] = field(default_factory=list)

    def add(self, line: int, verse: Verse | None) -> None:
        if verse:
            self.line = self.line or line
            self.verses.append(verse)


def parse(text: str) -> list[Poem]:
    """The poems of an OpenITI text in their order, those without a verse left out. Takes any text and never fails.

    The text is read for each way to mark a verse, and the reading with most verses is kept: a stray ``%`` in a
    commentary, or dots for a gap in a verse, do not decide how the file is read.
    """
    lines = _lines_of_text(text)
    readings = [
        [poem for poem in poems_of(lines) if poem.verses] for poems_of in (_percent_poems, _dotted_poems, _copied_poems)
    ]
    return max(readings, key=lambda poems: sum(len(poem.verses) for poem in poems))


def headings(text: str) -> list[Heading]:
    """The headings of an OpenITI text in their order; those that only name the meter of a poem are none."""
    found = []
    for number, line in _lines_of_text(text):
        match = _HEADING.match(line)
        if match and not _METER.search(match["text"]):
            words = " ".join(_MARKUP.sub(" ", match["text"]).split())
            found.append(Heading(number, len(match["level"]), words.strip(" .:،-–")))
    return found


def _lines_of_text(text: str) -> list[tuple[int, str]]:
    """The logical lines of the body that are not blank, up to the apparatus."""
    _, body, offset = split_header(text)
    lines = [(number, line) for number, line in _logical_lines(body, offset) if line]
    return lines[: next((i for i, (_, line) in enumerate(lines) if _APPARATUS.match(line)), len(lines))]


def split_header(text: str) -> tuple[list[tuple[str, str]], list[str], int]:
    """The metadata of an OpenITI text as (key, value) pairs, the lines of its body, and how many come before it."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    metadata: list[tuple[str, str]] = []
    start = 0
    for index, line in enumerate(lines):
        if line.startswith(_HEADER_END):
            return metadata, lines[index + 1 :], index + 1
        if line.startswith("#META#"):
            key, _, value = line.removeprefix("#META#").partition(":")
            metadata.append((key.strip(), value.lstrip(":").strip()))
            start = index + 1
        elif line.startswith(MAGIC):
            start = index + 1
    return metadata, lines[start:], start


def _logical_lines(lines: list[str], offset: int) -> Iterator[tuple[int, str]]:
    """(number in the file, text) of each line with its continuations, without page marks and milestones."""
    start, parts = offset + 1, list[str]()
    for number, line in enumerate(lines, start=offset + 1):
        if parts and not line.startswith("~~"):
            yield start, " ".join(_MARKS.sub(" ", " ".join(parts)).split())
            parts = []
        start = start if parts else number
        parts.append(line.removeprefix("~~"))
    yield start, " ".join(_MARKS.sub(" ", " ".join(parts)).split())


def clean_hemistich(text: str) -> str:
    """``text`` without markup, editorial brackets and the numbers at its ends; "" where no letter is left.

    A tatweel at an end stays: it says that a word runs on into the other hemistich.
    """
    text = _NUMBERS_AT_ENDS.sub("", " ".join(_MARKUP.sub(" ", text).split()))
    return text if _LETTER.search(text) else ""


def _verse(parts: list[str]) -> Verse | None:
    """The verse of the ``parts`` between its marks; None where nothing is left of them.

    A lost hemistich leaves a verse of one. Marks behind the caesura are strays.
    """
    kept = [part for part in map(clean_hemistich, parts) if part]
    return (kept[0], " ".join(kept[1:]) or None) if kept else None


def _percent_poems(lines: list[tuple[int, str]]) -> Iterator[Poem]:
    """Verses marked by ``%~%`` or ``%``; lines without either are prose."""
    poem, heading, opened = Poem(), None, ""
    for number, line in lines:
        if match := _HEADING.match(line):
            line = match["text"]
            if not _METER.search(line):
                yield poem
                heading = line or None
                poem = Poem(heading=heading)
                continue
        meter = _METER.search(line)
        before = line[: meter.start()] if meter else line
        if "%" in before:
            text = opened + before.lstrip("# ")
            # JK breaks a verse into two lines where its second hemistich starts with a bracket
            opened = text + " % " if not meter and re.fullmatch(r"%[^%]*[^%\d\s]", text) else ""
            if not opened:
                poem.add(number, _verse(re.split(r"%~%|%", text)))
        if meter:
            yield poem
            poem = Poem(meter=meter["meter"].strip(" -–") or None, heading=heading)
            if "%" in (meter["rest"] or ""):  # ShamAY opens a diwan so: "البحر : بسيط ( first %~% second"
                poem.add(number, _verse(re.split(r"%~%|%", meter["rest"].removeprefix("("))))
    poem.add(lines[-1][0] if lines else 0, _verse(opened.split("%")))
    yield poem


def _dotted_verse(text: str) -> tuple[int, Verse] | None:
    """(number, verse) of a line that may be a verse with ``...`` for its caesura; number 0 where it has none.

    A number with a dash is proof enough: verses of rajaz stand alone, or share a line as ``1 - first 2 - second``.
    """
    match = _NUMBERED.match(text)
    if match and (match["dash"] or _DOTS.search(text)):
        verse = _verse(_DOTS_OR_NUMBER.split(match["text"]))
        return (int(match["number"]), verse) if verse else None
    parts = _DOTS.split(text)
    verse = _verse(parts) if len(parts) == 2 and all(parts) else None
    return (0, verse) if verse else None


def _dotted_poems(lines: list[tuple[int, str]]) -> Iterator[Poem]:
    """Verses marked by ``...``; where most have a number only those, for the others are quoted in a commentary."""
    texts = [line.lstrip("# ") for _, line in lines]
    verses = [
        None if _HEADING.match(line) else _dotted_verse(text) for (_, line), text in zip(lines, texts, strict=True)
    ]
    numbers = [found[0] for found in verses if found]
    if 2 * sum(number > 0 for number in numbers) >= len(numbers):
        verses = [found if found and found[0] else None for found in verses]
    poem, heading, meter, said_by, has_first = Poem(), None, None, None, False
    for (line_number, line), text, found in zip(lines, texts, verses, strict=True):
        if found:
            number, verse = found
            if number == 1 and has_first:
                yield poem
                poem = Poem(heading=heading)
            has_first = number == 1 or (has_first and bool(poem.verses))
            if not poem.verses:
                poem.meter, poem.said_by, meter, said_by = meter, said_by, None, None
            poem.add(line_number, verse)
            continue
        match = _HEADING.match(line)
        if match or _PIECE_NUMBER.fullmatch(text):
            yield poem
            heading = (match["text"] or None) if match else heading
            poem, meter, said_by, has_first = Poem(heading=heading), None, None, False
        if (bracketed := _BRACKETED.search(text)) and is_known_meter(bracketed["text"]):
            meter = bracketed["text"].strip()
        if match := _SAID.match(text):
            said_by = clean_hemistich(match["poet"])
            said_by = "" if _SAME_POET.match(said_by) else said_by
    yield poem


def _copied_poems(lines: list[tuple[int, str]]) -> Iterator[Poem]:
    """Poems given twice below a heading: line by line, then in one paragraph with ``¶`` between the verses.

    The second copy, of as many verses, proves that the lines are verses and not prose. A biography in the same form has
    years in it.
    """
    starts = [i for i, (_, line) in enumerate(lines) if _HEADING.match(line)] + [len(lines)]
    poems = []
    for start, end in itertools.pairwise(starts):
        heading = _HEADING.match(lines[start][1])
        first = heading["text"] if heading else ""
        if not first or end - start < 2:
            continue
        _, found, copy = lines[end - 1][1].partition(first)
        rest = copy.split("¶")[1:]
        if found and end - start - 1 in {len(rest), 1 + len(rest)} and not re.search(r"\d", first + copy):
            poem = Poem()
            for text in [first, *rest]:
                poem.add(lines[start][0], _verse([text]))
            poems.append(poem)
    if any(len(poem.verses) > 1 for poem in poems):  # a heading said again in one line of prose is no proof
        yield from poems
