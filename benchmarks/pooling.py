"""From ranked chunks to ranked poems: what users of a library that ranks chunks write around it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from agreement import Ranking

#: Ranks chunks: which queries (their places), how many chunks of each; chunk numbers and scores [q, k], best first.
Retrieve = Callable[[np.ndarray, int], tuple[np.ndarray, np.ndarray]]


def pool(chunks: np.ndarray, scores: np.ndarray, poem_of: np.ndarray, best: np.ndarray, depth: int) -> Ranking:
    """The ``depth`` best poems of one query by their best chunk; ties by the number of the poem.

    Args:
        chunks, scores: int64 [k], float32 [k], highest score first.
        poem_of: int64 [n], the poem of each chunk.
        best: float32 [p], working space that holds -inf, and does again afterwards.
    """
    poems = poem_of[chunks]
    best[poems[::-1]] = scores[::-1]  # the last one that is written is the highest
    found = np.unique(poems)
    highest = best[found]
    best[found] = -np.inf
    if len(found) > depth:
        kept = highest >= np.partition(highest, len(found) - depth)[len(found) - depth]
        found, highest = found[kept], highest[kept]
    order = np.argsort(-highest, kind="stable")[:depth]
    return Ranking(found[order], highest[order])


def search_poems(
    retrieve: Retrieve, n_queries: int, poem_of: np.ndarray, depth: int, k: int, lowest: float
) -> list[Ranking]:
    """Rank poems exactly with a library that ranks chunks.

    Of each query ``k`` chunks are asked for. Where poems among the first ``depth`` might be missing, or tie with the
    last of them, four times as many are, until none can.

    Args:
        lowest: a chunk with this score or a lower one is not found at all.
    """
    results: dict[int, Ranking] = {}
    best = np.full(int(poem_of[-1]) + 1, -np.inf, dtype=np.float32)
    asked, k = np.arange(n_queries), min(k, len(poem_of))
    while len(asked):
        chunks, scores = retrieve(asked, k)
        again = []
        for query, row, values in zip(asked.tolist(), chunks, scores, strict=True):
            ranking, whole = _pooled(row, values, poem_of, best, depth, lowest)
            if whole or k == len(poem_of):
                results[query] = ranking
            else:
                again.append(query)
        asked, k = np.array(again, dtype=np.int64), min(4 * k, len(poem_of))
    return [results[query] for query in range(n_queries)]


def fewest_chunks(retrieve: Retrieve, n_queries: int, poem_of: np.ndarray, depth: int, lowest: float) -> int:
    """The k, ``depth`` times a power of two, with which nine of ten queries need not be asked again."""
    sample = np.arange(min(64, n_queries))
    best = np.full(int(poem_of[-1]) + 1, -np.inf, dtype=np.float32)
    k = min(depth, len(poem_of))
    while k < len(poem_of):
        chunks, scores = retrieve(sample, k)
        pairs = zip(chunks, scores, strict=True)
        enough = sum(_pooled(row, values, poem_of, best, depth, lowest)[1] for row, values in pairs)
        if enough >= 0.9 * len(sample):
            return k
        k = min(2 * k, len(poem_of))
    return k


def _pooled(
    chunks: np.ndarray, scores: np.ndarray, poem_of: np.ndarray, best: np.ndarray, depth: int, lowest: float
) -> tuple[Ranking, bool]:
    """The poems of these chunks, and whether chunks that were not asked for cannot change them."""
    n = int((scores > lowest).sum())
    ranking = pool(chunks[:n], scores[:n], poem_of, best, depth)
    return ranking, n < len(scores) or (len(ranking.scores) == depth and scores[-1] < ranking.scores[-1])
