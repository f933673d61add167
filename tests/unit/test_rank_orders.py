"""Kendall's tau-b over resamples: against SciPy resample by resample, and what it may not hang on."""

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from verseir.stats import rank_orders
from verseir.stats.rank_orders import column_means, resampled_tau, tau_b, tau_interval
from verseir.stats.resampled_orders import move_interval
from verseir.stats.resampling import resample_counts


def grades(seed, n, m, spread=1.0):
    """Values on a scale of 1 to 5 that differ by column, with ties."""
    rng = np.random.default_rng(seed)
    return np.clip(np.round(3 + spread * np.linspace(-1, 1, m) + rng.normal(size=(n, m))), 1, 5)


@given(st.integers(0, 1000), st.integers(2, 9), st.integers(2, 4))
@settings(max_examples=60, deadline=None)
def test_each_row_is_scipys_tau(seed, m, levels):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, levels, (2, 20, m)).astype(float)
    expected = [stats.kendalltau(x, y).statistic for x, y in zip(a, b, strict=True)]
    np.testing.assert_allclose(tau_b(a, b), expected, atol=1e-12)


def test_a_row_with_a_gap_or_one_value_has_no_tau():
    a = np.array([[1.0, 2, 3], [1, 2, np.nan], [1, 1, 1]])
    found = tau_b(a, np.array([[1.0, 2, 3]] * 3))
    assert found[0] == 1
    assert np.isnan(found[1:]).all()
    assert np.isnan(tau_b(np.ones((2, 1)), np.ones((2, 1)))).all()


def by_hand(a, b, resamples, seeds):
    """Percentiles of SciPy's tau-b of the means of resampled rows."""
    draws = [np.concatenate(list(resample_counts([len(x)], resamples, s))) for x, s in zip((a, b), seeds, strict=True)]
    taus = []
    for one, other in zip(*draws, strict=True):
        means = []
        for weights, x in ((one, a), (other, b)):
            rows = np.repeat(x, weights.astype(int), axis=0)
            means.append(np.round(np.nanmean(rows, axis=0), 12))
        taus.append(stats.kendalltau(*means).statistic)
    return np.nanquantile(taus, [0.025, 0.975])


def test_the_paired_interval_is_scipys():
    a, b = grades(1, 30, 6), grades(2, 30, 6)
    np.testing.assert_allclose(tau_interval(a, b, None, None, True, 300, 5)[:2], by_hand(a, b, 300, (5, 5)), atol=1e-12)


def test_the_independent_interval_is_scipys():
    a, b = grades(1, 25, 5), grades(2, 40, 5)
    seeds = np.random.SeedSequence(5).generate_state(2)
    np.testing.assert_allclose(tau_interval(a, b, None, None, False, 300, 5)[:2], by_hand(a, b, 300, seeds), atol=1e-12)


def test_gaps_are_left_out_of_means():
    a, b = grades(3, 40, 5), grades(4, 40, 5)
    a[::3, 1], b[1::4, 2] = np.nan, np.nan
    np.testing.assert_allclose(column_means(a), np.nanmean(a, axis=0), atol=1e-12)
    np.testing.assert_allclose(tau_interval(a, b, None, None, True, 200, 7)[:2], by_hand(a, b, 200, (7, 7)), atol=1e-12)


