"""Where relevant poems stand under reciprocal-rank fusion, for many subsets of arms at once.

The ranks are those of ``fusion.reciprocal_rank_fusion`` under the policy of ``ranking``, but no ranked list is built:
of each query the reciprocal ranks of all arms stand in one matrix, and for each subset the poems ahead of each relevant
one are counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl
from numba import get_num_threads, njit
from numpy.typing import NDArray

from verseir.measures import Hits, Judged, Measure

#: How many ranks are held at a time.
HELD = 50_000_000


class Arm(NamedTuple):
    """One ranked list by query: query i has the rows ``starts[i]:starts[i + 1]`` of ``poem`` and ``rank``, int32 [m].

    ``poem_ids`` are the poems of all rows, in bytewise order; ``poem`` are numbers of these.
    """

    poem_ids: pl.Series
    starts: NDArray[np.int64]
    poem: NDArray[np.int32]
    rank: NDArray[np.int32]


def code_arm(run: pl.DataFrame, query_ids: list[str]) -> Arm:
    """A RUN frame in numbers; queries that are not among ``query_ids`` (sorted) are passed over."""
    index = pl.DataFrame({"query_id": pl.Series(query_ids, dtype=pl.String), "query": np.arange(len(query_ids))})
    rows = run.select("query_id", "poem_id", "rank").join(index, on="query_id").sort("query", "rank")
    poem_ids = rows["poem_id"].unique().sort()
    counts = np.bincount(rows["query"].to_numpy(), minlength=len(query_ids))
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Arm(poem_ids, starts, _numbers(rows["poem_id"], poem_ids), rows["rank"].to_numpy().astype(np.int32))


def unite(arms: Sequence[Arm]) -> list[Arm]:
    """The same lists, all numbered by the poems of all of them."""
    poem_ids = pl.concat([arm.poem_ids for arm in arms]).unique().sort()
    return [arm._replace(poem_ids=poem_ids, poem=_numbers(arm.poem_ids, poem_ids)[arm.poem]) for arm in arms]


def _numbers(values: pl.Series, names: pl.Series) -> NDArray[np.int32]:
    """The place of each value in ``names``, which are distinct and hold them all."""
    return values.cast(pl.Enum(names)).to_physical().to_numpy().astype(np.int32)


def measure_subsets(
    arms: Sequence[Arm],
    judged: Judged,
    subsets: NDArray[np.int64],
    measure: Measure,
    k: float,
    depth: int,
    threads: int | None = None,
) -> NDArray[np.float64]:
    """The value of a measure for each subset of arms and each query, float64 [s, q].

    Args:
        arms: what ``unite`` gives, at least one, with the queries of ``judged``.
        judged: the judgements.
        subsets: int64 [s, n], the arms of each subset, -1 after the last; fastest when subsets that begin alike are
            neighbours.
        measure: what is measured.
        k: the constant of reciprocal-rank fusion.
        depth: poems kept per query.
        threads: threads to use; numba's number of threads where nothing is said. They change no value.

    Raises:
        UserError: ``Judged``, which is nothing to choose a fusion by.
    """
    values = np.zeros((len(subsets), len(judged.query_ids)))
    ranked = replace(judged, relevant=judged.rows, n_relevant=judged.n_judged) if measure.needs_judged else judged
    query, grade = ranked.relevant["query"].to_numpy(), ranked.relevant["grade"].to_numpy()
    # The cutoff of a condensed list counts judged poems: they may stand anywhere in the list.
    cut = depth if measure.needs_judged else min(depth, measure.cutoff or depth)
    block = max(1, HELD // max(1, len(query)))
    for first in range(0, len(subsets), block):
        ranks = fused_ranks(arms, ranked, subsets[first : first + block], k, cut, threads)
        for row, found in enumerate(ranks, first):
            retrieved = np.flatnonzero(found)
            order = retrieved[np.lexsort((found[retrieved], query[retrieved]))]
            hits = Hits(query[order], found[order].astype(np.int64), grade[order])
            values[row] = measure.values(hits, judged)
    return values


def fused_ranks(
    arms: Sequence[Arm], judged: Judged, subsets: NDArray[np.int64], k: float, cut: int, threads: int | None = None
) -> NDArray[np.int32]:
    """The rank of each relevant poem under the fusion of each subset, int32 [s, h]; 0 where it is not in the first
    ``cut``. The h columns are the rows of ``judged.relevant``; for the rest see ``measure_subsets``."""
    relevant = judged.relevant.join(
        pl.DataFrame({"poem_id": arms[0].poem_ids, "poem": np.arange(len(arms[0].poem_ids))}),
        on="poem_id",
        how="left",
        maintain_order="left",
    )
    poem = relevant["poem"].fill_null(-1).to_numpy()
    ends = np.cumsum(judged.n_relevant)
    ranks = np.zeros((len(subsets), len(poem)), dtype=np.int32)

    def rank(query: int) -> None:
        columns = slice(ends[query] - judged.n_relevant[query], ends[query])
        known, terms = _reciprocal_ranks(arms, query, k, _last_rank(subsets.shape[1], k, cut))
        wanted = poem[columns]
        places = np.searchsorted(known, wanted)
        there = places < len(known)
        there[there] = known[places[there]] == wanted[there]
        if there.any():
            _count_ahead(terms, subsets, np.where(there, places, -1), cut, ranks[:, columns])

    with ThreadPoolExecutor(threads or get_num_threads()) as pool:
        list(pool.map(rank, np.flatnonzero(judged.n_relevant).tolist()))
    return ranks


def _last_rank(most: int, k: float, cut: int) -> float:
    """The last rank in any of ``most`` arms from which a poem can come among the first ``cut`` of their fusion.

    The first ``cut`` poems of one arm score 1 / (k + cut) or more in the fusion, so no poem below that is among the
    first ``cut``; one that reaches it owes at least the ``most``-th part to one arm. One rank more allows for rounding.
    """
    return math.ceil(most * (k + cut) - k) + 1


def _reciprocal_ranks(
    arms: Sequence[Arm], query: int, k: float, last_rank: float
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The poems of a query that stand at ``last_rank`` or better in some arm, int32 [p] ascending, and
    1 / (k + rank) of each in each arm, float64 [a, p]; 0 where the arm does not retrieve it."""
    parts = [slice(one.starts[query], one.starts[query + 1]) for one in arms]
    poem = np.concatenate([one.poem[part] for one, part in zip(arms, parts, strict=True)])
    rank = np.concatenate([one.rank[part] for one, part in zip(arms, parts, strict=True)])
    arm = np.repeat(np.arange(len(parts)), [part.stop - part.start for part in parts])
    known = np.unique(poem[rank <= last_rank])
    terms = np.zeros((len(parts), len(known)))
    if len(known):
        places = np.minimum(np.searchsorted(known, poem), len(known) - 1)
        kept = known[places] == poem
        terms[arm[kept], places[kept]] = 1.0 / (k + rank[kept].astype(np.float64))
    return known, terms


