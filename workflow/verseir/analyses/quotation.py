"""How much does a system lose when the query quotes nothing? Outcomes of quoting and other queries, and their slopes.

A query quotes at threshold t when at least t of its tokens in a row stand in the verses of its target. The quotation
slope of a system is its mean on quoting queries less its mean on the others.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verseir.analyses.clusters import no_interval
from verseir.analyses.paired import (
    FLAT,
    TESTED,
    Cell,
    Draws,
    cells,
    compare_columns,
    left_out,
    notes,
    pairs_of,
    tested,
    tidy,
)
from verseir.stats.bootstrap import bootstrap_means
from verseir.stats.strata import two_strata
from verseir.tables import define

QUOTING, NOT_QUOTING = "quoting", "not quoting"

QUOTATION = define(
    "quotation",
    {
        "corpus": pl.String,
        "query_set": pl.String,
        "mode": pl.String,
        "threshold": pl.Int64,
        "stratum": pl.String,
        "system": pl.String,
        "measure": pl.String,
        "n_queries": pl.Int64,
        "mean": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "note": pl.String,
    },
    nullable="mean ci_low ci_high note",
    unique="corpus query_set mode threshold stratum system measure",
)
QUOTATION_SLOPES = define(
    "quotation_slopes",
    {
        "family": pl.String,
        "corpus": pl.String,
        "query_set": pl.String,
        "mode": pl.String,
        "threshold": pl.Int64,
        "measure": pl.String,
        "a": pl.String,
        "b": pl.String,
        "n_quoting": pl.Int64,
        "n_not_quoting": pl.Int64,
        **TESTED,
        "p_permutation": pl.Float64,
        "note": pl.String,
    },
    nullable="b estimate ci_low ci_high p p_holm p_permutation note",
    unique="family a b",
)
QUOTATION_PAIRS = define(
    "quotation_pairs",
    {
        "family": pl.String,
        "corpus": pl.String,
        "query_set": pl.String,
        "mode": pl.String,
        "threshold": pl.Int64,
        "stratum": pl.String,
        "a": pl.String,
        "b": pl.String,
        "measure": pl.String,
        "n": pl.Int64,
        **TESTED,
        "p_t": pl.Float64,
        "note": pl.String,
    },
    nullable="estimate ci_low ci_high p p_holm p_t note",
    unique="family a b",
)

#: One compared pair of a cell: mode, measure, system a, system b, note.
Compared = tuple[str, str, str, str, str]


def runs_of(cell: Cell, wording: pl.DataFrame) -> NDArray[np.float64]:
    """The longest shared run of each query of a cell with its target, float64 [n]; NaN where it has no target."""
    here = wording.filter(pl.col("corpus") == cell.corpus, pl.col("query_set") == cell.query_set)
    known = dict(here.select("query_id", "longest_run").iter_rows())
    return np.array([known.get(query, math.nan) for query in cell.query_ids], dtype=np.float64)


def quotation(
    per_query: pl.DataFrame,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    wording: pl.DataFrame,
    thresholds: Sequence[int],
    measures: Sequence[str],
    lexical: Collection[str],
    fusions: Collection[str],
    draws: Draws,
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """The tables QUOTATION, QUOTATION_SLOPES and QUOTATION_PAIRS.

    Slopes of pairs are tested on the differences of the two systems on the same query, between the strata: Welch's t
    with the studentised permutation beside it, or cluster-robust where queries share a poem. Queries without a target
    in the corpus are left out.

    Args:
        per_query: a PER_QUERY table.
        queries: the QUERIES of the query sets to stratify.
        qrels: their QRELS, with a column ``query_set``.
        wording: the WORDING rows of these sets in all corpora.
        thresholds: of the longest shared run, in tokens.
        measures: as named in ``per_query``.
        lexical: systems that match words: each is compared with every other.
        fusions: systems that fuse others: they get slopes, no pairs.
        draws: resamples, flips and seed.
    """
    means: list[dict[str, Any]] = []
    slopes: list[dict[str, Any]] = []
    pairs: list[dict[str, Any]] = []
    for cell in cells(per_query, queries, qrels, measures):
        runs = runs_of(cell, wording)
        known = ~np.isnan(runs)
        inside, runs = cell.rows(known), runs[known]
        left = left_out(int((~known).sum()))
        compared = _compared(cell, lexical, fusions)
        for threshold in sorted(set(thresholds)):
            quoting = runs >= threshold
            slopes += _slopes(inside, quoting, threshold, compared, draws, left)
            for stratum, chosen in ((QUOTING, quoting), (NOT_QUOTING, ~quoting)):
                part = inside.rows(chosen)
                at = {"threshold": threshold, "stratum": stratum}
                none = none_in(stratum, len(runs))
                means += _means(part, at, none, draws, left)
                pairs += _pairs(part, at, none, compared, draws, left)
    frame = tidy(pl.DataFrame(means, schema=dict(QUOTATION.columns)))
    place = ["corpus", "query_set", "mode", "threshold"]
    return (
        frame.sort([*place, "measure", "system", "stratum"]),
        tested(slopes, QUOTATION_SLOPES, [*place, "measure", "family", "a", "b"]),
        tested(pairs, QUOTATION_PAIRS, [*place, "stratum", "measure", "a", "b"]),
    )


def _compared(cell: Cell, lexical: Collection[str], fusions: Collection[str]) -> list[Compared]:
    return [
        (mode, measure, pair.a, pair.b, pair.note)
        for mode in cell.modes()
        for measure in cell.measures()
        for pair in pairs_of(cell, mode, measure, lexical, fusions)
    ]


def sides(cell: Cell, compared: Sequence[Compared]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The outcomes float64 [n, p] of the systems a and of the systems b of the pairs."""
    first = [cell.columns[mode, a, measure] for mode, measure, a, _, _ in compared]
    second = [cell.columns[mode, b, measure] for mode, measure, _, b, _ in compared]
    return cell.values[:, first], cell.values[:, second]


