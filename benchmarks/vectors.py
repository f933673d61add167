"""Made-up vectors that lie as an encoder's do: all in one direction, those of a poem's chunks near each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

#: Length of what all vectors share, of what a poem adds, of what a chunk adds, and of what a query adds to its chunk.
SHARED, POEM, CHUNK, QUERY = 1.0, 1.0, 0.5, 1.0


class Vectors(NamedTuple):
    """float32 [n, d] and float32 [q, d], rows of length 1."""

    documents: np.ndarray
    queries: np.ndarray


def make_vectors(poem_of: np.ndarray, n_queries: int, dimension: int, rng: np.random.Generator) -> Vectors:
    """Vectors of chunks and of queries, each of which asks for some chunk.

    Args:
        poem_of: int64 [n], the poem of each chunk.
    """

    def normal(n: int) -> np.ndarray:
        return rng.standard_normal((n, dimension), dtype=np.float32)

    documents = SHARED * normal(1) + POEM * normal(int(poem_of.max()) + 1)[poem_of]
    if poem_of[-1] + 1 < len(poem_of):
        documents += CHUNK * normal(len(poem_of))
    documents /= np.linalg.norm(documents, axis=1, keepdims=True)
    queries = documents[rng.integers(0, len(documents), n_queries)]
    queries = queries + QUERY / np.sqrt(dimension) * normal(n_queries)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    return Vectors(documents, queries.astype(np.float32))
