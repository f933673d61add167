"""What does fine-tuning an encoder change? Gains over the base on the same queries, by seed and by group of queries.

Two kinds of chance are told apart. Intervals and p are over queries, with the trained encoders as they are: what other
queries would give. The SD of the means of seeds is over trainings: what training once more would give.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verseir.analyses.contrasts import FLAT, NOTHING
from verseir.analyses.paired import Cell, Draws, cells, compare_columns, notes, tested, tidy
from verseir.analyses.strata import Members
from verseir.formats import DECIMALS
from verseir.orders import register_order
from verseir.stats.strata import two_strata
from verseir.tables import define
from verseir.training.curve import CURVE

ALL, REGISTER = "all", "register"
#: Of an attribute with more groups each is compared with all others together, not with each other.
MOST_GROUPS = 6
OTHERS = "all others"
ONE_SEED = "one seed: its spread over trainings is not known"
NO_BETTER = "no epoch was better on validation queries than the base"
STILL_RISING = "the last epoch was the best on validation queries: more might be better"

PLACE = {"recipe": pl.String, "base": pl.String, "corpus": pl.String, "query_set": pl.String, "mode": pl.String}

FINE_TUNING = define(
    "fine_tuning",
    {
        **PLACE,
        "measure": pl.String,
        "by": pl.String,
        "group": pl.String,
        "n": pl.Int64,
        "n_clusters": pl.Int64,
        "n_seeds": pl.Int64,
        "zero_shot": pl.Float64,
        "mean": pl.Float64,
        "sd": pl.Float64,
        "sd_population": pl.Float64,
        "lowest": pl.Float64,
        "highest": pl.Float64,
        "difference": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "test": pl.String,
        "p": pl.Float64,
        "p_holm": pl.Float64,
        "family": pl.String,
        "family_size": pl.Int64,
        "note": pl.String,
    },
    nullable="zero_shot mean sd sd_population lowest highest difference ci_low ci_high p p_holm note",
    unique="recipe corpus query_set mode measure by group",
)
FINE_TUNING_SEEDS = define(
    "fine_tuning_seeds",
    {
        "recipe": pl.String,
        "base": pl.String,
        "seed": pl.Int64,
        "system": pl.String,
        "corpus": pl.String,
        "query_set": pl.String,
        "mode": pl.String,
        "measure": pl.String,
        "n": pl.Int64,
        "mean": pl.Float64,
        "zero_shot": pl.Float64,
        "difference": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "best_epoch": pl.Float64,
        "n_epochs": pl.Float64,
        "validation": pl.Float64,
        "note": pl.String,
    },
    nullable="ci_low ci_high best_epoch n_epochs validation note",
    unique="recipe seed corpus query_set mode measure",
)
FINE_TUNING_REGISTERS = define(
    "fine_tuning_registers",
    {
        **PLACE,
        "measure": pl.String,
        "by": pl.String,
        "a": pl.String,
        "b": pl.String,
        "n_a": pl.Int64,
        "n_b": pl.Int64,
        "n_seeds": pl.Int64,
        "gain_a": pl.Float64,
        "gain_b": pl.Float64,
        "difference": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "test": pl.String,
        "p": pl.Float64,
        "p_holm": pl.Float64,
        "family": pl.String,
        "family_size": pl.Int64,
        "note": pl.String,
    },
    nullable="gain_a gain_b difference ci_low ci_high p p_holm note",
    unique="recipe corpus query_set mode measure by a b",
)
#: The curves of all trainings.
FINE_TUNING_CURVES = replace(CURVE, name="fine_tuning_curves")


class Recipe(NamedTuple):
    """What was trained: from which base, the system of each seed, and the query sets that it is tested on."""

    name: str
    base: str
    systems: Mapping[int, str]
    query_sets: Sequence[str]


class Group(NamedTuple):
    """Some queries of a cell: ``chosen`` bool [n]."""

    by: str
    name: str
    chosen: NDArray[np.bool_]


class Compared(NamedTuple):
    """A recipe in one cell and mode: outcomes float64 [n, m] of the base, [n, m, s] of s seeds, by m measures."""

    recipe: Recipe
    cell: Cell
    mode: str
    measures: list[str]
    seeds: list[int]
    base: NDArray[np.float64]
    trained: NDArray[np.float64]

    def gain(self) -> NDArray[np.float64]:
        """The mean over seeds less the base, float64 [n, m]: where every seed equals the base it is 0, and no noise."""
        return np.round((self.trained - self.base[:, :, None]).mean(axis=2), DECIMALS)

    @property
    def place(self) -> dict[str, Any]:
        """The columns that say where."""
        named = {"recipe": self.recipe.name, "base": self.recipe.base, "corpus": self.cell.corpus}
        return named | {"query_set": self.cell.query_set, "mode": self.mode}

    def family(self, kind: str, measure: str, by: str) -> str:
        """The tests that are corrected together: of one recipe by one measure, over all places and groups of a kind."""
        return f"{kind}/{self.recipe.name}/{measure}/{by}"


def fine_tuning(
    per_query: pl.DataFrame,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    members: Mapping[str, Members],
    recipes: Sequence[Recipe],
    curves: pl.DataFrame,
    measures: Sequence[str],
    draws: Draws,
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """The tables FINE_TUNING, FINE_TUNING_SEEDS and FINE_TUNING_REGISTERS.

    A query's gain is the mean of its outcomes over the seeds less that of the base. Gains are tested as all paired
    outcomes are (see ``paired.compare_columns``): sign flips and the BCa interval over whole clusters of queries, and
    where one seed alone gives hits and misses, McNemar's exact test. Means over seeds are no hits and misses. Gains of
    two groups are compared as in ``stats.strata.two_strata``: Welch's t, or cluster-robust where queries share a
    cluster; clusters with queries in both groups are resampled whole. Holm's correction is within one recipe, measure
    and ``by``: over corpora, query sets, modes and groups. A place that the base or every seed did not search has no
    rows.

    Args:
        per_query: a PER_QUERY table.
        queries: the QUERIES of the query sets that are tested on.
        qrels: their QRELS, with a column ``query_set``.
        members: query set -> ``strata.members_of`` it; registers are read from ``queries``.
        recipes: what was trained.
        curves: a FINE_TUNING_CURVES table.
        measures: as named in ``per_query``.
        draws: resamples, flips and seed.
    """
    gains: list[dict[str, Any]] = []
    seeds: list[dict[str, Any]] = []
    pairs: list[dict[str, Any]] = []
    names = {name for recipe in recipes for name in (recipe.base, *recipe.systems.values())}
    inside = per_query.filter(pl.col("system").is_in(sorted(names)))
    for cell in cells(inside, queries, qrels, measures):
        groups = list(_groups(cell, queries, members.get(cell.query_set, {})))
        for recipe in recipes:
            if cell.query_set not in recipe.query_sets:
                continue
            for mode in cell.modes():
                if (one := _compared(recipe, cell, mode)) is not None:
                    gains += [row for group in groups for row in _gains(one, group, draws)]
                    seeds += _seeds(one, curves, draws)
                    pairs += _pairs(one, groups, draws)
    frame = tidy(pl.DataFrame(seeds, schema=dict(FINE_TUNING_SEEDS.columns)))
    place = ["recipe", "corpus", "query_set", "mode", "measure"]
    return (
        tested(gains, FINE_TUNING, [*place, "by", "group"]),
        frame.sort([*place, "seed"]),
        tested(pairs, FINE_TUNING_REGISTERS, [*place, "by", "a", "b"]),
    )


def fine_tuning_curves(curves: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The FINE_TUNING_CURVES table of CURVE tables."""
    empty = pl.DataFrame(schema=dict(FINE_TUNING_CURVES.columns))
    return pl.concat([empty, *curves]).sort("recipe", "seed", "fold", "step")


