"""Poems, queries and judgements of a multilingual benchmark, made from made-up words: as many as PoetryMTEB's, as long.

Nothing is copied from it: the numbers of poems and queries are those of its card, lengths are drawn from distributions
that were measured on other poems, words are random letters.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from verseir.tables import ATTRIBUTES, EXPLANATIONS, POEMS, QRELS, QUERIES, QUERY_ATTRIBUTES, write_table

CORPUS = "poetrymteb"
#: Judged poems of a query: 20 candidates and the poem that it was made from.
JUDGED = 21
#: The longest poem of the 2,100, in words, and how many words or characters a line has.
LONGEST, LINE = 1760, 6
#: Different words of a language that parts its words by blanks.
TYPES = 60_000


class Language(NamedTuple):
    """How the poems of a language are made.

    Attributes:
        poems: their number, from the card.
        letters: what its words are made of.
        median, spread: of the words of a poem (for ``spaced=False`` of its characters): the median and the standard
            deviation of the logarithm. Measured on 2,100 poems of six languages (CES, ENG, FAS, JPN, SPA, ZHO); others
            have what these have together.
        spaced: whether blanks part its words.
    """

    poems: int
    letters: str
    median: float = 110
    spread: float = 0.8
    spaced: bool = True


def span(first: int, last: int) -> str:
    return "".join(map(chr, range(first, last + 1)))


LATIN, CYRILLIC, ARABIC = span(0x61, 0x7A), span(0x430, 0x44F), "ابتثجحخدذرزسشصضطظعغفقكلمنهوي"
PERSIAN = "ابپتثجچحخدذرزژسشصضطظعغفقکگلمنوهی"
LANGUAGES = {
    "ARA": Language(10000, ARABIC),
    "CES": Language(10000, LATIN + "áčďéěíňóřšťúůýž", 83, 0.76),
    "DEU": Language(10000, LATIN + "äöüß"),
    "ENG": Language(10000, LATIN, 207, 0.93),
    "FAS": Language(10000, PERSIAN, 84, 0.78),
    "FRA": Language(10000, LATIN + "àâçéèêëîïôûùü"),
    "ITA": Language(10000, LATIN + "àèéìòù"),
    "JPN": Language(10000, span(0x3041, 0x3093) + span(0x4E00, 0x53FF), 29, 0.06, spaced=False),
    "RUS": Language(10000, CYRILLIC),
    "SPA": Language(6676, LATIN + "áéíñóúü", 93, 0.15),
    "BUL": Language(5641, CYRILLIC),
    "TUR": Language(5324, LATIN + "çğıöşü"),
    "TEL": Language(5227, span(0x0C15, 0x0C39) + span(0x0C3E, 0x0C44)),
    "POR": Language(4986, LATIN + "ãâáàçéêíõóôú"),
    "VIE": Language(3483, LATIN + "ăâđêôơưàảãáạ"),
    "HIN": Language(3227, span(0x0915, 0x0939) + span(0x093E, 0x0944)),
    "SLV": Language(2804, LATIN + "čšž"),
    "NOR": Language(2353, LATIN + "æøå"),
    "HUN": Language(2259, LATIN + "áéíóöőúüű"),
    "URD": Language(2198, PERSIAN + "ٹڈڑںھہے"),
    "BEN": Language(1789, span(0x0995, 0x09A8) + span(0x09AA, 0x09B0) + span(0x09BE, 0x09C4)),
    "PAN": Language(1538, span(0x0A15, 0x0A28) + span(0x0A3E, 0x0A42)),
    "ZHO": Language(631, span(0x4E00, 0x5FFF), 51, 0.6, spaced=False),
    "KOR": Language(468, span(0xAC00, 0xB3FF)),
}
#: Queries of each setting in train, silver and gold together, from the card.
SETTINGS = {
    "emotion-mono": 1920,
    "emotion-cross": 7283,
    "intent-mono": 5650,
    "intent-cross": 6604,
    "theme-mono": 1992,
    "theme-cross": 6811,
    "thought-mono": 3247,
    "thought-cross": 6793,
}


class Vocabulary:
    """Made-up words of a language, the first ones the frequent ones (Zipf 1949, with Mandelbrot's shift)."""

    def __init__(self, language: Language, rng: np.random.Generator):
        letters = np.array(list(language.letters))
        if language.spaced:
            lengths = rng.integers(2, 10, 2 * TYPES)
            words = {"".join(letters[rng.integers(0, len(letters), n)]): None for n in lengths.tolist()}
            self.words = list(words)[:TYPES]
        else:
            self.words = list(language.letters)
        chance = np.cumsum(1 / (np.arange(len(self.words)) + 2.7))
        self.chance = chance / chance[-1]

    def draw(self, n: int, rng: np.random.Generator) -> list[str]:
        return [self.words[i] for i in np.searchsorted(self.chance, rng.random(n)).tolist()]


def lines_of(language: Language, n: int, vocabulary: Vocabulary, rng: np.random.Generator) -> Iterator[list[str]]:
    """The lines of ``n`` poems."""
    lengths = np.clip(np.round(language.median * np.exp(language.spread * rng.standard_normal(n))), 4, LONGEST)
    for length in lengths.astype(int).tolist():
        words, joint = vocabulary.draw(length, rng), " " if language.spaced else ""
        yield [joint.join(words[first : first + LINE]) for first in range(0, length, LINE)]


class Collection(NamedTuple):
    """The poems of a language: their ids, their lines, and the words that they are made of."""

    ids: list[str]
    lines: list[list[str]]
    vocabulary: Vocabulary


def make(folder: Path, share: float, seed: int) -> None:
    """Write the tables that the workflow would make of the benchmark: poems, queries, judgements, attributes.

    Args:
        folder: what would be the results of the study.
        share: the part of the poems and of the queries that is made.
        seed: the same files for the same seed.
    """
    rng = np.random.default_rng(seed)
    made = {}
    for code, language in LANGUAGES.items():
        n, vocabulary = max(JUDGED, round(share * language.poems)), Vocabulary(language, rng)
        lines = list(lines_of(language, n, vocabulary, rng))
        made[code] = Collection([f"{code}_{i:05d}" for i in range(n)], lines, vocabulary)
    write_poems(folder / "corpora" / CORPUS, made)
    for name, n in SETTINGS.items():
        write_queries(folder / "queries", name, max(1, round(share * n)), made, rng)
    lengths = [len(poem) for part in made.values() for poem in part.lines]
    print(f"{len(lengths)} poems, {sum(lengths)} lines")


def write_poems(folder: Path, made: dict[str, Collection]) -> None:
    """The poems of all languages in one table; explanations and attributes that hold nothing."""
    frame = pl.DataFrame(
        {
            "poem_id": [poem_id for part in made.values() for poem_id in part.ids],
            "language": [code for code, part in made.items() for _ in part.ids],
            "verses": pl.Series(
                [[{"first": line} for line in poem] for part in made.values() for poem in part.lines],
                dtype=POEMS.columns["verses"],
            ),
        }
    )
    absent = [pl.lit(None, dtype).alias(name) for name, dtype in POEMS.columns.items() if name not in frame.columns]
    write_table(frame.with_columns(absent), folder / "poems.parquet", POEMS)
    write_table(pl.DataFrame(schema=dict(EXPLANATIONS.columns)), folder / "explanations.parquet", EXPLANATIONS)
    write_table(pl.DataFrame(schema=dict(ATTRIBUTES.columns)), folder / "attributes.parquet", ATTRIBUTES)


def write_queries(folder: Path, name: str, n: int, made: dict[str, Collection], rng: np.random.Generator) -> None:
    """``n`` queries of a setting with their judgements.

    A query has 15 words (30 characters), a third of them from its poem, in the language of the poem. The queries of the
    benchmark are Chinese, which BM25 would find in no poem of most languages: this is the heavier load.
    """
    every = [poem_id for part in made.values() for poem_id in part.ids]
    chance = np.array([len(part.ids) for part in made.values()]) / len(every)
    queries, judged, known = [], [], []
    aspect, _, scope = name.partition("-")
    for number, code in enumerate(rng.choice(list(made), n, p=chance).tolist()):
        query_id, part, spaced = f"{name}-{number:05d}", made[code], LANGUAGES[code].spaced
        place, length, joint = int(rng.integers(len(part.ids))), 15 if spaced else 30, " " if spaced else ""
        text = joint.join(part.lines[place])
        own = text.split() if spaced else list(text)
        start = int(rng.integers(max(1, len(own) - length // 3)))
        words = part.vocabulary.draw(length - length // 3, rng) + own[start : start + length // 3]
        queries.append((query_id, name, joint.join(words), "thematic", *[None] * 4))
        pool = part.ids if name.endswith("mono") else every
        grades = {pool[i]: int(rng.integers(0, 3)) for i in rng.choice(len(pool), JUDGED - 1, replace=False).tolist()}
        judged += [(query_id, poem_id, grade) for poem_id, grade in (grades | {part.ids[place]: 3}).items()]
        given = {"aspect": aspect, "scope": scope} | ({"language": code} if scope == "mono" else {})
        known += [(query_id, attribute, value) for attribute, value in given.items()]
    tables = (("", QUERIES, queries), (".qrels", QRELS, judged), (".attributes", QUERY_ATTRIBUTES, known))
    for suffix, table, rows in tables:
        frame = pl.DataFrame(rows, schema=dict(table.columns), orient="row")
        write_table(frame, folder / f"{name}{suffix}.parquet", table)
