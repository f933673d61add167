"""Does success follow the words that query and poem share, or their nearness in meaning?

For each system, the rank correlation of its per-query values with lexical containment and with embedding proximity
under a fixed reference encoder; and the same for the changes of all three from the base mode to another indexing mode.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verseir.analyses.paired import Cell, Draws, cells, notes, tested
from verseir.kept import Keeps, same_poems
from verseir.stats.correlation import dependent_correlations, kendall, spearman
from verseir.stats.paired_ranks import PairedRanks, paired_rank_correlations
from verseir.tables import define

LEXICAL, EMBEDDING, NOT_SEPARATED = "lexical", "embedding", "not separated"
#: A difference is separated where its corrected p is below this.
ALPHA = 0.05
#: Systems that a rank correlation over systems needs.
FEWEST = 3
#: Queries that must have another value than most: of fewer, a rank correlation is the rank of a few queries.
FEWEST_APART = 5
#: Random permutations where systems are tied.
FLIPS = 9_999

MECHANISM = define(
    "mechanism",
    {
        "family": pl.String,
        "corpus": pl.String,
        "query_set": pl.String,
        "mode": pl.String,
        "against_mode": pl.String,
        "measure": pl.String,
        "system": pl.String,
        "signal": pl.String,
        "reference": pl.Boolean,
        "n": pl.Int64,
        "mean": pl.Float64,
        "rho_lexical": pl.Float64,
        "lexical_low": pl.Float64,
        "lexical_high": pl.Float64,
        "rho_embedding": pl.Float64,
        "embedding_low": pl.Float64,
        "embedding_high": pl.Float64,
        "difference": pl.Float64,
        "difference_low": pl.Float64,
        "difference_high": pl.Float64,
        "rho_between": pl.Float64,
        "p_meng": pl.Float64,
        "p_steiger": pl.Float64,
        "p_hittner": pl.Float64,
        "p_williams": pl.Float64,
        "p": pl.Float64,
        "p_holm": pl.Float64,
        "family_size": pl.Int64,
        "better": pl.String,
        "note": pl.String,
    },
    nullable="against_mode mean rho_lexical lexical_low lexical_high rho_embedding embedding_low embedding_high"
    " difference difference_low difference_high rho_between p_meng p_steiger p_hittner p_williams p p_holm better note",
    unique="corpus query_set mode against_mode measure system",
)
MECHANISM_SUMMARY = define(
    "mechanism_summary",
    {
        "family": pl.String,
        "corpus": pl.String,
        "query_set": pl.String,
        "mode": pl.String,
        "against_mode": pl.String,
        "measure": pl.String,
        "signal": pl.String,
        "with_reference": pl.Boolean,
        "n_systems": pl.Int64,
        "n_estimable": pl.Int64,
        "lexical_better": pl.Int64,
        "embedding_better": pl.Int64,
        "lexical_separated": pl.Int64,
        "embedding_separated": pl.Int64,
        "tau": pl.Float64,
        "test": pl.String,
        "p": pl.Float64,
        "p_holm": pl.Float64,
        "family_size": pl.Int64,
        "rho": pl.Float64,
        "p_rho": pl.Float64,
        "note": pl.String,
    },
    nullable="against_mode tau p p_holm rho p_rho note",
    unique="corpus query_set mode against_mode measure signal with_reference",
)
PLACE = ["corpus", "query_set", "mode", "against_mode", "measure"]


class Kinds(NamedTuple):
    """Which systems match words, which fuse others, and which are the reference encoder; the first two apart, dense."""

    lexical: Collection[str]
    fusions: Collection[str]
    references: Collection[str]

    def signal(self, system: str) -> str:
        """``lexical``, ``fusion`` or ``dense``."""
        return "lexical" if system in self.lexical else "fusion" if system in self.fusions else "dense"


class _Sample(NamedTuple):
    """Predictors float64 [n, 2] (containment, proximity) of the queries of a cell, NaN where unknown, and a note."""

    predictors: NDArray[np.float64]
    note: str


def mechanism(
    per_query: pl.DataFrame,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    indexed: pl.DataFrame,
    proximity: pl.DataFrame,
    measures: Collection[str],
    base_mode: str,
    kinds: Kinds,
    draws: Draws,
    keep: Keeps | None = None,
) -> pl.DataFrame:
    """The MECHANISM table: for each system, how its values follow containment and proximity.

    A row with ``against_mode`` null is of the values in ``mode``; any other of the changes from ``against_mode`` (the
    base mode) to ``mode``, where both keep the same poems. ``mean`` is the mean value of the system in ``mode``, or in
    the base mode for a change.

    ``p`` tests the difference of the two correlations and inverts its BCa bootstrap interval: unlike the tests of Meng,
    Steiger, Hittner and Williams it assumes no normal variables, so that it serves for binary values, and it serves
    where queries share a poem. They stand beside it where queries are independent. Holm's correction is over the
    systems of one place and measure. ``better`` is the predictor with the higher correlation where the corrected p is
    below 5%.

    The reference encoder is not independent of its own proximities: its rows are marked ``reference``.

    Args:
        per_query: a PER_QUERY table.
        queries: the QUERIES of the known-item query sets.
        qrels: their QRELS, with a column ``query_set``.
        indexed: their INDEXED rows.
        proximity: their PROXIMITY rows; none without a reference encoder.
        measures: as named in ``per_query``.
        base_mode: the mode that others are compared with.
        kinds: of the systems.
        draws: resamples and seed.
        keep: of each mode that indexes some poems only.
    """
    known = kinds._replace(references={*kinds.references, *proximity["encoder"].unique().to_list()})
    rows: list[dict[str, Any]] = []
    for cell in cells(per_query, queries, qrels, measures):
        samples = {mode: _sample(cell, mode, indexed, proximity) for mode in cell.modes()}
        for mode in cell.modes():
            rows += _rows(cell, mode, None, samples, known, draws)
            if mode != base_mode and base_mode in samples and same_poems(keep or {}, mode, base_mode):
                rows += _rows(cell, mode, base_mode, samples, known, draws)
    frame = tested(rows, MECHANISM, [*PLACE, "system"])
    return frame.with_columns(better=_better(pl.col("p_holm"), pl.col("difference")))


def _better(p: pl.Expr, difference: pl.Expr) -> pl.Expr:
    higher = pl.when(difference > 0).then(pl.lit(LEXICAL)).otherwise(pl.lit(EMBEDDING))
    return pl.when(p.is_null()).then(None).when(p < ALPHA).then(higher).otherwise(pl.lit(NOT_SEPARATED))


def _sample(cell: Cell, mode: str, indexed: pl.DataFrame, proximity: pl.DataFrame) -> _Sample:
    here = [pl.col("corpus") == cell.corpus, pl.col("mode") == mode, pl.col("query_set") == cell.query_set]
    predictors = np.full((len(cell.query_ids), 2), math.nan)
    for k, (table, name) in enumerate(((indexed, "containment"), (proximity, "proximity"))):
        values = dict(table.filter(*here).select("query_id", name).iter_rows())
        predictors[:, k] = [values.get(query, math.nan) for query in cell.query_ids]
    absent = "" if not np.isnan(predictors[:, 1]).all() else "proximity not estimable: no reference encoder measured it"
    return _Sample(predictors, absent)


def _rows(
    cell: Cell, mode: str, base: str | None, samples: dict[str, _Sample], kinds: Kinds, draws: Draws
) -> Iterator[dict[str, Any]]:
    """The rows of one place: all systems and measures, with shared resamples."""
    keys = sorted(key for key in cell.columns if key[0] == mode)
    keys = [key for key in keys if base is None or (base, *key[1:]) in cell.columns]
    if not keys:
        return
    predictors, absent = samples[mode]
    values = cell.values[:, [cell.columns[key] for key in keys]]
    strength = values
    if base is not None:
        predictors = predictors - samples[base].predictors
        absent = notes(absent, samples[base].note) or ""
        strength = cell.values[:, [cell.columns[base, *key[1:]] for key in keys]]
        values = values - strength
    whole, note = _complete(predictors, absent)
    # Equal changes must be tied, though their subtractions may differ in the last bit.
    part, chosen, values = cell.rows(whole), predictors[whole].round(12), values[whole].round(12)
    found = paired_rank_correlations(values, chosen, part.clusters, draws.resamples, draws.seed)
    between = spearman(chosen[:, 0], chosen[:, 1]).estimate if not np.isnan(chosen).any() else math.nan
    against = base or "values"
    for j, (_, system, measure) in enumerate(keys):
        yield {
            "family": f"mechanism/{cell.corpus}/{cell.query_set}/{mode}/{against}/{measure}",
            "corpus": cell.corpus,
            "query_set": cell.query_set,
            "mode": mode,
            "against_mode": base,
            "measure": measure,
            "system": system,
            "signal": kinds.signal(system),
            "reference": system in kinds.references,
            "n": len(part.query_ids),
            "mean": float(strength[whole, j].mean()) if whole.any() else math.nan,
            **(_correlations(found, j, between, part) if _apart(values[:, j]) >= FEWEST_APART else _UNKNOWN),
            "better": None,
            "note": notes(_reason(values[:, j], chosen, part, base is not None, found, j), note, _clustered(part)),
        }


def _complete(predictors: NDArray[np.float64], absent: str) -> tuple[NDArray[np.bool_], str]:
    """The queries bool [n] with both predictors, or with containment where proximity is ``absent``; and a note."""
    lexical = ~np.isnan(predictors[:, 0])
    if absent:
        return lexical, absent
    both = lexical & ~np.isnan(predictors[:, 1])
    gone = int((lexical & ~both).sum())
    return both, f"{gone} without a proximity left out" if gone else ""


def _correlations(found: PairedRanks, j: int, between: float, part: Cell) -> dict[str, float]:
    first, second = float(found.first.estimate[j]), float(found.second.estimate[j])
    independent = part.clusters is None
    beside = dependent_correlations(first, second, between, len(part.query_ids) if independent else 0)
    return {
        "rho_lexical": first,
        "lexical_low": float(found.first.low[j]),
        "lexical_high": float(found.first.high[j]),
        "rho_embedding": second,
        "embedding_low": float(found.second.low[j]),
        "embedding_high": float(found.second.high[j]),
        "difference": float(found.difference.estimate[j]),
        "difference_low": float(found.difference.low[j]),
        "difference_high": float(found.difference.high[j]),
        "rho_between": between,
        "p_meng": beside.meng_p,
        "p_steiger": beside.steiger_p,
        "p_hittner": beside.hittner_p,
        "p_williams": beside.williams_p,
        "p": float(found.p[j]),
    }


#: Of a correlation with hardly anything to correlate.
_UNKNOWN = dict.fromkeys(
    "rho_lexical lexical_low lexical_high rho_embedding embedding_low embedding_high difference difference_low"
    " difference_high rho_between p_meng p_steiger p_hittner p_williams p".split(),
    math.nan,
)


def _apart(values: NDArray[np.float64]) -> int:
    """How many of ``values`` [n] are not the most common one."""
    return len(values) - int(max(np.unique(values, return_counts=True)[1], default=0))


def _reason(
    values: NDArray[np.float64],
    predictors: NDArray[np.float64],
    part: Cell,
    change: bool,
    found: PairedRanks,
    j: int,
) -> str:
    """Why a correlation or its interval is not estimable; or that neither predictor predicts."""
    what = "change" if change else "value"
    units = len(part.query_ids) if part.clusters is None else len(np.unique(part.clusters))
    if not len(values):
        return "not estimable: no query has a target whose overlap in this mode is known"
    if len(values) < 2:
        return "not estimable: one query"
    if np.ptp(values) == 0:
        return f"not estimable: the {what} is the same for every query"
    if (apart := _apart(values)) < FEWEST_APART:
        return f"not estimable: {apart} of {len(values)} queries have another {what} than the rest"
    if np.ptp(predictors[:, 0]) == 0:
        return f"lexical not estimable: the {'change of ' if change else ''}containment is the same for every query"
    if units < 4:
        return "interval not estimable: fewer than four independent queries"
    if np.isnan(predictors[:, 1]).any():
        return ""
    if np.ptp(predictors[:, 1]) == 0:
        return f"embedding not estimable: the {'change of ' if change else ''}proximity is the same for every query"
    if math.isnan(found.difference.low[j]):
        return "interval not estimable: too few resamples vary"
    highest = max(found.first.estimate[j], found.second.estimate[j])
    return "neither predicts: both correlations are at or below 0" if highest <= 0 else ""


def _clustered(part: Cell) -> str:
    if part.clusters is None:
        return ""
    return "queries share poems: the tests of Meng, Steiger, Hittner and Williams do not hold"


def summarise_mechanism(table: pl.DataFrame) -> pl.DataFrame:
    """The MECHANISM_SUMMARY of a MECHANISM table: lexical, dense and fused systems apart.

    How many systems containment or proximity predicts better, by the point and separated; and over the systems, whether
    a higher mean goes with a lower correlation with containment: Kendall's tau-b with its p, Spearman's rho beside.
    Where a group holds the reference encoder, it is summarised with and without it. Means and correlations come from
    the same queries, and a mean near 0 or 1 leaves a correlation little room: read tau as a description.
    """
    rows: list[dict[str, Any]] = []
    for place, part in table.group_by([*PLACE, "signal"]):
        cell = dict(zip([*PLACE, "signal"], place, strict=True))
        rows.append(_summary(cell, True, part))
        if part["reference"].any():
            rows.append(_summary(cell, False, part.filter(~pl.col("reference"))))
    order = [*PLACE, "signal", "with_reference"]
    return tested(rows, MECHANISM_SUMMARY, order)


def _summary(cell: dict[str, Any], with_reference: bool, part: pl.DataFrame) -> dict[str, Any]:
    part = part.sort("system")
    both = part.filter(pl.col("difference").is_not_null())
    over = part.filter(pl.col("rho_lexical").is_not_null())
    strength, leaning = over["mean"].to_numpy(), over["rho_lexical"].to_numpy()
    note, tau, rho = None, kendall([], []), spearman([], [])
    if len(over) < FEWEST:
        note = f"not estimable: fewer than three {cell['signal']} systems"
    else:
        tau, rho = kendall(strength, leaning, FLIPS), spearman(strength, leaning)
        if math.isnan(tau.estimate):
            note = "not estimable: the systems do not differ"
    parts = ["mechanism over systems", *(cell[name] for name in ("corpus", "query_set", "measure", "signal"))]
    return cell | {
        "family": "/".join(parts if with_reference else [*parts, "without the reference encoder"]),
        "with_reference": with_reference,
        "n_systems": len(part),
        "n_estimable": len(both),
        "lexical_better": int((both["difference"] > 0).sum()),
        "embedding_better": int((both["difference"] < 0).sum()),
        "lexical_separated": int((both["better"] == LEXICAL).sum()),
        "embedding_separated": int((both["better"] == EMBEDDING).sum()),
        "tau": tau.estimate,
        "test": f"Kendall tau-b, {tau.method}" if tau.method != "none" else "none",
        "p": tau.p,
        "rho": rho.estimate,
        "p_rho": rho.p,
        "note": note,
    }
