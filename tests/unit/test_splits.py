"""Splits: exact shares, whole groups, the same parts whatever the order of the rows."""

import random

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verseir.faults import UserError
from verseir.queries.splits import (
    SPLIT,
    Shares,
    groups_of,
    largest_remainders,
    of_part,
    same_text,
    share_of,
    size_of_test,
    split_queries,
)
from verseir.tables import QRELS, QUERIES, check_table


def queries_of(clusters):
    rows = [(f"q{i:03}", "s", f"text {i}", *[None] * 4, cluster) for i, cluster in enumerate(clusters)]
    return pl.DataFrame(rows, schema=dict(QUERIES.columns), orient="row")


def qrels_of(pairs):
    return pl.DataFrame([(*pair, 1) for pair in pairs], schema=dict(QRELS.columns), orient="row")


def points(n, centres, seed=0):
    """Unit vectors [n, 8] around ``centres`` directions, in turn."""
    chance = np.random.default_rng(seed)
    around = np.eye(8)[np.arange(n) % centres] + 0.05 * chance.normal(size=(n, 8))
    return (around / np.linalg.norm(around, axis=1, keepdims=True)).astype(np.float32)


NONE = qrels_of([])
few = settings(max_examples=25, deadline=None)


@few
@given(st.integers(4, 60), st.floats(0.05, 0.9), st.integers(1, 4), st.integers(0, 2**32), st.data())
def test_shares_are_exact_and_each_cluster_has_its_due(n, share, centres, seed, data):
    wanted = min(max(int(n * share + 0.5), 1), n - 1)
    gold = data.draw(st.integers(0, wanted))
    asked = Shares(share, min(centres, n), gold)
    split = split_queries(queries_of([None] * n), NONE, points(n, centres), asked, seed)
    check_table(split, SPLIT, "split")
    test, drawn = of_part(split, "test"), of_part(split, "gold")
    assert (len(test), len(drawn)) == (wanted, gold)
    assert set(drawn) <= set(test)
    assert sorted(test + of_part(split, "train")) == of_part(split, None) == split["query_id"].to_list()
    for (_,), rows in split.group_by("cluster"):
        due = wanted * len(rows) / n
        assert abs((rows["part"] == "test").sum() - due) < 1
        assert abs(rows["gold"].sum() - gold * (rows["part"] == "test").sum() / wanted) < 1
    assert split["cluster"].unique(maintain_order=True).to_list() == list(range(1, split["cluster"].n_unique() + 1))


@few
@given(
    st.lists(st.sampled_from([None, None, "a", "b", "c"]), min_size=6, max_size=30), st.randoms(use_true_random=False)
)
def test_the_order_of_rows_changes_nothing(clusters, chance: random.Random):
    queries, vectors = queries_of(clusters), points(len(clusters), 3)
    qrels = qrels_of([(f"q{i:03}", f"p{i // 2}") for i in range(0, len(clusters), 3)])
    asked = Shares(0.3, 3, 1)
    first = split_or_told(queries, qrels, vectors, asked)
    order = chance.sample(range(len(clusters)), len(clusters))
    shuffled = qrels.sample(fraction=1, shuffle=True, seed=chance.randrange(1000))
    again = split_or_told(queries[order], shuffled, vectors[order], asked)
    assert first.equals(again) if isinstance(first, pl.DataFrame) else first == again


def split_or_told(*given):
    try:
        return split_queries(*given, seed=5)
    except UserError as error:
        return str(error)