def none_in(stratum: str, n_known: int) -> str:
    """Why nothing is estimable in a stratum without a query, of ``n_known`` queries that have a target."""
    if not n_known:
        return "not estimable: no query has a target in this corpus"
    return f"not estimable: {'no' if stratum == QUOTING else 'every'} query quotes"


def _means(cell: Cell, at: dict[str, Any], none: str, draws: Draws, left: str) -> Iterator[dict[str, Any]]:
    n = len(cell.query_ids)
    keys = sorted(cell.columns)
    values = cell.values[:, [cell.columns[key] for key in keys]]
    nothing = np.full(len(keys), math.nan)
    mean, low, high = nothing, nothing, nothing
    if n:
        mean, low, high = bootstrap_means(values, cell.clusters, draws.resamples, draws.seed)
    for j, (mode, system, measure) in enumerate(keys):
        why = ""
        if not n:
            why = none
        elif math.isnan(low[j]):
            why = no_interval(n, cell.clusters)
        yield {
            "corpus": cell.corpus,
            "query_set": cell.query_set,
            "mode": mode,
            **at,
            "system": system,
            "measure": measure,
            "n_queries": n,
            "mean": float(mean[j]),
            "ci_low": float(low[j]),
            "ci_high": float(high[j]),
            "note": notes(why, left),
        }


def _slopes(
    cell: Cell, quoting: NDArray[np.bool_], threshold: int, compared: list[Compared], draws: Draws, left: str
) -> Iterator[dict[str, Any]]:
    keys = sorted(cell.columns)
    single: list[tuple[str, str, str, str | None, str]] = [
        (mode, measure, system, None, "") for mode, system, measure in keys
    ]
    a, b = sides(cell, compared)
    values = np.concatenate([cell.values[:, [cell.columns[key] for key in keys]], a - b], axis=1)
    found = two_strata(values, quoting, cell.clusters, *draws)
    n_quoting, n_not = int(quoting.sum()), int((~quoting).sum())
    for j, (mode, measure, first, second, choice) in enumerate([*single, *compared]):
        place = f"{cell.corpus}/{cell.query_set}/{mode}/{threshold}/{measure}"
        why = stratum_note(values[:, j], quoting, found.p[j], found.low[j])
        yield {
            "family": f"{'quotation-slope' if second is None else 'quotation-slope-difference'}/{place}",
            "corpus": cell.corpus,
            "query_set": cell.query_set,
            "mode": mode,
            "threshold": threshold,
            "measure": measure,
            "a": first,
            "b": second,
            "n_quoting": n_quoting,
            "n_not_quoting": n_not,
            "estimate": float(found.estimate[j]),
            "ci_low": float(found.low[j]),
            "ci_high": float(found.high[j]),
            "test": "none" if math.isnan(found.p[j]) else found.test,
            "p": float(found.p[j]),
            "p_permutation": float(found.p_permutation[j]),
            "note": notes(why, choice, left),
        }


def stratum_note(values: NDArray[np.float64], quoting: NDArray[np.bool_], p: float, low: float) -> str:
    """Why a comparison of quoting queries with the others gave no p, or no interval; empty where it gave both.

    ``values`` float64 [n], ``quoting`` bool [n].
    """
    if not math.isnan(p):
        return FLAT if math.isnan(low) else ""
    for stratum, chosen in ((QUOTING, quoting), (NOT_QUOTING, ~quoting)):
        if not chosen.any():
            return none_in(stratum, len(quoting))
    for stratum, chosen in ((QUOTING, quoting), (NOT_QUOTING, ~quoting)):
        if chosen.sum() < 2:
            return f"not estimable: only one query {'quotes' if stratum == QUOTING else 'does not quote'}"
    if max(np.ptp(values[quoting]), np.ptp(values[~quoting])) < 1e-12:
        return "not estimable: the outcome does not vary within the strata"
    return "not estimable: the queries of a stratum share one poem"


def _pairs(
    cell: Cell, at: dict[str, Any], none: str, compared: list[Compared], draws: Draws, left: str
) -> Iterator[dict[str, Any]]:
    outcomes = compare_columns(*sides(cell, compared), cell.clusters, draws, kind=cell.kind)
    for (mode, measure, a, b, choice), outcome in zip(compared, outcomes, strict=True):
        place = f"{cell.corpus}/{cell.query_set}/{mode}/{at['threshold']}/{at['stratum']}/{measure}"
        why = outcome.note if cell.query_ids else none
        yield {
            "family": f"quotation-pairs/{place}",
            "corpus": cell.corpus,
            "query_set": cell.query_set,
            "mode": mode,
            **at,
            "measure": measure,
            "a": a,
            "b": b,
            "n": len(cell.query_ids),
            **outcome._asdict(),
            "note": notes(why, choice, left),
        }
