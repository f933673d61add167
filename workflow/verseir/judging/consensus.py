"""A pool of a fixed number of poems a query: what systems agree on, and what sets them apart."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle

import polars as pl

from verseir.judging.pool import items, representatives


@dataclass(frozen=True)
class Pooling:
    """How poems are chosen: ``candidates`` a query at most, by ranks to ``depth``; ``consensus`` is a share."""

    candidates: int = 20
    depth: int = 20
    consensus: float = 0.5


def consensus_pool(
    runs: Mapping[str, pl.DataFrame],
    known: pl.DataFrame,
    duplicates: pl.DataFrame,
    corpus: str,
    query_set: str,
    pooling: Pooling,
    seed: int,
) -> pl.DataFrame:
    """The POOL of at most ``pooling.candidates`` poems of each query, see ``candidates``.

    A poem stands for its class of duplicates, as in ``pool``; its rank is the best of the class. The order of the runs
    and of their rows changes nothing.

    Args:
        runs: system -> its RUN, all of one corpus, mode and query set.
        known: QRELS: poems that are known to be relevant are always in the pool.
        duplicates: the DUPLICATES of the corpus.
        corpus, query_set: their names, which go into the ids.
        pooling: see ``Pooling``.
        seed: of the order in which the items stand.
    """
    columns = {"query_id": pl.String, "poem_id": pl.String, "rank": pl.Int32, "system": pl.String}
    parts = [pl.DataFrame(schema=columns)]
    for system, run in runs.items():
        first = run.filter(pl.col("rank") <= pooling.depth).with_columns(system=pl.lit(system))
        parts.append(first.select(list(columns)))
    ranks: dict[str, dict[str, dict[str, int]]] = {}
    for query_id, poem_id, rank, system in _folded(pl.concat(parts), duplicates).iter_rows():
        of_poem = ranks.setdefault(query_id, {}).setdefault(poem_id, {})
        of_poem[system] = min(rank, of_poem.get(system, rank))
    relevant = known.filter(pl.col("grade") > 0).select("query_id", "poem_id", "grade")
    answers: dict[str, dict[str, int]] = {}
    for query_id, poem_id, grade in _folded(relevant, duplicates).iter_rows():
        of_query = answers.setdefault(query_id, {})
        of_query[poem_id] = max(grade, of_query.get(poem_id, grade))
    pairs = []
    for query_id in sorted({*ranks, *answers}):
        grades = answers.get(query_id, {})
        first_in = sorted(grades, key=lambda poem_id: (-grades[poem_id], poem_id))
        for poem_id in candidates(query_id, ranks.get(query_id, {}), first_in, pooling):
            pairs.append((query_id, poem_id))
    named = pl.DataFrame(pairs, schema={"query_id": pl.String, "poem_id": pl.String}, orient="row")
    return items(named, corpus, query_set, seed)


def candidates(
    query_id: str, ranks: Mapping[str, Mapping[str, int]], known: Sequence[str], pooling: Pooling
) -> list[str]:
    """The poems to judge for one query, in the order in which they got their places.

    First those that are ``known`` to be relevant. Of the places that are left, the share ``pooling.consensus``, rounded
    half up, goes to the poems that most systems vote for, then to those with the highest sum of reciprocal ranks
    (Cormack et al., 2009, without their constant), then by id. The others go round the systems: each gives a place to
    the poem of its own list that fewest vote for, then to the one that it ranks best, then by id. Which system begins
    hangs on the query, so that none has the extra place everywhere.

    Args:
        query_id: the query.
        ranks: poem -> system -> its rank, no deeper than ``pooling.depth``: a system votes for what it ranks.
        known: poems, the most relevant first.
        pooling: see ``Pooling``.
    """
    taken = dict.fromkeys(list(known)[: pooling.candidates])
    n_agreed = int(pooling.consensus * (pooling.candidates - len(taken)) + 0.5)
    others = [poem_id for poem_id in ranks if poem_id not in taken]
    taken |= dict.fromkeys(sorted(others, key=lambda poem_id: _agreement(poem_id, ranks[poem_id]))[:n_agreed])
    systems = sorted({system for of_poem in ranks.values() for system in of_poem})
    waiting = {
        system: [
            poem_id
            for *_, poem_id in sorted(
                (
                    (len(ranks[poem_id]), ranks[poem_id][system], poem_id)
                    for poem_id in others
                    if system in ranks[poem_id]
                ),
                reverse=True,
            )
        ]
        for system in systems
    }
    start = int.from_bytes(hashlib.sha256(query_id.encode()).digest()[:8], "big") % max(len(systems), 1)
    for system in cycle(systems[start:] + systems[:start]):
        if len(taken) == pooling.candidates or not any(waiting.values()):
            break
        poem_id = next((name for name in _popped(waiting[system]) if name not in taken), None)
        if poem_id is not None:
            taken[poem_id] = None
    return list(taken)


def _agreement(poem_id: str, of_poem: Mapping[str, int]) -> tuple[int, float, str]:
    """Sorts the poems that systems agree on to the front; ``fsum`` gives the same sum in any order."""
    return -len(of_poem), -math.fsum(1 / rank for rank in of_poem.values()), poem_id


def _popped(stack: list[str]) -> Iterator[str]:
    while stack:
        yield stack.pop()


def _folded(rows: pl.DataFrame, duplicates: pl.DataFrame) -> pl.DataFrame:
    """``rows`` with each poem called after its class of duplicates."""
    joined = rows.join(representatives(duplicates), on="poem_id", how="left")
    return joined.with_columns(poem_id=pl.coalesce("class_id", "poem_id")).drop("class_id")
