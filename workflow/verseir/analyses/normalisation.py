"""What does the normalisation of texts do to each system? Every preset against the system's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

import numpy as np
import polars as pl

from verseir.analyses.clusters import cluster_kind, clusters_of
from verseir.analyses.paired import TESTED, Draws, compare_columns, notes, tested
from verseir.layout import Run
from verseir.measures import per_query
from verseir.stats.bootstrap import bootstrap_means
from verseir.tables import define

NORMALISATION = define(
    "normalisation",
    {
        "family": pl.String,
        "corpus": pl.String,
        "query_set": pl.String,
        "mode": pl.String,
        "system": pl.String,
        "own_preset": pl.String,
        "preset": pl.String,
        "measure": pl.String,
        "n": pl.Int64,
        "mean": pl.Float64,
        "mean_ci_low": pl.Float64,
        "mean_ci_high": pl.Float64,
        **TESTED,
        "p_t": pl.Float64,
        "note": pl.String,
    },
    nullable="own_preset mean_ci_low mean_ci_high estimate ci_low ci_high p p_holm p_t note",
    unique="corpus query_set mode system preset measure",
)


def ablate_normalisation(
    judged: Iterable[tuple[Run, pl.DataFrame, pl.DataFrame, list[str]]],
    queries: pl.DataFrame,
    variants: Mapping[str, Mapping[str, str]],
    measures: Iterable[str],
    draws: Draws,
) -> pl.DataFrame:
    """The NORMALISATION table: means of each system under each preset, and differences from its own preset.

    A family holds the differences of one measure in one corpus, query set and mode.

    Args:
        judged: what ``inputs.judged_runs`` gives: runs of one query set, corpus and mode are neighbours. Runs of other
            systems are passed over.
        queries: the QUERIES of their query sets.
        variants: system -> preset -> the name of its runs; the system's own preset has its own name.
        measures: names that ``measures.parse_measure`` knows.
        draws: of the intervals and tests.
    """
    named = {run: (system, preset) for system, presets in variants.items() for preset, run in presets.items()}
    own = {system: preset for system, presets in variants.items() for preset, run in presets.items() if run == system}
    names = sorted(set(measures))
    rows: list[dict[str, Any]] = []
    wanted = (one for one in judged if one[0].system in named)
    for (corpus, mode, query_set), cell in groupby(wanted, key=lambda one: one[0][:3]):
        values: dict[tuple[str, str], np.ndarray] = {}
        for one, run, qrels, ids in cell:
            # Rows by query and measure, both sorted: the column of each measure is every len(names)-th value.
            values[named[one.system]] = per_query(run, qrels, ids, names)["value"].to_numpy().reshape(-1, len(names))
        if not ids:
            continue
        asked = queries.filter(pl.col("query_set") == query_set)
        clusters = clusters_of(sorted(ids), asked, qrels)
        place = {"corpus": corpus, "query_set": query_set, "mode": mode, "n": len(ids)}
        for row in _rows(values, own, names, clusters, cluster_kind(asked), draws):
            family = f"normalisation/{corpus}/{query_set}/{mode}/{row['measure']}"
            rows.append({"family": family} | place | row)
    return tested(rows, NORMALISATION, ["corpus", "query_set", "mode", "measure", "system", "preset"])


def _rows(
    values: Mapping[tuple[str, str], np.ndarray],
    own: Mapping[str, str],
    measures: list[str],
    clusters: np.ndarray | None,
    kind: str,
    draws: Draws,
) -> list[dict[str, Any]]:
    """A row for each system, preset and measure; ``values``: (system, preset) -> float64 [n, measures]."""
    runs = sorted(values)
    # A system whose own run is missing is set against nothing: its differences are not estimable.
    based = [run for run in runs if (run[0], own.get(run[0])) in values and run[1] != own[run[0]]]
    interval = bootstrap_means(np.column_stack([values[run] for run in runs]), clusters, draws.resamples, draws.seed)
    outcomes: dict[tuple[tuple[str, str], str], dict[str, Any]] = {}
    if based:
        theirs = np.column_stack([values[run] for run in based])
        bases = np.column_stack([values[system, own[system]] for system, _ in based])
        compared = compare_columns(theirs, bases, clusters, draws, kind=kind)
        keys = [(run, measure) for run in based for measure in measures]
        outcomes = {key: outcome._asdict() for key, outcome in zip(keys, compared, strict=True)}
    rows = []
    for i, (system, preset) in enumerate(runs):
        for j, measure in enumerate(measures):
            column = i * len(measures) + j
            outcome = outcomes.get(((system, preset), measure))
            if outcome is None:
                is_own = own.get(system) == preset
                note = "the system's own" if is_own else "not estimable: no run of the system's own preset"
                outcome = {"test": "none", "note": note}
            else:
                alike = outcome["estimate"] == 0 and outcome["p"] == 1
                outcome["note"] = "all queries score alike" if alike and outcome["note"] else notes(outcome["note"])
            rows.append(
                {"system": system, "own_preset": own.get(system), "preset": preset, "measure": measure}
                | {"mean": float(interval.mean[column])}
                | {"mean_ci_low": float(interval.low[column]), "mean_ci_high": float(interval.high[column])}
                | outcome
            )
    return rows
