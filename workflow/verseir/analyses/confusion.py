"""What stands in the top R: the meaning that was asked for, the other use of the same idiom, or another idiom?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verseir.analyses.idioms import Cell, estimates, read_runs
from verseir.analyses.paired import notes
from verseir.faults import UserError
from verseir.measures import RELEVANT
from verseir.queries.idioms import RELEVANT as RELEVANT_USES
from verseir.tables import define

CONFUSION = define(
    "confusion",
    {
        "corpus": pl.String,
        "query_set": pl.String,
        "mode": pl.String,
        "system": pl.String,
        "usage": pl.String,
        "idiom": pl.String,
        "found": pl.String,
        "relevant": pl.Boolean,
        "n_queries": pl.Int64,
        "share": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "note": pl.String,
    },
    nullable="found share ci_low ci_high note",
    unique="corpus query_set mode system usage idiom found",
)

#: Whose idiom a document is about; ``none`` where a list ends before R.
IDIOMS = ("same", "other")
NONE = "none"


def confusions(results: str | Path, cross: Mapping[str, Any], resamples: int, seed: int) -> pl.DataFrame:
    """The CONFUSION table: of the first R places of each list, the mean share that each kind of document holds.

    R is the number of indexed documents that are relevant to the query, so the shares of the relevant kinds add up to
    its R-precision, and all shares to 1. All places of a query without a relevant document count as empty.

    Args:
        results: the folder of a study.
        cross: what is crossed with what, as ``layout.runs`` takes it: query sets with idioms alone.
        resamples: bootstrap resamples.
        seed: of the bootstrap.
    """
    rows: list[tuple] = []
    for cell, ranked in read_runs(results, cross):
        found = sorted(cell.documents["usage"].unique())
        kinds = [(idiom, usage) for idiom in IDIOMS for usage in found] + [(NONE, None)]
        systems, blocks = [], []
        for system, run in ranked:
            systems.append(system)
            blocks.append(top_shares(run, cell, found, system))
        n_relevant = _n_relevant(cell)
        for usage, inside in cell.by_usage():
            ids = cell.queries["query_id"].gather(inside).to_list()
            values = np.concatenate([block[inside] for block in blocks], axis=1)
            empty = _without(int((n_relevant[inside] == 0).sum()), len(ids))
            estimate = iter(estimates(values, cell.clusters(ids), resamples, seed))
            for system in systems:
                for idiom, other in kinds:
                    relevant = idiom == "same" and other in RELEVANT_USES.get(usage, ())
                    mean, low, high, note = next(estimate)
                    row = (len(ids), mean, low, high, notes(note or "", empty))
                    rows.append((*cell.name, system, usage, idiom, other, relevant, *row))
    frame = pl.DataFrame(rows, schema=dict(CONFUSION.columns), orient="row")
    return frame.sort("corpus", "query_set", "mode", "system", "usage", "idiom", "found")


def top_shares(run: pl.DataFrame, cell: Cell, found: list[str], system: str) -> NDArray[np.float64]:
    """Shares float64 [q, 2 u + 1] of the top R of each query of ``cell``, in the order of its queries.

    The columns are: of the same idiom and each use in ``found``, of another idiom and each use, and empty places.

    Raises:
        UserError: the run holds a document that is not indexed.
    """
    n, u = len(cell.queries), len(found)
    n_relevant = _n_relevant(cell)
    asked = cell.queries.select("query_id", asked="idiom", R=pl.Series(n_relevant)).with_row_index("query")
    top = run.select("query_id", "poem_id", "rank").join(asked, on="query_id").filter(pl.col("rank") <= pl.col("R"))
    top = top.join(cell.documents.select("poem_id", "idiom", "usage"), on="poem_id", how="left")
    unknown = top.filter(pl.col("usage").is_null())["poem_id"]
    if len(unknown):
        run_name = "/".join((cell.corpus, cell.mode, cell.query_set, system))
        raise UserError(
            f"the run {run_name} holds '{unknown.sort()[0]}', which this mode does not index",
            hint="it was made of another index: remove it and run again",
        )
    codes = {usage: code for code, usage in enumerate(found)}
    kind = top.select(
        pl.col("query").cast(pl.Int64) * (2 * u + 1)
        + (pl.col("idiom") != pl.col("asked")).cast(pl.Int64) * u
        + pl.col("usage").replace_strict(codes, return_dtype=pl.Int64)
    ).to_series()
    counts = np.bincount(kind.to_numpy(), minlength=n * (2 * u + 1)).reshape(n, 2 * u + 1).astype(np.float64)
    counts[:, -1] = np.where(n_relevant > 0, n_relevant - counts.sum(axis=1), 1)
    return counts / np.maximum(n_relevant, 1)[:, None]


def _n_relevant(cell: Cell) -> NDArray[np.int64]:
    """int64 [q]: how many documents are relevant to each query of ``cell``."""
    counts = cell.qrels.filter(pl.col("grade") >= RELEVANT).group_by("query_id").agg(R=pl.len().cast(pl.Int64))
    joined = cell.queries.select("query_id").join(counts, on="query_id", how="left", maintain_order="left")
    return joined["R"].fill_null(0).to_numpy()


def _without(n: int, n_all: int) -> str:
    return f"{n} of {n_all} queries have no relevant document here: all their places count as empty" if n else ""
