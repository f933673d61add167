"""Words of a text, for BM25 and for measures of overlap."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from verseir.arabic.characters import TATWEEL, is_invisible, is_word_character
from verseir.arabic.presets import normalise, normalise_aligned
from verseir.arabic.steps import MapCharacters


def _word_or_space(char: str) -> str:
    if is_word_character(char):
        return char
    return "" if is_invisible(char) else " "


_WORDS = MapCharacters("words", _word_or_space)

#: Between texts that are read as one. It is no character (Unicode keeps U+FFFF free): no step of a preset changes it,
#: makes it of something else, or reaches across it.
_BETWEEN = "\uffff"
_WORDS_OF_EACH = MapCharacters("words of each", lambda char: char if char == _BETWEEN else _word_or_space(char))

#: Tatweel, and the presentation forms that hold one.
HAS_TATWEEL = re.compile(f"[{TATWEEL}\ufcf2-\ufcf4\ufe71\ufe77\ufe79\ufe7b\ufe7d\ufe7f]")


def tokenize(text: str, preset: str = "full") -> list[str]:
    """The words of ``text`` in order, under ``preset``.

    The text is normalised before it is split, so a vocalised word is one token, and under ``full`` the same token as
    its bare spelling. A word is a run of letters, marks and digits of any script; all else parts words, but for
    invisible characters, which neither part nor show.
    """
    if HAS_TATWEEL.search(text):
        return _WORDS.apply(normalise(text, preset)).split()
    # Only a tatweel reaches across a space, so without one each word can be done alone, and words recur.
    tokens: list[str] = []
    for piece in text.split():
        tokens += _tokens_of(piece, preset)
    return tokens


def tokenize_each(texts: Sequence[str], preset: str = "full") -> list[list[str]]:
    """``[tokenize(text, preset) for text in texts]``, quicker where they are many: all are read as one text."""
    if not texts:
        return []
    whole = _BETWEEN.join(texts)
    if whole.count(_BETWEEN) >= len(texts):  # in a text it parts words, as a full stop does
        whole = _BETWEEN.join(text.replace(_BETWEEN, ".") for text in texts)
    return [words.split() for words in _WORDS_OF_EACH.apply(normalise(whole, preset)).split(_BETWEEN)]


def spaced_words(text: str, preset: str = "full") -> str:
    """The words of ``tokenize(text, preset)``, parted by blanks: quicker than ``tokenize`` where words seldom recur."""
    return _WORDS.apply(normalise(text, preset))


@lru_cache(maxsize=1 << 17)
def _tokens_of(piece: str, preset: str) -> tuple[str, ...]:
    return tuple(_WORDS.apply(normalise(piece, preset)).split())


def token_spans(text: str, preset: str = "full") -> list[tuple[str, int, int]]:
    """The words of ``tokenize(text, preset)``, each with its start and end in ``text``.

    ``text[start:end]`` holds the word as it is written, with the marks that the preset took away.
    """
    return [(word, places[0], places[-1]) for word, places in aligned_words(text, preset)]


def aligned_words(text: str, preset: str = "full") -> list[tuple[str, list[int]]]:
    """The words of ``tokenize(text, preset)``, each with the places in ``text`` of its characters, and of its end."""
    normal, index = normalise_aligned(text, preset)
    words, index = _WORDS.apply_aligned(normal, index)
    index.append(len(text))
    found = []
    position = 0
    for word in words.split():
        first = words.index(word, position)
        position = first + len(word)
        end = _end_of_word(text, index[position - 1] + 1, index[position])
        found.append((word, [*index[first:position], end]))
    return found


def _end_of_word(text: str, end: int, limit: int) -> int:
    """Move ``end`` past the marks, tatweel and joiners that follow the last letter, but not past ``limit``."""
    while end < limit and (is_word_character(text[end]) or is_invisible(text[end])):
        end += 1
    return end
