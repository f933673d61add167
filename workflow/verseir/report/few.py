"""Where few queries are independent of each other: what tests and intervals then rest on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from verseir.analyses.clusters import cluster_kind, clusters_of
from verseir.formats import count, listing, p_value
from verseir.orders import mode_order
from verseir.report.spoken import idiom_sets, set_order, shown_sets
from verseir.tables import PER_QUERY, QRELS, QUERIES, read_table

#: From so many independent queries on nothing is said.
ENOUGH = 20
#: What a test is read against.
ALPHA = 0.05

#: How many are independent, what they are called (one, many), and how many queries they are.
Resting = tuple[int, str, str, int]


def few_clusters(per_query: Path, queries: Sequence[Path], study: Mapping[str, Any]) -> list[str]:
    """In one sentence each: query sets that rest on fewer than ``ENOUGH`` clusters, or on fewer independent queries.

    Args:
        per_query: the PER_QUERY table: which queries were measured.
        queries: QUERIES files of the query sets; their QRELS lie beside them.
        study: the spec.

    Raises:
        UserError: a file is absent or breaks its contract.
    """
    shown, order, idioms = shown_sets(study), set_order(study), idiom_sets(study)
    files = {path.stem: path for path in queries if path.stem in shown}
    keys = ["corpus", "query_set", "mode", "query_id"]
    measured = read_table(per_query, PER_QUERY).select(keys).filter(pl.col("query_set").is_in(sorted(files))).unique()
    resting: dict[tuple[str, str], dict[str, Resting]] = {}
    asked: dict[str, tuple[pl.DataFrame, pl.DataFrame]] = {}
    for (corpus, query_set, mode), part in sorted(measured.partition_by(keys[:3], as_dict=True).items()):
        path = files[query_set]
        if query_set not in asked:
            qrels = read_table(path.with_name(f"{path.stem}.qrels.parquet"), QRELS)
            asked[query_set] = read_table(path, QUERIES), qrels
        ids = part["query_id"].sort().to_list()
        found = _resting(ids, *asked[query_set], query_set in idioms)
        resting.setdefault((corpus, query_set), {})[mode] = found
    told: dict[tuple[str, Resting], list[str]] = {}
    for (corpus, query_set), modes in sorted(resting.items(), key=lambda item: (item[0][0], order(item[0][1]))):
        for found in sorted(set(modes.values())):
            if found[0] < ENOUGH:
                own = sorted((mode for mode in modes if modes[mode] == found), key=mode_order)
                where = "" if len(own) == len(modes) else f" in {'mode' if len(own) == 1 else 'modes'} {listing(own)}"
                told.setdefault((corpus, found), []).append(query_set + where)
    return [_said(corpus, found, sets, study["flips"]) for (corpus, found), sets in told.items()]


def _resting(ids: list[str], queries: pl.DataFrame, qrels: pl.DataFrame, idioms: bool) -> Resting:
    clusters = clusters_of(ids, queries, qrels)
    if clusters is None:
        return len(ids), "independent query", "independent queries", len(ids)
    named = cluster_kind(queries) == "cluster"
    one = ("idiom" if idioms else "cluster") if named else "poem that is asked for"
    many = "poems that are asked for" if one.startswith("poem") else f"{one}s"
    return len(np.unique(clusters)), one, many, len(ids)


def _said(corpus: str, found: Resting, sets: Sequence[str], flips: int) -> str:
    n, one, many, n_queries = found
    # As ``stats.permutation`` does: all flips where they are no more than asked for, else random ones.
    exact = 2**n <= flips
    smallest = 2 / 2**n if exact else 1 / (1 + flips)
    how = f"2/2^{n}" if exact else f"1/{1 + flips:,}"
    of = "" if n == n_queries else f" ({count(n_queries, 'query', 'queries')})"
    each = " each" if len(sets) > 1 else ""
    vain = f", so that none can fall below {ALPHA:g}" if smallest >= ALPHA else ""
    return (
        f"Tests and intervals of {listing(sets)} on {corpus} rest on {count(n, one, many)}"
        f"{of}{each}; the smallest p that a sign-flip test of them can give is {how} = {p_value(smallest)}{vain}, and "
        "intervals from so few are rough."
    )
