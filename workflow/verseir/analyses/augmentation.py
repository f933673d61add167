"""What do explanations in the index do? Every indexing mode against the base mode, by register and by quotation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from verseir.analyses.paired import TESTED, Cell, Draws, cells, compare_columns, left_out, notes, tested
from verseir.analyses.quotation import runs_of, stratum_note
from verseir.kept import Keeps, same_poems
from verseir.stats.strata import two_strata
from verseir.tables import define

ALL = "all"

AUGMENTATION = define(
    "augmentation",
    {
        "family": pl.String,
        "corpus": pl.String,
        "query_set": pl.String,
        "register": pl.String,
        "mode": pl.String,
        "base_mode": pl.String,
        "system": pl.String,
        "measure": pl.String,
        "n": pl.Int64,
        "base_mean": pl.Float64,
        "mean": pl.Float64,
        **TESTED,
        "p_t": pl.Float64,
        "note": pl.String,
    },
    nullable="estimate ci_low ci_high p p_holm p_t note",
    unique="family system",
)
AUGMENTATION_BY_QUOTATION = define(
    "augmentation_by_quotation",
    {
        "family": pl.String,
        "corpus": pl.String,
        "query_set": pl.String,
        "mode": pl.String,
        "base_mode": pl.String,
        "threshold": pl.Int64,
        "system": pl.String,
        "measure": pl.String,
        "n_quoting": pl.Int64,
        "n_not_quoting": pl.Int64,
        "change_quoting": pl.Float64,
        "change_not_quoting": pl.Float64,
        **TESTED,
        "p_permutation": pl.Float64,
        "note": pl.String,
    },
    nullable="change_quoting change_not_quoting estimate ci_low ci_high p p_holm p_permutation note",
    unique="family system",
)

#: One compared column of a cell: mode, system, measure.
Key = tuple[str, str, str]


def augmentation(
    per_query: pl.DataFrame,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    base_mode: str,
    measures: Sequence[str],
    draws: Draws,
    keep: Keeps | None = None,
) -> pl.DataFrame:
    """The AUGMENTATION table: the outcome in each mode less that in the base mode, on the same queries.

    A mode that keeps other poems than the base mode has other answers, and no rows.
    ``register`` is ``all``, or one register of a set that holds others too: a set of a single register is tested once,
    under ``all``.

    Args:
        per_query: a PER_QUERY table.
        queries: the QUERIES of the query sets in question.
        qrels: their QRELS, with a column ``query_set``.
        base_mode: the mode that the others are compared with; a corpus without it has no rows.
        measures: as named in ``per_query``.
        draws: resamples, flips and seed.
        keep: of each mode that indexes some poems only.
    """
    rows: list[dict[str, Any]] = []
    for cell in cells(per_query, queries, qrels, measures):
        keys = _keys(cell, base_mode, keep or {})
        for register, chosen in _registers(cell, queries):
            rows += _effects(cell.rows(chosen), register, base_mode, keys, draws)
    return tested(rows, AUGMENTATION, ["corpus", "query_set", "register", "mode", "measure", "system"])


def _keys(cell: Cell, base_mode: str, keep: Keeps) -> list[Key]:
    """The columns of a cell in other modes of the same poems whose system searched the base mode too, sorted."""
    return [
        (mode, system, measure)
        for mode, system, measure in sorted(cell.columns)
        if mode != base_mode and (base_mode, system, measure) in cell.columns and same_poems(keep, mode, base_mode)
    ]


def _registers(cell: Cell, queries: pl.DataFrame) -> Iterator[tuple[str, np.ndarray]]:
    here = queries.filter(pl.col("query_set") == cell.query_set)
    register_of = dict(here.select("query_id", "register").iter_rows())
    found = [register_of.get(query) for query in cell.query_ids]
    yield ALL, np.ones(len(found), dtype=bool)
    for register in sorted({name for name in found if name}):
        chosen = np.array([name == register for name in found], dtype=bool)
        if not chosen.all():
            yield register, chosen


def _effects(cell: Cell, register: str, base_mode: str, keys: list[Key], draws: Draws) -> Iterator[dict[str, Any]]:
    if not keys:
        return
    values = cell.values[:, [cell.columns[key] for key in keys]]
    base = cell.values[:, [cell.columns[base_mode, system, measure] for _, system, measure in keys]]
    outcomes = compare_columns(values, base, cell.clusters, draws, kind=cell.kind)
    for j, (mode, system, measure) in enumerate(keys):
        yield {
            "family": f"augmentation/{cell.corpus}/{cell.query_set}/{register}/{mode}/{measure}",
            "corpus": cell.corpus,
            "query_set": cell.query_set,
            "register": register,
            "mode": mode,
            "base_mode": base_mode,
            "system": system,
            "measure": measure,
            "n": len(values),
            "base_mean": float(base[:, j].mean()),
            "mean": float(values[:, j].mean()),
            **outcomes[j]._asdict(),
            "note": notes(outcomes[j].note),
        }


def augmentation_by_quotation(
    per_query: pl.DataFrame,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    wording: pl.DataFrame,
    base_mode: str,
    threshold: int,
    measures: Sequence[str],
    draws: Draws,
    keep: Keeps | None = None,
) -> pl.DataFrame:
    """The AUGMENTATION_BY_QUOTATION table: the change on quoting queries less that on the others.

    Args:
        per_query: a PER_QUERY table.
        queries: the QUERIES of the query sets in question.
        qrels: their QRELS, with a column ``query_set``.
        wording: the WORDING rows of these sets in all corpora; queries without a row are left out.
        base_mode: the mode that the others are compared with.
        threshold: tokens in a row that make a query quoting.
        measures: as named in ``per_query``.
        draws: resamples, flips and seed.
        keep: of each mode that indexes some poems only, as above.
    """
    rows: list[dict[str, Any]] = []
    for whole in cells(per_query, queries, qrels, measures):
        runs = runs_of(whole, wording)
        known = ~np.isnan(runs)
        left = left_out(int((~known).sum()))
        keys = _keys(whole, base_mode, keep or {})
        rows += _by_quotation(whole.rows(known), runs[known] >= threshold, threshold, base_mode, keys, draws, left)
    order = ["corpus", "query_set", "mode", "measure", "system"]
    return tested(rows, AUGMENTATION_BY_QUOTATION, order)


def _by_quotation(
    cell: Cell, quoting: np.ndarray, threshold: int, base_mode: str, keys: list[Key], draws: Draws, left: str
) -> Iterator[dict[str, Any]]:
    if not keys:
        return
    base = [cell.columns[base_mode, system, measure] for _, system, measure in keys]
    change = cell.values[:, [cell.columns[key] for key in keys]] - cell.values[:, base]
    found = two_strata(change, quoting, cell.clusters, *draws)
    for j, (mode, system, measure) in enumerate(keys):
        yield {
            "family": f"augmentation-by-quotation/{cell.corpus}/{cell.query_set}/{mode}/{threshold}/{measure}",
            "corpus": cell.corpus,
            "query_set": cell.query_set,
            "mode": mode,
            "base_mode": base_mode,
            "threshold": threshold,
            "system": system,
            "measure": measure,
            "n_quoting": int(quoting.sum()),
            "n_not_quoting": int((~quoting).sum()),
            "change_quoting": float(change[quoting, j].mean()) if quoting.any() else math.nan,
            "change_not_quoting": float(change[~quoting, j].mean()) if not quoting.all() else math.nan,
            "estimate": float(found.estimate[j]),
            "ci_low": float(found.low[j]),
            "ci_high": float(found.high[j]),
            "test": "none" if math.isnan(found.p[j]) else found.test,
            "p": float(found.p[j]),
            "p_permutation": float(found.p_permutation[j]),
            "note": notes(stratum_note(change[:, j], quoting, found.p[j], found.low[j]), left),
        }
