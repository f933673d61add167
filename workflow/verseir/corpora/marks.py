"""Which marks part the verses and the hemistichs of a file: told from all of its texts, as a reader tells it.

A reader sees at once which mark a page uses, and that an ellipsis in one verse is no mark: the mark stands once in
nearly every verse. Where it cannot be told, this is said, and nothing is parted in silence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from verseir.arabic import normalise
from verseir.corpora.layout import SEPARATORS, may_hold, split_verse, stanzas

#: Where a mark stands once in this share of the verses, it is that between hemistichs; nearly all, where in this.
HALF, NEARLY_ALL = 0.5, 0.9
#: Marks that also stand in a text for other reasons: few of them are not worth a word.
_USUAL = ("...", "spaces", " - ", "/")
#: The share of the verses from which they are.
_SOME = 0.1
#: A sign that may be a mark which we do not know: neither letters, digits nor vowel marks; tatweel in a row; \\t spelt.
_SIGNS = re.compile(r"\\[tn]|\u0640{2,}|[^\w\s\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u200b-\u200f]+")
#: Signs that stand inside of words; what is left of a verse before and behind a mark, at least.
_IN_WORDS, _INSIDE = ("'", "\u2019", "-", "\u2011"), 0.2
#: So many poems that rhyme in every other line are no chance.
FEWEST = 3


@dataclass(frozen=True)
class Count:
    """How often a mark stands in the texts of a file: in how many once, and in how many more often."""

    once: int = 0
    more: int = 0


@dataclass(frozen=True)
class Marks:
    """What parts the verses of a cell (line ends when empty) and the hemistichs of a verse (nothing when empty).

    ``paired``: lines are hemistichs, and two make a verse: the two of a ``stanza``, or two by two (``lines``).
    ``problem`` says why it cannot be told, and ``hint`` what to say; ``told`` and ``warnings`` are for people.
    """

    verse: str = ""
    hemistich: str = ""
    paired: str = ""
    problem: str = ""
    hint: str = ""
    told: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def counts(texts: Sequence[str]) -> dict[str, Count]:
    """How often each mark of ``SEPARATORS`` parts ``texts``."""
    found = {}
    for name, pattern in SEPARATORS.items():
        parts = [len(split_verse(text, pattern)) for text in texts if may_hold(text, name)]
        found[name] = Count(sum(n == 2 for n in parts), sum(n > 2 for n in parts))
    return found


def marks_of_verses(texts: Sequence[str]) -> Marks:
    """What parts the hemistichs, where each text is a verse."""
    n, found = len(texts), counts(texts)
    if not n:
        return Marks()
    crowded = [name for name in SEPARATORS if found[name].more >= max(HALF * n, 1)]
    best = max(SEPARATORS, key=lambda name: found[name].once)
    once = found[best].once
    if once < max(HALF * n, 1):
        if crowded:
            return _cannot_part(crowded[0], found[crowded[0]].more, n)
        return Marks(warnings=tuple(_left_whole(found, n) or _unknown(texts)))
    rivals = [
        name for name in SEPARATORS if name != best and found[name].once >= HALF * n and not _alike(texts, best, name)
    ]
    if rivals:
        problem = f"both {shown(best)} and {shown(rivals[0])} part most verses in two, and not at the same place"
        return Marks(problem=problem, hint=f"say which parts the hemistichs: hemistich_separator: {quoted(best)}")
    told = f"hemistichs are parted by {shown(best)}, which stands once in {once:,} of {n:,} verses"
    rest = n - once - found[best].more
    if once < NEARLY_ALL * n:
        warning = f"{told}; {rest:,} verses without it are read as verses of one hemistich"
        return Marks(hemistich=best, warnings=(warning,))
    return Marks(hemistich=best, told=(told,))


def marks_of_poems(cells: Sequence[str]) -> Marks:
    """What parts verses and hemistichs, where each text is a poem."""
    lines = [line for cell in cells for lines in stanzas(cell) for line in lines]
    found = counts(lines)
    if marks := _in_one_line(lines, found):
        return marks
    marks = marks_of_verses(lines)
    return marks if marks.hemistich or marks.problem else _lines_of(cells, marks)


def _lines_of(cells: Sequence[str], marks: Marks) -> Marks:
    """Whether the lines of poems, in which no mark parts hemistichs, are verses or hemistichs."""
    poems = [stanzas(cell) for cell in cells]
    blocks = [block for poem in poems for block in poem]
    n_pairs = sum(len(block) == 2 for block in blocks)
    if any(len(poem) > 1 for poem in poems) and n_pairs >= NEARLY_ALL * len(blocks):
        told = f"lines are hemistichs: of {len(blocks):,} stanzas, {n_pairs:,} have two lines, a verse each"
        return Marks(paired="stanza", told=(told,), warnings=marks.warnings)
    long = [lines for poem in poems if len(lines := [line for block in poem for line in block]) >= 4]
    n_rhymed = sum(map(_every_other_rhymes, long))
    if n_rhymed >= max(NEARLY_ALL * len(long), FEWEST):
        told = f"lines are hemistichs, two by two: every other line rhymes in {n_rhymed:,} of {len(long):,} poems"
        return Marks(paired="lines", told=(told,), warnings=marks.warnings)
    told = "no mark parts hemistichs: a line is a verse" if any(len(poem) > 1 for poem in poems) or long else ""
    return Marks(told=(told,) if told else (), warnings=marks.warnings)


def _every_other_rhymes(lines: Sequence[str]) -> bool:
    """Whether all second lines of a poem in Arabic script end in one letter, and the first lines do not all."""
    letters = [_letters(normalise(line, "full"))[-1:] for line in lines]
    arabic = all("\u0621" <= letter <= "\u064a" for letter in letters)
    return arabic and len(lines) % 2 == 0 and len(set(letters[1::2])) == 1 and len(set(letters[::2])) > 1


def _in_one_line(lines: Sequence[str], found: dict[str, Count]) -> Marks | None:
    """Marks of poems whose verses stand in one line: one between verses, and one once in nearly every verse.

    The first stands in the lines in which the second stands again and again, and in hardly any other.
    """
    good: list[tuple[float, Marks]] = []
    for name in (name for name in SEPARATORS if found[name].more):
        several = {at for at, line in enumerate(lines) if len(split_verse(line, SEPARATORS[name])) > 2}
        for verse in (verse for verse in SEPARATORS if verse != name and found[verse].once + found[verse].more):
            parted = {at for at, line in enumerate(lines) if len(split_verse(line, SEPARATORS[verse])) > 1}
            if len(parted & several) < NEARLY_ALL * len(parted | several):
                continue
            pieces = [piece for line in lines for piece in split_verse(line, SEPARATORS[verse])]
            once = sum(len(split_verse(piece, SEPARATORS[name])) == 2 for piece in pieces)
            if once >= NEARLY_ALL * len(pieces):
                told = f"verses are parted by {shown(verse)}, hemistichs by {shown(name)}: it stands once in"
                told += f" {once:,} of {len(pieces):,} verses"
                good.append((once / len(pieces), Marks(verse, name, told=(told,))))
    return max(good, key=lambda item: item[0])[1] if good else None  # of equally good ones, the first


def _cannot_part(name: str, more: int, n: int) -> Marks:
    problem = f"{shown(name)} stands again and again in {more:,} of {n:,} lines, and it cannot be told what it parts"
    both = f"verse_separator: {quoted(name)} and hemistich_separator: {quoted(name)}"
    return Marks(problem=problem, hint=f"verses: verse_separator: {quoted(name)}; hemistichs, two by two: {both}")


def _left_whole(found: dict[str, Count], n: int) -> list[str]:
    """A warning where a mark stands in too few verses to be that between hemistichs."""
    name = max(found, key=lambda name: found[name].once)
    once = found[name].once
    if not once or (name in _USUAL and once < _SOME * n):
        return []
    return [
        f"{shown(name)} stands once in {once:,} of {n:,} verses, too few to be the mark between hemistichs: they are"
        f" kept whole; if it is the mark, say so: hemistich_separator: {quoted(name)}"
    ]


def _unknown(texts: Sequence[str]) -> list[str]:
    """A warning where a mark that we do not know stands once in nearly every verse, well inside of it."""
    once: dict[str, int] = {}
    for text in texts:
        found = [match for match in _SIGNS.finditer(text.strip()) if match[0] not in _IN_WORDS]
        names = [match[0] for match in found]
        for match in found:
            inside = _INSIDE * len(text) <= match.start() <= (1 - _INSIDE) * len(text)
            if inside and names.count(match[0]) == 1:
                once[match[0]] = once.get(match[0], 0) + 1
    name = max(once, key=lambda name: once[name], default="")
    if len(texts) < FEWEST or once.get(name, 0) < NEARLY_ALL * len(texts):
        return []
    hint = json.dumps(name, ensure_ascii=False)
    return [
        f"{shown(name)} stands once in {once[name]:,} of {len(texts):,} verses, and they are kept whole; if it is the"
        f" mark between hemistichs, say so: hemistich_separator: {hint}"
    ]


def _alike(texts: Sequence[str], one: str, other: str) -> bool:
    """Whether two marks part nearly all texts that both part at the same place, such as '***' with a tab beside it."""
    same = both = 0
    for text in texts:
        first, second = (split_verse(text, SEPARATORS[name]) for name in (one, other))
        if len(first) == len(second) == 2:
            both += 1
            same += _letters(first[0]) == _letters(second[0])
    return same >= NEARLY_ALL * both


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def shown(name: str) -> str:
    """A mark in a message."""
    return {"tab": "a tab", "spaces": "a gap of several spaces", "line": "a line break"}.get(name, f"'{name.strip()}'")


def quoted(name: str) -> str:
    """A mark as a study gives it."""
    return f'"{name}"'
