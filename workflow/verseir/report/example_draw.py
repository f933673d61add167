"""Which queries are shown where there is no room for all: of every kind the same share, hits and misses alike."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import polars as pl

#: What makes a kind: the same share of each is shown.
KIND = ("corpus", "query_set", "register", "found")
#: How many queries are tried first.
FIRST = 100
#: A choice that fills so much of the room is not enlarged.
FULL = 0.85


def draw_order(asked: pl.DataFrame) -> list[int]:
    """The rows of ``asked`` in the order in which they are taken: its beginnings hold the same share of every kind.

    Within a kind the order is that of the SHA-256 of the query's id, or of that of the query that it is edited from: so
    a query and its edits are taken together. The first of every kind come first.

    Args:
        asked: ``corpus``, ``query_set``, ``query_id``, ``source_query_id``, ``register`` and ``found``: whether the
            reference system finds it, null where nothing is relevant.
    """
    keys = [_hash(row) for row in asked.select("query_id", "source_query_id").iter_rows()]
    ordered = asked.with_row_index("row").with_columns(key=pl.Series(keys, dtype=pl.String))
    ordered = ordered.sort("corpus", "query_set", "key", "query_id")
    place = pl.int_range(pl.len()).over(KIND) / pl.len().over(KIND)
    return ordered.with_columns(place=place).sort("place", "key", "corpus", "query_set", "query_id")["row"].to_list()


def _hash(ids: tuple[str, str | None]) -> str:
    own, source = ids
    return hashlib.sha256((source or own).encode()).hexdigest()


def fill(order: Sequence[int], write: Callable[[Sequence[int]], str], room: int) -> tuple[str, int]:
    """What ``write`` makes of the longest beginning of ``order`` that was found to fit into ``room`` bytes; its length.

    A longer text comes of a longer beginning, less than in proportion: what is told once is told for all. One row
    is written whatever its size.
    """
    n, least, most = min(FIRST, len(order)), 0, len(order) + 1
    best = ("", 0)
    while True:
        text = write(order[:n])
        size = len(text.encode())
        if size <= room:
            best, least = (text, n), n
        else:
            most = n
        if most - least <= 1 or (least == n and (n == len(order) or size >= FULL * room)):
            return best if least else (text, n)
        n = min(max(int(n * room / size), least + 1, 1), most - 1, len(order))
