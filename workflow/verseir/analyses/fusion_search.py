"""Which fusion of runs is best, and does a lexical arm help it?

Every subset of (system, mode) arms is fused by reciprocal rank. The best of many subsets flatters itself on the queries
that it was chosen on, so beside that in-sample figure stands the cross-validated one: what subsets chosen on the other
queries reach on those that had no part in the choice (Stone 1974).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import combinations, groupby
from math import comb
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verseir.analyses.clusters import cluster_kind, clusters_of
from verseir.analyses.paired import TESTED, Draws, compare_columns, notes, tested, tidy
from verseir.faults import UserError
from verseir.layout import Run
from verseir.measures import parse_measure, read_judgements
from verseir.stats.cross_validation import corrected_t, deal_folds, widened_means
from verseir.tables import define

#: The choices, in the order of the table.
ANY = "any"
WITH_LEXICAL = "with a lexical arm"
WITHOUT_LEXICAL = "without a lexical arm"
SINGLE = "single arm"
SINGLE_WITHOUT_LEXICAL = "single without lexical"
SELECTIONS = (ANY, WITH_LEXICAL, WITHOUT_LEXICAL, SINGLE, SINGLE_WITHOUT_LEXICAL)
#: The choices that are compared.
COMPARED = ((WITH_LEXICAL, WITHOUT_LEXICAL), (ANY, SINGLE))
#: How many subsets of each query set the table of subsets holds: the best ones.
KEPT = 1000
#: How many subsets are fused at most.
MOST = 200_000
#: Means that differ by less are equal: they were summed in another order.
DIGITS = 12

FUSION = define(
    "fusion",
    {
        "corpus": pl.String,
        "query_set": pl.String,
        "measure": pl.String,
        "selection": pl.String,
        "max_arms": pl.Int64,
        "k": pl.Float64,
        "n_queries": pl.Int64,
        "n_subsets": pl.Int64,
        "arms": pl.String,
        "in_sample": pl.Float64,
        "cross_validated": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "n_distinct_choices": pl.Int64,
        "most_chosen": pl.String,
        "note": pl.String,
    },
    nullable="arms in_sample cross_validated ci_low ci_high n_distinct_choices most_chosen note",
    unique="corpus query_set measure selection",
)
FUSION_CONTRASTS = define(
    "fusion_contrasts",
    {
        "family": pl.String,
        "corpus": pl.String,
        "query_set": pl.String,
        "measure": pl.String,
        "a": pl.String,
        "b": pl.String,
        "n": pl.Int64,
        "in_sample_difference": pl.Float64,
        **TESTED,
        "note": pl.String,
    },
    nullable="in_sample_difference estimate ci_low ci_high p p_holm note",
    unique="corpus query_set measure a b",
)
FUSION_SUBSETS = define(
    "fusion_subsets",
    {
        "corpus": pl.String,
        "query_set": pl.String,
        "measure": pl.String,
        "arms": pl.String,
        "n_arms": pl.Int64,
        "lexical": pl.Boolean,
        "in_sample": pl.Float64,
    },
    unique="corpus query_set measure arms",
)


class Search(NamedTuple):
    """What is searched: subsets of at most ``max_arms`` arms, fused with the constant ``k`` to ``depth`` poems a query;
    ``folds`` parts of the queries for cross-validation."""

    max_arms: int
    k: float
    depth: int
    folds: int


class Found(NamedTuple):
    """The tables FUSION, FUSION_CONTRASTS and FUSION_SUBSETS."""

    best: pl.DataFrame
    contrasts: pl.DataFrame
    subsets: pl.DataFrame


class Subsets(NamedTuple):
    """The subsets that are compared, fewer arms first, then by name.

    ``names`` of the s subsets, ``size`` int64 [s], ``lexical`` bool [s] (some arm is), ``value`` float64 [s, q].
    """

    names: list[str]
    size: NDArray[np.int64]
    lexical: NDArray[np.bool_]
    value: NDArray[np.float64]

    def chosen_from(self, selection: str) -> NDArray[np.int64]:
        """The subsets that a selection chooses from."""
        allowed = {
            ANY: np.ones(len(self.size), dtype=bool),
            WITH_LEXICAL: self.lexical,
            WITHOUT_LEXICAL: ~self.lexical,
            SINGLE: self.size == 1,
            SINGLE_WITHOUT_LEXICAL: (self.size == 1) & ~self.lexical,
        }[selection]
        return np.flatnonzero(allowed)


class Choice(NamedTuple):
    """What a selection chose: the best subset of all queries, that of each fold int64 [f] (None where there are no
    folds), and the value of each query under the choice made without it, float64 [q]."""

    best: int
    of_fold: NDArray[np.int64] | None
    held_out: NDArray[np.float64] | None


def search_fusions(
    judged: Iterable[tuple[Run, pl.DataFrame, pl.DataFrame, list[str]]],
    queries: pl.DataFrame,
    measures: Mapping[str, str],
    lexical: Collection[str],
    search: Search,
    draws: Draws,
    threads: int | None = None,
    remarks: Mapping[tuple[str, str], str] | None = None,
) -> Found:
    """Fuse all subsets of arms of each query set in each corpus, and choose among them.

    Folds hold whole poems where queries share one. The interval of a cross-validated mean is the BCa interval of the
    held-out values, and differences get a t test, both corrected for what the choices of the folds share (see
    ``stats.cross_validation``).

    Args:
        judged: what ``inputs.judged_runs`` gives: runs of one query set in one corpus are neighbours.
        queries: the QUERIES of their query sets.
        measures: query set -> the measure to be maximised; other query sets are passed over.
        lexical: the systems that match words.
        search: what is searched.
        draws: of the intervals and tests; the seed is that of the folds too.
        threads: threads to use; they change no value.
        remarks: (corpus, query set) -> what its rows of FUSION have to note of the runs.

    Raises:
        UserError: more subsets than can be held, or a measure that is unknown.
        ValueError: runs of a cell are judged by other poems: what they find cannot be one list.
    """
    best: list[dict[str, Any]] = []
    contrasts: list[dict[str, Any]] = []
    subsets = [pl.DataFrame(schema=dict(FUSION_SUBSETS.columns))]
    wanted = (one for one in judged if one[0].query_set in measures)
    for (query_set, corpus), cell in groupby(wanted, key=lambda one: (one[0].query_set, one[0].corpus)):
        measure = measures[query_set]
        fused = _fuse_all(cell, measure, lexical, search, threads)
        if fused is None:
            continue
        found, ids, qrels = fused
        asked = queries.filter(pl.col("query_set") == query_set)
        clusters, kind = clusters_of(ids, asked, qrels), cluster_kind(asked)
        place = {"corpus": corpus, "query_set": query_set, "measure": measure}
        parts = deal_folds(len(ids), clusters, search.folds, draws.seed)
        n_folds = 0 if parts is None else int(parts.max()) + 1
        reasons = {name: _why_not(name, found) for name in SELECTIONS}
        choices = {
            name: None if reasons[name] else choose(found.value, found.chosen_from(name), parts) for name in SELECTIONS
        }
        settings = {"max_arms": search.max_arms, "k": float(search.k), "n_queries": len(ids)}
        remark = (remarks or {}).get((corpus, query_set), "")
        for row in _best_rows(found, choices, reasons, n_folds, search.folds, clusters, draws):
            best.append(place | settings | row | {"note": notes(row["note"] or "", remark)})
        family = f"fusion/{corpus}/{query_set}/{measure}"
        for row in _contrast_rows(found, choices, reasons, n_folds, clusters, kind, draws):
            contrasts.append({"family": family, "n": len(ids)} | place | row)
        subsets.append(_subset_table(found, place))
    return Found(
        tidy(pl.DataFrame(best, schema=dict(FUSION.columns))).sort(
            "corpus", "query_set", "measure", maintain_order=True
        ),
        tested(contrasts, FUSION_CONTRASTS, ["corpus", "query_set", "measure", "a", "b"]),
        pl.concat(subsets).sort("corpus", "query_set", "measure", maintain_order=True),
    )


def _fuse_all(
    cell: Iterable[tuple[Run, pl.DataFrame, pl.DataFrame, list[str]]],
    measure: str,
    lexical: Collection[str],
    search: Search,
    threads: int | None,
) -> tuple[Subsets, list[str], pl.DataFrame] | None:
    """All subsets of the arms of a cell, its query ids, sorted, and its QRELS; None where no query is measured."""
    from verseir.analyses.fused_ranks import Arm, code_arm, measure_subsets, unite

    arms: dict[str, Arm] = {}
    is_lexical = {}
    judgements, query_ids = pl.DataFrame(), list[str]()
    for one, run, qrels, ids in cell:
        if arms and not (ids == query_ids and (qrels is judgements or qrels.equals(judgements))):
            raise ValueError(f"{one} has other judgements than the runs that it would be fused with")
        judgements, query_ids = qrels, ids
        name = f"{one.system}/{one.mode}"
        arms[name] = code_arm(run, sorted(ids))  # one run is held at a time
        is_lexical[name] = one.system in lexical
    if not query_ids:
        return None
    names = sorted(arms)
    subsets = subsets_of(len(names), search.max_arms)
    lexical_arm = np.array([is_lexical[name] for name in names])
    judged = read_judgements(judgements, query_ids)
    value = measure_subsets(
        unite([arms[name] for name in names]),
        judged,
        subsets,
        parse_measure(measure),
        search.k,
        search.depth,
        threads,
    )
    found = Subsets(
        [" + ".join(names[arm] for arm in subset if arm >= 0) for subset in subsets.tolist()],
        (subsets >= 0).sum(axis=1),
        np.any(lexical_arm[subsets] & (subsets >= 0), axis=1),
        value,
    )
    return found, judged.query_ids, judgements


def subsets_of(n_arms: int, max_arms: int) -> NDArray[np.int64]:
    """All subsets of 1 to ``max_arms`` arms, int64 [s, max_arms], -1 after the last: smaller ones first, then in order.

    Raises:
        UserError: they are too many.
    """
    most = min(n_arms, max_arms)
    count = sum(comb(n_arms, size) for size in range(1, most + 1))
    if count > MOST:
        problem = f"{n_arms} runs have {count:,} subsets of up to {most}: more than {MOST:,}"
        raise UserError(problem, hint="lower analyses.fusion.max_arms, or leave out systems or modes")
    subsets = np.full((count, most), -1)
    row = 0
    for size in range(1, most + 1):
        for subset in combinations(range(n_arms), size):
            subsets[row, :size] = subset
            row += 1
    return subsets


def choose(value: NDArray[np.float64], allowed: NDArray[np.int64], folds: NDArray[np.int64] | None) -> Choice | None:
    """The best of the ``allowed`` subsets on all queries, and on the queries outside each fold.

    Among equals the first is chosen: that of fewer arms, then by name.

    None where no subset is allowed.

    Args:
        value: float64 [s, q].
        allowed: int64 [a], subsets in order.
        folds: int64 [q], the fold of each query, or None.
    """
    if not len(allowed):
        return None
    offered = value[allowed]
    best = int(allowed[_best(offered)])
    if folds is None:
        return Choice(best, None, None)
    of_fold = np.array([allowed[_best(offered[:, folds != fold])] for fold in range(folds.max() + 1)])
    return Choice(best, of_fold, value[of_fold[folds], np.arange(len(folds))])


def _best(value: NDArray[np.float64]) -> int:
    return int(np.argmax(np.round(value.mean(axis=1), DIGITS)))


def _why_not(selection: str, found: Subsets) -> str:
    """Why a selection chooses nothing; empty where it does."""
    singles = selection in (SINGLE, SINGLE_WITHOUT_LEXICAL)
    if not singles and found.size.max() < 2:
        alone = int((found.size == 1).sum()) == 1
        return "not estimable: " + ("there is one run alone, nothing to fuse" if alone else "max_arms is 1: no fusion")
    if not len(found.chosen_from(selection)):
        return "not estimable: " + ("no run is lexical" if selection == WITH_LEXICAL else "every run is lexical")
    return ""


def _best_rows(
    found: Subsets,
    choices: Mapping[str, Choice | None],
    reasons: Mapping[str, str],
    n_folds: int,
    wanted: int,
    clusters: NDArray[np.int64] | None,
    draws: Draws,
) -> Iterator[dict[str, Any]]:
    """A row of FUSION for each selection."""
    held = {name: choice.held_out for name, choice in choices.items() if choice and choice.held_out is not None}
    ends: dict[str, tuple[float, float, float]] = {}
    if held:
        columns = np.column_stack(list(held.values()))
        widened = widened_means(columns, clusters, n_folds, draws.resamples, draws.seed)
        ends = {name: (float(m), float(a), float(b)) for name, m, a, b in zip(held, *widened, strict=True)}
    few = ""
    if n_folds == 0:
        few = "cross-validation not estimable: fewer than two independent queries"
    elif n_folds < wanted:
        few = f"{n_folds} folds: one for each independent query"
    for name in SELECTIONS:
        choice = choices[name]
        row: dict[str, Any] = {"selection": name, "n_subsets": len(found.chosen_from(name))}
        if choice is None:
            yield row | {"note": reasons[name]}
            continue
        row |= {
            "arms": found.names[choice.best],
            "in_sample": float(found.value[choice.best].mean()),
            "note": notes(few),
        }
        if choice.of_fold is not None:
            row |= dict(zip(("cross_validated", "ci_low", "ci_high"), ends[name], strict=True))
            row |= {
                "n_distinct_choices": len(np.unique(choice.of_fold)),
                "most_chosen": found.names[int(np.bincount(choice.of_fold).argmax())],
            }
        yield row


def _contrast_rows(
    found: Subsets,
    choices: Mapping[str, Choice | None],
    reasons: Mapping[str, str],
    folds: int,
    clusters: NDArray[np.int64] | None,
    kind: str,
    draws: Draws,
) -> Iterator[dict[str, Any]]:
    """A row of FUSION_CONTRASTS for each pair of selections that is compared, on the held-out values."""
    for a, b in COMPARED:
        row: dict[str, Any] = {"a": a, "b": b, "test": "none"}
        first, second = choices[a], choices[b]
        if first is None or second is None:
            missing = a if first is None else b
            yield row | {"note": reasons[missing]}
            continue
        row["in_sample_difference"] = float(found.value[first.best].mean() - found.value[second.best].mean())
        if first.held_out is None or second.held_out is None:
            yield row | {"note": "not estimable: fewer than two independent queries"}
            continue
        outcome = corrected_t(first.held_out - second.held_out, clusters, folds)
        if np.isnan(outcome.p):  # the same difference on every query: a t test has nothing to go by
            sides = first.held_out[:, None], second.held_out[:, None]
            yield row | compare_columns(*sides, clusters, draws, kind=kind)[0]._asdict()
            continue
        row |= {"estimate": outcome.estimate, "ci_low": outcome.low, "ci_high": outcome.high, "p": outcome.p}
        yield row | {"test": f"corrected t by {kind}" if clusters is not None else "corrected t"}


def _subset_table(found: Subsets, place: Mapping[str, str]) -> pl.DataFrame:
    """The best ``KEPT`` subsets of a cell, the best first."""
    means = found.value.mean(axis=1)
    order = np.lexsort((np.arange(len(means)), -np.round(means, DIGITS)))[:KEPT]
    columns = {
        **{name: [value] * len(order) for name, value in place.items()},
        "arms": [found.names[i] for i in order],
        "n_arms": found.size[order],
        "lexical": found.lexical[order],
        "in_sample": means[order],
    }
    return pl.DataFrame(columns, schema=dict(FUSION_SUBSETS.columns))
