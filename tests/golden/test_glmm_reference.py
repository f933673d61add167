"""The mixed model beside lme4 and glmmTMB, where the file that holds their answers is at hand.

VERSEIR_VECTORS=path/to/vectors.json python -m pytest tests/golden
"""

import json
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from verseir.stats.glmm import fit_mixed_logit

FILE = Path(os.environ.get("VERSEIR_VECTORS", ""))
STUDY = FILE.parent / "glmm_reference.csv"

pytestmark = pytest.mark.skipif(not FILE.is_file(), reason="VERSEIR_VECTORS names no file of reference vectors")


def vector(name):
    return json.loads(FILE.read_text(encoding="utf-8"))["vectors"][name]


@pytest.mark.skipif(not STUDY.is_file(), reason="glmm_reference.csv is not beside the vectors")
@pytest.mark.parametrize("reference", ["lme4_laplace_a0", "glmmTMB_a0"])
def test_ten_systems_by_244_queries(reference):
    """y ~ system * containment + query length + target length + (1 | query)."""
    entry = vector("glmm_study_shape")
    expected = {row["term"]: row for row in entry["data"][reference]}
    rows = pl.read_csv(STUDY)
    y, cz = rows["y"].to_numpy().astype(float), rows["cz"].to_numpy()
    columns = {"(Intercept)": np.ones(len(y))}
    for term in expected:
        if term.startswith("system"):
            system, _, by = term.removeprefix("system").partition(":")
            columns[term] = (rows["system"] == system).to_numpy() * (cz if by else 1.0)
    columns |= {name: rows[name].to_numpy() for name in ("cz", "ql", "tl")}
    fit = fit_mixed_logit(y, np.column_stack(list(columns.values())), list(columns), rows["query"].to_numpy())
    assert fit.converged and not fit.separated and not fit.dropped
    for name in columns:
        ours, theirs = fit.coefficient(name), expected[name]
        assert abs(ours.estimate - theirs["est"]) <= entry["tolerance"] * theirs["se"], name
        assert ours.se == pytest.approx(theirs["se"], rel=entry["tolerance"]), name
    assert fit.sd == pytest.approx(expected["sd_query.(Intercept)"]["est"], abs=1e-4)
    assert fit.log_likelihood == pytest.approx(expected["logLik"]["est"], abs=1e-4)


def test_cattle_disease():
    """incidence ~ period + (1 | herd), the example of lme4.

    lme4's own maximum is not exact here: at its estimates the likelihood is below that of gpboost and of ours, and its
    standard errors, from differences of that likelihood, are 1% below those of glmmTMB and of 9-point quadrature.
    """
    data = vector("glmm_cbpp")["data"]
    rows, laplace, quadrature = data["data"], data["laplace_bernoulli"], data["agq9"]
    y, period = np.array(rows["y"], float), np.array(rows["period"])
    x = np.column_stack([np.ones(len(y)), *[(period == k) * 1.0 for k in (2, 3, 4)]])
    fit = fit_mixed_logit(y, x, list("1234"), np.array(rows["herd"]))
    assert (np.abs(fit.estimates - laplace["beta"]) <= 0.002 * np.array(laplace["se"])).all()
    assert fit.se == pytest.approx(laplace["se"], rel=0.015)
    assert fit.se == pytest.approx(quadrature["se"], rel=0.005)
    assert fit.sd == pytest.approx(laplace["sd"], abs=5e-4)
    assert fit.log_likelihood == pytest.approx(laplace["logLik"], abs=5e-4)
    assert fit.log_likelihood > laplace["logLik"]
