"""Do judges agree, and does the order of systems hang on the judge or on the rubric?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, groupby
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verseir.analyses.agreement_notes import few_queries, lacking
from verseir.analyses.clusters import clusters_of
from verseir.analyses.judged import DIGITS, Judged, Matrix, aspects_of, item_scores, matrices
from verseir.analyses.paired import Draws, independent, notes, tested, tidy
from verseir.formats import listing
from verseir.judging.rubrics import ABOUTNESS, OVERALL
from verseir.stats.clustered import NOTHING, clustered_kappa, clustered_spearman, clustered_within
from verseir.stats.correlation import UNDEFINED, kendall
from verseir.stats.rank_orders import NO_ORDER, column_means, tau_interval
from verseir.tables import QRELS, define

#: Systems that a rank correlation needs.
FEWEST = 3
#: Two judges with one scale are compared by grades, two others by the order of their grades alone.
DIFFERENT = "kappa and share within one not estimable: different scales"
MEANS = "no kappa: means are not on the scale"
WITHIN = "share within one"
CONSTANT = {"rho": "a judge gives one score to all", "kappa": "both judges give one score to all"}

JUDGE_AGREEMENT = define(
    "judge_agreement",
    {
        "corpus": pl.String,
        "query_set": pl.String,
        "judge_a": pl.String,
        "judge_b": pl.String,
        "aspect": pl.String,
        "n_items": pl.Int64,
        "n_queries": pl.Int64,
        "rho": pl.Float64,
        "rho_low": pl.Float64,
        "rho_high": pl.Float64,
        "kappa": pl.Float64,
        "kappa_low": pl.Float64,
        "kappa_high": pl.Float64,
        "within_one": pl.Float64,
        "within_one_low": pl.Float64,
        "within_one_high": pl.Float64,
        "note": pl.String,
    },
    nullable="rho rho_low rho_high kappa kappa_low kappa_high within_one within_one_low within_one_high note",
    unique="corpus query_set judge_a judge_b aspect",
)
JUDGE_ORDERS = define(
    "judge_orders",
    {
        "family": pl.String,
        "corpus": pl.String,
        "query_set": pl.String,
        "mode": pl.String,
        "judge_a": pl.String,
        "aspect_a": pl.String,
        "judge_b": pl.String,
        "aspect_b": pl.String,
        "n_systems": pl.Int64,
        "tau": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "test": pl.String,
        "p": pl.Float64,
        "p_holm": pl.Float64,
        "family_size": pl.Int64,
        "note": pl.String,
    },
    nullable="tau ci_low ci_high p p_holm note",
    unique="corpus query_set mode judge_a aspect_a judge_b aspect_b",
)


def judge_agreement(judged: Sequence[Judged], queries: pl.DataFrame, resamples: int, seed: int) -> pl.DataFrame:
    """The JUDGE_AGREEMENT table: each two judges, by each aspect of both, over the items that both scored.

    Spearman's rho, kappa weighted by squared distance over the whole scale (Cohen, 1968), and the share within one
    point, each with an interval that resamples whole queries. Judges with different scales have rho alone, which reads
    nothing but the order of grades. ``aboutness`` sets beside each other the means that each judge's own rubric gives.

    Args:
        judged: what was judged, by corpus, query set and judge.
        queries: the QUERIES of the query sets: an edited query belongs to its original.
        resamples: bootstrap resamples.
        seed: of the bootstrap.
    """
    rows: list[dict[str, Any]] = []
    ordered = sorted(judged, key=lambda one: one[:3])
    for (corpus, query_set), group in groupby(ordered, key=lambda one: (one.corpus, one.query_set)):
        scored = [(one, item_scores(one)) for one in group]
        asked = queries.filter(pl.col("query_set") == query_set)
        for (one, first), (other, second) in combinations(scored, 2):
            place = {"corpus": corpus, "query_set": query_set, "judge_a": one.judge, "judge_b": other.judge}
            both = first.join(second, on=["query_id", "poem_id"], suffix=" of b").sort("query_id", "poem_id")
            scale = one.rubric.scale if one.rubric.scale == other.rubric.scale else None
            for aspect in sorted({*aspects_of(one.rubric)} & {*aspects_of(other.rubric)}):
                scores = both.select("query_id", a=aspect, b=f"{aspect} of b").drop_nulls()
                found = _agreement(scores, asked, scale, aspect == ABOUTNESS, resamples, seed)
                rows.append(place | {"aspect": aspect} | found)
    return tidy(pl.DataFrame(rows, schema=dict(JUDGE_AGREEMENT.columns))).sort(JUDGE_AGREEMENT.unique)


def _agreement(
    scores: pl.DataFrame, queries: pl.DataFrame, scale: Sequence[int] | None, means: bool, resamples: int, seed: int
) -> dict[str, Any]:
    """What JUDGE_AGREEMENT says of the scores ``a`` and ``b`` of the same items.

    ``scale`` is that of both judges, None where they have two; ``means`` says whether the scores are means of grades.
    """
    a, b = scores["a"].to_numpy(), scores["b"].to_numpy()
    clusters = _item_clusters(scores["query_id"].to_list(), queries)
    rho = clustered_spearman(a, b, clusters, resamples, seed)
    kappa = clustered_kappa(a, b, scale, clusters, resamples, seed) if scale and not means else NOTHING
    within = clustered_within(a, b, 1, clusters, resamples, seed) if scale else NOTHING
    found = {"rho": rho, "kappa": kappa, "within_one": within}
    values = {
        f"{name}{end}": value
        for name, each in found.items()
        for end, value in zip(("", "_low", "_high"), each, strict=True)
    }
    n, n_queries, n_clusters = len(a), scores["query_id"].n_unique(), len(np.unique(clusters))
    told = {"rho": rho} | ({"kappa": kappa} if scale and not means else {}) | ({WITHIN: within} if scale else {})
    absent = "" if scale and not means else MEANS if scale else DIFFERENT
    few = few_queries(n_clusters, [rho, kappa], [within])
    why = notes(absent, *lacking(told, CONSTANT, n, n_clusters), few)
    note = why if n else "not estimable: no item was scored by both"
    return {"n_items": n, "n_queries": n_queries} | values | {"note": note}


def _item_clusters(query_ids: list[str], queries: pl.DataFrame) -> NDArray[np.int64]:
    """The cluster of each item int64 [n]: its query, with the edits of that query."""
    asked = sorted(set(query_ids))
    clusters = clusters_of(asked, queries, pl.DataFrame(schema=dict(QRELS.columns)))
    codes = dict(zip(asked, range(len(asked)) if clusters is None else clusters.tolist(), strict=True))
    return np.array([codes[query] for query in query_ids], dtype=np.int64)


class _Order(NamedTuple):
    """A judge and the aspect by which it orders the systems."""

    judge: str
    aspect: str


def judge_orders(per_query: pl.DataFrame, queries: pl.DataFrame, draws: Draws) -> pl.DataFrame:
    """The JUDGE_ORDERS table: Kendall's tau-b between two orders of the systems by their means over queries.

    Each two judges by the overall score; and each judge's overall score against its own aboutness. Means are over the
    queries that both orders have values for. p takes the systems for a sample of systems; the interval resamples
    queries, the same for both orders, and takes the systems as given.

    Args:
        per_query: a JUDGED_PER_QUERY table.
        queries: the QUERIES of its query sets.
        draws: resamples of queries, random permutations where means are tied, and the seed.
    """
    rows: list[dict[str, Any]] = []
    for matrix in matrices(per_query, queries):
        for one, other in _orders(matrix):
            rows.append(
                {"family": f"judge-orders/{matrix.corpus}/{matrix.query_set}", "corpus": matrix.corpus}
                | {"query_set": matrix.query_set, "mode": matrix.mode, "judge_a": one.judge, "aspect_a": one.aspect}
                | {"judge_b": other.judge, "aspect_b": other.aspect}
                | _order_agreement(matrix, one, other, draws)
            )
    return tested(rows, JUDGE_ORDERS, JUDGE_ORDERS.unique)


def _orders(matrix: Matrix) -> Iterator[tuple[_Order, _Order]]:
    """The pairs of orders that are compared."""
    present = {_Order(*key) for key in matrix.judge_aspects()}
    judges = sorted({order.judge for order in present})
    pairs = [(_Order(a, OVERALL), _Order(b, OVERALL)) for a, b in combinations(judges, 2)]
    pairs += [(_Order(judge, OVERALL), _Order(judge, ABOUTNESS)) for judge in judges]
    return (pair for pair in pairs if present.issuperset(pair))


def _order_agreement(matrix: Matrix, one: _Order, other: _Order, draws: Draws) -> dict[str, Any]:
    """n_systems, tau, ci_low, ci_high, test, p and note of two orders."""
    sides = [matrix.of(*order) for order in (one, other)]
    systems = sorted(set(sides[0]) & set(sides[1]))
    first, second = (np.column_stack([side[system] for system in systems]) for side in sides)
    shared = _any(first, axis=1) & _any(second, axis=1)
    first, second = first[shared], second[shared]
    ranked = _any(first, axis=0) & _any(second, axis=0)
    first, second = first[:, ranked], second[:, ranked]
    clusters = None if matrix.clusters is None else independent(matrix.clusters[shared])
    found, interval, why = UNDEFINED, NO_ORDER, ""
    if not len(first):
        why = "not estimable: no query has values of both"
    elif first.shape[1] < FEWEST:
        why = "not estimable: fewer than three systems"
    else:
        found = kendall(column_means(first), column_means(second), draws.flips, draws.seed)
        interval = tau_interval(first, second, clusters, clusters, True, draws.resamples, draws.seed)
        if math.isnan(found.estimate):
            why = f"not estimable: all systems have one mean by {_one_mean([one, other], [first, second])}"
        elif math.isnan(interval.low):
            why = f"interval not estimable: {interval.why}"
    n, used = len(shared), int(shared.sum())
    return {
        "n_systems": first.shape[1],
        "tau": round(found.estimate, DIGITS),
        "ci_low": interval.low,
        "ci_high": interval.high,
        "test": "none" if found.method == "none" else f"Kendall tau-b, {found.method}",
        "p": found.p,
        "note": notes(why, f"on {used} of {n} queries" if 0 < used < n else ""),
    }


def _one_mean(orders: Sequence[_Order], values: Sequence[NDArray[np.float64]]) -> str:
    """The orders in which all systems have one mean."""
    level = [order for order, each in zip(orders, values, strict=True) if np.ptp(column_means(each)) == 0]
    return listing([f"{order.judge} ({order.aspect})" for order in level])


def _any(values: NDArray[np.float64], axis: int) -> NDArray[np.bool_]:
    return np.asarray((~np.isnan(values)).any(axis=axis))
