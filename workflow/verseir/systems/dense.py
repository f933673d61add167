"""Exact max-pooled search over dense vectors, in blocks.

Blocks of scores come from the matrix product of the BLAS library. It is fast, but its last bits change with the size of
a block, the number of threads and the processor. So they only pick candidates: with the error bound of a float32 inner
product (Higham 2002, Accuracy and Stability of Numerical Algorithms, section 3.1) every poem that could be among the
first ``depth``, and every chunk that could be its best, is kept. The candidates are scored again in float64 in a fixed
order and rounded to float32; those scores alone make the ranking. It is the same for any block size, number of threads,
order of the input and machine.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import time
T={'finish':0.0}
import polars as pl

from verseir.faults import UserError
from verseir.ranking import DEPTH, ChunkOrder, check_depth, empty_run, order_chunks, run_frame

#: Chunks in a block of scores.
BLOCK = 4096
#: Queries worked on together; fewer where the candidates would take more than ``CANDIDATE_BYTES``.
QUERIES = 500
CANDIDATE_BYTES = 128 * 2**20

ROUNDOFF = 2.0**-24  # unit roundoff of float32
LARGEST = 1e37  # scores above it would come near the end of the float32 range


def search(
    query_ids: Sequence[str],
    query_vectors: np.ndarray,
    chunk_ids: Sequence[str] | pl.Series,
    poem_ids: Sequence[str] | pl.Series,
    chunk_vectors: np.ndarray,
    depth: int = DEPTH,
    *,
    positions: Sequence[int] | pl.Series | None = None,
    block: int = BLOCK,
) -> pl.DataFrame:
    """Rank the poems of a corpus for each query by the inner product with their best chunk.

    Args:
        query_ids: q names, distinct.
        query_vectors: float32 [q, d].
        chunk_ids, poem_ids: n names each. Leave chunks without text out: they are not indexed.
        chunk_vectors: float32 [n, d], one row per chunk.
        depth: poems kept per query.
        positions: where each chunk stands in its poem (its first verse), see ``ranking.order_chunks``.
        block: chunks per block of scores, which takes at most ``4 * block * QUERIES`` bytes.

    Returns:
        A RUN frame, sorted by query_id and rank. Every poem has a score, so each query has min(depth, poems) rows.

    Raises:
        UserError: shapes that do not fit, a vector with a component that is not a finite number, or huge vectors.
    """
    check_depth(depth)
    queries = _matrix(query_vectors, len(query_ids), "query")
    vectors = _matrix(chunk_vectors, len(chunk_ids), "chunk")
    if queries.shape[1] != vectors.shape[1]:
        raise UserError(
            f"query vectors have {queries.shape[1]} dimensions, chunk vectors {vectors.shape[1]}",
            hint="encode both with the same system",
        )
    names = order_chunks(chunk_ids, poem_ids, positions)
    if not len(query_ids):
        return empty_run()
    margins = _error_bounds(queries, vectors, list(query_ids), list(chunk_ids))
    by_id = np.argsort(np.asarray(query_ids, dtype=object), kind="stable")
    queries, margins = queries[by_id], margins[by_id]

    depth = min(depth, len(names.poem_ids))
    capacity = min(len(names.poem_ids), 2 * depth + 1024)
    together = max(1, min(QUERIES, CANDIDATE_BYTES // (16 * capacity)))
    import threadpoolctl, concurrent.futures as cf
    with threadpoolctl.threadpool_limits(1,user_api="blas"), cf.ThreadPoolExecutor(2) as ex:
      parts = list(ex.map(lambda low:
        _search_together(queries[low : low + together], margins[low : low + together], vectors, names, depth, capacity, block)
        , range(0, len(queries), together)))
    return run_frame(
        [query_ids[i] for i in by_id],
        np.full(len(queries), depth, dtype=np.int64),
        *(np.concatenate([part[column] for part in parts]).ravel() for column in range(3)),
        names=names,
    )


def _search_together(
    queries: np.ndarray,
    margins: np.ndarray,
    vectors: np.ndarray,
    names: ChunkOrder,
    depth: int,
    capacity: int,
    block: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Poem indices, scores and chunk places [q, depth] of the results of some queries, in ranking order."""
    from verseir.systems import pooled

    n_queries, n_chunks = len(queries), len(vectors)
    in_order = bool((np.diff(names.order) == 1).all())
    poems = np.empty((n_queries, capacity), dtype=np.int32)
    places = np.empty((n_queries, capacity), dtype=np.int32)
    best = np.empty((n_queries, capacity), dtype=np.float32)
    second = np.empty((n_queries, capacity), dtype=np.float32)
    filled = np.zeros(n_queries, dtype=np.int64)
    thresholds = np.full(n_queries, -np.inf, dtype=np.float32)
    candidates = (poems, places, best, second, filled, thresholds)
    block = max(1, min(block, n_chunks))
    space = np.empty(n_queries * block, dtype=np.float32)
    for first in range(0, n_chunks, block):
        last = min(first + block, n_chunks)
        rows = vectors[first:last] if in_order else vectors[names.order[first:last]]
        scores = space[: n_queries * (last - first)].reshape(n_queries, last - first)
        np.matmul(queries, rows.T, out=scores)
        pooled.dense_scan(
            scores, first, depth, names.poem_of, names.starts, names.order, queries, vectors, margins, *candidates
        )
    T['finish']-=time.perf_counter()
    pooled.dense_finish(depth, names.starts, names.order, queries, vectors, margins, *candidates)
    T['finish']+=time.perf_counter()
    return poems[:, :depth], best[:, :depth], places[:, :depth]


def _matrix(vectors: np.ndarray, n: int, what: str) -> np.ndarray:
    """``vectors`` as a C-ordered float32 matrix of n rows."""
    matrix = np.ascontiguousarray(vectors, dtype=np.float32)
    if matrix.ndim != 2 or len(matrix) != n or matrix.shape[1] == 0:
        raise UserError(f"{what} vectors have the shape {matrix.shape}: expected {n} rows of at least one dimension")
    return matrix


def _error_bounds(
    queries: np.ndarray, vectors: np.ndarray, query_ids: list[str], chunk_ids: list[str]
) -> np.ndarray:
    """float64 [q]: how far a BLAS score of a query may lie from its exact score rounded to float32, for any chunk.

    In any order of summation an inner product of d terms is off by at most ``d u / (1 - d u) |x||y|``. Rounding the exact
    score, and the thresholds that are made of bounds and scores, adds at most ``2 u |x||y|``. The last term covers
    products that underflow.
    """
    from verseir.systems import pooled

    d = queries.shape[1]
    lengths = []
    for matrix, ids, what in ((queries, query_ids, "query"), (vectors, chunk_ids, "chunk")):
        squares = pooled.squared_norms(matrix)
        broken = np.flatnonzero(~np.isfinite(squares))
        if len(broken):
            raise UserError(
                f"{len(broken)} {what} vectors have components that are not finite numbers, the first of '{ids[broken[0]]}'",
                hint="the encoder failed on these texts: encode them again in float32",
            )
        lengths.append(np.sqrt(squares))
    products = lengths[0] * lengths[1].max()
    if products.max() > LARGEST:
        raise UserError("vectors are too long for float32 scores", hint="normalise the vectors of this system")
    gamma = d * ROUNDOFF / (1 - d * ROUNDOFF)
    return products * (gamma + 2 * ROUNDOFF) * (1 + 1e-9) + d * 2.0**-125
