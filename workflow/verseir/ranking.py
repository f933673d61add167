"""The ranking policy: the order of results, written once.

A poem's score is the highest score of its chunks. Results are ordered by score (float32), highest first, then by
``poem_id``, bytewise ascending. The list is cut at ``depth`` after that order is complete, so a tie at the cut is
decided by ``poem_id`` too, never by chance. The chunk that is shown for a poem is the one with the highest score; among
equals, the one that stands first in the poem.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from verseir.faults import UserError
from verseir.tables import RUN, check_table

#: Results kept per query where nothing else is said: the depth of TREC runs.
DEPTH = 1000


@dataclass(frozen=True)
class ChunkOrder:
    """The chunks of a corpus in ranking order: by poem_id (bytewise), then by their place in the poem.

    In this order the index of a poem is its rank among tied poems, and the index of a chunk its rank among tied chunks.

    Attributes:
        order: int64 [n], for each place the row of that chunk in the input.
        chunk_ids: String [n], in ranking order.
        poem_ids: String [p], the distinct poems, bytewise ascending.
        poem_of: int32 [n], for each place the index of its poem.
        starts: int64 [p + 1], the places of poem i are ``starts[i]:starts[i + 1]``.
    """

    order: np.ndarray
    chunk_ids: pl.Series
    poem_ids: pl.Series
    poem_of: np.ndarray
    starts: np.ndarray


def order_chunks(
    chunk_ids: Sequence[str] | pl.Series,
    poem_ids: Sequence[str] | pl.Series,
    positions: Sequence[int] | pl.Series | None = None,
) -> ChunkOrder:
    """Bring chunks into ranking order, whatever the order they come in.

    Args:
        chunk_ids: n chunk names, distinct.
        poem_ids: n names, the poem of each chunk.
        positions: n whole numbers, where each chunk stands in its poem (its first verse). Without them, and among equal
            ones, chunks of a poem go by ``chunk_id``, bytewise.

    Raises:
        UserError: the lengths differ, there is no chunk, or a ``chunk_id`` comes twice.
    """
    ids = pl.Series("chunk_id", chunk_ids, dtype=pl.String)
    poems = pl.Series("poem_id", poem_ids, dtype=pl.String)
    place = pl.Series("position", [0] * len(ids) if positions is None else positions, dtype=pl.Int64)
    if not len(ids) == len(poems) == len(place):
        raise UserError(f"{len(ids)} chunk ids, {len(poems)} poem ids and {len(place)} positions: they must be as many")
    if ids.is_empty():
        raise UserError("there is no chunk to index", hint="every text of this corpus is empty in this indexing mode")
    repeated = ids.filter(ids.is_duplicated())
    if len(repeated):
        raise UserError(
            f"chunk_id '{repeated.sort()[0]}' comes more than once", hint="chunk ids are unique in a corpus"
        )
    frame = pl.DataFrame([ids, poems, place]).with_row_index("row").sort("poem_id", "position", "chunk_id")
    lengths = frame["poem_id"].rle().struct.unnest()
    counts = lengths["len"].to_numpy().astype(np.int64)
    return ChunkOrder(
        order=frame["row"].to_numpy().astype(np.int64),
        chunk_ids=frame["chunk_id"],
        poem_ids=lengths["value"].alias("poem_id"),
        poem_of=np.repeat(np.arange(len(counts), dtype=np.int32), counts),
        starts=np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)]),
    )


def check_depth(depth: int) -> None:
    """Raise UserError unless ``depth`` is a whole number of at least 1."""
    if depth < 1:
        raise UserError(f"depth is {depth}", hint="how many results to keep for a query: 1 or more")


def empty_run() -> pl.DataFrame:
    """A RUN frame without rows."""
    return pl.DataFrame(schema=dict(RUN.columns))


def run_frame(
    query_ids: Sequence[str],
    counts: np.ndarray,
    poems: np.ndarray,
    scores: np.ndarray,
    chunks: np.ndarray,
    names: ChunkOrder,
) -> pl.DataFrame:
    """Name the results of a search that are in ranking order already.

    Args:
        query_ids: q names, bytewise ascending.
        counts: int64 [q], results of each query.
        poems, scores, chunks: int [m], float32 [m], int [m]: poem index, score and chunk place of each result, query by
            query, in ranking order.

    Returns:
        A RUN frame, sorted by query_id and rank.
    """
    if len(poems) == 0:
        return empty_run()
    firsts = np.cumsum(counts) - counts
    ranks = np.arange(1, len(poems) + 1) - np.repeat(firsts, counts)
    rows = pl.Series(np.repeat(np.arange(len(query_ids), dtype=np.int32), counts))
    return pl.DataFrame(
        {
            "query_id": pl.Series(query_ids, dtype=pl.String).gather(rows),
            "poem_id": names.poem_ids.gather(pl.Series(poems)),
            "rank": pl.Series(ranks.astype(np.int32)),
            "score": pl.Series(scores.astype(np.float32, copy=False)),
            "chunk_id": names.chunk_ids.gather(pl.Series(chunks)),
        }
    )


def top_k(scored: pl.DataFrame, depth: int = DEPTH) -> pl.DataFrame:
    """Rank scored poems by the policy of this module and keep the first ``depth`` of each query.

    Args:
        scored: columns query_id, poem_id, score (finite, taken as float32) and, where known, chunk_id; a poem comes
            once for a query.

    Returns:
        A RUN frame, sorted by query_id and rank.
    """
    check_depth(depth)
    chunk = pl.col("chunk_id") if "chunk_id" in scored.columns else pl.lit(None, dtype=pl.String).alias("chunk_id")
    score = pl.col("score").cast(pl.Float32) + pl.lit(0.0, dtype=pl.Float32)  # -0.0 becomes 0.0: they tie
    return (
        scored.select("query_id", "poem_id", score.alias("score"), chunk)
        .sort("query_id", "score", "poem_id", descending=[False, True, False])
        .with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over("query_id").alias("rank"))
        .filter(pl.col("rank") <= depth)
        .select(list(RUN.columns))
    )


def check_run(run: pl.DataFrame, where: str) -> pl.DataFrame:
    """Check a run that was made elsewhere and rank its ties by the policy of this module.

    Returns:
        A RUN frame, sorted by query_id and rank.

    Raises:
        UserError: it is no RUN table, a score is not finite, the ranks of a query are not 1, 2, 3 ..., or a score is
            above one of a better rank.
    """
    run = check_table(run, RUN, where).sort("query_id", "rank")
    if not run["score"].is_finite().all():
        raise UserError(f"{where}: a score is not a finite number", hint="leave out documents that were not scored")
    ranks = pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over("query_id")
    for wrong, problem, hint in (
        (pl.col("rank") != ranks, "ranks are not 1, 2, 3 ...", "each rank comes once"),
        (pl.col("score") > pl.col("score").shift().over("query_id"), "ranks contradict scores", "highest score first"),
    ):
        found = run.filter(wrong)
        if not found.is_empty():
            query_id, rank = found.row(0)[0], found["rank"][0]
            raise UserError(f"{where}: {problem}: query '{query_id}', rank {rank}", hint=hint)
    return top_k(run, depth=max(len(run), 1))
