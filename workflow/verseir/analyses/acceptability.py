"""When a system misses the poem that was meant, would what it shows first do as well?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verseir.analyses.annotators import MEAN, clusters_in, grades_by
from verseir.analyses.paired import Draws, independent, notes, tidy
from verseir.faults import UserError, closest
from verseir.formats import count
from verseir.judging.misses import Misses, misses, values_of
from verseir.layout import Run
from verseir.stats.bootstrap import bootstrap_means, clopper_pearson
from verseir.stats.clustered import NOTHING, Clustered, clustered_estimate
from verseir.tables import define

ACCEPTABILITY = define(
    "acceptability",
    {
        "sheet": pl.String,
        "corpus": pl.String,
        "query_set": pl.String,
        "mode": pl.String,
        "system": pl.String,
        "measure": pl.String,
        "annotator": pl.String,
        "threshold": pl.String,
        "n_queries": pl.Int64,
        "n_misses": pl.Int64,
        "n_judged": pl.Int64,
        "share": pl.Float64,
        "share_low": pl.Float64,
        "share_high": pl.Float64,
        "value": pl.Float64,
        "adjusted": pl.Float64,
        "adjusted_low": pl.Float64,
        "adjusted_high": pl.Float64,
        "note": pl.String,
    },
    nullable="share share_low share_high value adjusted adjusted_low adjusted_high note",
    unique="sheet annotator threshold",
)
#: A sheet of the first poems of a system's misses.
KNOWN_ITEM = "known-item"
#: The lowest grade that each verdict takes.
THRESHOLDS = {"at least partly": 1, "fully acceptable": 2}


def acceptability(
    per_query: pl.DataFrame,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    specs: Mapping[str, Mapping[str, Any]],
    annotations: Mapping[str, pl.DataFrame],
    runs: Mapping[Run, pl.DataFrame],
    duplicates: Mapping[str, pl.DataFrame],
    draws: Draws,
) -> pl.DataFrame:
    """The ACCEPTABILITY table: each known-item sheet by each annotator, and by their mean where there are several.

    ``share`` is that of judged misses whose first poem was accepted (of the mean: the share of annotators who accepted
    it). ``adjusted`` is what the measure would be if acceptable poems were hits: ``value + (1 - value) * share`` for a
    measure of hits and misses. Misses that were not judged are taken to be like those that were, since those were drawn
    at random, but for misses where the system showed nothing: there is nothing to accept in them.

    The judged misses are some of the queries, so one resample of the queries (of poems, where queries share one) gives
    a value, a number of misses and a share that belong together. The interval of ``adjusted`` therefore holds what is
    uncertain in the value and in the share, and how the two hang together.

    Args:
        per_query: a PER_QUERY table.
        queries: QUERIES of the query sets of the sheets.
        qrels: their QRELS, with a column ``query_set``.
        specs: sheet -> ``kind``, ``corpus``, ``query_set``, ``mode``, ``system`` and ``measure``; only known-item
            sheets are looked at.
        annotations: sheet -> its ANNOTATIONS.
        runs: at least those of the systems of the sheets.
        duplicates: corpus -> its DUPLICATES.
        draws: resamples and seed.

    Raises:
        UserError: nothing was measured where a sheet was drawn.
    """
    rows = list[dict[str, Any]]()
    for sheet, frame in sorted(annotations.items()):
        spec = specs[sheet]
        if spec["kind"] != KNOWN_ITEM:
            continue
        place = {name: spec[name] for name in ("corpus", "mode", "query_set")}
        of_measure = values_of(per_query, **place, measure=spec["measure"])
        if spec["system"] not in set(of_measure["system"]):
            problem = f"system '{spec['system']}' of the sheet '{sheet}' was not measured"
            raise UserError(problem, closest(spec["system"], of_measure["system"].unique()))
        values = of_measure.filter(pl.col("system") == spec["system"]).select("query_id", "value").sort("query_id")
        inside = qrels.filter(pl.col("query_set") == spec["query_set"])
        missed = misses(values, runs[Run(**place, system=spec["system"])], inside, duplicates[spec["corpus"]])
        clusters = clusters_in(values["query_id"].to_list(), spec, queries, qrels)
        named = {"sheet": sheet, **place, "system": spec["system"], "measure": spec["measure"]}
        for threshold, lowest in THRESHOLDS.items():
            verdicts = frame.with_columns(grade=(pl.col("grade") >= lowest).cast(pl.Float64))
            for annotator, accepted in (grades_by(verdicts) or {MEAN: verdicts}).items():
                row = _judged(values, missed, accepted, annotator == MEAN, clusters, draws)
                rows.append(named | {"annotator": annotator, "threshold": threshold} | row)
    return tidy(pl.DataFrame(rows, schema=dict(ACCEPTABILITY.columns))).sort(ACCEPTABILITY.unique)


def _judged(
    values: pl.DataFrame,
    missed: Misses,
    accepted: pl.DataFrame,
    several: bool,
    clusters: NDArray[np.int64] | None,
    draws: Draws,
) -> dict[str, Any]:
    """The rest of a row.

    Args:
        values: query_id and value, sorted.
        missed: the misses among them.
        accepted: item_id, query_id, poem_id, grade (from 0, not accepted, to 1) of what was annotated.
        several: whether a grade is the mean of several annotators.
        clusters: int64 [n] of the queries, or None.
        draws: resamples and seed.
    """
    judged = missed.items.join(accepted.select("query_id", "poem_id", "grade"), on=["query_id", "poem_id"])
    grades = values.join(judged.select("query_id", "grade"), on="query_id", how="left", maintain_order="left")["grade"]
    known = grades.is_not_null().to_numpy()
    verdict = grades.fill_null(0.0).to_numpy()
    value = values["value"].to_numpy()
    shown = (value <= 0) & ~values["query_id"].is_in(missed.nothing_found).to_numpy()
    columns = [np.ones(len(value)), value, shown.astype(np.float64), verdict, known.astype(np.float64)]
    adjusted = clustered_estimate(_adjusted, columns, clusters, draws.resamples, draws.seed)
    share = _share(verdict[known], None if clusters is None else independent(clusters[known]), several, draws)
    alike = len(np.unique(verdict[known])) == 1
    if alike:  # resamples would take the share for certain
        adjusted = Clustered(adjusted.estimate, math.nan, math.nan)
    return {
        "n_queries": len(value),
        "n_misses": missed.total,
        "n_judged": len(judged),
        **dict(zip(("share", "share_low", "share_high"), share, strict=True)),
        "value": float(value.mean()) if len(value) else math.nan,
        **dict(zip(("adjusted", "adjusted_low", "adjusted_high"), adjusted, strict=True)),
        "note": notes(
            f"of {count(missed.total, 'miss', 'misses')}, {len(judged)} were judged",
            _of_misses(len(missed.nothing_found), "showed nothing"),
            _of_misses(len(missed.same_poem), "showed the poem that was meant in another edition"),
            _of_misses(len(accepted) - len(judged), "were annotated with a poem that does not stand first now"),
            *_why(share, adjusted, len(judged), alike),
        ),
    }


def _adjusted(
    n: NDArray[np.float64],
    value: NDArray[np.float64],
    shown: NDArray[np.float64],
    accepted: NDArray[np.float64],
    judged: NDArray[np.float64],
) -> NDArray[np.float64]:
    """The adjusted mean from sums over queries; NaN where no miss was judged."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(judged > 0, (value + shown * accepted / judged) / n, math.nan)


def _share(verdicts: NDArray[np.float64], clusters: NDArray[np.int64] | None, several: bool, draws: Draws) -> Clustered:
    """The share accepted: exact where one annotator judged independent misses, else from a bootstrap of them."""
    n = len(verdicts)
    if not n:
        return NOTHING
    if not several and clusters is None:
        return Clustered(float(verdicts.mean()), *clopper_pearson(round(verdicts.sum()), n))
    found = bootstrap_means(verdicts[:, None], clusters, draws.resamples, draws.seed)
    return Clustered(float(found.mean[0]), float(found.low[0]), float(found.high[0]))


def _of_misses(n: int, what: str) -> str:
    return f"{n} {what}" if n else ""


def _why(share: Clustered, adjusted: Clustered, n_judged: int, alike: bool) -> tuple[str, ...]:
    """Why the share or an interval is not there."""
    if not n_judged:
        return ("not estimable: no miss was judged",)
    reason = "the judged misses are all alike" if alike else "too few judged misses, or alike for every poem"
    absent = [name for name, found in (("share", share), ("adjusted", adjusted)) if math.isnan(found.low)]
    return (f"interval of {' and '.join(absent)} not estimable: {reason}",) if absent else ()
