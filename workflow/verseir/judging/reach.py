"""Copies of a poem where queries are searched within an attribute: one of another value is none that a query can find.

The audit of duplicates knows no language, so a class may hold poems of several. What is judged for a query, and what a
grade spreads to, must be of the query's own value: else the judge reads what no system can return, and the poems that
count as relevant hold some that no system can find.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from verseir.kept import poem_values
from verseir.tables import ATTRIBUTES, POEMS, QUERY_ATTRIBUTES, read_table


@dataclass(frozen=True)
class Reach:
    """The value of the attribute that a query is searched within, of each poem and query that has one."""

    of_poems: Mapping[str, str | None]
    of_queries: Mapping[str, str | None]

    def classes(self, duplicates: pl.DataFrame) -> pl.DataFrame:
        """DUPLICATES in which each class is parted by value, each part called after the smallest id in it. Idempotent.

        ``class_size``, ``kind`` and ``similarity`` stay those of the whole class.
        """
        values = pl.Series([self.of_poems.get(name) for name in duplicates["poem_id"]], dtype=pl.String)
        parted = duplicates.with_columns(value=values)
        return parted.with_columns(class_id=pl.col("poem_id").min().over("class_id", "value")).drop("value")

    def reachable(self, known: pl.DataFrame, duplicates: pl.DataFrame) -> pl.DataFrame:
        """The rows of QRELS with poems that their query can find: the poem itself, or copies of the query's value.

        Args:
            known: QRELS.
            duplicates: the DUPLICATES of the corpus, whose classes are not parted.
        """
        class_of = duplicates.select("poem_id", "class_id")
        named = known.join(class_of, on="poem_id", how="left").with_columns(pl.coalesce("class_id", "poem_id"))
        copies = named.select("query_id", "class_id", "grade").join(class_of, on="class_id")
        rows = pl.concat([known, copies.select(known.columns)])
        asked = [self.of_queries.get(name) for name in rows["query_id"]]
        found = [self.of_poems.get(name) for name in rows["poem_id"]]
        same = [a is not None and a == b for a, b in zip(asked, found, strict=True)]
        kept = rows.filter(pl.Series(same, dtype=pl.Boolean))
        return kept.group_by("query_id", "poem_id").agg(pl.col("grade").max()).sort("query_id", "poem_id")


def read_reach(within: str | None, files: Sequence[str]) -> Reach | None:
    """The ``Reach`` of queries that are searched within an attribute; None where they are searched among all poems.

    Args:
        within: the attribute.
        files: POEMS and ATTRIBUTES of the corpus, and QUERY_ATTRIBUTES of the query set.

    Raises:
        UserError: a file cannot be read.
    """
    if not within:
        return None
    poems, attributes, of_queries = files
    values = poem_values(read_table(poems, POEMS), read_table(attributes, ATTRIBUTES), within)
    told = read_table(of_queries, QUERY_ATTRIBUTES).filter(pl.col("attribute") == within)
    return Reach(values, dict(told.select("query_id", "value").iter_rows()))
