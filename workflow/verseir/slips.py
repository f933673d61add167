"""A line as memory or another manuscript has it: one change of its wording, and spellings that nobody notices.

What scribes and editors change was counted in 359 hemistichs that two editions of Arabic diwans have otherwise: in 57%
one letter of one word differs, most often a hamza, a conjunction, or a letter of the same shape with other dots; in 14%
one word otherwise; 8% have two other words, 11% one more, 6% one fewer. ``WEIGHTS`` are near to that, with more words
dropped, replaced and exchanged: these are the errors of memory (Bartlett 1932, *Remembering*). Editions keep 74% of the
words of such a hemistich in the mean and 75% in the median; of the same hemistichs this module keeps 77% and 75%.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from verseir.arabic import normalise, token_spans, tokenize
from verseir.scripts import dominant_script

#: Scripts that leave no blanks between words: a character of theirs stands for a word.
UNPARTED = frozenset({"Han", "Kana", "Thai", "Lao", "Khmer", "Myanmar"})
#: How often each change of the wording is tried first, in a hundred.
WEIGHTS = {"letter": 60, "other word": 15, "dropped": 15, "swapped": 10}
#: Letters that scribes and readers take for each other: by their shape, or by their sound.
SIMILAR = ("بتثني", "جحخ", "دذ", "رز", "سش", "صض", "طظ", "عغ", "فق", "كل", "وف")
#: Spellings of one letter, which the preset ``full`` makes one.
_SPELLINGS = {"أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ا": "أ", "ة": "ه", "ى": "ي", "ي": "ى", "ؤ": "و", "ئ": "ي"}
#: Vowel signs, tanwin, shadda and sukun; those that are added are the three short vowels.
_SIGNS = "".join(map(chr, range(0x64B, 0x653)))
_SHORT = "َُِ"
#: How often a line of four words or more is changed once more.
_AGAIN, _LONG = 0.2, 4
#: Of the words whose spelling can change, how many do; how many get a vowel sign; how often all signs are left out.
_RESPELT, _SIGNED, _BARE = 0.3, 0.1, 0.5


@dataclass(frozen=True)
class Dice:
    """Chances that hang on ``seed`` and the names that they are asked by alone: on no order and no generator."""

    seed: int
    names: tuple[str, ...] = ()

    def named(self, *names: str) -> Dice:
        """Other dice, for what has these names."""
        return Dice(self.seed, (*self.names, *names))

    def rank(self, *names: str) -> bytes:
        """What to order by so that the order looks random."""
        return hashlib.sha256("\0".join([str(self.seed), *self.names, *names]).encode()).digest()

    def share(self, *names: str) -> float:
        """A number from 0 up to 1."""
        return int.from_bytes(self.rank(*names)[:6], "big") / 2**48


def pieces(text: str, preset: str = "raw") -> list[str]:
    """The words of ``text`` as they are written, under ``preset``; in scripts without blanks its characters."""
    text = normalise(text, preset)
    found: list[str] = []
    for _, start, end in token_spans(text, "light"):
        found += _parted(text[start:end])
    return found


def joined(words: Sequence[str]) -> str:
    """Words with a blank between them, but for two of a script that leaves none."""
    text = ""
    for word in words:
        bare = text and _is_unparted(text[-1]) and _is_unparted(word[0])
        text += word if bare or not text else f" {word}"
    return text


def is_unparted(words: Sequence[str]) -> bool:
    """Whether most of ``words`` are characters of a script without blanks."""
    return 2 * sum(_is_unparted(word[0]) for word in words) > len(words)


def variant(words: Sequence[str], others: Sequence[str], dice: Dice) -> str | None:
    """``words`` as somebody remembers them; None where nothing can be changed so that ``full`` sees it.

    Args:
        words: of one hemistich or verse, see ``pieces``.
        others: words of other verses of the same poem, one of which may take the place of one.
        dice: of this variant.
    """
    source = tokenize(joined(words))
    for changed in _changed(words, others, dice):
        if len(changed) >= _LONG and dice.share("again") < _AGAIN:
            changed = next(_changed(changed, others, dice.named("again")), changed)
        text = joined(_respelt(changed, dice.named("spelling")))
        if len(changed) > 1 and tokenize(text) != source:
            return text
    return None


def _changed(words: Sequence[str], others: Sequence[str], dice: Dice) -> Iterator[list[str]]:
    """``words`` with one change, in each way that there is, those of more weight mostly first."""
    for change in sorted(WEIGHTS, key=lambda name: _turn(dice.share("change", name), WEIGHTS[name])):
        yield from _CHANGES[change](list(words), others, dice.named(change))


def _turn(share: float, weight: float) -> float:
    """A key by which one of weight w is first w times as often (Efraimidis and Spirakis 2006)."""
    return -(max(share, 1e-12) ** (1 / weight))


def _parted(word: str) -> list[str]:
    """One word, or its characters where they are of a script without blanks. A mark stays with its letter."""
    parts: list[str] = []
    for char in word:
        before = parts[-1] if parts else ""
        bare = before and (_is_unparted(char) or _is_unparted(before[0]))
        if not before or (bare and unicodedata.category(char)[0] != "M"):
            parts.append(char)
        else:
            parts[-1] += char
    return parts


@lru_cache(maxsize=1 << 14)
def _is_unparted(char: str) -> bool:
    return dominant_script(char) in UNPARTED


def _letter(words: list[str], _: Sequence[str], dice: Dice) -> list[list[str]]:
    """One word with one letter otherwise; the words in a random order, so that the first will do mostly."""
    found = []
    for place in _places(words, dice):
        word = words[place]
        other = _slip(word, dice.named(str(place)))
        if other:
            found.append([*words[:place], other, *words[place + 1 :]])
    return found


def _slip(word: str, dice: Dice) -> str | None:
    """An Arabic letter taken for one like it; of other scripts two letters that changed places, or one left out."""
    options = [
        word[:at] + other + word[at + 1 :]
        for at, char in enumerate(word)
        for group in SIMILAR
        if char in group and not (group == "وف" and at)  # the two conjunctions, before a word alone
        for other in group
        if other != char
    ]
    letters = [at for at, char in enumerate(word) if char.isalpha()]
    if not options and len(letters) > 3 and not _is_unparted(word[0]):
        pairs = [(a, b) for a, b in pairwise(letters[1:]) if b == a + 1 and word[a] != word[b]]
        options = [word[:a] + word[b] + word[a] + word[b + 1 :] for a, b in pairs]
        options = options or [word[:at] + word[at + 1 :] for at in letters[1:]]
    return min(options, key=dice.rank) if options else None


def _other_word(words: list[str], others: Sequence[str], dice: Dice) -> list[list[str]]:
    own = set(map(_folded, words))
    strange = sorted({word for word in others if _folded(word) not in own}, key=dice.rank)
    return [[*words[:place], strange[0], *words[place + 1 :]] for place in _places(words, dice) if strange]


def _dropped(words: list[str], _: Sequence[str], dice: Dice) -> list[list[str]]:
    return [[*words[:place], *words[place + 1 :]] for place in _places(words, dice)]


def _swapped(words: list[str], _: Sequence[str], dice: Dice) -> list[list[str]]:
    return [[*words[:place], words[place + 1], words[place], *words[place + 2 :]] for place in _places(words[1:], dice)]


_CHANGES: dict[str, Callable[[list[str], Sequence[str], Dice], list[list[str]]]] = {
    "letter": _letter,
    "other word": _other_word,
    "dropped": _dropped,
    "swapped": _swapped,
}


def _places(words: Sequence[str], dice: Dice) -> list[int]:
    return sorted(range(len(words)), key=lambda place: dice.rank("place", str(place)))


def _folded(word: str) -> str:
    return " ".join(tokenize(word))


def _respelt(words: Sequence[str], dice: Dice) -> list[str]:
    """Spellings that mean the same word: hamza and alef, ta marbuta, alef maqsura, vowel signs, case and accents."""
    bare = dice.share("bare") < _BARE
    return [_spelt(word, bare, dice.named(str(place))) for place, word in enumerate(words)]


def _spelt(word: str, bare: bool, dice: Dice) -> str:
    respelt = dice.share("respelt") < _RESPELT
    if dominant_script(word) == "Arabic":
        if bare:
            word = "".join(char for char in word if char not in _SIGNS)
        if respelt:
            word = _arabic_spelling(word, dice)
    elif respelt:
        word = word.lower() if word != word.lower() else _without_accents(word)
    return word


def _arabic_spelling(word: str, dice: Dice) -> str:
    """One letter in another spelling, where there is one; else a vowel sign more."""
    last = max((at for at, char in enumerate(word) if char.isalpha()), default=0)
    options = []
    for at, char in enumerate(word):
        ends = char in "ةىي"
        if char in _SPELLINGS and (at == last if ends else char != "ا" or (at == 0 and not word.startswith("ال"))):
            options.append(word[:at] + _SPELLINGS[char] + word[at + 1 :])
    if not options and dice.share("signed") < _SIGNED / _RESPELT:
        places = [at for at, char in enumerate(word[:last]) if char.isalpha() and word[at + 1] not in _SIGNS]
        options = [word[: at + 1] + sign + word[at + 1 :] for at in places for sign in _SHORT]
    return min(options, key=dice.rank) if options else word


def _without_accents(word: str) -> str:
    """Latin, Greek and Cyrillic letters without their accents; those of other scripts need their marks."""
    if dominant_script(word) not in ("Latin", "Greek", "Cyrillic"):
        return word
    parted = unicodedata.normalize("NFD", word)
    return unicodedata.normalize("NFC", "".join(char for char in parted if not unicodedata.combining(char)))
