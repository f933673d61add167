"""Exact dense search: pooled from chunks to poems, and of whole documents."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from agreement import Ranking, rankings_of, require_same_rankings
from harness.line import Line, Peer
from harness.timing import seconds_of
from pooling import Retrieve, fewest_chunks, search_poems
from texts import Vocabulary, make_poems, names
from vectors import Vectors, make_vectors

ORDER = 20
QUERIES, DEPTH = 1000, 1000
#: float32 inner products of vectors of length 1, added in another order.
TOLERANCE = 2e-6
BINDS = (
    "the matrix product, the same for both; then the exact scores, in float64, of all results, as many whatever the "
    "size, and names for them: the peer gives float32 sums that depend on its blocks, and numbers"
)
#: Queries that the NumPy peer scores at once: as many as keep their scores near 64 MB.
SCORES = 16_000_000


@dataclass(frozen=True)
class Searched:
    """Vectors with their names, and the same vectors in a flat faiss index.

    Attributes:
        poem_of: int64 [n], the poem of each chunk; of whole documents their own numbers.
        k: how many chunks faiss is asked for at first.
    """

    vectors: Vectors
    query_ids: list[str]
    chunk_ids: Any
    poem_ids: Any
    positions: Any
    poem_of: np.ndarray
    flat: Any
    k: int


def _searched(poem_of: np.ndarray, first_of: np.ndarray, dimension: int, threads: int) -> Searched:
    import faiss
    import polars as pl

    vectors = make_vectors(poem_of, QUERIES, dimension, np.random.default_rng(7))
    faiss.omp_set_num_threads(threads)
    flat = faiss.IndexFlatIP(dimension)
    flat.add(vectors.documents)
    poem_ids = pl.Series(names("p", int(poem_of[-1]) + 1)).gather(pl.Series(poem_of))
    chunk_ids = poem_ids + "#" + pl.Series(first_of).cast(pl.String)
    pooled = len(poem_ids) > poem_of[-1] + 1
    k = min(DEPTH, len(poem_of))
    if pooled:
        k = fewest_chunks(_retrieve(flat, vectors.queries), QUERIES, poem_of, DEPTH, -np.inf)
    positions = pl.Series(first_of)
    return Searched(vectors, names("q", QUERIES), chunk_ids, poem_ids, positions, poem_of, flat, k)


def prepare_pooled(size: int, threads: int) -> Searched:
    """``size`` chunks of poems, 384 dimensions."""
    rng = np.random.default_rng(7)
    poems = make_poems(size, Vocabulary(["a"], np.ones(1)), rng)
    return _searched(poems.poem_of, poems.first_of, 384, threads)


def prepare_documents(size: int, threads: int) -> Searched:
    """``size`` whole documents, 1,024 dimensions."""
    return _searched(np.arange(size), np.zeros(size, dtype=np.int64), 1024, threads)


def search(data: Searched, threads: int) -> Any:
    from verseir.systems import dense

    return dense.search(
        data.query_ids, data.vectors.queries, data.chunk_ids, data.poem_ids, data.vectors.documents, DEPTH,
        positions=data.positions, threads=threads,
    )  # fmt: skip


def _retrieve(flat: Any, queries: np.ndarray) -> Retrieve:
    def retrieve(asked: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        scores, chunks = flat.search(queries if len(asked) == len(queries) else queries[asked], k)
        return chunks, scores

    return retrieve


def by_faiss(data: Searched, _: int) -> list[Ranking]:
    retrieve = _retrieve(data.flat, data.vectors.queries)
    return search_poems(retrieve, QUERIES, data.poem_of, DEPTH, data.k, -np.inf)


def by_faiss_alone(data: Searched, _: int) -> list[Ranking]:
    scores, documents = data.flat.search(data.vectors.queries, data.k)
    return [Ranking(*pair) for pair in zip(documents, scores, strict=True)]


def by_numpy(data: Searched, _: int) -> list[Ranking]:
    """Scores of some queries at a time, the maximum by poem, the highest of them by partition, then their order."""
    documents, queries = data.vectors
    starts = np.flatnonzero(np.diff(data.poem_of, prepend=-1))
    step = max(1, SCORES // len(documents))
    depth = min(DEPTH, len(starts))
    rankings: list[Ranking] = []
    for first in range(0, len(queries), step):
        best = np.maximum.reduceat(queries[first : first + step] @ documents.T, starts, axis=1)
        found = np.sort(np.argpartition(best, best.shape[1] - depth, axis=1)[:, best.shape[1] - depth :], axis=1)
        scores = np.take_along_axis(best, found, axis=1)
        order = np.argsort(-scores, axis=1, kind="stable")
        rankings += map(Ranking, np.take_along_axis(found, order, 1), np.take_along_axis(scores, order, 1))
    return rankings


def same(_: Searched, ours: Any, theirs: list[Ranking], __: str) -> None:
    require_same_rankings(rankings_of(ours, QUERIES), theirs, TOLERANCE)


def parts(data: Searched, threads: int) -> dict[str, float]:
    """The matrix product alone, in blocks as ours takes them and with the BLAS library's threads; and two kernels."""
    from unittest.mock import patch

    from verseir.systems import pooled
    from verseir.systems.dense import BLOCK

    documents, queries = data.vectors
    taken = {"dense_scan": 0.0, "dense_finish": 0.0}

    def timed(name: str) -> Any:
        kernel = getattr(pooled, name)

        def run(*arguments: Any) -> None:
            start = time.perf_counter()
            kernel(*arguments)
            taken[name] += (time.perf_counter() - start) / threads

        return patch.object(pooled, name, run)

    with timed("dense_scan"), timed("dense_finish"):
        search(data, threads)
    space = np.empty((len(queries), BLOCK), dtype=np.float32)

    def multiply() -> None:
        for first in range(0, len(documents), BLOCK):
            rows = documents[first : first + BLOCK]
            np.matmul(queries, rows.T, out=space[:, : len(rows)])

    product = seconds_of(multiply)
    return {"matrix product": product, "pooling": taken["dense_scan"], "exact scores": taken["dense_finish"]}


LINES = (
    Line(
        name="dense-pooled",
        work=f"exact dense search of {QUERIES:,} queries with max-pooling to {DEPTH:,} poems, 384 dimensions, float32",
        unit="chunks",
        sizes=(305, 4_000, 31_000, 244_000),
        quick=(4_000,),
        prepare=prepare_pooled,
        ours=search,
        peers=(
            Peer("faiss flat and pooling", by_faiss, floors={2: 1.0}),
            Peer("NumPy", by_numpy, floors={2: 1.7}),
        ),
        same=same,
        jitted=True,
        first=305,
        parts=parts,
        binds=BINDS,
        packages=("faiss-cpu", "numpy", "numba"),
    ),
    Line(
        name="dense-documents",
        work=f"exact dense search of {QUERIES:,} queries without pooling, 1,024 dimensions, float32",
        unit="documents",
        sizes=(68, 1_000, 12_000, 138_604),
        quick=(1_000,),
        prepare=prepare_documents,
        ours=search,
        peers=(Peer("faiss flat", by_faiss_alone, floors={2: 0.9}),),
        same=same,
        jitted=True,
        first=68,
        parts=parts,
        binds=BINDS,
        packages=("faiss-cpu", "numpy", "numba"),
    ),
)
