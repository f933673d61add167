"""The pool: what the systems put first for each query, once each, in an order that tells nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import polars as pl

from verseir.tables import define

POOL = define(
    "pool",
    {"item_id": pl.String, "query_id": pl.String, "poem_id": pl.String, "place": pl.Int64},
    unique="item_id",
)
#: Parts the names that an id is made of; no name can hold it.
_SEPARATOR = "\x1f"


def item_id(corpus: str, query_set: str, query_id: str, poem_id: str) -> str:
    """The name of an item, the same in every pool and sheet, from which nothing can be told.

    ``i`` and the first 12 hexadecimal digits of a SHA-256. The letter stands first because a spreadsheet takes ids such
    as 123456789012 and 1234567e8901 for numbers, and saves them as others.
    """
    name = _SEPARATOR.join([corpus, query_set, query_id, poem_id])
    return "i" + hashlib.sha256(name.encode()).hexdigest()[:12]


def representatives(duplicates: pl.DataFrame) -> pl.DataFrame:
    """poem_id and class_id of every poem of DUPLICATES: the class is called after the smallest id in it."""
    return duplicates.select("poem_id", "class_id")


def standing(places: pl.DataFrame, judged: pl.DataFrame, duplicates: pl.DataFrame) -> pl.DataFrame:
    """``places`` with each poem called as the item that stands for its class among those judged for its query.

    It is the poem that the class is called after, or else the smallest id judged: of queries that are searched within
    an attribute a pool has the copy of their own value (``reach``). Where none was judged it is called after the class.

    Args:
        places: columns query_id and poem_id, among others.
        judged: columns query_id and poem_id.
        duplicates: the DUPLICATES of the corpus.
    """
    classes = representatives(duplicates)
    called = pl.coalesce("class_id", "poem_id").alias("class_id")
    items = judged.select("query_id", "poem_id").unique().join(classes, on="poem_id", how="left").with_columns(called)
    items = items.sort(pl.col("poem_id") != pl.col("class_id"), "poem_id").unique(
        ["query_id", "class_id"], keep="first", maintain_order=True
    )
    named = places.join(classes, on="poem_id", how="left").with_columns(called).drop("poem_id")
    found = named.join(items, on=["query_id", "class_id"], how="left")
    return found.with_columns(poem_id=pl.coalesce("poem_id", "class_id")).select(places.columns)


def pool(
    runs: Iterable[pl.DataFrame], duplicates: pl.DataFrame, corpus: str, query_set: str, depth: int, seed: int
) -> pl.DataFrame:
    """The POOL of the first ``depth`` poems of each query in each run (pooling: Sparck Jones and van Rijsbergen, 1975).

    A poem stands for its class of duplicates, by the smallest id of the class: two members are one item. A poem that
    DUPLICATES does not know stands for itself. A deeper pool, or one of more runs, has the same items and more. The
    order of the runs and of their rows changes nothing.

    Args:
        runs: RUN frames of one corpus and query set.
        duplicates: the DUPLICATES of the corpus.
        corpus, query_set: their names, which go into the ids.
        depth: ranks of a run that are pooled.
        seed: of the order in which the items stand.
    """
    columns = {"query_id": pl.String, "poem_id": pl.String}
    tops = [pl.DataFrame(schema=columns)]
    tops += [run.filter(pl.col("rank") <= depth).select(list(columns)) for run in runs]
    classes = representatives(duplicates)
    pooled = pl.concat(tops).unique().join(classes, on="poem_id", how="left")
    named = pooled.select("query_id", pl.coalesce("class_id", "poem_id").alias("poem_id")).unique()
    return items(named, corpus, query_set, seed)


def items(pairs: pl.DataFrame, corpus: str, query_set: str, seed: int) -> pl.DataFrame:
    """POOL rows of distinct pairs of query and poem, shuffled over all queries, so that no query stands together.

    Args:
        pairs: columns query_id and poem_id.
        corpus, query_set: the names that go into the ids.
        seed: of the shuffle, which depends on it and on the ids alone.
    """
    rows = []
    for query_id, poem_id in pairs.select("query_id", "poem_id").iter_rows():
        name = item_id(corpus, query_set, query_id, poem_id)
        rows.append((_shuffled(name, seed), name, query_id, poem_id))
    return pl.DataFrame(
        [(name, query_id, poem_id, place) for place, (_, name, query_id, poem_id) in enumerate(sorted(rows), 1)],
        schema=dict(POOL.columns),
        orient="row",
    )


def _shuffled(name: str, seed: int) -> bytes:
    """Where an item stands among all."""
    return hashlib.sha256(f"{seed}{_SEPARATOR}{name}".encode()).digest()
