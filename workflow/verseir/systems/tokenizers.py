"""How BM25 splits texts into tokens: the ways that an entry of the registry can name as ``tokens``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any

from verseir.arabic.presets import normalise
from verseir.arabic.tokens import spaced_words, tokenize

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


#: ``any-script``: runs of letters, marks and digits (``arabic.tokens``); ``words``: English words; ``multilingual``:
#: words, and pairs of characters where a script does not part words.
TOKENIZERS: dict[str, Callable[[str, str], list[str]]] = {
    "any-script": tokenize,
    "multilingual": words_by_script,
    "words": english_words,
}


def tokens_of(texts: Iterable[str], entry: Mapping[str, Any]) -> list[list[str]]:
    """The tokens of each text, normalised and split as the BM25 system ``entry`` says (``text`` and ``tokens``).

    Equal tokens are one object: a large corpus takes little more memory than its vocabulary and a pointer a token.
    """
    split = TOKENIZERS[entry["tokens"]]
    one: dict[str, str] = {}
    return [[one.setdefault(token, token) for token in split(text, entry["text"])] for text in texts]