def few_groups(gains: pl.DataFrame) -> pl.DataFrame:
    """The rows of a FINE_TUNING table that people are shown: not those of attributes with many values."""
    size = pl.len().over("recipe", "corpus", "query_set", "mode", "measure", "by")
    return gains.filter(size <= MOST_GROUPS)


def group_name(row: Mapping[str, Any]) -> str:
    """What people call the group of a row of a FINE_TUNING table."""
    if row["by"] == ALL:
        return "all queries"
    return row["group"] if row["by"] == REGISTER else f"{row['by']}: {row['group']}"


def _groups(cell: Cell, queries: pl.DataFrame, members: Members) -> Iterator[Group]:
    """All queries, then those of each register and of each value of an attribute; one value of all queries is none."""
    ids = cell.query_ids
    yield Group(ALL, ALL, np.ones(len(ids), dtype=bool))
    here = queries.filter(pl.col("query_set") == cell.query_set, pl.col("register").is_not_null())
    registers = here.group_by("register").agg("query_id").iter_rows()
    for by, values in {**members, REGISTER: dict(registers)}.items():
        found = [Group(by, name, np.isin(ids, list(values[name]))) for name in sorted(values, key=register_order)]
        if len(found) > 1 or not all(group.chosen.all() for group in found):
            yield from found