@njit(cache=True)
def _insert(rows, n, new):
    """Put ``new`` [p] into the first n ``rows`` [., p], which descend in each column: row n becomes the last."""
    carry = rows[n]
    carry[:] = new
    for i in range(n):
        row = rows[i]
        for p in range(len(carry)):
            a = row[p]
            b = carry[p]
            row[p] = a if a > b else b
            carry[p] = b if a > b else a


@njit(cache=True)
def _add_up(rows, n, new, carry, total, score):
    """Sum the first n ``rows``, which descend in each column, and ``new``, from the largest term down, to float32."""
    carry[:] = new
    total[:] = 0.0
    for i in range(n):
        row = rows[i]
        for p in range(len(carry)):
            a = row[p]
            b = carry[p]
            total[p] += a if a > b else b
            carry[p] = b if a > b else a
    for p in range(len(carry)):
        score[p] = np.float32(total[p] + carry[p])


@njit(cache=True)
def _ahead(score, place):
    """How many poems stand before the one at ``place``: higher scores, and equal ones of a lower number."""
    own = score[place]
    count = 0
    for p in range(place):
        count += score[p] >= own
    for p in range(place + 1, len(score)):
        count += score[p] > own
    return count


@njit(cache=True, nogil=True)
def _count_ahead(terms, subsets, relevant, cut, ranks):
    """Write the rank of each relevant poem under each subset to ``ranks`` [s, m]; 0 stays where it is beyond ``cut``.

    ``begun[j]`` holds the sorted terms of the first j + 1 arms of the last subset, for the next that begins alike.
    """
    most = subsets.shape[1]
    n_poems = terms.shape[1]
    begun = np.zeros((most, most, n_poems))
    held = np.full(most, -1)
    carry = np.empty(n_poems)
    total = np.empty(n_poems)
    score = np.empty(n_poems, dtype=np.float32)
    for s in range(len(subsets)):
        n = most
        while n > 1 and subsets[s, n - 1] < 0:
            n -= 1
        alike = True
        for j in range(n - 1):
            alike = alike and held[j] == subsets[s, j]
            if not alike:
                held[j] = subsets[s, j]
                if j > 0:
                    begun[j, :j] = begun[j - 1, :j]
                _insert(begun[j], j, terms[subsets[s, j]])
        if not alike:
            held[n - 1 :] = -1
        _add_up(begun[max(n - 2, 0)], n - 1, terms[subsets[s, n - 1]], carry, total, score)
        for m in range(len(relevant)):
            place = relevant[m]
            if place >= 0 and score[place] > 0:
                ahead = _ahead(score, place)
                if ahead < cut:
                    ranks[s, m] = ahead + 1
