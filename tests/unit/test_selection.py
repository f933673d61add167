"""What choosing the best of many gains, and how many clusters would tell: laws, and simulations of their promises."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verseir.stats.sample_size import clusters_to_level, clusters_to_tell
from verseir.stats.selection import Rows, deal_spread, mixed_interval, selected_gain, stratified_error, weighted_means


def one(n: int, clusters=None) -> Rows:
    """Rows of one stratum."""
    return Rows(np.zeros(n, dtype=np.int64), np.ones(1), clusters)


def outcomes(rng, n: int, chances, spread: float = 0.3) -> np.ndarray:
    """Hits float64 [n, m] of systems with these chances on queries that are easy or hard for all of them."""
    hard = rng.uniform(-spread, spread, size=(n, 1))
    return (rng.random((n, len(chances))) < np.clip(np.asarray(chances) + hard, 0, 1)).astype(float)


# The best of fourteen equals gains nothing. What the chosen one had where it was chosen is, on average, far above 0,
# and the interval of it too often is as well; the interval of held-out choices holds its promise.
@pytest.mark.parametrize("clustered", [False, True])
def test_interval_of_the_best_of_equals_covers_that_nothing_is_gained(clustered):
    rng = np.random.default_rng(5)
    n, trials, covered, naive, estimates, flattered = 60, 400, 0, 0, [], []
    for _ in range(trials):
        values = outcomes(rng, n, [0.5] * 15)
        clusters = None
        if clustered:
            values[1::2] = np.where(rng.random((n // 2, 1)) < 0.5, values[::2], values[1::2])
            clusters = np.arange(n) // 2
        gain, _ = selected_gain(values[:, 1:], values[:, 0], one(n, clusters), 10, 1)
        covered += gain.low <= 0 <= gain.high
        estimates.append(gain.estimate)
        flattered.append(gain.in_sample)
        known, _ = selected_gain(values[:, [1 + gain.chosen]], values[:, 0], one(n, clusters), 10, 1)
        naive += known.low <= 0 <= known.high
    assert np.mean(flattered) > 0.08
    assert abs(np.mean(estimates)) < 0.02
    assert naive / trials < 0.9
    assert 0.93 <= covered / trials <= 0.995


# Where one is better than the others the gain is that of the one that is chosen.
def test_interval_covers_the_gain_of_what_is_chosen():
    rng = np.random.default_rng(6)
    chances = np.array([0.5, 0.5, 0.55, 0.6, 0.7])
    covered, trials = 0, 400
    for _ in range(trials):
        values = outcomes(rng, 80, chances, 0.2)
        gain, _ = selected_gain(values[:, 1:], values[:, 0], one(80), 10, 1)
        covered += gain.low <= chances[1 + gain.chosen] - chances[0] <= gain.high
    assert covered / trials >= 0.93


# A mix of three registers of unequal size, each poem asked for in all of them or in one.
@pytest.mark.parametrize("crossed", [False, True])
def test_interval_of_a_mix_covers_under_selection(crossed):
    rng = np.random.default_rng(7)
    weight, covered, trials = np.array([0.2, 0.3, 0.5]), 0, 400
    sizes = (25, 25, 25) if crossed else (40, 20, 15)
    stratum = np.repeat(np.arange(3), sizes)
    clusters = np.concatenate([np.arange(size) for size in sizes]) if crossed else None
    for _ in range(trials):
        values = outcomes(rng, sum(sizes), [0.5] * 6)
        if crossed:
            values = np.where(rng.random((75, 1)) < 0.4, np.tile(values[:25], (3, 1)), values)
        gain, _ = selected_gain(values[:, 1:], values[:, 0], Rows(stratum, weight, clusters), 10, 1)
        covered += gain.low <= 0 <= gain.high
    assert covered / trials >= 0.93


# Where one is clearly the best every fold chooses it; of near equals each fold chooses its own, and more are needed.
@pytest.mark.parametrize("chances", [[0.5, 0.66], [0.5, 0.66, 0.4, 0.4, 0.4], [0.3, 0.4, 0.39, 0.38, 0.3]])
def test_as_many_clusters_as_are_said_to_tell_give_80_percent_power(chances):
    rng = np.random.default_rng(8)
    pilot = outcomes(rng, 20_000, chances)
    gain, _ = selected_gain(pilot[:, 1:], pilot[:, 0], one(20_000), 10, 1)
    error, wider = gain._replace(steady=chances[1] > 0.5).planned()  # as small samples choose
    n = clusters_to_tell(gain.estimate, error * math.sqrt(20_000), wider)
    found, trials = 0, 500
    for _ in range(trials):
        values = outcomes(rng, n, chances)
        found += selected_gain(values[:, 1:], values[:, 0], one(n), 10, 1)[0].p < 0.05
    assert 0.74 <= found / trials <= 0.87, n


@pytest.mark.parametrize("many", [1, 4])
def test_as_many_clusters_as_are_said_to_show_a_level_give_80_percent_power(many):
    rng = np.random.default_rng(9)
    chances = [0.5] * (1 + many)
    pilot = outcomes(rng, 20_000, chances)
    gain, _ = selected_gain(pilot[:, 1:], pilot[:, 0], one(20_000), 10, 1)
    error, wider = gain._replace(steady=many == 1).planned()
    n = clusters_to_level(0.1, 0.0, error * math.sqrt(20_000), wider)
    shown, trials = 0, 500
    for _ in range(trials):
        values = outcomes(rng, n, chances)
        found, _ = selected_gain(values[:, 1:], values[:, 0], one(n), 10, 1)
        shown += found.inner_low > -0.1 and found.inner_high < 0.1
    assert 0.74 <= shown / trials <= 0.87, n


# Lachin's number by hand: ((1.96 + 0.84) / 0.5) ** 2 = 31.4 with the normal distribution, two or so more with t.
def test_numbers_are_those_of_the_books():
    assert clusters_to_tell(0.5, 1.0) == 34
    # Julious (2004), two one-sided tests, no difference: ((1.645 + 1.282) / 0.2) ** 2 = 214.1.
    assert clusters_to_level(0.2, 0.0, 1.0) in (215, 216)


def test_no_number_is_named_where_there_is_none():
    assert clusters_to_tell(0.0, 1.0) is None
    assert clusters_to_tell(1e-6, 1.0) is None
    assert clusters_to_level(0.05, 0.05, 1.0) is None
    assert clusters_to_level(0.05, 0.2, 1.0) is None
    assert clusters_to_level(0.05, 0.0, 0.0) == 52  # z² (1 - 0.05) / 0.05 = 51.4


@given(st.floats(0.02, 0.5), st.floats(0.1, 1.0), st.floats(1.0, 1.5))
@settings(max_examples=30, deadline=None)
def test_smaller_differences_and_wider_tests_need_more(difference, deviation, wider):
    n = clusters_to_tell(difference, deviation, wider)
    assert clusters_to_tell(difference / 2, deviation, wider) > n
    assert clusters_to_tell(difference, deviation, wider * 1.2) >= n
    assert clusters_to_tell(-difference, deviation, wider) == n


def test_a_single_candidate_is_no_choice():
    rng = np.random.default_rng(1)
    values = outcomes(rng, 30, [0.4, 0.7])
    gain, held = selected_gain(values[:, 1:], values[:, 0], one(30), 10, 1)
    difference = values[:, 1] - values[:, 0]
    assert gain.wider == 1 and gain.estimate == pytest.approx(gain.in_sample)
    assert (held == values[:, 1]).all()
    error = difference.std(ddof=1) / math.sqrt(30)
    assert gain.error == pytest.approx(error)
    from scipy import stats

    assert gain.p == pytest.approx(stats.ttest_1samp(difference, 0).pvalue)


def test_strata_count_by_their_weights():
    stratum = np.array([0, 0, 0, 0, 1, 1])
    rows = Rows(stratum, np.array([0.25, 0.75]), None)
    values = np.array([1.0, 0, 0, 0, 1, 0])
    assert weighted_means(values[:, None], rows)[0] == pytest.approx(0.25 * 0.25 + 0.75 * 0.5)
    estimate, error, degrees = stratified_error(values, rows)
    parts = [0.25**2 * values[:4].var(ddof=1) / 4, 0.75**2 * values[4:].var(ddof=1) / 2]
    assert estimate == pytest.approx(0.4375)
    assert error == pytest.approx(math.sqrt(sum(parts)))
    assert degrees == pytest.approx(sum(parts) ** 2 / (parts[0] ** 2 / 3 + parts[1] ** 2 / 1))


def test_clusters_in_two_strata_are_taken_together():
    rows = Rows(np.array([0, 1, 0, 1, 0, 1]), np.array([0.5, 0.5]), np.array([0, 0, 1, 1, 2, 2]))
    values = np.array([1.0, 1, 0, 0, 1, 1])  # both queries of a poem alike: three observations, not six
    _, error, degrees = stratified_error(values, rows)
    assert error == pytest.approx(np.array([1.0, 0, 1]).std(ddof=1) / math.sqrt(3))
    assert degrees == pytest.approx(2)


def test_folds_spread_the_clusters_of_each_stratum():
    stratum = np.repeat([0, 1, 2], [20, 10, 2])
    rows = Rows(stratum, np.full(3, 1 / 3), None)
    dealt = deal_spread(rows, 10, 3)
    for one_stratum, size in ((0, 2), (1, 1)):
        assert (np.bincount(dealt[stratum == one_stratum], minlength=10) == size).all()
    assert len(set(dealt[stratum == 2])) == 2
    clusters = np.array([0, 0, 1, 1, 2, 2])
    together = deal_spread(Rows(np.zeros(6, dtype=np.int64), np.ones(1), clusters), 10, 3)
    assert (together[::2] == together[1::2]).all() and len(set(together)) == 3


def test_the_order_of_rows_and_the_names_of_clusters_change_nothing():
    rng = np.random.default_rng(2)
    values = outcomes(rng, 24, [0.4, 0.6, 0.5])
    stratum, clusters = np.arange(24) % 2, np.arange(24) // 2
    weight = np.array([0.3, 0.7])
    first = stratified_error(values[:, 1] - values[:, 0], Rows(stratum, weight, clusters))
    order = rng.permutation(24)
    again = Rows(stratum[order], weight, 100 - clusters[order])
    assert stratified_error((values[:, 1] - values[:, 0])[order], again) == pytest.approx(first)


def test_a_mean_of_one_stratum_has_the_interval_of_all_means():
    from verseir.stats.bootstrap import bootstrap_means

    values = np.array([1.0, 0, 1, 1, 0, 1, 1, 0, 1, 1])
    found = bootstrap_means(values[:, None], None, 999, 4)
    assert mixed_interval(values, one(10), 1.0, 999, 4) == pytest.approx((found.mean[0], found.low[0], found.high[0]))
    assert mixed_interval(np.ones(10), one(10), 1.0, 999, 4)[2] == 1.0


def test_a_mean_of_strata_is_estimated_by_the_stratified_bootstrap():
    rng = np.random.default_rng(3)
    stratum = np.repeat([0, 1], [60, 30])
    values = np.concatenate([rng.random(60), 0.3 * rng.random(30)])
    rows = Rows(stratum, np.array([0.4, 0.6]), None)
    mean, low, high = mixed_interval(values, rows, 1.0, 4999, 1)
    _, error, _ = stratified_error(values, rows)
    assert mean == pytest.approx(0.4 * values[:60].mean() + 0.6 * values[60:].mean())
    assert (high - low) / 2 == pytest.approx(1.96 * error, rel=0.08)
    assert mixed_interval(values, rows, 2.0, 4999, 1)[1] == pytest.approx(mean - 2 * (mean - low))
    assert math.isnan(mixed_interval(values[:61], Rows(stratum[:61], rows.weight, None), 1.0, 99, 1)[1])
