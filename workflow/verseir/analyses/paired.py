"""Paired outcomes of many systems on the same queries, and the differences that are tested between them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verseir.analyses.clusters import cluster_kind, clusters_of
from verseir.analyses.contrasts import FLAT, NOTHING, Outcome
from verseir.stats.bootstrap import bootstrap_means, cluster_sums
from verseir.stats.holm import holm
from verseir.stats.mcnemar import mcnemar_exact, tango_interval
from verseir.stats.permutation import sign_flip
from verseir.tables import Table

#: Joins the names of a column; no name holds a tab.
TAB = "\t"
#: Differences of grades that are nearer to each other than this are the same.
ALIKE = 1e-9
TOO_FEW = "not estimable: fewer than two independent queries"
#: What every test in a table has.
TESTED = {
    "estimate": pl.Float64,
    "ci_low": pl.Float64,
    "ci_high": pl.Float64,
    "test": pl.String,
    "p": pl.Float64,
    "p_holm": pl.Float64,
    "family_size": pl.Int64,
}


class Draws(NamedTuple):
    """How much is drawn at random: bootstrap resamples, sign flips or relabellings, and the seed of both."""

    resamples: int
    flips: int
    seed: int


class Pair(NamedTuple):
    """Two systems to compare, ``a`` against ``b``, and what a reader must know of the choice."""

    a: str
    b: str
    note: str


@dataclass(frozen=True)
class Cell:
    """The outcomes of one query set in one corpus, in modes that measure the same queries.

    ``values`` float64 [n, m] are those of n queries in m columns.

    ``columns`` maps (mode, system, measure) to its column; ``clusters`` int64 [n] is None where all queries are
    independent; ``kind`` says what they are, see ``clusters.cluster_kind``.
    """

    corpus: str
    query_set: str
    query_ids: list[str]
    columns: Mapping[tuple[str, str, str], int]
    values: NDArray[np.float64]
    clusters: NDArray[np.int64] | None
    kind: str = "poem"

    def modes(self) -> list[str]:
        """The indexing modes, sorted."""
        return sorted({mode for mode, _, _ in self.columns})

    def systems(self, mode: str, measure: str) -> list[str]:
        """The systems with outcomes in ``mode`` by ``measure``, sorted."""
        return sorted({system for at, system, by in self.columns if (at, by) == (mode, measure)})

    def measures(self) -> list[str]:
        """The measures, sorted."""
        return sorted({measure for _, _, measure in self.columns})

    def of(self, mode: str, system: str, measure: str) -> NDArray[np.float64]:
        """The outcomes float64 [n] of one system."""
        return self.values[:, self.columns[mode, system, measure]]

    def rows(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> Cell:
        """The cell of some of its queries, by a mask bool [n] or by their indices."""
        ids = np.array(self.query_ids, dtype=object)[chosen].tolist()
        clusters = None if self.clusters is None else independent(self.clusters[chosen])
        return Cell(self.corpus, self.query_set, ids, self.columns, self.values[chosen], clusters, self.kind)


def independent(clusters: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """``clusters``, or None where each holds one query."""
    return None if len(np.unique(clusters)) == len(clusters) else clusters


def cells(
    per_query: pl.DataFrame, queries: pl.DataFrame, qrels: pl.DataFrame, measures: Collection[str]
) -> Iterator[Cell]:
    """Each query set in each corpus, in a fixed order, with the columns of ``measures``.

    Modes that keep some poems only may measure fewer queries: those of other queries are a cell of their own, so that
    no query counts as missed in an index that has no answer to it.

    Args:
        per_query: a PER_QUERY table.
        queries: the QUERIES of the query sets that are wanted; rows of ``per_query`` of other sets are passed over.
        qrels: their QRELS, with a column ``query_set``.
        measures: as named in ``per_query``.
    """
    wanted = per_query.filter(
        pl.col("measure").is_in(list(measures)), pl.col("query_set").is_in(queries["query_set"].unique().to_list())
    )
    for (corpus, query_set), part in sorted(wanted.group_by(["corpus", "query_set"]), key=lambda item: item[0]):
        inside = pl.col("query_set") == query_set
        asked, judged = queries.filter(inside), qrels.filter(inside)
        for same in _of_same_queries(part):
            named = same.with_columns(column=pl.concat_str("mode", "system", "measure", separator=TAB))
            wide = named.pivot("column", index="query_id", values="value", sort_columns=True).sort("query_id")
            ids = wide["query_id"].to_list()
            clusters = clusters_of(ids, asked, judged)
            keys = [(mode, system, measure) for mode, system, measure in (name.split(TAB) for name in wide.columns[1:])]
            # A system that found nothing for a query scores 0, as in all means.
            values = wide.drop("query_id").fill_null(0.0).to_numpy().astype(np.float64)
            columns = {key: j for j, key in enumerate(keys)}
            yield Cell(str(corpus), str(query_set), ids, columns, values, clusters, cluster_kind(asked))


def _of_same_queries(part: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The rows of the modes that measure the same queries, in the order of the first mode of each such group."""
    modes_of: dict[tuple[str, ...], list[str]] = {}
    for mode, ids in part.group_by("mode").agg(pl.col("query_id").unique().sort()).sort("mode").iter_rows():
        modes_of.setdefault(tuple(ids), []).append(mode)
    for modes in modes_of.values():
        yield part if len(modes_of) == 1 else part.filter(pl.col("mode").is_in(modes))


