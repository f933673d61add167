"""Does success depend on the age of the poem? Slopes over eras, for dense and lexical systems. Exploratory."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verseir.analyses.paired import Cell, cells, notes, tested
from verseir.analyses.targets import target_values
from verseir.stats.pooled_logit import Departure, Slope, departure_from_linearity, pooled_slope, slope_difference
from verseir.tables import define

ERA_TREND = define(
    "era_trend",
    {
        "family": pl.String,
        "corpus": pl.String,
        "query_set": pl.String,
        "mode": pl.String,
        "who": pl.String,
        "quantity": pl.String,
        "n_queries": pl.Int64,
        "n_eras": pl.Int64,
        "estimate": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "test": pl.String,
        "p": pl.Float64,
        "p_holm": pl.Float64,
        "family_size": pl.Int64,
        "note": pl.String,
    },
    nullable="estimate ci_low ci_high p p_holm note",
    unique="corpus query_set mode who quantity",
)
SLOPE = "slope per era step"
DEPARTURE = "departure from linearity"


def era_trend(
    per_query: pl.DataFrame,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    poems: Mapping[str, pl.DataFrame],
    success: str,
    lexical: Collection[str],
    dense: Collection[str],
) -> pl.DataFrame:
    """The ERA_TREND table, to be read as exploratory: eras are coarse, and differ in more than their age.

    A slope is the change of the log-odds of success when the target is one place later in the order of eras (that of
    the corpora: one place is one era of the full list, whether the corpus has it or not). It is marginal, over queries
    and systems, with a standard error robust to what they share (see ``pooled_logit``). The systems of a group have an
    intercept each and one slope; the difference of the groups is an interaction in one model of both. The departure
    from linearity is the likelihood ratio of eras as categories against the slope.

    Args:
        per_query: a PER_QUERY table.
        queries: the QUERIES of the query sets to analyse; others are passed over.
        qrels: their QRELS, with a column ``query_set``.
        poems: corpus -> its POEMS. A query whose target has no ``era_order``, or whose targets differ in it, is left
            out and counted in the note.
        success: the measure; a query succeeds where it is above 0.
        lexical: the lexical systems.
        dense: the dense systems.
    """
    rows: list[dict[str, Any]] = []
    for cell in cells(per_query.filter(pl.col("corpus").is_in(list(poems))), queries, qrels, [success]):
        judged = qrels.filter(pl.col("query_set") == cell.query_set)
        era = target_values(cell.query_ids, judged, poems[cell.corpus].select("poem_id", value="era_order"))
        known = ~np.isnan(era)
        dated = cell.rows(known)
        for mode in cell.modes():
            for row in _rows(dated, mode, success, era[known], lexical, dense):
                rows.append(
                    row
                    | {
                        "family": f"era_trend/{cell.corpus}/{cell.query_set}/{mode}/{row['family']}",
                        "corpus": cell.corpus,
                        "query_set": cell.query_set,
                        "mode": mode,
                        "n_queries": int(known.sum()),
                        "n_eras": len(np.unique(era[known])),
                        "note": notes(row["note"], left_out(known, "era")),
                    }
                )
    return tested(rows, ERA_TREND, ["corpus", "query_set", "mode", "quantity", "who"])


def left_out(known: NDArray[np.bool_], name: str) -> str:
    """How many queries have no target with the property, in words; empty where all have one."""
    n = int((~known).sum())
    return f"{n} of {len(known)} queries left out: no one {name} of their target is known" if n else ""


def _rows(
    cell: Cell,
    mode: str,
    success: str,
    era: NDArray[np.float64],
    lexical: Collection[str],
    dense: Collection[str],
) -> Iterator[dict[str, Any]]:
    """The rows of one mode; ``family`` is the last part of its name."""
    present = cell.systems(mode, success)
    outcome = {system: (cell.of(mode, system, success) > 0).astype(np.float64)[:, None] for system in present}
    clusters = cell.clusters
    alone, together = ("logit, robust", "query") if clusters is None else ("logit, robust by poem", "poem")
    pooled = f"logit, robust by {together}"
    for system in present:
        yield {"family": "systems", **_slope(pooled_slope(outcome[system], era, clusters), system, alone)}
    groups = {
        kind: np.hstack([np.empty((len(era), 0)), *(outcome[system] for system in present if system in systems)])
        for kind, systems in (("dense", dense), ("lexical", lexical))
    }
    absent = [kind for kind, group in groups.items() if not group.shape[1]]
    for kind, group in groups.items():
        if kind in absent:
            yield {"family": "groups", **_slope(_nothing([kind]), f"{kind} systems", pooled)}
            continue
        slope = pooled_slope(group, era, clusters)
        yield {"family": "groups", **_slope(slope, f"{kind} systems", pooled, _constant(group))}
        departure = departure_from_linearity(group, era, clusters)
        plain = clusters is None and group.shape[1] == 1
        yield {"family": "linearity", **_departure(departure, f"{kind} systems", plain)}
    difference = _nothing(absent) if absent else slope_difference(groups["dense"], groups["lexical"], era, clusters)
    yield {"family": "groups", **_slope(difference, "dense minus lexical", pooled)}


def _constant(group: NDArray[np.float64]) -> str:
    n = int((np.ptp(group, axis=0) == 0).sum()) if len(group) else 0
    return f"{n} of {group.shape[1]} systems left out: constant outcome" if 0 < n < group.shape[1] else ""


def _nothing(absent: list[str]) -> Slope:
    return Slope(np.nan, np.nan, np.nan, np.nan, f"not estimable: there is no {' and no '.join(absent)} system")


def _slope(slope: Slope, who: str, test: str, note: str = "") -> dict[str, Any]:
    ends = {"estimate": slope.estimate, "ci_low": slope.low, "ci_high": slope.high, "p": slope.p}
    return {"who": who, "quantity": SLOPE, "test": test, "note": notes(slope.note, note) or "", **ends}


def _departure(departure: Departure, who: str, plain: bool) -> dict[str, Any]:
    """The row of a departure; its estimate is the likelihood-ratio statistic, which has no interval."""
    gone = [f"era {level:g} left out of this test: {why}" for level, why in departure.left_out]
    test = "likelihood ratio" + ("" if plain else " (Rao-Scott)")
    return {
        "who": who,
        "quantity": DEPARTURE,
        "test": f"{test}, {departure.df} df" if departure.df else test,
        "estimate": departure.statistic,
        "ci_low": np.nan,
        "ci_high": np.nan,
        "p": departure.p,
        "note": notes(departure.note, *gone) or "",
    }
