"""How much of a poem a query carries: shared runs of words, shared words, and nearness under a reference encoder.

Words are the tokens of ``arabic.tokens.tokenize`` under a stated preset. A run may cross from one hemistich or verse to
the next: a reader who remembers words does not know where the lines end.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verseir.arabic.hemistichs import join_hemistichs
from verseir.arabic.tokens import tokenize
from verseir.chunks import make_chunks
from verseir.tables import define

WORDING = define(
    "wording",
    {
        "corpus": pl.String,
        "query_set": pl.String,
        "query_id": pl.String,
        "poem_id": pl.String,
        "n_targets": pl.Int64,
        "n_query_tokens": pl.Int64,
        "n_target_tokens": pl.Int64,
        "longest_run": pl.Int64,
        "run_start": pl.Int64,
        "span": pl.String,
        "verse_index": pl.Int64,
        "n_verses": pl.Int64,
        "n_other_poems": pl.Int64,
        "containment": pl.Float64,
    },
    nullable="run_start span verse_index n_other_poems",
    unique="corpus query_set query_id",
)
INDEXED = define(
    "indexed",
    {
        "corpus": pl.String,
        "mode": pl.String,
        "query_set": pl.String,
        "query_id": pl.String,
        "containment": pl.Float64,
        "longest_run": pl.Int64,
    },
    unique="corpus mode query_set query_id",
)
PROXIMITY = define(
    "proximity",
    {
        "corpus": pl.String,
        "mode": pl.String,
        "query_set": pl.String,
        "query_id": pl.String,
        "encoder": pl.String,
        "proximity": pl.Float64,
    },
    unique="corpus mode query_set query_id",
)

#: A shared run of this many tokens is looked up in the other poems; one word alone is no span.
SHORTEST_SPAN = 2


class SharedRun(NamedTuple):
    """A run of tokens that two texts share: its length and where it starts in each; all 0 where they share none."""

    length: int
    query_start: int
    target_start: int


def longest_shared_run(query: Sequence[str], target: Sequence[str]) -> SharedRun:
    """The longest run of consecutive tokens of ``query`` that stands in ``target`` unchanged.

    Among runs of the same length: the first in the query, and of that the first in the target.
    """
    return longest_run_at(query, token_places(target))


def containment(query: Iterable[str], target: Iterable[str]) -> float:
    """The share of the distinct tokens of ``query`` that ``target`` holds (Broder, 1997); 0 for a query without any."""
    return share_held(query, set(target))


def poem_tokens(verses: Sequence[Mapping[str, Any]], preset: str) -> tuple[list[str], list[int]]:
    """The tokens of a poem in reading order, and the index of the verse of each.

    Args:
        verses: as in a POEMS table: ``first`` and ``second`` hemistich. The halves of a word that runs over the caesura
            are one token where the text says so with a tatweel. Verses are parted; runs may cross from one to the next.
        preset: the normalisation under which words are compared.
    """
    tokens: list[str] = []
    verse_of: list[int] = []
    for index, verse in enumerate(verses):
        words = tokenize(join_hemistichs(verse["first"], verse["second"]), preset)
        tokens += words
        verse_of += [index] * len(words)
    return tokens, verse_of


def targets_of(queries: pl.DataFrame, qrels: pl.DataFrame, poem_ids: Iterable[str]) -> dict[str, list[str]]:
    """The targets of each query that has one, both sorted: poems of the corpus with a grade above 0."""
    judged = qrels.filter(pl.col("grade") > 0, pl.col("poem_id").is_in(list(poem_ids)))
    judged = judged.join(queries, on="query_id", how="semi").sort("query_id", "poem_id")
    return dict(judged.group_by("query_id", maintain_order=True).agg("poem_id").iter_rows())


def measure_wording(
    corpus: str, poems: pl.DataFrame, queries: pl.DataFrame, qrels: pl.DataFrame, preset: str
) -> pl.DataFrame:
    """The WORDING table: what each query of a set shares with the verses of its target.

    Of several targets it is the one with the longest run, then the highest containment, then the smallest ``poem_id``.
    ``span`` is the run as tokens under ``preset``, joined by spaces. ``n_other_poems`` counts every poem of the corpus
    but this one, other targets and duplicates among them.

    Args:
        corpus: its name.
        poems: its POEMS.
        queries: the QUERIES of one set.
        qrels: its QRELS.
        preset: the normalisation under which words are compared.
    """
    targets = targets_of(queries, qrels, poems["poem_id"])
    verses = dict(_of_poems(poems, targets).select("poem_id", "verses").iter_rows())
    read = {poem_id: poem_tokens(lines, preset) for poem_id, lines in verses.items()}
    texts = {poem_id: _Text.of(tokens) for poem_id, (tokens, _) in read.items()}
    rows = []
    for query_id, query_set, words in _words_of(queries, targets, preset):
        match = _closest(words, {poem_id: texts[poem_id] for poem_id in targets[query_id]})
        length, start, place = match.run
        rows.append(
            {
                "corpus": corpus,
                "query_set": query_set,
                "query_id": query_id,
                "poem_id": match.poem_id,
                "n_targets": len(targets[query_id]),
                "n_query_tokens": len(words),
                "n_target_tokens": texts[match.poem_id].length,
                "longest_run": length,
                "run_start": start if length else None,
                "span": " ".join(words[start : start + length]) if length else None,
                "verse_index": read[match.poem_id][1][place] if length else None,
                "n_verses": len(verses[match.poem_id]),
                "containment": match.containment,
            }
        )
    known = {name: dtype for name, dtype in WORDING.columns.items() if name != "n_other_poems"}
    frame = pl.DataFrame(rows, schema=known)
    spans = frame.filter(pl.col("longest_run") >= SHORTEST_SPAN)["span"].unique()
    holders = poems_holding({tuple(span.split(" ")) for span in spans}, poems, preset)
    others = {" ".join(span): count - 1 for span, count in holders.items()}
    counted = pl.Series("n_other_poems", [others.get(span) for span in frame["span"]], dtype=pl.Int64)
    return frame.with_columns(counted).select(list(WORDING.columns))


def poems_holding(spans: set[tuple[str, ...]], poems: pl.DataFrame, preset: str) -> dict[tuple[str, ...], int]:
    """How many poems hold each span of two or more tokens, in one pass over the corpus."""
    lengths: dict[tuple[str, str], set[int]] = {}
    for span in spans:
        lengths.setdefault((span[0], span[1]), set()).add(len(span))
    counts = dict.fromkeys(sorted(spans), 0)
    for verses in poems["verses"] if spans else ():
        tokens, _ = poem_tokens(verses, preset)
        held = set()
        for start, pair in enumerate(pairwise(tokens)):
            for length in lengths.get(pair, ()):
                held.add(tuple(tokens[start : start + length]))
        for span in held & spans:
            counts[span] += 1
    return counts


def measure_indexed(
    corpus: str,
    poems: pl.DataFrame,
    explanations: pl.DataFrame,
    modes: Mapping[str, list[str]],
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    preset: str,
    kept: Mapping[str, Iterable[str]] | None = None,
) -> pl.DataFrame:
    """The INDEXED table: what each query shares with the text of its target in each indexing mode.

    The text is all fields of the mode over the whole poem, each verse once. A target without text in a mode shares
    nothing; one that the mode does not index is none, and a query without another has no row there. Of several targets
    it is, in each mode by itself, the one that WORDING would take.

    Args:
        corpus: its name.
        poems: its POEMS.
        explanations: its EXPLANATIONS.
        modes: the fields of each mode, see ``chunks.make_chunks``.
        queries: the QUERIES of one set.
        qrels: its QRELS.
        preset: the normalisation under which words are compared.
        kept: the poems that each mode indexes that does not index all.
    """
    targets = targets_of(queries, qrels, poems["poem_id"])
    held = _of_poems(poems, targets)
    longest = max(held["verses"].list.len().to_list(), default=1)
    asked = _words_of(queries, targets, preset)
    rows = []
    for mode, fields in sorted(modes.items()):
        whole = make_chunks(held, explanations, fields, size=max(longest, 1)).select("poem_id", "text")
        texts = {poem_id: _Text.of(_line_tokens(text, preset)) for poem_id, text in whole.iter_rows()}
        there = targets
        if kept is not None and mode in kept:
            there = targets_of(queries, qrels, set(kept[mode]) & texts.keys())
        for query_id, query_set, words in asked:
            if query_id not in there:
                continue
            match = _closest(words, {poem_id: texts[poem_id] for poem_id in there[query_id]})
            rows.append((corpus, mode, query_set, query_id, match.containment, match.run.length))
    return pl.DataFrame(rows, schema=dict(INDEXED.columns), orient="row")


def target_chunks(chunks: pl.DataFrame, queries: pl.DataFrame, qrels: pl.DataFrame) -> pl.DataFrame:
    """The chunks with text of the targets of ``queries``."""
    with_text = chunks.filter(pl.col("text") != "")
    return _of_poems(with_text, targets_of(queries, qrels, with_text["poem_id"].unique()))


def measure_proximity(
    corpus: str,
    mode: str,
    encoder: str,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    query_vectors: NDArray[np.float32],
    chunks: pl.DataFrame,
    chunk_vectors: NDArray[np.float32],
) -> pl.DataFrame:
    """The PROXIMITY table in one mode: the highest cosine of each query with a chunk of one of its targets.

    Cosines are reckoned in float64, pair by pair, so that nothing depends on what else is reckoned with them. A query
    whose targets have no text in the mode has no row.

    Args:
        corpus, mode, encoder: their names.
        queries: the QUERIES of one set.
        qrels: its QRELS.
        query_vectors: float32 [q, d], one row per row of ``queries``.
        chunks: CHUNKS with text, see ``target_chunks``.
        chunk_vectors: float32 [n, d], one row per row of ``chunks``.
    """
    targets = targets_of(queries, qrels, chunks["poem_id"].unique())
    rows_of: dict[str, list[int]] = {}
    for row, poem_id in enumerate(chunks["poem_id"]):
        rows_of.setdefault(poem_id, []).append(row)
    rows = []
    for number, (query_id, query_set) in enumerate(queries.select("query_id", "query_set").iter_rows()):
        if query_id in targets:
            near = [row for poem_id in targets[query_id] for row in rows_of[poem_id]]
            cosines = (_unit(chunk_vectors[near]) * _unit(query_vectors[number : number + 1])).sum(axis=1)
            rows.append((corpus, mode, query_set, query_id, encoder, float(np.clip(cosines.max(), -1.0, 1.0))))
    return pl.DataFrame(rows, schema=dict(PROXIMITY.columns), orient="row").sort("query_id")


@dataclass(frozen=True)
class _Text:
    """A target: its number of tokens, and where each token stands."""

    length: int
    places: dict[str, list[int]]

    @classmethod
    def of(cls, tokens: Sequence[str]) -> _Text:
        return cls(len(tokens), token_places(tokens))


class _Match(NamedTuple):
    poem_id: str
    run: SharedRun
    containment: float


def token_places(tokens: Sequence[str]) -> dict[str, list[int]]:
    """Where each token stands, in order."""
    places: dict[str, list[int]] = {}
    for place, token in enumerate(tokens):
        places.setdefault(token, []).append(place)
    return places


def longest_run_at(query: Sequence[str], places: Mapping[str, list[int]]) -> SharedRun:
    """``longest_shared_run`` with a target of which it is known where each token stands, see ``token_places``.

    Dynamic programming over the pairs of equal tokens alone: few, since most words of a poem are not in a query.
    """
    best = SharedRun(0, 0, 0)
    ending: dict[int, int] = {}  # length of the run that ends with the token before and at a place of the target
    for i, token in enumerate(query):
        grown = {}
        for j in places.get(token, ()):
            length = grown[j] = ending.get(j - 1, 0) + 1
            if length > best.length:
                best = SharedRun(length, i - length + 1, j - length + 1)
        ending = grown
    return best


def share_held(query: Iterable[str], held: Container[str]) -> float:
    """``containment`` of a query in a target of which the tokens are known."""
    distinct = set(query)
    return sum(token in held for token in distinct) / len(distinct) if distinct else 0.0


def _closest(words: list[str], texts: Mapping[str, _Text]) -> _Match:
    matches = [
        _Match(poem_id, longest_run_at(words, text.places), share_held(words, text.places))
        for poem_id, text in sorted(texts.items())
    ]
    return max(matches, key=lambda match: (match.run.length, match.containment))  # the first by name among equals


def _of_poems(frame: pl.DataFrame, targets: Mapping[str, list[str]]) -> pl.DataFrame:
    wanted = sorted({poem_id for poem_ids in targets.values() for poem_id in poem_ids})
    return frame.filter(pl.col("poem_id").is_in(wanted))


def _words_of(queries: pl.DataFrame, targets: Mapping[str, list[str]], preset: str) -> list[tuple[str, str, list[str]]]:
    """Name, set and tokens of each query that has a target, sorted by name."""
    named = queries.select("query_id", "query_set", "text").sort("query_id")
    return [
        (query_id, query_set, tokenize(text, preset))
        for query_id, query_set, text in named.iter_rows()
        if query_id in targets
    ]


def _line_tokens(text: str, preset: str) -> list[str]:
    return [token for line in text.split("\n") for token in tokenize(line, preset)]


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Rows of length 1, float64; a zero row stays as it is."""
    wide = vectors.astype(np.float64)
    norms = np.sqrt((wide * wide).sum(axis=1, keepdims=True))
    return wide / np.where(norms > 0, norms, 1.0)
