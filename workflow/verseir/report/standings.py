"""Who leads where, and whether the lead is established: read from the leaderboard and the declared contrasts.

A system is separated from the best only where Holm's p is below 0.05 *and* the interval of the difference lies on one
side of zero. Anything else is "not separated", never "equal".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from verseir.formats import DECIMALS, known
from verseir.orders import mode_order
from verseir.report.spoken import set_order

ALPHA = 0.05
SEPARATED, NOT_SEPARATED, NOT_TESTED = "separated", "not separated", "not tested"
CELL = ("corpus", "query_set", "mode", "measure")


def same_mean(one: float, other: float) -> bool:
    """Means that differ in the last bits only are the same mean, summed in another order."""
    return round(one, DECIMALS) == round(other, DECIMALS)


@dataclass(frozen=True)
class Score:
    """The mean of one system, with its interval."""

    system: str
    mean: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Gap:
    """The best system minus another: ``state`` says whether they are separated."""

    system: str
    state: str
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    p_holm: float | None = None
    note: str = ""

    @property
    def disagree(self) -> bool:
        """The test says that they differ and the interval does not."""
        return self.state == NOT_SEPARATED and known(self.p_holm) and self.p_holm < ALPHA  # type: ignore[operator]


@dataclass(frozen=True)
class Standing:
    """One measure of one corpus, query set and mode.

    ``scores`` run from the highest down; ``gaps`` hold each other system's distance to the first; ``declared`` says
    whether a family of tests against the best covers this.
    """

    corpus: str
    query_set: str
    mode: str
    measure: str
    n_queries: int
    scores: tuple[Score, ...]
    gaps: tuple[Gap, ...]
    declared: bool

    @property
    def leader(self) -> Score:
        """One with the highest mean; where several have it, the one that the tests took as the best."""
        return self.scores[0]

    @property
    def leaders(self) -> tuple[Score, ...]:
        """All with the highest mean."""
        return tuple(score for score in self.scores if same_mean(score.mean, self.leader.mean))

    def among(self, state: str) -> list[Gap]:
        """The gaps of one state to systems with a lower mean, from the smallest to the largest."""
        best = {score.system for score in self.leaders}
        return [gap for gap in self.gaps if gap.state == state and gap.system not in best]

    def state(self, system: str) -> str:
        """``best``, also where several have the highest mean, or the state of the system's gap to the best."""
        if any(score.system == system for score in self.leaders):
            return "best"
        return next(gap.state for gap in self.gaps if gap.system == system)


def best_families(study: Mapping[str, Any]) -> list[str]:
    """Names of the declared families in which every system is compared with the best one."""
    return [family["family"] for family in study.get("contrasts", []) if family["baseline"] == "best"]


def standings(leaderboard: pl.DataFrame, contrasts: pl.DataFrame, study: Mapping[str, Any]) -> list[Standing]:
    """The standing of every measure of every corpus, query set and mode, in this order; see ``spoken.set_order``.

    Args:
        leaderboard: a LEADERBOARD table.
        contrasts: a CONTRASTS table; ``estimate`` is ``a`` minus ``b``.
        study: the study's spec; its ``contrasts`` say which family is against the best.
    """
    tested: dict[tuple, dict[str, list[dict]]] = {}
    declared, place_of = best_families(study), set_order(study)

    def rank(item: tuple[Any, ...]) -> tuple[Any, ...]:
        corpus, query_set, mode, measure = item[0]
        return (corpus, place_of(query_set), mode_order(mode), measure)

    for row in contrasts.iter_rows(named=True):
        if row["family"] in declared:
            tested.setdefault(tuple(row[key] for key in CELL), {}).setdefault(row["family"], []).append(row)
    found = []
    parts = leaderboard.partition_by(list(CELL), as_dict=True)
    for cell, frame in sorted(parts.items(), key=rank):
        by_family = tested.get(tuple(cell), {})
        rows = next((by_family[family] for family in declared if family in by_family), [])
        scores = _ordered(frame, rows)
        gaps = tuple(_gap(scores[0].system, score.system, rows) for score in scores[1:])
        place = dict(zip(CELL, cell, strict=True))
        n_queries = frame["n_queries"].to_list()
        found.append(Standing(**place, n_queries=max(n_queries), scores=scores, gaps=gaps, declared=bool(rows)))
    return found


def _ordered(frame: pl.DataFrame, rows: Iterable[Mapping[str, Any]]) -> tuple[Score, ...]:
    """Scores from the highest mean down; among equal ones the system that the tests took as the best comes first."""
    pairs = [{row["a"], row["b"]} for row in rows]
    baseline = set.intersection(*pairs) if pairs else set()
    scores = [Score(row["system"], row["mean"], row["ci_low"], row["ci_high"]) for row in frame.iter_rows(named=True)]
    order = sorted(scores, key=lambda score: (-round(score.mean, DECIMALS), score.system not in baseline, score.system))
    return tuple(order)


def _gap(best: str, other: str, rows: Iterable[Mapping[str, Any]]) -> Gap:
    for row in rows:
        if {row["a"], row["b"]} == {best, other}:
            break
    else:
        return Gap(other, NOT_TESTED)
    estimate, low, high, p = row["estimate"], row["ci_low"], row["ci_high"], row["p_holm"]
    if row["a"] != best:
        estimate, low, high = _negative(estimate), _negative(high), _negative(low)
    note = row["note"] or ""
    if not known(estimate, p):
        return Gap(other, NOT_TESTED, estimate, low, high, p, note)
    separated = p < ALPHA and known(low, high) and low > 0
    return Gap(other, SEPARATED if separated else NOT_SEPARATED, estimate, low, high, p, note)


def _negative(value: float | None) -> float | None:
    return None if value is None else -value
