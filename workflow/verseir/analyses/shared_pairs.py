"""Judged pairs of queries and poems by language, grade and shared words: what the analyses of wording count over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verseir.analyses.clusters import clusters_of
from verseir.faults import UserError
from verseir.measures import RELEVANT
from verseir.shared import SHARED
from verseir.tables import read_table

ALL = "all"
#: The language of a poem whose corpus does not say.
UNKNOWN = "unknown"
LANGUAGE, SCRIPT = "language", "script"
SAME, OTHER = "same as the query", "other than the query"
SHARES, NONE = "shares a word", "shares none"
FEW = "interval not estimable: fewer than two independent queries"
FLAT = "interval not estimable: all queries are alike"

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class PairSet:
    """The judged pairs of one query set in one corpus.

    ``pairs`` are SHARED rows sorted by query and poem, with ``query``, the place of the query in ``query_ids`` (sorted:
    those with an indexed relevant poem), and no null language. ``clusters`` int64 [q] is None where all queries are
    independent.
    """

    corpus: str
    mode: str
    query_set: str
    query_ids: list[str]
    pairs: pl.DataFrame
    clusters: NDArray[np.int64] | None

    @property
    def relevant(self) -> pl.DataFrame:
        """The pairs of relevant poems."""
        return self.pairs.filter(pl.col("grade") >= RELEVANT)

    def sums(self, query: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """``values`` [p] of pairs added up for each query, float64 [q]."""
        return np.bincount(query, values, minlength=len(self.query_ids)).astype(np.float64)


def read_shared(paths: Iterable[str]) -> pl.DataFrame:
    """SHARED tables of several query sets, in one."""
    return pl.concat([pl.DataFrame(schema=dict(SHARED.columns)), *(read_table(path, SHARED) for path in sorted(paths))])


def pair_sets(shared: pl.DataFrame, queries: pl.DataFrame, qrels: pl.DataFrame) -> Iterator[PairSet]:
    """The ``PairSet`` of each query set in each corpus, in a fixed order.

    Args:
        shared: SHARED rows.
        queries: the QUERIES of their query sets.
        qrels: their QRELS, with a column ``query_set``.
    """
    parts = shared.partition_by("corpus", "query_set", "mode", as_dict=True)
    for (corpus, query_set, mode), part in sorted(parts.items()):
        inside = pl.col("query_set") == query_set
        relevant = part.filter(pl.col("grade") >= RELEVANT)
        names = relevant["query_id"].unique().sort().to_list()
        place = pl.DataFrame({"query_id": pl.Series(names, dtype=pl.String)}).with_row_index("query")
        pairs = part.join(place.with_columns(pl.col("query").cast(pl.Int64)), on="query_id").sort("query_id", "poem_id")
        pairs = pairs.with_columns(pl.col("language").fill_null(UNKNOWN))
        clusters = clusters_of(names, queries.filter(inside), qrels.filter(inside))
        yield PairSet(str(corpus), str(mode), str(query_set), names, pairs, clusters)


def values_of(pairs: pl.DataFrame) -> list[tuple[str, str, Mask]]:
    """Attribute, value, and which of ``pairs`` have it: all; each language, and each script against the query's, where
    there are two."""
    found = [(ALL, ALL, np.ones(len(pairs), dtype=bool))]
    language = pairs[LANGUAGE]
    if language.n_unique() > 1:
        found += [(LANGUAGE, name, (language == name).to_numpy()) for name in language.unique().sort()]
    same = pairs["same_script"].fill_null(False).to_numpy()
    if same.any() and not same.all():
        found += [(SCRIPT, SAME, same), (SCRIPT, OTHER, ~same)]
    return found


def first_places(path: Path, k: int) -> pl.DataFrame:
    """query_id and poem_id of the first ``k`` places of a run: a long list is not read to its end.

    Raises:
        UserError: the run is missing or damaged.
    """
    if not path.exists():
        raise UserError(f"{path} does not exist", hint="it is made by the workflow: run snakemake first")
    try:
        return pl.scan_parquet(path).filter(pl.col("rank") <= k).select("query_id", "poem_id").collect()
    except pl.exceptions.PolarsError as error:
        hint = "it is damaged: remove it and run again"
        raise UserError(f"{path} cannot be read as a 'run' table: {error}", hint) from error


def found_in(pairs: pl.DataFrame, first: pl.DataFrame) -> Mask:
    """Which of ``pairs`` are among the ``first_places``, bool [p]."""
    seen = first.with_columns(found=True)
    joined = pairs.select("query_id", "poem_id").join(
        seen, on=["query_id", "poem_id"], how="left", maintain_order="left"
    )
    return joined["found"].fill_null(False).to_numpy()


def stacked(columns: Sequence[NDArray[np.float64]], n: int) -> NDArray[np.float64]:
    """Columns [n] side by side, float64 [n, m]; [n, 0] where there is none."""
    return np.column_stack(columns) if columns else np.zeros((n, 0))


def no_interval(denominator: NDArray[np.float64], clusters: NDArray[np.int64] | None) -> str:
    """Why a ratio has no interval, from what each query adds to its denominator, [q]."""
    counted = denominator > 0
    independent = counted.sum() if clusters is None else len(np.unique(clusters[counted]))
    return FEW if independent < 2 else FLAT
