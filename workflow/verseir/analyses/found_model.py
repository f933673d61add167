"""Do shared words predict that a relevant poem is found, with its grade and script held? A logistic model per system.

The outcome is whether a relevant poem stands within the first k places. It is explained by the share of the query's
words that the poem holds (in standard deviations over the relevant pairs), by the grade and by whether the poem is in
another script than the query, with a random intercept for each query. Effects are log-odds: *conditional* within one
query, and *marginal* on average over queries, with standard errors robust to what queries of a cluster have in common.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from verseir.analyses.found_by_wording import Side
from verseir.analyses.paired import notes, tested
from verseir.analyses.shared_pairs import found_in
from verseir.stats.glmm import LOOSEST, Coefficients, fit_mixed_logit
from verseir.stats.marginal import fit_marginal_logit
from verseir.tables import define

FOUND_MODEL = define(
    "found_model",
    {
        "family": pl.String,
        "corpus": pl.String,
        "query_set": pl.String,
        "mode": pl.String,
        "system": pl.String,
        "kind": pl.String,
        "term": pl.String,
        "n_pairs": pl.Int64,
        "n_queries": pl.Int64,
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
    unique="corpus query_set mode system kind term",
)
#: Columns of the model after the intercept.
CONTAINMENT, GRADE, OTHER_SCRIPT = "containment", "grade", "other script"
TERMS = (CONTAINMENT, GRADE, OTHER_SCRIPT)
CONDITIONAL, MARGINAL = "conditional", "marginal"


@threadpool_limits.wrap(limits=1)  # sums differ in their last digits with the number of threads
def found_models(sides: Iterable[Side], fusions: Collection[str]) -> pl.DataFrame:
    """The FOUND_MODEL table: a row for each system, effect and term.

    A column that does not vary is dropped, and a model whose outcome follows from its columns, or that has no maximum,
    has no estimates: notes say so. Holm's correction is over the systems of one term and kind of effect.

    Args:
        sides: of each query set in each corpus, in the mode whose text was compared.
        fusions: systems that fuse others; they are not modelled.
    """
    rows: list[dict[str, Any]] = []
    for side in sides:
        x = _columns(side)
        for system in sorted(set(side.first) - set(fusions)):
            rows += _rows(side, system, x)
    return tested(rows, FOUND_MODEL, FOUND_MODEL.unique)


def _columns(side: Side) -> NDArray[np.float64]:
    """float64 [p, 4]: the intercept and ``TERMS`` of each relevant pair."""
    relevant = side.pairs.relevant
    shared = relevant["containment"].to_numpy()
    spread = shared.std()
    standard = (shared - shared.mean()) / spread if spread > 1e-12 else np.zeros(len(shared))
    other = (~relevant["same_script"].fill_null(False)).cast(pl.Float64).to_numpy()
    return np.column_stack([np.ones(len(shared)), standard, relevant["grade"].cast(pl.Float64).to_numpy(), other])


def _rows(side: Side, system: str, x: NDArray[np.float64]) -> Iterator[dict[str, Any]]:
    one, relevant = side.pairs, side.pairs.relevant
    query = relevant["query"].to_numpy()
    y = found_in(relevant, side.first[system]).astype(np.float64)
    clusters = query if one.clusters is None else one.clusters[query]
    names = ("intercept", *TERMS)
    place = {"corpus": one.corpus, "query_set": one.query_set, "mode": one.mode}
    sizes = {"n_pairs": len(y), "n_queries": len(one.query_ids)}
    for kind, fit in (
        (CONDITIONAL, fit_mixed_logit(y, x, names, query)),
        (MARGINAL, fit_marginal_logit(y, x, names, clusters)),
    ):
        for term in TERMS:
            family = "/".join(["found model", *place.values(), kind, term])
            yield place | sizes | {"system": system, "kind": kind, "term": term, "family": family} | _term(fit, term)


def _term(fit: Coefficients, term: str) -> dict[str, Any]:
    found = fit.coefficient(term)
    why = ""
    if fit.reason:
        why = f"not estimable: {fit.reason}"
    elif term in fit.dropped:
        why = "not estimable: it does not vary, or others make it up"
    elif math.isnan(found.p):
        why = f"no test: a standard error above {LOOSEST:g}" if found.se > LOOSEST else "no test: no variance"
    numbers = {"estimate": found.estimate, "se": found.se, "ci_low": found.low, "ci_high": found.high, "p": found.p}
    return numbers | {"note": notes(why, *(fit.notes if not fit.reason else ()))}
