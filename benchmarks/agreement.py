"""Whether two programs did the same work: a ratio of times means nothing where they did not."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import polars as pl
from harness.line import Disagreement
from texts import numbers


class Ranking(NamedTuple):
    """The ranked list of one query: document numbers int64 [k], scores float [k], highest first."""

    documents: np.ndarray
    scores: np.ndarray


def rankings_of(run: pl.DataFrame, n_queries: int) -> list[Ranking]:
    """The lists of a RUN frame whose ids are those of ``texts.names``, by the number of the query."""
    query, document = (numbers(run[column].to_numpy()) for column in ("query_id", "poem_id"))
    starts = np.searchsorted(query, np.arange(n_queries + 1))
    scores = run["score"].to_numpy()
    return [Ranking(document[a:b], scores[a:b]) for a, b in pairwise(starts.tolist())]


def require_same_rankings(ours: list[Ranking], theirs: list[Ranking], tolerance: float) -> None:
    """Raise Disagreement unless both have the same documents with the same scores, but for ties at the cut.

    Scores that differ by at most ``tolerance`` are one score: programs that add in another order round otherwise.
    """
    if len(ours) != len(theirs):
        raise Disagreement(f"{len(ours)} ranked lists, the peer's {len(theirs)}")
    for number, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        if len(mine.documents) != len(other.documents):
            raise Disagreement(f"query {number}: {len(mine.documents)} results, the peer's {len(other.documents)}")
        apart = np.abs(mine.scores - other.scores)
        if apart.size and apart.max() > tolerance:
            raise Disagreement(
                f"query {number}, rank {int(apart.argmax()) + 1}: scores differ by {apart.max():.2g}, "
                f"more than {tolerance:.2g}"
            )
        for one, lacking in ((mine, other), (other, mine)):
            alone = ~np.isin(one.documents, lacking.documents)
            if alone.any() and one.scores[alone].max() > one.scores[-1] + 2 * tolerance:
                found = one.documents[alone][one.scores[alone].argmax()]
                raise Disagreement(f"query {number}: only one of the two finds document {found}, above the cut")
        by_document = [np.argsort(one.documents) for one in (mine, other)]
        if np.array_equal(mine.documents[by_document[0]], other.documents[by_document[1]]):
            apart = np.abs(mine.scores[by_document[0]] - other.scores[by_document[1]])
            if apart.size and apart.max() > tolerance:
                document = mine.documents[by_document[0]][apart.argmax()]
                raise Disagreement(f"query {number}, document {document}: scores differ by {apart.max():.2g}")


def require_close(ours: np.ndarray, theirs: np.ndarray, tolerance: float, what: str) -> None:
    """Raise Disagreement unless two arrays of one shape are equal up to ``tolerance`` everywhere."""
    mine, other = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    if mine.shape != other.shape:
        raise Disagreement(f"{what}: shape {mine.shape}, the peer's {other.shape}")
    apart = np.abs(mine - other)
    if not (apart <= tolerance).all():  # a NaN is not
        place = np.unravel_index(int(np.nanargmax(np.where(np.isnan(apart), np.inf, apart))), apart.shape)
        raise Disagreement(
            f"{what}: {mine[place]:.12g} and {other[place]:.12g} at {tuple(map(int, place))}: "
            f"more than {tolerance:.2g} apart"
        )


def require_cosines(vectors: np.ndarray, reference: np.ndarray, least: float, whose: str) -> None:
    """Raise Disagreement unless each row points where its row of the reference points: cosine above ``least``."""
    a, b = (np.asarray(part, dtype=np.float64) for part in (vectors, reference))
    cosines = (a * b).sum(axis=1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))
    if not (cosines > least).all():
        lowest = np.nan if np.isnan(cosines).any() else cosines.min()
        raise Disagreement(f"{whose}: cosine {lowest:.7f} to the batch-1 reference, expected > {least}")


def require_same_lists(ours: list[list[str]], theirs: list[list[str]], what: str) -> None:
    """Raise Disagreement unless the lists are equal."""
    if len(ours) != len(theirs):
        raise Disagreement(f"{what}: {len(ours)}, the peer's {len(theirs)}")
    for number, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        if mine != other:
            raise Disagreement(f"{what} of text {number}: {mine[:8]}, the peer's {other[:8]}")
