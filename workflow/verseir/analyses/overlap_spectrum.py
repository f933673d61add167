"""How much of the wording of their targets do the queries of each set carry?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verseir.analyses.clusters import clusters_of
from verseir.stats.bootstrap import bootstrap_means
from verseir.tables import define

#: ``mode`` is null where the verses are compared, else the text that is indexed in that mode.
OVERLAP_SPECTRUM = define(
    "overlap_spectrum",
    {
        "corpus": pl.String,
        "query_set": pl.String,
        "register": pl.String,
        "mode": pl.String,
        "quantity": pl.String,
        "n_queries": pl.Int64,
        "mean": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "note": pl.String,
    },
    nullable="mode ci_low ci_high note",
    unique="corpus query_set register mode quantity",
)

#: Quantities that are no proportions.
UNBOUNDED = ("mean longest run", "mean proximity")

#: The name of the stratum of all queries of a set.
ALL = "all"


def overlap_spectrum(
    wording: pl.DataFrame,
    indexed: pl.DataFrame,
    proximity: pl.DataFrame,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    thresholds: Sequence[int],
    resamples: int,
    seed: int,
) -> pl.DataFrame:
    """The OVERLAP_SPECTRUM table: means over the queries that have a target, of each set and each register in it.

    Intervals are those of ``bootstrap_means``, over queries, or over poems where queries share one.

    Args:
        wording, indexed, proximity: WORDING, INDEXED and PROXIMITY tables (see ``verseir.overlap``), any may be empty.
        queries: the QUERIES of all query sets.
        qrels: the QRELS of all query sets, with a column ``query_set``.
        thresholds: numbers of tokens in a row whose sharing is counted.
        resamples: bootstrap resamples.
        seed: of the bootstrap.
    """
    values = _long(wording, indexed, proximity, thresholds)
    values = values.join(queries.select("query_set", "query_id", "register"), on=["query_set", "query_id"])
    rows = []
    for key, cell in sorted(values.group_by("corpus", "query_set"), key=lambda item: item[0]):
        inside = pl.col("query_set") == key[1]
        registers = [ALL, *sorted(set(cell["register"].drop_nulls()) - {ALL})]
        for register in registers:
            part = cell if register == ALL else cell.filter(pl.col("register") == register)
            rows += [
                (*key, register, *row)
                for row in _means(part, queries.filter(inside), qrels.filter(inside), resamples, seed)
            ]
    frame = pl.DataFrame(rows, schema=dict(OVERLAP_SPECTRUM.columns), orient="row")
    return frame.sort("corpus", "query_set", "register", "mode", "quantity")


def no_interval(values: NDArray[np.float64], clusters: NDArray[np.int64] | None) -> str:
    """Why ``bootstrap_means`` gives no interval for the mean of ``values`` [n]."""
    if len(values if clusters is None else np.unique(clusters)) < 2:
        return "not estimable: fewer than two independent queries"
    return f"not estimable: the values do not vary between {'queries' if clusters is None else 'poems'}"


def _long(
    wording: pl.DataFrame, indexed: pl.DataFrame, proximity: pl.DataFrame, thresholds: Sequence[int]
) -> pl.DataFrame:
    """One row for each query and quantity."""
    run, share = pl.col("longest_run"), pl.col("containment")
    quantities = {f"share with {n} tokens in a row": run >= n for n in sorted(set(thresholds))}
    quantities |= {"mean containment": share, "mean longest run": run}
    verses = wording.with_columns(mode=pl.lit(None, dtype=pl.String))
    wanted = [(verses, quantities), (indexed, {"mean containment": share, "mean longest run": run})]
    wanted.append((proximity, {"mean proximity": pl.col("proximity")}))
    names = ["corpus", "query_set", "mode", "query_id"]
    return pl.concat(
        frame.select(*names, pl.lit(quantity).alias("quantity"), value.cast(pl.Float64).alias("value"))
        for frame, chosen in wanted
        for quantity, value in chosen.items()
    )


def _means(
    cell: pl.DataFrame, queries: pl.DataFrame, qrels: pl.DataFrame, resamples: int, seed: int
) -> list[tuple[str | None, str, int, float, float | None, float | None, str | None]]:
    """Mode, quantity, number of queries, mean, interval and note of each quantity of one stratum."""
    columns = {
        key: part.sort("query_id")
        for key, part in cell.group_by("mode", "quantity")  # the order does not matter: rows are sorted in the end
    }
    together: dict[tuple[str, ...], list[tuple]] = {}  # quantities of the same queries share their resamples
    for key, part in columns.items():
        together.setdefault(tuple(part["query_id"]), []).append(key)
    rows = []
    for query_ids, keys in together.items():
        clusters = clusters_of(list(query_ids), queries, qrels)
        matrix = np.column_stack([columns[key]["value"].to_numpy() for key in keys])
        mean, low, high = bootstrap_means(matrix, clusters, resamples, seed)
        for j, (mode, quantity) in enumerate(keys):
            # the interval of a constant column is one of a proportion: it says nothing of lengths and cosines
            proportion = quantity not in UNBOUNDED or np.ptp(matrix[:, j]) > 0
            known = proportion and not np.isnan(low[j])
            ends = (float(low[j]), float(high[j]), None) if known else (None, None, no_interval(matrix[:, j], clusters))
            rows.append((mode, quantity, len(query_ids), float(mean[j]), *ends))
    return rows
