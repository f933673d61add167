"""Does shared wording predict success, and for which systems more? Mixed-effects logistic regression.

Success of a system on a query is explained by the system, by the containment of the query (the share of its words that
stand in the verses of its target), by both together, and by the lengths of query and target, with a random intercept
for each query. Numbers are in standard deviations over the queries of the model; lengths are logarithms of tokens.
Effects are log-odds: *conditional* within one query (the mixed model), *marginal* on average over queries (a plain
logistic regression with standard errors robust to queries of one poem).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from verseir.analyses.paired import Cell, cells, left_out, notes, tested, tidy
from verseir.stats.glmm import LOOSEST, Coefficients, fit_mixed_logit, likelihood_ratio_tests
from verseir.stats.marginal import fit_marginal_logit
from verseir.stats.separation import independent_columns, separating_columns
from verseir.systems.progress import Progress
from verseir.tables import define

_MODEL = {"model": pl.String, "corpus": pl.String, "query_set": pl.String, "mode": pl.String}

MIXED_MODEL = define(
    "mixed_model",
    {
        "family": pl.String,
        **_MODEL,
        "kind": pl.String,
        "term": pl.String,
        "estimate": pl.Float64,
        "se": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "p": pl.Float64,
        "p_holm": pl.Float64,
        "family_size": pl.Int64,
        "note": pl.String,
    },
    nullable="estimate se ci_low ci_high p p_holm note",
    unique="model kind term",
)
MIXED_MODEL_TESTS = define(
    "mixed_model_tests",
    {
        "family": pl.String,
        **_MODEL,
        "block": pl.String,
        "chi2": pl.Float64,
        "df": pl.Int64,
        "p": pl.Float64,
        "p_holm": pl.Float64,
        "family_size": pl.Int64,
        "note": pl.String,
    },
    nullable="chi2 df p p_holm note",
    unique="model block",
)
MIXED_MODEL_FIT = define(
    "mixed_model_fit",
    {
        **_MODEL,
        "reference": pl.String,
        "n_rows": pl.Int64,
        "n_queries": pl.Int64,
        "n_clusters": pl.Int64,
        "n_systems": pl.Int64,
        "left_out": pl.String,
        "sd_query": pl.Float64,
        "log_likelihood": pl.Float64,
        "converged": pl.Boolean,
        "separated": pl.Boolean,
        "note": pl.String,
    },
    nullable="reference left_out sd_query log_likelihood note",
    unique="model",
)

#: What names one query in rows that hold several corpora.
QUERY = ["corpus", "query_set", "query_id"]
LENGTHS = ("query length", "target length")
POOLED = "pooled"
#: Terms whose p is not given here, and where it is.
UNTESTED = "tested as 'containment for {reference}'"


@dataclass(frozen=True)
class Data:
    """What one model is fitted to: a row for each system and query, and how many queries have no target."""

    names: dict[str, str]
    rows: pl.DataFrame
    without_target: int


def outcome_rows(cell: Cell, mode: str, success: str, wording: pl.DataFrame, fusions: Collection[str]) -> pl.DataFrame:
    """Success of each system on each query of a cell, beside the query's WORDING; null where it has no target."""
    here = wording.filter(pl.col("corpus") == cell.corpus, pl.col("query_set") == cell.query_set)
    codes = cell.clusters if cell.clusters is not None else np.arange(len(cell.query_ids))
    queries = pl.DataFrame(
        {"query_id": cell.query_ids, "code": codes}, schema={"query_id": pl.String, "code": pl.Int64}
    )
    queries = queries.join(here, on="query_id", how="left", maintain_order="left")
    own = pl.format("{} {}", pl.lit(cell.query_set), "code")
    queries = queries.with_columns(
        corpus=pl.lit(cell.corpus),
        query_set=pl.lit(cell.query_set),
        cluster=pl.when(pl.col("n_targets") == 1).then(pl.format("poem {}", "poem_id")).otherwise(own),
    )
    parts = [
        queries.with_columns(system=pl.lit(system), success=pl.Series(cell.of(mode, system, success) > 0))
        for system in cell.systems(mode, success)
        if system not in fusions
    ]
    return pl.concat(parts) if parts else queries.clear().with_columns(system=pl.lit(""), success=pl.lit(False))