def system_pairs(means: Mapping[str, float], lexical: Collection[str], fusions: Collection[str]) -> list[Pair]:
    """Each lexical system against each other; the system with the highest mean where none is lexical.

    Two lexical systems are compared once. Fusions are not compared: they hold the systems that they would be compared
    with.

    Args:
        means: system -> its mean on the queries in question.
        lexical: the systems that match words.
        fusions: the systems that fuse others.
    """
    present = sorted(set(means) - set(fusions))
    first = [system for system in present if system in lexical]
    note = ""
    if not first and present:
        first = [max(present, key=lambda system: means[system])]  # the first by name among equals
        note = "the best was picked on the same queries"
    pairs = [Pair(a, b, note) for a in first for b in present if a != b]
    return [pair for pair in pairs if pair.b not in first or pair.a < pair.b]


def pairs_of(cell: Cell, mode: str, measure: str, lexical: Collection[str], fusions: Collection[str]) -> list[Pair]:
    """The pairs of systems that are compared on all queries of a cell."""
    means = {system: float(cell.of(mode, system, measure).mean()) for system in cell.systems(mode, measure)}
    return system_pairs(means, lexical, fusions)


def compare_columns(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    clusters: NDArray[np.int64] | None,
    draws: Draws,
    graded: bool = False,
    kind: str = "poem",
) -> list[Outcome]:
    """What ``contrasts.compare`` says of each column of ``a`` and ``b``, with shared draws.

    Args:
        a: values float64 [n, m] of n queries.
        b: those of the other systems, float64 [n, m].
        clusters: int64 [n], the cluster of each query; None where all are independent.
        draws: of the intervals and tests.
        graded: whether the values are grades or means of grades. Grades are no hits and misses, though no others than 0
            and 1 may occur: they are never tested as proportions, and a difference that does not vary has no interval.
        kind: what the clusters are, as ``clusters.cluster_kind`` says: part of the test's name.
    """
    n, m = a.shape
    if n == 0:
        return [Outcome(math.nan, math.nan, math.nan, "none", math.nan, math.nan, "not estimable: no queries")] * m
    difference = a - b
    estimate = difference.mean(axis=0)
    sums, sizes = cluster_sums(difference, clusters)
    if len(sums) < 2:
        return [Outcome(float(value), math.nan, math.nan, "none", math.nan, math.nan, TOO_FEW) for value in estimate]
    binary = np.zeros(m, dtype=bool)
    if clusters is None and not graded:
        binary = (((a == 0) | (a == 1)) & ((b == 0) | (b == 1))).all(axis=0)
    moved = np.count_nonzero(difference, axis=0) > 0
    # Where no difference was seen none was measured either: an interval of zero width would lie.
    measured = moved & (np.ptp(sums / sizes[:, None], axis=0) > ALIKE) if graded else moved
    found: dict[int, Outcome] = {}
    for j in np.flatnonzero(binary):
        only_a, only_b = int((difference[:, j] > 0).sum()), int((difference[:, j] < 0).sum())
        low, high = tango_interval(only_a, only_b, n)
        p = mcnemar_exact(only_a, only_b)
        found[int(j)] = Outcome(float(estimate[j]), low, high, "McNemar exact", p, math.nan, _alike(moved[j]))
    others = np.flatnonzero(~binary)
    if len(others):
        interval = bootstrap_means(difference[:, others], clusters, draws.resamples, draws.seed)
        flipped = sign_flip(difference[:, others], clusters, draws.flips, draws.seed)
        p_t = _paired_t(sums[:, others])
        suffix = "" if clusters is None else f" by {kind}"
        for k, j in enumerate(others):
            ends = (_end(interval.low[k]), _end(interval.high[k])) if measured[j] else (math.nan, math.nan)
            test = ("exact sign-flip" if flipped.exact[k] else "sign-flip") + suffix
            note = FLAT if moved[j] and math.isnan(ends[0]) else _alike(moved[j])
            found[int(j)] = Outcome(float(estimate[j]), *ends, test, float(flipped.p[k]), float(p_t[k]), note)
    return [found[j] for j in range(m)]


def _end(end: float) -> float:
    return 0.0 if abs(end) < NOTHING else float(end)


def _alike(moved: bool) -> str:
    return "" if moved else "alike on every query"


def _paired_t(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy import stats

    p = np.full(sums.shape[1], math.nan)
    varying = np.ptp(sums, axis=0) > 0
    if varying.any():
        p[varying] = stats.ttest_1samp(sums[:, varying], 0.0).pvalue
    return p


def notes(*parts: str) -> str | None:
    """The notes that are not empty, each once, joined; None where there is none."""
    return "; ".join(dict.fromkeys(part for part in parts if part)) or None


def left_out(n: int) -> str:
    """A note of queries that have no target poem in the corpus."""
    return f"{n} {'query' if n == 1 else 'queries'} without a target left out" if n else ""


def tested(rows: Sequence[Mapping[str, Any]], table: Table, order: Sequence[str]) -> pl.DataFrame:
    """A table of tests from its rows: NaN to null, Holm's correction within each ``family``, sorted by ``order``.

    ``family_size`` counts the tests of the family; a row without p is none.
    """
    given = {name: dtype for name, dtype in table.columns.items() if name not in ("p_holm", "family_size")}
    parts = [pl.DataFrame(schema=dict(table.columns))]
    for part in tidy(pl.DataFrame(rows, schema=given)).partition_by("family"):
        adjusted = pl.Series("p_holm", holm(part["p"].fill_null(math.nan).to_list()), dtype=pl.Float64)
        size = pl.lit(part["p"].count(), dtype=pl.Int64)
        parts.append(part.with_columns(adjusted.fill_nan(None), family_size=size).select(list(table.columns)))
    return pl.concat(parts).sort(order)


def tidy(frame: pl.DataFrame) -> pl.DataFrame:
    """``frame`` with null in place of NaN."""
    floats = [name for name, dtype in frame.schema.items() if dtype == pl.Float64]
    return frame.with_columns(pl.col(floats).fill_nan(None))
