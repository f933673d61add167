"""Which systems are level? A statement with a margin, from a 90% interval of each difference."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verseir.analyses.paired import FLAT, TOO_FEW, Cell, cells, left_out, notes, pairs_of, tidy
from verseir.analyses.quotation import NOT_QUOTING, QUOTING, Compared, runs_of, sides
from verseir.stats.bootstrap import bootstrap_means
from verseir.stats.equivalence import LEVEL, Equivalence, paired_equivalence
from verseir.tables import define

ALL = "all"

EQUIVALENCE = define(
    "equivalence",
    {
        "corpus": pl.String,
        "query_set": pl.String,
        "mode": pl.String,
        "stratum": pl.String,
        "a": pl.String,
        "b": pl.String,
        "measure": pl.String,
        "n": pl.Int64,
        "estimate": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "margin": pl.Float64,
        "statement": pl.String,
        "note": pl.String,
    },
    nullable="estimate low high note",
    unique="corpus query_set mode stratum a b measure",
)


UNKNOWN = "cannot tell"
#: The interval of fewer queries is little more than their values, and is not relied on.
FEWEST = 10
TOO_SMALL = f"nothing is stated from fewer than {FEWEST} independent queries"


def statement(low: float, high: float, margin: float) -> str:
    """What a 90% interval says of two systems: two one-sided tests of 5% (Schuirmann, 1987)."""
    if -margin < low and high < margin:
        return f"level within {margin:g}"
    if low > margin or high < -margin:
        return f"different beyond {margin:g}"
    if low > 0 or high < 0:
        return f"different, whether beyond {margin:g} is open"
    return UNKNOWN


def equivalence(
    per_query: pl.DataFrame,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    wording: pl.DataFrame,
    threshold: int,
    margin: float,
    measures: Sequence[str],
    lexical: Collection[str],
    fusions: Collection[str],
    resamples: int,
    seed: int,
) -> pl.DataFrame:
    """The EQUIVALENCE table: each compared pair on all queries, on the quoting ones and on the others.

    Strata are stated where ``wording`` holds queries of the set. A large p of a test of difference says nothing of
    sameness; an interval inside the margin does.

    Args:
        per_query: a PER_QUERY table.
        queries: the QUERIES of the query sets in question.
        qrels: their QRELS, with a column ``query_set``.
        wording: the WORDING rows of these sets in all corpora.
        threshold: tokens in a row that make a query quoting.
        margin: differences below it do not matter.
        measures: as named in ``per_query``.
        lexical: systems that match words: each is compared with every other.
        fusions: systems that fuse others: they are not compared.
        resamples: bootstrap resamples.
        seed: of the bootstrap.
    """
    rows: list[dict[str, Any]] = []
    for cell in cells(per_query, queries, qrels, measures):
        compared = [
            (mode, measure, *pair)
            for mode in cell.modes()
            for measure in cell.measures()
            for pair in pairs_of(cell, mode, measure, lexical, fusions)
        ]
        runs = runs_of(cell, wording)
        known = ~np.isnan(runs)
        strata = [(ALL, np.ones(len(runs), dtype=bool), "")]
        if known.any():
            left = left_out(int((~known).sum()))
            strata += [(QUOTING, runs >= threshold, left), (NOT_QUOTING, runs < threshold, left)]
        for stratum, chosen, left in strata:
            for row, found in _stated(cell.rows(chosen), compared, margin, resamples, seed):
                rows.append(row | {"stratum": stratum, "margin": margin} | found | {"note": notes(row["note"], left)})
    order = ["corpus", "query_set", "mode", "stratum", "measure", "a", "b"]
    return tidy(pl.DataFrame(rows, schema=dict(EQUIVALENCE.columns))).sort(order)


def _stated(
    cell: Cell, compared: Sequence[Compared], margin: float, resamples: int, seed: int
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each compared pair: what identifies it, and what was found."""
    a, b = sides(cell, compared)
    found = intervals(a - b, cell.clusters, margin, resamples, seed)
    n = len(cell.query_ids)
    for (mode, measure, first, second, choice), (estimate, low, high) in zip(compared, found, strict=True):
        row = {"corpus": cell.corpus, "query_set": cell.query_set, "mode": mode, "a": first, "b": second}
        why = ""
        if math.isnan(low) or math.isnan(high):
            few = n < 2 or (cell.clusters is not None and len(np.unique(cell.clusters)) < 2)
            why = "not estimable: no query is in the stratum" if not n else TOO_FEW if few else FLAT
        said = {"n": n, "estimate": estimate, "low": low, "high": high, "statement": statement(low, high, margin)}
        independent = n if cell.clusters is None else len(np.unique(cell.clusters))
        if not why and independent < FEWEST:
            why, said["statement"] = TOO_SMALL, UNKNOWN
        yield row | {"measure": measure, "note": notes(why, choice) or ""}, said


def intervals(
    difference: NDArray[np.float64], clusters: NDArray[np.int64] | None, margin: float, resamples: int, seed: int
) -> list[Equivalence]:
    """``paired_equivalence`` of each column of ``difference`` float64 [n, m]; the columns share their resamples."""
    n, m = difference.shape
    graded = np.zeros(m, dtype=bool)
    if n and (clusters is None or len(np.unique(clusters)) > 1):
        binary = np.isin(difference, (-1.0, 0.0, 1.0)).all(axis=0)
        scored = binary & ((clusters is None) | ~difference.any(axis=0))
        graded = ~scored & (np.ptp(difference, axis=0) >= 1e-15)
    found = {}
    if graded.any():
        interval = bootstrap_means(difference[:, graded], clusters, resamples, seed, LEVEL)
        found = dict(zip(np.flatnonzero(graded).tolist(), zip(*interval, strict=True), strict=True))
    return [
        Equivalence(*map(float, found[j]))
        if j in found
        else paired_equivalence(difference[:, j], clusters, margin, resamples, seed)
        for j in range(m)
    ]
