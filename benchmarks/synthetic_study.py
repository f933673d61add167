"""A study of made-up poems, queries and ranked lists, as large as a real one: nothing in it needs a model.

Systems differ in how much they depend on the words that a query shares with its poem, as real ones do: the lexical
system leads where queries quote and falls behind where they describe.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import yaml
from numpy.typing import NDArray

NAME = "analysis-stage"
CORPORA = ("east", "west")
SYSTEMS = ("words", *(f"vectors-{i}" for i in range(1, 10)))
MODES = {
    "verse": ["verse"],
    "explanation": ["explanation:prose"],
    "verse+explanation": ["verse", "explanation:prose"],
}
LETTERS = "ابتثجحخدذرزسشصضطظعغفقكلمنهوي"
ERAS = ("العصر الجاهلي", "العصر الأموي", "العصر العباسي", "العصر الأندلسي", "العصر المملوكي", "العصر العثماني")
METERS = ("الطويل", "الكامل", "البسيط", "الوافر", "الخفيف")
GENRES = ("فخر", "رثاء", "غزل", "حكمة")
REGISTERS = ("quoting", "half-remembered", "abstract")

Words = list[str]


class Size(NamedTuple):
    """How large the study is: poems and known-item queries of each corpus, themes, poems in a ranked list."""

    poems: int = 3000
    queries: int = 250
    themes: int = 20
    depth: int = 1000


class Poem(NamedTuple):
    """The words of the verses (eight each) and of their explanations."""

    verses: list[Words]
    explanations: list[Words]


class Query(NamedTuple):
    """A query, its poems with their grades, and the share of its words that its poem and explanations hold."""

    register: str
    words: Words
    relevant: dict[int, int]
    in_verses: float
    in_explanation: float


class Vocabulary:
    """Made-up words of three to six letters; the first ones are the frequent ones (Zipf 1949)."""

    def __init__(self, size: int, rng: np.random.Generator):
        words: dict[str, None] = {}
        while len(words) < size:
            words["".join(rng.choice(list(LETTERS), rng.integers(3, 7)))] = None
        self.words = np.array(list(words))
        self.chance = 1 / np.arange(3, size + 3)
        self.chance /= self.chance.sum()

    def draw(self, n: int, rng: np.random.Generator) -> Words:
        return rng.choice(self.words, n, p=self.chance).tolist()


def make_poems(n: int, vocabulary: Vocabulary, rng: np.random.Generator) -> list[Poem]:
    """``n`` poems; each fiftieth repeats the one before it, every other time with one verse more."""
    poems: list[Poem] = []
    while len(poems) < n:
        if len(poems) % 50 == 49:
            verses = poems[-1].verses + ([vocabulary.draw(8, rng)] if len(poems) % 100 == 49 else [])
        else:
            verses = [vocabulary.draw(8, rng) for _ in range(rng.integers(4, 9))]
        told = [rng.permutation(rng.choice(verse, 3).tolist() + vocabulary.draw(9, rng)).tolist() for verse in verses]
        poems.append(Poem(verses, told))
    return poems


def known_item(
    poems: list[Poem], n: int, shared: float, vocabulary: Vocabulary, rng: np.random.Generator
) -> list[Query]:
    """``n`` queries, each for one poem; a share of them ask for the poem of another query."""
    targets = rng.choice(len(poems), n, replace=False)
    targets[n - int(shared * n) :] = targets[: int(shared * n)]
    queries = []
    for place, target in enumerate(targets.tolist()):
        register = REGISTERS[place % 3]
        verse, told = (part[rng.integers(len(part))] for part in poems[target])
        if register == "quoting":
            length = int(rng.integers(3, 9))
            start = int(rng.integers(9 - length))
            words = vocabulary.draw(3, rng) + verse[start : start + length] + vocabulary.draw(3, rng)
        elif register == "half-remembered":
            kept = rng.choice(verse, int(rng.integers(1, 5)), replace=False).tolist()
            words = rng.permutation(kept + vocabulary.draw(9 - len(kept), rng)).tolist()
        else:
            words = rng.permutation(rng.choice(told, rng.integers(3)).tolist() + vocabulary.draw(8, rng)).tolist()
        queries.append(Query(register, words, {target: 1}, *shares(words, poems[target])))
    return queries


def shares(words: Words, poem: Poem) -> tuple[float, float]:
    """The share of a query's distinct words that stand in the verses and in the explanations of a poem."""
    distinct = set(words)
    verses, told = (set().union(*part) for part in poem)
    return len(distinct & verses) / len(distinct), len(distinct & told) / len(distinct)


def thematic(poems: list[Poem], n: int, vocabulary: Vocabulary, rng: np.random.Generator) -> list[Query]:
    """``n`` themes of three words, each with five to thirty poems of grades 1 to 3."""
    queries = []
    for _ in range(n):
        chosen = rng.choice(len(poems), rng.integers(5, 31), replace=False).tolist()
        grades = {poem: int(rng.integers(1, 4)) for poem in chosen}
        queries.append(Query("thematic", vocabulary.draw(3, rng), grades, 0.1, 0.2))
    return queries