@given(st.permutations(range(6)), st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_the_order_of_systems_is_of_no_matter(order, seed):
    a, b = grades(seed, 20, 6), grades(seed + 100, 30, 6)
    found = tau_interval(a, b, None, None, False, 200, 1)
    turned = tau_interval(a[:, order], b[:, order], None, None, False, 200, 1)
    assert turned[:2] == pytest.approx(found[:2], nan_ok=True) and turned.why == found.why
    assert found.why or -1 <= found.low < found.high <= 1


def test_doubled_rows_in_clusters_are_as_the_rows_alone():
    a, b = grades(1, 30, 6), grades(2, 30, 6)
    clusters = np.repeat(np.arange(30), 2)
    alone = tau_interval(a, b, None, None, True, 300, 3)
    doubled = [np.repeat(x, 2, axis=0) for x in (a, b)]
    assert tau_interval(*doubled, clusters, clusters, True, 300, 3) == alone
    assert tau_interval(*doubled, clusters, clusters, False, 300, 3) == tau_interval(a, b, None, None, False, 300, 3)
    narrow, wide = (tau_interval(*each, None, None, True, 2000, 3) for each in (doubled, (a, b)))
    assert narrow.high - narrow.low < wide.high - wide.low


def test_blocks_are_of_no_matter(monkeypatch):
    a, b = grades(1, 30, 6), grades(2, 30, 6)
    whole = tau_interval(a, b, None, None, True, 300, 3)
    monkeypatch.setattr(rank_orders, "HELD", 100)
    assert tau_interval(a, b, None, None, True, 300, 3) == whole


def test_paired_orders_share_their_noise():
    a = grades(1, 12, 6, 0.2)
    assert tau_interval(a, a + 1, None, None, True, 500, 3).why == "no resample changes tau"
    assert tau_interval(a, a + 1, None, None, False, 500, 3).low < 1


@pytest.mark.parametrize(
    ("a", "b", "why"),
    [
        (np.zeros((0, 4)), np.zeros((0, 4)), "an order has no tau"),  # no query
        (grades(1, 1, 4), grades(2, 1, 4), "fewer than two independent queries"),
        (np.tile([1.0, 2, 3, 4], (9, 1)), np.tile([1.0, 2, 4, 3], (9, 1)), "no resample of queries moves a mean"),
        (np.tile([1.0, 2, 3, 4], (9, 1)), grades(1, 9, 4), "no resample of queries moves a mean"),  # of one side
        (np.full((9, 4), 2.0), grades(1, 9, 4), "an order has no tau"),  # all systems alike
        (grades(1, 9, 1), grades(2, 9, 1), "an order has no tau"),  # one system
        (np.full((9, 4), np.nan), grades(1, 9, 4), "an order has no tau"),  # nothing judged
        (
            np.vstack([[[1.0, 2, 3]], np.full((3, 3), np.nan)]),
            np.vstack([[[1.0, 2, 4]], np.tile([1.0, 2, 3], (3, 1))]),
            "too many resamples have no order",
        ),
        (grades(1, 9, 4) * 0.01 + [1, 2, 3, 4], grades(2, 9, 4) * 0.01 + [1, 2, 4, 3], "no resample changes the order"),
    ],
)
def test_what_cannot_be_told_is_nan_and_says_why(a, b, why):
    found = tau_interval(a, b, None, None, True, 100, 1)
    assert math.isnan(found.low) and math.isnan(found.high)
    assert found.why == why


def test_an_interval_always_has_width():
    """Where nearly all resamples give one tau, its quantiles are one: that is no interval either."""
    order = np.tile([1.0, 2, 3, 4], (1000, 1))
    other = order[:, [0, 1, 3, 2]].copy()
    other[:20] = order[:20]
    assert resampled_tau(order, other).why == "nearly all resamples give one tau"
    other[:200] = order[:200]
    assert resampled_tau(order, other)[:2] == (pytest.approx(2 / 3), 1)


@given(st.lists(st.sampled_from([(1.0, 1.0), (1.0, 2.0), (2.0, 1.0), (math.nan, 1.0)]), min_size=1, max_size=60))
def test_an_interval_of_moves_has_width_or_says_why_it_is_not_there(resampled):
    first, second = (np.array(side) for side in zip(*resampled, strict=True))
    found = move_interval(first, second)
    assert bool(found.why) == math.isnan(found.low) == math.isnan(found.high)
    assert found.why or found.low < found.high
    if len(set(resampled)) == 1:
        assert found.why


def test_a_move_that_no_resample_changes_has_no_interval():
    one, two = np.ones(100), np.full(100, 2.0)
    assert move_interval(one, two).why == "no resample changes the places"
    assert move_interval(np.r_[two[:2], one[2:]], two).why == "nearly all resamples give one move"
    assert move_interval(np.r_[two[:9], one[9:]], two)[:2] == (0, 1)
    assert move_interval(np.r_[np.full(9, np.nan), one[9:]], two).why == "too many resamples have no order"


def test_one_cluster_is_too_few():
    a = grades(1, 9, 4)
    one = np.zeros(9, dtype=np.int64)
    assert tau_interval(a, grades(2, 9, 4), one, one, True, 100, 1).why == "fewer than two independent queries"


def test_rows_and_systems_must_fit():
    with pytest.raises(ValueError, match="same rows"):
        tau_interval(grades(1, 9, 4), grades(1, 8, 4), None, None, True, 100, 1)


def test_the_interval_covers_what_it_should():
    """Orders of systems whose true means are known: the interval holds the true tau in most studies."""
    held = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        effects = np.array([0.0, 0.5, 1.0, 1.5, 2.0])
        a = effects + rng.normal(size=(60, 5))
        b = effects[[1, 0, 2, 3, 4]] + rng.normal(size=(60, 5))
        low, high, _ = tau_interval(a, b, None, None, False, 300, seed)
        held += low <= 0.8 <= high
    assert held >= 51  # tau moves in steps, so the interval covers more than its level rather than less


def test_a_study_takes_less_than_a_second():
    a, b = grades(1, 100, 10), grades(2, 250, 10)
    start = time.perf_counter()
    tau_interval(a, b, None, None, False, 9999, 1)
    assert time.perf_counter() - start < 3  # 0.4 s on one core at rest
