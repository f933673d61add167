"""Which differences between systems are established? Paired tests with intervals, corrected in declared families."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verseir.analyses.clusters import cluster_kind, clusters_of
from verseir.analyses.leaderboard import CELL, query_matrices
from verseir.stats.bootstrap import bootstrap_means, cluster_sums
from verseir.stats.holm import holm
from verseir.stats.mcnemar import mcnemar_exact, tango_interval
from verseir.stats.permutation import sign_flip
from verseir.tables import CONTRASTS, Table

#: An end of an interval that is nearer to 0 than this is 0: it hangs on the order in which values are added up.
NOTHING = 1e-12
FLAT = "interval not estimable: the difference does not vary"


class Outcome(NamedTuple):
    """One tested difference: its estimate, interval, test, p, the p of a t test beside it, and a note."""

    estimate: float
    ci_low: float
    ci_high: float
    test: str
    p: float
    p_t: float
    note: str


def compare(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    clusters: NDArray[np.int64] | None,
    resamples: int,
    flips: int,
    seed: int,
    kind: str = "poem",
) -> Outcome:
    """Compare two systems on the same queries, values float64 [n] each.

    A binary measure on independent queries: the exact McNemar test with Tango's interval. Any other, or queries
    that share a poem: the sign-flip test (whole poems flipped) with the BCa interval of the mean difference. The name
    of the test says what was flipped whole: ``kind``, as ``clusters.cluster_kind`` tells it.
    """
    difference = a - b
    estimate = float(difference.mean()) if len(a) else math.nan
    sums, _ = cluster_sums(difference[:, None], clusters)
    if len(sums) < 2:
        return Outcome(
            estimate,
            math.nan,
            math.nan,
            "none",
            math.nan,
            math.nan,
            "not estimable: fewer than two independent queries",
        )
    binary = bool(np.isin(a, (0.0, 1.0)).all() and np.isin(b, (0.0, 1.0)).all())
    note = "the systems score alike on every query" if not difference.any() else ""
    if binary and clusters is None:
        only_a, only_b = int((difference > 0).sum()), int((difference < 0).sum())
        low, high = tango_interval(only_a, only_b, len(a))
        return Outcome(estimate, low, high, "McNemar exact", mcnemar_exact(only_a, only_b), math.nan, note)
    interval = bootstrap_means(difference[:, None], clusters, resamples, seed)
    low, high = (0.0 if abs(end[0]) < NOTHING else float(end[0]) for end in (interval.low, interval.high))
    if not difference.any():  # none was measured either: an interval of zero width would lie
        low = high = math.nan
    elif math.isnan(low) or math.isnan(high):
        note = FLAT
    flipped = sign_flip(difference[:, None], clusters, flips, seed)
    test = ("exact sign-flip" if flipped.exact[0] else "sign-flip") + ("" if clusters is None else f" by {kind}")
    return Outcome(estimate, low, high, test, float(flipped.p[0]), _paired_t(sums[:, 0]), note)


def _paired_t(sums: NDArray[np.float64]) -> float:
    from scipy import stats

    return float(stats.ttest_1samp(sums, 0.0).pvalue) if np.ptp(sums) > 0 else math.nan


def contrasts(
    per_query: pl.DataFrame,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    families: list[Mapping[str, Any]],
    resamples: int,
    flips: int,
    seed: int,
) -> pl.DataFrame:
    """The CONTRASTS table of the declared families: every system against the baseline of its family.

    Args:
        per_query: a PER_QUERY table.
        queries: the QUERIES of all its query sets.
        qrels: the QRELS of all its query sets, with a column ``query_set``.
        families: as declared in the study: ``family``, ``baseline`` (a system or ``best``), ``measures``, and
            optionally ``query_sets``, ``modes``, ``systems`` to select and ``per`` to split. Families ``of`` query sets
            or modes are passed over: see ``settings.setting_contrasts``.
        resamples: bootstrap resamples.
        flips: random sign flips.
        seed: of both.
    """
    families = [family for family in families if family.get("of", "systems") == "systems"]
    rows: list[dict[str, Any]] = []
    for (corpus, query_set, mode), wide in query_matrices(per_query):
        inside = pl.col("query_set") == query_set
        asked = queries.filter(inside)
        clusters, kind = clusters_of(wide["query_id"].to_list(), asked, qrels.filter(inside)), cluster_kind(asked)
        for family in families:
            if query_set in family.get("query_sets", [query_set]) and mode in family.get("modes", [mode]):
                cell = {"family": family["family"], "corpus": corpus, "query_set": query_set, "mode": mode}
                for pair, outcome in _pairs(wide, family, clusters, kind, resamples, flips, seed):
                    rows.append(cell | pair | outcome._asdict())
    frame = pl.DataFrame(
        rows, schema={name: CONTRASTS.columns[name] for name in CONTRASTS.columns if name not in ADDED}
    )
    floats = pl.col("estimate", "ci_low", "ci_high", "p", "p_t").fill_nan(None)
    tidy = frame.with_columns(floats, note=pl.col("note").replace("", None))
    return corrected(tidy, families, CONTRASTS).sort("family", *CELL, "measure", "b", "a")


ADDED = ("p_holm", "family_size")


def _pairs(
    wide: pl.DataFrame,
    family: Mapping[str, Any],
    clusters: NDArray[np.int64] | None,
    kind: str,
    resamples: int,
    flips: int,
    seed: int,
) -> Iterator[tuple[dict[str, Any], Outcome]]:
    present = sorted({column.split("\t")[0] for column in wide.columns[1:]})
    for measure in sorted(family["measures"]):
        values = {system: wide[f"{system}\t{measure}"].to_numpy() for system in present}
        chosen = [system for system in present if system in family.get("systems", present)]
        baseline, note = family["baseline"], ""
        if baseline == "best":
            baseline = max(chosen, key=lambda system: values[system].mean())  # the first by name among equals
            note = "the best was picked on the same queries"
        if baseline not in values:
            continue
        for system in chosen:
            if system != baseline:
                outcome = compare(values[system], values[baseline], clusters, resamples, flips, seed, kind)
                notes = "; ".join(part for part in (outcome.note, note) if part)
                yield {"a": system, "b": baseline, "measure": measure, "n": len(wide)}, outcome._replace(note=notes)


#: The column of what families of each kind compare.
COMPARED = {"systems": "system", "query_sets": "query_set", "modes": "mode"}


def corrected(frame: pl.DataFrame, families: Sequence[Mapping[str, Any]], table: Table) -> pl.DataFrame:
    """Add ``p_holm`` and ``family_size`` within each family, or each part of a family that is declared with ``per``.

    ``per`` what the family compares is per ``a``: each system, query set or mode that is set against the baseline.

    Args:
        frame: the columns of ``table`` but for these two; a test without p counts in no family.
        families: as declared: ``family``, and perhaps ``of`` and ``per``.
        table: the contract of the result.
    """
    parts = [pl.DataFrame(schema=dict(table.columns))]
    for family in families:
        rows = frame.filter(pl.col("family") == family["family"])
        compared = COMPARED[family.get("of", "systems")]
        split = ["a" if name == compared else name for name in family.get("per", [])]
        for _, part in rows.group_by(["family", *split], maintain_order=True):
            adjusted = pl.Series("p_holm", holm(part["p"].fill_null(math.nan).to_list()), dtype=pl.Float64)
            size = pl.lit(part["p"].count(), dtype=pl.Int64)
            parts.append(part.with_columns(adjusted.fill_nan(None), family_size=size).select(list(table.columns)))
    return pl.concat(parts)