def make_run(
    queries: list[Query], n_poems: int, system: int, mode: str, depth: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """The ranked list of one system: index of the query, index of the poem, score; query by query, best first.

    A poem that is not asked for has a standard normal score; one that is has a score that grows with the system's
    strength and, by as much as the system depends on them, with the words that the query shares with what is indexed.
    The lexical system, the first, does not find every poem and gives equal scores.
    """
    strength, dependence = (0.6, 9.0) if system == 0 else (1.4 + 0.2 * system, 4.0 - 0.3 * system)
    score = rng.standard_normal((len(queries), n_poems))
    for row, query in enumerate(queries):
        shared = {
            "verse": query.in_verses,
            "explanation": query.in_explanation,
            "verse+explanation": 0.9 * max(query.in_verses, query.in_explanation),
        }[mode]
        for poem, grade in query.relevant.items():
            score[row, poem] += strength + dependence * shared + 0.4 * (grade - 1)
    if system == 0:
        score = np.where(score > 0.2, np.round(score, 2), -np.inf)
    order = np.argsort(-score, axis=1, kind="stable")[:, :depth]
    best = np.take_along_axis(score, order, axis=1)
    rows, columns = np.nonzero(np.isfinite(best))
    return rows, order[rows, columns], best[rows, columns].astype(np.float32)


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def write_corpus(folder: Path, corpus: str, poems: list[Poem], rng: np.random.Generator) -> None:
    """The poems of a corpus and their explanations, as JSON Lines."""
    poets = 1 / np.arange(1, 201)
    write_lines(
        folder / "data" / f"{corpus}.jsonl",
        [
            {
                "poem_id": poem_id(corpus, place),
                "title": " ".join(poem.verses[0][:2]),
                "poet": f"شاعر {rng.choice(200, p=poets / poets.sum()) + 1}",
                "era": str(rng.choice(ERAS)),
                "meter": str(rng.choice(METERS)),
                "genre": str(rng.choice(GENRES)),
                "verses": [[" ".join(verse[:4]), " ".join(verse[4:])] for verse in poem.verses],
            }
            for place, poem in enumerate(poems)
        ],
    )
    write_lines(
        folder / "data" / f"{corpus}-prose.jsonl",
        [
            {"poem_id": poem_id(corpus, place), "verse_index": verse, "text": " ".join(words)}
            for place, poem in enumerate(poems)
            for verse, words in enumerate(poem.explanations)
        ],
    )


def poem_id(corpus: str, place: int) -> str:
    return f"{corpus}-{place:05d}"


def write_queries(folder: Path, corpus: str, query_set: str, queries: list[Query]) -> list[str]:
    """The queries of a set with their poems, as JSON Lines; their ids."""
    ids = [f"{query_set}-{place:03d}" for place in range(len(queries))]
    rows = [
        {
            "query_id": query_id,
            "register": query.register,
            "text": " ".join(query.words),
            "relevant": {poem_id(corpus, poem): grade for poem, grade in query.relevant.items()},
        }
        for query_id, query in zip(ids, queries, strict=True)
    ]
    write_lines(folder / "data" / f"{query_set}.jsonl", rows)
    return ids


def write_runs(
    folder: Path,
    corpus: str,
    query_set: str,
    ids: list[str],
    queries: list[Query],
    size: Size,
    rng: np.random.Generator,
) -> None:
    """The ranked lists of all systems in all modes for one query set, as Parquet."""
    poem_ids = pl.Series([poem_id(corpus, place) for place in range(size.poems)])
    for mode in MODES:
        for system, name in enumerate(SYSTEMS):
            rows, poems, scores = make_run(queries, size.poems, system, mode, size.depth, rng)
            firsts = np.searchsorted(rows, np.arange(len(ids)))
            path = folder / "runs" / corpus / mode / query_set / f"{name}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pl.DataFrame(
                {
                    "query_id": pl.Series(ids).gather(pl.Series(rows)),
                    "poem_id": poem_ids.gather(pl.Series(poems)),
                    "rank": pl.Series((np.arange(len(rows)) - firsts[rows] + 1).astype(np.int32)),
                    "score": pl.Series(scores),
                    "chunk_id": pl.Series([None] * len(rows), dtype=pl.String),
                }
            ).write_parquet(path)


def write_study(folder: Path, size: Size, seed: int = 1) -> None:
    """Write ``study.yaml`` below ``folder``, with all that it reads; the same files for the same seed."""
    rng = np.random.default_rng(seed)
    corpora, query_sets = {}, {}
    for corpus, shared in zip(CORPORA, (0.0, 0.2), strict=True):
        vocabulary = Vocabulary(20_000, rng)
        poems = make_poems(size.poems, vocabulary, rng)
        write_corpus(folder, corpus, poems, rng)
        corpora[corpus] = {
            "adapter": "jsonl",
            "path": f"data/{corpus}.jsonl",
            "explanations": {"prose": f"data/{corpus}-prose.jsonl"},
            "language": "ar",
        }
        sets = {
            "known-item": known_item(poems, size.queries, shared, vocabulary, rng),
            "thematic": thematic(poems, size.themes, vocabulary, rng),
        }
        for purpose, queries in sets.items():
            query_set = f"{corpus}-{purpose}"
            ids = write_queries(folder, corpus, query_set, queries)
            write_runs(folder, corpus, query_set, ids, queries, size, rng)
            query_sets[query_set] = {"corpora": [corpus], "path": f"data/{query_set}.jsonl", "purpose": purpose}
    registry = {
        name: {
            "kind": "imported",
            "path": f"runs/{{corpus}}/{{mode}}/{{query_set}}/{name}.parquet",
            "signal": "dense" if place else "lexical",
        }
        for place, name in enumerate(SYSTEMS)
    }
    study = {
        "study": NAME,
        "registry": ["systems.yaml"],
        "corpora": corpora,
        "modes": MODES,
        "query_sets": query_sets,
        "systems": list(SYSTEMS),
        "depth": size.depth,
        "analyses": {"reference_encoder": None},
    }
    for name, values in (("systems.yaml", registry), ("study.yaml", study)):
        (folder / name).write_text(yaml.safe_dump(values, allow_unicode=True, sort_keys=False), encoding="utf-8")