def _compared(recipe: Recipe, cell: Cell, mode: str) -> Compared | None:
    measures = [name for name in cell.measures() if (mode, recipe.base, name) in cell.columns]
    seeds = [
        seed
        for seed, system in sorted(recipe.systems.items())
        if all((mode, system, name) in cell.columns for name in measures)
    ]
    if not measures or not seeds:
        return None
    base = cell.values[:, [cell.columns[mode, recipe.base, name] for name in measures]]
    trained = [cell.values[:, [cell.columns[mode, recipe.systems[seed], name] for name in measures]] for seed in seeds]
    return Compared(recipe, cell, mode, measures, seeds, base, np.stack(trained, axis=2))


def _gains(one: Compared, group: Group, draws: Draws) -> Iterator[dict[str, Any]]:
    part, base, trained = one.cell.rows(group.chosen), one.base[group.chosen], one.trained[group.chosen]
    n, n_seeds = len(base), len(one.seeds)
    if n_seeds == 1:
        outcomes = compare_columns(trained[:, :, 0], base, part.clusters, draws, kind=part.kind)
    else:
        gain = one.gain()[group.chosen]
        outcomes = compare_columns(gain, np.zeros_like(gain), part.clusters, draws, graded=True, kind=part.kind)
    for j, measure in enumerate(one.measures):
        means = trained[:, j].mean(axis=0) if n else np.full(n_seeds, math.nan)
        outcome = outcomes[j]
        yield {
            **one.place,
            "measure": measure,
            "by": group.by,
            "group": group.name,
            "n": n,
            "n_clusters": n if part.clusters is None else len(np.unique(part.clusters)),
            "n_seeds": n_seeds,
            "zero_shot": float(base[:, j].mean()) if n else math.nan,
            "mean": float(means.mean()),
            "sd": _sd(means, 1),
            "sd_population": _sd(means, 0),
            "lowest": float(means.min()),
            "highest": float(means.max()),
            "difference": outcome.estimate,
            "ci_low": outcome.ci_low,
            "ci_high": outcome.ci_high,
            "test": outcome.test,
            "p": outcome.p,
            "family": one.family("fine-tuning", measure, group.by),
            "note": notes(outcome.note, ONE_SEED if n_seeds == 1 else ""),
        }


def _sd(means: NDArray[np.float64], ddof: int) -> float:
    """The standard deviation of the means of seeds; NaN for one seed, and 0 where they differ by rounding alone."""
    if len(means) < 2:
        return math.nan
    return 0.0 if np.ptp(means) < NOTHING else float(means.std(ddof=ddof))


def _seeds(one: Compared, curves: pl.DataFrame, draws: Draws) -> Iterator[dict[str, Any]]:
    for k, seed in enumerate(one.seeds):
        trained = one.trained[:, :, k]
        course = _course(curves.filter(pl.col("recipe") == one.recipe.name, pl.col("seed") == seed))
        outcomes = compare_columns(trained, one.base, one.cell.clusters, draws, kind=one.cell.kind)
        for j, (measure, outcome) in enumerate(zip(one.measures, outcomes, strict=True)):
            yield {
                **one.place,
                "seed": seed,
                "system": one.recipe.systems[seed],
                "measure": measure,
                "n": len(trained),
                "mean": float(trained[:, j].mean()),
                "zero_shot": float(one.base[:, j].mean()),
                "difference": outcome.estimate,
                "ci_low": outcome.ci_low,
                "ci_high": outcome.ci_high,
                **course,
                "note": notes(outcome.note, course["note"]),
            }