@threadpool_limits.wrap(limits=1)  # sums differ in their last digits with the number of threads
def mixed_models(
    per_query: pl.DataFrame,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    wording: pl.DataFrame,
    success: str,
    lexical: Collection[str],
    fusions: Collection[str],
    reference: str | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """The MIXED_MODEL, MIXED_MODEL_TESTS and MIXED_MODEL_FIT tables.

    One model for each corpus, query set and mode, and for each mode one of all corpora where there are several, with
    the corpus as a fixed effect. A system whose success is constant, or separated by containment alone, has no finite
    coefficients: it is left out of the model, and its rows say so.

    Args:
        per_query: a PER_QUERY table.
        queries: the QUERIES of the known-item query sets.
        qrels: their QRELS, with a column ``query_set``.
        wording: their WORDING tables, in one.
        success: a query succeeds where this measure is above 0.
        lexical: systems that match words; the reference is the best of the others.
        fusions: systems that fuse others; they are not in the models.
        reference: the system that others are set against; the one with the highest mean of ``success`` if None.
    """
    data = list(_data(per_query, queries, qrels, wording, success, fusions))
    ranked = _references([one.rows for one in data], lexical, reference)
    terms: list[dict[str, Any]] = []
    tests: list[dict[str, Any]] = []
    fits: list[dict[str, Any]] = []
    with Progress(len(data), "mixed-effects models", "models", brief=True) as progress:
        for one in data:
            rows, blocks, fit = _model(one, ranked)
            terms += rows
            tests += blocks
            fits.append(fit)
            progress.add(1)
    frame = tidy(pl.DataFrame(fits, schema=dict(MIXED_MODEL_FIT.columns))).sort("model")
    return (
        tested(terms, MIXED_MODEL, ["model", "kind", "term"]),
        tested(tests, MIXED_MODEL_TESTS, ["model", "block"]),
        frame,
    )


def _data(
    per_query: pl.DataFrame,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    wording: pl.DataFrame,
    success: str,
    fusions: Collection[str],
) -> Iterator[Data]:
    by_mode: dict[str, list[pl.DataFrame]] = {}
    for cell in cells(per_query, queries, qrels, [success]):
        for mode in cell.modes():
            rows = outcome_rows(cell, mode, success, wording, fusions)
            by_mode.setdefault(mode, []).append(rows)
            yield _one(cell.corpus, cell.query_set, mode, rows)
    for mode, parts in sorted(by_mode.items()):
        rows = pl.concat(parts)
        if rows["corpus"].n_unique() > 1:
            sets = rows["query_set"].unique().to_list()
            yield _one(POOLED, sets[0] if len(sets) == 1 else POOLED, mode, rows)


def _one(corpus: str, query_set: str, mode: str, rows: pl.DataFrame) -> Data:
    names = {"model": f"{corpus}/{query_set}/{mode}", "corpus": corpus, "query_set": query_set, "mode": mode}
    aimed = rows.filter(pl.col("containment").is_not_null()).sort("system", *QUERY)
    without = rows.filter(pl.col("containment").is_null()).select(QUERY).n_unique() if len(aimed) < len(rows) else 0
    return Data(names, aimed, without)


def _references(parts: Sequence[pl.DataFrame], lexical: Collection[str], reference: str | None) -> list[str]:
    """The systems in the order in which they are preferred as reference: as asked, then others by mean success."""
    if not parts:
        return []
    rows = pl.concat(parts)
    means = dict(rows.group_by("system").agg(pl.col("success").mean()).iter_rows())
    ranked = sorted(means, key=lambda name: (name in lexical, -means[name], name))
    return ranked if reference is None else [reference, *(name for name in ranked if name != reference)]


def _model(data: Data, ranked: Sequence[str]) -> tuple[list[dict[str, Any]], list[dict[str, Any]], dict[str, Any]]:
    """The rows of one model in each of the tables."""
    present = data.rows["system"].unique().sort().to_list()
    outside = _separated_systems(data.rows)
    rows = data.rows.filter(~pl.col("system").is_in(list(outside)))
    systems = [name for name in present if name not in outside]
    chosen = next((name for name in ranked if name in systems), None)
    y = rows["success"].to_numpy().astype(np.float64)
    columns = _columns(rows, systems, chosen)
    x = np.column_stack([np.zeros((len(y), 0)), *columns.values()])
    groups = _codes(rows, QUERY)
    clusters = _codes(rows, ["corpus", "cluster"])
    names = list(columns)
    mixed = fit_mixed_logit(y, x, names, groups)
    plain = fit_marginal_logit(y, x, names, clusters)
    interactions = [name for name in names if name.startswith("containment x ")]
    blocks = {
        "containment x system": interactions,
        "containment": ["containment", *interactions],
        "query and target length": list(LENGTHS),
    }
    ratios = likelihood_ratio_tests(mixed, y, x, names, groups, blocks)
    terms = []
    for kind, fit in (("conditional", mixed), ("marginal", plain)):
        terms += [
            data.names | {"kind": kind, "family": _family(data, kind, role)} | row
            for role, row in _terms(fit, columns, present, outside, chosen)
        ]
    tests = [
        data.names
        | {"family": _family(data, "conditional", "blocks"), "block": block, "chi2": ratio.chi2, "p": ratio.p}
        | {"df": ratio.df or None, "note": f"not estimable: {ratio.note}" if ratio.note else None}
        for block, ratio in ratios.items()
    ]
    n_queries = rows.select(QUERY).n_unique() if len(rows) else 0
    n_clusters = len(np.unique(clusters))
    fit_row = data.names | {
        "reference": chosen,
        "n_rows": len(rows),
        "n_queries": n_queries,
        "n_clusters": n_clusters,
        "n_systems": len(systems),
        "left_out": ", ".join(sorted(outside)) or None,
        "sd_query": mixed.sd,
        "log_likelihood": mixed.log_likelihood,
        "converged": mixed.converged,
        "separated": mixed.separated,
        "note": notes(
            f"not estimable: {mixed.reason}" if mixed.reason else "",
            *mixed.notes,
            f"dropped, constant or made up by others: {', '.join(mixed.dropped)}"
            if len(rows) and mixed.dropped
            else "",
            *(f"{name} left out: {why}" for name, why in sorted(outside.items())),
            left_out(data.without_target),
            "" if present or data.without_target else "fusions are left out",
            "queries share poems: marginal standard errors by poem" if n_clusters < n_queries else "",
            f"the reference is not {ranked[0]}, which is not in the model" if chosen and chosen != ranked[0] else "",
        ),
    }
    return terms, tests, fit_row


def _family(data: Data, kind: str, role: str) -> str:
    return f"mixed-model/{data.names['model']}/{kind}/{role}"


def _codes(rows: pl.DataFrame, columns: Sequence[str]) -> NDArray[np.int64]:
    """A number for each row, the same where ``columns`` are, in their order."""
    return rows.select(pl.struct(columns).rank("dense").cast(pl.Int64)).to_series().to_numpy()


def _separated_systems(rows: pl.DataFrame) -> dict[str, str]:
    """The systems that have no finite coefficients of their own, and why."""
    outside = {}
    for (system,), part in rows.group_by("system", maintain_order=True):
        y = part["success"].to_numpy().astype(np.float64)
        x = np.column_stack([np.ones(len(y)), part["containment"].to_numpy()])
        if np.ptp(y) == 0:
            outside[str(system)] = "it always succeeds" if y[0] else "it never succeeds"
        elif separating_columns(y, x[:, independent_columns(x)]):
            outside[str(system)] = "containment alone separates its successes from its failures"
    return outside


def _columns(rows: pl.DataFrame, systems: Sequence[str], reference: str | None) -> dict[str, NDArray[np.float64]]:
    """The columns of the model by name."""
    containment = _standard(rows, pl.col("containment"))
    system = rows["system"].to_numpy()
    others = [name for name in systems if name != reference]
    columns = {"intercept": np.ones(len(rows))}
    columns |= {name: (system == name).astype(np.float64) for name in others}
    columns["containment"] = containment
    columns |= {f"containment x {name}": columns[name] * containment for name in others}
    for name, tokens in zip(LENGTHS, ("n_query_tokens", "n_target_tokens"), strict=True):
        columns[name] = _standard(rows, pl.col(tokens).clip(lower_bound=1).log())
    per_corpus = rows.group_by("corpus").agg(pl.col("query_set").n_unique())["query_set"].max()
    labels = rows["corpus"] if per_corpus == 1 else rows.select(pl.format("{}/{}", "corpus", "query_set")).to_series()
    for label in labels.unique().sort()[1:]:
        columns[f"corpus {label}"] = (labels == label).to_numpy().astype(np.float64)
    return columns


def _standard(rows: pl.DataFrame, value: pl.Expr) -> NDArray[np.float64]:
    """A value of queries in standard deviations from their mean, each query counted once; 0 where it is constant."""
    if not len(rows):
        return np.zeros(0)
    each = rows.unique(QUERY, maintain_order=True).sort(QUERY).select(value).to_series().to_numpy()
    spread = each.std()
    values = rows.select(value).to_series().to_numpy().astype(np.float64)
    return (values - each.mean()) / spread if spread > 1e-12 else np.zeros(len(rows))


def _terms(
    fit: Coefficients,
    columns: Collection[str],
    present: Sequence[str],
    outside: Mapping[str, str],
    reference: str | None,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The role of each term, which names its family of tests, and its row."""
    yield from ((role, _row(fit, term, weights, test)) for role, term, weights, test in _weights(columns, reference))
    for name in present:
        if name in outside:
            why = f"not estimable: {outside[name]}"
            for role, term in (("systems", name), ("interactions", f"containment x {name}")):
                yield role, _blank(term, why)
            yield "slopes", _blank(f"containment for {name}", why)


def _weights(columns: Collection[str], reference: str | None) -> Iterator[tuple[str, str, dict[str, float], str]]:
    """Role, term, the weights of columns that make it up, and where it is tested if not here."""
    if reference is None:
        return
    yield "systems", "intercept", {"intercept": 1.0}, "not tested"
    yield "slopes", "containment", {"containment": 1.0}, UNTESTED.format(reference=reference)
    yield "slopes", f"containment for {reference}", {"containment": 1.0}, ""
    for name in columns:
        if name.startswith("containment x "):
            system = name.removeprefix("containment x ")
            yield "systems", system, {system: 1.0}, ""
            yield "interactions", name, {name: 1.0}, ""
            yield "slopes", f"containment for {system}", {"containment": 1.0, name: 1.0}, ""
        elif name in LENGTHS or name.startswith("corpus "):
            yield "covariates", name, {name: 1.0}, ""


def _row(fit: Coefficients, term: str, weights: Mapping[str, float], test: str) -> dict[str, Any]:
    found = fit.combine(weights)
    if math.isnan(found.estimate):
        return _blank(term, f"not estimable: {fit.reason or 'constant, or made up by other terms'}")
    p = math.nan if test else found.p
    if math.isnan(found.se):
        test = "interval not estimable: all clusters bear alike on this term"
    elif found.se > LOOSEST:
        test = "no p: nearly separated, the standard error is too large"
    ends = {"ci_low": found.low, "ci_high": found.high}
    return {"term": term, "estimate": found.estimate, "se": found.se, **ends, "p": p, "note": test or None}


def _blank(term: str, note: str) -> dict[str, Any]:
    return {"term": term, "estimate": None, "se": None, "ci_low": None, "ci_high": None, "p": None, "note": note}