@few
@given(
    st.lists(st.sampled_from([None, "a", "b", "c", "d"]), min_size=4, max_size=30),
    st.lists(st.tuples(st.integers(0, 29), st.integers(0, 6)), max_size=12),
    st.floats(0.1, 0.9),
)
def test_what_hangs_together_is_never_parted(clusters, answers, share):
    n = len(clusters)
    queries = queries_of(clusters)
    qrels = qrels_of(sorted({(f"q{query % n:03}", f"p{poem}") for query, poem in answers}))
    sizes = [len(group) for group in groups_of(queries, qrels)]
    if len(sizes) == 1:
        with pytest.raises(UserError, match="cannot be parted"):
            split_queries(queries, qrels, points(n, 3), Shares(share, 3, 0), 1)
        return
    split = split_queries(queries, qrels, points(n, 3), Shares(share, 3, 0), 1)
    named = queries.join(split.rename({"cluster": "stratum"}), on="query_id")
    judged = qrels.join(split, on="query_id")
    for frame, key in ((named.filter(pl.col("cluster").is_not_null()), "cluster"), (judged, "poem_id")):
        assert frame.group_by(key).agg(pl.col("part").n_unique())["part"].to_list() in ([], [1] * frame[key].n_unique())
    sums = {0}
    for size in sizes:
        sums |= {size + other for other in sums}
    nearest = min((abs(size - min(max(int(n * share + 0.5), 1), n - 1)), size) for size in sums if 0 < size < n)
    assert len(of_part(split, "test")) == nearest[1] == size_of_test(sizes, share)


def test_chains_are_one_group():
    queries = queries_of([None, "a", "a", None, None])
    qrels = qrels_of([("q000", "p"), ("q001", "p"), ("q002", "r"), ("q003", "r")])
    assert groups_of(queries, qrels) == [["q000", "q001", "q002", "q003"], ["q004"]]
    not_relevant = qrels.with_columns(grade=pl.lit(0, dtype=pl.Int32))
    assert groups_of(queries, not_relevant) == [["q000"], ["q001", "q002"], ["q003"], ["q004"]]


def test_queries_of_one_text_are_one_group():
    texts = ["Ｌove  lost", "rain", "love lost", "STRASSE", "straße"]
    queries = queries_of([None] * 5).with_columns(text=pl.Series(texts))
    assert groups_of(queries, NONE) == [["q000", "q002"], ["q001"], ["q003", "q004"]]
    for seed in range(6):
        split = split_queries(queries, NONE, points(5, 2), Shares(0.4, 2, 0), seed)
        part = dict(split.select("query_id", "part").iter_rows())
        assert part["q000"] == part["q002"] and part["q003"] == part["q004"]


@given(st.text())
def test_what_is_the_same_text_is_so_again(text):
    assert same_text(same_text(text)) == same_text(text)
    assert same_text(f" {text}\n") == same_text(text)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=8), st.data())
def test_largest_remainders_keep_to_the_quota(sizes, data):
    total = data.draw(st.integers(0, sum(sizes)))
    shares = largest_remainders(sizes, total)
    assert sum(shares) == total
    for size, share in zip(sizes, shares, strict=True):
        assert abs(share - total * size / max(sum(sizes), 1)) < 1 and share <= size


def test_equal_remainders_go_to_the_first():
    assert largest_remainders([2, 2, 2], 2) == [1, 1, 0]


def test_queries_with_one_vector_are_one_cluster():
    split = split_queries(queries_of([None] * 6), NONE, np.ones((6, 4), dtype=np.float32), Shares(0.5, 3, 0), 1)
    assert set(split["cluster"]) == {1} and len(of_part(split, "test")) == 3


@pytest.mark.parametrize(
    ("shares", "told"),
    [(Shares(0.2, 9, 0), "9 clusters of 8 queries"), (Shares(0.25, 2, 3), "3 queries are to be gold, but test has 2")],
)
def test_what_cannot_be_is_told(shares, told):
    with pytest.raises(UserError, match=told):
        split_queries(queries_of([None] * 8), NONE, points(8, 2), shares, 1)


def test_one_query_cannot_be_parted():
    with pytest.raises(UserError, match="cannot be parted"):
        size_of_test([1], 0.5)


def test_a_seed_draws_others():
    drawn = {
        tuple(of_part(split_queries(queries_of([None] * 30), NONE, points(30, 3), Shares(0.2, 3, 0), seed), "test"))
        for seed in range(5)
    }
    assert len(drawn) > 1


def test_shares_come_from_the_config():
    assert share_of({"test": 0.25, "clusters": 4, "gold": 2, "encoder": "e"}) == Shares(0.25, 4, 2)
