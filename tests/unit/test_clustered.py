"""Agreement with intervals over clusters, beside plain loops and answers worked out by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from verseir.stats.agreement import kappa
from verseir.stats.bootstrap import clopper_pearson
from verseir.stats.clustered import clustered_interval, clustered_kappa, clustered_spearman, clustered_within
from verseir.stats.resampling import resample_counts

SCALE = (0, 1, 2)
RESAMPLES = 200


def ratings(seed=0, n_clusters=9):
    """Two raters of clusters of one to four items."""
    rng = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(n_clusters), rng.integers(1, 5, size=n_clusters))
    topic = rng.normal(size=n_clusters)[clusters]
    first, second = (np.digitize(topic + rng.normal(size=len(clusters)), [-0.5, 0.7]) for _ in (0, 1))
    return first.astype(float), second.astype(float), clusters


def looped(statistic, clusters):
    """The percentile interval of a statistic of the drawn rows, one resample after the other."""
    values = []
    for counts in resample_counts([clusters.max() + 1], RESAMPLES, 3):
        for drawn in counts.astype(int):
            values.append(statistic(np.repeat(np.arange(len(clusters)), drawn[clusters])))
    return tuple(np.quantile(values, [0.025, 0.975]))


def test_kappa_is_that_of_every_resample():
    first, second, clusters = ratings()
    found = clustered_kappa(first, second, SCALE, clusters, RESAMPLES, 3)
    assert found.estimate == pytest.approx(kappa(first, second, SCALE).estimate, abs=1e-12)
    expected = looped(lambda rows: kappa(first[rows], second[rows], SCALE).estimate, clusters)
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("continuous", [False, True])
def test_spearman_is_that_of_every_resample(continuous):
    first, second, clusters = ratings()
    if continuous:
        first = first + np.random.default_rng(1).normal(size=len(first))
    found = clustered_spearman(first, second, clusters, RESAMPLES, 3)
    assert found.estimate == pytest.approx(stats.spearmanr(first, second).statistic, abs=1e-12)
    expected = looped(lambda rows: stats.spearmanr(first[rows], second[rows]).statistic, clusters)
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-12)


def test_an_interval_of_any_statistic_of_totals_is_that_of_every_resample():
    first, second, clusters = ratings()
    found = clustered_interval(lambda a, b: a / b, [first, second + 1], clusters, RESAMPLES, 3)
    expected = looped(lambda rows: first[rows].sum() / (second[rows] + 1).sum(), clusters)
    assert found == pytest.approx(expected, abs=1e-12)


def test_kappa_by_hand():
    first, second = np.array([0.0, 1.0, 1.0, 0.0]), np.array([0.0, 1.0, 2.0, 2.0])
    # Squared distances 0 0 1 4: mean 5/4. Of all pairs, a 0 of the first is 0 1 4 4 from the second, a 1 is 1 0 1 1:
    # mean 24/16. So 1 - 5/4 / (3/2).
    assert clustered_kappa(first, second, SCALE, None, 10).estimate == pytest.approx(1 / 6, abs=1e-15)


def test_an_unused_category_holds_the_others_apart():
    first, second = np.array([0.0, 0.0, 3.0, 3.0]), np.array([0.0, 3.0, 3.0, 1.0])
    found = clustered_kappa(first, second, (0, 1, 2, 3), None, 10)
    assert found.estimate == pytest.approx(kappa(first, second, (0, 1, 2, 3)).estimate)
    assert found.estimate != pytest.approx(kappa(first, second, (0, 1, 3)).estimate)


def test_labels_that_are_not_numbers_in_a_row_are_one_step_apart():
    first, second = np.array([10.0, 50.0, 90.0, 10.0]), np.array([10.0, 90.0, 90.0, 50.0])
    plain = clustered_kappa(np.array([0.0, 1.0, 2.0, 0.0]), np.array([0.0, 2.0, 2.0, 1.0]), SCALE, None, 10)
    assert clustered_kappa(first, second, (10, 50, 90), None, 10) == plain


def test_a_rating_off_the_scale_is_refused():
    with pytest.raises(ValueError, match=r"not a category of the scale: 3\.0"):
        clustered_kappa(np.array([0.0, 3.0]), np.array([0.0, 1.0]), SCALE, None)


def test_within_by_hand():
    first, second = np.array([0.0, 0.0, 2.0, 1.0, 2.0]), np.array([0.0, 2.0, 1.0, 1.0, 0.0])
    assert clustered_within(first, second, 1.0, np.array([0, 0, 1, 1, 2])).estimate == 0.6
    assert clustered_within(first, second, 0.0, np.array([0, 0, 1, 1, 2])).estimate == 0.4


def test_full_agreement_has_no_interval_but_for_the_share():
    grades, clusters = np.array([0.0, 1.0, 2.0, 2.0, 0.0]), np.array([0, 0, 1, 1, 2])
    for found in (
        clustered_kappa(grades, grades, SCALE, clusters, RESAMPLES),
        clustered_spearman(grades, grades, clusters, RESAMPLES),
    ):
        assert found.estimate == pytest.approx(1.0)
        assert math.isnan(found.low) and math.isnan(found.high)
    within = clustered_within(grades, grades, 1.0, clusters, RESAMPLES)
    assert within == (1.0, *clopper_pearson(3, 3))  # three clusters, not five items


def test_a_constant_vector():
    same, varied, clusters = np.ones(6), np.array([0.0, 1.0, 2.0, 0.0, 1.0, 2.0]), np.array([0, 0, 1, 1, 2, 2])
    assert all(math.isnan(value) for value in clustered_spearman(same, varied, clusters, RESAMPLES))
    assert all(math.isnan(value) for value in clustered_kappa(same, same, SCALE, clusters, RESAMPLES))
    one_sided = clustered_kappa(same, varied, SCALE, clusters, RESAMPLES)
    assert one_sided.estimate == kappa(same, varied, SCALE).estimate == 0  # no better than chance
    assert math.isnan(one_sided.low)


@pytest.mark.parametrize("clusters", [np.zeros(4, dtype=np.int64), np.array([7, 7, 7, 7])])
def test_one_cluster_has_an_estimate_and_no_interval(clusters):
    first, second = np.array([0.0, 1.0, 2.0, 2.0]), np.array([0.0, 2.0, 1.0, 2.0])
    for found in (
        clustered_kappa(first, second, SCALE, clusters, RESAMPLES),
        clustered_spearman(first, second, clusters, RESAMPLES),
        clustered_within(first, second, 0.0, clusters, RESAMPLES),
    ):
        assert not math.isnan(found.estimate)
        assert math.isnan(found.low) and math.isnan(found.high)


def test_nothing_is_not_estimable():
    none = np.array([])
    for found in (
        clustered_kappa(none, none, SCALE, None),
        clustered_spearman(none, none, None),
        clustered_within(none, none, 1.0, None),
    ):
        assert all(math.isnan(value) for value in found)


def test_too_many_undefined_resamples_leave_no_interval():
    # A resample without the third cluster has one value only: (2/3)^3 = 30% of them.
    x, y, clusters = np.array([1.0, 1.0, 1.0, 2.0]), np.array([1.0, 2.0, 1.0, 2.0]), np.array([0, 1, 2, 2])
    found = clustered_spearman(x, y, clusters, 2000)
    assert not math.isnan(found.estimate) and math.isnan(found.low)
    shares = []

    def rare(a):
        value = np.where(a > 0, a, math.nan)
        shares.append(np.isnan(value).mean())
        return value

    ends = clustered_interval(rare, [np.array([0.0, 1.0, 1.0, 1.0])], None, 2000)
    assert 0 < np.mean(shares) < 0.05 and not math.isnan(ends[0])


@given(st.integers(0, 10_000), st.integers(2, 6))
def test_laws(seed, n_clusters):
    """Bounds, the order of the items and the names of the clusters, which hold no matter what was graded."""
    first, second, clusters = ratings(seed, n_clusters)
    shuffled = np.random.default_rng(seed).permutation(len(first))
    for measured, bounds in (
        (lambda a, b, c: clustered_kappa(a, b, SCALE, c, 50), (-1, 1)),
        (lambda a, b, c: clustered_spearman(a, b, c, 50), (-1, 1)),
        (lambda a, b, c: clustered_within(a, b, 0.0, c, 50), (0, 1)),
    ):
        found = measured(first, second, clusters)
        for value in found:
            assert math.isnan(value) or bounds[0] - 1e-12 <= value <= bounds[1] + 1e-12
        assert measured(first[shuffled], second[shuffled], clusters[shuffled] * 3 + 5) == pytest.approx(
            found, abs=1e-12, nan_ok=True
        )
        assert measured(second, first, clusters) == pytest.approx(found, abs=1e-12, nan_ok=True)


def test_items_of_a_query_that_agree_with_each_other_widen_the_interval():
    first, second, _ = ratings(5, 60)
    rows = np.repeat(np.arange(len(first)), 8)
    clustered = clustered_kappa(first[rows], second[rows], SCALE, rows, 500)
    alone = clustered_kappa(first[rows], second[rows], SCALE, None, 500)
    assert clustered.high - clustered.low > 2 * (alone.high - alone.low)


def test_one_item_has_no_kappa():
    one = np.array([1.0])
    assert all(math.isnan(end) for end in clustered_kappa(one, one + 1, [1, 2, 3], None, 100, 1))
    assert clustered_within(one, one + 1, 1, None, 100, 1).estimate == 1
