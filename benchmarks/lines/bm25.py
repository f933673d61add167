"""BM25 over chunks: the index, and the search that pools chunks to poems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from agreement import Ranking, rankings_of, require_close, require_same_rankings
from harness.line import Disagreement, Line, Peer
from harness.timing import seconds_of
from pooling import fewest_chunks, search_poems
from texts import Vocabulary, make_poems, make_queries, names

ORDER = 10
QUERIES, DEPTH = 1000, 1000
SETTINGS: dict[str, Any] = {"method": "lucene", "k1": 1.5, "b": 0.75}
#: Sums of float32 weights in another order.
TOLERANCE = 1e-4


@dataclass(frozen=True)
class Chunks:
    """Tokens and names of chunks, the poem of each, and the tokens of queries."""

    tokens: list[list[str]]
    chunk_ids: list[str]
    poem_ids: list[str]
    positions: list[int]
    poem_of: np.ndarray
    queries: list[list[str]]


@dataclass(frozen=True)
class Indexed:
    """Chunks, their index, the peer's, and how many chunks the peer is asked for at first."""

    chunks: Chunks
    index: Any
    peer: Any
    k: int


def make_chunks(size: int, _: int = 1) -> Chunks:
    """``size`` chunks and 1,000 queries."""
    rng = np.random.default_rng(7)
    vocabulary = Vocabulary.made_up(rng)
    poems = make_poems(size, vocabulary, rng)
    ids = names("p", len(poems.verses))
    poem_ids = [ids[poem] for poem in poems.poem_of.tolist()]
    firsts = poems.first_of.tolist()
    chunk_ids = [f"{poem}#{first}" for poem, first in zip(poem_ids, firsts, strict=True)]
    queries = make_queries(QUERIES, poems, vocabulary, rng)
    return Chunks(poems.chunk_words(), chunk_ids, poem_ids, firsts, poems.poem_of, queries)


# ---- the index ----


def build(chunks: Chunks, _: int = 1) -> Any:
    from verseir.systems.bm25 import Bm25Index

    return Bm25Index.build(
        chunks.tokens, chunks.chunk_ids, chunks.poem_ids, **SETTINGS, positions=chunks.positions
    )  # fmt: skip


def build_peer(chunks: Chunks, _: int = 1) -> Any:
    import bm25s

    model = bm25s.BM25(**SETTINGS, backend="numba")
    model.index(chunks.tokens, create_empty_token=False, show_progress=False)
    return model


def same_index(chunks: Chunks, ours: Any, peer: Any, _: str) -> None:
    """Every token has the same weight in the same chunks."""
    if set(ours.vocabulary) != set(peer.vocab_dict):
        raise Disagreement(f"{len(ours.vocabulary)} tokens, the peer's {len(peer.vocab_dict)}")
    data, indices, indptr = (peer.scores[name] for name in ("data", "indices", "indptr"))
    for token, column in ours.vocabulary.items():
        at = peer.vocab_dict[token]
        mine, other = slice(*ours.indptr[column : column + 2]), slice(*indptr[at : at + 2])
        order = np.argsort(ours.indices[mine]), np.argsort(indices[other])
        if not np.array_equal(ours.indices[mine][order[0]], indices[other][order[1]]):
            raise Disagreement(f"token {token} stands in other chunks")
        require_close(ours.data[mine][order[0]], data[other][order[1]], 1e-5, f"weights of the token {token}")


# ---- the search ----


def prepare(size: int, threads: int) -> Indexed:
    chunks = make_chunks(size)
    peer = build_peer(chunks)
    k = fewest_chunks(_retrieve(peer, chunks.queries, threads), QUERIES, chunks.poem_of, DEPTH, 0.0)
    return Indexed(chunks, build(chunks), peer, k)


def search(data: Indexed, threads: int) -> Any:
    return data.index.search(names("q", QUERIES), data.chunks.queries, DEPTH, threads=threads)


def search_peer(data: Indexed, threads: int) -> list[Ranking]:
    retrieve = _retrieve(data.peer, data.chunks.queries, threads)
    return search_poems(retrieve, QUERIES, data.chunks.poem_of, DEPTH, data.k, 0.0)


def _retrieve(model: Any, queries: list[list[str]], threads: int) -> Any:
    def retrieve(asked: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        tokens = [queries[query] for query in asked.tolist()]
        chunks, scores = model.retrieve(tokens, k=k, show_progress=False, n_threads=threads)
        return chunks, scores

    return retrieve


def same_rankings(_: Indexed, ours: Any, peer: list[Ranking], __: str) -> None:
    require_same_rankings(rankings_of(ours, QUERIES), peer, TOLERANCE)


def search_parts(data: Indexed, threads: int) -> dict[str, float]:
    """The sums, the pooling and the order; what is left is the names of the results."""
    from verseir.systems.tokens import Tokens

    queries = Tokens.of(data.chunks.queries)
    return {"scores, pooling and order": seconds_of(lambda: data.index._rank(queries, DEPTH, "id", threads))}


SIZES, SMALL = (305, 4_000, 31_000, 244_000), (305, 4_000)
LINES = (
    Line(
        name="bm25-search",
        work=f"BM25 search of {QUERIES:,} queries with max-pooling to {DEPTH:,} poems, stable ties",
        unit="chunks",
        sizes=SIZES,
        quick=SMALL[-1:],
        prepare=prepare,
        ours=search,
        peers=(Peer("bm25s, numba backend, and pooling", search_peer, floors={1: 2.0, 2: 3.5}),),
        same=same_rankings,
        threads=(1, 2),
        jitted=True,
        first=305,
        parts=search_parts,
        binds="adding weights to scores, which both do; ours names its results, the peer does not",
        packages=("bm25s", "numba", "polars"),
    ),
    Line(
        name="bm25-index",
        work="BM25 index",
        unit="chunks",
        sizes=SIZES,
        quick=SMALL,
        prepare=make_chunks,
        ours=build,
        peers=(Peer("bm25s", build_peer, floors={1: 1.0}),),
        same=same_index,
        threads=(1,),
        binds="numbering the tokens, and sorting them by token and chunk",
        packages=("bm25s", "numpy", "polars"),
    ),
)
