"""Which systems do judges put above others on thematic queries? Paired tests, corrected in families."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verseir.analyses.contrasts import Outcome
from verseir.analyses.judged import ABOUTNESS, DIGITS, Matrix, by_gaps, matrices
from verseir.analyses.paired import FLAT, Draws, Pair, compare_columns, independent, notes, tested
from verseir.analyses.thematic_scores import THEMATIC_CONTRASTS
from verseir.judging.rubrics import OVERALL, Rubric

#: The aspects that are tested; the others are described.
TESTED = (OVERALL, ABOUTNESS)


class _Compared(NamedTuple):
    judge: str
    aspect: str
    pair: Pair


def thematic_contrasts(
    per_query: pl.DataFrame,
    queries: pl.DataFrame,
    rubrics: Mapping[str, Rubric],
    lexical: Collection[str],
    fusions: Collection[str],
    draws: Draws,
) -> pl.DataFrame:
    """The THEMATIC_CONTRASTS table: each lexical system against every other, by the overall score and by aboutness.

    Each pair is compared on the queries for which both systems have a value. A family is one judge, corpus, query set,
    mode and aspect.

    Args:
        per_query: a JUDGED_PER_QUERY table.
        queries: the QUERIES of its query sets.
        rubrics: judge -> its rubric.
        lexical: the systems that match words.
        fusions: the systems that fuse others.
        draws: of the intervals and tests.
    """
    rows: list[dict[str, Any]] = []
    for matrix in matrices(per_query, queries):
        compared = [
            _Compared(judge, aspect, pair)
            for judge, aspect in matrix.judge_aspects()
            if aspect in TESTED
            for pair in thematic_pairs(matrix.of(judge, aspect), lexical, fusions)
        ]
        for one, n, outcome in _outcomes(matrix, compared, rubrics, draws):
            place = f"{matrix.corpus}/{matrix.query_set}/{matrix.mode}"
            few = f"{n} of {len(matrix.values)} queries have a value of both" if n < len(matrix.values) else ""
            named = {"family": f"thematic/{one.judge}/{place}/{one.aspect}", "corpus": matrix.corpus}
            named |= {"query_set": matrix.query_set, "mode": matrix.mode, "judge": one.judge, "aspect": one.aspect}
            test = outcome.test.replace("by poem", "by theme")  # what clusters here are edits of one theme
            found = outcome._asdict() | {"test": test, "note": notes(outcome.note, few, one.pair.note)}
            rows.append(named | {"a": one.pair.a, "b": one.pair.b, "n": n} | found)
    return tested(rows, THEMATIC_CONTRASTS, THEMATIC_CONTRASTS.unique)


def thematic_pairs(
    values: Mapping[str, NDArray[np.float64]], lexical: Collection[str], fusions: Collection[str]
) -> list[Pair]:
    """Each lexical system against every other system, fusions too; two lexical ones are compared once.

    Where none is lexical: the single system with the highest mean against every other.

    Args:
        values: system -> its values, NaN where there is none.
        lexical: the systems that match words.
        fusions: the systems that fuse others.
    """
    present = sorted(values)
    first = [system for system in present if system in lexical and system not in fusions]
    note = ""
    if not first:
        means = {name: round(float(np.nanmean(column)), DIGITS) for name, column in values.items() if _any(column)}
        single = sorted(set(means) - set(fusions)) or sorted(means)
        first = [max(single, key=lambda system: means[system])] if single else []  # the first by name among equals
        note = "the best was picked on the same queries"
    pairs = [Pair(a, b, note) for a in first for b in present if a != b]
    return [pair for pair in pairs if pair.b not in first or pair.a < pair.b]


def _any(column: NDArray[np.float64]) -> bool:
    return bool((~np.isnan(column)).any())


def _outcomes(
    matrix: Matrix, compared: list[_Compared], rubrics: Mapping[str, Rubric], draws: Draws
) -> list[tuple[_Compared, int, Outcome]]:
    """Each pair, on how many queries it was compared, and what was found. The same gaps share their draws."""
    if not compared:
        return []
    a, b = (
        np.column_stack(
            [_graded(matrix, one, system, rubrics[one.judge]) for one, system in zip(compared, side, strict=True)]
        )
        for side in ([one.pair.a for one in compared], [one.pair.b for one in compared])
    )
    found: dict[int, tuple[int, Outcome]] = {}
    for rows, columns in by_gaps(~np.isnan(a) & ~np.isnan(b)):
        clusters = None if matrix.clusters is None else independent(matrix.clusters[rows])
        first, second = a[rows][:, columns], b[rows][:, columns]
        for i, (j, outcome) in enumerate(
            zip(columns.tolist(), compare_columns(first, second, clusters, draws), strict=True)
        ):
            found[j] = len(first), _without_width(outcome, first[:, i] - second[:, i])
    return [(one, *found[j]) for j, one in enumerate(compared)]


def _graded(matrix: Matrix, one: _Compared, system: str, rubric: Rubric) -> NDArray[np.float64]:
    """The values of a system, moved above 1 unless the scale is 0 and 1: a mean grade of 1 is no success."""
    values = matrix.values[:, matrix.columns[one.judge, one.aspect, system]]
    return values if set(rubric.scale) == {0, 1} else values + (2 - min(rubric.scale))


def _without_width(outcome: Outcome, difference: NDArray[np.float64]) -> Outcome:
    """No interval where every query differs alike: a difference of grades is no proportion either."""
    if not len(difference) or outcome.test.startswith("McNemar") or not difference.any():
        return outcome
    if np.ptp(difference) > 1e-9 or math.isnan(outcome.ci_low):
        return outcome
    return outcome._replace(ci_low=math.nan, ci_high=math.nan, note=notes(outcome.note, FLAT) or "")
