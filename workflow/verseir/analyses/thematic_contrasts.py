"""Which systems do judges put above others on thematic queries? Paired tests, corrected in families."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verseir.analyses.clusters import cluster_kind
from verseir.analyses.contrasts import Outcome
from verseir.analyses.judged import DIGITS, Matrix, by_gaps, empty_places, matrices
from verseir.analyses.paired import Draws, Pair, compare_columns, independent, notes, tested
from verseir.analyses.thematic_scores import THEMATIC_CONTRASTS, Shown, shown
from verseir.judging.rubrics import ABOUTNESS, OVERALL, Rubric

#: The aspects that are tested; the others are described.
TESTED = (OVERALL, ABOUTNESS)
UNJUDGED = "not estimable: nothing was judged of both"


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
    k: int,
    draws: Draws,
) -> pl.DataFrame:
    """The THEMATIC_CONTRASTS table: each lexical system against every other, by the overall score and by aboutness.

    Each pair is compared on the queries for which both systems have a value. The values are grades, whichever grades
    occur; those of a scale of 0 and 1 are hits and misses. Where one left places empty, the note says how many,
    and what each has on the places that it filled. A family is one judge, corpus, query set, mode and aspect.

    Args:
        per_query: a JUDGED_PER_QUERY table.
        queries: the QUERIES of its query sets.
        rubrics: judge -> its rubric.
        lexical: the systems that match words.
        fusions: the systems that fuse others.
        k: places that count.
        draws: of the intervals and tests.
    """
    rows: list[dict[str, Any]] = []
    shares = shown(per_query, rubrics, k)
    for matrix, judge in _judged(per_query, queries):
        compared = [
            _Compared(judge, aspect, pair)
            for by, aspect in matrix.judge_aspects()
            if by == judge and aspect in TESTED
            for pair in thematic_pairs(matrix.of(judge, aspect), lexical, fusions)
        ]
        graded = set(rubrics[judge].scale) != {0, 1}
        asked = queries.filter(pl.col("query_set") == matrix.query_set)
        # What clusters here are edits of one theme, unless the queries name their clusters.
        kind = "cluster" if cluster_kind(asked) == "cluster" else "theme"
        for one, n, outcome in _outcomes(matrix, compared, graded, kind, draws):
            place = f"{matrix.corpus}/{matrix.query_set}/{matrix.mode}"
            few = f"{n} of {len(matrix.values)} queries have a value of both" if n < len(matrix.values) else ""
            named = {"family": f"thematic/{one.judge}/{place}/{one.aspect}", "corpus": matrix.corpus}
            named |= {"query_set": matrix.query_set, "mode": matrix.mode, "judge": one.judge, "aspect": one.aspect}
            at = (matrix.corpus, matrix.query_set, matrix.mode, one.judge, one.aspect)
            empty = _shown_apart(one.pair, shares[*at, one.pair.a], shares[*at, one.pair.b])
            note = notes(outcome.note if n else UNJUDGED, few, *empty, one.pair.note)
            named |= {"a": one.pair.a, "b": one.pair.b}
            rows.append(named | {"n": n} | outcome._asdict() | {"note": note})
    return tested(rows, THEMATIC_CONTRASTS, THEMATIC_CONTRASTS.unique)


def _shown_apart(pair: Pair, a: Shown, b: Shown) -> list[str]:
    """What a reader must know where a difference is one of empty places too."""
    told = [empty_places(a.empty_at_k, f"{pair.a}'s"), empty_places(b.empty_at_k, f"{pair.b}'s")]
    if any(told) and a.mean_shown is not None and b.mean_shown is not None:
        told.append(f"of what they show, {pair.a} has {a.mean_shown:.2f} and {pair.b} {b.mean_shown:.2f}")
    return told


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


def _judged(per_query: pl.DataFrame, queries: pl.DataFrame) -> Iterator[tuple[Matrix, str]]:
    """Each matrix with each of its judges."""
    for matrix in matrices(per_query, queries):
        for judge in sorted({judge for judge, _ in matrix.judge_aspects()}):
            yield matrix, judge


def _outcomes(
    matrix: Matrix, compared: list[_Compared], graded: bool, kind: str, draws: Draws
) -> list[tuple[_Compared, int, Outcome]]:
    """Each pair, on how many queries it was compared, and what was found. The same gaps share their draws."""
    if not compared:
        return []
    a, b = (
        matrix.values[
            :, [matrix.columns[one.judge, one.aspect, system] for one, system in zip(compared, side, strict=True)]
        ]
        for side in ([one.pair.a for one in compared], [one.pair.b for one in compared])
    )
    found: dict[int, tuple[int, Outcome]] = {}
    for rows, columns in by_gaps(~np.isnan(a) & ~np.isnan(b)):
        clusters = None if matrix.clusters is None else independent(matrix.clusters[rows])
        first, second = a[rows][:, columns], b[rows][:, columns]
        outcomes = compare_columns(first, second, clusters, draws, graded, kind)
        found |= {j: (len(first), outcome) for j, outcome in zip(columns.tolist(), outcomes, strict=True)}
    return [(one, *found[j]) for j, one in enumerate(compared)]
