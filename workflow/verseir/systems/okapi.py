"""BM25 as rank_bm25's ``BM25Okapi`` has it: its weights, bit for bit, and two orders of tied poems.

With N chunks, n of them with token t, f occurrences in a chunk of L tokens, and A tokens in a chunk on average:

    weight(t, chunk) = idf(t) f (k1 + 1) / (f + k1 (1 - b + b L / A))        idf(t) = ln(N - n + 0.5) - ln(n + 0.5)

A token that more than half of the chunks have would get an idf below 0; it gets ``EPSILON`` times the mean idf of all
tokens instead, those below 0 included. In a small corpus the mean may be below 0 too, and so may then be a weight.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from verseir.systems.postings import Postings
from verseir.systems.tokens import Tokens

EPSILON = 0.25

#: The ranked poems, their scores (float32) and the places of their best chunks.
Ranked = tuple[np.ndarray, np.ndarray, np.ndarray]
#: Makes them from the scores of all chunks, float64 [n], which of these share a token, bool [n], where the chunks of
#: each poem start, int64 [p + 1], and the number of poems to keep.
Ranker = Callable[[np.ndarray, np.ndarray, np.ndarray, int], Ranked]


def okapi_weights(tokens: Tokens, postings: Postings, k1: float, b: float) -> np.ndarray:
    """The weights of the postings of these tokens, float64 [p]. Chunks have their tokens in the order of the text."""
    n_chunks, lengths = len(tokens), postings.lengths
    m = len(tokens.ids)
    first = np.empty(len(tokens.vocabulary), dtype=np.int64)
    first[tokens.ids[::-1]] = np.arange(m - 1, -1, -1)  # the last one that is written is the first
    idf = _idf(postings.n_chunks_with, n_chunks, np.argsort(first))
    norm = 1 - b + b * lengths / (int(lengths.sum()) / n_chunks)
    frequency, idf_of = postings.frequency.astype(np.int64), np.repeat(idf, postings.n_chunks_with)
    return idf_of * (frequency * (k1 + 1) / (frequency + k1 * norm[postings.chunk_of]))


def _idf(n_chunks_with: np.ndarray, n_chunks: int, by_occurrence: np.ndarray) -> np.ndarray:
    """float64 [n_tokens]. rank_bm25 takes the mean in the order in which the tokens first occur, and so is it here."""
    # math.log, not numpy's, which differs between processors in the last bit.
    of = {int(n): math.log(n_chunks - n + 0.5) - math.log(n + 0.5) for n in np.unique(n_chunks_with)}
    idf = np.array([of[n] for n in n_chunks_with.tolist()])
    total = float(np.cumsum(idf[by_occurrence])[-1])  # one after the other: numpy's sum goes by pairs
    return np.where(idf < 0, EPSILON * (total / len(idf)), idf)


def rank_by_id(scores: np.ndarray, sharing: np.ndarray, starts: np.ndarray, depth: int) -> Ranked:
    """The ranking policy: by float32 score, highest first; tied poems in their own order."""
    best, places = _pool(scores.astype(np.float32), sharing, starts)
    found = np.flatnonzero(places >= 0)
    if len(found) > depth:
        last = np.partition(best[found], len(found) - depth)[len(found) - depth]
        found = found[best[found] >= last]
    ranked = found[np.argsort(-best[found], kind="stable")][:depth]
    return ranked, best[ranked], places[ranked]


def rank_by_introsort(scores: np.ndarray, sharing: np.ndarray, starts: np.ndarray, depth: int) -> Ranked:
    """The reverse of the order into which NumPy's portable sort brings the float64 scores of all poems."""
    from verseir.systems.introsort import introsort

    best, places = _pool(scores, sharing, starts)
    order = introsort(best)[::-1]
    ranked = order[places[order] >= 0][:depth]
    return ranked, best[ranked].astype(np.float32), places[ranked]


RANKERS: dict[str, Ranker] = {"id": rank_by_id, "introsort": rank_by_introsort}


def _pool(scores: np.ndarray, sharing: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Score and place of the best sharing chunk of each poem; 0 and -1 of a poem without one."""
    from verseir.systems import sparse

    best = np.empty(len(starts) - 1, dtype=scores.dtype)
    places = np.empty(len(best), dtype=np.int64)
    sparse.best_sharing(scores, sharing, starts, best, places)
    return best, places
