"""The best configuration for some queries against a baseline: its gain, what follows, how many queries would tell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from verseir.analyses.deployment_costs import Config, Costs
from verseir.analyses.equivalence import FEWEST, TOO_SMALL, intervals
from verseir.analyses.paired import TOO_FEW, Draws, compare_columns, notes
from verseir.stats.sample_size import clusters_to_level, clusters_to_tell
from verseir.stats.selection import NOISE, Gain, Rows, mixed_interval, selected_gain, weighted_means

#: What follows from a row.
RECOMMENDED, LEVEL, KEEP, OPEN = "recommended", "level", "keep the baseline", "not enough queries to tell"
ALPHA = 0.05
ALONE = "not estimable: one configuration alone, nothing to compare it with"
#: No configuration found what a query was for.
NEVER = "nothing was found by any configuration"
BY_ITSELF = "established by itself, not after Holm's correction"


class Margin(NamedTuple):
    """How a choice is made: differences below ``width`` do not matter; the choice has ``folds``."""

    width: float
    folds: int


@dataclass(frozen=True)
class Choice:
    """What was found of some queries before it is known how many tests are made.

    ``best`` is the best of the others, or None where there is none; ``row`` holds columns of the table that no verdict
    changes; the means with their intervals are of the two; ``inner`` is the 90% interval of the gain.
    """

    baseline: Config | None
    best: Config | None
    row: dict[str, Any]
    mean_of_best: tuple[float, float, float] = (math.nan,) * 3
    mean_of_baseline: tuple[float, float, float] = (math.nan,) * 3
    inner: tuple[float, float] = (math.nan, math.nan)
    independent: int = 0
    to_tell: int | None = None
    to_level: int | None = None


def choose(
    configs: list[Config],
    values: NDArray[np.float64],
    baseline: int,
    rows: Rows,
    kind: str,
    margin: Margin,
    draws: Draws,
) -> Choice:
    """The best configuration beside the baseline, and its gain.

    With one other configuration nothing is chosen: on queries of one stratum the two are compared as any two systems
    are. Else the gain is that of choices on other queries.

    Args:
        configs: of the columns of ``values``, the cheapest first: of equal ones it is chosen.
        values: float64 [n, m].
        baseline: the column of the baseline.
        rows: registers, and clusters of queries.
        kind: what the clusters are.
        margin: what does not matter, and the folds.
        draws: of intervals and tests.
    """
    n, count = len(values), rows.n_clusters()
    own = values[:, baseline]
    row: dict[str, Any] = {
        "n": n,
        "n_independent": count,
        "n_configurations": len(configs),
        "baseline_mean": float(weighted_means(own[:, None], rows)[0]),
        "test": "none",
        "note": "",
    }
    of_baseline = mixed_interval(own, rows, 1.0, draws.resamples, draws.seed)
    others = [place for place in range(len(configs)) if place != baseline]
    if not others:
        return Choice(configs[baseline], None, row | {"note": ALONE}, mean_of_baseline=of_baseline, independent=count)
    offered = values[:, others]
    if rows.fewest() < 2:
        best = others[int(np.argmax(np.round(weighted_means(offered, rows), 12)))]
        row["in_sample"] = float(weighted_means(values[:, [best]], rows)[0]) - row["baseline_mean"]
        return Choice(
            configs[baseline],
            configs[best],
            row | {"note": TOO_FEW},
            (float(weighted_means(values[:, [best]], rows)[0]), math.nan, math.nan),
            of_baseline,
            independent=count,
        )
    gain, held = selected_gain(offered, own, rows, margin.folds, draws.seed)
    row |= {"in_sample": gain.in_sample, "estimate": gain.estimate}
    known, inner = _tested(gain, held, own, rows, kind, margin, draws, alone=len(others) == 1)
    error, wider = gain.planned()
    deviation = 0.0 if math.isnan(error) else error * math.sqrt(count)
    flat = not deviation > 0 and gain.estimate != 0
    per_cluster = n / count
    return Choice(
        configs[baseline],
        configs[others[gain.chosen]],
        row | known,
        mixed_interval(held, rows, gain.wider, draws.resamples, draws.seed),
        of_baseline,
        inner,
        count,
        _queries(clusters_to_tell(gain.estimate, deviation, wider), per_cluster),
        None if flat else _queries(clusters_to_level(margin.width, gain.estimate, deviation, wider), per_cluster),
    )


def _tested(
    gain: Gain,
    held: NDArray[np.float64],
    own: NDArray[np.float64],
    rows: Rows,
    kind: str,
    margin: Margin,
    draws: Draws,
    alone: bool,
) -> tuple[dict[str, Any], tuple[float, float]]:
    """The test of a gain with its interval, as columns of the table, and its 90% interval.

    Measures lie in [0, 1], so their differences in [-1, 1]: a t interval of few queries may reach beyond and is cut
    there. It covers no less for that.
    """
    difference = held - own
    flat = math.isnan(gain.p)  # the same difference throughout: a t test has nothing to go by
    if flat or (alone and len(rows.weight) == 1):
        outcome = compare_columns(held[:, None], own[:, None], rows.clusters, draws, kind=kind)[0]
        inner = intervals(difference[:, None], rows.clusters, margin.width, draws.resamples, draws.seed)[0]
        found = {"ci_low": outcome.ci_low, "ci_high": outcome.ci_high, "test": outcome.test, "p": outcome.p}
        if flat and (np.all(difference > NOISE) or np.all(difference < -NOISE)):
            found |= {"test": "exact sign flip", "p": _one_sided_signs(rows.n_clusters())}
        return _cut(found) | {"note": outcome.note}, _within(inner.low, inner.high)
    name = "corrected t" if gain.wider > 1 else "t"
    name += "" if rows.clusters is None else f" by {kind}"
    found = {"ci_low": gain.low, "ci_high": gain.high, "test": name, "p": gain.p}
    return _cut(found), _within(gain.inner_low, gain.inner_high)


def _one_sided_signs(clusters: int) -> float:
    """The two-sided p of a permutation test by all flips of signs (Fisher, 1935) where all have one sign."""
    return float(2.0 ** (1 - clusters)) if clusters < 1000 else float(np.finfo(np.float64).tiny)


def _cut(found: dict[str, Any]) -> dict[str, Any]:
    low, high = _within(found["ci_low"], found["ci_high"])
    return found | {"ci_low": low, "ci_high": high}


def _within(low: float, high: float) -> tuple[float, float]:
    """An interval of a difference cut to what is possible; NaN stays NaN."""
    low, high = np.clip([low, high], -1.0, 1.0).tolist()
    return low, high


def _queries(clusters: int | None, per_cluster: float) -> int | None:
    """How many queries that is, and no fewer than anything is stated from."""
    return None if clusters is None else math.ceil(round(max(clusters, FEWEST) * per_cluster, 9))


def decide(choice: Choice, p_holm: float, costs: Costs, margin: float) -> dict[str, Any]:
    """What follows from a choice, as columns of the table, once Holm's p is known (NaN: no test)."""
    baseline, best = choice.baseline, choice.best
    if baseline is None:
        return {"verdict": OPEN}
    if best is None:
        return _deployed(choice, KEEP, baseline, costs, "")
    low, high = choice.row.get("ci_low", math.nan), choice.row.get("ci_high", math.nan)
    gain = choice.row.get("estimate", math.nan)
    if math.isnan(low) and choice.row["test"] == "exact sign flip":  # the same difference throughout
        low = high = gain
    few = choice.independent < FEWEST
    if choice.row["baseline_mean"] == 0 and choice.row["in_sample"] == 0:
        note = notes(choice.row["note"], NEVER) or ""
        return _deployed(choice, OPEN, baseline, costs, "") | {"note": note}
    if not few and -margin < choice.inner[0] and choice.inner[1] < margin:
        why = costs.why_cheaper(best, baseline)
        if why:
            return _deployed(choice, LEVEL, best, costs, why)
        return _deployed(choice, LEVEL, baseline, costs, costs.why_cheaper(baseline, best))
    if not few and p_holm < ALPHA and low > 0:
        return _deployed(choice, RECOMMENDED, best, costs, "")
    if not few and (choice.inner[1] < margin or (p_holm < ALPHA and high < 0)):
        return _deployed(choice, KEEP, baseline, costs, "")
    needed = {"queries_to_tell": choice.to_tell, "queries_to_level": choice.to_level}
    note = TOO_SMALL if few and "not estimable" not in choice.row["note"] else ""
    if not few and low > 0 and not p_holm < ALPHA:
        note = BY_ITSELF
    if needed["queries_to_tell"] is not None and needed["queries_to_tell"] <= choice.row["n"]:
        needed["queries_to_tell"] = None
    if needed["queries_to_level"] is not None and needed["queries_to_level"] <= choice.row["n"]:
        needed["queries_to_level"] = None
    return _deployed(choice, OPEN, baseline, costs, "") | needed | {"note": notes(choice.row["note"], note) or ""}


def _deployed(choice: Choice, verdict: str, config: Config, costs: Costs, reason: str) -> dict[str, Any]:
    """The columns of what is deployed."""
    mean = choice.mean_of_best if config == choice.best else choice.mean_of_baseline
    cost = costs.of(config)
    return {
        "verdict": verdict,
        "system": config.system,
        "mode": config.mode,
        **dict(zip(("mean", "mean_low", "mean_high"), mean, strict=True)),
        "reason": reason or None,
        "seconds_per_query": cost.per_query,
        "seconds_per_poem": cost.per_poem,
        "index_mb": cost.index_mb,
        "gpu": cost.gpu,
    }


def columns(choice: Choice) -> dict[str, Any]:
    """The columns of a choice that no verdict changes."""
    named: dict[str, str] = {}
    for name, config in (("baseline", choice.baseline), ("best", choice.best)):
        named |= {f"{name}_system": config.system, f"{name}_mode": config.mode} if config else {}
    low, high = choice.inner
    return choice.row | named | {"level_low": low, "level_high": high}
