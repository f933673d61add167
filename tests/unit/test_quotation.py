"""Quoting against other queries, on counts whose answers are known."""

import numpy as np
import polars as pl
import pytest
from paired_study import DRAWS, asked, outcomes, paper_counts, shuffled, wording

from verseir.analyses.contrasts import compare
from verseir.analyses.paired import compare_columns, system_pairs
from verseir.analyses.quotation import QUOTATION, QUOTATION_PAIRS, QUOTATION_SLOPES, quotation
from verseir.stats.mcnemar import tango_interval
from verseir.tables import check_table


def stratified(values, runs, gold=None, lexical=("bm25",), fusions=(), thresholds=(3,), per_query=None):
    n = len(runs)
    per_query = outcomes(values) if per_query is None else per_query
    queries, qrels = asked(n, gold=gold)
    chosen = (thresholds, per_query["measure"].unique().to_list(), lexical, fusions, DRAWS)
    tables = quotation(per_query, queries, qrels, wording(runs), *chosen)
    for frame, contract in zip(tables, (QUOTATION, QUOTATION_SLOPES, QUOTATION_PAIRS), strict=True):
        check_table(frame, contract, contract.name)
        floats = frame.select(pl.col(pl.Float64).is_nan().any())
        assert not any(floats.row(0))
        if frame.columns.count("p"):
            assert not (frame["p"] == 0).any()
    return tables


def only(frame, **where):
    return frame.filter(*(pl.col(name).eq_missing(value) for name, value in where.items())).row(0, named=True)


def test_the_printed_counts_give_the_printed_figures():
    means, slopes, pairs = stratified(*paper_counts())
    assert only(means, stratum="quoting", system="bm25")["mean"] == 1.0
    assert only(means, stratum="not quoting", system="bm25")["mean"] == pytest.approx(0.622, abs=5e-4)
    assert only(means, stratum="not quoting", system="encoder")["mean"] == pytest.approx(0.646, abs=5e-4)
    assert only(slopes, a="bm25", b=None)["estimate"] == pytest.approx(0.378, abs=5e-4)
    steeper = only(slopes, a="bm25", b="encoder")
    assert steeper["estimate"] == pytest.approx(0.1618902439, abs=1e-9)
    assert (steeper["test"], steeper["n_quoting"], steeper["n_not_quoting"]) == ("Welch t", 80, 164)
    assert steeper["p"] == pytest.approx(0.008037650444, abs=1e-9)
    assert 0.001 <= steeper["p_permutation"] < 0.03
    assert steeper["ci_low"] < steeper["estimate"] < steeper["ci_high"]
    level = only(pairs, stratum="not quoting")
    assert (level["test"], level["n"]) == ("McNemar exact", 164)
    assert level["p"] == pytest.approx(0.6940040941, abs=1e-9)
    assert (level["ci_low"], level["ci_high"]) == pytest.approx(tango_interval(27, 31, 164))
    whole = stratified(*paper_counts(), thresholds=(0,))[2]
    assert only(whole, stratum="quoting")["p"] == pytest.approx(0.4703685319, abs=1e-9)


def test_a_constant_mean_has_an_exact_interval():
    row = only(stratified(*paper_counts())[0], stratum="quoting", system="bm25")
    assert row["ci_high"] == 1.0
    assert 0.9 < row["ci_low"] < 1.0


def test_each_threshold_parts_the_queries_anew():
    values = {"bm25": [1, 1, 0, 0, 1, 0], "encoder": [1, 0, 1, 0, 1, 1]}
    means = stratified(values, [5, 4, 3, 2, 1, 0], thresholds=(2, 3, 4, 5))[0]
    quoting = means.filter(pl.col("stratum") == "quoting", pl.col("system") == "bm25").sort("threshold")
    assert quoting["n_queries"].to_list() == [4, 3, 2, 1]


def test_families_hold_the_pairs_of_one_place():
    rng = np.random.default_rng(0)
    values = {name: rng.integers(0, 2, 40).tolist() for name in ("bm25", "x", "y", "z")}
    _, slopes, pairs = stratified(values, [3, 1] * 20, thresholds=(2, 3))
    assert slopes.filter(pl.col("b").is_null())["family_size"].unique().to_list() == [4]
    assert slopes.filter(pl.col("b").is_not_null())["family_size"].unique().to_list() == [3]
    assert pairs["family"].n_unique() == 4
    assert (slopes["p_holm"] >= slopes["p"]).all()


def test_queries_that_share_a_poem_are_clusters():
    rng = np.random.default_rng(0)
    values = {"bm25": rng.integers(0, 2, 40).tolist(), "encoder": rng.integers(0, 2, 40).tolist()}
    _, slopes, pairs = stratified(values, [3] * 20 + [1] * 20, gold=[f"p{i // 2}" for i in range(40)])
    assert set(slopes["test"]) == {"cluster-robust t"}
    assert slopes["p_permutation"].null_count() == len(slopes)
    assert all(test.endswith("by poem") for test in pairs["test"])


def test_queries_without_a_target_are_left_out_and_counted():
    values, runs = paper_counts()
    means, slopes, pairs = stratified(values, [None, None, *runs[2:]])
    assert only(means, stratum="quoting", system="bm25")["n_queries"] == 78
    assert set(means["note"]) == set(slopes["note"]) == {"2 queries without a target left out"}
    assert pairs["note"].str.contains("2 queries without a target left out").all()


