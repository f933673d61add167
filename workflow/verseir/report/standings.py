"""Who leads where, and whether the lead is established: read from the leaderboard and the declared contrasts.

A system is separated from the best only where Holm's p is below 0.05 *and* the interval of the difference lies on one
side of zero. Anything else is "not separated", never "equal".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from verseir.report.formats import known

ALPHA = 0.05
SEPARATED, NOT_SEPARATED, NOT_TESTED = "separated", "not separated", "not tested"
CELL = ("corpus", "query_set", "mode", "measure")


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
    """One measure of one corpus, query set and mode: scores from the highest down, and each system's gap to the first."""

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
        return self.scores[0]

    def among(self, state: str) -> list[Gap]:
        """The gaps of one state, from the smallest lead to the largest."""
        return [gap for gap in self.gaps if gap.state == state]

    def state(self, system: str) -> str:
        """``best``, or the state of the system's gap to the best."""
        return next((gap.state for gap in self.gaps if gap.system == system), "best")


def of_family(cell: str, family: str) -> bool:
    """Whether the name in a contrast's row is the declared ``family`` or one part of it (``family/part``)."""
    return cell == family or (cell.startswith(family) and re.match(r"[^a-z0-9_.+-]", cell[len(family) :]) is not None)


def best_families(study: Mapping[str, Any]) -> list[str]:
    """Names of the declared families in which every system is compared with the best one."""
    return [family["family"] for family in study.get("contrasts", []) if family["baseline"] == "best"]


def standings(leaderboard: pl.DataFrame, contrasts: pl.DataFrame, study: Mapping[str, Any]) -> list[Standing]:
    """The standing of every measure of every corpus, query set and mode, in this order.

    Args:
        leaderboard: a LEADERBOARD table.
        contrasts: a CONTRASTS table; ``estimate`` is ``a`` minus ``b``.
        study: the study's spec; its ``contrasts`` say which family is against the best.
    """
    tested: dict[tuple, dict[str, list[dict]]] = {}
    declared = best_families(study)
    for row in contrasts.iter_rows(named=True):
        for family in declared:
            if of_family(row["family"], family):
                tested.setdefault(tuple(row[key] for key in CELL), {}).setdefault(family, []).append(row)
    found = []
    for cell, frame in sorted(leaderboard.partition_by(list(CELL), as_dict=True).items()):
        by_family = tested.get(tuple(cell), {})
        rows = next((by_family[family] for family in declared if family in by_family), [])
        scores = _ordered(frame, rows)
        gaps = tuple(_gap(scores[0].system, score.system, rows) for score in scores[1:])
        found.append(Standing(*cell, int(frame["n_queries"].max()), scores, gaps, bool(rows)))  # type: ignore[arg-type]
    return found


def _ordered(frame: pl.DataFrame, rows: Iterable[Mapping[str, Any]]) -> tuple[Score, ...]:
    """Scores from the highest mean down; among equal ones the system that the tests took as the best comes first."""
    pairs = [{row["a"], row["b"]} for row in rows]
    baseline = set.intersection(*pairs) if pairs else set()
    scores = [
        Score(row["system"], row["mean"], row["ci_low"], row["ci_high"]) for row in frame.iter_rows(named=True)
    ]
    return tuple(sorted(scores, key=lambda score: (-score.mean, score.system not in baseline, score.system)))


def _gap(best: str, other: str, rows: Iterable[Mapping[str, Any]]) -> Gap:
    for row in rows:
        if {row["a"], row["b"]} == {best, other}:
            break
    else:
        return Gap(other, NOT_TESTED)
    estimate, low, high, p = row["estimate"], row["ci_low"], row["ci_high"], row["p_holm"]
    if row["a"] != best:
        estimate = -estimate if known(estimate) else None
        low, high = (-high if known(high) else None), (-low if known(low) else None)
    note = row["note"] or ""
    if not known(estimate, p):
        return Gap(other, NOT_TESTED, estimate, low, high, p, note)
    separated = p < ALPHA and known(low, high) and low > 0
    return Gap(other, SEPARATED if separated else NOT_SEPARATED, estimate, low, high, p, note)


def main_measures(leaderboard: pl.DataFrame, contrasts: pl.DataFrame, study: Mapping[str, Any]) -> dict[str, str]:
    """The measure that is spoken of, for each query set: the first that is tested against the best, else the study's first."""
    found = {}
    families = sorted(study.get("contrasts", []), key=lambda family: family["baseline"] != "best")
    for query_set, frame in sorted(leaderboard.partition_by("query_set", as_dict=True).items()):
        shown = set(frame["measure"])
        tested = contrasts.filter(pl.col("query_set") == query_set[0])
        wanted = [
            measure
            for family in families
            for measure in family.get("measures", [])
            if any(of_family(cell, family["family"]) for cell in tested.filter(pl.col("measure") == measure)["family"])
        ]
        order = [*wanted, *study.get("measures", []), *sorted(shown)]
        found[query_set[0]] = next(measure for measure in order if measure in shown)
    return found
