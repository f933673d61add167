"""Correlations, strata, equivalence, trends, odds and agreement, against formulas, enumeration and other libraries."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from verseir.stats.agreement import kappa
from verseir.stats.correlation import dependent_correlations, kendall, spearman
from verseir.stats.equivalence import paired_equivalence
from verseir.stats.mcnemar import tango_interval
from verseir.stats.odds import odds_ratio, paired_odds_ratio
from verseir.stats.paired_ranks import paired_rank_correlations
from verseir.stats.strata import two_strata
from verseir.stats.trend import cochran_armitage, logit_trend


def enumerated(statistic, x, y):
    """The share of all orders of y whose statistic is as far from 0 as the observed one."""
    observed = abs(statistic(x, y)) - 1e-9
    return np.mean([abs(statistic(x, order)) >= observed for order in itertools.permutations(y)])


def rho(x, y):
    return np.corrcoef(stats.rankdata(x), stats.rankdata(y))[0, 1]


@given(st.permutations(range(5)))
@settings(max_examples=8, deadline=None)
def test_spearman_of_few_is_enumerated(y):
    found = spearman(range(5), y)
    assert found.estimate == pytest.approx(rho(range(5), y))
    assert found.p == pytest.approx(enumerated(rho, range(5), y))
    assert found.method == "exact"


def test_the_series_for_more_than_nine_is_near_the_exact_value():
    # Of the 10! orders ten lie at most one swap of neighbours from the observed direction, and ten from the other.
    y = [0, 1, 2, 3, 5, 4, 6, 7, 8, 9]
    found = spearman(range(10), y)
    assert found.method == "Edgeworth series"
    assert found.p == pytest.approx(2 * 10 / math.factorial(10), abs=2e-5)
    assert spearman(range(10), [-value for value in y]).p == pytest.approx(found.p)


def test_spearman_with_ties_is_that_of_scipy():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 4, 30), rng.integers(0, 2, 30)
    found, expected = spearman(x, y), stats.spearmanr(x, y)
    assert (found.estimate, found.p) == pytest.approx((expected.statistic, expected.pvalue))
    assert found.method == "t"


@pytest.mark.parametrize("correlate", [spearman, kendall])
def test_a_constant_variable_has_no_correlation(correlate):
    found = correlate([1, 1, 1, 1], [1, 2, 3, 4])
    assert math.isnan(found.estimate)
    assert math.isnan(found.p)
    assert found.method == "none"


@pytest.mark.parametrize("correlate", [spearman, kendall])
def test_no_p_is_ever_zero(correlate):
    assert correlate(range(400), range(400)).p > 0
    assert correlate([*range(399), 398], [*range(399), 398]).p > 0


def test_kendall_without_ties_is_exact():
    y = [2, 0, 1, 4, 3, 5]
    found = kendall(range(6), y)
    assert found.method == "exact"
    assert found.p == pytest.approx(enumerated(lambda a, b: stats.kendalltau(a, b).statistic, range(6), y))


def test_kendall_with_ties_permutes():
    x, y = [1, 1, 2, 3, 4, 5], [1, 2, 2, 3, 5, 4]
    found = kendall(x, y)
    assert found.method == "all permutations"
    assert found.estimate == pytest.approx(stats.kendalltau(x, y).statistic)
    assert found.p == pytest.approx(enumerated(lambda a, b: stats.kendalltau(a, b).statistic, x, y))
    more = kendall([*x, 6, 7, 8, 8], [*y, 8, 6, 7, 7], flips=20_000)
    assert more.method == "permutation"
    assert more.p == kendall([*x, 6, 7, 8, 8], [*y, 8, 6, 7, 7], flips=20_000).p
    assert more.p == pytest.approx(stats.kendalltau([*x, 6, 7, 8, 8], [*y, 8, 6, 7, 7]).pvalue, abs=0.01)


def test_dependent_correlations_mirror_and_vanish():
    found, mirrored = dependent_correlations(0.6, 0.2, 0.3, 80), dependent_correlations(0.2, 0.6, 0.3, 80)
    for name in ("meng_z", "steiger_z", "hittner_z", "williams_t"):
        assert getattr(found, name) == pytest.approx(-getattr(mirrored, name))
    assert dependent_correlations(0.4, 0.4, 0.3, 80).meng_p == 1
    for undefined in (dependent_correlations(1, 0.2, 0.3, 80), dependent_correlations(0.6, math.nan, 0.3, 80)):
        assert all(math.isnan(value) for value in undefined)


def test_dependent_correlations_of_unrelated_predictors_have_their_short_forms():
    # r_kh = 0 and opposite correlations: nothing is pooled, so both z have variance 2 - 0.
    found = dependent_correlations(0.3, -0.3, 0.0, 53)
    assert found.steiger_z == pytest.approx(2 * math.atanh(0.3) * math.sqrt(50 / 2))
    assert found.hittner_z == pytest.approx(found.steiger_z)
    determinant = np.linalg.det([[1, 0.3, -0.3], [0.3, 1, 0], [-0.3, 0, 1]])
    assert found.williams_t == pytest.approx(0.6 * math.sqrt(52 / (2 * determinant * 52 / 50)))
    f = 1 / (2 * (1 - 0.09))
    h = (1 - f * 0.09) / (1 - 0.09)
    assert found.meng_z == pytest.approx(2 * math.atanh(0.3) * math.sqrt(50 / (2 * h)))


def test_dependent_correlations_reject_as_often_as_they_say():
    rng = np.random.default_rng(3)
    shared = rng.normal(size=(2000, 60))
    k, h = (0.5 * shared + rng.normal(size=shared.shape) for _ in range(2))
    p = []
    for one, two, three in zip(shared, k, h, strict=True):
        r = np.corrcoef([one, two, three])
        p.append(dependent_correlations(r[0, 1], r[0, 2], r[1, 2], 60)[1::2])
    assert np.mean(np.array(p) < 0.05, axis=0) == pytest.approx([0.05] * 4, abs=0.015)


def ranked_data(n=60, seed=5):
    rng = np.random.default_rng(seed)
    predictors = np.column_stack([rng.integers(0, 12, n) / 12, rng.random(n)])
    noise = rng.normal(size=(n, 3))
    graded = 1 / (1 + np.floor(np.exp(2 - 3 * predictors[:, [0]] + noise[:, :1])))
    return np.column_stack([graded, predictors[:, 1] + 0.3 * noise[:, 1] > 0.5, noise[:, 2] > 0]), predictors


def test_paired_rank_correlations_are_those_of_scipy_on_every_resample():
    outcomes, predictors = ranked_data(20)
    found = paired_rank_correlations(outcomes, predictors, resamples=50, seed=3)
    for j in range(3):
        first, second = (stats.spearmanr(outcomes[:, j], predictors[:, k]).statistic for k in (0, 1))
        assert found.first.estimate[j] == pytest.approx(first)
        assert found.difference.estimate[j] == pytest.approx(first - second)
    # Whole rows drawn many times over, as clusters: the same ranks as the rows themselves.
    times = np.repeat(np.arange(20), 3)
    copied = paired_rank_correlations(outcomes[times], predictors[times], times, resamples=50, seed=3)
    for ours, theirs in zip(found[:3], copied[:3], strict=True):
        assert np.concatenate(ours) == pytest.approx(np.concatenate(theirs))
    assert found.p == pytest.approx(copied.p)


def test_paired_rank_correlations_under_weights_are_those_of_the_rows_repeated():
    from verseir.stats import paired_ranks

    outcomes, predictors = ranked_data(40)
    drawn = np.random.default_rng(0).integers(0, 40, 40)
    weights = np.bincount(drawn, minlength=40)[None, :].astype(float)
    coded = {k: paired_ranks._code(predictors[:, [k]]) for k in (0, 1)}
    for k, values in paired_ranks._weighted_rho(weights, paired_ranks._code(outcomes), coded):
        expected = [stats.spearmanr(outcomes[drawn, j], predictors[drawn, k]).statistic for j in range(3)]
        assert values[0] == pytest.approx(expected)


def test_the_better_predictor_is_separated_and_p_agrees_with_the_interval():
    found = paired_rank_correlations(*ranked_data(200), resamples=999)
    assert found.difference.low[0] > 0
    assert found.difference.high[1] < 0
    assert found.p[0] < 0.05
    assert found.p[1] < 0.05
    assert found.difference.low[2] < 0 < found.difference.high[2]
    assert found.p[2] > 0.05
    assert (found.p >= 2 / 1000).all()


def test_the_difference_of_equal_predictors_is_rejected_as_often_as_it_says():
    rng = np.random.default_rng(11)
    p = []
    for seed in range(60):
        predictors = rng.normal(size=(60, 2))
        outcomes = (predictors.sum(axis=1)[:, None] + rng.normal(size=(60, 5)) > 0).astype(float)
        p += paired_rank_correlations(outcomes, predictors, resamples=199, seed=seed).p.tolist()
    assert 0.015 < np.mean(np.array(p) < 0.05) < 0.1


def test_paired_rank_correlations_of_what_does_not_vary():
    outcomes, predictors = ranked_data(30)
    outcomes[:, 2] = 1
    found = paired_rank_correlations(outcomes, predictors, resamples=99)
    assert math.isnan(found.first.estimate[2])
    assert math.isnan(found.p[2])
    predictors[:, 1] = np.nan
    absent = paired_rank_correlations(outcomes, predictors, resamples=99)
    assert np.isnan(absent.second.estimate).all()
    assert absent.first.estimate[:2] == pytest.approx(found.first.estimate[:2])
    assert absent.first.low[:2] == pytest.approx(found.first.low[:2])
    for n in (0, 1, 2):
        assert np.isnan(paired_rank_correlations(outcomes[:n], predictors[:n], resamples=9).p).all()


def test_two_independent_strata_get_the_t_test_of_welch():
    rng = np.random.default_rng(2)
    values, first = rng.random((40, 3)), np.arange(40) < 12
    found = two_strata(values, first, resamples=999, flips=1999)
    assert found.test == "Welch t"
    assert found.estimate == pytest.approx(values[:12].mean(axis=0) - values[12:].mean(axis=0))
    assert found.p == pytest.approx(stats.ttest_ind(values[:12], values[12:], equal_var=False).pvalue)
    assert (found.low < found.estimate).all()
    assert (found.estimate < found.high).all()
    assert found.p_permutation == pytest.approx(found.p, abs=0.06)


def test_the_permutation_of_strata_is_studentised():
    values = np.array([3.0, 1, 4, 1, 5, 9, 2, 6])
    first = np.arange(8) < 3

    def welch(chosen):
        return abs(stats.ttest_ind(values[list(chosen)], np.delete(values, list(chosen)), equal_var=False).statistic)

    observed = welch(range(3)) * (1 - 1e-9)
    expected = np.mean([welch(chosen) >= observed for chosen in itertools.combinations(range(8), 3)])
    found = two_strata(values[:, None], first, resamples=99, flips=40_000)
    assert found.p_permutation[0] == pytest.approx(expected, abs=0.015)


def test_the_bootstrap_interval_of_strata_is_near_that_of_welch():
    rng = np.random.default_rng(4)
    values, first = rng.normal(size=(300, 1)), np.arange(300) < 100
    found = two_strata(values, first, flips=9)
    expected = stats.ttest_ind(values[:100, 0], values[100:, 0], equal_var=False).confidence_interval()
    assert (found.low[0], found.high[0]) == pytest.approx((expected.low, expected.high), abs=0.02)


def test_strata_of_clusters_get_cluster_robust_variance():
    import statsmodels.api as sm

    rng = np.random.default_rng(6)
    y, first, clusters = rng.random(60), rng.random(60) < 0.4, rng.integers(0, 20, 60)
    found = two_strata(y[:, None], first, clusters, resamples=499)
    design = sm.add_constant(first.astype(float))
    fit = sm.OLS(y, design).fit(cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True)
    assert found.test == "cluster-robust t"
    assert (found.estimate[0], found.p[0]) == pytest.approx((fit.params[1], fit.pvalues[1]))
    assert math.isnan(found.p_permutation[0])
    assert found.low[0] < found.estimate[0] < found.high[0]


def test_copies_of_a_query_add_nothing_to_the_interval_of_strata():
    rng = np.random.default_rng(8)
    values, first = rng.random((30, 2)), np.arange(30) < 10
    alone = two_strata(values, first, resamples=499, flips=9)
    times = np.random.default_rng(1).permutation(np.repeat(np.arange(30), 2))
    copied = two_strata(values[times], first[times], times, resamples=499)
    assert (copied.low, copied.high) == (pytest.approx(alone.low), pytest.approx(alone.high))


@pytest.mark.parametrize("clusters", [None, np.array([0, 0, 1, 1, 2, 2])])
def test_strata_that_are_empty_or_constant_are_not_estimable(clusters):
    values = np.array([[1.0, 1], [1, 1], [1, 1], [1, 0], [1, 0], [1, 0]])
    empty = two_strata(values, np.zeros(6, bool), clusters, resamples=99, flips=99)
    assert np.isnan(empty.estimate).all()
    found = two_strata(values, np.arange(6) < 3, clusters, resamples=99, flips=99)
    assert found.estimate.tolist() == [0, 1]
    assert np.isnan(found.p[0])
    assert np.isnan([found.low[0], found.p_permutation[0]]).all()
    single = two_strata(values, np.arange(6) < 1, clusters, resamples=99, flips=99)
    assert np.isnan(single.p).all()


def test_level_needs_an_interval_inside_the_margin():
    difference = np.repeat([1.0, -1.0, 0.0], [4, 3, 393])
    found = paired_equivalence(difference, None, 0.05)
    assert (found.low, found.high) == pytest.approx(tango_interval(4, 3, 400, 0.90))
    assert found.is_level(0.05)
    assert not found.is_level(0.005)
    few = paired_equivalence(difference[[0, 4, *range(380, 400)]], None, 0.05)
    assert few.is_level(0.05) is False


def test_graded_and_clustered_differences_are_bootstrapped():
    difference = np.random.default_rng(0).normal(0, 0.1, 200)
    found = paired_equivalence(difference, None, 0.05)
    reach = stats.t.ppf(0.95, 199) * stats.sem(difference)
    assert (found.low, found.high) == pytest.approx((found.estimate - reach, found.estimate + reach), abs=0.003)
    assert paired_equivalence(difference, np.arange(200) // 2, 0.05).low < found.estimate


def test_few_queries_without_a_difference_are_not_level():
    assert paired_equivalence(np.zeros(10), None, 0.05).is_level(0.05) is False
    assert paired_equivalence(np.zeros(200), np.arange(200) // 20, 0.05).is_level(0.05) is False
    assert paired_equivalence(np.zeros(200), None, 0.05).is_level(0.05) is True
    assert paired_equivalence(np.full(9, 0.2), None, 0.05).is_level(0.05) is None
    assert paired_equivalence(np.zeros(1), None, 0.05).is_level(0.05) is None
    with pytest.raises(ValueError, match="margin"):
        paired_equivalence(np.zeros(10), None, 0.0)


def test_cochran_armitage_is_the_score_test_of_the_slope():
    success, n, score = [4, 9, 12], [20, 25, 18], [0, 1, 3]
    y = np.repeat([1, 0] * 3, [count for s, t in zip(success, n, strict=True) for count in (s, t - s)])
    r = np.corrcoef(y, np.repeat(score, n))[0, 1]
    found = cochran_armitage(success, n, score)
    assert found.statistic == pytest.approx(63 * r**2)
    assert found.p == pytest.approx(stats.chi2.sf(63 * r**2, 1))
    assert math.isnan(cochran_armitage([5, 5], [5, 5], [1, 2]).p)
    assert math.isnan(cochran_armitage([2, 3], [5, 5], [1, 1]).p)


def test_the_logit_trend_is_that_of_statsmodels():
    import statsmodels.api as sm

    rng = np.random.default_rng(1)
    x, clusters = rng.integers(0, 5, 200), np.arange(200) // 3
    y = (rng.random(200) < 1 / (1 + np.exp(1 - 0.4 * x))).astype(float)
    plain = sm.Logit(y, sm.add_constant(x)).fit(disp=0)
    found = logit_trend(y, x)
    assert (found.slope, found.se, found.p) == pytest.approx(
        (plain.params[1], plain.bse[1], plain.pvalues[1]), rel=1e-4
    )
    assert (found.low, found.high) == pytest.approx(plain.conf_int()[1], rel=1e-4)
    robust = sm.Logit(y, sm.add_constant(x)).fit(disp=0, cov_type="cluster", cov_kwds={"groups": clusters})
    assert logit_trend(y, x, clusters).se == pytest.approx(robust.bse[1], rel=1e-4)


@pytest.mark.parametrize(
    ("y", "x", "why"),
    [
        ([1, 1, 1, 1], [1, 2, 3, 4], "the outcome is constant"),
        ([0, 1, 0, 1], [2, 2, 2, 2], "the score is constant"),
        ([0, 0, 1, 1], [1, 2, 2, 3], "separates"),
        ([1, 1, 0, 0], [1, 2, 3, 4], "separates"),
        ([1, 0], [1, 2], "fewer than three"),
    ],
)
def test_a_trend_that_is_not_estimable_says_why(y, x, why):
    found = logit_trend(y, x)
    assert found.note.startswith("not estimable: ")
    assert why in found.note
    assert math.isnan(found.p)


def test_odds_ratios_by_hand():
    found = odds_ratio([[8, 4], [3, 9]])
    assert found.sample == 6
    assert 1 < found.conditional < 6
    assert found.low < found.conditional < found.high
    assert found.p == pytest.approx(stats.fisher_exact([[8, 4], [3, 9]]).pvalue)
    assert odds_ratio([[8, 0], [3, 9]]).sample == math.inf
    assert odds_ratio([[8, 0], [3, 9]]).high == math.inf
    assert math.isnan(odds_ratio([[0, 0], [3, 9]]).p)
    with pytest.raises(ValueError, match="two by two"):
        odds_ratio([[1, 2, 3]])


def test_paired_odds_ratios_by_hand():
    found = paired_odds_ratio(12, 4)
    low, high = stats.beta.ppf(0.025, 12, 5), stats.beta.ppf(0.975, 13, 4)
    assert (found.estimate, found.low, found.high) == pytest.approx((3, low / (1 - low), high / (1 - high)))
    assert paired_odds_ratio(5, 0).high == math.inf
    assert paired_odds_ratio(0, 5).low == 0
    assert math.isnan(paired_odds_ratio(0, 0).estimate)


def test_kappa_counts_distances_on_the_whole_scale():
    first, second = [1, 1, 3, 3, 4, 1], [1, 3, 3, 3, 3, 1]
    squared = np.mean([(a - b) ** 2 for a, b in zip(first, second, strict=True)])
    chance = np.mean([(a - b) ** 2 for a in first for b in second])
    found = kappa(first, second, [1, 2, 3, 4])
    assert found.estimate == pytest.approx(1 - squared / chance)
    assert found.low <= found.estimate <= found.high
    assert kappa(first, second, [1, 3, 4]).estimate != pytest.approx(found.estimate)
    assert kappa(first, first, [1, 2, 3, 4]).estimate == 1
    assert math.isnan(kappa(first, first, [1, 2, 3, 4]).low)
    assert math.isnan(kappa([1, 1], [1, 1], [1, 2]).estimate)
    with pytest.raises(ValueError, match="not a category of the scale: 4"):
        kappa(first, second, [1, 2, 3])