def test_no_query_has_a_target():
    means, slopes, pairs = stratified({"bm25": [1, 0], "encoder": [1, 1]}, [None, None])
    for frame in (means, slopes, pairs):
        assert frame["note"].str.starts_with("not estimable: no query has a target").all()
    assert slopes["p"].null_count() == len(slopes)
    assert slopes["family_size"].unique().to_list() == [0]


@pytest.mark.parametrize(
    ("values", "runs", "why"),
    [
        ({"bm25": [1, 0, 1], "encoder": [1, 1, 0]}, [1, 1, 1], "no query quotes"),
        ({"bm25": [1, 0, 1], "encoder": [1, 1, 0]}, [3, 3, 3], "every query quotes"),
        ({"bm25": [1, 0, 1], "encoder": [1, 1, 0]}, [3, 1, 1], "only one query quotes"),
        ({"bm25": [1], "encoder": [0]}, [3], "every query quotes"),
        ({"bm25": [1] * 6, "encoder": [1] * 6}, [3, 1] * 3, "does not vary"),
        ({"bm25": [1, 0] * 3, "encoder": [0] * 6}, [3, 1] * 3, "does not vary"),
    ],
)
def test_what_is_not_estimable_says_why(values, runs, why):
    slopes = stratified(values, runs)[1]
    assert slopes["p"].null_count() == len(slopes)
    assert slopes["note"].str.contains(f"not estimable: .*{why}").all()
    assert set(slopes["test"]) == {"none"}


def test_one_system_has_slopes_and_no_pairs():
    means, slopes, pairs = stratified({"bm25": [1, 0, 1, 0]}, [3, 3, 1, 1])
    assert (len(means), len(slopes), len(pairs)) == (2, 1, 0)
    assert pairs.columns == list(QUOTATION_PAIRS.columns)


def test_nothing_at_all_is_three_empty_tables():
    per_query = outcomes({"bm25": [1, 0]}, query_set="other")
    queries, qrels = asked(2)
    tables = quotation(per_query, queries, qrels, wording([3, 1]), (3,), ["Recall@5"], (), (), DRAWS)
    assert [len(table) for table in tables] == [0, 0, 0]


def test_the_order_of_the_input_is_of_no_matter():
    values, runs = paper_counts()
    per_query, (queries, qrels) = outcomes(values), asked(len(runs))
    settings = ((2, 3), ["Recall@5"], ("bm25",), (), DRAWS)
    first = quotation(per_query, queries, qrels, wording(runs), *settings)
    mixed = (shuffled(frame) for frame in (per_query, queries, qrels, wording(runs)))
    for one, other in zip(first, quotation(*mixed, *settings), strict=True):
        assert one.equals(other)


@pytest.mark.parametrize("shared", [False, True])
def test_columns_are_compared_as_one_by_one(shared):
    rng = np.random.default_rng(3)
    a = np.column_stack([rng.integers(0, 2, 30), rng.random(30), np.ones(30), rng.random(30)]).astype(float)
    b = np.column_stack([rng.integers(0, 2, 30), rng.random(30), np.ones(30), a[:, 3]]).astype(float)
    clusters = np.arange(30) // 2 if shared else None
    for j, outcome in enumerate(compare_columns(a, b, clusters, DRAWS)):
        alone = compare(a[:, j], b[:, j], clusters, *DRAWS)
        assert outcome.test == alone.test
        np.testing.assert_allclose(outcome[:3] + outcome[4:6], alone[:3] + alone[4:6], rtol=1e-12)


def test_pairs_are_each_lexical_system_against_each_other():
    means = {"bm25": 0.1, "words": 0.2, "x": 0.9, "y": 0.9, "fused": 1.0}
    pairs = system_pairs(means, ["bm25", "words"], ["fused"])
    assert [(a, b) for a, b, _ in pairs] == [
        ("bm25", "words"),
        ("bm25", "x"),
        ("bm25", "y"),
        ("words", "x"),
        ("words", "y"),
    ]
    assert [(a, b) for a, b, _ in system_pairs(means, [], ["fused"])] == [("x", "bm25"), ("x", "words"), ("x", "y")]
    assert "picked" in system_pairs(means, [], ["fused"])[0].note
    assert system_pairs({"fused": 1.0}, [], ["fused"]) == []


def test_a_fusion_has_a_slope_and_no_pair():
    values = {"bm25": [1, 0, 1, 0], "fused": [1, 1, 0, 1], "x": [0, 1, 1, 0]}
    _, slopes, pairs = stratified(values, [3, 3, 1, 1], fusions=("fused",))
    assert "fused" in slopes["a"].to_list()
    assert pairs.select("a", "b").unique().rows() == [("bm25", "x")]


def test_modes_with_other_systems_stand_side_by_side():
    both = pl.concat([outcomes({"bm25": [1, 0, 1, 0], "x": [0, 0, 1, 1]}), outcomes({"x": [0, 1, 1, 1]}, mode="other")])
    means, slopes, pairs = stratified({}, [3, 3, 1, 1], per_query=both)
    assert sorted(slopes.filter(pl.col("b").is_null()).select("mode", "a").rows()) == [
        ("other", "x"),
        ("verse", "bm25"),
        ("verse", "x"),
    ]
    assert pairs["mode"].unique().to_list() == ["verse"]
    assert len(means) == 6
