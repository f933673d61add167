"""mteb's own search of whole documents: its BM25 baseline, and its search over an encoder's vectors.

What first calls take is told of the lines of BM25 and of dense search, which run the same kernels.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from agreement import Ranking, rankings_of, require_same_rankings
from harness.line import Line, Peer
from texts import Vocabulary, names, numbers
from vectors import make_vectors

ORDER = 60
QUERIES, DEPTH, DIMENSION = 1000, 1000, 1024
#: Of the words of a document: the median, the standard deviation of the logarithm, the most.
WORDS, SPREAD, LONGEST = 40, 0.6, 400
SIZES, SMALL = (68, 1_000, 12_000, 138_604), (1_000,)
#: What mteb wants to be told of a task, and its search does not look at here.
TASK: dict[str, Any] = {
    "task_metadata": SimpleNamespace(eval_langs=["und-Latn"], modalities=["text"]),
    "hf_split": "test",
    "hf_subset": "default",
    "encode_kwargs": {"show_progress_bar": False},
}


def _corpus(ids: list[str], texts: list[str]) -> Any:
    from datasets import Dataset, disable_progress_bars

    disable_progress_bars()
    logging.getLogger("mteb").setLevel(logging.ERROR)
    return Dataset.from_dict({"id": ids, "text": texts, "title": [""] * len(ids)})


def _rankings(found: dict[str, dict[str, float]], lowest: float) -> list[Ranking]:
    """mteb's results in the order of scores, then of ids; documents that are not found have a score of 0."""
    rankings = []
    for query in sorted(found):
        documents, scores = numbers(np.array(list(found[query]))), np.array(list(found[query].values()))
        kept = scores > lowest
        documents, scores = documents[kept], scores[kept]
        order = np.lexsort((documents, -scores))
        rankings.append(Ranking(documents[order], scores[order]))
    return rankings


# ---- BM25 ----


@dataclass(frozen=True)
class Lexical:
    """Our index and mteb's, and the queries as each takes them."""

    index: Any
    peer: Any
    tokens: list[list[str]]
    queries: Any


def prepare_lexical(size: int, _: int) -> Lexical:
    """``size`` documents, tokens parted by blanks, in both."""
    from mteb.models.model_implementations.bm25 import BM25Search

    from verseir.systems.bm25 import Bm25Index

    rng = np.random.default_rng(7)
    vocabulary, ids = Vocabulary.made_up(rng), names("d", size)
    lengths = np.clip(np.round(WORDS * np.exp(SPREAD * rng.standard_normal(size))), 4, LONGEST).astype(int)
    words = vocabulary.draw(int(lengths.sum()), rng)
    ends = np.cumsum(lengths)
    documents = [words[end - length : end] for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)]
    tokens = [
        documents[int(rng.integers(size))][: int(rng.integers(2, 7))] + vocabulary.draw(int(rng.integers(2, 6)), rng)
        for _ in range(QUERIES)
    ]
    peer = BM25Search(tokenizer=str.split, freq_threshold=0, k1=1.5, b=0.75, method="lucene")
    peer.index(_corpus(ids, [" ".join(part) for part in documents]), **TASK)
    index = Bm25Index.build(documents, ids, ids, "lucene", 1.5, 0.75)
    return Lexical(index, peer, tokens, _corpus(names("q", QUERIES), [" ".join(part) for part in tokens]))


def search_lexical(data: Lexical, threads: int) -> Any:
    return data.index.search(names("q", QUERIES), data.tokens, DEPTH, threads=threads)


def search_lexical_mteb(data: Lexical, _: int) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = data.peer.search(data.queries, top_k=DEPTH, **TASK)
    return found


def same_lexical(_: Lexical, ours: Any, theirs: dict[str, dict[str, float]], __: str) -> None:
    require_same_rankings(rankings_of(ours, QUERIES), _rankings(theirs, 0.0), 1e-4)


# ---- vectors ----


@dataclass(frozen=True)
class Dense:
    """Vectors and names, and what mteb searches with."""

    vectors: Any
    ids: Any
    query_ids: list[str]
    wrapper: Any
    corpus: Any
    queries: Any


class Remembered:
    """An encoder that gives vectors that are there already: what mteb hands it are the rows, in order."""

    mteb_model_meta = None

    def __init__(self, documents: np.ndarray, queries: np.ndarray):
        import torch

        self.vectors = {"document": torch.from_numpy(documents), "query": torch.from_numpy(queries)}

    def encode(self, rows: Any, *, prompt_type: Any, **_: Any) -> Any:
        part: Any = self.vectors[prompt_type.value]
        return part[rows]

    def similarity(self, queries: Any, documents: Any) -> Any:
        return queries @ documents.T


def prepare_dense(size: int, threads: int) -> Dense:
    """``size`` documents of 1,024 dimensions."""
    import polars as pl
    import torch
    from mteb.models import search_wrappers

    torch.set_num_threads(threads)
    vectors = make_vectors(np.arange(size), QUERIES, DIMENSION, np.random.default_rng(7))
    ids, query_ids = names("d", size), names("q", QUERIES)
    # Reading texts for an encoder is not searching: the loader of a part becomes the numbers of its rows.
    search_wrappers.create_dataloader = lambda part, **_: numbers(np.array(part["id"]))
    wrapper = search_wrappers.SearchEncoderWrapper(Remembered(vectors.documents, vectors.queries))
    corpus, queries = (_corpus(names_there, [""] * len(names_there)) for names_there in (ids, query_ids))
    return Dense(vectors, pl.Series(ids), query_ids, wrapper, corpus, queries)


def search_dense(data: Dense, threads: int) -> Any:
    from verseir.systems import dense

    documents, queries = data.vectors
    return dense.search(data.query_ids, queries, data.ids, data.ids, documents, DEPTH, threads=threads)


def search_dense_mteb(data: Dense, _: int) -> dict[str, dict[str, float]]:
    data.wrapper.index(data.corpus, **TASK)
    found: dict[str, dict[str, float]] = data.wrapper.search(data.queries, top_k=DEPTH, **TASK)
    return found


def same_dense(_: Dense, ours: Any, theirs: dict[str, dict[str, float]], __: str) -> None:
    require_same_rankings(rankings_of(ours, QUERIES), _rankings(theirs, -np.inf), 2e-6)


LINES = (
    Line(
        name="mteb-bm25",
        work=f"BM25 search of {QUERIES:,} queries in whole documents",
        unit="documents",
        sizes=SIZES,
        quick=SMALL,
        prepare=prepare_lexical,
        ours=search_lexical,
        peers=(Peer("mteb, its BM25 baseline", search_lexical_mteb, remark="on bm25s with NumPy"),),
        same=same_lexical,
        packages=("mteb", "bm25s"),
    ),
    Line(
        name="mteb-dense",
        work=f"exact dense search of {QUERIES:,} queries, {DIMENSION:,} dimensions, float32",
        unit="documents",
        sizes=SIZES,
        quick=SMALL,
        prepare=prepare_dense,
        ours=search_dense,
        peers=(Peer("mteb, its search over vectors", search_dense_mteb, remark="its loading of texts left out"),),
        same=same_dense,
        packages=("mteb", "torch"),
    ),
)
