"""Mixed and marginal logistic regression, separation, and shares of explained variance."""

import gpboost
import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st

from verseir.stats.glmm import fit_mixed_logit, likelihood_ratio_tests, two_sided
from verseir.stats.laplace import LaplaceLikelihood
from verseir.stats.marginal import fit_marginal_logit
from verseir.stats.separation import independent_columns, separating_columns
from verseir.stats.shapley import general_dominance

NAMES = ["intercept", "x", "noise"]


def simulated(n_groups=80, size=6, sd=1.5, slope=1.0, seed=0):
    """y, x with an intercept, and groups; ``x`` varies within groups."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), size)
    x = np.column_stack([np.ones(n_groups * size), rng.normal(size=(n_groups * size, 2))])
    eta = 0.3 + slope * x[:, 1] + sd * rng.normal(size=n_groups)[groups]
    return (rng.random(len(eta)) < 1 / (1 + np.exp(-eta))).astype(float), x, groups


def test_the_likelihood_is_that_of_gpboost_and_its_gradient_is_right():
    y, x, groups = simulated(n_groups=30)
    likelihood = LaplaceLikelihood(y, x, groups)
    at = np.array([0.2, 0.7, -0.1, 1.3])
    value, gradient = likelihood.value_and_gradient(at)
    model = gpboost.GPModel(group_data=groups, likelihood="bernoulli_logit", num_parallel_threads=1)
    theirs = model.neg_log_likelihood(cov_pars=np.array([at[-1] ** 2]), y=y, fixed_effects=x @ at[:-1])
    assert value == pytest.approx(-theirs, rel=1e-8)
    steps = 1e-5 * np.eye(4)
    numeric = [
        (likelihood.value_and_gradient(at + h)[0] - likelihood.value_and_gradient(at - h)[0]) / 2e-5 for h in steps
    ]
    assert gradient == pytest.approx(numeric, abs=1e-6)


def test_a_known_model_is_recovered():
    y, x, groups = simulated(n_groups=400, size=8)
    fit = fit_mixed_logit(y, x, NAMES, groups)
    assert fit.usable and fit.converged and not fit.separated
    for name, truth in zip(NAMES, (0.3, 1.0, 0.0), strict=True):
        found = fit.coefficient(name)
        assert abs(found.estimate - truth) < 3 * found.se
        assert found.low < found.estimate < found.high
    assert fit.sd == pytest.approx(1.5, abs=0.2)
    assert fit.coefficient("x").p < 1e-20 < fit.coefficient("noise").p


def test_the_order_of_rows_names_of_groups_and_threads_change_nothing():
    y, x, groups = simulated()
    fit = fit_mixed_logit(y, x, NAMES, groups)
    shuffled = np.random.default_rng(1).permutation(len(y))
    again = fit_mixed_logit(y[shuffled], x[shuffled], NAMES, 10 * groups[shuffled] + 3)
    assert np.array_equal(again.estimates, fit.estimates)
    assert np.array_equal(again.covariance, fit.covariance)
    assert fit_mixed_logit(y, x, NAMES, groups, threads=2).estimates == pytest.approx(fit.estimates, rel=1e-9)


def test_a_sum_of_coefficients_is_the_coefficient_of_another_coding():
    y, x, groups = simulated()
    plain = fit_mixed_logit(y, x, NAMES, groups)
    recoded = x.copy()
    recoded[:, 2] = x[:, 2] - x[:, 1]
    other = fit_mixed_logit(y, recoded, NAMES, groups)
    total = plain.combine({"x": 1.0, "noise": 1.0})
    assert list(other.coefficient("x")) == pytest.approx(list(total), rel=1e-3)


def test_likelihood_ratio_tests_refit_without_the_block():
    y, x, groups = simulated()
    full = fit_mixed_logit(y, x, NAMES, groups)
    tests = likelihood_ratio_tests(full, y, x, NAMES, groups, {"x": ["x"], "noise": ["noise"], "none": ["absent"]})
    reduced = fit_mixed_logit(y, x[:, [0, 2]], ["intercept", "noise"], groups)
    assert tests["x"].chi2 == pytest.approx(2 * (full.log_likelihood - reduced.log_likelihood))
    assert tests["x"].df == 1 and tests["x"].p < 1e-8
    assert tests["noise"].p == pytest.approx(full.coefficient("noise").p, abs=0.05)
    assert np.isnan(tests["none"].p) and "no such term" in tests["none"].note


def test_columns_that_others_make_up_are_dropped_and_named():
    y, x, groups = simulated()
    wider = np.column_stack([x, x[:, 1] - 2 * x[:, 2], np.full(len(y), 7.0)])
    fit = fit_mixed_logit(y, wider, [*NAMES, "made up", "constant"], groups)
    assert fit.dropped == ("made up", "constant")
    assert fit.estimates == pytest.approx(fit_mixed_logit(y, x, NAMES, groups).estimates)
    assert np.isnan(fit.coefficient("made up").estimate)


def test_separated_outcomes_have_no_estimates_and_no_p():
    y, x, groups = simulated()
    always = np.column_stack([x, (np.arange(len(y)) % 6 == 0).astype(float)])
    y = np.where(always[:, 3] == 1, 1.0, y)  # quasi-complete: rows of this column always succeed
    for fit in (
        fit_mixed_logit(y, always, [*NAMES, "system"], groups),
        fit_marginal_logit(y, always, [*NAMES, "system"], groups),
    ):
        assert fit.separated and not fit.usable and not fit.converged
        assert "system" in fit.reason
        assert np.isnan(fit.coefficient("x").p)
    tests = likelihood_ratio_tests(
        fit_mixed_logit(y, always, [*NAMES, "system"], groups), y, always, [*NAMES, "system"], groups, {"x": ["x"]}
    )
    assert np.isnan(tests["x"].p) and "separated" in tests["x"].note


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda y, x, g: (y * 0, x, g), "always 0"),
        (lambda y, x, g: (y * 0 + 1, x, g), "always 1"),
        (lambda y, x, g: (y, x, g * 0), "fewer than two groups"),
        (lambda y, x, g: (y, x, np.arange(len(y))), "one row for each group"),
        (lambda y, x, g: (y[:0], x[:0], g[:0]), "no outcome to model"),
        (lambda y, x, g: ((np.arange(len(y)) // 6 % 2).astype(float), x, g), "not converged"),
    ],
)
def test_what_cannot_be_fitted_says_why(change, reason):
    y, x, groups = change(*simulated(n_groups=20))
    fit = fit_mixed_logit(y, x, NAMES, groups)
    assert reason in fit.reason
    assert np.isnan(fit.coefficient("intercept")).all()


def test_intercepts_that_do_not_spread_leave_a_plain_regression():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(50), 4)
    x = np.column_stack([np.ones(200), rng.normal(size=200)])
    y = np.tile([0.0, 1.0, 0.0, 1.0], 50)
    fit = fit_mixed_logit(y, x, NAMES[:2], groups)
    assert fit.sd < 1e-3 and "do not spread" in fit.notes[0]
    assert fit.estimates == pytest.approx(sm.Logit(y, x).fit(disp=0).params, abs=1e-3)


def test_the_marginal_effect_is_closer_to_zero_and_its_errors_know_the_clusters():
    y, x, groups = simulated(n_groups=200, sd=2.0)
    conditional = fit_mixed_logit(y, x, NAMES, groups).coefficient("x")
    fit = fit_marginal_logit(y, x, NAMES, groups)
    assert 0 < fit.coefficient("x").estimate < conditional.estimate
    assert fit.coefficient("intercept").se > 1.2 * sm.Logit(y, x).fit(disp=0).bse[0]
    # CR1 by hand (Liang and Zeger, 1986)
    p = 1 / (1 + np.exp(-x @ fit.estimates))
    bread = np.linalg.inv((x * (p * (1 - p))[:, None]).T @ x)
    scores = np.array([((y - p)[groups == g, None] * x[groups == g]).sum(axis=0) for g in range(200)])
    n, k = x.shape
    expected = bread @ (scores.T @ scores) @ bread * 200 / 199 * (n - 1) / (n - k)
    assert fit.covariance == pytest.approx(expected, rel=1e-6)


def test_too_few_clusters_have_no_robust_errors():
    y, x, groups = simulated(n_groups=3, size=40)
    assert "too few" in fit_marginal_logit(y, x, NAMES, groups).reason


def test_a_term_on_which_all_clusters_bear_alike_has_no_robust_error():
    """Each cluster has the same outcomes in both halves: the halves differ by 0 in each, which is no small error."""
    rng = np.random.default_rng(0)
    outcomes, half = rng.integers(0, 2, 40).astype(float), np.repeat([0.0, 1.0], 40)
    x = np.column_stack([np.ones(80), half])
    fit = fit_marginal_logit(np.tile(outcomes, 2), x, ["intercept", "half"], np.tile(np.arange(40), 2))
    found = fit.coefficient("half")
    assert found.estimate == pytest.approx(0, abs=1e-9)
    assert np.isnan([found.se, found.low, found.high, found.p]).all()
    assert fit.coefficient("intercept").se > 0.1


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.floats(-0.9, 0.9))
def test_a_line_that_separates_is_found(seed, cut):
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(40), rng.uniform(-1, 1, size=(40, 2))])
    y = (x[:, 1] > cut).astype(float)
    assert 1 in separating_columns(y, x) or np.ptp(y) == 0
    mixed = np.concatenate([y, 1 - y])  # every row once with each outcome: nothing separates
    assert separating_columns(mixed, np.concatenate([x, x])) == []


def test_independent_columns_keeps_the_first():
    x = np.random.default_rng(0).normal(size=(30, 3))
    assert independent_columns(np.column_stack([x[:, 0], 1e6 * x[:, 0], x[:, 1], x[:, 0] + x[:, 1], 0 * x[:, 0]])) == [
        0,
        2,
    ]


def test_p_is_never_zero():
    assert 0 < two_sided(60.0) < 1e-300
    assert two_sided(1.959964) == pytest.approx(0.05, abs=1e-6)


def test_shares_are_the_average_gain_over_orders():
    y, x, _ = simulated(n_groups=60, sd=0.0)
    a, b = x[:, [1]], 0.6 * x[:, [1]] + x[:, [2]]

    def r2(*columns):
        return sm.Logit(y, np.column_stack([np.ones(len(y)), *columns])).fit(disp=0).prsquared

    found = general_dominance(y, {"a": a, "b": b})
    total = r2(a, b)
    part = (r2(a) + total - r2(b)) / 2
    assert found.r2 == pytest.approx(total, abs=1e-8)
    assert found.shares["a"] == pytest.approx(part / total, abs=1e-7)
    assert sum(found.shares.values()) == pytest.approx(1)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_shares_are_not_negative_and_do_not_know_the_order_or_scale(seed):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(120, 4))
    y = (rng.random(120) < 1 / (1 + np.exp(-features[:, 0] - features[:, 1]))).astype(float)
    groups = {"first": features[:, :2], "second": features[:, [2]], "third": features[:, [3]]}
    found = general_dominance(y, groups)
    if found.reason:
        assert np.isnan(list(found.shares.values())).all()
        return
    assert min(found.shares.values()) > -1e-9 and sum(found.shares.values()) == pytest.approx(1)
    order = rng.permutation(120)
    again = general_dominance(y[order], {name: 5 * part[order] - 2 for name, part in groups.items()})
    assert again.shares == pytest.approx(found.shares, abs=1e-7)


def test_shares_of_next_to_nothing_of_a_constant_and_of_a_separated_outcome_are_not_given():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 2))
    groups = {"a": x[:, [0]], "b": x[:, [1]]}
    noise = general_dominance(np.tile([0.0, 1.0], 200), groups)
    assert "next to nothing" in noise.reason and 0 <= noise.r2 < 0.01
    for y, why in ((np.ones(400), "constant"), ((x[:, 0] > 0).astype(float), "separate")):
        found = general_dominance(y, groups)
        assert why in found.reason and np.isnan(found.r2)
    with pytest.raises(ValueError, match="at most 5"):
        general_dominance(np.ones(3), {str(i): np.ones((3, 1)) for i in range(6)})
