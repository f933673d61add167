"""In which chunks each token stands, and how often: what every weight of BM25 is made of."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from verseir.systems.tokens import Tokens, starts_of

#: Tokens that are sorted together, postings that are weighted together: what is between takes little memory.
BLOCK = 1 << 22


@dataclass(frozen=True)
class Postings:
    """The postings of all tokens, p in all, one token after the other, of each by chunk.

    Attributes:
        chunk_of: int32 [p], the chunks.
        frequency: [p], how often the token stands in the chunk; of the smallest whole numbers that hold it.
        indptr: int64 [v + 1], those of token t are at ``indptr[t]:indptr[t + 1]``.
        lengths: int64 [n], how many tokens each chunk has.
    """

    chunk_of: np.ndarray
    frequency: np.ndarray
    indptr: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(cls, tokens: Tokens, rows: np.ndarray) -> Postings:
        """Of chunks that have the tokens of the texts at ``rows``, int64 [n]; each of these has one at least."""
        lengths = tokens.lengths[rows]
        n_chunks_with = np.zeros(len(tokens.vocabulary), dtype=np.int64)
        parts = []
        cuts = np.searchsorted(starts_of(lengths), np.arange(0, lengths.sum(), BLOCK))
        for first, end in pairwise(np.unique([*cuts, len(rows)]).tolist()):
            own = tokens.take(rows[first:end])
            keys = own.ids.astype(np.int64)
            keys <<= 32
            keys |= np.repeat(np.arange(first, end), own.lengths)
            keys.sort()
            keys, times = _runs(keys)
            found, sizes = _runs(keys >> 32)
            parts.append((found, sizes, keys.astype(np.int32), times.astype(np.min_scalar_type(times.max()))))
            n_chunks_with[found] += sizes
        indptr = starts_of(n_chunks_with)
        chunk_of = np.empty(indptr[-1], dtype=np.int32)
        frequency = np.empty(indptr[-1], dtype=np.result_type(*(part[-1].dtype for part in parts)))
        reached = indptr[:-1].copy()
        while parts:  # each is let go once it is in its place
            found, sizes, chunks, times = parts.pop(0)
            places = np.arange(len(chunks)) + np.repeat(reached[found] - starts_of(sizes)[:-1], sizes)
            chunk_of[places], frequency[places] = chunks, times
            reached[found] += sizes
        return cls(chunk_of, frequency, indptr, lengths)

    @property
    def n_chunks_with(self) -> np.ndarray:
        """int64 [v], how many chunks have each token."""
        return np.diff(self.indptr)


def bm25s_weights(postings: Postings, method: str, k1: float, b: float) -> np.ndarray:
    """The weights of bm25s (Lu 2024), float32 [p], to the last bit: its formulas, on postings that were found faster.

    Of its variants (Kamphuis et al. 2020, Which BM25 do you mean?) those that give nothing to an absent token.
    """
    from bm25s import scoring  # formulas that it keeps to itself: a test holds them to an index that it makes

    n_chunks, mean = len(postings.lengths), postings.lengths.mean()
    idf_of, gain_of = scoring._select_idf_scorer(method), scoring._select_tfc_scorer(method)
    by_number = {int(n): idf_of(int(n), n_chunks) for n in np.unique(postings.n_chunks_with)}
    idf = np.array([by_number[n] for n in postings.n_chunks_with.tolist()], dtype=np.float32)
    weights = np.empty(len(postings.chunk_of), dtype=np.float32)
    for first in range(0, len(weights), BLOCK):
        part = slice(first, first + BLOCK)
        lengths = postings.lengths[postings.chunk_of[part]]
        gain = gain_of(postings.frequency[part].astype(np.float32), lengths, mean, k1, b)
        weights[part] = np.repeat(idf, np.diff(postings.indptr.clip(part.start, part.stop))) * gain
    return weights


def _runs(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct ones of values that are sorted, and how often each comes."""
    starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    return values[starts], np.diff(starts, append=len(values))
