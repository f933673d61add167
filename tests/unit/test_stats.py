"""Tests, intervals and corrections against hand values, published values and other implementations."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import binomtest

from verseir.stats.bootstrap import bca_interval, bootstrap_means, clopper_pearson
from verseir.stats.holm import holm
from verseir.stats.mcnemar import mcnemar_exact, tango_interval
from verseir.stats.permutation import sign_flip


@pytest.mark.parametrize(
    ("b", "c", "p"),
    [
        (1, 7, 0.0703125),  # Fagerland, Lydersen and Laake (2013)
        (5, 15, 0.04138946533203),
        (0, 0, 1.0),
        (4, 4, 1.0),
    ],
)
def test_mcnemar_exact_on_known_tables(b, c, p):
    assert mcnemar_exact(b, c) == pytest.approx(p, abs=1e-12)
    assert mcnemar_exact(c, b) == mcnemar_exact(b, c)


def test_tango_without_discordant_pairs_has_its_closed_form():
    z2 = stats.norm.ppf(0.975) ** 2
    low, high = tango_interval(0, 0, 50)
    assert high == pytest.approx(z2 / (50 + z2), abs=1e-10)
    assert low == pytest.approx(-high, abs=1e-10)


def test_tango_when_one_system_always_wins_has_its_closed_form():
    z2 = stats.norm.ppf(0.975) ** 2
    low, high = tango_interval(40, 0, 40)
    assert low == pytest.approx((40 - z2) / (40 + z2), abs=1e-10)
    assert high == 1.0


@given(st.integers(0, 40), st.integers(0, 40), st.integers(1, 80))
@settings(max_examples=200, deadline=None)
def test_tango_holds_the_estimate_and_mirrors(b, c, rest):
    n = b + c + rest
    low, high = tango_interval(b, c, n)
    assert -1 <= low <= (b - c) / n <= high <= 1
    assert tango_interval(c, b, n) == pytest.approx((-high, -low), abs=1e-9)


def test_tango_covers_as_often_as_it_says():
    rng = np.random.default_rng(7)
    covered = 0
    for b, c, _ in rng.multinomial(60, [0.25, 0.1, 0.65], size=800):
        low, high = tango_interval(int(b), int(c), 60)
        covered += low <= 0.15 <= high
    assert 0.93 <= covered / 800 <= 0.975


def test_holm_by_hand_and_without_what_was_not_tested():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    adjusted = holm([0.01, math.nan, 0.03])
    assert adjusted[0] == pytest.approx(0.02)
    assert math.isnan(adjusted[1])
    assert adjusted[2] == pytest.approx(0.03)
    assert holm([]) == []


def test_holm_agrees_with_pingouin():
    import pingouin

    p = [0.001, 0.2, math.nan, 0.04, 0.03, 0.04]
    assert holm(p) == pytest.approx(pingouin.multicomp(p, method="holm")[1].tolist(), nan_ok=True)


@settings(max_examples=30)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_never_lowers_and_keeps_the_order(p):
    adjusted = holm(p)
    assert all(after >= before for before, after in zip(p, adjusted, strict=True))
    assert all(adjusted[i] <= adjusted[j] for i in range(len(p)) for j in range(len(p)) if p[i] < p[j])


def test_bca_agrees_with_scipy():
    values = np.random.default_rng(3).beta(0.5, 0.8, size=(90, 1))
    ours = bootstrap_means(values, resamples=60_000, seed=1)
    theirs = stats.bootstrap((values[:, 0],), np.mean, n_resamples=60_000, rng=np.random.default_rng(2))
    assert ours.low[0] == pytest.approx(theirs.confidence_interval.low, abs=0.003)
    assert ours.high[0] == pytest.approx(theirs.confidence_interval.high, abs=0.003)


def test_bca_of_any_statistic_from_its_replicates():
    values = np.random.default_rng(5).gamma(2.0, size=40)
    rng = np.random.default_rng(6)
    replicates = values[rng.integers(0, 40, size=(50_000, 40))].var(axis=1)
    jackknife = np.array([np.delete(values, i).var() for i in range(40)])
    low, high = bca_interval(values.var(), replicates, jackknife, 0.9)
    theirs = stats.bootstrap((values,), np.var, n_resamples=50_000, confidence_level=0.9, rng=np.random.default_rng(8))
    assert low == pytest.approx(theirs.confidence_interval.low, rel=0.02)
    assert high == pytest.approx(theirs.confidence_interval.high, rel=0.03)


def test_constant_columns_get_the_exact_interval_or_none():
    values = np.column_stack([np.ones(30), np.zeros(30), np.full(30, 0.5)])
    interval = bootstrap_means(values, resamples=500)
    assert (interval.low[0], interval.high[0]) == pytest.approx(clopper_pearson(30, 30))
    assert interval.high[1] == pytest.approx(binomtest(0, 30).proportion_ci(method="exact").high)
    assert np.isnan([interval.low[2], interval.high[2]]).all()


def test_one_query_has_a_mean_and_no_interval():
    interval = bootstrap_means(np.array([[0.25]]), resamples=500)
    assert interval.mean[0] == 0.25
    assert np.isnan(interval.low[0])


def test_clusters_widen_the_interval_of_queries_that_repeat_each_other():
    values = np.repeat(np.random.default_rng(1).integers(0, 2, size=(40, 1)), 3, axis=0).astype(float)
    alone = bootstrap_means(values, resamples=4000)
    together = bootstrap_means(values, np.repeat(np.arange(40), 3), resamples=4000)
    assert together.mean == alone.mean
    assert together.high[0] - together.low[0] > 1.5 * (alone.high[0] - alone.low[0])


def test_the_bootstrap_gives_each_column_what_it_gets_alone():
    values = np.random.default_rng(4).random((25, 4))
    together = bootstrap_means(values, resamples=2000, seed=9)
    for j in range(4):
        alone = bootstrap_means(values[:, [j]], resamples=2000, seed=9)
        assert alone.low[0] == pytest.approx(together.low[j], abs=1e-12)


def test_sign_flip_enumerates_when_it_can():
    differences = np.random.default_rng(0).normal(0.4, 1, size=(11, 1))
    theirs = stats.permutation_test((differences[:, 0],), np.mean, permutation_type="samples", n_resamples=2**11)
    result = sign_flip(differences)
    assert result.exact[0]
    assert result.p[0] == pytest.approx(theirs.pvalue, abs=1e-12)


def test_sign_flip_samples_close_to_scipy_and_never_gives_zero():
    differences = np.random.default_rng(1).normal(0.15, 1, size=(120, 2))
    differences[:, 1] += 3
    result = sign_flip(differences, flips=20_000, seed=5)
    theirs = stats.permutation_test(
        (differences[:, 0],), np.mean, permutation_type="samples", n_resamples=20_000, rng=np.random.default_rng(3)
    )
    assert not result.exact.any()
    assert result.p[0] == pytest.approx(theirs.pvalue, abs=0.012)
    assert result.p[1] == pytest.approx(1 / 20_001)


def test_sign_flip_of_no_difference_is_one():
    assert sign_flip(np.zeros((30, 1))).p[0] == 1.0


@given(st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0]), min_size=1, max_size=9), st.randoms(use_true_random=False))
def test_exact_sign_flip_does_not_depend_on_order_or_direction(values, random):
    column = np.array(values)[:, None]
    shuffled = np.array(random.sample(values, len(values)))[:, None]
    assert sign_flip(shuffled).p[0] == pytest.approx(sign_flip(column).p[0])
    assert sign_flip(-column).p[0] == pytest.approx(sign_flip(column).p[0])


def test_flipping_whole_poems_is_the_test_on_their_sums():
    differences = np.random.default_rng(2).normal(size=(24, 1))
    clusters = np.repeat(np.arange(8), 3)
    sums = differences.reshape(8, 3).sum(axis=1, keepdims=True)
    assert sign_flip(differences, clusters).p[0] == pytest.approx(sign_flip(sums).p[0])
