"""Does finding a poem that answers a query hang on the words that the two share, and for which systems more?"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verseir.analyses.paired import TESTED, Draws, independent, system_pairs, tested
from verseir.analyses.shared_pairs import FEW, FLAT, PairSet, found_in, stacked
from verseir.stats.permutation import sign_flip
from verseir.stats.rank_resamples import FEWEST, resampled_correlations
from verseir.stats.ratios import bootstrap_ratios
from verseir.tables import define

FOUND_BY_WORDING = define(
    "found_by_wording",
    {
        "family": pl.String,
        "corpus": pl.String,
        "query_set": pl.String,
        "mode": pl.String,
        "quantity": pl.String,
        "measure": pl.String,
        "a": pl.String,
        "b": pl.String,
        "n": pl.Int64,
        **TESTED,
        "note": pl.String,
    },
    nullable="b estimate ci_low ci_high p p_holm note",
    unique="corpus query_set mode quantity a b",
)
#: The share of a query's relevant poems that is found, of those that share a word with it less of the others.
GAP = "found where a word is shared, less where none is"
#: Spearman's rho of the mean containment over relevant poems, each once or by its grade, with the query's value.
RHO, RHO_BY_GRADE = "rho of containment", "rho of containment by grade"
NO_CONTRAST = "not estimable: no query has relevant poems that share a word with it and others that share none"


class Side(NamedTuple):
    """One query set: its pairs, the first places of each system, and the values of each by the main measure."""

    pairs: PairSet
    first: Mapping[str, pl.DataFrame]
    values: Mapping[str, Mapping[str, float]]
    measure: str
    k: int


def found_by_wording(
    sides: Iterable[Side], lexical: Collection[str], fusions: Collection[str], draws: Draws
) -> pl.DataFrame:
    """The FOUND_BY_WORDING table: in rows without ``b`` of system ``a`` alone, in others ``a`` less ``b``.

    The gap compares poems of one query, so that queries which are easy and verbose do not make it: it is over queries
    that have relevant poems of both kinds. The correlations compare queries. Systems that match words are compared with
    each other system, by the same resamples of queries, or of clusters of queries. p of a gap is that of a sign-flip
    test (Fisher, 1935), p of a correlation inverts its BCa interval (Efron, 1987); neither is ever 0. Holm's
    correction is over the systems of a quantity, and over the comparisons of one.

    Args:
        sides: of each query set in each corpus, in the mode whose text was compared.
        lexical: systems that match words.
        fusions: systems that fuse others; they are not compared.
        draws: resamples, flips and seed.
    """
    rows: list[dict[str, Any]] = []
    for side in sides:
        systems = sorted(side.first)
        means = {name: _mean(side, name) for name in systems}
        pairs = system_pairs(means, lexical, fusions) if set(systems) & set(lexical) else []
        at = [(systems.index(pair.a), systems.index(pair.b)) for pair in pairs]
        names = [(name, None) for name in systems] + [(pair.a, pair.b) for pair in pairs]
        place = {"corpus": side.pairs.corpus, "query_set": side.pairs.query_set, "mode": side.pairs.mode}
        index = np.array(at, dtype=np.int64).reshape(-1, 2)
        for quantity, measure, n, columns in _quantities(side, systems, index, draws):
            family = "/".join(["shared wording", quantity, *place.values()])
            for (a, b), (estimate, low, high, p, note) in zip(names, columns, strict=True):
                row: dict[str, Any] = place | {"quantity": quantity, "measure": measure, "a": a, "b": b, "n": n}
                row |= {"family": f"{family}/{'systems' if b is None else 'pairs'}", "estimate": estimate}
                row |= {"ci_low": low, "ci_high": high, "p": p, "note": note}
                test = "sign-flip" if quantity == GAP else "paired bootstrap, BCa"
                rows.append(row | {"test": "none" if math.isnan(p) else test})
    return tested(rows, FOUND_BY_WORDING, ["corpus", "query_set", "mode", "quantity", "a", "b"])


Column = tuple[float, float, float, float, str | None]


def _mean(side: Side, system: str) -> float:
    return float(np.mean([side.values.get(system, {}).get(name, 0.0) for name in side.pairs.query_ids] or [0.0]))


def _quantities(
    side: Side, systems: Sequence[str], at: NDArray[np.int64], draws: Draws
) -> list[tuple[str, str, int, list[Column]]]:
    """Quantity, measure, number of queries, and the estimates of systems, then of pairs."""
    n, columns = _gaps(side, systems, at, draws)
    found = [(GAP, f"found in {side.k}", n, columns)]
    ids, relevant = side.pairs.query_ids, side.pairs.relevant
    query = relevant["query"].to_numpy()
    values = stacked([np.array([side.values.get(name, {}).get(one, 0.0) for one in ids]) for name in systems], len(ids))
    for quantity, weights in ((RHO, np.ones(len(query))), (RHO_BY_GRADE, relevant["grade"].to_numpy() * 1.0)):
        shared = side.pairs.sums(query, weights * relevant["containment"].to_numpy())
        predictor = shared / side.pairs.sums(query, weights)
        done = resampled_correlations(values, predictor, at, side.pairs.clusters, draws.resamples, draws.seed)
        why = "not estimable: no query shares a word with its relevant poems" if not predictor.any() else ""
        why = why or ("not estimable: every query shares as much" if np.ptp(predictor) == 0 else "")
        few = len(ids) if side.pairs.clusters is None else len(np.unique(side.pairs.clusters))
        rest = FEW.replace("two", "four") if few < FEWEST else FLAT
        columns = [_column(done, j, why or "not estimable: every query has the same value", rest) for j in _range(done)]
        found.append((quantity, side.measure, len(ids), columns))
    return found


def _gaps(side: Side, systems: Sequence[str], at: NDArray[np.int64], draws: Draws) -> tuple[int, list[Column]]:
    """How many queries have relevant poems of both kinds, and the gap of each system and pair."""
    one, relevant = side.pairs, side.pairs.relevant
    query, shares = relevant["query"].to_numpy(), (relevant["n_shared"] > 0).to_numpy()
    sizes = [one.sums(query[kept], np.ones(int(kept.sum()))) for kept in (shares, ~shares)]
    both = (sizes[0] > 0) & (sizes[1] > 0)
    gaps = []
    for system in systems:
        found = found_in(relevant, side.first[system]).astype(np.float64)
        rates = [
            one.sums(query[kept], found[kept]) / np.maximum(size, 1)
            for kept, size in zip((shares, ~shares), sizes, strict=True)
        ]
        gaps.append(np.where(both, rates[0] - rates[1], 0.0))
    own = stacked(gaps, len(both))
    values = np.column_stack([own, own[:, at[:, 0]] - own[:, at[:, 1]]])
    counted = np.repeat(both[:, None].astype(np.float64), values.shape[1], axis=1)
    done = bootstrap_ratios(values, counted, one.clusters, draws.resamples, draws.seed)
    if both.any():  # exact where few queries differ at all, which a bootstrap of them would take for certain
        clusters = None if one.clusters is None else independent(one.clusters[both])
        flipped = sign_flip(values[both], clusters, draws.flips, draws.seed)
        done = done._replace(p=np.where(np.isnan(done.estimate), np.nan, flipped.p))
    few = both.sum() if one.clusters is None else len(np.unique(one.clusters[both]))
    rest = FEW if few < 2 else FLAT
    return int(both.sum()), [_column(done, j, NO_CONTRAST, rest) for j in _range(done)]


def _range(done: Any) -> range:
    return range(len(done.estimate))


def _column(done: Any, j: int, absent: str, flat: str) -> Column:
    """The numbers of one column, and a note where one is missing."""
    values = float(done.estimate[j]), float(done.low[j]), float(done.high[j]), float(done.p[j])
    note = absent if math.isnan(values[0]) else flat if math.isnan(values[1]) else None
    return (*values, note)
