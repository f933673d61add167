"""How much of the wording of the poems that are judged for them do queries carry, by language and grade?"""

from __future__ import annotations

import numpy as np
import polars as pl

from verseir.analyses.paired import tidy
from verseir.analyses.shared_pairs import ALL, LANGUAGE, PairSet, no_interval, pair_sets, stacked, values_of
from verseir.measures import RELEVANT
from verseir.stats.ratios import bootstrap_ratios
from verseir.tables import define

SHARED_WORDING = define(
    "shared_wording",
    {
        "corpus": pl.String,
        "query_set": pl.String,
        "mode": pl.String,
        "attribute": pl.String,
        "value": pl.String,
        "grade": pl.String,
        "n_pairs": pl.Int64,
        "n_queries": pl.Int64,
        "containment": pl.Float64,
        "containment_low": pl.Float64,
        "containment_high": pl.Float64,
        "shares_none": pl.Float64,
        "none_low": pl.Float64,
        "none_high": pl.Float64,
        "longest_run": pl.Float64,
        "proximity": pl.Float64,
        "proximity_low": pl.Float64,
        "proximity_high": pl.Float64,
        "note": pl.String,
    },
    nullable="containment_low containment_high none_low none_high proximity proximity_low proximity_high note",
    unique="corpus query_set mode attribute value grade",
)
#: The name of all grades of relevant poems.
ANY = "relevant"


def shared_wording(
    shared: pl.DataFrame, queries: pl.DataFrame, qrels: pl.DataFrame, resamples: int, seed: int
) -> pl.DataFrame:
    """The SHARED_WORDING table: means over judged pairs, of all, of each language of the poem, and by script.

    ``grade`` is each grade, and ``relevant`` for all from 1. ``shares_none`` is the share of pairs without a common
    token, ``longest_run`` a mean of tokens. Intervals are bootstrapped over queries, or clusters of them; queries
    without an indexed relevant poem are left out.

    Args:
        shared: SHARED rows.
        queries: the QUERIES of their query sets.
        qrels: their QRELS, with a column ``query_set``.
        resamples: bootstrap resamples.
        seed: of the bootstrap.
    """
    rows: list[dict] = []
    for one in pair_sets(shared, queries, qrels):
        rows += _rows(one, resamples, seed)
    frame = pl.DataFrame(rows, schema=dict(SHARED_WORDING.columns))
    return tidy(frame).sort(SHARED_WORDING.unique)


def _rows(one: PairSet, resamples: int, seed: int) -> list[dict]:
    pairs = one.pairs
    query, grade = pairs["query"].to_numpy(), pairs["grade"].to_numpy()
    grades = [(str(name), grade == name) for name in np.unique(grade)] + [(ANY, grade >= RELEVANT)]
    cells = [(*place, name, mask & kept) for *place, mask in values_of(pairs) for name, kept in grades]
    cells = [cell for cell in cells if cell[-1].any()]
    near = pairs["proximity"].fill_null(np.nan).to_numpy()
    quantities = [pairs["containment"].to_numpy(), (pairs["n_shared"] == 0).cast(pl.Float64).to_numpy(), near]
    tops, bottoms = [], []
    for *_, mask in cells:
        for values in quantities:
            known = mask & ~np.isnan(values)
            tops.append(one.sums(query[known], values[known]))
            bottoms.append(one.sums(query[known], np.ones(int(known.sum()))))
    n = len(one.query_ids)
    top, bottom = stacked(tops, n), stacked(bottoms, n)
    proportions = np.tile([False, True, False], len(cells))
    found = bootstrap_ratios(top, bottom, one.clusters, resamples, seed, proportions)
    runs = pairs["longest_run"].to_numpy()
    rows = []
    for i, (attribute, value, name, mask) in enumerate(cells):
        at = [3 * i, 3 * i + 1, 3 * i + 2]
        ends = [(found.estimate[j], found.low[j], found.high[j]) for j in at]
        low = [found.low[j] for j in at if bottom[:, j].any()]
        rows.append(
            {"corpus": one.corpus, "query_set": one.query_set, "mode": one.mode}
            | {"attribute": attribute, "value": value, "grade": name}
            | {"n_pairs": int(mask.sum()), "n_queries": int((bottom[:, at[0]] > 0).sum())}
            | dict(zip(("containment", "containment_low", "containment_high"), ends[0], strict=True))
            | dict(zip(("shares_none", "none_low", "none_high"), ends[1], strict=True))
            | dict(zip(("proximity", "proximity_low", "proximity_high"), ends[2], strict=True))
            | {"longest_run": float(runs[mask].mean())}
            | {"note": no_interval(bottom[:, at[0]], one.clusters) if np.isnan(low).any() else None}
        )
    return rows


__all__ = ["ALL", "ANY", "LANGUAGE", "SHARED_WORDING", "shared_wording"]
