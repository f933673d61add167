"""How BM25 splits texts into tokens: the ways that an entry of the registry can name as ``tokens``."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, chain, pairwise, repeat
from typing import Any

import numpy as np
import polars as pl

from verseir.arabic.presets import normalise
from verseir.arabic.tokens import HAS_TATWEEL, aligned_words, spaced_words, tokenize, tokenize_each
from verseir.systems.tokens import Tokens, starts_of, take_parts

_WORD = re.compile(r"\b\w+(?:'\w+)?\b")


def english_words(text: str, preset: str) -> list[str]:
    """The words of ``text`` in lower case; one straight apostrophe may stand inside a word (``don't``)."""
    return _WORD.findall(normalise(text, preset).lower())


#: Han, Hiragana, Katakana and Hangul: the scripts of Lucene's CJKBigramFilter, by code points (Unicode 16). Among them
#: the signs that repeat or lengthen what stands before (U+3005, U+303B, U+30FC).
_CJK_LETTER = (
    "[\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3041-\u3096\u309b-\u30fa"
    "\u30fc-\u30ff\u3131-\u318e\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97c\uac00-\ud7fb\uf900-\ufaff"
    "\uff66-\uffdc\U0001aff0-\U0001b16f\U00020000-\U0003ffff]"
)
#: Marks belong to the letter before them: kana voicing, tone marks, accents.
_CJK_CHARACTER = re.compile(f"{_CJK_LETTER}[\u0300-\u036f\u302a-\u302f\u3099\u309a]*")
_CJK_RUN = re.compile(f"((?:{_CJK_CHARACTER.pattern})+)")

_DEVANAGARI = re.compile("[\u0900-\u097f]")
#: What ``_of_its_script`` leaves alone holds none of these.
_SPLIT_OR_FOLDED = re.compile(f"{_DEVANAGARI.pattern}|{_CJK_LETTER}")
_WITHOUT_NUKTA = {
    0x093C: None,
    **dict(zip(range(0x0958, 0x0960), "\u0915\u0916\u0917\u091c\u0921\u0922\u092b\u092f", strict=True)),
    **{0x0929: "\u0928", 0x0931: "\u0930", 0x0934: "\u0933"},
}
#: Letters that used to be written with a joiner, and have a code point of their own since: Bengali khanda ta (Unicode
#: 4.1) and the chillus of Malayalam (5.1). Without the joiner they could not be told from the letter with a virama.
_WITH_JOINER = {
    "\u09a4\u09cd\u200d": "\u09ce",
    **{f"{letter}\u0d4d\u200d": chillu for letter, chillu in zip("ണനരലളക", "ൺൻർൽൾൿ", strict=True)},
}


def words_by_script(text: str, preset: str) -> list[str]:
    """The tokens of ``text`` in whatever scripts it is written; no language needs to be known.

    Words are those of ``arabic.tokens.tokenize`` under ``preset``: runs of letters, marks and digits, so that vowel
    signs and viramas stay in their word, and joiners (ZWJ, ZWNJ) leave no trace. With the preset ``full`` they are in
    NFKC, without case, their digits 0-9; letters of the Arabic script are folded, those of no other script. Then:

    * Han, Hiragana, Katakana and Hangul give overlapping pairs of characters, one that stands alone gives itself; pairs
      cross from one of these scripts to another, but not a blank, a mark of punctuation or another script. So does
      Lucene's CJKAnalyzer (CJKBigramFilter, ``outputUnigrams`` off) after ICUTokenizer. mteb's baseline, bm25s, takes
      single characters, and runs them together across blanks.
    * In Devanagari, a letter with a nukta becomes the letter; candrabindu, and na with virama, become anusvara
      (हिन्दी, हिंदी): Larkey, Connell and AbdulJaleel 2003, Hindi CLIR in Thirty Days. Lucene's HindiNormalizer does
      this too; that it also shortens vowels and drops viramas, which makes words one that only sound alike, is left
      out. In other Indic scripts a nukta tells letters apart (Bengali ড ড়, Gurmukhi ਸ ਸ਼) and stays.

    There is no stemming and no list of stop words: both hang on the language.
    """
    return [token for word in tokenize(_joined(text), preset) for token in _of_its_script(word)]


def words_of_long_text(text: str, preset: str) -> list[str]:
    """``words_by_script``, quicker where many words are met once: the text is read at once and not word by word."""
    words = spaced_words(_joined(text), preset)
    if not _SPLIT_OR_FOLDED.search(words):
        return words.split()
    return [token for word in words.split() for token in _of_its_script(word)]


def spans_by_script(text: str, preset: str) -> list[tuple[str, int, int]]:
    """The tokens of ``words_by_script(text, preset)``, each with its start and end in ``text``.

    Pairs of characters overlap. A token of a word with Devanagari letters has the span of the word.
    """
    if HAS_TATWEEL.search(text) or _joined(text) != text:  # only these reach across what parts words
        joined, places = _joined_aligned(text)
        return [(token, places[start], places[end]) for token, start, end in _spans_of(joined, preset)]
    return [
        (token, piece.start() + start, piece.start() + end)
        for piece in _PIECE.finditer(text)
        for token, start, end in _spans_of_piece(piece.group(), preset)
    ]


_PIECE = re.compile(r"\S+")


@lru_cache(maxsize=1 << 16)
def _spans_of_piece(piece: str, preset: str) -> tuple[tuple[str, int, int], ...]:
    return tuple(_spans_of(piece, preset))


def _spans_of(text: str, preset: str) -> list[tuple[str, int, int]]:
    return [span for word, places in aligned_words(text, preset) for span in _spans_in_word(word, places)]


def _spans_in_word(word: str, places: Sequence[int]) -> list[tuple[str, int, int]]:
    """The tokens of a word, each with the places of its first character and of its end."""
    if word.isascii() or _DEVANAGARI.search(word):
        return [(token, places[0], places[-1]) for token in _of_its_script(word)]
    spans, at = [], 0
    for i, part in enumerate(_CJK_RUN.split(word)):
        pieces = list(_CJK_CHARACTER.finditer(part)) if i % 2 else []
        ends = [(one.start(), other.end()) for one, other in pairwise(pieces)]
        for start, end in ends or ([(0, len(part))] if part else []):
            stop = places[-1] if at + end == len(word) else max(places[at + end], places[at + end - 1] + 1)
            spans.append((part[start:end], places[at + start], stop))
        at += len(part)
    return spans


def _joined_aligned(text: str) -> tuple[str, list[int]]:
    """``_joined(text)``, and for each of its characters its place in ``text``; last comes where the text ends."""
    places = list(range(len(text) + 1))
    for written, letter in _WITH_JOINER.items():
        at = text.find(written)
        while at >= 0:
            text = text[:at] + letter + text[at + len(written) :]
            del places[at + len(letter) : at + len(written)]
            at = text.find(written, at + len(letter))
    return text, places


def _joined(text: str) -> str:
    if "\u200d" in text:
        for written, letter in _WITH_JOINER.items():
            text = text.replace(written, letter)
    return text


@lru_cache(maxsize=1 << 17)
def _of_its_script(word: str) -> tuple[str, ...]:
    if word.isascii():
        return (word,)
    if _DEVANAGARI.search(word):
        word = word.translate(_WITHOUT_NUKTA).replace("\u0901", "\u0902").replace("\u0928\u094d", "\u0902")
    tokens: list[str] = []
    for i, part in enumerate(_CJK_RUN.split(word)):  # runs of CJK stand at odd places
        if i % 2:
            characters = _CJK_CHARACTER.findall(part)
            tokens += ["".join(pair) for pair in pairwise(characters)] or characters
        elif part:
            tokens.append(part)
    return tuple(tokens)


def _english_words_each(texts: Sequence[str], preset: str) -> list[list[str]]:
    return [english_words(text, preset) for text in texts]


def _words_by_script_each(texts: Sequence[str], preset: str) -> list[list[str]]:
    every = tokenize_each([_joined(text) for text in texts], preset)
    return [[token for word in words for token in _of_its_script(word)] for words in every]


#: The tokens of each of several texts under a preset. ``any-script``: runs of letters, marks and digits
#: (``arabic.tokens``); ``words``: English words; ``multilingual``: words, and pairs of characters where a script does
#: not part words.
TOKENIZERS: dict[str, Callable[[Sequence[str], str], list[list[str]]]] = {
    "any-script": tokenize_each,
    "multilingual": _words_by_script_each,
    "words": _english_words_each,
}
#: Texts that ``tokens_of`` reads together.
_BLOCK = 1 << 13
_TATWEEL = HAS_TATWEEL.pattern


def tokens_of(texts: Iterable[str], entry: Mapping[str, Any]) -> Tokens:
    """The tokens of each text, normalised and split as the BM25 system ``entry`` says (``text`` and ``tokens``)."""
    every = texts if isinstance(texts, pl.Series) else pl.Series(list(texts), dtype=pl.String)
    return tokens_of_blocks((every[first : first + _BLOCK] for first in range(0, len(every), _BLOCK)), entry)


def tokens_of_blocks(blocks: Iterable[pl.Series], entry: Mapping[str, Any]) -> Tokens:
    """``tokens_of`` the texts of all blocks, of which one is held at a time.

    Chunks of a poem share verses, and words recur: of the texts of a block a line is split once, and what stands
    between two blanks is normalised once for all. Nothing but a tatweel reaches across a blank; a line that has one is
    normalised as a whole, and so is a text in which several lines have one.
    """
    pieces = _Pieces(TOKENIZERS[entry["tokens"]], entry["text"])
    parts = [pieces.read(block) for block in blocks]
    starts = starts_of(np.concatenate([np.empty(0, dtype=np.int64), *(np.diff(own) for _, own in parts)]))
    ids = np.empty(starts[-1], dtype=np.int32)
    filled = 0
    while parts:  # each is let go once it is copied
        part, _ = parts.pop(0)
        ids[filled : filled + len(part)] = part
        filled += len(part)
    return Tokens.numbered(pieces.vocabulary, ids, starts)


class _Pieces:
    """The tokens of all pieces of text that were met, by number.

    Attributes:
        vocabulary: the tokens, each with its number.
    """

    def __init__(self, split: Callable[[Sequence[str], str], list[list[str]]], preset: str):
        self.split, self.preset = split, preset
        self.vocabulary: dict[str, int] = {}
        self.number_of: dict[str, int] = {}
        self.ids, self.starts = array("i"), array("q", [0])

    def read(self, texts: pl.Series) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the tokens of these texts, int32, and where each text starts among them, int64 [n + 1]."""
        several = texts.str.contains(f"(?s){_TATWEEL}.*\n.*{_TATWEEL}")
        texts = texts.zip_with(~several, texts.str.replace_all("\n", " ", literal=True))
        by_text = texts.str.split("\n")
        line, lines = _numbered(by_text.explode())
        has_tatweel, blanks = pl.col("line").str.contains(_TATWEEL), pl.col("line").str.split(" ")
        by_line = pl.select(line=lines).select(
            pl.when(has_tatweel).then(pl.concat_list("line")).otherwise(blanks)
        ).to_series()  # fmt: skip
        piece, pieces = _numbered(by_line.explode())
        numbers = self._numbers(pieces.to_list())[piece]
        ids, starts = take_parts(np.array(self.ids), np.array(self.starts), numbers)
        ids, starts = take_parts(ids, starts[starts_of(by_line.list.len().to_numpy())], line)
        return ids, starts[starts_of(by_text.list.len().to_numpy())]

    def _numbers(self, pieces: list[str]) -> np.ndarray:
        """int64 [n], the number of each of these distinct pieces; those that were not met yet are split."""
        numbers = np.fromiter(map(self.number_of.get, pieces, repeat(-1)), np.int64, len(pieces))
        new = np.flatnonzero(numbers < 0)
        numbers[new] = range(len(self.number_of), len(self.number_of) + len(new))
        met = [pieces[place] for place in new.tolist()]
        self.number_of.update(zip(met, numbers[new].tolist(), strict=True))
        every = self.split(met, self.preset)
        tokens = chain.from_iterable(every)
        self.ids.extend([self.vocabulary.setdefault(token, len(self.vocabulary)) for token in tokens])
        self.starts.extend(accumulate(map(len, every), initial=self.starts.pop()))
        return numbers


def _numbered(texts: pl.Series) -> tuple[np.ndarray, pl.Series]:
    """Of each text its place among the distinct ones, and these."""
    distinct = texts.unique(maintain_order=True)
    return texts.cast(pl.Enum(distinct)).to_physical().to_numpy(), distinct
