"""Which queries are not independent of each other."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray


def clusters_of(query_ids: list[str], queries: pl.DataFrame, qrels: pl.DataFrame) -> NDArray[np.int64] | None:
    """The cluster of each query, int64 [n], or None where each query is its own.

    Queries that ask for the same poem, or for the same poems and no others, belong together, and an edited query
    belongs to its original. Themes that have some poems in common and others not stand each for itself.
    """
    relevant = qrels.filter(pl.col("grade") > 0).group_by("query_id").agg(pl.col("poem_id").sort())
    gold = {query: "\t".join(poems) for query, poems in relevant.iter_rows()}
    source = dict(queries.select("query_id", "source_query_id").iter_rows())
    names = []
    for query in query_ids:
        original = source.get(query) or query
        target = gold.get(original, gold.get(query))
        names.append(("poem", target) if target else ("query", original))
    numbers = {name: number for number, name in enumerate(sorted(set(names)))}
    if len(numbers) == len(query_ids):
        return None
    return np.array([numbers[name] for name in names], dtype=np.int64)


def no_interval(n: int, clusters: NDArray[np.int64] | None) -> str:
    """Why ``bootstrap_means`` gives no interval for the mean of the values of ``n`` queries."""
    few = n < 2 or (clusters is not None and len(np.unique(clusters)) < 2)
    return f"interval not estimable: {'fewer than two independent queries' if few else 'every query scores alike'}"