def _course(curve: pl.DataFrame) -> dict[str, Any]:
    """How the training of one seed went, its folds averaged: the best epoch, how many there were, the best value."""
    best = curve.filter("best")
    if best.is_empty():
        return {"best_epoch": math.nan, "n_epochs": math.nan, "validation": math.nan, "note": "no curve of training"}
    last = curve.group_by("fold").agg(n_epochs=pl.col("epoch").max())
    base = curve.filter(pl.col("epoch") == 0).select("fold", base="value")
    folds = best.join(last, on="fold").join(base, on="fold", how="left").sort("fold")
    note = ""
    worse = int((folds["value"] <= folds["base"]).sum())
    if worse:
        note = NO_BETTER if worse == len(folds) else f"in {worse} of {len(folds)} folds {NO_BETTER}"
    elif ((folds["epoch"] == folds["n_epochs"]) & (folds["n_epochs"] > 1)).all():
        note = STILL_RISING
    means = folds.select(best_epoch=pl.col("epoch").mean(), n_epochs=pl.col("n_epochs").mean())
    return means.row(0, named=True) | {"validation": float(folds["value"].to_numpy().mean()), "note": note}


def _pairs(one: Compared, groups: Sequence[Group], draws: Draws) -> Iterator[dict[str, Any]]:
    gain = one.gain()
    for first, second in _paired(groups):
        rows = first.chosen | second.chosen
        part, inside, values = one.cell.rows(rows), first.chosen[rows], gain[rows]
        found = two_strata(values, inside, part.clusters, *draws)
        for j, measure in enumerate(one.measures):
            column = values[:, j]
            yield {
                **one.place,
                "measure": measure,
                "by": first.by,
                "a": first.name,
                "b": second.name,
                "n_a": int(inside.sum()),
                "n_b": int((~inside).sum()),
                "n_seeds": len(one.seeds),
                "gain_a": float(column[inside].mean()) if inside.any() else math.nan,
                "gain_b": float(column[~inside].mean()) if not inside.all() else math.nan,
                "difference": float(found.estimate[j]),
                "ci_low": float(found.low[j]),
                "ci_high": float(found.high[j]),
                "test": "none" if math.isnan(found.p[j]) else found.test,
                "p": float(found.p[j]),
                "family": one.family("fine-tuning-groups", measure, first.by),
                "note": notes(_why(column, inside, first.name, second.name, found.p[j], found.low[j])),
            }


def _paired(groups: Sequence[Group]) -> Iterator[tuple[Group, Group]]:
    """Each pair of groups of one kind; of many groups, each against the others together."""
    kinds: dict[str, list[Group]] = {}
    for group in groups:
        kinds.setdefault(group.by, []).append(group)
    for by, own in kinds.items():
        if len(own) <= MOST_GROUPS:
            yield from combinations(own, 2)
            continue
        known = np.logical_or.reduce([group.chosen for group in own])
        for group in own:
            yield group, Group(by, OTHERS, known & ~group.chosen)


def _why(values: NDArray[np.float64], first: NDArray[np.bool_], a: str, b: str, p: float, low: float) -> str:
    """Why the gains of two groups gave no p, or no interval; ``values`` float64 [n], ``first`` bool [n]: in ``a``."""
    if not math.isnan(p):
        return FLAT if math.isnan(low) else ""
    for name, chosen in ((a, first), (b, ~first)):
        if chosen.sum() < 2:
            return f"not estimable: {'one' if chosen.any() else 'no'} query of {name}"
    if max(np.ptp(values[first]), np.ptp(values[~first])) < 1e-12:
        return "not estimable: the gain does not vary within the groups"
    return "not estimable: the queries of a group share one cluster"
