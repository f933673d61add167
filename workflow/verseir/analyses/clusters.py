"""Which queries are not independent of each other."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray


def clusters_of(query_ids: list[str], queries: pl.DataFrame, qrels: pl.DataFrame) -> NDArray[np.int64] | None:
    """The cluster of each query, int64 [n], or None where each query is its own.

    Where any query of ``queries`` names its cluster (the column ``cluster``), the names decide, and a query without
    one stands for itself. Else queries that ask for the same poem, or for the same poems and no others, belong
    together; themes that have some poems in common and others not stand each for itself. Either way an edited query
    belongs to its original.
    """
    source = dict(queries.select("query_id", "source_query_id").iter_rows())
    if cluster_kind(queries) == "cluster":
        named = dict(queries.filter(pl.col("cluster").is_not_null()).select("query_id", "cluster").iter_rows())
        kind, target_of = "cluster", named
    else:
        relevant = qrels.filter(pl.col("grade") > 0).group_by("query_id").agg(pl.col("poem_id").sort())
        kind, target_of = "poem", {query: "\t".join(poems) for query, poems in relevant.iter_rows()}
    names = []
    for query in query_ids:
        original = source.get(query) or query
        target = target_of.get(original, target_of.get(query))
        names.append((kind, target) if target else ("query", original))
    numbers = {name: number for number, name in enumerate(sorted(set(names)))}
    if len(numbers) == len(query_ids):
        return None
    return np.array([numbers[name] for name in names], dtype=np.int64)


def cluster_kind(queries: pl.DataFrame) -> str:
    """What the clusters of ``clusters_of`` are: ``cluster`` where a query names one, else ``poem``."""
    named = "cluster" in queries.columns and queries["cluster"].null_count() < len(queries)
    return "cluster" if named else "poem"


def no_interval(n: int, clusters: NDArray[np.int64] | None) -> str:
    """Why ``bootstrap_means`` gives no interval for the mean of the values of ``n`` queries."""
    few = n < 2 or (clusters is not None and len(np.unique(clusters)) < 2)
    alike = "every query scores alike" if clusters is None else "every cluster of queries scores alike"
    return f"interval not estimable: {'fewer than two independent queries' if few else alike}"
