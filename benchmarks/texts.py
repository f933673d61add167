"""Made-up texts for benchmarks: the same for the same seed, with the lengths and the word frequencies of poems.

Words follow Zipf's law with Mandelbrot's shift, frequent ones are short; verses of a poem have as many words, as they
share a metre; the logarithm of the number of verses is normal, as in the archives that this project was made for; a
chunk is a window of three verses, a shorter poem is one chunk.
"""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).parents[1]
LETTERS = "ابتثجحخدذرزسشصضطظعغفقكلمنهوي"
MARKS = "ًٌٍَُِّْ"
#: Different words; the fewest and the most words of a verse; verses of a chunk.
TYPES, WORDS, WINDOW = 60_000, (6, 12), 3
#: Of the number of verses of a poem: the median, the standard deviation of the logarithm, the most.
VERSES, SPREAD, LONGEST = 8, 0.8, 200


class Vocabulary:
    """Words in the order of their frequency, and their cumulative chances, float64 [types]."""

    def __init__(self, words: list[str], chances: np.ndarray):
        self.words = words
        self.chances = np.cumsum(chances) / np.sum(chances)

    @classmethod
    def made_up(cls, rng: np.random.Generator, types: int = TYPES) -> Vocabulary:
        """``types`` words of random letters: two or three for the 100 frequent ones, up to seven for the rare ones."""
        words: dict[str, None] = {}
        while len(words) < types:
            low, high = (2, 4) if len(words) < 100 else (3, 6) if len(words) < 5000 else (4, 8)
            words["".join(LETTERS[i] for i in rng.integers(0, len(LETTERS), rng.integers(low, high)))] = None
        return cls(list(words), 1 / (np.arange(types) + 2.7))

    @classmethod
    def of_demo(cls) -> Vocabulary:
        """The words of the poems that this project brings, as often as they stand in them: real ones, for encoders."""
        counts: dict[str, int] = {}
        for line in (ROOT / "resources" / "demo" / "poems.jsonl").read_text(encoding="utf-8").splitlines():
            for verse in json.loads(line)["verses"]:
                for word in " ".join(filter(None, verse)).split():
                    counts[word] = counts.get(word, 0) + 1
        words = sorted(counts, key=lambda word: (-counts[word], word))
        return cls(words, np.array([counts[word] for word in words], dtype=np.float64))

    def draw(self, n: int, rng: np.random.Generator) -> list[str]:
        """``n`` words."""
        return [self.words[i] for i in np.searchsorted(self.chances, rng.random(n), side="right").tolist()]


class Poems(NamedTuple):
    """Verses of poems, each a list of words, and the chunks that are their windows.

    Attributes:
        verses: by poem, the words of its verses.
        poem_of: int64 [n], the poem of each chunk; never decreases.
        first_of: int64 [n], its first verse.
    """

    verses: list[list[list[str]]]
    poem_of: np.ndarray
    first_of: np.ndarray

    def chunk_words(self) -> list[list[str]]:
        """The words of each chunk."""
        windows = zip(self.poem_of.tolist(), self.first_of.tolist(), strict=True)
        return [list(chain(*self.verses[poem][first : first + WINDOW])) for poem, first in windows]

    def chunk_texts(self) -> list[str]:
        """The text of each chunk, a verse a line, its halves parted by an asterisk."""
        lines = [
            [" ".join([*verse[: len(verse) // 2], "*", *verse[len(verse) // 2 :]]) for verse in poem]
            for poem in self.verses
        ]
        windows = zip(self.poem_of.tolist(), self.first_of.tolist(), strict=True)
        return ["\n".join(lines[poem][first : first + WINDOW]) for poem, first in windows]


def make_poems(n_chunks: int, vocabulary: Vocabulary, rng: np.random.Generator, *, vocalised: float = 0.0) -> Poems:
    """Poems of ``n_chunks`` chunks in all.

    Args:
        vocalised: the share of poems that are written with vowel signs; a word has one of two spellings then.
    """
    spellings: dict[str, list[str]] = {}

    def spell(word: str) -> str:
        if word not in spellings:
            marks = rng.integers(0, len(MARKS), (2, len(word))).tolist()
            spellings[word] = ["".join(a + MARKS[m] for a, m in zip(word, row, strict=True)) for row in marks]
        return spellings[word][int(rng.integers(2))]

    verses: list[list[list[str]]] = []
    counts: list[int] = []
    left = n_chunks
    while left:
        drawn = round(VERSES * float(np.exp(SPREAD * rng.standard_normal())))
        n, length = min(max(1, drawn), LONGEST, left + WINDOW - 1), int(rng.integers(WORDS[0], WORDS[1] + 1))
        words = vocabulary.draw(n * length, rng)
        if rng.random() < vocalised:
            words = [spell(word) for word in words]
        verses.append([words[first : first + length] for first in range(0, len(words), length)])
        counts.append(max(1, n - WINDOW + 1))
        left -= counts[-1]
    sizes = np.array(counts)
    poem_of = np.repeat(np.arange(len(sizes)), sizes)
    return Poems(verses, poem_of, np.arange(n_chunks) - np.repeat(np.cumsum(sizes) - sizes, sizes))


def make_queries(n: int, poems: Poems, vocabulary: Vocabulary, rng: np.random.Generator) -> list[list[str]]:
    """``n`` queries: two to six words that follow each other in some verse, then two to five others."""
    queries = []
    for _ in range(n):
        poem = poems.verses[int(rng.integers(len(poems.verses)))]
        verse = poem[int(rng.integers(len(poem)))]
        length = int(rng.integers(2, min(7, len(verse) + 1)))
        start = int(rng.integers(len(verse) - length + 1))
        queries.append(verse[start : start + length] + vocabulary.draw(int(rng.integers(2, 6)), rng))
    return queries


def names(prefix: str, n: int) -> list[str]:
    """``n`` names whose bytewise order is that of their numbers."""
    return [f"{prefix}{i:07d}" for i in range(n)]


def numbers(ids: np.ndarray) -> np.ndarray:
    """The numbers, int64, in an array of such names, one letter before each."""
    return np.array([int(name[1:]) for name in ids.tolist()], dtype=np.int64)
