"""Exact max-pooled search over dense vectors, in blocks.

Blocks of scores come from the matrix product of the BLAS library. It is fast, but its last bits change with the size of
a block, the number of threads and the processor. So they only pick candidates: with the error bound of a float32 inner
product (Higham 2002, Accuracy and Stability of Numerical Algorithms, section 3.1) every poem that could be among the
first ``depth``, and every chunk that could be its best, is kept. The candidates are scored again in float64 in a fixed
order and rounded to float32; those scores alone make the ranking. It is the same for any block size, number of threads,
order of the input and machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl

from verseir.faults import UserError
from verseir.ranking import DEPTH, ChunkOrder, check_depth, empty_run, order_chunks, run_frame
from verseir.systems.groups import Groups, places_by_group, places_of_queries, together
from verseir.systems.progress import Progress

#: Chunks in a block of scores.
BLOCK = 4096
#: Queries that one thread works on together; fewer where their candidates would take more than ``CANDIDATE_BYTES``.
QUERIES = 512
CANDIDATE_BYTES = 64 * 2**20

ROUNDOFF = 2.0**-24  # unit roundoff of float32
LARGEST = 1e37  # scores above it would come near the end of the float32 range

#: Poem indices, scores and chunk places of some queries.
Part = tuple[np.ndarray, np.ndarray, np.ndarray]


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
    threads: int | None = None,
) -> pl.DataFrame:
    """Rank the poems of a corpus for each query by the inner product with their best chunk.

    Args:
        query_ids: q names, distinct.
        query_vectors: float32 [q, d].
        chunk_ids, poem_ids: n names each. Leave chunks without text out: they are not indexed.
        chunk_vectors: float32 [n, d], one row per chunk; fastest when they come in ranking order.
        depth: poems kept per query.
        positions: where each chunk stands in its poem (its first verse), see ``ranking.order_chunks``.
        block: chunks per block of scores; each thread holds ``4 * block * QUERIES`` bytes of them.
        threads: threads to use; numba's number of threads where nothing is said.

    Returns:
        A RUN frame, sorted by query_id and rank. Every poem has a score, so each query has min(depth, poems) rows.

    Raises:
        UserError: shapes that do not fit, a vector with a component that is not a finite number, or huge vectors.
    """
    from numba import get_num_threads
    from threadpoolctl import threadpool_limits

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
    by_id = sorted(range(len(query_ids)), key=query_ids.__getitem__)
    queries = queries[by_id]
    ids = [query_ids[i] for i in by_id]
    threads = threads or get_num_threads()
    depth = min(depth, len(names.poem_ids))
    capacity = min(len(names.poem_ids), 2 * depth + 100)
    share = min(QUERIES, -(-len(queries) // threads), max(1, CANDIDATE_BYTES // (32 * capacity)))
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        margins = _error_bounds(queries, vectors, ids, chunk_ids, pool, threads)
        shares = [slice(first, first + share) for first in range(0, len(queries), share)]
        parts = pool.map(
            lambda part: _search_share(queries[part], margins[part], vectors, names, depth, capacity, block), shares
        )
        found = list(_counted(parts, [len(queries[part]) for part in shares]))
        poems, scores, places = (np.concatenate(columns).ravel() for columns in zip(*found, strict=True))
    return run_frame(ids, np.full(len(ids), depth, dtype=np.int64), poems, scores, places, names)


def _counted(parts: Iterable[Part], sizes: Sequence[int]) -> Iterator[Part]:
    """The results of shares of so many queries, as they come; of a long search it is told how far it is."""
    with Progress(sum(sizes), "search", "queries", brief=True) as progress:
        for part, size in zip(parts, sizes, strict=True):
            progress.add(size)
            yield part


def search_groups(
    query_ids: Sequence[str],
    query_vectors: np.ndarray,
    query_groups: Groups,
    chunk_ids: Sequence[str] | pl.Series,
    poem_ids: Sequence[str] | pl.Series,
    chunk_vectors: np.ndarray,
    chunk_groups: Groups,
    depth: int = DEPTH,
    *,
    positions: Sequence[int] | pl.Series | None = None,
    block: int = BLOCK,
    threads: int | None = None,
) -> pl.DataFrame:
    """Rank the poems of each query's group by the inner product with their best chunk.

    Args:
        query_groups, chunk_groups: the group of each query, and of each chunk; chunks of a poem share theirs.

    The others are those of ``dense.search``, and so is what is returned.

    Raises:
        UserError: as there; a query is in no group, or in one that has no chunk.
    """
    chunks_of = places_by_group(chunk_groups, len(chunk_ids))
    queries_of = places_of_queries(query_ids, query_groups, chunks_of)
    if chunk_groups is None:  # nothing is copied
        return search(
            query_ids, query_vectors, chunk_ids, poem_ids, chunk_vectors, depth,
            positions=positions, block=block, threads=threads,
        )  # fmt: skip
    chunk_ids, poem_ids = (pl.Series(names, dtype=pl.String) for names in (chunk_ids, poem_ids))
    places_in_poem = None if positions is None else pl.Series(positions, dtype=pl.Int64)
    runs = (
        search(
            [query_ids[query] for query in queries],
            query_vectors[queries],
            chunk_ids.gather(chunks_of[group]),
            poem_ids.gather(chunks_of[group]),
            chunk_vectors[chunks_of[group]],
            depth,
            positions=None if places_in_poem is None else places_in_poem.gather(chunks_of[group]),
            block=block,
            threads=threads,
        )
        for group, queries in queries_of.items()
    )
    return together(runs)


def _search_share(
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
    block = max(1, min(block, n_chunks))
    in_order = bool((np.diff(names.order) == 1).all())
    candidates = np.empty((n_queries, capacity), dtype=pooled.CANDIDATE)
    filled = np.zeros(n_queries, dtype=np.int64)
    thresholds = np.full(n_queries, -np.inf, dtype=np.float32)
    state = (names.starts, names.order, vectors, queries, margins, candidates, filled, thresholds)
    space = np.empty(n_queries * block, dtype=np.float32)
    for first in range(0, n_chunks, block):
        last = min(first + block, n_chunks)
        rows = vectors[first:last] if in_order else vectors[names.order[first:last]]
        scores = space[: n_queries * (last - first)].reshape(n_queries, last - first)
        np.matmul(queries, rows.T, out=scores)
        pooled.dense_scan(scores, first, depth, names.poem_of, *state)
    keys = np.full((n_queries, capacity), np.iinfo(np.int64).min)
    pooled.dense_finish(depth, *state, keys)
    ranking = np.argsort(keys[:, : filled.max()], axis=1)[:, ::-1][:, :depth]
    scores, poem_indices = pooled.read_keys(np.take_along_axis(keys, ranking, axis=1))
    return poem_indices, scores, np.take_along_axis(candidates["place"], ranking, axis=1)


def _matrix(vectors: np.ndarray, n: int, what: str) -> np.ndarray:
    """``vectors`` as a C-ordered float32 matrix of n rows."""
    matrix = np.ascontiguousarray(vectors, dtype=np.float32)
    if matrix.ndim != 2 or len(matrix) != n or matrix.shape[1] == 0:
        raise UserError(f"{what} vectors have the shape {matrix.shape}: expected {n} rows of at least one dimension")
    return matrix


def _error_bounds(
    queries: np.ndarray,
    vectors: np.ndarray,
    query_ids: Sequence[str],
    chunk_ids: Sequence[str] | pl.Series,
    pool: ThreadPoolExecutor,
    threads: int,
) -> np.ndarray:
    """float64 [q]: how far a BLAS score of a query may lie from its exact score rounded to float32, for any chunk.

    In any order of summation an inner product of d terms is off by at most ``d u / (1 - d u) |x||y|``. Rounding the
    exact score, and the thresholds that are made of bounds and scores, adds at most ``2 u |x||y|``. The last term
    covers products that underflow.
    """
    from verseir.systems import pooled

    lengths = []
    for matrix, ids, what in ((queries, query_ids, "query"), (vectors, chunk_ids, "chunk")):
        squares = np.empty(len(matrix))
        list(pool.map(pooled.squared_norms, np.array_split(matrix, threads), np.array_split(squares, threads)))
        broken = np.flatnonzero(~np.isfinite(squares))
        if len(broken):
            raise UserError(
                f"{len(broken)} {what} vectors are not finite, the first of '{ids[int(broken[0])]}'",
                hint="the encoder failed on these texts: encode them again in float32",
            )
        lengths.append(np.sqrt(squares))
    products = lengths[0] * lengths[1].max()
    if products.max() > LARGEST:
        raise UserError("vectors are too long for float32 scores", hint="normalise the vectors of this system")
    d = queries.shape[1]
    gamma = d * ROUNDOFF / (1 - d * ROUNDOFF)
    return products * (gamma + 2 * ROUNDOFF) * (1 + 1e-9) + d * 2.0**-125
