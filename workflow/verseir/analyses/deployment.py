"""What should this archive deploy? The configuration that is best by register, and for the archive's mix of registers.

A configuration is a system in an indexing mode. The best of many flatters itself on the queries that chose it, so its
gain over the baseline is that of choices made on other queries (see ``stats.selection``).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verseir.analyses.clusters import cluster_kind, clusters_of
from verseir.analyses.deployment_choice import Choice, Margin, choose, columns, decide
from verseir.analyses.deployment_costs import Config, Costs
from verseir.analyses.paired import TESTED, Draws, independent, notes, tidy
from verseir.formats import percent
from verseir.orders import REGISTERS, register_order
from verseir.stats.holm import holm
from verseir.stats.selection import Rows
from verseir.tables import define

#: What a row is about.
MIX, REGISTER, THEMATIC = "mix", "register", "thematic"
#: Joins the names of query sets, and parts a set from the id of its query.
AND, TAB = " + ", "\t"

DEPLOYMENT = define(
    "deployment",
    {
        "family": pl.String,
        "corpus": pl.String,
        "scope": pl.String,
        "register": pl.String,
        "query_sets": pl.String,
        "measure": pl.String,
        "share": pl.Float64,
        "probes": pl.Boolean,
        "n": pl.Int64,
        "n_independent": pl.Int64,
        "n_configurations": pl.Int64,
        "verdict": pl.String,
        "system": pl.String,
        "mode": pl.String,
        "mean": pl.Float64,
        "mean_low": pl.Float64,
        "mean_high": pl.Float64,
        "reason": pl.String,
        "baseline_system": pl.String,
        "baseline_mode": pl.String,
        "baseline_mean": pl.Float64,
        "best_system": pl.String,
        "best_mode": pl.String,
        "in_sample": pl.Float64,
        **TESTED,
        "level_low": pl.Float64,
        "level_high": pl.Float64,
        "margin": pl.Float64,
        "queries_to_tell": pl.Int64,
        "queries_to_level": pl.Int64,
        "seconds_per_query": pl.Float64,
        "seconds_per_poem": pl.Float64,
        "index_mb": pl.Float64,
        "gpu": pl.Boolean,
        "note": pl.String,
    },
    nullable="register system mode mean mean_low mean_high reason baseline_system baseline_mode baseline_mean"
    " best_system best_mode in_sample estimate ci_low ci_high p p_holm level_low level_high queries_to_tell"
    " queries_to_level seconds_per_query seconds_per_poem index_mb gpu note",
    unique="corpus scope register query_sets measure",
)
#: How the note begins of a mix that names registers which no query has.
WITHOUT = "the mix is told without"
NO_QUERY = "not estimable: no query of this register"
UNMEASURED = "not estimable: no query has a relevant poem that is known"
DIFFERENT = "not estimable: no configuration searched all of these query sets"


@dataclass(frozen=True)
class Asked:
    """What is asked of an archive.

    Attributes:
        measures: query set -> the measure that decides.
        known_item: the known-item query sets.
        thematic: the thematic ones, each by itself.
        synthetic: those of them that are probes as a whole.
        systems: those that may be deployed.
        kept: modes that index some poems only: they find other answers, and stand apart.
        mix: register -> how much it counts, adding up to anything; None for the shares that the queries have.
        baseline: the configuration that a gain is over where it was searched; the cheapest is elsewhere.
        named: whether the study names the baseline.
        margin: what does not matter, and the folds of the choice.
    """

    measures: Mapping[str, str]
    known_item: Sequence[str]
    thematic: Sequence[str]
    synthetic: Collection[str]
    systems: Collection[str]
    kept: Collection[str]
    mix: Mapping[str, float] | None
    baseline: Config
    named: bool
    margin: Margin


@dataclass(frozen=True)
class Outcomes:
    """The outcomes of queries under each configuration, the cheapest first.

    ``values`` float64 [n, m]; ``register`` of each query, empty where it names none; ``probe`` bool [n]; ``clusters``
    int64 [n], or None where all queries are independent.
    """

    configs: list[Config]
    values: NDArray[np.float64]
    register: NDArray[np.str_]
    probe: NDArray[np.bool_]
    clusters: NDArray[np.int64] | None
    kind: str

    def some(self, chosen: NDArray[np.bool_]) -> Outcomes:
        """Those of some queries."""
        clusters = None if self.clusters is None or not chosen.any() else independent(self.clusters[chosen])
        return Outcomes(
            self.configs, self.values[chosen], self.register[chosen], self.probe[chosen], clusters, self.kind
        )

    def counted(self) -> Outcomes:
        """Those that count: of a register in which readers asked, not the probes."""
        real = set(self.register[~self.probe].tolist())
        return self.some(~self.probe | ~np.isin(self.register, sorted(real)))


def recommend(
    per_query: pl.DataFrame,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    costs: Mapping[str, Costs],
    searched: Mapping[str, Sequence[str]],
    asked: Asked,
    draws: Draws,
) -> pl.DataFrame:
    """The DEPLOYMENT table.

    Of a register in which readers asked, probes that were drawn from the poems do not count; where there are only
    probes the row says so. The numbers of queries that would tell are for 80% power at 5%, before Holm's correction
    (see ``stats.sample_size``), and take as many queries of a cluster as there are now.

    Args:
        per_query: a PER_QUERY table.
        queries: the QUERIES of the query sets.
        qrels: their QRELS, with a column ``query_set``.
        costs: of each corpus.
        searched: corpus -> its query sets.
        asked: what is asked.
        draws: of intervals and tests; the seed is that of the folds too.
    """
    able = pl.col("system").is_in(sorted(asked.systems)) & ~pl.col("mode").is_in(sorted(asked.kept))
    whole = per_query.filter(able)
    parts = [pl.DataFrame(schema=dict(DEPLOYMENT.columns))]
    for corpus in sorted(searched):
        own = whole.filter(pl.col("corpus") == corpus)
        rows = list(_of_corpus(own, queries, qrels, costs[corpus], searched[corpus], asked, draws))
        adjusted = holm([choice.row.get("p", math.nan) for _, choice in rows])
        place: dict[str, Any] = {"family": f"deployment/{corpus}", "corpus": corpus, "margin": asked.margin.width}
        place["family_size"] = sum(not math.isnan(p) for p in adjusted)
        found = []
        for (about, choice), p_holm in zip(rows, adjusted, strict=True):
            row = place | about | columns(choice) | {"p_holm": p_holm}
            row |= decide(choice, p_holm, costs[corpus], asked.margin.width)
            found.append(row | {"note": notes(row["note"], about.get("note", ""), _cost_note(row))})
        parts.append(tidy(pl.DataFrame(found, schema=dict(DEPLOYMENT.columns))))
    return pl.concat(parts)


def _cost_note(row: Mapping[str, Any]) -> str:
    """Why a row has no cost, where it has none."""
    unknown = row.get("system") is not None and row["seconds_per_query"] is None
    return "cost not estimable: a run that was imported or not timed" if unknown else ""


def _of_corpus(
    per_query: pl.DataFrame,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    costs: Costs,
    searched: Sequence[str],
    asked: Asked,
    draws: Draws,
) -> Iterator[tuple[dict[str, Any], Choice]]:
    """What each row of a corpus is about, and what was found."""
    known = [name for name in sorted(asked.known_item) if name in searched]
    for measure in sorted({asked.measures[name] for name in known}):
        names = [name for name in known if asked.measures[name] == measure]
        about: dict[str, Any] = {"measure": measure, "query_sets": AND.join(names)}
        outcomes = _outcomes(per_query, queries, qrels, names, measure, costs, asked.synthetic)
        if isinstance(outcomes, str):
            yield about | {"scope": MIX, "share": 1.0, "probes": False}, _nothing(outcomes)
            continue
        for said, choice in _known_item(outcomes.counted(), costs, asked, draws):
            yield about | said, choice
    for name in (name for name in sorted(asked.thematic) if name in searched):
        measure = asked.measures[name]
        about = {
            "measure": measure,
            "query_sets": name,
            "scope": THEMATIC,
            "register": THEMATIC,
            "share": 0.0,
        }
        outcomes = _outcomes(per_query, queries, qrels, [name], measure, costs, asked.synthetic)
        if isinstance(outcomes, str):
            yield about | {"probes": False}, _nothing(outcomes)
            continue
        yield about | {"probes": bool(outcomes.probe.all())}, _chosen(outcomes, None, costs, asked, draws)[0]


def _nothing(why: str) -> Choice:
    """A row of no query."""
    return Choice(None, None, {"n": 0, "n_independent": 0, "n_configurations": 0, "test": "none", "note": why})


def _outcomes(
    per_query: pl.DataFrame,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    names: Sequence[str],
    measure: str,
    costs: Costs,
    synthetic: Collection[str],
) -> Outcomes | str:
    """The outcomes of some query sets together, under what searched all of them; or why there are none."""

    def prefixed(frame: pl.DataFrame, *keys: str) -> pl.DataFrame:
        ids = [pl.concat_str(pl.col("query_set"), pl.col(key), separator=TAB).alias(key) for key in keys]
        return frame.filter(pl.col("query_set").is_in(names)).with_columns(ids)

    rows = prefixed(per_query.filter(pl.col("measure") == measure), "query_id")
    if rows.is_empty():
        return UNMEASURED
    there = rows.group_by("system", "mode").agg(pl.col("query_set").n_unique())
    wanted = rows["query_set"].n_unique()
    configs = [Config(*row[:2]) for row in there.iter_rows() if row[2] == wanted]
    if not configs:
        return DIFFERENT
    configs.sort(key=costs.order)
    named = rows.with_columns(column=pl.concat_str("system", "mode", separator=TAB))
    wide = named.pivot("column", index="query_id", values="value", sort_columns=True).sort("query_id")
    ids = wide["query_id"].to_list()
    about, judged = prefixed(queries, "query_id", "source_query_id"), prefixed(qrels, "query_id")
    known = {row["query_id"]: row for row in about.iter_rows(named=True)}
    probe = [known[i]["query_set"] in synthetic or (known[i]["edit"] or "").startswith("probe:") for i in ids]
    return Outcomes(
        configs,
        wide.select([TAB.join(config) for config in configs]).fill_null(0.0).to_numpy().astype(np.float64),
        np.array([known[i]["register"] or "" for i in ids]),
        np.array(probe, dtype=bool),
        clusters_of(ids, about, judged),
        cluster_kind(about),
    )


def _known_item(
    outcomes: Outcomes, costs: Costs, asked: Asked, draws: Draws
) -> Iterator[tuple[dict[str, Any], Choice]]:
    """The row of the mix, then those of the registers."""
    found = set(outcomes.register.tolist())
    usual = {name for name in REGISTERS if name != THEMATIC} if found != {""} else set()
    names = sorted(found | usual | set(asked.mix or {}), key=lambda name: (name == "", register_order(name)))
    shares = _shares(outcomes, asked.mix)
    lacking = [name for name in sorted(shares, key=register_order) if shares[name] > 0 and name not in found]
    there = sum(share for name, share in shares.items() if name not in lacking)
    note = ""
    if lacking and there > 0:
        left_out = ", ".join(f"{name} ({percent(shares[name])})" for name in lacking)
        note = f"{WITHOUT} {left_out}, of which there is no query: the shares of the others are made whole"
        shares = {name: 0.0 if name in lacking else share / there for name, share in shares.items()}
    said = [_of_register(outcomes, name, shares.get(name, 0.0), costs, asked, draws) for name in names]
    weighed = {name: share for name, share in shares.items() if share > 0}
    if lacking and not there > 0:
        why = f"not estimable: the mix has {', '.join(lacking)}, of which there is no query"
        yield {"scope": MIX, "share": 1.0, "probes": False}, _nothing(why)
    elif len(weighed) > 1 or note:
        inside = outcomes.some(np.isin(outcomes.register, sorted(weighed)))
        choice, more = _chosen(inside, weighed, costs, asked, draws)
        about = {"scope": MIX, "share": 1.0, "probes": bool(inside.probe.any()), "note": notes(note, more) or ""}
        yield about, choice
    yield from said


def _shares(outcomes: Outcomes, mix: Mapping[str, float] | None) -> dict[str, float]:
    """How much each register counts: as the study says, or as often as readers asked in it, else as it was asked in."""
    if mix is not None:
        total = sum(mix.values())
        return {name: share / total for name, share in mix.items()}
    asked = outcomes.register[~outcomes.probe] if not outcomes.probe.all() else outcomes.register
    names, counts = np.unique(asked, return_counts=True)
    return {str(name): float(count / len(asked)) for name, count in zip(names, counts, strict=True)}


def _of_register(
    outcomes: Outcomes, name: str, share: float, costs: Costs, asked: Asked, draws: Draws
) -> tuple[dict[str, Any], Choice]:
    inside = outcomes.some(outcomes.register == name)
    about = {"scope": REGISTER, "register": name or None, "share": share, "probes": bool(inside.probe.any())}
    if not len(inside.values):
        return about, _nothing(NO_QUERY)
    choice, note = _chosen(inside, None, costs, asked, draws)
    return about | {"note": note}, choice


def _chosen(
    outcomes: Outcomes, shares: Mapping[str, float] | None, costs: Costs, asked: Asked, draws: Draws
) -> tuple[Choice, str]:
    """The choice for some queries, of which each counts alike or by the share of its register; and a note."""
    n = len(outcomes.values)
    stratum, weight = np.zeros(n, dtype=np.int64), np.ones(1)
    if shares is not None:
        names = sorted(shares, key=register_order)
        stratum = np.array([names.index(name) for name in outcomes.register.tolist()], dtype=np.int64)
        weight = np.array([shares[name] for name in names])
    there = asked.baseline in outcomes.configs
    baseline = outcomes.configs.index(asked.baseline) if there else 0
    note = ""
    if asked.named and not there:
        note = (
            f"the baseline {asked.baseline.system} in {asked.baseline.mode} did not search here: the cheapest stands in"
        )
    rows = Rows(stratum, weight, outcomes.clusters)
    found = choose(outcomes.configs, outcomes.values, baseline, rows, outcomes.kind, asked.margin, draws)
    return found, note
